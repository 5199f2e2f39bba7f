/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/actions/syslog_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vampire/core/clock.h"
#include "writers/format/system_log.h"

#define PAUSE_NS 20000000L

struct vamp_syslog_queue {
    struct vamp_log_socket socket;
    char *messages[VAMP_SYSLOG_WAITING_MAX]; /* owned; a ring */
    unsigned first, count;
    uint64_t sent, dropped;
    char reason[VAMP_ERR_TEXT_BYTES];
};

int vamp_syslog_queue_create(const char *path, struct vamp_syslog_queue **ret_queue,
                             struct vamp_err *err)
{
    struct vamp_syslog_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "actions of type syslog");
    }
    queue->socket = (struct vamp_log_socket){.path = path, .fd = -1};
    *ret_queue = queue;
    return 0;
}

static void remove_first(struct vamp_syslog_queue *queue)
{
    free(queue->messages[queue->first]);
    queue->first = (queue->first + 1) % VAMP_SYSLOG_WAITING_MAX;
    queue->count--;
}

void vamp_syslog_queue_send(struct vamp_syslog_queue *queue)
{
    struct vamp_err err = VAMP_ERR_NONE;
    while (queue->count > 0) {
        const char *message = queue->messages[queue->first];
        if (vamp_log_send(&queue->socket, message, strlen(message), 0, &err) != 0) {
            (void)snprintf(queue->reason, sizeof queue->reason, "%s", err.text);
            return;
        }
        queue->sent++;
        remove_first(queue);
    }
}

bool vamp_syslog_queue_submit(struct vamp_syslog_queue *queue, const char *message)
{
    const bool room = queue->count < VAMP_SYSLOG_WAITING_MAX;
    char *copy = room ? strdup(message) : NULL;
    if (copy == NULL) {
        if (room) {
            (void)snprintf(queue->reason, sizeof queue->reason, "no memory");
        }
        queue->dropped++;
        return false;
    }
    queue->messages[(queue->first + queue->count++) % VAMP_SYSLOG_WAITING_MAX] = copy;
    vamp_syslog_queue_send(queue);
    return true;
}

void vamp_syslog_queue_account(const struct vamp_syslog_queue *queue,
                               struct vamp_syslog_account *ret_account)
{
    *ret_account = (struct vamp_syslog_account){
        .sent = queue->sent, .dropped = queue->dropped, .waiting = queue->count};
}

const char *vamp_syslog_queue_reason(const struct vamp_syslog_queue *queue)
{
    return queue->reason;
}

void vamp_syslog_queue_finish(struct vamp_syslog_queue *queue, int64_t deadline_ns)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + deadline_ns;
    vamp_syslog_queue_send(queue);
    while (queue->count > 0 && vamp_clock_monotonic_ns(&vamp_clock_system) < until_ns) {
        (void)nanosleep(&pause, NULL);
        vamp_syslog_queue_send(queue);
    }
    queue->dropped += queue->count;
    while (queue->count > 0) {
        remove_first(queue);
    }
}

void vamp_syslog_queue_free(struct vamp_syslog_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    while (queue->count > 0) {
        remove_first(queue);
    }
    vamp_log_close(&queue->socket);
    free(queue);
}
