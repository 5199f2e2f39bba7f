/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The source table: where events come from. The live source (`maestro`), a recording (`replay`) and
 * a generator (`synthetic`) look the same to the rest of vampire. All functions are called on one
 * thread, the source thread or, for a source that may block, the worker thread, except open, which
 * runs before the source thread exists, and close, which runs after it has ended.
 */
#pragma once

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/event/event.h"
#include "vampire/core/options/options.h"

/* Results of `next`; the list is complete, and the main loop handles each. */
enum vamp_source_status {
    VAMP_SOURCE_MORE,    /* an event was returned; call again */
    VAMP_SOURCE_EMPTY,   /* nothing now: wait */
    VAMP_SOURCE_END,     /* the workflow or recording is complete; nothing will follow */
    VAMP_SOURCE_GONE,    /* the pool manager vanished for good; err has details */
    VAMP_SOURCE_DAMAGED, /* like END, but the recording is damaged; err has the reason */
    VAMP_SOURCE_ERROR,   /* err has the reason; only close may be called */
};

/* State of a source, for display. */
#define VAMP_SOURCE_TROUBLE_BYTES 256
#define VAMP_SOURCE_WHERE_BYTES 9
struct vamp_source_state {
    const char *what; /* constant text */
    int64_t since_ns; /* monotonic */
    unsigned rejoins; /* number of times it joined a pool again */
    char
        where[VAMP_SOURCE_WHERE_BYTES]; /* identifies the pool: a hash of the pool manager's info */
    char trouble[VAMP_SOURCE_TROUBLE_BYTES]; /* the latest error; "" if none */
};

/* Vampire's own operations on the pool that are timed. */
enum vamp_own_operation { VAMP_OWN_JOIN, VAMP_OWN_SUBSCRIBE, VAMP_OWN_LEAVE };
#define VAMP_OWN_OPERATION_COUNT 3

/* Passed to every source. */
struct vamp_source_context {
    const struct vamp_clock *clock;
    uint64_t event_kinds;             /* bits of enum vamp_event_kind: other kinds are not wanted */
    const char *workflow, *component; /* our own names; "" if none */
    const char *selector;             /* push-down: Maestro selector text or NULL for all */
    /* Reports that something takes longer than expected; one line, no newline. Called by open, and
     * on the source thread when the pool manager is gone. */
    void (*say)(void *say_context, const char *line);
    void *say_context;
    const atomic_int *stop; /* non-zero: a waiting open or wait returns soon */
    /* Called by open and close, and on the source thread when it rejoins, with the round-trip time
     * of each of our own operations (metric own_roundtrip_ns). NULL: not wanted. */
    void (*own_roundtrip)(void *own_roundtrip_context, enum vamp_own_operation operation,
                          int64_t ns);
    void *own_roundtrip_context;
};

/* Reports a line to the user, if the context has a function for it. */
VAMP_PRINTF(2, 3)
static inline void vamp_source_say(const struct vamp_source_context *context, const char *format,
                                   ...)
{
    if (context->say != NULL) {
        char line[VAMP_ERR_TEXT_BYTES + 128];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        context->say(context->say_context, line);
    }
}
/* Whether the context wants the event; control events and samples always are. */
static inline bool vamp_source_is_wanted(const struct vamp_source_context *context,
                                         const struct vamp_event *event)
{
    return event->kind >= VAMP_EVENT_SAMPLE ||
           (context->event_kinds & VAMP_EVENT_BIT(event->kind)) != 0;
}

struct vamp_source_ops {
    const char *name;
    const char *summary;            /* one line for --help */
    const struct vamp_opt *options; /* fills a struct of `options_bytes` */
    size_t options_bytes;
    const struct vamp_opt_conditions
        *conditions; /* conditions for options to have an effect; NULL: each has one */
    /* Events arrive as they happen: their age is measured, and time advances without events. */
    bool is_live;
    /* The source is read when there is room, and a slow output may make it wait, so that nothing is
     * lost. False: an event that finds no room is lost and counted. */
    bool may_block;
    /* For a source that may block: the texts of its events are valid until the call after EMPTY. */
    bool keeps_texts;
    /* The first filter may use CDO attributes: the selector of the context is applied. */
    bool knows_attributes;
    /* The configuration must name the workflow. */
    bool needs_workflow;

    /* Connects, or opens the file. May block up to a configured time while `*stop` is 0. On failure
     * nothing stays allocated or open. Returns 0; -ETIMEDOUT if there was no answer in the
     * configured time; -ECANCELED if stop was set; or another -errno. Copies `*context`; what that
     * points to, and `options`, remain the caller's and must outlive the source. */
    int (*open)(const void *options, const struct vamp_source_context *context, void **ret_self,
                struct vamp_err *err);
    /* The workflow of the events, if the source knows it better than the configuration; else NULL.
     * Valid until close. The member may be NULL. */
    const char *(*workflow)(const void *self);
    /* Bits of enum vamp_event_kind: the kinds of events that it has. NULL: all. */
    uint64_t (*kinds)(const void *self);
    /* Bits of enum vamp_unknown: what it cannot know of events. Bits may be added later. NULL: it
     * knows everything. Any thread. */
    uint32_t (*unknown)(const void *self);
    /* The result of an examination of its Maestro, as one line; NULL if there is none. Valid until
     * close. The member may be NULL. */
    const char *(*examined)(const void *self);
    /* Never blocks. MORE: `*ret_event` is filled; its text is valid until the next call on this
     * source, or longer with `keeps_texts`. Losses are returned as VAMP_EVENT_LOST, a vanished pool
     * as VAMP_EVENT_GONE and, when another pool is watched or none came, VAMP_EVENT_UNWATCHED, and
     * undecodable events as VAMP_EVENT_REJECTED. */
    enum vamp_source_status (*next)(void *self, struct vamp_event *ret_event, struct vamp_err *err);
    /* Blocks until `next` may have something, at most for `timeout_ns`. */
    void (*wait)(void *self, int64_t timeout_ns);
    /* Fills in the state of the source; any thread, while it is open. NULL: no state. */
    void (*describe)(void *self, struct vamp_source_state *ret_state);
    /* Disconnects or closes the file, and frees everything. Returns 0 or -errno; the object is
     * freed in both cases. */
    int (*close)(void *self, struct vamp_err *err);
};

extern const struct vamp_source_ops vamp_source_maestro;
extern const struct vamp_source_ops vamp_source_replay;
extern const struct vamp_source_ops vamp_source_synthetic;

/* All sources, ended by NULL; the first is the default. */
extern const struct vamp_source_ops *const vamp_sources[];
/* The source with this name; NULL if there is none. */
const struct vamp_source_ops *vamp_source_find(const char *name);
/* The functions of a source. Those of vamp_source_maestro, which are NULL, are loaded, once and for
 * good. NULL with `err` if they are missing or belong to another build. */
const struct vamp_source_ops *vamp_source_load(const struct vamp_source_ops *source,
                                               struct vamp_err *err);
