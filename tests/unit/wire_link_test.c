/* SPDX-License-Identifier: BSD-3-Clause */
/* What a link sends at once, and what it keeps for a peer that does not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "maestro/wire/link.h"
#include "tests/fuzz/memory_fabric.h"

enum { SESSION = 7, TAG = 9 };

static struct link open_link(void)
{
    struct link link = {.session = SESSION, .tag = TAG};
    assert_int_equal(0, fabric_open(NULL, NULL, &link.fabric, NULL));
    return link;
}

static void send_answers(struct link *link, unsigned count)
{
    Mstro__Wire__Response response = MSTRO__WIRE__RESPONSE__INIT;
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(0, link_send(link, 1, FRAME_RESPONSE, &response.base));
    }
}

static unsigned take_completions(struct link *link)
{
    const unsigned count = link->fabric->done_count;
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(link->fabric->done[i].kind, FABRIC_SENT);
        assert_int_equal(link->fabric->done[i].tag, TAG);
        link_sent(link);
    }
    link->fabric->done_count = 0;
    return count;
}

static void close_link(struct link *link)
{
    link_done(link);
    fabric_close(link->fabric);
}

static void test_peer_that_reads(void **state)
{
    (void)state;
    struct link link = open_link();
    for (unsigned i = 0; i < 10; i++) {
        send_answers(&link, LINK_COPIES);
        assert_int_equal(take_completions(&link), 0);
        send_answers(&link, 1); /* shows that the copies are on their way, too */
        assert_int_equal(link.in_flight, 1);
        assert_int_equal(take_completions(&link), 1);
    }
    assert_int_equal(link.fabric->sent, 10 * (LINK_COPIES + 1));
    close_link(&link);
}

static void test_peer_that_does_not_read(void **state)
{
    (void)state;
    enum { MORE = 5 };
    struct link link = open_link();
    send_answers(&link, LINK_COPIES + LINK_IN_FLIGHT + MORE);
    assert_int_equal(link.fabric->sent, LINK_COPIES + LINK_IN_FLIGHT);
    assert_int_equal(link.in_flight, LINK_IN_FLIGHT);
    assert_non_null(link.first);
    assert_int_equal(take_completions(&link), LINK_IN_FLIGHT);
    assert_int_equal(0, link_flush(&link, 1));
    assert_null(link.first);
    assert_int_equal(link.fabric->sent, LINK_COPIES + LINK_IN_FLIGHT + MORE);
    close_link(&link);
}

static void test_good_bye_is_reported(void **state)
{
    (void)state;
    Mstro__Wire__Goodbye goodbye = MSTRO__WIRE__GOODBYE__INIT;
    struct link link = open_link();
    assert_int_equal(0, link_send(&link, 1, FRAME_GOODBYE, &goodbye.base));
    assert_int_equal(link.in_flight, 1);
    close_link(&link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peer_that_reads),
        cmocka_unit_test(test_peer_that_does_not_read),
        cmocka_unit_test(test_good_bye_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
