/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles all differences between versions of maestro.h. Converts Maestro's events to vampire's; a
 * field that is missing in a version of maestro.h has no presence bit. Source thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <maestro.h>

#include "maestro_probe.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/event/event.h"

/* Converts a set of enum vamp_event_kind bits to Maestro's event kinds; kinds missing in this
 * maestro.h are left out. */
uint64_t vamp_maestro_kinds(uint64_t event_kinds);
/* Returns the kinds that report the end and the losses of a subscription, to be added to every
 * mask; 0: not available in this maestro.h. */
uint64_t vamp_maestro_service_kinds(void);

/* Returns the event's serial number; 0: none. */
uint64_t vamp_maestro_serial(const struct mstro_pool_event_ *theirs);
/* Returns whether this reports that the pool manager is gone; it is not an event, and is the last
 * element of its subscription. */
bool vamp_maestro_is_gone(const struct mstro_pool_event_ *theirs);
/* Returns whether the kind is one of vamp_maestro_service_kinds, which are not events of the pool
 * and have no serial number. */
bool vamp_maestro_is_service(const struct mstro_pool_event_ *theirs);
/* Returns whether this contains a batch of events, to be read with vamp_event_batch_next; if not,
 * `*ret_batch` is unchanged. */
bool vamp_maestro_packed(const struct mstro_pool_event_ *theirs,
                         struct vamp_event_batch *ret_batch);
/* Fills `*ret_event` from an event that is neither "gone" nor packed. The name is borrowed from
 * `theirs`. An unknown kind becomes REJECTED and a loss becomes LOST, both control events.
 * `arrival_ns` is used for an event without a time; LOST has the time 0, because its arrival says
 * nothing about when the events were lost. */
void vamp_maestro_convert(const struct mstro_pool_event_ *theirs, enum vamp_event_phase phase,
                          int64_t arrival_ns, struct vamp_event *ret_event);
/* Returns the information that events of this maestro.h do not provide: one bit per enum
 * vamp_unknown. Any thread. */
uint32_t vamp_maestro_unknown(void);
/* Prints the lines of `vampire --version`. */
void vamp_maestro_abilities(FILE *stream);
/* Returns whether the status means that there is no pool manager, or none any more. Any thread. */
bool vamp_maestro_status_no_manager(mstro_status status);

/* Replacements for definitions missing in this maestro.h: statuses that no function returns, and
 * the environment variable with the pool manager's info. */
#if !VAMP_MSTRO_HAS_STATUS_NOMEM
#define MSTRO_NOMEM ((mstro_status)-1)
#endif
#if !VAMP_MSTRO_HAS_STATUS_REFUSED
#define MSTRO_REFUSED ((mstro_status)-1)
#endif
#if !VAMP_MSTRO_HAS_ENV_POOL_INFO
#define MSTRO_ENV_POOL_INFO "MSTRO_POOL_MANAGER_INFO"
#endif
