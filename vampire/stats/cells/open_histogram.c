/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/open_histogram.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_ROOM 4
#define SLAB_BYTES ((size_t)64 * 1024)

struct vamp_open_slab {
    struct vamp_open_slab *next;
    uint64_t memory[];
};

/* The entry of a list. */
#define COUNT_BITS 48

static uint64_t open_entry(unsigned bin, uint64_t count)
{
    return (uint64_t)bin << COUNT_BITS | count;
}

static unsigned entry_bin(uint64_t entry)
{
    return (unsigned)(entry >> COUNT_BITS);
}

static uint64_t entry_count(uint64_t entry)
{
    return entry & ((UINT64_C(1) << COUNT_BITS) - 1);
}

static unsigned room_of(const struct vamp_open_pool *pool, uint32_t form)
{
    const unsigned rooms[VAMP_OPEN_FORM_COUNT] = {SHORT_ROOM, VAMP_OPEN_LIST_MAX,
                                                  pool->bins->count};
    return rooms[form];
}

static size_t bytes_of(const struct vamp_open_pool *pool, uint32_t form)
{
    return sizeof(struct vamp_open_histogram) + room_of(pool, form) * sizeof(uint64_t);
}

void vamp_open_pool_init(struct vamp_open_pool *pool, const struct vamp_bins *bins,
                         size_t max_bytes)
{
    *pool = (struct vamp_open_pool){.bins = bins, .max_bytes = max_bytes};
}

void vamp_open_pool_done(struct vamp_open_pool *pool)
{
    for (struct vamp_open_slab *slab = pool->slabs; slab != NULL;) {
        struct vamp_open_slab *next = slab->next;
        free(slab);
        slab = next;
    }
    memset(pool, 0, sizeof *pool);
}

/* The bins of an array that may hold values: from *ret_first to before *ret_end. */
static void array_range(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                        unsigned *ret_first, unsigned *ret_end)
{
    *ret_first = vamp_bin_index(pool->bins->sub_bits, open->min);
    *ret_end = vamp_bin_index(pool->bins->sub_bits, open->max) + 1;
}

/* The bins of an array are zero while it is free. */
static void put_free(struct vamp_open_pool *pool, struct vamp_open_histogram *histogram)
{
    histogram->sum = (uint64_t)(uintptr_t)pool->free[histogram->form];
    pool->free[histogram->form] = histogram;
}

void vamp_open_release(struct vamp_open_pool *pool, struct vamp_open_histogram *histogram)
{
    if (histogram == NULL) {
        return;
    }
    if (histogram->form == VAMP_OPEN_ARRAY) {
        unsigned first = 0, end = 0;
        array_range(pool, histogram, &first, &end);
        memset(&histogram->bins[first], 0, (end - first) * sizeof histogram->bins[0]);
    }
    put_free(pool, histogram);
}

/* A slab, cut into histograms of one form. */
static void add_slab(struct vamp_open_pool *pool, uint32_t form)
{
    const size_t each = bytes_of(pool, form);
    const size_t slab_bytes = SLAB_BYTES > each ? SLAB_BYTES : each;
    if (pool->bytes + slab_bytes > pool->max_bytes) {
        return;
    }
    struct vamp_open_slab *slab = calloc(1, sizeof *slab + slab_bytes);
    if (slab == NULL) {
        return;
    }
    slab->next = pool->slabs;
    pool->slabs = slab;
    pool->bytes += slab_bytes;
    for (size_t at = 0; at + each <= slab_bytes; at += each) {
        struct vamp_open_histogram *histogram =
            (struct vamp_open_histogram *)(void *)((char *)slab->memory + at);
        histogram->form = form;
        put_free(pool, histogram);
    }
}

static struct vamp_open_histogram *take(struct vamp_open_pool *pool, uint32_t form)
{
    if (pool->free[form] == NULL) {
        add_slab(pool, form);
    }
    struct vamp_open_histogram *histogram = pool->free[form];
    if (histogram == NULL) {
        return NULL;
    }
    pool->free[form] = (struct vamp_open_histogram *)(uintptr_t)histogram->sum;
    histogram->count = 0;
    histogram->sum = 0;
    histogram->min = UINT64_MAX;
    histogram->max = 0;
    histogram->used = 0;
    return histogram;
}

/* The same values in the next form; NULL when the pool has no room. */
static struct vamp_open_histogram *grow(struct vamp_open_pool *pool,
                                        struct vamp_open_histogram *list)
{
    struct vamp_open_histogram *larger = take(pool, list->form + 1);
    if (larger == NULL) {
        return NULL;
    }
    larger->count = list->count;
    larger->sum = list->sum;
    larger->min = list->min;
    larger->max = list->max;
    for (uint32_t i = 0; i < list->used; i++) {
        if (larger->form == VAMP_OPEN_ARRAY) {
            larger->bins[entry_bin(list->bins[i])] = entry_count(list->bins[i]);
        } else {
            larger->bins[larger->used++] = list->bins[i];
        }
    }
    put_free(pool, list);
    return larger;
}

/* One more in the bin's entry of a list; false: the list has none, and no room for one. */
static bool count_in_list(const struct vamp_open_pool *pool, struct vamp_open_histogram *list,
                          unsigned bin)
{
    for (uint32_t i = 0; i < list->used; i++) {
        if (entry_bin(list->bins[i]) == bin) {
            list->bins[i]++;
            return true;
        }
    }
    if (list->used == room_of(pool, list->form)) {
        return false;
    }
    list->bins[list->used++] = open_entry(bin, 1);
    return true;
}

bool vamp_open_record_slowly(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                             uint64_t value)
{
    const unsigned bin = vamp_bin_index(pool->bins->sub_bits, value);
    struct vamp_open_histogram *open = *histogram;
    open = open != NULL ? open : take(pool, VAMP_OPEN_SHORT);
    if (open != NULL && !count_in_list(pool, open, bin)) {
        struct vamp_open_histogram *larger = grow(pool, open);
        if (larger == NULL) {
            return false;
        }
        open = larger;
        if (open->form == VAMP_OPEN_ARRAY) {
            open->bins[bin]++;
        } else {
            open->bins[open->used++] = open_entry(bin, 1);
        }
    }
    if (open == NULL) {
        return false;
    }
    *histogram = open;
    vamp_open_add_value(open, value);
    return true;
}

void vamp_open_add_to(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                      struct vamp_histogram *into)
{
    for (uint32_t i = 0; open->form != VAMP_OPEN_ARRAY && i < open->used; i++) {
        into->bins[entry_bin(open->bins[i])] += entry_count(open->bins[i]);
    }
    for (unsigned i = 0; open->form == VAMP_OPEN_ARRAY && i < pool->bins->count; i++) {
        into->bins[i] += open->bins[i];
    }
    into->count += open->count;
    into->sum += open->sum;
    into->min = open->min < into->min ? open->min : into->min;
    into->max = open->max > into->max ? open->max : into->max;
}

unsigned vamp_open_bin_count(const struct vamp_open_pool *pool,
                             const struct vamp_open_histogram *open)
{
    if (open->form != VAMP_OPEN_ARRAY) {
        return open->used;
    }
    unsigned first = 0, end = 0, count = 0;
    array_range(pool, open, &first, &end);
    for (unsigned i = first; i < end; i++) {
        count += open->bins[i] > 0;
    }
    return count;
}

/* The list's bins in ascending order: there are few. */
static void copy_list(const struct vamp_open_histogram *open, struct vamp_bucket_histogram *to)
{
    for (uint32_t i = 0; i < open->used; i++) {
        const uint32_t bin = entry_bin(open->bins[i]);
        uint32_t at = to->bin_count++;
        for (; at > 0 && to->bins[at - 1].bin > bin; at--) {
            to->bins[at] = to->bins[at - 1];
        }
        to->bins[at] = (struct vamp_bin_count){entry_count(open->bins[i]), bin};
    }
}

void vamp_open_copy(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                    struct vamp_bucket_histogram *to)
{
    to->count = open->count;
    to->sum = open->sum;
    to->min = open->min;
    to->max = open->max;
    to->bin_count = 0;
    if (open->form != VAMP_OPEN_ARRAY) {
        copy_list(open, to);
        return;
    }
    unsigned first = 0, end = 0;
    array_range(pool, open, &first, &end);
    for (unsigned i = first; i < end; i++) {
        if (open->bins[i] > 0) {
            to->bins[to->bin_count++] = (struct vamp_bin_count){open->bins[i], i};
        }
    }
}
