# SPDX-License-Identifier: BSD-3-Clause
"""make bench: what the workflow notices of a vampire that has joined. One workflow runs all the time;
beside it, in blocks, nobody, a member that only joined, a vampire that subscribes to almost nothing,
and a vampire with its defaults. In each round every one of them has one block, in another order; a
ratio is a block's next to the block of the same round in which nobody had joined."""

import bisect
import random
import statistics
import time

import measure
from measure import harness
from processes import cpu_seconds

ROUNDS, QUICK_ROUNDS = 25, 3
BLOCK_SECONDS = 1.5
SETTLE_SECONDS = 0.3  # after joining: the start of a process is not what is measured
FIELDS = ["--steps", 1000000, "--levels", 10, "--params", 10, "--size-min", 4096, "--size-max", 65536]
PACES = (("full", "at full speed", 0), ("pace", "at 1,000 fields a second", 1000))
ALONE, MEMBER, FEW, VAMPIRE = "alone", "member", "few", "vampire"
WHO = {MEMBER: "a member that joined and subscribed to nothing",
       FEW: "vampire with joins and leaves only",
       VAMPIRE: "vampire with its defaults"}


class Block:
    """Who had joined, when, and the processor time of each process in it."""

    def __init__(self, who, began, ended, used):
        self.who, self.began, self.ended, self.used = who, began, ended, used
        self.waits = []

    def per_field_us(self, name):
        return self.used[name] * 1e6 / len(self.waits)

    def wait_us(self, part):
        return sorted(self.waits)[min(len(self.waits) - 1, int(part * len(self.waits)))] / 1e3


class Scene:
    """A workflow of one model and one product generator, which lasts as long as it is wanted."""

    def __init__(self, space, rate):
        self.space = space
        self.times = space.path / "times"
        self.joined = 0
        manager = space.pool_manager()
        flow = harness.Workflow(space, models=1, products=1, model_options=[*FIELDS, "--rate", rate],
                                product_options=["--times", self.times])
        self.pids = {"manager": manager.child.pid, "model": flow.models[0].child.pid,
                     "product": flow.products[0].child.pid}
        harness.wait_until(lambda: self.times.stat().st_size > 0, "the first demands")

    def join(self, who):
        self.joined += 1
        name = f"{who}-{self.joined}"
        if who == MEMBER:
            process = self.space.start([harness.program("workflow_steps"), "Member", f"await {self.mark(name)}"], name)
            harness.wait_until(lambda: "joined" in process.stdout, "the member has joined")
            return process
        events = {"events": {"kinds": ["join"]}} if who == FEW else {}
        ready = self.space.path / f"{name}.ready"
        process = self.space.vampire({**events, "outputs": [{"type": "hdf5", "directory": str(self.space.path)}]},
                                     "--ready-file", ready, name=name, ready=False)
        harness.wait_until(ready.exists, f"{name} has subscribed")
        return process

    def mark(self, name):
        return self.space.path / f"{name}.leave"

    def leave(self, process):
        if process.name.startswith(MEMBER):
            self.mark(process.name).touch()
        else:
            process.signal(15)
        process.expect_exit(0)

    def used(self):
        return {name: cpu_seconds(pid) for name, pid in self.pids.items()}

    def block(self, who):
        process = None if who == ALONE else self.join(who)
        time.sleep(SETTLE_SECONDS)
        before, began = self.used(), time.monotonic_ns()
        time.sleep(BLOCK_SECONDS)
        after, ended = self.used(), time.monotonic_ns()
        if process:
            self.leave(process)
        return Block(who, began, ended, {name: after[name] - before[name] for name in after})

    def demands(self):
        """(when, how long) of what is in the file; its last line may be half written."""
        lines = self.times.read_text().rpartition("\n")[0].splitlines()
        return [tuple(map(int, line.split())) for line in lines]

    def fill_waits(self, blocks):
        last = max(block.ended for block in blocks)
        harness.wait_until(lambda: self.demands()[-1][0] > last, "the last block's demands", 60)
        demands = self.demands()
        ends = [end for end, _ in demands]
        for block in blocks:
            first, end = bisect.bisect(ends, block.began), bisect.bisect(ends, block.ended)
            block.waits = [wait for _, wait in demands[first:end]]


def rounds(rate, count):
    """Each a block of everyone: {who: block}."""
    order, made = random.Random(1), []
    with harness.Workspace(provider="tcp") as space:
        space.environment["MSTRO_WORKFLOW_NAME"] = "bench"
        scene = Scene(space, rate)
        for _ in range(count):
            who = [ALONE, *WHO]
            order.shuffle(who)
            made.append({block.who: block for block in map(scene.block, who)})
        scene.fill_waits([block for one in made for block in one.values()])
    return made


def compared(made, who, value):
    """[mean ratio, and the ends of its 95 % interval] of a block's value to that of the same round's
    block alone."""
    return measure.interval([value(one[who]) / value(one[ALONE]) for one in made])


VALUES = {
    "manager": lambda block: block.per_field_us("manager"),
    "components": lambda block: block.per_field_us("model") + block.per_field_us("product"),
    "fields_a_second": lambda block: len(block.waits) * 1e9 / (block.ended - block.began),
    "wait_p50": lambda block: block.wait_us(0.5),
    "wait_p99": lambda block: block.wait_us(0.99),
}


def weight_lines(_directory, quick=False):
    for name, pace, rate in PACES:
        made = rounds(rate, QUICK_ROUNDS if quick else ROUNDS)
        alone = {key: statistics.median(value(one[ALONE]) for one in made) for key, value in VALUES.items()}
        for who, what in WHO.items():
            manager = VALUES["manager"]
            yield measure.line(
                f"weight.{name}.{who}", f"pool manager's processor time for a field, {pace}, beside {what}",
                "us", [manager(one[who]) for one in made], "beside nobody", [manager(one[ALONE]) for one in made],
                clock="processor", alone=alone,
                ratios={key: compared(made, who, value) for key, value in VALUES.items()})
