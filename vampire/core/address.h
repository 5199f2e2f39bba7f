/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Socket addresses as text: unix:PATH, or tcp:PORT and udp:PORT on this machine, or with a numeric
 * ADDRESS or "localhost" tcp:ADDRESS:PORT, for IPv6 tcp:[ADDRESS]:PORT. No state; any thread.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "vampire/core/err.h"

struct vamp_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
    };
    socklen_t bytes;
};

/* `scheme`: "tcp" or "udp". Returns 0, or -EINVAL or -ENAMETOOLONG with a text that states what is
 * allowed. */
VAMP_MUST_CHECK int vamp_address_parse(const char *text, const char *scheme,
                                       struct vamp_address *ret, struct vamp_err *err);
/* Returns the port; 0 for a Unix socket, or if the system chooses the port. */
unsigned vamp_address_port(const struct vamp_address *address);
