/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the statistics; any thread. */
#ifndef VAMP_STATS_CHECK_H
#define VAMP_STATS_CHECK_H

#include "vampire/core/err.h"
#include "vampire/stats/cells/options.h"

/* 0, or -EINVAL for an option that is out of bounds or contradicts another. */
VAMP_MUST_CHECK int vamp_stats_check(const struct vamp_stats_options *options,
                                     struct vamp_err *err);

#endif
