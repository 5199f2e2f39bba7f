/* SPDX-License-Identifier: BSD-3-Clause */
/* The event ring: order, copies, wrap-around at every size, refusals, waiting, closing, and two
 * threads with millions of events of odd sizes. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vampire/core/clock.h"
#include "vampire/core/event/ring.h"

#define MINIMUM ((size_t)64 * 1024)

static struct vamp_ring *make_ring(size_t bytes)
{
    struct vamp_ring *ring = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_ring_create(bytes, &ring, &err), 0);
    return ring;
}

/* An event that can be recomputed from its number alone: every field and every text byte. */
static uint32_t odd_length(uint64_t number)
{
    return number % 97 == 0 ? 1000 + (uint32_t)(number % 3001) : (uint32_t)(number * 7 % 61);
}

static struct vamp_event make_event(uint64_t number, char *text)
{
    uint32_t length = odd_length(number);
    memset(text, 'a' + (int)(number % 26), length);
    return (struct vamp_event){.serial = number,
                               .time_ns = -(int64_t)number,
                               .app_id = number ^ 0x5555,
                               .name = length != 0 ? text : NULL,
                               .name_length = length,
                               .present = VAMP_HAS_SERIAL,
                               .kind = (uint8_t)(1 + number % 15)};
}

/* Pushes that event, two of three from the slot. */
static bool push_event(struct vamp_ring *ring, uint64_t number, char *text)
{
    struct vamp_event spare = {0};
    struct vamp_event *event = number % 3 == 0 ? &spare : vamp_ring_slot(ring, &spare);
    *event = make_event(number, text);
    return vamp_ring_push(ring, event);
}

static bool is_event(const struct vamp_event *event, uint64_t number)
{
    bool same = event->serial == number && event->time_ns == -(int64_t)number &&
                event->app_id == (number ^ 0x5555) && event->kind == 1 + number % 15 &&
                event->name_length == odd_length(number);
    for (uint32_t i = 0; same && i < event->name_length; i++) {
        same = event->name[i] == (char)('a' + (int)(number % 26));
    }
    return same;
}

static void sizes_are_rounded_up(void **state)
{
    (void)state;
    const struct {
        size_t asked, given;
    } cases[] = {{0, MINIMUM}, {1, MINIMUM}, {MINIMUM, MINIMUM}, {MINIMUM + 1, 2 * MINIMUM}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vamp_ring *ring = make_ring(cases[i].asked);
        assert_int_equal(vamp_ring_capacity_bytes(ring), cases[i].given);
        assert_int_equal(vamp_ring_used_bytes(ring), 0);
        vamp_ring_free(ring);
    }
    struct vamp_ring *untouched = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_ring_create(SIZE_MAX, &untouched, &err), -EINVAL);
    assert_null(untouched);
    vamp_ring_free(NULL);
}

static void events_are_copied(void **state)
{
    (void)state;
    struct vamp_ring *ring = make_ring(0);
    char text[4096];
    struct vamp_event event = make_event(97, text);
    assert_true(vamp_ring_push(ring, &event));
    vamp_ring_publish(ring);
    memset(text, '!', sizeof text);
    event.serial = 0;
    const struct vamp_event *got = vamp_ring_next(ring);
    assert_non_null(got);
    assert_true(is_event(got, 97));
    assert_null(vamp_ring_next(ring));
    assert_true(is_event(got, 97)); /* until the release */
    assert_true(vamp_ring_used_bytes(ring) > odd_length(97));
    vamp_ring_release(ring);
    assert_int_equal(vamp_ring_used_bytes(ring), 0);
    vamp_ring_free(ring);
}

static void what_is_not_published_is_not_seen(void **state)
{
    (void)state;
    struct vamp_ring *ring = make_ring(0);
    char text[4096];
    for (uint64_t number = 0; number < 3; number++) {
        struct vamp_event event = make_event(number, text);
        assert_true(vamp_ring_push(ring, &event));
    }
    assert_null(vamp_ring_next(ring));
    assert_int_equal(vamp_ring_used_bytes(ring), 0);
    vamp_ring_publish(ring);
    for (uint64_t number = 0; number < 3; number++) {
        assert_true(is_event(vamp_ring_next(ring), number));
    }
    vamp_ring_publish(ring); /* nothing new */
    assert_null(vamp_ring_next(ring));
    vamp_ring_free(ring);
}

/* Fills the ring to the last record, empties it by different amounts, and goes round often enough
 * that records and padding meet the end at every offset. */
static void full_refuses_and_goes_on(void **state)
{
    (void)state;
    struct vamp_ring *ring = make_ring(0);
    char text[4096];
    uint64_t pushed = 0, taken = 0, refused = 0;
    for (unsigned round = 0; round < 600; round++) {
        while (push_event(ring, pushed, text)) {
            pushed++;
        }
        const struct vamp_event event = make_event(pushed, text);
        vamp_ring_publish(ring);
        refused++;
        const size_t kept = event.kind == VAMP_EVENT_LEAVE  ? 0
                            : event.kind == VAMP_EVENT_JOIN ? MINIMUM / 16
                                                            : MINIMUM / 8;
        assert_true(vamp_ring_used_bytes(ring) + kept + 2 * 4096 + 512 > MINIMUM);
        assert_true(vamp_ring_used_bytes(ring) <= MINIMUM);
        for (unsigned i = 0; i <= round % 211; i++) {
            const struct vamp_event *got = vamp_ring_next(ring);
            if (got == NULL) {
                break;
            }
            assert_true(is_event(got, taken++));
        }
        vamp_ring_release(ring);
    }
    for (const struct vamp_event *got; (got = vamp_ring_next(ring)) != NULL;) {
        assert_true(is_event(got, taken++));
    }
    assert_int_equal(taken, pushed);
    assert_int_equal(refused, 600);
    assert_true(pushed > 20000);
    vamp_ring_free(ring);
}

/* The slot is in the ring, unless the longest event could not be written there in one piece. */
static void the_slot_is_where_the_event_will_be(void **state)
{
    (void)state;
    struct vamp_ring *ring = make_ring(0);
    struct vamp_event spare;
    unsigned in_ring = 0, elsewhere = 0;
    for (unsigned i = 0; i < 2000; i++) {
        struct vamp_event *slot = vamp_ring_slot(ring, &spare);
        *slot = (struct vamp_event){.kind = VAMP_EVENT_OFFER, .name = "name", .name_length = 4};
        assert_true(vamp_ring_push(ring, slot));
        vamp_ring_publish(ring);
        const struct vamp_event *got = vamp_ring_next(ring);
        assert_true(got == slot || slot == &spare);
        assert_memory_equal(got->name, "name", 4);
        in_ring += got == slot;
        elsewhere += slot == &spare;
        vamp_ring_release(ring);
    }
    assert_true(in_ring > 1500);
    assert_true(elsewhere > 0);
    vamp_ring_free(ring);
}

static void taken_but_not_released_stays(void **state)
{
    (void)state;
    struct vamp_ring *ring = make_ring(0);
    char text[4096];
    uint64_t pushed = 0;
    for (struct vamp_event event = make_event(0, text); vamp_ring_push(ring, &event);
         event = make_event(pushed, text)) {
        pushed++;
    }
    vamp_ring_publish(ring);
    const struct vamp_event *first = vamp_ring_next(ring);
    while (vamp_ring_next(ring) != NULL) {
    }
    struct vamp_event event = make_event(pushed, text);
    assert_false(vamp_ring_push(ring, &event)); /* all taken, nothing given back */
    assert_true(is_event(first, 0));
    vamp_ring_release(ring);
    assert_true(vamp_ring_push(ring, &event));
    vamp_ring_free(ring);
}

static void longest_name_always_fits_an_empty_ring(void **state)
{
    (void)state;
    struct vamp_ring *ring = make_ring(0);
    static char text[VAMP_NAME_BYTES_MAX];
    memset(text, 'x', sizeof text);
    struct vamp_event event = {.kind = VAMP_EVENT_OFFER, .name = text};
    for (uint32_t i = 0; i < 5000; i++) {
        event.name_length = i % 3 == 0 ? VAMP_NAME_BYTES_MAX : i % VAMP_NAME_BYTES_MAX;
        assert_true(vamp_ring_push(ring, &event));
        vamp_ring_publish(ring);
        const struct vamp_event *got = vamp_ring_next(ring);
        assert_int_equal(got->name_length, event.name_length);
        assert_memory_equal(got->name, text, got->name_length);
        vamp_ring_release(ring);
    }
    vamp_ring_free(ring);
}

static void closing_ends_after_the_last_event(void **state)
{
    (void)state;
    struct vamp_ring *ring = make_ring(0);
    char text[4096];
    struct vamp_event event = make_event(1, text);
    assert_false(vamp_ring_finished(ring));
    assert_true(vamp_ring_push(ring, &event));
    vamp_ring_close(ring);
    assert_false(vamp_ring_finished(ring));
    vamp_ring_wait(ring, VAMP_NS_PER_SECOND * 3600); /* returns at once */
    assert_non_null(vamp_ring_next(ring));
    assert_true(vamp_ring_finished(ring));
    assert_null(vamp_ring_next(ring));
    vamp_ring_wait(ring, VAMP_NS_PER_SECOND * 3600);
    vamp_ring_free(ring);
}

static void waiting_ends_in_time(void **state)
{
    (void)state;
    struct vamp_ring *ring = make_ring(0);
    int64_t before = vamp_clock_monotonic_ns(&vamp_clock_system);
    vamp_ring_wait(ring, 20 * 1000 * 1000);
    int64_t waited = vamp_clock_monotonic_ns(&vamp_clock_system) - before;
    assert_true(waited >= 19 * 1000 * 1000);
    vamp_ring_wait(ring, 0);
    vamp_ring_wait(ring, -1);
    vamp_ring_free(ring);
}

/* ------------------------------------------------------------------ two threads */

struct producer {
    struct vamp_ring *ring;
    uint64_t events;
    uint64_t publish_every;
    uint64_t pause_every; /* 0: never */
    uint64_t refused;
};

static void *produce(void *context)
{
    struct producer *producer = context;
    char text[4096];
    for (uint64_t number = 0; number < producer->events; number++) {
        while (!push_event(producer->ring, number, text)) {
            producer->refused++;
            vamp_ring_publish(producer->ring);
            struct timespec pause = {.tv_nsec = 20 * 1000};
            (void)nanosleep(&pause, NULL);
        }
        if (number % producer->publish_every == 0) {
            vamp_ring_publish(producer->ring);
        }
        if (producer->pause_every != 0 && number % producer->pause_every == 0) {
            vamp_ring_publish(producer->ring);
            struct timespec pause = {.tv_nsec = 1000};
            (void)nanosleep(&pause, NULL);
        }
    }
    vamp_ring_close(producer->ring);
    return NULL;
}

static uint64_t consume(struct vamp_ring *ring, uint64_t batch)
{
    uint64_t number = 0, wrong = 0;
    while (!vamp_ring_finished(ring)) {
        const struct vamp_event *event = vamp_ring_next(ring);
        if (event == NULL) {
            vamp_ring_release(ring);
            vamp_ring_wait(ring, VAMP_NS_PER_SECOND);
            continue;
        }
        wrong += !is_event(event, number);
        number++;
        if (number % batch == 0) {
            vamp_ring_release(ring);
        }
    }
    assert_int_equal(wrong, 0);
    return number;
}

static void run_threads(uint64_t events, uint64_t publish_every, uint64_t pause_every,
                        uint64_t batch)
{
    struct producer producer = {.ring = make_ring(MINIMUM),
                                .events = events,
                                .publish_every = publish_every,
                                .pause_every = pause_every};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, &producer), 0);
    uint64_t got = consume(producer.ring, batch);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(got, events);
    vamp_ring_free(producer.ring);
}

static void two_threads_at_full_speed(void **state)
{
    (void)state;
    run_threads(1000 * 1000, 1, 0, 16);
    run_threads(1000 * 1000, 64, 0, 16);
}

/* The consumer sleeps nearly every time: a lost wake-up would cost a second each. */
static void two_threads_with_a_sleepy_producer(void **state)
{
    (void)state;
    int64_t before = vamp_clock_monotonic_ns(&vamp_clock_system);
    run_threads(20000, 1, 1, 1);
    int64_t took = vamp_clock_monotonic_ns(&vamp_clock_system) - before;
    assert_true(took < 30 * VAMP_NS_PER_SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_rounded_up),
        cmocka_unit_test(events_are_copied),
        cmocka_unit_test(what_is_not_published_is_not_seen),
        cmocka_unit_test(full_refuses_and_goes_on),
        cmocka_unit_test(the_slot_is_where_the_event_will_be),
        cmocka_unit_test(taken_but_not_released_stays),
        cmocka_unit_test(longest_name_always_fits_an_empty_ring),
        cmocka_unit_test(closing_ends_after_the_last_event),
        cmocka_unit_test(waiting_ends_in_time),
        cmocka_unit_test(two_threads_at_full_speed),
        cmocka_unit_test(two_threads_with_a_sleepy_producer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
