/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool manager whose pool does nothing: it serves the events of a made-up workflow (stream.h) to
 * one subscriber, through the real queue, window and wire, as fast as the queue is emptied or at a
 * pace. So the pool's own work, which is the same with and without a subscriber, does not stand in
 * the way of measuring what comes behind it.
 *
 *   relay EVENTS LIVE RATE [EVENTS_PER_MESSAGE]
 *
 * RATE in events a second, which are then of the time at which they are sent, LEAD_NS after the
 * start or later; 0: as fast as they are taken.
 *
 * Prints the pool manager's info as maestro-pool-manager does, and at the end one JSON object.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "maestro/client/port_local.h"
#include "maestro/pool/internal.h"
#include "maestro/server/server.h"
#include "tests/bench/stream.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/protobuf/wire.h"

#define COMPONENTS 40
#define AT_ONCE 256 /* events pushed while the lock is held */
#define PAUSE_NS 100000
#define EMPTY_PAUSES 10000
#define EVENT_BYTES_MAX 192
#define LEAD_NS 3000000000 /* of pace: as long as a subscriber needs to join */
#define STEP_NS 10000      /* of event time, without a pace */

static double now_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    (void)nanosleep(&pause, NULL);
}

/* The one that reports what has happened; the other one reports what will happen. */
static struct subscription *find_subscription(struct pool *pool)
{
    for (size_t i = 0; i < pool->subscription_count; i++) {
        if (pool->subscriptions[i]->kinds[VAMP_PHASE_AFTER] != 0) {
            return pool->subscriptions[i];
        }
    }
    return NULL;
}

static void wait_for_subscription(struct port *port)
{
    for (bool there = false; !there;) {
        there = find_subscription(port_local_lock(port)) != NULL;
        port_local_unlock(port);
        rest();
    }
}

/* As pool_emit packs it: field 3 of a batch. */
static size_t frame_event(const uint8_t *message, size_t length, uint8_t *out)
{
    out[0] = 3 << 3 | 2;
    uint8_t *at = vamp_varint_write(out + 1, length);
    memcpy(at, message, length);
    return (size_t)(at - out) + length;
}

struct pushing {
    const struct bench_stream *stream;
    size_t next;
    uint64_t rate;
    double began, pushed_ns; /* when it began, when the last operation was pushed */
    unsigned empty;          /* pauses since the queue was empty behind the last operation */
};

/* Pushes while there is room and it is time. True: something was pushed. False with *ret_gone: the
 * subscriber has left. */
static bool push_some(struct pushing *pushing, struct pool *pool, bool *ret_gone)
{
    struct subscription *subscription = find_subscription(pool);
    if (subscription == NULL) {
        *ret_gone = true;
        return false;
    }
    const size_t leaves = pushing->stream->count - COMPONENTS;
    size_t due = pushing->stream->count;
    if (pushing->rate > 0) {
        const double since = (now_ns(CLOCK_MONOTONIC) - pushing->began) / 1e9;
        const double count = since * (double)pushing->rate;
        due = count < (double)leaves ? (size_t)count : leaves;
        /* The end must not be lost, whatever was: it comes when all before it had time to go. */
        if (pushing->next == leaves && subscription->queue.count == 0) {
            pushing->empty += pushing->empty < EMPTY_PAUSES;
            due = pushing->empty == EMPTY_PAUSES ? pushing->stream->count : leaves;
        }
    }
    size_t pushed = 0;
    while (pushed < AT_ONCE && pushing->next < due) {
        const size_t start = pushing->stream->starts[pushing->next];
        uint8_t event[EVENT_BYTES_MAX + 8];
        const size_t length =
            frame_event(pushing->stream->bytes + start,
                        pushing->stream->starts[pushing->next + 1] - start, event);
        /* Half of the queue stays free: nothing is refused, nothing is lost. */
        if (pushing->rate == 0 &&
            subscription->queue.count * (EVENT_BYTES_MAX + 8) > subscription->queue.limit / 2) {
            break;
        }
        const struct vamp_event numbered = {.serial = ++pool->last_serial};
        uint8_t *at = pool_queue_begin(&subscription->queue, &numbered, POOL_QUEUE_OTHER, length);
        if (at != NULL) {
            memcpy(at, event, length);
            pool_queue_end(&subscription->queue, length);
        }
        pushing->next++;
        pushed++;
        if (pushing->next == leaves) {
            pushing->pushed_ns = now_ns(CLOCK_MONOTONIC);
        }
    }
    if (pushed > 0) {
        pool->outlet.events_ready(pool->outlet.context, subscription->component->id,
                                  pool_queue_has_many(&subscription->queue));
    }
    return pushed > 0;
}

static void push_all(struct port *port, struct pushing *pushing)
{
    bool gone_away = false;
    while (pushing->next < pushing->stream->count && !gone_away) {
        const bool pushed = push_some(pushing, port_local_lock(port), &gone_away);
        port_local_unlock(port);
        if (!pushed) {
            rest();
        }
    }
    /* Until the subscriber, who sees the last component leave, leaves too. */
    while (!gone_away) {
        gone_away = find_subscription(port_local_lock(port)) == NULL;
        port_local_unlock(port);
        rest();
    }
}

int main(int count, char **arguments)
{
    if (count != 4 && count != 5) {
        (void)fputs("usage: relay EVENTS LIVE RATE [EVENTS_PER_MESSAGE]\n", stderr);
        return 2;
    }
    const uint64_t rate = strtoull(arguments[3], NULL, 10);
    const double start_ns = rate > 0 ? now_ns(CLOCK_REALTIME) + LEAD_NS : 0;
    const struct bench_plan plan = {.events = strtoull(arguments[1], NULL, 10),
                                    .live = strtoull(arguments[2], NULL, 10),
                                    .components = COMPONENTS,
                                    .start_ns = (int64_t)start_ns,
                                    .step_ns = rate > 0 ? 1000000000 / (int64_t)rate : STEP_NS};
    struct bench_stream stream;
    struct vamp_err err = VAMP_ERR_NONE;
    struct port *port = NULL;
    struct server *server = NULL;
    const char *workflow = getenv("MSTRO_WORKFLOW_NAME");
    const struct port_member member = {.workflow = workflow, .component = "Relay"};
    const struct server_options options = {.provider = getenv("MSTRO_OFI_PROVIDER"),
                                           .heartbeat_ns = INT64_C(1000000) * 500,
                                           .silence_ns = INT64_C(1000000) * 30000,
                                           .events_per_message =
                                               count == 5 ? strtoull(arguments[4], NULL, 10) : 0};
    if (workflow == NULL || bench_stream_init(&stream, &plan) != 0 ||
        port_open_local(&member, &pool_bounds_default, NULL, &port, &err) != MSTRO_OK ||
        server_start(port, workflow, &options, &server, &err) != MSTRO_OK) {
        (void)fprintf(stderr, "relay: cannot start: %s\n", err.text);
        return 1;
    }
    (void)printf("MSTRO_POOL_MANAGER_INFO;%s;\n", server_info(server));
    (void)fflush(stdout);
    wait_for_subscription(port);
    while (now_ns(CLOCK_REALTIME) < start_ns) {
        rest();
    }
    struct pushing pushing = {.stream = &stream, .rate = rate, .began = now_ns(CLOCK_MONOTONIC)};
    const double processor = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    push_all(port, &pushing);
    const double seconds = (pushing.pushed_ns - pushing.began) / 1e9;
    const double cpu = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - processor) / 1e9;
    struct server_counts counts;
    server_stop(server, &counts);
    (void)printf("{\"events\": %zu, \"events_sent\": %" PRIu64 ", \"messages\": %" PRIu64
                 ", \"lost\": %" PRIu64 ", \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
                 stream.count, counts.events_sent, counts.event_messages, counts.events_lost,
                 seconds, cpu);
    port->ops->shut(port);
    port->ops->close(port);
    bench_stream_done(&stream);
    return 0;
}
