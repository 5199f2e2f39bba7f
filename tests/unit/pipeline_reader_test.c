/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader between a source that a test scripts and its consumer. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/vampire/reader.h"

#define EVENTS 20000
#define PATIENCE_NS (10 * VAMP_NS_PER_SECOND)

struct script {
    uint64_t sent, count;
    enum vamp_source_status end;
    unsigned names;    /* given since EMPTY */
    atomic_bool ended; /* `end` was returned: all events before it were taken */
};

static enum vamp_source_status script_next(void *self, struct vamp_event *ret_event,
                                           struct vamp_err *err)
{
    struct script *script = self;
    if (script->sent == script->count) {
        if (script->end == VAMP_SOURCE_GONE) {
            (void)vamp_err_set(err, -EPIPE, "the pool manager is gone");
        }
        atomic_store(&script->ended, true);
        return script->end;
    }
    static const char name[] = "class:rd,step:6";
    *ret_event = (struct vamp_event){
        .kind = VAMP_EVENT_DECLARE,
        .serial = ++script->sent,
        .time_ns = (int64_t)script->sent,
        .name = name,
        .name_length = sizeof name - 1,
    };
    return VAMP_SOURCE_MORE;
}

static void script_wait(void *self, int64_t timeout_ns)
{
    (void)self;
    (void)timeout_ns;
}

static const struct vamp_source_ops live = {
    .name = "live", .next = script_next, .wait = script_wait};
/* A source whose last five events do not arrive in time after a stop. */
static bool slow_finish(void *self, int64_t timeout_ns)
{
    struct script *script = self;
    assert_int_equal(timeout_ns, 1);
    script->end = VAMP_SOURCE_EMPTY;
    return true;
}

static void slow_rest(void *self, struct vamp_event *ret_lost)
{
    const struct script *script = self;
    assert_true(script->sent > 0);
    *ret_lost =
        (struct vamp_event){.kind = VAMP_EVENT_LOST, .reason = VAMP_LOSS_POOL_MANAGER, .count = 5};
}

static const struct vamp_source_ops slow = {.name = "slow",
                                            .next = script_next,
                                            .wait = script_wait,
                                            .finish = slow_finish,
                                            .rest = slow_rest};
static const struct vamp_source_ops patient = {
    .name = "patient", .may_block = true, .next = script_next, .wait = script_wait};

/* The longest names, each event's its own, in memory that the next event uses again. */
static enum vamp_source_status long_next(void *self, struct vamp_event *ret_event,
                                         struct vamp_err *err)
{
    static char name[VAMP_NAME_BYTES_MAX];
    const enum vamp_source_status status = script_next(self, ret_event, err);
    if (status == VAMP_SOURCE_MORE) {
        memset(name, (int)('a' + ret_event->serial % 26), sizeof name);
        ret_event->name = name;
        ret_event->name_length = sizeof name;
    }
    return status;
}

/* The same in memory that is used again by the call after EMPTY. */
static enum vamp_source_status kept_next(void *self, struct vamp_event *ret_event,
                                         struct vamp_err *err)
{
    enum { NAMES = 20 };
    static char names[NAMES][VAMP_NAME_BYTES_MAX];
    struct script *script = self;
    if (script->names == NAMES) {
        script->names++;
        return VAMP_SOURCE_EMPTY;
    }
    if (script->names > NAMES) {
        memset(names, 0, sizeof names);
        script->names = 0;
    }
    const enum vamp_source_status status = long_next(self, ret_event, err);
    if (status == VAMP_SOURCE_MORE) {
        ret_event->name = memcpy(names[script->names++], ret_event->name, VAMP_NAME_BYTES_MAX);
    }
    return status;
}

static const struct vamp_source_ops keeper = {.name = "keeper",
                                              .may_block = true,
                                              .keeps_texts = true,
                                              .next = kept_next,
                                              .wait = script_wait};
static const struct vamp_source_ops patient_of_long_names = {
    .name = "long names", .may_block = true, .next = long_next, .wait = script_wait};

struct seen {
    uint64_t events, lost, last_serial, joins, leaves;
};

static void see(struct seen *seen, const struct vamp_event *event)
{
    if (event->kind == VAMP_EVENT_LOST) {
        assert_int_equal(event->reason, VAMP_LOSS_RING);
        seen->lost += event->count;
        seen->last_serial += event->count;
        return;
    }
    seen->events++;
    assert_int_equal(event->serial, seen->last_serial + 1);
    seen->last_serial = event->serial;
    seen->joins += event->kind == VAMP_EVENT_JOIN;
    seen->leaves += event->kind == VAMP_EVENT_LEAVE;
    if (event->name_length == VAMP_NAME_BYTES_MAX) {
        assert_int_equal(event->name[0], 'a' + event->serial % 26);
        assert_int_equal(event->name[VAMP_NAME_BYTES_MAX - 1], event->name[0]);
    }
}

/* Reads until the reader is finished; the account must be complete and in order. */
static void read_all(struct vamp_reader *reader, struct seen *seen)
{
    const struct vamp_event *events[VAMP_READER_TAKE_MAX];
    *seen = (struct seen){0};
    while (!vamp_reader_finished(reader)) {
        const unsigned count = vamp_reader_take(reader, events, VAMP_READER_TAKE_MAX);
        for (unsigned i = 0; i < count; i++) {
            see(seen, events[i]);
        }
        if (count == 0) {
            vamp_reader_wait(reader, PATIENCE_NS);
        }
    }
}

/* A workflow in which everyone leaves while the ring is full. */
enum { MEMBERS = 20 };

static enum vamp_source_status whole_next(void *self, struct vamp_event *ret_event,
                                          struct vamp_err *err)
{
    const enum vamp_source_status status = script_next(self, ret_event, err);
    if (status != VAMP_SOURCE_MORE) {
        return status;
    }
    const uint64_t serial = ret_event->serial;
    if (serial <= MEMBERS) {
        ret_event->kind = VAMP_EVENT_JOIN;
    } else if (serial > MEMBERS + EVENTS) {
        ret_event->kind = VAMP_EVENT_LEAVE;
        ret_event->name_length = 0;
    }
    return status;
}

static const struct vamp_source_ops whole = {
    .name = "whole", .next = whole_next, .wait = script_wait};

static void start(struct vamp_reader *reader, const struct vamp_source_ops *ops,
                  struct script *script, const atomic_int *stop)
{
    *reader = (struct vamp_reader){
        .ops = ops, .source = script, .clock = &vamp_clock_system, .stop = stop};
    assert_int_equal(vamp_reader_prepare(reader, 65536, NULL), 0);
    assert_int_equal(vamp_reader_start(reader, NULL), 0);
}

static void a_full_ring_loses_exactly_what_it_says(void **state)
{
    (void)state;
    struct script script = {.count = EVENTS, .end = VAMP_SOURCE_END};
    atomic_int stop = 0;
    struct vamp_reader reader;
    start(&reader, &live, &script, &stop);
    /* Nobody reads until the ring has filled up. */
    size_t bound = 65536;
    while (vamp_reader_waiting_bytes(&reader, &bound) < bound / 2) {
    }
    struct seen seen;
    read_all(&reader, &seen);
    vamp_reader_join(&reader);
    assert_int_equal(seen.events + seen.lost, EVENTS);
    assert_int_equal(reader.end, VAMP_SOURCE_END);
    vamp_reader_done(&reader);
}

static const struct vamp_source_ops waiting = {
    .name = "waiting", .may_wait = true, .next = script_next, .wait = script_wait};
static const struct vamp_source_ops waiting_with_long_names = {
    .name = "waiting", .may_wait = true, .next = long_next, .wait = script_wait};

/* Nobody takes anything until the source is not read any more; everything then arrives, also what
 * found no room. */
static void events_wait_before_a_full_ring(void **state)
{
    (void)state;
    const struct vamp_source_ops *all[] = {&waiting, &waiting_with_long_names};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct script script = {.count = EVENTS, .end = VAMP_SOURCE_END};
        atomic_int stop = 0;
        struct vamp_reader reader;
        start(&reader, all[i], &script, &stop);
        size_t bound = 0;
        size_t full = 0;
        unsigned beats = 0;
        /* Ten turns of the source thread without an event. */
        while (full == 0 || atomic_load(&reader.beats) - beats < 10) {
            const size_t now = vamp_reader_waiting_bytes(&reader, &bound);
            if (now != full) {
                full = now;
                beats = atomic_load(&reader.beats);
            }
        }
        assert_true(full > bound / 2 && full < bound);
        assert_false(atomic_load(&script.ended));
        struct seen seen;
        read_all(&reader, &seen);
        vamp_reader_join(&reader);
        assert_int_equal(seen.events, EVENTS);
        assert_int_equal(seen.lost, 0);
        vamp_reader_done(&reader);
    }
}

/* Also while there is always more to take. */
static void what_was_taken_makes_room(void **state)
{
    (void)state;
    struct script script = {.count = EVENTS, .end = VAMP_SOURCE_END};
    atomic_int stop = 0;
    struct vamp_reader reader;
    const struct vamp_event *events[VAMP_READER_TAKE_MAX];
    start(&reader, &live, &script, &stop);
    while (!atomic_load(&script.ended)) {
    }
    size_t bound = 0;
    const size_t full = vamp_reader_waiting_bytes(&reader, &bound);
    assert_int_equal(vamp_reader_take(&reader, events, VAMP_READER_TAKE_MAX), VAMP_READER_TAKE_MAX);
    assert_int_equal(vamp_reader_take(&reader, events, 1), 1);
    assert_true(vamp_reader_waiting_bytes(&reader, &bound) < full);
    while (!vamp_reader_finished(&reader)) {
        (void)vamp_reader_take(&reader, events, VAMP_READER_TAKE_MAX);
    }
    vamp_reader_join(&reader);
    vamp_reader_done(&reader);
}

static void leaves_find_room_in_a_full_ring(void **state)
{
    (void)state;
    const uint64_t all = MEMBERS + EVENTS + MEMBERS;
    struct script script = {.count = all, .end = VAMP_SOURCE_END};
    atomic_int stop = 0;
    struct vamp_reader reader;
    start(&reader, &whole, &script, &stop);
    /* Nothing is read until everything was put into the ring, or found no room. */
    while (!atomic_load(&script.ended)) {
    }
    struct seen seen;
    read_all(&reader, &seen);
    vamp_reader_join(&reader);
    assert_true(seen.lost > 0);
    assert_int_equal(seen.joins, MEMBERS);
    assert_int_equal(seen.leaves, MEMBERS);
    assert_int_equal(seen.events + seen.lost, all);
    vamp_reader_done(&reader);
}

static void read_without_loss(const struct vamp_source_ops *ops)
{
    struct script script = {.count = EVENTS, .end = VAMP_SOURCE_GONE};
    atomic_int stop = 0;
    struct vamp_reader reader;
    start(&reader, ops, &script, &stop);
    struct seen seen;
    read_all(&reader, &seen);
    vamp_reader_join(&reader);
    assert_int_equal(seen.events, EVENTS);
    assert_int_equal(seen.lost, 0);
    assert_int_equal(reader.end, VAMP_SOURCE_GONE);
    assert_string_equal(reader.err.text, "the pool manager is gone");
    vamp_reader_done(&reader);
}

static void a_source_that_may_block_loses_nothing(void **state)
{
    (void)state;
    read_without_loss(&patient);
    read_without_loss(&patient_of_long_names);
    read_without_loss(&keeper);
}

static void is_ended_by_stop(const struct vamp_source_ops *ops)
{
    struct script script = {.count = EVENTS, .sent = EVENTS, .end = VAMP_SOURCE_EMPTY};
    atomic_int stop = 0;
    struct vamp_reader reader;
    start(&reader, ops, &script, &stop);
    atomic_store(&stop, 15);
    struct seen seen;
    read_all(&reader, &seen);
    vamp_reader_join(&reader);
    assert_int_equal(reader.end, VAMP_SOURCE_END);
    vamp_reader_done(&reader);
}

static void stop_ends_it(void **state)
{
    (void)state;
    is_ended_by_stop(&live);
    is_ended_by_stop(&patient);
}

/* Events from before a stop that do not arrive within the time limit are counted as lost. */
static void what_does_not_arrive_in_time_is_lost(void **state)
{
    (void)state;
    struct script script = {.count = 3, .end = VAMP_SOURCE_EMPTY};
    const _Atomic int64_t finish_ns = 2;
    atomic_int stop = 0;
    struct vamp_reader reader = {.ops = &slow,
                                 .source = &script,
                                 .clock = &vamp_clock_system,
                                 .stop = &stop,
                                 .finish_ns = &finish_ns};
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_reader_prepare(&reader, 1 << 16, &err), 0);
    assert_int_equal(vamp_reader_start(&reader, &err), 0);
    const struct vamp_event *event = NULL;
    for (uint64_t serial = 1; serial <= 3; serial++) {
        while (vamp_reader_take(&reader, &event, 1) == 0) {
            vamp_reader_wait(&reader, PATIENCE_NS);
        }
        assert_int_equal(event->serial, serial);
    }
    atomic_store(&stop, SIGTERM);
    while (vamp_reader_take(&reader, &event, 1) == 0) {
        vamp_reader_wait(&reader, PATIENCE_NS);
    }
    assert_int_equal(event->kind, VAMP_EVENT_LOST);
    assert_int_equal(event->reason, VAMP_LOSS_POOL_MANAGER);
    assert_int_equal(event->count, 5);
    assert_int_equal(vamp_reader_take(&reader, &event, 1), 0);
    vamp_reader_join(&reader);
    assert_int_equal(reader.end, VAMP_SOURCE_ERROR);
    assert_non_null(strstr(reader.err.text, "5 events from before the signal did not arrive"));
    vamp_reader_done(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_loses_exactly_what_it_says),
        cmocka_unit_test(events_wait_before_a_full_ring),
        cmocka_unit_test(what_was_taken_makes_room),
        cmocka_unit_test(leaves_find_room_in_a_full_ring),
        cmocka_unit_test(a_source_that_may_block_loses_nothing),
        cmocka_unit_test(stop_ends_it),
        cmocka_unit_test(what_does_not_arrive_in_time_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
