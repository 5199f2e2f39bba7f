/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call of libfabric fails once: a pool manager, a producer and a consumer in one process,
 * with payloads over real endpoints. Whatever fails, every call of theirs ends in time and says so
 * or has done what it should, and everything is given back.
 *
 * FABRIC_FAULTS=every tries every number of every call; else the first of each kind and some more.
 * FABRIC_FAULTS=SEND and the like tries only this call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "maestro/server/server.h"
#include "maestro/wire/fabric.h"
#include "tests/lib/at_once.h"
#include "tests/lib/fabric_faults.h"
#include "tests/unit/client_component.h"

#define HEARTBEAT_MS 100
#define SILENCE_MS 6000
/* All that a workflow may take when something fails: several times the silence. */
#define WORKFLOW_NS (60 * VAMP_NS_PER_SECOND)
#ifdef __SANITIZE_ADDRESS__
#define JOIN_MS 10000U /* everything is slow then */
#else
#define JOIN_MS 3000U
#endif
#define PAYLOAD_BYTES ((size_t)100000)

/* How far a workflow came. */
struct outcome {
    bool served, produced, consumed;
    mstro_status status; /* of the first step that did not succeed */
    struct vamp_err err;
};

static uint8_t payload[PAYLOAD_BYTES];

static bool went_well(struct outcome *outcome, mstro_status status)
{
    outcome->status = outcome->status == MSTRO_OK ? status : outcome->status;
    return status == MSTRO_OK;
}

/* Waits for a payload, or for the end of a connection: without its producer a demand waits for
 * another one, for ever. */
static bool receive(struct component *component, struct component *producer)
{
    int64_t end_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + WORKFLOW_NS;
    while (COMPONENT_READ(component, arrived) == 0 && COMPONENT_READ(component, gone) == 0 &&
           COMPONENT_READ(producer, gone) == 0 &&
           vamp_clock_monotonic_ns(&vamp_clock_system) < end_ns) {
        (void)usleep(500);
    }
    assert_true(vamp_clock_monotonic_ns(&vamp_clock_system) < end_ns);
    if (COMPONENT_READ(component, arrived) == 0 || component->arrived_status != MSTRO_OK) {
        return false;
    }
    assert_int_equal(component->payload_bytes, PAYLOAD_BYTES);
    assert_memory_equal(component->payload, payload, PAYLOAD_BYTES);
    return true;
}

static void consume(struct component *consumer, struct component *producer, struct outcome *outcome)
{
    uint64_t handle;
    if (went_well(outcome, component_subscribe(consumer)) &&
        went_well(outcome, component_declare(consumer, "cdo", &handle)) &&
        went_well(outcome,
                  component_operate(consumer, MSTRO__WIRE__OPERATION__REQUIRE, handle, NULL)) &&
        went_well(outcome,
                  component_operate(consumer, MSTRO__WIRE__OPERATION__DEMAND, handle, NULL))) {
        outcome->consumed = receive(consumer, producer);
        if (went_well(outcome,
                      component_operate(consumer, MSTRO__WIRE__OPERATION__DISPOSE, handle, NULL))) {
            component_leave(consumer);
        }
    }
    assert_int_equal(COMPONENT_READ(consumer, out_of_order), 0);
}

static mstro_status join(struct component *component, const struct server *server, const char *name,
                         struct outcome *outcome)
{
    mstro_status status = component_open(component, server_info(server), COMPONENT_WORKFLOW, name,
                                         JOIN_MS, &outcome->err);
    assert_true(status == MSTRO_OK || outcome->err.text[0] != '\0');
    return status;
}

static void produce_and_consume(const struct server *server, struct outcome *outcome)
{
    struct component producer;
    struct component consumer;
    uint64_t handle;
    void *registration = NULL;
    if (!went_well(outcome, join(&producer, server, "producer", outcome))) {
        return;
    }
    outcome->produced = went_well(
        outcome, component_offer(&producer, "cdo", payload, PAYLOAD_BYTES, &handle, &registration));
    if (went_well(outcome, join(&consumer, server, "consumer", outcome))) {
        if (outcome->produced) {
            consume(&consumer, &producer, outcome);
        }
        component_close(&consumer);
    }
    producer.port->ops->forget(producer.port, registration);
    component_leave(&producer);
    component_close(&producer);
}

static void run_workflow(struct outcome *outcome)
{
    struct component local = {0};
    struct server *server = NULL;
    *outcome = (struct outcome){.status = MSTRO_OK, .err = VAMP_ERR_NONE};
    (void)pthread_mutex_init(&local.lock, NULL);
    struct port_events events = component_callbacks(&local);
    const struct port_member member = {.workflow = COMPONENT_WORKFLOW, .component = "pool manager"};
    struct server_options options = {.provider = "tcp;ofi_rxm",
                                     .heartbeat_ns = INT64_C(1000000) * HEARTBEAT_MS,
                                     .silence_ns = INT64_C(1000000) * SILENCE_MS};
    assert_int_equal(MSTRO_OK, port_open_local(&member, NULL, &events, &local.port, &outcome->err));
    mstro_status status =
        server_start(local.port, COMPONENT_WORKFLOW, &options, &server, &outcome->err);
    assert_true(status == MSTRO_OK || outcome->err.text[0] != '\0');
    outcome->served = went_well(outcome, status);
    if (outcome->served) {
        produce_and_consume(server, outcome);
        server_stop(server, NULL);
    }
    component_close(&local);
}

/* ---- which calls */

static const struct {
    enum fabric_fault_call call;
    int error;
    bool harmless; /* the workflow must not notice */
} faults[] = {
    {FABRIC_FAULT_GETINFO, FI_ENODATA, false}, {FABRIC_FAULT_GETINFO, FI_ENOMEM, false},
    {FABRIC_FAULT_FABRIC, FI_ENOMEM, false},   {FABRIC_FAULT_DOMAIN, FI_EIO, false},
    {FABRIC_FAULT_AV_OPEN, FI_ENOMEM, false},  {FABRIC_FAULT_CQ_OPEN, FI_ENOMEM, true},
    {FABRIC_FAULT_ENDPOINT, FI_ENOMEM, false}, {FABRIC_FAULT_GETWAIT, FI_ENOSYS, true},
    {FABRIC_FAULT_BIND, FI_EINVAL, false},     {FABRIC_FAULT_ENABLE, FI_EIO, false},
    {FABRIC_FAULT_GETNAME, FI_EIO, false},     {FABRIC_FAULT_INSERT, FI_ENOMEM, false},
    {FABRIC_FAULT_REGISTER, FI_ENOMEM, false}, {FABRIC_FAULT_READ, FI_EAGAIN, true},
    {FABRIC_FAULT_READ, FI_EIO, false},        {FABRIC_FAULT_TRYWAIT, FI_EAGAIN, true},
    {FABRIC_FAULT_CQ_READ, FI_EAGAIN, true},   {FABRIC_FAULT_CQ_READ, FI_EIO, false},
    {FABRIC_FAULT_COMPLETE, FI_EIO, false},    {FABRIC_FAULT_COMPLETE, FI_ECANCELED, false},
    {FABRIC_FAULT_CLOSE, FI_EBUSY, true},
};

/* In so many processes at a time: most of the time is waiting for a peer that has failed. */
enum { FAULTS = sizeof faults / sizeof faults[0], SHARES = 9 };

static bool try_every(void)
{
    const char *wish = getenv("FABRIC_FAULTS");
    return wish != NULL && strcmp(wish, "every") == 0;
}

static bool wanted(enum fabric_fault_call call)
{
    const char *wish = getenv("FABRIC_FAULTS");
    return wish == NULL || try_every() || strcmp(wish, fabric_fault_names[call]) == 0;
}

/* The next number to try behind this one. */
static unsigned next_number(unsigned number)
{
    return try_every() ? number + 1 : number * 20;
}

static void test_without_faults(void **state)
{
    (void)state;
    struct outcome outcome;
    fabric_faults_arm(FABRIC_FAULT_READ, 0, 0);
    run_workflow(&outcome);
    assert_true(outcome.served && outcome.produced && outcome.consumed);
    for (unsigned i = 0; i < FABRIC_FAULT_CALL_COUNT; i++) {
        /* A peer is removed when its process has failed. */
        assert_true(i == FABRIC_FAULT_COMPLETE || i == FABRIC_FAULT_REMOVE ||
                    atomic_load(&fabric_faults.of[i].count) > 0);
    }
}

/* Of the calls whose turn it is in this process. */
static size_t share;

/* Fails the numberth call. False: there are not so many. */
static bool try_fault(size_t fault, unsigned number, bool *ret_whole)
{
    struct outcome outcome;
    int64_t began_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    fabric_faults_arm(faults[fault].call, number, faults[fault].error);
    run_workflow(&outcome);
    bool failed = atomic_load(&fabric_faults.of[faults[fault].call].failed);
    int64_t took_ns = vamp_clock_monotonic_ns(&vamp_clock_system) - began_ns;
    if (took_ns > WORKFLOW_NS || ((faults[fault].harmless || !failed) && !outcome.consumed)) {
        fail_msg("%s number %u with %s: consumed %d, %.3f s, status %d, %s",
                 fabric_fault_names[faults[fault].call], number, fi_strerror(faults[fault].error),
                 outcome.consumed, (double)took_ns / 1e9, (int)outcome.status, outcome.err.text);
    }
    *ret_whole = outcome.consumed;
    return failed;
}

static void test_each_call_fails(void **state)
{
    (void)state;
    unsigned runs = 0;
    unsigned whole = 0;
    for (size_t i = share; i < FAULTS; i += SHARES) {
        bool failed = wanted(faults[i].call);
#ifdef __SANITIZE_ADDRESS__
        if (faults[i].call == FABRIC_FAULT_BIND) {
            continue; /* libfabric cannot close such an endpoint: what it holds is lost */
        }
#endif
        for (unsigned number = 1; failed && number <= 2000; number = next_number(number)) {
            bool consumed = false;
            failed = try_fault(i, number, &consumed);
            runs++;
            whole += consumed ? 1U : 0U;
        }
    }
    print_message(
        "%u workflows, each with one failed call of libfabric; %u delivered all the same\n", runs,
        whole);
}

static int run_share(const void *context, size_t number)
{
    (void)context;
    const struct CMUnitTest without[] = {cmocka_unit_test(test_without_faults)};
    const struct CMUnitTest with[] = {cmocka_unit_test(test_each_call_fails)};
    if (number == SHARES) {
        return cmocka_run_group_tests_name("without", without, NULL, NULL);
    }
    share = number;
    return cmocka_run_group_tests_name("with", with, NULL, NULL);
}

int main(void)
{
    for (size_t i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t)(i * 31 >> 3);
    }
    return at_once_without_tsan(run_share, NULL, SHARES + 1) == 0 ? 0 : 1;
}
