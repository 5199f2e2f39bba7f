/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "maestro/api/internal.h"
#include "vampire/core/clock.h"
#include "version.h"

static const char *const descriptions[mstro_status_MAX] = {
    [MSTRO_OK] = "success",
    [MSTRO_FAIL] = "failure",
    [MSTRO_INVARG] = "invalid argument",
    [MSTRO_INVMSG] = "message not understood",
    [MSTRO_NOMEM] = "no memory, or a bound was reached",
    [MSTRO_UNINIT] = "Maestro is not initialised",
    [MSTRO_NOT_TWICE] = "allowed only once",
    [MSTRO_NOENT] = "no such entry",
    [MSTRO_NOMATCH] = "type or value does not match",
    [MSTRO_TIMEOUT] = "timed out",
    [MSTRO_WOULDBLOCK] = "operation would block",
    [MSTRO_INVSTATE] = "not allowed in the present state",
    [MSTRO_NO_PM] = "no pool manager",
    [MSTRO_REFUSED] = "refused by the pool manager",
    [MSTRO_OFI_FAIL] = "libfabric failure",
    [MSTRO_UNIMPL] = "the embedded Maestro does not have this",
};

static _Thread_local char last_error[VAMP_ERR_TEXT_BYTES];

const char *mstro_status_description(mstro_status status)
{
    return (unsigned)status < mstro_status_MAX ? descriptions[status] : "unknown status";
}

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
