# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness


def pytest_configure(config):
    config.addinivalue_line("markers", "threads: also runs under the thread sanitizer")
    config.addinivalue_line("markers", "plain: only with the release build (compiles, installs)")
    config.addinivalue_line("markers", "long: minutes or more, only in make check-long")


@pytest.fixture
def space():
    with harness.Workspace() as workspace:
        yield workspace
        stuck = [process.name for process in workspace.processes if sanitizer_spoke(process)]
        assert not stuck, f"a sanitizer spoke in {stuck}"


def sanitizer_spoke(process):
    text = process.stderr
    return any(word in text for word in ("Sanitizer", "runtime error:"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """What the processes said belongs to a failed test's output."""
    outcome = yield
    workspace = item.funcargs.get("space")
    if outcome.excinfo is not None and workspace is not None:
        for process in workspace.processes:
            print(process.account())
