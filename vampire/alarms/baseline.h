/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is usual for a series: the mean of its values over a window of buckets. The window moves in
 * sixteenths, so that its memory does not depend on its length. Private to vampire/alarms.
 */
#ifndef VAMP_ALARMS_BASELINE_H
#define VAMP_ALARMS_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#define VAMP_ALARM_BASELINE_PARTS 16U

struct vamp_alarm_baseline {
    struct {
        double sum;
        uint32_t count; /* values */
    } parts[VAMP_ALARM_BASELINE_PARTS];
    uint32_t part;    /* the present one */
    uint32_t filled;  /* buckets in it */
    uint32_t watched; /* buckets in all, at most UINT32_MAX */
};

/* One more bucket, with a value or without one. `window`: buckets, at least 1. */
void vamp_alarm_baseline_add(struct vamp_alarm_baseline *baseline, uint32_t window, bool has_value,
                             double value);
/* The mean. False: fewer than `warm_up` buckets were watched, there was no value in the window, or
 * the mean is 0, of which nothing is a multiple. */
bool vamp_alarm_baseline_mean(const struct vamp_alarm_baseline *baseline, uint32_t warm_up,
                              double *ret_mean);

#endif
