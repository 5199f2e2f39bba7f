# SPDX-License-Identifier: BSD-3-Clause
"""What differs between two runs, from the start of each: ratios, with the size of the effect; and what differs from several
earlier runs by more than these differ.

The effect is the chance that a value of the second run is larger than one of the first (equal ones count half):
50 % is no difference, 100 % is all of them. For histograms the values are those in their bins; for counters what was
added in each interval of a run that is not short of events. That the longest values are more or fewer, which the effect does
not show, stands next to it."""

import numpy as np
import pandas as pd

from .. import compute, look, plots, words
from ..errors import Error
from ..look import COLOURS, OTHER
from ..account import number_of, share, summary
from ..baseline import changed
from ..diagnosis import diagnose
from .parts import FINDINGS_SHOWN, LARGEST, Answers, Picture, Report, Table, largest, moment

COUNTERS = ("pool_operations", "cdos_created", "produced_bytes", "consumed_bytes", "transports", "transport_bytes", "anomalies")
HISTOGRAMS = ("transport_ns", "demand_wait_ns", "withdraw_wait_ns", "leave_wait_ns", "handling_ns", "cdo_lifetime_ns",
              "transport_bytes_per_second")
NAMES = ("A", "B")


def chance_larger(first, second):
    """The chance that a value of `second` is larger than one of `first`; both {bin or value: count} Series."""
    if not first.sum() or not second.sum():
        return np.nan
    both = pd.concat([first, second], axis=1).fillna(0).sort_index().to_numpy(float)
    below = np.cumsum(both[:, 0]) - both[:, 0]
    return float((both[:, 1] * (below + both[:, 0] / 2)).sum() / (both[:, 0].sum() * both[:, 1].sum()))


def effect_of(chance):
    """In words; the limits are Cliff's."""
    if chance != chance:
        return ""
    delta = abs(2 * chance - 1)
    size = next(word for limit, word in ((0.147, "none"), (0.33, "small"), (0.474, "medium"), (2, "large")) if delta < limit)
    return f"{size} ({100 * chance:.0f} %)"


TAIL = 0.99     # quantile of A above which the tail is
LONGER = 2.0    # times as many values above it, for the tail to differ


def tail_of(first, second):
    """(share of the values of `second` above the bin of A's 99 in 100, the same of `first`); NaN where one has none. Both
    {bin: count} Series."""
    if not first.sum() or not second.sum():
        return np.nan, np.nan
    both = pd.concat([first, second], axis=1).fillna(0).sort_index().to_numpy(float)
    shares = both.cumsum(axis=0) / both.sum(axis=0)
    place = int(np.searchsorted(shares[:, 0], TAIL))
    return tuple(float(1 - shares[place, column]) for column in (1, 0))


def tail_words(share, usual, count):
    """The same in words: whether the longest values are more, or fewer, than chance of so many values explains."""
    expected = max(usual, 1e-6)
    error = 4 * np.sqrt(expected * count) / max(count, 1)
    if share != share or abs(share - expected) < error or expected / LONGER <= share <= LONGER * expected:
        return ""
    return f"{100 * share:.3g} % above A's 99 in 100, of A {100 * usual:.2g} %"


def ratio_of(first, second):
    """second / first for people."""
    if not first or first != first or second != second:
        return "" if not second or second != second else "new"
    return f"× {second / first:.3g}"


class Comparison:
    """Of a History, B, with earlier ones, of which the last, A, is a History, too, and the others are what changed() takes."""

    def __init__(self, earlier, second, metrics, component):
        first = earlier[-1]
        self.both, self.metrics, self.component, self.earlier = (first, second), metrics, component, earlier
        self.summaries = [summary(one) for one in self.both]
        for name in metrics or ():
            first.metric(name)
        if not all(len(one.times) for one in self.both):
            raise Error("one of the runs has no buckets")
        self.seconds = [float(one.bucket_ns.sum()) / 1e9 for one in self.both]

    def has(self, metric):
        """Whether both runs have it, and it is wanted."""
        return (self.metrics is None or metric in self.metrics) and all(metric in one.metrics for one in self.both)

    def where(self, history, metric):
        """What restricts a metric to the component."""
        label = next((one for one in ("component", "source") if one in history.metric(metric).labels), None)
        return {label: self.component} if self.component is not None and label else None

    def totals(self):
        """Table of counters: what was added a second."""
        rows, plain = [], []
        for metric in filter(self.has, COUNTERS):
            sums = [compute.merge(one, metric, where=self.where(one, metric)) for one in self.both]
            rates = [compute.rate(one, metric, where=self.where(one, metric)).dropna() for one in self.both]
            chance = chance_larger(*(rate.value_counts() for rate in rates))
            units = self.both[0].metric(metric).attrs.get("units", "1")
            show = look.shown(units)
            means = [count / seconds for count, seconds in zip(sums, self.seconds)]
            rows.append((metric, *map(show, sums), *(f"{show(mean)}/s" for mean in means), ratio_of(*means), effect_of(chance)))
            plain.append((metric, *sums, *means, means[1] / means[0] if means[0] else np.nan, chance))
        head = ("counter", "A", "B", "A a second", "B a second", "ratio", "effect")
        return Table("counters", "How much", head, rows, pd.DataFrame(plain, columns=[
            "metric", "a", "b", "a_per_second", "b_per_second", "ratio", "chance_b_larger"]), 1, self.notes())

    def spreads(self):
        """Table of histograms: medians and 99 in 100."""
        rows, plain = [], []
        for metric in filter(self.has, HISTOGRAMS):
            bins = [compute.merge(one, metric, where=self.where(one, metric)) for one in self.both]
            if not all(len(one) for one in bins):
                continue
            found = [compute.quantile(one, metric, [0.5, 0.99], where=self.where(one, metric)) for one in self.both]
            chance = chance_larger(*(one.astype(float) for one in bins))
            show = look.shown(self.both[0].metric(metric).attrs.get("value_units", "1"))
            (a50, a99), (b50, b99) = (list(one) for one in found)
            tail, texts = tail_of(*bins), []
            for pair in ((a50, b50), (a99, b99)):
                texts += [show(value) if value == value else f"< {show(compute.resolution(history))}"
                          for value, history in zip(pair, self.both)]
                texts.append(ratio_of(*pair) if pair[0] == pair[0] else "")
            rows.append((metric, *texts,
                         effect_of(chance), tail_words(*tail, int(bins[1].sum()))))
            plain.append((metric, a50, b50, a99, b99, chance, tail[0]))
        head = ("of", "A median", "B median", "ratio", "A 99 in 100", "B 99 in 100", "ratio", "effect", "longest")
        return Table("quantiles", "How long", head, rows, pd.DataFrame(plain, columns=[
            "metric", "a_p50", "b_p50", "a_p99", "b_p99", "chance_b_larger", "b_above_a_p99"]), 1, self.notes())

    def waits(self):
        """Table of models and ranks by what they waited a second, those that changed most first."""
        metric, rows, plain = "demand_wait_ns", [], []
        if not self.has(metric):
            return None
        by = [label for label in ("model", "component") if all(label in one.labels(metric) for one in self.both)]
        for label in by:
            found = []
            for one, seconds in zip(self.both, self.seconds):
                sums = compute.table(one, metric, (label,), None, self.where(one, metric)).astype({label: object})
                found.append(sums.set_index(label)[["count", "sum"]].astype(float))
                found[-1]["each"] = found[-1]["sum"] / found[-1]["count"]
                found[-1]["rate"] = found[-1]["sum"] / seconds
            frame = pd.concat(found, axis=1, keys=NAMES)
            cost = (frame["B"]["rate"].fillna(0) - frame["A"]["rate"].fillna(0)).abs()
            for name in look.descending(cost).index[:LARGEST]:
                a, b = frame["A"].loc[name], frame["B"].loc[name]
                shown = ["" if one != one else look.duration(one) for one in (a["rate"], b["rate"], a["each"], b["each"])]
                rows.append((name, label, *shown[:2], ratio_of(a["rate"], b["rate"]), *shown[2:], ratio_of(a["each"], b["each"])))
            plain += [(name, label, *frame["A"].loc[name, ["rate", "each"]], *frame["B"].loc[name, ["rate", "each"]]) for name in frame.index]
        head = ("who waited", "", "A a second", "B a second", "ratio", "A for each demand", "B for each", "ratio")
        return Table("waits", "Who waited, those that changed most", head, rows, pd.DataFrame(plain, columns=[
            "name", "label", "a_ns_per_second", "a_ns_each", "b_ns_per_second", "b_ns_each"]), 2, self.notes())

    def anomalies(self):
        """Table of irregularities by kind."""
        if not self.has("anomalies") or not all("anomaly" in one.metric("anomalies").labels for one in self.both):
            return None
        sums = [compute.merge(one, "anomalies", "anomaly", where=self.where(one, "anomalies")) for one in self.both]
        frame = pd.concat(sums, axis=1, keys=["a", "b"]).fillna(0).astype(int)
        frame = frame[(frame.a > 0) | (frame.b > 0)]
        rows = [(name.replace("_", " "), f"{row.a:,}", f"{row.b:,}", ratio_of(row.a, row.b)) for name, row in frame.iterrows()]
        return Table("anomalies", "Anomalies", ("what", "A", "B", "ratio"), rows, frame.rename_axis("anomaly").reset_index(), 1,
                     self.notes())

    def components(self):
        """Table of the components that changed most, in operations a second."""
        metric = "pool_operations"
        if not self.has(metric) or not all("component" in one.metric(metric).labels for one in self.both):
            return None
        sums = [compute.merge(one, metric, "component", where=self.where(one, metric)) / seconds
                for one, seconds in zip(self.both, self.seconds)]
        frame = pd.concat(sums, axis=1, keys=["a", "b"]).fillna(0)
        frame["ratio"] = frame.b / frame.a.where(frame.a > 0)
        frame["change"] = (frame.b - frame.a).abs()
        chosen, rest = largest(frame, "change", LARGEST)
        rows = [(name, f"{frame.a[name]:,.1f}", f"{frame.b[name]:,.1f}", ratio_of(frame.a[name], frame.b[name])) for name in chosen]
        if rest:
            part = frame.loc[rest, ["a", "b"]].sum()
            rows.append((f"{len(rest)} others", f"{part.a:,.1f}", f"{part.b:,.1f}", ratio_of(part.a, part.b)))
        notes = self.notes() + (["(other) has those without a name of their own"] if OTHER in chosen else [])
        return Table("components", "Operations a second by component, those that changed most",
                     ("component", "A", "B", "ratio"), rows, frame.rename_axis("component").reset_index(), 1, notes)

    def notes(self):
        """Which part of the events the numbers are of."""
        found = []
        for name, one in zip(NAMES, self.summaries):
            events = one.received + sum(one.lost.values())
            if one.counted < events:
                found.append(f"{name}: " + words.OF_EVENTS % share(one.counted, events))
        return found

    def pictures(self):
        """Both runs in one picture each, by the time since their begin."""
        found = []
        for metric in filter(self.has, ("pool_operations", "transport_bytes")):
            lines = []
            for one in self.both:
                rate = compute.rate(one, metric, freq=plots.freq_for(one), where=self.where(one, metric))
                lines.append((_since(one, rate.index), rate.to_numpy()))
            units = self.both[0].metric(metric).attrs.get("units", "1")
            found.append(Picture(metric, f"{metric} per second", lambda ax, m=metric, x=lines, u=units: _lines(
                ax, f"{self.both[0].metric(m).attrs.get('help', m)} per second", [(x[0], "-"), (x[1], "-")], u), self.notes()))
        for metric in filter(self.has, ("transport_ns", "demand_wait_ns")):
            lines = []
            for one in self.both:
                frame = compute.quantile(one, metric, [0.5, 0.99], freq=plots.freq_for(one), where=self.where(one, metric))
                lines.append((_since(one, frame.index), frame))
            found.append(Picture(metric, f"{metric}, p50 and p99", lambda ax, m=metric, x=lines: _lines(
                ax, f"{self.both[0].metric(m).attrs.get('help', m)}: median and 99 in 100 (dashed)",
                [((t, f[q].to_numpy()), "-" if q == 0.5 else "--") for t, f in x for q in (0.5, 0.99)], "ns", True), self.notes()))
        return found

    def changed(self):
        """Table of what differs from earlier runs by more than these differ."""
        first, second = self.both
        frame = changed(second, self.earlier, first.output, first.between)
        rows = [tuple(sentence.split(": ", 1)) for sentence in frame.sentence]
        note = f"{frame.attrs['tests']:,} values were compared; of comparisons in which nothing changed, at most one in twenty names any"
        return Table("changed", f"What differs from {len(self.earlier)} earlier runs, the surest first" if rows else
                     f"Nothing differs from the {len(self.earlier)} earlier runs by more than these do", ("what", "B, and before"), rows, frame, 2, [note])

    def answers(self):
        """What made B late for a time and did not make A so."""
        frames = [diagnose(one) for one in self.both]
        known, keys = (list(frame[["kind", "component", "part"]].itertuples(index=False, name=None)) for frame in frames)
        new = frames[1][np.array([key not in known for key in keys], bool)]
        rest = [f"In both: {number_of(len(frames[1]) - len(new), 'finding')}."] if len(new) < len(frames[1]) else []
        rest += [f"Could not be looked for in {name}: {'; '.join(frame.attrs['not_looked'])}."
                 for name, frame in zip(NAMES, frames) if frame.attrs["not_looked"]]
        if not len(new):
            rest.append("Looked for and not found: what made B late and did not make A so.")
        return Answers(new, list(new[["sentence", "evidence", "trace"]].head(FINDINGS_SHOWN).itertuples(index=False, name=None)), rest,
                       "What made B late and not A" if len(new) else "Nothing was found that made B late and not A")

    def report(self):
        """A Report."""
        notes = [f"{name}: {note}" for name, one in zip(NAMES, self.summaries) for note in one.notes()]
        lengths = [float((one.end - one.begin).astype("timedelta64[ns]").astype(np.int64)) for one in self.summaries]
        facts = [(f"{name} observed", look.span(length), "") for name, length in zip(NAMES, lengths)]
        tables = [self.waits(), self.spreads(), self.anomalies(), self.totals(), self.components()]
        subtitle = "; ".join(f"{name}: {one.workflow}, {moment(one.begin)} to {moment(one.end)} UTC, run "
                             f"{', '.join(run[:8] for run in one.runs)}" for name, one in zip(NAMES, self.summaries))
        remark = "Ratios are B divided by A. Effect: the chance that a value of B is larger than one of A; 50 % is no difference."
        if self.component is not None:
            remark = f"Only what has to do with {self.component}. {remark}"
        if len(self.earlier) > 1:
            remark = f"A is the last of the {len(self.earlier)} earlier runs. {remark}"
        plain = self.metrics is None and self.component is None
        return Report("Comparison of two runs" if len(self.earlier) == 1 else "Comparison of a run with earlier ones", subtitle, notes, "Every event of both was counted, every bucket is here.", remark,
                      facts, [self.changed()] if len(self.earlier) > 1 else [], self.pictures(), [table for table in tables if table and table.rows],
                      "Quantiles are read from histograms and are off by at most half a bin.", self.answers() if plain else None)


def _since(history, times):
    """Seconds since the first bucket."""
    return (times.to_numpy().astype("datetime64[ns]").astype(np.int64) - int(history.times.min())) / 1e9


def _lines(ax, title, lines, units, logarithmic=False):
    """Lines of A and B, by turns as many of each, over seconds."""
    ax.set_title(title)
    half = len(lines) // 2
    top = 0.0
    for number, ((x, y), dash) in enumerate(lines):
        name = NAMES[number // half]
        ax.plot(x, y, dash, color=COLOURS[0 if name == "A" else 5], linewidth=1.2, label=name if dash == "-" else None)
        top = max(top, np.nanmax(y) if len(y) and np.isfinite(y).any() else 0)
    ax.set_xlabel("seconds since the begin")
    if logarithmic:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(look.formatter(units))
        ax.yaxis.set_minor_formatter("")
    else:
        ax.set_ylim(bottom=0)
        look.amount_ticks(ax.yaxis, max(top, 1), units)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=2)


def compare(earlier, second, metrics=None, component=None):
    """The Report of what differs between a History and earlier ones, a list: a History, and before it any that History takes."""
    return Comparison(earlier, second, metrics, component).report()
