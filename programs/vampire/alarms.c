/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of alarms in a run: evaluated when a bucket closes, before the outputs get it. */
#include <stdlib.h>

#include "programs/vampire/internal.h"

static void say_alarm(void *context, const char *line)
{
    struct pipeline *pipeline = context;
    vamp_status_say(&pipeline->status, "%s", line);
}

static void read_silences(struct pipeline *pipeline)
{
    const char *path = pipeline->config->silences;
    struct vamp_err err = VAMP_ERR_NONE;
    if (path == NULL || !pipeline->first->source->is_live) {
        return; /* a recording is of another time */
    }
    if (vamp_silences_read(&pipeline->silences, path, &err) != 0) {
        vamp_status_error(&pipeline->status, "%s; the silences stay as they were", err.text);
    } else {
        vamp_status_say(&pipeline->status, "%u silences of alarms are in %s",
                        pipeline->silences.count, path);
    }
}

void pipeline_silence_if_asked(struct pipeline *pipeline)
{
    const unsigned asked = atomic_load(&pipeline->options->signals->silence);
    if (asked != pipeline->silences_seen) {
        pipeline->silences_seen = asked;
        read_silences(pipeline);
    }
}

int pipeline_create_alarms(struct pipeline *pipeline, const struct vamp_config *config,
                           const struct vamp_stats *stats, struct vamp_alarms **ret_alarms,
                           struct vamp_err *err)
{
    *ret_alarms = NULL;
    if (config->alarm_count == 0) {
        return 0;
    }
    pipeline->alarm_context = (struct vamp_alarm_action_context){
        .say = say_alarm,
        .say_context = pipeline,
        .run_id = pipeline->run->id,
        .services = pipeline->services,
    };
    if (pipeline->alarms == NULL) {
        read_silences(pipeline);
    }
    const struct vamp_alarms_options options = {
        .configs = config->alarms,
        .count = config->alarm_count,
        .schema = vamp_stats_schema(stats),
        .context = &pipeline->alarm_context,
        .silences = &pipeline->silences,
        .replayed = !pipeline->first->source->is_live,
    };
    return vamp_alarms_create(&options, ret_alarms, err);
}

void pipeline_evaluate_alarms(struct pipeline *pipeline, const struct vamp_bucket *bucket)
{
    if (pipeline->alarms == NULL) {
        return;
    }
    struct vamp_alarm_change *changes = NULL;
    const unsigned count = vamp_alarms_evaluate(pipeline->alarms, bucket,
                                                vamp_clock_utc_ns(pipeline->clock), &changes);
    if (count > 0) {
        vamp_bucket_set_alarms(bucket, changes, count);
    }
    /* Of this bucket, for the next one: this one is complete. */
    vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_ALARMS_FIRING, 0,
                    (int64_t)vamp_alarms_firing(pipeline->alarms));
    vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_ALARMS_FIRED, 0,
                    (int64_t)(pipeline->fired_before + vamp_alarms_fired(pipeline->alarms)));
}
