# SPDX-License-Identifier: BSD-3-Clause
"""Maestros that mean something else: a library between vampire and Maestro changes what events mean. What vampire publishes
agrees with what the components counted themselves, and what it learned is said."""

import json
import random
import subprocess
import sys

import pytest

import harness
import jsonl
import results
from test_ladder import ROOT, build, gone_from, header_of, read

sys.path.insert(0, str(ROOT / "tests" / "oracle"))
import stream
import streams

pytestmark = [pytest.mark.plain, pytest.mark.together]  # their vampires are built once
BETWEEN = ROOT / "tests" / "e2e" / "other_meanings.c"
# What events mean, what the header lacks, what is set, and how the workflow is.
LIVES = {
    "source": ("source", ("MSTRO_POOL_EVENT_HAS_PEER",), {}, ()),
    "source without numbers": ("source", ("MSTRO_POOL_EVENT_HAS_PEER", "MSTRO_POOL_EVENT_HAS_TRANSPORT"), {}, ()),
    "sink": ("", ("MSTRO_POOL_EVENT_HAS_PEER",), {}, ()),
    "zero": ("zero", (), {}, ()),
    "count": ("count", (), {}, ()),
    "required": ("source", ("MSTRO_POOL_EVENT_HAS_PEER", "MSTRO_POOL_EVENT_HAS_TRANSPORT"), {}, ("--move-at", "require")),
    "wait": ("wait", ("MSTRO_SIGNAL_BEFORE_HOLDS_UP_NOTHING",), {"signal_before": "waits"}, ()),
}
SAID = {"serial numbers of events are all 0": ("zero",), "serial numbers of events count each": ("count",),
        "numbers that say their order": ("zero", "count"), "may wait for an answer": ("wait",)}
ONE_CONSUMER = ("(.maestro.ecmwf.levelist = 500)", "(.maestro.ecmwf.levelist = 850)")


@pytest.fixture(name="live", scope="module")
def programs(tmp_path_factory):
    """Runs a workflow that a vampire of this life watches; its reports, what it wrote, and what it said."""
    built = {}

    def run(space, life, **workflow):
        meaning, lacking, source, manager = LIVES[life]
        if lacking not in built:
            built[lacking] = build(tmp_path_factory.mktemp("other") / "one", header_of(lacking), BETWEEN)
        space.pool_manager(*manager)
        folder = space.path / "out"
        folder.mkdir()
        config = harness.vampire_config(directory=str(folder))
        config["statistics"] = {"bucket": "1s", "sets": "all"}
        config["outputs"][1]["path"] = str(folder / "vampire.jsonl")
        config["source"] = {"leave_when_empty": False, **source}
        path = space.path / "vampire.json"
        path.write_text(harness.config_text(config))
        vampire = space.start([built[lacking], "-c", path], "vampire", {"MEANINGS": meaning})
        harness.wait_until(lambda: "joined workflow" in vampire.stderr or not vampire.running(), "vampire has joined")
        options = ["--steps", 4, "--levels", 2, "--params", 3, "--rate", 0]
        reports = harness.Workflow(space, model_options=options, **workflow).finish()
        names = {report["component"] for report in reports}
        harness.wait_until(lambda: names <= gone_from(folder), "vampire has seen the end")
        vampire.signal(2)
        vampire.expect_exit(0)
        return reports, read(folder), vampire.stderr

    return run


def anomalies(found):
    """All but that vampire's own JOIN was not seen, which is before it subscribes."""
    return {labels: count for labels, count in found["hdf5"].counters["anomalies"].items()
            if count and labels != ("unknown", "unknown_component")}


def check_totals(reports, found):
    """Each source has moved what its sinks have counted; no sink has more than its own, and no demand is left over."""
    transports = found["hdf5"].counters["transports"]
    assert sum(transports.values()) == sum(report["transports"] for report in reports)
    for report in reports:
        sunk = sum(count for labels, count in transports.items() if labels[1] == report["component"])
        assert sunk <= report["transports"], report["component"]
    assert {labels[0] for labels, count in transports.items() if count} == \
        {report["component"] for report in reports if report["operations"]["offer"]}
    assert not anomalies(found), anomalies(found)
    assert not any(found["hdf5"].gauges["demands_pending"].values())


@pytest.mark.parametrize("life", LIVES)
def test_what_is_published_is_what_the_components_counted(live, life):
    with harness.Workspace() as space:
        reports, found, said = live(space, life, selectors=ONE_CONSUMER)
        check_totals(reports, found)
        if life != "required":
            differences = results.compare(reports, found)
            assert not differences, "\n".join(differences)
        for words, lives in SAID.items():
            assert said.count(words) == (life in lives), said
        check_files(space, said)


def check_files(space, said):
    """What was learned after a file began is in it, and `--summary` has the same words as the run's end."""
    wanted = [line.strip() for line in said.splitlines() if line.startswith(("  serials", "  phases"))]
    for path in (space.hdf5(), space.path / "out" / "vampire.jsonl"):
        done = subprocess.run([harness.program("vampire"), "--summary", path], capture_output=True, text=True, check=True)
        assert [line.strip() for line in done.stdout.splitlines() if line.startswith(("  serials", "  phases"))] == wanted, said


@pytest.mark.parametrize("life", ["source", "source without numbers", "sink", "required"])
def test_of_a_cdo_that_several_take_together_the_totals_are_right(live, life):
    """Where it is ambiguous who of them has the data, that is unknown, and counted."""
    with harness.Workspace() as space:
        reports, found, _ = live(space, life)
        check_totals(reports, found)


def lives_of_cdos(share):
    """One producer, four consumers that leave without a DISPOSE; transports name the producer alone. Of their demands this
    share is never satisfied. The stream, and how many of them."""
    dice, hand, events, unsatisfied = random.Random(share), streams.Hand(), [], 0
    for app in range(1, 6):
        hand.join(0, app, f"c{app}")
    for number in range(300):
        cdo, base = f"k{number}", 10 + 2 * number
        events += [(base, "declare", 1, cdo, {}), (base + 1, "seal", 1, cdo, {"size": 100}), (base + 2, "offer", 1, cdo, {})]
        for app in dice.sample(range(2, 6), dice.randint(1, 4)):
            demand = base + 3 + dice.random() * 20
            events.append((demand, "demand", app, cdo, {}))
            if dice.random() < share:
                unsatisfied += 1
                continue
            begin = dice.choice([base + 3, demand]) + dice.random() * 10
            end = begin + 0.1 + dice.random() * 15
            events += [(begin, "transport_init", 1, cdo, {}), (end, "transport_completed", 1, cdo, {"size": 100})]
            if dice.random() < 0.3:
                events.append((max(demand, end) + 1, "dispose", app, cdo, {}))
        if dice.random() < 0.5:
            events += [(base + 70, "withdraw", 1, cdo, {}), (base + 71, "dispose", 1, cdo, {})]
    for at, kind, app, cdo, fields in sorted(events, key=lambda event: event[0]):
        hand(kind, at, app, cdo, **fields)
    for app in (3, 1, 4, 2, 5):
        hand("leave", 2000 + app, app, reason=1)
    return hand.items, unsatisfied


@pytest.mark.parametrize("share", [0, 0.2])
def test_no_demand_that_was_satisfied_looks_unsatisfied(space, share):
    items, unsatisfied = lives_of_cdos(share)
    stream.write(space.path / "in.rec", items, unknown=2**2 | 2**3)  # source, number: vampire/core/event/knows.def
    (space.path / "v.json").write_text(harness.config_text({
        "statistics": {"bucket": "1s", "sets": "all"}, "outputs": [{"type": "jsonl", "path": "out.jsonl"}]}))
    subprocess.run([harness.program("vampire"), "-q", "-c", "v.json", "--replay", "in.rec"], cwd=space.path, check=True)
    found = sum(line["delta"] for line in jsonl.records(space.path / "out.jsonl")
                if line.get("metric") == "anomalies" and line["labels"]["anomaly"] == "demand_never_satisfied")
    assert unsatisfied / 3 <= found <= unsatisfied, (found, unsatisfied)
