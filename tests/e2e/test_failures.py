# SPDX-License-Identifier: BSD-3-Clause
"""Processes that die, stand still or are asked to stop: the workflow's results stay the same, and
what vampire wrote can be read."""

import os
import random
import re
import shutil
import signal
import sys
import time

import h5py
import pytest

import harness
import jsonl
import results
from test_workflow import KIB, assert_agreement, assert_complete, model_options

sys.path.insert(0, str(harness.ROOT / "tests" / "oracle"))
import compare

# Enough steps to be in the middle of something; slow enough to be caught there.
STEADY = model_options(40, 3, 2, 4 * KIB, 256 * KIB, 120) + ["--verbose"]
LONG = model_options(4000, 3, 2, 4 * KIB, 64 * KIB, 120) + ["--verbose"]


def descriptors(process):
    return len(os.listdir(f"/proc/{process.child.pid}/fd"))


def ending_of(path):
    with h5py.File(path, "r") as file:
        reason = file["end_reason"][...].tobytes().rstrip(b"\0").decode()
        return int(file["how_ended"][()]), reason


def start(space, options, silence="3s", **workflow):
    """`silence`: after which the pool manager and the others give each other up."""
    manager = space.pool_manager("--silence", silence)
    # To come back is another matter, see test_rejoin.py.
    vampire = space.vampire(harness.vampire_config(bucket="100ms", source={"rejoin": "0s"}))
    return manager, vampire, harness.Workflow(space, model_options=options, **workflow)


def ends_or_is_killed(product):
    """Whether it ended by itself. A demand of what only the dead have offered waits for another who offers it, unless the
    pool manager has just tried to move it, and no one will. Who so waits acknowledges nothing, and may be given up for it."""
    try:
        product.wait(20)
        return True
    except harness.Failure:
        product.signal(signal.SIGKILL)
        return False


def test_a_model_killed_with_offers_in_the_pool(space):
    _, vampire, workflow = start(space, LONG)
    victim, survivor = workflow.models
    victim.until_stderr("step 5 offered")
    victim.signal(signal.SIGKILL)
    survivor.until_stderr("step 40 offered", 60)
    survivor.signal(signal.SIGKILL)
    ended = [product for product in workflow.products if ends_or_is_killed(product)]
    vampire.expect_exit(0)
    run = results.Hdf5Run(space.hdf5_files())
    table = {row["name"]: row for row in run.components}
    assert table["IFS -- 0"]["reason"] == "vanished"
    assert table["IFS -- 1"]["reason"] == "vanished"
    assert run.gauges["pool_cdos"][()] == 0, "what the dead had offered is gone"
    for product in (process.report() for process in ended):
        name = product["component"]
        operations = run.counters["pool_operations"]
        assert operations[(name, "leave")] == 1
        assert operations[(name, "transport_completed")] >= product["transports"]


def test_a_product_killed_while_producers_wait_for_it(space):
    _, vampire, workflow = start(space, STEADY)
    workflow.models[0].until_stderr("step 5 offered")
    workflow.products[1].signal(signal.SIGKILL)
    for process in [*workflow.models, workflow.products[0]]:
        process.expect_exit(0)
    vampire.expect_exit(0)
    reports = [process.report() for process in [*workflow.models, workflow.products[0]]]
    assert_complete(reports)
    assert_agreement(space, reports)


def another_workflow(space, **options):
    """In a workspace that had one."""
    for mark in space.path.glob("product-*.ready"):
        mark.unlink()
    return harness.Workflow(space, **options)


def killed_at_random(space, rounds):
    """Producers and consumers at random moments, together in one pool. Returns what is left of them."""
    chance = random.Random("killed")
    settings = harness.vampire_config(bucket="200ms", source={"leave_grace": "120s"})
    settings["outputs"].append({"type": "recording"})
    manager = space.pool_manager("--heartbeat", "100ms", "--silence", f"{3 * harness.PATIENCE:.0f}s")
    vampire = space.vampire(settings)
    sizes = []
    for number in range(rounds):
        names = [f"IFS -- {number}.{rank}" for rank in range(2)]
        workflow = another_workflow(
            space, model_names=names, product_names=[f"Products {number}.{which}" for which in range(2)],
            model_options=[*model_options(100000, 3, 2, 64, 256 * KIB, chance.choice([50, 100, 200])), "--verbose"])
        if chance.random() < 0.7:  # else while they join
            chance.choice(workflow.models).until_stderr(f"step {chance.randrange(4)} offered")
        victims = workflow.all()
        chance.shuffle(victims)
        for victim in victims:
            time.sleep(chance.random() * 0.05)
            victim.signal(signal.SIGKILL)
            victim.wait()
        sizes.append((descriptors(manager), descriptors(vampire)))
    # The remaining components are noticed; then none is left, and no CDO.
    survivor = another_workflow(space, models=1, products=1, model_options=[
        *model_options(3, 2, 2, 64, KIB, 0), "--cdo-prefix", "later,"])  # no CDO that a dead one offers, too
    reports = survivor.finish()
    harness.wait_until(lambda: all_have_left(space), "all dead components are noticed", 60)
    sizes.append((descriptors(manager), descriptors(vampire)))
    vampire.stop()
    return reports, sizes


def components_present(space):
    """How many there were at the end of each bucket that is written."""
    return [record["value"] for record in jsonl.records(space.json_lines())
            if record["type"] == "metric" and record["metric"] == "components_present"]


def all_have_left(space):
    return components_present(space)[-1:] == [0]


@pytest.mark.long
def test_components_killed_at_random_moments(space):
    """Beside test_component_deaths.py, which has each state: all that comes together by chance."""
    rounds = 8
    reports, sizes = killed_at_random(space, rounds)
    run = results.Hdf5Run(space.hdf5_files())
    assert not results.compare(reports, {"hdf5": run})
    assert not results.accounting_differences(run)
    # Pairing state is released, and what they held is reported.
    for gauge in ("pool_cdos", "pool_bytes", "components_present", "vampire_tracked_cdos"):
        assert run.gauges[gauge][()] == 0, gauge
    vanished = [row for row in run.components if row["reason"] == "vanished"]
    assert len(vanished) >= rounds
    assert sum(run.counters["anomalies"].values()) > 0
    assert sizes[-1][0] <= sizes[0][0] + 4 and sizes[-1][1] <= sizes[0][1] + 4, sizes
    (recording,) = space.path.glob("*.rec")
    found = compare.differences(recording, space.hdf5(), space.json_lines())
    assert not found, "\n".join(line[:400] for line in found[:20])


def test_vampire_killed(space):
    _, vampire, workflow = start(space, STEADY)
    workflow.models[0].until_stderr("step 10 offered")
    vampire.signal(signal.SIGKILL)
    reports = workflow.finish()
    assert_complete(reports)
    with h5py.File(space.hdf5(), "r", swmr=True) as file:
        assert file["time"].shape[0] > 0
        assert int(file["how_ended"][()]) == 0
    records = jsonl.records(space.json_lines())
    assert records[0]["type"] == "header" and records[-1]["type"] != "end"


def test_another_vampire_takes_over(space):
    _, vampire, workflow = start(space, STEADY)
    workflow.models[0].until_stderr("step 5 offered")
    vampire.signal(signal.SIGKILL)
    vampire.wait()
    of_the_first = space.hdf5_files()
    # The pool manager may not have noticed yet that the first one is dead.
    second = space.vampire(
        harness.vampire_config(jsonl="second.jsonl", bucket="100ms"),
        "--component", "vampire 2", name="vampire-second",
    )
    reports = workflow.finish()
    second.expect_exit(0)
    assert_complete(reports)
    run = results.Hdf5Run([path for path in space.hdf5_files() if path not in of_the_first])
    operations = run.counters["pool_operations"]
    # It was not there when they joined, and a leave has no name. The first one's end
    # may be noticed while the second is there.
    assert operations[("unknown", "leave")] - len(reports) in (0, 1)
    assert {label[0] for label, count in operations.items() if count} == {"unknown"}
    assert 0 < operations[("unknown", "offer")] < sum(
        report["operations"]["offer"] for report in reports
    )


def test_vampire_stopped_and_continued(space):
    """Shorter than what makes the pool manager give it up: nothing may be missing but what is
    counted as lost."""
    _, vampire, workflow = start(space, STEADY, silence="30s")
    workflow.models[0].until_stderr("step 5 offered")
    vampire.signal(signal.SIGSTOP)
    workflow.models[0].until_stderr("step 15 offered")
    vampire.signal(signal.SIGCONT)
    reports = workflow.finish()
    assert_complete(reports)
    vampire.expect_exit(0)
    assert_agreement(space, reports)


def test_vampire_stopped_until_it_is_given_up(space):
    _, vampire, workflow = start(space, STEADY, silence="2s")
    workflow.models[0].until_stderr("step 5 offered")
    vampire.signal(signal.SIGSTOP)
    reports = workflow.finish()
    assert_complete(reports)
    vampire.signal(signal.SIGCONT)
    # Either it was away too long and is informed of that, or it catches up.
    assert vampire.wait() in (0, 4)
    how, _ = ending_of(space.hdf5())
    assert how == 2
    assert jsonl.records(space.json_lines())[-1]["type"] == "end"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_vampire_leaves_when_asked(space, number):
    _, vampire, workflow = start(space, STEADY)
    workflow.models[0].until_stderr("step 5 offered")
    vampire.signal(number)
    vampire.expect_exit(0, 15)
    assert_complete(workflow.finish())
    how, reason = ending_of(space.hdf5())
    assert how == 2 and "signal" in reason
    last = jsonl.records(space.json_lines())[-1]
    assert last["type"] == "end"
    assert results.Hdf5Run(space.hdf5_files()).counters["pool_operations"][("IFS -- 0", "offer")] > 0


@pytest.mark.parametrize("numbers", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT, signal.SIGTERM)])
def test_signals_of_one_request_are_one(space, numbers):
    """timeout(1), batch systems and service managers signal a process and then its group."""
    source = {"type": "synthetic", "start": "now", "speed": 1, "steps": 1000}
    vampire = space.vampire({"source": source, "outputs": [{"type": "jsonl", "path": "out.jsonl"}]}, ready=False)
    path = space.path / "out.jsonl"
    harness.wait_until(lambda: path.exists() and path.stat().st_size > 0, "the first line")
    for number in numbers:
        vampire.signal(number)
    vampire.expect_exit(0, 15)
    assert jsonl.records(path)[-1]["type"] == "end"


def test_a_wait_for_a_full_disk_is_reported_and_may_end(space):
    config = {
        "source": {"type": "synthetic", "steps": 20},
        "outputs": [{"type": "jsonl", "path": "/dev/full"}],
    }
    vampire = space.vampire(config, ready=False)
    vampire.until_stderr("buckets are still to be written, for at most")
    began = time.monotonic()
    vampire.signal(signal.SIGINT)
    harness.wait_until(lambda: not vampire.running() or vampire.signal(signal.SIGTERM), "a later SIGTERM ends it")
    assert vampire.wait(15) in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert time.monotonic() - began >= 2


def test_an_output_that_keeps_up_does_not_wait(space):
    """Buckets that were merged or are not flushed yet are not counted as waiting in the queue."""
    vampire = space.vampire({"source": {"type": "synthetic", "steps": 200},
                             "outputs": [{"type": "hdf5", "bucket": "200s"}, {"type": "jsonl", "path": "lines"}]}, ready=False)
    vampire.expect_exit(0, 20)
    assert "still to be written" not in vampire.stderr
    text = (space.path / "lines").read_text(encoding="utf-8")
    queued = [int(count) for count in re.findall(r'"vampire_queue_high_water":\[{"output":"hdf5","value":(\d+)', text)]
    assert max(queued, default=0) <= 64


FILES = [{"type": "hdf5"}, {"type": "jsonl"}, {"type": "jsonl", "path": "out/lines"}, {"type": "recording"},
         {"type": "trace"}, {"type": "trace", "format": "otf2"}]


@pytest.mark.parametrize("output", FILES, ids=lambda output: "-".join(output.values()).replace("/", "-"))
@pytest.mark.parametrize("moved", [False, True])
def test_the_directory_of_an_output_is_moved_or_deleted(space, output, moved):
    """The content of a deleted file is lost; a moved file is completed. In both cases, a new file begins."""
    if output.get("format") == "otf2" and moved:
        pytest.skip("OTF2 finds its files by their names")
    out = space.path / "out"
    out.mkdir()
    place = {} if "path" in output else {"directory": "out"}
    vampire = space.vampire({"source": {"type": "synthetic", "start": "now", "speed": 1, "steps": 100000, "step": "20ms"},
                             "statistics": {"bucket": "100ms"}, "outputs": [{**output, **place}]}, ready=False)
    harness.wait_until(lambda: [*out.iterdir()], "a file")
    vampire.signal(signal.SIGUSR1)
    vampire.until_stderr("end of the state")  # and all outputs are open
    if moved:
        out.rename(space.path / "moved")
    else:
        shutil.rmtree(out)
    out.mkdir()
    harness.wait_until(lambda: [*out.iterdir()], "another file")
    vampire.signal(signal.SIGTERM)
    vampire.expect_exit(0 if moved else 1)
    lost = re.findall(rf"^ +{output['type']} .* (\d+) LOST$", vampire.stderr, re.MULTILINE)
    assert len(lost) == (not moved), vampire.stderr
    assert ("was deleted while vampire wrote it" in vampire.stderr) != moved


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGUSR2])
def test_the_pool_manager_ends(space, number):
    manager, vampire, workflow = start(space, LONG)
    workflow.models[0].until_stderr("step 5 offered")
    manager.signal(number)
    vampire.expect_exit(4, 20)
    assert "pool manager" in vampire.stderr
    for process in workflow.all():
        assert process.wait() == 1, "a component without its pool manager fails, and does not hang"
    how, reason = ending_of(space.hdf5())
    assert how == 2 and "pool manager" in reason
    assert jsonl.records(space.json_lines())[-1]["type"] == "end"
    if number == signal.SIGUSR2:
        manager.expect_exit(0)


@pytest.mark.parametrize("number", [signal.SIGUSR2, signal.SIGTERM, signal.SIGINT])
def test_an_idle_pool_manager_ends(space, number):
    manager = space.pool_manager()
    manager.signal(number)
    manager.expect_exit(0, 10)
