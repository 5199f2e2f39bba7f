/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/actor.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <maestro.h>

#include "vampire/core/clock.h"
#include "vampire/live/maestro_fields.h"
#include "vampire/live/session.h"

#define END_NS (3 * VAMP_NS_PER_SECOND)
/* Events have come when none has come for this long. */
#define QUIET_NS (VAMP_NS_PER_SECOND / 5)
#define LOOK_NS (5 * 1000 * 1000)
/* A flood of CDOs with long names, of which nobody reads the events. */
#define FLOOD_NS (8 * VAMP_NS_PER_SECOND)
#define FLOOD_NAME_BYTES 4000
#define FLOOD_CDOS 40000

/* What a process holds. */
struct stage {
    const struct vamp_actor *actor;
    mstro_cdo cdos[VAMP_ACT_CDOS];
    mstro_subscription subscriptions[VAMP_STREAM_COUNT];
    bool joined, manages;
    char prefix[64]; /* of the names of CDOs */
    struct vamp_answer answer;
};

/* ------------------------------------------------------------------ the process */

static mstro_status join(struct stage *stage, const char *info)
{
    const int set =
        info == NULL ? unsetenv(MSTRO_ENV_POOL_INFO) : setenv(MSTRO_ENV_POOL_INFO, info, 1);
    const mstro_status status =
        set == 0 ? mstro_init(stage->actor->workflow, stage->actor->component, 0) : MSTRO_FAIL;
    stage->joined = status == MSTRO_OK;
    return status;
}

static mstro_status manage(struct stage *stage)
{
    char *info = NULL;
    mstro_status status = join(stage, NULL);
    status = status == MSTRO_OK ? mstro_pm_start() : status;
    stage->manages = status == MSTRO_OK;
    status = status == MSTRO_OK ? mstro_pm_getinfo(&info) : status;
    if (status == MSTRO_OK) {
        (void)snprintf(stage->answer.text, sizeof stage->answer.text, "%s", info);
        free(info);
    }
    return status;
}

static mstro_status subscribe(struct stage *stage, enum vamp_stream stream, uint64_t kinds,
                              mstro_subscription_opts opts)
{
    const uint64_t theirs = vamp_maestro_kinds(kinds) | vamp_maestro_service_kinds();
    return mstro_subscribe(NULL, (mstro_pool_event_kind)theirs, opts,
                           &stage->subscriptions[stream]);
}

static mstro_status subscribe_after(struct stage *stage)
{
    const uint64_t all = (UINT64_C(1) << VAMP_EVENT_KIND_COUNT) - 2;
    const mstro_status status =
        subscribe(stage, VAMP_STREAM_OFFERS, VAMP_EVENT_BIT(VAMP_EVENT_OFFER),
                  MSTRO_SUBSCRIPTION_OPTS_DEFAULT);
    return status != MSTRO_OK
               ? status
               : subscribe(stage, VAMP_STREAM_ALL, all, MSTRO_SUBSCRIPTION_OPTS_DEFAULT);
}

static mstro_status subscribe_before(struct stage *stage)
{
#if VAMP_MSTRO_HAS_SIGNAL_BEFORE
    return subscribe(stage, VAMP_STREAM_BEFORE, VAMP_EVENT_BIT(VAMP_EVENT_DEMAND),
                     MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE);
#else
    (void)stage;
    return MSTRO_INVARG;
#endif
}

static mstro_status drop(struct stage *stage, enum vamp_stream stream)
{
    mstro_subscription subscription = stage->subscriptions[stream];
    stage->subscriptions[stream] = NULL;
    return subscription != NULL ? mstro_subscription_dispose(subscription) : MSTRO_OK;
}

/* Whether it is of one of the examination's own CDOs; `*ret_cdo`: which, or VAMP_ACT_CDOS for those
 * of a flood. */
static bool is_ours(const struct stage *stage, const struct vamp_event *event, unsigned *ret_cdo)
{
    const size_t length = strlen(stage->prefix);
    if (!vamp_event_has(event, VAMP_HAS_CDO_NAME) || event->name_length <= length ||
        memcmp(event->name, stage->prefix, length) != 0) {
        return false;
    }
    *ret_cdo = event->name[length] == 'x' ? VAMP_ACT_CDOS : (unsigned)(event->name[length] - '0');
    return *ret_cdo <= VAMP_ACT_CDOS;
}

static void take_list(struct stage *stage, enum vamp_stream stream, mstro_pool_event list)
{
    struct vamp_answer *answer = &stage->answer;
    static uint64_t last;
    for (const struct mstro_pool_event_ *at = list; at != NULL; at = at->next) {
        struct vamp_seen seen = {.stream = stream};
        if (vamp_maestro_is_gone(at)) {
            continue;
        }
        vamp_maestro_convert(at,
                             stream == VAMP_STREAM_BEFORE ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER, 0,
                             &seen.event);
        if (stream == VAMP_STREAM_ALL) {
            const uint64_t serial = seen.event.serial;
            answer->lost += seen.event.kind == VAMP_EVENT_LOST ? seen.event.count : 0;
            answer->gaps += last != 0 && serial > last + 1 ? serial - last - 1 : 0;
            last = serial != 0 ? serial : last;
        }
        if (!is_ours(stage, &seen.event, &seen.cdo)) {
            continue;
        }
        if (seen.cdo == VAMP_ACT_CDOS) {
            answer->flooded += stream == VAMP_STREAM_ALL;
        } else if (answer->count < VAMP_SEEN_MAX) {
            answer->seen[answer->count++] = seen;
        }
    }
}

static mstro_status take(struct stage *stage)
{
    int64_t came_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    const int64_t until_ns = came_ns + FLOOD_NS;
    int64_t now_ns = came_ns;
    while (now_ns - came_ns < QUIET_NS && now_ns < until_ns) {
        bool came = false;
        for (unsigned i = 0; i < VAMP_STREAM_COUNT; i++) {
            mstro_pool_event list = NULL;
            if (stage->subscriptions[i] != NULL &&
                mstro_subscription_poll(stage->subscriptions[i], &list) == MSTRO_OK &&
                list != NULL) {
                take_list(stage, (enum vamp_stream)i, list);
                (void)mstro_pool_event_dispose(list);
                came = true;
            }
        }
        now_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
        came_ns = came ? now_ns : came_ns;
        if (!came) {
            vamp_sleep_ns(LOOK_NS);
        }
    }
    return MSTRO_OK;
}

static mstro_status offer(mstro_cdo cdo)
{
    static _Alignas(4096) char data[VAMP_ACT_BYTES];
    static int64_t bytes = VAMP_ACT_BYTES;
    mstro_status status =
        mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &bytes, true, true);
    if (status == MSTRO_OK) {
        status = mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, data, false, true);
    }
    return status == MSTRO_OK ? mstro_cdo_offer(cdo) : status;
}

static mstro_status flood(struct stage *stage)
{
    char name[FLOOD_NAME_BYTES + 1];
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + FLOOD_NS;
    memset(name, 'x', sizeof name - 1);
    memcpy(name, stage->prefix, strlen(stage->prefix));
    name[sizeof name - 1] = '\0';
    mstro_status status = MSTRO_OK;
    for (unsigned i = 0; i < FLOOD_CDOS && status == MSTRO_OK &&
                         vamp_clock_monotonic_ns(&vamp_clock_system) < until_ns;
         i++) {
        mstro_cdo cdo = NULL;
        status = mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &cdo);
        if (status == MSTRO_OK) {
            stage->answer.flooded += 2;
            status = mstro_cdo_dispose(cdo);
        }
    }
    return status;
}

static mstro_status declare(struct stage *stage, unsigned cdo)
{
    char name[sizeof stage->prefix + 2];
    (void)snprintf(name, sizeof name, "%s%u", stage->prefix, cdo);
    return mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &stage->cdos[cdo]);
}

static mstro_status leave(struct stage *stage)
{
    for (unsigned i = 0; i < VAMP_STREAM_COUNT; i++) {
        (void)drop(stage, (enum vamp_stream)i);
    }
    if (stage->manages) {
        (void)mstro_pm_terminate();
    }
    const bool joined = stage->joined;
    stage->joined = false;
    stage->manages = false;
    return joined ? mstro_finalize() : MSTRO_OK;
}

static mstro_status perform(struct stage *stage, const struct vamp_order *order)
{
    assert(order->cdo < VAMP_ACT_CDOS);
    const mstro_cdo cdo = stage->cdos[order->cdo];
    switch (order->act) {
    case VAMP_ACT_MANAGE:
        return manage(stage);
    case VAMP_ACT_JOIN:
        return join(stage, order->text);
    case VAMP_ACT_SUBSCRIBE:
        return subscribe_after(stage);
    case VAMP_ACT_SUBSCRIBE_BEFORE:
        return subscribe_before(stage);
    case VAMP_ACT_DROP_BEFORE:
        return drop(stage, VAMP_STREAM_BEFORE);
    case VAMP_ACT_TAKE:
        return take(stage);
    case VAMP_ACT_FLOOD:
        return flood(stage);
    case VAMP_ACT_LEAVE:
        return leave(stage);
    case VAMP_EVENT_DECLARE:
        return declare(stage, order->cdo);
    case VAMP_EVENT_OFFER:
        return offer(cdo);
    case VAMP_EVENT_REQUIRE:
        return mstro_cdo_require(cdo);
    case VAMP_EVENT_DEMAND:
        return mstro_cdo_demand(cdo);
    case VAMP_EVENT_WITHDRAW:
        return mstro_cdo_withdraw(cdo);
    default:
        return mstro_cdo_dispose(cdo);
    }
}

static void act(const struct vamp_actor *actor, int orders)
{
    static struct stage stage;
    static struct vamp_order order;
    struct vamp_answer *answer = &stage.answer;
    stage.actor = actor;
    (void)snprintf(stage.prefix, sizeof stage.prefix, "vampire-examines-%d/", (int)getppid());
    do {
        if (recv(orders, &order, sizeof order, 0) != sizeof order) {
            break;
        }
        memset(answer, 0, sizeof *answer);
        answer->begin_ns = vamp_clock_utc_ns(&vamp_clock_system);
        const mstro_status status = perform(&stage, &order);
        answer->end_ns = vamp_clock_utc_ns(&vamp_clock_system);
        answer->done = status == MSTRO_OK;
        if (!answer->done) {
            (void)snprintf(answer->text, sizeof answer->text, "%s",
                           vamp_maestro_status_text(status).text);
        }
    } while (send(orders, answer, sizeof *answer, MSG_NOSIGNAL) == sizeof *answer);
    (void)leave(&stage);
}

/* ------------------------------------------------------------------ who gives the orders */

int vamp_actor_start(struct vamp_actor *actor, const char *workflow, const char *component,
                     struct vamp_err *err)
{
    int ends[2];
    *actor = (struct vamp_actor){.workflow = workflow, .component = component};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return vamp_err_set_errno(err, errno, "make sockets for \"%s\"", component);
    }
    (void)fflush(NULL);
    actor->process = fork();
    if (actor->process == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(ends[1]);
        act(actor, ends[0]);
        _exit(0);
    }
    (void)close(ends[0]);
    actor->socket = ends[1];
    return actor->process > 0 ? 0 : vamp_err_set_errno(err, errno, "start \"%s\"", component);
}

int vamp_actor_do(struct vamp_actor *actor, const struct vamp_order *order, int64_t timeout_ns,
                  struct vamp_answer *ret_answer)
{
    struct pollfd wait = {.fd = actor->socket, .events = POLLIN};
    ret_answer->done = false;
    (void)snprintf(ret_answer->text, sizeof ret_answer->text, "no answer in %.0f s",
                   (double)timeout_ns / (double)VAMP_NS_PER_SECOND);
    if (order != NULL) {
        (void)!send(actor->socket, order, sizeof *order, MSG_NOSIGNAL);
    }
    if (poll(&wait, 1, (int)(timeout_ns / 1000000)) <= 0) {
        return -ETIMEDOUT;
    }
    if (recv(actor->socket, ret_answer, sizeof *ret_answer, 0) != sizeof *ret_answer) {
        (void)snprintf(ret_answer->text, sizeof ret_answer->text, "its process died");
    }
    return ret_answer->done ? 0 : -EPROTO;
}

void vamp_actor_end(struct vamp_actor *actor)
{
    static const struct vamp_order order = {.act = VAMP_ACT_LEAVE};
    static struct vamp_answer answer;
    if (actor->process > 0) {
        (void)vamp_actor_do(actor, &order, END_NS, &answer);
        (void)close(actor->socket);
        (void)kill(actor->process, SIGKILL);
        (void)waitpid(actor->process, NULL, 0);
    }
}
