/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stream says that is missing, in the snapshot of a model. */
#pragma once

#include "programs/vampire-top/model.h"

/* The account of a bucket or the end; NULL: that of the bucket before still holds. */
void top_losses_account(struct top_snapshot *shown, const json_t *accounting);
/* A line of type lost: only lines that were too long are reported nowhere else; the other losses
 * come with the accounts. */
void top_losses_lost(struct top_snapshot *shown, const json_t *line);
void top_losses_gap(struct top_snapshot *shown, const json_t *line);
