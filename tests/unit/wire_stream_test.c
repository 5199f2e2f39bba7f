/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_deadline_in_the_past_is_due_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
