# SPDX-License-Identifier: BSD-3-Clause
"""vampire-top in a terminal: keys, sizes, names from the wire, signals."""

import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import pytest

import harness
from top_streams import ENVIRONMENT, Lines, SECONDS, append, synthetic


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
    # What has no room for all keys has some of them, whole.
    view.resize(60, 24)
    view.shows("h help  q quit", without=["~"])
    view.resize(80, 24)
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
    view.shows("MODEL", "member (x60)", without=["member 00"])
    view.keys("Enter")
    view.shows("weather", "bucket 1 of", "member 00", without=["member 50"])
    for _ in range(5):
        view.keys("PageDown")
    view.shows("member 59", " before, 0 after", without=["member 00"])
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
    view.keys("i", "i")
    view.shows("the last 3 s", "OPS/S")
    view.keys("v")
    view.shows("WAITED FOR <- WHO WAITED", without=["SOURCE -> SINK"])
    view.keys("v", "t")
    view.shows("sums of 3 buckets")
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


class Pty:
    """vampire-top on a pseudo-terminal, whose size can be anything; what it writes is kept as bytes."""

    def __init__(self, *arguments, size):
        self.main, terminal = os.openpty()
        self.resize(*size)
        self.written = b""
        self.process = subprocess.Popen(
            [harness.program("vampire-top"), *map(str, arguments)], stdin=terminal, stdout=terminal, stderr=terminal,
            env=dict(ENVIRONMENT, TERM="xterm"), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)

    def resize(self, columns, lines):
        self.size = (columns, lines)
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def writes(self, text):
        """Waits for bytes after those that were waited for before."""
        end = time.monotonic() + SECONDS
        while text not in self.written:
            ready, _, _ = select.select([self.main], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise harness.Failure(f"{self.size}: {text} was not written after {self.written[-500:]}")
            try:
                self.written += os.read(self.main, 65536)
            except OSError:
                raise harness.Failure(f"{self.size}: vampire-top ended before {text}: {self.written[-500:]}") from None
        self.written = self.written[self.written.index(text) + len(text):]

    def keys(self, text):
        os.write(self.main, text)

    def quit(self):
        """What it used, once it has ended."""
        self.keys(b"q")
        with contextlib.suppress(OSError):
            while os.read(self.main, 65536):
                pass
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        assert self.process.returncode == 0, self.size
        return usage

    def close(self):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        os.close(self.main)


@pytest.mark.parametrize("size", [(65535, 65535), (5000, 5000), (65535, 24), (80, 65535)])
def test_terminals_of_any_size(space, size):
    """From the start and after a resize: a bounded part of the screen is drawn, in bounded memory."""
    for first, then in ((size, (80, 24)), ((80, 24), size)):
        path = space.path / f"{first[0]}.jsonl"
        run = Lines()
        append(path, run.header() + run.component(0, "a") + run.bucket({"a": 3}))
        view = Pty(path, size=first)
        try:
            view.writes(b"bucket 1 of")
            view.resize(*then)
            view.keys(b"h")
            view.writes(b"pause or resume")
            view.keys(b"h")
            append(path, run.bucket({"a": 3}))
            view.writes(b"COMPONENT")
            usage = view.quit()
            assert usage.ru_maxrss < 256 * 1024, f"{usage.ru_maxrss} KiB for {size}"
            assert usage.ru_utime + usage.ru_stime < 2 * harness.PATIENCE
        finally:
            view.close()
