/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a Unix socket. The file of a process that has ended is replaced. A path is rejected
 * if a process listens on it, another user owns it, or it is not a socket. No state; any thread.
 */
#pragma once

#include <sys/stat.h>

#include "vampire/core/address.h"

/* Zero-initialized: no file. */
struct vamp_unix_socket {
    char path[108]; /* sockaddr_un's; "": none */
    dev_t device;
    ino_t inode;
};

/* Binds the socket `fd` to the path of the address; the file has this mode. Listens if `backlog` is
 * not 0. Returns 0; -EADDRINUSE if another process listens; -EPERM if the file belongs to another
 * user; -EEXIST if it is not a socket; or another -errno, with which vamp_unix_socket_remove must
 * be called, too. */
VAMP_MUST_CHECK int vamp_unix_socket_bind(int fd, const struct vamp_address *address, mode_t mode,
                                          int backlog, struct vamp_unix_socket *file,
                                          struct vamp_err *err);
/* Removes the file if it is still the one that was bound. */
void vamp_unix_socket_remove(struct vamp_unix_socket *file);
