# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of several layers on one axis of time, and which of them moved together."""

import re

import numpy as np
import pandas as pd

from .compute import ADVICE, DECLARED, history_of, labels_of_by, quantile, rate, table, windows_of
from .dataset import components
from .errors import Error, check_size
from .look import natural

PARTS = {"counter": "rate", "gauge": "last, min or max", "histogram": "p50, p99.9 or any other p, mean, min, max or count"}
LEAST = 8  # intervals, for a rank correlation


def aligned(history, what, by=(), freq="bucket", where=None, between=None, output=None):
    """One frame on one axis of time, a column for each metric and combination of labels: "demand_wait_ns:p99",
    "memory_used_bytes host=n1".

    what: names, each with a part as needed: a counter's `rate` per second; a gauge's `last` (if nothing is said), `min`,
    `max`; a histogram's `p99` (any quantile), `mean`, `min`, `max`, `count`. by, where: of those metrics that have the
    labels; gauges keep all. where={"component": NAME} takes of a metric that has no components, but hosts or jobs,
    those where it ran, as far as they are known (vampire.components). NaN: there was no value, or it is not known. Values of a unit such as 1e-6 are multiplied by it.
    """
    history = history_of(history, output, between)
    times = pd.DatetimeIndex(windows_of(history, freq)[0].astype("datetime64[ns]"), name="time")
    columns = {}
    for one in [what] if isinstance(what, str) else what:
        name, _, part = one.partition(":")
        metric, labels = history.metric(name), history.labels(name)
        only = {label: value for label, value in (where or {}).items() if label in labels}
        only |= _places(history, labels, (where or {}).get("component"))
        kept = metric.labels if metric.kind == "gauge" else tuple(label for label in labels_of_by(by) if label in labels)
        found = _values(history, metric, part, kept, freq, only)
        found = found.unstack(list(kept)) if isinstance(found, pd.Series) and kept else found
        found = found.to_frame("") if isinstance(found, pd.Series) else found
        check_size("what is aligned", 8 * len(times) * (len(columns) + found.shape[1]), ADVICE)
        for key in sorted(found.columns, key=lambda key: natural(str(key))):
            words = key if isinstance(key, tuple) else (key,)
            text = " ".join([one, *(f"{label}={word}" for label, word in zip(kept, words))])
            columns[text] = found[key].reindex(times).to_numpy(float) * _scale(metric)
            if metric.kind == "counter" and name in declared(history):  # before it grew it is not known
                columns[text][:np.argmax(columns[text] > 0)] = np.nan
    return pd.DataFrame(columns, times)


def places(history, component):
    """{"host": ..., "job": ...} of a component; {}: not known."""
    found = components(history)
    found = found[found.component == component]
    known = {"host": found.host, "job": found.batch_job}
    return {label: values.iloc[-1] for label, values in known.items() if len(found) and values.iloc[-1]}


def _places(history, labels, component):
    if component is None or "component" in labels or {"host", "job"}.isdisjoint(labels):
        return {}
    return {label: value for label, value in places(history, component).items() if label in labels}


def _scale(metric):
    """A unit that is a number, such as 1e-6, is what values are multiplied by."""
    return float(metric.attrs["units"]) if re.fullmatch(r"1e-?\d+", metric.attrs.get("units", "")) else 1.0


def _values(history, metric, part, by, freq, where):
    """A Series by time and labels, or what rate() gives."""
    if freq is None:
        raise Error("an axis of time needs a freq: 'bucket', or such as '1min'")
    if metric.kind == "counter" and part in ("", "rate"):
        return rate(history, metric.name, by, freq, where)
    level = re.fullmatch(r"p(\d+(?:\.\d+)?)", part)
    if metric.kind == "histogram" and level and float(level[1]) <= 100:
        return quantile(history, metric.name, float(level[1]) / 100, by, freq, where)
    fields = {"gauge": ("", "last", "min", "max"), "histogram": ("mean", "min", "max", "count")}.get(metric.kind, ())
    if part not in fields:
        raise Error(f"{metric.name}:{part}: it is a {metric.kind}; its part is {PARTS[metric.kind]}")
    frame = table(history, metric.name, by, freq, where).astype({label: object for label in by})
    frame = frame.set_index(["time", *by])
    return (frame["sum"] / frame["count"] if part == "mean" else frame[part or "last"]).astype(float)


def moved_with(frame, column, lags=10):
    """Which other columns of a frame of aligned() moved with this one: a row for each, with Spearman's rank correlation `rho`
    at the lag where it is strongest (`lag_s` seconds: the other one was earlier by so much), and the `count` of pairs of
    intervals behind it. Up to `lags` intervals are tried either way; a column that has no 8 pairs, or never changes, has no
    row. What moves together need not have to do with each other: of many columns and lags some do by chance, and
    what both follow is in neither. It is never a cause.
    """
    if column not in frame:
        raise Error(f"there is no column {column}; there are: {', '.join(map(str, frame.columns))}")
    values, step = frame[column].to_numpy(float), frame.index.to_series().diff().median().total_seconds()
    rows = {}
    for other in (name for name in frame.columns if name != column):
        best = None
        for lag in sorted(range(-lags, lags + 1), key=abs):
            rho, count = _rank_correlation(_later(frame[other].to_numpy(float), lag), values)
            if rho is not None and (best is None or abs(rho) > abs(best[0]) + 1e-9):
                best = rho, lag * step, count
        if best is not None:
            rows[other] = best
    found = pd.DataFrame.from_dict(rows, "index", columns=["rho", "lag_s", "count"])
    return found.reindex(found.rho.abs().sort_values(ascending=False, kind="stable").index)


def _later(values, lag):
    """Moved by `lag` places."""
    moved = np.full(len(values), np.nan)
    if abs(lag) < len(values):
        moved[max(lag, 0):len(values) + min(lag, 0)] = values[max(-lag, 0):len(values) - max(lag, 0)]
    return moved


def _rank_correlation(left, right):
    both = np.isfinite(left) & np.isfinite(right)
    ranks = [pd.Series(values[both]).rank().to_numpy() for values in (left, right)]
    if both.sum() < LEAST or not all(np.ptp(one) for one in ranks):
        return None, 0
    return float(np.corrcoef(*ranks)[0, 1]), int(both.sum())


def declared(history):
    """Names of the metrics that are made of samples."""
    return [name for name, metric in history.metrics.items() if metric.attrs.get("origin") == DECLARED]
