# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 at random moments: every flushed bucket is there, live and after `vampire --recover`;
JSON lines and recordings end at a whole record, or are repaired to one.

Two ways: made-up buckets, whose values are computed here again (made_up.py), and the whole
program with all its outputs, against a run of the same events that was not killed.
"""

import concurrent.futures
import functools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import h5py
import pytest

import jsonl
import recordings
from harness import MODE, PATIENCE, config_text, program, wait_until
from rows import File
from made_up import FILL, check_open_file, check_row, clear, follow, kill_while_filling
import test_replay

# With those of test_hdf5_readers.py 76 in each release run, 1,000 in make check-long.
# Kills come in bunches, since most of a kill's time is a program's start.
SLOW = MODE in ("asan", "tsan")
PARTS = 1 if SLOW else 4
KILLS_FILL = 2 if SLOW else 8
KILLS_VAMPIRE = 2 if SLOW else 8
AT_A_TIME = 3
TALK = 60 * PATIENCE
SERIES = 64
LIVELY = ("pool_operations", "transport_ns", "components_present")


def recover(*paths, code=0, options=()):
    done = subprocess.run([program("vampire"), "--recover", *options, *paths],
                          capture_output=True, text=True, timeout=TALK)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


# ---- made-up buckets


def fill_and_kill(directory, seed):
    return kill_while_filling(directory, seed, 8, f"max_series={SERIES}")


def kill_all(kill, places):
    """Some at a time: places are (directory, seed)."""
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as workers:
        return list(workers.map(lambda place: kill(*place), places))


def check_buckets(path, acked, every=True, **options):
    """How many there are. `every`: each value of the last one; else of a few metrics."""
    with h5py.File(path, "r", **options) as file:
        numbers = check_open_file(file, 1, SERIES, LIVELY)
        assert len(numbers) >= acked and numbers == list(range(len(numbers)))
        if every:
            check_row(File(file), len(numbers) - 1, numbers[-1], 1, SERIES)
        return len(numbers)


def kill_made_up(directory, seed, kills):
    killed = kill_all(fill_and_kill, [(directory / str(n), f"made up {seed} {n}") for n in range(kills)])
    live = {path: check_buckets(path, acked, every=False, swmr=True) for path, acked in killed}
    ours, cleared = list(live)[::2], list(live)[1::2]
    said = recover(*ours).splitlines()
    for path, line in zip(ours, said, strict=True):
        assert line.startswith(f"{path}: ") and line.endswith(f" {live[path]} whole buckets")
        assert "nothing to do" not in line
    assert recover(*ours).count("nothing to do") == len(ours)
    for path in cleared:
        clear(path)
    for path, acked in killed:
        assert check_buckets(path, acked) == live[path]
    shutil.rmtree(directory)


@pytest.mark.parametrize("part", range(PARTS))
def test_kills_of_the_hdf5_writer(tmp_path, part):
    kill_made_up(tmp_path, part, KILLS_FILL)


# ---- the whole program


STEPS = 8
SPEED = 4


def start_vampire(place, steps=STEPS):
    place.mkdir()
    config = place / "vampire.json"
    config.write_text(config_text({
        # Two seconds: accounts follow once a second, and the rest is time for a kill.
        "source": {"type": "synthetic", "steps": steps, "producers": 2, "speed": SPEED},
        # Few series make small files, which are quick to compare.
        "statistics": {"bucket": "100ms", "max_series": 64, "max_components": 16},
        "outputs": [
            {"type": "hdf5", "directory": str(place)},
            {"type": "jsonl", "path": str(place / "lines.jsonl")},
            {"type": "recording", "directory": str(place)},
        ],
    }))
    return subprocess.Popen([program("vampire"), "-q", "-c", config], stderr=subprocess.PIPE)


def only(place, ending):
    files = sorted(place.glob(f"*.{ending}"))
    assert len(files) <= 1
    return files[0] if files else None


def recorded_events(path):
    """The packed events of a recording, batch boundaries forgotten; every message is whole."""
    data = pathlib.Path(path).read_bytes()
    batches = list(recordings.messages(data))[1:]
    return [value for begin, end in batches for number, value in recordings.fields(data[begin:end])
            if number == recordings.EVENT]


@functools.lru_cache(maxsize=None)
def is_own(name):
    """What vampire measures of itself is not the same in two runs."""
    return name.startswith(("vampire_", "own_")) or test_replay.is_own(name)


def comparable(line):
    """What of a JSON line belongs to the events and not to the run."""
    if line["type"] == "metric" and is_own(line["metric"]):
        return None
    if line["type"] not in ("metric", "bucket"):
        return None
    line = dict(line)
    if "accounting" in line:
        line["accounting"] = dict(line["accounting"], outputs=[])
        line["values"] = 0
        for own in ("run", "check"):
            line.pop(own, None)
    return json.dumps(line, sort_keys=True)


def assert_begins(mine, whole):
    """`mine` is how `whole` begins; pytest would take minutes to say where it is not."""
    for number, (one, other) in enumerate(zip(mine, whole)):
        if one != other:
            pytest.fail(f"record {number}: {one[:2000]!r}, not {other[:2000]!r}")
    if len(mine) > len(whole):
        pytest.fail(f"{len(mine)} records, not at most {len(whole)}")


def called_written(records):
    """Buckets in the HDF5 file, as the newest account says."""
    written = 0
    for record in records:
        if record["type"] == "bucket":
            outputs = {one["name"]: one for one in record["accounting"]["outputs"]}
            written = outputs.get("hdf5", {"written": 0})["written"]
    return written


def acknowledged(place):
    """Whether a bucket of the HDF5 file has been called written."""
    lines = place / "lines.jsonl"
    if not lines.exists():
        return False
    whole = lines.read_bytes().split(b"\n")[:-1]
    buckets = [json.loads(line) for line in whole if b'"type":"bucket"' in line and b'"accounting"' in line]
    return called_written(buckets) > 0


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The same events in a run that came to its end."""
    place = tmp_path_factory.mktemp("reference") / "run"
    began = time.monotonic()
    vampire = start_vampire(place)
    wait_until(lambda: acknowledged(place), "an acknowledged bucket", seconds=TALK)
    first = time.monotonic()
    assert vampire.wait(TALK) == 0, vampire.stderr.read()
    ended = time.monotonic()
    with h5py.File(only(place, "h5"), "r") as file:
        rows = rows_of(File(file), ())
    return {
        "took": ended - began,
        "worked": ended - first,
        "rows": rows,
        "lines": [text for text in map(comparable, jsonl.records(place / "lines.jsonl")) if text],
        "events": recorded_events(only(place, "rec")),
    }


def rows_of(run, names):
    """{name: {labels: entries}} of a file's metrics, and of its columns by time."""
    metrics = [name for name in names or run.metrics() if not is_own(name)]
    rows = {name: dict(zip(run.labels(name), run.entries(name))) for name in metrics}
    columns = [name for name, item in run.file.items()
               if isinstance(item, h5py.Dataset) and "metric" not in item.attrs and not is_own(name)
               and name != "time_check"  # of the run's own values, too
               and item.ndim == 1 and (name == "time" or not h5py.h5ds.is_scale(item.id)
                                       and item.dims[0][0].name == "/time")]
    return {**rows, **{name: {(): [cells[0] for cells in run.cells(name)]} for name in columns if not names}}


def hdf5_rows(path, reference, names=(), **options):
    """Rows of the file; each equals the same row of the run that was not killed. `names`: only of
    these metrics."""
    with h5py.File(path, "r", **options) as file:
        run = File(file)
        found = rows_of(run, names)
        assert names or set(found) == set(reference["rows"])
        for name, series in found.items():
            for labels, entries in series.items():
                assert entries == reference["rows"][name][labels][: run.rows], f"{name}{labels}"
        return run.rows


def kill_vampire(place, seed, reference):
    """At any moment after the first acknowledged bucket; one of five at any moment at all."""
    chance = random.Random(seed)
    early = chance.random() < 0.2
    window = reference["took"] if early else reference["worked"]
    for _ in range(20):
        vampire = start_vampire(place)
        try:
            if not early:
                wait_until(lambda: acknowledged(place), "an acknowledged bucket", seconds=TALK)
            time.sleep(chance.random() * window)
        finally:
            vampire.send_signal(signal.SIGKILL)
            vampire.communicate()
        if vampire.returncode == -signal.SIGKILL:
            return place, early
        shutil.rmtree(place)  # it was done before
        window /= 2
    pytest.fail(f"vampire always ended before the kill, with exit code {vampire.returncode}")


class Killed:
    """What is left of one run."""

    def __init__(self, place, early, reference):
        self.early, self.reference = early, reference
        self.hdf5, self.lines, self.recording = only(place, "h5"), place / "lines.jsonl", only(place, "rec")
        files = [file for file in (self.hdf5, self.lines, self.recording) if file and file.exists()]
        self.live = hdf5_rows(self.hdf5, reference, LIVELY, swmr=True) if self.hdf5 else 0
        self.torn = {file: file.read_bytes() for file in files}

    def check_unchanged(self):
        for file, data in self.torn.items():
            assert file.read_bytes() == data, f"a dry run changed {file}"

    def check_recovered(self):
        """The buckets that were called written."""
        written = 0
        if self.lines in self.torn:
            data = self.torn[self.lines]
            cut = len(data) - self.lines.stat().st_size
            assert cut >= 0 and b"\n" not in data[len(data) - cut :], "whole lines stay"
            records = jsonl.records(self.lines)
            assert_begins([text for text in map(comparable, records) if text], self.reference["lines"])
            written = called_written(records)
        if self.hdf5 in self.torn:
            rows = hdf5_rows(self.hdf5, self.reference)
            assert rows >= self.live and rows >= written, "what the account called written is there"
        assert written == 0 or self.hdf5 in self.torn
        assert written > 0 or self.early
        if self.recording in self.torn:
            assert_begins(recorded_events(self.recording), self.reference["events"])
        return written


def kill_whole_program(directory, reference, seed, kills):
    places = [(directory / str(n), f"whole {seed} {n}") for n in range(kills)]
    killed = [Killed(place, early, reference)
              for place, early in kill_all(lambda *place: kill_vampire(*place, reference), places)]
    files = [file for one in killed for file in one.torn]
    recover(*files, options=["--dry-run"])
    for one in killed:
        one.check_unchanged()
    recover(*files)
    assert any([one.check_recovered() for one in killed])
    shutil.rmtree(directory)


@pytest.mark.parametrize("part", range(PARTS))
def test_kills_of_vampire(tmp_path, reference, part):
    kill_whole_program(tmp_path, reference, part, KILLS_VAMPIRE)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_kills(tmp_path, reference, part):
    for way in ("made-up", "whole"):
        (tmp_path / way).mkdir()
    kill_made_up(tmp_path / "made-up", f"long {part}", 50)
    kill_whole_program(tmp_path / "whole", reference, f"long {part}", 50)


# ---- while segments are made


def kill_amid_segments(place, seed):
    """Each bucket begins a segment of each format, so that one is being made most of the time."""
    place.mkdir()
    chance, rotate = random.Random(seed), {"directory": str(place), "rotate": {"interval": "100ms"}}
    config = place / "vampire.json"
    config.write_text(config_text({
        "source": {"type": "synthetic", "steps": 200, "producers": 2, "speed": 4},
        "statistics": {"bucket": "100ms", "max_series": 64, "max_components": 16},
        "outputs": [{"type": kind, **rotate} for kind in ("hdf5", "jsonl", "recording")]}))
    vampire = subprocess.Popen([program("vampire"), "-q", "-c", config], stderr=subprocess.PIPE)
    wait_until(lambda: len(list(place.glob("*-0002.h5"))) == 1, "a second segment", seconds=TALK)
    time.sleep(chance.random() * 0.2)
    vampire.kill()
    vampire.communicate()
    return place


def check_every_file_opens(place):
    """As a reader finds them, and as `vampire --recover` leaves them; what has no name of its own yet holds nothing."""
    files = [file for file in place.glob("vampire-*") if file.suffix != ".new"]
    counted = [file for file in files if file.suffix != ".rec"]
    for again in range(2):
        done = subprocess.run([program("vampire"), "--summary", *counted], capture_output=True, text=True, timeout=TALK)
        assert done.returncode == 0 and done.stderr == "" and done.stdout.count("vampire: workflow") == 2, done.stderr
        if not again:
            recover(*files)
    left = list(place.glob("*.new"))
    if left:
        done = subprocess.run([program("vampire"), "--recover", *left], capture_output=True, text=True, timeout=TALK)
        assert done.returncode == 1 and done.stderr.count("holds nothing: it can be deleted") == len(left)
    shutil.rmtree(place)
    return len(left)


KILLS_SEGMENTS = int(os.environ.get("VAMPIRE_KILLS", "2" if SLOW else "10"))


def test_kills_while_segments_are_made(tmp_path):
    """`make damage` asks for 500."""
    places = [(tmp_path / str(n), f"segments {n}") for n in range(KILLS_SEGMENTS)]
    for place in kill_all(kill_amid_segments, places):
        check_every_file_opens(place)


def test_a_file_that_is_being_made_has_another_name(tmp_path):
    """Nothing is under the name before the file can be opened; with a leftover nothing goes wrong."""
    seen, names = set(), set()
    writer = follow(["buckets=20", "rotate_ns=1000000000", "wait=1"], tmp_path)
    try:
        while writer.poll() is None:
            names |= set(os.listdir(tmp_path))
            for path in sorted(tmp_path.glob("*.h5")):
                if path not in seen:
                    with h5py.File(path, "r", swmr=True, locking=False) as file:
                        assert "time" in file
                    seen.add(path)
        assert "account 20 20 0 0" in writer.stdout.read()
    finally:
        writer.kill()
        writer.wait()
    assert len(seen) >= 15 and any(name.endswith(f".{writer.pid}.new") for name in names)
    assert not list(tmp_path.glob("*.new"))


# ---- vampire --recover


@pytest.mark.parametrize("writer", ["hdf5", "jsonl", "recording"])
def test_recover_leaves_a_file_alone_that_is_being_written(tmp_path, writer):
    if writer == "recording":
        vampire = subprocess.Popen(
            [program("vampire"), "-q", "-o", "source.type=synthetic", "-o", "source.speed=1",
             "-o", "source.steps=100000", "-o", "outputs.0.type=recording",
             "-o", f"outputs.0.directory={tmp_path}"], stderr=subprocess.PIPE)
    else:
        argv = [FILL, writer, f"directory={tmp_path}", "--", "buckets=1000000", "pause_us=10000"]
        vampire = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        path = wait_until(lambda: next((one for one in tmp_path.glob("vampire-*") if one.suffix != ".new"), None), "a file")
        for options in ([], ["--dry-run"]):
            done = subprocess.run([program("vampire"), "--recover", *options, path],
                                  capture_output=True, text=True, timeout=TALK)
            assert done.returncode == 1 and "is being written" in done.stderr
            assert done.stdout == ""
    finally:
        vampire.kill()
        vampire.communicate()
    recover(path)


def test_recover_never_takes_a_whole_record(tmp_path):
    """Every length of the last record; damage in the middle, other files, links are left alone."""
    place = tmp_path / "run"
    vampire = start_vampire(place, steps=3)
    assert vampire.wait(TALK) == 0
    lines, recording = place / "lines.jsonl", only(place, "rec")
    text, record = lines.read_bytes(), recording.read_bytes()
    last_line = len(text) - text[:-1].rindex(b"\n") - 1
    torn, keep = tmp_path / "torn.jsonl", len(text) - last_line
    for cut in sorted({1, last_line // 2, last_line}):
        torn.write_bytes(text[: len(text) - cut])
        recover(torn)
        assert torn.read_bytes() == text[:keep]
    recover(lines, recording, only(place, "h5"))
    assert lines.read_bytes() == text and recording.read_bytes() == record
    # A recording of four messages whose last one has every length.
    part = tmp_path / "torn.rec"
    ends = [end for _, end in recordings.messages(record)]
    for end, begin in list(zip(ends[1:], ends))[-2:]:
        for size in sorted({begin, begin + 1, end - 1}):
            part.write_bytes(record[:size])
            recover(part)
            assert part.read_bytes() == record[:begin]
    part.write_bytes(record + b"\0" * 300000)  # a machine that crashed
    recover(part)
    assert part.read_bytes() == record
    torn.write_bytes(text + b"x" * 100000)
    foreign = tmp_path / "foreign"
    foreign.write_text("a letter")
    link = tmp_path / "link.jsonl"
    link.symlink_to(lines)
    for path, word in ((torn, "damaged"), (foreign, "neither"), (link, "symbolic link"), (tmp_path, ""), (tmp_path / "none", "No such")):
        before = path.read_bytes() if path.is_file() else None
        done = subprocess.run([program("vampire"), "--recover", path], capture_output=True, text=True)
        assert done.returncode == (2 if word in ("No such", "neither") else 1) and word in done.stderr, done.stderr
        assert before is None or path.read_bytes() == before
    done = subprocess.run([program("vampire"), "--recover"], capture_output=True, text=True)
    assert done.returncode == 2 and "which files" in done.stderr
