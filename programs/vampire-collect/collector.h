/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire-collect: messages of many runs from NATS (writers/nats/subscriber.h) through the core
 * (vampire/collect/collect.h) to the outputs. One thread, the caller's, owns all of it.
 */
#ifndef VAMP_COLLECT_PROGRAM_COLLECTOR_H
#define VAMP_COLLECT_PROGRAM_COLLECTOR_H

#include "programs/cli/start.h"

/* Runs until a signal asks it to stop. Every failure has been reported on stderr when it returns
 * the exit code. */
enum vamp_exit_code vamp_collector_run(const struct vamp_start *start);

#endif
