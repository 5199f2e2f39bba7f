/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/system_log.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

const char *const vamp_log_facility_words[] = {"user",   "daemon", "local0", "local1",
                                               "local2", "local3", "local4", "local5",
                                               "local6", "local7", NULL};

unsigned vamp_log_priority(unsigned facility, unsigned severity)
{
    static const unsigned facilities[] = {LOG_USER,   LOG_DAEMON, LOG_LOCAL0, LOG_LOCAL1,
                                          LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5,
                                          LOG_LOCAL6, LOG_LOCAL7};
    return facilities[facility] | severity;
}

void vamp_log_header(char text[static VAMP_LOG_HEADER_BYTES], unsigned priority, uint64_t pid)
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const time_t now = time(NULL);
    struct tm parts = {0};
    (void)localtime_r(&now, &parts);
    (void)snprintf(text, VAMP_LOG_HEADER_BYTES,
                   "<%u>%s %2d %02d:%02d:%02d " VAMP_LOG_PROGRAM "[%" PRIu64 "]: ", priority,
                   months[parts.tm_mon], parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                   pid);
}

static int fail(struct vamp_log_socket *self, int code, struct vamp_err *err)
{
    vamp_log_close(self);
    const char *why = code == EPROTOTYPE ? "it does not take datagrams" : strerror(code);
    return vamp_err_set(err, -EAGAIN, "send to %s: %s", self->path, why);
}

static int connect_now(struct vamp_log_socket *self, struct vamp_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", self->path);
    self->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0 || connect(self->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        return fail(self, errno, err);
    }
    return 0;
}

int vamp_log_send(struct vamp_log_socket *self, const char *bytes, size_t length, int wait_ms,
                  struct vamp_err *err)
{
    const int code = self->fd < 0 ? connect_now(self, err) : 0;
    if (code != 0) {
        return code;
    }
    ssize_t sent = send(self->fd, bytes, length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN && wait_ms > 0) {
        struct pollfd room = {.fd = self->fd, .events = POLLOUT};
        (void)poll(&room, 1, wait_ms);
        sent = send(self->fd, bytes, length, MSG_NOSIGNAL);
    }
    if (sent >= 0) {
        return 0;
    }
    if (errno == EAGAIN) {
        return vamp_err_set(err, -EAGAIN, "send to %s: nothing reads there", self->path);
    }
    return fail(self, errno, err);
}

void vamp_log_close(struct vamp_log_socket *self)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
        self->fd = -1;
    }
}
