/* SPDX-License-Identifier: BSD-3-Clause */
/* The values on the page. A bucket has what happened in it; the page has what happened since the
 * run began, as scrapers expect. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "writers/format/run_labels.h"
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
    page->series = calloc(schema->label_set_count + 1, sizeof *page->series);
    int code = page->metrics != NULL && page->series != NULL ? 0 : -ENOMEM;
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
    /* The kind is not known of a metric that was not created. */
    for (unsigned i = 0; metric->bounds != NULL && i < metric->count; i++) {
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
    for (unsigned i = 0; page->series != NULL && i < page->schema->label_set_count; i++) {
        free(page->series[i].items);
    }
    drop_texts(page);
    free(page->metrics);
    free(page->series);
    (void)pthread_mutex_destroy(&page->lock);
    free(page);
}

/* ---- room for a bucket: all that can fail */

/* The array of elements of `bytes` with room for `count`, new ones zero. NULL: there is no memory,
 * and the array is as it was. */
static void *grow(void *array, size_t bytes, unsigned *room, unsigned count)
{
    if (array != NULL && count <= *room) {
        return array;
    }
    const unsigned doubled = *room < 16 ? 16 : *room * 2;
    const unsigned longer = doubled > count ? doubled : count;
    char *grown = reallocarray(array, longer, bytes);
    if (grown != NULL) {
        memset(grown + *room * bytes, 0, (longer - *room) * bytes);
        *room = longer;
    }
    return grown;
}

static bool note_series(struct page_series *series, const struct vamp_series *const *items,
                        unsigned count)
{
    const struct vamp_series **longer =
        grow(series->items, sizeof *series->items, &series->room, count);
    if (longer == NULL) {
        return false;
    }
    series->items = longer;
    for (; series->count < count; series->count++) {
        series->items[series->count] = items[series->count];
    }
    return true;
}

/* Reserves the bytes of one more series. */
static bool has_place(struct page *page, struct page_metric *metric, unsigned series)
{
    const uint64_t bytes =
        page_series_bytes(page, metric, page->series[metric->label_set].items[series]);
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

static bool admit(struct page *page, struct page_metric *metric,
                  const struct vamp_metric_values *values)
{
    const unsigned known = page->series[metric->label_set].count;
    struct page_value *longer = grow(metric->values, sizeof *metric->values, &metric->room, known);
    if (longer == NULL) {
        return false;
    }
    metric->values = longer;
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

static void add_histogram(struct page_metric *metric, const struct vamp_histogram_value *value)
{
    struct page_histogram *to = metric->values[value->series].histogram;
    if (to == NULL) {
        return;
    }
    const struct vamp_bucket_histogram *from = value->histogram;
    to->count += from->count;
    to->sum += from->sum;
    for (uint32_t i = 0; i < from->bin_count; i++) {
        to->in_bound[metric->bounds->of_bin[from->bins[i].bin]] += from->bins[i].count;
    }
}

static void take_values(struct page_metric *metric, const struct vamp_metric_values *values)
{
    const unsigned count = metric->count < values->count ? metric->count : values->count;
    switch (metric->metric->kind) {
    case VAMP_COUNTER:
        for (unsigned i = 0; i < count; i++) {
            metric->values[i].counter = values->counters[i].value;
        }
        break;
    case VAMP_GAUGE:
        for (unsigned i = 0; i < count; i++) {
            metric->values[i].gauge = values->gauges[i];
        }
        break;
    case VAMP_HISTOGRAM:
        for (unsigned i = 0; i < values->count; i++) {
            add_histogram(metric, &values->histograms[i]);
        }
        break;
    }
}

static bool prepare(struct page *page, const struct vamp_bucket *bucket)
{
    bool good = true;
    for (unsigned i = 0; i < page->schema->label_set_count && good; i++) {
        good = note_series(&page->series[i], bucket->series[i], bucket->series_count[i]);
    }
    for (unsigned i = 0; i < page->schema->metric_count && good; i++) {
        good = admit(page, &page->metrics[i], &bucket->values[i]);
    }
    return good;
}

int page_add(struct page *page, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    (void)pthread_mutex_lock(&page->lock);
    const bool good = prepare(page, bucket);
    if (good) {
        for (unsigned i = 0; i < page->schema->metric_count; i++) {
            take_values(&page->metrics[i], &bucket->values[i]);
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
