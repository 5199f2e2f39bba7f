/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The newest events of the stream in memory, so that a recording can begin before the alarm that
 * starts it. Limited in bytes: new events replace the oldest ones. Events are numbered from 0 in
 * the order of the stream; a reader keeps the number of its next event and is told how many it has
 * missed. Nothing is allocated after creation. Worker thread.
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
    uint64_t number; /* of the next event */
    uint64_t at;     /* its position; private */
    bool passed;     /* the filters accepted the event before it */
};

/* Creates a history of no bytes. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_history_create(struct vamp_history **ret_history, struct vamp_err *err);
/* Enlarges an empty history to `bytes`, rounded up to a power of two, at least 64 KiB. 0; -EBUSY:
 * it is not empty, and unchanged; -EINVAL or -ENOMEM. */
VAMP_MUST_CHECK int vamp_history_grow(struct vamp_history *history, size_t bytes,
                                      struct vamp_err *err);
/* NULL is fine. */
void vamp_history_free(struct vamp_history *history);
/* Copies an event or control event with its text. The history must have been enlarged. */
void vamp_history_add(struct vamp_history *history, const struct vamp_event *event, bool passed);
/* The place of the oldest event that is kept and not before `from_ns`, the end if there is none. */
struct vamp_history_place vamp_history_find(const struct vamp_history *history, int64_t from_ns);
/* The place after the newest event. */
struct vamp_history_place vamp_history_end(const struct vamp_history *history);
/* Returns the event at the place and advances the place; NULL at the end. If that event is no
 * longer kept, continues with the oldest one, and `*ret_missed` is the number skipped, else 0. The
 * event is valid until the next vamp_history_add. */
const struct vamp_event *vamp_history_next(const struct vamp_history *history,
                                           struct vamp_history_place *place, uint64_t *ret_missed);
/* Whether an event was replaced by a newer one. */
bool vamp_history_has_dropped(const struct vamp_history *history);
/* The time of the oldest event kept; INT64_MAX: there is none. */
int64_t vamp_history_oldest_ns(const struct vamp_history *history);
