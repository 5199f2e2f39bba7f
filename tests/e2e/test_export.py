# SPDX-License-Identifier: BSD-3-Clause
"""vampire --export: what is in the database and in the CSV files is what the HDF5 files have."""

import csv
import gzip
import io
import json
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess

import numpy as np
import pytest

import vampire as package
from harness import ROOT, program, wait_until
from results import Hdf5Run
from vampire.export import Csv, tame

pytestmark = pytest.mark.plain
REPORT = str(ROOT / "python" / "vampire-report")

SOURCE = {"type": "synthetic", "producers": 6, "consumers": 4, "steps": 40, "burst": 3, "step": "1s"}


def run(space, name="vampire", directory=".", **more):
    """A replay-like run of 40 s in segments; the HDF5 files."""
    (space.path / directory).mkdir(exist_ok=True)
    made = {"source": SOURCE, "statistics": {"bucket": "1s"},
            "outputs": [{"type": "hdf5", "directory": directory, "queue": 65536, "rotate": {"interval": "15s"}}], **more}
    space.vampire(made, name=name, ready=False).expect_exit(0)
    return sorted((space.path / directory).glob("*.h5"))


def export(target, *files, **more):
    return subprocess.run([program("vampire"), "--export", str(target), *map(str, files)], capture_output=True, text=True,
                          check=False, **more)


def exported(target, *files):
    done = export(target, *files)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}\n", "")
    assert not list(target.parent.glob("*.new"))
    return target


def rows_of(database, name):
    found = database.execute(f'SELECT * FROM "{name}"')
    names = [column[0] for column in found.description]
    return [dict(zip(names, row)) for row in found]


def assert_rows(rows, frame):
    """What vampire.table gives, value by value."""
    values = [name for name in frame.columns if name not in ("time", "run")]
    assert len(rows) == len(frame)
    wanted = sorted((time.value, *(str(one) if isinstance(one, str) else int(one) for one in row))
                    for time, *row in frame[["time", *values]].itertuples(index=False))
    assert sorted((int(row["time_ns"]), *(row[name] if isinstance(row[name], str) else int(row[name]) for name in values))
                  for row in rows) == wanted


def test_the_database_has_the_rows_of_table(space):
    files = run(space)
    assert len(files) > 1
    database = sqlite3.connect(exported(space.path / "run.sqlite", *files))
    history = package.History(files)
    described = {row["name"]: row for row in rows_of(database, "metrics")}
    assert described.keys() == history.metrics.keys() and described["transport_ns"]["unit"] == "ns"
    totals = Hdf5Run(files)
    for name, metric in history.metrics.items():
        rows = rows_of(database, name)
        assert_rows(rows, package.table(history, name))
        if metric.kind == "counter":
            assert sum(row["delta"] for row in rows) == sum(totals.counters[name].values())
        for row in rows:
            assert row["time"] == str(np.datetime64(row["time_ns"], "ns").astype("datetime64[s]")) + "Z"
            if metric.kind == "histogram":
                assert row["min"] <= row["p50"] <= row["p90"] <= row["p99"] <= row["max"]
    coverage = rows_of(database, "coverage")
    assert [row["time_ns"] for row in coverage] == history.times.tolist() and all(row["complete"] for row in coverage)
    assert coverage[-1]["events_counted"] == coverage[-1]["events_received"] > 0
    medians = package.quantile(history, "transport_ns", 0.5, by=history.metrics["transport_ns"].labels, freq="bucket")
    found = {(row["time_ns"], *(row[label] for label in medians.index.names[1:])): (row["p50"], row["min"], row["max"])
             for row in rows_of(database, "transport_ns")}
    assert found == {(time.value, *labels): (min(max(value, found[time.value, *labels][1]), found[time.value, *labels][2]),
                                             *found[time.value, *labels][1:]) for (time, *labels), value in medians.items()}


def test_csv_has_the_rows_of_table(space):
    files = run(space)
    history = package.History(files)
    for suffix, opener in ((".csv", open), (".csv.gz", gzip.open)):
        folder = exported(space.path / f"run{suffix}", *files)
        assert {path.name for path in folder.iterdir()} == {
            f"{name}{suffix}" for name in (*history.metrics, "metrics", "coverage", "not_observed")}
        for name in ("pool_operations", "pool_bytes", "transport_ns"):
            with opener(folder / f"{name}{suffix}", "rt", encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            for row in rows:
                row.update({key: int(row[key]) for key in ("delta", "last", "min", "max", "count", "sum") if key in row})
            assert_rows(rows, package.table(history, name))


def test_several_runs_are_told_apart(space):
    files = [*run(space, "first", "one"), *run(space, "second", "two")]
    database = sqlite3.connect(exported(space.path / "runs.db", *files))
    history = package.History(files)
    sums = dict(database.execute("SELECT run, SUM(delta) FROM transport_bytes GROUP BY run"))
    assert sums == package.merge(history, "transport_bytes", by=["run"]).to_dict() and len(sums) == 2
    assert dict(database.execute("SELECT run, COUNT(*) FROM coverage GROUP BY run")).keys() == sums.keys()


def test_what_cannot_be_observed_is_named(space):
    files = run(space)
    database = sqlite3.connect(exported(space.path / "run.sqlite", *files))
    assert rows_of(database, "not_observed") == []
    files = run(space, "less", "less", events={"kinds": ["join", "leave", "offer"]})
    database = sqlite3.connect(exported(space.path / "less.sqlite", *files))
    assert all(row["reason"] for row in rows_of(database, "not_observed"))


@pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")
def test_r_reads_the_database(space):
    files = run(space)
    target = exported(space.path / "run.sqlite", *files)
    done = subprocess.run(["Rscript", "-e", (
        f'd <- DBI::dbConnect(RSQLite::SQLite(), "{target}", bigint = "integer64");'
        'cat(format(sum(DBI::dbReadTable(d, "transport_bytes")$delta)),'
        ' nrow(DBI::dbReadTable(d, "coverage")), format(as.POSIXct(DBI::dbReadTable(d, "coverage")$time[2],'
        ' format = "%Y-%m-%dT%H:%M:%OSZ", tz = "UTC")))')], capture_output=True, text=True, check=True)
    history = package.History(files)
    second = str(history.times[1].astype("datetime64[ns]").astype("datetime64[s]")).replace("T", " ")
    assert done.stdout.split(" ", 2) == [str(package.merge(history, "transport_bytes")), str(len(history.times)), second]


def test_names_cannot_become_formulas():
    assert [tame(value) for value in ("=1+1", "-x", "IFS -- 0", 5)] == ["'=1+1", "'-x", "IFS -- 0", 5]


def test_the_lines_of_a_csv_file(tmp_path):
    """As csv.writer writes them, apart from formulas."""
    texts = ["=1+1", 'a "b", c', "", "two\nlines", "IFS -- 0"]
    columns = [texts, [1, -2, 2**64 - 1, 0, 5], [0.1, None, 1e300, -0.5, float(2**60)], [None] * 5]
    target = Csv(tmp_path / "t.csv")
    target.begin("table", ["text", "integer", "float", "unknown"], None)
    target.add(columns)
    target.add([])
    target.end()
    with open(tmp_path / "t.csv" / "table.csv", encoding="utf-8", newline="") as file:
        found = file.read()
    wanted = io.StringIO()
    csv.writer(wanted, lineterminator="\n").writerows([["text", "integer", "float", "unknown"],
                                                       *zip(*[list(map(tame, texts)), *columns[1:]])])
    assert found == wanted.getvalue()


def test_mistakes(space):
    files = run(space)
    done = export(space.path / "run.xlsx", *files)
    assert done.returncode == 2 and "a name ends in .sqlite" in done.stderr, done.stderr
    there = space.path / "there.sqlite"
    there.write_text("mine")
    done = export(there, *files)
    assert done.returncode == 2 and "exists" in done.stderr and there.read_text() == "mine"
    done = export(space.path / "no" / "run.sqlite", *files)
    assert done.returncode == 1 and "cannot be written" in done.stderr and "Traceback" not in done.stderr
    done = export(space.path / "run.sqlite", space.path / "nothing.h5")
    assert done.returncode == 2 and "nothing.h5: no such file" in done.stderr
    done = subprocess.run([program("vampire"), "--export", "run.sqlite"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--export: into what, and which files?" in done.stderr
    assert not (space.path / "run.sqlite").exists()


def test_a_full_disk_leaves_nothing(space):
    files = run(space)
    for name in ("run.sqlite", "run.csv"):
        done = export(space.path / name, *files,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)))
        assert done.returncode == 1 and "cannot be written" in done.stderr, done.stderr
        assert not list(space.path.glob(f"{name}*"))


@pytest.mark.parametrize("verb", [["--export", "made.sqlite"], ["--export", "folder"], ["--summary"], ["--samples-show"]], ids=" ".join)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_runs_after_the_end_of_vampire(space, verb, number):
    """Python's start is held up, so that vampire always ends first."""
    held, ended = space.path / "held", space.path / "ended"
    (space.path / "sitecustomize.py").write_text(
        f"import os, time\nopen({str(held)!r}, 'w').write(str(os.getpid()))\ntime.sleep(10)\nopen({str(ended)!r}, 'w')\n")
    (space.path / "c.json").write_text(json.dumps({"samples": {"listen": ["udp:18093"], "metrics": ["m gauge m.v"]}}))
    words = ["-c", "c.json", *verb] if verb == ["--samples-show"] else [*verb, "no.h5"]
    with subprocess.Popen([program("vampire"), *words], cwd=space.path, stderr=subprocess.DEVNULL,
                          env={**os.environ, "PYTHONPATH": str(space.path)}) as vampire:
        wait_until(lambda: held.exists() and held.read_text(), "Python runs")
        vampire.send_signal(number)
        assert vampire.wait(20) == -number
    state = pathlib.Path(f"/proc/{held.read_text()}/stat")
    wait_until(lambda: not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z", "Python has ended", 5)
    assert not ended.exists()


@pytest.mark.parametrize("modes, permitted", [([0o600, 0o644], 0o600), ([0o640, 0o644], 0o640), ([0o644, 0o666], 0o644)])
def test_an_export_and_a_report_permit_no_more_than_their_sources(space, modes, permitted):
    sources = run(space)[:2]
    for path, mode in zip(sources, modes):
        path.chmod(mode)
    export(space.path / "run.sqlite", *sources, umask=0o022).check_returncode()
    export(space.path / "run.csv", *sources, umask=0o022).check_returncode()
    (space.path / "page.html").write_text("an earlier report")
    (space.path / "page.html").chmod(0o644)
    (space.path / "folder").mkdir(mode=permitted | (permitted & 0o444) >> 2 | 0o700)
    (space.path / "folder" / "notes.txt").touch(0o644)
    for form in (["-o", "page.html"], ["--csv", "folder"], ["-o", "pictures.html", "--png", "png"]):
        subprocess.run([REPORT, *form, *sources], cwd=space.path, check=True, capture_output=True, umask=0o022)
    made = [space.path / name for name in ("run.sqlite", "page.html", "pictures.html")]
    made += [path for name in ("run.csv", "folder", "png") for path in (space.path / name).iterdir()]
    assert len(made) > 10 and {oct(path.stat().st_mode & 0o777) for path in made} == {oct(permitted)}
    before = os.umask(0o022)
    try:
        package.export.export(sources, space.path / "package.csv")
        assert os.umask(0o022) == 0o022, "the process's own files are as before"
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode & 0o777) for path in (space.path / "package.csv").iterdir()} == {oct(permitted)}
    folders = {oct((space.path / name).stat().st_mode & 0o777) for name in ("run.csv", "folder", "png", "package.csv")}
    assert folders == {oct(permitted | (permitted & 0o444) >> 2 | 0o700)}


def test_a_damaged_file_has_an_exit_code_of_its_own_kind(space):
    path = run(space)[0]
    for damage in (b"", path.read_bytes()[:3000]):
        path.write_bytes(damage)
        done = export(space.path / "run.sqlite", path)
        assert done.returncode == 2 and str(path) in done.stderr, done.stderr
