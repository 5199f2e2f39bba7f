/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of outputs that post to a server by HTTP (writers/http/http.h), and the check of its
 * address. */
#pragma once

#include "vampire/core/clock.h"
#include "vampire/core/options/options.h"
#include "writers/format/credentials.h"

struct vamp_push_options {
    char *user, *secret_file, *ca_file;
    int64_t timeout_ns; /* of a request */
};

/* Entries of a format's table. AT(member) is the offset of a member of struct vamp_push_options,
 * VARIABLE the name of the environment variable with the secret where no file has it. */
#define VAMP_PUSH_OPTIONS(AT, VARIABLE)                                                            \
    VAMP_CREDENTIAL_OPTIONS(AT, VARIABLE, "instead of the system's, for https"),                   \
        VAMP_OPT_ROW("timeout", VAMP_OPT_DURATION, AT(timeout_ns), "10s", .min = 100000000,        \
                     .max = (uint64_t)600 * VAMP_NS_PER_SECOND,                                    \
                     .help = "how long a request may take; then it is sent again")

/* Whether the text is an address that begins with http:// or https://, or in the `other` way that
 * the caller knows, and has no user, query or fragment. 0, or -EINVAL with what is wrong and, in
 * `expected`'s words, what is allowed. */
VAMP_MUST_CHECK int vamp_push_check(const char *url, bool other, const char *expected,
                                    struct vamp_err *err);
