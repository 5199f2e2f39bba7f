# SPDX-License-Identifier: BSD-3-Clause
"""The exact part of the benchmark: instructions for an event, a record, a line against their limits.
And that the rest of the benchmark still runs; its times are nobody's test."""

import json
import pathlib
import shutil
import subprocess

import pytest

import harness

BENCH = harness.ROOT / "tests" / "bench"
PYTHON = "/usr/bin/python3"

pytestmark = pytest.mark.plain


def run(argv, seconds=120):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True,
                          timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_instruction_counts_keep_their_limits():
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is missing; make deps installs it")
    text = run([PYTHON, BENCH / "instructions.py", "--program", harness.BUILD / "bench" / "stages"])
    print(text)
    assert "statistics.all" in text


def test_every_stage_measures_and_says_what(tmp_path):
    stages = harness.BUILD / "bench" / "stages"
    names = run([stages, "--list"]).split()
    small = [name for name in names if name not in ("pairing.1e6", "pairing.1e7")]
    text = run([stages, "--directory", tmp_path, "--events", 20000, "--live", 500, "--pairs", 3,
                *small])
    lines = [json.loads(row) for row in text.splitlines()]
    assert [line["name"] for line in lines] == small
    for line in lines:
        assert line["median_q1"] <= line["median"] <= line["median_q3"], line
        assert line["median"] > 0 and line["ratio"] > 0 and line["peak_bytes"] > 0, line
    # The event path does not touch the heap; only the close of a bucket may.
    assert {line["name"]: line.get("heap_calls") for line in lines}["filter"] == 0
    assert not list(pathlib.Path(tmp_path).iterdir()), "files were left behind"
