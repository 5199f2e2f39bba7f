# SPDX-License-Identifier: BSD-3-Clause
"""The Python package vampire on files of the program's own writer: values, what opening reads, files that cannot be read,
files that are being written, and the documentation's examples."""

import collections
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

import made_up
from harness import PATIENCE, ROOT, program, wait_until

pytest.importorskip("pandas")
import rows
import xarray as xr
import vampire
from vampire import files

pytestmark = [pytest.mark.plain, pytest.mark.together]

@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """25 buckets in several files; the buckets 9 and 19 miss events."""
    directory = tmp_path_factory.mktemp("written")
    return made_up.paths(made_up.fill("hdf5", f"directory={directory}", buckets=25, growth=1, max_series=20,
                                      rotate_ns=7 * 10**9))


def test_a_run_of_files_is_one(written):
    ds = vampire.open(written)
    assert len(written) > 2 and ds.bucket_number.values.tolist() == list(range(25))
    assert ds.file_state.values.tolist() == ["rotated"] * (len(written) - 1) + ["ended"]
    assert ds.attrs["partial"] == "" and ds.time.dtype == "datetime64[ns]" and ds.sizes["gap"] == 2
    assert (~ds.complete.values).nonzero()[0].tolist() == [9, 19]
    assert "segment 2 is not among the files" in vampire.open([written[0], *written[2:]]).attrs["partial"]
    assert "goes on after segment 1" in vampire.open(written[0]).attrs["partial"]


@pytest.mark.parametrize("metric", ["pool_operations", "transport_ns", "demand_wait_ns", "transports", "transports_active"])
def test_every_value_is_that_of_the_oracle(written, metric):
    """tests/oracle/rows.py reads the files with h5py alone."""
    wanted, history = collections.defaultdict(list), vampire.History(written)
    for path in written:
        with h5py.File(path, "r") as file:
            run, numbers = rows.File(file), file["bucket_number"][...].tolist()
            for labels, entries in zip(run.labels(metric), run.entries(metric)):
                for number, entry in zip(numbers, entries):
                    wanted[(number, *labels)].append(entry)
    kind, labels = history.metric(metric).kind, history.metric(metric).labels
    found = {((row["time"].value - made_up.START_NS) // made_up.WIDTH_NS, *(row[label] for label in labels)): row
             for row in vampire.table(history, metric).to_dict("records")}
    assert found and set(found) <= set(wanted)
    for key, entries in wanted.items():
        row = found.get(key)
        if kind == "counter":
            assert (row["delta"] if row else 0) == sum(delta for _, delta in entries)
        elif kind == "gauge":
            assert not row or [(row["last"], row["min"], row["max"])] == entries
        else:
            entries = [entry for entry in entries if entry]
            assert (row["count"] if row else 0) == sum(entry["count"] for entry in entries)
            assert not row or (row["sum"], row["max"]) == (sum(entry["sum"] for entry in entries),
                                                          max(entry["max"] for entry in entries))


# ---------------------------------------------------------------- what opening reads


def calls_of(monkeypatch, module, name):
    """The last arguments of the calls of a function from now on."""
    calls, function = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *arguments: calls.append(arguments[-1]) or function(*arguments))
    return calls


def test_what_was_read_to_check_a_file_is_not_read_again(written, monkeypatch):
    history = vampire.History(written)
    tables = {name for file in history.files for name in file.table_names if name.startswith("component_")}
    for _ in range(2):  # attributes are read at the first time
        opened = calls_of(monkeypatch, files, "dataset")
        columns = history.columns(history.column_names)
        for file in history.files:
            with file.opened() as hdf5:
                assert tables <= set(file.tables(hdf5))
    assert len(tables) > 3 and len(columns) > 3 and not {*tables, *columns} & set(opened)
    for name, (values, _) in columns.items():
        raw = []
        for path in written:
            with h5py.File(path, "r") as file:
                raw += file[name][...].tolist()
        assert values.tolist() == raw


def test_a_program_opens_each_file_once(written, monkeypatch):
    history, name = vampire.History(written), "vampire_received"
    first = vampire.table(history, name)
    opened, variables = calls_of(monkeypatch, files, "opened"), calls_of(monkeypatch, files, "dataset")
    with history.kept_open():
        for _ in range(3):
            assert vampire.table(history, name).equals(first)
    assert sorted(opened) == sorted(map(str, written)) and "vampire/delta" not in variables
    with h5py.File(written[0], "r+"):
        pass
    vampire.table(history, name)
    assert len(opened) == 2 * len(written)



@pytest.fixture
def reads(monkeypatch):
    """[(file, dataset, rows that were read)], of all that h5py reads from now on."""
    found, read = [], h5py.Dataset.__getitem__

    def noted(item, *arguments, **named):
        data = read(item, *arguments, **named)
        found.append((item.file.filename, item.name, len(np.atleast_1d(data))))
        return data

    monkeypatch.setattr(h5py.Dataset, "__getitem__", noted)
    return found


def of_components(reads):
    """Those in groups whose series are of components: the more components, the longer they are."""
    return [one for one in reads if re.match("/by_.*(component|source)", one[1])]


def test_opening_a_file_reads_nothing_of_its_series(written, reads):
    ds = vampire.open(written[-1])
    repr(ds)
    assert reads and of_components(reads) == []
    names = ds[vampire.labels_of(ds.pool_operations)["component"]]
    assert of_components(reads) == []
    found = list(names.values)
    assert {name.split("/")[1] for _, name, _ in of_components(reads)} == {"by_component_operation"}
    with h5py.File(written[-1], "r") as file:
        assert found == [labels[0] for labels in labels_of(file, "by_component_operation")]


def labels_of(file, name):
    """The labels of each series of a group."""
    return next(group.labels for group in rows.File(file).groups if group.group.name == f"/{name}")


def test_labels_are_read_once_for_the_files_of_a_run(written, reads):
    """Each file begins with the series of the one before; names are read once for all groups of a file."""
    ds = vampire.open(written)
    for metric in ("pool_operations", "transport_ns"):
        labels = vampire.labels_of(ds[metric])
        found = list(zip(*(ds[name].values for name in labels.values())))
        assert [name for _, name, _ in reads].count("/name_text") == len(written)
        with h5py.File(written[-1], "r") as file:
            assert found == labels_of(file, "by_" + "_".join(labels))
        del reads[:]
        reads += [("", "/name_text", 0)] * len(written)


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_a_file_that_plain_xarray_has_open(written, engine):
    path = vampire.History(written).files[0].path
    with xr.open_dataset(path, engine=engine), pytest.raises(vampire.Error, match="has it open in this process"):
        vampire.History(path)
    vampire.History(path)


def test_a_dataset_can_be_copied_to_another_process(written):
    for paths in (written[0], written):
        ds = vampire.open(paths)
        again = pickle.loads(pickle.dumps(ds))
        assert again.identical(ds) if paths == written[0] else again.transport_ns_count.identical(ds.transport_ns_count)


def test_labels_are_indexed_without_the_rest(written):
    ds = vampire.open(written[0])
    name = vampire.labels_of(ds.pool_operations)["component"]
    values = ds[name].values
    assert ds[name].dtype == object and len(values) == ds.sizes["component_operation"]
    for part in (slice(1, 5, 2), [3, 0, 3], -1):
        assert np.array_equal(ds[name].isel(component_operation=part).values, values[part])
    assert (ds.pool_operations.isel(component_operation=values == "IFS -- 0")[name].values == "IFS -- 0").all()
    by_name = ds.pool_operations_delta.groupby(ds[name]).sum()
    assert by_name.sum() == ds.pool_operations_delta.sum() and set(by_name[name].values) == set(values)


# ---------------------------------------------------------------- files that cannot be read


@pytest.mark.parametrize("content, message", [
    (None, "no such file"), (b"not HDF5", "not an HDF5 file"), (b"\x89HDF\r\n\x1a\n" + b"\0" * 600, "damaged")],
    ids=["absent", "text", "header"])
def test_unreadable_files(tmp_path, content, message):
    path = tmp_path / "x.h5"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(vampire.Error, match=message):
        vampire.open(path)
    report = [ROOT / "python" / "vampire-report", path, "-o", tmp_path / "r.html"]
    done = subprocess.run(report, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and message in done.stderr and not (tmp_path / "r.html").exists()


def test_a_foreign_hdf5_file(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w", libver="latest") as file:
        file["a"] = [1]
    with pytest.raises(vampire.Error, match="not one of vampire's|not a vampire file"):
        vampire.open(tmp_path / "x.h5")


def test_a_newer_format_is_refused_in_words(tmp_path, written):
    path = pathlib.Path(shutil.copy(written[0], tmp_path))
    for version in ("3.3", "4.0", "3.x"):
        with h5py.File(path, "r+") as file:
            attribute = h5py.h5a.open(file.id, b"schema_version")
            attribute.write(np.array(version.encode()), mtype=attribute.get_type())
        message = f"it has format {version}; this package reads formats 2 and 3 up to 3.2"
        with pytest.raises(vampire.Error, match=message):
            vampire.open(path)
        done = subprocess.run([program("vampire"), "--summary", path], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and message in done.stderr and done.stdout == ""


def test_a_truncated_file(tmp_path, written):
    content = pathlib.Path(written[0]).read_bytes()
    (tmp_path / "x.h5").write_bytes(content[: len(content) // 2])
    with pytest.raises(vampire.Error, match="damaged"):
        vampire.open(tmp_path / "x.h5")


def test_a_damaged_file_of_a_run_is_left_out(tmp_path, written):
    """With a warning that names it, also in the summary and in the report; at once, though HDF5 tries again where a
    checksum is wrong in a file that was not closed."""
    for path in written:
        shutil.copy(path, tmp_path)
    bad, *good = sorted(tmp_path.glob("*.h5"))
    content = bytearray(bad.read_bytes())
    content[11] = 5  # open for writing, SWMR
    for place in range(48, len(content), 512):
        content[place] ^= 1
    bad.write_bytes(content)
    with pytest.warns(vampire.DamageWarning, match=f"{bad}: .*it is left out"):
        found = vampire.summary(tmp_path)
    assert any(str(bad) in note for note in found.partial) and not found.whole
    assert found.counted == vampire.summary(good).counted
    done = subprocess.run([ROOT / "python" / "vampire-report", tmp_path, "--text"], capture_output=True, text=True, check=False,
                          timeout=60 * PATIENCE)
    assert done.returncode == 0 and str(bad) in done.stdout and f"vampire-report: warning: {bad}: " in done.stderr
    with pytest.raises(vampire.Error, match="damaged"):
        vampire.open(bad)


def test_what_is_damaged_in_a_file_is_left_out(tmp_path, written):
    """A chunk of rows: the bucket is not in what has these labels, and an array of it is refused."""
    path = tmp_path / "x.h5"
    shutil.copy(written[0], path)
    whole = vampire.table(path, "pool_operations", ["component"], freq="bucket")
    with h5py.File(path) as file:
        slots = [bytes(row).rstrip(b"\0").decode() for row in file["row_dimension"][...]]
        first = int(file["first_row"][1, slots.index("by_component_operation/row")])
        place = file["by_component_operation/pool_operations_delta"].id.get_chunk_info_by_coord((first,)).byte_offset
    content = bytearray(path.read_bytes())
    content[place + 3] ^= 0xFF
    path.write_bytes(content)
    with pytest.warns(vampire.DamageWarning, match="damaged in 1 buckets from row 1 on, in which what has the labels"):
        rest = vampire.table(path, "pool_operations", ["component"], freq="bucket")
    assert set(whole.time) - set(rest.time) == {sorted(set(whole.time))[1]}
    ds = vampire.open(path)
    with pytest.warns(vampire.DamageWarning), pytest.raises(vampire.Error, match="isel"):
        ds.pool_operations_delta.load()
    assert ds.pool_operations_delta.isel(time=0).sum() > 0


def test_selecting_by_labels(written):
    ds = vampire.open(written)
    one = vampire.select(ds.pool_operations, component="IFS -- 0", operation=["join", "seal"])
    assert set(one[vampire.labels_of(one)["component"]].values) == {"IFS -- 0"} and one.shape[1] > 0
    with pytest.raises(vampire.Error, match="no component 'nobody'; it has"):
        vampire.select(ds.pool_operations, component="nobody")
    assert vampire.merge(written, "pool_operations", where={"component": "IFS -- 0"}) == \
        vampire.merge(written, "pool_operations", "component")["IFS -- 0"]
    with pytest.raises(vampire.Error, match="level cdo"):
        vampire.plot_cdo(ds, "x")


# ---------------------------------------------------------------- around it


def test_the_examples_of_the_documentation(tmp_path):
    """Those of README.md and docs/python.md, one after the other, with files of our own writer."""
    directory = tmp_path / "run"
    directory.mkdir()
    made_up.fill("hdf5", f"directory={directory}", buckets=12, growth=1)
    for path, least in ((ROOT / "README.md", 1), (ROOT / "docs" / "python.md", 4)):
        examples = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
        assert len(examples) >= least, path
        scope = {}
        for example in examples:
            if '"param"' in example:  # of runs with statistics.attributes; e2e/test_attributes.py has them
                continue
            example = re.sub(r"/scratch/\w+", str(directory), example).replace("demo-TIME", str(directory))
            exec(example, scope)  # pylint: disable=exec-used


def test_xarray_finds_the_engine(written):
    program = f"import xarray; print(xarray.open_dataset({str(written[0])!r}, engine='vampire').sizes['time'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
    assert done.stdout == f"{vampire.open(written[0]).sizes['time']}\n"


def check_live(live):
    """Each row has its time and its values."""
    assert live.file_state.values.tolist() == ["open"] and "not ended" in live.attrs["partial"]
    assert live.bucket_number.values.tolist() == list(range(live.sizes["time"]))
    assert np.array_equal(live.time.values.astype(np.int64),
                          made_up.START_NS + made_up.WIDTH_NS * np.arange(live.sizes["time"]))
    assert np.array_equal(np.diff(live.pool_operations.values.astype(np.int64), axis=0),
                          live.pool_operations_delta.values[1:].astype(np.int64))
    newest = live.isel(time=slice(-3, None))
    assert np.array_equal(newest.transport_ns.values.sum(axis=2), newest.transport_ns_count.values)
    assert newest.transport_ns_count.values.any(axis=1).all()


def test_while_it_is_written(tmp_path):
    writer = made_up.follow(["buckets=3000", "wait=1", "pause_us=10000", "growth=1", "max_series=20"], tmp_path)
    try:
        def look():
            try:
                live = vampire.open(tmp_path)
            except vampire.Error:
                return None  # it is being created
            return live if live.sizes["time"] > 3 else None

        live = wait_until(look, "four buckets")
        path = made_up.only_file(tmp_path)
        with h5py.File(path, "r", swmr=True) as file:
            assert "engine='vampire'" in file.attrs["how_to_open_live"].decode()
        with pytest.raises(OSError):
            h5py.File(path, "r")  # as documented: a plain open has to wait
        for _ in range(6):
            check_live(live)
            before, live = live.sizes["time"], vampire.open(tmp_path)
            assert live.sizes["time"] >= before
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.wait()
    assert vampire.open(tmp_path).sizes["time"] >= live.sizes["time"]  # and after kill -9
