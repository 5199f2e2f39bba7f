# SPDX-License-Identifier: BSD-3-Clause
"""Every single allocation of vampire's own code fails once: vampire says so and ends with a code
other than 0, or what it wrote is the same as without. It never crashes and never hangs."""

import concurrent.futures
import itertools
import os
import random
import re
import subprocess

import pytest

import harness
import results
from harness import ROOT

pytestmark = pytest.mark.skipif(
    harness.MODE in ("asan", "tsan"), reason="sanitizers want to be preloaded first"
)
NOT_COMPARED = ("vampire_", "own_roundtrip")
SECONDS = 60
IN_CI = 20


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    library = tmp_path_factory.mktemp("shim") / "fail_allocation.so"
    source = ROOT / "tests" / "e2e" / "fail_allocation.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


CONFIG = """{"statistics": {"bucket": "200ms"}, "outputs": [
  {"type": "hdf5", "directory": "."}, {"type": "jsonl", "path": "vampire.jsonl"},
  {"type": "recording", "directory": "."}]}"""


def run(directory, shim, fail_at, onwards=False):
    """A short synthetic workflow; (exit code, standard error)."""
    directory.mkdir()
    (directory / "config.json").write_text(CONFIG)
    argv = [harness.program("vampire"), "-c", "config.json", "-o", "source.type=synthetic", "-o", "source.steps=3"]
    environment = harness.clean_environment({"LD_PRELOAD": str(shim), "FAIL_ALLOCATION": str(fail_at)})
    if onwards:
        environment["FAIL_ONWARDS"] = "1"
    done = subprocess.run(argv, cwd=directory, env=environment, capture_output=True, text=True,
                          timeout=SECONDS, check=False, errors="replace")
    return done.returncode, done.stderr


def numbers(directory):
    """What was counted: every counter but those of vampire itself."""
    run = results.Hdf5Run(sorted(directory.glob("*.h5")))
    return {name: value for name, value in run.counters.items() if not name.startswith(NOT_COMPARED)}


def judge(directory, reference, fail_at, code, text):
    """What is wrong with this run; None when nothing is."""
    text = re.sub(r"^allocations \d+\n", "", text, flags=re.MULTILINE)
    if code not in (0, 1, 2):
        return f"allocation {fail_at}: ended with {code}: {text[-400:]}"
    if code != 0:
        said = "memory" in text.lower()
        return None if said else f"allocation {fail_at}: does not say that memory was short: {text[-400:]}"
    if numbers(directory) != reference:
        return f"allocation {fail_at}: exit code 0 and other numbers"
    return None


def sweep(tmp_path, shim, some):
    """`some`: chooses from all numbers of allocations."""
    code, text = run(tmp_path / "reference", shim, 0)
    assert code == 0, text
    count = int(re.search(r"^allocations (\d+)$", text, re.MULTILINE)[1])
    assert count > 500, "the library is in place"
    reference = numbers(tmp_path / "reference")
    assert reference

    def one(job):
        fail_at, onwards = job
        directory = tmp_path / f"{fail_at}-{onwards}"
        try:
            wrong = judge(directory, reference, fail_at, *run(directory, shim, fail_at, onwards))
        except subprocess.TimeoutExpired:
            wrong = f"allocation {fail_at}: does not end"
        if wrong is None:
            subprocess.run(["rm", "-r", directory], check=True)
        return wrong

    jobs = list(itertools.product(some(range(1, count + 1)), (False, True)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        wrong = [text for text in workers.map(one, jobs) if text is not None]
    assert not wrong, f"{len(wrong)} of {len(jobs)}:\n" + "\n".join(wrong[:40])
    print(f"{len(jobs)} runs, each with an allocation that failed")


def test_some_allocations_fail(tmp_path, shim):
    sweep(tmp_path, shim, lambda every: sorted(random.Random(5).sample(every, IN_CI)))


@pytest.mark.long
def test_every_allocation_fails(tmp_path, shim):
    sweep(tmp_path, shim, lambda every: every)
