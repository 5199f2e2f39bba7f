/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/maestro_status.h"

#include <stdio.h>

void vamp_maestro_status_text(mstro_status status, char *text, size_t bytes)
{
    const char *more = "";
#if VAMP_MSTRO_HAS_LAST_ERROR
    more = mstro_last_error();
#endif
    (void)snprintf(text, bytes, "%s%s%s%s", mstro_status_description(status),
                   *more != '\0' ? " (" : "", more, *more != '\0' ? ")" : "");
}

bool vamp_maestro_status_no_manager(mstro_status status)
{
#if VAMP_MSTRO_HAS_STATUS_NO_PM
    return status == MSTRO_NO_PM;
#else
    /* Without a status of its own any failure to read a subscription has to be taken for it. */
    return status != MSTRO_OK && status != MSTRO_TIMEOUT;
#endif
}

bool vamp_maestro_status_no_memory(mstro_status status)
{
#if VAMP_MSTRO_HAS_STATUS_NOMEM
    return status == MSTRO_NOMEM;
#else
    (void)status;
    return false;
#endif
}

bool vamp_maestro_status_refused(mstro_status status)
{
#if VAMP_MSTRO_HAS_STATUS_REFUSED
    return status == MSTRO_REFUSED;
#else
    (void)status;
    return false;
#endif
}

const char *vamp_maestro_info_variable(void)
{
#if VAMP_MSTRO_HAS_ENV_POOL_INFO
    return MSTRO_ENV_POOL_INFO;
#else
    return "MSTRO_POOL_MANAGER_INFO";
#endif
}
