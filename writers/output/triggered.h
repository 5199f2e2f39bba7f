/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an output of events with `when` writes: while one of these alarms fires, the events of the
 * stream, from a moment before it on, as far as the history reaches. Each time is a recording that
 * is complete in itself. The trigger follows the alarms and says what comes next; the output
 * (events.c) asks as long as its queue has room, and meanwhile the events wait in the history. All
 * functions are for the submitting thread; none blocks.
 */
#ifndef VAMP_WRITERS_OUTPUT_TRIGGERED_H
#define VAMP_WRITERS_OUTPUT_TRIGGERED_H

#include "vampire/alarms/change.h"
#include "writers/output/output.h"

struct output_trigger;

enum output_triggered {
    TRIGGERED_NOTHING, /* for now */
    TRIGGERED_BEGIN,   /* a recording, with what happened at `first_ns`; INT64_MAX: now */
    TRIGGERED_EVENT,   /* `missed` events before it left the history before they were asked for */
    TRIGGERED_END,     /* of the recording */
};
struct output_triggered_item {
    int64_t first_ns;
    const struct vamp_event *event; /* valid until an event is added to the history */
    bool passed;                    /* the filters accepted it */
    bool wanted;                    /* else only the missed ones are to be counted */
    uint64_t missed;
};

/* `settings` has `when`; `context` has a history, components and `say`. 0 or -errno. */
VAMP_MUST_CHECK int output_trigger_create(const struct vamp_output_settings *settings,
                                          const struct vamp_output_context *context,
                                          struct output_trigger **ret_trigger,
                                          struct vamp_err *err);
void output_trigger_free(struct output_trigger *trigger); /* NULL is fine */
/* Notes a change of any alarm. */
void output_trigger_note(struct output_trigger *trigger, const struct vamp_alarm_change *change);
/* The alarms that fire are those of a trigger before a reload; a recording that it wrote goes on in
 * a new file. */
void output_trigger_continue(struct output_trigger *trigger, const struct output_trigger *before);
/* What comes next, which it then is no more. */
enum output_triggered output_trigger_next(struct output_trigger *trigger,
                                          struct output_triggered_item *ret_item);
/* No event will follow: a recording ends with the newest one. */
void output_trigger_end(struct output_trigger *trigger);
/* Events that still belong to the recording, after the end. */
uint64_t output_trigger_rest(const struct output_trigger *trigger);

#endif
