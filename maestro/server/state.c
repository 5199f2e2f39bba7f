/* SPDX-License-Identifier: BSD-3-Clause */
/* The time, and when liveness is checked next: used by every other file here. */
#include "maestro/server/internal.h"
#include "vampire/core/clock.h"

int64_t server_now(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

void server_look_by(struct server *server, int64_t time_ns)
{
    if (time_ns < server->check_ns) {
        server->check_ns = time_ns;
    }
}
