/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of vampire. */
#ifndef VAMP_VAMPIRE_COMMAND_LINE_H
#define VAMP_VAMPIRE_COMMAND_LINE_H

#include "programs/cli/options.h"

extern const struct vamp_program vamp_program_vampire;

#endif
