/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions of the mstro_status values, printed by components and by the pool manager. */
#include "maestro/maestro.h"

static const char *const descriptions[mstro_status_MAX] = {
    [MSTRO_OK] = "success",
    [MSTRO_FAIL] = "failure",
    [MSTRO_INVARG] = "invalid argument",
    [MSTRO_INVMSG] = "message not understood",
    [MSTRO_NOMEM] = "out of memory, or a limit was reached",
    [MSTRO_UNINIT] = "Maestro is not initialised",
    [MSTRO_NOT_TWICE] = "allowed only once",
    [MSTRO_NOENT] = "no such entry",
    [MSTRO_NOMATCH] = "type or value does not match",
    [MSTRO_TIMEOUT] = "timed out",
    [MSTRO_WOULDBLOCK] = "operation would block",
    [MSTRO_INVSTATE] = "not allowed in the current state",
    [MSTRO_NO_PM] = "no pool manager",
    [MSTRO_REFUSED] = "refused by the pool manager",
    [MSTRO_OFI_FAIL] = "libfabric failure",
    [MSTRO_UNIMPL] = "the embedded Maestro does not have this",
};

const char *mstro_status_description(mstro_status status)
{
    return (unsigned)status < mstro_status_MAX ? descriptions[status] : "unknown status";
}
