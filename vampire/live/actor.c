/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/actor.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <maestro.h>

#include "vampire/core/clock.h"
#include "vampire/core/json_emit.h"
#include "vampire/core/values.h"
#include "vampire/live/maestro_fields.h"
#include "vampire/live/session.h"

/* Events are complete when none has arrived for this long. */
#define QUIET_NS (VAMP_NS_PER_SECOND / 5)
#define LOOK_NS (5 * 1000 * 1000)
/* Duration of a flood: CDOs with long names whose events are not read meanwhile. */
#define FLOOD_NS (24 * VAMP_NS_PER_SECOND)
#define FLOOD_NAME_BYTES 4000
#define FLOOD_CDOS 40000
#define BYTES 4096 /* size of each offered CDO */
#define ORDER_BYTES 8192
#define LINES_MAX 4
#define UNNAMED UINT_MAX
#define SEEN_MAX 256 /* maximum number of events in an answer, which is one message */

enum stream { STREAM_ALL, STREAM_OFFERS, STREAM_BEFORE, STREAM_COUNT };
static const char *const stream_names[STREAM_COUNT] = {"all", "offers", "before"};

/* The state of an actor. */
struct stage {
    mstro_cdo cdos[VAMP_ACT_CDOS];
    mstro_subscription subscriptions[STREAM_COUNT];
    uint64_t last; /* serial number of the last event */
    bool joined, manages;
    char prefix[64];              /* prefix of CDO names */
    const char *lines[LINES_MAX]; /* lines of the order; "" after the last one */
    struct vamp_json answer;
    uint64_t flooded, lost, gaps, strange;
    unsigned seen;
};

static mstro_status join(struct stage *stage, const char *info)
{
    int failure = 0;
    if (info == NULL) {
        failure = unsetenv(MSTRO_ENV_POOL_INFO);
    } else {
        failure = setenv(MSTRO_ENV_POOL_INFO, info, 1);
    }
    mstro_status status = MSTRO_FAIL;
    if (failure == 0) {
        status = mstro_init(stage->lines[1], stage->lines[2], 0);
    }
    stage->joined = status == MSTRO_OK;
    return status;
}

static mstro_status join_as_told(struct stage *stage)
{
    return join(stage, stage->lines[3]);
}

static mstro_status manage(struct stage *stage)
{
    char *info = NULL;
    mstro_status status = join(stage, NULL);
    if (status == MSTRO_OK) {
        status = mstro_pm_start();
    }
    stage->manages = status == MSTRO_OK;
    if (stage->manages) {
        status = mstro_pm_getinfo(&info);
    }
    if (status == MSTRO_OK) {
        vamp_json_long_text(&stage->answer, "info", info, ORDER_BYTES);
        free(info);
    }
    return status;
}

static mstro_status subscribe(struct stage *stage, enum stream stream, uint64_t kinds,
                              mstro_subscription_opts opts)
{
    const uint64_t theirs = vamp_maestro_kinds(kinds) | vamp_maestro_service_kinds();
    return mstro_subscribe(NULL, (mstro_pool_event_kind)theirs, opts,
                           &stage->subscriptions[stream]);
}

static mstro_status subscribe_after(struct stage *stage)
{
    const uint64_t all = (UINT64_C(1) << VAMP_EVENT_KIND_COUNT) - 2;
    mstro_status status = subscribe(stage, STREAM_OFFERS, VAMP_EVENT_BIT(VAMP_EVENT_OFFER),
                                    MSTRO_SUBSCRIPTION_OPTS_DEFAULT);
    if (status == MSTRO_OK) {
        status = subscribe(stage, STREAM_ALL, all, MSTRO_SUBSCRIPTION_OPTS_DEFAULT);
    }
    return status;
}

static mstro_status subscribe_before(struct stage *stage)
{
#if VAMP_MSTRO_HAS_SIGNAL_BEFORE
    return subscribe(stage, STREAM_BEFORE, VAMP_EVENT_BIT(VAMP_EVENT_DEMAND),
                     MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE);
#else
    (void)stage;
    return MSTRO_INVARG;
#endif
}

static mstro_status drop(struct stage *stage, enum stream stream)
{
    mstro_subscription subscription = stage->subscriptions[stream];
    stage->subscriptions[stream] = NULL;
    if (subscription == NULL) {
        return MSTRO_OK;
    }
    return mstro_subscription_dispose(subscription);
}

/* Returns whether the event concerns one of the examination's own CDOs; `*ret_cdo` is its number,
 * VAMP_ACT_CDOS for CDOs of a flood, or UNNAMED for events that do not name their CDO. */
static bool is_ours(const struct stage *stage, const struct vamp_event *event, unsigned *ret_cdo)
{
    const size_t length = strlen(stage->prefix);
    const bool is_of_cdo =
        !vamp_event_is_mark(event) && vamp_event_name_field(event->kind) == VAMP_HAS_CDO_NAME;
    if (is_of_cdo && !vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
        *ret_cdo = UNNAMED;
        return true;
    }
    if (!vamp_event_has(event, VAMP_HAS_CDO_NAME) || event->name_length <= length ||
        memcmp(event->name, stage->prefix, length) != 0) {
        return false;
    }
    *ret_cdo = event->name[length] == 'x' ? VAMP_ACT_CDOS : (unsigned)(event->name[length] - '0');
    return *ret_cdo <= VAMP_ACT_CDOS;
}

static void describe(struct vamp_json *json, enum stream stream, unsigned cdo,
                     const struct vamp_event *event)
{
    vamp_json_open(json, NULL, '{');
    vamp_json_text(json, "stream", stream_names[stream]);
    vamp_json_text(json, "kind", vamp_event_kind_name(event->kind));
    if (cdo == UNNAMED) {
        vamp_json_null(json, "cdo");
    } else {
        vamp_json_unsigned(json, "cdo", cdo);
    }
    vamp_json_unsigned(json, "serial", event->serial);
    if (vamp_event_has(event, VAMP_HAS_TIME)) {
        vamp_json_signed(json, "time_ns", event->time_ns);
    }
    if (vamp_event_has(event, VAMP_HAS_SIZE)) {
        vamp_json_unsigned(json, "bytes", event->size_bytes);
    }
    if (vamp_event_has(event, VAMP_HAS_APP)) {
        vamp_json_unsigned(json, "app_id", event->app_id);
    }
    if (vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        char text[VAMP_CDO_ID_TEXT_BYTES];
        vamp_cdo_id_text(event->cdo_id, text);
        vamp_json_text(json, "id", text);
    }
    vamp_json_close(json, '}');
}

static void take_list(struct stage *stage, enum stream stream, mstro_pool_event list)
{
    for (const struct mstro_pool_event_ *at = list; at != NULL; at = at->next) {
        struct vamp_event event;
        unsigned cdo = 0;
        if (vamp_maestro_is_gone(at)) {
            continue;
        }
        vamp_maestro_convert(at, stream == STREAM_BEFORE ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER, 0,
                             &event);
        if (stream == STREAM_ALL) {
            if (event.kind == VAMP_EVENT_REJECTED) {
                stage->strange++;
                event.serial = vamp_maestro_serial(at);
            }
            if (event.kind == VAMP_EVENT_LOST) {
                stage->lost += event.count;
            }
            if (stage->last != 0 && event.serial > stage->last + 1) {
                stage->gaps += event.serial - stage->last - 1;
            }
            if (event.serial != 0) {
                stage->last = event.serial;
            }
        }
        if (!is_ours(stage, &event, &cdo)) {
            continue;
        }
        if (cdo == VAMP_ACT_CDOS) {
            stage->flooded += stream == STREAM_ALL;
        } else if (stage->seen++ < SEEN_MAX) {
            describe(&stage->answer, stream, cdo, &event);
        }
    }
}

static mstro_status take(struct stage *stage)
{
    int64_t came_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    const int64_t until_ns = came_ns + FLOOD_NS;
    int64_t now_ns = came_ns;
    vamp_json_open(&stage->answer, "seen", '[');
    while (now_ns - came_ns < QUIET_NS && now_ns < until_ns) {
        bool came = false;
        for (unsigned i = 0; i < STREAM_COUNT; i++) {
            mstro_pool_event list = NULL;
            if (stage->subscriptions[i] != NULL &&
                mstro_subscription_poll(stage->subscriptions[i], &list) == MSTRO_OK &&
                list != NULL) {
                take_list(stage, (enum stream)i, list);
                (void)mstro_pool_event_dispose(list);
                came = true;
            }
        }
        now_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
        if (came) {
            came_ns = now_ns;
        } else {
            vamp_sleep_ns(LOOK_NS);
        }
    }
    vamp_json_close(&stage->answer, ']');
    return MSTRO_OK;
}

static mstro_status offer(mstro_cdo cdo)
{
    static _Alignas(4096) char data[BYTES];
    static int64_t bytes = BYTES;
    mstro_status status =
        mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &bytes, true, true);
    if (status == MSTRO_OK) {
        status = mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, data, false, true);
    }
    if (status == MSTRO_OK) {
        status = mstro_cdo_offer(cdo);
    }
    return status;
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
            stage->flooded += 2;
            status = mstro_cdo_dispose(cdo);
        }
    }
    return status;
}

static mstro_status declare(struct stage *stage, mstro_cdo *cdo)
{
    _Static_assert(VAMP_ACT_CDOS <= 10, "the number of a CDO is one digit");
    char name[sizeof stage->prefix + 1];
    const int length =
        snprintf(name, sizeof name, "%s%u", stage->prefix, (unsigned)(cdo - stage->cdos));
    if (length < 0 || (size_t)length >= sizeof name) {
        return MSTRO_FAIL;
    }
    return mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, cdo);
}

static mstro_status leave(struct stage *stage)
{
    for (unsigned i = 0; i < STREAM_COUNT; i++) {
        (void)drop(stage, (enum stream)i);
    }
    if (stage->manages) {
        (void)mstro_pm_terminate();
    }
    const bool joined = stage->joined;
    stage->joined = false;
    stage->manages = false;
    return joined ? mstro_finalize() : MSTRO_OK;
}

static mstro_status drop_before(struct stage *stage)
{
    return drop(stage, STREAM_BEFORE);
}

static mstro_status perform(struct stage *stage)
{
    static const struct {
        const char *word;
        mstro_status (*act)(struct stage *stage);
    } acts[] = {
        {"manage", manage},
        {"join", join_as_told},
        {"subscribe", subscribe_after},
        {"subscribe_before", subscribe_before},
        {"drop_before", drop_before},
        {"take", take},
        {"flood", flood},
        {"leave", leave},
    };
    static const struct {
        const char *word;
        mstro_status (*act)(mstro_cdo cdo);
    } operations[] = {
        {"offer", offer},
        {"require", mstro_cdo_require},
        {"demand", mstro_cdo_demand},
        {"withdraw", mstro_cdo_withdraw},
        {"dispose", mstro_cdo_dispose},
    };
    const char *word = stage->lines[0];
    mstro_cdo *cdo = &stage->cdos[strtoul(stage->lines[1], NULL, 10) % VAMP_ACT_CDOS];
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        if (strcmp(acts[i].word, word) == 0) {
            return acts[i].act(stage);
        }
    }
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(operations[i].word, word) == 0) {
            return operations[i].act(*cdo);
        }
    }
    return strcmp(word, "declare") == 0 ? declare(stage, cdo) : MSTRO_INVARG;
}

/* Returns the answer, to be freed by the caller; NULL: out of memory. */
static char *answer(struct stage *stage)
{
    struct vamp_json *json = &stage->answer;
    stage->flooded = stage->lost = stage->gaps = stage->strange = stage->seen = 0;
    vamp_json_open(json, NULL, '{');
    vamp_json_signed(json, "begin_ns", vamp_clock_utc_ns(&vamp_clock_system));
    const mstro_status status = perform(stage);
    vamp_json_signed(json, "end_ns", vamp_clock_utc_ns(&vamp_clock_system));
    if (status != MSTRO_OK) {
        vamp_json_text(json, "error", vamp_maestro_status_text(status).text);
    }
    vamp_json_unsigned(json, "flooded", stage->flooded);
    vamp_json_unsigned(json, "lost", stage->lost);
    vamp_json_unsigned(json, "gaps", stage->gaps);
    vamp_json_unsigned(json, "strange", stage->strange);
    vamp_json_close(json, '}');
    return vamp_json_take(json);
}

void vamp_actor_follow(int orders)
{
    static struct stage stage;
    char order[ORDER_BYTES];
    bool sent = true;
    (void)snprintf(stage.prefix, sizeof stage.prefix, VAMP_ACT_NAME, (int)getppid());
    while (sent) {
        const ssize_t bytes = recv(orders, order, sizeof order - 1, 0);
        if (bytes <= 0) {
            break;
        }
        order[bytes] = '\0';
        char *rest = order;
        for (unsigned i = 0; i < LINES_MAX; i++) {
            stage.lines[i] = vamp_text_or(strsep(&rest, "\n"), "");
        }
        char *text = answer(&stage);
        sent = text != NULL && send(orders, text, strlen(text), MSG_NOSIGNAL) > 0;
        free(text);
    }
    (void)leave(&stage);
}
