/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "maestro/wire/secure.h"
#include "maestro/wire/stream.h"
#include "vampire/core/clock.h"

static void ignore_closed(void *context, struct stream *stream, int status)
{
    (void)context, (void)stream, (void)status;
}

/* Callers wait for this time; a negative one would end the progress thread of a component. */
static void test_a_deadline_in_the_past_is_due_now(void **state)
{
    (void)state;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    assert_int_equal(0, bind(listener, (struct sockaddr *)&address, length));
    assert_int_equal(0, listen(listener, 1));
    assert_int_equal(0, getsockname(listener, (struct sockaddr *)&address, &length));

    const struct stream_handler handler = {.closed = ignore_closed};
    struct stream_hub *hub = NULL;
    struct stream *stream = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(0, stream_hub_open(&handler, &hub, &err));
    assert_int_equal(
        0, stream_connect(hub, &secure_open_key, (const uint8_t *)&address, length, &stream));
    int64_t timeout_ns = 60 * VAMP_NS_PER_SECOND;
    assert_true(stream_descriptor(hub, &timeout_ns) >= 0);
    assert_in_range(timeout_ns, 1, STREAM_STRANGER_NS);

    const int64_t deadline_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + STREAM_STRANGER_NS;
    while (vamp_clock_monotonic_ns(&vamp_clock_system) <= deadline_ns) {
        (void)usleep(10000);
    }
    assert_true(stream_descriptor(hub, &timeout_ns) >= 0);
    assert_int_equal(0, timeout_ns);

    stream_hub_close(hub);
    (void)close(listener);
}

/* ---- fair shares */

enum { FLOOD_FRAMES = 2000, FLOOD_SHARE_MAX = 64 };

/* What the accepting end has received. The owner of its streams is the number of the peer that
 * wrote their first frame. */
static struct {
    unsigned flood, flood_before_victim, victim, opened, closed;
    int flood_status;
} received;

static void fair_opened(void *context, struct stream *stream)
{
    (void)context;
    stream_admit(stream);
    received.opened++;
}

static void fair_received(void *context, struct stream *stream, const uint8_t *bytes, size_t length)
{
    (void)context;
    uint32_t number = 0;
    assert_int_equal(sizeof number, length);
    memcpy(&number, bytes, length);
    if (number == FLOOD_FRAMES) {
        received.victim++;
        received.flood_before_victim = received.flood;
        return;
    }
    stream_set_owner(stream, &received);
    assert_int_equal(received.flood, number); /* in order, none twice */
    received.flood++;
}

static void fair_drained(void *context, struct stream *stream)
{
    (void)context, (void)stream;
}

static void fair_closed(void *context, struct stream *stream, int status)
{
    (void)context;
    received.closed++;
    if (stream_owner(stream) != NULL) {
        received.flood_status = status;
    }
}

static const struct stream_handler fair_handler = {.opened = fair_opened,
                                                   .received = fair_received,
                                                   .drained = fair_drained,
                                                   .closed = fair_closed};

static struct stream *fair_connect(struct stream_hub *to, struct stream_hub *hub)
{
    size_t length;
    struct stream *stream = NULL;
    const unsigned opened = received.opened;
    const uint8_t *address = stream_address(to, &length);
    assert_int_equal(0, stream_connect(hub, &secure_open_key, address, length, &stream));
    while (received.opened < opened + 2) { /* both ends */
        (void)stream_poll(hub);
        (void)stream_poll(to);
    }
    return stream;
}

static void fair_send(struct stream *stream, uint32_t number)
{
    uint8_t *frame = stream_reserve(stream, sizeof number);
    assert_non_null(frame);
    memcpy(frame, &number, sizeof number);
    stream_commit(stream, sizeof number);
}

/* Thousands of small frames arrive in one read; another peer's frame is not behind them. None of
 * them is lost, even if their sender has closed the connection at once. */
static void test_many_frames_of_one_peer_do_not_delay_another(void **state)
{
    (void)state;
    struct stream_hub *to = NULL;
    struct stream_hub *hub = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(0, stream_hub_open(&fair_handler, &to, &err));
    assert_int_equal(0, stream_hub_open(&fair_handler, &hub, &err));
    assert_int_equal(0, stream_listen(to, &secure_open_key, "127.0.0.1", &err));
    struct stream *flood = fair_connect(to, hub);
    struct stream *victim = fair_connect(to, hub);
    for (uint32_t i = 0; i < FLOOD_FRAMES; i++) {
        fair_send(flood, i);
    }
    stream_flush(flood);
    stream_close(flood);
    while (received.flood == 0) {
        (void)stream_poll(to);
    }
    const unsigned before = received.flood;
    assert_true(before <= FLOOD_SHARE_MAX);
    fair_send(victim, FLOOD_FRAMES);
    stream_flush(victim);
    while (received.closed == 0) {
        int64_t timeout_ns = 60 * VAMP_NS_PER_SECOND;
        (void)stream_descriptor(to, &timeout_ns);
        assert_true(received.flood == FLOOD_FRAMES || timeout_ns == 0); /* the caller never waits */
        const unsigned earlier = received.flood;
        (void)stream_poll(to);
        assert_true(received.flood - earlier <= FLOOD_SHARE_MAX);
    }
    assert_int_equal(1, received.victim);
    assert_true(received.flood_before_victim <= before + FLOOD_SHARE_MAX);
    assert_int_equal(FLOOD_FRAMES, received.flood);
    assert_int_equal(-ECONNRESET, received.flood_status);
    stream_hub_close(hub);
    stream_hub_close(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_frames_of_one_peer_do_not_delay_another),
        cmocka_unit_test(test_a_deadline_in_the_past_is_due_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
