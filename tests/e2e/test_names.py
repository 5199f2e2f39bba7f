# SPDX-License-Identifier: BSD-3-Clause
"""Names that break what splits, quotes or measures them carelessly."""

import csv
import re
import subprocess
import sys

import pytest

import harness
from test_workflow import assert_agreement, assert_complete, model_options

NAMES = {
    "blanks": ["  IFS  --  0 ", "IFS --  1", " ", "Products"],
    "commas": ["IFS,0", ",", "a,b,,c", "Products,1"],
    "quotes": ['IFS "0"', "it's", '"', "\\\"'`$(x)"],
    "brackets": ["(other)", "{IFS}", "[1]", "<a&b>;"],
    "newlines": ["two\nlines", "a\ttab", "\x01bell\x07", "back\\slash/sl"],
    "utf8": ["Größe ✓", "气象模式", "👩‍🚀 model", "é/é"],
    "formulas": ["=1+1", "+2", "@sum(a)", "\t=3"],
    "unknown": ["unknown", "vampire-1", "NaN", "0"],
    "long": ["m" * 1000, "m" * 999 + "n", "ü" * 500, "p" * 1000],
}


def label_of(name):
    """docs/metrics.md: a component called as vampire calls what it cannot name has a backslash."""
    return "\\" + name if name.lstrip("\\") in ("(other)", "unknown") else name


@pytest.mark.parametrize("kind", NAMES)
def test_component_names(space, kind):
    names = NAMES[kind]
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    workflow = harness.Workflow(
        space,
        model_names=names[:2],
        product_names=names[2:],
        model_options=model_options(3, 2, 2, 64, 4096, 0),
    )
    reports = workflow.finish()
    vampire.expect_exit(0)
    assert [report["component"] for report in reports] == names
    assert_complete(reports)
    runs = assert_agreement(space, [{**report, "component": label_of(report["component"])} for report in reports])
    table = {row["name"]: row for row in runs["hdf5"].components}
    for name in names:
        assert table[label_of(name)]["reason"] == "finalized"


@pytest.mark.plain
def test_a_spreadsheet_finds_no_formula(space):
    names = NAMES["formulas"]
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    harness.Workflow(space, model_names=names[:2], product_names=names[2:], model_options=model_options(3, 2, 2, 64, 4096, 0)).finish()
    vampire.expect_exit(0)
    subprocess.run([sys.executable, harness.ROOT / "python" / "vampire-report", "--csv", space.path / "csv", space.hdf5()],
                   check=True, capture_output=True)
    cells = [cell for path in (space.path / "csv").glob("*.csv") for row in csv.reader(path.open(newline="")) for cell in row]
    assert {f"'{name}" for name in names} <= set(cells)
    assert not [cell for cell in cells if cell[:1] in tuple("=+@\t\r") or re.match(r"-[^\d]", cell)]


def test_cdo_names_of_a_thousand_characters(space):
    prefix = 'expver:"x,y";é,' + "k:v," * 230
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    reports = harness.Workflow(
        space, model_options=model_options(3, 2, 2, 64, 4096, 0) + ["--cdo-prefix", prefix]
    ).finish()
    vampire.expect_exit(0)
    assert_complete(reports)
    assert_agreement(space, reports)


def test_a_name_that_is_taken_is_refused(space):
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    first = space.product(name="Products 1", producers=["IFS -- 0"])
    second = space.start(
        [harness.program("workflow_product"), "--name", "Products 1", "--expect", "1"], "second"
    )
    second.expect_exit(1)
    model = space.model("--steps", 1, name="IFS -- 0")
    model.expect_exit(0)
    first.expect_exit(0)
    vampire.expect_exit(0)
    assert_agreement(space, [model.report(), first.report()])


def test_a_long_name_in_the_first_bucket_is_no_failure(space):
    """The first file is made before any name is known; a longer one begins the next file."""
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config(bucket="100ms"))
    name = "m" * 1000
    model = space.model(*model_options(4, 2, 2, 64, 4096, 40), name=name, label="model")
    model.expect_exit(0)
    vampire.expect_exit(0)
    assert "error" not in vampire.stderr
    assert len(space.hdf5_files()) == 2
    assert_agreement(space, [model.report()])
