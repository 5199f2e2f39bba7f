# SPDX-License-Identifier: BSD-3-Clause
"""What the HDF5 writer writes, read by other programs: xarray, h5py, netCDF, ncdump, h5dump, h5clear.
The buckets are made up (made_up.py)."""

import fcntl
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest
import xarray as xr

from harness import MODE, build_preload, wait_until
from rows import File, refresh
from made_up import (COMPONENT_NAMES, FILL, KINDS, METRICS, NUMBERS, START_NS, WIDTH_NS, Once, account, check_file,
                     check_open_file, check_row, clear, delta, fill, follow, has_rows, kill_while_filling, only_file, paths)

pytestmark = [
    pytest.mark.filterwarnings("ignore:invalid value encountered in cast"),  # NaT in xarray
    # These look at files. The writers meet the sanitizers in their unit tests and in each workflow.
    pytest.mark.plain,
]


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A file of 12 buckets that was closed well."""
    directory = tmp_path_factory.mktemp("closed")
    (path,) = paths(fill("hdf5", f"directory={directory}", buckets=12, growth=2))
    return path


def text_of(thing, attribute):
    """h5py gives fixed-length text as bytes or str, depending on its version."""
    text = thing.attrs.get(attribute, "")
    return text.decode() if isinstance(text, bytes) else str(text)


# ---- closed files


def test_name_and_permissions(closed):
    name = pathlib.Path(closed).name
    assert name == "vampire-fore_cast__1_-20261121T034400Z-11111111-files-0001.h5"
    assert os.stat(closed).st_mode & 0o777 == 0o600


def test_all_values_equal_the_oracle(closed):
    assert check_file(closed, 2, 1024) == list(range(12))


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_opens_with_one_line(closed, engine):
    with xr.open_dataset(closed, engine=engine) as ds:
        ds.load()
        assert ds.time.dtype == "datetime64[ns]"
        assert (ds.time_us.values == ds.time.values).all()
        assert ds.time.values[3] == np.datetime64(START_NS + 3 * WIDTH_NS, "ns")
        operation = KINDS[6]
        one = ds.pool_operations_delta.sel(operation=operation)
        assert one.shape == (12,)
        assert one.values[11] == sum(delta(0, s, 11) for s in range(1, 25) if KINDS[s % 15] == operation)
        assert ds.pool_operations_delta.attrs["units"] == "1"
        assert ds.pool_operations_delta.attrs["kind"] == "counter"
        assert ds.transport_ns.dims == ("time", "bin")
        assert ds.transport_ns_sum.attrs["units"] == "ns"
        assert set(ds.transport_ns.coords) >= {"bin_lower", "bin_upper"}
        assert set(ds.transport_ns_sum.coords) >= {"size_class", "tier"}
        assert str(ds.component_name.values[1]) == "IFS -- 0"
        assert np.isnat(ds.component_left.values[2])
        assert ds.component_left.values[1] != np.datetime64("NaT")
        assert str(ds.gap_reason.values[0]) == "pool_manager"
        assert int(ds.how_ended) == 2 and str(ds.end_reason.values) == "finished"
        assert np.isnan(ds.own_roundtrip_ns_min.values).any() or ds.own_roundtrip_ns_count.values.any()
        assert str(ds.output_name.values[0]) == "files"


WEIGHTS = ("vampire_sampled_in", "vampire_weighted", "vampire_weight")  # of sampled events

GROUPS = ["by_" + "_".join(labels) for labels in dict.fromkeys(
    tuple(labels) for _, kind, _, labels in METRICS if has_rows(kind, labels))]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_opens_each_group(closed, engine, group):
    with xr.open_dataset(closed, engine=engine) as root:
        placed = root.rows.where(root.row_dimension.astype(str) == f"{group}/row", drop=True)
        assert placed.sizes == {"time": 12, "row_slot": 1}
    with xr.open_dataset(closed, engine=engine, group=group) as ds:
        ds.load()
        assert ds.attrs["labels"] == group[len("by_"):].replace("size_class", "size-class").replace(
            "_", " ").replace("-", "_")
        assert ds.sizes["series"] == 25
        assert placed.sum() == (ds.series_index != ds.series_index.attrs["padding"]).sum()
        assert ds.series_index.dtype == "uint32"
        assert ds.time_us.dtype == "datetime64[ns]" and set(ds.time_us.values) <= set(placed.time.values)


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_labels_of_every_name(closed, engine):
    with xr.open_dataset(closed, engine=engine) as root, xr.open_dataset(closed, engine=engine, group="by_component") as ds:
        labels = [str(label) for label in root.name_text.values[ds.component.values]]
    assert labels == ["(other)"] + [COMPONENT_NAMES[s % 6] for s in range(1, 25)]


def test_each_metric_names_its_own_labels(closed):
    with h5py.File(closed, "r") as file:
        for name, kind, unit, labels in METRICS:
            if name.startswith("vampire_") and name not in WEIGHTS:
                continue
            data = file[name + {"COUNTER": "_delta", "GAUGE": "", "HISTOGRAM": "_count"}[kind]]
            assert text_of(data, "value_units") == unit
            words = [label for label in labels if label not in ("component", "producer", "consumer", "source", "sink")]
            assert text_of(data, "coordinates").split() == text_of(data, "labels").split() == words
            for position, word in enumerate(words):
                assert data.dims[position + 1][0].name == f"/{word}"
            group = "by_" + "_".join(labels)
            assert (group in file and data.name[1:] in file[group]) == bool(has_rows(kind, labels))


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_opens_the_metrics_of_vampire(closed, engine):
    """As columns of tables, but for the weights of sampled events."""
    with xr.open_dataset(closed, engine=engine) as ds:
        assert {name for name in ds.variables if name.startswith("vampire_")} == {
            "vampire_sampled_in_delta", "vampire_sampled_in_before", "vampire_weighted_delta", "vampire_weighted_before",
            "vampire_weight", "vampire_weight_min", "vampire_weight_max"}
        outputs, time = ds.output.values.astype(str).tolist(), ds.time
    with xr.open_dataset(closed, engine=engine, group="vampire") as ds:
        ds.load()
        assert ds.delta.sizes["time"] == ds["last"].sizes["time"] == len(time)
        assert ds.attrs["title"] == "vampire's own metrics"
        shown = {}
        for kind in ("counter", "gauge"):
            names, labels, units = (ds[f"{kind}_{what}"].values.astype(str) for what in ("name", "label", "units"))
            shown.update({name: (kind, label, unit) for name, label, unit in zip(names, labels, units)})
        assert shown == {name: (kind.lower(), "".join(labels), unit) for name, kind, unit, labels in METRICS
                         if name.startswith("vampire_") and name not in WEIGHTS and kind != "HISTOGRAM"}
        assert ds.counter_help.values.astype(str)[ds.counter_name.values.astype(str) == "vampire_cpu_ns"].tolist() == [
            "vampire's processor time"]
        one = ds.delta[:, (ds.counter_name.astype(str) == "vampire_written").values]
        number = NUMBERS["vampire_written"]
        assert one.counter_word.values.tolist() == list(range(17)) and outputs[1] == "files"
        assert one.values[11, 1] == sum(delta(number, s, 11) for s in range(1, 25))


def test_rules_of_the_format(closed):
    """Scales everywhere, no variable-length text, rows in whole chunks that are written once."""
    with h5py.File(closed, "r") as file:
        unlimited = set()

        def visit(name, data):
            for key in data.attrs:
                kind = data.attrs.get_id(key).get_type()
                assert key == "DIMENSION_LIST" or not (
                    isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str()
                ), f"{name}:{key}"
            if isinstance(data, h5py.Group):
                assert "/" not in name, "one level of groups"
                return
            assert h5py.check_vlen_dtype(data.dtype) is None
            if h5py.h5ds.is_scale(data.id):
                short = name.rpartition("/")[2]
                unlimited.update([short] if data.maxshape[0] is None else [])
                # h5netcdf opens all of the list for each variable along the dimension.
                assert short not in ("time", "restart", "row") or len(data.attrs["REFERENCE_LIST"]) == 1
                return
            for axis in range(data.ndim):
                assert len(data.dims[axis]) == 1, f"{name} axis {axis}"
            assert data.chunks is None or np.prod(data.chunks) * data.dtype.itemsize < 1 << 16
            along = data.dims[0][0].name.rpartition("/")[2] if data.ndim else ""
            if data.ndim == 2 and along == "time" and (data.shape[1] <= 8 or name.startswith("buckets_")):
                assert data.chunks == (128, 1) and data.compression is None
                return
            if data.ndim > 1 and along == "time":
                assert data.chunks[0] == 1
            if (data.ndim > 1 and along == "time") or along in ("row", "before") or along.endswith("_entry"):
                assert data.shuffle and data.compression == "gzip" and data.compression_opts == 1
                assert data.ndim > 1 or data.shape[0] % data.chunks[0] == 0

        file.visititems(visit)
        entries = {name + "_entry" for name, kind, _, labels in METRICS if kind == "HISTOGRAM" and labels}
        assert unlimited == {"time", "restart", "name_slot", "gap", "component_slot", "series", "row", "before"} | entries
        assert text_of(file, "Conventions") == "CF-1.10"
        assert text_of(file, "schema_version") == "3.2"
        for key in "vampire_version workflow host run_id segment bucket_ns clock configuration how_to_open_live".split():
            assert key in file.attrs


@pytest.mark.parametrize("argv", [["ncdump"], ["ncdump", "-h"], ["h5dump"], ["h5ls", "-r"]])
def test_command_line_tools(closed, argv):
    done = subprocess.run(argv + [closed], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    if argv[-1] == "-h":
        text = done.stdout.decode()
        assert "time = UNLIMITED ; // (12 currently)" in text
        assert 'time:units = "nanoseconds since 1970-01-01T00:00:00Z"' in text
        assert "uint64 pool_operations_delta(time, operation)" in text
        assert "group: by_component_operation" in text


@pytest.mark.parametrize("buckets", [0, 1, 2])
def test_few_buckets(tmp_path, buckets):
    (path,) = paths(fill("hdf5", f"directory={tmp_path}", buckets=buckets))
    assert check_file(path, 2, 1024) == list(range(buckets))
    for engine in ("h5netcdf", "netcdf4"):
        with xr.open_dataset(path, engine=engine) as ds:
            assert ds.load().sizes["time"] == buckets
    assert subprocess.run(["ncdump", path], capture_output=True).returncode == 0


def test_large_configuration(tmp_path):
    (path,) = paths(fill("hdf5", f"directory={tmp_path}", buckets=2, configuration=300000))
    with xr.open_dataset(path, engine="netcdf4") as ds:
        assert ds.attrs["configuration"] == "c" * 300000
    with xr.open_dataset(path, engine="h5netcdf") as ds:
        assert ds.attrs["configuration"] == "c" * 300000


def another_second():
    began = int(time.time())
    wait_until(lambda: int(time.time()) > began, "another second")


def test_the_same_buckets_give_the_same_bytes(tmp_path):
    contents = []
    for name in ("a", "b"):
        another_second()
        (tmp_path / name).mkdir()
        (path,) = paths(fill("hdf5", f"directory={tmp_path / name}", buckets=5))
        contents.append(bytearray(pathlib.Path(path).read_bytes()))
        # HDF5 notes the second in which it made its own object behind the superblock.
        assert contents[-1][48:52] == b"OHDR"
        contents[-1][48:108] = b""
    assert contents[0] == contents[1]


# ---- rotation


def merged(files, growth, max_series):
    numbers = []
    for path in files:
        numbers += check_file(path, growth, max_series)
    return numbers


def size_of(directory, **numbers):
    """Bytes of the one file that these buckets make."""
    directory.mkdir()
    (path,) = paths(fill("hdf5", f"directory={directory}", **numbers))
    return os.path.getsize(path)


@pytest.mark.parametrize("limit", ["bytes", "time"])
def test_rotation_loses_nothing(tmp_path, limit):
    if limit == "bytes":
        numbers = {"rotate_bytes": size_of(tmp_path / "some", buckets=20)}
    else:
        numbers = {"rotate_ns": 7 * WIDTH_NS}
    files = paths(fill("hdf5", f"directory={tmp_path}", buckets=25, **numbers))
    assert 1 < len(files) < 8 and files == sorted(files)
    assert merged(files, 2, 1024) == list(range(25))
    for number, path in enumerate(files):
        with xr.open_dataset(path, engine="netcdf4") as ds:
            assert int(ds.how_ended) == (2 if number == len(files) - 1 else 1)
            assert str(ds.component_name.values[1]) == "IFS -- 0"  # repeated in every file
            assert int(ds.attrs["segment"]) == number + 1


def chunks_of(item):
    """Chunks of a variable, those that were not written included."""
    return 0 if item.chunks is None else -(-item.shape[0] // item.chunks[0])


def max_chunks(file):
    counts = []
    file.visititems(lambda _, item: counts.append(chunks_of(item) if isinstance(item, h5py.Dataset) else 0))
    return max(counts)


@pytest.mark.long
def test_a_file_ends_before_a_variable_has_too_many_chunks(tmp_path):
    """The first bucket, which chooses the chunks, has few series, the others have thousands."""
    files = paths(fill("hdf5", f"directory={tmp_path}", buckets=36, growth=8000, max_series=8000, wait=1, seconds=240))
    most, numbers = [], []
    for path in files:
        with h5py.File(path) as file:
            most.append(max_chunks(file))
            numbers += file["bucket_number"][...].tolist()
    assert len(files) == 2 and 7700 < most[0] <= 8000
    assert numbers == list(range(36))


def test_totals_start_again_after_lost_buckets(tmp_path):
    """Of ten buckets at once a queue of one loses some; then the next ten come."""
    done = fill("hdf5", f"directory={tmp_path}", buckets=60, growth=0, queue=1, wait=10, check=False)
    (path,), (_, written, lost, _) = paths(done), account(done)
    numbers = check_file(path, 0, 1024)  # with the totals
    gaps = [row for row, (one, other) in enumerate(zip([-1, *numbers], numbers)) if other != one + 1]
    assert gaps and lost == 60 - written == 60 - len(numbers)
    with h5py.File(path) as file:
        assert file["restart_row"][...].tolist() == [0, *(row for row in gaps if row > 0)]


def test_long_names_get_a_file_of_their_own(tmp_path):
    files = paths(fill("hdf5", f"directory={tmp_path}", buckets=6, growth=2, long_names=7))
    assert len(files) == 2
    assert merged(files, 2, 1024) == list(range(6))
    for engine in ("h5netcdf", "netcdf4"):
        with xr.open_dataset(files[1], engine=engine) as ds:
            assert "n" * 1000 in ds.name_text.values.astype(str)


# ---- while it is written


def open_live(path):
    try:
        return h5py.File(path, "r", swmr=True)
    except OSError:
        return None  # it is being created


def test_a_live_reader_sees_only_whole_buckets(tmp_path):
    writer = follow(["buckets=7000", "wait=1", "pause_us=20000", "growth=1"], tmp_path)
    names = ("pool_operations", "transport_ns", "vampire_written")
    seen, looks = 0, 0
    try:
        path = wait_until(lambda: only_file(tmp_path), "a file")
        with wait_until(lambda: open_live(path), "live opening") as file:
            while looks < 5:
                assert writer.poll() is None, "the reader saw the file grow"
                file["time"].refresh()
                rows = file["time"].shape[0]
                if rows > seen:
                    refresh(file, names)
                    assert file["bucket_number"][:rows].tolist() == list(range(rows))
                    once = Once(File(file, rows))
                    for row in range(max(seen, rows - 20), rows):
                        check_row(once, row, row, 1, 1024, names)
                looks += rows > seen
                seen = rows
    finally:
        writer.kill()
        writer.wait()


def lock_as_soon_as_seen(directory, seen):
    """What a reader does who opens a file the moment its name appears."""
    for name in set(os.listdir(directory)) - seen:
        with open(directory / name, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                time.sleep(0.001)
            except BlockingIOError:
                pass
        seen.add(name)


def test_a_reader_that_is_too_early_stops_no_file(tmp_path):
    """Many small segments, each looked at between its name and its content."""
    writer = follow(["buckets=20", "rotate_ns=1000000000", "wait=1"], tmp_path)
    seen = set()
    try:
        while writer.poll() is None:
            lock_as_soon_as_seen(tmp_path, seen)
        said = writer.stdout.read()
    finally:
        writer.kill()
        writer.wait()
    assert "failure" not in said and "account 20 20 0 0" in said, said
    assert len(seen) >= 15


# Buckets of a replay are flushed 16 at a time, or after 100 ms.
REPLAY = ("replayed=1", "wait=40")


@pytest.mark.parametrize("numbers", [(), REPLAY], ids=["live", "replay"])
def test_kill_keeps_every_flushed_bucket(tmp_path, numbers):
    for attempt in range(6):
        path, acked = kill_while_filling(tmp_path / str(attempt), f"{numbers} {attempt}", 25, *numbers)
        names = ("pool_operations", "transport_ns", "transport_ns_sum", "components_present")
        with h5py.File(path, "r", swmr=True) as file:
            assert len(check_open_file(file, 1, 1024, names)) >= acked
        clear(path)
        with h5py.File(path, "r") as file:
            rows = len(check_open_file(file, 1, 1024, names))
            assert rows >= acked
            torn = file["bucket_number"].shape[0] > rows
        # h5netcdf takes its time; a file with a row that was not finished it has to show.
        for engine in ("netcdf4", "h5netcdf") if torn or attempt == 0 else ("netcdf4",):
            with xr.open_dataset(path, engine=engine) as ds:
                assert ds.load().time.notnull().sum() == rows
                assert ds.pool_operations_delta[:rows].notnull().all()
                assert int(ds.how_ended) == 0
            with xr.open_dataset(path, engine=engine, group="by_component_operation") as ds:
                assert len(ds.load().pool_operations_delta) == len(ds.series_index)


@pytest.mark.skipif(MODE in ("asan", "tsan"), reason="sanitizers want to be preloaded first")
def test_a_torn_write_costs_no_flushed_bucket(tmp_path):
    """Writes stopped at a page, one after the other: the worst that SIGKILL can do to one."""
    run = torn_writer(tmp_path, "buckets=8")
    crossings, _ = run(0)
    for tear in sorted(random.Random(1).sample(range(1, crossings + 1), min(crossings, 25))):
        path, acked = run(tear)
        if acked > 0:
            clear(path)
            assert len(check_file(path, 2, 1024)) >= acked


def torn_writer(tmp_path, *numbers):
    """A function that runs the writer and tears its n-th write that crosses a page: (path, buckets that were
    acknowledged before); with 0 none: (number of such writes, all buckets)."""
    tmp_path.mkdir(exist_ok=True)
    library = build_preload("torn_write", tmp_path)

    def run(tear):
        directory = tmp_path / str(tear)
        directory.mkdir()
        argv = [FILL, "hdf5", f"directory={directory}", "--", *numbers, "wait=1"]
        environment = dict(os.environ, LD_PRELOAD=str(library), TEAR=str(tear))
        done = subprocess.run(argv, capture_output=True, text=True, env=environment)
        acked = re.findall(r"^acked (\d+)$", done.stdout, re.MULTILINE)
        acked = int(acked[-1]) if acked else 0
        if tear > 0:
            assert done.returncode == -signal.SIGKILL
            return only_file(directory) if acked else None, acked
        crossings = int(re.search(r"^crossings (\d+)$", done.stderr, re.MULTILINE)[1])
        assert crossings > 0, "the library is in place"
        return crossings, acked

    return run


@pytest.mark.long
@pytest.mark.skipif(MODE in ("asan", "tsan"), reason="sanitizers want to be preloaded first")
def test_no_write_can_be_torn_where_a_variable_has_thousands_of_chunks(tmp_path):
    """Only a write that crosses a page can be torn. With thousands of chunks, whose index has the most pieces and
    levels, there are no more of them than in a small file: those that create it."""
    few, _ = torn_writer(tmp_path / "few", "buckets=8")(0)
    many, buckets = torn_writer(tmp_path / "many", "buckets=30", "growth=8000", "max_series=8000")(0)
    with h5py.File(only_file(tmp_path / "many" / "0")) as file:
        assert max_chunks(file) > 4000 and file["time"].shape[0] == buckets == 30
    assert many == few


# ---- full disks


def test_a_limit_on_file_size_starts_new_files(tmp_path):
    limit = size_of(tmp_path / "some", buckets=40)
    done = fill("hdf5", f"directory={tmp_path}", limit=limit, buckets=60, wait=1, deadline_ms=60000)
    assert account(done) == (60, 60, 0, 0)
    files = paths(done)
    assert 1 < len(files) < 15
    numbers = []
    for path in files:
        clear(path)
        numbers += check_file(path, 2, 1024)
    assert numbers == list(range(60))


def test_a_replay_counts_what_was_not_flushed_when_the_file_failed(tmp_path):
    limit = size_of(tmp_path / "some", buckets=40)
    done = fill("hdf5", f"directory={tmp_path}", limit=limit, check=False, buckets=60, replayed=1,
                deadline_ms=60000)
    queued, written, lost, waiting = account(done)
    assert (queued, waiting) == (60, 0) and 0 < lost <= 15 * len(paths(done)) and f"{lost} of 60 buckets are lost" in done.stdout
    numbers = []
    for path in paths(done):
        clear(path)
        numbers += check_file(path, 2, 1024)
    assert len(numbers) == len(set(numbers)) == written and numbers == sorted(numbers)


@pytest.mark.parametrize("kib", range(8192, 8192 + 6 * 64, 64))
def test_a_full_disk_costs_nothing_acknowledged(small_disk, kib):
    """Full after some buckets; then room is made, and everything arrives."""
    place = small_disk(kib)
    ballast = place / "ballast"
    ballast.write_bytes(b"b" * 5 * 1024 * 1024)
    writer = follow(["buckets=40", "wait=1", "growth=1", "deadline_ms=10000"], place)
    lines = []
    for line in writer.stdout:
        lines.append(line)
        if line.startswith("failure "):
            assert "free some space" in line
            break
    assert line.startswith("failure "), "the disk was full for a while"
    ballast.unlink()
    lines += list(writer.stdout)
    writer.wait()
    acked = max([int(line.split()[1]) for line in lines if line.startswith("acked ")], default=0)
    files = [line[5:].strip() for line in lines if line.startswith("path ")]
    (totals,) = [line for line in lines if line.startswith("account ")]
    written = int(totals.split()[2])
    assert acked == written == 40
    assert merged(files, 1, 1024) == list(range(40))
