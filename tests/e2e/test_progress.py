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


# Commands in Python; the line appears at once instead of after a second, so that no test has to be slow.
AT_ONCE = """
import sys, importlib, vampire.progress as progress
progress.FIRST_S, progress.NEXT_S = 0, 0.001
sys.exit(importlib.import_module(sys.argv[1]).main(sys.argv[2:]))
"""


@pytest.mark.parametrize("module, words, step", [
    ("vampire.report.main", ["-o", "r.html"], r"vampire-report: draws picture 1 of \d+, \d+ s"),
    ("vampire.run_summary", [], r"vampire: reads file 1 of 1, 0 s"),
    ("vampire.export", ["x.sqlite"], r"vampire: \d+ of \d+ metrics: \w+, 0 %, \d+ s"),
], ids=["report", "summary", "export"])
def test_a_reader_says_what_it_does(tmp_path, module, words, step):
    made_up(tmp_path, "-o", "outputs.0.type=hdf5")
    (file,) = tmp_path.glob("*.h5")
    said, code = on_terminal(["/usr/bin/python3", "-c", AT_ONCE, module, *words, file.name], tmp_path,
                             {"PYTHONPATH": str(harness.ROOT / "python")})
    assert code == 0 and re.search(step, said), said
    assert said.endswith("\r\x1b[K"), "the line is removed at the end"


@pytest.mark.parametrize("name, said, code", [
    ("ALRM", "vampire: reads slow.rec (1 of 1)\r\nvampire: error: slow.rec is neither", 2), ("INT", "vampire: interrupted\r\n", 130)])
def test_recover_reports_a_file_that_takes_long_and_an_interrupt(tmp_path, name, said, code):
    """The signals come while the file is read: at once instead of after a second."""
    (tmp_path / "alarm.c").write_text(
        f"#include <signal.h>\nunsigned alarm(unsigned s) {{ if (s) raise(SIG{name}); return 0; }}\n", encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "alarm.so", "alarm.c"], cwd=tmp_path, check=True)
    command = ["env", "--default-signal=INT", f"LD_PRELOAD={tmp_path}/alarm.so", harness.program("vampire"), "--recover", "slow.rec"]
    (tmp_path / "slow.rec").write_bytes(b"")
    text, got = on_terminal(command, tmp_path)
    assert text.startswith(said) and got == code, text


def test_the_demo_is_never_silent(tmp_path):
    """Its standard error is no terminal: vampire has no status line there."""
    with subprocess.Popen(["/usr/bin/python3", "-u", harness.ROOT / "tests" / "workflow" / "demo.py", "--seconds", "5.5", "--directory",
                           tmp_path / "demo", "--provider", "stream",
                           "--remove"], stderr=subprocess.PIPE, text=True) as demo:
        lines = list(demo.stderr)
    assert demo.returncode == 0, "".join(lines)
    assert sum("the workflow runs" in line for line in lines) >= 2, "".join(lines)
