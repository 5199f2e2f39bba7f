/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live source and a pool manager that vanishes, against a scripted maestro.h: joining again,
 * giving up, and the length of the time without a pool manager.
 */
#include "tests/unit/live_scripted.h"

/* Opens, and lets the pool manager vanish behind one event; the mark has been taken. */
static void lose(struct fixture *fixture)
{
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    open_source(fixture);
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 1, 1);
    script.subscriptions[0].status = MSTRO_NO_PM;
    struct vamp_event event;
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.kind, VAMP_EVENT_OFFER);
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.kind, VAMP_EVENT_GONE);
    script.subscriptions[0].status = MSTRO_OK;
    assert_int_equal(script.finalizes, 1);
    assert_int_equal(script.lists_out, 0);
}

/* Steps until something but EMPTY comes. */
static enum vamp_source_status seek(struct fixture *fixture, struct vamp_event *event)
{
    enum vamp_source_status status;
    while ((status = next(fixture, event)) == VAMP_SOURCE_EMPTY) {
        vamp_fake_clock_advance(&fixture->time, 100000000);
        vamp_live.source.wait(fixture->source, 1);
    }
    return status;
}

static void it_joins_again(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.rejoin_ns = 60 * VAMP_NS_PER_SECOND;
    /* Nobody there; gone again during subscribe; there. */
    script.init_results[1] = MSTRO_NO_PM;
    script.fail_subscribe_at = 2;
    script.fail_subscribe_with = MSTRO_NO_PM;
    lose(fixture);
    struct vamp_event event;
    assert_int_equal(seek(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.kind, VAMP_EVENT_UNWATCHED);
    assert_int_equal(script.inits, 4);
    assert_int_equal(script.finalizes, 2);
    struct vamp_source_state shown;
    vamp_live.source.describe(fixture->source, &shown);
    assert_int_equal(shown.rejoins, 1);
    deliver_serials(0, MSTRO_POOL_EVENT_OFFER, 1, 1, 1);
    assert_int_equal(seek(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.serial, 1);
    /* Once that it was lost, once that it is back; the round trips of all sessions. */
    assert_int_equal(fixture->said_count, 2);
    assert_int_equal(fixture->roundtrips[VAMP_OWN_JOIN], 3);
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_live.source.close(fixture->source, &err), 0);
    assert_int_equal(script.finalizes, 3);
    assert_int_equal(script.lists_out, 0);
}

static void it_gives_up_in_time(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.rejoin_ns = 20 * VAMP_NS_PER_SECOND;
    for (unsigned i = 1; i < 16; i++) {
        script.init_results[i] = MSTRO_NO_PM;
    }
    lose(fixture);
    const int64_t lost_ns = fixture->time.monotonic_ns;
    struct vamp_event event;
    assert_int_equal(seek(fixture, &event), VAMP_SOURCE_MORE);
    assert_int_equal(event.kind, VAMP_EVENT_UNWATCHED);
    const int64_t took_ns = fixture->time.monotonic_ns - lost_ns;
    assert_true(took_ns >= 20 * VAMP_NS_PER_SECOND && took_ns < 21 * VAMP_NS_PER_SECOND);
    assert_in_range(script.inits, 5, 10); /* pauses that grow */
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_GONE);
    assert_in_range(fixture->said_count, 2, 3);
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_live.source.close(fixture->source, &err), 0);
    assert_int_equal(script.finalizes, 1); /* it is in no pool that it could leave */
}

/* Of an event that happened `time_ns` on the pool's clock. */
static struct mstro_pool_event_ at_time(uint64_t serial, int64_t time_ns)
{
    struct mstro_pool_event_ event = at_serial(MSTRO_POOL_EVENT_OFFER, serial);
    event.present = MSTRO_POOL_EVENT_HAS_TIME;
    event.time_ns = time_ns;
    return event;
}

/* The mark that comes when the pool manager is gone behind these events. */
static int64_t time_of_gone(struct fixture *fixture)
{
    script.subscriptions[0].status = MSTRO_NO_PM;
    struct vamp_event event;
    do {
        assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    } while (event.kind != VAMP_EVENT_GONE);
    return event.time_ns;
}

/* Stopped, given up by the pool manager meanwhile, and continued: what it reads then is old, and
 * says nothing about how late it is. */
static void time_goes_on_while_it_is_stopped(void **state)
{
    struct fixture *fixture = *state;
    const int64_t pool_ns = 5000 * VAMP_NS_PER_SECOND; /* its clock is not ours */
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    fixture->options.rejoin_ns = VAMP_NS_PER_SECOND;
    open_source(fixture);
    struct mstro_pool_event_ list[] = {at_time(1, pool_ns)};
    deliver(0, list, 1);
    struct vamp_event event;
    assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
    vamp_fake_clock_advance(&fixture->time, 60 * VAMP_NS_PER_SECOND);
    for (uint64_t second = 1; second <= 3; second++) {
        list[0] = at_time(1 + second, pool_ns + (int64_t)second * VAMP_NS_PER_SECOND);
        deliver(0, list, 1);
    }
    list[0] = at_time(5, INT64_MAX); /* not a time of any clock */
    deliver(0, list, 1);
    assert_int_equal(time_of_gone(fixture), pool_ns + 60 * VAMP_NS_PER_SECOND);
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_live.source.close(fixture->source, &err), 0);
}

/* A clock that was set back is believed when nothing else comes for some seconds. */
static void a_clock_set_back_is_believed(void **state)
{
    struct fixture *fixture = *state;
    int64_t pool_ns = 5000 * VAMP_NS_PER_SECOND;
    fixture->options.signal_before = VAMP_SIGNAL_BEFORE_OFF;
    fixture->options.rejoin_ns = VAMP_NS_PER_SECOND;
    open_source(fixture);
    for (uint64_t serial = 1; serial <= 20; serial++) {
        struct mstro_pool_event_ list[] = {at_time(serial, pool_ns)};
        deliver(0, list, 1);
        struct vamp_event event;
        assert_int_equal(next(fixture, &event), VAMP_SOURCE_MORE);
        vamp_fake_clock_advance(&fixture->time, VAMP_NS_PER_SECOND);
        pool_ns += (serial == 8 ? -3600 : 1) * VAMP_NS_PER_SECOND;
    }
    assert_int_equal(time_of_gone(fixture), pool_ns);
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_live.source.close(fixture->source, &err), 0);
}

#define SOURCE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOURCE_TEST(it_joins_again),
        SOURCE_TEST(it_gives_up_in_time),
        SOURCE_TEST(time_goes_on_while_it_is_stopped),
        SOURCE_TEST(a_clock_set_back_is_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
