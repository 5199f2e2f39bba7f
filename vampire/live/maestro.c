/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live source: a component of the workflow that observes the pool, using only maestro.h. It
 * uses default subscriptions and, for operations whose waiting time is measured, one with
 * SIGNAL_BEFORE. It never requires acknowledgements, so no component waits for vampire.
 *
 * maestro.h has no handle for the library, which is a singleton in each process, so at most one
 * source of this kind can be open (mstro_init refuses the second).
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <maestro.h>

#include "vampire/core/clock.h"
#include "vampire/core/hash.h"
#include "vampire/core/values.h"
#include "vampire/live/examine.h"
#include "vampire/live/maestro_fields.h"
#include "vampire/live/roster.h"
#include "vampire/live/serial_gaps.h"
#include "vampire/live/session.h"
#include "vampire/source/live.h"
#include "version.h"

/* Events that follow others closely are usually followed by more: waiting for this time before
 * reading returns them all at once, for half the processor time of reading each event by itself. */
#define GATHER_NS (200 * 1000)
#define GATHER_WITHIN_NS (1000 * 1000)
/* If events have no times, the time of reading is used, so the subscriptions other than the one
 * waited on are read at this interval. */
#define SLICE_NS (5 * 1000 * 1000)
/* While events wait to be merged, the subscriptions are read at this interval, which is the
 * interval at which the embedded pool manager sends. In a busy workflow there is always a waiting
 * event. */
#define LOOK_NS (10 * 1000 * 1000)

/* If no event arrives for this long after an operation was announced, Maestro is assumed to be
 * waiting for an acknowledgement of the announcement, and vampire continues without announcements.
 * Not applied if Maestro guarantees, or vampire --examine has found, that announcements do not
 * block. */
#define HELD_UP_NS (5 * VAMP_NS_PER_SECOND)

/* The phases follow each other in this order, except that WATCHING also follows BACK. */
enum maestro_phase {
    PHASE_WATCHING,
    PHASE_SEEKING,  /* the pool manager is gone, which has been reported */
    PHASE_BACK,     /* joined again, which is to be reported */
    PHASE_GIVEN_UP, /* no pool manager was found; the gap in observation is to be reported */
    PHASE_OVER,
};

struct maestro_source {
    struct vamp_session session;
    struct vamp_roster roster;
    int64_t all_left_ns; /* monotonic time when the last component left; INT64_MAX: not yet */
    int64_t woken_ns;    /* monotonic time when a wait last ended with events */
    struct vamp_event_clock event_clock;
    /* The last announced operation, if no other event of its component has arrived since. */
    struct vamp_event announced; /* kind NONE: no operation */
    int64_t came_ns;             /* monotonic time of the last event */
    struct vamp_examined examined;
    struct vamp_serial_gaps gaps;
    bool counts_gaps;                      /* missing serial numbers are lost events */
    bool uses_times, uses_sizes, uses_ids; /* false if --examine found otherwise */
    struct vamp_event previous;            /* without its name; to recognise repetitions */
    bool repetitions_said;
    bool pool_ended; /* the pool manager announced its end, after it removed all components */
    bool finishing;  /* no further events were requested, with this result: */
    mstro_status finished;
    atomic_uint learned;     /* information found to be missing: one bit per enum vamp_unknown */
    int64_t last_event_ns;   /* time of the last delivered event; INT64_MAX: none */
    int64_t last_arrival_ns; /* monotonic time when the list with that event arrived */
    /* Only if events have no times: */
    int64_t newest_ns; /* arrival time of the newest event */
    int64_t empty_ns;  /* time of the last inserted control event */
    /* The event that follows a control event, if `has_kept_back`, and its arrival. */
    struct vamp_event kept_back;
    struct vamp_merge_arrival kept_back_arrival;
    bool has_kept_back;

    pthread_mutex_t lock; /* protects the following members, which other threads read */
    enum maestro_phase phase;
    int64_t phase_since_ns; /* when the phase began, monotonic */
    unsigned rejoins;
    char where[VAMP_SOURCE_WHERE_BYTES];
    char trouble[VAMP_SOURCE_TROUBLE_BYTES]; /* reason why the last attempt to join again failed */
};

/* ------------------------------------------------------------------ opening and closing */

/* Applies the verdict of --examine: fields without a value or with another meaning are not used. */
static void obey_examination(struct maestro_source *source)
{
    const struct vamp_examined *examined = &source->examined;
    source->session.harmless = vamp_examined_says(examined, VAMP_ASK_BEFORE, "harmless");
    source->uses_times = VAMP_MSTRO_HAS_TIME &&
                         !vamp_examined_says(examined, VAMP_ASK_TIMES, "none") &&
                         !vamp_examined_says(examined, VAMP_ASK_TIMES, "other") &&
                         !vamp_examined_says(examined, VAMP_ASK_TIMES, "coarse");
    source->uses_sizes = !vamp_examined_says(examined, VAMP_ASK_SIZES, "none") &&
                         !vamp_examined_says(examined, VAMP_ASK_SIZES, "other");
    source->uses_ids = !vamp_examined_says(examined, VAMP_ASK_IDS, "none") &&
                       !vamp_examined_says(examined, VAMP_ASK_IDS, "shared");
    /* If both verdicts are "other", events arrive out of order and serial numbers have the order.
     */
    source->session.merge.sorts = vamp_examined_says(examined, VAMP_ASK_ORDER, "other") &&
                                  vamp_examined_says(examined, VAMP_ASK_SERIALS, "other");
    uint32_t unknown = 0;
    if (!source->uses_times) {
        unknown |= VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_TIME);
    }
    if (!source->uses_ids) {
        unknown |= VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_CDO_ID);
    }
    if (!source->uses_sizes) {
        unknown |= VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_SIZE);
    }
    if (vamp_examined_says(examined, VAMP_ASK_SERIALS, "none") ||
        vamp_examined_says(examined, VAMP_ASK_SERIALS, "subscription")) {
        unknown |= VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_SERIALS);
    }
    atomic_fetch_or(&source->learned, unknown);
}

static void change_phase(struct maestro_source *source, enum maestro_phase phase)
{
    (void)pthread_mutex_lock(&source->lock);
    source->phase = phase;
    source->phase_since_ns = vamp_session_now(&source->session);
    (void)pthread_mutex_unlock(&source->lock);
}

/* Stores a hash of the info, to distinguish pool managers; the info itself is a secret. */
static void note_where(struct maestro_source *source)
{
    const char *info = getenv(MSTRO_ENV_POOL_INFO);
    (void)pthread_mutex_lock(&source->lock);
    source->where[0] = '\0';
    if (info != NULL && info[0] != '\0') {
        (void)snprintf(source->where, sizeof source->where, "%08" PRIx32,
                       (uint32_t)vamp_hash_bytes(0, info, strlen(info)));
    }
    (void)pthread_mutex_unlock(&source->lock);
}

static int maestro_close(void *self, struct vamp_err *err)
{
    struct maestro_source *source = self;
    const int result = vamp_session_end(&source->session, true, err);
    vamp_roster_done(&source->roster);
    (void)pthread_mutex_destroy(&source->lock);
    free(source);
    return result;
}

static int maestro_open(const void *options, const struct vamp_source_context *context,
                        void **ret_self, struct vamp_err *err)
{
    struct maestro_source *source = calloc(1, sizeof *source);
    if (source == NULL) {
        return vamp_err_set(err, -ENOMEM, "out of memory for the live source");
    }
    (void)pthread_mutex_init(&source->lock, NULL);
    source->session.options = options;
    source->session.context = *context;
    source->all_left_ns = INT64_MAX;
    source->last_event_ns = INT64_MAX;
    vamp_examined_read(options, context, &source->examined);
    obey_examination(source);
    int result = vamp_session_begin(&source->session, err);
    if (result != 0) {
        (void)maestro_close(source, NULL);
        return result;
    }
    if (vamp_session_before(&source->session) == 0) {
        atomic_fetch_or(&source->learned, VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_PHASES));
    }
    source->counts_gaps = vamp_examined_says(&source->examined, VAMP_ASK_SERIALS, "dense") &&
                          vamp_session_has_all(&source->session);
    note_where(source);
    change_phase(source, PHASE_WATCHING);
    *ret_self = source;
    return 0;
}

/* ------------------------------------------------------------------ events */

/* Makes arrival times follow the order of the events, which two subscriptions deliver in separate
 * lists. A clock that was set back by more than the maximum wait between lists is respected. */
static void order_arrival(struct maestro_source *source, struct vamp_event *event)
{
    const int64_t behind_ns = source->newest_ns - event->time_ns;
    if (behind_ns > 0 && behind_ns < VAMP_NS_PER_SECOND) {
        event->time_ns = source->newest_ns;
    }
    source->newest_ns = event->time_ns;
}

/* Stores an event that is to follow a control event. */
static void keep_back(struct maestro_source *source, const struct vamp_merge_arrival *arrival,
                      const struct vamp_event *event)
{
    source->kept_back = *event;
    source->kept_back_arrival = *arrival;
    source->has_kept_back = true;
}

/* Inserts a control event with the earliest time at which the next event may have happened: an
 * event without a time happened between the two. Returns false if there is nothing new to report.
 */
static bool insert_time_event(struct maestro_source *source,
                              const struct vamp_merge_arrival *arrival, struct vamp_event *event)
{
    if (source->uses_times) {
        return false;
    }
    const int64_t empty_ns = arrival->utc_ns - arrival->waited_ns;
    if (empty_ns == source->empty_ns) {
        return false;
    }
    source->empty_ns = empty_ns;
    keep_back(source, arrival, event);
    *event = (struct vamp_event){.kind = VAMP_EVENT_TIME, .time_ns = empty_ns};
    return true;
}

/* If serial numbers are missing before the event, replaces it by a control event for lost events
 * with its time, and keeps it back. Subtracts losses that were already counted from the number that
 * the pool manager reported. */
static void insert_lost_event(struct maestro_source *source,
                              const struct vamp_merge_arrival *arrival, struct vamp_event *event)
{
    const uint64_t lost = vamp_serial_gaps_observe(&source->gaps, event);
    source->session.merge.unreported_losses = vamp_serial_gaps_unreported(&source->gaps);
    if (event->kind == VAMP_EVENT_LOST) {
        event->count = lost;
    } else if (lost > 0) {
        keep_back(source, arrival, event);
        *event = (struct vamp_event){.kind = VAMP_EVENT_LOST,
                                     .reason = VAMP_LOSS_POOL_MANAGER,
                                     .count = lost,
                                     .time_ns = event->time_ns};
    }
}

/* Returns whether this is a control event for losses that were all counted before. */
static bool is_counted(const struct vamp_event *event)
{
    return event->kind == VAMP_EVENT_LOST && event->count == 0;
}

/* Gives a control event without a time the time of the previous event, because its own arrival is
 * later than events that are still to come. */
static void place_after_previous(const struct maestro_source *source,
                                 const struct vamp_merge_arrival *arrival, struct vamp_event *event)
{
    event->time_ns = source->last_event_ns;
    if (source->last_event_ns == INT64_MAX) {
        event->time_ns = arrival->utc_ns;
    }
}

static void use_no_serials(struct maestro_source *source, struct vamp_event *event)
{
    event->serial = 0;
    event->present &= (uint16_t)~VAMP_HAS_SERIAL;
    if ((atomic_load(&source->learned) & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_SERIALS)) == 0) {
        atomic_fetch_or(&source->learned, VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_SERIALS));
        vamp_source_say(&source->session.context,
                        "serial numbers of events %s: they are not used, and events are in the "
                        "order of their times",
                        source->session.merge.serials == VAMP_SERIALS_ZERO
                            ? "are all 0"
                            : "count each subscription by itself");
    }
}

/* Replaces the time of an event, and removes its size and id, if they mean something else. */
static void use_fields(const struct maestro_source *source,
                       const struct vamp_merge_arrival *arrival, struct vamp_event *event)
{
    if (VAMP_MSTRO_HAS_TIME && !source->uses_times) {
        if (vamp_event_is_mark(event)) { /* its arrival is later than that of the events before */
            place_after_previous(source, arrival, event);
        } else {
            event->time_ns = arrival->utc_ns;
        }
        event->present &= (uint16_t)~VAMP_HAS_TIME;
    }
    if (!source->uses_sizes) {
        event->size_bytes = 0;
        event->present &= (uint16_t)~VAMP_HAS_SIZE;
    }
    if (!source->uses_ids) {
        event->cdo_id = (struct vamp_cdo_id){0};
        event->present &= (uint16_t)~VAMP_HAS_CDO_ID;
    }
}

/* Returns whether the event is a duplicate of the previous one. */
static bool is_repetition(const struct maestro_source *source, const struct vamp_event *event)
{
    const struct vamp_event *previous = &source->previous;
    return event->serial != 0 && !vamp_event_is_mark(event) && event->serial == previous->serial &&
           event->kind == previous->kind && event->phase == previous->phase &&
           event->app_id == previous->app_id && event->cdo_id.high == previous->cdo_id.high &&
           event->cdo_id.low == previous->cdo_id.low;
}

/* Remembers the event, which is not a repetition, or reports the first repetition. */
static void note_repetition(struct maestro_source *source, const struct vamp_event *event,
                            bool is_repeated)
{
    if (is_repeated && !source->repetitions_said) {
        vamp_source_say(&source->session.context,
                        "events come again with the same serial number: repetitions are not "
                        "counted");
        source->repetitions_said = true;
    } else if (!is_repeated && !vamp_event_is_mark(event)) {
        source->previous = *event;
        source->previous.name = NULL;
    }
}

static void note_announcement(struct maestro_source *source, const struct vamp_event *event)
{
    source->came_ns = vamp_session_now(&source->session);
    if (event->phase == VAMP_PHASE_BEFORE) {
        source->announced = *event;
        source->announced.name = NULL;
    } else if (event->app_id == source->announced.app_id) {
        source->announced.kind = VAMP_EVENT_NONE;
    }
}

/* Returns whether no event at all has arrived since an operation was announced. */
static bool is_held_up(const struct maestro_source *source)
{
    return !VAMP_MSTRO_HAS_HARMLESS_BEFORE && !source->session.harmless &&
           source->announced.kind != VAMP_EVENT_NONE &&
           vamp_session_now(&source->session) - source->came_ns > HELD_UP_NS;
}

static void leave_before(struct maestro_source *source)
{
    vamp_source_say(&source->session.context,
                    "no event has come for %d s since component %" PRIu64
                    " was to %s: this Maestro may wait for an answer to events before handling. "
                    "vampire continues without them; set source.signal_before to \"off\"",
                    (int)(HELD_UP_NS / VAMP_NS_PER_SECOND), source->announced.app_id,
                    vamp_event_kind_name(source->announced.kind));
    atomic_fetch_or(&source->learned, VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_PHASES));
    source->session.without_before = true;
    source->announced.kind = VAMP_EVENT_NONE;
    vamp_merge_drop(&source->session.merge, VAMP_PHASE_BEFORE);
}

static void note_component(struct maestro_source *source, const struct vamp_event *event)
{
    vamp_roster_observe(&source->roster, event);
    if (!vamp_roster_all_left(&source->roster)) {
        source->all_left_ns = INT64_MAX;
    } else if (source->all_left_ns == INT64_MAX) {
        source->all_left_ns = vamp_session_now(&source->session);
    }
}

/* Stores the next requested event in `*ret_event`, and updates the state that depends on delivered
 * events. Returns false if there is none. */
static bool next_wanted(struct maestro_source *source, struct vamp_event *ret_event)
{
    struct vamp_merge *merge = &source->session.merge;
    bool is_repeated = false;
    do {
        /* An event that was kept back behind a control event comes first. */
        const struct vamp_merge_arrival *arrival = NULL;
        if (source->has_kept_back) {
            arrival = &source->kept_back_arrival;
            *ret_event = source->kept_back;
            source->has_kept_back = false;
        } else {
            arrival = vamp_merge_next(merge, ret_event);
            if (arrival == NULL) {
                return false;
            }
            if (insert_time_event(source, arrival, ret_event)) {
                return true;
            }
        }
        if (ret_event->time_ns == 0 && vamp_event_is_mark(ret_event)) {
            place_after_previous(source, arrival, ret_event);
        }
        /* Replaces fields that this Maestro does not provide. */
        use_fields(source, arrival, ret_event);
        if (!source->uses_times) {
            order_arrival(source, ret_event);
        }
        if (merge->serials != VAMP_SERIALS_USED) {
            use_no_serials(source, ret_event);
        }
        if (source->counts_gaps) {
            insert_lost_event(source, arrival, ret_event);
        }
        is_repeated = is_repetition(source, ret_event);
        note_repetition(source, ret_event, is_repeated);
        if (is_repeated) {
            continue;
        }
        if (!VAMP_MSTRO_HAS_HARMLESS_BEFORE) {
            note_announcement(source, ret_event);
        }
        /* Updates the pool's clock, and the state that determines the end of the workflow. */
        source->last_event_ns = ret_event->time_ns;
        source->last_arrival_ns = arrival->ns;
        if (ret_event->kind == VAMP_EVENT_LEAVE && ret_event->reason == VAMP_LEAVE_POOL_ENDED) {
            source->pool_ended = true;
        }
        if (source->session.options->leave_when_empty &&
            !vamp_roster_knows(&source->roster, ret_event)) {
            note_component(source, ret_event);
        }
    } while (is_repeated || is_counted(ret_event) ||
             !vamp_source_is_wanted(&source->session.context, ret_event));
    return true;
}

static uint32_t maestro_unknown(const void *self)
{
    const struct maestro_source *source = self;
    uint32_t unknown = vamp_maestro_unknown();
    if (source == NULL) {
        if (!VAMP_MSTRO_HAS_HARMLESS_BEFORE) {
            unknown |= VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_PHASES);
        }
        return unknown;
    }
    if (source->counts_gaps) {
        unknown &= ~VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_LOSSES);
    }
    return unknown | atomic_load(&source->learned);
}

static const char *maestro_examined(const void *self)
{
    const struct maestro_source *source = self;
    return source->examined.text[0] != '\0' ? source->examined.text : NULL;
}

static int64_t grace_left_ns(const struct maestro_source *source)
{
    if (source->all_left_ns == INT64_MAX) {
        return INT64_MAX;
    }
    return source->all_left_ns + source->session.options->leave_grace_ns -
           vamp_session_now(&source->session);
}

static bool maestro_holds(const void *self)
{
    const struct maestro_source *source = self;
    return vamp_merge_holds(&source->session.merge);
}

static bool maestro_finish(void *self, int64_t timeout_ns)
{
    struct maestro_source *source = self;
    const int64_t each_ns = timeout_ns / VAMP_MERGE_STREAMS;
    if (source->phase != PHASE_WATCHING) {
        return false;
    }
    source->finishing = true;
    source->finished = vamp_merge_finish(&source->session.merge, (uint32_t)(each_ns / 1000000) + 1);
    return true;
}

static void maestro_rest(void *self, struct vamp_event *ret_lost)
{
    struct maestro_source *source = self;
    *ret_lost = (struct vamp_event){
        .kind = VAMP_EVENT_LOST, .count = VAMP_REST_UNKNOWN, .time_ns = source->last_event_ns};
    if (source->finished == MSTRO_OK) {
        ret_lost->count = vamp_merge_rest(&source->session.merge);
    } else {
        atomic_fetch_or(&source->learned, VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_LOSSES));
    }
}

/* Returns whether this Maestro cannot finish subscriptions. Events from before the request are then
 * assumed to have arrived as soon as none waits. */
static bool is_refused(const struct maestro_source *source)
{
    return source->finishing && source->finished != MSTRO_OK && source->finished != MSTRO_TIMEOUT;
}

/* Called when all events read so far have been delivered. */
static enum vamp_source_status watch(struct maestro_source *source, struct vamp_event *ret_event,
                                     struct vamp_err *err)
{
    vamp_event_clock_observe(&source->event_clock, source->last_event_ns, source->last_arrival_ns);
    const bool came = vamp_merge_read(&source->session.merge);
    if (next_wanted(source, ret_event)) {
        return VAMP_SOURCE_MORE;
    }
    if (vamp_merge_holds(&source->session.merge) || came) {
        return VAMP_SOURCE_EMPTY;
    }
    if (vamp_merge_ended(&source->session.merge)) {
        /* All events have been delivered and the pool manager is gone. */
        const mstro_status failure = source->session.merge.failure;
        const bool all_left = source->all_left_ns != INT64_MAX && !source->pool_ended;
        if (all_left || source->session.merge.finished) {
            return VAMP_SOURCE_END;
        }
        if (failure == MSTRO_OK || vamp_maestro_status_no_manager(failure)) {
            return VAMP_SOURCE_GONE;
        }
        return VAMP_REFUSE(VAMP_SOURCE_ERROR, err, -EIO, "reading the pool's events failed: %s",
                           vamp_maestro_status_text(failure).text);
    }
    if (is_refused(source)) {
        return VAMP_SOURCE_END;
    }
    if (is_held_up(source)) {
        leave_before(source);
    }
    return grace_left_ns(source) <= 0 ? VAMP_SOURCE_END : VAMP_SOURCE_EMPTY;
}

/* ------------------------------------------------------------------ after the end of a pool */

/* Returns a control event at the pool's time. The local clock may differ, and a control event in
 * the future would make later events late. */
static enum vamp_source_status return_control_event(const struct maestro_source *source,
                                                    enum vamp_event_kind mark,
                                                    struct vamp_event *ret_event)
{
    *ret_event = (struct vamp_event){.kind = (uint8_t)mark};
    if (!vamp_event_clock_now(&source->event_clock, vamp_session_now(&source->session),
                              &ret_event->time_ns)) {
        ret_event->time_ns = vamp_clock_utc_ns(source->session.context.clock);
    }
    return VAMP_SOURCE_MORE;
}

/* Discards the state of the old pool, except the time. */
static enum vamp_source_status lose_pool(struct maestro_source *source,
                                         struct vamp_event *ret_event)
{
    /* The pool manager is gone, so this leave is not answered. */
    if (vamp_session_end(&source->session, false, NULL) != 0) {
        (void)snprintf(source->trouble, sizeof source->trouble, "leaving the old pool failed");
    }
    vamp_roster_done(&source->roster);
    source->gaps = (struct vamp_serial_gaps){.newest = 0};
    source->previous = (struct vamp_event){.kind = VAMP_EVENT_NONE}; /* serials begin again */
    source->all_left_ns = INT64_MAX;
    if (source->session.options->rejoin_ns == 0) {
        change_phase(source, PHASE_GIVEN_UP);
    } else {
        vamp_session_seek(&source->session);
        change_phase(source, PHASE_SEEKING);
    }
    return return_control_event(source, VAMP_EVENT_GONE, ret_event);
}

static void seek(struct maestro_source *source, int64_t timeout_ns)
{
    switch (vamp_session_try(&source->session, timeout_ns)) {
    case VAMP_REJOIN_WAIT:
        break;
    case VAMP_REJOIN_BACK:
        note_where(source);
        change_phase(source, PHASE_BACK);
        break;
    case VAMP_REJOIN_OVER:
        change_phase(source, PHASE_GIVEN_UP);
        break;
    }
    (void)pthread_mutex_lock(&source->lock);
    source->rejoins += source->phase == PHASE_BACK;
    (void)snprintf(source->trouble, sizeof source->trouble, "%.*s", (int)sizeof source->trouble - 1,
                   source->session.why.text);
    (void)pthread_mutex_unlock(&source->lock);
}

static enum vamp_source_status give_up(const struct maestro_source *source, struct vamp_err *err)
{
    if (source->session.attempts == 0) {
        (void)vamp_err_set(err, -ENOTCONN, "the pool manager is gone");
    } else {
        (void)vamp_err_set(err, -ENOTCONN,
                           "the pool manager is gone, and did not come back in %.0f s (%s)",
                           (double)source->session.options->rejoin_ns / (double)VAMP_NS_PER_SECOND,
                           source->session.why.text);
    }
    return VAMP_SOURCE_GONE;
}

/* Not inlined: in most calls an event is available. */
static __attribute__((noinline)) enum vamp_source_status
go_on(struct maestro_source *source, struct vamp_event *ret_event, struct vamp_err *err)
{
    switch (source->phase) {
    case PHASE_WATCHING: {
        const enum vamp_source_status status = watch(source, ret_event, err);
        if (status != VAMP_SOURCE_GONE) {
            return status;
        }
        /* A pool manager that says good-bye has ended the workflow and is not restarted. */
        return source->pool_ended ? give_up(source, err) : lose_pool(source, ret_event);
    }
    case PHASE_SEEKING:
        return VAMP_SOURCE_EMPTY;
    case PHASE_BACK:
        change_phase(source, PHASE_WATCHING);
        return return_control_event(source, VAMP_EVENT_UNWATCHED, ret_event);
    case PHASE_GIVEN_UP:
        change_phase(source, PHASE_OVER);
        return return_control_event(source, VAMP_EVENT_UNWATCHED, ret_event);
    case PHASE_OVER:
        return give_up(source, err);
    }
    return VAMP_SOURCE_ERROR;
}

static enum vamp_source_status maestro_next(void *self, struct vamp_event *ret_event,
                                            struct vamp_err *err)
{
    struct maestro_source *source = self;
    if (source->phase == PHASE_WATCHING && next_wanted(source, ret_event)) {
        return VAMP_SOURCE_MORE;
    }
    return go_on(source, ret_event, err);
}

static void maestro_describe(void *self, struct vamp_source_state *ret_state)
{
    static const char *const texts[] = {
        [PHASE_WATCHING] = "watching the pool",
        [PHASE_SEEKING] = "the pool manager is gone; trying to join again",
        [PHASE_BACK] = "joined again",
        [PHASE_GIVEN_UP] = "the pool manager did not come back",
        [PHASE_OVER] = "the pool manager did not come back",
    };
    struct maestro_source *source = self;
    (void)pthread_mutex_lock(&source->lock);
    *ret_state = (struct vamp_source_state){
        .what = texts[source->phase],
        .since_ns = source->phase_since_ns,
        .rejoins = source->rejoins,
    };
    memcpy(ret_state->where, source->where, sizeof ret_state->where);
    memcpy(ret_state->trouble, source->trouble, sizeof ret_state->trouble);
    (void)pthread_mutex_unlock(&source->lock);
}

/* ------------------------------------------------------------------ waiting */

static void maestro_wait(void *self, int64_t timeout_ns)
{
    struct maestro_source *source = self;
    struct vamp_merge *merge = &source->session.merge;
    if (source->phase == PHASE_SEEKING) {
        seek(source, timeout_ns);
        return;
    }
    const int64_t grace_ns = grace_left_ns(source);
    timeout_ns = VAMP_MIN(timeout_ns, grace_ns);
    if (timeout_ns <= 0 || vamp_merge_ended(merge)) {
        return;
    }
    if (vamp_merge_holds(merge)) {
        vamp_sleep_ns(VAMP_MIN(timeout_ns, LOOK_NS));
        return;
    }
    const int64_t slice_ns = source->uses_times ? timeout_ns : SLICE_NS;
    const int64_t start_ns = vamp_session_now(&source->session);
    int64_t left_ns = timeout_ns;
    while (left_ns > 0) {
        const int64_t before_ns = vamp_session_now(&source->session);
        vamp_merge_wait(merge, VAMP_MIN(left_ns, slice_ns));
        const int64_t now_ns = vamp_session_now(&source->session);
        if (vamp_merge_holds(merge)) {
            if (now_ns - source->woken_ns < GATHER_WITHIN_NS) {
                vamp_sleep_ns(GATHER_NS);
            }
            source->woken_ns = now_ns;
            return;
        }
        if (vamp_merge_read(merge) || vamp_merge_ended(merge)) {
            return;
        }
        if (now_ns - before_ns < GATHER_NS) {
            vamp_sleep_ns(GATHER_NS); /* the wait ended early without events: avoid a busy loop */
        }
        left_ns = start_ns + timeout_ns - now_ns;
    }
}

const struct vamp_live vamp_live = {
    .version = VAMP_VERSION,
    .abilities = vamp_maestro_abilities,
    .examine = vamp_examine,
    .source = {.name = "maestro",
               .may_wait = VAMP_MSTRO_HAS_DROPS && VAMP_MSTRO_HAS_KIND_LOST,
               .unknown = maestro_unknown,
               .examined = maestro_examined,
               .open = maestro_open,
               .next = maestro_next,
               .wait = maestro_wait,
               .holds = maestro_holds,
               .finish = maestro_finish,
               .rest = maestro_rest,
               .describe = maestro_describe,
               .close = maestro_close},
};
