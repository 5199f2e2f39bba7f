# SPDX-License-Identifier: BSD-3-Clause
"""Strangers and components that mean no good, while a workflow runs: its results and vampire's counts
stay right, memory stays at its bound, and what was refused is said."""

import pathlib
import re
import signal
import socket
import struct

import pytest

import harness
import results
from test_failures import all_have_left, components_present
from test_workflow import KIB, assert_agreement, assert_complete, model_options

MIB = 1 << 20
MEASURED = harness.MODE not in ("asan", "tsan", "cov")  # sanitizers keep what was freed
HOSTILE_ONES = 10000 if MEASURED else 2000
HOSTILE = str(harness.BUILD / "unit" / "server_hostile_test")
STEADY = model_options(30, 2, 2, 4 * KIB, 64 * KIB, 120)
SHORT = model_options(4, 2, 2, 4 * KIB, 16 * KIB, 50)


def listening_ports(process):
    """The TCP ports a process listens on."""
    folder = pathlib.Path(f"/proc/{process.child.pid}")
    inodes = set()
    for descriptor in (folder / "fd").iterdir():
        found = re.match(r"socket:\[(\d+)\]", str(descriptor.readlink()))
        inodes |= {found[1]} if found else set()
    ports = []
    for line in (folder / "net" / "tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in inodes:
            ports.append(int(fields[1].split(":")[1], 16))
    return ports


def resident_bytes(process):
    text = pathlib.Path(f"/proc/{process.child.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", text)[1]) * 1024


GARBAGE = [b"", b"\0", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100000, bytes(range(256)) * 64,
           struct.pack(">Q", 2**63) + b"\0" * 64, struct.pack("<I", 2**32 - 1) * 1000, b"\x16\x03\x01\x02\0\x01\0"]


def knock(port, data, half_open):
    """A connection that sends something and goes; or stays and says nothing more."""
    stranger = socket.create_connection(("127.0.0.1", port), timeout=10)
    try:
        stranger.sendall(data)
    except OSError:  # it was closed on us
        pass
    if half_open:
        return stranger
    stranger.close()
    return None


def hostile(space, role, number, workflow="weather"):
    return space.start([HOSTILE, role, space.info, workflow, number], f"hostile-{role}")


def counted(space):
    """What vampire wrote and whether it adds up."""
    return results.Hdf5Run(space.hdf5_files())


def test_strangers_at_the_ports(space):
    manager = space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    workflow = harness.Workflow(space, models=1, products=1, model_options=[*STEADY, "--verbose", "--steps", "200"])
    workflow.models[0].until_stderr("step 0 offered")
    assert not listening_ports(vampire), "only the pool manager listens, and who offers payloads"
    ports = listening_ports(manager) + listening_ports(workflow.models[0])
    assert len(ports) == 2
    open_ones = []
    for turn in range(5):
        for port in ports:
            for data in GARBAGE:
                open_ones.append(knock(port, data, half_open=turn % 2 == 0))
            for _ in range(20):  # as a port scan does it
                socket.create_connection(("127.0.0.1", port), timeout=10).close()
    reports = workflow.finish()
    vampire.expect_exit(0)
    assert_complete(reports)
    assert_agreement(space, reports)
    for stranger in open_ones:
        if stranger is not None:
            stranger.close()


def end_of(manager):
    """The pool manager's last words as numbers."""
    manager.signal(signal.SIGUSR2)
    manager.expect_exit(0)
    words = re.search(r"(\d+) components joined, (\d+) vanished, (\d+) refused, (\d+) unauthenticated connections;.* (\d+) bad messages; (\d+) refused at the memory limit",
                      manager.stderr)
    assert words, manager.stderr
    return dict(zip(("joined", "vanished", "refused", "strangers", "bad", "starved"), map(int, words.groups())))


def assert_in_full(space, reports):
    """Vampire counts the hostile ones as well: what the workflow did must be there in full."""
    operations = counted(space).counters["pool_operations"]
    for report in reports:
        own = {label[1]: count for label, count in operations.items() if label[0] == report["component"]}
        for name in ("offer", "seal", "declare"):
            assert own.get(name, 0) == report["operations"].get(name, 0), (report["component"], name)


def test_the_bound_of_memory(space):
    manager = space.pool_manager("--memory", "2MiB")
    vampire = space.vampire(harness.vampire_config(source={"leave_grace": "600s"}))
    hostile(space, "hoards", 6000).expect_exit(0, 120)
    manager.until_stderr("requests refused so far: the pool's components, CDOs and subscriptions take 10")
    # It has left: there is room for the others.
    reports = harness.Workflow(space, models=1, products=1, model_options=SHORT).finish()
    harness.wait_until(lambda: all_have_left(space), "all have left", 60)
    vampire.stop()
    assert_complete(reports)
    assert_in_full(space, reports)
    assert end_of(manager)["starved"] >= 1000
    assert manager.stderr.count("requests refused") == 1, "said once a minute"


def test_bad_messages_of_joined_components(space):
    manager = space.pool_manager()
    vampire = space.vampire(harness.vampire_config(source={"leave_grace": "600s"}))
    workflow = harness.Workflow(space, models=1, products=1, model_options=STEADY)
    bad = hostile(space, "garbage", 15)
    bad.expect_exit(0)
    reports = workflow.finish()
    harness.wait_until(lambda: all_have_left(space), "all have left", 60)
    vampire.stop()
    assert_complete(reports)
    assert_in_full(space, reports)
    reasons = [row["reason"] for row in counted(space).components if row["name"].startswith("garbage")]
    assert reasons.count("protocol") >= 5, reasons
    assert end_of(manager)["bad"] >= 15


def attack(space, role, warm, number, growth):
    """An attack to get used to, then a larger one: both processes must not grow by more."""
    # Few places, so that the first attack fills them all.
    manager = space.pool_manager("--silence", "3s", "--max-components", 200)
    vampire = space.vampire(harness.vampire_config(source={"leave_grace": "3600s"}))
    hostile(space, role, warm).expect_exit(0, 120)
    before = {process.name: resident_bytes(process) for process in (manager, vampire)}
    second = space.start([HOSTILE, role, space.info, "weather", number], f"hostile-{role}-again")
    second.expect_exit(0, 3600)
    harness.wait_until(lambda: (space.path / "vampire.jsonl").stat().st_size > 0, "vampire writes")
    after = {process.name: resident_bytes(process) for process in (manager, vampire)}
    for name, size in after.items():
        print(f"{role} {number}: {name} {before[name] / MIB:.1f} -> {size / MIB:.1f} MiB")
        assert not MEASURED or size - before[name] <= growth, name
    vampire.stop()
    return end_of(manager)


SIZES = {"joins": (2000, 20000), "strangers": (2000, 20000), "names": (1000, 4000), "attributes": (100, 400)}
LONG = {"joins": (10000, 1000000), "strangers": (10000, 1000000), "names": (10000, 1000000), "attributes": (1000, 100000)}
GROWTH = {"joins": 24 * MIB, "strangers": 4 * MIB, "names": 16 * MIB, "attributes": 16 * MIB}


@pytest.mark.plain
@pytest.mark.parametrize("role", SIZES)
def test_memory_stays(space, role):
    end = attack(space, role, *SIZES[role], GROWTH[role])
    if role == "joins":
        # Each of them, and vampire, which may have to come back.
        assert end["joined"] + end["refused"] >= sum(SIZES[role]) + 1
    if role == "strangers":
        assert end["joined"] == 1, "vampire alone"
        assert end["refused"] == end["vanished"] == 0
        assert end["strangers"] == sum(SIZES[role])
        assert end["bad"] == 0
    components = counted(space).components
    assert len(components) <= 4096


def test_joins_keep_no_component_out(space):
    """Who is there goes on working; who comes later finds a place again."""
    silence = f"{12 * harness.PATIENCE:.0f}s"
    manager = space.pool_manager("--silence", silence, "--max-components", 40)
    vampire = space.vampire(harness.vampire_config(source={"leave_grace": "600s"}))
    workflow = harness.Workflow(space, models=1, products=1, model_options=[*STEADY, "--verbose"])
    workflow.models[0].until_stderr("step 3 offered")
    hostile(space, "joins", HOSTILE_ONES).expect_exit(0, 120)
    known = len(components_present(space))
    reports = workflow.finish()
    assert_complete(reports)
    manager.until_stderr("joins refused so far")
    harness.wait_until(lambda: components_present(space)[known:][-1:] == [0],
                       "those who are not there are given up", 120)
    (space.path / "product-1.ready").unlink()  # of the workflow before
    later = harness.Workflow(space, model_names=["Later model"], product_names=["Later product"],
                             model_options=SHORT).finish()
    assert_complete(later)
    harness.wait_until(lambda: all_have_left(space), "all have left", 60)
    vampire.stop()
    assert_in_full(space, reports + later)
    end = end_of(manager)
    assert end["refused"] > HOSTILE_ONES / 2
    assert manager.stderr.count("joins refused") == 1, "said once a minute"


def test_strangers_disturb_no_component(space):
    """Well-formed messages from a process that knows the address alone, while a workflow runs."""
    manager = space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    workflow = harness.Workflow(space, models=1, products=1, model_options=STEADY)
    stranger = hostile(space, "strangers", HOSTILE_ONES)
    reports = workflow.finish()
    stranger.expect_exit(0, 120)
    vampire.expect_exit(0)
    assert_complete(reports)
    assert_agreement(space, reports)
    end = end_of(manager)
    assert end["joined"] == len(reports) + 1
    assert end["vanished"] == end["refused"] == 0
    assert manager.stderr.count("unauthenticated connections closed") == 1, "said once a minute"
    assert re.search(r"closed so far: \d+ of all so far because a limit was reached", manager.stderr), manager.stderr
    assert space.info not in manager.stderr


@pytest.mark.long
@pytest.mark.parametrize("role", LONG)
def test_memory_stays_for_long(space, role):
    # vampire and the pool manager reach their working size only after minutes; the number is not in it.
    attack(space, role, *LONG[role], max(GROWTH[role], 48 * MIB))


FORGED = ["\x1b[2J\x1b]0;owned\x07", "x\nvampire: error: owned", "\u009b31mowned", "owned\u202egpj.exe", "owned\u2028vampire: error",
          "owned\u2066", "y\rvampire: owned"]
HIDDEN = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def test_no_text_from_outside_controls_a_terminal(space):
    """Names and sample lines reach messages, the state, the summary and the pool manager's log as text of one line."""
    manager = space.pool_manager("--silence", "3s")
    asked = harness.vampire_config(bucket="200ms", source={"leave_grace": "600s"})
    address = space.path / "samples"
    asked["samples"] = {"listen": [f"unix:{address}"], "metrics": ["m_load gauge m.load"]}
    asked["alarms"] = [{"name": "a", "metric": "pool_operations", "when": "> 0", "actions": ["log"]}]
    vampire = space.vampire(asked)
    for number, name in enumerate(FORGED):
        steps = space.start([harness.program("workflow_steps"), name, "declare x", "dispose x"], f"forger-{number}")
        steps.expect_exit(0)
    silent = space.start([harness.program("workflow_steps"), FORGED[1], "declare x", "await never"], "silent")
    harness.wait_until(lambda: "done declare x" in silent.stdout, "it has joined")
    silent.signal(signal.SIGSTOP)
    manager.until_stderr("was given up")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        for line in FORGED:
            to.sendto(line.encode() + b" v=", str(address))
    harness.wait_until(lambda: vampire.stderr.count("firing") >= len(FORGED), "the alarms fire")
    vampire.signal(signal.SIGUSR1)
    vampire.until_stderr("end of the state")
    vampire.stop()
    summary = space.vampire({}, "--summary", str(space.path / "vampire.jsonl"), name="summary", ready=False)
    summary.expect_exit(0)
    for text in (vampire.stderr, manager.stderr, summary.stdout):
        assert "owned" in text
        assert not HIDDEN.findall(text)
        assert not [line for line in text.splitlines() if line.startswith(("vampire: error: owned", "vampire: owned"))]


def test_the_limit_of_open_files_is_reported_on_both_sides(space):
    """Joined components continue, a new component and the pool manager report the reason immediately, and a freed descriptor
    is used."""
    limit = 40
    manager = space.pool_manager(before=("prlimit", f"--nofile={limit}:{limit}"))
    gate = space.path / "gate"
    steps = ["declare x", f"await {gate}", "dispose x"]
    members = [space.start([harness.program("workflow_steps"), f"member {number}", *steps], f"member-{number}")
               for number in range(limit)]

    def waiting():
        return [member for member in members if "done declare x" in member.stdout]

    harness.wait_until(lambda: len(waiting()) + sum(not member.running() for member in members) == limit, "all have an answer")
    refused = [member for member in members if not member.running()]
    assert len(waiting()) >= limit // 3 and refused
    reason = f"the pool manager has reached its limit of {limit} open files"
    assert all(reason in member.stderr for member in refused)
    manager.until_stderr(f"joins refused so far: the last one: {reason}")
    gate.touch()
    for member in waiting():
        member.expect_exit(0)
    space.start([harness.program("workflow_steps"), "later", *steps], "later").expect_exit(0)
    assert "without this pool manager's key" not in manager.stderr
    assert end_of(manager)["refused"] == len(refused)
