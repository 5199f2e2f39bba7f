/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the otlp format that is linked into the program: its name and options. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket.h"
#include "writers/format/bounds.h"
#include "writers/otlp/points.h"

#define OPTION(member) offsetof(struct otlp_options, member)
#define PUSH(member) offsetof(struct otlp_options, push.member)

static const char *const histograms_words[] = {"explicit", "exponential", NULL};

static const struct vamp_opt otlp_options[] = {
    {"endpoint", VAMP_OPT_STRING, OPTION(endpoint), "http://127.0.0.1:4318/v1/metrics", .max = 1024,
     .help = "where the server takes metrics, with its path: http://HOST:4318/v1/metrics of a "
             "collector, http://HOST:9090/api/v1/otlp/v1/metrics of Prometheus, "
             "http://HOST:8428/opentelemetry/v1/metrics of VictoriaMetrics; or https://"},
    VAMP_PUSH_OPTIONS(PUSH, OTLP_SECRET_VARIABLE),
    {"labels", VAMP_OPT_SET, OPTION(labels), "workflow", .choices = vamp_run_label_words,
     .help = "facts about the run that every point has as attributes; its resource has all of "
             "them"},
    {"histograms", VAMP_OPT_ENUM, OPTION(histograms), "explicit", .choices = histograms_words,
     .help = "how histograms are sent: with explicit bounds, which every server knows, or as "
             "exponential ones, which are shorter and finer"},
    VAMP_BOUNDS_OPTION(OPTION(bounds)),
    {.key = NULL},
};

static int check(const void *context, const char **ret_key, struct vamp_err *err)
{
    static const char expected[] =
        "http://HOST:PORT/PATH or https://HOST:PORT/PATH, such as http://127.0.0.1:4318/v1/metrics";
    const char *url = vamp_text_or(((const struct otlp_options *)context)->endpoint, "");
    *ret_key = "endpoint";
    const int code = vamp_push_check(url, false, expected, err);
    if (code != 0) {
        return code;
    }
    const char *path = strchr(strstr(url, "://") + 3, '/');
    if (path == NULL || path[1] == '\0') {
        return vamp_err_set(err, -EINVAL, "the path is missing: expected %s", expected);
    }
    return 0;
}

const struct vamp_writer_ops vamp_writer_otlp = {
    .name = "otlp",
    .summary = "sends metrics by OTLP to Prometheus, VictoriaMetrics, collectors and others",
    .options = otlp_options,
    .options_bytes = sizeof(struct otlp_options),
    .element = VAMP_ELEMENT_BUCKET,
    .check = check,
    .without_unset = UINT32_C(1) << VAMP_LABEL_SIZE_CLASS,
    .budget_unset = 15000,
    .plug_in = true,
};
