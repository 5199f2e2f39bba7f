# SPDX-License-Identifier: BSD-3-Clause
"""How programs end: within "finish" and a second whatever a server or a disk does, and with the exit code
of their accounts."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading

import pytest

import exporters
import harness
import nats_reader
from test_full_servers import Ballast

pytestmark = pytest.mark.plain

SECONDS = 21  # "finish" is 20 s unless told otherwise


def running(outputs, **more):
    """Until it is stopped."""
    return {"workflow": "synthetic", "source": {"type": "synthetic", "steps": 100000, "speed": 1},
            "statistics": {"bucket": "200ms"}, "outputs": outputs, **more}


def accounts(process):
    """{name of an output: (written, lost)} of the summary."""
    found = re.findall(r"^  (\S+) +(\d+) buckets? written(?:, (\d+) LOST)?", process.stderr, re.MULTILINE)
    return {name: (int(written), int(lost or 0)) for name, written, lost in found}


# ---------------------------------------------------------------- within the time

def test_stuck_servers_and_a_full_disk_delay_each_other_by_nothing(space, small_disk):
    tls, deaf = nats_reader.silent_nats(tls_required=True), nats_reader.Silent()
    disk = small_disk(16384)
    fifo = space.path / "fifo"
    os.mkfifo(fifo)
    full = [{"type": "hdf5", "name": f"full{width}", "directory": str(disk), "bucket": width} for width in ("200ms", "400ms", "1s")]
    vampire = space.vampire(running([
        {"type": "hdf5", "name": "good"}, *full, {"type": "jsonl", "name": "fifo", "path": str(fifo)},
        {"type": "nats", "servers": [f"nats://127.0.0.1:{tls.port}"]},
        {"type": "influx", "url": f"http://127.0.0.1:{deaf.port}", "timeout": "10min"}]), ready=False)
    harness.wait_until(lambda: tls.peers and deaf.peers, "both servers are connected to")
    ballast = Ballast(disk)
    for name in ("full200ms", "full400ms", "full1s"):
        vampire.until_stderr(f"error: output {name}")
    vampire.signal(signal.SIGTERM)
    assert vampire.wait(SECONDS) == 1
    ballast.drop()
    of = accounts(vampire)
    assert of["good"][0] > 0 and of["good"][1] == 0
    harness.wait_until(lambda: tls.peers and deaf.peers, "both servers are connected to")
    ballast = Ballast(disk)
    for name in ("full200ms", "fifo", "nats", "influx"):
        assert sum(of[name]) == of["good"][0] and of[name][1] > 0, name


def test_a_main_thread_that_is_stuck_ends_too(space):
    """In a call that cannot be interrupted: opening a file of a file system that stands still."""
    stands_still, recording = space.path / "stands-still", space.path / "events.rec"
    for file in (stands_still, recording):
        file.touch()
    config = space.path / "vampire.json"
    config.write_text(json.dumps({"finish": "1s"}))
    vampire = space.start([harness.program("vampire"), "-c", config, "--replay", recording], "vampire", extra={
        "LD_PRELOAD": str(harness.build_preload("failing_calls", space.path)),
        "FAIL_UNDER": str(recording), "FAIL_WAIT": str(stands_still)})
    harness.wait_until(lambda: "nanosleep" in open(f"/proc/{vampire.child.pid}/wchan").read(), "it waits for the file")
    vampire.signal(signal.SIGTERM)
    assert vampire.wait(10) == 1
    assert 'the end takes longer than "finish"' in vampire.stderr


def test_a_page_stays_for_readers_no_longer_than_the_end_may_take(space):
    vampire = space.vampire(running([{"type": "hdf5"}, {"type": "prometheus", "listen": "tcp:0", "linger": "1h"}], finish="2s"),
                            ready=False)
    vampire.until_stderr("the page is")
    vampire.signal(signal.SIGTERM)
    assert vampire.wait(10) == 0


def test_a_collector_ends_while_a_server_is_silent(space):
    tls = nats_reader.silent_nats(tls_required=True)
    config = space.path / "collect.json"
    config.write_text(json.dumps({"collect": {"servers": [f"nats://127.0.0.1:{tls.port}"]}, "outputs": [{"type": "hdf5"}]}))
    collector = space.start([harness.program("vampire-collect"), "-c", config], "collector")
    collector.until_stderr("the server accepts a connection and is silent; what is published meanwhile is missed")
    collector.signal(signal.SIGTERM)
    assert collector.wait(SECONDS) == 0
    assert "stopped by signal" in collector.stderr and accounts(collector)["hdf5"][1] == 0


def test_a_terminal_view_ends_in_every_state(space):
    fifo = space.path / "fifo"
    os.mkfifo(fifo)
    deaf = nats_reader.Silent()
    for source in (fifo, f"tcp:{deaf.port}", space.path / "not-there-yet"):
        view = space.start([harness.program("vampire-top"), "--wait", source], "view")
        harness.wait_until(lambda: open(f"/proc/{view.child.pid}/wchan").read() not in ("", "0"), "it waits")
        view.signal(signal.SIGTERM)
        assert view.wait(SECONDS) in (0, -signal.SIGTERM)


def test_a_pool_manager_ends_while_a_member_is_stopped(space):
    manager = space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    vampire.signal(signal.SIGSTOP)
    manager.signal(signal.SIGTERM)
    manager.expect_exit(0, SECONDS)


# ---------------------------------------------------------------- the exit code

def test_an_outage_that_lost_nothing_is_no_failure(space):
    server = nats_reader.Server(space)
    vampire = space.vampire(running([{"type": "hdf5"}, {"type": "nats", "servers": [server.address]}]), ready=False)
    harness.wait_until(lambda: exporters.fetch(f"{server.url}/varz")[2].count('"in_msgs": 0') == 0, "a bucket is there")
    server.process.end()
    vampire.until_stderr("error: output nats")
    server.start()
    sent = json.loads(exporters.fetch(f"{server.url}/varz")[2])["in_msgs"]
    harness.wait_until(lambda: json.loads(exporters.fetch(f"{server.url}/varz")[2])["in_msgs"] > sent, "it is sent to again")
    vampire.signal(signal.SIGTERM)
    vampire.expect_exit(0)
    of = accounts(vampire)
    assert of["nats"] == of["hdf5"] and of["nats"][1] == 0
    assert re.search(r"failed to write 1 time, nothing was lost: .*publish at nats://", vampire.stderr), vampire.stderr


def test_a_loss_is_a_failure_whenever_it_was(space):
    """Also when the output writes again at the end."""
    server = nats_reader.Server(space)
    vampire = space.vampire(running([{"type": "hdf5"}, {"type": "nats", "servers": [server.address], "queue": 1}]), ready=False)
    harness.wait_until(lambda: exporters.fetch(f"{server.url}/varz")[2].count('"in_msgs": 0') == 0, "a bucket is there")
    server.process.end()
    vampire.until_stderr("error: output nats")
    harness.wait_until(lambda: lost_so_far(vampire) > 0, "buckets are lost")
    server.start()
    harness.wait_until(lambda: json.loads(exporters.fetch(f"{server.url}/varz")[2])["in_msgs"] > 2, "it is sent to again")
    vampire.signal(signal.SIGTERM)
    vampire.expect_exit(1)
    of = accounts(vampire)
    assert sum(of["nats"]) == sum(of["hdf5"]) and of["nats"][1] > 0


def lost_so_far(vampire):
    vampire.signal(signal.SIGUSR1)
    return max((int(lost) for lost in re.findall(r"nats: queued .* \+ lost (\d+) ", vampire.stderr)), default=0)


# ---------------------------------------------------------------- secrets

def checked(space, output, code):
    config = space.path / "checked.json"
    config.write_text(json.dumps({"workflow": "x", "outputs": [{"type": "influx", **output}]}))
    check = space.start([harness.program("vampire"), "--check-config", "-c", config], "check")
    check.expect_exit(code)
    return check.stdout + check.stderr


def test_secrets_that_others_may_read_change_or_hear(space):
    secret = space.path / "secret"
    secret.write_text("of the site\n")
    here, away = ({"url": f"http://{host}:8086", "secret_file": str(secret)} for host in ("localhost", "influx.site"))
    secret.chmod(0o600)
    assert "warning" not in checked(space, here, 0)
    assert "warning" not in checked(space, {**away, "url": "https://influx.site:8086"}, 0)
    assert "the secret is sent over the network unencrypted" in checked(space, away, 0)
    secret.chmod(0o644)
    assert f"other users may read the secret in {secret}" in checked(space, here, 0)
    secret.chmod(0o666)
    assert f"every user may write to the file with the secret, {secret}: chmod 600" in checked(space, here, 2)


def test_a_file_of_a_server_that_is_missing(space):
    for key in ("ca_file", "credentials_file"):
        vampire = space.vampire(running([{"type": "nats", key: "/nowhere/x.pem"}]), ready=False, name=key)
        vampire.expect_exit(1)
        assert 'output "nats": read /nowhere/x.pem: No such file or directory' in vampire.stderr


@pytest.mark.plain
@pytest.mark.parametrize("name", ["SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_a_request_during_the_start_ends_nothing(space, name):
    """The signal arrives while the configuration is still being read, and is served by the run."""
    number = signal.Signals[name]
    with subprocess.Popen([harness.program("vampire"), "-c", "-"], cwd=space.path, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=space.environment) as vampire:
        status = pathlib.Path(f"/proc/{vampire.pid}/status")
        harness.wait_until(lambda: int(re.search(r"SigBlk:\s*(\w+)", status.read_text())[1], 16) >> (number - 1) & 1, "vampire holds it", 10)
        vampire.send_signal(number)
        made = {"source": {"type": "synthetic", "steps": 5}, "outputs": [{"type": "jsonl", "path": "out.jsonl"}]}
        _, errors = vampire.communicate(json.dumps(made).encode(), 60)
        assert vampire.returncode == 0, errors
        assert name != "SIGUSR1" or b"end of the state" in errors
