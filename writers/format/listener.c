/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <libgen.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "vampire/core/clock.h"

#define BACKLOG 16
/* Tries while another process replaces the same socket file, which takes microseconds. */
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 10000000

static const char unix_mark[] = "unix:";
static const char tcp_mark[] = "tcp:";

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

bool vamp_listener_is_address(const char *text)
{
    return strncmp(text, unix_mark, sizeof unix_mark - 1) == 0 ||
           strncmp(text, tcp_mark, sizeof tcp_mark - 1) == 0;
}

static int parse_unix(const char *path, union address *ret, socklen_t *ret_bytes,
                      struct vamp_err *err)
{
    const size_t room = sizeof ret->local.sun_path;
    if (*path == '\0' || strlen(path) >= room) {
        return vamp_err_set(err, *path == '\0' ? -EINVAL : -ENAMETOOLONG,
                            "unix:%.60s%s: the path of a socket has 1 to %zu bytes; a relative "
                            "path may help",
                            path, strlen(path) > 60 ? "..." : "", room - 1);
    }
    ret->local.sun_family = AF_UNIX;
    memcpy(ret->local.sun_path, path, strlen(path) + 1);
    *ret_bytes = sizeof ret->local;
    return 0;
}

static int no_tcp(const char *text, struct vamp_err *err)
{
    return vamp_err_set(err, -EINVAL,
                        "tcp:%.80s: expected tcp:PORT (this machine only) or tcp:ADDRESS:PORT with "
                        "the address in numbers, such as tcp:127.0.0.1:7100 or tcp:[::1]:7100",
                        text);
}

static int parse_tcp(const char *text, union address *ret, socklen_t *ret_bytes,
                     struct vamp_err *err)
{
    const char *colon = strrchr(text, ':');
    const char *port_text = colon != NULL ? colon + 1 : text;
    char *end = NULL;
    const unsigned long port = strtoul(port_text, &end, 10);
    if (*port_text < '0' || *port_text > '9' || *end != '\0') {
        return no_tcp(text, err);
    }
    if (port > 65535) {
        return vamp_err_set(
            err, -EINVAL, "tcp:%.80s: a port is 1 to 65535, or 0, where the system chooses", text);
    }
    char host[64] = "127.0.0.1";
    if (colon != NULL) {
        const size_t bytes = (size_t)(colon - text);
        const bool brackets = bytes > 2 && text[0] == '[' && colon[-1] == ']';
        if (bytes == 0 || bytes >= sizeof host) {
            return no_tcp(text, err);
        }
        (void)snprintf(host, sizeof host, "%.*s", (int)(brackets ? bytes - 2 : bytes),
                       text + brackets);
    }
    const char *numbers = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (inet_pton(AF_INET, numbers, &ret->v4.sin_addr) == 1) {
        ret->v4.sin_family = AF_INET;
        ret->v4.sin_port = htons((uint16_t)port);
        *ret_bytes = sizeof ret->v4;
        return 0;
    }
    if (inet_pton(AF_INET6, numbers, &ret->v6.sin6_addr) == 1) {
        ret->v6.sin6_family = AF_INET6;
        ret->v6.sin6_port = htons((uint16_t)port);
        *ret_bytes = sizeof ret->v6;
        return 0;
    }
    return no_tcp(text, err);
}

static int parse(const char *text, union address *ret, socklen_t *ret_bytes, struct vamp_err *err)
{
    *ret = (union address){.any = {.sa_family = AF_UNSPEC}};
    memset(ret, 0, sizeof *ret);
    if (strncmp(text, unix_mark, sizeof unix_mark - 1) == 0) {
        return parse_unix(text + sizeof unix_mark - 1, ret, ret_bytes, err);
    }
    if (strncmp(text, tcp_mark, sizeof tcp_mark - 1) == 0) {
        return parse_tcp(text + sizeof tcp_mark - 1, ret, ret_bytes, err);
    }
    return vamp_err_set(err, -EINVAL, "%.80s is no address: expected unix:PATH or tcp:PORT", text);
}

int vamp_listener_check(const char *address, struct vamp_err *err)
{
    union address ignored;
    socklen_t bytes = 0;
    return parse(address, &ignored, &bytes, err);
}

/* ---- the file of a Unix socket */

/* Two processes that both replace a dead socket would remove each other's: the directory is locked
 * meanwhile. The lock's descriptor, or -errno. */
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

/* A process answers, or might: then the socket is not dead. */
static bool is_dead(const union address *address, socklen_t bytes)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    const bool dead = connect(fd, &address->any, bytes) != 0 && errno == ECONNREFUSED;
    (void)close(fd);
    return dead;
}

/* Removes the socket file, unless it is in use or another user's. */
static int clear_name(const union address *address, socklen_t bytes, struct vamp_err *err)
{
    const char *path = address->local.sun_path;
    struct stat status;
    if (lstat(path, &status) != 0) {
        return errno == ENOENT ? 0 : vamp_err_set_errno(err, errno, "listen on unix:%s", path);
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
    if (!is_dead(address, bytes)) {
        return vamp_err_set(err, -EADDRINUSE,
                            "listen on unix:%s: another process listens there; choose another "
                            "name or end that process",
                            path);
    }
    return unlink(path) == 0 || errno == ENOENT
               ? 0
               : vamp_err_set_errno(err, errno, "remove the socket of an ended process, %s", path);
}

/* The mode is set before the name exists: there is no moment with another one. */
static int bind_unix(struct vamp_listener *listener, const union address *address, socklen_t bytes,
                     enum vamp_target_access access, struct vamp_err *err)
{
    const char *path = address->local.sun_path;
    struct stat status;
    /* Connecting requires write permission. */
    static const mode_t modes[] = {
        [VAMP_ACCESS_PRIVATE] = 0600, [VAMP_ACCESS_GROUP] = 0660, [VAMP_ACCESS_ALL] = 0666};
    if (fchmod(listener->fd, modes[access]) != 0 || bind(listener->fd, &address->any, bytes) != 0) {
        return vamp_err_set_errno(err, errno, "listen on unix:%s", path);
    }
    (void)snprintf(listener->path, sizeof listener->path, "%s", path);
    if (lstat(path, &status) == 0) {
        listener->device = status.st_dev;
        listener->inode = status.st_ino;
    }
    return 0;
}

static int open_unix(struct vamp_listener *listener, const union address *address, socklen_t bytes,
                     enum vamp_target_access access, struct vamp_err *err)
{
    int lock = lock_directory(address->local.sun_path, err);
    if (lock < 0) {
        return lock;
    }
    int code = clear_name(address, bytes, err);
    if (code == 0) {
        code = bind_unix(listener, address, bytes, access, err);
    }
    /* Before the lock is released: a socket that does not listen yet looks dead to others. */
    if (code == 0 && listen(listener->fd, BACKLOG) != 0) {
        code = vamp_err_set_errno(err, errno, "listen on %s", listener->name);
    }
    (void)close(lock);
    return code;
}

/* ---- TCP */

/* The port may have been chosen by the system. */
static void name_tcp(struct vamp_listener *listener)
{
    union address own;
    socklen_t bytes = sizeof own;
    char host[INET6_ADDRSTRLEN] = "";
    memset(&own, 0, sizeof own);
    if (getsockname(listener->fd, &own.any, &bytes) != 0) {
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

static int open_tcp(struct vamp_listener *listener, const union address *address, socklen_t bytes,
                    struct vamp_err *err)
{
    const int on = 1;
    /* A port of a run that just ended is free for the next one. */
    (void)setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->any.sa_family == AF_INET6) {
        (void)setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(listener->fd, &address->any, bytes) != 0 || listen(listener->fd, BACKLOG) != 0) {
        return errno == EADDRINUSE
                   ? vamp_err_set(err, -EADDRINUSE,
                                  "listen on %s: another process listens there; choose another "
                                  "port",
                                  listener->name)
                   : vamp_err_set_errno(err, errno, "listen on %s", listener->name);
    }
    name_tcp(listener);
    return 0;
}

int vamp_listener_open(const char *address, enum vamp_target_access access,
                       struct vamp_listener *ret_listener, struct vamp_err *err)
{
    struct vamp_listener listener = {.fd = -1};
    union address parsed;
    socklen_t bytes = 0;
    int code = parse(address, &parsed, &bytes, err);
    if (code != 0) {
        return code;
    }
    (void)snprintf(listener.name, sizeof listener.name, "%s", address);
    listener.fd = socket(parsed.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener.fd < 0) {
        return vamp_err_set_errno(err, errno, "listen on %s", address);
    }
    code = parsed.any.sa_family == AF_UNIX ? open_unix(&listener, &parsed, bytes, access, err)
                                           : open_tcp(&listener, &parsed, bytes, err);
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
    if (listener->path[0] != '\0' && lstat(listener->path, &status) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode) {
        (void)unlink(listener->path);
    }
    if (listener->fd >= 0) {
        (void)close(listener->fd);
    }
    *listener = (struct vamp_listener){.fd = -1};
}
