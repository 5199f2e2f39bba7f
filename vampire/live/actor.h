/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of an examination: a component, or the pool manager, of a small workflow.
 * python/vampire/examine.py sends it orders. Orders are executed one after the other, so that the
 * state is known, and a blocked process does not block the others. One thread.
 */
#pragma once

#include "vampire/core/err.h"

/* Names of the examination's CDOs begin with "vampire-examines-", the process id of the parent of
 * the actor, and "/". */
#define VAMP_ACT_NAME "vampire-examines-%d/"
#define VAMP_ACT_CDOS 10

/*
 * Executes the orders received from this socket (SOCK_SEQPACKET) until its other end is closed,
 * then leaves the workflow. An order is a text: the order and its arguments, one per line:
 * - manage, WORKFLOW, COMPONENT: become the pool manager; the answer contains its `info`
 * - join, WORKFLOW, COMPONENT, INFO
 * - subscribe: one subscription to all events, and another to OFFER events
 * - subscribe_before: subscribe to DEMAND before it is handled; drop_before ends the subscription
 * - take: consume the events that have arrived
 * - flood: create CDOs with long names
 * - leave
 * - declare, offer, require, demand, withdraw, dispose; NUMBER of the CDO, below VAMP_ACT_CDOS
 *
 * The answer is a JSON object: `error` (text; absent: success), `begin_ns`, `end_ns` (UTC), and the
 * result of the order: `info`; `flooded` (number of events of floods, caused or consumed); for
 * consumed events, `lost` (as reported by Maestro), `gaps` (missing serial numbers) and `seen`, a
 * list of the events of the examination's CDOs: `stream` ("all", "offers", "before"), `kind`,
 * `cdo` (null: the event has no name of a CDO), `serial` and, if the event has them, `time_ns`,
 * `bytes`, `app_id`, `id`; `strange`: the number of events of unknown kinds.
 */
void vamp_actor_follow(int orders);
