# SPDX-License-Identifier: BSD-3-Clause
"""make bench: what the workflow notices of a vampire that has joined. A workflow runs all the time:
in one scene a model and a product generator, in the other one component that is both. In each round
it runs alone, then with vampire for twice that time, then alone again, so that what drifts does not
count; a ratio is of one round. The instructions are in weight_instructions.py."""

import bisect
import statistics
import time

import measure
from measure import harness
from processes import thread_times
from weight_instructions import instruction_lines

ROUNDS, QUICK_ROUNDS = 11, 2
BLOCK_SECONDS = 1.0
SETTLE_SECONDS = 0.3  # after joining or leaving: the start of a process is not what is measured
MODEL = ["--steps", 1000000, "--levels", 10, "--params", 10, "--size-min", 4096, "--size-max", 65536]
SCENES = (("duo", "a model and a product generator"), ("solo", "one component that is both"))
PACES = (("full", "at full speed", 0), ("pace", "at 1,000 fields a second", 1000))


class Side:
    """The workflow alone, or with vampire: when, and what its processes used."""

    def __init__(self):
        self.times, self.waits = [], []
        self.ran = {"manager": 0.0, "components": 0.0}
        self.waited = dict(self.ran)

    def add(self, began, ended, before, after):
        self.times.append((began, ended))
        for name, (ran, waited) in after.items():
            self.ran[name] += ran - before[name][0]
            self.waited[name] += waited - before[name][1]

    def a_field_us(self, seconds):
        return seconds * 1e6 / len(self.waits)

    def elapsed(self):
        return sum(ended - began for began, ended in self.times) / 1e9

    def wait_us(self, part):
        return sorted(self.waits)[min(len(self.waits) - 1, int(part * len(self.waits)))] / 1e3


class Scene:
    """A workflow that lasts as long as it is wanted."""

    def __init__(self, space, name, rate):
        self.space, self.joined = space, 0
        self.times = space.path / "times"
        manager = space.pool_manager()
        if name == "duo":
            flow = harness.Workflow(space, models=1, products=1, model_options=[*MODEL, "--rate", rate],
                                    product_options=["--times", self.times])
            components = flow.all()
        else:
            components = [space.start([harness.program("workflow_solo"), "--fields", 10**9, "--rate", rate,
                                       "--times", self.times], "solo")]
        self.pids = {"manager": [manager.child.pid], "components": [one.child.pid for one in components]}
        harness.wait_until(lambda: self.times.exists() and self.times.stat().st_size > 0, "the first demands")

    def join(self):
        self.joined += 1
        name = f"vampire-{self.joined}"
        ready = self.space.path / f"{name}.ready"
        process = self.space.vampire({"outputs": [{"type": "hdf5", "directory": str(self.space.path)}]},
                                     "--ready-file", ready, name=name, ready=False)
        harness.wait_until(ready.exists, f"{name} has subscribed")
        return process

    def used(self):
        """{name: (ran, waited)}"""
        return {name: tuple(map(sum, zip(*map(thread_times, pids)))) for name, pids in self.pids.items()}

    def block(self, side, seconds):
        time.sleep(SETTLE_SECONDS)
        before, began = self.used(), time.monotonic_ns()
        time.sleep(seconds)
        side.add(began, time.monotonic_ns(), before, self.used())

    def round(self):
        """(alone, with vampire)"""
        alone, together = Side(), Side()
        self.block(alone, BLOCK_SECONDS)
        process = self.join()
        self.block(together, 2 * BLOCK_SECONDS)
        process.signal(15)
        process.expect_exit(0)
        self.block(alone, BLOCK_SECONDS)
        return alone, together

    def demands(self):
        """(when, how long) of what is in the file; its last line may be half written."""
        lines = self.times.read_text().rpartition("\n")[0].splitlines()
        return [tuple(map(int, line.split())) for line in lines]

    def fill_waits(self, sides):
        last = max(ended for side in sides for _, ended in side.times)
        harness.wait_until(lambda: self.demands()[-1][0] > last, "the last block's demands", 60)
        demands = self.demands()
        ends = [end for end, _ in demands]
        for side in sides:
            for began, ended in side.times:
                first, end = bisect.bisect(ends, began), bisect.bisect(ends, ended)
                side.waits += [wait for _, wait in demands[first:end]]


def rounds(name, rate, count):
    """[(alone, with vampire)]"""
    with harness.Workspace(provider="tcp") as space:
        space.environment["MSTRO_WORKFLOW_NAME"] = "bench"
        scene = Scene(space, name, rate)
        made = [scene.round() for _ in range(count)]
        scene.fill_waits([side for one in made for side in one])
    return made


RATIOS = {
    "manager": lambda side: side.a_field_us(side.ran["manager"]),
    "components": lambda side: side.a_field_us(side.ran["components"]),
    "fields_a_second": lambda side: len(side.waits) / side.elapsed(),
    "wait_p50": lambda side: side.wait_us(0.5),
    "wait_p99": lambda side: side.wait_us(0.99),
}
# In us: how much longer a demand takes, a field takes, and its processes wait for a core.
DIFFERENCES = {
    "wait_mean": lambda side: statistics.fmean(side.waits) / 1e3,
    "elapsed": lambda side: side.a_field_us(side.elapsed()),
    "core": lambda side: side.a_field_us(sum(side.waited.values())),
}


def time_line(scene, what, pace, when, made):
    manager = RATIOS["manager"]
    return measure.line(
        f"weight.{scene}.{pace}", f"pool manager's processor time for a field, {what}, {when}, with vampire",
        "us", [manager(together) for _, together in made], "without", [manager(alone) for alone, _ in made],
        clock="processor", workflow=what, when=when,
        alone={key: statistics.median(value(alone) for alone, _ in made)
               for key, value in {**RATIOS, **DIFFERENCES}.items()},
        ratios={key: measure.robust_ratio([value(together) / value(alone) for alone, together in made])
                for key, value in RATIOS.items()},
        differences={key: measure.robust([value(together) - value(alone) for alone, together in made])
                     for key, value in DIFFERENCES.items()})


def weight_lines(directory, quick=False):
    del directory
    for scene, what in SCENES:
        for pace, when, rate in PACES:
            yield time_line(scene, what, pace, when, rounds(scene, rate, QUICK_ROUNDS if quick else ROUNDS))
    yield from instruction_lines(quick)
