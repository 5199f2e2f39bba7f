/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/outputs.h"

#include "vampire/core/clock.h"

/* How long the outputs together may take to write what waits when the run is over. */
#define FINISH_NS (30 * VAMP_NS_PER_SECOND)

int vamp_outputs_open(struct vamp_outputs *outputs, const struct vamp_config *config,
                      const struct vamp_run *run, const struct vamp_schema *schema,
                      const struct vamp_clock *clock, struct vamp_err *err)
{
    *outputs = (struct vamp_outputs){0};
    for (unsigned i = 0; i < config->output_count; i++) {
        const struct vamp_config_output *output = &config->outputs[i];
        int status = vamp_sink_create(output->ops, output->options, &output->sink, run, schema,
                                      clock, &outputs->sinks[i], err);
        if (status != 0) {
            vamp_outputs_done(outputs);
            return status;
        }
        outputs->count++;
    }
    return 0;
}

void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        vamp_sink_submit(outputs->sinks[i], vamp_bucket_hold(bucket));
    }
    vamp_bucket_release(bucket);
}

void vamp_outputs_report(struct vamp_outputs *outputs, struct vamp_stats *stats,
                         struct vamp_status *status)
{
    struct vamp_output_account accounts[VAMP_OUTPUTS_MAX];
    for (unsigned i = 0; i < outputs->count; i++) {
        vamp_sink_account(outputs->sinks[i], &accounts[i]);
        vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_QUEUE_HIGH_WATER, i,
                        (int64_t)accounts[i].waiting);
        int64_t commit_ns = vamp_sink_commit_ns(outputs->sinks[i]);
        if (commit_ns > 0) {
            vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_COMMIT_NS, i, commit_ns);
        }
        struct vamp_err failure;
        if (vamp_sink_failure(outputs->sinks[i], &failure)) {
            outputs->failed = true;
            vamp_status_error(status, "output %s: %s", accounts[i].name, failure.text);
        }
    }
    vamp_stats_outputs(stats, accounts, outputs->count);
}

int vamp_outputs_finish(struct vamp_outputs *outputs, const struct vamp_ending *ending,
                        struct vamp_status *status)
{
    int first = 0;
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        int result = vamp_sink_finish(outputs->sinks[i], ending, FINISH_NS, &err);
        if (result != 0) {
            struct vamp_output_account account;
            vamp_sink_account(outputs->sinks[i], &account);
            vamp_status_error(status, "output %s: %s", account.name, err.text);
            first = first == 0 ? result : first;
        }
    }
    return first;
}

void vamp_outputs_done(struct vamp_outputs *outputs)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        vamp_sink_free(outputs->sinks[i]);
        outputs->sinks[i] = NULL;
    }
    outputs->count = 0;
}
