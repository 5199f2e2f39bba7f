/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outputs that can send changes of alarms instead of buckets: their options, and the selection of
 * changes. Each change is one message. With this option, an output receives only buckets that
 * contain selected changes, and its accounting counts changes.
 */
#pragma once

#include "vampire/alarms/change.h"
#include "vampire/core/options/options.h"
#include "writers/writer.h"

enum vamp_send { VAMP_SEND_BUCKETS, VAMP_SEND_ALARMS };

struct vamp_sent_alarms {
    unsigned send;            /* enum vamp_send */
    struct vamp_strings when; /* names of alarms; empty: all */
    uint64_t states; /* bits of enum vamp_alarm_state: a change to one of these states is sent */
};

extern const char *const vamp_send_words[]; /* ended by NULL */
/* Entries of a format's table. AT(member) is the offset of a member of struct vamp_sent_alarms. */
#define VAMP_SENT_ALARMS_OPTIONS(AT)                                                               \
    VAMP_OPT_ROW(                                                                                  \
        "send", VAMP_OPT_ENUM, AT(send), "buckets", .choices = vamp_send_words,                    \
        .help =                                                                                    \
            "what is sent: buckets; or one message for each change of an alarm, none in a replay " \
            "or of a silenced alarm"),                                                             \
        VAMP_OPT_ROW("when", VAMP_OPT_STRINGS, AT(when), NULL, .max = VAMP_ALARM_NAME_BYTES - 1,   \
                     .only_with = VAMP_TARGET_BIT(VAMP_WITH_ALARMS),                               \
                     .help = "names of the alarms whose changes are sent; none: all"),             \
        VAMP_OPT_ROW("states", VAMP_OPT_SET, AT(states), "firing resolved",                        \
                     .choices = vamp_alarm_state_words,                                            \
                     .only_with = VAMP_TARGET_BIT(VAMP_WITH_ALARMS),                               \
                     .help = "the states of which a message is sent when an alarm enters them")

/* Returns the selection of alarm changes; NULL if the output sends buckets. */
static inline const struct vamp_sent_alarms *vamp_sent_alarms(const struct vamp_writer_ops *format,
                                                              const void *options)
{
    const struct vamp_sent_alarms *sent = NULL;
    if (format->alarms_at > 0) {
        sent = (const void *)((const char *)options + format->alarms_at);
    }
    if (sent != NULL && sent->send == VAMP_SEND_ALARMS) {
        return sent;
    }
    return NULL;
}

/* Whether this change is sent. */
static inline bool vamp_sent_alarms_have(const struct vamp_sent_alarms *sent,
                                         const struct vamp_alarm_change *change)
{
    return !change->silenced &&
           (sent->when.count == 0 || vamp_alarm_change_is_of(change, &sent->when)) &&
           (sent->states & UINT64_C(1) << change->state) != 0;
}
