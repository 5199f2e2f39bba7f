/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/actions/commands_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "vampire/core/thread.h"

/* Beyond the deadline and the grace, for a thread that is stuck in the operating system. */
#define STUCK_NS (VAMP_COMMANDS_GRACE_NS + VAMP_NS_PER_SECOND)

/* ---- messages; with the lock held */

void commands_add_message(struct vamp_commands *commands, const char *text)
{
    if (commands->message_count == MESSAGES_MAX) {
        commands->messages_dropped++;
        return;
    }
    const unsigned at = (commands->message_first + commands->message_count) % MESSAGES_MAX;
    (void)snprintf(commands->messages[at], sizeof commands->messages[at], "%s", text);
    commands->message_count++;
}

bool vamp_commands_message(struct vamp_commands *commands, char text[static VAMP_ERR_TEXT_BYTES])
{
    (void)pthread_mutex_lock(&commands->lock);
    const bool any = commands->message_count > 0 || commands->messages_dropped > 0;
    if (commands->message_count > 0) {
        memcpy(text, commands->messages[commands->message_first], VAMP_ERR_TEXT_BYTES);
        commands->message_first = (commands->message_first + 1) % MESSAGES_MAX;
        commands->message_count--;
    } else if (any) {
        (void)snprintf(text, VAMP_ERR_TEXT_BYTES,
                       "%" PRIu64 " more commands of alarms failed or were dropped",
                       commands->messages_dropped);
        commands->messages_dropped = 0;
    }
    (void)pthread_mutex_unlock(&commands->lock);
    return any;
}

/* ---- jobs */

static char *copy_text(char **room, const char *text, size_t bytes)
{
    char *copy = *room;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    *room += bytes + 1;
    return copy;
}

static struct job *make_job(const struct vamp_command *command)
{
    size_t count = 0;
    size_t bytes = strlen(command->about) + 1 + command->input_bytes + 1;
    for (; command->argv[count] != NULL; count++) {
        bytes += strlen(command->argv[count]) + 1;
    }
    struct job *job = malloc(sizeof *job + (count + 1) * sizeof job->argv[0] + bytes);
    if (job == NULL) {
        return NULL;
    }
    char *room = (char *)&job->argv[count + 1];
    for (size_t i = 0; i < count; i++) {
        job->argv[i] = copy_text(&room, command->argv[i], strlen(command->argv[i]));
    }
    job->argv[count] = NULL;
    job->about = copy_text(&room, command->about, strlen(command->about));
    job->input = copy_text(&room, command->input, command->input_bytes);
    job->input_bytes = command->input_bytes;
    job->lane = command->lane;
    job->timeout_ns = command->timeout_ns;
    job->next = NULL;
    return job;
}

static void wake_thread(const struct vamp_commands *commands)
{
    const uint64_t one = 1;
    (void)!write(commands->wake, &one, sizeof one); /* fails only when it is awake anyway */
}

bool vamp_commands_submit(struct vamp_commands *commands, const struct vamp_command *command)
{
    struct job *job = make_job(command);
    (void)pthread_mutex_lock(&commands->lock);
    commands->account.submitted++;
    const bool room =
        job != NULL && commands->waiting < VAMP_COMMANDS_WAITING_MAX && !commands->finishing;
    if (room) {
        *commands->end = job;
        commands->end = &job->next;
        commands->waiting++;
    } else {
        char text[VAMP_ERR_TEXT_BYTES];
        (void)snprintf(text, sizeof text, "%.80s: %.200s was not run: %s", command->about,
                       command->argv[0],
                       job == NULL ? "no memory" : "too many commands wait already");
        commands->account.dropped++;
        commands_add_message(commands, text);
    }
    (void)pthread_mutex_unlock(&commands->lock);
    if (room) {
        wake_thread(commands);
    } else {
        free(job);
    }
    return room;
}

void vamp_commands_account(struct vamp_commands *commands,
                           struct vamp_commands_account *ret_account)
{
    (void)pthread_mutex_lock(&commands->lock);
    *ret_account = commands->account;
    (void)pthread_mutex_unlock(&commands->lock);
    ret_account->waiting = ret_account->submitted - ret_account->succeeded - ret_account->failed -
                           ret_account->dropped;
}

/* ---- create and free */

static void release_commands(struct vamp_commands *commands)
{
    if (commands->wake >= 0) {
        (void)close(commands->wake);
    }
    (void)pthread_cond_destroy(&commands->changed);
    (void)pthread_mutex_destroy(&commands->lock);
    free(commands->environment);
    free(commands);
}

static int start_commands(struct vamp_commands *commands, struct vamp_err *err)
{
    const int self = pidfd_open(getpid(), 0);
    if (self < 0) {
        return vamp_err_set_errno(err, errno,
                                  "actions of type command: follow a process by a descriptor");
    }
    (void)close(self);
    commands->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (commands->wake < 0) {
        return vamp_err_set_errno(err, errno, "actions of type command: make an eventfd");
    }
    commands->environment = vamp_process_environment();
    if (commands->environment == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "actions of type command");
    }
    return vamp_thread_start(&commands->thread, "commands", commands_run, commands, err);
}

int vamp_commands_create(struct vamp_commands **ret_commands, struct vamp_err *err)
{
    struct vamp_commands *commands = calloc(1, sizeof *commands);
    if (commands == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "actions of type command");
    }
    commands->wake = -1;
    commands->end = &commands->first;
    commands->give_up_ns = INT64_MAX;
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&commands->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&commands->lock, NULL);
    const int code = start_commands(commands, err);
    commands->started = code == 0;
    if (code != 0) {
        release_commands(commands);
        return code;
    }
    *ret_commands = commands;
    return 0;
}

static bool wait_for_end(struct vamp_commands *commands, int64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / VAMP_NS_PER_SECOND),
                                   .tv_nsec = (long)(until_ns % VAMP_NS_PER_SECOND)};
    (void)pthread_mutex_lock(&commands->lock);
    while (!commands->done && commands_now_ns() < until_ns) {
        (void)pthread_cond_timedwait(&commands->changed, &commands->lock, &until);
    }
    const bool done = commands->done;
    (void)pthread_mutex_unlock(&commands->lock);
    return done;
}

void vamp_commands_finish(struct vamp_commands *commands, int64_t deadline_ns)
{
    if (!commands->started) {
        return;
    }
    const int64_t until_ns = commands_now_ns() + deadline_ns;
    (void)pthread_mutex_lock(&commands->lock);
    commands->finishing = true;
    commands->give_up_ns = until_ns;
    (void)pthread_mutex_unlock(&commands->lock);
    wake_thread(commands);
    commands->started = false;
    if (wait_for_end(commands, until_ns + VAMP_COMMANDS_GRACE_NS + STUCK_NS)) {
        (void)pthread_join(commands->thread, NULL);
        return;
    }
    /* Its memory stays: the thread may still use it. */
    commands->abandoned = true;
    (void)pthread_detach(commands->thread);
    (void)pthread_mutex_lock(&commands->lock);
    struct vamp_commands_account *account = &commands->account;
    account->failed = account->submitted - account->succeeded - account->dropped;
    (void)pthread_mutex_unlock(&commands->lock);
}

void vamp_commands_free(struct vamp_commands *commands)
{
    if (commands == NULL) {
        return;
    }
    vamp_commands_finish(commands, 0);
    if (!commands->abandoned) {
        release_commands(commands);
    }
}
