# SPDX-License-Identifier: BSD-3-Clause
"""Every single allocation of our own code fails once: the program says so and ends with a code other
than 0, or what it wrote is the same as without, or the loss is counted. It never crashes and never
hangs. First vampire with a generator, then joined to a pool manager, then the pool manager. (Both
ends of the wire, in all numbers and with sanitizers: tests/unit/api_allocation_faults_test.c.)

Told apart by the address the call came from: what HDF5, libfabric, protobuf-c and jansson allocate
for themselves does not fail here, since several of them end the process then."""

import concurrent.futures
import itertools
import os
import random
import re
import resource
import signal
import subprocess

import pytest

import harness
import results

pytestmark = pytest.mark.skipif(
    harness.MODE in ("asan", "tsan"), reason="sanitizers want to be preloaded first"
)
NOT_COMPARED = ("vampire_", "own_roundtrip")
SECONDS = 60
IN_CI = 20
LAST = 270


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return harness.build_preload("fail_allocation", tmp_path_factory.mktemp("shim"))


def preloaded(shim, program, **wishes):
    """The environment in which allocations of a program fail, but not those of HDF5, which is linked into it: its
    functions are next to each other, and so are their unlikely parts."""
    symbols = subprocess.run(["nm", "-S", harness.program(program)], capture_output=True, text=True, check=True).stdout
    code = re.findall(r"^(\w+) (\w+) [tT] H5\w+(\.cold)?$", symbols, re.MULTILINE)
    ranges = []
    for part in ("", ".cold"):
        places = [(int(place, 16), int(place, 16) + int(size, 16)) for place, size, suffix in code if suffix == part]
        ranges += [f"{min(places)[0]:x}-{max(places)[1]:x}"] if places else []
    return {"LD_PRELOAD": str(shim), "FAIL_NOT": " ".join(ranges), **wishes}


CONFIG = """{"statistics": {"bucket": "200ms"}, "outputs": [
  {"type": "hdf5", "directory": "."}, {"type": "jsonl", "path": "vampire.jsonl"},
  {"type": "recording", "directory": "."}]}"""


def run(directory, shim, fail_at, onwards=False):
    """A short synthetic workflow; (exit code, standard error)."""
    directory.mkdir()
    (directory / "config.json").write_text(CONFIG)
    argv = [harness.program("vampire"), "-c", "config.json", "-o", "source.type=synthetic", "-o", "source.steps=3"]
    environment = harness.clean_environment(preloaded(shim, "vampire", FAIL_ALLOCATION=str(fail_at)))
    if onwards:
        environment["FAIL_ONWARDS"] = "1"
    done = subprocess.run(argv, cwd=directory, env=environment, capture_output=True, text=True,
                          timeout=SECONDS, check=False, errors="replace")
    return done.returncode, done.stderr


def numbers(directory):
    """What was counted: every counter but those of vampire itself."""
    return counters(results.Hdf5Run(sorted(directory.glob("*.h5"))))


def counters(run):
    return {name: value for name, value in run.counters.items() if not name.startswith(NOT_COMPARED)}


def totals(counted):
    """Without the labels: what had no room for its own gave some of them up, or went to (other)."""
    return {name: sum(series.values()) for name, series in counted.items()}


def overflow(directory):
    run = results.Hdf5Run(sorted(directory.glob("*.h5")))
    return sum(sum(run.counters[name].values()) for name in ("vampire_series_overflow", "vampire_labels_given_up"))


def judge(directory, reference, fail_at, code, text):
    """What is wrong with this run; None when nothing is."""
    text = re.sub(r"^allocations \d+\n", "", text, flags=re.MULTILINE)
    if code not in (0, 1, 2):
        return f"allocation {fail_at}: ended with {code}: {text[-400:]}"
    if code != 0:
        said = "memory" in text.lower()
        return None if said else f"allocation {fail_at}: does not say that memory was short: {text[-400:]}"
    counted = numbers(directory)
    if counted != reference and (totals(counted) != totals(reference) or overflow(directory) == 0):
        return f"allocation {fail_at}: exit code 0 and other numbers"
    return None


def sweep(tmp_path, shim, some):
    """`some`: chooses from all numbers of allocations."""
    code, text = run(tmp_path / "reference", shim, 0)
    assert code == 0, text
    count = int(re.search(r"^allocations (\d+)$", text, re.MULTILINE)[1])
    assert count > 500, "the library is in place"
    reference = numbers(tmp_path / "reference")
    assert reference

    def one(job):
        fail_at, onwards = job
        directory = tmp_path / f"{fail_at}-{onwards}"
        try:
            wrong = judge(directory, reference, fail_at, *run(directory, shim, fail_at, onwards))
        except subprocess.TimeoutExpired:
            wrong = f"allocation {fail_at}: does not end"
        if wrong is None:
            subprocess.run(["rm", "-r", directory], check=True)
        return wrong

    jobs = list(itertools.product(some(range(1, count + 1)), (False, True)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        wrong = [text for text in workers.map(one, jobs) if text is not None]
    assert not wrong, f"{len(wrong)} of {len(jobs)}:\n" + "\n".join(wrong[:40])
    print(f"{len(jobs)} runs, each with an allocation that failed")


def test_some_allocations_fail(tmp_path, shim):
    """Most are of the start; the last ones are of buckets that are written, flushed and closed."""
    sweep(tmp_path, shim, lambda every: sorted({*random.Random(5).sample(every, IN_CI), *every[-LAST::27]}))


@pytest.mark.long
def test_every_allocation_fails(tmp_path, shim):
    sweep(tmp_path, shim, lambda every: every[:: harness.FAULT_STEP])


def test_too_little_address_space_to_start(tmp_path):
    vampire = harness.program("vampire")
    subprocess.run([vampire, "-q", "-o", "source.type=synthetic", "-o", "source.steps=1", "-o", "outputs.0.type=recording",
                    "-o", f"outputs.0.directory={tmp_path}"], check=True, cwd=tmp_path)
    (recording,) = tmp_path.glob("*.rec*")
    limit = 160 << 20
    done = subprocess.run([vampire, "-r", recording], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS,
                          check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert done.returncode == 1, done.stderr
    assert "limit of 160 MiB of address space (ulimit -v)" in done.stderr
    assert re.search(r"error: statistics: out of memory for .* CDOs", done.stderr), done.stderr


# ---------------------------------------------------------------- joined to a pool manager

MODULE = 1 << 48  # in a place: of lib/vampire/maestro.so
PROGRAMS = {"vampire": "vampire", "manager": "maestro-pool-manager"}
# What the sweep above does not reach.
FOLDERS = {"vampire": r"(maestro/\w+|vampire/live)/\w+\.c:", "manager": r"[a-z]+/\w+\.c:"}
PRODUCER = ["declare a", "size a 5000", "offer a", "withdraw a", "dispose a"]
CONSUMER = ["declare a", "require a", "demand a", "dispose a"]
SAYS = re.compile(r"memory|Out of|cannot|LOST|NOT WATCHED|error", re.IGNORECASE)


def faulty(shim, who, place, number, onwards):
    wish = preloaded(shim, PROGRAMS[who], FAIL_PLACE=place, FAIL_ALLOCATION=str(number))
    return {**wish, "FAIL_ONWARDS": "1"} if onwards else wish


def check_end(process, codes, code=None):
    """Its exit code, which must be one of `codes`; it may not crash. `code`: it is known already."""
    code = process.wait() if code is None else code
    assert code in codes, process.account()
    assert not re.search("Sanitizer|corrupted|double free", process.stderr), process.account()
    return code


def run_workflow(space, manager):
    """A consumer that waits for a producer; their exit codes."""
    def start(name, steps):
        argv = [harness.program("workflow_steps"), name, *steps]
        return space.start(argv, name, {"MSTRO_JOIN_TIMEOUT_MS": "5000"})

    consumer = start("consumer", CONSUMER)
    harness.wait_until(lambda: "done require" in consumer.stdout or not consumer.running(), "it waits or ends")
    producer_code = check_end(start("producer", PRODUCER), (0, 1))
    if producer_code != 0:
        manager.signal(signal.SIGTERM)  # the producer has failed, the consumer would wait for its offer
    return [producer_code, check_end(consumer, (0, 1))]


def live(who, environment):
    """A producer and a consumer, watched, while `who` lacks memory. What it said, whether all went
    well, and what was counted."""
    with harness.Workspace() as space:
        manager = process = space.pool_manager_that_may_fail(extra=environment if who == "manager" else None)
        if not manager.running():
            check_end(manager, (1, 2, 3))
            return process.stderr, False, None
        config = harness.vampire_config(bucket="200ms", source={"rejoin": "2s", "wait": "2s"})
        vampire = space.vampire(config, ready=False, extra=environment if who == "vampire" else None)
        process = vampire if who == "vampire" else manager
        harness.wait_until(lambda: space.hdf5_files() or not vampire.running(), "vampire joins or ends")
        codes = run_workflow(space, manager)
        assert who == "manager" or codes == [0, 0], "the other processes are not affected"
        codes.append(check_end(vampire, (0, 1, 2, 3, 4), vampire.wait_or_signal(signal.SIGINT, 10)))
        manager.signal(signal.SIGTERM)
        codes.append(check_end(manager, (0, 1, 2, 3)))
        fine = not any(codes) and not re.search("LOST|NOT WATCHED", vampire.stderr)
        counted = counters(results.Hdf5Run(space.hdf5_files())) if fine else {}
        # Times differ in each run.
        return process.stderr, fine, {name: sums for name, sums in counted.items() if not name.startswith(("blocked_", "held_back_"))}


def places_of(shim, who):
    """{place: (source line, how often)} of a run in which nothing fails; its numbers."""
    said, fine, counted = live(who, preloaded(shim, PROGRAMS[who], FAIL_LIST="1"))
    assert fine and counted, said
    found = re.findall(r"^place (\w+) (\d+)$", said, re.MULTILINE)
    places = {}
    for file, bit in ((harness.program(PROGRAMS[who]), 0), (harness.LIVE, MODULE)):
        of_file = [(place, count) for place, count in found if int(place, 16) & MODULE == bit]
        addresses = [hex((int(place, 16) & ~MODULE) - 1) for place, _ in of_file]
        lines = subprocess.run(["addr2line", "-e", file, *addresses], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=True).stdout.splitlines()
        places.update({place: (line, int(count)) for (place, count), line in zip(of_file, lines)
                       if re.search(FOLDERS[who], line)})
    assert len(places) > 5, found
    return places, counted


def judge_live(who, shim, reference, job):
    place, line, number, onwards = job
    what = f"{who}: {line} number {number}{', and all behind it' if onwards else ''}"
    try:
        said, fine, counted = live(who, faulty(shim, who, place, number, onwards))
    except AssertionError as wrong:
        return f"{what}: {wrong}"
    if fine and counted != reference:
        return f"{what}: other numbers, and no message says why\n{said[-3000:]}"
    if not fine and who == "vampire" and not SAYS.search(said):
        return f"{what}: does not say what is wrong\n{said[-3000:]}"
    return None


def sweep_live(shim, who, some):
    """`some` chooses from all jobs: (place, source line, number, whether all behind it fail)."""
    places, reference = places_of(shim, who)
    jobs = some([(place, line, number, onwards)
                 for place, (line, count) in sorted(places.items())
                 for number in range(1, count + 1)
                 for onwards in (False, True)])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        wrong = [text for text in workers.map(lambda job: judge_live(who, shim, reference, job), jobs)
                 if text is not None]
    assert not wrong, f"{len(wrong)} of {len(jobs)}:\n" + "\n".join(wrong[:20])
    print(f"{who}: {len(jobs)} runs over {len(places)} places in the code that allocate")


@pytest.mark.parametrize("who", PROGRAMS)
def test_some_allocations_of_a_live_run_fail(shim, who):
    """About six, spread over all; the long test below takes every one."""
    def some(jobs):
        step = len(jobs) // 6 + 1
        return jobs[step // 2 :: step]
    sweep_live(shim, who, some)


@pytest.mark.long
@pytest.mark.parametrize("who", PROGRAMS)
def test_every_allocation_of_a_live_run_fails(shim, who):
    sweep_live(shim, who, lambda jobs: jobs[:: harness.FAULT_STEP])
