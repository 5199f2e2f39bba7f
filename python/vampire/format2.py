# SPDX-License-Identifier: BSD-3-Clause
"""Files of format 2 and 3: a dense overview in the root group, by closed labels; rows of the series that changed
in a group for each label set; since 2.1 tables of vampire's own metrics in a group of their own. In format 3 the
labels of series are numbers of texts that the file has once."""

import contextlib
import hashlib
import itertools

import h5py
import numpy as np

from . import files
from .bins import Bins
from .chunks import read_rows
from .columns import Columns, Ranges
from .rows import FIELDS, Block, Entries, Identity, Metric, Source, steps

PADDING = 0xFFFFFFFF  # series_index of the rows that fill a chunk
DAMAGED = "(damaged)"  # a label that is not what was written
KEPT_BYTES = 1 << 16  # of a variable whose rows are kept
OWN = "vampire"  # the group of vampire's own metrics
VALUE = {"counter": "_delta", "gauge": "", "histogram": "_count"}  # suffix of the variable that has all labels


class File(files.File):
    """One file of format 2 or 3."""

    DESCRIPTION = (*files.File.DESCRIPTION, "metrics", "bins", "_groups", "_labels_of", "_closed", "_own", "_shown", "_words")

    def __init__(self, path, hdf5):
        super().__init__(path, hdf5)
        self._series = {}
        self._slots = None  # {dimension of rows: its column in `first_row` and `rows`}
        self._places = None  # [first_row, rows]: by bucket and column
        self._texts = {}  # variable -> its texts
        self._values = {}  # variable [time, ...] -> its rows, if it is small
        self._names = None  # bytes: words of closed labels and check values of names
        self.restarts = files.dataset(hdf5, "restart_row")[...].astype(np.int64) if "restart_row" in hdf5 else np.zeros(1, np.int64)
        self.restarts = self.restarts[self.restarts < max(self.rows, 1)]

    def _find_metrics(self, items):
        self.metrics, self._groups, self._labels_of, self._closed = {}, {}, {}, {}
        self._own, self._shown = {}, set()  # metric -> its columns in the table; those that the overview has
        self.bins = Bins(self.edges[0]) if self.edges else None
        for group_name, group in items.items():
            if isinstance(group, h5py.Group) and group_name != OWN:
                self._labels_of[group_name] = tuple(files.text_of(group.attrs["labels"]).split())
                for name in files.names_of(group):
                    if name.endswith("_entry"):
                        self._groups[name[: -len("_entry")]] = group_name
                    elif not name.endswith(("_min", "_max", "_sum", "_count", "_entries", "_bin", "_bin_count")):
                        self._groups[name[: -len("_delta")] if name.endswith("_delta") else name] = group_name
        for name, item in items.items():
            metric = files.text_of(item.attrs["metric"]) if "metric" in item.attrs else None
            if metric is not None and "kind" in item.attrs and name == metric + VALUE[files.text_of(item.attrs["kind"])]:
                self._add(items, metric, item)
        for metric, group_name in self._groups.items():
            if metric not in self.metrics and f"{metric}_entry" in items[group_name]:
                self._add_rows_only(metric, items[group_name])
        for kind in ("counter", "gauge") if OWN in items else ():
            self._add_own(kind, items[OWN])
        labels = itertools.chain(*self._labels_of.values(), *self._closed.values())
        self._words = sorted(label for label in set(labels) if label in items)  # labels with a list of words

    def _add_rows_only(self, metric, group):
        """A histogram that the overview does not have."""
        self._closed[metric] = ()
        self.metrics[metric] = Metric(metric, "histogram", self._labels_of[self._groups[metric]],
                                      files.attributes_of(group[metric + "_count"]))

    def _add_own(self, kind, group):
        """The metrics of a table."""
        if f"{kind}_name" not in group:
            return
        columns = [files.texts_of(group[f"{kind}_{what}"][...]) for what in ("name", "label", "units", "help", "origin")]
        for number, (name, label, unit, about, origin) in enumerate(zip(*columns)):
            if name not in self._own:
                self._own[name] = []
                self._closed[name] = labels = (label,) if label else ()
                attrs = {"units": unit, "metric": name, "kind": kind, "labels": label, "help": about, "origin": origin,
                         "value_units": unit}
                self.metrics[name] = Metric(name, kind, labels, {key: text for key, text in attrs.items() if text})
            self._own[name].append(number)

    def places(self, group, dimension, first, end):
        """(first ones, numbers) of the rows that each bucket has along a dimension of an open group."""
        root = group.parent
        if self._slots is None:
            self._slots = {name: slot for slot, name in enumerate(files.texts_of(root["row_dimension"][...]))}
        slot = self._slots[f"{group.name[1:]}/{dimension}"]
        starts, counts = (places[:, slot].astype(np.int64) for places in self._places_of(root, first, end))
        counts[[row - first for row in self.bad if first <= row < end]] = 0
        return starts, counts

    def _places_of(self, root, first, end):
        """The rows first to end - 1 of `first_row` and `rows`. Both are read completely at the first call, unless a part is damaged."""
        names = "first_row", "rows"
        if self._places is None:
            try:
                self._places = [read_rows(files.dataset(root, name), 0, self.rows) for name in names]
            except files.UNREADABLE:
                return [read_rows(files.dataset(root, name), first, end) for name in names]
        return [places[first:end] for places in self._places]

    def _add(self, items, metric, item):
        kind = files.text_of(item.attrs["kind"])
        attrs = files.attributes_of(items[metric] if kind == "histogram" else item)
        labels = files.text_of(item.attrs["labels"]).split() if item.ndim > 1 else ()
        closed = tuple(label for label in labels if label in items)  # the others are in the group of rows
        labels = self._labels_of[self._groups[metric]] if metric in self._groups else closed
        self._closed[metric] = closed
        self._shown.add(metric)
        self.metrics[metric] = Metric(metric, kind, labels, attrs)

    def words(self, labels):
        """The combinations of words of closed labels, in the order of the arrays: one array a label."""
        with self.opened() as hdf5:
            words = [files.texts_of(hdf5[label][...]) for label in labels]
        rows = list(itertools.product(*words))
        return tuple(np.array([row[n] for row in rows], object) for n in range(len(labels)))

    def series(self, group, labels, first=0):
        """The label values of a group's series from number `first` on: one array a label."""
        key = group, labels, first
        if key not in self._series:
            self._series[key] = self._read_series(group, labels, first) if group else \
                tuple(column[first:] for column in self.words(labels))
        return self._series[key]

    def _read_series(self, group, labels, first):
        with self.opened() as hdf5:
            raw = {label: hdf5[group][label][first:] for label in labels}
            texts = {} if labels and raw[labels[0]].ndim > 1 else {label: self._texts_of(hdf5, group, label) for label in labels}
            bad = files.damaged_rows(hdf5[group], "series_check", self.state == "open", first, None, raw) \
                if "series_check" in hdf5[group] else []
        # While the file is written a column read later has more; what a bucket refers to is in all.
        count = min(map(len, raw.values()))
        columns = tuple(_named(column[:count], texts[label]) if texts else files.texts_of(column[:count])
                        for label, column in raw.items())
        for row in bad:
            for column in columns:
                column[row - first] = DAMAGED
        if bad:
            self.note(f"labels of {len(bad)} series of {group} are damaged, and are \"{DAMAGED}\"")
        return columns

    def _texts_of(self, hdf5, group, label):
        """The texts of a label's numbers. Read after the numbers, so that it has all of them."""
        path = files.text_of(hdf5[group][label].attrs["names"]).strip("/")
        if path not in self._texts or self.state == "open":
            raw = hdf5[path][...]
            self._texts[path] = files.texts_of(raw)
            bad = files.damaged_rows(hdf5, "name_check", self.state == "open", 0, None, {path: raw}) if path == "name_text" else []
            self._texts[path][bad] = DAMAGED
            if bad:
                self.note(f"{len(bad)} names are damaged, and are \"{DAMAGED}\"")
        return self._texts[path]

    def identity(self, group):
        """The Identity of the series of a group. `group` None: of series of closed labels. Returns None if it is not known."""
        if self.shape is None or self.state == "open":
            return None
        try:
            with self.opened() as hdf5:
                if self._names is None:
                    words = [files.raw_rows(hdf5, label).tobytes() for label in self._words]
                    self._names = b"".join([*words, files.raw_rows(hdf5, "name_check").tobytes()])
                if group is None:
                    return Identity(self.shape, self._names, b"", ())
                series = files.raw_rows(hdf5, f"{group}/series_check")
                labels = self._labels_of[group] if len(series) < 2 else ()
                values = tuple(files.raw_rows(hdf5, f"{group}/{label}").tobytes() for label in labels)
            return Identity(self.shape, self._names, series.tobytes(), values)
        except KeyError:  # in files of format 2
            return None

    def ids(self, group):
        """What tells a group's series from others: the same in each file of a run."""
        with self.opened() as hdf5:
            if "id" in hdf5[group]:
                return files.bytes_of(hdf5[group]["id"][...])
            ids = 0
            for label in self._labels_of[group]:
                numbers = hdf5[group][label][...]
                keys = np.array([int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
                                 for text in self._texts_of(hdf5, group, label)] + [0], np.uint64)
                ids = ids * np.uint64(0x9E3779B97F4A7C15) + keys[np.minimum(numbers, len(keys) - 1)]
            return ids if len(self._labels_of[group]) else np.empty(0, "S1")

    def sources(self, name):
        """Where the metric is, the coarsest first."""
        metric, closed = self.metrics[name], self._closed[name]
        found = []
        if name in self._own:
            return [_Own(self, metric, self._own[name])]
        if name not in self._shown:
            return [_Rows(self, metric, self._groups[name])]
        if metric.kind == "histogram":
            found.append(_Overview(self, metric, ()))
        elif metric.kind == "counter" or closed == metric.labels:
            found.append(_Overview(self, metric, closed))
        if name in self._groups:
            found.append(_Rows(self, metric, self._groups[name]))
        return found

    def restart_of(self, row):
        """The last restart that is not after `row`, and its first row."""
        index = max(0, int(np.searchsorted(self.restarts, row, "right")) - 1)
        return index, int(self.restarts[index]) if len(self.restarts) else 0

    def values(self, hdf5, name, first, end):
        """The rows first to end - 1 of a [time, ...] variable. Small ones of closed files are read once; the result must not be
        written to."""
        if name in self._values:
            return self._values[name][first:end]
        item = files.dataset(hdf5, name)
        if self.state != "open" and item.size * item.dtype.itemsize <= KEPT_BYTES:
            with contextlib.suppress(*files.UNREADABLE):  # of a damaged variable the rows that are asked for may be whole
                self._values[name] = read_rows(item, 0, self.rows)
                return self._values[name][first:end]
        return read_rows(item, first, end)

    def totals(self, deltas, before, rows, count):
        """[rows, count]: counters since the start of the run. `deltas(first, end)`: what each of these buckets added;
        `before(index)`: the totals of a restart."""
        first, end = rows
        index, row = self.restart_of(first)
        out = np.zeros((end - first, count), np.uint64)
        while row < end:
            until = int(self.restarts[index + 1]) if index + 1 < len(self.restarts) else end
            sums = np.cumsum(deltas(row, min(until, end)), axis=0, dtype=np.uint64)
            sums += before(index).astype(np.uint64)
            skip = max(0, first - row)
            out[max(row, first) - first: row + len(sums) - first] = sums[skip:]
            row, index = until, index + 1
        return out


def _named(numbers, texts):
    """The texts of these numbers."""
    found = np.full(len(numbers), DAMAGED, object)
    there = numbers < len(texts)
    found[there] = texts[numbers[there]]
    return found


class _Overview(Source):
    """[time, words] in the root group; of a histogram over all labels."""

    def __init__(self, file, metric, labels):
        super().__init__(metric, labels)
        self._file = file

    def series(self, first=0):
        return self._file.series(None, self.labels, first)

    def identity(self):
        return self._file.identity(None)

    def _flat(self, hdf5, name, first, end):
        """[end - first, words] of a variable, the labels as one."""
        return self._file.values(hdf5, name, first, end).reshape(end - first, -1)

    def blocks(self, hdf5, first, end, fields, bins=False):
        widths = np.full(end - first, hdf5[self.metric.name].shape[1] if bins else 64)
        for at, until in steps(widths, 1 << 22):
            yield self._block(hdf5, first + at, first + until, fields, bins)

    def _block(self, hdf5, first, end, fields, bins):
        name, kind = self.metric.name, self.metric.kind
        if kind == "histogram":
            return self._histogram(hdf5, first, end, fields, bins)
        suffix = {"delta": "_delta", "last": "", "min": "_min", "max": "_max"}
        judge = name + suffix[FIELDS[kind][0]]
        data = self._flat(hdf5, judge, first, end)
        fill = files.dataset(hdf5, judge).attrs.get("_FillValue") if kind == "gauge" else 0
        present = np.ones(data.shape, bool) if fill is None else data != np.ravel(fill)[0]
        time, series = np.nonzero(present)
        if kind == "gauge" and self.labels:
            suffix = {**suffix, **{end: f"_{end}_bound" for end in ("min", "max") if f"{name}_{end}_bound" in hdf5}}
        values = {field: self._flat(hdf5, name + suffix[field], first, end)[time, series] for field in fields}
        if kind == "gauge":  # an extreme that is the value is not written
            values = {field: np.where(part == files.NAT, data[time, series], part) for field, part in values.items()}
        return Block(time + first, series, values, None)

    def _histogram(self, hdf5, first, end, fields, bins):
        name = self.metric.name
        count = self._flat(hdf5, name + "_count", first, end).sum(axis=1, dtype=np.uint64)
        time = np.flatnonzero(count)
        values = {}
        for field in fields:
            data = self._flat(hdf5, f"{name}_{field}", first, end)
            values[field] = (data.sum(axis=1, dtype=np.uint64) if field in ("count", "sum") else data[:, 0])[time]
        entries = None
        if bins:
            numbers = np.cumsum(count > 0) - 1
            dense = read_rows(hdf5[name], first, end)
            row, bin_number = np.nonzero(dense)
            entries = Entries(numbers[row], bin_number, dense[row, bin_number])
        return Block(time + first, np.zeros(len(time), np.int64), values, entries)

    def totals(self, hdf5, first, end, series):
        name, before = self.metric.name, files.dataset(hdf5, self.metric.name + "_before")
        return self._file.totals(lambda row, until: self._flat(hdf5, f"{name}_delta", row, until)[:, series],
                                 lambda index: read_rows(before, index, index + 1).reshape(1, -1)[0, series], (first, end), len(series))


class _Own(Source):
    """Columns of a table of vampire's own metrics: one for each word of the label, in the order of the list."""

    def __init__(self, file, metric, columns):
        super().__init__(metric, metric.labels)
        self._file, self._columns = file, slice(columns[0], columns[-1] + 1)

    def series(self, first=0):
        return self._file.series(None, self.labels, first)

    def identity(self):
        return self._file.identity(None)

    def _read(self, hdf5, field, first, end):
        values = self._file.values(hdf5, f"{OWN}/{field}", first, end)[:, self._columns]
        if field in ("min", "max"):  # an extreme that is the value is not written
            values = np.where(values == files.NAT, self._read(hdf5, "last", first, end), values)
        return values

    def blocks(self, hdf5, first, end, fields, bins=False):
        for at, until in steps([64] * (end - first), 1 << 22):
            found = {field: self._read(hdf5, field, first + at, first + until) for field in FIELDS[self.metric.kind]}
            judge = found[FIELDS[self.metric.kind][0]]
            time, series = np.nonzero(judge != (0 if self.metric.kind == "counter" else files.NAT))
            yield Block(time + first + at, series, {field: found[field][time, series] for field in fields}, None)

    def totals(self, hdf5, first, end, series):
        return self._file.totals(
            lambda row, until: self._read(hdf5, "delta", row, until)[:, series],
            lambda index: read_rows(hdf5[OWN]["before"], index, index + 1)[0, self._columns][series], (first, end), len(series))


class _Rows(Source):
    """Rows of a label set's group."""

    def __init__(self, file, metric, group):
        super().__init__(metric, metric.labels)
        self._file, self._group = file, group
        self.held = metric.kind == "gauge"

    def series(self, first=0):
        return self._file.series(self._group, self.labels, first)

    @property
    def length(self):
        if not self.labels or self._file.state == "open":
            return None
        with self._file.opened() as hdf5:
            return self._count(hdf5[self._group])

    def ids(self):
        return self._file.ids(self._group)

    def identity(self):
        return self._file.identity(self._group)

    def _count(self, group):
        """How many series the open group has."""
        return group[self.labels[0]].shape[0] if self.labels else 1

    def blocks(self, hdf5, first, end, fields, bins=False):
        if self.metric.kind == "gauge":
            yield from self._gauge_blocks(hdf5[self._group], first, end)
            return
        columns = Columns(hdf5[self._group])
        starts, counts = self._file.places(columns.group, "row", first, end)
        for at, until in steps(counts):
            yield self._block(columns, (starts[at:until], counts[at:until]), (first + at, first + until), fields, bins)

    def _block(self, columns, rows, buckets, fields, bins):
        ranges, name, kind = Ranges(*rows), self.metric.name, self.metric.kind
        value = columns.read(name + VALUE[kind], ranges)
        # It is 0 in the rows of series that only another metric of the set has a value for.
        chosen = slice(None) if value.all() else np.flatnonzero(value)
        time = np.repeat(np.arange(*buckets), rows[1])[chosen]
        series, value = columns.read("series_index", ranges)[chosen], value[chosen]
        self._compare(columns.group.parent, name + VALUE[kind], buckets, (time, value))
        if kind == "counter":
            return Block(time, series, {field: value for field in fields}, None)

        def read(what):
            return columns.read(f"{name}_{what}", ranges)[chosen]

        values = self._histogram(read, value, fields, bins)
        entries = self._entries(columns, buckets, read("entries"), values) if bins else None
        return Block(time, series, {field: values[field] for field in fields}, entries)

    def _compare(self, root, name, buckets, rows):
        """The overview has the sums of rows, which are in the order of time. The check value of a chunk does not say where the chunk belongs."""
        if name not in root:
            return
        try:
            sums = self._file.values(root, name, *buckets).reshape(buckets[1] - buckets[0], -1).sum(axis=1, dtype=np.uint64)
        except files.UNREADABLE:
            return
        upto = np.append(np.uint64(0), np.cumsum(rows[1], dtype=np.uint64))
        found = np.diff(upto[np.searchsorted(rows[0], np.arange(buckets[0], buckets[1] + 1))])
        if (found != sums).any():
            raise OSError(f"{name}: its rows are not what the overview has")

    @staticmethod
    def _histogram(read, count, fields, bins):
        """{field: values}. Rows of one or two values have these instead of bins: the sum is the value, or the least and
        what is left of the sum are."""
        values = {"count": count}
        if bins or set(fields) - {"count"}:
            values["sum"] = read("sum")
        if bins or set(fields) & {"min", "max"}:
            one, least = count == 1, read("min")
            values["min"] = np.where(one, values["sum"], least)
            values["max"] = np.where(one, values["sum"], values["sum"] - least)
        if "max" in fields:
            values["max"] = np.where(count > 2, read("max"), values["max"])
        return values

    def _entries(self, columns, buckets, each, values):
        name, bins = self.metric.name, self._file.bins
        ranges = Ranges(*self._file.places(columns.group, f"{name}_entry", *buckets))
        few, two = np.flatnonzero(values["count"] <= 2), np.flatnonzero(values["count"] == 2)
        alone = [bins.of(values["min"][few]), bins.of(values["max"][two])]
        return Entries(np.concatenate([np.repeat(np.arange(len(each)), each), few, two]),
                       np.concatenate([columns.read(name + "_bin", ranges), *alone]),
                       np.concatenate([columns.read(name + "_bin_count", ranges), np.ones(len(few) + len(two), np.uint64)]))

    def _gauge_blocks(self, group, first, end):
        """A row for each series with a value in each bucket: a gauge's row holds until the next one."""
        _, start = self._file.restart_of(first)
        name, columns, restarts = self.metric.name, Columns(group), set(self._file.restarts.tolist())
        fill = group[name].attrs.get("_FillValue", np.array(files.NAT)).ravel()[0]
        ends_of = self._file.times + self._file.bucket_ns if "between_rows" in group[name].attrs else np.zeros(end, np.int64)
        starts, counts = self._file.places(group, "row", start, end)
        state = np.full((len(FIELDS["gauge"]), self._count(group)), fill, np.int64)
        for at, until in steps(np.maximum(counts, state.shape[1])):
            ranges = Ranges(starts[at:until], counts[at:until])
            series = columns.read("series_index", ranges)
            values = np.stack([columns.read(name + suffix, ranges).astype(np.int64) for suffix in ("", "_min", "_max")])
            values = np.where(values == files.NAT, values[0], values)  # an extreme that is the value is not written
            ends, found = np.cumsum(counts[at:until]), []
            for row, high, count in zip(range(start + at, start + until), ends.tolist(), counts[at:until].tolist()):
                if row in restarts:
                    state[:] = fill
                elif row > start and (grown := int(ends_of[row] - ends_of[row - 1])):
                    state[state != fill] += grown
                state[:, series[high - count: high]] = values[:, high - count: high]
                present = np.flatnonzero(state[0] != fill)
                if row >= first and len(present):
                    found.append((np.full(len(present), row), present, state[:, present]))
            if found:
                time, present, values = zip(*found)
                values = np.concatenate(values, axis=1)
                yield Block(np.concatenate(time), np.concatenate(present), dict(zip(FIELDS["gauge"], values)), None)

    def totals(self, hdf5, first, end, series):
        index, row = self._file.restart_of(first)
        group, out = hdf5[self._group], np.zeros((end - first, len(series)), np.uint64)
        place = np.full(self._count(group), -1)
        place[series] = np.arange(len(series))
        while row < end:
            until = min(int(self._file.restarts[index + 1]) if index + 1 < len(self._file.restarts) else end, end)
            sums = np.zeros((until - max(row, first), len(series)), np.uint64)
            total = self._before(group, index, place, len(series))
            for block in self.blocks(hdf5, row, until, ("delta",)):
                to = place[block.series]
                fits = np.flatnonzero(to >= 0)
                early = fits[block.time[fits] < first]
                np.add.at(total, to[early], block.fields["delta"][early])
                late = fits[block.time[fits] >= first]
                sums[block.time[late] - max(row, first), to[late]] = block.fields["delta"][late]
            if until > first:
                out[max(row, first) - first: until - first] = np.cumsum(sums, axis=0, dtype=np.uint64) + total
            row, index = until, index + 1
        return out

    def _before(self, group, index, place, length):
        total = np.zeros(length, np.uint64)
        series = group["before_series"][...]
        mine = np.flatnonzero((group["before_restart"][...] == index) & (series != PADDING))
        to = place[series[mine]]
        total[to[to >= 0]] = group[self.metric.name + "_before"][...][mine[to >= 0]]
        return total
