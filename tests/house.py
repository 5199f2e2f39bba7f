#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the product's code: a table of sizes and of what the structure forbids.

    tests/house.py [--mode release]              print it
    tests/house.py --renew docs/architecture.md  write it between the marks in that page

Code lines are lines of .c, .h and .def outside tests/ that hold more than blanks and comments.
Circles and external functions come from the objects of a build; without one they are left out."""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = (".c", ".h", ".def")
# Comments and the literals that could look like them.
LEXEME = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
MARKS = "<!-- tests/house.py -->\n", "<!-- end of tests/house.py -->\n"


def tracked(*suffixes):
    """Files of the tree, relative to it."""
    if not (ROOT / ".git").exists():  # a source archive: all but build/ is of it
        found = (path.relative_to(ROOT) for path in sorted(ROOT.rglob("*")) if path.is_file())
        return [str(name) for name in found if name.suffix in suffixes and name.parts[0] != "build"]
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *(f"*{s}" for s in suffixes)],
                           cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    return sorted(name for name in set(names) if name and (ROOT / name).is_file())


def product():
    """{file: text} of the product's C."""
    return {name: (ROOT / name).read_text(encoding="utf-8")
            for name in tracked(*SUFFIXES) if not name.startswith("tests/")}


def without_comments(text):
    """The text with each comment replaced by its line ends."""
    def keep(match):
        found = match[0]
        return "\n" * found.count("\n") + " " if found.startswith(("//", "/*")) else found
    return LEXEME.sub(keep, text)


def lines_of(text):
    """(lines of code, lines of comment alone)"""
    both = zip(text.split("\n"), without_comments(text).split("\n"))
    held = [(bool(code.strip()), bool(line.strip())) for line, code in both]
    return sum(code for code, _ in held), sum(line and not code for code, line in held)


def top_of(name):
    """The top folder; <maestro.h> is the one of maestro/ that others than vampire/live may not include."""
    return "maestro" if name == "maestro.h" else name.split("/")[0]


def folder_sizes(texts):
    """{folder: files of C, a source and its header being one}"""
    return collections.Counter(str(stem.parent) for stem in {pathlib.PurePath(name).with_suffix("") for name in texts})


def mutual_includes(texts):
    """Pairs of top folders that include each other. vampire/live includes <maestro.h> as any user does."""
    uses = collections.defaultdict(set)
    tops = {top_of(name) for name in texts}
    for name, text in texts.items():
        for header in INCLUDE.findall(text):
            if "/" in header or header == "maestro.h" and not name.startswith("vampire/live/"):
                uses[top_of(name)].add(top_of(header))
    return sorted((one, other) for one in tops for other in uses[one] & tops
                  if one < other and one in uses[other])


def symbols(file):
    """(what the object defines for others, functions among it, what it needs)"""
    listing = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in listing.splitlines()]
    defined = {w[2]: w[1] for w in words if len(w) == 3 and w[1].isupper()}
    return set(defined), {name for name, kind in defined.items() if kind == "T"}, \
        {w[1] for w in words if len(w) == 2 and w[0] == "U"}


def objects(build):
    """{source: symbols()} of the product's files that are built. Rebuilt files only: an object of a
    file that is gone does not count."""
    found = {}
    for name in tracked(".c"):
        path = (build / "obj" / name).with_suffix(".o")
        if not name.startswith("tests/") and path.exists():
            found[name] = symbols(path)
    return found


def uses_of(files):
    """{source: sources whose symbols it needs}. A plug-in and a program have names of their own."""
    homes = collections.defaultdict(set)
    for name, (defined, _, _) in files.items():
        for symbol in defined:
            homes[symbol].add(name)
    uses = {}
    for name, (_, _, needed) in files.items():
        uses[name] = set()
        for symbol in needed:
            near = {home for home in homes[symbol] if pathlib.PurePath(home).parent == pathlib.PurePath(name).parent}
            uses[name] |= near or homes[symbol]
    return uses


def circles(uses):
    """Groups of files that need each other, each sorted: the strong components of more than one file."""
    def reach(start):
        seen, waiting = set(), [start]
        while waiting:
            for other in uses[waiting.pop()] - seen:
                seen.add(other)
                waiting.append(other)
        return seen
    reached = {name: reach(name) for name in uses}
    groups = {tuple(sorted(other for other in seen if name in reached[other]))
              for name, seen in reached.items() if name in seen}
    return sorted(groups)


def ctags(names, kinds):
    listing = subprocess.run(
        ["ctags", "--languages=C", "--langmap=C:.c.h", f"--kinds-C={kinds}", "--fields=+neK",
         "--output-format=json", "-f", "-", *names],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [tag for tag in map(json.loads, listing.splitlines()) if tag.get("_type") == "tag"]


def functions(names):
    """(file, line, name, length) of every function."""
    return [(tag["path"], tag["line"], tag["name"], tag["end"] - tag["line"] + 1)
            for tag in ctags(names, "f") if "end" in tag]


def tags(names):
    """("function" or "prototype", file, name)"""
    return [(tag["kind"], tag["path"], tag["name"]) for tag in ctags(names, "fp")]


def called_once(texts, files):
    """The share of external functions whose name stands in one place of the code besides definition
    and declarations."""
    external = {name for _, functions_of, _ in files.values() for name in functions_of if name != "main"}
    places = collections.Counter()
    for name, text in texts.items():
        if name.endswith(".c"):
            places.update(word for word in re.findall(r"[a-z_]\w+", without_comments(text)) if word in external)
    mine = [name for name in external if places[name] > 0]
    return sum(places[name] == 2 for name in mine) / max(len(mine), 1)


def archives():
    """How many the Makefile makes, plug-ins included."""
    return len(subprocess.run(["make", "-s", "--no-print-directory", "print-rooms"], cwd=ROOT, check=True,
                              capture_output=True, text=True).stdout.split())


def measure(build):
    """Rows of (what, text)."""
    texts = product()
    counts = {name: lines_of(text) for name, text in texts.items()}
    code, comments = (sum(count[i] for count in counts.values()) for i in (0, 1))
    tops = collections.Counter()
    for name, (lines, _) in counts.items():
        tops[top_of(name)] += lines
    kloc = code / 1000
    names = [name for name in texts if name.endswith((".c", ".h"))]
    lengths = sorted(length for _, _, _, length in functions(names))
    asserts = sum(len(re.findall(r"\b(?:static_)?assert\(", without_comments(text))) for text in texts.values())
    largest, most = folder_sizes(texts).most_common(1)[0]
    rows = [(f"`{top}/`", f"{lines:,}") for top, lines in sorted(tops.items())]
    rows += [
        ("lines of code", f"{code:,}"),
        ("comment lines for 100 lines of code", f"{100 * comments / code:.0f}"),
        ("files", f"{len(texts)}"),
        ("files of the largest folder", f"{most} (`{largest}/`)"),
        ("internal headers", f"{sum(name.endswith('internal.h') for name in texts)}"),
        ("top folders that include each other", f"{len(mutual_includes(texts))}"),
        ("functions in 1,000 lines of code", f"{len(lengths) / kloc:.0f}"),
        ("lines of a function: median, 90 %, 99 %, longest",
         ", ".join(str(lengths[min(int(len(lengths) * q), len(lengths) - 1)]) for q in (0.5, 0.9, 0.99, 1))),
        ("asserts in 1,000 lines of code", f"{asserts / kloc:.1f}"),
        ("archives", f"{archives()}"),
    ]
    files = objects(build)
    if files:
        rows += [("circles of files", f"{len(circles(uses_of(files)))}"),
                 ("external functions with one call", f"{100 * called_once(texts, files):.0f} %")]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--mode", default="release")
    parser.add_argument("--renew", metavar="PAGE", type=pathlib.Path)
    options = parser.parse_args()
    rows = measure(ROOT / "build" / options.mode)
    if options.renew is None:
        for what, text in rows:
            print(f"{what:50} {text}")
        return 0
    page = options.renew.read_text(encoding="utf-8")
    before, rest = page.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    table = "| measured by `tests/house.py` | |\n|---|---|\n" + "".join(f"| {what} | {text} |\n" for what, text in rows)
    options.renew.write_text(before + MARKS[0] + table + MARKS[1] + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
