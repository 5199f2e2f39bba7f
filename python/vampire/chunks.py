# SPDX-License-Identifier: BSD-3-Clause
"""Reads rows of variables. Compressed chunks are decoded here: HDF5 takes twice the time, equal chunks, such as those
of a column of ones, are decoded once, and HDF5 does not look at what a chunk says of its place."""

import zlib

import h5py
import numpy as np

FILTERS = [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE]
UNSHUFFLED, UNDEFLATED = 1, 2  # bits of a chunk to which HDF5 did not apply the first or the second filter


def read_rows(item, first, end):
    """item[first:end] of a [time, ...] variable. In a file that is being written it may end before `time`;
    what is not there yet is the fill value."""
    last = min(end, item.shape[0])
    if last <= first or not can_decode(item):
        return _read(item, first, end)
    low = first // item.chunks[0]
    numbers = np.arange(low, (last - 1) // item.chunks[0] + 1)
    data = decoded(item, numbers, True).reshape(-1, *item.shape[1:])[first - low * item.chunks[0]:][: last - first]
    return _filled(item, data, end - first)


def _read(item, first, end):
    return _filled(item, item[first:end], end - first)


def _filled(item, data, count):
    if len(data) == count:
        return data
    return np.concatenate([data, np.full((count - len(data), *item.shape[1:]), item.fillvalue, item.dtype)])


def can_decode(item):
    """Whether it is of numbers, and compressed in chunks of whole rows."""
    if item.chunks is None or item.dtype.kind == "S" or item.chunks[1:] != item.shape[1:]:
        return False
    plist = item.id.get_create_plist()
    filters = [plist.get_filter(number)[0] for number in range(plist.get_nfilters())]
    return filters == FILTERS and item.id.get_storage_size() > 0


def decoded(item, numbers, can):
    """All values of these chunks, one after the other. `can`: what can_decode said."""
    rows, size, width = item.chunks[0], int(np.prod(item.chunks)), item.dtype.itemsize
    out = np.empty((len(numbers), size), item.dtype)
    missing = np.arange(len(numbers))
    if can:
        planes, missing = _planes(item, numbers)
        in_values = out.view(np.uint8).reshape(len(numbers), size, width)
        for plane in range(width):
            in_values[:, :, plane] = planes[:, plane]
    for run in np.split(missing, np.flatnonzero(np.diff(numbers[missing]) != 1) + 1) if len(missing) else ():
        first, end = int(numbers[run[0]]) * rows, (int(numbers[run[-1]]) + 1) * rows
        out[run] = _read(item, first, end).reshape(len(run), size)
    return out.ravel()


def _planes(item, numbers):
    """([chunk, byte of a value, value] of these chunks, which of them HDF5 must read, because nothing is stored there)."""
    size, width, others = int(np.prod(item.chunks)), item.dtype.itemsize, (0,) * (item.ndim - 1)
    rows, raws, missing, read = item.chunks[0], [], [], item.id.read_direct_chunk
    before, behind, raw, variable = None, b"", b"", zlib.crc32(item.name[1:].encode())
    for at, number in enumerate(numbers.tolist()):
        try:
            mask, packed = read((number * rows, *others))
        except (OSError, RuntimeError, ValueError):
            missing.append(at)
            raws.append(bytes(size * width))
            continue
        end = len(packed) - len(behind)
        if (mask, packed[:end]) == before:
            behind = packed[end:]
        else:
            raw, behind = (packed, b"") if mask & UNDEFLATED else _inflated(packed)
            if mask & UNSHUFFLED:
                raw = np.frombuffer(raw, np.uint8).reshape(size, width).T.tobytes()
            before = mask, packed[:len(packed) - len(behind)]
        # Nothing, in files of format 2 and those that another program packed, or its place.
        if behind and behind != bytes([zlib.crc32(number.to_bytes(8, "little"), variable) & 255]):
            raise OSError(f"{item.name[1:]}: one of its chunks is in the place of another")
        raws.append(raw)
    return np.frombuffer(b"".join(raws), np.uint8).reshape(len(numbers), width, size), np.array(missing, np.int64)


def _inflated(packed):
    """(what is in the stream, what follows it)."""
    stream = zlib.decompressobj()
    raw = stream.decompress(packed)
    if not stream.eof:
        raise OSError("a compressed chunk has no end")
    return raw, stream.unused_data
