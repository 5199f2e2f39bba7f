# SPDX-License-Identifier: BSD-3-Clause
"""What vampire wrote against what the oracle says: value by value, bin by bin, bucket by bucket.

    compare.py RECORDING HDF5-FILE [JSON-LINES]    prints the differences and their number

Of a run of several files, those of each sort in order, joined by commas; one recording for each time
the configuration was read. The recording must hold what the filters turned away ("filtered": true),
if they did.
"""

import calendar
import collections
import itertools
import json
import os
import re
import sys
import time

import h5py

import catalogue
import stream
from json_lines import flat
from outcome import outcomes
from rows import File, text_of, texts

NO_TIME = -(2**63)


def configuration_of(path):
    with h5py.File(path, "r") as file:
        return json.loads(file.attrs["configuration"])


def kinds_lacking(path):
    """The kinds of events that the file says cannot arrive."""
    with h5py.File(path, "r") as file:
        found = re.search(r"^kinds: no events of these kinds: (.*)$", text_of(file, "not_observed") if "not_observed" in file.attrs else "", re.MULTILINE)
        return found[1].split() if found else []


def nothing(metric, entries):
    """What a series that the oracle does not know has in each bucket."""
    if metric in catalogue.HISTOGRAMS:
        return [None] * entries
    if metric in catalogue.AGES:
        return [catalogue.NO_AGE] * entries
    return [(0, 0) if metric in catalogue.COUNTERS else (0, 0, 0)] * entries


# ---------------------------------------------------------------- HDF5


class Hdf5:
    def __init__(self, path):
        self.file = h5py.File(path, "r")
        self.rows = File(self.file)
        self.starts = [int(start) for start in self.file["time"][...]]

    def metrics(self):
        return [name for name in self.rows.metrics() if name in catalogue.LABELS]

    def series(self, name):
        """labels, entries of each series that has any value or a name."""
        for label, entries in zip(self.rows.labels(name), self.rows.entries(name)):
            if any(label) or label == ():
                yield label, entries
            else:
                assert entries == nothing(name, len(self.starts)), name

    def gaps(self):
        file = self.file
        rows = zip(file["gap_start"][...], file["gap_end"][...], texts(file["gap_reason"]),
                   file["gap_events"][...])
        return [(int(a), int(b), reason, int(n)) for a, b, reason, n in rows if int(a) != NO_TIME]

    def histories(self):
        file = self.file
        if "cdo_end" not in file:
            return []
        columns = [texts(file["cdo_" + name]) for name in ("id", "name", "producer")]
        columns += [file["cdo_" + name][...] for name in ("size_bytes", "size_known", "demands", "consumers")]
        columns += [file["cdo_" + name][...] for name in catalogue.CDO_TIMES] + [texts(file["cdo_end"])]
        rows = []
        for id, name, producer, size, known, demands, consumers, *times, end in zip(*columns):
            if end:
                rows.append((id or None, name, producer, int(size) if known else None, int(demands),
                             int(consumers), *(None if t == NO_TIME else int(t) for t in times), end))
        return rows

    def components(self):
        file = self.file
        columns = [texts(file["component_name"])] + [
            file["component_" + name][...] for name in ("app_id", "joined", "left", "operations")
        ] + [texts(file["component_leave_reason"])]
        rows = []
        for name, app, joined, left, operations, reason in list(zip(*columns))[1:]:
            if name:
                rows.append((name, int(app), None if joined == NO_TIME else int(joined),
                             None if left == NO_TIME else int(left), reason, int(operations)))
        return rows

    def accounts(self):
        for name in ("received", "decoded", "rejected", "filtered", "counted", "late"):
            yield name, [values[0] for values in self.rows.cells("events_" + name)]


class Part:
    """The buckets of one file, of a result that may be longer: its neighbours hold the rest."""

    def __init__(self, result, first, end):
        self.result, self.first, self.end = result, first, end
        self.starts = result.starts[first:end]
        self.is_all = (first, end) == (0, len(result.starts))
        self.gaps = [gap for bucket, gap in result.gaps if first <= bucket < end]
        self.histories = [(bucket, row) for bucket, row in result.histories if first <= bucket < end]

    def series(self, name):
        """labels: entries. In a part, those of which nothing happened yet may not be there."""
        count = len(self.starts)
        found = {label: entries[self.first : self.end]
                 for label, entries in self.result.metrics.get(name, {}).items()}
        return {label: entries for label, entries in found.items()
                if self.is_all or entries != nothing(name, count)}


def unknown_to_the_oracle(names, configuration):
    declared = [metric["name"] for metric in configuration.get("samples", {}).get("metrics", [])]
    return [f"{name}: the oracle does not know this metric" for name in catalogue.unknown_metrics(names, declared)]


def differences_hdf5(path, part, is_last=True):
    run, found = Hdf5(path), []
    if run.starts != part.starts:
        return [f"buckets: {len(run.starts)} in the file, {len(part.starts)} expected"]
    found += unknown_to_the_oracle(run.rows.metrics(), configuration_of(path))
    seen = set()
    for name in run.metrics():
        seen.add(name)
        expected = part.series(name)
        for label, entries in run.series(name):
            right = expected.pop(label, None) or nothing(name, len(entries))
            found += [f"{name}{label} bucket {i}: {a}, expected {b}"
                      for i, (a, b) in enumerate(zip(entries, right)) if a != b]
        found += [f"{name}{label} is missing" for label in expected]
    found += [f"{name} is missing" for name in part.result.computed - seen]
    found += [f"{name} is there, without the kinds of events that it needs" for name in seen - part.result.computed]
    found += wait_differences(run)
    if run.gaps() != part.gaps:
        found.append(f"gaps: {run.gaps()}, expected {part.gaps}")
    expected = sorted((row for _, row in part.histories), key=repr)
    if sorted(run.histories(), key=repr) != expected:
        found.append(f"CDOs: {sorted(run.histories(), key=repr)}, expected {expected}")
    # The table of a file before the last one is that of a moment that no event marks; it comes with
    # a bucket.
    if is_last and run.starts and run.components() != part.result.components:
        found.append(f"components: {run.components()}, expected {part.result.components}")
    for name, totals in run.accounts():
        right = part.series("vampire_" + name).get((), nothing("vampire_late", len(totals)))
        if totals != [value for value, _ in right]:
            found.append(f"events_{name}: {totals}")
    return found


def wait_differences(run):
    """The parts of the satisfied demands add up to their waits, in every bucket: sum, and number."""
    if not {"demand_wait_ns", "demand_wait_part_ns"} <= set(run.metrics()):
        return []
    waits, parts = ([entry for _, entry in run.series(name)] for name in ("demand_wait_ns", "demand_wait_part_ns"))
    named = [label[-1 - len(catalogue.ATTRIBUTES)] for label, _ in run.series("demand_wait_part_ns")]
    found = []
    for bucket in range(len(run.starts)):
        whole = [entries[bucket] for entries in waits if entries[bucket] is not None]
        pieces = [entries[bucket] for entries in parts if entries[bucket] is not None]
        sums = [sum(entry["sum"] for entry in group) % 2**64 for group in (whole, pieces)]
        if sums[0] != sums[1] and text_of(run.file, "clock") == "event":
            found.append(f"waits of bucket {bucket}: {sums[0]} ns, their parts {sums[1]} ns")
        counts = collections.Counter()
        for name, entries in zip(named, parts):
            counts[name] += entries[bucket]["count"] if entries[bucket] is not None else 0
        number = sum(entry["count"] for entry in whole)
        if catalogue.OTHER not in +counts and any(
                counts[name] + counts[catalogue.UNKNOWN] != number for name in catalogue.WAIT_PARTS):
            found.append(f"waits of bucket {bucket}: {number}, of their parts {dict(counts)}")
    return found


# ---------------------------------------------------------------- JSON lines


def read_time(text):
    seconds, fraction = text[:-1].split(".")
    return calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(fraction)


def json_entry(record):
    if "bins" in record:
        return {"count": record["count"], "sum": record["sum"], "min": record["min"],
                "max": record["max"], "bins": {lower: count for lower, count in record["bins"]}}
    if "delta" in record:
        return (record["value"], record["delta"])
    if record["value"] is None:
        return catalogue.NO_AGE
    return (record["value"], record["min"], record["max"])


def must_be_written(name, entries, bucket, first):
    """Whether the file has a line for this value, complete buckets aside. `first`: its first bucket, which is complete:
    there an age without a line is none."""
    entry = entries[bucket]
    if name in catalogue.HISTOGRAMS:
        return entry is not None
    if name in catalogue.COUNTERS:
        return entry[1] != 0
    begins = bucket == first and name in catalogue.AGES
    before = entries[bucket - 1][0] if bucket and not begins else nothing(name, 1)[0][0]
    return entry[0] != before or entry[1] != entry[2]


def json_history(record):
    times = (record[name] and read_time(record[name]) for name in catalogue.CDO_TIMES)
    return (record["id"], record["name"], record["producer"], record["size_bytes"], record["demands"],
            record["consumers"], *times, record["end"])


def json_waiting(record):
    return (record["demands"], record["component"], read_time(record["since"]), record["age_ns"], record["id"],
            record["name"], record["producer"], record["offered"], record["uncertain"])


def differences_json(path, part, configuration):
    level = configuration["statistics"]["level"]
    found, starts, written = [], [], {}
    gaps, alerts, histories, waiting, unlisted, metrics = [], {}, [], {}, False, []
    with open(path, encoding="utf-8") as file:
        for record in flat(map(json.loads, file)):
            if record["type"] == "header":
                metrics = [metric["name"] for metric in record["metrics"]]
            elif record["type"] == "bucket":
                starts.append(read_time(record["time"]))
            elif record["type"] == "gap":
                gaps.append((read_time(record["start"]), read_time(record["end"]), record["reason"],
                             record["events"]))
            elif record["type"] == "metric" and record["metric"] in catalogue.LABELS:
                names = catalogue.labels_at(record["metric"], level)
                label = tuple(record.get("labels", {}).get(name) for name in names)
                written[record["metric"], label, record["bucket"]] = json_entry(record)
            elif record["type"] == "cdo":
                histories.append((len(starts), json_history(record)))
            elif record["type"] == "pending":
                waiting.setdefault(record["bucket"], []).append(json_waiting(record))
            elif record["type"] == "alert":
                key = (record["component"], record["anomaly"], record["bucket"])
                alerts[key] = alerts.get(key, 0) + record["count"]
            elif record["type"] == "lost" and record["what"] == "alerts":
                unlisted = True
    found += unknown_to_the_oracle(metrics, configuration)
    result, buckets = part.result, range(part.first, part.end)
    written = {(name, label, number - result.first_number): entry for (name, label, number), entry in written.items()}
    waiting = {number - result.first_number: rows for number, rows in waiting.items()}
    alerts = {(component, anomaly, number - result.first_number): count for (component, anomaly, number), count in alerts.items()}
    if starts != part.starts:
        return [f"buckets: {len(starts)} in the stream, {len(part.starts)} expected"]
    for (name, label, bucket), entry in written.items():
        right = result.metrics.get(name, {}).get(label) or nothing(name, part.end)
        if right[bucket] != entry:
            found.append(f"json {name}{label} bucket {bucket}: {entry}, expected {right[bucket]}")
    for name, series in result.metrics.items():
        for label, entries in series.items():
            for bucket in buckets:
                if must_be_written(name, entries, bucket, part.first) and (name, label, bucket) not in written:
                    found.append(f"json {name}{label} bucket {bucket}: no line")
    if gaps != part.gaps:
        found.append(f"json gaps: {gaps}, expected {part.gaps}")
    histories = sorted(((part.first + at, row) for at, row in histories), key=repr)
    if histories != part.histories:
        found.append(f"json CDOs: {histories}, expected {part.histories}")
    for bucket in buckets if "demand_oldest_ns" in metrics else ():
        right = result.waiting.get(bucket, [])
        if waiting.get(bucket, []) != right:
            found.append(f"json pending demands of bucket {bucket}: {waiting.get(bucket)}, expected {right}")
    if not unlisted and level != "workflow":
        found += alert_differences(alerts, result, buckets)
    return found


def alert_differences(alerts, result, buckets):
    """Each anomaly that was counted has a record of its own."""
    counted = {}
    for label, entries in result.metrics.get("anomalies", {}).items():
        if catalogue.OTHER in label:  # where labels were given up, records still have them
            return []
        for bucket in buckets:
            delta = entries[bucket][1]
            if delta:
                counted[(*label, bucket)] = delta
    return [] if counted == alerts else [f"alerts: {alerts}, expected {counted}"]


def reloads_of_hdf5(path):
    with h5py.File(path, "r") as file:
        return int(file.attrs["reloads"])


def reloads_of_json(path):
    with open(path, encoding="utf-8") as file:
        second = json.loads([*itertools.islice(file, 2)][-1])
    return second["number"] if second["type"] == "reload" else 0


def count_hdf5(path):
    with h5py.File(path, "r") as file:
        return file["time"].shape[0]


def count_json(path):
    with open(path, encoding="utf-8") as file:
        return sum(json.loads(line)["type"] == "bucket" for line in file)


def by_configuration(paths, reloads_of):
    """The files of a run in order, those of each configuration together."""
    return [list(group) for _, group in itertools.groupby(paths, reloads_of)]


def parts(outcome, paths, count):
    """Each file with its part of what was closed under one configuration. The last one shall have all
    the rest."""
    result, first, end = outcome
    for path in paths:
        last = path is paths[-1]
        yield path, Part(result, first, end if last else first + count(path))
        first += count(path)


def differences_of_run(recordings, hdf5s, jsonls=()):
    """One recording for each time the configuration was read, in order: their borders are the places in
    the stream of events at which it changed. Of the other sorts as many files as there are."""
    groups = by_configuration(hdf5s, reloads_of_hdf5)
    configurations = [configuration_of(group[0]) for group in groups]
    phases = []
    for number, (path, configuration) in enumerate(zip(recordings, configurations, strict=True)):
        header, items = stream.read(path, repeated=number == 0)
        phases.append((items, {**configuration, "unknown": header.unknown, "lacking": kinds_lacking(groups[number][0])}))
    made, found = outcomes(phases), []
    for outcome, group in zip(made, groups, strict=True):
        for path, part in parts(outcome, group, count_hdf5):
            found += named(path, len(hdf5s), differences_hdf5(path, part, path == hdf5s[-1]))
    if jsonls:
        groups = by_configuration(jsonls, reloads_of_json)
        for outcome, group, configuration in zip(made, groups, configurations, strict=True):
            for path, part in parts(outcome, group, count_json):
                found += named(path, len(jsonls), differences_json(path, part, configuration))
    return found


def named(path, files, lines):
    return lines if files == 1 else [f"{os.path.basename(path)}: {line}" for line in lines]


def differences(recording, hdf5, jsonl=None):
    return differences_of_run([recording], [hdf5], [] if jsonl is None else [jsonl])


if __name__ == "__main__":
    all_found = differences_of_run(*(argument.split(",") for argument in sys.argv[1:]))
    print("\n".join(all_found[:40]))
    print(f"{len(all_found)} differences")
    sys.exit(bool(all_found))
