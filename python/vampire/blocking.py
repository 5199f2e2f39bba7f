# SPDX-License-Identifier: BSD-3-Clause
"""Blocked time by who was waited for, in the windows in which it elapsed."""

import numpy as np
import pandas as pd

from .compute import history_of
from .errors import Error
from .models import UNNAMED
from .sums import Keys, Sums

PARTS = ("for_offer", "for_start", "moving", "unknown", "held_back")
UNKNOWN, HELD = 3, 4
TINY = 1e-9      # s; smaller values are rounding errors
SILENT = 30.0    # minimum time of pending demands, or without an operation, for a component to be stuck or stopped, s
LONGER = 3.0     # and the minimum ratio to its longest earlier one
PENDING = 0.005  # and of pending demands: minimum fraction of the observed time
FULL = 0.95      # fraction of a window; a window with more has been waited through
WINDOWS = 3600   # limit; with more buckets, a window spans several


def lacking(history):
    """Why the files have no blocked time by producer; "" if they have it."""
    for name, labels in (("blocked_ns", ("component",)), ("blocked_on_ns", ("component", "producer", "part")),
                         ("blocked_on_before_ns", ("component", "producer", "part"))):
        if name not in history.metrics:
            return f"the files have no {name}"
        if len(history.available(name, *labels)) < len(labels):
            absent = [label for label in labels if not history.available(name, label)]
            return f"{name} has no label {' or '.join(absent)} in these files"
    return ""


class Blocked:  # pylint: disable=too-many-instance-attributes
    """One row per window, blocked component, other component and part. Columns: window, component and other (indices into `names`),
    part (index into PARTS) and seconds. `other` is the producer, or the consumer that held the component back. `by_model`: `names` has
    models, because the files have no components. Raises the errors of History if the files cannot be read."""

    def __init__(self, history):
        self.history = history
        step = max(1, -(-len(history.times) // WINDOWS))
        starts, window = np.unique(history.times, return_inverse=True)
        self.starts, self.window = starts[::step], window // step
        self.ends = np.zeros(len(self.starts), np.int64)
        np.maximum.at(self.ends, self.window, history.times + history.bucket_ns)
        self.by_model = "component" not in history.labels("blocked_ns")
        self.names, self._places = [], {}
        self.blocked = self._per_component("blocked_ns")
        self.window_of, self.component, self.other, self.part, self.seconds = self._dated()
        operations = self._operations()
        self.blocked, self.unattributed = self._padded(self.blocked), self._padded(self.unattributed)
        self.operations, self.demands, self.offers = (None if one is None else self._padded(one) for one in operations)

    def _padded(self, cells):
        """With a row for each name."""
        return np.pad(cells, ((0, len(self.names) - len(cells)), (0, 0)))

    def place(self, name):
        """The place of a name in `names`, which it gets if it has none yet."""
        if name not in self._places:
            self._places[name] = len(self.names)
            self.names.append(name)
        return self._places[name]

    def _sums(self, metric, *labels):
        """(window, group, ns, values of the labels of each group) of a counter, each window and group once."""
        history = self.history
        groups = history.groups(metric, tuple(history.available(metric, *labels)))
        sums, keys = Sums(metric, ("delta",)), Keys(max(1, len(groups)))
        for bucket, group, block in history.blocks(metric, groups, ("delta",)):
            counted = (bucket >= 0) & (group >= 0)
            sums.add(keys.of(self.window[bucket[counted]], group[counted].astype(np.int64)), {"delta": block.fields["delta"][counted]})
        found, columns = sums.result()
        return *keys.split(found), columns["delta"].astype(np.float64), groups.rows

    def _per_component(self, metric):
        """Seconds of a counter of ns, [name, window]."""
        window, group, values, rows = self._sums(metric, "component")
        places = np.array([self.place(row[0]) for row in rows], np.int64)
        return self._cells(places[group], window, values * 1e-9)

    def _operations(self):
        """[all operations, demands, offers], each by name and window; None for each if the files have no operations by component."""
        if len(self.history.available("pool_operations", "component", "operation")) < 2:
            return None, None, None
        window, group, values, rows = self._sums("pool_operations", "component", "operation")
        places = np.array([self.place(row[0]) for row in rows], np.int64)
        kinds = np.array([row[1] for row in rows], object)
        return [self._cells(places[group], window, values * which[group]) for which in (np.ones(len(rows)), kinds == "demand", kinds == "offer")]

    def _cells(self, place, window, values):
        """[name, window]: sums of the values."""
        count = len(self.starts)
        return np.bincount(place * count + window, values, len(self.names) * count).reshape(-1, count)

    def _pairs(self, metric, *labels):
        """[window, component, other, part, seconds] of a counter by two components, in the order of these."""
        window, group, values, rows = self._sums(metric, *labels)
        columns = np.array([(self.place(row[0]), self.place(row[1]), PARTS.index(row[2]) if row[2:] and row[2] in PARTS else UNKNOWN)
                            for row in rows], np.int64).reshape(-1, 3)[group]
        order = np.lexsort((*columns.T[::-1], window))
        return [column[order] for column in (window, *columns.T, values * 1e-9)]

    def _shares(self):
        """The counted time as (window, component, other, part, seconds), and for each row the seconds that elapsed before the window."""
        labels = ("component", "producer", "part")
        shares, before = self._pairs("blocked_on_ns", *labels), self._pairs("blocked_on_before_ns", *labels)
        shape = (len(self.starts), len(self.names), len(self.names), len(PARTS))
        keys, its = (np.ravel_multi_index(one[:4], shape) for one in (shares, before))
        early = np.zeros(len(keys))
        early[np.isin(keys, its)] = before[4][np.isin(its, keys)]  # both are in the order of window and series
        return shares, np.minimum(early, shares[4])

    def _dated(self):
        """The columns of the rows. Blocked time is counted in the window in which its producer becomes certain. The part that elapsed
        earlier is moved to the uninterrupted preceding windows in which the component was blocked, the nearest first. A window receives
        at most its blocked time that is not attributed yet; the rest stays in the window in which it was counted."""
        shares, early = self._shares()
        window, component, _, _, seconds = shares
        was = self._padded(self.blocked)
        free = was.copy()
        np.subtract.at(free, (component, window), seconds - early)
        rows = [[*shares[:4], seconds - early]]
        # All early shares of a component in a window are moved together.
        moved = np.flatnonzero(early > 0)
        together, member = np.unique(component[moved] * len(self.starts) + window[moved], return_inverse=True)
        whose, since = np.divmod(together, len(self.starts))
        whole = np.bincount(member, early[moved], len(together))
        rest, todo, back = whole.copy(), np.flatnonzero(whole > TINY), 0
        while len(todo):
            back += 1
            todo = todo[since[todo] >= back]
            todo = todo[was[whose[todo], since[todo] - back] > TINY]
            taken = np.minimum(rest[todo], free[whose[todo], since[todo] - back])
            free[whose[todo], since[todo] - back] -= taken
            rest[todo] -= taken
            part = np.zeros(len(together))
            part[todo] = taken / whole[todo]
            some = moved[part[member] > 0]
            rows.append([window[some] - back, *(column[some] for column in shares[1:4]), early[some] * part[member][part[member] > 0]])
            todo = todo[rest[todo] > TINY]
        rows.append([*(column[moved] for column in shares[:4]), early[moved] * (rest / whole)[member]])
        self.unattributed = np.maximum(free, 0)
        if len(self.history.available("held_back_ns", "component", "consumer")) == 2:
            rows.append(self._pairs("held_back_ns", "component", "consumer"))
            rows[-1][3][:] = HELD
        return [np.concatenate(columns) for columns in zip(*rows)]

    def _longest_wait(self, place, first, end):
        """The longest time without a pause, s, that a component was blocked between these windows; its first wait, before a run or a phase
        begins, does not count."""
        is_full = self.blocked[place, first:end] > FULL * (self.ends - self.starts)[first:end] * 1e-9
        edges = np.flatnonzero(np.diff(np.concatenate([[False], is_full, [False]]).astype(int)))
        waits = [float(self.ends[first + end - 1] - self.starts[first + begin]) * 1e-9 for begin, end in edges.reshape(-1, 2) if begin]
        return max(waits, default=0.0)

    def stuck(self):
        """{index of a component: first window} for components with demands that are still pending when they leave or when the files end."""
        found, width = {}, (self.ends - self.starts) * 1e-9
        for place, name in enumerate(self.names):
            used = np.flatnonzero(self.blocked[place])
            if not len(used) or name in UNNAMED:
                continue
            first = int(used[-1])
            if self.operations is not None and self.operations[place, first + 2:].any():
                continue  # it went on; its leave is in the next window at the latest
            while first > 0 and self.unattributed[place, first - 1] > FULL * width[first - 1]:
                first -= 1
            usual = LONGER * self._longest_wait(place, used[0], first)
            if self.unattributed[place, first:].sum() > max(SILENT, PENDING * width.sum(), usual):
                found[place] = first
        return found


def blocked(history, output=None, between=None, where=None):
    """Blocked time by component and by the component it waited for: a DataFrame, a row for each time, component (or model), other, part
    and its seconds. The blocked time of a component is divided among those it waited for; `other` is the producer, or with part
    `held_back` the consumer that kept the component from withdrawing a CDO. `time` is the start of the bucket in which the seconds
    elapsed; with more than 3,600 buckets, of a group of buckets. `where`: {column: value or list of values}. Raises Error if the files
    have no blocked time by producer."""
    history = history_of(history, output, between)
    why = lacking(history)
    if why:
        raise Error(f"who was blocked on whom is not known: {why}")
    found = Blocked(history)
    names = np.array(found.names, object)
    frame = pd.DataFrame({"time": found.starts[found.window_of].astype("datetime64[ns]"), "component": names[found.component],
                          "other": names[found.other], "part": np.array(PARTS, object)[found.part], "seconds": found.seconds})
    for column, values in (where or {}).items():
        frame = frame[frame[column].isin([values] if isinstance(values, str) else list(values))]
    return frame.groupby(["time", "component", "other", "part"], as_index=False, sort=True).seconds.sum()
