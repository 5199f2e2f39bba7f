# SPDX-License-Identifier: BSD-3-Clause
"""make bench: the user instructions that the pool manager and a component execute for a field, with
nobody else, with a member, with a vampire. callgrind counts all threads of both, so the machine's speed
does not matter, nor whether it has hardware counters. Load does: threads that wait for a processor go to
sleep and gather less, so the numbers hold for a machine with nothing else to do. At a load of 7 a vampire
added 25 % and a bare member 14 %, with 3.7 messages a field instead of 0.64. The results say what the load
was."""

import pathlib
import re
import statistics

import measure
from measure import harness

REPETITIONS, QUICK_REPETITIONS = 3, 1
FIELDS, QUICK_FIELDS = 1000, 200
OPERATIONS = 11  # of a field: tests/workflow/workflow_solo.c
NOBODY, MEMBER, FEW, VAMPIRE = "nobody", "member", "few", "vampire"
WHO = {NOBODY: "nobody", MEMBER: "a member that joined and subscribed to nothing",
       FEW: "vampire with joins and leaves only", VAMPIRE: "vampire with its defaults"}
SUMMARY = re.compile(r"; (\d+) events sent in (\d+) messages, (\d+) lost")


def counted(directory, name):
    """The command that counts a program's instructions, and the file they are in."""
    counts = pathlib.Path(directory) / f"{name}.counts"
    return ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}"], counts


def total(counts):
    return int(re.search(r"^(?:totals|summary): (\d+)", counts.read_text(errors="replace"), re.MULTILINE)[1])


def join(space, who):
    if who == MEMBER:
        process = space.start([harness.program("workflow_steps"), "Member", f"await {space.path / 'leave'}"], who)
        harness.wait_until(lambda: "joined" in process.stdout, "the member has joined")
        return process
    events = {"events": {"kinds": ["join"]}} if who == FEW else {}
    ready = space.path / "ready"
    process = space.vampire({**events, "outputs": [{"type": "null"}]}, "--ready-file", ready, name=who, ready=False)
    harness.wait_until(ready.exists, "vampire has subscribed")
    return process


def leave(space, process):
    if process.name == MEMBER:
        (space.path / "leave").touch()
    else:
        process.signal(15)
    process.expect_exit(0)


def run(who, fields):
    """(instructions of the pool manager, of the component, events, messages)"""
    with harness.Workspace(provider="tcp") as space:
        space.environment["MSTRO_WORKFLOW_NAME"] = "bench"
        valgrind, of_manager = counted(space.path, "manager")
        manager = space.pool_manager(before=valgrind)
        other = None if who == NOBODY else join(space, who)
        valgrind, of_component = counted(space.path, "component")
        solo = space.start([*valgrind, harness.program("workflow_solo"), "--fields", fields], "solo")
        solo.expect_exit(0, 300)
        if other:
            leave(space, other)
        manager.signal(15)
        manager.expect_exit(0, 60)
        events, messages, lost = map(int, SUMMARY.search(manager.stderr).groups())
        if lost:
            raise harness.Failure(f"the pool manager lost {lost} events")
        return total(of_manager), total(of_component), events, messages


def of_a_field(who, fields, start):
    """What a run has more than one of a single field, for each of the other fields."""
    return [(now - then) / (fields - 1) for now, then in zip(run(who, fields), start)]


def instruction_lines(quick=False):
    fields, repetitions = (QUICK_FIELDS, QUICK_REPETITIONS) if quick else (FIELDS, REPETITIONS)
    starts = {who: run(who, 1) for who in WHO}
    made = [{who: of_a_field(who, fields, starts[who]) for who in WHO} for _ in range(repetitions)]
    for who, what in WHO.items():
        managers = [one[who][0] for one in made]
        more = [one[who][0] - one[NOBODY][0] for one in made]
        yield measure.line(
            f"weight.instructions.{who}", f"pool manager's user instructions for a field, next to {what}",
            "instructions", managers, "without", [one[NOBODY][0] for one in made], clock="instructions",
            who=what, operations=OPERATIONS, manager=measure.robust(managers), more=measure.robust(more),
            ratios={"manager": measure.robust_ratio([one[who][0] / one[NOBODY][0] for one in made]),
                    "component": measure.robust_ratio([one[who][1] / one[NOBODY][1] for one in made])},
            component=statistics.median(one[who][1] for one in made),
            events=statistics.median(one[who][2] for one in made),
            messages=statistics.median(one[who][3] for one in made))
