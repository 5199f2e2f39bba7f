# SPDX-License-Identifier: BSD-3-Clause
"""vampire-top shows what the JSON lines say: as plain text, and in an 80 by 24 terminal."""

import re
import shutil
import subprocess

import pytest

import harness

pytestmark = pytest.mark.plain


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


def top(*arguments, code=0):
    done = subprocess.run(
        [harness.program("vampire-top"), *arguments], capture_output=True, text=True, timeout=30,
        stdin=subprocess.DEVNULL)
    assert done.returncode == code, done.stderr
    return done


def test_newest_state_as_text(space):
    lines, operations, lost = synthetic(space)
    text = top("--once", "--totals", lines).stdout
    assert re.search(rf"operations +{operations}\b", text)
    assert re.search(rf"losses .*{lost}", text)
    assert "Model -- 0 -> Products 0" in text
    named = top("--once", "--totals", "--filter", "Products 1", lines).stdout
    assert "Products 1" in named and "-> Products 0" not in named


def test_mistakes_are_told(space):
    missing = space.path / "missing.jsonl"
    assert str(missing) in top("--once", missing, code=1).stderr
    assert "size" in top("--sort", "size", missing, code=2).stderr
    junk = space.path / "junk.jsonl"
    junk.write_text("no JSON\n" * 3)
    assert top("--once", junk, code=1).stderr


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_terminal_of_80_by_24(space):
    lines, operations, lost = synthetic(space)
    tmux = ["tmux", "-S", str(space.path / "tmux")]

    def screen():
        return subprocess.run(
            [*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout

    def shows(*texts):
        return harness.wait_until(
            lambda: all(text in screen() for text in texts), f"{texts} on the screen")

    command = [harness.program("vampire-top"), "-t", str(lines)]
    subprocess.run(
        [*tmux, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", *map(str, command)],
        check=True, timeout=30)
    try:
        shows(operations, lost, "Model -- 0", "sort: operations")
        assert all(len(line) <= 80 for line in screen().splitlines())
        subprocess.run([*tmux, "send-keys", "s"], check=True)
        shows("sort: bytes")
        subprocess.run([*tmux, "send-keys", "q"], check=True)
        harness.wait_until(
            lambda: subprocess.run([*tmux, "has-session"], capture_output=True).returncode != 0,
            "the end of vampire-top")
    finally:
        subprocess.run([*tmux, "kill-server"], capture_output=True)
