# SPDX-License-Identifier: BSD-3-Clause
"""Other programs read what vampire wrote, when it is finished and while it is written."""

import json
import re
import shutil
import subprocess

import h5py
import numpy
import pytest

import harness
from rows import File, refresh
import jsonl
from test_workflow import KIB, assert_agreement, model_options

OPERATION = ("IFS -- 0", "offer")


def small_workflow(space, config=None, rate=0, steps=4):
    space.pool_manager()
    vampire = space.vampire(config or harness.vampire_config())
    workflow = harness.Workflow(
        space, model_options=model_options(steps, 3, 2, 4 * KIB, 64 * KIB, rate)
    )
    return vampire, workflow


@pytest.fixture
def finished(space):
    """A finished run: (space, reports)."""
    vampire, workflow = small_workflow(space)
    reports = workflow.finish()
    vampire.expect_exit(0)
    return space, reports


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_opens_it_with_one_line(finished, engine):
    xarray = pytest.importorskip("xarray")
    space, reports = finished
    with xarray.open_dataset(space.hdf5(), engine=engine) as data:
        chosen = data.pool_operations_delta.where(data.operation == OPERATION[1], drop=True)
        assert int(chosen.sum()) == sum(report["operations"]["offer"] for report in reports)
        assert data.time.dtype.kind == "M", "times are decoded"
        assert data.time.size > 0
        for name in ("pool_operations_delta", "transport_ns", "consumed_bytes_delta"):
            assert data[name].attrs["long_name"], name
            assert "units" in data[name].attrs, name
        assert data.transport_ns.dims[0] == "time" and data.transport_ns.dims[-1] == "bin"
        transports = int(data.transport_ns.sum())
        assert transports == sum(report["transports"] for report in reports)
        lower, upper = data.bin_lower.values, data.bin_upper.values
        assert (lower[1:] > lower[:-1]).all() and (upper >= lower).all()


@pytest.mark.parametrize("tool", [["ncdump", "-h"], ["h5dump", "-H"], ["ncdump", "-v", "component_name"]])
def test_command_line_tools_read_it(finished, tool):
    if shutil.which(tool[0]) is None:
        pytest.skip(f"{tool[0]} is not installed")
    space, _ = finished
    result = subprocess.run([*tool, space.hdf5()], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "pool_operations" in result.stdout
    if "-v" in tool:
        assert "IFS -- 0" in result.stdout


def test_file_attributes_name_the_origin(finished):
    space, _ = finished
    with h5py.File(space.hdf5(), "r") as file:
        attributes = {
            key: value.decode() if isinstance(value, bytes) else value
            for key, value in file.attrs.items()
        }
        assert attributes["workflow"] == "weather"
        assert re.fullmatch(r"[0-9a-f-]{36}", attributes["run_id"])
        assert json.loads(attributes["configuration"])
        assert "CF-" in attributes["Conventions"]
        assert (numpy.diff(file["time"][...]) > 0).all()


def test_every_json_line_fits_the_schema(finished):
    space, _ = finished
    validator, types = jsonl.validator(), {}
    for number, record in enumerate(jsonl.strict(space.json_lines().read_bytes()), 1):
        errors = [error.message for error in validator.iter_errors(record)]
        assert not errors, f"line {number}: {errors[0]}: {str(record)[:300]}"
        types[record["type"]] = types.get(record["type"], 0) + 1
    assert types["header"] == 1 and types["end"] == 1
    assert types["bucket"] > 0 and types["component"] > 0 and types["values"] > 0
    # The schema is not one that accepts anything.
    assert list(validator.iter_errors({"type": "bucket"}))
    assert list(validator.iter_errors({"v": 2, "type": "nonsense"}))


class Follower:
    """Reads a growing file as its documentation says: refresh time first, then the rest."""

    def __init__(self, path):
        self.file = h5py.File(path, "r", swmr=True)
        self.buckets = 0
        self.last = None

    def look(self):
        time = self.file["time"]
        time.refresh()
        count = time.shape[0]
        assert count >= self.buckets
        refresh(self.file, ["pool_operations"])
        if count == 0:
            return 0
        # Half a bucket would not add up: this compares the overview with the rows.
        run = File(self.file, count)
        values = dict(zip(run.labels("pool_operations"), run.entries("pool_operations")))
        for labels, entries in (self.last or {}).items():
            assert values[labels][: self.buckets] == entries, "the past has changed"
        self.buckets, self.last = count, values
        return count


def test_a_live_reader_follows_the_file(space):
    vampire, workflow = small_workflow(
        space, harness.vampire_config(bucket="100ms"), rate=20, steps=8
    )
    follower = Follower(space.hdf5())
    seen = set()
    harness.wait_until(
        lambda: seen.add(follower.look()) or len(seen) >= 4 or not vampire.running(),
        "the file grows",
    )
    assert len(seen) >= 4, f"only these lengths were seen: {seen}"
    reports = workflow.finish()
    vampire.expect_exit(0)
    follower.look()
    follower.file.close()
    assert_agreement(space, reports)


def test_a_reader_does_not_stop_the_next_run(space):
    """A reader that keeps an old file open has no effect on later files."""
    vampire, workflow = small_workflow(space)
    follower = Follower(space.hdf5())
    workflow.finish()
    vampire.expect_exit(0)
    before = set(space.hdf5_files())
    again = space.vampire(harness.vampire_config(jsonl="again.jsonl"), name="vampire-again")
    model = space.model("--steps", 1, name="IFS -- 9", rank=9)
    model.expect_exit(0)
    again.expect_exit(0)
    assert len(set(space.hdf5_files()) - before) == 1
    follower.file.close()
