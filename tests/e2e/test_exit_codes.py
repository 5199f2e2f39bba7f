# SPDX-License-Identifier: BSD-3-Clause
"""The exit codes of docs/operations.md, in every program and for every verb."""

import os
import re
import socket
import subprocess

import pytest

import harness
from test_command_lines import VERBS

pytestmark = pytest.mark.plain

PYTHON = harness.ROOT / "python"
PAGE = (harness.ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (\d+) \| (.*)\|$", PAGE[PAGE.index("## Exit codes"):PAGE.index("## Messages")], re.MULTILINE))
MANAGER = ["maestro-pool-manager", "-w", "codes"]
READERS = {name: VERBS[name] for name in ("summary", "export", "recover", "report", "top")}


def code_of(words, folder, environment=None, **more):
    program = words[0] if os.sep in str(words[0]) else harness.program(words[0])
    done = subprocess.run([program, *words[1:]], cwd=folder, env=harness.clean_environment(environment), stdin=subprocess.DEVNULL,
                          stdout=more.get("stdout", subprocess.PIPE), stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.stderr.count("Traceback") == 0, done.stderr
    return done.returncode


def given(words, file):
    return [file if word == "FILE" else word for word in words]


def test_the_table_has_each_code_once():
    assert list(ROWS) == ["0", "1", "2", "3", "4", "5", "130", "143"]
    assert all(row.count("|") == 2 for row in ROWS.values())


@pytest.mark.parametrize("words", [*VERBS.values(), MANAGER], ids=[*VERBS, "manager"])
def test_an_unknown_option_is_2(tmp_path, words):
    assert code_of([words[0], "--no-such-option", *given(words[1:], "x")], tmp_path) == 2


@pytest.mark.parametrize("content", [b"", b"not vampire's\n", b"\x89HDF\r\n\x1a\n damaged throughout"], ids=["empty", "text", "damaged"])
@pytest.mark.parametrize("verb", [name for name in VERBS if name != "collect"])
def test_a_file_that_is_not_vampires_is_2(tmp_path, verb, content):
    (tmp_path / "file").write_bytes(content)
    is_empty, is_damaged = content == b"", content.startswith(b"\x89HDF")
    # An empty file may be a run that has no bucket yet; a damaged one is vampire's, and cannot be repaired.
    expected = 1 if (verb == "top" and is_empty) or (verb == "recover" and is_damaged) else 2
    assert code_of(given(VERBS[verb], "file"), tmp_path) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == content


@pytest.mark.parametrize("verb", ["summary", "recover"])
def test_a_bad_file_among_others_is_1(tmp_path, verb):
    assert code_of(["vampire", "-q", "-o", "source.type=synthetic", "-o", "outputs.0.type=jsonl"], tmp_path) == 0
    good = next(tmp_path.glob("*.jsonl"))
    (tmp_path / "bad").write_text("not vampire's\n", encoding="utf-8")
    assert code_of([*given(VERBS[verb], good), tmp_path / "bad"], tmp_path) == 1


@pytest.mark.parametrize("verb", ["summary", "report"])
def test_a_missing_package_is_2(tmp_path, verb):
    (tmp_path / "h5py.py").write_text("raise ImportError\n", encoding="utf-8")
    (tmp_path / "x.h5").touch()
    assert code_of(given(VERBS[verb], "x.h5"), tmp_path, {"PYTHONPATH": str(tmp_path)}) == 2


def test_a_port_in_use_is_1_and_of_the_pool_manager_3(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert code_of(["vampire", "-q", "-o", "source.type=synthetic", "-o", "outputs.0.type=jsonl", "-o",
                        f"outputs.0.path=tcp:{port}"], tmp_path) == 1
        assert code_of([*MANAGER, "--bind", f"127.0.0.1:{port}"], tmp_path) == 3


def test_no_pool_manager_is_3(tmp_path):
    assert code_of(["vampire", "-q", "-w", "codes", "--info-file", "none", "--wait", "100ms"], tmp_path) == 3
