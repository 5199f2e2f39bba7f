# SPDX-License-Identifier: BSD-3-Clause
"""Recordings, read and written with Python's own protobuf; docs/recording.md is the specification."""

import importlib
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def _generate():
    with tempfile.TemporaryDirectory(prefix="vampire-oracle-") as directory:
        subprocess.run(
            ["protoc", f"-I{ROOT}/vampire/core/event", f"-I{ROOT}/vampire/core/recording",
             f"--python_out={directory}", "event.proto", "recording.proto"],
            check=True,
        )
        sys.path.insert(0, directory)
        try:
            return importlib.import_module("event_pb2"), importlib.import_module("recording_pb2")
        finally:
            sys.path.remove(directory)


event_pb2, recording_pb2 = _generate()

KINDS = {
    1: "join", 2: "leave", 3: "declare", 4: "seal", 5: "offer", 6: "require", 7: "demand",
    8: "retract", 9: "withdraw", 10: "dispose", 11: "transport_init", 12: "transport_completed",
    13: "transport_failed", 14: "subscribe", 15: "unsubscribe",
}
TIERS = {0: "unknown", 1: "OFI", 2: "GFS", 3: "MIO"}
CAUSES = {0: "unknown", 1: "demand", 2: "manager"}
REASONS = {0: "unknown", 1: "finalized", 2: "vanished", 3: "protocol", 4: "pool_ended",
           5: "pool_gone"}
LOSSES = {0: "pool_manager", 1: "ring", 2: "recording"}


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _put_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)

SAMPLE = 16


def read(path, repeated=True):
    """The header, and all marks and events in order; with or without those that are repeated from
    earlier files."""
    data, at, header, items = pathlib.Path(path).read_bytes(), 0, None, []
    while at < len(data):
        length, at = _varint(data, at)
        message = data[at : at + length]
        at += length
        if header is None:
            header = recording_pb2.Header.FromString(message)
            continue
        batch = recording_pb2.Batch.FromString(message)
        if batch.HasField("mark"):
            items.append(batch.mark)
        if repeated or not batch.repeats:
            items.extend(event for event in batch.events if event.kind != SAMPLE)  # which are no events of the pool
    return header, items


def write(path, items, workflow="oracle", unknown=0):
    """The same back: each mark begins a batch."""
    header = recording_pb2.Header(
        format="vampire-recording", version=1, workflow=workflow, event_kinds=0xFFFE, unknown=unknown
    )
    batches = [recording_pb2.Batch(first=0)]
    count = 0
    for item in items:
        is_mark = isinstance(item, recording_pb2.Mark)
        if is_mark or len(batches[-1].events) == 200:
            batches.append(recording_pb2.Batch(first=count))
        if is_mark:
            batches[-1].mark.CopyFrom(item)
        else:
            batches[-1].events.append(item)
            count += 1
    batches.append(recording_pb2.Batch(first=count, end=True))
    with open(path, "wb") as file:
        for message in [header, *batches]:
            data = message.SerializeToString()
            file.write(_put_varint(len(data)) + data)


def time_of(event):
    return event.time_ns if event.HasField("time_ns") else event.arrival_ns
