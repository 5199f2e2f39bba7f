/* SPDX-License-Identifier: BSD-3-Clause */
/* Group 17: what should not happen. */
#include "vampire/stats/metrics/statistic.h"
#include "vampire/stats/pairing/track.h"

static const enum vamp_metric_id metrics[] = {VAMP_METRIC_ANOMALIES, VAMP_METRIC_COUNT};

/* Who and which CDO; the bucket lists a bounded number of them. */
static void list_alert(struct vamp_slot *slot, const struct vamp_components *components,
                       const struct vamp_observation *seen, uint32_t anomaly)
{
    if (slot->alert_count == VAMP_ALERTS_MAX) {
        slot->alerts_unlisted++;
        return;
    }
    const struct vamp_event *event = seen->event;
    struct vamp_alert *alert = &slot->alerts[slot->alert_count++];
    *alert = (struct vamp_alert){
        .component = vamp_components_name(components, seen->labels.value[VAMP_LABEL_COMPONENT]),
        .time_ns = event->time_ns,
        .id = event->cdo_id,
        .id_known = vamp_event_has(event, VAMP_HAS_CDO_ID),
        .anomaly = (uint8_t)anomaly,
        .kind = event->kind,
        .count = seen->anomalies[anomaly],
    };
    if (vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
        vamp_track_copy_name(event, alert->name);
    }
}

static void count_anomalies(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    if ((seen->found & VAMP_FOUND_ANOMALY) == 0 || cells->excluded[VAMP_METRIC_ANOMALIES]) {
        return; /* what does not count is no alert either */
    }
    struct vamp_labels labels = seen->labels;
    for (uint32_t anomaly = 0; anomaly < VAMP_ANOMALY_COUNT; anomaly++) {
        if (seen->anomalies[anomaly] > 0) {
            labels.value[VAMP_LABEL_ANOMALY] = anomaly;
            vamp_cells_count(cells, seen->slot, VAMP_METRIC_ANOMALIES, &labels,
                             seen->anomalies[anomaly]);
            list_alert(seen->slot, cells->series.components, seen, anomaly);
        }
    }
}

const struct vamp_statistic_ops vamp_statistic_anomalies = {
    .name = "anomalies",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .before = VAMP_KINDS_ALL,
    .found = VAMP_FOUND_ANOMALY,
    .on_event = count_anomalies,
    .on_gone = count_anomalies,
};
