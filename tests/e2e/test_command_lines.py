# SPDX-License-Identifier: BSD-3-Clause
"""Programs as a shell starts them: standard output that is closed or full, Ctrl-C, options in manual pages."""

import re
import signal
import subprocess
import sys

import pytest

import harness

pytestmark = pytest.mark.plain

PYTHON = harness.ROOT / "python"
# Commands that read files and print an answer, with the prefix of their messages.
READERS = {
    "summary": (["vampire", "--summary", "FILE"], "vampire: "),
    "report": ([PYTHON / "vampire-report", "--text", "FILE"], "vampire-report: "),
    "help of report": ([PYTHON / "vampire-report", "--help"], "vampire-report: "),
    "export": (["vampire", "--export", "out.sqlite", "FILE"], "vampire: "),
    "top": ([PYTHON / "vampire-top", "--once", "LINES"], "vampire-top: "),
    "help of top": ([PYTHON / "vampire-top", "--help"], "vampire-top: "),
    "metrics": (["vampire", "--list-metrics"], "vampire: "),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    subprocess.run([harness.program("vampire"), "-q", "-o", "source.type=synthetic", "-o", "source.steps=4",
                    "-o", "outputs.0.type=hdf5", "-o", "outputs.1.type=jsonl", "-o", "outputs.1.path=lines.jsonl"], cwd=folder,
                   env=harness.clean_environment(), check=True, timeout=60)
    (file,) = folder.glob("*.h5")
    return {"FILE": str(file), "LINES": str(folder / "lines.jsonl")}


def command_of(name, files):
    command, prefix = READERS[name]
    program = harness.program("vampire") if command[0] == "vampire" else str(command[0])
    return [program, *(files.get(word, word) for word in command[1:])], prefix


@pytest.mark.parametrize("output", [">&-", ">/dev/full"])
@pytest.mark.parametrize("name", READERS)
def test_an_answer_that_cannot_be_written_is_one_line(files, tmp_path, name, output):
    command, prefix = command_of(name, files)
    done = subprocess.run(["sh", "-c", f'"$@" {output}', "sh", *command], cwd=tmp_path, capture_output=True, text=True,
                          env=harness.clean_environment(), check=False, timeout=60)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith(prefix) and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("name", ["summary", "report", "export"])
def test_an_interrupt_is_one_line_and_130(space, files, name):
    """While a library is loaded, which never ends here."""
    command, prefix = command_of(name, files)
    library = space.path / "library"
    library.mkdir()
    (library / "h5py.py").write_text(f"import time\nopen({str(space.path / 'loading')!r}, 'w').close()\ntime.sleep(600)\n",
                                     encoding="utf-8")
    # A job in the background of a script ignores Ctrl-C, and so would all that it starts.
    process = space.start(["env", "--default-signal=INT", *command], "reader", {"PYTHONPATH": str(library)})
    harness.wait_until((space.path / "loading").exists, "the library is loaded")
    subprocess.run(["kill", "-INT", "--", f"-{process.child.pid}"], check=True)  # as a terminal: the whole group
    assert process.wait() == 130, process.account()
    assert process.stderr == f"{prefix}interrupted\n"
    assert not list(space.path.glob("out.sqlite*"))


def test_an_ignored_interrupt_stays_ignored(files, tmp_path):
    """As in `nohup vampire --summary FILE &` of a script: the library is not interrupted, and fails."""
    (tmp_path / "h5py.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise ImportError\n", encoding="utf-8")
    done = subprocess.run([harness.program("vampire"), "--summary", files["FILE"]], capture_output=True, text=True, check=False,
                          env=harness.clean_environment({"PYTHONPATH": str(tmp_path)}), timeout=60,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert done.returncode == 2 and "needs the Python package" in done.stderr, done.stderr


@pytest.mark.parametrize("program", ["vampire-top"])
def test_the_synopsis_has_each_option(program):
    page = (harness.ROOT / "docs" / f"{program}.1").read_text(encoding="utf-8")
    synopsis = page[page.index(".Sh SYNOPSIS"):page.index(".Sh DESCRIPTION")]
    letters = set("".join(re.findall(r"\.Op Fl (\w+)", synopsis)))
    done = subprocess.run([sys.executable, PYTHON / program, "--help"], capture_output=True, text=True, check=True)
    assert letters == set(re.findall(r"^  -(\w), --", done.stdout, re.MULTILINE)) - set("hV")


# Each verb with a file: FILE takes the place of what is named.
VERBS = {
    "run": ["vampire", "-c", "FILE"],
    "check": ["vampire", "--check-config", "FILE"],
    "dump": ["vampire", "--dump-config", "FILE"],
    "replay": ["vampire", "-r", "FILE"],
    "summary": ["vampire", "--summary", "FILE"],
    "export": ["vampire", "--export", "out.sqlite", "FILE"],
    "recover": ["vampire", "--recover", "FILE"],
    "collect": ["vampire-collect", "-c", "FILE"],
    "report": [PYTHON / "vampire-report", "FILE"],
    "top": [PYTHON / "vampire-top", "--once", "FILE"],
}


def run_verb(words, name, folder):
    program = words[0] if words[0] not in ("vampire", "vampire-collect") else harness.program(words[0])
    return subprocess.run([program, *(name if word == "FILE" else word for word in words[1:])], cwd=folder, capture_output=True,
                          text=True, env=harness.clean_environment(), stdin=subprocess.DEVNULL, check=False, timeout=60)


@pytest.mark.parametrize("verb", VERBS)
def test_a_missing_file_is_exit_code_2_for_each_verb(tmp_path, verb):
    done = run_verb(VERBS[verb], "none.h5", tmp_path)
    assert done.returncode == 2 and re.search("no such file", done.stderr, re.IGNORECASE), done.stderr
    assert not list(tmp_path.iterdir())


REFUSED = {verb: VERBS[verb] for verb in ("replay", "summary", "export", "recover", "report")} | {
    "export into": ["vampire", "--export", "FILE", "run.h5"],
    "ready file": ["vampire", "-o", "source.type=synthetic", "--ready-file", "FILE"],
    "info file": ["vampire", "--info-file", "FILE"],
    "report into": [PYTHON / "vampire-report", "-o", "FILE", "run.h5"],
}


@pytest.mark.parametrize("what", REFUSED)
def test_standard_input_is_refused_where_a_file_is_needed(tmp_path, what):
    done = run_verb(REFUSED[what], "-", tmp_path)
    assert done.returncode == 2 and "not standard input or output" in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb, words", [("run", "configuration"), ("check", "{}"), ("top", "it has no bucket")])
def test_standard_input_is_read_where_it_can_be(tmp_path, verb, words):
    done = run_verb(VERBS[verb], "-", tmp_path)
    assert words in done.stderr and "standard input" in done.stderr, done.stderr


def test_a_run_without_events_is_summarised_as_0(space):
    """It ended before its first bucket."""
    space.environment["MSTRO_WORKFLOW_NAME"] = "empty"
    space.pool_manager()
    process = space.vampire(harness.vampire_config(bucket="1h"))
    process.stop()
    for file in (space.hdf5(), space.json_lines()):
        done = run_verb(VERBS["summary"], file, space.path)
        assert done.returncode == 0 and re.search(r"^  all +0$", done.stdout, re.MULTILINE), done.stdout
        assert re.search(r"^  produced +0 B$", done.stdout, re.MULTILINE), done.stdout
        assert "not counted" not in done.stdout
