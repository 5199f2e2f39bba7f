/* SPDX-License-Identifier: BSD-3-Clause */
/* The section "collect" of vampire-collect: its option table and checks. */
#include <stddef.h>
#include <string.h>

#include "config/internal.h"

#define AT(member) offsetof(struct vamp_config, collect.member)
#define SERVER(member) AT(server.member)
#define MILLISECONDS(n) ((uint64_t)(n)*1000000)
#define SECONDS(n) ((uint64_t)(n) * (uint64_t)VAMP_NS_PER_SECOND)

/* In the order of enum vamp_level. */
static const char *const level_words[] = {"workflow", "model", "component", NULL};
/* Index i selects i + 2 sub-bits. */
static const char *const sub_bin_words[] = {"4", "8", "16", NULL};

const struct vamp_opt config_collect_options[] = {
    VAMP_NATS_SERVER_OPTIONS(SERVER),
    {"subject", VAMP_OPT_STRING, AT(subject), "vampire.>", .max = 256,
     .help =
         "the subject to subscribe to: outputs of type \"nats\" publish as PREFIX.WORKFLOW.RUN; * "
         "matches one word, > at the end all that follow"},
    {"consumer", VAMP_OPT_STRING, AT(consumer), "", .max = 64,
     .help = "the name of a durable JetStream consumer of a stream that exists; the consumer is "
             "created if needed, and a message is acknowledged after it was merged. Unset: a plain "
             "subscription, which misses messages published while there is no connection"},
    {"answer", VAMP_OPT_STRING, AT(answer), "vampire-collect", .max = 256,
     .help = "the subject of requests, which are answered with the current values as JSON; empty: "
             "requests are not answered"},
    {"name", VAMP_OPT_STRING, AT(name), "collected", .max = 256,
     .help =
         "the name of the view, used instead of a workflow in the outputs' file names, subjects "
         "and labels of the run"},
    {"bucket", VAMP_OPT_DURATION, AT(bucket_ns), "10s", .min = MILLISECONDS(1),
     .max = SECONDS(86400),
     .help = "the width of a merged bucket, a multiple of that of every run; a run with another "
             "width is refused and counted"},
    {"delay", VAMP_OPT_DURATION, AT(delay_ns), "30s", .min = MILLISECONDS(1), .max = SECONDS(86400),
     .help =
         "how long after its end a bucket waits for runs that have not reported; later messages "
         "are refused and counted"},
    {"forget", VAMP_OPT_DURATION, AT(forget_ns), "10min", .min = MILLISECONDS(1),
     .max = SECONDS(30 * 86400),
     .help = "a run without messages for this time has ended; until then it counts as missing"},
    {"level", VAMP_OPT_ENUM, AT(level), "component", .choices = level_words,
     .help = "Granularity of the merged series within a run; that of the runs, or coarser"},
    {"sub_bins", VAMP_OPT_ENUM, AT(sub_bins), "8", .choices = sub_bin_words,
     .help = "histogram bins per doubling, as in the runs; a run with others is refused and "
             "counted"},
    {"attributes", VAMP_OPT_STRINGS, AT(attributes), NULL, .max = 32,
     .help = "labels of the runs' \"statistics.attributes\" that the merged series have, too; "
             "series that differ only in others are merged"},
    {"max_runs", VAMP_OPT_UINT, AT(max_runs), "2048", .min = 1, .max = 65536,
     .help = "runs known at the same time; messages of further ones are refused and counted"},
    {"max_series", VAMP_OPT_UINT, AT(max_series), "262144", .min = 2, .max = 1048576,
     .help = "series of a label set in the merged buckets; further ones are counted under (other)"},
    {"max_waiting", VAMP_OPT_SIZE, AT(waiting_bytes), "256MiB", .min = (uint64_t)1 << 20,
     .max = (uint64_t)1 << 40,
     .help = "messages that wait for their bucket's close; further ones are refused and counted"},
    {"queue", VAMP_OPT_SIZE, AT(queue_bytes), "64MiB", .min = (uint64_t)1 << 20,
     .max = (uint64_t)16 << 30,
     .help =
         "messages that wait to be merged; with a consumer, what does not fit stays in the stream, "
         "otherwise it is lost and counted"},
    {.key = NULL},
};

static bool is_name(const char *text)
{
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")] ==
           '\0';
}

/* Returns whether a subject PREFIX.WORKFLOW.RUN can match the pattern. */
static bool matches_prefix(const char *pattern, const char *prefix)
{
    char subject[1024];
    (void)snprintf(subject, sizeof subject, "%s.*.*", prefix);
    const char *one = pattern, *other = subject;
    for (;;) {
        const size_t length = strcspn(one, "."), of_other = strcspn(other, ".");
        if (one[0] == '>') {
            return true;
        }
        if (one[0] != '*' && other[0] != '*' &&
            (length != of_other || strncmp(one, other, length) != 0)) {
            return false;
        }
        if (one[length] == '\0' || other[of_other] == '\0') {
            return one[length] == other[of_other];
        }
        one += length + 1;
        other += of_other + 1;
    }
}

/* Reports an output that publishes to the subject that is collected. */
static void check_loop(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    if (output->ops != &vamp_writer_nats) {
        return;
    }
    const char *prefix =
        config_opt_text(vamp_opt_find(output->ops->options, "prefix"), output->options);
    if (prefix != NULL && matches_prefix(loader->config->collect.subject, prefix)) {
        config_output_error(
            loader, index, "prefix",
            "its messages would be collected again, since they match \"collect.subject\": give it "
            "another prefix");
    }
}

void config_check_collect(const struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct vamp_config_collect *collect = &config->collect;
    struct vamp_err err = VAMP_ERR_NONE;
    const char *key = NULL;
    /* The checks of outputs use these two options. */
    config->statistics.bucket_ns = collect->bucket_ns;
    config->statistics.level = collect->level;
    if (vamp_nats_server_check(&collect->server, &key, &err) != 0) {
        char path[CONFIG_PATH_BYTES] = "/collect";
        (void)config_path_push(path, key);
        config_error(loader, path, "%s", err.text);
    }
    if (collect->subject == NULL || !vamp_nats_is_subject(collect->subject, true)) {
        config_error(loader, "/collect/subject",
                     "expected words with points between them, without blanks; a word may be *, "
                     "the last one >");
    }
    for (unsigned i = 0; i < config->output_count && collect->subject != NULL; i++) {
        check_loop(loader, i);
    }
    if (collect->name == NULL) {
        config_error(loader, "/collect/name", "the name of the view must not be empty");
    }
    if (collect->answer != NULL && !vamp_nats_is_subject(collect->answer, false)) {
        config_error(loader, "/collect/answer",
                     "expected words with points between them, without blanks, * and >");
    }
    if (collect->consumer != NULL && !is_name(collect->consumer)) {
        config_error(loader, "/collect/consumer", "expected letters, digits, - and _");
    }
}
