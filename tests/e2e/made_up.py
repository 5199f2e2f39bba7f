# SPDX-License-Identifier: BSD-3-Clause
"""Made-up buckets (tests/unit/writers_buckets.h) and the tool that writes them. Every value is
computed here again from the same formulas, so files are compared with an oracle, not with a look
at themselves.
"""

import functools
import pathlib
import random
import re
import resource
import signal
import subprocess
import time

import h5py

import jsonl
from json_lines import flat
from rows import File
from harness import BUILD, PATIENCE, ROOT

FILL = str(BUILD / "unit" / "writers_fill_test")
START_NS = 1795232640000000000
WIDTH_NS = 1000000000
METRIC = re.compile(r'VAMP_METRIC\(\w+,\s*"(\w+)",\s*VAMP_(\w+),\s*"([^"]*)",\s*([^"]*?),\s*(0|VAMP_SET_\w+)')
CATALOGUE = METRIC.findall((ROOT / "vampire/stats/bucket/metrics.def").read_text())
NUMBERS = {name: number for number, (name, *_) in enumerate(CATALOGUE)}
# Those of a run that were not asked for one by one.
METRICS = [
    (name, kind, unit, [label.lower() for label in re.findall(r"L\((\w+)\)", labels)])
    for name, kind, unit, labels, sets in CATALOGUE if sets not in ("0", "VAMP_SET_COLLECT")
]
COMPONENT_NAMES = [
    "IFS -- 0",
    'Products, "1"',
    "Größe \\ / {}",
    "tab\tand\nline \x01",
    "bad \N{REPLACEMENT CHARACTER} byte",
    "emoji \N{EARTH GLOBE EUROPE-AFRICA}",
]
KINDS = re.findall(r"VAMP_EVENT_KIND\(\w+, \d+, (\w+)", (ROOT / "vampire/core/event/kinds.def").read_text())

WORDS = {"tier": ["unknown", "OFI", "GFS", "MIO"], "reason": ["pool_manager", "ring", "recording"], "output": ["files"]}


# ---- the oracle


def series_count(labels, bucket, growth, max_series):
    return min(3 + growth * bucket, max_series if labels else 1)


def delta(metric, series, bucket):
    return (metric + 1) * (series + 1) + bucket % 7


def values(metric, series, bucket):
    first = 1000 * (metric + 1) + 37 * series + bucket
    return [first << k for k in range((metric + series + bucket) % 3)]


def bin_index(value):
    if value < 8:
        return value
    shift = value.bit_length() - 4
    return (shift << 3) + (value >> shift)


@functools.lru_cache(maxsize=None)
def expected(bucket, growth, max_series, names=None):
    """variable name -> {series: value} of one bucket; series that are not named hold nothing. `names`: the metrics
    that there were when the file was written, on whose order the numbers depend."""
    out = {}
    for position, (name, kind, _, labels) in enumerate(one for one in METRICS if names is None or one[0] in names):
        metric = NUMBERS[name] if names is None else position
        present = range(series_count(labels, bucket, growth, max_series))
        if kind == "COUNTER":
            before = expected(bucket - 1, growth, max_series, names)[name] if bucket > 0 else {}
            out[name] = {s: before.get(s, 0) + delta(metric, s, bucket) for s in present}
            out[name + "_delta"] = {s: delta(metric, s, bucket) for s in present}
        elif kind == "GAUGE":
            for suffix, offset in (("", 0), ("_min", -(bucket % 2)), ("_max", 2)):
                out[name + suffix] = {s: metric * 10 + s + bucket - 5 + offset for s in present}
        else:
            recorded = {s: values(metric, s, bucket) for s in present}
            recorded = {s: v for s, v in recorded.items() if v}
            out[name] = {
                s: {bin_index(x): 1 for x in v} for s, v in recorded.items()
            }
            for suffix, function in (("count", len), ("sum", sum), ("min", min), ("max", max)):
                out[f"{name}_{suffix}"] = {s: function(v) for s, v in recorded.items()}
    return out


def word_of(label, series):
    """As made_label of writers_buckets.h, of the labels that only the overview has."""
    return "(other)" if series == 0 else WORDS[label][series % len(WORDS[label])]


def has_rows(kind, labels):
    return bool(set(labels) & {"component", "source", "sink"}) or (kind == "HISTOGRAM" and labels)


def expected_entry(name, kind, series, bucket, growth, max_series):
    wanted = expected(bucket, growth, max_series)
    if kind == "COUNTER":
        return wanted[name].get(series, 0), wanted[name + "_delta"].get(series, 0)
    if kind == "GAUGE":
        before = -(2**63) if name.endswith("_oldest_ns") or name == "component_silent_ns" else 0
        return tuple(wanted[name + part].get(series, before) for part in ("", "_min", "_max"))
    if series not in wanted[name]:
        return None
    return {**{part: wanted[f"{name}_{part}"][series] for part in ("count", "sum", "min", "max")},
            "bins": wanted[name][series]}


def entry_of(entry):
    """With the numbers of bins, as the oracle has them."""
    return entry if not isinstance(entry, dict) else {
        **entry, "bins": {bin_index(lower): count for lower, count in entry["bins"].items()}}


def check_row(run, row, bucket, growth, max_series, names=None):
    """Row `row` of a file (oracle/rows.py) is bucket `bucket`, bit for bit."""
    for name, kind, _, labels in METRICS:
        if names is not None and name not in names:
            continue
        entries = [entry_of(series[row]) for series in run.entries(name)]
        if has_rows(kind, labels) or not labels:
            wanted = [expected_entry(name, kind, s, bucket, growth, max_series) for s in range(len(entries))]
        else:
            wanted = expected_words(name, kind, labels, bucket, growth, max_series, run.labels(name))
        assert entries == wanted, f"{name} in bucket {bucket}"


LARGEST = ("vampire_queue_high_water",)  # of several series with the same words


def expected_words(name, kind, labels, bucket, growth, max_series, words):
    """Of the overview: series with the same words are one."""
    sums = {word: [0, 0] if kind == "COUNTER" else [0, 0, 0] for word in words}
    for s in range(series_count(labels, bucket, growth, max_series)):
        entry = expected_entry(name, kind, s, bucket, growth, max_series)
        own = sums[tuple(word_of(label, s) for label in labels)]
        own[:] = entry if name in LARGEST and entry > tuple(own) else own if name in LARGEST else map(int.__add__, own, entry)
    return [tuple(sums[word]) for word in words]


def check_file(path, growth, max_series, **options):
    """All rows of a closed or repaired file; returns the bucket numbers."""
    with h5py.File(path, "r", **options) as file:
        return check_open_file(file, growth, max_series)


def check_open_file(file, growth, max_series, names=None):
    run = File(file)
    numbers = [int(n) for n in file["bucket_number"][: run.rows]]
    assert [int(t) for t in file["time"][: run.rows]] == [START_NS + n * WIDTH_NS for n in numbers]
    accounts = [run.cells("events_" + word) for word in ("received", "decoded", "rejected")]
    check_rows(run, numbers, growth, max_series, names)
    for row, number in enumerate(numbers):
        assert [account[row][0] for account in accounts] == [10 * number + 3, 10 * number + 2, 1]
    return numbers


def check_rows(run, numbers, growth, max_series, names=None):
    """All rows, each metric read once."""
    once = Once(run)
    for row, number in enumerate(numbers):
        check_row(once, row, number, growth, max_series, names)


class Once:
    """Reads each metric of a file once."""

    def __init__(self, run):
        self.run = run
        self.entries = functools.lru_cache(maxsize=None)(run.entries)
        self.labels = functools.lru_cache(maxsize=None)(run.labels)


def check_json_bucket(bucket, series, lines, growth, max_series):
    """The values of a bucket are all that belong to it, bit for bit. `series`: the labels of each series so far, by the
    names of the labels and its number; `lines`: {metric: records in the order of the series}."""
    wanted = expected(bucket, growth, max_series)
    assert lines.keys() == {name for name, *_ in METRICS if wanted[name]}, f"bucket {bucket}: other metrics"
    for name, kind, _, labels in METRICS:
        assert len(lines.get(name, ())) == len(wanted[name]), f"bucket {bucket}: other series of {name}"
        for (s, value), line in zip(sorted(wanted[name].items()), lines.get(name, ())):
            assert list(line["labels"]) == labels
            assert series.setdefault((*labels, s), line["labels"]) == line["labels"]
            if kind == "COUNTER":
                assert (line["value"], line["delta"]) == (value, wanted[name + "_delta"][s])
            elif kind == "GAUGE":
                assert (line["value"], line["min"], line["max"]) == (value, value - bucket % 2, value + 2)
            else:
                assert line["count"] == sum(value.values()) == sum(n for _, n in line["bins"])
                assert [bin_index(lower) for lower, _ in line["bins"]] == sorted(value)
                for part in ("sum", "min", "max"):
                    assert line[part] == wanted[f"{name}_{part}"][s]
                assert line["min"] <= line["p50"] <= line["p99"] <= line["p999"] <= line["max"]


def check_json_lines(data, growth, max_series):
    """All buckets of a file of whole lines; returns their numbers and records. What stands behind
    the last bucket's own line belongs to none."""
    series, metrics, numbers, records = {}, {}, [], list(flat(jsonl.strict(data)))
    for line in records:
        if line["type"] == "metric":
            metrics.setdefault(line["metric"], []).append(line)
        elif line["type"] == "bucket":
            number = line["bucket"]
            assert all(line["bucket"] == number for own in metrics.values() for line in own)
            assert line["accounting"]["received"] == 10 * number + 3
            check_json_bucket(number, series, metrics, growth, max_series)
            numbers.append(number)
            metrics = {}
    return numbers, records


# ---- running the tool


def fill(writer, *arguments, limit=None, check=True, seconds=60, **numbers):
    argv = [FILL, writer, *arguments, "--"] + [f"{key}={value}" for key, value in numbers.items()]

    def lower():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        argv, capture_output=True, timeout=seconds * PATIENCE, preexec_fn=lower, text=True
    )
    assert "ERROR: " not in done.stderr and "runtime error" not in done.stderr, done.stderr
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def paths(done):
    return [line[5:] for line in done.stdout.splitlines() if line.startswith("path ")]


def account(done):
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("account ")]
    queued, written, lost, waiting = map(int, line.split()[1:])
    assert queued == written + lost + waiting
    return queued, written, lost, waiting


def follow(argv_numbers, directory):
    argv = [FILL, "hdf5", f"directory={directory}", "--"] + argv_numbers
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


def only_file(directory):
    files = sorted(pathlib.Path(directory).glob("*.h5"))
    return files[0] if files else None


def kill_while_filling(directory, seed, acked_below, *numbers):
    """kill -9 at any moment behind a few buckets. The file, and how many of its buckets were certainly
    flushed when the kill came."""
    chance = random.Random(seed)
    directory.mkdir()
    writer = follow(["buckets=500", "wait=1", "growth=1", *numbers], directory)
    flushed = (int(line.split()[1]) for line in writer.stdout if line.startswith("acked "))
    until = chance.randrange(1, acked_below)
    acked = next(number for number in flushed if number >= until)
    time.sleep(chance.random() * 0.03)  # any moment within a bucket
    writer.send_signal(signal.SIGKILL)
    acked = max([acked, *flushed])
    writer.wait()
    return only_file(directory), acked


def clear(path):
    """What a reader without vampire does with a file that was left open."""
    argv = ["h5clear", "-s", "--increment=0", str(path)]
    assert subprocess.run(argv, capture_output=True, timeout=60 * PATIENCE).returncode == 0
