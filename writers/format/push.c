/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/push.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PORT_MAX 65535

static bool has_scheme(const char *url, const char *scheme)
{
    const size_t length = strlen(scheme);
    return strncmp(url, scheme, length) == 0 && url[length] != '\0' && url[length] != '/';
}

/* Returns whether the port of an address is valid, or the address has no numeric port. */
static bool port_exists(const char *url)
{
    const char *host = strstr(url, "://") + 3, *end = host + strcspn(host, "/"), *port = end;
    while (port > host && strchr("0123456789", port[-1]) != NULL) {
        port--;
    }
    const bool has_port = port < end && port > host && port[-1] == ':';
    const unsigned long number = strtoul(port, NULL, 10);
    return !has_port || (number > 0 && number <= PORT_MAX);
}

int vamp_push_check(const char *url, bool other, const char *expected, struct vamp_err *err)
{
    if (strchr(url, '@') != NULL) {
        return vamp_err_set(err, -EINVAL,
                            "a user or a password in the address would be shown with it; set "
                            "\"user\" and \"secret_file\"");
    }
    const bool http = has_scheme(url, "http://") || has_scheme(url, "https://");
    if ((!http && !other) || strpbrk(url, "?# ") != NULL) {
        return vamp_err_set(err, -EINVAL, "expected %s", expected);
    }
    if (port_exists(url)) {
        return 0;
    }
    return vamp_err_set(err, -EINVAL, "%.100s: a port must be between 1 and 65535", url);
}
