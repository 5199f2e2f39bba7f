# SPDX-License-Identifier: BSD-3-Clause
"""Reads ranges of rows of columns."""

import numpy as np

from .chunks import can_decode, decoded
from .files import dataset


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
            item = dataset(self.group, name)
            self._items[name] = item, can_decode(item)
        item, can = self._items[name]
        numbers, mask = ranges.chunks(item.chunks[0])
        return decoded(item, numbers, can)[mask]
