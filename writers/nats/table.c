/* SPDX-License-Identifier: BSD-3-Clause */
/* The nats format as the program knows it, without its library. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "writers/nats/internal.h"

#define OPTION(member) offsetof(struct nats_options, member)

static const struct vamp_opt nats_options[] = {
    {.key = "servers",
     .type = VAMP_OPT_STRINGS,
     .preset = "nats://127.0.0.1:4222",
     .max = 1024,
     .offset = OPTION(servers),
     .help = "servers of one cluster, nats://HOST:PORT or tls://HOST:PORT, without a user or a "
             "password: the first one that answers is used"},
    {.key = "prefix",
     .type = VAMP_OPT_STRING,
     .preset = "vampire",
     .max = 128,
     .offset = OPTION(prefix),
     .help = "the begin of the subject PREFIX.WORKFLOW.RUN; of a workflow's name all but letters, "
             "digits, - and _ becomes _"},
    {.key = "jetstream",
     .type = VAMP_OPT_BOOL,
     .offset = OPTION(jetstream),
     .help = "a stream of JetStream, which has to exist, confirms each message; else the server "
             "does, and subscribers that are not connected miss it"},
    {.key = "message",
     .type = VAMP_OPT_SIZE,
     .preset = "512KiB",
     .min = NATS_MESSAGE_BYTES_MIN,
     .max = (uint64_t)64 * 1024 * 1024,
     .offset = OPTION(message_bytes),
     .help = "the longest message; a bucket that needs more becomes several; below the server's "
             "\"max_payload\", which is 1 MiB unless told otherwise"},
    {.key = "user",
     .type = VAMP_OPT_STRING,
     .max = 256,
     .offset = OPTION(user),
     .help = "who publishes, for a server that asks for a user and a password; unset: a token, if "
             "there is a secret"},
    {.key = "secret_file",
     .type = VAMP_OPT_STRING,
     .max = 4096,
     .offset = OPTION(secret_file),
     .help = "a file with the password of \"user\", or else a token, on its first line; unset: the "
             "environment variable " NATS_SECRET_VARIABLE ", if there is one"},
    {.key = "credentials_file",
     .type = VAMP_OPT_STRING,
     .max = 4096,
     .offset = OPTION(credentials_file),
     .help = "a file of credentials (.creds) with a JWT and its seed, instead of a secret"},
    {.key = "ca_file",
     .type = VAMP_OPT_STRING,
     .max = 4096,
     .offset = OPTION(ca_file),
     .help = "certificates of authorities to trust in addition to the system's, for tls"},
    {.key = "certificate_file",
     .type = VAMP_OPT_STRING,
     .max = 4096,
     .offset = OPTION(certificate_file),
     .help = "vampire's own certificate, for a server that asks for one; needs \"key_file\""},
    {.key = "key_file",
     .type = VAMP_OPT_STRING,
     .max = 4096,
     .offset = OPTION(key_file),
     .help = "the key of \"certificate_file\""},
    {.key = "timeout",
     .type = VAMP_OPT_DURATION,
     .preset = "5s",
     .min = 100000000,
     .max = (uint64_t)600 * VAMP_NS_PER_SECOND,
     .offset = OPTION(timeout_ns),
     .help = "how long a server may take to confirm; then vampire connects and sends again"},
    {.key = NULL},
};

static bool is_server(const char *url)
{
    const char *host = strstr(url, "://");
    const bool scheme = strncmp(url, "nats://", 7) == 0 || strncmp(url, "tls://", 6) == 0;
    return scheme && host != NULL && host[3] != '\0' && host[3] != ':' &&
           strpbrk(host + 3, "/?#, ") == NULL;
}

static int check_servers(const struct nats_options *options, struct vamp_err *err)
{
    if (options->servers.count == 0) {
        return vamp_err_set(err, -EINVAL, "empty; an address is needed");
    }
    for (size_t i = 0; i < options->servers.count; i++) {
        if (strchr(options->servers.items[i], '@') != NULL) {
            return vamp_err_set(err, -EINVAL,
                                "a user or a password in an address would be shown with it; set "
                                "\"user\" and \"secret_file\"");
        }
        if (!is_server(options->servers.items[i])) {
            return vamp_err_set(err, -EINVAL,
                                "\"%.100s\": expected nats://HOST:PORT or tls://HOST:PORT",
                                options->servers.items[i]);
        }
    }
    return 0;
}

/* Tokens of a subject, none of them empty or a wildcard. */
static bool is_subject(const char *prefix)
{
    const size_t length = strlen(prefix);
    return length > 0 && prefix[0] != '.' && prefix[length - 1] != '.' &&
           strstr(prefix, "..") == NULL && strpbrk(prefix, " \t\r\n*>") == NULL;
}

static int check(const void *context, const char **ret_key, struct vamp_err *err)
{
    const struct nats_options *options = context;
    *ret_key = "servers";
    const int code = check_servers(options, err);
    if (code != 0) {
        return code;
    }
    *ret_key = "prefix";
    if (options->prefix == NULL || !is_subject(options->prefix)) {
        return vamp_err_set(err, -EINVAL,
                            "expected words with points between them, without blanks, * and >");
    }
    *ret_key = "key_file";
    if ((options->certificate_file == NULL) != (options->key_file == NULL)) {
        return vamp_err_set(err, -EINVAL, "\"certificate_file\" and \"key_file\" need each other");
    }
    return 0;
}

const struct vamp_writer_ops vamp_writer_nats = {
    .name = "nats",
    .summary = "publishes buckets as messages of Protocol Buffers, by NATS",
    .options = nats_options,
    .options_bytes = sizeof(struct nats_options),
    .element = VAMP_ELEMENT_BUCKET,
    .check = check,
    .plug_in = true,
};
