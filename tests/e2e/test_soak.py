# SPDX-License-Identifier: BSD-3-Clause
"""It runs for weeks: hours of events at full speed through files that rotate. Memory and descriptors
stay flat, no bucket is missing or comes twice, and every sum over the files is exact."""

import json
import sys

import h5py
import pytest

import harness
import results
from rows import File
from test_rejoin import descriptors, resident_kib
from test_workflow import KIB, assert_complete, model_options, runs_of

sys.path.insert(0, str(harness.ROOT / "tests" / "oracle"))
import compare

PRODUCERS, BURST = 2, 2
LOOKS_LEAST = 300  # of memory: half a minute
# What an allocator may keep; anything that grows with the events would be far above.
MAY_GROW_KIB = 8 * 1024  # what waits for outputs grows when the machine has other work


def settings(directory, steps, bucket, rotate):
    """Rotation by time, and by size for one of them."""
    return {
        "source": {"type": "synthetic", "steps": steps, "producers": PRODUCERS, "burst": BURST},
        "statistics": {"bucket": bucket},
        "outputs": [
            {"type": "hdf5", "directory": str(directory), "rotate": {"interval": rotate}},
            {"type": "jsonl", "directory": str(directory), "rotate": {"size": "3MiB"}},
            {"type": "recording", "directory": str(directory), "rotate": {"interval": rotate}},
        ],
    }


class Sums:
    """What the segments of one output contain, one after the other."""

    def __init__(self):
        self.buckets, self.segments = 0, 0
        self.delta, self.value = {}, {}
        self.ended = False

    def take_hdf5(self, path):
        with h5py.File(path, "r") as file:
            self.take_numbers(file["bucket_number"][...].tolist())
            run = File(file)
            for label, entries in zip(run.labels("pool_operations"), run.entries("pool_operations")):
                self.delta[label] = self.delta.get(label, 0) + sum(delta for _, delta in entries)
                self.value[label] = entries[-1][0]
            self.take_end(int(file["how_ended"][()]) == 2)

    def take_json(self, path):
        numbers, last = [], None
        with open(path, encoding="utf-8") as lines:
            for last in map(json.loads, lines):
                if last["type"] == "bucket":
                    numbers.append(last["bucket"])
                for row in last["values"].get("pool_operations", ()) if last["type"] == "values" else ():
                    label = row["component"], row["operation"]
                    self.delta[label] = self.delta.get(label, 0) + row["delta"]
                    self.value[label] = row["value"]
        self.take_numbers(numbers)
        assert last["type"] == "end"
        self.take_end(last["reason"] != "rotated")

    def take_numbers(self, numbers):
        assert numbers == list(range(self.buckets, self.buckets + len(numbers))), "no hole, none twice"
        assert numbers, "no segment without a bucket"
        self.buckets += len(numbers)
        self.segments += 1

    def take_end(self, ended):
        assert not self.ended, "nothing comes after the last segment"
        self.ended = ended

    def check(self, steps):
        assert self.ended
        assert self.value == self.delta, "what is counted in the buckets is what the totals say"
        operations = {}
        for (_, operation), count in self.value.items():
            operations[operation] = operations.get(operation, 0) + count
        each = PRODUCERS * BURST * steps
        for operation in ("seal", "offer", "require", "demand", "withdraw", "transport_init", "transport_completed"):
            assert operations[operation] == each, operation
        for operation in ("declare", "dispose"):
            assert operations[operation] == 2 * each, operation


def run_and_take(space, steps, bucket, rotate):
    """Segments are taken and removed once the next one is there, as one would on a machine that runs
    for weeks. Returns the sums, and descriptors and resident KiB over time."""
    directory = space.path / "files"
    directory.mkdir()
    sums, sizes, recordings = {"h5": Sums(), "jsonl": Sums()}, [], set()
    vampire = space.vampire(settings(directory, steps, bucket, rotate), ready=False)

    def take(ending, kept):
        """All but the newest."""
        files = sorted(directory.glob(f"*.{ending}"))
        for path in files[: len(files) - kept]:
            getattr(sums[ending], {"h5": "take_hdf5", "jsonl": "take_json"}[ending])(path)
            path.unlink()

    def ended():
        try:
            sizes.append((descriptors(vampire), resident_kib(vampire)))
        except (OSError, StopIteration):
            pass  # it ended meanwhile
        running = vampire.running()
        for ending in sums:
            take(ending, 2 if running else 0)
        recordings.update(path.name for path in directory.glob("*.rec"))
        for name in sorted(recordings)[:-2]:
            (directory / name).unlink(missing_ok=True)
        return not running

    harness.wait_until(ended, "the run ends", 3600)
    vampire.expect_exit(0)
    for one in sums.values():
        one.check(steps)
    numbers = sorted(int(name.split("-")[-1].split(".")[0]) for name in recordings)
    assert numbers[-1] >= sums["h5"].segments - 1, "the recording has rotated, too"
    assert sums["h5"].buckets == sums["jsonl"].buckets
    assert sums["h5"].value == sums["jsonl"].value
    return sums, sizes


def assert_flat(sizes):
    """From the first third on. A file more is open for a moment at a rotation."""
    third = len(sizes) // 3
    early, late = sizes[third : 2 * third], sizes[2 * third :]
    print(f"{len(sizes)} looks; descriptors at most {max(s[0] for s in early)}, then {max(s[0] for s in late)}; "
          f"resident KiB at most {max(s[1] for s in early)}, then {max(s[1] for s in late)}")
    assert max(size[0] for size in late) <= max(size[0] for size in early) + 4
    # A short run ends before its queues are as full as they get: it has looks enough for descriptors only.
    if harness.MODE == "release" and len(sizes) >= LOOKS_LEAST:
        assert max(size[1] for size in late) <= max(size[1] for size in early) + MAY_GROW_KIB


def test_an_hour(space):
    sums, sizes = run_and_take(space, 3600, "10s", "5min")
    assert sums["h5"].buckets == 361 and sums["h5"].segments >= 12 and sums["jsonl"].segments >= 3
    assert_flat(sizes)


@pytest.mark.long
def test_three_days(space):
    sums, sizes = run_and_take(space, 3 * 86400, "10s", "1h")
    print({ending: one.segments for ending, one in sums.items()})
    assert sums["h5"].buckets == 3 * 8640 + 1 and sums["h5"].segments >= 72
    assert_flat(sizes)


@pytest.mark.long
def test_an_hour_against_the_oracle(space):
    """Each value of each bucket of each segment."""
    made = settings(space.path, 3600, "1s", "10min")
    made["outputs"][2] = {"type": "recording", "directory": str(space.path)}
    made["outputs"][1]["rotate"] = {"interval": "10min"}
    space.vampire(made, ready=False).expect_exit(0, 600)
    files = {ending: sorted(space.path.glob(f"vampire-*.{ending}")) for ending in ("h5", "jsonl", "rec")}
    assert len(files["h5"]) == len(files["jsonl"]) == 7 and len(files["rec"]) == 1
    found = compare.differences_of_run(files["rec"], files["h5"], files["jsonl"])
    assert not found, "\n".join(line[:400] for line in found[:20])
    assert sum(compare.count_hdf5(path) for path in files["h5"]) == 3601


@pytest.mark.long
def test_a_hundred_workflows(space):
    """One pool manager and one vampire, workflows that come and go: nothing of them stays behind."""
    manager = space.pool_manager()
    made = harness.vampire_config(source={"leave_grace": "600s"})
    made["outputs"][0]["rotate"] = {"interval": "10s"}
    vampire = space.vampire(made)
    reports, sizes = [], []
    for _ in range(100):
        for path in space.path.glob("product-*.ready"):
            path.unlink()
        workflow = harness.Workflow(space, model_options=model_options(20, 3, 2, 64, 4 * KIB, 0))
        reports += workflow.finish()
        assert_complete(reports[-4:])
        sizes.append([(descriptors(one), resident_kib(one)) for one in (manager, vampire)])
    vampire.signal(15)
    vampire.expect_exit(0)
    totals = {}
    for report in reports:
        mine = totals.setdefault(report["component"], dict.fromkeys(report["operations"], 0))
        for operation, count in report["operations"].items():
            mine[operation] += count
    for run in runs_of(space).values():
        counted = run.counters["pool_operations"]
        for component, operations in totals.items():
            for operation, count in operations.items():
                assert counted.get((component, operation), 0) == count, (component, operation)
    for who, name in enumerate(("pool manager", "vampire")):
        print(f"{name}: descriptors and resident KiB after 1, 10, 33, 66, 100: "
              f"{[sizes[after - 1][who] for after in (1, 10, 33, 66, 100)]}")
        assert sizes[-1][who][0] <= sizes[9][who][0] + 2
        # Rows of the component table, and each file that is larger than the one before.
        assert sizes[-1][who][1] <= sizes[32][who][1] + 2 * MAY_GROW_KIB
