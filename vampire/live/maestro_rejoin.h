/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the moment the pool manager is gone until this process is in a pool again, or gives up: the
 * same info is tried with growing pauses, and at once when the info file has changed. What vampire
 * then knows of the old pool is void; its source reports that with the marks GONE and UNWATCHED.
 * Source thread only.
 */
#ifndef VAMP_LIVE_MAESTRO_REJOIN_H
#define VAMP_LIVE_MAESTRO_REJOIN_H

#include <stdbool.h>
#include <sys/stat.h>

#include "vampire/live/backoff.h"
#include "vampire/live/maestro_session.h"

struct vamp_rejoin {
    int64_t since_ns, until_ns, remind_ns; /* monotonic */
    struct vamp_backoff backoff;
    struct stat info_file; /* as it was at the last attempt; all zero: not there */
    struct vamp_err why;   /* of the last attempt that failed */
    unsigned attempts;
};

/* The pool manager is gone; this process has left. Tells the user. */
void vamp_rejoin_begin(struct vamp_rejoin *rejoin, const struct vamp_maestro_options *options,
                       const struct vamp_source_context *context);
enum vamp_rejoin_status { VAMP_REJOIN_WAIT, VAMP_REJOIN_BACK, VAMP_REJOIN_OVER };
/* Waits at most `timeout_ns`, and tries if it is time for that (one attempt may take some seconds).
 * BACK: joined and subscribed. OVER: the time is over. */
enum vamp_rejoin_status vamp_rejoin_step(struct vamp_rejoin *rejoin,
                                         const struct vamp_maestro_options *options,
                                         const struct vamp_source_context *context,
                                         struct vamp_merge *merge, int64_t timeout_ns);
/* The state of the info file when a session begins, so that a later change is seen. */
void vamp_rejoin_note_info_file(struct vamp_rejoin *rejoin,
                                const struct vamp_maestro_options *options);

#endif
