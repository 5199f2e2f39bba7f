/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/client/join.h"

#include <stdio.h>
#include <string.h>

#include "vampire/core/values.h"

/* Time limit for one attempt; a pool manager that is stopped for a while answers a later attempt.
 */
#define ATTEMPT_NS INT64_C(5000000000)
/* Pause after an error: the pool manager may not be listening yet. */
#define ERROR_PAUSE_NS INT64_C(50000000)

void pool_manager_hear(struct pool_manager *pm, const uint8_t *bytes, size_t length)
{
    struct frame frame;
    if (pm->welcome == NULL && frame_parse(bytes, length, &frame, NULL) == 0 &&
        frame.kind == FRAME_WELCOME) {
        pm->welcome = frame_unpack(&frame, &pm->arena, NULL);
    } /* otherwise it is a heartbeat sent right after the welcome; ignored */
}

void pool_manager_closed(struct pool_manager *pm, int status)
{
    pm->link.stream = NULL;
    pm->closed = status;
}

static mstro_status take_welcome(struct pool_manager *pm, const Mstro__Wire__Welcome *welcome,
                                 struct vamp_err *err)
{
    pm->answered = true;
    if (welcome->status != MSTRO_OK) {
        (void)vamp_err_set(err, -EPERM, "the pool manager refuses: %s",
                           vamp_text_or(welcome->text, "it gives no reason"));
        return welcome->status < mstro_status_MAX ? (mstro_status)welcome->status : MSTRO_REFUSED;
    }
    if (!welcome->has_app_id || welcome->app_id == 0) {
        return VAMP_REFUSE(MSTRO_INVMSG, err, -EBADMSG, "the pool manager's welcome is malformed");
    }
    pm->app_id = welcome->app_id;
    uint32_t heartbeat_ms = welcome->heartbeat_ms;
    if (heartbeat_ms < 10) {
        heartbeat_ms = 500;
    }
    uint32_t silence_ms = welcome->silence_ms;
    if (silence_ms / 2 < heartbeat_ms) {
        silence_ms = 10 * heartbeat_ms;
    }
    pm->heartbeat_ns = (int64_t)heartbeat_ms * 1000000;
    pm->silence_ns = (int64_t)silence_ms * 1000000;
    return MSTRO_OK;
}

/* Adds the credential that the pool manager requires in addition to the key. Returns 0, or
 * -EKEYREJECTED with text: no credential is available. */
static int prove(struct pool_manager *pm, Mstro__Wire__Join *join, struct vamp_err *err)
{
    struct secure_binding binding;
    struct credential *credential = &pm->credential;
    if (pm->credentials == NULL) {
        return 0;
    }
    if (stream_bind(pm->link.stream, &binding) != 0 ||
        credential_make(pm->credentials, &binding, credential, err) != 0) {
        (void)vamp_err_wrap(err, "the pool manager requires a MUNGE credential");
        return -EKEYREJECTED;
    }
    join->has_credential = 1;
    join->credential = frame_bytes(credential->text, credential->length);
    return 0;
}

/* Makes progress until `done` is true, the connection has ended, or `until_ns` has passed. */
static void go_on(struct pool_manager *pm, const bool *done, int64_t until_ns)
{
    int64_t now_ns = monotonic_ns();
    while (!*done && pm->welcome == NULL && pm->closed == 0 && now_ns < until_ns) {
        stream_flush_all(pm->hub);
        if (stream_poll(pm->hub) == 0) {
            stream_wait(pm->hub, NULL, until_ns - now_ns);
        }
        now_ns = monotonic_ns();
    }
}

/* Connects, sends the join and waits until `until_ns` for the welcome. Returns 0: pm->welcome is
 * set, or the time has passed; -EKEYREJECTED or -EMSGSIZE with text; or another -errno: there is no
 * connection. */
static int join_once(struct pool_manager *pm, Mstro__Wire__Join *join, int64_t until_ns,
                     struct vamp_err *err)
{
    static const bool never = false;
    pm->opened = false;
    pm->closed = stream_connect(pm->hub, &pm->info.key, pm->info.address, pm->info.address_length,
                                &pm->link.stream);
    go_on(pm, &pm->opened, until_ns);
    if (pm->closed == -EKEYREJECTED) {
        return vamp_err_set(err, -EKEYREJECTED,
                            "the pool manager that listens there does not accept the key of this "
                            "info, which belongs to an earlier or another one; use the info of the "
                            "pool manager that runs now");
    }
    if (pm->closed == 0 && pm->opened) {
        int result = prove(pm, join, err);
        if (result == 0) {
            result = link_send(&pm->link, monotonic_ns(), FRAME_JOIN, &join->base);
        }
        if (result == -EMSGSIZE) {
            return vamp_err_set(err, result, "the component's name is too long to join with");
        }
        if (result != 0) {
            return result;
        }
        go_on(pm, &never, until_ns);
    }
    return pm->welcome != NULL ? 0 : pm->closed;
}

static mstro_status no_answer(const char *address, uint32_t deadline_ms, int failure,
                              struct vamp_err *err)
{
    const char *hint = "does this host reach that address, or does the pool manager need another "
                       "one (--bind)?";
    if (failure == 0 || failure == -ECONNREFUSED || failure == -ECONNRESET) {
        hint = "is it still running, and is the info its own?";
    }
    char reason[80] = "";
    if (failure != 0) {
        (void)snprintf(reason, sizeof reason, ": %s", strerror(-failure));
    }
    return VAMP_REFUSE(MSTRO_NO_PM, err, -ETIMEDOUT,
                       "no pool manager answers at %s within %.1f s%s; %s", address,
                       (double)deadline_ms / 1e3, reason, hint);
}

static mstro_status exchange(struct pool_manager *pm, Mstro__Wire__Join *join, uint32_t deadline_ms,
                             struct vamp_err *err)
{
    static const bool never = false;
    const int64_t deadline_ns = monotonic_ns() + (int64_t)deadline_ms * 1000000;
    char address[INFO_ADDRESS_BYTES];
    const bool elsewhere = info_is_elsewhere(&pm->info, info_host(), address);
    int failure = 0;
    int64_t now_ns = monotonic_ns();
    do {
        const int64_t again_ns = VAMP_MIN(now_ns + ATTEMPT_NS, deadline_ns);
        const int result = join_once(pm, join, again_ns, err);
        if (elsewhere && result != 0 &&
            !pm->opened) { /* the address leads elsewhere unless there is a tunnel */
            return VAMP_REFUSE(MSTRO_NO_PM, err, -EHOSTUNREACH,
                               "the pool manager listens on %s, an address of loopback, and runs "
                               "on another host than this process, or in another network "
                               "namespace; start it with --bind ADDRESS or " STREAM_ENV_BIND
                               "=ADDRESS, an address of its host that others reach",
                               address);
        }
        if (result == -EKEYREJECTED || result == -EMSGSIZE) {
            return result == -EMSGSIZE ? MSTRO_INVARG : MSTRO_REFUSED;
        }
        if (pm->welcome != NULL) {
            if (pm->link.stream != NULL) {
                stream_admit(pm->link.stream);
            }
            return take_welcome(pm, pm->welcome, err);
        }
        if (result != 0) {
            failure = result;
        }
        if (pm->link.stream != NULL) {
            stream_close(pm->link.stream);
            pm->link.stream = NULL;
        }
        now_ns = monotonic_ns();
        pm->closed = 0;
        go_on(pm, &never, VAMP_MIN(now_ns + ERROR_PAUSE_NS, deadline_ns));
        now_ns = monotonic_ns();
    } while (now_ns < deadline_ns);
    return no_answer(address, deadline_ms, failure, err);
}

mstro_status pool_manager_join(struct pool_manager *pm, const struct port_member *member,
                               uint32_t deadline_ms, struct vamp_err *err)
{
    if (pm->info.munge && credentials_open(&pm->credentials, err) != 0) {
        (void)vamp_err_wrap(err, "the pool manager requires a MUNGE credential");
        return MSTRO_REFUSED;
    }
    const int result = stream_hub_open(&pm->handler, &pm->hub, err);
    if (result != 0) {
        return result == -ENOMEM ? MSTRO_NOMEM : MSTRO_OFI_FAIL;
    }
    Mstro__Wire__Join join = MSTRO__WIRE__JOIN__INIT;
    join.workflow = frame_text(member->workflow);
    join.component = frame_text(member->component);
    join.has_index = 1;
    join.index = member->index;
    join.pool_session = pm->info.session;
    join.process = member->process;
    return exchange(pm, &join, deadline_ms, err);
}
