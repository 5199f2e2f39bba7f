/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sections of a configuration: the option tables that do not belong to a source or output type,
 * the sections in each program's file, and the objects in them. Walk, checks, dump, schema and help
 * are all driven by these tables.
 */
#include <assert.h>
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

/* Used by both programs. */
#define FINISH_OPTION                                                                              \
    VAMP_OPT_ROW(                                                                                  \
        "finish", VAMP_OPT_DURATION, AT(finish_ns), "20s", .max = SECONDS(3600),                   \
        .help =                                                                                    \
            "Time limit for ending a run. After a signal, events from before the signal are read " \
            "for at most half of this time; all outputs write pending data in the remaining "      \
            "time, in parallel. Data that is not written in time is counted as lost. The "         \
            "program ends at most 1 s later, even if a server or disk does not respond")

const struct vamp_opt config_root_options[] = {
    {"workflow", VAMP_OPT_STRING, AT(workflow), "", .max = 1024,
     .help = "The workflow to join; required for a run, usually set by MSTRO_WORKFLOW_NAME; it "
             "does not rename a generated workflow (source.workflow) or that of a recording"},
    {"component", VAMP_OPT_STRING, AT(component), "vampire", .max = 1024,
     .help = "The name under which to join; no other component of the workflow may have it"},
    {"ring", VAMP_OPT_SIZE, AT(ring_bytes), "16MiB", .min = KIB(64), .max = GIB(4),
     .help =
         "Buffer for events between receiving and counting, rounded up to a power of two; while "
         "it is full, events wait in the pool manager's queue or, with a Maestro that would "
         "wait for vampire, are lost and counted as lost; a replay uses at most 1 MiB"},
    {"silences", VAMP_OPT_STRING, AT(silences), "", .max = 4096,
     .help =
         "A file of alarms that are silenced for a time, a line NAME DURATION for each, counted "
         "from the file's last change; read at the start and on SIGUSR2; it need not exist"},
    FINISH_OPTION,
    {.key = NULL},
};

/* In the order of enum vamp_level. */
static const char *const level_words[] = {"workflow", "model", "component", "cdo", NULL};
/* In the order of the bits of enum vamp_metric_set; SELF is always on and has no name. */
static const char *const set_words[] = {"basic",     "waits",     "transport", "lifecycle",
                                        "anomalies", "in_flight", NULL};
/* Index i selects i + 2 sub-bits. */
static const char *const sub_bin_words[] = {"4", "8", "16", NULL};

const struct vamp_opt config_statistics_options[] = {
    {"bucket", VAMP_OPT_DURATION, AT(statistics.bucket_ns), "1s", .min = MILLISECONDS(1),
     .max = DAYS(1), .help = "Width of a time bucket, which is one row in the files"},
    {"lateness", VAMP_OPT_DURATION, AT(statistics.lateness_ns), NULL, .max = DAYS(1),
     .help = "How long a bucket stays open for late events; unless set, the width of a bucket"},
    {"level", VAMP_OPT_ENUM, AT(statistics.level), "component", .choices = level_words,
     .help = "Granularity: one count for the whole workflow, one per model (see models), one per "
             "component, or in addition a record of the life of each CDO"},
    {"models", VAMP_OPT_STRINGS, AT(models), NULL, .max = 256,
     .help = "Which components are ranks of one model: \"ocean=NEMO*\" names a model and the glob "
             "pattern of its components; in \"(*) -- *\" the text in the place of (*) is the "
             "model. The first that fits decides, and a component that none fits is a model of "
             "its own. None: \"(*) -- *\" and \"(*) [0-9]*\""},
    {"attributes", VAMP_OPT_STRINGS, AT(attributes), NULL, .max = 1024,
     .help = "At most four labels from the names of CDOs, for metrics of transports, waits and "
             "lifecycles: \"param\" is the text after param: or param= in a list with commas, "
             "\"step=_s([0-9]+)_\" the match of the group of a regular expression"},
    {"attribute_values", VAMP_OPT_UINT, AT(statistics.attribute_values), "64", .min = 1,
     .max = 4096,
     .help = "Distinct values of each of these labels; further ones become (other), counted in "
             "vampire_labels_given_up for each event of the CDO"},
    {"selected", VAMP_OPT_STRING, AT(selected), "", .max = 60000,
     .help = "At level cdo: an expression of the filter language; a CDO has a record only if the "
             "expression holds for one of its events. Empty: all CDOs"},
    {"sets", VAMP_OPT_SET, AT(statistics.sets), "all", .choices = set_words,
     .help = "Sets of metrics to compute; vampire --list-metrics shows the sets of each metric"},
    {"metrics", VAMP_OPT_STRINGS, AT(metrics), NULL, .max = 64,
     .help = "Single metrics to add to the sets, \"+transport_ns\", or to remove, "
             "\"-handling_ns\"; of two entries for one metric the last one counts"},
    {"sub_bins", VAMP_OPT_ENUM, AT(sub_bins), "8", .choices = sub_bin_words,
     .help = "Histogram bins per doubling of the value: with 8, a value is accurate to 6.25%"},
    {"max_series", VAMP_OPT_UINT, AT(statistics.max_series), "262144", .min = 2, .max = 1048576,
     .help = "Series per label set; memory is allocated as they are needed. Over the limit, labels "
             "collapse "
             "to (other), counted in vampire_labels_given_up"},
    {"series_key_file", VAMP_OPT_STRING, AT(series_key_file), "", .max = 4096,
     .help =
         "A file that contains a key of the site, of 16 to 4096 bytes. The ids of series are the "
         "same in all runs of a workflow; with a key, in those with this key only, so that "
         "published files cannot be joined with others by the ids"},
    {"max_histogram_memory", VAMP_OPT_SIZE, AT(statistics.max_histogram_bytes), "256MiB",
     .min = 1048576, .max = TIB(16),
     .help = "Memory for the histograms of all open buckets together; values for which there is "
             "none are counted in vampire_series_overflow"},
    {"max_components", VAMP_OPT_UINT, AT(statistics.max_components), "4096", .min = 2,
     .max = 1048576,
     .help =
         "Names of components; those with further ones are counted under (other). Also the rows of "
         "the component table"},
    {"max_cdos", VAMP_OPT_UINT, AT(statistics.max_cdos), "65536", .min = 16, .max = 16777216,
     .help = "CDOs tracked at the same time; over the limit the oldest is evicted and counted"},
    {"max_pending", VAMP_OPT_UINT, AT(statistics.max_pending), "65536", .min = 16, .max = 16777216,
     .help = "Received operations, demands and transports tracked at the same time, each; over the "
             "limit the oldest is evicted and counted"},
    {"max_empty", VAMP_OPT_UINT, AT(statistics.max_empty), "600", .min = 1, .max = 1000000,
     .help = "Consecutive empty buckets that are written; a longer silence is written as a gap"},
    {.key = NULL},
};

/* Index i is the kind with the number i + 1, which config_compose_filter relies on. */
static const char *const kind_words[] = {
#define VAMP_EVENT_KIND(symbol, number, name, help) [(number)-1] = #name,
#include "vampire/core/event/kinds.def"
    [VAMP_EVENT_KIND_COUNT - 1] = NULL,
};

static const struct vamp_opt events_options[] = {
    {"kinds", VAMP_OPT_SET, AT(events.kinds), "all", .choices = kind_words,
     .help = "Kinds of events that count; join and leave are always received, because they provide "
             "names"},
    {"components", VAMP_OPT_STRINGS, AT(events.components), NULL, .max = 1024,
     .help = "Glob patterns, such as \"IFS*\": only events of components whose name matches one of "
             "them count; none: all"},
    {"cdo_names", VAMP_OPT_STRINGS, AT(events.cdo_names), NULL, .max = 1024,
     .help = "Glob patterns: only events of CDOs whose name matches one of them count; none: all"},
    {"min_size", VAMP_OPT_SIZE, AT(events.min_size_bytes), "0B", .max = TIB(1024),
     .help = "Only events that report a CDO size of at least this count; 0B: all events, including "
             "those without a size"},
    {"filter", VAMP_OPT_STRING, AT(events.filter), "", .max = 60000,
     .help = "An expression of the filter language; only events for which it holds count. An event "
             "must satisfy all options of this section"},
    {.key = NULL},
};

static const struct vamp_opt sampling_options[] = {
    {"fraction", VAMP_OPT_UINT, AT(sampling.fraction), "1000000", .min = 1, .max = 1000000,
     .help = "CDOs per million that count, with all their events, chosen by the CDO's "
             "identifier; 1000000: all"},
    {.key = NULL},
};

static const struct vamp_opt collect_root_options[] = {FINISH_OPTION, {.key = NULL}};

static const struct config_part vampire_parts[] = {
    {CONFIG_OPTIONS, "", "The whole", config_root_options, NULL, 0},
    {CONFIG_SOURCE, "source", "Where the events come from", NULL, NULL, 0},
    {CONFIG_TEXTS, "filters",
     "Expressions of the filter language by name; every filter, these included, may refer to one "
     "as @NAME",
     NULL, NULL, AT(filters)},
    {CONFIG_OPTIONS, "statistics", "What is computed, and its limits", config_statistics_options,
     "Expressions by the name of a counter or histogram: an event counts for that metric only if "
     "it holds, too; vampire --list-metrics shows at which event a metric counts",
     AT(metric_filters)},
    {CONFIG_OPTIONS, "events", "Which events count", events_options, NULL, 0},
    {CONFIG_OPTIONS, "sampling",
     "Which of these events stand for all of them; joins and leaves always count", sampling_options,
     NULL, 0},
    {CONFIG_OPTIONS, "samples",
     "Values from other layers and from the components themselves; docs/samples.md",
     config_samples_options, NULL, 0},
    {CONFIG_ALARMS, "alarms", "Rules that are evaluated when a bucket closes; docs/alarms.md", NULL,
     NULL, 0},
    {CONFIG_OUTPUTS, "outputs",
     "What is written; without this list one HDF5 output with its defaults", NULL, NULL, 0},
    {.key = NULL},
};

static const struct config_part collect_parts[] = {
    {CONFIG_OPTIONS, "", "The whole", collect_root_options, NULL, 0},
    {CONFIG_OPTIONS, "collect", "What is subscribed to and merged, and its limits",
     config_collect_options, NULL, 0},
    {CONFIG_OUTPUTS, "outputs",
     "What is written; without this list one HDF5 output with its defaults", NULL, NULL, 0},
    {.key = NULL},
};

const struct config_part *const config_parts[VAMP_CONFIG_PROGRAM_COUNT] = {
    [VAMP_CONFIG_VAMPIRE] = vampire_parts,
    [VAMP_CONFIG_COLLECT] = collect_parts,
};

struct vamp_config_texts *config_part_texts(const struct config_part *part,
                                            struct vamp_config *config)
{
    return (struct vamp_config_texts *)(void *)((char *)config + part->texts);
}

/* ---- objects */

struct config_object config_part_object(const struct config_part *part, struct vamp_config *config)
{
    static const char *const filters_only[] = {"filters", NULL};
    struct config_object object = {
        .others = part->filters_help != NULL ? filters_only : NULL,
        .tables = {{.options = part->options, .base = config}},
    };
    (void)snprintf(object.what, sizeof object.what, "the section \"%s\"", part->key);
    return object;
}

struct config_object config_source_object(const struct vamp_source_ops *ops, void *options)
{
    struct config_object object = {
        .type = ops->name,
        .summary = ops->summary,
        .conditions = ops->conditions,
        .chosen = options,
        .tables = {{.options = ops->options, .base = options}},
    };
    (void)snprintf(object.what, sizeof object.what, "a source of type %s", ops->name);
    return object;
}

static uint32_t output_holding(const void *chosen)
{
    const struct vamp_config_output *output = chosen;
    return vamp_output_holding(output->ops, output->options, &output->settings);
}

/* For output types with a target, and for those whose elements depend on options. */
static const struct vamp_opt_conditions of_targets = {vamp_target_words, output_holding};
static const struct vamp_opt_conditions of_elements = {vamp_output_condition_words, output_holding};

struct config_object config_output_object(const struct vamp_writer_ops *ops,
                                          struct vamp_config_output *output)
{
    void *settings = NULL, *options = NULL;
    if (output != NULL) {
        settings = &output->settings;
        options = output->options;
    }
    struct config_object object = {
        .type = ops->name,
        .summary = ops->summary,
        .chosen = output,
        .tables = {{.options = vamp_output_options(ops), .base = settings},
                   {.options = ops->options, .base = options}},
    };
    if (ops->target != NULL) {
        object.conditions = &of_targets;
    } else if (ops->alarms_at > 0 || ops->element == VAMP_ELEMENT_EVENT) {
        object.conditions = &of_elements;
    }
    struct config_table *table = &object.tables[2];
    for (const struct vamp_output_section *section = vamp_output_sections(ops);
         section->key != NULL; section++) {
        assert(table < &object.tables[CONFIG_TABLES_MAX]);
        *table++ = (struct config_table){section->key, section->help, section->options, settings};
    }
    (void)snprintf(object.what, sizeof object.what, "an output of type %s", ops->name);
    return object;
}

struct config_object config_action_object(const struct vamp_alarm_action_ops *ops, void *options)
{
    struct config_object object = {
        .type = ops->name,
        .summary = ops->summary,
        .tables = {{.options = ops->options, .base = options}},
    };
    (void)snprintf(object.what, sizeof object.what, "an action of type %s", ops->name);
    return object;
}

static bool takes_format(enum vamp_config_program program, const struct vamp_writer_ops *format)
{
    return program == VAMP_CONFIG_VAMPIRE || format->element == VAMP_ELEMENT_BUCKET;
}

bool config_type(enum vamp_config_program program, enum config_kind kind, unsigned index,
                 struct config_object *ret_object)
{
    const struct vamp_writer_ops *const *format = vamp_writers;
    switch (kind) {
    case CONFIG_SOURCE:
        if (program != VAMP_CONFIG_VAMPIRE || vamp_sources[index] == NULL) {
            return false;
        }
        *ret_object = config_source_object(vamp_sources[index], NULL);
        return true;
    case CONFIG_ALARMS:
        if (program != VAMP_CONFIG_VAMPIRE || vamp_alarm_actions[index] == NULL) {
            return false;
        }
        *ret_object = config_action_object(vamp_alarm_actions[index], NULL);
        return true;
    case CONFIG_OUTPUTS:
        for (; *format != NULL; format++) {
            if (takes_format(program, *format) && index-- == 0) {
                *ret_object = config_output_object(*format, NULL);
                return true;
            }
        }
        return false;
    case CONFIG_OPTIONS:
    case CONFIG_TEXTS:
        break;
    }
    return false;
}

int config_object_presets(const struct config_object *object, struct vamp_err *err)
{
    int code = 0;
    for (const struct config_table *table = object->tables; table->options != NULL && code == 0;
         table++) {
        code = vamp_opt_presets(table->options, table->base, err);
    }
    return code;
}

void config_object_done(const struct config_object *object)
{
    for (const struct config_table *table = object->tables; table->options != NULL; table++) {
        if (table->base != NULL) {
            vamp_opt_done(table->options, table->base);
        }
    }
}
