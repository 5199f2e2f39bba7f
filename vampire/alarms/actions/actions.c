/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "vampire/alarms/action.h"

const struct vamp_alarm_action_ops *const vamp_alarm_actions[] = {
    &vamp_alarm_action_log,
    &vamp_alarm_action_command,
    &vamp_alarm_action_level,
    &vamp_alarm_action_record,
    NULL,
};

const struct vamp_alarm_action_ops *vamp_alarm_action_find(const char *name)
{
    for (size_t i = 0; vamp_alarm_actions[i] != NULL; i++) {
        if (strcmp(vamp_alarm_actions[i]->name, name) == 0) {
            return vamp_alarm_actions[i];
        }
    }
    return NULL;
}
