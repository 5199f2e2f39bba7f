/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool manager for tests, served in this process. */
#pragma once

#include "maestro/client/port_local.h"
#include "maestro/server/server.h"
#include "tests/unit/client_component.h"

struct served {
    struct component local; /* with a local port */
    struct server *server;
};

/* Fails the test where the pool manager cannot be reached. */
static inline void serve(struct served *served, const struct server_options *options)
{
    struct vamp_err err = VAMP_ERR_NONE;
    *served = (struct served){0};
    (void)pthread_mutex_init(&served->local.lock, NULL);
    struct port_events events = component_callbacks(&served->local);
    const struct port_member member = {.workflow = COMPONENT_WORKFLOW, .component = "pool manager"};
    assert_int_equal(MSTRO_OK, port_open_local(&member, NULL, &events, &served->local.port, &err));
    if (server_start(served->local.port, COMPONENT_WORKFLOW, options, &served->server, &err) !=
        MSTRO_OK) {
        fail_msg("%s", err.text);
    }
}

/* With what it counted, where `counts` is given. */
static inline void serve_no_more(struct served *served, struct server_counts *counts)
{
    server_stop(served->server, counts);
    component_close(&served->local);
}
