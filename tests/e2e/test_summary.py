# SPDX-License-Identifier: BSD-3-Clause
"""vampire --summary: the summary of a run from its files is the one at its end, number by number."""

import importlib.util
import json
import re
import shutil
import signal
import subprocess
import sys

import h5py
import pytest

import vampire
from harness import ROOT, program, wait_until

sys.path.insert(0, str(ROOT / "tests" / "oracle"))
import stream
import streams
from vampire.run_lines import OPERATIONS

pytestmark = pytest.mark.plain  # --summary is Python

SOURCE = {"type": "synthetic", "producers": 4, "consumers": 3, "steps": 30, "burst": 3, "step": "1s"}


def summary(*paths, cwd=None):
    return subprocess.run([program("vampire"), "--summary", *map(str, paths)], capture_output=True, text=True,
                          cwd=cwd, check=False)


def run(space, outputs, name="vampire", **more):
    made = {"source": SOURCE, "statistics": {"bucket": "1s"},
            "outputs": [output if output["type"] == "recording" else {"queue": 65536, **output} for output in outputs],
            **more}
    vampire = space.vampire(made, name=name, ready=False)
    vampire.expect_exit(0)
    return vampire.stderr[vampire.stderr.index("\nvampire: workflow"):]


def body(text):
    """The lines of a summary without the duration and the outputs, which name their files."""
    lines = text.strip().splitlines()
    assert lines[0].startswith('vampire: workflow "')
    return [re.sub(r" after .*", "", lines[0]),
            *[line for line in lines[1:] if not re.search(r"^  {22} |written|events \(output", line)]]


DIFFERENT = {
    "everything": {},
    "losses and faults": {"source": {**SOURCE, "lost": 20, "vanish": 300, "late": 20}},
    "filter and sampling": {"events": {"components": ["Model*"]}, "sampling": {"fraction": 500000}},
    "bounds": {"statistics": {"bucket": "1s", "max_series": 16, "max_components": 4, "max_cdos": 16}},
    "nothing of a metric": {"statistics": {"bucket": "1s", "filters": {"transport_ns": "(.event.serial < 5)"}}},
    "no events of a kind": {"events": {"filter": "(not (.event.kind = offer))"}},
    "few metrics": {"statistics": {"bucket": "1s", "sets": ["anomalies"]}},
    "workflow": {"statistics": {"bucket": "500ms", "level": "workflow", "sub_bins": 16}},
    "alarms": {"alarms": [{"name": "moves", "metric": "transports", "without": ["size_class", "tier", "cause"],
                           "when": "changed", "for": "2s", "severity": "critical", "actions": []}]},
}


@pytest.mark.parametrize("more", DIFFERENT.values(), ids=list(DIFFERENT))
def test_files_have_the_summary_of_the_run(space, more):
    """Of one file, of segments in any order, of merged buckets, and with few and with all labels."""
    shown = run(space, [
        {"type": "hdf5", "name": "whole", "directory": "."},
        {"type": "hdf5", "name": "parts", "directory": ".", "rotate": {"interval": "7s"}},
        {"type": "hdf5", "name": "merged", "directory": ".", "bucket": "10s", "without": ["size_class", "source"]},
        {"type": "jsonl", "name": "fine", "path": "fine.jsonl", "rotate": {"interval": "7s"}},
        {"type": "jsonl", "name": "coarse", "path": "coarse.jsonl", "by": ["operation"]}], **more)
    files = {name: sorted(space.path.glob(f"*-{name}-*.h5"), reverse=True) for name in ("whole", "parts", "merged")}
    files |= {name: sorted(space.path.glob(f"{name}.jsonl*")) for name in ("fine", "coarse")}
    assert len(files["parts"]) > 3 and len(files["fine"]) > 3
    assert ("moves (critical): fired " in shown) == ("alarms" in more)
    for name, paths in files.items():
        done = summary(*paths)
        assert done.returncode == 0, done.stderr
        assert body(done.stdout) == body(shown), name
        written = re.search(rf"^  {name} +(\d+) buckets written$", shown, re.MULTILINE)[1]
        assert re.search(rf"^  {name} +{written} buckets written$", done.stdout, re.MULTILINE), name
    together = summary(*[path for paths in files.values() for path in paths])
    assert together.stdout.count("vampire: workflow") == len(files), "one summary for each output"


def test_an_output_without_the_label_operation(space):
    shown = run(space, [{"type": "hdf5", "directory": ".", "by": []}, {"type": "jsonl", "path": "a.jsonl", "by": []}])
    total = re.search(r"^  all .*$", shown, re.MULTILINE)[0]
    for path in (*space.path.glob("*.h5"), space.path / "a.jsonl"):
        assert total in summary(path).stdout.splitlines()
        assert "over max_series" not in summary(path).stdout


def test_all_was_counted_only_if_it_was(space):
    every = "every event was counted"
    assert every in run(space, [{"type": "null"}])
    filtered = run(space, [{"type": "null"}], name="filtered", events={"components": ["Model*"]})
    assert every not in filtered and re.search(r"all +[\d,]+  \(of \d+\.\d % of the events\)", filtered)
    lost = run(space, [{"type": "null"}], name="lost", source={**SOURCE, "lost": 10})
    assert every not in lost and "% of the events" in lost


@pytest.mark.parametrize("kind, absent, counted", [
    ("offer", "produced", "transports"), ("transport_completed", "transports", "produced"),
    ("demand", "wait on demand", "produced"), ("transport_init", "transport time", "transports")])
def test_what_needs_a_kind_that_cannot_arrive_is_absent(space, kind, absent, counted):
    """The metric is named as not observable instead of shown as 0, whether a filter or `kinds` excludes the kind."""
    for name, events in (("filter", {"filter": f"(not (.event.kind = {kind}))"}),
                         ("kinds", {"kinds": [one for one in OPERATIONS if one != kind]})):
        (space.path / name).mkdir()
        shown = run(space, [{"type": "jsonl", "path": f"{name}.jsonl"}, {"type": "hdf5", "directory": name}], name=name, events=events)
        for text in (shown, summary(space.path / f"{name}.jsonl").stdout, summary(*(space.path / name).glob("*.h5")).stdout):
            assert re.search(rf"^  {absent} +not observable: no events of these kinds: {kind}$", text, re.MULTILINE), text
            assert re.search(rf"^  {counted} +[\d,]+", text, re.MULTILINE), text
        files = vampire.summary(space.path / name)
        assert not files.whole and f"no events of these kinds: {kind}" in str(files)


def test_the_last_segment_has_the_numbers_of_its_buckets(space):
    """Python counts the events of the segment's buckets. --summary shows totals since the start of the run, and reports this."""
    run(space, [{"type": "hdf5", "directory": ".", "rotate": {"interval": "7s"}}], source={**SOURCE, "lost": 20})
    parts = [vampire.summary(path) for path in sorted(space.path.glob("*.h5"))]
    every = vampire.summary(space.path)
    assert len(parts) > 3
    for name in ("received", "decoded", "counted", "filtered", "rejected", "late"):
        assert sum(getattr(part, name) for part in parts) == getattr(every, name), name
    assert {place: sum(part.lost[place] for part in parts) for place in every.lost} == every.lost and any(every.lost.values())
    operations = [int(vampire.merge(path, "pool_operations")) for path in sorted(space.path.glob("*.h5"))]
    assert all(0 < own <= part.counted for own, part in zip(operations, parts)), "some events are of one operation"
    last = summary(sorted(space.path.glob("*.h5"))[-1]).stdout
    assert "of the run's files; totals are since its start" in last


@pytest.mark.parametrize("more, lacks", [
    ({"statistics": {"filters": {"produced_bytes": "(.cdo.size >= 1MiB)"}}}, "produced .* of 2.86 MiB, without what statistics.filters"),
    ({"outputs": [{"type": "hdf5", "series": ["component=Q"]}]}, "all .* of 3, without the series"),
])
def test_a_quiet_last_bucket_hides_no_lack(space, more, lacks):
    """What a metric lacks is counted in the buckets in which it happened, which are not the last one here."""
    hand = streams.Hand().join(0, 1, "P")
    hand("offer", 10, 1, "a", size=1_000_000)("offer", 20, 1, "b", size=2_000_000)("demand", 1500, 1, "a", before=True)
    stream.write(space.path / "quiet.rec", hand.items)
    (space.path / "quiet.json").write_text(json.dumps({"outputs": [{"type": "hdf5"}], **more}))
    subprocess.run([program("vampire"), "-q", "--replay", "quiet.rec", "-c", "quiet.json"], cwd=space.path, check=True)
    shown = summary(*space.path.glob("*.h5")).stdout
    assert re.search(lacks, shown) and "every event was counted" not in shown, shown


def test_parts_of_a_run_and_several_runs(space):
    for name in ("one", "two"):
        (space.path / name).mkdir()
        run(space, [{"type": "hdf5", "directory": name, "rotate": {"interval": "10s"}}], name=f"vampire-{name}")
    files = sorted(space.path.glob("*/*.h5"))
    assert summary(*files).stdout.count("vampire: workflow") == 2
    one = sorted((space.path / "one").glob("*.h5"))
    whole = summary(*one).stdout
    late = summary(*one[1:])
    assert late.returncode == 0
    assert "NOT GIVEN              1 of the run's files" in late.stdout
    assert "without the buckets that are missing" in late.stdout
    counted = re.search(r"^  all .*$", whole, re.MULTILINE)[0]
    assert counted in late.stdout, "totals are since the run began"
    early = summary(*one[:-1])
    assert "continued in a file that was not given; these cover" in early.stdout
    twice = summary(one[0], one[0])
    assert twice.returncode == 1 and "the same part of one run" in twice.stderr


def test_a_file_that_is_written_and_one_of_a_killed_vampire(space):
    made = {"source": {**SOURCE, "steps": 100000, "speed": 1}, "statistics": {"bucket": "100ms", "lateness": "0s"},
            "outputs": [{"type": "hdf5", "directory": "."}, {"type": "jsonl", "path": "lines.jsonl"}]}
    vampire = space.vampire(made)
    paths = [space.hdf5(), space.path / "lines.jsonl"]

    def operations(path):
        done = summary(path)
        found = re.search(r"^  all +([\d,]+)$", done.stdout, re.MULTILINE)
        if done.returncode == 0 and found and vampire.running():
            assert "still running; so far its files cover" in done.stdout
            return int(found[1].replace(",", ""))
        return 0

    for path in paths:
        before = wait_until(lambda: operations(path), "the first operations")
        wait_until(lambda: operations(path) > before, "more operations")
    vampire.signal(signal.SIGKILL)
    vampire.wait()
    for path in paths:
        done = summary(path)
        assert done.returncode == 0, done.stderr
        assert "without an end, vampire was killed; its files cover" in done.stdout


def test_files_that_have_no_summary(space):
    run(space, [{"type": "recording", "directory": "."}, {"type": "jsonl", "path": "lines.jsonl"},
                {"type": "hdf5", "directory": "."}])
    recording, hdf5, lines = next(space.path.glob("*.rec")), space.hdf5(), space.path / "lines.jsonl"
    broken = space.path / "broken.jsonl"
    text = lines.read_text().splitlines(keepends=True)
    broken.write_text("".join([*text[:5], '{"type":"buck\n', *text[5:]]))
    later = space.path / "later.jsonl"
    later.write_text(text[0].replace('"v":2,', '"v":7,', 1) + "".join(text[1:]))
    short = space.path / "short.h5"
    short.write_bytes(hdf5.read_bytes()[:20000])
    with h5py.File(space.path / "foreign.h5", "w") as file:
        file["x"] = 1
    (space.path / "empty").write_bytes(b"")
    expected = {
        recording: f"is a recording, which has events instead of counts; vampire --replay {recording} counts them",
        later: "it has version 7; this vampire reads version 2", short: f"read {short}: ", space.path / "foreign.h5": "schema_version",
        space.path / "empty": "is neither an HDF5 file, nor JSON lines, a recording or a trace",
        space.path: "is not a file", space.path / "nothing": "No such file",
    }
    for path, message in expected.items():
        done = summary(path)
        assert done.returncode == 2 and done.stdout == "", path
        assert message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    done = summary(broken)  # the bucket is left out, and the rest is read
    assert done.returncode == 1 and re.search(rf"lines 2 to \d+ of {broken} are not what was written, and left out", done.stderr)
    assert "DAMAGED                1 part of the files, left out" in done.stdout
    both = summary(space.path / "nothing", lines)
    assert both.returncode == 1 and both.stdout.count("vampire: workflow") == 1
    assert summary().returncode == 2 and "--summary: which files?" in summary().stderr


def test_without_the_package(space):
    """A copy of the program has no package beside it; PYTHONPATH can name one. What the current folder has is not used."""
    run(space, [{"type": "jsonl", "path": "lines.jsonl"}])
    copy = space.path / "bin" / "vampire"
    copy.parent.mkdir()
    shutil.copy(program("vampire"), copy)
    (space.path / "h5py.py").write_text("raise ImportError('of the current folder')")

    def done(**environment):
        path = {"PATH": "/usr/bin:/bin", **environment}
        return subprocess.run([copy, "--summary", "lines.jsonl"], capture_output=True, text=True, cwd=space.path, check=False,
                              env=path)

    assert done(PYTHONPATH=str(ROOT / "python")).stdout == summary("lines.jsonl", cwd=space.path).stdout
    if importlib.util.find_spec("vampire") is not None:
        pytest.skip("a package vampire is installed")
    missing = done()
    assert missing.returncode == 2 and missing.stdout == ""
    assert "--summary needs the Python package vampire (python3-vampire), h5py and numpy" in missing.stderr


def test_only_what_a_summary_needs_is_loaded():
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import vampire.run_summary\n"
            "print([name for name in ('pandas', 'xarray', 'matplotlib') if name in sys.modules])")
    loaded = subprocess.run([sys.executable, "-c", code, ROOT / "python"], capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"


def test_kinds_of_operations_are_those_of_vampire():
    """Lines do not have the list."""
    kinds = re.findall(r'^VAMP_EVENT_KIND\(\w+, \d+, (\w+),', (ROOT / "vampire/core/event/kinds.def").read_text(), re.MULTILINE)
    code = "import sys; sys.path.insert(0, sys.argv[1]); from vampire.run_lines import OPERATIONS; print(*OPERATIONS)"
    listed = subprocess.run([sys.executable, "-c", code, ROOT / "python"], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == kinds


def test_units_and_names_in_a_summary(space):
    """What unit tests said of the reader: quantiles within what was recorded, units, names from the wire, parts."""
    def line(kind, **members):
        return json.dumps({"type": kind, **members}, separators=(",", ":")) + "\n"

    metrics = [{"name": name} for name in ("transport_ns", "pool_operations", "transports")]
    header = '{"v":2,' + line("header", run="a", workflow="w", output="o", segment=1, sub_bits=3, metrics=metrics,
                  time="2026-01-01T00:00:00.000000000Z")[1:]
    lines = [header,
             line("component", index=1, name="bad\x1b[2J\x7f\u009b" + "x" * 40, left=None),
             line("component", index=30, name="late", left="2026-01-01T00:00:01.000000000Z", reason="vanished"),
             line("operations", operations=[[1, 7], [30, 1]]),
             line("values", values={
                 "transport_ns": [{"count": 3, "sum": 9000, "min": 1000, "max": 5000, "bins": [[960, 1], [2816, 1], [4608, 1]]}],
                 "pool_operations": [{"operation": "offer", "value": 1234567, "delta": 1234567},
                                     {"operation": "(other)", "value": 5, "delta": 5}],
                 "transports": [{"value": 3, "delta": 3}]}),
             line("gap", reason="pool_gone", start="2026-01-01T00:00:00.000000000Z", end="2026-01-01T00:01:30.000000000Z"),
             line("bucket", bucket=2, time="2026-01-01T00:00:02.000000000Z", width_ns=10**9,
                  accounting={"received": 999, "decoded": 999, "counted": 999, "lost": {"ring": 1}}),
             line("values", values={"transports": [{"value": 9, "delta": 6}]})]
    path = space.path / "made.jsonl"
    path.write_text("".join(lines))
    shown = summary(path).stdout
    for text in ("without an end, vampire was killed; its files cover 1.00 s\n",
                 "  offer                       1,234,567\n",
                 "  (other)                             5  at a limit: over max_series, or out of memory\n",
                 "  all                         1,234,572  (of 99.9 % of the events)\n",
                 "  produced               not counted, or not in this output\n",
                 "  transports             3  (from 99.9 % of the events; coverage of the total not known)\n",
                 "  transport time         p50 2.94 us, p99 4.86 us, max 5.00 us  (without the buckets that are missing)\n",
                 "  bad?[2J??xxxxxxxxxxxxx              7  no\n", "  ... and 10 more\n",
                 "  LOST                   2 buckets (output o)\n", "  LOST                   1 events (ring)\n",
                 "  NOT WATCHED            1 time, 1.50 min in all: the pool manager was gone\n",
                 "  o                      1 bucket written, 2 LOST\n"):
        assert text in shown, shown
