/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live source: a component of the workflow that watches the pool through maestro.h and nothing
 * else. It asks for default subscriptions and, for operations whose wait is measured, for one with
 * SIGNAL_BEFORE, never for acknowledgements, so that nobody waits for vampire.
 *
 * maestro.h has no handle for the library, only one instance a process; so there can be only one
 * open source of this kind at a time (mstro_init refuses the second).
 */
#include <stdlib.h>
#include <time.h>

#include <maestro.h>

#include "vampire/source/maestro_fields.h"
#include "vampire/source/maestro_join.h"
#include "vampire/source/maestro_merge.h"
#include "vampire/source/maestro_options.h"
#include "vampire/source/roster.h"
#include "vampire/source/source.h"

/* Once something has come, more is on its way: reading after this time takes it all at once, at
 * half the processor time of reading each event by itself. */
#define GATHER_NS (200 * 1000)
/* Where events have no time of their own the moment of reading is theirs, so the subscriptions that
 * cannot be waited on are looked at this often. */
#define SLICE_NS (5 * 1000 * 1000)
/* While events wait for their turn, the subscriptions are read this often. */
#define LOOK_NS (1000 * 1000)

struct maestro_source {
    const struct vamp_maestro_options *options;
    struct vamp_source_context context;
    struct vamp_roster roster;
    int64_t all_left_ns; /* monotonic, when the last component left; INT64_MAX: not yet */
    struct vamp_merge merge;
};

#define OPTION(member) offsetof(struct vamp_maestro_options, member)

static const char *const signal_before_words[] = {"off", "waits", "all", NULL};

static const struct vamp_opt maestro_options[] = {
    {.key = "info",
     .type = VAMP_OPT_STRING,
     .preset = "",
     .max = 8192,
     .offset = OPTION(info),
     .help = "What the pool manager prints: the line MSTRO_POOL_MANAGER_INFO;<info>; or the <info> "
             "alone; without it and without info_file the environment variable "
             "MSTRO_POOL_MANAGER_INFO is used"},
    {.key = "info_file",
     .type = VAMP_OPT_STRING,
     .preset = "",
     .max = 4096,
     .offset = OPTION(info_file),
     .help = "A file with the pool manager's output or its info; it is waited for and read again "
             "before each attempt to join"},
    {.key = "wait",
     .type = VAMP_OPT_DURATION,
     .preset = "30s",
     .min = 0,
     .max = (uint64_t)24 * 3600 * VAMP_NS_PER_SECOND,
     .offset = OPTION(wait_ns),
     .help = "How long to try to reach a pool manager before giving up"},
    {.key = "signal_before",
     .type = VAMP_OPT_ENUM,
     .preset = "waits",
     .choices = signal_before_words,
     .offset = OPTION(signal_before),
     .help = "Which operations are also reported before the pool manager handles them: none; "
             "those whose wait is measured (demand, withdraw, leave); or all, for handling times"},
    {.key = "leave_when_empty",
     .type = VAMP_OPT_BOOL,
     .preset = "true",
     .offset = OPTION(leave_when_empty),
     .help = "End when the workflow has ended: other components were there and all have left"},
    {.key = "leave_grace",
     .type = VAMP_OPT_DURATION,
     .preset = "2s",
     .min = 0,
     .max = (uint64_t)24 * 3600 * VAMP_NS_PER_SECOND,
     .offset = OPTION(leave_grace_ns),
     .help = "How long the workflow must be empty to count as ended, so that a gap between two "
             "phases does not"},
    {.key = "alone",
     .type = VAMP_OPT_BOOL,
     .preset = "false",
     .offset = OPTION(alone),
     .help = "Watch this process's own pool without a pool manager; for tests"},
    {.key = NULL},
};

/* ------------------------------------------------------------------ opening and closing */

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
static uint64_t before_bits(const struct maestro_source *source)
{
    const uint64_t waits =
        bit(VAMP_EVENT_DEMAND) | bit(VAMP_EVENT_WITHDRAW) | bit(VAMP_EVENT_LEAVE);
    const uint64_t transports = bit(VAMP_EVENT_TRANSPORT_INIT) |
                                bit(VAMP_EVENT_TRANSPORT_COMPLETED) |
                                bit(VAMP_EVENT_TRANSPORT_FAILED);
    switch ((enum vamp_signal_before)source->options->signal_before) {
    case VAMP_SIGNAL_BEFORE_OFF:
        return 0;
    case VAMP_SIGNAL_BEFORE_WAITS:
        return source->context.event_kinds & waits;
    case VAMP_SIGNAL_BEFORE_ALL:
        return source->context.event_kinds & ~transports;
    }
    return 0;
}

static void report(const struct maestro_source *source, enum vamp_own_operation operation,
                   int64_t ns)
{
    if (source->context.own_roundtrip != NULL) {
        source->context.own_roundtrip(source->context.own_roundtrip_context, operation, ns);
    }
}

/* Subscribes to kinds given as vampire's bits; none of them known to this Maestro is no failure. */
static int subscribe(struct maestro_source *source, uint64_t event_kinds,
                     mstro_cdo_selector selector, mstro_subscription_opts options,
                     struct vamp_err *err)
{
    const uint64_t kinds = vamp_maestro_kinds(event_kinds);
    if (kinds == 0) {
        return 0;
    }
    const mstro_pool_event_kind mask =
        (mstro_pool_event_kind)(kinds | vamp_maestro_service_kinds());
    const int64_t start_ns = vamp_clock_monotonic_ns(source->context.clock);
    mstro_subscription subscription = NULL;
    mstro_status status = mstro_subscribe(selector, mask, options, &subscription);
    if (status != MSTRO_OK) {
        char text[256];
        vamp_maestro_status_text(status, text, sizeof text);
        return vamp_err_set(err, -EIO, "cannot subscribe to the pool's events: %s", text);
    }
    report(source, VAMP_OWN_SUBSCRIBE, vamp_clock_monotonic_ns(source->context.clock) - start_ns);
    vamp_merge_add(&source->merge, subscription,
                   options == MSTRO_SUBSCRIPTION_OPTS_DEFAULT ? VAMP_PHASE_AFTER
                                                              : VAMP_PHASE_BEFORE);
    return 0;
}

/* A selector speaks of CDOs only, so events of components need a subscription without it. The last
 * subscription is the one waited on, the busiest; being the last it does not report the others' own
 * making, and whatever it reports as done was reported as begun. */
static int subscribe_all(struct maestro_source *source, mstro_cdo_selector selector,
                         struct vamp_err *err)
{
    uint64_t after = source->context.event_kinds;
    if (source->options->leave_when_empty) {
        after |= bit(VAMP_EVENT_JOIN) | bit(VAMP_EVENT_LEAVE);
    }
    int result = 0;
#if VAMP_MSTRO_HAS_SIGNAL_BEFORE
    result = subscribe(source, before_bits(source), selector, MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE,
                       err);
#endif
    if (result == 0 && selector != NULL) {
        result =
            subscribe(source, after & component_bits(), NULL, MSTRO_SUBSCRIPTION_OPTS_DEFAULT, err);
        after &= ~component_bits();
    }
    if (result == 0) {
        result = subscribe(source, after, selector, MSTRO_SUBSCRIPTION_OPTS_DEFAULT, err);
    }
    if (result == 0 && source->merge.stream_count == 0) {
        result = vamp_err_set(err, -EINVAL,
                              "this Maestro has none of the kinds of event that are wanted");
    }
    return result;
}

static int select_and_subscribe(struct maestro_source *source, struct vamp_err *err)
{
    mstro_cdo_selector selector = NULL;
    if (source->context.selector != NULL) {
        mstro_status status =
            mstro_cdo_selector_create(NULL, NULL, source->context.selector, &selector);
        if (status != MSTRO_OK) {
            char text[256];
            vamp_maestro_status_text(status, text, sizeof text);
            return vamp_err_set(err, -EINVAL, "Maestro does not accept the selector \"%s\": %s",
                                source->context.selector, text);
        }
    }
    int result = subscribe_all(source, selector, err);
    if (selector != NULL) {
        (void)mstro_cdo_selector_dispose(selector);
    }
    return result;
}

static int maestro_close(void *self, struct vamp_err *err)
{
    struct maestro_source *source = self;
    if (source == NULL) {
        return 0;
    }
    vamp_merge_done(&source->merge);
    const int64_t start_ns = vamp_clock_monotonic_ns(source->context.clock);
    mstro_status status = mstro_finalize();
    report(source, VAMP_OWN_LEAVE, vamp_clock_monotonic_ns(source->context.clock) - start_ns);
    vamp_roster_done(&source->roster);
    free(source);
    if (status != MSTRO_OK && !vamp_maestro_status_no_manager(status)) {
        char text[256];
        vamp_maestro_status_text(status, text, sizeof text);
        return vamp_err_set(err, -EIO, "leaving the workflow failed: %s", text);
    }
    return 0;
}

static int maestro_open(const void *options, const struct vamp_source_context *context,
                        void **ret_self, struct vamp_err *err)
{
    struct maestro_source *source = calloc(1, sizeof *source);
    if (source == NULL) {
        return vamp_err_set(err, -ENOMEM, "no memory for the live source");
    }
    source->options = options;
    source->context = *context;
    source->merge.clock = context->clock;
    source->all_left_ns = INT64_MAX;
    int64_t join_ns = 0;
    int result = vamp_maestro_join(source->options, context, &join_ns, err);
    if (result != 0) {
        free(source);
        return result;
    }
    report(source, VAMP_OWN_JOIN, join_ns);
    result = select_and_subscribe(source, err);
    if (result != 0) {
        (void)maestro_close(source, NULL);
        return result;
    }
    *ret_self = source;
    return 0;
}

/* ------------------------------------------------------------------ events */

static void observe_roster(struct maestro_source *source, const struct vamp_event *event)
{
    vamp_roster_observe(&source->roster, event);
    if (!vamp_roster_all_left(&source->roster)) {
        source->all_left_ns = INT64_MAX;
    } else if (source->all_left_ns == INT64_MAX) {
        source->all_left_ns = vamp_clock_monotonic_ns(source->context.clock);
    }
}

/* The next event that is wanted, converted. */
static bool give(struct maestro_source *source, struct vamp_event *ret_event)
{
    struct vamp_merge_event next;
    while (vamp_merge_next(&source->merge, &next)) {
        vamp_maestro_convert(next.event, next.phase, next.arrived_utc_ns, ret_event);
        if (vamp_event_is_mark(ret_event)) {
            return true;
        }
        if (source->options->leave_when_empty) {
            observe_roster(source, ret_event);
        }
        if ((source->context.event_kinds & UINT64_C(1) << ret_event->kind) != 0) {
            return true;
        }
    }
    return false;
}

/* Everything was given out and the pool manager is gone. */
static enum vamp_source_status at_the_end(const struct maestro_source *source, struct vamp_err *err)
{
    if (source->all_left_ns != INT64_MAX && !source->roster.pool_ended) {
        return VAMP_SOURCE_END;
    }
    const mstro_status failure = source->merge.failure;
    if (failure == MSTRO_OK || vamp_maestro_status_no_manager(failure)) {
        return VAMP_SOURCE_GONE;
    }
    char text[256];
    vamp_maestro_status_text(failure, text, sizeof text);
    (void)vamp_err_set(err, -EIO, "reading the pool's events failed: %s", text);
    return VAMP_SOURCE_ERROR;
}

static int64_t grace_left_ns(const struct maestro_source *source)
{
    if (source->all_left_ns == INT64_MAX) {
        return INT64_MAX;
    }
    return source->all_left_ns + source->options->leave_grace_ns -
           vamp_clock_monotonic_ns(source->context.clock);
}

static enum vamp_source_status maestro_next(void *self, struct vamp_event *ret_event,
                                            struct vamp_err *err)
{
    struct maestro_source *source = self;
    if (give(source, ret_event)) {
        return VAMP_SOURCE_MORE;
    }
    const bool came = vamp_merge_read(&source->merge);
    if (give(source, ret_event)) {
        return VAMP_SOURCE_MORE;
    }
    if (vamp_merge_holds(&source->merge) || came) {
        return VAMP_SOURCE_EMPTY;
    }
    if (vamp_merge_ended(&source->merge)) {
        return at_the_end(source, err);
    }
    return grace_left_ns(source) <= 0 ? VAMP_SOURCE_END : VAMP_SOURCE_EMPTY;
}

/* ------------------------------------------------------------------ waiting */

static void sleep_ns(int64_t ns)
{
    const struct timespec pause = {.tv_sec = (time_t)(ns / VAMP_NS_PER_SECOND),
                                   .tv_nsec = (long)(ns % VAMP_NS_PER_SECOND)};
    (void)nanosleep(&pause, NULL);
}

static int64_t least(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

static void maestro_wait(void *self, int64_t timeout_ns)
{
    struct maestro_source *source = self;
    struct vamp_merge *merge = &source->merge;
    timeout_ns = least(timeout_ns, grace_left_ns(source));
    if (timeout_ns <= 0 || vamp_merge_ended(merge)) {
        return;
    }
    if (vamp_merge_holds(merge)) {
        sleep_ns(least(timeout_ns, LOOK_NS));
        return;
    }
    const int64_t slice_ns =
        vamp_maestro_has_time() || merge->stream_count == 1 ? timeout_ns : SLICE_NS;
    const int64_t start_ns = vamp_clock_monotonic_ns(source->context.clock);
    int64_t left_ns = timeout_ns;
    while (left_ns > 0) {
        const int64_t before_ns = vamp_clock_monotonic_ns(source->context.clock);
        vamp_merge_wait(merge, least(left_ns, slice_ns));
        if (vamp_merge_holds(merge)) {
            sleep_ns(GATHER_NS);
            return;
        }
        if (vamp_merge_read(merge) || vamp_merge_ended(merge)) {
            return;
        }
        const int64_t now_ns = vamp_clock_monotonic_ns(source->context.clock);
        if (now_ns - before_ns < GATHER_NS) {
            sleep_ns(GATHER_NS); /* the wait came back with nothing before its time: never spin */
        }
        left_ns = start_ns + timeout_ns - now_ns;
    }
}

const struct vamp_source_ops vamp_source_maestro = {
    .name = "maestro",
    .summary = "the pool manager of a running workflow",
    .options = maestro_options,
    .options_bytes = sizeof(struct vamp_maestro_options),
    .can_wait = false,
    .open = maestro_open,
    .next = maestro_next,
    .wait = maestro_wait,
    .close = maestro_close,
};
