/* SPDX-License-Identifier: BSD-3-Clause */
/* The time, and the loss of the connection: used by every other file of a remote port. */
#include <stdio.h>

#include "maestro/client/remote_internal.h"
#include "vampire/core/clock.h"

int64_t remote_now(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

void remote_lose(struct remote *remote, const char *text)
{
    if (remote->gone) {
        return;
    }
    remote->gone = true;
    (void)snprintf(remote->gone_text, sizeof remote->gone_text, "%s", text);
    fetch_cancel(&remote->fetcher, NULL);
}
