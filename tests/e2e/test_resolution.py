# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of one run at several resolutions: what a coarse output holds is what the fine one holds,
merged here the slow way; several outputs share a directory; older files go as `keep` says."""

import collections
import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import time

import h5py
import numpy as np

import jsonl
import stream
import streams
from harness import ROOT, program, wait_until

from vampire import summary as summary_of, table

SECOND = 10**9
COARSE = 10 * SECOND
SOURCE = {"type": "synthetic", "producers": 6, "consumers": 3, "steps": 60, "burst": 2, "fan_out": 2, "step": "1s"}
F_OFD_SETLK = 37  # <fcntl.h>; Python before 3.9 does not name it
WITHOUT = ("size_class", "tier", "cause")
NAMES = ("component", "source", "sink", "producer", "consumer")
# Of vampire itself: they are as of when a bucket is closed, not of its events.
OWN_TIME = re.compile("vampire_(rss|cpu|commit|written|lost_buckets|queue|lag|ring)")


def run(space, *outputs, source=SOURCE, name="vampire", **more):
    made = {"source": source, "statistics": {"bucket": "1s"}, "outputs": list(outputs), **more}
    vampire = space.vampire(made, name=name, ready=False)
    vampire.expect_exit(0)
    return vampire


def nanoseconds(text):
    """Of the times in made-up runs, which are within one day: since midnight."""
    clock, fraction = text[11:-1].split(".")
    hours, minutes, seconds = map(int, clock.split(":"))
    return ((hours * 60 + minutes) * 60 + seconds) * SECOND + int(fraction.ljust(9, "0"))


class Buckets:
    """Per bucket the metric lines by metric and labels."""

    def __init__(self, path):
        self.path, self.lines = path, jsonl.records(path)
        self.header = self.lines[0]
        self.buckets = [line for line in self.lines if line["type"] == "bucket"]
        self.kinds = {metric["name"]: metric["kind"] for metric in self.header["metrics"]}
        self.values = collections.defaultdict(dict)
        for line in self.lines:
            if line["type"] == "metric" and not OWN_TIME.match(line["metric"]):
                key = line["metric"], tuple(sorted(line["labels"].items()))
                assert key not in self.values[line["bucket"]]
                self.values[line["bucket"]][key] = line


def without(labels, dropped):
    return tuple((name, value) for name, value in labels if name not in dropped)


def add_gauges(metric, lines):
    """Of series with the same labels, at the same time."""
    if metric.endswith("_oldest_ns") or metric == "component_silent_ns":  # of ages the largest; there may be none
        return [known(choose, *(line[member] for line in lines))
                for member, choose in (("value", max), ("min", min), ("max", max))]
    return [sum(line[member] for line in lines) for member in ("value", "min", "max")]


def known(choose, *values):
    """The least or the greatest of those that there are."""
    return choose((value for value in values if value is not None), default=None)


def merged(fine, numbers, dropped=WITHOUT):
    """What one coarse bucket without these labels has to hold: of counters (total, delta), of gauges (value, least, most),
    of histograms (count, sum, least, most, bins)."""
    counters, gauges = collections.defaultdict(lambda: [0, 0]), {}
    histograms = {}
    for number in numbers:
        alike = collections.defaultdict(list)
        for (metric, labels), line in fine.values[number].items():
            alike[metric, without(labels, dropped)].append(line)
        for key, lines in alike.items():
            kind = fine.kinds[key[0]]
            if kind == "counter":
                counters[key] = [sum(line["value"] for line in lines),
                                 counters[key][1] + sum(line["delta"] for line in lines)]
            elif kind == "gauge":
                value, least, most = add_gauges(key[0], lines)
                before = gauges.get(key, (0, least, most))
                gauges[key] = value, known(min, before[1], least), known(max, before[2], most)
            else:
                for line in lines:
                    count, total, least, most, bins = histograms.get(
                        key, (0, 0, line["min"], line["max"], collections.Counter()))
                    bins.update(dict(map(tuple, line["bins"])))
                    histograms[key] = (count + line["count"], total + line["sum"],
                                       min(least, line["min"]), max(most, line["max"]), bins)
    return counters, gauges, histograms


def check_bucket(coarse, bucket, expected, bounds=("transports_active", "transports_pending")):
    counters, gauges, histograms = expected
    wanted = counters.keys() | gauges.keys() | histograms.keys()
    # Without its tier transports_pending has the series of all components: those without any are 0.
    found = {key: line for key, line in coarse.values[bucket["bucket"]].items()
             if key in wanted or key[0] != "transports_pending" or line["max_bound"] != 0}
    assert found.keys() ^ wanted == set()
    bounded = set()
    for key, line in found.items():
        if key in counters:
            assert [line["value"], line["delta"]] == counters[key], key
        elif key[0] == "vampire_weight":
            assert line["value"] == 10**6
        elif key in gauges:
            names = ("min", "max") if "min" in line else ("min_bound", "max_bound")
            bounded |= {key[0]} if names[0] == "min_bound" else set()
            assert (line["value"], *(line[name] for name in names)) == gauges[key], key
        else:
            count, total, least, most, bins = histograms[key]
            assert (line["count"], line["sum"], line["min"], line["max"]) == (count, total, least, most)
            assert dict(map(tuple, line["bins"])) == dict(bins), key
    assert "transports_active" in bounded, "it has lost its label"
    assert bounded <= set(bounds)


def test_coarse_is_fine_merged(space):
    everything = {"complete_every": 1, "queue": 65536}
    run(space,
        {"type": "jsonl", "name": "fine", "path": "fine.jsonl", "without": [], **everything},
        {"type": "jsonl", "name": "coarse", "path": "coarse.jsonl", "bucket": "10s",
         "without": list(WITHOUT), **everything})
    fine, coarse = Buckets(space.path / "fine.jsonl"), Buckets(space.path / "coarse.jsonl")
    assert coarse.header["bucket_ns"] == COARSE and fine.header["bucket_ns"] == SECOND
    by_start = collections.defaultdict(list)
    for bucket in fine.buckets:
        assert bucket["buckets"] == 1
        by_start[nanoseconds(bucket["time"]) // COARSE * COARSE].append(bucket)
    assert len(by_start) >= 6
    assert [nanoseconds(bucket["time"]) for bucket in coarse.buckets] == sorted(by_start)
    for bucket in coarse.buckets:
        parts = by_start[nanoseconds(bucket["time"])]
        assert bucket["bucket"] == parts[0]["bucket"] and bucket["buckets"] == len(parts)
        assert bucket["width_ns"] == COARSE
        same = [{key: value for key, value in line["accounting"].items() if key != "outputs"}
                for line in (bucket, parts[-1])]
        assert same[0] == same[1]
        check_bucket(coarse, bucket, merged(fine, [part["bucket"] for part in parts]))
    ends = [[line for line in lines if line["type"] == "component"][-1] for lines in (fine.lines, coarse.lines)]
    assert ends[0]["name"] == ends[1]["name"] and ends[0]["left"] == ends[1]["left"]
    schema = jsonl.validator()
    for line in jsonl.strict(coarse.path.read_bytes()):
        schema.validate(line)


def test_gauges_of_all_components(space):
    """Without the names, the gauges of components add, and so do their extremes, which are bounds then and named
    so; of ages the largest stays, with true extremes. The same with `by`, which names what stays."""
    everything = {"complete_every": 1, "queue": 65536}
    run(space,
        {"type": "jsonl", "name": "fine", "path": "fine.jsonl", "without": [], **everything},
        {"type": "jsonl", "name": "coarse", "path": "coarse.jsonl", "bucket": "10ms", "without": list(WITHOUT + NAMES),
         **everything},
        {"type": "jsonl", "name": "narrow", "path": "narrow.jsonl", "by": ["operation", "part", "reason", "output", "anomaly"],
         **everything},
        # Some events are missing, so that there is always something pending.
        source={**SOURCE, "steps": 40, "burst": 8, "step": "2ms", "missing": 100}, statistics={"bucket": "1ms"})
    fine = Buckets(space.path / "fine.jsonl")
    sums = {"demands_pending", "withdraws_pending", "transports_pending", "in_flight_uncertain", "transports_active"}
    for name, width in ("coarse", 10**7), ("narrow", 10**6):
        found = Buckets(space.path / f"{name}.jsonl")
        parts = collections.defaultdict(list)
        for bucket in fine.buckets:
            parts[nanoseconds(bucket["time"]) // width * width].append(bucket["bucket"])
        seen = collections.Counter()
        for bucket in found.buckets:
            numbers = parts[nanoseconds(bucket["time"])]
            check_bucket(found, bucket, merged(fine, numbers, WITHOUT + NAMES), sums)
            for (metric, labels), line in found.values[bucket["bucket"]].items():
                if metric in sums | set(AGES):
                    assert labels == () and ("min_bound" in line) == (metric in sums), (metric, labels)
                    seen[metric] += line["value"] not in (0, None)
        assert {"demands_pending", "demand_oldest_ns", "component_silent_ns"} <= set(seen) and seen["demands_pending"], seen


def test_labels_are_merged_and_bounded_before_time(space):
    """The greatest sum of a bucket, not the sum of the greatest of several; and the same series, whatever the width."""
    hand = streams.Hand().join(0, 1, "A").join(0, 2, "B")
    for number, (component, ms) in enumerate([(1, 100), (1, 110), (2, 1100), (2, 1110), (2, 1120)]):
        hand("demand", ms, component, f"d{number}")("transport_init", ms + 300, component, f"d{number}", peer=3 - component, number=number)
        hand("transport_completed", ms + 400, component, f"d{number}", size=1 << (8 + 4 * number))
    hand("offer", 2500, 1, "end")("offer", 4500, 2, "late")("offer", 3900, 2, "later", size=9)
    stream.write(space.path / "made.rec", sorted(hand.items[:-1], key=lambda item: item.time_ns) + hand.items[-1:])
    everything = {"complete_every": 1, "queue": 65536, "type": "jsonl"}
    statistics = {"bucket": "1s", "lateness": "2s", "max_series": 8, "sets": ["basic", "transport", "in_flight"]}
    source = {"type": "replay", "file": str(space.path / "made.rec")}
    run(space, {"name": "fine", "path": "fine.jsonl", "without": [], **everything},
        {"name": "coarse", "path": "coarse.jsonl", "without": [], "bucket": "10s", **everything},
        {"name": "all", "path": "all.jsonl", "by": [], "bucket": "10s", **everything}, source=source, statistics=statistics)
    run(space, {"name": "own", "path": "own.jsonl", "without": [], **everything}, source=source,
        statistics={**statistics, "bucket": "10s"}, name="tens")
    fine, coarse, all_, own = (Buckets(space.path / f"{name}.jsonl") for name in ("fine", "coarse", "all", "own"))
    pending, = (line for lines in all_.values.values() for (name, _), line in lines.items() if name == "demands_pending")
    assert (pending["min_bound"], pending["max_bound"]) == (0, 3)
    by_component = [line["max"] for lines in coarse.values.values() for (name, labels), line in lines.items()
                    if name == "demands_pending" and dict(labels)["component"] in "AB"]
    assert sorted(by_component) == [2, 3]
    totals = [{key: line.get("value") if found.kinds[key[0]] == "counter" else "" for lines in found.values.values()
               for key, line in lines.items() if key[0].startswith("transport") and found.kinds[key[0]] != "gauge"}
              for found in (fine, coarse, own)]
    assert totals[0] == totals[1] == totals[2] and any("(other)" in dict(labels).values() for _, labels in totals[0])


AGES = ("demand_oldest_ns", "withdraw_oldest_ns", "transport_oldest_ns", "component_silent_ns")


def test_ages_are_states(space):
    """An age at the end of 10 s is the same whoever merges: an output, the Python package, or the statistics themselves;
    and without labels it is absent, never a number, where nothing is pending."""
    source = {**SOURCE, "steps": 25, "step": "9s", "missing": 30}
    statistics = {"bucket": "1s", "lateness": "1s"}
    run(space, *({"type": "hdf5", "name": name, "queue": 65536, **more} for name, more in (
        ("fine", {}), ("coarse", {"bucket": "10s"}), ("all", {"by": []}))), source=source, statistics=statistics)
    run(space, {"type": "hdf5", "name": "own"}, source=source, statistics={**statistics, "bucket": "10s"}, name="tens")
    ended = 0
    for metric in AGES:
        found = [{(row.time, row.component): row.last for row in table(space.path, metric, freq="10s", output=name).itertuples()}
                 for name in ("fine", "coarse", "own")]
        if metric == "component_silent_ns":  # without an operation in a bucket, which is longer in the last one
            assert found.pop().items() <= found[0].items()
        assert all(each == found[0] != {} for each in found), metric
        fine = table(space.path, metric, output="fine")
        ended += len(set(zip(fine.time.dt.floor("10s"), fine.component)) - set(found[0]))
        together = table(space.path, metric, output="all").set_index("time")["last"]
        assert together.to_dict() == fine.groupby("time")["last"].max().to_dict(), metric
        with h5py.File(next(space.path.glob("vampire-*-all-*.h5"))) as file:
            assert (file[metric][...] == file[metric].attrs["_FillValue"]).sum() == len(file["time"]) - len(together)
    assert ended > 10, "ages that ended within 10 s"


def dump(path):
    done = subprocess.run([program("vampire"), f"--dump-config={path}"], capture_output=True, check=True)
    return done.stdout


def test_lines_in_a_file_have_few_labels_by_default(space):
    """Their sums are those of all labels; a dump of the configuration loads to the same; standard output has
    all labels."""
    outputs = [{"type": "jsonl", "name": "few", "path": "few.jsonl", "queue": 65536},
               {"type": "jsonl", "name": "all", "path": "all.jsonl", "queue": 65536, "without": []},
               {"type": "jsonl", "name": "shown", "path": "-", "queue": 65536}]
    config = space.path / "config.json"
    config.write_text(json.dumps({"source": SOURCE, "outputs": outputs}))
    vampire = space.vampire(config, ready=False)
    vampire.expect_exit(0)
    few, whole = (Buckets(space.path / f"{name}.jsonl") for name in ("few", "all"))
    labels = {metric["name"]: metric["labels"] for metric in few.header["metrics"]}
    assert labels["pool_operations"] == ["model", "operation"] and labels["transports"] == ["source_model", "sink_model", "tier"]
    assert labels["anomalies"] == ["model", "anomaly"] and labels["produced_bytes"] == ["model"]
    assert labels["vampire_written"] == ["output"] and labels["vampire_lost"] == ["reason"]
    every = {metric["name"]: metric["labels"] for metric in whole.header["metrics"]}
    assert every["transports"] == ["source", "sink", "size_class", "tier", "cause"]
    shown = json.loads(vampire.stdout.splitlines()[0])
    assert {metric["name"]: metric["labels"] for metric in shown["metrics"]} == every
    for name, part in (("pool_operations", "delta"), ("transports", "delta"), ("transport_ns", "sum")):
        sums = [sum(line[part] for values in lines.values.values() for key, line in values.items()
                    if key[0] == name) for lines in (few, whole)]
        assert sums[0] == sums[1] > 0, name
    # Components have lines when they join and leave, and in each complete bucket; what they did, in each bucket.
    lines = [line for line in few.lines if line["type"] == "component"]
    complete = sum(line["type"] == "bucket" and line["complete"] for line in few.lines)
    names = {line["index"]: line["name"] for line in lines}
    assert len(names) <= len(lines) <= (complete + 2) * len(names)
    done = {index: count for line in few.lines if line["type"] == "operations" for index, count in line["operations"]}
    assert sum(done.values()) == sum(line["delta"] for values in few.values.values() for key, line in values.items()
                                     if key[0] == "pool_operations")
    first = dump(config)
    (space.path / "dump.json").write_bytes(first)
    assert dump(space.path / "dump.json") == first


def test_lines_of_ranks(space):
    """Where rows do not tell components apart, lines of ranks do, now and then: their sums are those of the finest output, in
    each of the times that they say, also where buckets are merged and files end in between."""
    outputs = {"few": {}, "rotated": {"rotate": {"interval": "7s"}}, "merged": {"bucket": "15s"}, "all": {"without": []},
               "none": {"by": {"*": []}, "metrics": ["transports"]}}
    config = space.path / "config.json"
    config.write_text(json.dumps({"source": SOURCE, "statistics": {"bucket": "1s"}, "outputs": [
        {"type": "jsonl", "name": name, "path": f"{name}.jsonl", "queue": 65536, **more} for name, more in outputs.items()]}))
    space.vampire(config, ready=False).expect_exit(0)
    whole, check = Buckets(space.path / "all.jsonl"), jsonl.validator()
    assert "ranks" not in whole.header and not any(line["type"] == "ranks" for line in whole.lines)
    assert "ranks" not in jsonl.records(space.path / "none.jsonl")[0]
    for name in ("few", "rotated", "merged"):
        lines = [line for path in sorted(space.path.glob(f"{name}.jsonl*")) for line in jsonl.records(path)]
        for line in jsonl.strict((space.path / f"{name}.jsonl").read_bytes()):
            check.validate(line)
        columns, widths, at = lines[0]["ranks"], [], None
        assert columns == ["pool_operations", "produced_bytes", "consumed_bytes", "demand_wait_ns", "anomalies"]
        for line in (line for line in lines if line["type"] == "ranks"):
            begin, end = nanoseconds(line["time"]), nanoseconds(line["time"]) + line["width_ns"]
            assert at in (None, begin), "one begins where the one before it ended"
            at = end
            widths.append(line["width_ns"] // SECOND)
            assert line["buckets"] == widths[-1]
            found = {row[0]: dict(zip(columns, row[1:])) for row in line["ranks"]}
            assert all(row[-1] for row in line["ranks"]), "no zeros at the end"
            expected = collections.defaultdict(collections.Counter)
            bins = collections.defaultdict(collections.Counter)
            for value in whole.lines:
                if value["type"] == "metric" and value["metric"] in columns and begin <= nanoseconds(value["time"]) < end:
                    who = value["labels"]["component"]
                    expected[who][value["metric"]] += value.get("delta", value.get("sum"))
                    bins[who].update(dict(value.get("bins", ())))
            for who, values in found.items():
                times = values.get("demand_wait_ns") or [0, 0]
                lower = {n if n < 8 else (8 + n % 8) << n // 8 - 1: count for n, count in zip(times[2::2], times[3::2])}
                assert lower == bins[who]
                assert {**values, "demand_wait_ns": times[0]}.items() <= {**dict.fromkeys(columns, 0), **expected[who]}.items()
            assert {who for who, values in expected.items() if sum(values.values())} == set(found)
        assert widths == {"merged": [30, 15, 15, 1]}.get(name, [20, 20, 20, 1]), widths


def test_outputs_share_a_directory(space):
    run(space, {"type": "hdf5", "name": "seconds", "queue": 65536},
        {"type": "hdf5", "name": "tens", "bucket": "10s", "without": ["size_class"], "queue": 65536},
        {"type": "hdf5", "name": "hours", "bucket": "1h", "metrics": ["pool_operations"], "queue": 65536})
    totals = {}
    for name in ("seconds", "tens", "hours"):
        files = sorted(space.path.glob(f"vampire-*-{name}-[0-9]*.h5"))
        assert files
        totals[name] = buckets = 0
        for path in files:
            with h5py.File(path) as file:
                totals[name] += int(file["pool_operations_delta"][...].sum())
                buckets += int(file["statistics_buckets"][...].sum())
                numbers, counts = file["bucket_number"][...], file["statistics_buckets"][...]
                assert (numbers[1:] == numbers[:-1] + counts[:-1]).all()
        totals[name] = totals[name], buckets
        summary = summary_of(space.path, output=name)
        assert summary.buckets_missing == 0 and summary.whole, summary
    assert totals["seconds"] == totals["tens"] == totals["hours"]


def test_coarse_buckets_rotate_whole(space):
    """No bucket is cut by the end of a file, and no file is empty."""
    run(space, {"type": "hdf5", "name": "tens", "bucket": "10s", "rotate": {"interval": "20s"}, "queue": 65536})
    files = sorted(space.path.glob("vampire-*-tens-*.h5"))
    counts = []
    for path in files:
        with h5py.File(path) as file:
            counts.append(file["statistics_buckets"][...].tolist())
            assert file["restart_row"][...].tolist() == [0]
    assert len(files) > 2 and all(sum(few) for few in counts)
    assert all(few == [10, 10] for few in counts[1:-1]), counts
    assert sum(map(sum, counts)) == 61  # with the one of the end


def test_series_that_grow_need_no_new_file(space):
    """As with the reference workload, whose series come within minutes."""
    run(space, {"type": "hdf5", "queue": 65536}, source={**SOURCE, "producers": 40, "consumers": 20})
    (path,) = space.path.glob("vampire-*.h5")
    with h5py.File(path) as file:
        assert int(file["statistics_buckets"][...].sum()) == 61  # with the one of the end
        group = file["by_source_sink_size_class_tier"]
        assert group["series_check"].shape[0] > 4 * np.count_nonzero(group["series_index"][:1024] != group["series_index"].attrs["padding"])


def test_keep_deletes_only_its_own_closed_files(space):
    old = "vampire-synthetic-20200101T000000Z-0123abcd"
    names = {"own": f"{old}-seconds-0001.jsonl", "locked": f"{old}-seconds-0002.jsonl",
             "other output": f"{old}-minutes-0001.jsonl", "other workflow": old.replace("synthetic", "other") + "-seconds-0001.jsonl",
             "longer workflow": old.replace("synthetic", "synthetic-2") + "-seconds-0001.jsonl",
             "recent": f"{old}-seconds-0003.jsonl", "no segment": f"{old}-seconds-x.jsonl"}
    for what, name in names.items():
        path = space.path / name
        path.write_text("{}\n")
        if what != "recent":
            os.utime(path, (10**9, 10**9))
    with open(space.path / names["locked"], "r+") as held:
        fcntl.fcntl(held, F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        vampire = run(space, {"type": "jsonl", "name": "seconds", "keep": {"age": "1d"}})
    left = {what for what, name in names.items() if (space.path / name).exists()}
    text = vampire.stderr
    assert left == set(names) - {"own"}, text
    assert "deleted 1 older file" in text and names["own"] in text and "1 older file deleted" in text


def test_keep_measures_ages_by_the_clock(space):
    """Not by the times of events: 20 hours that are counted in a second are a second old. Files that were written
    before are as old as their last write."""
    source = {**SOURCE, "step": "20min"}
    seconds = {"type": "jsonl", "name": "seconds", "rotate": {"interval": "1h"}, "queue": 65536}
    run(space, seconds, source=source, name="before", statistics={"bucket": "1min", "max_empty": 5})
    before = sorted(space.path.glob("vampire-*-seconds-*.jsonl"))
    for path in before[::2]:
        os.utime(path, (time.time() - 7200,) * 2)
    vampire = run(space, {**seconds, "keep": {"age": "1h"}}, source=source, name="after",
                  statistics={"bucket": "1min", "max_empty": 5})
    left = sorted(space.path.glob("vampire-*-seconds-*.jsonl"))
    assert len(before) > 10 and set(before) & set(left) == set(before[1::2]), vampire.stderr
    assert len(left) - len(before[1::2]) == len(before), "none of its own"


def test_keep_by_size(space):
    everything = {"type": "jsonl", "name": "seconds", "rotate": {"interval": "5s"}, "queue": 65536}
    run(space, everything, name="all")
    files = sorted(space.path.glob("vampire-*-seconds-*.jsonl"))
    assert len(files) > 5
    total = sum(path.stat().st_size for path in files)
    run(space, {**everything, "keep": {"size": f"{total // 3}B"}}, name="some")
    left = sorted(space.path.glob("vampire-*-seconds-*.jsonl"))
    # What is kept is full when the newest file begins, which then grows.
    assert not set(files) & set(left)
    assert sum(path.stat().st_size for path in left[:-2]) <= total // 3


def test_killed_while_merging(space):
    """A coarse bucket is whole or not there. Which of two outputs is ahead when it happens is
    anyone's guess: compared are the coarse buckets whose fine ones are all there."""
    source = {**SOURCE, "steps": 100000, "speed": 20}
    vampire = space.vampire(
        {"source": source, "statistics": {"bucket": "1s"}, "outputs": [
            {"type": "jsonl", "name": "fine", "path": "fine.jsonl", "without": []},
            {"type": "jsonl", "name": "coarse", "path": "coarse.jsonl", "bucket": "10s", "without": []}]},
        ready=False)
    fine_path, coarse_path = space.path / "fine.jsonl", space.path / "coarse.jsonl"
    for path, number in ((coarse_path, 2), (fine_path, 20)):
        wait_until(lambda: path.exists() and path.read_bytes().count(b'"type":"bucket"') >= number,
                   f"{number} buckets in {path.name}")
    vampire.signal(signal.SIGKILL)
    vampire.wait()
    fine, coarse = Buckets(fine_path), Buckets(coarse_path)
    for bucket in coarse.buckets[1:]:
        assert bucket["buckets"] == 10
    ends = [bucket["bucket"] + bucket["buckets"] for bucket in coarse.buckets]
    end = max(end for end in ends if end <= fine.buckets[-1]["bucket"] + 1)
    operations = [sum(line["delta"] for number, lines in run.values.items() if number < end
                      for (metric, _), line in lines.items() if metric == "pool_operations")
                  for run in (fine, coarse)]
    assert operations[0] == operations[1] > 0


def test_reload_splits_a_coarse_bucket(space):
    """Both parts say which buckets of the statistics they hold."""
    source = {**SOURCE, "steps": 100000, "speed": 20}
    made = {"source": source, "statistics": {"bucket": "1s"}, "outputs": [
        {"type": "jsonl", "name": "coarse", "bucket": "1h", "without": []},
        {"type": "jsonl", "name": "fine", "path": "fine.jsonl"}]}
    vampire = space.vampire(made, ready=False)
    fine = space.path / "fine.jsonl"
    wait_until(lambda: fine.exists() and b'"type":"bucket"' in fine.read_bytes(), "a bucket to split")
    vampire.signal(signal.SIGHUP)
    wait_until(lambda: list(space.path.glob("*coarse-0002.jsonl")), "the second file")
    vampire.signal(signal.SIGINT)
    vampire.expect_exit(0)
    parts = [Buckets(path).buckets for path in sorted(space.path.glob("*coarse-*.jsonl"))]
    numbers = [(bucket["bucket"], bucket["buckets"]) for part in parts for bucket in part]
    assert numbers and numbers[0][0] == 0
    for (number, count), (after, _) in zip(numbers, numbers[1:]):
        assert number + count == after


def test_a_days_three_outputs(space):
    """The workload of the benchmark, with few steps: seconds, minutes and hours in one directory."""
    vampire = space.vampire(ROOT / "tests" / "bench" / "workloads" / "day.json", "-o", "source.steps=3",
                            "-o", f"outputs.seconds.directory={space.path}",
                            "-o", f"outputs.minutes.directory={space.path}",
                            "-o", f"outputs.hours.directory={space.path}", ready=False)
    vampire.expect_exit(0)
    for name in ("seconds", "minutes", "hours"):
        assert list(space.path.glob(f"vampire-*-{name}-0001.h5")), name
