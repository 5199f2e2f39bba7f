/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long vampire's own operations on the pool took (metric own_roundtrip_ns), handed from the
 * thread on which they were made to the worker. Bounded: a value that finds no room until the
 * worker has taken the others is not recorded.
 */
#ifndef VAMP_RUN_ROUNDTRIPS_H
#define VAMP_RUN_ROUNDTRIPS_H

#include <pthread.h>

#include "vampire/source/source.h"
#include "vampire/stats/stats.h"

#define VAMP_ROUNDTRIPS_MAX 32

struct vamp_roundtrips {
    pthread_mutex_t lock; /* of what follows */
    unsigned count;
    struct {
        enum vamp_own_operation operation;
        int64_t ns;
    } items[VAMP_ROUNDTRIPS_MAX];
};

void vamp_roundtrips_init(struct vamp_roundtrips *roundtrips);
void vamp_roundtrips_done(struct vamp_roundtrips *roundtrips);
/* Keeps one round-trip time. `context` is the struct vamp_roundtrips: this is the own_roundtrip
 * function of struct vamp_source_context. Any thread. */
void vamp_roundtrips_note(void *context, enum vamp_own_operation operation, int64_t ns);
/* Moves all kept values into the statistics. Worker thread. */
void vamp_roundtrips_flush(struct vamp_roundtrips *roundtrips, struct vamp_stats *stats);

#endif
