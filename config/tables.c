/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The option tables of the sections that belong to no source and no writer. Parsing, dump, schema
 * and help read these and those of sources and writers, nothing else.
 */
#include <stddef.h>

#include "config/internal.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)
#define TIB(n) ((uint64_t)(n) << 40)
#define SECONDS(n) ((uint64_t)(n) * (uint64_t)VAMP_NS_PER_SECOND)
#define DAYS(n) SECONDS((uint64_t)(n)*86400)
#define MILLISECONDS(n) ((uint64_t)(n)*1000000)

#define AT(member) offsetof(struct vamp_config, member)

const struct vamp_opt config_root_options[] = {
    {.key = "workflow",
     .type = VAMP_OPT_STRING,
     .preset = "",
     .max = 1024,
     .offset = AT(workflow),
     .help = "The workflow to join; required for a run, usually set by MSTRO_WORKFLOW_NAME; it "
             "does not rename a generated workflow (source.workflow) or that of a recording"},
    {.key = "component",
     .type = VAMP_OPT_STRING,
     .preset = "vampire",
     .max = 1024,
     .offset = AT(component),
     .help = "The name under which to join; no other component of the workflow may have it"},
    {.key = "ring",
     .type = VAMP_OPT_SIZE,
     .preset = "16MiB",
     .min = KIB(64),
     .max = GIB(4),
     .offset = AT(ring_bytes),
     .help = "Buffer for events between receiving and counting, rounded up to a power of two; when "
             "it is full, events are lost and counted as lost; a replay waits instead and uses at "
             "most 1 MiB"},
    {.key = "silences",
     .type = VAMP_OPT_STRING,
     .preset = "",
     .max = 4096,
     .offset = AT(silences),
     .help =
         "A file of alarms that are silenced for a time, a line NAME DURATION for each, counted "
         "from the file's last change; read at the start and on SIGUSR2; it need not exist"},
    {.key = NULL},
};

/* In the order of enum vamp_level. */
static const char *const level_words[] = {"workflow", "model", "component", "cdo", NULL};
/* In the order of the bits of enum vamp_metric_set; SELF is always on and has no word. */
static const char *const set_words[] = {"basic",     "waits",     "transport", "lifecycle",
                                        "anomalies", "in_flight", NULL};
/* Of index i: i + 2 sub-bits. */
static const char *const sub_bin_words[] = {"4", "8", "16", NULL};

const struct vamp_opt config_statistics_options[] = {
    {.key = "bucket",
     .type = VAMP_OPT_DURATION,
     .preset = "1s",
     .min = MILLISECONDS(1),
     .max = DAYS(1),
     .offset = AT(statistics.bucket_ns),
     .help = "Width of a time bucket, which is one row in the files"},
    {.key = "lateness",
     .type = VAMP_OPT_DURATION,
     .max = DAYS(1),
     .offset = AT(statistics.lateness_ns),
     .help = "How long a bucket stays open for late events; unless set, the width of a bucket"},
    {.key = "level",
     .type = VAMP_OPT_ENUM,
     .preset = "component",
     .choices = level_words,
     .offset = AT(statistics.level),
     .help = "Granularity: one count for the whole workflow, one per model (see models), one per "
             "component, or in addition a record of the life of each CDO"},
    {.key = "models",
     .type = VAMP_OPT_STRINGS,
     .max = 256,
     .offset = AT(models),
     .help = "Which components are ranks of one model: \"ocean=NEMO*\" names a model and the glob "
             "pattern of its components; in \"(*) -- *\" the text in the place of (*) is the "
             "model. The first that fits decides, and a component that none fits is a model of "
             "its own. None: \"(*) -- *\""},
    {.key = "selected",
     .type = VAMP_OPT_STRING,
     .preset = "",
     .max = 60000,
     .offset = AT(selected),
     .help = "At level cdo: an expression of the filter language; a CDO has a record only if the "
             "expression holds for one of its events. Empty: all CDOs"},
    {.key = "sets",
     .type = VAMP_OPT_SET,
     .preset = "all",
     .choices = set_words,
     .offset = AT(statistics.sets),
     .help = "Sets of metrics to compute; vampire --list-metrics shows the sets of each metric"},
    {.key = "metrics",
     .type = VAMP_OPT_STRINGS,
     .max = 64,
     .offset = AT(metrics),
     .help = "Single metrics to add to the sets, \"+transport_ns\", or to remove, "
             "\"-handling_ns\"; of two entries for one metric the last one counts"},
    {.key = "sub_bins",
     .type = VAMP_OPT_ENUM,
     .preset = "8",
     .choices = sub_bin_words,
     .offset = AT(sub_bins),
     .help = "Histogram bins per doubling of the value: with 8, a value is accurate to 6.25%"},
    {.key = "max_series",
     .type = VAMP_OPT_UINT,
     .preset = "262144",
     .min = 2,
     .max = 1048576,
     .offset = AT(statistics.max_series),
     .help =
         "Series per label set; memory is taken for those that exist. Labels of values beyond it "
         "collapse to (other), counted in vampire_labels_given_up"},
    {.key = "series_key_file",
     .type = VAMP_OPT_STRING,
     .preset = "",
     .max = 4096,
     .offset = AT(series_key_file),
     .help =
         "A file that contains a key of the site, of 16 to 4096 bytes. The ids of series are the "
         "same in all runs of a workflow; with a key, in those with this key only, so that "
         "published files cannot be joined with others by the ids"},
    {.key = "max_histogram_memory",
     .type = VAMP_OPT_SIZE,
     .preset = "256MiB",
     .min = 1048576,
     .max = TIB(16),
     .offset = AT(statistics.max_histogram_bytes),
     .help = "Memory for the histograms of all open buckets together; values for which there is "
             "none are counted in vampire_series_overflow"},
    {.key = "max_components",
     .type = VAMP_OPT_UINT,
     .preset = "4096",
     .min = 2,
     .max = 1048576,
     .offset = AT(statistics.max_components),
     .help = "Components known by name; further ones are counted under (other)"},
    {.key = "max_cdos",
     .type = VAMP_OPT_UINT,
     .preset = "65536",
     .min = 16,
     .max = 16777216,
     .offset = AT(statistics.max_cdos),
     .help = "CDOs tracked at the same time; beyond this number the oldest is evicted and counted"},
    {.key = "max_pending",
     .type = VAMP_OPT_UINT,
     .preset = "65536",
     .min = 16,
     .max = 16777216,
     .offset = AT(statistics.max_pending),
     .help = "Received operations, demands and transports tracked at the same time, each; beyond "
             "this number the oldest is evicted and counted"},
    {.key = "max_empty",
     .type = VAMP_OPT_UINT,
     .preset = "600",
     .min = 1,
     .max = 1000000,
     .offset = AT(statistics.max_empty),
     .help = "Consecutive empty buckets that are written; a longer silence is written as a gap"},
    {.key = NULL},
};

/* Index i is the kind with number i + 1: config_compose_filter relies on it. */
static const char *const kind_words[] = {
#define VAMP_EVENT_KIND(symbol, number, name, help) [(number)-1] = (name),
#include "vampire/core/event/kinds.def"
#undef VAMP_EVENT_KIND
    [VAMP_EVENT_KIND_COUNT - 1] = NULL,
};

const struct vamp_opt config_events_options[] = {
    {.key = "kinds",
     .type = VAMP_OPT_SET,
     .preset = "all",
     .choices = kind_words,
     .offset = AT(events.kinds),
     .help = "Kinds of events that count; join and leave are always received, because they provide "
             "names"},
    {.key = "components",
     .type = VAMP_OPT_STRINGS,
     .max = 1024,
     .offset = AT(events.components),
     .help = "Glob patterns, such as \"IFS*\": only events of components whose name matches one of "
             "them count; none: all"},
    {.key = "cdo_names",
     .type = VAMP_OPT_STRINGS,
     .max = 1024,
     .offset = AT(events.cdo_names),
     .help = "Glob patterns: only events of CDOs whose name matches one of them count; none: all"},
    {.key = "min_size",
     .type = VAMP_OPT_SIZE,
     .preset = "0B",
     .max = TIB(1024),
     .offset = AT(events.min_size_bytes),
     .help = "Only events that report a CDO size of at least this count; 0B: all events, including "
             "those without a size"},
    {.key = "filter",
     .type = VAMP_OPT_STRING,
     .preset = "",
     .max = 60000,
     .offset = AT(events.filter),
     .help = "An expression of the filter language; only events for which it holds count. An event "
             "must satisfy all options of this section"},
    {.key = NULL},
};

const struct vamp_opt config_sampling_options[] = {
    {.key = "fraction",
     .type = VAMP_OPT_UINT,
     .preset = "1000000",
     .min = 1,
     .max = 1000000,
     .offset = AT(sampling.fraction),
     .help = "CDOs per million that count, with all their events, chosen by the CDO's "
             "identifier; 1000000: all"},
    {.key = "every",
     .type = VAMP_OPT_UINT,
     .preset = "1",
     .min = 1,
     .max = 1000000000,
     .offset = AT(sampling.every),
     .help = "One event in so many counts; this separates the events of a CDO; 1: all"},
    {.key = "rate",
     .type = VAMP_OPT_UINT,
     .preset = "0",
     .max = 1000000000,
     .offset = AT(sampling.rate),
     .help = "Maximum number of events that count in each second of event time; 0: unlimited"},
    {.key = NULL},
};

static const struct config_section vampire_sections[] = {
    {"", config_root_options, "The whole"},
    {"statistics", config_statistics_options, "What is computed, and its bounds"},
    {"events", config_events_options, "Which events count"},
    {"sampling", config_sampling_options,
     "Which of these events stand for all of them; joins and leaves always count"},
    {NULL, NULL, NULL},
};

static const struct vamp_opt no_options[] = {{.key = NULL}};

static const struct config_section collect_sections[] = {
    {"", no_options, "The whole"},
    {"collect", config_collect_options, "What is subscribed to and merged, and its bounds"},
    {NULL, NULL, NULL},
};

const struct config_section *const config_sections[VAMP_CONFIG_PROGRAM_COUNT] = {
    [VAMP_CONFIG_VAMPIRE] = vampire_sections,
    [VAMP_CONFIG_COLLECT] = collect_sections,
};

bool config_takes_format(enum vamp_config_program program, const struct vamp_writer_ops *format)
{
    return program == VAMP_CONFIG_VAMPIRE || format->element == VAMP_ELEMENT_BUCKET;
}

/* ---- all of them */

typedef void visit_fn(void *context, const char *section, const struct vamp_opt *opt);

static void visit_table(const char *section, const struct vamp_opt *table, visit_fn *visit,
                        void *context)
{
    for (const struct vamp_opt *opt = table; opt != NULL && opt->key != NULL; opt++) {
        visit(context, section, opt);
    }
}

void vamp_config_each_option(enum vamp_config_program program, visit_fn *visit, void *context)
{
    for (const struct config_section *section = config_sections[program]; section->key != NULL;
         section++) {
        visit_table(section->key, section->options, visit, context);
    }
    for (const struct vamp_source_ops *const *each = vamp_sources;
         program == VAMP_CONFIG_VAMPIRE && *each != NULL; each++) {
        visit_table("source", (*each)->options, visit, context);
    }
    for (const struct vamp_writer_ops *const *each = vamp_writers; *each != NULL; each++) {
        char section[128];
        if (!config_takes_format(program, *each)) {
            continue;
        }
        (void)snprintf(section, sizeof section, "outputs.%s", (*each)->name);
        visit_table(section, vamp_output_options(*each), visit, context);
        visit_table(section, (*each)->options, visit, context);
        for (const struct vamp_output_section *of = vamp_output_sections(*each); of->key != NULL;
             of++) {
            (void)snprintf(section, sizeof section, "outputs.%s.%s", (*each)->name, of->key);
            visit_table(section, of->options, visit, context);
        }
    }
}
