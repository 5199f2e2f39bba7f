# SPDX-License-Identifier: BSD-3-Clause
"""Filters end to end: pushed down to the pool manager or not, by name, for single metrics, for single
outputs; and sampling, whose weights bring the totals back."""

import collections
import json
import re

import h5py
import pytest

import harness
import jsonl
import results

import vampire as vampire_files

MODEL = ["--steps", 8, "--levels", 2, "--params", 2, "--size-min", 1024, "--size-max", 65536]
# The model's steps are 0, 6, 12, ... hours.
BY_NAME = r"(.cdo.name match '(^|,)step:(0|6|12|18)(,|$)')"
BY_ATTRIBUTE = "(.maestro.ecmwf.step <= 18)"
BOTH_KINDS = ["offer", "demand", "withdraw", "transport_init", "transport_completed"]


def config(name, **more):
    made = harness.vampire_config(jsonl=f"{name}.jsonl", directory=name)
    made["component"] = name
    made.update(more)
    return made


def watch(space, name, **more):
    (space.path / name).mkdir()
    return space.vampire(config(name, **more), name=name)


def hdf5(space, name):
    return results.Hdf5Run(sorted((space.path / name).glob("*.h5")))


def operations(run, *others):
    """What happened, without the vampires themselves."""
    return {
        label: value
        for label, value in run.counters["pool_operations"].items()
        if value and label[0] not in others and label[1] in BOTH_KINDS
    }


@pytest.mark.threads
def test_pushed_down_or_not_the_meaning_is_the_same(space):
    space.pool_manager()
    names = ("everything", "there", "here")
    vampires = [
        watch(space, "everything"),
        watch(space, "there", events={"kinds": BOTH_KINDS, "filter": BY_ATTRIBUTE}),
        watch(space, "here", events={"kinds": BOTH_KINDS, "filter": BY_NAME}),
    ]
    harness.Workflow(space, model_options=MODEL).finish()
    for vampire in vampires:
        vampire.expect_exit(0)
    everything, there, here = (hdf5(space, name) for name in names)
    assert operations(there) == operations(here)
    assert 0 < sum(operations(there).values()) < sum(operations(everything).values())
    for metric in ("consumed_bytes", "transports", "transport_bytes"):
        assert there.counters[metric] == here.counters[metric], metric
    assert there.histograms["transport_ns"].keys() == here.histograms["transport_ns"].keys()
    # Only what is wanted crossed the wire: everything that came also counted, joins and leaves aside.
    assert there.columns["events_received"] < here.columns["events_received"]
    assert there.columns["events_counted"] == here.columns["events_counted"]


def transports(run):
    return sum(run.counters["transports"].values())


def test_duration_of_a_transport(space):
    """The pool manager reports it, the recording keeps it, and a filter uses it."""
    space.pool_manager()
    recording = {"type": "recording", "directory": "."}
    everything = watch(space, "everything", outputs=[
        {"type": "hdf5", "directory": "everything"}, recording])
    timed = watch(space, "timed", events={"filter": "(.transport.duration > 0ns)"})
    never = watch(space, "never", events={"filter": "(.transport.duration > 1h)"})
    harness.Workflow(space, model_options=MODEL).finish()
    for vampire in (everything, timed, never):
        vampire.expect_exit(0)
    whole, timed, never = (hdf5(space, name) for name in ("everything", "timed", "never"))
    assert transports(timed) == transports(whole) > 0
    assert set(operations(timed)) == {label for label in operations(whole)
                                      if label[1] == "transport_completed"}
    assert transports(never) == 0

    again = space.vampire(
        {"events": {"filter": "(.transport.duration > 0ns)"},
         "outputs": [{"type": "jsonl", "path": "again.jsonl"}]},
        "--replay", next(space.path.glob("*.rec")), name="again", ready=False)
    again.expect_exit(0)
    assert transports(results.JsonRun(space.path / "again.jsonl")) == transports(whole)


def test_metric_and_output_filters(space):
    """One run, four outputs and two metrics that see only part of it."""
    space.pool_manager()
    small = "(.cdo.size < 16KiB)"
    made = config(
        "vampire",
        filters={"small": small, "small_offers": "(and @small (.event.kind = offer))"},
    )
    made["statistics"]["filters"] = {"produced_bytes": "@small", "transport_ns": "@small"}
    made["outputs"] = [
        {"type": "hdf5", "directory": "."},
        {"type": "jsonl", "path": "part.jsonl", "metrics": ["transport*", "produced_bytes"]},
        {"type": "recording", "directory": ".", "filter": "@small_offers"},
    ]
    vampire = space.vampire(made)
    reports = harness.Workflow(space, model_options=MODEL).finish()
    vampire.expect_exit(0)
    run = results.Hdf5Run([space.hdf5()])
    part = results.JsonRun(space.path / "part.jsonl")
    names = {m["name"] for m in part.records[0]["metrics"]}
    assert "vampire_metric_filtered" in names
    assert {name for name in names if not name.startswith("vampire_")} == {
        name for name in run.counters | run.gauges | run.histograms if name.startswith("transport") or name == "produced_bytes"}
    assert sum(part.counters["produced_bytes"].values()) == sum(
        run.counters["produced_bytes"].values())
    produced = sum(report["produced_bytes"] for report in reports)
    assert 0 < sum(run.counters["produced_bytes"].values()) < produced
    # Everything else counts everything.
    consumed = sum(report["consumed_bytes"] for report in reports)
    assert sum(run.counters["consumed_bytes"].values()) == consumed
    counts = sum(count for count, _ in run.histograms["transport_ns"].values())
    assert 0 < counts < sum(run.counters["transports"].values())

    recording = next(space.path.glob("*.rec"))
    replay = space.vampire(
        {"outputs": [{"type": "jsonl", "path": "replayed.jsonl"}]},
        "--replay", recording, name="replay", ready=False)
    replay.expect_exit(0)
    replayed = results.JsonRun(space.path / "replayed.jsonl")
    kinds = {label[1] for label, value in replayed.counters["pool_operations"].items() if value}
    assert kinds == {"offer", "join", "leave"}
    assert sum(replayed.counters["produced_bytes"].values()) == sum(
        run.counters["produced_bytes"].values())


def test_outputs_choose_series(space):
    """Three outputs of one run: everything, the models' series, and one tier."""
    made = config("vampire")
    for directory in ("whole", "part"):
        (space.path / directory).mkdir()
    made["outputs"] = [
        {"type": "hdf5", "name": "all", "directory": "whole"},
        {"type": "hdf5", "name": "models", "directory": "part",
         "series": ["component=IFS*", "component=Nobody", "operation=offer", "operation=with*"]},
        {"type": "jsonl", "path": "tier.jsonl", "series": ["tier=OFI", "size_class=*KiB*"]},
    ]
    space.pool_manager()
    vampire = space.vampire(made)
    reports = harness.Workflow(space, model_options=MODEL).finish()
    vampire.expect_exit(0)
    whole, models = hdf5(space, "whole"), hdf5(space, "part")
    tier = results.JsonRun(space.path / "tier.jsonl")
    names = {report["component"] for report in reports if report["role"] == "model"}
    assert names

    def kept(metric, wanted, run):
        expected = {label: value for label, value in whole.counters[metric].items()
                    if value and wanted(label)}
        got = {label: value for label, value in run.counters[metric].items() if value}
        assert got == expected and expected, metric
        return expected

    chosen = kept("pool_operations",
                  lambda label: label[0] in names and label[1] in ("offer", "withdraw"), models)
    assert len(chosen) == 2 * len(names)
    kept("produced_bytes", lambda label: label[0] in names, models)
    kept("transports", lambda label: True, models)  # these have a source and a sink
    assert models.columns["events_counted"] == whole.columns["events_counted"]
    for label, histogram in models.histograms["offer_to_withdraw_ns"].items():
        assert histogram == whole.histograms["offer_to_withdraw_ns"][label]
    kept("transports", lambda label: "OFI" in label and any("KiB" in text for text in label), tier)
    kept("pool_operations", lambda label: True, tier)


def synthetic(space, name, **sampling):
    """The same imagined workflow each time, sampled in one way or another."""
    directory = space.path / name
    directory.mkdir()
    vampire = space.vampire(
        {
            "source": {"type": "synthetic", "steps": 200, "burst": 20},
            "sampling": sampling,
            "outputs": [{"type": "hdf5", "directory": name}, {"type": "null"}],
        },
        name=name, ready=False)
    vampire.expect_exit(0)
    return results.Hdf5Run(sorted(directory.glob("*.h5"))), sorted(directory.glob("*.h5"))


def offers(run):
    return sum(v for label, v in run.counters["pool_operations"].items() if label[1] == "offer")


@pytest.mark.plain
def test_sampling_is_counted_and_weighed(space):
    whole, _ = synthetic(space, "whole")
    assert whole.counters["vampire_sampled_out"][()] == 0
    for name, sampling, weight in (
        ("fraction", {"fraction": 250000}, 4.0),
        ("less", {"fraction": 100000}, 10.0),
    ):
        run, files = synthetic(space, name, **sampling)
        out = run.counters["vampire_sampled_out"][()]
        assert out == run.columns["events_filtered"] > 0
        assert run.columns["events_received"] == whole.columns["events_received"]
        assert not results.accounting_differences(run)
        with h5py.File(files[0]) as file:
            assert set(file["vampire_weight"][...]) == {round(weight * 1e6)}
            text = results.text_of(file, "sampling")
            assert all(f"{key} {value}" in text for key, value in sampling.items())
            assert json.loads(results.text_of(file, "configuration"))["sampling"]
        estimate = offers(run) * weight
        assert abs(estimate - offers(whole)) < 0.15 * offers(whole), name
    # All events of a CDO together: what is offered is also withdrawn.
    run, _ = synthetic(space, "pairs", fraction=100000)
    assert offers(run) == sum(
        v for label, v in run.counters["pool_operations"].items() if label[1] == "withdraw")


def test_weighted_counters_add_up_in_merged_buckets(space):
    """For each series, whatever the width of buckets; what is of no CDO counts once."""
    names = ("pool_operations", "produced_bytes", "transport_bytes")
    vampire = space.vampire(
        {"source": {"type": "synthetic", "producers": 3, "consumers": 2, "steps": 100, "burst": 4, "step": "300ms"},
         "sampling": {"fraction": 300000},
         "statistics": {"bucket": "700ms", "metrics": [f"+weighted_{name}" for name in names]},
         "outputs": [{"type": "jsonl", "path": "fine.jsonl", "without": [], "complete_every": 1, "queue": 65536},
                     {"type": "hdf5", "bucket": "14s", "queue": 65536}]}, ready=False)
    vampire.expect_exit(0)
    fine = [line for line in jsonl.records(space.path / "fine.jsonl") if line["type"] == "metric"]
    weights = {line["bucket"]: line["value"] for line in fine if line["metric"] == "vampire_weight"}
    assert set(weights.values()) == {3333333}
    expected = collections.defaultdict(collections.Counter)
    for line in fine:
        if line["metric"] in names:
            operation = line["labels"].get("operation")
            weight = 10**6 if operation in ("join", "leave", "subscribe", "unsubscribe") else weights[line["bucket"]]
            expected[line["metric"]][tuple(line["labels"].values())] += line["delta"] * weight
    path, = space.path.glob("*.h5")
    with h5py.File(path) as file:
        assert file["time"].shape[0] < 5 < len(weights), "merged"
    for name in names:
        merged = vampire_files.merge(path, f"weighted_{name}", by=list(fine_labels(fine, name)))
        found = {key if isinstance(key, tuple) else (key,): value for key, value in merged.items() if value}
        assert found and found == {key: (value + 500000) // 10**6 for key, value in expected[name].items() if value}
    run_the_recipe(path)


def fine_labels(lines, name):
    return next(line["labels"] for line in lines if line["metric"] == name)


def run_the_recipe(path):
    """That of docs/configuration.md."""
    page = (harness.ROOT / "docs" / "configuration.md").read_text()
    recipe, = re.findall(r"```python\n(import vampire\n.*?)```", page, re.DOTALL)
    scope = {}
    exec(recipe.replace("/scratch/forecast", str(path)), scope)  # pylint: disable=exec-used
    assert (scope["operations"].low > 0).any()


def test_a_pattern_that_runs_out_of_steps_is_counted_and_shown(space):
    """The condition is false; the number is in the metric, in a message and in the summary."""
    events = {"kinds": ["offer"], "filter": "(or (.cdo.name match '^(.|..)*[~^]$') (.cdo.size > 1))"}
    vampire = space.vampire(
        {"source": {"type": "synthetic", "steps": 5}, "events": events,
         "outputs": [{"type": "jsonl", "path": "cut.jsonl"}]}, ready=False)
    vampire.expect_exit(0)
    run = results.JsonRun(space.path / "cut.jsonl")
    passed = offers(run)
    assert passed > 0 and run.counters["vampire_filter_cut"] == {(): passed}
    assert "  out of steps           100 pattern matches" in vampire.stderr and passed == 100
    assert vampire.stderr.count("filter events: a pattern ran out of steps") == 1


def test_many_expensive_matches_end_in_time(space):
    """Each match alone stays below its bound, all together do not: the rest is cut."""
    events = {"filter": "(.cdo.name match '^(?:(?:.|..){9}~|.*)$')"}
    vampire = space.vampire(
        {"source": {"type": "synthetic", "steps": 200, "burst": 20}, "events": events,
         "outputs": [{"type": "jsonl", "path": "cut.jsonl"}]}, ready=False)
    vampire.expect_exit(0)
    run = results.JsonRun(space.path / "cut.jsonl")
    cut = sum(run.counters["vampire_filter_cut"].values())
    assert 0 < offers(run) and 10 * offers(run) < cut, (offers(run), cut)


def test_a_filter_that_let_nothing_through_is_named(space):
    (space.path / "kept").mkdir()
    vampire = space.vampire(
        {"source": {"type": "synthetic", "steps": 5}, "events": {"kinds": ["offer"]},
         "statistics": {"filters": {"produced_bytes": "(.cdo.size > 1TiB)"}},
         "outputs": [{"type": "recording", "name": "kept", "directory": "kept", "filter": "(.cdo.name = no)"},
                     {"type": "recording", "name": "all", "directory": ".", "filter": "(has .cdo.name)"}]},
        ready=False)
    vampire.expect_exit(0)
    lines = [line.split(None, 1)[1] for line in vampire.stderr.splitlines() if line.startswith("  filter ")]
    assert lines == ["statistics.filters.produced_bytes: passed none of 100 events",
                     "outputs.kept.filter: passed none of 100 events"]
    nothing = space.vampire(
        {"source": {"type": "synthetic", "steps": 5}, "events": {"components": ["Nobody"]},
         "outputs": [{"type": "jsonl", "path": "nothing.jsonl"}]}, ready=False, name="nothing")
    nothing.expect_exit(0)
    assert "\n  filter                 events: passed none of " in nothing.stderr
