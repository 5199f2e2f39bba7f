# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages say what the programs do, and can be read."""

import json
import re
import shutil
import subprocess

import pytest

import harness

DOCS = harness.ROOT / "docs"
# Section 1 is written in mdoc(7), the others are made from Markdown.
MARKDOWN = {"vampire.json.5": "configuration.md", "vampire-filter.7": "filter-language.md",
            "vampire-metrics.7": "metrics.md", "vampire-hdf5.5": "output-hdf5.md", "vampire-jsonl.5": "output-jsonl.md",
            "vampire-trace.5": "output-trace.md", "vampire-alarms.7": "alarms.md", "vampire-exporters.7": "exporters.md",
            "vampire-operations.7": "operations.md", "vampire-python.7": "python.md"}
PAGES = sorted(DOCS.glob("*.[1-8]")) + [harness.BUILD / "man" / page for page in MARKDOWN]
# In addition to the name and the sections that all pages have.
NEEDED = {"1": {"SYNOPSIS", "EXIT STATUS", "EXAMPLES"}, "5": {"EXAMPLES"}, "7": set()}

pytestmark = pytest.mark.plain


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100, check=False,
                          env=harness.clean_environment(), **options)


def rendered(page):
    """The page as a terminal shows it, without bold and underlined letters."""
    done = run("mandoc", "-Tascii", "-O", "width=200", page)
    assert done.returncode == 0, done.stderr
    return re.sub(".\b", "", done.stdout)


def test_what_is_made_from_the_code_is_as_the_code_has_it():
    done = run("/usr/bin/python3", DOCS / "manuals.py", "--check", harness.BUILD / "bin")
    assert done.returncode == 0, done.stderr


def test_texts_of_tables_are_no_commands_of_a_manual_page():
    done = run("/usr/bin/python3", "-c", "import manuals; print(manuals.mdoc('.abc de ' * 50 + chr(92)))", cwd=DOCS)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert len(lines) > 4 and all(len(line) <= 80 and line[:1] not in (".", "'") for line in lines)
    assert lines[0].startswith(r"\&.abc") and done.stdout.rstrip().endswith(r"\e")


def headings_of(page):
    return set(re.findall(r"^\.S[hH][ \n](.*)$", page.read_text(encoding="utf-8"), re.MULTILINE))


def references_of(page):
    """[(page, section)] of this project's own pages that a page refers to."""
    found = re.findall(r"^\.Xr (\S+) (\d)", page.read_text(encoding="utf-8"), re.MULTILINE)
    if page.name in MARKDOWN:
        text = (DOCS / MARKDOWN[page.name]).read_text(encoding="utf-8")
        for name, section, target in re.findall(r"\[([\w.-]+)\((\d)\)\]\((.*?)\)", text):
            assert target.split("#")[0] == MARKDOWN.get(f"{name}.{section}", f"{name}.{section}"), (page, target)
            found.append((name, section))
    return [(name, section) for name, section in found if name.startswith(("vampire", "maestro"))]


def check_page(page):
    lint = run("mandoc", "-Tlint", "-Wwarning", page)
    assert lint.returncode == 0 and lint.stdout == "", lint.stdout
    name, section = page.stem, page.suffix[1:]
    assert rendered(page).startswith(f"{name.upper()}({section})")
    headings = headings_of(page)
    assert {"NAME", "DESCRIPTION", "SEE ALSO"} | NEEDED[section] <= headings, (page, headings)
    references = references_of(page)
    assert references
    for other, its_section in references:
        assert f"{other}.{its_section}" in {known.name for known in PAGES}, (page, other)
    if shutil.which("man") is not None:
        man = run("man", "-l", "--warnings", page)
        assert man.returncode == 0 and man.stderr == "" and name in man.stdout, man.stderr


def test_the_pages_can_be_read():
    assert len(PAGES) == 15
    for page in PAGES:
        check_page(page)


def check_options(program, command):
    done = run(*command, "--help=all" if program in ("vampire", "vampire-collect") else "--help")
    assert done.returncode == 0
    page = rendered(DOCS / f"{program}.1")
    option = r"(?<![\w-])--[a-z][a-z-]+"
    options = set(re.findall(option, done.stdout.split("ptions:", 1)[1]))
    listed = re.split("KEYS|EVENTS|SIGNALS|EXIT STATUS", page.split("options are:")[1])[0]
    assert len(options) > 2 and options == set(re.findall(option, listed)), program
    listed = done.stdout[done.stdout.index("xit codes:"):]
    codes = set(re.findall(r"(?:codes:|;|\n )\s+(\d)\s", listed))
    status = page[page.index("EXIT STATUS"):].split("\nEXAMPLES")[0]
    assert codes and codes == set(re.findall(r"^ +(\d)  ", status, re.MULTILINE)), (program, status)


def test_a_page_and_the_help_know_the_same_options_and_exit_codes():
    for program in ("vampire", "vampire-collect", "vampire-top", "maestro-pool-manager"):
        check_options(program, [harness.program(program)])
    check_options("vampire-report", ["/usr/bin/python3", harness.ROOT / "python" / "vampire-report"])


def examples_of(page):
    """The command lines and the displays of the section EXAMPLES."""
    if page in MARKDOWN:
        source = (DOCS / MARKDOWN[page]).read_text(encoding="utf-8").split("\n## Examples\n")[1].split("\n## ")[0]
        return [], re.findall(r"^```\w*\n(.*?)^```$", source, re.MULTILINE | re.DOTALL)
    source = (DOCS / page).read_text(encoding="utf-8").split(".Sh EXAMPLES\n")[1].split("\n.Sh ")[0]
    source = source.replace(r"\(aq", "'").replace(r"\e", "\\")
    return re.findall(r"^\.Dl (.*)$", source, re.MULTILINE), re.findall(r"^\.Bd .*\n((?:.*\n)*?)\.Ed$", source, re.MULTILINE)


def test_the_examples_work(space):
    """All but those that need a workflow or another host."""
    for name in ("minimal.json", "demo.json"):
        shutil.copy(harness.ROOT / "config" / "ready" / name, space.path)
    config = {"source": {"type": "synthetic", "lost": 5},
              "outputs": [{"type": "recording"}, {"type": "jsonl", "path": "vampire.jsonl"}, {"type": "hdf5"}]}
    (space.path / "all.json").write_text(json.dumps(config), encoding="utf-8")
    made = run(harness.program("vampire"), "-q", "-c", "all.json", cwd=space.path)
    assert made.returncode == 0, made.stderr
    next(space.path.glob("*.rec")).rename(space.path / "run.rec")
    (space.path / "forecast").mkdir()
    file = shutil.move(space.hdf5_files()[0], space.path / "forecast")
    environment = dict(harness.clean_environment(), PATH=f"{harness.BUILD / 'bin'}:/usr/bin:/bin",
                       PYTHONPATH=str(harness.ROOT / "python"))  # the example for xarray needs the engine
    lines = []
    for page in ("vampire.1", "vampire-top.1", "vampire-jsonl.5", "vampire-hdf5.5"):
        commands, displays = examples_of(page)
        lines += commands + [text for text in displays if text.startswith("grep ") or text.startswith("jq ") and shutil.which("jq")]
        for text in displays:
            if text.startswith("import"):
                lines.append(f"/usr/bin/python3 -c 'path = \"{file}\"\n" + text.replace("'", '"') + "'")
    lines = [line.replace("IFS -- 0", "Model -- 0") for line in lines if not re.search("ssh|pm.info|h5clear|--recover", line)]
    assert len(lines) >= 8
    for line in lines:
        for path in space.path.glob("*.h5"):
            path.unlink()  # runs within one second would have the same name
        done = subprocess.run(["bash", "-c", line], cwd=space.path, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=100, check=False)
        assert done.returncode == 0 and done.stderr == "" or "vampire: " in done.stderr, (line, done)
        assert done.stdout or "vampire: workflow" in done.stderr or "import" in line, (line, done)


def test_every_installed_program_has_a_page(space):
    done = run("make", "-s", "-C", harness.ROOT, "install", "PREFIX=/usr", f"DESTDIR={space.path}")
    assert done.returncode == 0, done.stdout + done.stderr
    programs = {path.name for path in (space.path / "usr" / "bin").iterdir()}
    pages = {path.name for path in (space.path / "usr" / "share" / "man").rglob("*.?")}
    assert "vampire" in programs and {f"{program}.1" for program in programs} <= pages
    assert {path.name for path in PAGES} <= pages
