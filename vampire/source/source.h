/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Interface of sources of events: live (`maestro`), a recording (`replay`) or a generator
 * (`synthetic`). All functions are called by one thread: the source thread or, for sources that may
 * block, the worker; except open, which runs before the source thread exists, and close, after it
 * ended.
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

/* Result of `next`. */
enum vamp_source_status {
    VAMP_SOURCE_MORE,    /* an event was returned; call again */
    VAMP_SOURCE_EMPTY,   /* nothing now: wait */
    VAMP_SOURCE_END,     /* the workflow or recording is complete */
    VAMP_SOURCE_GONE,    /* the pool manager vanished for good; sets err */
    VAMP_SOURCE_DAMAGED, /* as END, but the recording is damaged; sets err */
    VAMP_SOURCE_ERROR,   /* sets err; the source can only be closed */
};

/* State of a source, for the status report. */
#define VAMP_SOURCE_TROUBLE_BYTES 256
#define VAMP_SOURCE_WHERE_BYTES 9
struct vamp_source_state {
    const char *what;                        /* constant text */
    int64_t since_ns;                        /* monotonic */
    unsigned rejoins;                        /* times it joined a pool again */
    char where[VAMP_SOURCE_WHERE_BYTES];     /* the pool: a hash of the pool manager's info */
    char trouble[VAMP_SOURCE_TROUBLE_BYTES]; /* last error; "" */
};

/* Operations of vampire itself, whose round-trip time is measured. */
enum vamp_own_operation { VAMP_OWN_JOIN, VAMP_OWN_SUBSCRIBE, VAMP_OWN_LEAVE };
#define VAMP_OWN_OPERATION_COUNT (VAMP_OWN_LEAVE + 1)

/* The environment of a source. */
struct vamp_source_context {
    const struct vamp_clock *clock;
    uint64_t event_kinds;             /* bit per enum vamp_event_kind: kinds to deliver */
    const char *workflow, *component; /* our own names; "" when there is none */
    const char *selector;             /* Maestro selector text, applied by the source; NULL: all */
    /* Reports delays and remarks; one line, no newline. Called by open, and by the source thread
     * when the pool manager is gone. */
    void (*say)(void *say_context, const char *line);
    void *say_context;
    const atomic_int *stop; /* non-zero: open and wait return soon */
    /* Receives the round-trip time of each of our own operations (metric own_roundtrip_ns). Called
     * by open and close, and by the source thread when it joins again. May be NULL. */
    void (*own_roundtrip)(void *own_roundtrip_context, enum vamp_own_operation operation,
                          int64_t ns);
    void *own_roundtrip_context;
};

/* Reports one line, if `say` is set. */
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
/* Whether the event is to be delivered: control events and samples always are. */
static inline bool vamp_source_is_wanted(const struct vamp_source_context *context,
                                         const struct vamp_event *event)
{
    return event->kind >= VAMP_EVENT_SAMPLE ||
           (context->event_kinds & VAMP_EVENT_BIT(event->kind)) != 0;
}

struct vamp_source_ops {
    const char *name;
    const char *summary;            /* one line for --help */
    const struct vamp_opt *options; /* for a struct of `options_bytes` */
    size_t options_bytes;
    const struct vamp_opt_conditions *conditions; /* of the options; NULL: each has an effect */
    /* Events arrive as they happen: their lag is measured, and time advances without events. */
    bool is_live;
    /* The source may be read late, when a slow output causes back-pressure, without losing events.
     * False: events that do not fit into the ring are lost and counted. */
    bool may_block;
    /* If `may_block`: the texts of events are valid until the call after EMPTY. */
    bool keeps_texts;
    /* The selector of the context is applied: the first filter may use CDO attributes. */
    bool knows_attributes;
    /* The configuration must name the workflow. */
    bool needs_workflow;

    /* Connects or opens the file. May block up to a configured time while `*stop` is 0. On failure
     * nothing remains allocated or open. 0; -ETIMEDOUT: no answer in the configured time;
     * -ECANCELED: `stop` was set; another -errno. Copies `*context`; what that points to, and
     * `options`, remain owned by the caller and must outlive the source. */
    int (*open)(const void *options, const struct vamp_source_context *context, void **ret_self,
                struct vamp_err *err);
    /* The workflow of the events, which overrides the configuration; NULL: not known. Valid until
     * close. The member may be NULL. */
    const char *(*workflow)(const void *self);
    /* The kinds of events that it has, bit per enum vamp_event_kind. The member may be NULL: all.
     */
    uint64_t (*kinds)(const void *self);
    /* What it does not report of events: bit per enum vamp_unknown; any thread. Bits may be added
     * later. The member may be NULL: it reports everything. */
    uint32_t (*unknown)(const void *self);
    /* The result of an examination of its Maestro, as one line; NULL: not known. Valid until close.
     * The member may be NULL. */
    const char *(*examined)(const void *self);
    /* Never blocks. MORE: `*ret_event` is set, its text is valid until the next call on this
     * source, or longer if `keeps_texts`. Control events: VAMP_EVENT_LOST for losses,
     * VAMP_EVENT_GONE when the pool manager is gone, VAMP_EVENT_UNWATCHED when another pool is
     * watched or none appeared, VAMP_EVENT_REJECTED for undecodable events. */
    enum vamp_source_status (*next)(void *self, struct vamp_event *ret_event, struct vamp_err *err);
    /* Blocks until `next` may have something, at most `timeout_ns`. */
    void (*wait)(void *self, int64_t timeout_ns);
    /* Reports the state; any thread, while the source is open. May be NULL. */
    void (*describe)(void *self, struct vamp_source_state *ret_state);
    /* Ends the connection or closes the file and frees everything. 0 or -errno; the source is freed
     * in either case. */
    int (*close)(void *self, struct vamp_err *err);
};

extern const struct vamp_source_ops vamp_source_maestro;
extern const struct vamp_source_ops vamp_source_replay;
extern const struct vamp_source_ops vamp_source_synthetic;

/* All sources, ended by NULL; the first is the default. */
extern const struct vamp_source_ops *const vamp_sources[];
/* NULL: no source has this name. */
const struct vamp_source_ops *vamp_source_find(const char *name);
/* The source with its functions: loads those of vamp_source_maestro, which has none itself. NULL
 * with `err`: they are missing, or from another build. */
const struct vamp_source_ops *vamp_source_load(const struct vamp_source_ops *source,
                                               struct vamp_err *err);
