/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of vampire-collect. */
#pragma once

#include "programs/cli/options.h"

extern const struct vamp_program vamp_program_collect;
