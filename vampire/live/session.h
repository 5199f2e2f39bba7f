/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Membership in a pool: finding the pool manager, joining, subscribing to all required events,
 * leaving, and joining again when the pool manager has been restarted. maestro.h supports only one
 * membership per process. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include <maestro.h>

#include "vampire/core/err.h"
#include "vampire/live/maestro_merge.h"
#include "vampire/source/live.h"

struct vamp_session {
    const struct vamp_maestro_options *options;
    struct vamp_source_context context;
    bool joined;
    bool without_before;     /* SIGNAL_BEFORE is no longer subscribed to */
    bool harmless;           /* such events were found not to block operations */
    struct vamp_merge merge; /* the subscriptions; empty while not joined */
    /* The search for a new pool manager, from the end of the old one until this process has joined
     * again or the search times out. All times are monotonic. */
    int64_t since_ns;  /* start of the search */
    int64_t until_ns;  /* when the search times out; also for the first join */
    int64_t remind_ns; /* when the next message is due */
    int64_t pause_ns;  /* pause before the attempt after the next one, without its random part */
    int64_t next_ns;   /* when the next attempt is due */
    uint64_t chance;
    struct stat info_file; /* state at the last attempt; all zeros: the file was missing */
    struct vamp_err why;   /* reason for the last failed attempt */
    unsigned attempts;
};

static inline int64_t vamp_session_now(const struct vamp_session *session)
{
    return vamp_clock_monotonic_ns(session->context.clock);
}

/* Extracts the info from a text that is either the info itself or contains the line
 * "MSTRO_POOL_MANAGER_INFO;<info>;" printed by a pool manager. Returns 0; -EAGAIN: not present, or
 * incomplete; -EINVAL: the text can never become an info. On success `info` is NUL-terminated. */
VAMP_MUST_CHECK int vamp_maestro_info_parse(const char *text, char *info, size_t bytes);

/* Stores the info from the options in the environment variable that mstro_init reads. Returns 0;
 * -EAGAIN: not available yet; or another -errno. */
VAMP_MUST_CHECK int vamp_session_info(const struct vamp_maestro_options *options,
                                      struct vamp_err *err);

/* The meaning of a status and its likely cause; any thread. */
struct vamp_status_text {
    char text[256];
};
struct vamp_status_text vamp_maestro_status_text(mstro_status status);

/* Joins and subscribes; must be called before the source thread exists. Retries for the configured
 * time, until `*context.stop` is set, and reports to the user why it waits. Returns 0; -ETIMEDOUT;
 * -ECANCELED; -ENOTCONN; -EINVAL: Maestro rejects the request; or another -errno. After a failure
 * this process is not in a workflow. */
VAMP_MUST_CHECK int vamp_session_begin(struct vamp_session *session, struct vamp_err *err);
/* Returns the operations that these options also report before they are handled: one bit per event
 * kind. */
uint64_t vamp_session_before(const struct vamp_session *session);
/* Returns whether the subscriptions include all kinds of events of all CDOs and, if this Maestro
 * has them, operations before they are handled. */
bool vamp_session_has_all(const struct vamp_session *session);
/* Disposes of all subscriptions and leaves. `answered`: its duration counts as a round trip.
 * Returns 0; -EIO: Maestro reports a failure, other than that the pool manager is gone. */
VAMP_MUST_CHECK int vamp_session_end(struct vamp_session *session, bool answered,
                                     struct vamp_err *err);

/* Starts the search for a new pool manager, and notifies the user. To be called when the pool
 * manager is gone and this process has left. The same info is tried with increasing pauses, and at
 * once when the info file has changed. The state of the old pool is void, which the source reports
 * with the control events GONE and UNWATCHED. */
void vamp_session_seek(struct vamp_session *session);
enum vamp_rejoin_status { VAMP_REJOIN_WAIT, VAMP_REJOIN_BACK, VAMP_REJOIN_OVER };
/* Waits at most `timeout_ns`, and makes an attempt if one is due, which may take several seconds.
 * Returns BACK: joined and subscribed; OVER: the time limit has passed; or that the search
 * continues. */
enum vamp_rejoin_status vamp_session_try(struct vamp_session *session, int64_t timeout_ns);
