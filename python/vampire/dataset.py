# SPDX-License-Identifier: BSD-3-Clause
"""A history as a labelled xarray Dataset, whose large variables are read when they are used."""

import math
import pathlib

import numpy as np
import pandas as pd
import xarray as xr
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from . import files
from .compute import history_of
from .errors import Damaged, Error, check_size
from .look import OTHER
from .rows import FIELDS

TABLE_KEYS = {
    "gap": ("gap_start", "gap_end", "gap_reason"),
    "component_slot": ("component_app_id", "component_name", "component_joined"),
    "output_slot": ("output_name",),
}
CELL_METHODS = {"delta": "time: sum", "total": "", "last": "time: point", "count": "time: sum", "sum": "time: sum",
                "min": "time: minimum", "max": "time: maximum", "bins": "time: sum"}


class _Lazy(BackendArray):
    """One variable of a metric: [time], [time, series], or [time, (series,) bin]. Only the part that is
    asked for is read and made dense."""

    def __init__(self, history, metric, field, groups):
        self._history, self._metric, self._field, self._groups = history, metric, field, groups
        self.dtype = np.dtype(float if metric.kind == "gauge" or field in ("min", "max") else np.uint64)
        self.shape = (len(history.times),) + ((len(groups),) if metric.labels else ()) \
            + ((len(history.bin_lower),) if field == "bins" else ())

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._get)

    def _get(self, key):
        numbers = [np.arange(length)[part] for part, length in zip(key, self.shape)]
        chosen = [np.atleast_1d(one) for one in numbers]
        self._check(chosen)
        series = chosen[1] if self._metric.labels else np.zeros(1, np.int64)
        dense = self._dense(chosen[0], series, chosen[-1] if self._field == "bins" else None)
        if not self._history.unread(self._metric.name, self._groups).isdisjoint(chosen[0].tolist()):
            raise Damaged(f"{self._history.damage[-1]}. Choose buckets without these (isel, between), or use vampire.quantile, "
                          "merge, rate or table, which do without")
        if not self._metric.labels:
            dense = dense[:, 0]
        return dense.reshape([len(one) for one in numbers if np.ndim(one)])

    def _check(self, chosen):
        name = self._metric.name
        check_size(f"{name} as an array", 8 * math.prod(len(one) for one in chosen),
                   f'Use vampire.quantile, merge, rate or table (such as vampire.table(path, "{name}", by=[...])), '
                   "which never make an array of it, or choose a part first, with isel or vampire.select")

    def _dense(self, time, series, bins):
        """[time, series(, bin)] of these indices."""
        shape = (len(time), len(series)) + (() if bins is None else (len(bins),))
        out = np.full(shape, np.nan) if self.dtype.kind == "f" else np.zeros(shape, self.dtype)
        if not out.size:
            return out
        first, end = int(time.min()), int(time.max()) + 1
        if self._field == "total":
            return self._history.totals(self._metric.name, self._groups, first, end, series)[time - first]
        to_time, to_series = _places(time, len(self._history.times)), _places(series, len(self._groups))
        field = () if bins is not None else (self._field,)
        rows = self._history.blocks(self._metric.name, self._groups, field, bins is not None, (first, end))
        for bucket, group, block in rows:
            at = np.where(bucket >= 0, to_time[bucket], -1), to_series[group]
            if bins is None:
                fits = (at[0] >= 0) & (at[1] >= 0)
                out[at[0][fits], at[1][fits]] = block.fields[self._field][fits]
            else:
                entry = block.entries
                place = at[0][entry.row], at[1][entry.row], _places(bins, self.shape[-1])[entry.bin]
                fits = (place[0] >= 0) & (place[1] >= 0) & (place[2] >= 0)
                # Two values of a row in the same bin may be two entries.
                np.add.at(out, tuple(one[fits] for one in place), entry.count[fits])
        return _repeated(out, time, to_time, series, to_series)


class _LazyLabels(BackendArray):
    """The values of a label, one for each series."""

    dtype = np.dtype(object)

    def __init__(self, series, label):
        self._series, self._label, self.shape = series, label, (len(series),)

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.VECTORIZED, self._get)

    def _get(self, key):
        return self._series.values(self._label)[key]


def _places(chosen, length):
    """For each index up to `length` its place among the chosen ones; -1: not chosen."""
    places = np.full(max(length, 1), -1)
    places[chosen] = np.arange(len(chosen))
    return places


def _repeated(out, time, to_time, series, to_series):
    """An index that was chosen twice has its values in the last place only."""
    return out[to_time[time]][:, to_series[series]]


def open(paths, output=None, between=None, metrics=None):  # pylint: disable=redefined-builtin
    """One Dataset of one file, the files of a run, or several runs; closed or being written.

    paths: a path, a pattern with *, a directory, or a list of them. output: the output's name, when there
    are files of several. between: (from, to) in UTC. metrics: names of the metrics wanted (None: all).

    Variables, read when they are used:
      counters    NAME (since the start of the run), NAME_delta [T] or [T, S], uint64
      gauges      NAME, NAME_min, NAME_max [T] or [T, S], float64 (NaN: no value)
      histograms  NAME [T, S, B] uint64: values per bin; NAME_count, NAME_sum uint64, NAME_min, NAME_max
                  float64 (NaN: no value) [T, S]
      accounts    events_received ... [T], uint64, since the start of the run
      tables      file_* [file], run_* [run_row], gap_* [gap], component_* [component_slot], output_*, buckets_*
                  [output_slot], cdo_* [cdo] (only at level cdo)
    Coordinates: time [T], the start of a bucket; bucket_ns, its width; bucket_number; run, segment;
    `complete` [T]: False when events of the bucket were lost; bin_lower, bin_upper [B]; labels [S], of the
    first set of series by their plain name, of others LABEL_of_SET, also read when they are used.

    file_state is open (being written, or vampire was killed), rotated (goes on in the next file) or
    ended; attribute `partial` says in words what of the runs is missing ("": nothing).
    """
    return dataset_of(history_of(paths, output, between), metrics)


WHERE = ("host", "pid", "user", "batch_job")


def components(paths, output=None):
    """A DataFrame, a row for each component in the order of joining: component, app_id, joined, left, reason, operations, and
    where it ran: host, pid, user, batch_job ("": not known). Other monitoring is joined on these."""
    ds = open(paths, output, metrics=[])
    names = ds.component_name.values
    facts = {"component": names, "app_id": ds.component_app_id.values, "joined": ds.component_joined.values,
             "left": ds.component_left.values, "reason": ds.component_leave_reason.values,
             "operations": ds.component_operations.values}
    facts |= {name: ds[f"component_{name}"].values if f"component_{name}" in ds else "" for name in WHERE}
    table = pd.DataFrame(facts)
    return table[(table.component != "") & (table.component != OTHER)].reset_index(drop=True)


def dataset_of(history, metrics=None):
    """The Dataset of a History."""
    unknown = set(metrics or ()) - set(history.metrics)
    if unknown:
        history.metric(sorted(unknown)[0])
    wanted = [metric for name, metric in history.metrics.items() if metrics is None or name in metrics]
    column_step, columns = history.column_step(history.column_names)
    series_step, series = history.series_step(metric.labels for metric in wanted)
    table_step, tables = _table_step()
    history.each(column_step, series_step, table_step, history.missing_step())
    ds = _Parts({key: value for key, value in history.files[-1].attrs.items() if key not in
                 ("segment", "run_id", "bucket_ns", "how_to_open_live")})
    _add_columns(ds, history, columns())
    for labels, groups in series().items():
        _add_labels(ds, labels, groups)
    for metric in wanted:
        _add_metric(ds, history, metric, series()[metric.labels])
    if len(history.bin_lower):
        ds.coords["bin_lower"], ds.coords["bin_upper"] = ("bin", history.bin_lower), ("bin", history.bin_upper)
    _add_tables(ds, *tables)
    _add_files_and_runs(ds, history)
    return xr.Dataset(ds.data, ds.coords, ds.attrs)


class _Parts:
    """What a Dataset is made of. Making it once is much faster than adding variables one by one."""

    def __init__(self, attrs):
        self.data, self.coords, self.attrs = {}, {}, attrs

    def __setitem__(self, name, variable):
        self.data[name] = variable


def _add_columns(ds, history, columns):
    ds.coords["time"] = ("time", history.times.astype("datetime64[ns]"), {"long_name": "Start of the bucket"})
    ds.coords["bucket_ns"] = ("time", history.bucket_ns, {"long_name": "Width of the bucket", "units": "ns"})
    ds.coords["bucket_number"] = ("time", history.numbers, {"long_name": "Number of the bucket in the run"})
    ds.coords["run"] = ("time", history.per_bucket(lambda file: file.run[:8]).astype(object),
                        {"long_name": "run, first part of its id"})
    ds.coords["segment"] = ("time", history.per_bucket(lambda file: file.segment).astype(int))
    ds.coords["complete"] = ("time", history.complete(), {"long_name": "no events of the bucket were lost"})
    for name, (values, attrs) in columns.items():
        if name not in ds.coords:
            ds[name] = ("time", values, attrs)


def _set_name(labels):
    return "_".join(labels) + ("_series" if len(labels) == 1 else "")


def _add_labels(ds, labels, groups):
    name = _set_name(labels)
    for label in labels:
        coordinate = label if label not in ds.coords else f"{label}_of_{name}"
        values = indexing.LazilyIndexedArray(_LazyLabels(groups, label))
        ds.coords[coordinate] = xr.Variable(name, values, {"long_name": f"{label} of the series", "label": label})


def _add_metric(ds, history, metric, groups):
    dims = ("time",) + ((_set_name(metric.labels),) if metric.labels else ())
    shown = {key: value for key, value in metric.attrs.items() if key in
             ("units", "help", "origin", "value_units", "kind", "labels", "metric")}
    if metric.kind == "counter":
        variables = {metric.name: "total", metric.name + "_delta": "delta"}
    else:
        variables = {metric.name + ("" if field == "last" else f"_{field}"): field for field in FIELDS[metric.kind]}
        if metric.kind == "histogram":
            variables[metric.name] = "bins"
    for name, field in variables.items():
        array = indexing.LazilyIndexedArray(_Lazy(history, metric, field, groups))
        attrs = {**shown, "long_name": metric.attrs.get("help", metric.name), "cell_methods": CELL_METHODS[field]}
        ds[name] = xr.Variable(dims + (("bin",) if field == "bins" else ()), array, attrs)


def _table_step():
    """(step for History.each, (variables, rows)). The step fills variables: {table: {variable: (attributes, sample)}}, and rows:
    {table: its rows}. A row replaces the same row of an earlier file of the run."""
    variables, rows = {}, {}

    def step(file, _wanted, hdf5):
        found, by_table = file.tables(hdf5), {}
        for name, (table, values, attrs) in found.items():
            variables.setdefault(table, {}).setdefault(name, (attrs, values))
            by_table.setdefault(table, {})[name] = values
        for table, columns in by_table.items():
            keys = TABLE_KEYS.get(table, columns)
            for row in zip(*columns.values()):
                row = dict(zip(columns, row))
                if any(value not in ("", 0, NAT) for value in row.values()):
                    rows.setdefault(table, {})[(file.run, *(str(row.get(key)) for key in keys))] = row

    return step, (variables, rows)


NAT = files.NAT


def _add_tables(ds, variables, rows):
    for table, columns in variables.items():
        for name, (attrs, sample) in columns.items():
            is_time = attrs.get("units") == files.TIMES
            missing = "" if sample.dtype == object else NAT if is_time else 0
            values = [row.get(name, missing) for row in rows.get(table, {}).values()]
            array = np.array(values, np.int64).astype("datetime64[ns]") if is_time else np.array(values, sample.dtype)
            ds[name] = (table, array, {"long_name": attrs.get("long_name", "")} if is_time else attrs)


def partial_of(history):
    """What of the runs is missing, in words: a list."""
    found = list(history.damage)
    for run, parts in history.runs.items():
        present = [file.segment for file in parts]
        absent = sorted(set(range(1, max(present) + 1)) - set(present))
        if absent:
            found.append(f"run {run[:8]}: segment {', '.join(map(str, absent))} is not among the files")
        if parts[-1].state == "open":
            found.append(f"run {run[:8]}: not ended in {pathlib.Path(parts[-1].path).name}: it is being "
                         "written, or vampire was killed")
        elif parts[-1].state == "rotated":
            found.append(f"run {run[:8]}: goes on after segment {present[-1]}, which is the last given")
    return found


def _add_files_and_runs(ds, history):
    every, runs = history.files, history.runs.values()
    for name, values in {
        "path": [f.path for f in every], "run": [f.run[:8] for f in every], "segment": [f.segment for f in every],
        "state": [f.state for f in every], "buckets": [f.rows for f in every],
    }.items():
        ds[f"file_{name}"] = ("file", np.array(values, object if isinstance(values[0], str) else None))
    for name, values in {
        "uuid": list(history.runs),
        "workflow": [parts[0].attrs["workflow"] for parts in runs],
        "host": [parts[0].attrs["host"] for parts in runs],
        "state": [parts[-1].state for parts in runs],
        "end_reason": [parts[-1].end_reason for parts in runs],
    }.items():
        ds[f"run_{name}"] = ("run_row", np.array(values, object))
    started = [parts[0].attrs["run_started"].rstrip("Z") for parts in runs]
    ds["run_started"] = ("run_row", np.array(started, "datetime64[ns]"))
    ds["run_ended"] = ("run_row", np.array([p[-1].ended for p in runs], np.int64).astype("datetime64[ns]"))
    ds.attrs["partial"] = "; ".join(partial_of(history))


def labels_of(array):
    """{label: name of its coordinate} of a variable of a metric, in the order of its labels."""
    return {array.coords[name].attrs["label"]: name for name in array.coords if "label" in array.coords[name].attrs}


def select(array, **labels):
    """The series with these labels (a value or a list of values each), not read yet.

    select(ds.pool_operations_delta, component="IFS -- 0", operation=["offer", "withdraw"])
    """
    names, chosen = labels_of(array), True
    for label, wanted in labels.items():
        if label not in names:
            raise Error(f"{array.name} has no label {label}; it has: {', '.join(names) or 'none'}")
        wanted = [wanted] if isinstance(wanted, str) else list(wanted)
        values = array.coords[names[label]].values
        for word in wanted:
            if word not in values:
                raise Error(f"{array.name} has no {label} '{word}'; it has: {', '.join(sorted(set(values)))}")
        chosen = chosen & np.isin(values, wanted)
    return array if chosen is True else array.isel({array.coords[next(iter(names.values()))].dims[0]: chosen})


class Backend(BackendEntrypoint):
    """xarray.open_dataset(path, engine="vampire")."""

    description = "vampire's HDF5 files, one or many, also while they are written"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "output", "between", "metrics")

    def open_dataset(self, filename_or_obj, *, drop_variables=None, output=None, between=None, metrics=None):
        """As open() of this package."""
        return open(filename_or_obj, output, between, metrics).drop_vars(drop_variables or [])

    def guess_can_open(self, filename_or_obj):
        """Never: other engines open these files, too, and whoever means this one says so."""
        return False
