/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Components that mean no good, over real connections: messages that are none, as many components
 * and CDOs as they can name, attributes as large as they can be. The pool manager goes on serving
 * the others, its memory stays where it was, and everything is counted.
 *
 * With arguments it is such a component, for the end-to-end tests:
 *   server_hostile_test garbage|joins|strangers|names|hoards|attributes INFO WORKFLOW NUMBER
 */
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "maestro/server/internal.h"
#include "tests/unit/server_manager.h"
#include "tests/unit/wire_raw_peer.h"

/* ---- what they do */

/* A message out of one that is well-formed, or none at all. */
static size_t spoil(unsigned number, uint8_t *bytes, size_t length)
{
    switch (number % 8) {
    case 0: /* cut */
        return length / 2;
    case 1: /* noise */
        for (size_t i = 0; i < FRAME_BYTES_MAX; i++) {
            bytes[i] = (uint8_t)((i + number) * 2654435761U >> 11);
        }
        return FRAME_BYTES_MAX;
    case 2: /* a length that is not there */
        bytes[length - 1] = 0x7f;
        return length;
    case 3: /* another version */
        bytes[1] = 9;
        return length;
    case 4:
        return 1;
    case 5: /* something behind it */
        bytes[length] = 0xff;
        return length + 1;
    default: /* one byte is different */
        bytes[number * 7 % length] ^= (uint8_t)(1 + number % 255);
        return length;
    }
}

/* A joined component sends what is no message, or a message of a kind that it may not send, and is
 * thrown out; the next one comes. */
static void send_garbage(const char *info, const char *workflow, unsigned number)
{
    for (unsigned i = 0; i < number; i++) {
        struct raw_peer peer;
        char name[32];
        uint8_t bytes[FRAME_BYTES_MAX + 1];
        raw_peer_open(&peer, info);
        (void)snprintf(name, sizeof name, "garbage %u", i);
        (void)raw_peer_join(&peer, workflow, name);
        Mstro__Wire__Declare declare = MSTRO__WIRE__DECLARE__INIT;
        declare.name = name;
        Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
        request.what_case = MSTRO__WIRE__REQUEST__WHAT_DECLARE;
        request.declare = &declare;
        for (unsigned k = 0; i % 2 == 0 && k < 8; k++) {
            const struct frame frame = {.kind = FRAME_REQUEST};
            size_t length = frame_pack(&frame, &request.base, bytes, FRAME_BYTES_MAX);
            length = spoil(i * 8 + k, bytes, length);
            (void)raw_peer_send(&peer, bytes, length < FRAME_BYTES_MAX ? length : FRAME_BYTES_MAX);
        }
        Mstro__Wire__Welcome welcome = MSTRO__WIRE__WELCOME__INIT;
        (void)raw_peer_say(&peer, FRAME_WELCOME, &welcome.base); /* nothing a component may send */
        assert_true(raw_peer_await(&peer, UINT32_MAX));          /* the pool manager ends it */
        raw_peer_close(&peer);
    }
}

/* One process joins as one new component after the other, and keeps as many as it can. */
static void join_often(const char *info, const char *workflow, unsigned number)
{
    static struct raw_peer peers[256];
    for (unsigned i = 0; i < number; i++) {
        struct raw_peer *peer = &peers[i % 256];
        char name[64];
        raw_peer_close(peer);
        raw_peer_open(peer, info);
        (void)snprintf(name, sizeof name, "component %u of %d", i, (int)getpid());
        assert_true(raw_peer_join(peer, workflow, name));
        assert_true(raw_peer_await(peer, 1));
    }
    for (unsigned i = 0; i < 256; i++) {
        raw_peer_close(&peers[i]);
    }
}

/* Sends these bytes, and reads until the other end closes. */
static void send_and_see_the_end(const char *info, const void *bytes, size_t length)
{
    struct info parsed;
    struct sockaddr_in address;
    char answer[4096];
    assert_int_equal(0, info_parse(info, &parsed, NULL));
    memcpy(&address, parsed.address, sizeof address);
    const int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(end >= 0);
    assert_int_equal(0, connect(end, (struct sockaddr *)&address, sizeof address));
    (void)!send(end, bytes, length, MSG_NOSIGNAL);
    (void)shutdown(end, SHUT_WR);
    while (recv(end, answer, sizeof answer, 0) > 0) {
    }
    (void)close(end);
}

/* A process that has the address and not the key: it speaks TLS with another key, or with the one
 * that is no secret, or sends a well-formed message in plain. */
static void knock(const char *info, const char *workflow, unsigned number)
{
    struct secure_key key;
    uint8_t bytes[FRAME_BYTES_MAX];
    char flow[64];
    char name[] = "stranger";
    memset(&key, 'k', sizeof key);
    (void)snprintf(flow, sizeof flow, "%s", workflow);
    Mstro__Wire__Join join = MSTRO__WIRE__JOIN__INIT;
    join.workflow = flow;
    join.component = name;
    const struct frame frame = {.kind = FRAME_JOIN};
    const size_t length = frame_pack(&frame, &join.base, bytes, sizeof bytes);
    for (unsigned i = 0; i < number; i++) {
        struct raw_peer peer;
        if (i % 3 == 0) {
            send_and_see_the_end(info, bytes, length);
        } else {
            assert_false(raw_peer_connect(&peer, info, i % 3 == 1 ? &key : &secure_open_key));
            assert_int_equal(peer.closed, -EKEYREJECTED);
        }
    }
}

static void name_many(const char *info, const char *workflow, unsigned number)
{
    struct component component;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(
        MSTRO_OK, component_open(&component, info, workflow, "namer", COMPONENT_DEADLINE_MS, &err));
    for (unsigned i = 0; i < number; i++) {
        char name[200];
        uint64_t handle;
        (void)snprintf(name, sizeof name, "class:rd,number:%u,%0150u", i, i);
        assert_int_equal(MSTRO_OK, component_declare(&component, name, &handle));
        assert_int_equal(
            MSTRO_OK, component_operate(&component, MSTRO__WIRE__OPERATION__DISPOSE, handle, NULL));
    }
    component_leave(&component);
    component_close(&component);
}

/* Keeps all that it can name: at the bound of the pool's memory it is refused, and stays. */
static void hoard(const char *info, const char *workflow, unsigned number)
{
    struct component component;
    struct vamp_err err = VAMP_ERR_NONE;
    unsigned refused = 0;
    assert_int_equal(MSTRO_OK, component_open(&component, info, workflow, "hoarder",
                                              COMPONENT_DEADLINE_MS, &err));
    for (unsigned i = 0; i < number; i++) {
        char name[64];
        uint64_t handle;
        (void)snprintf(name, sizeof name, "class:rd,number:%u", i);
        mstro_status status = component_declare(&component, name, &handle);
        assert_true(status == MSTRO_OK || status == MSTRO_NOMEM);
        refused += status == MSTRO_NOMEM;
    }
    assert_in_range(refused, 1, number - 1);
    component_leave(&component);
    component_close(&component);
}

/* As many attributes as a message holds; the pool manager refuses them. And a name that is too
 * long for any message: the client library refuses that. */
static void bring_attributes(const char *info, const char *workflow, unsigned number)
{
    enum { COUNT = 500 };
    static Mstro__Wire__Attribute attributes[COUNT];
    static Mstro__Wire__Attribute *items[COUNT];
    static char long_name[(1 << 20) + 1];
    struct component component;
    struct vamp_err err = VAMP_ERR_NONE;
    char key[] = "k";
    char text[] = "twenty characters...";
    assert_int_equal(MSTRO_OK, component_open(&component, info, workflow, "bomber",
                                              COMPONENT_DEADLINE_MS, &err));
    for (unsigned i = 0; i < COUNT; i++) {
        mstro__wire__attribute__init(&attributes[i]);
        attributes[i].key = key;
        attributes[i].value_case = MSTRO__WIRE__ATTRIBUTE__VALUE_TEXT;
        attributes[i].text = text;
        items[i] = &attributes[i];
    }
    for (unsigned i = 0; i < number; i++) {
        char name[32];
        uint64_t handle;
        (void)snprintf(name, sizeof name, "bomb %u", i);
        assert_int_equal(MSTRO_OK, component_declare(&component, name, &handle));
        Mstro__Wire__CdoOperation seal = MSTRO__WIRE__CDO_OPERATION__INIT;
        seal.operation = MSTRO__WIRE__OPERATION__SEAL;
        seal.handle = handle;
        seal.attributes = items;
        seal.n_attributes = COUNT;
        Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
        request.what_case = MSTRO__WIRE__REQUEST__WHAT_OPERATION;
        request.operation = &seal;
        assert_int_equal(MSTRO_NOMEM, component_call(&component, &request, NULL));
        assert_int_equal(
            MSTRO_OK, component_operate(&component, MSTRO__WIRE__OPERATION__DISPOSE, handle, NULL));
    }
    memset(long_name, 'x', sizeof long_name - 1);
    Mstro__Wire__Declare declare = MSTRO__WIRE__DECLARE__INIT;
    declare.name = long_name;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_DECLARE;
    request.declare = &declare;
    assert_int_equal(MSTRO_INVARG, component_call(&component, &request, NULL));
    component_leave(&component);
    component_close(&component);
}

static const struct {
    const char *name;
    void (*attack)(const char *info, const char *workflow, unsigned number);
} roles[] = {{"garbage", send_garbage}, {"joins", join_often}, {"strangers", knock},
             {"names", name_many},      {"hoards", hoard},     {"attributes", bring_attributes}};

static void play_role(void **state)
{
    char **arguments = *state;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (strcmp(arguments[1], roles[i].name) == 0) {
            roles[i].attack(arguments[2], arguments[3], (unsigned)strtoul(arguments[4], NULL, 10));
            return;
        }
    }
    fail_msg("no role %s", arguments[1]);
}

/* ---- the tests */

struct manager {
    struct served served;
    struct component good; /* a component that continues to work */
};

static void start_manager(struct manager *manager)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const struct server_options options = {.heartbeat_ns = INT64_C(1000000) * 1000};
    *manager = (struct manager){0};
    serve(&manager->served, &options);
    assert_int_equal(MSTRO_OK,
                     component_open(&manager->good, server_info(manager->served.server),
                                    COMPONENT_WORKFLOW, "good", COMPONENT_DEADLINE_MS, &err));
    assert_int_equal(MSTRO_OK, component_subscribe(&manager->good));
}

static void stop_manager(struct manager *manager, struct server_counts *counts)
{
    uint64_t handle;
    assert_int_equal(MSTRO_OK, component_declare(&manager->good, "still served", &handle));
    COMPONENT_WAIT(COMPONENT_READ(&manager->good, kinds[VAMP_EVENT_DECLARE]) > 0);
    assert_int_equal(COMPONENT_READ(&manager->good, out_of_order), 0);
    component_leave(&manager->good);
    component_close(&manager->good);
    serve_no_more(&manager->served, counts);
}

/* (That memory stays where it is, the end-to-end tests measure at the processes.) */
static void attack(void (*role)(const char *, const char *, unsigned), unsigned number,
                   struct server_counts *counts)
{
    struct manager manager;
    start_manager(&manager);
    role(server_info(manager.served.server), COMPONENT_WORKFLOW, number);
    stop_manager(&manager, counts);
}

static void test_garbage(void **state)
{
    (void)state;
    struct server_counts counts;
    attack(send_garbage, 20, &counts);
    assert_int_equal(counts.joins, 20 + 1);
    assert_true(counts.protocol_errors >= 20);
}

static void test_joins(void **state)
{
    (void)state;
    struct server_counts counts;
    attack(join_often, 1000, &counts);
    /* each was let in, refused, or not answered */
    assert_true(counts.joins + counts.refused >= 1000);
}

static void test_strangers(void **state)
{
    (void)state;
    struct server_counts counts;
    attack(knock, 300, &counts);
    assert_int_equal(counts.joins, 1); /* the good one's */
    assert_int_equal(counts.refused, 0);
    assert_int_equal(counts.vanished, 0);
    assert_int_equal(counts.strangers, 300);
    assert_int_equal(counts.protocol_errors, 0);
}

/* ---- a copy of what one component sent */

struct tap {
    int listener;
    struct sockaddr_in to;
    pthread_t thread;
    uint8_t bytes[65536]; /* from the component */
    size_t length;
};

static void *relay(void *argument)
{
    struct tap *tap = argument;
    uint8_t back[65536];
    const int from = accept(tap->listener, NULL, NULL);
    const int to = socket(AF_INET, SOCK_STREAM, 0);
    struct pollfd ends[] = {{.fd = from, .events = POLLIN}, {.fd = to, .events = POLLIN}};
    ssize_t got = connect(to, (struct sockaddr *)&tap->to, sizeof tap->to) == 0 ? 1 : 0;
    while (got > 0 && poll(ends, 2, -1) > 0) {
        if (ends[0].revents != 0) {
            got = recv(from, tap->bytes + tap->length, sizeof tap->bytes - tap->length, 0);
            if (got > 0) {
                (void)!send(to, tap->bytes + tap->length, (size_t)got, MSG_NOSIGNAL);
                tap->length += (size_t)got;
            }
        } else {
            got = recv(to, back, sizeof back, 0);
            if (got > 0) {
                (void)!send(from, back, (size_t)got, MSG_NOSIGNAL);
            }
        }
    }
    (void)close(from);
    (void)close(to);
    return NULL;
}

/* The pool manager's info with the address of a relay that writes down what the component sends. */
static void tap_open(struct tap *tap, const char *info, char text[static INFO_TEXT_BYTES])
{
    struct info parsed;
    socklen_t length = sizeof tap->to;
    assert_int_equal(0, info_parse(info, &parsed, NULL));
    memcpy(&tap->to, parsed.address, sizeof tap->to);
    struct sockaddr_in own = tap->to;
    own.sin_port = 0;
    tap->length = 0;
    tap->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(0, bind(tap->listener, (struct sockaddr *)&own, sizeof own));
    assert_int_equal(0, listen(tap->listener, 1));
    assert_int_equal(0, getsockname(tap->listener, (struct sockaddr *)&own, &length));
    memcpy(parsed.address, &own, sizeof own);
    assert_int_equal(0, info_print(&parsed, text, NULL));
    assert_int_equal(0, pthread_create(&tap->thread, NULL, relay, tap));
}

/* What was recorded on the network and is sent again lets no component in, and makes none leave. */
static void test_copies(void **state)
{
    (void)state;
    static struct tap tap;
    struct manager manager;
    struct server_counts counts;
    struct component once;
    struct vamp_err err = VAMP_ERR_NONE;
    char info[INFO_TEXT_BYTES];
    start_manager(&manager);
    tap_open(&tap, server_info(manager.served.server), info);
    assert_int_equal(MSTRO_OK, component_open(&once, info, COMPONENT_WORKFLOW, "once",
                                              COMPONENT_DEADLINE_MS, &err));
    component_leave(&once);
    component_close(&once);
    assert_int_equal(0, pthread_join(tap.thread, NULL));
    (void)close(tap.listener);
    COMPONENT_WAIT(COMPONENT_READ(&manager.good, kinds[VAMP_EVENT_LEAVE]) == 1);
    assert_true(tap.length > 300); /* a greeting, a join, a leave, a good-bye */
    for (unsigned i = 0; i < 3; i++) {
        send_and_see_the_end(server_info(manager.served.server), tap.bytes, tap.length);
    }
    assert_int_equal(COMPONENT_READ(&manager.good, kinds[VAMP_EVENT_JOIN]), 1);
    stop_manager(&manager, &counts);
    assert_int_equal(counts.joins, 2);
    assert_int_equal(counts.strangers, 3);
    assert_int_equal(counts.vanished, 0);
}

static void declare_many(struct raw_peer *peer, unsigned number)
{
    for (unsigned i = 0; i < number; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "left behind %u", i);
        Mstro__Wire__Declare declare = MSTRO__WIRE__DECLARE__INIT;
        declare.name = name;
        Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
        request.what_case = MSTRO__WIRE__REQUEST__WHAT_DECLARE;
        request.declare = &declare;
        request.id = i + 1;
        assert_true(raw_peer_say(peer, FRAME_REQUEST, &request.base));
    }
}

/* Sends messages that the pool manager has not begun to read when their sender closes: requests, a
 * message for which the component is dismissed, and as many requests again. All are few enough for
 * the kernel's buffers: closing discards what is still in the sender's own. */
static void flood_and_close(struct manager *manager, unsigned number)
{
    struct raw_peer peer;
    raw_peer_open(&peer, server_info(manager->served.server));
    assert_true(raw_peer_join(&peer, COMPONENT_WORKFLOW, "hasty"));
    assert_true(raw_peer_await(&peer, 1)); /* a close with something unread is a reset */
    COMPONENT_WAIT(COMPONENT_READ(&manager->good, kinds[VAMP_EVENT_JOIN]) == 1);
    (void)port_local_lock(manager->served.local.port); /* the pool manager reads nothing for now */
    declare_many(&peer, number);
    Mstro__Wire__Welcome welcome = MSTRO__WIRE__WELCOME__INIT;
    assert_true(raw_peer_say(&peer, FRAME_WELCOME, &welcome.base)); /* no component may send this */
    declare_many(&peer, number);
    raw_peer_close(&peer);
    port_local_unlock(manager->served.local.port);
}

/* Every message is counted once: as a request, as the violation, or as one that came after the
 * component's end. The last kind occurs whether the pool manager first reads the violation or first
 * finds that the connection has ended. */
static void test_sender_that_closes_at_once(void **state)
{
    (void)state;
    struct server_counts counts;
    struct manager manager;
    start_manager(&manager);
    flood_and_close(&manager, 50);
    COMPONENT_WAIT(COMPONENT_READ(&manager.good, kinds[VAMP_EVENT_LEAVE]) == 1);
    stop_manager(&manager, &counts);
    assert_in_range(counts.late, 50, 101);
    assert_int_equal(counts.requests + counts.late + counts.protocol_errors,
                     101 + 3); /* three of the good one */
    assert_int_equal(counts.vanished + counts.protocol_errors, 1);
}

static void test_names(void **state)
{
    (void)state;
    struct server_counts counts;
    attack(name_many, 2000, &counts);
    assert_int_equal(counts.protocol_errors, 0);
}

static void test_attributes(void **state)
{
    (void)state;
    struct server_counts counts;
    attack(bring_attributes, 100, &counts);
    assert_int_equal(counts.protocol_errors, 0);
}

int main(int count, char **arguments)
{
    if (count == 5) {
        const struct CMUnitTest role[] = {cmocka_unit_test_prestate(play_role, arguments)};
        return cmocka_run_group_tests(role, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_garbage),
                                       cmocka_unit_test(test_joins),
                                       cmocka_unit_test(test_strangers),
                                       cmocka_unit_test(test_copies),
                                       cmocka_unit_test(test_sender_that_closes_at_once),
                                       cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_attributes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
