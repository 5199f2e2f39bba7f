# SPDX-License-Identifier: BSD-3-Clause
"""How many seconds a component needs for a step, and when it needed more than usual."""

import dataclasses

import numpy as np

STEPS = 8       # at least, for something to be usual
UNITS = 180     # at most: of more steps, several are one unit
APART = 4       # windows of a unit at least: shorter ones would differ by when the buckets begin
RAISED = 1.15   # times the usual, from which on a value is raised,
SPREADS = 1.25  # and by so many robust spreads
SURE = 8.0      # standard errors, for an interval not to be chance
FEWEST = 3      # units of an interval
BRIDGED = 2     # units between two that are raised, which always belong to the interval
FLOOR = 0.02    # of the usual: the least spread
FAR = 8.0       # spreads,
SUDDEN = 0.5    # and times the usual more, for a single unit to be a stall
EARLY = 20      # part of the units that is the begin, with which nothing can be compared
PERIODS = (3, 40)  # units from peak to peak of regular ones
REPEATED = 4    # times at least
SELDOM = 7      # steps from peak to peak at least: what happens more often is how the component works
PEAK = 0.2      # times the usual: what a regular peak is more
GROUP = 0.3     # quantile of the values of a group: most of its members need more, or it is not the group's
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
    """Seconds that were needed in units of equal progress: steps, or several steps where they are short.

    first, end: windows from the first progress to the last one.
    unit: the unit of each of these windows.
    values: seconds in each unit, divided by what is usual; `smooth` without single outliers.
    usual: seconds; spread: a robust standard deviation of the values beside `smooth`.
    resolution: seconds; times of less are not known of what ends with progress.
    progress: of a unit.
    by_steps: whether a unit is one step or several; else there is no rhythm, and a unit is a part of the progress."""

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
        self.noise = 1.4826 * float(np.median(np.abs(self.values - self.smooth)))
        self.spread = max(self.noise, self.floor)

    def _divide(self, made, seconds, total, count):
        """Seconds of each unit; sets `unit`. The time before some progress was needed for it."""
        some = np.flatnonzero(made[1:]) + 1
        done = np.concatenate([[0], np.cumsum(made[1:])])
        took = np.concatenate([[0], np.cumsum(seconds)[some - 1]])
        before = np.concatenate([[0], done[:-1]])
        self.progress = total / count
        self.unit = np.minimum((before + 1e-6) * count / total, count - 1).astype(int)
        return np.diff(np.interp(np.linspace(0, total, count + 1), np.concatenate([[0], done[some]]), took))

    def by_unit(self, values):
        """The mean of values by window in each unit."""
        count = len(self.values)
        return np.bincount(self.unit, values[self.first: self.end], count) / np.maximum(np.bincount(self.unit, minlength=count), 1)

    def by_window(self, values, count):
        """Values by unit in each of `count` windows; NaN where there is no unit."""
        result = np.full(count, np.nan)
        result[self.first: self.end] = values[self.unit]
        return result

    def windows(self, span, count):
        """Which of `count` windows are of the units of a Span."""
        found = np.zeros(count, bool)
        inside = (self.unit >= span.first) & (self.unit < span.end) & ((self.unit - span.first) % span.every == 0)
        found[self.first: self.end] = inside
        return found

    def together(self, several, count):
        """What most of a group needed, in the units of this one."""
        result = object.__new__(Pace)
        result.__dict__.update(self.__dict__)
        for name in ("values", "smooth"):
            windows = median_of([one.by_window(getattr(one, name), count) for one in several], GROUP)
            setattr(result, name, self.by_unit(np.nan_to_num(windows, nan=1.0)))
        usual = _usual(result.smooth)
        result.values, result.smooth = result.values / usual, result.smooth / usual
        result.spread = max(1.4826 * float(np.median(np.abs(result.values - result.smooth))), self.spread / len(several) ** 0.5)
        return result

    def spans(self, base, sudden):
        """Spans in which more was needed than `base`, of single units than `sudden`: what was usual for all at this time."""
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
        peaks = np.flatnonzero(rest > max(FAR * self.spread, SUDDEN))
        regular = self.regular(rest)
        if regular is not None:
            found.append(regular)
        if len(peaks) and rest.argmax():
            found.append(Span(int(rest.argmax()), int(rest.argmax()) + 1, STALL))
        return found

    def _edges(self, first, end, middle):
        """The Span of a run: its edges are where values cross the middle between usual and raised ones."""
        while end - first > 1 and self.values[first] < middle:
            first += 1
        while end - first > 1 and self.values[end - 1] < middle:
            end -= 1
        while first > 0 and self.values[first - 1] > middle:
            first -= 1
        while end < len(self.values) and self.values[end] > middle:
            end += 1
        return Span(first, end, INTERVAL)

    def _is_sure(self, span, base):
        length = span.end - span.first
        return length >= FEWEST and span.first >= max(1, len(self.values) // EARLY) and \
            span.of(self.smooth - base).sum() > SURE * self.spread * length ** 0.5

    def regular(self, rest, least=SURE):
        """The Span of peaks of values by unit that are surest at regular distances; None: there are none, with `least`
        standard errors."""
        best, found = least, None
        if rest.max() < PEAK:
            return None
        for every in range(PERIODS[0], min(PERIODS[1], len(rest) // REPEATED) + 1):
            times = len(rest) // every
            folded = rest[: times * every].reshape(times, every)
            means = np.sort(folded, axis=0)[[(times - 1) // 2, times // 2]].mean(axis=0)
            at, more = int(means.argmax()), float(means.max() - np.sort(means)[(every - 1) // 2])
            if more <= PEAK or every * self.steps < SELDOM:
                continue
            spread = max(1.4826 * float(np.median(np.abs(folded - means))), self.floor)
            if more / spread * times ** 0.5 > best * 1.05:  # a multiple of the distance is not surer
                best, found = more / spread * times ** 0.5, Span(at, (times - 1) * every + at + 1, REGULAR, every, more)
        return found


def _step_of(progress):
    """The usual progress of a step: the most frequent one between windows without progress; 0: there is no rhythm."""
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
    """The mean of the middle fifth, of all or of the first quarter: the lower one."""
    return max(1e-3, min(float(np.sort(part)[2 * len(part) // 5: -(-3 * len(part) // 5)].mean())
                         for part in (smooth, smooth[:max(3, len(smooth) // 4)])))


def _runs(places):
    """[(first, end)] of places in a row, with short gaps: not longer than half of the shorter run beside them."""
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


def median_of(rows, share=0.5):
    """The median, or another quantile, of each column of several rows, without NaN; NaN where there is nothing else."""
    rows = np.sort(np.array(rows), axis=0)  # NaN last
    there = np.count_nonzero(~np.isnan(rows), axis=0)
    return np.take_along_axis(rows, (np.maximum(there - 1, 0) * share).astype(int)[None], axis=0)[0]


def highest_of(values, length):
    """The highest mean of so many values in a row, or of all if there are fewer; 0: there are none."""
    length = min(length, len(values))
    if not length:
        return 0.0
    sums = np.cumsum(np.concatenate([[0.0], values]))
    return float((sums[length:] - sums[:-length]).max()) / length
