/* SPDX-License-Identifier: BSD-3-Clause */
/* The pipeline, split: pipeline.c is the run from start to end, pipeline_reload.c takes over
 * another configuration in the middle of it, pipeline_state.c tells others how it is. Private to
 * these; worker thread. */
#ifndef VAMP_RUN_PIPELINE_INTERNAL_H
#define VAMP_RUN_PIPELINE_INTERNAL_H

#include <pthread.h>

#include "vampire/core/components.h"
#include "vampire/core/event_clock.h"
#include "vampire/core/recording.h"
#include "vampire/core/ring.h"
#include "vampire/run/outputs.h"
#include "vampire/run/pipeline.h"
#include "vampire/run/rules.h"
#include "vampire/run/source_thread.h"
#include "vampire/run/status.h"
#include "vampire/stats/stats.h"

/* Round trips of our own operations on the source thread, until the worker takes them. What does
 * not fit is not measured. */
#define PIPELINE_ROUNDTRIPS 32
struct pipeline_roundtrips {
    pthread_mutex_t lock;
    unsigned count;
    struct {
        enum vamp_own_operation operation;
        int64_t ns;
    } items[PIPELINE_ROUNDTRIPS];
};

struct pipeline {
    const struct vamp_pipeline_options *options;
    const struct vamp_clock *clock;
    char host[256];
    char workflow[VAMP_RECORDING_TEXT_BYTES]; /* as the source knows it */
    struct vamp_status status;
    struct vamp_ring *ring;
    struct vamp_components *components;
    void *source;
    struct vamp_source_thread source_thread;
    struct vamp_event_clock event_clock;
    int64_t next_tick_ns; /* monotonic */
    int64_t newest_event_ns;
    int64_t newest_bucket_ns; /* begin of the newest bucket at the last tick */
    int64_t quiet_until_ns;   /* of the source thread, before the ring was last emptied */

    /* What the source was opened with: it stays so for the whole run. */
    const struct vamp_config *first;
    char *selector; /* NULL: none */

    /* What a reload replaces, together. */
    const struct vamp_config *config;
    struct vamp_config *own_config; /* the same when it came by a reload, else NULL */
    struct vamp_run *run;           /* one of `runs`: the outputs before may still look at theirs */
    struct vamp_run runs[2];
    struct vamp_rules *rules;
    struct vamp_stats *stats;
    struct vamp_outputs outputs;
    unsigned reloads_seen; /* of signals->reload */
    unsigned shows_seen;   /* of signals->show */

    struct pipeline_roundtrips roundtrips;
    int64_t began_ns; /* monotonic */
    /* Of the last account of our state; and of the source's last sign of life. */
    uint64_t shown_events;
    int64_t shown_ns;
    unsigned beats_seen;
    int64_t beat_ns;
};

/* Where the statistics' buckets go; the context is the pipeline. */
void pipeline_emit(void *context, const struct vamp_bucket *bucket);
/* Tells the statistics how the outputs stand. */
void pipeline_report_self(struct pipeline *pipeline);
struct vamp_outputs_context pipeline_outputs_context(const struct pipeline *pipeline,
                                                     const struct vamp_run *run,
                                                     const struct vamp_stats *stats);
/* Shows the inner state on stderr if a signal asked for that since the last call. */
void pipeline_show_if_asked(struct pipeline *pipeline);
/* Tells the service manager that the run goes on, if it does. `now_ns` monotonic. */
void pipeline_notify_alive(struct pipeline *pipeline, int64_t now_ns);
/* One line for the service manager; static for the call. */
void pipeline_status_line(struct pipeline *pipeline, char *line, size_t bytes);
/* Takes over another configuration if a signal asked for that since the last call. */
void pipeline_reload_if_asked(struct pipeline *pipeline);

#endif
