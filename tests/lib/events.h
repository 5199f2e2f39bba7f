/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events for tests, as one line each: which component did what to which CDO at what time. An event
 * is a value; its text points to the caller's.
 */
#pragma once

#include "vampire/core/event/event.h"

/* Kind, time and component id (0: none). Phase AFTER. */
struct vamp_event event_of(enum vamp_event_kind kind, int64_t time_ns, uint64_t app_id);
struct vamp_event event_join(int64_t time_ns, uint64_t app_id, const char *name);
struct vamp_event event_leave(int64_t time_ns, uint64_t app_id, enum vamp_leave_reason reason);
/* About the CDO with this number as its id. */
struct vamp_event event_cdo(enum vamp_event_kind kind, int64_t time_ns, uint64_t app_id,
                            uint64_t cdo);
/* A transport of this number. The source may be 0: not known. */
struct vamp_event event_transport(enum vamp_event_kind kind, int64_t time_ns, uint64_t transport,
                                  uint64_t cdo, uint64_t sink, uint64_t source);
struct vamp_event event_lost(int64_t time_ns, enum vamp_loss reason, uint64_t count);
struct vamp_event event_rejected(int64_t time_ns, uint64_t count);

/* The same event with more in it. */
struct vamp_event event_before(struct vamp_event event);
struct vamp_event event_with_size(struct vamp_event event, uint64_t size_bytes);
struct vamp_event event_with_name(struct vamp_event event, const char *name);
struct vamp_event event_with_tier(struct vamp_event event, enum vamp_tier tier);
struct vamp_event event_with_cause(struct vamp_event event, enum vamp_cause cause);
