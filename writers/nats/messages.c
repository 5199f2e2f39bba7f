/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buckets as messages. What is the same in all messages of a run is made once, as structs of
 * protobuf-c. A message is its head, packed, and its rows, each packed and appended: the parts of a
 * message of Protocol Buffers may come in any order. Where the next row would make a message too
 * long, another one begins.
 */
#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry.pb-c.h"
#include "vampire/core/event/event.h"
#include "vampire/core/protobuf/wire.h"
#include "vampire/core/utf8.h"
#include "writers/nats/messages.h"

#define FORMAT_VERSION 1
/* Of one text, with a replacement for each byte. */
#define REPLACED_BYTES ((size_t)VAMP_NAME_BYTES_MAX * 3 + 1)
/* Room for key and length of a row. */
#define FRAME_BYTES 6
enum { RUN_TEXTS = 9, FIELD_PART = 1, FIELD_PARTS = 2, FIELD_ROWS = 15, PART_FIELD_BYTES = 5 };

struct metric_row {
    Vampire__Telemetry__Counter counter;
    Vampire__Telemetry__Gauge gauge;
    Vampire__Telemetry__Histogram histogram;
    uint32_t bins[VAMP_BINS_MAX];
    uint64_t counts[VAMP_BINS_MAX];
    unsigned next_histogram; /* of the bucket's values */
};

struct nats_encoder {
    const struct vamp_schema *schema;
    size_t message_bytes;

    /* Of every message. */
    Vampire__Telemetry__Message head;
    Vampire__Telemetry__Run run;
    Vampire__Telemetry__LabelSet sets[VAMP_METRIC_COUNT], *set_list[VAMP_METRIC_COUNT];
    Vampire__Telemetry__Metric metrics[VAMP_METRIC_COUNT], *metric_list[VAMP_METRIC_COUNT];
    char *set_labels[VAMP_METRIC_COUNT][VAMP_LABELS_MAX];

    /* Of the first message of a bucket. */
    Vampire__Telemetry__Account account;
    Vampire__Telemetry__Loss losses[VAMP_LOSS_COUNT], *loss_list[VAMP_LOSS_COUNT];
    Vampire__Telemetry__Output outputs[VAMP_OUTPUTS_MAX], *output_list[VAMP_OUTPUTS_MAX];

    /* Of the present row. */
    struct vamp_text packed;
    struct metric_row of[VAMP_METRIC_COUNT];
    Vampire__Telemetry__Counter *counter_list[VAMP_METRIC_COUNT];
    Vampire__Telemetry__Gauge *gauge_list[VAMP_METRIC_COUNT];
    Vampire__Telemetry__Histogram *histogram_list[VAMP_METRIC_COUNT];

    /* Texts that are not UTF-8, those of the run and those of the present row. */
    char run_texts[RUN_TEXTS][REPLACED_BYTES];
    char row_texts[VAMP_LABELS_MAX][REPLACED_BYTES];
};

/* ---- protobuf-c */

/* protobuf-c does not change what it packs, but its structs have no const. */
static char *borrow(const char *text)
{
    return (char *)(uintptr_t)text;
}

/* The text itself when it is UTF-8, or else a copy in `room`. */
static char *clean(const char *text, char room[static REPLACED_BYTES])
{
    if (vamp_utf8_is_valid(text)) {
        return borrow(text);
    }
    (void)vamp_utf8_copy(room, REPLACED_BYTES - 1, text);
    return room;
}

struct text_buffer {
    ProtobufCBuffer buffer;
    struct vamp_text *text;
};

static void append(ProtobufCBuffer *buffer, size_t length, const uint8_t *bytes)
{
    struct text_buffer *self = (struct text_buffer *)(void *)buffer;
    vamp_text_add(self->text, (const char *)bytes, length);
}

static void pack(struct vamp_text *text, const ProtobufCMessage *message)
{
    struct text_buffer to = {.buffer = {.append = append}, .text = text};
    (void)protobuf_c_message_pack_to_buffer(message, &to.buffer);
}

/* ---- what does not change */

static void describe_run(struct nats_encoder *encoder, const struct vamp_run *run)
{
    Vampire__Telemetry__Run *to = &encoder->run;
    const struct {
        char **to;
        const char *text;
    } texts[RUN_TEXTS] = {
        {&to->id, run->id},
        {&to->workflow, run->workflow},
        {&to->component, run->component},
        {&to->host, run->host},
        {&to->user, run->user},
        {&to->batch_job, run->batch_job},
        {&to->version, run->version},
        {&to->clock, run->clock},
        {&to->sampling, run->sampling},
    };
    vampire__telemetry__run__init(to);
    for (unsigned i = 0; i < RUN_TEXTS; i++) {
        *texts[i].to = clean(texts[i].text, encoder->run_texts[i]);
    }
    to->pid = run->pid;
    to->started_ns = run->started_ns;
}

static void describe_sets(struct nats_encoder *encoder)
{
    for (unsigned i = 0; i < encoder->schema->label_set_count; i++) {
        const struct vamp_label_set *set = &encoder->schema->label_sets[i];
        vampire__telemetry__label_set__init(&encoder->sets[i]);
        encoder->sets[i].n_labels = set->label_count;
        encoder->sets[i].labels = encoder->set_labels[i];
        for (unsigned label = 0; label < set->label_count; label++) {
            encoder->set_labels[i][label] = borrow(vamp_label_name(set->labels[label]));
        }
        encoder->set_list[i] = &encoder->sets[i];
    }
}

/* The enumerations of both have the same order. */
static_assert((int)VAMPIRE__TELEMETRY__METRIC__KIND__HISTOGRAM == (int)VAMP_HISTOGRAM, "kinds");
static_assert((int)VAMPIRE__TELEMETRY__METRIC__MERGE__MEAN == (int)VAMP_MERGE_MEAN, "rules");

static void describe_metrics(struct nats_encoder *encoder)
{
    for (unsigned i = 0; i < encoder->schema->metric_count; i++) {
        const struct vamp_schema_metric *entry = &encoder->schema->metrics[i];
        const struct vamp_metric *metric = &vamp_metrics[entry->id];
        Vampire__Telemetry__Metric *to = &encoder->metrics[i];
        vampire__telemetry__metric__init(to);
        to->name = borrow(metric->name);
        to->unit = borrow(metric->unit);
        to->kind = (Vampire__Telemetry__Metric__Kind)metric->kind;
        to->merge = (Vampire__Telemetry__Metric__Merge)metric->merge;
        to->label_set = entry->label_set;
        to->has_bounds = entry->has_bounds;
        encoder->metric_list[i] = to;
    }
}

struct nats_encoder *nats_encoder_create(const struct vamp_run *run,
                                         const struct vamp_schema *schema, size_t message_bytes)
{
    assert(message_bytes >= NATS_MESSAGE_BYTES_MIN);
    struct nats_encoder *encoder = calloc(1, sizeof *encoder);
    if (encoder == NULL) {
        return NULL;
    }
    encoder->schema = schema;
    encoder->message_bytes = message_bytes;
    describe_run(encoder, run);
    describe_sets(encoder);
    describe_metrics(encoder);
    Vampire__Telemetry__Message *head = &encoder->head;
    vampire__telemetry__message__init(head);
    head->version = FORMAT_VERSION;
    head->run = &encoder->run;
    return encoder;
}

void nats_encoder_free(struct nats_encoder *encoder)
{
    if (encoder != NULL) {
        vamp_text_done(&encoder->packed);
        free(encoder);
    }
}

/* ---- the list of messages */

void nats_messages_done(struct nats_messages *messages)
{
    vamp_text_done(&messages->text);
    free(messages->ends);
    *messages = (struct nats_messages){.ends = NULL};
}

static void begin_list(struct nats_messages *messages)
{
    messages->text.used = 0;
    messages->text.failed = false;
    messages->count = 0;
}

static void add_part_field(struct vamp_text *text, unsigned field, uint32_t value)
{
    const char key = (char)VAMP_WIRE_KEY(field, FIXED32);
    const uint32_t little = htole32(value);
    vamp_text_add(text, &key, sizeof key);
    vamp_text_add(text, (const char *)&little, sizeof little);
}

static void begin_message(const struct nats_encoder *encoder, struct nats_messages *messages,
                          unsigned part)
{
    add_part_field(&messages->text, FIELD_PART, part);
    add_part_field(&messages->text, FIELD_PARTS, 0); /* not known yet */
    pack(&messages->text, &encoder->head.base);
}

static void end_message(struct nats_messages *messages)
{
    if (messages->count == messages->capacity) {
        const unsigned capacity = messages->capacity > 0 ? messages->capacity * 2 : 8;
        size_t *ends = reallocarray(messages->ends, capacity, sizeof *ends);
        if (ends == NULL) {
            messages->text.failed = true;
            return;
        }
        messages->ends = ends;
        messages->capacity = capacity;
    }
    messages->ends[messages->count++] = messages->text.used;
}

static size_t begin_of(const struct nats_messages *messages, unsigned message)
{
    return message > 0 ? messages->ends[message - 1] : 0;
}

static void end_list(struct nats_messages *messages)
{
    const uint32_t parts = htole32(messages->count);
    for (unsigned i = 0; i < messages->count && !messages->text.failed; i++) {
        char *message = messages->text.bytes + begin_of(messages, i);
        memcpy(message + PART_FIELD_BYTES + 1, &parts, sizeof parts);
    }
}

/* ---- the head of a bucket */

static void set_account(struct nats_encoder *encoder, const struct vamp_accounting *accounting)
{
    Vampire__Telemetry__Account *to = &encoder->account;
    vampire__telemetry__account__init(to);
    to->received = accounting->received;
    to->decoded = accounting->decoded;
    to->rejected = accounting->rejected;
    to->filtered = accounting->filtered;
    to->counted = accounting->counted;
    to->sampled_out = accounting->sampled_out;
    to->late = accounting->late;
    to->lost = encoder->loss_list;
    for (unsigned i = 0; i < VAMP_LOSS_COUNT; i++) {
        if (accounting->lost[i] > 0) {
            Vampire__Telemetry__Loss *loss = &encoder->losses[to->n_lost];
            vampire__telemetry__loss__init(loss);
            loss->reason = borrow(vamp_loss_name(i));
            loss->events = accounting->lost[i];
            encoder->loss_list[to->n_lost++] = loss;
        }
    }
    to->outputs = encoder->output_list;
    for (unsigned i = 0; i < accounting->output_count; i++) {
        Vampire__Telemetry__Output *output = &encoder->outputs[i];
        vampire__telemetry__output__init(output);
        output->name = borrow(accounting->outputs[i].name);
        output->queued = accounting->outputs[i].queued;
        output->written = accounting->outputs[i].written;
        output->lost = accounting->outputs[i].lost;
        encoder->output_list[to->n_outputs++] = output;
    }
}

/* malloc'ed, or NULL when there are none or no memory. */
static Vampire__Telemetry__Gap *make_gaps(const struct vamp_delivery *delivery,
                                          Vampire__Telemetry__Gap ***ret_list)
{
    const size_t count = delivery->gap_count;
    Vampire__Telemetry__Gap *gaps = count > 0 ? calloc(count, sizeof *gaps) : NULL;
    *ret_list = gaps != NULL ? calloc(count, sizeof **ret_list) : NULL;
    if (*ret_list == NULL) {
        free(gaps);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        vampire__telemetry__gap__init(&gaps[i]);
        gaps[i].start_ns = delivery->gaps[i].start_ns;
        gaps[i].end_ns = delivery->gaps[i].end_ns;
        gaps[i].reason = borrow(vamp_gap_reason_name(delivery->gaps[i].reason));
        gaps[i].events = delivery->gaps[i].events;
        (*ret_list)[i] = &gaps[i];
    }
    return gaps;
}

static void set_head(struct nats_encoder *encoder, const struct vamp_delivery *delivery)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    Vampire__Telemetry__Message *head = &encoder->head;
    head->number = bucket->number;
    head->buckets = bucket->buckets;
    head->start_ns = bucket->start_ns;
    head->width_ns = bucket->width_ns;
    head->sub_bits = encoder->schema->bins.sub_bits;
    head->lost_before = delivery->lost_before;
    head->label_sets = encoder->set_list;
    head->n_label_sets = encoder->schema->label_set_count;
    head->metrics = encoder->metric_list;
    head->n_metrics = encoder->schema->metric_count;
}

/* The first message has account and gaps in addition. */
static void begin_first(struct nats_encoder *encoder, const struct vamp_delivery *delivery,
                        struct nats_messages *messages)
{
    Vampire__Telemetry__Message *head = &encoder->head;
    Vampire__Telemetry__Gap *gaps = make_gaps(delivery, &head->gaps);
    messages->text.failed = messages->text.failed || (delivery->gap_count > 0 && gaps == NULL);
    head->n_gaps = gaps != NULL ? delivery->gap_count : 0;
    set_account(encoder, &delivery->bucket->accounting);
    head->account = &encoder->account;
    begin_message(encoder, messages, 1);
    free(head->gaps);
    free(gaps);
    head->gaps = NULL;
    head->n_gaps = 0;
    head->account = NULL;
}

/* ---- rows */

static void add_counter(struct nats_encoder *encoder, Vampire__Telemetry__Row *row, unsigned metric,
                        const struct vamp_counter_value *value)
{
    Vampire__Telemetry__Counter *to = &encoder->of[metric].counter;
    vampire__telemetry__counter__init(to);
    to->metric = metric;
    to->delta = value->delta;
    to->value = value->value;
    encoder->counter_list[row->n_counters++] = to;
}

static void add_gauge(struct nats_encoder *encoder, Vampire__Telemetry__Row *row, unsigned metric,
                      const struct vamp_gauge_value *value)
{
    Vampire__Telemetry__Gauge *to = &encoder->of[metric].gauge;
    vampire__telemetry__gauge__init(to);
    to->metric = metric;
    to->value = value->value;
    to->min = value->min;
    to->max = value->max;
    encoder->gauge_list[row->n_gauges++] = to;
}

static void add_histogram(struct nats_encoder *encoder, Vampire__Telemetry__Row *row,
                          unsigned metric, const struct vamp_bucket_histogram *value)
{
    struct metric_row *own = &encoder->of[metric];
    Vampire__Telemetry__Histogram *to = &own->histogram;
    vampire__telemetry__histogram__init(to);
    to->metric = metric;
    to->count = value->count;
    to->sum = value->sum;
    to->min = value->min;
    to->max = value->max;
    to->bins = own->bins;
    to->counts = own->counts;
    to->n_bins = to->n_counts = value->bin_count;
    for (unsigned i = 0; i < value->bin_count; i++) {
        own->bins[i] = value->bins[i].bin;
        own->counts[i] = value->bins[i].count;
    }
    encoder->histogram_list[row->n_histograms++] = to;
}

/* Series are asked for in ascending order. */
static void add_value(struct nats_encoder *encoder, const struct vamp_bucket *bucket,
                      Vampire__Telemetry__Row *row, unsigned metric, unsigned series)
{
    const struct vamp_metric_values *values = &bucket->values[metric];
    struct metric_row *own = &encoder->of[metric];
    switch (vamp_metrics[encoder->schema->metrics[metric].id].kind) {
    case VAMP_COUNTER:
        if (series < values->count && values->counters[series].delta != 0) {
            add_counter(encoder, row, metric, &values->counters[series]);
        }
        break;
    case VAMP_GAUGE:
        if (series < values->count && values->gauges[series].value != VAMP_GAUGE_NONE) {
            add_gauge(encoder, row, metric, &values->gauges[series]);
        }
        break;
    case VAMP_HISTOGRAM:
        if (own->next_histogram < values->count &&
            values->histograms[own->next_histogram].series == series) {
            add_histogram(encoder, row, metric,
                          values->histograms[own->next_histogram++].histogram);
        }
        break;
    }
}

/* Packs what a series has in this bucket. False: nothing. */
static bool pack_row(struct nats_encoder *encoder, const struct vamp_bucket *bucket, unsigned set,
                     unsigned series)
{
    char *labels[VAMP_LABELS_MAX] = {NULL};
    Vampire__Telemetry__Row row = VAMPIRE__TELEMETRY__ROW__INIT;
    for (unsigned metric = 0; metric < encoder->schema->metric_count; metric++) {
        if (encoder->schema->metrics[metric].label_set == set) {
            add_value(encoder, bucket, &row, metric, series);
        }
    }
    if (row.n_counters + row.n_gauges + row.n_histograms == 0) {
        return false;
    }
    row.label_set = set;
    row.n_labels = encoder->schema->label_sets[set].label_count;
    row.labels = labels;
    for (unsigned i = 0; i < row.n_labels; i++) {
        labels[i] = clean(bucket->series[set][series]->labels[i], encoder->row_texts[i]);
    }
    row.counters = encoder->counter_list;
    row.gauges = encoder->gauge_list;
    row.histograms = encoder->histogram_list;
    encoder->packed.used = 0;
    pack(&encoder->packed, &row.base);
    return true;
}

static void add_row(struct nats_encoder *encoder, struct nats_messages *messages)
{
    const size_t begin = begin_of(messages, messages->count);
    const size_t bytes = encoder->packed.used + FRAME_BYTES;
    if (messages->text.used - begin + bytes > encoder->message_bytes) {
        end_message(messages);
        begin_message(encoder, messages, messages->count + 1);
    }
    uint8_t frame[1 + VAMP_VARINT_BYTES_MAX] = {VAMP_WIRE_KEY(FIELD_ROWS, BYTES)};
    const uint8_t *end = vamp_varint_write(frame + 1, encoder->packed.used);
    vamp_text_add(&messages->text, (const char *)frame, (size_t)(end - frame));
    vamp_text_add(&messages->text, encoder->packed.bytes, encoder->packed.used);
}

void nats_encode_bucket(struct nats_encoder *encoder, const struct vamp_delivery *delivery,
                        struct nats_messages *messages)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    begin_list(messages);
    encoder->packed.failed = false;
    for (unsigned metric = 0; metric < encoder->schema->metric_count; metric++) {
        encoder->of[metric].next_histogram = 0;
    }
    set_head(encoder, delivery);
    begin_first(encoder, delivery, messages);
    for (unsigned set = 0; set < encoder->schema->label_set_count; set++) {
        for (unsigned series = 0; series < bucket->series_count[set]; series++) {
            if (!messages->text.failed && pack_row(encoder, bucket, set, series)) {
                add_row(encoder, messages);
            }
        }
    }
    messages->text.failed = messages->text.failed || encoder->packed.failed;
    end_message(messages);
    end_list(messages);
}

void nats_encode_ending(struct nats_encoder *encoder, const struct vamp_ending *ending,
                        struct nats_messages *messages)
{
    Vampire__Telemetry__Message message;
    Vampire__Telemetry__Ending end;
    vampire__telemetry__message__init(&message);
    vampire__telemetry__ending__init(&end);
    end.time_ns = ending->time_ns;
    end.reason = borrow(ending->reason);
    message.version = FORMAT_VERSION;
    message.run = &encoder->run;
    message.ending = &end;
    begin_list(messages);
    pack(&messages->text, &message.base);
    end_message(messages);
}
