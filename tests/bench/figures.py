#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The measured figures that README and the pages state, all from the tables of docs/performance.md:

    tests/bench/figures.py

writes docs/figures.json from these tables and renews the parts of README and the pages that are made from it. A
figure in prose has to be one of the file's, see MENTIONS."""

import json
import math
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MADE = ROOT / "docs" / "figures.json"
# Pages about one time in the past, and results of other measurements than those of the tables.
HISTORY = {"docs/performance-log.md", "CHANGELOG.md"}
MARK = "<!-- {}: made by tests/bench/figures.py -->"

# name: (start of a row of the tables in performance.md, pattern of the figure in it)
SOURCES = {
    "replay, million events/s": ("| replay, level component, all metrics", r"([\d.]+) M/s of processor time"),
    "tcp with a ring of 1 GiB, million events/s": ("| over tcp, batched, nothing lost", r"([\d.]+) M/s"),
    "tcp with the default ring, million events/s": ("* **over tcp, batched, nothing lost**", r"default ring: ([\d.]+) M/s"),
    "event with 100,000 live CDOs, us": ("| replay, level component, all metrics", None),
    "live CDO, bytes": ("| resident memory for a live CDO", r"(\d+) bytes"),
    "HDF5 file of an hour, MB": ("| HDF5 of the hour", r"([\d.]+) MB"),
    "quantiles of an hour, s": ("| 99th percentile of transport time by source", r"([\d.]+) s"),
    "histogram record, ns": ("| histogram record", r"([\d., ]+) ns"),
}
WEIGHTS = {
    "a model and a product generator, full speed": "a model and a product generator, at full speed",
    "a model and a product generator, 1,000 fields a second": "a model and a product generator, at 1,000 fields a second",
    "one component that produces and consumes, full speed": "one component that is both, at full speed",
    "one component that produces and consumes, 1,000 fields a second": "one component that is both, at 1,000 fields a second",
}
COLUMNS = {"fields a second": 2, "median wait": 3, "99th percentile of waits": 4}
INTERVAL = re.compile(r"([+-][\d.]+) % \(([+-][\d.]+) to ([+-][\d.]+)\)")


def read_figures(page):
    """{name: figure} from the tables of performance.md."""
    lines = page.splitlines()
    found = {}
    for name, (start, pattern) in SOURCES.items():
        row = next((line for line in lines if line.startswith(start)), None)
        if row and row.startswith("|"):
            row = row.split(" | ")[2]  # what was reached
        match = row and pattern and re.search(pattern, row)
        if pattern and not match:
            sys.exit(f"figures: performance.md has no row that begins with {start!r} and contains {pattern!r}")
        if match:
            found[name] = match[1]
    replay = float(found["replay, million events/s"])
    found["event with 100,000 live CDOs, us"] = f"{1 / replay:.2f}"
    for name, start in WEIGHTS.items():
        place = next(number for number, line in enumerate(lines) if line.startswith(f"| {start}: alone"))
        cells = lines[place + 1].split(" | ")
        found[name] = {what: cells[column + 1] for what, column in COLUMNS.items()}
        for cell in found[name].values():
            assert INTERVAL.fullmatch(cell), cell
    return found


def changes_of(figures, what):
    """[(workflow, change, lowest, highest)] in percent."""
    for name in WEIGHTS:
        yield name, *(float(number) for number in INTERVAL.fullmatch(figures[name][what]).groups())


def notices_text(figures):
    """What a workflow notices of vampire, in three sentences."""
    sentences = []
    for what, worse, verb in (("fields a second", -1, "hands over fewer fields a second"), ("median wait", 1, "waits longer in the median"),
                              ("99th percentile of waits", 1, "waits longer in the slowest percent of the waits")):
        changes = list(changes_of(figures, what))
        # "-0.0" is a negative number that was rounded, so that the interval does not include 0.
        slower = [(name, change) for name, change, low, high in changes if (low > 0 if worse > 0 else math.copysign(1, high) < 0)]
        if slower:
            texts = [f"{name} ({change:+.1f} %)" for name, change in slower]
            sentences.append(f"{len(slower)} of {len(changes)} workflows {verb} by a significant amount: {', '.join(texts)}.")
        else:
            least, most = min(change for _, change, *_ in changes), max(change for _, change, *_ in changes)
            sentences.append(f"None of {len(changes)} workflows {verb} by a significant amount ({least:+.0f} to {most:+.0f} %).")
    return " ".join(sentences) + " Differences of a few percent in either direction also occur between two series of the same measurement."


def notices_table(figures):
    yield f"| change with vampire, 95 % interval | {' | '.join(COLUMNS)} |"
    yield "|---|---|---|---|"
    for name in WEIGHTS:
        yield f"| {name} | {' | '.join(figures[name][what] for what in COLUMNS)} |"


def speed_text(figures):
    records = [float(number) for number in figures["histogram record, ns"].split(",")]
    return (f"vampire replays {figures['replay, million events/s']} million events/s on one core, "
            f"{figures['event with 100,000 live CDOs, us']} us for each with all metrics and 100,000 live CDOs. Over tcp, from a pool "
            f"manager on the same two cores, it counts {figures['tcp with the default ring, million events/s']} million events/s without "
            f"losses with the default settings, and a burst of 100,000 events more waits until they are counted. A histogram record "
            f"costs {min(records):.1f} to {max(records):.1f} ns, a live CDO {figures['live CDO, bytes']} bytes of resident memory. An hour "
            f"of 60 components is an HDF5 file of {figures['HDF5 file of an hour, MB']} MB; the 99th percentile of its transports by "
            f"source takes the Python package {figures['quantiles of an hour, s']} s.")


# What is made: {name of the part: its lines}.
PARTS = {
    "notices": lambda figures: [notices_text(figures)],
    "notices table": notices_table,
    "speed": lambda figures: [speed_text(figures)],
}
# How a figure is mentioned in prose: [(pattern, the names whose figures are right)].
MENTIONS = [
    (r"([\d.]+) million (?:events/s|events a second|a second)", [name for name in SOURCES if "million" in name]),
    (r"live CDO ([\d.]+) bytes", ["live CDO, bytes"]),
    (r"([\d.]+) bytes(?: of resident memory)? (?:a|for a|for each|per) live CDO", ["live CDO, bytes"]),
    (r"\*\*Live CDOs\*\*: ([\d.]+) bytes", ["live CDO, bytes"]),
    # Of the workflow with vampire only what is made may be said.
    (r"waits [^.]{0,60}?([\d.]+) % longer", []),
    (r"longer by (?:up to )?([\d.]+)(?: and [\d.]+)? %", []),
    (r"([\d.]+) % (?:fewer|slower)\b", []),
]


def wrapped(lines):
    """Prose in lines as long as those of the pages; rows of tables as they are."""
    for line in lines:
        yield from [line] if line.startswith("|") else textwrap.wrap(line, 120, break_on_hyphens=False)


def pages():
    yield ROOT / "README.md"
    yield ROOT / "CONTRIBUTING.md"
    yield from sorted((ROOT / "docs").glob("*.md"))
    yield from sorted((ROOT / "docs").glob("*.1"))


def renew(page, figures):
    """The text of a page with its made parts renewed; each keeps its indentation."""
    for name, lines in PARTS.items():
        marks = re.compile(rf"^( *){re.escape(MARK.format(name))}\n.*?^ *{re.escape(MARK.format('end of ' + name))}\n",
                           re.MULTILINE | re.DOTALL)
        made = [MARK.format(name), *wrapped(lines(figures)), MARK.format("end of " + name)]
        page = marks.sub(lambda part, made=made: "".join(f"{part[1]}{line}\n" for line in made), page)
    return page


def without_made_parts(page):
    return re.sub(r"<!-- ([\w ]+): made by tests/bench/\w+\.py -->.*?<!-- end of \1: made by tests/bench/\w+\.py -->", "", page, flags=re.DOTALL)


def stray_figures(page, figures):
    """What prose says of a measured quantity that no figure says."""
    prose = " ".join(without_made_parts(page).split())
    for pattern, names in MENTIONS:
        for mention in re.finditer(pattern, prose):
            if mention[1] not in [figures[name] for name in names]:
                yield mention[0]


def main():
    figures = read_figures((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))
    MADE.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for path in pages():
        text = path.read_text(encoding="utf-8")
        renewed = renew(text, figures)
        if renewed != text:
            path.write_text(renewed, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
