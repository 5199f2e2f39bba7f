/* SPDX-License-Identifier: BSD-3-Clause */
/* Options with which an output authenticates itself to a server. */
#pragma once

#include "vampire/core/options/options.h"

/* Entries of a format's option table: "user", "secret_file", "ca_file". AT(member) is the offset of
 * the member with that name, a char *. VARIABLE is the name of the environment variable with the
 * secret, used without a secret file. TRUST describes the use of the certificates. */
#define VAMP_CREDENTIAL_OPTIONS(AT, VARIABLE, TRUST)                                               \
    VAMP_OPT_ROW(                                                                                  \
        "user", VAMP_OPT_STRING, AT(user), NULL, .max = 256,                                       \
        .help = "the user, for a server that asks for a user and a password; unset: a token, if "  \
                "there is a secret"),                                                              \
        VAMP_OPT_ROW("secret_file", VAMP_OPT_STRING, AT(secret_file), NULL, .max = 4096,           \
                     .help = "a file with the password of \"user\", or else a token, on its "      \
                             "first line; unset: "                                                 \
                             "the environment variable " VARIABLE ", if there is one"),            \
        VAMP_OPT_ROW("ca_file", VAMP_OPT_STRING, AT(ca_file), NULL, .max = 4096,                   \
                     .help = "certificates of authorities to trust " TRUST)
