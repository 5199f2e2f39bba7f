/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The carrier (carrier.h) over streams, where there is no high-speed network: the owner of memory
 * listens with a random key, which is part of its place, and sends what is asked for. So only who
 * has a ticket gets in.
 */
#pragma once

#include "maestro/wire/carrier.h"

/* The provider of its places. */
#define DOOR_PROVIDER "stream"

/* `bind` is the address of this host to listen on, once memory is exposed; it stays. 0 or -errno
 * with text. */
VAMP_MUST_CHECK int door_open(const char *bind, struct carrier **ret_carrier, struct vamp_err *err);
