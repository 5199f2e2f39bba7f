/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Metric descriptors: the only source of metric names, units, help, labels and sets, for the
 * HDF5 variables, the JSON header, `--list-metrics` and the manual. The catalogue consists of the
 * metrics of metrics.def, which have constant ids, and of those appended when the program starts,
 * which the code finds by name. Constant from then on; any thread. docs/metrics.md describes the
 * catalogue and its rules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/event/event.h"
#include "vampire/core/values.h"

enum vamp_metric_kind { VAMP_COUNTER, VAMP_GAUGE, VAMP_HISTOGRAM };

enum vamp_label {
    VAMP_LABEL_COMPONENT,
    VAMP_LABEL_SOURCE,   /* of a transport */
    VAMP_LABEL_SINK,     /* of a transport */
    VAMP_LABEL_PRODUCER, /* of the CDO that a component waits for */
    VAMP_LABEL_MODEL,    /* of the component; at level `model` instead of it, and the next three */
    VAMP_LABEL_SOURCE_MODEL,
    VAMP_LABEL_SINK_MODEL,
    VAMP_LABEL_PRODUCER_MODEL,
    VAMP_LABEL_OPERATION,
    VAMP_LABEL_SIZE_CLASS,
    VAMP_LABEL_TIER,
    VAMP_LABEL_CAUSE,
    VAMP_LABEL_ANOMALY,
    VAMP_LABEL_OUTPUT, /* a configured writer's name */
    VAMP_LABEL_REASON, /* of a loss */
    VAMP_LABEL_PART,   /* of a wait */
    VAMP_LABEL_METRIC, /* name of the metric concerned */
    VAMP_LABEL_GROUP,  /* of sampled CDOs */
    VAMP_LABEL_HOST,   /* of samples, as are the next two */
    VAMP_LABEL_JOB,
    VAMP_LABEL_NAME,
    /* Collected buckets only (vampire/collect/collect.h): origin of a series, and why messages were
     * refused. */
    VAMP_LABEL_REFUSAL,
    VAMP_LABEL_WORKFLOW,
    VAMP_LABEL_RUN,       /* its id */
    VAMP_LABEL_ATTRIBUTE, /* first of the declared attributes of CDOs, which come last */
};
#define VAMP_ATTRIBUTES_MAX 4
#define VAMP_LABEL_COUNT (VAMP_LABEL_ATTRIBUTE + VAMP_ATTRIBUTES_MAX)
#define VAMP_RUN_LABELS ((unsigned)VAMP_LABEL_REFUSAL) /* labels before it are those of a run */
/* Labels of one metric; an output may add models, the collector adds workflow and run. */
#define VAMP_LABELS_MAX (9 + VAMP_ATTRIBUTES_MAX)
#define VAMP_NAME_LABELS_MAX 2 /* component names among them */

enum vamp_level {
    VAMP_LEVEL_WORKFLOW,
    VAMP_LEVEL_MODEL,
    VAMP_LEVEL_COMPONENT,
    VAMP_LEVEL_CDO,
};

/* Predefined sets, bits. SELF (vampire_*) is always on. */
enum vamp_metric_set {
    VAMP_SET_BASIC = 1 << 0,
    VAMP_SET_WAITS = 1 << 1,
    VAMP_SET_TRANSPORT = 1 << 2,
    VAMP_SET_LIFECYCLE = 1 << 3,
    VAMP_SET_ANOMALIES = 1 << 4,
    VAMP_SET_IN_FLIGHT = 1 << 5,
    VAMP_SET_SELF = 1 << 6,
    VAMP_SET_COLLECT = 1 << 7, /* collected buckets only */
    VAMP_SET_SAMPLED = 1 << 8, /* declared for samples (declared.h); always computed */
};

/* How values are merged when buckets or series are merged. Counters, and the count, sum and bins of
 * histograms, add over time and labels, exactly; extremes of histograms stay extremes. Gauges keep
 * their last value and the extremes over time; over labels they follow this rule. */
enum vamp_merge {
    /* Values add. The added extremes are bounds, which the sum did not exceed but may not have
     * reached. */
    VAMP_MERGE_SUM,
    VAMP_MERGE_LARGEST, /* largest value; the extremes are those of all series */
    /* vampire_weight only; over time: vampire_weighted over vampire_sampled_in */
    VAMP_MERGE_MEAN,
};

/* Limit of the texts of the labels host, job and name together; others are aggregated away. */
#define VAMP_SAMPLE_TEXTS_MAX 4096

/* Limit of the catalogue, and size of arrays by metric or label set. */
#define VAMP_METRICS_MAX 256

/* Built-in metrics have ids in the order of metrics.def, appended ones have the next ids. */
enum vamp_metric_id {
#define VAMP_METRIC(symbol, name, kind, unit, labels, sets, merge, basis, help, origin)            \
    VAMP_METRIC_##symbol,
#include "vampire/stats/bucket/metrics.def"
#undef VAMP_METRIC
    VAMP_METRICS_BUILT_IN,
    VAMP_METRIC_NONE = VAMP_METRICS_MAX /* no metric; ends lists */
};

/* In `labels`: the metric also has the declared attributes. */
#define VAMP_BY_ATTRIBUTE (UINT32_C(1) << 31)

struct vamp_metric {
    const char *name;
    enum vamp_metric_kind kind;
    const char *unit; /* UDUNITS text: "1", "ns", "byte", "byte s-1" */
    uint32_t labels;  /* bit per enum vamp_label at level component; VAMP_BY_ATTRIBUTE */
    uint32_t sets;    /* enum vamp_metric_set bits */
    enum vamp_merge merge;
    uint32_t basis;     /* bit per enum vamp_unknown: what a source must report for it */
    const char *help;   /* one sentence without full stop */
    const char *origin; /* how it is computed, from which events */
};

/* vamp_metric_count() entries, by id. */
extern const struct vamp_metric *const vamp_metrics;
unsigned vamp_metric_count(void);
/* VAMP_METRIC_NONE: no metric has the name. */
enum vamp_metric_id vamp_metric_find(const char *name);
/* The names of all metrics, ended by NULL. */
void vamp_metric_names(const char *ret_names[static VAMP_METRICS_MAX + 1]);
/* Appends a copy of the metric; its texts must stay valid as long as the program. It is enabled
 * like all others, and its values are counted by its id (vampire/stats/cells/cells.h). To be called
 * while the program has one thread, before a configuration is read or a schema exists. 0; -EINVAL:
 * a text is missing, it has more labels than VAMP_LABELS_MAX, or merges as VAMP_MERGE_MEAN;
 * -EEXIST: the name is in use; -ENOBUFS: VAMP_METRICS_MAX. */
int vamp_metrics_append(const struct vamp_metric *metric, enum vamp_metric_id *ret_id);
/* Replaces the catalogue of a plug-in by that of the program. */
void vamp_metrics_share(const struct vamp_metric *metrics, unsigned metric_count,
                        const char *const *label_words);

/* ---- attributes of CDOs: labels with declared names */

#define VAMP_ATTRIBUTE_NAME_MAX 23 /* bytes of a name */
/* Replaces the labels of attributes by at most VAMP_ATTRIBUTES_MAX names, which were checked
 * (declared.h). To be called while the program has one thread, before a schema exists. */
void vamp_attributes_set(const char *const *names, unsigned number);
unsigned vamp_attribute_count(void);
static inline bool vamp_label_is_attribute(unsigned label)
{
    return label >= VAMP_LABEL_ATTRIBUTE;
}

/* Counters for runs with sampling: in each bucket, the increase of another counter with the same
 * labels times vampire_weight. They are in no set and computed only if named. */
struct vamp_weighted_metric {
    enum vamp_metric_id weighted, plain;
};
#define VAMP_WEIGHTED_METRIC_COUNT 7
extern const struct vamp_weighted_metric vamp_weighted_metrics[VAMP_WEIGHTED_METRIC_COUNT];
/* The counter on which a weighted one is based; VAMP_METRIC_NONE for other metrics. */
enum vamp_metric_id vamp_metric_plain(enum vamp_metric_id weighted);

/* Groups of sampled CDOs, by other bits of the hash that selects them. Their variance gives the
 * error of estimates (metric vampire_sample_group). */
#define VAMP_GROUP_COUNT 16

/* Never NULL. "component", "source", ... */
const char *vamp_label_name(unsigned label);
/* The label with this name, of `length` bytes; VAMP_LABEL_COUNT: there is none. */
unsigned vamp_label_find(const char *name, size_t length);
extern const char *vamp_label_words[VAMP_LABEL_COUNT + 1]; /* all names, ended by NULL */
const char *vamp_metric_kind_name(unsigned kind);          /* "counter", "gauge", "histogram" */
/* The metric's merge rule in words: "adds over time and labels". */
const char *vamp_metric_merge_rule(const struct vamp_metric *metric);
const char *vamp_level_name(enum vamp_level level); /* "workflow", "model", ... */
/* Whether the values of the label are texts of samples. */
bool vamp_label_is_sampled(unsigned label);
/* Whether they are names of components or of models. */
bool vamp_label_is_name(unsigned label);
/* Whether they are names of any kind, of which there is no list. */
bool vamp_label_is_open(unsigned label);
/* The list of a label's values. Names have no list, outputs and samples no constant texts. Value 0
 * of `operation` is not an operation. */
struct vamp_label_values {
    const char *(*text)(unsigned value);
    unsigned count;
};
extern const struct vamp_label_values vamp_label_values[]; /* by label */
/* The label of models for a label of components; other labels: the same. */
enum vamp_label vamp_label_of_model(enum vamp_label label);
/* The inverse. */
enum vamp_label vamp_label_of_component(enum vamp_label label);
/* Whether a series may have no value in a bucket (VAMP_GAUGE_NONE): ages and gauges of samples. */
bool vamp_metric_may_be_none(const struct vamp_metric *metric);
/* The metric's labels at a level: component, source, sink and producer are removed at `workflow`
 * and replaced by models at `model`. */
uint32_t vamp_metric_labels_at(const struct vamp_metric *metric, enum vamp_level level);

/* Values of the label `anomaly`, defined in docs/metrics.md. */
enum vamp_anomaly {
    VAMP_ANOMALY_NOT_WITHDRAWN_AT_LEAVE,
    VAMP_ANOMALY_NOT_DISPOSED_AT_LEAVE,
    VAMP_ANOMALY_OFFER_NEVER_DEMANDED,
    VAMP_ANOMALY_DEMAND_NEVER_SATISFIED,
    VAMP_ANOMALY_TRANSPORT_FAILED,
    VAMP_ANOMALY_NEGATIVE_INTERVAL,
    VAMP_ANOMALY_OPERATION_OUT_OF_ORDER,
    VAMP_ANOMALY_UNKNOWN_COMPONENT,
};
#define VAMP_ANOMALY_COUNT (VAMP_ANOMALY_UNKNOWN_COMPONENT + 1)
const char *vamp_anomaly_name(unsigned anomaly);

/* Values of the label `part`, defined in docs/metrics.md. */
enum vamp_wait_part {
    VAMP_WAIT_FOR_OFFER,
    VAMP_WAIT_FOR_START,
    VAMP_WAIT_MOVING,
    VAMP_WAIT_UNKNOWN,
};
#define VAMP_WAIT_PART_COUNT (VAMP_WAIT_UNKNOWN + 1)
const char *vamp_wait_part_name(unsigned part);

/* Values of the label `refusal`: why a message of a run, or a part of it, was not collected. */
enum vamp_refusal {
    VAMP_REFUSAL_GARBAGE,    /* malformed or inconsistent */
    VAMP_REFUSAL_VERSION,    /* unknown format */
    VAMP_REFUSAL_LONG,       /* too many bytes */
    VAMP_REFUSAL_WIDTH,      /* the collected width is not a multiple of the bucket's */
    VAMP_REFUSAL_BINS,       /* histograms with other bins */
    VAMP_REFUSAL_METRIC,     /* unknown or different metric, whose values are left out */
    VAMP_REFUSAL_LATE,       /* the collected bucket was closed */
    VAMP_REFUSAL_EARLY,      /* from the future: one of the clocks is wrong */
    VAMP_REFUSAL_INCOMPLETE, /* other messages of the bucket were missing at the close */
    VAMP_REFUSAL_RUNS,       /* more runs than max_runs */
    VAMP_REFUSAL_MEMORY,     /* too many waiting messages */
    VAMP_REFUSAL_SERIES,     /* over max_series: its values are in (other) */
    VAMP_REFUSAL_SUBJECT,    /* from another subject than the run's messages */
};
#define VAMP_REFUSAL_COUNT (VAMP_REFUSAL_SUBJECT + 1)
const char *vamp_refusal_name(unsigned refusal);

/* Size classes: "[0,256)", "[256,512)", ..., "[1GiB,inf)", then "unknown". */
#define VAMP_SIZE_CLASS_UNKNOWN 24
#define VAMP_SIZE_CLASS_COUNT (VAMP_SIZE_CLASS_UNKNOWN + 1)
static inline unsigned vamp_size_class(bool known, uint64_t size_bytes)
{
    if (!known) {
        return VAMP_SIZE_CLASS_UNKNOWN;
    }
    if (size_bytes < 256) {
        return 0;
    }
    const unsigned doublings = 63U - (unsigned)__builtin_clzll(size_bytes);
    return VAMP_MIN(doublings - 7, VAMP_SIZE_CLASS_UNKNOWN - 1U);
}
const char *vamp_size_class_name(unsigned size_class);

/* A metric in base units, with the name that Prometheus expects: transport_ns becomes
 * vampire_transport_seconds. Values stay integers, with decimals. */
#define VAMP_BASE_NAME_BYTES 96

struct vamp_base_metric {
    char name[VAMP_BASE_NAME_BYTES]; /* without the "_total" of a counter */
    const char *unit;                /* "seconds", "bytes": what the name ends with; else "" */
    unsigned decimals;               /* of the metric's integer values: 9 for nanoseconds */
};

/* Any thread. */
void vamp_base_metric(const struct vamp_metric *metric, struct vamp_base_metric *ret_base);
