# SPDX-License-Identifier: BSD-3-Clause
"""notebooks/vampire.py, the notebook and vampire-report, against numpy on the raw values of files: made-up
ones (made_up.py) and a small run of the demo workflow."""

import html.parser
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

import made_up
from harness import ROOT, Workflow, wait_until

sys.path.insert(0, str(ROOT / "notebooks"))
pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("pandas")
import vampire

pytestmark = pytest.mark.plain
REPORT = str(ROOT / "notebooks" / "vampire-report")
COUNTER, HISTOGRAM = "pool_operations", "transport_ns"
OPTIONS = ["--steps", "4", "--levels", "2", "--params", "2", "--size-min", "65536", "--size-max", "262144", "--rate", "40"]


def fill(directory, **numbers):
    directory.mkdir(exist_ok=True)
    return made_up.paths(made_up.fill("hdf5", f"directory={directory}", **numbers))


@pytest.fixture(scope="module")
def rotated(tmp_path_factory):
    """25 buckets in several files; the buckets 9 and 19 miss events."""
    return fill(tmp_path_factory.mktemp("rotated"), buckets=25, growth=1, rotate_ns=7 * 10**9)


@pytest.fixture(scope="module")
def ds(rotated):
    return vampire.open(rotated)


def raw(paths, name):
    """[(labels, values)] of each file, read with h5py alone."""
    parts = []
    for path in paths:
        with h5py.File(path, "r") as file:
            item = file[name]
            count = len(item.attrs["labels"].split())
            coordinates = bytes(item.attrs["coordinates"]).decode() if isinstance(
                item.attrs["coordinates"], bytes) else item.attrs["coordinates"]
            columns = [[row.tobytes().rstrip(b"\0").decode() for row in file[c][...]]
                       for c in coordinates.split()[:count]]
            parts.append((list(zip(*columns)), item[...]))
    return parts


def series(paths, name, labels):
    """One series over all files."""
    return np.concatenate([values[:, len(rows) - 1 - rows[::-1].index(labels)] if labels in rows
                           else np.zeros_like(values[:, 0]) for rows, values in raw(paths, name)])


# ---------------------------------------------------------------- opening


def test_a_run_of_files_is_one_dataset(rotated, ds):
    assert len(rotated) > 2
    assert ds.bucket_number.values.tolist() == list(range(25))
    assert ds.file_state.values.tolist() == ["rotated"] * (len(rotated) - 1) + ["ended"]
    assert ds.attrs["partial"] == ""
    assert ds.time.dtype == "datetime64[ns]" and ds.sizes["gap"] == 2


@pytest.mark.parametrize("name", [COUNTER, COUNTER + "_delta", HISTOGRAM, HISTOGRAM + "_sum"])
def test_every_value_is_the_raw_one(rotated, ds, name):
    names = list(vampire.labels_of(ds[name]).values())
    labels = list(zip(*(ds[coordinate].values for coordinate in names)))
    assert len(set(labels)) == len(labels) > 5 and all(any(row) for row in labels)
    for number, row in enumerate(labels):
        assert np.array_equal(ds[name].values[:, number], series(rotated, name, row)), row


def test_labels_not_slots_match(tmp_path, rotated):
    """The same series in another slot of another file."""
    copy = tmp_path / "copy.h5"
    shutil.copy(rotated[0], copy)
    with h5py.File(copy, "r+") as file:
        for name in ("component", "operation"):
            swapped = file[name][...]
            swapped[[1, 2]] = swapped[[2, 1]]
            # h5py's own conversion of one-byte texts would empty them.
            item = file[name].id
            item.write(h5py.h5s.ALL, h5py.h5s.ALL, swapped, mtype=item.get_type())
        for name in (COUNTER, COUNTER + "_delta"):
            data = file[name][...]
            data[:, [1, 2]] = data[:, [2, 1]]
            file[name][...] = data
        file.attrs.modify("run_id", np.bytes_("22222222-2222-4222-8222-222222222222"))
    both = vampire.open([rotated[0], copy])
    half = both.sizes["time"] // 2
    assert len(set(both.run.values)) == 2
    assert np.array_equal(both[COUNTER].values[:half], both[COUNTER].values[half:])
    merged = vampire.merge(both[COUNTER + "_delta"], "run")
    assert merged.sizes["time"] == half
    assert np.array_equal(merged.values, 2 * both[COUNTER + "_delta"].values[:half])


def test_what_is_missing_is_said(rotated):
    assert "segment 2 is not among the files" in vampire.open([rotated[0], *rotated[2:]]).attrs["partial"]
    assert "goes on after segment 1" in vampire.open(rotated[0]).attrs["partial"]


def test_choosing_metrics_and_times(rotated, ds):
    some = vampire.open(rotated, metrics=[COUNTER], between=(ds.time.values[3], ds.time.values[11]))
    assert HISTOGRAM not in some and some.bucket_number.values.tolist() == list(range(3, 11))
    assert np.array_equal(vampire.merge(some[COUNTER], "series").values,
                          vampire.merge(ds[COUNTER], "series").values[3:11])


def test_while_it_is_written(tmp_path):
    writer = made_up.follow(["buckets=400", "wait=1", "pause_us=10000", "growth=1"], tmp_path)
    try:
        def look():
            try:
                live = vampire.open(tmp_path, metrics=[COUNTER, HISTOGRAM])
            except vampire.Error:
                return None  # it is being created
            return live if live.sizes["time"] > 3 else None

        live = wait_until(look, "four buckets")
        assert writer.poll() is None
        assert live.file_state.values.tolist() == ["open"] and "not ended" in live.attrs["partial"]
        assert np.array_equal(np.diff(live[COUNTER].values.astype(np.int64), axis=0),
                              live[COUNTER + "_delta"].values[1:].astype(np.int64))
        assert np.array_equal(live[HISTOGRAM].values.sum(axis=2), live[HISTOGRAM + "_count"].values)
    finally:
        writer.kill()
        writer.wait()
    assert vampire.open(tmp_path).sizes["time"] >= live.sizes["time"]  # and after kill -9


@pytest.mark.parametrize("content, message", [
    (None, "no such file"), (b"not HDF5", "not an HDF5 file"), (b"\x89HDF\r\n\x1a\n" + b"\0" * 600, "damaged")],
    ids=["absent", "text", "header"])
def test_unreadable_files(tmp_path, content, message):
    path = tmp_path / "x.h5"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(vampire.Error, match=message):
        vampire.open(path)
    done = subprocess.run([REPORT, path, "-o", tmp_path / "r.html"], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and message in done.stderr and not (tmp_path / "r.html").exists()


def test_a_foreign_hdf5_file(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w", libver="latest") as file:
        file["a"] = [1]
    with pytest.raises(vampire.Error, match="not one of vampire's|not a vampire file"):
        vampire.open(tmp_path / "x.h5")


def test_a_truncated_file(tmp_path, rotated):
    content = open(rotated[0], "rb").read()
    (tmp_path / "x.h5").write_bytes(content[: len(content) // 2])
    with pytest.raises(vampire.Error, match="damaged"):
        vampire.open(tmp_path / "x.h5")


# ---------------------------------------------------------------- computing


def test_merging_is_exact(ds):
    array = ds[HISTOGRAM]
    assert np.array_equal(vampire.merge(array, "time").values, array.values.sum(axis=0))
    everything = vampire.merge(array, ("time", "series"))
    assert everything.dtype == np.uint64 and np.array_equal(everything.values, array.values.sum(axis=(0, 1)))
    by = vampire.merge(array, "series", by="source")
    for number, source in enumerate(by.source.values):
        assert np.array_equal(by.values[:, number], array.values[:, ds.source.values == source].sum(axis=1))
    smallest = ds[HISTOGRAM + "_min"]
    assert np.array_equal(vampire.merge(smallest, ("time", "series")), np.nanmin(smallest.values))
    with pytest.raises(vampire.Error, match=COUNTER + "_delta"):
        vampire.merge(ds[COUNTER], "time")


def test_quantiles_lie_in_the_right_bin(ds):
    counts = ds[HISTOGRAM].values.sum(axis=(0, 1)).astype(int)
    values = np.repeat(np.arange(len(counts)), counts)  # the bin of each recorded value, in order
    for q in (0, 0.01, 0.5, 0.9, 0.99, 1):
        bin_number = values[max(int(np.ceil(q * len(values))), 1) - 1]
        found = float(vampire.quantile(ds[HISTOGRAM], q, over=("time", "series")))
        assert ds.bin_lower.values[bin_number] <= found <= ds.bin_upper.values[bin_number]
    several = vampire.quantile(ds[HISTOGRAM], [0.5, 0.9])
    assert several.dims[0] == "quantile" and several.shape == (2, *ds[HISTOGRAM].shape[:2])
    assert np.array_equal(np.isnan(several.values[0]), ds[HISTOGRAM + "_count"].values == 0)


def test_rates_respect_gaps(ds):
    good = np.ones(25, bool)
    good[[9, 19]] = False
    assert np.array_equal(ds.complete.values, good)
    for name in (COUNTER, COUNTER + "_delta"):
        rate = vampire.rate(ds[name])
        assert np.array_equal(np.isnan(rate.values).any(axis=1), ~good)
        assert np.array_equal(rate.values[good], ds[COUNTER + "_delta"].values[good])  # buckets of 1 s
    holed = vampire.rate(ds[COUNTER].isel(time=[0, 1, 5, 6]))
    assert holed.sizes["time"] == 5  # a row for the hole
    assert np.isnan(holed.values).all(axis=1).tolist() == [False, False, True, True, False]
    assert np.isnan(vampire.masked(ds)[COUNTER].values[9]).all()


def test_selecting_and_tables(ds):
    one = vampire.select(ds[COUNTER], component="IFS -- 0", operation=["join", "seal"])
    assert set(one.component.values) == {"IFS -- 0"} and one.shape[1] > 0
    with pytest.raises(vampire.Error, match="no component 'nobody'; it has"):
        vampire.select(ds[COUNTER], component="nobody")
    frame = vampire.to_dataframe(ds[COUNTER + "_delta"])
    assert frame.value.sum() == ds[COUNTER + "_delta"].values.sum() and "operation" in frame.columns
    bins = vampire.to_dataframe(ds[HISTOGRAM])
    assert bins.value.sum() == ds[HISTOGRAM].values.sum() and (bins.value > 0).all()


def test_a_timeline_needs_level_cdo(ds):
    with pytest.raises(vampire.Error, match="level cdo"):
        vampire.plot_cdo(ds, "x")


# ---------------------------------------------------------------- a real run


@pytest.fixture
def run(space):
    space.pool_manager()
    config = space.path / "cdo.json"
    text = (ROOT / "config" / "ready" / "demo.json").read_text()
    config.write_text(text.replace('"level": "component"', '"level": "cdo"'))
    watcher = space.vampire(config)
    reports = Workflow(space, model_options=OPTIONS).finish()
    watcher.expect_exit(0)
    return space, reports


def check_page(path):
    """Self-contained, well nested, pictures inside. Returns the text."""
    text = path.read_text(encoding="utf-8")
    sources = []

    class Parser(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            sources.extend(value for key, value in attrs if key in ("src", "srcset", "href"))

    Parser().feed(text)
    assert len(sources) >= 4 and all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    return text


def table_name(ds):
    return vampire.cdo_table(ds).index[0]


def check_cdos(ds):
    """The table and the picture of the CDOs that lived longest, against the file's own columns."""
    table = vampire.cdo_table(ds)
    life = ds.cdo_disposed.values - ds.cdo_declared.values
    assert len(table) == len(life) and (table.life.to_numpy() == np.sort(life)[::-1]).all()
    first = int(np.flatnonzero(ds.cdo_name.values == table.index[0])[0])
    assert table.size_bytes.iloc[0] == ds.cdo_size_bytes.values[first] and table.end.iloc[0] == "disposed"
    assert table.offered.iloc[0] == ds.cdo_offered.values[first]
    ax = vampire.plot_cdos(ds, 3)
    marks = {line.get_label(): line.get_xdata() for line in ax.get_lines()}
    assert list(marks)[:3] == ["declared", "sealed", "offered"]
    assert list(marks["disposed"]) == [float(value) for value in table.life.to_numpy()[:3].astype(np.int64)]
    assert len(ax.get_yticklabels()) == 3
    line, = vampire.plot_gauge(ds, "pool_cdos").get_lines()
    assert list(line.get_ydata()) == [float(value) for value in ds.pool_cdos.values]


def test_report_and_notebook_of_a_run(run, tmp_path):
    space, reports = run
    ds = vampire.open(space.path)
    offered = sum(report["operations"]["offer"] for report in reports)
    delta = vampire.select(ds.pool_operations_delta, operation="offer")
    assert int(vampire.merge(delta, ("time", "series"))) == offered > 0
    assert ds.sizes["cdo"] == offered  # each CDO has a row at level cdo
    name = ds.cdo_name.values[0]
    points = vampire.plot_cdo(ds, name).get_yticklabels()
    assert [label.get_text() for label in points][:3] == ["declared", "sealed", "offered"]
    with pytest.raises(vampire.Error, match="no CDO 'nothing'"):
        vampire.plot_cdo(ds, "nothing")
    check_cdos(ds)

    page, pictures = tmp_path / "r.html", tmp_path / "pictures"
    done = subprocess.run([REPORT, space.path, "-o", page, "--png", pictures], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    text = html.unescape(check_page(page))
    assert "Nothing was lost" in text and "IFS -- 1" in text
    assert {path.name for path in pictures.iterdir()} >= {"operations.png", "transports.png", "demand-time.png",
                                                          "pool-bytes.png", "pool-cdos.png", "cdos.png"}
    assert "<h2>CDOs" in text and table_name(ds) in text

    pytest.importorskip("nbconvert")
    pytest.importorskip("ipykernel")
    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", tmp_path,
         ROOT / "notebooks" / "first-look.ipynb"],
        env=dict(os.environ, VAMPIRE_RUN=str(space.path), PYTHONPATH=str(ROOT / "notebooks")),
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_report_begins_with_losses(rotated, tmp_path):
    page = tmp_path / "r.html"
    done = subprocess.run([REPORT, *rotated[:3], "-o", page], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = html.unescape(check_page(page))
    assert "lost in the pool manager's queue" in text and "goes on after segment 3" in text
    assert text.index("Not everything is here") < text.index("<h2>Pictures")
    assert text.index("<h2>Gaps") < text.index("<h2>Pictures")


@pytest.mark.parametrize("buckets", [0, 1])
def test_a_report_of_few_buckets(tmp_path, buckets):
    paths = fill(tmp_path / "few", buckets=buckets)
    done = subprocess.run([REPORT, *paths, "-o", tmp_path / "r.html"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_report_at_level_workflow(space):
    space.pool_manager()
    text = (ROOT / "config" / "ready" / "demo.json").read_text()
    config = space.path / "workflow.json"
    config.write_text(text.replace('"level": "component"', '"level": "workflow"'))
    watcher = space.vampire(config)
    Workflow(space, models=1, products=1, model_options=OPTIONS).finish()
    watcher.expect_exit(0)
    done = subprocess.run([REPORT, space.path, "-o", space.path / "r.html"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    with pytest.raises(vampire.Error, match="at this level"):
        vampire.transport_table(vampire.open(space.path))


def test_a_report_that_cannot_be_written(rotated, tmp_path):
    done = subprocess.run([REPORT, rotated[0], "-o", tmp_path / "no" / "r.html"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1
    assert done.stderr == f"vampire-report: the report cannot be written: {tmp_path}/no/r.html: No such file or directory\n"
    assert subprocess.run([REPORT], capture_output=True, check=False).returncode == 2


def test_a_report_of_a_part_of_a_run(rotated, tmp_path):
    times = vampire.open(rotated[0]).time.values
    done = subprocess.run([REPORT, rotated[0], "--between", str(times[0]), str(times[1]), "-o", tmp_path / "r.html"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = check_page(tmp_path / "r.html")
    assert "<div>observed<b>1 s</b></div>" in page and f"Only the buckets from {str(times[0])[:10]} " in page
    done = subprocess.run([REPORT, rotated[0], "--between", "noon", "2026-01-01"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "'noon'" in done.stderr and "2026-01-31T12:00" in done.stderr


def test_a_report_of_too_much_gets_advice_for_a_shell(rotated, tmp_path):
    program = ("import runpy, sys, vampire; vampire.MEMORY_LIMIT = 1; sys.argv[0] = 'vampire-report'; "
               f"runpy.run_path({REPORT!r}, run_name='__main__')")
    done = subprocess.run([sys.executable, "-c", program, rotated[0], "-o", tmp_path / "r.html"], capture_output=True,
                          text=True, check=False, env=dict(os.environ, PYTHONPATH=str(ROOT / "notebooks")))
    assert done.returncode == 3 and "GiB of memory" in done.stderr and "--between" in done.stderr
    assert "open(" not in done.stderr and "MEMORY_LIMIT" not in done.stderr
    assert not (tmp_path / "r.html").exists()


def test_the_report_knows_its_version():
    version = subprocess.run(["sh", ROOT / "packaging" / "version.sh"], capture_output=True, text=True, check=True).stdout
    done = subprocess.run([REPORT, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"vampire-report {version}")


def test_the_notebook_is_committed_without_outputs():
    import json
    cells = json.loads((ROOT / "notebooks" / "first-look.ipynb").read_text())["cells"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")


@pytest.mark.parametrize("most", [4, 6])
def test_ticks_of_durations_stay_apart(most):
    for low, high in ((400, 4000), (480, 1000), (2080, 3750), (1, 1e12), (5e5, 4e7), (999, 1001), (1, 1.5)):
        ticks = vampire._log_ticks(low, high, most)  # pylint: disable=protected-access
        assert 2 <= len(ticks) <= most and ticks == sorted(ticks), (low, high, ticks)
        assert all(low <= tick <= high for tick in ticks)


def test_a_component_keeps_its_colour():
    colours = vampire._colours  # pylint: disable=protected-access
    everybody = ["(other)", "Products 1", "IFS -- 0", "IFS -- 1"]
    first, second = colours(everybody, ["Products 1", "IFS -- 0"]), colours(everybody[::-1], ["IFS -- 0"])
    assert first[1] == second[0] != first[0]
    many = [f"member {n}" for n in range(40)]
    assert len(set(colours(many, many[3:40:7][:6] + many[:1]))) == 7
