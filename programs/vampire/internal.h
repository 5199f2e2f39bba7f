/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipeline by stage: pipeline.c starts and ends the run, loop.c is the worker's loop, reload.c
 * replaces the configuration on SIGHUP, state.c prints the state on SIGUSR1, service.c keeps the
 * service manager informed, alarms.c has the rules, summary.c prints the summary. Private to these
 * files; worker thread.
 */
#ifndef VAMP_RUN_PIPELINE_INTERNAL_H
#define VAMP_RUN_PIPELINE_INTERNAL_H

#include "programs/run/outputs.h"
#include "programs/run/process.h"
#include "programs/run/ready_file.h"
#include "programs/run/rules.h"
#include "programs/run/status.h"
#include "programs/vampire/pipeline.h"
#include "programs/vampire/roundtrips.h"
#include "programs/vampire/source_thread.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/alarms/alarms.h"
#include "vampire/alarms/silence.h"
#include "vampire/core/event/components.h"
#include "vampire/core/event/event_clock.h"
#include "vampire/core/event/ring.h"
#include "vampire/core/recording/recording.h"
#include "vampire/stats/stats.h"

struct pipeline {
    const struct vamp_pipeline_options *options;
    const struct vamp_clock *clock;
    struct vamp_process process;
    char workflow[VAMP_RECORDING_TEXT_BYTES]; /* as the source names it; "" */
    struct vamp_status status;
    struct vamp_ready_file ready_file;
    struct vamp_ring *ring;
    struct vamp_components *components;
    void *source;
    struct vamp_source_thread source_thread;
    struct vamp_event_clock event_clock;
    int64_t next_tick_ns;     /* monotonic */
    int64_t newest_event_ns;  /* event time */
    int64_t newest_bucket_ns; /* event time: start of the newest bucket at the last tick */
    int64_t quiet_until_ns;   /* monotonic: of the source thread, read before the last batch */

    /* The source was opened with these; they do not change during the run. */
    const struct vamp_config *first;
    char *selector; /* of the subscription; NULL: none */

    /* What a reload replaces as a whole. */
    const struct vamp_config *config;
    struct vamp_config *own_config; /* `config` if a reload made it, else NULL */
    struct vamp_run *run;           /* one of `runs`: replaced outputs may still read the other */
    struct vamp_run runs[2];
    struct vamp_rules *rules;
    struct vamp_stats *stats;
    struct vamp_outputs outputs;
    struct vamp_action_services *services; /* of the actions of alarms; not replaced */
    bool actions_want_events;              /* read once a batch, as is the next */
    bool rules_judge_events;
    struct vamp_alarms *alarms; /* NULL: no rules */
    struct vamp_alarm_action_context alarm_context;
    uint64_t fired_before; /* alarms of rules that a reload replaced */
    struct vamp_silences silences;
    unsigned silences_seen;            /* requests of signals->silence that were served */
    struct vamp_config *alarms_config; /* that the rules are of, if a reload made it, else NULL */
    unsigned reloads_seen;             /* requests of signals->reload that were served */
    unsigned shows_seen;               /* and of signals->show */
    uint64_t cut_before; /* pattern matches cut short by filters that a reload replaced */

    struct vamp_roundtrips roundtrips;
    int64_t began_ns; /* monotonic */
    /* At the last print of the state: the event rate is the difference. */
    uint64_t shown_events;
    int64_t shown_ns; /* monotonic */
    /* The source thread's last progress. */
    unsigned beats_seen;
    int64_t beat_ns; /* monotonic */
};

/* ---- pipeline.c */

/* Passes a closed bucket of the statistics to the outputs; `context` is the pipeline. */
void pipeline_emit(void *context, const struct vamp_bucket *bucket);
/* What outputs of this run with these statistics are opened with. */
struct vamp_outputs_context pipeline_outputs_context(const struct pipeline *pipeline,
                                                     const struct vamp_run *run,
                                                     const struct vamp_stats *stats);

/* Creates the statistics that a configuration asks for, with the ids of series of the run's
 * workflow. 0 or -errno. */
VAMP_MUST_CHECK int pipeline_create_stats(struct pipeline *pipeline,
                                          const struct vamp_config *config,
                                          struct vamp_stats **ret_stats, struct vamp_err *err);
/* Calls `each` for every filter in use. */
void pipeline_filters(const struct pipeline *pipeline, vamp_filter_use_fn *each, void *context);
/* Pattern matches that a bound of steps cut short so far. */
uint64_t pipeline_filter_cut(const struct pipeline *pipeline);

/* ---- alarms.c */

/* The rules of a configuration on these statistics; NULL when it has none. 0 or -errno. */
VAMP_MUST_CHECK int pipeline_create_alarms(struct pipeline *pipeline,
                                           const struct vamp_config *config,
                                           const struct vamp_stats *stats,
                                           struct vamp_alarms **ret_alarms, struct vamp_err *err);
/* Lets the rules look at a bucket that nobody else has seen, and adds to it what they say. */
void pipeline_evaluate_alarms(struct pipeline *pipeline, const struct vamp_bucket *bucket);

/* Reads the file of silences if SIGUSR2 came since the last call. */
void pipeline_silence_if_asked(struct pipeline *pipeline);

/* ---- loop.c */

/* Processes events until the source thread has closed the ring and the ring is empty. */
void pipeline_loop(struct pipeline *pipeline);
/* Updates the metrics about vampire itself: outputs, memory, processor time, round trips. */
void pipeline_report_self(struct pipeline *pipeline);

/* ---- reload.c */

/* Reads the configuration again if SIGHUP came since the last call. */
void pipeline_reload_if_asked(struct pipeline *pipeline);

/* ---- state.c */

/* Prints the state to stderr if SIGUSR1 came since the last call. */
void pipeline_show_if_asked(struct pipeline *pipeline);

/* ---- summary.c */

/* Prints the summary of the run, whose outputs have finished. */
void pipeline_print_summary(const struct pipeline *pipeline, const struct vamp_totals *totals,
                            const char *reason, const struct vamp_action_account *actions,
                            FILE *stream);

/* ---- service.c */

/* Sends the service manager a keep-alive, unless the source thread is stuck. `now_ns` monotonic. */
void pipeline_notify_alive(struct pipeline *pipeline, int64_t now_ns);
/* Writes the one-line status for the service manager, terminated, into `line`. */
void pipeline_status_line(struct pipeline *pipeline, char *line, size_t bytes);

#endif
