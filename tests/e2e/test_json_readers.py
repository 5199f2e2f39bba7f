# SPDX-License-Identifier: BSD-3-Clause
"""What the JSON lines writer writes, read by a JSON Schema validator and by slow readers, or by none.
The buckets are made up (made_up.py)."""

import json
import os
import re
import subprocess

import pytest

import jsonl
from harness import ROOT, program
from made_up import FILL, account, check_json_lines, fill, paths

# The writer meets the sanitizers in its unit tests and in each workflow.
pytestmark = pytest.mark.plain


@pytest.mark.parametrize("numbers", [{}, {"long_names": 1}, {"configuration": 100000}])
def test_every_json_line_is_valid(tmp_path, numbers):
    path = tmp_path / "vampire.jsonl"
    fill("jsonl", f"path={path}", "complete_every=5", buckets=11, growth=0, **numbers)
    lines = jsonl.strict(path.read_bytes())
    check = jsonl.validator()
    for line in lines:
        check.validate(line)
    assert lines[0]["type"] == "header" and lines[-1]["type"] == "end"
    assert {line["type"] for line in lines} >= {
        "header", "bucket", "values", "gap", "component", "operations", "end"
    }
    assert lines[0].get("cut", False) == ("configuration" in numbers)


def test_the_schema_has_all_words_of_the_program():
    """Collected runs have labels and gaps that no run has."""
    def words(path, array):
        text = (ROOT / path).read_text()
        return re.findall(r'"(\w+)"', re.search(rf"{array}\[[^=;]*\] = \{{(.*?)\}};", text, re.DOTALL)[1])

    known = json.loads(jsonl.SCHEMA.read_text())["$defs"]
    reasons = {name: known[name]["properties"]["reason"]["enum"] for name in ("component", "gap")}
    assert known["label"]["anyOf"][0]["enum"] == words("vampire/stats/bucket/metric.c", "vamp_label_words")
    assert reasons["component"] == words("vampire/core/event/event.c", "leave_names")
    assert reasons["gap"] == known["loss"]["enum"] + words("vampire/stats/bucket/bucket.c", "names")


def test_json_values_equal_the_oracle(tmp_path):
    path = tmp_path / "vampire.jsonl"
    fill("jsonl", f"path={path}", "complete_every=4", buckets=9, growth=1)
    numbers, records = check_json_lines(path.read_bytes(), 1, 1024)
    assert numbers == list(range(9))
    for line in records:
        if line["type"] == "bucket":
            assert line["complete"] == (line["bucket"] % 4 == 0)


def test_a_second_run_takes_the_next_name(tmp_path):
    path = tmp_path / "vampire.jsonl"
    first = fill("jsonl", f"path={path}", buckets=2)
    content = path.read_bytes()
    second = fill("jsonl", f"path={path}", buckets=3)
    assert paths(first) == [str(path)] and paths(second) == [str(path) + ".0002"]
    assert path.read_bytes() == content


def test_standard_output(tmp_path):
    config = tmp_path / "vampire.json"
    config.write_text(json.dumps({
        "workflow": "made up",
        "source": {"type": "synthetic", "steps": 20},
        "outputs": [{"type": "jsonl", "path": "-"}],
    }))
    done = subprocess.run([program("vampire"), "-c", config], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    types = [line["type"] for line in jsonl.strict(done.stdout)]
    assert types[0] == "header" and types[-1] == "end" and "bucket" in types


def test_a_fifo_without_a_reader_loses_exactly(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    done = fill("jsonl", f"path={fifo}", check=False, buckets=20, queue=4, deadline_ms=300)
    queued, written, lost, waiting = account(done)
    assert (queued, written, lost, waiting) == (20, 0, 20, 0)
    assert done.returncode == 1 and "no process reads the FIFO" in done.stdout


def test_a_slow_fifo_reader_learns_what_it_missed(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    argv = [FILL, "jsonl", f"path={fifo}", "--", "buckets=40", "queue=3", "growth=0",
            "pause_us=20000", "deadline_ms=20000"]
    writer = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    with open(fifo, "rb") as reader:
        assert any(line.startswith("lost ") for line in writer.stdout), "the pipe is full"
        lines = jsonl.strict(reader.read())
    (totals,) = [line.split() for line in writer.stdout if line.startswith("account ")]
    writer.wait()
    lost = sum(line["count"] for line in lines if line["type"] == "lost" and line["what"] == "buckets")
    numbers = [line["bucket"] for line in lines if line["type"] == "bucket"]
    assert len(numbers) == int(totals[2]) and int(totals[3]) > 0
    holes = sum(b - a - 1 for a, b in zip([-1] + numbers, numbers))
    assert lost == holes
    check = jsonl.validator()
    for line in lines:
        check.validate(line)


def test_a_json_file_on_a_full_disk_has_only_whole_lines(small_disk):
    place = small_disk(1024)
    path = place / "vampire.jsonl"
    done = fill("jsonl", f"path={path}", check=False, buckets=60, queue=100, growth=1,
                deadline_ms=500)
    queued, written, lost, _ = account(done)
    assert lost > 0 and queued == written + lost
    lines = jsonl.strict(path.read_bytes())
    assert [line["bucket"] for line in lines if line["type"] == "bucket"] == list(range(written))
