/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Modules of the collector. decode.c reads and checks messages; runs.c stores runs and their
 * messages until a bucket closes; values.c has the schema and adds messages to the bucket that is
 * being closed; collect.c closes it; present.c answers requests.
 */
#pragma once

#include "telemetry.pb-c.h"
#include "vampire/collect/collect.h"
#include "vampire/core/map.h"
#include "vampire/core/protobuf/arena.h"
#include "vampire/stats/bucket/merged.h"

#define COLLECT_PARTS_MAX 4096 /* messages of one bucket of a run */
#define COLLECT_GAPS_MAX 256   /* of one collected bucket; further ones are merged */
#define COLLECT_ID_BYTES 37    /* of a run: a UUID as text */

/* ---- runs */

/* A bucket of a run, as messages waiting for its close. */
struct collect_pending {
    struct collect_pending *next; /* by number */
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
    struct collect_run *next; /* by id */
    char id[COLLECT_ID_BYTES];
    char *workflow;  /* malloc'ed */
    char *subject;   /* of its first message, malloc'ed; NULL: not known */
    uint32_t series; /* in collect_runs_reporting and _missing */
    bool has_series;
    unsigned pending_count;
    struct collect_pending *pending; /* ascending numbers */
    int64_t first_ns;                /* start of the first received bucket */
    int64_t heard_ns;                /* time of the last message, by the caller's clock */
    bool said_end;                   /* its end was received */
    bool ended;                      /* or no message was received for too long */
    bool reported;                   /* in the bucket that is being closed */
    bool has_newest;                 /* a bucket was collected */
    uint64_t newest, after;          /* numbers of the newest collected bucket and the next one */
    uint64_t collected;              /* bit i: number newest - i was collected */
    int64_t end_ns;                  /* of the newest */
    struct vamp_accounting account;  /* the newest one */
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
    uint64_t refused_before[VAMP_REFUSAL_COUNT]; /* in closed buckets */
    struct vamp_decode_arena arena;

    struct vamp_coverage coverage; /* what at least one run does not report */
    struct vamp_merged merged;     /* all metrics of the catalogue, in its order */
    struct map names;              /* struct collect_name: values of labels */
    struct collect_name *name_list;
    size_t name_bytes;
    struct vamp_bucket_histogram
        *histogram;     /* buffer for the one being added; VAMP_BINS_MAX bins */
    bool out_of_memory; /* values of the bucket that is being closed could not be added */

    struct map runs; /* by id */
    struct collect_run *run_list;
    struct vamp_accounting past; /* of forgotten runs */
    struct vamp_output_account outputs[VAMP_OUTPUTS_MAX];
    unsigned output_count;

    bool started;
    int64_t next_ns; /* start of the oldest open bucket */
    uint64_t number; /* of the next bucket */
    struct vamp_gap gaps[COLLECT_GAPS_MAX];
    unsigned gap_count;
    const struct vamp_bucket *newest; /* referenced; NULL: none was closed */
};

/* ---- decode.c */

/* The message, in the collector's arena until the next call; NULL with `*ret_refusal`. */
const Vampire__Telemetry__Message *collect_decode(struct vamp_collect *collect, const void *data,
                                                  size_t bytes, enum vamp_refusal *ret_refusal);
/* The metric of the catalogue with the same description, which is also its index in our schema;
 * VAMP_METRIC_NONE: there is none. */
enum vamp_metric_id collect_metric(const Vampire__Telemetry__Metric *metric);

/* ---- runs.c */

/* The run with this id; NULL: unknown. */
struct collect_run *collect_run_find(const struct vamp_collect *collect, const char *id);
/* The run of a message, added if it is unknown. NULL with `*ret_refusal`. */
struct collect_run *collect_run_meet(struct vamp_collect *collect,
                                     const Vampire__Telemetry__Message *message,
                                     const char *subject, int64_t now_ns,
                                     enum vamp_refusal *ret_refusal);
/* Forgets runs that ended some time ago, and counts the others. */
void collect_runs_review(struct vamp_collect *collect, int64_t now_ns);
/* The sum of the accounts of all runs, and the accounts of the outputs. */
void collect_runs_account(const struct vamp_collect *collect, struct vamp_accounting *ret_sum);
void collect_runs_done(struct vamp_collect *collect);
/* Keeps the message for the close of its bucket. */
void collect_run_keep(struct vamp_collect *collect, struct collect_run *run,
                      const Vampire__Telemetry__Message *message, const void *data, size_t bytes);
/* Whether a bucket with this number was collected; only recent ones are stored. */
bool collect_run_has(const struct collect_run *run, uint64_t number);
/* Records a collected bucket that ends at `end_ns`; numbers ascend. */
void collect_run_collected(struct collect_run *run, uint64_t number, uint64_t buckets,
                           int64_t end_ns);
/* Removes the first of its buckets that begins before `end_ns`; the caller frees it by
 * collect_pending_free. NULL: none. */
struct collect_pending *collect_run_next(struct collect_run *run, int64_t end_ns);
void collect_pending_free(struct vamp_collect *collect, struct collect_pending *pending);

/* ---- values.c */

/* 0, -EINVAL or -ENOMEM; collect_schema_done may be called in any case. */
VAMP_MUST_CHECK int collect_schema_init(struct vamp_collect *collect, struct vamp_err *err);
void collect_schema_done(struct vamp_collect *collect);
/* The series with these label values, in the order of the set; they are copied. At the limit or
 * without memory 0, which is counted. */
uint32_t collect_series(struct vamp_collect *collect, unsigned set,
                        const char *const labels[static VAMP_LABELS_MAX]);

/* Adds the rows of a message of the present run. */
void collect_values_add(struct vamp_collect *collect, const Vampire__Telemetry__Message *message);
/* Computes the weight after all runs were added. */
void collect_values_settle(struct vamp_collect *collect);
/* Adds a value of the collector itself. */
void collect_values_count(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          uint64_t delta);
void collect_values_gauge(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          int64_t value);
