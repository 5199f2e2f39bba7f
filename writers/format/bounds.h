/* SPDX-License-Identifier: BSD-3-Clause */
/* Bucket bounds of histograms for formats with a small, fixed set of bounds shared by all series of
 * a metric. Each bound is the upper edge of a bin, so that counts are exact. */
#pragma once

#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

/* Enum names of the option "bounds", an unsigned at OFFSET. Ended by NULL. */
extern const char *const vamp_bounds_words[]; /* ended by NULL */
#define VAMP_BOUNDS_OPTION(OFFSET)                                                                 \
    VAMP_OPT_ROW("bounds", VAMP_OPT_ENUM, (OFFSET), "1", .choices = vamp_bounds_words,             \
                 .help = "buckets of a histogram for each doubling, at most as many as "           \
                         "\"statistics.sub_bins\" gives")

#define VAMP_BOUND_TEXT_BYTES 32
struct vamp_bounds {
    unsigned count; /* number of finite bounds */
    /* Index of the bound of each bin; `count`: the infinite bound. */
    uint16_t of_bin[VAMP_BINS_MAX];
    struct {
        uint64_t upper;                   /* inclusive */
        char text[VAMP_BOUND_TEXT_BYTES]; /* the bound in the base unit, as decimal text */
    } at[];
};
/* For each bin, the index i of the exponential histogram's bucket (base^i, base^(i+1)] that
 * contains the middle of the bin. The base is 2^(1/2^sub_bits), so that buckets are as wide as the
 * bins on average. Bin 0, the value 0, has no bucket. Integer values are divided by `scale` to
 * convert them to the base unit. malloc'ed; NULL if out of memory. */
int16_t *vamp_exponential_places(const struct vamp_bins *bins, double scale);
/* The number of bounds that vamp_bounds returns. */
unsigned vamp_bounds_count(const struct vamp_metric *metric, const struct vamp_bins *bins,
                           unsigned resolution);
/* Selects 2^`resolution` bounds per doubling, or one per bin if there are fewer bins. malloc'ed;
 * NULL if out of memory. */
struct vamp_bounds *vamp_bounds(const struct vamp_metric *metric, const struct vamp_bins *bins,
                                unsigned resolution);
