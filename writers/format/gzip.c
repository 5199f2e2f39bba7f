/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/gzip.h"

#include <stdlib.h>

bool vamp_gzip(struct libdeflate_compressor *compressor, const struct vamp_text *text,
               struct vamp_text *packed)
{
    const size_t room = libdeflate_gzip_compress_bound(compressor, text->used);
    if (room > packed->capacity) {
        vamp_text_done(packed);
        packed->bytes = malloc(room);
        if (packed->bytes == NULL) {
            return false;
        }
        packed->capacity = room;
    }
    packed->used =
        libdeflate_gzip_compress(compressor, text->bytes, text->used, packed->bytes, room);
    return packed->used > 0;
}
