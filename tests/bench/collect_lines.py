# SPDX-License-Identifier: BSD-3-Clause
"""make bench: vampire-collect with as many publishers as a site has workflows. Each publishes the buckets of a
real run of 60 components, 10 s wide, under an id of its own, by a connection of its own."""

import json
import sys
import time
import uuid

import measure
from measure import harness

sys.path.insert(0, str(measure.ROOT / "tests" / "e2e"))
sys.path.insert(0, str(measure.ROOT / "tests" / "oracle"))
import nats_reader

WIDTH_NS = 10 * 10**9
# As many buckets as wait for their close at a time with the default delay of 30 s; here all of them do.
BUCKETS, PUBLISHERS, FEW = 4, 64, 16
SOURCE = {"type": "synthetic", "producers": 30, "consumers": 30, "fan_out": 4, "steps": 10 * BUCKETS + 20}


def run_messages(space, server):
    """The messages of whole buckets of a run, in order."""
    reader = nats_reader.Reader(server)
    made = {"source": SOURCE, "outputs": [{"type": "nats", "servers": [server.address], "bucket": "10s",
                                           "without": ["size_class"]}]}
    path = space.path / "run.json"
    path.write_text(json.dumps(made))
    measure.run([harness.program("vampire"), "-q", "-c", path], space.path)
    buckets = nats_reader.whole_buckets(reader.until_ended())
    return [message for number in sorted(buckets)[1:BUCKETS + 1] for message in buckets[number]]


def published(messages, publishers):
    """[(subject, [content of each message]) of each publisher], as if the last bucket ended now."""
    newest = (time.time_ns() // WIDTH_NS - 1) * WIDTH_NS
    last = messages[-1].start_ns
    found = []
    for number in range(publishers):
        texts = []
        workflow, run = f"workflow-{number}", str(uuid.uuid5(uuid.NAMESPACE_URL, f"run {number}"))
        for message in messages:
            message.run.id, message.run.workflow = run, workflow
            moved = nats_reader.decode(message.SerializeToString())
            moved.start_ns = newest - (last - message.start_ns)
            texts.append(moved.SerializeToString())
        found.append((f"vampire.{workflow}.{run}", texts))
    return found


def collect(space, server, runs, name):
    """Account of a vampire-collect that gets all messages and writes them into one HDF5 file."""
    made = {"collect": {"servers": [server.address], "answer": name, "delay": "90s",
                        "queue": "1GiB"},  # what runs publish over 40 s comes at once
            "outputs": [{"type": "hdf5", "directory": ".", "without": ["run", "size_class"]}]}
    path, ready = space.path / f"{name}.json", space.path / f"{name}.ready"
    path.write_text(json.dumps(made))
    process = harness.Process([harness.program("vampire-collect"), "-c", path, "--ready-file", ready], space.path, name,
                              harness.clean_environment())
    began = time.monotonic()
    harness.wait_until(ready.exists, "it has subscribed")
    clients = [nats_reader.Client(server.port) for _ in runs]
    for message in range(len(runs[0][1]) if runs else 0):
        for client, (subject, texts) in zip(clients, runs):
            client.send(f"PUB {subject} {len(texts[message])}".encode(), texts[message])
    for client in clients:
        client.send(b"PING")
        client.next(until=b"PONG")
        client.close()
    if runs:  # a request waits for what was published before it
        with nats_reader.Client(server.port) as client:
            client.request(name, b"collect_refused")
    process.signal(15)
    account = measure.reap(process, began)
    assert "REFUSED" not in process.stderr and "LOST" not in process.stderr, process.stderr
    return account


def collect_lines(directory, quick=False):
    del directory
    with harness.Workspace() as space:
        server = nats_reader.Server(space)
        messages = run_messages(space, server)
        size = sum(message.ByteSize() for message in messages) / BUCKETS
        pairs = 1 if quick else 5
        idle = [collect(space, server, [], f"idle-{number}") for number in range(pairs)]
        accounts = {}
        for publishers in (FEW, PUBLISHERS):
            accounts[publishers] = [collect(space, server, published(messages, publishers), f"view-{publishers}-{number}")
                                    for number in range(pairs)]
        yield measure.line("collect.bytes", "a bucket of 10 s of 60 components as messages", "bytes", [size])
        for publishers, of_all in accounts.items():
            each = [1e6 * (account.cpu_seconds - base.cpu_seconds) / (publishers * BUCKETS)
                    for account, base in zip(of_all, idle)]
            yield measure.line(f"collect.{publishers}", f"vampire-collect: processor time for such a bucket, {publishers} publishers, "
                               f"{BUCKETS} buckets each, into HDF5", "us", each, accounts=of_all)
