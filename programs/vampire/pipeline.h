/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipeline: source -> ring -> filter -> statistics -> outputs, from configuration to exit code.
 */
#ifndef VAMP_RUN_PIPELINE_H
#define VAMP_RUN_PIPELINE_H

#include <stdbool.h>

#include "config/config.h"
#include "programs/run/exit_codes.h"
#include "programs/run/notify.h"
#include "programs/run/signals.h"
#include "vampire/core/clock.h"

struct vamp_pipeline_options {
    const struct vamp_config *config; /* outlives the run */
    const struct vamp_clock *clock;
    const struct vamp_signals *signals;
    struct vamp_notify *notify; /* the service manager, if there is one */
    const char *version;
    /* Reads the configuration again, on SIGHUP; the pipeline frees what it returns. Returns NULL
     * after reporting what is wrong with it. NULL: SIGHUP is ignored. */
    struct vamp_config *(*reload)(void *context);
    void *reload_context;
    const char *ready_file; /* exists while the workflow is observed; NULL: none */
    bool quiet;             /* no status line, no summary, errors only */
};

/* Runs until the workflow has ended, a signal came or the pool manager is gone. The calling thread
 * is the worker. Every failure has been reported on stderr when it returns the exit code. */
enum vamp_exit_code vamp_pipeline_run(const struct vamp_pipeline_options *options);

#endif
