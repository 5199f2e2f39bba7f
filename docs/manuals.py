#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the parts of the manual pages that come from the programs.

    docs/manuals.py PROGRAMS            renew them in docs/*.1 and docs/*.md
    docs/manuals.py --check PROGRAMS    only report what differs, exit code 1

PROGRAMS is the directory of the programs, such as build/release/bin. A part stands in its page
between the comments "Made by docs/manuals.py: NAME" and "End of NAME"; NAME is a key of PARTS.
`make generated` calls this, and a test does with --check.
"""

import argparse
import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

DOCS = pathlib.Path(__file__).resolve().parent
MARKS = re.compile(r'(?<=\n)(\.\\"|<!--|#) Made by docs/manuals\.py: ([^\n]+?)( -->)?\n(?:.*\n)*?\1 End of \2(?: -->)?\n')


def sentence(words):
    return words[:1].upper() + words[1:]


def mdoc(words):
    """Sentences in mdoc(7): no line begins with a control character, nothing is an escape."""
    lines = []
    for part in re.split(r"(?<=[.?!]) (?=[A-Z])", sentence(words)):
        lines += textwrap.wrap(part.replace("\\", r"\e").replace("-", r"\-"), 78, break_on_hyphens=False)
    return "".join((r"\&" if line[0] in ".'" else "") + line + "\n" for line in lines)


def item(term, words):
    """An entry of a list in Markdown. `term` is Markdown, `words` are plain text."""
    words = re.sub(r"[\\*<]", r"\\\g<0>", sentence(words))
    lines = textwrap.wrap(f"* {term}: {words}", 100, subsequent_indent="  ", break_on_hyphens=False,
                          break_long_words=False)
    return "\n".join(lines) + "\n"


class Programs:
    """What the programs print, and a file that vampire writes."""

    def __init__(self, directory):
        self.directory = directory
        self.file = None

    def run(self, program, *arguments):
        return subprocess.run([self.directory / program, *arguments], capture_output=True, text=True, timeout=120,
                              check=True).stdout

    def hdf5(self):
        """[(path, dimensions, {attribute: text})] of all variables, the names of the file's own attributes, and
        {metric of vampire's own: (kind, label)}, of a file with everything in it."""
        if self.file is None:
            import h5py  # pylint: disable=import-outside-toplevel

            with tempfile.TemporaryDirectory() as directory:
                config = {"source": {"type": "synthetic"}, "statistics": {"level": "cdo", "sets": "all"},
                          "alarms": [{"name": "any", "metric": "pool_operations", "when": "> 0", "actions": []}],
                          "outputs": [{"type": "hdf5", "directory": directory}]}
                (pathlib.Path(directory) / "config.json").write_text(json.dumps(config), encoding="utf-8")
                self.run("vampire", "-q", "-c", f"{directory}/config.json")
                with h5py.File(next(pathlib.Path(directory).glob("*.h5"))) as file:
                    variables = []
                    file.visititems(lambda path, entry: variables.append(
                        (path, dimensions_of(entry), {key: text_of(value) for key, value in entry.attrs.items()
                                                      if key in ("long_name", "units", "metric", "kind")})
                    ) if isinstance(entry, h5py.Dataset) else None)
                    self.file = variables, set(file.attrs), {
                        name: (kind, label) for kind in ("counter", "gauge")
                        for name, label in zip(texts_of(file[f"vampire/{kind}_name"]), texts_of(file[f"vampire/{kind}_label"]))}
        return self.file


def dimensions_of(entry):
    if entry.attrs.get("CLASS") == b"DIMENSION_SCALE" and b"not a netCDF variable" in entry.attrs["NAME"]:
        return None
    if entry.attrs.get("CLASS") == b"DIMENSION_SCALE":
        return [entry.name[1:]]
    return [axis[0].name.rpartition("/")[2] if len(axis) else "?" for axis in entry.dims]


def texts_of(variable):
    """The rows of a character array."""
    return [row.tobytes().rstrip(b"\0").decode() for row in variable[...]]


def text_of(value):
    return value.decode() if isinstance(value, bytes) else str(value)


# ---------------------------------------------------------------- parts in mdoc, of section 1


def options_of(program, help_option="--help"):
    """The options of a program, from its help."""

    def part(programs):
        listed = re.search(r"\nOptions:\n(.*?)\n(?=\n|\S)", programs.run(program, help_option), re.DOTALL)[1]
        out = [".Bl -tag -width Ds\n"]
        for letter, name, argument, words in re.findall(
                r"^  (?:-(\w), |    )--([\w-]+)(\[=\w+\]| [A-Z][A-Z=]*)? +(.*\n?(?: {31}.*\n?)*)", listed, re.MULTILINE):
            optional = re.fullmatch(r"\[=(\w+)\]", argument)
            mdoc_argument = f" Ns Op = Ns Ar {optional[1]}" if optional else "".join(
                f" Ar {argument.strip().replace('=', ' Ns = Ns Ar ')}" if argument else "")
            short = f" Fl {letter}{mdoc_argument} ," if letter else ""
            out.append(f".It{short} Fl -{name}{mdoc_argument}\n{mdoc(' '.join(words.split()) + '.')}")
        return "".join(out) + ".El\n"

    return part


def section_of(program, section):
    """The options of a section of a program's configuration, from its help."""

    def part(programs):
        printed = programs.run(program, "--help=all")
        out = [".Bl -tag -width Ds\n"]
        for key, preset, words in re.findall(rf"^  {section}\.(\w+)(?: = (.*))?\n((?: {{6}}.*\n)*)", printed, re.MULTILINE):
            out.append(f".It Cm {key}" + (f" = {preset}" if preset else "") + f"\n{mdoc(' '.join(words.split()))}")
        return "".join(out) + ".El\n"

    return part


def events(_):
    table = (DOCS.parent / "vampire" / "core" / "event" / "kinds.def").read_text(encoding="utf-8")
    rows = re.findall(r'^VAMP_EVENT_KIND\(\w+,\s*(\d+),\s*(\w+),\s*"([^"]*)"\)', table, re.MULTILINE)
    return ".Bl -tag -width Ds\n" + "".join(f".It Li {name} Pq {number}\n{mdoc(words + '.')}"
                                            for number, name, words in rows) + ".El\n"


def words(_):
    table = (DOCS.parent / "programs/vampire/words.h").read_text(encoding="utf-8")
    return "".join(f"{name} = {text}\n" for name, text in re.findall(r'^#define VAMP_WORDS_(\w+) +(?:\\\n +)?(".*")$', table, re.MULTILINE))


# ---------------------------------------------------------------- parts in Markdown


def configuration(programs):
    """The options of the configuration, from vampire --help."""
    printed = re.search(r"\n(The whole:\n.*?)\n\nSignals:", programs.run("vampire", "--help=all"), re.DOTALL)[1]
    out = []
    for title, listed in re.findall(r"^((?:\S.*\n)+)((?:  .*\n)*)", printed + "\n", re.MULTILINE):
        options = re.findall(r"^  ([\w.]+)(?: = (.*))?\n((?: {6}.*\n)*)", listed, re.MULTILINE)
        out.append(f"### {' '.join(title.split()).rstrip(':')}\n\n" + ("" if options else "No options.\n"))
        for key, preset, words in options:
            out.append(item(f"`{key}`" + (f" = `{preset}`" if preset else ""), " ".join(words.split())))
        out.append("\n")
    return "".join(out)[:-1]


def metrics(programs):
    out = []
    for metric in json.loads(programs.run("vampire", "--list-metrics=json"))["metrics"]:
        labels = ", ".join(metric["labels"]) or "no labels"
        out.append(item(f"`{metric['name']}`", f"{metric['help']}: {metric['origin']}. {metric['kind'].capitalize()}, "
                        f"unit {metric['unit']}; {labels}; {'set ' + ', '.join(metric['sets']) if metric['sets'] else 'in no set'}. "
                        f"Merging: {metric['merge']}." + (f" Rests on: {', '.join(metric['basis'])}." if metric['basis'] else "")))
    return "".join(out)


def base_units(programs):
    listed = json.loads(programs.run("vampire", "--list-metrics=json"))["metrics"]
    return "| in files | in base units |\n|---|---|\n" + "".join(
        f"| `{metric['name']}` | `{metric['prometheus']}` |\n" for metric in listed)


TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false", "array": "list", "object": "object"}


def type_of(schema, field):
    """What a value may be, in words."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        known = {"count": "whole number", "uuid": "UUID", "time": "time", "maybe_time": "time or null",
                 "cdo_id": "32 hexadecimal digits or null", "labels": "object", "accounting": "object"}
        return known.get(name) or type_of(schema, schema["$defs"][name])
    if "const" in field:
        return json.dumps(field["const"])
    if "enum" in field:
        return "one of " + ", ".join(f"`{word}`" for word in field["enum"])
    if "oneOf" in field:
        return " or ".join(type_of(schema, choice) for choice in field["oneOf"])
    return {"null": "null", **TYPES}[field["type"]]


def json_records(_):
    schema = json.loads((DOCS / "vampire-jsonl.schema.json").read_text(encoding="utf-8"))
    definitions = schema["$defs"]
    kinds = schema["properties"]["type"]["enum"]
    out = []
    for kind in kinds + ["counter", "gauge", "histogram"]:
        what = definitions[kind]
        title = f"`{kind}`" if kind in kinds else f"A row of a {kind}"
        out.append(f"### {title}\n\n{textwrap.fill(sentence(what['description']) + '.', 100)}\n\n")
        for name, field in what["properties"].items():
            if name in ("v", "type", "run", "time", "cut") and "description" not in field:
                continue
            missing = "" if name in what["required"] else "; optional"
            described = field.get("description") or definitions[field["$ref"].rsplit("/", 1)[1]]["description"]
            out.append(item(f"`{name}` ({type_of(schema, field)}{missing})", f"{described}."))
        out.append("\n")
    return "".join(out)[:-1].replace("\n\n\n", "\n\n")


DIMENSIONS = {
    "time": "buckets",
    "restart": "rows of time before which the totals of all counters are known",
    "bin": "bins of the histograms",
    "row_slot": "dimensions of rows in all groups",
    "gap": "rows of the table of gaps",
    "output_slot": "outputs of this run",
    "component_slot": "rows of the table of components",
    "cdo": "rows of the table of selected CDOs, at level cdo",
    "alarm": "rows of the table of alarms, in a run with rules of alarms",
    "name_length": "bytes of a component's name",
    "word_length": "bytes of a word",
    "text_length": "bytes of a sentence",
    "name_slot": "names, which the groups have by number",
    "cdo_text_length": "bytes of the texts of a CDO, at level cdo",
    "alarm_text_length": "bytes of the texts of an alarm",
}


def overview(programs):
    return [variable for variable in programs.hdf5()[0] if "/" not in variable[0]]


def hdf5_dimensions(programs):
    used = dict.fromkeys(name for _, axes, _ in overview(programs) for name in axes or [])
    out = [item(f"`{name}`", f"{words}.") for name, words in DIMENSIONS.items() if name in used]
    out += [item(f"`{name}`", f"values of the label {name}.")
            for name in sorted(set(used) - set(DIMENSIONS))]
    return "".join(out)


def hdf5_variables(programs):
    """Everything of the overview but metrics, label variables, and what only numbers a dimension."""
    out = []
    variables = [(n, a, w) for n, a, w in overview(programs) if a is not None and "metric" not in w]
    groups = [("Of each bucket", lambda a: a[:1] == ["time"]),
              ("Of the run", lambda a: a in ([], ["text_length"], ["restart"])),
              ("Bins", lambda a: a == ["bin"]),
              ("Names", lambda a: a[:1] == ["name_slot"]), ("Gaps", lambda a: a[:1] == ["gap"]), ("Components", lambda a: a[:1] == ["component_slot"]),
              ("Outputs", lambda a: a[:1] == ["output_slot"]), ("Selected CDOs", lambda a: a[:1] == ["cdo"]),
              ("Alarms", lambda a: a[:1] == ["alarm"])]
    for title, belongs in groups:
        out.append(f"### {title}\n\n")
        for name, axes, words in variables:
            if belongs(axes) and "long_name" in words:
                out.append(item(f"`{name}`" + (f" [{', '.join(axes)}]" if axes else ""), f"{words['long_name']}."))
        out.append("\n")
    return "".join(out)[:-1]


def hdf5_metrics(programs):
    """Of each metric the variable that has all of its dimensions, and the group of its rows; of vampire's own metrics
    the table."""
    suffix = {"counter": "_delta", "gauge": "", "histogram": "_count"}
    found, rows = {}, {}
    for path, axes, words in programs.hdf5()[0]:
        if "metric" not in words:
            continue
        group, _, name = path.rpartition("/")
        if group:
            rows[words["metric"]] = group
        elif name == words["metric"] + suffix.get(words.get("kind"), " "):
            found[words["metric"]] = f"{words['kind']} [{', '.join(axes)}]"
    for name in rows:
        found[name] = f"{found[name]}; rows in `{rows[name]}`" if name in found else f"histogram, only rows in `{rows[name]}`"
    for name, (kind, label) in programs.hdf5()[2].items():
        found[name] = f"{kind} in the group `vampire`" + (f", by `{label}`" if label else "")
    for name in ("vampire_lag_ns", "vampire_ring_bytes"):
        found[name] = "gauge in the group `vampire`, of a live run only"  # this file's events are made up
    return "".join(item(f"`{name}`", f"{what}.") for name, what in sorted(found.items()))


ATTRIBUTES = {
    "Conventions": "the version of the CF conventions",
    "title": "what this is",
    "schema_version": "version of this format, MAJOR.MINOR",
    "vampire_version": "version of the program that wrote it",
    "workflow": "name of the workflow",
    "component_name_of_vampire": "the name under which vampire joined it",
    "host": "where vampire ran",
    "pid": "number of its process there",
    "user": "who ran it: the name of the effective user, or the number if there is no name",
    "batch_job": "id of the batch system's job (SLURM_JOB_ID, PBS_JOBID or LSB_JOBID); empty without one",
    "series_name_space": "UUID, the name space of the identifiers of series",
    "run_id": "UUID of the run, the same in all its files",
    "run_started": "when the run began",
    "output": "name of the output in the configuration",
    "level": "how fine it counts: workflow, component or cdo",
    "clock": "what the times of buckets are: event (the pool manager's clock) or arrival (vampire's)",
    "examined": "what vampire --examine found about this Maestro; absent if it was not examined",
    "not_observed": "what is absent although it was asked for, a line for each: the name of a metric, or losses (of the pool "
                    "manager), a colon, and why; empty when nothing is",
    "segment": "number of the file among those of its output in this run, from 1",
    "bucket_ns": "width of a bucket",
    "sampling": 'which part of the events counts: "none" (all of them) or such as "fraction 10000"; the weight '
                "of each bucket is in vampire_weight",
    "reloads": "how often the configuration was read again before this file",
    "reloaded": "when it was read again the last time; absent if it never was",
    "configuration": "all of the configuration, defaults included, as JSON",
    "how_to_open_live": "the line of Python that opens the file while it is being written",
}


def hdf5_attributes(programs):
    unknown = programs.hdf5()[1] - set(ATTRIBUTES)
    if unknown:
        raise SystemExit(f"docs/manuals.py: ATTRIBUTES does not describe {', '.join(sorted(unknown))}")
    return "".join(item(f"`{name}`", f"{words}.") for name, words in ATTRIBUTES.items())


PARTS = {
    "options of vampire": options_of("vampire", "--help=all"),
    "options of vampire-collect": options_of("vampire-collect", "--help=all"),
    "options of the section collect": section_of("vampire-collect", "collect"),
    "options of vampire-top": options_of("vampire-top"),
    "options of maestro-pool-manager": options_of("maestro-pool-manager"),
    "kinds of events": events,
    "options of the configuration": configuration,
    "metrics": metrics,
    "names in base units": base_units,
    "JSON records": json_records,
    "HDF5 dimensions": hdf5_dimensions,
    "HDF5 variables": hdf5_variables,
    "words of programs/vampire/words.h": words,
    "HDF5 metrics": hdf5_metrics,
    "HDF5 attributes": hdf5_attributes,
}


def renewed(page, programs):
    def part(found):
        opening, name, closing = found[1], found[2], found[3] or ""
        blank = "\n" if closing else ""
        return (f"{opening} Made by docs/manuals.py: {name}{closing}\n{blank}{PARTS[name](programs)}{blank}"
                f"{opening} End of {name}{closing}\n")

    return MARKS.sub(part, page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("programs", type=pathlib.Path, metavar="PROGRAMS")
    parser.add_argument("--check", action="store_true", help="write nothing, exit code 1 when something differs")
    options = parser.parse_args()
    programs = Programs(options.programs.resolve())
    differences, found = [], set()
    for path in sorted([*DOCS.glob("*.1"), *DOCS.glob("*.md"), DOCS.parent / "python/vampire/words.py"]):
        page = path.read_text(encoding="utf-8")
        found.update(match[2] for match in MARKS.finditer(page))
        new = renewed(page, programs)
        differences += difflib.unified_diff(page.splitlines(), new.splitlines(), str(path), "as the programs have it",
                                            lineterm="")
        if not options.check and new != page:
            path.write_text(new, encoding="utf-8")
    missing = set(PARTS) - found
    if missing:
        print(f"docs/manuals.py: no page has: {', '.join(sorted(missing))}", file=sys.stderr)
    if options.check and differences:
        print("\n".join(differences) + "\nmake generated renews these pages", file=sys.stderr)
    return 1 if missing or (options.check and differences) else 0


if __name__ == "__main__":
    sys.exit(main())
