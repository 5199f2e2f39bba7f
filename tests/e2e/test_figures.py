# SPDX-License-Identifier: BSD-3-Clause
"""Measured figures of README and the pages are those of one file, docs/figures.json, made from the tables of performance.md."""

import json
import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "bench"))
import figures  # pylint: disable=wrong-import-position,wrong-import-order

pytestmark = pytest.mark.plain

MADE = json.loads(figures.MADE.read_text(encoding="utf-8"))
PAGES = {str(path.relative_to(harness.ROOT)): path.read_text(encoding="utf-8") for path in figures.pages()}


def test_the_file_is_that_of_the_tables():
    assert figures.read_figures(PAGES["docs/performance.md"]) == MADE, "run tests/bench/figures.py"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_what_is_made_is_new(name):
    assert figures.renew(PAGES[name], MADE) == PAGES[name], "run tests/bench/figures.py"


def test_the_pages_include_what_is_made():
    for name in ("README.md", "docs/faq.md", "docs/performance.md"):
        assert figures.MARK.format("notices") in PAGES[name]


@pytest.mark.parametrize("name", sorted(set(PAGES) - figures.HISTORY))
def test_no_figure_stands_elsewhere(name):
    assert not list(figures.stray_figures(PAGES[name], MADE))


@pytest.mark.parametrize("text", [
    "it counts 1.7 million events/s", "(1.7 million a second over tcp)", "**Live CDOs**: 104 bytes each", "a live CDO 270 bytes",
    "waits become up to 15 % longer", "longer by 11 and 15 %", "2.4 % fewer",
])
def test_a_stray_figure_is_found(text):
    assert list(figures.stray_figures(text, MADE))


def test_a_significant_change_is_said():
    made = {name: dict.fromkeys(figures.COLUMNS, "+0.0 % (-1.0 to +1.0)") for name in figures.WEIGHTS}
    assert figures.notices_text(made).count("None of 4") == 3
    first = made[next(iter(made))]
    first["fields a second"], first["median wait"] = "-3.0 % (-4.0 to -2.0)", "+3.0 % (+2.0 to +4.0)"
    assert figures.notices_text(made).count("1 of 4 workflows") == 2
    first["fields a second"] = "-0.0 % (-2.8 to -0.0)"
    assert "1 of 4 workflows hands over" in figures.notices_text(made)  # a negative number that was rounded
