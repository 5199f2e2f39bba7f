/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the maestro.h of this build has: the one place that knows. Maestro's events become
 * vampire's; a field that a maestro.h lacks has no presence bit. Source thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <maestro.h>

#include "maestro_probe.h"
#include "vampire/core/event/codec.h"
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
/* Of vamp_maestro_service_kinds: no event of the pool, and without a number. */
bool vamp_maestro_is_service(const struct mstro_pool_event_ *theirs);
/* It holds a batch of events, for vamp_event_batch_next; else `*ret_batch` stays. */
bool vamp_maestro_packed(const struct mstro_pool_event_ *theirs,
                         struct vamp_event_batch *ret_batch);
/* Fills `*ret_event` from an event that is neither gone nor packed. The name stays Maestro's,
 * valid as long as `theirs`. A kind that vampire does not know becomes a REJECTED mark, a loss a
 * LOST mark. `arrival_ns` is taken as the time of an event that has none. */
void vamp_maestro_convert(const struct mstro_pool_event_ *theirs, enum vamp_event_phase phase,
                          int64_t arrival_ns, struct vamp_event *ret_event);
/* What no event of this maestro.h says: bit per enum vamp_unknown. Any thread. */
uint32_t vamp_maestro_unknown(void);
/* The lines of `vampire --version`. */
void vamp_maestro_abilities(FILE *stream);
/* The status says that there is no pool manager (any more); any thread. */
bool vamp_maestro_status_no_manager(mstro_status status);

/* What this maestro.h lacks: statuses that no function returns, and the environment variable that
 * holds the pool manager's info. */
#if !VAMP_MSTRO_HAS_STATUS_NOMEM
#define MSTRO_NOMEM ((mstro_status)-1)
#endif
#if !VAMP_MSTRO_HAS_STATUS_REFUSED
#define MSTRO_REFUSED ((mstro_status)-1)
#endif
#if !VAMP_MSTRO_HAS_ENV_POOL_INFO
#define MSTRO_ENV_POOL_INFO "MSTRO_POOL_MANAGER_INFO"
#endif
