/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader between a source that a test scripts and a real ring. */
#include <setjmp.h>
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
static const struct vamp_source_ops patient = {
    .name = "patient", .may_block = true, .next = script_next, .wait = script_wait};

/* The longest names: few fit into the ring. */
static enum vamp_source_status long_next(void *self, struct vamp_event *ret_event,
                                         struct vamp_err *err)
{
    static char name[VAMP_NAME_BYTES_MAX];
    const enum vamp_source_status status = script_next(self, ret_event, err);
    memset(name, 'n', sizeof name);
    if (status == VAMP_SOURCE_MORE) {
        ret_event->name = name;
        ret_event->name_length = sizeof name;
    }
    return status;
}

static const struct vamp_source_ops patient_of_long_names = {
    .name = "long names", .may_block = true, .next = long_next, .wait = script_wait};

struct seen {
    uint64_t events, lost, last_serial, joins, leaves;
};

/* Reads until the ring is finished; the account must be complete and in order. */
static void read_all(struct vamp_reader *reader, struct seen *seen)
{
    struct vamp_ring *ring = reader->ring;
    *seen = (struct seen){0};
    while (!vamp_ring_finished(ring)) {
        const struct vamp_event *event = vamp_ring_next(ring);
        if (event == NULL) {
            vamp_ring_release(ring);
            if (!vamp_reader_read(reader)) {
                vamp_reader_wait(reader, PATIENCE_NS);
            }
            continue;
        }
        if (event->kind == VAMP_EVENT_LOST) {
            assert_int_equal(event->reason, VAMP_LOSS_RING);
            seen->lost += event->count;
            seen->last_serial += event->count;
        } else {
            seen->events++;
            assert_int_equal(event->serial, seen->last_serial + 1);
            seen->last_serial = event->serial;
            seen->joins += event->kind == VAMP_EVENT_JOIN;
            seen->leaves += event->kind == VAMP_EVENT_LEAVE;
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
    assert_int_equal(vamp_ring_create(65536, &reader->ring, NULL), 0);
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
    while (vamp_ring_used_bytes(reader.ring) < vamp_ring_capacity_bytes(reader.ring) / 2) {
    }
    struct seen seen;
    read_all(&reader, &seen);
    vamp_reader_join(&reader);
    assert_int_equal(seen.events + seen.lost, EVENTS);
    assert_int_equal(reader.end, VAMP_SOURCE_END);
    vamp_ring_free(reader.ring);
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
    vamp_ring_free(reader.ring);
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
    vamp_ring_free(reader.ring);
}

static void a_source_that_may_block_loses_nothing(void **state)
{
    (void)state;
    read_without_loss(&patient);
    read_without_loss(&patient_of_long_names);
}

static void stop_ends_it(void **state)
{
    (void)state;
    struct script script = {.count = EVENTS, .sent = EVENTS, .end = VAMP_SOURCE_EMPTY};
    atomic_int stop = 0;
    struct vamp_reader reader;
    start(&reader, &live, &script, &stop);
    atomic_store(&stop, 15);
    struct seen seen;
    read_all(&reader, &seen);
    vamp_reader_join(&reader);
    assert_int_equal(reader.end, VAMP_SOURCE_END);
    vamp_ring_free(reader.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_loses_exactly_what_it_says),
        cmocka_unit_test(leaves_find_room_in_a_full_ring),
        cmocka_unit_test(a_source_that_may_block_loses_nothing),
        cmocka_unit_test(stop_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
