/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live source against a scripted maestro.h: the orders, losses and ends that a real pool
 * manager shows only by chance. (The real one is in the conformance and end-to-end tests.)
 */
#include <unistd.h>

#include "tests/unit/live_scripted.h"
#include "vampire/live/maestro_fields.h"
#include "vampire/live/maestro_merge.h"
#include "vampire/live/serial_gaps.h"

/* ------------------------------------------------------------------ subscriptions */

static void asks_for_what_is_wanted(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    assert_string_equal(script.info, "abc");
    assert_int_equal(script.subscribed, 2);
    assert_int_equal(script.subscriptions[0].opts, MSTRO_SUBSCRIPTION_OPTS_DEFAULT);
    assert_true((script.subscriptions[0].mask & MSTRO_POOL_EVENT_TRANSPORT_FAILED) != 0);
    assert_true((script.subscriptions[0].mask & MSTRO_POOL_EVENT_LOST) != 0);
    assert_int_equal(script.subscriptions[1].opts, MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE);
    assert_int_equal(script.subscriptions[1].mask,
                     MSTRO_POOL_EVENT_DEMAND | MSTRO_POOL_EVENT_WITHDRAW |
                         MSTRO_POOL_EVENT_APP_LEAVE | MSTRO_POOL_EVENT_LOST |
                         MSTRO_POOL_EVENT_POOL_GONE);
    close_source(fixture);
    assert_int_equal(fixture->roundtrips[VAMP_OWN_JOIN], 1);
    assert_int_equal(fixture->roundtrips[VAMP_OWN_SUBSCRIBE], 2);
    assert_int_equal(fixture->roundtrips[VAMP_OWN_LEAVE], 1);
}

static void signal_before_can_be_off_or_for_all(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    open_source(fixture);
    assert_int_equal(script.subscribed, 1);
    close_source(fixture);
    memset(&script, 0, sizeof script);
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_ALL;
    open_source(fixture);
    assert_true((script.subscriptions[1].mask & MSTRO_POOL_EVENT_DECLARE) != 0);
    assert_int_equal(script.subscriptions[1].mask & MSTRO_POOL_EVENT_TRANSPORT_INIT, 0);
    close_source(fixture);
}

static void a_selector_does_not_hide_components(void **state)
{
    struct fixture *fixture = *state;
    fixture->context.selector = "(has .maestro.ecmwf.step)";
    open_source(fixture);
    assert_int_equal(script.subscribed, 3);
    assert_true((script.subscriptions[0].mask & MSTRO_POOL_EVENT_APP_JOIN) != 0);
    assert_int_equal(script.subscriptions[0].mask & MSTRO_POOL_EVENT_OFFER, 0);
    assert_int_equal(script.subscriptions[2].mask & MSTRO_POOL_EVENT_APP_JOIN, 0);
    assert_true((script.subscriptions[2].mask & MSTRO_POOL_EVENT_OFFER) != 0);
    close_source(fixture);
}

static void opening_fails_cleanly(void **state)
{
    struct fixture *fixture = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    fixture->context.selector = "(bad";
    assert_int_equal(try_open(fixture, &err), -EINVAL);
    assert_non_null(strstr(err.text, "(bad"));
    assert_int_equal(script.finalizes, 1);
    fixture->context.selector = NULL;
    for (unsigned at = 1; at <= 2; at++) {
        memset(&script, 0, sizeof script);
        script.fail_subscribe_at = at;
        assert_int_equal(try_open(fixture, &err), -EIO);
        assert_int_equal(script.finalizes, 1);
        assert_int_equal(script.disposed, at - 1);
    }
    memset(&script, 0, sizeof script);
    fixture->context.event_kinds = 0;
    fixture->options.leave_when_empty = false;
    assert_int_equal(try_open(fixture, &err), -EINVAL);
}

/* ------------------------------------------------------------------ order */

static void merges_by_serial(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    /* The batch with the odd serials is here before the one with the even ones. */
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 63, 2);
    uint64_t serials[256];
    assert_int_equal(drain(fixture, serials), 0); /* 2 may be on its way: 1 has to wait */
    vamp_live.source.wait(fixture->source, 1000);
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 2, 64, 2);
    size_t count = drain(fixture, serials);
    assert_int_equal(count, 63); /* 64 waits for what may precede it */
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(serials[i], i + 1);
    }
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
    assert_int_equal(drain(fixture, serials), 1);
    assert_int_equal(serials[0], 64);
    close_source(fixture);
}

static void holds_no_longer_than_promised(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    uint64_t serials[256];
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 10, 12, 1);
    assert_int_equal(drain(fixture, serials), 0);
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS - 1);
    assert_int_equal(drain(fixture, serials), 0);
    vamp_fake_clock_advance(&fixture->time, 1);
    assert_int_equal(drain(fixture, serials), 3);
    /* What comes too late is given out all the same, at once when its turn is long past. */
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 5, 5, 1);
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 13, 13, 1);
    assert_int_equal(drain(fixture, serials), 1);
    assert_int_equal(serials[0], 5);
    close_source(fixture);
}

static void one_subscription_never_holds(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    open_source(fixture);
    uint64_t serials[256];
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 100, 1);
    assert_int_equal(drain(fixture, serials), 100);
    close_source(fixture);
}

/* Many short lists, more than are kept, cut and interleaved at random: nothing lost, in order. */
static void random_interleaving_comes_out_in_order(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    uint64_t serial = 1, expected = 1, random = 1234567;
    struct vamp_event event;
    for (unsigned round = 0; round < 400; round++) {
        for (unsigned list = 0; list < 8; list++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            struct mstro_pool_event_ split[2][32];
            size_t counts[2] = {0, 0};
            for (unsigned i = 0; i < 1 + (random >> 60); i++) {
                unsigned to = (random >> (20 + i)) & 1;
                split[to][counts[to]++] =
                    at_serial(to == 0 ? MSTRO_POOL_EVENT_SEAL : MSTRO_POOL_EVENT_DEMAND, serial++);
            }
            for (unsigned to = 0; to < 2; to++) {
                if (counts[to] != 0) {
                    (random >> to & 1 ? deliver : deliver_packed)(to, split[to], counts[to]);
                }
            }
        }
        while (next(fixture, &event) == VAMP_SOURCE_MORE) {
            assert_int_equal(event.serial, expected++);
            assert_int_equal(event.phase, event.kind == VAMP_EVENT_DEMAND);
        }
        for (unsigned i = 0; i < MAX_SUBSCRIPTIONS; i++) {
            if (script.subscriptions[i].count == 0) {
                script.subscriptions[i].first = 0;
            }
        }
        vamp_fake_clock_advance(&fixture->time, 1000 * 1000);
    }
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
    while (next(fixture, &event) == VAMP_SOURCE_MORE) {
        assert_int_equal(event.serial, expected++);
    }
    assert_int_equal(expected, serial);
    close_source(fixture);
}

static struct mstro_pool_event_ timed(mstro_pool_event_kind kind, uint64_t serial, int64_t time_ns)
{
    struct mstro_pool_event_ event = at_serial(kind, serial);
    event.present = MSTRO_POOL_EVENT_HAS_TIME;
    event.time_ns = time_ns;
    return event;
}

/* Two subscriptions with serials that say nothing; events of both, in turn, by their times. */
static void check_unusable(struct fixture *fixture, uint64_t from, const char *words)
{
    open_source(fixture);
    struct mstro_pool_event_ split[2][3];
    for (unsigned i = 0; i < 6; i++) {
        const bool before = i % 2 == 0;
        split[before][i / 2] = timed(before ? MSTRO_POOL_EVENT_DEMAND : MSTRO_POOL_EVENT_OFFER,
                                     from == 0 ? 0 : from + i / 2, 1000 + i);
    }
    deliver(0, split[0], 3);
    deliver(1, split[1], 3);
    struct vamp_event event;
    for (unsigned i = 0; i < 6; i++) {
        vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
        enum vamp_source_status status = next(fixture, &event);
        status = status == VAMP_SOURCE_EMPTY ? next(fixture, &event) : status;
        assert_int_equal(status, VAMP_SOURCE_MORE);
        assert_int_equal(event.time_ns, 1000 + i);
        assert_false(vamp_event_has(&event, VAMP_HAS_SERIAL));
    }
    assert_int_equal(fixture->said_count, 1);
    assert_non_null(strstr(fixture->said, words));
    assert_true(
        (vamp_live.source.unknown(fixture->source) & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_SERIALS)) != 0);
    close_source(fixture);
}

static void serials_of_zero_are_not_used(void **state)
{
    check_unusable(*state, 0, "are all 0");
}

static void serials_by_subscription_are_not_used(void **state)
{
    check_unusable(*state, 7, "count each subscription by itself");
}

/* The same number for different events is one thing; numbers that are far apart, or that overlap
 * as ranges, are another. */
static void serials_that_interleave_are_used(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    uint64_t serials[256];
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 3, 1);
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 4, 9, 1);
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 10, 12, 1);
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
    size_t count = drain(fixture, serials);
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
    count += drain(fixture, serials + count);
    assert_int_equal(count, 12);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(serials[i], i + 1);
    }
    assert_int_equal(fixture->said_count, 0);
    close_source(fixture);
}

/* ------------------------------------------------------------------ events */

static void fields_are_taken_over(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    open_source(fixture);
    struct mstro_pool_event_ theirs = at_serial(MSTRO_POOL_EVENT_TRANSPORT_COMPLETED, 77);
    theirs.payload.transport_completed.cdo_name = "class:rd,step:6";
    theirs.name_length = 15;
    theirs.present = 0x1ff;
    theirs.time_ns = -5;
    theirs.cdo_size = 1 << 20;
    theirs.peer_appid = 3;
    theirs.transport_id = 12;
    theirs.cdo_id[0] = 1;
    theirs.cdo_id[15] = 2;
    theirs.tier = VAMP_TIER_OFI;
    theirs.cause = VAMP_CAUSE_MANAGER;
    theirs.duration_ns = 1234;
    theirs.reason = 99; /* of a newer Maestro */
    deliver(0, &theirs, 1);
    struct mstro_pool_event_ bare = at_serial(MSTRO_POOL_EVENT_APP_JOIN, 78);
    deliver(0, &bare, 1);
    struct vamp_event event;
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.kind, VAMP_EVENT_TRANSPORT_COMPLETED);
    assert_int_equal(event.present, VAMP_HAS_SERIAL | VAMP_HAS_TIME | VAMP_HAS_APP | VAMP_HAS_PEER |
                                        VAMP_HAS_CDO_ID | VAMP_HAS_SIZE | VAMP_HAS_CDO_NAME |
                                        VAMP_HAS_TRANSPORT | VAMP_HAS_TIER | VAMP_HAS_CAUSE |
                                        VAMP_HAS_DURATION);
    assert_true(event.duration_ns == 1234);
    assert_true(event.serial == 77 && event.time_ns == -5 && event.size_bytes == 1 << 20);
    assert_true(event.app_id == 1 && event.peer_id == 3 && event.transport_id == 12);
    assert_true(event.cdo_id.high == UINT64_C(1) << 56 && event.cdo_id.low == 2);
    assert_true(event.tier == VAMP_TIER_OFI && event.cause == VAMP_CAUSE_MANAGER);
    assert_int_equal(event.name_length, 15);
    assert_memory_equal(event.name, "class:rd,step:6", 15);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.kind, VAMP_EVENT_JOIN);
    assert_int_equal(event.present, VAMP_HAS_SERIAL | VAMP_HAS_APP);
    assert_true(event.time_ns == 1000 * VAMP_NS_PER_SECOND); /* its arrival */
    close_source(fixture);
}

static void long_names_are_cut_between_characters(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    open_source(fixture);
    static char name[VAMP_NAME_BYTES_MAX + 8];
    memset(name, 'n', sizeof name - 1);
    static const char euro[] = {'\xe2', '\x82', '\xac'}; /* one character of three bytes */
    memcpy(name + VAMP_NAME_BYTES_MAX - 1, euro, sizeof euro);
    struct mstro_pool_event_ theirs = at_serial(MSTRO_POOL_EVENT_OFFER, 1);
    theirs.payload.offer.cdo_name = name;
    theirs.name_length = sizeof name - 1;
    deliver(0, &theirs, 1);
    struct vamp_event event;
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.name_length, VAMP_NAME_BYTES_MAX - 1);
    close_source(fixture);
}

static void losses_and_unknown_kinds_are_marks_in_order(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    struct mstro_pool_event_ events[4] = {
        at_serial(MSTRO_POOL_EVENT_OFFER, 1), at_serial(MSTRO_POOL_EVENT_LOST, 0),
        at_serial((mstro_pool_event_kind)1 << 28, 20), at_serial(MSTRO_POOL_EVENT_OFFER, 21)};
    events[1].payload.lost.count = 17;
    deliver(0, events, 4);
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 30, 30, 1);
    struct vamp_event event;
    const struct {
        unsigned kind;
        uint64_t count;
    } expected[] = {{VAMP_EVENT_OFFER, 0},
                    {VAMP_EVENT_LOST, 17},
                    {VAMP_EVENT_REJECTED, 1},
                    {VAMP_EVENT_OFFER, 0}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
        assert_int_equal(event.kind, expected[i].kind);
        assert_int_equal(event.count, expected[i].count);
        assert_true(event.time_ns == 1000 * VAMP_NS_PER_SECOND);
    }
    close_source(fixture);
}

/* After a loss, the events of one subscription wait longer for those of another, which an
 * overloaded pool manager sends later. */
static void after_a_loss_events_wait_longer(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    struct mstro_pool_event_ lost[2] = {at_serial(MSTRO_POOL_EVENT_LOST, 0),
                                        at_serial(MSTRO_POOL_EVENT_OFFER, 1)};
    lost[0].payload.lost.count = 7;
    uint64_t serials[256];
    deliver(0, lost, 2);
    assert_int_equal(drain(fixture, serials), 0);
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
    assert_int_equal(drain(fixture, serials), 1); /* the loss itself */
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 9, 9, 1);
    assert_int_equal(drain(fixture, serials), 1);
    assert_int_equal(serials[0], 1);
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_OVERLOAD_NS - 1);
    assert_int_equal(drain(fixture, serials), 0);
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 8, 8, 1);
    assert_int_equal(drain(fixture, serials), 1);
    assert_int_equal(serials[0], 8);
    assert_true(vamp_live.source.holds(fixture->source));
    close_source(fixture);
}

/* Lost events have the time of the event that follows, however late the list arrives. */
static void losses_have_the_time_of_the_next_event(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    const struct mstro_pool_event_ first = timed(MSTRO_POOL_EVENT_OFFER, 1, 100);
    struct mstro_pool_event_ lost[2] = {at_serial(MSTRO_POOL_EVENT_LOST, 0),
                                        timed(MSTRO_POOL_EVENT_OFFER, 9, 200)};
    const struct mstro_pool_event_ packed = timed(MSTRO_POOL_EVENT_OFFER, 12, 300);
    lost[0].payload.lost.count = 7;
    deliver(0, &first, 1);
    deliver(0, lost, 2); /* in front of an event of its list */
    deliver(0, lost, 1); /* in front of a batch that arrives separately */
    deliver_packed(0, &packed, 1);
    deliver(0, lost, 1); /* with nothing after it */
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 30, 30, 1);
    const struct vamp_event expected[] = {
        {.kind = VAMP_EVENT_OFFER, .time_ns = 100}, {.kind = VAMP_EVENT_LOST, .time_ns = 200},
        {.kind = VAMP_EVENT_OFFER, .time_ns = 200}, {.kind = VAMP_EVENT_LOST, .time_ns = 300},
        {.kind = VAMP_EVENT_OFFER, .time_ns = 300}, {.kind = VAMP_EVENT_LOST, .time_ns = 300}};
    struct vamp_event event;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        enum vamp_source_status status = next(fixture, &event);
        if (status == VAMP_SOURCE_EMPTY) { /* the following event may still arrive */
            assert_true(i == 3 || i == 5);
            vamp_fake_clock_advance(&fixture->time, i == 5 ? VAMP_MERGE_OVERLOAD_NS : 0);
            status = next(fixture, &event);
        }
        assert_int_equal(status, VAMP_SOURCE_MORE);
        assert_int_equal(event.kind, expected[i].kind);
        assert_true(event.time_ns == expected[i].time_ns);
    }
    close_source(fixture);
}

/* A loss at the end of a list waits for the event that follows it in the next one. */
static void a_loss_waits_for_the_next_list(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    open_source(fixture);
    struct mstro_pool_event_ lost = at_serial(MSTRO_POOL_EVENT_LOST, 0);
    const struct mstro_pool_event_ after = timed(MSTRO_POOL_EVENT_OFFER, 9, 200);
    lost.payload.lost.count = 7;
    deliver(0, &lost, 1);
    struct vamp_event event;
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_EMPTY);
    deliver(0, &after, 1);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.kind, VAMP_EVENT_LOST);
    assert_true(event.time_ns == 200);
    close_source(fixture);
}

/* ------------------------------------------------------------------ gaps in serial numbers */

struct arrival_at {
    unsigned kind;
    uint64_t serial, count; /* of an event that arrives, or of a LOST control event */
    uint64_t lost;          /* events that are lost before it */
};

static void check_gaps(const struct arrival_at *arrivals, size_t count)
{
    struct vamp_serial_gaps gaps = {.newest = 0};
    for (size_t i = 0; i < count; i++) {
        const struct vamp_event event = {.kind = (uint8_t)arrivals[i].kind,
                                         .serial = arrivals[i].serial,
                                         .count = arrivals[i].count};
        assert_int_equal(vamp_serial_gaps_observe(&gaps, &event), arrivals[i].lost);
        if (arrivals[i].kind != VAMP_EVENT_LOST && arrivals[i].lost > 0) {
            assert_int_equal(vamp_serial_gaps_observe(&gaps, &event), 0); /* the same once more */
        }
    }
}

#define CHECK_GAPS(...)                                                                            \
    check_gaps((struct arrival_at[]){__VA_ARGS__},                                                 \
               sizeof(struct arrival_at[]){__VA_ARGS__} / sizeof(struct arrival_at))

static void gaps_are_lost_events(void **state)
{
    (void)state;
    /* gaps before the kind has occurred without one */
    CHECK_GAPS({VAMP_EVENT_OFFER, 7, 0, 0}, {VAMP_EVENT_OFFER, 9, 0, 0},
               {VAMP_EVENT_OFFER, 10, 0, 1}, {VAMP_EVENT_OFFER, 14, 0, 3},
               {VAMP_EVENT_OFFER, 15, 0, 0});
    /* reported losses, and further gaps */
    CHECK_GAPS({VAMP_EVENT_OFFER, 1, 0, 0}, {VAMP_EVENT_OFFER, 2, 0, 0}, {VAMP_EVENT_LOST, 0, 3, 3},
               {VAMP_EVENT_OFFER, 6, 0, 0}, {VAMP_EVENT_LOST, 0, 2, 2},
               {VAMP_EVENT_OFFER, 10, 0, 1});
    /* a loss that is reported after its gap */
    CHECK_GAPS({VAMP_EVENT_OFFER, 1, 0, 0}, {VAMP_EVENT_OFFER, 2, 0, 0},
               {VAMP_EVENT_OFFER, 5, 0, 2}, {VAMP_EVENT_LOST, 0, 2, 0}, {VAMP_EVENT_LOST, 0, 1, 1});
    /* a late event, and one that could not be decoded */
    CHECK_GAPS({VAMP_EVENT_OFFER, 1, 0, 0}, {VAMP_EVENT_OFFER, 2, 0, 0},
               {VAMP_EVENT_OFFER, 4, 0, 1}, {VAMP_EVENT_OFFER, 3, 0, 0},
               {VAMP_EVENT_OFFER, 6, 0, 0}, {VAMP_EVENT_REJECTED, 0, 1, 0},
               {VAMP_EVENT_OFFER, 8, 0, 0}, {VAMP_EVENT_OFFER, 10, 0, 1});
    /* late events from before the start */
    CHECK_GAPS({VAMP_EVENT_OFFER, 7, 0, 0}, {VAMP_EVENT_OFFER, 8, 0, 0},
               {VAMP_EVENT_OFFER, 5, 0, 0}, {VAMP_EVENT_OFFER, 6, 0, 0},
               {VAMP_EVENT_OFFER, 11, 0, 2});
}

/* Another component subscribes to OFFERs before they are handled. */
static void events_of_other_subscriptions_are_not_lost(void **state)
{
    (void)state;
    CHECK_GAPS({VAMP_EVENT_DECLARE, 1, 0, 0}, {VAMP_EVENT_DECLARE, 2, 0, 0},
               {VAMP_EVENT_OFFER, 4, 0, 0}, {VAMP_EVENT_DECLARE, 5, 0, 0},
               {VAMP_EVENT_OFFER, 7, 0, 0}, {VAMP_EVENT_DECLARE, 9, 0, 1});
}

/* What the pool manager could not send stands before the batch; what cannot be understood of one is
 * a mark, and the rest of it is given. */
static void batches_are_unpacked(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    static const char bytes[] = "\x1a\x0d\x08\x05\x10\x15\x19\x05\0\0\0\0\0\0\0"
                                "\x1a\x04\x08\x05\x10\x16\x1a\x01\x7f"
                                "\x1a\x08\x08\x07\x10\x17\x32\x02name";
    struct mstro_pool_event_ list[2] = {at_serial(MSTRO_POOL_EVENT_LOST, 0),
                                        at_serial(MSTRO_POOL_EVENT_PACKED, 21)};
    list[0].payload.lost.count = 3;
    list[1].payload.packed.bytes = bytes;
    list[1].payload.packed.length = sizeof bytes - 1 - 2; /* the name has two bytes */
    deliver(0, list, 2);
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 19, 19, 1);
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 30, 30, 1);
    const struct vamp_event expected[] = {
        {.kind = VAMP_EVENT_DEMAND, .serial = 19}, {.kind = VAMP_EVENT_LOST, .count = 3},
        {.kind = VAMP_EVENT_OFFER, .serial = 21},  {.kind = VAMP_EVENT_OFFER, .serial = 22},
        {.kind = VAMP_EVENT_REJECTED, .count = 1}, {.kind = VAMP_EVENT_DEMAND, .serial = 23}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct vamp_event event;
        assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
        assert_int_equal(event.kind, expected[i].kind);
        assert_int_equal(event.serial, expected[i].serial);
        assert_int_equal(event.count, expected[i].count);
        assert_true(event.time_ns == (i == 1 || i == 2 ? 5 : 1000 * VAMP_NS_PER_SECOND));
        assert_int_equal(event.name_length, event.serial == 23 ? 2 : 0);
    }
    close_source(fixture);
}

static void kinds_that_are_not_wanted_are_not_given(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    fixture->context.event_kinds = UINT64_C(1) << VAMP_EVENT_OFFER;
    open_source(fixture);
    struct mstro_pool_event_ events[3] = {at_serial(MSTRO_POOL_EVENT_APP_JOIN, 1),
                                          at_serial(MSTRO_POOL_EVENT_OFFER, 2),
                                          at_serial(MSTRO_POOL_EVENT_APP_LEAVE, 3)};
    deliver(0, events, 3);
    uint64_t serials[8];
    assert_int_equal(drain(fixture, serials), 1); /* join and leave only show when it is over */
    assert_int_equal(serials[0], 2);
    struct vamp_event event;
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_END);
    close_source(fixture);
}

/* ------------------------------------------------------------------ the end */

/* After a stop, events from before it are delivered, then each subscription ends. */
static void what_waits_at_a_stop_is_delivered(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 3, 1);
    script.subscriptions[0].events = 5;
    assert_true(vamp_live.source.finish(fixture->source, VAMP_NS_PER_SECOND));
    uint64_t serials[256];
    assert_int_equal(drain(fixture, serials), 3);
    struct vamp_event event;
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_EMPTY);
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 4, 5, 1);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE); /* subscription 1 has ended */
    assert_int_equal(event.serial, 4);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.serial, 5);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_END);
    close_source(fixture);
}

/* Events that have not been delivered are counted wherever they wait, and lost events with them. */
static void the_rest_is_counted(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    script.subscriptions[0].events = 17 + 4;
    script.subscriptions[1].events = 100;
    assert_true(vamp_live.source.finish(fixture->source, VAMP_NS_PER_SECOND));
    struct mstro_pool_event_ events[2] = {at_serial(MSTRO_POOL_EVENT_LOST, 0),
                                          at_serial(MSTRO_POOL_EVENT_OFFER, 21)};
    events[0].payload.lost.count = 17;
    struct vamp_event event;
    deliver(0, events, 2);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_EMPTY); /* it waits for subscription 1 */
    vamp_live.source.rest(fixture->source, &event);
    assert_int_equal(event.kind, VAMP_EVENT_LOST);
    assert_int_equal(event.count, 17 + 4 + 100);
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_OVERLOAD_NS);
    uint64_t serials[256];
    assert_int_equal(drain(fixture, serials), 2);
    vamp_live.source.rest(fixture->source, &event);
    assert_int_equal(event.count, 3 + 100);
    close_source(fixture);
}

/* A loss that is visible as a gap before the pool manager reports it is not missing twice at the
 * end. */
static void a_gap_that_is_reported_later_is_lost_once(void **state)
{
    struct fixture *fixture = *state;
    char path[] = "/tmp/live_maestro_test.XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "{\"maestro\": \"%s\", \"times\": \"\", \"sizes\": \"\", \"serials\": \"dense\", "
                  "\"order\": \"\", \"transports\": \"\", \"before\": \"\", \"early\": \"\", "
                  "\"losses\": \"\"}",
                  mstro_version());
    assert_int_equal(fclose(file), 0);
    fixture->options.examined = path;
    fixture->context.event_kinds = VAMP_EVENT_KINDS_ALL;
    open_source(fixture);
    assert_int_equal(unlink(path), 0);
    struct mstro_pool_event_ events[2] = {at_serial(MSTRO_POOL_EVENT_LOST, 0),
                                          at_serial(MSTRO_POOL_EVENT_OFFER, 7)};
    events[0].payload.lost.count = 3;
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 2, 1);
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 6, 6, 1);
    uint64_t serials[256];
    assert_int_equal(drain(fixture, serials), 2);
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
    assert_int_equal(drain(fixture, serials), 2); /* the control event for the gap, and 6 */
    deliver(0, events, 2);
    assert_int_equal(drain(fixture, serials), 0);
    vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_OVERLOAD_NS);
    assert_int_equal(drain(fixture, serials), 1);
    script.subscriptions[0].events = 2 + 3 + 2;
    script.subscriptions[1].events = 1;
    assert_true(vamp_live.source.finish(fixture->source, VAMP_NS_PER_SECOND));
    struct vamp_event event;
    vamp_live.source.rest(fixture->source, &event);
    assert_int_equal(event.count, 1);
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 8, 8, 1);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.serial, 8);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_END);
    close_source(fixture);
}

/* A Maestro without this request: the source ends when no event waits. */
static void a_refused_stop_ends_when_no_event_waits(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    open_source(fixture);
    script.finish_status = MSTRO_INVMSG;
    assert_true(vamp_live.source.finish(fixture->source, VAMP_NS_PER_SECOND));
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 3, 1);
    uint64_t serials[256];
    assert_int_equal(drain(fixture, serials), 3);
    struct vamp_event event;
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_END);
    vamp_live.source.rest(fixture->source, &event);
    assert_true(event.count == VAMP_REST_UNKNOWN);
    close_source(fixture);
}

static void ends_after_the_grace(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.leave_grace_ns = VAMP_NS_PER_SECOND;
    open_source(fixture);
    struct vamp_event event;
    uint64_t serials[8];
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_EMPTY);
    for (uint64_t phase = 0; phase < 2; phase++) {
        struct mstro_pool_event_ events[2] = {
            at_serial(MSTRO_POOL_EVENT_APP_JOIN, 10 * phase + 1),
            at_serial(MSTRO_POOL_EVENT_APP_LEAVE, 10 * phase + 2)};
        deliver(0, events, 2);
        (void)drain(fixture, serials);
        vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
        (void)drain(fixture, serials);
        vamp_fake_clock_advance(&fixture->time, VAMP_NS_PER_SECOND - 1); /* a gap, not the end */
        assert_int_equal(next(fixture, &event), VAMP_SOURCE_EMPTY);
    }
    vamp_fake_clock_advance(&fixture->time, 1);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_END);
    close_source(fixture);
}

static void gone_comes_after_everything_received(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 3, 2);
    deliver_serials(1, MSTRO_POOL_EVENT_DEMAND, 2, 2, 1);
    for (unsigned i = 0; i < 2; i++) {
        deliver_serials(i, MSTRO_POOL_EVENT_POOL_GONE, 0, 0, 1);
        script.subscriptions[i].status = MSTRO_NO_PM;
    }
    struct vamp_event event;
    uint64_t expected = 1;
    unsigned marks = 0;
    enum vamp_source_status status;
    while ((status = next(fixture, &event)) != VAMP_SOURCE_GONE) {
        if (status == VAMP_SOURCE_MORE && vamp_event_is_mark(&event)) {
            assert_int_equal(expected, 4);
            assert_int_equal(event.kind, marks++ == 0 ? VAMP_EVENT_GONE : VAMP_EVENT_UNWATCHED);
        } else if (status == VAMP_SOURCE_MORE) {
            assert_int_equal(event.serial, expected++);
        } else {
            assert_int_equal(status, VAMP_SOURCE_EMPTY);
            vamp_live.source.wait(fixture->source, 1000);
            vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
        }
    }
    assert_int_equal(expected, 4);
    assert_int_equal(marks, 2);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_GONE); /* and stays so */
    vamp_live.source.wait(fixture->source, VAMP_NS_PER_SECOND * 3600);
    close_source(fixture);
}

static void gone_after_the_end_is_the_end(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned reason = VAMP_LEAVE_UNKNOWN; reason < VAMP_LEAVE_REASON_COUNT; reason++) {
        memset(&script, 0, sizeof script);
        fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
        fixture->options.leave_grace_ns = 3600 * VAMP_NS_PER_SECOND;
        open_source(fixture);
        struct mstro_pool_event_ events[2] = {at_serial(MSTRO_POOL_EVENT_APP_JOIN, 1),
                                              at_serial(MSTRO_POOL_EVENT_APP_LEAVE, 2)};
        events[1].present = MSTRO_POOL_EVENT_HAS_REASON;
        events[1].reason = reason;
        deliver(0, events, 2);
        script.subscriptions[0].status = MSTRO_NO_PM;
        struct vamp_event event;
        enum vamp_source_status status;
        while ((status = next(fixture, &event)) == VAMP_SOURCE_MORE ||
               status == VAMP_SOURCE_EMPTY) {
        }
        assert_int_equal(status,
                         reason == VAMP_LEAVE_POOL_ENDED ? VAMP_SOURCE_GONE : VAMP_SOURCE_END);
        close_source(fixture);
    }
}

static void a_broken_read_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    open_source(fixture);
    script.subscriptions[0].status = MSTRO_INVMSG;
    struct vamp_event event;
    enum vamp_source_status status;
    struct vamp_err err = VAMP_ERR_NONE;
    while ((status = vamp_live.source.next(fixture->source, &event, &err)) == VAMP_SOURCE_EMPTY) {
    }
    assert_int_equal(status, VAMP_SOURCE_ERROR);
    assert_non_null(strstr(err.text, "some failure"));
    close_source(fixture);
}

static void without_memory_reading_is_tried_again(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    open_source(fixture);
    script.subscriptions[0].status = MSTRO_NOMEM;
    struct vamp_event event;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(next(fixture, &event), VAMP_SOURCE_EMPTY);
    }
    script.subscriptions[0].status = MSTRO_OK;
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 1, 1);
    while (next(fixture, &event) == VAMP_SOURCE_EMPTY) {
        vamp_fake_clock_advance(&fixture->time, VAMP_MERGE_HOLD_NS);
    }
    assert_int_equal(event.serial, 1);
    close_source(fixture);
}

static void abilities_are_listed(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    unsigned lines = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    vamp_maestro_abilities(stream);
    assert_int_equal(fclose(stream), 0);
    for (const char *c = text; *c != '\0'; c++) {
        lines += *c == '\n';
    }
    assert_true(lines >= 3);
    free(text);
}

#define SOURCE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOURCE_TEST(asks_for_what_is_wanted),
        SOURCE_TEST(signal_before_can_be_off_or_for_all),
        SOURCE_TEST(a_selector_does_not_hide_components),
        SOURCE_TEST(opening_fails_cleanly),
        SOURCE_TEST(merges_by_serial),
        SOURCE_TEST(holds_no_longer_than_promised),
        SOURCE_TEST(one_subscription_never_holds),
        SOURCE_TEST(random_interleaving_comes_out_in_order),
        SOURCE_TEST(serials_of_zero_are_not_used),
        SOURCE_TEST(serials_by_subscription_are_not_used),
        SOURCE_TEST(serials_that_interleave_are_used),
        SOURCE_TEST(fields_are_taken_over),
        SOURCE_TEST(long_names_are_cut_between_characters),
        SOURCE_TEST(losses_and_unknown_kinds_are_marks_in_order),
        SOURCE_TEST(after_a_loss_events_wait_longer),
        SOURCE_TEST(losses_have_the_time_of_the_next_event),
        SOURCE_TEST(a_loss_waits_for_the_next_list),
        SOURCE_TEST(gaps_are_lost_events),
        SOURCE_TEST(events_of_other_subscriptions_are_not_lost),
        SOURCE_TEST(batches_are_unpacked),
        SOURCE_TEST(kinds_that_are_not_wanted_are_not_given),
        SOURCE_TEST(what_waits_at_a_stop_is_delivered),
        SOURCE_TEST(the_rest_is_counted),
        SOURCE_TEST(a_gap_that_is_reported_later_is_lost_once),
        SOURCE_TEST(a_refused_stop_ends_when_no_event_waits),
        SOURCE_TEST(ends_after_the_grace),
        SOURCE_TEST(gone_comes_after_everything_received),
        SOURCE_TEST(gone_after_the_end_is_the_end),
        SOURCE_TEST(a_broken_read_is_an_error),
        SOURCE_TEST(without_memory_reading_is_tried_again),
        SOURCE_TEST(abilities_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
