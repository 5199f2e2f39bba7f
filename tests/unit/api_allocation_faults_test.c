/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every allocation of the pool manager and of the client library fails once: a workflow in one
 * process, over real endpoints. One component uses maestro.h, gives a CDO and takes one; its peer
 * is a bare port. Whatever fails, every call ends with a status and a text, or has done what it
 * should; payloads are right, events are there or counted as lost, everything is given back.
 *
 * The allocations are those of this project's own code, distinguished by the linker
 * (tests/lib/fault.h). Those that libfabric, protobuf-c and libyaml make for themselves do not fail
 * here.
 *
 * ALLOCATION_FAULTS=every tries every number, with all behind it failing too or not; =N only this
 * one; else PART of them, spread over all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "maestro/maestro.h"
#include "maestro/server/server.h"
#include "tests/lib/at_once.h"
#include "tests/lib/fault.h"
#include "tests/unit/client_component.h"

#define HEARTBEAT_MS 100
#define SILENCE_MS 3000
#define JOIN_MS "5000"
#define PAYLOAD_BYTES ((size_t)20000)
/* When the other one is gone a wait has no end: then the pool manager goes, too. */
#define PATIENCE_NS (VAMP_NS_PER_SECOND / 2)
/* Nothing may last so long. */
#define HANGS_NS (90 * VAMP_NS_PER_SECOND)
#define SCHEMA_DIRECTORY "tests/workflow"
#define EVERYTHING (((mstro_pool_event_kind)1 << 16) - 2)

struct world {
    struct component local, peer; /* the pool manager's own component; the other one */
    struct server *server;
    bool own_manager; /* the component is the pool manager; `local` and `server` are not used */
    bool peer_joined;
    /* What happened. */
    mstro_status status; /* of the first call that did not succeed */
    char text[VAMP_ERR_TEXT_BYTES];
    const char *step;
    bool given, taken; /* payloads arrived, both ways */
    uint64_t events, lost, gone;
    bool last_seen; /* the event of the last operation */
    /* The guard. */
    pthread_t guard;
    pthread_mutex_t lock;
    atomic_bool ended;
    unsigned number; /* which allocation fails */
};

static uint8_t ours[PAYLOAD_BYTES], theirs[PAYLOAD_BYTES];

/* ---- steps */

/* Notes the first failure. True: go on. */
static bool good(struct world *world, const char *step, mstro_status status, const char *text)
{
    if (status != MSTRO_OK && world->status == MSTRO_OK) {
        world->status = status;
        world->step = step;
        (void)snprintf(world->text, sizeof world->text, "%s", text);
    }
    return status == MSTRO_OK;
}

#define OK(call) good(world, #call, (call), mstro_last_error())
#define PEER_OK(call) good(world, #call, (call), "of the peer")

static int64_t now(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

static void stop_server(struct world *world)
{
    (void)pthread_mutex_lock(&world->lock);
    server_stop(world->server, NULL);
    world->server = NULL;
    (void)pthread_mutex_unlock(&world->lock);
}

/* Ends the waits that no other thread can end, and the process when one does not end. */
static void *guard(void *argument)
{
    struct world *world = argument;
    const int64_t begin_ns = now();
    int64_t alone_ns = 0;
    while (!atomic_load(&world->ended)) {
        (void)usleep(1000);
        if (now() - begin_ns > HANGS_NS) {
            (void)fprintf(stderr, "allocation %u: hangs\n", world->number);
            abort();
        }
        const bool alone = world->peer_joined && COMPONENT_READ(&world->peer, gone) > 0;
        alone_ns = !alone ? 0 : alone_ns == 0 ? now() : alone_ns;
        if (alone && now() - alone_ns > PATIENCE_NS) {
            world->own_manager ? (void)mstro_finalize() : stop_server(world);
            alone_ns = now();
        }
    }
    return NULL;
}

static mstro_status set(mstro_cdo cdo, const char *key, const void *value, bool copy)
{
    union { /* maestro.h does not write to it */
        const void *in;
        void *out;
    } pointer = {value};
    return mstro_cdo_attribute_set(cdo, key, pointer.out, copy, true);
}

static bool give_attributes(struct world *world, mstro_cdo cdo)
{
    static const char *const class = "od";
    static const int64_t step = 6;
    static const uint64_t bytes = PAYLOAD_BYTES;
    return OK(set(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, ours, true)) &&
           OK(set(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &bytes, true)) &&
           OK(set(cdo, ".maestro.ecmwf.class", &class, true)) &&
           OK(set(cdo, ".maestro.ecmwf.step", &step, true));
}

/* The peer takes what we offer. */
static void peer_takes(struct world *world)
{
    uint64_t handle;
    if (!PEER_OK(component_declare(&world->peer, "ours", &handle)) ||
        !PEER_OK(component_operate(&world->peer, MSTRO__WIRE__OPERATION__REQUIRE, handle, NULL)) ||
        !PEER_OK(component_operate(&world->peer, MSTRO__WIRE__OPERATION__DEMAND, handle, NULL))) {
        return;
    }
    while (COMPONENT_READ(&world->peer, arrived) == 0 && COMPONENT_READ(&world->peer, gone) == 0) {
        (void)usleep(200);
    }
    if (COMPONENT_READ(&world->peer, arrived) > 0 && world->peer.arrived_status == MSTRO_OK) {
        assert_int_equal(world->peer.payload_bytes, PAYLOAD_BYTES);
        assert_memory_equal(world->peer.payload, ours, PAYLOAD_BYTES);
        world->given = true;
        (void)PEER_OK(
            component_operate(&world->peer, MSTRO__WIRE__OPERATION__DISPOSE, handle, NULL));
    } else {
        (void)PEER_OK(MSTRO_FAIL);
        (void)component_operate(&world->peer, MSTRO__WIRE__OPERATION__RETRACT, handle, NULL);
    }
}

static void give(struct world *world)
{
    mstro_cdo cdo = NULL;
    if (!OK(mstro_cdo_declare("ours", MSTRO_ATTR_DEFAULT, &cdo))) {
        assert_null(cdo);
        return;
    }
    if (give_attributes(world, cdo) && OK(mstro_cdo_seal(cdo)) && OK(mstro_cdo_offer(cdo))) {
        peer_takes(world);
        (void)OK(mstro_cdo_withdraw(cdo));
    }
    (void)OK(mstro_cdo_dispose(cdo));
}

static void take(struct world *world)
{
    mstro_cdo cdo = NULL;
    void *data = NULL;
    int64_t bytes = 0;
    if (!OK(mstro_cdo_declare("theirs", MSTRO_ATTR_DEFAULT, &cdo))) {
        return;
    }
    if (OK(mstro_cdo_require(cdo)) && OK(mstro_cdo_demand(cdo)) &&
        OK(mstro_cdo_access_ptr(cdo, &data, &bytes))) {
        assert_int_equal(bytes, PAYLOAD_BYTES);
        assert_memory_equal(data, theirs, PAYLOAD_BYTES);
        free(data);
        world->taken = true;
    } else {
        (void)mstro_cdo_retract(cdo); /* of one that was not required it fails */
    }
    (void)OK(mstro_cdo_dispose(cdo));
}

static void count_events(struct world *world, mstro_subscription subscription)
{
    mstro_pool_event events = NULL;
    mstro_status status;
    while ((status = mstro_subscription_poll(subscription, &events)) == MSTRO_OK &&
           events != NULL) {
        for (const struct mstro_pool_event_ *event = events; event != NULL; event = event->next) {
            world->lost += event->kind == MSTRO_POOL_EVENT_LOST ? event->payload.lost.count : 0;
            world->gone += event->kind == MSTRO_POOL_EVENT_POOL_GONE;
            world->events += (event->kind & EVERYTHING) != 0;
            world->last_seen =
                world->last_seen || (event->kind == MSTRO_POOL_EVENT_DISPOSE &&
                                     strcmp(event->payload.dispose.cdo_name, "theirs") == 0);
        }
        (void)OK(mstro_pool_event_dispose(events));
    }
    (void)good(world, "mstro_subscription_poll", status, mstro_last_error());
}

/* Events of one workflow in which nothing failed: found by the first runs. */
static uint64_t events_of_all;

/* Until all were seen, or nothing will come. */
static void await_events(struct world *world, mstro_subscription subscription)
{
    const int64_t end_ns = now() + 10 * VAMP_NS_PER_SECOND;
    while (!world->last_seen && world->gone == 0 && now() < end_ns &&
           (events_of_all == 0 || world->events + world->lost < events_of_all)) {
        count_events(world, subscription);
        (void)usleep(500);
    }
}

static void work(struct world *world)
{
    mstro_subscription subscription = NULL;
    mstro_cdo_selector selector = NULL;
    if (OK(mstro_cdo_selector_create(NULL, NULL, "(has .maestro.core.cdo.name)", &selector)) &&
        OK(mstro_subscribe(selector,
                           EVERYTHING | MSTRO_POOL_EVENT_LOST | MSTRO_POOL_EVENT_POOL_GONE, 0,
                           &subscription))) {
        give(world);
        take(world);
        if (world->status == MSTRO_OK) {
            await_events(world, subscription);
        }
        count_events(world, subscription);
        (void)OK(mstro_subscription_dispose(subscription));
    }
    if (selector != NULL) {
        (void)OK(mstro_cdo_selector_dispose(selector));
    }
}

/* ---- a workflow */

static bool start_server(struct world *world, struct vamp_err *err)
{
    static const struct server_options options = {.provider = "tcp;ofi_rxm",
                                                  .heartbeat_ns = INT64_C(1000000) * HEARTBEAT_MS,
                                                  .silence_ns = INT64_C(1000000) * SILENCE_MS};
    const struct port_member member = {.workflow = COMPONENT_WORKFLOW, .component = "pool manager"};
    const struct port_events events = component_callbacks(&world->local);
    return good(world, "port_open_local",
                port_open_local(&member, NULL, &events, &world->local.port, err), err->text) &&
           good(world, "server_start",
                server_start(world->local.port, COMPONENT_WORKFLOW, &options, &world->server, err),
                err->text);
}

/* The peer joins, and offers. */
static bool open_peer(struct world *world, const char *info, void **ret_registration)
{
    struct vamp_err err = VAMP_ERR_NONE;
    uint64_t handle;
    mstro_status status =
        component_open(&world->peer, info, COMPONENT_WORKFLOW, "peer", 5000, &err);
    if (!good(world, "join of the peer", status, err.text)) {
        (void)pthread_mutex_destroy(&world->peer.lock);
        return false;
    }
    world->peer_joined = true;
    return PEER_OK(
        component_offer(&world->peer, "theirs", theirs, sizeof theirs, &handle, ret_registration));
}

static void close_peer(struct world *world, void *registration)
{
    if (world->peer_joined) {
        world->peer.port->ops->forget(world->peer.port, registration);
        component_leave(&world->peer);
        component_close(&world->peer);
    }
}

static void start_guard(struct world *world)
{
    atomic_store(&world->ended, false);
    assert_int_equal(pthread_create(&world->guard, NULL, guard, world), 0);
}

static void end_guard(struct world *world)
{
    atomic_store(&world->ended, true);
    (void)pthread_join(world->guard, NULL);
}

static void with_a_manager(struct world *world)
{
    struct vamp_err err = VAMP_ERR_NONE;
    void *registration = NULL;
    (void)pthread_mutex_init(&world->local.lock, NULL);
    if (start_server(world, &err)) {
        (void)setenv(MSTRO_ENV_POOL_INFO, server_info(world->server), 1);
        if (open_peer(world, server_info(world->server), &registration)) {
            start_guard(world);
            if (OK(mstro_init(COMPONENT_WORKFLOW, "api", 0))) {
                work(world);
                (void)OK(mstro_finalize());
            }
            end_guard(world);
        }
        close_peer(world, registration);
        stop_server(world);
    }
    if (world->local.port != NULL) {
        component_close(&world->local);
    } else {
        (void)pthread_mutex_destroy(&world->local.lock);
    }
}

static void as_the_manager(struct world *world)
{
    char *info = NULL;
    void *registration = NULL;
    (void)unsetenv(MSTRO_ENV_POOL_INFO);
    if (!OK(mstro_init(COMPONENT_WORKFLOW, "api", 0))) {
        return;
    }
    if (OK(mstro_pm_start())) {
        if (OK(mstro_pm_getinfo(&info)) && open_peer(world, info, &registration)) {
            start_guard(world);
            work(world);
            end_guard(world);
        }
        close_peer(world, registration);
        (void)OK(mstro_pm_terminate());
    }
    free(info);
    (void)OK(mstro_finalize());
}

/* True: an allocation has failed. */
static bool run_workflow(struct world *world, bool own_manager, unsigned number, bool onwards)
{
    *world = (struct world){.status = MSTRO_OK, .number = number, .own_manager = own_manager};
    (void)pthread_mutex_init(&world->lock, NULL);
    fault_alloc_fail_anywhere(number, onwards);
    if (own_manager) {
        as_the_manager(world);
    } else {
        with_a_manager(world);
    }
    (void)pthread_mutex_destroy(&world->lock);
    return fault_alloc_end();
}

/* ---- all of them */

/* So many processes at a time; of them, every second one tries one kind of pool manager. In a part,
 * so many allocations. */
enum { SHARES = 4, PART = 12 };
static size_t share;
static unsigned allocations;

static void run_without_faults(bool own_manager)
{
    struct world world;
    for (int i = 0; i < 2; i++) { /* the first one also fills what libraries keep */
        assert_false(run_workflow(&world, own_manager, 0, false));
        if (world.status != MSTRO_OK) {
            fail_msg("%s: %s", world.step, world.text);
        }
        assert_true(world.given && world.taken && world.last_seen);
        assert_int_equal(world.lost, 0);
        assert_true(i == 0 || world.events == events_of_all);
        events_of_all = world.events;
    }
    allocations = fault_alloc_count();
    assert_true(allocations > 50);
}

/* True: it did all it should. */
static bool try_number(bool own_manager, unsigned number, bool onwards)
{
    struct world world;
    const int64_t began_ns = now();
    const bool failed = run_workflow(&world, own_manager, number, onwards);
    const bool done = world.given && world.taken && world.status == MSTRO_OK;
    if ((!failed && !done) || (world.status != MSTRO_OK && world.text[0] == '\0')) {
        fail_msg("allocation %u%s: status %d of %s: \"%s\", %.3f s", number,
                 onwards ? " and all behind it" : "", (int)world.status, world.step, world.text,
                 (double)(now() - began_ns) / 1e9);
    }
    /* Everything that is missing was counted. */
    if (done && world.gone == 0 && world.events + world.lost != events_of_all) {
        fail_msg("allocation %u: %u events and %u lost, of %u", number, (unsigned)world.events,
                 (unsigned)world.lost, (unsigned)events_of_all);
    }
    return done;
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    const bool own_manager = share % 2 == 1;
    const char *wish = getenv("ALLOCATION_FAULTS");
    const bool every = wish != NULL && strcmp(wish, "every") == 0;
    const unsigned only = wish != NULL ? (unsigned)strtoul(wish, NULL, 10) : 0;
    run_without_faults(own_manager);
    /* Threads allocate in another order each time, so there may be some more. */
    const unsigned last = only > 0 ? only : allocations + allocations / 20;
    const unsigned step = every ? 1 : allocations / PART + 1;
    const unsigned begin = step / 2;
    unsigned runs = 0;
    unsigned whole = 0;
    for (unsigned n = only > 0 ? only : 1 + begin; n <= last; n += step) {
        for (size_t onwards = 0; onwards < 2; onwards++) {
            if ((n + onwards + share / 2) % (SHARES / 2) == 0) {
                runs++;
                whole += try_number(own_manager, n, onwards == 1) ? 1U : 0U;
            }
        }
    }
    print_message("%u workflows of %u allocations%s; %u did all they should\n", runs, allocations,
                  own_manager ? ", with a manager inside" : "", whole);
}

static int run_share(const void *context, size_t number)
{
    (void)context;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation_fails)};
    share = number;
    return cmocka_run_group_tests_name("allocations", tests, NULL, NULL);
}

int main(void)
{
    for (size_t i = 0; i < PAYLOAD_BYTES; i++) {
        ours[i] = (uint8_t)(i * 31 >> 3);
        theirs[i] = (uint8_t)(i * 17 >> 2);
    }
    (void)setenv(MSTRO_ENV_SCHEMA_LIST, "ecmwf.yaml", 1);
    (void)setenv(MSTRO_ENV_SCHEMA_PATH, SCHEMA_DIRECTORY, 1);
    (void)setenv(MSTRO_ENV_JOIN_TIMEOUT_MS, JOIN_MS, 1);
    return at_once_without_tsan(run_share, NULL, SHARES) == 0 ? 0 : 1;
}
