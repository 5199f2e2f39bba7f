/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to requests: the newest closed bucket as JSON, of the metrics and series asked for. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/collect/internal.h"
#include "vampire/core/json_emit.h"
#include "vampire/stats/bucket/bucket_json.h"

/* A server of NATS passes on a mebibyte, unless told otherwise; room for one more line. */
#define ANSWER_BYTES_MAX ((size_t)1024 * 1024 - 2 * (size_t)VAMP_JSON_LINE_BYTES)
#define WORDS_MAX 64

struct request {
    char *text; /* cut into words */
    char *metrics[WORDS_MAX], *series[WORDS_MAX];
    struct vamp_strings metric_patterns, series_patterns;
    bool wrong; /* a word names no label, or there are too many */
};

struct answer {
    struct vamp_json json;
    const struct vamp_bucket *bucket;
    uint64_t listed, unlisted;
};

/* ---- the request */

static void add_word(struct request *request, char *word)
{
    enum vamp_label label = VAMP_LABEL_COMPONENT;
    const char *pattern = NULL;
    const bool is_series = strchr(word, '=') != NULL;
    struct vamp_strings *to = is_series ? &request->series_patterns : &request->metric_patterns;
    if (to->count == WORDS_MAX || (is_series && !vamp_series_pattern(word, &label, &pattern))) {
        request->wrong = true;
        return;
    }
    to->items[to->count++] = word;
}

static bool read_request(struct request *request, const char *text, size_t bytes)
{
    char *rest = NULL;
    *request = (struct request){.text = strndup(text, bytes)};
    request->metric_patterns.items = request->metrics;
    request->series_patterns.items = request->series;
    for (char *word = request->text != NULL ? strtok_r(request->text, " \t\r\n", &rest) : NULL;
         word != NULL; word = strtok_r(NULL, " \t\r\n", &rest)) {
        add_word(request, word);
    }
    return request->text != NULL;
}

static bool wants_metric(const struct request *request, const char *name)
{
    bool wanted = request->metric_patterns.count == 0;
    for (size_t i = 0; !wanted && i < request->metric_patterns.count; i++) {
        wanted = fnmatch(request->metrics[i], name, 0) == 0;
    }
    return wanted;
}

/* ---- the answer */

static void begin_series(struct answer *answer, const struct vamp_schema_metric *entry,
                         unsigned series)
{
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    vamp_json_line_begin(&answer->json);
    vamp_json_text(&answer->json, "metric", metric->name);
    vamp_json_text(&answer->json, "unit", metric->unit);
    vamp_bucket_json_labels(&answer->json, &answer->bucket->schema->label_sets[entry->label_set],
                            answer->bucket->series[entry->label_set][series]);
}

static void end_series(struct answer *answer)
{
    vamp_json_line_end_more(&answer->json);
    answer->listed++;
}

static void counter_line(struct answer *answer, const struct vamp_schema_metric *entry,
                         unsigned series, const struct vamp_counter_value *value)
{
    if (value->value > 0) {
        begin_series(answer, entry, series);
        vamp_json_unsigned(&answer->json, "value", value->value);
        vamp_json_unsigned(&answer->json, "delta", value->delta);
        end_series(answer);
    }
}

static void gauge_line(struct answer *answer, const struct vamp_schema_metric *entry,
                       unsigned series, const struct vamp_gauge_value *value)
{
    if (series > 0 && value->value != VAMP_GAUGE_NONE) {
        begin_series(answer, entry, series);
        vamp_bucket_json_gauge(&answer->json, value, entry->has_bounds);
        end_series(answer);
    }
}

static void histogram_line(struct answer *answer, const struct vamp_schema_metric *entry,
                           const struct vamp_histogram_value *value)
{
    begin_series(answer, entry, value->series);
    vamp_bucket_json_figures(&answer->json, &answer->bucket->schema->bins, value->histogram);
    end_series(answer);
}

static void metric_lines(struct answer *answer, const struct request *request, unsigned metric)
{
    const struct vamp_bucket *bucket = answer->bucket;
    const struct vamp_schema_metric *entry = &bucket->schema->metrics[metric];
    const struct vamp_metric_values *values = &bucket->values[metric];
    const enum vamp_metric_kind kind = vamp_metrics[entry->id].kind;
    for (unsigned i = 0; i < values->count; i++) {
        const unsigned series = kind == VAMP_HISTOGRAM ? values->histograms[i].series : i;
        if (!vamp_series_is_wanted(&request->series_patterns,
                                   &bucket->schema->label_sets[entry->label_set],
                                   bucket->series[entry->label_set][series])) {
            continue;
        }
        if (answer->json.used > ANSWER_BYTES_MAX) {
            answer->unlisted++;
        } else if (kind == VAMP_COUNTER) {
            counter_line(answer, entry, series, &values->counters[i]);
        } else if (kind == VAMP_GAUGE) {
            gauge_line(answer, entry, series, &values->gauges[i]);
        } else {
            histogram_line(answer, entry, &values->histograms[i]);
        }
    }
}

/* The last element, which says what the others are. */
static void last_line(struct answer *answer, const struct vamp_collect *collect,
                      const struct request *request)
{
    struct vamp_json *json = &answer->json;
    vamp_json_line_begin(json);
    if (request->wrong) {
        vamp_json_text(json, "error",
                       "a request has patterns of metrics' names and LABEL=PATTERN, 64 of each");
    }
    if (answer->bucket != NULL) {
        vamp_json_unsigned(json, "bucket", answer->bucket->number);
        vamp_json_time(json, "start", answer->bucket->start_ns);
        vamp_json_unsigned(json, "width_ns", (uint64_t)answer->bucket->width_ns);
    }
    vamp_json_unsigned(json, "runs_live", collect->counts.runs_live);
    vamp_json_unsigned(json, "listed", answer->listed);
    vamp_json_unsigned(json, "unlisted", answer->unlisted);
    vamp_json_line_end(json);
}

char *vamp_collect_present(const struct vamp_collect *collect, const char *text, size_t bytes)
{
    struct request request;
    struct answer answer = {.bucket = collect->newest};
    if (!read_request(&request, text, bytes)) {
        return NULL;
    }
    vamp_json_array_begin(&answer.json);
    for (unsigned i = 0;
         answer.bucket != NULL && !request.wrong && i < answer.bucket->schema->metric_count; i++) {
        if (wants_metric(&request, vamp_metrics[answer.bucket->schema->metrics[i].id].name)) {
            metric_lines(&answer, &request, i);
        }
    }
    last_line(&answer, collect, &request);
    vamp_json_array_end(&answer.json);
    char *result = answer.json.failed ? NULL : strndup(answer.json.bytes, answer.json.used);
    vamp_json_done(&answer.json);
    free(request.text);
    return result;
}
