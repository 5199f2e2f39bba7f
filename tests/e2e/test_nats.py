# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of type "nats": a real server, with and without JetStream, and another program that reads."""

import json
import re
import signal
import subprocess

import pytest

import harness
import jsonl
import nats_credentials
import nats_reader
import exporters
import results
from test_workflow import model_options

pytestmark = pytest.mark.plain


def nats_config(server, source=None, bucket="200ms", finish="20s", **more):
    made = {**harness.vampire_config(bucket=bucket), "finish": finish}
    made["source"] = source or made["source"]
    made["statistics"]["sets"] = "all"
    address = server if isinstance(server, str) else server.address
    made["outputs"].append({"type": "nats", "servers": [address], "name": "bus", **more})
    return made


def live_run(space, server, **more):
    space.pool_manager()
    vampire = space.vampire(nats_config(server, **more))
    return vampire, harness.Workflow(space, model_options=model_options(6, 3, 2, 64, 65536, 20))


def synthetic_config(server, **more):
    made = nats_config(server, {"type": "synthetic", "steps": 20}, "2s", **more)
    made["workflow"] = "synthetic"
    return made


def nonzero(of_metric):
    return {labels: value for labels, value in of_metric.items() if value}


def assert_totals(messages, path):
    totals, found = exporters.Totals(path), nats_reader.Totals(messages)
    assert set(totals.counters) >= set(found.counters) and totals.histograms
    for name, series in totals.counters.items():
        assert found.counters.get(name, {}) == found.deltas.get(name, {}) == nonzero(series), name
    assert found.histograms == totals.histograms
    for name, series in totals.gauges.items():
        assert nonzero(found.gauges.get(name, {})) == nonzero(series), name
    return found


def assert_account(vampire):
    (written,) = re.findall(r"bus +(\d+) buckets written", vampire.stderr)
    assert "LOST" not in vampire.stderr
    return int(written)


def test_a_reader_has_the_totals_of_the_file(space):
    server = nats_reader.Server(space)
    reader = nats_reader.Reader(server)
    vampire, workflow = live_run(space, server)
    workflow.finish()
    vampire.expect_exit(0)
    messages = reader.until_ended()
    found = assert_totals(messages, space.hdf5())
    assert list(found.buckets) == list(range(assert_account(vampire)))
    run = messages[0].run
    assert reader.subjects == {f"vampire.weather.{run.id}"}
    assert (run.workflow, run.pid, run.clock) == ("weather", vampire.child.pid, "event")
    account = found.buckets[max(found.buckets)][0].account
    assert account.received == account.decoded + account.rejected and account.decoded == account.filtered + account.counted
    assert {output.name for output in account.outputs} >= {"bus"}
    assert messages[-1].ending.reason and messages[-1].parts == 0


def test_changes_of_alarms_are_messages_of_their_own(space):
    """No subscription to buckets gets them, and nothing else is published."""
    server = nats_reader.Server(space)
    buckets = nats_reader.Reader(server)
    client = nats_reader.Client(server.port)
    client.subscribe("vampire-alarms.weather.*")
    states = ["firing", "resolved", "cleared"]
    made = nats_config(server, send="alarms", states=states)
    made["alarms"] = [{"name": "busy", "metric": "pool_operations", "without": "all", "when": "> 0", "for": "2 buckets"}]
    space.pool_manager()
    vampire = space.vampire(made)
    harness.Workflow(space, model_options=model_options(6, 3, 2, 64, 65536, 20)).finish()
    vampire.expect_exit(0)
    said = [line for line in jsonl.records(space.json_lines()) if line["type"] == "alarm" and line["state"] in states]
    assert said
    for line in said:
        message = json.loads(client.next()[1])
        assert message == message | line and message["workflow"] == "weather" and message["pid"] == vampire.child.pid
    client.close()
    buckets.stop()
    assert not buckets.messages
    assert re.search(rf"bus.* {len(said)} changes? written", vampire.stderr), vampire.stderr


def test_a_stream_has_each_message_once_after_a_restart(space):
    server = nats_reader.Server(space, jetstream=True)
    server.make_stream()
    assert server.stored() == []
    vampire, workflow = live_run(space, server, jetstream=True)
    harness.wait_until(server.stored, "the first buckets")
    exporters.restart(server, vampire)
    workflow.finish()
    vampire.wait()
    stored = server.stored()
    assert len({name for name, _ in stored}) == len(stored)
    found = assert_totals([message for _, message in stored], space.hdf5())
    assert list(found.buckets) == list(range(assert_account(vampire)))
    assert vampire.stderr.count("error: output bus") <= 5, "what lasts is said once"


def test_the_recipe_is_right(space):
    """docs/exporters.md: the function, with the installed name of the description."""
    text = exporters.recipes()["nats.py"]
    description = space.path / "vampire-telemetry.proto"
    description.write_bytes((harness.ROOT / "vampire/stats/bucket/telemetry.proto").read_bytes())
    subprocess.run(["protoc", "--python_out=.", description.name], cwd=space.path, check=True)
    server = nats_reader.Server(space)
    reader = nats_reader.Reader(server)
    space.vampire(synthetic_config(server), ready=False).expect_exit(0)
    data = [message.SerializeToString() for message in reader.until_ended()]
    script = text + """
import sys
print(sum(sum(transports(open(path, "rb").read()).values()) for path in sys.argv[1:]))
"""
    paths = [space.path / f"message-{number}" for number in range(len(data))]
    for path, content in zip(paths, data):
        path.write_bytes(content)
    done = subprocess.run(["/usr/bin/python3", "-c", script, *paths], cwd=space.path, capture_output=True, text=True,
                          check=True)
    assert int(done.stdout) == sum(exporters.Totals(space.hdf5()).counters["transports"].values()) > 0


def test_a_server_that_stops_and_comes_back_without_a_stream(space):
    """What a subscriber has received is right, and nothing counts twice, whatever it missed."""
    server = nats_reader.Server(space)
    reader = nats_reader.Reader(server)
    vampire, workflow = live_run(space, server)
    harness.wait_until(lambda: reader.messages, "the first buckets")
    exporters.restart(server, vampire)
    workflow.finish()
    vampire.wait()
    messages = reader.until_ended()
    buckets = nats_reader.whole_buckets(messages)
    assert set(buckets) <= set(range(assert_account(vampire)))
    totals, found = exporters.Totals(space.hdf5()), nats_reader.Totals(messages)
    for name, series in found.deltas.items():
        assert all(value <= totals.counters[name][labels] for labels, value in series.items()), name


def assert_reported(space, made, words, extra=None):
    """While the run goes on."""
    made["source"].update({"steps": 2000, "speed": 1})
    vampire = space.vampire(made, ready=False, name="failing", extra=extra)
    vampire.until_stderr(words)
    vampire.signal(signal.SIGKILL)
    vampire.wait()


def test_a_server_that_never_answers_is_an_exact_loss(space):
    """Counting and the other outputs are as without it."""
    vampire = space.vampire(synthetic_config("nats://127.0.0.1:1", queue=4, finish="2s"), ready=False)
    vampire.expect_exit(1, 90)
    assert "publish at nats://127.0.0.1:1: " in vampire.stderr and "No server available" in vampire.stderr
    (queued,) = {int(text) for text in re.findall(r"(\d+) buckets written", vampire.stderr) if text != "0"}
    assert re.search(rf"output bus: {queued} of {queued} buckets are lost", vampire.stderr), vampire.stderr


# Each of these ends a process that has libnats 3.4.1: a length that overflows an int.
ENDING_REPLIES = [b"PONG\r\nMSG a 1 2147483647\r\n" + payload for payload in (b"", b"x", b"x" * 100000)]


@pytest.mark.parametrize("reply", ENDING_REPLIES, ids=("alone", "short", "long"))
def test_a_server_that_ends_the_library_costs_one_output(space, reply):
    """The connection's process ends; vampire, its other outputs and its counters do not."""
    hostile = nats_reader.silent_nats(reply)
    made = synthetic_config(f"nats://127.0.0.1:{hostile.port}", finish="1s")
    made["statistics"]["bucket"] = "1h"
    vampire = space.vampire(made, ready=False)
    vampire.expect_exit(1, 60)
    assert f"publish at nats://127.0.0.1:{hostile.port}: the process of this connection was ended by signal 11" in vampire.stderr
    assert re.search(r"^  bus +0 buckets written, 1 LOST$", vampire.stderr, re.MULTILINE), vampire.stderr
    assert re.search(r"^  hdf5 +1 bucket written$", vampire.stderr, re.MULTILINE), vampire.stderr
    assert exporters.Totals(space.hdf5()).counters


def test_after_a_server_that_ends_the_library_the_next_one_is_used(space):
    hostile, server = nats_reader.silent_nats(ENDING_REPLIES[0]), nats_reader.Server(space)
    reader = nats_reader.Reader(server)
    made = synthetic_config(server)
    made["outputs"][-1]["servers"] = [f"nats://127.0.0.1:{hostile.port}", server.address]
    vampire = space.vampire(made, ready=False)
    vampire.expect_exit(0, 60)
    found = assert_totals(reader.until_ended(), space.hdf5())
    assert list(found.buckets) == list(range(assert_account(vampire))) and hostile.peers


def test_a_name_that_is_unknown(space):
    assert_reported(space, synthetic_config("nats://no-such-host.invalid:4222"), "publish at nats://no-such-host.invalid:4222: ")


def test_a_stream_that_is_missing(space):
    server = nats_reader.Server(space, jetstream=True)
    assert_reported(space, synthetic_config(server, jetstream=True), "no JetStream stream stores vampire.synthetic.")


def test_a_server_for_small_messages(space):
    (space.path / "small.conf").write_text("max_payload: 4096\n")
    server = nats_reader.Server(space, "-c", str(space.path / "small.conf"))
    assert_reported(space, synthetic_config(server),
                    'it accepts messages of at most 4096 bytes (max_payload), too few for "message" (512KiB)')


def test_a_bucket_in_several_messages(space):
    server = nats_reader.Server(space)
    reader = nats_reader.Reader(server)
    made = synthetic_config(server, message="256KiB")
    made["source"].update({"producers": 60, "consumers": 20, "steps": 2})
    vampire = space.vampire(made, ready=False)
    vampire.expect_exit(0)
    messages = reader.until_ended()
    assert max(message.parts for message in messages) > 1
    assert max(message.ByteSize() for message in messages) <= 256 * 1024
    assert_totals(messages, space.hdf5())


SECRET = "kept-from-everyone"
WAYS = {
    "token-file": ("authorization {{ token: {} }}", {"secret_file": "secret"}, {"auth_token": SECRET}),
    "password-file": ("authorization {{ user: writer, password: {} }}", {"secret_file": "secret", "user": "writer"},
                      {"user": "writer", "pass": SECRET}),
    "environment": ("authorization {{ token: {} }}", {}, {"auth_token": SECRET}),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_secret_is_shown_nowhere(space, way):
    config, more, connect = WAYS[way]
    (space.path / "secret").write_text(SECRET + "\n")
    (space.path / "nats.conf").write_text(config.format(SECRET))
    server = nats_reader.Server(space, "-c", str(space.path / "nats.conf"))
    reader = nats_reader.Reader(server, **connect)
    made = synthetic_config(server, **more)
    extra = {"VAMPIRE_NATS_SECRET": SECRET} if way == "environment" else {}
    space.vampire(made, ready=False, extra=extra).expect_exit(0)
    assert_totals(reader.until_ended(), space.hdf5())
    (space.path / "secret").write_text("wrong\n")
    bad = {"VAMPIRE_NATS_SECRET": "wrong"} if way == "environment" else {}
    assert_reported(space, made, "Authorization Violation", bad)
    shown = [path.name for path in space.path.glob("**/*")
             if path.is_file() and path.name not in ("secret", "nats.conf") and SECRET.encode() in path.read_bytes()]
    assert shown == []


def test_a_file_of_credentials(space):
    operator = nats_credentials.Operator(space)
    server = nats_reader.Server(space, "-c", str(operator.config))
    reader = nats_reader.Reader(server, answer=operator.answer("reader"))
    space.vampire(synthetic_config(server, credentials_file=str(operator.file("vampire"))), ready=False).expect_exit(0)
    assert_totals(reader.until_ended(), space.hdf5())
    stranger = operator.file("stranger", signer=nats_credentials.Key(space, "A", "stranger"))
    assert_reported(space, synthetic_config(server, credentials_file=str(stranger)), "Authorization Violation")


def test_one_server_after_the_other(space):
    """The first of the list never answers, the second dies, the third has all that the second did not get."""
    servers = [nats_reader.Server(space, name=f"nats-server-{number}") for number in (2, 3)]
    readers = [nats_reader.Reader(server) for server in servers]
    space.pool_manager()
    made = nats_config("nats://127.0.0.1:1")
    made["outputs"][-1]["servers"] += [server.address for server in servers]
    vampire = space.vampire(made)
    workflow = harness.Workflow(space, model_options=model_options(6, 3, 2, 64, 65536, 20))
    harness.wait_until(lambda: readers[0].messages, "the second server has a bucket")
    servers[0].process.signal(signal.SIGKILL)
    harness.wait_until(lambda: readers[1].messages, "the third server has a bucket")
    workflow.finish()
    vampire.wait()
    messages = readers[1].until_ended()
    assert assert_account(vampire) == results.Hdf5Run([space.hdf5()]).buckets
    # What a subscriber of the second had not received when that died may be missing.
    found = nats_reader.whole_buckets(messages)
    first = min(found)
    assert 0 < first and set(found) == set(range(first, assert_account(vampire)))
    assert set(nats_reader.whole_buckets(readers[0].messages)) <= set(range(first + 1))


@pytest.mark.parametrize("bound", [{"max_msgs": 3}, {"max_bytes": 65536}], ids=["messages", "bytes"])
def test_a_full_stream_is_an_exact_loss(space, bound):
    """It discards what is new: vampire reports that, and counts what is not stored."""
    server = nats_reader.Server(space, jetstream=True)
    server.make_stream(discard="new", **bound)
    vampire = space.vampire(synthetic_config(server, jetstream=True, finish="1s"), ready=False)
    vampire.wait()
    words = {"max_msgs": "maximum messages exceeded", "max_bytes": "maximum bytes exceeded"}
    assert words[list(bound)[0]] in vampire.stderr, vampire.stderr
    buckets = results.Hdf5Run([space.hdf5()]).buckets
    stored = len(server.stored())
    assert stored > 0 and exporters.account(vampire, "bus") == (stored, buckets - stored)


def tls_server(space, address, *options):
    """(server, a certificate for this address, which both sides have and trust, as options)"""
    key, signed = exporters.certificate(space, "server", address)
    server = nats_reader.Server(space, "--tlsverify", f"--tlscert={signed}", f"--tlskey={key}", f"--tlscacert={signed}",
                                *options, scheme="tls")
    return server, {"ca_file": str(signed), "certificate_file": str(signed), "key_file": str(key)}


def test_tls_with_certificates(space):
    server, trusted = tls_server(space, "IP:127.0.0.1")
    reader = nats_reader.Reader(server, context=nats_reader.tls_context(trusted))
    space.vampire(synthetic_config(server, **trusted), ready=False).expect_exit(0)
    assert_totals(reader.until_ended(), space.hdf5())


@pytest.mark.parametrize("address, left_out, words", [
    ("DNS:other.invalid", (), "IP address mismatch"),
    ("IP:127.0.0.1", ("ca_file",), "self-signed certificate"),
], ids=["name", "stranger"])
def test_a_certificate_that_is_wrong(space, address, left_out, words):
    server, trusted = tls_server(space, address)
    made = {key: value for key, value in trusted.items() if key not in left_out}
    assert_reported(space, synthetic_config(server, **made), words)


@pytest.mark.parametrize("servers", [["127.0.0.1:4222"], ["nats://user:password@host"], ["http://host"], ["nats://"], []])
def test_what_is_no_address(space, servers):
    path = space.path / "vampire.json"
    path.write_text(json.dumps({"outputs": [{"type": "nats", "servers": servers}]}))
    done = subprocess.run([harness.program("vampire"), "--check-config", "-c", path], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and re.search(r"outputs.*servers", done.stderr), done.stderr
