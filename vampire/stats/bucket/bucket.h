/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the statistics hand to the writers: a schema, fixed for a run, and one bucket after the
 * other. Writers see nothing else. A bucket is immutable once it is handed over; it is shared
 * by all writers' queues and freed when the last one lets go.
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
    const char *models[VAMP_NAME_LABELS_MAX]; /* to which components in labels belong, which come
                                               * first; NULL for other labels */
};

/* A dimension: all metrics with the same labels share it and its series numbers. */
struct vamp_label_set {
    /* "component_operation"; with one label "component_series", since a dimension may not have
     * the name of its label (netCDF would take that for a coordinate); "" for metrics without
     * labels: one series, no dimension. */
    char name[160];
    enum vamp_label labels[VAMP_LABELS_MAX];
    unsigned label_count;
    unsigned max_series; /* series 0 is "(other)" in every label; bounds included */
};

struct vamp_schema_metric {
    enum vamp_metric_id id;
    unsigned label_set; /* index into label_sets */
    /* Of a gauge whose series were added: its extremes are bounds (enum vamp_merge) and are written
     * under other names. */
    bool has_bounds;
    /* Of an output with a budget: what labels series have by now; those from this number on have
     * coarser ones than those before it, which stay as they were. */
    enum vamp_detail detail;
    unsigned coarser_from; /* 0: all have the same */
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
    uint8_t series_space[16];             /* name space of the ids that readers can give series */
    const struct vamp_coverage *coverage; /* what is absent */
};

/* The place of a metric in the schema; `metric_count`: it is not there. */
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
/* What identifies the run; for file names, attributes and the JSON header. All text terminated,
 * never NULL. */
/* Bytes of a workflow's name in the subject of messages, at most. */
#define VAMP_SUBJECT_NAME_BYTES 127
struct vamp_run {
    char id[37]; /* UUIDv4 */
    const char *workflow, *component, *host, *version;
    uint64_t pid;
    const char *user;          /* login name, or the number; "" when not known */
    const char *batch_job;     /* id of the batch system's job; "" without one */
    const char *clock;         /* "event" or "arrival": what times are */
    uint32_t unknown;          /* bit per enum vamp_unknown: what the source cannot know */
    const char *examined;      /* what an examination of Maestro found; NULL: there was none */
    const char *sampling;      /* "none", "fraction 10000" */
    unsigned reloads;          /* how often the configuration was read again so far */
    int64_t reloaded_ns;       /* UTC, the last time; 0 without one */
    const char *configuration; /* effective configuration, JSON text */
    bool has_alarms;           /* there are rules of alarms: buckets may have changes of them */
    bool replayed;             /* the events are of a recording or made up: nobody is to be told */
    int64_t started_ns;        /* UTC */
};

struct vamp_counter_value {
    uint64_t value; /* since the start of the run */
    uint64_t delta; /* in this bucket */
};
/* All three members of a gauge of which there is nothing to measure: the age of the oldest pending
 * demand where none is pending. Only of metrics that vamp_metric_may_be_none. */
#define VAMP_GAUGE_NONE INT64_MIN
struct vamp_gauge_value {
    int64_t value; /* at the bucket's end */
    int64_t min, max;
};
struct vamp_histogram_value {
    unsigned series;
    const struct vamp_bucket_histogram *histogram;
};

/* Values of one metric in one bucket. Counters and gauges: one entry for each series known
 * (bucket->series_count of the label set). Histograms: the series that recorded something,
 * ascending. */
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

/* One writer's account: queued = written + lost + waiting, always. In buckets handed to it. */
struct vamp_output_account {
    char name[VAMP_OUTPUT_NAME_BYTES];
    uint64_t queued, written, lost, waiting;
};

/* Cumulative since the start: the events of this bucket and of all before it, so that the
 * difference of two buckets is what happened between them. received = decoded + rejected; decoded =
 * filtered + counted. The outputs' accounts are those of the bucket's close. */
struct vamp_accounting {
    uint64_t received, decoded, rejected, filtered, counted;
    uint64_t sampled_out;    /* of those filtered: what sampling left out */
    uint64_t late;           /* counted, but into a bucket after their own */
    uint64_t not_subscribed; /* that were not asked for or are not in a recording, as far as is
                                known: not in received */
    uint64_t lost[VAMP_LOSS_COUNT]; /* before they reached us: not in received */
    uint64_t resolution_ns;         /* of the clock, the worst; 0: events have times of their own */
    struct vamp_output_account outputs[VAMP_OUTPUTS_MAX];
    unsigned output_count;
};

/* Why a gap is one: an enum vamp_loss, or one of these. */
#define VAMP_GAP_LEAP                                                                              \
    ((unsigned)VAMP_LOSS_COUNT) /* time leapt: a long silence or a clock that was set */
#define VAMP_GAP_MEMORY                                                                            \
    ((unsigned)VAMP_LOSS_COUNT + 1) /* no memory for this bucket: its counters are in              \
                                     the next one, its histograms are lost */
#define VAMP_GAP_POOL_GONE                                                                         \
    ((unsigned)VAMP_LOSS_COUNT + 2) /* the pool manager was gone: no events were seen */
/* Of collected buckets only: those of a run are missing. */
#define VAMP_GAP_RUN_LOST                                                                          \
    ((unsigned)VAMP_LOSS_COUNT + 3)                     /* its output lost them and reported it    \
                                                         */
#define VAMP_GAP_ON_WAY ((unsigned)VAMP_LOSS_COUNT + 4) /* they did not arrive, or were refused */
#define VAMP_GAP_REASON_COUNT (VAMP_LOSS_COUNT + 5)
const char *vamp_gap_reason_name(unsigned reason); /* never NULL */

/* A stretch of the stream that is known to miss events, or of time without buckets. */
struct vamp_gap {
    int64_t start_ns, end_ns; /* UTC; of a clock set back the end is before the start */
    unsigned reason;
    uint64_t events; /* how many; 0: not known, or none */
};

/* Joins `gap` to the last of `count` gaps (at least one) of its reason, or, where there is none, to
 * the very last: for a list that is full. */
void vamp_gap_join(struct vamp_gap *gaps, unsigned count, const struct vamp_gap *gap);

struct vamp_component_row {
    unsigned index;
    struct vamp_component component;
};

/* At level `cdo`: the life of a CDO of the selected set, reported in the bucket in which its
 * record ended. */
enum vamp_cdo_time {
    VAMP_CDO_TIME_DECLARED,
    VAMP_CDO_TIME_SEALED,
    VAMP_CDO_TIME_OFFERED,
    VAMP_CDO_TIME_FIRST_DEMAND,
    VAMP_CDO_TIME_LAST_TRANSPORT, /* completed */
    VAMP_CDO_TIME_WITHDRAWN,
    VAMP_CDO_TIME_DISPOSED,
};
#define VAMP_CDO_TIME_COUNT 7
const char *vamp_cdo_time_name(unsigned what); /* never NULL */

enum vamp_cdo_end {
    VAMP_CDO_END_DISPOSED,
    VAMP_CDO_END_LEFT,    /* its producer left */
    VAMP_CDO_END_EVICTED, /* max_cdos */
    VAMP_CDO_END_RUN,     /* it outlived the run */
};
const char *vamp_cdo_end_name(unsigned end); /* never NULL */

#define VAMP_CDO_NAME_BYTES 256 /* a longer name is cut at a character's border */
/* Rows that one bucket lists; more of them are counted. */
#define VAMP_CDO_ROWS_MAX 4096
#define VAMP_ANOMALIES_MAX 64

struct vamp_cdo_row {
    const char *producer; /* owned by the component table; "unknown" when none is known */
    struct vamp_cdo_id id;
    uint64_t size_bytes, demands;
    uint64_t consumers;                    /* transports of it that were completed */
    int64_t times_ns[VAMP_CDO_TIME_COUNT]; /* UTC; INT64_MIN: not seen */
    uint32_t producer_number;              /* of its name in the component table */
    bool id_known, size_known;
    uint8_t end;                    /* enum vamp_cdo_end */
    char name[VAMP_CDO_NAME_BYTES]; /* "": never reported */
};

/* An anomaly: who, which CDO, when. */
struct vamp_listed_anomaly {
    const char *component; /* owned by the component table */
    int64_t time_ns;       /* of the event that showed it */
    struct vamp_cdo_id id;
    bool id_known;
    uint8_t anomaly, kind; /* enum vamp_anomaly; the event's kind */
    uint32_t count;        /* as many at once, of a LEAVE */
    char name[VAMP_CDO_NAME_BYTES];
};

/* One of the oldest pending demands at a bucket's end: it has waited since before the bucket. */
#define VAMP_WAITING_DEMANDS_MAX 16
struct vamp_waiting_demand {
    const char *component; /* that waits; owned by the component table */
    /* The component that offers the CDO or, before, has declared it to make it; owned by the
     * component table; NULL: none is known. */
    const char *producer;
    int64_t since_ns; /* UTC */
    uint64_t age_ns;  /* at the bucket's end, or where the stream ended before */
    struct vamp_cdo_id id;
    bool id_known;
    bool offered;   /* the CDO is in the pool */
    bool uncertain; /* events were lost since: it may have ended unseen */
    char name[VAMP_CDO_NAME_BYTES];
};

/* Of which CDO an age is: of a metric as demand_oldest_ns, for the component or model. */
#define VAMP_OLDEST_CDOS_MAX 256 /* of each of these metrics: those of the greatest ages */
struct vamp_oldest_cdo {
    const char *component; /* as in the series' label; owned by the component table */
    enum vamp_metric_id metric;
    char name[VAMP_CDO_NAME_BYTES]; /* or, where only that was reported, its identifier */
};

struct vamp_alarm_change;

struct vamp_bucket {
    /* The statistics number their buckets 0, 1, 2, ... without holes. An output may merge several
     * into one (writers/output/resolution.h), which has the number of the first of them. Those
     * between `number` + `buckets` and the next bucket's number were lost. */
    uint64_t number;
    uint64_t buckets; /* of the statistics that are in this one; at least 1 */
    int64_t start_ns, width_ns;
    const struct vamp_schema *schema;
    const unsigned *series_count; /* per label set, what exists by now */
    /* [label set][series]; these arrays stay where they are as long as the run. */
    const struct vamp_series *const *const *series;
    const struct vamp_metric_values *values; /* per schema metric */
    struct vamp_accounting accounting;
    const struct vamp_gap *gaps; /* that ended in this bucket */
    unsigned gap_count;
    const struct vamp_component_row *components; /* rows new or changed since the last bucket */
    unsigned component_count;
    const struct vamp_cdo_row *cdos; /* CDOs whose record ended in this bucket; at level `cdo` */
    unsigned cdo_count;
    uint64_t cdos_unlisted;                      /* beyond VAMP_CDO_ROWS_MAX */
    const struct vamp_listed_anomaly *anomalies; /* as counted by the metric `anomalies` */
    unsigned anomaly_count;
    uint64_t anomalies_unlisted; /* beyond VAMP_ANOMALIES_MAX */
    /* At the bucket's end, oldest first, where demand_oldest_ns is computed. */
    const struct vamp_waiting_demand *demands;
    unsigned demand_count;
    uint64_t demands_pending;             /* all, listed or not */
    const struct vamp_oldest_cdo *oldest; /* greatest age first in each metric */
    unsigned oldest_count;
    /* What the rules of alarms said at the close of this bucket (vampire/alarms/change.h); NULL
     * when there are none. */
    const struct vamp_alarm_change *alarms;
    unsigned alarm_count;
    uint64_t alarms_unlisted; /* of merged buckets, beyond VAMP_ALARM_CHANGES_MAX */
    /* For the maker of the bucket: starts at 1; vamp_bucket_hold and _release count it with
     * __atomic operations, and the last release calls `destroy`; NULL: the bucket is a
     * vamp_bucket_block. */
    unsigned holders;
    void (*destroy)(const struct vamp_bucket *bucket);
};

/* One more or one less holder; any thread. The last release frees the bucket. */
const struct vamp_bucket *vamp_bucket_hold(const struct vamp_bucket *bucket);
void vamp_bucket_release(const struct vamp_bucket *bucket);

/* Adds what the rules said: malloc'ed, and the bucket's from now on. Only by the one who has the
 * only holder, before anybody else sees the bucket; only of a bucket of the statistics. */
void vamp_bucket_set_alarms(const struct vamp_bucket *bucket, struct vamp_alarm_change *alarms,
                            unsigned count);

/* The memory of a bucket and all that it points to, cut from front to back in multiples of 8 bytes.
 * A bucket is built twice: without memory, which only measures, and into a block of that size. */
struct vamp_bucket_block {
    unsigned char *memory; /* of vamp_bucket_block_take; NULL: measuring */
    size_t used;
};
/* NULL: measuring. */
static inline void *vamp_bucket_cut(struct vamp_bucket_block *block, size_t bytes)
{
    void *part = block->memory != NULL ? block->memory + block->used : NULL;
    block->used += (bytes + 7) & ~(size_t)7;
    return part;
}
/* Memory of the size that was measured, in which to begin; false: there is none. Any thread. */
bool vamp_bucket_block_take(struct vamp_bucket_block *block);
/* The same with a copy; `from` may be NULL where `bytes` is 0. */
void *vamp_bucket_copy(struct vamp_bucket_block *block, const void *from, size_t bytes);

/* Where closed buckets go. Takes a holder: the callee releases it. Must not block. */
typedef void vamp_bucket_fn(void *context, const struct vamp_bucket *bucket);

/* Totals since the start, for the status line and the summary: the sums of what the buckets hold,
 * those that are open included. What a metric's filter turned away is in neither, but in
 * `filtered`. */
struct vamp_totals {
    /* By kind. [0]: without a kind, in the series `(other)` of a full label set. */
    uint64_t operations[VAMP_EVENT_KIND_COUNT];
    uint64_t produced_bytes, consumed_bytes;
    uint64_t transports, transport_bytes;
    uint64_t pool_cdos, pool_bytes;
    uint64_t buckets_without_memory;           /* could not be built: gaps in the data */
    unsigned unwatched;                        /* gaps while the pool manager was gone */
    uint64_t unwatched_ns;                     /* their sum */
    uint64_t evicted;                          /* records given up at max_cdos, max_pending */
    uint64_t unidentified;                     /* events of components that have no row */
    uint64_t cdos_uncounted;                   /* perhaps counted before they were evicted */
    uint64_t series_overflow;                  /* values under (other) at max_series */
    uint64_t labels_given_up;                  /* by values that found a coarser series there */
    const struct vamp_histogram *transport_ns; /* all series merged; NULL when not enabled */
    const struct vamp_histogram *demand_wait_ns;
    struct vamp_accounting accounting;
    uint64_t
        filtered[VAMP_METRICS_MAX]; /* what a metric's filter kept out: vampire_metric_filtered */
    uint64_t no_room[VAMP_METRICS_MAX]; /* values that are in no histogram: vampire_no_room */
    /* Bit per metric (VAMP_TOTALS_BIT) that is counted; what is 0 without one is not known. */
    uint32_t counted;
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
/* Events known to be lost, whatever the reason. */
uint64_t vamp_totals_lost(const struct vamp_totals *totals);
/* All events that are known to have happened: those received, those lost, and those of kinds that
 * were not asked for. */
uint64_t vamp_totals_events(const struct vamp_totals *totals);

/* ---- run labels: facts about the run that formats can add to every series */

enum vamp_run_label {
    VAMP_RUN_WORKFLOW,
    VAMP_RUN_RUN, /* the run's id */
    VAMP_RUN_HOST,
    VAMP_RUN_PID,
    VAMP_RUN_USER,
    VAMP_RUN_BATCH_JOB,
};
#define VAMP_RUN_LABEL_COUNT 6
extern const char *const vamp_run_label_words[]; /* "workflow", "run", ..., ended by NULL */

/* The value, never NULL: one of the run's texts, or `scratch`. */
#define VAMP_RUN_LABEL_BYTES 24
#define VAMP_RUN_TEXT_BYTES 256 /* formats cut a longer one */
const char *vamp_run_label(const struct vamp_run *run, enum vamp_run_label label,
                           char scratch[static VAMP_RUN_LABEL_BYTES]);
/* Those of `labels` (bits) that series do not have themselves: collected ones have the workflow and
 * the run from which they come. */
uint64_t vamp_run_labels_to_add(const struct vamp_schema *schema, uint64_t labels);

/* ---- which series are wanted: patterns of the values of labels, as options and requests have them
 */

struct vamp_strings; /* vampire/core/options/options.h */
/* Splits "LABEL=PATTERN". False: there is no such label, or no "=". `*ret_pattern` points into the
 * text. */
bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern);
/* Whether the patterns ("component=IFS*", fnmatch) choose the series. Those of one label are
 * alternatives; of different labels all must hold. A label set without the label is not concerned.
 */
bool vamp_series_is_wanted(const struct vamp_strings *patterns, const struct vamp_label_set *set,
                           const struct vamp_series *series);
