# SPDX-License-Identifier: BSD-3-Clause
"""What files give to those who compute: the values of a metric as rows, a few buckets at a time."""

from typing import NamedTuple, Optional

import numpy as np

FIELDS = {
    "counter": ("delta",),
    "gauge": ("last", "min", "max"),
    "histogram": ("count", "sum", "min", "max"),
}
BLOCK_ROWS = 1 << 17  # rows that are in memory at a time; more do not fit into a processor's cache


class Metric(NamedTuple):
    """A metric as files describe it."""

    name: str
    kind: str      # counter, gauge or histogram
    labels: tuple  # of its finest series
    attrs: dict


class Entries(NamedTuple):
    """The bins of a block of histograms. A bin of a row may have several entries, which add up."""

    row: np.ndarray    # index of the row in the block
    bin: np.ndarray
    count: np.ndarray


class Block(NamedTuple):
    """Rows of some buckets, by bucket: each is one series that has a value there."""

    time: np.ndarray    # row of the file's `time`
    series: np.ndarray  # number of the series in its Source
    fields: dict        # name of FIELDS -> one value a row
    entries: Optional[Entries]


class Source:
    """Where a file has a metric, with these labels.

    labels   the labels of its series
    series(first) one array of label values for each label, by number of the series, from number `first` on
    identity() an Identity; None: not known
    ids()    the identifiers of the series, by number; none where the file has none
    held     whether a value holds until the next one
    length   how many series a closed file has; None: that takes reading their labels
    blocks(hdf5, first, end, fields, bins) the rows of the buckets first to end - 1, in order
    totals(hdf5, first, end, series) a counter since the start of its run, [end - first, series]
    """

    held, length = False, None

    def __init__(self, metric, labels):
        self.metric, self.labels = metric, tuple(labels)

    def ids(self):
        return np.empty(0, "S1")

    def identity(self):
        return None


class Identity(NamedTuple):
    """Identifies the series of a source. Two sources of the same type and labels have the same series in the same order if their
    Identities are equal."""

    shape: str      # of the file
    names: bytes    # words of closed labels, and check values of the names that labels refer to
    series: bytes   # check values of the labels of each series
    labels: tuple   # values of the labels if there is at most one series, since one check value is not unique enough

    def common(self, other):
        """The number of leading series that are the same in both."""
        length = min(len(self.names), len(other.names))
        same_names = self.shape == other.shape and self.names[:length] == other.names[:length]
        if not same_names or self.labels or other.labels or not self.series:
            return 0
        return common(np.frombuffer(self.series, np.uint32), np.frombuffer(other.series, np.uint32))


def common(first, second):
    """The number of leading values that are the same in both."""
    length = min(len(first), len(second))
    differ = np.flatnonzero(first[:length] != second[:length])
    return int(differ[0]) if len(differ) else length


def steps(weights, most=BLOCK_ROWS):
    """Ranges of indices, so that the weights in each add up to about `most`; [(first, end)]."""
    found, first, total = [], 0, 0
    for index, weight in enumerate(weights):
        if total and total + weight > most:
            found.append((first, index))
            first, total = index, 0
        total += weight
    return found + [(first, len(weights))] if len(weights) else found
