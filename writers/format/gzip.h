/* SPDX-License-Identifier: BSD-3-Clause */
/* Compression of texts by gzip, for HTTP. One thread at a time. */
#pragma once

#include <libdeflate.h>

#include "writers/format/text.h"

/* Fast, and reduces the texts to a tenth, since labels repeat. */
#define VAMP_GZIP_LEVEL 3

/* Replaces `packed` by the compressed bytes of `text`. False: out of memory; it is empty. */
bool vamp_gzip(struct libdeflate_compressor *compressor, const struct vamp_text *text,
               struct vamp_text *packed);
