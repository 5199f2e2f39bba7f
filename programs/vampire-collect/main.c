/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire-collect: subscribes to what the vampires of many workflows publish and writes it as one
 * view. See docs/exporters.md.
 */
#include "programs/vampire-collect/collector.h"

int main(int argc, char **argv)
{
    return vamp_start(&vamp_program_collect, argc, argv, vamp_collector_run);
}
