/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * What writers get from the statistics: a schema, fixed for a run, and one bucket after the
 * other. A bucket is immutable, shared by the queues of all writers, and freed with the last
 * reference.
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

/* The labels of one series, in the order of its label set. Terminated, owned by the statistics,
 * valid and unchanged as long as the run. */
struct vamp_series {
    const char *labels[VAMP_LABELS_MAX];
    /* Models of the components in `labels`, which come first; NULL for other labels. */
    const char *models[VAMP_NAME_LABELS_MAX];
};

/* A dimension: all metrics with the same labels share it and its series numbers. */
struct vamp_label_set {
    /* "component_operation"; with one label "component_series", since netCDF would interpret a
     * dimension with the name of its label as a coordinate; "" for metrics without labels: one
     * series, no dimension. */
    char name[160];
    enum vamp_label labels[VAMP_LABELS_MAX];
    unsigned label_count;
    unsigned max_series; /* including series 0, "(other)" in every label */
};

struct vamp_schema_metric {
    enum vamp_metric_id id;
    unsigned label_set; /* index into label_sets */
    /* Gauges whose series were added: the extremes are bounds (enum vamp_merge) and are written
     * under other names. */
    bool has_bounds;
    /* Outputs with a budget: present detail of labels. Series from `coarser_from` on have coarser
     * labels than earlier ones, which are unchanged; 0: all have the same detail. */
    enum vamp_detail detail;
    unsigned coarser_from;
};

struct vamp_schema {
    const struct vamp_label_set *label_sets;
    unsigned label_set_count;
    const struct vamp_schema_metric *metrics; /* the enabled ones, catalogue order */
    unsigned metric_count;
    struct vamp_bins bins;
    unsigned max_components;
    enum vamp_level level;
    int64_t bucket_ns;
    uint8_t series_space[16];             /* name space for ids of series */
    const struct vamp_coverage *coverage; /* what is absent */
};

/* The index of a metric in the schema; `metric_count`: it is not there. */
static inline unsigned vamp_schema_find(const struct vamp_schema *schema, enum vamp_metric_id id)
{
    unsigned place = 0;
    while (place < schema->metric_count && schema->metrics[place].id != id) {
        place++;
    }
    return place;
}

#define VAMP_SERIES_SPACE_BYTES 37 /* of the name space as text */
void vamp_series_space_text(const uint8_t series_space[static 16],
                            char text[static VAMP_SERIES_SPACE_BYTES]);
/* Bit per enum vamp_label. */
uint32_t vamp_label_set_bits(const struct vamp_label_set *set);
/* Sets labels (at most VAMP_LABELS_MAX), their number and the name. */
void vamp_label_set_describe(struct vamp_label_set *set, uint32_t labels);

/* Limit of a workflow's name in the subject of messages. */
#define VAMP_SUBJECT_NAME_BYTES 127
/* Identity of the run, for file names, attributes and the JSON header. Texts are terminated and not
 * NULL, except `examined`. */
struct vamp_run {
    char id[37]; /* UUIDv4 */
    const char *workflow, *component, *host, *version;
    uint64_t pid;
    const char *user;          /* login name, or the number; "" when not known */
    const char *batch_job;     /* id of the batch system's job; "" without one */
    const char *clock;         /* "event" or "arrival": origin of times */
    uint32_t unknown;          /* bit per enum vamp_unknown: what the source does not report */
    const char *examined;      /* result of an examination of Maestro; NULL: there was none */
    const char *sampling;      /* "none", "fraction 10000" */
    unsigned reloads;          /* of the configuration, so far */
    int64_t reloaded_ns;       /* UTC, the last time; 0 without one */
    const char *configuration; /* effective configuration, JSON text */
    bool has_alarms;           /* there are alarm rules: buckets may have changes of alarms */
    bool replayed;             /* recorded or synthetic events: nobody is to be notified */
    int64_t started_ns;        /* UTC */
};

struct vamp_counter_value {
    uint64_t value; /* since the start of the run */
    uint64_t delta; /* in this bucket */
};
/* All three members of a gauge without a value, such as the age of the oldest pending demand if
 * none is pending. Only for metrics with vamp_metric_may_be_none. */
#define VAMP_GAUGE_NONE INT64_MIN
struct vamp_gauge_value {
    int64_t value; /* at the bucket's end */
    int64_t min, max;
};
struct vamp_histogram_value {
    unsigned series;
    const struct vamp_bucket_histogram *histogram;
};

/* Values of one metric in one bucket. Counters and gauges: one for each series
 * (bucket->series_count of the label set). Histograms: series with values, ascending. */
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

/* One writer's account, in buckets. Always queued = written + lost + waiting. */
struct vamp_output_account {
    char name[VAMP_OUTPUT_NAME_BYTES];
    uint64_t queued, written, lost, waiting;
};

/* Cumulative since the start, including this bucket. received = decoded + rejected; decoded =
 * filtered + counted. The outputs' accounts are those at the bucket's close. */
struct vamp_accounting {
    uint64_t received, decoded, rejected, filtered, counted;
    uint64_t sampled_out;           /* included in `filtered` */
    uint64_t late;                  /* counted in a bucket after their own */
    uint64_t not_subscribed;        /* or not recorded, as far as is known; not in `received` */
    uint64_t lost[VAMP_LOSS_COUNT]; /* before they were received */
    uint64_t resolution_ns;         /* worst resolution of the clock; 0: events have times */
    struct vamp_output_account outputs[VAMP_OUTPUTS_MAX];
    unsigned output_count;
};

/* Reasons of gaps that are not an enum vamp_loss. */
enum vamp_gap_reason {
    VAMP_GAP_LEAP = VAMP_LOSS_COUNT, /* of time: a long silence, or the clock was set */
    VAMP_GAP_MEMORY, /* no memory for the bucket: its counters are in the next one, its histograms
                      * are lost */
    VAMP_GAP_POOL_GONE, /* the pool manager was gone */
    /* Collected buckets only: buckets of a run are missing. */
    VAMP_GAP_RUN_LOST, /* its output reported them as lost */
    VAMP_GAP_ON_WAY,   /* they did not arrive, or were refused */
};
#define VAMP_GAP_REASON_COUNT (VAMP_GAP_ON_WAY + 1)
const char *vamp_gap_reason_name(unsigned reason); /* never NULL */

/* A time with lost events, or without buckets. */
struct vamp_gap {
    int64_t start_ns, end_ns; /* UTC; the end is before the start if the clock was set back */
    unsigned reason;
    uint64_t events; /* lost ones; 0: not known, or none */
};

/* Merges `gap` into the last of `count` gaps (at least one) that has its reason, else into the last
 * one: for a list that is full. */
void vamp_gap_join(struct vamp_gap *gaps, unsigned count, const struct vamp_gap *gap);

struct vamp_component_row {
    unsigned index;
    struct vamp_component component;
};

/* Level `cdo`: lifecycle of a selected CDO, in the bucket in which its record ended. */
enum vamp_cdo_time {
    VAMP_CDO_TIME_DECLARED,
    VAMP_CDO_TIME_SEALED,
    VAMP_CDO_TIME_OFFERED,
    VAMP_CDO_TIME_FIRST_DEMAND,
    VAMP_CDO_TIME_LAST_TRANSPORT, /* completed */
    VAMP_CDO_TIME_WITHDRAWN,
    VAMP_CDO_TIME_DISPOSED,
};
#define VAMP_CDO_TIME_COUNT (VAMP_CDO_TIME_DISPOSED + 1)
const char *vamp_cdo_time_name(unsigned what); /* never NULL */

enum vamp_cdo_end {
    VAMP_CDO_END_DISPOSED,
    VAMP_CDO_END_LEFT,    /* its producer left */
    VAMP_CDO_END_EVICTED, /* max_cdos */
    VAMP_CDO_END_RUN,     /* it outlived the run */
};
const char *vamp_cdo_end_name(unsigned end); /* never NULL */

#define VAMP_CDO_NAME_BYTES 256 /* a longer name is cut at a character */
/* Limits of the lists of one bucket; further entries are counted. */
#define VAMP_CDO_ROWS_MAX 4096
#define VAMP_ANOMALIES_MAX 64

struct vamp_cdo_row {
    const char *producer; /* owned by the component table; "unknown" when none is known */
    struct vamp_cdo_id id;
    uint64_t size_bytes, demands;
    uint64_t consumers;                    /* completed transports */
    int64_t times_ns[VAMP_CDO_TIME_COUNT]; /* UTC; INT64_MIN: not seen */
    uint32_t producer_number;              /* of its name in the component table */
    bool id_known, size_known;
    uint8_t end;                    /* enum vamp_cdo_end */
    char name[VAMP_CDO_NAME_BYTES]; /* "": never reported */
};

struct vamp_listed_anomaly {
    const char *component; /* owned by the component table */
    int64_t time_ns;       /* of the event */
    struct vamp_cdo_id id;
    bool id_known;
    uint8_t anomaly, kind; /* enum vamp_anomaly; the event's kind */
    uint32_t count;        /* a LEAVE may have several */
    char name[VAMP_CDO_NAME_BYTES];
};

/* One of the oldest pending demands at a bucket's end, waiting since before the bucket. */
#define VAMP_WAITING_DEMANDS_MAX 16
struct vamp_waiting_demand {
    const char *component; /* waiting; owned by the component table */
    /* Offers the CDO, or is known as its producer; owned by the component table; NULL: unknown. */
    const char *producer;
    int64_t since_ns; /* UTC */
    uint64_t age_ns;  /* at the end of the bucket or of the stream */
    struct vamp_cdo_id id;
    bool id_known;
    bool offered;   /* the CDO is in the pool */
    bool uncertain; /* events were lost since: it may have ended unseen */
    char name[VAMP_CDO_NAME_BYTES];
};

/* The CDO of an age, such as demand_oldest_ns, of a component or model. */
#define VAMP_OLDEST_CDOS_MAX 256 /* of each metric, greatest ages first */
struct vamp_oldest_cdo {
    const char *component; /* label of the series; owned by the component table */
    enum vamp_metric_id metric;
    char name[VAMP_CDO_NAME_BYTES]; /* the id if no name was reported */
};

struct vamp_alarm_change;

struct vamp_bucket {
    /* The statistics number their buckets 0, 1, 2, ... without holes. An output may merge several
     * (writers/output/resolution.h) into one, which has the number of the first. Buckets between
     * `number` + `buckets` and the next number were lost. */
    uint64_t number;
    uint64_t buckets; /* of the statistics, merged into this one; at least 1 */
    int64_t start_ns, width_ns;
    const struct vamp_schema *schema;
    const unsigned *series_count; /* per label set, by now */
    /* [label set][series]; these arrays do not move during the run. */
    const struct vamp_series *const *const *series;
    const struct vamp_metric_values *values; /* per schema metric */
    struct vamp_accounting accounting;
    const struct vamp_gap *gaps; /* that ended in this bucket */
    unsigned gap_count;
    const struct vamp_component_row *components; /* rows new or changed since the last bucket */
    unsigned component_count;
    const struct vamp_cdo_row *cdos; /* level `cdo`: CDOs whose record ended in this bucket */
    unsigned cdo_count;
    uint64_t cdos_unlisted;                      /* over VAMP_CDO_ROWS_MAX */
    const struct vamp_listed_anomaly *anomalies; /* as counted by the metric `anomalies` */
    unsigned anomaly_count;
    uint64_t anomalies_unlisted; /* over VAMP_ANOMALIES_MAX */
    /* At the bucket's end, oldest first, if demand_oldest_ns is computed. */
    const struct vamp_waiting_demand *demands;
    unsigned demand_count;
    uint64_t demands_pending;             /* all, listed or not */
    const struct vamp_oldest_cdo *oldest; /* greatest age first in each metric */
    unsigned oldest_count;
    /* Changes of alarms at the close of this bucket (vampire/alarms/change.h); NULL: none. */
    const struct vamp_alarm_change *alarms;
    unsigned alarm_count;
    uint64_t alarms_unlisted; /* merged buckets: over VAMP_ALARM_CHANGES_MAX */
    /* References: initially 1; changed atomically by vamp_bucket_hold and _release. The last
     * release calls `destroy`; NULL: the bucket is a vamp_bucket_block. */
    unsigned holders;
    void (*destroy)(const struct vamp_bucket *bucket);
};

/* Adds or removes a reference; any thread. The last release frees the bucket. */
const struct vamp_bucket *vamp_bucket_hold(const struct vamp_bucket *bucket);
void vamp_bucket_release(const struct vamp_bucket *bucket);

/* Adds changes of alarms, allocated by malloc and owned by the bucket from now on. Only for buckets
 * of the statistics, and while the caller has the only reference. */
void vamp_bucket_set_alarms(const struct vamp_bucket *bucket, struct vamp_alarm_change *alarms,
                            unsigned count);

/* The memory of a bucket and all that it points to, allocated front to back in multiples of 8
 * bytes. A bucket is built twice: without memory, to measure its size, and into a block of that
 * size. */
struct vamp_bucket_block {
    unsigned char *memory; /* from vamp_bucket_block_take; NULL: measuring */
    size_t used;
};
/* NULL: measuring. */
static inline void *vamp_bucket_cut(struct vamp_bucket_block *block, size_t bytes)
{
    unsigned char *part = block->memory;
    if (part != NULL) {
        part += block->used;
    }
    block->used += (bytes + 7) & ~(size_t)7;
    return part;
}
/* Allocates memory of the measured size; false: out of memory. Any thread. */
bool vamp_bucket_block_take(struct vamp_bucket_block *block);
/* As vamp_bucket_cut, with a copy; `from` may be NULL if `bytes` is 0. */
void *vamp_bucket_copy(struct vamp_bucket_block *block, const void *from, size_t bytes);

/* Receives closed buckets, with a reference that the callee releases. Must not block. */
typedef void vamp_bucket_fn(void *context, const struct vamp_bucket *bucket);

/* Totals since the start, including open buckets, for the status line and the summary. Values
 * excluded by the filter of a metric are in `filtered` only. */
struct vamp_totals {
    /* By kind. [0]: in the series `(other)` of a full label set. */
    uint64_t operations[VAMP_EVENT_KIND_COUNT];
    uint64_t produced_bytes, consumed_bytes;
    uint64_t transports, transport_bytes;
    uint64_t pool_cdos, pool_bytes;
    uint64_t buckets_without_memory;           /* lost: gaps in the data */
    unsigned unwatched;                        /* gaps while the pool manager was gone */
    uint64_t unwatched_ns;                     /* their sum */
    uint64_t evicted;                          /* records, at max_cdos and max_pending */
    uint64_t unidentified;                     /* events of components without a row */
    uint64_t cdos_uncounted;                   /* may have been counted before they were evicted */
    uint64_t series_overflow;                  /* values counted in (other) at max_series */
    uint64_t labels_given_up;                  /* labels aggregated away there */
    const struct vamp_histogram *transport_ns; /* all series merged; NULL when not enabled */
    const struct vamp_histogram *demand_wait_ns;
    struct vamp_accounting accounting;
    uint64_t filtered[VAMP_METRICS_MAX]; /* vampire_metric_filtered */
    uint64_t no_room[VAMP_METRICS_MAX];  /* vampire_no_room */
    uint32_t counted; /* VAMP_TOTALS_BIT of metrics that are counted; others are unknown */
};

/* Metrics that can be left out of the totals. */
enum vamp_totals_metric {
    VAMP_TOTALS_OPERATIONS,
    VAMP_TOTALS_PRODUCED,
    VAMP_TOTALS_TRANSPORTS,
    VAMP_TOTALS_TRANSPORT_BYTES,
};
#define VAMP_TOTALS_BIT(metric) (UINT32_C(1) << (metric))

uint64_t vamp_totals_operations(const struct vamp_totals *totals);
/* Events known to be lost, for all reasons. */
uint64_t vamp_totals_lost(const struct vamp_totals *totals);
/* All events known to have happened: received, lost, and not subscribed. */
uint64_t vamp_totals_events(const struct vamp_totals *totals);

/* ---- run labels, which formats can add to every series */

enum vamp_run_label {
    VAMP_RUN_WORKFLOW,
    VAMP_RUN_RUN, /* the run's id */
    VAMP_RUN_HOST,
    VAMP_RUN_PID,
    VAMP_RUN_USER,
    VAMP_RUN_BATCH_JOB,
};
#define VAMP_RUN_LABEL_COUNT (VAMP_RUN_BATCH_JOB + 1)
extern const char *const vamp_run_label_words[]; /* "workflow", "run", ..., ended by NULL */

/* The value, never NULL: one of the run's texts, or `scratch`. */
#define VAMP_RUN_LABEL_BYTES 24
#define VAMP_RUN_TEXT_BYTES 256 /* formats cut a longer one */
const char *vamp_run_label(const struct vamp_run *run, enum vamp_run_label label,
                           char scratch[static VAMP_RUN_LABEL_BYTES]);
/* Those of `labels` (bits) that series do not have as labels: collected ones have workflow and run.
 */
uint64_t vamp_run_labels_to_add(const struct vamp_schema *schema, uint64_t labels);

/* ---- selection of series by patterns of label values, in options and requests */

struct vamp_strings; /* vampire/core/options/options.h */
/* Splits "LABEL=PATTERN". False: unknown label, or no "=". `*ret_pattern` points into the text. */
bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern);
/* Whether the patterns ("component=IFS*", fnmatch) select the series. Patterns of one label are
 * alternatives; all labels must match. Patterns of labels that the set does not have are ignored.
 */
bool vamp_series_is_wanted(const struct vamp_strings *patterns, const struct vamp_label_set *set,
                           const struct vamp_series *series);
