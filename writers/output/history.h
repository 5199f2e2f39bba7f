/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The newest events of the stream, in memory, so that a recording can begin before the alarm that
 * starts it. The size is limited in bytes: new events replace the oldest ones. Events are numbered
 * from 0 in stream order. A reader keeps the number of its next event; the number of events that it
 * missed is reported to it. Nothing is allocated after creation. Worker thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

struct vamp_history;

/* The position of a reader. */
struct vamp_history_place {
    uint64_t number; /* number of the next event */
    uint64_t at;     /* offset of that event; private */
    bool passed;     /* the filters accepted the previous event */
};

/* Creates a history without storage. Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_history_create(struct vamp_history **ret_history, struct vamp_err *err);
/* Enlarges an empty history to `bytes`, rounded up to a power of two, at least 64 KiB. Returns 0;
 * -EBUSY if it is not empty (it is then unchanged); -EINVAL or -ENOMEM. */
VAMP_MUST_CHECK int vamp_history_grow(struct vamp_history *history, size_t bytes,
                                      struct vamp_err *err);
/* NULL is allowed. */
void vamp_history_free(struct vamp_history *history);
/* Copies an event or control event with its text. vamp_history_grow must have been called before.
 */
void vamp_history_add(struct vamp_history *history, const struct vamp_event *event, bool passed);
/* Returns the position of the oldest kept event not before `from_ns`, or the end if there is none.
 */
struct vamp_history_place vamp_history_find(const struct vamp_history *history, int64_t from_ns);
/* Returns the position after the newest event. */
struct vamp_history_place vamp_history_end(const struct vamp_history *history);
/* Returns the event at the position and advances the position; NULL at the end. If that event is no
 * longer kept, continues with the oldest one and sets `*ret_missed` to the number of skipped
 * events, else to 0. The event is valid until the next vamp_history_add. */
const struct vamp_event *vamp_history_next(const struct vamp_history *history,
                                           struct vamp_history_place *place, uint64_t *ret_missed);
/* Whether at least one event was replaced by a newer one. */
bool vamp_history_has_dropped(const struct vamp_history *history);
/* Time of the oldest kept event; INT64_MAX if there is none. */
int64_t vamp_history_oldest_ns(const struct vamp_history *history);
