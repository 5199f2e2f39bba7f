# SPDX-License-Identifier: BSD-3-Clause
"""Reads a file of HDF5 format 3 with h5py alone, as docs/output-hdf5.md describes it, into plain lists: each
series of each metric in each bucket. The overview is compared with the sum of the rows on the way, so whoever
reads a file here has checked that.

An entry is (total, added in the bucket) of a counter, (last, least, greatest) of a gauge, and a dictionary or None
(no value) of a histogram. `rows` is how many buckets are read; other variables may be longer in a file that is
being written.
"""

import itertools

import h5py
import numpy

from catalogue import AGES

PADDING = 2**32 - 1
NO_GAUGE = -(2**63)
EXTREMES = ("_min", "_max", "_min_bound", "_max_bound")
OTHER = "(other)"
OWN = "vampire"  # the group of vampire's own metrics


def texts(dataset):
    return [row.tobytes().rstrip(b"\0").decode("utf-8") for row in dataset[...]]


def text_of(item, name):
    value = item.attrs.get(name, "")
    return value.decode() if isinstance(value, bytes) else str(value)


def column(dataset, rows):
    """The first `rows` rows; those that were not written yet are the fill value."""
    found = dataset[:rows]
    if found.shape[0] == rows:
        return found
    whole = numpy.full((rows, *found.shape[1:]), dataset.fillvalue, dtype=dataset.dtype)
    whole[: found.shape[0]] = found
    return whole


def refresh(file, metrics):
    """What a reader of these metrics does in a file that is being written, after `time`."""
    for name, item in file.items():
        if isinstance(item, h5py.Group):
            own = name == OWN and any(metric.startswith("vampire_") for metric in metrics)
            if own or any(entry.startswith(metric) for entry in item for metric in metrics):
                for entry in item.values():
                    entry.refresh()
        elif name in ("restart_row", "bucket_number", "bucket_ns", "first_row", "rows", "name_text") or name.startswith(("events_", *metrics)):
            item.refresh()


class Items(dict):
    """What is in a file or group by name, each opened when it is asked for, and once: h5py takes longest for that."""

    def __init__(self, group):
        super().__init__()
        self.group = group

    def __missing__(self, name):
        self[name] = self.group[name]
        return self[name]

    def __contains__(self, name):
        return super().__contains__(name) or name in self.group

    def get(self, name, default=None):
        return self[name] if name in self else default

    def values(self):
        return [self[name] for name in self.group]


class Group:
    """The rows of one label set."""

    def __init__(self, group, rows, places):
        self.group, self.rows, self.places = group, rows, places
        self.variables = Items(group)
        self.names = text_of(group, "labels").split()
        columns = []
        for name in self.names:
            words = texts(group.parent[text_of(self.variables[name], "names")])
            # A series of a bucket that is being written may have a name that was not there when the names were read.
            columns.append([words[number] if number < len(words) else None for number in self.variables[name][...].tolist()])
        self.labels = list(zip(*columns))
        self.first, self.count = self.placed("row")
        self.read = {}

    def series(self, bucket):
        found = self.part("series_index", bucket)
        assert found == sorted(set(found)), f"{self.group.name}: series of bucket {bucket}"
        assert not found or found[-1] < len(self.labels), f"{self.group.name}: a series without labels"
        return found

    def placed(self, dimension):
        """Where the rows of each bucket are: the first ones, how many."""
        return self.places[f"{self.group.name[1:]}/{dimension}"]

    def part(self, name, bucket):
        return self.slice(name, self.first[bucket], self.count[bucket])

    def slice(self, name, first, count):
        """What was not written is the fill value. Each variable is read once."""
        if name not in self.read:
            self.read[name] = self.variables[name][...].tolist()
        found = self.read[name][first : first + count]
        if len(found) < count:
            found += [int(self.variables[name].fillvalue)] * (count - len(found))
        return found


class File:
    def __init__(self, file, rows=None):
        self.file, self.items = file, Items(file)
        assert text_of(file, "schema_version").split(".")[0] == "3", file.filename
        self.rows = file["time"].shape[0] if rows is None else rows
        self.lower = [int(value) for value in file["bin_lower"][...]]
        self.places = {}
        columns = (column(file[name], self.rows).T.tolist() for name in ("first_row", "rows"))
        placed = dict(zip(texts(file["row_dimension"]), zip(*columns))) if "row_dimension" in file else {}
        self.groups = [Group(self.items[name], self.rows, placed) for name in file
                       if name != OWN and file.get(name, getclass=True) is h5py.Group]
        self.own = {}  # of each of vampire's own metrics: kind, label, columns
        for kind in ("counter", "gauge"):
            if f"{OWN}/{kind}_name" in file:
                self._find_own(kind, file[OWN])
        self.restarts = [int(row) for row in file["restart_row"][...] if row < self.rows]
        assert self.rows == 0 or self.restarts[:1] == [0], "totals of the first row"

    def _find_own(self, kind, group):
        names, labels = texts(group[f"{kind}_name"]), texts(group[f"{kind}_label"])
        for number, (name, label, word) in enumerate(zip(names, labels, group[f"{kind}_word"][...].tolist())):
            _, _, columns = self.own.setdefault(name, (kind, label, []))
            assert word == len(columns) and columns in ([], list(range(number - word, number))), f"columns of {name}"
            columns.append(number)

    def metrics(self):
        """The names of all metrics, each once."""
        every = [*self.items.values(), *(item for group in self.groups for item in group.variables.values())]
        return list(dict.fromkeys([*(text_of(item, "metric") for item in every if "metric" in item.attrs), *self.own]))

    def kind(self, name):
        return self.own[name][0] if name in self.own else text_of(self._any(name), "kind")

    def _any(self, name):
        """A variable of the metric."""
        if name + "_count" in self.items or name + "_delta" in self.items or name in self.items:
            return next(self.items[name + part] for part in ("_delta", "") if name + part in self.items)
        return self._group(name).variables[name + "_count"]  # a histogram that has rows only

    def words(self, name):
        """The combinations of closed labels of the overview, in the order of its cells."""
        if name in self.own:
            labels = [label for label in self.own[name][1:2] if label]
        else:
            labels = text_of(self.items.get(name + "_count") or self._any(name), "labels").split()
        return list(itertools.product(*(texts(self.items[label]) for label in labels)))

    def _group(self, name):
        parts = [name + part for part in ("_delta", "_count", "")]
        return next((group for group in self.groups if any(part in group.variables for part in parts)), None)

    def cells(self, name):
        """[bucket][cell] of a variable of the overview, or the same of one of vampire's own metrics."""
        part = next((part for part in ("_delta", *EXTREMES) if name.endswith(part)), "")
        metric = name.removesuffix(part)
        if metric in self.own:
            kind, _, columns = self.own[metric]
            assert (part == "_delta") == (kind == "counter")
            found, last = (column(self.items[OWN][one], self.rows)[:, columns]
                           for one in (part[1:] or "last", "last" if part in EXTREMES else part[1:] or "last"))
        else:
            found, last = (column(self.items[one], self.rows) for one in (name, metric if part in EXTREMES else name))
        if part in EXTREMES:
            assert not ((found == last) & (last != NO_GAUGE)).any(), f"{name}: an extreme that is the value"
            found = numpy.where(found == NO_GAUGE, last, found)
        return [numpy.ravel(row).tolist() for row in found]

    def labels(self, name):
        """The labels of each series, in order; () without labels."""
        group = self._group(name)
        return group.labels if group else self.words(name)

    def entries(self, name):
        """[series][bucket]: what each series has."""
        if not self.rows:
            return [[] for _ in self.labels(name)]
        kind = self.kind(name)
        return {"counter": self._counters, "gauge": self._gauges, "histogram": self._histograms}[kind](name)

    # ---- counters

    def _counters(self, name):
        group = self._group(name)
        if group is None:
            deltas = [list(column) for column in zip(*self.cells(name + "_delta"))]
            before = [self._restart_cells(name, at) for at in range(len(self.restarts))]
        else:
            deltas = self._sparse(group, name + "_delta")
            before = [self._restart_rows(group, name, at) for at in range(len(self.restarts))]
            self._compare(name + "_delta", group, deltas)
            for at, totals in enumerate(before):
                self._compare_cells(name, group, totals, self._restart_cells(name, at))
        out = []
        for series, added in enumerate(deltas):
            entries, total = [], 0
            for bucket, delta in enumerate(added):
                if bucket in self.restarts:
                    total = before[self.restarts.index(bucket)][series]
                total = (total + delta) % 2**64
                entries.append((total, delta))
            out.append(entries)
        return out

    def _restart_cells(self, name, at):
        if name in self.own:
            return column(self.items[OWN]["before"], at + 1)[at][self.own[name][2]].tolist()
        return column(self.items[name + "_before"], at + 1)[at].ravel().tolist()

    def _restart_rows(self, group, name, at):
        totals = [0] * len(group.labels)
        count = group.variables["before_series"].shape[0]
        series = column(group.variables["before_series"], count).tolist()
        restarts = column(group.variables["before_restart"], count).tolist()
        values = column(group.variables[name + "_before"], count).tolist()
        for number, restart, value in zip(series, restarts, values):
            if restart == at and number != PADDING:
                totals[number] = value
        return totals

    def _sparse(self, group, name):
        """[series][bucket] of a part of the rows, 0 where there is none."""
        out = [[0] * self.rows for _ in group.labels]
        for bucket in range(self.rows):
            for series, value in zip(group.series(bucket), group.part(name, bucket)):
                out[series][bucket] = value
        return out

    # ---- gauges

    def _gauges(self, name):
        group = self._group(name)
        if group is None:
            parts = [self.cells(name + part) for part in ("", "_min", "_max")]
            return [[(a, b, c) if a != NO_GAUGE or name in AGES else (0, 0, 0) for a, b, c in zip(*columns)]
                    for columns in zip(*(zip(*part) for part in parts))]
        out = [[] for _ in group.labels]
        ends = (self.items["time"][: self.rows] + column(self.items["bucket_ns"], self.rows)).tolist()
        grows = text_of(group.variables[name], "between_rows")
        for bucket in range(self.rows):
            grown = ends[bucket] - ends[bucket - 1] if bucket and grows else 0
            last, *extremes = (group.part(name + part, bucket) for part in ("", "_min", "_max"))
            for values in extremes:
                assert all(extreme != value for extreme, value in zip(values, last) if value != NO_GAUGE), f"{name}: an extreme that is the value"
            extremes = [[value if extreme == NO_GAUGE else extreme for extreme, value in zip(values, last)] for values in extremes]
            rows = dict(zip(group.series(bucket), zip(last, *extremes)))
            for series, entries in enumerate(out):
                held = entries[-1] if entries else (NO_GAUGE,) * 3 if name in AGES else (0, 0, 0)
                entries.append(rows.get(series, tuple(value + grown if value != NO_GAUGE else value for value in held)))
        for part, position in (("", 0), ("_min_bound", 1), ("_max_bound", 2)):
            for bucket, cells in enumerate(self.cells(name + part)):
                wanted = [NO_GAUGE] * len(cells)
                for cell, entries in zip(self._cells_of(name, group), out):
                    value = entries[bucket][position]
                    if name in AGES:
                        wanted[cell] = max(wanted[cell], value)
                    else:
                        wanted[cell] = value + (0 if wanted[cell] == NO_GAUGE else wanted[cell])
                assert all(a == b or b == NO_GAUGE for a, b in zip(wanted, cells)), f"{name}{part} in row {bucket}"
        return out

    # ---- histograms

    def _bin(self, value):
        low, high = 0, len(self.lower)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.lower[middle] <= value else (low, middle)
        return low

    def _histogram(self, count, total, least, greatest, entries):
        if count == 0:
            assert (total, least, greatest, entries) == (0, 0, 0, [])
            return None
        if count <= 2:
            assert greatest == 0 and not entries, "a row with one or two values"
            values = [total] if count == 1 else [least, (total - least) % 2**64]
            bins = {}
            for value in values:
                bins[self._bin(value)] = bins.get(self._bin(value), 0) + 1
            least, greatest = min(values), max(values)
        else:
            bins = dict(entries)
            assert len(bins) == len(entries) and sum(bins.values()) == count, "bins of a row"
        return {"count": count, "sum": total, "min": least, "max": greatest,
                "bins": {self.lower[number]: bins[number] for number in sorted(bins)}}

    def _histograms(self, name):
        group = self._group(name)
        if group is None:
            return [self._overview_histogram(name)]
        out = [[None] * self.rows for _ in group.labels]
        firsts, alls = group.placed(name + "_entry")
        for bucket in range(self.rows):
            bins = group.slice(name + "_bin", firsts[bucket], alls[bucket])
            counts = group.slice(name + "_bin_count", firsts[bucket], alls[bucket])
            entries = iter(zip(bins, counts))
            parts = [group.part(name + part, bucket) for part in ("_count", "_sum", "_min", "_max", "_entries")]
            for series, (count, total, least, greatest, number) in zip(group.series(bucket), zip(*parts)):
                own = list(itertools.islice(entries, number))
                out[series][bucket] = self._histogram(count, total, least, greatest, own)
            assert next(entries, None) is None, f"{name}: entries of no row in bucket {bucket}"
        if name in self.items:
            self._compare_histograms(name, group, out)
        return out

    def _overview_histogram(self, name):
        counts, sums, bins = (self.cells(name + part) for part in ("_count", "_sum", ""))
        least, greatest = (column(self.items[name + part], self.rows).tolist() for part in ("_min", "_max"))
        return [None if sum(counts[row]) == 0 else
                {"count": sum(counts[row]), "sum": sum(sums[row]) % 2**64, "min": least[row], "max": greatest[row],
                 "bins": {lower: number for lower, number in zip(self.lower, bins[row]) if number}}
                for row in range(self.rows)]

    # ---- the overview

    def _cells_of(self, name, group):
        """The cell of each series in the overview."""
        if name in self.places:
            return self.places[name]
        part = self.items.get(name + "_count") or self._any(name)
        closed = text_of(part, "labels").split()
        number = {words: cell for cell, words in reversed(list(enumerate(self.words(name))))}
        self.places[name] = [number[tuple(labels[group.names.index(label)] for label in closed)] for labels in group.labels]
        return self.places[name]

    def _compare_cells(self, name, group, values, cells):
        wanted = [0] * len(cells)
        for cell, value in zip(self._cells_of(name, group), values):
            if value:
                wanted[cell] = (wanted[cell] + value) % 2**64
        assert wanted == cells, f"{name}: the overview is not the sum of the rows"

    def _compare(self, name, group, values):
        metric = text_of(self.items[name], "metric")
        for bucket, cells in enumerate(self.cells(name)):
            self._compare_cells(metric, group, [entries[bucket] for entries in values], cells)

    def _compare_histograms(self, name, group, out):
        overview = self._overview_histogram(name)
        for part in ("count", "sum"):
            for bucket, cells in enumerate(self.cells(f"{name}_{part}")):
                values = [entries[bucket][part] if entries[bucket] else 0 for entries in out]
                self._compare_cells(name, group, values, cells)
        for bucket, found in enumerate(overview):
            own = [entries[bucket] for entries in out if entries[bucket]]
            assert (found is None) == (not own), f"{name}: bucket {bucket} of the overview"
            if found is None:
                continue
            assert found["min"] == min(entry["min"] for entry in own), f"{name}_min in row {bucket}"
            assert found["max"] == max(entry["max"] for entry in own), f"{name}_max in row {bucket}"
            bins = {}
            for entry in own:
                for lower, number in entry["bins"].items():
                    bins[lower] = bins.get(lower, 0) + number
            assert bins == found["bins"], f"{name}: bins in row {bucket} of the overview"
