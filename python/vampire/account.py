# SPDX-License-Identifier: BSD-3-Clause
"""What ran, and what is not in the numbers: filtered, sampled, lost, and not named."""

import dataclasses

import numpy as np

from . import files, words
from .compute import history_of, table
from .dataset import partial_of
from .run_files import ASIDE, MISSING, missing_text, share, without

OTHER = "(other)"
LOST = {"pool_manager": "in the pool manager's queue", "ring": "in vampire's own queue", "recording": "in a recording"}
COUNTED = ("received", "decoded", "rejected", "filtered", "counted", "late")
# Counters and labels of theirs whose share in "(other)" is how much is hidden.
NAMED = {"pool_operations": ("component",), "transports": ("source", "sink")}


def number_of(count, what):
    """"1 event", "1,000 events"."""
    return f"{count:,} {what}" + ("" if count == 1 else "s")


@dataclasses.dataclass
class Summary:  # pylint: disable=too-many-instance-attributes
    """What ran between `begin` and `end`, and what is not in the numbers. print() shows it in words."""

    workflow: str
    host: str
    output: str
    level: str
    runs: list            # ids
    begin: np.datetime64  # of the first bucket
    end: np.datetime64    # of the last
    buckets: int
    bucket_ns: int        # width of the last bucket
    received: int         # events, by vampire's account
    decoded: int
    rejected: int
    filtered: int         # by filters, without `sampled_out`
    sampled_out: int
    counted: int
    late: int             # counted in a later bucket than their own
    evicted: int          # records of CDOs, demands and transports given up at a bound
    not_subscribed: int   # events that were not asked for or are not in the recording, as far as vampire knows
    runs_missing: dict    # (workflow, run) -> number of buckets in which the run did not report and had not ended
    refused: int          # messages of runs, or parts of them, that vampire-collect refused
    lacking: dict         # metric -> (its total or number of values, what it lacks: {ASIDE: amount})
    lost: dict            # place -> events lost before they were received; only places where losses are seen
    sampling: str         # "none", or what of the events was counted
    overflow: int         # values counted in "(other)", or of histograms in no series, for want of memory
    given_up: int         # labels that values gave up, for want of memory for their series
    unidentified: int     # events of components that could not be told apart
    cdos_uncounted: int   # CDOs left out of cdos_created, which were probably counted before they were evicted
    hidden: dict          # (metric, label) -> (in "(other)", in all)
    buckets_lost: int     # that the output could not write
    buckets_missing: int  # that are not in these files
    buckets_incomplete: int
    partial: list         # what of the runs is not among the files
    not_observed: dict    # metric, or "losses" of the pool manager: why it is absent

    @property
    def whole(self):
        """Whether every event was counted, under its own name, and all buckets are in the files. Late events are counted."""
        return not self.notes()

    def remarks(self):
        """Sentences about what does not make the numbers incomplete."""
        if not self.late:
            return []
        return [f"{number_of(self.late, 'event')} ({share(self.late, self.counted)}) {words.LATE}"]

    def notes(self):
        """What is not in the numbers, as sentences, the worst first; empty when every event was counted."""
        events = self.received + sum(self.lost.values()) + self.not_subscribed
        found = [f"{number_of(count, 'event')} ({share(count, events)}) lost {LOST.get(place, place)}"
                 for place, count in self.lost.items() if count]
        if self.buckets_incomplete:
            found.append(f"{self.buckets_incomplete:,} of {self.buckets:,} buckets miss events")
        if self.buckets_lost:
            found.append(f"output {self.output} lost {number_of(self.buckets_lost, 'bucket')}")
        if self.buckets_missing > self.buckets_lost:
            found.append(f"{number_of(self.buckets_missing, 'bucket')} not in the files")
        if self.runs_missing:
            found.append(missing_text(self.runs_missing, self.buckets))
        if self.rejected:
            found.append(f"{number_of(self.rejected, 'event')} ({share(self.rejected, self.received)}) {words.REJECTED}")
        if self.refused:
            found.append(f"{self.refused:,} {words.REFUSED}")
        if self.not_subscribed:
            found.append(f"{number_of(self.not_subscribed, 'event')} ({share(self.not_subscribed, events)}) {words.OTHER_KINDS}")
        if self.filtered:
            found.append(f"filters excluded {number_of(self.filtered, 'event')} ({share(self.filtered, self.decoded)})")
        if self.sampled_out:
            found.append(f"sampling left out {number_of(self.sampled_out, 'event')} ({share(self.sampled_out, self.decoded)}): each "
                         "that is counted stands for as many as vampire_weight says")
        elif self.sampling not in ("", "none"):
            found.append(f"events are sampled: {self.sampling}")
        groups = {}
        for metric, (value, lacks) in self.lacking.items():
            part = share(value, value + sum(lacks.values()))
            groups.setdefault(without(lacks), []).append(f"{part} of {metric}")
        found += [f"{', '.join(metrics)}: {said}" for said, metrics in groups.items()]
        if self.evicted:
            found.append(f"{self.evicted:,} {words.EVICTED}")
        for (metric, label), (part, all_) in self.hidden.items():
            if part:
                found.append(f"{share(part, all_)} of {metric} have no {label} by name, but are in (other)")
        if self.overflow and not any(part for part, _ in self.hidden.values()):
            found.append(f"{self.overflow:,} {words.OVERFLOW}")
        if self.given_up:
            found.append(f"{number_of(self.given_up, 'label')} of values given up at a limit of memory: they are under (other) "
                         "in tables by these labels")
        if self.unidentified:
            found.append(f"{number_of(self.unidentified, 'event')} of components that cannot be told apart: what these hold is not known")
        if self.cdos_uncounted:
            found.append(f"cdos_created is the least; with {number_of(self.cdos_uncounted, 'CDO')} that may have been counted before, the most")
        reasons = {}
        for what, reason in self.not_observed.items():
            reasons.setdefault(reason, []).append(what)
        for reason, what in reasons.items():
            is_complete = set(what) <= {"losses", "kinds", "serials", "demands", "examined"}  # these reasons name what is absent
            found.append(reason if is_complete else f"{reason}: {', '.join(what)} not observable")
        return found + self.partial

    def __str__(self):
        lines = [f"workflow   {self.workflow}, seen on {self.host}, output {self.output}, level {self.level}",
                 f"time       {str(self.begin)[:19]} to {str(self.end)[:19]} UTC: {number_of(self.buckets, 'bucket')} of "
                 f"{self.bucket_ns / 1e9:g} s",
                 f"events     {self.received:,} received, {self.decoded:,} understood, {self.counted:,} counted"]
        notes = self.notes()
        first, *others = [*(notes or [f"{words.EVERY}, every bucket is here"]), *self.remarks()]
        head = "not whole  " if notes else "whole      "
        return "\n".join([*lines, head + first, *(" " * len(head) + text for text in others)])


def _own_counters(history):
    """What _accounts returns, computed from vampire's own metrics. Unlike the columns, their values are increases in a bucket,
    so that no earlier bucket is needed. None if the files do not have these metrics."""
    needed = {f"vampire_{name}" for name in (*COUNTED, "lost")}
    if not needed <= set(history.metrics) or "reason" not in history.metric("vampire_lost").labels:
        return None
    found = {f"events_{name}": _sum(history, f"vampire_{name}") for name in COUNTED}
    lost = table(history, "vampire_lost", ("reason",), None)
    by_place = dict(zip(lost.reason, map(int, lost.delta)))
    for name in history.column_names:
        if name.startswith("events_lost_"):
            found[name] = by_place.get(name.removeprefix("events_lost_"), 0)
    return found


def _accounts(history):
    """{column: increase in the chosen buckets}, over all runs. The columns are sums since the start of the run, so that the last
    bucket before the chosen ones is subtracted. If that bucket is in an earlier file, vampire's own metrics are used; if the
    files do not have them, the increase in the first bucket is missing."""
    found = {}
    names = [name for name in history.column_names if name.startswith("events_")]
    chosen = [[file for file in segments if len(file.wanted())] for segments in history.runs.values()]
    ends = [(segments[0], segments[-1]) for segments in chosen if segments]
    if any(first.segment > 1 and first.first == 0 for first, _ in ends):
        own = _own_counters(history)
        if own is not None:
            return own
    for first, last in ends:
        with last.opened() as hdf5:
            sums = {name: int(last.column(hdf5, name)[last.wanted()[-1]]) for name in names}
        before = dict.fromkeys(names, 0)
        if first.first > 0 or first.segment > 1:
            row = max(0, first.first - 1)
            with first.opened() as hdf5:
                before = {name: int(first.column(hdf5, name)[row]) for name in names}
        for name in names:
            found[name] = found.get(name, 0) + sums[name] - before[name]
    return found


def _sum(history, name):
    """Of a counter without a need for labels; 0 when the files do not have it."""
    return int(table(history, name, (), None).delta.sum()) if name in history.metrics else 0


def _lacking(history):
    """As in Summary: the metrics that are there and lack something."""
    found = {}
    for name in ASIDE:
        sums = table(history, name, ("metric",), None) if name in history.metrics else None
        for metric, amount in () if sums is None else zip(sums.metric, sums.delta):
            if amount and metric in history.metrics:
                values = table(history, metric, (), None)
                value = values["delta" if "delta" in values else "count"].sum()
                found.setdefault(metric, (int(value), {}))[1][name] = int(amount)
    return found


def _hidden(history):
    found = {}
    for metric, labels in NAMED.items():
        if metric in history.metrics and set(labels) <= set(history.metric(metric).labels):
            sums = table(history, metric, labels, None)
            for label in labels:
                found[metric, label] = (int(sums.delta[sums[label] == OTHER].sum()), int(sums.delta.sum()))
    return found


def _runs_missing(history):
    """{(workflow, run): number of buckets in which the run was missing}."""
    labels = ("workflow", "run")
    if MISSING not in history.metrics or not set(labels) <= set(history.metric(MISSING).labels):
        return {}
    states = table(history, MISSING, labels)
    counts = states[states["max"] > 0].groupby(list(labels), observed=True).size()
    return {key: int(count) for key, count in counts.items() if count}


def _buckets_lost(history):
    """By this output, over all runs."""
    lost = 0
    for parts in history.runs.values():
        with parts[-1].opened() as hdf5:
            tables = parts[-1].tables(hdf5)
        if "output_name" in tables and "buckets_lost" in tables:
            for name, count in zip(tables["output_name"][1], tables["buckets_lost"][1]):
                lost += int(count) if name == parts[-1].attrs["output"] else 0
    return lost


def _buckets_missing(history):
    """Of the statistics, between the first and the last row of each run."""
    runs = history.per_bucket(lambda file: file.run)
    widths = np.ones(len(runs), np.int64)  # of a row in the statistics' buckets
    if "statistics_buckets" in history.column_names:
        widths = np.maximum(history.columns(["statistics_buckets"])["statistics_buckets"][0].astype(np.int64), 1)
    same = runs[1:] == runs[:-1]
    return int((history.numbers[1:] - history.numbers[:-1] - widths[:-1])[same].sum())


def _verdicts(history):
    """The verdicts of vampire --examine in which a field of events has another meaning, as text; "" if there are none."""
    said = {str(file.attrs.get("examined", "")) for file in history.files}
    return "; ".join(sorted(one for one in said if any(word in one for word in (words.OTHER, words.COARSE, words.SHARED))))


def summary(history, output=None, between=None):
    """A Summary of files: a path, a pattern, a directory, a list, or a History."""
    history = history_of(history, output, between)
    last, accounts, verdicts = history.files[-1], _accounts(history), _verdicts(history)
    sampled = _sum(history, "vampire_sampled_out")
    count = len(history.times)
    return Summary(
        workflow=", ".join(dict.fromkeys(file.attrs["workflow"] for file in history.files)),
        host=", ".join(dict.fromkeys(file.attrs["host"] for file in history.files)),
        output=last.attrs["output"], level=last.attrs["level"], runs=list(history.runs),
        begin=np.datetime64(int(history.times.min()) if count else files.NAT, "ns"),
        end=np.datetime64(int((history.times + history.bucket_ns).max()) if count else files.NAT, "ns"),
        buckets=count, bucket_ns=int(history.bucket_ns[-1]) if count else int(last.attrs["bucket_ns"]),
        **{name: accounts.get(f"events_{name}", 0) for name in COUNTED if name != "filtered"},
        evicted=_sum(history, "vampire_evicted"), not_subscribed=_sum(history, "vampire_not_subscribed"),
        runs_missing=_runs_missing(history), refused=_sum(history, "collect_refused"), lacking=_lacking(history), filtered=max(0, accounts.get("events_filtered", 0) - sampled), sampled_out=sampled,
        lost={place: accounts[f"events_lost_{place}"] for place in LOST if f"events_lost_{place}" in accounts},
        sampling=str(last.attrs.get("sampling", "none")), overflow=_sum(history, "vampire_series_overflow"),
        given_up=_sum(history, "vampire_labels_given_up"),
        unidentified=_sum(history, "vampire_unidentified"), cdos_uncounted=_sum(history, "vampire_cdos_uncounted"), hidden=_hidden(history),
        buckets_lost=_buckets_lost(history), buckets_missing=_buckets_missing(history),
        buckets_incomplete=int((~history.complete()).sum()), partial=partial_of(history),
        not_observed={**history.not_observed, **({"examined": f"vampire --examine found: {verdicts}"} if verdicts else {})})
