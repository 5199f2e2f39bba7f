/* SPDX-License-Identifier: BSD-3-Clause */
/* The influx format as the program knows it, without its library. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "vampire/stats/bucket/bucket.h"
#include "writers/influx/lines.h"

#define OPTION(member) offsetof(struct influx_options, member)

static const struct vamp_opt influx_options[] = {
    {.key = "url",
     .type = VAMP_OPT_STRING,
     .preset = "http://127.0.0.1:8086",
     .max = 1024,
     .offset = OPTION(url),
     .help = "the server: http://HOST:PORT or https://HOST:PORT, without a user or a password; or "
             "udp://HOST:PORT, where nothing confirms what arrives"},
    {.key = "database",
     .type = VAMP_OPT_STRING,
     .preset = "vampire",
     .max = 256,
     .offset = OPTION(database),
     .help = "the database, which has to exist; with udp:// the server's listener has its own"},
    {.key = "user",
     .type = VAMP_OPT_STRING,
     .max = 256,
     .offset = OPTION(user),
     .help = "who writes, for a server that asks for a user and a password; unset: a token, if "
             "there is a secret"},
    {.key = "secret_file",
     .type = VAMP_OPT_STRING,
     .max = 4096,
     .offset = OPTION(secret_file),
     .help = "a file with the password of \"user\", or else a token, on its first line; unset: the "
             "environment variable " INFLUX_SECRET_VARIABLE ", if there is one"},
    {.key = "ca_file",
     .type = VAMP_OPT_STRING,
     .max = 4096,
     .offset = OPTION(ca_file),
     .help = "certificates of authorities to trust instead of the system's, for https"},
    {.key = "labels",
     .type = VAMP_OPT_SET,
     .preset = "workflow",
     .choices = vamp_run_label_words,
     .offset = OPTION(labels),
     .help = "facts about the run that every point has as tags"},
    {.key = "timeout",
     .type = VAMP_OPT_DURATION,
     .preset = "10s",
     .min = 100000000,
     .max = (uint64_t)600 * VAMP_NS_PER_SECOND,
     .offset = OPTION(timeout_ns),
     .help = "how long a request may take; then it is sent again"},
    {.key = NULL},
};

static bool has_scheme(const char *url, const char *scheme)
{
    const size_t length = strlen(scheme);
    return strncmp(url, scheme, length) == 0 && url[length] != '\0' && url[length] != '/';
}

/* HOST:PORT, where a HOST with colons has brackets. */
static bool is_udp(const char *url)
{
    if (!has_scheme(url, INFLUX_UDP)) {
        return false;
    }
    const char *host = url + strlen(INFLUX_UDP), *colon = strrchr(host, ':');
    const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
    if (colon == NULL || end == NULL || end + (host[0] == '[' ? 1 : 0) != colon || end == host) {
        return false;
    }
    const size_t digits = strspn(colon + 1, "0123456789");
    return digits > 0 && colon[1 + digits] == '\0';
}

/* The port of an address, if it has one in digits, is one that a machine can have. */
static bool port_exists(const char *url)
{
    const char *host = strstr(url, "://") + 3, *end = host + strcspn(host, "/"), *port = end;
    while (port > host && strchr("0123456789", port[-1]) != NULL) {
        port--;
    }
    const unsigned long number = strtoul(port, NULL, 10);
    return port == end || port == host || port[-1] != ':' || (number > 0 && number <= 65535);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), bytes = strlen(end);
    return length >= bytes && strcmp(text + length - bytes, end) == 0;
}

static int check_url(const char *url, struct vamp_err *err)
{
    if (strchr(url, '@') != NULL) {
        return vamp_err_set(err, -EINVAL,
                            "a user or a password in the address would be shown with it; set "
                            "\"user\" and \"secret_file\"");
    }
    const bool http = has_scheme(url, "http://") || has_scheme(url, "https://");
    if ((!http && !is_udp(url)) || strpbrk(url, "?# ") != NULL) {
        return vamp_err_set(err, -EINVAL,
                            "expected http://HOST:PORT, https://HOST:PORT or udp://HOST:PORT");
    }
    if (!port_exists(url)) {
        return vamp_err_set(err, -EINVAL, "%.100s: a port is 1 to 65535", url);
    }
    if (ends_with(url, "/write") || ends_with(url, "/write/") || ends_with(url, "/api/v2")) {
        return vamp_err_set(err, -EINVAL,
                            "%.100s: vampire adds /write?db=DATABASE, which InfluxDB 1 and "
                            "VictoriaMetrics take; give the address without the path of a request",
                            url);
    }
    return 0;
}

static int check(const void *context, const char **ret_key, struct vamp_err *err)
{
    const struct influx_options *options = context;
    const char *url = options->url != NULL ? options->url : "";
    *ret_key = "url";
    const int code = check_url(url, err);
    if (code != 0) {
        return code;
    }
    if (is_udp(url) && (options->user != NULL || options->secret_file != NULL)) {
        return vamp_err_set(err, -EINVAL,
                            "udp:// has no passwords: \"user\" and \"secret_file\" need http:// or "
                            "https://");
    }
    *ret_key = "database";
    return options->database != NULL ? 0 : vamp_err_set(err, -EINVAL, "empty; a name is needed");
}

const struct vamp_writer_ops vamp_writer_influx = {
    .name = "influx",
    .summary = "sends points to InfluxDB, VictoriaMetrics and others, by HTTP or UDP",
    .options = influx_options,
    .options_bytes = sizeof(struct influx_options),
    .element = VAMP_ELEMENT_BUCKET,
    .check = check,
    .without_unset = UINT32_C(1) << VAMP_LABEL_SIZE_CLASS,
    .plug_in = true,
};
