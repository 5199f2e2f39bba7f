# SPDX-License-Identifier: BSD-3-Clause
"""The ids of series: the same in each run of a workflow and in each format, unless a site has a key."""

import uuid

import h5py
import pytest

from rows import File

SOURCE = {"type": "synthetic", "producers": 3, "consumers": 2, "steps": 3, "burst": 1, "fan_out": 1, "step": "1s"}
NAME_SPACE = uuid.UUID("5b0e7a52-3d0c-5f6e-9b8a-6f1a2c94d7e3")  # docs/metrics.md


def config(space, key=None):
    statistics = {"bucket": "1s"}
    if key is not None:
        path = space.path / "site.key"
        path.write_text(key)
        statistics["series_key_file"] = str(path)
    return {"source": SOURCE, "statistics": statistics,
            "outputs": [{"type": "hdf5", "directory": "."}, {"type": "jsonl", "path": "run.jsonl", "bucket": "1s"}]}


def id_of(own_space, labels):
    escaped = [f"{label}={value.replace('%', '%25').replace('/', '%2F')}" for label, value in labels]
    name = "_".join(label for label, _ in labels) if len(labels) > 1 else f"{labels[0][0]}_series"
    return str(uuid.uuid5(own_space, "/".join([name, *escaped])))


def run(space, **more):
    """{labels: id}, of the name space in the HDF5 file."""
    (space.path / "run.jsonl").unlink(missing_ok=True)
    before = set(space.hdf5_files())
    space.vampire(config(space, **more), ready=False).expect_exit(0)
    (path,) = set(space.hdf5_files()) - before
    found = {}
    with h5py.File(path) as file:
        own_space = uuid.UUID(file.attrs["series_name_space"].decode())
        for group in File(file).groups:
            for values in group.labels:
                labels = tuple(zip(group.names, values))
                found[labels] = id_of(own_space, labels)
    if "key" in more:
        assert more["key"].strip().encode() not in path.read_bytes() + (space.path / "run.jsonl").read_bytes()
    return found


def test_two_runs_of_a_workflow_have_the_same_ids(space):
    first, second = run(space), run(space)
    assert first == second
    workflow = uuid.uuid5(NAME_SPACE, "synthetic")
    for labels, own in first.items():
        assert own == id_of(workflow, labels)


def test_a_key_makes_other_ids(space):
    plain = run(space)
    one, again = (run(space, key="0123456789abcdef\n") for _ in range(2))
    other = run(space, key="fedcba9876543210")
    assert one == again
    assert plain.keys() == one.keys() == other.keys()
    ids = [set(found.values()) for found in (plain, one, other)]
    assert not ids[0] & ids[1] and not ids[1] & ids[2] and not ids[0] & ids[2]


@pytest.mark.parametrize("key, says", [("short\n", "has 5 bytes; a key has at least 16"),
                                       ("k" * 4097, "has more than 4096 bytes")], ids=["short", "long"])
def test_a_bad_key_stops_the_start(space, key, says):
    vampire = space.vampire(config(space, key=key), ready=False)
    vampire.expect_exit(2)
    assert says in vampire.stderr
    assert not space.hdf5_files()


def test_a_missing_key_stops_the_start(space):
    made = config(space)
    made["statistics"]["series_key_file"] = "none.key"
    vampire = space.vampire(made, ready=False)
    vampire.expect_exit(1)
    assert "read the key of the series' ids from none.key: " in vampire.stderr
    assert not space.hdf5_files()
