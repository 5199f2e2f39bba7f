/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input of the writers: a schema, which is constant during a run, and a sequence of buckets. A
 * bucket is immutable, shared by the queues of all writers, and freed with its last reference.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/event/components.h"
#include "vampire/core/event/event.h"
#include "vampire/stats/bucket/coverage.h"
#include "vampire/stats/bucket/histogram.h"
#include "vampire/stats/bucket/metric.h"

#define VAMP_SERIES_OTHER "(other)"

/* The labels of one series, in the order of its label set. The texts are terminated, owned by the
 * statistics, valid and unchanged during the run. */
struct vamp_series {
    const char *labels[VAMP_LABELS_MAX];
    /* Models of the components in `labels` (component names come first); NULL for other labels. */
    const char *models[VAMP_NAME_LABELS_MAX];
};

/* A dimension: all metrics with the same labels share it and its series numbers. */
struct vamp_label_set {
    /* "component_operation". With one label "component_series", since netCDF would interpret a
     * dimension that has the name of its label as a coordinate. "" for metrics without labels: one
     * series, no dimension. */
    char name[160];
    enum vamp_label labels[VAMP_LABELS_MAX];
    unsigned label_count;
    unsigned max_series; /* including series 0, "(other)" in every label */
};

struct vamp_schema_metric {
    enum vamp_metric_id id;
    unsigned label_set; /* index into label_sets */
    /* Gauges whose series were added: the extremes are only bounds (enum vamp_merge), and writers
     * use other names for them. */
    bool has_bounds;
    /* Outputs with a budget: current detail of the labels. Series from `coarser_from` on have
     * coarser labels than earlier series, which are unchanged; 0: all series have the same detail.
     */
    enum vamp_detail detail;
    unsigned coarser_from;
};

struct vamp_schema {
    const struct vamp_label_set *label_sets;
    unsigned label_set_count;
    const struct vamp_schema_metric *metrics; /* enabled metrics in the order of the catalogue */
    unsigned metric_count;
    struct vamp_bins bins;
    unsigned max_components;
    enum vamp_level level;
    int64_t bucket_ns;
    uint8_t series_space[16];             /* name space of the ids of series */
    const struct vamp_coverage *coverage; /* metrics and other data that are absent */
};

/* Returns the index of a metric in the schema, or `metric_count` if the schema does not have it. */
static inline unsigned vamp_schema_find(const struct vamp_schema *schema, enum vamp_metric_id id)
{
    unsigned place = 0;
    while (place < schema->metric_count && schema->metrics[place].id != id) {
        place++;
    }
    return place;
}

struct vamp_bucket;
/* Returns the resolution in ns of a histogram of times between events: a recorded 0 stands for any
 * time up to this, and longer times may be off by up to this in either direction. Returns 0 if the
 * metric's values are exact. */
uint64_t vamp_bucket_resolution(const struct vamp_bucket *bucket, enum vamp_metric_id id);

#define VAMP_SERIES_SPACE_BYTES 37 /* size of `series_space` as text */
void vamp_series_space_text(const uint8_t series_space[static 16],
                            char text[static VAMP_SERIES_SPACE_BYTES]);
/* Returns the labels as bits, one per enum vamp_label. */
uint32_t vamp_label_set_bits(const struct vamp_label_set *set);
/* Sets the labels (bits; at most VAMP_LABELS_MAX), their number and the name of the label set. */
void vamp_label_set_describe(struct vamp_label_set *set, uint32_t labels);

/* Maximum length of a workflow's name in the subject of messages. */
#define VAMP_SUBJECT_NAME_BYTES 127
/* Identity of the run, for file names, attributes and the JSON header. Texts are terminated and not
 * NULL, except `examined`. */
struct vamp_run {
    char id[37]; /* UUIDv4 */
    const char *workflow, *component, *host, *version;
    uint64_t pid;
    const char *user;          /* login name, or the user id as a number; "" if unknown */
    const char *batch_job;     /* id of the job in the batch system; "" if there is none */
    const char *clock;         /* "event" or "arrival": where times come from */
    uint32_t unknown;          /* bit per enum vamp_unknown: data that the source does not report */
    const char *examined;      /* result of an examination of Maestro; NULL if there was none */
    const char *sampling;      /* "none", "fraction 10000" */
    unsigned reloads;          /* number of reloads of the configuration */
    int64_t reloaded_ns;       /* UTC, time of the last reload; 0 if there was none */
    const char *configuration; /* effective configuration, JSON text */
    bool has_alarms;    /* alarm rules are configured: buckets may contain changes of alarms */
    bool replayed;      /* the events are recorded or synthetic: no notifications are sent */
    int64_t started_ns; /* UTC */
};

struct vamp_counter_value {
    uint64_t value; /* since the start of the run */
    uint64_t delta; /* in this bucket */
};
/* Value of all three members of a gauge that has no value, such as the age of the oldest pending
 * demand if none is pending. Only for metrics with vamp_metric_may_be_none. */
#define VAMP_GAUGE_NONE INT64_MIN
struct vamp_gauge_value {
    int64_t value; /* at the end of the bucket */
    int64_t min, max;
};
struct vamp_histogram_value {
    unsigned series;
    const struct vamp_bucket_histogram *histogram;
};

/* Values of one metric in one bucket. Counters and gauges: one element for each series
 * (bucket->series_count of the label set). Histograms: one element for each series with values, in
 * ascending order of series. */
struct vamp_metric_values {
    unsigned count;
    union {
        const struct vamp_counter_value *counters;
        const struct vamp_gauge_value *gauges;
        const struct vamp_histogram_value *histograms;
    };
};

#define VAMP_OUTPUTS_MAX 16
#define VAMP_OUTPUT_NAME_BYTES 64

/* Counters of one writer, in buckets. Invariant: queued = written + lost + waiting. */
struct vamp_output_account {
    char name[VAMP_OUTPUT_NAME_BYTES];
    uint64_t queued, written, lost;
    uint64_t waiting;  /* neither written nor lost: in the queue, being merged, or not flushed */
    uint64_t in_queue; /* the part of `waiting` that is in the queue */
};

/* Cumulative since the start, including this bucket. Invariants: received = decoded + rejected;
 * decoded = filtered + counted. The counters of outputs are as of the close of the bucket. */
struct vamp_accounting {
    uint64_t received, decoded, rejected, filtered, counted;
    uint64_t sampled_out; /* included in `filtered` */
    uint64_t late;        /* counted in a bucket after their own bucket */
    /* Not subscribed to, or not recorded, as far as is known; not included in `received`. */
    uint64_t not_subscribed;
    uint64_t lost[VAMP_LOSS_COUNT]; /* lost before they were received */
    uint64_t resolution_ns;         /* worst resolution of the clock; 0 if events have times */
    struct vamp_output_account outputs[VAMP_OUTPUTS_MAX];
    unsigned output_count;
};

/* Reasons of gaps in addition to those of enum vamp_loss. */
enum vamp_gap_reason {
    VAMP_GAP_LEAP = VAMP_LOSS_COUNT, /* leap of time: a long silence, or the clock was set */
    /* Out of memory for the bucket: its counters are added to the next one, its histograms are
     * lost. */
    VAMP_GAP_MEMORY,
    VAMP_GAP_POOL_GONE, /* the pool manager was gone */
    /* Collected buckets only: buckets of a run are missing. */
    VAMP_GAP_RUN_LOST, /* reported as lost by the run's output */
    VAMP_GAP_ON_WAY,   /* did not arrive, or were refused */
};
#define VAMP_GAP_REASON_COUNT (VAMP_GAP_ON_WAY + 1)
const char *vamp_gap_reason_name(unsigned reason); /* never NULL */

/* An interval with lost events, or without buckets. */
struct vamp_gap {
    int64_t start_ns, end_ns; /* UTC; the end is before the start if the clock was set back */
    unsigned reason;
    uint64_t events; /* number of lost events; 0: unknown or none */
};

/* Merges `gap` into the last of `count` gaps (at least one) that has the same reason, or into the
 * last gap if none has. Used when the list is full. */
void vamp_gap_join(struct vamp_gap *gaps, unsigned count, const struct vamp_gap *gap);

struct vamp_component_row {
    unsigned index;
    struct vamp_component component;
};

/* Level `cdo`: times in the lifecycle of a selected CDO. They are in the bucket in which the CDO's
 * record ended. */
enum vamp_cdo_time {
    VAMP_CDO_TIME_DECLARED,
    VAMP_CDO_TIME_SEALED,
    VAMP_CDO_TIME_OFFERED,
    VAMP_CDO_TIME_FIRST_DEMAND,
    VAMP_CDO_TIME_LAST_TRANSPORT, /* the last completed transport */
    VAMP_CDO_TIME_WITHDRAWN,
    VAMP_CDO_TIME_DISPOSED,
};
#define VAMP_CDO_TIME_COUNT (VAMP_CDO_TIME_DISPOSED + 1)
const char *vamp_cdo_time_name(unsigned what); /* never NULL */

enum vamp_cdo_end {
    VAMP_CDO_END_DISPOSED,
    VAMP_CDO_END_LEFT,    /* its producer left */
    VAMP_CDO_END_EVICTED, /* its record was evicted at the limit max_cdos */
    VAMP_CDO_END_RUN,     /* it existed until the end of the run */
};
const char *vamp_cdo_end_name(unsigned end); /* never NULL */

#define VAMP_CDO_NAME_BYTES 256 /* a longer name is cut at a character boundary */
/* Limits of the lists in one bucket; entries over the limit are only counted. */
#define VAMP_CDO_ROWS_MAX 4096
#define VAMP_ANOMALIES_MAX 64

struct vamp_cdo_row {
    const char *producer; /* owned by the component table; "unknown" if it is not known */
    struct vamp_cdo_id id;
    uint64_t size_bytes, demands;
    uint64_t consumers;                    /* number of completed transports */
    int64_t times_ns[VAMP_CDO_TIME_COUNT]; /* UTC; INT64_MIN: the event was not seen */
    uint32_t producer_number; /* number of the producer's name in the component table */
    bool id_known, size_known;
    uint8_t end;                    /* enum vamp_cdo_end */
    char name[VAMP_CDO_NAME_BYTES]; /* "": never reported */
};

struct vamp_listed_anomaly {
    const char *component; /* owned by the component table */
    int64_t time_ns;       /* time of the event */
    struct vamp_cdo_id id;
    bool id_known;
    uint8_t anomaly, kind; /* enum vamp_anomaly; the event's kind */
    uint32_t count;        /* number of anomalies; a LEAVE may have several */
    char name[VAMP_CDO_NAME_BYTES];
};

/* One of the oldest demands that are pending at the end of a bucket and began before the bucket. */
#define VAMP_WAITING_DEMANDS_MAX 16
struct vamp_waiting_demand {
    const char *component; /* the waiting component; owned by the component table */
    /* The component that offers the CDO or is known to be its producer; owned by the component
     * table; NULL if unknown. */
    const char *producer;
    int64_t since_ns; /* UTC */
    uint64_t age_ns;  /* at the end of the bucket or of the stream */
    struct vamp_cdo_id id;
    bool id_known;
    bool offered;   /* the CDO is in the pool */
    bool uncertain; /* events were lost since then: the demand may have ended unobserved */
    char name[VAMP_CDO_NAME_BYTES];
};

/* The CDO that determines a gauge of ages, such as demand_oldest_ns, of a component or model. */
#define VAMP_OLDEST_CDOS_MAX 256 /* per metric; entries are ordered by descending age */
struct vamp_oldest_cdo {
    const char *component; /* label of the series; owned by the component table */
    enum vamp_metric_id metric;
    char name[VAMP_CDO_NAME_BYTES]; /* the id if no name was reported */
};

struct vamp_alarm_change;

struct vamp_bucket {
    /* The statistics number their buckets 0, 1, 2, ... without holes. An output may merge several
     * buckets into one (writers/output/resolution.h), which gets the number of the first. Buckets
     * from `number` + `buckets` up to the next number were lost. */
    uint64_t number;
    /* Number of buckets of the statistics that are merged into this one; at least 1. */
    uint64_t buckets;
    int64_t start_ns, width_ns;
    const struct vamp_schema *schema;
    const unsigned *series_count; /* number of series per label set at the end of this bucket */
    /* [label set][series]; these arrays do not move during the run. */
    const struct vamp_series *const *const *series;
    const struct vamp_metric_values *values; /* indexed by metric of the schema */
    struct vamp_accounting accounting;
    const struct vamp_gap *gaps; /* gaps that ended in this bucket */
    unsigned gap_count;
    /* Entries added or changed since the last bucket. */
    const struct vamp_component_row *components;
    unsigned component_count;
    const struct vamp_cdo_row *cdos; /* level `cdo`: CDOs whose record ended in this bucket */
    unsigned cdo_count;
    uint64_t cdos_unlisted;                      /* number of CDOs over VAMP_CDO_ROWS_MAX */
    const struct vamp_listed_anomaly *anomalies; /* the anomalies that metric `anomalies` counts */
    unsigned anomaly_count;
    uint64_t anomalies_unlisted; /* number of anomalies over VAMP_ANOMALIES_MAX */
    /* Oldest demands pending at the end of the bucket, oldest first; empty unless demand_oldest_ns
     * is computed. */
    const struct vamp_waiting_demand *demands;
    unsigned demand_count;
    uint64_t demands_pending; /* number of pending demands, including those not listed */
    const struct vamp_oldest_cdo *oldest; /* descending age within each metric */
    unsigned oldest_count;
    /* Changes of alarms at the close of this bucket (vampire/alarms/change.h); NULL if there are
     * none. */
    const struct vamp_alarm_change *alarms;
    unsigned alarm_count;
    uint64_t alarms_unlisted; /* merged buckets: number of changes over VAMP_ALARM_CHANGES_MAX */
    /* Number of references, initially 1; changed atomically by vamp_bucket_hold and
     * vamp_bucket_release. The last release calls `destroy`; if `destroy` is NULL, the bucket is in
     * a vamp_bucket_block. */
    unsigned holders;
    void (*destroy)(const struct vamp_bucket *bucket);
};

/* Add and remove a reference; any thread. The release of the last reference frees the bucket. */
const struct vamp_bucket *vamp_bucket_hold(const struct vamp_bucket *bucket);
void vamp_bucket_release(const struct vamp_bucket *bucket);

/* Adds changes of alarms. The array must be allocated by malloc; the bucket takes ownership. Only
 * for buckets of the statistics, and only while the caller has the only reference. */
void vamp_bucket_set_alarms(const struct vamp_bucket *bucket, struct vamp_alarm_change *alarms,
                            unsigned count);

/* The memory of a bucket and of everything it points to, allocated front to back in multiples of 8
 * bytes. A bucket is built twice: first without memory, to measure its size, and then into a block
 * of that size. */
struct vamp_bucket_block {
    unsigned char *memory; /* set by vamp_bucket_block_take; NULL while measuring */
    size_t used;
};
/* Allocates the next `bytes` of the block. Returns NULL while measuring. */
static inline void *vamp_bucket_cut(struct vamp_bucket_block *block, size_t bytes)
{
    unsigned char *part = block->memory;
    if (part != NULL) {
        part += block->used;
    }
    block->used += (bytes + 7) & ~(size_t)7;
    return part;
}
/* Allocates memory of the measured size. Returns false if out of memory. Any thread. */
bool vamp_bucket_block_take(struct vamp_bucket_block *block);
/* Allocates as vamp_bucket_cut and copies `from`, which may be NULL if `bytes` is 0. */
void *vamp_bucket_copy(struct vamp_bucket_block *block, const void *from, size_t bytes);

/* Receives a closed bucket and one reference to it, which the callee must release. Must not block.
 */
typedef void vamp_bucket_fn(void *context, const struct vamp_bucket *bucket);

/* Totals since the start, including open buckets, for the status line and the summary. Values that
 * a metric's filter excluded are counted in `filtered` only. */
struct vamp_totals {
    /* Indexed by kind of event. [0]: operations in the series `(other)` of a full label set. */
    uint64_t operations[VAMP_EVENT_KIND_COUNT];
    uint64_t produced_bytes, consumed_bytes;
    uint64_t transports, transport_bytes;
    uint64_t pool_cdos, pool_bytes;
    uint64_t buckets_without_memory; /* buckets lost; reported as gaps */
    unsigned unwatched;              /* number of gaps during which the pool manager was gone */
    uint64_t unwatched_ns;           /* total duration of these gaps */
    uint64_t evicted;                /* records evicted at the limits max_cdos and max_pending */
    uint64_t unidentified; /* events of components that have no row in the component table */
    /* CDOs not counted as created, since they may have been counted before they were evicted. */
    uint64_t cdos_uncounted;
    uint64_t series_overflow; /* values counted in (other) at the limit max_series */
    uint64_t labels_given_up; /* labels aggregated away at the limit max_series */
    /* All series merged; NULL if the metric is not enabled. */
    const struct vamp_histogram *transport_ns;
    const struct vamp_histogram *demand_wait_ns;
    struct vamp_accounting accounting;
    uint64_t filtered[VAMP_METRICS_MAX]; /* as metric vampire_metric_filtered */
    uint64_t no_room[VAMP_METRICS_MAX];  /* as metric vampire_no_room */
    /* Bits VAMP_TOTALS_BIT of the computed metrics; totals of other metrics are unknown. */
    uint32_t counted;
};

/* Metrics whose totals may be unknown. */
enum vamp_totals_metric {
    VAMP_TOTALS_OPERATIONS,
    VAMP_TOTALS_PRODUCED,
    VAMP_TOTALS_TRANSPORTS,
    VAMP_TOTALS_TRANSPORT_BYTES,
};
#define VAMP_TOTALS_BIT(metric) (UINT32_C(1) << (metric))

uint64_t vamp_totals_operations(const struct vamp_totals *totals);
/* Returns the number of events known to be lost, for all reasons. */
uint64_t vamp_totals_lost(const struct vamp_totals *totals);
/* Returns the number of events known to have occurred: received, lost and not subscribed to. */
uint64_t vamp_totals_events(const struct vamp_totals *totals);

/* ---- run labels, which output formats can add to every series */

enum vamp_run_label {
    VAMP_RUN_WORKFLOW,
    VAMP_RUN_RUN, /* id of the run */
    VAMP_RUN_HOST,
    VAMP_RUN_PID,
    VAMP_RUN_USER,
    VAMP_RUN_BATCH_JOB,
};
#define VAMP_RUN_LABEL_COUNT (VAMP_RUN_BATCH_JOB + 1)
extern const char *const vamp_run_label_words[]; /* "workflow", "run", ..., ended by NULL */

/* Returns the value, never NULL: a text of the run, or `scratch`. */
#define VAMP_RUN_LABEL_BYTES 24
#define VAMP_RUN_TEXT_BYTES 256 /* longer texts are cut */
const char *vamp_run_label(const struct vamp_run *run, enum vamp_run_label label,
                           char scratch[static VAMP_RUN_LABEL_BYTES]);
/* Returns those of `labels` (bits) that the series do not have already: collected series have
 * workflow and run. */
uint64_t vamp_run_labels_to_add(const struct vamp_schema *schema, uint64_t labels);

/* ---- selection of series by patterns of label values, used in options and requests */

struct vamp_strings; /* declared in vampire/core/options/options.h */
/* Splits "LABEL=PATTERN". Returns false if the label is unknown or there is no "=". `*ret_pattern`
 * points into the text. */
bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern);
/* Returns whether the patterns ("component=IFS*", fnmatch) select the series. Patterns of one label
 * are alternatives; every label with patterns must match. Patterns of labels that the set does not
 * have are ignored. */
bool vamp_series_is_wanted(const struct vamp_strings *patterns, const struct vamp_label_set *set,
                           const struct vamp_series *series);
