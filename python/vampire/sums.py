# SPDX-License-Identifier: BSD-3-Clause
"""Adds up rows by key, exactly and a block at a time."""

import numpy as np

from .errors import check_size

ADVICE = "Keep fewer labels with by=[...], take longer intervals with freq=..., or fewer buckets with between=..."
COMBINE = {"min": np.minimum, "max": np.maximum}  # all other fields add, modulo 2^64
COMPACT = 1 << 22  # values that are kept before they are added up
HALF = np.uint64(32)


class Keys:
    """Window, group and bin as one integer, ascending in this order."""

    def __init__(self, groups, bins=1):
        self._group_bits, self._bin_bits = max(groups - 1, 0).bit_length(), (bins - 1).bit_length()

    def of(self, window, group, number=0):
        """The keys of these."""
        return (window << self._group_bits | group) << self._bin_bits | number

    def owner(self, keys):
        """The keys without the bin."""
        return keys >> self._bin_bits

    def bin(self, keys):
        """The bin of keys."""
        return keys & (1 << self._bin_bits) - 1

    def split(self, owners):
        """Window and group of keys without a bin."""
        return owners >> self._group_bits, owners & (1 << self._group_bits) - 1


class Sums:
    """Sums, least and greatest by key. Integers stay exact."""

    def __init__(self, what, fields):
        self._what, self.fields = what, fields
        self._keys, self._columns = [], {field: [] for field in fields}
        self._loose = 0

    def add(self, keys, columns):
        """`keys` int64, one for each value of each column."""
        if not len(keys):
            return
        keys, columns = self._merge(keys, columns)
        self._keys.append(keys)
        for field in self.fields:
            self._columns[field].append(columns[field])
        self._loose += len(keys)
        if self._loose > COMPACT and len(self._keys) > 1:
            self.result()
            self._loose = 0

    def _merge(self, keys, columns):
        base, span = int(keys.min()), int(keys.max() - keys.min()) + 1
        near = keys - base
        if span <= 2 * len(keys) and not COMBINE.keys() & set(self.fields):
            used = np.flatnonzero(np.bincount(near))
            return used + base, {field: _added(near, columns[field], span)[used] for field in self.fields}
        order = np.argsort(near.astype(np.uint16) if span <= 1 << 16 else near, kind="stable")  # 16 bits: much faster
        keys = keys[order]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        merged = {field: COMBINE.get(field, np.add).reduceat(columns[field][order], first) for field in self.fields}
        return keys[first], merged

    def result(self):
        """(keys, {field: values}), by key."""
        if not self._keys:
            return np.empty(0, np.int64), {field: np.empty(0, np.uint64) for field in self.fields}
        keys = np.concatenate(self._keys)
        check_size(self._what, 16 * len(keys) * (1 + len(self.fields)), ADVICE)
        columns = {field: np.concatenate(parts) for field, parts in self._columns.items()}
        keys, columns = self._merge(keys, columns)
        self._keys, self._columns = [keys], {field: [values] for field, values in columns.items()}
        return keys, columns


def _added(places, values, length):
    """The sum of the values of each place, modulo 2^64. bincount adds float64, which is exact for 32 bits of up to
    2^21 values."""
    if int(values.max()) < 1 << 32 and len(values) <= 1 << 21:
        return np.bincount(places, values, length).astype(np.uint64)
    if len(values) > 1 << 21:
        half = len(values) // 2
        return _added(places[:half], values[:half], length) + _added(places[half:], values[half:], length)
    low, high = values & np.uint64(0xFFFFFFFF), values >> HALF
    return _added(places, low, length) + (_added(places, high, length) << HALF)
