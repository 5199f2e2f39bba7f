# SPDX-License-Identifier: BSD-3-Clause
"""What an HDF5 file says of its run, also while it is written: a bucket that `time` does not have yet is not read."""

import numpy as np

from .chunks import read_rows
from .errors import Error
from .files import NAT, STATES, absences_of, bytes_of, check_format, check_tables, damaged_rows, opened, text_of
from .run_files import ACCOUNT, ASIDE, COUNTERS, HISTOGRAMS, LOSSES, MISSING, OTHER, RESOLUTION, Component, Histogram
from .run_lines import time_of

BLOCK_CELLS = 1 << 18  # that are read at once
NO_VALUE = (1 << 64) - 1


def fill(found, file):
    """Reads an open file into a RunFile."""
    with opened(file.name) as hdf5:
        _Reader(found, hdf5).read()


def _texts(raw):
    """Of a character array; bytes that are no UTF-8 stay what they are."""
    return [text.decode("utf-8", "surrogateescape") for text in bytes_of(raw).tolist()]


class _Reader:
    def __init__(self, found, hdf5):
        self.found, self.hdf5 = found, hdf5
        check_format(text_of(self._attribute("schema_version")))
        found.run, found.workflow, found.output = (text_of(self._attribute(key)) for key in ("run_id", "workflow", "output"))
        found.segment, started = int(self._attribute("segment")), text_of(self._attribute("run_started"))
        found.started = time_of(started)
        if found.started is None:
            raise Error(f"its run_started is no time: {started:.40}")
        found.not_observed, found.examined = absences_of(hdf5), text_of(hdf5.attrs.get("examined", ""))
        # Written last: each of its rows is a whole bucket, and what is opened after it has at least as many.
        self.rows = hdf5["time"].shape[0]
        restarts = hdf5["restart_row"][...].astype(np.int64)
        if "time_check" in hdf5 and (bad := damaged_rows(hdf5, "time_check", False, 0, self.rows)):
            raise Error(f"bucket {bad[0]} in it is not what was written")
        check_tables(hdf5, int(hdf5["how_ended"][()]) == 0)
        self.restart = max(0, int(np.searchsorted(restarts, self.rows)) - 1)  # from which the newest totals hold
        self.restart_row = int(restarts[self.restart]) if len(restarts) else 0

    def _attribute(self, name):
        if name not in self.hdf5.attrs:
            raise Error(f'it is no file of vampire\'s: read attribute "{name}"')
        return self.hdf5.attrs[name]

    def read(self):
        """All of it."""
        found, hdf5 = self.found, self.hdf5
        found.end = STATES.get(int(hdf5["how_ended"][()]), "open")
        if found.end == "ended":
            found.ended, found.reason = int(hdf5["ended"][()]), _texts(hdf5["end_reason"][...])[0]
        if self.rows:
            self._buckets()
            columns = {name: f"events_{name}" for name in ACCOUNT} | {place: f"events_lost_{place}" for place in LOSSES}
            found.account.update((name, int(read_rows(hdf5[column], self.rows - 1, self.rows)[0]))
                                 for name, column in columns.items() if column in hdf5)
            self._operations()
            for name in COUNTERS:
                self._total(name)
            for name in ASIDE:
                self._aside(name)
            for name in HISTOGRAMS:
                self._histogram(name)
            self._resolution()
            self._runs_missing()
        else:  # before the first bucket, every metric is 0
            found.counted.update(("pool_operations", *COUNTERS))
        self._tables()

    def _table(self, *names):
        """The rows of a table, of which the first column has a value in each row that is used."""
        if names[0] not in self.hdf5:
            return []
        length = self.hdf5[names[0]].shape[0]
        columns = [read_rows(self.hdf5[name], 0, length) for name in names]
        columns = [_texts(column) if column.dtype.kind == "S" else column.tolist() for column in columns]
        return [row for row in zip(range(length), *columns) if row[1]]

    def _tables(self):
        for row, name, left, operations, reason in self._table("component_name", "component_left", "component_operations",
                                                               "component_leave_reason"):
            self.found.components[row] = Component(name, left != NAT, operations, reason or "unknown")
        for _, *gap in self._table("gap_reason", "gap_start", "gap_end"):
            self.found.add_gap(*gap)
        for _, rule, severity, state, since, time in self._table("alarm_name", "alarm_severity", "alarm_state",
                                                                 "alarm_since", "alarm_time"):
            self.found.alarm(rule, severity).enter(state, since < time)

    def _buckets(self):
        names = ("bucket_number", "statistics_buckets", "time", "bucket_ns")
        columns = [read_rows(self.hdf5[name], 0, self.rows).tolist() for name in names]
        for bucket in zip(*columns):
            self.found.add_bucket(*bucket)

    # ---- counters

    def _sum(self, item, first):
        """From row `first` on, by the index along the last dimension; of one number a bucket as one."""
        step = max(1, BLOCK_CELLS // max(1, int(np.prod(item.shape[1:]))))
        length = item.shape[-1] if item.ndim > 1 else 1
        sums = np.zeros(length, np.uint64)
        for row in range(first, self.rows, step):
            sums += read_rows(item, row, min(row + step, self.rows)).reshape(-1, length).sum(axis=0, dtype=np.uint64)
        return sums

    def _counter(self, name):
        """Totals at the end of the file; None without the metric."""
        if f"{name}_delta" not in self.hdf5:
            return None
        return self._since_start(self.hdf5[f"{name}_before"], self.hdf5[f"{name}_delta"])

    def _since_start(self, before, delta):
        sums = self._sum(delta, self.restart_row)
        totals = read_rows(before, self.restart, self.restart + 1)  # not there in a live file while they are 0
        return sums + totals.reshape(-1, len(sums)).sum(axis=0, dtype=np.uint64)

    def _own(self):
        """The group of vampire's own metrics. (h5py's `get` takes a damaged group for an absent one.)"""
        return self.hdf5["vampire"] if "vampire" in self.hdf5 else {}

    def _total(self, name):
        if name.startswith("vampire_"):
            own = self._own()
            names = np.array(_texts(own["counter_name"][...]) if "delta" in own else [], object)
            total = self._since_start(own["before"], own["delta"])[names == name] if name in names else None
        else:
            total = self._counter(name)
        if total is not None:
            self.found.counted.add(name)
        self.found.totals[name] = 0 if total is None else int(total.sum())

    def _slot(self, path):
        """The location of a group's rows by bucket: first row and number of rows."""
        slot = _texts(self.hdf5["row_dimension"][...]).index(f"{path}/row")
        return (read_rows(self.hdf5[column], 0, self.rows)[:, slot].astype(np.int64) for column in ("first_row", "rows"))

    def _label(self, group, name):
        """The values of a label, by series. They are texts, or indices into the table of names."""
        values = group[name][...]
        if values.ndim > 1:
            return _texts(values)
        return np.array(_texts(self.hdf5["name_text"][...]), object)[values].tolist()

    def _aside(self, name):
        """A counter by the label `metric`, from the rows of its group."""
        groups = [group for group in self.hdf5 if group.startswith("by_metric") and f"{name}_delta" in self.hdf5[group]]
        for path in groups:
            group = self.hdf5[path]
            firsts, counts = (column[self.restart_row:] for column in self._slot(path))
            used = counts > 0  # first_row means nothing for a bucket without rows
            first, end = (int(firsts[used].min()), int((firsts + counts)[used].max())) if used.any() else (0, 0)
            words, sums = self._label(group, "metric"), self.found.aside[name]
            since = zip(read_rows(group["series_index"], first, end).tolist(),
                        read_rows(group[f"{name}_delta"], first, end).tolist())
            count = group["before_series"].shape[0]
            restarts = read_rows(group["before_restart"], 0, count).tolist()
            before = zip(read_rows(group["before_series"], 0, count).tolist(),
                         read_rows(group[f"{name}_before"], 0, count).tolist())
            for series, amount in [*since, *(pair for restart, pair in zip(restarts, before) if restart == self.restart)]:
                if amount and series < len(words):
                    sums[words[series]] = sums.get(words[series], 0) + amount

    def _runs_missing(self):
        """Counts the buckets in which each run of a collected file did not report. A series has rows only where its value changes."""
        path = "by_workflow_run"
        if path not in self.hdf5 or MISSING not in self.hdf5[path]:
            return
        group, missing = self.hdf5[path], set()
        runs = list(zip(self._label(group, "workflow"), self._label(group, "run")))
        buckets = read_rows(self.hdf5["statistics_buckets"], 0, self.rows).tolist()
        for first, count, width in zip(*(column.tolist() for column in self._slot(path)), buckets):
            series = read_rows(group["series_index"], first, first + count).tolist() if count else ()
            values = read_rows(group[MISSING], first, first + count).tolist() if count else ()
            for index, value in zip(series, values):
                if value > 0:
                    missing.add(index)
                else:
                    missing.discard(index)
            for run in (runs[index] for index in missing):
                self.found.runs_missing[run] = self.found.runs_missing.get(run, 0) + width

    def _operations(self):
        sums = self._counter("pool_operations")
        if sums is None:
            return
        self.found.counted.add("pool_operations")
        if self.hdf5["pool_operations_delta"].ndim == 1:
            self.found.unlabelled = int(sums[0])
            return
        words = dict(zip(_texts(self.hdf5["operation"][...]), sums.tolist()))
        self.found.operations = {word: count for word, count in words.items() if word != OTHER} | {OTHER: words.get(OTHER, 0)}

    def _resolution(self):
        own = self._own()
        names = _texts(own["gauge_name"][...]) if "gauge_name" in own else []
        if RESOLUTION in names:
            column = list(names).index(RESOLUTION)  # an extreme that is the last value is not written
            self.found.resolution_ns = max(0, *(int(read_rows(own[part], 0, self.rows)[:, column].max(initial=0))
                                                for part in ("last", "max")))

    # ---- histograms

    def _histogram(self, name):
        if name not in self.hdf5:
            return
        lower = self.hdf5["bin_lower"][...]
        sub_bits = next((bits for bits in (2, 3, 4) if 65 - bits << bits == len(lower)), None)
        if sub_bits is None or self.hdf5[name].shape[-1] != len(lower):
            raise Error(f"vampire has no histograms of {len(lower)} bins")
        histogram = self.found.histograms[name] = Histogram(sub_bits)
        counts = self._sum(self.hdf5[name], 0)
        used = np.flatnonzero(counts)
        if len(used):
            extremes = [read_rows(self.hdf5[f"{name}_{which}"], 0, self.rows) for which in ("min", "max")]
            least, greatest = (values[values != NO_VALUE] for values in extremes)
            histogram.add(dict(zip(lower[used].tolist(), counts[used].tolist())),
                          int(least.min(initial=NO_VALUE)), int(greatest.max(initial=0)))
