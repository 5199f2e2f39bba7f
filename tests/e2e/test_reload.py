# SPDX-License-Identifier: BSD-3-Clause
"""SIGHUP: another configuration while the run goes on. Nothing is lost, nothing counts twice, and a
wrong file changes nothing."""

import json
import pathlib
import re
import signal
import subprocess
import sys

import h5py
import pytest

import harness
import results

sys.path[:0] = [str(harness.ROOT / "tests" / "oracle"), str(harness.ROOT / "python")]
import compare
import stream
import vampire as vampire_package

MODEL = ["--steps", 40, "--levels", 2, "--params", 2, "--size-min", 1024, "--size-max", 65536,
         "--rate", 40]


STATE = re.compile(r"^  events +received (\d+) .*\n  rate +([\d.]+) a second", re.MULTILINE)


def write(space, made):
    (space.path / "vampire.json").write_text(harness.config_text(made))


def reload(space, vampire, made, says):
    if isinstance(made, dict):
        write(space, made)
    else:
        (space.path / "vampire.json").write_text(made)
    vampire.signal(signal.SIGHUP)
    vampire.until_stderr(says)


def state_of(vampire):
    """(events received, events a second) as the state of the run shows them."""
    shown = len(STATE.findall(vampire.stderr))
    vampire.signal(signal.SIGUSR1)
    harness.wait_until(lambda: len(STATE.findall(vampire.stderr)) > shown, "the state of the run")
    return tuple(map(float, STATE.findall(vampire.stderr)[-1]))


@pytest.mark.threads
def test_counts_are_complete_across_reloads(space):
    made = harness.vampire_config(bucket="200ms")
    space.pool_manager()
    vampire = space.vampire(made)
    # Longer than three reloads take in a slow build.
    workflow = harness.Workflow(space, model_options=[*MODEL, "--steps", int(40 * max(1, harness.PATIENCE / 2))])
    for number in range(1, 4):
        made["outputs"][0]["queue"] = 64 + number
        reload(space, vampire, made, f"was read again (number {number})")
    reports = workflow.finish()
    vampire.expect_exit(0)
    files = space.hdf5_files()
    assert len(files) == 4
    run = results.Hdf5Run(files)
    assert not results.compare(reports, {"hdf5": run})
    assert not results.accounting_differences(run)
    assert all(value == 0 for name, value in run.columns.items() if "lost" in name)
    numbers = []
    for reloads, path in enumerate(files):
        with h5py.File(path) as file:
            assert file.attrs["reloads"] == reloads
            assert ("reloaded" in file.attrs) == (reloads > 0)
            numbers += list(file["bucket_number"][...])
            configuration = json.loads(results.text_of(file, "configuration"))
            assert configuration["outputs"][0]["queue"] == 64 + reloads
    assert numbers == list(range(len(numbers)))
    streams = sorted(space.path.glob("vampire.jsonl*"))
    assert len(streams) == 4
    for reloads, path in enumerate(streams):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        reloaded = [record["number"] for record in records if record["type"] == "reload"]
        assert reloaded == ([reloads] if reloads else [])
        assert records[-1]["type"] == "end"
        if reloads < 3:
            assert records[-1]["reason"] == "configuration reloaded"
    for path in [*files, *streams]:
        assert re.search(rf"^ +\S*{re.escape(path.name)}$", vampire.stderr, re.MULTILINE), "the summary names all files"
    # A new file knows the components, although they joined before it began.
    names = {record["name"] for record in records if record["type"] == "component"}
    assert {report["component"] for report in reports} <= names


def test_a_wrong_file_keeps_the_old_one(space):
    made = harness.vampire_config(bucket="200ms")
    space.pool_manager()
    vampire = space.vampire(made)
    workflow = harness.Workflow(space, model_options=MODEL)
    reload(space, vampire, '{"statistics": {"buckett": "1s"}}', "the configuration stays as it was")
    assert "did you mean" in vampire.stderr
    reload(space, vampire, {**made, "events": {"filter": "(.maestro.ecmwf.step = 1)"}},
           "cannot change while it runs")
    reload(space, vampire, {**made, "sampling": {"fraction": 100000}}, "a CDO counts with its whole lifecycle, or not at all")
    outputs = [{"type": "hdf5", "directory": "nowhere"}]
    reload(space, vampire, {**made, "outputs": outputs}, "nowhere cannot be used")
    reports = workflow.finish()
    vampire.expect_exit(0)
    runs = {"hdf5": results.Hdf5Run([space.hdf5()]), "json": results.JsonRun(space.json_lines())}
    assert not results.compare(reports, runs)


def test_other_statistics_start_again(space):
    """After a change of the bucket width, totals and bucket numbers continue in the new files."""
    made = harness.vampire_config(bucket="200ms")
    space.pool_manager()
    vampire = space.vampire(made)
    workflow = harness.Workflow(space, model_options=MODEL)
    harness.wait_until(lambda: state_of(vampire)[0] > 1000, "1,000 events")
    made["statistics"]["bucket"] = "100ms"
    made["ring"] = "1MiB"
    reload(space, vampire, made, "the statistics start over")
    assert state_of(vampire)[1] < 1e6, "events a second since the reload"
    assert '"ring" cannot change' in vampire.stderr
    reports = workflow.finish()
    vampire.expect_exit(0)
    files = space.hdf5_files()
    assert len(files) == 2
    widths = []
    for path in files:
        with h5py.File(path) as file:
            widths.append(int(file.attrs["bucket_ns"]))
    assert widths == [200_000_000, 100_000_000]
    for run in results.Hdf5Run(files), results.Hdf5Run(files[1:]):
        for report in reports:
            for operation in results.OPERATIONS:
                label = (report["component"], operation)
                assert run.counters["pool_operations"].get(label, 0) == report["operations"][operation], label
    numbers = [number for path in files for number in h5py.File(path)["bucket_number"][...].tolist()]
    assert numbers == list(range(len(numbers)))
    every = vampire_package.merge(str(space.path), "pool_operations")
    assert every == sum(run.counters["pool_operations"].values())
    assert vampire_package.summary(str(space.path)).whole


LIVE = {"type": "synthetic", "start": "now", "speed": 4, "steps": 10**6, "step": "200ms"}
LEVELS = [  # the level, the bins, the bucket width and the order of the outputs change
    ({"bucket": "200ms"}, ["hdf5", "jsonl"]),
    ({"bucket": "100ms", "level": "model", "sub_bins": 16}, ["jsonl", "hdf5"]),
    ({"bucket": "300ms", "level": "cdo", "sub_bins": 4}, ["hdf5", "jsonl"]),
    ({"bucket": "200ms", "level": "workflow"}, ["hdf5"]),
]


@pytest.mark.plain
def test_totals_are_those_of_the_run_at_every_level(space):
    """The printed summary, the summary of the files and Python report the same totals, and bucket numbers are unique."""
    def made(number):
        statistics, outputs = LEVELS[number]
        paths = {"jsonl": {"path": "vampire.jsonl"}, "hdf5": {}}
        return {"source": LIVE, "statistics": statistics, "outputs": [{"type": name, **paths[name]} for name in outputs]}

    vampire = space.vampire(made(0), ready=False)
    for number in range(1, len(LEVELS)):
        harness.wait_until(lambda: len(space.hdf5_files()) == number and buckets_in(space.hdf5_files()[-1]) > 2, "three buckets")
        reload(space, vampire, made(number), f"(number {number}); the statistics start over, and their totals continue")
    harness.wait_until(lambda: len(space.hdf5_files()) == len(LEVELS) and buckets_in(space.hdf5_files()[-1]) > 2, "three buckets")
    vampire.stop()
    files = space.hdf5_files()
    numbers = [number for path in files for number in h5py.File(path)["bucket_number"][...].tolist()]
    assert numbers == list(range(len(numbers)))
    printed = numbers_of_summary(vampire.stderr)
    assert printed["all"] == vampire_package.merge(files, "pool_operations") > 0
    assert printed == numbers_of_summary(subprocess.run(
        [harness.program("vampire"), "--summary", *files], capture_output=True, text=True, check=True).stdout)
    by = vampire_package.merge(files, "pool_operations", by=["operation"])
    assert {name: int(count) for name, count in by.items()} == \
        {name: count for name, count in printed.items() if name in by.index}
    waits = vampire_package.merge(files, "demand_wait_ns")
    assert 0 <= by["transport_completed"] - int(waits.sum()) < 100, "a reload forgets which demands are pending"
    assert vampire_package.summary(files).whole
    with pytest.raises(vampire_package.Error, match="pool_operations has no label model, in all of the files"):
        vampire_package.table(files, "pool_operations", by=["model"])
    models = vampire_package.table(files[:3], "pool_operations", by=["model"], freq=None)
    assert models.delta.sum() == sum(vampire_package.table(path, "pool_operations", freq=None).delta.sum() for path in files[:3])


def test_an_output_counts_its_own_segments(space):
    """The segments of one output are numbered without gaps, however many segments another one has at a reload."""
    def made(queue):
        return {"source": LIVE, "statistics": {"bucket": "100ms"}, "outputs": [
            {"type": "hdf5", "queue": queue}, {"type": "jsonl", "path": "lines", "rotate": {"interval": "200ms"}}]}

    vampire = space.vampire(made(64), ready=False)
    harness.wait_until(lambda: (space.path / "lines.0004").exists(), "four segments of lines")
    reload(space, vampire, made(65), "was read again (number 1)")
    harness.wait_until(lambda: len(space.hdf5_files()) == 2 and buckets_in(space.hdf5_files()[-1]) > 0, "a bucket after the reload")
    vampire.stop()
    assert [int(h5py.File(path).attrs["segment"]) for path in space.hdf5_files()] == [1, 2]
    assert vampire_package.summary(space.hdf5_files()).whole


def buckets_in(path):
    with vampire_package.open(path) as ds:
        return ds.sizes["time"]


def numbers_of_summary(text):
    """{name of a line: its count} for operations and components, and the line "wait on demand" as text."""
    found = {name: int(count.replace(",", "")) for name, count in re.findall(r"^  (\S.{21}) +([\d,]+)(?:  .*)?$", text, re.MULTILINE)}
    return {name.strip(): count for name, count in found.items()} | dict(re.findall(r"^  (wait on demand) +(p50 .*)$", text, re.MULTILINE))


def test_rules_change_in_the_middle(space):
    """From the reload on only offers count; what was counted before stays."""
    made = harness.vampire_config(bucket="200ms")
    space.pool_manager()
    vampire = space.vampire(made)
    workflow = harness.Workflow(space, model_options=MODEL)
    reload(space, vampire, {**made, "events": {"kinds": ["offer"]}}, "number 1")
    reports = workflow.finish()
    vampire.expect_exit(0)
    run = results.Hdf5Run(space.hdf5_files())
    assert not results.accounting_differences(run)
    assert run.columns["events_filtered"] > 0
    for report in reports:
        label = (report["component"], "offer")
        assert run.counters["pool_operations"].get(label, 0) == report["operations"]["offer"]
        label = (report["component"], "leave")
        assert run.counters["pool_operations"].get(label, 0) == 0


def imagined(space, name):
    """A workflow at full speed: the source waits for room, so nothing may be missing."""
    (space.path / name).mkdir()
    made = {
        "source": {"type": "synthetic", "steps": 4000, "burst": 20},
        "statistics": {"bucket": "10s"},
        "outputs": [{"type": "hdf5", "directory": name, "queue": 256}],
    }
    (space.path / f"{name}.json").write_text(json.dumps(made))
    return space.vampire(made, name=name)


@pytest.mark.plain
def test_reload_at_full_speed_changes_no_count(space):
    plain = imagined(space, "plain")
    plain.expect_exit(0)
    often = imagined(space, "often")
    number = 0
    while often.running() and number < 5:
        number += 1
        often.signal(signal.SIGHUP)
        try:
            often.until_stderr(f"number {number})")
        except harness.Failure:
            break  # it had come to its end
    often.expect_exit(0)
    runs = [
        results.Hdf5Run(sorted((space.path / name).glob("*.h5"))) for name in ("plain", "often")
    ]
    assert len(runs[1].paths) > 1
    assert runs[0].columns == runs[1].columns
    for metric in ("pool_operations", "transports", "transport_bytes", "produced_bytes"):
        assert runs[0].counters[metric] == runs[1].counters[metric], metric
    for metric in ("transport_ns", "demand_wait_ns", "cdo_lifetime_ns"):
        assert runs[0].histograms[metric] == runs[1].histograms[metric], metric
    assert runs[0].gauges["pool_cdos"] == runs[1].gauges["pool_cdos"]


# ---- the oracle, before and after each change

# Sections of the configuration, one after the other; the level changes too, so that the statistics
# start again twice.
RULES = [
    {},
    {"filters": {"large": "(.cdo.size >= 32KiB)"},
     "events": {"filter": "(or @large (not (has .cdo.size)))"}},
    {"events": {"kinds": ["offer", "withdraw", "transport_init", "transport_completed", "dispose"]},
     "statistics": {"filters": {"handling_ns": "@large"}}, "filters": {"large": "(.cdo.size >= 32KiB)"}},
    {"statistics": {"level": "workflow"},
     "events": {"filter": "(not (.transport.duration > 100us))"}},
    {"statistics": {"level": "cdo", "selected": "(.cdo.size < 1MiB)",
                    "filters": {"transport_ns": "(.transport.tier = OFI)",
                                "pool_operations": "(.component.name glob '*0')"}}},
    {"statistics": {"level": "cdo", "selected": "(.component.id = 1)"},
     "events": {"components": ["*0"]}},
]


EVENTS_BETWEEN_CHANGES = 100


def under(rules, bucket, source):
    """Everything is recorded, so that the oracle sees what the rules turned away."""
    return {
        "source": source,
        **rules,
        "sampling": {"fraction": 700000},
        "statistics": {"bucket": bucket, **rules.get("statistics", {})},
        "outputs": [
            {"type": "hdf5", "queue": 4096},
            {"type": "jsonl", "path": "vampire.jsonl", "complete_every": 7, "queue": 4096},
            {"type": "recording", "filtered": True, "buffer": "64MiB"},
        ],
    }


def files_of(space):
    """Recordings, HDF5 files, JSON lines: one of each for each reading of the configuration."""
    return [sorted(space.path.glob(pattern)) for pattern in ("*.rec", "*.h5", "vampire.jsonl*")]


def counts_in_a_bucket(space, number):
    """Under the configuration of this number, some events have come and a bucket was closed."""
    streams = sorted(space.path.glob("vampire.jsonl*"))
    if len(streams) != number:
        return False
    received = list(map(int, re.findall(r'"accounting":{"received":(\d+)', streams[-1].read_text())))
    return len(received) > 1 and received[-1] - received[0] > EVENTS_BETWEEN_CHANGES


def change_often(space, vampire, bucket, source):
    """Goes through all rules; the number of changes that were made before the stream ended."""
    for number, rules in enumerate(RULES[1:], 1):
        try:
            harness.wait_until(lambda: counts_in_a_bucket(space, number) or not vampire.running(),
                               f"a bucket under configuration {number}", 60)
            reload(space, vampire, under(rules, bucket, source), f"(number {number})")
        except (harness.Failure, ProcessLookupError):
            assert not vampire.running()
            return number - 1
    return len(RULES) - 1


def assert_oracle_agrees(space, changes):
    recordings, hdf5s, jsonls = files_of(space)
    assert len(recordings) == len(hdf5s) == len(jsonls) == changes + 1
    found = compare.differences_of_run(recordings, hdf5s, jsonls)
    assert not found, f"{len(found)} differences\n" + "\n".join(line[:400] for line in found[:30])


@pytest.mark.plain
def test_memory_comes_back(space):
    """Statistics of 40 components that are replaced 15 times: some 350 MiB stayed when glibc kept what was freed."""
    made = harness.vampire_config(source={"type": "synthetic", "steps": 100000, "speed": 1, "producers": 20, "consumers": 20})
    made = {**made, "workflow": "synthetic", "source": {key: value for key, value in made["source"].items() if key != "leave_grace"}}
    vampire = space.vampire(made, ready=False)
    harness.wait_until(space.hdf5_files, "it runs")
    for number in range(1, 16):
        made["statistics"]["bucket"] = "200ms" if number % 2 else "250ms"
        reload(space, vampire, made, "was read again")
        harness.wait_until(lambda: len(space.hdf5_files()) > number, f"reload {number}")
    status = pathlib.Path(f"/proc/{vampire.child.pid}/status").read_text()
    assert int(re.search(r"VmRSS:\s+(\d+)", status)[1]) < 100 * 1024, status
    vampire.stop()


@pytest.mark.threads
def test_oracle_agrees_while_a_workflow_runs(space):
    space.pool_manager()
    source = {"leave_grace": "300ms", "signal_before": "all"}
    vampire = space.vampire(under(RULES[0], "200ms", source))
    workflow = harness.Workflow(space, model_options=MODEL)
    changes = change_often(space, vampire, "200ms", source)
    workflow.finish()
    vampire.expect_exit(0)
    assert changes >= 2
    assert_oracle_agrees(space, changes)
    assert_recordings_know_who_is_there(space)


def assert_recordings_know_who_is_there(space):
    """Each by itself, also of those who joined before it began. In one that was begun when nothing
    happened any more nobody did anything."""
    recordings, _, _ = files_of(space)
    known = 0
    for number, recording in enumerate(recordings):
        where = space.path / f"replayed-{number}"
        where.mkdir()
        made = {"outputs": [{"type": "hdf5", "directory": str(where)}]}
        vampire = space.vampire(made, "--replay", recording, name=where.name, ready=False)
        vampire.expect_exit(0)
        rows = results.Hdf5Run(sorted(where.glob("*.h5"))).components
        names = {row["name"] for row in rows if row["operations"] > 0}
        assert "unknown" not in names, rows
        known += bool(names)
    assert known >= 2


def fast_stream(space):
    """A stream of thousands of events a second that goes on until it is stopped."""
    source = {"type": "synthetic", "steps": 10**9, "burst": 4, "producers": 3,
              "size_min": "1KiB", "size_max": "64KiB",
              "step": "20ms", "speed": 2, "late": 5, "reordered": 20, "duplicated": 5, "lost": 1}
    vampire = space.vampire(under(RULES[0], "50ms", source))
    changes = change_often(space, vampire, "50ms", source)
    assert changes == len(RULES) - 1
    harness.wait_until(lambda: counts_in_a_bucket(space, changes + 1), "a last bucket", 60)
    vampire.stop()
    return changes


@pytest.mark.plain
def test_oracle_agrees_with_a_fast_stream(space):
    assert_oracle_agrees(space, fast_stream(space))


@pytest.mark.plain
def test_oracle_notices_what_goes_wrong_at_a_change(space):
    """An event that is lost, counted twice, or counted with the rules of its neighbour."""
    fast_stream(space)
    recordings, hdf5s, _ = files_of(space)
    items = [stream.read(path, repeated=number == 0)[1] for number, path in enumerate(recordings)]
    # The events next to the border that the rules behind it turn away, those before it do not.
    small = [[number for number, item in enumerate(part)
              if isinstance(item, stream.event_pb2.Event) and 0 < item.size_bytes < 32 << 10]
             for part in items[:2]]
    last, first = small[0][-1], small[1][0] + 1
    for name, before, after in (
        ("lost before", items[0][:-1], items[1]),
        ("lost behind", items[0], items[1][1:]),
        ("twice", items[0] + items[0][-1:], items[1]),
        ("too early", items[0] + items[1][:first], items[1][first:]),
        ("too late", items[0][:last], items[0][last:] + items[1]),
    ):
        stream.write(recordings[0], before)
        stream.write(recordings[1], after)
        assert compare.differences_of_run(recordings, hdf5s), name
