/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/open_histogram.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/io.h"

#define LINE_BYTES ((size_t)64)
#define SLAB_BYTES ((size_t)64 * 1024)

struct vamp_open_slab {
    struct vamp_open_slab *next;
    char memory[]; /* the first histogram is at the first cache line */
};

_Static_assert(offsetof(struct vamp_open_histogram, bins) +
                       VAMP_OPEN_LOG_VALUES * sizeof(uint16_t) <=
                   LINE_BYTES,
               "a log is one cache line");

/* Returns the size of a histogram of this form, rounded up to whole cache lines. */
static size_t bytes_of(const struct vamp_open_pool *pool, unsigned form)
{
    const size_t bins[] = {
        [VAMP_OPEN_LOG] = VAMP_OPEN_LOG_VALUES * sizeof(uint16_t),
        [VAMP_OPEN_WINDOW] = VAMP_OPEN_WINDOW_BINS * sizeof(uint32_t),
        [VAMP_OPEN_ARRAY] = pool->bins->count * sizeof(uint64_t),
    };
    const size_t bytes = offsetof(struct vamp_open_histogram, bins) + bins[form];
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
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

/* Returns bin and count of an entry: one value of a log, or one bin of another form. */
static struct vamp_bin_count entry_at(const struct vamp_open_histogram *open, unsigned at)
{
    if (open->form == VAMP_OPEN_LOG) {
        return (struct vamp_bin_count){1, open->bins.log[at]};
    }
    if (open->form == VAMP_OPEN_WINDOW) {
        return (struct vamp_bin_count){open->bins.window[at], open->base + at};
    }
    return (struct vamp_bin_count){open->bins.array[at], at};
}

/* Returns the first of the entries that may have values; `*ret_end` is the index after the last. */
static unsigned first_entry(const struct vamp_open_pool *pool,
                            const struct vamp_open_histogram *open, unsigned *ret_end)
{
    if (open->form == VAMP_OPEN_LOG) {
        *ret_end = open->used;
        return 0;
    }
    const unsigned base = open->form == VAMP_OPEN_WINDOW ? open->base : 0;
    *ret_end = vamp_bin_index(pool->bins->sub_bits, open->max) + 1 - base;
    return vamp_bin_index(pool->bins->sub_bits, open->min) - base;
}

/* The bins of a free window or array must be zero. */
static void put_free(struct vamp_open_pool *pool, struct vamp_open_histogram *histogram)
{
    histogram->sum = (uint64_t)(uintptr_t)pool->free[histogram->form];
    pool->free[histogram->form] = histogram;
}

static __attribute__((noinline)) void clear_bins(const struct vamp_open_pool *pool,
                                                 struct vamp_open_histogram *histogram)
{
    unsigned end;
    const unsigned first = first_entry(pool, histogram, &end);
    if (histogram->form == VAMP_OPEN_WINDOW) {
        memset(&histogram->bins.window[first], 0, (end - first) * sizeof(uint32_t));
    } else {
        memset(&histogram->bins.array[first], 0, (end - first) * sizeof(uint64_t));
    }
}

void vamp_open_release(struct vamp_open_pool *pool, struct vamp_open_histogram *histogram)
{
    if (histogram == NULL) {
        return;
    }
    if (histogram->form != VAMP_OPEN_LOG) {
        clear_bins(pool, histogram);
    }
    put_free(pool, histogram);
}

/* Allocates a slab and divides it into histograms of one form. */
static void add_slab(struct vamp_open_pool *pool, unsigned form)
{
    const size_t each = bytes_of(pool, form);
    const size_t slab_bytes = VAMP_MAX(SLAB_BYTES, each);
    if (pool->bytes + slab_bytes > pool->max_bytes) {
        return;
    }
    struct vamp_open_slab *slab = calloc(1, sizeof *slab + LINE_BYTES - 1 + slab_bytes);
    if (slab == NULL) {
        return;
    }
    vamp_pages_ask(slab, slab_bytes);
    slab->next = pool->slabs;
    pool->slabs = slab;
    pool->bytes += slab_bytes;
    char *first = slab->memory + (-(uintptr_t)slab->memory & (LINE_BYTES - 1));
    for (size_t at = 0; at + each <= slab_bytes; at += each) {
        struct vamp_open_histogram *histogram = (void *)(first + at);
        histogram->form = (uint8_t)form;
        put_free(pool, histogram);
    }
}

/* Allocates a histogram. Its sum, min and max are not set. */
static inline struct vamp_open_histogram *take(struct vamp_open_pool *pool, unsigned form)
{
    if (__builtin_expect(pool->free[form] == NULL, 0)) {
        add_slab(pool, form);
    }
    struct vamp_open_histogram *histogram = pool->free[form];
    if (histogram != NULL) {
        pool->free[form] = (struct vamp_open_histogram *)(uintptr_t)histogram->sum;
    }
    return histogram;
}

/* A separate function, since most histograms of a bucket have one value. */
static bool begin_log(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                      uint64_t value)
{
    struct vamp_open_histogram *log = take(pool, VAMP_OPEN_LOG);
    *histogram = log;
    if (log == NULL) {
        return false;
    }
    log->sum = value;
    log->min = value;
    log->max = value;
    log->bins.log[0] = (uint16_t)vamp_bin_index(pool->bins->sub_bits, value);
    log->used = 1;
    return true;
}

/* Converts the histogram to the first form that can contain a value of this bin. Returns NULL if
 * the pool is full. */
static struct vamp_open_histogram *grow(struct vamp_open_pool *pool,
                                        struct vamp_open_histogram *open, unsigned bin)
{
    assert(open->form != VAMP_OPEN_ARRAY);
    unsigned lowest = vamp_bin_index(pool->bins->sub_bits, open->min);
    unsigned highest = vamp_bin_index(pool->bins->sub_bits, open->max);
    lowest = VAMP_MIN(lowest, bin);
    highest = VAMP_MAX(highest, bin);
    const unsigned bins = highest - lowest + 1;
    const bool fits = open->form == VAMP_OPEN_LOG && bins <= VAMP_OPEN_WINDOW_BINS;
    struct vamp_open_histogram *larger = take(pool, fits ? VAMP_OPEN_WINDOW : VAMP_OPEN_ARRAY);
    if (larger == NULL) {
        return NULL;
    }
    if (fits) { /* with the same number of spare bins below and above */
        larger->base = (uint16_t)vamp_minus(lowest, (VAMP_OPEN_WINDOW_BINS - bins) / 2);
    }
    larger->sum = open->sum;
    larger->min = open->min;
    larger->max = open->max;
    unsigned end;
    for (unsigned i = first_entry(pool, open, &end); i < end; i++) {
        const struct vamp_bin_count entry = entry_at(open, i);
        if (fits) {
            larger->bins.window[entry.bin - larger->base]++;
        } else {
            larger->bins.array[entry.bin] += entry.count;
        }
    }
    vamp_open_release(pool, open);
    return larger;
}

static __attribute__((noinline)) bool record_in_larger(struct vamp_open_pool *pool,
                                                       struct vamp_open_histogram **histogram,
                                                       uint64_t value)
{
    const unsigned bin = vamp_bin_index(pool->bins->sub_bits, value);
    struct vamp_open_histogram *next = grow(pool, *histogram, bin);
    if (next == NULL) {
        return false;
    }
    *histogram = next;
    const bool counted = vamp_open_count(next, bin);
    assert(counted);
    (void)counted;
    vamp_open_add_value(next, value);
    return true;
}

bool vamp_open_record_in_next(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                              uint64_t value)
{
    if (*histogram == NULL) {
        return begin_log(pool, histogram, value);
    }
    return record_in_larger(pool, histogram, value);
}

bool vamp_open_record_often(struct vamp_open_pool *pool, struct vamp_open_histogram **histogram,
                            uint64_t value, uint64_t count)
{
    const unsigned bin = vamp_bin_index(pool->bins->sub_bits, value);
    while (count > 0) {
        if (!vamp_open_record(pool, histogram, value)) {
            return false;
        }
        struct vamp_open_histogram *open = *histogram;
        uint64_t more = --count;
        if (open->form == VAMP_OPEN_LOG) { /* the log will soon become a window */
            continue;
        }
        if (open->form == VAMP_OPEN_WINDOW) {
            uint32_t *at = &open->bins.window[bin - open->base];
            more = VAMP_MIN(more, (uint64_t)(UINT32_MAX - *at));
            *at += (uint32_t)more;
        } else {
            open->bins.array[bin] += more;
        }
        open->sum += more * value;
        count -= more;
    }
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
    into->min = VAMP_MIN(into->min, open->min);
    into->max = VAMP_MAX(into->max, open->max);
}

unsigned vamp_open_count_bins(const struct vamp_open_pool *pool,
                              const struct vamp_open_histogram *open)
{
    unsigned end, count = 0;
    unsigned i = first_entry(pool, open, &end);
    if (open->form == VAMP_OPEN_WINDOW) {
        for (; i < end; i++) { /* a separate loop, which the compiler vectorizes */
            count += open->bins.window[i] != 0;
        }
    }
    for (; i < end; i++) {
        count += open->bins.array[i] != 0;
    }
    return count;
}

/* Result of comparing eight bins at once: -1 (all bits set) where the comparison holds. */
typedef int16_t eight_bins __attribute__((vector_size(16)));
#define EIGHT 8
static_assert(VAMP_OPEN_LOG_VALUES == 2 * EIGHT && VAMP_BINS_MAX <= INT16_MAX, "two of them");

/* Computes the rank of each value of a log, and the number of values equal to it, by comparing all
 * pairs: the branches of a sort would be mispredicted. */
static void rank_log(const struct vamp_open_histogram *log,
                     int16_t ret_places[static VAMP_OPEN_LOG_VALUES],
                     int16_t ret_equal[static VAMP_OPEN_LOG_VALUES])
{
    unsigned at = 0;
    do {
        eight_bins bins;
        eight_bins places = {0};
        eight_bins equal = {0};
        memcpy(&bins, log->bins.log + at, sizeof bins);
        for (unsigned i = 0; i < log->used; i++) {
            const int16_t bin = (int16_t)log->bins.log[i];
            const eight_bins other = {bin, bin, bin, bin, bin, bin, bin, bin};
            places -= other < bins;
            equal -= other == bins;
        }
        memcpy(ret_places + at, &places, sizeof places);
        memcpy(ret_equal + at, &equal, sizeof equal);
        at += EIGHT;
    } while (at < log->used);
}

/* Not inlined, since logs of one value do not need its stack frame. */
static __attribute__((noinline)) void copy_log(const struct vamp_open_histogram *log,
                                               struct vamp_bucket_histogram *to)
{
    int16_t places[VAMP_OPEN_LOG_VALUES], equal[VAMP_OPEN_LOG_VALUES];
    /* Only the first value of each rank is set. */
    struct vamp_bin_count sorted[VAMP_OPEN_LOG_VALUES];
    const unsigned count = log->used;
    struct vamp_bin_count *next = to->bins;
    rank_log(log, places, equal);
    for (unsigned i = 0; i < count; i++) {
        sorted[places[i]] = (struct vamp_bin_count){(uint64_t)equal[i], log->bins.log[i]};
    }
    for (unsigned i = 0; i < count; i += (unsigned)sorted[i].count) {
        *next++ = sorted[i];
    }
    to->bin_count = (uint32_t)(next - to->bins);
}

void vamp_open_copy(const struct vamp_open_pool *pool, const struct vamp_open_histogram *open,
                    struct vamp_bucket_histogram *to)
{
    *to = (struct vamp_bucket_histogram){.sum = open->sum, .min = open->min, .max = open->max};
    if (open->form == VAMP_OPEN_LOG) {
        to->count = open->used;
        to->bin_count = 1;
        to->bins[0] = (struct vamp_bin_count){1, open->bins.log[0]};
        if (open->used > 1) {
            copy_log(open, to);
        }
        return;
    }
    unsigned end;
    for (unsigned i = first_entry(pool, open, &end); i < end; i++) {
        const struct vamp_bin_count entry = entry_at(open, i);
        if (entry.count > 0) {
            to->bins[to->bin_count++] = entry;
            to->count += entry.count;
        }
    }
}
