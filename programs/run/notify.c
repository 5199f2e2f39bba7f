/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vampire/core/clock.h"

#define STATUS_NS (10 * VAMP_NS_PER_SECOND)
#define MESSAGE_BYTES 512
#define NS_PER_US 1000

/* Sets the address to an absolute path or, with '@', a name in the abstract namespace. Returns
 * false if it is neither. */
static bool take_address(struct vamp_notify *notify, const char *path)
{
    const size_t length = strlen(path);
    if (length < 2 || (path[0] != '/' && path[0] != '@') ||
        length >= sizeof notify->address.sun_path) {
        return false;
    }
    notify->address.sun_family = AF_UNIX;
    memcpy(notify->address.sun_path, path, length + 1);
    notify->address_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    if (path[0] == '@') {
        notify->address.sun_path[0] = '\0';
        notify->address_length--;
    }
    return true;
}

static uint64_t parse_number(const char *text)
{
    char *end = NULL;
    if (text == NULL) {
        return 0;
    }
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        return 0;
    }
    return value;
}

/* Ignores a watchdog whose WATCHDOG_PID is another process. */
static void take_watchdog(struct vamp_notify *notify)
{
    const uint64_t us = parse_number(getenv("WATCHDOG_USEC"));
    const char *pid = getenv("WATCHDOG_PID");
    if (us == 0 || us > (uint64_t)INT64_MAX / NS_PER_US ||
        (pid != NULL && parse_number(pid) != (uint64_t)getpid())) {
        return;
    }
    /* sd_watchdog_enabled(3) recommends half of the watchdog time; a quarter leaves time for
     * delays. */
    notify->watchdog_ns = (int64_t)us * NS_PER_US / 4;
}

void vamp_notify_init(struct vamp_notify *notify)
{
    *notify = (struct vamp_notify){.socket = -1};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path != NULL && take_address(notify, path)) {
        notify->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        take_watchdog(notify);
    }
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
}

void vamp_notify_done(struct vamp_notify *notify)
{
    if (notify->socket >= 0) {
        (void)close(notify->socket);
    }
    notify->socket = -1;
}

static void send_text(const struct vamp_notify *notify, const char *text)
{
    if (notify->socket >= 0) {
        (void)sendto(notify->socket, text, strlen(text), MSG_NOSIGNAL,
                     (const struct sockaddr *)&notify->address, notify->address_length);
    }
}

static void send_with_status(const struct vamp_notify *notify, const char *state,
                             const char *status)
{
    char text[MESSAGE_BYTES];
    if (status != NULL) {
        (void)snprintf(text, sizeof text, "%s\nSTATUS=%s", state, status);
    } else {
        (void)snprintf(text, sizeof text, "%s", state);
    }
    send_text(notify, text);
}

void vamp_notify_ready(struct vamp_notify *notify, const char *status)
{
    notify->ready = true;
    send_with_status(notify, "READY=1", status);
}

void vamp_notify_reloading(struct vamp_notify *notify, int64_t now_ns)
{
    char text[MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, now_ns / NS_PER_US);
    send_text(notify, text);
}

void vamp_notify_stopping(struct vamp_notify *notify, const char *status)
{
    send_with_status(notify, "STOPPING=1", status);
}

bool vamp_notify_wants_status(const struct vamp_notify *notify, int64_t now_ns)
{
    return notify->socket >= 0 && notify->ready && now_ns - notify->status_ns >= STATUS_NS;
}

void vamp_notify_alive(struct vamp_notify *notify, int64_t now_ns, const char *status)
{
    if (notify->watchdog_ns > 0 && now_ns - notify->alive_ns >= notify->watchdog_ns) {
        notify->alive_ns = now_ns;
        send_text(notify, "WATCHDOG=1");
    }
    if (status != NULL && vamp_notify_wants_status(notify, now_ns)) {
        notify->status_ns = now_ns;
        char text[MESSAGE_BYTES];
        (void)snprintf(text, sizeof text, "STATUS=%s", status);
        send_text(notify, text);
    }
}
