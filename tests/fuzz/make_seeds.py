#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of the fuzz targets of the message path: whole conversations as components and
the pool manager have them, single messages of every kind, info texts, recordings.

usage: make_seeds.py        (rewrites tests/fuzz/seeds/{server,client,frame,info,recording,event_decode,collect})
"""

import base64
import pathlib
import struct
import subprocess
import sys
import tempfile

FUZZ = pathlib.Path(__file__).resolve().parent
ROOT = FUZZ.parent.parent
POOL_SESSION = 0x5E5510
PEER_SESSION = 0x1111
KINDS = ["join", "welcome", "request", "response", "ticket", "events", "heartbeat", "goodbye"]
RAW, PAUSE = 8, 9


def load_messages():
    """The modules that protoc makes of the .proto files."""
    folder = tempfile.mkdtemp(prefix="vampire-seeds-")
    folders = [str(ROOT / "vampire" / "core" / room) for room in ("event", "recording")]
    folders += [str(ROOT / "maestro" / "wire"), str(ROOT / "vampire" / "stats" / "bucket")]
    names = ["event.proto", "pool.proto", "recording.proto", "telemetry.proto"]
    subprocess.run(["protoc", *(f"-I{path}" for path in folders), f"--python_out={folder}", *names], check=True)
    sys.path.insert(0, folder)
    import event_pb2
    import pool_pb2
    import recording_pb2
    import telemetry_pb2

    return event_pb2, pool_pb2, recording_pb2, telemetry_pb2


event, pool, recording, telemetry = load_messages()


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


# ---------------------------------------------------------------- steps of a script


def step(peer, what, data=b""):
    return struct.pack("<BH", peer + 4 * what, len(data)) + data


def say(peer, kind, **fields):
    message = getattr(pool.Envelope(), kind).__class__(**fields)
    return step(peer, KINDS.index(kind), message.SerializeToString())


def pause(how):
    return step(0, PAUSE, b"." * how)


def envelope(kind, version=3, events_taken=0, **fields):
    message = pool.Envelope(version=version, events_taken=events_taken)
    getattr(message, kind).SetInParent()
    getattr(message, kind).MergeFrom(getattr(message, kind).__class__(**fields))
    return message.SerializeToString()


# ---------------------------------------------------------------- components


def address(number):
    return struct.pack("<HH", 2, 0x1234 + number) + bytes([127, 0, 0, 1]) + bytes(8)


def join(peer, name=None, **fields):
    values = {"workflow": "fuzz", "component": name or f"IFS -- {peer}", "pool_session": POOL_SESSION}
    return say(peer, "join", **{**values, **fields})


class Component:
    """Counts its requests."""

    def __init__(self, number):
        self.number, self.requests = number, 0

    def ask(self, **what):
        self.requests += 1
        return say(self.number, "request", id=self.requests, **what)

    def declare(self, name):
        return self.ask(declare=pool.Declare(name=name))

    def operate(self, operation, handle, **fields):
        return self.ask(operation=pool.CdoOperation(operation=getattr(pool, operation), handle=handle, **fields))

    def subscribe(self, kinds=0xFFFE, options=0, selector=None):
        return self.ask(subscribe=pool.Subscribe(selector=selector, event_kinds=kinds, options=options))


ATTRIBUTES = [
    pool.Attribute(key=".maestro.ecmwf.step", integer=6, type=3),
    pool.Attribute(key=".maestro.ecmwf.levtype", text="pl"),
    pool.Attribute(key=".maestro.ecmwf.time", timestamp=pool.Timestamp(sec=1700000000, nsec=5, offset=60)),
    pool.Attribute(key=".maestro.ecmwf.factor", real=0.5),
    pool.Attribute(key=".maestro.ecmwf.last", boolean=True),
    pool.Attribute(key=".maestro.ecmwf.level", natural=500),
]
NAME = "class:rd,date:20240101,levelist:500,param:130,step:6"
PLACE = pool.Place(provider="memory", protocol=1, address=bytes([1, 2, 3, 4]))
MEMORY = pool.Memory(address=0, key=42, bytes=100000, place=PLACE)


def server_seeds():
    # handles 1 and 2 are the pool manager's own
    a, b = Component(0), Component(1)
    life = join(0) + a.subscribe() + a.declare(NAME) + a.operate("SEAL", 3, attributes=ATTRIBUTES, size_bytes=100000)
    life += a.operate("OFFER", 3, memory=MEMORY)
    sink = join(1) + b.declare(NAME) + b.operate("REQUIRE", 4) + b.operate("DEMAND", 4)
    ended = b.ask(transport_end=pool.TransportEnd(transport_id=1, status=0, bytes=100000))
    failed = b.ask(transport_end=pool.TransportEnd(transport_id=1, status=5))
    away = a.operate("WITHDRAW", 3) + a.operate("DISPOSE", 3) + a.ask(leave=pool.Leave()) + say(0, "goodbye", status=0)
    yield "life", life + sink + ended + b.operate("DISPOSE", 4) + away
    yield "transport-fails", life + sink + failed + pause(1) + away
    yield "withdraw-waits", life + sink + away + ended
    a, b = Component(0), Component(1)
    local = join(0) + a.declare("local") + a.operate("REQUIRE", 3) + a.operate("DEMAND", 3)
    yield "from-the-pool-manager", local + a.ask(transport_end=pool.TransportEnd(transport_id=1, status=0))
    a = Component(0)
    remote = join(0) + a.declare("remote") + a.operate("SEAL", 3) + a.operate("OFFER", 3, memory=MEMORY)
    yield "to-the-pool-manager", remote + pause(1) + a.operate("WITHDRAW", 3) + a.ask(leave=pool.Leave())
    a, b = Component(0), Component(1)
    ack = join(0) + a.subscribe(options=7, selector="(has .maestro.core.cdo.name)") + join(1) + b.declare("held")
    ack += a.ask(event_ack=pool.EventAck(subscription=1, serials=[1, 2, 3, 4, 5, 6, 7, 8])) + pause(1)
    yield "acknowledged", ack + a.ask(unsubscribe=pool.Unsubscribe(subscription=1)) + b.operate("DISPOSE", 3)
    a = Component(0)
    yield "selectors", join(0) + a.subscribe(selector="(and (.maestro.ecmwf.step >= 2) (not (.maestro.ecmwf.levtype = \"pl\")))") + a.declare(NAME) + a.operate("SEAL", 3, attributes=ATTRIBUTES)
    yield "silent", join(0) + join(1) + pause(2) + join(0) + pause(3)
    yield "heartbeats", join(0) + pause(1) + say(0, "heartbeat") + pause(1) + say(0, "heartbeat")
    yield "refused", join(0) + join(1, "IFS -- 0") + join(2, workflow="other") + join(3, pool_session=1) + pause(3)
    yield "too-many", b"".join(join(n) for n in range(4)) + pause(1)
    yield "join-twice", join(0) + join(0)
    a = Component(0)
    yield "offer-nowhere", join(0) + a.declare(NAME) + a.operate("OFFER", 3, memory=pool.Memory(address=0, key=42, bytes=5))
    yield "wrong-kinds", b"".join(join(n) + step(n, kind) for n, kind in enumerate((1, 3, 4, 5)))
    yield "raw", join(0) + step(0, RAW, envelope("heartbeat")) + step(0, RAW, envelope("heartbeat", events_taken=9))
    yield "raw-version", step(0, RAW, envelope("join", version=4, workflow="fuzz", component="x", pool_session=POOL_SESSION))
    yield "raw-garbage", step(0, RAW, bytes(range(256)))
    a = Component(0)
    yield "many-cdos", join(0) + b"".join(a.declare(f"cdo {n}") for n in range(14))
    a = Component(0)
    yield "attribute-bomb", join(0) + a.declare("bomb") + a.operate("SEAL", 3, attributes=ATTRIBUTES * 8) + a.declare("n" * 4097)


def events(lost=0, count=3, subscription=1):
    batch = event.EventBatch(subscription=subscription, lost=lost)
    for number in range(count):
        batch.events.add(
            kind=1 + number % 16, serial=10 + number, time_ns=1700000000000000000 + number, app_id=2,
            cdo_id=bytes(range(16)), name=NAME.encode(), size_bytes=4096, peer_id=3, transport_id=7,
            tier=1, cause=1, reason=1, before=number % 2 == 1,
        )
    return batch


def fields_of(message):
    return {field.name: value for field, value in message.ListFields()}


def client_seeds():
    welcome = say(0, "welcome", status=0, app_id=2, heartbeat_ms=500, silence_ms=30000)

    def ticket(**fields):
        values = {"transport_id": 1, "handle": 4, "size_bytes": 4096, "attributes": ATTRIBUTES, "memory": MEMORY}
        return say(0, "ticket", **{**values, **fields})

    yield "refused", say(0, "welcome", status=3, text="this pool manager serves another workflow")
    yield "welcome-twice", welcome + welcome + say(0, "heartbeat")
    yield "responses", welcome + say(0, "response", id=1, status=0, handle=4, cdo_id=bytes(16)) + say(0, "response", id=2, status=5, text="no such handle")
    yield "events", welcome + b"".join(say(0, "events", **fields_of(events(lost=n % 2))) for n in range(10))
    yield "ticket", welcome + ticket() + pause(0)
    yield "ticket-again", welcome + ticket() + ticket(transport_id=2) + pause(0)
    yield "ticket-large", welcome + ticket(memory=pool.Memory(address=4096, key=2, bytes=3 << 20, place=PLACE)) + pause(0) + pause(0)
    yield "ticket-fails", welcome + ticket(memory=pool.Memory(address=0, key=3, bytes=100, place=PLACE)) + pause(0) + ticket(transport_id=0, status=9, text="no offer is left")
    yield "ticket-without-data", welcome + say(0, "ticket", transport_id=3, handle=4, size_bytes=0)
    yield "ticket-without-source", welcome + say(0, "ticket", transport_id=3, handle=4, size_bytes=9, memory=pool.Memory(address=0, key=42, bytes=9))
    yield "goodbye", welcome + ticket() + say(0, "goodbye", status=9, text="the pool manager has shut down")
    yield "silence", welcome + pause(2) + pause(1) + say(0, "heartbeat")
    yield "wrong-kind", welcome + say(0, "request", id=1, leave=pool.Leave())
    yield "raw", welcome + step(0, RAW, envelope("heartbeat", events_taken=9)) + step(0, RAW, bytes(40))


def frame_seeds():
    yield "join", envelope("join", workflow="fuzz", component="IFS -- 0", index=1, pool_session=7)
    yield "welcome", envelope("welcome", status=0, app_id=2, heartbeat_ms=500, silence_ms=30000)
    yield "refusal", envelope("welcome", status=3, text="other workflow")
    for name in ("declare", "leave", "subscribe", "unsubscribe", "transport_end", "event_ack", "operation"):
        parts = {
            "declare": pool.Declare(name=NAME),
            "leave": pool.Leave(),
            "subscribe": pool.Subscribe(selector="(has .x)", event_kinds=0xFFFE, options=3),
            "unsubscribe": pool.Unsubscribe(subscription=1),
            "transport_end": pool.TransportEnd(transport_id=1, status=0, bytes=7),
            "event_ack": pool.EventAck(subscription=1, serials=[1, 2, 300]),
            "operation": pool.CdoOperation(operation=pool.SEAL, handle=3, attributes=ATTRIBUTES, size_bytes=9, memory=MEMORY),
        }
        yield name.replace("_", "-"), envelope("request", id=1, **{name: parts[name]})
    yield "response", envelope("response", id=1, status=0, handle=3, cdo_id=bytes(16))
    yield "ticket", envelope("ticket", transport_id=1, handle=3, size_bytes=9, attributes=ATTRIBUTES, memory=MEMORY)
    yield "events", envelope("events", **fields_of(events(lost=2, count=15)))
    yield "events-64", envelope("events", **fields_of(events(count=64)))
    yield "heartbeat", envelope("heartbeat", events_taken=2**64 - 1)
    yield "goodbye", envelope("goodbye", status=9, text="done")
    yield "version-4", envelope("heartbeat", version=4)
    # A field of number 0: protobuf-c takes it in when its tag has two bytes, and not when it has one.
    number_0 = b"\x08\x00\x82\x00\x00"
    yield "field-0", envelope("heartbeat")[:-3] + bytes([11 << 3 | 2, len(number_0)]) + number_0
    yield "two-bodies", envelope("heartbeat") + b"\x8a\x01\x00"
    yield "no-body", b"\x08\x03"


def info_seeds():
    def check_of(record):
        parts = struct.pack("<Q", record.session) + record.provider.encode() + b"\0" + record.workflow.encode() + b"\0"
        value = 2166136261
        end = b""
        if record.HasField("key"):
            end = record.key + bytes([record.munge])
        for byte in parts + record.address + end:
            value = (value ^ byte) * 16777619 & 0xFFFFFFFF
        return value

    def text(**fields):
        values = {"version": 3, "provider": "", "address": address(0), "session": 5, "workflow": "weather", "check": 0}
        record = pool.PoolInfo(**{**values, **fields})
        record.check = fields.get("check", check_of(record))
        return "embedded-maestro-3:" + base64.b64encode(record.SerializeToString()).decode()

    yield "plain", text().encode()
    yield "provider", text(provider="shm").encode()
    yield "line", f"MSTRO_POOL_MANAGER_INFO;{text()};\n".encode()
    yield "version-4", text(version=4).encode()
    keyed = {"key": bytes(range(32))}
    yield "keyed", text(**keyed).encode()
    yield "keyed-munge", text(**keyed, munge=True).encode()
    yield "short-key", text(**{**keyed, "key": bytes(31)}).encode()
    yield "damaged", text(check=1).encode()
    yield "long", text(workflow="w" * 1023, address=bytes(256), provider="p" * 63).encode()
    yield "too-long", text(workflow="w" * 1400).encode()
    yield "upstream", b"CAEQAQ=="
    yield "empty", b" ;"


def recording_seeds():
    def message(part):
        data = part.SerializeToString()
        return varint(len(data)) + data

    def header(**fields):
        values = {"format": "vampire-recording", "version": 1, "workflow": "weather", "component": "vampire",
                  "started_ns": 1700000000000000000, "event_kinds": 0xFFFE, "producer": "vampire 1", "run_id": "1"}
        return message(recording.Header(**{**values, **fields}))

    def batch(first, count=3, **fields):
        return message(recording.Batch(first=first, events=events(count=count).events, **fields))

    def mark(kind, count=0, reason=None):
        return recording.Mark(kind=kind, count=count, reason=reason, time_ns=1700000000000000000)

    whole = header() + batch(0) + batch(3, mark=mark(30, 5, 0)) + batch(6, 15) + batch(21, 0, end=True)
    yield "whole", whole
    yield "torn", whole[:-40]
    yield "marks", header() + batch(0, mark=mark(29)) + batch(3, mark=mark(31, 2)) + batch(6, mark=mark(30, 9, 1)) + batch(9, 0, end=True)
    yield "gap", header() + batch(0) + batch(10) + batch(13, 0, end=True)
    yield "overlap", header() + batch(0) + batch(1)
    yield "newer", header(version=2)
    yield "header-only", header()
    yield "other-file", b"\x89HDF\r\n\x1a\n" + bytes(100)
    arrival = event.Event(kind=1, arrival_ns=5, name=b"a component", app_id=1)
    yield "arrival", header() + message(recording.Batch(first=0, events=[arrival, event.Event(kind=16, time_ns=5), event.Event(kind=99)]))


def event_decode_seeds():
    full = event.Event(kind=12, serial=300, time_ns=1700000000123456789, app_id=2**64 - 1, cdo_id=bytes(range(16)),
                       name=b"model/step-1/field", size_bytes=1 << 40, peer_id=2, transport_id=7, tier=2, cause=1, before=True,
                       duration_ns=5000)
    yield "full", full.SerializeToString()
    yield "join", event.Event(kind=1, app_id=3, name=b"a component", time_ns=-1).SerializeToString()
    yield "leave", event.Event(kind=2, app_id=3, reason=5, arrival_ns=9).SerializeToString()
    yield "empty-name", event.Event(kind=5, name=b"").SerializeToString()
    yield "long-name", event.Event(kind=5, name=b"n" * 4097).SerializeToString()
    yield "no-kind", event.Event(serial=1).SerializePartialToString()
    yield "kind-0", event.Event(kind=0).SerializeToString()
    yield "kind-16", event.Event(kind=16).SerializeToString()
    yield "newer-values", event.Event(kind=12, tier=4, cause=200, reason=2**31).SerializeToString()
    yield "short-id", event.Event(kind=5, cdo_id=bytes(15)).SerializeToString()
    # What no sender of ours writes: a field twice, an unknown one, another wire type, long numbers.
    yield "twice", full.SerializeToString() + event.Event(kind=3, name=b"x", tier=3).SerializeToString()
    yield "unknown-field", full.SerializeToString() + b"\x80\x01\x05\xfa\x07\x03abc"
    yield "wire-type", full.SerializeToString() + b"\x10\x01\x11" + bytes(8)
    yield "long-varint", b"\x08\x85\x80\x80\x80\x80\x80\x80\x80\x80\x00" + b"\x10" + b"\xff" * 9 + b"\x03"
    yield "long-bool", b"\x08\x05\x68" + b"\x80" * 9 + b"\x02"
    yield "long-tag", b"\x88\x00\x05"
    yield "long-length", b"\x08\x05\x32" + b"\x80" * 5 + b"\x00"
    yield "cut", full.SerializeToString()[:-1]


def collect_seeds():
    """A message with a value of each kind, and what collectors refuse or treat in a way of its own."""

    def message(**fields):
        kinds = telemetry.Metric
        values = {
            "part": 1, "parts": 1, "version": 1, "number": 7, "buckets": 1, "start_ns": 1700000004 * 10**9,
            "width_ns": 10**9, "sub_bits": 3,
            "run": telemetry.Run(id="11111111-2222-4333-8444-555555555555", workflow="forecast"),
            "account": telemetry.Account(received=9, decoded=9, counted=9, lost=[telemetry.Loss(reason="ring", events=2)]),
            "gaps": [telemetry.Gap(start_ns=5, end_ns=6, reason="ring", events=2)],
            "label_sets": [telemetry.LabelSet(labels=["component", "operation"]), telemetry.LabelSet(),
                           telemetry.LabelSet(labels=["component", "size_class"])],
            "metrics": [kinds(name="pool_operations", kind=kinds.COUNTER, unit="1", label_set=0),
                        kinds(name="pool_cdos", kind=kinds.GAUGE, unit="1", label_set=1),
                        kinds(name="demand_wait_ns", kind=kinds.HISTOGRAM, unit="ns", label_set=2)],
            "rows": [telemetry.Row(label_set=0, labels=["IFS -- 0", "offer"],
                                   counters=[telemetry.Counter(metric=0, delta=3, value=30)]),
                     telemetry.Row(label_set=1, gauges=[telemetry.Gauge(metric=1, value=5, min=2, max=6)]),
                     telemetry.Row(label_set=2, labels=["IFS -- 0", "[0,256)"], histograms=[telemetry.Histogram(
                         metric=2, count=3, sum=12, min=3, max=5, bins=[3, 4, 5], counts=[1, 1, 1])])],
        }
        return telemetry.Message(**{**values, **fields}).SerializeToString()

    yield "bucket", message()
    yield "second_part", message(part=2, parts=2, account=None, gaps=[])
    yield "merged", message(buckets=4, number=8, width_ns=4 * 10**9, lost_before=3)
    yield "late", message(start_ns=1600000000 * 10**9)
    yield "early", message(start_ns=1800000000 * 10**9)
    yield "width", message(width_ns=3 * 10**9)
    yield "bins", message(sub_bits=4)
    yield "version", message(version=2)
    yield "ending", telemetry.Message(version=1, run=telemetry.Run(id="1"), ending=telemetry.Ending(
        time_ns=5, reason="finished")).SerializeToString()
    yield "collected", message(
        label_sets=[telemetry.LabelSet(labels=["workflow", "run"])],
        metrics=[telemetry.Metric(name="collect_runs_reporting", kind=telemetry.Metric.GAUGE, unit="1", label_set=0)],
        rows=[telemetry.Row(label_set=0, labels=["ocean", "2"], gauges=[telemetry.Gauge(metric=0, value=1, min=1, max=1)])])
    yield "series", message(rows=[telemetry.Row(label_set=0, labels=[f"IFS -- {i}", "offer"], counters=[
        telemetry.Counter(metric=0, delta=1, value=1)]) for i in range(20)])


def main():
    seeds = {"server": server_seeds, "client": client_seeds, "frame": frame_seeds, "info": info_seeds, "recording": recording_seeds,
             "event_decode": event_decode_seeds, "collect": collect_seeds}
    for target, make in seeds.items():
        folder = FUZZ / "seeds" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in make():
            (folder / name).write_bytes(data)


main()
