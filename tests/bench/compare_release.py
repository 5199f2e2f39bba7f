#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""make bench-release RELEASE=COMMIT: the program of an earlier commit and this tree's, in turn, on the same
recordings, as users run them. Prints the ratio of each pair's processor time (this tree's by the earlier one's) with
its 95 % interval; --json adds it to the results of make bench.

Of this tree's recordings both must read the format; two nights' absolute figures are never compared."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import measure
import table
import workload
from measure import harness

HDF5, JSON, NOTHING = (["-o", "outputs.0.type=" + name] for name in ("hdf5", "jsonl", "null"))
LIVE_EVENTS = {1000: 2000000, 100000: 2000000}


def build(commit):
    """The program `vampire` of the commit, built beside this one."""
    source = harness.ROOT / "build" / "releases" / commit
    if not source.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=harness.ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", source, commit], cwd=harness.ROOT, check=True, capture_output=True)
    subprocess.run(["make", f"-j{os.cpu_count()}", "all"], cwd=source, check=True, stdout=subprocess.DEVNULL)
    return str(source / "build" / "release" / "bin" / "vampire")


def recordings(directory, quick):
    """(what, recording, events, options): `hour` and `wide` as users run them, then what counting alone costs."""
    for name, steps in (("hour", 600), ("wide", 60)):
        path = directory / f"{name}.rec"
        events = workload.record(name, path, steps // 20 if quick else steps)
        for output, options in (("HDF5", HDF5), ("JSON lines", JSON)):
            yield f"`{name}`, {steps} steps, {output}", path, events, options
    path = directory / "first.rec"
    yield "first bucket and file: a second of `hour`, HDF5", path, workload.record("hour", path, 1), HDF5
    for live, events in LIVE_EVENTS.items():
        events = events // 20 if quick else events
        path = directory / f"live{live}.rec"
        measure.run([measure.bench_program("stages"), "--record", str(path), "--events", str(events),
                     "--live", str(min(live, events // 20))], directory)
        yield f"{live:,} live CDOs, no output", path, events, NOTHING


def replay(program, recording, options, directory):
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        account, _ = measure.run([program, "-q", "-r", str(recording), *options, "-o", "statistics.max_cdos=262144"], folder)
    return account


def compare(programs, directory, pairs, quick):
    for what, recording, events, options in recordings(directory, quick):
        accounts = [[], []]
        for pair in range(pairs + 1):
            for which, program in enumerate(programs):
                account = replay(program, recording, options, directory)
                if pair > 0:  # the first one reads the recording from the disk
                    accounts[which].append(account)
        ratios = [ours.cpu_seconds / theirs.cpu_seconds for theirs, ours in zip(*accounts)]
        yield {"what": what, "events": events, "pairs": pairs, "ratio": measure.robust_ratio(ratios),
               "cpu_seconds": [statistics.median(a.cpu_seconds for a in of) for of in accounts],
               "peak_bytes": [max(a.peak_bytes for a in of) for of in accounts]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="a commit or tag of this repository")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the events, to try it")
    parser.add_argument("--json", type=pathlib.Path, help="results of make bench to add to")
    options = parser.parse_args()
    rows = []
    try:
        programs = [build(options.commit), harness.program("vampire")]
        with tempfile.TemporaryDirectory(prefix="vampire-bench-") as directory:
            for row in compare(programs, pathlib.Path(directory), options.pairs, options.quick):
                rows.append(row)
                print(table.release_text(row), flush=True)
    except (harness.Failure, subprocess.CalledProcessError) as failure:
        sys.exit(f"compare_release: {failure}")
    if options.json is not None:
        kept = json.loads(options.json.read_text()) if options.json.exists() else {"machine": measure.machine(), "lines": []}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({**kept, "release": {
            "commit": options.commit, "machine": measure.machine(), "rows": rows}}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
