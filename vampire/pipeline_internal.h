/* SPDX-License-Identifier: BSD-3-Clause */
/* The pipeline, split: pipeline.c is the run from start to end, pipeline_reload.c takes over
 * another configuration in the middle of it. Private to these two; worker thread. */
#ifndef VAMP_PIPELINE_INTERNAL_H
#define VAMP_PIPELINE_INTERNAL_H

#include "vampire/core/components.h"
#include "vampire/core/recording.h"
#include "vampire/core/ring.h"
#include "vampire/event_clock.h"
#include "vampire/outputs.h"
#include "vampire/pipeline.h"
#include "vampire/rules.h"
#include "vampire/source_thread.h"
#include "vampire/stats/stats.h"
#include "vampire/status.h"

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
};

/* Where the statistics' buckets go; the context is the pipeline. */
void pipeline_emit(void *context, const struct vamp_bucket *bucket);
/* Tells the statistics how the outputs stand. */
void pipeline_report_self(struct pipeline *pipeline);
struct vamp_outputs_context pipeline_outputs_context(const struct pipeline *pipeline,
                                                     const struct vamp_run *run,
                                                     const struct vamp_stats *stats);
/* Takes over another configuration if a signal asked for that since the last call. */
void pipeline_reload_if_asked(struct pipeline *pipeline);

#endif
