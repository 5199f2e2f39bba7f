/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "vampire/core/address.h"
#include "vampire/core/clock.h"

#define BACKLOG 16
/* Number of attempts while another process replaces the same socket file, which takes microseconds.
 */
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 10000000

static const char unix_mark[] = "unix:";
static const char tcp_mark[] = "tcp:";

bool vamp_listener_is_address(const char *text)
{
    return strncmp(text, unix_mark, sizeof unix_mark - 1) == 0 ||
           strncmp(text, tcp_mark, sizeof tcp_mark - 1) == 0;
}

int vamp_listener_check(const char *address, struct vamp_err *err)
{
    struct vamp_address ignored;
    return vamp_address_parse(address, "tcp", &ignored, err);
}

/* ---- the file of a Unix socket */

/* Locks the directory, since two processes that both replace a stale socket would remove each
 * other's. Returns the descriptor of the lock, or -errno. */
static int lock_directory(const char *path, struct vamp_err *err)
{
    char copy[sizeof(struct sockaddr_un)];
    (void)snprintf(copy, sizeof copy, "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return vamp_err_set_errno(err, errno, "listen on unix:%s", path);
    }
    for (unsigned i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
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
static int bind_unix(struct vamp_listener *listener, const struct vamp_address *address,
                     enum vamp_target_access access, struct vamp_err *err)
{
    const char *path = address->local.sun_path;
    struct stat status;
    /* Connecting requires write permission. */
    static const mode_t modes[] = {
        [VAMP_ACCESS_PRIVATE] = 0600, [VAMP_ACCESS_GROUP] = 0660, [VAMP_ACCESS_ALL] = 0666};
    if (fchmod(listener->fd, modes[access]) != 0 ||
        bind(listener->fd, &address->any, address->bytes) != 0) {
        return vamp_err_set_errno(err, errno, "listen on unix:%s", path);
    }
    (void)snprintf(listener->path, sizeof listener->path, "%s", path);
    if (lstat(path, &status) == 0) {
        listener->device = status.st_dev;
        listener->inode = status.st_ino;
    }
    return 0;
}

/* Binds the socket to the path and listens, under the lock of the directory. */
static int open_unix(struct vamp_listener *listener, const struct vamp_address *address,
                     enum vamp_target_access access, struct vamp_err *err)
{
    int lock = lock_directory(address->local.sun_path, err);
    if (lock < 0) {
        return lock;
    }
    int code = clear_name(address, err);
    if (code == 0) {
        code = bind_unix(listener, address, access, err);
    }
    /* Must precede the release of the lock: a socket that does not listen yet looks stale. */
    if (code == 0 && listen(listener->fd, BACKLOG) != 0) {
        code = vamp_err_set_errno(err, errno, "listen on %s", listener->name);
    }
    (void)close(lock);
    return code;
}

/* ---- TCP */

/* Sets the name to the actual address: the system may have chosen the port. */
static void name_tcp(struct vamp_listener *listener)
{
    struct vamp_address own = {.bytes = sizeof own.v6};
    char host[INET6_ADDRSTRLEN] = "";
    if (getsockname(listener->fd, &own.any, &own.bytes) != 0) {
        return;
    }
    if (own.any.sa_family == AF_INET) {
        (void)inet_ntop(AF_INET, &own.v4.sin_addr, host, sizeof host);
        (void)snprintf(listener->name, sizeof listener->name, "tcp:%s:%u", host,
                       ntohs(own.v4.sin_port));
    } else {
        (void)inet_ntop(AF_INET6, &own.v6.sin6_addr, host, sizeof host);
        (void)snprintf(listener->name, sizeof listener->name, "tcp:[%s]:%u", host,
                       ntohs(own.v6.sin6_port));
    }
}

/* Binds the socket to the address and port, and listens. Returns 0 or -errno. */
static int open_tcp(struct vamp_listener *listener, const struct vamp_address *address,
                    struct vamp_err *err)
{
    const int on = 1;
    /* Allows the next run to use the port of a run that has just ended. */
    (void)setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->any.sa_family == AF_INET6) {
        (void)setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(listener->fd, &address->any, address->bytes) != 0 ||
        listen(listener->fd, BACKLOG) != 0) {
        if (errno == EADDRINUSE) {
            return vamp_err_set(err, -EADDRINUSE,
                                "listen on %s: another process listens there; choose another port",
                                listener->name);
        }
        return vamp_err_set_errno(err, errno, "listen on %s", listener->name);
    }
    name_tcp(listener);
    return 0;
}

int vamp_listener_open(const char *address, enum vamp_target_access access,
                       struct vamp_listener *ret_listener, struct vamp_err *err)
{
    struct vamp_listener listener = {.fd = -1};
    struct vamp_address parsed;
    int code = vamp_address_parse(address, "tcp", &parsed, err);
    if (code != 0) {
        return code;
    }
    (void)snprintf(listener.name, sizeof listener.name, "%s", address);
    listener.fd = socket(parsed.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener.fd < 0) {
        return vamp_err_set_errno(err, errno, "listen on %s", address);
    }
    if (parsed.any.sa_family == AF_UNIX) {
        code = open_unix(&listener, &parsed, access, err);
    } else {
        code = open_tcp(&listener, &parsed, err);
    }
    if (code != 0) {
        vamp_listener_close(&listener);
        return code;
    }
    *ret_listener = listener;
    return 0;
}

void vamp_listener_close(struct vamp_listener *listener)
{
    struct stat status;
    if (listener->path[0] != '\0' && lstat(listener->path, &status) == 0) {
        const bool is_same_file =
            status.st_dev == listener->device && status.st_ino == listener->inode;
        if (is_same_file) {
            (void)unlink(listener->path);
        }
    }
    if (listener->fd >= 0) {
        (void)close(listener->fd);
    }
    *listener = (struct vamp_listener){.fd = -1};
}
