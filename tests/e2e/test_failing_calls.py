# SPDX-License-Identifier: BSD-3-Clause
"""Any single call to the operating system may fail: the n-th open, write, fsync, ftruncate,
fallocate, close or unlink, with EIO, with ENOSPC, or by writing only half.

Nothing crashes or hangs; every bucket the account calls written is in the files, equal to the
oracle, and the rest are counted as lost.
"""

import errno
import os
import random
import re
import shutil
import subprocess

import pytest

import jsonl
import results
from harness import MODE, PATIENCE, ROOT, Workflow, program, vampire_config
from made_up import FILL, WIDTH_NS, check_file
from test_workflow import assert_complete, model_options

pytestmark = pytest.mark.skipif(
    MODE in ("asan", "tsan"), reason="sanitizers want to be preloaded first"
)
WAYS = {"eio": (errno.EIO, 0), "enospc": (errno.ENOSPC, 0), "short": (0, 1)}
BUCKETS = 6


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "failing.so"
    source = ROOT / "tests" / "e2e" / "failing_calls.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", path, source, "-ldl"], check=True)
    return path


def run(library, place, writer, at, way):
    place.mkdir()
    code, short = WAYS[way]
    environment = dict(os.environ, LD_PRELOAD=str(library), FAIL_UNDER=str(place), FAIL_AT=str(at),
                       FAIL_ERRNO=str(code), FAIL_SHORT=str(short))
    argv = [FILL, writer, f"directory={place}"]
    argv += ["sync=true"] if writer == "hdf5" else []
    argv += ["--", f"buckets={BUCKETS}", "wait=1", "growth=1", "deadline_ms=5000",
             f"rotate_ns={3 * WIDTH_NS}"]
    return subprocess.run(argv, capture_output=True, text=True, env=environment,
                          timeout=60 * PATIENCE)


def buckets_in_files(writer, place):
    """Numbers of the buckets in all files, each checked; repaired first where that is needed."""
    numbers = []
    for path in sorted(place.iterdir()):
        if path.stat().st_size == 0:
            continue
        done = subprocess.run([program("vampire"), "--recover", path], capture_output=True, text=True)
        if writer == "hdf5" and done.returncode != 0:
            continue  # it never held a bucket; if it did, the count below is short
        if writer == "hdf5":
            numbers += check_file(path, 1, 1024)
        else:
            numbers += [line["bucket"] for line in jsonl.strict(path.read_bytes())
                        if line["type"] == "bucket"]
    return numbers


def check_one(library, place, writer, at, way):
    """True when a call failed."""
    done = run(library, place, writer, at, way)
    what = f"{writer}: call {at} {way}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
    assert done.returncode in (0, 1), what
    failed = "failed\n" in done.stderr
    totals = re.search(r"^account (\d+) (\d+) (\d+) (\d+)$", done.stdout, re.MULTILINE)
    if totals is None:  # the very first file could not be made: said before anything starts
        assert failed and done.returncode == 1 and "failure " in done.stdout, what
    else:
        queued, written, lost, waiting = map(int, totals.groups())
        assert queued == BUCKETS and queued == written + lost and waiting == 0, what
        assert (lost == 0) or done.returncode == 1, what
        there = set(buckets_in_files(writer, place))
        assert len(there) == written, f"{what}\nin the files: {sorted(there)}"
        assert lost > 0 or there == set(range(BUCKETS)), what
    shutil.rmtree(place)
    return failed


def count_calls(library, place, writer):
    done = run(library, place, writer, 0, "eio")
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.search(r"^calls (\d+)$", done.stderr, re.MULTILINE)[1])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("writer", ["hdf5", "jsonl"])
def test_some_calls_fail(tmp_path, library, writer, way):
    """The first and last ones and a sample of the rest; all of them are test_every_call_fails."""
    calls = count_calls(library, tmp_path / "count", writer)
    assert calls > 10, "the library is in place"
    ends = set(range(1, 3)) | set(range(calls - 1, calls + 1))
    middle = random.Random(way).sample(range(3, calls - 1), min(4, calls - 4))
    for at in sorted(ends | set(middle)):
        assert check_one(library, tmp_path / str(at), writer, at, way)


def test_a_device_that_stands_still(space, library):
    """HDF5 waits in the middle of a write; what is counted, and the JSON lines, know nothing of it."""
    place, stands_still = space.path / "device", space.path / "stands-still"
    place.mkdir()
    settings = vampire_config(bucket="100ms", directory=str(place))
    settings["outputs"][0]["queue"] = 4
    space.pool_manager()
    vampire = space.vampire(settings, extra={
        "LD_PRELOAD": str(library), "FAIL_UNDER": str(place), "FAIL_WAIT": str(stands_still)})
    workflow = Workflow(space, model_options=[*model_options(60, 3, 2, 64, 4 << 10, 60), "--verbose"])
    workflow.models[0].until_stderr("step 5 offered")
    stands_still.touch()
    for model in workflow.models:
        model.until_stderr("step 50 offered")
    accounts = [line["accounting"]["outputs"] for line in jsonl.records(space.json_lines()) if line["type"] == "bucket"]
    assert accounts[-1][0]["lost"] > 0, "the other output goes on, and knows"
    stands_still.unlink()
    reports = workflow.finish()
    vampire.expect_exit(1)  # an output lost data
    assert_complete(reports)
    runs = {"hdf5": results.Hdf5Run(sorted(place.glob("*.h5"))), "json": results.JsonRun(space.json_lines())}
    assert not results.compare(reports, {"json": runs["json"]})
    # Counters are totals: the last bucket has them, whatever was lost before it.
    assert runs["hdf5"].counters["pool_operations"] == runs["json"].counters["pool_operations"]
    accounts = [line["accounting"]["outputs"] for line in jsonl.records(space.json_lines()) if line["type"] == "bucket"]
    for account in accounts:
        for output in account:
            assert output["queued"] == output["written"] + output["lost"] + output["waiting"]
    buckets = [line["bucket"] for line in jsonl.records(space.json_lines()) if line["type"] == "bucket"]
    assert buckets == list(range(len(buckets)))
    lost = int(re.search(r"hdf5 +\d+ buckets written, (\d+) LOST", vampire.stderr)[1])
    assert re.search(rf"LOST +{lost} buckets \(output hdf5\)", vampire.stderr)
    assert not re.search(r"losses +none", vampire.stderr)
    assert runs["hdf5"].buckets == len(buckets) - lost, "not one more, not one less"


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("writer", ["hdf5", "jsonl"])
def test_every_call_fails(tmp_path, library, writer, way):
    at = 1
    while check_one(library, tmp_path / str(at), writer, at, way):
        at += 1
    assert at > 10
