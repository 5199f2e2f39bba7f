/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for the system's log, as datagrams to a socket of this machine. Not by syslog(3): that
 * reports no failure, so that nothing could be counted, waits while the reader's queue is full, and
 * knows one socket only. One thread at a time.
 */
#ifndef VAMP_WRITERS_FORMAT_SYSTEM_LOG_H
#define VAMP_WRITERS_FORMAT_SYSTEM_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_LOG_PATH "/dev/log"
#define VAMP_LOG_PROGRAM "vampire"
/* A message with everything before it; rsyslog cuts at 8 KiB unless told otherwise. */
#define VAMP_LOG_MESSAGE_BYTES ((size_t)8000)

/* Words of an option; ended by NULL. */
extern const char *const vamp_log_facility_words[];
/* The number that a message begins with, of an index into these words and a severity of
 * syslog(3). */
unsigned vamp_log_priority(unsigned facility, unsigned severity);

/* What syslog(3) writes before a message: "<14>Nov 22 13:04:05 vampire[123]: ", by the clock and
 * time zone of the machine. Terminated. */
#define VAMP_LOG_HEADER_BYTES ((size_t)64)
void vamp_log_header(char text[static VAMP_LOG_HEADER_BYTES], unsigned priority, uint64_t pid);

struct vamp_log_socket {
    const char *path; /* borrowed */
    int fd;           /* -1: not connected */
};
/* Connects if need be. Waits for room in the reader's queue for at most `wait_ms`. 0: the reader's
 * socket has the message; -EAGAIN: it has not, with why in the text. */
VAMP_MUST_CHECK int vamp_log_send(struct vamp_log_socket *socket, const char *bytes, size_t length,
                                  int wait_ms, struct vamp_err *err);
/* Closes; the socket may be used again. */
void vamp_log_close(struct vamp_log_socket *socket);

#endif
