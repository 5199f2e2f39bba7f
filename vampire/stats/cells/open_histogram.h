/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of the open buckets. Most series have a few values in a bucket and those in a few
 * bins, so a histogram begins as a short list of bins, grows into a longer one, and becomes an
 * array of all bins when it has more than VAMP_OPEN_LIST_MAX. All come from one pool, which has a
 * bound and keeps for the next bucket what the last one used. Private to the statistics; worker
 * thread.
 */
#ifndef VAMP_STATS_CELLS_OPEN_HISTOGRAM_H
#define VAMP_STATS_CELLS_OPEN_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "vampire/stats/bucket/histogram.h"

#define VAMP_OPEN_LIST_MAX 16

/* In the order in which a histogram takes them. */
enum vamp_open_form { VAMP_OPEN_SHORT, VAMP_OPEN_LONG, VAMP_OPEN_ARRAY };
#define VAMP_OPEN_FORM_COUNT 3

struct vamp_open_histogram {
    uint64_t count, sum, min, max;
    uint32_t form; /* enum vamp_open_form */
    uint32_t used; /* entries of a list */
    /* A list: the bin of each entry in the upper 16 bits, its count in the lower 48; an array: the
     * count of each bin. */
    uint64_t bins[];
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
    open->count++;
    open->sum += value;
    open->min = value < open->min ? value : open->min;
    open->max = value > open->max ? value : open->max;
}

/* For vamp_open_record: records in what is not there yet, or a list that may have no room. */
bool vamp_open_record_slowly(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                             uint64_t value);

/* Records a value; `*histogram` is NULL before the first one and moves when it grows. False: there
 * is no room in the pool, and the value is not recorded. */
static inline bool vamp_open_record(struct vamp_open_pool *pool,
                                    struct vamp_open_histogram **histogram, uint64_t value)
{
    struct vamp_open_histogram *open = *histogram;
    if (open == NULL || open->form != VAMP_OPEN_ARRAY) {
        return vamp_open_record_slowly(pool, histogram, value);
    }
    open->bins[vamp_bin_index(pool->bins->sub_bits, value)]++;
    vamp_open_add_value(open, value);
    return true;
}

/* Adds what it holds to `into`, which has the pool's bins. */
void vamp_open_add_to(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                      struct vamp_histogram *into);
/* Bins that hold values. */
unsigned vamp_open_bin_count(const struct vamp_open_pool *pool,
                             const struct vamp_open_histogram *open);
/* The histogram as a bucket has it. `to` has room for vamp_open_bin_count bins. */
void vamp_open_copy(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                    struct vamp_bucket_histogram *to);

#endif
