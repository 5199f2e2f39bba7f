/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the influx format that is linked into the program: its name and options. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket.h"
#include "writers/influx/lines.h"

#define OPTION(member) offsetof(struct influx_options, member)
#define PUSH(member) offsetof(struct influx_options, push.member)

static const struct vamp_opt influx_options[] = {
    {"url", VAMP_OPT_STRING, OPTION(url), "http://127.0.0.1:8086", .max = 1024,
     .help = "the server: http://HOST:PORT or https://HOST:PORT, without a user or a password; or "
             "udp://HOST:PORT, where nothing confirms what arrives"},
    {"database", VAMP_OPT_STRING, OPTION(database), "vampire", .max = 256,
     .help = "the database, which has to exist; with udp:// the server's listener has its own"},
    {"labels", VAMP_OPT_SET, OPTION(labels), "workflow run", .choices = vamp_run_label_words,
     .help = "facts about the run that every point has as tags; without \"run\", runs of one "
             "workflow that write at the same time overwrite each other's points"},
    VAMP_PUSH_OPTIONS(PUSH, INFLUX_SECRET_VARIABLE),
    {.key = NULL},
};

/* Returns whether the address is udp://HOST:PORT; a HOST with colons must be in brackets. */
static bool is_udp(const char *url)
{
    if (strncmp(url, INFLUX_UDP, strlen(INFLUX_UDP)) != 0) {
        return false;
    }
    const char *host = url + strlen(INFLUX_UDP), *colon = strrchr(host, ':');
    const char *end = strchr(host, ':');
    if (host[0] == '[') {
        end = strchr(host, ']');
        end = end != NULL ? end + 1 : NULL;
    }
    if (colon == NULL || end != colon || end == host) {
        return false;
    }
    const size_t digits = strspn(colon + 1, "0123456789");
    return digits > 0 && colon[1 + digits] == '\0';
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), bytes = strlen(end);
    return length >= bytes && strcmp(text + length - bytes, end) == 0;
}

/* Checks the syntax of the address. Returns 0 or -EINVAL. */
static int check_url(const char *url, struct vamp_err *err)
{
    const int code = vamp_push_check(url, is_udp(url),
                                     "http://HOST:PORT, https://HOST:PORT or udp://HOST:PORT", err);
    if (code == 0 &&
        (ends_with(url, "/write") || ends_with(url, "/write/") || ends_with(url, "/api/v2"))) {
        return vamp_err_set(
            err, -EINVAL,
            "%.100s: vampire adds /write?db=DATABASE, which InfluxDB 1 and "
            "VictoriaMetrics accept; give the address without the path of a request",
            url);
    }
    return code;
}

static int check(const void *context, const char **ret_key, struct vamp_err *err)
{
    const struct influx_options *options = context;
    const char *url = vamp_text_or(options->url, "");
    *ret_key = "url";
    const int code = check_url(url, err);
    if (code != 0) {
        return code;
    }
    if (is_udp(url) && (options->push.user != NULL || options->push.secret_file != NULL)) {
        return vamp_err_set(err, -EINVAL,
                            "udp:// has no passwords: \"user\" and \"secret_file\" need http:// or "
                            "https://");
    }
    *ret_key = "database";
    if (options->database == NULL) {
        return vamp_err_set(err, -EINVAL, "empty; a name is needed");
    }
    return 0;
}

const struct vamp_writer_ops vamp_writer_influx = {
    .name = "influx",
    .summary = "sends points to InfluxDB, VictoriaMetrics and others, by HTTP or UDP",
    .options = influx_options,
    .options_bytes = sizeof(struct influx_options),
    .element = VAMP_ELEMENT_BUCKET,
    .check = check,
    .without_unset = UINT32_C(1) << VAMP_LABEL_SIZE_CLASS,
    .budget_unset = 15000,
    .plug_in = true,
};
