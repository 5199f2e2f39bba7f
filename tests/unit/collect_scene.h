/* SPDX-License-Identifier: BSD-3-Clause */
/* A collector, and messages for it as the format `nats` makes them. */
#pragma once

#include "tests/unit/writers_buckets.h"
#include "vampire/collect/collect.h"
#include "vampire/core/hash.h"
#include "writers/nats/messages.h"

#define WIDTH_NS (10 * MADE_WIDTH_NS)
#define DELAY_NS (2 * MADE_WIDTH_NS)
#define SECOND(n) (MADE_START_NS + (n)*MADE_WIDTH_NS)

/* ---- what comes out */

struct taken {
    const struct vamp_bucket *buckets[64];
    unsigned count;
};

static inline void take_bucket(void *context, const struct vamp_bucket *bucket)
{
    struct taken *taken = context;
    assert_true(taken->count < 64);
    taken->buckets[taken->count++] = bucket;
}

static inline struct vamp_collect_options common_options(void)
{
    return (struct vamp_collect_options){.bucket_ns = WIDTH_NS,
                                         .delay_ns = DELAY_NS,
                                         .forget_ns = 100 * WIDTH_NS,
                                         .max_runs = 16,
                                         .max_series = 4096,
                                         .max_message_bytes = 1024 * 1024,
                                         .max_waiting_bytes = 64 * 1024 * 1024,
                                         .sub_bits = VAMP_SUB_BITS_DEFAULT,
                                         .level = VAMP_LEVEL_COMPONENT,
                                         .series_space = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"};
}

struct scene {
    struct vamp_collect *collect;
    struct taken taken;
};

static inline void begin_with(struct scene *scene, const struct vamp_collect_options *options)
{
    struct vamp_err err = VAMP_ERR_NONE;
    *scene = (struct scene){.taken = {.count = 0}};
    assert_int_equal(
        vamp_collect_create(options, take_bucket, &scene->taken, &scene->collect, &err), 0);
    vamp_collect_advance(scene->collect, SECOND(0) + DELAY_NS);
}

static inline void begin(struct scene *scene)
{
    const struct vamp_collect_options options = common_options();
    begin_with(scene, &options);
}

static inline void end(struct scene *scene)
{
    for (unsigned i = 0; i < scene->taken.count; i++) {
        vamp_bucket_release(scene->taken.buckets[i]);
    }
    vamp_collect_free(scene->collect);
}

static inline uint64_t refused(const struct scene *scene, enum vamp_refusal refusal)
{
    return vamp_collect_counts(scene->collect)->refused[refusal];
}

static inline uint64_t all_refused(const struct scene *scene)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < VAMP_REFUSAL_COUNT; i++) {
        all += refused(scene, i);
    }
    return all;
}

/* ---- what goes in */

#define MESSAGES_MAX 512
struct messages {
    char *data[MESSAGES_MAX];
    size_t bytes[MESSAGES_MAX];
    unsigned count;
};

static inline void copy_messages(struct messages *all, const struct nats_messages *from)
{
    assert_false(from->text.failed);
    for (unsigned i = 0; i < from->count; i++) {
        const size_t start = i > 0 ? from->ends[i - 1] : 0;
        assert_true(all->count < MESSAGES_MAX);
        all->bytes[all->count] = from->ends[i] - start;
        all->data[all->count] = malloc(from->ends[i] - start);
        memcpy(all->data[all->count++], from->text.bytes + start, from->ends[i] - start);
    }
}

static inline void free_messages(struct messages *all)
{
    for (unsigned i = 0; i < all->count; i++) {
        free(all->data[i]);
    }
    all->count = 0;
}

/* A run with so many series; its id is of its number. */
static inline struct made_run *make_run(unsigned number, unsigned series)
{
    struct made_run *made = made_run_create(UINT64_MAX, series, series, 0);
    (void)snprintf(made->run.id, sizeof made->run.id, "%08u-2222-4333-8444-555555555555", number);
    made->run.workflow = number % 2 == 0 ? "forecast" : "ocean";
    return made;
}

static inline void add_delivery(struct messages *all, const struct vamp_run *run,
                                const struct vamp_bucket *bucket, uint64_t lost_before)
{
    struct nats_encoder *encoder = nats_encoder_create(run, bucket->schema, NATS_MESSAGE_BYTES_MIN);
    struct nats_messages messages = {.count = 0};
    const struct vamp_delivery delivery = {.bucket = bucket,
                                           .gaps = bucket->gaps,
                                           .gap_count = bucket->gap_count,
                                           .lost_before = lost_before};
    assert_non_null(encoder);
    nats_encode_bucket(encoder, &delivery, &messages);
    copy_messages(all, &messages);
    nats_messages_done(&messages);
    nats_encoder_free(encoder);
}

static inline void add_bucket(struct messages *all, const struct made_run *made, uint64_t number)
{
    const struct vamp_bucket *bucket = made_bucket(made, number, NULL);
    add_delivery(all, &made->run, bucket, 0);
    vamp_bucket_release(bucket);
}

static inline void add_ending(struct messages *all, const struct made_run *made)
{
    struct nats_encoder *encoder =
        nats_encoder_create(&made->run, &made->schema, NATS_MESSAGE_BYTES_MIN);
    struct nats_messages messages = {.count = 0};
    const struct vamp_ending ending = {.time_ns = SECOND(9), .reason = "finished"};
    nats_encode_ending(encoder, &ending, &messages);
    copy_messages(all, &messages);
    nats_messages_done(&messages);
    nats_encoder_free(encoder);
}

static inline void give(struct scene *scene, const struct messages *all, int64_t now_ns)
{
    for (unsigned i = 0; i < all->count; i++) {
        vamp_collect_message(scene->collect, NULL, all->data[i], all->bytes[i], now_ns);
    }
}

/* ---- values */

/* The series with these labels; UINT32_MAX: there is none. */
static inline unsigned find_series(const struct vamp_bucket *bucket, unsigned set,
                                   const char *const *labels)
{
    for (unsigned s = 0; s < bucket->series_count[set]; s++) {
        bool same = true;
        for (unsigned l = 0; l < bucket->schema->label_sets[set].label_count; l++) {
            same = same && labels[l] != NULL &&
                   strcmp(bucket->series[set][s]->labels[l], labels[l]) == 0;
        }
        if (same) {
            return s;
        }
    }
    return UINT32_MAX;
}

static inline int64_t gauge_of_run(const struct vamp_bucket *bucket, enum vamp_metric_id id,
                                   const struct made_run *made)
{
    const char *labels[VAMP_LABELS_MAX] = {made->run.workflow, made->run.id};
    const unsigned series = find_series(bucket, bucket->schema->metrics[id].label_set, labels);
    assert_true(series != UINT32_MAX);
    return bucket->values[id].gauges[series].value;
}

/* The values of a bucket, whatever the numbers of its series. */
static inline uint64_t digest(const struct vamp_bucket *bucket)
{
    uint64_t sum = bucket->accounting.received;
    for (unsigned m = 0; m < bucket->schema->metric_count; m++) {
        const unsigned set = bucket->schema->metrics[m].label_set;
        const struct vamp_metric_values *values = &bucket->values[m];
        const enum vamp_metric_kind kind = vamp_metrics[bucket->schema->metrics[m].id].kind;
        for (unsigned i = 0; i < values->count; i++) {
            const unsigned series = kind == VAMP_HISTOGRAM ? values->histograms[i].series : i;
            uint64_t hash = m;
            for (unsigned l = 0; l < bucket->schema->label_sets[set].label_count; l++) {
                const char *text = bucket->series[set][series]->labels[l];
                hash = vamp_hash_bytes(hash, text, strlen(text) + 1);
            }
            if (kind == VAMP_COUNTER) {
                hash = vamp_hash_bytes(hash, &values->counters[i], sizeof values->counters[i]);
            } else if (kind == VAMP_GAUGE) {
                hash = vamp_hash_bytes(hash, &values->gauges[i], sizeof values->gauges[i]);
            } else {
                const struct vamp_bucket_histogram *histogram = values->histograms[i].histogram;
                hash = vamp_hash_bytes(hash, &histogram->count, 4 * sizeof histogram->count);
                for (unsigned b = 0; b < histogram->bin_count; b++) {
                    hash = vamp_hash_word(hash, histogram->bins[b].bin);
                    hash = vamp_hash_word(hash, histogram->bins[b].count);
                }
            }
            sum += hash;
        }
    }
    return sum;
}
