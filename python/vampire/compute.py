# SPDX-License-Identifier: BSD-3-Clause
"""table, merge, quantile and rate: exact sums over rows, without ever making a whole metric dense.

Everywhere: `history` is a History, or what one is made of (a path, a pattern, a directory, a list);
`by` the labels to keep ("run" is one, too); `where` the values that a label must have, such as
{"component": ["IFS -- 0", "IFS -- 1"]}; `freq` the width of the intervals of time: None (all of the
time is one), "bucket" (as written) or such as "1min"."""

import functools

import numpy as np
import pandas as pd

from .errors import Error, check_size
from .history import History
from .rows import FIELDS
from .run_files import RESOLUTION
DECLARED = "declared in samples.metrics"  # the origin of metrics that are made of samples
from .sums import ADVICE, Keys, Sums


def history_of(history, output=None, between=None):
    """A History as it is, or one of what is given."""
    return history if isinstance(history, History) else History(history, output, between)


def labels_of_by(by):
    """`by` as a tuple."""
    return () if by is None else (by,) if isinstance(by, str) else tuple(by)


def windows_of(history, freq):
    """(start of each window in ns, window of each bucket). The windows are those that have a bucket."""
    if freq is None:
        return history.times[:1], np.zeros(len(history.times), np.int64)
    if freq == "bucket":
        starts = history.times
    else:
        try:
            width = pd.Timedelta(pd.tseries.frequencies.to_offset(freq)).value
        except (ValueError, TypeError):
            raise Error(f"freq '{freq}'; it is None, 'bucket', or a fixed width such as '1min'") from None
        if len(history.bucket_ns) and width < history.bucket_ns.max():
            raise Error(f"freq '{freq}' is shorter than the buckets ({history.bucket_ns.max() / 1e9:g} s)")
        starts = history.times - history.times % width
    return np.unique(starts, return_inverse=True)


def _bins(history, name, groups, window, fields=None, span=None):
    """(Keys, keys, counts) of the bins with values; the key is window, group and bin. `fields`: a Sums that gets the
    rows of the same pass. `span`: of which buckets, see History.blocks."""
    packed = Keys(len(groups), len(history.bin_lower))
    sums = Sums(f"{name} by {', '.join(groups.by) or 'nothing'}", ("count",))
    for bucket, group, block in history.blocks(name, groups, fields.fields if fields else (), True, span):
        counted = (bucket >= 0) & (group >= 0)
        keys = packed.of(window[bucket], group)
        if fields:
            fields.add(packed.owner(keys)[counted], {field: values[counted] for field, values in block.fields.items()})
        entries = block.entries
        keys, counts = keys[entries.row] | entries.bin, entries.count.astype(np.uint64, copy=False)
        if not counted.all():
            keys, counts = keys[counted[entries.row]], counts[counted[entries.row]]
        sums.add(keys, {"count": counts})
    keys, columns = sums.result()
    return packed, keys, columns["count"]


def _label_columns(groups, group):
    """{label: one value a row}, as categories."""
    columns = {}
    for label in groups.by:
        words, codes = np.unique(groups.values(label).astype(str), return_inverse=True) if len(groups) else ([], [])
        codes = np.asarray(codes, np.int64)[group] if len(group) else np.empty(0, np.int64)
        columns[label] = pd.Categorical.from_codes(codes, words)
    return columns


def _index(groups, numbers, starts, freq):
    """The index of a result, of numbers of window and group: time (with freq) and labels; None when there is neither."""
    window, group = numbers
    columns = {} if freq is None else {"time": pd.DatetimeIndex(starts.astype("datetime64[ns]"))[window]}
    columns.update({label: np.asarray(values) for label, values in _label_columns(groups, group).items()})
    if not columns:
        return None
    if len(columns) == 1:
        (label, values), = columns.items()
        return pd.Index(values, name=label)
    return pd.MultiIndex.from_arrays(list(columns.values()), names=list(columns))


def table(history, metric, by=None, freq="bucket", where=None, between=None, output=None):
    """A tidy frame: a row for each interval and combination of labels in which something happened.

    Columns: `time` (the interval's start; not with freq=None), the labels of `by` (default: all that the metric
    has), and of a counter `delta`; of a gauge `last`, `min`, `max`; of a histogram `count`, `sum`, `min`, `max`.
    Counts and sums are exact. Gauges keep all their labels: they are states and are not added up. An age without a
    value in an interval's last bucket is none: it has no row, however old it became in the interval. Sums and extremes of times
    that are not known (see resolution) are NaN; `sum_low`, `sum_high`, `min_low` and so on are their bounds.
    """
    history = history_of(history, output, between)
    found = history.metric(metric)
    by = found.labels if by is None else labels_of_by(by)
    groups = history.groups(metric, by, where)
    starts, window = windows_of(history, freq)
    if found.kind == "gauge":
        return _gauge_table(history, found, groups, (starts, window, freq))
    known = (metric, by) if freq is None and not where else None
    if known not in history.totals_by:
        frame = _summed(history, found, groups, (starts, window, freq))
        if known is None:
            return frame
        history.totals_by[known] = frame
    return history.totals_by[known].copy()


def tables(history, metric, by, buckets, quantiles=None):
    """table(freq="bucket") in frames of `buckets` buckets, one after another, so that none is large. `quantiles`: {name of
    a column: q}, which the frames of a histogram have besides."""
    found, groups = history.metric(metric), history.groups(metric, by)
    windows = (*windows_of(history, "bucket"), "bucket")
    for first in range(0, len(history.times), buckets):
        span = first, first + buckets
        if found.kind == "gauge":
            yield _gauge_table(history, found, groups, windows, span)
        elif found.kind == "counter" or not quantiles:
            yield _summed(history, found, groups, windows, span)
        else:
            yield _spread(history, found, groups, windows, span, quantiles)


def _spread(history, metric, groups, windows, span, quantiles):
    """table() of a histogram, with quantiles, which the extremes bound."""
    (starts, window, freq), sums = windows, Sums(metric.name, FIELDS["histogram"])
    packed, keys, counts = _bins(history, metric.name, groups, window, sums, span)
    owners, columns = sums.result()
    found, values = _quantiles(packed.owner(keys), packed.bin(keys), counts, list(quantiles.values()), history, metric.name)
    assert np.array_equal(owners, found), "each row with values has bins"
    columns = bounded(columns, _zeros(packed, keys, counts, owners), resolution_of(history, metric.name))
    for number, name in enumerate(quantiles):
        columns[name] = _within(values[:, number], columns)
    return _frame(groups, packed.split(owners), columns, starts, freq)


def _summed(history, metric, groups, windows, span=None):
    """table() of a counter or histogram."""
    (starts, window, freq), fields = windows, FIELDS[metric.kind]
    if metric.kind == "histogram" and resolution_of(history, metric.name):
        return _spread(history, metric, groups, windows, span, {})
    packed, sums = Keys(len(groups)), Sums(f"{metric.name} by {', '.join(groups.by) or 'nothing'}", fields)
    for bucket, group, block in history.blocks(metric.name, groups, fields, span=span):
        counted = np.flatnonzero((bucket >= 0) & (group >= 0))
        keys = packed.of(window[bucket[counted]], group[counted])
        sums.add(keys, {field: values[counted] for field, values in block.fields.items()})
    keys, columns = sums.result()
    return _frame(groups, packed.split(keys), columns, starts, freq)


def _frame(groups, keys, columns, starts, freq):
    time = {} if freq is None else {"time": starts.astype("datetime64[ns]")[keys[0]] if len(keys[0]) else
                                    np.empty(0, "datetime64[ns]")}
    return pd.DataFrame({**time, **_label_columns(groups, keys[1]), **columns})


def _newest(history, window):
    """Of each bucket, whether it is the last one of its run in its window."""
    buckets = pd.DataFrame({"window": window, "run": history.per_bucket(lambda file: file.run)})
    return ~buckets.duplicated(keep="last").to_numpy()


def _gauge_table(history, metric, groups, windows, span=None):
    if set(metric.labels) - set(groups.by):
        raise Error(f"{metric.name} is a state, not an amount: keep its labels, by={list(metric.labels)}")
    starts, window, freq = windows
    newest, parts = _newest(history, window), [np.empty((6, 0), np.int64)]
    for bucket, group, block in history.blocks(metric.name, groups, FIELDS["gauge"], span=span):
        rows = np.stack([window[bucket], group, newest[bucket], *(block.fields[field] for field in FIELDS["gauge"])])
        parts.append(rows[:, (bucket >= 0) & (group >= 0)])
    rows = np.concatenate(parts, axis=1)
    # Sort by window and group. The sort is stable: the rows of a window and group stay in the order of time.
    rows = rows[:, np.lexsort(rows[1::-1])]
    # Indices of the first and the last row of each window and group. Without rows there are none.
    differs = (rows[:2, 1:] != rows[:2, :-1]).any(axis=0)
    first = np.flatnonzero(np.append(np.ones(min(rows.shape[1], 1), bool), differs))
    last = np.append(first[1:], rows.shape[1])[:len(first)] - 1
    kept = rows[2, last] != 0
    values = rows[3, last], np.minimum.reduceat(rows[4], first), np.maximum.reduceat(rows[5], first)
    columns = {field: part[kept] for field, part in zip(FIELDS["gauge"], values)}
    return _frame(groups, rows[:2, last[kept]], columns, starts, freq)


def merge(history, metric, by=(), freq=None, where=None, between=None, output=None):
    """Adds up exactly over all that `by` and `freq` do not keep: a Series of integers.

    A counter's index has the labels of `by`; a histogram's also `bin_lower` and `bin_upper`, with the number of
    values in each bin that has any. Without an index (a counter, no `by`, no `freq`) it is one integer.
    """
    history = history_of(history, output, between)
    found = history.metric(metric)
    if found.kind == "gauge":
        raise Error(f"{metric} is a state, not an amount, and cannot be added up; use table")
    starts, window = windows_of(history, freq)
    groups = history.groups(metric, labels_of_by(by), where)
    if found.kind == "counter":
        frame = table(history, metric, by, freq, where)
        if not groups.by and freq is None:
            return int(frame.delta.sum())
        names = [name for name in frame.columns if name != "delta"]
        frame = frame.astype({label: object for label in groups.by})
        return frame.set_index(names).delta.rename(metric)
    packed, keys, counts = _bins(history, metric, groups, window)
    number = packed.bin(keys)
    frame = _frame(groups, packed.split(packed.owner(keys)), {"bin_lower": history.bin_lower[number],
                                             "bin_upper": history.bin_upper[number], "count": counts}, starts, freq)
    frame = frame.astype({label: object for label in groups.by})
    return frame.set_index([name for name in frame.columns if name != "count"])["count"].rename(metric)


def quantile(history, metric, q, by=(), freq=None, where=None, between=None, output=None):
    """Quantiles of a histogram, in its `value_units`: the middle of the bin of the value with rank
    ceil(q * count), so off by at most half a bin (1/16 of the value with 8 sub-bins).

    q: 0 to 1 gives a Series; a list of them a DataFrame with a column for each. The index has time (with
    `freq`) and the labels of `by`; with neither, the result is a float, or a Series over q. What has no
    values is not in it. NaN: it is below resolution(history), the resolution of times of arrival.
    """
    history = history_of(history, output, between)
    if history.metric(metric).kind != "histogram":
        raise Error(f"{metric} is a {history.metric(metric).kind}; quantiles are of histograms")
    several = np.atleast_1d(q).astype(float)
    if not ((several >= 0) & (several <= 1)).all():
        raise Error(f"quantile {q}; it is between 0 and 1")
    starts, window = windows_of(history, freq)
    groups = history.groups(metric, labels_of_by(by), where)
    packed, keys, counts = _bins(history, metric, groups, window)
    owners, values = _quantiles(packed.owner(keys), packed.bin(keys), counts, several, history, metric)
    index = _index(groups, packed.split(owners), starts, freq)
    if index is None:
        values = values[0] if len(values) else np.full(len(several), np.nan)
        return float(values[0]) if np.ndim(q) == 0 else pd.Series(values, pd.Index(several, name="quantile"), name=metric)
    frame = pd.DataFrame(values, index, pd.Index(several, name="quantile"))
    return frame[frame.columns[0]].rename(metric) if np.ndim(q) == 0 else frame


class Distribution:
    """A histogram by some labels, over all the time and from one pass over its rows, to be looked at by any of them."""

    def __init__(self, history, metric, by=(), where=None):
        self._history = history = history_of(history)
        self._metric, self._groups = metric, history.groups(metric, labels_of_by(by), where)
        self._sums = Sums(metric, FIELDS["histogram"])
        window = np.zeros(len(history.times), np.int64)
        self._packed, self._keys, self._counts = _bins(history, metric, self._groups, window, self._sums)

    def spread(self, several, by=(), only=None):
        """A frame with count, sum, min and max, and a column for each of the quantiles `several`, which the extremes bound.
        The index has the labels of `by`. `only`: {label: values that it must have}."""
        merged, place = self._groups.merged(labels_of_by(by), only or {})
        packed = Keys(len(merged), len(self._history.bin_lower))
        owners, columns = self._sums.result()
        to, owner_of_bin = place[owners], place[self._packed.owner(self._keys)]
        sums, bins = Sums(self._metric, self._sums.fields), Sums(self._metric, ("count",))
        sums.add(to[to >= 0], {field: values[to >= 0] for field, values in columns.items()})
        keys = packed.of(0, owner_of_bin, self._packed.bin(self._keys))[owner_of_bin >= 0]
        bins.add(keys, {"count": self._counts[owner_of_bin >= 0]})
        (owners, columns), (keys, counts) = sums.result(), bins.result()
        found, values = _quantiles(packed.owner(keys), packed.bin(keys), counts["count"], several, self._history, self._metric)
        assert np.array_equal(owners, found), "each row with values has bins"
        zeros = _zeros(packed, keys, counts["count"], owners)
        columns = bounded(columns, zeros, resolution_of(self._history, self._metric))
        frame = pd.DataFrame(columns, _index(merged, packed.split(owners), self._history.times[:1], None))
        for number, q in enumerate(several):
            frame[q] = _within(values[:, number], columns)
        return frame


def resolution(history):
    """How far a time between two events may be off, at most, in ns, where events carry no time of their own; else 0. A time
    that is shorter counts as 0, and a quantile there is NaN."""
    return _resolution(history_of(history))


def resolution_of(history, metric):
    """resolution(history) for a histogram of times between two events: a value of 0 is only known to be at most this. 0: the
    values of this metric are known. All code that computes numbers from values uses this."""
    attrs = history.metric(metric).attrs
    has_own_clock = metric.startswith(("own_", "vampire_")) or attrs.get("origin") == DECLARED
    return resolution(history) if attrs.get("value_units") == "ns" and not has_own_clock else 0.0


def bounded(columns, zeros, most):
    """The columns of a histogram with `zeros` values that are only known to be at most `most`. Sums and extremes that are not
    known are NaN; columns of their own have the bounds. Without a resolution, nothing changes."""
    if not most:
        return columns
    found, zeros = dict(columns), np.asarray(zeros, float)
    for name in ("sum", "min", "max"):
        low = np.asarray(columns[name], float)
        high = low + zeros * most if name == "sum" else np.where((zeros > 0) & (low < most), most, low)
        found.update({name: np.where(low == high, low, np.nan), f"{name}_low": low, f"{name}_high": high})
    return found


def _zeros(packed, keys, counts, owners):
    """Of each owner of bins, its number of values in the lowest bin."""
    lowest = packed.bin(keys) == 0
    found = np.zeros(len(owners))
    found[np.searchsorted(owners, packed.owner(keys[lowest]))] = counts[lowest]
    return found


def _within(values, columns):
    """Quantiles within the extremes, as far as these are known."""
    least, most = (columns.get(f"{name}_{end}", columns[name]).astype(float) for name, end in (("min", "low"), ("max", "high")))
    return np.clip(values, least, most)


@functools.lru_cache(maxsize=2)
def _resolution(history):
    return float(table(history, RESOLUTION)["max"].max()) if RESOLUTION in history.metrics else 0.0


def _quantiles(owner, number, counts, several, history, metric):
    """(each owner, [owner, q] values) of the counts of bins, which are sorted by owner and number."""
    owners, first = np.unique(owner, return_index=True)
    sums = np.concatenate([[0], np.cumsum(counts, dtype=np.uint64)]).astype(np.uint64)
    start, end = sums[first], sums[np.append(first[1:], len(owner))] if len(first) else sums[:0]
    middle = (history.bin_lower + (history.bin_upper - history.bin_lower) // np.uint64(2)).astype(float)
    most, unknown = resolution_of(history, metric), np.zeros(len(owners), bool)
    if most and len(first):
        unknown = number[first] == 0
    values = np.empty((len(owners), len(several)))
    for column, one in enumerate(several):
        rank = np.clip(np.ceil(one * (end - start).astype(float)), 1, None).astype(np.uint64)
        values[:, column] = middle[number[np.searchsorted(sums[1:], start + rank, "left")]]
        values[unknown & (values[:, column] < most), column] = np.nan
    return owners, values


def rate(history, metric, by=(), freq="bucket", where=None, between=None, output=None):
    """A counter per second: a Series over time, or with `by` a DataFrame with a column for each combination of
    labels. NaN where it cannot be known: in intervals that miss events; and a row of NaN stands where
    buckets are missing, so that lines break there.
    """
    history = history_of(history, output, between)
    if history.metric(metric).kind != "counter":
        raise Error(f"{metric} is a {history.metric(metric).kind}; rates are of counters")
    if freq is None:
        raise Error("a rate needs a freq: 'bucket', or such as '1min'")
    by = labels_of_by(by)
    starts, window = windows_of(history, freq)
    sums = merge(history, metric, by, freq, where)
    times = pd.DatetimeIndex(starts.astype("datetime64[ns]"), name="time")
    check_size(f"the rate of {metric}", 8 * len(times) * len(sums.index.droplevel(0).unique() if by else [0]), ADVICE)
    wide = (sums.unstack(list(by)) if by else sums).reindex(times)
    # Several runs may have buckets of the same time: it passed once.
    _, once = np.unique(history.times, return_index=True)
    seconds = np.bincount(window[once], history.bucket_ns[once], len(starts)) / 1e9
    whole = np.ones(len(starts), bool)
    whole[window[~history.complete()]] = False
    wide = wide.fillna(0).astype(float).div(seconds, axis=0)
    wide[~whole] = np.nan
    return _broken_at_holes(history, wide, window)


def _broken_at_holes(history, wide, window):
    """The same with a row of NaN where buckets are missing."""
    order = np.argsort(history.times, kind="stable")
    ends = np.maximum.accumulate(history.times[order] + history.bucket_ns[order])
    hole = np.flatnonzero(history.times[order][1:] > ends[:-1])
    hole = hole[window[order][hole] != window[order][hole + 1]]  # a hole within an interval is part of it
    if not len(hole):
        return wide
    return wide.reindex(wide.index.union(pd.DatetimeIndex(ends[hole].astype("datetime64[ns]"), name="time")))
