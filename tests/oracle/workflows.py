# SPDX-License-Identifier: BSD-3-Clause
"""Simulated hours of workflows of weather and climate computing, with one planted cause or with none, for the test of
vampire.diagnose: NAME.rec, NAME.lines (who is on which host), and the truth in NAME.json. It was written without knowledge of how the
diagnosis works. What a cause costs is the difference to the same hour without it.

    workflows.py DIRECTORY [--seed N] [--only PART]
"""

import argparse
import collections
import heapq
import itertools
import json
import math
import pathlib
import random
import types
import zlib

import stream

CAUSES = ["slower_for_a_time", "slower_until_end", "gradually_slower", "stall", "every_nth_step", "model_slower", "host_slower",
          "slow_link", "slow_starts", "large_slow", "slow_consumer", "stopped", "vanished", "circle"]
STUCK = ("stopped", "vanished", "circle")
HABITS = ["restart", "phases", "bursts", "idle", "tails", "ending", "daynight", "outliers", "speeds", "checkpoints"]
PARTS = ("for_offer", "for_start", "moving", "held_back")
HOURS, MOST_EVENTS, LEAST_COST = 60, 52000, 0.011  # with a cause, and quiet; estimated for an hour; of the hour
MIB, LARGE, FOREVER = 1 << 20, 48 << 20, float("inf")
JOIN, LEAVE, DECLARE, SEAL, OFFER, REQUIRE, DEMAND, WITHDRAW, DISPOSE, INIT, COMPLETED, TIME_PASSED = 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 29

# Shortest and longest step in seconds; models; links. A model: name (_ is a blank), weight in the number of components (0: a single
# one), time to compute in steps, options: window=N waits in WITHDRAW when N steps are in the pool (else it withdraws what is done),
# keeps: disposes of inputs only after computing, clock=N: begins N steps after the clock's begin (else as soon as it can), every=N:
# acts in each N-th step, single: demands one after the other, ring: neighbours exchange borders. A link: producer, stream, MiB, *> (all
# to all, if they are few) or > (one to one, modulo their numbers), consumer, options: lag=N: takes the CDO of N steps before, exchange:
# demands after it has offered its own. a|b|c is a choice, a-b a range, an option that ends with ? is there half the time.
WORKFLOWS = {
    "ensemble": (10, 40, "IFS 7 1, Products 2 .2-.5 window=8, Archive 0 .1",
        "IFS fields 4|16|64 *> Products, Products grib 8 > Archive"),
    "coupled": (5, 30, "IFS 5 .9 window=6 ring, NEMO 4 .7-.9 window=6 ring, ECWAM 1 .3-.6 window=6, Multio 0 .2",
        "IFS fluxes 4 > NEMO exchange, NEMO surface 2 > IFS exchange, IFS fluxes 4 > ECWAM, ECWAM stress 2 > IFS lag=1, NEMO ocean "
        "16|96 > Multio"),
    "assimilation": (30, 100,
        "Observations 3 .15 window=8 clock=0?, Screening 2 .1 window=8, 4DVar 4 .25 window=8 ring, Forecast 4 .3 window=8 ring, "
        "Verification 1 .3",
        "Observations odb 8 > Screening, Screening screened 4 *> 4DVar, Forecast background 64 > 4DVar lag=1, 4DVar increments 32|128 "
        "> Forecast, Forecast background 64 > Verification"),
    "io_server": (5, 30, "NEMO 8 1 window=1|1|2 ring?, XIOS 2 .45-.75 keeps window=2, Archive 0 .15 keeps",
        "NEMO output 2|24|64 > XIOS, XIOS files 96 > Archive"),
    "chain": (3, 20,
        "Model 0 .5-.8 window=2, Decode 2 .4-.95 keeps window=1|2, Regrid 2 .4-.95 keeps window=1|2|3, Statistics 2 .4-.95 keeps "
        "window=1|2, Encode 2 .4-.95 keeps window=1|3, Plots 0 .3 keeps",
        "Model fields 8|64 > Decode, Decode fields 4|16|80 > Regrid, Regrid fields 4|16 > Statistics, Statistics fields 4|80 > "
        "Encode, Encode fields 4|16 > Plots"),
    "dissemination": (15, 60, "HRES 4 .6-.85 clock=0 ring, Product_generation 3 .2-.5, Encoder 2 .25, Dissemination 2 .2 clock=1.6?",
        "HRES fields 4|64 *> Product_generation, Product_generation products 6 > Encoder, Encoder bufr 3 > Dissemination"),
    "archive": (10, 50,
        "ICON 3 1 window=3 ring, FESOM 3 .85-1 every=2 window=3 ring, Librarian 3 .25 keeps single window=4, Object_store 1 .2 keeps, "
        "Index 0 .05",
        "ICON objects 64|256|512 > Librarian, FESOM objects 64|256 > Librarian, Librarian stored 128 > Object_store, Object_store "
        "entries .01 > Index"),
    "nowcasting": (15, 60, "Radar 5 .2-.5 clock=0, Quality 2 .15, Composite 0 .1-.2, Nowcast 3 .3-.5, Warnings 1 .1",
        "Radar volume 12|60 > Quality, Quality checked 8 > Composite, Composite map 80 > Nowcast, Nowcast ahead 24 > Warnings"),
    "nesting": (6, 30,
        "Global 2 1.6-1.8 every=2 window=4 ring, Regional 3 .7-.95 window=6 ring, Local 5 .6-.9 window=6, Writer 1 .3 window=2",
        "Global boundaries 16|64 > Regional lag=1, Regional boundaries 8 > Local lag=1, Local feedback 4 > Regional lag=1, Local "
        "output 56 > Writer"),
}


class Component:
    """What it does in each of its steps: wait for the clock, demand inputs, compute, offer, demand what it exchanges, withdraw."""
    def __init__(self, number, name, model, base, options):
        self.number, self.name, self.model, self.base, self.host, self.join_at = number, name, model, base, "svc00", 0.0
        self.inputs, self.exchanged = [], []  # (producer, stream, lag)
        self.streams, self.readers = {}, {}  # stream -> bytes of a CDO; stream -> [(consumer, lag)]
        self.every, self.window, self.clock = int(options.get("every", 1)), options.get("window"), options.get("clock")
        self.keeps, self.single = "keeps" in options, "single" in options
        self.acts = lambda step: step % self.every == self.every - 1


class Workflow:
    """The components of an hour, and how the hour goes."""
    def __init__(self, kind, size, rng):
        self.kind, self.components, self.habits, self.models = kind, [], [], {}
        self.seconds, self.step_seconds, self.steps = rng.uniform(1250, 3400), rng.uniform(*WORKFLOWS[kind][:2]), 0
        self.lean = size > 100 or rng.random() < 0.4  # fewer kinds of events
        self.loads, self.restarts, self.gaps, self.bursts, self.noise = [], {}, {}, None, rng.choice([0.02, 0.04, 0.08])
        def options(words):
            words = [word.rstrip("?").partition("=") for word in words if not word.endswith("?") or rng.random() < 0.5]
            return {name: float(rng.choice((values or "1").split("|"))) for name, _, values in words}
        models = [model.split() for model in WORKFLOWS[kind][2].split(", ")]
        weights = sum(float(model[1]) for model in models)
        for name, weight, base, *words in models:
            low, _, high = base.partition("-")
            count, chosen = max(1, round(size * float(weight) / weights)), options(words)
            ranks = self.add(name.replace("_", " "), count, rng.uniform(float(low), float(high or low)), chosen)
            if "ring" in chosen and len(ranks) > 1 and size <= 100:
                for place, step in itertools.product(range(len(ranks)), (-1, 1) if len(ranks) > 2 else (1,)):
                    self.link(ranks[place], ranks[(place + step) % len(ranks)], "halo", 0.5, exchange=True)
        for producer, name, sizes, arrow, consumer, *words in map(str.split, WORKFLOWS[kind][3].split(", ")):
            here, there = self.models[producer.replace("_", " ")], self.models[consumer.replace("_", " ")]
            pairs = [(here[number % len(here)], there[number % len(there)]) for number in range(max(len(here), len(there)))]
            if arrow == "*>" and len(here) * len(there) <= 60:
                pairs = itertools.product(here, there)
            mib, chosen = float(rng.choice(sizes.split("|"))), options(words)
            for one, other in pairs:
                self.link(one, other, name, mib, int(chosen.get("lag", 0)), "exchange" in chosen)
        self.place(rng)

    def add(self, model, count, base, options):
        names, first = [f"{model} -- {rank + 1}" for rank in range(count)] if count > 1 else [model], len(self.components)
        self.models[model] = [Component(first + rank, name, model, base, options) for rank, name in enumerate(names)]
        self.components.extend(self.models[model])
        return self.models[model]

    @staticmethod
    def link(producer, consumer, name, mib, lag=0, exchange=False):
        (consumer.exchanged if exchange else consumer.inputs).append((producer, name, lag))
        producer.streams.setdefault(name, int(mib * MIB))
        producer.readers.setdefault(name, []).append((consumer, lag))

    def place(self, rng):
        """Hosts: ranks of a model side by side, small services together or not."""
        together, alone = rng.random() < 0.5, []
        for model, ranks in self.models.items():
            per_host = rng.choice([1, 2, 3, 4, 8])
            for place, one in enumerate(ranks):
                one.host = f"nid{1000 * (1 + list(self.models).index(model)) + place // per_host:06}"
            alone += ranks if together and len(ranks) <= 2 else []
        for place, one in enumerate(alone):
            one.host = f"svc{1 + place // 4:02}"

    def fields(self, producer, name, step):
        return self.bursts[1] if self.bursts and producer.streams[name] > MIB and step % self.bursts[0] == 0 else 1

    def needs(self, links, step):
        """The CDOs that these links carry in a step, as (producer's number, stream, step, field)."""
        return [(producer.number, name, step - lag, field) for producer, name, lag in links if step >= lag and producer.acts(step - lag)
                for field in range(self.fields(producer, name, step - lag))]

    def consumers(self, producer, name, step):
        return {one.number for one, lag in producer.readers[name] if one.acts(step + lag) and step + lag < self.steps}

    def events_of_a_step(self):
        producing, consuming = (5, 5) if self.lean else (6, 7)
        return sum((1 + (self.bursts[1] - 1) / self.bursts[0] if self.bursts and size > MIB else 1) *
                   (producing / one.every + consuming * sum(1 / max(one.every, reader.every) for reader, _ in one.readers[name]))
                   for one in self.components for name, size in one.streams.items())

    def add_checkpoints(self, rng):
        """From time to time all without inputs, and the largest model, report and wait for one that says go; whether there are any."""
        largest = max(self.models.values(), key=len)
        who = [one for one in self.components if one.every == 1 and one.clock is None and (one in largest or not one.inputs)]
        often, seconds = max(4, self.steps // rng.randint(5, 12)), rng.uniform(0.2, 1.0) * self.step_seconds
        coordinator, = self.add("Checkpoint", 1, seconds, {"every": often}) if len(who) > 1 else [None]
        for one in who if coordinator else []:
            self.link(one, coordinator, "mark", 0)
            self.link(coordinator, one, "go", 0, lag=1)
        return coordinator is not None

    def behave(self, names, rng):
        """Gives the hour its habits; those that do not fit are left out."""
        roots, seconds = [one for one in self.components if not one.inputs], self.seconds
        self.tail, self.outlier = rng.uniform(0.01, 0.03) * ("tails" in names), rng.uniform(0.001, 0.003) * ("outliers" in names)
        for name in names:
            if name == "restart":
                several = [model for model, ranks in self.models.items() if len(ranks) > 1] or list(self.models)
                self.restarts[rng.choice(several)] = (max(4, self.steps // rng.randint(4, 15)), rng.uniform(0.3, 1.2))
            elif name in ("phases", "ending"):
                begin, length, factor = rng.uniform(0.1, 0.7), rng.uniform(0.1, 0.3), rng.choice([0.75, 1.25, 1.5])
                begin, end, factor = (begin, begin + length, factor) if name == "phases" else (0.92, FOREVER, 1.35)
                self.loads.append(lambda time, b=begin * seconds, e=end * seconds, f=factor: f if b <= time < e else 1.0)
            elif name == "daynight":
                depth, waves, phase = rng.uniform(0.08, 0.2), rng.choice([0.5, 1, 2]), rng.uniform(0, 6)
                self.loads.append(lambda time, d=depth, w=waves, p=phase: 1 + d * math.sin(6.283 * w * time / seconds + p))
            elif name == "idle" and all(one.clock is None for one in roots):
                for gap in range(rng.randint(2, 4) if len(roots) > 2 else 4):
                    self.gaps[int(self.steps * (gap + rng.uniform(0.3, 0.9)) / 4.2)] = seconds * rng.uniform(0.01, 0.03)
            elif name == "speeds":
                for one in self.components:
                    one.base *= rng.uniform(0.8, 1.15)
            elif name == "idle" or name == "bursts" and not self.bursts or name == "checkpoints" and not self.add_checkpoints(rng):
                continue
            self.habits.append(name)


def make(kind, size, habits, rng):
    """A workflow whose hour has about the right length and number of events."""
    flow = Workflow(kind, size, rng)
    if size > 200 and flow.events_of_a_step() > 4500:
        return make(kind, int(0.8 * size), habits, rng)
    flow.habits += ["few siblings"] if len(flow.components) < 10 else []
    if "bursts" in habits and size <= 100:
        flow.bursts = (rng.choice([3, 6, 12]), rng.choice([2, 3, 4]))
    flow.steps = int(max(24 if size <= 100 else 16, min(flow.seconds / flow.step_seconds, MOST_EVENTS / flow.events_of_a_step())))
    flow.step_seconds = flow.seconds / flow.steps
    for one in flow.components:
        one.base *= flow.step_seconds
        one.join_at = rng.uniform(0, 4)
    flow.behave(habits, rng)
    flow.bandwidth = max(max(one.streams.values(), default=0) for one in flow.components) / (flow.step_seconds * rng.uniform(0.01, 0.03))
    clocked = any(one.clock is not None for one in flow.components)
    for _ in range(3):
        lasted = Run(flow, None).go(FOREVER)
        if clocked and lasted < 1.08 * flow.seconds or abs(lasted / flow.seconds - 1) < 0.05:
            break
        for one in flow.components:
            one.base *= 0.85 if clocked else flow.seconds / lasted
    return flow


class Fault:
    """One cause, with how strong it is."""
    def __init__(self, flow, kind, components, rng):
        self.kind, self.components, self.numbers = kind, components, {one.number for one in components}
        self.begin = rng.uniform(0.2, 0.55) * flow.seconds * (rng.choice([0, 1]) if kind == "every_nth_step" else 1)
        self.end = self.begin + rng.uniform(0.1, 0.35) * flow.seconds
        if kind == "gradually_slower":
            self.end = 1.1 * flow.seconds
        elif kind in ("slower_until_end", "stall", "every_nth_step", *STUCK) or kind != "slower_for_a_time" and rng.random() < 0.4:
            self.end = FOREVER
        self.strength = {"stall": 0.04 * flow.seconds, "every_nth_step": 1.0, "slow_link": 6.0, "large_slow": 4.0,
                         "slow_starts": 0.06 * flow.step_seconds}.get(kind, 0.4)
        self.strongest = self.strength * {"stall": 6, "slow_link": 60, "large_slow": 100, "slow_starts": 16}.get(kind, 20)
        self.every, self.delay, self.step = rng.choice([3, 4, 5, 6, 8]), rng.uniform(3, 40), int(rng.uniform(0.3, 0.7) * flow.steps)
        self.stalled, self.ahead = False, None  # ahead: of a circle with a WITHDRAW: how many steps ahead the other demands
        if kind == "circle" and not any(link[0] is components[0] for link in components[1].exchanged):
            self.ahead = int(components[0].window) + 1

    def computing(self, component, step, time, seconds):
        """The additional time of a step's computation; None: it never ends."""
        hit = component.number in self.numbers and self.begin <= time < self.end and not self.stalled
        if not hit or self.kind in ("slow_link", "slow_starts", "large_slow", "circle"):
            return 0.0
        self.stalled = self.kind == "stall"
        if self.kind in ("stopped", "vanished", "stall"):
            return self.strength if self.stalled else None
        if self.kind == "every_nth_step":
            return component.base * self.strength if step // component.every % self.every == 0 else 0.0
        return seconds * self.strength * ((time - self.begin) / (self.end - self.begin) if self.kind == "gradually_slower" else 1.0)

    def moving(self, component, size, time, chance):
        """By how many seconds a transport starts later, and by which factor it is longer."""
        hit = {"slow_link": component.number in self.numbers, "large_slow": size >= LARGE, "slow_starts": True}.get(self.kind, False)
        strength = self.strength if hit and self.begin <= time < self.end else 0.0
        return (strength * (0.5 + chance), 1.0) if self.kind == "slow_starts" else (0.0, 1 + strength)


class Run:
    """One simulation of an hour. Times are seconds since its begin."""
    def __init__(self, flow, fault):
        self.flow, self.fault = flow, fault
        self.queue, self.order, self.now = [], itertools.count(), 0.0
        self.events, self.transports = [], itertools.count(1)  # (time, order, kind, component's number, CDO, fields)
        self.cdos = collections.defaultdict(lambda: types.SimpleNamespace(offered=None, size=0, readers=set(), waiting=[], withdrawn=False))
        self.waits = {}  # (component's number, held back, step, place) -> [begin, end, {part: seconds}]
        self.wait = {}  # component's number -> the wait in progress: its key, begin, CDOs, program
        self.active, self.left = [0] * len(flow.components), set()  # transports to each; who vanished
        self.dice = [random.Random(f"{flow.seconds} {one.number}") for one in flow.components]

    def emit(self, time, kind, component, key=None, **fields):
        self.events.append((time, next(self.order), kind, component.number, key, fields))

    def at(self, time, action, *arguments):
        heapq.heappush(self.queue, (time, next(self.order), action, arguments))

    def go(self, horizon):
        for component in self.flow.components:
            self.at(component.join_at, self.resume, component, self.program(component))
        while self.queue and self.queue[0][0] <= horizon:
            self.now, _, action, arguments = heapq.heappop(self.queue)
            action(*arguments)
        for number in list(self.wait):
            self.end_wait(number, horizon)
        self.events = sorted(event for event in self.events if event[0] <= horizon)
        return self.now

    def resume(self, component, program):
        for operation, *arguments in program:
            if operation == "pause":
                self.at(self.now + arguments[0], self.resume, component, program)
            if operation in ("pause", "end") or getattr(self, operation)(component, program, *arguments):
                return

    def program(self, component):
        """The operations of a component, in order."""
        flow, fault, number, outstanding = self.flow, self.fault, component.number, []
        self.emit(self.now, JOIN, component)
        for step in filter(component.acts, range(flow.steps)):
            if component.clock is not None:
                yield "pause", max(0.0, 5 + (step + component.clock) * flow.step_seconds - self.now)
            inputs, exchanged = flow.needs(component.inputs, step), flow.needs(component.exchanged, step)
            circle = fault is not None and fault.kind == "circle" and number in fault.numbers and step == fault.step
            for place, keys in enumerate([[key] for key in inputs] if component.single else [inputs]):
                yield "demand", keys, (step, place)
            if circle and fault.ahead and number == fault.components[1].number:
                here = fault.components[0].number
                yield "demand", [(here, key[1], step + fault.ahead, key[3]) for key in inputs if key[0] == here], (step, -1)
            if not component.keeps:
                self.dispose(component, inputs)
            seconds = self.compute_time(component, step)
            if seconds is None:
                if fault.kind == "vanished":
                    self.at(self.now + fault.delay, self.vanish, component)
                yield ("end",)
            yield "pause", seconds
            if component.keeps:
                self.dispose(component, inputs)
            if circle and not fault.ahead:
                yield "demand", exchanged, (step, -2)
            offers = [(number, name, step, field) for name in component.streams if flow.consumers(component, name, step)
                      for field in range(flow.fields(component, name, step))]
            for key in offers:
                self.offer(component, key)
                yield "pause", 0.0002
            yield "demand", exchanged, (step, -2)
            self.dispose(component, exchanged)
            outstanding.append((step, offers))
            while outstanding and (len(outstanding) > (component.window or FOREVER)
                                   or not any(self.cdos[key].readers for key in outstanding[0][1])):
                yield "withdraw", outstanding[0][1], (outstanding.pop(0)[0], 0)
        for step, offers in outstanding:
            yield "withdraw", offers, (step, 1)
        self.emit(self.now, LEAVE, component, before=True)
        self.emit(self.now + 0.0005, LEAVE, component, reason=1)

    def compute_time(self, component, step):
        flow, dice = self.flow, self.dice[component.number]
        seconds = component.base * math.exp(dice.gauss(0, flow.noise)) * math.prod(load(self.now) for load in flow.loads)
        tail, outlier, longer = dice.random(), dice.random(), dice.paretovariate(2.5)
        seconds *= min(3.0, longer) if tail < flow.tail else 1.0
        every, more = flow.restarts.get(component.model, (1, 0.0))
        seconds += component.base * more * (step % every == every - 1) + (0.0 if component.inputs else flow.gaps.get(step, 0.0))
        more = self.fault.computing(component, step, self.now, seconds) if self.fault else 0.0
        seconds += flow.outlier * flow.seconds if outlier < 0.01 else 0.0
        return None if more is None else seconds + more

    def offer(self, component, key):
        cdo = self.cdos[key]
        cdo.size, cdo.offered = component.streams[key[1]], self.now
        cdo.readers = self.flow.consumers(component, *key[1:3]) - self.left
        for kind in (DECLARE, OFFER) if self.flow.lean else (DECLARE, SEAL, OFFER):
            self.emit(self.now, kind, component, key, **({"size_bytes": cdo.size} if kind == OFFER else {}))
        for consumer in cdo.waiting:
            self.transport(consumer, key, cdo)

    def demand(self, component, program, keys, tag):
        if not keys:
            return False
        self.wait[component.number] = [(component.number, False, *tag), self.now, {key: [None, None] for key in keys}, program]
        for key in keys:
            cdo = self.cdos[key]
            self.emit(self.now, DECLARE, component, key)
            if not self.flow.lean:
                self.emit(self.now, REQUIRE, component, key)
                self.emit(self.now, DEMAND, component, key, before=True)
            self.emit(self.now, DEMAND, component, key)
            if cdo.offered is None:
                cdo.waiting.append(component)
            else:
                self.transport(component, key, cdo)
        return True

    def transport(self, component, key, cdo):
        number, flow = component.number, self.flow
        chance = (zlib.crc32(f"{flow.seconds} {key} {number}".encode()) & 0xFFFFFF) / 0x1000000
        later, longer = self.fault.moving(component, cdo.size, self.now, chance) if self.fault else (0.0, 1.0)
        start = self.now + 0.001 + 0.004 * chance + later
        slower = (1 + 0.15 * self.active[number]) * (0.8 + 0.4 * chance) * (3 if chance > 1 - flow.tail else 1)
        seconds = (0.0005 + cdo.size / flow.bandwidth) * slower * longer * math.prod(load(self.now) for load in flow.loads)
        self.active[number] += 1
        self.wait[number][2][key] = [start, start + seconds]
        which = {"size_bytes": cdo.size, "transport_id": next(self.transports), "peer_id": key[0] + 1, "tier": 1, "cause": 1}
        self.emit(start, INIT, component, key, **which)
        self.emit(start + seconds, COMPLETED, component, key, duration_ns=int(seconds * 1e9), **which)
        self.at(start + seconds, self.arrive, component)

    def arrive(self, component):
        number = component.number
        self.active[number] -= 1
        if all(end is not None and end <= self.now for _, end in self.wait[number][2].values()):
            self.resume(component, self.end_wait(number, self.now))

    def withdraw(self, component, program, keys, tag):
        rest = [key for key in keys if self.cdos[key].readers]
        for key in keys:
            self.emit(self.now, WITHDRAW, component, key, before=True)
            self.cdos[key].withdrawn = key in rest
            if key not in rest:
                self.taken_back(component, key)
        if rest:
            self.wait[component.number] = [(component.number, True, *tag), self.now, set(rest), program]
        return bool(rest)

    def taken_back(self, component, key):
        for later, kind in (0.0001, WITHDRAW), (0.0002, DISPOSE):
            self.emit(self.now + later, kind, component, key, size_bytes=self.cdos[key].size)

    def dispose(self, component, keys):
        for key in keys:
            self.emit(self.now, DISPOSE, component, key)
            self.released(component.number, key)

    def released(self, number, key):
        """A consumer has no need of a CDO any more, for which its producer may wait."""
        cdo, producer = self.cdos[key], self.flow.components[key[0]]
        cdo.readers.discard(number)
        if cdo.readers or not cdo.withdrawn:
            return
        cdo.withdrawn = False
        self.taken_back(producer, key)
        wait = self.wait[key[0]]
        wait[2].discard(key)
        if not wait[2]:
            self.at(self.now + 0.0003, self.resume, producer, self.end_wait(key[0], self.now))

    def vanish(self, component):
        self.left.add(component.number)
        self.emit(self.now, LEAVE, component, reason=2)
        for key, cdo in list(self.cdos.items()):
            if component.number in cdo.readers:
                self.released(component.number, key)

    def end_wait(self, number, now):
        """Writes down how long a component waited, each instant divided equally among what it waited for; returns its program."""
        key, begin, what, program = self.wait.pop(number)
        shares = dict.fromkeys(PARTS, 0.0)
        self.waits[key] = [begin, now, shares]
        if key[1]:
            shares["held_back"] = now - begin
            return program
        moments = [[min(now, max(begin, now if moment is None else moment)) for moment in (self.cdos[one].offered, *times)]
                   for one, times in what.items()]  # of each CDO: offered, started, arrived
        ends = sorted(moment[2] for moment in moments)
        pieces = [(first, last, 1 / (len(ends) - place)) for place, (first, last) in enumerate(zip([begin, *ends], ends)) if first < last]
        for moment in moments:
            at = [0.0] + [sum((min(time, last) - first) * each for first, last, each in pieces if first < time) for time in moment]
            for part, first, last in zip(PARTS, at, at[1:]):
                shares[part] += last - first
        return program


def worst_of(run, usual, fault):
    """(cost, component's number, part, its waits as (begin, end, additional seconds)) where the cause costs most."""
    parts = {"slow_link": ["moving"], "large_slow": ["moving"], "slow_starts": ["for_start"], "slow_consumer": ["held_back"]}
    # The slow one itself waits less for others; at the end of the run all wait for the last consumers.
    who = {one.number for one in run.flow.components} - (fault.numbers if len(fault.numbers) == 1 else set())
    who = {"slow_link": fault.numbers, "slow_consumer": {link[0].number for link in fault.components[0].inputs}}.get(fault.kind, who)
    found = {}
    for key, (begin, end, shares) in run.waits.items():
        before = usual.waits.get(key, [0, 0, dict.fromkeys(PARTS, 0.0)])[2]
        for part in [] if key[0] not in who or key[1] and key[3] else parts.get(fault.kind, ["for_offer", "held_back"]):
            found.setdefault((key[0], part), []).append((begin, end, shares[part] - before[part]))
    cost, number, part = max(((sum(wait[2] for wait in waits), *key) for key, waits in found.items()), default=(0.0, 0, ""))
    return cost, number, part, sorted(found.get((number, part), []))


def span(waits, least):
    """When the additional time elapsed: without its first and last 2 %, and waits that are small against the longest."""
    longest = max(wait[2] for wait in waits)
    more = [wait for wait in waits if wait[2] > least * longest]
    sums = list(itertools.accumulate(wait[2] for wait in more))
    inside = [wait for wait, upto in zip(more, sums) if upto > 0.02 * sums[-1] and upto - wait[2] < 0.98 * sums[-1]]
    return max(inside[0][0], inside[0][1] - inside[0][2]), inside[-1][1]


def choose(flow, kind, rng):
    """Components that a cause of this kind can hit, or none if the workflow has no place for it."""
    working = [one for one in flow.components if one.model != "Checkpoint"]
    if kind in ("model_slower", "host_slower"):
        groups = {}
        for one in working:
            groups.setdefault(one.model if kind == "model_slower" else one.host, []).append(one)
        groups = [group for group in groups.values() if len(group) > 1 and any(one.readers for one in group)] or [[]]
        return rng.choice(groups)
    if kind == "circle":
        pairs = [(here, link[0]) for here in working for link in here.exchanged if any(back[0] is here for back in link[0].exchanged)]
        pairs += [(here, there) for here in working for there, _ in next(iter(here.readers.values()), ())
                  if here.window in (1, 2, 3) and there.keeps and not there.single and there.every == here.every == 1 and not flow.bursts]
        return list(rng.choice(pairs)) if pairs else []
    if kind in ("slow_starts", "large_slow"):
        large = {size >= LARGE for one in working for size in one.streams.values()}
        return working if kind == "slow_starts" or len(large) == 2 else []
    may = {"slow_consumer": lambda one: one.keeps and any(link[0].window is not None for link in one.inputs),
           "slow_link": lambda one: one.inputs}.get(kind, lambda one: one.readers)
    working = list(filter(may, working))
    return rng.sample(working, min(1, len(working)))


def plant(flow, usual, kind, horizon, rng):
    """A cause that costs enough, the run with it, and where it costs most; None if there is none."""
    for _ in range(5):
        components = choose(flow, kind, rng)
        if not components:
            return None
        fault = Fault(flow, kind, components, rng)
        wanted = flow.seconds * math.exp(rng.uniform(math.log(0.013), math.log(0.09)))
        for _ in range(1 if kind in STUCK else 7):
            fault.stalled = False
            run = Run(flow, fault)
            lasted = min(horizon, run.go(min(horizon, 1.4 * flow.seconds)))
            worst = worst_of(run, usual, fault)
            too_much = kind not in STUCK and (worst[0] > 1.6 * wanted + 0.02 * flow.seconds or lasted > 1.35 * flow.seconds)
            if worst[0] > LEAST_COST * max(lasted, flow.seconds) and not too_much:
                return fault, run, worst
            change = 0.6 if too_much else min(3.0, max(0.4, wanted / max(worst[0], 1e-9)))
            fault.strength = min(fault.strongest, fault.strength * change)
    return None


def right_names(flow, fault):
    if fault.kind in ("slow_starts", "large_slow"):
        return ["transports", "pool manager" if fault.kind == "slow_starts" else "large CDOs"]
    names = [one.name for one in fault.components if fault.kind not in ("model_slower", "host_slower")]
    for label in ("model", "host"):
        for value in dict.fromkeys(getattr(one, label) for one in fault.components):
            there = {one.number for one in flow.components if getattr(one, label) == value}
            if there == fault.numbers or label == "model" and len(there) == 1 and there < fault.numbers and fault.kind == "circle":
                names += [value] if label == "model" else [f"host {value}", value]
    if fault.kind == "slow_link":
        names += ["transports", f"transports to {names[0]}"]
    return list(dict.fromkeys(names))


def write_recording(path, flow, run, until, origin):
    """The events, and where nothing happens for long, that time went on."""
    items, last = [], run.events[0][0]
    for serial, (time, _, kind, number, key, fields) in enumerate([*run.events, (until, 0, TIME_PASSED, 0, None, {})], 1):
        while time - last > 10 or kind == TIME_PASSED and time > last:
            last = min(time, last + 5)
            items.append(stream.recording_pb2.Mark(kind=TIME_PASSED, count=0, time_ns=origin + int(last * 1e9)))
        if kind == TIME_PASSED:
            break
        last = time
        event = stream.event_pb2.Event(kind=kind, serial=serial, time_ns=origin + int(time * 1e9), app_id=number + 1, **fields)
        if kind not in (JOIN, LEAVE):
            event.name = f"class:od,stream:{key[1]},number:{key[0] + 1},step:{key[2] + 1},param:{129 + key[3]}".encode()
        elif kind == JOIN:
            event.name = flow.components[number].name.encode()
        items.append(event)
    stream.write(path, items, workflow=flow.kind)


def write_hour(directory, name, flow, run, until, origin, cause):
    start, first = run.events[0][0], origin + int(run.events[0][0] * 1e9)
    write_recording(directory / f"{name}.rec", flow, run, until, origin)
    who = [one.name.replace(" ", "\\ ") + f",host={one.host} pid=1i {first}\n" for one in flow.components]
    (directory / f"{name}.lines").write_text("".join(f"vampire_component,component={text}" for text in who))
    bucket = "1s" if flow.step_seconds < 8 else "5s" if flow.step_seconds < 30 else "10s"
    truth = {"name": name, "workflow": flow.kind, "size": len(flow.components), "kind": None, "component": [], "part": "",
             "begin": None, "end": None, "cost": 0.0, "worst": None, "first": first, "seconds": round(until - start, 3),
             "bucket": bucket, "habits": flow.habits, "step": round(flow.step_seconds, 3), "events": len(run.events)}
    if cause:
        fault, (cost, worst, part, waits) = cause
        begin, end = span(waits, 0.3 if fault.kind == "stall" else 0.05)
        truth.update(kind=fault.kind, component=right_names(flow, fault), part="" if fault.kind in STUCK else part, cost=round(cost, 3),
                     begin=round(begin - start, 3), end=round(end - start, 3),
                     worst=flow.components[worst].name, strength=round(fault.strength, 3))
    (directory / f"{name}.json").write_text(json.dumps(truth, indent=1))
    return truth


def hour(directory, seed, number, cause):
    """Simulates and writes one hour; a workflow without a place for the cause is replaced by the next one."""
    rng = random.Random(f"workflows {seed} {number} {cause}")
    size = rng.randint(240, 460) if number % 20 == 13 else rng.randint(4, 9) if number % 10 == 6 else rng.randint(10, 60)
    habits = rng.sample(HABITS, rng.randint(1, 4) if cause else rng.randint(3, 7))
    kinds, first = list(WORKFLOWS), number + 2 * (number // len(CAUSES))
    name = f"{'cause' if cause else 'quiet'}-{number + 1:02}"
    origin = 1_772_323_200_000_000_000 + (number * 3600 + rng.randrange(900)) * 1_000_000_000
    for attempt in range(3 * len(kinds)):
        flow = make(kinds[(first + attempt) % len(kinds)], size, habits, rng)
        whole = rng.random() < 0.6 and cause not in STUCK
        horizon = FOREVER if whole else flow.seconds * (rng.uniform(0.98, 1.05) if cause in STUCK else rng.uniform(0.88, 0.97))
        usual = Run(flow, None)
        usual.go(horizon)
        planted = plant(flow, usual, cause, horizon, rng) if cause else None
        if planted or not cause:
            run = planted[1] if planted else usual
            until = horizon if horizon != FOREVER else run.events[-1][0]
            return write_hour(directory, name, flow, run, until, origin, planted and planted[::2])
    raise RuntimeError(f"{name}: no workflow has a place for {cause}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    for number, kind in itertools.product(range(HOURS), ("cause", "quiet")):
        if options.only in f"{kind}-{number + 1:02}":
            truth = hour(options.directory, options.seed, number, CAUSES[number % len(CAUSES)] if kind == "cause" else None)
            print(*(f"{name}={truth[name]}" for name in "name workflow size kind worst part cost seconds step events".split()), flush=True)


if __name__ == "__main__":
    main()
