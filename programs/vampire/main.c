/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire: joins a Maestro workflow as a component, counts the pool's events and writes
 * time-bucketed histograms. See docs/architecture.md.
 */
#include "programs/vampire/command_line.h"
#include "programs/vampire/pipeline.h"

int main(int argc, char **argv)
{
    return vamp_start(&vamp_program_vampire, argc, argv, vamp_pipeline_run);
}
