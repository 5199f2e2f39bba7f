# SPDX-License-Identifier: BSD-3-Clause
"""vampire.blocked: who was blocked on whom, in the buckets in which it elapsed."""

import subprocess
import sys

import pytest

import harness
from harness import ROOT

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "oracle")]
pd = pytest.importorskip("pandas")
import planted
import stream
import vampire

pytestmark = pytest.mark.plain
SECOND = 10**9
BEGIN = 1_800_000_000 * SECOND
KINDS = {name: number for number, name in stream.KINDS.items()}


def replayed(where, *options):
    """The HDF5 file of the recording in the directory."""
    done = subprocess.run([harness.program("vampire"), "-q", "--replay", "events.rec", "-o", "outputs.0.type=hdf5", *options], cwd=where,
                          capture_output=True, text=True, check=False, timeout=60 * harness.PATIENCE)
    assert done.returncode == 0, done.stderr
    return next(where.glob("*.h5"))


def written(where, events):
    """A recording of (second, kind, number of the component, fields)."""
    names = {1: "A", 2: "B", 3: "C"}
    joins = [(0, "join", number, {"name": name.encode()}) for number, name in names.items()]
    stream.write(where / "events.rec", [
        stream.event_pb2.Event(kind=KINDS[kind], serial=serial, time_ns=BEGIN + int(second * SECOND), app_id=app, **fields)
        for serial, (second, kind, app, fields) in enumerate([*joins, *events], 1)])


def two_late_offers():
    """C demands a CDO of A and one of B at second 1.5; they are offered at 3.5 and 8.5 and arrive at once."""
    events = []
    for number, (app, offered) in enumerate(((1, 3.5), (2, 8.5)), 1):
        of_cdo = {"cdo_id": number.to_bytes(16, "big")}
        about = {**of_cdo, "peer_id": app, "transport_id": number, "tier": 1, "cause": 1, "size_bytes": 8}
        events += [(1.2, "declare", app, of_cdo), (1.5, "demand", 3, {**of_cdo, "before": True}), (1.5, "demand", 3, of_cdo),
                   (offered, "offer", app, {**of_cdo, "size_bytes": 8}), (offered, "transport_init", 3, about),
                   (offered, "transport_completed", 3, about)]
    return sorted(events, key=lambda event: event[0]) + [(10, "leave", app, {"reason": 1}) for app in (1, 2, 3)]


def test_seconds_are_in_the_buckets_in_which_they_elapsed(tmp_path):
    """Each second of C is there once, in its bucket; A has half of the 2 s for which both were pending, B the rest of the 7 s."""
    written(tmp_path, two_late_offers())
    run = str(replayed(tmp_path, "-o", "statistics.bucket=1s"))
    frame = vampire.blocked(run)
    assert set(frame.component) == {"C"} and set(frame.part) == {"for_offer"}
    assert frame.groupby("other").seconds.sum().to_dict() == pytest.approx({"A": 1.0, "B": 6.0})
    by_bucket = frame.groupby("time").seconds.sum()
    assert [(time - pd.Timestamp(BEGIN)).total_seconds() for time in by_bucket.index] == list(range(1, 9))
    assert by_bucket.tolist() == pytest.approx([0.5, *[1.0] * 6, 0.5])
    assert vampire.blocked(run, where={"other": "B"}).seconds.sum() == pytest.approx(6.0)
    until = pd.Timestamp(BEGIN) + pd.Timedelta("4s")
    assert vampire.blocked(run, between=(None, until.isoformat())).seconds.sum() <= 2.5 + 1e-9


@pytest.mark.parametrize("size, kind", [(4, "late_model"), (60, "chain")])
def test_sums_are_those_of_the_metrics(tmp_path, size, kind):
    hour = planted.Hour(size, 0, kind)
    hour.write(tmp_path / "events.rec")
    run = vampire.History(str(replayed(tmp_path, "-o", f"statistics.bucket={hour.size.bucket}", "-o", "outputs.0.queue=4096")))
    frame = vampire.blocked(run)
    labels = ["component", "other", "part"]
    counted = vampire.table(run, "blocked_on_ns", ["component", "producer", "part"], None).rename(columns={"producer": "other"})
    wanted = counted.astype(dict.fromkeys(labels, object)).set_index(labels).delta / 1e9
    found = frame[frame.part != "held_back"].groupby(labels).seconds.sum()
    pd.testing.assert_series_equal(found.sort_index(), wanted.sort_index(), check_names=False, rtol=1e-9, atol=1e-8)
    held = vampire.table(run, "held_back_ns", ["component"], None)
    assert frame[frame.part == "held_back"].seconds.sum() == pytest.approx(held.delta.sum() / 1e9)
    # No component is charged with more of a bucket than it was blocked in it.
    own = vampire.table(run, "blocked_ns", ["component"]).astype({"component": object}).set_index(["time", "component"]).delta / 1e9
    sums = frame[frame.part != "held_back"].groupby(["time", "component"]).seconds.sum()
    assert (sums - own.reindex(sums.index).fillna(0) < 1e-6).all()
    assert sums.sum() == pytest.approx(own.sum(), rel=1e-6)


def test_files_without_it_say_so(tmp_path):
    written(tmp_path, two_late_offers())
    run = str(replayed(tmp_path, "-o", 'outputs.0.metrics=["pool_operations"]'))
    with pytest.raises(vampire.Error, match="who was blocked on whom is not known: the files have no blocked_ns"):
        vampire.blocked(run)


def test_files_by_model(tmp_path):
    planted.Hour(60, 0).write(tmp_path / "events.rec")
    run = str(replayed(tmp_path, "-o", "statistics.level=model", "-o", "statistics.bucket=10s"))
    assert set(vampire.blocked(run).component) == {"NEMO", "PGEN"}
