/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/nats/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vampire/core/io.h"
#include "vampire/core/values.h"
#include "vampire/core/worker.h"

/* Time limits for a start and for an end, with its flush. */
#define START_NS (10 * INT64_C(1000000000))
#define END_SECONDS 3

/* Returns 0 or an errno. All signals stay blocked: a signal to the process group is the program's
 * to handle, which then ends the process. */
static int spawn(int socket, pid_t *ret_pid)
{
    static char name[] = NATS_PROCESS_NAME;
    char *arguments[] = {name, NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t all;
    (void)sigfillset(&all);
    int code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        return code;
    }
    code = posix_spawn_file_actions_init(&actions);
    if (code != 0) {
        goto out_attributes;
    }
    const int codes[] = {
        posix_spawnattr_setsigmask(&attributes, &all),
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK),
        posix_spawn_file_actions_adddup2(&actions, socket, NATS_PROCESS_SOCKET),
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0),
        posix_spawn_file_actions_addclosefrom_np(&actions, NATS_PROCESS_SOCKET + 1),
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0] && code == 0; i++) {
        code = codes[i];
    }
    if (code == 0) {
        code = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
out_attributes:
    (void)posix_spawnattr_destroy(&attributes);
    return code;
}

/* Returns 0 or an errno. A process that stops reading or writing in the middle of a frame counts as
 * unresponsive. */
static int start(struct nats_process *self)
{
    const struct timeval limit = {.tv_sec = 5};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return errno;
    }
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    (void)setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    /* If this is the descriptor that the process uses, dup2 would leave it close-on-exec. */
    int code = 0;
    if (ends[1] == NATS_PROCESS_SOCKET && fcntl(ends[1], F_SETFD, 0) != 0) {
        code = errno;
    }
    if (code == 0) {
        code = spawn(ends[1], &self->pid);
    }
    (void)close(ends[1]);
    if (code != 0) {
        (void)close(ends[0]);
        self->pid = 0;
        return code;
    }
    self->socket = ends[0];
    self->starts++;
    self->configured = self->awaiting = false;
    return 0;
}

/* Ends the process and returns its wait status. */
static int reap(struct nats_process *self)
{
    int status = 0;
    (void)close(self->socket);
    while (waitpid(self->pid, &status, 0) < 0 && errno == EINTR) {
    }
    self->pid = 0;
    self->configured = self->awaiting = false;
    self->state.connected = false;
    self->state.waiting = 0;
    return status;
}

/* Ends the process after a failure, and records it. `silent`: the process still runs. Returns
 * -EAGAIN. */
static int fail(struct nats_process *self, bool silent, struct vamp_err *err)
{
    char cause[100];
    if (silent) {
        (void)kill(self->pid, SIGKILL);
    }
    const int status = reap(self);
    if (silent) {
        (void)snprintf(cause, sizeof cause, "did not reply and was ended");
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(cause, sizeof cause, "was ended by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(cause, sizeof cause, "ended with code %d", WEXITSTATUS(status));
    }
    return vamp_attempts_failed(&self->attempts, err,
                                "%s %.180s: the process of this connection %s and is started "
                                "again; %s",
                                self->what, self->address, cause, self->meanwhile);
}

static bool send_frame(int socket, int32_t what, const struct vamp_text *text)
{
    const struct nats_frame frame = {.what = what,
                                     .bytes = text != NULL ? (uint32_t)text->used : 0};
    size_t done = 0;
    return vamp_write_all(socket, &frame, sizeof frame, &done) == 0 &&
           (text == NULL || vamp_write_all(socket, text->bytes, text->used, &done) == 0);
}

/* Reads the reply whose header is readable, and the state at its beginning. Returns false if the
 * process ended or sent something else. */
static bool read_reply(struct nats_process *self, int *ret_result, struct vamp_err *err)
{
    struct nats_frame frame;
    size_t done = 0;
    if (vamp_read_all(self->socket, &frame, sizeof frame, &done) != 0 || done < sizeof frame ||
        frame.bytes > NATS_FRAME_BYTES_MAX || frame.what > 1) {
        return false;
    }
    free(self->reply);
    self->rest = (struct nats_rest){.bytes = 0};
    self->reply = malloc(frame.bytes + 1);
    if (self->reply == NULL || vamp_read_all(self->socket, self->reply, frame.bytes, &done) != 0 ||
        done < frame.bytes) {
        return false;
    }
    self->rest = (struct nats_rest){.at = self->reply, .bytes = frame.bytes};
    const char *address = nats_get_text(&self->rest), *text = nats_get_text(&self->rest);
    self->state.connections = (unsigned)nats_get_number(&self->rest);
    self->state.lost = nats_get_number(&self->rest);
    self->state.waiting = nats_get_number(&self->rest);
    self->state.connected = nats_get_number(&self->rest) != 0;
    if (self->rest.invalid || address == NULL || text == NULL) {
        return false;
    }
    (void)snprintf(self->address, sizeof self->address, "%s", address);
    *ret_result = frame.what;
    if (frame.what < 0 && text[0] != '\0') {
        (void)vamp_err_set(err, frame.what, "%s", text);
    }
    return true;
}

/* One request and its reply. Returns what nats_process_call returns. */
static int exchange(struct nats_process *self, enum nats_ask ask, const struct vamp_text *request,
                    int64_t timeout_ns, struct vamp_err *err)
{
    int64_t now_ns = vamp_worker_now_ns();
    const int64_t until_ns = now_ns + timeout_ns;
    if (!self->awaiting) {
        if (!send_frame(self->socket, (int32_t)ask, request)) {
            return fail(self, true, err);
        }
        self->awaiting = true;
        self->asked_ns = now_ns;
    }
    struct pollfd readable = {.fd = self->socket, .events = POLLIN};
    int ready = 0;
    do {
        const int64_t left_ms = (VAMP_MAX(until_ns - now_ns, 0) + 999999) / 1000000;
        ready = poll(&readable, 1, (int)VAMP_MIN(left_ms, INT_MAX));
        now_ns = vamp_worker_now_ns();
    } while (ready <= 0 && now_ns < until_ns);
    if (ready > 0) {
        int result = 0;
        if (!read_reply(self, &result, err)) {
            return fail(self, false, err);
        }
        self->awaiting = false;
        return result;
    }
    if (now_ns - self->asked_ns > self->silent_ns) {
        return fail(self, true, err);
    }
    return -EAGAIN;
}

/* Sends the first request: the servers, beginning with another one than in the previous process,
 * and the role's options. */
static int configure(struct nats_process *self, int64_t timeout_ns, struct vamp_err *err)
{
    const struct vamp_nats_server *server = self->server;
    struct vamp_text text = {.bytes = NULL};
    nats_put_number(&text, server->servers.count);
    for (size_t i = 0; i < server->servers.count; i++) {
        const size_t from = (i + self->starts - 1) % server->servers.count;
        nats_put_text(&text, server->servers.items[from]);
    }
    const char *const words[] = {
        server->user,    server->secret_file,      server->credentials_file,
        server->ca_file, server->certificate_file, server->key_file};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        nats_put_text(&text, words[i]);
    }
    vamp_text_add(&text, self->options.bytes, self->options.used);
    int code = -EAGAIN;
    if (text.failed || self->options.failed) {
        (void)vamp_err_set(err, code, "no memory for a connection");
    } else {
        code = exchange(self, self->role, &text, timeout_ns, err);
    }
    vamp_text_done(&text);
    self->configured = code == 0;
    return code;
}

int nats_process_start(struct nats_process *self, struct vamp_err *err)
{
    (void)snprintf(self->address, sizeof self->address, "%s", self->server->servers.items[0]);
    const int code = start(self);
    if (code != 0) {
        return vamp_err_set_errno(err, code, "start the process of the connection");
    }
    const int result = configure(self, START_NS, err);
    return result == -EAGAIN ? 0 : result;
}

int nats_process_call(struct nats_process *self, enum nats_ask ask, const struct vamp_text *request,
                      int64_t timeout_ns, struct vamp_err *err)
{
    if (self->pid == 0) {
        int code = vamp_attempts_await(&self->attempts, err);
        if (code != 0) {
            return code;
        }
        code = start(self);
        if (code != 0) {
            return vamp_attempts_failed(&self->attempts, err,
                                        "start the process of the connection: %s; %s",
                                        strerror(code), self->meanwhile);
        }
    }
    if (!self->configured) {
        const int code = configure(self, timeout_ns, err);
        if (code == -EAGAIN) {
            return code;
        }
        if (code != 0) {
            (void)kill(self->pid, SIGKILL);
            (void)reap(self);
            return vamp_attempts_failed(&self->attempts, err, "%s; %s", strerror(-code),
                                        self->meanwhile);
        }
    }
    return exchange(self, ask, request, timeout_ns, err);
}

void nats_process_done(struct nats_process *self)
{
    if (self->pid != 0) {
        const struct timeval limit = {.tv_sec = END_SECONDS};
        char byte;
        (void)setsockopt(self->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        (void)shutdown(self->socket, SHUT_WR);
        ssize_t got = 1;
        while (got > 0) {
            got = read(self->socket, &byte, sizeof byte);
        }
        if (got < 0) {
            (void)kill(self->pid, SIGKILL);
        }
        (void)reap(self);
    }
    free(self->reply);
    vamp_text_done(&self->options);
}
