/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for the system's log. What its reader does not take at once waits, at most
 * VAMP_SYSLOG_WAITING_MAX messages, and is sent again; further ones are dropped and counted:
 * submitted = sent + dropped + waiting. Worker thread; only `finish` waits.
 */
#ifndef VAMP_ALARMS_ACTIONS_SYSLOG_QUEUE_H
#define VAMP_ALARMS_ACTIONS_SYSLOG_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_SYSLOG_WAITING_MAX 64

struct vamp_syslog_queue;

struct vamp_syslog_account {
    uint64_t sent, dropped, waiting;
};

/* `path` is the reader's socket, borrowed. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_syslog_queue_create(const char *path, struct vamp_syslog_queue **ret_queue,
                                             struct vamp_err *err);
/* Copies the message, and sends it unless others wait. False: it was dropped, and counted. */
bool vamp_syslog_queue_submit(struct vamp_syslog_queue *queue, const char *message);
/* Sends what waits, as far as the reader takes it. */
void vamp_syslog_queue_send(struct vamp_syslog_queue *queue);
void vamp_syslog_queue_account(const struct vamp_syslog_queue *queue,
                               struct vamp_syslog_account *ret_account);
/* Why messages wait or were dropped; "": none did. */
const char *vamp_syslog_queue_reason(const struct vamp_syslog_queue *queue);
/* Waits until all have been sent, at most `deadline_ns`; the rest is dropped. */
void vamp_syslog_queue_finish(struct vamp_syslog_queue *queue, int64_t deadline_ns);
/* NULL-safe; what waits is dropped. */
void vamp_syslog_queue_free(struct vamp_syslog_queue *queue);

#endif
