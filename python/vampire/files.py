# SPDX-License-Identifier: BSD-3-Clause
"""Which files are meant, and what every HDF5 file has: attributes, times, columns, tables."""

import glob
import io
import os

import h5py
import numpy as np

from .errors import Error

FORMAT = 2  # MAJOR of the schema_version
STATES = {0: "open", 1: "rotated", 2: "ended"}
NAT = np.iinfo(np.int64).min
TIMES = "nanoseconds since 1970-01-01T00:00:00Z"
TABLES = ("gap", "component_slot", "output_slot", "cdo")
ATTRIBUTES = ("long_name", "units", "cell_methods", "metric", "kind", "labels", "help", "origin", "value_units")


def paths_of(path_or_list):
    """The files meant by a path, a pattern with * or a list of both, sorted by name; a directory means all
    of vampire's files in it."""
    given = [path_or_list] if isinstance(path_or_list, (str, os.PathLike)) else path_or_list
    paths = []
    for entry in map(os.fspath, given):
        if os.path.isdir(entry):
            entry = os.path.join(glob.escape(entry), "vampire-*.h5")
        found = sorted(glob.glob(entry)) if glob.has_magic(entry) and not os.path.exists(entry) else [entry]
        if not found:
            raise Error(f"{entry}: no file has such a name")
        paths += found
    return list(dict.fromkeys(paths))


def text_of(value):
    """An attribute as a text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def texts_of(raw):
    """The rows of a character array [n, length] (or one text [length]) as an array of n texts."""
    rows = bytes_of(raw).tolist()
    texts = {row: row.decode("utf-8", "replace") for row in set(rows)}
    return np.array([texts[row] for row in rows], object)


def bytes_of(raw):
    """The rows of a character array [n, length] (or one text [length]) as an array of n byte strings."""
    raw = np.atleast_2d(raw)
    return np.ascontiguousarray(raw).view(f"S{raw.shape[1]}").ravel() if raw.size else np.empty(0, "S1")


def dimensions_in(items):
    """{address: name} of the dimensions among these objects of a group, for dim_of."""
    return {_address(item): name for name, item in items.items()
            if isinstance(item, h5py.Dataset) and h5py.h5ds.is_scale(item.id)}


def dim_of(item, axis, names):
    """The name of a dimension of an h5py dataset, of dimensions_in. HDF5 itself searches the file for it."""
    return names[_address(item.dims[axis][0])]


def _address(item):
    return h5py.h5o.get_info(item.id).addr


def read_rows(item, first, end):
    """item[first:end] of a [time, ...] variable. In a file that is being written it may end before `time`;
    what is not there yet is the fill value."""
    data = item[first:end]
    if len(data) < end - first:
        missing = np.full((end - first - len(data), *item.shape[1:]), item.fillvalue, item.dtype)
        data = np.concatenate([data, missing])
    return data


def attributes_of(item):
    """What a variable says about itself."""
    return {key: text_of(item.attrs[key]) for key in ATTRIBUTES if key in item.attrs}


def as_text(value):
    """A file's attribute: text as text, numbers as they are."""
    return text_of(value) if isinstance(value, (bytes, str)) else value


class File:
    """One HDF5 file as it was when it was opened: the rows of `time` it had then, and no later ones. It is
    not kept open; `with file.opened() as hdf5` opens it again."""

    def __init__(self, path, hdf5):
        self.path = str(path)
        self.attrs = {key: as_text(value) for key, value in hdf5.attrs.items()}
        self.run, self.segment = self.attrs["run_id"], int(self.attrs["segment"])
        # `time` is written last: each of its rows is a whole bucket, and all other variables, opened
        # after it, have at least as many.
        hdf5["time"].refresh()
        self.rows = hdf5["time"].shape[0]
        self.times = hdf5["time"][: self.rows]
        self.numbers = hdf5["bucket_number"][: self.rows].astype(np.int64)
        self.bucket_ns = read_rows(hdf5["bucket_ns"], 0, self.rows).astype(np.int64)
        self.state = STATES.get(int(hdf5["how_ended"][()]), "open")
        self.end_reason = texts_of(hdf5["end_reason"][...])[0] if "end_reason" in hdf5 else ""
        self.ended = int(hdf5["ended"][()]) if "ended" in hdf5 else NAT
        self.edges = (hdf5["bin_lower"][...], hdf5["bin_upper"][...]) if "bin_lower" in hdf5 else None
        self.keep = np.ones(self.rows, bool)  # of two files with the same bucket the later one is right
        self.first, self.end = 0, self.rows   # the rows that were asked for
        self.columns = []                     # names of the [time] variables that are no metrics
        self.outputs, self.table_names = [], {}
        items = dict(hdf5.items())  # HDF5 is slow in opening them: once is enough
        self.dims = dimensions_in(items)
        self._classify(items)
        self._find_metrics(items)

    def _find_metrics(self, items):
        """Which metrics the file has, from all objects of the root group."""
        raise NotImplementedError

    def _classify(self, items):
        """Which variables are columns and which are tables."""
        for name, item in items.items():
            if not isinstance(item, h5py.Dataset) or item.ndim == 0 or name in ("time", "end_reason"):
                continue
            if "metric" in item.attrs or h5py.h5ds.is_scale(item.id):
                continue
            dim = dim_of(item, 0, self.dims)
            if dim == "time" and item.ndim == 1:
                self.columns.append(name)
            elif dim == "time":
                self.outputs.append(name)
            elif dim in TABLES:
                self.table_names[name] = dim

    def opened(self):
        """The h5py file; swmr also opens what is being written, or was left by a crash."""
        return h5py.File(self.path, "r", swmr=True)

    def limit(self, low, high):
        """Only the buckets that begin at `low` or later and before `high`; None for an open side."""
        self.first = 0 if low is None else int(np.searchsorted(self.times, low, "left"))
        self.end = self.rows if high is None else max(self.first, int(np.searchsorted(self.times, high, "left")))

    def wanted(self):
        """The rows that count, as indices."""
        return np.flatnonzero(self.keep[self.first: self.end]) + self.first

    def column(self, hdf5, name):
        """A [time] column, all rows; zeros when the file has none of that name."""
        return read_rows(hdf5[name], 0, self.rows) if name in self.columns else np.zeros(self.rows, np.uint64)

    def tables(self, hdf5):
        """{name: (table, values, attributes)} of the tables of gaps, components, outputs and CDOs."""
        found = {}
        for name, table in self.table_names.items():
            item = hdf5[name]
            data = item[...]
            found[name] = (table, texts_of(data) if data.dtype.kind == "S" else data, attributes_of(item))
        for name in self.outputs:
            item = hdf5[name]
            data = read_rows(item, self.rows - 1, self.rows)[0] if self.rows else np.zeros(item.shape[1:], item.dtype)
            found[name] = ("output_slot", data, attributes_of(item))
        return found


def explain(path, error):
    """The Error for a file that could not be read."""
    if isinstance(error, FileNotFoundError) or not os.path.exists(path):
        return Error(f"{path}: no such file")
    if not os.access(path, os.R_OK):
        return Error(f"{path}: you may not read it (vampire's files are private unless its output has the "
                     "option access)")
    with io.open(path, "rb") as file:
        is_hdf5 = file.read(8) == b"\x89HDF\r\n\x1a\n"
    return Error(f"{path}: not a vampire file, or damaged: {error}") if is_hdf5 else \
        Error(f"{path}: not an HDF5 file")
