# SPDX-License-Identifier: BSD-3-Clause
"""What takes longer than a second says so on a terminal, and how much is left."""

import os
import pty
import re
import subprocess

import pytest

import harness

pytestmark = pytest.mark.plain


def on_terminal(command, folder, environment=None):
    """What the command writes to standard error, a terminal; its exit code."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, cwd=folder, env=harness.clean_environment(environment), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # nobody has the terminal any more
                break
            if not more:
                break
            said += more
    os.close(ours)
    return said.decode(errors="replace"), process.returncode


def made_up(folder, *options):
    subprocess.run([harness.program("vampire"), "-q", "-o", "source.type=synthetic", "-o", "source.steps=8", *options], cwd=folder,
                   env=harness.clean_environment(), check=True, timeout=60)


def test_a_replay_says_how_much_is_left(tmp_path):
    made_up(tmp_path, "-o", "outputs.0.type=recording")
    said, code = on_terminal([harness.program("vampire"), "-o", "source.type=replay", "-o", "source.file=*.rec", "-o", "source.speed=2",
                              "-o", "outputs.0.type=null"], tmp_path)
    assert code == 0
    parts = [int(part) for part in re.findall(r"\| (\d+) % replayed, \d+ s left \|", said)]
    assert parts and parts == sorted(parts) and parts[-1] > parts[0], said
    assert re.search(r"moved \S+ \S*B/s", said), said
