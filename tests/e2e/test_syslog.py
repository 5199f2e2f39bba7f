# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of type "syslog": a real rsyslogd, into a file and into PostgreSQL, and sockets that fail."""

import collections
import json
import re
import signal
import socket
import struct
import subprocess

import pytest

import harness
import jsonl
import exporters
import results

ALL_LABELS = {"without": []}
RFC5424 = {"format": "rfc5424"}
RULE = {"name": "busy", "metric": "pool_operations", "without": "all", "when": "> 0", "severity": "critical"}


def config(path, bucket="1s", steps=20, speed=None, **more):
    """With an HDF5 file of the same buckets, for comparison."""
    source = {"type": "synthetic", "steps": steps} | ({"speed": speed} if speed else {})
    return {"workflow": "synthetic", "finish": "2s", "source": source, "statistics": {"bucket": bucket, "sets": "all"},
            "outputs": [{"type": "hdf5"}, {"type": "syslog", "socket": str(path), **more}]}


def rsyslog_into_a_file(space, options=""):
    return f"""
module(load="imuxsock")
module(load="mmjsonparse")
input(type="imuxsock" Socket="/run/vampire.log" {options})
template(name="object" type="string" string="%$!all-json%\\n")
action(type="mmjsonparse")
action(type="omfile" file="{space.path / 'log.json'}" template="object")
"""


def by_type(objects):
    found = collections.defaultdict(list)
    for one in objects:
        found[one["type"]].append(one)
    return found


def assert_whole(parts, buckets):
    """Each part of each bucket is there exactly once."""
    expected = [(number, part + 1) for number in buckets
                for part in range(next((one["parts"] for one in parts if one["bucket"] == number), 1))]
    assert sorted((one["bucket"], one["part"]) for one in parts) == expected


def sums(parts):
    """{(metric, labels as a frozenset of pairs): sum of deltas, or (count, sum) of a histogram}."""
    counters, histograms = collections.Counter(), {}
    for part in parts:
        for value in part["metrics"]:
            key = value["metric"], frozenset(value.get("labels", {}).items())
            if "delta" in value:
                counters[key] += value["delta"]
            elif "count" in value:
                count, total = histograms.get(key, (0, 0))
                histograms[key] = count + value["count"], total + value["sum"]
    return counters, histograms


def assert_sums(parts, path):
    totals = exporters.Totals(path)
    counters, histograms = sums(parts)
    assert counters == {(name, labels): value for name, series in totals.counters.items()
                        for labels, value in series.items() if value}
    assert histograms == {(name, labels): value[:2] for name, series in totals.histograms.items()
                          for labels, value in series.items()}


@pytest.mark.plain
@pytest.mark.parametrize("more", [{}, RFC5424 | ALL_LABELS], ids=["local", "rfc5424"])
def test_rsyslog_has_each_bucket_once(space, more):
    log = exporters.Rsyslog(space, rsyslog_into_a_file(space, 'UseSpecialParser="off"' if more else ""))
    made = config(log.socket, **more) | {"alarms": [RULE]}
    made["source"]["missing"] = 100  # events: each is an anomaly or more
    space.vampire(made, ready=False).expect_exit(0)
    harness.wait_until(lambda: any(one["type"] == "end" for one in log.objects()), "the end is in the file")
    found = by_type(log.objects())
    assert_whole(found["bucket"], range(results.Hdf5Run([space.hdf5()]).buckets))
    assert {one["alarm"] for one in found["alarm"]} == {"busy"}
    assert found["alert"] and all(one["component"] and one["anomaly"] for one in found["alert"])
    assert found["end"][0]["reason"] == "finished" and found["end"][0]["user"] and found["end"][0]["host"]
    if more:
        assert max(one["parts"] for one in found["bucket"]) > 1
        assert_sums(found["bucket"], space.hdf5())
    else:
        assert {one["parts"] for one in found["bucket"]} == {1}, "a bucket is one message unless told otherwise"


@pytest.mark.plain
def test_postgresql_has_each_bucket_once(space):
    """By the page's recipe, with the addresses of the test."""
    database = exporters.PostgreSql(space)
    page = (harness.ROOT / "docs" / "exporters.md").read_text(encoding="utf-8")
    database.query(re.search(r"`(create table .*?)`", page)[1])
    recipe = exporters.recipes()["rsyslog.conf"]
    for old, new in (('"localhost"', f'"{database.folder}"'), ('"postgres" t', f'"{database.user}" t')):
        assert old in recipe
        recipe = recipe.replace(old, new)
    log = exporters.Rsyslog(space, recipe)
    space.vampire(config(log.socket, format="rfc5424"), ready=False).expect_exit(0)
    harness.wait_until(lambda: database.query("select 1 from messages where body->>'type' = 'end'"),
                       "the end is in the database")
    run = results.Hdf5Run([space.hdf5()])
    found = database.query("select body->'bucket', count(*) from messages where body->>'type' = 'bucket'"
                           " group by 1 order by 1")
    assert found == [[str(number), "1"] for number in range(run.buckets)]
    operations = dict(database.query(re.search(r"`(select value.*?)`", page, re.DOTALL)[1]))
    expected = collections.Counter()
    for (_, operation), value in run.counters["pool_operations"].items():
        expected[operation] += value
    assert {operation: int(count) for operation, count in operations.items()} == {
        operation: count for operation, count in expected.items() if count}


# A program whose /dev/log is a socket of the test: in a name space of its own, where anyone may mount.
OWN_LOG = """
set -e
mkdir "$1"
mount -t tmpfs none "$1"
touch "$1/null" "$1/urandom"
mkdir "$1/shm"
for device in null urandom shm; do
    mount --bind "/dev/$device" "$1/$device"
done
ln -s "$2" "$1/log"
mount --rbind "$1" /dev
shift 2
exec "$@"
"""
OWN_SPACE = ["unshare", "--user", "--map-root-user", "--mount"]


@pytest.mark.plain
def test_changes_of_alarms_reach_rsyslog(space):
    """As messages of their own, and nothing else is sent."""
    if subprocess.run([*OWN_SPACE, "mount", "-t", "tmpfs", "none", "/mnt"], check=False).returncode != 0:
        pytest.skip("no name space with mounts of its own can be had here")
    log = exporters.Rsyslog(space, rsyslog_into_a_file(space))
    path = space.path / "vampire.json"
    states = ["firing", "resolved", "cleared"]
    made = harness.vampire_config() | {"alarms": [RULE]}
    made["outputs"].append({"type": "syslog", "send": "alarms", "when": ["busy"], "states": states})
    path.write_text(json.dumps(made))
    space.pool_manager()
    vampire = space.start([*OWN_SPACE, "sh", "-c", OWN_LOG, "sh", space.path / "dev", log.socket,
                           harness.program("vampire"), "-c", path], "vampire")
    space.await_vampire(vampire)
    harness.Workflow(space, model_options=["--steps", 3]).finish()
    vampire.expect_exit(0)
    said = [line for line in jsonl.records(space.json_lines()) if line["type"] == "alarm"]
    expected = [line for line in said if line["state"] in states]
    assert expected
    harness.wait_until(lambda: len(log.objects()) >= len(expected), "the messages are in the file")
    who = {"workflow": "weather", "host": socket.gethostname(), "pid": vampire.child.pid}
    for line, message in zip(expected, log.objects(), strict=True):
        assert message == message | line | who and message["user"] and "batch_job" in message


@pytest.mark.plain
def test_rsyslog_stops_and_comes_back(space):
    log = exporters.Rsyslog(space, rsyslog_into_a_file(space))
    vampire = space.vampire(config(log.socket, "200ms", 4, 1), ready=False)

    def buckets():
        return by_type(log.objects())["bucket"]

    harness.wait_until(lambda: len(buckets()) >= 3, "the first buckets")
    # What is in the socket of a reader that ends is gone, and no sender learns of it: nothing may be there.
    vampire.signal(signal.SIGSTOP)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
        last.sendto(b'<14>Jan  1 00:00:00 test: @cee: {"type":"last"}', log.socket)
    harness.wait_until(lambda: by_type(log.objects())["last"], "all that vampire has sent is read")
    log.stop()
    vampire.signal(signal.SIGCONT)
    vampire.until_stderr("buckets wait, then are lost and counted")
    log.start()
    vampire.wait()
    harness.wait_until(lambda: by_type(log.objects())["end"], "the end is in the file")
    assert "LOST" not in vampire.stderr
    assert_whole(buckets(), range(results.Hdf5Run([space.hdf5()]).buckets))


def bound(path):
    """A socket that this test reads, or does not."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.bind(str(path))
    made.settimeout(10)
    return made


def deaf(path):
    return bound(path)


def missing(_path):
    return None


def refused(path):
    bound(path).close()


def stream(path):
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(path))
    made.listen()
    return made


@pytest.mark.plain
@pytest.mark.parametrize("place, words", [
    (deaf, "nothing reads there"), (missing, "No such file or directory"), (refused, "Connection refused"),
    (stream, "it does not accept datagrams")], ids=lambda made: getattr(made, "__name__", ""))
def test_sockets_that_fail(space, place, words):
    path = space.path / "log"
    _kept = place(path)
    # Seven buckets: where more than eight wait, vampire lets its generator wait, for seconds.
    vampire = space.vampire(config(path, "500ms", steps=3, **ALL_LABELS), ready=False)
    vampire.expect_exit(1)
    assert words in vampire.stderr, vampire.stderr
    buckets = results.Hdf5Run([space.hdf5()]).buckets
    written, lost = exporters.account(vampire, "syslog")
    assert written + lost == buckets and lost > 0 and (place is deaf or written == 0)


def fields(datagram):
    """Of a message in the journal's own protocol, each in its binary form."""
    found = {}
    while datagram:
        name, _, rest = datagram.partition(b"\n")
        (length,) = struct.unpack("<Q", rest[:8])
        found[name.decode()] = rest[8:8 + length].decode()
        assert rest[8 + length:9 + length] == b"\n"
        datagram = rest[9 + length:]
    return found


@pytest.mark.plain
def test_the_journal_has_fields(space):
    path = space.path / "journal"
    place = bound(path)
    vampire = space.vampire(config(path, format="journal", facility="local3"), ready=False)
    found = []
    while not found or found[-1]["VAMPIRE_TYPE"] != "end":
        found.append(fields(place.recv(65536)))
    vampire.expect_exit(0)
    assert {one["VAMPIRE_WORKFLOW"] for one in found} == {"synthetic"}
    assert {one["SYSLOG_FACILITY"] for one in found} == {"19"}
    assert {one["PRIORITY"] for one in found} == {"6", "5"}
    for one in found:
        assert json.loads(one["MESSAGE"])["run"] == one["VAMPIRE_RUN"]
    assert_whole([json.loads(one["MESSAGE"]) for one in found if one["VAMPIRE_TYPE"] == "bucket"],
                 range(results.Hdf5Run([space.hdf5()]).buckets))


@pytest.mark.parametrize("kind, key, labels", [
    ("prometheus", "without", {"*": ["size_class"]}), ("influx", "without", {"*": ["size_class"]}),
    ("otlp", "without", {"*": ["size_class"]}),
    ("syslog", "by", {"pool_operations": ["operation"], "anomalies": ["anomaly"],
                       "vampire_lost": ["reason"], "*": []})])
def test_few_labels_unless_told_otherwise(space, kind, key, labels):
    """And the dump of such a configuration means the same; `"without": []` is all labels."""
    def dumped(more):
        (space.path / "vampire.json").write_text(json.dumps({"outputs": [{"type": kind, **more}]}))
        done = subprocess.run([harness.program("vampire"), "--dump-config", "-c", "vampire.json"], cwd=space.path,
                              capture_output=True, check=True)
        (made,) = json.loads(done.stdout)["outputs"]
        return made

    assert dumped({})[key] == labels
    assert dumped({key: labels})[key] == labels
    assert dumped(ALL_LABELS)["without"] == {"*": []} and not dumped(ALL_LABELS).get("by")
