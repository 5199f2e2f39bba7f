/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the library, its last error, and the entry and exit of calls. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "maestro/api/internal.h"
#include "vampire/core/clock.h"
#include "version.h"

struct library library = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .idle = PTHREAD_COND_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
    .leftovers = {.head = {&library.leftovers.head, &library.leftovers.head}},
};

static _Thread_local char last_error[VAMP_ERR_TEXT_BYTES];
/* The current or latest maestro.h call in this thread. */
static _Thread_local const char *current_call = "mstro";

const char *mstro_version(void)
{
    return "embedded Maestro " VAMP_VERSION;
}

uint64_t mstro_clock(void)
{
    return (uint64_t)vamp_clock_utc_ns(&vamp_clock_system);
}

const char *mstro_last_error(void)
{
    return last_error;
}

mstro_status api_note(enum log_level level, mstro_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    /* Texts from the pool do not begin with the name of the function. */
    if (strncmp(last_error, "mstro_", sizeof "mstro_" - 1) == 0) {
        log_say(level, "%s", last_error);
    } else {
        log_say(level, "%s: %s", current_call, last_error);
    }
    return status;
}

const char *mstro_pool_event_description(mstro_pool_event_kind kind)
{
    if (kind == MSTRO_POOL_EVENT_LOST) {
        return "events were lost";
    }
    if (kind == MSTRO_POOL_EVENT_SAMPLE) {
        return "a sample from the pool manager";
    }
    if (kind == MSTRO_POOL_EVENT_PACKED) {
        return "several events in one";
    }
    if (kind == MSTRO_POOL_EVENT_POOL_GONE) {
        return "the pool manager is gone";
    }
    for (unsigned number = 1; number < VAMP_EVENT_KIND_COUNT; number++) {
        if (kind == (mstro_pool_event_kind)1 << number) {
            return vamp_event_kind_help(number);
        }
    }
    return "unknown event";
}

void mstro_receive_packed(void)
{
    atomic_store(&library.packed, true);
}

/* ------------------------------------------------------------------ calls */

bool api_is_inside(uint64_t generation)
{
    (void)pthread_mutex_lock(&library.lock);
    bool inside = library.ready && (generation == 0 || generation == library.generation);
    library.active += inside;
    (void)pthread_mutex_unlock(&library.lock);
    return inside;
}

mstro_status api_enter(const char *what, uint64_t generation)
{
    current_call = what;
    if (api_is_inside(generation)) {
        return MSTRO_OK;
    }
    return api_fail(MSTRO_UNINIT, "%s: mstro_init has not been called, or mstro_finalize has",
                    what);
}

void api_leave(void)
{
    (void)pthread_mutex_lock(&library.lock);
    assert(library.active > 0);
    if (--library.active == 0) {
        (void)pthread_cond_broadcast(&library.idle);
    }
    (void)pthread_mutex_unlock(&library.lock);
}

mstro_status api_call(Mstro__Wire__Request *request, uint32_t timeout_ms,
                      struct port_answer *ret_answer)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct port_answer unused;
    if (ret_answer == NULL) {
        ret_answer = &unused;
    }
    mstro_status status =
        library.port->ops->call(library.port, request, timeout_ms, ret_answer, &err);
    if (status != MSTRO_OK) {
        /* The end of the pool manager has already been reported. */
        const bool known = status == MSTRO_NO_PM;
        (void)api_note(known ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, status, "%s", err.text);
    }
    return status;
}
