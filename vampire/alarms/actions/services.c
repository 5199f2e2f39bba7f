/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/actions/services_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* At the end of a run: how long commands that run are waited for, and how long events are passed on
 * to a recording. */
#define COMMANDS_NS (10 * VAMP_NS_PER_SECOND)
#define RECORDINGS_NS (10 * VAMP_NS_PER_SECOND)

int vamp_action_services_create(const struct vamp_action_services_options *options,
                                struct vamp_action_services **ret_services, struct vamp_err *err)
{
    struct vamp_action_services *services = calloc(1, sizeof *services);
    if (services == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the actions of alarms");
    }
    services->options = *options;
    *ret_services = services;
    return 0;
}

/* ---- for actions */

int services_commands(struct vamp_action_services *services, struct vamp_err *err)
{
    return services->commands != NULL ? 0 : vamp_commands_create(&services->commands, err);
}

int services_history(struct vamp_action_services *services, size_t bytes, struct vamp_err *err)
{
    if (services->history == NULL) {
        return vamp_history_create(bytes, &services->history, err);
    }
    const int code = vamp_history_grow(services->history, bytes, err);
    if (code == -EBUSY) {
        services->options.say(services->options.say_context, false,
                              "\"memory\" of actions of type record cannot grow while vampire "
                              "runs; it stays as it was");
        return 0;
    }
    return code;
}

struct services_detail *services_add_detail(struct vamp_action_services *services)
{
    struct services_detail *detail = calloc(1, sizeof *detail);
    if (detail != NULL) {
        detail->services = services;
        detail->next = services->details;
        services->details = detail;
    }
    return detail;
}

void services_release_detail(struct services_detail *detail)
{
    if (detail != NULL) {
        detail->released = true;
        detail->firing = (struct vamp_firing){.count = 0};
        if (detail->excerpt != NULL) {
            vamp_excerpt_end(detail->excerpt);
        }
    }
}

/* ---- events */

bool vamp_action_services_want_events(const struct vamp_action_services *services)
{
    return services->history != NULL;
}

void vamp_action_services_event(struct vamp_action_services *services,
                                const struct vamp_event *event, bool passed)
{
    if (passed || vamp_event_is_mark(event) || event->kind == VAMP_EVENT_JOIN ||
        event->kind == VAMP_EVENT_LEAVE) {
        vamp_history_add(services->history, event);
    }
}

bool vamp_action_services_select(const struct vamp_action_services *services,
                                 const struct vamp_event *event)
{
    for (const struct services_detail *detail = services->details; detail != NULL;
         detail = detail->next) {
        if (detail->selects &&
            vamp_firing_concerns(&detail->firing, services->options.components, event)) {
            return true;
        }
    }
    return false;
}

/* ---- recordings */

static void add_recordings(struct vamp_excerpt_account *sum, struct vamp_excerpt *excerpt)
{
    struct vamp_excerpt_account account;
    vamp_excerpt_account(excerpt, &account);
    sum->recordings += account.recordings;
    sum->failed += account.failed;
    sum->queued += account.queued;
    sum->written += account.written;
    sum->lost += account.lost;
    sum->waiting += account.waiting;
    sum->missed += account.missed;
}

static void say_of_excerpt(const struct vamp_action_services *services,
                           struct vamp_excerpt *excerpt)
{
    bool error = false;
    char text[VAMP_ERR_TEXT_BYTES], line[VAMP_ERR_TEXT_BYTES + 16];
    while (vamp_excerpt_message(excerpt, &error, text)) {
        (void)snprintf(line, sizeof line, "alarm %s", text);
        services->options.say(services->options.say_context, error, line);
    }
}

static void free_detail(struct vamp_action_services *services, struct services_detail *detail)
{
    if (detail->excerpt != NULL) {
        say_of_excerpt(services, detail->excerpt);
        add_recordings(&services->recordings, detail->excerpt);
        vamp_excerpt_free(detail->excerpt);
    }
    free(detail);
}

void vamp_action_services_follow(struct vamp_action_services *services)
{
    for (struct services_detail **at = &services->details; *at != NULL;) {
        struct services_detail *detail = *at;
        if (detail->excerpt != NULL) {
            vamp_excerpt_follow(detail->excerpt);
        }
        if (detail->released &&
            (detail->excerpt == NULL || !vamp_excerpt_is_busy(detail->excerpt))) {
            *at = detail->next;
            free_detail(services, detail);
        } else {
            at = &detail->next;
        }
    }
}

/* ---- messages and the account */

void vamp_action_services_report(struct vamp_action_services *services)
{
    const struct vamp_action_services_options *options = &services->options;
    char text[VAMP_ERR_TEXT_BYTES];
    while (services->commands != NULL && vamp_commands_message(services->commands, text)) {
        options->say(options->say_context, true, text);
    }
    for (struct services_detail *detail = services->details; detail != NULL;
         detail = detail->next) {
        if (detail->excerpt != NULL) {
            say_of_excerpt(services, detail->excerpt);
        }
    }
}

void vamp_action_services_account(const struct vamp_action_services *services,
                                  struct vamp_action_account *ret_account)
{
    *ret_account = (struct vamp_action_account){
        .commands = services->commands != NULL,
        .recordings = services->history != NULL,
    };
    if (services->commands != NULL) {
        struct vamp_commands_account account;
        vamp_commands_account(services->commands, &account);
        ret_account->commands_run = account.succeeded + account.failed;
        ret_account->commands_failed = account.failed;
        ret_account->commands_dropped = account.dropped;
        ret_account->commands_waiting = account.waiting;
    }
    struct vamp_excerpt_account sum = services->recordings;
    for (const struct services_detail *detail = services->details; detail != NULL;
         detail = detail->next) {
        if (detail->excerpt != NULL) {
            add_recordings(&sum, detail->excerpt);
        }
    }
    ret_account->recordings_begun = sum.recordings;
    ret_account->recordings_failed = sum.failed;
    ret_account->events_recorded = sum.written;
    ret_account->events_lost = sum.lost + sum.missed;
}

/* ---- the end */

void vamp_action_services_finish(struct vamp_action_services *services)
{
    for (struct services_detail *detail = services->details; detail != NULL;
         detail = detail->next) {
        if (detail->excerpt != NULL) {
            vamp_excerpt_finish(detail->excerpt, RECORDINGS_NS);
        }
    }
    if (services->commands != NULL) {
        vamp_commands_finish(services->commands, COMMANDS_NS);
    }
    vamp_action_services_report(services);
}

void vamp_action_services_free(struct vamp_action_services *services)
{
    if (services == NULL) {
        return;
    }
    while (services->details != NULL) {
        struct services_detail *detail = services->details;
        services->details = detail->next;
        free_detail(services, detail);
    }
    vamp_commands_free(services->commands);
    vamp_history_free(services->history);
    free(services);
}
