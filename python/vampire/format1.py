# SPDX-License-Identifier: BSD-3-Clause
"""Files of format 1: dense arrays [time, series] and [time, series, bin] in the root group."""

import functools

import numpy as np

from . import files
from .rows import FIELDS, Block, Entries, Metric, Source

SUFFIXES = {"delta": "_delta", "last": "", "count": "_count", "sum": "_sum", "min": "_min", "max": "_max"}
DENSE_VALUES = 1 << 22  # of an array that are in memory at a time


class File(files.File):
    """One file of format 1."""

    def _find_metrics(self, items):
        self.metrics, self.sets, self._used = {}, {}, {}
        for name, item in items.items():
            metric = files.text_of(item.attrs.get("metric", b""))
            if metric and metric == name:
                attrs = files.attributes_of(item)
                labels = tuple(attrs.get("labels", "").split())
                self.metrics[name] = Metric(name, attrs["kind"], labels, attrs)
                if labels:
                    coordinates = files.text_of(item.attrs["coordinates"]).split()[: len(labels)]
                    self.sets[labels] = (files.dim_of(item, 1, self.dims), coordinates)

    def series(self, labels):
        """The label values of the slots that are used: one array a label."""
        if labels not in self._used:
            if not labels:
                return ()
            with self.opened() as hdf5:
                values = [files.texts_of(hdf5[name][...]) for name in self.sets[labels][1]]
            used = np.flatnonzero(functools.reduce(np.logical_or, [column != "" for column in values]))
            count = used[-1] + 1 if len(used) else 0
            self._used[labels] = tuple(column[:count] for column in values)
        return self._used[labels]

    def sources(self, name):
        """Where the metric is, the coarsest first."""
        return [_Dense(self, self.metrics[name])]


class _Dense(Source):
    def __init__(self, file, metric):
        super().__init__(metric, metric.labels)
        self._file = file

    def series(self, first=0):
        return tuple(column[first:] for column in self._file.series(self.labels))

    def _read(self, hdf5, name, first, end):
        """[end - first, series], also of a metric without labels."""
        item = hdf5[name]
        count = len(self.series()[0]) if self.labels else 1
        data = item[first:end, :count] if self.labels else files.read_rows(item, first, end)[:, None]
        return data, item.attrs.get("_FillValue")

    def blocks(self, hdf5, first, end, fields, bins=False):
        count = len(self.series()[0]) if self.labels else 1
        width = count * (hdf5[self.metric.name].shape[-1] if bins else 1)
        step = max(1, DENSE_VALUES // max(1, width))
        for at in range(first, end, step) if count else ():
            until = min(at + step, end)
            yield self._block(hdf5, at, until, fields, bins)

    def _block(self, hdf5, first, end, fields, bins):
        name, kind = self.metric.name, self.metric.kind
        judge, fill = self._read(hdf5, name + SUFFIXES[FIELDS[kind][0]], first, end)
        present = judge != 0 if kind != "gauge" else \
            np.ones(judge.shape, bool) if fill is None else judge != np.ravel(fill)[0]
        if kind == "gauge" and self.labels:
            present &= functools.reduce(np.logical_or, [column != "" for column in self.series()])[None]
        time, series = np.nonzero(present)
        values = {field: self._read(hdf5, name + SUFFIXES[field], first, end)[0][time, series] for field in fields}
        return Block(time + first, series, values, self._entries(hdf5, first, end, present) if bins else None)

    def _entries(self, hdf5, first, end, present):
        item = hdf5[self.metric.name]
        dense = item[first:end, : present.shape[1]] if self.labels else item[first:end][:, None]
        numbers = np.cumsum(present.ravel()).reshape(present.shape) - 1
        time, series, bin_number = np.nonzero(dense)
        return Entries(numbers[time, series], bin_number, dense[time, series, bin_number])

    def totals(self, hdf5, first, end, series):
        return self._read(hdf5, self.metric.name, first, end)[0][:, series]
