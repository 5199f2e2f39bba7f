# SPDX-License-Identifier: BSD-3-Clause
"""The pool manager is killed and started again, at the same and at another address, at every stage:
vampire comes back by itself, tells what it could not see, and counts nothing twice."""

import os
import re
import signal
import socket
import sys

import h5py
import pytest

import harness
import jsonl
import results
from test_failures import descriptors, ending_of
from test_workflow import KIB, model_options

sys.path.insert(0, str(harness.ROOT / "tests" / "oracle"))
import compare

NO_TIME = -(2**63)
WORD = 2**64 - 1


def mix(bits):
    bits = (bits ^ bits >> 33) * 0xFF51AFD7ED558CCD & WORD
    bits = (bits ^ bits >> 33) * 0xC4CEB9FE1A85EC53 & WORD
    return bits ^ bits >> 33


def fingerprint(info):
    """vampire/core/hash.h, as vampire shows it: the information itself is a secret."""
    data = info.encode()
    value = len(data) * 0x9E3779B97F4A7C15 & WORD
    value ^= value >> 32
    for at in range(0, len(data) // 8 * 8 + 1, 8):
        value = mix(value ^ int.from_bytes(data[at:at + 8].ljust(8, b"\0"), "little"))
    return f"{value & 0xFFFFFFFF:08x}"


SOURCE_LINE = re.compile(r"source +maestro: (.*), for .* joined again (\d+) times(?:; last pool manager ([0-9a-f]{8}))?")
# Of one life of the pool: a model and a product that come and go, exactly countable.
SMALL = model_options(3, 2, 2, 64, 4 * KIB, 0)
# And a model that is in the middle of its work when the pool manager is killed.
ENDLESS = model_options(100000, 2, 1, 64, KIB, 200) + ["--verbose"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def established(process):
    """Connections of this process' TCP sockets, also while it is stopped."""
    pid = process.child.pid
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            pass
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as lines:
        rows = [line.split() for line in list(lines)[1:]]
    ports = {row[1] for row in rows if f"socket:[{row[9]}]" in inodes}
    return any(row[1] in ports and row[3] == "01" for row in rows)


def resident_kib(process):
    with open(f"/proc/{process.child.pid}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


class Lives:
    """One vampire, and one pool manager after the other."""

    def __init__(self, space, rejoin="120s", bucket="200ms"):
        self.space = space
        self.info_file = space.path / "pm.info"
        self.port = free_port()
        self.number = self.pages = 0
        self.names = 1000  # so many lives have components of other names
        self.manager = None
        self.reports = []
        self.start_manager()
        settings = harness.vampire_config(bucket=bucket, source={
            "info_file": str(self.info_file), "rejoin": rejoin, "wait": "60s",
        })
        settings["outputs"].append({"type": "recording"})
        settings["outputs"][0]["queue"] = settings["outputs"][1]["queue"] = 4096
        # What the environment says would be stronger than the file, and cannot change.
        self.vampire = space.vampire(settings, extra={
            "MSTRO_POOL_MANAGER_INFO": "", "MSTRO_JOIN_TIMEOUT_MS": str(int(600 * harness.PATIENCE)),
        })

    # ---------------------------------------------------------------- the pool manager

    def start_manager(self, same_address=False, tell=True):
        self.number += 1
        silence = 1.5 * harness.PATIENCE
        options = ["--heartbeat", "100ms", "--silence", f"{silence:.1f}s"]
        if same_address:
            options += ["--bind", f"127.0.0.1:{self.port}"]
        self.manager = self.space.pool_manager(*options, name=f"pool-manager-{self.number}")
        if tell:
            self.write_info()

    def write_info(self):
        """The file appears whole."""
        new = self.info_file.with_suffix(".new")
        new.write_text(f"{harness.INFO_MARK}{self.space.info};\n")
        new.rename(self.info_file)

    def kill_manager(self):
        self.manager.signal(signal.SIGKILL)
        self.manager.wait()

    def page(self):
        """The newest state that vampire shows on SIGUSR1: its line about the source."""
        self.vampire.signal(signal.SIGUSR1)
        self.pages += 1

        def whole():
            assert self.vampire.running(), self.vampire.account()
            text = self.vampire.stderr
            return text if text.count("end of the state") >= self.pages else None

        text = harness.wait_until(whole, "vampire shows its state", 60)
        return SOURCE_LINE.findall(text)[-1]

    def await_watching(self):
        """It watches the newest pool manager. Returns how often it has joined again."""

        def watching():
            what, rejoins, where = self.page()
            return int(rejoins) + 1 if what == "watching the pool" and where == fingerprint(self.space.info) else 0

        return harness.wait_until(watching, "vampire watches the new pool", 60) - 1

    def await_seeking(self):
        harness.wait_until(lambda: "trying to join" in self.page()[0], "vampire notices", 60)

    def await_attempt(self):
        """vampire has a connection to the new pool manager."""
        harness.wait_until(
            lambda: established(self.manager), "vampire tries to join", 60
        )

    # ---------------------------------------------------------------- the workflow

    def work(self):
        """A model and a product live and leave."""
        (self.space.path / "product-1.ready").unlink(missing_ok=True)  # of the life before
        workflow = harness.Workflow(
            self.space, model_names=[f"Model {self.number}"],
            product_names=[f"Product {self.number}"], model_options=SMALL,
        )
        self.reports += workflow.finish()
        # Events wait in the pool manager for a message to fill, 10 ms, and would die with it.
        for report in self.reports[-2:]:
            harness.wait_until(lambda: self.has_left(report["component"]), "vampire sees them leave")

    def has_left(self, name):
        return any(record["type"] == "metric" and record["metric"] == "pool_operations"
                   and {name, "leave"} <= set(record["labels"].values())
                   for record in jsonl.records(self.space.json_lines()))

    def hold(self):
        """Somebody who waits until the pool manager is gone, so that the workflow does not end."""
        name = f"Holder {self.number % self.names}"
        (self.space.path / f"{harness.safe(name)}.ready").unlink(missing_ok=True)
        self.space.product(name=name, producers=["nobody"])

    def survivor(self):
        process = self.space.model(*ENDLESS, name=f"Endless {self.number % self.names}")
        process.until_stderr("step 3 offered", 60)
        return process

    # ---------------------------------------------------------------- what is to hold

    def finish(self, gaps):
        space = self.space
        self.work()
        self.vampire.expect_exit(0)
        runs = {"hdf5": results.Hdf5Run(space.hdf5_files()),
                "json": results.JsonRun(space.json_lines())}
        assert not results.compare(self.reports, runs)
        assert not results.accounting_differences(runs["hdf5"])
        assert runs["hdf5"].gauges["pool_cdos"][()] == 0
        assert runs["hdf5"].gauges["components_present"][()] == 0
        self.check_gaps(gaps)
        recording = list(space.path.glob("*.rec"))
        assert len(recording) == 1
        found = compare.differences(recording[0], space.hdf5(), space.json_lines())
        assert not found, "\n".join(line[:400] for line in found[:20])
        return runs["hdf5"]

    def check_gaps(self, gaps):
        with h5py.File(self.space.hdf5(), "r") as file:
            rows = [
                (int(start), int(end), reason)
                for start, end, reason in zip(
                    file["gap_start"][...], file["gap_end"][...], results.texts(file["gap_reason"])
                )
                if int(start) != NO_TIME and reason == "pool_gone"
            ]
        assert len(rows) == gaps, rows
        assert all(start < end for start, end, _ in rows), rows
        assert all(left[1] <= right[0] for left, right in zip(rows, rows[1:])), rows
        lines = [line for line in jsonl.records(self.space.json_lines())
                 if line["type"] == "gap" and line["reason"] == "pool_gone"]
        assert len(lines) == gaps


def restart(lives, stage, same_address):
    """One end of the pool manager at this stage, and a new one that vampire finds."""
    if stage == "busy":
        lives.survivor()
        lives.kill_manager()
    elif stage == "join":
        # The one that follows does not answer, and is killed while vampire waits for it.
        lives.kill_manager()
        lives.await_seeking()
        lives.start_manager(same_address, tell=False)
        lives.manager.signal(signal.SIGSTOP)
        lives.write_info()
        lives.await_attempt()
        lives.kill_manager()
    elif stage == "subscribe":
        # At once when it tries: somewhere between its join and its last subscription.
        lives.kill_manager()
        lives.await_seeking()
        lives.start_manager(same_address)
        lives.await_attempt()
        lives.kill_manager()
    else:
        assert stage == "idle"
        lives.kill_manager()
    lives.start_manager(same_address)


STAGES = ["busy", "join", "subscribe", "idle"]


def test_restarts(space):
    """Every stage once, two of them at the same address."""
    lives = Lives(space)
    for number, stage in enumerate(STAGES[:3]):
        lives.hold()
        lives.work()
        restart(lives, stage, same_address=number % 2 == 1)
        rejoins = lives.await_watching()
    assert rejoins >= 3
    run = lives.finish(rejoins)
    left = {row["name"]: row["reason"] for row in run.components}
    assert left["Endless 1"] == "pool_gone"
    assert left["Model 1"] == "finalized"


@pytest.mark.long
def test_fifty_restarts(space):
    """Nothing grows: not the descriptors, not the memory."""
    lives = Lives(space, rejoin="600s", bucket="5s")
    lives.names = 4  # a name that is new costs memory, a restart must not
    sizes = []
    for number in range(50):
        lives.hold()
        if number < 10:
            lives.work()
        restart(lives, STAGES[number % len(STAGES)], same_address=number % 8 < 4)
        rejoins = lives.await_watching()
        sizes.append((descriptors(lives.vampire), resident_kib(lives.vampire)))
    print(f"descriptors and resident KiB after each restart: {sizes}")
    assert max(size[0] for size in sizes[5:]) <= sizes[4][0], sizes
    # What a pool costs once is not counted; what every pool costs would show.
    assert sizes[-1][1] - sizes[14][1] < 6 * 1024, sizes
    assert rejoins >= 50
    lives.finish(rejoins)


def test_giving_up(space):
    """Bounded: a pool manager that does not come back ends the run, and the gap is told."""
    lives = Lives(space, rejoin="1s")
    survivor = lives.survivor()
    lives.kill_manager()
    lives.vampire.expect_exit(4, 60)
    assert survivor.wait() == 1
    assert "did not come back in 1 s" in lives.vampire.stderr
    how, reason = ending_of(space.hdf5())
    assert how == 2 and "pool manager" in reason
    assert jsonl.records(space.json_lines())[-1]["type"] == "end"
    lives.check_gaps(1)
    run = results.Hdf5Run(space.hdf5_files())
    assert run.gauges["pool_cdos"][()] == 0
    assert run.counters["anomalies"][("Endless 1", "not_disposed_at_leave")] > 0
    assert not results.accounting_differences(run)


def test_stopped_while_it_waits(space):
    """A signal is not held up by the search, and the gap is told."""
    lives = Lives(space)
    lives.hold()
    lives.work()
    lives.kill_manager()
    lives.await_seeking()
    lives.vampire.signal(signal.SIGTERM)
    lives.vampire.expect_exit(0, 30)
    lives.check_gaps(1)


def test_the_state_on_request(space):
    lives = Lives(space)
    lives.page()
    lives.work()
    lives.vampire.expect_exit(0)
    page = lives.vampire.stderr
    for text in ("watching the pool", "received 0 = decoded 0 + rejected 0", "ring", "buckets",
                 "pairing", "cdos 0/", "series", "outputs", "hdf5: queued", "(of 4096)", "resident",
                 "lost before"):
        assert text in page, text


class ServiceManager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.messages = []

    def await_message(self, text, seconds=60):
        self.socket.settimeout(seconds * harness.PATIENCE)
        while not any(text in message for message in self.messages):
            self.messages.append(self.socket.recv(4096).decode())
        return next(message for message in self.messages if text in message)


@pytest.mark.parametrize("abstract", [False, True])
def test_service_manager(space, abstract):
    name = f"vampire-test-{os.getpid()}" if abstract else str(space.path / "notify")
    manager = ServiceManager("\0" + name if abstract else name)
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config(), extra={
        "NOTIFY_SOCKET": "@" + name if abstract else name, "WATCHDOG_USEC": "4000000",
    })
    ready = manager.await_message("READY=1")
    assert "STATUS=weather: watching the pool" in ready
    first = len(manager.messages)
    manager.await_message("WATCHDOG=1")
    vampire.signal(signal.SIGHUP)
    reloading = manager.await_message("RELOADING=1")
    assert int(reloading.split("MONOTONIC_USEC=")[1]) > 0
    del manager.messages[:first]
    manager.await_message("READY=1")
    vampire.signal(signal.SIGTERM)
    manager.await_message("STOPPING=1")
    vampire.expect_exit(0)


def test_notifications_without_a_listener(space):
    """A socket that is not there holds nothing up."""
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config(),
                            extra={"NOTIFY_SOCKET": str(space.path / "nobody")})
    vampire.stop()
