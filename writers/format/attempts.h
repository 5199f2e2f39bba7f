/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attempts to send to a server, with increasing pauses after failures. One thread at a time.
 */
#pragma once

#include <stdint.h>

#include "vampire/core/err.h"

/* How long a call of `write_bucket` may take. */
#define VAMP_ATTEMPT_NS (INT64_C(1000000000) / 2)

/* For messages: what happens while there is no server. */
#define VAMP_BUCKETS_WAIT "buckets wait, then are lost and counted"

/* Zeroes: no attempt has failed. */
struct vamp_attempts {
    int64_t pause_ns, again_ns;     /* the pause before the next attempt, and its end; monotonic */
    char last[VAMP_ERR_TEXT_BYTES]; /* why the newest attempt failed; "": it did not */
};

/* Waits until the next attempt is due, for at most VAMP_ATTEMPT_NS. 0; -EAGAIN: it is not due yet,
 * with the reason of the newest failure. */
VAMP_MUST_CHECK int vamp_attempts_await(const struct vamp_attempts *attempts, struct vamp_err *err);
/* Records a failure with its reason. Returns -EAGAIN. */
int vamp_attempts_failed(struct vamp_attempts *attempts, struct vamp_err *err, const char *format,
                         ...) VAMP_PRINTF(3, 4);
/* After a failure: waits as long as the server requests, at most VAMP_POSTPONE_NS. */
#define VAMP_POSTPONE_NS (INT64_C(60000000000))
void vamp_attempts_postpone(struct vamp_attempts *attempts, int64_t seconds);
/* The attempt succeeded. */
void vamp_attempts_succeeded(struct vamp_attempts *attempts);
