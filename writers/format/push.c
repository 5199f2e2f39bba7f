/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vampire/core/values.h"

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

/* Returns whether the text is 127. and three more numbers, as in 127.0.0.1. */
static bool is_loopback_number(const char *host, size_t length)
{
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") >= length;
}

bool vamp_push_is_local(const char *url)
{
    const char *begin = strstr(url, "://");
    const char *host = begin != NULL ? begin + 3 : url;
    if (strncmp(host, "[::1]", 5) == 0) {
        return true;
    }
    const size_t length = strcspn(host, ":/");
    const bool is_localhost = length == 9 && strncasecmp(host, "localhost", length) == 0;
    return is_localhost || is_loopback_number(host, length);
}

const char *vamp_push_proxy(const char *url, const char **ret_variable)
{
    /* HTTP_PROXY is not used: a CGI script gets it from its client. */
    static const char *const of_http[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const of_https[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
                                           NULL};
    if (vamp_push_is_local(url)) {
        return NULL;
    }
    const char *const *names = has_scheme(url, "https://") ? of_https : of_http;
    for (; *names != NULL; names++) {
        const char *value = getenv(*names);
        if (value != NULL && value[0] != '\0') {
            *ret_variable = *names;
            return value;
        }
    }
    return NULL;
}

void vamp_push_show_proxy(const char *proxy, char text[static VAMP_PUSH_PROXY_BYTES])
{
    const char *begin = strstr(proxy, "://"), *host = proxy;
    if (begin != NULL && strcspn(proxy, ":@") == (size_t)(begin - proxy)) {
        host = begin + 3;
    }
    const char *at = strrchr(host, '@');
    (void)snprintf(text, VAMP_PUSH_PROXY_BYTES, "%.*s%.150s", (int)VAMP_MIN(host - proxy, 20),
                   proxy, at != NULL ? at + 1 : host);
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
