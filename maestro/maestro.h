/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public interface of the embedded Maestro: the subset of Maestro Core's API that workflow
 * components use, with the publicly known names and meanings. It replaces the upstream library so
 * that everything here runs on a newly installed machine; the numeric values and the wire protocol
 * are this project's own. Declarations that upstream is not known to have are extensions; they are
 * hidden if MSTRO_PUBLIC_ONLY is defined before this header is included, without changing layouts.
 *
 * After mstro_init has returned, any thread may call any function; a handle may be used by only one
 * thread at a time. Functions return MSTRO_OK or another status and leave their outputs unchanged
 * on failure unless stated otherwise. Texts are UTF-8 and NUL-terminated; functions copy the texts
 * passed to them unless stated otherwise.
 *
 * Statuses that the functions below do not list again: MSTRO_INVARG: an argument is NULL or
 * otherwise invalid; MSTRO_UNINIT: before mstro_init or after mstro_finalize; MSTRO_NOMEM: out of
 * memory; and, from every function that calls the pool manager, MSTRO_NO_PM: the pool manager is
 * gone, and MSTRO_OFI_FAIL. mstro_last_error returns the text for each failure; the text is also
 * logged, to stderr by default.
 *
 * Valid C99 to C23 and C++98 to C++20, without warnings at strict warning levels.
 */
#ifndef MAESTRO_H
#define MAESTRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct timespec; /* not defined by <time.h> in strict C99; POSIX or the caller defines it */

/* Bit enumerations are 32 bits wide in every language: by an explicit type where the language has
 * one, else because no value exceeds 1 << 30. */
#if defined(__cplusplus)
#if __cplusplus >= 201103L
#define MSTRO_ENUM_OF_32_BITS : uint32_t
#endif
#elif defined(__STDC_VERSION__)
#if __STDC_VERSION__ >= 202311L
#define MSTRO_ENUM_OF_32_BITS : uint32_t
#endif
#endif
#ifndef MSTRO_ENUM_OF_32_BITS
#define MSTRO_ENUM_OF_32_BITS
#endif

#define MSTRO_ENV_WORKFLOW_NAME "MSTRO_WORKFLOW_NAME"
#define MSTRO_ENV_COMPONENT_NAME "MSTRO_COMPONENT_NAME"
#define MSTRO_ENV_POOL_INFO "MSTRO_POOL_MANAGER_INFO"
#define MSTRO_ENV_SCHEMA_LIST "MSTRO_SCHEMA_LIST"
#define MSTRO_ENV_SCHEMA_PATH "MSTRO_SCHEMA_PATH"
#define MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES "MSTRO_DROP_UNKNOWN_ATTRIBUTES"
#define MSTRO_ENV_OFI_PROVIDER "MSTRO_OFI_PROVIDER"
/* Log level, modules and destination; read by mstro_init (docs/operations.md). */
#define MSTRO_ENV_LOG_LEVEL "MSTRO_LOG_LEVEL"
#define MSTRO_ENV_LOG_MODULES "MSTRO_LOG_MODULES"
#define MSTRO_ENV_LOG_DST "MSTRO_LOG_DST"
#ifndef MSTRO_PUBLIC_ONLY
/* How long mstro_init waits for the pool manager's answer, in ms, 1 to 3,600,000; the default,
 * 30,000, applies if unset or invalid. */
#define MSTRO_ENV_JOIN_TIMEOUT_MS "MSTRO_JOIN_TIMEOUT_MS"
#endif

typedef enum mstro_status {
    MSTRO_OK = 0,
    MSTRO_FAIL,       /* any other failure; details are in the log on stderr */
    MSTRO_INVARG,     /* an argument is invalid */
    MSTRO_INVMSG,     /* a message is malformed */
    MSTRO_NOMEM,      /* out of memory, or a documented limit was reached */
    MSTRO_UNINIT,     /* mstro_init has not been called */
    MSTRO_NOT_TWICE,  /* already done, and permitted only once */
    MSTRO_NOENT,      /* no such key, name or handle */
    MSTRO_NOMATCH,    /* type or value does not fit the schema */
    MSTRO_TIMEOUT,    /* did not complete in time */
    MSTRO_WOULDBLOCK, /* the operation would block */
    MSTRO_INVSTATE,   /* not allowed in the CDO's current state */
    MSTRO_NO_PM,      /* there is no pool manager, or it is gone */
    MSTRO_REFUSED,    /* the pool manager refused (name taken, other workflow, other version) */
    MSTRO_OFI_FAIL,   /* libfabric reported an error */
    MSTRO_UNIMPL,     /* available upstream, but not in the embedded Maestro */
    mstro_status_MAX
} mstro_status;

typedef struct mstro_cdo_ *mstro_cdo;
typedef struct mstro_cdo_attributes_ *mstro_cdo_attributes;
typedef struct mstro_cdo_selector_ *mstro_cdo_selector;
typedef struct mstro_subscription_ *mstro_subscription;
typedef struct mstro_schema_ *mstro_schema;
typedef struct mstro_pool_event_ *mstro_pool_event;

typedef struct mstro_timestamp {
    int64_t sec;    /* seconds since 1970-01-01T00:00:00Z */
    int64_t nsec;   /* 0 to 999,999,999 */
    int64_t offset; /* minutes east of UTC */
} mstro_timestamp;

/* ------------------------------------------------------------------ start and end */

/* Joins the workflow. NULL names are taken from the environment. If MSTRO_POOL_MANAGER_INFO is set,
 * the component joins that pool manager; otherwise it works alone, with a pool of its own. `index`
 * distinguishes the ranks of one component; it is only reported to the pool manager. Blocks until
 * the pool manager has answered. MSTRO_NOT_TWICE: already initialised; the caller shares the
 * initialised library and must call mstro_finalize as well. MSTRO_REFUSED: the pool manager refused
 * the component. MSTRO_NO_PM: no pool manager answered in time. MSTRO_INVARG: also if a name is
 * missing. */
mstro_status mstro_init(const char *workflow_name, const char *component_name,
                        uint64_t component_index);
/* Call once for each mstro_init that returned MSTRO_OK or MSTRO_NOT_TWICE; all calls but the last
 * only decrement a counter. The last call waits until calls in other threads have returned, and
 * leaves the workflow. It releases CDOs that are still in use, with a warning; a pool manager that
 * is gone is not a failure. mstro_init may be called again afterwards. */
mstro_status mstro_finalize(void);

/* Returns a constant text, never NULL. */
const char *mstro_status_description(mstro_status status);
const char *mstro_version(void);
/* Returns nanoseconds since 1970 UTC. */
uint64_t mstro_clock(void);
#ifndef MSTRO_PUBLIC_ONLY
/* Returns the text for the most recent failure in this thread, "" if there was none; valid until
 * the next failure in this thread. */
const char *mstro_last_error(void);
/* Disables the log unless MSTRO_LOG_LEVEL is set; for programs that print mstro_last_error
 * themselves. Call before mstro_init. */
void mstro_log_quiet(void);
/* Selects packed delivery: a list of events contains, instead of one node per event, one node of
 * kind PACKED for all events that arrived in one message, with the serial of the first. Such a node
 * cannot be acknowledged. For programs that decode the events themselves, to process more of them.
 * Call before mstro_init. */
void mstro_receive_packed(void);
#endif

/* ------------------------------------------------------------------ pool manager */

/* Makes this process a pool manager; call after mstro_init. The provider is MSTRO_OFI_PROVIDER,
 * else FI_PROVIDER, else "tcp;ofi_rxm". MSTRO_NOT_TWICE: already a pool manager; MSTRO_INVSTATE:
 * this process has joined another pool manager; MSTRO_OFI_FAIL: the provider or the address cannot
 * be used. */
mstro_status mstro_pm_start(void);
/* Returns the text for MSTRO_POOL_MANAGER_INFO: printable, one line, no ';'. The caller frees it
 * with free(). MSTRO_NO_PM: this process is not a pool manager. */
mstro_status mstro_pm_getinfo(char **result);
/* Sends all queued messages, notifies the components, and waits at most one second for them to
 * leave. MSTRO_NO_PM: this process is not a pool manager. */
mstro_status mstro_pm_terminate(void);

/* ------------------------------------------------------------------ attributes and schemas */

#define MSTRO_ATTR_CORE_CDO_NAME ".maestro.core.cdo.name"
#define MSTRO_ATTR_CORE_CDO_RAW_PTR ".maestro.core.cdo.raw-ptr"
#define MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE ".maestro.core.cdo.scope.local-size"

enum mstro_cdo_attr_value_type {
    MSTRO_CDO_ATTR_VALUE_INVALID = 0,
    MSTRO_CDO_ATTR_VALUE_bool,
    MSTRO_CDO_ATTR_VALUE_int32,
    MSTRO_CDO_ATTR_VALUE_int64,
    MSTRO_CDO_ATTR_VALUE_uint32,
    MSTRO_CDO_ATTR_VALUE_uint64,
    MSTRO_CDO_ATTR_VALUE_float,
    MSTRO_CDO_ATTR_VALUE_double,
    MSTRO_CDO_ATTR_VALUE_cstring,
    MSTRO_CDO_ATTR_VALUE_timestamp,
    MSTRO_CDO_ATTR_VALUE_pointer,
    MSTRO_CDO_ATTR_VALUE__MAX
};

#define MSTRO_ATTR_DEFAULT NULL

/* Sets an attribute, replacing an earlier value. The schema determines the type of `value`: bool *,
 * int32_t *, int64_t *, uint32_t *, uint64_t *, float *, double *, const char ** for text,
 * mstro_timestamp *; for raw-ptr and other pointers it is the pointer itself.
 *
 * `copy`: the library copies the value at once, and the data at raw-ptr when the CDO is sealed.
 * Without it, the memory must stay valid until the CDO is disposed (raw-ptr: until the CDO is
 * withdrawn or disposed).
 * `user_owned`: the caller frees the memory. If neither `copy` nor `user_owned` is set, the library
 * frees the memory with free(): the value, the text or, for a pointer, its target.
 *
 * The MARS keywords (.maestro.ecmwf.class, date, step and so on, docs/operations.md) are built in;
 * a schema may replace them. If a MARS keyword is not of type text, a text (const char **) is also
 * accepted provided that it can be converted.
 *
 * MSTRO_NOENT: no schema has this key (with MSTRO_DROP_UNKNOWN_ATTRIBUTES=1: MSTRO_OK, without
 * effect); MSTRO_INVSTATE: the CDO is sealed; MSTRO_NOMATCH: the text cannot be converted. */
mstro_status mstro_cdo_attribute_set(mstro_cdo cdo, const char *key, void *value, bool copy,
                                     bool user_owned);
/* Sets `*value` to the address of the value (for text: of a const char *), valid until the CDO is
 * disposed. Either output may be NULL. MSTRO_NOENT: the attribute is not set, or was dropped when
 * it was set. */
mstro_status mstro_cdo_attribute_get(mstro_cdo cdo, const char *key,
                                     enum mstro_cdo_attr_value_type *type, const void **value);
/* Prints all attributes to stdout, one per line: KEY = VALUE (TYPE). MSTRO_FAIL: writing to stdout
 * failed. */
mstro_status mstro_cdo_attributes_print(mstro_cdo cdo);

/* ------------------------------------------------------------------ CDOs */

/* An operation that the handle's state does not permit returns MSTRO_INVSTATE, with a text that
 * names the operation and the state. All handles with the same name, in all components, refer to
 * the same CDO. */

/* Creates a handle, to be disposed with mstro_cdo_dispose. Names are UTF-8, 1 to 4096 bytes.
 * `attributes` must be MSTRO_ATTR_DEFAULT (otherwise MSTRO_UNIMPL). */
mstro_status mstro_cdo_declare(const char *name, mstro_cdo_attributes attributes,
                               mstro_cdo *result);
/* Makes the attributes final. Offer and require seal an unsealed CDO. */
mstro_status mstro_cdo_seal(mstro_cdo cdo);
/* Offers the CDO to the pool: other components may read its data until it is withdrawn. */
mstro_status mstro_cdo_offer(mstro_cdo cdo);
/* Announces a demand: a withdraw does not return while the CDO is required and no other component
 * offers it. */
mstro_status mstro_cdo_require(mstro_cdo cdo);
/* Returns when the data have arrived, without a time limit for a component to offer the CDO. The
 * data are in the caller's raw-ptr if that was set and local-size is sufficient, otherwise in
 * memory of the library (mstro_cdo_access_ptr). MSTRO_FAIL or MSTRO_NOMEM: reading the data failed
 * and no other offer is left; the CDO is in the state required again and may be demanded again or
 * retracted. */
mstro_status mstro_cdo_demand(mstro_cdo cdo);
/* Ends a requirement without a demand: the CDO is no longer needed. */
mstro_status mstro_cdo_retract(mstro_cdo cdo);
/* Returns when the offer is no longer needed: no component reads from it, and no component requires
 * or demands the CDO, unless another component offers it. */
mstro_status mstro_cdo_withdraw(mstro_cdo cdo);
/* Frees the handle. Permitted in the states declared, sealed, withdrawn and retracted, and after a
 * satisfied demand. Handles left over from before mstro_finalize can, and must, still be disposed.
 */
mstro_status mstro_cdo_dispose(mstro_cdo cdo);
/* Returns the name, valid until the CDO is disposed; NULL if `cdo` is NULL. */
const char *mstro_cdo_name(mstro_cdo cdo);
/* Returns the data of an offered or demanded CDO and their size in bytes; either output may be
 * NULL. MSTRO_NOENT: the CDO has no data. If the CDO was demanded without a raw-ptr set by the
 * caller, the memory belongs to the caller once `data` was returned, to be freed with free() before
 * or after the CDO is disposed; if `data` was never returned, it is freed with the CDO. Otherwise
 * `data` is the caller's own raw-ptr, or the library's copy of it, which is valid until the CDO is
 * disposed. */
mstro_status mstro_cdo_access_ptr(mstro_cdo cdo, void **data, int64_t *bytes);

/* ------------------------------------------------------------------ selectors */

/* Compiles a selector. `query` NULL selects everything. `schema` and `schema_namespace` may be
 * NULL; keys are then full names. MSTRO_INVARG: the text is malformed; mstro_last_error contains
 * the position. docs/filter-language.md describes the language. Any number of subscriptions may use
 * a selector; it may be disposed as soon as they have been created. */
mstro_status mstro_cdo_selector_create(mstro_schema schema, const char *schema_namespace,
                                       const char *query, mstro_cdo_selector *result);
mstro_status mstro_cdo_selector_dispose(mstro_cdo_selector selector);

/* ------------------------------------------------------------------ subscriptions */

/* Kinds are bits, to be combined with |. C++ users define their own operator |, because C++ has
 * none for enumerations. */
enum mstro_pool_event_kind MSTRO_ENUM_OF_32_BITS {
    MSTRO_POOL_EVENT_NONE = 0,
    MSTRO_POOL_EVENT_APP_JOIN = 1 << 1,
    MSTRO_POOL_EVENT_APP_LEAVE = 1 << 2,
    MSTRO_POOL_EVENT_DECLARE = 1 << 3,
    MSTRO_POOL_EVENT_SEAL = 1 << 4,
    MSTRO_POOL_EVENT_OFFER = 1 << 5,
    MSTRO_POOL_EVENT_REQUIRE = 1 << 6,
    MSTRO_POOL_EVENT_DEMAND = 1 << 7,
    MSTRO_POOL_EVENT_RETRACT = 1 << 8,
    MSTRO_POOL_EVENT_WITHDRAW = 1 << 9,
    MSTRO_POOL_EVENT_DISPOSE = 1 << 10,
    MSTRO_POOL_EVENT_TRANSPORT_INIT = 1 << 11,
    MSTRO_POOL_EVENT_TRANSPORT_COMPLETED = 1 << 12,
#ifndef MSTRO_PUBLIC_ONLY
    MSTRO_POOL_EVENT_TRANSPORT_FAILED = 1 << 13,
    /* Other values reported by the pool manager, sent only to subscribers to this kind: one line of
     * InfluxDB line protocol. After an APP_JOIN, it reports where the component's process runs:
     * "vampire_component,component=N,host=H pid=1i". */
    MSTRO_POOL_EVENT_SAMPLE = 1 << 16,
    /* All events of a batch, sent only to callers of mstro_receive_packed. */
    MSTRO_POOL_EVENT_PACKED = 1 << 27,
    /* The pool manager's queue for this subscription was full, and payload.lost.count events were
     * dropped at this point. Sent only to subscribers to this kind. */
    MSTRO_POOL_EVENT_LOST = 1 << 29,
    /* Generated by this library as the last event of a subscription when the pool manager is gone
     * or has shut down. Sent only to subscribers to this kind. */
    MSTRO_POOL_EVENT_POOL_GONE = 1 << 30,
#endif
    MSTRO_POOL_EVENT_SUBSCRIBE = 1 << 14,
    MSTRO_POOL_EVENT_UNSUBSCRIBE = 1 << 15
};
typedef enum mstro_pool_event_kind mstro_pool_event_kind;

/* Option bits, to be combined with |. */
enum mstro_subscription_opts MSTRO_ENUM_OF_32_BITS {
    MSTRO_SUBSCRIPTION_OPTS_DEFAULT = 0,
    /* The operation is delayed until every subscriber with this option has acknowledged the event
     * or is gone, or the event was lost. The delay is before the operation is handled with
     * SIGNAL_BEFORE, else before it is answered. APP_JOIN, TRANSPORT_INIT and the failure of a
     * component are not requests and are not delayed. */
    MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK = 1 << 0,
    /* The event is sent before the pool manager handles the operation; the default is after it.
     * Without REQUIRE_ACK this delays nothing, which this library guarantees by defining
     * MSTRO_SIGNAL_BEFORE_HOLDS_UP_NOTHING. */
    MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE = 1 << 1,
    /* Excludes events that this component causes itself. */
    MSTRO_SUBSCRIPTION_OPTS_NO_LOCAL_EVENTS = 1 << 2
};
typedef enum mstro_subscription_opts mstro_subscription_opts;
#ifndef MSTRO_PUBLIC_ONLY
#define MSTRO_SIGNAL_BEFORE_HOLDS_UP_NOTHING 1
/* If a subscriber does not poll, its events are dropped and counted, and nothing is delayed; see
 * mstro_subscribe. */
#define MSTRO_FULL_SUBSCRIPTION_DROPS 1
#endif

#undef MSTRO_ENUM_OF_32_BITS

struct mstro_pool_event_of_cdo {
    uint64_t appid;
    const char *cdo_name;
};
struct mstro_pool_event_of_member {
    uint64_t appid;
};
struct mstro_pool_event_join {
    uint64_t appid;
    const char *component_name;
};
#ifndef MSTRO_PUBLIC_ONLY
struct mstro_pool_event_sample {
    uint64_t appid; /* always 0 */
    const char *text;
};
struct mstro_pool_event_lost {
    uint64_t count;
};
struct mstro_pool_event_packed {
    const char *bytes; /* an EventBatch, see vampire/core/event/event.proto */
    size_t length;
};
#define MSTRO_POOL_EVENT_OWN_MEMBERS                                                               \
    struct mstro_pool_event_of_cdo transport_failed;                                               \
    struct mstro_pool_event_sample sample;                                                         \
    struct mstro_pool_event_lost lost;                                                             \
    struct mstro_pool_event_packed packed;
#else
#define MSTRO_POOL_EVENT_OWN_MEMBERS
#endif
#define MSTRO_POOL_EVENT_MEMBERS                                                                   \
    struct mstro_pool_event_join join;                                                             \
    struct mstro_pool_event_of_member leave, subscribe, unsubscribe;                               \
    struct mstro_pool_event_of_cdo declare, seal, offer, require, demand, retract, withdraw,       \
        dispose, transport_init, transport_completed;                                              \
    MSTRO_POOL_EVENT_OWN_MEMBERS
union mstro_pool_event_payload {
    MSTRO_POOL_EVENT_MEMBERS
};

/* One event of a list. The list and all memory that it refers to are one block, which
 * mstro_pool_event_dispose(head) frees. */
struct mstro_pool_event_ {
    mstro_pool_event_kind kind;
    uint64_t serial; /* serial number assigned by the pool manager, ascending */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
    union { /* Accessible as event->payload.offer or event->offer. */
        union mstro_pool_event_payload payload;
        MSTRO_POOL_EVENT_MEMBERS
    };
#else
    union mstro_pool_event_payload payload;
#endif
    struct mstro_pool_event_ *next;

#ifndef MSTRO_PUBLIC_ONLY
    /* `present` has one bit for each of these fields that contains a value. */
    uint32_t present;      /* enum mstro_pool_event_field bits */
    uint32_t reason;       /* LEAVE: 0 unknown, 1 finalized, 2 vanished, 3 protocol, 4 pool ended */
    int64_t time_ns;       /* by the pool manager's clock, UTC */
    uint64_t cdo_size;     /* in bytes */
    uint64_t peer_appid;   /* transports: the source; appid is the sink */
    uint64_t transport_id; /* identical in the init and the completed or failed event */
    unsigned char cdo_id[16];
    uint32_t tier;        /* 0 unknown, 1 OFI, 2 GFS, 3 MIO */
    uint32_t cause;       /* 0 unknown, 1 demand, 2 manager */
    uint32_t name_length; /* length of component_name, cdo_name or text, in bytes */
    bool before;          /* the event was sent before the operation was handled */
    uint64_t duration_ns; /* transport_completed, transport_failed: since the start */
#endif
};

#undef MSTRO_POOL_EVENT_MEMBERS
#undef MSTRO_POOL_EVENT_OWN_MEMBERS

#ifndef MSTRO_PUBLIC_ONLY
enum mstro_pool_event_field {
    MSTRO_POOL_EVENT_HAS_TIME = 1 << 0,
    MSTRO_POOL_EVENT_HAS_CDO_ID = 1 << 1,
    MSTRO_POOL_EVENT_HAS_CDO_SIZE = 1 << 2,
    MSTRO_POOL_EVENT_HAS_PEER = 1 << 3,
    MSTRO_POOL_EVENT_HAS_TRANSPORT = 1 << 4,
    MSTRO_POOL_EVENT_HAS_TIER = 1 << 5,
    MSTRO_POOL_EVENT_HAS_CAUSE = 1 << 6,
    MSTRO_POOL_EVENT_HAS_REASON = 1 << 7,
    MSTRO_POOL_EVENT_HAS_DURATION = 1 << 8
};
#endif

/* Subscribes to events from now on. Selectors apply to CDOs: events that are not about a CDO always
 * pass. A subscriber that does not poll delays no other component: if more than 48 MiB of events
 * wait in this process, further events stay in the pool manager's queue (not with REQUIRE_ACK), and
 * events that do not fit there are dropped and reported by LOST. MSTRO_NOMEM: also if there are too
 * many subscriptions. */
mstro_status mstro_subscribe(mstro_cdo_selector selector, mstro_pool_event_kind event_mask,
                             mstro_subscription_opts opts, mstro_subscription *result);
/* Ends the subscription and drops events that were not polled; lists that were polled still belong
 * to the caller. */
mstro_status mstro_subscription_dispose(mstro_subscription subscription);
#ifndef MSTRO_PUBLIC_ONLY
/* Stops the subscription without dropping events: no further events are added, and events from
 * before this call can still be polled. *ret_events: total number of events of the subscription,
 * including events that were not polled yet and those counted by LOST. Waits at most `timeout_ms`
 * for the pool manager's answer; MSTRO_TIMEOUT: there was none. MSTRO_INVMSG: the pool manager does
 * not support this request. */
mstro_status mstro_subscription_finish(mstro_subscription subscription, uint32_t timeout_ms,
                                       uint64_t *ret_events);
#endif
/* Returns the waiting events. MSTRO_OK: *result is the head of a list linked by next, which the
 * caller frees with mstro_pool_event_dispose, or NULL if no events wait. MSTRO_NO_PM, with *result
 * NULL: the pool manager is gone and all events were polled. MSTRO_NOMEM: events were lost because
 * this process is out of memory, and their number cannot be reported; poll again. */
mstro_status mstro_subscription_poll(mstro_subscription subscription, mstro_pool_event *result);
/* Like mstro_subscription_poll, but blocks until there are events or no more can arrive. */
mstro_status mstro_subscription_wait(mstro_subscription subscription, mstro_pool_event *result);
/* Like mstro_subscription_wait, but at most until `abstime` (CLOCK_REALTIME). MSTRO_TIMEOUT with
 * *result NULL: no events by then. */
mstro_status mstro_subscription_timedwait(mstro_subscription subscription,
                                          const struct timespec *abstime, mstro_pool_event *result);
/* Acknowledges every event of the list. No effect without REQUIRE_ACK. */
mstro_status mstro_subscription_ack(mstro_subscription subscription, mstro_pool_event event);
/* Frees a whole list, given its head. NULL is fine. Always returns MSTRO_OK. */
mstro_status mstro_pool_event_dispose(mstro_pool_event head);
/* Returns a constant text for one kind, never NULL. */
const char *mstro_pool_event_description(mstro_pool_event_kind kind);

#ifdef __cplusplus
}
#endif

#endif
