/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/bucket_json.h"

#include <stdio.h>

#include "vampire/core/event/event.h"

void vamp_bucket_json_label_members(struct vamp_json *json, const struct vamp_label_set *set,
                                    const struct vamp_series *series)
{
    for (unsigned i = 0; i < set->label_count; i++) {
        vamp_json_text(json, vamp_label_name(set->labels[i]), series->labels[i]);
    }
}

void vamp_bucket_json_labels(struct vamp_json *json, const struct vamp_label_set *set,
                             const struct vamp_series *series)
{
    vamp_json_open(json, "labels", '{');
    vamp_bucket_json_label_members(json, set, series);
    vamp_json_close(json, '}');
}

void vamp_bucket_json_cdo_id(struct vamp_json *json, const struct vamp_cdo_id *id, bool known)
{
    char text[VAMP_CDO_ID_TEXT_BYTES];
    vamp_cdo_id_text(*id, text);
    if (known) {
        vamp_json_text(json, "id", text);
    } else {
        vamp_json_null(json, "id");
    }
}

void vamp_bucket_json_anomaly(struct vamp_json *json, const struct vamp_listed_anomaly *listed)
{
    vamp_json_text(json, "anomaly", vamp_anomaly_name(listed->anomaly));
    vamp_json_unsigned(json, "count", listed->count);
    vamp_json_text(json, "component", listed->component);
    vamp_json_text(json, "operation", vamp_event_kind_name(listed->kind));
    vamp_bucket_json_cdo_id(json, &listed->id, listed->id_known);
    vamp_json_text(json, "name", listed->name);
}

void vamp_bucket_json_account(struct vamp_json *json, const struct vamp_accounting *account,
                              const struct vamp_coverage *coverage)
{
    vamp_json_open(json, "accounting", '{');
    vamp_json_unsigned(json, "received", account->received);
    vamp_json_unsigned(json, "decoded", account->decoded);
    vamp_json_unsigned(json, "rejected", account->rejected);
    vamp_json_unsigned(json, "filtered", account->filtered);
    vamp_json_unsigned(json, "counted", account->counted);
    vamp_json_unsigned(json, "late", account->late);
    vamp_json_open(json, "lost", '{');
    for (unsigned i = 0; i < VAMP_LOSS_COUNT; i++) {
        if (account->lost[i] > 0 || vamp_coverage_sees_losses(coverage, i)) {
            vamp_json_unsigned(json, vamp_loss_name(i), account->lost[i]);
        } else {
            vamp_json_null(json, vamp_loss_name(i));
        }
    }
    vamp_json_close(json, '}');
    vamp_json_open(json, "outputs", '[');
    for (unsigned i = 0; i < account->output_count; i++) {
        const struct vamp_output_account *output = &account->outputs[i];
        vamp_json_open(json, NULL, '{');
        vamp_json_text(json, "name", output->name);
        vamp_json_unsigned(json, "queued", output->queued);
        vamp_json_unsigned(json, "written", output->written);
        vamp_json_unsigned(json, "lost", output->lost);
        vamp_json_unsigned(json, "waiting", output->waiting);
        vamp_json_close(json, '}');
    }
    vamp_json_close(json, ']');
    vamp_json_close(json, '}');
}

static void gauge_member(struct vamp_json *json, const char *key, int64_t value)
{
    if (value == VAMP_GAUGE_NONE) {
        vamp_json_null(json, key);
    } else {
        vamp_json_signed(json, key, value);
    }
}

/* Writes a number of a histogram, or its bounds if it is not known. */
static void number_member(struct vamp_json *json, const struct vamp_bins *bins,
                          const struct vamp_row *row, unsigned number)
{
    char key[16];
    struct vamp_range range;
    const char *name = vamp_row_number(row, bins, number, &range);
    if (range.low == range.high) {
        vamp_json_unsigned(json, name, range.low);
        return;
    }
    (void)snprintf(key, sizeof key, "%s_low", name);
    vamp_json_unsigned(json, key, range.low);
    (void)snprintf(key, sizeof key, "%s_high", name);
    vamp_json_unsigned(json, key, range.high);
}

void vamp_bucket_json_values(struct vamp_json *json, const struct vamp_bins *bins,
                             const struct vamp_row *row)
{
    const struct vamp_bucket_histogram *histogram = row->histogram;
    switch (row->metric->kind) {
    case VAMP_COUNTER:
        vamp_json_unsigned(json, "value", row->counter->value);
        vamp_json_unsigned(json, "delta", row->counter->delta);
        return;
    case VAMP_GAUGE:
        gauge_member(json, "value", row->gauge->value);
        gauge_member(json, row->entry->has_bounds ? "min_bound" : "min", row->gauge->min);
        gauge_member(json, row->entry->has_bounds ? "max_bound" : "max", row->gauge->max);
        return;
    case VAMP_HISTOGRAM:
        vamp_json_unsigned(json, "count", histogram->count);
        for (unsigned i = 0; i < VAMP_ROW_NUMBERS; i++) {
            number_member(json, bins, row, i);
        }
        return;
    }
}

void vamp_run_labels_json(struct vamp_json *json, const struct vamp_run *run)
{
    char scratch[VAMP_RUN_LABEL_BYTES];
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT; label++) {
        const char *value = vamp_run_label(run, (enum vamp_run_label)label, scratch);
        if (label == VAMP_RUN_PID) {
            vamp_json_unsigned(json, vamp_run_label_words[label], run->pid);
        } else {
            vamp_json_long_text(json, vamp_run_label_words[label], value, VAMP_RUN_TEXT_BYTES);
        }
    }
}
