/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of an examination (python/vampire/examine.py, which tells it what to do): a component,
 * or the pool manager, of a small workflow. It follows one order after the other, so that what has
 * happened is known, and one that is held up holds up nobody else. One thread.
 */
#pragma once

#include "vampire/core/err.h"

/* Names of the examination's CDOs begin with "vampire-examines-", the number of the process that
 * started the actor, and "/". */
#define VAMP_ACT_NAME "vampire-examines-%d/"
#define VAMP_ACT_CDOS 4

/* Follows the orders that come from this socket (SOCK_SEQPACKET) until its other end is closed,
 * then leaves the workflow. An order is a text of lines: what to do, and with what: manage,
 * WORKFLOW, COMPONENT         be the pool manager; the answer has its `info` join, WORKFLOW,
 * COMPONENT, INFO subscribe                           to all events, and once more to those of
 * offers subscribe_before                    to DEMAND, before it is handled; drop_before ends it
 *   take                                the events that have come
 *   flood                               of CDOs with long names
 *   leave
 *   declare, offer, require, demand, withdraw, dispose; NUMBER of the CDO, below VAMP_ACT_CDOS
 * The answer is a JSON object: `error` (text; absent: it is done), `begin_ns`, `end_ns` (UTC), and
 * what the order asks for: `info`, `flooded` (events of floods: made or taken), of events taken
 * `lost` (reported as such), `gaps` (missing serial numbers) and `seen`, a list of those of the
 * examination's CDOs: `stream` ("all", "offers", "before"), `kind`, `cdo`, `serial`, and `time_ns`,
 * `bytes`, `app_id` of those that have them. */
void vamp_actor_follow(int orders);
