#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""make bench-release RELEASE=COMMIT: the program of an earlier commit and this tree's, in turn, on the same
recordings, as users run them, and over the network from their own pool managers. Prints the ratios of each pair's
processor time and elapsed time (this tree's by the earlier one's) with their 95 % intervals; --json adds them to the
results of make bench.

Of this tree's recordings both must read the format; two nights' absolute figures are never compared. What the earlier
program is built with has to be installed; of Debian packages that are missing the names are printed."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import measure
import processes
import table
import workload
from measure import harness

HDF5, JSON, NOTHING = (["-o", "outputs.0.type=" + name] for name in ("hdf5", "jsonl", "null"))
LIVE_EVENTS = {1000: 2000000, 100000: 2000000, 1000000: 4000000}
# Room for all events: an older release loses what does not fit into the ring.
RING_FOR_ALL = {**processes.ALL, "ring": "1GiB"}
ALL_CDOS = ["-o", "statistics.max_cdos=262144"]


def build(commit):
    """The folder of the commit's programs, built beside this tree's."""
    source = harness.ROOT / "build" / "releases" / commit
    if not source.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=harness.ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", source, commit], cwd=harness.ROOT, check=True, capture_output=True)
    made = subprocess.run(["make", f"-j{os.cpu_count()}", "all", "bench-programs"], cwd=source, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if made.returncode != 0:
        missing = subprocess.run(["dpkg-checkbuilddeps", "packaging/debian/control"], cwd=source, check=False,
                                 stderr=subprocess.PIPE, text=True).stderr
        raise harness.Failure(f"commit {commit} cannot be built here: {missing or made.stderr[-2000:]}")
    return source / "build" / "release"


def recordings(directory, quick):
    """(what, recording, events, options): `hour` and `wide` as users run them, then what counting alone costs."""
    for name, steps in (("hour", 600), ("wide", 60)):
        path = directory / f"{name}.rec"
        events = workload.record(name, path, steps // 20 if quick else steps)
        for output, options in (("HDF5", HDF5), ("JSON lines", JSON)):
            yield f"`{name}`, {steps} steps, {output}", path, events, options + ALL_CDOS
    path = directory / "first.rec"
    yield "first bucket and file: a second of `hour`, HDF5", path, workload.record("hour", path, 1), HDF5 + ALL_CDOS
    for live, events in LIVE_EVENTS.items():
        events = events // 20 if quick else events
        path = directory / f"live{live}.rec"
        measure.run([measure.bench_program("stages"), "--record", str(path), "--events", str(events),
                     "--live", str(min(live, events // 20))], directory)
        if live > 262144:  # with the default limits, nearly every event evicts something
            yield f"{live:,} live CDOs, default limits, no output", path, events, NOTHING
        else:
            yield f"{live:,} live CDOs, no output", path, events, NOTHING + ALL_CDOS


def replay(build_, directory, recording, options):
    argv = [build_ / "bin" / "vampire", "-q", "-r", recording, *options]
    return measure.run([str(word) for word in argv], directory)[0]


def over_tcp(build_, directory, events, per_message):
    account, report, said = processes.over_tcp(directory, events, processes.LIVE, 0, RING_FOR_ALL, per_message, build_)
    if report["lost"] or processes.LOST_EVENTS.search(said):
        raise harness.Failure(f"{build_}: events were lost\n{said}")
    return account


def runs(directory, quick):
    """(what, events, function that runs a build's programs in a folder)."""
    for what, recording, events, options in recordings(directory, quick):
        yield what, events, lambda build_, folder, r=recording, o=options: replay(build_, folder, r, o)
    for what, events, per_message in (("over the network, 64 events a message", processes.EVENTS, processes.BATCH_EVENTS),
                                      ("over the network, one event a message", processes.SINGLE_MESSAGES, 1)):
        events = events // 20 if quick else events
        yield what, events, lambda build_, folder, e=events, p=per_message: over_tcp(build_, folder, e, p)


def ratio(accounts, attribute):
    return measure.robust_ratio([getattr(ours, attribute) / getattr(theirs, attribute) for theirs, ours in zip(*accounts)])


def compare(builds, directory, pairs, options):
    for what, events, run in runs(directory, options.quick):
        if not any(word in what for word in options.only or [""]):
            continue
        accounts = [[], []]
        for pair in range(pairs + 1):
            for which, build_ in enumerate(builds):
                with tempfile.TemporaryDirectory(dir=directory) as folder:
                    account = run(build_, pathlib.Path(folder))
                if pair > 0:  # the first one reads the recording from the disk
                    accounts[which].append(account)
        yield {"what": what, "events": events, "pairs": pairs,
               "ratio": ratio(accounts, "cpu_seconds"), "elapsed_ratio": ratio(accounts, "seconds"),
               "cpu_seconds": [statistics.median(a.cpu_seconds for a in of) for of in accounts],
               "seconds": [statistics.median(a.seconds for a in of) for of in accounts],
               "peak_bytes": [max(a.peak_bytes for a in of) for of in accounts]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="a commit or tag of this repository")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--only", nargs="*", help="words of the rows to measure (all)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the events, to try it")
    parser.add_argument("--json", type=pathlib.Path, help="results of make bench to add to")
    options = parser.parse_args()
    rows = []
    try:
        builds = [build(options.commit), harness.BUILD]
        with tempfile.TemporaryDirectory(prefix="vampire-bench-") as directory:
            for row in compare(builds, pathlib.Path(directory), options.pairs, options):
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
