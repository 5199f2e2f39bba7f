/* SPDX-License-Identifier: BSD-3-Clause */
/* An output with a format that does what a script says (write, refuse, fail, block) and notes what
 * it was given. */
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/finish_output.h"
#include "tests/unit/writers_buckets.h"
#include "writers/output/output.h"

#define LONG_NS (20 * VAMP_NS_PER_SECOND)
#define LOG_MAX 256

/* What the scripted writer saw, and its script. Shared by its instances through `options`. */
struct script {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int results[LOG_MAX]; /* of the n-th write, 0 beyond result_count */
    unsigned result_count;
    int open_results[LOG_MAX];
    unsigned open_result_count;
    int close_result;
    bool blocked; /* writes wait until it is cleared */
    bool inside;  /* a write is waiting */
    uint64_t bytes_per_bucket;

    unsigned writes, opens, closes, endings, last_segment;
    uint64_t numbers[LOG_MAX]; /* buckets written well, in order */
    unsigned segments[LOG_MAX];
    unsigned number_count;
    unsigned components[LOG_MAX], gaps[LOG_MAX]; /* delivered with them */
    uint64_t lost_before[LOG_MAX], buckets[LOG_MAX], received[LOG_MAX];
    struct vamp_counter_value counters[LOG_MAX]; /* of the first series of the first counter */
    struct vamp_output_account at_end;
};

struct scripted {
    struct script *script;
    unsigned segment;
    uint64_t bytes;
};

static inline int scripted_open(const void *options, const struct vamp_writer_target *target,
                                void **ret_self, struct vamp_err *err)
{
    struct script *script = *(struct script *const *)options;
    (void)pthread_mutex_lock(&script->lock);
    unsigned n = script->opens++;
    int code = n < script->open_result_count ? script->open_results[n] : 0;
    if (code == 0) {
        script->last_segment = target->segment;
        struct scripted *self = calloc(1, sizeof *self);
        *self = (struct scripted){.script = script, .segment = target->segment};
        *ret_self = self;
    }
    (void)pthread_mutex_unlock(&script->lock);
    return code == 0 ? 0 : vamp_err_set(err, code, "scripted open failure");
}

/* The first counter's place. */
static inline unsigned scripted_counter(const struct vamp_schema *schema)
{
    unsigned place = 0;
    while (vamp_metrics[schema->metrics[place].id].kind != VAMP_COUNTER) {
        place++;
    }
    return place;
}

static inline int scripted_write(void *context, const struct vamp_delivery *delivery,
                                 struct vamp_err *err)
{
    struct scripted *self = context;
    struct script *script = self->script;
    (void)pthread_mutex_lock(&script->lock);
    script->inside = true;
    (void)pthread_cond_broadcast(&script->changed);
    while (script->blocked) {
        (void)pthread_cond_wait(&script->changed, &script->lock);
    }
    script->inside = false;
    unsigned n = script->writes++;
    int code = n < script->result_count ? script->results[n] : 0;
    if (code == 0 && script->number_count < LOG_MAX) {
        unsigned at = script->number_count++;
        script->numbers[at] = delivery->bucket->number;
        script->segments[at] = self->segment;
        script->components[at] = delivery->component_count;
        script->gaps[at] = delivery->gap_count;
        script->lost_before[at] = delivery->lost_before;
        script->buckets[at] = delivery->bucket->buckets;
        script->received[at] = delivery->bucket->accounting.received;
        script->counters[at] =
            delivery->bucket->values[scripted_counter(delivery->bucket->schema)].counters[0];
        self->bytes += script->bytes_per_bucket;
    }
    (void)pthread_mutex_unlock(&script->lock);
    return code == 0 ? 0 : vamp_err_set(err, code, "scripted write failure");
}

static inline uint64_t scripted_bytes(const void *self)
{
    return ((const struct scripted *)self)->bytes;
}

static inline const char *scripted_path(const void *self)
{
    static const char *const paths[] = {"zero", "one", "two", "three", "four"};
    unsigned segment = ((const struct scripted *)self)->segment;
    return paths[segment < 5 ? segment : 0];
}

static inline int scripted_close(void *context, const struct vamp_ending *ending,
                                 struct vamp_err *err)
{
    struct scripted *self = context;
    if (self == NULL) {
        return 0;
    }
    struct script *script = self->script;
    (void)pthread_mutex_lock(&script->lock);
    script->closes++;
    if (ending != NULL) {
        script->endings++;
        script->at_end = ending->accounting.outputs[0];
    }
    int code = script->close_result;
    (void)pthread_mutex_unlock(&script->lock);
    free(self);
    return code == 0 ? 0 : vamp_err_set(err, code, "scripted close failure");
}

static const struct vamp_opt no_options[] = {{.key = NULL}};
static const struct vamp_writer_ops scripted_ops = {.name = "scripted",
                                                    .summary = "for tests",
                                                    .options = no_options,
                                                    .open = scripted_open,
                                                    .element = VAMP_ELEMENT_BUCKET,
                                                    .write_bucket = scripted_write,
                                                    .bytes = scripted_bytes,
                                                    .path = scripted_path,
                                                    .close = scripted_close};

struct bench {
    struct script script;
    struct script *options;
    struct made_run *made;
    struct vamp_output *output;
    unsigned submitted, destroyed;
};

static inline int create(struct bench *bench, const struct vamp_output_settings *settings,
                         struct vamp_err *err)
{
    const struct vamp_output_context context = {
        .run = &bench->made->run,
        .schema = &bench->made->schema,
        .clock = &vamp_clock_system,
    };
    bench->options = &bench->script;
    return vamp_output_create(&scripted_ops, &bench->options, settings, &context, &bench->output,
                              err);
}

static inline void start(struct bench *bench, const struct vamp_output_settings *settings)
{
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(create(bench, settings, &err), 0);
}

static inline int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    (void)pthread_mutex_init(&bench->script.lock, NULL);
    (void)pthread_cond_init(&bench->script.changed, NULL);
    bench->made = made_run_create(VAMP_SET_SELF, 8, 1, 0);
    *state = bench;
    return 0;
}

static inline int teardown(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(bench->destroyed, bench->submitted); /* no hold was kept or lost */
    made_run_free(bench->made);
    (void)pthread_cond_destroy(&bench->script.changed);
    (void)pthread_mutex_destroy(&bench->script.lock);
    free(bench);
    return 0;
}

static inline struct vamp_output_account account(struct bench *bench)
{
    struct vamp_output_account account;
    vamp_output_account(bench->output, &account);
    assert_int_equal(account.queued, account.written + account.lost + account.waiting);
    return account;
}

static inline void submit(struct bench *bench, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct vamp_bucket *bucket =
            made_bucket(bench->made, bench->submitted++, &bench->destroyed);
        vamp_output_bucket(bench->output, bucket);
        vamp_bucket_release(bucket);
        (void)account(bench);
    }
}

/* A condition with a deadline, never a time. */
static inline void await_written(struct bench *bench, uint64_t written)
{
    for (unsigned i = 0; account(bench).written < written; i++) {
        assert_true(i < 100000);
        (void)usleep(200);
    }
}

static inline int finish(struct bench *bench, int64_t deadline_ns, struct vamp_err *err)
{
    const struct vamp_ending ending = {
        .reason = "finished", .accounting = {.outputs = {{.name = "out"}}, .output_count = 1}};
    return finish_output(bench->output, &ending, deadline_ns, err);
}

static inline void finish_well(struct bench *bench)
{
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(finish(bench, LONG_NS, &err), 0);
    assert_int_equal(account(bench).waiting, 0);
    assert_int_equal(bench->script.endings, 1);
    assert_int_equal(bench->script.at_end.written, bench->submitted);
    vamp_output_free(bench->output);
}

static inline void fail_writes(struct bench *bench, const int *results, unsigned count)
{
    memcpy(bench->script.results, results, count * sizeof *results);
    bench->script.result_count = count;
}

static inline void set_blocked(struct bench *bench, bool blocked)
{
    (void)pthread_mutex_lock(&bench->script.lock);
    bench->script.blocked = blocked;
    (void)pthread_cond_broadcast(&bench->script.changed);
    (void)pthread_mutex_unlock(&bench->script.lock);
}

static inline void await_inside(struct bench *bench)
{
    (void)pthread_mutex_lock(&bench->script.lock);
    while (!bench->script.inside) {
        (void)pthread_cond_wait(&bench->script.changed, &bench->script.lock);
    }
    (void)pthread_mutex_unlock(&bench->script.lock);
}

static char name[] = "out";
static const struct vamp_output_settings plain = {.name = name, .queue = 64};
