/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_unix(const char *path, struct vamp_address *ret, struct vamp_err *err)
{
    const size_t room = sizeof ret->local.sun_path;
    if (*path == '\0' || strlen(path) >= room) {
        const int code = *path == '\0' ? -EINVAL : -ENAMETOOLONG;
        const char *dots = strlen(path) > 60 ? "..." : "";
        return vamp_err_set(err, code,
                            "unix:%.60s%s: the path of a socket has 1 to %zu bytes; a relative "
                            "path may help",
                            path, dots, room - 1);
    }
    ret->local.sun_family = AF_UNIX;
    memcpy(ret->local.sun_path, path, strlen(path) + 1);
    ret->bytes = sizeof ret->local;
    return 0;
}

static int parse_port(const char *text, const char *scheme, struct vamp_address *ret,
                      struct vamp_err *err)
{
    char host[64] = "127.0.0.1", *end = NULL;
    const char *colon = strrchr(text, ':');
    const char *digits = colon != NULL ? colon + 1 : text;
    const unsigned long port = strtoul(digits, &end, 10);
    const in_port_t wire_port = htons((uint16_t)port);
    const bool is_port = *digits >= '0' && *digits <= '9' && *end == '\0';
    if (is_port && port > 65535) {
        return vamp_err_set(err, -EINVAL,
                            "%s:%.80s: a port is 1 to 65535, or 0, where the system chooses",
                            scheme, text);
    }
    if (colon != NULL) {
        const int bytes = (int)(colon - text);
        const bool brackets = bytes > 2 && text[0] == '[' && colon[-1] == ']';
        (void)snprintf(host, sizeof host, "%.*s", brackets ? bytes - 2 : bytes, text + brackets);
    }
    const char *numbers = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (is_port && inet_pton(AF_INET, numbers, &ret->v4.sin_addr) == 1) {
        ret->v4.sin_family = AF_INET;
        ret->v4.sin_port = wire_port;
        ret->bytes = sizeof ret->v4;
    } else if (is_port && inet_pton(AF_INET6, numbers, &ret->v6.sin6_addr) == 1) {
        ret->v6.sin6_family = AF_INET6;
        ret->v6.sin6_port = wire_port;
        ret->bytes = sizeof ret->v6;
    } else {
        return vamp_err_set(
            err, -EINVAL,
            "%s:%.80s: expected %s:PORT (this machine only) or %s:ADDRESS:PORT with "
            "the address in numbers, such as %s:127.0.0.1:7100 or %s:[::1]:7100",
            scheme, text, scheme, scheme, scheme, scheme);
    }
    return 0;
}

int vamp_address_parse(const char *text, const char *scheme, struct vamp_address *ret,
                       struct vamp_err *err)
{
    const size_t length = strlen(scheme);
    memset(ret, 0, sizeof *ret);
    if (strncmp(text, "unix:", 5) == 0) {
        return parse_unix(text + 5, ret, err);
    }
    if (strncmp(text, scheme, length) == 0 && text[length] == ':') {
        return parse_port(text + length + 1, scheme, ret, err);
    }
    return vamp_err_set(err, -EINVAL, "%.80s is no address: expected unix:PATH or %s:ADDRESS:PORT",
                        text, scheme);
}

unsigned vamp_address_port(const struct vamp_address *address)
{
    switch (address->any.sa_family) {
    case AF_INET:
        return ntohs(address->v4.sin_port);
    case AF_INET6:
        return ntohs(address->v6.sin6_port);
    default:
        return 0;
    }
}
