# SPDX-License-Identifier: BSD-3-Clause
"""SIGHUP: another configuration while the run goes on. Nothing is lost, nothing counts twice, and a
wrong file changes nothing."""

import json
import signal

import h5py
import pytest

import harness
import results

MODEL = ["--steps", 40, "--levels", 2, "--params", 2, "--size-min", 1024, "--size-max", 65536,
         "--rate", 40]


def write(space, made):
    (space.path / "vampire.json").write_text(json.dumps(made, indent=2))


def reload(space, vampire, made, says):
    if isinstance(made, dict):
        write(space, made)
    else:
        (space.path / "vampire.json").write_text(made)
    vampire.signal(signal.SIGHUP)
    vampire.until_stderr(says)


@pytest.mark.threads
def test_counts_are_complete_across_reloads(space):
    made = harness.vampire_config(bucket="200ms")
    space.pool_manager()
    vampire = space.vampire(made)
    workflow = harness.Workflow(space, model_options=MODEL)
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
            configuration = json.loads(results.text_attribute(file, "configuration"))
            assert configuration["outputs"][0]["queue"] == 64 + reloads
    assert numbers == list(range(len(numbers)))
    streams = sorted(space.path.glob("vampire.jsonl*"))
    assert len(streams) == 4
    for reloads, path in enumerate(streams):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        told = [record["number"] for record in records if record["type"] == "reload"]
        assert told == ([reloads] if reloads else [])
        assert records[-1]["type"] == "end"
        if reloads < 3:
            assert records[-1]["reason"] == "configuration reloaded"
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
    outputs = [{"type": "hdf5", "directory": "nowhere"}]
    reload(space, vampire, {**made, "outputs": outputs}, "nowhere cannot be used")
    reports = workflow.finish()
    vampire.expect_exit(0)
    runs = {"hdf5": results.Hdf5Run([space.hdf5()]), "json": results.JsonRun(space.json_lines())}
    assert not results.compare(reports, runs)


def test_other_statistics_begin_anew(space):
    """Another bucket width: counters begin at zero in the new files, and their sum is the whole."""
    made = harness.vampire_config(bucket="200ms")
    space.pool_manager()
    vampire = space.vampire(made)
    workflow = harness.Workflow(space, model_options=MODEL)
    made["statistics"]["bucket"] = "100ms"
    made["ring"] = "1MiB"
    reload(space, vampire, made, "the statistics begin anew")
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
    runs = [results.Hdf5Run([path]) for path in files]
    for report in reports:
        for operation in results.OPERATIONS:
            label = (report["component"], operation)
            counted = sum(run.counters.get("pool_operations", {}).get(label, 0) for run in runs)
            assert counted == report["operations"][operation], label


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
