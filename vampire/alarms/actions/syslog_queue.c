/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/actions/syslog_queue.h"

#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "vampire/core/clock.h"
#include "vampire/core/thread.h"

struct message {
    int priority;
    char *text; /* owned */
};

struct vamp_syslog_queue {
    pthread_mutex_t lock; /* of all down to the thread */
    pthread_cond_t changed;
    struct message messages[VAMP_SYSLOG_WAITING_MAX];
    unsigned first, count;
    uint64_t submitted;
    struct vamp_syslog_account account; /* but for `waiting` */
    bool finishing, done;

    pthread_t thread;
    bool started, abandoned;
};

static void *run_syslog(void *context)
{
    struct vamp_syslog_queue *queue = context;
    (void)pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (queue->count == 0 && !queue->finishing) {
            (void)pthread_cond_wait(&queue->changed, &queue->lock);
        }
        if (queue->count == 0) {
            break;
        }
        const struct message message = queue->messages[queue->first];
        queue->first = (queue->first + 1) % VAMP_SYSLOG_WAITING_MAX;
        queue->count--;
        (void)pthread_mutex_unlock(&queue->lock);
        syslog(message.priority, "%s", message.text);
        free(message.text);
        (void)pthread_mutex_lock(&queue->lock);
        queue->account.sent += !queue->abandoned; /* else it is in the account as dropped */
    }
    queue->done = true;
    (void)pthread_cond_broadcast(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
    return NULL;
}

static void release_queue(struct vamp_syslog_queue *queue)
{
    (void)pthread_cond_destroy(&queue->changed);
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue);
}

int vamp_syslog_queue_create(struct vamp_syslog_queue **ret_queue, struct vamp_err *err)
{
    struct vamp_syslog_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "actions of type syslog");
    }
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&queue->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&queue->lock, NULL);
    openlog("vampire", LOG_PID, LOG_DAEMON);
    const int code = vamp_thread_start(&queue->thread, "syslog", run_syslog, queue, err);
    if (code != 0) {
        release_queue(queue);
        return code;
    }
    queue->started = true;
    *ret_queue = queue;
    return 0;
}

bool vamp_syslog_queue_submit(struct vamp_syslog_queue *queue, int priority, const char *text)
{
    char *copy = strdup(text);
    (void)pthread_mutex_lock(&queue->lock);
    queue->submitted++;
    const bool room = copy != NULL && queue->count < VAMP_SYSLOG_WAITING_MAX && !queue->finishing;
    if (room) {
        queue->messages[(queue->first + queue->count) % VAMP_SYSLOG_WAITING_MAX] =
            (struct message){priority, copy};
        queue->count++;
        (void)pthread_cond_broadcast(&queue->changed);
    } else {
        queue->account.dropped++;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    if (!room) {
        free(copy);
    }
    return room;
}

void vamp_syslog_queue_account(struct vamp_syslog_queue *queue,
                               struct vamp_syslog_account *ret_account)
{
    (void)pthread_mutex_lock(&queue->lock);
    *ret_account = queue->account;
    ret_account->waiting = queue->submitted - queue->account.sent - queue->account.dropped;
    (void)pthread_mutex_unlock(&queue->lock);
}

void vamp_syslog_queue_finish(struct vamp_syslog_queue *queue, int64_t deadline_ns)
{
    if (!queue->started) {
        return;
    }
    queue->started = false;
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + deadline_ns;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / VAMP_NS_PER_SECOND),
                                   .tv_nsec = (long)(until_ns % VAMP_NS_PER_SECOND)};
    (void)pthread_mutex_lock(&queue->lock);
    queue->finishing = true;
    (void)pthread_cond_broadcast(&queue->changed);
    int code = 0;
    while (!queue->done && code == 0) {
        code = pthread_cond_timedwait(&queue->changed, &queue->lock, &until);
    }
    const bool done = queue->done;
    queue->abandoned = !done;
    queue->account.dropped = done ? queue->account.dropped : queue->submitted - queue->account.sent;
    (void)pthread_mutex_unlock(&queue->lock);
    if (done) {
        (void)pthread_join(queue->thread, NULL);
        closelog();
    } else {
        (void)pthread_detach(queue->thread); /* its memory stays: it may still use it */
    }
}

void vamp_syslog_queue_free(struct vamp_syslog_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    vamp_syslog_queue_finish(queue, 0);
    if (!queue->abandoned) {
        release_queue(queue);
    }
}
