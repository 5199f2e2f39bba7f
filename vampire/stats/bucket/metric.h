/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metric descriptors: the only definition of metric names, units, help, labels and sets, used for
 * the HDF5 variables, the JSON header, `--list-metrics` and the manual. The catalogue consists of
 * the metrics of metrics.def, which have constant ids, and of metrics appended when the program
 * starts, which are found by name. The catalogue is constant from then on; any thread.
 * docs/metrics.md describes the catalogue and its rules.
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
    VAMP_LABEL_SOURCE,   /* source of a transport */
    VAMP_LABEL_SINK,     /* sink of a transport */
    VAMP_LABEL_PRODUCER, /* producer of the CDO that a component waits for */
    VAMP_LABEL_CONSUMER, /* component that delayed a withdraw or leave */
    /* Models of the five above, which they replace at level `model`. */
    VAMP_LABEL_MODEL,
    VAMP_LABEL_SOURCE_MODEL,
    VAMP_LABEL_SINK_MODEL,
    VAMP_LABEL_PRODUCER_MODEL,
    VAMP_LABEL_CONSUMER_MODEL,
    VAMP_LABEL_OPERATION,
    VAMP_LABEL_SIZE_CLASS,
    VAMP_LABEL_TIER,
    VAMP_LABEL_CAUSE,
    VAMP_LABEL_ANOMALY,
    VAMP_LABEL_OUTPUT, /* name of a configured writer */
    VAMP_LABEL_REASON, /* reason of a loss */
    VAMP_LABEL_PART,   /* part of a wait */
    VAMP_LABEL_METRIC, /* name of the metric concerned */
    VAMP_LABEL_GROUP,  /* group of sampled CDOs */
    VAMP_LABEL_HOST,   /* labels of samples, also the next two */
    VAMP_LABEL_JOB,
    VAMP_LABEL_NAME,
    /* Collected buckets only (vampire/collect/collect.h): why messages were refused, and the origin
     * of a series. */
    VAMP_LABEL_REFUSAL,
    VAMP_LABEL_WORKFLOW,
    VAMP_LABEL_RUN,       /* id of the run */
    VAMP_LABEL_ATTRIBUTE, /* first of the declared CDO attributes, which come last */
};
#define VAMP_ATTRIBUTES_MAX 4
#define VAMP_LABEL_COUNT (VAMP_LABEL_ATTRIBUTE + VAMP_ATTRIBUTES_MAX)
/* Number of the labels that buckets of a single run can have, apart from attributes. */
#define VAMP_RUN_LABELS ((unsigned)VAMP_LABEL_REFUSAL)
/* Maximum number of labels of one metric. An output may add models, the collector adds workflow and
 * run. */
#define VAMP_LABELS_MAX (9 + VAMP_ATTRIBUTES_MAX)
#define VAMP_NAME_LABELS_MAX 2 /* maximum number of component names among them */

enum vamp_level {
    VAMP_LEVEL_WORKFLOW,
    VAMP_LEVEL_MODEL,
    VAMP_LEVEL_COMPONENT,
    VAMP_LEVEL_CDO,
};

/* Predefined sets of metrics, as bits. SELF (vampire_*) is always enabled. */
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
 * histograms, are added over time and labels, exactly; the minimum and maximum of histograms stay
 * exact. Over time, gauges keep their last value and their extremes; over labels they are merged by
 * this rule. */
enum vamp_merge {
    /* Values are added. The added extremes are bounds: the sum was within them but may not have
     * reached them. */
    VAMP_MERGE_SUM,
    VAMP_MERGE_LARGEST, /* largest value; the extremes are those over all series */
    /* vampire_weight only; over time it is vampire_weighted divided by vampire_sampled_in */
    VAMP_MERGE_MEAN,
};

/* Maximum number of different texts in the labels host, job and name together; further texts are
 * aggregated away. */
#define VAMP_SAMPLE_TEXTS_MAX 4096

/* Maximum number of metrics, and size of arrays by metric or by label set. */
#define VAMP_METRICS_MAX 256

/* Built-in metrics have ids in the order of metrics.def; appended metrics have the next ids. */
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
    uint32_t labels; /* bit per enum vamp_label at level component; may include VAMP_BY_ATTRIBUTE */
    uint32_t sets;   /* enum vamp_metric_set bits */
    enum vamp_merge merge;
    uint32_t basis; /* bit per enum vamp_unknown: data that a source must report for this metric */
    const char *help;   /* one sentence without a full stop */
    const char *origin; /* how the metric is computed, and from which events */
};

/* Indexed by id; vamp_metric_count() entries. */
extern const struct vamp_metric *const vamp_metrics;
unsigned vamp_metric_count(void);
/* Returns the kinds of events that a metric requires, one bit per enum vamp_event_kind: if one of
 * them cannot arrive, the metric would be 0 or wrong. 0: it requires no particular kind. */
uint64_t vamp_metric_kinds(enum vamp_metric_id id);
/* Returns VAMP_METRIC_NONE if no metric has this name. */
enum vamp_metric_id vamp_metric_find(const char *name);
/* Sets the names of all metrics, terminated by NULL. */
void vamp_metric_names(const char *ret_names[static VAMP_METRICS_MAX + 1]);
/* Appends a copy of the metric; its texts must stay valid until the program ends. The metric is
 * enabled like all others, and its values are counted by its id (vampire/stats/cells/cells.h). To
 * be called while the program has one thread, before a configuration is read or a schema exists.
 * Returns 0; -EINVAL if a text is missing, it has more labels than VAMP_LABELS_MAX, or its merge
 * rule is VAMP_MERGE_MEAN; -EEXIST if the name is in use; -ENOBUFS at the limit VAMP_METRICS_MAX.
 */
int vamp_metrics_append(const struct vamp_metric *metric, enum vamp_metric_id *ret_id);
/* Called in a plug-in: replaces the plug-in's catalogue by that of the program. */
void vamp_metrics_share(const struct vamp_metric *metrics, unsigned metric_count,
                        const char *const *label_words);

/* ---- attributes of CDOs: labels with declared names */

#define VAMP_ATTRIBUTE_NAME_MAX 23 /* maximum length of a name */
/* Replaces the labels of attributes by at most VAMP_ATTRIBUTES_MAX names, which must have been
 * checked (declared.h). To be called while the program has one thread, before a schema exists. */
void vamp_attributes_set(const char *const *names, unsigned number);
unsigned vamp_attribute_count(void);
static inline bool vamp_label_is_attribute(unsigned label)
{
    return label >= VAMP_LABEL_ATTRIBUTE;
}

/* Counters for runs with sampling: in each bucket they increase by the increase of another counter
 * with the same labels times vampire_weight. They are in no set and computed only if requested by
 * name. */
struct vamp_weighted_metric {
    enum vamp_metric_id weighted, plain;
};
#define VAMP_WEIGHTED_METRIC_COUNT 7
extern const struct vamp_weighted_metric vamp_weighted_metrics[VAMP_WEIGHTED_METRIC_COUNT];
/* Returns the counter on which a weighted counter is based; VAMP_METRIC_NONE for other metrics. */
enum vamp_metric_id vamp_metric_plain(enum vamp_metric_id weighted);
/* Returns whether the metric divides time among pending operations (pairing/blocked.h). */
bool vamp_metric_is_blocked_time(enum vamp_metric_id id);

/* Groups of sampled CDOs, formed by other bits of the hash that selects the CDOs. The variance
 * between the groups gives the error of estimates (metric vampire_sample_group). */
#define VAMP_GROUP_COUNT 16

/* Returns the name of a label: "component", "source", ...; never NULL. */
const char *vamp_label_name(unsigned label);
/* Returns the label with this name of `length` bytes, or VAMP_LABEL_COUNT if there is none. */
unsigned vamp_label_find(const char *name, size_t length);
extern const char *vamp_label_words[VAMP_LABEL_COUNT + 1]; /* all names, terminated by NULL */
const char *vamp_metric_kind_name(unsigned kind); /* returns "counter", "gauge" or "histogram" */
/* Returns the merge rule of the metric as text: "adds over time and labels". */
const char *vamp_metric_merge_rule(const struct vamp_metric *metric);
const char *vamp_level_name(enum vamp_level level); /* returns "workflow", "model", ... */
/* Returns whether the values of the label are texts from samples. */
bool vamp_label_is_sampled(unsigned label);
/* Returns whether the values of the label are names of components or of models. */
bool vamp_label_is_name(unsigned label);
/* Returns whether the values of the label are names of any kind, which are not known in advance. */
bool vamp_label_is_open(unsigned label);
/* The values of a label. Labels whose values are names have no list; those of outputs and samples
 * have no constant texts. Value 0 of `operation` is not an operation. */
struct vamp_label_values {
    const char *(*text)(unsigned value);
    unsigned count;
};
extern const struct vamp_label_values vamp_label_values[]; /* indexed by label */
/* Returns the label of models that corresponds to a label of components; other labels unchanged. */
enum vamp_label vamp_label_of_model(enum vamp_label label);
/* Returns the label of components that corresponds to a label of models; other labels unchanged. */
enum vamp_label vamp_label_of_component(enum vamp_label label);
/* Returns whether a series may have no value in a bucket (VAMP_GAUGE_NONE): ages and gauges of
 * samples. */
bool vamp_metric_may_be_none(const struct vamp_metric *metric);
/* Returns the labels of the metric at a level: component, source, sink and producer are removed at
 * `workflow` and replaced by models at `model`. */
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

/* Values of the label `refusal`: why a message of a run, or a part of a message, was not collected.
 */
enum vamp_refusal {
    VAMP_REFUSAL_GARBAGE,    /* malformed or inconsistent */
    VAMP_REFUSAL_VERSION,    /* unknown format */
    VAMP_REFUSAL_LONG,       /* too many bytes */
    VAMP_REFUSAL_WIDTH,      /* the collected width is not a multiple of the bucket's */
    VAMP_REFUSAL_BINS,       /* histograms with other bins */
    VAMP_REFUSAL_METRIC,     /* unknown or different metric; its values are dropped */
    VAMP_REFUSAL_LATE,       /* the collected bucket was closed */
    VAMP_REFUSAL_EARLY,      /* the bucket is in the future: one of the clocks is wrong */
    VAMP_REFUSAL_INCOMPLETE, /* other messages of the bucket were missing at the close */
    VAMP_REFUSAL_RUNS,       /* more runs than max_runs */
    VAMP_REFUSAL_MEMORY,     /* too many waiting messages */
    VAMP_REFUSAL_SERIES,     /* over max_series; its values are counted in (other) */
    VAMP_REFUSAL_SUBJECT,    /* the subject differs from that of the run's other messages */
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
 * vampire_transport_seconds. Values remain integers with a number of decimals. */
#define VAMP_BASE_NAME_BYTES 96

struct vamp_base_metric {
    char name[VAMP_BASE_NAME_BYTES]; /* without the suffix "_total" of a counter */
    const char *unit;                /* suffix of the name: "seconds", "bytes"; "" if it has none */
    unsigned decimals; /* number of decimals of the metric's integer values: 9 for nanoseconds */
};

/* Sets the base metric of a metric. Any thread. */
void vamp_base_metric(const struct vamp_metric *metric, struct vamp_base_metric *ret_base);
