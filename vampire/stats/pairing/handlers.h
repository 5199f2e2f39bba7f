/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers of events, called by vamp_track. Private to the pairing; worker thread. */
#pragma once

#include "vampire/stats/pairing/records.h"

/* cdo.c: applies a handled event of a CDO that is neither JOIN, LEAVE nor a transport. */
void vamp_track_cdo(struct vamp_track_context *at);

/* ends.c: replaces the current event, a transport that names only one end, by a copy that names
 * both ends as far as the CDO's history shows them. The caller must look up the component again. */
void vamp_track_find_ends(struct vamp_track_context *at);
