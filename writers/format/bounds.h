/* SPDX-License-Identifier: BSD-3-Clause */
/* Bucket bounds of histograms for formats with few, which all series of a metric share. Each is the
 * upper edge of a bin, so that counts are exact. */
#pragma once

#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

/* The option "bounds", an unsigned at OFFSET. */
extern const char *const vamp_bounds_words[]; /* ended by NULL */
#define VAMP_BOUNDS_OPTION(OFFSET)                                                                 \
    VAMP_OPT_ROW("bounds", VAMP_OPT_ENUM, (OFFSET), "1", .choices = vamp_bounds_words,             \
                 .help = "buckets of a histogram for each doubling, at most as many as "           \
                         "\"statistics.sub_bins\" gives")

#define VAMP_BOUND_TEXT_BYTES 32
struct vamp_bounds {
    unsigned count;                 /* finite ones */
    uint16_t of_bin[VAMP_BINS_MAX]; /* index of a bin's bound; `count`: the infinite one */
    struct {
        uint64_t upper;                   /* inclusive */
        char text[VAMP_BOUND_TEXT_BYTES]; /* the same in the base unit, with a point */
    } at[];
};
/* For each bin, the bucket i of an exponential histogram that contains its middle: (base^i,
 * base^(i+1)] with the base 2^(1/2^sub_bits), as wide as the bins on average. Bin 0, the value 0,
 * has none. `scale`: integer values are divided by it for the base unit. malloc'ed; NULL: out of
 * memory.
 */
int16_t *vamp_exponential_places(const struct vamp_bins *bins, double scale);
/* The number of bounds that vamp_bounds returns. */
unsigned vamp_bounds_count(const struct vamp_metric *metric, const struct vamp_bins *bins,
                           unsigned resolution);
/* 2 to the power of `resolution` bounds a doubling, or as many as there are bins. malloc'ed; NULL:
 * no memory. */
struct vamp_bounds *vamp_bounds(const struct vamp_metric *metric, const struct vamp_bins *bins,
                                unsigned resolution);
