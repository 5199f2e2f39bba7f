/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire: joins a Maestro workflow as a component, counts the pool's events and writes
 * time-bucketed histograms. See docs/architecture.md.
 */
#include "programs/cli/start.h"
#include "programs/vampire/pipeline.h"
#include "vampire/core/clock.h"
#include "version.h"

static struct vamp_config *reload(void *context)
{
    return vamp_options_reload_config(context);
}

static enum vamp_exit_code run(const struct vamp_start *start)
{
    struct vamp_options options = *start->options;
    return vamp_pipeline_run(&(struct vamp_pipeline_options){
        .config = start->config,
        .clock = &vamp_clock_system,
        .signals = start->signals,
        .notify = start->notify,
        .version = VAMP_VERSION,
        .reload = reload,
        .reload_context = &options,
        .ready_file = options.ready_file,
        .quiet = options.quiet,
    });
}

int main(int argc, char **argv)
{
    return vamp_start(&vamp_program_vampire, argc, argv, run);
}
