/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of the sources of events: the live source (`maestro`), a recording (`replay`) and a
 * generator (`synthetic`). The other modules do not depend on the kind of source. `open` is called
 * before the source thread is created and `close` after it has ended. All other functions are
 * called on one thread: the source thread or, for a source that may block, the worker thread.
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

/* Results of `next`. The list is complete: the main loop handles each result. */
enum vamp_source_status {
    VAMP_SOURCE_MORE,    /* an event was returned; call again */
    VAMP_SOURCE_EMPTY,   /* no event is available now; call `wait` */
    VAMP_SOURCE_END,     /* the workflow or recording is complete; no event will follow */
    VAMP_SOURCE_GONE,    /* the pool manager is gone permanently; `err` has details */
    VAMP_SOURCE_DAMAGED, /* as END, but the recording is damaged; `err` has the reason */
    VAMP_SOURCE_ERROR,   /* `err` has the reason; only `close` may be called */
};

/* State of a source, for display. */
#define VAMP_SOURCE_TROUBLE_BYTES 256
#define VAMP_SOURCE_WHERE_BYTES 9
struct vamp_source_state {
    const char *what;                        /* constant text that describes the state */
    int64_t since_ns;                        /* monotonic time at which this state started */
    unsigned rejoins;                        /* number of times the source joined a pool again */
    char where[VAMP_SOURCE_WHERE_BYTES];     /* hash of the pool manager's info */
    char trouble[VAMP_SOURCE_TROUBLE_BYTES]; /* the latest error; "" if none */
};

/* Operations of vampire itself on the pool whose duration is measured. */
enum vamp_own_operation { VAMP_OWN_JOIN, VAMP_OWN_SUBSCRIBE, VAMP_OWN_LEAVE };
#define VAMP_OWN_OPERATION_COUNT 3

/* Passed to every source. */
struct vamp_source_context {
    const struct vamp_clock *clock;
    uint64_t event_kinds;             /* bits of enum vamp_event_kind: the required kinds */
    const char *workflow, *component; /* names of vampire itself; "" if none */
    const char *selector;             /* selector that Maestro applies; NULL: all events */
    /* Reports that something takes longer than expected; one line, no newline. Called by open, and
     * on the source thread when the pool manager is gone. */
    void (*say)(void *say_context, const char *line);
    void *say_context;
    const atomic_int *stop; /* non-zero: `open` and `wait` return soon */
    /* Called by `open` and `close`, and on the source thread when it rejoins, with the round-trip
     * time of each operation of vampire itself (metric own_roundtrip_ns). NULL: not measured. */
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
/* Returns whether the event is of a required kind; control events and samples always are. */
static inline bool vamp_source_is_wanted(const struct vamp_source_context *context,
                                         const struct vamp_event *event)
{
    return event->kind >= VAMP_EVENT_SAMPLE ||
           (context->event_kinds & VAMP_EVENT_BIT(event->kind)) != 0;
}

/* Result of `rest`: the number of events is not known. */
#define VAMP_REST_UNKNOWN UINT64_MAX

struct vamp_source_ops {
    const char *name;
    const char *summary;            /* one line for --help */
    const struct vamp_opt *options; /* fills a struct of `options_bytes` */
    size_t options_bytes;
    const struct vamp_opt_conditions
        *conditions; /* conditions for options to have an effect; NULL: none */
    /* Events arrive when they happen: their age is measured; time advances without events. */
    bool is_live;
    /* The source is read only when the queue has free memory, so that a slow output delays the
     * source and no event is lost. False: events that do not fit are dropped and counted. */
    bool may_block;
    /* For sources that do not block: events that are not read wait in a limited queue outside the
     * process. If that queue is full, further events are dropped and counted, and no component is
     * delayed. The reader therefore does not read while the ring is full. */
    bool may_wait;
    /* For sources that may block: texts of events remain valid until the call after EMPTY. */
    bool keeps_texts;
    /* The first filter may use CDO attributes: the source applies the selector of the context. */
    bool knows_attributes;
    /* The configuration must name the workflow. */
    bool needs_workflow;

    /* Connects to the pool, or opens the file. May block for the configured time while `*stop` is
     * 0. Returns 0; -ETIMEDOUT if there was no answer in the configured time; -ECANCELED if `*stop`
     * was set; or another -errno. On failure all resources are released. Copies `*context`; objects
     * that `*context` points to, and `options`, belong to the caller and must outlive it. */
    int (*open)(const void *options, const struct vamp_source_context *context, void **ret_self,
                struct vamp_err *err);
    /* Returns the workflow of the events, or NULL; valid until close. The member may be NULL. */
    const char *(*workflow)(const void *self);
    /* Returns the kinds of events (bits of enum vamp_event_kind). A NULL member means all kinds. */
    uint64_t (*kinds)(const void *self);
    /* Returns bits of enum vamp_unknown: data that the source does not report. Bits may be added
     * later. A NULL member means that the source reports all data. Any thread. */
    uint32_t (*unknown)(const void *self);
    /* Returns the result of an examination of the source's Maestro as one line; NULL if there is
     * none. Valid until close. The member may be NULL. */
    const char *(*examined)(const void *self);
    /* Returns the next event; never blocks. MORE: `*ret_event` is set; its text is valid until the
     * next call, or longer with `keeps_texts`. Lost events are returned as VAMP_EVENT_LOST, and
     * undecodable events as VAMP_EVENT_REJECTED. The end of a pool is returned as VAMP_EVENT_GONE,
     * followed by VAMP_EVENT_UNWATCHED when another pool is joined or the source ends. */
    enum vamp_source_status (*next)(void *self, struct vamp_event *ret_event, struct vamp_err *err);
    /* Blocks until `next` may have a result, for at most `timeout_ns`. */
    void (*wait)(void *self, int64_t timeout_ns);
    /* Returns whether events have arrived that `next` holds back until earlier events may no longer
     * arrive. The member may be NULL: never. */
    bool (*holds)(const void *self);
    /* Ends the subscription: `next` returns the events from before this call and then END. Waits at
     * most `timeout_ns` for the answer of the pool manager. Returns false if no events can be
     * waiting; reading then stops at once. The member may be NULL: as if it returned false. */
    bool (*finish)(void *self, int64_t timeout_ns);
    /* After `finish`: stores a LOST event. Its `count` is the number of events from before `finish`
     * that `next` has not returned; it may be 0 or VAMP_REST_UNKNOWN. */
    void (*rest)(void *self, struct vamp_event *ret_lost);
    /* Returns the fraction of a file that was read; 0 if it is not known. On the thread that calls
     * `next`. The member may be NULL. */
    double (*fraction_read)(const void *self);
    /* Sets the state of the open source. Any thread. The member may be NULL. */
    void (*describe)(void *self, struct vamp_source_state *ret_state);
    /* Disconnects or closes the file, and frees the object. Returns 0 or -errno; the object is
     * freed in both cases. */
    int (*close)(void *self, struct vamp_err *err);
};

extern const struct vamp_source_ops vamp_source_maestro;
extern const struct vamp_source_ops vamp_source_replay;
extern const struct vamp_source_ops vamp_source_synthetic;

/* All sources, terminated by NULL; the first source is the default. */
extern const struct vamp_source_ops *const vamp_sources[];
/* Returns the source with this name; NULL if there is none. */
const struct vamp_source_ops *vamp_source_find(const char *name);
/* Returns the functions of a source. The functions of vamp_source_maestro are NULL until this
 * function has loaded them; they remain loaded. Returns NULL with a text in `err` if they are
 * missing or belong to another build. */
const struct vamp_source_ops *vamp_source_load(const struct vamp_source_ops *source,
                                               struct vamp_err *err);
