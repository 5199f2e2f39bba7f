/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What recording one value into a histogram costs, beside adding one to an element of an array:
 * the same values, the same run, interleaved. Prints medians over the rounds; no test, since
 * times are not promised by a shared machine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "vampire/stats/histogram.h"

#define VALUES ((size_t)1 << 16)
#define REPEATS 64
#define ROUNDS 11
#define NS_PER_SECOND 1e9

static uint64_t values[VALUES];
static uint64_t array[VAMP_BINS_MAX];

static double now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * NS_PER_SECOND + (double)now.tv_nsec;
}

static double time_array(void)
{
    double began = now_ns();
    for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
        for (size_t i = 0; i < VALUES; i++) {
            array[values[i] % 496]++;
            __asm__ volatile("" ::: "memory");
        }
    }
    return (now_ns() - began) / (double)(VALUES * REPEATS);
}

static double time_histogram(struct vamp_histogram *histogram)
{
    double began = now_ns();
    for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
        for (size_t i = 0; i < VALUES; i++) {
            vamp_histogram_record(histogram, VAMP_SUB_BITS_DEFAULT, values[i]);
            __asm__ volatile("" ::: "memory");
        }
    }
    return (now_ns() - began) / (double)(VALUES * REPEATS);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *times)
{
    qsort(times, ROUNDS, sizeof *times, ascending);
    return times[ROUNDS / 2];
}

int main(void)
{
    struct vamp_bins bins;
    vamp_bins_init(&bins, VAMP_SUB_BITS_DEFAULT);
    struct vamp_histogram *histogram =
        malloc(sizeof *histogram + bins.count * sizeof histogram->bins[0]);
    if (histogram == NULL) {
        return 1;
    }
    vamp_histogram_clear(histogram, bins.count);
    uint64_t state = 1;
    for (size_t i = 0; i < VALUES; i++) {
        /* Durations as they come: many magnitudes. */
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = (state >> 20) >> (state & 31U);
    }
    double arrays[ROUNDS];
    double records[ROUNDS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        arrays[round] = time_array();
        records[round] = time_histogram(histogram);
    }
    double base = median(arrays);
    double record = median(records);
    (void)printf("histogram record   %.2f ns (%.2f to %.2f), array increment %.2f ns, ratio %.2f\n",
                 record, records[0], records[ROUNDS - 1], base, record / base);
    (void)printf("values recorded    %" PRIu64 "\n", histogram->count);
    free(histogram);
    return 0;
}
