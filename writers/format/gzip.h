/* SPDX-License-Identifier: BSD-3-Clause */
/* gzip compression of texts, for HTTP. One thread at a time. */
#pragma once

#include <libdeflate.h>

#include "writers/format/text.h"

/* A fast level; repeated labels make the texts ten times smaller even so. */
#define VAMP_GZIP_LEVEL 3

/* Replaces the contents of `packed` by the compressed `text`. Returns false if out of memory;
 * `packed` is then empty. */
bool vamp_gzip(struct libdeflate_compressor *compressor, const struct vamp_text *text,
               struct vamp_text *packed);
