/* SPDX-License-Identifier: BSD-3-Clause */
/* A password or token that a format sends to a server. It is read from a file or the environment
 * and is never an option, since many outputs show the options. */
#pragma once

#include <stdbool.h>

#include "vampire/core/err.h"

#define VAMP_SECRET_BYTES 4096

/* Checks the permissions of the file. Returns 0, also if the file cannot be examined, or -EPERM if
 * everyone may write to it. `*ret_loose` is set if users other than the owner may read it. */
VAMP_MUST_CHECK int vamp_secret_check(const char *path, bool *ret_loose, struct vamp_err *err);
/* Whether a secret would be sent to this address unencrypted: http:// to another machine. */
bool vamp_secret_is_shown(const char *url);
/* Reads the first line of the file, or the environment variable if `path` is NULL. Returns 0, with
 * "" if there is no secret; -EPERM as above; or -errno if the file cannot be read. */
VAMP_MUST_CHECK int vamp_secret_read(const char *path, const char *variable,
                                     char secret[static VAMP_SECRET_BYTES], struct vamp_err *err);
