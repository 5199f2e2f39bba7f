/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of NATS that is linked into the programs, without the library: the nats format, and its
 * servers. */
#include "writers/nats/server.h"

#include <errno.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "writers/writer.h"

#define OPTION(member) offsetof(struct nats_options, member)
#define SERVER(member) OPTION(server.member)
#define OF_ALARMS(member) OPTION(alarms.member)

static const struct vamp_opt nats_options[] = {
    VAMP_NATS_SERVER_OPTIONS(SERVER),
    {"prefix", VAMP_OPT_STRING, OPTION(prefix), "vampire", .max = 128,
     .help = "the start of the subject PREFIX.WORKFLOW.RUN; of a workflow's name all but letters, "
             "digits, - and _ becomes _"},
    {"jetstream", VAMP_OPT_BOOL, OPTION(jetstream), NULL,
     .help = "a stream of JetStream, which has to exist, confirms each message; else the server "
             "does, and subscribers that are not connected miss it"},
    {"message", VAMP_OPT_SIZE, OPTION(message_bytes), "512KiB", .min = NATS_MESSAGE_BYTES_MIN,
     .max = NATS_MESSAGE_BYTES_MAX,
     .help = "the longest message; a bucket that needs more becomes several; below the server's "
             "\"max_payload\", which is 1 MiB unless told otherwise"},
    {"timeout", VAMP_OPT_DURATION, OPTION(timeout_ns), "5s", .min = 100000000,
     .max = (uint64_t)600 * VAMP_NS_PER_SECOND,
     .help = "how long a server may take to confirm; then vampire connects and sends again"},
    VAMP_SENT_ALARMS_OPTIONS(OF_ALARMS),
    {.key = NULL},
};

/* ---- servers and subjects */

/* Returns whether the address is nats:// or tls:// with a host, and without a path or parameters.
 */
static bool is_server(const char *url)
{
    const char *host = strstr(url, "://");
    const bool has_scheme = strncmp(url, "nats://", 7) == 0 || strncmp(url, "tls://", 6) == 0;
    if (!has_scheme || host == NULL) {
        return false;
    }
    host += strlen("://");
    const bool has_host = host[0] != '\0' && host[0] != ':';
    return has_host && strpbrk(host, "/?#, ") == NULL;
}

/* Checks the syntax of the addresses. Returns 0 or -EINVAL. */
static int check_servers(const struct vamp_strings *servers, struct vamp_err *err)
{
    if (servers->count == 0) {
        return vamp_err_set(err, -EINVAL, "empty; an address is needed");
    }
    for (size_t i = 0; i < servers->count; i++) {
        if (strchr(servers->items[i], '@') != NULL) {
            return vamp_err_set(err, -EINVAL,
                                "a user or a password in an address would be shown with it; set "
                                "\"user\" and \"secret_file\"");
        }
        if (!is_server(servers->items[i])) {
            return vamp_err_set(err, -EINVAL,
                                "\"%.100s\": expected nats://HOST:PORT or tls://HOST:PORT",
                                servers->items[i]);
        }
    }
    return 0;
}

int vamp_nats_server_check(const struct vamp_nats_server *server, const char **ret_key,
                           struct vamp_err *err)
{
    *ret_key = "servers";
    const int code = check_servers(&server->servers, err);
    if (code != 0) {
        return code;
    }
    *ret_key = "key_file";
    if ((server->certificate_file == NULL) != (server->key_file == NULL)) {
        return vamp_err_set(err, -EINVAL, "\"certificate_file\" and \"key_file\" need each other");
    }
    return 0;
}

/* Returns whether the word is valid; with `wildcards` also "*" and, if it is the `last` one, ">".
 */
static bool is_word(const char *word, size_t length, bool wildcards, bool last)
{
    const bool is_wildcard = length == 1 && (word[0] == '*' || (word[0] == '>' && last));
    if (wildcards && is_wildcard) {
        return true;
    }
    return length > 0 && strcspn(word, " \t\r\n*>.") == length;
}

bool vamp_nats_is_subject(const char *text, bool wildcards)
{
    for (;;) {
        const size_t length = strcspn(text, ".");
        const bool last = text[length] == '\0';
        if (!is_word(text, length, wildcards, last)) {
            return false;
        }
        if (last) {
            return true;
        }
        text += length + 1;
    }
}

/* ---- the format */

static int check(const void *context, const char **ret_key, struct vamp_err *err)
{
    const struct nats_options *options = context;
    const int code = vamp_nats_server_check(&options->server, ret_key, err);
    if (code != 0) {
        return code;
    }
    if (options->prefix == NULL || !vamp_nats_is_subject(options->prefix, false)) {
        *ret_key = "prefix";
        return vamp_err_set(err, -EINVAL,
                            "expected words separated by points, without blanks, * and >");
    }
    return 0;
}

const struct vamp_writer_ops vamp_writer_nats = {
    .name = "nats",
    .summary = "publishes buckets as messages of Protocol Buffers, by NATS",
    .options = nats_options,
    .options_bytes = sizeof(struct nats_options),
    .element = VAMP_ELEMENT_BUCKET,
    .budget_unset = 100000,
    .alarms_at = OPTION(alarms),
    .check = check,
    .plug_in = true,
};
