/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the public interface. There is one library per process, since maestro.h has no
 * handle for it; `library.lock` protects everything in it. A CDO or subscription is used by one
 * thread at a time by contract; the port's thread accesses it under the lock, too. No port function
 * is called with the lock held, except those of the fabric's memory.
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
    const void *value;         /* the value that mstro_cdo_attribute_get returns */
    void *owned;               /* freed with the attribute */
    union attribute_value own; /* the value; for a text or pointer always the pointer itself */
    char key[];
};

/* NULL: not set. */
struct attribute *attribute_find(const struct mstro_cdo_ *cdo, const char *key);
/* Frees all attributes. */
void attributes_free(struct mstro_cdo_ *cdo);
/* Sets a copy of a value; texts and pointers by address, as in mstro_cdo_attribute_set. */
mstro_status attribute_put(struct mstro_cdo_ *cdo, const char *key,
                           enum mstro_cdo_attr_value_type type, const void *value, bool copy,
                           bool user_owned);
/* Warns if the CDO has attributes of a schema's namespace but lacks a required one. */
void attributes_warn(const struct mstro_cdo_ *cdo);
/* The CDO's attributes in wire format, in one block to be freed; NULL: out of memory. */
Mstro__Wire__Attribute **attributes_to_wire(const struct mstro_cdo_ *cdo, size_t *ret_count);
/* Adds the attributes of a ticket to the CDO. */
mstro_status attributes_from_wire(struct mstro_cdo_ *cdo, Mstro__Wire__Attribute *const *items,
                                  size_t count);

/* ------------------------------------------------------------------ CDOs */

enum demand { DEMAND_NONE, DEMAND_WAITS, DEMAND_ENDED };

struct mstro_cdo_ {
    struct map_link by_handle;
    struct list_link of_library;
    uint64_t generation; /* the mstro_init it belongs to */
    uint64_t handle;
    char *name;
    bool sealed, offered;
    struct attribute *attributes;
    bool copy_wanted; /* raw-ptr was set with copy: its data are copied at seal */
    void *copy;       /* that copy; page aligned */
    void *received;   /* target of a demand's data; page aligned */
    uint64_t received_bytes;
    bool in_user_memory; /* `received` is the caller's: its raw-ptr, or handed over */
    void *registration;  /* of offered memory */
    bool registered;
    enum demand demand;
    mstro_status demand_status;
    char demand_text[128];
    pthread_cond_t changed;
};

/* Callbacks of the port. */
void *cdo_place(void *context, const Mstro__Wire__Ticket *ticket);
void cdo_arrived(void *context, const Mstro__Wire__Ticket *ticket, mstro_status status);
/* Under the lock: wakes demands when the pool is gone or the library ends. */
void cdos_wake(void);
/* Under the lock, at the end: the handles become leftovers, to be disposed by their owners. Returns
 * their number. */
size_t cdos_detach(void);

/* ------------------------------------------------------------------ subscriptions */

struct mstro_subscription_ {
    struct list_link of_library;
    uint64_t generation, id;
    mstro_pool_event_kind kinds;
    mstro_subscription_opts options;
    struct event_queue waiting;      /* blocks that were not polled yet */
    bool held;                       /* the pool keeps further events */
    uint64_t flow_number, flow_sent; /* of the last change of `held`; of the last one sent */
    uint64_t lost; /* events lost after those blocks, without memory for a control event */
    bool gone;     /* no more events will arrive */
    pthread_cond_t changed;
};

struct mstro_cdo_selector_ {
    char *text; /* full names, normal form; NULL: everything */
};

/* Callbacks of the port. */
int subscriptions_events(void *context, const uint8_t *packed, size_t length, struct vamp_err *err);
/* Under the lock: appends the last event of each subscription. */
void subscriptions_gone(void);
void subscriptions_detach(void);

/* ------------------------------------------------------------------ the library */

struct library {
    pthread_mutex_t lock;
    pthread_cond_t idle;    /* `active` has become 0 */
    pthread_cond_t changed; /* `changing` has become false */
    bool ready;             /* between mstro_init and mstro_finalize */
    bool changing;          /* one of the two is in progress */
    size_t users;           /* calls of mstro_init without their mstro_finalize, while ready */
    bool gone;              /* the pool manager is */
    uint64_t generation;
    size_t active; /* calls between api_enter and api_leave */
    struct port *port;
    struct server *server;
    char *workflow, *component;
    struct schema_set *schemas;
    bool drop_unknown;
    atomic_bool packed; /* events are delivered packed */
    struct map cdos;    /* by handle */
    struct list cdo_list, subscription_list;
    struct list leftovers;              /* CDOs and subscriptions not disposed at mstro_finalize */
    size_t subscribing;                 /* active calls of mstro_subscribe */
    struct event_queue strays;          /* events that arrived before mstro_subscribe returned */
    uint64_t stray_lost, stray_lost_of; /* events lost after them; of which subscription */
};
extern struct library library;

/* Stores the text for mstro_last_error and logs it at that level. Returns the status. */
mstro_status api_note(enum log_level level, mstro_status status, const char *format, ...)
    VAMP_PRINTF(3, 4);
#define api_fail(status, ...) api_note(LOG_LEVEL_ERROR, status, __VA_ARGS__)
/* Every call that uses the port is between enter and leave. MSTRO_UNINIT: do not leave; also if a
 * handle belongs to an earlier mstro_init, according to its `generation` (0: no handle). */
mstro_status api_enter(const char *what, uint64_t generation);
/* The same for calls that do not fail outside. */
bool api_is_inside(uint64_t generation);
void api_leave(void);
/* Sends a request and waits; stores a failure for mstro_last_error. */
mstro_status api_call(Mstro__Wire__Request *request, struct port_answer *ret_answer);
