/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipeline: source -> reader -> filter -> statistics -> outputs, from configuration to exit
 * code. parts.c creates what a run and a reload need, state.c and summary.c print, reload.c
 * replaces the configuration on SIGHUP, pipeline.c starts, runs and ends it, and uses the others.
 * Worker thread.
 */
#pragma once

#include "programs/cli/start.h"
#include "programs/run/outputs.h"
#include "programs/run/page.h"
#include "programs/run/status.h"
#include "programs/vampire/reader.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/alarms/alarms.h"
#include "vampire/alarms/silence.h"
#include "vampire/core/clock.h"
#include "vampire/core/event/components.h"
#include "vampire/core/recording/recording.h"
#include "vampire/core/values.h"

#define ROUNDTRIPS_MAX 32

/* Durations of vampire's own operations on the pool (metric own_roundtrip_ns), passed from the
 * calling threads to the worker. Values over the limit are not recorded until the worker has
 * consumed the others. */
struct roundtrips {
    pthread_mutex_t lock; /* of the following members */
    unsigned count;
    struct {
        enum vamp_own_operation operation;
        int64_t ns;
    } items[ROUNDTRIPS_MAX];
};

/* The second source, of samples, with its reader. A sample waits until the pool's events, or a
 * silence of the pool, have reached its time, so that it never advances time itself; if the pool's
 * clock differs, or many samples wait, it counts at the pool's time. */
struct samples_intake {
    struct vamp_source_ops ops;
    void *source; /* NULL: none */
    struct vamp_reader reader;
    bool runs;                     /* the reader */
    atomic_int stop, never;        /* stops the source, which ends the reader */
    const struct vamp_event *held; /* the first sample; NULL: not read */
    int64_t until_ns;              /* the time that was reached; 0: none */
    uint64_t early;                /* counted at the pool's time, not their own */
    uint64_t outside;              /* from before the first event or after the last */
    uint64_t filtered;             /* rejected by the first filter */
};

struct pipeline {
    const struct vamp_start *start;
    const struct vamp_clock *clock;
    struct vamp_process process;
    char workflow[VAMP_RECORDING_TEXT_BYTES]; /* the source's name for it; "" */
    char examined[512];                       /* findings of an examination of Maestro; "" */
    struct vamp_status status;
    struct vamp_ready_file ready_file;
    struct vamp_components *components;
    const struct vamp_source_ops *ops; /* functions of the source */
    void *source;
    struct vamp_reader reader;
    struct samples_intake samples;
    struct vamp_event_clock event_clock;
    int64_t next_tick_ns;    /* monotonic */
    int64_t newest_event_ns; /* event time */
    uint64_t set_backs;      /* of the events' clock, at the last tick */
    int64_t quiet_until_ns;  /* monotonic: of the reader, read before the last batch */

    /* The source was opened with these; they do not change during the run. */
    const struct vamp_config *first;
    char *selector; /* of the subscription; NULL: none */

    uint64_t kinds; /* of events that can come: bit per enum vamp_event_kind */

    /* Replaced by a reload as a whole. */
    const struct vamp_config *config;
    struct vamp_config *own_config; /* `config` if a reload made it, else NULL */
    struct vamp_run *run;           /* one of `runs`: replaced outputs may still read the other */
    struct vamp_run runs[2];
    struct vamp_rules *rules;
    struct vamp_stats *stats;
    struct vamp_outputs outputs;
    struct vamp_history *history; /* of outputs with "when"; not replaced, nor the next one */
    struct vamp_action_services services; /* of the actions of alarms */
    struct vamp_alarms *alarms;           /* NULL: no rules */
    uint64_t fired_before;                /* alarms of rules that a reload replaced */
    struct vamp_silences silences;
    unsigned silences_seen;            /* requests of signals->silence that were served */
    struct vamp_config *alarms_config; /* of the rules, if a reload made it, else NULL */
    unsigned reloads_seen;             /* requests of signals->reload that were served */
    unsigned shows_seen;               /* and of signals->show */
    uint64_t cut_before; /* pattern matches cut short by filters that a reload replaced */

    struct roundtrips roundtrips;
    int64_t began_ns; /* monotonic */
    /* At the last print of the state: the event rate is the difference. */
    uint64_t shown_events;
    int64_t shown_ns; /* monotonic */
    /* The reader's last progress. */
    unsigned beats_seen;
    int64_t beat_ns; /* monotonic */
};

/* Runs until the workflow has ended, a signal came or the pool manager is gone. The calling thread
 * is the worker. Returns the exit code; all failures have been reported on stderr. */
enum vamp_exit_code vamp_pipeline_run(const struct vamp_start *start);

/* ---- parts.c */

/* Updates the set of unknown information in the statistics, for everything written from here on. */
void pipeline_learn_unknown(struct pipeline *pipeline);
/* Creates the statistics of a configuration, with the series ids of the run's workflow. Closed
 * buckets go to the alarms and the outputs. 0 or -errno. */
VAMP_MUST_CHECK int pipeline_create_stats(struct pipeline *pipeline,
                                          const struct vamp_config *config,
                                          struct vamp_stats **ret_stats, struct vamp_err *err);
/* Creates the rules of a configuration on these statistics; NULL if it has none. 0 or -errno. */
VAMP_MUST_CHECK int pipeline_create_alarms(struct pipeline *pipeline,
                                           const struct vamp_config *config,
                                           const struct vamp_stats *stats,
                                           struct vamp_alarms **ret_alarms, struct vamp_err *err);
/* One line of the log; `context` is the pipeline. */
void pipeline_say(void *context, bool error, const char *line);
/* The context with which outputs of this run with these statistics are opened. */
struct vamp_output_context pipeline_output_context(const struct pipeline *pipeline,
                                                   const struct vamp_run *run,
                                                   const struct vamp_stats *stats);
/* Reads the file of silences if SIGUSR2 came since the last call. */
void pipeline_silence_if_asked(struct pipeline *pipeline);
/* Pattern matches cut short by a limit of steps so far. */
uint64_t pipeline_filter_cut(const struct pipeline *pipeline);
/* Updates the metrics about vampire itself: outputs, memory, processor time, round trips. */
void pipeline_report_self(struct pipeline *pipeline);

/* ---- samples.c */

/* Opens the configured inputs. 0 or -errno. */
VAMP_MUST_CHECK int pipeline_open_samples(struct pipeline *pipeline, struct vamp_err *err);
VAMP_MUST_CHECK int pipeline_start_samples(struct pipeline *pipeline, struct vamp_err *err);
/* Passes a sample whose time was reached to the statistics and to the outputs of events. */
void pipeline_process_sample(struct pipeline *pipeline, const struct vamp_event *sample);
/* Processes samples up to `until_ns`, a valid time; 0: there was no event yet, and they are
 * dropped. In a replay it waits until it has them all. */
void pipeline_take_samples(struct pipeline *pipeline, int64_t until_ns);
/* Reads the remaining samples and closes the inputs, if there are any. */
void pipeline_finish_samples(struct pipeline *pipeline);
/* Frees the inputs, also after a failed start. */
void pipeline_samples_done(struct pipeline *pipeline);
void pipeline_print_samples(const struct pipeline *pipeline, const struct vamp_page *page);

/* ---- state.c */

/* Prints the state to stderr if SIGUSR1 came since the last call. */
void pipeline_show_if_asked(struct pipeline *pipeline);
/* Writes the one-line status for the service manager, terminated, into `line`. */
void pipeline_status_line(struct pipeline *pipeline, char *line, size_t bytes);

/* ---- summary.c */

/* Prints the summary of the run, whose outputs have finished. */
void pipeline_print_summary(const struct pipeline *pipeline, const struct vamp_totals *totals,
                            const char *reason, FILE *stream);

/* ---- reload.c */

/* Reads the configuration again if SIGHUP came since the last call. */
void pipeline_reload_if_asked(struct pipeline *pipeline);
