/* SPDX-License-Identifier: BSD-3-Clause */
/* From the value of an instance to what the rule says of it, and from that to its state. Private to
 * vampire/alarms; the worker thread. */
#ifndef VAMP_ALARMS_JUDGE_H
#define VAMP_ALARMS_JUDGE_H

#include "vampire/alarms/follow.h"

/* What was compared. */
struct vamp_alarm_compared {
    enum vamp_alarm_opinion opinion;
    bool has_value, has_baseline;
    double value, baseline; /* the ratio, where the rule has a baseline and it is known */
};
/* Compares, and keeps what the next bucket is compared with. */
struct vamp_alarm_compared vamp_alarm_judge(const struct vamp_alarm_rule *rule,
                                            struct vamp_alarm_instance *instance,
                                            const struct vamp_alarm_measured *measured);

/* Takes one bucket's opinion into account; `end_ns` is the bucket's end. True: the instance has to
 * enter `*ret_state`, which vamp_alarm_enter does, now or after a later bucket. */
bool vamp_alarm_step(const struct vamp_alarm_rule *rule, struct vamp_alarm_instance *instance,
                     enum vamp_alarm_opinion opinion, int64_t end_ns,
                     enum vamp_alarm_state *ret_state);
void vamp_alarm_enter(struct vamp_alarm_instance *instance, enum vamp_alarm_state state);

#endif
