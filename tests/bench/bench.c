/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1e9

struct quartiles {
    double low, median, high;
};

static double clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec * NS_PER_SECOND + (double)now.tv_nsec;
}

double bench_elapsed_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

double bench_processor_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t bench_resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128];
    uint64_t resident = 0;
    if (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *behind = line; /* the size stands before it */
        (void)strtoull(line, &behind, 10);
        resident = strtoull(behind, NULL, 10);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Between two values where the place is between them. */
static double at_part(const double *sorted, unsigned count, double part)
{
    const double place = part * (double)(count - 1);
    const unsigned below = (unsigned)place;
    const unsigned above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

static struct quartiles quartiles_of(const double *values, unsigned count)
{
    double sorted[BENCH_PAIRS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, ascending);
    return (struct quartiles){at_part(sorted, count, 0.25), at_part(sorted, count, 0.5),
                              at_part(sorted, count, 0.75)};
}

__attribute__((noinline)) uint64_t bench_measured(uint64_t (*run)(void *state), void *state)
{
    const uint64_t done = run(state);
    __asm__ volatile("" ::: "memory"); /* keeps this a call, so that callgrind sees its end */
    return done;
}

/* Time for one thing, in ns. */
static double time_one(const struct bench_line *line, uint64_t (*run)(void *), void *state)
{
    if (line->reset != NULL) {
        line->reset(state);
    }
    double (*now)(void) = line->clock == BENCH_PROCESSOR ? bench_processor_ns : bench_elapsed_ns;
    const double began = now();
    const uint64_t done = bench_measured(run, state);
    return (now() - began) / (double)(done > 0 ? done : 1);
}

static void print_quartiles(const char *name, const struct quartiles *values)
{
    (void)printf("\"%s\": %.4f, \"%s_q1\": %.4f, \"%s_q3\": %.4f", name, values->median, name,
                 values->low, name, values->high);
}

static void print_line(const struct bench_line *line, void *state, unsigned pairs,
                       const double *times, const double *base_times)
{
    const struct quartiles own = quartiles_of(times, pairs);
    (void)printf("{\"name\": \"%s\", \"what\": \"%s\", \"unit\": \"ns/%s\", \"clock\": \"%s\", "
                 "\"pairs\": %u, ",
                 line->name, line->what, line->each,
                 line->clock == BENCH_PROCESSOR ? "processor" : "elapsed", pairs);
    print_quartiles("median", &own);
    if (line->base != NULL) {
        double ratios[BENCH_PAIRS_MAX] = {0};
        for (unsigned i = 0; i < pairs; i++) {
            ratios[i] = times[i] / base_times[i];
        }
        const struct quartiles base = quartiles_of(base_times, pairs);
        const struct quartiles ratio = quartiles_of(ratios, pairs);
        (void)printf(", \"baseline\": {\"what\": \"%s\", ", line->baseline);
        print_quartiles("median", &base);
        (void)printf("}, ");
        print_quartiles("ratio", &ratio);
    }
    if (line->more != NULL) {
        line->more(state, stdout);
    }
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf(", \"peak_bytes\": %ld, \"cpu_seconds\": %.3f}\n", usage.ru_maxrss * 1024,
                 (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    (void)fflush(stdout);
}

int bench_measure(const struct bench_line *line, const struct bench_size *size, unsigned pairs)
{
    double times[BENCH_PAIRS_MAX] = {0};
    double base_times[BENCH_PAIRS_MAX] = {0};
    void *state = NULL;
    const int result = line->open(line, size, &state);
    if (result != 0) {
        return result;
    }
    pairs = pairs > 0 ? pairs : line->pairs > 0 ? line->pairs : BENCH_PAIRS;
    pairs = pairs < BENCH_PAIRS_MAX ? pairs : BENCH_PAIRS_MAX;
    /* Whoever comes first pays for cold memory: once, unmeasured. */
    (void)time_one(line, line->run, state);
    for (unsigned i = 0; i < pairs; i++) {
        /* Who goes first changes, so that neither always follows the other. */
        if (line->base != NULL && i % 2 == 0) {
            base_times[i] = time_one(line, line->base, state);
        }
        times[i] = time_one(line, line->run, state);
        if (line->base != NULL && i % 2 != 0) {
            base_times[i] = time_one(line, line->base, state);
        }
    }
    print_line(line, state, pairs, times, base_times);
    line->close(state);
    return 0;
}

/* While callgrind looks, only the second run is inside bench_measured. */
int bench_count(const struct bench_line *line, const struct bench_size *size)
{
    void *state = NULL;
    const int result = line->open(line, size, &state);
    if (result != 0) {
        return result;
    }
    if (line->reset != NULL) {
        line->reset(state);
    }
    (void)line->run(state);
    if (line->reset != NULL) {
        line->reset(state);
    }
    const uint64_t done = bench_measured(line->run, state);
    (void)printf("%s %" PRIu64 "\n", line->name, done);
    line->close(state);
    return 0;
}
