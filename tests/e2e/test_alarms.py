# SPDX-License-Identifier: BSD-3-Clause
"""Rules of alarms from outside: the ready ones fire and resolve on recordings made for them, a replay
says what the live run said, and an operator silences them."""

import json
import re
import signal

import h5py
import pytest

import jsonl
import streams
from harness import ROOT, wait_until

SECOND = 1000  # ms, the unit of streams.Hand
READY = ROOT / "config" / "ready" / "alarms.json"


def ready_rules():
    return json.loads(re.sub(r"^\s*//.*$", "", READY.read_text(), flags=re.MULTILINE))["alarms"]


def begin():
    return streams.Hand().join(0, 1, "IFS -- 0").join(1, 2, "Products")


def lost_events():
    stream = begin().mark(30, 5 * SECOND, count=7)
    for second in range(1, 100):
        stream("offer", second * SECOND + 500, 1, f"c{second}")
    return stream


def a_silence():
    stream = begin()("offer", 1500, 1, "a")
    return stream("offer", 70 * SECOND, 1, "b")("offer", 71 * SECOND, 1, "c")


def a_failed_transport():
    stream = begin()("declare", 900, 1, "a")("seal", 910, 1, "a", size=5)("offer", 920, 1, "a")
    stream("demand", 1000, 2, "a")("transport_init", 1001, 2, "a", peer=1, number=4)
    stream("transport_failed", 1002, 2, "a", number=4)
    return stream("offer", 90 * SECOND, 1, "b")


def a_demand_that_ends_with_its_component():
    stream = begin()("demand", 1000, 2, "a")("leave", 1500, 2, reason=1)
    return stream("offer", 90 * SECOND, 1, "b")


def life_that_waits(stream, ms, cdo, wait_ms):
    stream("declare", ms, 1, cdo)("seal", ms, 1, cdo, size=1000)("offer", ms, 1, cdo)
    stream("demand", ms + 1, 2, cdo)("transport_init", ms + 1, 2, cdo, peer=1, tier=1, number=ms)
    return stream("transport_completed", ms + 1 + wait_ms, 2, cdo, number=ms)


def a_demand_that_waits():
    stream = begin()("demand", 1000, 2, "a")
    for second in range(2, 60):
        stream("offer", second * SECOND, 1, f"c{second}")
    stream("transport_init", 60 * SECOND, 2, "a", peer=1, tier=1, number=1)
    stream("transport_completed", 60 * SECOND + 9, 2, "a", number=1)
    return stream("offer", 63 * SECOND, 1, "b")


def waits_that_grow():
    """Ten minutes of 10 ms, 20 s of 100 ms, and 10 ms again."""
    stream = begin()
    for second in range(1, 700):
        life_that_waits(stream, second * SECOND, f"c{second}", 100 if 620 <= second < 640 else 10)
    return stream


MADE = {
    "events lost": (lost_events, "component"),
    "nothing happens": (a_silence, None),
    "stuck": (a_demand_that_waits, "Products"),
    "transports fail": (a_failed_transport, "component"),
    "demand never satisfied": (a_demand_that_ends_with_its_component, "Products"),
    "waits grow": (waits_that_grow, "Products"),
    "transports slow down": (waits_that_grow, None),
}


def replay(space, stream, rules, name="run", **more):
    streams.stream.write(space.path / f"{name}.rec", stream.items)
    config = {
        "source": {"type": "replay", "file": f"{name}.rec"},
        "alarms": rules,
        "outputs": [{"type": "jsonl", "path": f"{name}.jsonl"}],
        **more,
    }
    vampire = space.vampire(config, name=name, ready=False)
    vampire.expect_exit(0)
    return vampire, alarms(space.path / f"{name}.jsonl")


def alarms(path):
    return [line for line in jsonl.records(path) if line["type"] == "alarm"]


def states(lines, alarm):
    return [line["state"] for line in lines if line["alarm"] == alarm and line["state"] != "pending"]


def test_the_ready_rules_are_those_that_are_tested():
    assert {rule["name"] for rule in ready_rules()} == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_a_ready_rule_fires_and_resolves(space, name):
    made, component = MADE[name]
    vampire, lines = replay(space, made(), ready_rules())
    check = jsonl.validator()
    for line in lines:
        check.validate(line)
    assert states(lines, name) == ["firing", "resolved"]
    fired = next(line for line in lines if line["alarm"] == name and line["state"] == "firing")
    if component == "Products":
        assert fired["component"] == "Products"
    assert f'alarm "{name}"' in vampire.stderr
    assert re.search(rf"^  (alarms)? +{name} \(\w+\): fired 1 time, 0 firing, 0 pending", vampire.stderr, re.MULTILINE)


def test_the_time_of_an_alarm_is_that_of_its_bucket(space):
    rules = [{"name": "quiet", "metric": "pool_operations", "without": "all", "when": "absent", "for": "3s",
              "severity": "critical", "actions": []}]
    vampire, lines = replay(space, a_silence(), rules)
    assert [(line["state"], line["time"][14:19], line["since"][14:19]) for line in lines] == [
        ("pending", "00:03", "00:03"), ("firing", "00:05", "00:03"), ("resolved", "01:11", "00:03")]
    assert 'alarm "quiet"' not in vampire.stderr  # no action, not even log
    values = [line for line in jsonl.records(space.path / "run.jsonl") if line["type"] == "metric"]
    fired = [line for line in values if line["metric"] == "vampire_alarms_fired" and line["delta"]]
    assert [line["time"][14:19] for line in fired] == ["00:05"]  # the bucket after the one that closed


def test_a_replay_fires_the_same_alarms_at_the_same_times(space):
    rules = [
        {"name": "steps", "metric": "pool_operations", "rate": True, "without": ["operation"], "when": "> 20/s"},
        {"name": "joins", "metric": "pool_operations", "labels": ["operation=join"], "when": "> 0"},
        {"name": "members", "metric": "components_present", "when": "changed"},
    ]
    first = space.vampire({
        "source": {"type": "synthetic", "producers": 3, "consumers": 2, "steps": 30, "step": "1s", "seed": 3},
        "alarms": rules,
        "outputs": [{"type": "jsonl", "path": "first.jsonl"}, {"type": "recording", "directory": "."}],
    }, name="first", ready=False)
    first.expect_exit(0)
    recording = next(space.path.glob("*.rec"))
    second = space.vampire({
        "source": {"type": "replay", "file": str(recording)},
        "alarms": rules,
        "outputs": [{"type": "jsonl", "path": "second.jsonl"}],
    }, name="second", ready=False)
    second.expect_exit(0)
    one, other = alarms(space.path / "first.jsonl"), alarms(space.path / "second.jsonl")
    assert {line["state"] for line in one} >= {"firing", "resolved"}
    assert [{**line, "run": None} for line in one] == [{**line, "run": None} for line in other]


def test_an_output_of_wide_buckets_has_every_change(space):
    rules = [{"name": "steps", "metric": "pool_operations", "without": "all", "when": "> 0"}]
    outputs = [{"type": "jsonl", "path": "run.jsonl"}, {"type": "jsonl", "path": "coarse.jsonl", "bucket": "10s"}]
    _, fine = replay(space, lost_events(), rules, outputs=outputs)
    coarse = alarms(space.path / "coarse.jsonl")
    assert fine and [{**line, "run": None} for line in fine] == [{**line, "run": None} for line in coarse]


def texts(file, name):
    return [bytes(row).rstrip(b"\0").decode() for row in file[name][:]]


def test_an_hdf5_file_has_the_same_rows(space):
    rules = [
        {"name": "joins", "metric": "pool_operations", "labels": ["operation=join"], "when": "> 0"},
        {"name": "quiet", "metric": "pool_operations", "without": "all", "when": "absent", "for": "3s"},
    ]
    outputs = [{"type": "jsonl", "path": "run.jsonl"}, {"type": "hdf5", "directory": "."}]
    _, lines = replay(space, a_silence(), rules, outputs=outputs)
    with h5py.File(next(space.path.glob("*.h5")), "r") as file:
        assert texts(file, "alarm_name") == [line["alarm"] for line in lines]
        assert texts(file, "alarm_state") == [line["state"] for line in lines]
        assert texts(file, "alarm_threshold") == [line["threshold"] for line in lines]
        assert texts(file, "alarm_labels") == [
            ",".join(f"{name}={value}" for name, value in line["labels"].items()) for line in lines]
        assert [float(text) for text in texts(file, "alarm_value")] == [line["value"] for line in lines]
        assert list(file["alarm_bucket"][:]) == [line["bucket"] for line in lines]
        begin_ns = streams.BEGIN
        assert [(time - begin_ns) // 10**9 - 1 for time in file["alarm_time"][:]] == [line["bucket"] for line in lines]


def test_an_alarm_is_silenced_by_a_file(space):
    space.pool_manager()
    silences = space.path / "silences"
    silences.write_text("mem* 1h\n")
    config = {
        "source": {"leave_grace": "300ms"},
        "statistics": {"bucket": "100ms"},
        "silences": "silences",
        "alarms": [{"name": "members", "metric": "components_present", "when": "> 0"}],
        "outputs": [{"type": "jsonl", "path": "vampire.jsonl"}],
    }
    vampire = space.vampire(config, ready=False)
    vampire.until_stderr("joined workflow")
    vampire.until_stderr("1 silences of alarms are in silences")
    silences.write_text("members soon\n")
    vampire.signal(signal.SIGUSR2)
    vampire.until_stderr('line 1: "members soon" is no silence')
    space.product(name="Products", producers=["nobody"])
    lines = wait_until(lambda: alarms(space.path / "vampire.jsonl"), "an alarm")
    assert lines[0]["silenced"]
    vampire.until_stderr("silenced")
    silences.unlink()
    vampire.signal(signal.SIGUSR2)
    vampire.until_stderr("0 silences of alarms are in silences")
    vampire.stop()


def test_alarms_over_a_reload(space):
    """The same rules go on as they are; other rules begin again."""
    space.pool_manager()
    config = {
        "source": {"leave_grace": "300ms"},
        "statistics": {"bucket": "100ms"},
        "alarms": [{"name": "members", "metric": "components_present", "when": "> 0"}],
        "outputs": [{"type": "jsonl", "path": "vampire.jsonl"}],
    }
    vampire = space.vampire(config, ready=False)
    vampire.until_stderr("joined workflow")
    space.product(name="Products", producers=["nobody"])

    def changes():
        return [(line["alarm"], line["state"], line["since"]) for path in sorted(space.path.glob("vampire.jsonl*"))
                for line in alarms(path)]

    def reload(number):
        (space.path / "vampire.json").write_text(json.dumps(config))
        vampire.signal(signal.SIGHUP)
        path = space.path / f"vampire.jsonl.{number:04}"
        wait_until(lambda: path.exists() and any(line["type"] == "bucket" for line in jsonl.records(path)),
                   f"a bucket of configuration {number}")

    wait_until(changes, "an alarm")
    config["outputs"].append({"type": "null"})
    reload(2)
    assert [change[:2] for change in changes()] == [("members", "firing")]
    config["alarms"][0]["severity"] = "critical"
    reload(3)
    first, second = wait_until(lambda: len(changes()) > 1 and changes(), "the alarm begins again")
    assert first[:2] == second[:2] and first[2] < second[2]
    config["alarms"] = []
    reload(4)
    assert len(changes()) == 2
    vampire.stop()
