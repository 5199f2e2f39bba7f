# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmark's scripts share: a process with its account, medians and spreads, the shape of
a line of results."""

import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent.parent
sys.path[:0] = [str(BENCH.parent / "e2e"), str(BENCH.parent / "oracle")]
# pylint: disable=wrong-import-position
import harness

PAIRS = 5


def bench_program(name):
    return str(harness.BUILD / "bench" / name)


class Account:
    """What a finished process has used."""

    def __init__(self, seconds, usage):
        self.seconds = seconds
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.peak_bytes = usage.ru_maxrss * 1024


def reap(process, began):
    """Waits for a harness.Process and returns its account; it must end well."""
    _, status, usage = os.wait4(process.child.pid, 0)
    process.child.returncode = os.waitstatus_to_exitcode(status)
    if process.child.returncode != 0:
        raise harness.Failure(f"{process.name} failed\n{process.account()}")
    return Account(time.monotonic() - began, usage)


def has_ended(process):
    """Without taking its end away from who reaps it."""
    return os.waitid(os.P_PID, process.child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def run(argv, directory, environment=None, one_core=False, watch=None, watch_seconds=1):
    """Runs a program to its end: (account, what it printed). `watch` is called again and again with
    its process id."""
    if one_core:
        argv = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *argv]
    began = time.monotonic()
    process = harness.Process(argv, directory, pathlib.Path(argv[0]).name,
                              environment or harness.clean_environment())
    try:
        while watch is not None and not has_ended(process):
            watch(process.child.pid)
            time.sleep(watch_seconds)
        account = reap(process, began)
    finally:
        if process.child.returncode is None:
            process.end()
    return account, process.stdout


def quartiles(values):
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def spread(name, values):
    low, middle, high = quartiles(values)
    return {name: middle, f"{name}_q1": low, f"{name}_q3": high}


def line(name, what, unit, values, baseline=None, base_values=None, accounts=(), **more):
    """A line of results; of each pair the ratio."""
    result = {"name": name, "what": what, "unit": unit, "clock": "elapsed", "pairs": len(values)}
    result.update(spread("median", values))
    if baseline is not None:
        result["baseline"] = {"what": baseline, **spread("median", base_values)}
        result.update(spread("ratio", [a / b for a, b in zip(values, base_values)]))
    if accounts:
        result["cpu_seconds"] = statistics.median(a.cpu_seconds for a in accounts)
        result["peak_bytes"] = max(a.peak_bytes for a in accounts)
    result.update(more)
    return result


def robust(values):
    """The middle of the means of all pairs of values (Hodges and Lehmann), and the ends of its 95 %
    interval (Wilcoxon's): a value that something else on the machine spoiled hardly moves them."""
    count = len(values)
    means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    below = count * (count + 1) / 4 - 1.96 * math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    low = max(0, math.floor(below))
    return statistics.median(means), means[low], means[len(means) - 1 - low]


def robust_ratio(ratios):
    """The same of ratios, on the scale of logarithms."""
    return tuple(map(math.exp, robust([math.log(ratio) for ratio in ratios])))


def first_line(argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError:
        return "unknown"
    return done.stdout.splitlines()[0].strip() if done.stdout.strip() else "unknown"


def package(name):
    return first_line(["pkg-config", "--modversion", name])


def machine():
    """Where the numbers are from."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": model.group(1) if model else platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": pages,
        "kernel": platform.release(),
        "compiler": first_line(["cc", "--version"]),
        "libc": " ".join(platform.libc_ver()),
        "libfabric": package("libfabric"),
        "protobuf-c": package("libprotobuf-c"),
        "hdf5": package("hdf5-serial") if package("hdf5-serial") != "unknown" else package("hdf5"),
        "commit": first_line(["git", "describe", "--always", "--dirty", "--tags"]),
        "load": os.getloadavg()[0],
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
