/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Membership in a pool: finding its pool manager, joining, subscribing to all wanted events,
 * leaving, and joining again when the pool manager is restarted. maestro.h supports only one
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
    bool without_before;     /* events before handling are not used any more */
    bool harmless;           /* they were found to block nothing */
    struct vamp_merge merge; /* of the subscriptions; empty while not joined */
    /* From the end of the pool manager until this process is in a pool again, or gives up.
     * Monotonic nanoseconds; the pause without its random part. */
    int64_t since_ns, until_ns, remind_ns, pause_ns, next_ns;
    uint64_t chance;
    struct stat info_file; /* at the last attempt; all zero: missing */
    struct vamp_err why;   /* of the last failed attempt */
    unsigned attempts;
};

static inline int64_t vamp_session_now(const struct vamp_session *session)
{
    return vamp_clock_monotonic_ns(session->context.clock);
}

/* Extracts the info from a text that is the bare info, or contains the line
 * "MSTRO_POOL_MANAGER_INFO;<info>;" that a pool manager prints. 0; -EAGAIN: not (or not completely)
 * there; -EINVAL: the text can never become an info. On success `info` is terminated. */
VAMP_MUST_CHECK int vamp_maestro_info_parse(const char *text, char *info, size_t bytes);

/* Stores the info of the options where mstro_init looks for it. 0, -EAGAIN: it is not there yet, or
 * another -errno. */
VAMP_MUST_CHECK int vamp_session_info(const struct vamp_maestro_options *options,
                                      struct vamp_err *err);

/* The meaning of a status and its cause; any thread. */
struct vamp_status_text {
    char text[256];
};
struct vamp_status_text vamp_maestro_status_text(mstro_status status);

/* Joins and subscribes; before the source thread exists. Tries for the configured time, unless
 * `*context.stop` is set, and reports what it waits for to the user. 0, -ETIMEDOUT, -ECANCELED,
 * -ENOTCONN, -EINVAL: Maestro does not accept the request; or another -errno; after a failure this
 * process is in no workflow. */
VAMP_MUST_CHECK int vamp_session_begin(struct vamp_session *session, struct vamp_err *err);
/* The operations that are also reported before they are handled with these options: bits of event
 * kinds. */
uint64_t vamp_session_before(const struct vamp_session *session);
/* Disposes of all subscriptions and leaves; `answered`: the time it takes counts as a round trip.
 * 0; -EIO: Maestro reports a failure other than that there is no pool manager. */
VAMP_MUST_CHECK int vamp_session_end(struct vamp_session *session, bool answered,
                                     struct vamp_err *err);

/* To be called when the pool manager is gone and this process has left; notifies the user. From
 * here on the same info is tried with growing pauses, and at once when the info file has changed.
 * The state of the old pool is void; the source reports that with the control events GONE and
 * UNWATCHED. */
void vamp_session_seek(struct vamp_session *session);
enum vamp_rejoin_status { VAMP_REJOIN_WAIT, VAMP_REJOIN_BACK, VAMP_REJOIN_OVER };
/* Waits at most `timeout_ns`, and makes an attempt if one is due (it may take some seconds). BACK:
 * joined and subscribed. OVER: the time is over. */
enum vamp_rejoin_status vamp_session_try(struct vamp_session *session, int64_t timeout_ns);
