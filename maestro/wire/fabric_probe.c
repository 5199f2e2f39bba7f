/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes whether a process listens at a peer's address. tcp;ofi_rxm connects again, forever, to a
 * peer whose connection broke, and reports only that it cannot send now. The kernel of the peer's
 * host is more precise: it refuses a connection at once where no process listens any more, and
 * accepts one for a process that is only stopped.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "maestro/wire/fabric_internal.h"

/* A host that does not answer proves nothing; do not delay the caller for it. */
#define ANSWER_MS 2

static bool listens_on_tcp(const struct fabric *fabric, size_t length)
{
    const uint32_t format = fabric->info->addr_format;
    return strncmp(fabric_provider(fabric), "tcp", 3) == 0 && length == fabric->address_length &&
           length <= sizeof(struct sockaddr_storage) &&
           (format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6);
}

static int connect_briefly(const struct sockaddr_storage *to, size_t length)
{
    int end = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (end < 0) {
        return errno;
    }
    int result = connect(end, (const struct sockaddr *)to, (socklen_t)length) == 0 ? 0 : errno;
    struct pollfd answer = {.fd = end, .events = POLLOUT};
    if (result == EINPROGRESS && poll(&answer, 1, ANSWER_MS) == 1) {
        socklen_t bytes = sizeof result;
        if (getsockopt(end, SOL_SOCKET, SO_ERROR, &result, &bytes) != 0) {
            result = errno;
        }
    }
    (void)close(end);
    return result;
}

bool fabric_peer_refuses(const struct fabric *fabric, const uint8_t *address, size_t length)
{
    struct sockaddr_storage to = {0};
    if (!listens_on_tcp(fabric, length)) {
        return false;
    }
    memcpy(&to, address, length);
    return connect_briefly(&to, length) == ECONNREFUSED;
}
