# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files of each format: bits, bytes and pages that differ, pages without content, pages exchanged, files cut. Every
reader says so at once, or gives what the whole file gives; none is silently different, waits, or ends without a word.

Seeded: each run damages the same places. `make damage` asks for 1,000 of each format (VAMPIRE_DAMAGE).
"""

import collections
import contextlib
import io
import os
import pickle
import random
import re
import signal
import subprocess
import traceback
import warnings

import pytest

from harness import PATIENCE, config_text, program

pytest.importorskip("pandas")
import h5py
import vampire
import vampire.report.main
import vampire.run_summary

pytestmark = [pytest.mark.plain, pytest.mark.together]
COUNT = int(os.environ.get("VAMPIRE_DAMAGE", "25"))
PAGE = 4096
TIMED = "VAMPIRE_DAMAGE" in os.environ  # by hand: within a second more than the whole file takes, of processor time
HANGS = 100 * PATIENCE  # what has not ended by then waits for something


def damaged(data, seed):
    """(what was done, the damaged bytes)"""
    chance, new = random.Random(seed), bytearray(data)
    kind = chance.choice(("bit", "bits", "byte", "cut", "zeros", "exchange"))
    pages = [number * PAGE for number in range(len(new) // PAGE)]
    if kind in ("bit", "bits"):
        for _ in range(1 if kind == "bit" else 4):
            new[chance.randrange(len(new))] ^= 1 << chance.randrange(8)
    elif kind == "byte":
        at = chance.randrange(len(new))
        new[at] = (new[at] + chance.randrange(1, 256)) % 256
    elif kind == "cut":
        del new[chance.randrange(len(new)):]
    elif kind == "zeros":
        at = chance.choice(pages)
        new[at: at + PAGE] = bytes(len(new[at: at + PAGE]))
    else:
        one, other = chance.sample(pages, 2)
        new[one: one + PAGE], new[other: other + PAGE] = new[other: other + PAGE], new[one: one + PAGE]
    return kind, bytes(new)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A run of each format: {format: path}."""
    place = tmp_path_factory.mktemp("run")
    config = place / "vampire.json"
    config.write_text(config_text({
        "source": {"type": "synthetic", "steps": 20, "producers": 2, "consumers": 2, "lost": 20, "step": "1s"},
        "statistics": {"bucket": "1s", "max_series": 64, "max_components": 16},
        "outputs": [{"type": kind, "directory": str(place), **({} if kind == "recording" else {"queue": 65536})}
                    for kind in ("hdf5", "jsonl", "recording")]}))
    done = subprocess.run([program("vampire"), "-q", "-c", config], capture_output=True, text=True, timeout=60 * PATIENCE)
    assert done.returncode == 0, done.stderr
    return {ending: next(place.glob(f"*.{ending}")) for ending in ("h5", "jsonl", "rec")}


# ---- readers: (what it gives, what it says)


def with_streams(function, *arguments):
    streams = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        function(*arguments)
    for stream in streams:
        stream.flush()
    return tuple(stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams)


def summary(path):
    return with_streams(vampire.run_summary.main, [str(path)])


def report(path):
    return with_streams(vampire.report.main.main, [str(path), "--text"])


def tables(path):
    """All numbers of a few metrics."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            history = vampire.History(str(path))
            found = [vampire.table(history, name, None, freq="bucket").to_csv() for name in
                     ("pool_operations", "transport_ns", "pool_bytes", "demands_pending", "transports")]
        except vampire.Error as error:
            return "", str(error)
    return "".join(found), "".join(str(one.message) for one in said if issubclass(one.category, vampire.DamageWarning))


def ran(*argv):
    done = subprocess.run(argv, capture_output=True, timeout=HANGS, check=False)
    assert done.returncode >= 0, f"{argv[0]} ended by signal {-done.returncode}"
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace") if done.returncode else ""


def replay(path):
    return ran(program("vampire"), "-q", "-o", "source.type=replay", "-o", f"source.file={path}", "-o", "statistics.bucket=1s",
               "-o", "outputs.0.type=jsonl", "-o", "outputs.0.path=-", "-o", "outputs.0.metrics=[\"pool_operations\"]")


def in_a_process(read, path):
    """What it returned, or how it ended; and the processor time that it took, with that of its children."""
    end, begin = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        signal.alarm(int(HANGS))
        try:
            with os.fdopen(begin, "wb") as pipe:
                try:
                    pickle.dump(read(path), pipe)
                except BaseException:  # pylint: disable=broad-except
                    pickle.dump(traceback.format_exc(), pipe)
        finally:
            os._exit(0)
    os.close(begin)
    with os.fdopen(end, "rb") as pipe:
        raw = pipe.read()
    _, status, used = os.wait4(child, 0)
    return pickle.loads(raw) if raw else f"ended with status {status}", used.ru_utime + used.ru_stime


def top(path):
    """Each line that is marked, of losses aside that are those of the run."""
    found, said = ran(program("vampire-top"), "--once", "--totals", "--all", path)
    if said:
        return found, said
    wrong = re.search(r"damaged block|lines not understood", found)
    return found + ("" if " ended: " in found else ENDLESS), wrong[0] if wrong else ""


READERS = {"h5": (summary, report, tables), "jsonl": (summary, top), "rec": (replay,)}
ENDLESS = "without an end"  # of a file that was cut


def judge(read, path, whole):
    """What a reader makes of a file: "same", "said", or what is wrong with it. `whole`: of the whole file."""
    found, seconds = in_a_process(read, path)
    if not isinstance(found, tuple):
        return found
    if TIMED and seconds > whole[1] + 1:
        return f"took {seconds:.1f} s"
    return "said" if found[1] or (ENDLESS in found[0] and ENDLESS not in whole[0][0]) else \
        "same" if found == whole[0] else "silently different"


@pytest.mark.parametrize("ending", READERS)
def test_damage_is_seen_and_nothing_waits_for_it(files, tmp_path, ending):
    content, path = files[ending].read_bytes(), tmp_path / files[ending].name
    path.write_bytes(content)
    whole = {read: in_a_process(read, path) for read in READERS[ending]}
    assert all(found[0] and not found[1] for found, _ in whole.values()), whole
    outcomes, wrong = collections.Counter(), []
    for number in range(COUNT):
        kind, bad = damaged(content, f"{ending} {number}")
        path.write_bytes(bad)
        for read, expected in whole.items():
            outcome = judge(read, path, expected)
            outcomes[read.__name__, outcome if outcome in ("said", "same") else "wrong"] += 1
            if outcome not in ("said", "same"):
                wrong.append(f"{ending} {number} ({kind}), {read.__name__}: {outcome}")
    print(dict(outcomes))
    assert not wrong, "\n".join(wrong)
    assert all(outcomes[read.__name__, "said"] for read in whole), outcomes


def test_a_damaged_group_is_not_an_absent_one(files, tmp_path):
    """Of 1,000 damaged files two had a group that could not be opened, and a summary without its numbers."""
    path, new = tmp_path / files["h5"].name, bytearray(files["h5"].read_bytes())
    with h5py.File(files["h5"]) as file:
        new[h5py.h5o.get_info(file["vampire"].id).addr + 20] ^= 128
    path.write_bytes(new)
    for read in READERS["h5"]:
        assert in_a_process(read, path)[0][1], read.__name__


@pytest.mark.parametrize("variable, read", [
    ("by_source_sink_size_class_tier/transport_ns_count", tables), ("by_source_sink_size_class_tier/transport_ns_sum", tables),
    ("by_source_sink_size_class_tier/series_index", tables), ("by_component/series_index", tables), ("rows", tables),
    ("pool_operations_delta", summary)])
def test_a_chunk_in_the_place_of_another_is_seen(files, tmp_path, variable, read):
    """The check value of its stream holds. What follows the stream says where the chunk belongs."""
    path, new = tmp_path / files["h5"].name, bytearray(files["h5"].read_bytes())
    with h5py.File(files["h5"]) as file:
        item = file[variable].id
        chunks = sorted((info.size, info.byte_offset) for info in map(item.get_chunk_info, range(item.get_num_chunks())))
    (size, at), (_, to) = chunks[0], chunks[-1]
    assert new[at: at + size - 1] != new[to: to + size - 1]
    new[to: to + size] = new[at: at + size]
    path.write_bytes(new)
    assert read(files["h5"])[1] == "" and read(path)[1] != ""


@pytest.mark.parametrize("read", [report, tables])
def test_a_name_that_is_not_what_was_written_is_said(files, tmp_path, read):
    """Of 1,000 damaged files one had a page of zeros for its names: they were all "(damaged)", and no reader said so."""
    path, new = tmp_path / files["h5"].name, bytearray(files["h5"].read_bytes())
    with h5py.File(files["h5"]) as file:
        at = file["name_text"].id.get_chunk_info(0).byte_offset
    new[at: at + 128] = bytes(128)
    path.write_bytes(new)
    assert "2 names are damaged" in read(path)[1]


def test_the_rest_of_a_run_opens(files, tmp_path):
    """A folder with one damaged file of each kind of damage: it is named, and the whole one is read."""
    whole = files["h5"].read_bytes()
    good = tmp_path / files["h5"].name
    good.write_bytes(whole)
    for number in range(6):
        (tmp_path / f"vampire-bad-{number}.h5").write_bytes(whole[: 3000 * number])
    with pytest.warns(vampire.DamageWarning) as said:
        found = vampire.summary(tmp_path)
    assert len(said) == 6 and found.counted == vampire.summary(good).counted and len(found.partial) == 6
