/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public interface of the embedded Maestro: the subset of Maestro Core's API that
 * components of a workflow use, with the names and meanings that are publicly known. It stands
 * in for upstream's library so that everything here runs on one fresh machine; numeric values
 * and the wire behind it are this project's own. What upstream is not known to have is an own
 * extension, which MSTRO_PUBLIC_ONLY hides when it is defined before; layouts stay the same.
 *
 * Every function may be called from any thread after mstro_init has returned; a handle may be
 * used by one thread at a time. Functions return MSTRO_OK or another status and leave their
 * outputs untouched on failure unless said otherwise. Texts are UTF-8 and terminated; those given
 * to a function are copied unless said otherwise.
 *
 * Statuses that are not repeated below: MSTRO_INVARG, an argument is NULL that must not be, or
 * is invalid; MSTRO_UNINIT, before mstro_init or after mstro_finalize; MSTRO_NOMEM; and of
 * every function that calls the pool manager, MSTRO_NO_PM when it is gone and MSTRO_OFI_FAIL.
 * mstro_last_error returns the text of each, which also goes to the log: stderr by default.
 *
 * C99 to C23 and C++98 to C++20, without warnings under the usual strict ones.
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

struct timespec; /* strict C99 has none in <time.h>: POSIX's or the caller's own */

/* The enumerations of bits are 32 bits wide in every language: by their type where it can be
 * written, else because no value is above 1 << 30. */
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
/* What is logged, and where; mstro_init reads them (docs/operations.md). */
#define MSTRO_ENV_LOG_LEVEL "MSTRO_LOG_LEVEL"
#define MSTRO_ENV_LOG_MODULES "MSTRO_LOG_MODULES"
#define MSTRO_ENV_LOG_DST "MSTRO_LOG_DST"
#ifndef MSTRO_PUBLIC_ONLY
/* How long mstro_init waits for a pool manager's answer, 1 to 3,600,000 ms; 30,000 when not set or
 * anything else. */
#define MSTRO_ENV_JOIN_TIMEOUT_MS "MSTRO_JOIN_TIMEOUT_MS"
#endif

typedef enum mstro_status {
    MSTRO_OK = 0,
    MSTRO_FAIL,       /* anything not listed below; details are in the log on stderr */
    MSTRO_INVARG,     /* an argument is invalid */
    MSTRO_INVMSG,     /* a message is malformed */
    MSTRO_NOMEM,      /* out of memory, or a documented limit was reached */
    MSTRO_UNINIT,     /* mstro_init has not been called */
    MSTRO_NOT_TWICE,  /* done before, and only once allowed */
    MSTRO_NOENT,      /* no such key, name or handle */
    MSTRO_NOMATCH,    /* type or value does not fit the schema */
    MSTRO_TIMEOUT,    /* not within the time allowed */
    MSTRO_WOULDBLOCK, /* would have to wait */
    MSTRO_INVSTATE,   /* not allowed in the CDO's current state */
    MSTRO_NO_PM,      /* no pool manager, or it is gone */
    MSTRO_REFUSED,    /* the pool manager refused (name taken, other workflow, other version) */
    MSTRO_OFI_FAIL,   /* libfabric reported an error */
    MSTRO_UNIMPL,     /* upstream has it, the embedded Maestro does not */
    mstro_status_MAX
} mstro_status;

typedef struct mstro_cdo_ *mstro_cdo;
typedef struct mstro_cdo_attributes_ *mstro_cdo_attributes;
typedef struct mstro_cdo_selector_ *mstro_cdo_selector;
typedef struct mstro_subscription_ *mstro_subscription;
typedef struct mstro_schema_ *mstro_schema;
typedef struct mstro_pool_event_ *mstro_pool_event;

typedef struct mstro_timestamp {
    int64_t sec;    /* since 1970-01-01T00:00:00Z */
    int64_t nsec;   /* 0 to 999,999,999 */
    int64_t offset; /* minutes east of UTC */
} mstro_timestamp;

/* ------------------------------------------------------------------ start and end */

/* Joins the workflow. NULL names are taken from the environment. With MSTRO_POOL_MANAGER_INFO set
 * the component joins that pool manager; without it, it works alone with a pool of its own. `index`
 * distinguishes ranks of one component; it is only reported to the pool manager. Blocks until the
 * pool manager has answered. MSTRO_NOT_TWICE when already initialised: the caller uses the library
 * as it is, and calls mstro_finalize as well; MSTRO_REFUSED, MSTRO_NO_PM when none answers in time,
 * MSTRO_INVARG also when a name is missing. */
mstro_status mstro_init(const char *workflow_name, const char *component_name,
                        uint64_t component_index);
/* Once for each mstro_init that returned MSTRO_OK or MSTRO_NOT_TWICE; all but the last only count
 * down. The last one leaves, and waits until calls of other threads have returned. CDOs that are
 * still in use are released with a warning; a pool manager that is gone is no failure. May be
 * followed by another mstro_init. */
mstro_status mstro_finalize(void);

/* Constant texts, never NULL. */
const char *mstro_status_description(mstro_status status);
const char *mstro_version(void);
/* Nanoseconds since 1970 UTC. */
uint64_t mstro_clock(void);
#ifndef MSTRO_PUBLIC_ONLY
/* Text on the most recent failure in this thread, "" when there is none; valid until the next
 * failure in it. */
const char *mstro_last_error(void);
/* Before mstro_init: no log unless MSTRO_LOG_LEVEL is set, for a program that prints
 * mstro_last_error itself. */
void mstro_log_quiet(void);
/* Before mstro_init: lists of events have, instead of a node for each event, one of kind PACKED for
 * all that arrived in one message, with the serial of the first. It cannot be acknowledged. For a
 * program that decodes them itself and so can process more of them. */
void mstro_receive_packed(void);
#endif

/* ------------------------------------------------------------------ pool manager */

/* Makes this process a pool manager as well (after mstro_init). The provider comes from
 * MSTRO_OFI_PROVIDER, else FI_PROVIDER, else "tcp;ofi_rxm". MSTRO_NOT_TWICE: it is one;
 * MSTRO_INVSTATE: it has joined another; MSTRO_OFI_FAIL: the provider or the address. */
mstro_status mstro_pm_start(void);
/* The text for MSTRO_POOL_MANAGER_INFO: printable, one line, no ';'. The caller frees it with
 * free(). MSTRO_NO_PM: this process is no pool manager. */
mstro_status mstro_pm_getinfo(char **result);
/* Sends what is queued, notifies the components, and waits for them for a second at most.
 * MSTRO_NO_PM: this process is no pool manager. */
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

/* The type of the value behind `value` is the schema's: bool *, int32_t *, int64_t *, uint32_t *,
 * uint64_t *, float *, double *, const char ** for text, mstro_timestamp *; for raw-ptr and other
 * pointers the pointer itself. Setting a key again replaces its value.
 * `copy`: take a copy, at once; of raw-ptr's data when the CDO is sealed. Otherwise the memory must
 * stay until the CDO is disposed (raw-ptr: until it is withdrawn or disposed).
 * `user_owned`: the caller frees it; otherwise, without `copy`, the library does with free(): the
 * value, of text the text itself, of a pointer what it points to.
 * The MARS keywords (.maestro.ecmwf.class, date, step and so on, docs/operations.md) are known
 * without a schema, which may replace them. For one that is not of a text's type, a text (a const
 * char **) is accepted too when it converts.
 * MSTRO_NOENT: no schema has this key (MSTRO_OK without effect when
 * MSTRO_DROP_UNKNOWN_ATTRIBUTES=1); MSTRO_INVSTATE: the CDO is sealed; MSTRO_NOMATCH: the text does
 * not convert. */
mstro_status mstro_cdo_attribute_set(mstro_cdo cdo, const char *key, void *value, bool copy,
                                     bool user_owned);
/* `*value` points at the value (for text at a const char *), valid until the CDO is disposed.
 * Either output may be NULL. MSTRO_NOENT: not set, or dropped when it was set. */
mstro_status mstro_cdo_attribute_get(mstro_cdo cdo, const char *key,
                                     enum mstro_cdo_attr_value_type *type, const void **value);
/* Prints all to stdout, one per line: KEY = VALUE (TYPE). MSTRO_FAIL: writing to stdout failed. */
mstro_status mstro_cdo_attributes_print(mstro_cdo cdo);

/* ------------------------------------------------------------------ CDOs */

/* An operation that is not possible in the handle's state returns MSTRO_INVSTATE and a text with
 * both. Handles of one name, in this or other components, are of one CDO. */

/* A new handle, which is disposed of with mstro_cdo_dispose. Names: UTF-8, 1 to 4096 bytes.
 * `attributes` is MSTRO_ATTR_DEFAULT (else MSTRO_UNIMPL). */
mstro_status mstro_cdo_declare(const char *name, mstro_cdo_attributes attributes,
                               mstro_cdo *result);
/* Attributes become final. Offer and require seal what is not sealed. */
mstro_status mstro_cdo_seal(mstro_cdo cdo);
/* Gives the CDO to the pool: from now on others may read its data, until it is withdrawn. */
mstro_status mstro_cdo_offer(mstro_cdo cdo);
/* Announces a demand: a withdraw does not return while the CDO is required and no other component
 * offers it. */
mstro_status mstro_cdo_require(mstro_cdo cdo);
/* Returns when the data have arrived, however long it takes until a component offers the CDO. They
 * are in the caller's raw-ptr if that was set and local-size is enough, else in memory of the
 * library (mstro_cdo_access_ptr). When reading them failed and no other offer is left, MSTRO_FAIL
 * (or MSTRO_NOMEM): the CDO is required again: demand once more, or retract. */
mstro_status mstro_cdo_demand(mstro_cdo cdo);
/* Instead of a demand: the CDO is not needed any more. */
mstro_status mstro_cdo_retract(mstro_cdo cdo);
/* Returns when the offer is no longer needed: no component reads from it, and none requires or
 * demands the CDO unless another component offers it too. */
mstro_status mstro_cdo_withdraw(mstro_cdo cdo);
/* When declared, sealed, withdrawn, retracted, or demanded and satisfied. The handle is gone
 * afterwards. Handles left over from before mstro_finalize can and need still be disposed. */
mstro_status mstro_cdo_dispose(mstro_cdo cdo);
/* NULL without a CDO; else valid until it is disposed. */
const char *mstro_cdo_name(mstro_cdo cdo);
/* The data of an offered or demanded CDO and their size; either output may be NULL. MSTRO_NOENT
 * when there are none. Of a CDO that was demanded without a raw-ptr of the caller's the memory
 * belongs to the caller once `data` was returned: free() it, before or after the CDO is disposed;
 * otherwise it is freed with the CDO. Else it is the caller's own raw-ptr, or the
 * library's copy of it, which is valid until the CDO is disposed. */
mstro_status mstro_cdo_access_ptr(mstro_cdo cdo, void **data, int64_t *bytes);

/* ------------------------------------------------------------------ selectors */

/* `query` NULL selects everything. `schema` and `schema_namespace` may be NULL: keys are then
 * full names. MSTRO_INVARG, with the position in mstro_last_error, when the text is malformed.
 * docs/filter-language.md describes the language. Any number of subscriptions may use a selector;
 * it may be disposed of as soon as they are made. */
mstro_status mstro_cdo_selector_create(mstro_schema schema, const char *schema_namespace,
                                       const char *query, mstro_cdo_selector *result);
mstro_status mstro_cdo_selector_dispose(mstro_cdo_selector selector);

/* ------------------------------------------------------------------ subscriptions */

/* Kinds are bits: combine them with |. C++ has no | on enumerations; its users write one. */
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
    /* Other values from the pool manager, for those who subscribe to it: a line of InfluxDB's
     * protocol. After an APP_JOIN where the component's process runs:
     * "vampire_component,component=N,host=H pid=1i". */
    MSTRO_POOL_EVENT_SAMPLE = 1 << 16,
    /* All events of a batch, for those who have called mstro_receive_packed. */
    MSTRO_POOL_EVENT_PACKED = 1 << 27,
    /* The pool manager's queue for this subscription was full and payload.lost.count events were
     * dropped here. Delivered only to those who subscribe to it. */
    MSTRO_POOL_EVENT_LOST = 1 << 29,
    /* Delivered by this library when the pool manager is gone or has shut down, as the last event
     * of a subscription, to those who subscribe to it. */
    MSTRO_POOL_EVENT_POOL_GONE = 1 << 30,
#endif
    MSTRO_POOL_EVENT_SUBSCRIBE = 1 << 14,
    MSTRO_POOL_EVENT_UNSUBSCRIBE = 1 << 15
};
typedef enum mstro_pool_event_kind mstro_pool_event_kind;

/* Bits as well. */
enum mstro_subscription_opts MSTRO_ENUM_OF_32_BITS {
    MSTRO_SUBSCRIPTION_OPTS_DEFAULT = 0,
    /* The operation is delayed until every such subscriber has acknowledged the event, is gone, or
     * the event was lost: with SIGNAL_BEFORE before it is handled, else before it is answered.
     * APP_JOIN, TRANSPORT_INIT and the death of a component are not requests and not delayed. */
    MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK = 1 << 0,
    /* The event is sent before the pool manager handles the operation, else after. Without
     * REQUIRE_ACK it delays nothing, as this library guarantees with
     * MSTRO_SIGNAL_BEFORE_HOLDS_UP_NOTHING. */
    MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE = 1 << 1,
    /* Not the events that this component causes itself. */
    MSTRO_SUBSCRIPTION_OPTS_NO_LOCAL_EVENTS = 1 << 2
};
typedef enum mstro_subscription_opts mstro_subscription_opts;
#ifndef MSTRO_PUBLIC_ONLY
#define MSTRO_SIGNAL_BEFORE_HOLDS_UP_NOTHING 1
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
    uint64_t appid; /* 0 */
    const char *text;
};
struct mstro_pool_event_lost {
    uint64_t count;
};
struct mstro_pool_event_packed {
    const char *bytes; /* EventBatch of vampire/core/event/event.proto */
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

/* One event of a list. Everything a list points to lives in one block that
 * mstro_pool_event_dispose(head) frees. */
struct mstro_pool_event_ {
    mstro_pool_event_kind kind;
    uint64_t serial; /* the pool manager's number of the event, ascending */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
    union { /* event->payload.offer, or event->offer */
        union mstro_pool_event_payload payload;
        MSTRO_POOL_EVENT_MEMBERS
    };
#else
    union mstro_pool_event_payload payload;
#endif
    struct mstro_pool_event_ *next;

#ifndef MSTRO_PUBLIC_ONLY
    /* `present` has a bit for each that holds a value. */
    uint32_t present;  /* enum mstro_pool_event_field bits */
    uint32_t reason;   /* of LEAVE: 0 unknown, 1 finalized, 2 vanished, 3 protocol, 4 pool ended */
    int64_t time_ns;   /* the pool manager's clock, UTC */
    uint64_t cdo_size; /* bytes */
    uint64_t peer_appid;   /* of a transport: the source; appid is the sink */
    uint64_t transport_id; /* the same in init and completed or failed */
    unsigned char cdo_id[16];
    uint32_t tier;        /* 0 unknown, 1 OFI, 2 GFS, 3 MIO */
    uint32_t cause;       /* 0 unknown, 1 demand, 2 manager */
    uint32_t name_length; /* of component_name, cdo_name or text, bytes */
    bool before;          /* sent before the operation was handled */
    uint64_t duration_ns; /* of transport_completed and transport_failed: since its start */
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

/* Events from now on, none from before. Selectors choose CDOs: events that are not about a CDO pass
 * them. A subscriber that does not poll delays no other component: over the limit of 48 MiB of
 * waiting events in this process (not with REQUIRE_ACK) they stay in the pool manager's queue, and
 * those that do not fit there are dropped and counted as LOST. MSTRO_NOMEM also when there are too
 * many subscriptions. */
mstro_status mstro_subscribe(mstro_cdo_selector selector, mstro_pool_event_kind event_mask,
                             mstro_subscription_opts opts, mstro_subscription *result);
/* Ends it; events that were not polled are dropped, lists that were polled still belong to the
 * caller. */
mstro_status mstro_subscription_dispose(mstro_subscription subscription);
/* MSTRO_OK with *result NULL when there is nothing; else the head of a list linked by next, which
 * the caller frees with mstro_pool_event_dispose. MSTRO_NO_PM, with *result NULL, once the pool
 * manager is gone and all events were polled. MSTRO_NOMEM: events were lost because memory was
 * short, and there is none to report how many; poll again. */
mstro_status mstro_subscription_poll(mstro_subscription subscription, mstro_pool_event *result);
/* The same, but returns only when there is something, or nothing will come any more. */
mstro_status mstro_subscription_wait(mstro_subscription subscription, mstro_pool_event *result);
/* The same, until `abstime` on CLOCK_REALTIME at most. MSTRO_TIMEOUT with *result NULL. */
mstro_status mstro_subscription_timedwait(mstro_subscription subscription,
                                          const struct timespec *abstime, mstro_pool_event *result);
/* Acknowledges every event of the list. Without REQUIRE_ACK it does nothing. */
mstro_status mstro_subscription_ack(mstro_subscription subscription, mstro_pool_event event);
/* Frees a whole list, by its head; NULL is allowed. Always MSTRO_OK. */
mstro_status mstro_pool_event_dispose(mstro_pool_event head);
/* A constant text for one kind, never NULL. */
const char *mstro_pool_event_description(mstro_pool_event_kind kind);

#ifdef __cplusplus
}
#endif

#endif
