/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modules of the collector. decode.c reads and checks messages; runs.c stores runs and their
 * messages until a bucket closes; values.c defines the schema and adds messages to the bucket that
 * is being closed; collect.c closes buckets; present.c answers requests.
 */
#pragma once

#include "telemetry.pb-c.h"
#include "vampire/collect/collect.h"
#include "vampire/core/map.h"
#include "vampire/core/protobuf/arena.h"
#include "vampire/stats/bucket/merged.h"

#define COLLECT_PARTS_MAX 4096 /* maximum number of messages of one bucket of a run */
#define COLLECT_GAPS_MAX 256   /* maximum number in one collected bucket; further gaps are merged */
#define COLLECT_ID_BYTES 37    /* size of the id of a run, a UUID as text */

/* ---- runs */

/* A bucket of a run: messages that wait for the close of the collected bucket. */
struct collect_pending {
    struct collect_pending *next; /* in ascending order of numbers */
    uint64_t number;
    int64_t start_ns;
    unsigned parts, arrived;
    struct collect_part {
        void *data; /* malloc'ed; NULL: not received yet */
        size_t bytes;
    } part[];
};

struct collect_run {
    struct map_link link;
    struct collect_run *next; /* list sorted by id */
    char id[COLLECT_ID_BYTES];
    char *workflow; /* malloc'ed */
    char *subject;  /* subject of the run's first message, malloc'ed; NULL: unknown */
    /* Number of the run's series in metrics collect_runs_reporting and collect_runs_missing. */
    uint32_t series;
    bool has_series;
    bool is_collector; /* it reports other runs, which are named instead of it */
    unsigned pending_count;
    struct collect_pending *pending; /* in ascending order of numbers */
    int64_t first_ns;                /* start of the first received bucket */
    int64_t heard_ns;                /* time of the last message, by the caller's clock */
    bool said_end;                   /* the run reported its end */
    bool ended;                      /* the run reported its end, or sent no message for too long */
    bool reported;                   /* the run has values in the bucket that is being closed */
    bool has_newest;                 /* at least one bucket was collected */
    uint64_t newest, after;          /* numbers of the newest collected bucket and the next one */
    uint64_t collected;              /* bit i: number newest - i was collected */
    int64_t end_ns;                  /* end of the newest collected bucket */
    struct vamp_accounting account;  /* accounting of the newest collected bucket */
};

struct collect_name {
    struct map_link link;
    struct collect_name *next;
    char text[];
};

struct vamp_collect {
    struct vamp_collect_options options;
    vamp_bucket_fn *take;
    void *context;
    struct vamp_collect_counts counts;
    /* Refused messages, up to the last closed bucket. */
    uint64_t refused_before[VAMP_REFUSAL_COUNT];
    struct vamp_decode_arena arena;

    struct vamp_coverage coverage; /* data that at least one run does not report */
    struct vamp_merged merged;     /* has all metrics of the catalogue, in its order */
    struct map names;              /* struct collect_name: texts of label values */
    struct collect_name *name_list;
    size_t name_bytes;
    /* Buffer for the histogram that is being added; VAMP_BINS_MAX bins. */
    struct vamp_bucket_histogram *histogram;
    bool out_of_memory; /* some values of the bucket that is being closed could not be added */

    /* For each series of collect_runs_reporting: the collector through which that run reports;
     * NULL: the run reports directly, or has ended. */
    const struct collect_run **reporters;
    struct map runs; /* indexed by id */
    struct collect_run *run_list;
    struct vamp_accounting past; /* sum over forgotten runs */
    struct vamp_output_account outputs[VAMP_OUTPUTS_MAX];
    unsigned output_count;

    bool started;
    int64_t next_ns; /* start of the oldest open bucket */
    uint64_t number; /* number of the next bucket */
    struct vamp_gap gaps[COLLECT_GAPS_MAX];
    unsigned gap_count;
    const struct vamp_bucket *newest; /* holds a reference; NULL until a bucket is closed */
};

/* ---- decode.c */

/* Decodes a message into the collector's arena, where it is valid until the next call. Returns NULL
 * and sets `*ret_refusal` if the message is refused. */
const Vampire__Telemetry__Message *collect_decode(struct vamp_collect *collect, const void *data,
                                                  size_t bytes, enum vamp_refusal *ret_refusal);
/* Returns the metric of the catalogue with the same description; its id is also its index in the
 * collector's schema. Returns VAMP_METRIC_NONE if there is none. */
enum vamp_metric_id collect_metric(const Vampire__Telemetry__Metric *metric);

/* ---- runs.c */

/* Returns the run with this id; NULL if it is unknown. */
struct collect_run *collect_run_find(const struct vamp_collect *collect, const char *id);
/* Returns the run of a message, which is added if it is unknown. Returns NULL and sets
 * `*ret_refusal` if the message is refused. */
struct collect_run *collect_run_meet(struct vamp_collect *collect,
                                     const Vampire__Telemetry__Message *message,
                                     const char *subject, int64_t now_ns,
                                     enum vamp_refusal *ret_refusal);
/* Forgets runs that ended some time ago, and updates the numbers of runs. */
void collect_runs_review(struct vamp_collect *collect, int64_t now_ns);
/* Sums the accounting of all runs, and adds the counters of the outputs. */
void collect_runs_account(const struct vamp_collect *collect, struct vamp_accounting *ret_sum);
void collect_runs_done(struct vamp_collect *collect);
/* Stores the message until its bucket closes. */
void collect_run_keep(struct vamp_collect *collect, struct collect_run *run,
                      const Vampire__Telemetry__Message *message, const void *data, size_t bytes);
/* Returns whether a bucket with this number was collected; only recent numbers are stored. */
bool collect_run_has(const struct collect_run *run, uint64_t number);
/* Records a collected bucket that ends at `end_ns`; must be called in ascending order of numbers.
 */
void collect_run_collected(struct collect_run *run, uint64_t number, uint64_t buckets,
                           int64_t end_ns);
/* Removes and returns the run's first pending bucket if it starts before `end_ns`, else returns
 * NULL. The caller frees it by collect_pending_free. */
struct collect_pending *collect_run_next(struct collect_run *run, int64_t end_ns);
void collect_pending_free(struct vamp_collect *collect, struct collect_pending *pending);

/* ---- values.c */

/* Returns 0, -EINVAL or -ENOMEM; collect_schema_done may be called in any case. */
VAMP_MUST_CHECK int collect_schema_init(struct vamp_collect *collect, struct vamp_err *err);
void collect_schema_done(struct vamp_collect *collect);
/* Returns the series with these label values, which are in the order of the set and are copied.
 * Returns 0 at the limit or if out of memory, and counts it. */
uint32_t collect_series(struct vamp_collect *collect, unsigned set,
                        const char *const labels[static VAMP_LABELS_MAX]);

/* Adds the values of a message of the run. */
void collect_values_add(struct vamp_collect *collect, struct collect_run *run,
                        const Vampire__Telemetry__Message *message);
/* Returns the label set of the metrics about runs. */
unsigned collect_runs_set(const struct vamp_collect *collect);
/* Computes the weight. Called after all runs were added. */
void collect_values_settle(struct vamp_collect *collect);
/* Adds a value of the collector's own metrics. */
void collect_values_count(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          uint64_t delta);
void collect_values_gauge(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          int64_t value);
