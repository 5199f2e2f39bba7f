/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection process: libnats runs in a process of its own, so that a server whose bytes end
 * the library ends one connection, not the program and its other outputs. It is the same executable
 * (vamp_plug_in_serve), and ends when the program closes the socket. A process that ended is
 * started again after a pause, with another server first. serve.c is the other side. One thread at
 * a time.
 */
#pragma once

#include <sys/types.h>

#include "writers/format/attempts.h"
#include "writers/nats/frames.h"
#include "writers/nats/server.h"
#include "writers/nats/subscriber.h"
#include "writers/writer.h"

#define NATS_PROCESS_NAME VAMP_PLUG_IN_PROCESS "nats"
/* Maximum duration of a call, unless the caller specifies another one. */
#define NATS_CALL_NS VAMP_ATTEMPT_NS
/* Time limit for a reply, in addition to the time limit for writing to a server. */
#define NATS_SILENT_NS (INT64_C(10000000000))
/* For messages. */
#define NATS_PUBLISH_WHAT "publish at"
#define NATS_SUBSCRIBE_WHAT "subscribe at"
static inline const char *nats_meanwhile(const struct vamp_nats_subscription *subscription)
{
    return subscription->consumer != NULL ? "the stream keeps what is published meanwhile"
                                          : "what is published meanwhile is missed";
}
/* A subscriber's connection is closed when a write blocks for this long. */
#define NATS_SUBSCRIBER_WRITE_NS (INT64_C(5000000000))

struct nats_process {
    /* Set before nats_process_start. Borrowed. */
    const char *what;      /* for messages: "publish at" */
    const char *meanwhile; /* for messages: the consequence of a missing connection */
    enum nats_ask role;    /* NATS_ASK_PUBLISHER or NATS_ASK_SUBSCRIBER */
    int64_t silent_ns;     /* a process that has not replied for this long is ended */
    const struct vamp_nats_server *server;
    struct vamp_text options; /* of the role, without the server; owned */

    pid_t pid;       /* 0: not running */
    int socket;      /* with `pid` */
    unsigned starts; /* number of processes so far */
    bool configured; /* the process has accepted the first request */
    bool awaiting;   /* a request has no reply yet */
    int64_t asked_ns;
    struct vamp_attempts attempts;
    struct vamp_nats_subscriber_state state; /* from the newest reply, without `address` */
    char address[256];
    /* The newest reply, malloc'ed: its unread part is the message of NATS_ASK_NEXT. */
    char *reply;
    struct nats_rest rest;
};

/* Starts the process and waits until it has accepted its options, or failed in a way that another
 * attempt may mend. Returns 0 or -errno, for example of a file that cannot be read;
 * nats_process_done must follow in both cases. */
VAMP_MUST_CHECK int nats_process_start(struct nats_process *process, struct vamp_err *err);
/* Sends the request, unless it was sent before, and waits for the reply; starts the process if
 * necessary. While the result is -EAGAIN and `awaiting` is set, the next call must be for the same
 * request. Returns the result of the call in the process, or -EAGAIN, with an empty `err` if the
 * process may still reply. */
VAMP_MUST_CHECK int nats_process_call(struct nats_process *process, enum nats_ask ask,
                                      const struct vamp_text *request, int64_t timeout_ns,
                                      struct vamp_err *err);
/* Waits for the process to flush and end, for a short time. */
void nats_process_done(struct nats_process *process);
