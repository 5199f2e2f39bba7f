/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary at the end of a run, from what the run still has. */
#include "programs/run/summary.h"
#include "programs/vampire/internal.h"

static const struct vamp_component *row_of(const void *components, size_t row)
{
    return vamp_components_row(components, row);
}

struct filters {
    vamp_summary_filter_fn *each;
    void *of_each;
};

static void show_if_without_match(void *context, struct vamp_filter_use *use)
{
    const struct filters *filters = context;
    if (use->seen > 0 && use->passed == 0) {
        filters->each(filters->of_each,
                      &(struct vamp_summary_filter){.path = use->path, .seen = use->seen});
    }
}

static void each_filter(const void *context, vamp_summary_filter_fn *each, void *of_each)
{
    struct filters filters = {each, of_each};
    pipeline_filters(context, show_if_without_match, &filters);
}

void pipeline_print_summary(const struct pipeline *pipeline, const struct vamp_totals *totals,
                            const char *reason, const struct vamp_action_account *actions,
                            FILE *stream)
{
    struct vamp_summary_output outputs[VAMP_OUTPUTS_MAX];
    char state[128];
    (void)snprintf(state, sizeof state, "%s after", reason);
    vamp_summary_of_outputs(&pipeline->outputs, outputs);
    vamp_summary_print(
        stream, &(struct vamp_summary){
                    .workflow = pipeline->run->workflow,
                    .state = state,
                    .duration_ns =
                        (uint64_t)(vamp_clock_monotonic_ns(pipeline->clock) - pipeline->began_ns),
                    .totals = totals,
                    .bins = &vamp_stats_schema(pipeline->stats)->bins,
                    .component = row_of,
                    .components = pipeline->components,
                    .component_count = vamp_components_count(pipeline->components),
                    .outputs = outputs,
                    .output_count = pipeline->outputs.count,
                    .alarms = pipeline->alarms,
                    .actions = actions,
                    .filter_cut = pipeline_filter_cut(pipeline),
                    .filters = each_filter,
                    .filters_context = pipeline,
                });
}
