/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of a component's connection: the pool manager says whatever the input (script.h)
 * wants, before the component has joined and after, over streams without a network. Every payload
 * and every batch of events is looked at whole, and everything is given back.
 */
/* Its rounds are driven one by one, without a thread. */
#include "maestro/client/join.c"
#include "maestro/client/remote.c"

#include "tests/fuzz/hearer.h"
#include "tests/fuzz/memory_stream.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

#define POOL_SESSION UINT64_C(0x5e5510)
#define WAITING 2

/* ---- the conversation */

static void say(struct remote *remote, const struct script_step *step)
{
    const struct frame frame = {.kind = FRAME_HEARTBEAT};
    size_t length = 0;
    const uint8_t *message = script_message(step, frame, &length);
    if (remote->pm.link.stream != NULL) {
        memory_stream_put(remote->pm.link.stream, message, length);
    }
}

static void open_connection(struct remote *remote, struct hearer *hearer)
{
    *remote = (struct remote){.port.ops = &remote_ops};
    require(vamp_decode_arena_init(&remote->pm.arena, FRAME_ARENA_BYTES, NULL) == 0);
    remote->events = hearer_callbacks(hearer);
    list_init(&remote->calls);
    list_init(&remote->transports);
    list_init(&remote->ended);
    (void)pthread_mutex_init(&remote->lock, NULL);
    remote->pm.handler = (struct stream_handler){.opened = connection_opened,
                                                 .received = connection_received,
                                                 .drained = connection_drained,
                                                 .closed = connection_closed,
                                                 .context = remote};
    remote->pm.info = (struct info){
        .session = POOL_SESSION, .workflow = "fuzz", .address = {2}, .address_length = 16};
    require(stream_hub_open(&remote->pm.handler, &remote->pm.hub, NULL) == 0);
    require(stream_connect(remote->pm.hub, &remote->pm.info.key, NULL, 0,
                           &remote->pm.link.stream) == 0);
}

/* The first step may be any answer to a Join; without a welcome the component would ask again. */
static bool join(struct remote *remote, const uint8_t **at, const uint8_t *end)
{
    struct script_step step;
    struct vamp_err err = VAMP_ERR_NONE;
    if (!script_next(at, end, &step)) {
        return false;
    }
    say(remote, &step);
    (void)stream_poll(remote->pm.hub);
    const Mstro__Wire__Welcome *welcome = remote->pm.welcome;
    mstro_status status = welcome != NULL ? take_welcome(&remote->pm, welcome, &err) : MSTRO_NO_PM;
    require(welcome == NULL || status == MSTRO_OK || err.text[0] != '\0');
    return status == MSTRO_OK;
}

static void let_time_pass(struct remote *remote, size_t how)
{
    remote->heard_ns = how % 3 == 1 ? 0 : remote->heard_ns;
    remote->pm.link.sent_ns = how % 3 == 2 ? 0 : remote->pm.link.sent_ns;
}

/* Two calls are waiting for their responses all the time. */
static void call_in(struct remote *remote, struct call *calls)
{
    for (unsigned i = 0; i < WAITING; i++) {
        calls[i] =
            (struct call){.answered = PTHREAD_COND_INITIALIZER, .id = ++remote->last_request};
        list_append(&remote->calls, &calls[i].of_port);
    }
}

static void call_out(struct call *calls)
{
    for (unsigned i = 0; i < WAITING; i++) {
        require(calls[i].status < mstro_status_MAX);
        require(memchr(calls[i].text, 0, sizeof calls[i].text) != NULL);
        list_remove(&calls[i].of_port);
        (void)pthread_cond_destroy(&calls[i].answered);
    }
}

static void converse(struct remote *remote, const uint8_t *at, const uint8_t *end)
{
    struct script_step step;
    struct call calls[WAITING];
    call_in(remote, calls);
    for (unsigned i = 0; i < SCRIPT_STEPS_MAX && script_next(&at, end, &step); i++) {
        if (step.what == SCRIPT_PAUSE) {
            let_time_pass(remote, step.length);
        } else {
            say(remote, &step);
        }
        (void)pthread_mutex_lock(&remote->lock);
        (void)go_round(remote);
        (void)go_round(remote);
        (void)pthread_mutex_unlock(&remote->lock);
    }
    call_out(calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hearer hearer = {.gone = 0};
    struct remote *remote = malloc(sizeof *remote);
    require(remote != NULL);
    open_connection(remote, &hearer);
    const uint8_t *at = data;
    if (join(remote, &at, data + size)) {
        fetch_init(&remote->fetcher, "", "", remote->pm.silence_ns);
        remote->heard_ns = remote->looked_ns = monotonic_ns();
        converse(remote, at, data + size);
        (void)pthread_mutex_lock(&remote->lock);
        fetch_end(&remote->fetcher);
        finish_transports(remote);
        (void)pthread_mutex_unlock(&remote->lock);
        require(list_is_empty(&remote->transports));
    }
    remote->port.ops->shut(&remote->port);
    remote->port.ops->close(&remote->port);
    hearer_free_places(&hearer);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return script_mutate(data, size, max, seed);
}
