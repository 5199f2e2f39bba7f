/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/actions/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/io.h"
#include "vampire/core/values.h"
#include "vampire/core/worker.h"

#define NS_PER_MS INT64_C(1000000)
/* Time to wait for a thread that is blocked in a system call, after the deadline and the grace
 * period. */
#define STUCK_NS (VAMP_COMMANDS_GRACE_NS + VAMP_NS_PER_SECOND)

/* A submitted command, stored in one block of memory. */
struct job {
    unsigned lane;
    int64_t timeout_ns;
    const char *about;
    const char *input;
    size_t input_bytes;
    char *argv[]; /* terminated by NULL and followed by the texts */
};

/* Size of the stored part of a program's output; the rest is read and dropped. */
#define SAID_BYTES 160
/* Maximum number of environment variables of a program. */
#define VARIABLES_MAX 9

/* A running program. It has standard input, output and error and no other descriptors, default
 * signal handling, its own session and a small environment. Its input is a file in memory, so that
 * writing it never blocks. */
struct process {
    pid_t pid;
    int pidfd;       /* becomes readable when the process has ended */
    int output;      /* its standard output and error; -1 after it has closed both */
    int64_t next_ns; /* monotonic time of the next signal; INT64_MAX: never */
    bool timed_out;  /* SIGTERM was sent to the process group at the timeout */
    size_t said_bytes;
    char said[SAID_BYTES]; /* start of its output; not terminated */
};

struct running {
    struct job *job;
    struct process process;
    bool given_up; /* was terminated because the run ended */
};

struct vamp_commands {
    struct vamp_worker worker;            /* its queue contains the waiting jobs */
    char *environment[VARIABLES_MAX + 1]; /* terminated by NULL */
    int wake;                             /* eventfd that wakes up the thread */

    uint64_t succeeded, failed, timed_out; /* protected by the worker's lock */
    /* Accessed only by the thread. */
    struct running running[VAMP_COMMANDS_RUNNING_MAX];
    unsigned running_count;
};

/* ---- one process */

/* Copies PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL, TZ and TMPDIR of this process. Other
 * variables, such as the address of a pool manager, may be secret. `kept` points to the texts of
 * this process, which do not change, and is terminated by NULL. */
static void make_environment(char *kept[static VARIABLES_MAX + 1])
{
    static const char *const names[VARIABLES_MAX] = {"PATH", "HOME",   "USER", "LOGNAME", "SHELL",
                                                     "LANG", "LC_ALL", "TZ",   "TMPDIR"};
    for (size_t i = 0; i < VARIABLES_MAX; i++) {
        const size_t length = strlen(names[i]);
        char **at = environ;
        while (at != NULL && *at != NULL &&
               (strncmp(*at, names[i], length) != 0 || (*at)[length] != '=')) {
            at++;
        }
        if (at != NULL && *at != NULL) {
            *kept++ = *at;
        }
    }
    *kept = NULL;
}

static int make_input(const char *input, size_t bytes, struct vamp_err *err)
{
    const int file = memfd_create("alarm", MFD_CLOEXEC);
    if (file < 0) {
        return vamp_err_set_errno(err, errno, "make its standard input");
    }
    size_t done = 0;
    const int code = vamp_write_all(file, input, bytes, &done);
    if (code != 0) {
        (void)close(file);
        return vamp_err_set_errno(err, code, "write its standard input");
    }
    (void)lseek(file, 0, SEEK_SET); /* cannot fail for a file in memory */
    return file;
}

/* Returns 0 or an errno. */
static int make_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int code = posix_spawnattr_setsigmask(attributes, &none);
    if (code == 0) {
        code = posix_spawnattr_setsigdefault(attributes, &all);
    }
    if (code == 0) {
        code = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                        POSIX_SPAWN_SETSID);
    }
    return code;
}

/* Returns 0 or an errno. */
static int make_descriptors(posix_spawn_file_actions_t *actions, int input, int output)
{
    const int descriptors[] = {
        [STDIN_FILENO] = input, [STDOUT_FILENO] = output, [STDERR_FILENO] = output};
    int code = 0;
    for (int to = STDIN_FILENO; to <= STDERR_FILENO && code == 0; to++) {
        code = posix_spawn_file_actions_adddup2(actions, descriptors[to], to);
    }
    if (code == 0) {
        code = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    }
    return code;
}

/* Returns 0 or an errno. */
static int spawn(pid_t *ret_pid, char *const *argv, char *const *environment, int input, int output)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        return code;
    }
    code = posix_spawn_file_actions_init(&actions);
    if (code != 0) {
        goto out_attributes;
    }
    code = make_attributes(&attributes);
    if (code == 0) {
        code = make_descriptors(&actions, input, output);
    }
    if (code == 0) {
        code = posix_spawn(ret_pid, argv[0], &actions, &attributes, argv, environment);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
out_attributes:
    (void)posix_spawnattr_destroy(&attributes);
    return code;
}

/* Opens a descriptor of the started process; kills the process if that fails. */
static int follow(struct process *process, struct vamp_err *err)
{
    process->pidfd = pidfd_open(process->pid, 0); /* the descriptor is close-on-exec */
    if (process->pidfd >= 0) {
        return 0;
    }
    const int code = vamp_err_set_errno(err, errno, "follow the process (pidfd_open)");
    (void)kill(-process->pid, SIGKILL);
    (void)waitpid(process->pid, NULL, 0);
    return code;
}

/* Starts argv[0], a path, with these arguments; `end_ns` is monotonic time. Returns 0 or -errno.
 * May wait for the file system of the program. */
static int start_process(struct process *process, char *const *argv, char *const *environment,
                         const char *input, size_t input_bytes, int64_t end_ns,
                         struct vamp_err *err)
{
    *process = (struct process){.pidfd = -1, .output = -1, .next_ns = end_ns};
    const int in = make_input(input, input_bytes, err);
    if (in < 0) {
        return in;
    }
    int out[2] = {-1, -1};
    int code = 0;
    if (pipe2(out, O_CLOEXEC) != 0) {
        code = vamp_err_set_errno(err, errno, "make a pipe");
        goto out_input;
    }
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    const int failed = spawn(&process->pid, argv, environment, in, out[1]);
    if (failed != 0) {
        code = vamp_err_set_errno(err, failed, "start %s", argv[0]);
    } else {
        code = follow(process, err);
    }
    (void)close(out[1]);
    if (code == 0) {
        process->output = out[0];
    } else {
        (void)close(out[0]);
    }
out_input:
    (void)close(in);
    return code;
}

static void close_output(struct process *process)
{
    if (process->output >= 0) {
        (void)close(process->output);
    }
    process->output = -1;
}

/* Limit of reads per call, so that a program with endless output does not delay the others. */
#define READS_MAX 16

/* Reads available output. Never waits. */
static void read_process(struct process *process)
{
    char bytes[4096];
    for (unsigned i = 0; i < READS_MAX && process->output >= 0; i++) {
        const ssize_t got = read(process->output, bytes, sizeof bytes);
        if (got <= 0) {
            if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
                close_output(process);
            }
            return;
        }
        const size_t kept = VAMP_MIN((size_t)got, sizeof process->said - process->said_bytes);
        memcpy(process->said + process->said_bytes, bytes, kept);
        process->said_bytes += kept;
    }
}

/* Sends the signal that is due: first SIGTERM to the process group, later SIGKILL. */
static void expire_process(struct process *process, int64_t now_ns)
{
    if (now_ns < process->next_ns) {
        return;
    }
    /* the process has not been reaped yet, so its process id is still valid */
    if (process->timed_out) {
        (void)kill(-process->pid, SIGKILL);
        process->next_ns = INT64_MAX;
        return;
    }
    (void)kill(-process->pid, SIGTERM);
    process->next_ns = now_ns + VAMP_COMMANDS_GRACE_NS;
    process->timed_out = true;
}

/* Returns true if the process has ended: it is reaped, its descriptors are closed, and `*ret_end`
 * is set (si_pid is 0 if the status is unknown). After a timeout the remaining processes of its
 * group are killed. */
static bool process_ended(struct process *process, siginfo_t *ret_end)
{
    const id_t id = (id_t)process->pidfd;
    *ret_end = (siginfo_t){.si_pid = 0};
    const int code = waitid(P_PIDFD, id, ret_end, WEXITED | WNOHANG | WNOWAIT);
    if ((code == 0 && ret_end->si_pid == 0) || (code != 0 && errno == EINTR)) {
        return false;
    }
    if (process->timed_out) { /* its child processes may have ignored SIGTERM */
        (void)kill(-process->pid, SIGKILL);
    }
    if (waitid(P_PIDFD, id, ret_end, WEXITED | WNOHANG) != 0) {
        ret_end->si_pid = 0;
    }
    read_process(process);
    close_output(process);
    (void)close(process->pidfd);
    process->pidfd = -1;
    return true;
}

/* ---- begin and end of a command; the thread */

static void say(struct vamp_commands *commands, const char *text)
{
    struct vamp_err message;
    (void)vamp_err_set(&message, -EIO, "%s", text);
    vamp_worker_say(&commands->worker, &message);
}

/* Sets the first line of the program's output, in quotes; "" if there was no output. */
static void quote_output(const struct process *process, char *text, size_t bytes)
{
    char line[SAID_BYTES + 1];
    size_t length = 0;
    for (; length < process->said_bytes && process->said[length] != '\n'; length++) {
        line[length] = process->said[length];
    }
    line[length] = '\0';
    (void)snprintf(text, bytes, length > 0 ? ": \"%s\"" : "%s", line);
}

static void describe_end(const struct running *running, const siginfo_t *end,
                         char text[static VAMP_ERR_TEXT_BYTES])
{
    const struct job *job = running->job;
    char how[64], said[200];
    if (running->given_up) {
        (void)snprintf(how, sizeof how, "still ran at the end of the run and was ended");
    } else if (running->process.timed_out) {
        (void)snprintf(how, sizeof how, "did not end within %" PRId64 " ms and was ended",
                       job->timeout_ns / NS_PER_MS);
    } else if (end->si_pid == 0) {
        (void)snprintf(how, sizeof how, "ended in a way that is not known");
    } else if (end->si_code != CLD_EXITED) {
        (void)snprintf(how, sizeof how, "was ended by signal %d", end->si_status);
    } else {
        (void)snprintf(how, sizeof how, "failed with exit status %d", end->si_status);
    }
    quote_output(&running->process, said, sizeof said);
    (void)snprintf(text, VAMP_ERR_TEXT_BYTES, "%.80s: %.120s %s%s", job->about, job->argv[0], how,
                   said);
}

/* `failure` is NULL if the command succeeded. */
static void finish_job(struct vamp_commands *commands, struct job *job, const char *failure,
                       bool timed_out)
{
    vamp_worker_lock(&commands->worker);
    commands->succeeded += failure == NULL;
    commands->failed += failure != NULL;
    commands->timed_out += timed_out;
    vamp_worker_count(&commands->worker.done, 1);
    vamp_worker_unlock(&commands->worker);
    if (failure != NULL) {
        say(commands, failure);
    }
    free(job);
}

static void begin_job(struct vamp_commands *commands, struct job *job)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct running *running = &commands->running[commands->running_count];
    const int code = start_process(&running->process, job->argv, commands->environment, job->input,
                                   job->input_bytes, vamp_worker_now_ns() + job->timeout_ns, &err);
    if (code == 0) {
        running->job = job;
        running->given_up = false;
        commands->running_count++;
        return;
    }
    (void)vamp_err_wrap(&err, "%.80s", job->about);
    finish_job(commands, job, err.text, false);
}

/* Returns false if the process is still running. */
static bool end_if_ended(struct vamp_commands *commands, struct running *running)
{
    siginfo_t end;
    if (!process_ended(&running->process, &end)) {
        return false;
    }
    const bool well = end.si_pid != 0 && end.si_code == CLD_EXITED && end.si_status == 0 &&
                      !running->process.timed_out;
    char text[VAMP_ERR_TEXT_BYTES];
    if (!well) {
        describe_end(running, &end, text);
    }
    finish_job(commands, running->job, well ? NULL : text,
               running->process.timed_out && !running->given_up);
    *running = commands->running[--commands->running_count];
    return true;
}

/* ---- the queue */

static bool lane_is_busy(const struct vamp_commands *commands, unsigned lane)
{
    for (unsigned i = 0; i < commands->running_count; i++) {
        if (commands->running[i].job->lane == lane) {
            return true;
        }
    }
    return false;
}

/* Removes the oldest job that may run now from the queue; NULL if there is none. */
static struct job *take_job(struct vamp_commands *commands)
{
    struct job *job = NULL;
    vamp_worker_lock(&commands->worker);
    for (unsigned i = 0; job == NULL && i < commands->worker.count; i++) {
        const struct job *next = vamp_worker_at(&commands->worker, i)->what;
        if (!lane_is_busy(commands, next->lane)) {
            job = vamp_worker_remove(&commands->worker, i).what;
        }
    }
    vamp_worker_unlock(&commands->worker);
    return job;
}

static void begin_jobs(struct vamp_commands *commands)
{
    struct job *job = NULL;
    while (commands->running_count < VAMP_COMMANDS_RUNNING_MAX &&
           (job = take_job(commands)) != NULL) {
        begin_job(commands, job);
    }
}

static void drop_waiting(struct vamp_commands *commands)
{
    vamp_worker_lock(&commands->worker);
    while (commands->worker.count > 0) {
        free(vamp_worker_remove(&commands->worker, 0).what);
        vamp_worker_count(&commands->worker.lost, 1);
    }
    vamp_worker_unlock(&commands->worker);
}

/* After the deadline: drops waiting jobs and ends running ones. */
static void give_up(struct vamp_commands *commands, int64_t now_ns)
{
    drop_waiting(commands);
    for (unsigned i = 0; i < commands->running_count; i++) {
        struct process *process = &commands->running[i].process;
        if (!process->timed_out) {
            process->next_ns = now_ns;
            commands->running[i].given_up = true;
        }
    }
}

/* Returns the milliseconds until the next signal is due, for poll(). */
static int wait_ms(const struct vamp_commands *commands, int64_t give_up_ns, int64_t now_ns)
{
    int64_t next_ns = INT64_MAX;
    if (now_ns < give_up_ns) {
        next_ns = give_up_ns;
    }
    for (unsigned i = 0; i < commands->running_count; i++) {
        next_ns = VAMP_MIN(next_ns, commands->running[i].process.next_ns);
    }
    if (next_ns == INT64_MAX) {
        return -1;
    }
    if (next_ns <= now_ns) {
        return 0;
    }
    return (int)VAMP_MIN((next_ns - now_ns) / NS_PER_MS + 1, INT64_C(60000));
}

static void wait_for_news(struct vamp_commands *commands, int timeout_ms)
{
    struct pollfd polled[1 + 2 * VAMP_COMMANDS_RUNNING_MAX];
    polled[0] = (struct pollfd){.fd = commands->wake, .events = POLLIN};
    nfds_t count = 1;
    for (unsigned i = 0; i < commands->running_count; i++) {
        const struct process *process = &commands->running[i].process;
        polled[count++] = (struct pollfd){.fd = process->pidfd, .events = POLLIN};
        polled[count++] = (struct pollfd){.fd = process->output, .events = POLLIN};
    }
    (void)poll(polled, count, timeout_ms);
    uint64_t ignored = 0;
    (void)!read(commands->wake, &ignored, sizeof ignored);
}

static void follow_running(struct vamp_commands *commands)
{
    for (unsigned i = 0; i < commands->running_count;) {
        struct running *running = &commands->running[i];
        read_process(&running->process);
        expire_process(&running->process, vamp_worker_now_ns());
        i += !end_if_ended(commands,
                           running); /* if it ended, the last element was moved to this index */
    }
}

static void run_commands(void *context)
{
    struct vamp_commands *commands = context;
    for (;;) {
        const bool finishing = atomic_load(&commands->worker.finishing);
        const int64_t give_up_ns = atomic_load(&commands->worker.give_up_ns);
        const int64_t now_ns = vamp_worker_now_ns();
        if (now_ns >= give_up_ns) {
            give_up(commands, now_ns);
        }
        begin_jobs(commands);
        if (finishing && commands->running_count == 0) {
            break; /* a waiting job would have been started already */
        }
        wait_for_news(commands, wait_ms(commands, give_up_ns, vamp_worker_now_ns()));
        follow_running(commands);
    }
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

static struct job *make_job(const struct vamp_alarm_command *command)
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
    return job;
}

static void wake_thread(const struct vamp_commands *commands)
{
    const uint64_t one = 1;
    (void)!write(commands->wake, &one,
                 sizeof one); /* can fail only if the thread is about to wake up anyway */
}

bool vamp_commands_submit(struct vamp_commands *commands, const struct vamp_alarm_command *command)
{
    struct vamp_worker *worker = &commands->worker;
    struct job *job = make_job(command);
    vamp_worker_lock(worker);
    bool accepted = false;
    if (job != NULL) {
        accepted = vamp_worker_put(worker, &(struct vamp_worker_item){.what = job});
    } else {
        vamp_worker_count(&worker->queued, 1);
        vamp_worker_count(&worker->refused, 1);
    }
    vamp_worker_unlock(worker);
    if (accepted) {
        wake_thread(commands);
        return true;
    }
    char text[VAMP_ERR_TEXT_BYTES];
    (void)snprintf(text, sizeof text, "%.80s: %.200s was not run: %s", command->about,
                   command->argv[0],
                   job == NULL ? "out of memory" : "too many commands wait already");
    say(commands, text);
    free(job);
    return false;
}

void vamp_commands_account(struct vamp_commands *commands,
                           struct vamp_commands_account *ret_account)
{
    struct vamp_worker_account account;
    vamp_worker_lock(&commands->worker);
    vamp_worker_account(&commands->worker, &account);
    const uint64_t dropped = commands->worker.refused + commands->worker.lost;
    *ret_account = (struct vamp_commands_account){
        .submitted = account.queued,
        .succeeded = commands->succeeded,
        /* jobs that a blocked thread left behind may have been started */
        .failed = commands->failed + (account.lost - dropped),
        .timed_out = commands->timed_out,
        .dropped = dropped,
        .waiting = account.waiting,
    };
    vamp_worker_unlock(&commands->worker);
}

bool vamp_commands_message(struct vamp_commands *commands, char text[static VAMP_ERR_TEXT_BYTES])
{
    struct vamp_err message;
    uint64_t more = 0;
    if (vamp_worker_message(&commands->worker, &message, &more)) {
        memcpy(text, message.text, sizeof message.text);
        return true;
    }
    if (more > 0) {
        (void)snprintf(text, VAMP_ERR_TEXT_BYTES,
                       "%" PRIu64 " more commands of alarms failed or were dropped", more);
    }
    return more > 0;
}

/* ---- create and free */

static void release_commands(struct vamp_commands *commands)
{
    drop_waiting(commands);
    if (commands->wake >= 0) {
        (void)close(commands->wake);
    }
    vamp_worker_done(&commands->worker);
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
    make_environment(commands->environment);
    return vamp_worker_start(&commands->worker, "commands", run_commands, commands, err);
}

int vamp_commands_create(struct vamp_commands **ret_commands, struct vamp_err *err)
{
    struct vamp_commands *commands = calloc(1, sizeof *commands);
    if (commands == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "actions of type command");
    }
    commands->wake = -1;
    const struct vamp_worker_bounds bounds = {.items_max = VAMP_COMMANDS_WAITING_MAX};
    int code = vamp_worker_init(&commands->worker, &bounds, VAMP_WORKER_MESSAGES_MAX, err);
    if (code == 0) {
        code = start_commands(commands, err);
    }
    if (code != 0) {
        release_commands(commands);
        return code;
    }
    *ret_commands = commands;
    return 0;
}

void vamp_commands_finish(struct vamp_commands *commands, int64_t deadline_ns)
{
    if (commands->worker.started) {
        const int64_t until_ns = vamp_worker_end(&commands->worker, deadline_ns);
        wake_thread(commands);
        (void)vamp_worker_join(&commands->worker, until_ns + VAMP_COMMANDS_GRACE_NS + STUCK_NS);
    }
}

void vamp_commands_free(struct vamp_commands *commands)
{
    if (commands == NULL) {
        return;
    }
    vamp_commands_finish(commands, 0);
    if (!atomic_load(&commands->worker.abandoned)) {
        release_commands(commands);
    }
}
