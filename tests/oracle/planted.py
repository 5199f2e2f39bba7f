# SPDX-License-Identifier: BSD-3-Clause
"""Hours of a workflow into which one cause of waiting is planted, with the exact truth: whose fault, when, how many
seconds. IFS gives to NEMO and to PGEN, NEMO to PGEN; times are noisy, ranks differ, some steps are heavy. The same seed
gives the same hour, with and without its cause.

    planted.py SECONDS_DIRECTORY [HOURS]    writes recordings and truths of HOURS seeds of every cause and size
"""

import collections
import dataclasses
import json
import pathlib
import random
import sys

import stream

BEGIN = 1_800_000_000 * 10**9
SECOND = 10**9
NUMBER = {name: number for number, name in stream.KINDS.items()}
HOUR = 3600


@dataclasses.dataclass
class Size:
    """Ranks of each model, and seconds from step to step; buckets of vampire."""

    ifs: int
    nemo: int
    pgen: int
    step: int
    bucket: str


SIZES = {4: Size(1, 1, 2, 5, "5s"), 60: Size(20, 20, 20, 20, "10s"), 500: Size(200, 200, 100, 60, "30s")}
FINALIZED, VANISHED = 1, 2
EDGE = 4  # buckets: what a diagnosis looks at is steps, or four buckets


@dataclasses.dataclass
class Cause:
    """What is planted: the component (or model, or where events are lost) that is at fault, from second `begin` to `end`."""

    kind: str
    component: str
    begin: float
    end: float
    part: str = ""      # of the waits
    seconds: float = 0  # that were waited for it, filled in by the hour
    count: int = 0      # of what has no seconds
    first: float = None  # interval in which it shows: of the ends of these waits, of the events
    last: float = None

    def during(self, second):
        """Whether it is active."""
        return self.begin <= second < self.end

    def show(self, second, seconds=0, count=1):
        """Something of it was seen."""
        self.seconds, self.count = self.seconds + seconds, self.count + count
        self.first = second if self.first is None else min(self.first, second)
        self.last = second if self.last is None else max(self.last, second)


EXACT = {"never_demanded": "anomaly", "failed": "anomaly", "vanished": "vanished", "lost": "lost", "starved": "rate"}  # kinds of findings
CAUSES = ("late_model", "late_middle", "late_rank", "chain", "slow_link", "grown_wait", "slow_pool", "never_demanded",
          "failed", "vanished", "lost", "starved")


def cause_of(kind, size, seed):
    """A Cause at a place and time that the seed chooses."""
    dice, of = random.Random(f"{kind} {seed} cause"), SIZES[size]
    begin = dice.randrange(10, 35) * 60 + dice.randrange(60)
    end = begin + dice.randrange(10, 20) * 60
    rank = {"IFS": dice.randrange(of.ifs), "NEMO": dice.randrange(of.nemo), "PGEN": dice.randrange(of.pgen)}
    who = {"late_model": "IFS", "late_middle": "NEMO", "late_rank": "NEMO -- ", "chain": "IFS -- ", "slow_link": "PGEN -- ",
           "grown_wait": "PGEN -- ", "slow_pool": "pool manager", "never_demanded": "NEMO -- ", "failed": "PGEN -- ",
           "vanished": "NEMO -- ", "lost": "pool_manager", "starved": "PGEN -- "}[kind]
    component = who + str(rank[who[:4].strip()]) if who.endswith(" -- ") else who
    if component in ("IFS", "NEMO") and size == 4:
        component += " -- 0"  # the only rank is the model
    part = {"slow_link": "moving", "grown_wait": "for_start", "slow_pool": "for_start"}.get(kind, "for_offer")
    if kind == "starved" or kind == "slow_link" and of.pgen > 3:
        begin, end = 0, HOUR  # all the time: only its siblings show that it is slow
    if kind == "lost":
        end = begin + 120
    return Cause(kind, component, begin, end, part)


class Hour:
    """events: of the recording; waits: (consumer, producer, part, end, seconds) of all demands; cause: the truth, or None."""

    def __init__(self, size, seed, kind=None):
        self.size, self.seed = SIZES[size], seed
        self.cause = cause_of(kind, size, seed) if kind else None
        self.items, self.waits, self.names = [], [], {}
        self.serial = self.transports = self.cdos = 0
        self.fate = random.Random(f"{seed} {size} noise")
        self.speed = collections.defaultdict(lambda: self.fate.lognormvariate(0, 0.08))
        self._run()

    # ---- events

    def event(self, second, kind, component, **fields):
        """At this second of the hour; a time of its own, so that order is certain."""
        self.items.append((int(second * SECOND), len(self.items), kind, self.names[component], fields))

    def is_(self, kind):
        """Whether this is planted."""
        return self.cause is not None and self.cause.kind == kind

    def hits(self, kind, component, second):
        """Whether the planted cause of this kind concerns the component, or its model, now."""
        return self.is_(kind) and self.cause.during(second) and \
            self.cause.component in (component, component.partition(" -- ")[0])

    # ---- the course of things

    def _run(self):
        of = self.size
        ranks = {model: [f"{model} -- {n}" for n in range(count)]
                 for model, count in (("IFS", of.ifs), ("NEMO", of.nemo), ("PGEN", of.pgen))}
        for number, name in enumerate(name for names in ranks.values() for name in names):
            self.names[name] = number + 1
            self.event(number * 1e-6, "join", name, name=name.encode())
        gone = {}
        ready = dict.fromkeys(self.names, 0.0)
        for step in range(1, HOUR // of.step - 1):
            at = step * of.step
            weight = 1.6 if step % 6 == 0 else 1.0  # each sixth step writes more
            first = [self._make(name, at + 0.3 * weight * self.noise(name), at) for name in ranks["IFS"]]
            second = []
            for n, name in enumerate(ranks["NEMO"]):
                if name in gone:
                    continue
                begin = max(at + 0.02 * self.noise(name), ready[name])
                if self.is_("vanished") and name == self.cause.component and at >= self.cause.begin:
                    gone[name] = at
                    self.event(begin, "leave", name, reason=VANISHED)
                    self.cause.show(begin)
                    continue
                came = self._demand(name, first[n % len(first)], begin)
                second.append((n, self._make(name, came + 0.4 * weight * self.noise(name), at)))
                ready[name] = came
                if self.hits("never_demanded", name, at):
                    self._unwanted(name, at + 1 + self.fate.random())
            of_rank = dict(second)
            for n, name in enumerate(ranks["PGEN"]):
                begin = max(at + 0.5 * self.noise(name), ready[name])
                if step % 5 and self.hits("starved", name, at):
                    continue
                for cdo in (first[n % len(first)], *(of_rank[k] for k in range(n, of.nemo, of.pgen) if k in of_rank)):
                    begin = self._demand(name, cdo, begin)
                ready[name] = begin
            for cdo in (*first, *of_rank.values()):
                self._end(cdo)
        end = max(item[0] for item in self.items) / SECOND
        for name in self.names:
            if name not in gone:
                self.event(end + 1, "leave", name, reason=FINALIZED)
        self.items.sort()
        if self.cause is not None and self.cause.end - self.cause.begin >= HOUR:
            self.cause.first, self.cause.last = 0.0, end  # all the time
            self.cause.count = self.cause.count or of.pgen
        if self.is_("lost"):
            self._lose()

    def noise(self, name=None, sigma=0.25):
        """A factor, at times far off, and each rank has its own mean."""
        factor = self.fate.lognormvariate(0, sigma)
        if self.fate.random() < 0.01:
            factor *= 1 + self.fate.expovariate(1)
        return factor * (self.speed[name] if name else 1)

    def _make(self, name, offered, since):
        """The CDO that the component offers; [id, producer, bytes, when offered, last use]."""
        for kind in ("late_model", "late_middle", "late_rank", "chain"):
            if self.hits(kind, name, since):
                offered += 0.5 * self.size.step * self.noise()
        self.cdos += 1
        key = self.cdos.to_bytes(16, "big")
        size = int(40e6 * self.noise(None, 0.4))
        self.event(since, "declare", name, cdo_id=key, name=b"field %d" % self.cdos)
        self.event(offered - 0.0005, "seal", name, cdo_id=key, size_bytes=size)
        self.event(offered, "offer", name, cdo_id=key, size_bytes=size)
        return [key, name, size, offered, offered]

    def _demand(self, name, cdo, begin):
        """Returns when the data had come."""
        key, producer, size, offered, _ = cdo
        start = 0.004 * self.noise(name) + (0.2 if self.fate.random() < 0.002 else 0)
        moving = size / 1e9 * self.noise(name)
        at = max(begin, offered)
        planted = None
        if self.hits("slow_link", name, at):
            moving, planted = 5 * moving, "moving"
        if self.hits("grown_wait", name, at):
            start, planted = start + 0.1 * self.size.step * self.noise(), "for_start"
        if self.is_("slow_pool") and self.cause.during(at):
            start, planted = start + 0.05 * self.size.step * self.noise(), "for_start"
        self.event(begin, "demand", name, cdo_id=key, before=True)
        self.event(begin + 0.0001, "demand", name, cdo_id=key)
        fails = self.hits("failed", name, at)
        for attempt in range(2 if fails else 1):
            self.transports += 1
            about = {"cdo_id": key, "peer_id": self.names[producer], "transport_id": self.transports, "tier": 1, "cause": 1,
                     "size_bytes": size}
            if fails and not attempt:
                self.event(at + start, "transport_init", name, **about)
                start += 0.5 * self.noise()
                self.event(at + start - 0.001, "transport_failed", name, **about)
                self.cause.show(at + start)
        self.event(at + start, "transport_init", name, **about)
        came = at + start + moving
        self.event(came, "transport_completed", name, **about)
        parts = {"for_offer": max(0.0, offered - begin), "for_start": start, "moving": moving}
        self.waits += [(name, producer, part, came, seconds) for part, seconds in parts.items()]
        if self.cause is not None and self.cause.kind in ("late_model", "late_middle", "late_rank", "chain") and \
                self.hits(self.cause.kind, producer, begin - begin % self.size.step):
            planted = "for_offer"
        if planted:
            self.cause.show(came, parts[planted])
        cdo[4] = max(cdo[4], came)
        return came + 0.001

    def _end(self, cdo):
        """Withdrawn and disposed of when nobody needs it any more."""
        key, name, _, _, last = cdo
        self.event(last + 0.01, "withdraw", name, cdo_id=key, before=True)
        self.event(last + 0.01 + 0.001 * self.noise(), "withdraw", name, cdo_id=key)
        self.event(last + 0.1, "dispose", name, cdo_id=key)

    def _unwanted(self, name, at):
        cdo = self._make(name, at, at - 1)
        self._end(cdo)
        self.cause.show(at + 0.01)

    def _lose(self):
        """The pool manager's queue was full: what came in these seconds is missing."""
        low, high = self.cause.begin * SECOND, self.cause.end * SECOND
        lost = [item for item in self.items if low <= item[0] < high]
        self.items = [item for item in self.items if not low <= item[0] < high]
        self.cause.first, self.cause.last, self.cause.count = self.cause.begin, self.cause.end, len(lost)
        self.lost_at = next(n for n, item in enumerate(self.items) if item[0] >= high)

    def write(self, path):
        """The recording."""
        events = []
        for number, (time, _, kind, app, fields) in enumerate(self.items):
            if self.is_("lost") and number == self.lost_at:
                events.append(stream.recording_pb2.Mark(kind=30, count=self.cause.count, reason=0, time_ns=BEGIN + time))
            events.append(stream.event_pb2.Event(kind=NUMBER[kind], serial=number + 1, time_ns=BEGIN + time, app_id=app, **fields))
        stream.write(path, events, workflow="planted")


def main(directory, hours=2):
    """Writes DIRECTORY/SIZE-CAUSE-SEED.rec and .json."""
    for size in SIZES:
        for kind in (None, *CAUSES):
            for seed in range(int(hours)):
                hour = Hour(size, seed, kind)
                path = pathlib.Path(directory) / f"{size}-{kind or 'quiet'}-{seed}.rec"
                hour.write(path)
                truth = dataclasses.asdict(hour.cause) if hour.cause else {}
                path.with_suffix(".json").write_text(json.dumps(truth))


def judge(cause, bucket_ns, findings):
    """What a diagnosis (a list of dicts) says wrongly of a planted cause, in words; empty: it names the component, the
    interval within a bucket, seconds or number within 5 %. And the other findings."""
    if cause is None:
        return [], findings
    of_cause = [one for one in findings if one["component"] == cause.component]
    own = [one for one in of_cause if cause.kind not in EXACT or one["kind"] == EXACT[cause.kind]]
    own = [one for one in own if cause.kind in EXACT or one["part"] == cause.part]
    others = [one for one in findings if one not in of_cause]
    if not own:
        return [f"{cause.kind} of {cause.component} is not named"], others
    one, wrong = own[0], []
    for what, found, wanted in (("begin", one["begin"], cause.first), ("end", one["end"] - (one["end"] > one["begin"]), cause.last)):
        off = int(found // bucket_ns) - int((BEGIN + wanted * SECOND) // bucket_ns)
        if abs(off) > EDGE and not (what == "end" and cause.kind == "vanished"):  # its finding ends with the hour
            wrong.append(f"{what} is {off} buckets off")
    for what, wanted in (("seconds", cause.seconds), ("count", cause.count)):
        if what == ("seconds" if cause.seconds else "count") and abs(one[what] - wanted) > 0.05 * wanted:
            wrong.append(f"{what} {one[what]} instead of {wanted}")
    return wrong, others


if __name__ == "__main__":
    main(*sys.argv[1:])
