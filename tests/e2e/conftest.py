# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import shlex
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "oracle"))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "python"))
import harness

pytest.register_assert_rewrite("jsonl", "made_up")


def pytest_configure(config):
    config.addinivalue_line("markers", "threads: also runs under the thread sanitizer")
    config.addinivalue_line("markers", "plain: only with the release build (compiles, installs)")
    config.addinivalue_line("markers", "together: the tests of this file are one process, since they share what they look at")
    config.addinivalue_line("markers", "long: minutes or more, only in make check-long")


@pytest.fixture
def space():
    with harness.Workspace() as workspace:
        yield workspace
        stuck = [process.name for process in workspace.processes if sanitizer_spoke(process)]
        assert not stuck, f"a sanitizer spoke in {stuck}"


@pytest.fixture
def small_disk(tmp_path):
    """Its argument is a size in KiB; it gives the place."""
    place = tmp_path / "small"
    place.mkdir()
    keepers = []

    def mount(kib):
        """In a name space of its own, where anyone may mount; it is seen through its keeper."""
        say = f"mount -t tmpfs -o size={kib}k vampire-test {shlex.quote(str(place))} && echo there && exec cat"
        keeper = subprocess.Popen(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", say],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        keepers.append(keeper)
        if keeper.stdout.readline() != b"there\n":
            pytest.skip(f"no tmpfs can be mounted here: {keeper.communicate()[1].decode().strip()}")
        return pathlib.Path(f"/proc/{keeper.pid}/root{place}")

    yield mount
    for keeper in keepers:
        keeper.communicate()  # its end of input


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
