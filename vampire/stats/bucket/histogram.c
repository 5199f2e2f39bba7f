/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/histogram.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "vampire/core/values.h"

void vamp_bins_init(struct vamp_bins *bins, unsigned sub_bits)
{
    const uint64_t sub_bins = UINT64_C(1) << sub_bits;
    memset(bins, 0, sizeof *bins);
    bins->sub_bits = sub_bits;
    bins->count = vamp_bin_index(sub_bits, UINT64_MAX) + 1;
    for (unsigned i = 0; i < bins->count; i++) {
        /* Bins below 2 * sub_bins have width 1; above, the width doubles with each doubling. */
        const uint64_t shift = vamp_minus(i >> sub_bits, 1);
        bins->lower[i] = i;
        if (shift > 0) {
            bins->lower[i] = (sub_bins + (i & (sub_bins - 1))) << shift;
        }
        bins->upper[i] = bins->lower[i] + ((UINT64_C(1) << shift) - 1);
    }
}

void vamp_histogram_clear(struct vamp_histogram *histogram, unsigned bin_count)
{
    memset(histogram, 0, sizeof *histogram + bin_count * sizeof histogram->bins[0]);
    histogram->min = UINT64_MAX;
}

/* Adds everything except the bins. */
static void merge_values(struct vamp_histogram *into, const struct vamp_histogram *from)
{
    into->count += from->count;
    into->sum += from->sum;
    into->min = VAMP_MIN(into->min, from->min);
    into->max = VAMP_MAX(into->max, from->max);
}

void vamp_histogram_merge(struct vamp_histogram *into, const struct vamp_histogram *from,
                          unsigned bin_count)
{
    for (unsigned i = 0; i < bin_count; i++) {
        into->bins[i] += from->bins[i];
    }
    merge_values(into, from);
}

/* Returns the number of values at or below the quantile: ceil(q * count), from 1 to count. */
static uint64_t rank(uint64_t count, double q)
{
    double wanted = ceil(q * (double)count);
    if (!(wanted >= 1.0)) {
        return 1;
    }
    return wanted >= (double)count ? count : (uint64_t)wanted;
}

/* Returns the middle of the bin, limited to the range of the recorded values. */
static uint64_t middle_of_bin(const struct vamp_bins *bins, unsigned bin, uint64_t min,
                              uint64_t max)
{
    const uint64_t middle = bins->lower[bin] + (bins->upper[bin] - bins->lower[bin]) / 2;
    return VAMP_MAX(min, VAMP_MIN(middle, max));
}

void vamp_histogram_rebin(struct vamp_histogram *into, const struct vamp_bins *bins,
                          const struct vamp_histogram *from, const struct vamp_bins *from_bins)
{
    for (unsigned i = 0; i < from_bins->count; i++) {
        const uint64_t middle = middle_of_bin(from_bins, i, 0, UINT64_MAX);
        into->bins[vamp_bin_index(bins->sub_bits, middle)] += from->bins[i];
    }
    merge_values(into, from);
}

uint64_t vamp_histogram_quantile(const struct vamp_histogram *histogram,
                                 const struct vamp_bins *bins, double q)
{
    if (histogram->count == 0) {
        return 0;
    }
    uint64_t wanted = rank(histogram->count, q);
    uint64_t seen = 0;
    unsigned bin = 0;
    while (bin < bins->count - 1) {
        seen += histogram->bins[bin];
        if (seen >= wanted) {
            break;
        }
        bin++;
    }
    return middle_of_bin(bins, bin, histogram->min, histogram->max);
}

struct vamp_range vamp_histogram_quantile_range(const struct vamp_histogram *histogram,
                                                const struct vamp_bins *bins, double q,
                                                uint64_t resolution)
{
    uint64_t value = vamp_histogram_quantile(histogram, bins, q);
    if (q <= 0) {
        value = histogram->min;
    } else if (q >= 1) {
        value = histogram->max;
    }
    return vamp_value_range(value, histogram->bins[0], resolution);
}

struct vamp_range vamp_sum_range(uint64_t sum, uint64_t zeros, uint64_t resolution)
{
    struct vamp_range range = {sum, UINT64_MAX};
    uint64_t uncertain = 0;
    if (__builtin_mul_overflow(zeros, resolution, &uncertain) ||
        __builtin_add_overflow(sum, uncertain, &range.high)) {
        range.high = UINT64_MAX;
    }
    return range;
}

uint64_t vamp_bucket_histogram_quantile(const struct vamp_bucket_histogram *histogram,
                                        const struct vamp_bins *bins, double q)
{
    assert(histogram->count > 0 && histogram->bin_count > 0);
    uint64_t wanted = rank(histogram->count, q);
    uint64_t seen = 0;
    uint32_t i = 0;
    while (i < histogram->bin_count - 1) {
        seen += histogram->bins[i].count;
        if (seen >= wanted) {
            break;
        }
        i++;
    }
    return middle_of_bin(bins, histogram->bins[i].bin, histogram->min, histogram->max);
}
