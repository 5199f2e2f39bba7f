/* SPDX-License-Identifier: BSD-3-Clause */
/* What recording a value in the open histogram of a series costs, as the statistics do it, next to
 * an increment in an array. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "vampire/stats/cells/open_histogram.h"

#define VALUES ((size_t)1 << 16)
#define REPEATS_MAX 64
#define ARRAY_BINS 496
#define SERIES_MAX 256 /* a power of two, as the number of any line's series */
#define POOL_BYTES ((size_t)16 << 20)

/* Values of a series before its bucket ends, series that take turns, whether the end copies them.
 */
enum shape { WIDE, NARROW, FEW, COPIED };
static const struct {
    size_t a_bucket;
    unsigned series;
    bool copied;
} shapes[] = {[WIDE] = {VALUES, 1, false},
              [NARROW] = {VALUES, 1, false},
              [FEW] = {8, SERIES_MAX, false},
              [COPIED] = {8, SERIES_MAX, true}};

struct recording {
    unsigned repeats, series;
    size_t a_bucket; /* of all series */
    bool copied;
    uint64_t values[VALUES];
    uint64_t array[ARRAY_BINS];
    struct vamp_bins bins;
    struct vamp_open_pool pool;
    struct vamp_open_histogram *open[SERIES_MAX];
    struct vamp_bucket_histogram *copy;
};

static int open_recording(const struct bench_line *line, const struct bench_size *size,
                          void **ret_state)
{
    struct recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL) {
        return -ENOMEM;
    }
    recording->copy = malloc(vamp_bucket_histogram_bytes(ARRAY_BINS));
    if (recording->copy == NULL) {
        free(recording);
        return -ENOMEM;
    }
    recording->repeats = size->events >= BENCH_EVENTS_FULL ? REPEATS_MAX : 1;
    recording->series = shapes[line->number].series;
    recording->a_bucket = shapes[line->number].a_bucket * recording->series;
    recording->copied = shapes[line->number].copied;
    vamp_bins_init(&recording->bins, VAMP_SUB_BITS_DEFAULT);
    vamp_open_pool_init(&recording->pool, &recording->bins, POOL_BYTES);
    uint64_t random = 1;
    for (size_t i = 0; i < VALUES; i++) {
        /* Durations as they come: many magnitudes, or from 200 to 300 us. */
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        recording->values[i] = line->number == WIDE ? (random >> 20) >> (random & 31U)
                                                    : 200000 + (random >> 20) % 100000;
    }
    *ret_state = recording;
    return 0;
}

static void end_bucket(struct recording *recording)
{
    for (unsigned s = 0; s < recording->series; s++) {
        if (recording->copied &&
            vamp_open_bins_at_most(&recording->pool, recording->open[s]) <= ARRAY_BINS) {
            vamp_open_copy(&recording->pool, recording->open[s], recording->copy);
        }
        vamp_open_release(&recording->pool, recording->open[s]);
        recording->open[s] = NULL;
    }
}

static uint64_t run_record(void *state)
{
    struct recording *recording = state;
    for (unsigned repeat = 0; repeat < recording->repeats; repeat++) {
        for (size_t begin = 0; begin < VALUES; begin += recording->a_bucket) {
            for (size_t i = begin; i < begin + recording->a_bucket; i++) {
                if (!vamp_open_record(&recording->pool,
                                      &recording->open[i & (recording->series - 1)],
                                      recording->values[i])) {
                    (void)fputs("bench: the pool of histograms has no room\n", stderr);
                    exit(1);
                }
            }
            end_bucket(recording);
        }
    }
    return VALUES * recording->repeats;
}

static uint64_t run_increment(void *state)
{
    struct recording *recording = state;
    for (unsigned repeat = 0; repeat < recording->repeats; repeat++) {
        for (size_t i = 0; i < VALUES; i++) {
            recording->array[recording->values[i] % ARRAY_BINS]++;
            __asm__ volatile("" ::: "memory");
        }
    }
    return VALUES * recording->repeats;
}

static void close_recording(void *state)
{
    struct recording *recording = state;
    vamp_open_pool_done(&recording->pool);
    free(recording->copy);
    free(recording);
}

#define LINE(name_, what_, shape)                                                                  \
    {                                                                                              \
        .name = (name_), .what = "record a value in the open histogram of a series: " what_,       \
        .each = "value", .baseline = "an increment in an array", .clock = BENCH_PROCESSOR,         \
        .counted = true, .number = (shape), .open = open_recording, .run = run_record,             \
        .base = run_increment, .close = close_recording                                            \
    }
const struct bench_line bench_histogram_lines[] = {
    LINE("histogram", "values of many magnitudes", WIDE),
    LINE("histogram.narrow", "values from 200 to 300 us", NARROW),
    LINE("histogram.few", "8 values a bucket, 256 series", FEW),
    LINE("histogram.copied", "the same, then copied into the bucket", COPIED),
    {.name = NULL},
};
