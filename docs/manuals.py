#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Renews those parts of the manual pages that the code knows better.

    docs/manuals.py PROGRAMS            write them into docs/*.[1-8]
    docs/manuals.py --check PROGRAMS    only tell what differs, exit code 1

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
MARKS = re.compile(r'(?<=\n)\.\\" Made by docs/manuals\.py: (.+)\n(?:.*\n)*?\.\\" End of \1\n')


def text(words):
    """Sentences in mdoc: no line begins with a control character, nothing is an escape."""
    lines = []
    for sentence in re.split(r"(?<=[.?!]) (?=[A-Z])", words[:1].upper() + words[1:]):
        lines += textwrap.wrap(sentence.replace("\\", r"\e"), 78, break_on_hyphens=False)
    return "".join((r"\&" if line[0] in ".'" else "") + line + "\n" for line in lines)


def listed(items):
    """A list of (term, text)."""
    return ".Bl -tag -width Ds\n" + "".join(f".It {term}\n{text(words)}" for term, words in items) + ".El\n"


class Programs:
    """What the programs print, and the file they write."""

    def __init__(self, directory):
        self.directory = directory
        self.file = None

    def run(self, program, *arguments):
        return subprocess.run([self.directory / program, *arguments], capture_output=True, text=True, timeout=120,
                              check=True).stdout

    def hdf5(self):
        """[(name, dimensions, {attribute: text})] of all variables and the names of the file's own attributes, of a
        file with everything in it."""
        if self.file is None:
            import h5py  # pylint: disable=import-outside-toplevel

            with tempfile.TemporaryDirectory() as directory:
                config = {"source": {"type": "synthetic"}, "statistics": {"level": "cdo", "sets": "all"},
                          "outputs": [{"type": "hdf5", "directory": directory}]}
                (pathlib.Path(directory) / "config.json").write_text(json.dumps(config), encoding="utf-8")
                self.run("vampire", "-q", "-c", f"{directory}/config.json")
                with h5py.File(next(pathlib.Path(directory).glob("*.h5"))) as file:
                    variables = [(name, dimensions_of(item), {key: words_of(value) for key, value in item.attrs.items()
                                                              if key in ("long_name", "units", "metric", "kind")})
                                 for name, item in file.items()]
                    self.file = variables, set(file.attrs)
        return self.file


def dimensions_of(item):
    if item.attrs.get("CLASS") == b"DIMENSION_SCALE" and b"not a netCDF variable" in item.attrs["NAME"]:
        return None
    if item.attrs.get("CLASS") == b"DIMENSION_SCALE":
        return [item.name[1:]]
    return [axis[0].name[1:] if len(axis) else "?" for axis in item.dims]


def words_of(value):
    return value.decode() if isinstance(value, bytes) else str(value)


# ---------------------------------------------------------------- the parts


def events(_):
    table = (DOCS.parent / "vampire" / "core" / "event_kinds.def").read_text(encoding="utf-8")
    rows = re.findall(r'^VAMP_EVENT_KIND\(\w+,\s*(\d+),\s*"(\w+)",\s*"([^"]*)"\)', table, re.MULTILINE)
    return listed((f"Li {name} Pq {number}", f"{words}.") for number, name, words in rows)


def metrics(programs):
    out = [".Bl -tag -width Ds\n"]
    for metric in json.loads(programs.run("vampire", "--list-metrics=json"))["metrics"]:
        labels = ", ".join(metric["labels"]) or "no labels"
        sets = ", ".join(metric["sets"])
        out.append(f".It Li {metric['name']}\n{metric['kind']}, unit {metric['unit']}; {labels}; set {sets}.\n.br\n")
        out.append(text(f"{metric['help']}: {metric['origin']}."))
    return "".join(out) + ".El\n"


def anomalies(_):
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    table = re.search(r"\| anomaly \| when \|\n\|[-|]+\n((?:\|.*\n)+)", page)[1]
    return listed((f"Li {name}", f"{words}.") for name, words in re.findall(r"\| `(\w+)` \| (.*) \|", table))


def filter_grammar(_):
    page = (DOCS / "filter-language.md").read_text(encoding="utf-8")
    lines = re.search(r"```ebnf\n(.*?)```", page, re.DOTALL)[1].replace("\\", r"\e").splitlines()
    return ".Bd -literal\n" + "".join((r"\&" if line[:1] in ".'" else "") + line + "\n" for line in lines) + ".Ed\n"


TYPES = {"integer": "whole number", "string": "text", "boolean": "true or false", "array": "list", "object": "object"}


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
        return "one of " + ", ".join(str(word) for word in field["enum"])
    if "oneOf" in field:
        return " or ".join(type_of(schema, choice) for choice in field["oneOf"])
    return {"null": "null", **TYPES}[field["type"]]


def json_records(_):
    schema = json.loads((DOCS / "vampire-jsonl.schema.json").read_text(encoding="utf-8"))
    definitions = schema["$defs"]
    kinds = [kind for kind in schema["properties"]["type"]["enum"] if kind != "metric"]
    out = []
    for kind in kinds + ["counter", "gauge", "histogram"]:
        what = definitions[kind]
        title = f"{kind}" if kind in kinds else f"metric: a {kind}"
        out.append(f".Ss {title}\n{text(what['description'] + '.')}")
        fields = []
        for name, field in what["properties"].items():
            if name in ("v", "type", "run", "time", "cut") and "description" not in field:
                continue
            missing = "" if name in what["required"] else "; not always there"
            described = field.get("description") or definitions[field["$ref"].rsplit("/", 1)[1]]["description"]
            fields.append((f"Li {name} No ({type_of(schema, field)}{missing})", f"{described}."))
        out.append(listed(fields) if fields else "")
    return "".join(out)


LABEL_OF_SERIES = " of the series"
DIMENSIONS = {
    "time": "buckets; the only dimension that grows",
    "bin": "bins of the histograms",
    "gap": "rows of the table of gaps",
    "output_slot": "outputs of this run",
    "component_slot": "rows of the table of components",
    "cdo": "rows of the table of selected CDOs, at level cdo",
    "name_length": "bytes of a component's name",
    "word_length": "bytes of a word",
    "id_length": "characters of an identifier",
    "cdo_text_length": "bytes of the texts of a CDO, at level cdo",
}


def hdf5_dimensions(programs):
    used = dict.fromkeys(name for _, axes, _ in programs.hdf5()[0] for name in axes or [])
    own = [name for name in DIMENSIONS if name in used]
    labels = {}
    for _, axes, words in programs.hdf5()[0]:
        if words.get("long_name", "").endswith(LABEL_OF_SERIES):
            labels.setdefault(axes[0], []).append(words["long_name"][:-len(LABEL_OF_SERIES)])
    # The name of the dimension has the labels in their order.
    return listed([(f"Li {name}", f"{DIMENSIONS[name]}.") for name in own]
                  + [(f"Li {name}", "series of the metrics with the label" + ("s " if len(labels[name]) > 1 else " ")
                      + ", ".join(sorted(labels[name], key=name.index)) + ".")
                     for name in sorted(set(used) - set(DIMENSIONS))])


def hdf5_variables(programs):
    """Everything but metrics, label variables, and what only numbers a dimension."""
    out = []
    variables = [(n, a, w) for n, a, w in programs.hdf5()[0] if a is not None and "metric" not in w]
    groups = [("Of each bucket", lambda a: a[:1] == ["time"]), ("Of the run", lambda a: a in ([], ["name_length"])),
              ("Bins", lambda a: a == ["bin"]),
              ("Gaps", lambda a: a[:1] == ["gap"]), ("Components", lambda a: a[:1] == ["component_slot"]),
              ("Outputs", lambda a: a[:1] == ["output_slot"]), ("Selected CDOs", lambda a: a[:1] == ["cdo"])]
    for title, belongs in groups:
        rows = [(name, axes, words) for name, axes, words in variables
                if belongs(axes) and "long_name" in words and not words["long_name"].endswith(LABEL_OF_SERIES)]
        out.append(f".Ss {title}\n" + listed(
            (f"Li {name} No [{', '.join(axes)}]" if axes else f"Li {name}", f"{words['long_name']}.")
            for name, axes, words in rows))
    return "".join(out)


def hdf5_metrics(programs):
    """Of each metric the variable with its own name."""
    rows = [f".It Li {name}\n{words['kind']} [{', '.join(axes)}]\n" for name, axes, words in programs.hdf5()[0]
            if words.get("metric") == name]
    return '.Bl -tag -width "transport_bytes_per_second" -compact\n' + "".join(rows) + ".El\n"


ATTRIBUTES = {
    "Conventions": "the version of the CF conventions",
    "title": "what this is",
    "schema_version": "version of this format, MAJOR.MINOR",
    "vampire_version": "version of the program that wrote it",
    "workflow": "name of the workflow",
    "component_name_of_vampire": "the name under which vampire joined it",
    "host": "where vampire ran",
    "run_id": "UUID of the run, the same in all its files",
    "run_started": "when the run began",
    "output": "name of the output in the configuration",
    "level": "how fine it counts: workflow, component or cdo",
    "clock": "what the times of buckets are: event (the pool manager's clock) or arrival (vampire's)",
    "segment": "number of the file in the run, from 1",
    "bucket_ns": "width of a bucket",
    "sampling": "which part of the events counts; none: all of them",
    "reloads": "how often the configuration was read again before this file",
    "reloaded": "when it was, the last time; only then there",
    "configuration": "all of the configuration, defaults included, as JSON",
    "how_to_open_live": "one line of Python",
}


def hdf5_attributes(programs):
    unknown = programs.hdf5()[1] - set(ATTRIBUTES)
    if unknown:
        raise SystemExit(f"docs/manuals.py: ATTRIBUTES does not describe {', '.join(sorted(unknown))}")
    return listed((f"Li {name}", f"{words}.") for name, words in ATTRIBUTES.items())


PARTS = {
    "options of vampire": lambda programs: programs.run("vampire", "--print-manual-options"),
    "options of vampire-top": lambda programs: programs.run("vampire-top", "--print-manual-options"),
    "options of maestro-pool-manager": lambda programs: programs.run("maestro-pool-manager", "--print-manual-options"),
    "options of the configuration": lambda programs: programs.run("vampire", "--print-manual-config"),
    "kinds of events": events,
    "metrics": metrics,
    "anomalies": anomalies,
    "grammar of filters": filter_grammar,
    "JSON records": json_records,
    "HDF5 dimensions": hdf5_dimensions,
    "HDF5 variables": hdf5_variables,
    "HDF5 metrics": hdf5_metrics,
    "HDF5 attributes": hdf5_attributes,
}


def renewed(page, programs):
    def part(found):
        name = found[1]
        return f'.\\" Made by docs/manuals.py: {name}\n{PARTS[name](programs)}.\\" End of {name}\n'

    return MARKS.sub(part, page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("programs", type=pathlib.Path, metavar="PROGRAMS")
    parser.add_argument("--check", action="store_true", help="write nothing, exit code 1 when something differs")
    options = parser.parse_args()
    programs = Programs(options.programs.resolve())
    differences, found = [], set()
    for path in sorted(DOCS.glob("*.[1-8]")):
        page = path.read_text(encoding="utf-8")
        found.update(match[1] for match in MARKS.finditer(page))
        new = renewed(page, programs)
        differences += difflib.unified_diff(page.splitlines(), new.splitlines(), str(path), "as the code has it",
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
