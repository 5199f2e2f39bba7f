/* SPDX-License-Identifier: BSD-3-Clause */
/* The values on the page. A bucket has what happened in it; the page has what happened since the
 * run began, as scrapers expect. */
#include "writers/prometheus/page.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/bucket/metric.h"
#include "vampire/stats/bucket/rows.h"
#include "writers/format/bounds.h"

#define ESCAPED "\\\""

struct page_histogram {
    uint64_t count;
    unsigned __int128 sum;
    uint64_t in_bound[]; /* as many as bounds, and one: not cumulative */
};

/* What the page has of a series. */
struct page_value {
    union {
        uint64_t counter;
        struct vamp_gauge_value gauge;
        struct page_histogram *histogram; /* NULL: nothing recorded */
    };
    int64_t born_ns; /* the time from which it counts */
};

/* A metric and its series on the page. */
struct page_metric {
    const struct vamp_metric *metric;
    struct vamp_base_metric base;
    unsigned label_set;
    unsigned count;                  /* series that there are */
    unsigned room;                   /* of the array */
    struct vamp_schema_metric entry; /* as of the newest bucket: what was merged */
    struct page_value *values;       /* by number of the series */
    struct vamp_bounds *bounds;      /* of a histogram */
};

struct page {
    const struct vamp_schema *schema;
    struct vamp_text run_labels;  /* those that every series has, as text */
    struct vamp_text info_labels; /* those of vampire_run_info */

    pthread_mutex_t lock; /* of all below; the format's and the server's thread */
    struct page_metric *metrics;
    const struct vamp_series *const *const *series; /* [label set][series]: as buckets have them */
    uint64_t buckets, lost_buckets;
    int64_t end_ns; /* of the newest bucket */
    bool ended;
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

/* ---- create and free */

static int create_metric(struct page *page, unsigned index, unsigned resolution)
{
    const struct vamp_schema_metric *entry = &page->schema->metrics[index];
    struct page_metric *metric = &page->metrics[index];
    metric->metric = &vamp_metrics[entry->id];
    metric->label_set = entry->label_set;
    vamp_base_metric(metric->metric, &metric->base);
    if (metric->metric->kind == VAMP_HISTOGRAM) {
        metric->bounds = vamp_bounds(metric->metric, &page->schema->bins, resolution);
        if (metric->bounds == NULL) {
            return -ENOMEM;
        }
    }
    return 0;
}

int page_create(const struct prometheus_options *options, const struct vamp_writer_target *target,
                struct page **ret_page, struct vamp_err *err)
{
    const struct vamp_schema *schema = target->schema;
    struct page *page = calloc(1, sizeof *page);
    if (page == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the page");
    }
    (void)pthread_mutex_init(&page->lock, NULL);
    page->schema = schema;
    add_run_labels(&page->run_labels, target->run, vamp_run_labels_to_add(schema, options->labels));
    add_run_labels(&page->info_labels, target->run, UINT64_MAX);
    add_label(&page->info_labels, "component", target->run->component);
    add_label(&page->info_labels, "version", target->run->version);
    page->end_ns = target->run->started_ns;
    page->metrics = calloc(schema->metric_count + 1, sizeof *page->metrics);
    int code = page->metrics != NULL && !page->run_labels.failed && !page->info_labels.failed
                   ? 0
                   : -ENOMEM;
    for (unsigned i = 0; i < schema->metric_count && code == 0; i++) {
        code = create_metric(page, i, options->bounds);
    }
    if (code != 0) {
        page_free(page);
        return vamp_err_set_errno(err, ENOMEM, "prepare the page");
    }
    *ret_page = page;
    return 0;
}

static void metric_done(struct page_metric *metric)
{
    for (unsigned i = 0; i < metric->room && metric->metric->kind == VAMP_HISTOGRAM; i++) {
        free(metric->values[i].histogram);
    }
    free(metric->values);
    free(metric->bounds);
}

void page_free(struct page *page)
{
    if (page == NULL) {
        return;
    }
    for (unsigned i = 0; page->metrics != NULL && i < page->schema->metric_count; i++) {
        metric_done(&page->metrics[i]);
    }
    vamp_text_done(&page->run_labels);
    vamp_text_done(&page->info_labels);
    free(page->metrics);
    (void)pthread_mutex_destroy(&page->lock);
    free(page);
}

/* ---- room for a bucket: all that can fail */

static bool make_room(struct page_metric *metric, unsigned count)
{
    if (count <= metric->room) {
        return true;
    }
    const unsigned doubled = metric->room < 16 ? 16 : metric->room * 2;
    const unsigned room = doubled > count ? doubled : count;
    struct page_value *longer = reallocarray(metric->values, room, sizeof *longer);
    if (longer != NULL) {
        memset(longer + metric->room, 0, (room - metric->room) * sizeof *longer);
        metric->values = longer;
        metric->room = room;
    }
    return longer != NULL;
}

/* `known`: series of the metric's label set. False: no memory. */
static bool admit(struct page_metric *metric, unsigned known,
                  const struct vamp_metric_values *values)
{
    bool good = make_room(metric, known);
    for (unsigned i = 0; metric->bounds != NULL && i < values->count && good; i++) {
        struct page_histogram **histogram = &metric->values[values->histograms[i].series].histogram;
        if (*histogram == NULL) {
            *histogram = calloc(1, sizeof **histogram + (metric->bounds->count + 1) *
                                                            sizeof(*histogram)->in_bound[0]);
            good = *histogram != NULL;
        }
    }
    return good;
}

/* ---- values */

static void add_histogram(const struct vamp_bounds *bounds, struct page_histogram *to,
                          const struct vamp_bucket_histogram *from)
{
    to->count += from->count;
    to->sum += from->sum;
    for (uint32_t i = 0; i < from->bin_count; i++) {
        to->in_bound[bounds->of_bin[from->bins[i].bin]] += from->bins[i].count;
    }
}

static void take_value(struct page_metric *metric, const struct vamp_row *row)
{
    struct page_value *value = &metric->values[row->number];
    switch (row->metric->kind) {
    case VAMP_COUNTER:
        value->counter = row->counter->value;
        break;
    case VAMP_GAUGE:
        value->gauge = *row->gauge;
        break;
    case VAMP_HISTOGRAM:
        add_histogram(metric->bounds, value->histogram, row->histogram);
        break;
    }
}

static bool prepare(struct page *page, const struct vamp_bucket *bucket)
{
    bool good = true;
    for (unsigned i = 0; i < page->schema->metric_count && good; i++) {
        struct page_metric *metric = &page->metrics[i];
        good = admit(metric, bucket->series_count[metric->label_set], &bucket->values[i]);
    }
    return good;
}

static void take_bucket(struct page *page, const struct vamp_bucket *bucket)
{
    page->series = bucket->series;
    for (unsigned i = 0; i < page->schema->metric_count; i++) {
        struct page_metric *metric = &page->metrics[i];
        metric->entry = bucket->schema->metrics[i];
        for (; metric->count < bucket->series_count[metric->label_set]; metric->count++) {
            metric->values[metric->count].born_ns = bucket->start_ns;
        }
    }
    struct vamp_rows rows = vamp_rows(bucket, 0);
    while (vamp_rows_next(&rows)) {
        take_value(&page->metrics[rows.row.place], &rows.row);
    }
}

int page_add(struct page *page, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    (void)pthread_mutex_lock(&page->lock);
    const bool good = prepare(page, bucket);
    if (good) {
        take_bucket(page, bucket);
        page->buckets += bucket->buckets;
        page->lost_buckets += delivery->lost_before;
        page->end_ns = bucket->start_ns + bucket->width_ns;
    }
    (void)pthread_mutex_unlock(&page->lock);
    return good ? 0 : vamp_err_set_errno(err, ENOMEM, "add a bucket to the page");
}

void page_end(struct page *page)
{
    (void)pthread_mutex_lock(&page->lock);
    page->ended = true;
    (void)pthread_mutex_unlock(&page->lock);
}

/* ---- as text: format 0.0.4 of Prometheus, or OpenMetrics 1.0 */

struct rendering {
    struct vamp_text *text;
    enum page_kind kind;
    struct vamp_text labels; /* of the present series */
};

static void set_labels(struct rendering *rendering, const struct page *page,
                       const struct page_metric *metric, unsigned series)
{
    const struct vamp_label_set *set = &page->schema->label_sets[metric->label_set];
    const struct vamp_series *described = page->series[metric->label_set][series];
    struct vamp_text *labels = &rendering->labels;
    labels->used = 0;
    vamp_text_add(labels, page->run_labels.bytes, page->run_labels.used);
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
                        const char *le, unsigned __int128 value, unsigned decimals)
{
    begin_line(rendering, name, suffix, le);
    vamp_text_number(rendering->text, value, decimals);
    vamp_text_word(rendering->text, "\n");
}

/* ---- metrics */

/* When a series began that took over from others. */
static void created_line(const struct rendering *rendering, const struct page_metric *metric,
                         unsigned series)
{
    const unsigned from = metric->entry.coarser_from;
    if (rendering->kind == PAGE_OPENMETRICS && from > 0 && series >= from) {
        number_line(rendering, metric->base.name, "_created", NULL,
                    (uint64_t)metric->values[series].born_ns, 9);
    }
}

/* Whether a series appears once something is counted there: "(other)", and those of samples. */
static bool appears_later(const struct page *page, const struct page_metric *metric, unsigned i)
{
    return (metric->metric->sets & VAMP_SET_SAMPLED) != 0 ||
           (i == 0 && page->schema->label_sets[metric->label_set].label_count > 0);
}

static void counter_lines(struct rendering *rendering, const struct page *page,
                          const struct page_metric *metric)
{
    describe(rendering, metric->base.name, "", "counter", metric->base.unit, metric->metric->help);
    for (unsigned i = 0; i < metric->count; i++) {
        if (metric->values[i].counter == 0 && appears_later(page, metric, i)) {
            continue;
        }
        set_labels(rendering, page, metric, i);
        number_line(rendering, metric->base.name, "_total", NULL, metric->values[i].counter,
                    metric->base.decimals);
        created_line(rendering, metric, i);
    }
}

/* The value at the end of the newest bucket, and the least and the largest in it. */
static void gauge_lines(struct rendering *rendering, const struct page *page,
                        const struct page_metric *metric)
{
    const char *const suffixes[] = {"", metric->entry.has_bounds ? "_min_bound" : "_min",
                                    metric->entry.has_bounds ? "_max_bound" : "_max"};
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
    const bool labelled = page->schema->label_sets[metric->label_set].label_count > 0;
    static const struct page_histogram nothing = {.count = 0};
    describe(rendering, name, "", "histogram", metric->base.unit, metric->metric->help);
    for (unsigned i = 0; i < metric->count; i++) {
        const struct page_histogram *histogram = metric->values[i].histogram;
        if (histogram == NULL && (!labelled || appears_later(page, metric, i))) {
            continue;
        }
        set_labels(rendering, page, metric, i);
        uint64_t count = 0;
        for (unsigned bound = 0; bound < metric->bounds->count; bound++) {
            count += histogram != NULL ? histogram->in_bound[bound] : 0;
            number_line(rendering, name, "_bucket", metric->bounds->at[bound].text, count, 0);
        }
        histogram = histogram != NULL ? histogram : &nothing;
        number_line(rendering, name, "_bucket", "+Inf", histogram->count, 0);
        number_line(rendering, name, "_sum", NULL, histogram->sum, metric->base.decimals);
        number_line(rendering, name, "_count", NULL, histogram->count, 0);
        created_line(rendering, metric, i);
    }
}

/* ---- the page itself */

static void own_gauge(struct rendering *rendering, const char *name, const char *unit,
                      const char *help, uint64_t value, unsigned decimals)
{
    describe(rendering, name, "", "gauge", unit, help);
    number_line(rendering, name, "", NULL, value, decimals);
}

static void info_lines(struct rendering *rendering, const struct page *page)
{
    const bool info = rendering->kind == PAGE_OPENMETRICS; /* a type of its own there */
    describe(rendering, info ? "vampire_run" : "vampire_run_info", "", info ? "info" : "gauge", "",
             "the run that this page is about");
    rendering->labels.used = 0;
    vamp_text_add(&rendering->labels, page->info_labels.bytes, page->info_labels.used);
    number_line(rendering, "vampire_run_info", "", NULL, 1, 0);
}

/* Which metrics lost labels to the budget. */
static void merged_lines(struct rendering *rendering, const struct page *page)
{
    describe(rendering, "vampire_page_merged", "", "gauge", "",
             "1 for a metric whose labels are merged to stay within the option budget; sums stay "
             "exact");
    for (unsigned i = 0; i < page->schema->metric_count; i++) {
        const struct page_metric *metric = &page->metrics[i];
        if (metric->entry.detail != VAMP_DETAIL_FULL) {
            rendering->labels.used = 0;
            vamp_text_add(&rendering->labels, page->run_labels.bytes, page->run_labels.used);
            add_label(&rendering->labels, "metric", metric->base.name);
            add_label(&rendering->labels, "into", vamp_detail_word(metric->entry.detail));
            number_line(rendering, "vampire_page_merged", "", NULL, 1, 0);
        }
    }
}

static void page_lines(struct rendering *rendering, const struct page *page)
{
    info_lines(rendering, page);
    rendering->labels.used = 0;
    vamp_text_add(&rendering->labels, page->run_labels.bytes, page->run_labels.used);
    own_gauge(rendering, "vampire_run_ended", "", "1 after the end of the run", page->ended, 0);
    own_gauge(rendering, "vampire_page_end_time_seconds", "seconds",
              "time up to which the values are counted, since 1970",
              page->end_ns > 0 ? (uint64_t)page->end_ns : 0, 9);
    describe(rendering, "vampire_page_buckets", "", "counter", "",
             "buckets of the statistics that are in the values of this page");
    number_line(rendering, "vampire_page_buckets_total", "", NULL, page->buckets, 0);
    describe(rendering, "vampire_page_lost_buckets", "", "counter", "",
             "buckets that did not reach this page: its histograms lack their values");
    number_line(rendering, "vampire_page_lost_buckets_total", "", NULL, page->lost_buckets, 0);
    merged_lines(rendering, page);
}

uint64_t page_version(struct page *page)
{
    (void)pthread_mutex_lock(&page->lock);
    const uint64_t version = page->buckets + page->lost_buckets + page->ended;
    (void)pthread_mutex_unlock(&page->lock);
    return version;
}

void page_render(struct page *page, enum page_kind kind, struct vamp_text *text)
{
    struct rendering rendering = {.text = text, .kind = kind};
    (void)pthread_mutex_lock(&page->lock);
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
    (void)pthread_mutex_unlock(&page->lock);
    vamp_text_word(text, kind == PAGE_OPENMETRICS ? "# EOF\n" : "");
    text->failed = text->failed || rendering.labels.failed;
    vamp_text_done(&rendering.labels);
}
