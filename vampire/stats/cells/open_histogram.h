/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of the open buckets. Most series have a few values in a bucket, and those of most
 * others lie in a few octaves. So a histogram begins as a log of its values' bins, in one cache
 * line; is counted in a window of bins when the log is full; and in an array of all bins when a
 * value lies outside the window. All come from one pool, which has a bound and keeps for the next
 * bucket what the last one used. Private to the statistics; worker thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "vampire/stats/bucket/histogram.h"

#define VAMP_OPEN_LOG_VALUES 16
#define VAMP_OPEN_WINDOW_BINS 128 /* at 8 sub-bins from a value to its 65,000-fold */

/* In the order in which a histogram takes them. */
enum vamp_open_form { VAMP_OPEN_LOG, VAMP_OPEN_WINDOW, VAMP_OPEN_ARRAY };
#define VAMP_OPEN_FORM_COUNT 3

struct vamp_open_histogram {
    uint64_t sum, min, max;
    uint8_t form;  /* enum vamp_open_form */
    uint8_t used;  /* values of a log */
    uint16_t base; /* the first bin of a window */
    union {
        uint16_t log[VAMP_OPEN_LOG_VALUES]; /* the bin of each value */
        uint32_t window[VAMP_OPEN_WINDOW_BINS];
        uint64_t array[VAMP_BINS_MAX];
    } bins; /* as long as the form needs */
};

struct vamp_open_pool {
    const struct vamp_bins *bins;
    size_t max_bytes, bytes; /* of all slabs: the bound, and what there is */
    struct vamp_open_histogram *free[VAMP_OPEN_FORM_COUNT]; /* linked through their sums */
    struct vamp_open_slab *slabs;
};

/* `bins` outlives the pool. Takes no memory yet. */
void vamp_open_pool_init(struct vamp_open_pool *pool, const struct vamp_bins *bins,
                         size_t max_bytes);
void vamp_open_pool_done(struct vamp_open_pool *pool);
/* Back into the pool. NULL is fine. */
void vamp_open_release(struct vamp_open_pool *pool, struct vamp_open_histogram *histogram);

/* For vamp_open_record: all but the bins. */
static inline void vamp_open_add_value(struct vamp_open_histogram *open, uint64_t value)
{
    open->sum += value;
    /* Without branches: of a bucket's first values many are the lowest or highest so far. */
    open->min = value < open->min ? value : open->min;
    open->max = value > open->max ? value : open->max;
}

/* For vamp_open_record: counts a value of this bin; false: in this form there is no room for it. */
static inline bool vamp_open_count(struct vamp_open_histogram *open, unsigned bin)
{
    if (open->form == VAMP_OPEN_LOG) {
        if (open->used == VAMP_OPEN_LOG_VALUES) {
            return false;
        }
        open->bins.log[open->used++] = (uint16_t)bin;
        return true;
    }
    if (open->form == VAMP_OPEN_WINDOW) {
        const unsigned at = bin - open->base; /* of a bin before the window: far beyond it */
        if (at >= VAMP_OPEN_WINDOW_BINS || open->bins.window[at] == UINT32_MAX) {
            return false;
        }
        open->bins.window[at]++;
        return true;
    }
    open->bins.array[bin]++;
    return true;
}

/* For vamp_open_record: where there is no histogram yet, or one that has to take another form. */
bool vamp_open_record_in_next(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                              uint64_t value);

/* Records a value; `*histogram` is NULL before the first one and moves when it grows. False: there
 * is no room in the pool, and the value is not recorded. */
static inline bool vamp_open_record(struct vamp_open_pool *pool,
                                    struct vamp_open_histogram **histogram, uint64_t value)
{
    struct vamp_open_histogram *open = *histogram;
    if (open == NULL || !vamp_open_count(open, vamp_bin_index(pool->bins->sub_bits, value))) {
        return vamp_open_record_in_next(pool, histogram, value);
    }
    vamp_open_add_value(open, value);
    return true;
}

/* Records a value so many times, in a time that does not grow with it. False: as above, and some
 * may be recorded. */
bool vamp_open_record_often(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                            uint64_t value, uint64_t count);

/* Adds what it holds to `into`, which has the pool's bins. */
void vamp_open_add_to(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                      struct vamp_histogram *into);
/* For vamp_open_bins_at_most, of what is no log. */
unsigned vamp_open_count_bins(const struct vamp_open_pool *pool,
                              const struct vamp_open_histogram *open);
/* Bins that hold values, at most: equal values of a log count each. */
static inline unsigned vamp_open_bins_at_most(const struct vamp_open_pool *pool,
                                              const struct vamp_open_histogram *open)
{
    return open->form == VAMP_OPEN_LOG ? open->used : vamp_open_count_bins(pool, open);
}
/* The histogram as a bucket has it. `to` has room for vamp_open_bins_at_most bins. */
void vamp_open_copy(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                    struct vamp_bucket_histogram *to);
