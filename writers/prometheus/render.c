/* SPDX-License-Identifier: BSD-3-Clause */
/* The page as text: format 0.0.4 of Prometheus, or OpenMetrics 1.0. */
#include <assert.h>
#include <string.h>

#include "vampire/stats/bucket/bucket.h"
#include "writers/prometheus/internal.h"

#define NUMBER_BYTES 40
#define SUFFIX_BYTES 12
#define ESCAPED "\\\""

struct rendering {
    struct vamp_text *text;
    enum page_kind kind;
    struct vamp_text run_labels; /* those that every series has */
    struct vamp_text labels;     /* of the present series */
};

/* ---- parts of lines */

static void add_label(struct vamp_text *text, const char *name, const char *value)
{
    vamp_text_word(text, text->used > 0 ? "," : "");
    vamp_text_word(text, name);
    vamp_text_word(text, "=\"");
    vamp_text_escaped(text, value, ESCAPED);
    vamp_text_word(text, "\"");
}

static void add_run_labels(struct vamp_text *text, const struct vamp_run *run, uint64_t labels)
{
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT; label++) {
        char scratch[VAMP_RUN_LABEL_BYTES];
        if ((labels >> label & 1U) != 0) {
            add_label(text, vamp_run_label_words[label],
                      vamp_run_label(run, (enum vamp_run_label)label, scratch));
        }
    }
}

static void set_labels(struct rendering *rendering, const struct page *page,
                       const struct page_metric *metric, unsigned series)
{
    const struct vamp_label_set *set = &page->schema->label_sets[metric->label_set];
    const struct vamp_series *described = page->series[metric->label_set][series];
    struct vamp_text *labels = &rendering->labels;
    labels->used = 0;
    vamp_text_add(labels, rendering->run_labels.bytes, rendering->run_labels.used);
    for (unsigned i = 0; i < set->label_count; i++) {
        add_label(labels, vamp_label_name(set->labels[i]), described->labels[i]);
    }
}

/* HELP, TYPE and UNIT. In OpenMetrics a counter's lines have its name without "_total". */
static void describe(struct rendering *rendering, const char *name, const char *suffix,
                     const char *type, const char *unit, const char *help)
{
    const char *const parts[] = {"# HELP ", "# TYPE ", "# UNIT "};
    const char *const words[] = {help, type, unit};
    const bool total = strcmp(type, "counter") == 0 && rendering->kind == PAGE_TEXT;
    const unsigned count = rendering->kind == PAGE_OPENMETRICS && unit[0] != '\0' ? 3 : 2;
    for (unsigned i = 0; i < count; i++) {
        vamp_text_word(rendering->text, parts[i]);
        vamp_text_word(rendering->text, name);
        vamp_text_word(rendering->text, suffix);
        vamp_text_word(rendering->text, total ? "_total " : " ");
        vamp_text_word(rendering->text, words[i]);
        vamp_text_word(rendering->text, "\n");
    }
}

/* Up to the value; `le` NULL: no such label. */
static void begin_line(const struct rendering *rendering, const char *name, const char *suffix,
                       const char *le)
{
    struct vamp_text *text = rendering->text;
    const struct vamp_text *labels = &rendering->labels;
    vamp_text_word(text, name);
    vamp_text_word(text, suffix);
    if (labels->used > 0 || le != NULL) {
        vamp_text_word(text, "{");
        vamp_text_add(text, labels->bytes, labels->used);
        if (le != NULL) {
            vamp_text_word(text, labels->used > 0 ? ",le=\"" : "le=\"");
            vamp_text_word(text, le);
            vamp_text_word(text, "\"");
        }
        vamp_text_word(text, "}");
    }
    vamp_text_word(text, " ");
}

static void number_line(const struct rendering *rendering, const char *name, const char *suffix,
                        const char *le, uint64_t value)
{
    begin_line(rendering, name, suffix, le);
    vamp_text_number(rendering->text, value, 0);
    vamp_text_word(rendering->text, "\n");
}

/* ---- metrics */

static void counter_lines(struct rendering *rendering, const struct page *page,
                          const struct page_metric *metric)
{
    const bool labelled = page->schema->label_sets[metric->label_set].label_count > 0;
    describe(rendering, metric->base.name, "", "counter", metric->base.unit, metric->metric->help);
    for (unsigned i = 0; i < metric->count; i++) {
        if (i == 0 && labelled && metric->values[0].counter == 0) {
            continue; /* "(other)" appears when something is counted there */
        }
        set_labels(rendering, page, metric, i);
        begin_line(rendering, metric->base.name, "_total", NULL);
        vamp_text_number(rendering->text, metric->values[i].counter, metric->base.decimals);
        vamp_text_word(rendering->text, "\n");
    }
}

/* The value at the end of the newest bucket, and the least and the largest in it. */
static void gauge_lines(struct rendering *rendering, const struct page *page,
                        const struct page_metric *metric)
{
    const char *const suffixes[] = {"", metric->has_bounds ? "_min_bound" : "_min",
                                    metric->has_bounds ? "_max_bound" : "_max"};
    const bool labelled = page->schema->label_sets[metric->label_set].label_count > 0;
    for (unsigned what = 0; what < 3; what++) {
        describe(rendering, metric->base.name, suffixes[what], "gauge",
                 what == 0 ? metric->base.unit : "", metric->metric->help);
        for (unsigned i = 0; i < metric->count; i++) {
            const struct vamp_gauge_value *gauge = &metric->values[i].gauge;
            const int64_t values[] = {gauge->value, gauge->min, gauge->max};
            if (values[what] == VAMP_GAUGE_NONE ||
                (i == 0 && labelled && gauge->min == 0 && gauge->max == 0)) {
                continue;
            }
            set_labels(rendering, page, metric, i);
            begin_line(rendering, metric->base.name, suffixes[what], NULL);
            vamp_text_signed(rendering->text, values[what], metric->base.decimals);
            vamp_text_word(rendering->text, "\n");
        }
    }
}

static void histogram_lines(struct rendering *rendering, const struct page *page,
                            const struct page_metric *metric)
{
    const char *name = metric->base.name;
    describe(rendering, name, "", "histogram", metric->base.unit, metric->metric->help);
    for (unsigned i = 0; i < metric->count; i++) {
        const struct page_histogram *histogram = metric->values[i].histogram;
        if (histogram == NULL) {
            continue;
        }
        set_labels(rendering, page, metric, i);
        uint64_t count = 0;
        for (unsigned bound = 0; bound < metric->bounds->count; bound++) {
            count += histogram->in_bound[bound];
            number_line(rendering, name, "_bucket", metric->bounds->le[bound], count);
        }
        number_line(rendering, name, "_bucket", "+Inf", histogram->count);
        begin_line(rendering, name, "_sum", NULL);
        vamp_text_number(rendering->text, histogram->sum, metric->base.decimals);
        vamp_text_word(rendering->text, "\n");
        number_line(rendering, name, "_count", NULL, histogram->count);
    }
}

/* ---- the page itself */

static void own_gauge(struct rendering *rendering, const char *name, const char *unit,
                      const char *help, uint64_t value, unsigned decimals)
{
    describe(rendering, name, "", "gauge", unit, help);
    begin_line(rendering, name, "", NULL);
    vamp_text_number(rendering->text, value, decimals);
    vamp_text_word(rendering->text, "\n");
}

static void info_lines(struct rendering *rendering, const struct vamp_run *run)
{
    const bool info = rendering->kind == PAGE_OPENMETRICS; /* a type of its own there */
    describe(rendering, info ? "vampire_run" : "vampire_run_info", "", info ? "info" : "gauge", "",
             "the run that this page is about");
    rendering->labels.used = 0;
    add_run_labels(&rendering->labels, run, UINT64_MAX);
    add_label(&rendering->labels, "component", run->component);
    add_label(&rendering->labels, "version", run->version);
    number_line(rendering, "vampire_run_info", "", NULL, 1);
}

static void page_lines(struct rendering *rendering, const struct page *page)
{
    uint64_t left_out = 0;
    for (unsigned i = 0; i < page->schema->metric_count; i++) {
        left_out += page->metrics[i].left_out;
    }
    info_lines(rendering, page->run);
    rendering->labels.used = 0;
    vamp_text_add(&rendering->labels, rendering->run_labels.bytes, rendering->run_labels.used);
    own_gauge(rendering, "vampire_run_ended", "", "1 after the end of the run", page->ended, 0);
    own_gauge(rendering, "vampire_page_end_time_seconds", "seconds",
              "time up to which the values are counted, since 1970",
              page->end_ns > 0 ? (uint64_t)page->end_ns : 0, 9);
    own_gauge(rendering, "vampire_page_series_left_out", "",
              "series without room on this page, see the option page", left_out, 0);
    describe(rendering, "vampire_page_buckets", "", "counter", "",
             "buckets of the statistics that are in the values of this page");
    number_line(rendering, "vampire_page_buckets_total", "", NULL, page->buckets);
    describe(rendering, "vampire_page_lost_buckets", "", "counter", "",
             "buckets that did not reach this page: its histograms lack their values");
    number_line(rendering, "vampire_page_lost_buckets_total", "", NULL, page->lost_buckets);
}

void page_render(const struct page *page, enum page_kind kind, struct vamp_text *text)
{
    struct rendering rendering = {.text = text, .kind = kind};
    add_run_labels(&rendering.run_labels, page->run, page->run_labels);
    page_lines(&rendering, page);
    for (unsigned i = 0; i < page->schema->metric_count; i++) {
        const struct page_metric *metric = &page->metrics[i];
        switch (metric->metric->kind) {
        case VAMP_COUNTER:
            counter_lines(&rendering, page, metric);
            break;
        case VAMP_GAUGE:
            gauge_lines(&rendering, page, metric);
            break;
        case VAMP_HISTOGRAM:
            histogram_lines(&rendering, page, metric);
            break;
        }
    }
    vamp_text_word(text, kind == PAGE_OPENMETRICS ? "# EOF\n" : "");
    text->failed = text->failed || rendering.labels.failed || rendering.run_labels.failed;
    vamp_text_done(&rendering.labels);
    vamp_text_done(&rendering.run_labels);
}

/* ---- how long it can become */

/* Escaping makes a byte two, or three where it is not UTF-8. */
static uint64_t label_bytes(const char *name, const char *value)
{
    return strlen(name) + 3 * strlen(value) + sizeof ",=\"\"";
}

uint64_t page_series_bytes(const struct page *page, const struct page_metric *metric,
                           const struct vamp_series *series)
{
    const struct vamp_label_set *set = &page->schema->label_sets[metric->label_set];
    uint64_t bytes = strlen(metric->base.name) + SUFFIX_BYTES + NUMBER_BYTES;
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT; label++) {
        char scratch[VAMP_RUN_LABEL_BYTES];
        if ((page->run_labels >> label & 1U) != 0) {
            bytes += label_bytes(vamp_run_label_words[label],
                                 vamp_run_label(page->run, (enum vamp_run_label)label, scratch));
        }
    }
    for (unsigned i = 0; i < set->label_count; i++) {
        bytes += label_bytes(vamp_label_name(set->labels[i]), series->labels[i]);
    }
    switch (metric->metric->kind) {
    case VAMP_COUNTER:
        return bytes;
    case VAMP_GAUGE:
        return 3 * bytes;
    case VAMP_HISTOGRAM:
        return (metric->bounds->count + 3) * (bytes + PROMETHEUS_LE_BYTES);
    }
    return bytes;
}

uint64_t page_metric_bytes(const struct page_metric *metric)
{
    const uint64_t described =
        3 * (strlen(metric->base.name) + SUFFIX_BYTES + 32) + strlen(metric->metric->help);
    return metric->metric->kind == VAMP_GAUGE ? 3 * described : described;
}
