/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of libfabric's providers serves an endpoint, and why none does. libfabric itself is loaded
 * here, by processes whose payloads it carries, and stays. Any thread.
 */
#pragma once

#include <rdma/fabric.h>

#include "maestro/wire/fabric.h"

/* Before anything else of libfabric: loads it, its memory bounded by settings that the user can
 * override. 0, or -ENOSYS with text. */
VAMP_MUST_CHECK int provider_load(struct vamp_err *err);
/* libfabric's functions that are none of its headers'; only after provider_load. */
typedef void provider_function(void);
provider_function *provider_find_function(const char *name);
#define PROVIDER_FUNCTION(name) (*(__typeof__(&(name)))provider_find_function(#name))
#define fi_getinfo PROVIDER_FUNCTION(fi_getinfo)
#define fi_dupinfo PROVIDER_FUNCTION(fi_dupinfo)
#define fi_freeinfo PROVIDER_FUNCTION(fi_freeinfo)
#define fi_fabric PROVIDER_FUNCTION(fi_fabric)
#define fi_strerror PROVIDER_FUNCTION(fi_strerror)
/* Finds the provider of this kind that can listen on `bind` (as fabric_open; NULL: any address) and
 * has what an endpoint needs. 0 and an info to be freed with fi_freeinfo, or -errno with a text
 * that names what is missing and which providers are usable. Keeps the program's signal handlers.
 */
VAMP_MUST_CHECK int provider_find(const struct carrier_place *kind, const char *bind,
                                  struct fi_info **ret_info, struct vamp_err *err);
