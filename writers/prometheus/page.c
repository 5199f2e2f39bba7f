/* SPDX-License-Identifier: BSD-3-Clause */
/* The values on the page: totals since the start of the run, as scrapers expect. */
#include "writers/prometheus/page.h"

#include <math.h>
#include <stdlib.h>

#include "vampire/core/list.h"
#include "vampire/stats/bucket/rows.h"
#include "writers/format/fields.h"
#include "writers/prometheus/values.h"

#define ESCAPED "\\\""

/* ---- parts of lines */

void page_label(struct vamp_text *text, bool message, const char *name, const char *value)
{
    if (message) {
        const size_t begin = text->used;
        vamp_field_element(text, 1, name);
        vamp_field_text(text, 2, value);
        vamp_field_end(text, 1, begin);
        return;
    }
    if (text->used > 0) {
        vamp_text_word(text, ",");
    }
    vamp_text_word(text, name);
    vamp_text_word(text, "=\"");
    vamp_text_escaped(text, value, ESCAPED);
    vamp_text_word(text, "\"");
}

static void add_run_labels(struct vamp_text *text, bool message, const struct vamp_run *run,
                           uint64_t labels)
{
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT; label++) {
        char scratch[VAMP_RUN_LABEL_BYTES];
        if ((labels >> label & 1U) != 0) {
            page_label(text, message, vamp_run_label_words[label],
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
        metric->places =
            vamp_exponential_places(&page->schema->bins, pow(10, metric->base.decimals));
        if (metric->bounds == NULL || metric->places == NULL) {
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
    bool failed = false;
    for (unsigned form = 0; form < 2; form++) {
        struct vamp_text *info = &page->info_labels[form];
        add_run_labels(&page->run_labels[form], form > 0, target->run,
                       vamp_run_labels_to_add(schema, options->labels));
        add_run_labels(info, form > 0, target->run, UINT64_MAX);
        page_label(info, form > 0, "component", target->run->component);
        page_label(info, form > 0, "version", target->run->version);
        failed = failed || info->failed || page->run_labels[form].failed;
    }
    page->end_ns = target->run->started_ns;
    page->metrics = calloc(schema->metric_count + 1, sizeof *page->metrics);
    int code = 0;
    if (page->metrics == NULL || failed) {
        code = -ENOMEM;
    }
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
    free(metric->places);
}

void page_free(struct page *page)
{
    if (page == NULL) {
        return;
    }
    for (unsigned i = 0; page->metrics != NULL && i < page->schema->metric_count; i++) {
        metric_done(&page->metrics[i]);
    }
    for (unsigned form = 0; form < 2; form++) {
        vamp_text_done(&page->run_labels[form]);
        vamp_text_done(&page->info_labels[form]);
    }
    free(page->metrics);
    vamp_present_done(&page->present);
    (void)pthread_mutex_destroy(&page->lock);
    free(page);
}

/* ---- allocation for a bucket: all steps that can fail */

/* Allocates the values of the metric's first `known` series, and a page histogram for each of the
 * bucket's histograms `values`. Returns false if out of memory. */
static bool reserve_values(struct page_metric *metric, unsigned known, unsigned bins,
                           const struct vamp_metric_values *values)
{
    if (known > 0 &&
        !vamp_array_reserve(&metric->values, &metric->room, known - 1, sizeof *metric->values)) {
        return false;
    }
    for (unsigned i = 0; metric->bounds != NULL && i < values->count; i++) {
        struct page_histogram **histogram = &metric->values[values->histograms[i].series].histogram;
        if (*histogram == NULL) {
            *histogram = calloc(1, sizeof **histogram + bins * sizeof(*histogram)->in_bin[0]);
            if (*histogram == NULL) {
                return false;
            }
        }
    }
    return true;
}

/* ---- values */

static void add_histogram(struct page_histogram *to, const struct vamp_bucket_histogram *from)
{
    to->count += from->count;
    to->sum += from->sum;
    for (uint32_t i = 0; i < from->bin_count; i++) {
        to->in_bin[from->bins[i].bin] += from->bins[i].count;
    }
}

/* Stores a counter or a gauge; adds the values of a histogram. */
static void store_value(struct page_metric *metric, const struct vamp_row *row)
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
        add_histogram(value->histogram, row->histogram);
        break;
    }
}

/* Allocates what store_bucket requires. Returns false if out of memory. */
static bool prepare(struct page *page, const struct vamp_bucket *bucket)
{
    bool good = true;
    for (unsigned i = 0; i < page->schema->metric_count && good; i++) {
        struct page_metric *metric = &page->metrics[i];
        good = reserve_values(metric, bucket->series_count[metric->label_set],
                              page->schema->bins.count, &bucket->values[i]);
    }
    return good;
}

/* Stores the values of the bucket in the page. */
static void store_bucket(struct page *page, const struct vamp_bucket *bucket)
{
    page->series = bucket->series;
    for (unsigned i = 0; i < page->schema->metric_count; i++) {
        struct page_metric *metric = &page->metrics[i];
        metric->entry = bucket->schema->metrics[i];
        metric->resolution_ns = vamp_bucket_resolution(bucket, metric->entry.id);
        for (; metric->count < bucket->series_count[metric->label_set]; metric->count++) {
            metric->values[metric->count].born_ns = bucket->start_ns;
        }
    }
    struct vamp_rows rows = vamp_rows(bucket, 0);
    while (vamp_rows_next(&rows)) {
        store_value(&page->metrics[rows.row.place], &rows.row);
    }
}

int page_add(struct page *page, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    (void)pthread_mutex_lock(&page->lock);
    const bool good = prepare(page, bucket) && vamp_present_take(&page->present, delivery);
    if (good) {
        store_bucket(page, bucket);
        page->buckets += bucket->buckets;
        page->lost_buckets += delivery->lost_before;
        page->end_ns = bucket->start_ns + bucket->width_ns;
    }
    (void)pthread_mutex_unlock(&page->lock);
    if (!good) {
        return vamp_err_set_errno(err, ENOMEM, "add a bucket to the page");
    }
    return 0;
}

void page_end(struct page *page)
{
    (void)pthread_mutex_lock(&page->lock);
    page->ended = true;
    (void)pthread_mutex_unlock(&page->lock);
}

uint64_t page_version(struct page *page)
{
    (void)pthread_mutex_lock(&page->lock);
    const uint64_t version = page->buckets + page->lost_buckets + page->ended;
    (void)pthread_mutex_unlock(&page->lock);
    return version;
}
