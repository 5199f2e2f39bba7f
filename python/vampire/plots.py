# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a history, for notebooks and reports. Each function takes a History (or what one is made of),
draws into `ax` or new axes, and returns them. What is in (other) is drawn as hidden, not as nothing."""

import numpy as np
import pandas as pd

from . import look
from .compute import Distribution, history_of, merge, quantile, rate, table, windows_of
from .errors import Error
from .look import COLOURS, OTHER, OTHERS
from .models import model_of
from .sampling import FEWEST, estimate
from .together import aligned

COLUMNS_MAX = 300  # of a picture: more buckets are merged
NAMES_MAX = 24     # rows and columns of a matrix
PARTS = ("for_offer", "for_start", "moving", "unknown")  # of a wait, in the order of time


def freq_for(history, columns=COLUMNS_MAX):
    """The width of intervals so that there are at most about `columns`: whole buckets."""
    if not len(history.times):
        return "bucket"
    width = int(history.bucket_ns.max())
    span = int((history.times + history.bucket_ns).max() - history.times.min())
    step = -(-span // (width * columns))
    return "bucket" if step <= 1 else f"{step * width}ns"


def _edges(history, freq):
    """The begin of each interval and the end of the last, as datetime64; and whether each is whole."""
    starts, window = windows_of(history, freq)
    ends = np.zeros(len(starts), np.int64)
    np.maximum.at(ends, window, history.times + history.bucket_ns)
    whole = np.ones(len(starts), bool)
    whole[window[~history.complete()]] = False
    return np.append(starts, ends[-1:]).astype("datetime64[ns]"), whole


def _mark_incomplete(ax, edges, whole):
    """Grey hatching where events were lost."""
    label = "events lost"
    for start, end, good in zip(edges[:-1], edges[1:], whole):
        if not good:
            ax.axvspan(start, end, facecolor="none", edgecolor=OTHERS, hatch="////", linewidth=0, label=label)
            label = None


def heatmap_data(history, metric, where=None):
    """What plot_heatmap draws: (edges of time, whole, [bin, time] counts, first and last bin used, p50 and p99)."""
    freq = freq_for(history)
    edges, whole = _edges(history, freq)
    bins = merge(history, metric, (), freq, where).reset_index()
    number = np.searchsorted(history.bin_lower, bins.bin_lower.to_numpy())
    column = np.searchsorted(edges, bins.time.to_numpy(), "right") - 1
    low, high = (int(number.min()), int(number.max()) + 1) if len(bins) else (0, 0)
    counts = np.zeros((high - low, len(edges) - 1))
    counts[number - low, column] = bins[metric].to_numpy()
    lines = quantile(history, metric, [0.5, 0.99], (), freq, where).reindex(pd.DatetimeIndex(edges[:-1]))
    return edges, whole, counts, (low, high), lines


def plot_heatmap(history, metric, ax=None, title=None, where=None, data=None):
    """The values of a histogram over time: x time, y the value on a logarithmic axis cut at the bins' edges, colour
    the number of values; lines through p50 and p99."""
    from matplotlib.colors import LogNorm
    history, ax = history_of(history), look.axes(ax)
    attrs = history.metric(metric).attrs
    ax.set_title(title or attrs.get("help", metric))
    edges, whole, counts, (low, high), lines = data or heatmap_data(history, metric, where)
    if not counts.size:
        return look.nothing(ax, "no values")
    values = np.append(history.bin_lower[low:high].astype(float), float(history.bin_upper[high - 1]) + 1)
    look.time_axis(ax, edges)
    mesh = ax.pcolormesh(edges, np.maximum(values, 0.5), np.ma.masked_equal(counts, 0), cmap=look.colour_map(),
                         norm=LogNorm(1, max(2, counts.max())), rasterized=True)
    for q, dash in ((0.5, "-"), (0.99, (0, (4, 1.5)))):  # a colour that shows on all of the map and on any paper
        ax.stairs(np.maximum(lines[q].to_numpy(), 0.5), edges, baseline=None, color=COLOURS[5], linewidth=1.5, zorder=3,
                  linestyle=dash, label=f"p{100 * q:.0f}")
    _mark_incomplete(ax, edges, whole)
    ax.set_yscale("log")
    low, high = max(values[0], 0.5), 1.15 * values[-1]
    ax.set_ylim(low, high)
    units = attrs.get("value_units", "1")
    ax.minorticks_off()
    ax.set_yticks(look.log_ticks(low, high, 6))
    ax.yaxis.set_major_formatter(look.formatter(units))
    ax.set_ylabel({"ns": "duration", "byte": "size", "byte s-1": "bytes per second"}.get(units, "value"))
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02)
    bar.set_label("values in an interval")
    bar.set_ticks([count for count in look.log_ticks(1, max(2, counts.max()), 6) if count % 1 == 0])
    bar.minorticks_off()
    bar.ax.yaxis.set_major_formatter(look.formatter("1"))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=3, handlelength=1.6)
    return ax


def stack_data(history, metric, by, where=None):
    """What plot_stack draws: (edges of time, whole, rates by name). Of components or models all are there, so that each has the
    same colour for all metrics."""
    freq = freq_for(history)
    edges, whole = _edges(history, freq)
    rates = rate(history, metric, by, freq, where)
    names = history.words("component" if by == "component" else "model") if by in ("component", "model") else set()
    names |= {model_of(name, history.models) for name in history.words("component")} if by == "model" else set()
    rates = rates.reindex(columns=[*rates.columns, *sorted(names.difference(rates.columns, [OTHER]))], fill_value=0.0)
    return edges, whole, rates.reindex(pd.DatetimeIndex(edges[:-1]))


def plot_stack(history, metric, by="component", ax=None, title=None, where=None, data=None):
    """A counter per second, stacked by a label: the largest by name, the rest as one, and what has no name as
    hidden. Where events are missing there is a hatched gap."""
    history, ax = history_of(history), look.axes(ax)
    attrs = history.metric(metric).attrs
    ax.set_title(title or f"{attrs.get('help', metric)} per second")
    if data is None and not (by := next(iter(history.available(metric, by)), by)) in history.labels(metric):
        return look.nothing(ax, f"these files do not have it by {by}")
    edges, whole, rates = data or stack_data(history, metric, by, where)
    totals = look.descending(rates.sum())
    totals = totals[totals > 0]
    if totals.empty:
        return look.nothing(ax, "nothing happened")
    named = [name for name in totals.index if name != OTHER]
    largest = named[: len(COLOURS)] if len(named) <= len(COLOURS) else named[: len(COLOURS) - 1]
    largest = sorted(largest, key=look.natural)
    parts = list(zip(map(look.short, largest), [rates[name] for name in largest],
                     look.colours_of(list(rates.columns), largest), [None] * len(largest)))
    rest = [name for name in named if name not in largest]
    if rest:
        parts.append((f"{len(rest)} others", rates[rest].sum(axis=1, skipna=False), OTHERS, None))
    if OTHER in totals.index:
        parts.append(("(other): no name kept", rates[OTHER], "none", "...."))
    look.time_axis(ax, edges)
    floor = np.zeros(len(edges))
    for name, values, colour, hatch in parts:
        values = values.to_numpy()
        top = floor + np.append(values, values[-1])
        ax.fill_between(edges, floor, top, step="post", facecolor=colour, hatch=hatch, label=name, linewidth=0,
                        edgecolor=OTHERS if hatch else "none")
        floor = top
    _mark_incomplete(ax, edges, whole)
    units = attrs.get("units", "1")
    ax.set_ylim(bottom=0)
    look.amount_ticks(ax.yaxis, ax.get_ylim()[1], units)
    ax.set_ylabel("bytes per second" if units == "byte" else "operations per second")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=2 if look.narrow(ax) else 3, handlelength=1.2)
    return ax


def gauge_data(history, metric):
    """What plot_gauge draws."""
    freq = freq_for(history)
    edges, whole = _edges(history, freq)
    frame = table(history, metric, (), freq)
    frame = frame.set_index("time")[["last", "min", "max"]].astype(float).reindex(pd.DatetimeIndex(edges[:-1]))
    frame[~whole] = np.nan
    return edges, whole, frame


def plot_gauge(history, metric="pool_bytes", ax=None, data=None):
    """A gauge without labels: a band from least to greatest in each interval, a line through the last values. Where
    events are missing there is a hatched gap."""
    history, ax = history_of(history), look.axes(ax)
    attrs = history.metric(metric).attrs
    ax.set_title(attrs.get("help", metric))
    edges, whole, frame = data or gauge_data(history, metric)
    if not np.isfinite(frame["max"]).any():
        return look.nothing(ax, "not known")
    _draw_band(ax, edges, frame, "least to greatest")
    ax.plot(edges[1:], frame["last"].to_numpy(), ".-" if len(frame) < 60 else "-", linewidth=1,
            color=ax.yaxis.label.get_color(), label="at an interval's end")
    units = attrs.get("units", "1")
    return _end_band(ax, edges, whole, units, {"byte": "bytes", "1": "number"}.get(units, units))


def _draw_band(ax, edges, frame, label):
    look.time_axis(ax, edges)
    low, high = (np.append(frame[end].to_numpy(), frame[end].to_numpy()[-1]) for end in ("min", "max"))
    ax.fill_between(edges, low, high, step="post", facecolor=COLOURS[4], alpha=0.6, linewidth=0, label=label)


def _end_band(ax, edges, whole, units, what):
    _mark_incomplete(ax, edges, whole)
    ax.set(ylim=(min(0, ax.dataLim.y0), None), ylabel=what)
    look.amount_ticks(ax.yaxis, ax.get_ylim()[1], units)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=2, handlelength=1.2)
    return ax


def estimate_data(history, metric, where=None):
    """What plot_estimate draws: intervals that are worth 60 CDOs of the sample on average, as far as there are so many."""
    history = history_of(history)
    lives = int(estimate(history, metric, where=where).lives.sum())
    freq = freq_for(history, min(max(1, lives // (2 * FEWEST)), COLUMNS_MAX // 5))
    edges, whole = _edges(history, freq)
    frame = estimate(history, metric, freq=freq, where=where).reindex(pd.DatetimeIndex(edges[:-1]))
    frame = frame[["estimate", "low", "high"]].div(np.diff(edges) / np.timedelta64(1, "s"), axis=0)
    frame[~whole] = np.nan
    return edges, whole, frame.rename(columns={"estimate": "last", "low": "min", "high": "max"})


def plot_estimate(history, metric="transport_bytes", ax=None, where=None, data=None):
    """What a counter of a sampled run would be per second without sampling, with error bars: the 95 % interval of each
    interval of time. Without a bar it has too few CDOs for an estimate."""
    history, ax = history_of(history), look.axes(ax)
    attrs = history.metric(metric).attrs
    ax.set_title(f"{attrs.get('help', metric)} per second, estimated")
    edges, whole, frame = data or estimate_data(history, metric, where)
    if not np.isfinite(frame["max"]).any():
        return look.nothing(ax, f"no estimate: the sample is worth fewer than {FEWEST} CDOs")
    _draw_band(ax, edges, frame, "95 % interval")
    last = frame["last"].to_numpy()
    ax.errorbar(edges[:-1] + np.diff(edges) / 2, last, np.abs(frame[["min", "max"]].to_numpy().T - last), fmt=".", linewidth=1, capsize=2,
                color=ax.yaxis.label.get_color(), label="estimate of all")
    units = attrs.get("units", "1")
    return _end_band(ax, edges, whole, units, "bytes per second" if units == "byte" else "number per second")


def lines_data(history, metric, where=None):
    """What plot_lines draws: (edges of time, whole, a column for each combination of labels)."""
    history, freq = history_of(history), freq_for(history_of(history))
    edges, whole = _edges(history, freq)
    frame = aligned(history, metric, history.metric(metric).labels, freq, where)
    return edges, whole, frame.rename(columns=lambda name: name.partition(" ")[2] or metric)


def lines_shown(frame):
    """(names of the columns that vary most, in natural order; how many others)."""
    spread = look.descending((frame.max() - frame.min()).fillna(-1.0))
    return sorted(spread.index[: len(COLOURS)], key=look.natural), max(0, len(spread) - len(COLOURS))


def plot_lines(history, metric, ax=None, where=None, data=None):
    """A counter's rate or a gauge over time, a line for each combination of labels: those that vary most by name, between
    the least and the greatest of all."""
    history, ax = history_of(history), look.axes(ax)
    attrs = history.metric(metric).attrs
    ax.set_title(f"{metric}: {attrs.get('help', '')}")
    edges, whole, frame = data or lines_data(history, metric, where)
    if not np.isfinite(frame.to_numpy(float)).any():
        return look.nothing(ax, "no values")
    look.time_axis(ax, edges)
    names, others = lines_shown(frame)
    if others:
        low, high = (np.append(one, one[-1]) for one in (frame.min(axis=1).to_numpy(), frame.max(axis=1).to_numpy()))
        ax.fill_between(edges, low, high, step="post", facecolor=OTHERS, alpha=0.3, linewidth=0, label=f"and {others} others")
    for name, colour in zip(names, COLOURS):
        ax.stairs(frame[name].to_numpy(), edges, baseline=None, color=colour, label=look.short(name, 40))
    _mark_incomplete(ax, edges, whole)
    look.amount_ticks(ax.yaxis, ax.get_ylim()[1], attrs.get("units", "1"))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=2, handlelength=1.2)
    return ax


def matrix_of(pairs, most=NAMES_MAX):
    """(values, hidden) of sums by source and sink: the largest `most` of each by name in natural order, the rest as
    one; hidden: empty cells of which a part may be in (other)."""
    wide = pairs.unstack(fill_value=0).astype(float)
    unnamed_row = wide.loc[OTHER] if OTHER in wide.index else pd.Series(0.0, wide.columns)
    unnamed_column = wide[OTHER] if OTHER in wide.columns else pd.Series(0.0, wide.index)
    nowhere = float(unnamed_row.get(OTHER, 0))
    wide = wide.drop(index=OTHER, errors="ignore").drop(columns=OTHER, errors="ignore")
    hidden = (wide == 0) & ((unnamed_row.reindex(wide.columns).to_numpy()[None] > 0)
                            | (unnamed_column.reindex(wide.index).to_numpy()[:, None] > 0) | (nowhere > 0))

    def folded(frame, function):
        for axis in (0, 1):
            names = frame.index if axis == 0 else frame.columns
            totals = look.descending(wide.sum(axis=1 - axis))
            largest = sorted(totals.index[: most if len(totals) <= most else most - 1], key=look.natural)
            rest = [name for name in names if name not in largest]
            parts = frame.reindex(largest, axis=axis)
            if rest:
                one = getattr(frame.loc[rest] if axis == 0 else frame[rest], function)(axis=axis)
                parts = pd.concat([parts, one.to_frame(f"{len(rest)} others").T if axis == 0 else
                                   one.to_frame(f"{len(rest)} others")], axis=axis)
            frame = parts
        return frame

    values = folded(wide, "sum")
    return values, folded(hidden, "any").astype(bool) & (values == 0)


def plot_transports(history, ax=None, metric="transport_bytes", data=None):
    """Source-by-sink matrix of transport_bytes or transports over all time, on a logarithmic scale. Cells that may
    be in (other) are hatched; (other) itself is not part of the scale."""
    history = history_of(history)
    units = history.metric(metric).attrs.get("units", "1")
    pair = history.available(metric, "source", "sink")
    table_, hidden = data or (matrix_of(merge(history, metric, pair)) if len(pair) == 2 else (None, None))
    ax = look.axes(ax, 1 if table_ is None else len(table_.index))
    ax.set_title("bytes moved, from row to column" if units == "byte" else "transports, from row to column")
    if table_ is None:
        return look.nothing(ax, "these files do not say between whom")
    if table_.empty or not table_.to_numpy().any():
        return look.nothing(ax, "no transports between named components")
    bar = _draw_matrix(ax, table_, hidden, units)
    ax.set(ylabel="source", xlabel="sink" + (" (hatched: hidden, may be in (other))" if hidden.to_numpy().any() else ""))
    bar.set_label("bytes" if units == "byte" else "transports")
    return ax


def plot_blame(history, ax=None, data=None):
    """Producer-by-consumer matrix of the time that consumers waited, on a logarithmic scale: who made whom wait. Cells
    that may be in (other) are hatched."""
    table_, hidden = data or matrix_of(blame_table(history_of(history), least=True)["total"])
    ax = look.axes(ax, len(table_.index))
    ax.set_title("time that the column waited for the row")
    if table_.empty or not table_.to_numpy().any():
        return look.nothing(ax, "no waits between named components")
    bar = _draw_matrix(ax, table_, hidden, "ns")
    ax.set(ylabel="producer", xlabel="consumer" + (" (hatched: hidden, may be in (other))" if hidden.to_numpy().any() else ""))
    bar.set_label("time waited, of all its demands")
    return ax


def _draw_matrix(ax, table_, hidden, units):
    """Draws the cells of a matrix; its colour bar."""
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle
    values = table_.to_numpy()
    low, high = look.scale_of(table_)
    norm = LogNorm(low, max(high, 1.01 * low))
    picture = ax.imshow(np.ma.masked_equal(values, 0), cmap=look.colour_map(), aspect="auto", norm=norm)
    for row, column in np.argwhere(hidden.to_numpy()):
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="////", edgecolor=OTHERS, linewidth=0))
    if values.size <= (36 if look.narrow(ax) else 144):
        for (row, column), value in np.ndenumerate(values):
            if value > 0:
                ax.text(column, row, look.shown(units)(value), ha="center", va="center",
                        color="#000000" if norm(value) > 0.6 else "#fefefe")  # on colour, whatever the paper
    many = len(table_.columns) > 12
    named = range(0, len(table_.columns), 2 if many and look.narrow(ax) else 1)  # every second, where there is no room
    ax.set_xticks(named, [look.short(table_.columns[n]) for n in named], rotation=90 if many else 30,
                  ha="center" if many else "right", rotation_mode="default" if many else "anchor")
    ax.set_yticks(range(len(table_.index)), [look.short(c) for c in table_.index])
    ax.grid(False)
    bar = ax.figure.colorbar(picture, ax=ax, pad=0.02)
    bar.minorticks_off()
    bar.set_ticks((look.byte_ticks if units == "byte" else look.log_ticks)(low, max(high, 1.01 * low), 6))
    bar.ax.yaxis.set_major_formatter(look.formatter(units))
    return bar


def blame_labels(history, models=False):
    """The labels of producer and consumer in demand_wait_part_ns: components, or models if that is wanted or all there is;
    None: the files have neither."""
    labels = history.labels("demand_wait_part_ns") if "demand_wait_part_ns" in history.metrics else ()
    pairs = [("producer_model", "model"), ("producer", "component")][:: 1 if models else -1]
    return next((pair for pair in pairs if set(pair) <= set(labels)), None)


def blame_table(history, where=None, models=False, least=False):
    """Who made whom wait, over all the time: a frame by producer and component (the consumer), the longest first. Its
    columns are the parts of the waits and `total`, their sum, in ns. `models`: by producer_model and model, as in files that
    have no components."""
    history = history_of(history)
    pair = blame_labels(history, models)
    if pair is None:
        raise Error("who waited for whom is not known: the files have no demand_wait_part_ns by producer and component, or by "
                    "their models")
    parts = ("part",) if "part" in history.metric("demand_wait_part_ns").labels else ()
    sums = table(history, "demand_wait_part_ns", (*pair, *parts), None, where).assign(**({} if parts else {"part": "unknown"}))
    if sums.empty:
        return pd.DataFrame({"total": []}, pd.MultiIndex.from_arrays([[], []], names=pair))
    by_part = sums.astype(dict.fromkeys(pair, object) | {"part": object}).set_index([*pair, "part"])["sum_low" if least and "sum_low" in sums else "sum"].unstack(fill_value=0)
    by_part = by_part.reindex(columns=[part for part in PARTS if part in by_part] +
                              [part for part in by_part if part not in PARTS])
    by_part["total"] = by_part.sum(axis=1, skipna=False)
    return by_part.reindex(look.descending(by_part["total"]).index).rename_axis(columns=None)


def wait_table(history, metric="demand_wait_ns", by="size_class", where=None):
    """A frame with a row for each size class (or other label) with values: count, sum, p50, p90, p99, max, in the
    metric's units, in natural order. Quantiles are bounded by the extremes."""
    return waits_of(Distribution(history, metric, by, where), by)


def waits_of(distribution, by, only=None):
    """wait_table of a Distribution, or of a part of it; without `by` it has one row."""
    frame = distribution.spread((0.5, 0.9, 0.99), by, only).rename(columns={0.5: "p50", 0.9: "p90", 0.99: "p99"})
    frame = frame[["count", "sum", "p50", "p90", "p99", "max", *(name for name in frame if str(name).endswith(("_low", "_high")))]]
    frame = frame.astype({"max": float})
    return frame.loc[sorted(frame.index, key=look.size_order if by == "size_class" else look.natural)]


def plot_waits(history, metric="demand_wait_ns", ax=None, data=None):
    """Wait times by size class: a line from median to 99 in 100, marks at p50, p90, p99 and the largest. x duration
    on a logarithmic axis, y size of the CDO."""
    history, ax = history_of(history), look.axes(ax)
    ax.set_title(history.metric(metric).attrs.get("help", metric))
    if data is None and not history.available(metric, "size_class"):
        return look.nothing(ax, "these files do not have it by size")
    frame = wait_table(history, metric) if data is None else data
    if frame.empty:
        return look.nothing(ax, "no waits")
    rows, frame = np.arange(len(frame)), frame.fillna(0)
    ax.hlines(rows, frame.p50, frame["max"], color=OTHERS, linewidth=1)
    ax.hlines(rows, frame.p50, frame.p99, color=COLOURS[0], linewidth=4, alpha=0.5)
    for column, marker, colour in (("p50", "o", 0), ("p90", "D", 1), ("p99", "s", 2), ("max", "|", 5)):
        ax.plot(frame[column], rows, marker, color=COLOURS[colour], label=column, markersize=7,
                markeredgewidth=2 if marker == "|" else 0.5)
    ax.set_xscale("log")
    low, high = max(frame.p50.min(), 1) / 1.25, max(frame["max"].max(), 1) * 1.25
    ax.set_xlim(low, high)
    ax.minorticks_off()
    ax.set_xticks(look.log_ticks(low, high, 3 if look.narrow(ax) else 6))
    ax.xaxis.set_major_formatter(look.formatter("ns"))
    ax.set_yticks(rows, [f"{label}  ({look.amount(count, '')})" for label, count in zip(frame.index, frame["count"])])
    ax.set(ylim=(-0.6, len(rows) - 0.4), xlabel="duration", ylabel="size of the CDO (waits)")
    ax.legend(loc="upper center", bbox_to_anchor=(0.3 if look.narrow(ax) else 0.5, -2.4 / max(12, len(rows))), ncol=4,
              handlelength=1, columnspacing=1)
    return ax
