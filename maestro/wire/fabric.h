/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The carrier (carrier.h) over one reliable-datagram endpoint of libfabric: registered memory and
 * remote reads. For high-speed networks, and between processes on one host (shm). libfabric is
 * loaded only by processes whose payloads it carries, and is never unloaded.
 */
#pragma once

#include "maestro/wire/carrier.h"

/* Returns the provider chosen by the user: `wanted`, else MSTRO_OFI_PROVIDER, else FI_PROVIDER,
 * else "". */
const char *fabric_provider_choice(const char *wanted);
/* Returns whether the name is a known provider, possibly followed by a semicolon and more names.
 * Does not use libfabric. */
bool fabric_provider_is_known(const char *name);
#define FABRIC_PROVIDERS                                                                           \
    "allowed are verbs, cxi, efa and opx with such a network, shm on a single host, tcp, and "     \
    "stream, "                                                                                     \
    "which needs no libfabric"
/* Returns the provider for this host's high-speed network; NULL: none. Uses libfabric only if the
 * kernel has such a device. */
const char *fabric_present(void);
/* Opens an endpoint with the provider and protocol of `like` on the address `bind` (ignored by
 * providers that are local to one host). Returns 0, or -errno with a text that names the features
 * missing in the provider and the usable providers. */
VAMP_MUST_CHECK int fabric_open(const struct carrier_place *like, const char *bind,
                                struct carrier **ret_carrier, struct vamp_err *err);
/* Called when the process at this location is believed to be dead. Removes files that the process
 * could not remove itself (a file of the shm provider), provided that no process with its id
 * exists. */
void fabric_bury(const struct carrier_place *place);
