/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attempts to send to a server. After a failure the next attempt waits, longer each time, so that a
 * server that is down is not asked ten times a second. One thread at a time.
 */
#pragma once

#include <stdint.h>

#include "vampire/core/err.h"

/* How long a call of `write_bucket` may take. */
#define VAMP_ATTEMPT_NS (INT64_C(1000000000) / 2)

/* What a format's messages say of the time without a server. */
#define VAMP_BUCKETS_WAIT "buckets wait, then are lost and counted"

/* Zeroes: no attempt has failed. */
struct vamp_attempts {
    int64_t pause_ns, again_ns;     /* the pause before the next attempt, and its end; monotonic */
    char last[VAMP_ERR_TEXT_BYTES]; /* why the newest attempt failed; "": it did not */
};

/* Waits until the next attempt is due, for VAMP_ATTEMPT_NS at most. 0; -EAGAIN: it is not due yet,
 * with why the newest one failed. */
VAMP_MUST_CHECK int vamp_attempts_await(const struct vamp_attempts *attempts, struct vamp_err *err);
/* The attempt failed, as the text says. -EAGAIN. */
int vamp_attempts_failed(struct vamp_attempts *attempts, struct vamp_err *err, const char *format,
                         ...) VAMP_PRINTF(3, 4);
/* After a failure: the server asks for a pause of so many seconds, of which it gets at most
 * VAMP_POSTPONE_NS. */
#define VAMP_POSTPONE_NS (INT64_C(60000000000))
void vamp_attempts_postpone(struct vamp_attempts *attempts, int64_t seconds);
/* The attempt succeeded. */
void vamp_attempts_succeeded(struct vamp_attempts *attempts);
