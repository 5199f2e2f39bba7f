/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of the collector: the input is one message of a run. It is collected or refused for
 * one reason, a second time changes nothing, and what comes out is a bucket as outputs expect it.
 */
#include <stdint.h>

#include "telemetry.pb-c.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/require.h"
#include "vampire/collect/collect.h"

#define SECOND INT64_C(1000000000)
#define NOW (INT64_C(1700000005) * SECOND)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static void look_at_histogram(const struct vamp_bucket *bucket,
                              const struct vamp_histogram_value *value, unsigned series_count)
{
    const struct vamp_bucket_histogram *histogram = value->histogram;
    uint64_t count = 0;
    require(value->series < series_count && histogram->bin_count > 0);
    for (uint32_t i = 0; i < histogram->bin_count; i++) {
        require(histogram->bins[i].bin < bucket->schema->bins.count);
        require(i == 0 || histogram->bins[i].bin > histogram->bins[i - 1].bin);
        count += histogram->bins[i].count;
    }
    require(count == histogram->count && histogram->min <= histogram->max);
}

static void look_at(void *context, const struct vamp_bucket *bucket)
{
    (void)context;
    for (unsigned m = 0; m < bucket->schema->metric_count; m++) {
        const unsigned set = bucket->schema->metrics[m].label_set;
        const struct vamp_metric_values *values = &bucket->values[m];
        require(bucket->series_count[set] <= bucket->schema->label_sets[set].max_series);
        if (vamp_metrics[bucket->schema->metrics[m].id].kind == VAMP_HISTOGRAM) {
            for (unsigned i = 0; i < values->count; i++) {
                look_at_histogram(bucket, &values->histograms[i], bucket->series_count[set]);
            }
        } else {
            require(values->count == bucket->series_count[set]);
        }
    }
    vamp_bucket_release(bucket);
}

static uint64_t refused(const struct vamp_collect_counts *counts)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < VAMP_REFUSAL_SERIES; i++) {
        all += i != VAMP_REFUSAL_METRIC ? counts->refused[i] : 0; /* the rest of it is collected */
    }
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct vamp_collect_options options = {
        .bucket_ns = 10 * SECOND,
        .delay_ns = SECOND,
        .forget_ns = 100 * SECOND,
        .max_runs = 4,
        .max_series = 16,
        .max_message_bytes = 8192,
        .max_waiting_bytes = (size_t)1 << 20,
        .sub_bits = VAMP_SUB_BITS_DEFAULT,
        .level = VAMP_LEVEL_COMPONENT,
        .series_space = "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    };
    struct vamp_collect *collect = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    require(vamp_collect_create(&options, look_at, NULL, &collect, &err) == 0);
    vamp_collect_message(collect, NULL, data, size, NOW);
    vamp_collect_message(collect, NULL, data, size, NOW);
    const struct vamp_collect_counts *counts = vamp_collect_counts(collect);
    require(counts->messages == 2 && counts->repeated <= 1);
    require(refused(counts) == 0 || refused(counts) == 2);
    require(refused(counts) == 0 || counts->repeated == 0);
    vamp_collect_finish(collect, NOW + 10 * SECOND);
    require(counts->buckets <= counts->repeated && counts->waiting_bytes == 0);
    vamp_collect_free(collect);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct dice dice = {.state = seed * 2654435761U | 1U};
    return mutate_packed(&vampire__telemetry__message__descriptor, data, size, max, &dice);
}
