/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of a socket's address: unix:PATH, tcp:PORT or udp:PORT (this machine), with an ADDRESS
 * in numbers or "localhost" tcp:ADDRESS:PORT, of IPv6 tcp:[ADDRESS]:PORT. No state; any thread.
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

/* `scheme`: "tcp" or "udp". 0; -EINVAL, -ENAMETOOLONG: this is no address, and what is allowed. */
VAMP_MUST_CHECK int vamp_address_parse(const char *text, const char *scheme,
                                       struct vamp_address *ret, struct vamp_err *err);
/* 0, where the system chooses; of a Unix socket, too. */
unsigned vamp_address_port(const struct vamp_address *address);
