#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks how the product's C is written where it can be counted: conditional expressions, assignments in conditions,
sprintf; and the subjects of new commits. With --show each conditional expression is listed by file."""

import re
import subprocess
import sys

import house
from house import ROOT

CONDITIONALS_PER_1000 = 12
WITH_SEVERAL = 10  # statements with two or more conditional expressions, in the whole tree
SUBJECT_LENGTH = 72
SUBJECTS_SINCE = "2026-11-28T15:00:00Z"  # older subjects stay as they are
SELECTION = re.compile(r"\s*([\w>.\[\]*&-]+)\s*=[^=](.*)\?(.*):\s*([\w>.\[\]*&-]+)\s*$", re.DOTALL)
ASSIGNING_IF = re.compile(r"\bif \((?:[^=;{}]|[=!<>]=)*[^=!<>]=[^=][^;{}]*\) \{")
SPRINTF = re.compile(r"\bv?sprintf\(")
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
EXAMPLES = {  # statement: what statement_faults() reports of it
    "x = c ? v : x": "selects between itself and another value: use an if",
    "x = c ? x : v": "selects between itself and another value: use an if",
    "x = c ? v : w": None,
    "a->b = a->b < c ? c : a->b": "selects between itself and another value: use an if",
}


def code_of(text):
    """The text without comments and with empty literals; line numbers stay."""
    return LITERAL.sub('""', house.without_comments(text))


def selects_itself(statement):
    match = SELECTION.match(statement)
    return match is not None and (match[1] == match[4] or
                                  re.search(r"\?\s*" + re.escape(match[1]) + r"\s*:", statement) is not None)


def statements(code):
    """(line, statement) of each piece between semicolons and braces."""
    line = 1
    for piece in re.split(r"([;{}])", code):
        begin = line + piece[: len(piece) - len(piece.lstrip())].count("\n")
        yield begin, piece
        line += piece.count("\n")


def faults(name, code):
    """Errors of one file that are errors wherever they are."""
    for line, statement in statements(code):
        if selects_itself(statement):
            yield f"{name}:{line}: {EXAMPLES['x = c ? v : x']}"
    for pattern, message in ((ASSIGNING_IF, "assigns in a condition"), (SPRINTF, "use snprintf")):
        for match in pattern.finditer(code):
            yield f"{name}:{code.count(chr(10), 0, match.start()) + 1}: {message}"


def long_subjects():
    if not (ROOT / ".git").exists():
        return []
    log = subprocess.run(["git", "log", "--no-merges", f"--since={SUBJECTS_SINCE}", "--format=%h %s"],
                         cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [f"commit {line.split()[0]}: the subject has {len(line.split(' ', 1)[1])} characters, at most {SUBJECT_LENGTH}"
            for line in log if len(line.split(" ", 1)[1]) > SUBJECT_LENGTH]


def main():
    wrong = [text for text, fault in EXAMPLES.items() if selects_itself(text) != (fault is not None)]
    assert not wrong, f"the rules of tests/lint_expressions.py misjudge {wrong}"
    errors, several, conditionals, lines = long_subjects(), [], 0, 0
    for name, text in house.product().items():
        if name.endswith(".def"):
            continue
        code = code_of(text)
        lines += sum(1 for line in code.split("\n") if line.strip())
        errors += faults(name, code)
        for line, statement in statements(code):
            conditionals += statement.count("?")
            if statement.count("?") > 1:
                several.append(f"{name}:{line}: {statement.count('?')} conditional expressions in a statement")
        if "--show" in sys.argv and "?" in code:
            print(f"{code.count('?'):4} {name}")
    if conditionals > lines * CONDITIONALS_PER_1000 / 1000:
        errors.append(f"{conditionals} conditional expressions in {lines} lines, "
                      f"at most {CONDITIONALS_PER_1000} per 1,000 (--show lists files)")
    if len(several) > WITH_SEVERAL:
        errors += [*several, f"{len(several)} statements with several conditional expressions, at most {WITH_SEVERAL}"]
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
