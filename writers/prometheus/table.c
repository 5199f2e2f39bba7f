/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the prometheus format that is linked into the program: its name and options. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket.h"
#include "writers/format/bounds.h"
#include "writers/format/listener.h"
#include "writers/prometheus/page.h"

#define OPTION(member) offsetof(struct prometheus_options, member)

static const struct vamp_opt prometheus_options[] = {
    {"listen", VAMP_OPT_STRING, OPTION(listen), "tcp:9955", .max = 128, .role = VAMP_OPT_LISTEN,
     .help = "where the page is: tcp:PORT (this machine only), or tcp:ADDRESS:PORT, such as "
             "tcp:0.0.0.0:9955 for every machine; port 0: one that is free, which a message and "
             "the summary name"},
    {"labels", VAMP_OPT_SET, OPTION(labels), "workflow", .choices = vamp_run_label_words,
     .help = "facts about the run that every series has as labels; vampire_run_info has all of "
             "them. Those that differ from run to run make new series for each run"},
    VAMP_BOUNDS_OPTION(OPTION(bounds)),
    {"linger", VAMP_OPT_DURATION, OPTION(linger_ns), "0s",
     .max = (uint64_t)3600 * VAMP_NS_PER_SECOND,
     .help = "how long the page stays after the end of the run, so that its last values are "
             "scraped, too: two scrape intervals. Other outputs are completed meanwhile, and a "
             "signal ends it; after a run that a signal has ended, at most \"finish\""},
    {.key = NULL},
};

static int check(const void *context, const char **ret_key, struct vamp_err *err)
{
    const struct prometheus_options *options = context;
    *ret_key = "listen";
    if (options->listen == NULL || strncmp(options->listen, "tcp:", 4) != 0) {
        return vamp_err_set(err, -EINVAL,
                            "%.80s: expected tcp:PORT (this machine only) or tcp:ADDRESS:PORT",
                            vamp_text_or(options->listen, "empty"));
    }
    return vamp_listener_check(options->listen, err);
}

const struct vamp_writer_ops vamp_writer_prometheus = {
    .name = "prometheus",
    .summary = "a page with all values, for Prometheus and what scrapes like it",
    .options = prometheus_options,
    .options_bytes = sizeof(struct prometheus_options),
    .element = VAMP_ELEMENT_BUCKET,
    .check = check,
    .without_unset = UINT32_C(1) << VAMP_LABEL_SIZE_CLASS,
    .budget_unset = 15000,
    .plug_in = true,
};
