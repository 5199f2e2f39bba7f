/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/blocked.h"

#include <assert.h>
#include <stdlib.h>

_Static_assert(sizeof(struct vamp_blocked_share) <= 32, "there is one for each pending operation");

/* Returns whether a metric of blocked time is computed. */
static bool is_measured(const struct vamp_stats_options *options)
{
    for (unsigned i = 0; i < VAMP_METRICS_BUILT_IN; i++) {
        const enum vamp_metric_id id = (enum vamp_metric_id)i;
        if (vamp_metric_is_blocked_time(id) && vamp_stats_wants(options, id)) {
            return true;
        }
    }
    return false;
}

int vamp_blocked_create(struct vamp_tracker *tracker, const struct vamp_stats_options *options)
{
    if (!is_measured(options)) {
        return 0;
    }
    struct vamp_blocked *blocked = calloc(1, sizeof *blocked);
    if (blocked == NULL) {
        return -ENOMEM;
    }
    tracker->blocked = blocked;
    blocked->bucket_ns = options->bucket_ns;
    tracker->blocked_kinds = UINT64_C(1) << VAMP_PENDING_DEMAND |
                             UINT64_C(1) << VAMP_EVENT_WITHDRAW | UINT64_C(1) << VAMP_EVENT_LEAVE;
    blocked->rows = calloc(vamp_components_capacity(tracker->components), sizeof *blocked->rows);
    blocked->shares = calloc(tracker->pending.capacity, sizeof *blocked->shares);
    if (blocked->rows == NULL || blocked->shares == NULL) {
        return -ENOMEM;
    }
    return 0;
}

void vamp_blocked_free(struct vamp_tracker *tracker)
{
    if (tracker->blocked != NULL) {
        free(tracker->blocked->rows);
        free(tracker->blocked->shares);
        free(tracker->blocked);
    }
}

/* Returns the clock that runs while the entry is pending. */
static struct vamp_blocked_clock *clock_of(const struct vamp_tracker *tracker,
                                           const struct vamp_pending *pending)
{
    struct vamp_blocked_row *row = &tracker->blocked->rows[pending->item.row];
    return pending->kind == VAMP_PENDING_DEMAND ? &row->demands : &row->releases;
}

/* ---- demands of a CDO that is not in the pool */

static void link_unoffered(const struct vamp_tracker *tracker, struct vamp_cdo *cdo,
                           const struct vamp_pending *pending)
{
    const uint32_t number = vamp_slab_number(&tracker->pending, pending);
    struct vamp_blocked_share *shares = tracker->blocked->shares;
    shares[number - 1].after = cdo->first_unoffered;
    if (cdo->first_unoffered != 0) {
        shares[cdo->first_unoffered - 1].before = number;
    }
    cdo->first_unoffered = number;
}

static void unlink_unoffered(const struct vamp_tracker *tracker, struct vamp_cdo *cdo,
                             const struct vamp_blocked_share *share)
{
    struct vamp_blocked_share *shares = tracker->blocked->shares;
    if (share->before != 0) {
        shares[share->before - 1].after = share->after;
    } else {
        cdo->first_unoffered = share->after;
    }
    if (share->after != 0) {
        shares[share->after - 1].before = share->before;
    }
}

/* ---- the hooks */

/* Saturates: a counter at its maximum stays there. This costs only look-ups without a result. */
static void count_withdraw(struct vamp_cdo *cdo, int change)
{
    if (cdo->withdraws < UINT16_MAX) {
        cdo->withdraws = (uint16_t)(cdo->withdraws + change);
    }
}

void vamp_blocked_do_begin(struct vamp_track_context *at, struct vamp_cdo *cdo,
                           const struct vamp_pending *pending)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_blocked_clock *clock = clock_of(tracker, pending);
    struct vamp_blocked *blocked = tracker->blocked;
    struct vamp_blocked_share *share = vamp_blocked_share(tracker, pending);
    vamp_blocked_advance(blocked, clock, at->event->time_ns);
    clock->pending++;
    *share = (struct vamp_blocked_share){.consumer = VAMP_NAME_UNKNOWN};
    vamp_blocked_set_counted_to(share, clock->now);
    if (pending->kind == VAMP_PENDING_DEMAND) {
        share->offered = vamp_cdo_in_pool(cdo);
        if (!share->offered) {
            link_unoffered(tracker, cdo, pending);
        }
        return;
    }
    if (pending->kind == VAMP_EVENT_LEAVE) {
        blocked->rows[pending->item.row].leaving = true;
        blocked->rows[pending->item.row].leave_consumer = VAMP_NAME_UNKNOWN;
        blocked->leaving++;
    } else {
        count_withdraw(cdo, 1);
    }
}

void vamp_blocked_do_end(struct vamp_track_context *at, struct vamp_cdo *cdo,
                         const struct vamp_pending *pending)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_blocked_clock *clock = clock_of(tracker, pending);
    struct vamp_blocked *blocked = tracker->blocked;
    const struct vamp_blocked_share *share = vamp_blocked_share(tracker, pending);
    vamp_blocked_advance(blocked, clock, at->event->time_ns);
    assert(clock->pending > 0);
    clock->pending--;
    if (pending->kind != VAMP_PENDING_DEMAND) {
        if (pending->kind == VAMP_EVENT_LEAVE) {
            blocked->rows[pending->item.row].leaving = false;
            blocked->leaving--;
        } else {
            count_withdraw(cdo, -1);
        }
        return;
    }
    if (!share->offered) {
        unlink_unoffered(tracker, cdo, share);
    }
    struct vamp_blocked_due *due = &blocked->due;
    due->demand_row = pending->item.row;
    due->demand_from = vamp_blocked_counted_to(share);
    due->demand_to = clock->now;
}
