/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of alarms in a run: evaluated when a bucket closes, before the outputs get it. */
#include <stdlib.h>

#include "vampire/run/pipeline_internal.h"

static void say_alarm(void *context, const char *line)
{
    struct pipeline *pipeline = context;
    vamp_status_say(&pipeline->status, "%s", line);
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
    const struct vamp_alarms_options options = {
        .configs = config->alarms,
        .count = config->alarm_count,
        .schema = vamp_stats_schema(stats),
        .context = &pipeline->alarm_context,
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
    const unsigned count = vamp_alarms_evaluate(pipeline->alarms, bucket, &changes);
    if (count > 0) {
        vamp_bucket_set_alarms(bucket, changes, count);
    }
}
