# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run: its numbers, tables and pictures. Every number is computed from rows; what is not in
it stands next to it."""

import functools
import pathlib

import numpy as np
import pandas as pd

from .. import cdos, compute, look, plots, words
from ..diagnosis import Diagnosis
from ..dataset import dataset_of
from ..look import OTHER, amount, duration, span
from ..models import AS_MODEL, UNNAMED, model_of
from ..account import number_of, share, summary, without
from ..sampling import FEWEST, estimate
from ..together import declared
from .chains import chain_tables
from .parts import FINDINGS_SHOWN, LARGEST, MORE, Answers, Picture, Report, Table, largest, moment, others

TOLD = (("operations by kind", "pool_operations", ("operation",)), ("transports by source and sink", "transports", ("source", "sink")),
        ("waits by component or model", "demand_wait_ns", ("component",)),
        ("who waited for whom", "demand_wait_part_ns", ("producer", "component")), ("what waits were for", "demand_wait_part_ns", ("part",)),
        ("kinds of anomalies", "anomalies", ("anomaly",)), ("whose anomalies they are", "anomalies", ("component",)))
CDOS_SHOWN = 12
DECLARED_SHOWN = 12  # metrics of samples
RUNS_WHOLE = 24      # of more, the report says which runs there are and what made them late
WAITS = (("demand_wait_ns", "for demanded data"), ("withdraw_wait_ns", "to take a CDO back"), ("leave_wait_ns", "to leave"))


class Content:
    """Of one History; `metrics`: names to restrict it to (None: all), `component`: only this component's, `trace`: path
    of a trace of the same events."""

    def __init__(self, history, metrics=None, component=None, trace=None):
        self.history, self.metrics, self.component, self.trace = history, metrics, component, trace
        # Several parts of the report need the same numbers; each pass over the rows is made once.
        self.sums, self.distribution = functools.cache(self._sums), functools.cache(self._distribution)
        self.blame = functools.cache(lambda: plots.blame_table(history, self.where("demand_wait_part_ns"), least=True))
        for name in metrics or ():
            history.metric(name)
        self.summary = summary(history)
        self.resolution = compute.resolution(history)
        self.dataset = dataset_of(history, [])
        if component is not None:
            self._check_component(component)
        events = self.summary.received + sum(self.summary.lost.values())
        self.outside = {what for what, metric in (("operations", "pool_operations"), ("gave", "produced_bytes"), ("received", "consumed_bytes"))
                        if "vampire_not_in_output" in self.summary.lacking.get(metric, (0, {}))[1]}
        part = share(self.summary.counted, events)
        # Remarks on totals: the fraction of counted events is the coverage of the number of operations only.
        self.of = self.of_operations = []
        if self.summary.counted < events:
            self.of, self.of_operations = [words.FROM_EVENTS % part], ["of " + words.OF_EVENTS % part]

    def _check_component(self, component):
        known = self.history.words("component") | self.history.words("source") | self.history.words("sink")
        if component not in known:
            some = ", ".join(sorted(known, key=look.natural)[:20])
            raise compute.Error(f"there is no component '{component}'; there are: {some}" + ", ..." * (len(known) > 20))

    # ---- small helpers

    def has(self, metric, *labels):
        """Whether the metric is in the files and wanted, with these labels or those of their models. At level workflow
        there are neither."""
        return (self.metrics is None or metric in self.metrics) and metric in self.history.metrics and \
            {self.label(metric, one) for one in labels} <= set(self.history.metric(metric).labels)

    def label(self, metric, label):
        """The label, or that of the model where the files have only models."""
        labels = self.history.metric(metric).labels
        return AS_MODEL[label] if label not in labels and AS_MODEL.get(label) in labels else label

    def _time(self, ns):
        """A quantile or extreme of times between two events; one that may be below the resolution of the clock is NaN."""
        return duration(ns) if ns > 0 or not self.resolution else f"< {duration(self.resolution)}"

    def where(self, metric, label=None):
        """What restricts the metric to the component, as `label` if it may be under several."""
        labels = self.history.metric(metric).labels
        label = label or next((one for one in ("component", "source") if one in labels), None)
        return {label: self.component} if self.component is not None and label in labels else None

    def _sums(self, metric, by):
        """A counter's sums by labels, as a Series; those of the component."""
        by = tuple(self.label(metric, label) for label in ((by,) if isinstance(by, str) else by))
        if self.component is not None and "source" in self.history.metric(metric).labels:
            sums = compute.merge(self.history, metric, tuple(dict.fromkeys(("source", "sink", *by))))
            names = [sums.index.get_level_values(label) == self.component for label in ("source", "sink")]
            return sums[names[0] | names[1]].groupby(level=list(by)).sum()
        return compute.merge(self.history, metric, by, where=self.where(metric))

    def _distribution(self, metric):
        """Of waits by component and size class, as far as they have these labels; of the component."""
        labels = set(self.history.metric(metric).labels) & {self.label(metric, "component"), "size_class"}
        return compute.Distribution(self.history, metric, tuple(sorted(labels)), self.where(metric))

    def wait_table(self, metric, by):
        """plots.wait_table, of the component."""
        return plots.waits_of(self.distribution(metric), self.label(metric, by))

    def total(self, metric):
        """Of a counter; None when the files do not have it."""
        if not self.has(metric):
            return None
        labels = self.history.metric(metric).labels
        by = next(((one,) for one in ("source", "component") if one in labels and self.component is not None), ())
        sums = self.sums(metric, by)
        return int(sums.sum()) if by else int(sums)

    def hidden(self, sums, what):
        """Notes: how much of these sums is in (other)."""
        names = sums.index.to_frame(index=False)
        part = int(sums[(names == OTHER).any(axis=1).to_numpy()].sum()) if len(sums) else 0
        return self.of + ([f"{share(part, int(sums.sum()))} of {what} have no name of their own, but are in (other)"] if part else [])

    # ---- the report

    def report(self):
        """A Report."""
        found, ds = self.summary, self.dataset
        when = f"{moment(found.begin)} to {moment(found.end)} UTC" if found.buckets else \
            f"begun {moment(ds.run_started.values.min())} UTC, no bucket yet"
        several = "s" if len(found.runs) > 1 else ""
        remark = None
        if self.history.between != (None, None):
            low, high = (moment(np.datetime64(when, "ns")) if when is not None else edge
                         for when, edge in zip(self.history.between, ("the begin", "the end")))
            remark = f"Only the buckets from {low} to {high} UTC."
        if self.component is not None:
            remark = f"{remark + ' ' if remark else ''}Only what has to do with {self.component}."
        few = len(found.runs) <= RUNS_WHOLE or self.metrics or self.component or self.trace
        if not few:
            remark = (f"{remark + ' ' if remark else ''}Of more than {RUNS_WHOLE} runs there are no pictures and no other tables: "
                      "name some of the files, or --metrics.")
        tables = [self.run_table()] if found.buckets and not few else [
                  self.run_table(), self.model_table(), self.component_table(), self.operation_table(), self.transport_table(), self.wait_rows(),
                  self.blame_rows(), *(chain_tables(self.trace, found.runs, self.component) if self.trace else ()),
                  self.anomaly_table(), self.cdo_rows()] if found.buckets else []
        if not self.has_components():
            known = "by model" if any("model" in one.labels for one in self.history.metrics.values()) else "neither by component nor by model"
            remark = f"{remark + ' ' if remark else ''}These files are {known}: they have no table by component."
        cannot = self.cannot() if self.metrics is None and self.component is None else []
        if cannot:
            remark = f"{remark + ' ' if remark else ''}They cannot tell {'; '.join(cannot)}." if not self.has_components() else \
                f"{remark + ' ' if remark else ''}These files cannot tell {'; '.join(cannot)}."
        for text in found.remarks():
            remark = f"{remark + ' ' if remark else ''}{text}."
        facts = self.facts()
        notes = list(dict.fromkeys([*found.notes(), *self.history.damage]))  # with what was found while reading
        return Report(
            title=f"Workflow {found.workflow}",
            subtitle=f"{when}, seen by vampire on {found.host}, "
            f"run{several} {', '.join(run[:8] for run in found.runs)}, output {found.output}, level {found.level}",
            notes=notes, whole="Every event was counted, every bucket is here.", remark=remark,
            facts=facts, before=[table for table in [self.gap_table()] if table],
            pictures=self.pictures() if found.buckets and few else [],
            tables=[table for table in tables if table] + [self.file_table()],
            foot=f"Buckets of {duration(float(found.bucket_ns))}. Quantiles are read from histograms and are off by at most "
            f"half a bin. vampire {self.history.files[-1].attrs['vampire_version']}.",
            answers=self.answers() if found.buckets and self.metrics is None else None,
            times=tuple(int(when.astype(np.int64)) for when in (found.begin, found.end)) if found.buckets else (0, 0))

    def cannot(self):
        """What the files do not tell: parts of sentences, each with its reason."""
        found = {}
        for what, metric, labels in TOLD:
            lacks = [one for one in labels if not self.has(metric, one)]
            if lacks:
                absent = metric not in self.history.metrics
                why = f"no {metric}" if absent else f"{metric} has no label {' or '.join(lacks)}"
                found.setdefault(why, []).append(what)
        return [f"{' and '.join(whats)} ({why})" for why, whats in found.items()]

    def answers(self):
        """What made it late, of the component if one was asked for."""
        frame = Diagnosis(self.history, self.dataset).frame()
        if self.component is not None:
            model = model_of(self.component, self.history.models)
            asked = {self.component, model}
            waited = np.array([bool(asked & set(one.replace(", ", " and ").split(" and "))) for one in frame.waiting], bool)
            about = frame.component.isin(asked) | waited
            frame = frame[about]
        rows = list(frame[["sentence", "evidence", "trace"]].head(FINDINGS_SHOWN).itertuples(index=False, name=None))
        rest = [f"{number_of(len(frame) - len(rows), 'more finding')}, which cost less: vampire.diagnose(run)"] if len(frame) > len(rows) else []
        rest += frame.attrs["notes"]
        if frame.attrs["looked"]:
            rest.append(f"Looked for and not found: {'; '.join(frame.attrs['looked'])}.")
        if frame.attrs["not_looked"]:
            rest.append(f"Could not be looked for: {'; '.join(frame.attrs['not_looked'])}.")
        return Answers(frame, rows, rest, "What made it late" if rows else "Nothing was found that made it late")

    def lacks(self, metric, write):
        """The share that a total is of what the metric counted, in words; [] if it is all."""
        value, aside = self.summary.lacking.get(metric, (0, {}))
        every = value + sum(aside.values())
        of = f"{words.OF_TOTAL % (share(value, every), write(every))}, " * (self.component is None)
        return [f"{of}{without(aside)}"] if aside else []

    def estimated(self, metric, write):
        """Of a sampled run, what the total of all CDOs is estimated to be, in words."""
        if not self.summary.sampling.startswith("fraction"):
            return []
        try:
            found, = estimate(self.history, metric, where=self.where(metric)).itertuples()
        except compute.Error as error:
            return [f"no estimate: {error}"]
        if np.isnan(found.estimate):
            return [f"no estimate of all: the sample is worth fewer than {FEWEST} CDOs"]
        return [f"of all about {write(round(found.estimate))}, 95 % interval {write(round(found.low))} to {write(round(found.high))}"]

    def facts(self):
        """(what, number, note)."""
        found, ds = self.summary, self.dataset
        length = float(self.history.bucket_ns.sum())
        components = len(set(ds.component_name.values)) if "component_name" in ds else 0
        numbers = [("pool operations", "pool_operations", "{:,}".format), ("CDO bytes given", "produced_bytes", amount),
                   ("bytes moved", "transport_bytes", amount), ("transports", "transports", "{:,}".format)]
        facts = [("observed", span(length), ""), ("components", f"{components:,}", "")]
        for what, metric, write in numbers:
            count = self.total(metric)
            if count is None:
                facts.append((what, "not recorded", ""))
                continue
            estimate = self.estimated(metric, write)
            coverage = [] if "".join(estimate).startswith("of all") else self.of
            if metric == "pool_operations":
                coverage = self.of_operations
            facts.append((what, write(count), "; ".join([*coverage, *self.lacks(metric, write), *estimate])))
        return facts

    def run_table(self):
        """Of several runs: when each was, how much of it was observed."""
        if len(self.summary.runs) < 2 or not self.summary.buckets:
            return None
        history, rows, plain = self.history, [], []
        owner, complete = history.per_bucket(lambda file: file.run[:8]), history.complete()
        for run in dict.fromkeys(owner.tolist()):
            own = owner == run
            times, widths = history.times[own], history.bucket_ns[own]
            begin, end = (np.datetime64(int(one), "ns") for one in (times.min(), (times + widths).max()))
            plain.append((run, begin, end, int(widths.sum()), int(own.sum()), int((~complete[own]).sum())))
            rows.append((run, moment(begin), moment(end), span(float(widths.sum())), *(f"{count:,}" for count in plain[-1][4:])))
        frame = pd.DataFrame(plain, columns=["run", "begin", "end", "observed_ns", "buckets", "buckets_incomplete"])
        rest = rows[LARGEST:] if len(rows) > LARGEST + 1 else []
        if rest:
            part = frame.iloc[LARGEST:]
            rows = rows[:LARGEST] + [(others(rest), "", "", span(float(part.observed_ns.sum())), f"{part.buckets.sum():,}",
                                      f"{part.buckets_incomplete.sum():,}")]
        return Table("runs", "Runs", ("run", "from (UTC)", "to (UTC)", "observed", "buckets", "that miss events"), rows, frame, 3, [],
                     rest[:MORE])

    def gap_table(self):
        """Of the intervals in which events are missing."""
        ds = self.dataset
        if "gap_start" not in ds or not ds.sizes["gap"]:
            return None
        frame = pd.DataFrame({name: ds[f"gap_{name}"].values for name in ("start", "end", "events", "reason")})
        rows = [(moment(row.start, 23), moment(row.end, 23), f"{int(row.events):,}" if row.events else "unknown", row.reason)
                for row in (one for _, one in frame.head(50).iterrows())]
        notes = [f"the first 50 of {len(frame):,}"] if len(frame) > 50 else []
        return Table("gaps", "Gaps", ("from (UTC)", "to (UTC)", "events", "where"), rows, frame, 2, notes)

    def file_table(self):
        """Of the files."""
        ds = self.dataset
        frame = pd.DataFrame({"file": [pathlib.Path(path).name for path in ds.file_path.values],
                              "state": ds.file_state.values, "buckets": ds.file_buckets.values})
        rows = [(row.file, row.state, f"{row.buckets:,}") for _, row in frame.iterrows()]
        if len(rows) > 30:
            rows = rows[:15] + [(f"{len(rows) - 30} more", "", f"{frame.buckets[15:-15].sum():,}")] + rows[-15:]
        return Table("files", "Files", ("file", "state", "buckets"), rows, frame, 2)

    # ---- tables

    def _by_component(self, metric):
        return self.sums(metric, ("component",)) if self.has(metric, "component") else None

    def component_table(self):
        """Each component: when it was there, what it did, how long it waited."""
        sums = {"operations": self._by_component("pool_operations"), "gave": self._by_component("produced_bytes"),
                "received": self._by_component("consumed_bytes")}
        known = {what: one for what, one in sums.items() if one is not None}
        if not known:
            return None
        frame = pd.DataFrame({what: one.astype(float) for what, one in known.items()}).fillna(0).astype(np.uint64)
        ds, times, places = self.dataset, {}, {}
        if "component_host" in ds:
            places = {name: (host, job) for name, host, job in zip(ds.component_name.values, ds.component_host.values,
                                                                   ds.component_batch_job.values) if host or job}
        if "component_name" in ds:
            times = {name: row for name, *row in zip(ds.component_name.values, ds.component_joined.values,
                                                     ds.component_left.values, ds.component_leave_reason.values)}
        frame = frame.reindex([*frame.index, *(name for name in times if name not in frame.index
                                               and self.component in (None, name))], fill_value=0)
        cost = self._cost().reindex(frame.index).fillna(0)
        order = cost.sum(axis=1) if cost.to_numpy().any() else frame.iloc[:, 0]
        chosen, rest = largest(order.to_frame("cost"), "cost")
        waits = self._waits("demand_wait_ns", chosen, rest)
        if rest:
            waits.update(self._waits("demand_wait_ns", rest[:MORE], []))

        def row(name):
            values, costs = (one.loc[name] if name is not None else one.loc[rest].sum() for one in (frame, cost))
            joined, left, why = times.get(name, (np.datetime64("NaT"),) * 2 + ("",))
            shown = [self._shown(frame, what, name, int(values[what])) for what in known]
            wait = waits.get(name)
            return (name or others(rest), why or ("there" if name in times else ""), moment(joined)[11:],
                    moment(left)[11:], *(places.get(name, ("", "")) if places else ()), *map(self._seconds, costs), *shown, *(wait[:3] if wait else ("", "", "")))

        rows = [row(name) for name in chosen + ([None] if rest else [])]
        head = ("component", "left because", "joined (UTC)", "left", *(("host", "job") if places else ()), *cost, *known, "waits",
                "median", "99 in 100")
        title = "Components" if self.has_components() else "Models, what they did"
        return Table("components", title, head, rows, frame.join(cost.add_suffix(", ns")).rename_axis("component").reset_index(), 2,
                     self.hidden(next(iter(known.values())), next(iter(known))), [row(name) for name in rest[:MORE]])

    def _ran_on(self, metric):
        """Of a metric that has hosts, which components ran there, as far as it is known."""
        if "host" not in self.history.metric(metric).labels or "component_host" not in self.dataset:
            return ""
        there = {}
        for name, host in dict(zip(self.dataset.component_name.values, self.dataset.component_host.values)).items():
            there.setdefault(host, []).append(name)
        there.pop("", None)
        shown = [f"{host}: {', '.join(names[:6])}{' and others' * (len(names) > 6)}" for host, names in list(there.items())[:6]]
        return f" (ran on {'; '.join(shown)})" if shown else ""

    def has_components(self):
        """Whether the files name components."""
        return any("component" in metric.labels for metric in self.history.metrics.values())

    def _cost(self):
        """A frame by component, ns: how long it waited, and how long others waited for it, as far as the files say."""
        if not self.has("demand_wait_part_ns", "component", "producer"):
            waited = self._waited()
            return waited.to_frame("waited") if len(waited) else pd.DataFrame(index=waited.index)
        total = self.blame()["total"].astype(float)
        return pd.DataFrame({"waited": total.groupby(level=1).sum(), "others waited for it": total.groupby(level=0).sum()})

    def _seconds(self, ns):
        """A sum of waits; none is 0. Where times are below the resolution it is a lower bound."""
        if self.resolution:
            return f"≥ {duration(float(ns))}" if ns else "?"
        return duration(float(ns)) if ns else "0"

    def _share(self, part, whole):
        """A fraction of sums of waits."""
        return "?" if self.resolution else share(part, whole)

    def _sum(self, frame):
        """The column of sums, or of their lower bounds, of a table of waits."""
        return "sum_low" if "sum_low" in frame else "sum"

    def _waited(self):
        if not self.has("demand_wait_ns", "component"):
            return pd.Series(dtype=float)
        label = self.label("demand_wait_ns", "component")
        sums = compute.table(self.history, "demand_wait_ns", (label,), None, self.where("demand_wait_ns"))
        return sums.astype({label: object}).set_index(label)[self._sum(sums)].astype(float)

    def model_table(self):
        """Each model: its ranks, how long they waited, how long others waited for them; the most expensive first."""
        if self.component is not None or not self.has("demand_wait_part_ns", "component", "producer"):
            return None
        label, length = self.label("demand_wait_part_ns", "component"), float(self.history.bucket_ns.sum())
        blame, names = self.blame(), {}

        def model(name):
            return model_of(name, self.history.models) if label == "component" else name

        blame = blame.groupby([blame.index.get_level_values(level).map(model) for level in (0, 1)]).sum()
        for name in self.history.words(label) | self.history.words(self.label("demand_wait_part_ns", "producer")):
            if name not in UNNAMED:
                names.setdefault(model(name), []).append(name)
        if not names or label == "component" and len(names) > LARGEST and len(names) == sum(map(len, names.values())):
            return None  # each component is a model of its own
        frame = pd.DataFrame({"ranks": {model: len(ranks) if label == "component" else 0 for model, ranks in names.items()}})
        for what, level in (("waited", 1), ("caused", 0)):
            frame[what] = blame.total.groupby(level=level).sum().reindex(frame.index).fillna(0).astype(float)
        for part in (part for part in blame.columns if part != "total"):
            frame[part] = blame[part].groupby(level=1).sum().reindex(frame.index).fillna(0).astype(float)
        chosen, rest = largest(frame.assign(cost=frame.waited + frame.caused), "cost")
        rows = []
        for name in chosen + ([None] if rest else []):
            row = frame.loc[name] if name is not None else frame.loc[rest].sum()
            mean = row.waited / max(1.0, row.ranks) / max(length, 1.0)
            rows.append((name or others(rest), f"{int(row.ranks):,}" if row.ranks else "", *map(self._seconds, row.iloc[1:]),
                         self._share(mean, 1.0) + (", several at once" if mean > 1 else "") if row.ranks else ""))
        head = ("model", "ranks", "waited", "others waited for it", *(f"waited {part.replace('_', ' ')}" for part in frame.columns[3:]),
                "of a rank's time")
        return Table("models", "Models", head, rows, frame.rename_axis("model").reset_index(), 1, list(self.of))

    def _shown(self, frame, what, name, value):
        """A number of a component; 0 is hidden when it may be in (other), or in a series that the output leaves out."""
        if not value and name != OTHER and (what in self.outside or OTHER in frame.index and frame.at[OTHER, what]):
            return "hidden"
        return f"{value:,}" if what == "operations" else amount(value)

    def _waits(self, metric, chosen, rest):
        """{name: (count, p50, p99, p90, max, sum)} as texts, of the names and, under None, of the rest."""
        if not self.has(metric, "component"):
            return {}
        def texts(row):
            return (f"{int(row['count']):,}", *(self._time(row[one]) for one in ("p50", "p99", "p90", "max")), self._seconds(row[self._sum(row)]))
        frame = self.wait_table(metric, "component")
        found = {name: texts(frame.loc[name]) for name in chosen if name in frame.index}
        if rest and frame.index.isin(rest).any():
            found[None] = texts(plots.waits_of(self.distribution(metric), (), {self.label(metric, "component"): rest}).iloc[0])
        return found

    def operation_table(self):
        """Each operation: how often, how fast."""
        if not self.has("pool_operations", "operation"):
            return None
        where = self.where("pool_operations")
        sums = compute.merge(self.history, "pool_operations", ("operation",), where=where)
        peak = compute.rate(self.history, "pool_operations", "operation", where=where).max()
        handling = plots.wait_table(self.history, "handling_ns", "operation") if self.has("handling_ns", "operation") else None
        frame = pd.DataFrame({"count": sums, "most_per_second": peak.reindex(sums.index)}).rename_axis("operation")
        frame = frame[frame["count"] > 0]
        rows = []
        for name, row in frame.iterrows():
            time = handling.loc[name] if handling is not None and name in handling.index else None
            high = row.most_per_second
            rows.append((name.replace("_", " "), f"{int(row['count']):,}", f"{high:,.0f}" if high == high else "unknown",
                         *(("", "") if time is None else (self._time(time.p50), self._time(time.p99)))))
        return Table("operations", "Operations", ("operation", "count", "most per second", "handled in (median)", "99 in 100"),
                     rows, frame.reset_index(), 1, self.of)

    def transport_table(self):
        """The pairs of source and sink whose transports took longest in all."""
        if not (self.has("transports", "source", "sink") and self.has("transport_bytes", "source", "sink")):
            return self._totals("transports", "Transports", ("transports", "took in all", "median", "90 in 100", "99 in 100", "longest"), "transport_ns")
        pair = tuple(self.label("transports", one) for one in ("source", "sink"))
        counts, sizes = self.sums("transports", pair), self.sums("transport_bytes", pair)
        frame = pd.DataFrame({"transports": counts, "bytes": sizes.reindex(counts.index, fill_value=0)})
        frame = frame[frame.transports > 0]
        if frame.empty:
            return None
        timed = self.has("transport_ns", "source", "sink")
        if timed:
            times = compute.Distribution(self.history, "transport_ns", pair).spread((0.5, 0.99), pair)
            frame = frame.join(times.rename(columns={self._sum(times): "sum_ns", 0.5: "p50_ns", 0.99: "p99_ns"})[["sum_ns", "p50_ns", "p99_ns"]])
        hidden = self.hidden(counts, "the transports")
        order = frame.sort_values(["sum_ns"] * timed + ["bytes", "transports"], ascending=False, kind="stable")
        named, columns = [key for key in order.index if OTHER not in key], list(order.columns)

        def cells(key, values):
            row = dict(zip(columns, values))
            spread = [self._time(row[one]) if row.get(one, np.nan) == row.get(one) else "" for one in ("p50_ns", "p99_ns")]
            return (*key, *([self._seconds(row["sum_ns"])] if timed else ()), f"{int(row['transports']):,}", amount(int(row["bytes"])), *spread)

        shown = [cells(*row) for row in zip(named[:20 + MORE], order.loc[named[:20 + MORE]].itertuples(index=False, name=None))]
        rows = shown[:20]
        for name, keys in ((others(named[20:]), named[20:]), (OTHER, [key for key in order.index if OTHER in key])):
            if keys:
                part = order.loc[keys]
                rows.append((name, "", *([self._seconds(part.sum_ns.sum())] if timed else ()), f"{int(part.transports.sum()):,}",
                             amount(int(part.bytes.sum())), "", ""))
        head = ("source", "sink", *(["took in all"] * timed), "transports", "bytes", "median", "99 in 100")
        return Table("transports", "Transports", head, rows,
                     frame.reset_index(), 2, hidden, shown[20:] if OTHER not in rows[-1] else [])

    def _totals(self, name, title, head, *metrics):
        """Where labels are missing, a row for all components of each histogram; None: there is no value."""
        rows, frames = [], []
        for metric in metrics:
            frame = compute.Distribution(self.history, metric).spread((0.5, 0.9, 0.99)) if self.has(metric) and self.component is None else None
            if frame is not None and len(frame):
                row = frame.iloc[0]
                what = [dict(WAITS)[metric]] if metric in dict(WAITS) else []
                rows.append((*what, "all", f"{int(row['count']):,}", self._seconds(row[self._sum(row)]),
                             *(self._time(row[one]) for one in (0.5, 0.9, 0.99, "max"))))
                frames.append(frame.assign(metric=metric))
        head = ("waited", "component", *head) if name == "waits" else ("between", *head)
        return Table(name, title, head, rows, pd.concat(frames), 1 + (name == "waits"), list(self.of)) if rows else None

    def wait_rows(self):
        """How long each component waited, for what."""
        rows, frames, notes = [], [], list(self.of)
        for metric, what in WAITS:
            if not self.has(metric, "component"):
                continue
            frame = self.wait_table(metric, "component")
            if frame.empty:
                continue
            frames.append(frame.rename_axis("component").reset_index().assign(metric=metric))
            if OTHER in frame.index:
                part = share(int(frame["count"][OTHER]), int(frame["count"].sum()))
                notes.append(f"{part} of the waits {what} have no component by name, but are in (other)")
            chosen, rest = largest(frame, self._sum(frame), 10)
            texts = self._waits(metric, chosen, rest)
            for name in chosen + ([None] if rest else []):
                count, p50, p99, p90, most, whole = texts[name]
                rows.append((what, name or others(rest), whole, count, p50, p90, p99, most))
        if not rows:
            return self._totals("waits", "Waits", ("times", "in all", "median", "90 in 100", "99 in 100", "longest"), *(one for one, _ in WAITS))
        return Table("waits", "Waits", ("waited", "component", "in all", "times", "median", "90 in 100", "99 in 100", "longest"), rows,
                     pd.concat(frames), 2, notes)

    def blame_rows(self):
        """The pairs of producer and consumer with the longest waits, and what these were for."""
        if not self.has("demand_wait_part_ns", "producer", "component"):
            return None
        frame = self.blame()
        frame = frame[frame.total > 0]
        if frame.empty:
            return None
        parts = [column for column in frame.columns if column != "total"]

        named, whole = [key for key in frame.index if OTHER not in key], int(frame.total.sum())
        numbers = frame.loc[named[:LARGEST + MORE], ["total", *parts]].itertuples(index=False, name=None)
        shown = [(consumer, producer, *map(self._seconds, row), self._share(int(row[0]), whole)) for (producer, consumer), row in zip(named, numbers)]
        rows = shown[:LARGEST]
        for name, keys in ((others(named[LARGEST:]), named[LARGEST:]), (OTHER, [key for key in frame.index if OTHER in key])):
            if keys:
                sums = frame.loc[keys, ["total", *parts]].sum()
                rows.append((name, "", *map(self._seconds, sums), self._share(int(sums.total), int(frame.total.sum()))))
        notes = list(self.of)
        if "unknown" in parts and frame.unknown.any():
            notes.append(f"of {share(int(frame.unknown.sum()), int(frame.total.sum()))} of the time it is not known what it was for")
        head = ("component", "waited for", "in all", *(part.replace("_", " ") for part in parts), "of all waits")
        return Table("blame", "Who waited for whom", head, rows, frame.reset_index(), 2, notes,
                     shown[LARGEST:] if OTHER not in rows[-1] else [])

    def anomaly_table(self):
        """What did not fit together."""
        if not self.has("anomalies") or self.component is not None and not self.has("anomalies", "component"):
            return None
        by = [self.label("anomalies", one) for one in ("anomaly", "component") if self.has("anomalies", one)]
        frame = compute.table(self.history, "anomalies", by, None, self.where("anomalies")).astype(dict.fromkeys(by, object))
        frame = frame[frame.delta > 0]
        if frame.empty:
            return None
        whose = [one for one in by if one != "anomaly"]
        sums = pd.Series(frame.delta.to_numpy(), [frame.anomaly if "anomaly" in by else ["of any kind"] * len(frame),
                                                  frame[whose[0]] if whose else ["all"] * len(frame)])
        order = look.descending(sums.rename_axis(["anomaly", whose[0] if whose else "component"]))
        rows = [(what.replace("_", " "), name, f"{int(count):,}") for (what, name), count in order.head(20).items()]
        if len(order) > 20:
            rows.append((others(order.index[20:]), "", f"{int(order.iloc[20:].sum()):,}"))
        return Table("anomalies", "Anomalies", ("what", "component", "times"), rows, sums.rename("count").reset_index(), 2, self.of)

    def cdo_rows(self):
        """The CDOs that lived longest; only at level cdo."""
        if not len(self.dataset.get("cdo_name", ())):
            return None
        frame = cdos.cdo_table(self.dataset)
        first = frame.select_dtypes("datetime64[ns]").min(axis=1).to_numpy()
        rows = [(name or "unknown", cdo.producer, cdo.end, duration(cdo.life.total_seconds() * 1e9), moment(seen, 23)[11:],
                 amount(cdo.size_bytes) if cdo.size_bytes == cdo.size_bytes else "unknown", f"{cdo.demands:,}",
                 f"{cdo.consumers:,}") for (name, cdo), seen in zip(frame.head(CDOS_SHOWN).iterrows(), first)]
        head = ("name", "producer", "ended", "lived", "first seen (UTC)", "bytes", "demands", "received")
        return Table("cdos", "CDOs", head, rows, frame.rename_axis("name").reset_index(), 3,
                     [f"the {len(rows)} that lived longest of the {number_of(len(frame), 'CDO')} with a record"])

    # ---- pictures

    def stacked(self, metric, by):
        """The label by which a picture is cut: the model, where there are more components than colours."""
        label = self.label(metric, by)
        if label != "component":
            return label
        names = self.history.words(label)
        return "model" if len({model_of(name, self.history.models) for name in names}) < len(names) > len(look.COLOURS) else label

    def _pairs_of_models(self, pairs):
        """The sums of pairs by the models of both, if a matrix has no room for all names; else None."""
        levels = [pairs.index.get_level_values(level) for level in (0, 1)]
        if max(level.nunique() for level in levels) <= plots.NAMES_MAX:
            return None
        models = pairs.groupby([level.map(lambda name: model_of(name, self.history.models)) for level in levels]).sum()
        return models if len(models) < len(pairs) else None

    def pictures(self):
        """Those that the data allow. What a picture shows is computed once, however often it is drawn."""
        found = []

        history = self.history

        def add(name, text, data, draw, notes=None, kind="", units="1"):
            once = functools.lru_cache(1)(data)
            found.append(Picture(name, text, lambda ax: draw(ax, once()), self.of if notes is None else notes, kind, once, units,
                                 np.append(history.bin_lower, history.bin_upper[-1:])))

        def units_of(metric, kind="units"):
            return history.metric(metric).attrs.get(kind, "1")
        for metric, name, text in (("pool_operations", "operations", "Pool operations per second"),
                                   ("produced_bytes", "produced_bytes", "Bytes per second given to the pool"),
                                   ("consumed_bytes", "consumed_bytes", "Bytes per second received")):
            by = next((one for one in ("component", "operation") if self.has(metric, one)), None)
            by = "operation" if self.component is not None and self.has(metric, "operation") else by
            if by:
                by, where = self.stacked(metric, by), self.where(metric)
                add(name, text, lambda m=metric, b=by, w=where: plots.stack_data(history, m, b, w),
                    lambda ax, data, m=metric, b=by: plots.plot_stack(history, m, b, ax, data=data), None, "stack", units_of(metric))
        for metric, text in (("pool_operations", "Pool operations"), ("produced_bytes", "Bytes given to the pool"),
                             ("transport_bytes", "Bytes moved")) if self.summary.sampling.startswith("fraction") else ():
            if self.has(metric) and "vampire_sample_group" in history.metrics:
                add(f"{metric}-estimated", f"{text} per second, estimated for all CDOs, with 95 % intervals",
                    lambda m=metric: plots.estimate_data(history, m, self.where(m)),
                    lambda ax, data, m=metric: plots.plot_estimate(history, m, ax, data=data), [], "estimate", units_of(metric) + "/s")
        matrices = []
        if self.has("demand_wait_part_ns", "producer", "component"):
            matrices.append(("blame", "Time that consumers waited for producers", self.blame()["total"], "the time", plots.plot_blame, "ns"))
        if self.has("transport_bytes", "source", "sink"):
            matrices.append(("transports", "Bytes moved from source to sink", self.sums("transport_bytes", ("source", "sink")),
                             "the bytes", plots.plot_transports, "byte"))
        for name, text, pairs, what, draw, units in matrices:
            for sums, which in ((self._pairs_of_models(pairs), "-of-models"), (pairs, "")):
                if sums is not None:
                    add(name + which, text + ", by model" * bool(which), lambda s=sums: plots.matrix_of(s),
                        lambda ax, data, d=draw: d(history, ax, data=data), self.hidden(sums, what), "matrix", units)
        for metric, name, text in (("transport_ns", "transport-time", "Durations of transports over time"),
                                   ("demand_wait_ns", "demand-time", "Waits for demanded data over time")):
            if self.has(metric):
                add(name, text, lambda m=metric: plots.heatmap_data(history, m, self.where(m)),
                    lambda ax, data, m=metric: plots.plot_heatmap(history, m, ax, data=data), None, "heatmap",
                    units_of(metric, "value_units"))
        for metric in declared(history)[:DECLARED_SHOWN]:
            kind, about = history.metric(metric).kind, history.metric(metric).attrs.get("help", "")
            text = f"{metric}{' per second' * (kind == 'counter')}: {about}{self._ran_on(metric)}"
            if not self.has(metric):
                continue
            if kind == "histogram":
                add(metric, text, lambda m=metric: plots.heatmap_data(history, m, self.where(m)),
                    lambda ax, data, m=metric: plots.plot_heatmap(history, m, ax, data=data), [], "heatmap", units_of(metric, "value_units"))
            else:
                add(metric, text, lambda m=metric: plots.lines_data(history, m, self.where(m)),
                    lambda ax, data, m=metric: plots.plot_lines(history, m, ax, data=data), [], "lines",
                    units_of(metric) + "/s" * (kind == "counter"))
        for metric, name in (("demand_wait_ns", "demand"), ("withdraw_wait_ns", "withdraw")):
            if self.has(metric, "size_class"):
                frame = self.wait_table(metric, "size_class")
                if len(frame):
                    add(f"{name}-by-size", f"Waits on {name} by size of the CDO", lambda f=frame: f,
                        lambda ax, data, m=metric: plots.plot_waits(history, m, ax, data=data))
        for metric, text in (("pool_cdos", "CDOs in the pool"), ("pool_bytes", "Bytes in the pool")):
            if self.has(metric) and self.component is None:
                add(metric.replace("_", "-"), text, lambda m=metric: plots.gauge_data(history, m),
                    lambda ax, data, m=metric: plots.plot_gauge(history, m, ax, data=data), None, "gauge", units_of(metric))
        if len(self.dataset.get("cdo_name", ())):
            add("cdos", "Life of single CDOs", lambda: self.dataset, lambda ax, ds: cdos.plot_cdos(ds, CDOS_SHOWN, ax), [])
        return found
