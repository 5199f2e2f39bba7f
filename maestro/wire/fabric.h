/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The carrier (carrier.h) over one reliable-datagram endpoint of libfabric: registered memory and
 * remote reads. For high-speed networks, and for processes of one host (shm). libfabric is loaded
 * only by processes whose payloads it carries, and is never unloaded.
 */
#pragma once

#include "maestro/wire/carrier.h"

/* The user's choice of provider: `wanted`, else MSTRO_OFI_PROVIDER, else FI_PROVIDER, else "". */
const char *fabric_provider_choice(const char *wanted);
/* Whether it is one of these (more may follow a semicolon). Does not use libfabric. */
bool fabric_provider_is_known(const char *name);
#define FABRIC_PROVIDERS                                                                           \
    "allowed are verbs, cxi, efa and opx with such a network, shm on a single host, tcp, and "     \
    "stream, "                                                                                     \
    "which needs no libfabric"
/* The provider of this host's high-speed network; NULL: none. Uses libfabric only if the kernel has
 * such a device. */
const char *fabric_present(void);
/* Opens an endpoint of the same provider and protocol as `like` on the address `bind` (providers
 * that stay on one host ignore it). 0, or -errno with a text that names what the provider lacks and
 * which providers are usable. */
VAMP_MUST_CHECK int fabric_open(const struct carrier_place *like, const char *bind,
                                struct carrier **ret_carrier, struct vamp_err *err);
/* Called when the process at this location is believed to be dead: removes what it could not remove
 * itself (a file of the shm provider; only if no process with its id exists). */
void fabric_bury(const struct carrier_place *place);
