/* SPDX-License-Identifier: BSD-3-Clause */
/* The closed bucket: everything that was added, in one piece of memory, since outputs keep it. */
#include <stdlib.h>
#include <string.h>

#include "vampire/collect/internal.h"

struct made_bucket {
    struct vamp_bucket bucket;
    unsigned series_count[VAMP_METRIC_COUNT];
    struct vamp_metric_values values[VAMP_METRIC_COUNT];
    struct vamp_gap gaps[COLLECT_GAPS_MAX];
    _Alignas(max_align_t) unsigned char memory[]; /* of the values */
};

static void destroy(const struct vamp_bucket *bucket)
{
    free((void *)(uintptr_t)bucket); /* the first member of a struct made_bucket */
}

static uint32_t series_count(const struct vamp_collect *collect, unsigned metric)
{
    return collect->series[collect->metrics[metric].label_set].count;
}

static bool has_values(const struct vamp_kept_histogram *kept)
{
    return kept->values != NULL && kept->values->count > 0;
}

/* All sizes are multiples of 8, which is all that the values need. */
static size_t values_bytes(const struct vamp_collect *collect, unsigned metric)
{
    const struct collect_values *values = &collect->values[metric];
    const uint32_t count = series_count(collect, metric);
    if (values->counters != NULL) {
        return count * sizeof(struct vamp_counter_value);
    }
    if (values->gauges != NULL) {
        return count * sizeof(struct vamp_gauge_value);
    }
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct vamp_kept_histogram *kept = &values->histograms[i];
        bytes += has_values(kept) ? sizeof(struct vamp_histogram_value) +
                                        vamp_bucket_histogram_bytes(kept->values->bin_count)
                                  : 0;
    }
    return bytes;
}

/* What a gauge is of which no run reported a value. */
static struct vamp_gauge_value absent(const struct vamp_metric *metric)
{
    const int64_t value = vamp_metric_may_be_none(metric) ? VAMP_GAUGE_NONE : 0;
    return (struct vamp_gauge_value){value, value, value};
}

static void *copy_histograms(const struct collect_values *values, uint32_t count, void *memory,
                             struct vamp_metric_values *ret_values)
{
    unsigned used = 0;
    for (uint32_t i = 0; i < count; i++) {
        used += has_values(&values->histograms[i]);
    }
    struct vamp_histogram_value *list = memory;
    unsigned char *to = (unsigned char *)(list + used);
    *ret_values = (struct vamp_metric_values){.count = used, .histograms = list};
    for (uint32_t i = 0; i < count; i++) {
        const struct vamp_kept_histogram *kept = &values->histograms[i];
        if (has_values(kept)) {
            const size_t bytes = vamp_bucket_histogram_bytes(kept->values->bin_count);
            memcpy(to, kept->values, bytes);
            *list++ = (struct vamp_histogram_value){
                .series = i, .histogram = (const struct vamp_bucket_histogram *)(void *)to};
            to += bytes;
        }
    }
    return to;
}

/* Returns the memory after the copy. */
static void *copy_values(const struct vamp_collect *collect, unsigned metric, void *memory,
                         struct vamp_metric_values *ret_values)
{
    const struct collect_values *values = &collect->values[metric];
    const uint32_t count = series_count(collect, metric);
    if (values->counters != NULL) {
        memcpy(memory, values->counters, count * sizeof *values->counters);
        *ret_values = (struct vamp_metric_values){.count = count, .counters = memory};
        return (struct vamp_counter_value *)memory + count;
    }
    if (values->gauges != NULL) {
        struct vamp_gauge_value *gauges = memory;
        for (uint32_t i = 0; i < count; i++) {
            gauges[i] = values->gauges[i].in_total
                            ? values->gauges[i].total
                            : absent(&vamp_metrics[collect->metrics[metric].id]);
        }
        *ret_values = (struct vamp_metric_values){.count = count, .gauges = gauges};
        return gauges + count;
    }
    return copy_histograms(values, count, memory, ret_values);
}

const struct vamp_bucket *collect_bucket(const struct vamp_collect *collect, int64_t start_ns)
{
    size_t bytes = sizeof(struct made_bucket);
    for (unsigned i = 0; i < collect->schema.metric_count; i++) {
        bytes += values_bytes(collect, i);
    }
    struct made_bucket *made = malloc(bytes);
    if (made == NULL) {
        return NULL;
    }
    void *memory = made->memory;
    for (unsigned i = 0; i < collect->schema.metric_count; i++) {
        memory = copy_values(collect, i, memory, &made->values[i]);
    }
    for (unsigned i = 0; i < collect->schema.label_set_count; i++) {
        made->series_count[i] = collect->series[i].count;
    }
    memcpy(made->gaps, collect->gaps, collect->gap_count * sizeof *made->gaps);
    made->bucket = (struct vamp_bucket){
        .number = collect->number,
        .buckets = 1,
        .start_ns = start_ns,
        .width_ns = collect->options.bucket_ns,
        .schema = &collect->schema,
        .series_count = made->series_count,
        .series = collect->series_tables,
        .values = made->values,
        .gaps = made->gaps,
        .gap_count = collect->gap_count,
        .holders = 1,
        .destroy = destroy,
    };
    collect_runs_account(collect, &made->bucket.accounting);
    return &made->bucket;
}
