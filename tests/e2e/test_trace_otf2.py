# SPDX-License-Identifier: BSD-3-Clause
"""Output `trace` of format otf2, read by the tools of OTF2: what is in it is in the Chrome trace and in the oracle."""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess

import pytest

import adversarial
import harness
import otf2_file
import stream
import streams
import trace_file

F_OFD_SETLK = 37  # <fcntl.h>; Python before 3.9 does not name it
SLOW = {"type": "synthetic", "producers": 2, "consumers": 2, "steps": 1000, "step": "1s", "speed": 1}


def configuration(where, *formats, **options):
    path = where / "config.json"
    path.write_text(json.dumps({"outputs": [{"type": "trace", "name": name, "format": name, "directory": str(where), **options}
                                            for name in formats]}))
    return path


def run(space, where, recording, *formats, **options):
    return subprocess.run([harness.program("vampire"), "-c", configuration(where, *formats, **options), "--replay", recording],
                          cwd=where, env=space.environment, capture_output=True, text=True, timeout=60 * harness.PATIENCE,
                          check=False)


def archives(where):
    return sorted(where.glob("*.otf2"))


@pytest.fixture
def many(space):
    """A recording of a synthetic stream."""
    path = space.path / "many.json"
    path.write_text(json.dumps({
        "source": {"type": "synthetic", "producers": 8, "consumers": 4, "steps": 4, "step": "100ms", "burst": 6},
        "outputs": [{"type": "recording", "directory": str(space.path)}],
    }))
    subprocess.run([harness.program("vampire"), "-q", "-c", path], cwd=space.path, check=True, env=space.environment,
                   timeout=60 * harness.PATIENCE)
    return next(space.path.glob("*.rec"))


def both_traces(space, recording):
    done = run(space, space.path, recording, "otf2", "chrome")
    assert done.returncode == 0, done.stderr
    archive = otf2_file.Archive(archives(space.path)[0] / "trace.otf2")
    chrome = trace_file.Trace(next(space.path.glob("*.trace.json")))
    return archive, chrome, done.stderr


def test_a_workflow(space, many):
    archive, chrome, said = both_traces(space, many)
    expected = trace_file.expected([many])
    assert sum(archive.spans.values()) > 1000
    assert archive.spans == chrome.spans() == expected.spans
    assert archive.check_messages() == chrome.check_arrows() > 100
    assert f"{archives(space.path)[0].name}/trace.otf2" in said


@pytest.mark.parametrize("name", ["marks", "what a wait was for", "names instead of ids", "consumer first"])
def test_corner_case(space, name):
    stream.write(space.path / "hand.rec", streams.corner_cases()[name][0])
    archive, chrome, _ = both_traces(space, space.path / "hand.rec")
    assert archive.spans == chrome.spans() and archive.marks == chrome.marks()
    assert archive.check_messages() == chrome.check_arrows()


@pytest.mark.parametrize("seed", [3, 4])
def test_anything_in_any_order(space, seed):
    stream.write(space.path / "any.rec", adversarial.Stream(seed).made())
    archive, chrome, _ = both_traces(space, space.path / "any.rec")
    assert archive.spans == chrome.spans() and archive.marks == chrome.marks()
    assert archive.check_messages() == chrome.check_arrows()


def test_who_may_read_it(space, many):
    assert run(space, space.path, many, "otf2", access="group").returncode == 0
    place = archives(space.path)[0]
    modes = {path.stat().st_mode & 0o777 for path in place.rglob("*") if path.is_file()}
    assert modes == {0o640} and place.stat().st_mode & 0o777 == (place / "trace").stat().st_mode & 0o777 == 0o750


def test_at_most_max_events(space, many):
    done = run(space, space.path, many, "otf2", "chrome", max_events=1000)
    archive = otf2_file.Archive(archives(space.path)[0] / "trace.otf2")
    assert archive.spans == trace_file.Trace(next(space.path.glob("*.trace.json"))).spans()
    assert done.returncode == 0 and done.stderr.count("LEFT OUT at a limit") == 2


def test_at_most_max_tracks(space, many):
    """Memory at the end is for these; what has no track is counted and said."""
    done = run(space, space.path, many, "otf2", "chrome", max_tracks=16)
    place = archives(space.path)[0]
    archive, chrome = otf2_file.Archive(place / "trace.otf2"), trace_file.Trace(next(space.path.glob("*.trace.json")))
    assert len(list((place / "trace").glob("*.evt"))) == 16 and archive.spans == chrome.spans()
    assert chrome.notes["vampire_end"]["without_track"] > 0
    assert done.stderr.count('the trace has its 16 ("max_tracks")') == done.stderr.count("LEFT OUT at a limit") == 2, done.stderr


def test_no_room(space, many, small_disk):
    """Nothing of an archive that could not be completed stays, and the account says that nothing was written."""
    place = small_disk(64)
    done = run(space, place, many, "otf2")
    assert done.returncode == 1 and "No space left on device" in done.stderr, done.stderr
    assert "0 events written" in done.stderr and "LOST" in done.stderr, done.stderr
    assert archives(place) == []


def named(path, start):
    """The name that a run with another start and id would have given it."""
    return path.parent / path.name.replace(path.name[path.name.index("-20") + 1:][:25], start)


@pytest.mark.parametrize("limit", [{"age": "1d"}, {"size": "1B"}], ids=["age", "size"])
def test_keep(space, many, limit):
    """Of older archives of the output those that are complete go, each whole, and none in which something else is."""
    assert run(space, space.path, many, "otf2").returncode == 0
    made = archives(space.path)[0]
    for i, what in enumerate(("whole", "incomplete", "with notes", "with notes inside", "of another")):
        copy = named(made, f"2020010{i + 1}T000000Z-0123abcd")
        copy = copy.parent / copy.name.replace("-otf2-", "-minutes-") if what == "of another" else copy
        shutil.copytree(made, copy)
        if what == "incomplete":
            (copy / "trace.otf2").unlink()
        if what.startswith("with notes"):
            (copy / ("trace" if "inside" in what else ".") / "notes").write_text("of the user")
        os.utime(copy, (10**9, 10**9))
    elsewhere = space.path / "elsewhere"
    shutil.copytree(made, elsewhere)
    link = named(made, "20200106T000000Z-0123abcd")
    link.symlink_to(elsewhere)
    before = archives(space.path)
    done = run(space, space.path, many, "otf2", keep=limit)
    assert done.returncode == 0, done.stderr
    gone = set(before) - set(archives(space.path))
    expected = {named(made, "20200101T000000Z-0123abcd"), *([made] if "size" in limit else [])}
    assert gone == expected, done.stderr
    assert (f"deleted {len(gone)} older file" in done.stderr) and len(list(elsewhere.rglob("*"))) > 5
    assert len(archives(space.path)) == len(before) + 1 - len(gone)


def test_keep_of_files(space, many):
    """Traces that are files are deleted as those of other formats are: never one that is being written."""
    assert run(space, space.path, many, "chrome").returncode == 0
    made = next(space.path.glob("*.trace.json"))
    old = [named(made, f"2020010{day}T000000Z-0123abcd") for day in (1, 2)]
    for path in old:
        shutil.copy(made, path)
        os.utime(path, (10**9, 10**9))
    with open(old[1], "r+") as held:
        lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(held, F_OFD_SETLK, lock)
        done = run(space, space.path, many, "chrome", keep={"age": "1d"})
    assert done.returncode == 0 and "deleted 1 older file" in done.stderr, done.stderr
    assert not old[0].exists() and old[1].exists() and made.exists()


def test_killed(space):
    """An archive is written when it is completed: a kill leaves an empty one, which --recover does not take for a file."""
    process = space.vampire({
        "source": SLOW,
        "outputs": [{"type": "trace", "format": "otf2", "directory": str(space.path)}],
    }, name="killed", ready=False)
    harness.wait_until(lambda: archives(space.path), "the archive is created")
    process.signal(signal.SIGKILL)
    process.wait()
    place = archives(space.path)[0]
    assert not (place / "trace.otf2").exists()
    done = subprocess.run([harness.program("vampire"), "--recover", place], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and place.name in done.stderr, done.stderr


@pytest.mark.plain
def test_the_library_is_loaded_only_for_it(space):
    library = ("libopen-trace-format2", "otf2.so")

    def mapped(name, form):
        process = space.vampire({
            "source": SLOW,
            "outputs": [{"type": "trace", "format": form, "directory": str(space.path)}],
        }, name=name, ready=False)
        harness.wait_until(lambda: list(space.path.glob(f"*.{'otf2' if form == 'otf2' else 'trace.json'}")), "the trace begins")
        maps = pathlib.Path(f"/proc/{process.child.pid}/maps").read_text()
        process.stop()
        return [name for name in library if name in maps]

    assert mapped("with", "otf2") == list(library)
    assert mapped("without", "chrome") == []


@pytest.mark.plain
def test_a_plug_in_that_is_not_installed(space, tmp_path):
    binary = tmp_path / "bin" / "vampire"
    binary.parent.mkdir()
    binary.write_bytes(pathlib.Path(harness.program("vampire")).read_bytes())
    binary.chmod(0o755)
    for options in (["--check-config"], []):
        done = subprocess.run([binary, *options, "-c", configuration(space.path, "otf2")], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 2, done.stderr
        for words in ("/outputs/0/format", 'format "otf2"', "otf2.so", "vampire-otf2",
                      "sh tests/install_packages.sh libotf2-trace-dev && make"):
            assert words in done.stderr, done.stderr
