/* SPDX-License-Identifier: BSD-3-Clause */
/* Two endpoints in one process, over each provider that is promised. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "maestro/wire/fabric.h"
#include "vampire/core/clock.h"

#define DEADLINE_NS (5 * VAMP_NS_PER_SECOND)

struct pair {
    struct fabric *a, *b;
    fabric_peer b_of_a, a_of_b;
};

static const struct fabric_kind preset = {.provider = FABRIC_PROVIDER_PRESET};

static int64_t now(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

static void open_pair(struct pair *pair, const char *provider)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const struct fabric_kind kind = {.provider = provider};
    if (fabric_open(&kind, NULL, &pair->a, &err) != 0 ||
        fabric_open(&kind, NULL, &pair->b, &err) != 0) {
        fail_msg("%s", err.text);
    }
    size_t length;
    const uint8_t *address = fabric_address(pair->b, &length);
    assert_int_equal(0, fabric_peer_add(pair->a, address, length, &pair->b_of_a, &err));
    address = fabric_address(pair->a, &length);
    assert_int_equal(0, fabric_peer_add(pair->b, address, length, &pair->a_of_b, &err));
}

static void close_pair(struct pair *pair)
{
    fabric_close(pair->a);
    fabric_close(pair->b);
}

/* What has come to pass at one end. */
struct seen {
    unsigned sent, received, read, failed;
    uint64_t next; /* the number expected in the next message */
};

static void look(struct fabric *fabric, struct seen *seen)
{
    struct fabric_event events[FABRIC_EVENTS];
    int count = fabric_poll(fabric, events);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        seen->failed += events[i].status != 0 ? 1U : 0U;
        seen->sent += events[i].kind == FABRIC_SENT ? 1U : 0U;
        seen->read += events[i].kind == FABRIC_READ ? 1U : 0U;
        if (events[i].kind == FABRIC_RECEIVED) {
            uint64_t number;
            assert_true(events[i].length >= sizeof number);
            memcpy(&number, events[i].bytes, sizeof number);
            assert_int_equal(number, seen->next);
            /* the last byte shows that nothing was cut */
            assert_int_equal(events[i].bytes[events[i].length - 1], (number * 7) & 0xff);
            seen->next++;
            seen->received++;
            fabric_release(fabric, &events[i]);
        }
    }
}

static int post(struct fabric *fabric, fabric_peer peer, uint64_t number, size_t length)
{
    struct fabric_message *message = fabric_message_get(fabric);
    if (message == NULL) {
        return -EAGAIN;
    }
    uint8_t *bytes = fabric_message_bytes(message);
    memset(bytes, 0, length);
    memcpy(bytes, &number, sizeof number);
    bytes[length - 1] = (uint8_t)(number * 7);
    int result = fabric_send(fabric, peer, message, 0, length, number);
    if (result != 0) {
        fabric_message_put(fabric, message);
    }
    return result;
}

/* Messages of all sizes arrive whole and in order, in both directions. */
static void exchange(const char *provider)
{
    static const size_t sizes[] = {9, 200, 4000, 4097, 9000, 16384, 64, 12000};
    struct pair pair;
    open_pair(&pair, provider);
    struct seen a = {0};
    struct seen b = {0};
    const uint64_t messages = 3000;
    uint64_t from_a = 0;
    uint64_t from_b = 0;
    int64_t end = now() + DEADLINE_NS;
    while ((a.received < messages || b.received < messages) && now() < end) {
        while (from_a < messages && post(pair.a, pair.b_of_a, from_a, sizes[from_a % 8]) == 0) {
            from_a++;
        }
        while (from_b < messages && post(pair.b, pair.a_of_b, from_b, sizes[from_b % 5]) == 0) {
            from_b++;
        }
        look(pair.a, &a);
        look(pair.b, &b);
    }
    assert_int_equal(a.received, messages);
    assert_int_equal(b.received, messages);
    assert_int_equal(a.failed + b.failed, 0);
    close_pair(&pair);
}

static void read_memory(const char *provider)
{
    enum { BYTES = 1 << 20, PIECES = 4 };
    struct pair pair;
    open_pair(&pair, provider);
    uint8_t *source = malloc(BYTES);
    uint8_t *sink = calloc(1, BYTES);
    assert_non_null(source);
    assert_non_null(sink);
    for (size_t i = 0; i < BYTES; i++) {
        source[i] = (uint8_t)(i * 31 >> 3);
    }
    struct fabric_memory memory;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(0, fabric_register(pair.b, source, BYTES, &memory, &err));
    struct seen a = {0};
    struct seen b = {0};
    unsigned issued = 0;
    int64_t end = now() + DEADLINE_NS;
    while (a.read < PIECES && now() < end) {
        size_t offset = (size_t)issued * (BYTES / PIECES);
        if (issued < PIECES && fabric_read(pair.a, pair.b_of_a, memory.address + offset, memory.key,
                                           sink + offset, BYTES / PIECES, issued) == 0) {
            issued++;
        }
        look(pair.a, &a);
        look(pair.b, &b);
    }
    assert_int_equal(a.read, PIECES);
    assert_int_equal(a.failed, 0);
    assert_memory_equal(source, sink, BYTES);
    fabric_unregister(pair.b, &memory);
    close_pair(&pair);
    free(source);
    free(sink);
}

/* ---- another process, which owns memory and looks after its endpoint when it is told to. A
 * process of its own: when one end closes, libfabric 2's shm unmaps what another end of the same
 * process still uses (prov/shm/src/smr_util.c: smr_map_to_region takes that end's mapping, smr_free
 * ends it; found with 2.1.0). */

#define OWNER_SOCKET 3
enum { OWNED_BYTES = 1 << 20 };

/* What is to be known to read its memory. */
struct owned {
    uint8_t address[FABRIC_ADDRESS_BYTES];
    size_t length;
    uint64_t memory, key;
};

static int own(const char *provider)
{
    static uint8_t memory[OWNED_BYTES];
    struct vamp_err err = VAMP_ERR_NONE;
    const struct fabric_kind kind = {.provider = provider};
    struct fabric *fabric = NULL;
    struct fabric_memory registered;
    memset(memory, 0x5a, sizeof memory);
    (void)alarm(60);
    if (fabric_open(&kind, NULL, &fabric, &err) != 0 ||
        fabric_register(fabric, memory, sizeof memory, &registered, &err) != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    struct owned owned = {.memory = registered.address, .key = registered.key};
    const uint8_t *address = fabric_address(fabric, &owned.length);
    memcpy(owned.address, address, owned.length);
    bool told = write(OWNER_SOCKET, &owned, sizeof owned) == (ssize_t)sizeof owned;
    struct seen seen = {0};
    char word;
    while (told && read(OWNER_SOCKET, &word, 1) == 1) {
        look(fabric, &seen);
        fabric_wait(fabric, NULL, 1000000);
        told = write(OWNER_SOCKET, &word, 1) == 1;
    }
    fabric_unregister(fabric, &registered);
    fabric_close(fabric);
    return 0;
}

static pid_t start_owner(const char *provider, int *ret_socket, struct owned *ret_owned)
{
    int ends[2];
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], OWNER_SOCKET);
        (void)execl("/proc/self/exe", "test", "owner", provider, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    *ret_socket = ends[0];
    assert_int_equal(sizeof *ret_owned, recv(ends[0], ret_owned, sizeof *ret_owned, MSG_WAITALL));
    return child;
}

/* It looks after its endpoint once. */
static void step_owner(int socket)
{
    char word = 0;
    assert_int_equal(1, write(socket, &word, 1));
    assert_int_equal(1, read(socket, &word, 1));
}

/* A read that the other side does not answer: once its endpoint is closed, nothing is written any
 * more. (Removing the peer from the address table would not do.) */
static void close_ends_reads(const char *provider)
{
    const struct fabric_kind kind = {.provider = provider};
    struct vamp_err err = VAMP_ERR_NONE;
    struct fabric *fabric = NULL;
    struct fabric *reader = NULL;
    struct owned owned;
    int socket;
    pid_t child = start_owner(provider, &socket, &owned);
    uint8_t *sink = calloc(1, OWNED_BYTES);
    assert_non_null(sink);
    assert_int_equal(0, fabric_open(&kind, NULL, &fabric, &err));
    assert_int_equal(0, fabric_open_reader(fabric, &reader, &err));
    fabric_peer peer;
    assert_int_equal(0, fabric_peer_add(reader, owned.address, owned.length, &peer, &err));
    struct seen seen = {0};
    int64_t end = now() + DEADLINE_NS;
    bool posted = false;
    while (seen.read == 0 && now() < end) { /* one small read connects */
        posted = posted || fabric_read(reader, peer, owned.memory, owned.key, sink, 64, 1) == 0;
        look(reader, &seen);
        step_owner(socket);
    }
    assert_int_equal(seen.read, 1);
    assert_int_equal(sink[63], 0x5a);
    int result = -EAGAIN;
    while (result == -EAGAIN && now() < end) {
        result = fabric_read(reader, peer, owned.memory, owned.key, sink, OWNED_BYTES, 2);
    }
    assert_int_equal(result, 0);
    fabric_close(reader);
    memset(sink, 0xee, OWNED_BYTES);
    for (unsigned i = 0; i < 100; i++) {
        step_owner(socket);
    }
    for (size_t i = 0; i < OWNED_BYTES; i++) {
        assert_int_equal(sink[i], 0xee);
    }
    fabric_close(fabric);
    (void)close(socket);
    int status = -1;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(status, 0);
    free(sink);
}

/* A wake from elsewhere ends a wait; a message does, too; without either it lasts. */
static void waits(const char *provider)
{
    struct pair pair;
    open_pair(&pair, provider);
    struct seen a = {0};
    struct seen b = {0};
    int64_t begin = now();
    fabric_wake(pair.a);
    fabric_wait(pair.a, NULL, VAMP_NS_PER_SECOND);
    assert_true(now() - begin < VAMP_NS_PER_SECOND / 2);

    while (post(pair.a, pair.b_of_a, 0, 100) == -EAGAIN && now() < begin + DEADLINE_NS) {
        look(pair.a, &a);
        look(pair.b, &b);
    }
    while (b.received == 0 && now() < begin + DEADLINE_NS) {
        look(pair.a, &a);
        look(pair.b, &b);
        fabric_wait(pair.b, NULL, 2000000);
    }
    assert_int_equal(b.received, 1);

    unsigned waits = 0; /* idle: it must not spin */
    for (int64_t end = now() + 200000000; now() < end; waits++) {
        fabric_wait(pair.b, NULL, 50000000);
        look(pair.b, &b);
    }
    assert_true(waits < 1000);
    close_pair(&pair);
}

static void test_exchange_tcp(void **state)
{
    (void)state;
    exchange("tcp;ofi_rxm");
}
static void test_exchange_short_name(void **state)
{
    (void)state;
    exchange("tcp");
}
static void test_exchange_shm(void **state)
{
    (void)state;
    exchange("shm");
}
static void test_read_tcp(void **state)
{
    (void)state;
    read_memory("tcp;ofi_rxm");
}
static void test_read_shm(void **state)
{
    (void)state;
    read_memory("shm");
}
static void test_close_ends_reads_tcp(void **state)
{
    (void)state;
    close_ends_reads("tcp;ofi_rxm");
}
static void test_close_ends_reads_shm(void **state)
{
    (void)state;
    close_ends_reads("shm");
}
static void test_wait_tcp(void **state)
{
    (void)state;
    waits("tcp;ofi_rxm");
}
static void test_wait_shm(void **state)
{
    (void)state;
    waits("shm");
}

static void refused(const struct fabric_kind *kind, const char *bind, const char *word)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct fabric *fabric = NULL;
    assert_true(fabric_open(kind, bind, &fabric, &err) < 0);
    assert_null(fabric);
    if (strstr(err.text, word) == NULL) {
        fail_msg("\"%s\" does not speak of \"%s\"", err.text, word);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const struct fabric_kind nonsense = {.provider = "nonsense"};
    const struct fabric_kind other_protocol = {.provider = "tcp;ofi_rxm", .protocol = 1};
    refused(&nonsense, NULL, "not available");
    refused(&nonsense, NULL, "allowed are");
    refused(&preset, "203.0.113.77", "203.0.113.77");
    refused(&other_protocol, NULL, "FI_OFI_RXM_ENABLE_PASSTHRU=1");
    struct fabric *fabric = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(0, fabric_open(&preset, NULL, &fabric, &err));
    fabric_peer peer;
    const uint8_t odd[300] = {1};
    assert_true(fabric_peer_add(fabric, odd, 0, &peer, &err) < 0);
    assert_true(fabric_peer_add(fabric, odd, 3, &peer, &err) < 0);
    assert_true(fabric_peer_add(fabric, odd, sizeof odd, &peer, &err) < 0);
    fabric_close(fabric);
    fabric_close(NULL);
}

static void test_choice(void **state)
{
    (void)state;
    (void)unsetenv("MSTRO_OFI_PROVIDER");
    (void)unsetenv("FI_PROVIDER");
    assert_string_equal(fabric_provider_choice(NULL), "tcp;ofi_rxm");
    (void)setenv("FI_PROVIDER", "shm", 1);
    assert_string_equal(fabric_provider_choice(NULL), "shm");
    (void)setenv("MSTRO_OFI_PROVIDER", "tcp", 1);
    assert_string_equal(fabric_provider_choice(""), "tcp");
    assert_string_equal(fabric_provider_choice("sockets"), "sockets");
    (void)unsetenv("MSTRO_OFI_PROVIDER");
    (void)unsetenv("FI_PROVIDER");
}

/* Nobody is at the address: an error or "not now", never a hang or a crash. */
static void test_no_pool_manager(void **state)
{
    (void)state;
    struct fabric *fabric = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(0, fabric_open(&preset, NULL, &fabric, &err));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(1)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fabric_peer peer;
    assert_int_equal(
        0, fabric_peer_add(fabric, (const uint8_t *)&address, sizeof address, &peer, &err));
    struct seen seen = {0};
    int result = -EAGAIN;
    for (int64_t end = now() + 300000000; now() < end && seen.failed == 0;) {
        if (result == -EAGAIN) {
            result = post(fabric, peer, 0, 100);
        }
        look(fabric, &seen);
        fabric_wait(fabric, NULL, 5000000);
    }
    assert_int_equal(seen.received, 0);
    fabric_peer_remove(fabric, peer);
    fabric_close(fabric);
}

int main(int count, char **arguments)
{
    if (count == 3) {
        return own(arguments[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange_tcp),
        cmocka_unit_test(test_exchange_short_name),
        cmocka_unit_test(test_exchange_shm),
        cmocka_unit_test(test_read_tcp),
        cmocka_unit_test(test_close_ends_reads_tcp),
        cmocka_unit_test(test_close_ends_reads_shm),
        cmocka_unit_test(test_read_shm),
        cmocka_unit_test(test_wait_tcp),
        cmocka_unit_test(test_wait_shm),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_no_pool_manager),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
