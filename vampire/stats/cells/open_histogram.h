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
    uint64_t sum, min, max;
    uint8_t form; /* enum vamp_open_form */
    /* A list: its entries in use, how many it has room for, and its values. */
    uint8_t used, room;
    uint32_t values;
    /* An array: the count of each bin. A list: the bins of its entries, 16 bits each, then their
     * counts, 32 bits each; a list whose values could be too many for these grows. */
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
    open->sum += value;
    if (value < open->min) {
        open->min = value;
    }
    if (value > open->max) {
        open->max = value;
    }
}

/* For vamp_open_record: records in what is not there yet, or a list. */
bool vamp_open_record_in_list(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                              uint64_t value);

/* Records a value; `*histogram` is NULL before the first one and moves when it grows. False: there
 * is no room in the pool, and the value is not recorded. */
static inline bool vamp_open_record(struct vamp_open_pool *pool,
                                    struct vamp_open_histogram **histogram, uint64_t value)
{
    struct vamp_open_histogram *open = *histogram;
    if (open == NULL || open->form != VAMP_OPEN_ARRAY) {
        return vamp_open_record_in_list(pool, histogram, value);
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
