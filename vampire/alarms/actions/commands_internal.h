/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands, split: commands.c is the interface and the account, commands_thread.c the thread.
 * Private to these.
 */
#ifndef VAMP_ALARMS_ACTIONS_COMMANDS_INTERNAL_H
#define VAMP_ALARMS_ACTIONS_COMMANDS_INTERNAL_H

#include <pthread.h>

#include "vampire/alarms/actions/commands.h"
#include "vampire/alarms/actions/process.h"
#include "vampire/core/clock.h"

#define MESSAGES_MAX 8
/* A command that was submitted, in one piece of memory. */
struct job {
    struct job *next;
    unsigned lane;
    int64_t timeout_ns;
    const char *about;
    const char *input;
    size_t input_bytes;
    char *argv[]; /* ended by NULL; the texts are behind it */
};

struct running {
    struct job *job; /* NULL: free */
    struct vamp_process process;
    bool given_up; /* ended because the run is over */
};

struct vamp_commands {
    char **environment;
    int wake; /* an eventfd: there is something new */

    pthread_mutex_t lock; /* of all down to the thread's */
    pthread_cond_t changed;
    struct job *first, **end; /* those that wait, oldest first */
    struct vamp_commands_account account;
    unsigned waiting; /* in the list */
    char messages[MESSAGES_MAX][VAMP_ERR_TEXT_BYTES];
    unsigned message_first, message_count;
    uint64_t messages_dropped;
    int64_t give_up_ns; /* monotonic; INT64_MAX until finish */
    bool finishing, done;

    pthread_t thread;
    bool started, abandoned;

    struct running running[VAMP_COMMANDS_RUNNING_MAX]; /* the thread's */
};

static inline int64_t commands_now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

/* ---- commands.c */

/* Keeps a message for vamp_commands_message. With the lock held. */
void commands_add_message(struct vamp_commands *commands, const char *text);

/* ---- commands_thread.c */

/* The thread; `context` is the commands. */
void *commands_run(void *context);

#endif
