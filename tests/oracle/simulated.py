# SPDX-License-Identifier: BSD-3-Clause
"""Simulated workflows. A component is a process: it demands its inputs, which blocks it, computes, offers its outputs, and withdraws
old ones, which may block it too. A delay of a component therefore shifts everything that depends on it. causes.py plants causes."""

import collections
import heapq
import math
import random

import stream

BEGIN = 1_800_000_000 * 10**9
SECOND = 10**9
NUMBER = {name: number for number, name in stream.KINDS.items()}
FINALIZED, VANISHED, TIME_MARK = 1, 2, 29
FOREVER = object()
MIB = 1 << 20


class Gate:
    """A process that yields it continues when `left` is 0."""

    def __init__(self, left):
        self.left, self.process = left, None


class Component:
    """One rank. `pace` is its computing time of a step in seconds; `inputs` and `outputs` are functions of the step that return
    names, and (name, bytes). With `depth`, it waits in WITHDRAW until at most so many of its steps are in the pool."""

    def __init__(self, name, steps, pace, inputs=None, outputs=None, depth=None, serial=False):
        self.name, self.model = name, name.partition(" -- ")[0]
        self.steps, self.pace, self.depth, self.serial = steps, pace, depth, serial
        self.inputs, self.outputs = inputs or (lambda step: []), outputs or (lambda step: [])
        self.app = self.host = self.dice = None
        self.speed, self.extra, self.produces = 1.0, 0.0, outputs is not None
        self.active, self.done = [math.inf, 0.0], False  # when it computed first and last
        self.pending, self.since, self.blocked = [0, 0], [0.0, 0.0], [0.0, 0.0]  # of DEMAND and of WITHDRAW

    def count(self, which, change, now):
        """One more, or one less, operation is pending."""
        if self.pending[which]:
            self.blocked[which] += now - self.since[which]
        self.pending[which] += change
        self.since[which] = now


class Field:
    """A CDO: `needed` consumers take it; `late` is the planted part of the time until its offer."""

    def __init__(self, number, needed):
        self.key, self.needed, self.taken = number.to_bytes(16, "big"), needed, 0
        self.producer, self.size, self.offered, self.late = None, 0, None, 0.0
        self.waiting, self.withdraw = [], None


class Habits:
    """What makes an hour messy, all of it without a fault; chosen by the seed."""

    def __init__(self, dice, total, quiet):
        def some(chance, value):
            return value if dice.random() < chance * (1 if quiet else 0.5) else 0

        self.total = total
        self.sigma = dice.choice((0.03, 0.08, 0.15, 0.25) if quiet else (0.03, 0.05, 0.1))
        self.restart = some(0.5, dice.randrange(5, 13))
        self.heavy = dice.uniform(1.4, 2.5)
        self.day = some(0.4, dice.uniform(0.2, 0.8))
        self.start = some(0.4, dice.uniform(0.5, 2))
        self.spread = some(0.6, dice.uniform(0.05, 0.2))
        self.outliers = some(0.6, 0.01)
        self.early = some(0.5, 0.05)
        self.pause, self.paused = some(0.3, dice.uniform(0.2, 0.8)), dice.uniform(40, 200)  # of all components, at the same step
        self.words = [name for name in ("restart", "day", "start", "spread", "outliers", "early", "pause") if getattr(self, name)]

    def factor(self, component, step, now):
        """Of the computing time of this step."""
        dice = component.dice
        factor = component.speed * dice.lognormvariate(0, self.sigma)
        outlier, early = dice.random() < self.outliers, dice.random() < self.early
        tail = dice.expovariate(0.8)
        if outlier:
            factor *= 1 + min(tail, 3, 0.004 * self.total / component.pace)  # less than what a cause costs at least
        if component.produces and self.restart and step % self.restart == self.restart - 1:
            factor *= self.heavy
        if early and not component.produces:
            factor *= 0.2  # it demands the next step earlier
        return factor * (1 + self.day * math.sin(math.pi * now / self.total) ** 2) * (1 + self.start * math.exp(-step / 4))


class Hour:
    """One run of a workflow. `effects` are the intervals in which the planted cause was felt: (begin, end, seconds)."""

    def __init__(self, build, seed, quiet, cause=None, record=True):
        dice = random.Random(f"{build.__name__} {seed}")
        self.record, self.cause, self.now, self.serial = record, cause, 0.0, 0
        self.items, self.queue, self.fields, self.effects = [], [], {}, []
        self.components, self.total, self.per_host = build(dice)
        self.habits = Habits(dice, self.total, quiet)
        self.readers, self.by_name = collections.Counter(), {}
        self.requires, self.pool_start = dice.random() < 0.5, dice.uniform(0.001, 0.006)
        self.transports, self.bandwidth = 0, dice.uniform(0.6e9, 2e9)
        for number, one in enumerate(self.components):
            one.app, one.dice = number + 1, random.Random(f"{seed} {one.name}")
            one.host = f"n{1 + number // self.per_host:03}"
            one.speed = one.dice.lognormvariate(0, self.habits.spread)
            self.by_name[one.name] = one
            for step in range(one.steps):
                self.readers.update(one.inputs(step))
        if cause:
            cause.choose(self)

    # ---- the engine

    def later(self, delay, call, *args):
        """Calls it after so many seconds."""
        self.serial += 1
        heapq.heappush(self.queue, (self.now + delay, self.serial, call, args))

    def resume(self, process):
        """Lets a process run until it waits again."""
        wish = next(process, FOREVER)
        if isinstance(wish, Gate):
            wish.process = process
            if not wish.left:
                self.later(0, self.resume, process)
        elif wish is not FOREVER:
            self.later(wish, self.resume, process)

    def open(self, gate):
        """One thing less to wait for."""
        gate.left -= 1
        if not gate.left and gate.process:
            self.later(1e-5, self.resume, gate.process)

    def emit(self, kind, component, delay=0.0, **fields):
        """An event of the recording."""
        if self.record:
            self.items.append((int((self.now + delay) * SECOND), len(self.items), kind, component.app, fields))

    def felt(self, begin, end):
        """The cause cost something in this interval."""
        if end > begin:
            self.effects.append((begin, end, end - begin))

    def run(self):
        """Simulates until nothing happens any more."""
        for one in self.components:
            self.emit("join", one, one.app * 1e-5, name=one.name.encode())
            self.later(0.01 + 0.5 * one.dice.random(), self.resume, self.life(one))
        while self.queue:
            self.now, _, call, args = heapq.heappop(self.queue)
            call(*args)
        self.end = self.now
        if self.cause and self.cause.hangs:
            self.end += self.cause.tail
            for field in self.fields.values():
                for _, _, since in field.waiting:
                    self.felt(max(since, self.cause.begin), self.end)
        for one in self.components:
            for which in (0, 1):
                one.count(which, 0, self.end)
            if one.done:
                self.emit("leave", one, 1.0, reason=FINALIZED)
        return self

    # ---- a component

    def life(self, one):
        """The process of a component."""
        kept = collections.deque()
        for step in range(one.steps):
            if self.habits.pause and step == int(self.habits.pause * one.steps):
                yield self.habits.paused
            inputs = one.inputs(step)
            if one.serial:
                for name in inputs:
                    yield self.demand(one, [name])
            elif inputs:
                yield self.demand(one, inputs)
            nominal = one.pace * self.habits.factor(one, step, self.now)
            one.extra = 0.0
            if self.cause:
                yield from self.cause.compute(self, one, step, nominal)
            begin = self.now
            yield nominal + one.extra
            one.active = [min(one.active[0], begin), self.now]
            for name in inputs:
                self.emit("dispose", one, cdo_id=self.field(name).key)
            mine = [(name, size) for name, size in one.outputs(step) if self.readers[name]]
            for name, size in mine:
                late = self.cause.field_delay(one, name, self.now) if self.cause else 0
                self.emit("declare", one, cdo_id=self.field(name).key, name=name.encode())
                self.later(0.002 + late, self.offer, one, name, int(size * one.dice.lognormvariate(0, 0.1)), late or one.extra)
                yield 0.002
            kept.append([name for name, _ in mine])
            while one.depth and len(kept) > one.depth:
                for name in kept.popleft():
                    yield self.withdraw(one, name)
        for names in kept if one.depth else ():
            for name in names:
                yield self.withdraw(one, name)
        one.done = True

    def field(self, name):
        """The CDO of this name."""
        if name not in self.fields:
            self.fields[name] = Field(len(self.fields) + 1, self.readers[name])
        return self.fields[name]

    def offer(self, one, name, size, late):
        """The CDO is in the pool; who waits for it gets it."""
        field = self.field(name)
        field.producer, field.size, field.offered, field.late = one, size, self.now, late
        self.emit("seal", one, -0.0002, cdo_id=field.key, size_bytes=size)
        self.emit("offer", one, cdo_id=field.key, size_bytes=size)
        for consumer, gate, since in field.waiting:
            if late > 0.02:
                self.felt(max(since, self.now - late), self.now)
            self.transport(consumer, field, gate, 0)
        field.waiting = []

    def demand(self, one, names):
        """Demands all of them at once; the gate opens when all have arrived."""
        gate = Gate(len(names))
        for place, name in enumerate(names):
            field, delay = self.field(name), place * 2e-6
            self.emit("declare", one, delay - 0.0002, cdo_id=field.key, name=name.encode())
            if self.requires:
                self.emit("require", one, delay - 0.0001, cdo_id=field.key)
            self.emit("demand", one, delay, cdo_id=field.key, before=True)
            self.emit("demand", one, delay + 0.00005, cdo_id=field.key)
            one.count(0, 1, self.now)
            if field.offered is None:
                field.waiting.append((one, gate, self.now))
            else:
                self.transport(one, field, gate, 0)
        return gate

    def transport(self, one, field, gate, attempt):
        """From the producer to the consumer; with a planted failure once more."""
        start = 0.0002 + self.pool_start * one.dice.lognormvariate(0, 0.5)
        moving = 0.0005 + field.size / self.bandwidth * one.dice.lognormvariate(0, 0.2)
        fails = 0.0
        if self.cause:
            start, moving, fails = self.cause.transport(self, one, field, start, moving, attempt)
        self.transports += 1
        about = {"cdo_id": field.key, "peer_id": field.producer.app, "transport_id": self.transports, "tier": 1, "cause": 1,
                 "size_bytes": field.size}
        self.emit("transport_init", one, start, **about)
        if fails:
            self.emit("transport_failed", one, start + fails, **about)
            self.felt(self.now, self.now + start + fails)
            self.later(start + fails, self.transport, one, field, gate, attempt + 1)
        else:
            self.later(start + moving, self.arrived, one, field, gate, about)

    def arrived(self, one, field, gate, about):
        """The consumer has the data."""
        self.emit("transport_completed", one, **about)
        one.count(0, -1, self.now)
        field.taken += 1
        if field.taken == field.needed:
            if field.withdraw:
                self.withdrawn(field, one)
            elif not field.producer.depth:
                self.emit("withdraw", field.producer, 0.002, cdo_id=field.key, before=True)
                self.emit("withdraw", field.producer, 0.0025, cdo_id=field.key)
                self.emit("dispose", field.producer, 0.003, cdo_id=field.key)
        self.open(gate)

    def withdraw(self, one, name):
        """Waits until nobody needs the CDO any more."""
        field = self.field(name)
        field.withdraw = (Gate(1), self.now)
        self.emit("withdraw", one, cdo_id=field.key, before=True)
        one.count(1, 1, self.now)
        if field.offered is not None and field.taken == field.needed:
            self.later(0.0003, self.withdrawn, field, None)
        return field.withdraw[0]

    def withdrawn(self, field, last):
        """The producer has it back."""
        gate, since = field.withdraw
        one = field.producer
        self.emit("withdraw", one, 0.0001, cdo_id=field.key)
        self.emit("dispose", one, 0.0002, cdo_id=field.key)
        one.count(1, -1, self.now)
        if self.cause and last:
            self.cause.held(self, last, since)
        self.open(gate)

    # ---- results

    def write(self, path):
        """The recording, and the lines that say where components run."""
        events = []
        for serial, (time, _, kind, app, fields) in enumerate(sorted(self.items, key=lambda item: item[:2])):
            events.append(stream.event_pb2.Event(kind=NUMBER[kind], serial=serial + 1, time_ns=BEGIN + time, app_id=app, **fields))
        if self.cause and self.cause.hangs:
            events.append(stream.recording_pb2.Mark(kind=TIME_MARK, count=0, time_ns=BEGIN + int(self.end * SECOND)))
        stream.write(path, events, workflow="causes")
        lines = []
        for one in self.components:
            name = one.name.replace(" ", "\\ ")
            lines.append(f"vampire_component,component={name},host={one.host} pid={4000 + one.app}i {BEGIN + one.app * 10_000 + 5000}\n")
        path.with_suffix(".lines").write_text("".join(lines))
        return len(self.items)

    def sources(self, consumer, step=5):
        """The components that offer the inputs of this step."""
        names = set(consumer.inputs(step))
        return [one for one in self.components if any(names.intersection(name for name, _ in one.outputs(at))
                                                      for at in range(step - 1, min(step + 2, one.steps)))]

    def model(self, name):
        """Names of the ranks of a model."""
        return [one.name for one in self.components if one.model == name]


# ---- workflows: each returns the components, about how many seconds they take, and the ranks on a host


def _ranks(model, count):
    return [f"{model} -- {number}" for number in range(count)]


def _steps(dice, per_step, low=40, high=360, events=3500):
    """How many steps, and seconds of each, so that about so many CDOs are transported in 20 to 60 minutes."""
    steps = max(low, min(high, events // per_step))
    return steps, dice.uniform(1500, 3400) / steps


def pipeline(dice):
    """Stages that hold back the stages before them."""
    stages, width = dice.choice(((4, 1), (3, 4), (4, 6), (5, 8)))
    steps, pace = _steps(dice, stages * width * 2)
    names = dice.sample(("decode", "IFS", "regrid", "MIR", "encode", "compress", "ensemble stats"), stages - 1) + ["archive"]
    depth, sizes = dice.randrange(2, 5), [dice.uniform(20, 300) * MIB for _ in names]
    slowest = dice.randrange(stages)
    found = []
    for stage, model in enumerate(names):
        for rank in range(width):
            def fields(step, of=stage, rank=rank):
                return [f"{names[of]}/{rank}/{kind}/{step}" for kind in ("field", "meta")]

            share = 0.95 if stage == slowest else dice.uniform(0.4, 0.75)
            found.append(Component(
                f"{model} -- {rank}", steps, pace * share,
                (lambda step, fields=fields, stage=stage: fields(step, stage - 1)) if stage else None,
                (lambda step, fields=fields, size=sizes[stage]: list(zip(fields(step), (size, 4096)))) if stage < stages - 1 else None,
                depth))
    return found, steps * pace, max(1, width)


def fan_in(dice):
    """An ensemble; each cycle ends with a product of all members, and begins with one where `cycled`."""
    members, cycled = dice.choice((12, 20, 32, 50)), dice.random() < 0.5
    steps, pace = _steps(dice, members * (2 if cycled else 1))
    found = [Component("product -- 0", steps, pace * dice.uniform(0.1, 0.4),
                       lambda step: [f"forecast/m{m}/s{step}" for m in range(members)],
                       (lambda step: [(f"analysis/s{step + 1}", 40 * MIB)]) if cycled else None,
                       2 if cycled else None)]
    for m in range(members):
        found.append(Component(
            f"EPS -- {m}", steps, pace * 0.7,
            (lambda step: [f"analysis/s{step}"] if step else []) if cycled else None,
            lambda step, m=m: [(f"forecast/m{m}/s{step}", 80 * MIB)], dice.choice((2, 3))))
    return found, steps * pace, 4


def coupled(dice):
    """Ocean and atmosphere, which exchange fields both ways in each step, with or without a lag; and an I/O server."""
    width, lag = dice.choice((2, 4, 8, 12)), dice.choice((0, 1))
    steps, pace = _steps(dice, width * 4)
    found = []
    atmosphere, ocean = dice.choice((("IFS", "NEMO"), ("ICON", "FESOM")))
    shift = dice.randrange(width)
    for rank in range(width):
        found.append(Component(
            f"{atmosphere} -- {rank}", steps, pace * 0.6,
            lambda step, rank=rank: [f"sst/{rank}/{step - 1}", f"ice/{(rank + shift) % width}/{step - 1}"] if step else [],
            lambda step, rank=rank: [(f"flux/{rank}/{step}", 20 * MIB), (f"out/{rank}/{step}", 150 * MIB)]))
        found.append(Component(
            f"{ocean} -- {rank}", steps, pace * (0.3 if lag == 0 else 0.5),
            lambda step, rank=rank: [f"flux/{rank}/{step - lag}"] if step >= lag else [],
            lambda step, rank=rank: [(f"sst/{rank}/{step}", 10 * MIB), (f"ice/{rank}/{step}", 8 * MIB)]))
    servers = max(1, width // 4)
    for server in range(servers):
        found.append(Component(f"multio -- {server}", steps, pace * 0.3,
                               lambda step, server=server: [f"out/{rank}/{step}" for rank in range(server, width, servers)]))
    found.sort(key=lambda one: one.model)
    return found, steps * pace, max(2, width // 2)


def bursty(dice):
    """All output of 15 minutes of the model at once; product generation is idle between."""
    ranks, products = dice.choice(((4, 3), (8, 6), (12, 8)))
    kinds = [f"{name}{level}" for name in ("t", "z", "q") for level in (850, 500)][: dice.choice((4, 6))]
    steps, pace = _steps(dice, ranks * len(kinds), 24, 60)

    def inputs(product, step):
        return [f"{kind}/r{rank}/{15 * step}min" for rank in range(ranks) for kind in kinds[product % 2 :: 2]
                if (rank + product // 2) % max(1, products // 2) == 0]

    found = [Component(f"model -- {rank}", steps, pace * 0.9, None,
                       lambda step, rank=rank: [(f"{kind}/r{rank}/{15 * step}min", (700 if kind[0] == "q" else 30) * MIB) for kind in kinds])
             for rank in range(ranks)]
    found += [Component(f"PGEN -- {product}", steps, pace * dice.uniform(0.05, 0.2),
                        lambda step, product=product: inputs(product, step), serial=product % 2 == 1) for product in range(products)]
    return found, steps * pace, 4


def phases(dice):
    """Analysis with short steps, then the forecast with longer ones, then post-processing of what was archived."""
    width = dice.choice((3, 5, 8))
    first, second, third = dice.randrange(60, 120), dice.randrange(50, 90), dice.randrange(60, 160)
    one, two, three = dice.uniform(3, 6), dice.uniform(14, 22), dice.uniform(3, 6)
    found = []
    for r in range(width):
        found.append(Component(f"4DVAR -- {r}", first, one, lambda step, r=r: [f"obs/{r}/{step}"],
                               lambda step, r=r: [(f"increment/{r}/{step}", 30 * MIB), (f"initial/{r}/{step}", 500 * MIB)]))
        found.append(Component(f"obs -- {r}", first, one * 0.6, None, lambda step, r=r: [(f"obs/{r}/{step}", 5 * MIB)], 4))
        found.append(Component(f"minim -- {r}", first, one * 0.3, lambda step, r=r: [f"increment/{r}/{step}"]))
        found.append(Component(
            f"forecast -- {r}", second, two,
            lambda step, r=r: [f"halo/{(r + 1) % width}/{step - 1}"] if step else [f"initial/{r}/{first - 1}"],
            lambda step, r=r: [(f"output/{r}/{step}", 200 * MIB), (f"halo/{r}/{step}", 2 * MIB), (f"final/{r}/{step}", 900 * MIB)]))
        found.append(Component(f"writer -- {r}", second, two * 0.4, lambda step, r=r: [f"output/{r}/{step}"]))
        found.append(Component(f"post -- {r}", third, three, lambda step, r=r: [] if step else [f"final/{k}/{second - 1}" for k in range(width)],
                               lambda step, r=r: [(f"product/{r}/{step}", 20 * MIB)], 6))
        found.append(Component(f"FDB -- {r}", third, three * 0.5, lambda step, r=r: [f"product/{r}/{step}"]))
    found.sort(key=lambda each: each.model)
    return found, first * one + second * two + third * three, width


def many(dice):
    """500 ranks of three models."""
    ifs, nemo, pgen = dice.choice(((240, 160, 100), (300, 150, 50), (200, 200, 100)))
    steps, pace = dice.randrange(18, 23), dice.uniform(60, 90)
    found = [Component(f"IFS -- {n}", steps, pace * 0.9, lambda step, n=n: [f"h/{n ^ 1}/{step - 1}"] if step and n ^ 1 < ifs else [],
                       lambda step, n=n: [(f"i/{n}/{step}", 40 * MIB), (f"h/{n}/{step}", MIB)]) for n in range(ifs)]
    found += [Component(f"NEMO -- {n}", steps, pace * 0.6, lambda step, n=n: [f"i/{n % ifs}/{step}"],
                        lambda step, n=n: [(f"n/{n}/{step}", 20 * MIB)]) for n in range(nemo)]
    found += [Component(f"PGEN -- {n}", steps, pace * 0.3, lambda step, n=n: [f"i/{n}/{step}"] + [f"n/{k}/{step}" for k in range(n, nemo, pgen)])
              for n in range(pgen)]
    return found, steps * pace, 20


def diamond(dice):
    """One model feeds two, which both feed one."""
    width = dice.choice((1, 3, 8, 12))
    steps, pace = _steps(dice, width * 4)
    depth = dice.choice((None, 3))
    found = []
    for r in range(width):
        found += [
            Component(f"atmos -- {r}", steps, pace * 0.8, None, lambda step, r=r: [(f"wind/{r}/{step}", 60 * MIB)], depth or 4),
            Component(f"wave -- {r}", steps, pace * dice.uniform(0.5, 0.7), lambda step, r=r: [f"wind/{r}/{step}"],
                      lambda step, r=r: [(f"swh/{r}/{step}", 20 * MIB)], depth),
            Component(f"chem -- {r}", steps, pace * 0.5, lambda step, r=r: [f"wind/{r}/{step}"],
                      lambda step, r=r: [(f"aod/{r}/{step}", 700 * MIB)], depth),
            Component(f"impact -- {r}", steps, pace * 0.4, lambda step, r=r: [f"swh/{r}/{step}", f"aod/{r}/{step}"])]
    found.sort(key=lambda one: one.model)
    return found, steps * pace, max(1, min(8, width))


def parameters(dice):
    """Fields of several parameters and levels, named "t/850/step12.r3"."""
    ranks, products = dice.choice(((2, 2), (4, 4), (8, 4)))
    names, levels = ("t", "u", "v", "q", "z"), dice.choice(((850,), (850, 500)))
    steps, pace = _steps(dice, ranks * len(names) * len(levels), 40, 150, 4500)
    depth = dice.choice((None, 2, 3))

    def made(rank, step):
        return [f"{name}/{level}/step{step}.r{rank}" for name in names for level in levels]

    found = [Component(f"IFS -- {r}", steps, pace * 0.8, None, lambda step, r=r: [(name, (600 if name[0] == "q" else 3) * MIB) for name in made(r, step)],
                       depth) for r in range(ranks)]
    found += [Component(f"PGEN -- {p}", steps, pace * 0.45, lambda step, p=p: [n for r in range(p, ranks, products) for n in made(r, step)])
              for p in range(products)]
    return found, steps * pace, 4
