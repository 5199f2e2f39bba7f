/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The servers of a NATS cluster, as given in configurations. Does not need the NATS library.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "writers/format/credentials.h"
#include "writers/format/sent_alarms.h"

struct vamp_nats_server {
    struct vamp_strings servers;
    char *user, *secret_file, *credentials_file;
    char *ca_file, *certificate_file, *key_file;
};

/* The options of the format. */
struct nats_options {
    struct vamp_nats_server server;
    char *prefix;
    bool jetstream;
    uint64_t message_bytes; /* size of the longest message */
    int64_t timeout_ns;     /* timeout for an answer of the server */
    struct vamp_sent_alarms alarms;
};
/* A message contains the header of a bucket and at least one row with its names and bins. */
#define NATS_MESSAGE_BYTES_MIN ((size_t)256 * 1024)
/* The largest message size that a nats-server can be configured to accept; received messages have
 * no other limit. */
#define NATS_MESSAGE_BYTES_MAX ((size_t)64 * 1024 * 1024)

/* Environment variable with the secret, used if there is no secret file. */
#define VAMP_NATS_SECRET_VARIABLE "VAMPIRE_NATS_SECRET"

/* Entries of an option table. AT(member) is the offset of that member of struct vamp_nats_server in
 * the struct that the table fills. */
#define VAMP_NATS_SERVER_OPTIONS(AT)                                                               \
    VAMP_OPT_ROW(                                                                                  \
        "servers", VAMP_OPT_STRINGS, AT(servers), "nats://127.0.0.1:4222", .max = 1024,            \
        .help =                                                                                    \
            "servers of one cluster, nats://HOST:PORT or tls://HOST:PORT, without a user or a "    \
            "password: the first one that answers is used"),                                       \
        VAMP_CREDENTIAL_OPTIONS(AT, VAMP_NATS_SECRET_VARIABLE,                                     \
                                "in addition to the system's, for tls"),                           \
        VAMP_OPT_ROW(                                                                              \
            "credentials_file", VAMP_OPT_STRING, AT(credentials_file), NULL, .max = 4096,          \
            .help =                                                                                \
                "a file of credentials (.creds) with a JWT and its seed, instead of a secret"),    \
        VAMP_OPT_ROW(                                                                              \
            "certificate_file", VAMP_OPT_STRING, AT(certificate_file), NULL, .max = 4096,          \
            .help =                                                                                \
                "vampire's own certificate, for a server that asks for one; needs \"key_file\""),  \
        VAMP_OPT_ROW("key_file", VAMP_OPT_STRING, AT(key_file), NULL, .max = 4096,                 \
                     .help = "the key of \"certificate_file\"")

/* Syntax check only. Returns 0, or -EINVAL with the key of the invalid option, the error and the
 * allowed values. */
VAMP_MUST_CHECK int vamp_nats_server_check(const struct vamp_nats_server *server,
                                           const char **ret_key, struct vamp_err *err);
/* Whether the text is a valid subject: non-empty words separated by dots. `wildcards`: a word may
 * be "*", and the last one ">". */
bool vamp_nats_is_subject(const char *text, bool wildcards);
