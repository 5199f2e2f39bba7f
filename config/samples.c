/* SPDX-License-Identifier: BSD-3-Clause */
/* The section "samples": its option table and checks. */
#include <stddef.h>

#include "config/internal.h"
#include "vampire/stats/bucket/declared.h"

#define AT(member) offsetof(struct vamp_config, member)

/* In the order of enum vamp_sample_precision. */
static const char *const precision_words[] = {"auto", "ns", "us", "ms", "s", NULL};

const struct vamp_opt config_samples_options[] = {
    {"listen", VAMP_OPT_STRINGS, AT(samples.listen), NULL, .max = 256,
     .help = "Where to receive lines of InfluxDB's protocol as datagrams: unix:PATH, udp:PORT on "
             "the loopback address, udp:ADDRESS:PORT; only with a live source"},
    {"files", VAMP_OPT_STRINGS, AT(samples.files), NULL, .max = 4096,
     .help =
         "Files of such lines; with a live source only lines appended after the start, else the "
         "whole files, in the order of their times"},
    {"precision", VAMP_OPT_ENUM, AT(samples.precision), "auto", .choices = precision_words,
     .help =
         "The unit of the times in the lines; auto infers it from their magnitude. A line without "
         "a time gets the time of its arrival"},
    {"max_rate", VAMP_OPT_UINT, AT(samples.max_rate), "50000", .min = 1, .max = 1000000000,
     .help =
         "Lines read of each input a second; over the limit, lines from sockets are counted and "
         "dropped, lines of files wait"},
    {"metrics", VAMP_OPT_STRINGS, AT(declared), NULL, .max = 512,
     .help = "Metrics made of samples, each a text NAME KIND MEASUREMENT.FIELD, then as needed "
             "unit=U, scale=N, only=TAG:VALUE, value=TAG and the labels component=TAG, host=TAG, "
             "job=TAG, "
             "name=TAG: "
             "\"ifs_step counter ifs.step component=component\""},
    {.key = NULL},
};

static void check_each(const struct config_loader *loader, const char *key,
                       const struct vamp_strings *strings,
                       int (*check)(const char *text, struct vamp_err *err))
{
    for (size_t i = 0; i < strings->count; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        if (check(strings->items[i], &err) != 0) {
            char path[CONFIG_PATH_BYTES] = "/samples";
            (void)config_path_push(path, key);
            (void)config_path_push_index(path, i);
            config_error(loader, path, "%s", err.text);
        }
    }
}

void config_check_samples(const struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    struct vamp_samples_options *samples = &config->samples;
    samples->replayed = !config->source->is_live;
    check_each(loader, "listen", &samples->listen, vamp_samples_check_address);
    check_each(loader, "metrics", &config->declared, vamp_declare);
    if (samples->listen.count > 0 && samples->replayed) {
        config_error(loader, "/samples/listen",
                     "lines arrive now, not at the time that is replayed or generated; \"files\" "
                     "are read by their times");
    }
    if (samples->listen.count + samples->files.count > VAMP_SAMPLE_INPUTS_MAX) {
        config_error(loader, "/samples", "more than %d sockets and files", VAMP_SAMPLE_INPUTS_MAX);
    }
}
