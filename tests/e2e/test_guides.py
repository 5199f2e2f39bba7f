# SPDX-License-Identifier: BSD-3-Clause
"""Pages that show how something is done: each command is run as it stands, in order, and what a page shows is printed."""

import os
import re
import shutil
import signal

import pytest

import exporters
import harness

GUIDES = ["tutorial.md", "prometheus.md", "recipes.md", "faq.md"]
NEEDS = {"prometheus.md": ["curl", "promtool"]}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What of a line differs from run to run, and what takes its place: times and small numbers, their units, the width of
# columns. Sums in bytes are the same each time.
VARYING = {"…": ".*", r"\s+": r"\s+", r"\d{9,}": None, r"\d[\d,.:]*": r"\d[\d,.:]*", r"\b[num]?s\b": "[num]?s", r"\b[KMG]?i?B\b": "[KMG]?i?B"}
WORD = re.compile("|".join(f"({varying})" for varying in VARYING) + "|.")

pytestmark = pytest.mark.plain


def file_named_before(text):
    """The name of the file into which an example is to be put."""
    names = re.findall(r"\binto\s+`([\w.-]+\.\w+)`", text)
    assert names, text[-300:]
    return names[-1]


def script_of(page):
    """The examples and commands of a page as one script for bash, and what the page shows of its output."""
    script, shown, end = ["exec 2>&1", "set -e", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"], [], 0
    for fence in FENCE.finditer(page):
        language, text = fence.groups()
        if language in ("json", "yaml"):
            script.append(f"cat >{file_named_before(page[end:fence.start()])} <<'END OF FILE'\n{text}END OF FILE")
        elif language == "sh":
            script.append(text)
        else:
            assert language == "", f"```{language} is neither a file nor commands nor what they print"
            shown.append(text)
        end = fence.end()
    return "\n".join(script) + "\n", shown


def pattern_of(line):
    if line.strip().isdigit():  # a result of a command is exact
        return re.compile(rf"^{line.strip()}$")
    replacements = list(VARYING.values())
    return re.compile(WORD.sub(
        lambda word: word.lastindex and replacements[word.lastindex - 1] or re.escape(word[0]), line.strip()))


def missing_line(shown, printed):
    """The first line of what a page shows that was not printed, in this order; None: all were."""
    rest = iter(printed)
    for line in filter(str.strip, shown.splitlines()):
        if line.strip() != "…" and not any(pattern_of(line).search(candidate) for candidate in rest):
            return line
    return None


def source_folder(space):
    """A folder with what the pages use of the source folder after `make`."""
    (space.path / "build").mkdir()
    (space.path / "build" / "release").symlink_to(harness.BUILD)
    for name in ("config", "packaging", "python"):
        (space.path / name).symlink_to(harness.ROOT / name)


@pytest.mark.parametrize("name", GUIDES)
def test_the_commands_of_a_page_work(space, name):
    missing = [program for program in NEEDS.get(name, []) if shutil.which(program) is None]
    if missing:
        pytest.skip(f"without {', '.join(missing)}")
    source_folder(space)
    page = (harness.ROOT / "docs" / name).read_text(encoding="utf-8").replace("9955", str(exporters.free_port()))
    script, shown = script_of(page)
    (space.path / "script").write_text(script, encoding="utf-8")
    space.environment.pop("MSTRO_WORKFLOW_NAME")
    for attempt in ("first", "second"):  # in one folder
        run_page(space, name, attempt, shown)


def run_page(space, name, attempt, shown):
    job = space.start(["bash", "script"], f"guide-{attempt}", {
        "PATH": f"{harness.BUILD / 'bin'}:{harness.ROOT / 'python'}:/usr/bin:/bin", "PYTHONPATH": str(harness.ROOT / "python")})
    try:
        job.expect_exit(0, 120)
    finally:
        try:
            os.killpg(job.child.pid, signal.SIGKILL)  # what it left behind
        except ProcessLookupError:
            pass
    for text in shown:
        line = missing_line(text, job.stdout.splitlines())
        assert line is None, f"docs/{name} shows what nothing printed: {line}\n{job.stdout}"


def test_what_is_not_printed_is_noticed():
    assert missing_line("a  17 MiB\n…\nlosses none", ["a   4 KiB", "x", "losses   none"]) is None
    assert missing_line("losses none\na", ["a", "losses none"]) == "a"
    assert missing_line("losses none", ["losses 3"]) == "losses none"
    assert missing_line("exit code 2", ["exit code two"]) == "exit code 2"
    assert missing_line("573", ["1573", "574"]) == "573"
    assert missing_line("1000000000", ["1000000001"]) == "1000000000"
