/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repeated attempts to send to a server, with increasing pauses after failures. One thread at a
 * time.
 */
#pragma once

#include <stdint.h>

#include "vampire/core/err.h"

/* Maximum duration of a call of `write_bucket`. */
#define VAMP_ATTEMPT_NS (INT64_C(1000000000) / 2)

/* For messages: the consequence of an unreachable server. */
#define VAMP_BUCKETS_WAIT "buckets wait, then are lost and counted"

/* Zero-initialized: no attempt has failed. */
struct vamp_attempts {
    int64_t pause_ns; /* length of the pause before the next attempt */
    int64_t again_ns; /* end of the pause, monotonic */
    /* Reason of the newest attempt's failure; "": it did not fail. */
    char last[VAMP_ERR_TEXT_BYTES];
};

/* Waits until the next attempt is due, for at most VAMP_ATTEMPT_NS. Returns 0, or -EAGAIN, with the
 * reason of the newest failure, if it is not due yet. */
VAMP_MUST_CHECK int vamp_attempts_await(const struct vamp_attempts *attempts, struct vamp_err *err);
/* Records a failure with its reason. Returns -EAGAIN. */
int vamp_attempts_failed(struct vamp_attempts *attempts, struct vamp_err *err, const char *format,
                         ...) VAMP_PRINTF(3, 4);
/* After a failure: postpones the next attempt by the time that the server requests, at most
 * VAMP_POSTPONE_NS. */
#define VAMP_POSTPONE_NS (INT64_C(60000000000))
void vamp_attempts_postpone(struct vamp_attempts *attempts, int64_t seconds);
/* Records that the attempt succeeded. */
void vamp_attempts_succeeded(struct vamp_attempts *attempts);
