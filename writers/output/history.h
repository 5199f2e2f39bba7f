/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The newest events of the stream in memory, so that an output can begin before the alarm that
 * asks for it. Bounded in bytes: an event that finds no room replaces the oldest ones. Events have
 * numbers from 0 in the order of the stream; a reader keeps the number it wants next and learns how
 * many it has missed. Nothing is allocated after creation. Worker thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

struct vamp_history;

/* Where a reader is. */
struct vamp_history_place {
    uint64_t number; /* of the event that comes next */
    uint64_t at;     /* where it is; the history's own */
    bool passed;     /* the filters accepted the event before it */
};

/* Without any room. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_history_create(struct vamp_history **ret_history, struct vamp_err *err);
/* Makes room for `bytes` (rounded up to a power of two, at least 64 KiB) if it has less, as long as
 * it is empty. 0, -EBUSY: it is not and stays as it is; -EINVAL or -ENOMEM. */
VAMP_MUST_CHECK int vamp_history_grow(struct vamp_history *history, size_t bytes,
                                      struct vamp_err *err);
/* NULL is fine. */
void vamp_history_free(struct vamp_history *history);
/* Copies an event or a mark of the stream with its text; there is room for some. */
void vamp_history_add(struct vamp_history *history, const struct vamp_event *event, bool passed);
/* The place of the oldest event that is kept and not before `from_ns`, the end if there is none. */
struct vamp_history_place vamp_history_find(const struct vamp_history *history, int64_t from_ns);
/* The place after the newest event. */
struct vamp_history_place vamp_history_end(const struct vamp_history *history);
/* The event at the place, which moves behind it; NULL at the end. If the event there is no longer
 * kept, the place first moves to the oldest one, and `*ret_missed` is how many were passed over,
 * else 0. The event is valid until the next vamp_history_add. */
const struct vamp_event *vamp_history_next(const struct vamp_history *history,
                                           struct vamp_history_place *place, uint64_t *ret_missed);
/* Whether an event was given up to make room for a newer one. */
bool vamp_history_has_dropped(const struct vamp_history *history);
/* The time of the oldest event that is kept; INT64_MAX: there is none. */
int64_t vamp_history_oldest_ns(const struct vamp_history *history);
