# SPDX-License-Identifier: BSD-3-Clause
"""Traces in Chrome's format, read independently of vampire, and what the oracle says must be in one.

A span is (what, component, start, end, more), times in ns since 1970."""

import collections
import decimal
import json
import pathlib

import oracle
import stream
from catalogue import EARLIEST, LATEST, UNKNOWN

CDO_TIMES = ("declared", "sealed", "offered", "first_demand", "last_transport", "withdrawn", "disposed")
TIME = 29  # a mark without an event
NEVER = 10**9  # a bound that is not reached


def records(path):
    """Of the whole array, or of one whose end is missing: whole lines are whole records."""
    text = pathlib.Path(path).read_text()
    if not text.endswith("]\n"):
        text = text[: text.rindex("\n")].rstrip(",") + "]"
    return json.loads(text, parse_float=decimal.Decimal)


class Trace:
    def __init__(self, path):
        self.records = records(path)
        self.notes = {record["name"]: record["args"] for record in self.records
                      if record["name"] in ("vampire", "vampire_begin", "vampire_end")}
        self.processes = {record["pid"]: record["args"]["name"] for record in self.records
                          if record["name"] == "process_name"}
        self.tracks = {(record["pid"], record["tid"]): record["args"]["name"] for record in self.records
                       if record["name"] == "thread_name"}
        assert len({tid for _, tid in self.tracks}) == len(self.tracks), "a thread has one process"

    def ns(self, micros):
        nanos = micros * 1000
        assert nanos == int(nanos), micros
        return self.notes["vampire_begin"]["time_ns"] + int(nanos)

    def of(self, phase):
        for record in self.records:
            if record["ph"] == phase:
                assert (record["pid"], record["tid"]) in self.tracks, record
                yield record

    def spans(self):
        found = collections.Counter()
        for record in self.of("X"):
            start, length = self.ns(record["ts"]), int(record["dur"] * 1000)
            more = next((record["args"][key] for key in ("source", "sink", "end") if key in record["args"]), None)
            if record["cat"] == "part":
                more = record["name"] + " " + record["args"]["producer"]
            found[record["cat"], self.processes[record["pid"]], start, start + length, more] += 1
        return found

    def marks(self):
        found = collections.Counter()
        for record in self.of("i"):
            found[record["name"], self.processes[record["pid"]], self.ns(record["ts"]), record["args"]["count"]] += 1
        return found

    def check_tracks(self):
        """Spans of a track overlap only if one lies in the other; a track holds what its name says."""
        tracks = collections.defaultdict(list)
        holds = {"life": "CDOs", "in pool": "CDOs", "demand": "waits", "part": "waits", "pending": "waits", "withdraw": "waits", "leave": "waits",
                 "send": "sends", "receive": "receives"}
        for record in self.of("X"):
            name = self.tracks[record["pid"], record["tid"]]
            assert name.split()[0] == holds.get(record["cat"], "waits"), (name, record)
            tracks[record["tid"]].append((record["ts"], -record["dur"]))
        for spans in tracks.values():
            around = []
            for start, length in sorted(spans):
                end = start - length
                while around and around[-1] <= start:
                    around.pop()
                assert not around or end <= around[-1], spans
                around.append(end)

    def check_arrows(self):
        """Each begins in a span `send` and ends in a span `receive`, which name each other; returns how many."""
        begins = {record["id"]: record for record in self.of("s")}
        ends = {record["id"]: record for record in self.of("f")}
        assert begins.keys() == ends.keys()
        at = collections.defaultdict(list)
        for record in self.of("X"):
            if record["cat"] in ("send", "receive"):
                at[record["cat"], record["tid"]].append(record)
        for spans in at.values():
            spans.sort(key=lambda record: record["ts"])
        for number, begin in begins.items():
            end = ends[number]
            assert end["bp"] == "e" and begin["ts"] <= end["ts"]
            sends = [record for record in at["send", begin["tid"]] if record["ts"] == begin["ts"]]
            receives = [record for record in at["receive", end["tid"]]
                        if record["ts"] <= end["ts"] <= record["ts"] + record["dur"]]
            assert any(one["args"]["sink"] == self.processes[end["pid"]] and
                       other["args"]["source"] == self.processes[begin["pid"]] and
                       one["args"].get("id") == other["args"].get("id")
                       for one in sends for other in receives), (begin, end)
        return len(begins)


class Expected(oracle.Oracle):
    """The spans of a stream, by the program that computes every metric a second time."""

    def __init__(self):
        super().__init__({"bucket_ns": 10**9, "lateness_ns": 10**9, "sub_bits": 3, "level": "cdo", "max_empty": 600,
                          "arrival": False,
                          **dict.fromkeys(("max_series", "max_components", "max_cdos", "max_pending"), NEVER)})
        self.spans, self.marks = collections.Counter(), collections.Counter()
        self.now = self.last = self.part = None

    def observe(self, item):
        is_mark = isinstance(item, stream.recording_pb2.Mark)
        self.now = item.time_ns if is_mark else stream.time_of(item)
        if EARLIEST <= self.now <= LATEST and not (is_mark and item.kind == TIME):
            self.last = self.now if self.last is None else max(self.last, self.now)
        super().observe(item)

    def record(self, metric, labels, value):
        span = {"demand_wait_ns": "demand", "withdraw_wait_ns": "withdraw", "leave_wait_ns": "leave"}.get(metric)
        if span is not None:
            self.spans[span, labels[0], self.now - value, self.now, None] += 1
        if metric == "demand_wait_ns":
            self.part = self.now - value
        if metric == "demand_wait_part_ns":
            component, producer, part = labels
            if value > 0 or part == UNKNOWN:
                self.spans["part", component, self.part, self.part + value, f"{part} {producer}"] += 1
            self.part += value
        if metric == "transport_ns":
            source, sink = labels[:2]
            known = source if source != UNKNOWN else None
            self.spans["receive", sink, self.now - value, self.now, known] += 1
            if known:
                self.spans["send", source, self.now - value, self.now, sink] += 1

    def count(self, metric, labels, amount):
        if metric == "anomalies":
            self.marks[labels[1], labels[0], self.now, amount] += 1

    def add_history(self, cdo, end):
        producer = self.producer_name(cdo) if cdo.made else UNKNOWN
        times = dict(zip(CDO_TIMES, cdo.times.values()))
        seen = [time for time in times.values() if time is not None]
        now = self.last if end == "run" else self.now
        first, last = min([*seen, now]), max(seen) if end == "disposed" and seen else now
        self.spans["life", producer, first, last, end] += 1
        if times["offered"] is not None and times["offered"] <= last:
            withdrawn = times["withdrawn"]
            inside = withdrawn is not None and times["offered"] <= withdrawn < last
            self.spans["in pool", producer, times["offered"], withdrawn if inside else last, None] += 1


    def give_up_demand(self, demand, time, end="left"):
        component = demand["row"].name if demand["row"] is not self.rows[0] else UNKNOWN
        self.spans["pending", component, min(demand["since"], time), time, end] += 1

    def finish(self):
        for demand in self.demands.values():
            self.give_up_demand(demand, self.last, "run")
        super().finish()


def expected(recordings):
    """What a trace of these recordings, in order, has in it."""
    found = Expected()
    for path in recordings:
        for item in stream.read(path)[1]:
            found.observe(item)
    found.finish()
    return found
