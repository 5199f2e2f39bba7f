/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipeline: source -> ring -> filter -> statistics -> sinks, from configuration to exit code.
 * The calling thread is the worker; it returns when the run is over.
 */
#ifndef VAMP_RUN_PIPELINE_H
#define VAMP_RUN_PIPELINE_H

#include <stdbool.h>

#include "config/config.h"
#include "vampire/core/clock.h"
#include "vampire/run/exit_codes.h"
#include "vampire/run/notify.h"
#include "vampire/run/signals.h"

struct vamp_pipeline_options {
    const struct vamp_config *config; /* outlives the run */
    const struct vamp_clock *clock;
    const struct vamp_signals *signals;
    struct vamp_notify *notify; /* who started us as a service */
    const char *version;
    /* The configuration as it is now, on SIGHUP; the pipeline frees it. NULL: it is wrong, and that
     * has been told. May itself be NULL: there is none. */
    struct vamp_config *(*reload)(void *context);
    void *reload_context;
    bool quiet; /* no status line, no summary, errors only */
};

/* Runs until the workflow has ended, a signal came or the pool manager is gone. Everything that
 * goes wrong has been told on stderr. */
enum vamp_exit_code vamp_pipeline_run(const struct vamp_pipeline_options *options);

#endif
