/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/listener.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vampire/core/address.h"

#define BACKLOG 16

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
        /* Connecting requires write permission. */
        static const mode_t modes[] = {
            [VAMP_ACCESS_PRIVATE] = 0600, [VAMP_ACCESS_GROUP] = 0660, [VAMP_ACCESS_ALL] = 0666};
        code = vamp_unix_socket_bind(listener.fd, &parsed, modes[access], BACKLOG, &listener.file,
                                     err);
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
    vamp_unix_socket_remove(&listener->file);
    if (listener->fd >= 0) {
        (void)close(listener->fd);
    }
    *listener = (struct vamp_listener){.fd = -1};
}
