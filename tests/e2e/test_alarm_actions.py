# SPDX-License-Identifier: BSD-3-Clause
"""What alarms do, with real processes: a producer that is stopped in the middle of a workflow."""

import signal

import h5py
import numpy

import harness
import jsonl
import recordings
from harness import Workflow, wait_until

PRODUCER = "IFS -- 0"
BUCKET_NS = 500_000_000
BEFORE_NS = 2_000_000_000


def rule(space, *actions):
    return {
        "name": "silent producer",
        "metric": "pool_operations",
        "without": ["operation"],
        "labels": [f"component={PRODUCER}"],
        "when": "absent",
        "for": "3 buckets",
        "severity": "critical",
        "actions": ["log", *actions],
    }


def config(space, *actions):
    made = harness.vampire_config(bucket="500ms")
    made["outputs"] += [
        {"type": "recording", "name": "whole"},
        {"type": "recording", "name": "part", "directory": str(space.path / "alarms"), "when": ["silent producer"],
         "before": "2s"}]
    made["alarms"] = [rule(space, *actions)]
    return made


def lines_of(path):
    """The JSON lines that are whole by now."""
    return jsonl.records(path) if path.exists() else []


def states(lines):
    return [line["state"] for line in lines if line["type"] == "alarm"]


def events_of(path):
    """The events of a recording as bytes, without those that repeat earlier ones."""
    data = path.read_bytes()
    found = []
    for begin, end in list(recordings.messages(data))[1:]:
        message = list(recordings.fields(data[begin:end]))
        if not dict(message).get(recordings.CARRIED, 0):
            found += [value for number, value in message if number == recordings.EVENT]
    return found


def time_of(event):
    return int.from_bytes(dict(recordings.fields(event))[3], "little", signed=True)


def nanoseconds(text):
    """Of a time in JSON lines, since 1970."""
    return int(numpy.datetime64(text.rstrip("Z"), "ns").astype("int64"))


class Scenario:
    """The demo workflow with a producer that can be stopped, observed by a vampire."""

    def __init__(self, space, *actions):
        self.space = space
        space.pool_manager("--silence", "300s")
        self.vampire = space.vampire(config(space, *actions))
        self.workflow = Workflow(space, models=1, products=1,
                                 model_options=["--rate", "20", "--steps", "20", "--size-max", "300000"])
        self.producer = self.workflow.models[0]

    def lines(self):
        return lines_of(self.space.json_lines())

    def await_state(self, state, count=1):
        wait_until(lambda: states(self.lines()).count(state) >= count, f"the alarm is {state}", 90)

    def play(self, while_stopped=lambda: None):
        """Stops the producer when it has produced something, until the alarm fires; and goes on."""
        wait_until(lambda: any(line["type"] == "metric" and line["metric"] == "produced_bytes"
                               for line in self.lines()), "the producer produces")
        fired = states(self.lines()).count("firing")
        self.producer.signal(signal.SIGSTOP)
        self.await_state("firing", fired + 1)
        while_stopped()
        resolved = states(self.lines()).count("resolved")
        self.producer.signal(signal.SIGCONT)
        self.await_state("resolved", resolved + 1)
        self.workflow.finish()
        self.vampire.expect_exit(0)


def test_a_stopped_producer_is_reported_recorded_and_resolved(space):
    """The command gets each change as JSON; the recording begins before the alarm and has the same
    events as the recording of the whole run; CDOs have records while the alarm fires."""
    target = space.path / "changes"
    folder = space.path / "alarms"
    folder.mkdir()
    scenario = Scenario(
        space,
        {"type": "command", "argv": ["/bin/sh", "-c", 'cat >> "$0"', str(target)]},
        "level",
    )
    scenario.play(lambda: wait_until(lambda: lines_of(target), "the command has run"))
    written = [line for line in scenario.lines() if line["type"] == "alarm"
               and line["state"] in ("firing", "resolved")]
    given, run = lines_of(target), scenario.lines()[0]["run"]
    assert [line["state"] for line in given] == [line["state"] for line in written]
    for line, change in zip(written, given):
        assert change["alarm"] == "silent producer" and change["severity"] == "critical"
        assert change["component"] == PRODUCER
        assert change["time"] == line["time"] and change["since"] == line["since"]
        assert change["workflow"] == "weather" and change["run"] == run

    whole = events_of(next(space.path.glob("vampire-*-whole-0001.rec")))
    fired = [line for line in given if line["state"] == "firing"]
    files = sorted(folder.glob("vampire-weather-*-part-*.rec"))
    assert 1 <= len(files) <= len(fired)
    for path, line in zip(files, fired):
        events = events_of(path)
        begin = nanoseconds(line["since"]) - BEFORE_NS
        first = next(i for i, event in enumerate(whole) if time_of(event) >= begin)
        assert events == whole[first:first + len(events)]
        assert time_of(events[0]) < nanoseconds(line["since"])  # from before the alarm
    replay = space.start([harness.program("vampire"), "--replay", files[-1], "-o", "outputs=[]"], "replay")
    replay.expect_exit(0)
    assert "output part: recorded" in scenario.vampire.stderr

    # The CDOs of the time in which it fired, not those of the whole run.
    with_record = {line["id"] for line in scenario.lines() if line["type"] == "cdo"}
    created = sum(line["delta"] for line in scenario.lines()
                  if line["type"] == "metric" and line["metric"] == "cdos_created")
    assert 0 < len(with_record) < created, (len(with_record), created)
    with h5py.File(space.hdf5()) as file:
        assert "cdo" in file

    begins = [nanoseconds(line["time"]) for line in scenario.lines() if line["type"] == "bucket"]
    assert begins == list(range(begins[0], begins[-1] + 1, BUCKET_NS))  # none is missing
