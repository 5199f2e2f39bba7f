/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "programs/vampire-collect/internal.h"

#define TICK_NS (VAMP_NS_PER_SECOND / 2)

static void answer(struct collector *self, const struct vamp_nats_received *request)
{
    char *text = vamp_collect_present(self->core, request->data, request->bytes);
    int code = text == NULL ? -ENOMEM : self->bus->answer(self->subscriber, request, text);
    free(text);
    if (code == -ENOMEM) {
        code = self->bus->answer(self->subscriber, request, "{\"error\": \"out of memory\"}");
    } else if (code == -EMSGSIZE) {
        code = self->bus->answer(self->subscriber, request,
                                 "{\"error\": \"the answer is longer than the server's messages "
                                 "may be: ask for fewer metrics or series\"}");
    }
    self->answered += code == 0;
}

/* The time for the core: while a stream has more than was received, that of its newest message, so
 * that nothing is late which was published in time. */
static int64_t present_ns(const struct collector *self)
{
    return self->behind_ns > 0 ? self->behind_ns : vamp_clock_utc_ns(self->clock);
}

static void take(struct collector *self, const struct vamp_nats_received *received)
{
    if (received->is_request) {
        answer(self, received);
        return;
    }
    self->behind_ns = received->more ? received->published_ns : 0;
    const int64_t now_ns = received->published_ns > 0 ? received->published_ns : present_ns(self);
    vamp_collect_advance(self->core, now_ns);
    vamp_collect_message(self->core, received->data, received->bytes, now_ns);
}

/* One message, or none within the time, which means that a stream has no more. */
static void receive(struct collector *self, int64_t timeout_ns)
{
    struct vamp_nats_received received;
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = self->bus->next(self->subscriber, timeout_ns, &received, &err);
    if (code > 0) {
        take(self, &received);
        self->bus->done(self->subscriber, &received);
    } else if (code == 0) {
        self->behind_ns = 0;
    } else if (vamp_reminder_is_due(&self->no_server, err.text,
                                    vamp_clock_monotonic_ns(self->clock))) {
        vamp_status_error(&self->status, "%s", err.text);
    }
}

static void tick_if_due(struct collector *self)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(self->clock);
    if (now_ns < self->next_tick_ns) {
        return;
    }
    self->next_tick_ns = now_ns + TICK_NS;
    collector_report(self, now_ns);
    vamp_collect_advance(self->core, present_ns(self));
}

static void serve_signals(struct collector *self)
{
    const struct vamp_signals *signals = self->start->signals;
    const unsigned shows = atomic_load(&signals->show);
    if (shows != self->shows_seen) {
        self->shows_seen = shows;
        collector_print_summary(self, "still running after", false, stderr);
    }
    const unsigned reloads = atomic_load(&signals->reload);
    if (reloads != self->reloads_seen) {
        self->reloads_seen = reloads;
        vamp_status_error(&self->status,
                          "the configuration is not read again while runs are collected; end it "
                          "with SIGTERM and start it again");
    }
}

void collector_loop(struct collector *self)
{
    while (atomic_load(&self->start->signals->stop) == 0) {
        serve_signals(self);
        receive(self, TICK_NS);
        tick_if_due(self);
    }
    struct vamp_nats_subscriber_state state;
    self->bus->state(self->subscriber, &state);
    for (uint64_t left = state.connected ? state.waiting : 0; left > 0; left--) {
        receive(self, 0);
    }
}
