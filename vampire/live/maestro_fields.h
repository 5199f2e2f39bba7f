/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The differences between versions of maestro.h, all of which are handled here. Converts Maestro's
 * events to vampire's; a field that a maestro.h lacks has no presence bit. Source thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <maestro.h>

#include "maestro_probe.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/event/event.h"

/* Converts bits by enum vamp_event_kind to Maestro's own; kinds that this maestro.h lacks are left
 * out. */
uint64_t vamp_maestro_kinds(uint64_t event_kinds);
/* The kinds that report a subscription's end and losses, to be added to every mask; 0: this
 * maestro.h has none. */
uint64_t vamp_maestro_service_kinds(void);

/* The event's serial number, 0: none. */
uint64_t vamp_maestro_serial(const struct mstro_pool_event_ *theirs);
/* Whether this reports that the pool manager is gone: not an event, and the last of its
 * subscription. */
bool vamp_maestro_is_gone(const struct mstro_pool_event_ *theirs);
/* Whether the kind is one of vamp_maestro_service_kinds: not an event of the pool, without a
 * number. */
bool vamp_maestro_is_service(const struct mstro_pool_event_ *theirs);
/* Whether this contains a batch of events, for vamp_event_batch_next; else `*ret_batch` is
 * unchanged. */
bool vamp_maestro_packed(const struct mstro_pool_event_ *theirs,
                         struct vamp_event_batch *ret_batch);
/* Fills `*ret_event` from an event that is neither gone nor packed. The name is borrowed from
 * `theirs`. An unknown kind becomes REJECTED, a loss LOST, both control events. `arrival_ns` is the
 * time of an event without one. */
void vamp_maestro_convert(const struct mstro_pool_event_ *theirs, enum vamp_event_phase phase,
                          int64_t arrival_ns, struct vamp_event *ret_event);
/* The information that events of this maestro.h lack: bit per enum vamp_unknown. Any thread. */
uint32_t vamp_maestro_unknown(void);
/* The lines of `vampire --version`. */
void vamp_maestro_abilities(FILE *stream);
/* Whether the status means that there is no pool manager (any more); any thread. */
bool vamp_maestro_status_no_manager(mstro_status status);

/* Replacements for what this maestro.h lacks: statuses that no function returns, and the
 * environment variable with the pool manager's info. */
#if !VAMP_MSTRO_HAS_STATUS_NOMEM
#define MSTRO_NOMEM ((mstro_status)-1)
#endif
#if !VAMP_MSTRO_HAS_STATUS_REFUSED
#define MSTRO_REFUSED ((mstro_status)-1)
#endif
#if !VAMP_MSTRO_HAS_ENV_POOL_INFO
#define MSTRO_ENV_POOL_INFO "MSTRO_POOL_MANAGER_INFO"
#endif
