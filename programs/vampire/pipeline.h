/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipeline: source -> reader -> filter -> statistics -> outputs, from configuration to exit
 * code. parts.c creates the objects needed by a run and a reload; state.c and summary.c print;
 * reload.c replaces the configuration on SIGHUP; pipeline.c starts, runs and ends the pipeline,
 * using the other files. Worker thread.
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
 * calling threads to the worker. When the buffer is full, further values are dropped until the
 * worker has consumed it. */
struct roundtrips {
    pthread_mutex_t lock; /* protects the following members */
    unsigned count;
    struct {
        enum vamp_own_operation operation;
        int64_t ns;
    } items[ROUNDTRIPS_MAX];
};

/* The second source, of samples, with its own reader. A sample waits until the pool's events, or a
 * period without pool events, have reached its time, so that samples never advance the time
 * themselves. If the pool's clock differs, or many samples wait, samples are counted at the pool's
 * time. */
struct samples_intake {
    struct vamp_source_ops ops;
    void *source; /* NULL: no inputs */
    struct vamp_reader reader;
    bool runs;                     /* the reader is running */
    bool has_local_clock;          /* no event has arrived yet: event time is this machine's time */
    atomic_int stop, never;        /* `stop` stops the source, which ends the reader */
    const struct vamp_event *held; /* the next sample; NULL: not read yet */
    int64_t until_ns;              /* time up to which samples were processed; 0: none */
    uint64_t early;    /* number of samples counted at the pool's time instead of their own */
    uint64_t outside;  /* number of samples from before or after the time axis */
    uint64_t filtered; /* number of samples rejected by the first filter */
};

struct pipeline {
    const struct vamp_start *start;
    const struct vamp_clock *clock;
    struct vamp_process process;
    char workflow[VAMP_RECORDING_TEXT_BYTES]; /* name given by the source; "": unknown */
    char examined[512];                       /* results of an examination of Maestro; "": none */
    struct vamp_status status;
    struct vamp_ready_file ready_file;
    struct vamp_components *components;
    const struct vamp_source_ops *ops; /* functions of the source */
    void *source;
    struct vamp_reader reader;
    struct samples_intake samples;
    struct vamp_event_clock event_clock;
    int64_t next_tick_ns;    /* time of the next tick, monotonic */
    int64_t newest_event_ns; /* event time of the newest event */
    uint64_t set_backs; /* number of times that the events' clock was set back, at the last tick */
    int64_t overdue_ns; /* monotonic; events from before the newest batch may arrive until then */
    int64_t quiet_until_ns; /* monotonic; the reader's quiet_until_ns, read before the last batch */

    /* Configuration with which the source was opened; it does not change during the run. */
    const struct vamp_config *first;
    char *selector; /* selector of the subscription; NULL: none */

    uint64_t kinds; /* event kinds that can occur: one bit per enum vamp_event_kind */

    /* Replaced as a whole by a reload. */
    const struct vamp_config *config;
    struct vamp_config *own_config; /* `config` if a reload created it, else NULL */
    struct vamp_run
        *run; /* one of `runs`; outputs that were replaced may still read the other one */
    struct vamp_run runs[2];
    struct vamp_rules *rules;
    struct vamp_stats *stats;
    struct vamp_outputs outputs;
    struct vamp_history
        *history; /* past events for outputs with "when"; kept across reloads, like `services` */
    struct vamp_action_services services; /* services for the actions of alarms */
    struct vamp_alarms *alarms;           /* NULL: no rules */
    uint64_t fired_before; /* number of alarms fired by rules that a reload replaced */
    struct vamp_silences silences;
    unsigned silences_seen; /* value of signals->silence at the last request that was served */
    struct vamp_config
        *alarms_config;    /* configuration of the rules if a reload created it, else NULL */
    unsigned reloads_seen; /* value of signals->reload at the last request that was served */
    unsigned shows_seen;   /* value of signals->show at the last request that was served */
    uint64_t
        cut_before; /* pattern matches that reached a limit, in filters that a reload replaced */

    struct roundtrips roundtrips;
    int64_t began_ns; /* start of the run, monotonic */
    /* Values at the last print of the state, from which the event rate is computed. */
    uint64_t shown_events;
    int64_t shown_ns; /* time of that print, monotonic */
    /* Progress counter of the reader, and when it last changed. */
    unsigned beats_seen;
    int64_t beat_ns; /* time of the last change, monotonic */
};

/* Runs until the workflow has ended, a signal arrived, or the pool manager is gone. The calling
 * thread becomes the worker. Returns the exit code; all failures have been reported on stderr. */
enum vamp_exit_code vamp_pipeline_run(const struct vamp_start *start);

/* ---- parts.c */

/* Updates the set of unknown information in the statistics, which applies to all later output. */
void pipeline_learn_unknown(struct pipeline *pipeline);
/* Creates the statistics for a configuration, with the series ids of the run's workflow. Closed
 * buckets are passed to the alarms and the outputs. Returns 0 or -errno. */
VAMP_MUST_CHECK int pipeline_create_stats(struct pipeline *pipeline,
                                          const struct vamp_config *config,
                                          struct vamp_stats **ret_stats, struct vamp_err *err);
/* Creates the alarm rules of a configuration on these statistics; NULL if it has no rules. Returns
 * 0 or -errno. */
VAMP_MUST_CHECK int pipeline_create_alarms(struct pipeline *pipeline,
                                           const struct vamp_config *config,
                                           const struct vamp_stats *stats,
                                           struct vamp_alarms **ret_alarms, struct vamp_err *err);
/* Prints one line of the log; `context` is the pipeline. */
void pipeline_say(void *context, bool error, const char *line);
/* Returns the context for opening the outputs of this run with these statistics. */
struct vamp_output_context pipeline_output_context(const struct pipeline *pipeline,
                                                   const struct vamp_run *run,
                                                   const struct vamp_stats *stats);
/* Reads the file of silences if SIGUSR2 arrived since the last call. */
void pipeline_silence_if_asked(struct pipeline *pipeline);
/* Returns the number of pattern matches that reached the step limit so far. */
uint64_t pipeline_filter_cut(const struct pipeline *pipeline);
/* Updates the metrics about vampire itself: outputs, memory, processor time, round trips. */
void pipeline_report_self(struct pipeline *pipeline);

/* ---- samples.c */

/* Opens the configured inputs. Returns 0 or -errno. */
VAMP_MUST_CHECK int pipeline_open_samples(struct pipeline *pipeline, struct vamp_err *err);
VAMP_MUST_CHECK int pipeline_start_samples(struct pipeline *pipeline, struct vamp_err *err);
/* Passes a sample whose time was reached to the statistics and to the outputs that receive events.
 */
void pipeline_process_sample(struct pipeline *pipeline, const struct vamp_event *sample);
/* Processes samples up to `until_ns`, a valid time. 0: the time axis has not begun, and the samples
 * are dropped. In a replay, waits until all samples up to `until_ns` have been read. */
void pipeline_take_samples(struct pipeline *pipeline, int64_t until_ns);
/* Reads the remaining samples and closes the inputs, if there are any. */
void pipeline_finish_samples(struct pipeline *pipeline);
/* Frees the inputs; may be called after a failed start. */
void pipeline_samples_done(struct pipeline *pipeline);
void pipeline_print_samples(const struct pipeline *pipeline, const struct vamp_page *page);

/* ---- state.c */

/* Prints the state to stderr if SIGUSR1 arrived since the last call. */
void pipeline_show_if_asked(struct pipeline *pipeline);
/* Writes the one-line status for the service manager, terminated, into `line`. */
void pipeline_status_line(struct pipeline *pipeline, char *line, size_t bytes);

/* ---- summary.c */

/* Prints the summary of the run; the outputs must have finished. */
void pipeline_print_summary(const struct pipeline *pipeline, const struct vamp_totals *totals,
                            const char *reason, FILE *stream);

/* ---- reload.c */

/* Reloads the configuration if SIGHUP arrived since the last call. */
void pipeline_reload_if_asked(struct pipeline *pipeline);
