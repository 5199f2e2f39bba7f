# SPDX-License-Identifier: BSD-3-Clause
"""Hours of simulated workflows with one planted cause of lateness, or none, and the exact truth. The same seed without the cause is
simulated as well: the difference of the blocked time is the cost. This file does not depend on how vampire.diagnose works.

    causes.py DIRECTORY [--seed N] [--only PART]   writes NAME.rec, NAME.lines (hosts) and NAME.json for each case
    causes.py --score DIRECTORY                    judges NAME.findings.json of each case
"""

import argparse
import collections
import json
import math
import pathlib
import random
import statistics

from simulated import (BEGIN, MIB, SECOND, VANISHED, Gate, Hour, bursty, coupled, diamond, fan_in, many, parameters, phases,
                       pipeline)

LEAST_COST = 0.01  # fraction of the observed time by which at least one component must be blocked longer

# ---- causes


class Redraw(Exception):
    """The workflow of this seed has no place for the cause, or the cause costs too little."""


class Cause:
    """One cause, planted at a place and time that the seed chooses. `names`: all that a diagnosis may call the culprit."""

    def __init__(self, kind, seed, base, push):
        self.kind, self.base, self.push = kind, base, push
        self.dice = random.Random(f"{kind} {seed} cause")
        self.hangs, self.part, self.at, self.names = False, PARTS[kind], set(), []
        self.begin = self.end = 0.0
        self.ready = False

    def choose(self, hour):
        """Where and when."""
        dice = self.dice
        self.size = math.exp(dice.uniform(math.log(0.25), math.log(1.5))) * self.push
        self.pace = statistics.median_high(one.pace for one in hour.components)
        producers = [one for one in hour.components if one.produces]
        self.one = dice.choice(producers)
        self.tail = dice.uniform(100, 400)
        self.stalled = False
        getattr(self, "_choose_" + self.kind, self._choose_one)(hour, producers)
        first, last = self.base.by_name[self.one.name].active
        length = last - first
        self.first, self.last = first, last
        self.begin = first + length * dice.uniform(0.15, 0.5)
        self.end = self.begin + length * dice.uniform(0.2, 0.4)
        if self.kind in ("slower", "drift", "peak"):
            self.end = math.inf
        if self.kind in ("stops", "vanishes", "deadlock"):
            self.begin = first + length * dice.uniform(0.4, 0.8)
        self.gap = max(dice.uniform(60, 240), 0.03 * hour.total)
        self.hangs = self.kind in ("stops", "deadlock") or self.kind == "vanishes" and dice.random() < 0.4

    def _called(self, hour, one):
        """The only rank of a model is the model."""
        return [one.name, one.model] if len(hour.model(one.model)) == 1 else [one.name]

    def _choose_one(self, hour, _producers):
        self.at, self.names = {self.one.name}, self._called(hour, self.one)

    def _group(self, members, names):
        self.at = {one.name for one in members}
        self.one = next(one for one in members if one.produces)
        self.names = names + sorted(self.at)

    def _choose_model(self, hour, _producers):
        model = self.one.model
        self._group([one for one in hour.components if one.model == model], [model])

    def _choose_host(self, hour, producers):
        hosts = sorted({one.host for one in producers})
        host = self.dice.choice(hosts)
        members = [one for one in hour.components if one.host == host]
        if len(hosts) < 2 or len(members) < 3:
            raise Redraw
        models = sorted({one.model for one in members})
        whole = [model for model in models if len(hour.model(model)) == sum(one.model == model for one in members)]
        self._group(members, [host, "host " + host] + whole)

    def _choose_consumer(self, hour, _producers):
        leaves = [one for one in hour.components if not one.produces and hour.sources(one)[0].depth]
        if not leaves:
            raise Redraw
        self.one = self.dice.choice(leaves)
        self._choose_one(hour, None)

    def _choose_link(self, hour, _producers):
        self.one = self.dice.choice([one for one in hour.components if hour.sources(one)])
        self.source = self.dice.choice(hour.sources(self.one))
        one, source = self.one.name, self.source.name
        self.names = self._called(hour, self.one) + self._called(hour, self.source) + [f"{source} to {one}", f"{source} -> {one}"]
        self.at = {one}

    def _choose_failed(self, hour, _producers):
        self._choose_link(hour, None)
        if len(hour.sources(self.one)) > 1:
            self.names = self._called(hour, self.one)

    def _choose_starts(self, _hour, _producers):
        self.names = ["pool manager"]

    def _choose_parameter(self, hour, producers):
        made = self.one.outputs(5)
        self.letter = self.dice.choice(made)[0][0]
        parameter = sorted({name.split("/")[0] for name, _ in made if name[0] == self.letter})
        self._group([one for one in producers if one.model == self.one.model], [self.one.model, *parameter, "param " + parameter[0]])

    def _choose_large(self, hour, producers):
        makers = [one for one in producers if any(size > 300 * MIB and hour.readers[name] for name, size in one.outputs(5))]
        large = {name for one in makers for name, size in one.outputs(5) if size > 300 * MIB}
        takers = [one for one in hour.components if large.intersection(one.inputs(5))]
        if not takers:
            raise Redraw
        self._group(makers, ["transports", *sorted({one.model for one in makers + takers}), *sorted({one.name for one in takers})])

    def _choose_deadlock(self, hour, _producers):
        both = [one for one in hour.components if one.produces and hour.sources(one)]
        if not both:
            raise Redraw
        self.one = self.dice.choice(both)
        self.names = [self.one.name, hour.sources(self.one)[0].name]
        others = [one.name for one in hour.components if one.model == self.one.model and one.name not in self.names]
        if others and self.dice.random() < 0.4:
            self.names.append(self.dice.choice(others))
        self.at = set(self.names)

    # ---- what it does

    def during(self, now):
        """Whether it is active."""
        return self.begin <= now < self.end

    def compute(self, hour, one, step, nominal):
        """Sets what the component takes longer for this step; one that hangs does not come back."""
        if one.name not in self.at or self.kind not in COMPUTE:
            return
        now, size = hour.now, self.size
        if self.kind == "late" and self.during(now):
            one.extra = size * one.pace
        elif self.kind == "slower" and now >= self.begin:
            one.extra = (0.25 + 0.2 * size * (self.push > 1)) * nominal
        elif self.kind == "drift":
            one.extra = max(0.6, size) * nominal * max(0.0, (now - self.first) / (self.last - self.first))
        elif self.kind in ("model", "host") and self.during(now):
            one.extra = max(0.25, size) * nominal
        elif self.kind == "consumer" and self.during(now):
            one.extra = (1 + 2 * size) * one.pace
        elif self.kind == "peak" and step % 10 == 9:
            one.extra = (0.5 + size) * one.pace
        elif now >= self.begin and self.kind == "stall" and not self.stalled:
            self.stalled, one.extra = True, min(60.0, self.dice.uniform(30, 45) * self.push)
        elif now >= self.begin and self.kind in ("stops", "vanishes", "deadlock"):
            yield from self._hang(hour, one)

    def _hang(self, hour, one):
        if self.kind == "deadlock":
            if not self.ready:
                self.ready, self.begin = True, hour.now
                for name in self.names:
                    hour.emit("declare", hour.by_name[name], cdo_id=hour.field("handshake/" + name).key, name=b"handshake/" + name.encode())
            other = self.names[(self.names.index(one.name) + 1) % len(self.names)]
            yield hour.demand(one, ["handshake/" + other])
        if self.stalled:
            return
        self.stalled, self.begin = True, hour.now
        if self.kind == "vanishes":
            hour.emit("leave", one, reason=VANISHED)
            if not self.hangs:
                yield self.gap
                one.app += 1000
                hour.emit("join", one, name=one.name.encode())
                one.extra = self.gap
                return
        yield Gate(1)

    def field_delay(self, one, name, now):
        """Seconds by which this output is offered later than the others."""
        if self.kind != "parameter" or one.name not in self.at or name[0] != self.letter or not self.during(now):
            return 0
        return self.size * one.pace * 0.6

    def transport(self, hour, one, field, start, moving, attempt):
        """Start and duration with the cause; seconds until it fails, or 0."""
        now, fails = hour.now, 0.0
        if not self.during(now):
            return start, moving, fails
        if self.kind == "link" and one.name in self.at and field.producer is self.source:
            hour.felt(now + start + moving, now + start + moving + self.size * self.pace)
            moving += self.size * self.pace
        elif self.kind == "starts":
            hour.felt(now + start, now + start + 0.25 * self.size * self.pace)
            start += 0.25 * self.size * self.pace
        elif self.kind == "large" and field.size > 250 * MIB:
            longer = moving * 6 * self.size
            hour.felt(now + start + moving, now + start + moving + longer)
            moving += longer
        elif self.kind == "failed" and one.name in self.at and attempt < 1 + (field.key[-1] % 3 == 0):
            fails = self.size * self.pace * 0.4
        return start, moving, fails

    def held(self, hour, consumer, since):
        """A withdraw ended with this consumer."""
        if self.kind == "consumer" and consumer.name in self.at and consumer.extra:
            hour.felt(max(since, hour.now - consumer.extra), hour.now)


COMPUTE = ("late", "slower", "drift", "model", "host", "consumer", "peak", "stall", "stops", "vanishes", "deadlock")
PARTS = {"late": "for_offer", "slower": "for_offer", "drift": "for_offer", "model": "for_offer", "host": "for_offer", "link": "moving",
         "starts": "for_start", "consumer": "held_back", "stall": "for_offer", "peak": "for_offer", "stops": "", "vanishes": "",
         "parameter": "for_offer", "large": "moving", "failed": "", "deadlock": ""}
PLACES = {
    "late": (fan_in, coupled, bursty, phases, diamond, pipeline, many), "slower": (fan_in, coupled, pipeline, parameters, diamond),
    "drift": (fan_in, coupled, bursty, phases, diamond), "model": (pipeline, coupled, many, bursty, phases),
    "host": (coupled, many, fan_in, diamond), "link": (fan_in, coupled, parameters, diamond, pipeline),
    "starts": (pipeline, coupled, parameters, many, fan_in), "consumer": (pipeline, parameters, diamond, phases),
    "stall": (coupled, fan_in, diamond, phases, pipeline), "peak": (fan_in, coupled, bursty, diamond, parameters),
    "stops": (pipeline, bursty, diamond, parameters), "vanishes": (fan_in, bursty, diamond, parameters, coupled),
    "parameter": (parameters, parameters, parameters), "large": (diamond, parameters, diamond), "failed": (pipeline, fan_in, coupled, diamond),
    "deadlock": (coupled, pipeline, diamond, fan_in),
}
QUIET = ((fan_in, 9), (pipeline, 8), (coupled, 9), (bursty, 8), (phases, 8), (diamond, 8), (parameters, 8), (many, 3))


def interval(effects):
    """From when to when it was felt, without the first and last hundredth of the seconds."""
    total, found = sum(seconds for _, _, seconds in effects), []
    for ordered in (sorted(effects), sorted(effects, key=lambda effect: -effect[1])):
        seen = 0.0
        for begin, end, seconds in ordered:
            seen += seconds
            if seen >= 0.01 * total:
                found.append(begin if not found else end)
                break
    return found


def plant(build, kind, seed):
    """An Hour with the cause, and its truth."""
    for attempt in range(40):
        key, push = f"{seed}.{attempt}", 1.25 ** (attempt // 4)
        base = Hour(build, key, False, record=False).run()
        try:
            hour = Hour(build, key, False, Cause(kind, key, base, push)).run()
        except Redraw:
            continue
        which = int(kind == "consumer")
        costs = [one.blocked[which] - base.by_name[one.name].blocked[which] for one in hour.components]
        if hour.effects and max(costs) >= LEAST_COST * hour.end and sum(costs) >= LEAST_COST * hour.end:
            begin, end = interval(hour.effects)
            truth = {"kind": kind, "component": hour.cause.names, "part": hour.cause.part, "begin": begin, "end": end,
                     "cost": sum(costs), "worst": max(costs)}
            if kind == "peak":
                truth["periodic"] = 10
            return hour, truth
    raise Redraw(f"{kind} of {build.__name__} costs too little in 40 draws")


def cases():
    """(name, workflow, kind or None) of all."""
    for kind, builds in PLACES.items():
        for number, build in enumerate(builds):
            yield f"{kind}-{build.__name__}-{number}", build, kind
    for build, count in QUIET:
        for number in range(count):
            yield f"quiet-{build.__name__}-{number}", build, None


def generate(directory, seed, only):
    """Writes all cases of this seed whose names contain `only`."""
    for name, build, kind in cases():
        path = pathlib.Path(directory) / f"{name}.rec"
        if only not in name or path.with_suffix(".json").exists():
            continue
        key = f"{seed} {name}"
        if kind:
            try:
                hour, truth = plant(build, kind, key)
            except Redraw as error:
                print(error)
                continue
        else:
            hour, truth = Hour(build, key, True).run(), {"kind": None}
        events = hour.write(path)
        pace = max(one.pace for one in hour.components)
        bucket = "1s" if pace < 6 else "5s"
        truth = {"name": name, "workflow": build.__name__, "size": len(hour.components), **truth,
                 "bucket": "10s" if build is many else bucket, "seconds": hour.end, "events": events, "first": BEGIN + min(hour.items)[0],
                 "habits": hour.habits.words,
                 "blocked": sum(one.blocked[0] for one in hour.components) / hour.end / len(hour.components)}
        if build is parameters:
            truth["attributes"] = ["param=^([a-z]+)/"]
        path.with_suffix(".json").write_text(json.dumps(truth))


# ---- the judge


def judge(truth, findings):
    """full, full+extra, part, wrong or missed; for an hour without a cause quiet, or false and how many."""
    if truth["kind"] is None:
        return f"false {len(findings)}" if findings else "quiet"
    if not findings:
        return "missed"
    names = truth["component"]
    if not any(one["component"] in names for one in findings):
        return "wrong"
    first = findings[0]
    if first["component"] not in names or truth["part"] and first["part"] != truth["part"]:
        return "part"
    begin, end = ((first[side] - truth["first"]) / SECOND for side in ("begin", "end"))
    common = min(end, truth["end"]) - max(begin, truth["begin"])
    whole = max(end, truth["end"]) - min(begin, truth["begin"])
    if common < 0.5 * min(end - begin, truth["end"] - truth["begin"]) or common < 0.3 * whole:
        return "part"
    extra = any(one["follows"] == 0 and one["component"] not in names for one in findings[1:])
    return "full+extra" if extra else "full"


def score(directory):
    """Prints a line for each case, and totals."""
    totals = collections.defaultdict(collections.Counter)
    for path in sorted(pathlib.Path(directory).glob("*.findings.json")):
        truth = json.loads(path.with_name(path.name.replace(".findings", "")).read_text())
        findings = json.loads(path.read_text())
        verdict = judge(truth, findings)
        kind = truth["kind"] or "quiet"
        totals[kind][verdict.split()[0]] += 1
        totals["all causes" if truth["kind"] else "all quiet"][verdict.split()[0]] += 1
        extras = sum(one["follows"] == 0 and one["component"] not in truth.get("component", []) for one in findings)
        totals["all causes" if truth["kind"] else "all quiet"]["extras"] += extras
        cost = f"{truth['cost']:8.0f} s {truth['component'][0]}" if truth["kind"] else f"{'':8}   {' '.join(truth['habits'])}"
        print(f"{truth['name']:26} {truth['size']:4} {verdict:11} {cost}")
    for kind in sorted(totals, key=lambda name: (name.startswith("all"), name)):
        print(f"{kind:12}" + ", ".join(f"{count} {verdict}" for verdict, count in sorted(totals[kind].items())))


def main():
    """Generates or judges."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--score", action="store_true")
    options = parser.parse_args()
    if options.score:
        score(options.directory)
    else:
        generate(options.directory, options.seed, options.only)


if __name__ == "__main__":
    main()
