# SPDX-License-Identifier: BSD-3-Clause
"""The bins of histograms."""

import numpy as np

EXACT = np.uint64(1 << 53)  # integers below it are exact as float64
BITS = 4                    # of the fraction of a float64 suffice: vampire cuts a doubling into at most 16 bins


class Bins:
    """Finds the bin of a value. vampire cuts each doubling into equal parts, so the exponent and the first bits of
    the fraction of a value as a floating-point number are an index of a table; that is several times as fast
    as a search."""

    def __init__(self, lower):
        self._lower = lower
        starts = _key(lower)
        exact = len(lower) > 0 and np.array_equal(_value(starts), lower) and lower[0] == 0
        self._table = np.searchsorted(starts, np.arange(_key(np.array([~np.uint64(0)]))[0] + 1), "right").astype(np.int32) - 1 \
            if exact else None

    def of(self, values):
        """The number of the last bin whose lower edge is not greater than the value, of each value."""
        if self._table is None:
            return np.searchsorted(self._lower, values, "right") - 1
        return self._table[_key(values)]


def _key(values):
    """Numbers from 0, which ascend with the values."""
    if len(values) and values.max() >= EXACT:  # must not be rounded up
        values = np.where(values >= EXACT, values & ~np.uint64(0x7FF), values)
    bits = values.astype(np.float64).view(np.int64) >> 52 - BITS
    return np.maximum(bits - (1022 << BITS), 0)


def _value(keys):
    """The smallest value of each key."""
    return np.where(keys > 0, (keys + (1022 << BITS) << 52 - BITS).view(np.float64), 0).astype(np.uint64)
