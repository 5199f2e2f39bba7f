/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that starts the commands, follows them and ends those whose time is over. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vampire/alarms/actions/commands_internal.h"
#include "vampire/core/utf8.h"

#define NS_PER_MS INT64_C(1000000)

/* ---- begin and end of a command */

/* The first line that the program printed, in quotes; "" when it printed none. */
static void quote_output(const struct vamp_process *process, char *text, size_t bytes)
{
    char line[VAMP_PROCESS_SAID_BYTES + 1];
    size_t length = 0;
    for (; length < process->said_bytes && process->said[length] != '\n'; length++) {
        const char c = process->said[length];
        line[length] = (unsigned char)c < ' ' || c == '\x7f' ? '?' : c;
    }
    line[length] = '\0';
    char safe[3 * VAMP_PROCESS_SAID_BYTES + 1] = "";
    safe[vamp_utf8_copy(safe, sizeof safe - 1, line)] = '\0';
    (void)snprintf(text, bytes, length > 0 ? ": \"%s\"" : "%s", safe);
}

static void describe_end(const struct running *running, const struct vamp_process_end *end,
                         char text[static VAMP_ERR_TEXT_BYTES])
{
    const struct job *job = running->job;
    char how[64], said[200];
    if (running->given_up) {
        (void)snprintf(how, sizeof how, "still ran at the end of the run and was ended");
    } else if (running->process.timed_out) {
        (void)snprintf(how, sizeof how, "did not end within %" PRId64 " ms and was ended",
                       job->timeout_ns / NS_PER_MS);
    } else if (!end->known) {
        (void)snprintf(how, sizeof how, "ended in a way that is not known");
    } else {
        (void)snprintf(how, sizeof how,
                       end->by_signal ? "was ended by signal %d" : "failed with exit status %d",
                       end->status);
    }
    quote_output(&running->process, said, sizeof said);
    (void)snprintf(text, VAMP_ERR_TEXT_BYTES, "%.80s: %.120s %s%s", job->about, job->argv[0], how,
                   said);
}

static void finish_job(struct vamp_commands *commands, struct job *job, const char *failure,
                       bool timed_out)
{
    (void)pthread_mutex_lock(&commands->lock);
    commands->account.succeeded += failure == NULL;
    commands->account.failed += failure != NULL;
    commands->account.timed_out += timed_out;
    if (failure != NULL) {
        commands_add_message(commands, failure);
    }
    (void)pthread_mutex_unlock(&commands->lock);
    free(job);
}

static void begin_job(struct vamp_commands *commands, struct running *free_place, struct job *job)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const int code =
        vamp_process_start(&free_place->process, job->argv, commands->environment, job->input,
                           job->input_bytes, commands_now_ns() + job->timeout_ns, &err);
    if (code == 0) {
        free_place->job = job;
        free_place->given_up = false;
        return;
    }
    (void)vamp_err_wrap(&err, "%.80s", job->about);
    finish_job(commands, job, err.text, false);
}

static void end_if_ended(struct vamp_commands *commands, struct running *running)
{
    struct vamp_process_end end;
    if (!vamp_process_ended(&running->process, &end)) {
        return;
    }
    const bool well = end.known && !end.by_signal && end.status == 0 && !running->process.timed_out;
    char text[VAMP_ERR_TEXT_BYTES];
    if (!well) {
        describe_end(running, &end, text);
    }
    finish_job(commands, running->job, well ? NULL : text,
               running->process.timed_out && !running->given_up);
    running->job = NULL;
}

/* ---- what is next */

static struct running *find_place(struct vamp_commands *commands)
{
    for (unsigned i = 0; i < VAMP_COMMANDS_RUNNING_MAX; i++) {
        if (commands->running[i].job == NULL) {
            return &commands->running[i];
        }
    }
    return NULL;
}

static bool lane_is_busy(const struct vamp_commands *commands, unsigned lane)
{
    for (unsigned i = 0; i < VAMP_COMMANDS_RUNNING_MAX; i++) {
        const struct job *job = commands->running[i].job;
        if (job != NULL && job->lane == lane) {
            return true;
        }
    }
    return false;
}

/* The oldest job that may run now, taken from the list; NULL: none. */
static struct job *take_job(struct vamp_commands *commands)
{
    (void)pthread_mutex_lock(&commands->lock);
    struct job **at = &commands->first;
    while (*at != NULL && lane_is_busy(commands, (*at)->lane)) {
        at = &(*at)->next;
    }
    struct job *job = *at;
    if (job != NULL) {
        *at = job->next;
        commands->end = job->next == NULL ? at : commands->end;
        commands->waiting--;
    }
    (void)pthread_mutex_unlock(&commands->lock);
    return job;
}

static void begin_jobs(struct vamp_commands *commands)
{
    struct running *place = NULL;
    struct job *job = NULL;
    while ((place = find_place(commands)) != NULL && (job = take_job(commands)) != NULL) {
        begin_job(commands, place, job);
    }
}

/* The time is over: nothing is started any more, and what runs is ended. */
static void give_up(struct vamp_commands *commands, int64_t now_ns)
{
    (void)pthread_mutex_lock(&commands->lock);
    struct job *job = commands->first;
    commands->account.dropped += commands->waiting;
    commands->first = NULL;
    commands->end = &commands->first;
    commands->waiting = 0;
    (void)pthread_mutex_unlock(&commands->lock);
    while (job != NULL) {
        struct job *next = job->next;
        free(job);
        job = next;
    }
    for (unsigned i = 0; i < VAMP_COMMANDS_RUNNING_MAX; i++) {
        struct vamp_process *process = &commands->running[i].process;
        if (commands->running[i].job != NULL && !process->timed_out) {
            process->next_ns = now_ns;
            commands->running[i].given_up = true;
        }
    }
}

/* Milliseconds until the next signal is due, for poll. */
static int wait_ms(const struct vamp_commands *commands, int64_t give_up_ns, int64_t now_ns)
{
    int64_t next_ns = now_ns < give_up_ns ? give_up_ns : INT64_MAX;
    for (unsigned i = 0; i < VAMP_COMMANDS_RUNNING_MAX; i++) {
        const struct running *running = &commands->running[i];
        if (running->job != NULL && running->process.next_ns < next_ns) {
            next_ns = running->process.next_ns;
        }
    }
    if (next_ns == INT64_MAX) {
        return -1;
    }
    const int64_t left_ms = next_ns > now_ns ? (next_ns - now_ns) / NS_PER_MS + 1 : 0;
    return left_ms < 60000 ? (int)left_ms : 60000;
}

static void wait_for_news(struct vamp_commands *commands, int timeout_ms)
{
    struct pollfd polled[1 + 2 * VAMP_COMMANDS_RUNNING_MAX];
    polled[0] = (struct pollfd){.fd = commands->wake, .events = POLLIN};
    nfds_t count = 1;
    for (unsigned i = 0; i < VAMP_COMMANDS_RUNNING_MAX; i++) {
        const struct running *running = &commands->running[i];
        if (running->job != NULL) {
            polled[count++] = (struct pollfd){.fd = running->process.pidfd, .events = POLLIN};
            polled[count++] = (struct pollfd){.fd = running->process.output, .events = POLLIN};
        }
    }
    (void)poll(polled, count, timeout_ms);
    uint64_t ignored = 0;
    (void)!read(commands->wake, &ignored, sizeof ignored);
}

static void follow_running(struct vamp_commands *commands)
{
    for (unsigned i = 0; i < VAMP_COMMANDS_RUNNING_MAX; i++) {
        struct running *running = &commands->running[i];
        if (running->job != NULL) {
            vamp_process_read(&running->process);
            vamp_process_expire(&running->process, commands_now_ns(), VAMP_COMMANDS_GRACE_NS);
            end_if_ended(commands, running);
        }
    }
}

static bool any_running(const struct vamp_commands *commands)
{
    for (unsigned i = 0; i < VAMP_COMMANDS_RUNNING_MAX; i++) {
        if (commands->running[i].job != NULL) {
            return true;
        }
    }
    return false;
}

void *commands_run(void *context)
{
    struct vamp_commands *commands = context;
    for (;;) {
        (void)pthread_mutex_lock(&commands->lock);
        const bool finishing = commands->finishing;
        const int64_t give_up_ns = commands->give_up_ns;
        (void)pthread_mutex_unlock(&commands->lock);
        const int64_t now_ns = commands_now_ns();
        if (now_ns >= give_up_ns) {
            give_up(commands, now_ns);
        }
        begin_jobs(commands);
        if (finishing && !any_running(commands)) {
            break; /* nothing waits either: it would have been started */
        }
        wait_for_news(commands, wait_ms(commands, give_up_ns, commands_now_ns()));
        follow_running(commands);
    }
    (void)pthread_mutex_lock(&commands->lock);
    commands->done = true;
    (void)pthread_cond_broadcast(&commands->changed);
    (void)pthread_mutex_unlock(&commands->lock);
    return NULL;
}
