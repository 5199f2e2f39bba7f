/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the pool manager and joining its workflow; runs before the source thread exists. */
#ifndef VAMP_LIVE_MAESTRO_JOIN_H
#define VAMP_LIVE_MAESTRO_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/source/maestro_options.h"
#include "vampire/source/source.h"

/* The info in a text that is the bare info, or has the line "MSTRO_POOL_MANAGER_INFO;<info>;" that
 * a pool manager prints, among others perhaps. 0; -EAGAIN: not (or not completely) there; -EINVAL:
 * what is there can never be an info. On success `info` is terminated. */
VAMP_MUST_CHECK int vamp_maestro_info_parse(const char *text, char *info, size_t bytes);

/* One attempt. 0; -EAGAIN: worth another one; or another -errno. */
VAMP_MUST_CHECK int vamp_maestro_join_once(const struct vamp_maestro_options *options,
                                           const struct vamp_source_context *context,
                                           int64_t *ret_ns, struct vamp_err *err);
/* Tries until it has joined, the (monotonic) time is over or `*context->stop` is set, and reports
 * the user what it waits for. `*ret_ns`: how long the join itself took. 0, -ETIMEDOUT, -ECANCELED,
 * -EINVAL or another -errno; after a failure this process is in no workflow. */
VAMP_MUST_CHECK int vamp_maestro_join(const struct vamp_maestro_options *options,
                                      const struct vamp_source_context *context, int64_t until_ns,
                                      int64_t *ret_ns, struct vamp_err *err);

#endif
