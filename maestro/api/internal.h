/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the public interface. The library is a singleton in each process, because maestro.h
 * has no handle for it; `library.lock` protects all its members. By contract, only one thread at a
 * time uses a CDO or a subscription; the port's thread also accesses them, under the lock. No port
 * function is called with the lock held, except those that only access the fabric's memory.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "maestro/api/event_block.h"
#include "maestro/api/log.h"
#include "maestro/api/schema.h"
#include "maestro/client/port.h"
#include "maestro/maestro.h"
#include "vampire/core/err.h"
#include "vampire/core/list.h"
#include "vampire/core/map.h"
#include "vampire/core/values.h"

/* ------------------------------------------------------------------ attributes */

union attribute_value {
    bool boolean;
    int32_t int32;
    int64_t int64;
    uint32_t uint32;
    uint64_t uint64;
    float real32;
    double real64;
    const char *text;
    mstro_timestamp timestamp;
    void *pointer;
};

struct attribute {
    struct attribute *next;
    enum mstro_cdo_attr_value_type type;
    const void *value; /* the pointer that mstro_cdo_attribute_get returns */
    void *owned;       /* memory that is freed with the attribute; NULL: none */
    union attribute_value
        own; /* storage for the value; text and pointer attributes store the pointer itself */
    char key[];
};

/* Returns NULL if the attribute is not set. */
struct attribute *attribute_find(const struct mstro_cdo_ *cdo, const char *key);
/* Frees all attributes. */
void attributes_free(struct mstro_cdo_ *cdo);
/* Sets an attribute to a copy of a value; text and pointer values are passed by address, as in
 * mstro_cdo_attribute_set. */
mstro_status attribute_put(struct mstro_cdo_ *cdo, const char *key,
                           enum mstro_cdo_attr_value_type type, const void *value, bool copy,
                           bool user_owned);
/* Logs a warning if the CDO has attributes of a schema's namespace but lacks a required one. */
void attributes_warn(const struct mstro_cdo_ *cdo);
/* Converts the CDO's attributes to wire format, in one block that the caller frees; NULL: out of
 * memory. */
Mstro__Wire__Attribute **attributes_to_wire(const struct mstro_cdo_ *cdo, size_t *ret_count);
/* Adds the attributes in a ticket to the CDO. */
mstro_status attributes_from_wire(struct mstro_cdo_ *cdo, Mstro__Wire__Attribute *const *items,
                                  size_t count);

/* ------------------------------------------------------------------ CDOs */

enum demand { DEMAND_NONE, DEMAND_WAITS, DEMAND_ENDED };

struct mstro_cdo_ {
    struct map_link by_handle;
    struct list_link of_library;
    uint64_t generation; /* generation of the mstro_init that it belongs to */
    uint64_t handle;
    char *name;
    bool sealed, offered;
    struct attribute *attributes;
    bool copy_wanted; /* raw-ptr was set with copy: its data are copied when the CDO is sealed */
    void *copy;       /* copy of the data at raw-ptr, page aligned */
    void *received;   /* destination of a demand's data, page aligned */
    uint64_t received_bytes;
    bool in_user_memory; /* `received` belongs to the caller: it is the caller's raw-ptr, or was
                          * handed over */
    void *registration;  /* registration of offered memory */
    bool registered;
    enum demand demand;
    mstro_status demand_status;
    char demand_text[128];
    pthread_cond_t changed;
};

/* Callbacks of the port. */
void *cdo_place(void *context, const Mstro__Wire__Ticket *ticket);
void cdo_arrived(void *context, const Mstro__Wire__Ticket *ticket, mstro_status status);
/* Wakes waiting demands when the pool is gone or the library ends. Under the lock. */
void cdos_wake(void);
/* Turns all handles into leftovers, which their owners still have to dispose, when the library
 * ends. Returns their number. Under the lock. */
size_t cdos_detach(void);

/* ------------------------------------------------------------------ subscriptions */

struct mstro_subscription_ {
    struct list_link of_library;
    uint64_t generation, id;
    mstro_pool_event_kind kinds;
    mstro_subscription_opts options;
    struct event_queue waiting; /* blocks that have not been polled yet */
    bool held;                  /* the pool manager was requested to hold further events */
    uint64_t flow_number,
        flow_sent; /* numbers of the last change of `held` and of the last change sent */
    uint64_t
        lost;  /* events lost after these blocks, for which a LOST node could not be allocated */
    bool gone; /* no more events will arrive */
    pthread_cond_t changed;
};

struct mstro_cdo_selector_ {
    char *text; /* selector in normal form with full names; NULL: everything */
};

/* Callbacks of the port. */
int subscriptions_events(void *context, const uint8_t *packed, size_t length, struct vamp_err *err);
/* Appends the final event to each subscription. Under the lock. */
void subscriptions_gone(void);
void subscriptions_detach(void);

/* ------------------------------------------------------------------ the library */

struct library {
    pthread_mutex_t lock;
    pthread_cond_t idle;    /* signalled when `active` becomes 0 */
    pthread_cond_t changed; /* signalled when `changing` becomes false */
    bool ready;             /* between mstro_init and mstro_finalize */
    bool changing;          /* mstro_init or mstro_finalize is in progress */
    size_t users; /* number of mstro_init calls not yet matched by mstro_finalize, while ready */
    bool gone;    /* the pool manager is gone */
    uint64_t generation;
    size_t active; /* number of calls between api_enter and api_leave */
    struct port *port;
    struct server *server;
    char *workflow, *component;
    struct schema_set *schemas;
    bool drop_unknown;
    atomic_bool packed; /* events are delivered packed */
    struct map cdos;    /* CDOs by handle */
    struct list cdo_list, subscription_list;
    struct list leftovers; /* CDOs and subscriptions that were not disposed before mstro_finalize */
    size_t subscribing;    /* number of mstro_subscribe calls in progress */
    struct event_queue strays; /* events that arrived before their mstro_subscribe returned */
    uint64_t stray_lost,
        stray_lost_of; /* number of events lost after `strays`, and their subscription */
};
extern struct library library;

/* Stores the text for mstro_last_error and logs it at `level`. Returns `status`. */
mstro_status api_note(enum log_level level, mstro_status status, const char *format, ...)
    VAMP_PRINTF(3, 4);
#define api_fail(status, ...) api_note(LOG_LEVEL_ERROR, status, __VA_ARGS__)
/* Every call that uses the port is bracketed by api_enter and api_leave. Returns MSTRO_UNINIT, in
 * which case api_leave must not be called, if the library is not initialised or the handle belongs
 * to an earlier mstro_init, as its `generation` shows (0: no handle). */
mstro_status api_enter(const char *what, uint64_t generation);
/* Like api_enter, for calls that are permitted without an initialised library: returns false
 * instead of an error. */
bool api_is_inside(uint64_t generation);
void api_leave(void);
/* Sends a request and waits at most `timeout_ms` for the answer (0: no limit). Stores a failure for
 * mstro_last_error. */
mstro_status api_call(Mstro__Wire__Request *request, uint32_t timeout_ms,
                      struct port_answer *ret_answer);
