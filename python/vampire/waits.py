# SPDX-License-Identifier: BSD-3-Clause
"""Who waited for whom in which part of a wait, by windows of time: what the diagnosis looks at."""

import numpy as np

from .look import natural
from .models import model_of
from .plots import PARTS
from .sums import Keys, Sums

METRIC, UNDIVIDED = "demand_wait_part_ns", "demand_wait_ns"
UNKNOWN = PARTS.index("unknown")
WINDOWS = 3600  # at most: of more buckets several are one
EVERYBODY = "all components"


def source_of(history):
    """(metric, whether it tells the parts of waits, its labels of producer and consumer, each None where there is none): what
    says most of the waits in these files; None: nothing does."""
    has = {name: set(history.metric(name).labels) for name in (METRIC, UNDIVIDED) if name in history.metrics}
    if not has:
        return None
    metric = METRIC if UNDIVIDED not in has or has.get(METRIC, set()) & {"part", "producer", "producer_model"} else UNDIVIDED
    pairs = [("producer", "component"), ("producer_model", "model"), *((None, one) for one in ("component", "model", None))]
    return metric, "part" in has[metric], next(pair for pair in pairs if {*pair} - {None} <= has[metric])


class Waits:
    """Sums and counts of the parts of all waits, by producer or consumer and window, from one pass over the rows. Where the
    files do not tell the parts, the whole waits are of the part `unknown`, which is the only one in `parts`."""

    def __init__(self, history):
        self.history = history
        self.metric, has_parts, self.labels = source_of(history)
        self.parts = PARTS[:UNKNOWN] if has_parts else PARTS[UNKNOWN:]
        self.groups = history.groups(self.metric, (*filter(None, self.labels), *(["part"] if has_parts else [])))
        step = max(1, -(-len(history.times) // WINDOWS))
        self.starts, self.window = np.unique(history.times, return_inverse=True)
        self.starts, self.window = self.starts[::step], self.window // step
        ends = np.zeros(len(self.starts), np.int64)
        np.maximum.at(ends, self.window, history.times + history.bucket_ns)
        self.ends = ends
        self.whole = np.ones(len(self.starts), bool)
        self.whole[self.window[~history.complete()]] = False
        self._sums = [Sums(self.metric, ("count", "sum")) for _ in (0, 1, 2)]
        self._read()

    def _read(self):
        rows = self.groups.rows
        at = (0, 0 if self.labels[0] is None else 1)
        names = [np.array([row[at[side]] if self.labels[side] else EVERYBODY for row in rows], object) for side in (0, 1)]
        self.names = [sorted(set(column), key=natural) for column in names]
        places = [np.array([{name: n for n, name in enumerate(known)}[name] for name in column], np.int64)
                  for known, column in zip(self.names, names)]
        part = np.array([PARTS.index(row[-1]) if len(self.parts) > 1 and row[-1] in PARTS else UNKNOWN for row in rows],
                        np.int64)  # (other): unknown
        self.pairs = list(zip(*(column.tolist() for column in places), part.tolist()))  # of each group
        keys = [Keys(4 * len(known)) for known in self.names]
        for bucket, group, block in self.history.blocks(self.metric, self.groups, ("count", "sum")):
            counted = (bucket >= 0) & (group >= 0)
            bucket, group = bucket[counted], group[counted]
            values = {field: column[counted] for field, column in block.fields.items()}
            for side in (0, 1):
                self._sums[side].add(keys[side].of(self.window[bucket], 4 * places[side][group] + part[group]), values)
            self._sums[2].add(group.astype(np.int64), values)
        self.series = []  # [side]: [name, part, window] of (seconds, counts)
        for side in (0, 1):
            found, columns = self._sums[side].result()
            window, place = keys[side].split(found)
            both = []
            for field, scale in (("sum", 1e9), ("count", 1.0)):
                cells = np.zeros((len(self.names[side]) * 4, len(self.starts)))
                cells[place, window] = columns[field] / scale
                both.append(cells.reshape(-1, 4, len(self.starts)))
            self.series.append(both)
        self.all = self._matrix(*self._sums[2].result())

    def _matrix(self, groups, columns):
        """(seconds, counts) [producer, consumer, part]"""
        shape = (len(self.names[0]), len(self.names[1]), 4)
        at = tuple(np.array([self.pairs[group] for group in groups], np.int64).reshape(-1, 3).T)
        seconds, counts = np.zeros(shape), np.zeros(shape)
        seconds[at], counts[at] = columns["sum"] / 1e9, columns["count"]
        return seconds, counts

    def during(self, first, end):
        """The same in these windows."""
        inside = np.flatnonzero((self.window >= first) & (self.window < end))
        if len(inside) == len(self.window):
            return self.all
        sums = Sums(self.metric, ("count", "sum"))
        for bucket, group, block in self.history.blocks(self.metric, self.groups, ("count", "sum"), span=(inside[0], inside[-1] + 1)):
            counted = (bucket >= inside[0]) & (bucket <= inside[-1]) & (group >= 0)
            sums.add(group[counted].astype(np.int64), {field: column[counted] for field, column in block.fields.items()})
        return self._matrix(*sums.result())

    def models(self, side):
        """{model: places of its components}"""
        found = {}
        for place, name in enumerate(self.names[side]):
            found.setdefault(model_of(name, self.history.models), []).append(place)
        return found
