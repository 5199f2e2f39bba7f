/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The source table: where events come from. Live (`maestro`), a recording (`replay`) or a
 * generator (`synthetic`) are the same to the rest of vampire. All functions are called on one
 * thread, the source thread or, of a source that may block, the worker; except open, which runs
 * before the source thread exists, and close, after it ended.
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

/* What `next` found. Closed: the main loop has one branch for each. */
enum vamp_source_status {
    VAMP_SOURCE_MORE,    /* an event was given; ask again */
    VAMP_SOURCE_EMPTY,   /* nothing now: wait */
    VAMP_SOURCE_END,     /* the workflow or recording is complete; nothing will follow */
    VAMP_SOURCE_GONE,    /* the pool manager vanished for good; err says more */
    VAMP_SOURCE_DAMAGED, /* as END, but the recording is damaged; err says which */
    VAMP_SOURCE_ERROR,   /* err says what; the source is only good for close */
};

/* How a source is, for a person. */
#define VAMP_SOURCE_TROUBLE_BYTES 256
#define VAMP_SOURCE_WHERE_BYTES 9
struct vamp_source_state {
    const char *what;                        /* constant text */
    int64_t since_ns;                        /* monotonic */
    unsigned rejoins;                        /* how often it came back to a pool */
    char where[VAMP_SOURCE_WHERE_BYTES];     /* which pool: a hash of the pool manager's info */
    char trouble[VAMP_SOURCE_TROUBLE_BYTES]; /* what last went wrong; "" */
};

/* What vampire does to the pool itself and what is timed of it. */
enum vamp_own_operation { VAMP_OWN_JOIN, VAMP_OWN_SUBSCRIBE, VAMP_OWN_LEAVE };
#define VAMP_OWN_OPERATION_COUNT 3

/* What every source is given. */
struct vamp_source_context {
    const struct vamp_clock *clock;
    uint64_t event_kinds;             /* bit per enum vamp_event_kind: no other kind is wanted */
    const char *workflow, *component; /* our own names; "" when there is none */
    const char *selector;             /* push-down: Maestro selector text or NULL for all */
    /* Called when something takes longer than a person expects; one line, no newline. By open, and
     * on the source thread when the pool manager is gone. */
    void (*say)(void *say_context, const char *line);
    void *say_context;
    const atomic_int *stop; /* non-zero: a waiting open or wait gives up soon */
    /* Called by open and close, and on the source thread when it joins again, with the round-trip
     * time of each of our own operations (metric own_roundtrip_ns); NULL: not wanted. */
    void (*own_roundtrip)(void *own_roundtrip_context, enum vamp_own_operation operation,
                          int64_t ns);
    void *own_roundtrip_context;
};

/* One line to the user, if anybody listens. */
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
/* Whether the context asks for the event: marks and samples always are. */
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
    const struct vamp_opt_conditions *conditions; /* of the options; NULL: each has an effect */
    /* Events arrive as they happen: their age is measured, and silence advances time. */
    bool is_live;
    /* It is read when there is room, and a slow output may make it wait, so that nothing is lost.
     * False: an event that finds no room is lost and counted. */
    bool may_block;
    /* Of one that may block: the texts of its events are valid until the call after EMPTY. */
    bool keeps_texts;
    /* The first filter may ask for CDO attributes: the selector text of the context is obeyed. */
    bool knows_attributes;
    /* The configuration must name the workflow. */
    bool needs_workflow;

    /* Connects or opens the file. May block up to a configured time while `*stop` is 0. On
     * failure nothing stays allocated or open. 0; -ETIMEDOUT: no answer in the configured time;
     * -ECANCELED: stop was set; another -errno. Copies `*context`; what that points to, and
     * `options`, stay the caller's and outlive the source. */
    int (*open)(const void *options, const struct vamp_source_context *context, void **ret_self,
                struct vamp_err *err);
    /* The workflow that the events come from, when the source knows it better than the
     * configuration does; else NULL. Valid until close. The member may be NULL. */
    const char *(*workflow)(const void *self);
    /* The kinds of events that it has, bit per enum vamp_event_kind. NULL: all. */
    uint64_t (*kinds)(const void *self);
    /* What it cannot know of events: bit per enum vamp_unknown; any thread. What turns out later is
     * added. NULL: it knows everything. */
    uint32_t (*unknown)(const void *self);
    /* What an examination of its Maestro found, as one line; NULL: nothing is known. Valid until
     * close. The member may be NULL. */
    const char *(*examined)(const void *self);
    /* Never blocks. MORE: `*ret_event` is filled, its text is valid until the next call on this
     * source, or as long as `keeps_texts` says. Losses come as VAMP_EVENT_LOST marks, a pool that
     * went as VAMP_EVENT_GONE and, when another is watched or none came, VAMP_EVENT_UNWATCHED,
     * undecodable events as VAMP_EVENT_REJECTED. */
    enum vamp_source_status (*next)(void *self, struct vamp_event *ret_event, struct vamp_err *err);
    /* Blocks until `next` may have something, at most `timeout_ns`. */
    void (*wait)(void *self, int64_t timeout_ns);
    /* How the source is; any thread, while it is open. NULL: there is nothing to say. */
    void (*describe)(void *self, struct vamp_source_state *ret_state);
    /* Ends the connection or closes the file and frees everything. 0 or -errno; the object is
     * gone either way. */
    int (*close)(void *self, struct vamp_err *err);
};

extern const struct vamp_source_ops vamp_source_maestro;
extern const struct vamp_source_ops vamp_source_replay;
extern const struct vamp_source_ops vamp_source_synthetic;

/* All of them, ended by NULL; the first is the default. */
extern const struct vamp_source_ops *const vamp_sources[];
/* The one of this name, NULL when there is none. */
const struct vamp_source_ops *vamp_source_find(const char *name);
/* Where the functions of a source are: those of vamp_source_maestro, whose are NULL, are loaded,
 * for good. NULL with `err`: they are not there, or of another build. */
const struct vamp_source_ops *vamp_source_load(const struct vamp_source_ops *source,
                                               struct vamp_err *err);
