#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests of one build: unit and conformance programs, then the end-to-end tests.

Each program and each end-to-end test is a process of its own with a deadline; the tests of a file marked "together",
which share what they examine, are one process. Two run at a time for each processor, and one more: most tests wait.
End-to-end tests are forked from a process that has loaded pytest and the large modules, because importing them took a
tenth of the time of all tests. The ten slowest tests are listed at the end. The last line is "N passed, N failed"
(", N skipped" if any).
"""

import argparse
import atexit
import concurrent.futures
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent
UNIT_SECONDS = 60
E2E_SECONDS = 600
PYTHON = "/usr/bin/python3"  # Debian's modules are there
SLOWER = {"asan": 3, "tsan": 6, "debug": 1.5, "cov": 2}
# The end-to-end tests of a mode: all, with the address sanitizer those of ASAN_FILES, with the thread sanitizer those
# marked "threads".
E2E_MARKS = {"asan": "not plain and not long", "tsan": "threads and not long"}
E2E_MARK = "not long"
# Where input is hostile, memory short or state complex. The rest runs the same code on ordinary input.
ASAN_FILES = """
alarm_actions alarm_scenario alarms allocation_faults arrivals attributes component_deaths config declared_live
fabric_faults failing_calls failures files filters hostile influx kills names oracle outputs prometheus rejoin reload
samples sampling slow_vampire soak syslog time together trace_otf2 who_and_where workflow
""".split()
# The files with the slowest tests, which start first so that none of them is left for the end.
SLOWEST_FILES = """
package examine report hdf5_readers python_package hostile install fabric_faults oracle kills diagnosis trace meanings ladder damage
prometheus nats rejoin slow_vampire bench otlp ends report_page
""".split()
LONG_SECONDS = 4 * 3600
SUMMARY_LINES = 25
REPEATED_AT_MOST = 5
SLOWEST_SHOWN = 10
FORKS = multiprocessing.get_context("forkserver")
FORKS_LOCK = threading.Lock()  # start() looks at the end of every other child, which only one may read
PRELOADED = ["pytest", "numpy", "h5py", "h5netcdf", "xarray"]
ENDED = "test ended:"
TEST_ENDED = re.compile(rf"^{ENDED} (\w+) ([\d.]+) (.+)\n", re.MULTILINE)
TAP_LINE = re.compile(r"^(not )?ok\b.*?(# *SKIP.*)?$", re.MULTILINE | re.IGNORECASE)
TAP_PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []  # (name, output)
        self.unsteady = []
        self.times = []  # (seconds, name)
        self.lock = threading.Lock()

    def add(self, name, seconds, passed, failed, skipped, output):
        with self.lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped
            self.times.append((seconds, name))
            word = "FAIL" if failed else "ok" if passed else "skip"
            count = f" {passed}" if passed > 1 else ""
            print(f"{word:4}{count:>4}  {name} ({seconds:.1f} s)", flush=True)
            if failed:
                self.failures.append((name, output))
                print(output.rstrip() + f"\n---- end of {name}", flush=True)
            elif skipped:
                reasons = re.findall(r"(?:^SKIPPED .*?: |# *SKIP +)(.+)$", output, re.MULTILINE)
                for reason in sorted(set(reasons)):
                    print(f"          {reason}", flush=True)

    def take_back(self, name):
        """One failure of an end-to-end test that is about to be repeated."""
        with self.lock:
            self.failed -= 1
            self.failures = [failure for failure in self.failures if failure[0] != name]

    def summary(self):
        """The slowest tests, and the failures once more, where a reader of a long log looks first."""
        print("slowest:")
        for seconds, name in sorted(self.times, reverse=True)[:SLOWEST_SHOWN]:
            print(f"    {seconds:6.1f} s  {name}")
        for name, output in self.unsteady:
            print(f"UNSTEADY  {name}: failed among the others, passed alone")
            for line in re.findall("^E  .*", output, re.MULTILINE)[:SUMMARY_LINES]:
                print(f"    {line}")
        for name, output in self.failures:
            print(f"FAILED  {name}")
            for line in output.rstrip().splitlines()[-SUMMARY_LINES:]:
                print(f"    {line}")
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        print(f"{self.passed} passed, {self.failed} failed{skipped}")


def run(argv, seconds, environment):
    """Exit code (None: too slow), output and time."""
    began = time.monotonic()
    child = subprocess.Popen(
        argv,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = child.communicate(timeout=seconds)
        code = child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        output += f"\nended after {seconds:.0f} s without a result\n".encode()
        code = None
    return code, output.decode(errors="replace"), time.monotonic() - began


def test_environment(mode, **more):
    """The environment of sanitizers and tests."""
    environment = dict(os.environ, **more)
    environment["ASAN_OPTIONS"] = "exitcode=99:detect_stack_use_after_return=1"
    environment["LSAN_OPTIONS"] = f"exitcode=99:print_suppressions=0:suppressions={TESTS}/lsan.supp"
    environment["UBSAN_OPTIONS"] = "print_stacktrace=1:exitcode=99"
    environment["TSAN_OPTIONS"] = "exitcode=99:second_deadlock_stack=1"
    environment["MODE"] = mode
    return environment


def starts_threads(path):
    """The thread sanitizer has nothing to find in a program that cannot start a thread."""
    undefined = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True).stdout
    return re.search(r" (pthread_create|getaddrinfo_a)\b", undefined) is not None


def run_unit(tally, mode, source):
    name = f"{source.parent.name}/{source.stem}"
    path = ROOT / "build" / mode / name
    if not path.exists():
        tally.add(name, 0, 0, 1, 0, f"{path} has not been built")
        return
    if mode == "tsan" and not starts_threads(path):
        return
    environment = test_environment(mode, CMOCKA_MESSAGE_OUTPUT="TAP")
    code, output, seconds = run([str(path)], UNIT_SECONDS * SLOWER.get(mode, 1), environment)
    lines = list(TAP_LINE.finditer(output))
    # cmocka writes a skipped test as "not ok N # SKIP".
    skipped = sum(1 for line in lines if line.group(2))
    failed = sum(1 for line in lines if line.group(1) and not line.group(2))
    passed = len(lines) - failed - skipped
    if re.search(r"^1\.\.0\b.*# *SKIP", output, re.MULTILINE | re.IGNORECASE) and code == 0:
        tally.add(name, seconds, 0, 0, 1, output)  # the whole program, and it says why
        return
    planned = sum(int(plan) for plan in TAP_PLAN.findall(output))
    if code is not None and code < 0:
        output += f"\nended by signal {-code}\n"
    # A crash or a sanitizer's report fails the test during which it came.
    failed = max(failed, planned - len(lines), 1 if code != 0 or not lines else 0)
    tally.add(name, seconds, passed, failed, skipped, output)


class Reporter:
    """A line for each test that has come to its end, between what the tests print."""

    def __init__(self):
        self.seconds, self.outcome = 0, "passed"

    def pytest_runtest_logreport(self, report):
        self.seconds += report.duration
        self.outcome = report.outcome if report.outcome != "passed" else self.outcome
        if report.when == "teardown":
            print(f"\n{ENDED} {self.outcome} {self.seconds:.1f} {report.nodeid}", flush=True)
            self.__init__()


def test_some(nodes, environment, output):
    """In a forked process: some tests, with all they print in the file `output`."""
    os.setsid()
    os.chdir(ROOT)
    os.environ.update(environment)
    sys.dont_write_bytecode = True
    for path, flags, numbers in ((os.devnull, os.O_RDONLY, (0,)), (output, os.O_WRONLY | os.O_APPEND, (1, 2))):
        for number in numbers:
            os.dup2(os.open(path, flags), number)
    import pytest  # is there already

    options = ["-q", "--no-header", "-rs", "--tb=short", "-p", "no:cacheprovider"]
    code = pytest.main([*options, *nodes], plugins=[Reporter()])
    atexit._run_exitfuncs()  # a forked process ends without: pytest removes its locks there
    sys.exit(code)


def run_forked(nodes, seconds, environment):
    """As run() does: exit code (None: too slow), output and time."""
    began = time.monotonic()
    with tempfile.NamedTemporaryFile(prefix="vampire-test-") as output:
        child = FORKS.Process(target=test_some, args=(nodes, environment, output.name))
        with FORKS_LOCK:
            child.start()
        ended = multiprocessing.connection.wait([child.sentinel], seconds)
        if not ended:
            os.killpg(child.pid, signal.SIGKILL)
        with FORKS_LOCK:
            child.join()
            code = child.exitcode if ended else None
        text = output.read().decode(errors="replace")
    if code is None:
        text += f"\nended after {seconds:.0f} s without a result\n"
    return code, text, time.monotonic() - began


def run_e2e(tally, mode, nodes, seconds=E2E_SECONDS):
    environment = test_environment(mode, PYTHONDONTWRITEBYTECODE="1")
    code, output, _ = run_forked(nodes, seconds * min(len(nodes), 4) * SLOWER.get(mode, 1), environment)
    ended = {node: (outcome, float(took)) for outcome, took, node in TEST_ENDED.findall(output)}
    output = TEST_ENDED.sub("", output)
    for node in nodes:
        outcome, took = ended.get(node, ("failed", 0))
        if code and len(nodes) == 1:
            outcome = "failed"  # also what came after its end
        tally.add(node.split("/")[-1], took, outcome == "passed", outcome == "failed", outcome == "skipped", output)
    if code and "failed" not in {outcome for outcome, _ in ended.values()} and ended.keys() >= set(nodes):
        tally.add(f"after {nodes[-1]}", 0, 0, 1, 0, output)


def groups_of(nodes):
    """Lists of tests, each for a process of its own: one test, or all of a file that says that they share what they
    look at."""
    found = {}
    for node in nodes:
        path = node.split("::")[0]
        shared = "pytest.mark.together" in (ROOT / path).read_text()
        found.setdefault(path if shared else node, []).append(node)
    return sorted(found.values(), key=start_order)


def file_of(node):
    """The name of a test's file as ASAN_FILES and SLOWEST_FILES have it."""
    return pathlib.Path(node.split("::")[0]).stem.removeprefix("test_")


def start_order(group):
    name = file_of(group[0])
    place = SLOWEST_FILES.index(name) if name in SLOWEST_FILES else len(SLOWEST_FILES)
    return place, -len(group)


def collect_e2e(mode, long):
    """(node ids, output of pytest if it failed)"""
    argv = [PYTHON, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    argv += ["-m", "long" if long else E2E_MARKS.get(mode, E2E_MARK)]
    environment = dict(os.environ, MODE=mode, PYTHONDONTWRITEBYTECODE="1")
    code, output, _ = run(argv + ["tests/e2e"], 60, environment)
    nodes = [line for line in output.splitlines() if "::" in line and not line.startswith(" ")]
    if mode == "asan" and not long:
        nodes = [node for node in nodes if file_of(node) in ASAN_FILES]
    return (nodes, "") if code == 0 else ([], output)


def repeat_failed(tally, mode):
    """Again, one at a time. What a sanitizer reported stays a failure, and so do many failures."""
    again = [
        (name, output) for name, output in tally.failures if "::" in name and "Sanitizer" not in output
    ]
    if len(again) > REPEATED_AT_MOST:
        return
    for name, output in again:
        tally.take_back(name)
        failed = tally.failed
        run_e2e(tally, mode, [f"tests/e2e/{name}"])
        if tally.failed == failed:
            tally.unsteady.append((name, output))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only tests whose name contains one of these")
    parser.add_argument("--mode", default="release", help="of the build: build/MODE")
    parser.add_argument("--only", choices=["unit", "e2e"])
    parser.add_argument("--seconds", type=int, help=f"after which an end-to-end test is ended ({E2E_SECONDS}; with --long {LONG_SECONDS})")
    parser.add_argument("--long", action="store_true", help="the end-to-end tests that take minutes or more, and no others")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count() + 1)
    parser.add_argument(
        "--repeat-failed",
        action="store_true",
        help="end-to-end tests that failed once more, alone: a loaded machine is not a defect of ours",
    )
    options = parser.parse_args()

    def wanted(name):
        return not options.names or any(part in name for part in options.names)

    absent = [name for name in ASAN_FILES + SLOWEST_FILES if not (TESTS / f"e2e/test_{name}.py").exists()]
    assert not absent, f"files that tests/run.py names and that do not exist: {absent}"
    tally = Tally()
    FORKS.set_forkserver_preload(PRELOADED)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
        jobs = []
        if options.only != "unit":
            nodes, trouble = collect_e2e(options.mode, options.long)
            if trouble:
                tally.add("collecting tests/e2e", 0, 0, 1, 0, trouble)
            for group in groups_of([node for node in nodes if wanted(node)]):
                seconds = options.seconds or (LONG_SECONDS if options.long else E2E_SECONDS)
                jobs.append(workers.submit(run_e2e, tally, options.mode, group, seconds))
        if options.only != "e2e" and not options.long:
            sources = sorted(TESTS.glob("unit/*_test.c")) + sorted(TESTS.glob("conformance/*_test.c"))
            for source in sources:
                if wanted(f"{source.parent.name}/{source.stem}"):
                    jobs.append(workers.submit(run_unit, tally, options.mode, source))
        for job in jobs:
            job.result()
    if options.repeat_failed:
        repeat_failed(tally, options.mode)
    tally.summary()
    return 0 if tally.failed == 0 and tally.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
