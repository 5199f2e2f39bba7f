# SPDX-License-Identifier: BSD-3-Clause
"""What the linker knows of the structure: no circle of files within a room of maestro/."""

import graphlib
import subprocess

import pytest

import harness

pytestmark = pytest.mark.plain


def symbols(file):
    """(what the object defines, what it needs)"""
    lines = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return ({name for _, kind, name in (w for w in words if len(w) == 3) if kind.isupper()},
            {w[1] for w in words if len(w) == 2 and w[0] == "U"})


def test_no_circle_of_files():
    """The order in which files use each other; a new circle is named by the exception."""
    sources = sorted((harness.ROOT / "maestro").glob("*/*.c"))
    objects = {path: symbols((harness.BUILD / "obj" / path.relative_to(harness.ROOT)).with_suffix(".o"))
               for path in sources}
    home = {name: path for path, (defined, _) in objects.items() for name in defined}
    uses = {path: {home[name] for name in needed if name in home} for path, (_, needed) in objects.items()}
    assert len(list(graphlib.TopologicalSorter(uses).static_order())) == len(sources) > 30
