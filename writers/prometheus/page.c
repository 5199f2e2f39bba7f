/* SPDX-License-Identifier: BSD-3-Clause */
/* The values on the page. A bucket has what happened in it; the page has what happened since the
 * run began, as scrapers expect. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/bucket/bucket.h"
#include "writers/prometheus/internal.h"

/* Lines of the page itself, at most. */
#define OWN_BYTES 16384

/* ---- create and free */

static int create_metric(struct page *page, unsigned index, unsigned resolution)
{
    const struct vamp_schema_metric *entry = &page->schema->metrics[index];
    struct page_metric *metric = &page->metrics[index];
    metric->metric = &vamp_metrics[entry->id];
    metric->label_set = entry->label_set;
    metric->has_bounds = entry->has_bounds;
    vamp_base_metric(metric->metric, &metric->base);
    if (metric->metric->kind == VAMP_HISTOGRAM) {
        metric->bounds = prometheus_bounds_create(metric->metric, &page->schema->bins, resolution);
        if (metric->bounds == NULL) {
            return -ENOMEM;
        }
    }
    page->reserved_bytes += page_metric_bytes(metric);
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
    page->run = target->run;
    page->schema = schema;
    page->max_bytes = options->page_bytes;
    page->run_labels = vamp_run_labels_to_add(schema, options->labels);
    page->end_ns = target->run->started_ns;
    page->reserved_bytes = OWN_BYTES;
    page->metrics = calloc(schema->metric_count + 1, sizeof *page->metrics);
    int code = page->metrics != NULL ? 0 : -ENOMEM;
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
    prometheus_bounds_free(metric->bounds);
}

static void drop_texts(struct page *page)
{
    for (unsigned kind = 0; kind < PAGE_KIND_COUNT; kind++) {
        page_release(page->texts[kind]);
        page->texts[kind] = NULL;
    }
}

void page_free(struct page *page)
{
    if (page == NULL) {
        return;
    }
    for (unsigned i = 0; page->metrics != NULL && i < page->schema->metric_count; i++) {
        metric_done(&page->metrics[i]);
    }
    drop_texts(page);
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

/* Reserves the bytes of one more series. */
static bool has_place(struct page *page, struct page_metric *metric, unsigned series)
{
    const uint64_t bytes = page_series_bytes(page, metric, page->series[metric->label_set][series]);
    if (page->reserved_bytes + bytes > page->max_bytes) {
        metric->full = true;
        return false;
    }
    page->reserved_bytes += bytes;
    return true;
}

static bool admit_histogram(struct page *page, struct page_metric *metric, unsigned series)
{
    struct page_value *value = &metric->values[series];
    if (value->histogram != NULL || value->refused) {
        return true;
    }
    if (metric->full || !has_place(page, metric, series)) {
        value->refused = true;
        metric->left_out++;
        return true;
    }
    value->histogram =
        calloc(1, sizeof *value->histogram +
                      (metric->bounds->count + 1) * sizeof value->histogram->in_bound[0]);
    return value->histogram != NULL;
}

/* `known`: series of the metric's label set. */
static bool admit(struct page *page, struct page_metric *metric, unsigned known,
                  const struct vamp_metric_values *values)
{
    if (!make_room(metric, known)) {
        return false;
    }
    if (metric->metric->kind != VAMP_HISTOGRAM) {
        while (metric->count < values->count && !metric->full &&
               has_place(page, metric, metric->count)) {
            metric->count++;
        }
        metric->left_out = values->count > metric->count ? values->count - metric->count : 0;
        return true;
    }
    metric->count = known;
    bool good = true;
    for (unsigned i = 0; i < values->count && good; i++) {
        good = admit_histogram(page, metric, values->histograms[i].series);
    }
    return good;
}

/* ---- values */

static void add_histogram(const struct prometheus_bounds *bounds, struct page_histogram *to,
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
    if (row->number >= metric->count) {
        return;
    }
    switch (row->metric->kind) {
    case VAMP_COUNTER:
        value->counter = row->counter->value;
        break;
    case VAMP_GAUGE:
        value->gauge = *row->gauge;
        break;
    case VAMP_HISTOGRAM:
        if (value->histogram != NULL) {
            add_histogram(metric->bounds, value->histogram, row->histogram);
        }
        break;
    }
}

static bool prepare(struct page *page, const struct vamp_bucket *bucket)
{
    bool good = true;
    page->series = bucket->series;
    for (unsigned i = 0; i < page->schema->metric_count && good; i++) {
        struct page_metric *metric = &page->metrics[i];
        good = admit(page, metric, bucket->series_count[metric->label_set], &bucket->values[i]);
    }
    return good;
}

int page_add(struct page *page, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    (void)pthread_mutex_lock(&page->lock);
    const bool good = prepare(page, bucket);
    if (good) {
        struct vamp_rows rows = vamp_rows(bucket, 0);
        while (vamp_rows_next(&rows)) {
            take_value(&page->metrics[rows.row.place], &rows.row);
        }
        page->buckets += bucket->buckets;
        page->lost_buckets += delivery->lost_before;
        page->end_ns = bucket->start_ns + bucket->width_ns;
        drop_texts(page);
    }
    (void)pthread_mutex_unlock(&page->lock);
    return good ? 0 : vamp_err_set_errno(err, ENOMEM, "add a bucket to the page");
}

void page_end(struct page *page)
{
    (void)pthread_mutex_lock(&page->lock);
    page->ended = true;
    drop_texts(page);
    (void)pthread_mutex_unlock(&page->lock);
}

uint64_t page_left_out(struct page *page)
{
    uint64_t left_out = 0;
    (void)pthread_mutex_lock(&page->lock);
    for (unsigned i = 0; i < page->schema->metric_count; i++) {
        left_out += page->metrics[i].left_out;
    }
    (void)pthread_mutex_unlock(&page->lock);
    return left_out;
}

/* ---- as text */

static struct page_text *render(const struct page *page, enum page_kind kind)
{
    struct page_text *made = calloc(1, sizeof *made);
    struct vamp_text text = {.bytes = NULL};
    page_render(page, kind, &text);
    if (made == NULL || text.failed) {
        vamp_text_done(&text);
        free(made);
        return NULL;
    }
    *made = (struct page_text){.holders = 1, .length = text.used, .bytes = text.bytes};
    return made;
}

struct page_text *page_hold(struct page *page, enum page_kind kind)
{
    (void)pthread_mutex_lock(&page->lock);
    if (page->texts[kind] == NULL) {
        page->texts[kind] = render(page, kind);
    }
    struct page_text *text = page->texts[kind];
    if (text != NULL) {
        (void)__atomic_add_fetch(&text->holders, 1, __ATOMIC_RELAXED);
    }
    (void)pthread_mutex_unlock(&page->lock);
    return text;
}

void page_release(struct page_text *text)
{
    if (text != NULL && __atomic_sub_fetch(&text->holders, 1, __ATOMIC_ACQ_REL) == 0) {
        free(text->bytes);
        free(text);
    }
}
