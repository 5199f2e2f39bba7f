/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/maestro_session.h"

#include <string.h>

#include <maestro.h>

#include "vampire/live/maestro_fields.h"
#include "vampire/live/maestro_status.h"

static uint64_t bit(enum vamp_event_kind kind)
{
    return UINT64_C(1) << kind;
}

static uint64_t component_bits(void)
{
    return bit(VAMP_EVENT_JOIN) | bit(VAMP_EVENT_LEAVE) | bit(VAMP_EVENT_SUBSCRIBE) |
           bit(VAMP_EVENT_UNSUBSCRIBE);
}

/* The kinds asked for with SIGNAL_BEFORE, as vampire's bits. */
static uint64_t before_bits(const struct vamp_maestro_options *options, uint64_t event_kinds)
{
    const uint64_t waits =
        bit(VAMP_EVENT_DEMAND) | bit(VAMP_EVENT_WITHDRAW) | bit(VAMP_EVENT_LEAVE);
    const uint64_t transports = bit(VAMP_EVENT_TRANSPORT_INIT) |
                                bit(VAMP_EVENT_TRANSPORT_COMPLETED) |
                                bit(VAMP_EVENT_TRANSPORT_FAILED);
    switch ((enum vamp_signal_before)options->signal_before) {
    case VAMP_SIGNAL_BEFORE_OFF:
        return 0;
    case VAMP_SIGNAL_BEFORE_WAITS:
        return event_kinds & waits;
    case VAMP_SIGNAL_BEFORE_ALL:
        return event_kinds & ~transports;
    }
    return 0;
}

static void report(const struct vamp_source_context *context, enum vamp_own_operation operation,
                   int64_t start_ns)
{
    if (context->own_roundtrip != NULL) {
        context->own_roundtrip(context->own_roundtrip_context, operation,
                               vamp_clock_monotonic_ns(context->clock) - start_ns);
    }
}

struct asking {
    const struct vamp_maestro_options *options;
    const struct vamp_source_context *context;
    struct vamp_merge *merge;
};

/* Subscribes to kinds given as vampire's bits; none of them known to this Maestro is no failure. */
static int subscribe(const struct asking *asking, uint64_t event_kinds, mstro_cdo_selector selector,
                     mstro_subscription_opts options, struct vamp_err *err)
{
    const uint64_t kinds = vamp_maestro_kinds(event_kinds);
    if (kinds == 0) {
        return 0;
    }
    const mstro_pool_event_kind mask =
        (mstro_pool_event_kind)(kinds | vamp_maestro_service_kinds());
    const int64_t start_ns = vamp_clock_monotonic_ns(asking->context->clock);
    mstro_subscription subscription = NULL;
    mstro_status status = mstro_subscribe(selector, mask, options, &subscription);
    if (status != MSTRO_OK) {
        char text[256];
        vamp_maestro_status_text(status, text, sizeof text);
        return vamp_err_set(err, vamp_maestro_status_no_manager(status) ? -ENOTCONN : -EIO,
                            "cannot subscribe to the pool's events: %s", text);
    }
    report(asking->context, VAMP_OWN_SUBSCRIBE, start_ns);
    vamp_merge_add(asking->merge, subscription,
                   options == MSTRO_SUBSCRIPTION_OPTS_DEFAULT ? VAMP_PHASE_AFTER
                                                              : VAMP_PHASE_BEFORE);
    return 0;
}

/* A selector speaks of CDOs only, so events of components need a subscription without it. The last
 * subscription is the one waited on, the busiest; being the last it does not report the others' own
 * making, and whatever it reports as done was reported as begun. */
static int subscribe_all(const struct asking *asking, mstro_cdo_selector selector,
                         struct vamp_err *err)
{
    uint64_t after = asking->context->event_kinds;
    if (asking->options->leave_when_empty) {
        after |= bit(VAMP_EVENT_JOIN) | bit(VAMP_EVENT_LEAVE);
    }
    int result = 0;
#if VAMP_MSTRO_HAS_SIGNAL_BEFORE
    result = subscribe(asking, before_bits(asking->options, asking->context->event_kinds), selector,
                       MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE, err);
#endif
    if (result == 0 && selector != NULL) {
        result =
            subscribe(asking, after & component_bits(), NULL, MSTRO_SUBSCRIPTION_OPTS_DEFAULT, err);
        after &= ~component_bits();
    }
    if (result == 0) {
        result = subscribe(asking, after, selector, MSTRO_SUBSCRIPTION_OPTS_DEFAULT, err);
    }
    if (result == 0 && asking->merge->stream_count == 0) {
        result =
            vamp_err_set(err, -EINVAL, "this Maestro has none of the requested kinds of events");
    }
    return result;
}

static int select_and_subscribe(const struct asking *asking, struct vamp_err *err)
{
    const char *text = asking->context->selector;
    mstro_cdo_selector selector = NULL;
    if (text != NULL) {
        mstro_status status = mstro_cdo_selector_create(NULL, NULL, text, &selector);
        if (status != MSTRO_OK) {
            char why[256];
            vamp_maestro_status_text(status, why, sizeof why);
            return vamp_err_set(err, -EINVAL, "Maestro does not accept the selector \"%s\": %s",
                                text, why);
        }
    }
    int result = subscribe_all(asking, selector, err);
    if (selector != NULL) {
        (void)mstro_cdo_selector_dispose(selector);
    }
    return result;
}

int vamp_maestro_subscribe(const struct vamp_maestro_options *options,
                           const struct vamp_source_context *context, struct vamp_merge *merge,
                           struct vamp_err *err)
{
    const struct asking asking = {.options = options, .context = context, .merge = merge};
    int result = select_and_subscribe(&asking, err);
    if (result != 0 && vamp_maestro_leave(context, merge, NULL) != 0) {
        return result; /* the first failure is the one to report */
    }
    return result;
}

int vamp_maestro_leave(const struct vamp_source_context *context, struct vamp_merge *merge,
                       struct vamp_err *err)
{
    vamp_merge_done(merge);
    memset(merge, 0, sizeof *merge);
    merge->clock = context->clock;
    const int64_t start_ns = vamp_clock_monotonic_ns(context->clock);
    mstro_status status = mstro_finalize();
    if (status != MSTRO_OK && !vamp_maestro_status_no_manager(status)) {
        char text[256];
        vamp_maestro_status_text(status, text, sizeof text);
        return vamp_err_set(err, -EIO, "leaving the workflow failed: %s", text);
    }
    report(context, VAMP_OWN_LEAVE, start_ns);
    return 0;
}
