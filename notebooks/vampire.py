# SPDX-License-Identifier: BSD-3-Clause
"""Reads what vampire wrote into HDF5 files: one labelled xarray Dataset for a file, a run or many.

    import vampire
    ds = vampire.open("vampire-weather-*.h5")            # closed or still being written
    vampire.select(ds.pool_operations, component="IFS -- 0")
    vampire.rate(ds.pool_operations)                     # per second, NaN where events are missing
    vampire.quantile(ds.demand_wait_ns, 0.99, over=("time", "series"))
    vampire.plot_heatmap(ds.transport_ns)

Words used below: T buckets (dimension `time`), S series (one dimension for each set of labels,
`component_operation` and so on), B bins (dimension `bin`). The format is in vampire-hdf5.
"""

import glob
import io
import os
import pathlib

import h5py
import numpy as np
import pandas as pd
import xarray as xr

SCHEMA_MAJOR = 1
STATES = {0: "open", 1: "rotated", 2: "ended"}
NAT = np.iinfo(np.int64).min
MEMORY_LIMIT = 4 << 30  # bytes that open() takes at most
TIMES = "nanoseconds since 1970-01-01T00:00:00Z"


class Error(Exception):
    """What cannot be read or computed, in words for people."""


class TooLarge(Error):
    """open() would need more than MEMORY_LIMIT; args[0] says so without advice for Python."""

    def __str__(self):
        return (f"{self.args[0]}. Choose with open(..., metrics=[...]) or open(..., between=(from, to)), "
                "or raise vampire.MEMORY_LIMIT")


# ---------------------------------------------------------------- one file


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _texts(raw):
    """The rows of a character array [n, length] (or one text [length]) as n texts."""
    raw = np.atleast_2d(raw)
    rows = np.ascontiguousarray(raw).view(f"S{raw.shape[1]}").ravel()
    return [row.decode("utf-8", "replace") for row in rows]


def _dim(item, axis):
    """The name of a dimension of an h5py dataset."""
    return item.dims[axis][0].name.strip("/")


class _File:
    """One HDF5 file, all of it that was asked for, in memory."""

    def __init__(self, path, metrics, between):
        self.path = str(path)
        self.label_sets, self.metrics, self.columns, self.tables = {}, {}, {}, {}
        try:
            # swmr also opens what is being written, or was left by a crash.
            with h5py.File(self.path, "r", swmr=True) as file:
                self._read(file, metrics, between)
        except FileNotFoundError:
            raise Error(f"{self.path}: no such file") from None
        except (OSError, KeyError, RuntimeError, ValueError) as error:
            self._explain(error)

    def _explain(self, error):
        if not os.access(self.path, os.R_OK):
            raise Error(f"{self.path}: you may not read it (vampire's files are private unless its "
                        "output has the option access)") from None
        with io.open(self.path, "rb") as file:
            is_hdf5 = file.read(8) == b"\x89HDF\r\n\x1a\n"
        if is_hdf5:
            raise Error(f"{self.path}: not a vampire file, or damaged: {error}") from None
        raise Error(f"{self.path}: not an HDF5 file") from None

    def _read(self, file, metrics, between):
        if "schema_version" not in file.attrs or "time" not in file:
            raise Error(f"{self.path}: an HDF5 file, but not one of vampire's")
        self.attrs = {key: _text(value) if isinstance(value, (bytes, str)) else value
                      for key, value in file.attrs.items()}
        if int(self.attrs["schema_version"].split(".")[0]) != SCHEMA_MAJOR:
            raise Error(f"{self.path}: format {self.attrs['schema_version']}; this program reads "
                        f"format {SCHEMA_MAJOR}. A newer one comes with the vampire that wrote it")
        # `time` is written last: each of its rows is a whole bucket, and all other variables,
        # opened after it, have at least as many.
        file["time"].refresh()
        self.rows = file["time"].shape[0]
        times = file["time"][: self.rows]
        low, high = (np.datetime64(b, "ns").astype("int64") if b is not None else None
                     for b in (between or (None, None)))
        self.first = 0 if low is None else int(np.searchsorted(times, low, "left"))
        self.end = self.rows if high is None else int(np.searchsorted(times, high, "left"))
        self.state = STATES.get(int(file["how_ended"][()]), "open")
        self.end_reason = _texts(file["end_reason"][...])[0] if "end_reason" in file else ""
        self.ended = int(file["ended"][()]) if "ended" in file else NAT
        self._check_size(file, metrics)
        for name, item in file.items():
            if isinstance(item, h5py.Dataset) and not h5py.h5ds.is_scale(item.id) or name == "time":
                self._read_variable(file, name, item, metrics)
        self.edges = (file["bin_lower"][...], file["bin_upper"][...]) if "bin_lower" in file else None

    def _check_size(self, file, metrics):
        if self.state == "open":
            for item in file.values():
                if item.shape and item.maxshape[0] is None:
                    item.refresh()
        wanted = 0
        for item in file.values():
            metric = _text(item.attrs.get("metric", b""))
            if metric and item.ndim == 3 and (metrics is None or metric in metrics):
                wanted += (self.end - self.first) * self._used(file, item) * item.shape[2] * 8
        if wanted > MEMORY_LIMIT:
            raise TooLarge(f"{self.path}: its histograms need {wanted / 2**30:.1f} GiB of memory, more than "
                           f"{MEMORY_LIMIT / 2**30:.0f}")

    def _used(self, file, item):
        dim = _dim(item, 1)
        if dim not in self.label_sets:
            names = _text(item.attrs["labels"]).split()
            coordinates = _text(item.attrs["coordinates"]).split()[: len(names)]
            rows = list(zip(*(_texts(file[name][...]) for name in coordinates)))
            used = [slot for slot, row in enumerate(rows) if any(row)]
            count = used[-1] + 1 if used else 0
            self.label_sets[dim] = (names, rows[:count], coordinates)
        return len(self.label_sets[dim][1])

    def _read_variable(self, file, name, item, metrics):
        attrs = {key: _text(value) for key, value in item.attrs.items()
                 if key in ("long_name", "units", "cell_methods", "metric", "kind", "labels", "help",
                            "origin", "value_units")}
        fill = item.attrs.get("_FillValue")
        rows = slice(self.first, self.end)
        if attrs.get("metric"):
            if metrics is not None and attrs["metric"] not in metrics:
                return
            dim = None
            if attrs.get("labels"):
                used = self._used(file, item)
                dim = _dim(item, 1)
                data = item[rows, :used]
            else:
                data = item[rows]
            histogram = _dim(item, item.ndim - 1) == "bin"
            self.metrics[name] = (dim, histogram, data, attrs, None if fill is None else np.ravel(fill)[0])
        elif item.ndim and (name == "time" or _dim(item, 0) == "time"):
            if item.ndim == 1:
                self.columns[name] = (item[rows], attrs)
            else:
                self.tables[name] = ("outputs", item[self.rows - 1] if self.rows else item[0:0], attrs)
        elif item.ndim and "_of_" not in name and not self._is_label(item):
            table = _dim(item, 0)
            data = item[...]
            self.tables[name] = (table, _texts(data) if data.dtype.kind == "S" else data, attrs)

    @staticmethod
    def _is_label(item):
        return "of the series" in _text(item.attrs.get("long_name", b"")) or \
            _text(item.attrs.get("long_name", b"")).startswith("identifier of the series") or \
            _dim(item, 0) in ("bin", "name_length")


# ---------------------------------------------------------------- many files, one dataset


def paths_of(path_or_pattern_or_list):
    """The files meant by a path, a pattern with * or a list of both, sorted by name; a directory
    means all of vampire's files in it."""
    given = path_or_pattern_or_list
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    paths = []
    for entry in given:
        entry = os.fspath(entry)
        if os.path.isdir(entry):
            entry = os.path.join(glob.escape(entry), "vampire-*.h5")
        found = sorted(glob.glob(entry)) if glob.has_magic(entry) and not os.path.exists(entry) else [entry]
        if not found:
            raise Error(f"{entry}: no file has such a name")
        paths += found
    return list(dict.fromkeys(paths))


def open(path_or_pattern_or_list, metrics=None, between=None, mask=False):  # pylint: disable=redefined-builtin
    """One Dataset of one file, the files of a run, or several runs; closed or being written.

    metrics: names of the metrics wanted (None: all). between: (from, to) in UTC, anything
    numpy.datetime64 takes, None for an open side. mask: NaN in buckets that miss events.

    Variables, named as in the files:
      counters       NAME, NAME_delta [T] or [T, S], uint64
      gauges         NAME, NAME_min, NAME_max [T] or [T, S], int64
      histograms     NAME [T, S, B] uint64: values per bin; NAME_count, NAME_sum uint64, NAME_min,
                     NAME_max float64 (NaN: no value) [T, S]
      accounts       events_received ... [T], uint64, since the start of the run
      tables         file_* [file], run_* [run_row], gap_* [gap], component_* [component_slot],
                     output columns [output_slot], cdo_* (only at level cdo)
    Coordinates: time [T], the start of a bucket; bucket_ns, its width; bucket_number; run, segment;
    `complete` [T]: False when events of the bucket were lost; bin_lower, bin_upper [B] in the
    `value_units` of the histogram; labels [S], of the first set by their plain name. Series are
    matched by their labels; unused slots are left out.

    file_state is open (being written, or vampire was killed), rotated (goes on in the next file) or
    ended; attribute `partial` says in words what of the runs is missing ("": nothing).
    """
    files = [_File(path, metrics, between) for path in paths_of(path_or_pattern_or_list)]
    files.sort(key=lambda f: (f.attrs["run_started"], f.attrs["run_id"], int(f.attrs["segment"])))
    if len({(f.attrs["run_id"], int(f.attrs["segment"])) for f in files}) < len(files):
        raise Error("a file is named twice (two names, the same run and segment)")
    keep = _rows_to_keep(files)
    ds = xr.Dataset(attrs={key: files[-1].attrs[key] for key in files[-1].attrs if key != "segment"})
    _add_columns(ds, files, keep)
    sets = _add_label_sets(ds, files)
    _add_metrics(ds, files, keep, sets)
    _add_tables(ds, files)
    _add_files_and_runs(ds, files)
    ds = ds.assign_coords(complete=("time", _complete(ds), {"long_name": "no events of the bucket were lost"}))
    return masked(ds) if mask else ds


def _rows_to_keep(files):
    """For each file a mask of its rows: of two rows of one bucket the later file's is right."""
    keep, seen = [], {}
    for number, file in enumerate(files):
        buckets = file.columns["bucket_number"][0] if "bucket_number" in file.columns \
            else np.arange(file.first, file.end)
        keep.append(np.ones(len(buckets), bool))
        for row, bucket in enumerate(buckets):
            key = (file.attrs["run_id"], int(bucket))
            if key in seen:
                keep[seen[key][0]][seen[key][1]] = False
            seen[key] = (number, row)
    return keep


def _add_columns(ds, files, keep):
    for name in dict.fromkeys(name for file in files for name in file.columns):
        attrs = next(file.columns[name][1] for file in files if name in file.columns)
        parts = [file.columns[name][0][mask] if name in file.columns else np.zeros(mask.sum(), np.uint64)
                 for file, mask in zip(files, keep)]
        data = np.concatenate(parts)
        if attrs.get("units") == TIMES:
            data, attrs = data.astype("datetime64[ns]"), {"long_name": attrs.get("long_name", "")}
        if name in ("time", "bucket_ns", "bucket_number"):
            ds.coords[name] = ("time", data, attrs)
        else:
            ds[name] = ("time", data, attrs)
    rows = [int(mask.sum()) for mask in keep]
    ds.coords["run"] = ("time", np.repeat(np.array([f.attrs["run_id"][:8] for f in files], object), rows),
                        {"long_name": "run, first part of its id"})
    ds.coords["segment"] = ("time", np.repeat([int(f.attrs["segment"]) for f in files], rows))


def _add_label_sets(ds, files):
    """{dimension: {labels: position}} over all files; the labels become coordinates."""
    sets, names_of, wanted = {}, {}, {}
    for file in files:
        for dim, (names, rows, own) in file.label_sets.items():
            wanted.setdefault(dim, own)
            if names_of.setdefault(dim, names) != names:
                raise Error("the files have different levels; read them one at a time")
            positions = sets.setdefault(dim, {})
            for row in rows:
                if any(row):
                    positions.setdefault(row, len(positions))
    for dim, names in names_of.items():
        for number, name in enumerate(names):
            coordinate = wanted[dim][number]
            if coordinate in ds.coords or coordinate == dim:
                coordinate = f"{name}_of_{dim}"
            values = np.array([row[number] for row in sets[dim]], object)
            ds.coords[coordinate] = (dim, values, {"long_name": f"{name} of the series", "label": name})
    return sets


def _add_metrics(ds, files, keep, sets):
    edges = [file.edges for file in files if file.edges is not None]
    if any(not np.array_equal(a, b) for one in edges[1:] for a, b in zip(edges[0], one)):
        raise Error("the files have different histogram bins (sub_bins); read them one at a time")
    used_bins = False
    for name in dict.fromkeys(name for file in files for name in file.metrics):
        dim, histogram, sample, attrs, fill = next(f.metrics[name] for f in files if name in f.metrics)
        if any(f.metrics[name][0] != dim for f in files if name in f.metrics):
            raise Error("the files have different levels; read them one at a time")
        shape = (len(ds.time),) + ((len(sets[dim]),) if dim else ()) + sample.shape[sample.ndim - 1:] * histogram
        data = np.full(shape, np.nan) if fill is not None else np.zeros(shape, sample.dtype)
        row = 0
        for file, mask in zip(files, keep):
            end = row + int(mask.sum())
            if name in file.metrics:
                part = file.metrics[name][2][mask]
                if fill is not None:
                    part = np.where(part == fill, np.nan, part.astype(float))
                if dim:
                    slots = [(slot, sets[dim][labels]) for slot, labels in
                             enumerate(file.label_sets[dim][1]) if any(labels)]
                    data[row:end, [to for _, to in slots]] = part[:, [slot for slot, _ in slots]]
                else:
                    data[row:end] = part
            row = end
        used_bins |= histogram
        ds[name] = (("time",) + ((dim,) if dim else ()) + (("bin",) if histogram else ()), data, attrs)
    if used_bins:
        ds.coords["bin_lower"], ds.coords["bin_upper"] = ("bin", edges[0][0]), ("bin", edges[0][1])


TABLE_KEYS = {
    "gap": ("gap_start", "gap_end", "gap_reason"),
    "component_slot": ("component_app_id", "component_name", "component_joined"),
    "output_slot": ("output_name",),
}


def _add_tables(ds, files):
    """Tables over all files. A row that a later file of the run repeats replaces the earlier one."""
    tables = {}
    for file in files:
        for name, (table, data, attrs) in file.tables.items():
            table = "output_slot" if table == "outputs" else table
            tables.setdefault(table, {}).setdefault(name, attrs)
    for table, variables in tables.items():
        rows = {}
        for number, file in enumerate(files):
            mine = {name: file.tables[name][1] for name in variables if name in file.tables}
            length = max((len(values) for values in mine.values()), default=0)
            for slot in range(length):
                row = {name: values[slot] for name, values in mine.items() if slot < len(values)}
                if any((value != "" if isinstance(value, str) else value not in (0, NAT)) for value in row.values()):
                    keys = [str(row.get(key)) for key in TABLE_KEYS.get(table, variables)]
                    rows[(file.attrs["run_id"], *keys)] = {**row, "run": number}
        for name, attrs in variables.items():
            sample = next(f.tables[name][1] for f in files if name in f.tables)
            missing = "" if isinstance(sample, list) else NAT if attrs.get("units") == TIMES else 0
            values = [row.get(name, missing) for row in rows.values()]
            if isinstance(sample, list):
                array = np.array(values, object)
            elif attrs.get("units") == TIMES:
                array = np.array(values, np.int64).astype("datetime64[ns]")
                attrs = {"long_name": attrs.get("long_name", "")}
            else:
                array = np.array(values, sample.dtype)
            ds[name] = (table, array, attrs)


def _add_files_and_runs(ds, files):
    ds["file_path"] = ("file", np.array([f.path for f in files], object))
    ds["file_run"] = ("file", np.array([f.attrs["run_id"][:8] for f in files], object))
    ds["file_segment"] = ("file", [int(f.attrs["segment"]) for f in files])
    ds["file_state"] = ("file", np.array([f.state for f in files], object))
    ds["file_buckets"] = ("file", [f.rows for f in files])
    runs, partial = {}, []
    for file in files:
        runs.setdefault(file.attrs["run_id"], []).append(file)
    for run, parts in runs.items():
        present = [int(f.attrs["segment"]) for f in parts]
        absent = sorted(set(range(1, max(present) + 1)) - set(present))
        if absent:
            partial.append(f"run {run[:8]}: segment {', '.join(map(str, absent))} is not among the files")
        if parts[-1].state == "open":
            partial.append(f"run {run[:8]}: not ended in {pathlib.Path(parts[-1].path).name}: it is being "
                           "written, or vampire was killed")
        elif parts[-1].state == "rotated":
            partial.append(f"run {run[:8]}: goes on after segment {present[-1]}, which is the last given")
    for name, values in {
        "run_id": [run for run in runs],
        "run_workflow": [parts[0].attrs["workflow"] for parts in runs.values()],
        "run_host": [parts[0].attrs["host"] for parts in runs.values()],
        "run_state": [parts[-1].state for parts in runs.values()],
        "run_end_reason": [parts[-1].end_reason for parts in runs.values()],
    }.items():
        ds[f"{name}" if name != "run_id" else "run_uuid"] = ("run_row", np.array(values, object))
    ds["run_started"] = ("run_row", np.array([p[0].attrs["run_started"].rstrip("Z") for p in runs.values()],
                                             "datetime64[ns]"))
    ds["run_ended"] = ("run_row", np.array([p[-1].ended for p in runs.values()], np.int64).astype("datetime64[ns]"))
    for name in ("run_id", "bucket_ns", "how_to_open_live"):
        ds.attrs.pop(name, None)
    ds.attrs["partial"] = "; ".join(partial)


def _complete(ds):
    starts = ds.time.values.astype(np.int64)
    ends = starts + ds.bucket_ns.values
    complete = np.ones(len(starts), bool)
    if "gap_start" in ds:
        for start, end, reason in zip(ds.gap_start.values.astype(np.int64), ds.gap_end.values.astype(np.int64),
                                      ds.gap_reason.values):
            if reason != "leap" and start != NAT:  # a leap is a jump of the clock: nothing is missing
                complete &= (ends <= start) | (starts > max(start, end))
    return complete


# ---------------------------------------------------------------- choosing, merging, computing


def labels_of(array):
    """{label: name of its coordinate} of a metric, in the order of its label set."""
    return {array.coords[name].attrs.get("label", name): name for name in array.coords
            if array.coords[name].attrs.get("label")}


def _series_dim(array):
    names = labels_of(array)
    return array.coords[next(iter(names.values()))].dims[0] if names else None


def masked(array):
    """The same with NaN in buckets that miss events; numbers become float64. Array or Dataset."""
    if isinstance(array, xr.Dataset):
        return array.map(lambda a: masked(a) if "time" in a.dims and a.dtype.kind in "iuf" else a, keep_attrs=True)
    return array.where(array.complete).assign_attrs(array.attrs)


def select(array, **labels):
    """The series with these labels (a value or a list of values each): [T, S'] or [T, S', B].

    select(ds.pool_operations, component="IFS -- 0", operation=["offer", "withdraw"])
    """
    names = labels_of(array)
    chosen = None
    for label, wanted in labels.items():
        if label not in names:
            raise Error(f"{array.name} has no label {label}; it has: {', '.join(names) or 'none'}")
        wanted = [wanted] if isinstance(wanted, str) else list(wanted)
        values = array.coords[names[label]].values
        for word in wanted:
            if word not in values:
                raise Error(f"{array.name} has no {label} '{word}'; it has: {', '.join(sorted(set(values)))}")
        fits = np.array([value in wanted for value in values], bool)
        chosen = fits if chosen is None else chosen & fits
    return array if chosen is None else array.isel({_series_dim(array): np.flatnonzero(chosen)})


def _combine(array, over):
    """How values of `array` merge: a numpy function of two arrays."""
    method = array.attrs.get("cell_methods", "")
    kind = array.attrs.get("kind", "")
    if method == "time: sum":
        return np.add
    if over == "series" and method == "time: point":
        return np.add
    if (over != "series" or kind == "histogram") and method in ("time: minimum", "time: maximum"):
        return np.fmin if method == "time: minimum" else np.fmax
    advice = f"use {array.name}_delta" if kind == "counter" else "it is a state, not an amount"
    raise Error(f"{array.name} cannot be merged over {over}: {advice}")


def merge(array, over="time", by=None):
    """Adds up exactly (integers stay integers; smallest and largest are taken of _min and _max).

    over: one or more of "time", "series" and "run" (buckets of several runs with the same start
    become one). by: labels to keep, when series are merged: merge(a, "series", by="component").
    Shapes: [T, S, B] gives [S, B], [T, B], [T', S, B], or with `by` [T, component, B].
    """
    for what in [over] if isinstance(over, str) else over:
        if what == "time":
            array = _reduced(array, "time", _combine(array, what))
        elif what == "run":
            array = _merge_runs(array)
        elif what == "series":
            array = _merge_series(array, [by] if isinstance(by, str) else list(by or []))
        else:
            raise Error(f"merge over '{what}'; it is one of time, series, run")
    return array


def _reduced(array, dim, function):
    axis = array.get_axis_num(dim)
    if array.shape[axis] == 0:
        data = np.full(array.shape[:axis] + array.shape[axis + 1:], 0 if function is np.add else np.nan)
        data = data.astype(array.dtype)
    else:
        data = function.reduce(array.values, axis=axis)
    return _rebuilt(array.isel({dim: 0}, drop=True) if array.shape[axis] else array.max(dim), data)


def _rebuilt(template, data):
    return xr.DataArray(data, template.coords, template.dims, template.name, template.attrs)


def _grouped(array, dim, groups, function):
    """`groups`: a list of index arrays along dim; each becomes one entry."""
    axis = array.get_axis_num(dim)
    parts = [function.reduce(array.values.take(group, axis=axis), axis=axis) for group in groups]
    return np.stack(parts, axis=axis) if parts else array.values.take([], axis=axis)


def _merge_series(array, by):
    dim, names = _series_dim(array), labels_of(array)
    if dim is None:
        return array
    function = _combine(array, "series")
    if not by:
        return _reduced(array, dim, function)
    for label in by:
        if label not in names:
            raise Error(f"{array.name} has no label {label}; it has: {', '.join(names)}")
    frame = pd.DataFrame({label: array.coords[names[label]].values for label in by})
    groups = frame.groupby(by, sort=False).indices if len(frame) else {}
    keys = sorted(groups, key=lambda key: groups[key][0])
    data = _grouped(array, dim, [groups[key] for key in keys], function)
    to = by[0] if len(by) == 1 else "series"
    dims = [to if d == dim else d for d in array.dims]
    coords = {n: c for n, c in array.coords.items() if dim not in c.dims}
    for number, label in enumerate(by):
        values = np.array([key if len(by) == 1 else key[number] for key in keys], object)
        coords[label] = (to, values, {"label": label})
    return xr.DataArray(data, coords, dims, array.name, array.attrs)


def _merge_runs(array):
    function = _combine(array, "run")
    times, inverse = np.unique(array.time.values, return_inverse=True)
    groups = [np.flatnonzero(inverse == number) for number in range(len(times))]
    data = _grouped(array, "time", groups, function)
    first = array.isel(time=[group[0] for group in groups]).drop_vars(
        [n for n in ("run", "segment", "bucket_number") if n in array.coords])
    first = _rebuilt(first, data)
    if "complete" in first.coords:
        first.coords["complete"] = ("time", [bool(array.complete.values[g].all()) for g in groups])
    return first


def quantile(histogram, q, over=(), by=None, lowest=None, highest=None):
    """Quantiles read from the bins, in the histogram's `value_units`; NaN where there are no values.

    histogram [T, S, B]; q: 0 to 1, or a list (then the result has a first dimension `quantile`);
    over, by: merged first, as merge() does. The result, [T, S] without what was merged, float64, is the
    middle of the bin of the value with rank ceil(q * count): off by at most half a bin, 1/16 of the value
    with 8 sub-bins. lowest, highest: NAME_min and NAME_max, of the same merge, bound the result.
    """
    merged = merge(histogram, over, by) if over else histogram
    counts = np.cumsum(np.moveaxis(merged.values, merged.get_axis_num("bin"), -1), axis=-1)
    total = counts[..., -1]
    lower, upper = merged.bin_lower.values, merged.bin_upper.values
    middle = (lower + (upper - lower) // np.uint64(2)).astype(float)
    results = []
    for one in np.atleast_1d(q):
        if not 0 <= one <= 1:
            raise Error(f"quantile {one}; it is between 0 and 1")
        rank = np.clip(np.ceil(one * total.astype(float)), 1, None)
        value = middle[np.argmax(counts >= rank[..., None], axis=-1)]
        results.append(np.where(total > 0, value, np.nan))
    template = merged.isel(bin=0, drop=True)
    attrs = {"units": histogram.attrs.get("value_units", "1"), "long_name": histogram.attrs.get("help", "")}
    out = xr.concat([_rebuilt(template, value) for value in results], pd.Index(np.atleast_1d(q), name="quantile"))
    for bound, clip in ((lowest, "min"), (highest, "max")):
        if bound is not None:
            bound = merge(bound, over, by) if over else bound
            out = out.clip(**{clip: bound})
    return (out.isel(quantile=0) if np.ndim(q) == 0 else out).assign_attrs(attrs)


def rate(counter):
    """A counter (NAME or NAME_delta, [T] or [T, S]) per second, float64.

    NaN where it cannot be known: in buckets that miss events, after buckets this output lost, and
    (for totals) in a run's first bucket when that is not the run's beginning. Where buckets are missing
    a row of NaN is put in, so that lines break there.
    """
    if counter.attrs.get("kind") != "counter" and "_delta" not in str(counter.name):
        raise Error(f"{counter.name} is not a counter")
    values = counter.values.astype(float)
    wide = (slice(None),) + (None,) * (values.ndim - 1)
    if counter.attrs.get("cell_methods") != "time: sum":
        same = counter.run.values[1:] == counter.run.values[:-1]
        numbers = counter.bucket_number.values.astype(np.int64)
        known = np.concatenate([numbers[:1] == 0, np.where(same, np.diff(numbers) == 1, numbers[1:] == 0)])
        before = np.concatenate([np.zeros_like(counter.values[:1]), counter.values[:-1]])
        starts = np.concatenate([numbers[:1] * 0 == 0, ~same])
        before[starts[: len(before)]] = 0
        values = np.where(known[wide], (counter.values - before).astype(float), np.nan)
    values = np.where(counter.complete.values[wide], values / (counter.bucket_ns.values[wide] / 1e9), np.nan)
    units = counter.attrs.get("units", "1")
    out = _rebuilt(counter, values).assign_attrs(units="s-1" if units == "1" else f"{units} s-1",
                                                 cell_methods="time: mean")
    return _broken_at_holes(out)


def _broken_at_holes(array):
    """The same with a row of NaN where buckets are missing."""
    ends = array.time.values + array.bucket_ns.values.astype("timedelta64[ns]")
    holes = np.flatnonzero(array.time.values[1:] > ends[:-1])
    if len(holes) == 0:
        return array
    fill = array.isel(time=holes).assign_coords(time=ends[holes])
    fill = _rebuilt(fill, np.full(fill.shape, np.nan))
    fill.coords["complete"] = ("time", np.zeros(len(holes), bool))
    both = xr.concat([array, fill], "time")
    order = np.insert(np.arange(len(ends)), holes + 1, np.arange(len(holes)) + len(ends))
    return both.isel(time=order).assign_attrs(array.attrs)


def coarsen(array, buckets):
    """Merges neighbouring buckets, exactly, until at most `buckets` rows remain: [T', ...]."""
    step = -(-array.sizes["time"] // max(1, buckets))
    if step <= 1:
        return array
    groups = [np.arange(n, min(n + step, array.sizes["time"])) for n in range(0, array.sizes["time"], step)]
    data = _grouped(array, "time", groups, _combine(array, "time"))
    out = _rebuilt(array.isel(time=[group[0] for group in groups]), data)
    widths = [int(array.bucket_ns.values[group].sum()) for group in groups]
    out.coords["bucket_ns"] = ("time", np.array(widths, np.int64))
    out.coords["complete"] = ("time", [bool(array.complete.values[group].all()) for group in groups])
    return out


def to_dataframe(array):
    """A tidy pandas DataFrame: a row for each value (of histograms: each bin that holds something),
    columns time, run, complete, the labels by their plain names, bin_lower and bin_upper, `value`."""
    names = labels_of(array)
    index = np.nonzero(array.values) if "bin" in array.dims else np.indices(array.shape).reshape(array.ndim, -1)
    position = dict(zip(array.dims, index))
    columns = {}
    wanted = ["time", "run", "complete", *names.values(), "bin_lower", "bin_upper", "quantile"]
    plain = {coordinate: label for label, coordinate in names.items()}
    for name in wanted:
        if name in array.coords and array.coords[name].ndim == 1:
            columns[plain.get(name, name)] = array.coords[name].values[position[array.coords[name].dims[0]]]
    columns["value"] = array.values[tuple(index)]
    return pd.DataFrame(columns)


# ---------------------------------------------------------------- plots

# Okabe and Ito's colours, which are distinguishable with any colour vision; grey is for the rest.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"]
OTHERS = "#999999"
COLUMNS_MAX = 300  # of a picture: more buckets are merged


def style(dark=False, size=10):
    """matplotlib settings for `with matplotlib.rc_context(vampire.style()):`."""
    ink, paper, faint = ("#e8e8e8", "#16181d", "#3a3f4a") if dark else ("#1a1a1a", "#ffffff", "#d8d8d8")
    settings = {key: ink for key in ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.titlecolor")}
    settings.update({
        "figure.facecolor": paper, "axes.facecolor": paper, "savefig.facecolor": paper, "axes.edgecolor": faint,
        "grid.color": faint, "axes.grid": True, "axes.axisbelow": True, "axes.spines.top": False,
        "axes.spines.right": False, "font.size": size, "axes.titlesize": size + 1, "axes.titlelocation": "left",
        "legend.frameon": False, "legend.fontsize": size - 1, "figure.autolayout": False, "grid.linewidth": 0.6,
        "svg.fonttype": "path", "text.parse_math": False, "axes.titleweight": "bold",
    })
    return settings


def duration(ns):
    """Nanoseconds for people: "1.5 ms"."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.3g} ns"


def amount(count, unit="B"):
    """Bytes for people: "3.5 MiB"; with unit "" a plain number with k, M, G."""
    steps, names = (1024, ("", "Ki", "Mi", "Gi", "Ti", "Pi")) if unit else (1000, ("", " k", " M", " G", " T"))
    number = float(count)
    for name in names:
        if abs(number) < steps or name == names[-1]:
            break
        number /= steps
    text = f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"
    return f"{text} {name}{unit}" if unit else f"{text}{name}"


def _shown(units):
    """The function that writes a value of these units."""
    return duration if units == "ns" else lambda value: amount(value, "B" if units.startswith("byte") else "")


def _formatter(units):
    from matplotlib.ticker import FuncFormatter
    show = _shown(units)
    return FuncFormatter(lambda value, _: show(value) if value > 0 or units != "ns" else "0")


def _amount_ticks(axis, top, units):
    """About five ticks from 0 to top; of bytes at round numbers of KiB, MiB, ..."""
    base = 1024 ** max(0, int(np.log2(max(top, 1)) // 10)) if units.startswith("byte") else 1
    rough = top / base / 5
    power = 10.0 ** np.floor(np.log10(rough)) if rough > 0 else 1
    step = base * power * next(n for n in (1, 2, 2.5, 5, 10) if n * power >= rough * 0.999)
    axis.set_ticks(np.arange(0, top * 1.0001, step) if step > 0 else [0])
    axis.set_major_formatter(_formatter(units))


def _log_ticks(low, high, most):
    """Two to `most` ticks, at round numbers where they suffice, between two positive numbers on a logarithmic axis."""
    ticks = [low, high]
    for parts in (np.arange(10, 100) / 10, (1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1,)):
        coarser = [part * 10.0**e for e in range(-1, 20) for part in parts if low <= part * 10.0**e <= high]
        ticks = coarser if len(coarser) > 1 else ticks
        if len(coarser) <= most:
            break
    return ticks[:: -(-len(ticks) // most)]


def _axes(ax):
    import matplotlib.pyplot as plt
    return plt.subplots(figsize=(8, 4), constrained_layout=True)[1] if ax is None else ax


def _time_axis(ax, array):
    from matplotlib import dates
    edges = np.append(array.time.values, array.time.values[-1:] + array.bucket_ns.values[-1:].astype("timedelta64[ns]"))
    first, last = pd.Timestamp(edges[0]), pd.Timestamp(edges[-1])
    if last - first < pd.Timedelta("1h"):
        form = "%H:%M:%S"
    else:
        form = "%H:%M" if last - first < pd.Timedelta("1d") else "%d %b\n%H:%M"
    ax.xaxis.set_major_formatter(dates.DateFormatter(form))
    width = ax.figure.get_size_inches()[0]
    ax.xaxis.set_major_locator(dates.AutoDateLocator(minticks=2, maxticks=4 if width < 5 else 7))
    ax.set_xlabel(f"time (UTC), {first:%Y-%m-%d}" + (f" to {last:%Y-%m-%d}" if first.date() != last.date() else ""))
    if len(edges) > 1:
        ax.set_xlim(edges[0], edges[-1])
    return edges


def _mark_incomplete(ax, array):
    """Grey hatching where events were lost."""
    ends = array.time.values + array.bucket_ns.values.astype("timedelta64[ns]")
    label = "events lost"
    for start, end, good in zip(array.time.values, ends, array.complete.values):
        if not good:
            ax.axvspan(start, end, facecolor="none", edgecolor=OTHERS, hatch="////", linewidth=0, label=label)
            label = None


def _nothing(ax, text):
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    ax.grid(False)
    ax.set(xticks=[], yticks=[])
    return ax


def plot_heatmap(histogram, ax=None, title=None):
    """Values of a histogram [T, S, B] (or [T, B]) over time: x time, y the value on a log axis cut at
    the stored edges, colour the number of values in a bucket and bin. Returns the axes."""
    from matplotlib.colors import LogNorm
    ax = _axes(ax)
    ax.set_title(title or histogram.attrs.get("help", histogram.name))
    data = coarsen(_merge_series(histogram, []), COLUMNS_MAX).transpose("time", "bin")
    used = np.flatnonzero(data.values.sum(axis=0))
    if len(used) == 0:
        return _nothing(ax, "no values")
    low, high = used[0], used[-1] + 1
    lower = data.bin_lower.values.astype(float)
    edges = np.append(lower[low:high], float(data.bin_upper.values[high - 1]) + 1)
    broken = _broken_at_holes(data)  # a hole between two buckets belongs to none of them
    counts = np.nan_to_num(broken.values[:, low:high].astype(float))
    times = _time_axis(ax, broken)
    mesh = ax.pcolormesh(times, np.maximum(edges, 0.5), np.ma.masked_equal(counts, 0).T, cmap=_colour_map(),
                         norm=LogNorm(1, max(2, counts.max())), rasterized=True)
    _mark_incomplete(ax, data)
    ax.set_yscale("log")
    units = histogram.attrs.get("value_units", "1")
    ax.yaxis.set_major_formatter(_formatter(units))
    ax.yaxis.set_minor_formatter("")
    if edges[-1] / max(edges[0], 0.5) < 10:
        ax.yaxis.set_minor_formatter(_formatter(units))
    ax.set_ylabel({"ns": "duration", "byte": "size", "byte s-1": "bytes per second"}.get(units, "value"))
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02)
    bar.set_label("values in a bucket")
    bar.set_ticks([count for count in _log_ticks(1, max(2, counts.max()), 6) if count % 1 == 0])
    bar.minorticks_off()
    bar.ax.yaxis.set_major_formatter(_formatter("1"))
    return ax


def _colours(everybody, shown):
    """By place in the alphabet, so that a name has the same colour in all pictures as long as colours suffice."""
    free, chosen = list(COLOURS), {}
    for place, name in enumerate(sorted(everybody, key=lambda name: (name in ("(other)", "unknown"), name))):
        if name in shown:
            chosen[name] = COLOURS[place % 7] if COLOURS[place % 7] in free else free[0]
            free.remove(chosen[name])
    return [chosen[name] for name in shown]


def plot_stack(counter, by="component", ax=None, title=None, legend=True):
    """A counter's rate (NAME_delta, [T, S]), stacked by a label: the seven largest and the others.
    x time, y per second. Where events are missing there is a hatched gap. Returns the axes."""
    ax = _axes(ax)
    ax.set_title(title or f"{counter.attrs.get('help', counter.name)} per second")
    merged = coarsen(_merge_series(counter, [by]), COLUMNS_MAX)
    totals = merged.values.sum(axis=0)
    order = [n for n in np.argsort(totals, kind="stable")[::-1] if totals[n] > 0]
    if not order:
        return _nothing(ax, "nothing happened")
    rates = rate(merged)
    edges = _time_axis(ax, rates)
    shown = order[: len(COLOURS)] if len(order) <= len(COLOURS) else order[: len(COLOURS) - 1]
    colours = _colours(merged[by].values, merged[by].values[shown])
    parts = [(_short(merged[by].values[n]), rates.values[:, n], colours[i]) for i, n in enumerate(shown)]
    if len(order) > len(shown):
        parts.append((f"{len(order) - len(shown)} others", rates.values[:, order[len(shown):]].sum(axis=1), OTHERS))
    floor = np.zeros(len(edges))
    for name, values, colour in parts:
        top = floor + np.append(values, values[-1])
        ax.fill_between(edges, floor, top, step="post", facecolor=colour, label=name, linewidth=0)
        floor = top
    _mark_incomplete(ax, merged)
    units = counter.attrs.get("units", "1")
    ax.set_ylim(bottom=0)
    _amount_ticks(ax.yaxis, ax.get_ylim()[1], units)
    ax.set_ylabel("bytes per second" if units == "byte" else "operations per second")
    if legend:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=3, handlelength=1.2)
    return ax


def plot_operations(ds, ax=None):
    """Pool operations per second, stacked by component."""
    return plot_stack(ds.pool_operations_delta, "component" if "component" in labels_of(ds.pool_operations_delta)
                      else "operation", ax)


def plot_bytes(ds, ax=None, metric="consumed_bytes"):
    """Bytes per second that components gave (produced_bytes) or received (consumed_bytes), stacked."""
    return plot_stack(ds[f"{metric}_delta"], "component", ax)


def plot_gauge(ds, metric="pool_bytes", ax=None):
    """A gauge without labels ([T]): a band from least to greatest in each bucket, a line through the
    values at the ends of buckets. Where events are missing there is a hatched gap."""
    ax = _axes(ax)
    ax.set_title(ds[metric].attrs.get("help", metric))
    low, high = (_broken_at_holes(masked(coarsen(ds[f"{metric}_{end}"], COLUMNS_MAX))) for end in ("min", "max"))
    if not np.isfinite(high.values).any():
        return _nothing(ax, "not known")
    edges = _time_axis(ax, low)
    ax.fill_between(edges, np.append(low.values, low.values[-1]), np.append(high.values, high.values[-1]), step="post",
                    facecolor=COLOURS[4], alpha=0.6, linewidth=0, label="least to greatest")
    if ds.sizes["time"] <= COLUMNS_MAX:
        last = _broken_at_holes(masked(ds[metric]))
        ax.plot(edges[1:], last.values, ".-", color=ax.yaxis.label.get_color(), label="at a bucket's end")
    _mark_incomplete(ax, coarsen(ds[metric + "_max"], COLUMNS_MAX))
    units = ds[metric].attrs.get("units", "1")
    ax.set(ylim=(min(0, np.nanmin(low.values)), None), ylabel={"byte": "bytes", "1": "number"}.get(units, units))
    _amount_ticks(ax.yaxis, ax.get_ylim()[1], units)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=2, handlelength=1.2)
    return ax


def plot_transports(ds, ax=None, metric="transport_bytes"):
    """Source-by-sink matrix of transport_bytes or transports over all buckets, with the numbers."""
    ax = _axes(ax)
    units = ds[f"{metric}_delta"].attrs.get("units", "1")
    ax.set_title("bytes moved, from row to column" if units == "byte" else "transports, from row to column")
    table = transport_table(ds, metric)
    if table.empty:
        return _nothing(ax, "no transports")
    values = table.to_numpy(float)
    picture = ax.imshow(np.ma.masked_equal(values, 0), cmap=_colour_map(), aspect="auto", vmin=0)
    if values.size <= 144:
        for (row, column), value in np.ndenumerate(values):
            if value > 0:
                bright = value > 0.6 * values.max()
                ax.text(column, row, _shown(units)(value), ha="center", va="center", color="black" if bright else "white")
    ax.set_xticks(range(len(table.columns)), [_short(c) for c in table.columns], rotation=30, ha="right",
                  rotation_mode="anchor")
    ax.set_yticks(range(len(table.index)), [_short(c) for c in table.index])
    ax.set(xlabel="sink", ylabel="source")
    ax.grid(False)
    bar = ax.figure.colorbar(picture, ax=ax, pad=0.02)
    _amount_ticks(bar.ax.yaxis, values.max(), units)
    bar.set_label("bytes" if units == "byte" else "transports")
    return ax


def _colour_map():
    """Viridis, without the end that the paper's colour would swallow."""
    import matplotlib
    from matplotlib.colors import ListedColormap, to_rgb
    dark = sum(to_rgb(matplotlib.rcParams["axes.facecolor"])) < 1.5
    return ListedColormap(matplotlib.colormaps["viridis"](np.linspace(0.28 if dark else 0, 1 if dark else 0.94, 256)))


def _short(name, length=22):
    """A name for a picture. matplotlib leaves names with a leading _ out of legends."""
    name = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    name = " " + name if name.startswith("_") else name
    return name if len(name) <= length else name[: length - 1] + "…"


def transport_table(ds, metric="transport_bytes"):
    """DataFrame, rows source, columns sink, of transport_bytes or transports over all buckets."""
    array = ds[f"{metric}_delta"]
    if "source" not in labels_of(array):
        raise Error(f"{metric} has no sources and sinks at this level; use level component")
    merged = merge(merge(array, "time"), "series", by=("source", "sink"))
    frame = pd.DataFrame({"source": merged.source.values, "sink": merged.sink.values, "value": merged.values})
    return frame[frame.value > 0].pivot(index="source", columns="sink", values="value").fillna(0)


def wait_table(ds, metric="demand_wait_ns", by="size_class"):
    """DataFrame, a row for each size class (or other label) with values: count, p50, p90, p99, max,
    in the metric's units."""
    over = ("time", "series")
    bounds = {"lowest": ds[f"{metric}_min"], "highest": ds[f"{metric}_max"]}
    found = quantile(ds[metric], [0.5, 0.9, 0.99], over, by, **bounds)
    counts = merge(ds[f"{metric}_count"], over, by).values
    frame = pd.DataFrame({"count": counts}, index=pd.Index(found[by].values, name=by))
    for number, name in enumerate(("p50", "p90", "p99")):
        frame[name] = found.isel(quantile=number).values
    frame["max"] = merge(ds[f"{metric}_max"], over, by).values
    frame = frame[frame["count"] > 0]
    return frame.loc[sorted(frame.index, key=_size_order)] if by == "size_class" else frame


def _size_order(label):
    """Order of labels such as [64KiB,128KiB)."""
    text = label.strip("[").split(",")[0]
    for unit, size in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1), ("", 1)):
        if text.endswith(unit) and text[: len(text) - len(unit)].isdigit():
            return int(text[: len(text) - len(unit)]) * size
    return 1 << 62


def plot_waits(ds, ax=None, metric="demand_wait_ns"):
    """Wait times by size class: a line from median to 99 in 100, marks at p50, p90, p99 and the
    largest. x duration on a log axis, y size of the CDO."""
    ax = _axes(ax)
    ax.set_title(ds[metric].attrs.get("help", metric))
    table = wait_table(ds, metric)
    if table.empty:
        return _nothing(ax, "no component waited")
    rows = np.arange(len(table))
    ax.hlines(rows, table.p50, table["max"], color=OTHERS, linewidth=1)
    ax.hlines(rows, table.p50, table.p99, color=COLOURS[0], linewidth=4, alpha=0.5)
    for column, marker, colour in (("p50", "o", 0), ("p90", "D", 1), ("p99", "s", 2), ("max", "|", 5)):
        ax.plot(table[column], rows, marker, color=COLOURS[colour], label=column, markersize=7,
                markeredgewidth=2 if marker == "|" else 0.5)
    ax.set_xscale("log")
    low, high = max(table.p50.min(), 1) / 1.25, max(table["max"].max(), 1) * 1.25
    ax.set_xlim(low, high)
    ax.minorticks_off()
    ax.set_xticks(_log_ticks(low, high, 4 if ax.figure.get_size_inches()[0] < 5 else 6))
    ax.xaxis.set_major_formatter(_formatter("ns"))
    ax.set_yticks(rows, [f"{label}  ({amount(count, '')})" for label, count in zip(table.index, table["count"])])
    ax.set(ylim=(-0.6, len(rows) - 0.4), xlabel="duration", ylabel="size of the CDO (waits)")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -2.4 / max(12, len(rows))), ncol=4, handlelength=1.2)
    return ax


def _cdo_times(ds):
    times = [v for v in ds.data_vars if v.startswith("cdo_") and ds[v].dtype.kind == "M"]
    if "cdo_name" not in ds or not times:
        raise Error("the file holds no CDOs by name; they are written at level cdo "
                    "(statistics: {\"level\": \"cdo\"})")
    return times


def cdo_table(ds):
    """DataFrame, a row for each selected CDO by name, the longest life first: producer, size_bytes (NaN:
    not known), demands, consumers, end, life, and its times (NaT: not seen). Needs level cdo."""
    times = {v[len("cdo_"):]: ds[v].values for v in _cdo_times(ds)}
    facts = {name: ds[f"cdo_{name}"].values for name in ("producer", "size_bytes", "demands", "consumers", "end")}
    table = pd.DataFrame({**facts, "life": 0, **times}, index=list(ds.cdo_name.values))
    table["size_bytes"] = np.where(ds.cdo_size_known.values != 0, table.size_bytes.astype(float), np.nan)
    table["life"] = table[list(times)].max(axis=1) - table[list(times)].min(axis=1)
    return table.sort_values("life", ascending=False, kind="stable")


def plot_cdos(ds, most=12, ax=None):
    """The lives of the CDOs that lived longest, a row each: x time since each was first seen, logarithmic
    above 10 µs. What all names begin with is left away. Needs a file of level cdo."""
    times = [v[len("cdo_"):] for v in _cdo_times(ds)]
    ax, table = _axes(ax), cdo_table(ds).head(most)
    ax.set_title(f"life of the CDOs that lived longest ({len(table)})")
    if table.empty:
        return _nothing(ax, "no CDOs yet")
    offsets = table[times].sub(table[times].min(axis=1), axis=0)
    rows = np.arange(len(table))
    ax.hlines(rows, 0, table.life.to_numpy().astype(float), color=OTHERS, linewidth=1)
    for number, what in enumerate(offsets.median().sort_values(kind="stable").index):
        seen = offsets[what].notna().to_numpy()
        ax.plot(offsets[what].to_numpy().astype(float)[seen], rows[seen], "osD^vPX*"[number % 8], markersize=6,
                color=COLOURS[number % len(COLOURS)], label=what.replace("_", " "), markeredgewidth=0.5)
    alike = os.path.commonprefix(list(table.index)).rfind(",") + 1 if len(table) > 1 else 0
    narrow = ax.figure.get_size_inches()[0] < 5  # a telephone's
    room = 17 if narrow else 27
    ax.set_yticks(rows, ["…" * (alike > 0 or len(name) > room) + name[alike:][-room:] for name in table.index])
    ax.set_xscale("symlog", linthresh=1e4, linscale=0.5)
    longest = float(offsets.max().max().value)
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-2e3, max(2e4, 2 * longest)), xlabel="time since it was first seen")
    powers = 10.0 ** np.arange(5 if narrow else 4, 20, 2 if narrow or longest > 1e10 else 1)
    ax.set_xticks([0, *powers[powers <= 2 * longest]])
    ax.xaxis.set_major_formatter(_formatter("ns"))
    ax.xaxis.set_minor_formatter("")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -3.2 / max(12, len(rows))), ncol=3, handlelength=1)
    return ax


def plot_cdo(ds, name, ax=None):
    """Timeline of one CDO: when it was declared, sealed, offered, demanded, moved, withdrawn and
    disposed of; x milliseconds since the first. Needs a file of level cdo."""
    times = [v[len("cdo_"):] for v in _cdo_times(ds)]
    found = cdo_table(ds).query("index == @name")
    if found.empty:
        raise Error(f"no CDO '{name}' among {len(ds.cdo_name)}, such as {', '.join(map(repr, ds.cdo_name.values[:3]))}")
    ax = _axes(ax)
    ax.set_title(f"CDO {_short(name, 40)}")
    points = found[times].iloc[0].dropna().astype("datetime64[ns]").sort_values(kind="stable")
    ax.plot((points - points.min()).to_numpy().astype(float), range(len(points)), "o-", color=COLOURS[0])
    ax.set_yticks(range(len(points)), [what.replace("_", " ") for what in points.index])
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(_formatter("ns"))
    ax.set_xlabel(f"time since {str(points.min())[:23]} UTC" if len(points) else "time")
    return ax
