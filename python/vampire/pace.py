# SPDX-License-Identifier: BSD-3-Clause
"""How many seconds a component needs for a step, and when it needed more than usual."""

import copy
import dataclasses

import numpy as np

STEPS = 8       # more steps than this are needed to derive a usual time
UNITS = 180     # maximum number of units; with more steps, a unit has several
APART = 4       # minimum windows per unit; for shorter units the bucket limits would dominate
RAISED = 1.15   # minimum ratio of a raised value to the common level
SPREADS = 1.25  # minimum distance of a raised value from the common level, in spreads
SURE = 8.0      # minimum significance, in standard errors
FEWEST = 3      # minimum units of an interval
BRIDGED = 2     # gaps up to this number of units never divide an interval
FLOOR = 0.02    # minimum spread, relative to the usual time
FAR = 8.0       # minimum height of a stall in spreads
SUDDEN = 0.5    # minimum height of a stall relative to the usual time
EARLY = 20      # the first 1/EARLY of the units is not searched, because nothing precedes it
PERIODS = (3, 40)  # distances of regular peaks, in units
REPEATED = 4    # minimum number of regular peaks
SELDOM = 7      # minimum distance of regular peaks, in steps; more frequent peaks are normal operation
PEAK = 0.2      # minimum height of regular peaks relative to the usual time
GROUP = 0.3     # quantile that represents a group, so that 70 % of its members must be raised
INTERVAL, STALL, REGULAR = "interval", "stall", "regular"


@dataclasses.dataclass
class Span:
    """Units `first` to `end` - 1 of a Pace; of a regular one every `every`-th of them."""

    first: int
    end: int
    pattern: str
    every: int = 1
    more: float = 0.0  # of a regular one: by how much its peaks are above the rest

    def of(self, values):
        """The values of its units."""
        return values[self.first: self.end: self.every]


class Pace:
    """The time that a component needed, in units of equal progress. A unit is one step or, where steps are short, several (`steps`); without
    a rhythm it is a fraction of the progress (`by_steps` is False).

    first, end: the windows from the first progress to the window before the last one with progress.
    unit: the unit of each of these windows, ascending. progress: of a unit.
    values: seconds per unit, divided by `usual`; `smooth`: the same without single outliers.
    usual: usual seconds per unit. floor: the smallest spread that is assumed. noise: robust standard deviation of `values` around `smooth`.
    spread: the larger of `noise` and `floor`.

    resolution: the length of a window in s; it limits the precision of times that end with progress."""

    def __init__(self, progress, seconds, resolution):
        active = np.flatnonzero(progress)
        self.first, self.end = int(active[0]), int(active[-1])
        made, seconds = progress[self.first: self.end], seconds[self.first: self.end]
        step, total = _step_of(progress), float(made[1:].sum())
        count = max(1, min(UNITS, len(made) // APART))
        self.by_steps, self.steps = step > 0, 1
        if self.by_steps:
            self.steps = max(1, int(np.ceil(total / step / count)))
            count = max(1, int(total / step / self.steps))
            total = count * self.steps * step
        values = self._divide(made, seconds, total, count)
        smooth = _smooth(values)
        self.usual = _usual(smooth)
        self.values, self.smooth = values / self.usual, smooth / self.usual
        self.floor = max(FLOOR, 0.3 * resolution / self.usual)
        self.noise = spread_of(self.values - self.smooth, 0.0)
        self.spread = max(self.noise, self.floor)

    def _divide(self, made, seconds, total, count):
        """Sets `unit` and `progress`. Returns the seconds of each unit: the time up to some progress is the time needed for it."""
        some = np.flatnonzero(made[1:]) + 1
        done = np.concatenate([[0], np.cumsum(made[1:])])
        took = np.concatenate([[0], np.cumsum(seconds)[some - 1]])
        before = np.concatenate([[0], done[:-1]])
        self.progress = total / count
        self.unit = np.minimum((before + 1e-6) * count / total, count - 1).astype(int)
        return np.diff(np.interp(np.linspace(0, total, count + 1), np.concatenate([[0], done[some]]), took))

    def by_unit(self, values):
        """The mean of values by window in each unit; of a unit within one window, the value of that window."""
        units = np.arange(len(self.values))
        own = values[self.first: self.end]
        windows = np.bincount(self.unit, minlength=len(units))
        nearest = np.maximum(np.searchsorted(self.unit, units, "right") - 1, 0)
        return np.where(windows > 0, np.bincount(self.unit, own, len(units)) / np.maximum(windows, 1), own[nearest])

    def highest(self, first, last):
        """The largest additional time of a unit in these windows, s."""
        units = self.unit[max(first - self.first, 0): last + 1 - self.first]
        return (self.values[units] - 1).max(initial=0) * self.usual

    def by_window(self, values, count):
        """Values by unit in each of `count` windows; NaN where there is no unit."""
        result = np.full(count, np.nan)
        result[self.first: self.end] = values[self.unit]
        return result

    def windows(self, span, count):
        """Which of `count` windows are of the units of a Span, at least one."""
        found = np.zeros(count, bool)
        inside = (self.unit >= span.first) & (self.unit < span.end) & ((self.unit - span.first) % span.every == 0)
        if not inside.any():  # shorter than a window: those of the unit before
            inside = self.unit == self.unit[max(np.searchsorted(self.unit, span.first, "right") - 1, 0)]
        found[self.first: self.end] = inside
        return found

    def together(self, several, count):
        """The Pace of a group in the units of this one: the GROUP quantile of the values of `several`."""
        result = copy.copy(self)
        for name in ("values", "smooth"):
            windows = median_of([one.by_window(getattr(one, name), count) for one in several], GROUP)
            setattr(result, name, self.by_unit(np.nan_to_num(windows, nan=1.0)))
        usual = _usual(result.smooth)
        result.values, result.smooth = result.values / usual, result.smooth / usual
        result.spread = max(spread_of(result.values - result.smooth, 0.0), self.spread / len(several) ** 0.5)
        return result

    def spans(self, base, sudden):
        """The Spans above the common level: `base` for intervals, `sudden` for stalls and regular peaks."""
        found = []
        for first, end in _runs(np.flatnonzero(self.smooth > np.maximum(RAISED * base, base + SPREADS * self.spread))):
            middle = (np.median(base[first:end]) + np.median(self.smooth[first:end])) / 2
            for run in _runs(np.flatnonzero(self.smooth[first:end] > middle) + first):
                span = self._edges(*run, middle)
                if self._is_sure(span, base):
                    found.append(span)
        rest = self.values - sudden
        for one in found:
            rest[one.first: one.end] = 0
        regular = self.regular(rest)
        if regular is not None:
            found.append(regular)
        rest[: self._early()] = 0
        for length in (1, 2):  # a step at the limit of two units makes both longer
            sums = np.convolve(rest, np.ones(length), "valid")
            spread = self.spread if length == 1 else max(spread_of(sums), self.floor)
            if sums.max(initial=0) > max(FAR * spread, SUDDEN):
                first = int(sums.argmax())
                found.append(Span(first, first + length, STALL))
                break
        return found

    def _edges(self, first, end, middle):
        """The Span of a run: its edges are where the values cross the middle of the usual and the raised level."""
        while end - first > 1 and self.values[first] < middle:
            first += 1
        while end - first > 1 and self.values[end - 1] < middle:
            end -= 1
        while first > 0 and self.values[first - 1] > middle:
            first -= 1
        while end < len(self.values) and self.values[end] > middle:
            end += 1
        return Span(first, end, INTERVAL)

    def _early(self):
        """The first unit that is searched."""
        return max(1, len(self.values) // EARLY)

    def _is_sure(self, span, base):
        """Whether an interval is long enough, begins late enough to be compared, and is not chance."""
        length = span.end - span.first
        excess = span.of(self.smooth - base).sum()
        return length >= FEWEST and span.first >= self._early() and excess > SURE * self.spread * length ** 0.5

    def regular(self, rest, least=SURE):
        """The most significant Span of regular peaks; None if its significance is below `least` standard errors."""
        best, found = least, None
        if rest.max() < PEAK:
            return None
        for every in range(PERIODS[0], min(PERIODS[1], len(rest) // REPEATED) + 1):
            times = len(rest) // every
            folded = rest[: times * every].reshape(times, every)
            medians = np.sort(folded, axis=0)[[(times - 1) // 2, times // 2]].mean(axis=0)  # faster than np.median
            at = int(medians.argmax())
            more = float(medians[at] - np.sort(medians)[(every - 1) // 2])
            if more <= PEAK or every * self.steps < SELDOM:
                continue
            significance = more / max(spread_of(folded - medians, 0.0), self.floor) * times ** 0.5
            if significance > 1.05 * best:  # multiples of the true distance are equally significant: the smallest one wins
                best, found = significance, Span(at, (times - 1) * every + at + 1, REGULAR, every, more)
        return found


def _step_of(progress):
    """The most frequent progress between two windows without progress, which is the progress of a step; 0 if there are too few such
    bursts."""
    active = np.flatnonzero(progress)
    bursts = np.add.reduceat(progress[active], np.flatnonzero(np.diff(active, prepend=-2) > 1))
    if len(bursts) < STEPS:
        return 0.0
    amounts, often = np.unique(np.round(bursts), return_counts=True)
    return float(amounts[often.argmax()])


def _smooth(values):
    """The values without single outliers: the mean of the middle three of five."""
    if len(values) < 5:
        return values
    five = np.sort(np.lib.stride_tricks.sliding_window_view(np.pad(values, 2, "reflect"), 5), axis=-1)
    return five[:, 1:4].mean(axis=-1)


def _usual(smooth):
    """The lower one of the mid-means (middle fifth) of all values and of the first quarter, so that a run that became slower is compared
    with its begin."""
    return max(1e-3, min(float(np.sort(part)[2 * len(part) // 5: -(-3 * len(part) // 5)].mean())
                         for part in (smooth, smooth[:max(3, len(smooth) // 4)])))


def _runs(places):
    """[(first, end)]: runs of consecutive indices. Runs are joined if the gap is at most BRIDGED, or at most half of the shorter run."""
    runs = []
    for place in places.tolist():
        if runs and place - runs[-1][1] <= BRIDGED:
            runs[-1][1] = place + 1
        else:
            runs.append([place, place + 1])
    merged = runs[:1]
    for first, end in runs[1:]:
        if first - merged[-1][1] <= min(end - first, merged[-1][1] - merged[-1][0]) / 2:
            merged[-1][1] = end
        else:
            merged.append([first, end])
    return merged


def spread_of(values, middle=None):
    """A robust standard deviation: the scaled median of the distances from `middle`, by default the median."""
    middle = np.median(values) if middle is None else middle
    return 1.4826 * float(np.median(np.abs(values - middle)))


def median_of(rows, share=0.5):
    """The lower median (or lower quantile `share`) of each column, ignoring NaN; NaN for columns without values."""
    rows = np.sort(np.array(rows), axis=0)  # NaN last
    there = np.count_nonzero(~np.isnan(rows), axis=0)
    return np.take_along_axis(rows, (np.maximum(there - 1, 0) * share).astype(int)[None], axis=0)[0]


def highest_of(values, length):
    """The largest mean of `length` consecutive values (of all values if there are fewer); 0 without values."""
    length = min(length, len(values))
    if not length:
        return 0.0
    sums = np.cumsum(np.concatenate([[0.0], values]))
    return float((sums[length:] - sums[:-length]).max()) / length
