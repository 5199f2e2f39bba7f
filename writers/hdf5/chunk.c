/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole chunks, shuffled and compressed here and passed to HDF5 in the form stored in the file. The
 * file is the same as if HDF5 did it: its filters are named in the dataset, and every reader undoes
 * them. HDF5 makes a new compressor for each chunk and so allocates, clears and frees 256 KiB; for
 * a row of a few hundred bytes that was nine tenths of the time.
 */
#include "writers/hdf5/internal.h"

#include <stdlib.h>

#define SMALL_BYTES 4096 /* window of the compressor for small chunks */
#define SMALL_WINDOW_BITS 12
#define SMALL_MEMORY 4
#define LARGE_WINDOW_BITS 15
#define LARGE_MEMORY 8

/* Both or none, as far as hdf5_chunks_done is concerned. */
int hdf5_chunks_init(struct hdf5_chunks *chunks, size_t most_bytes)
{
    if (deflateInit2(&chunks->small, HDF5_DEFLATE_LEVEL, Z_DEFLATED, SMALL_WINDOW_BITS,
                     SMALL_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        return -ENOMEM;
    }
    if (deflateInit2(&chunks->large, HDF5_DEFLATE_LEVEL, Z_DEFLATED, LARGE_WINDOW_BITS,
                     LARGE_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        (void)deflateEnd(&chunks->small);
        return -ENOMEM;
    }
    chunks->made = true;
    const size_t small = deflateBound(&chunks->small, most_bytes);
    const size_t large = deflateBound(&chunks->large, most_bytes);
    chunks->packed_bytes = small > large ? small : large;
    chunks->shuffled_bytes = most_bytes;
    chunks->shuffled = malloc(most_bytes);
    chunks->packed = malloc(chunks->packed_bytes);
    return chunks->shuffled == NULL || chunks->packed == NULL ? -ENOMEM : 0;
}

void hdf5_chunks_done(struct hdf5_chunks *chunks)
{
    if (chunks->made) {
        (void)deflateEnd(&chunks->small);
        (void)deflateEnd(&chunks->large);
    }
    free(chunks->shuffled);
    free(chunks->packed);
    *chunks = (struct hdf5_chunks){.made = false};
}

/* All first bytes of the numbers, then all second ones. */
static void shuffle(const uint64_t *numbers, size_t count, unsigned char *out)
{
    for (size_t i = 0; i < count; i++) {
        for (unsigned byte = 0; byte < sizeof *numbers; byte++) {
            out[byte * count + i] = (unsigned char)(numbers[i] >> (8 * byte));
        }
    }
}

int hdf5_chunk_put(struct hdf5_chunks *chunks, hid_t dataset, const hsize_t *start,
                   const uint64_t *numbers, size_t count)
{
    const size_t bytes = count * sizeof *numbers;
    if (bytes > chunks->shuffled_bytes) {
        return -ENOBUFS;
    }
    shuffle(numbers, count, chunks->shuffled);
    z_stream *stream = bytes <= SMALL_BYTES ? &chunks->small : &chunks->large;
    stream->next_in = chunks->shuffled;
    stream->avail_in = (uInt)bytes;
    stream->next_out = chunks->packed;
    stream->avail_out = (uInt)chunks->packed_bytes;
    if (deflateReset(stream) != Z_OK || deflate(stream, Z_FINISH) != Z_STREAM_END) {
        return -EIO;
    }
    const size_t packed = chunks->packed_bytes - stream->avail_out;
    return H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, start, packed, chunks->packed) < 0 ? -EIO : 0;
}
