/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name space of the identifiers of series: the same in all runs of a workflow. With a key of
 * the site, only programs that have the key can compute it.
 */
#ifndef VAMP_RUN_SERIES_SPACE_H
#define VAMP_RUN_SERIES_SPACE_H

#include <uuid/uuid.h>

#include "vampire/core/err.h"

/* `key_file`: a file that contains the key, or NULL. 0; -EINVAL: the file contains no key; -errno:
 * it cannot be read. */
VAMP_MUST_CHECK int vamp_series_space(const char *workflow, const char *key_file,
                                      char space[static UUID_STR_LEN], struct vamp_err *err);

#endif
