/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a status of Maestro means, whatever statuses the maestro.h of this build has. No state; any
 * thread.
 */
#ifndef VAMP_LIVE_MAESTRO_STATUS_H
#define VAMP_LIVE_MAESTRO_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#include <maestro.h>

#include "maestro_probe.h"

/* Text on a status and on what made it, in `text`; always terminated. */
void vamp_maestro_status_text(mstro_status status, char *text, size_t bytes);
/* The status says that there is no pool manager (any more). */
bool vamp_maestro_status_no_manager(mstro_status status);
/* There was no memory, which may change: the same again may succeed. */
bool vamp_maestro_status_no_memory(mstro_status status);
bool vamp_maestro_status_refused(mstro_status status);
/* The environment variable that holds the pool manager's info. */
const char *vamp_maestro_info_variable(void);

#endif
