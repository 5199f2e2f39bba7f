/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole chunks, shuffled and compressed here and passed to HDF5 in the form stored in the file. The
 * file is the same as if HDF5 did it: its filters are named in the dataset, and every reader undoes
 * them. HDF5 makes a new compressor for each chunk and so allocates, clears and frees 256 KiB; for
 * a row of a few hundred bytes that was nine tenths of the time.
 */
#include "writers/hdf5/internal.h"

#include <stdlib.h>
#include <string.h>

/* Runs of one byte and a code of few bits for the others: shuffled numbers have nothing else. The
 * block, 2^(MEMORY + 6) bytes, is short enough for a code of its own for each of the bytes that
 * differ, and what is cleared for each chunk is small. */
#define WINDOW_BITS 12
#define MEMORY 5

int hdf5_chunks_init(struct hdf5_chunks *chunks, size_t most_bytes)
{
    if (deflateInit2(&chunks->stream, HDF5_DEFLATE_LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY, Z_RLE) !=
        Z_OK) {
        return -ENOMEM;
    }
    chunks->made = true;
    chunks->packed_bytes = deflateBound(&chunks->stream, most_bytes);
    chunks->shuffled_bytes = most_bytes;
    chunks->shuffled = malloc(most_bytes);
    chunks->packed = malloc(chunks->packed_bytes);
    return chunks->shuffled == NULL || chunks->packed == NULL ? -ENOMEM : 0;
}

void hdf5_chunks_done(struct hdf5_chunks *chunks)
{
    if (chunks->made) {
        (void)deflateEnd(&chunks->stream);
    }
    free(chunks->shuffled);
    free(chunks->packed);
    *chunks = (struct hdf5_chunks){.made = false};
}

/* All first bytes of the numbers, then all second ones, up to the width in the file. */
static void shuffle(const uint64_t *numbers, size_t count, size_t bytes, unsigned char *out)
{
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++) {
        any |= numbers[i];
    }
    for (unsigned byte = 0; byte < bytes; byte++, out += count) {
        if ((any >> (8 * byte)) == 0) {
            memset(out, 0, count * (bytes - byte));
            return;
        }
        for (size_t i = 0; i < count; i++) {
            out[i] = (unsigned char)(numbers[i] >> (8 * byte));
        }
    }
}

int hdf5_chunk_put(struct hdf5_chunks *chunks, hid_t dataset, const hsize_t *start,
                   const uint64_t *numbers, size_t count, size_t bytes)
{
    if (count * bytes > chunks->shuffled_bytes) {
        return -ENOBUFS;
    }
    shuffle(numbers, count, bytes, chunks->shuffled);
    z_stream *stream = &chunks->stream;
    stream->next_in = chunks->shuffled;
    stream->avail_in = (uInt)(count * bytes);
    stream->next_out = chunks->packed;
    stream->avail_out = (uInt)chunks->packed_bytes;
    if (deflateReset(stream) != Z_OK || deflate(stream, Z_FINISH) != Z_STREAM_END) {
        return -EIO;
    }
    const size_t packed = chunks->packed_bytes - stream->avail_out;
    return H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, start, packed, chunks->packed) < 0 ? -EIO : 0;
}
