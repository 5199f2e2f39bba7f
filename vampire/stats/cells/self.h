/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire's own metrics: its account and what the program reports about itself. Private to the
 * statistics; worker thread.
 */
#ifndef VAMP_STATS_CELLS_SELF_H
#define VAMP_STATS_CELLS_SELF_H

#include "vampire/stats/cells/cells.h"

/* Contracts of vamp_stats_outputs and vamp_stats_self; histograms go into `slot`. */
void vamp_self_outputs(struct vamp_cells *cells, const struct vamp_output_account *outputs,
                       unsigned count);
void vamp_self_report(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                      unsigned output, int64_t value);
/* Before the slot's bucket closes: its account and everything reported become changes in the slot,
 * and the account goes into cells->accounting. */
void vamp_self_fold(struct vamp_cells *cells, struct vamp_slot *slot);
/* Adds a slot's account to an accounting. */
void vamp_self_account(struct vamp_accounting *accounting, const struct vamp_slot_account *account);

#endif
