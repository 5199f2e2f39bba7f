# SPDX-License-Identifier: BSD-3-Clause
"""What is counted: the numbers of components, pairs, waits and declared metrics, bucket by bucket."""

import collections
import re

ROWS_MAX = 4096  # of a table, with "(other)", which takes the names that have no room
OTHER = "(other)"
COMPONENTS, PAIRS, BLAME, DECLARED, OF_RANKS = range(5)
TABLES = (COMPONENTS, PAIRS, BLAME, DECLARED)
MODELS, RANKS = range(2)

# Numbers that are sums; of a row's time histogram there is one in each table.
SUMS = ("operations", "offers", "demands", "withdrawals", "produced", "consumed", "anomalies", "transports", "moved",
        "waited", "for_offer", "for_start", "moving", "grew")
TIMES = ("waits", "durations", "values")
NUMBERS = frozenset(SUMS + TIMES)

SUB_BITS = 3  # of the histograms here; a doubling has 2^SUB_BITS bins
MAX_TIME = (1 << 64) - 1


def bin_of(value, bits=SUB_BITS):
    """The index of the bin that a value falls into (docs/metrics.md, "Histograms")."""
    shift = max(value.bit_length() - bits - 1, 0)
    return (shift << bits) + (value >> shift)


def lower_of(index, bits=SUB_BITS):
    """The smallest value of a bin."""
    shift = max((index >> bits) - 1, 0)
    return (index - (shift << bits)) << shift


def _middle_of(index):
    lower = lower_of(index)
    return lower + (lower_of(index + 1) - 1 - lower) // 2


class Times:
    """A histogram of durations in ns: {bin: count}, with exact extremes."""

    __slots__ = ("count", "min", "max", "bins")

    def __init__(self):
        self.count, self.min, self.max, self.bins = 0, MAX_TIME, 0, collections.Counter()

    def take(self, bins, least, most):
        """Adds (smallest value of a bin, count) pairs; bins of another precision go where their smallest value belongs."""
        for lower, count in bins:
            self.bins[bin_of(lower)] += count
            self.count += count
        self.min, self.max = min(self.min, least), max(self.max, most)

    def add(self, other):
        self.bins.update(other.bins)
        self.count += other.count
        self.min, self.max = min(self.min, other.min), max(self.max, other.max)

    def quantile(self, fraction):
        """The middle of the bin that has the quantile, within the extremes; 0 without values."""
        wanted = min(max(-int(-fraction * self.count // 1), 1), self.count)
        for index in sorted(self.bins):
            wanted -= self.bins[index]
            if wanted <= 0:
                return min(max(_middle_of(index), self.min), self.max)
        return 0


class Part:
    """The numbers of a row in one bucket, or in several: {name: sum} without zeros, and times (None: none)."""

    __slots__ = ("sums", "times")

    def __init__(self):
        self.sums, self.times = {}, None

    def count(self, number, value):
        if value:
            self.sums[number] = self.sums.get(number, 0) + value

    def timed(self):
        """Its histogram, made when it is asked for first."""
        if self.times is None:
            self.times = Times()
        return self.times

    def add(self, other):
        for number, value in other.sums.items():
            self.sums[number] = self.sums.get(number, 0) + value
        if other.times is not None:
            self.timed().add(other.times)

    def empty(self):
        return not self.sums and (self.times is None or self.times.count == 0)


class Row:
    """A component or model, a pair, or a declared metric with its labels. `second`: the sink of a pair, who waited, or
    the labels of a metric; else ""."""

    __slots__ = ("name", "second", "members", "left", "reason", "host", "unit", "level", "by_lines", "active", "incoming", "all",
                 "of_ranks")

    def __init__(self, name, second):
        self.name, self.second = name, second
        self.members = self.left = 0        # components of this name, and of them those that have left
        self.reason = self.host = self.unit = ""
        self.level = None                   # the newest value of a declared gauge
        self.by_lines = False               # its operations come from lines of components
        self.active = 0                     # the bucket of its last operation, as a number of committed buckets
        self.incoming, self.all = None, Part()
        self.of_ranks = None                # the row that has its numbers from lines of ranks

    @property
    def vanished(self):
        """One of its members left, and not in order; a bad reason stays."""
        return self.left > 0 and self.reason not in ("finalized", "unknown", "")


class Table:
    """Rows by name. What a bucket has of a row is collected in row.incoming until commit()."""

    def __init__(self):
        self.rows, self.touched = {}, []
        self.other = self.get(OTHER, OTHER)

    def get(self, name, second="", active=0):
        """The row of this name, made if it is new; "(other)" if there is no room."""
        if name == OTHER and not second:
            second = OTHER
        row = self.rows.get((name, second))
        if row is None:
            if len(self.rows) >= ROWS_MAX:
                return self.other
            row = self.rows[name, second] = Row(name, second)
            row.active = active
        return row

    def part(self, row):
        """What the incoming bucket has of the row."""
        if row.incoming is None:
            row.incoming = Part()
            self.touched.append(row)
        return row.incoming

    def drop(self):
        """Forgets the incoming bucket."""
        for row in self.touched:
            row.incoming = None
        self.touched.clear()

    def commit(self):
        """[(row, part)] of the bucket that ends."""
        parts = [(row, row.incoming) for row in self.touched]
        for row, part in parts:
            row.all.add(part)
        self.drop()
        return parts


# ---------------------------------------------------------------- rows that are shown


class Shown:
    """A row as it is shown: clean texts, numbers per second or in all."""

    def __init__(self, name="", second=""):
        self.name, self.second = name, second
        self.members = self.left = self.rest = 0  # rest: this many rows in one
        self.reason = self.host = self.unit = ""
        self.level = None
        self.vanished = self.hidden = self.by_lines = False
        self.idle_ns = 0
        self.sums = dict.fromkeys(SUMS, 0)
        self.timed = 0  # values that p50, p99 and max summarise
        self.p50 = self.p99 = self.max = self.zeros = 0


def natural(name):
    """Sorts "IFS -- 2" before "IFS -- 10"."""
    return [(0, int(part), part) if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def _amount(row, sort):
    """By what a row is sorted, the largest first."""
    if sort == "name":
        return 0
    if row.sums["waited"] > 0:
        return row.sums["waited"]
    if sort == "operations":
        return row.sums["operations"] + row.sums["transports"]
    if sort == "bytes":
        return row.sums["produced"] + row.sums["consumed"] + row.sums["moved"]
    return row.p99


def choose(rows, kind, sort, reverse, text):
    """The rows whose names contain the text, upper and lower case alike, in order."""
    text = text.lower()

    def order(row):
        tie = -row.p99 if kind == PAIRS and sort == "operations" else 0
        return -_amount(row, sort), tie, natural(row.name), natural(row.second)

    return sorted((row for row in rows if text in row.name.lower() or text in row.second.lower()), key=order, reverse=reverse)


def rest_of(rows, first, shown):
    """The rows outside of `shown` ones from `first` on, as one: sums, and the longest time. Its quantiles are not known."""
    others = rows[:first] + rows[first + shown:]
    rest = Shown(f"{first} before, {len(others) - first} after" if first else f"{len(others)} more")
    rest.rest = len(others)
    for row in others:
        for number, value in row.sums.items():
            rest.sums[number] += value
        rest.timed += row.timed
        rest.max = max(rest.max, row.max)
    return rest
