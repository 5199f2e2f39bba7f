/* SPDX-License-Identifier: BSD-3-Clause */
/* What every carrier of payloads promises (maestro/wire/carrier.h): streams, and libfabric over
 * each provider that is there on every machine. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "maestro/wire/carrier.h"
#include "maestro/wire/fabric.h"
#include "vampire/core/clock.h"

#define DEADLINE_NS (10 * VAMP_NS_PER_SECOND)
enum { BYTES = 1 << 20, PIECES = 4 };

static const char *provider; /* of the tests that run */

/* ---- the owner of memory: a process of its own, which looks after its carrier when it is told to.
 * (When one end closes, libfabric 2's shm unmaps what another end of the same process still uses.)
 */

#define OWNER_SOCKET 3

/* What is to be known to read its memory. */
struct owned {
    struct carrier_place place;
    struct carrier_memory memory;
};

static struct carrier *open_one(void)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct carrier *carrier = NULL;
    struct carrier_place kind = {.protocol = 0};
    (void)snprintf(kind.provider, sizeof kind.provider, "%s", provider);
    const int result = strcmp(provider, DOOR_PROVIDER) == 0
                           ? door_open("127.0.0.1", &carrier, &err)
                           : fabric_open(&kind, "127.0.0.1", &carrier, &err);
    if (result != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
    }
    return carrier;
}

static void fill(uint8_t *bytes)
{
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] = (uint8_t)(i * 31 >> 3);
    }
}

static int own(void)
{
    static uint8_t memory[BYTES];
    struct carrier_event events[CARRIER_EVENTS];
    struct owned owned;
    char word;
    fill(memory);
    memset(&owned, 0, sizeof owned);
    (void)alarm(60);
    struct carrier *carrier = open_one();
    if (carrier == NULL || carrier->ops->expose(carrier, memory, BYTES, &owned.memory, NULL) != 0) {
        return 1;
    }
    carrier->ops->place(carrier, &owned.place);
    bool told = write(OWNER_SOCKET, &owned, sizeof owned) == (ssize_t)sizeof owned;
    while (told && read(OWNER_SOCKET, &word, 1) == 1) {
        told = carrier->ops->poll(carrier, events) == 0 && write(OWNER_SOCKET, &word, 1) == 1;
    }
    carrier->ops->forget(carrier, &owned.memory);
    carrier->ops->close(carrier);
    return told ? 0 : 1;
}

/* Who reads, and whose memory is read. */
struct pair {
    struct carrier *reader;
    struct owned owned;
    pid_t owner;
    int socket;
    carrier_peer peer;
    uint8_t *source, *sink;
};

/* What has come to pass at the reader. */
struct seen {
    unsigned read, failed;
};

static int64_t now(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

static void open_pair(struct pair *pair)
{
    int ends[2];
    *pair = (struct pair){.source = malloc(BYTES), .sink = calloc(1, BYTES)};
    assert_non_null(pair->source);
    assert_non_null(pair->sink);
    fill(pair->source);
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pair->owner = fork();
    assert_true(pair->owner >= 0);
    if (pair->owner == 0) {
        (void)dup2(ends[1], OWNER_SOCKET);
        (void)close_range(OWNER_SOCKET + 1, ~0U, 0);
        (void)execl("/proc/self/exe", "test", provider, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    pair->socket = ends[0];
    assert_int_equal(sizeof pair->owned,
                     recv(pair->socket, &pair->owned, sizeof pair->owned, MSG_WAITALL));
    pair->reader = open_one();
    assert_non_null(pair->reader);
    const struct carrier_place *place = &pair->owned.place;
    assert_in_range(place->length, 1, CARRIER_ADDRESS_BYTES);
    assert_true(place->provider[0] != '\0');
    assert_int_equal(0, pair->reader->ops->peer_add(pair->reader, place, &pair->peer));
}

static void end_owner(struct pair *pair)
{
    int status = 0;
    if (pair->owner != 0) {
        (void)close(pair->socket);
        assert_int_equal(pair->owner, waitpid(pair->owner, &status, 0));
        assert_int_equal(status, 0);
        pair->owner = 0;
    }
}

static void close_pair(struct pair *pair)
{
    if (pair->reader != NULL) {
        pair->reader->ops->close(pair->reader);
    }
    end_owner(pair);
    free(pair->source);
    free(pair->sink);
}

/* The owner goes on for a moment. */
static void tell(struct pair *pair)
{
    char word = 'w';
    if (pair->owner != 0) {
        assert_int_equal(1, write(pair->socket, &word, 1));
        assert_int_equal(1, read(pair->socket, &word, 1));
    }
}

static void look(struct pair *pair, struct seen *seen)
{
    struct carrier_event events[CARRIER_EVENTS];
    const int count = pair->reader->ops->poll(pair->reader, events);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        seen->read++;
        seen->failed += events[i].status != 0 ? 1U : 0U;
        assert_int_equal(events[i].tag, 4711);
    }
    tell(pair);
}

static int post(struct pair *pair, uint64_t key, size_t offset, size_t bytes)
{
    return pair->reader->ops->read(pair->reader, pair->peer, pair->owned.memory.address + offset,
                                   key, pair->sink + offset, bytes, 4711);
}

static void test_memory_arrives_whole(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    unsigned issued = 0;
    open_pair(&pair);
    const int64_t end = now() + DEADLINE_NS;
    while (seen.read < PIECES && now() < end) {
        const size_t offset = (size_t)issued * (BYTES / PIECES);
        if (issued < PIECES && post(&pair, pair.owned.memory.key, offset, BYTES / PIECES) == 0) {
            issued++;
        }
        look(&pair, &seen);
    }
    assert_int_equal(seen.read, PIECES);
    assert_int_equal(seen.failed, 0);
    assert_memory_equal(pair.source, pair.sink, BYTES);
    close_pair(&pair);
}

/* More than fit under way: -EAGAIN, and each that was taken ends once. */
static void test_many_small_reads(void **state)
{
    (void)state;
    enum { READS = 1000, SMALL = 100 };
    struct pair pair;
    struct seen seen = {0};
    unsigned issued = 0;
    open_pair(&pair);
    const int64_t end = now() + DEADLINE_NS;
    while (seen.read < READS && now() < end) {
        int result = 0;
        while (issued < READS && result == 0) {
            result = post(&pair, pair.owned.memory.key, (size_t)issued * SMALL, SMALL);
            issued += result == 0 ? 1U : 0U;
            assert_true(result == 0 || result == -EAGAIN);
        }
        look(&pair, &seen);
    }
    assert_int_equal(seen.read, READS);
    assert_int_equal(seen.failed, 0);
    assert_memory_equal(pair.source, pair.sink, (size_t)READS * SMALL);
    close_pair(&pair);
}

/* Memory that is none, or no longer: the read fails or never ends, and nothing is written. (shm
 * reads the memory of another process of the same user directly, whatever the key.) */
static void test_other_memory_is_not_read(void **state)
{
    (void)state;
    if (strcmp(provider, "shm") == 0) {
        skip();
    }
    struct pair pair;
    struct seen seen = {0};
    open_pair(&pair);
    bool posted = false;
    const int64_t end = now() + VAMP_NS_PER_SECOND / 2;
    while (seen.failed == 0 && now() < end) {
        posted = posted || post(&pair, pair.owned.memory.key ^ 0x5a5a, 0, 4096) == 0;
        look(&pair, &seen);
    }
    assert_int_equal(seen.read, seen.failed);
    for (size_t i = 0; i < 4096; i++) {
        assert_int_equal(pair.sink[i], 0);
    }
    close_pair(&pair);
}

/* A read that the other side does not answer: once the reader is closed, nothing is written any
 * more. */
static void test_close_ends_reads(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    open_pair(&pair);
    const int64_t end = now() + DEADLINE_NS;
    bool posted = false;
    while (seen.read == 0 && now() < end) { /* one small read connects */
        posted = posted || post(&pair, pair.owned.memory.key, 0, 64) == 0;
        look(&pair, &seen);
    }
    assert_int_equal(seen.read, 1);
    int result = -EAGAIN;
    while (result == -EAGAIN && now() < end) {
        result = post(&pair, pair.owned.memory.key, 0, BYTES);
    }
    assert_int_equal(result, 0);
    pair.reader->ops->close(pair.reader);
    pair.reader = NULL;
    memset(pair.sink, 0xee, BYTES);
    for (unsigned i = 0; i < 100; i++) {
        tell(&pair);
        (void)usleep(1000);
    }
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(pair.sink[i], 0xee);
    }
    close_pair(&pair);
}

/* An idle process does not spin. */
static void test_idle_waits(void **state)
{
    (void)state;
    static uint8_t memory[4096];
    struct carrier_memory exposed;
    struct carrier_event events[CARRIER_EVENTS];
    struct carrier *carrier = open_one();
    assert_non_null(carrier);
    assert_int_equal(0, carrier->ops->expose(carrier, memory, sizeof memory, &exposed, NULL));
    unsigned waits = 0;
    for (const int64_t end = now() + 200000000; now() < end; waits++) {
        int64_t timeout_ns = 50000000;
        const int descriptor = carrier->ops->wait(carrier, &timeout_ns);
        struct pollfd what = {.fd = descriptor, .events = POLLIN};
        const struct timespec timeout = vamp_timespec(timeout_ns);
        (void)ppoll(&what, 1, &timeout, NULL);
        assert_int_equal(carrier->ops->poll(carrier, events), 0);
    }
    assert_true(waits < 1000);
    carrier->ops->forget(carrier, &exposed);
    carrier->ops->close(carrier);
}

/* Nobody is at the place any more: an error or "not now", never a hang or a crash. */
static void test_nobody_there(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    open_pair(&pair);
    end_owner(&pair);
    int result = -EAGAIN;
    for (const int64_t end = now() + 300000000; now() < end && seen.failed == 0;) {
        result = result == -EAGAIN ? post(&pair, pair.owned.memory.key, 0, 100) : result;
        look(&pair, &seen);
        (void)usleep(1000);
    }
    assert_int_equal(seen.read, seen.failed);
    pair.reader->ops->peer_remove(pair.reader, pair.peer);
    close_pair(&pair);
}

static void test_odd_places(void **state)
{
    (void)state;
    struct carrier *carrier = open_one();
    carrier_peer peer;
    struct carrier_place odd = {.length = 0, .address = {1}};
    assert_true(carrier->ops->peer_add(carrier, &odd, &peer) < 0);
    odd.length = sizeof odd.address + 1;
    assert_true(carrier->ops->peer_add(carrier, &odd, &peer) < 0);
    carrier->ops->close(carrier);
}

/* ---- libfabric alone */

static void refused(const char *name, uint32_t protocol, const char *bind, const char *word)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct carrier *carrier = NULL;
    struct carrier_place kind = {.protocol = protocol};
    (void)snprintf(kind.provider, sizeof kind.provider, "%s", name);
    assert_true(fabric_open(&kind, bind, &carrier, &err) < 0);
    assert_null(carrier);
    if (strstr(err.text, word) == NULL) {
        fail_msg("\"%s\" does not speak of \"%s\"", err.text, word);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    refused("nonsense", 0, "127.0.0.1", "not available");
    refused("nonsense", 0, "127.0.0.1", "allowed are");
    refused("tcp;ofi_rxm", 0, "203.0.113.77", "203.0.113.77");
    refused("tcp;ofi_rxm", 1, "127.0.0.1", "FI_OFI_RXM_ENABLE_PASSTHRU=1");
}

static void test_choice(void **state)
{
    (void)state;
    (void)unsetenv("MSTRO_OFI_PROVIDER");
    (void)unsetenv("FI_PROVIDER");
    assert_string_equal(fabric_provider_choice(NULL), "");
    (void)setenv("FI_PROVIDER", "shm", 1);
    assert_string_equal(fabric_provider_choice(NULL), "shm");
    (void)setenv("MSTRO_OFI_PROVIDER", "tcp", 1);
    assert_string_equal(fabric_provider_choice(""), "tcp");
    assert_string_equal(fabric_provider_choice("verbs"), "verbs");
    (void)unsetenv("MSTRO_OFI_PROVIDER");
    (void)unsetenv("FI_PROVIDER");
    assert_true(fabric_provider_is_known("verbs;ofi_rxm") && fabric_provider_is_known("stream"));
    assert_false(fabric_provider_is_known("sockets") || fabric_provider_is_known("tcpx"));
}

int main(int count, char **arguments)
{
    if (count == 2) {
        provider = arguments[1];
        return own();
    }
    static const char *const providers[] = {DOOR_PROVIDER, "tcp;ofi_rxm", "tcp", "shm"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_arrives_whole),
        cmocka_unit_test(test_many_small_reads),
        cmocka_unit_test(test_other_memory_is_not_read),
        cmocka_unit_test(test_close_ends_reads),
        cmocka_unit_test(test_idle_waits),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_odd_places),
    };
    const struct CMUnitTest of_libfabric[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_choice),
    };
    int failures = cmocka_run_group_tests_name("libfabric", of_libfabric, NULL, NULL);
    for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++) {
        provider = providers[i];
        failures += cmocka_run_group_tests_name(provider, tests, NULL, NULL);
    }
    return failures == 0 ? 0 : 1;
}
