# SPDX-License-Identifier: BSD-3-Clause
"""Time that jumps: the clock of the pool manager or of vampire is set forward and back, and vampire is
suspended. No bucket comes twice, none has a width below 0, and the step is in the data."""

import signal
import socket
import time

import h5py
import pytest

import harness
import jsonl
import results
from test_workflow import model_options

NO_TIME = -(2**63)
HOUR = 3600


@pytest.fixture
def clock(space):
    """A function that sets the clock of the programs started with `clock.environment`."""
    library = harness.build_preload("stepped_clock", space.path)
    path = space.path / "offset"

    def set_to(seconds):
        new = path.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(path)

    set_to(0)
    set_to.environment = {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(path)}
    return set_to


def bucket_rows(space):
    """Start and number of all buckets, and the gaps."""
    with h5py.File(space.hdf5(), "r") as file:
        starts = [int(value) for value in file["time"][...]]
        numbers = [int(value) for value in file["bucket_number"][...]]
        widths = {int(value) for value in file["bucket_ns"][...]}
        gaps = [
            (int(start), int(end), reason)
            for start, end, reason in zip(
                file["gap_start"][...], file["gap_end"][...], results.texts(file["gap_reason"])
            )
            if int(start) != NO_TIME
        ]
    assert numbers == list(range(len(numbers)))
    assert len(widths) == 1 and widths.pop() > 0
    return starts, gaps


def busy_model(space, name):
    """Enough events for a clock set back to be recognised."""
    model = space.model(*model_options(30, 4, 2, 64, 256, 0), name=name)
    model.expect_exit(0)
    return model.report()


@pytest.mark.plain
def test_the_pool_managers_clock_is_stepped(space, clock):
    space.pool_manager(extra=clock.environment)
    settings = harness.vampire_config(bucket="200ms", source={"leave_grace": f"{int(4 * harness.PATIENCE)}s"})
    settings["outputs"][0]["queue"] = settings["outputs"][1]["queue"] = 4096
    vampire = space.vampire(settings)
    reports = [busy_model(space, "Model 0")]
    bucket = time.time() // 0.2
    for number, offset in enumerate([HOUR, -HOUR, 0], 1):
        clock(offset)
        harness.wait_until(lambda: offset or time.time() // 0.2 > bucket, "another bucket than the first one's")
        reports.append(busy_model(space, f"Model {number}"))
    vampire.expect_exit(0)
    starts, gaps = bucket_rows(space)
    assert len(set(starts)) == len(starts), "no bucket comes twice"
    leaps = [end - start for start, end, reason in gaps if reason == "leap"]
    forward = [leap for leap in leaps if leap > 0]
    back = [leap for leap in leaps if leap < 0]
    assert len(forward) == 2 and len(back) == 1, leaps
    assert all(0.9 * HOUR < abs(leap) / 1e9 < 2.1 * HOUR for leap in leaps)
    runs = {"hdf5": results.Hdf5Run(space.hdf5_files()), "json": results.JsonRun(space.json_lines())}
    assert not results.compare(reports, runs)
    assert not results.accounting_differences(runs["hdf5"])


@pytest.mark.plain
@pytest.mark.parametrize("offset", [-2 * HOUR, pytest.param(2 * HOUR, marks=pytest.mark.long)])
def test_vampires_own_clock_is_stepped(space, clock, offset):
    """Buckets follow the events' time; a wait that has begun is neither cut nor stretched."""
    space.pool_manager()
    settings = harness.vampire_config(bucket="200ms", source={"leave_grace": f"{int(4 * harness.PATIENCE)}s"})
    vampire = space.vampire(settings, extra=clock.environment)
    reports = [busy_model(space, "Before")]
    clock(offset)
    reports.append(busy_model(space, "After"))
    vampire.expect_exit(0, 30)
    starts, gaps = bucket_rows(space)
    assert starts == sorted(set(starts))
    assert not gaps
    runs = {"hdf5": results.Hdf5Run(space.hdf5_files()), "json": results.JsonRun(space.json_lines())}
    assert not results.compare(reports, runs)


@pytest.mark.plain
def test_samples_do_not_wait_for_a_clock_that_is_behind(space, clock):
    """The pool manager's is, by an hour: samples count at its time, and are no loss."""
    clock(-HOUR)
    space.pool_manager(extra=clock.environment)
    settings = harness.vampire_config(source={"leave_grace": f"{int(4 * harness.PATIENCE)}s"})
    address = space.path / "samples"
    settings["samples"] = {"listen": [f"unix:{address}"], "metrics": ["steps counter own.step"]}
    vampire = space.vampire(settings)
    reports = [busy_model(space, "Before")]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        for step in range(1000):
            to.sendto(b"own step=%di" % step, str(address))
    reports.append(busy_model(space, "After"))
    vampire.expect_exit(0)
    steps = [line["delta"] for line in jsonl.records(space.json_lines()) if line.get("metric") == "steps"]
    assert sum(steps) == 999 and "1,000 counted" in vampire.stderr and "of these late" not in vampire.stderr, vampire.stderr
    runs = {"hdf5": results.Hdf5Run(space.hdf5_files()), "json": results.JsonRun(space.json_lines())}
    assert not results.compare(reports, runs)


def test_vampire_is_suspended(space):
    """As if the machine slept: nothing is counted twice, and buckets go on."""
    space.pool_manager("--silence", "60s")
    settings = harness.vampire_config(bucket="100ms", source={"leave_grace": f"{int(4 * harness.PATIENCE)}s"})
    vampire = space.vampire(settings)
    reports = [busy_model(space, "Before")]
    vampire.signal(signal.SIGSTOP)
    reports.append(busy_model(space, "Meanwhile"))
    vampire.signal(signal.SIGCONT)
    reports.append(busy_model(space, "After"))
    vampire.expect_exit(0)
    starts, _ = bucket_rows(space)
    assert starts == sorted(set(starts))
    runs = {"hdf5": results.Hdf5Run(space.hdf5_files()), "json": results.JsonRun(space.json_lines())}
    assert not results.compare(reports, runs)
    assert not results.accounting_differences(runs["hdf5"])
