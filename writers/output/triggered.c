/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/triggered.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "vampire/alarms/firing.h"

struct output_trigger {
    const struct vamp_output_settings *settings;
    struct vamp_history *history;
    const struct vamp_components *components;
    void (*say)(void *context, bool error, const char *line);
    void *say_context;

    struct vamp_firing firing;
    struct vamp_firing recorded;     /* those that fired since the recording began */
    bool due, writing;               /* a recording is to begin; one has begun */
    bool goes_on;                    /* the one that is due: in a new file, after a reload */
    int64_t first_ns;                /* where the one that is due begins */
    struct vamp_history_place place; /* of the next event */
    bool ending;                     /* at the event with this number */
    uint64_t end_number;
    int64_t limit_at_ns;
    bool limited; /* the limit was met, and an alarm still fires */
};

static void say(const struct output_trigger *trigger, bool error, const char *format, ...)
    VAMP_PRINTF(3, 4);
static void say(const struct output_trigger *trigger, bool error, const char *format, ...)
{
    char text[VAMP_ERR_TEXT_BYTES], line[VAMP_ERR_TEXT_BYTES + VAMP_OUTPUT_NAME_BYTES + 16];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)snprintf(line, sizeof line, "output %s: %s", trigger->settings->name, text);
    trigger->say(trigger->say_context, error, line);
}

int output_trigger_create(const struct vamp_output_settings *settings,
                          const struct vamp_output_context *context,
                          struct output_trigger **ret_trigger, struct vamp_err *err)
{
    assert(settings->when.count > 0 && context->history != NULL && context->say != NULL);
    struct output_trigger *trigger = calloc(1, sizeof *trigger);
    if (trigger == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "follow the alarms");
    }
    *trigger = (struct output_trigger){
        .settings = settings,
        .history = context->history,
        .components = context->components,
        .say = context->say,
        .say_context = context->say_context,
    };
    const int code = vamp_history_grow(trigger->history, (size_t)settings->memory_bytes, err);
    if (code != 0 && code != -EBUSY) {
        free(trigger);
        return code;
    }
    if (code == -EBUSY) {
        say(trigger, false, "\"memory\" cannot grow while vampire runs; it stays as it was");
    }
    *ret_trigger = trigger;
    return 0;
}

void output_trigger_free(struct output_trigger *trigger)
{
    free(trigger);
}

/* ---- begin and end */

/* One that is being written goes on, also when its end had been asked for. */
static void begin_recording(struct output_trigger *trigger, int64_t from_ns)
{
    if (trigger->limited) {
        return; /* the alarm that met the limit still fires */
    }
    trigger->ending = false;
    if (!trigger->writing && !trigger->due) {
        const int64_t oldest_ns = vamp_history_oldest_ns(trigger->history);
        const bool is_short = oldest_ns != INT64_MAX && oldest_ns > from_ns;
        const int64_t limit_ns = trigger->settings->limit_ns;
        trigger->due = true;
        trigger->first_ns = is_short ? oldest_ns : from_ns;
        trigger->limit_at_ns =
            limit_ns < INT64_MAX - trigger->first_ns ? trigger->first_ns + limit_ns : INT64_MAX;
        trigger->place = vamp_history_find(trigger->history, from_ns);
        trigger->recorded = (struct vamp_firing){.count = 0};
        if (is_short && vamp_history_has_dropped(trigger->history)) {
            say(trigger, false,
                "the recording begins %.1f s later than asked for: a larger \"memory\" keeps more "
                "events",
                (double)(oldest_ns - from_ns) / (double)VAMP_NS_PER_SECOND);
        }
    }
}

void output_trigger_end(struct output_trigger *trigger)
{
    trigger->limited = false;
    if (!trigger->ending) {
        trigger->ending = true;
        trigger->end_number = vamp_history_end(trigger->history).number;
    }
}

void output_trigger_note(struct output_trigger *trigger, const struct vamp_alarm_change *change)
{
    const unsigned before = trigger->firing.count;
    if (!vamp_alarm_change_is_of(change, &trigger->settings->when)) {
        return;
    }
    vamp_firing_note(&trigger->firing, change);
    if (trigger->firing.count > before) {
        begin_recording(trigger, change->since_ns - trigger->settings->before_ns);
        vamp_firing_note(&trigger->recorded, change);
    } else if (trigger->firing.count == 0 && before > 0) {
        output_trigger_end(trigger);
    }
}

void output_trigger_continue(struct output_trigger *trigger, const struct output_trigger *before)
{
    trigger->firing = before->firing;
    trigger->limited = before->limited;
    if (trigger->firing.count > 0 && !trigger->limited) {
        trigger->due = trigger->goes_on = true;
        trigger->limit_at_ns = before->limit_at_ns;
        trigger->place = vamp_history_end(trigger->history);
        trigger->recorded = before->recorded;
    }
}

/* ---- what comes next */

static bool wants(const struct output_trigger *trigger, const struct vamp_event *event)
{
    return !trigger->settings->concerned || vamp_event_is_mark(event) ||
           event->kind == VAMP_EVENT_JOIN || event->kind == VAMP_EVENT_LEAVE ||
           vamp_firing_concerns(&trigger->recorded, trigger->components, event);
}

static enum output_triggered next_event(struct output_trigger *trigger,
                                        struct output_triggered_item *item)
{
    do {
        if (trigger->ending && trigger->place.number >= trigger->end_number) {
            trigger->writing = false;
            return TRIGGERED_END;
        }
        item->event = vamp_history_next(trigger->history, &trigger->place, &item->missed);
        if (item->event == NULL) {
            return TRIGGERED_NOTHING;
        }
        if (item->event->time_ns >= trigger->limit_at_ns) {
            trigger->limited = !trigger->ending;
            trigger->writing = false;
            say(trigger, false,
                "the recording ends at its \"limit\" although the alarm still fires");
            return TRIGGERED_END;
        }
    } while (item->missed == 0 && !wants(trigger, item->event));
    item->passed = trigger->place.passed;
    item->wanted = wants(trigger, item->event);
    if (item->missed > 0) {
        say(trigger, true,
            "%" PRIu64 " events are missing in the recording: they came faster than they could be "
            "written; a larger \"memory\" keeps more",
            item->missed);
    }
    return TRIGGERED_EVENT;
}

enum output_triggered output_trigger_next(struct output_trigger *trigger,
                                          struct output_triggered_item *ret_item)
{
    *ret_item = (struct output_triggered_item){.event = NULL};
    if (!trigger->due) {
        return trigger->writing ? next_event(trigger, ret_item) : TRIGGERED_NOTHING;
    }
    trigger->due = false;
    trigger->writing = true;
    ret_item->first_ns = trigger->goes_on ? INT64_MAX : trigger->first_ns;
    trigger->goes_on = false;
    return TRIGGERED_BEGIN;
}

uint64_t output_trigger_rest(const struct output_trigger *trigger)
{
    return (trigger->due || trigger->writing) && trigger->end_number > trigger->place.number
               ? trigger->end_number - trigger->place.number
               : 0;
}
