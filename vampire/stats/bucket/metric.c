/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/metric.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vampire/stats/bucket/bucket.h"

static struct vamp_metric table[VAMP_METRICS_MAX] = {
#define VAMP_METRIC(symbol, name, kind, unit, labels, sets, merge, basis, help, origin)            \
    {name, kind, unit, labels, sets, merge, basis, help, origin},
#include "vampire/stats/bucket/metrics.def"
#undef VAMP_METRIC
};
static unsigned count = VAMP_METRICS_BUILT_IN;
const struct vamp_metric *const vamp_metrics = table;

unsigned vamp_metric_count(void)
{
    return count;
}

enum vamp_metric_id vamp_metric_find(const char *name)
{
    for (unsigned id = 0; id < count; id++) {
        if (strcmp(table[id].name, name) == 0) {
            return (enum vamp_metric_id)id;
        }
    }
    return VAMP_METRIC_NONE;
}

void vamp_metric_names(const char *ret_names[static VAMP_METRICS_MAX + 1])
{
    for (unsigned id = 0; id < count; id++) {
        ret_names[id] = table[id].name;
    }
    ret_names[count] = NULL;
}

int vamp_metrics_append(const struct vamp_metric *metric, enum vamp_metric_id *ret_id)
{
    if (metric->name == NULL || metric->name[0] == '\0' || metric->unit == NULL ||
        metric->help == NULL || metric->origin == NULL || metric->merge == VAMP_MERGE_MEAN ||
        metric->labels >= UINT32_C(1) << VAMP_LABEL_ATTRIBUTE ||
        __builtin_popcount(metric->labels) > VAMP_LABELS_MAX) {
        return -EINVAL;
    }
    if (vamp_metric_find(metric->name) != VAMP_METRIC_NONE) {
        return -EEXIST;
    }
    if (count == VAMP_METRICS_MAX) {
        return -ENOBUFS;
    }
    table[count] = *metric;
    *ret_id = (enum vamp_metric_id)count++;
    return 0;
}

void vamp_metrics_share(const struct vamp_metric *metrics, unsigned metric_count,
                        const char *const *label_words)
{
    memcpy(table, metrics, metric_count * sizeof *metrics);
    memcpy(vamp_label_words, label_words, sizeof vamp_label_words);
    count = metric_count;
}

const char *vamp_label_words[VAMP_LABEL_COUNT + 1] = {
    [VAMP_LABEL_COMPONENT] = "component",
    [VAMP_LABEL_SOURCE] = "source",
    [VAMP_LABEL_SINK] = "sink",
    [VAMP_LABEL_PRODUCER] = "producer",
    [VAMP_LABEL_CONSUMER] = "consumer",
    [VAMP_LABEL_MODEL] = "model",
    [VAMP_LABEL_SOURCE_MODEL] = "source_model",
    [VAMP_LABEL_SINK_MODEL] = "sink_model",
    [VAMP_LABEL_PRODUCER_MODEL] = "producer_model",
    [VAMP_LABEL_CONSUMER_MODEL] = "consumer_model",
    [VAMP_LABEL_OPERATION] = "operation",
    [VAMP_LABEL_SIZE_CLASS] = "size_class",
    [VAMP_LABEL_TIER] = "tier",
    [VAMP_LABEL_CAUSE] = "cause",
    [VAMP_LABEL_ANOMALY] = "anomaly",
    [VAMP_LABEL_OUTPUT] = "output",
    [VAMP_LABEL_REASON] = "reason",
    [VAMP_LABEL_PART] = "part",
    [VAMP_LABEL_METRIC] = "metric",
    [VAMP_LABEL_GROUP] = "group",
    [VAMP_LABEL_HOST] = "host",
    [VAMP_LABEL_JOB] = "job",
    [VAMP_LABEL_NAME] = "name",
    [VAMP_LABEL_REFUSAL] = "refusal",
    [VAMP_LABEL_WORKFLOW] = "workflow",
    [VAMP_LABEL_RUN] = "run",
};

const char *vamp_label_name(unsigned label)
{
    return label < VAMP_LABEL_COUNT ? vamp_text_or(vamp_label_words[label], "unknown") : "unknown";
}

unsigned vamp_label_find(const char *name, size_t length)
{
    for (unsigned label = 0; vamp_label_words[label] != NULL; label++) {
        if (strlen(vamp_label_words[label]) == length &&
            memcmp(vamp_label_words[label], name, length) == 0) {
            return label;
        }
    }
    return VAMP_LABEL_COUNT;
}

/* ---- attributes */

static char attribute_names[VAMP_ATTRIBUTES_MAX][VAMP_ATTRIBUTE_NAME_MAX + 1];

unsigned vamp_attribute_count(void)
{
    unsigned number = 0;
    while (vamp_label_words[VAMP_LABEL_ATTRIBUTE + number] != NULL) {
        number++;
    }
    return number;
}

void vamp_attributes_set(const char *const *names, unsigned number)
{
    const uint32_t all = ((UINT32_C(1) << VAMP_ATTRIBUTES_MAX) - 1) << VAMP_LABEL_ATTRIBUTE;
    const uint32_t these = ((UINT32_C(1) << number) - 1) << VAMP_LABEL_ATTRIBUTE;
    for (unsigned i = 0; i < VAMP_ATTRIBUTES_MAX; i++) {
        vamp_label_words[VAMP_LABEL_ATTRIBUTE + i] = NULL;
    }
    for (unsigned i = 0; i < number; i++) {
        (void)snprintf(attribute_names[i], sizeof attribute_names[i], "%s", names[i]);
        vamp_label_words[VAMP_LABEL_ATTRIBUTE + i] = attribute_names[i];
    }
    for (unsigned id = 0; id < count; id++) {
        table[id].labels &= ~all;
        if ((table[id].labels & VAMP_BY_ATTRIBUTE) != 0) {
            table[id].labels |= these;
        }
    }
}

bool vamp_label_is_name(unsigned label)
{
    return label <= VAMP_LABEL_CONSUMER_MODEL;
}

bool vamp_label_is_sampled(unsigned label)
{
    return label >= VAMP_LABEL_HOST && label <= VAMP_LABEL_NAME;
}

bool vamp_label_is_open(unsigned label)
{
    return vamp_label_is_name(label) || vamp_label_is_sampled(label) ||
           label == VAMP_LABEL_METRIC || label >= VAMP_LABEL_WORKFLOW;
}

static const char *metric_name(unsigned id)
{
    return id < count ? table[id].name : "unknown";
}

static const char *group_name(unsigned group)
{
    static const char *const names[VAMP_GROUP_COUNT] = {
        "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};
    return VAMP_NAME_AT(names, group);
}

const struct vamp_label_values vamp_label_values[VAMP_LABEL_COUNT] = {
    [VAMP_LABEL_OPERATION] = {vamp_event_kind_name, VAMP_EVENT_KIND_COUNT},
    [VAMP_LABEL_SIZE_CLASS] = {vamp_size_class_name, VAMP_SIZE_CLASS_COUNT},
    [VAMP_LABEL_TIER] = {vamp_tier_name, VAMP_TIER_COUNT},
    [VAMP_LABEL_CAUSE] = {vamp_cause_name, VAMP_CAUSE_COUNT},
    [VAMP_LABEL_ANOMALY] = {vamp_anomaly_name, VAMP_ANOMALY_COUNT},
    [VAMP_LABEL_OUTPUT] = {NULL, VAMP_OUTPUTS_MAX},
    [VAMP_LABEL_REASON] = {vamp_loss_name, VAMP_LOSS_COUNT},
    [VAMP_LABEL_PART] = {vamp_wait_part_name, VAMP_WAIT_PART_COUNT},
    [VAMP_LABEL_METRIC] = {metric_name, VAMP_METRICS_MAX},
    [VAMP_LABEL_GROUP] = {group_name, VAMP_GROUP_COUNT},
    [VAMP_LABEL_HOST] = {NULL, VAMP_SAMPLE_TEXTS_MAX},
    [VAMP_LABEL_JOB] = {NULL, VAMP_SAMPLE_TEXTS_MAX},
    [VAMP_LABEL_NAME] = {NULL, VAMP_SAMPLE_TEXTS_MAX},
    [VAMP_LABEL_REFUSAL] = {vamp_refusal_name, VAMP_REFUSAL_COUNT},
};

/* Labels of components come first, followed by those of their models in the same order. */
#define NAME_LABELS ((unsigned)VAMP_LABEL_MODEL)

enum vamp_label vamp_label_of_model(enum vamp_label label)
{
    return label < NAME_LABELS ? (enum vamp_label)(label + NAME_LABELS) : label;
}

enum vamp_label vamp_label_of_component(enum vamp_label label)
{
    if (label >= NAME_LABELS && vamp_label_is_name(label)) {
        return (enum vamp_label)(label - NAME_LABELS);
    }
    return label;
}

const char *vamp_level_name(enum vamp_level level)
{
    switch (level) {
    case VAMP_LEVEL_WORKFLOW:
        return "workflow";
    case VAMP_LEVEL_MODEL:
        return "model";
    case VAMP_LEVEL_COMPONENT:
        return "component";
    case VAMP_LEVEL_CDO:
        return "cdo";
    }
    return "unknown";
}

const char *vamp_metric_kind_name(unsigned kind)
{
    static const char *const names[] = {
        [VAMP_COUNTER] = "counter",
        [VAMP_GAUGE] = "gauge",
        [VAMP_HISTOGRAM] = "histogram",
    };
    return VAMP_NAME_AT(names, kind);
}

const char *vamp_metric_merge_rule(const struct vamp_metric *metric)
{
    if (metric->kind == VAMP_COUNTER) {
        return "adds over time and labels";
    }
    if (metric->kind == VAMP_HISTOGRAM) {
        return "count, sum and bins add over time and labels";
    }
    if (metric->merge == VAMP_MERGE_MEAN) {
        return "mean over time: vampire_weighted over vampire_sampled_in";
    }
    if (metric->labels == 0) {
        return "last value over time";
    }
    if (metric->merge == VAMP_MERGE_SUM) {
        return "last value over time; adds over labels, with bounds instead of extremes";
    }
    return "last value over time; largest over labels";
}

const struct vamp_weighted_metric vamp_weighted_metrics[] = {
    {VAMP_METRIC_WEIGHTED_POOL_OPERATIONS, VAMP_METRIC_POOL_OPERATIONS},
    {VAMP_METRIC_WEIGHTED_CDOS_CREATED, VAMP_METRIC_CDOS_CREATED},
    {VAMP_METRIC_WEIGHTED_CDOS_CREATED_BYTES, VAMP_METRIC_CDOS_CREATED_BYTES},
    {VAMP_METRIC_WEIGHTED_PRODUCED_BYTES, VAMP_METRIC_PRODUCED_BYTES},
    {VAMP_METRIC_WEIGHTED_CONSUMED_BYTES, VAMP_METRIC_CONSUMED_BYTES},
    {VAMP_METRIC_WEIGHTED_TRANSPORTS, VAMP_METRIC_TRANSPORTS},
    {VAMP_METRIC_WEIGHTED_TRANSPORT_BYTES, VAMP_METRIC_TRANSPORT_BYTES},
};

enum vamp_metric_id vamp_metric_plain(enum vamp_metric_id weighted)
{
    for (unsigned i = 0; i < VAMP_WEIGHTED_METRIC_COUNT; i++) {
        if (vamp_weighted_metrics[i].weighted == weighted) {
            return vamp_weighted_metrics[i].plain;
        }
    }
    return VAMP_METRIC_NONE;
}

bool vamp_metric_is_blocked_time(enum vamp_metric_id id)
{
    return id == VAMP_METRIC_BLOCKED_NS || id == VAMP_METRIC_BLOCKED_ON_NS ||
           id == VAMP_METRIC_BLOCKED_ON_BEFORE_NS || id == VAMP_METRIC_HELD_BACK_NS;
}

/* Kinds of events on which several metrics are based. */
#define KIND(kind) VAMP_EVENT_BIT(VAMP_EVENT_##kind)
#define IN_POOL (KIND(OFFER) | KIND(WITHDRAW))
#define WAITED (KIND(DEMAND) | KIND(TRANSPORT_COMPLETED))
#define TIMED (KIND(TRANSPORT_INIT) | KIND(TRANSPORT_COMPLETED))
#define IN_PROGRESS (TIMED | KIND(TRANSPORT_FAILED))
uint64_t vamp_metric_kinds(enum vamp_metric_id id)
{
    static const uint64_t kinds[VAMP_METRICS_BUILT_IN] = {
        [VAMP_METRIC_PRODUCED_BYTES] = KIND(OFFER),
        [VAMP_METRIC_POOL_CDOS] = IN_POOL,
        [VAMP_METRIC_POOL_BYTES] = IN_POOL,
        [VAMP_METRIC_OFFER_TO_WITHDRAW_NS] = IN_POOL,
        [VAMP_METRIC_DECLARE_TO_OFFER_NS] = KIND(DECLARE) | KIND(OFFER),
        [VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS] = KIND(OFFER) | KIND(DEMAND),
        [VAMP_METRIC_CDO_LIFETIME_NS] = KIND(DECLARE) | KIND(DISPOSE),
        [VAMP_METRIC_DEMANDS_PER_CDO] = KIND(DEMAND),
        [VAMP_METRIC_CONSUMED_BYTES] = KIND(TRANSPORT_COMPLETED),
        [VAMP_METRIC_TRANSPORTS] = KIND(TRANSPORT_COMPLETED),
        [VAMP_METRIC_TRANSPORT_BYTES] = KIND(TRANSPORT_COMPLETED),
        [VAMP_METRIC_TRANSPORT_NS] = TIMED,
        [VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND] = TIMED,
        [VAMP_METRIC_TRANSPORTS_ACTIVE] = IN_PROGRESS,
        [VAMP_METRIC_TRANSPORTS_PENDING] = IN_PROGRESS,
        [VAMP_METRIC_TRANSPORT_OLDEST_NS] = IN_PROGRESS,
        [VAMP_METRIC_DEMAND_WAIT_NS] = WAITED,
        [VAMP_METRIC_DEMAND_WAIT_PART_NS] = WAITED,
        [VAMP_METRIC_DEMANDS_PENDING] = WAITED,
        [VAMP_METRIC_DEMAND_OLDEST_NS] = WAITED,
        [VAMP_METRIC_BLOCKED_NS] = WAITED,
        [VAMP_METRIC_BLOCKED_ON_NS] = WAITED,
        [VAMP_METRIC_BLOCKED_ON_BEFORE_NS] = WAITED,
        [VAMP_METRIC_HELD_BACK_NS] = KIND(WITHDRAW),
        [VAMP_METRIC_WITHDRAW_WAIT_NS] = KIND(WITHDRAW),
        [VAMP_METRIC_WITHDRAWS_PENDING] = KIND(WITHDRAW),
        [VAMP_METRIC_WITHDRAW_OLDEST_NS] = KIND(WITHDRAW),
    };
    const enum vamp_metric_id plain = vamp_metric_plain(id);
    if (plain != VAMP_METRIC_NONE) {
        return kinds[plain];
    }
    return id < VAMP_METRICS_BUILT_IN ? kinds[id] : 0;
}

bool vamp_metric_may_be_none(const struct vamp_metric *metric)
{
    return metric->kind == VAMP_GAUGE &&
           ((metric->sets & VAMP_SET_SAMPLED) != 0 ||
            (metric->merge == VAMP_MERGE_LARGEST && (metric->sets & VAMP_SET_IN_FLIGHT) != 0));
}

const char *vamp_anomaly_name(unsigned anomaly)
{
    static const char *const names[VAMP_ANOMALY_COUNT] = {
        [VAMP_ANOMALY_NOT_WITHDRAWN_AT_LEAVE] = "not_withdrawn_at_leave",
        [VAMP_ANOMALY_NOT_DISPOSED_AT_LEAVE] = "not_disposed_at_leave",
        [VAMP_ANOMALY_OFFER_NEVER_DEMANDED] = "offer_never_demanded",
        [VAMP_ANOMALY_DEMAND_NEVER_SATISFIED] = "demand_never_satisfied",
        [VAMP_ANOMALY_TRANSPORT_FAILED] = "transport_failed",
        [VAMP_ANOMALY_NEGATIVE_INTERVAL] = "negative_interval",
        [VAMP_ANOMALY_OPERATION_OUT_OF_ORDER] = "operation_out_of_order",
        [VAMP_ANOMALY_UNKNOWN_COMPONENT] = "unknown_component",
    };
    return VAMP_NAME_AT(names, anomaly);
}

const char *vamp_refusal_name(unsigned refusal)
{
    static const char *const names[VAMP_REFUSAL_COUNT] = {
        [VAMP_REFUSAL_GARBAGE] = "garbage",
        [VAMP_REFUSAL_VERSION] = "version",
        [VAMP_REFUSAL_LONG] = "long",
        [VAMP_REFUSAL_WIDTH] = "width",
        [VAMP_REFUSAL_BINS] = "bins",
        [VAMP_REFUSAL_METRIC] = "metric",
        [VAMP_REFUSAL_LATE] = "late",
        [VAMP_REFUSAL_EARLY] = "early",
        [VAMP_REFUSAL_INCOMPLETE] = "incomplete",
        [VAMP_REFUSAL_RUNS] = "runs",
        [VAMP_REFUSAL_MEMORY] = "memory",
        [VAMP_REFUSAL_SERIES] = "series",
        [VAMP_REFUSAL_SUBJECT] = "subject",
    };
    return VAMP_NAME_AT(names, refusal);
}

const char *vamp_wait_part_name(unsigned part)
{
    static const char *const names[VAMP_WAIT_PART_COUNT] = {
        [VAMP_WAIT_FOR_OFFER] = "for_offer",
        [VAMP_WAIT_FOR_START] = "for_start",
        [VAMP_WAIT_MOVING] = "moving",
        [VAMP_WAIT_UNKNOWN] = "unknown",
    };
    return VAMP_NAME_AT(names, part);
}

uint32_t vamp_metric_labels_at(const struct vamp_metric *metric, enum vamp_level level)
{
    uint32_t labels = 0;
    for (unsigned label = 0; label < VAMP_LABEL_COUNT; label++) {
        if ((metric->labels & (UINT32_C(1) << label)) == 0 ||
            (level == VAMP_LEVEL_WORKFLOW && vamp_label_is_name(label))) {
            continue;
        }
        enum vamp_label shown = (enum vamp_label)label;
        if (level == VAMP_LEVEL_MODEL) {
            shown = vamp_label_of_model(shown);
        }
        labels |= UINT32_C(1) << shown;
    }
    return labels;
}

const char *vamp_size_class_name(unsigned size_class)
{
    static const char *const names[VAMP_SIZE_CLASS_COUNT] = {
        "[0,256)",         "[256,512)",       "[512,1KiB)",    "[1KiB,2KiB)",   "[2KiB,4KiB)",
        "[4KiB,8KiB)",     "[8KiB,16KiB)",    "[16KiB,32KiB)", "[32KiB,64KiB)", "[64KiB,128KiB)",
        "[128KiB,256KiB)", "[256KiB,512KiB)", "[512KiB,1MiB)", "[1MiB,2MiB)",   "[2MiB,4MiB)",
        "[4MiB,8MiB)",     "[8MiB,16MiB)",    "[16MiB,32MiB)", "[32MiB,64MiB)", "[64MiB,128MiB)",
        "[128MiB,256MiB)", "[256MiB,512MiB)", "[512MiB,1GiB)", "[1GiB,inf)",    "unknown",
    };
    return VAMP_NAME_AT(names, size_class);
}

/* ---- base units */

/* Units that are not base units, with their conversion. */
static const struct {
    const char *unit, *ending, *base;
    unsigned decimals;
} scaled[] = {
    {"ns", "_ns", "seconds", 9},
    {"1e-6", "", "", 6},
};

static bool ends_with(const char *text, const char *ending)
{
    const size_t length = strlen(text), bytes = strlen(ending);
    return length >= bytes && strcmp(text + length - bytes, ending) == 0;
}

void vamp_base_metric(const struct vamp_metric *metric, struct vamp_base_metric *ret_base)
{
    const char *ending = "", *base = "";
    *ret_base = (struct vamp_base_metric){.unit = ""};
    if (ends_with(metric->name, "_bytes")) {
        ret_base->unit = "bytes";
    }
    for (size_t i = 0; i < sizeof scaled / sizeof scaled[0]; i++) {
        if (strcmp(metric->unit, scaled[i].unit) == 0) {
            ret_base->decimals = scaled[i].decimals;
            ret_base->unit = scaled[i].base;
            base = scaled[i].base;
            if (ends_with(metric->name, scaled[i].ending)) {
                ending = scaled[i].ending;
            }
        }
    }
    static const char prefix[] = "vampire_";
    const bool has_prefix = strncmp(metric->name, prefix, sizeof prefix - 1) == 0;
    const char *joint = base[0] != '\0' ? "_" : "";
    (void)snprintf(ret_base->name, sizeof ret_base->name, "%s%.*s%s%s", has_prefix ? "" : prefix,
                   (int)(strlen(metric->name) - strlen(ending)), metric->name, joint, base);
}
