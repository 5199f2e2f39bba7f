/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of libfabric's providers serves an endpoint, and why none does. Any thread. */
#ifndef MAESTRO_WIRE_PROVIDER_H
#define MAESTRO_WIRE_PROVIDER_H

#include <rdma/fabric.h>

#include "maestro/wire/fabric.h"

/* Before anything else of libfabric: bounds its memory by settings that the user can override. */
void provider_prepare(void);
/* Finds the provider of this kind that can listen on `bind` (as fabric_open; NULL: any address) and
 * has what an endpoint needs. 0 and an info to be freed with fi_freeinfo, or -errno with a text
 * that names what is missing and which providers are usable. Keeps the program's signal handlers.
 */
VAMP_MUST_CHECK int provider_find(const struct carrier_place *kind, const char *bind,
                                  struct fi_info **ret_info, struct vamp_err *err);

#endif
