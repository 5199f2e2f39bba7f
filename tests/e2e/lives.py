# SPDX-License-Identifier: BSD-3-Clause
"""Random sequences of disturbances of a run ("lives"): reloads, rotation, signals, kills, a removed directory, losses, and other
runs of the same workflow at the same time.

The synthetic source produces the same events for the same seed. A recording of them is the expected result, to which the totals
and the buckets of all readers are compared."""

import collections
import dataclasses
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from harness import PATIENCE, ROOT, Workspace, config_text, program, wait_until

sys.path[:0] = [str(ROOT / "tests" / "oracle"), str(ROOT / "python")]
import stream
import vampire

SPEED = 10           # simulated seconds per second
STEP_NS = 200_000_000
COUNTED = ("pool_operations", "produced_bytes", "transports")
LEVELS = ("workflow", "model", "component", "cdo")
ANSWERED = re.compile(r"was read again \(number|the configuration stays as it was")


RECOVERY = "--recover"


@dataclasses.dataclass(frozen=True)
class Event:
    """An event of the source, or a control event for lost events."""

    time: int
    amounts: dict  # metric: amount
    lost: int = 0


def _event_of(item):
    if isinstance(item, stream.recording_pb2.Mark):
        return Event(item.time_ns, {}, item.count if item.kind == 30 else 0)
    kind, amounts = stream.KINDS[item.kind], {}
    if not item.before:
        amounts["pool_operations"] = 1
        if kind == "offer":
            amounts["produced_bytes"] = item.size_bytes
        elif kind == "transport_completed":
            amounts["transports"] = 1
    return Event(stream.time_of(item), amounts)


def truth_of(place, source):
    """The Events of a source, in the order in which vampire receives them."""
    config = place / "truth.json"
    config.write_text(json.dumps({"source": {**source, "speed": 0}, "outputs": [{"type": "recording", "directory": str(place)}]}))
    subprocess.run([program("vampire"), "-q", "-c", config], check=True, cwd=place)
    (path,) = place.glob("*.rec")
    _, items = stream.read(path)
    path.unlink()
    return [_event_of(item) for item in items]


def sums_of(events):
    """{metric: sum}"""
    sums = dict.fromkeys(COUNTED, 0)
    for event in events:
        for metric, amount in event.amounts.items():
            sums[metric] += amount
    return sums


class Life:
    """One sequence of disturbances. `log` lists them, for reports of failures."""

    def __init__(self, space, seed):
        self.random, self.space, self.log = random.Random(seed), space, []
        self.folder = space.path / "out"
        self.folder.mkdir()
        pick = self.random.choice
        self.source = {"type": "synthetic", "seed": seed + 1, "producers": pick((1, 2, 4)), "consumers": pick((1, 3)),
                       "steps": pick((20, 50)), "step": f"{STEP_NS // 10**6}ms", "speed": SPEED, "lost": pick((0, 0, 30))}
        self.truth = truth_of(space.path, self.source)
        self.reloads = 0

    def _config(self, name):
        pick = self.random.choice
        statistics = {"bucket": pick(("100ms", "200ms", "500ms")), "level": pick(LEVELS), "lateness": pick(("0s", "100ms"))}
        rotate = pick(({}, {}, {"rotate": {"interval": pick(("300ms", "1s"))}}))
        outputs = [{"type": "hdf5", "name": "files", "directory": str(self.folder), **rotate},
                   {"type": "jsonl", "name": "lines", "path": str(self.folder / f"{name}.jsonl"), **rotate}]
        if self.random.random() < 0.3:
            outputs.append({"type": "null", "name": f"null{self.random.randrange(100)}"})
        return {"workflow": "life", "source": self.source, "statistics": statistics, "outputs": outputs}

    def _write(self, name):
        made = self._config(name)
        (self.space.path / f"{name}.json").write_text(config_text(made))
        return made

    def _start(self, name):
        self._write(name)
        process = self.space.start([program("vampire"), "-c", self.space.path / f"{name}.json", "--ready-file",
                                    self.space.path / f"{name}.ready"], name)
        wait_until(lambda: (self.space.path / f"{name}.ready").exists() or not process.running(), f"{name} is ready")
        return process

    def _reload(self, process):
        made = self._write("one")
        self.log.append(f"reload {made['statistics']}")
        self.reloads += 1
        process.signal(signal.SIGHUP)
        wait_until(lambda: not process.running() or len(ANSWERED.findall(process.stderr)) >= self.reloads, "an answer to the reload")

    def _remove_directory(self):
        is_moved = self.random.random() < 0.5 and self.folder.exists()
        self.log.append("directory moved" if is_moved else "directory removed")
        if is_moved:
            self.folder.rename(self.space.path / f"moved-{len(self.log)}")
        while self.folder.exists():  # vampire may create files at the same time
            shutil.rmtree(self.folder, ignore_errors=True)
        time.sleep(self.random.uniform(0, 0.3))
        if self.random.random() < 0.7:
            self.log.append("directory is back")
            self.folder.mkdir()

    def run(self):
        """Runs the sequence. Returns the vampire process, which has ended."""
        process = self._start("one")
        other = self._start("two") if self.random.random() < 0.2 else None
        for _ in range(self.random.randrange(4)):
            time.sleep(self.random.uniform(0, 0.3))
            if not process.running():
                break
            if self.random.random() < 0.75:
                self._reload(process)
            else:
                self._remove_directory()
        end = self.random.choice((None, None, signal.SIGTERM, signal.SIGINT, signal.SIGKILL))
        if end is not None:
            time.sleep(self.random.uniform(0, 0.4))
            self.log.append(end.name)
            process.signal(end)
        process.wait(60 * PATIENCE)
        if other is not None:
            self.log.append("another run beside it")
            other.wait(60 * PATIENCE)
        files = [path for path in self.folder.rglob("*") if path.suffix == ".h5" or ".jsonl" in path.name] if self.folder.exists() else []
        if end is signal.SIGKILL and files:
            subprocess.run([program("vampire"), RECOVERY, *files], check=False, capture_output=True)
        return process

    # ---------------------------------------------------------------- what the readers report

    def differences(self, process):
        """Sentences about wrong reports of readers; empty if all are right."""
        if not self.folder.exists():
            return []
        found, runs = self._of_lines(process), collections.defaultdict(list)
        for path in sorted(self.folder.glob("*.h5")):
            try:
                runs[vampire.History(path).files[0].run].append(path)
            except vampire.Error as error:
                found.append(f"{path.name}: {error}")
        for paths in runs.values():
            found += self._of_python(paths)
        return found

    def _of_python(self, paths):
        history = vampire.History(paths)
        summary, found = vampire.summary(history), []
        sums = {metric: int(vampire.merge(history, metric)) for metric in COUNTED}
        numbers = history.numbers.tolist()
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        if len(set(numbers)) < len(numbers):
            found.append(f"a bucket number exists twice: {numbers}")
        widths = [1] * len(numbers)
        if "statistics_buckets" in history.column_names:
            widths = history.columns(["statistics_buckets"])["statistics_buckets"][0].astype(int).tolist()
        after = [(numbers[i] + widths[i]) for i in order]
        missing = sum(numbers[i] - end for i, end in zip(order[1:], after) if numbers[i] != end)  # between buckets
        before = numbers[order[0]] if order else 0  # number of buckets before the first one
        ends = [int(history.times[i] + history.bucket_ns[i]) for i in range(len(numbers))]
        file = history.files[-1]
        is_ended = file.state == "ended"
        received = summary.received + sum(summary.lost.values())
        if summary.buckets_missing != missing:
            found.append(f"buckets_missing {summary.buckets_missing}, numbers missing {missing}")
        if not numbers:
            return found
        if missing == 0 and before == 0:
            events = self._first(received)
            if sum(1 for event in events if event.time >= max(ends)):
                found.append("events are counted after the end of the last bucket")
            if sums != sums_of(events):
                found.append(f"total {sums} of {received} events; they have {sums_of(events)}")
            # A kill soon after a reload may leave the bucket that the reload divided without its second half.
            steps = [step.split()[0] for step in self.log if not step.startswith("another run")]
            is_cut = steps[-2:] == ["reload", "SIGKILL"]
            if not is_ended and not is_cut and events != [event for event in self.truth if event.time < max(ends)]:
                found.append("the events are not all those before the end of the last bucket")
            if is_ended and file.end_reason == "finished" and events != self.truth:
                found.append(f"{len(self.truth) - len(events)} events are missing without a word")
        if summary.whole and (missing or before or not is_ended or self.source["lost"] and sum(summary.lost.values())):
            found.append(f"whole, with {missing + before} buckets missing, state {file.state}, lost {summary.lost}")
        if is_ended and not missing and not before and not sum(summary.lost.values()) and not summary.whole:
            found.append(f"not whole: {summary.notes()}")
        if missing + before and all(text.find("bucket") < 0 and text.find("segment") < 0 for text in summary.notes()):
            found.append(f"{missing + before} buckets are missing and not named: {summary.notes()}")
        shown = self._of_summary(paths)
        if (missing or before) and "every event was counted" in shown:
            found.append(f"--summary: every event was counted, with {missing + before} buckets missing")
        counted = self._total(shown)
        expected = sums_of(self._first(received if not before else self._received(paths)))["pool_operations"]
        if counted != expected:
            found.append(f"--summary: {counted} operations; {expected} were received")
        return found

    def _of_lines(self, process):
        """The JSON lines of an undamaged life have the total that vampire printed at its end."""
        if any("directory" in text or text == "SIGKILL" for text in self.log):
            return []
        printed, read = (self._total(text) for text in (process.stderr, self._of_summary(sorted(self.folder.glob("one.jsonl*")))))
        return [] if printed == read else [f"JSON lines: {read} operations, printed {printed}"]

    @staticmethod
    def _total(text):
        """The operations in a summary; None if it has none."""
        total = re.search(r"^  all +([\d,]+)", text, re.MULTILINE)
        return int(total[1].replace(",", "")) if total else None

    def _received(self, paths):
        """The number of events received or lost since the start of the run, from the last file."""
        last = vampire.History(paths).files[-1]
        with last.opened() as hdf5:
            names = ["events_received", *(name for name in hdf5 if name.startswith("events_lost_"))]
            return sum(int(last.column(hdf5, name)[-1]) for name in names)

    def _first(self, received):
        """The first events of the source, up to this number of received or lost events."""
        events, count = [], 0
        for event in self.truth:
            count += event.lost or 1
            if count > received:
                break
            events.append(event)
        return events

    @staticmethod
    def _of_summary(paths):
        done = subprocess.run([program("vampire"), "--summary", *paths], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr


def live(seed):
    """Runs the sequence of this seed. Returns its log and the wrong reports ("": none)."""
    with Workspace() as space:
        life = Life(space, seed)
        process = life.run()
        found = life.differences(process)
        return f"seed {seed}: {', '.join(life.log)}", "\n".join([*found, process.stderr]) if found else ""


def main(first, count):
    """For `make lives`: runs `count` sequences and prints wrong reports. Returns the number of sequences with wrong reports."""
    bad = 0
    for seed in range(first, first + count):
        log, wrong = live(seed)
        bad += bool(wrong)
        print(f"{log}\n{wrong}" if wrong else f"{log}: good", flush=True)
    print(f"{count - bad} good, {bad} bad")
    return bad


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])) > 0)
