/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/baseline.h"

void vamp_alarm_baseline_add(struct vamp_alarm_baseline *baseline, uint32_t window, bool has_value,
                             double value)
{
    const uint32_t parts = window < VAMP_ALARM_BASELINE_PARTS ? window : VAMP_ALARM_BASELINE_PARTS;
    const uint32_t buckets = (window + parts - 1) / parts; /* of each part */
    if (baseline->filled == buckets) {
        baseline->part = (baseline->part + 1) % parts;
        baseline->filled = 0;
        baseline->parts[baseline->part].sum = 0;
        baseline->parts[baseline->part].count = 0;
    }
    baseline->filled++;
    baseline->watched += baseline->watched < UINT32_MAX;
    if (has_value) {
        baseline->parts[baseline->part].sum += value;
        baseline->parts[baseline->part].count++;
    }
}

bool vamp_alarm_baseline_mean(const struct vamp_alarm_baseline *baseline, uint32_t warm_up,
                              double *ret_mean)
{
    double sum = 0;
    uint64_t count = 0;
    for (unsigned i = 0; i < VAMP_ALARM_BASELINE_PARTS; i++) {
        sum += baseline->parts[i].sum;
        count += baseline->parts[i].count;
    }
    if (baseline->watched < warm_up || count == 0 || sum <= 0) {
        return false;
    }
    *ret_mean = sum / (double)count;
    return true;
}
