/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The harness of the benchmark. A line is one thing measured next to a bare baseline: both run in
 * turn, in interleaved pairs, in one process, so that what the machine does to one it does to the
 * other; the ratio is of each pair. Lines of one thread are measured in its processor time, which
 * other processes' load does not stretch; lines that wait for a disk in elapsed time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum bench_clock { BENCH_PROCESSOR, BENCH_ELAPSED };

/* How large a line is to be: full for times, small for counting instructions. */
struct bench_size {
    uint64_t events;
    uint64_t live; /* CDOs alive at the same time */
    const char *directory;
};

struct bench_line {
    const char *name;     /* by which it is selected */
    const char *what;     /* in words */
    const char *each;     /* what is counted: "event" */
    const char *baseline; /* in words; NULL: there is none */
    enum bench_clock clock;
    bool counted;    /* has a limit of instructions */
    unsigned pairs;  /* 0: BENCH_PAIRS */
    uint64_t number; /* the line's own: a set of metrics, a number of CDOs */

    /* 0, or -errno after saying why on stderr. */
    int (*open)(const struct bench_line *line, const struct bench_size *size, void **ret_state);
    void (*reset)(void *state);    /* before each measured run, itself not measured; may be NULL */
    uint64_t (*run)(void *state);  /* measured; returns how many things were done */
    uint64_t (*base)(void *state); /* the same for the baseline; NULL: there is none */
    void (*more)(void *state, FILE *out); /* further members, each ", \"name\": value"; or NULL */
    void (*close)(void *state);
};

/* Events from which on other things have their full size, too. */
#define BENCH_EVENTS_FULL 100000
#define BENCH_PAIRS 9
#define BENCH_PAIRS_MAX 64

/* Measures and prints one JSON object on one line. 0 or -errno. */
int bench_measure(const struct bench_line *line, const struct bench_size *size, unsigned pairs);
/* Runs it once to warm up and once inside bench_measured; prints name and how many. */
int bench_count(const struct bench_line *line, const struct bench_size *size);
/* What callgrind collects: everything inside. */
uint64_t bench_measured(uint64_t (*run)(void *state), void *state);

/* Heap calls of the whole process so far. */
uint64_t bench_heap_calls(void);
/* Resident memory of this process now. */
uint64_t bench_resident_bytes(void);
double bench_elapsed_ns(void);
double bench_processor_ns(void); /* of the calling thread */

/* The lines of each file, ended by one without a name. */
extern const struct bench_line bench_event_lines[];
extern const struct bench_line bench_pairing_lines[];
extern const struct bench_line bench_sample_lines[];
extern const struct bench_line bench_histogram_lines[];
extern const struct bench_line bench_output_lines[];
extern const struct bench_line bench_alarm_lines[];
extern const struct bench_line bench_pool_lines[]; /* with the embedded pool only */
