/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to syslog(3) from a thread of its own, since the system's logger may make its clients
 * wait. At most VAMP_SYSLOG_WAITING_MAX messages wait; further ones are dropped and counted:
 * submitted = sent + dropped + waiting. Worker thread.
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

/* Starts the thread. 0, -ENOMEM or another -errno. */
VAMP_MUST_CHECK int vamp_syslog_queue_create(struct vamp_syslog_queue **ret_queue,
                                             struct vamp_err *err);
/* `priority` is a facility and a severity of syslog(3). Copies the text; never blocks. False: it
 * was dropped, and counted. */
bool vamp_syslog_queue_submit(struct vamp_syslog_queue *queue, int priority, const char *text);
void vamp_syslog_queue_account(struct vamp_syslog_queue *queue,
                               struct vamp_syslog_account *ret_account);
/* Waits until all have been sent, at most `deadline_ns`; the rest is dropped. */
void vamp_syslog_queue_finish(struct vamp_syslog_queue *queue, int64_t deadline_ns);
/* NULL-safe; finishes without waiting if that was not done. */
void vamp_syslog_queue_free(struct vamp_syslog_queue *queue);

#endif
