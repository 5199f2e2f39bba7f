/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listening stream sockets with the addresses that the configuration uses: unix:PATH, tcp:PORT,
 * tcp:ADDRESS:PORT, tcp:[ADDRESS]:PORT. One thread at a time.
 *
 * By default other users cannot connect to a Unix socket, and tcp:PORT listens on the loopback
 * interface. The socket file of a process that has ended is replaced. A path is rejected if a
 * process listens on it, another user owns it, or it is not a socket.
 */
#pragma once

#include <stdbool.h>

#include "vampire/core/unix_socket.h"
#include "writers/format/file.h"

#define VAMP_LISTENER_NAME_BYTES 160

struct vamp_listener {
    int fd;                              /* -1: not listening */
    char name[VAMP_LISTENER_NAME_BYTES]; /* the address, with the actual port */
    struct vamp_unix_socket file;        /* with a Unix socket; removed on close */
};

/* Whether the text begins with unix: or tcp:. */
bool vamp_listener_is_address(const char *text);
/* Syntax check only. Returns 0, or -EINVAL or -ENAMETOOLONG with the allowed forms. */
VAMP_MUST_CHECK int vamp_listener_check(const char *address, struct vamp_err *err);
/* Listens without blocking. Returns 0; -EADDRINUSE if another process listens; -EPERM if the file
 * belongs to another user, -EEXIST if it is not a socket; or another -errno. On failure nothing is
 * left open. */
VAMP_MUST_CHECK int vamp_listener_open(const char *address, enum vamp_target_access access,
                                       struct vamp_listener *ret_listener, struct vamp_err *err);
/* Closes the socket and removes its file. An fd of -1 is allowed. */
void vamp_listener_close(struct vamp_listener *listener);
