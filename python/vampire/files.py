# SPDX-License-Identifier: BSD-3-Clause
"""Which files are meant, and what every HDF5 file has: attributes, times, columns, tables."""

import contextlib
import ctypes
import glob
import os
import warnings
import zlib

import h5py
import numpy as np

from .chunks import read_rows
from .errors import Damaged, DamageWarning, Error

FORMATS = {"2": 2, "3": 2}  # of each MAJOR of the schema_version the newest MINOR that is read
STATES = {0: "open", 1: "rotated", 2: "ended"}
NAT = np.iinfo(np.int64).min
TIMES = "nanoseconds since 1970-01-01T00:00:00Z"
# What a variable is follows from its name. HDF5 knows by the list of its dimensions, but that is in a heap without check
# values, and damage there ends the process.
COLUMNS = ("bucket_ns", "bucket_number", "statistics_buckets", "events_")
TABLES = {"gap_": "gap", "component_": "component_slot", "output_name": "output_slot", "cdo_": "cdo"}
SIGNATURE = b"\x89HDF\r\n\x1a\n"
UNREADABLE = (AttributeError, OSError, LookupError, RuntimeError, TypeError, ValueError, zlib.error)  # what HDF5 and zlib say of damage
ATTEMPTS = 18  # to read metadata that changes meanwhile: HDF5 waits 1 ns, 2 ns, 4 ns, ... in between, 0.3 ms in all
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


def opened(path):
    """The h5py file. HDF5 takes a wrong checksum in a file that is read while it is written (SWMR) for a write that goes
    on, and would try again for minutes: so a file is read that way only if its superblock says that it was not closed,
    and with few attempts."""
    with open(path, "rb") as file:
        begin = file.read(12)
    if not begin.startswith(SIGNATURE):
        raise Damaged("it is not an HDF5 file")
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    flags = h5py.h5f.ACC_RDONLY
    if begin[11:] != b"\0":
        flags |= h5py.h5f.ACC_SWMR_READ
        # h5py has no name for it; this finds the HDF5 that h5py uses.
        ctypes.CDLL(h5py.h5p.__file__).H5Pset_metadata_read_attempts(ctypes.c_int64(access.id), ctypes.c_uint(ATTEMPTS))
    return h5py.File(h5py.h5f.open(os.fsencode(path), flags, fapl=access))


def names_of(group, attributes=False):
    """The names in a group, or of its attributes. In the order of the file, then sorted: HDF5 1.10 sorts in a table, and
    ends the process when it fails to make that of a damaged group."""
    names, h5 = [], h5py.h5
    if attributes:
        h5py.h5a.iterate(group.id, lambda name, *_: names.append(name), index_type=h5.INDEX_NAME, order=h5.ITER_NATIVE)
    else:
        group.id.links.iterate(names.append, idx_type=h5.INDEX_NAME, order=h5.ITER_NATIVE)
    return sorted(name.decode("utf-8", "replace") for name in names)


def check_format(version, where=""):
    """Raises Error for a schema_version that this package does not know. A newer MINOR is refused, too: what is new in it may
    belong to the numbers that are asked for."""
    major, _, minor = version.partition(".")
    if not minor.isdigit() or int(minor) > FORMATS.get(major, -1):
        raise Error(f"{where}it has format {version:.20}; this package reads formats 2 and 3 up to 3.{FORMATS['3']}. A newer one comes "
                    "with the vampire that wrote the file")


def text_of(value):
    """An attribute as a text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def absences_of(hdf5):
    """{what is absent: why}: metrics, losses of the pool manager, and what was learned while the file was written."""
    later = texts_of(hdf5["not_observed_later"][...]) if "not_observed_later" in hdf5 else ()
    return dict(line.partition(": ")[::2] for line in (*text_of(hdf5.attrs.get("not_observed", "")).splitlines(), *later) if line)


def texts_of(raw):
    """The rows of a character array [n, length] (or one text [length]) as an array of n texts."""
    rows = bytes_of(raw).tolist()
    texts = {row: row.decode("utf-8", "replace") for row in set(rows)}
    return np.array([texts[row] for row in rows], object)


def bytes_of(raw):
    """The rows of a character array [n, length] (or one text [length]) as an array of n byte strings."""
    raw = np.atleast_2d(raw)
    return np.ascontiguousarray(raw).view(f"S{raw.shape[1]}").ravel() if raw.size else np.empty(0, "S1")


def damaged_rows(group, name, is_open, first=0, end=None, known=None):
    """The rows that are not what was written, by their check values `name`. Of a file that was not closed, rows without
    one do not count: they may be being written. `known`: values of these rows that were read already."""
    check, known = group[name], known or {}
    sums = np.atleast_1d(check[first:end] if check.ndim else check[...])[: min(map(len, known.values()), default=None)]
    if not len(sums):
        return []
    parts, empty = [], b""
    for one in text_of(check.attrs["variables"]).split():
        item = group[one]
        values = known[one][: len(sums)] if one in known else read_rows(item, first, first + len(sums)) if check.ndim else item[...]
        parts.append(np.frombuffer(values.tobytes(), np.uint8).reshape(len(sums), -1))
        empty += np.full(item.shape[1:], item.fillvalue, item.dtype).tobytes() if check.ndim else b""
    found, unwritten = [zlib.crc32(row) for row in np.concatenate(parts, axis=1)], zlib.crc32(empty)
    return [row for row, (one, wanted) in enumerate(zip(found, sums.tolist()), first)
            if one != wanted and (wanted or not (is_open or one == unwritten))]  # a row that was never written has no value


def check_tables(group, is_open, besides=()):
    """Damaged if what is not along time, nor in `besides`, is not what was written. While a file is written, components change."""
    for name in names_of(group):
        if name.endswith("_check") and name not in ("time_check", *besides) and not (is_open and name == "component_check"):
            if bad := damaged_rows(group, name, is_open):
                raise Damaged(f"row {bad[0]} of {name.removesuffix('_check')} is not what was written")


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
        self.attrs = {key: as_text(hdf5.attrs[key]) for key in names_of(hdf5, True)}
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
        self.not_observed = absences_of(hdf5)
        self.edges = (hdf5["bin_lower"][...], hdf5["bin_upper"][...]) if "bin_lower" in hdf5 else None
        self.bad = damaged_rows(hdf5, "time_check", False, 0, self.rows) if "time_check" in hdf5 else []
        for row in self.bad:
            self.times[row] = self.times[row - 1] if row else NAT
        self.damage = []  # sentences
        if self.bad:
            self.note(f"damaged in {len(self.bad)} buckets from row {self.bad[0]} on, which are left out, and so are gauges by "
                      "component from there on")
        check_tables(hdf5, self.state == "open", ("name_check",))
        # Of two files with the same bucket the later one is right.
        self.keep = ~np.isin(np.arange(self.rows), self.bad)
        self.first, self.end = 0, self.rows   # the rows that were asked for
        self.columns = []                     # names of the [time] variables that are no metrics
        self.outputs, self.table_names = [], {}
        items = {name: hdf5[name] for name in names_of(hdf5)}  # HDF5 is slow in opening them: once is enough
        self._classify(items)
        self._find_metrics(items)

    def _find_metrics(self, items):
        """Which metrics the file has, from all objects of the root group."""
        raise NotImplementedError

    def _classify(self, items):
        """Which variables are columns and which are tables."""
        for name, item in items.items():
            if not isinstance(item, h5py.Dataset) or "metric" in item.attrs or name.endswith("_check"):
                continue
            if name.startswith(COLUMNS):
                self.columns.append(name)
            elif name.startswith("buckets_"):
                self.outputs.append(name)
            elif not h5py.h5ds.is_scale(item.id) and (table := next(filter(name.startswith, TABLES), None)):
                self.table_names[name] = TABLES[table]

    @contextlib.contextmanager
    def opened(self):
        """The h5py file; Damaged if it cannot be read."""
        try:
            with opened(self.path) as hdf5:
                yield hdf5
        except (Damaged, *UNREADABLE) as error:
            raise explain(self.path, error) from None

    def note(self, text):
        """Says that something of the file is damaged, and what follows."""
        self.damage.append(f"{self.path}: {text}")
        warnings.warn(self.damage[-1], DamageWarning, stacklevel=2)

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
    if "close degree" in str(error):
        return Error(f"{path}: xarray, netCDF4 or h5py has it open in this process; close it there first")
    return Damaged(f"{path}: not a vampire file, or damaged: {error}")
