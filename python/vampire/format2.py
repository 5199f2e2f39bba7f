# SPDX-License-Identifier: BSD-3-Clause
"""Files of format 2: a dense overview in the root group, by closed labels; rows of the series that changed
in a group for each label set."""

import functools
import itertools

import h5py
import numpy as np

from . import files
from .files import read_rows
from .rows import FIELDS, Block, Entries, Metric, Source, steps

PADDING = 0xFFFFFFFF  # series_index of the rows that fill a chunk
VALUE = {"counter": "_delta", "gauge": "", "histogram": "_count"}  # suffix of the variable that has all labels


class File(files.File):
    """One file of format 2."""

    def __init__(self, path, hdf5):
        super().__init__(path, hdf5)
        self.metrics, self._groups, self._labels_of, self._closed, self._series = {}, {}, {}, {}, {}
        self.restarts = hdf5["restart_row"][...].astype(np.int64) if "restart_row" in hdf5 else np.zeros(1, np.int64)
        self.restarts = self.restarts[self.restarts < max(self.rows, 1)]
        for group_name, group in hdf5.items():
            if isinstance(group, h5py.Group):
                self._labels_of[group_name] = tuple(files.text_of(group.attrs["labels"]).split())
                for name in group:
                    if name.endswith("_first_entry"):
                        self._groups[name[: -len("_first_entry")]] = group_name
                    elif not name.endswith(("_min", "_max", "_sum", "_count", "_entries", "_bin", "_bin_count")):
                        self._groups[name[: -len("_delta")] if name.endswith("_delta") else name] = group_name
        for name, item in hdf5.items():
            metric = files.text_of(item.attrs["metric"]) if "metric" in item.attrs else None
            if metric is not None and name == metric + VALUE[files.text_of(item.attrs["kind"])]:
                self._add(hdf5, metric, item)

    def _add(self, hdf5, metric, item):
        kind = files.text_of(item.attrs["kind"])
        attrs = files.attributes_of(hdf5[metric] if kind == "histogram" else item)
        closed = tuple(files.dim_of(item, axis, self.dims).removesuffix("_series") for axis in range(1, item.ndim))
        labels = self._labels_of[self._groups[metric]] if metric in self._groups else closed
        self._closed[metric] = closed
        self.metrics[metric] = Metric(metric, kind, labels, attrs)

    def words(self, labels):
        """The combinations of words of closed labels, in the order of the arrays: one array a label."""
        with self.opened() as hdf5:
            words = [files.texts_of(hdf5[label][...]) for label in labels]
        rows = list(itertools.product(*words))
        return tuple(np.array([row[n] for row in rows], object) for n in range(len(labels)))

    def series(self, group, labels):
        """The label values of a group's series: one array a label."""
        if (group, labels) not in self._series:
            if group is None:
                self._series[group, labels] = self.words(labels)
            else:
                with self.opened() as hdf5:
                    self._series[group, labels] = tuple(files.texts_of(hdf5[group][label][...]) for label in labels)
        return self._series[group, labels]

    def sources(self, name):
        """Where the metric is, the coarsest first."""
        metric, closed = self.metrics[name], self._closed[name]
        found = []
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


class _Overview(Source):
    """[time, words] in the root group; of a histogram over all labels."""

    def __init__(self, file, metric, labels):
        super().__init__(metric, labels)
        self._file = file

    def series(self):
        return self._file.series(None, self.labels)

    @staticmethod
    def _flat(item, first, end):
        """[end - first, words], the labels as one."""
        return read_rows(item, first, end).reshape(end - first, -1)

    def blocks(self, hdf5, first, end, fields, bins=False):
        widths = np.full(end - first, hdf5[self.metric.name].shape[1] if bins else 64)
        for at, until in steps(widths, 1 << 22):
            yield self._block(hdf5, first + at, first + until, fields, bins)

    def _block(self, hdf5, first, end, fields, bins):
        name, kind = self.metric.name, self.metric.kind
        if kind == "histogram":
            return self._histogram(hdf5, first, end, fields, bins)
        suffix = {"delta": "_delta", "last": "", "min": "_min", "max": "_max"}
        judge = hdf5[name + suffix[FIELDS[kind][0]]]
        data = self._flat(judge, first, end)
        fill = judge.attrs.get("_FillValue")
        present = data != 0 if kind == "counter" else np.ones(data.shape, bool) if fill is None else data != np.ravel(fill)[0]
        time, series = np.nonzero(present)
        if kind == "gauge" and self.labels:
            suffix = {**suffix, **{end: f"_{end}_bound" for end in ("min", "max") if f"{name}_{end}_bound" in hdf5}}
        values = {field: self._flat(hdf5[name + suffix[field]], first, end)[time, series] for field in fields}
        return Block(time + first, series, values, None)

    def _histogram(self, hdf5, first, end, fields, bins):
        name = self.metric.name
        count = self._flat(hdf5[name + "_count"], first, end).sum(axis=1, dtype=np.uint64)
        time = np.flatnonzero(count)
        values = {}
        for field in fields:
            data = self._flat(hdf5[f"{name}_{field}"], first, end)
            values[field] = (data.sum(axis=1, dtype=np.uint64) if field in ("count", "sum") else data[:, 0])[time]
        entries = None
        if bins:
            numbers = np.cumsum(count > 0) - 1
            dense = read_rows(hdf5[name], first, end)
            row, bin_number = np.nonzero(dense)
            entries = Entries(numbers[row], bin_number, dense[row, bin_number])
        return Block(time + first, np.zeros(len(time), np.int64), values, entries)

    def totals(self, hdf5, first, end, series):
        index, start = self._file.restart_of(first)
        out, row = np.zeros((end - first, len(series)), np.uint64), start
        item, before = hdf5[self.metric.name + "_delta"], hdf5[self.metric.name + "_before"]
        while row < end:
            until = int(self._file.restarts[index + 1]) if index + 1 < len(self._file.restarts) else end
            sums = np.cumsum(self._flat(item, row, min(until, end))[:, series], axis=0, dtype=np.uint64)
            sums += self._flat(before, index, index + 1)[0, series].astype(np.uint64)
            skip = max(0, first - row)
            out[max(row, first) - first: row + len(sums) - first] = sums[skip:]
            row, index = until, index + 1
        return out


class _Rows(Source):
    """Rows of a label set's group."""

    def __init__(self, file, metric, group):
        super().__init__(metric, metric.labels)
        self._file, self._group = file, group

    def series(self):
        return self._file.series(self._group, self.labels)

    def blocks(self, hdf5, first, end, fields, bins=False):
        group = hdf5[self._group]
        if self.metric.kind == "gauge":
            yield from self._gauge_blocks(group, first, end, fields)
            return
        starts, counts = (read_rows(group[name], first, end).astype(np.int64) for name in ("first_row", "rows"))
        for at, until in steps(counts):
            yield self._block(group, (starts[at:until], counts[at:until]), (first + at, first + until), fields, bins)

    def _block(self, group, rows, buckets, fields, bins):
        starts, counts = rows
        used = np.flatnonzero(counts)
        low, high = (int(starts[used[0]]), int(starts[used[-1]] + counts[used[-1]])) if len(used) else (0, 0)
        read = functools.partial(self._read, group, low, high)
        series = read("series_index")
        time = np.repeat(np.arange(*buckets), counts)
        name, kind = self.metric.name, self.metric.kind
        value = read(name + VALUE[kind])
        # Padding is 0, and so are series that only another metric of the set has a row for.
        chosen = np.flatnonzero(value)
        time_of = np.zeros(len(series), np.int64)
        time_of[series != PADDING] = time
        if kind == "counter":
            values, entries = {field: value[chosen] for field in fields}, None
        else:
            values, entries = self._histogram(group, buckets, lambda name: read(name)[chosen], value[chosen], (fields, bins))
        return Block(time_of[chosen], series[chosen].astype(np.int64), values, entries)

    @staticmethod
    def _read(group, low, high, name):
        return read_rows(group[name], low, high)

    def _histogram(self, group, buckets, read, count, wanted):
        """(fields, entries). Rows of one or two values have these instead of bins: the sum is the value, or
        the least and what is left of the sum are."""
        (fields, bins), name = wanted, self.metric.name
        if not bins and not set(fields) - {"count"}:
            return {field: count for field in fields}, None
        total = read(name + "_sum")
        values = {"count": count, "sum": total}
        if bins or set(fields) & {"min", "max"}:
            least = read(name + "_min")
            values["min"] = np.where(count == 1, total, least)
            values["max"] = np.where(count == 1, total, total - least)
            if "max" in fields:
                values["max"] = np.where(count > 2, read(name + "_max"), values["max"])
        entries = self._entries(group, buckets, read(name + "_entries"), values) if bins else None
        return {field: values[field] for field in fields}, entries

    def _entries(self, group, buckets, each, values):
        name = self.metric.name
        starts, counts = (read_rows(group[f"{name}_{what}"], *buckets).astype(np.int64)
                          for what in ("first_entry", "all_entries"))
        used = np.flatnonzero(counts)
        low, high = (int(starts[used[0]]), int(starts[used[-1]] + counts[used[-1]])) if len(used) else (0, 0)
        bin_number, count = group[name + "_bin"][low:high], group[name + "_bin_count"][low:high]
        real = np.flatnonzero(count)
        few, two = np.flatnonzero(values["count"] <= 2), np.flatnonzero(values["count"] == 2)
        lower = self._file.edges[0]
        alone = [np.searchsorted(lower, column, "right") - 1 for column in (values["min"][few], values["max"][two])]
        return Entries(np.concatenate([np.repeat(np.arange(len(each)), each), few, two]),
                       np.concatenate([bin_number[real].astype(np.int64), *alone]),
                       np.concatenate([count[real], np.ones(len(few) + len(two), count.dtype)]))

    def _gauge_blocks(self, group, first, end, fields):
        """A row for each series with a value in each bucket: a gauge's row holds until the next one."""
        _, start = self._file.restart_of(first)
        name = self.metric.name
        starts, counts = (read_rows(group[what], start, end).astype(np.int64) for what in ("first_row", "rows"))
        state = {}
        restarts = set(self._file.restarts.tolist())
        for row in range(start, end):
            state = {} if row in restarts else state
            low = int(starts[row - start])
            high = low + int(counts[row - start])
            read = functools.partial(self._read, group, low, high)
            suffixes = ("", "_min", "_max")
            fill = group[name].attrs.get("_FillValue")
            columns = [read(name + suffix) for suffix in suffixes]
            for series, *values in zip(read("series_index").tolist(), *columns):
                if fill is None or values[0] != np.ravel(fill)[0]:
                    state[series] = values
            if row >= first and state:
                series = np.array(sorted(state), np.int64)
                table = np.array([state[one] for one in series.tolist()], np.int64)
                values = {field: table[:, number] for number, field in enumerate(FIELDS["gauge"])}
                yield Block(np.full(len(series), row), series, {f: values[f] for f in fields}, None)

    def totals(self, hdf5, first, end, series):
        index, row = self._file.restart_of(first)
        group, out = hdf5[self._group], np.zeros((end - first, len(series)), np.uint64)
        place = np.full(len(self.series()[0]), -1)
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
