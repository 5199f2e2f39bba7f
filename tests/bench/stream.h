/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of events that the benchmark uses: producers and consumers of a weather workflow, a
 * chosen number of CDOs alive at the same time, each at a random place of its life, so that nothing
 * about the next event is known from the last one. The same plan always gives the same events.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/event/event.h"

#define BENCH_LIFE_EVENTS 13 /* of a CDO that is not brief */

struct bench_plan {
    uint64_t events; /* in all, without joins and leaves */
    uint64_t live;   /* CDOs alive at the same time; they are declared first */
    unsigned components;
    int64_t start_ns; /* event time before the first event; 0: that of all recordings */
    int64_t step_ns;  /* of event time, from one event to the next */
    bool brief;       /* a CDO has 6 events instead of 13 */
};

struct bench_maker;

/* NULL without memory. */
struct bench_maker *bench_maker_create(const struct bench_plan *plan);
void bench_maker_free(struct bench_maker *maker); /* NULL is fine */
/* The next event: joins, the operations, leaves. False at the end. The name is valid until the next
 * call. */
bool bench_maker_next(struct bench_maker *maker, struct vamp_event *ret_event);

/* A stream in memory, as packed messages one behind the other. */
struct bench_stream {
    uint8_t *bytes;
    size_t *starts; /* count + 1 of them */
    size_t count;
    size_t warm; /* the first events, after which CDOs are in all stages of their lives */
};

/* 0 or -ENOMEM; bench_stream_done is right after either. */
int bench_stream_init(struct bench_stream *stream, const struct bench_plan *plan);
void bench_stream_done(struct bench_stream *stream);
/* Writes the stream to a new recording. 0, or 1 after saying why on stderr. */
int bench_stream_record(const struct bench_plan *plan, const char *path);
