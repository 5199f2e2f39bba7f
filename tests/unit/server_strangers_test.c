/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool manager and those who have only its address, or who have the key and lie: connections
 * that say nothing, little, or anything, in numbers. None of them ends the pool manager, holds it
 * up, or keeps a descriptor for long, and components join and work meanwhile.
 *
 *   server_strangers_test strangers NUMBER [SEED]    that many connections, made up from the seed
 *   server_strangers_test liars NUMBER [SEED]        the same of members, behind the key
 */
#include <dirent.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/unit/server_manager.h"
#include "tests/unit/wire_raw_peer.h"

/* Told; a machine whose processors are all taken holds everybody up. */
#define FREEZE_NS INT64_C(100000000)
/* Nothing may take this long. */
#define HANG_NS (5 * VAMP_NS_PER_SECOND)

static struct server_options options; /* of the tests that run */

/* By the scheduler's account: a thread ran, or was ready to run and had no processor. */
struct turn {
    int64_t ran_ns, waited_ns;
};

struct manager {
    struct served served;
    struct component good;
    struct sockaddr_in address;
    int64_t longest_ns; /* that an operation of the good one took */
    unsigned freezes;
    struct turn freeze; /* the pool manager's thread in these, at most */
};

static int64_t now(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

/* Of the thread of the pool manager so far. */
static struct turn turn_of_manager(void)
{
    struct turn turn = {0};
    const struct dirent *entry;
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    while ((entry = readdir(threads)) != NULL) {
        char path[300];
        char name[32] = "";
        (void)snprintf(path, sizeof path, "/proc/self/task/%.200s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            (void)!fgets(name, sizeof name, file);
            (void)fclose(file);
        }
        (void)snprintf(path, sizeof path, "/proc/self/task/%.200s/schedstat", entry->d_name);
        file = strcmp(name, "pool manager\n") == 0 ? fopen(path, "r") : NULL;
        if (file != NULL) {
            char *end = fgets(path, sizeof path, file);
            turn.ran_ns = end != NULL ? strtoll(path, &end, 10) : 0;
            turn.waited_ns = end != NULL ? strtoll(end, NULL, 10) : 0;
            (void)fclose(file);
        }
    }
    (void)closedir(threads);
    return turn;
}

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void start_manager(struct manager *manager)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct info info;
    *manager = (struct manager){0};
    serve(&manager->served, &options);
    assert_int_equal(MSTRO_OK,
                     component_open(&manager->good, server_info(manager->served.server),
                                    COMPONENT_WORKFLOW, "good", COMPONENT_DEADLINE_MS, &err));
    assert_int_equal(0, info_parse(server_info(manager->served.server), &info, NULL));
    memcpy(&manager->address, info.address, sizeof manager->address);
}

static void work(struct manager *manager)
{
    uint64_t handle;
    const struct turn before = turn_of_manager();
    const int64_t since = now();
    assert_int_equal(MSTRO_OK, component_declare(&manager->good, "meanwhile", &handle));
    assert_int_equal(
        MSTRO_OK, component_operate(&manager->good, MSTRO__WIRE__OPERATION__DISPOSE, handle, NULL));
    const int64_t took = now() - since;
    manager->longest_ns = more(took, manager->longest_ns);
    if (took > FREEZE_NS) {
        const struct turn after = turn_of_manager();
        struct turn *most = &manager->freeze;
        manager->freezes++;
        most->ran_ns = more(after.ran_ns - before.ran_ns, most->ran_ns);
        most->waited_ns = more(after.waited_ns - before.waited_ns, most->waited_ns);
    }
}

/* A newcomer joins and leaves. */
static void come_and_go(struct manager *manager, const char *name)
{
    struct component newcomer;
    struct vamp_err err = VAMP_ERR_NONE;
    const int64_t since = now();
    if (component_open(&newcomer, server_info(manager->served.server), COMPONENT_WORKFLOW, name,
                       COMPONENT_DEADLINE_MS, &err) != MSTRO_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(now() - since < HANG_NS);
    component_leave(&newcomer);
    component_close(&newcomer);
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

static void stop_manager(struct manager *manager, struct server_counts *counts)
{
    work(manager);
    assert_true(manager->longest_ns < HANG_NS);
    component_leave(&manager->good);
    component_close(&manager->good);
    serve_no_more(&manager->served, counts);
}

static int knock(const struct manager *manager)
{
    const int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(end >= 0);
    assert_int_equal(
        0, connect(end, (const struct sockaddr *)&manager->address, sizeof manager->address));
    return end;
}

/* ---- known ends of libfabric's tcp: 72 bytes ended a process, 32 froze it while they were held */

static void test_two_finds(void **state)
{
    (void)state;
    static const uint8_t hello_and_acknowledgement[72] = {
        [56] = 3, [60] = 2, [62] = 1, [64] = 0x10, [69] = 0};
    static const uint8_t hello_of_256_bytes[32] = {3, 0, 1, 0, [24] = 1};
    struct manager manager;
    struct server_counts counts;
    start_manager(&manager);
    int held[40];
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        held[i] = knock(&manager);
        const uint8_t *bytes = i % 2 == 0 ? hello_and_acknowledgement : hello_of_256_bytes;
        (void)!send(held[i], bytes, i % 2 == 0 ? 72 : 32, MSG_NOSIGNAL);
        work(&manager);
    }
    come_and_go(&manager, "in spite of them");
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        (void)close(held[i]);
    }
    stop_manager(&manager, &counts);
    assert_int_equal(counts.joins, 2);
}

/* Two thousand that say nothing take at most STREAM_STRANGERS descriptors, and give them back. */
static void test_silence(void **state)
{
    (void)state;
    enum { SILENT = 2000 };
    static int held[SILENT];
    struct manager manager;
    struct server_counts counts;
    start_manager(&manager);
    const unsigned before = descriptors();
    unsigned most = 0;
    for (unsigned i = 0; i < SILENT; i++) {
        held[i] = knock(&manager);
        if (i % 100 == 99) {
            work(&manager);
            const unsigned taken = descriptors() - before - (i + 1);
            most = taken > most ? taken : most;
        }
    }
    come_and_go(&manager, "among the silent");
    assert_in_range(most, 0, STREAM_STRANGERS + 8);
    const int64_t until = now() + 5 * VAMP_NS_PER_SECOND;
    while (descriptors() > before + SILENT + 1 && now() < until) {
        (void)usleep(10000);
    }
    assert_in_range(descriptors(), before, before + SILENT + 1);
    for (unsigned i = 0; i < SILENT; i++) {
        (void)close(held[i]);
    }
    stop_manager(&manager, &counts);
    assert_int_equal(counts.joins, 2);
    assert_int_equal(counts.strangers, SILENT);
}

/* Where a process may have few descriptors: who knocks takes them, and newcomers get in. */
static void test_few_descriptors(void **state)
{
    (void)state;
    struct rlimit limit;
    struct manager manager;
    struct server_counts counts;
    start_manager(&manager);
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
    const struct rlimit few = {.rlim_cur = 256, .rlim_max = limit.rlim_max};
    const pid_t stranger = fork(); /* with descriptors of its own */
    assert_true(stranger >= 0);
    if (stranger == 0) {
        for (unsigned i = 0; i < 500; i++) {
            const int end = socket(AF_INET, SOCK_STREAM, 0);
            (void)!connect(end, (const struct sockaddr *)&manager.address, sizeof manager.address);
            (void)usleep(20000);
        }
        _exit(0);
    }
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &few));
    for (unsigned i = 0; i < 20; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "newcomer %u", i);
        come_and_go(&manager, name);
        work(&manager);
        (void)usleep(100000);
    }
    (void)kill(stranger, SIGKILL);
    (void)waitpid(stranger, NULL, 0);
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &limit));
    stop_manager(&manager, &counts);
    assert_int_equal(counts.joins, 21);
    assert_in_range(counts.strangers, 20, 500);
}

/* ---- members that do not read */

static void subscribe_to_all(struct raw_peer *peer)
{
    Mstro__Wire__Subscribe subscribe = MSTRO__WIRE__SUBSCRIBE__INIT;
    subscribe.event_kinds = 0xfffe;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.id = 1;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_SUBSCRIBE;
    request.subscribe = &subscribe;
    assert_true(raw_peer_say(peer, FRAME_REQUEST, &request.base));
    assert_true(raw_peer_await(peer, 2));
}

/* The time of so many operations of the good one. */
static int64_t time_of_work(struct manager *manager, unsigned operations)
{
    const int64_t since = now();
    for (unsigned i = 0; i < operations; i++) {
        work(manager);
    }
    return now() - since;
}

/* Twelve that read nothing: others go on as before. */
static void test_silent_members(void **state)
{
    (void)state;
    enum { SILENT = 12, OPERATIONS = 3000 };
    static struct raw_peer peers[SILENT];
    struct manager manager;
    struct server_counts counts;
    start_manager(&manager);
    const int64_t before = time_of_work(&manager, OPERATIONS);
    for (unsigned i = 0; i < SILENT; i++) {
        char name[32];
        raw_peer_open(&peers[i], server_info(manager.served.server));
        (void)snprintf(name, sizeof name, "silent %u", i);
        assert_true(raw_peer_join(&peers[i], COMPONENT_WORKFLOW, name));
        assert_true(raw_peer_await(&peers[i], 1));
        subscribe_to_all(&peers[i]);
    }
    const int64_t with_them = time_of_work(&manager, OPERATIONS);
    print_message("%d operations took %.3f s, with %d silent members %.3f s\n", 2 * OPERATIONS,
                  (double)before / 1e9, SILENT, (double)with_them / 1e9);
    stop_manager(&manager, &counts);
    for (unsigned i = 0; i < SILENT; i++) {
        raw_peer_close(&peers[i]);
    }
    assert_int_equal(counts.joins, SILENT + 1);
}

/* What one that never says it has taken anything is sent of 1,500 CDOs. */
static struct server_counts sent_to_one_who_does_not_take(uint64_t events_per_message,
                                                          const char *more)
{
    struct manager manager;
    struct server_counts counts;
    struct raw_peer peer;
    options.events_per_message = events_per_message;
    start_manager(&manager);
    options.events_per_message = 0;
    raw_peer_open(&peer, server_info(manager.served.server));
    assert_true(raw_peer_join(&peer, COMPONENT_WORKFLOW, "watcher"));
    assert_true(raw_peer_await(&peer, 1));
    subscribe_to_all(&peer);
    for (unsigned i = 0; i < 1500; i++) {
        char name[256];
        uint64_t handle = 0;
        (void)snprintf(name, sizeof name, "%u%s", i, more);
        assert_int_equal(MSTRO_OK, component_declare(&manager.good, name, &handle));
        assert_int_equal(MSTRO_OK, component_operate(&manager.good, MSTRO__WIRE__OPERATION__DISPOSE,
                                                     handle, NULL));
    }
    stop_manager(&manager, &counts);
    raw_peer_close(&peer);
    return counts;
}

/* Many small batches may be on their way, of large ones few. */
static void test_window(void **state)
{
    (void)state;
    enum { NAME = 220, WINDOW_SMALL = 64 * 1024 };
    char more[NAME + 1];
    memset(more, 'n', NAME);
    more[NAME] = '\0';
    struct server_counts counts = sent_to_one_who_does_not_take(1, "");
    assert_int_equal(counts.event_messages, 256);
    counts = sent_to_one_who_does_not_take(1, more);
    assert_in_range(counts.event_messages, WINDOW_SMALL / 320, WINDOW_SMALL / NAME);
    counts = sent_to_one_who_does_not_take(64, more);
    assert_in_range(counts.event_messages, 32, 255);
}

static char said[1024];

static void hear(const char *text)
{
    (void)snprintf(said, sizeof said, "%s", text);
}

/* One that asks and does not read the answers is given up, by name. */
static void test_asks_and_does_not_read(void **state)
{
    (void)state;
    struct manager manager;
    struct server_counts counts;
    struct raw_peer peer;
    options.say = hear;
    start_manager(&manager);
    options.say = NULL;
    raw_peer_open(&peer, server_info(manager.served.server));
    assert_true(raw_peer_join(&peer, COMPONENT_WORKFLOW, "deaf"));
    assert_true(raw_peer_await(&peer, 1));
    Mstro__Wire__EventAck ack = MSTRO__WIRE__EVENT_ACK__INIT;
    ack.subscription = 4711;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_EVENT_ACK;
    request.event_ack = &ack;
    const struct frame frame = {.kind = FRAME_REQUEST};
    unsigned asked = 0;
    bool deaf = true;
    while (deaf && asked < 1000000) {
        uint8_t *room = stream_reserve(peer.stream, 64);
        assert_non_null(room);
        stream_commit(peer.stream, frame_pack(&frame, &request.base, room, 64));
        stream_flush(peer.stream); /* and nothing is read */
        asked++;
        if (asked % 10000 == 0) {
            work(&manager);
            (void)port_local_lock(manager.served.local.port);
            deaf = said[0] == '\0';
            port_local_unlock(manager.served.local.port);
        }
    }
    assert_non_null(strstr(said, "\"deaf\" was given up: it does not read"));
    raw_peer_close(&peer);
    stop_manager(&manager, &counts);
    assert_int_equal(counts.vanished, 1);
}

/* ---- made up: the same from the same seed */

static uint64_t roll(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t make_up(uint64_t *dice, uint8_t *bytes, size_t most)
{
    /* Begins of what somebody might say: TLS, a frame, HTTP, libfabric's hello. */
    static const uint8_t begins[][8] = {{0x16, 3, 1, 0, 200, 1, 0, 0}, {0x16, 3, 3, 0x40, 0},
                                        {20, 0, 0, 0, 8, 3},           {'G', 'E', 'T', ' ', '/'},
                                        {0x17, 3, 3, 0, 40},           {3, 0, 1, 0}};
    const size_t length = roll(dice) % (roll(dice) % 8 == 0 ? most : 300);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)(roll(dice) >> 24);
    }
    const uint8_t *begin = begins[roll(dice) % (sizeof begins / sizeof begins[0])];
    if (roll(dice) % 2 == 0 && length >= sizeof begins[0]) {
        memcpy(bytes, begin, sizeof begins[0]);
    }
    return length;
}

/* The first flight of a client that has the wrong key, or the right one, cut and changed. */
static size_t greet(uint64_t *dice, uint8_t *bytes, size_t most)
{
    static uint8_t hello[1024];
    static ssize_t length;
    if (length == 0) {
        struct secure_terms *terms = NULL;
        struct secure *secure = NULL;
        int ends[2];
        assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        assert_int_equal(0, secure_terms_open(&terms, NULL));
        assert_int_equal(0, secure_open(terms, &secure_open_key, ends[0], false, &secure));
        assert_int_equal(-EAGAIN, secure_handshake(secure));
        length = read(ends[1], hello, sizeof hello);
        assert_true(length > 100);
        secure_close(secure);
        secure_terms_close(terms);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    assert_true((size_t)length <= most);
    memcpy(bytes, hello, (size_t)length);
    for (uint64_t hits = roll(dice) % 4; hits > 0; hits--) {
        bytes[roll(dice) % (size_t)length] = (uint8_t)(roll(dice) >> 24);
    }
    return roll(dice) % 4 == 0 ? roll(dice) % (size_t)length : (size_t)length;
}

static void come_as_strangers(struct manager *manager, unsigned number, uint64_t dice)
{
    enum { HELD = 100 };
    static uint8_t bytes[100000];
    int held[HELD];
    memset(held, -1, sizeof held);
    for (unsigned i = 0; i < number; i++) {
        int *end = &held[roll(&dice) % HELD]; /* some stay for a while */
        if (*end >= 0) {
            (void)close(*end);
        }
        *end = knock(manager);
        for (uint64_t pieces = roll(&dice) % 3; pieces > 0; pieces--) {
            const size_t length = roll(&dice) % 2 == 0 ? greet(&dice, bytes, sizeof bytes)
                                                       : make_up(&dice, bytes, sizeof bytes);
            (void)!send(*end, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        if (i % 64 == 0) {
            work(manager);
        }
    }
    for (unsigned i = 0; i < HELD; i++) {
        if (held[i] >= 0) {
            (void)close(held[i]);
        }
    }
}

/* Members who lie: they join or not, and send frames that are changed, or none. */
static void come_as_liars(struct manager *manager, unsigned number, uint64_t dice)
{
    static uint8_t bytes[FRAME_BYTES_MAX];
    for (unsigned i = 0; i < number; i++) {
        struct raw_peer peer;
        char name[32];
        raw_peer_open(&peer, server_info(manager->served.server));
        (void)snprintf(name, sizeof name, "liar %u", i);
        if (roll(&dice) % 4 != 0) {
            (void)raw_peer_join(&peer, COMPONENT_WORKFLOW, name);
        }
        for (uint64_t frames = roll(&dice) % 4; frames > 0; frames--) {
            Mstro__Wire__CdoOperation operation = MSTRO__WIRE__CDO_OPERATION__INIT;
            Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
            operation.operation = (Mstro__Wire__Operation)(4 + roll(&dice) % 7);
            operation.handle = roll(&dice) % 8; /* mostly of others */
            request.what_case = MSTRO__WIRE__REQUEST__WHAT_OPERATION;
            request.operation = &operation;
            const struct frame frame = {.events_taken = roll(&dice) % 8 == 0 ? 7 : 0,
                                        .kind = FRAME_REQUEST};
            size_t length = frame_pack(&frame, &request.base, bytes, sizeof bytes);
            if (roll(&dice) % 2 == 0) {
                length = make_up(&dice, bytes, sizeof bytes) + 1;
            } else if (roll(&dice) % 2 == 0) {
                bytes[roll(&dice) % length] ^= (uint8_t)(1 + roll(&dice) % 255);
            }
            (void)raw_peer_send(&peer, bytes, length);
        }
        raw_peer_close(&peer);
        if (i % 64 == 0) {
            work(manager);
        }
    }
}

static void come(void (*as)(struct manager *, unsigned, uint64_t), unsigned number, uint64_t seed)
{
    struct manager manager;
    struct server_counts counts;
    start_manager(&manager);
    const unsigned before = descriptors();
    const int64_t since = now();
    as(&manager, number, seed * 2 + 1);
    const double took_s = (double)(now() - since) / 1e9;
    come_and_go(&manager, "after them");
    const int64_t until = now() + 5 * VAMP_NS_PER_SECOND;
    while (descriptors() > before + 1 && now() < until) {
        (void)usleep(10000);
    }
    assert_in_range(descriptors(), 0, before + 3); /* the raw peers' hub has some, too */
    stop_manager(&manager, &counts);
    print_message("%u came in %.1f s; an operation of another took %.1f ms at most, %u took more "
                  "than 100 ms, in which the pool manager ran %.1f ms and waited %.1f ms for a "
                  "processor, at most\n",
                  number, took_s, (double)manager.longest_ns / 1e6, manager.freezes,
                  (double)manager.freeze.ran_ns / 1e6, (double)manager.freeze.waited_ns / 1e6);
}

static unsigned number = 3000;
static uint64_t seed = 1;

static void test_strangers(void **state)
{
    (void)state;
    come(come_as_strangers, number, seed);
}

static void test_liars(void **state)
{
    (void)state;
    come(come_as_liars, number / 3, seed);
}

int main(int count, char **arguments)
{
    if (count >= 3) {
        const struct CMUnitTest strangers[] = {cmocka_unit_test(test_strangers)};
        const struct CMUnitTest liars[] = {cmocka_unit_test(test_liars)};
        const bool lie = strcmp(arguments[1], "liars") == 0;
        number = (unsigned)strtoul(arguments[2], NULL, 10) * (lie ? 3 : 1);
        seed = count > 3 ? strtoull(arguments[3], NULL, 10) : seed;
        return lie ? cmocka_run_group_tests(liars, NULL, NULL)
                   : cmocka_run_group_tests(strangers, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_finds),       cmocka_unit_test(test_silence),
        cmocka_unit_test(test_few_descriptors), cmocka_unit_test(test_silent_members),
        cmocka_unit_test(test_window),          cmocka_unit_test(test_asks_and_does_not_read),
        cmocka_unit_test(test_strangers),       cmocka_unit_test(test_liars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
