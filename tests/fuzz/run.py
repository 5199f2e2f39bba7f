#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs fuzz targets, as many at a time as there are processors, and counts what they executed.

The targets of people's texts (config, filter) get the whole time, those of single messages a quarter
of it, the others, whose mutators know whole conversations and files, a third. Ends with 1 when a
target found something, or when all together executed less than they should have: a fuzzer that
stands still finds nothing either.

With --seeds-only each target runs its committed seeds once and nothing else: the same in every run.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "fuzz"
SHARES = {"config": 1, "filter": 1, "frame": 4, "info": 4, "event_decode": 4, "collect": 4}
SHARE_PRESET = 3
INPUT_BYTES = {"frame": 16384, "recording": 16384}
INPUT_BYTES_PRESET = 4096
SAID = re.compile(r"ERROR|SUMMARY|does not hold|^ +#[0-9]+ .*/(?:vampire|maestro|filters|writers|tests)/")


def run(name, seconds):
    """(name, executions, seconds taken, exit code); 0 seconds: the committed seeds only."""
    corpus, found, log = BUILD / "corpus" / name, BUILD / "found", BUILD / f"{name}.log"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    argv = [BUILD / "bin" / f"{name}_fuzz", "-timeout=20", "-verbosity=0"]
    argv += [f"-max_total_time={seconds}"] if seconds > 0 else ["-runs=0"]
    argv += [f"-max_len={INPUT_BYTES.get(name, INPUT_BYTES_PRESET)}", "-print_final_stats=1"]
    argv += [f"-artifact_prefix={found}/{name}-"]
    argv += [corpus] if seconds > 0 else []
    argv += [ROOT / "tests" / "fuzz" / "seeds" / name]
    began = time.monotonic()
    with open(log, "wb") as output:
        code = subprocess.run(argv, cwd=ROOT, stdout=output, stderr=output, check=False).returncode
    counted = re.search(r"number_of_executed_units: *(\d+)", log.read_text(errors="replace"))
    return name, int(counted.group(1)) if counted else 0, time.monotonic() - began, code


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--executions", type=int, default=1000000, help="of all targets together")
    parser.add_argument("--seeds-only", action="store_true", help="every seed must be executed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    if options.seeds_only:
        options.executions = sum(
            len(list((ROOT / "tests" / "fuzz" / "seeds" / name).iterdir())) for name in options.targets)
    longest_first = sorted(options.targets, key=lambda name: SHARES.get(name, SHARE_PRESET))
    total, failed = 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
        jobs = [
            workers.submit(run, name, 0 if options.seeds_only else
                           max(1, options.seconds // SHARES.get(name, SHARE_PRESET)))
            for name in longest_first
        ]
        for job in concurrent.futures.as_completed(jobs):
            name, executions, seconds, code = job.result()
            total += executions
            print(f"{name:10} {executions:10} executions in {seconds:6.1f} s{'' if code == 0 else '  FOUND SOMETHING'}", flush=True)
            if code != 0:
                failed.append(name)
                text = (BUILD / f"{name}.log").read_text(errors="replace")
                print("\n".join(line for line in text.splitlines() if SAID.search(line)))
                print(f"the whole log: build/fuzz/{name}.log; the input: build/fuzz/found/{name}-*")
    print(f"{'together':10} {total:10} executions, at least {options.executions} are expected")
    return 0 if not failed and total >= options.executions else 1


if __name__ == "__main__":
    sys.exit(main())
