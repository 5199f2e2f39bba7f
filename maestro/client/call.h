/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a port that wait for their responses. All functions require the port's lock. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "maestro/client/port.h"
#include "vampire/core/list.h"

/* One call, on the caller's stack; in the port's list while it waits. */
struct call {
    struct list_link of_port;
    pthread_cond_t answered;
    uint64_t id; /* id of the request */
    bool done;
    mstro_status status;
    struct port_answer answer;
    char text[VAMP_ERR_TEXT_BYTES];
};

/* Copies the response into the call with its id and wakes that call. A response without a matching
 * call is ignored. An unknown status becomes MSTRO_FAIL. */
void calls_answer(const struct list *calls, const Mstro__Wire__Response *response);
/* Wakes all calls when no more responses will arrive. */
void calls_wake(const struct list *calls);
