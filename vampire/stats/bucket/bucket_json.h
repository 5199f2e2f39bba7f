/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes parts of a bucket as members of the open JSON object. All formats that write JSON use
 * these functions; docs/output-jsonl.md specifies the members. */
#pragma once

#include "vampire/core/json_emit.h"
#include "vampire/stats/bucket/rows.h"

/* Writes each label as a member with its name; or all labels as one object, "labels". */
void vamp_bucket_json_label_members(struct vamp_json *json, const struct vamp_label_set *set,
                                    const struct vamp_series *series);
void vamp_bucket_json_labels(struct vamp_json *json, const struct vamp_label_set *set,
                             const struct vamp_series *series);
/* Writes "id": the id as text, or null if no event reported it. */
void vamp_bucket_json_cdo_id(struct vamp_json *json, const struct vamp_cdo_id *id, bool known);
/* "anomaly", "count", "component", "operation", "id", "name". */
void vamp_bucket_json_anomaly(struct vamp_json *json, const struct vamp_listed_anomaly *listed);
/* Writes "accounting": an object that includes the counters of all outputs. A kind of loss is null
 * if not all of its losses are detected and none was. */
void vamp_bucket_json_account(struct vamp_json *json, const struct vamp_accounting *account,
                              const struct vamp_coverage *coverage);
/* Writes the values. Counter: "value" and "delta". Gauge: "value", "min" and "max", or "min_bound"
 * and "max_bound"; null for values that do not exist. Histogram: "count", "sum", "min", "max",
 * "p50", "p90", "p99", "p999". */
void vamp_bucket_json_values(struct vamp_json *json, const struct vamp_bins *bins,
                             const struct vamp_row *row);

/* Writes all run labels as members of the open object; a text longer than VAMP_RUN_TEXT_BYTES is
 * cut. */
void vamp_run_labels_json(struct vamp_json *json, const struct vamp_run *run);
