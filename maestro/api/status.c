/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "maestro/api/internal.h"
#include "vampire/core/clock.h"
#include "version.h"

static _Thread_local char last_error[VAMP_ERR_TEXT_BYTES];

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

mstro_status api_fail(mstro_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return status;
}

const char *mstro_pool_event_description(mstro_pool_event_kind kind)
{
    if (kind == MSTRO_POOL_EVENT_LOST) {
        return "events were lost";
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
