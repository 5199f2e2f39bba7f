/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "maestro/client/join.h"

/* A join without an answer is sent again after this time. */
#define AGAIN_NS INT64_C(500000000)
/* Nothing else wakes a component whose join has not been sent yet. */
#define POLL_NS INT64_C(10000000)
/* After an error, the pool manager may not be listening yet. */
#define ERROR_PAUSE_NS INT64_C(50000000)

/* The address of this host that leads to the pool manager, so that it can reach this component: the
 * one the kernel would choose. False: not an IP address. */
static bool address_towards(const struct info *info, char text[static INET6_ADDRSTRLEN])
{
    struct sockaddr_storage peer = {0};
    struct sockaddr_storage own = {0};
    socklen_t length = (socklen_t)info->address_length;
    if (length > sizeof peer) {
        return false;
    }
    memcpy(&peer, info->address, length);
    bool four = peer.ss_family == AF_INET && length == sizeof(struct sockaddr_in);
    bool six = peer.ss_family == AF_INET6 && length == sizeof(struct sockaddr_in6);
    if (!four && !six) {
        return false;
    }
    int probe = socket(peer.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return false;
    }
    socklen_t own_length = sizeof own;
    bool found = connect(probe, (const struct sockaddr *)&peer, length) == 0 &&
                 getsockname(probe, (struct sockaddr *)&own, &own_length) == 0;
    (void)close(probe);
    const void *host = four ? (const void *)&((struct sockaddr_in *)&own)->sin_addr
                            : (const void *)&((struct sockaddr_in6 *)&own)->sin6_addr;
    return found && inet_ntop(peer.ss_family, host, text, INET6_ADDRSTRLEN) != NULL;
}

static int connect_fabric(struct pool_manager *pm, struct vamp_err *err)
{
    char own[INET6_ADDRSTRLEN];
    const char *bind =
        getenv(FABRIC_ENV_BIND) == NULL && address_towards(&pm->info, own) ? own : NULL;
    const struct fabric_kind kind = {pm->info.provider, pm->info.protocol};
    int result = fabric_open(&kind, bind, &pm->fabric, err);
    if (result != 0) {
        return result;
    }
    pm->link.fabric = pm->fabric;
    while (pm->link.session == 0) {
        if (getrandom(&pm->link.session, sizeof pm->link.session, 0) < 0) {
            return vamp_err_set_errno(err, errno, "get a random number");
        }
    }
    pm->link.tag = pm->link.session;
    return fabric_peer_add(pm->fabric, pm->info.address, pm->info.address_length, &pm->link.peer,
                           err);
}

/* A message that came in before the welcome was found. True: it is the welcome, in the arena. */
static bool take_message(struct pool_manager *pm, const struct fabric_event *event,
                         const Mstro__Wire__Welcome **ret_welcome)
{
    struct frame frame;
    if (frame_parse(event->bytes, event->length, &frame, NULL) != 0 ||
        frame.session != pm->info.session) {
        return false; /* from another sender */
    }
    if (*ret_welcome != NULL) {
        /* A heartbeat or a second welcome right after it: nothing to do, but it counts as
         * received. */
        pm->received_sequence += frame.sequence == pm->received_sequence + 1 ? 1 : 0;
        return false;
    }
    const Mstro__Wire__Welcome *welcome =
        frame.kind == FRAME_WELCOME ? frame_unpack(&frame, &pm->arena, NULL) : NULL;
    if (welcome == NULL ||
        (pm->info.keyed && !auth_welcome_is_proven(&pm->info.key, pm->link.session, welcome))) {
        return false;
    }
    pm->received_sequence = frame.sequence;
    *ret_welcome = welcome;
    return true;
}

/* Handles the messages that have arrived. 1: a welcome, in the arena; 0: nothing; -errno: sending
 * or reading failed. */
static int look_for_welcome(struct pool_manager *pm, const Mstro__Wire__Welcome **ret_welcome)
{
    struct fabric_event events[FABRIC_EVENTS];
    int count = fabric_poll(pm->fabric, events);
    int result = count < 0 ? count : 0;
    for (int i = 0; i < count; i++) {
        const struct fabric_event *event = &events[i];
        switch (event->kind) {
        case FABRIC_SENT:
            link_sent(&pm->link);
            result = event->status != 0 && result == 0 ? event->status : result;
            break;
        case FABRIC_READ:
            pm->challenge.pending = false;
            result = event->status != 0 && result == 0 ? event->status : result;
            break;
        case FABRIC_RECEIVED:
            result = take_message(pm, event, ret_welcome) ? 1 : result;
            fabric_release(pm->fabric, event);
            break;
        }
    }
    return result;
}

/* The peer of a broken connection has to be removed before libfabric makes a new connection. */
static int connect_again(struct pool_manager *pm, struct vamp_err *err)
{
    link_done(&pm->link);
    pm->link.in_flight = 0;
    pm->link.retry_ns = 0;
    pm->challenge.pending = false; /* it may never end */
    fabric_peer_remove(pm->fabric, pm->link.peer);
    return fabric_peer_add(pm->fabric, pm->info.address, pm->info.address_length, &pm->link.peer,
                           err);
}

static mstro_status take_welcome(struct pool_manager *pm, const Mstro__Wire__Welcome *welcome,
                                 struct vamp_err *err)
{
    pm->answered = true;
    if (welcome->status != MSTRO_OK) {
        (void)vamp_err_set(err, -EPERM, "the pool manager refuses: %s",
                           welcome->text != NULL ? welcome->text : "it gives no reason");
        return welcome->status < mstro_status_MAX ? (mstro_status)welcome->status : MSTRO_REFUSED;
    }
    if (!welcome->has_app_id || welcome->app_id == 0) {
        (void)vamp_err_set(err, -EBADMSG, "the pool manager's welcome cannot be understood");
        return MSTRO_INVMSG;
    }
    pm->app_id = welcome->app_id;
    uint32_t heartbeat_ms = welcome->heartbeat_ms >= 10 ? welcome->heartbeat_ms : 500;
    uint32_t silence_ms =
        welcome->silence_ms / 2 >= heartbeat_ms ? welcome->silence_ms : 10 * heartbeat_ms;
    pm->heartbeat_ns = (int64_t)heartbeat_ms * 1000000;
    pm->silence_ns = (int64_t)silence_ms * 1000000;
    return MSTRO_OK;
}

/* Waits for a welcome until `until_ns`. As look_for_welcome. */
static int await_welcome(struct pool_manager *pm, int64_t until_ns,
                         const Mstro__Wire__Welcome **ret_welcome)
{
    int result = 0;
    int64_t now_ns = monotonic_ns();
    while (result == 0 && now_ns < until_ns) {
        result = look_for_welcome(pm, ret_welcome);
        if (result == 0) {
            result = link_flush(&pm->link, now_ns);
            fabric_wait(pm->fabric, NULL,
                        until_ns - now_ns < POLL_NS ? until_ns - now_ns : POLL_NS);
        }
        now_ns = monotonic_ns();
    }
    return result;
}

/* Reads the pool manager's challenge until `until_ns`, unless the last read has not ended yet: then
 * waits for that. 0: it is there; 1: a welcome came first, for an earlier join; -EAGAIN: no answer
 * in time; another -errno. */
static int read_challenge(struct pool_manager *pm, int64_t until_ns,
                          const Mstro__Wire__Welcome **ret_welcome)
{
    const struct info *info = &pm->info;
    int result = 0;
    bool posted = pm->challenge.pending;
    while (result == 0 && (!posted || pm->challenge.pending)) {
        int64_t left_ns = until_ns - monotonic_ns();
        if (left_ns <= 0) {
            return -EAGAIN;
        }
        if (!posted) {
            int failure =
                fabric_read(pm->fabric, pm->link.peer, info->challenge.address, info->challenge.key,
                            pm->challenge.value.bytes, sizeof pm->challenge.value.bytes, 0);
            posted = pm->challenge.pending = failure == 0;
            result = failure == -EAGAIN ? 0 : failure;
        }
        if (result == 0) {
            result = look_for_welcome(pm, ret_welcome);
        }
        if (result == 0 && (!posted || pm->challenge.pending)) {
            fabric_wait(pm->fabric, NULL, left_ns < POLL_NS ? left_ns : POLL_NS);
        }
    }
    return result;
}

/* Adds what the pool manager asks for. 0; -EKEYREJECTED with text: there is no credential. */
static int prove(struct pool_manager *pm, Mstro__Wire__Join *join, struct vamp_err *err)
{
    struct auth_proof *proof = &pm->challenge.proof;
    struct credential *credential = &pm->credential;
    auth_prove_join(&pm->info.key, &pm->challenge.value, pm->link.session, join, proof);
    join->has_proof = 1;
    join->proof = frame_bytes(proof->bytes, sizeof proof->bytes);
    if (pm->credentials == NULL) {
        return 0;
    }
    if (credential_make(pm->credentials, proof, credential, err) != 0) {
        (void)vamp_err_wrap(err, "the pool manager asks for a credential of MUNGE");
        return -EKEYREJECTED;
    }
    join->has_credential = 1;
    join->credential = frame_bytes(credential->text, credential->length);
    return 0;
}

/* Sends one join and waits until `until_ns` for its welcome. As look_for_welcome, and as prove. */
static int join_once(struct pool_manager *pm, Mstro__Wire__Join *join, int64_t until_ns,
                     const Mstro__Wire__Welcome **ret_welcome, struct vamp_err *err)
{
    if (pm->info.keyed) {
        int result = read_challenge(pm, until_ns, ret_welcome);
        if (result != 0) {
            return result == -EAGAIN ? 0 : result;
        }
        result = prove(pm, join, err);
        if (result != 0) {
            return result;
        }
    }
    int result = link_send(&pm->link, monotonic_ns(), FRAME_JOIN, &join->base);
    return result != 0 ? result : await_welcome(pm, until_ns, ret_welcome);
}

static mstro_status exchange(struct pool_manager *pm, Mstro__Wire__Join *join, uint32_t deadline_ms,
                             struct vamp_err *err)
{
    int64_t deadline_ns = monotonic_ns() + (int64_t)deadline_ms * 1000000;
    int failure = 0;
    do {
        int64_t now_ns = monotonic_ns();
        int64_t again_ns = now_ns + AGAIN_NS < deadline_ns ? now_ns + AGAIN_NS : deadline_ns;
        const Mstro__Wire__Welcome *welcome = NULL;
        int result = join_once(pm, join, again_ns, &welcome, err);
        if (result == -EKEYREJECTED) {
            return MSTRO_REFUSED;
        }
        if (result == -EMSGSIZE) {
            (void)vamp_err_set(err, result, "the component's name is too long to join with");
            return MSTRO_INVARG;
        }
        if (welcome != NULL) {
            return take_welcome(pm, welcome, err);
        }
        failure = result != 0 ? result : failure;
        if (result != 0) {
            fabric_wait(pm->fabric, NULL, ERROR_PAUSE_NS);
            if (connect_again(pm, err) != 0) {
                return MSTRO_OFI_FAIL;
            }
        }
    } while (monotonic_ns() < deadline_ns);
    (void)vamp_err_set(err, -ETIMEDOUT,
                       "no pool manager answers within %.1f s over %s%s%s; is it "
                       "still running, and is the info its own?",
                       (double)deadline_ms / 1e3, pm->info.provider, failure != 0 ? ": " : "",
                       failure != 0 ? strerror(-failure) : "");
    return MSTRO_NO_PM;
}

mstro_status pool_manager_join(struct pool_manager *pm, const struct port_member *member,
                               uint32_t deadline_ms, struct vamp_err *err)
{
    int result = pm->info.keyed ? auth_init(err) : 0;
    if (result == 0 && pm->info.munge && credentials_open(&pm->credentials, err) != 0) {
        (void)vamp_err_wrap(err, "the pool manager asks for a credential of MUNGE");
        return MSTRO_REFUSED;
    }
    if (result == 0) {
        result = connect_fabric(pm, err);
    }
    if (result != 0) {
        return result == -ENOMEM ? MSTRO_NOMEM : MSTRO_OFI_FAIL;
    }
    size_t length;
    const uint8_t *address = fabric_address(pm->fabric, &length);
    Mstro__Wire__Join join = MSTRO__WIRE__JOIN__INIT;
    join.workflow = frame_text(member->workflow);
    join.component = frame_text(member->component);
    join.has_index = 1;
    join.index = member->index;
    join.address = frame_bytes(address, length);
    join.pool_session = pm->info.session;
    return exchange(pm, &join, deadline_ms, err);
}
