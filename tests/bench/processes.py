# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's lines that need processes: whole pipelines, waiting. Every function
returns lines of results."""

import contextlib
import json
import os
import pathlib
import re
import statistics
import time

import h5py

import measure
from measure import harness

# So many that the start and the first touch of memory weigh little.
EVENTS, LIVE, COMPONENTS = 4000000, 100000, 40
ALL = {"statistics": {"max_cdos": 262144, "max_pending": 262144}, "outputs": [{"type": "null"}]}
SINGLE_MESSAGES = 500000
BATCH_EVENTS = 64      # of the pool manager's messages
IDLE_SECONDS = 10
# 10^4 events a second for ten minutes: 10^6 CDOs of 6 events, one after the other or all at once.
SCALE_SECONDS, SCALE_EVENTS, SCALE_COMPONENTS = 600, 6000000, 500
SCALES = (("scale", "10^6 CDOs, 1,000 at a time", 1000), ("scale.live", "10^6 CDOs at a time", 1000000))
WATCH_SECONDS = 0.02


def record(directory, name, *more, events=EVENTS, live=LIVE, components=COMPONENTS, step=10000):
    """A recording of the made-up stream; made once. `more` are options of its maker."""
    path = pathlib.Path(directory) / f"{name}.rec"
    if not path.exists():
        measure.run([measure.bench_program("stages"), "--record", path, "--events", events,
                     "--live", live, "--components", components, "--step", step, *more], directory)
    return path


def write_config(directory, name, config):
    path = pathlib.Path(directory) / f"{name}.json"
    path.write_text(json.dumps(config))
    return path


def replay(directory, recording, config, one_core):
    argv = [harness.program("vampire"), "-q", "-c", config, "--replay", recording]
    return measure.run(argv, directory, one_core=one_core)[0]


def unpack_ns(directory, one_core=True):
    """protobuf-c's bare unpack of the same stream, in ns for an event."""
    argv = [measure.bench_program("stages"), "--pairs", "1", "unpack"]
    return json.loads(measure.run(argv, directory, one_core=one_core)[1])["median"]


def start_account(directory, config):
    """What starting and ending cost: a replay of hardly anything."""
    recording = record(directory, "start", events=1000, live=100)
    runs = [replay(directory, recording, config, True) for _ in range(measure.PAIRS)]
    return {"start_seconds": statistics.median(a.seconds for a in runs),
            "start_cpu_seconds": statistics.median(a.cpu_seconds for a in runs)}


def replay_lines(directory):
    """On one core in processor time, like the baseline: with others on that core, elapsed time says
    how many they are. On two cores in elapsed time, since the threads work at the same time."""
    recording = record(directory, "stream")
    config = write_config(directory, "replay", ALL)
    start = start_account(directory, config)
    lines = []
    for name, one_core, what in (
            ("replay", True, "whole pipeline from a recording, all metrics, one core, start and "
             "end included"),
            ("replay.cores", False, "the same on two cores")):
        accounts, bases = [], []
        for _ in range(measure.PAIRS):
            bases.append(unpack_ns(directory))
            accounts.append(replay(directory, recording, config, one_core))
        used = [a.cpu_seconds * 1e9 / EVENTS for a in accounts]
        elapsed = [a.seconds * 1e9 / EVENTS for a in accounts]
        times = used if one_core else elapsed
        lines.append(measure.line(
            name, what, "ns/event", times, "protobuf-c's bare unpack, same arena", bases, accounts,
            clock="processor" if one_core else "elapsed",
            events_per_second=1e9 / statistics.median(times), events=EVENTS, live=LIVE,
            cpu_ns_per_event=statistics.median(used),
            elapsed_ns_per_event=statistics.median(elapsed),
            elapsed_events_per_second=1e9 / statistics.median(elapsed), **start))
    return [*lines, cdo_line(directory, config)]


def cdo_line(directory, config):
    """Everything that a live CDO takes, and what is in flight of it: the difference of two replays.
    The peak of a process is at least that of this one, from which it was forked."""
    pairs = [[replay(directory, record(directory, name, live=live), config, True)
              for name, live in (("stream", LIVE), ("twice", 2 * LIVE))]
             for _ in range(measure.PAIRS)]
    return measure.line(
        "replay.cdo", f"resident memory for each CDO that {2 * LIVE:,} live ones are more than {LIVE:,}, "
        "in a replay", "bytes/CDO",
        [(more.peak_bytes - less.peak_bytes) / LIVE for less, more in pairs],
        accounts=[account for pair in pairs for account in pair])


@contextlib.contextmanager
def relayed(events, live, rate, config, directory, per_message=BATCH_EVENTS, build=harness.BUILD):
    """A relay and a vampire that has joined it, both of one build."""
    with harness.Workspace(directory=directory, provider="tcp") as space:
        space.environment["MSTRO_WORKFLOW_NAME"] = "bench"
        relay = space.start([build / "bench" / "relay", events, live, rate, per_message], "relay")

        def info():
            for text in relay.stdout.splitlines():
                if text.startswith(harness.INFO_MARK):
                    return text.split(";")[1]
            return None

        space.environment["MSTRO_POOL_MANAGER_INFO"] = harness.wait_until(info, "the relay", 60)
        path = write_config(space.path, "vampire", config)
        began = time.monotonic()
        vampire = space.start([build / "bin" / "vampire", "-c", path, "-o", "source.signal_before=off",
                               "-o", "source.leave_grace=0s"], "vampire")
        yield relay, vampire, began


def relay_report(relay):
    relay.expect_exit(0, 60)
    return json.loads(relay.stdout.splitlines()[-1])


def over_tcp(directory, events, live, rate, config, per_message=BATCH_EVENTS, build=harness.BUILD):
    """(vampire's account, the relay's report, what vampire said at its end)."""
    with relayed(events, live, rate, config, directory, per_message, build) as (relay, vampire, began):
        account = measure.reap(vampire, began)
        return account, relay_report(relay), vampire.stderr


LOST_EVENTS = re.compile(r"LOST +([\d,]+) events")


def tcp_line(directory, name, what, events, per_message):
    recording = record(directory, "stream")
    replay_config = write_config(directory, "replay", ALL)
    accounts, times, bases, reports, lost = [], [], [], [], 0
    for _ in range(measure.PAIRS):
        bases.append(replay(directory, recording, replay_config, False).seconds * 1e9 / EVENTS)
        account, report, said = over_tcp(directory, events, LIVE, 0, ALL, per_message)
        accounts.append(account)
        reports.append(report)
        times.append(account.seconds * 1e9 / events)
        lost += sum(int(count.replace(",", "")) for count in LOST_EVENTS.findall(said))
    sent = statistics.median(r["cpu_seconds"] / r["events_sent"] for r in reports)
    return measure.line(
        name, what, "ns/event", times, "whole pipeline from a recording", bases, accounts,
        events_per_second=1e9 / statistics.median(times), lost=lost,
        events_per_message=reports[0]["events_sent"] / reports[0]["messages"],
        pool_manager_cpu_ns_per_event=sent * 1e9,
        cpu_ns_per_event=statistics.median(a.cpu_seconds for a in accounts) * 1e9 / events)


def tcp_lines(directory):
    what = "whole pipeline over TLS from a pool manager, until the last event is counted"
    return [tcp_line(directory, "tcp", what, EVENTS, BATCH_EVENTS),
            tcp_line(directory, "tcp.single", f"{what}, one event a message", SINGLE_MESSAGES, 1)]


def burst_lines(directory):
    """100,000 events in 50 ms into default settings."""
    events, lost, of_queue, took = 100000, [], [], []
    for _ in range(measure.PAIRS):
        with harness.Workspace() as space:
            config = {"outputs": [{"type": "hdf5"}, {"type": "jsonl", "path": "vampire.jsonl"}]}
            _, report, _ = over_tcp(space.path, events, 1000, 2000000, config)
            lines = (space.path / "vampire.jsonl").read_text().splitlines()
        end = next(json.loads(text) for text in reversed(lines) if '"end"' in text)
        received = find_number(end, "received")
        lost.append(report["events"] - received)
        of_queue.append(report["lost"])
        took.append(report["seconds"])
    return [measure.line(
        "burst", "100,000 events in a burst into default settings: lost", "events", lost,
        lost_in_pool_manager=statistics.median(of_queue), seconds=statistics.median(took))]


def find_number(record_, key):
    """The first value of this name anywhere in a JSON object."""
    if isinstance(record_, dict):
        if key in record_:
            return record_[key]
        record_ = list(record_.values())
    if isinstance(record_, list):
        for item in record_:
            found = find_number(item, key)
            if found is not None:
                return found
    return None


# ---------------------------------------------------------------- being there


def thread_switches(pid):
    """Times any thread of the process went to sleep by itself: as often it was woken."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            for text in (task / "status").read_text().splitlines():
                if text.startswith("voluntary_ctxt_switches"):
                    total += int(text.split()[1])
    return total


def thread_times(pid):
    """Seconds that the threads of a process have run, and have been ready and waited for a core: the
    scheduler's own account, since ticks are too coarse for threads that sleep."""
    ran = waited = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            numbers = (task / "schedstat").read_text().split()
            ran, waited = ran + int(numbers[0]), waited + int(numbers[1])
    return ran / 1e9, waited / 1e9


def resident_bytes(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def await_settled(pid, looks=10):
    """Its start is over once its memory is the same at so many looks in a row."""
    seen = []

    def same():
        seen.append(resident_bytes(pid))
        return len(seen) >= looks and len(set(seen[-looks:])) == 1

    harness.wait_until(same, "memory that stays the same")


def watch(pid, seconds):
    """Wake-ups a second and share of a core over a while."""
    switches, used, began = thread_switches(pid), thread_times(pid)[0], time.monotonic()
    time.sleep(seconds)
    length = time.monotonic() - began
    return (thread_switches(pid) - switches) / length, (thread_times(pid)[0] - used) / length


def anonymous_bytes(pid):
    """Resident memory that is no file's: without the pages of programs and libraries."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Anonymous:\s+(\d+) kB", text, re.MULTILINE).group(1)) * 1024


def alone_bytes(output):
    """Resident and anonymous memory of a vampire whose source needs no provider and yields almost
    nothing."""
    with harness.Workspace() as space:
        vampire = space.vampire({"source": {"type": "synthetic", "speed": 1, "step": "1h"},
                                 "outputs": [{"type": output}]}, ready=False)
        harness.wait_until(lambda: any(space.path.glob("vampire-*")), "its file is there", 60)
        await_settled(vampire.child.pid)
        return resident_bytes(vampire.child.pid), anonymous_bytes(vampire.child.pid)


def idle_lines(_directory):
    alone, anonymous = alone_bytes("hdf5")
    plain, _ = alone_bytes("jsonl")
    with harness.Workspace() as space:
        space.pool_manager()
        vampire = space.vampire({"outputs": [{"type": "hdf5"}]})
        await_settled(vampire.child.pid)
        wakeups, share = watch(vampire.child.pid, IDLE_SECONDS)
        resident = resident_bytes(vampire.child.pid)
    return [
        measure.line("idle.wakeups", "wake-ups of all threads, joined and idle", "1/s", [wakeups]),
        measure.line("idle.cpu", "share of a core, joined and idle", "%", [100 * share]),
        measure.line("idle.memory", "resident memory of vampire, joined and idle", "MiB",
                     [resident / 2**20], alone_mib=alone / 2**20, alone_anonymous_mib=anonymous / 2**20,
                     alone_without_hdf5_mib=plain / 2**20),
    ]


def pace_lines(directory):
    """Share of a core at a low rate."""
    rate, shares, wakeups = 1000, [], []
    folder = pathlib.Path(directory) / "pace"
    folder.mkdir()
    config = {"outputs": [{"type": "hdf5", "directory": str(folder)}]}
    with relayed(rate * (IDLE_SECONDS + 12), 1000, rate, config, directory) as (_, vampire, _began):
        harness.wait_until(lambda: any(folder.iterdir()), "vampire has joined")
        for _ in range(measure.PAIRS + 1):
            woken, share = watch(vampire.child.pid, IDLE_SECONDS / measure.PAIRS)
            shares.append(100 * share)
            wakeups.append(woken)
    # The first one holds the end of the start.
    del shares[0], wakeups[0]
    return [measure.line("pace.1000", "share of a core at 1,000 events a second", "%", shares,
                         wakeups_per_second=statistics.median(wakeups))]


# ---------------------------------------------------------------- size and scale


HISTOGRAM_COLUMNS = ("count", "sum", "min", "max", "entries", "bin", "bin_count")


def file_lines(directory):
    """Bytes on disk for each histogram row that has values."""
    events = 1000000
    recording = record(directory, "rows", events=events, live=10000)
    folder = pathlib.Path(directory) / "rows"
    folder.mkdir()
    config = write_config(directory, "rows", {"outputs": [{"type": "hdf5",
                                                           "directory": str(folder)}]})
    account = replay(folder, recording, config, False)
    rows, stored, buckets, size = 0, 0, 0, 0
    for path in folder.glob("vampire-*.h5"):  # a new one when the series have outgrown the first
        with h5py.File(path, "r") as file:
            for group in (item for item in file.values() if isinstance(item, h5py.Group)):
                for metric in (name.removesuffix("_entry") for name in group if name.endswith("_entry")):
                    rows += int((group[f"{metric}_count"][...] > 0).sum())
                    stored += sum(group[f"{metric}_{column}"].id.get_storage_size() for column in HISTOGRAM_COLUMNS)
            buckets += file["time"].shape[0]
        size += path.stat().st_size
    return [measure.line("rows", "bytes in the HDF5 file for each non-empty histogram row", "bytes",
                         [stored / rows], accounts=[account], rows=rows, buckets=buckets,
                         file_bytes=size, whole_file_bytes_per_row=size / rows)]


def lost_in(output):
    """Events and CDOs that vampire says it lost."""
    lost = 0
    with open(output, encoding="utf-8") as texts:
        for text in texts:
            item = json.loads(text)
            if item.get("metric") in ("vampire_lost", "vampire_evicted"):
                lost += item["delta"]
    return lost


def scale_line(directory, name, what, live):
    """10^4 events a second for ten minutes of event time, as fast as it goes."""
    recording = record(directory, name, "--brief", events=SCALE_EVENTS, live=live,
                       components=SCALE_COMPONENTS,
                       step=SCALE_SECONDS * 1000000000 // SCALE_EVENTS)
    output = pathlib.Path(directory) / f"{name}.jsonl"
    config = write_config(directory, name, {
        "statistics": {"max_cdos": 1 << 20, "max_pending": 1 << 20},
        "outputs": [{"type": "jsonl", "path": str(output), "metrics": ["vampire_*"]}]})
    argv = [harness.program("vampire"), "-q", "-c", config, "--replay", recording]
    resident = []
    account = measure.run(argv, directory, watch=lambda pid: resident.append(resident_bytes(pid)),
                          watch_seconds=WATCH_SECONDS)[0]
    recording.unlink()
    # What comes and goes with the buckets that wait for the output is no growth, nor is the end; room for
    # two such buckets at a time is taken at some moment of the first half.
    quarter = len(resident) // 4
    usual = [int(statistics.median(resident[i * quarter:(i + 1) * quarter])) for i in range(4)]
    return measure.line(
        name, f"500 components, {what}, ten minutes at 10^4 events a second: growth of resident "
        "memory from the third quarter to the last", "%", [100 * (usual[3] / usual[2] - 1)],
        accounts=[account], lost=lost_in(output), resident_bytes=usual, looks=len(resident),
        events_per_second=SCALE_EVENTS / account.seconds)


def scale_lines(directory):
    return [scale_line(directory, *scale) for scale in SCALES]


# In the order of a full run. A line's name begins with its key.
ALL_LINES = {
    "replay": replay_lines,
    "tcp": tcp_lines,
    "burst": burst_lines,
    "idle": idle_lines,
    "pace": pace_lines,
    "rows": file_lines,
    "scale": scale_lines,
}
