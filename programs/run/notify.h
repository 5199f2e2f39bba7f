/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports vampire's state to the service manager (systemd's sd_notify protocol, Type=notify): each
 * report is one datagram to the socket in NOTIFY_SOCKET. Implemented here, as systemd's
 * documentation suggests, because libsystemd would add more code to the process than vampire has.
 * No function blocks or reports a failure: without a service manager, or with one that does not
 * listen, the calls have no effect. Worker thread.
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
    int64_t watchdog_ns; /* maximum time between two keep-alives; 0: no watchdog */
    int64_t alive_ns;    /* time of the last keep-alive, monotonic */
    int64_t status_ns;   /* time of the last STATUS, monotonic */
    bool ready;
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment,
 * because they apply to this process alone. Must be called before other threads exist. */
void vamp_notify_init(struct vamp_notify *notify);
void vamp_notify_done(struct vamp_notify *notify);
/* Sends READY=1 with a status, at the start and after a reload. */
void vamp_notify_ready(struct vamp_notify *notify, const char *status);
/* Sends RELOADING=1 with the monotonic time `now_ns`; vamp_notify_ready must follow. */
void vamp_notify_reloading(struct vamp_notify *notify, int64_t now_ns);
void vamp_notify_stopping(struct vamp_notify *notify, const char *status);
/* Sends a keep-alive if one is due, and STATUS at intervals. Must be called only while work makes
 * progress. `status` NULL: no STATUS. */
void vamp_notify_alive(struct vamp_notify *notify, int64_t now_ns, const char *status);
/* Returns whether vamp_notify_alive would send a STATUS now. */
bool vamp_notify_wants_status(const struct vamp_notify *notify, int64_t now_ns);
