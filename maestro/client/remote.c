/* SPDX-License-Identifier: BSD-3-Clause */
/* A component's port to a pool manager: calls, exposed memory, and the thread that makes progress.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "maestro/client/remote_internal.h"
#include "vampire/core/clock.h"
#include "vampire/core/thread.h"

/* Check for silence at the latest after this many rounds in a row that received something. */
#define BUSY_ROUNDS_MAX 100U
/* Rounds with messages in so quick a succession let messages gather before the next one. */
#define ROUNDS_GATHER_WITHIN_NS INT64_C(200000)
/* Longest wait at the end until the last messages are sent. */
#define GOODBYE_NS INT64_C(200000000)

static struct remote *as_remote(struct port *port)
{
    return CONTAINER_OF(port, struct remote, port);
}

/* ---- the progress thread */

static void send_heartbeat(struct remote *remote, int64_t now_ns)
{
    Mstro__Wire__Heartbeat heartbeat = MSTRO__WIRE__HEARTBEAT__INIT;
    if (link_send(&remote->link, now_ns, FRAME_HEARTBEAT, &heartbeat.base) != 0) {
        remote_lose(remote, "the pool manager cannot be reached");
    }
}

/* With the lock. Returns when to look again. */
static int64_t look_after(struct remote *remote, int64_t now_ns)
{
    int64_t gap_ns = now_ns - remote->looked_ns;
    remote->looked_ns = now_ns;
    /* The thread wakes for every heartbeat. After a gap this long the process itself was stopped,
     * and the silence is not the pool manager's. */
    if (gap_ns >= remote->silence_ns * 3 / 4) {
        remote->heard_ns += gap_ns;
    }
    if (remote->gone) {
        return INT64_MAX;
    }
    if (now_ns - remote->heard_ns >= remote->silence_ns) {
        char text[120];
        (void)snprintf(text, sizeof text, "nothing was heard from the pool manager for %.1f s",
                       (double)remote->silence_ns / 1e9);
        remote_lose(remote, text);
        return INT64_MAX;
    }
    /* Heartbeats answer those of the pool manager, so that an idle process wakes once for both
     * directions. */
    int64_t quiet_ns = now_ns - remote->link.sent_ns;
    if ((remote->answer_heartbeat && quiet_ns >= remote->heartbeat_ns / 2) ||
        quiet_ns >= 2 * remote->heartbeat_ns) {
        send_heartbeat(remote, now_ns);
    }
    remote->answer_heartbeat = false;
    int64_t beat_ns = remote->link.sent_ns + 2 * remote->heartbeat_ns;
    int64_t silence_ns = remote->heard_ns + remote->silence_ns;
    return beat_ns < silence_ns ? beat_ns : silence_ns;
}

static void take_event(struct remote *remote, const struct fabric_event *event)
{
    if (event->kind == FABRIC_RECEIVED) {
        remote_receive(remote, event);
        return;
    }
    if (event->kind == FABRIC_READ) { /* of a challenge; the welcome to an earlier join was first */
        return;
    }
    (void)pthread_mutex_lock(&remote->lock);
    link_sent(&remote->link);
    if (event->status != 0) {
        remote_lose(remote, "the connection to the pool manager broke");
    }
    (void)pthread_mutex_unlock(&remote->lock);
}

/* With the lock: whether a thread waits for a message, or others may read memory. A component that
 * only receives events is woken by the heartbeat at the latest. */
static bool is_busy(const struct remote *remote)
{
    return remote->gone || remote->exposed > 0 || list_first(&remote->calls) != NULL ||
           list_first(&remote->transports) != NULL || remote->link.first != NULL;
}

/* With the lock: does the work that is due. Returns the time until the next work. */
static int64_t advance(struct remote *remote, bool drained, int64_t now_ns)
{
    int64_t next_ns = fetch_advance(&remote->fetcher, now_ns);
    int64_t look_ns = now_ns;
    remote->busy_rounds = drained ? 0 : remote->busy_rounds + 1;
    if (remote->busy_rounds % BUSY_ROUNDS_MAX == 0) {
        look_ns = look_after(remote, now_ns);
    }
    next_ns = look_ns < next_ns ? look_ns : next_ns;
    if (link_flush(&remote->link, now_ns) != 0) {
        remote_lose(remote, "the pool manager cannot be reached");
        link_done(&remote->link);
    }
    if (remote->link.first != NULL && remote->link.retry_ns < next_ns) {
        next_ns = remote->link.retry_ns;
    }
    remote->waits_long = !is_busy(remote);
    if (!remote->waits_long && next_ns > now_ns + FABRIC_WAIT_LONGEST_NS) {
        next_ns = now_ns + FABRIC_WAIT_LONGEST_NS;
    }
    return next_ns <= now_ns ? 0 : next_ns - now_ns;
}

/* With the lock. */
static void let_gather(struct remote *remote, bool received, int64_t now_ns)
{
    remote->gathers =
        received && remote->waits_long && now_ns - remote->received_ns < ROUNDS_GATHER_WITHIN_NS;
    if (received) {
        remote->received_ns = now_ns;
    }
}

/* Not before the last read has ended: the users of the calls that end now may free its memory. */
static void report_gone(struct remote *remote)
{
    (void)pthread_mutex_lock(&remote->lock);
    bool report = remote->gone && !remote->gone_reported && fetch_is_idle(&remote->fetcher) &&
                  list_is_empty(&remote->transports);
    if (report) {
        remote->gone_reported = true;
        calls_wake(&remote->calls);
    }
    report = report && !remote->shut;
    (void)pthread_mutex_unlock(&remote->lock);
    if (report) {
        remote->events.gone(remote->events.context, MSTRO_NO_PM, remote->gone_text);
    }
}

/* One round. Returns the time until the next work; below 0: the thread must end. */
static int64_t go_round(struct remote *remote)
{
    struct fabric_event events[FABRIC_EVENTS];
    (void)pthread_mutex_lock(&remote->lock);
    int count = fabric_poll(remote->fabric, events);
    if (count < 0) {
        remote_lose(remote, "the fabric has failed");
    }
    (void)pthread_mutex_unlock(&remote->lock);
    for (int i = 0; i < count; i++) {
        take_event(remote, &events[i]);
    }
    (void)pthread_mutex_lock(&remote->lock);
    const int64_t now_ns = remote_now();
    bool received = false;
    for (int i = 0; i < count; i++) {
        if (events[i].kind == FABRIC_RECEIVED) {
            fabric_release(remote->fabric, &events[i]);
            received = true;
        }
    }
    remote_acknowledge(remote, REMOTE_ACKNOWLEDGE_BATCHES);
    int64_t idle_ns = advance(remote, count == 0, now_ns);
    let_gather(remote, received, now_ns);
    bool ended = list_first(&remote->ended) != NULL;
    bool stop = remote->stop || count < 0;
    (void)pthread_mutex_unlock(&remote->lock);
    remote_finish_transports(remote);
    report_gone(remote);
    if (stop) {
        return -1;
    }
    return count == 0 && !ended ? idle_ns : 0;
}

static void *make_progress(void *argument)
{
    struct remote *remote = argument;
    int64_t idle_ns = 0;
    while (idle_ns >= 0) {
        idle_ns = go_round(remote);
        if (idle_ns >= 0 && remote->gathers) {
            fabric_gather(remote->fabric);
        } else if (idle_ns > 0) {
            fabric_wait(remote->fabric, remote->fetcher.reader, idle_ns);
        }
    }
    return NULL;
}

/* ---- calls */

static int init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    int result = pthread_condattr_init(&attributes);
    if (result == 0) {
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        result = pthread_cond_init(condition, &attributes);
        (void)pthread_condattr_destroy(&attributes);
    }
    return result;
}

/* With the lock. False: the deadline has passed. */
static bool await(struct remote *remote, struct call *call, uint32_t deadline_ms)
{
    int64_t end_ns = remote_now() + (int64_t)deadline_ms * 1000000;
    struct timespec end = {.tv_sec = end_ns / VAMP_NS_PER_SECOND,
                           .tv_nsec = end_ns % VAMP_NS_PER_SECOND};
    int result = 0;
    while (!call->done && !remote->gone_reported && !remote->shut && result != ETIMEDOUT) {
        result = deadline_ms == 0 ? pthread_cond_wait(&call->answered, &remote->lock)
                                  : pthread_cond_timedwait(&call->answered, &remote->lock, &end);
    }
    return call->done || remote->gone_reported || remote->shut;
}

/* With the lock. */
static mstro_status no_pool_manager(const struct remote *remote, struct vamp_err *err)
{
    (void)vamp_err_set(err, -ENOTCONN, "%s",
                       remote->gone ? remote->gone_text : "this component is leaving");
    return MSTRO_NO_PM;
}

/* With the lock. */
static mstro_status send_and_wait(struct remote *remote, Mstro__Wire__Request *request,
                                  uint32_t deadline_ms, struct call *call, struct vamp_err *err)
{
    if (remote->gone || remote->shut) {
        return no_pool_manager(remote, err);
    }
    call->id = request->id = ++remote->last_request;
    int result = link_send(&remote->link, remote_now(), FRAME_REQUEST, &request->base);
    if (result == -EMSGSIZE) {
        (void)vamp_err_set(err, result,
                           "a request (name, attributes, selector) is longer than the "
                           "%zu bytes a message may have",
                           FRAME_BYTES_MAX);
        return MSTRO_INVARG;
    }
    if (result == -ENOBUFS || result == -ENOMEM) {
        (void)vamp_err_set_errno(err, -result, "send a request to the pool manager");
        return MSTRO_NOMEM;
    }
    if (result != 0) {
        remote_lose(remote, "the pool manager cannot be reached");
        fabric_wake(remote->fabric);
        return no_pool_manager(remote, err);
    }
    if (remote->link.first != NULL || remote->waits_long) {
        fabric_wake(remote->fabric); /* the progress thread has to retry, or to poll more often */
    }
    list_append(&remote->calls, &call->of_port);
    bool in_time = await(remote, call, deadline_ms);
    list_remove(&call->of_port);
    if (!in_time) {
        (void)vamp_err_set(err, -ETIMEDOUT, "the pool manager does not answer within %.1f s",
                           (double)deadline_ms / 1e3);
        return MSTRO_TIMEOUT;
    }
    if (!call->done) {
        return no_pool_manager(remote, err);
    }
    if (call->status != MSTRO_OK) {
        (void)vamp_err_set(err, -EIO, "%s", call->text);
    }
    return call->status;
}

static mstro_status remote_call(struct port *port, Mstro__Wire__Request *request,
                                uint32_t deadline_ms, struct port_answer *ret_answer,
                                struct vamp_err *err)
{
    struct remote *remote = as_remote(port);
    struct call call = {0};
    if (init_condition(&call.answered) != 0) {
        (void)vamp_err_set_errno(err, ENOMEM, "wait for the pool manager");
        return MSTRO_NOMEM;
    }
    (void)pthread_mutex_lock(&remote->lock);
    mstro_status status = send_and_wait(remote, request, deadline_ms, &call, err);
    (void)pthread_mutex_unlock(&remote->lock);
    (void)pthread_cond_destroy(&call.answered);
    if (status == MSTRO_OK && ret_answer != NULL) {
        *ret_answer = call.answer;
    }
    return status;
}

static void remote_flow(struct port *port, uint64_t subscription, uint64_t number, bool hold)
{
    struct remote *remote = as_remote(port);
    Mstro__Wire__Flow flow = MSTRO__WIRE__FLOW__INIT;
    flow.subscription = subscription;
    flow.number = number;
    flow.hold = hold;
    Mstro__Wire__Heartbeat heartbeat = MSTRO__WIRE__HEARTBEAT__INIT;
    heartbeat.flow = &flow;
    (void)pthread_mutex_lock(&remote->lock);
    if (!remote->gone) {
        if (link_send(&remote->link, remote_now(), FRAME_HEARTBEAT, &heartbeat.base) != 0) {
            remote_lose(remote, "the pool manager cannot be reached");
        }
        fabric_wake(remote->fabric); /* the progress thread has to send it, or the loss of it */
    }
    (void)pthread_mutex_unlock(&remote->lock);
}

/* ---- memory */

static mstro_status remote_expose(struct port *port, void *address, uint64_t bytes,
                                  Mstro__Wire__Memory *ret_memory, void **ret_registration,
                                  struct vamp_err *err)
{
    struct remote *remote = as_remote(port);
    struct fabric_memory *memory = malloc(sizeof *memory);
    if (memory == NULL) {
        (void)vamp_err_set_errno(err, ENOMEM, "make memory readable for others");
        return MSTRO_NOMEM;
    }
    (void)pthread_mutex_lock(&remote->lock);
    int result = fabric_register(remote->fabric, address, bytes, memory, err);
    remote->exposed += result == 0 ? 1U : 0U;
    (void)pthread_mutex_unlock(&remote->lock);
    if (result != 0) {
        free(memory);
        return MSTRO_OFI_FAIL;
    }
    mstro__wire__memory__init(ret_memory);
    ret_memory->address = memory->address;
    ret_memory->key = memory->key;
    ret_memory->bytes = bytes;
    *ret_registration = memory;
    return MSTRO_OK;
}

static void remote_forget(struct port *port, void *registration)
{
    struct remote *remote = as_remote(port);
    if (registration != NULL) {
        (void)pthread_mutex_lock(&remote->lock);
        fabric_unregister(remote->fabric, registration);
        remote->exposed--;
        (void)pthread_mutex_unlock(&remote->lock);
        free(registration);
    }
}

/* ---- open and close */

static void remote_shut(struct port *port)
{
    struct remote *remote = as_remote(port);
    (void)pthread_mutex_lock(&remote->lock);
    remote->shut = true;
    calls_wake(&remote->calls);
    (void)pthread_mutex_unlock(&remote->lock);
}

/* Sends the good-bye and waits until queued messages are sent. The thread has ended. */
static void say_goodbye(struct remote *remote)
{
    struct fabric_event events[FABRIC_EVENTS];
    Mstro__Wire__Goodbye goodbye = MSTRO__WIRE__GOODBYE__INIT;
    int64_t end_ns = remote_now() + GOODBYE_NS;
    int result = link_send(&remote->link, remote_now(), FRAME_GOODBYE, &goodbye.base);
    while (result >= 0 && (remote->link.in_flight > 0 || remote->link.first != NULL) &&
           remote_now() < end_ns) {
        result = fabric_poll(remote->fabric, events);
        for (int i = 0; i < result; i++) {
            if (events[i].kind == FABRIC_RECEIVED) {
                fabric_release(remote->fabric, &events[i]);
            } else if (events[i].kind == FABRIC_SENT) {
                link_sent(&remote->link);
            }
        }
        if (result == 0) {
            result = link_flush(&remote->link, remote_now());
            fabric_wait(remote->fabric, NULL, 1000000);
        }
    }
}

static void remote_close(struct port *port)
{
    struct remote *remote = as_remote(port);
    if (remote->thread_started) {
        (void)pthread_mutex_lock(&remote->lock);
        remote->stop = true;
        (void)pthread_mutex_unlock(&remote->lock);
        fabric_wake(remote->fabric);
        (void)pthread_join(remote->thread, NULL);
        (void)pthread_mutex_lock(&remote->lock);
        fetch_end(&remote->fetcher);
        (void)pthread_mutex_unlock(&remote->lock);
        remote_finish_transports(remote);
    }
    if (remote->answered && !remote->gone) {
        say_goodbye(remote);
    }
    link_done(&remote->link);
    fabric_close(remote->fabric);
    vamp_decode_arena_done(&remote->arena);
    credentials_close(remote->credentials);
    (void)pthread_mutex_destroy(&remote->lock);
    free(remote);
}

static const struct port_ops remote_ops = {
    .call = remote_call,
    .flow = remote_flow,
    .expose = remote_expose,
    .forget = remote_forget,
    .shut = remote_shut,
    .close = remote_close,
};

static mstro_status start(struct remote *remote, struct vamp_err *err)
{
    fetch_init(&remote->fetcher, remote->fabric, remote->silence_ns);
    remote->heard_ns = remote->looked_ns = remote_now();
    if (vamp_thread_start(&remote->thread, "maestro", make_progress, remote, err) != 0) {
        return MSTRO_NOMEM;
    }
    remote->thread_started = true;
    return MSTRO_OK;
}

mstro_status port_open_remote(const char *info, const struct port_member *member,
                              uint32_t deadline_ms, const struct port_events *events,
                              struct port **ret_port, struct vamp_err *err)
{
    struct remote *remote = calloc(1, sizeof *remote);
    if (remote == NULL || vamp_decode_arena_init(&remote->arena, FRAME_ARENA_BYTES, err) != 0) {
        free(remote);
        (void)vamp_err_set_errno(err, ENOMEM, "join the pool manager");
        return MSTRO_NOMEM;
    }
    remote->port.ops = &remote_ops;
    remote->events = *events;
    list_init(&remote->calls);
    list_init(&remote->transports);
    list_init(&remote->ended);
    (void)pthread_mutex_init(&remote->lock, NULL);
    mstro_status status = MSTRO_INVARG;
    if (info_parse(info, &remote->info, err) == 0) {
        status = remote_join(remote, member, deadline_ms, err);
    }
    credentials_close(remote->credentials);
    remote->credentials = NULL;
    if (status == MSTRO_OK) {
        status = start(remote, err);
    }
    if (status != MSTRO_OK) {
        remote_close(&remote->port);
        return status;
    }
    *ret_port = &remote->port;
    return MSTRO_OK;
}
