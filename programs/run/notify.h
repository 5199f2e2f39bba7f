/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports vampire's state to the service manager (systemd's sd_notify protocol, Type=notify): one
 * datagram to the socket in NOTIFY_SOCKET. Implemented here, as systemd's documentation advises,
 * because libsystemd would add more code to the process than vampire has. Nothing here fails
 * visibly or blocks: without a service manager, or with one that does not listen, every call does
 * nothing. Worker thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct vamp_notify {
    int socket; /* -1: no service manager */
    struct sockaddr_un address;
    socklen_t address_length;
    int64_t watchdog_ns; /* longest time between two keep-alives; 0: no watchdog */
    int64_t alive_ns;    /* monotonic: the last keep-alive */
    int64_t status_ns;   /* monotonic: the last STATUS */
    bool ready;
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment, since
 * they apply to this process alone. Before other threads exist. */
void vamp_notify_init(struct vamp_notify *notify);
void vamp_notify_done(struct vamp_notify *notify);
/* READY=1 with a status; after a reload, too. */
void vamp_notify_ready(struct vamp_notify *notify, const char *status);
/* RELOADING=1 with the monotonic time; to be followed by ready. `now_ns` monotonic. */
void vamp_notify_reloading(struct vamp_notify *notify, int64_t now_ns);
void vamp_notify_stopping(struct vamp_notify *notify, const char *status);
/* Sends a keep-alive when one is due, and STATUS at intervals; to be called only while work makes
 * progress; `status` NULL: none. */
void vamp_notify_alive(struct vamp_notify *notify, int64_t now_ns, const char *status);
/* Whether vamp_notify_alive would send a status now. */
bool vamp_notify_wants_status(const struct vamp_notify *notify, int64_t now_ns);
