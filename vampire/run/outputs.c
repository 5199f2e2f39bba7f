/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/run/outputs.h"

#include <inttypes.h>
#include <time.h>

#include "vampire/core/clock.h"

/* How long an output may take to write what waits when the run is over; up to WAITING_USUAL buckets
 * wait at the end of any run. */
#define WAITING_USUAL 2
#define FINISH_NS (30 * VAMP_NS_PER_SECOND)
/* Between two looks whether an output has room. */
#define ROOM_NS 200000

/* Another process, or a rotation under way, may have taken the name. */
#define SEGMENTS_TRIED 16

static int open_buckets(struct vamp_output *output, const struct vamp_config_output *chosen,
                        const struct vamp_outputs_context *context, struct vamp_err *err)
{
    struct vamp_sink_options options = chosen->sink;
    options.segments_before = output->first_segment - 1;
    output->queue_length = options.queue_length;
    const struct vamp_schema *schema = context->schema;
    if (chosen->settings.metrics.count > 0 || chosen->settings.series.count > 0) {
        const struct vamp_pick_choice choice = {
            .metrics = &chosen->settings.metrics,
            .series = &chosen->settings.series,
        };
        /* Those in the queue, one being written, one being submitted. */
        int status =
            vamp_pick_create(&choice, schema, options.queue_length + 2, &output->pick, err);
        if (status != 0) {
            return status;
        }
        schema = vamp_pick_schema(output->pick);
    }
    const struct vamp_sink_surroundings surroundings = {
        .run = context->run,
        .schema = schema,
        .clock = context->clock,
    };
    return vamp_sink_create(chosen->ops, chosen->options, &options, &surroundings, &output->buckets,
                            err);
}

static int open_events(struct vamp_output *output, const struct vamp_config *config,
                       const struct vamp_config_output *chosen,
                       const struct vamp_outputs_context *context, struct vamp_err *err)
{
    if (chosen->settings.filter != NULL) {
        int status = vamp_event_filter_compile(chosen->settings.filter, VAMP_FILTER_INSIDE,
                                               config->named, &output->filter, err);
        if (status != 0) {
            return status;
        }
    }
    const struct vamp_writer_target target = {
        .run = context->run,
        .schema = context->schema,
        .segment = output->first_segment,
        .name = chosen->sink.name,
        .event_kinds = config->event_kinds,
    };
    const struct vamp_event_sink_options rotation = {
        .rotate_bytes = chosen->sink.rotate_bytes,
        .rotate_ns = chosen->sink.rotate_ns,
        .present = context->present,
    };
    return vamp_event_sink_create(chosen->ops, chosen->options, &rotation, &target, &output->events,
                                  err);
}

static void output_done(struct vamp_output *output)
{
    vamp_sink_free(output->buckets);
    vamp_event_sink_free(output->events);
    if (!output->left_behind) {
        vamp_pick_free(output->pick);
    }
    vamp_event_filter_free(output->filter);
    vamp_paths_done(&output->paths_before);
    *output = (struct vamp_output){0};
}

static int open_one(struct vamp_output *output, const struct vamp_config *config, unsigned number,
                    const struct vamp_outputs_context *context, unsigned first_segment,
                    struct vamp_err *err)
{
    const struct vamp_config_output *chosen = &config->outputs[number];
    int status = -EEXIST;
    const unsigned tries = first_segment > 1 ? SEGMENTS_TRIED : 1;
    for (unsigned i = 0; i < tries && status == -EEXIST; i++) {
        *output = (struct vamp_output){.first_segment = first_segment + i};
        status = chosen->ops->events == NULL ? open_buckets(output, chosen, context, err)
                                             : open_events(output, config, chosen, context, err);
        if (status != 0) {
            output_done(output);
        }
    }
    return status;
}

/* The number of the newest file of all. */
static unsigned newest_segment(const struct vamp_outputs *outputs)
{
    unsigned newest = 0;
    for (unsigned i = 0; outputs != NULL && i < outputs->count; i++) {
        const struct vamp_output *output = &outputs->items[i];
        unsigned segment = output->buckets != NULL ? vamp_sink_segment(output->buckets)
                                                   : vamp_event_sink_segment(output->events);
        newest = segment > newest ? segment : newest;
    }
    return newest;
}

int vamp_outputs_open(struct vamp_outputs *outputs, const struct vamp_config *config,
                      const struct vamp_outputs_context *context, const struct vamp_outputs *before,
                      struct vamp_err *err)
{
    *outputs = (struct vamp_outputs){.components = context->components};
    const unsigned first_segment = newest_segment(before) + 1;
    for (unsigned i = 0; i < config->output_count; i++) {
        int status = open_one(&outputs->items[i], config, i, context, first_segment, err);
        if (status != 0) {
            vamp_outputs_done(outputs);
            return status;
        }
        outputs->count++;
    }
    return 0;
}

static void add_path(void *context, const char *path)
{
    vamp_paths_add(context, path);
}

void vamp_outputs_continue(struct vamp_outputs *outputs, const struct vamp_outputs *before)
{
    for (unsigned i = 0; i < outputs->count && i < before->count; i++) {
        struct vamp_output *output = &outputs->items[i];
        vamp_output_account(&before->items[i], &output->before);
        struct vamp_paths *paths = &output->paths_before;
        const size_t in_all = vamp_output_paths(&before->items[i], add_path, paths);
        paths->left_out = in_all - paths->count;
    }
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

static bool wants(const struct vamp_outputs *outputs, const struct vamp_output *output,
                  const struct vamp_event *event)
{
    return output->filter == NULL || vamp_event_is_mark(event) || event->kind == VAMP_EVENT_JOIN ||
           event->kind == VAMP_EVENT_LEAVE ||
           vamp_event_filter_match(output->filter, event, outputs->components);
}

void vamp_outputs_record(struct vamp_outputs *outputs, const struct vamp_event *event, bool passed)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output *output = &outputs->items[i];
        if (output->events != NULL && wants(outputs, output, event)) {
            wait_for_room(outputs, output);
            vamp_event_sink_record(output->events, event, passed);
        }
    }
}

static void submit(struct vamp_outputs *outputs, struct vamp_output *output,
                   const struct vamp_bucket *bucket)
{
    const struct vamp_bucket *own =
        output->pick != NULL ? vamp_pick_bucket(output->pick, bucket) : vamp_bucket_hold(bucket);
    if (own != NULL) {
        vamp_sink_submit(output->buckets, own);
    } else {
        outputs->failed = true; /* the sink holds more than it says */
    }
}

void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output *output = &outputs->items[i];
        if (output->buckets != NULL) {
            wait_for_room(outputs, output);
            submit(outputs, output, bucket);
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
    ret_account->queued += output->before.queued;
    ret_account->written += output->before.written;
    ret_account->lost += output->before.lost;
}

size_t vamp_output_paths(const struct vamp_output *output,
                         void (*each)(void *context, const char *path), void *context)
{
    const size_t before = vamp_paths_each(&output->paths_before, each, context);
    return before + (output->buckets != NULL
                         ? vamp_sink_paths(output->buckets, each, context)
                         : vamp_event_sink_paths(output->events, each, context));
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
        char remark[VAMP_ERR_TEXT_BYTES];
        if (output->buckets != NULL && vamp_sink_remark(output->buckets, remark)) {
            vamp_status_say(status, "output %s: %s", accounts[i].name, remark);
        }
    }
    vamp_stats_outputs(stats, accounts, outputs->count);
}

static int finish_one(const struct vamp_output *output, const struct vamp_ending *ending,
                      struct vamp_err *err)
{
    return output->buckets != NULL ? vamp_sink_finish(output->buckets, ending, FINISH_NS, err)
                                   : vamp_event_sink_finish(output->events, ending, FINISH_NS, err);
}

/* A person who waits for the end is told what for. */
static void tell_waiting(const struct vamp_output *output, struct vamp_status *status)
{
    struct vamp_output_account account;
    vamp_output_account(output, &account);
    if (output->buckets != NULL && account.waiting > WAITING_USUAL) {
        vamp_status_say(status,
                        "output %s: %" PRIu64 " buckets are still to be written, for at most %d s",
                        account.name, account.waiting, (int)(FINISH_NS / VAMP_NS_PER_SECOND));
    }
}

int vamp_outputs_finish(struct vamp_outputs *outputs, const struct vamp_ending *ending,
                        struct vamp_status *status)
{
    int first = 0;
    for (unsigned i = 0; i < outputs->count; i++) {
        tell_waiting(&outputs->items[i], status);
        struct vamp_err err = VAMP_ERR_NONE;
        int result = finish_one(&outputs->items[i], ending, &err);
        if (result != 0) {
            struct vamp_output_account account;
            vamp_output_account(&outputs->items[i], &account);
            vamp_status_error(status, "output %s: %s", account.name, err.text);
            first = first == 0 ? result : first;
            outputs->items[i].left_behind = result == -ETIMEDOUT;
        }
    }
    return first;
}

void vamp_outputs_done(struct vamp_outputs *outputs)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        output_done(&outputs->items[i]);
    }
    outputs->count = 0;
}
