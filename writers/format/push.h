/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of outputs that post to a server by HTTP (writers/http/http.h), and the check of the
 * server's address. */
#pragma once

#include "vampire/core/clock.h"
#include "vampire/core/options/options.h"
#include "writers/format/credentials.h"

struct vamp_push_options {
    char *user, *secret_file, *ca_file;
    int64_t timeout_ns; /* timeout of a request */
};

/* Entries of a format's option table. AT(member) is the offset of a member of struct
 * vamp_push_options. VARIABLE is the name of the environment variable with the secret, used without
 * a secret file. */
#define VAMP_PUSH_OPTIONS(AT, VARIABLE)                                                            \
    VAMP_CREDENTIAL_OPTIONS(AT, VARIABLE, "instead of the system's, for https"),                   \
        VAMP_OPT_ROW("timeout", VAMP_OPT_DURATION, AT(timeout_ns), "10s", .min = 100000000,        \
                     .max = (uint64_t)600 * VAMP_NS_PER_SECOND,                                    \
                     .help = "how long a request may take; then it is sent again")

/* Checks that the text is an address that begins with http:// or https:// (or is of the `other`
 * form, which the caller has recognized) and has no user, query or fragment. Returns 0, or -EINVAL
 * with the error and the allowed forms, described by `expected`. */
VAMP_MUST_CHECK int vamp_push_check(const char *url, bool other, const char *expected,
                                    struct vamp_err *err);
/* Returns whether the host of an address is this machine: localhost, 127.0.0.0/8 or [::1]. */
bool vamp_push_is_local(const char *url);
/* Returns the value of the environment variable, `*ret_variable`, whose proxy libcurl uses for the
 * address unless no_proxy names the host; NULL: none. Addresses of this machine never have a proxy,
 * which would get the data and the password. */
const char *vamp_push_proxy(const char *url, const char **ret_variable);
/* Writes a proxy for messages, without a user and a password. */
#define VAMP_PUSH_PROXY_BYTES 200
void vamp_push_show_proxy(const char *proxy, char text[static VAMP_PUSH_PROXY_BYTES]);
