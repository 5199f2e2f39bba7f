/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One membership in a pool: joined, subscribed to everything that is wanted, and left again. A
 * source has one after the other when the pool manager is restarted. maestro.h knows only one a
 * process. Not at the same time on two threads.
 */
#ifndef VAMP_LIVE_MAESTRO_SESSION_H
#define VAMP_LIVE_MAESTRO_SESSION_H

#include "vampire/core/err.h"
#include "vampire/live/maestro_merge.h"
#include "vampire/source/maestro_options.h"
#include "vampire/source/source.h"

/* This process has joined: subscribes, and adds the subscriptions to the empty `merge`. 0;
 * -ENOTCONN: the pool manager is gone again; -EINVAL: Maestro does not accept what is asked;
 * another -errno. On failure this process has left. */
VAMP_MUST_CHECK int vamp_maestro_subscribe(const struct vamp_maestro_options *options,
                                           const struct vamp_source_context *context,
                                           struct vamp_merge *merge, struct vamp_err *err);
/* Disposes of everything in `merge`, which is empty then, and leaves. 0; -EIO: Maestro says that it
 * failed, but not because there is no pool manager. */
VAMP_MUST_CHECK int vamp_maestro_leave(const struct vamp_source_context *context,
                                       struct vamp_merge *merge, struct vamp_err *err);

#endif
