# SPDX-License-Identifier: BSD-3-Clause
"""A call of libfabric fails in a producer or in a consumer. Each of them goes on and the numbers are
right, or ends with a status and says why, in bounded time; nobody crashes, hangs or counts wrongly.
Every kind of call fails in every role that makes it; the pool manager and vampire make none.
FABRIC_FAULTS=every, and make check-long, try every number of every call. (The pool manager and its
components in one process: tests/unit/server_fabric_faults_test.c.)"""

import concurrent.futures
import errno
import itertools
import multiprocessing
import os
import re
import signal
import subprocess
import time

import pytest

import harness
import results
from harness import ROOT
from test_workflow import KIB, assert_agreement, assert_complete, model_options

# libfabric was not built for it, and fails in other ways.
pytestmark = pytest.mark.skipif(harness.MODE == "tsan", reason="not with the thread sanitizer")
# FABRIC_FAULTS=every takes these into any run.
EVERY = pytest.mark.long if os.environ.get("FABRIC_FAULTS") != "every" else lambda test: test
ROLES = ("model", "product")
PRODUCER, CONSUMER = "IFS -- 0", "Products 1"
# What an endpoint takes to be opened: call, errno, and what the message has to speak of.
OPENING = {
    "GETINFO": (errno.ENOMEM, "libfabric provider"),
    "FABRIC": (errno.ENOMEM, "open the fabric"),
    "DOMAIN": (errno.EIO, "open the domain"),
    "AV_OPEN": (errno.ENOMEM, "address table"),
    "CQ_OPEN": (errno.ENOMEM, "completion queue"),
    "ENDPOINT": (errno.ENOMEM, "open the endpoint"),
    "BIND": (errno.EIO, "connect the endpoint"),
    "ENABLE": (errno.EIO, "start the endpoint"),
    "GETNAME": (errno.EIO, "address"),
}
FOR_GOOD_MS, A_WHILE_MS = 600_000, 700
# Faults without consequences, together in one workflow, in all roles: call, its number, errno, for how many
# milliseconds (0: only this one).
HARMLESS = (
    [("READ", 1, errno.EAGAIN, 0), ("CQ_READ", 30, errno.EAGAIN, 0), ("TRYWAIT", 20, errno.EAGAIN, A_WHILE_MS),
     ("CLOSE", 1, errno.EBUSY, 0)],
    [("GETWAIT", 1, errno.ENOSYS, 0), ("READ", 3, errno.EAGAIN, A_WHILE_MS)],
    [("CQ_OPEN", 1, errno.ENOMEM, 0)],
    [("CQ_READ", 20, errno.EAGAIN, A_WHILE_MS)],
)
# What may end the process or one of its payloads.
SERIOUS = (
    ("INSERT", 1, errno.ENOMEM, 0),
    ("REGISTER", 2, errno.ENOMEM, 0),
    ("READ", 1, errno.EIO, 0),
    ("READ", 3, errno.EIO, 0),
    ("CQ_READ", 15, errno.EIO, 0),
    ("COMPLETE", 4, errno.EIO, 0),
    ("READ", 5, errno.EAGAIN, FOR_GOOD_MS),  # each field that cannot be read takes the silence
)
# What a role does not call in such a workflow. Whoever changes that hears of it.
NOT_CALLED = {
    ("model", "INSERT"), ("model", "READ"), ("model", "COMPLETE"), ("model", "REMOVE"),
    ("product", "REGISTER"), ("product", "REMOVE"),
}
# A peer that does not answer is given up after so long. Where nothing may be given up: longer, for
# machines on which a healthy process may stand still.
SILENCE, LONG_SILENCE = "3s", "60s"
# Codes with which each may end.
CODES = {"manager": (0,), "vampire": (0,), "model": (0, 1), "product": (0, 1)}
WITHOUT_A_POOL = ("dispose", "unsubscribe", "leave")
JOIN_MS = "4000"
AT_A_TIME = 5


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """The environment in which calls can fail."""
    directory = tmp_path_factory.mktemp("shim")
    library = harness.build_preload("fail_fabric", directory)
    if harness.MODE != "asan":
        return {"LD_PRELOAD": str(library)}
    # The sanitizer has to be the first; and what libfabric forgets then is no leak of ours.
    asan = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    leaks = directory / "leaks"
    leaks.write_text((ROOT / "tests" / "lsan.supp").read_text() + "leak:libfabric.so\n")
    return {"LD_PRELOAD": f"{os.path.realpath(asan.stdout.strip())}:{library}",
            "LSAN_OPTIONS": f"exitcode=99:print_suppressions=0:suppressions={leaks}"}


def faulty(shim, faults):
    return {**shim, "FAIL_FABRIC": " ".join(":".join(str(word) for word in fault) for fault in faults)}


def hits(process):
    """The calls that failed in it. It prints them at its end."""
    return re.findall(r"^fabric failed (\w+)$", process.stderr, re.MULTILINE)


def own_words(process):
    return re.sub(r"^fabric .*\n", "", process.stderr, flags=re.MULTILINE)


class Run:
    """A workflow in which each role may have faults: {role: list of them}."""

    def __init__(self, space, shim, faults, silence):
        self.space, self.shim, self.faults, self.silence = space, shim, faults, silence
        self.processes = {}
        # For a component that may never come.
        self.patience = 60 if silence == LONG_SILENCE else 6
        self.go()

    def ended(self, role):
        return role not in self.processes or not self.processes[role].running()

    def start(self, role, program, *options, until):
        argv = [harness.program(program), *options]
        extra = {"MSTRO_COMPONENT_NAME": role, "MSTRO_JOIN_TIMEOUT_MS": JOIN_MS}
        if role in self.faults:
            extra.update(faulty(self.shim, self.faults[role]))
        self.processes[role] = self.space.start(argv, role, extra)
        harness.wait_until(lambda: until() or self.ended(role), f"{role} is ready or has ended")

    def go(self):
        space, info = self.space, self.space.path / "info"
        ready = space.path / "ready"
        self.start("manager", "maestro-pool-manager", "--heartbeat", "100ms", "--silence", self.silence,
                   "--info-file", info, until=info.exists)
        if not info.exists():
            return
        space.environment["MSTRO_POOL_MANAGER_INFO"] = info.read_text().split(";")[1]
        config = space.path / "config.json"
        source = {"wait": "1s", "rejoin": "1s", "leave_grace": "1s"}
        config.write_text(harness.config_text(harness.vampire_config(source=source)))
        self.start("vampire", "vampire", "-c", config, until=space.hdf5_files)
        self.start("product", "workflow_product", "--name", CONSUMER, "--producer", PRODUCER, "--deadline", self.patience,
                   "--ready-file", ready, until=ready.exists)
        self.start("model", "workflow_model", "--name", PRODUCER, *model_options(3, 2, 2, 4 * KIB, 16 * KIB, 0),
                   until=lambda: True)
        self.finish()

    def finish(self):
        """A process that waits for one that is gone ends with the pool manager at the latest."""
        for role in ("model", "product", "vampire"):
            self.await_end(role)
        self.processes["manager"].signal(signal.SIGTERM)
        for process in self.processes.values():
            process.wait()

    def await_end(self, role):
        """Not for ever: a demand waits for another producer, when its own is gone."""
        deadline = time.monotonic() + (60 * harness.PATIENCE if role == "model" else self.patience + 2)
        while not self.ended(role) and not self.ended("manager") and time.monotonic() < deadline:
            time.sleep(0.02)

    def hits(self):
        return {(role, call) for role, process in self.processes.items() for call in hits(process)}

    def codes(self):
        return {role: process.child.returncode for role, process in self.processes.items()}


def wrong_ends(run):
    for role, process in run.processes.items():
        code = process.child.returncode
        if code not in CODES[role] or "Sanitizer" in process.stderr:
            yield f"{role} ended with {code}"
        elif code != 0 and not re.search(r"\w{3,}.*: \w{3,}", own_words(process)):
            yield f"{role} ended with {code} and does not say why"
        elif re.search(r"is damaged|another CDO|another size|too short|like a field", process.stderr):
            yield f"{role} has wrong data"


def wrong_numbers(run):
    """What is wrong in vampire's outputs: they agree with each other, and what the components did is
    there, except for what is reported as lost."""
    space, codes = run.space, run.codes()
    if not space.hdf5_files() or not space.json_lines().exists():
        return
    try:
        # Who could not be reached is gone for the pool, and may come back; itself it knows of one join.
        vanished = re.search(r"[1-9]\d* vanished", run.processes["manager"].stderr)
        whole = not any(codes.values()) and not vanished
        if whole:
            reports = [run.processes[role].report() for role in ("model", "product")]
            assert_complete(reports)
        runs = {"hdf5": results.Hdf5Run(space.hdf5_files()), "json": results.JsonRun(space.json_lines())}
        if runs["hdf5"].counters["pool_operations"] != runs["json"].counters["pool_operations"]:
            yield "HDF5 and JSON differ"
        if whole and not runs["json"].gaps:
            assert_agreement(space, reports)
        elif codes["vampire"] == 0 and not runs["json"].gaps:
            yield from missing(run, runs["hdf5"])
    except AssertionError as wrong:
        yield str(wrong)


def missing(run, counted):
    """A component that failed did at least what it knows of, but for what also ends well without a
    pool, for the component's own sake. vampire may have ended with one, before another one came."""
    for role in ("model", "product"):
        if "{" in run.processes[role].stdout:
            report = run.processes[role].report()
            if not counted.counters["pool_operations"].get((report["component"], "join"), 0):
                continue
            for operation, count in report["operations"].items():
                counted_times = counted.counters["pool_operations"].get((report["component"], operation), 0)
                if counted_times < count and operation not in WITHOUT_A_POOL:
                    yield f"{report['component']} did {operation} {count} times, vampire says {counted_times}"


def try_faults(job):
    """(what is wrong, who was hit by what, whether all ended well) of one workflow."""
    shim, faults, harmless = job
    with harness.Workspace(provider="tcp;ofi_rxm") as space:
        try:
            run = Run(space, shim, faults, LONG_SILENCE if harmless else SILENCE)
        except harness.Failure as wrong:
            return [f"{faults}: {wrong}"], set(), False
        wrong = [*wrong_ends(run), *wrong_numbers(run)]
        well = not any(run.codes().values())
        if harmless and not well:
            wrong.append("this should not be noticed")
        if wrong:
            account = "\n".join(process.account() for process in run.processes.values())
            wrong = [f"{faults}: {'; '.join(wrong)}\n{account}"]
        return wrong, run.hits(), well


def try_all(jobs):
    """All workflows, some at a time, in processes of their own. Returns who was hit by what."""
    reached, wrong, well = set(), [], 0
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(AT_A_TIME, context) as workers:
        for complaints, hit, all_well in workers.map(try_faults, jobs):
            wrong += complaints
            reached |= hit
            well += all_well
    assert not wrong, f"{len(wrong)} of {len(jobs)} workflows:\n" + "\n".join(wrong[:10])
    print(f"{len(jobs)} workflows with failed calls, {well} without consequences")
    return reached


def assert_all_hit(jobs, expected):
    """Where a fault was not reached, since a peer was given up on a machine that stood still, it is
    tried again."""
    hit = try_all(jobs)
    again = [job for job in jobs if any((role, fault[0]) in expected - hit
                                        for role, faults in job[1].items() for fault in faults)]
    hit |= try_all(again)
    assert hit == expected


def calls_of(roles, faults):
    """Who has to be hit by what."""
    kinds = dict.fromkeys(call for call, *_ in faults)
    return {(role, call) for role, call in itertools.product(roles, kinds) if (role, call) not in NOT_CALLED}


def test_an_endpoint_that_cannot_be_opened(space, shim):
    """A producer whose endpoint fails in each way it can: a status, and the words for it."""
    space.environment["MSTRO_OFI_PROVIDER"] = "tcp;ofi_rxm"
    space.pool_manager()
    reached = set()
    for call, (error, words) in OPENING.items():
        # For good: what failed once need not fail again when it is tried again.
        model = space.start([harness.program("workflow_model"), "--steps", 1], f"model-{call}",
                            {**faulty(shim, [(call, 1, error, FOR_GOOD_MS)]), "MSTRO_COMPONENT_NAME": f"model {call}"})
        assert model.wait() == 1, model.account()
        assert words in own_words(model), f"{call}: {model.account()}"
        reached.update(hits(model))
    assert reached == set(OPENING)


def test_who_moves_no_payload_calls_nothing(shim):
    """The pool manager and vampire never open libfabric, whatever carries the payloads."""
    with harness.Workspace(provider="tcp;ofi_rxm") as space:
        run = Run(space, shim, {"manager": [("GETINFO", 1, errno.EIO, 0)], "vampire": [("GETINFO", 1, errno.EIO, 0)]}, LONG_SILENCE)
        assert not any(run.codes().values())
        for role in ("manager", "vampire"):
            counts = re.findall(r"^fabric \w+ (\d+)$", run.processes[role].stderr, re.MULTILINE)
            assert counts and not any(map(int, counts)), run.processes[role].account()


def test_calls_that_may_fail_unnoticed(shim):
    """In both at the same time."""
    jobs = [(shim, {role: [fault for fault in faults if (role, fault[0]) not in NOT_CALLED] for role in ROLES}, True)
            for faults in HARMLESS]
    assert_all_hit(jobs, calls_of(ROLES, itertools.chain(*HARMLESS)))


def serious(role, faults):
    return [fault for fault in faults if (role, fault[0]) not in NOT_CALLED]


@pytest.mark.parametrize("role", ROLES)
def test_calls_that_fail_in_a_component(shim, role):
    jobs = [(shim, {role: [fault]}, False) for fault in serious(role, SERIOUS)]
    assert_all_hit(jobs, calls_of([role], SERIOUS))


# ---------------------------------------------------------------- every number

# Where a number means a moment and not a step of the work, some of them are enough.
MOMENTS = ("TRYWAIT", "CQ_READ")


def numbers(call):
    """1, 2, 3, ... of a call; of moments with growing steps."""
    number = 1
    while number < 20000:
        yield number
        number += number // 8 + 1 if call in MOMENTS and number > 20 else 1


def every_number(shim, role, fault):
    """Until there are not so many calls of this kind."""
    call, _, error, lasts_ms = fault
    at_once = AT_A_TIME * 2
    tried = numbers(call)
    reached = True
    while reached:
        some = list(itertools.islice(tried, at_once))
        jobs = [(shim, {role: [(call, number, error, lasts_ms)]}, False) for number in some]
        reached = bool(some) and (role, call) in try_all(jobs)


KINDS = [fault for fault in SERIOUS if fault[3] == 0] + [
    (call, 1, error, 0) for call, (error, _) in OPENING.items()] + [
    ("GETWAIT", 1, errno.ENOSYS, 0), ("TRYWAIT", 1, errno.EAGAIN, 0),
    ("CQ_READ", 1, errno.EAGAIN, FOR_GOOD_MS), ("COMPLETE", 1, errno.ECANCELED, 0), ("REMOVE", 1, errno.EINVAL, 0), ("CLOSE", 1, errno.EBUSY, 0)]


@EVERY
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("fault", KINDS, 
                         ids=lambda fault: f"{fault[0]}-{errno.errorcode[fault[2]]}-{fault[3]}")
def test_every_call_fails(shim, role, fault):
    if (role, fault[0]) in NOT_CALLED:
        pytest.skip("this role does not call it")
    every_number(shim, role, fault)
