/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metric descriptors: the only source of metric names, units, help, labels and sets, for the
 * HDF5 variables, the JSON header, `--list-metrics` and the manual. A table: those of metrics.def,
 * which the code knows by their ids, and those that were appended when the program started, which
 * it knows by name only. Constant from then on; any thread. The catalogue and its rules are
 * described in docs/metrics.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/event/event.h"

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
    VAMP_LABEL_METRIC, /* the name of the one that is spoken of */
    VAMP_LABEL_GROUP,  /* of sampled CDOs */
    VAMP_LABEL_HOST,   /* of samples, as are the next two */
    VAMP_LABEL_JOB,
    VAMP_LABEL_NAME,
    /* Of collected buckets only (vampire/collect/collect.h): where a series comes from, and why
     * messages were refused. No statistics of a run compute them. */
    VAMP_LABEL_REFUSAL,
    VAMP_LABEL_WORKFLOW,
    VAMP_LABEL_RUN,       /* its id */
    VAMP_LABEL_ATTRIBUTE, /* the first of the declared attributes of CDOs, which come last */
};
#define VAMP_ATTRIBUTES_MAX 4
#define VAMP_LABEL_COUNT (VAMP_LABEL_ATTRIBUTE + VAMP_ATTRIBUTES_MAX)
#define VAMP_RUN_LABELS ((unsigned)VAMP_LABEL_REFUSAL) /* those before it are labels of one run */
/* Labels of one metric; an output may add those of models, collecting adds workflow and run. */
#define VAMP_LABELS_MAX (9 + VAMP_ATTRIBUTES_MAX)
#define VAMP_NAME_LABELS_MAX 2 /* of them names of components */

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
    VAMP_SET_COLLECT = 1 << 7, /* of collected buckets only */
    VAMP_SET_SAMPLED = 1 << 8, /* declared for samples (declared.h); always computed */
};

/* How values become one when buckets or series are merged. Counters, and the count, sum and bins of
 * a histogram, add over time and over labels, exactly; its extremes stay extremes. A gauge keeps
 * over time its last value and the extremes; over labels it follows this rule. */
enum vamp_merge {
    /* Values add. The extremes, added likewise, are bounds: the sum was never beyond them, but need
     * not have reached them. */
    VAMP_MERGE_SUM,
    VAMP_MERGE_LARGEST, /* The largest value; the extremes are those of all series. */
    /* Of vampire_weight only: over time vampire_weighted over vampire_sampled_in. */
    VAMP_MERGE_MEAN,
};

/* Different texts of the labels host, job and name together; others are given up. */
#define VAMP_SAMPLE_TEXTS_MAX 4096

#define VAMP_METRICS_MAX                                                                           \
    256 /* bounds the catalogue: arrays by metric or label set have this size */

/* metrics.def gives each metric that is built in an id, in catalogue order. Appended ones have the
 * next ones. */
enum vamp_metric_id {
#define VAMP_METRIC(symbol, name, kind, unit, labels, sets, merge, basis, help, origin)            \
    VAMP_METRIC_##symbol,
#include "vampire/stats/bucket/metrics.def"
#undef VAMP_METRIC
    VAMP_METRICS_BUILT_IN,
    VAMP_METRIC_NONE = VAMP_METRICS_MAX /* no metric; ends lists of them */
};

/* In `labels`: the metric has those of the declared attributes, too. */
#define VAMP_BY_ATTRIBUTE (UINT32_C(1) << 31)

struct vamp_metric {
    const char *name;
    enum vamp_metric_kind kind;
    const char *unit; /* UDUNITS text: "1", "ns", "byte", "byte s-1" */
    uint32_t labels;  /* bit per enum vamp_label, at level component; VAMP_BY_ATTRIBUTE */
    uint32_t sets;    /* enum vamp_metric_set bits */
    enum vamp_merge merge;
    uint32_t basis;     /* bit per enum vamp_unknown: what a source must know of events for it */
    const char *help;   /* one sentence without full stop */
    const char *origin; /* how it is computed: which events */
};

/* vamp_metric_count() entries, by id. */
extern const struct vamp_metric *const vamp_metrics;
unsigned vamp_metric_count(void);
/* VAMP_METRIC_NONE: there is no metric of that name. */
enum vamp_metric_id vamp_metric_find(const char *name);
/* The names of all, ended by NULL. */
void vamp_metric_names(const char *ret_names[static VAMP_METRICS_MAX + 1]);
/* One more metric, copied; its texts live as long as the program. It is computed as all others are,
 * by its sets or where it is named, and its values get into the cells by its id
 * (vampire/stats/cells/cells.h). While the program has one thread, before a configuration is read
 * or anything has a schema. 0; -EINVAL: it lacks a text, has more labels than VAMP_LABELS_MAX, or
 * merges as VAMP_MERGE_MEAN; -EEXIST: there is one of that name; -ENOBUFS: VAMP_METRICS_MAX. */
int vamp_metrics_append(const struct vamp_metric *metric, enum vamp_metric_id *ret_id);
/* Of a plug-in, which has a catalogue of its own: it becomes that of the program. */
void vamp_metrics_share(const struct vamp_metric *metrics, unsigned metric_count,
                        const char *const *label_words);

/* ---- attributes of CDOs: labels with names that are declared */

#define VAMP_ATTRIBUTE_NAME_MAX 23 /* bytes of a name */
/* These are the labels of attributes from now on, instead of others: at most VAMP_ATTRIBUTES_MAX
 * names that were checked (declared.h). While the program has one thread, before anything has a
 * schema. */
void vamp_attributes_set(const char *const *names, unsigned number);
unsigned vamp_attribute_count(void);
static inline bool vamp_label_is_attribute(unsigned label)
{
    return label >= VAMP_LABEL_ATTRIBUTE;
}

/* A counter for runs with sampling: in each bucket of the statistics, what another counter with the
 * same labels added times the bucket's vampire_weight. In no set: computed where it is named. */
struct vamp_weighted_metric {
    enum vamp_metric_id weighted, plain;
};
#define VAMP_WEIGHTED_METRIC_COUNT 7
extern const struct vamp_weighted_metric vamp_weighted_metrics[VAMP_WEIGHTED_METRIC_COUNT];
/* The counter that it weights; VAMP_METRIC_NONE for a metric that is no weighted one. */
enum vamp_metric_id vamp_metric_plain(enum vamp_metric_id weighted);

/* Sampled CDOs by other bits of the hash that chose them: how far the groups differ is how far off
 * an estimate is (metric vampire_sample_group). */
#define VAMP_GROUP_COUNT 16

/* Never NULL. "component", "source", ... */
const char *vamp_label_name(unsigned label);
/* The label of this name, of `length` bytes; VAMP_LABEL_COUNT: there is none. */
unsigned vamp_label_find(const char *name, size_t length);
extern const char *vamp_label_words[VAMP_LABEL_COUNT + 1]; /* of all, ended by NULL */
const char *vamp_metric_kind_name(unsigned kind);          /* "counter", "gauge", "histogram" */
/* The metric's merge rule in words: "adds over time and labels". */
const char *vamp_metric_merge_rule(const struct vamp_metric *metric);
const char *vamp_level_name(enum vamp_level level); /* "workflow", "model", ... */
/* Whether its values are texts of samples. */
bool vamp_label_is_sampled(unsigned label);
/* Whether its values are names of components or of models. */
bool vamp_label_is_name(unsigned label);
/* Whether its values are names of any kind: no list has them all. */
bool vamp_label_is_open(unsigned label);
/* The values of a label: how many there are in the list, and the text of each. Names have no list,
 * outputs no text. Value 0 of `operation` is no operation. */
struct vamp_label_values {
    const char *(*text)(unsigned value);
    unsigned count;
};
extern const struct vamp_label_values vamp_label_values[]; /* by label */
/* The label of the models to which the components of this one belong; others: the same. */
enum vamp_label vamp_label_of_model(enum vamp_label label);
/* The other way round. */
enum vamp_label vamp_label_of_component(enum vamp_label label);
/* Whether a series may have no value in a bucket: VAMP_GAUGE_NONE. Ages and gauges of samples may.
 */
bool vamp_metric_may_be_none(const struct vamp_metric *metric);
/* The metric's labels at a level: component, source, sink and producer fall away at `workflow`, and
 * are those of models at `model`. */
uint32_t vamp_metric_labels_at(const struct vamp_metric *metric, enum vamp_level level);

/* Values of the label `anomaly`; what each means is in docs/metrics.md. */
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
#define VAMP_ANOMALY_COUNT 8
const char *vamp_anomaly_name(unsigned anomaly);

/* Values of the label `part`; what each means is in docs/metrics.md. */
enum vamp_wait_part {
    VAMP_WAIT_FOR_OFFER,
    VAMP_WAIT_FOR_START,
    VAMP_WAIT_MOVING,
    VAMP_WAIT_UNKNOWN,
};
#define VAMP_WAIT_PART_COUNT 4
const char *vamp_wait_part_name(unsigned part);

/* Values of the label `refusal`: why a message of a run, or a part of it, was not collected. */
enum vamp_refusal {
    VAMP_REFUSAL_GARBAGE,    /* not a message, or it contradicts itself */
    VAMP_REFUSAL_VERSION,    /* of a format that is not known */
    VAMP_REFUSAL_LONG,       /* more bytes than a message may have */
    VAMP_REFUSAL_WIDTH,      /* collected buckets do not consist of whole ones of this width */
    VAMP_REFUSAL_BINS,       /* histograms with other bins */
    VAMP_REFUSAL_METRIC,     /* a metric that is not known as it is: its values are left out */
    VAMP_REFUSAL_LATE,       /* the collected bucket was closed */
    VAMP_REFUSAL_EARLY,      /* from the future: its clock or ours is wrong */
    VAMP_REFUSAL_INCOMPLETE, /* a bucket whose other messages had not come at the close */
    VAMP_REFUSAL_RUNS,       /* more runs than max_runs */
    VAMP_REFUSAL_MEMORY,     /* more waiting messages than have room */
    VAMP_REFUSAL_SERIES,     /* without room in max_series: its values are in (other) */
    VAMP_REFUSAL_SUBJECT,    /* it came from elsewhere than the run's messages do */
};
#define VAMP_REFUSAL_COUNT 13
const char *vamp_refusal_name(unsigned refusal);

/* Size classes: "[0,256)", "[256,512)", ..., "[1GiB,inf)", then "unknown". */
#define VAMP_SIZE_CLASS_COUNT 25
#define VAMP_SIZE_CLASS_UNKNOWN 24
static inline unsigned vamp_size_class(bool known, uint64_t size_bytes)
{
    if (!known) {
        return VAMP_SIZE_CLASS_UNKNOWN;
    }
    if (size_bytes < 256) {
        return 0;
    }
    const unsigned doublings = 63U - (unsigned)__builtin_clzll(size_bytes);
    return doublings >= 30 ? VAMP_SIZE_CLASS_UNKNOWN - 1 : doublings - 7;
}
const char *vamp_size_class_name(unsigned size_class);

/* A metric in base units, seconds instead of nanoseconds, with the name that Prometheus expects:
 * transport_ns is vampire_transport_seconds there. Values stay integers, with decimals. */
#define VAMP_BASE_NAME_BYTES 96

struct vamp_base_metric {
    char name[VAMP_BASE_NAME_BYTES]; /* without the "_total" of a counter */
    const char *unit;                /* "seconds", "bytes": what the name ends with; else "" */
    unsigned decimals;               /* of the metric's integer values: 9 for nanoseconds */
};

/* Any thread. */
void vamp_base_metric(const struct vamp_metric *metric, struct vamp_base_metric *ret_base);
