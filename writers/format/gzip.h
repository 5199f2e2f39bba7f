/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts packed by gzip, for what goes over HTTP. One thread at a time. */
#pragma once

#include <libdeflate.h>

#include "writers/format/text.h"

/* Fast, and a tenth of the bytes: labels repeat. */
#define VAMP_GZIP_LEVEL 3

/* Makes `packed` the packed bytes of `text`, in place of what it has. False: no memory; it is
 * empty. */
bool vamp_gzip(struct libdeflate_compressor *compressor, const struct vamp_text *text,
               struct vamp_text *packed);
