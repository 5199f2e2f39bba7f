/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the pool; no other module includes this. The caller's lock protects everything.
 *
 * Ownership: the pool owns components and CDOs; a component owns its handles and subscriptions; a
 * transport belongs to its sink's handle. A CDO is freed together with its last handle.
 */
#pragma once

#include <assert.h>

#include "filters/expression.h"
#include "maestro/pool/pool.h"
#include "vampire/core/list.h"
#include "vampire/core/map.h"

enum {
    POOL_CDO_ID_BYTES = 16,
    /* Maximum number of offers that one demand tries before it ends without data. */
    POOL_OFFERS_TRIED_MAX = 4,
    /* Maximum number of requests that wait for acknowledgements. */
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
    /* Counted with the objects, but never refused: there is at most one for each handle, and a
     * joined component must be able to receive its data. */
    POOL_MEMORY_TRANSPORTS,
};

struct pool_memory {
    size_t limit; /* limit for both halves together, in bytes; 0: no limit */
    size_t object_bytes, event_bytes;
    uint64_t refused; /* number of refused requests and joins; each queue counts its own refused
                       * events */
    ProtobufCAllocator messages; /* allocator for copies of messages, which count as objects */
};

void pool_memory_init(struct pool_memory *memory, size_t limit);
/* Returns whether `bytes` more bytes for this use are within the limit. */
bool pool_memory_has_room(const struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
/* Allocates a block, zeroed unless it is for events. Returns NULL if over the limit or out of
 * memory. */
void *pool_memory_take(struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
/* Counts memory allocated elsewhere, by an estimate; discharge the same number when it is freed. */
void pool_memory_charge(struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
void pool_memory_discharge(struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
/* Frees a block (NULL is fine) that was allocated for the same use. */
void pool_memory_give(struct pool_memory *memory, enum pool_memory_use use, void *block);
/* Counts a refusal of `what` and sets a text with the reason and a remedy. Returns MSTRO_NOMEM. */
mstro_status pool_memory_refuse(struct pool_memory *memory, const char *what, struct vamp_err *err);

/* ------------------------------------------------------------------ attributes */

/* Attributes of a sealed handle: one block, shared by reference counting. */
struct pool_attributes {
    size_t references, count;
    Mstro__Wire__Attribute **items;
};

/* Copies the items. Returns NULL if out of memory. */
struct pool_attributes *pool_attributes_copy(struct pool_memory *memory,
                                             Mstro__Wire__Attribute *const *items, size_t count);
/* Returns the size of a copy in bytes. */
size_t pool_attributes_copy_bytes(Mstro__Wire__Attribute *const *items, size_t count);
/* Removes a reference to the attributes, which may be NULL, and frees them with the last one. */
void pool_attributes_release(struct pool_memory *memory, struct pool_attributes *attributes);
/* Returns the size on the wire in bytes. */
size_t pool_attributes_bytes(Mstro__Wire__Attribute *const *items, size_t count);
void pool_attributes_lookup(const struct pool_attributes *attributes, const char *key,
                            struct vamp_value *ret);

/* ------------------------------------------------------------------ queue of packed events */

/* Ring of the fields of an EventBatch as they are sent: each event (tag, length, message) is
 * preceded by the count of events that were refused just before it. Grows up to its limit or the
 * pool's; then events are refused and counted.
 *
 * Reserved space: subscribers must receive every LEAVE. For each present component one LEAVE
 * always fits: its space is reserved when the component joins. A JOIN and a LEAVE may exceed the
 * limit of the queue, by POOL_QUEUE_COMPONENT_BYTES for each component that the pool may have. Only
 * components that joined when even that was used up have no reserved space: those from
 * `unreserved_from` on, until there is space again. */
struct pool_queue {
    struct pool_memory *memory;
    uint8_t *bytes;
    size_t capacity;
    size_t limit;            /* limit for the bytes of events other than JOIN and LEAVE */
    size_t many;             /* threshold in bytes at which events should be sent at once */
    size_t limit_of_ends;    /* limit for all bytes, including JOIN and LEAVE */
    size_t head, tail, wrap; /* wrap: end of the data before the wrap-around; 0: none */
    size_t used;             /* total size of the waiting events */
    size_t count;
    uint64_t total;           /* number of events so far, including sent and refused ones */
    uint64_t lost;            /* number of events refused since the newest event in the ring */
    uint64_t lost_serial;     /* serial of the first of the refused events */
    size_t expected;          /* present components, each of which will cause a LEAVE */
    uint64_t unreserved_from; /* first application id without reserved space; 0: none */
};

/* Sizes of the longest LEAVE including a count before it, and of a JOIN with a name of typical
 * length. */
#define POOL_QUEUE_LEAVE_BYTES ((size_t)72)
#define POOL_QUEUE_JOIN_BYTES ((size_t)120)
#define POOL_QUEUE_COMPONENT_BYTES (POOL_QUEUE_LEAVE_BYTES + POOL_QUEUE_JOIN_BYTES)

enum pool_queue_class { POOL_QUEUE_OTHER, POOL_QUEUE_JOIN, POOL_QUEUE_LEAVE };

/* `components`: the pool's limit of components. */
void pool_queue_init(struct pool_queue *queue, size_t limit, size_t components,
                     struct pool_memory *memory);
void pool_queue_done(struct pool_queue *queue);
/* Reserves space for the LEAVEs of `count` present components with application ids from `app_id`
 * on, as far as space is available. */
void pool_queue_expect_leaves(struct pool_queue *queue, size_t count, uint64_t app_id);
/* Returns where to pack the event as a field of the batch, in at most `bytes` bytes; a LEAVE may
 * use POOL_QUEUE_LEAVE_BYTES minus the size of a count. pool_queue_end must follow immediately.
 * Returns NULL if there is no space, which is counted. Uses only serial and app_id of the event. */
uint8_t *pool_queue_begin(struct pool_queue *queue, const struct vamp_event *event,
                          enum pool_queue_class class, size_t bytes);
/* Completes an event whose packed size is `length` bytes. */
static inline void pool_queue_end(struct pool_queue *queue, size_t length)
{
    queue->tail += length;
    queue->used += length;
    queue->count++;
    queue->total++;
    assert(queue->tail <= (queue->wrap != 0 ? queue->head : queue->capacity));
}
/* Returns whether the queue's events should be sent at once. */
static inline bool pool_queue_has_many(const struct pool_queue *queue)
{
    return queue->used >= queue->many;
}
/* Returns whether an event or a count of lost events is to be sent; `*ret_serial` orders queues by
 * age. */
bool pool_queue_waits(const struct pool_queue *queue, uint64_t *ret_serial);
/* Moves events into a packed EventBatch for `subscription`, as in pool_events_take. */
struct pool_batch pool_queue_take(struct pool_queue *queue, uint64_t subscription, uint8_t *buffer,
                                  size_t size, size_t max_events);

/* ------------------------------------------------------------------ components, CDOs, handles */

struct component {
    struct map_link by_id, by_name;
    struct list_link of_pool;
    uint64_t id;
    struct list handles, subscriptions;
    size_t handle_count, subscription_count;
    /* events_ready was called, without or with `at_once`, since the queues were last found empty */
    bool signalled, signalled_at_once;
    bool leaving; /* SIGNAL_BEFORE subscribers have already received its LEAVE */
    char name[];
};

struct cdo {
    struct map_link by_name;
    unsigned char id[POOL_CDO_ID_BYTES];
    struct pool_attributes
        *attributes; /* attributes of the first handle that was sealed with any; NULL: none yet */
    bool has_size;
    uint64_t size_bytes;
    size_t handle_count;
    size_t needs;        /* number of handles that require or demand the CDO */
    struct list offers;  /* offered handles, including those being withdrawn */
    struct list demands; /* demanding handles without an offer */
    /* Cached selector results, one bit for each subscription; valid only if match_epoch equals the
     * pool's. */
    uint64_t match_epoch, match_known, match_holds;
    size_t name_length, packed_length;
    const char *name; /* points into `packed` */
    uint8_t packed[]; /* data common to all events of the CDO: vamp_event_pack_cdo, and the end of
                       * the name */
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
    HANDLE_RETRACTING, /* waits until the transport to it has ended */
    HANDLE_RETRACTED,
};

struct transport;

struct handle {
    struct map_link by_id;
    struct list_link of_component;
    struct list_link of_role; /* link in the CDO's list of offers or demands */
    uint64_t id;
    struct component *component;
    struct cdo *cdo;
    enum handle_state state;
    struct pool_attributes *attributes;
    bool has_size, has_memory;
    bool delivered; /* the data arrived before the demand */
    uint64_t size_bytes;
    uint64_t memory_address, memory_key, memory_bytes;
    struct list sending;         /* transports from this handle */
    struct transport *receiving; /* the transport to this handle */
    uint64_t waiting_request;    /* id of the unanswered withdraw or retract request */
    uint64_t tried[POOL_OFFERS_TRIED_MAX];
    size_t tried_count;
};

struct transport {
    struct map_link by_id;
    struct list_link of_source;
    uint64_t id;
    struct handle *sink;
    struct handle *source; /* NULL: the handle was freed */
    uint64_t source_app_id, source_handle;
    uint64_t size_bytes;
    bool for_demand;    /* false: started because its sink required the CDO */
    int64_t started_ns; /* time of the start, monotonic */
};

struct subscription {
    struct list_link of_component;
    uint64_t id;
    struct component *component;
    uint64_t kinds[2]; /* event kinds by enum vamp_event_phase; one of the two is 0 */
    bool awaited;      /* the subscriber must acknowledge each event */
    bool no_local;     /* excludes events caused by its own component */
    struct vamp_expression *selector; /* NULL: everything */
    int match_bit;         /* bit in the CDOs' cached results; -1: results are not cached */
    size_t selector_bytes; /* memory charged for the selector, in bytes */
    bool held;             /* the component accepts no events at present */
    uint64_t flow_number;  /* `number` of the message that last set `held` */
    struct pool_queue queue;
};

/* ------------------------------------------------------------------ events and answers */

/* The subject of an event. pool_emit sets serial, time and phase. Pointers are borrowed. */
struct subject {
    struct vamp_event event;
    struct cdo *cdo;      /* CDO with packed id and name; NULL: none, or not yet created */
    bool announced_again; /* a LEAVE that SIGNAL_BEFORE subscribers have already received */
};

/* The fields of a successful response. */
struct answer {
    uint64_t handle, subscription, events; /* 0: none */
    unsigned char cdo_id[POOL_CDO_ID_BYTES];
};

/* A request that waits until subscribers have acknowledged one event. */
struct held {
    struct list_link of_pool; /* link in the pool's list of held, then of runnable requests */
    struct map_link by_serial;
    uint64_t serial, app_id, request_id;
    int64_t since_ns; /* when the wait began, monotonic */
    Mstro__Wire__Request
        *request; /* the request, not handled yet; NULL: it was handled, and `answer` is delayed */
    struct answer answer;
    size_t waiting_count, waiting_capacity;
    uint64_t waiting[]; /* ids of the subscriptions that have not acknowledged the event */
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
    struct subscription **subscriptions; /* ordered by age */
    unsigned subscription_count, subscription_capacity;
    uint64_t kinds[2]; /* event kinds of all subscriptions together, by enum vamp_event_phase */
    uint64_t kinds_awaited; /* event kinds for which some subscription delays the answer until it
                             * has acknowledged the event */
    /* Selector results are cached in each CDO for up to 64 subscriptions; further ones are
     * evaluated each time. */
    uint64_t match_epoch, match_bits_used;
};

/* ------------------------------------------------------------------ the files, lowest layer first
 */

/* Each file may call only those listed before it. */

/* emit.c. Initialises the subject of an operation without a name or CDO. */
void subject_init(enum vamp_event_kind kind, uint64_t app_id, struct subject *ret_subject);
/* Sets the name, which is borrowed: the component's or the CDO's, depending on the kind of the
 * event. */
void subject_name(struct subject *subject, const char *name, size_t length);
/* Calls events_ready, because events for the component are available. */
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
/* Queues an event for all subscriptions to which it applies. `ret_held` NULL: the operation cannot
 * be delayed; otherwise `*ret_held` receives NULL or the request that has to wait for
 * acknowledgements, which is not in any list yet. */
void pool_emit(struct pool *pool, struct subject *subject, bool before, struct held **ret_held);

void pool_respond(struct pool *pool, uint64_t app_id, uint64_t request_id, mstro_status status,
                  const char *text, const struct answer *answer);
/* Answers a handled operation and emits its event. If a REQUIRE_ACK subscription includes the kind,
 * the event is emitted first and the answer is delayed. */
void pool_finish(struct pool *pool, struct subject *subject, uint64_t request_id,
                 const struct answer *answer);
/* Makes `held` wait for its subscriptions, of which there is at least one. */
void held_keep(struct pool *pool, struct held *held, uint64_t app_id, uint64_t request_id);
void held_free(struct pool *pool, struct held *held);
/* Ends the wait of `held` for a subscription that has ended or has acknowledged the event. */
void held_release(struct pool *pool, struct held *held, uint64_t subscription);
void held_forget_subscription(struct pool *pool, uint64_t subscription);
void held_forget_component(struct pool *pool, uint64_t app_id);

/* The steps for one kind of request. `check` fills the subject. `apply` is called only after a
 * successful check; it answers the request and emits the event. */
struct request_rule {
    mstro_status (*check)(struct pool *pool, struct component *component,
                          const Mstro__Wire__Request *request, struct subject *ret_subject,
                          struct vamp_err *err);
    mstro_status (*apply)(struct pool *pool, struct component *component,
                          const Mstro__Wire__Request *request, struct vamp_err *err);
};

/* cdo.c */
extern const struct request_rule rule_declare, rule_operation, rule_transport_end;
/* Returns the error in `name`; NULL: the name is valid. */
const char *pool_name_fault(const char *name);
/* Ends the transport to a handle whose component has left, and frees the handle. */
void handle_release(struct pool *pool, struct handle *handle);

/* subscription.c */
extern const struct request_rule rule_subscribe, rule_unsubscribe;
/* Returns whether the subscription's queue reserves space for the LEAVEs of components. */
bool subscription_reports_leaves(const struct subscription *subscription);
struct subscription *subscription_find(const struct component *component, uint64_t id);
void subscription_release(struct pool *pool, struct subscription *subscription);
/* Handles a Finish request: stops adding events, and answers with the number of events so far. */
void subscription_finish(struct pool *pool, struct component *component,
                         const Mstro__Wire__Request *request);
