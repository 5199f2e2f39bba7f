/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads back what a file of lines says of its run, for vampire --summary. What lines have counted
 * is taken with their bucket's last line, so that the beginning of a bucket that was not completed
 * does not count. Lines of other metrics are skipped without being parsed.
 */
#include "writers/format/run_file.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "writers/jsonl/internal.h"

/* Counters of which the totals are needed; the first by kind of operation. */
enum wanted {
    OPERATIONS,
    PRODUCED,
    TRANSPORTS,
    TRANSPORT_BYTES,
    EVICTED,
    OVERFLOW,
    GIVEN_UP,
    SAMPLED_OUT,
    FILTER_CUT,
};
#define WANTED_COUNT 9
static const char *const wanted_names[WANTED_COUNT] = {
    [OPERATIONS] = "pool_operations",
    [PRODUCED] = "produced_bytes",
    [TRANSPORTS] = "transports",
    [TRANSPORT_BYTES] = "transport_bytes",
    [EVICTED] = "vampire_evicted",
    [OVERFLOW] = "vampire_series_overflow",
    [GIVEN_UP] = "vampire_labels_given_up",
    [SAMPLED_OUT] = "vampire_sampled_out",
    [FILTER_CUT] = "vampire_filter_cut",
};
static const char *const histogram_names[VAMP_FILE_HISTOGRAM_COUNT] = {
    [VAMP_FILE_TRANSPORT_NS] = "transport_ns",
    [VAMP_FILE_DEMAND_WAIT_NS] = "demand_wait_ns",
};

/* What a bucket's lines have counted so far. */
struct counts {
    uint64_t values[WANTED_COUNT], deltas[WANTED_COUNT]; /* sums over the series */
    uint64_t operation_values[VAMP_EVENT_KIND_COUNT], operation_deltas[VAMP_EVENT_KIND_COUNT];
    uint64_t unlabelled_values, unlabelled_deltas;
    struct vamp_histogram *histograms[VAMP_FILE_HISTOGRAM_COUNT];
};

struct reader {
    struct vamp_run_file *file;
    struct counts next;
    uint64_t totals[WANTED_COUNT];
    uint64_t lines;
    bool started; /* the header was read */
    struct vamp_err *err;
};

/* ---- members; one that is missing or of another type is 0 or "" */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* A number above 2^63 is read as a double (parse). */
static uint64_t to_number(const json_t *value)
{
    const double real = json_real_value(value);
    return json_is_integer(value)              ? (uint64_t)json_integer_value(value)
           : real >= 18446744073709549568.0    ? UINT64_MAX
           : json_is_real(value) && real > 0.0 ? (uint64_t)real
                                               : 0;
}

static uint64_t number_of(const json_t *object, const char *key)
{
    return to_number(json_object_get(object, key));
}

/* INT64_MIN: null, or no time. */
static int64_t time_of(const json_t *object, const char *key)
{
    int64_t time_ns = 0;
    return vamp_time_read(text_of(object, key), &time_ns) ? time_ns : INT64_MIN;
}

/* ---- metrics */

/* The index of a name among `count`; `count`: it is none of them. */
static unsigned find_name(const char *const *names, unsigned count, const char *name, size_t length)
{
    unsigned i = 0;
    while (i < count && (strlen(names[i]) != length || memcmp(names[i], name, length) != 0)) {
        i++;
    }
    return i;
}

static void take_operations(struct counts *next, const json_t *line)
{
    const json_t *word = json_object_get(json_object_get(line, "labels"), "operation");
    const uint64_t value = number_of(line, "value"), delta = number_of(line, "delta");
    if (!json_is_string(word)) {
        next->unlabelled_values += value;
        next->unlabelled_deltas += delta;
        return;
    }
    unsigned kind = VAMP_EVENT_KIND_COUNT - 1;
    while (kind > 0 && strcmp(vamp_event_kind_name(kind), json_string_value(word)) != 0) {
        kind--; /* 0: in the series `(other)` */
    }
    next->operation_values[kind] += value;
    next->operation_deltas[kind] += delta;
}

static void take_histogram(struct reader *reader, unsigned which, const json_t *line)
{
    struct vamp_histogram *into = reader->next.histograms[which];
    const uint64_t count = number_of(line, "count");
    const json_t *bins = json_object_get(line, "bins");
    size_t i = 0;
    json_t *bin = NULL;
    if (into == NULL || count == 0) {
        return;
    }
    const uint64_t min = number_of(line, "min"), max = number_of(line, "max");
    into->count += count;
    into->sum += number_of(line, "sum");
    into->min = min < into->min ? min : into->min;
    into->max = max > into->max ? max : into->max;
    json_array_foreach(bins, i, bin)
    {
        const uint64_t lower = to_number(json_array_get(bin, 0));
        into->bins[vamp_bin_index(reader->file->bins.sub_bits, lower)] +=
            to_number(json_array_get(bin, 1));
    }
}

static void take_metric(struct reader *reader, const json_t *line)
{
    const char *name = text_of(line, "metric");
    const unsigned counter = find_name(wanted_names, WANTED_COUNT, name, strlen(name));
    const unsigned histogram =
        find_name(histogram_names, VAMP_FILE_HISTOGRAM_COUNT, name, strlen(name));
    if (counter == OPERATIONS) {
        take_operations(&reader->next, line);
    }
    if (counter < WANTED_COUNT) {
        reader->next.values[counter] += number_of(line, "value");
        reader->next.deltas[counter] += number_of(line, "delta");
    } else if (histogram < VAMP_FILE_HISTOGRAM_COUNT) {
        take_histogram(reader, histogram, line);
    }
}

/* ---- buckets */

static void clear_next(struct counts *next)
{
    const struct counts empty = {.values = {0}};
    for (unsigned i = 0; i < VAMP_FILE_HISTOGRAM_COUNT; i++) {
        if (next->histograms[i] != NULL) {
            vamp_histogram_clear(next->histograms[i], VAMP_BINS_MAX);
        }
    }
    struct vamp_histogram *const first = next->histograms[0], *const second = next->histograms[1];
    *next = empty;
    next->histograms[0] = first;
    next->histograms[1] = second;
}

/* A complete bucket has all totals; another one adds to them. */
static uint64_t newer(uint64_t total, bool complete, uint64_t values, uint64_t deltas)
{
    return complete ? values : total + deltas;
}

static void take_account(struct vamp_accounting *account, const json_t *from)
{
    if (from == NULL) {
        return;
    }
    account->received = number_of(from, "received");
    account->decoded = number_of(from, "decoded");
    account->rejected = number_of(from, "rejected");
    account->filtered = number_of(from, "filtered");
    account->counted = number_of(from, "counted");
    account->late = number_of(from, "late");
    for (unsigned i = 0; i < VAMP_LOSS_COUNT; i++) {
        account->lost[i] = number_of(json_object_get(from, "lost"), vamp_loss_name(i));
    }
}

static void take_bucket(struct reader *reader, const json_t *line)
{
    struct vamp_run_file *file = reader->file;
    struct counts *next = &reader->next;
    const bool complete = json_is_true(json_object_get(line, "complete"));
    for (unsigned i = 0; i < WANTED_COUNT; i++) {
        reader->totals[i] = newer(reader->totals[i], complete, next->values[i], next->deltas[i]);
    }
    for (unsigned kind = 0; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        file->totals.operations[kind] =
            newer(file->totals.operations[kind], complete, next->operation_values[kind],
                  next->operation_deltas[kind]);
    }
    file->totals.unlabelled_operations = newer(file->totals.unlabelled_operations, complete,
                                               next->unlabelled_values, next->unlabelled_deltas);
    for (unsigned i = 0; i < VAMP_FILE_HISTOGRAM_COUNT; i++) {
        if (next->histograms[i] != NULL) {
            vamp_histogram_merge(file->histograms[i], next->histograms[i], file->bins.count);
        }
    }
    take_account(&file->totals.accounting, json_object_get(line, "accounting"));
    const json_t *many = json_object_get(line, "buckets"); /* older lines: none are merged */
    vamp_run_file_bucket(file, number_of(line, "bucket"), many != NULL ? to_number(many) : 1,
                         time_of(line, "time"), (int64_t)number_of(line, "width_ns"));
    clear_next(next);
}

/* ---- other lines */

/* Notes which metrics the file has. */
static int take_metrics(struct reader *reader, const json_t *metrics)
{
    static const uint32_t bits[WANTED_COUNT] = {
        [OPERATIONS] = VAMP_TOTALS_BIT(VAMP_TOTALS_OPERATIONS),
        [PRODUCED] = VAMP_TOTALS_BIT(VAMP_TOTALS_PRODUCED),
        [TRANSPORTS] = VAMP_TOTALS_BIT(VAMP_TOTALS_TRANSPORTS),
        [TRANSPORT_BYTES] = VAMP_TOTALS_BIT(VAMP_TOTALS_TRANSPORT_BYTES),
    };
    size_t i = 0;
    json_t *metric = NULL;
    int code = 0;
    json_array_foreach(metrics, i, metric)
    {
        const char *name = text_of(metric, "name");
        const unsigned counter = find_name(wanted_names, WANTED_COUNT, name, strlen(name));
        const unsigned which =
            find_name(histogram_names, VAMP_FILE_HISTOGRAM_COUNT, name, strlen(name));
        reader->file->totals.counted |= counter < WANTED_COUNT ? bits[counter] : 0;
        if (which < VAMP_FILE_HISTOGRAM_COUNT && reader->next.histograms[which] == NULL) {
            code = vamp_run_file_histogram(reader->file, which, reader->err);
            struct vamp_histogram *made =
                malloc(sizeof *made + VAMP_BINS_MAX * sizeof made->bins[0]);
            reader->next.histograms[which] = made;
            if (code != 0 || made == NULL) {
                return vamp_err_set_errno(reader->err, ENOMEM, "read the file");
            }
            vamp_histogram_clear(made, VAMP_BINS_MAX);
        }
    }
    return code;
}

static int take_header(struct reader *reader, const json_t *line)
{
    struct vamp_run_file *file = reader->file;
    const uint64_t sub_bits = number_of(line, "sub_bits");
    const char *workflow = text_of(line, "workflow"), *output = text_of(line, "output");
    if (number_of(line, "v") != JSONL_VERSION || sub_bits < 2 || sub_bits > 4) {
        return vamp_err_set(reader->err, -EBADMSG,
                            "it has version %" PRIu64 "; this vampire reads version %d",
                            number_of(line, "v"), JSONL_VERSION);
    }
    vamp_bins_init(&file->bins, (unsigned)sub_bits);
    reader->started = true;
    (void)snprintf(file->run, sizeof file->run, "%s", text_of(line, "run"));
    file->segment = (unsigned)number_of(line, "segment");
    file->started_ns = time_of(line, "time");
    int code = vamp_run_file_text(&file->workflow, workflow, strlen(workflow), reader->err);
    code =
        code != 0 ? code : vamp_run_file_text(&file->output, output, strlen(output), reader->err);
    return code != 0 ? code : take_metrics(reader, json_object_get(line, "metrics"));
}

static int take_component(struct reader *reader, const json_t *line)
{
    struct vamp_component component = {
        .name = text_of(line, "name"),
        .joined_ns = time_of(line, "joined"),
        .left_ns = time_of(line, "left"),
        .operations = number_of(line, "operations"),
    };
    for (unsigned i = 0; i < VAMP_LEAVE_REASON_COUNT; i++) {
        component.reason = strcmp(vamp_leave_reason_name(i), text_of(line, "reason")) == 0
                               ? (uint8_t)i
                               : component.reason;
    }
    return vamp_run_file_component(reader->file, (size_t)number_of(line, "index"), &component,
                                   reader->err);
}

static int take_end(struct reader *reader, const json_t *line)
{
    struct vamp_run_file *file = reader->file;
    const char *reason = text_of(line, "reason");
    const bool rotated = strcmp(reason, "rotated") == 0;
    file->end = rotated ? VAMP_FILE_ROTATED : VAMP_FILE_ENDED;
    file->ended_ns = time_of(line, "time");
    take_account(&file->totals.accounting, json_object_get(line, "accounting"));
    return vamp_run_file_text(&file->reason, reason, strlen(reason), reader->err);
}

static int take_line(struct reader *reader, const json_t *line)
{
    const char *type = text_of(line, "type");
    if (strcmp(type, "header") == 0) {
        return take_header(reader, line);
    }
    if (!reader->started) {
        return vamp_err_set(reader->err, -EBADMSG, "it does not begin with a header");
    }
    if (strcmp(type, "metric") == 0) {
        take_metric(reader, line);
    } else if (strcmp(type, "bucket") == 0) {
        take_bucket(reader, line);
    } else if (strcmp(type, "gap") == 0) {
        vamp_run_file_gap(reader->file, text_of(line, "reason"), time_of(line, "start"),
                          time_of(line, "end"));
    } else if (strcmp(type, "alarm") == 0) {
        vamp_run_file_alarm(reader->file, text_of(line, "alarm"), text_of(line, "severity"),
                            text_of(line, "state"), time_of(line, "since") < time_of(line, "time"));
    } else if (strcmp(type, "component") == 0) {
        return take_component(reader, line);
    } else if (strcmp(type, "end") == 0) {
        return take_end(reader, line);
    }
    return 0;
}

/* ---- the file */

/* Whether a line is a metric's or a series' that is not needed, as vampire writes it. */
static bool is_skipped(const char *line)
{
    static const char type[] = "{\"v\":1,\"type\":\"", metric[] = "\"metric\":\"";
    if (strncmp(line, type, sizeof type - 1) != 0) {
        return false;
    }
    const char *word = line + sizeof type - 1;
    const char *name = strstr(word, metric);
    if (strncmp(word, "metric\"", 7) != 0 || name == NULL) {
        return strncmp(word, "series\"", 7) == 0;
    }
    name += sizeof metric - 1;
    const size_t length = strcspn(name, "\"");
    return find_name(wanted_names, WANTED_COUNT, name, length) == WANTED_COUNT &&
           find_name(histogram_names, VAMP_FILE_HISTOGRAM_COUNT, name, length) ==
               VAMP_FILE_HISTOGRAM_COUNT;
}

static int parse(struct reader *reader, const char *line, size_t length)
{
    json_error_t fault;
    json_t *read = json_loadb(line, length, 0, &fault);
    if (read == NULL && json_error_code(&fault) == json_error_numeric_overflow) {
        read = json_loadb(line, length, JSON_DECODE_INT_AS_REAL, &fault);
    }
    if (read == NULL) {
        return vamp_err_set(reader->err, -EBADMSG, "line %" PRIu64 " is damaged: %s", reader->lines,
                            fault.text);
    }
    int code = take_line(reader, read);
    json_decref(read);
    return code;
}

static int read_lines(struct reader *reader, FILE *stream)
{
    char *line = NULL;
    size_t room = 0;
    int code = 0;
    ssize_t length = getline(&line, &room, stream);
    /* The last line of a file that is being written, or was killed, may not be whole. */
    while (code == 0 && length > 0 && line[length - 1] == '\n') {
        reader->lines++;
        code = is_skipped(line) ? 0 : parse(reader, line, (size_t)length);
        length = code == 0 ? getline(&line, &room, stream) : 0;
    }
    free(line);
    if (code == 0 && ferror(stream) != 0) {
        return vamp_err_set_errno(reader->err, errno, "read line %" PRIu64, reader->lines + 1);
    }
    return code;
}

static void finish(struct reader *reader)
{
    struct vamp_totals *totals = &reader->file->totals;
    totals->produced_bytes = reader->totals[PRODUCED];
    totals->transports = reader->totals[TRANSPORTS];
    totals->transport_bytes = reader->totals[TRANSPORT_BYTES];
    totals->evicted = reader->totals[EVICTED];
    totals->series_overflow = reader->totals[OVERFLOW];
    totals->labels_given_up = reader->totals[GIVEN_UP];
    totals->accounting.sampled_out = reader->totals[SAMPLED_OUT];
    reader->file->filter_cut = reader->totals[FILTER_CUT];
}

int jsonl_read_run(int fd, const char *path, struct vamp_run_file *file, struct vamp_err *err)
{
    struct reader reader = {.file = file, .err = err};
    const int own = dup(fd);
    FILE *stream = own < 0 ? NULL : fdopen(own, "r");
    if (stream == NULL) {
        if (own >= 0) {
            (void)close(own);
        }
        return vamp_err_set_errno(err, errno, "read %s", path);
    }
    int code = read_lines(&reader, stream);
    (void)fclose(stream);
    if (code == 0 && !reader.started) {
        code = vamp_err_set(err, -EBADMSG, "it has no whole line");
    }
    finish(&reader);
    for (unsigned i = 0; i < VAMP_FILE_HISTOGRAM_COUNT; i++) {
        free(reader.next.histograms[i]);
    }
    return code == 0 ? 0 : vamp_err_wrap(err, "read %s", path);
}
