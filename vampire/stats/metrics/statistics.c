/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/metrics/statistic.h"

const struct vamp_statistic_ops *const vamp_statistics[VAMP_STATISTIC_COUNT + 1] = {
    &vamp_statistic_operations, &vamp_statistic_created,   &vamp_statistic_presence,
    &vamp_statistic_pool,       &vamp_statistic_waits,     &vamp_statistic_lifecycle,
    &vamp_statistic_transports, &vamp_statistic_anomalies, NULL,
};
