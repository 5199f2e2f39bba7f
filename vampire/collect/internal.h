/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a collector. decode.c reads and judges a message; runs.c keeps the runs and their
 * messages until a bucket closes; values.c has the schema and adds what the messages of one bucket
 * contain to the bucket that is being made; collect.c closes it; present.c answers requests.
 */
#pragma once

#include "telemetry.pb-c.h"
#include "vampire/collect/collect.h"
#include "vampire/core/map.h"
#include "vampire/core/protobuf/arena.h"
#include "vampire/stats/bucket/merged.h"

#define COLLECT_PARTS_MAX 4096 /* messages of one bucket of a run */
#define COLLECT_GAPS_MAX 256   /* of one collected bucket; more are joined */
#define COLLECT_ID_BYTES 37    /* of a run: a UUID as text */

/* ---- runs */

/* A bucket of a run, as messages that wait for its close. */
struct collect_pending {
    struct collect_pending *next; /* in the order of the numbers */
    uint64_t number;
    int64_t start_ns;
    unsigned parts, arrived;
    struct collect_part {
        void *data; /* malloc'ed; NULL: not there yet */
        size_t bytes;
    } part[];
};

struct collect_run {
    struct map_link link;
    struct collect_run *next; /* in the order of the ids */
    char id[COLLECT_ID_BYTES];
    char *workflow;  /* malloc'ed */
    char *subject;   /* of its first message, malloc'ed; NULL: not known */
    uint32_t series; /* of collect_runs_reporting and _missing */
    bool has_series;
    unsigned pending_count;
    struct collect_pending *pending; /* ascending numbers */
    int64_t first_ns;                /* start of the first bucket that came */
    int64_t heard_ns;                /* the caller's time */
    bool said_end;                   /* its ending came */
    bool ended;                      /* that, or nothing was heard of it for too long */
    bool reported;                   /* in the bucket that is being closed */
    /* Of the buckets that were collected. */
    bool has_newest;
    uint64_t newest, after;         /* number of the newest, and the one that follows it */
    uint64_t collected;             /* bit i: number newest - i was collected */
    int64_t end_ns;                 /* of the newest */
    struct vamp_accounting account; /* of the newest that had one */
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

    struct vamp_coverage coverage; /* what one of the runs does not know */
    struct vamp_merged merged;     /* all metrics of the catalogue, in its order */
    struct map names;              /* struct collect_name: values of labels */
    struct collect_name *name_list;
    size_t name_bytes;
    struct vamp_bucket_histogram *histogram; /* room for all bins: the one that is being added */
    bool out_of_memory; /* some values of the bucket that is being closed could not be added */

    struct map runs; /* by id */
    struct collect_run *run_list;
    struct vamp_accounting past; /* of runs that were forgotten */
    struct vamp_output_account outputs[VAMP_OUTPUTS_MAX];
    unsigned output_count;

    bool started;
    int64_t next_ns; /* start of the oldest open bucket */
    uint64_t number; /* of the next bucket */
    struct vamp_gap gaps[COLLECT_GAPS_MAX];
    unsigned gap_count;
    const struct vamp_bucket *newest; /* held; NULL: none was closed */
};

/* ---- decode.c */

/* The message, in the collector's arena until the next call; NULL: `*ret_refusal` says why. */
const Vampire__Telemetry__Message *collect_decode(struct vamp_collect *collect, const void *data,
                                                  size_t bytes, enum vamp_refusal *ret_refusal);
/* The metric of the catalogue that the message's is, which is its place in our schema as well;
 * VAMP_METRIC_NONE: none is, as it is described. */
enum vamp_metric_id collect_metric(const Vampire__Telemetry__Metric *metric);

/* ---- runs.c */

/* The run with this id; NULL: it is not known. */
struct collect_run *collect_run_find(const struct vamp_collect *collect, const char *id);
/* The run of a message, which becomes known. NULL: `*ret_refusal` says why. */
struct collect_run *collect_run_meet(struct vamp_collect *collect,
                                     const Vampire__Telemetry__Message *message,
                                     const char *subject, int64_t now_ns,
                                     enum vamp_refusal *ret_refusal);
/* Forgets those that said their end some time ago, and counts the others. */
void collect_runs_review(struct vamp_collect *collect, int64_t now_ns);
/* The sum of all runs' accounts, and those of the outputs. */
void collect_runs_account(const struct vamp_collect *collect, struct vamp_accounting *ret_sum);
void collect_runs_done(struct vamp_collect *collect);
/* Keeps the message for the close of its bucket. */
void collect_run_keep(struct vamp_collect *collect, struct collect_run *run,
                      const Vampire__Telemetry__Message *message, const void *data, size_t bytes);
/* Whether a bucket of this number was collected, as far as that is remembered. */
bool collect_run_has(const struct collect_run *run, uint64_t number);
/* A bucket that ends at `end_ns` is collected; numbers ascend. */
void collect_run_collected(struct collect_run *run, uint64_t number, uint64_t buckets,
                           int64_t end_ns);
/* Takes the first of its buckets that begins before `end_ns`; the caller frees it by
 * collect_pending_free. NULL: none. */
struct collect_pending *collect_run_next(struct collect_run *run, int64_t end_ns);
void collect_pending_free(struct vamp_collect *collect, struct collect_pending *pending);

/* ---- values.c */

/* 0, -EINVAL or -ENOMEM; collect_schema_done is right after either. */
VAMP_MUST_CHECK int collect_schema_init(struct vamp_collect *collect, struct vamp_err *err);
void collect_schema_done(struct vamp_collect *collect);
/* The series with these values of labels, in the order of the set; they are copied. Without room or
 * memory: 0, and it is counted. */
uint32_t collect_series(struct vamp_collect *collect, unsigned set,
                        const char *const labels[static VAMP_LABELS_MAX]);

/* Adds the rows of a message of the present run. */
void collect_values_add(struct vamp_collect *collect, const Vampire__Telemetry__Message *message);
/* All runs were added: what follows from several metrics. */
void collect_values_settle(struct vamp_collect *collect);
/* A value of the collector itself. */
void collect_values_count(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          uint64_t delta);
void collect_values_gauge(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          int64_t value);
