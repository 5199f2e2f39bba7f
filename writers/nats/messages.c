/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes buckets as messages of telemetry.proto, field by field in ascending order. A comment
 * above a function names the message to which the field numbers belong. A message has a header and
 * rows; a row that would make it too long starts another message.
 */
#include <assert.h>
#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/list.h"
#include "vampire/stats/bucket/rows.h"
#include "writers/format/fields.h"
#include "writers/nats/messages.h"

#define FORMAT_VERSION 1
/* A message starts with its number and the number of messages, both fixed32, so that the second one
 * can be filled in at the end. */
enum { FIELD_PART = 1, FIELD_PARTS = 2, KEY_BYTES = 1, PART_BYTES = KEY_BYTES + sizeof(uint32_t) };
/* Space for key and length of a row. */
#define FRAME_BYTES 6

struct nats_encoder {
    const struct vamp_schema *schema;
    size_t message_bytes;
    struct vamp_text run;    /* version and run; included in every message */
    struct vamp_text tables; /* label sets and metrics; included in every message of a bucket */
    struct vamp_text head;   /* fields between these two: the description of the bucket */
    struct vamp_text row;    /* the row under construction */
    /* An iterator for each metric. Those of a label set are adjacent, in the order of the values in
     * a row: counters, gauges, histograms. */
    struct vamp_rows *walks;
    unsigned *places; /* metric number in the schema for each iterator */
};

/* Writes a time, unless it is unknown. */
static void add_time(struct vamp_text *text, unsigned field, int64_t time_ns)
{
    if (time_ns != 0) {
        vamp_field_fixed64(text, field, (uint64_t)time_ns);
    }
}

/* ---- constant parts */

/* Writes Message, from `version`, and Run. */
static void describe_run(struct vamp_text *text, const struct vamp_run *run)
{
    const char *const texts[] = {run->id,    run->workflow, run->component, run->host,
                                 NULL,       run->user,     run->batch_job, run->version,
                                 run->clock, run->sampling};
    vamp_field_number(text, 3, FORMAT_VERSION);
    const size_t begin = text->used;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i] != NULL) {
            vamp_field_text(text, i + 1, texts[i]);
        } else {
            vamp_field_number(text, i + 1, run->pid);
        }
    }
    add_time(text, 11, run->started_ns);
    vamp_field_end(text, 4, begin);
}

/* Writes LabelSet and Metric. */
static void describe_schema(struct vamp_text *text, const struct vamp_schema *schema)
{
    for (unsigned s = 0; s < schema->label_set_count; s++) {
        const struct vamp_label_set *set = &schema->label_sets[s];
        const size_t begin = text->used;
        for (unsigned i = 0; i < set->label_count; i++) {
            vamp_field_element(text, 1, vamp_label_name(set->labels[i]));
        }
        vamp_field_end(text, 13, begin);
    }
    for (unsigned m = 0; m < schema->metric_count; m++) {
        const struct vamp_metric *metric = &vamp_metrics[schema->metrics[m].id];
        const size_t begin = text->used;
        vamp_field_text(text, 1, metric->name);
        vamp_field_number(text, 2, metric->kind);
        vamp_field_text(text, 3, metric->unit);
        vamp_field_number(text, 4, schema->metrics[m].label_set);
        vamp_field_number(text, 5, metric->merge);
        vamp_field_number(text, 6, schema->metrics[m].has_bounds);
        vamp_field_end(text, 14, begin);
    }
}

/* Sorts the metrics by label set and kind. */
static void order_metrics(struct nats_encoder *encoder)
{
    const struct vamp_schema *schema = encoder->schema;
    unsigned count = 0;
    for (unsigned set = 0; set < schema->label_set_count; set++) {
        for (unsigned kind = VAMP_COUNTER; kind <= VAMP_HISTOGRAM; kind++) {
            for (unsigned m = 0; m < schema->metric_count; m++) {
                if (schema->metrics[m].label_set == set &&
                    vamp_metrics[schema->metrics[m].id].kind == kind) {
                    encoder->places[count++] = m;
                }
            }
        }
    }
    assert(count == schema->metric_count);
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
    encoder->walks = calloc(schema->metric_count + 1, sizeof *encoder->walks);
    encoder->places = calloc(schema->metric_count + 1, sizeof *encoder->places);
    describe_run(&encoder->run, run);
    describe_schema(&encoder->tables, schema);
    if (encoder->walks == NULL || encoder->places == NULL || encoder->run.failed ||
        encoder->tables.failed) {
        nats_encoder_free(encoder);
        return NULL;
    }
    order_metrics(encoder);
    return encoder;
}

void nats_encoder_free(struct nats_encoder *encoder)
{
    if (encoder != NULL) {
        vamp_text_done(&encoder->run);
        vamp_text_done(&encoder->tables);
        vamp_text_done(&encoder->head);
        vamp_text_done(&encoder->row);
        free(encoder->walks);
        free(encoder->places);
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

static void add_all(struct vamp_text *text, const struct vamp_text *from)
{
    vamp_text_add(text, from->bytes, from->used);
    text->failed = text->failed || from->failed;
}

/* Ends a message at the end of the text. */
static void end_message(struct nats_messages *messages)
{
    if (!vamp_array_reserve(&messages->ends, &messages->capacity, messages->count,
                            sizeof *messages->ends)) {
        messages->text.failed = true;
        return;
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
        memcpy(message + PART_BYTES + KEY_BYTES, &parts, sizeof parts);
    }
}

/* ---- header of a bucket */

/* Writes Account, Loss and Output. */
static void add_account(struct vamp_text *text, const struct vamp_accounting *accounting,
                        uint32_t unknown)
{
    const uint64_t numbers[] = {accounting->received, accounting->decoded, accounting->rejected,
                                accounting->filtered, accounting->counted, accounting->sampled_out,
                                accounting->late};
    const size_t begin = text->used;
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        vamp_field_number(text, i + 1, numbers[i]);
    }
    for (unsigned i = 0; i < VAMP_LOSS_COUNT; i++) {
        if (accounting->lost[i] > 0) {
            const size_t loss = text->used;
            vamp_field_text(text, 1, vamp_loss_name(i));
            vamp_field_number(text, 2, accounting->lost[i]);
            vamp_field_end(text, 8, loss);
        }
    }
    for (unsigned i = 0; i < accounting->output_count; i++) {
        const struct vamp_output_account *from = &accounting->outputs[i];
        const size_t output = text->used;
        vamp_field_text(text, 1, from->name);
        vamp_field_number(text, 2, from->queued);
        vamp_field_number(text, 3, from->written);
        vamp_field_number(text, 4, from->lost);
        vamp_field_end(text, 9, output);
    }
    for (unsigned i = 0; i < VAMP_UNKNOWN_COUNT; i++) {
        if ((unknown & VAMP_UNKNOWN_BIT(i)) != 0) {
            vamp_field_text(text, 10, vamp_unknown_word((enum vamp_unknown)i));
        }
    }
    if (accounting->resolution_ns > 0) {
        vamp_field_number(text, 11, accounting->resolution_ns);
    }
    vamp_field_end(text, 11, begin);
}

/* Writes Message, from `number` to `lost_before`. */
static void describe_bucket(struct nats_encoder *encoder, const struct vamp_delivery *delivery)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    struct vamp_text *text = &encoder->head;
    text->used = 0;
    text->failed = false;
    vamp_field_number(text, 5, bucket->number);
    vamp_field_number(text, 6, bucket->buckets);
    add_time(text, 7, bucket->start_ns);
    vamp_field_number(text, 8, (uint64_t)bucket->width_ns);
    vamp_field_number(text, 9, encoder->schema->bins.sub_bits);
    vamp_field_number(text, 10, delivery->lost_before);
}

/* Begins a message with the run, the tables and the description of the bucket. `first`: the
 * delivery, for the first message, which also has the accounting and gaps; else NULL. */
static void begin_message(const struct nats_encoder *encoder, struct nats_messages *messages,
                          const struct vamp_delivery *first)
{
    struct vamp_text *text = &messages->text;
    vamp_field_fixed32(text, FIELD_PART, messages->count + 1);
    vamp_field_fixed32(text, FIELD_PARTS, 0); /* filled in later */
    add_all(text, &encoder->run);
    add_all(text, &encoder->head);
    if (first != NULL) {
        add_account(text, &first->bucket->accounting,
                    vamp_coverage_unknown(encoder->schema->coverage));
        for (unsigned i = 0; i < first->gap_count; i++) {
            const struct vamp_gap *gap = &first->gaps[i];
            const size_t begin = text->used;
            add_time(text, 1, gap->start_ns);
            add_time(text, 2, gap->end_ns);
            vamp_field_text(text, 3, vamp_gap_reason_name(gap->reason));
            vamp_field_number(text, 4, gap->events);
            vamp_field_end(text, 12, begin);
        }
    }
    add_all(text, &encoder->tables);
}

/* ---- rows */

/* Writes Counter, Gauge or Histogram. */
static void add_value(struct vamp_text *text, const struct vamp_row *row)
{
    const struct vamp_bucket_histogram *histogram = row->histogram;
    const size_t begin = text->used;
    size_t list = 0;
    vamp_field_number(text, 1, row->place);
    switch (row->metric->kind) {
    case VAMP_COUNTER:
        vamp_field_number(text, 2, row->counter->delta);
        vamp_field_number(text, 3, row->counter->value);
        vamp_field_end(text, 3, begin);
        return;
    case VAMP_GAUGE:
        vamp_field_signed(text, 2, row->gauge->value);
        vamp_field_signed(text, 3, row->gauge->min);
        vamp_field_signed(text, 4, row->gauge->max);
        vamp_field_end(text, 4, begin);
        return;
    case VAMP_HISTOGRAM:
        vamp_field_number(text, 2, histogram->count);
        vamp_field_number(text, 3, histogram->sum);
        vamp_field_number(text, 4, histogram->min);
        vamp_field_number(text, 5, histogram->max);
        list = text->used;
        for (uint32_t i = 0; i < histogram->bin_count; i++) {
            vamp_field_varint(text, histogram->bins[i].bin);
        }
        vamp_field_end(text, 6, list);
        list = text->used;
        for (uint32_t i = 0; i < histogram->bin_count; i++) {
            vamp_field_varint(text, histogram->bins[i].count);
        }
        vamp_field_end(text, 7, list);
        vamp_field_end(text, 5, begin);
        return;
    }
}

/* Advances the iterator; at its end, it is positioned after all series. */
static void step(struct vamp_rows *walk)
{
    if (!vamp_rows_next(walk)) {
        walk->row.number = UINT_MAX;
    }
}

/* Writes a Row: the values of the series in the bucket, from the iterators of its label set;
 * nothing if there are none. */
static void make_row(struct nats_encoder *encoder, struct vamp_rows *walks, unsigned count,
                     unsigned series)
{
    struct vamp_text *text = &encoder->row;
    text->used = 0;
    for (struct vamp_rows *walk = walks; walk < walks + count; walk++) {
        const struct vamp_row *row = &walk->row;
        if (row->number != series) {
            continue;
        }
        if (row->metric->kind != VAMP_GAUGE || row->gauge->value != VAMP_GAUGE_NONE) {
            if (text->used == 0) {
                vamp_field_number(text, 1, row->entry->label_set);
                for (unsigned i = 0; i < row->set->label_count; i++) {
                    vamp_field_element(text, 2, row->series->labels[i]);
                }
            }
            add_value(text, row);
        }
        step(walk);
    }
}

/* Adds the row to the current message, or to a new one if it does not fit. */
static void add_row(struct nats_encoder *encoder, struct nats_messages *messages)
{
    const size_t begin = begin_of(messages, messages->count);
    const size_t bytes = encoder->row.used + FRAME_BYTES;
    if (messages->text.used - begin + bytes > encoder->message_bytes) {
        end_message(messages);
        begin_message(encoder, messages, NULL);
    }
    vamp_field_bytes(&messages->text, 15, &encoder->row);
}

void nats_encode_bucket(struct nats_encoder *encoder, const struct vamp_delivery *delivery,
                        struct nats_messages *messages)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    unsigned begin = 0, end = 0;
    begin_list(messages);
    encoder->row.failed = false;
    for (unsigned i = 0; i < encoder->schema->metric_count; i++) {
        encoder->walks[i] = vamp_rows_of(bucket, encoder->places[i], VAMP_ROWS_IDLE);
        step(&encoder->walks[i]);
    }
    describe_bucket(encoder, delivery);
    begin_message(encoder, messages, delivery);
    for (unsigned set = 0; set < encoder->schema->label_set_count; set++, begin = end) {
        while (end < encoder->schema->metric_count &&
               encoder->schema->metrics[encoder->places[end]].label_set == set) {
            end++;
        }
        for (unsigned series = 0; series < bucket->series_count[set]; series++) {
            make_row(encoder, encoder->walks + begin, end - begin, series);
            if (encoder->row.used > 0 && !messages->text.failed) {
                add_row(encoder, messages);
            }
        }
    }
    messages->text.failed = messages->text.failed || encoder->row.failed;
    end_message(messages);
    end_list(messages);
}

void nats_encode_alarms(const struct vamp_sent_alarms *sent, const struct vamp_run *run,
                        const struct vamp_bucket *bucket, struct nats_messages *messages)
{
    struct vamp_json json = {.bytes = NULL};
    begin_list(messages);
    for (unsigned i = 0; i < bucket->alarm_count && !messages->text.failed; i++) {
        if (!vamp_sent_alarms_have(sent, &bucket->alarms[i])) {
            continue;
        }
        messages->text.failed = !vamp_alarm_change_line(&bucket->alarms[i], run, &json);
        if (!messages->text.failed) {
            vamp_text_add(&messages->text, json.bytes, json.used - 1); /* without its newline */
        }
        end_message(messages);
    }
    vamp_json_done(&json);
}

void nats_encode_ending(struct nats_encoder *encoder, const struct vamp_ending *ending,
                        struct nats_messages *messages)
{
    struct vamp_text *text = &messages->text;
    begin_list(messages);
    add_all(text, &encoder->run);
    const size_t begin = text->used;
    add_time(text, 1, ending->time_ns);
    vamp_field_text(text, 2, ending->reason);
    vamp_field_end(text, 16, begin);
    end_message(messages);
}
