# SPDX-License-Identifier: BSD-3-Clause
"""Reads ranges of rows of columns. Compressed chunks are decoded here: HDF5 takes twice the time, and equal
chunks, such as those of a column of ones, are decoded once."""

import zlib

import h5py
import numpy as np

from .files import read_rows

FILTERS = [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE]
UNSHUFFLED, UNDEFLATED = 1, 2  # bits of a chunk to which HDF5 did not apply the first or the second filter


class Ranges:
    """The rows starts[n] to starts[n] + counts[n] - 1, ascending."""

    def __init__(self, starts, counts):
        used = np.flatnonzero(counts)
        self._starts, self._ends = starts[used], starts[used] + counts[used]
        self._by_size = {}

    def chunks(self, size):
        """(numbers of the chunks of this many rows, which of all their rows are in the ranges)."""
        if size not in self._by_size:
            first, last = self._starts // size, (self._ends - 1) // size
            parts = [np.arange(low, high + 1) for low, high in zip(first, last)]
            numbers = np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)
            mask = np.zeros(len(numbers) * size, bool)
            moved = (np.searchsorted(numbers, first) - first) * size
            for low, high in zip((self._starts + moved).tolist(), (self._ends + moved).tolist()):
                mask[low:high] = True
            self._by_size[size] = numbers, mask
        return self._by_size[size]


class Columns:
    """The columns of an open group. What a column does not have yet, in a file that is being written, is its fill
    value."""

    def __init__(self, group):
        self.group, self._items = group, {}

    def read(self, name, ranges):
        """The values of a column in the ranges."""
        if name not in self._items:
            item = self.group[name]
            self._items[name] = item, _can_decode(item)
        item, can_decode = self._items[name]
        numbers, mask = ranges.chunks(item.chunks[0])
        return _decoded(item, numbers, can_decode)[mask]


def _can_decode(item):
    plist = item.id.get_create_plist()
    filters = [plist.get_filter(number)[0] for number in range(plist.get_nfilters())]
    return filters == FILTERS and item.id.get_storage_size() > 0


def _decoded(item, numbers, can_decode):
    """All rows of these chunks."""
    size, width = item.chunks[0], item.dtype.itemsize
    out = np.empty((len(numbers), size), item.dtype)
    missing = np.arange(len(numbers))
    if can_decode:
        planes, missing = _planes(item, numbers)
        in_values = out.view(np.uint8).reshape(len(numbers), size, width)
        for plane in range(width):
            in_values[:, :, plane] = planes[:, plane]
    for run in np.split(missing, np.flatnonzero(np.diff(numbers[missing]) != 1) + 1) if len(missing) else ():
        first, end = int(numbers[run[0]]) * size, (int(numbers[run[-1]]) + 1) * size
        out[run] = read_rows(item, first, end).reshape(len(run), size)
    return out.ravel()


def _planes(item, numbers):
    """([chunk, byte of a value, value] of these chunks, which of them HDF5 must read, because nothing is stored there)."""
    size, width = item.chunks[0], item.dtype.itemsize
    raws, missing, before, read, raw = [], [], None, item.id.read_direct_chunk, bytes(size * width)
    for place, number in enumerate(numbers.tolist()):
        try:
            packed = read((number * size,))
        except (OSError, RuntimeError, ValueError):
            missing.append(place)
            raws.append(bytes(size * width))
            continue
        if packed != before:
            mask, raw = before = packed
            raw = raw if mask & UNDEFLATED else zlib.decompress(raw, bufsize=size * width)
            if mask & UNSHUFFLED:
                raw = np.frombuffer(raw, np.uint8).reshape(size, width).T.tobytes()
        raws.append(raw)
    return np.frombuffer(b"".join(raws), np.uint8).reshape(len(numbers), width, size), np.array(missing, np.int64)
