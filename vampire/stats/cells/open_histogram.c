/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/open_histogram.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_BYTES ((size_t)64 * 1024)

struct vamp_open_slab {
    struct vamp_open_slab *next;
    uint64_t memory[];
};

#define VALUES_MAX UINT32_MAX /* in a list */

/* Bins that are compared at once; where they are equal, all bits are set. */
#define LANES 8
#define LANE_BITS 16
typedef uint16_t lanes __attribute__((vector_size(LANES * sizeof(uint16_t))));
#define SHORT_ROOM LANES
_Static_assert(VAMP_OPEN_LIST_MAX == 2 * LANES, "a long list is compared in two steps");
#define NO_BIN_BYTE 0xff /* of a bin that no value has: that of an entry not in use */

static uint16_t *list_bins(struct vamp_open_histogram *list)
{
    return (uint16_t *)(void *)list->bins;
}

static uint32_t *list_counts(struct vamp_open_histogram *list)
{
    return (uint32_t *)(void *)(list_bins(list) + list->room);
}

/* An array has an entry for each bin, whether it holds values or not. */
static struct vamp_bin_count entry_at(const struct vamp_open_histogram *open, unsigned at)
{
    const uint16_t *bins = (const uint16_t *)(const void *)open->bins;
    const uint32_t *counts = (const uint32_t *)(const void *)(bins + open->room);
    return open->form == VAMP_OPEN_ARRAY ? (struct vamp_bin_count){open->bins[at], at}
                                         : (struct vamp_bin_count){counts[at], bins[at]};
}

/* Entries that a list has room for; 0: an array. */
static unsigned list_room(uint32_t form)
{
    return form == VAMP_OPEN_SHORT ? SHORT_ROOM : form == VAMP_OPEN_LONG ? VAMP_OPEN_LIST_MAX : 0;
}

static size_t bytes_of(const struct vamp_open_pool *pool, uint32_t form)
{
    return sizeof(struct vamp_open_histogram) +
           (form == VAMP_OPEN_ARRAY ? pool->bins->count * sizeof(uint64_t)
                                    : list_room(form) * (sizeof(uint16_t) + sizeof(uint32_t)));
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

/* The entries that may hold values: from the one returned to before *ret_end. */
static unsigned first_entry(const struct vamp_open_pool *pool,
                            const struct vamp_open_histogram *open, unsigned *ret_end)
{
    const bool is_array = open->form == VAMP_OPEN_ARRAY;
    *ret_end = is_array ? vamp_bin_index(pool->bins->sub_bits, open->max) + 1 : open->used;
    return is_array ? vamp_bin_index(pool->bins->sub_bits, open->min) : 0;
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
        unsigned end;
        const unsigned first = first_entry(pool, histogram, &end);
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
        histogram->form = (uint8_t)form;
        histogram->room = (uint8_t)list_room(form);
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
    histogram->sum = 0;
    histogram->min = UINT64_MAX;
    histogram->max = 0;
    histogram->used = 0;
    histogram->values = 0;
    if (form != VAMP_OPEN_ARRAY) {
        memset(histogram->bins, NO_BIN_BYTE, VAMP_OPEN_LIST_MAX * sizeof(uint16_t));
    }
    return histogram;
}

static void append_to_list(struct vamp_open_histogram *list, unsigned bin, uint32_t count)
{
    list_bins(list)[list->used] = (uint16_t)bin;
    list_counts(list)[list->used] = count;
    list->used++;
}

/* The same values in the next form; NULL when the pool has no room. */
static struct vamp_open_histogram *grow(struct vamp_open_pool *pool,
                                        struct vamp_open_histogram *list)
{
    struct vamp_open_histogram *larger = take(pool, list->form + 1U);
    if (larger == NULL) {
        return NULL;
    }
    larger->sum = list->sum;
    larger->min = list->min;
    larger->max = list->max;
    larger->values = list->values;
    for (unsigned i = 0; i < list->used; i++) {
        const struct vamp_bin_count entry = entry_at(list, i);
        if (larger->form == VAMP_OPEN_ARRAY) {
            larger->bins[entry.bin] = entry.count;
        } else {
            append_to_list(larger, entry.bin, (uint32_t)entry.count);
        }
    }
    put_free(pool, list);
    return larger;
}

/* One more in the entry of these, which begin with entry `first`, that has the bin; false: none
 * has. Without a loop over the entries, whose end would be guessed wrong. */
static bool count_in_lanes(struct vamp_open_histogram *list, unsigned first, unsigned bin)
{
    lanes bins;
    memcpy(&bins, list_bins(list) + first, sizeof bins);
    const lanes found = (lanes)(bins == (uint16_t)bin);
    uint64_t halves[2];
    memcpy(halves, &found, sizeof halves);
    if ((halves[0] | halves[1]) == 0) {
        return false;
    }
    const unsigned lane = halves[0] != 0
                              ? (unsigned)__builtin_ctzll(halves[0]) / LANE_BITS
                              : (unsigned)__builtin_ctzll(halves[1]) / LANE_BITS + LANES / 2;
    list_counts(list)[first + lane]++;
    return true;
}

/* One more in the bin; false: the list has no room for it. */
static bool count_in_list(struct vamp_open_histogram *list, unsigned bin)
{
    if (list->values == VALUES_MAX) {
        return false;
    }
    if (!count_in_lanes(list, 0, bin) &&
        (list->form == VAMP_OPEN_SHORT || !count_in_lanes(list, LANES, bin))) {
        if (list->used == list->room) {
            return false;
        }
        append_to_list(list, bin, 1);
    }
    list->values++;
    return true;
}

static bool count_in_bin(struct vamp_open_histogram *open, unsigned bin)
{
    if (open->form != VAMP_OPEN_ARRAY) {
        return count_in_list(open, bin);
    }
    open->bins[bin]++;
    return true;
}

/* As vamp_open_record, where there is no histogram yet, or one that has to grow. Not inlined, so
 * that the usual value needs no room on the stack. */
__attribute__((noinline)) static bool record_in_new(struct vamp_open_pool *pool,
                                                    struct vamp_open_histogram **histogram,
                                                    uint64_t value, unsigned bin)
{
    struct vamp_open_histogram *open = *histogram;
    open = open == NULL ? take(pool, VAMP_OPEN_SHORT) : grow(pool, open);
    while (open != NULL && !count_in_bin(open, bin)) {
        *histogram = open;
        open = grow(pool, open);
    }
    if (open == NULL) {
        return false;
    }
    *histogram = open;
    vamp_open_add_value(open, value);
    return true;
}

bool vamp_open_record_in_list(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                              uint64_t value)
{
    const unsigned bin = vamp_bin_index(pool->bins->sub_bits, value);
    struct vamp_open_histogram *list = *histogram;
    if (list == NULL || !count_in_list(list, bin)) {
        return record_in_new(pool, histogram, value, bin);
    }
    vamp_open_add_value(list, value);
    return true;
}

void vamp_open_add_to(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                      struct vamp_histogram *into)
{
    unsigned end;
    for (unsigned i = first_entry(pool, open, &end); i < end; i++) {
        const struct vamp_bin_count entry = entry_at(open, i);
        into->bins[entry.bin] += entry.count;
        into->count += entry.count;
    }
    into->sum += open->sum;
    into->min = open->min < into->min ? open->min : into->min;
    into->max = open->max > into->max ? open->max : into->max;
}

unsigned vamp_open_bin_count(const struct vamp_open_pool *pool,
                             const struct vamp_open_histogram *open)
{
    unsigned end, count = 0;
    if (open->form != VAMP_OPEN_ARRAY) {
        return open->used; /* nearly all are lists, which have no empty entries */
    }
    for (unsigned i = first_entry(pool, open, &end); i < end; i++) {
        count += open->bins[i] > 0;
    }
    return count;
}

void vamp_open_copy(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                    struct vamp_bucket_histogram *to)
{
    to->count = 0;
    to->sum = open->sum;
    to->min = open->min;
    to->max = open->max;
    to->bin_count = 0;
    unsigned end;
    for (unsigned i = first_entry(pool, open, &end); i < end; i++) {
        const struct vamp_bin_count entry = entry_at(open, i);
        if (entry.count > 0) {
            uint32_t at = to->bin_count++;
            for (; at > 0 && to->bins[at - 1].bin > entry.bin; at--) {
                to->bins[at] = to->bins[at - 1]; /* only of a list: there are few */
            }
            to->bins[at] = entry;
            to->count += entry.count;
        }
    }
}
