/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The carrier (carrier.h) over one reliable-datagram endpoint of libfabric: registered memory and
 * remote reads. For high-speed networks, and for processes of one host (shm). libfabric itself is
 * loaded by processes whose payloads it carries, and stays.
 */
#pragma once

#include "maestro/wire/carrier.h"

/* The provider that the user names: `wanted`, else MSTRO_OFI_PROVIDER, else FI_PROVIDER, else "".
 */
const char *fabric_provider_choice(const char *wanted);
/* Whether it is one of these (behind a semicolon may be more). Does not ask libfabric. */
bool fabric_provider_is_known(const char *name);
#define FABRIC_PROVIDERS                                                                           \
    "allowed are verbs, cxi, efa and opx where there is such a network, shm on a single host, "    \
    "tcp, "                                                                                        \
    "and stream, which needs no libfabric"
/* The provider of the high-speed network that this host has; NULL: none. Asks libfabric only where
 * the kernel knows such a device. */
const char *fabric_present(void);
/* Opens an endpoint of the same provider and protocol as `like` on the address `bind` (providers
 * that stay on one host ignore it). 0, or -errno with a text that names what the provider lacks and
 * which providers are usable. */
VAMP_MUST_CHECK int fabric_open(const struct carrier_place *like, const char *bind,
                                struct carrier **ret_carrier, struct vamp_err *err);
/* Call when the process at this place is believed to be dead: removes what it could not remove
 * itself (a file of the shm provider; only if no process of its number exists). */
void fabric_bury(const struct carrier_place *place);
