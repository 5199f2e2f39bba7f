/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to requests: the newest closed bucket as JSON, with the requested metrics and series. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/collect/internal.h"
#include "vampire/core/json_emit.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/bucket/bucket_json.h"

/* The default limit of NATS servers is one mebibyte; one more line must fit. */
#define ANSWER_BYTES_MAX ((size_t)1024 * 1024 - 2 * (size_t)VAMP_JSON_LINE_BYTES)
#define WORDS_MAX 64

struct request {
    char *text; /* split into words */
    char *metrics[WORDS_MAX], *series[WORDS_MAX];
    struct vamp_strings metric_patterns, series_patterns;
    bool wrong; /* a word has an unknown label, or there are too many words */
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
    struct vamp_strings *to = &request->metric_patterns;
    if (is_series) {
        to = &request->series_patterns;
    }
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
    if (request->text == NULL) {
        return false;
    }
    for (char *word = strtok_r(request->text, " \t\r\n", &rest); word != NULL;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        add_word(request, word);
    }
    return true;
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

/* Returns whether the row is listed. Counters that are 0, gauges of the series (other), and gauges
 * without a value are not. */
static bool is_worth(const struct vamp_row *row)
{
    switch (row->metric->kind) {
    case VAMP_COUNTER:
        return row->counter->value > 0;
    case VAMP_GAUGE:
        return row->number > 0 && row->gauge->value != VAMP_GAUGE_NONE;
    case VAMP_HISTOGRAM:
        break;
    }
    return true;
}

static void metric_lines(struct answer *answer, const struct request *request, unsigned metric)
{
    struct vamp_json *json = &answer->json;
    struct vamp_rows rows = vamp_rows_of(answer->bucket, metric, 0);
    while (vamp_rows_next(&rows)) {
        const struct vamp_row *row = &rows.row;
        if (!vamp_series_is_wanted(&request->series_patterns, row->set, row->series)) {
            continue;
        }
        if (json->used > ANSWER_BYTES_MAX) {
            answer->unlisted++;
        } else if (is_worth(row)) {
            vamp_json_line_begin(json);
            vamp_json_text(json, "metric", row->metric->name);
            vamp_json_text(json, "unit", row->metric->unit);
            vamp_bucket_json_labels(json, row->set, row->series);
            vamp_bucket_json_values(json, &answer->bucket->schema->bins, row);
            vamp_json_line_end_more(json);
            answer->listed++;
        }
    }
}

/* The last element, which describes the answer. */
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
    char *result = NULL;
    if (!answer.json.failed) {
        result = strndup(answer.json.bytes, answer.json.used);
    }
    vamp_json_done(&answer.json);
    free(request.text);
    return result;
}
