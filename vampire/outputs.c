/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/outputs.h"

#include <time.h>

#include "vampire/core/clock.h"

/* How long the outputs together may take to write what waits when the run is over. */
#define FINISH_NS (30 * VAMP_NS_PER_SECOND)
/* Between two looks whether an output has room. */
#define ROOM_NS 200000

static int open_one(struct vamp_output *output, const struct vamp_config *config, unsigned number,
                    struct vamp_writer_target *target, const struct vamp_clock *clock,
                    struct vamp_err *err)
{
    const struct vamp_config_output *chosen = &config->outputs[number];
    output->queue_length = chosen->sink.queue_length;
    if (chosen->ops->events == NULL) {
        return vamp_sink_create(chosen->ops, chosen->options, &chosen->sink, target->run,
                                target->schema, clock, &output->buckets, err);
    }
    target->name = chosen->sink.name;
    target->event_kinds = config->event_kinds;
    return vamp_event_sink_create(chosen->ops, chosen->options, target, &output->events, err);
}

int vamp_outputs_open(struct vamp_outputs *outputs, const struct vamp_config *config,
                      const struct vamp_run *run, const struct vamp_schema *schema,
                      const struct vamp_clock *clock, struct vamp_err *err)
{
    *outputs = (struct vamp_outputs){0};
    for (unsigned i = 0; i < config->output_count; i++) {
        struct vamp_writer_target target = {.run = run, .schema = schema, .segment = 1};
        int status = open_one(&outputs->items[i], config, i, &target, clock, err);
        if (status != 0) {
            vamp_outputs_done(outputs);
            return status;
        }
        outputs->count++;
    }
    return 0;
}

static bool is_crowded(const struct vamp_output *output)
{
    if (output->events != NULL) {
        return vamp_event_sink_crowded(output->events);
    }
    struct vamp_output_account account;
    vamp_sink_account(output->buckets, &account);
    return account.waiting >= output->queue_length;
}

/* A source that can wait must lose nothing at full speed. */
static void wait_for_room(const struct vamp_outputs *outputs, struct vamp_output *output)
{
    const struct timespec pause = {.tv_nsec = ROOM_NS};
    int64_t left_ns = VAMP_OUTPUTS_PATIENCE_NS;
    while (outputs->patient && !output->stuck && is_crowded(output) &&
           atomic_load(outputs->stop) == 0) {
        (void)nanosleep(&pause, NULL);
        left_ns -= ROOM_NS;
        output->stuck = left_ns <= 0;
    }
}

void vamp_outputs_record(struct vamp_outputs *outputs, const struct vamp_event *event, bool passed)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        if (outputs->items[i].events != NULL) {
            wait_for_room(outputs, &outputs->items[i]);
            vamp_event_sink_record(outputs->items[i].events, event, passed);
        }
    }
}

void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        if (outputs->items[i].buckets != NULL) {
            wait_for_room(outputs, &outputs->items[i]);
            vamp_sink_submit(outputs->items[i].buckets, vamp_bucket_hold(bucket));
        }
    }
    vamp_bucket_release(bucket);
}

void vamp_output_account(const struct vamp_output *output, struct vamp_output_account *ret_account)
{
    if (output->buckets != NULL) {
        vamp_sink_account(output->buckets, ret_account);
    } else {
        vamp_event_sink_account(output->events, ret_account);
    }
}

void vamp_output_paths(const struct vamp_output *output,
                       void (*each)(void *context, const char *path), void *context)
{
    if (output->buckets != NULL) {
        vamp_sink_paths(output->buckets, each, context);
    } else {
        each(context, vamp_event_sink_path(output->events));
    }
}

static bool take_failure(const struct vamp_output *output, struct vamp_err *ret_err)
{
    return output->buckets != NULL ? vamp_sink_failure(output->buckets, ret_err)
                                   : vamp_event_sink_failure(output->events, ret_err);
}

void vamp_outputs_report(struct vamp_outputs *outputs, struct vamp_stats *stats,
                         struct vamp_status *status)
{
    struct vamp_output_account accounts[VAMP_OUTPUTS_MAX];
    for (unsigned i = 0; i < outputs->count; i++) {
        const struct vamp_output *output = &outputs->items[i];
        vamp_output_account(output, &accounts[i]);
        vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_QUEUE_HIGH_WATER, i,
                        (int64_t)accounts[i].waiting);
        int64_t commit_ns = output->buckets != NULL ? vamp_sink_commit_ns(output->buckets) : 0;
        if (commit_ns > 0) {
            vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_COMMIT_NS, i, commit_ns);
        }
        struct vamp_err failure;
        if (take_failure(output, &failure)) {
            outputs->failed = true;
            vamp_status_error(status, "output %s: %s", accounts[i].name, failure.text);
        }
    }
    vamp_stats_outputs(stats, accounts, outputs->count);
}

static int finish_one(const struct vamp_output *output, const struct vamp_ending *ending,
                      struct vamp_err *err)
{
    return output->buckets != NULL
               ? vamp_sink_finish(output->buckets, ending, FINISH_NS, err)
               : vamp_event_sink_finish(output->events, ending, FINISH_NS, err);
}

int vamp_outputs_finish(struct vamp_outputs *outputs, const struct vamp_ending *ending,
                        struct vamp_status *status)
{
    int first = 0;
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        int result = finish_one(&outputs->items[i], ending, &err);
        if (result != 0) {
            struct vamp_output_account account;
            vamp_output_account(&outputs->items[i], &account);
            vamp_status_error(status, "output %s: %s", account.name, err.text);
            first = first == 0 ? result : first;
        }
    }
    return first;
}

void vamp_outputs_done(struct vamp_outputs *outputs)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        vamp_sink_free(outputs->items[i].buckets);
        vamp_event_sink_free(outputs->items[i].events);
        outputs->items[i] = (struct vamp_output){0};
    }
    outputs->count = 0;
}
