/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attribution of blocked time to producers, and of the time of pending WITHDRAWs and LEAVEs to
 * consumers. The inline functions are hooks of the pairing, which do nothing if blocked time is not
 * measured. Results are stored in `due` (blocked.h). Private to the pairing; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/blocked.h"

void vamp_blocked_do_transport(struct vamp_track_context *at, const struct vamp_pending *pending);
void vamp_blocked_do_satisfied(struct vamp_track_context *at, const struct vamp_pending *transport);
void vamp_blocked_do_finished(struct vamp_track_context *at, const struct vamp_cdo *record);
void vamp_blocked_do_released(struct vamp_track_context *at, const struct vamp_pending *pending);

/* A transport to the component of the event has started; `pending` is its entry. */
static inline void vamp_blocked_transport(struct vamp_track_context *at,
                                          const struct vamp_pending *pending)
{
    if (at->tracker->blocked != NULL && at->row != 0) {
        vamp_blocked_do_transport(at, pending);
    }
}
/* The demand that was removed last was satisfied. `transport`: the entry of its transport, if the
 * transport started while the CDO was in the pool; NULL: unknown. */
static inline void vamp_blocked_satisfied(struct vamp_track_context *at,
                                          const struct vamp_pending *transport)
{
    if (at->tracker->blocked != NULL && at->row != 0) {
        vamp_blocked_do_satisfied(at, transport);
    }
}
/* The component of the event has received the CDO of this record or no longer needs it. `record`
 * may be NULL. */
static inline void vamp_blocked_finished(struct vamp_track_context *at,
                                         const struct vamp_cdo *record)
{
    const struct vamp_blocked *blocked = at->tracker->blocked;
    if (blocked != NULL && record != NULL && (record->withdraws > 0 || blocked->leaving > 0)) {
        vamp_blocked_do_finished(at, record);
    }
}
/* The pool manager has handled a received operation, whose entry is about to be removed. */
static inline void vamp_blocked_released(struct vamp_track_context *at,
                                         const struct vamp_pending *pending)
{
    if (vamp_blocked_measures(at, pending)) {
        vamp_blocked_do_released(at, pending);
    }
}
