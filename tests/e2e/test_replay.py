# SPDX-License-Identifier: BSD-3-Clause
"""A replayed recording gives the HDF5 content of the live run, bit for bit."""

import os
import random
import subprocess

import h5py
import numpy
import pytest

import harness
import recordings
from rows import File

# What vampire measures of itself, and what belongs to a run and not to its events.
OWN = (
    "vampire_filter_cut vampire_ring_bytes vampire_lag_ns vampire_rss_bytes vampire_cpu_ns vampire_queue_high_water "
    "vampire_commit_ns vampire_queued vampire_written vampire_output_lost own_roundtrip_ns "
    "buckets_queued buckets_written buckets_lost buckets_waiting ended"
).split()


# Of the rows of all groups; they depend on the rows of OWN.
PLACES = ("first_row", "rows", "time_check", "end_check")  # of what the run adds of itself, and of its end


def is_own(name):
    return any(name == own or name.startswith(own + "_") for own in OWN) or name.endswith("_id") and not name.startswith("component_app")


def values(file):
    """{metric: {labels: entries}}: what vampire measures of itself can have rows in the same group."""
    run = File(file)
    return {name: {labels: entries for labels, entries in zip(run.labels(name), run.entries(name))
                   if set(entries) - {None, (0, 0), (0, 0, 0)}} if run.kind(name) != "histogram" else
            {labels: entries for labels, entries in zip(run.labels(name), run.entries(name)) if any(entries)}
            for name in run.metrics() if not is_own(name)}


def differences(left, right):
    """Names of the metrics, and of the datasets of the overview, that are not the same: values and shapes."""
    with h5py.File(left, "r") as a, h5py.File(right, "r") as b:
        found = [f"only in one: {name}" for name in set(a) ^ set(b)]
        compared = [name for name in a if name in b and isinstance(a[name], h5py.Dataset)
                    and not is_own(name) and name not in PLACES]
        found += [name for name in compared if not numpy.array_equal(a[name][...], b[name][...])]
        assert len(compared) > 60, compared
        ours, theirs = values(a), values(b)
        return found + [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]


def config(tmp, **more):
    tmp.mkdir(exist_ok=True)
    return {
        "statistics": {"bucket": "200ms", **more.pop("statistics", {})},
        "outputs": [
            {"type": "hdf5", "directory": str(tmp)},
            {"type": "recording", "directory": str(tmp), **more.pop("recording", {})},
        ],
        **more,
    }


def only(path, ending):
    files = sorted(path.glob(f"*.{ending}"))
    assert len(files) == 1, files
    return files[0]


def replay(space, name, source, *options, **more):
    where = space.path / name
    process = space.vampire(
        config(where, **more), "--replay", source, *options, name=name, ready=False
    )
    process.expect_exit(0)
    return where


def test_demo_workflow_replayed(space):
    space.pool_manager()
    live = space.path / "live"
    vampire = space.vampire(config(live, source={"leave_grace": "2s", "signal_before": "all"}))
    harness.Workflow(space, model_options=["--steps", 4, "--levels", 2, "--params", 2, "--rate", 60]).finish()
    vampire.expect_exit(0)
    again = replay(space, "again", only(live, "rec"))
    assert not differences(only(live, "h5"), only(again, "h5"))
    with h5py.File(only(live, "h5"), "r") as file:
        assert {"vampire_lag_ns", "vampire_ring_bytes"} <= set(File(file).metrics())


def test_only_what_is_live_waits_and_has_a_lag(space):
    """A replay publishes no 0 for either, and a rule that looks at one is no reason not to replay."""
    rule = {"name": "late", "metric": "vampire_lag_ns", "when": "> 1s"}
    process = space.vampire(config(space.path / "run", source={"type": "synthetic", "steps": 5}, alarms=[rule]), ready=False)
    process.expect_exit(0)
    assert "the alarm late is not watched: vampire_lag_ns is not observable, only a live run has it" in process.stderr
    with h5py.File(only(space.path / "run", "h5"), "r") as file:
        metrics = File(file).metrics()
    assert not {"vampire_lag_ns", "vampire_ring_bytes"} & set(metrics) and "vampire_rss_bytes" in metrics


FAULTS = {
    "none": [],
    "all": ["late=40", "lost=30", "missing=30", "duplicated=30", "reordered=60", "vanish=200",
            "unseen=1"],
}


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.threads
def test_synthetic_stream_replayed(space, faults):
    live = space.path / "live"
    options = [word for fault in FAULTS[faults] for word in ("-o", "source." + fault)]
    process = space.vampire(
        config(live, source={"type": "synthetic", "steps": 20, "producers": 3}), *options, ready=False
    )
    process.expect_exit(0)
    again = replay(space, "again", only(live, "rec"), "-o", "source.speed=0")
    assert not differences(only(live, "h5"), only(again, "h5"))
    third = replay(space, "third", only(again, "rec"))
    assert not differences(only(live, "h5"), only(third, "h5"))


def test_filtered_events_can_be_recorded_too(space):
    """Then a replay with the same filter accounts for them as the live run did."""
    live, events = space.path / "live", {"kinds": ["offer", "demand", "withdraw"]}
    source = {"type": "synthetic", "steps": 5}
    both = {"events": events, "recording": {"filtered": True}}
    space.vampire(config(live, source=source, **both), ready=False).expect_exit(0)
    both = {"events": events, "recording": {"filtered": True}}
    again = replay(space, "again", only(live, "rec"), **both)
    assert not differences(only(live, "h5"), only(again, "h5"))


@pytest.mark.parametrize("faults", FAULTS)
def test_a_filtered_recording_knows_what_it_left_out(space, faults):
    """A replay of it never says that every event was counted, nor of a recording of the replay."""
    live = space.path / "live"
    configuration = config(live, source={"type": "synthetic", "steps": 20}, recording={"filter": "(.event.kind in (offer demand))"})
    options = [word for fault in FAULTS[faults] for word in ("-o", "source." + fault)]
    space.vampire(configuration, *options, ready=False).expect_exit(0)
    with h5py.File(only(live, "h5")) as file:
        received = File(file).entries("vampire_received")[0][-1][0]
    again = replay(space, "again", only(live, "rec"))
    said = space.processes[-1].stderr
    with h5py.File(only(again, "h5")) as file:
        run = File(file)
        assert run.entries("vampire_received")[0][-1][0] + run.entries("vampire_not_subscribed")[0][-1][0] == received
    assert "that the recording leaves out" in said and "every event was counted" not in said


def test_speed_and_no_workflow_name(space):
    """At 20 times the speed four steps of one second last about 0.2 s; the environment is empty."""
    live = space.path / "live"
    space.vampire(config(live, source={"type": "synthetic", "steps": 5}), ready=False).expect_exit(0)
    none = {"MSTRO_WORKFLOW_NAME": ""}
    where = space.path / "slow"
    process = space.vampire(config(where), "--replay", only(live, "rec"), "-o", "source.speed=20",
                            ready=False, extra=none, name="slow")
    process.expect_exit(0)
    assert not differences(only(live, "h5"), only(where, "h5"))
    with h5py.File(only(where, "h5")) as file:
        assert file.attrs["workflow"].decode() == "synthetic"


def record_rotated(space, name, rotate, *options):
    live = space.path / name
    space.vampire(
        config(live, source={"type": "synthetic", "steps": 20, "producers": 3}, recording={"rotate": rotate}),
        *options, name=name, ready=False,
    ).expect_exit(0)
    segments = sorted(live.glob("*.rec"))
    assert [path.name[-9:] for path in segments] == [f"-{n:04}.rec" for n in range(1, len(segments) + 1)]
    assert len(segments) > 3
    said = space.processes[-1].stderr
    assert all(str(path) in said for path in (segments[0], segments[1], segments[-1])), said
    return live, segments


@pytest.mark.plain
@pytest.mark.parametrize("faults, rotate", [("all", {"interval": "3s"}), ("none", {"size": "64KiB"})])
def test_a_rotated_recording_is_one_stream(space, rotate, faults):
    """Its segments, by a pattern or one by one, replay to what the whole recording does."""
    options = [word for fault in FAULTS[faults] for word in ("-o", "source." + fault)]
    live, segments = record_rotated(space, "live", rotate, *options)
    again = replay(space, "again", live / "*.rec")
    assert not differences(only(live, "h5"), only(again, "h5"))
    listed = ",".join(path.name for path in segments)
    third = replay(space, "third", f"{live}/{{{listed}}}")
    assert not differences(only(live, "h5"), only(third, "h5"))


def components(path):
    with h5py.File(path) as file:
        return {row.tobytes().rstrip(b"\0") for row in file["component_name"][...]}


def test_a_segment_alone_and_a_segment_missing(space):
    live, segments = record_rotated(space, "live", {"interval": "3s"})
    alone = replay(space, "alone", segments[2])
    assert components(only(alone, "h5")) == components(only(live, "h5"))
    segments[2].rename(space.path / "kept")
    where = space.path / "rest"
    process = space.vampire(config(where), "--replay", live / "*.rec", name="rest", ready=False)
    process.expect_exit(0)
    with h5py.File(only(live, "h5")) as file, h5py.File(only(where, "h5")) as rest:
        missing = int(file["events_received"][-1]) - int(rest["events_received"][-1])
        assert missing > 0 and [int(lost) for lost in rest["gap_events"][...] if lost] == [missing]
    assert f" {missing} events are missing" in process.stderr


def lost_in_gaps(path):
    with h5py.File(path) as file:
        return [int(lost) for lost in file["gap_events"][...] if lost]


GOES_ON = "the run continues in another segment"


def test_the_last_segment_missing(space):
    """Each segment but the last one says that another follows."""
    live, segments = record_rotated(space, "live", {"interval": "3s"})
    whole = replay(space, "whole", live / "*.rec")
    assert lost_in_gaps(only(whole, "h5")) == [] and GOES_ON not in space.processes[-1].stderr
    segments[-1].rename(space.path / "kept")
    rest = replay(space, "rest", live / "*.rec")
    assert lost_in_gaps(only(rest, "h5")) == [1], "at least one event"
    assert f"{segments[-2]} {GOES_ON}, which is not here" in space.processes[-1].stderr
    # Whoever asks for one segment gets one.
    alone = replay(space, "alone", segments[0])
    assert lost_in_gaps(only(alone, "h5")) == []
    assert f"{GOES_ON}, which is not replayed" in space.processes[-1].stderr


@pytest.mark.plain
def test_an_empty_segment_is_left_out(space):
    """As where the disk was full, or vampire killed, just when one began."""
    live, segments = record_rotated(space, "live", {"interval": "3s"})
    for name in ("-0000.rec", "-0099.rec"):
        segments[0].with_name(segments[0].name.replace("-0001.rec", name)).touch()
    again = replay(space, "again", live / "*.rec")
    assert not differences(only(live, "h5"), only(again, "h5"))
    process = space.vampire(config(space.path / "none"), "--replay", live / "*-00[09][09].rec", name="none", ready=False)
    process.expect_exit(2)
    assert "is not a recording" in process.stderr


def test_a_pipe_is_no_recording(space):
    """Neither waited for nor called damaged."""
    os.mkfifo(space.path / "pipe")
    process = space.vampire(config(space.path / "none"), "--replay", space.path / "pipe", name="none", ready=False)
    process.expect_exit(2)
    assert "pipe is not a file, from which a recording is read" in process.stderr


def test_recordings_that_do_not_belong_together(space):
    for name in ("one", "two"):
        record_rotated(space, name, {"interval": "3s"})
    where = space.path / "both"
    process = space.vampire(config(where), "--replay", f"{space.path}/{{one,two}}/*.rec", name="both", ready=False)
    process.expect_exit(2)
    assert "does not continue where" in process.stderr
    process = space.vampire(config(where), "--replay", space.path / "none*.rec", name="none", ready=False)
    process.expect_exit(2)
    assert "no file matches" in process.stderr


@pytest.mark.parametrize("level", ["component", "cdo"])
def test_hostile_names_stay_off_the_terminal(space, level):
    """Escape sequences and control characters, as names of components and of CDOs."""
    live, hostile = space.path / "live", space.path / "hostile.rec"
    source = {"type": "synthetic", "steps": 3, "producers": 1}
    space.vampire(config(live, source=source), ready=False).expect_exit(0)
    record = recordings.without_checks(only(live, "rec").read_bytes())
    bad = b"\x1b[2J\nevil\x07"
    assert len(bad) == len(b"Model -- 0") and b"Model -- 0" in record
    hostile.write_bytes(record.replace(b"Model -- 0", bad).replace(b"param", b"\x1b]0;\x07"))
    where = space.path / "again"
    process = space.vampire(config(where, statistics={"level": level}), "--replay", hostile,
                            name="again", ready=False)
    process.expect_exit(0)
    said = process.stderr.replace("\n", "")
    assert "evil" in said and said.isprintable(), ascii(said)
    assert "\nevil" not in process.stderr
    with h5py.File(only(where, "h5")) as file:
        assert bad in {row.tobytes().rstrip(b"\0") for row in file["component_name"][...]}


# ------------------------------------------------------------------ checks


def recorded(space):
    live = space.path / "live"
    space.vampire(config(live, source={"type": "synthetic", "steps": 5}), ready=False).expect_exit(0)
    return live, only(live, "rec").read_bytes()


def quiet_replay(space, data):
    path = space.path / "altered.rec"
    path.write_bytes(data)
    return subprocess.run([harness.program("vampire"), "-q", "--replay", path, "-o", "outputs=[]"],
                          env=harness.clean_environment(), capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.plain
def test_every_altered_byte_is_found(space):
    """Also with -q: an exit code and a line on stderr. The positions are the same in every run."""
    _, data = recorded(space)
    assert quiet_replay(space, data).returncode == 0
    numbers = random.Random(20261122)
    positions = [*range(0, 120, 7), *(numbers.randrange(len(data)) for _ in range(30)), len(data) - 1]
    for at in positions:
        altered = bytearray(data)
        altered[at] ^= numbers.randrange(1, 256)
        done = quiet_replay(space, altered)
        # 2: the first record is none of a recording any more.
        assert done.returncode in ((2, 5) if at < 300 else (5,)), (at, done.returncode, done.stderr)
        assert "altered.rec" in done.stderr, (at, done.stderr)
    cut = quiet_replay(space, data[:-20])
    assert cut.returncode == 5 and "altered.rec is damaged" in cut.stderr


def test_a_recording_without_checks_is_replayed(space):
    """One of an older program."""
    live, data = recorded(space)
    path = space.path / "old.rec"
    path.write_bytes(recordings.without_checks(data))
    again = replay(space, "again", path)
    assert not differences(only(live, "h5"), only(again, "h5"))
