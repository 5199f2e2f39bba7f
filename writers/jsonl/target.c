/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/jsonl/internal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/io.h"
#include "vampire/core/values.h"
#include "writers/format/listener.h"

/* A pipe that poll reports as writable accepts this number of bytes without blocking. */
#define PIPE_ATOMIC_BYTES 4096
#define POLL_MS 200
#define SEND_NS VAMP_NS_PER_SECOND /* then the output decides whether to continue */
#define NUMBER_MAX 9999

static int no_memory(struct vamp_err *err)
{
    return vamp_err_set_errno(err, ENOMEM, "prepare the target");
}

static int open_file(struct jsonl *self, struct vamp_err *err)
{
    self->kind = JSONL_FILE;
    return vamp_target_create(&self->path, (enum vamp_target_access)self->options->access,
                              &self->fd, err);
}

/* Creates the file at the configured path, or at the first free one of path.0002, path.0003, ...,
 * so that a second run neither overwrites the first nor fails. */
static int open_numbered(struct jsonl *self, struct vamp_err *err)
{
    const char *base = self->options->path;
    for (unsigned number = self->segment; number <= NUMBER_MAX; number++) {
        free(self->path);
        self->path = NULL;
        char suffix[16] = "";
        if (number > 1) {
            (void)snprintf(suffix, sizeof suffix, ".%04u", number);
        }
        if (asprintf(&self->path, "%s%s", base, suffix) < 0) {
            self->path = NULL;
            return no_memory(err);
        }
        int code = open_file(self, err);
        if (code != -EEXIST) {
            return code;
        }
    }
    return vamp_err_set(err, -EEXIST, "create %s: it and all names up to %s.%u exist", base, base,
                        NUMBER_MAX);
}

/* Opens the FIFO for writing. Returns 0, -EAGAIN if there is no reader yet, or another -errno. */
static int connect_fifo(struct jsonl *self, struct vamp_err *err)
{
    self->fd = open(self->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (self->fd >= 0) {
        return 0;
    }
    if (errno == ENXIO) {
        return vamp_err_set(err, -EAGAIN,
                            "no process reads the FIFO %s; lines wait, then are lost and counted",
                            self->path);
    }
    return vamp_err_set_errno(err, errno, "open the FIFO %s", self->path);
}

/* Opens standard output, a device or a FIFO. */
static int open_stream(struct jsonl *self, enum vamp_target_kind kind, struct vamp_err *err)
{
    self->kind = kind == VAMP_TARGET_FIFO ? JSONL_FIFO : JSONL_STREAM;
    self->path = strdup(kind == VAMP_TARGET_STDOUT ? "standard output" : self->options->path);
    if (self->path == NULL) {
        return no_memory(err);
    }
    if (kind == VAMP_TARGET_FIFO) {
        const int code = connect_fifo(self, err);
        return code == -EAGAIN ? 0 : code; /* a reader may open it later */
    }
    if (kind == VAMP_TARGET_STDOUT) {
        self->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
        if (self->fd < 0) {
            return vamp_err_set_errno(err, errno, "write to standard output");
        }
        return 0;
    }
    self->fd = open(self->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (self->fd < 0) {
        return vamp_err_set_errno(err, errno, "open %s", self->path);
    }
    return 0;
}

enum vamp_target_kind jsonl_target_kind(const struct jsonl_options *options)
{
    const char *path = options->path;
    struct stat status;
    if (path == NULL) {
        return VAMP_TARGET_NEW_FILES;
    }
    if (strcmp(path, "-") == 0) {
        return VAMP_TARGET_STDOUT;
    }
    if (vamp_listener_is_address(path)) {
        return strncmp(path, "tcp:", 4) == 0 ? VAMP_TARGET_TCP : VAMP_TARGET_UNIX;
    }
    if (lstat(path, &status) != 0) {
        return VAMP_TARGET_FILE;
    }
    if (S_ISFIFO(status.st_mode)) {
        return VAMP_TARGET_FIFO;
    }
    return S_ISCHR(status.st_mode) ? VAMP_TARGET_DEVICE : VAMP_TARGET_FILE;
}

static int open_new_file(struct jsonl *self, struct vamp_err *err)
{
    const char *directory = vamp_text_or(self->options->directory, ".");
    const struct vamp_writer_target target = {
        .run = self->run, .name = self->name, .segment = self->segment};
    self->path = vamp_target_name(directory, &target, "jsonl");
    if (self->path == NULL) {
        return no_memory(err);
    }
    return open_file(self, err);
}

/* Opens a file with the configured name, unless something other than a file has that name. */
static int open_named(struct jsonl *self, struct vamp_err *err)
{
    const char *path = self->options->path;
    struct stat status;
    if (lstat(path, &status) != 0) {
        return open_numbered(self, err);
    }
    if (S_ISDIR(status.st_mode)) {
        return vamp_err_set(err, -EISDIR,
                            "create %s: it is a directory; give the name of a file in it, or "
                            "set \"directory\" instead of \"path\"",
                            path);
    }
    if (S_ISSOCK(status.st_mode)) {
        return vamp_err_set(err, -ENOTSUP,
                            "create %s: it is a socket; to have readers connect to this name "
                            "say unix:%s",
                            path, path);
    }
    return open_numbered(self, err);
}

int jsonl_target_open(struct jsonl *self, struct vamp_err *err)
{
    const enum vamp_target_kind kind = jsonl_target_kind(self->options);
    switch (kind) {
    case VAMP_TARGET_NEW_FILES:
        return open_new_file(self, err);
    case VAMP_TARGET_FILE:
        return open_named(self, err);
    case VAMP_TARGET_STDOUT:
    case VAMP_TARGET_FIFO:
    case VAMP_TARGET_DEVICE:
        return open_stream(self, kind, err);
    case VAMP_TARGET_UNIX:
    case VAMP_TARGET_TCP:
        return jsonl_socket_open(self, err);
    }
    return vamp_err_set(err, -EINVAL, "output of an unknown kind");
}

/* Removes an incomplete line, which would make the file invalid. */
static int undo_file(struct jsonl *self, int code, struct vamp_err *err)
{
    if (ftruncate(self->fd, (off_t)self->file_bytes) != 0 ||
        lseek(self->fd, (off_t)self->file_bytes, SEEK_SET) < 0) {
        return vamp_err_set_errno(err, errno, "remove an incomplete line from %s", self->path);
    }
    if (code == ENOSPC || code == EDQUOT) {
        return vamp_err_set(err, -EAGAIN,
                            "write %s: %s; lines wait in memory, free some space there", self->path,
                            code == ENOSPC ? "no space left" : "the quota is used up");
    }
    return vamp_err_set_errno(err, code, "write %s", self->path);
}

/* Writes the lines to the file, completely or not at all. Returns 0, -EAGAIN or another -errno. */
static int send_file(struct jsonl *self, struct vamp_err *err)
{
    size_t sent = 0;
    const int code = vamp_write_all(self->fd, self->json.bytes, self->json.used, &sent);
    if (code != 0) {
        return undo_file(self, code, err);
    }
    self->file_bytes += sent;
    return 0;
}

/* Sends a part of the lines and advances `sent`. Returns 0, even if a signal interrupted the call;
 * -EAGAIN if the target accepts nothing now; or another -errno. */
static int send_some(struct jsonl *self, struct vamp_err *err)
{
    struct pollfd poller = {.fd = self->fd, .events = POLLOUT};
    const int ready = poll(&poller, 1, POLL_MS);
    if (ready < 0 && errno == EINTR) {
        return 0;
    }
    const size_t rest = self->json.used - self->sent;
    int code = EAGAIN;
    if (ready > 0) {
        const ssize_t count =
            write(self->fd, self->json.bytes + self->sent, VAMP_MIN(rest, PIPE_ATOMIC_BYTES));
        if (count >= 0) {
            self->sent += (size_t)count;
            return 0;
        }
        code = errno;
    }
    if (code == EINTR) {
        return 0;
    }
    if (code == EAGAIN || code == ENOSPC || code == EDQUOT) {
        return vamp_err_set(err, -EAGAIN,
                            "%s accepts no more lines (%s); lines wait, then are lost and "
                            "counted",
                            self->path, code == EAGAIN ? "its reader does not read" : "it is full");
    }
    return vamp_err_set_errno(err, code, "write to %s", self->path);
}

/* Sends the remaining lines within about a second. Returns 0, -EAGAIN or another -errno. */
static int send_stream(struct jsonl *self, struct vamp_err *err)
{
    const int64_t until = vamp_clock_monotonic_ns(&vamp_clock_system) + SEND_NS;
    int code = 0;
    while (code == 0 && self->sent < self->json.used) {
        code = send_some(self, err);
        if (code == 0 && self->sent < self->json.used &&
            vamp_clock_monotonic_ns(&vamp_clock_system) > until) {
            code = vamp_err_set(err, -EAGAIN, "the reader of %s is slow", self->path);
        }
    }
    return code;
}

int jsonl_target_send(struct jsonl *self, struct vamp_err *err)
{
    if (self->json.failed) {
        return vamp_err_set_errno(err, ENOMEM, "gather the lines of a bucket for %s", self->path);
    }
    int code = 0;
    if (self->kind == JSONL_FIFO && self->fd < 0) {
        code = connect_fifo(self, err);
    }
    if (code == 0) {
        code = self->kind == JSONL_FILE ? send_file(self, err) : send_stream(self, err);
    }
    if (code == 0) {
        vamp_json_clear(&self->json);
        self->sent = 0;
    }
    return code;
}
