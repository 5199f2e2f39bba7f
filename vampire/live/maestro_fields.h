/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the maestro.h of this build has: the one place that knows. Maestro's events become
 * vampire's; a field that a maestro.h lacks has no presence bit. Source thread only.
 */
#ifndef VAMP_LIVE_MAESTRO_FIELDS_H
#define VAMP_LIVE_MAESTRO_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <maestro.h>

#include "maestro_probe.h"
#include "vampire/core/event/event.h"

/* From bits by enum vamp_event_kind to Maestro's own; kinds that this maestro.h does not have are
 * left out. */
uint64_t vamp_maestro_kinds(uint64_t event_kinds);
/* The kinds that report a subscription's end and losses, to be added to every mask; 0 when this
 * maestro.h has none. */
uint64_t vamp_maestro_service_kinds(void);

/* The event's number, 0 when it has none. */
uint64_t vamp_maestro_serial(const struct mstro_pool_event_ *theirs);
/* The pool manager is gone: no event, and nothing follows on this subscription. */
bool vamp_maestro_is_gone(const struct mstro_pool_event_ *theirs);
/* Fills `*ret_event` from an event that is not vamp_maestro_is_gone. The name stays Maestro's,
 * valid as long as `theirs`. A kind that vampire does not know becomes a REJECTED mark, a loss a
 * LOST mark. `arrival_ns` is taken as the time of an event that has none. */
void vamp_maestro_convert(const struct mstro_pool_event_ *theirs, enum vamp_event_phase phase,
                          int64_t arrival_ns, struct vamp_event *ret_event);
/* True when events have the pool manager's time, so that the moment of reading does not matter. */
bool vamp_maestro_has_time(void);

/* What a status of Maestro means, whatever statuses this maestro.h has; any thread. */

/* The status says that there is no pool manager (any more). */
bool vamp_maestro_status_no_manager(mstro_status status);
/* There was no memory, which may change: the same again may succeed. */
bool vamp_maestro_status_no_memory(mstro_status status);
bool vamp_maestro_status_refused(mstro_status status);
/* The environment variable that holds the pool manager's info. */
const char *vamp_maestro_info_variable(void);

#endif
