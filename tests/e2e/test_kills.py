# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 at random moments: every flushed bucket is there, live and after `vampire --recover`;
JSON lines and recordings end at a whole record, or are repaired to one.

Two ways: made-up buckets, whose values are computed here again (test_hdf5_readers.py), and the whole
program with all its outputs, against a run of the same events that nobody killed.
"""

import json
import pathlib
import random
import shutil
import signal
import subprocess
import time

import h5py
import numpy
import pytest

from harness import MODE, PATIENCE, program, wait_until
from test_hdf5_readers import FILL, check_open_file, check_row, only_file
import test_replay

# Together with those of test_hdf5_readers.py more than 200 in each release run.
PARTS = 8
SLOW = MODE in ("asan", "tsan")
KILLS_FILL = 2 if SLOW else 13
KILLS_VAMPIRE = 1 if SLOW else 9
TALK = 60 * PATIENCE
LIVELY = ("pool_operations", "transport_ns", "transport_ns_sum", "components_present")


def recover(*paths, code=0, options=()):
    done = subprocess.run([program("vampire"), "--recover", *options, *paths],
                          capture_output=True, text=True, timeout=TALK)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


# ---- made-up buckets


def fill_and_kill(directory, chance):
    """Buckets that were certainly flushed when the kill came."""
    directory.mkdir()
    argv = [FILL, "hdf5", f"directory={directory}", "--", "buckets=500", "wait=1", "growth=1"]
    writer = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    acked, until = 0, chance.randrange(1, 12)
    for line in writer.stdout:
        acked = int(line.split()[1]) if line.startswith("acked ") else acked
        if acked >= until:
            break
    time.sleep(chance.random() * 0.03)  # any moment within a bucket
    writer.send_signal(signal.SIGKILL)
    for line in writer.stdout:
        acked = int(line.split()[1]) if line.startswith("acked ") else acked
    writer.wait()
    return acked


def check_buckets(path, acked, **options):
    with h5py.File(path, "r", **options) as file:
        numbers = check_open_file(file, 1, 1024, LIVELY)
        assert len(numbers) >= acked and numbers == list(range(len(numbers)))
        check_row(file, len(numbers) - 1, numbers[-1], 1, 1024)
        return len(numbers)


def kill_made_up(directory, seed, kills):
    chance = random.Random(f"made up {seed}")
    for attempt in range(kills):
        place = directory / str(attempt)
        acked = fill_and_kill(place, chance)
        path = only_file(place)
        live = check_buckets(path, acked, swmr=True)
        if attempt % 2 == 0:
            said = recover(path)
            assert f"{live} whole buckets" in said and "nothing to do" not in said
            assert "nothing to do" in recover(path)
        else:
            clear = ["h5clear", "-s", "--increment=0", str(path)]
            assert subprocess.run(clear, capture_output=True, timeout=TALK).returncode == 0
        assert check_buckets(path, acked) == live
        shutil.rmtree(place)


@pytest.mark.parametrize("part", range(PARTS))
def test_kills_of_the_hdf5_writer(tmp_path, part):
    kill_made_up(tmp_path, part, KILLS_FILL)


# ---- the whole program


STEPS = 12


def start_vampire(place, steps=STEPS):
    place.mkdir()
    config = place / "vampire.json"
    config.write_text(json.dumps({
        "source": {"type": "synthetic", "steps": steps, "producers": 2},
        "statistics": {"bucket": "100ms"},
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

    def varint(at):
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at

    at, events, first = 0, [], True
    while at < len(data):
        length, at = varint(at)
        end = at + length
        assert end <= len(data), "the last message is whole"
        while at < end and not first:
            tag, at = varint(at)
            value, at = varint(at)
            if tag & 7 == 2:
                if tag >> 3 == 3:
                    events.append(data[at : at + value])
                at += value
        at, first = end, False
    return events


def is_own(name):
    """What vampire measures of itself is not the same in two runs."""
    return name.startswith(("vampire_", "own_")) or test_replay.is_own(name)


def comparable(line):
    """What of a JSON line belongs to the events and not to the run."""
    if line["type"] == "metric" and is_own(line["metric"]):
        return None
    if line["type"] not in ("metric", "bucket"):
        return None
    line = dict(line, run="", series="")
    if "accounting" in line:
        line["accounting"] = dict(line["accounting"], outputs=[])
        line["metrics"] = 0
    return json.dumps(line, sort_keys=True)


def assert_begins(mine, whole):
    """`mine` is how `whole` begins; pytest would take minutes to say where it is not."""
    for number, (one, other) in enumerate(zip(mine, whole)):
        if one != other:
            pytest.fail(f"record {number}: {one[:2000]!r}, not {other[:2000]!r}")
    if len(mine) > len(whole):
        pytest.fail(f"{len(mine)} records, not at most {len(whole)}")


def whole_lines(path):
    data = path.read_bytes()
    assert data == b"" or data.endswith(b"\n")
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The same events in a run that came to its end."""
    place = tmp_path_factory.mktemp("reference") / "run"
    began = time.monotonic()
    vampire = start_vampire(place)
    assert vampire.wait(TALK) == 0, vampire.stderr.read()
    took = time.monotonic() - began
    return {
        "took": took,
        "h5": only(place, "h5"),
        "lines": [text for text in map(comparable, whole_lines(place / "lines.jsonl")) if text],
        "events": recorded_events(only(place, "rec")),
    }


def hdf5_rows(path, reference, **options):
    """Rows of the file; each equals the same row of the run that nobody killed."""
    with h5py.File(path, "r", **options) as file, h5py.File(reference["h5"], "r") as good:
        rows = file["time"].shape[0]
        for name in file:
            if is_own(name) or file[name].maxshape[:1] != (None,):
                continue
            assert file[name].shape[0] >= rows, name
            assert numpy.array_equal(file[name][:rows], good[name][:rows]), name
        return rows


def kill_vampire(place, reference, chance):
    vampire = start_vampire(place)
    time.sleep(chance.random() * reference["took"])
    vampire.send_signal(signal.SIGKILL)
    vampire.communicate()
    path, lines, recording = only(place, "h5"), place / "lines.jsonl", only(place, "rec")
    files = [file for file in (path, lines, recording) if file and file.exists()]
    # A file that was only created holds nothing yet.
    files = [file for file in files if file.stat().st_size > 0]
    live = 0
    if path in files:
        try:
            live = hdf5_rows(path, reference, swmr=True)
        except OSError:
            files.remove(path)  # killed while it was being created
    torn = {file: file.read_bytes() for file in files}
    if not files:
        shutil.rmtree(place)
        return 0
    recover(*files, options=["--dry-run"])
    assert all(file.read_bytes() == data for file, data in torn.items()), "a dry run changes nothing"
    recover(*files)
    written = 0
    if lines in files:
        cut = len(torn[lines]) - lines.stat().st_size
        assert cut >= 0 and b"\n" not in torn[lines][len(torn[lines]) - cut :], "whole lines stay"
        records = whole_lines(lines)
        mine = [text for text in map(comparable, records) if text]
        assert_begins(mine, reference["lines"])
        for record in records:
            if record["type"] == "bucket":
                outputs = {one["name"]: one for one in record["accounting"]["outputs"]}
                written = outputs.get("hdf5", {"written": 0})["written"]
    if path in files:
        rows = hdf5_rows(path, reference)
        assert rows >= live and rows >= written, "what the account called written is there"
    else:
        assert written == 0
    if recording in files:
        events = recorded_events(recording)
        assert_begins(events, reference["events"])
    shutil.rmtree(place)
    return written


def kill_whole_program(directory, reference, seed, kills):
    chance = random.Random(f"whole {seed}")
    written = [kill_vampire(directory / str(n), reference, chance) for n in range(kills)]
    assert any(written), "some kills came in the middle of the run"


@pytest.mark.parametrize("part", range(PARTS))
def test_kills_of_vampire(tmp_path, reference, part):
    kill_whole_program(tmp_path, reference, part, KILLS_VAMPIRE)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_kills(tmp_path, reference, part):
    kill_made_up(tmp_path, f"long {part}", 50)
    kill_whole_program(tmp_path, reference, f"long {part}", 50)


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
        path = wait_until(lambda: next((file for file in tmp_path.glob("vampire-*") if file.stat().st_size), None), "a file")
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
    ends, at = [], 0
    while at < len(record):
        length = shift = 0
        while True:
            byte = record[at]
            length |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        at += length
        ends.append(at)
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
        assert done.returncode == 1 and word in done.stderr, done.stderr
        assert before is None or path.read_bytes() == before
    done = subprocess.run([program("vampire"), "--recover"], capture_output=True, text=True)
    assert done.returncode == 2 and "which files" in done.stderr
