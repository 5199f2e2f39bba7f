# SPDX-License-Identifier: BSD-3-Clause
"""The exact part of the benchmark: instructions for an event, a record, a line against their limits.
And that the rest of the benchmark still runs; its times are not tested."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

import harness

BENCH = harness.ROOT / "tests" / "bench"
sys.path.insert(0, str(BENCH))
import run as bench
import workload
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


def test_what_no_program_calls_is_not_measured(monkeypatch):
    bench.refuse_what_no_program_calls()
    monkeypatch.setattr(bench, "OF_THE_BENCH", {"vamp_recorder_open"})
    with pytest.raises(SystemExit, match="no program calls what is to be measured: vamp__wire__event__unpack$"):
        bench.refuse_what_no_program_calls()


@pytest.mark.parametrize("name", workload.names())
def test_a_reference_workload_is_the_same_each_time_and_of_its_size(name, tmp_path):
    steps, source = 2, workload.read(name)["source"]
    counts = [workload.record(name, tmp_path / f"{number}.rec", steps) for number in range(2)]
    components = source["producers"] + source["consumers"]
    cdos = source["producers"] * source["burst"] * steps
    # A CDO: six events of its producer, seven of each consumer. A component: its join and leave.
    assert counts == 2 * [cdos * (6 + 7 * source["fan_out"]) + 2 * components]
    assert (tmp_path / "0.rec").read_bytes() == (tmp_path / "1.rec").read_bytes()


def test_vampire_replays_a_reference_workload_whole(space):
    events = workload.record("hour", space.path / "hour.rec", steps=5)
    vampire = space.vampire({"outputs": [{"type": "jsonl", "path": "out.jsonl"}]},
                            "--replay", "hour.rec", ready=False)
    vampire.expect_exit(0, 60)
    lines = (space.path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    account = json.loads(lines[-1])["accounting"]
    assert account["received"] == account["counted"] == events, account
    assert json.loads(lines[0])["workflow"] == "reference"


def test_a_wrong_workload_says_what_is_wrong(tmp_path):
    program = harness.BUILD / "bench" / "workload"
    for arguments, message in ((["x.rec"], "usage: "), (["x.rec", "w", "stepz=1"], '"stepz"'),
                               (["x.rec", "w", "steps"], "OPTION=VALUE"),
                               (["none/x.rec", "w", "steps=1"], "none/x.rec")):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                              cwd=tmp_path)
        assert done.returncode in (1, 2) and message in done.stderr, done
