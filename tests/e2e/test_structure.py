# SPDX-License-Identifier: BSD-3-Clause
"""What the linker knows of the structure: no group of files that call each other in a circle. And what pages say of tests."""

import re
import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "tests"))
import house  # noqa: E402

pytestmark = pytest.mark.plain


def test_no_circle_of_files():
    """In no room, and across none."""
    files = house.objects(harness.BUILD)
    assert len(files) > 200
    assert house.circles(house.uses_of(files)) == []


def test_vampire_does_not_load_what_joins_a_pool():
    """The network library takes 0.2 s: vampire loads it, with Maestro, when it joins."""
    defined, _, needed = house.symbols(harness.program("vampire"))
    assert len(defined) > 1000 and not [name for name in needed | defined if name.startswith("mstro_")]


def test_a_circle_is_found():
    uses = {"a.c": {"b.c"}, "b.c": {"c.c"}, "c.c": {"b.c", "d.c"}, "d.c": set()}
    assert house.circles(uses) == [("b.c", "c.c")]


@pytest.mark.parametrize(["text", "code", "comment"], [
    ("int a; /* x */\n\n/* one\n * two */\n", 1, 2),
    ('const char *s = "/* no comment"; // one\n/* a */ int b; /* c\n*/ int d;\n', 3, 0),
    ("char c = '\"'; /* \" */\nint e; /* ' */\n// 'f\n", 2, 1),
    ('"a\\\\" /* b\n */\n#define X \\\n    1\n', 3, 1),
], ids=["plain", "literals", "quotes", "continued"])
def test_lines_of_code_are_counted(text, code, comment):
    assert house.lines_of(text) == (code, comment)


def test_each_promise_names_tests_that_exist():
    """docs/reliability.md: tests, and the targets of make that are run by hand."""
    page = (harness.ROOT / "docs" / "reliability.md").read_text()
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|(.*)\|$", page[page.index("## Promises"):page.index("## Measured")], re.MULTILINE)
    makefile = (harness.ROOT / "Makefile").read_text()
    assert len(rows) > 15
    for promise, said in rows:
        tests = re.findall(r"`(unit/)?([\w*]+\.(?:py|c))`", said)
        assert tests, f"no test: {promise}"
        for unit, name in tests:
            assert list((harness.ROOT / "tests" / (unit or "e2e")).glob(name)), f"{promise}: there is no {unit}{name}"
        for target in re.findall(r"`make ([\w-]+)`", said):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{promise}: there is no make {target}"
