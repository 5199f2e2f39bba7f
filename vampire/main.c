/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire: joins a Maestro workflow as a component, counts the pool's events and writes
 * time-bucketed histograms. See docs/architecture.md.
 */
#include <stdio.h>

#include "vampire/cli/options.h"
#include "vampire/core/clock.h"
#include "vampire/run/notify.h"
#include "vampire/run/pipeline.h"
#include "vampire/run/signals.h"
#include "version.h"

static struct vamp_config *reload(void *context)
{
    return vamp_options_reload_config(context);
}

static int run(struct vamp_options *options)
{
    int code = VAMP_EXIT_FAILED;
    struct vamp_config *config = vamp_options_load_config(options, stderr, &code);
    if (config == NULL) {
        return code;
    }
    struct vamp_notify notify;
    vamp_notify_init(&notify);
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_signals signals;
    if (vamp_signals_start(&signals, &err) != 0) {
        (void)fprintf(stderr, "vampire: error: %s\n", err.text);
        vamp_notify_done(&notify);
        vamp_config_free(config);
        return VAMP_EXIT_FAILED;
    }
    code = (int)vamp_pipeline_run(&(struct vamp_pipeline_options){
        .config = config,
        .clock = &vamp_clock_system,
        .signals = &signals,
        .notify = &notify,
        .version = VAMP_VERSION,
        .reload = reload,
        .reload_context = options,
        .ready_file = options->ready_file,
        .quiet = options->quiet,
    });
    vamp_signals_stop(&signals);
    vamp_notify_done(&notify);
    vamp_config_free(config);
    return code;
}

int main(int argc, char **argv)
{
    struct vamp_options options;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_options_parse(argc, argv, &options, &err) != 0) {
        (void)fprintf(stderr, "vampire: %s\n", err.text);
        return VAMP_EXIT_USAGE;
    }
    int code = options.command == VAMP_COMMAND_RUN ? run(&options)
                                                   : vamp_options_perform(&options, stdout, stderr);
    vamp_options_done(&options);
    return code;
}
