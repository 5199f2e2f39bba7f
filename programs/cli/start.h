/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of every program that has a configuration: from the arguments of main to the run. */
#pragma once

#include "programs/cli/options.h"
#include "programs/run/notify.h"
#include "programs/run/process.h"
#include "programs/run/signals.h"

/* The objects passed to a run; all of them outlive it. */
struct vamp_start {
    const struct vamp_options *options;
    const struct vamp_config *config;
    struct vamp_signals *signals;
    struct vamp_notify *notify;
};

/* Parses the command line, and either performs its command or loads the configuration and calls
 * `run`. Returns the exit code. Must be called before other threads exist. */
int vamp_start(const struct vamp_program *program, int argc, char **argv,
               enum vamp_exit_code (*run)(const struct vamp_start *start));

/* Performs any command except a run: prints results to `out` and errors to `error`. `command` must
 * not be RUN. Returns the exit code. */
int vamp_perform(const struct vamp_options *options, FILE *out, FILE *error);

/* Loads the configuration again, for a run that continues in any case, as the messages on stderr
 * state. Returns NULL if the configuration has errors, which have been printed. */
struct vamp_config *vamp_start_reload(const struct vamp_start *start);
