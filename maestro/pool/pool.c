/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool, its components, and the steps of a request: check; notify SIGNAL_BEFORE subscribers;
 * wait for their acknowledgements; check again if it had to wait; handle; notify the other
 * subscribers; wait for their acknowledgements; answer. Without acknowledgements, all steps happen
 * in one call.
 */
#include "maestro/pool/pool.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "maestro/pool/internal.h"
#include "vampire/core/values.h"

/* ------------------------------------------------------------------ components */

static struct component *find_component(const struct pool *pool, uint64_t app_id)
{
    struct map_link *link = map_find_number(&pool->components, app_id);
    return link == NULL ? NULL : CONTAINER_OF(link, struct component, by_id);
}

static bool name_is_taken(const struct pool *pool, const char *name, uint64_t hash)
{
    for (struct map_link *link = map_first(&pool->component_names, hash); link != NULL;
         link = map_next(link)) {
        if (strcmp(CONTAINER_OF(link, struct component, by_name)->name, name) == 0) {
            return true;
        }
    }
    return false;
}

mstro_status pool_may_join(const struct pool *pool, const char *name, struct vamp_err *err)
{
    const char *fault = pool_name_fault(name);
    if (fault != NULL) {
        return VAMP_REFUSE(MSTRO_REFUSED, err, -EINVAL, "join: the component's name %s", fault);
    }
    if (name_is_taken(pool, name, map_hash_text(&pool->component_names, name, strlen(name)))) {
        return VAMP_REFUSE(MSTRO_REFUSED, err, -EEXIST,
                           "join: a component named \"%.200s\" is here already; names are unique",
                           name);
    }
    if (pool->components.count >= pool->bounds.components) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOSPC,
                           "join: the workflow has at most %zu components",
                           pool->bounds.components);
    }
    return MSTRO_OK;
}

mstro_status pool_join(struct pool *pool, const char *name, uint64_t index, uint64_t *ret_app_id,
                       struct vamp_err *err)
{
    (void)index; /* sent to the pool manager, which does not use it yet */
    mstro_status status = pool_may_join(pool, name, err);
    if (status != MSTRO_OK) {
        return status;
    }
    size_t length = strlen(name);
    struct component *component =
        pool_memory_take(&pool->memory, POOL_MEMORY_OBJECTS, sizeof *component + length + 1);
    if (component == NULL) {
        return pool_memory_refuse(&pool->memory, "join", err);
    }
    memcpy(component->name, name, length + 1);
    component->id = ++pool->last_app;
    list_init(&component->handles);
    list_init(&component->subscriptions);

    for (size_t i = 0; i < pool->subscription_count; i++) {
        if (subscription_reports_leaves(pool->subscriptions[i])) {
            pool_queue_expect_leaves(&pool->subscriptions[i]->queue, 1, component->id);
        }
    }
    struct subject subject;
    subject_init(VAMP_EVENT_JOIN, component->id, &subject);
    subject_name(&subject, name, length);
    pool_emit(pool, &subject, true, NULL);
    list_append(&pool->component_list, &component->of_pool);
    map_insert_number(&pool->components, &component->by_id, component->id);
    map_insert(&pool->component_names, &component->by_name,
               map_hash_text(&pool->component_names, name, length));
    pool_emit(pool, &subject, false, NULL);
    *ret_app_id = component->id;
    return MSTRO_OK;
}

/* Appends ",tag=value" in InfluxDB line protocol if there is a value. Returns false if it does not
 * fit. */
static bool add_tag(char *text, size_t bytes, const char *tag, const char *value)
{
    size_t used = strlen(text);
    if (value == NULL || *value == '\0') {
        return true;
    }
    used += (size_t)snprintf(text + used, bytes - used, ",%s=", tag);
    for (; *value != '\0' && used + 3 <= bytes; value++) {
        if (strchr(",= \\", *value) != NULL) {
            text[used++] = '\\';
        }
        text[used++] = *value;
    }
    text[VAMP_MIN(used, bytes - 1)] = '\0';
    return *value == '\0';
}

static void emit_sample(struct pool *pool, const char *text)
{
    struct subject subject = {.event.kind = VAMP_EVENT_SAMPLE};
    subject_name(&subject, text, strlen(text));
    pool_emit(pool, &subject, false, NULL);
}

void pool_tell_use(struct pool *pool)
{
    struct pool_memory_state memory;
    pool_memory_state(pool, &memory);
    const struct {
        const char *what;
        size_t used, limit;
    } all[] = {{"components", pool->components.count, pool->bounds.components},
               {"cdos", pool->cdos.count, pool->bounds.cdos},
               {"object_bytes", memory.object_bytes, memory.limit / 2},
               {"queue_bytes", memory.event_bytes, memory.limit / 2}};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "maestro_pool %s=%zui", all[i].what, all[i].used);
        emit_sample(pool, text);
        (void)snprintf(text, sizeof text, "maestro_pool %s_limit=%zui", all[i].what, all[i].limit);
        emit_sample(pool, text);
    }
}

void pool_tell_process(struct pool *pool, const char *component,
                       const Mstro__Wire__Process *process)
{
    char text[VAMP_NAME_BYTES_MAX] = "vampire_component";
    const size_t room = sizeof text - sizeof " pid=18446744073709551615i";
    if (process != NULL && add_tag(text, room, "component", component) &&
        add_tag(text, room, "host", process->host) && add_tag(text, room, "user", process->user) &&
        add_tag(text, room, "job", process->batch_job)) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, " pid=%" PRIu64 "i", process->pid);
        emit_sample(pool, text);
    }
}

/* Frees everything that belongs to the component, without emitting events. */
static void release_component(struct pool *pool, struct component *component)
{
    struct list_link *link;
    while ((link = list_first(&component->subscriptions)) != NULL) {
        subscription_release(pool, CONTAINER_OF(link, struct subscription, of_component));
    }
    while ((link = list_first(&component->handles)) != NULL) {
        handle_release(pool, CONTAINER_OF(link, struct handle, of_component));
    }
    assert(component->handle_count == 0 && component->subscription_count == 0);
    for (size_t i = 0; i < pool->subscription_count; i++) {
        if (subscription_reports_leaves(pool->subscriptions[i])) {
            assert(pool->subscriptions[i]->queue.expected > 0);
            pool->subscriptions[i]->queue.expected--; /* its LEAVE is emitted next */
        }
    }
    list_remove(&component->of_pool);
    map_remove(&pool->components, &component->by_id);
    map_remove(&pool->component_names, &component->by_name);
    held_forget_component(pool, component->id);
    pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, component);
}

size_t pool_component_count(const struct pool *pool)
{
    return pool->components.count;
}

const char *pool_component_name(const struct pool *pool, uint64_t app_id)
{
    const struct component *component = find_component(pool, app_id);
    return component == NULL ? NULL : component->name;
}

void pool_flow(struct pool *pool, uint64_t app_id, uint64_t subscription_id, uint64_t number,
               bool hold)
{
    struct component *component = find_component(pool, app_id);
    struct subscription *subscription = NULL;
    if (component != NULL) {
        subscription = subscription_find(component, subscription_id);
    }
    if (subscription == NULL || number <= subscription->flow_number) {
        return;
    }
    uint64_t serial;
    subscription->flow_number = number;
    subscription->held = hold;
    if (!hold && pool_queue_waits(&subscription->queue, &serial)) {
        component_signal(pool, component, true);
    }
}

uint64_t pool_overdue(const struct pool *pool, int64_t until_ns)
{
    struct list_link *oldest = list_first(&pool->held_list);
    const struct held *held = oldest != NULL ? CONTAINER_OF(oldest, struct held, of_pool) : NULL;
    if (held == NULL || held->since_ns >= until_ns) {
        return 0;
    }
    for (size_t i = 0; i < pool->subscription_count; i++) {
        if (pool->subscriptions[i]->id == held->waiting[0]) {
            return pool->subscriptions[i]->component->id;
        }
    }
    return 0;
}

struct pool_batch pool_events_take(struct pool *pool, uint64_t app_id, uint8_t *buffer, size_t size,
                                   size_t max_events)
{
    struct component *component = find_component(pool, app_id);
    if (component == NULL || size < POOL_BATCH_BYTES_MIN || max_events == 0) {
        return (struct pool_batch){0};
    }
    struct subscription *oldest = NULL;
    uint64_t oldest_serial = UINT64_MAX;
    LIST_EACH (subscription, &component->subscriptions, struct subscription, of_component) {
        uint64_t serial;
        if (!subscription->held && pool_queue_waits(&subscription->queue, &serial) &&
            serial <= oldest_serial) {
            oldest = subscription;
            oldest_serial = serial;
        }
    }
    if (oldest == NULL) {
        component->signalled = component->signalled_at_once = false;
        return (struct pool_batch){0};
    }
    return pool_queue_take(&oldest->queue, oldest->id, buffer, size, max_events);
}

/* ------------------------------------------------------------------ requests */

/* Returns a copy that is independent of the caller's message. */
static Mstro__Wire__Request *copy_request(struct pool *pool, const Mstro__Wire__Request *request)
{
    size_t bytes = mstro__wire__request__get_packed_size(request);
    uint8_t *packed = malloc(bytes + 1);
    if (packed == NULL) {
        return NULL;
    }
    (void)mstro__wire__request__pack(request, packed);
    Mstro__Wire__Request *copy =
        mstro__wire__request__unpack(&pool->memory.messages, bytes, packed);
    free(packed);
    return copy;
}

static void acknowledge(struct pool *pool, const struct component *component,
                        const Mstro__Wire__Request *request)
{
    const Mstro__Wire__EventAck *ack = request->event_ack;
    if (subscription_find(component, ack->subscription) == NULL) {
        pool_respond(pool, component->id, request->id, MSTRO_NOENT,
                     "acknowledge: this component has no such subscription", NULL);
        return;
    }
    for (size_t i = 0; i < ack->n_serials; i++) {
        struct map_link *link = map_find_number(&pool->helds, ack->serials[i]);
        if (link != NULL) {
            held_release(pool, CONTAINER_OF(link, struct held, by_serial), ack->subscription);
        }
    }
    pool_respond(pool, component->id, request->id, MSTRO_OK, NULL, NULL);
}

/* ------------------------------------------------------------------ handling */

static void leave_subject(const struct component *component, enum vamp_leave_reason reason,
                          struct subject *ret_subject)
{
    subject_init(VAMP_EVENT_LEAVE, component->id, ret_subject);
    ret_subject->event.reason = (uint8_t)reason;
    ret_subject->event.present |= VAMP_HAS_REASON;
    ret_subject->announced_again = component->leaving;
}

static mstro_status check_leave(struct pool *pool, struct component *component,
                                const Mstro__Wire__Request *request, struct subject *ret_subject,
                                struct vamp_err *err)
{
    (void)pool;
    (void)request;
    (void)err;
    leave_subject(component, VAMP_LEAVE_FINALIZED, ret_subject);
    return MSTRO_OK;
}

static mstro_status apply_leave(struct pool *pool, struct component *component,
                                const Mstro__Wire__Request *request, struct vamp_err *err)
{
    (void)err;
    struct subject subject;
    leave_subject(component, VAMP_LEAVE_FINALIZED, &subject);
    release_component(pool, component);
    pool_finish(pool, &subject, request->id, NULL);
    return MSTRO_OK;
}

static const struct request_rule rule_leave = {check_leave, apply_leave};

/* EventAck and Finish are not included, because they have no event of their own and are never
 * delayed. */
static const struct request_rule *const rules[] = {
    [MSTRO__WIRE__REQUEST__WHAT_DECLARE] = &rule_declare,
    [MSTRO__WIRE__REQUEST__WHAT_OPERATION] = &rule_operation,
    [MSTRO__WIRE__REQUEST__WHAT_SUBSCRIBE] = &rule_subscribe,
    [MSTRO__WIRE__REQUEST__WHAT_UNSUBSCRIBE] = &rule_unsubscribe,
    [MSTRO__WIRE__REQUEST__WHAT_LEAVE] = &rule_leave,
    [MSTRO__WIRE__REQUEST__WHAT_TRANSPORT_END] = &rule_transport_end,
};

static mstro_status check_request(struct pool *pool, struct component *component,
                                  const Mstro__Wire__Request *request, struct subject *ret_subject,
                                  struct vamp_err *err)
{
    const size_t what = (size_t)request->what_case;
    if (what >= sizeof rules / sizeof rules[0] || rules[what] == NULL) {
        return VAMP_REFUSE(MSTRO_INVMSG, err, -EINVAL,
                           "this pool manager does not know the kind of request");
    }
    return rules[what]->check(pool, component, request, ret_subject, err);
}

/* Handles a request whose check has just returned this result. */
static void handle_request(struct pool *pool, struct component *component,
                           const Mstro__Wire__Request *request, mstro_status status,
                           struct vamp_err *err)
{
    const uint64_t app_id = component->id;
    if (status == MSTRO_OK) {
        status = rules[request->what_case]->apply(pool, component, request, err);
    }
    if (status != MSTRO_OK) {
        pool_respond(pool, app_id, request->id, status, err->text, NULL);
    }
}

/* Returns true if the request now waits; false: continue with it. */
static bool hold_before(struct pool *pool, struct component *component,
                        const Mstro__Wire__Request *request, struct subject *subject)
{
    struct held *held = NULL;
    pool_emit(pool, subject, true, &held);
    component->leaving |= subject->event.kind == VAMP_EVENT_LEAVE;
    if (held == NULL) {
        return false;
    }
    held->request = copy_request(pool, request);
    if (held->request == NULL) {
        pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, held);
        return false;
    }
    held_keep(pool, held, component->id, request->id);
    return true;
}

/* Continues requests that need not wait any longer. Called at the end of every call into the pool.
 */
static void run_held(struct pool *pool)
{
    struct list_link *link;
    while ((link = list_take(&pool->runnable)) != NULL) {
        struct held *held = CONTAINER_OF(link, struct held, of_pool);
        if (held->request == NULL) {
            pool_respond(pool, held->app_id, held->request_id, MSTRO_OK, NULL, &held->answer);
            held_free(pool, held);
            continue;
        }
        struct component *component = find_component(pool, held->app_id);
        assert(component != NULL); /* the requests of a component that left were freed with it */
        struct vamp_err err = VAMP_ERR_NONE;
        struct subject subject;
        mstro_status status = check_request(pool, component, held->request, &subject, &err);
        handle_request(pool, component, held->request, status, &err);
        held_free(pool, held);
    }
}

void pool_request(struct pool *pool, uint64_t app_id, const Mstro__Wire__Request *request)
{
    struct component *component = find_component(pool, app_id);
    if (component == NULL) {
        return;
    }
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT_EVENT_ACK) {
        acknowledge(pool, component, request);
        run_held(pool);
        return;
    }
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT_FINISH) {
        subscription_finish(pool, component, request);
        return;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    struct subject subject;
    mstro_status status = check_request(pool, component, request, &subject, &err);
    if (status == MSTRO_OK && pool->helds.count >= POOL_HELD_MAX) {
        (void)vamp_err_set(&err, -ENOSPC,
                           "%d requests wait for subscribers' acknowledgements already",
                           POOL_HELD_MAX);
        status = MSTRO_NOMEM;
    }
    const bool has_listener = status == MSTRO_OK && (pool->kinds[VAMP_PHASE_BEFORE] &
                                                     VAMP_EVENT_BIT(subject.event.kind)) != 0;
    if (!has_listener || !hold_before(pool, component, request, &subject)) {
        handle_request(pool, component, request, status, &err);
    }
    run_held(pool);
}

void pool_leave(struct pool *pool, uint64_t app_id, enum vamp_leave_reason reason)
{
    struct component *component = find_component(pool, app_id);
    if (component == NULL) {
        held_forget_component(pool, app_id);
        return;
    }
    struct subject subject;
    leave_subject(component, reason, &subject);
    pool_emit(pool, &subject, true, NULL);
    release_component(pool, component);
    pool_emit(pool, &subject, false, NULL);
    run_held(pool);
}

/* ------------------------------------------------------------------ the pool */

const struct pool_bounds pool_bounds_default = {
    .components = 4096,
    .cdos = (size_t)1 << 21,
    .handles_per_component = (size_t)1 << 20,
    .subscriptions_per_component = 256,
    .attribute_bytes_per_cdo = 8192,
    .queue_bytes_per_subscription = (size_t)16 << 20,
    .memory_bytes = (size_t)2 << 30,
};

int pool_create(const struct pool_bounds *bounds, const struct vamp_clock *clock,
                const struct pool_outlet *outlet, struct pool **ret_pool, struct vamp_err *err)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        return vamp_err_set(err, -ENOMEM, "pool: out of memory");
    }
    pool->bounds = pool_bounds_default;
    if (bounds != NULL) {
        pool->bounds = *bounds;
    }
    pool_memory_init(&pool->memory, pool->bounds.memory_bytes);
    pool->clock = clock;
    pool->outlet = *outlet;
    pool->match_epoch = 1; /* new CDOs have epoch 0: no cached results */
    list_init(&pool->component_list);
    list_init(&pool->held_list);
    list_init(&pool->runnable);
    int status = 0;
    if (getrandom(&pool->random, sizeof pool->random, 0) != (ssize_t)sizeof pool->random) {
        status = vamp_err_set_errno(err, errno, "pool: random numbers");
    }
    struct map *const tables[] = {&pool->components, &pool->component_names, &pool->cdos,
                                  &pool->handles,    &pool->transports,      &pool->helds};
    for (size_t i = 0; status == 0 && i < sizeof tables / sizeof tables[0]; i++) {
        if (map_init(tables[i]) < 0) {
            status = vamp_err_set(err, -ENOMEM, "pool: out of memory");
        }
    }
    if (status < 0) {
        pool_free(pool);
        return status;
    }
    *ret_pool = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pool->outlet = (struct pool_outlet){.respond = NULL}; /* no output from here on */
    struct list_link *link;
    while ((link = list_first(&pool->component_list)) != NULL) {
        release_component(pool, CONTAINER_OF(link, struct component, of_pool));
    }
    /* The remaining requests belonged to components that left before they were answered. */
    struct list *const lists[] = {&pool->held_list, &pool->runnable};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        while ((link = list_take(lists[i])) != NULL) {
            held_free(pool, CONTAINER_OF(link, struct held, of_pool));
        }
    }
    assert(pool->memory.object_bytes == 0 && pool->memory.event_bytes == 0);
    assert(pool->cdos.count == 0 && pool->handles.count == 0 && pool->transports.count == 0);
    map_done(&pool->components);
    map_done(&pool->component_names);
    map_done(&pool->cdos);
    map_done(&pool->handles);
    map_done(&pool->transports);
    map_done(&pool->helds);
    free(pool->subscriptions);
    free(pool);
}

void pool_memory_state(const struct pool *pool, struct pool_memory_state *ret_state)
{
    *ret_state = (struct pool_memory_state){.limit = pool->memory.limit,
                                            .object_bytes = pool->memory.object_bytes,
                                            .event_bytes = pool->memory.event_bytes,
                                            .refused = pool->memory.refused};
}
