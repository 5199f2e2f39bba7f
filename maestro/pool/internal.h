/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the pool; no other module includes this. One lock of the caller protects everything.
 *
 * Ownership: the pool owns components and CDOs; a component owns its handles and subscriptions;
 * a transport belongs to its sink's handle. A CDO exists as long as its last handle.
 */
#pragma once

#include <assert.h>

#include "filters/expression.h"
#include "maestro/pool/pool.h"
#include "vampire/core/list.h"
#include "vampire/core/map.h"

enum {
    POOL_CDO_ID_BYTES = 16,
    /* Offers that one demand tries before it ends without data. */
    POOL_OFFERS_TRIED_MAX = 4,
    /* Requests that wait for acknowledgements of subscribers. */
    POOL_HELD_MAX = 65536,
};

/* ------------------------------------------------------------------ memory
 *
 * All memory that a pool keeps for components is allocated and freed here, so that one number
 * limits it. Half is for components, CDOs, handles, attributes, subscriptions and waiting requests,
 * half for queued events: a subscriber that does not read must not keep others from declaring CDOs,
 * nor the reverse. */

enum pool_memory_use {
    POOL_MEMORY_OBJECTS,
    POOL_MEMORY_EVENTS,
    /* Counted with the objects, never refused: there is at most one for each handle, and a joined
     * component must get its data. */
    POOL_MEMORY_TRANSPORTS,
};

struct pool_memory {
    size_t limit; /* bytes of both halves; 0: no limit */
    size_t object_bytes, event_bytes;
    uint64_t refused;            /* requests and joins; queues count refused events themselves */
    ProtobufCAllocator messages; /* copies of messages, as objects */
};

void pool_memory_init(struct pool_memory *memory, size_t limit);
/* Whether `bytes` more for this use are within the limit. */
bool pool_memory_has_room(const struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
/* Allocates a block, zeroed unless it is for events. NULL: over the limit, or out of memory. */
void *pool_memory_take(struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
/* Accounts for memory allocated elsewhere by an estimate, discharged with the same number. */
void pool_memory_charge(struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
void pool_memory_discharge(struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
/* Frees a block (NULL is fine) that was allocated for the same use. */
void pool_memory_give(struct pool_memory *memory, enum pool_memory_use use, void *block);
/* Counts a refusal of `what`; the text names the reason and a remedy. MSTRO_NOMEM. */
mstro_status pool_memory_refuse(struct pool_memory *memory, const char *what, struct vamp_err *err);

/* ------------------------------------------------------------------ attributes */

/* Sealed attributes of a handle: one block, shared by reference. */
struct pool_attributes {
    size_t references, count;
    Mstro__Wire__Attribute **items;
};

/* Copies the items. NULL: out of memory. */
struct pool_attributes *pool_attributes_copy(struct pool_memory *memory,
                                             Mstro__Wire__Attribute *const *items, size_t count);
/* Size of a copy. */
size_t pool_attributes_copy_bytes(Mstro__Wire__Attribute *const *items, size_t count);
/* NULL is fine. */
void pool_attributes_release(struct pool_memory *memory, struct pool_attributes *attributes);
/* Bytes on the wire. */
size_t pool_attributes_bytes(Mstro__Wire__Attribute *const *items, size_t count);
void pool_attributes_lookup(const struct pool_attributes *attributes, const char *key,
                            struct vamp_value *ret);

/* ------------------------------------------------------------------ queue of packed events */

/* Ring of the fields of an EventBatch as they are sent: each event (tag, length, message) is
 * preceded by the count of events that were refused just before it. Grows up to its limit or the
 * pool's; then events are refused and counted.
 *
 * Reserved space: subscribers must learn of every LEAVE. For each present component one LEAVE
 * always fits: its space is reserved when the component joins. A JOIN and a LEAVE may exceed the
 * limit of the queue, by POOL_QUEUE_COMPONENT_BYTES for each component that the pool may have. Only
 * components that joined when even that was used up have no reserved space: those from
 * `unreserved_from` on, until there is space again. */
struct pool_queue {
    struct pool_memory *memory;
    uint8_t *bytes;
    size_t capacity;
    size_t limit;            /* of the bytes of events other than JOIN and LEAVE */
    size_t many;             /* bytes from which on its events should be sent at once */
    size_t limit_of_ends;    /* of all bytes */
    size_t head, tail, wrap; /* wrap: end of the data before the wrap-around; 0: none */
    size_t used;             /* bytes of waiting events */
    size_t count;
    uint64_t lost;            /* refused since the newest event in the ring */
    uint64_t lost_serial;     /* the first of them */
    size_t expected;          /* present components, whose LEAVE is to come */
    uint64_t unreserved_from; /* application ids from this one on; 0: none */
};

/* The longest LEAVE, with a count before it; and a JOIN with a name of typical length. */
#define POOL_QUEUE_LEAVE_BYTES ((size_t)72)
#define POOL_QUEUE_JOIN_BYTES ((size_t)120)
#define POOL_QUEUE_COMPONENT_BYTES (POOL_QUEUE_LEAVE_BYTES + POOL_QUEUE_JOIN_BYTES)

enum pool_queue_class { POOL_QUEUE_OTHER, POOL_QUEUE_JOIN, POOL_QUEUE_LEAVE };

/* `components`: the limit of the pool. */
void pool_queue_init(struct pool_queue *queue, size_t limit, size_t components,
                     struct pool_memory *memory);
void pool_queue_done(struct pool_queue *queue);
/* Reserves space for the LEAVEs of `count` present components, with application ids from `app_id`
 * on, as far as there is space. */
void pool_queue_expect_leaves(struct pool_queue *queue, size_t count, uint64_t app_id);
/* Returns where to pack the event as a field of the batch, in at most `bytes` bytes; a LEAVE may
 * take POOL_QUEUE_LEAVE_BYTES without a count. pool_queue_end must follow at once. NULL: no space,
 * which is counted. Only serial and app_id of the event are used. */
uint8_t *pool_queue_begin(struct pool_queue *queue, const struct vamp_event *event,
                          enum pool_queue_class class, size_t bytes);
/* Completes an event packed in `length` bytes. */
static inline void pool_queue_end(struct pool_queue *queue, size_t length)
{
    queue->tail += length;
    queue->used += length;
    queue->count++;
    assert(queue->tail <= (queue->wrap != 0 ? queue->head : queue->capacity));
}
/* Whether its events should be sent at once. */
static inline bool pool_queue_has_many(const struct pool_queue *queue)
{
    return queue->used >= queue->many;
}
/* Whether there is an event or a count to send; `*ret_serial` orders queues by age. */
bool pool_queue_waits(const struct pool_queue *queue, uint64_t *ret_serial);
/* Takes a packed EventBatch for `subscription`, as in pool_events_take. */
struct pool_batch pool_queue_take(struct pool_queue *queue, uint64_t subscription, uint8_t *buffer,
                                  size_t size, size_t max_events);

/* ------------------------------------------------------------------ components, CDOs, handles */

struct component {
    struct map_link by_id, by_name;
    struct list_link of_pool;
    uint64_t id;
    struct list handles, subscriptions;
    size_t handle_count, subscription_count;
    /* events_ready was called, with or without `at_once`, and its queues have not been found empty
     * since. */
    bool signalled, signalled_at_once;
    bool leaving; /* its LEAVE was sent to subscribers with SIGNAL_BEFORE */
    char name[];
};

struct cdo {
    struct map_link by_name;
    unsigned char id[POOL_CDO_ID_BYTES];
    struct pool_attributes *attributes; /* of the first handle sealed with any; NULL: none yet */
    bool has_size;
    uint64_t size_bytes;
    size_t handle_count;
    size_t needs;        /* handles that require or demand it */
    struct list offers;  /* handles, including those being withdrawn */
    struct list demands; /* handles that wait for an offer */
    /* Results of selectors, a bit for each subscription; invalid if the epoch is not the pool's. */
    uint64_t match_epoch, match_known, match_holds;
    size_t name_length, packed_length;
    const char *name; /* in `packed` */
    uint8_t packed[]; /* common to its events: vamp_event_pack_cdo; and the end of the name */
};

enum handle_state {
    HANDLE_DECLARED,
    HANDLE_SEALED,
    HANDLE_OFFERED,
    HANDLE_WITHDRAWING,
    HANDLE_WITHDRAWN,
    HANDLE_REQUIRED,
    HANDLE_DEMANDED,
    HANDLE_SATISFIED,
    HANDLE_RETRACTING, /* a transport to it has not ended */
    HANDLE_RETRACTED,
};

struct transport;

struct handle {
    struct map_link by_id;
    struct list_link of_component;
    struct list_link of_role; /* in the CDO's offers or demands */
    uint64_t id;
    struct component *component;
    struct cdo *cdo;
    enum handle_state state;
    struct pool_attributes *attributes;
    bool has_size, has_memory;
    bool delivered; /* its data came before the demand */
    uint64_t size_bytes;
    uint64_t memory_address, memory_key, memory_bytes;
    struct list sending;         /* transports from it */
    struct transport *receiving; /* the transport to it */
    uint64_t waiting_request;    /* withdraw or retract that is not answered yet */
    uint64_t tried[POOL_OFFERS_TRIED_MAX];
    size_t tried_count;
};

struct transport {
    struct map_link by_id;
    struct list_link of_source;
    uint64_t id;
    struct handle *sink;
    struct handle *source; /* NULL: freed */
    uint64_t source_app_id, source_handle;
    uint64_t size_bytes;
    bool for_demand;    /* false: because its sink required the CDO */
    int64_t started_ns; /* monotonic */
};

struct subscription {
    struct list_link of_component;
    uint64_t id;
    struct component *component;
    uint64_t kinds[2];                /* by enum vamp_event_phase: one of them is 0 */
    bool awaited;                     /* its component acknowledges each event */
    bool no_local;                    /* without events of its own component */
    struct vamp_expression *selector; /* NULL: everything */
    int match_bit;                    /* -1: results are not kept with CDOs */
    size_t selector_bytes;            /* charged for the selector */
    bool held;                        /* its component accepts no events now */
    uint64_t flow_number;             /* of the message that set `held` */
    struct pool_queue queue;
};

/* ------------------------------------------------------------------ events and answers */

/* The subject of an event. pool_emit sets serial, time and phase. Borrowed pointers. */
struct subject {
    struct vamp_event event;
    struct cdo *cdo;      /* with id and name, packed; NULL: none, or not yet */
    bool announced_again; /* a LEAVE that was already sent to subscribers with SIGNAL_BEFORE */
};

/* The fields of a successful response. */
struct answer {
    uint64_t handle, subscription; /* 0: none */
    unsigned char cdo_id[POOL_CDO_ID_BYTES];
};

/* A request that waits for subscribers' acknowledgements of one event. */
struct held {
    struct list_link of_pool; /* held, then runnable */
    struct map_link by_serial;
    uint64_t serial, app_id, request_id;
    int64_t since_ns;              /* monotonic */
    Mstro__Wire__Request *request; /* still to be handled; NULL: handled, `answer` waits */
    struct answer answer;
    size_t waiting_count, waiting_capacity;
    uint64_t waiting[]; /* subscriptions */
};

struct pool {
    struct pool_bounds bounds;
    struct pool_memory memory;
    const struct vamp_clock *clock;
    struct pool_outlet outlet;
    struct map components, component_names, cdos, handles, transports, helds;
    struct list component_list, held_list, runnable;
    uint64_t last_app, last_handle, last_transport, last_subscription, last_serial;
    uint64_t random;
    struct subscription **subscriptions; /* in order of age */
    unsigned subscription_count, subscription_capacity;
    uint64_t kinds[2];      /* of all subscriptions, by enum vamp_event_phase */
    uint64_t kinds_awaited; /* of those that delay the answer until they acknowledge the event */
    /* For 64 subscriptions selector results are kept with each CDO; others evaluate every time. */
    uint64_t match_epoch, match_bits_used;
};

/* ------------------------------------------------------------------ the files, lowest first */

/* Each file calls those above it in this list; none calls one below. */

/* emit.c. The subject of an operation without a name or CDO. */
void subject_init(enum vamp_event_kind kind, uint64_t app_id, struct subject *ret_subject);
/* Borrows the name, the component's or the CDO's depending on the kind of the event. */
void subject_name(struct subject *subject, const char *name, size_t length);
/* Calls events_ready: events for the component are available. */
static inline void component_signal(struct pool *pool, struct component *component, bool at_once)
{
    if (!component->signalled || (at_once && !component->signalled_at_once)) {
        component->signalled = true;
        component->signalled_at_once = at_once;
        if (pool->outlet.events_ready != NULL) {
            pool->outlet.events_ready(pool->outlet.context, component->id, at_once);
        }
    }
}
/* Queues an event for the subscriptions that it concerns. `ret_held` NULL: the operation cannot be
 * held; else NULL or the request that has to wait for acknowledgements (not in any list yet). */
void pool_emit(struct pool *pool, struct subject *subject, bool before, struct held **ret_held);

void pool_respond(struct pool *pool, uint64_t app_id, uint64_t request_id, mstro_status status,
                  const char *text, const struct answer *answer);
/* Answers a handled operation and emits its event; for kinds with a REQUIRE_ACK subscription, emits
 * first and delays the answer. */
void pool_finish(struct pool *pool, struct subject *subject, uint64_t request_id,
                 const struct answer *answer);
/* Lets `held` wait for its subscriptions, at least one. */
void held_keep(struct pool *pool, struct held *held, uint64_t app_id, uint64_t request_id);
void held_free(struct pool *pool, struct held *held);
/* The subscription has ended, or has acknowledged `held`. */
void held_release(struct pool *pool, struct held *held, uint64_t subscription);
void held_forget_subscription(struct pool *pool, uint64_t subscription);
void held_forget_component(struct pool *pool, uint64_t app_id);

/* The steps for one kind of request. `check` fills the subject; `apply` is only called after a
 * successful check, answers, and emits. */
struct request_rule {
    mstro_status (*check)(struct pool *pool, struct component *component,
                          const Mstro__Wire__Request *request, struct subject *ret_subject,
                          struct vamp_err *err);
    mstro_status (*apply)(struct pool *pool, struct component *component,
                          const Mstro__Wire__Request *request, struct vamp_err *err);
};

/* cdo.c */
extern const struct request_rule rule_declare, rule_operation, rule_transport_end;
/* The error in `name`; NULL: it is valid. */
const char *pool_name_fault(const char *name);
/* Ends the transport to a handle whose component has ended, and frees the handle. */
void handle_release(struct pool *pool, struct handle *handle);

/* subscription.c */
extern const struct request_rule rule_subscribe, rule_unsubscribe;
/* Whether its queue reserves space for the LEAVEs of components. */
bool subscription_reports_leaves(const struct subscription *subscription);
struct subscription *subscription_find(const struct component *component, uint64_t id);
void subscription_release(struct pool *pool, struct subscription *subscription);
