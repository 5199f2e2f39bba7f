/* SPDX-License-Identifier: BSD-3-Clause */
/* What recording a value in a histogram costs, next to an increment in an array. */
#include <errno.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "vampire/stats/bucket/histogram.h"

#define VALUES ((size_t)1 << 16)
#define REPEATS_MAX 64
#define ARRAY_BINS 496

struct recording {
    unsigned repeats;
    uint64_t values[VALUES];
    uint64_t array[VAMP_BINS_MAX];
    struct vamp_histogram *histogram;
};

static int open_recording(const struct bench_line *line, const struct bench_size *size,
                          void **ret_state)
{
    (void)line;
    struct recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL) {
        return -ENOMEM;
    }
    recording->repeats = size->events >= BENCH_EVENTS_FULL ? REPEATS_MAX : 1;
    recording->histogram = calloc(1, sizeof *recording->histogram + VAMP_BINS_MAX * 8);
    if (recording->histogram == NULL) {
        free(recording);
        return -ENOMEM;
    }
    vamp_histogram_clear(recording->histogram, VAMP_BINS_MAX);
    uint64_t random = 1;
    for (size_t i = 0; i < VALUES; i++) {
        /* Durations as they come: many magnitudes. */
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        recording->values[i] = (random >> 20) >> (random & 31U);
    }
    *ret_state = recording;
    return 0;
}

static uint64_t run_record(void *state)
{
    struct recording *recording = state;
    for (unsigned repeat = 0; repeat < recording->repeats; repeat++) {
        for (size_t i = 0; i < VALUES; i++) {
            vamp_histogram_record(recording->histogram, VAMP_SUB_BITS_DEFAULT,
                                  recording->values[i]);
            __asm__ volatile("" ::: "memory");
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
    free(recording->histogram);
    free(recording);
}

const struct bench_line bench_histogram_lines[] = {
    {.name = "histogram",
     .what = "record a value in a histogram",
     .each = "value",
     .baseline = "an increment in an array",
     .clock = BENCH_PROCESSOR,
     .counted = true,
     .open = open_recording,
     .run = run_record,
     .base = run_increment,
     .close = close_recording},
    {.name = NULL},
};
