/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of vampire. */
#pragma once

#include "programs/cli/options.h"

extern const struct vamp_program vamp_program_vampire;
