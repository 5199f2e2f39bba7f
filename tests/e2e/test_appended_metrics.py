# SPDX-License-Identifier: BSD-3-Clause
"""Metrics that a program appends to the catalogue when it starts are ordinary for readers of its files: names, units,
labels and values are in these. The buckets are those of tests/unit/pipeline_appended_test.c."""

import json
import subprocess

import h5py
import pytest

import jsonl
from harness import BUILD, PATIENCE

pytest.importorskip("pandas")
import vampire

pytestmark = [pytest.mark.plain, pytest.mark.together]


@pytest.fixture(name="files", scope="module")
def _files(tmp_path_factory):
    place = tmp_path_factory.mktemp("appended")
    subprocess.run([BUILD / "unit" / "pipeline_appended_test", place], check=True, timeout=60 * PATIENCE)
    return {path.suffix: path for path in place.iterdir()}


def test_hdf5_has_them(files):
    with h5py.File(files[".h5"]) as file:
        names = []
        file.visit(names.append)
    for name in ("model_steps_delta", "disk_level_bytes", "disk_read_ns_count"):
        assert any(path.split("/")[-1] == name for path in names), name


def test_json_lines_have_them(files):
    lines = jsonl.records(files[".jsonl"])
    (header,) = [line for line in lines if line["type"] == "header"]
    described = {metric["name"]: metric for metric in header["metrics"]}
    assert described["model_steps"]["kind"] == "counter" and described["model_steps"]["labels"] == ["component"]
    assert described["disk_read_ns"]["unit"] == "ns" and described["disk_read_ns"]["labels"] == ["component", "tier"]
    steps = [line for line in lines if line.get("metric") == "model_steps"]
    assert [line["delta"] for line in steps if line["labels"] == {"component": "IFS -- 0"}] == [5, 6, 7]
    level = [line for line in lines if line.get("metric") == "disk_level_bytes"]
    assert [line["value"] for line in level if line["labels"] == {"component": "IFS -- 0"}] == [100, 200, 300]


def test_the_package_reads_them(files):
    run = vampire.open(files[".h5"])
    assert vampire.select(run.model_steps_delta, component="IFS -- 0").values.ravel().tolist() == [5, 6, 7]
    assert vampire.select(run.disk_level_bytes, component="IFS -- 0").values.ravel().tolist() == [100, 200, 300]
    assert run.disk_level_bytes.attrs["units"] == "byte"
    reads = vampire.table(files[".h5"], "disk_read_ns", by=["component", "tier"])
    assert reads["count"].tolist() == [1, 1, 1] and set(reads["tier"]) == {"GFS"}
