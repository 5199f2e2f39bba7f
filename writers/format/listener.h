/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listening stream sockets with addresses as in the configuration: unix:PATH, tcp:PORT,
 * tcp:ADDRESS:PORT, tcp:[ADDRESS]:PORT. One thread at a time.
 *
 * By default other users cannot connect: only its owner can connect to a Unix socket, and tcp:PORT
 * listens on loopback. The socket file of an ended process is replaced. A file is refused if a
 * process listens on it, another user owns it, or it is not a socket.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "writers/format/file.h"

#define VAMP_LISTENER_NAME_BYTES 160

struct vamp_listener {
    int fd;                              /* -1: not listening */
    char name[VAMP_LISTENER_NAME_BYTES]; /* the address with the actual port */
    /* For a Unix socket: its file, which is removed only if it is still the same one. */
    char path[108]; /* sockaddr_un's; "": TCP */
    dev_t device;
    ino_t inode;
};

/* Whether the text begins with unix: or tcp:. */
bool vamp_listener_is_address(const char *text);
/* Syntax check only. 0; -EINVAL or -ENAMETOOLONG, with what is allowed. */
VAMP_MUST_CHECK int vamp_listener_check(const char *address, struct vamp_err *err);
/* Listens, without blocking. 0; -EADDRINUSE: another process does; -EPERM, -EEXIST: the file is
 * another user's or no socket; another -errno. On failure nothing is left open. */
VAMP_MUST_CHECK int vamp_listener_open(const char *address, enum vamp_target_access access,
                                       struct vamp_listener *ret_listener, struct vamp_err *err);
/* Closes and removes the socket's file. An fd of -1 is fine. */
void vamp_listener_close(struct vamp_listener *listener);
