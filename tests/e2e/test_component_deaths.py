# SPDX-License-Identifier: BSD-3-Clause
"""A component may die at any point: kill -9 of producers and consumers in each state that they can be in.
The others go on, what the dead held is released and counted by its name, and nothing grows."""

import collections
import pathlib
import signal

import pytest

import harness
import jsonl
import results
from test_failures import descriptors
from test_hostile import listening_ports
from test_rejoin import resident_kib

KIB, MIB = 1 << 10, 1 << 20
NOT_DISPOSED, NOT_WITHDRAWN = "not_disposed_at_leave", "not_withdrawn_at_leave"
UNSATISFIED, FAILED, UNWANTED = "demand_never_satisfied", "transport_failed", "offer_never_demanded"

OFFER = ["declare CDO", f"size CDO {64 * KIB}", "offer CDO"]
LARGE_OFFER = ["declare CDO", f"size CDO {8 * MIB}", "offer CDO"]
REQUIRE = ["declare CDO", "require CDO"]
END_OF_OFFER = ["withdraw CDO", "dispose CDO"]
END_OF_REQUIRE = ["retract CDO", "dispose CDO"]

# `victim`, `partner`: the steps (see workflow_steps.c) of the one who is killed and of one who lives; the
# CDO is theirs alone. A step with "..." does not return before the victim is dead. "await ready": until all
# others are where they should be. `stopped`: who stands still from then on, so that a transport stays under
# way. `seen`: what vampire has counted when the state is reached. Then the anomalies, of both.
State = collections.namedtuple(
    "State", "victim anomalies partner stopped seen partners_anomalies", defaults=[[], None, None, []]
)
STATES = {
    "joined": State([], []),
    "declared": State(["declare CDO"], [NOT_DISPOSED]),
    "offered": State(OFFER, [NOT_WITHDRAWN, NOT_DISPOSED]),
    "withdrawing": State(
        [*OFFER, "await ready", "withdraw CDO ..."], [NOT_WITHDRAWN, NOT_DISPOSED],
        partner=[*REQUIRE, "await dead", *END_OF_REQUIRE],
    ),
    "source of a transport": State(
        LARGE_OFFER, [NOT_WITHDRAWN, NOT_DISPOSED],
        partner=[*REQUIRE, "await ready", "!demand CDO ...", *END_OF_REQUIRE], stopped="victim",
        seen=("partner", "transport_init"), partners_anomalies=[FAILED],
    ),
    "withdrawn": State([*OFFER, "withdraw CDO"], [UNWANTED, NOT_DISPOSED]),
    "disposed": State([*OFFER, *END_OF_OFFER], [UNWANTED]),
    "requiring": State(REQUIRE, [NOT_DISPOSED]),
    "demanding": State(
        [*REQUIRE, "demand CDO ..."], [NOT_DISPOSED, UNSATISFIED], seen=("victim", "demand")
    ),
    "sink of a transport": State(
        [*REQUIRE, "await ready", "demand CDO ..."], [NOT_DISPOSED, UNSATISFIED, FAILED],
        partner=[*LARGE_OFFER, "await dead", *END_OF_OFFER], stopped="partner",
        seen=("victim", "transport_init"),
    ),
    "satisfied": State(
        [*REQUIRE, "demand CDO"], [NOT_DISPOSED], partner=[*OFFER, "await dead", *END_OF_OFFER]
    ),
    "retracted": State([*REQUIRE, "retract CDO"], [NOT_DISPOSED]),
    "holding others up": State(
        ["hold CDO"], [], partner=["declare CDO", "await ready", "offer CDO ...", *END_OF_OFFER],
        seen=("partner", "offer"), partners_anomalies=[UNWANTED],
    ),
}


class Deaths:
    """A pool manager, a vampire, and round after round one victim in each state."""

    def __init__(self, space):
        self.space = space
        # Long enough for who stands still a moment; a read from a dead source ends only then.
        self.manager = space.pool_manager("--heartbeat", "100ms", "--silence", f"{5 * harness.PATIENCE:.0f}s")
        settings = harness.vampire_config(bucket="200ms", source={"leave_grace": "600s"})
        self.vampire = space.vampire(settings)
        harness.wait_until(lambda: space.json_lines().exists(), "vampire has opened all its files")
        self.rounds = 0

    def component(self, name, steps, cdo, stays=False):
        argv = [harness.program("workflow_steps"), name]
        for step in steps + ["await the end"] * stays:
            step = step.replace("CDO", cdo).replace("await ", f"await {self.space.path}/{self.rounds}.")
            argv.append(step)
        return self.space.start(argv, harness.safe(name))

    def pairs(self):
        """The processes of a new round by state: victim, and partner if there is one."""
        return {
            name: {
                "victim": self.component(name, state.victim, f"field:{number}", stays=True),
                **({"partner": self.component(f"{name}: partner", state.partner, f"field:{number}")}
                   if state.partner else {}),
            }
            for number, (name, state) in enumerate(STATES.items())
        }

    def mark(self, word):
        (self.space.path / f"{self.rounds}.{word}").touch()

    def newest(self, metric):
        """The newest value of each series of the metric."""
        values = {}
        for record in jsonl.records(self.space.json_lines()):
            if record["type"] == "metric" and record["metric"] == metric:
                labels = record.get("labels", {})
                values[labels.get("component"), labels.get("operation")] = record["value"]
        return values

    def await_readiness(self, pairs):
        for name, pair in pairs.items():
            for role, process in pair.items():
                await_steps(process, getattr(STATES[name], role))
        for name, pair in pairs.items():
            if STATES[name].stopped is not None:
                pair[STATES[name].stopped].signal(signal.SIGSTOP)
        self.mark("ready")

    def await_counted(self, expected):
        """Until vampire has counted each (component, operation) in this round, too."""
        def counted():
            counts = self.newest("pool_operations")
            return all(counts.get(one, 0) > self.rounds for one in expected)

        harness.wait_until(counted, f"vampire counts {expected}", 60)

    def await_states(self):
        self.await_counted([
            (name if state.seen[0] == "victim" else f"{name}: partner", state.seen[1])
            for name, state in STATES.items() if state.seen
        ])

    def play(self):
        """All states once. The partners end well, and then no component and no CDO is left."""
        pairs = self.pairs()
        self.await_readiness(pairs)
        self.await_states()
        assert "done offer" not in pairs["holding others up"]["partner"].stdout
        for pair in pairs.values():
            pair["victim"].signal(signal.SIGKILL)
        for pair in pairs.values():
            pair["victim"].expect_exit(-signal.SIGKILL)
        pairs["sink of a transport"]["partner"].signal(signal.SIGCONT)
        # Before that a partner could still change what the dead has.
        self.await_counted([(name, "leave") for name in STATES])
        self.mark("dead")
        for pair in pairs.values():
            if "partner" in pair:
                pair["partner"].expect_exit(0)
        self.rounds += 1

    def await_nothing(self):
        def nothing_left():
            return all(
                self.newest(gauge).get((None, None)) == 0
                for gauge in ("components_present", "pool_cdos", "pool_bytes", "vampire_tracked_cdos")
            )

        harness.wait_until(nothing_left, "all dead components are noticed", 60)

    def await_descriptors(self, level):
        """Connections of the dead are closed a moment later."""
        harness.wait_until(
            lambda: descriptors(self.manager) <= level[0] and descriptors(self.vampire) <= level[1],
            f"descriptors back to {level}", 30,
        )

    def level(self):
        return descriptors(self.manager), descriptors(self.vampire)

    def finish(self):
        self.vampire.stop()
        return results.Hdf5Run(self.space.hdf5_files())


def await_steps(process, steps):
    """What it does before it has to wait."""
    done = ["joined"]
    for step in steps:
        if step.endswith("...") or step.startswith("await"):
            break
        done.append(f"done {step.split()[0]}")

    def reached():
        assert process.running(), process.account()
        lines = process.stdout.splitlines()
        return len(lines) >= len(done) and all(line.startswith(word) for line, word in zip(lines, done))

    harness.wait_until(reached, f"{process.name} has {done}", 60)


def check(run, rounds):
    found = {name: collections.Counter() for name in STATES}
    for (component, anomaly), count in run.counters["anomalies"].items():
        if count:
            found.setdefault(component, collections.Counter())[anomaly] = count
    expected = {}
    for name, state in STATES.items():
        expected[name] = state.anomalies
        if state.partners_anomalies:
            expected[f"{name}: partner"] = state.partners_anomalies
    for name in {*found, *expected}:
        wanted = collections.Counter(dict.fromkeys(expected.get(name, ()), rounds))
        assert found.get(name) == wanted, f"{name}: {found.get(name)}, not {wanted}"
    left = collections.Counter((row["name"], row["reason"]) for row in run.components)
    for name, state in STATES.items():
        assert left[name, "vanished"] == rounds, left
        assert not state.partner or left[f"{name}: partner", "finalized"] == rounds, left
    assert not results.accounting_differences(run)


def test_a_read_from_a_dead_source_does_not_wait_for_a_heartbeat(space):
    """The reader notices the end of a source that has stood still with a read under way."""
    space.pool_manager("--heartbeat", "120s", "--silence", "480s")
    program = harness.program("workflow_steps")
    steps = [step.replace("CDO", "field") for step in OFFER]
    source = space.start([program, "source", *steps, f"await {space.path}/the end"], "source")
    harness.wait_until(lambda: "done offer" in source.stdout, "the source has offered")
    port, = listening_ports(source)
    source.signal(signal.SIGSTOP)
    steps = [step.replace("CDO", "field") for step in [*REQUIRE, "!demand CDO", *END_OF_REQUIRE]]
    sink = space.start([program, "sink", *steps], "sink")
    harness.wait_until(lambda: connected_to(sink, port), "the sink reads")
    source.signal(signal.SIGKILL)
    source.expect_exit(-signal.SIGKILL)
    sink.expect_exit(0, 20)


def connected_to(process, port):
    lines = pathlib.Path(f"/proc/{process.child.pid}/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "01" for line in lines)


def test_killed_in_every_state(space):
    deaths = Deaths(space)
    level = deaths.level()
    deaths.play()
    deaths.await_nothing()
    deaths.await_descriptors(level)
    check(deaths.finish(), deaths.rounds)


def test_a_subscriber_that_stands_still_holds_up_no_longer_than_the_silence(space):
    space.pool_manager("--heartbeat", "100ms", "--silence", f"{2 * harness.PATIENCE:.0f}s")
    program = harness.program("workflow_steps")
    frozen = space.start([program, "frozen", "hold field", f"await {space.path}/the end"], "frozen")
    await_steps(frozen, ["hold field"])
    frozen.signal(signal.SIGSTOP)
    space.start([program, "partner", *(step.replace("CDO", "field") for step in OFFER + END_OF_OFFER)],
                "partner").expect_exit(0)
    assert frozen.running()


@pytest.mark.long
def test_killed_in_every_state_many_times(space):
    deaths = Deaths(space)
    level, sizes = deaths.level(), []
    for _ in range(40):
        deaths.play()
        deaths.await_nothing()
        deaths.await_descriptors(level)
        sizes.append((resident_kib(deaths.manager), resident_kib(deaths.vampire)))
    print(f"resident KiB of pool manager and vampire: {sizes}")
    check(deaths.finish(), deaths.rounds)
    # By now every set of series is as large as it may be; a row of each component is kept.
    for first, last in zip(sizes[30], sizes[-1]):
        assert last - first < 1024, sizes
