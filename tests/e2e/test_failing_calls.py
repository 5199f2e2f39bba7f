# SPDX-License-Identifier: BSD-3-Clause
"""Any single call to the operating system may fail: the n-th open, write, fsync, ftruncate,
fallocate, close or unlink, with EIO, with ENOSPC, by writing only half, or from the n-th on all of
them.

Nothing crashes or hangs; every bucket the account calls written is in the files, once, equal to the
oracle, and the rest are counted as lost. Every event of a recording likewise.
"""

import concurrent.futures
import errno
import json
import os
import random
import re
import shutil
import socket
import subprocess

import pytest

import harness
import jsonl
import recordings
import results
from harness import MODE, PATIENCE, Workflow, program, vampire_config
from made_up import FILL, WIDTH_NS, check_file, check_json_lines
from test_workflow import assert_complete, model_options

pytestmark = pytest.mark.skipif(
    MODE in ("asan", "tsan"), reason="sanitizers want to be preloaded first"
)
WAYS = {"eio": (errno.EIO, 0, 0), "enospc": (errno.ENOSPC, 0, 0), "short": (0, 1, 0), "onwards": (errno.EIO, 0, 1)}
WRITERS = ["hdf5", "jsonl", "recording"]
BUCKETS = 4


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return harness.build_preload("failing_calls", tmp_path_factory.mktemp("library"))


def failing(library, place, at, way):
    code, short, onwards = WAYS[way]
    return harness.clean_environment({
        "LD_PRELOAD": str(library), "FAIL_UNDER": str(place), "FAIL_AT": str(at),
        "FAIL_ERRNO": str(code), "FAIL_SHORT": str(short), "FAIL_ONWARDS": str(onwards)})


def execute(argv, environment=None, where=None):
    return subprocess.run([str(word) for word in argv], capture_output=True, text=True, cwd=where,
                          env=environment, timeout=60 * PATIENCE, check=False)


def recover(paths):
    return execute([program("vampire"), "--recover", *paths])


# ---------------------------------------------------------------- buckets


def run_buckets(library, place, writer, at, way, seconds):
    place.mkdir()
    argv = [FILL, writer, f"directory={place}"]
    argv += ["sync=true"] if writer == "hdf5" else []
    argv += ["--", f"buckets={BUCKETS}", f"wait={int(way != 'onwards')}", "growth=1",
             f"deadline_ms={seconds * 1000}", f"rotate_ns={BUCKETS // 2 * WIDTH_NS}"]
    return execute(argv, failing(library, place, at, way))


def whole_lines(data):
    """Up to the last line's end: a half line may stand behind it, where not even taking it back
    worked."""
    return data[: data.rfind(b"\n") + 1]


def buckets_in_files(writer, place):
    """Numbers of the buckets in all files, each checked value by value; repaired first where that is
    needed."""
    paths = [path for path in sorted(place.iterdir()) if path.stat().st_size > 0]
    before = {path: path.read_bytes() for path in paths if writer == "jsonl"}
    unusable = re.findall(r"^vampire: error: (\S+\.h5)\b", recover(paths).stderr, re.MULTILINE) if paths else []
    numbers = []
    for path in paths:
        if writer == "hdf5" and str(path) not in unusable:
            numbers += check_file(path, 1, 1024)
        elif writer == "jsonl" and whole_lines(before[path]):
            assert path.read_bytes() == whole_lines(before[path]), "a repair keeps every whole line"
            numbers += check_json_lines(path.read_bytes(), 1, 1024)[0]
    # What cannot be repaired never held a bucket; if it did, the caller's count is short.
    return numbers


def deadline(way):
    """Where nothing works any more, the end of the run ends the attempts."""
    return 1 if way == "onwards" else 5


def check_buckets(library, place, writer, at, way, seconds=None):
    """What is said and what is there agree. True when a call failed."""
    done = run_buckets(library, place, writer, at, way, seconds or deadline(way))
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
        there = buckets_in_files(writer, place)
        # Where nothing can be taken back, the bucket that was nearly written may be there, too.
        assert len(there) == written or (way == "onwards" and len(there) == written + 1), f"{what}\nin the files: {there}"
        assert len(set(there)) == len(there), what
        assert lost > 0 or there == list(range(BUCKETS)), what
    shutil.rmtree(place)
    return failed


# ---------------------------------------------------------------- recordings


def run_recording(library, place, at, way):
    """Five segments of a synthetic workflow, in a folder of their own; nothing else fails."""
    segments = place / "segments"
    segments.mkdir(parents=True)
    config = {"source": {"type": "synthetic", "steps": 8}, "statistics": {"bucket": "1s"},
              "outputs": [{"type": "recording", "directory": str(segments), "rotate": {"interval": "2s"}}]}
    (place / "config.json").write_text(json.dumps(config))
    return execute([program("vampire"), "-c", "config.json"], failing(library, segments, at, way), place)


def events_of(path):
    """{number in the run: the event's bytes} of a recording of whole messages."""
    data, base, events = path.read_bytes(), None, {}
    for begin, end in recordings.messages(data):
        message = list(recordings.fields(data[begin:end]))
        if base is None:
            base = dict(message).get(recordings.EVENTS_BEFORE, 0)
            continue
        values = [value for number, value in message if number == recordings.EVENT]
        if dict(message).get(recordings.CARRIED, 0):
            continue
        first = base + dict(message)[recordings.FIRST]
        assert not set(range(first, first + len(values))) & set(events), f"{path}: events twice"
        events.update(enumerate(values, first))
    return events


def events_in(place):
    events = {}
    for path in sorted((place / "segments").iterdir()):
        more = events_of(path)
        assert not set(more) & set(events), f"{path}: events of an earlier segment"
        events.update(more)
    return events


REFERENCE = {}


def reference_events(library, place):
    """Those of a run without a failure, the same each time."""
    if not REFERENCE:
        done = run_recording(library, place, 0, "eio")
        assert done.returncode == 0, done.stderr
        REFERENCE.update(events_in(place))
        assert list(REFERENCE) == list(range(len(REFERENCE))) and len(REFERENCE) > 1000
        shutil.rmtree(place)
    return REFERENCE


def replayed(place):
    """Events in the account of a replay of all segments, and those it knows to be missing."""
    config = {"outputs": [{"type": "jsonl", "path": "replay.jsonl"}]}
    (place / "replay.json").write_text(json.dumps(config))
    argv = [program("vampire"), "-c", "replay.json", "--replay", place / "segments" / "*.rec"]
    done = execute(argv, harness.clean_environment(), place)
    assert done.returncode == 0, done.stderr
    end = results.JsonRun(place / "replay.jsonl").records[-1]
    return end["accounting"]["received"], end["accounting"]["lost"]["recording"]


def check_recording(library, place, at, way):
    """Each event is where it belongs, or in the count of the lost. True when a call failed."""
    reference = reference_events(library, place.with_name("reference"))
    done = run_recording(library, place, at, way)
    what = f"recording: call {at} {way}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
    assert done.returncode in (0, 1), what
    failed = "failed\n" in done.stderr
    totals = re.search(r"^  recording +(\d+) events written(?:, (\d+) LOST)?$", done.stderr, re.MULTILINE)
    if totals is None:  # the very first file could not be made
        assert failed and done.returncode == 1 and "error: " in done.stderr, what
    else:
        written, lost = int(totals[1]), int(totals[2] or 0)
        assert written + lost == len(reference), what
        assert (lost == 0) or done.returncode == 1, what
        paths = [path for path in (place / "segments").iterdir() if path.stat().st_size > 0]
        assert not paths or recover(paths).returncode == 0, what
        there = events_in(place)
        assert len(there) == written, f"{what}\nin the files: {len(there)}"
        assert all(reference[number] == event for number, event in there.items()), what
        if paths:
            received, missing = replayed(place)
            # After the last whole segment the end is unknown.
            assert received == written and missing <= lost, f"{what}\nreplayed: {received}, {missing}"
            assert lost == 0 or missing > 0 or len(reference) - 1 not in there, what
    shutil.rmtree(place)
    return failed


# ---------------------------------------------------------------- all of them


def check_one(library, place, writer, at, way):
    if writer == "recording":
        return check_recording(library, place, at, way)
    return check_buckets(library, place, writer, at, way)


def count_calls(library, place, writer):
    return int(re.search(r"^calls (\d+)$", whole_run(library, place, writer), re.MULTILINE)[1])


def whole_run(library, place, writer):
    done = run_recording(library, place, 0, "eio") if writer == "recording" else run_buckets(library, place, writer, 0, "eio", deadline("eio"))
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(place)
    return done.stderr


LEAST_CALLS = 10


def varies(writer, way):
    """The number of calls does: how many events are written at once depends on when they come, and a
    run whose end was forced has fewer."""
    return writer == "recording" or way == "onwards"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("writer", WRITERS)
def test_some_calls_fail(tmp_path, library, writer, way):
    """The first and last ones and a sample of the rest; all of them are test_every_call_fails."""
    calls = count_calls(library, tmp_path / "count", writer)
    assert calls > LEAST_CALLS, "the library is in place"
    ends = {1, 2, calls - 1, calls} if way != "onwards" else {1, calls}
    middle = random.Random(way).sample(range(3, calls - 1), 3)
    unused = [at for at in sorted(ends | set(middle))
              if not check_one(library, tmp_path / str(at), writer, at, way)]
    # Where the number of calls varies, it is several times as high when events come one by one.
    certain = LEAST_CALLS if varies(writer, way) else calls
    assert not [at for at in unused if at <= certain], f"of {calls} calls a run made fewer"


def test_a_bucket_is_there_or_not(tmp_path, library):
    """Nothing works any more from one of the last writes of a bucket on: the first and second of a
    file, where HDF5 writes what it has made for the first time, and what it changes."""
    said = whole_run(library, tmp_path / "count", "hdf5")
    ends = [int(at) for at in re.findall(r"^synced (\d+)$", said, re.MULTILINE)]
    assert len(ends) == BUCKETS
    for end in ends[:2]:
        for at in range(end - 5, end + 1):
            place = tmp_path / str(at)
            # On a loaded machine the first deadline may come before the call.
            assert (check_buckets(library, place, "hdf5", at, "onwards")
                    or check_buckets(library, place, "hdf5", at, "onwards", seconds=30))


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, 524])
def test_a_file_system_without_locks(tmp_path, library, code):
    """524 is ENOTSUPP, which parallel file systems return. Files are written, read and repaired, and a stale socket is replaced."""
    environment = harness.clean_environment({"LD_PRELOAD": str(library), "FAIL_FLOCK": str(code)})
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "lines"))
    vampire = program("vampire")
    options = ["workflow=synthetic", "source.type=synthetic", "source.steps=3", "outputs.0.type=hdf5",
               "outputs.1.type=jsonl", "outputs.1.path=unix:lines"]
    made = execute([vampire, *(word for option in options for word in ("-o", option))], environment, tmp_path)
    assert made.returncode == 0, made.stderr
    (file,) = tmp_path.glob("*.h5")
    for arguments in (["--summary", file], ["--recover", file], ["--export", tmp_path / "out.csv", file]):
        done = execute([vampire, *arguments], environment, tmp_path)
        assert done.returncode == 0, (arguments, done.stderr)


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
    lost = int(re.search(r"hdf5 +\d+ buckets? written, (\d+) LOST", vampire.stderr)[1])
    assert re.search(rf"LOST +{lost} buckets \(output hdf5\)", vampire.stderr)
    assert not re.search(r"losses +none", vampire.stderr)
    assert runs["hdf5"].buckets == len(buckets) - lost, "not one more, not one less"


def check_or_describe(job):
    """In a process of its own: None, or what is wrong."""
    try:
        failed = check_one(*job) or varies(job[2], job[4])
        return None if failed else f"{job[2]}: call {job[3]} did not fail"
    except (AssertionError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as wrong:
        return f"{job[2]}: call {job[3]} {job[4]}: {wrong!r}"


@pytest.mark.long
@pytest.mark.parametrize("writer", WRITERS)
def test_every_call_fails(tmp_path, library, writer):
    """Of a run through HDF5 there are thousands: the ways take turns there."""
    calls = count_calls(library, tmp_path / "count", writer)
    most = calls + 20 if writer == "recording" else calls
    ways = list(WAYS)
    jobs = [(library, tmp_path / f"{at}-{way}", writer, at, way)
            for at in range(1, most + 1, harness.FAULT_STEP)
            for way in (ways if writer != "hdf5" else [ways[at % len(ways)]])]
    if writer == "recording":
        reference_events(library, tmp_path / "reference")  # of all processes
    with concurrent.futures.ProcessPoolExecutor(2 * os.cpu_count()) as workers:
        wrong = [text for text in workers.map(check_or_describe, jobs, chunksize=4) if text is not None]
    assert not wrong, f"{len(wrong)} of {len(jobs)}:\n" + "\n".join(wrong[:20])
    assert not check_one(library, tmp_path / "none", writer, 10 * calls, "eio"), "behind the last one"
    print(f"{writer}: {len(jobs)} runs, each with a call that failed; a whole run makes {calls}")
