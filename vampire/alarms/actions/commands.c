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
#include "vampire/core/utf8.h"
#include "vampire/core/worker.h"

#define NS_PER_MS INT64_C(1000000)
/* Beyond the deadline and the grace, for a thread that is stuck in the operating system. */
#define STUCK_NS (VAMP_COMMANDS_GRACE_NS + VAMP_NS_PER_SECOND)

/* A command that was submitted, in one piece of memory. */
struct job {
    unsigned lane;
    int64_t timeout_ns;
    const char *about;
    const char *input;
    size_t input_bytes;
    char *argv[]; /* ended by NULL; the texts are behind it */
};

/* Bytes kept of what the program prints; the rest is read and dropped. */
#define SAID_BYTES 160
/* Variables of the environment that a program gets. */
#define VARIABLES_MAX 9

/* A program that runs. It gets standard input, output and error and no other descriptor, default
 * signals, a session of its own and a small environment. Its input is a file in memory, so that a
 * program which does not read delays no write. */
struct process {
    pid_t pid;
    int pidfd;       /* readable once it has ended */
    int output;      /* its standard output and error; -1: it has closed both */
    int64_t next_ns; /* monotonic: when the next signal is due; INT64_MAX: never */
    bool timed_out;  /* SIGTERM was sent to its process group */
    size_t said_bytes;
    char said[SAID_BYTES]; /* the start of what it printed; not terminated */
};

struct running {
    struct job *job;
    struct process process;
    bool given_up; /* ended because the run is over */
};

struct vamp_commands {
    struct vamp_worker worker;            /* jobs wait in its queue */
    char *environment[VARIABLES_MAX + 1]; /* ended by NULL */
    int wake;                             /* an eventfd: there is something new */

    uint64_t succeeded, failed, timed_out; /* with the worker's lock */
    /* The thread's. */
    struct running running[VAMP_COMMANDS_RUNNING_MAX];
    unsigned running_count;
};

/* ---- one process */

/* PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL, TZ and TMPDIR of this process, nothing else: what
 * else is in its environment, such as the address of a pool manager, may be secret. `kept` is of
 * this process's own texts, ended by NULL. Nothing changes these variables any more. */
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
    (void)lseek(file, 0, SEEK_SET); /* a file in memory: cannot fail */
    return file;
}

/* 0 or an errno. */
static int make_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int code = posix_spawnattr_setsigmask(attributes, &none);
    code = code != 0 ? code : posix_spawnattr_setsigdefault(attributes, &all);
    return code != 0 ? code
                     : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
                                                                POSIX_SPAWN_SETSIGDEF |
                                                                POSIX_SPAWN_SETSID);
}

/* 0 or an errno. */
static int make_descriptors(posix_spawn_file_actions_t *actions, int input, int output)
{
    int code = posix_spawn_file_actions_adddup2(actions, input, STDIN_FILENO);
    code = code != 0 ? code : posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
    code = code != 0 ? code : posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
    return code != 0 ? code : posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
}

/* 0 or an errno. */
static int spawn(pid_t *ret_pid, char *const *argv, char *const *environment, int input, int output)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        return code;
    }
    code = posix_spawn_file_actions_init(&actions);
    if (code == 0) {
        code = make_attributes(&attributes);
        code = code != 0 ? code : make_descriptors(&actions, input, output);
        code = code != 0 ? code
                         : posix_spawn(ret_pid, argv[0], &actions, &attributes, argv, environment);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    (void)posix_spawnattr_destroy(&attributes);
    return code;
}

/* The process has started: without a descriptor of it, it cannot be followed and is ended. */
static int follow(struct process *process, struct vamp_err *err)
{
    process->pidfd = pidfd_open(process->pid, 0); /* is close-on-exec */
    if (process->pidfd >= 0) {
        return 0;
    }
    const int code = vamp_err_set_errno(err, errno, "follow the process (pidfd_open)");
    (void)kill(-process->pid, SIGKILL);
    (void)waitpid(process->pid, NULL, 0);
    return code;
}

/* Starts argv[0] (a path) with these arguments. 0 or -errno with nothing left behind. May wait for
 * the file system that holds the program. The time-out is monotonic. */
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
    int code = pipe2(out, O_CLOEXEC) != 0 ? vamp_err_set_errno(err, errno, "make a pipe") : 0;
    if (code == 0) {
        (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
        const int failed = spawn(&process->pid, argv, environment, in, out[1]);
        code = failed != 0 ? vamp_err_set_errno(err, failed, "start %s", argv[0])
                           : follow(process, err);
        (void)close(out[1]);
    }
    (void)close(in);
    if (code == 0) {
        process->output = out[0];
    } else if (out[0] >= 0) {
        (void)close(out[0]);
    }
    return code;
}

static void close_output(struct process *process)
{
    if (process->output >= 0) {
        (void)close(process->output);
    }
    process->output = -1;
}

/* At most so many reads at once: a program that prints without end does not keep the others. */
#define READS_MAX 16

/* Never waits. */
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
        const size_t room = sizeof process->said - process->said_bytes;
        const size_t kept = (size_t)got < room ? (size_t)got : room;
        memcpy(process->said + process->said_bytes, bytes, kept);
        process->said_bytes += kept;
    }
}

/* Sends the signal that is due: SIGTERM to its process group, later SIGKILL. */
static void expire_process(struct process *process, int64_t now_ns)
{
    if (now_ns < process->next_ns) {
        return;
    }
    /* It is not reaped yet, so that its number is still its own. */
    (void)kill(-process->pid, process->timed_out ? SIGKILL : SIGTERM);
    process->next_ns = process->timed_out ? INT64_MAX : now_ns + VAMP_COMMANDS_GRACE_NS;
    process->timed_out = true;
}

/* True when it has ended: then the rest of its process group is killed if its time was over, it is
 * reaped, its descriptors are closed, and `*ret_end` says how; si_pid 0: that is not known. */
static bool process_ended(struct process *process, siginfo_t *ret_end)
{
    const id_t id = (id_t)process->pidfd;
    *ret_end = (siginfo_t){.si_pid = 0};
    const int code = waitid(P_PIDFD, id, ret_end, WEXITED | WNOHANG | WNOWAIT);
    if ((code == 0 && ret_end->si_pid == 0) || (code != 0 && errno == EINTR)) {
        return false;
    }
    if (process->timed_out) { /* what it started may have ignored SIGTERM */
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

/* The first line that the program printed, in quotes; "" when it printed none. */
static void quote_output(const struct process *process, char *text, size_t bytes)
{
    char line[SAID_BYTES + 1];
    size_t length = 0;
    for (; length < process->said_bytes && process->said[length] != '\n'; length++) {
        const char c = process->said[length];
        line[length] = (unsigned char)c < ' ' || c == '\x7f' ? '?' : c;
    }
    line[length] = '\0';
    char safe[3 * SAID_BYTES + 1] = "";
    safe[vamp_utf8_copy(safe, sizeof safe - 1, line)] = '\0';
    (void)snprintf(text, bytes, length > 0 ? ": \"%s\"" : "%s", safe);
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
    } else {
        (void)snprintf(how, sizeof how,
                       end->si_code != CLD_EXITED ? "was ended by signal %d"
                                                  : "failed with exit status %d",
                       end->si_status);
    }
    quote_output(&running->process, said, sizeof said);
    (void)snprintf(text, VAMP_ERR_TEXT_BYTES, "%.80s: %.120s %s%s", job->about, job->argv[0], how,
                   said);
}

/* `failure` NULL: it succeeded. */
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

/* False: it still runs. */
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

/* ---- what is next */

static bool lane_is_busy(const struct vamp_commands *commands, unsigned lane)
{
    for (unsigned i = 0; i < commands->running_count; i++) {
        if (commands->running[i].job->lane == lane) {
            return true;
        }
    }
    return false;
}

/* The oldest job that may run now, taken from the queue; NULL: none. */
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

/* The time is over: nothing is started any more, and what runs is ended. */
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

/* Milliseconds until the next signal is due, for poll. */
static int wait_ms(const struct vamp_commands *commands, int64_t give_up_ns, int64_t now_ns)
{
    int64_t next_ns = now_ns < give_up_ns ? give_up_ns : INT64_MAX;
    for (unsigned i = 0; i < commands->running_count; i++) {
        const int64_t due_ns = commands->running[i].process.next_ns;
        next_ns = due_ns < next_ns ? due_ns : next_ns;
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
        i += !end_if_ended(commands, running); /* else another one takes its place */
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
            break; /* nothing waits either: it would have been started */
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
    (void)!write(commands->wake, &one, sizeof one); /* fails only when it is awake anyway */
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
                   command->argv[0], job == NULL ? "no memory" : "too many commands wait already");
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
        /* Those that a stuck thread left behind may have been started. */
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
