/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector by stage: collector.c starts and ends it, loop.c receives, report.c says what
 * happened. Private to these files; one thread.
 */
#ifndef VAMP_COLLECT_PROGRAM_INTERNAL_H
#define VAMP_COLLECT_PROGRAM_INTERNAL_H

#include "programs/run/outputs.h"
#include "programs/run/process.h"
#include "programs/run/ready_file.h"
#include "programs/run/reminder.h"
#include "programs/run/status.h"
#include "programs/vampire-collect/collector.h"
#include "vampire/collect/collect.h"
#include "vampire/core/clock.h"
#include "writers/nats/subscriber.h"

struct collector {
    const struct vamp_start *start;
    const struct vamp_config *config;
    const struct vamp_clock *clock;
    struct vamp_process process;
    struct vamp_run run;
    struct vamp_status status;
    struct vamp_ready_file ready_file;
    struct vamp_collect *core;
    struct vamp_outputs outputs;
    struct vamp_accounting accounting; /* of the newest bucket */
    struct vamp_nats_subscription subscription;
    const struct vamp_nats_subscriber_ops *bus;
    void *subscriber;
    /* UTC: the time up to which everything was received, as the stream says, while it has more; 0:
     * now. */
    int64_t behind_ns;

    int64_t began_ns, next_tick_ns; /* monotonic */
    uint64_t answered;              /* requests */
    unsigned connections_seen;
    struct vamp_reminder no_server;    /* until it is connected again */
    unsigned shows_seen, reloads_seen; /* requests of signals that were served */
    /* What was reported, and when again; the last one is what found no room in the queue. */
    uint64_t said[VAMP_REFUSAL_COUNT + 1];
    int64_t say_again_ns[VAMP_REFUSAL_COUNT + 1]; /* monotonic */
};

/* ---- loop.c: until a signal asks to stop, and what waits then. */
void collector_loop(struct collector *self);

/* ---- report.c */

/* New refusals and losses, failures of outputs, the service manager. At intervals. */
void collector_report(struct collector *self, int64_t now_ns);
/* One line: "12 runs, 3 of them ended; 340 buckets collected; 0 messages refused". */
void collector_status_line(const struct collector *self, char *line, size_t bytes);
/* The summary: `state` is "stopped by signal after", "still running after"; `finished`: the core
 * and the outputs are, so that it has no runs any more, and all that was written. */
void collector_print_summary(const struct collector *self, const char *state, bool finished,
                             FILE *stream);

#endif
