# SPDX-License-Identifier: BSD-3-Clause
"""Outputs that are slow, stopped, dead, or crowded: nothing waits for them, what they miss is
counted exactly, and the other outputs are complete.

The buckets are made up by writers_fill_test; its account is `queued written lost waiting`.
"""

import concurrent.futures
import json
import os
import signal
import socket
import stat
import subprocess
import tempfile

import pytest

import harness
import jsonl
from harness import PATIENCE, program, wait_until
from made_up import FILL

TALK = 60 * PATIENCE


class Filler:
    """writers_fill_test with a socket output."""

    def __init__(self, address, *options, **numbers):
        argv = [FILL, "jsonl", f"path={address}", *options, "--"]
        argv += [f"{key}={value}" for key, value in numbers.items()]
        self.out = tempfile.TemporaryFile()
        self.child = subprocess.Popen(argv, stdout=self.out, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        self.out.close()

    def said(self):
        size = os.fstat(self.out.fileno()).st_size
        return os.pread(self.out.fileno(), size, 0).decode()

    def remark(self):
        return next((line for line in self.said().splitlines() if line.startswith("remark ")), None)

    def stop(self):
        self.child.send_signal(signal.SIGTERM)

    def finish(self):
        self.stop()
        self.child.wait(TALK)
        text = self.said()
        assert "Sanitizer" not in text and "runtime error" not in text, text
        (line,) = [line for line in text.splitlines() if line.startswith("account ")]
        queued, written, lost, waiting = map(int, line.split()[1:])
        assert queued == written + lost + waiting and waiting == 0
        return queued, written, lost


def free_port(family):
    with socket.socket(family) as probe:
        probe.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        return probe.getsockname()[1]


class Reader:
    """Connects as soon as the output listens; reads to the end or part by part."""

    def __init__(self, address, receive_bytes=None):
        def connect():
            kind, rest = address.split(":", 1)
            if kind == "unix":
                self.socket = socket.socket(socket.AF_UNIX)
                target = rest
            else:
                host, port = rest.rsplit(":", 1)
                six = host.startswith("[")
                self.socket = socket.socket(socket.AF_INET6 if six else socket.AF_INET)
                target = (host.strip("[]"), int(port))
            if receive_bytes:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            try:
                self.socket.connect(target)
            except (FileNotFoundError, ConnectionRefusedError):
                self.socket.close()
                return False
            return True

        wait_until(connect, f"{address} listens")
        self.socket.settimeout(TALK)
        self.data = bytearray()

    def until(self, word):
        while word not in self.data:
            got = self.socket.recv(65536)
            assert got, f"the stream ended before {word}"
            self.data += got

    def rest(self):
        while True:
            got = self.socket.recv(1 << 20)
            if not got:
                self.socket.close()
                return self.lines()
            self.data += got

    def lines(self):
        return jsonl.strict(bytes(self.data))


def read_all(*readers):
    """At the same time: at the end of a run a reader that does not read is not waited for."""
    with concurrent.futures.ThreadPoolExecutor(len(readers)) as pool:
        return list(pool.map(Reader.rest, readers))


def validate(lines):
    """The first lines of each type: the validator is slow."""
    seen = {}
    check = jsonl.validator()
    for line in lines:
        seen[line["type"]] = seen.get(line["type"], 0) + 1
        if seen[line["type"]] <= 20:
            check.validate(line)


def bucket_numbers(lines):
    return [line["bucket"] for line in lines if line["type"] == "bucket"]


def assert_exact(lines, buckets):
    """What a reader that was there from bucket `first` on got and what it was informed to have lost."""
    numbers = bucket_numbers(lines)
    expected, lost_before = numbers[0], 0
    for line in lines:
        if line["type"] == "lost" and line["what"] == "buckets":
            assert line["reason"] == "reader"
            lost_before += line["count"]
        elif line["type"] == "bucket":
            assert line["bucket"] == expected + lost_before
            assert lost_before == 0 or line.get("complete"), "after a loss all values are written"
            expected, lost_before = line["bucket"] + 1, 0
    assert expected + lost_before == buckets


# More buckets than any test waits for: it stops the filler when it has seen enough.
MANY = 1000000


@pytest.mark.parametrize("kind", ["unix", "tcp", "tcp6"])
def test_readers_of_a_socket(tmp_path, kind):
    """Two readers from the beginning, one later: the same lines, and all that is needed first."""
    if kind == "unix":
        address = f"unix:{tmp_path}/vampire.sock"
    elif kind == "tcp":
        address = f"tcp:127.0.0.1:{free_port(socket.AF_INET)}"
    else:
        try:
            address = f"tcp:[::1]:{free_port(socket.AF_INET6)}"
        except OSError:
            pytest.skip("no IPv6 on this machine")
    with Filler(address, buckets=MANY, growth=1, max_series=8, pause_us=20000) as filler:
        first, second = Reader(address), Reader(address)
        first.until(b'"type":"bucket"')
        late = Reader(address)
        late.until(b'"complete":true')
        filler.stop()
        streams = read_all(first, second, late)
        queued, written, lost = filler.finish()
    assert queued == written and lost == 0
    for lines in streams:
        validate(lines)
        assert lines[0]["type"] == "header" and lines[-1]["type"] == "end"
        assert lines[-1]["reason"] == "finished"
        assert_exact(lines, queued)
        assert {line["name"] for line in lines if line["type"] == "component"} >= {"IFS -- 0"}
        firsts = [line for line in lines if line["type"] == "bucket"][:2]
        assert any(line.get("complete") for line in firsts), "a newcomer soon knows all values"
    common = bucket_numbers(streams[2])[0]
    assert common > 0 and common >= max(bucket_numbers(lines)[0] for lines in streams)
    tails = [
        [line for line in lines if line["type"] == "values" and line["bucket"] >= common]
        for lines in streams
    ]
    assert tails[0] == tails[1] == tails[2]
    assert not (tmp_path / "vampire.sock").exists(), "it takes its socket away"


def test_a_stopped_reader_loses_only_for_itself(tmp_path):
    """One reader stops for a long time; the other one misses nothing; both know exactly."""
    address = f"unix:{tmp_path}/vampire.sock"
    options = ("reader_buffer=256KiB", "complete_every=1000")
    with Filler(address, *options, buckets=MANY, growth=0, pause_us=10000) as filler:
        stopped = Reader(address, receive_bytes=4096)
        good = Reader(address)
        stopped.until(b'"type":"bucket"')
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            everything = pool.submit(good.rest)
            remark = wait_until(filler.remark, "the remark is printed")
            stopped.until(b'"what":"buckets","reason":"reader"')  # it reads again
            stopped.until(b'"complete":true')
            filler.stop()
            streams = [stopped.rest(), everything.result()]
        queued, written, lost = filler.finish()
    assert "readers of unix:" in remark and "missed" in remark
    assert queued == written and lost == 0
    losses = []
    for lines in streams:
        validate(lines)
        assert_exact(lines, queued)
        losses.append(sum(line["count"] for line in lines
                          if line["type"] == "lost" and line["reason"] == "reader"))
    assert losses[0] > 0, "the stopped one lost something"


def get_in(address, word=b'"type":"header"'):
    """A reader for whom there was a place, else None."""
    reader = Reader(address)
    try:
        reader.until(word)
        return reader
    except (AssertionError, ConnectionError):
        reader.socket.close()
        return None


def test_a_reader_that_goes_away_is_forgotten(tmp_path):
    """More readers than places, one after the other, closed rudely: the place is free again."""
    address = f"unix:{tmp_path}/vampire.sock"
    with Filler(address, "readers=1", buckets=MANY, growth=0, pause_us=10000) as filler:
        for _ in range(5):
            wait_until(lambda: get_in(address), "a place").socket.close()
        last = wait_until(lambda: get_in(address), "a place")
        assert get_in(address) is None, "there is only one"
        filler.stop()
        lines = last.rest()
        queued, written, lost = filler.finish()
    assert queued == written and lines[-1]["type"] == "end"


def test_a_newcomer_takes_the_place_of_one_that_is_lost(tmp_path):
    address = f"unix:{tmp_path}/vampire.sock"
    options = ("readers=1", "reader_buffer=64KiB")
    with Filler(address, *options, buckets=MANY, growth=0, pause_us=5000) as filler:
        stopped = Reader(address, receive_bytes=4096)
        stopped.until(b'"type":"header"')
        newcomer = wait_until(lambda: get_in(address), "the stopped reader's place")
        newcomer.until(b'"type":"bucket"')
        filler.stop()
        lines = newcomer.rest()
        queued, written, lost = filler.finish()
        stopped.socket.close()
    assert queued == written and lines[-1]["type"] == "end"


def test_a_unix_socket_is_private(tmp_path):
    path = tmp_path / "vampire.sock"
    before = os.umask(0)
    try:
        for access, mode in (("private", 0o600), ("group", 0o660), ("all", 0o666)):
            with Filler(f"unix:{path}", f"access={access}", buckets=MANY, pause_us=20000) as filler:
                reader = Reader(f"unix:{path}")
                status = path.lstat()
                assert stat.S_ISSOCK(status.st_mode) and status.st_mode & 0o777 == mode
                reader.socket.close()
                filler.finish()
    finally:
        os.umask(before)


def test_a_dead_socket_is_replaced_and_nothing_else(tmp_path):
    """A socket file without a listener goes; a file, a link, a live socket and a foreign one stay."""
    dead = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(dead))
    with Filler(f"unix:{dead}", buckets=MANY, pause_us=20000) as filler:
        reader = Reader(f"unix:{dead}")
        reader.until(b'"type":"bucket"')  # it was let in
        filler.stop()
        lines = reader.rest()
        filler.finish()
    assert lines[-1]["type"] == "end"

    def refused(path):
        done = subprocess.run(
            [FILL, "jsonl", f"path=unix:{path}", "--", "buckets=1"],
            capture_output=True, text=True, timeout=TALK,
        )
        assert done.returncode != 0
        return done.stdout

    file = tmp_path / "file"
    file.write_text("mine")
    assert "is no socket" in refused(file) and file.read_text() == "mine"
    link = tmp_path / "link"
    link.symlink_to(dead)
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(dead))
    assert "is no socket" in refused(link) and link.is_symlink()
    live = tmp_path / "live.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(live))
        other.listen()
        assert "another process listens" in refused(live)
        with socket.socket(socket.AF_UNIX) as reader:
            reader.connect(str(live))  # it still is the same one
    if os.geteuid() == 0:
        os.chown(dead, 12345, 12345)
        assert "belongs to another user" in refused(dead) and dead.is_socket()
    assert "1 to 107 bytes" in refused(tmp_path / ("x" * 120))


def test_tcp_listens_on_loopback_by_default(tmp_path):
    port = free_port(socket.AF_INET)
    with Filler(f"tcp:{port}", buckets=MANY, pause_us=10000) as filler:
        reader = Reader(f"tcp:127.0.0.1:{port}")
        assert f"0100007F:{port:04X}" in open("/proc/net/tcp").read()
        assert f"00000000:{port:04X}" not in open("/proc/net/tcp").read()
        taken = subprocess.run([FILL, "jsonl", f"path=tcp:{port}"], capture_output=True, text=True)
        assert "another process listens" in taken.stdout
        filler.stop()
        assert reader.rest()[-1]["type"] == "end"
        filler.finish()


def test_vampire_top_reads_a_socket(tmp_path):
    address = f"unix:{tmp_path}/vampire.sock"
    config = tmp_path / "vampire.json"
    config.write_text(json.dumps({
        "workflow": "made up",
        "source": {"type": "synthetic", "steps": 100000, "speed": 1},
        "statistics": {"bucket": "100ms"},
        "outputs": [{"type": "jsonl", "path": address}, {"type": "null"}],
    }))
    vampire = subprocess.Popen([program("vampire"), "-c", config], stderr=subprocess.PIPE)
    try:
        Reader(address).socket.close()
        done = subprocess.run([program("vampire-top"), "--once", address],
                              capture_output=True, text=True, timeout=TALK)
        assert done.returncode == 0, done.stderr
        assert "synthetic" in done.stdout
        reader = Reader(address)
        reader.until(b'"type":"bucket"')
        vampire.send_signal(signal.SIGTERM)
        assert reader.rest()[-1]["reason"].startswith("stopped")
        assert vampire.wait(TALK) == 0
    finally:
        vampire.kill()
        vampire.communicate()


@pytest.mark.parametrize("kind, key", [("prometheus", "listen"), ("jsonl", "path")])
def test_an_address_of_other_hosts_has_a_warning(kind, key):
    """Nothing keeps their users from reading; on this machine's loopback there is no warning."""
    for address, warns in (("tcp:0", False), ("tcp:127.0.0.2:0", False), ("tcp:[::1]:0", False), ("tcp:0.0.0.0:0", True),
                           ("tcp:192.0.2.7:9955", True), ("tcp:[::]:0", True)):
        done = subprocess.run([program("vampire"), "--check-config", "-o", "source.type=synthetic", "-o", f"outputs.0.type={kind}",
                               "-o", f"outputs.0.{key}={address}"], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and ("every host that reaches" in done.stderr + done.stdout) == warns, (address, done)


@pytest.mark.plain
def test_a_directory_replaced_by_a_link_is_not_followed(space):
    """A link that exists at the start is resolved; one that replaces the directory later redirects neither files nor deletions."""
    place, link, victim = space.path / "place", space.path / "link", space.path / "victim"
    for folder in (place, victim):
        folder.mkdir()
    link.symlink_to(place)
    config = harness.vampire_config(bucket="100ms", directory=str(link))
    config["outputs"] = [{"type": kind, "directory": str(link), "rotate": {"interval": "1s"}, "keep": {"age": "1s"}}
                         for kind in ("recording", "hdf5")]
    config["outputs"] += [{"type": "jsonl", "path": str(link / "lines.jsonl"), "rotate": {"interval": "1s"}},
                          {"type": "null"}]
    config["source"] = {"type": "synthetic", "steps": 100000, "start": "now", "speed": 1}
    config["workflow"] = "synthetic"
    vampire = space.vampire(config, ready=False)
    harness.wait_until(lambda: list(place.glob("*.rec")) and list(place.glob("*.h5")) and list(place.glob("*.jsonl")), "there are files")
    before = {}
    for name in ("vampire-synthetic-20200101T000000Z-00000000-recording-0001.rec", "vampire-synthetic-20200101T000000Z-00000000-hdf5-0001.h5"):
        (victim / name).touch()
        os.utime(victim / name, (0, 0))
        before[name] = 0
    place.rename(space.path / "moved")
    place.symlink_to(victim)
    vampire.until_stderr("a symbolic link has replaced its directory")
    harness.wait_until(lambda: vampire.stderr.count("a symbolic link has replaced its directory") >= 3, "no output follows it")
    vampire.signal(signal.SIGTERM)
    vampire.wait()
    assert {path.name: path.stat().st_size for path in victim.iterdir()} == before
