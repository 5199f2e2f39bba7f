/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of the open buckets. Most series have few values in a bucket, and most others have
 * values in few octaves. Therefore a histogram starts as a log: a list of the bins of its values,
 * in one cache line. When the log is full, it becomes a window of consecutive counted bins; when a
 * value is outside the window, it becomes an array of all bins. All forms are allocated from one
 * pool of limited size, which keeps its memory for the next bucket. Private to the statistics;
 * worker thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "vampire/core/values.h"
#include "vampire/stats/bucket/histogram.h"

#define VAMP_OPEN_LOG_VALUES 16
#define VAMP_OPEN_WINDOW_BINS 128 /* with 8 sub-bins from a value to 65,000 times that value */

/* In the order in which a histogram grows. */
enum vamp_open_form { VAMP_OPEN_LOG, VAMP_OPEN_WINDOW, VAMP_OPEN_ARRAY, VAMP_OPEN_FORM_COUNT };

struct vamp_open_histogram {
    uint64_t sum, min, max;
    uint8_t form;  /* enum vamp_open_form */
    uint8_t used;  /* number of values in a log */
    uint16_t base; /* number of the first bin of a window */
    union {
        uint16_t log[VAMP_OPEN_LOG_VALUES]; /* bin of each value */
        uint32_t window[VAMP_OPEN_WINDOW_BINS];
        uint64_t array[VAMP_BINS_MAX];
    } bins; /* only the member of the current form is allocated */
};

struct vamp_open_pool {
    const struct vamp_bins *bins;
    size_t max_bytes, bytes; /* limit and current size of all slabs */
    struct vamp_open_histogram *free[VAMP_OPEN_FORM_COUNT]; /* linked through their sums */
    struct vamp_open_slab *slabs;
};

/* `bins` must outlive the pool. Allocates no memory yet. */
void vamp_open_pool_init(struct vamp_open_pool *pool, const struct vamp_bins *bins,
                         size_t max_bytes);
void vamp_open_pool_done(struct vamp_open_pool *pool);
/* Returns the histogram to the pool. NULL is allowed. */
void vamp_open_release(struct vamp_open_pool *pool, struct vamp_open_histogram *histogram);

/* Part of vamp_open_record: updates everything except the bins. */
static inline void vamp_open_add_value(struct vamp_open_histogram *open, uint64_t value)
{
    open->sum += value;
    open->min = VAMP_MIN(open->min, value);
    open->max = VAMP_MAX(open->max, value);
}

/* Part of vamp_open_record: counts a value in this bin. Returns false if the current form cannot
 * contain the value. */
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
        const unsigned at = bin - open->base; /* wraps around for a bin below the window */
        if (at >= VAMP_OPEN_WINDOW_BINS || open->bins.window[at] == UINT32_MAX) {
            return false;
        }
        open->bins.window[at]++;
        return true;
    }
    open->bins.array[bin]++;
    return true;
}

/* The slow path of vamp_open_record: allocates a histogram, or converts it to the next form. */
bool vamp_open_record_in_next(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                              uint64_t value);

/* Records a value. `*histogram` is NULL before the first value and is replaced when the histogram
 * grows. Returns false if the pool is full; the value is then not recorded. */
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

/* Records a value `count` times, in constant time. Returns false if the pool is full; a part of the
 * values may be recorded. */
bool vamp_open_record_often(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                            uint64_t value, uint64_t count);

/* Adds the histogram to `into`, which must have the bins of the pool. */
void vamp_open_add_to(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                      struct vamp_histogram *into);
/* Part of vamp_open_bins_at_most, for forms other than the log. */
unsigned vamp_open_count_bins(const struct vamp_open_pool *pool,
                              const struct vamp_open_histogram *open);
/* Returns an upper limit of the number of bins that have values: in a log, equal values are counted
 * separately. */
static inline unsigned vamp_open_bins_at_most(const struct vamp_open_pool *pool,
                                              const struct vamp_open_histogram *open)
{
    return open->form == VAMP_OPEN_LOG ? open->used : vamp_open_count_bins(pool, open);
}
/* Converts the histogram to the representation in buckets. `to` must have space for
 * vamp_open_bins_at_most bins. */
void vamp_open_copy(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                    struct vamp_bucket_histogram *to);
