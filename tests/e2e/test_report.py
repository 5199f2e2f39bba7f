# SPDX-License-Identifier: BSD-3-Clause
"""vampire-report, the pictures of the Python package and the notebook: made-up files (made_up.py, oracle/format2.py) and a
small run of the demo workflow."""

import base64
import html.parser
import os
import re
import struct
import shutil
import subprocess
import sys
import zlib

import numpy as np
import pytest

import format2
import made_up
from harness import ROOT, Workflow, config_text, program

pytest.importorskip("matplotlib").use("Agg")
pd = pytest.importorskip("pandas")
import vampire
from vampire import look, plots
from vampire.report.figures import Figures
from vampire.report.parts import Picture

pytestmark = [pytest.mark.plain, pytest.mark.together]
REPORT = str(ROOT / "python" / "vampire-report")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
OPTIONS = ["--steps", "4", "--levels", "2", "--params", "2", "--size-min", "65536", "--size-max", "262144", "--rate", "40"]
START = 1767225600 * 10**9


def fill(directory, **numbers):
    directory.mkdir(exist_ok=True)
    return made_up.paths(made_up.fill("hdf5", f"directory={directory}", **numbers))


@pytest.fixture(scope="module")
def rotated(tmp_path_factory):
    """25 buckets in several files; the buckets 9 and 19 miss events."""
    return fill(tmp_path_factory.mktemp("rotated"), buckets=25, growth=1, rotate_ns=7 * 10**9)


def report(*arguments):
    """What vampire-report prints; it has to succeed."""
    done = subprocess.run([REPORT, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


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


def check_page(path, pictures=1):
    """Self-contained, well nested, pictures inside. Returns the text."""
    text = path.read_text(encoding="utf-8")
    sources = []

    class Parser(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            sources.extend(value for key, value in attrs if key in ("src", "srcset", "href"))

    Parser().feed(text)
    assert text.count("<figure>") >= pictures
    assert all(source.startswith(("data:image/svg+xml;base64,", "data:image/png;base64,")) for source in sources)
    return text


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


def readme_line(space, tmp_path):
    """The line of the README that makes a page of a notebook, in a folder as `make demo` leaves it: an older demo, and this run."""
    (line,) = re.findall(r"^PYTHONPATH=.* -m nbconvert .*first-look.ipynb$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    (tmp_path / "python").symlink_to(ROOT / "python")
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    (tmp_path / "demo-20260101-000000").mkdir()
    (tmp_path / "demo-20260102-000000").symlink_to(space.path)
    return line


def test_report_and_notebooks_of_a_run(run, tmp_path):
    space, reports = run
    ds = vampire.open(space.path)
    offered = sum(report["operations"]["offer"] for report in reports)
    assert vampire.merge(space.path, "pool_operations", where={"operation": "offer"}) == offered > 0
    assert ds.sizes["cdo"] == offered  # each CDO has a row at level cdo
    name = ds.cdo_name.values[0]
    points = vampire.plot_cdo(ds, name).get_yticklabels()
    assert [label.get_text() for label in points][:3] == ["declared", "sealed", "offered"]
    with pytest.raises(vampire.Error, match="no CDO 'nothing'"):
        vampire.plot_cdo(ds, "nothing")
    check_cdos(ds)
    line, = vampire.plot_gauge(space.path, "pool_cdos").get_lines()
    assert list(line.get_ydata()) == [float(value) for value in ds.pool_cdos.values]

    page, pictures = tmp_path / "r.html", tmp_path / "pictures"
    report(space.path, "-o", page, "--png", pictures)
    text = html.unescape(check_page(page))
    assert "Every event was counted" in text and "IFS -- 1" in text
    assert {path.name for path in pictures.iterdir()} >= {"operations.png", "transports.png", "demand-time.png",
                                                          "pool-bytes.png", "pool-cdos.png", "cdos.png"}
    assert ">CDOs</h2>" in text and vampire.cdo_table(ds).index[0] in text

    blame = vampire.blame_table(space.path)
    assert blame.total.sum() == vampire.table(space.path, "demand_wait_ns", (), None)["sum"].sum() > 0
    assert (blame.drop(columns="total").sum(axis=1) == blame.total).all()
    assert "Who waited for whom" in text and (pictures / "blame.png").exists()

    pytest.importorskip("nbconvert")
    pytest.importorskip("ipykernel")
    done = subprocess.run(["sh", "-c", readme_line(space, tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "notebooks" / "first-look.html").stat().st_size > 100_000
    for notebook in (path for path in NOTEBOOKS if path.name != "first-look.ipynb"):
        done = subprocess.run(
            [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", tmp_path, notebook],
            env=dict(os.environ, VAMPIRE_RUN=str(space.path), PYTHONPATH=str(ROOT / "python")),
            capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]


def test_a_report_begins_with_losses(rotated, tmp_path):
    page = tmp_path / "r.html"
    done = subprocess.run([REPORT, *rotated[:3], "-o", page], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = html.unescape(check_page(page))
    assert "lost in the pool manager's queue" in text and "goes on after segment 3" in text
    assert text.index("Not everything is here") < text.index("<h2>Pictures")
    assert text.index(">Gaps</h2>") < text.index("<h2>Pictures")


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
    assert [text.get_text() for text in vampire.plot_transports(space.path).texts] == ["these files do not say between whom"]


def test_a_report_of_a_workflow_in_which_nothing_moves(tmp_path):
    config = tmp_path / "vampire.json"
    config.write_text(config_text({"source": {"type": "synthetic", "steps": 3, "fan_out": 0},
                                   "outputs": [{"type": "hdf5", "directory": str(tmp_path)}]}))
    subprocess.run([program("vampire"), "-q", "-c", config], check=True)
    text = report(tmp_path, "--text")
    assert "Operations" in text and "Transports" not in text


def test_a_report_that_cannot_be_written(rotated, tmp_path):
    done = subprocess.run([REPORT, rotated[0], "-o", tmp_path / "no" / "r.html"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1
    assert done.stderr == f"vampire-report: the report cannot be written: {tmp_path}/no/r.html: No such file or directory\n"
    assert subprocess.run([REPORT], capture_output=True, check=False).returncode == 2


def test_a_report_of_a_part_of_a_run(rotated, tmp_path):
    times = vampire.open(rotated[0]).time.values
    report(rotated[0], "--from", str(times[0]), "--to", str(times[1]), "-o", tmp_path / "r.html")
    page = check_page(tmp_path / "r.html")
    assert "<div>observed<b>1 s</b>" in page and f"Only the buckets from {str(times[0])[:10]} " in page
    done = subprocess.run([REPORT, rotated[0], "--from", "noon"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "'noon'" in done.stderr and "2026-01-31T12:00" in done.stderr


def test_several_runs_have_a_table_with_dates(tmp_path):
    """What was observed is added up; the time between the runs is not."""
    for number in range(25):
        writer = format2.Writer(tmp_path / f"vampire-{number}-0001.h5", METRICS, START + number * 86400 * 10**9,
                                 run_id=f"{number:08}-1111-4111-8111-111111111111")
        for bucket in range(2):
            writer.bucket(bucket, {"consumed_bytes": {("IFS -- 0",): 1}}, (bucket, 0))
        writer.close()
    text = report(tmp_path, "--text")
    assert "observed         50 s" in text
    rows = text.split("\nRuns\n")[1].split("\n\n")[0].splitlines()[1:]
    assert len(rows) == 21 and "2026-01-01 00:00:00" in rows[0] and "2026-01-02 00:00:00" in rows[1]
    assert re.split("  +", rows[-1].strip())[:3] == ["5 others", "10 s", "10"]
    assert "Of more than 24 runs" in text and "\nComponents\n" not in text
    assert "\nComponents\n" in report(tmp_path, "--text", "--metrics", "consumed_bytes")
    report(tmp_path, "--csv", tmp_path / "csv")
    assert len(pd.read_csv(tmp_path / "csv" / "runs.csv")) == 25


def test_the_report_knows_its_version():
    version = subprocess.run(["sh", ROOT / "packaging" / "version.sh"], capture_output=True, text=True, check=True).stdout
    done = subprocess.run([REPORT, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"vampire-report {version}")


def test_notebooks_are_committed_without_outputs():
    import json
    assert len(NOTEBOOKS) == 2
    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text())["cells"]
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")


@pytest.mark.parametrize("most", [4, 6])
def test_ticks_of_durations_stay_apart(most):
    for low, high in ((400, 4000), (480, 1000), (2080, 3750), (1, 1e12), (5e5, 4e7), (999, 1001), (1, 1.5)):
        ticks = look.log_ticks(low, high, most)
        assert 2 <= len(ticks) <= most and ticks == sorted(ticks), (low, high, ticks)
        assert all(low <= tick <= high for tick in ticks)


def test_ticks_of_bytes_are_powers_of_two():
    assert look.byte_ticks(4000, 17000, 6) == [4096, 8192, 16384]
    assert look.byte_ticks(5, 6, 6) == [5, 6]
    assert len(look.byte_ticks(1, 1 << 40, 6)) <= 6


def test_a_component_keeps_its_colour():
    everybody = ["(other)", "Products 1", "IFS -- 0", "IFS -- 1"]
    first, second = look.colours_of(everybody, ["Products 1", "IFS -- 0"]), look.colours_of(everybody[::-1], ["IFS -- 0"])
    assert first[1] == second[0] != first[0]
    many = [f"member {n}" for n in range(40)]
    assert len(set(look.colours_of(many, many[3:40:7][:6] + many[:1]))) == 7


def test_equal_values_are_in_natural_order():
    """So that the largest of many equal ones are not 0, 1, 10, 11."""
    names = [f"IFS -- {number}" for number in (10, 9, 1, 11)]
    values = pd.Series([1, 1, 2, 1], names)
    assert look.descending(values).index.tolist() == ["IFS -- 1", "IFS -- 9", "IFS -- 10", "IFS -- 11"]
    pairs = pd.Series(1, pd.MultiIndex.from_product([names[:2], ["b", "a"]]))
    assert look.descending(pairs).index.tolist() == [("IFS -- 9", "a"), ("IFS -- 9", "b"), ("IFS -- 10", "a"), ("IFS -- 10", "b")]


@pytest.mark.parametrize("first, days", [("2025-12-31T23:59:50", "2026-01-01"), ("2025-12-30T23:59", "2025-12-31 to 2026-01-01")])
def test_the_days_on_the_axis_of_time(first, days):
    """An interval that begins before midnight and has its buckets after it is of the next day."""
    from matplotlib.figure import Figure
    ax = Figure().add_subplot()
    look.time_axis(ax, np.array([first, "2026-01-01T00:00:10" if days == "2026-01-01" else "2025-12-31T00:01",
                                 "2026-01-01T12:00", "2026-01-02T00:00"], "datetime64[ns]"))
    assert ax.get_xlabel() == f"time (UTC), {days}"


def test_names_are_in_natural_order():
    assert sorted(["IFS -- 10", "(other)", "IFS -- 9", "a", "IFS -- 1"], key=look.natural) == \
        ["IFS -- 1", "IFS -- 9", "IFS -- 10", "a", "(other)"]


# ---------------------------------------------------------------- many components

METRICS = {
    "pool_operations": ("counter", ("component", "operation"), "1"),
    "transports": ("counter", ("source", "sink", "tier"), "1"),
    "transport_bytes": ("counter", ("source", "sink", "tier"), "byte"),
    "consumed_bytes": ("counter", ("component",), "byte"),
    "transport_ns": ("histogram", ("source", "sink", "tier"), "ns"),
    "demand_wait_ns": ("histogram", ("component", "size_class"), "ns"),
}


def workflow_of(directory, components, other=0, slower=1, account=(1000, 0)):
    """A file of format 2: each component operates, and gives to the next one. `other`: transports in (other)."""
    directory.mkdir(exist_ok=True)
    writer = format2.Writer(directory / "vampire-many-0001.h5", METRICS, START)
    names = [f"rank -- {n}" for n in range(components)]
    for bucket in range(4):
        values = {name: {} for name in METRICS}
        for n, name in enumerate(names):
            pair = (name, names[(n + 1) % components], "OFI")
            values["pool_operations"][name, "offer"] = n + 1
            values["transports"][pair], values["transport_bytes"][pair] = 1, 1024 * (n + 1)
            values["transport_ns"][pair] = [slower * 1000 * (n + 1)]
            values["demand_wait_ns"][name, "unknown"] = [500, 700 + n]
        if other:
            hidden = ("(other)",) * 3
            values["transports"][hidden], values["transport_bytes"][hidden] = other, other
            values["transport_ns"][hidden] = [5] * other
            values["consumed_bytes"][hidden[:1]] = other
        writer.bucket(bucket, values, tuple(part * (bucket + 1) for part in account))
    writer.close()
    return directory


@pytest.mark.parametrize("components", [4, 60, 500])
def test_a_report_of_any_size(tmp_path, components):
    """The largest by name, these first, the rest as one, and the sums are of all."""
    run = workflow_of(tmp_path / "run", components)
    text = report(run, "--text")
    total = 4 * components * (components + 1) // 2
    assert f"pool operations  {total:,}" in text and "Every event was counted" in text
    lines = text.split("\nComponents\n")[1].split("\n\n")[0].splitlines()[1:]
    cells = [re.split("  +", line.strip()) for line in lines]
    names = [row[0] for row in cells]
    if components == 4:
        assert names == [f"rank -- {n}" for n in range(3, -1, -1)]
    else:
        assert names == [f"rank -- {n}" for n in range(components - 1, components - 21, -1)] + [f"{components - 20} others"]
    assert sum(int(row[2].replace(",", "")) for row in cells) == total
    report(run, "-o", tmp_path / "r.html")
    assert len(check_page(tmp_path / "r.html")) < 3 << 20


def test_what_is_hidden_is_shown_as_hidden(tmp_path):
    run = workflow_of(tmp_path / "run", 4, other=12, account=(1000, 450))
    text = report(run, "--text")
    assert "Every event was counted" not in text
    assert "filters excluded 1,800 events (45.0 %)" in text
    assert "75.0 % of transports have no source by name, but are in (other)" in text
    assert "(75.0 % of the transports have no name of their own, but are in (other))" in text
    assert "pool operations  40  (of 55.0 % of the events)" in text
    row = re.split("  +", re.search(r"rank -- 0 .*", text.split("\nComponents\n")[1])[0])
    assert "hidden" in row and "0 B" not in row  # what it gave may be in (other)
    values, hidden = plots.matrix_of(vampire.merge(run, "transports", ("source", "sink")))
    assert values.shape == (4, 4) and (values.to_numpy() > 0).sum() == 4
    assert np.array_equal(hidden.to_numpy(), values.to_numpy() == 0)  # any other pair may be in (other)
    whole = workflow_of(tmp_path / "whole", 4)
    assert not plots.matrix_of(vampire.merge(whole, "transports", ("source", "sink")))[1].to_numpy().any()


def test_a_large_matrix_has_the_largest_and_the_rest(tmp_path):
    run = workflow_of(tmp_path / "run", 60)
    sums = vampire.merge(run, "transport_bytes", ("source", "sink"))
    values, _ = plots.matrix_of(sums)
    assert values.shape == (24, 24) and values.to_numpy().sum() == sums.sum()
    assert values.index[-1] == "37 others" and values.index[0] == "rank -- 37"
    named = values.iloc[:-1, :-1].to_numpy()
    assert values.iat[-1, -1] > named.max() and look.scale_of(values)[1] == named.max()  # the rest does not set the colours
    report(run, "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    model = page.split("Bytes moved from source to sink, by model", 1)[1].split("</figure>")[0]
    assert f">{look.amount(sums.sum())}</span>" in model  # one cell, with its value


def test_only_one_component_or_metric(tmp_path):
    run = workflow_of(tmp_path / "run", 4)
    text = report(run, "--text", "--component", "rank -- 2", "--metrics", "pool_operations,transports,transport_bytes")
    assert "pool operations  12" in text and "transports       8" in text and "rank -- 0" not in text
    assert "Waits" not in text
    done = subprocess.run([REPORT, run, "--component", "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there is no component 'nothing'" in done.stderr
    done = subprocess.run([REPORT, run, "--metrics", "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there is no metric nothing" in done.stderr


def test_tables_as_csv(tmp_path):
    import pandas
    run = workflow_of(tmp_path / "run", 60, account=(1000, 450))
    report(run, "--csv", tmp_path / "csv")
    frame = pandas.read_csv(tmp_path / "csv" / "components.csv")
    assert len(frame) == 60 and frame.operations.sum() == 4 * 60 * 61 // 2
    assert "filters excluded" in (tmp_path / "csv" / "notes.txt").read_text()


def test_two_runs_compared(tmp_path):
    first, second = workflow_of(tmp_path / "a", 4), workflow_of(tmp_path / "b", 4, slower=100)
    text = report("--compare", first, second, "--text")
    line = re.search(r"transport_ns .*", text).group()
    assert "large (100 %)" in line and re.search(r"× (9\d|10\d)", line), line
    assert re.search(r"pool_operations .* × 1  none \(50 %\)", text), text
    report("--compare", first, second, "-o", tmp_path / "r.html")
    check_page(tmp_path / "r.html", 2)
    done = subprocess.run([REPORT], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "FILES or --compare" in done.stderr


def test_a_heat_map_has_no_blank_columns():
    """Intervals of another length, at the begin and the end, leave no column blank in which there are values; a silence is blank."""
    seconds = np.array([0.0, 0.3, *np.arange(1, 361) * 10.0, 3601.5])
    edges = (START + seconds * 1e9).astype(np.int64).astype("datetime64[ns]")
    counts = np.ones((3, len(edges) - 1))
    lines = pd.DataFrame({0.5: 2.0, 0.99: 3.0}, index=edges[:-1])
    picture = Picture("p", "a heat map", None, kind="heatmap", bins=np.array([1.0, 2.0, 4.0, 8.0]),
                      data=lambda: (edges, np.ones(len(edges) - 1, bool), counts, (0, 3), lines))
    assert blank_columns(Figures(START, int(START + 3601.5e9)).picture(picture)) == 0
    silent = np.delete(edges, range(100, 201))  # 101 intervals of which there are no buckets
    counts = counts[:, :len(silent) - 1]
    picture.data = lambda: (silent, np.ones(len(silent) - 1, bool), counts, (0, 3), lines.loc[silent[:-1]])
    assert 100 <= blank_columns(Figures(START, int(START + 3601.5e9)).picture(picture)) <= 102


def blank_columns(page):
    """How many columns of pixels of the image in a page are transparent from top to bottom."""
    data = base64.b64decode(re.search(r"data:image/png;base64,([^\"]+)", page).group(1))
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT") + 4
    rows = np.frombuffer(zlib.decompress(data[start:]), np.uint8).reshape(height, 1 + 4 * width)[:, 1:].reshape(height, width, 4)
    return int((rows[:, :, 3] == 0).all(axis=0).sum())
