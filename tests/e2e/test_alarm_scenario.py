# SPDX-License-Identifier: BSD-3-Clause
"""A producer is stopped (SIGSTOP) and somebody waits for its CDO: the alarm on the age of the oldest demand, from
outside, with everything that it does."""

import os
import signal

import h5py

import harness
import jsonl
from harness import wait_until
from test_alarm_actions import events_of, lines_of, nanoseconds, time_of

PRODUCER, CONSUMER = "IFS -- 0", "Products 1"
BUCKET_NS = 500_000_000
THRESHOLD_NS = FOR_NS = 1_000_000_000
BEFORE_NS = 5_000_000_000


def configuration(changes, folder):
    made = harness.vampire_config(bucket="500ms")
    made["outputs"] += [{"type": "recording", "name": "whole"},
                        {"type": "recording", "name": "part", "directory": str(folder), "when": ["stuck"], "before": "5s"}]
    made["alarms"] = [
        {"name": "stuck", "metric": "demand_oldest_ns", "when": "> 1s", "for": "1s", "severity": "critical",
         "actions": ["log", {"type": "command", "argv": ["/bin/sh", "-c", 'cat >> "$0"', str(changes)]}]},
        {"name": "hangs", "metric": "demand_oldest_ns", "when": "> 1s",
         "actions": [{"type": "command", "argv": ["/bin/sleep", "1000"], "timeout": "1h"}]},
    ]
    return made


def children(process):
    path = f"/proc/{process.child.pid}/task"
    return [pid for task in os.listdir(path)
            for pid in open(f"{path}/{task}/children", encoding="ascii").read().split()]


class Steps:
    """A component that goes on when it is allowed to."""

    def __init__(self, space, name, *steps):
        self.space, self.name = space, name
        self.process = space.start([harness.program("workflow_steps"), name, *steps], harness.safe(name))

    def done(self, step):
        wait_until(lambda: f"done {step}\n" in self.process.stdout, f"{self.name} has done: {step}")


def alarms(space, rule="stuck"):
    return [line for line in lines_of(space.json_lines()) if line["type"] == "alarm" and line["alarm"] == rule]


def await_state(space, state):
    wait_until(lambda: any(line["state"] == state for line in alarms(space)), f"the alarm is {state}", 90)


def play(space):
    """Returns vampire's process, which has ended."""
    go, end = space.path / "go", space.path / "end"
    changes, folder = space.path / "changes", space.path / "alarms"
    folder.mkdir()
    space.pool_manager("--silence", "300s")
    vampire = space.vampire(configuration(changes, folder))
    producer = Steps(space, PRODUCER, "declare fields/1", "size fields/1 100000", "declare fields/2",
                     "size fields/2 100000", "offer fields/1", f"await {go}", "offer fields/2", f"await {end}",
                     "withdraw fields/1", "withdraw fields/2", "dispose fields/1", "dispose fields/2")
    producer.done("offer fields/1")
    consumer = Steps(space, CONSUMER, "declare fields/1", "declare fields/2", "require fields/1", "require fields/2",
                     "demand fields/1", f"await {go}", "demand fields/2", f"await {end}", "dispose fields/1", "dispose fields/2")
    consumer.done("demand fields/1")
    producer.process.signal(signal.SIGSTOP)
    go.touch()
    await_state(space, "firing")
    wait_until(lambda: lines_of(changes), "the command has run")
    assert children(vampire), "the other command hangs"
    producer.process.signal(signal.SIGCONT)
    consumer.done("demand fields/2")
    await_state(space, "resolved")
    end.touch()
    for component in (producer, consumer):
        component.process.expect_exit(0)
    vampire.expect_exit(0)
    return vampire


def check_alarm(space):
    """Within the threshold, `for` and two buckets; it names who waits for what until its end."""
    listed = [line for line in lines_of(space.json_lines()) if line["type"] == "pending"]
    assert listed
    for line in listed:
        assert (line["component"], line["name"], line["producer"]) == (CONSUMER, "fields/2", PRODUCER)
        assert (line["demands"], line["uncertain"]) == (1, False)
        assert line["age_ns"] >= BUCKET_NS
    # A bucket may close after the producer went on, between its OFFER and the transport.
    assert not any(line["offered"] for line in listed[:-1])
    pending, firing, resolved = alarms(space)
    assert [line["state"] for line in (pending, firing, resolved)] == ["pending", "firing", "resolved"]
    began = nanoseconds(listed[0]["since"])
    assert THRESHOLD_NS < nanoseconds(firing["time"]) - began <= THRESHOLD_NS + FOR_NS + 2 * BUCKET_NS
    for line in (pending, firing, resolved):
        assert (line["component"], line["cdo"], line["severity"]) == (CONSUMER, "fields/2", "critical")


def check_command_and_table(space):
    """The command and the HDF5 file have the same changes."""
    written = [(line["state"], line["component"], line["cdo"], line["time"]) for line in alarms(space)]
    given = [(line["state"], line["component"], line["cdo"], line["time"]) for line in lines_of(space.path / "changes")]
    assert given == written[1:]  # not that it was pending
    with h5py.File(space.hdf5()) as file:
        rows = [tuple(row.tobytes().rstrip(b"\0").decode() for row in texts) for texts in
                zip(*(file[f"alarm_{name}"][...] for name in ("name", "state", "cdo")))]
    assert [row[1:] for row in rows if row[0] == "stuck"] == [(state, cdo) for state, _, cdo, _ in written]


def check_recording(space):
    """It has the same events as that of the whole run, from before the alarm on."""
    whole = events_of(next(space.path.glob("vampire-*-whole-0001.rec")))
    part = events_of(next((space.path / "alarms").glob("*.rec")))
    begin = nanoseconds(alarms(space)[1]["since"]) - BEFORE_NS
    first = next(i for i, event in enumerate(whole) if time_of(event) >= begin)
    assert part and part == whole[first:first + len(part)]


def check_replay(space):
    """The clock closed the buckets of the silence; a replay of the whole run says the same of the same times."""
    rules = [{**rule, "actions": []} for rule in configuration("changes", "alarms")["alarms"]]
    again = space.vampire({
        "source": {"type": "replay", "file": str(next(space.path.glob("vampire-*-whole-0001.rec")))},
        "statistics": {"bucket": "500ms"},
        "alarms": rules,
        "outputs": [{"type": "jsonl", "path": "again.jsonl"}],
    }, name="again", ready=False)
    again.expect_exit(0)
    live, replayed = ([{**line, "run": None} for line in lines_of(space.path / name) if line["type"] in ("alarm", "pending")]
                      for name in ("vampire.jsonl", "again.jsonl"))
    assert live == replayed


def test_a_stopped_producer_is_found_named_recorded_and_resolved(space):
    vampire = play(space)
    check_alarm(space)
    check_command_and_table(space)
    check_recording(space)
    check_replay(space)
    assert "CDO \"fields/2\"" in vampire.stderr
    assert "/bin/sleep still ran at the end of the run and was ended" in vampire.stderr
    lines = lines_of(space.json_lines())
    begins = [nanoseconds(line["time"]) for line in lines if line["type"] == "bucket"]
    assert begins == list(range(begins[0], begins[-1] + 1, BUCKET_NS))  # no bucket waited for the command
    validator = jsonl.validator()
    for line in lines:
        if line["type"] in ("alarm", "pending"):
            validator.validate(line)
    assert set(lines[-1]["accounting"]["lost"].values()) == {0}
