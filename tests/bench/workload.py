#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records one of the reference workloads, whose sizes are those of real workflows:

    tests/bench/workload.py hour hour.rec

    hour  40 producers, 20 consumers, 400 CDOs a second, an hour:           28.8 million events
    wide  400 producers, 100 consumers, 1,000 CDOs a second, ten minutes:   16.2 million events
    day   400 producers, 100 consumers, 67 CDOs a second, 24 hours:        155.5 million events

The source of workloads/NAME.json says what happens. The same workload always gives the same bytes.
--steps N ends it after N steps of each producer. `make bench-programs` builds what this needs."""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import measure

WORKLOADS = pathlib.Path(__file__).resolve().parent / "workloads"


def names():
    return sorted(path.stem for path in WORKLOADS.glob("*.json"))


def read(name):
    """The configuration of a workload, without its comments: lines that begin with //."""
    text = (WORKLOADS / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


def record(name, path, steps=None):
    """Writes the recording, which must not exist, and returns the number of its events."""
    config = read(name)
    options = {key: value for key, value in config["source"].items() if key != "type"}
    if steps is not None:
        options["steps"] = steps
    argv = [measure.bench_program("workload"), path, config["workflow"],
            *(f"{key}={value}" for key, value in options.items())]
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise measure.harness.Failure(done.stderr.strip() or f"workload ended with {done.returncode}")
    return int(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=names())
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--steps", type=int, help="of each producer; default: those of the workload")
    options = parser.parse_args()
    try:
        events = record(options.name, options.file, options.steps)
    except measure.harness.Failure as failure:
        sys.exit(f"workload: {failure}")
    print(f"{options.file}: {events:,} events, {options.file.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
