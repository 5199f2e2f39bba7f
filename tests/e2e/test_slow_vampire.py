# SPDX-License-Identifier: BSD-3-Clause
"""A vampire that stands still, or counts more slowly than events come: the workflow goes on without
it, the pool manager stays small, and what vampire missed is known to the last event."""

import signal
import statistics
import sys
import time

import h5py
import pytest

import harness
import jsonl
import results
from test_rejoin import NO_TIME, resident_kib
from test_workflow import KIB, assert_complete, model_options

sys.path.insert(0, str(harness.ROOT / "tests" / "bench"))
import processes

# Before each CDO's name: with it an event is some 900 bytes, so that few of them fill much.
LONG_NAME = "a" * 800
QUEUE_KIB = 64
# Two queues of vampire, 32 batches of 16 KiB under way, libfabric's copies of them: 2 MiB were seen.
MANAGER_MAY_GROW_KIB = 7 * 1024
STEPS_STOPPED = 100 if harness.MODE == "release" else 40
# One match takes as many steps as a filter allows: about a millisecond.
SLOW_FILTER = "(not (.cdo.name match '^(a|aa)+$'))"


def produced(reports):
    """Events that the pool manager made for vampire: of each operation after it, of three before it."""
    after = sum(sum(r["operations"].values()) + 2 * r["transports"] for r in reports)
    before = sum(r["operations"][name] for r in reports for name in ("demand", "withdraw", "leave"))
    return after + before


def stopped(process):
    with open(f"/proc/{process.child.pid}/stat", encoding="ascii", errors="replace") as line:
        return line.read().rpartition(")")[2].split()[0] == "T"


def long_names(space, steps):
    """A workflow whose events are large."""
    return harness.Workflow(space, model_options=[
        *model_options(steps, 3, 2, 64, KIB, 0), "--cdo-prefix", LONG_NAME, "--verbose"])


def start(space, settings, steps):
    manager = space.pool_manager("--silence", "600s", "--queue-bytes", f"{QUEUE_KIB}KiB")
    return manager, space.vampire(settings), long_names(space, steps)


def gaps(space, reason):
    """Start, end, events of each gap, in the order of the files: many of them fill one."""
    rows = []
    for path in space.hdf5_files():
        with h5py.File(path, "r") as file:
            columns = [file["gap_" + name][...].tolist() for name in ("start", "end", "events")]
            rows += [row for row, why in zip(zip(*columns), results.texts(file["gap_reason"]))
                     if row[0] != NO_TIME and why == reason]
    return rows


def lost_rows(space, reason):
    """Events lost according to the table of gaps and the JSON lines."""
    rows = gaps(space, reason)
    assert all(start <= end for start, end, _ in rows), rows
    lines = [line for line in jsonl.records(space.json_lines()) if line["type"] == "gap" and line["reason"] == reason]
    assert [line["events"] for line in lines] == [count for _, _, count in rows]
    return sum(count for _, _, count in rows)


def account(space, reports):
    """Exact to the last event, in each bucket and at the end. Returns the columns of the end."""
    of_files = results.Hdf5Run(space.hdf5_files())
    columns = of_files.columns
    assert not results.accounting_differences(of_files)
    lost = {name.removeprefix("events_lost_"): count for name, count in columns.items()
            if name.startswith("events_lost_")}
    assert columns["events_received"] + sum(lost.values()) == produced(reports), columns
    all_received = []
    for path in space.hdf5_files():
        with h5py.File(path, "r") as file:
            received, decoded, rejected, filtered, counted = (
                file[f"events_{name}"][...] for name in ("received", "decoded", "rejected", "filtered", "counted"))
        assert (received == decoded + rejected).all() and (decoded == filtered + counted).all()
        all_received += received.tolist()
    lines = [line for line in jsonl.records(space.json_lines()) if line["type"] == "bucket"]
    starts = [line["time"] for line in lines]
    assert starts == sorted(set(starts)), "a loss does not advance time past the events that follow it"
    assert not gaps(space, "leap")
    buckets = [line["accounting"] for line in lines]
    assert [bucket["received"] for bucket in buckets] == all_received
    for reason, count in lost.items():
        assert lost_rows(space, reason) == count
        assert buckets[-1]["lost"].get(reason, 0) == count
    return columns


def test_vampire_stopped(space):
    """While it stands still far more happens than the pool manager may keep for it."""
    manager, vampire, workflow = start(space, harness.vampire_config(), STEPS_STOPPED + 15)
    workflow.models[0].until_stderr("step 5 offered")
    before_kib = resident_kib(manager)
    vampire.signal(signal.SIGSTOP)
    highest_kib = 0
    for step in range(10, STEPS_STOPPED + 1, 10):
        for model in workflow.models:
            model.until_stderr(f"step {step} offered")
        highest_kib = max(highest_kib, resident_kib(manager))
    assert stopped(vampire), "no component needed it for all these steps"
    vampire.signal(signal.SIGCONT)
    reports = workflow.finish()
    assert vampire.wait_or_signal(signal.SIGTERM, 15) == 0, vampire.account()
    assert_complete(reports)
    lost = account(space, reports)["events_lost_pool_manager"]
    # What was made while it stood still is several times what may be kept.
    assert lost * len(LONG_NAME) > 4 * 2 * QUEUE_KIB * KIB
    if harness.MODE == "release":
        print(f"pool manager: {before_kib} KiB before, at most {highest_kib} KiB; {lost} events lost")
        assert highest_kib - before_kib < MANAGER_MAY_GROW_KIB < lost * len(LONG_NAME) // KIB
    manager.signal(signal.SIGUSR2)
    manager.expect_exit(0)
    assert f" {lost} lost;" in manager.stderr, "the pool manager reports the same number"


def test_everyone_leaves_while_vampire_is_stopped(space):
    """The queues are full when the components leave; vampire knows that they left, and ends."""
    manager, vampire, workflow = start(space, harness.vampire_config(), STEPS_STOPPED)
    workflow.models[0].until_stderr("step 5 offered")
    vampire.signal(signal.SIGSTOP)
    reports = workflow.finish()
    assert stopped(vampire)
    vampire.signal(signal.SIGCONT)
    vampire.expect_exit(0)
    assert manager.child.poll() is None, "vampire ended because the workflow did"
    assert_complete(reports)
    columns = account(space, reports)
    assert columns["events_lost_pool_manager"] > 0


@pytest.mark.parametrize("queue_kib", [QUEUE_KIB, 64 * KIB])
def test_sigterm_while_events_wait(space, queue_kib):
    """All events that wait in the pool manager and in vampire are counted or reported as lost."""
    space.pool_manager("--silence", "600s", "--queue-bytes", f"{queue_kib}KiB")
    vampire, workflow = space.vampire(harness.vampire_config()), long_names(space, STEPS_STOPPED)
    workflow.models[0].until_stderr("step 5 offered")
    vampire.signal(signal.SIGSTOP)
    reports = workflow.finish()
    vampire.signal(signal.SIGTERM)
    vampire.signal(signal.SIGCONT)
    vampire.expect_exit(0)
    assert "stopped by signal" in vampire.stderr
    lost = account(space, reports)["events_lost_pool_manager"]
    assert (lost > 0) == (queue_kib == QUEUE_KIB)


def test_sigterm_while_the_pool_manager_is_stopped(space):
    """vampire reports that the number of events waiting in the pool manager is not known."""
    manager = space.pool_manager("--silence", "600s")
    vampire = space.vampire({**harness.vampire_config(), "finish": "4s"})
    manager.signal(signal.SIGSTOP)
    vampire.signal(signal.SIGTERM)
    assert vampire.wait(10) == 1, vampire.account()
    assert "it is not known how many events" in vampire.stderr
    assert "every event was counted" not in vampire.stderr
    manager.signal(signal.SIGCONT)


def test_vampire_counts_slowly(space):
    """The ring is full most of the time: events wait before it, and none is lost."""
    settings = harness.vampire_config(bucket="200ms")
    settings.update(ring="64KiB", events={"filter": SLOW_FILTER})
    _, vampire, workflow = start(space, settings, 40)
    reports = workflow.finish()
    vampire.expect_exit(0)
    assert_complete(reports)
    columns = account(space, reports)
    assert columns["events_received"] == produced(reports) > 10 * 64 * KIB // len(LONG_NAME)


@pytest.mark.skipif(harness.MODE != "release", reason="the relay is a program of the benchmark")
def test_a_burst_that_does_not_fit_into_the_ring(space):
    """100,000 events at once, with a ring for some 400: they fit into the pool manager's queue."""
    events = 100000
    _, report, said = processes.over_tcp(space.path, events, 1000, 10**9, {
        "ring": "64KiB", "outputs": [{"type": "jsonl", "path": "vampire.jsonl"}]})
    assert report["lost"] == 0 and not processes.LOST_EVENTS.findall(said)
    end = jsonl.records(space.json_lines())[-1]
    assert end["type"] == "end" and end["accounting"]["received"] == report["events"] >= events


@pytest.mark.plain
def test_vampire_stopped_until_it_is_given_up(space):
    """It comes back by itself, and reports how long the pool was not watched: not less than it was."""
    silence, seconds = 1.5, 5
    space.pool_manager("--heartbeat", "100ms", "--silence", f"{silence}s")
    vampire = space.vampire(harness.vampire_config())
    workflow = harness.Workflow(
        space, model_options=[*model_options(100000, 3, 2, 64, KIB, 60), "--verbose"])
    workflow.models[0].until_stderr("step 3 offered")
    vampire.signal(signal.SIGSTOP)
    until = time.monotonic() + seconds
    harness.wait_until(lambda: time.monotonic() > until, "the time passes")
    vampire.signal(signal.SIGCONT)
    vampire.until_stderr("again; it was not observed for")
    vampire.stop()
    assert all(process.running() for process in workflow.all())
    ((start_ns, end_ns, _),) = gaps(space, "pool_gone")
    assert end_ns - start_ns > 0.9e9 * (seconds - silence)
    assert "NOT WATCHED            1 time" in vampire.stderr


# ---- the times of the components


PAIRS = 4
SECONDS_STOPPED = 30
# Longer than that, on the machine of docs/reliability.md.
FULL_SPEED_STEPS = 4000
# What two runs of the same may differ by on a machine that does other things, too.
NOISE = 0.1


def run(space, model, settings=None, seconds_stopped=0):
    """What the components measured; all with the pool manager's presets. `settings`: vampire's."""
    space.pool_manager()
    vampire = space.vampire(settings) if settings else None
    workflow = harness.Workflow(space, model_options=[*model, "--cdo-prefix", LONG_NAME, "--verbose"])
    began, ends, highest_kib = time.monotonic(), {}, 0
    workflow.models[0].until_stderr("step 5 offered")
    stop_ends = time.monotonic() + seconds_stopped
    if seconds_stopped:
        vampire.signal(signal.SIGSTOP)
    while len(ends) < len(workflow.all()):
        time.sleep(0.01)
        now = time.monotonic()
        ends.update({process.name: now - began for process in workflow.all()
                     if process.name not in ends and not process.running()})
        highest_kib = max(highest_kib, resident_kib(space.processes[0]))
        if seconds_stopped and now >= stop_ends:
            vampire.signal(signal.SIGCONT)
            seconds_stopped = 0
        assert now - began < 600 * harness.PATIENCE
    assert not seconds_stopped, "the workflow lasts longer than the stop"
    reports = workflow.finish()
    assert_complete(reports)
    lost = 0
    if vampire:
        vampire.expect_exit(0, 120)
        columns = account(space, reports)
        lost = sum(count for name, count in columns.items() if "lost" in name)
        assert lost > 0 or not seconds_stopped
    return {
        "producers": max(ends[process.name] for process in workflow.models),
        "consumers": max(ends[process.name] for process in workflow.products),
        "demand": statistics.median(r["demand_ns"]["p50"] / 1e9 for r in reports if r["demand_ns"]["count"]),
        "manager": highest_kib,
        "lost": lost,
    }


def compare_times(model, kinds):
    """Each kind of run in each round, so that what else the machine does meets all of them alike."""
    seen = {kind: [] for kind in kinds}
    for _ in range(PAIRS):
        for kind, options in kinds.items():
            with harness.Workspace() as space:
                seen[kind].append(run(space, model, **options))
                print(kind, seen[kind][-1], flush=True)
    for kind in list(kinds)[1:]:
        for what in ("producers", "consumers", "demand"):
            base = [one[what] for one in seen["without"]]
            differences = [one[what] - other for one, other in zip(seen[kind], base)]
            median, spread = statistics.median(base), max(base) - min(base)
            print(f"{kind}: {what}: median {median:.6f} s without, spread {spread:.6f}; median difference "
                  f"{statistics.median(differences):.6f} of {[round(one, 6) for one in differences]}", flush=True)
            # How long a demand takes also depends on who else uses the processors.
            if what != "demand":
                assert statistics.median(differences) <= max(spread, NOISE * median)


STOPPED = {"settings": harness.vampire_config(), "seconds_stopped": SECONDS_STOPPED}


@pytest.mark.long
def test_times_next_to_a_slow_vampire():
    """Fields as often as in the demo, some 40 s of them: there are processors left for vampire."""
    slow = harness.vampire_config()
    slow.update(ring="64KiB", events={"filter": SLOW_FILTER})
    compare_times(model_options(400, 3, 2, 4 * KIB, 256 * KIB, 60),
                  {"without": {}, "stopped": STOPPED, "slow": {"settings": slow}})


@pytest.mark.long
def test_times_at_full_speed():
    """As fast as the components can."""
    compare_times(model_options(FULL_SPEED_STEPS, 3, 2, 4 * KIB, 64 * KIB, 0), {"without": {}, "stopped": STOPPED})
