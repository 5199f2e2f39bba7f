# SPDX-License-Identifier: BSD-3-Clause
"""What the files of a run say of it, as the summary at its end does: totals, components, gaps, alarms, how it ended."""

import dataclasses
import math

from . import words

OTHER = "(other)"
LOSSES = ("pool_manager", "ring", "recording")
ACCOUNT = ("received", "decoded", "rejected", "filtered", "counted", "late")
COUNTERS = ("produced_bytes", "transports", "transport_bytes", "vampire_evicted", "vampire_unidentified",
            "vampire_cdos_uncounted", "vampire_series_overflow", "vampire_labels_given_up", "vampire_sampled_out", "vampire_filter_cut",
            "vampire_not_subscribed", "collect_refused")  # and pool_operations
ASIDE = ("vampire_metric_filtered", "vampire_not_in_output", "vampire_no_room")  # what metrics lack, by their names
MISSING = "collect_runs_missing"
MISSING_SHOWN = 10  # runs that a sentence names
RESOLUTION = "vampire_clock_resolution_ns"  # a gauge, where events carry no time
HISTOGRAMS = ("transport_ns", "demand_wait_ns")
ALARMS_MAX = 64  # vampire has no more rules


def share(part, whole):
    """For people, as the programs write it: "12.0 %", "less than 0.1 %"; never 0 of something, nor 100 of less than all."""
    percent = 100 * part / whole if whole else 100.0
    if 0 < percent < 0.1:
        return "less than 0.1 %"
    return "more than 99.9 %" if part < whole and percent > 99.9 else f"{percent:.1f} %"


def without(aside):
    """In words, which of ASIDE a number lacks. `aside`: their amounts."""
    return "without " + " and ".join(said for name, said in zip(ASIDE, (words.FILTERED, words.OUTSIDE, words.NO_ROOM)) if aside.get(name))


def missing_text(runs, buckets):
    """A sentence that names the runs that are missing in collected buckets. `runs`: {(workflow, run): number of buckets}."""
    names = [f"{workflow} (run {run[:8]}) in {count:,}" for (workflow, run), count in sorted(runs.items())]
    if len(names) > MISSING_SHOWN:
        names[MISSING_SHOWN:] = [f"{len(names) - MISSING_SHOWN:,} more"]
    return f"{words.RUNS_MISSING % f'{buckets:,}'}: {', '.join(names)}"


@dataclasses.dataclass
class Histogram:
    """Values by the lower edges of their bins. Each doubling has 2 ** sub_bits bins."""

    sub_bits: int
    bins: dict = dataclasses.field(default_factory=dict)
    min: int = (1 << 64) - 1
    max: int = 0

    @property
    def count(self):
        """How many values there are."""
        return sum(self.bins.values())

    def add(self, bins, least, greatest):
        """Adds {lower edge: count}, of values between these."""
        for lower, count in bins.items():
            self.bins[lower] = self.bins.get(lower, 0) + count
        self.min, self.max = min(self.min, least), max(self.max, greatest)

    def add_histogram(self, other):
        """Adds a Histogram. If it has other bins, the values of each bin are added to the bin that contains the middle of that bin,
        as in vampire when its statistics start over. This is exact unless the bins of `self` are finer."""
        bins = {}
        for lower, count in other.bins.items():
            own = lower if other.sub_bits == self.sub_bits else self._bin_of(other.middle(lower))
            bins[own] = bins.get(own, 0) + count
        self.add(bins, other.min, other.max)

    def middle(self, lower):
        """The middle of the bin that begins at `lower`."""
        width = 1 << max(0, lower.bit_length() - 1 - self.sub_bits)
        return lower + (width - 1) // 2

    def _bin_of(self, value):
        """The lower edge of the bin that holds the value."""
        shift = max(0, value.bit_length() - 1 - self.sub_bits)
        return value >> shift << shift

    def quantile(self, share):
        """The middle of the bin that holds it, never outside min and max."""
        wanted = max(1, math.ceil(share * self.count))
        for lower, count in sorted(self.bins.items()):
            wanted -= count
            if wanted <= 0:
                break
        return max(self.min, min(self.max, self.middle(lower)))


@dataclasses.dataclass
class Component:
    """A row of the run's table of components."""

    name: str
    has_left: bool
    operations: int
    reason: str


@dataclasses.dataclass
class Alarm:
    """A rule; `firing` and `pending`: how many more than before the first of the files."""

    severity: str
    fired: int = 0
    firing: int = 0
    pending: int = 0

    def enter(self, state, delayed):
        """An alarm of the rule entered a state. `delayed`: it was pending before it fired."""
        if state == "firing":
            self.fired += 1
            self.firing += 1
            self.pending -= delayed
        elif state == "resolved":
            self.firing -= 1
        elif state in ("pending", "cleared"):
            self.pending += 1 if state == "pending" else -1


@dataclasses.dataclass
class RunFile:  # pylint: disable=too-many-instance-attributes
    """What a file says of its run or, once others are joined to it, what the files of a run do."""

    paths: list
    is_written: bool            # by a process, now
    run: str = ""
    workflow: str = ""
    output: str = "output"
    segment: int = 0            # of several files: the last one
    segments_missing: int = 0   # before it, from the run's first one on
    end: str = "open"           # "open", "rotated" or "ended"
    reason: str = ""
    started: int = 0            # ns, UTC
    ended: int = 0
    first_ns: int = 0           # of the buckets in the files: when the first begins, when the last ends
    last_ns: int = 0
    first_number: int = 0
    next_number: int = 0
    buckets: int = 0            # of the statistics
    lost: int = 0               # of those between them: in no file
    operations: dict = dataclasses.field(default_factory=dict)  # word: count, in the order of vampire's list
    unlabelled: int = 0         # operations of a file whose output drops the label
    totals: dict = dataclasses.field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    aside: dict = dataclasses.field(default_factory=lambda: {name: {} for name in ASIDE})  # of each: metric: amount
    counted: set = dataclasses.field(default_factory=set)       # which counters the file has
    not_observed: dict = dataclasses.field(default_factory=dict)  # metric, or "losses": why it is absent
    account: dict = dataclasses.field(default_factory=lambda: dict.fromkeys((*ACCOUNT, *LOSSES), 0))
    histograms: dict = dataclasses.field(default_factory=dict)
    components: dict = dataclasses.field(default_factory=dict)  # row: Component
    alarms: dict = dataclasses.field(default_factory=dict)      # rule: Alarm, in the order of their first changes
    damage: list = dataclasses.field(default_factory=list)      # what was left out because of it, in words
    unwatched: int = 0          # gaps while the pool manager was gone
    unwatched_ns: int = 0
    runs_missing: dict = dataclasses.field(default_factory=dict)  # (workflow, run): number of buckets in which it did not report
    examined: str = ""          # the verdict of vampire --examine on what events mean
    resolution_ns: int = 0      # of the times, the worst; 0: events have times of their own

    def add_bucket(self, number, count, start, width):
        """A bucket, in the order in which they were written. `count`: of the statistics' that are in it."""
        if not self.buckets:
            self.first_number, self.first_ns = number, start
        else:
            self.lost += max(0, number - self.next_number)
        self.next_number, self.last_ns = number + count, start + width
        self.buckets += count

    def add_gap(self, reason, start, end):
        """Of these only the time without a pool manager is part of a summary."""
        if reason == "pool_gone":
            self.unwatched += 1
            self.unwatched_ns += max(0, end - start)

    def alarm(self, rule, severity):
        """The Alarm of this rule; one that is not kept beyond ALARMS_MAX."""
        if rule not in self.alarms and len(self.alarms) == ALARMS_MAX:
            return Alarm(severity)
        return self.alarms.setdefault(rule, Alarm(severity))

    def joined(self, after, is_next):
        """Merges this file and the next given file of the same run. is_next: no segment is missing between them. Totals are sums since
        the start of the run, so that those of the next file are kept."""
        after.components = self.components | after.components
        after.paths = self.paths + after.paths
        if not after.buckets:  # it has no totals, only an end
            for field in ("components", "paths", "segment", "end", "ended", "reason", "is_written"):
                setattr(self, field, getattr(after, field))
            return self
        if self.buckets and after.first_number >= self.next_number:
            self._add_to(after, is_next)
        return after

    def _add_to(self, after, is_next):
        for name, histogram in after.histograms.items():
            before = self.histograms.get(name)
            if before is not None:
                histogram.add_histogram(before)
        after.lost += self.lost + (after.first_number - self.next_number if is_next else 0)
        after.buckets += self.buckets
        after.first_number, after.first_ns = self.first_number, self.first_ns
        after.damage = self.damage + after.damage
        for run, count in self.runs_missing.items():
            after.runs_missing[run] = after.runs_missing.get(run, 0) + count
        after.unwatched += self.unwatched
        after.unwatched_ns += self.unwatched_ns
        after.examined = after.examined or self.examined
        after.resolution_ns = max(after.resolution_ns, self.resolution_ns)
        later, after.alarms = after.alarms, self.alarms
        for rule, more in later.items():
            alarm = after.alarm(rule, more.severity)
            alarm.fired, alarm.firing, alarm.pending = \
                alarm.fired + more.fired, alarm.firing + more.firing, alarm.pending + more.pending
