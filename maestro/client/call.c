/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/client/call.h"

#include <stdio.h>
#include <string.h>

#include "vampire/core/values.h"

static struct call *call_of(struct list_link *link)
{
    return CONTAINER_OF(link, struct call, of_port);
}

void calls_answer(const struct list *calls, const Mstro__Wire__Response *response)
{
    struct list_link *link = list_first(calls);
    while (link != NULL && call_of(link)->id != response->id) {
        link = list_next(calls, link);
    }
    if (link == NULL) {
        return;
    }
    struct call *call = call_of(link);
    call->done = true;
    call->status =
        response->status < mstro_status_MAX ? (mstro_status)response->status : MSTRO_FAIL;
    call->answer.handle = response->handle;
    call->answer.subscription = response->subscription;
    call->answer.events = response->events;
    if (response->has_cdo_id && response->cdo_id.len == sizeof call->answer.cdo_id) {
        memcpy(call->answer.cdo_id, response->cdo_id.data, sizeof call->answer.cdo_id);
    }
    (void)snprintf(call->text, sizeof call->text, "%s", vamp_text_or(response->text, ""));
    (void)pthread_cond_signal(&call->answered);
}

void calls_wake(const struct list *calls)
{
    for (struct list_link *link = list_first(calls); link != NULL; link = list_next(calls, link)) {
        (void)pthread_cond_signal(&call_of(link)->answered);
    }
}
