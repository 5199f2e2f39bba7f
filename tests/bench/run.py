#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""make bench: measures all lines, or those whose name contains one of the given words, and prints
them as a table; --json keeps them. Lines measured before stay in that file until they are measured
again, so that a part can be renewed."""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import collect_lines
import history_lines
import measure
import processes
import table
import weight_lines


LONG = ("day",)  # only when it is named


# What the bench alone calls: protobuf-c's own decoder is a baseline; recordings are written before measuring.
OF_THE_BENCH = {"vamp__wire__event__unpack", "vamp_recorder_open"}


def symbols(folder, kinds):
    """{symbol: objects} of the objects below a folder."""
    found = collections.defaultdict(set)
    done = subprocess.run(["nm", "-A", *folder.rglob("*.o")], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        if kind in kinds:
            found[name].add(pathlib.Path(path))
    return found


def refuse_what_no_program_calls():
    """A measured function must be one that the product calls, not one that was left behind."""
    objects = measure.harness.BUILD / "obj"
    used, defined = symbols(objects, "U"), symbols(objects, "TDBR")
    is_test = lambda path: "tests" in path.relative_to(objects).parts
    left = [name for name, users in used.items()
            if name not in OF_THE_BENCH and any("bench" in path.parts for path in users) and all(map(is_test, users))
            and any(not is_test(path) for path in defined.get(name, ()))]
    if left:
        sys.exit(f"bench: no program calls what is to be measured: {', '.join(sorted(left))}")


def stage_names():
    done, text = measure.run([measure.bench_program("stages"), "--list"], tempfile.gettempdir())
    del done
    return text.split()


def measure_stage(name, directory, options):
    argv = [measure.bench_program("stages"), "--directory", directory]
    if options.quick:
        argv += ["--events", "100000", "--live", "5000", "--pairs", "5"]
    _, text = measure.run([*argv, name], directory)
    return [json.loads(text)]


def selected(options):
    """(name, function that measures it) in order."""
    def wanted(name):
        return not options.names or any(word in name for word in options.names)

    for name in stage_names():
        if wanted(name):
            yield name, lambda directory, n=name: measure_stage(n, directory, options)
    for name, function in (("history", history_lines.history_lines), ("day", history_lines.day_lines),
                           ("weight", weight_lines.weight_lines), ("collect", collect_lines.collect_lines)):
        if any(name in word for word in options.names) or not options.names and name not in LONG:
            yield name, lambda directory, f=function: list(f(directory, options.quick))
    for name, function in processes.ALL_LINES.items():
        if wanted(name) or any(word.startswith(name + ".") for word in options.names):
            yield name, function


def load(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {"lines": []}


def keep(path, machine, lines):
    results = load(path)
    fresh = {line["name"] for line in lines}
    kept = [line for line in results["lines"] if line["name"] not in fresh]
    results = {**results, "machine": machine, "lines": kept + lines}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="words of the names of lines (all)")
    parser.add_argument("--json", type=pathlib.Path, required=True, help="file of the results")
    parser.add_argument("--quick", action="store_true", help="smaller stages, to try the benchmark")
    options = parser.parse_args()
    refuse_what_no_program_calls()
    machine = measure.machine()
    print(", ".join(f"{key} {value}" for key, value in machine.items()), file=sys.stderr)
    failed = []
    with tempfile.TemporaryDirectory(prefix="vampire-bench-") as directory:
        for name, function in selected(options):
            began, load = time.monotonic(), os.getloadavg()[0]
            try:
                lines = function(directory)
            except (measure.harness.Failure, OSError, ValueError) as failure:
                print(f"FAILED {name}: {failure}", file=sys.stderr)
                failed.append(name)
                continue
            for line in lines:
                line["took_seconds"] = round(time.monotonic() - began, 1)
                line["load"] = load  # when it began: what threads wake for depends on it
                print(table.text_of(line), flush=True)
            keep(options.json, machine, lines)
    print(f"results in {options.json}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
