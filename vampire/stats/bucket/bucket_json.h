/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a bucket as members of the JSON object that is open: the same in every format that
 * writes JSON, as docs/output-jsonl.md specifies them. */
#pragma once

#include "vampire/core/json_emit.h"
#include "vampire/stats/bucket/rows.h"

/* Each label by its name; or all in an object, "labels". */
void vamp_bucket_json_label_members(struct vamp_json *json, const struct vamp_label_set *set,
                                    const struct vamp_series *series);
void vamp_bucket_json_labels(struct vamp_json *json, const struct vamp_label_set *set,
                             const struct vamp_series *series);
/* "id": the id's text, or null when no event reported it. */
void vamp_bucket_json_cdo_id(struct vamp_json *json, const struct vamp_cdo_id *id, bool known);
/* "anomaly", "count", "component", "operation", "id", "name". */
void vamp_bucket_json_anomaly(struct vamp_json *json, const struct vamp_listed_anomaly *listed);
/* "accounting": an object, with the accounts of all outputs; null for losses of which none was
 * seen and not all are. */
void vamp_bucket_json_account(struct vamp_json *json, const struct vamp_accounting *account,
                              const struct vamp_coverage *coverage);
/* Of a counter "value" and "delta"; of a gauge "value", "min" and "max", or "min_bound" and
 * "max_bound", null for what does not exist; of a histogram "count", "sum", "min", "max", "p50",
 * "p90", "p99", "p999". */
void vamp_bucket_json_values(struct vamp_json *json, const struct vamp_bins *bins,
                             const struct vamp_row *row);

/* All run labels as members of the object that is open; a text longer than VAMP_RUN_TEXT_BYTES is
 * cut.
 */
void vamp_run_labels_json(struct vamp_json *json, const struct vamp_run *run);
