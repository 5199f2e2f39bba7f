/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/reminder.h"

#include "programs/run/repeats.h"

bool vamp_reminder_is_due(struct vamp_reminder *reminder, const char *message, int64_t now_ns)
{
    const uint64_t kind = vamp_repeats_kind(message);
    if (kind != reminder->kind) {
        *reminder = (struct vamp_reminder){.kind = kind,
                                           .due_ns = now_ns + VAMP_REMINDER_FIRST_NS,
                                           .pause_ns = VAMP_REMINDER_FIRST_NS};
        return true;
    }
    if (now_ns < reminder->due_ns) {
        return false;
    }
    const int64_t longer_ns = reminder->pause_ns * 2;
    reminder->pause_ns =
        longer_ns > VAMP_REMINDER_LONGEST_NS ? VAMP_REMINDER_LONGEST_NS : longer_ns;
    reminder->due_ns = now_ns + reminder->pause_ns;
    return true;
}

void vamp_reminder_end(struct vamp_reminder *reminder)
{
    *reminder = (struct vamp_reminder){.kind = 0};
}
