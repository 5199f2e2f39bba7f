/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/gzip.h"

#include <stdlib.h>

bool vamp_gzip(struct libdeflate_compressor *compressor, const struct vamp_text *text,
               struct vamp_text *packed)
{
    const size_t bytes_max = libdeflate_gzip_compress_bound(compressor, text->used);
    if (bytes_max > packed->capacity) {
        vamp_text_done(packed);
        packed->bytes = malloc(bytes_max);
        if (packed->bytes == NULL) {
            return false;
        }
        packed->capacity = bytes_max;
    }
    packed->used =
        libdeflate_gzip_compress(compressor, text->bytes, text->used, packed->bytes, bytes_max);
    return packed->used > 0;
}
