/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/collect/collect.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/collect/internal.h"

/* What unpacking may need for each byte of a message. */
#define ARENA_PER_BYTE ((size_t)64)

/* ---- create and free */

static int check_options(const struct vamp_collect_options *options, struct vamp_err *err)
{
    if (options->bucket_ns <= 0 || options->delay_ns < 0 || options->forget_ns <= 0) {
        return vamp_err_set(err, -EINVAL, "a time of the collector is out of bounds");
    }
    if (options->max_runs == 0 || options->max_series < 2 || options->max_message_bytes == 0 ||
        options->max_message_bytes > SIZE_MAX / ARENA_PER_BYTE) {
        return vamp_err_set(err, -EINVAL, "a bound of the collector is out of bounds");
    }
    if (options->sub_bits < 2 || options->sub_bits > 4) {
        return vamp_err_set(err, -EINVAL, "bins of %u sub-bits: 2, 3 or 4", options->sub_bits);
    }
    return 0;
}

int vamp_collect_create(const struct vamp_collect_options *options, vamp_bucket_fn *take,
                        void *context, struct vamp_collect **ret_collect, struct vamp_err *err)
{
    int code = check_options(options, err);
    if (code != 0) {
        return code;
    }
    struct vamp_collect *collect = calloc(1, sizeof *collect);
    if (collect == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare to collect runs");
    }
    collect->options = *options;
    collect->take = take;
    collect->context = context;
    code = map_init(&collect->runs);
    code = code == 0 ? vamp_decode_arena_init(&collect->arena,
                                              options->max_message_bytes * ARENA_PER_BYTE, err)
                     : vamp_err_set_errno(err, ENOMEM, "prepare to collect runs");
    code = code == 0 ? collect_schema_init(collect, err) : code;
    collect->histogram = malloc(vamp_bucket_histogram_bytes(VAMP_BINS_MAX));
    if (code == 0 && collect->histogram == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "prepare to collect runs");
    }
    if (code != 0) {
        vamp_collect_free(collect);
        return code;
    }
    *ret_collect = collect;
    return 0;
}

void vamp_collect_free(struct vamp_collect *collect)
{
    if (collect == NULL) {
        return;
    }
    vamp_bucket_release(collect->newest);
    collect_runs_done(collect);
    free(collect->histogram);
    collect_schema_done(collect);
    vamp_decode_arena_done(&collect->arena);
    free(collect);
}

const struct vamp_schema *vamp_collect_schema(const struct vamp_collect *collect)
{
    return &collect->merged.schema;
}

const struct vamp_collect_counts *vamp_collect_counts(const struct vamp_collect *collect)
{
    return &collect->counts;
}

void vamp_collect_outputs(struct vamp_collect *collect, const struct vamp_output_account *outputs,
                          unsigned count)
{
    collect->output_count = count < VAMP_OUTPUTS_MAX ? count : VAMP_OUTPUTS_MAX;
    memcpy(collect->outputs, outputs, collect->output_count * sizeof *outputs);
}

/* ---- messages */

/* The oldest bucket that is not due yet. */
void collect_start(struct vamp_collect *collect, int64_t now_ns)
{
    if (!collect->started) {
        collect->next_ns = collect_begin_of(collect, now_ns - collect->options.delay_ns);
        collect->started = true;
    }
}

/* Whether a bucket of this time still waits for its close; else it is counted why not. */
static bool is_in_time(struct vamp_collect *collect, const Vampire__Telemetry__Message *message,
                       int64_t now_ns)
{
    struct vamp_collect_counts *counts = &collect->counts;
    const struct collect_run *run = collect_run_find(collect, message->run->id);
    if (run != NULL && collect_run_has(run, message->number)) {
        counts->repeated++;
    } else if (message->start_ns < collect->next_ns) {
        counts->refused[VAMP_REFUSAL_LATE]++;
    } else if (message->start_ns - now_ns >
               collect->options.bucket_ns + collect->options.delay_ns) {
        counts->refused[VAMP_REFUSAL_EARLY]++;
    } else {
        return true;
    }
    return false;
}

static void end_run(struct vamp_collect *collect, const char *id, int64_t now_ns)
{
    struct collect_run *run = collect_run_find(collect, id);
    if (run == NULL) {
        return; /* it was never seen, or was forgotten since */
    }
    if (run->said_end) {
        collect->counts.repeated++;
        return;
    }
    collect->counts.runs_live -= !run->ended;
    collect->counts.runs_ended += !run->ended;
    run->said_end = true;
    run->ended = true;
    run->heard_ns = now_ns;
}

void vamp_collect_message(struct vamp_collect *collect, const void *data, size_t bytes,
                          int64_t now_ns)
{
    struct vamp_collect_counts *counts = &collect->counts;
    enum vamp_refusal refusal = VAMP_REFUSAL_GARBAGE;
    counts->messages++;
    collect_start(collect, now_ns);
    const Vampire__Telemetry__Message *message = collect_decode(collect, data, bytes, &refusal);
    if (message == NULL) {
        counts->refused[refusal]++;
    } else if (message->parts == 0) {
        end_run(collect, message->run->id, now_ns);
    } else if (is_in_time(collect, message, now_ns)) {
        struct collect_run *run = collect_run_meet(collect, message, now_ns, &refusal);
        if (run == NULL) {
            counts->refused[refusal]++;
        } else {
            collect_run_keep(collect, run, message, data, bytes);
        }
    }
}
