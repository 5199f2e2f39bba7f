# SPDX-License-Identifier: BSD-3-Clause
"""Which files are meant, and what every HDF5 file has: attributes, times, columns, tables."""

import contextlib
import ctypes
import glob
import json
import math
import os
import re
import stat
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
NO_LOCKS = re.compile(r"unable to lock file, errno = (37|95|524)\b")  # ENOLCK, EOPNOTSUPP, ENOTSUPP of NFS: the file system has none
SIGNATURE = b"\x89HDF\r\n\x1a\n"
UNREADABLE = (AttributeError, OSError, LookupError, RuntimeError, TypeError, ValueError, zlib.error)  # what HDF5 and zlib say of damage
FEW_ROWS = 1024  # HDF5 reads datasets with up to this number of rows as fast as read_rows
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


denied = 0  # permissions that files of this process must not have


def keep_private(paths):
    """Sets the umask so that new files are not readable or writable by users who cannot read or write all of these files.
    Returns the previous umask."""
    global denied
    mode = 0o777
    for path in paths_of(paths):
        with contextlib.suppress(OSError):  # the file is reported when it is opened
            permitted = os.stat(path).st_mode
            mode &= permitted | (permitted & 0o444) >> 2  # folders: search permission for those who may read
    denied = 0o077 & ~mode
    old = os.umask(0o077)
    os.umask(old | denied)
    return old


@contextlib.contextmanager
def private(paths):
    """keep_private within a block. The umask is that of the whole process; other threads' files get no more permissions by it."""
    global denied
    denied_before, umask_before = denied, keep_private(paths)
    try:
        yield
    finally:
        denied = denied_before
        os.umask(umask_before)


def write_private(path, data):
    """Writes a file. An existing one loses the permissions that `keep_private` denies before the data are in it."""
    with open(path, "wb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISREG(mode) and mode & denied:
            os.fchmod(file.fileno(), stat.S_IMODE(mode) & ~denied)
        file.write(data)


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
    try:
        return h5py.File(h5py.h5f.open(os.fsencode(path), flags, fapl=access))
    except OSError as error:
        if not NO_LOCKS.search(str(error)) or not hasattr(access, "set_file_locking"):
            raise
    access.set_file_locking(False, True)  # reading requires no lock
    return h5py.File(h5py.h5f.open(os.fsencode(path), flags, fapl=access))


def dataset(group, name):
    """A dataset of a group. Faster than group[name], which looks up the type of the object first."""
    return h5py.Dataset(h5py.h5d.open(group.id, name.encode()))


def raw_rows(group, name, first=0, end=None):
    """The bytes of rows of a dataset (`end` None: all rows) as an array [row, byte]. Small datasets are read without creating
    h5py's objects, which takes longer than reading."""
    item = h5py.h5d.open(group.id, name.encode())
    shape, kind = item.shape, item.get_type()
    reads_whole = end is None or (first == 0 and end == shape[0] and end <= FEW_ROWS)
    if not reads_whole:
        return np.frombuffer(read_rows(h5py.Dataset(item), first, end).tobytes(), np.uint8).reshape(end - first, -1)
    out = np.empty((shape[0] if shape else 1, math.prod(shape[1:]) * kind.get_size()), np.uint8)
    item.read(h5py.h5s.ALL, h5py.h5s.ALL, out, kind)
    return out


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
    later = texts_of(dataset(hdf5, "not_observed_later")[...]) if "not_observed_later" in hdf5 else ()
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


def damaged_rows(group, name, is_open, first=0, end=None, known=None, kept=None):
    """The rows that are not what was written, by their check values `name`. Of a file that was not closed, rows without
    one do not count: they may be being written. `known`: values of these rows that were read already. `kept`: a dictionary that
    gets the bytes of the rows that are read, by variable."""
    check, known = dataset(group, name), known or {}
    sums = np.atleast_1d(check[first:end] if check.ndim else check[...])[: min(map(len, known.values()), default=None)]
    if not len(sums):
        return []
    names = text_of(check.attrs["variables"]).split()
    span = (first, first + len(sums)) if check.ndim else ()
    parts = [(np.frombuffer(known[one][: len(sums)].tobytes(), np.uint8) if one in known else raw_rows(group, one, *span))
             .reshape(len(sums), -1) for one in names]
    if kept is not None:
        kept.update(zip(names, parts))
    rows, width = np.concatenate(parts, axis=1).tobytes(), sum(part.shape[1] for part in parts)
    found = [zlib.crc32(rows[at: at + width]) for at in range(0, len(rows), width)]
    bad = [row for row, (one, wanted) in enumerate(zip(found, sums.tolist()), first) if one != wanted and (wanted or not is_open)]
    if not check.ndim or all(sums[row - first] for row in bad):
        return bad
    # Rows without a check value are not damaged if they were never written, so that they have the fill values.
    items = [dataset(group, one) for one in names]
    unwritten = zlib.crc32(b"".join(np.full(item.shape[1:], item.fillvalue, item.dtype).tobytes() for item in items))
    return [row for row in bad if sums[row - first] or found[row - first] != unwritten]


def check_tables(group, is_open, besides=(), kept=None):
    """Damaged if what is not along time, nor in `besides`, is not what was written. While a file is written, components change.
    `kept`: as in damaged_rows."""
    for name in names_of(group):
        if name.endswith("_check") and name not in ("time_check", *besides) and not (is_open and name == "component_check"):
            if bad := damaged_rows(group, name, is_open, kept=kept):
                raise Damaged(f"row {bad[0]} of {name.removesuffix('_check')} is not what was written")


def attributes_of(item):
    """What a variable says about itself."""
    return {key: text_of(item.attrs[key]) for key in ATTRIBUTES if key in item.attrs}


def as_text(value):
    """A file's attribute: text as text, numbers as they are."""
    return text_of(value) if isinstance(value, (bytes, str)) else value


# The shape of a file determines which variables it has. Files of the same shape share what File.DESCRIPTION lists.
SHAPE = ("schema_version", "vampire_version", "output", "level", "not_observed")  # attributes on which the variables depend
SHAPES_MAX = 64
_described = {}  # shape -> {name in File.DESCRIPTION: value}
_inherited = set()  # in a child process: the shapes that the parent process has, too


def inherit_shapes():
    """Must be called at the start of a child process that opens files for its parent process."""
    _inherited.update(_described)


def shape_of(attrs, names):
    """A text that is equal for files with the same variables, from the attributes and the names in a file. None: not known, as
    for vampire-collect, whose configuration does not contain the metrics that it receives."""
    try:
        config = json.loads(attrs["configuration"])
        outputs = [{key: value for key, value in output.items() if key != "directory"} for output in config["outputs"]]
        return json.dumps([attrs[key] for key in SHAPE] + [config["statistics"], config["samples"], outputs, names])
    except (LookupError, TypeError, ValueError):
        return None


class File:
    """One HDF5 file as it was when it was opened: the rows of `time` it had then, and no later ones. It is
    not kept open; `with file.opened() as hdf5` opens it again."""

    def __init__(self, path, hdf5):
        self.path = str(path)
        attrs, names = hdf5.attrs, names_of(hdf5)
        self.attrs = {key: as_text(attrs[key]) for key in names_of(hdf5, True)}
        self.run, self.segment = self.attrs["run_id"], int(self.attrs["segment"])
        # `time` is written last: each of its rows is a whole bucket, and all other variables, opened
        # after it, have at least as many.
        time = dataset(hdf5, "time")
        time.refresh()
        self.rows = time.shape[0]
        self.times = time[: self.rows]
        self.numbers = dataset(hdf5, "bucket_number")[: self.rows].astype(np.int64)
        self.bucket_ns = read_rows(dataset(hdf5, "bucket_ns"), 0, self.rows).astype(np.int64)
        self.state = STATES.get(int(dataset(hdf5, "how_ended")[()]), "open")
        self.end_reason = texts_of(dataset(hdf5, "end_reason")[...])[0] if "end_reason" in names else ""
        self.ended = int(dataset(hdf5, "ended")[()]) if "ended" in names else NAT
        self.not_observed = absences_of(hdf5)
        read = {}  # variable -> the bytes of its rows
        self.bad = damaged_rows(hdf5, "time_check", False, 0, self.rows, kept=read) if "time_check" in names else []
        for row in self.bad:
            self.times[row] = self.times[row - 1] if row else NAT
        self.damage = []  # sentences
        if self.bad:
            self.note(f"damaged in {len(self.bad)} buckets from row {self.bad[0]} on, which are left out, and so are gauges by "
                      "component from there on")
        check_tables(hdf5, self.state == "open", ("name_check",), read)
        # Of two files with the same bucket the later one is right.
        self.keep = ~np.isin(np.arange(self.rows), self.bad)
        self.first, self.end = 0, self.rows   # the rows that were asked for
        self._held = None  # the h5py file while `opened` is in use
        self._kept = None  # the h5py file between `keep_open` and `close`
        self.shape = shape_of(self.attrs, names)
        if self.shape is None or self.shape not in _described:
            self._describe({name: hdf5[name] for name in names})
            if len(_described) == SHAPES_MAX:
                _described.clear()
            _described[self.shape] = {name: vars(self)[name] for name in self.DESCRIPTION}
        vars(self).update(_described[self.shape])
        # Small columns and tables are not read twice. The tables of a file that is being written change.
        is_kept = self.state != "open" and self.rows <= FEW_ROWS
        self._read = {name: rows for name, rows in read.items() if is_kept and name in self.types and len(rows) <= FEW_ROWS}

    # Attributes of this object that files of the same shape share, because opening all objects of a file is slow.
    DESCRIPTION = ("edges", "columns", "outputs", "table_names", "table_attributes", "types")

    def __getstate__(self):
        """Without what the parent process has already."""
        left_out = self.DESCRIPTION if self.shape in _inherited else ()
        return {name: value for name, value in vars(self).items() if name not in left_out}

    def __setstate__(self, state):
        vars(self).update(_described.get(state["shape"], {}) | state)

    def _describe(self, items):
        """Determines which variables the file has, from all objects of the root group."""
        self.edges = (items["bin_lower"][...], items["bin_upper"][...]) if "bin_lower" in items else None
        self.columns = []                     # names of the [time] variables that are no metrics
        self.outputs, self.table_names, self.table_attributes = [], {}, {}
        self.types = {}                       # type of each column and variable of a table
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
        self.types = {name: items[name].dtype for name in (*self.columns, *self.table_names)}

    @contextlib.contextmanager
    def opened(self):
        """The h5py file; Damaged if it cannot be read. Nested calls return the same h5py file."""
        if self._held is not None:
            yield self._held
            return
        try:
            with opened(self.path) if self._kept is None else contextlib.nullcontext(self._kept) as self._held:
                yield self._held
        except (Damaged, *UNREADABLE) as error:
            raise explain(self.path, error) from None
        finally:
            self._held = None

    def keep_open(self):
        """Until `close`, `opened` does not open the file again. If it cannot be opened now, `opened` will report that."""
        with contextlib.suppress(Damaged, *UNREADABLE):
            self._kept = opened(self.path)

    def close(self):
        """Ends what `keep_open` began."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

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
        if name in self._read:
            return self._values_read(name)[:, 0]
        return read_rows(dataset(hdf5, name), 0, self.rows) if name in self.columns else np.zeros(self.rows, np.uint64)

    def _values_read(self, name):
        """[row, value] of a variable that was read when the file was opened."""
        return np.ascontiguousarray(self._read[name]).view(self.types[name])

    def tables(self, hdf5):
        """{name: (table, values, attributes)} of the tables of gaps, components, outputs and CDOs."""
        found = {}
        for name, table in self.table_names.items():
            if name in self._read:
                data = self._values_read(name)
                data = data if data.dtype.kind == "S" else data[:, 0]
            else:
                data = dataset(hdf5, name)[...]
            found[name] = (table, texts_of(data) if data.dtype.kind == "S" else data, self._attributes(hdf5, name))
        for name in self.outputs:
            item = dataset(hdf5, name)
            data = read_rows(item, self.rows - 1, self.rows)[0] if self.rows else np.zeros(item.shape[1:], item.dtype)
            found[name] = ("output_slot", data, self._attributes(hdf5, name))
        return found

    def _attributes(self, hdf5, name):
        """attributes_of a variable of a table, read once for all files of the same shape."""
        if name not in self.table_attributes:
            self.table_attributes[name] = attributes_of(dataset(hdf5, name))
        return self.table_attributes[name]


def explain(path, error):
    """The Error for a file that could not be read."""
    if isinstance(error, FileNotFoundError) or not os.path.exists(path):
        return Error(f"{path}: no such file")
    if not os.access(path, os.R_OK):
        return Error(f"{path}: you may not read it (vampire's files are private unless its output has the "
                     "option access)")
    if "close degree" in str(error) or "locking flag" in str(error):
        return Error(f"{path}: xarray, netCDF4 or h5py has it open in this process; close it there first")
    return Damaged(f"{path}: not a vampire file, or damaged: {error}")
