/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of an examination: each is a component (or the pool manager) of a small workflow
 * and does what it is told, one order after the other, so that what has happened is known and one
 * that is held up holds up nobody else. One thread.
 */
#ifndef VAMP_LIVE_ACTOR_H
#define VAMP_LIVE_ACTOR_H

#include <stdint.h>
#include <sys/types.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

/* What to do; an operation on a CDO is its enum vamp_event_kind. */
enum vamp_act {
    VAMP_ACT_MANAGE = VAMP_EVENT_KIND_COUNT, /* be the pool manager; the answer is its info */
    VAMP_ACT_JOIN,                           /* by the info that is the order's text */
    VAMP_ACT_SUBSCRIBE,
    VAMP_ACT_SUBSCRIBE_BEFORE, /* to DEMAND, before it is handled */
    VAMP_ACT_DROP_BEFORE,
    VAMP_ACT_TAKE, /* the events that have come */
    VAMP_ACT_FLOOD,
    VAMP_ACT_LEAVE,
};

#define VAMP_ACT_CDOS 4
#define VAMP_ACT_BYTES 4096 /* of each CDO that is offered */
#define VAMP_ACT_TEXT_BYTES 4096
#define VAMP_SEEN_MAX 256

struct vamp_order {
    unsigned act; /* enum vamp_act or vamp_event_kind */
    unsigned cdo; /* below VAMP_ACT_CDOS */
    char text[VAMP_ACT_TEXT_BYTES];
};

/* An event of one of the examination's CDOs; its name is void. */
enum vamp_stream { VAMP_STREAM_ALL, VAMP_STREAM_OFFERS, VAMP_STREAM_BEFORE };
#define VAMP_STREAM_COUNT 3
struct vamp_seen {
    enum vamp_stream stream;
    unsigned cdo;
    struct vamp_event event;
};

struct vamp_answer {
    bool done;                /* else `text` says why not */
    int64_t begin_ns, end_ns; /* UTC */
    uint64_t flooded;         /* events of floods: made or taken */
    uint64_t lost, gaps;      /* events taken: that were reported as lost, and missing numbers */
    char text[VAMP_ACT_TEXT_BYTES];
    unsigned count;
    struct vamp_seen seen[VAMP_SEEN_MAX];
};

struct vamp_actor {
    pid_t process;
    int socket;
    const char *workflow, *component;
};

/* Starts its process. `workflow` and `component` outlive it. 0 or -errno. */
VAMP_MUST_CHECK int vamp_actor_start(struct vamp_actor *actor, const char *workflow,
                                     const char *component, struct vamp_err *err);
/* `order` NULL: still that of before. 0; -ETIMEDOUT: there is no answer in this time; -EPROTO: it
 * could not, or has died. After a failure `ret_answer->text` says why. */
int vamp_actor_do(struct vamp_actor *actor, const struct vamp_order *order, int64_t timeout_ns,
                  struct vamp_answer *ret_answer);
/* It leaves the workflow; what does not end in time is killed. Zero-initialised is fine. */
void vamp_actor_end(struct vamp_actor *actor);

#endif
