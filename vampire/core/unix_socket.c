/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "vampire/core/clock.h"

/* Number of attempts while another process replaces the same socket file, which takes microseconds.
 */
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 10000000

/* Locks the directory, since two processes that both replace a stale socket would remove each
 * other's. Continues without a lock on file systems that have none. Returns the descriptor of the
 * lock, or -errno. */
static int lock_directory(const char *path, struct vamp_err *err)
{
    char copy[sizeof(struct sockaddr_un)];
    (void)snprintf(copy, sizeof copy, "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return vamp_err_set_errno(err, errno, "listen on unix:%s", path);
    }
    for (unsigned i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            break;
        }
        if (i >= LOCK_TRIES) {
            (void)close(fd);
            return vamp_err_set(
                err, -EBUSY, "listen on unix:%s: another process keeps its directory locked", path);
        }
        vamp_sleep_ns(LOCK_PAUSE_NS);
    }
    return fd;
}

/* Returns whether the socket is stale. A socket whose process answers, or may answer, is not. */
static bool is_dead(const struct vamp_address *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    const bool dead = connect(fd, &address->any, address->bytes) != 0 && errno == ECONNREFUSED;
    (void)close(fd);
    return dead;
}

/* Removes the socket file, unless it is in use or belongs to another user. */
static int clear_name(const struct vamp_address *address, struct vamp_err *err)
{
    const char *path = address->local.sun_path;
    struct stat status;
    if (lstat(path, &status) != 0) {
        if (errno == ENOENT) {
            return 0;
        }
        return vamp_err_set_errno(err, errno, "listen on unix:%s", path);
    }
    if (!S_ISSOCK(status.st_mode)) {
        return vamp_err_set(err, -EEXIST,
                            "listen on unix:%s: it exists and is no socket, and vampire never "
                            "overwrites; move it away or choose another name",
                            path);
    }
    if (status.st_uid != geteuid()) {
        return vamp_err_set(err, -EPERM,
                            "listen on unix:%s: this socket belongs to another user; choose "
                            "another name",
                            path);
    }
    if (!is_dead(address)) {
        return vamp_err_set(err, -EADDRINUSE,
                            "listen on unix:%s: another process listens there; choose another "
                            "name or end that process",
                            path);
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        return vamp_err_set_errno(err, errno, "remove the socket of an ended process, %s", path);
    }
    return 0;
}

/* The mode is set before the name exists, so that the socket never has a different mode. */
static int bind_and_listen(int fd, const struct vamp_address *address, mode_t mode, int backlog,
                           struct vamp_unix_socket *file, struct vamp_err *err)
{
    const char *path = address->local.sun_path;
    struct stat status;
    if (fchmod(fd, mode) != 0 || bind(fd, &address->any, address->bytes) != 0) {
        return vamp_err_set_errno(err, errno, "listen on unix:%s", path);
    }
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    if (lstat(path, &status) == 0) {
        file->device = status.st_dev;
        file->inode = status.st_ino;
    }
    if (backlog > 0 && listen(fd, backlog) != 0) {
        return vamp_err_set_errno(err, errno, "listen on unix:%s", path);
    }
    return 0;
}

int vamp_unix_socket_bind(int fd, const struct vamp_address *address, mode_t mode, int backlog,
                          struct vamp_unix_socket *file, struct vamp_err *err)
{
    const int lock = lock_directory(address->local.sun_path, err);
    if (lock < 0) {
        return lock;
    }
    int code = clear_name(address, err);
    if (code == 0) {
        /* Under the lock: a stream socket that does not listen yet looks stale. */
        code = bind_and_listen(fd, address, mode, backlog, file, err);
    }
    (void)close(lock);
    return code;
}

void vamp_unix_socket_remove(struct vamp_unix_socket *file)
{
    struct stat status;
    if (file->path[0] != '\0' && lstat(file->path, &status) == 0) {
        const bool is_same_file = status.st_dev == file->device && status.st_ino == file->inode;
        if (is_same_file) {
            (void)unlink(file->path);
        }
    }
    file->path[0] = '\0';
}
