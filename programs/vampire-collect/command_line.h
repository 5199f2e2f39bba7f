/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of vampire-collect. */
#ifndef VAMP_COLLECT_COMMAND_LINE_H
#define VAMP_COLLECT_COMMAND_LINE_H

#include "programs/cli/options.h"

extern const struct vamp_program vamp_program_collect;

#endif
