# SPDX-License-Identifier: BSD-3-Clause
"""A Report as plain text, and its tables as CSV."""

from ..export import tame
from ..files import write_private


def _printable(text):
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def _table(table):
    rows = [tuple(map(_printable, row)) for row in (table.head, *table.rows)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(table.head))]
    lines = ["  ".join(cell.ljust(width) if n < table.text_columns else cell.rjust(width)
                       for n, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
    return "\n".join(["", table.title, *(f"({note})" for note in table.notes), *("  " + line for line in lines)])


def _answers(answers):
    """What made it late: the sentences, each with its evidence and its trace."""
    lines = [answers.title]
    for number, (sentence, evidence, trace) in enumerate(answers.rows, 1):
        lines += [f"  {number}. {sentence}", f"     shown by  {evidence}", *([f"     trace     {trace}"] if trace else [])]
    return "\n" + "\n".join(map(_printable, lines + [f"  {text}" for text in answers.rest]))


def page(report):
    """The report as a text."""
    notice = ["Not everything is here:", *(f"  {note}" for note in report.notes)] if report.notes else [report.whole]
    facts = [f"  {what:16} {number}" + (f"  ({note})" if note else "") for what, number, note in report.facts]
    parts = [report.title, report.subtitle, *([report.remark] if report.remark else []), "", *notice, *([_answers(report.answers)] if report.answers else []), "", *facts,
             *map(_table, report.before), *map(_table, report.tables), "", report.foot]
    return "\n".join(parts) + "\n"


def write_csv(report, directory):
    """Each table's plain numbers as DIRECTORY/NAME.csv; and what is not in them, as notes.txt."""
    directory.mkdir(parents=True, exist_ok=True)
    for table in (*report.before, *report.tables):
        frame = table.frame.rename(columns=tame).apply(lambda column: column.map(tame))
        write_private(directory / f"{table.name}.csv", frame.to_csv(index=False).encode("utf-8"))
    if report.answers:
        findings = report.answers.frame.applymap(tame)
        write_private(directory / "findings.csv", findings.to_csv(index=False).encode("utf-8"))
    write_private(directory / "notes.txt", ("\n".join(report.notes or [report.whole]) + "\n").encode("utf-8"))
