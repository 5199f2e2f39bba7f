/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/merge.h"

#include <stdlib.h>

/* ---- gauges */

static int64_t larger(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

static int64_t smaller(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

/* Modulo 2^64, as the statistics count gauges. */
static int64_t sum(int64_t left, int64_t right)
{
    return (int64_t)((uint64_t)left + (uint64_t)right);
}

/* Where one of them is none, it is the other; none is below all others, for `larger`. */
static int64_t smaller_known(int64_t left, int64_t right)
{
    return left == VAMP_GAUGE_NONE ? right : right == VAMP_GAUGE_NONE ? left : smaller(left, right);
}

void vamp_gauge_join_series(struct vamp_gauge_value *into, const struct vamp_gauge_value *from,
                            enum vamp_merge rule)
{
    switch (rule) {
    case VAMP_MERGE_SUM:
        into->value = sum(into->value, from->value);
        into->min = sum(into->min, from->min);
        into->max = sum(into->max, from->max);
        return;
    case VAMP_MERGE_LARGEST:
    case VAMP_MERGE_MEAN: /* it has no labels */
        into->value = larger(into->value, from->value);
        into->min = smaller_known(into->min, from->min);
        into->max = larger(into->max, from->max);
        return;
    }
}

void vamp_gauge_join_time(struct vamp_gauge_value *into, const struct vamp_gauge_value *from)
{
    into->value = from->value;
    into->min = smaller_known(into->min, from->min);
    into->max = larger(into->max, from->max);
}

/* ---- histograms */

/* Room for more bins, and then some, so that a histogram seldom grows. */
static int grow(struct vamp_kept_histogram *kept, uint32_t room, uint32_t most)
{
    room = room + room / 2 + 4;
    room = room < most ? room : most;
    struct vamp_bucket_histogram *values = realloc(kept->values, vamp_bucket_histogram_bytes(room));
    if (values == NULL) {
        return -ENOMEM;
    }
    if (kept->values == NULL) {
        *values = (struct vamp_bucket_histogram){.min = UINT64_MAX};
    }
    kept->values = values;
    kept->room = room;
    return 0;
}

int vamp_kept_histogram_reserve(struct vamp_kept_histogram *kept, uint32_t more, uint32_t most)
{
    uint32_t room = (kept->values != NULL ? kept->values->bin_count : 0) + more;
    room = room < most ? room : most;
    return kept->values == NULL || room > kept->room ? grow(kept, room, most) : 0;
}

/* Bins that are in one of the two or in both. */
static uint32_t count_union(const struct vamp_bucket_histogram *left,
                            const struct vamp_bucket_histogram *right)
{
    uint32_t count = 0, i = 0, k = 0;
    while (i < left->bin_count && k < right->bin_count) {
        const uint32_t one = left->bins[i].bin, other = right->bins[k].bin;
        i += one <= other;
        k += other <= one;
        count++;
    }
    return count + (left->bin_count - i) + (right->bin_count - k);
}

/* From the last bin to the first, so that none is overwritten before it was moved. */
static void merge_bins(struct vamp_bucket_histogram *into, const struct vamp_bucket_histogram *from)
{
    uint32_t at = count_union(into, from), i = into->bin_count, k = from->bin_count;
    into->bin_count = at;
    while (k > 0) {
        const struct vamp_bin_count *added = &from->bins[k - 1];
        const struct vamp_bin_count *present = i > 0 ? &into->bins[i - 1] : NULL;
        struct vamp_bin_count merged = *added;
        if (present != NULL && present->bin >= added->bin) {
            merged.bin = present->bin;
            merged.count = present->count + (present->bin == added->bin ? added->count : 0);
            k -= present->bin == added->bin;
            i--;
        } else {
            k--;
        }
        into->bins[--at] = merged;
    }
}

void vamp_kept_histogram_add(struct vamp_kept_histogram *kept,
                             const struct vamp_bucket_histogram *from)
{
    struct vamp_bucket_histogram *into = kept->values;
    merge_bins(into, from);
    into->count += from->count;
    into->sum += from->sum;
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
}

void vamp_kept_histogram_clear(struct vamp_kept_histogram *kept)
{
    if (kept->values != NULL) {
        *kept->values = (struct vamp_bucket_histogram){.min = UINT64_MAX};
    }
}
