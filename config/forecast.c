/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates, without a run, how many lines outputs with a budget write. */
#include <inttypes.h>

#include "config/internal.h"
#include "writers/output/resolution.h"

static const unsigned sizes[] = {4, 60, 500}; /* numbers of components */
#define SIZE_COUNT (sizeof sizes / sizeof sizes[0])

/* Returns the number of series with these labels if half of the components are producers and all
 * others consume all data, over one tier; this is an upper limit for other workflows. */
static uint64_t series_of(uint32_t labels, unsigned components)
{
    uint64_t series = 1;
    for (unsigned label = 0; label < VAMP_LABEL_COUNT; label++) {
        if ((labels & UINT32_C(1) << label) == 0) {
            continue;
        }
        if (label == VAMP_LABEL_SOURCE || label == VAMP_LABEL_SINK ||
            label == VAMP_LABEL_PRODUCER || label == VAMP_LABEL_CONSUMER) {
            series *= components / 2;
        } else if (label == VAMP_LABEL_COMPONENT) {
            const bool is_paired = (labels & (UINT32_C(1) << VAMP_LABEL_PRODUCER |
                                              UINT32_C(1) << VAMP_LABEL_CONSUMER)) != 0;
            series *= is_paired ? components / 2 : components;
        } else if (label == VAMP_LABEL_OPERATION || label == VAMP_LABEL_SIZE_CLASS ||
                   vamp_label_is_attribute(label)) {
            series *= 5;
        } else if (label == VAMP_LABEL_PART) {
            series *= VAMP_WAIT_PART_COUNT - 1;
        } else if (label == VAMP_LABEL_GROUP) {
            series *= VAMP_GROUP_COUNT * (VAMP_WEIGHTED_METRIC_COUNT - 1);
        }
    }
    return series;
}

static uint64_t lines_of(const struct vamp_config *config, const struct vamp_config_output *output,
                         const struct vamp_writer_ops *functions, unsigned components)
{
    const struct vamp_stats_options *statistics = &config->statistics;
    const struct vamp_output_settings *settings = &output->settings;
    struct vamp_bins bins;
    vamp_bins_init(&bins, statistics->sub_bits);
    uint64_t lines = 0;
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        const struct vamp_metric *metric = &vamp_metrics[id];
        if (vamp_stats_wants(statistics, (enum vamp_metric_id)id) &&
            (settings->metrics.count == 0 ||
             vamp_resolution_wants(&settings->metrics, metric->name))) {
            const uint32_t labels = vamp_resolution_labels(
                &settings->by, &settings->without, metric->name,
                vamp_metric_labels_at(metric, (enum vamp_level)statistics->level));
            lines +=
                series_of(labels, components) *
                (functions->lines != NULL ? functions->lines(output->options, metric, &bins) : 1);
        }
    }
    return lines;
}

void vamp_config_forecast(const struct vamp_config *config, FILE *out)
{
    for (unsigned i = 0; config->program == VAMP_CONFIG_VAMPIRE && i < config->output_count; i++) {
        const struct vamp_config_output *output = &config->outputs[i];
        const struct vamp_writer_ops *functions = NULL;
        struct vamp_err err = VAMP_ERR_NONE;
        if (output->settings.budget == 0 || vamp_writer_load(output->ops, &functions, &err) != 0) {
            continue;
        }
        uint64_t lines[SIZE_COUNT];
        (void)fprintf(out, "output %s: about", output->settings.name);
        for (unsigned k = 0; k < SIZE_COUNT; k++) {
            lines[k] = lines_of(config, output, functions, sizes[k]);
            (void)fprintf(out, "%s %" PRIu64 " lines with %u", k > 0 ? "," : "", lines[k],
                          sizes[k]);
        }
        (void)fprintf(out, " components, if each of one half moves data to each of the other");
        if (lines[SIZE_COUNT - 1] > output->settings.budget) {
            (void)fprintf(out,
                          "; where that is more than the budget of %" PRIu64
                          ", pairs of components become pairs of models, components models, then "
                          "(other)",
                          output->settings.budget);
        }
        (void)fputc('\n', out);
    }
}
