/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a component of the demo workflow counts itself, and the one JSON line it prints at its
 * end. The tests compare it with what vampire counted. Also the small things both programs
 * share: messages, the clock, files as marks between processes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "maestro.h"

/* Exit codes of both programs. */
#define WORKFLOW_FAILED 1 /* an operation failed, or data were wrong */
#define WORKFLOW_USAGE 2

enum operation {
    OP_JOIN,
    OP_LEAVE,
    OP_DECLARE,
    OP_SEAL,
    OP_OFFER,
    OP_REQUIRE,
    OP_DEMAND,
    OP_RETRACT,
    OP_WITHDRAW,
    OP_DISPOSE,
    OP_SUBSCRIBE,
    OP_UNSUBSCRIBE,
    OP_COUNT
};

/* Why the last Maestro call of this thread failed: the embedded Maestro's own text where there is
 * one, else the description of the status. */
const char *failure_text(mstro_status status);

struct report {
    const char *component, *role;
    uint64_t operations[OP_COUNT]; /* those that succeeded */
    uint64_t failed;               /* operations and payloads that were not as they should be */
    uint64_t produced_bytes;       /* sizes at offer */
    uint64_t consumed_bytes;       /* sizes of what demands brought */
    uint64_t transports;           /* demands that brought the CDO here */
    uint64_t digest;               /* of all payloads produced or consumed, in any order */
    uint64_t *demand_ns;           /* one a demand; owned */
    size_t demand_count, demand_capacity;
    FILE *times; /* NULL, or a line a demand: when it ended, CLOCK_MONOTONIC, and how long it took,
                    ns */
};

void report_init(struct report *report, const char *component, const char *role);
/* Writes each demand's time into a new file; ends the program when it cannot be created. */
void report_times(struct report *report, const char *path);
void report_done(struct report *report);

/* Counts an operation when `status` is MSTRO_OK; otherwise counts a failure, says so on stderr
 * and returns false. `what` is the CDO or other thing it was about. */
bool report_operation(struct report *report, enum operation operation, mstro_status status,
                      const char *what);
/* Something else went wrong: says it on stderr and counts it. */
void report_failure(struct report *report, const char *what, const char *text);
/* One demand of `bytes` bytes took so long. Ends the program when there is no memory. */
void report_demand(struct report *report, uint64_t nanoseconds, uint64_t bytes);

/* One JSON object and a newline on stdout. */
void report_print(struct report *report);

/* CLOCK_MONOTONIC. */
uint64_t now_ns(void);
/* Ends the program: WORKFLOW_FAILED with a line on stderr. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A number from `min` to `max` from the text of option `name`; else ends the program with
 * WORKFLOW_USAGE. */
uint64_t parse_number(const char *name, const char *text, uint64_t min, uint64_t max);
/* Creates an empty file, which marks that this process is ready. */
void mark_file(const char *path);
/* Returns when the file exists; ends the program after `seconds`. */
void await_file(const char *path, uint64_t seconds);
