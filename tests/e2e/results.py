# SPDX-License-Identifier: BSD-3-Clause
"""Reads what vampire wrote, from the HDF5 files and from the JSON lines, into the same plain
shape, and compares it with what the components of the workflow counted themselves.

The shape of a metric: {tuple of labels in the metric's order: value at the end of the run}; of a
histogram: {labels: (count, sum)} over the whole run.
"""

import calendar
import json
import time

import h5py

from json_lines import flat
from rows import File, column, text_of, texts

OPERATIONS = (
    "join leave declare seal offer require demand retract withdraw dispose subscribe unsubscribe"
).split()


def assert_identities(get, output_get, where):
    """Nothing appears or vanishes: events on their way in, and what each output was given."""
    assert get("received") == get("decoded") + get("rejected"), f"received: {where}"
    assert get("decoded") == get("counted") + get("filtered"), f"decoded: {where}"
    for queued, written, lost, waiting in output_get():
        assert queued == written + lost + waiting, f"an output's account: {where}"


def assert_account(file):
    """The identities in each bucket of an HDF5 file."""
    rows = file["time"].shape[0]
    words = ("received", "decoded", "rejected", "counted", "filtered")
    columns = {word: column(file[f"events_{word}"], rows) for word in words}
    outputs = [column(file[f"buckets_{word}"], rows) for word in ("queued", "written", "lost", "waiting")]
    for row in range(rows):
        assert_identities(
            lambda word: int(columns[word][row]),
            lambda: zip(*([int(value) for value in output[row]] for output in outputs)),
            f"bucket {row} of {file.filename}",
        )


def assert_line_account(record):
    """The same in a JSON line that has an account."""
    account = record["accounting"]
    assert_identities(
        account.__getitem__,
        lambda: ([one[word] for word in ("queued", "written", "lost", "waiting")]
                 for one in account["outputs"]),
        f"{record['type']} at {record['time']}",
    )


NO_TIME = -(2**63)
# Reasons that are places where events were lost; the others' events cannot be counted.
LOSSES = ("pool_manager", "ring", "recording")


def read_time(text):
    seconds, fraction = text[:-1].split(".")
    return calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(fraction)


def gap_rows(file):
    """(start, end, reason, events) of each gap of an HDF5 file."""
    columns = [file["gap_" + name][...].tolist() for name in ("start", "end")]
    rows = zip(*columns, texts(file["gap_reason"]), file["gap_events"][...].tolist())
    rows = list(rows)
    used = [row for row in rows if row[0] != NO_TIME]
    assert rows[: len(used)] == used, "a hole in the table of gaps"
    return used


def gap_events(gaps):
    """Lost events by place."""
    return {place: sum(gap[3] for gap in gaps if gap[2] == place) for place in LOSSES}


def assert_gaps(gaps, end_of_buckets, where):
    """None reaches beyond the buckets that were closed with it. Only a clock that was set back makes
    one end before it began."""
    for start, end, reason, events in gaps:
        assert end <= end_of_buckets, f"a gap up to {end}, in buckets up to {end_of_buckets}: {where}"
        assert start <= end or reason in ("leap", "pool_gone"), f"a gap ends before it begins: {where}"
        assert events > 0 if reason in LOSSES else events == 0, f"a gap of {events} events, {reason}: {where}"


class Gaps:
    """The gaps of a run as they are read, bucket by bucket or file by file, compared with the account."""

    def __init__(self):
        self.rows = []
        self.reported = dict.fromkeys(LOSSES, 0)
        self.begun = False

    def begin(self, is_first, lost):
        """At the start of a file; `lost` before it, if the file is not the first of its run."""
        if not self.begun and not is_first:
            self.reported = dict(lost)
        self.begun = True

    def restart(self):
        """The statistics begin again, and so does their account."""
        self.reported = dict.fromkeys(LOSSES, 0)

    def add(self, rows, lost, where, complete=True):
        """The gaps and the account have the same number of lost events. A file that is not complete
        may have gaps whose bucket it lacks."""
        self.rows += rows
        for place, events in gap_events(rows).items():
            reported = self.reported[place] + events
            assert reported == lost[place] or (not complete and reported > lost[place]), (
                f"{lost[place]} events lost ({place}), {reported} of them in gaps: {where}")
            self.reported[place] = lost[place]


class Hdf5Run:
    """All segments of one run, in order."""

    def __init__(self, paths, **open_options):
        self.paths = [str(path) for path in paths]
        self.open_options = open_options
        self.counters, self.gauges, self.histograms = {}, {}, {}
        self.columns, self.components = {}, []
        self.buckets = 0
        self.gap_account = Gaps()
        self.buckets_lost = False
        for path in self.paths:
            with h5py.File(path, "r", **open_options) as file:
                self._read(file)

    def _read(self, file):
        self.buckets += file["time"].shape[0]
        if file["time"].shape[0] == 0:
            return
        assert_account(file)
        self._read_gaps(file)
        run = File(file)
        for name in run.metrics():
            labels, entries = run.labels(name), run.entries(name)
            if run.kind(name) == "histogram":
                self._add_histogram(name, labels, entries)
            else:
                target = self.counters if run.kind(name) == "counter" else self.gauges
                target[name] = self._last(labels, entries)
        for name in file:
            if name.startswith("events_"):
                self.columns[name] = run.cells(name)[-1][0]
        self._read_components(file)

    @property
    def gaps(self):
        return self.gap_account.rows

    def _read_gaps(self, file):
        rows = file["time"].shape[0]
        # A live file may have grown since its length was read.
        absent = column(file["events_received"], rows) * 0  # where losses cannot be known
        lost = {place: column(file[f"events_lost_{place}"], rows) if f"events_lost_{place}" in file else absent for place in LOSSES}
        gaps = gap_rows(file)
        in_file = gap_events(gaps)
        account = self.gap_account
        # What the earlier files hold is known by the first bucket, except for the gaps in it.
        before = {place: int(lost[place][-1]) - in_file[place] for place in LOSSES}
        account.begin(int(file.attrs["segment"]) == 1, before)
        if self.columns and int(column(file["events_received"], 1)[0]) < self.columns["events_received"]:
            account.restart()
        complete = int(file["how_ended"][()]) != 0
        if complete:
            assert_gaps(gaps, int((file["time"][:rows] + file["bucket_ns"][:rows]).max()), file.filename)
        account.add(gaps, {place: int(values[-1]) for place, values in lost.items()}, file.filename, complete)
        self.buckets_lost = self.buckets_lost or bool(column(file["buckets_lost"], rows).any())

    @staticmethod
    def _last(labels, entries):
        return {label: series[-1][0] for label, series in zip(labels, entries) if label == () or any(label)}

    def _add_histogram(self, name, labels, entries):
        target = self.histograms.setdefault(name, {})
        for label, series in zip(labels, entries):
            if label == () or any(label):
                count, total = target.get(label, (0, 0))
                found = [entry for entry in series if entry is not None]
                target[label] = (count + sum(entry["count"] for entry in found),
                                 total + sum(entry["sum"] for entry in found))

    def _read_components(self, file):
        names = texts(file["component_name"])
        reasons = texts(file["component_leave_reason"])
        self.components = [
            {
                "name": name,
                "app_id": int(file["component_app_id"][i]),
                "joined": int(file["component_joined"][i]),
                "left": int(file["component_left"][i]),
                "operations": int(file["component_operations"][i]),
                "reason": reasons[i],
            }
            for i, name in enumerate(names)
            if name
        ]


class JsonRun:
    """The stream of one run; the values are the newest of each series."""

    def __init__(self, path):
        self.counters, self.gauges, self.histograms = {}, {}, {}
        self.records = []
        self.columns = {}
        self.gap_account = Gaps()
        with open(path, encoding="utf-8") as lines:
            self.records.extend(flat(map(json.loads, lines)))
        header = next(record for record in self.records if record["type"] == "header")
        order = {metric["name"]: metric["labels"] for metric in header["metrics"]}
        for metric in header["metrics"]:
            # One that never changed has no lines.
            getattr(self, metric["kind"] + "s")[metric["name"]] = {}
        self._read_gaps(header["segment"] == 1, str(path))
        for record in self.records:
            if "accounting" in record:
                assert_line_account(record)
            if record["type"] == "metric":
                self._take(record, order[record["metric"]])

    @property
    def gaps(self):
        return self.gap_account.rows

    def _read_gaps(self, is_first, where):
        """Each bucket's own are in front of its line."""
        rows = []
        for record in self.records:
            if record["type"] == "gap":
                rows.append((read_time(record["start"]), read_time(record["end"]), record["reason"],
                             record["events"]))
            elif record["type"] == "bucket":
                # null: those cannot be seen
                lost = {place: events or 0 for place, events in record["accounting"]["lost"].items()}
                events = gap_events(rows)
                self.gap_account.begin(is_first, {place: lost[place] - events[place] for place in LOSSES})
                assert_gaps(rows, read_time(record["time"]) + record["width_ns"], where)
                self.gap_account.add(rows, lost, f"bucket {record['bucket']} of {where}")
                rows = []
        assert not rows, f"gaps without a bucket: {where}"

    def _take(self, record, order):
        labels = tuple(record.get("labels", {})[name] for name in order if name in record.get("labels", {}))
        name = record["metric"]
        if "count" in record:
            target = self.histograms.setdefault(name, {})
            before = target.get(labels, (0, 0))
            target[labels] = (before[0] + record["count"], before[1] + record["sum"])
        elif "delta" in record:
            self.counters.setdefault(name, {})[labels] = record["value"]
        else:
            self.gauges.setdefault(name, {})[labels] = record["value"]


def total(series, position, value, value_of=lambda entry: entry):
    """Sum over all series whose label at `position` is `value`."""
    return sum(value_of(entry) for label, entry in series.items() if label[position] == value)


def expectations(report):
    """(what, number the component counted, how to get it from a run) of one component."""
    name = report["component"]
    for operation in OPERATIONS:
        yield operation, report["operations"][operation], (
            lambda run, o=operation: run.counters["pool_operations"].get((name, o), 0)
        )
    for operation in ("transport_init", "transport_completed"):
        yield operation, report["transports"], (
            lambda run, o=operation: run.counters["pool_operations"].get((name, o), 0)
        )
    yield "produced_bytes", report["produced_bytes"], (
        lambda run: run.counters["produced_bytes"].get((name,), 0)
    )
    yield "consumed_bytes", report["consumed_bytes"], (
        lambda run: run.counters["consumed_bytes"].get((name,), 0)
    )
    # Labels of transports: source, sink, ...
    yield "transports", report["transports"], (
        lambda run: total(run.counters["transports"], 1, name)
    )
    yield "transport_bytes", report["consumed_bytes"], (
        lambda run: total(run.counters["transport_bytes"], 1, name)
    )
    yield "transport_ns count", report["transports"], (
        lambda run: total(run.histograms["transport_ns"], 1, name, lambda entry: entry[0])
    )
    yield "demand_wait_ns count", report["demand_ns"]["count"], (
        lambda run: total(run.histograms["demand_wait_ns"], 0, name, lambda entry: entry[0])
    )


def compare(reports, runs):
    """Every difference as a line of text. `runs`: {"hdf5": run, "json": run}."""
    differences = []
    for report in reports:
        if report["failed"]:
            differences.append(f"{report['component']}: {report['failed']} of its own failures")
        for what, expected, get in expectations(report):
            for output, run in runs.items():
                try:
                    counted = get(run)
                except KeyError as missing:
                    differences.append(f"{output}: there is no metric {missing}")
                    continue
                if counted != expected:
                    differences.append(
                        f"{report['component']}: {what}: it counted {expected}, "
                        f"vampire's {output} says {counted}"
                    )
    differences += gap_differences(*runs.values()) if len(runs) == 2 else []
    return sorted(set(differences), key=differences.index)


def gap_differences(hdf5, json_lines):
    """The same gaps in both outputs; where one lost buckets, it may have joined some."""
    ours, theirs = hdf5.gaps, json_lines.gaps
    if hdf5.buckets_lost:
        ours, theirs = gap_events(ours), gap_events(theirs)
    return [] if ours == theirs else [f"gaps: hdf5 has {ours}, json {theirs}"]


def accounting_differences(run):
    """Violations of vampire's own identities, from the columns of the HDF5 file."""
    column = run.columns
    wrong = []
    if column["events_received"] != column["events_decoded"] + column["events_rejected"]:
        wrong.append(f"received is not decoded + rejected: {column}")
    if column["events_decoded"] != column["events_filtered"] + column["events_counted"]:
        wrong.append(f"decoded is not filtered + counted: {column}")
    return wrong
