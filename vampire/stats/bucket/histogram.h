/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log-linear histograms, base 2: values below 2^k are counted exactly (k = 2, 3 or 4; default 3);
 * above, every doubling is divided into 2^k bins of the same width. Edges are integers, the bins
 * cover all of uint64, and merging is exact. The error of a value is at most half a bin, which is
 * 1/2^(k+1) of the value. A histogram is used by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VAMP_SUB_BITS_DEFAULT 3
#define VAMP_SUB_BITS_MAX 4
#define VAMP_BINS_MAX ((65 - VAMP_SUB_BITS_MAX) << VAMP_SUB_BITS_MAX)

struct vamp_bins {
    unsigned sub_bits; /* 2, 3 or 4 */
    unsigned count;
    uint64_t lower[VAMP_BINS_MAX]; /* inclusive */
    uint64_t upper[VAMP_BINS_MAX]; /* inclusive */
};
void vamp_bins_init(struct vamp_bins *bins, unsigned sub_bits);

static inline unsigned vamp_bin_index(unsigned sub_bits, uint64_t value)
{
    /* Smaller values have one bin each, with the width of the bins of the first octave. */
    const uint64_t at_least = value | UINT64_C(1) << sub_bits;
    const unsigned shift = 63U - (unsigned)__builtin_clzll(at_least) - sub_bits;
    return (shift << sub_bits) + (unsigned)(value >> shift);
}

/* A bin that has values, and the number of its values. */
struct vamp_bin_count {
    uint64_t count;
    uint32_t bin;
};

struct vamp_histogram {
    uint64_t count;
    uint64_t sum; /* wraps modulo 2^64 */
    uint64_t min; /* UINT64_MAX while count is 0 */
    uint64_t max;
    uint64_t bins[]; /* vamp_bins.count elements */
};

void vamp_histogram_clear(struct vamp_histogram *histogram, unsigned bin_count);
/* Adds `from` to `into`; both must have the same bins. */
void vamp_histogram_merge(struct vamp_histogram *into, const struct vamp_histogram *from,
                          unsigned bin_count);
/* Adds `from`, which has other bins. The values of a bin are added to the bin of `into` that
 * contains the middle of their bin. This is exact unless the bins of `into` are finer. */
void vamp_histogram_rebin(struct vamp_histogram *into, const struct vamp_bins *bins,
                          const struct vamp_histogram *from, const struct vamp_bins *from_bins);
/* Returns the value at quantile q (0 to 1): the middle of its bin, limited to min and max. Returns
 * 0 for an empty histogram. */
uint64_t vamp_histogram_quantile(const struct vamp_histogram *histogram,
                                 const struct vamp_bins *bins, double q);

/* Inclusive bounds of a number. */
struct vamp_range {
    uint64_t low, high;
};
/* Return the range of the sum, or of a quantile or extreme `value`, of a histogram of which `zeros`
 * values were recorded as 0 and may be anything up to `resolution`. Other values are as measured.
 * With resolution 0, all values are exact. */
struct vamp_range vamp_sum_range(uint64_t sum, uint64_t zeros, uint64_t resolution);
static inline struct vamp_range vamp_value_range(uint64_t value, uint64_t zeros,
                                                 uint64_t resolution)
{
    const bool is_uncertain = zeros > 0 && value < resolution;
    return (struct vamp_range){value, is_uncertain ? resolution : value};
}

/* Returns the range of a quantile; 0 and 1 are the extremes. */
struct vamp_range vamp_histogram_quantile_range(const struct vamp_histogram *histogram,
                                                const struct vamp_bins *bins, double q,
                                                uint64_t resolution);

/* Representation of histograms in buckets: only bins that have values, in ascending order.
 * Immutable. */
struct vamp_bucket_histogram {
    uint64_t count; /* at least 1 */
    uint64_t sum;   /* wraps modulo 2^64 */
    uint64_t min, max;
    uint32_t bin_count;
    struct vamp_bin_count bins[];
};
static inline size_t vamp_bucket_histogram_bytes(size_t bin_count)
{
    return sizeof(struct vamp_bucket_histogram) + bin_count * sizeof(struct vamp_bin_count);
}
/* Returns the number of values 0. */
static inline uint64_t vamp_bucket_histogram_zeros(const struct vamp_bucket_histogram *histogram)
{
    return histogram->bin_count > 0 && histogram->bins[0].bin == 0 ? histogram->bins[0].count : 0;
}
/* As vamp_histogram_quantile. */
uint64_t vamp_bucket_histogram_quantile(const struct vamp_bucket_histogram *histogram,
                                        const struct vamp_bins *bins, double q);
