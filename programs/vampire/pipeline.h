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

#define ROUNDTRIPS_MAX 32

/* How long vampire's own operations on the pool took (metric own_roundtrip_ns), from the thread on
 * which they were made to the worker. A value that finds no room until the worker has taken the
 * others is not recorded. */
struct roundtrips {
    pthread_mutex_t lock; /* of what follows */
    unsigned count;
    struct {
        enum vamp_own_operation operation;
        int64_t ns;
    } items[ROUNDTRIPS_MAX];
};

/* The second source, of samples, with what runs it. A sample waits until the pool's events, or a
 * silence of the pool, have reached its time, so that it never moves time itself; when the pool's
 * clock is another, or many wait, it counts at the pool's time. */
struct samples_intake {
    struct vamp_source_ops ops;
    void *source; /* NULL: there is none */
    struct vamp_reader reader;
    bool runs;                     /* the reader */
    atomic_int stop, never;        /* stops the source; the reader ends when that does */
    const struct vamp_event *held; /* the first; NULL: not looked at */
    int64_t until_ns;              /* the time that was reached; 0: none */
    uint64_t early;                /* did not wait */
    uint64_t outside;              /* from before the first event or after the last */
    uint64_t filtered;             /* left out by the first filter */
};

struct pipeline {
    const struct vamp_start *start;
    const struct vamp_clock *clock;
    struct vamp_process process;
    char workflow[VAMP_RECORDING_TEXT_BYTES]; /* as the source names it; "" */
    char examined[512];                       /* what an examination of Maestro found; "" */
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
    uint64_t set_backs;      /* of the events' clock, known at the last tick */
    int64_t quiet_until_ns;  /* monotonic: of the reader, read before the last batch */

    /* The source was opened with these; they do not change during the run. */
    const struct vamp_config *first;
    char *selector; /* of the subscription; NULL: none */

    uint64_t kinds; /* of events, that can come: bit per enum vamp_event_kind */

    /* What a reload replaces as a whole. */
    const struct vamp_config *config;
    struct vamp_config *own_config; /* `config` if a reload made it, else NULL */
    struct vamp_run *run;           /* one of `runs`: replaced outputs may still read the other */
    struct vamp_run runs[2];
    struct vamp_rules *rules;
    struct vamp_stats *stats;
    struct vamp_outputs outputs;
    struct vamp_history *history;         /* of outputs with "when"; not replaced, nor the next */
    struct vamp_action_services services; /* of the actions of alarms */
    struct vamp_alarms *alarms;           /* NULL: no rules */
    uint64_t fired_before;                /* alarms of rules that a reload replaced */
    struct vamp_silences silences;
    unsigned silences_seen;            /* requests of signals->silence that were served */
    struct vamp_config *alarms_config; /* that the rules are of, if a reload made it, else NULL */
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
 * is the worker. Every failure has been reported on stderr when it returns the exit code. */
enum vamp_exit_code vamp_pipeline_run(const struct vamp_start *start);

/* ---- parts.c */

/* What turned out to be unknown of the events is in what is written from here on. */
void pipeline_learn_unknown(struct pipeline *pipeline);
/* Creates the statistics that a configuration asks for, with the ids of series of the run's
 * workflow. Closed buckets go to the alarms and the outputs. 0 or -errno. */
VAMP_MUST_CHECK int pipeline_create_stats(struct pipeline *pipeline,
                                          const struct vamp_config *config,
                                          struct vamp_stats **ret_stats, struct vamp_err *err);
/* The rules of a configuration on these statistics; NULL when it has none. 0 or -errno. */
VAMP_MUST_CHECK int pipeline_create_alarms(struct pipeline *pipeline,
                                           const struct vamp_config *config,
                                           const struct vamp_stats *stats,
                                           struct vamp_alarms **ret_alarms, struct vamp_err *err);
/* One line of the log; `context` is the pipeline. */
void pipeline_say(void *context, bool error, const char *line);
/* What outputs of this run with these statistics are opened with. */
struct vamp_output_context pipeline_output_context(const struct pipeline *pipeline,
                                                   const struct vamp_run *run,
                                                   const struct vamp_stats *stats);
/* Reads the file of silences if SIGUSR2 came since the last call. */
void pipeline_silence_if_asked(struct pipeline *pipeline);
/* Pattern matches that a bound of steps cut short so far. */
uint64_t pipeline_filter_cut(const struct pipeline *pipeline);
/* Updates the metrics about vampire itself: outputs, memory, processor time, round trips. */
void pipeline_report_self(struct pipeline *pipeline);

/* ---- samples.c */

/* Opens the inputs that are configured. 0 or -errno. */
VAMP_MUST_CHECK int pipeline_open_samples(struct pipeline *pipeline, struct vamp_err *err);
VAMP_MUST_CHECK int pipeline_start_samples(struct pipeline *pipeline, struct vamp_err *err);
/* A sample whose time was reached: to the statistics and those outputs that take events. */
void pipeline_process_sample(struct pipeline *pipeline, const struct vamp_event *sample);
/* Processes those up to `until_ns`, a valid time; 0: there was no event yet, and they are dropped.
 * In a replay it waits until it has them all. */
void pipeline_take_samples(struct pipeline *pipeline, int64_t until_ns);
/* Reads what is left and closes the inputs; without any nothing. */
void pipeline_finish_samples(struct pipeline *pipeline);
/* Frees what is left of a start that failed. */
void pipeline_samples_done(struct pipeline *pipeline);
void pipeline_print_samples(const struct pipeline *pipeline, const struct vamp_page *page);

/* ---- pipeline.c */

/* An event to the outputs that take events themselves. */
static inline void pipeline_pass_on(struct pipeline *pipeline, const struct vamp_event *event,
                                    bool passed)
{
    if (pipeline->outputs.takes_events && event->kind != VAMP_EVENT_UNWANTED) {
        vamp_outputs_record(&pipeline->outputs, event, passed);
    }
}

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
