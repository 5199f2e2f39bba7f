/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of this host: to listen on, and to be reached at by a peer. */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "maestro/wire/stream.h"

const char *stream_take_port(char *text, const char **ret_node)
{
    *ret_node = text;
    char *colon = strrchr(text, ':');
    const bool bracketed = text[0] == '[' && colon != NULL && colon[-1] == ']';
    if (colon == NULL || (!bracketed && strchr(text, ':') != colon)) {
        return NULL; /* several colons without brackets: an IPv6 address */
    }
    *colon = '\0';
    if (bracketed) {
        colon[-1] = '\0';
        *ret_node = text + 1;
    }
    return colon + 1;
}

const char *stream_bind_choice(const char *wanted, const char *preset)
{
    if (wanted == NULL || wanted[0] == '\0') {
        wanted = getenv(STREAM_ENV_BIND);
    }
    if (wanted == NULL || wanted[0] == '\0') {
        wanted = preset;
    }
    return wanted;
}

bool stream_host_towards(const uint8_t *address, size_t length, char ret_host[STREAM_HOST_BYTES])
{
    struct sockaddr_storage to = {0};
    struct sockaddr_storage own = {0};
    socklen_t own_length = sizeof own;
    if (length < sizeof(struct sockaddr_in) || length > sizeof to) {
        return false;
    }
    memcpy(&to, address, length);
    const int probe = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return false;
    }
    const bool found = connect(probe, (const struct sockaddr *)&to, (socklen_t)length) == 0 &&
                       getsockname(probe, (struct sockaddr *)&own, &own_length) == 0 &&
                       getnameinfo((const struct sockaddr *)&own, own_length, ret_host,
                                   STREAM_HOST_BYTES, NULL, 0, NI_NUMERICHOST) == 0;
    (void)close(probe);
    return found;
}
