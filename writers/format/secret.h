/* SPDX-License-Identifier: BSD-3-Clause */
/* A password or token that a format sends to a server. It is read from a file or the environment,
 * never from an option, since options are shown in many places. */
#pragma once

#include <stdbool.h>

#include "vampire/core/err.h"

#define VAMP_SECRET_BYTES 4096

/* 0; -EPERM: everyone may write to the file. `*ret_loose`: others than its owner may read it. 0
 * also for a file that cannot be examined. */
VAMP_MUST_CHECK int vamp_secret_check(const char *path, bool *ret_loose, struct vamp_err *err);
/* Whether a secret sent to this address is not encrypted: http:// to another machine. */
bool vamp_secret_is_shown(const char *url);
/* The first line of the file, or the environment variable if `path` is NULL. 0, with "" if there is
 * none; -EPERM as above; -errno of a file that cannot be read. */
VAMP_MUST_CHECK int vamp_secret_read(const char *path, const char *variable,
                                     char secret[static VAMP_SECRET_BYTES], struct vamp_err *err);
