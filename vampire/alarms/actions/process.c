/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/actions/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vampire/core/io.h"

/* ---- the environment */

void vamp_process_environment(char *kept[static VAMP_PROCESS_VARIABLES_MAX + 1])
{
    static const char *const names[VAMP_PROCESS_VARIABLES_MAX] = {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"};
    for (size_t i = 0; i < VAMP_PROCESS_VARIABLES_MAX; i++) {
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

/* ---- start */

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
static int follow(struct vamp_process *process, struct vamp_err *err)
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

int vamp_process_start(struct vamp_process *process, char *const *argv, char *const *environment,
                       const char *input, size_t input_bytes, int64_t end_ns, struct vamp_err *err)
{
    *process = (struct vamp_process){.pidfd = -1, .output = -1, .next_ns = end_ns};
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

/* ---- while it runs */

static void close_output(struct vamp_process *process)
{
    if (process->output >= 0) {
        (void)close(process->output);
    }
    process->output = -1;
}

/* At most so many reads at once: a program that prints without end does not keep the others. */
#define READS_MAX 16

void vamp_process_read(struct vamp_process *process)
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

void vamp_process_expire(struct vamp_process *process, int64_t now_ns, int64_t grace_ns)
{
    if (now_ns < process->next_ns) {
        return;
    }
    process->killed = process->timed_out;
    process->timed_out = true;
    process->next_ns = process->killed ? INT64_MAX : now_ns + grace_ns;
    /* It is not reaped yet, so that its number is still its own. */
    (void)kill(-process->pid, process->killed ? SIGKILL : SIGTERM);
}

bool vamp_process_ended(struct vamp_process *process, struct vamp_process_end *ret_end)
{
    siginfo_t info = {.si_pid = 0};
    int code = waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG | WNOWAIT);
    if ((code == 0 && info.si_pid == 0) || (code != 0 && errno == EINTR)) {
        return false;
    }
    if (process->timed_out) { /* what it started may have ignored SIGTERM */
        (void)kill(-process->pid, SIGKILL);
    }
    code = waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG);
    *ret_end = (struct vamp_process_end){
        .known = code == 0,
        .by_signal = code == 0 && info.si_code != CLD_EXITED,
        .status = code == 0 ? info.si_status : 0,
    };
    vamp_process_read(process);
    close_output(process);
    (void)close(process->pidfd);
    process->pidfd = -1;
    return true;
}
