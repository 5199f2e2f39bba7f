# SPDX-License-Identifier: BSD-3-Clause
"""vampire-top shows what the JSON lines say: as plain text, and in an 80 by 24 terminal."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import harness

SECONDS = 60 * harness.PATIENCE
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8")


def synthetic(space):
    """The JSON lines of a run from the generator, and how many operations it had."""
    config = {
        "source": {"type": "synthetic", "seed": 7, "steps": 20, "lost": 20},
        "outputs": [{"type": "jsonl", "path": "vampire.jsonl"}],
    }
    process = space.vampire(config, "--workflow", "made up", ready=False)
    process.expect_exit(0)
    operations = re.search(r"^  all +([\d,]+)$", process.stderr, re.MULTILINE).group(1)
    lost = re.search(r"LOST +([\d,]+) events", process.stderr).group(1)
    return space.path / "vampire.jsonl", operations, lost


class Lines:
    """The lines of a made-up run."""

    def __init__(self, run="run-1", workflow="weather"):
        self.run, self.workflow, self.number = run, workflow, 0

    def line(self, kind, **fields):
        return json.dumps({"v": 1, "type": kind, "run": self.run, **fields}, separators=(",", ":")) + "\n"

    def header(self, segment=1):
        return self.line("header", workflow=self.workflow, segment=segment, level="component", host="h")

    def component(self, index, name, reason=None):
        left = {"left": "2026-11-21T04:00:00Z", "reason": reason} if reason else {"left": None}
        return self.line("component", index=index, app_id=index, name=name, **left)

    def bucket(self, operations, lost=0):
        """A bucket of one second with these operations by component."""
        text = "".join(
            self.line("metric", metric="pool_operations", delta=count,
                      labels={"component": name, "operation": "offer"})
            for name, count in operations.items())
        self.number += 1
        return text + self.line(
            "bucket", bucket=self.number, width_ns=10**9, metrics=len(operations),
            time=f"2026-11-21T04:00:{self.number % 60:02d}.000000000Z",
            accounting={"lost": {"ring": lost}, "rejected": 0, "outputs": []})

    def end(self, reason="finished", lost=0):
        return self.line("end", reason=reason, accounting={"lost": {"ring": lost}})


def top(*arguments, code=0, data=None):
    options = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(
        [harness.program("vampire-top"), *arguments], capture_output=True, timeout=SECONDS,
        env=ENVIRONMENT, check=False, **options)
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == code, done.stderr
    return done


def blocks(text):
    """Operations of each block of plain text."""
    return re.findall(r"^  operations +([\d,.]+)", text, re.MULTILINE)


# ---------------------------------------------------------------- what is shown


def test_newest_state_as_text(space):
    lines, operations, lost = synthetic(space)
    text = top("--once", "--totals", lines).stdout
    assert re.search(rf"operations +{operations}\b", text)
    assert re.search(rf"losses .*{lost}", text)
    assert "Model -- 0 -> Products 0" in text
    named = top("--once", "--totals", "--filter", "Products 1", lines).stdout
    assert "Products 1" in named and "-> Products 0" not in named


def test_a_block_for_each_bucket(space):
    """And of the end only what is new: what was lost behind the last bucket."""
    run = Lines()
    text = run.header() + run.bucket({"a": 3}) + run.bucket({"a": 5}) + run.end(lost=7)
    shown = top("--plain", "-", data=text.encode()).stdout
    assert blocks(shown) == ["3", "5"]
    assert shown.rstrip().endswith("! losses     7 events in ring (+7)")
    assert shown.count("ended: finished") == 1
    # The next run of the same stream is another one; a stream may end within a line.
    again = Lines("run-2", "second")
    text += again.header() + again.bucket({"b": 1}) + again.bucket({"b": 2})[:-20]
    shown = top("--plain", "-", data=text.encode()).stdout
    assert blocks(shown) == ["3", "5", "1"]
    assert "second" in shown


def test_mistakes_are_reported(space):
    missing = space.path / "missing.jsonl"
    assert str(missing) in top("--once", missing, code=1).stderr
    assert "size" in top("--sort", "size", missing, code=2).stderr
    for source in ("tcp:", "tcp:x", "tcp:0", "tcp:65536", "tcp:10.1.2.3:80", "tcp:[::1]:", "unix:",
                   "unix:/" + "x" * 200, "", "x" * 5000):
        assert top("--once", source, code=2).stderr.startswith("vampire-top: ")
    assert "connect" in top("--once", f"unix:{missing}", code=1).stderr
    junk = space.path / "junk.jsonl"
    junk.write_text("no JSON\n" * 3)
    for once in ("--once",), ():
        assert "is it a JSON lines output of vampire?" in top(*once, junk, code=1).stderr


def test_damaged_streams(space):
    """Broken, cut and endless lines are counted, bounded in memory, and hide nothing else."""
    run = Lines()
    good = run.bucket({"a": 3}).encode()
    damaged = [b"{", b"\xff\xfe\x00", b"[" * 60000, b"x" * (16 << 20), b'{"type":"bucket"}', b'"' + b"\\" * 65000]
    text = run.header().encode() + good + b"".join(line + b"\n" for line in damaged) + good
    path = space.path / "damaged.jsonl"
    path.write_bytes(text + good[:-30])
    child = subprocess.Popen(
        [harness.program("vampire-top"), "--plain", "--all", path], stdout=subprocess.PIPE, env=ENVIRONMENT)
    try:
        shown = b""
        while shown.count(b"  operations ") < 2:
            read = os.read(child.stdout.fileno(), 65536)
            assert read, shown
            shown += read
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert blocks(shown.decode()) == ["3", "3"]
    if harness.MODE == "release":
        assert int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) < 64 << 10  # KiB
    shown = top("--plain", "-", data=text + good[:-30]).stdout
    assert blocks(shown) == ["3", "3"]
    assert f"{len(damaged)} lines not understood" in shown


# ---------------------------------------------------------------- where it comes from


@contextlib.contextmanager
def server(space, kind, conversation):
    """Listens, and lets the conversation speak to the first who connects. Gives the SOURCE."""
    family = {"unix": socket.AF_UNIX, "tcp": socket.AF_INET, "tcp6": socket.AF_INET6}[kind]
    listener = socket.socket(family)
    listener.settimeout(SECONDS)
    path = space.path / "socket"
    listener.bind(str(path) if kind == "unix" else ("::1" if kind == "tcp6" else "127.0.0.1", 0))
    listener.listen(1)

    def serve():
        with listener, listener.accept()[0] as connection:
            conversation(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    port = None if kind == "unix" else listener.getsockname()[1]
    yield {"unix": f"unix:{path}", "tcp": f"tcp:{port}", "tcp6": f"tcp:[::1]:{port}"}[kind]
    thread.join(SECONDS)
    assert not thread.is_alive()


@pytest.mark.parametrize("kind", ["unix", "tcp", "tcp6"])
def test_sockets(space, kind):
    """In pieces of a few bytes; the end of the connection is the end."""
    run = Lines()
    text = (run.header() + run.bucket({"a": 3}) + run.bucket({"a": 5})).encode()

    def in_pieces(connection):
        for at in range(0, len(text), 7):
            connection.sendall(text[at : at + 7])

    with server(space, kind, in_pieces) as source:
        assert blocks(top("--plain", source).stdout) == ["3", "5"]


def test_a_socket_after_a_reload(space):
    """Its readers are told the end of the old configuration, and connect again."""
    run = Lines()
    path = space.path / "socket"
    process = None
    for operations, reason in ((3, "configuration reloaded"), (5, "finished")):
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.settimeout(SECONDS)
            listener.bind(str(path))
            listener.listen(1)
            process = process or follow(space, f"unix:{path}")
            with listener.accept()[0] as connection:
                connection.sendall((run.header() + run.bucket({"a": operations}) + run.end(reason)).encode())
    process.expect_exit(0, 60)
    assert blocks(process.stdout) == ["3", "5"]


def test_a_connection_that_breaks(space):
    run = Lines()
    text = (run.header() + run.bucket({"a": 3})).encode()

    def break_off(connection):
        connection.sendall(text)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with server(space, "tcp", break_off) as source:
        done = subprocess.run([harness.program("vampire-top"), "--plain", source], capture_output=True,
                              text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stderr != "") in ((0, False), (1, True)), done.stderr


def follow(space, source, *options):
    return space.start([harness.program("vampire-top"), "--plain", *options, source], "top")


def shows(process, expected):
    def shown():
        assert process.running() or blocks(process.stdout) == expected, process.account()
        return blocks(process.stdout) == expected

    harness.wait_until(shown, f"blocks {expected}", 60)


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


@pytest.mark.parametrize("reason", ["rotated", "configuration reloaded"])
def test_a_file_that_grows_rotates_and_is_replaced(space, reason):
    path = space.path / "vampire.jsonl"
    run = Lines()
    process = follow(space, path, "--wait")
    append(path, run.header() + run.bucket({"a": 3}))
    shows(process, ["3"])
    half = run.bucket({"a": 5})
    append(path, half[:40])
    append(path, half[40:])
    shows(process, ["3", "5"])
    # Another run has the next number: it is not ours.
    append(f"{path}.0002", Lines("run-9").header() + Lines("run-9").bucket({"z": 99}))
    append(path, run.end(reason))
    append(f"{path}.0003", run.header(2) + run.bucket({"a": 7}))
    shows(process, ["3", "5", "7"])
    # Replaced by a file of another run, then cut and written anew.
    last = space.path / "vampire.jsonl.0003"
    other = Lines("run-2")
    append(space.path / "new", other.header() + other.bucket({"b": 11}) + other.bucket({"b": 12}))
    os.replace(space.path / "new", last)
    shows(process, ["3", "5", "7", "11", "12"])
    os.truncate(last, 0)
    third = Lines("run-3")
    append(last, third.header() + third.bucket({"c": 13}))
    shows(process, ["3", "5", "7", "11", "12", "13"])
    append(last, third.end())
    process.expect_exit(0)


def test_a_fifo_waits_for_its_writers(space):
    path = space.path / "fifo"
    os.mkfifo(path)
    run = Lines()
    process = follow(space, path)
    append(path, run.header() + run.bucket({"a": 3}))
    shows(process, ["3"])
    append(path, run.bucket({"a": 5}))
    shows(process, ["3", "5"])
    append(path, run.end())
    process.expect_exit(0)


# ---------------------------------------------------------------- in a terminal


class Terminal:
    """vampire-top in a tmux of its own."""

    def __init__(self, space, *arguments, columns=80, lines=24):
        self.tmux = ["tmux", "-S", str(space.path / "tmux")]
        self.errors = space.path / "terminal.stderr"
        command = " ".join(f"'{part}'" for part in [harness.program("vampire-top"), *map(str, arguments)])
        self.run("-f", "/dev/null", "-u", "new-session", "-d", "-x", str(columns), "-y", str(lines),
                 f"exec {command} 2>'{self.errors}'", ";", "set", "-g", "window-size", "manual", ";",
                 "set", "-g", "status", "off", ";", "resize-window", "-x", str(columns), "-y", str(lines))

    def run(self, *arguments):
        return subprocess.run([*self.tmux, *arguments], capture_output=True, text=True, check=True,
                              env=ENVIRONMENT, timeout=SECONDS).stdout

    def screen(self):
        return self.run("capture-pane", "-p")

    def shows(self, *texts, without=()):
        def there():
            screen = self.screen()
            return all(t in screen for t in texts) and not any(t in screen for t in without)

        try:
            harness.wait_until(there, f"{texts} without {without} on the screen", 60)
        except harness.Failure as failure:
            raise harness.Failure(f"{failure}\n{self.screen()}") from None

    def keys(self, *keys):
        self.run("send-keys", *keys)

    def resize(self, columns, lines):
        self.run("resize-window", "-x", str(columns), "-y", str(lines))

    def ended(self):
        return subprocess.run([*self.tmux, "has-session"], capture_output=True, check=False).returncode != 0

    def quit(self):
        self.keys("q")
        harness.wait_until(self.ended, "the end of vampire-top", 60)
        assert self.errors.read_text() == ""

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def terminal(space):
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    opened = []

    def start(*arguments, **size):
        opened.append(Terminal(space, *arguments, **size))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_a_terminal_of_80_by_24(space, terminal):
    lines, operations, lost = synthetic(space)
    view = terminal("-t", lines)
    view.shows(operations, lost, "Model -- 0", "sort: operations", "gaps, last")
    assert all(len(line) <= 80 for line in view.screen().splitlines())
    for key, sort in (("s", "bytes"), ("w", "wait"), ("n", "name"), ("o", "operations"), ("r", "operations up")):
        view.keys(key)
        view.shows(f"sort: {sort}")
    view.keys("h")
    view.shows("pause or resume", without=["Model -- 0"])
    view.keys("h")
    view.shows("Model -- 0")
    view.keys("/", "P", "r", "o", "X", "BSpace", "d", "Enter")
    view.shows("[Prod]", "Products 1", without=["Model -- 0 (finalized)"])
    view.keys("Escape")
    view.shows("Model -- 0 (finalized)", without=["[Prod]"])
    view.quit()


def test_a_view_that_lives(space, terminal):
    """Pause, scrolling, totals, sizes of the terminal, news and silence."""
    path = space.path / "live.jsonl"
    run = Lines()
    names = {f"member {i:02d}": 100 - i for i in range(60)}
    text = run.header() + "".join(run.component(i, name) for i, name in enumerate(names))
    append(path, text + run.bucket(names))
    view = terminal(path)
    view.shows("weather", "bucket 1 of", "member 00", without=["member 50"])
    for _ in range(5):
        view.keys("PageDown")
    view.shows("member 59", without=["member 00"])
    view.keys("Home")
    view.shows("member 00")
    view.keys("p")
    view.shows("[paused]")
    append(path, run.bucket({"member 00": 1}) + run.component(2, "member 02", "vanished") + run.component(70, "member 03")
           + run.bucket({"member 01": 41}))
    view.keys("r")
    view.shows("[paused]", "sort: operations up", "bucket 1 of")
    view.keys("r", "p")
    view.shows("bucket 3 of", "vanished   member 02", without=["[paused]"])
    view.keys("t")
    view.shows("sums of 3 buckets", "member 02 (vanished)", "member 03 (x2)")
    view.resize(200, 60)
    view.shows("member 45")
    view.resize(30, 10)
    view.shows("too small")
    view.resize(80, 24)
    view.shows("member 00", "COMPONENT", without=["too small"])
    view.shows("[nothing new for")
    append(path, run.bucket({"member 01": 41}))
    view.shows("sums of 4 buckets", without=["[nothing new for"])
    append(path, run.end())
    view.shows("[end]", "ended: finished")
    view.quit()


def test_names_from_the_wire_in_a_terminal(space, terminal):
    path = space.path / "odd.jsonl"
    run = Lines(workflow="\x1b]0;title\x07weather\x1b[2J")
    names = ["\x1b[2Jclear", "日本の気象", "Zoe\u0301", "mirror\u202egnp", "x" * 400, "a\nb\tc", ""]
    text = run.header() + "".join(run.component(i, name) for i, name in enumerate(names))
    append(path, text + run.bucket({name: 5 for name in names}))
    view = terminal(path)
    view.shows("?]0;title?weather?[2J", "?[2Jclear", "日本の気象  ", "Zoe\u0301 ", "mirror?gnp", "a?b?c", "xxx~")
    # The columns of numbers stand below each other, whatever the widths of the names.
    screen = subprocess.run([*view.tmux, "capture-pane", "-p"], capture_output=True, check=True).stdout.decode()
    rows = [row for row in screen.splitlines() if re.search(r" 5 +0 B +0 B", row)]
    assert len(rows) >= 6
    assert {columns(row[: row.index(" 5 ")]) for row in rows} == {columns(rows[0][: rows[0].index(" 5 ")])}
    view.quit()


def columns(text):
    wide = sum(1 for c in text if c >= "\u3000")
    return len(text) + wide - text.count("\u0301")


def test_a_signal_leaves_the_terminal_in_order(space, terminal):
    path = space.path / "live.jsonl"
    run = Lines()
    append(path, run.header() + run.bucket({"a": 3}))
    view = terminal(path)
    view.shows("bucket 1 of")
    os.kill(int(view.run("display", "-p", "#{pane_pid}")), signal.SIGTERM)
    harness.wait_until(view.ended, "the end of vampire-top", 60)
    assert view.errors.read_text() == ""
