# SPDX-License-Identifier: BSD-3-Clause
"""What made a run late, in sentences: intervals in which waits were longer than usual, ranks that differ from their
siblings, irregularities, losses. Each finding has its seconds, its interval, and the call that reproduces it."""

import dataclasses
import json
import shlex

import numpy as np
import pandas as pd

from . import changes
from .account import number_of
from .compute import history_of, merge, table
from .dataset import dataset_of
from .look import amount, duration, natural
from .models import UNNAMED, model_of
from .plots import PARTS, blame_labels
from .sums import Keys, Sums

METRIC = "demand_wait_part_ns"
LEAST = 1e-3      # of the observed time: what costs less is no finding
MOST = 0.6        # of the time, for one rank to be the cause
LIFT = 1.3        # times its share of the demands, for the share of the time to say whose fault it is
SAME = 0.5        # of both together, for two intervals to be the same
WINDOWS = 3600    # in which changes are looked for: more buckets are merged
SIBLINGS = 4      # ranks of a model, so that one can differ from the others
DEVIATES = 6.0    # times their spread (median and MAD)
ANOMALIES = 3     # of one kind by one component, to be a finding
EVERYBODY = "all components"
MANAGER = "pool manager"
NETWORK = "transports"
CHANGE = "before and after"
COLUMNS = ("kind", "component", "waiting", "part", "begin", "end", "seconds", "more", "count", "confidence", "sentence",
           "evidence", "trace")
ORDER = {"late": 0, "slow": 0, "rank": 0, "vanished": 1, "lost": 2, "rate": 3, "anomaly": 4}


@dataclasses.dataclass
class Finding:  # pylint: disable=too-many-instance-attributes
    """A row of diagnose(): `component` is at fault, `waiting` waited `seconds` in this part of its waits, which is `more`
    than was usual. None: not known, or not a matter of waiting."""

    kind: str
    component: str
    waiting: str
    part: str
    begin: np.datetime64
    end: np.datetime64
    sentence: str
    evidence: str
    seconds: float = np.nan
    more: float = np.nan
    count: int = 0
    confidence: str = "high"
    trace: str = ""


@dataclasses.dataclass
class Candidate:
    """A component or model (`name`) as consumer or producer (`side`), of which one part of the waits was longer than
    usual in the windows first to end - 1; of all the time: longer than that of its siblings."""

    side: int  # 0 producer, 1 consumer
    name: str
    is_model: bool
    part: str
    first: int
    end: int
    usual: float    # s, mean wait
    seconds: float
    count: int
    against: str    # what it is compared with
    behind: list = dataclasses.field(default_factory=list)  # candidates that are its effect

    @property
    def more(self):
        """Seconds above the usual."""
        return self.seconds - self.count * self.usual

    def overlap(self, other):
        """The share of the two intervals that both have."""
        both = min(self.end, other.end) - max(self.first, other.first)
        return both / (max(self.end, other.end) - min(self.first, other.first)) if both > 0 else 0.0


class Waits:
    """Sums and counts of the parts of all waits, by producer or consumer and window, from one pass over the rows."""

    def __init__(self, history):
        self.history = history
        self.labels = blame_labels(history) or ()
        by = (*self.labels, "part")
        self.groups = history.groups(METRIC, by)
        step = max(1, -(-len(history.times) // WINDOWS))
        self.starts, self.window = np.unique(history.times, return_inverse=True)
        self.starts, self.window = self.starts[::step], self.window // step
        ends = np.zeros(len(self.starts), np.int64)
        np.maximum.at(ends, self.window, history.times + history.bucket_ns)
        self.ends = ends
        self.whole = np.ones(len(self.starts), bool)
        self.whole[self.window[~history.complete()]] = False
        self._sums = [Sums(METRIC, ("count", "sum")) for _ in (0, 1, 2)]
        self._read()

    def _read(self):
        rows = self.groups.rows
        names = [np.array([row[side] if self.labels else EVERYBODY for row in rows], object) for side in (0, 1)]
        self.names = [sorted(set(column), key=natural) for column in names]
        places = [np.array([{name: n for n, name in enumerate(known)}[name] for name in column], np.int64)
                  for known, column in zip(self.names, names)]
        part = np.array([PARTS.index(row[-1]) if row[-1] in PARTS else 3 for row in rows], np.int64)  # (other): unknown
        self.pairs = list(zip(*(column.tolist() for column in places), part.tolist()))  # of each group
        keys = [Keys(4 * len(known)) for known in self.names]
        for bucket, group, block in self.history.blocks(METRIC, self.groups, ("count", "sum")):
            counted = (bucket >= 0) & (group >= 0)
            bucket, group = bucket[counted], group[counted]
            values = {field: column[counted] for field, column in block.fields.items()}
            for side in (0, 1):
                self._sums[side].add(keys[side].of(self.window[bucket], 4 * places[side][group] + part[group]), values)
            self._sums[2].add(group.astype(np.int64), values)
        self.series = []  # [side]: [name, part, window] of (seconds, counts)
        for side in (0, 1):
            found, columns = self._sums[side].result()
            window, place = keys[side].split(found)
            both = []
            for field, scale in (("sum", 1e9), ("count", 1.0)):
                cells = np.zeros((len(self.names[side]) * 4, len(self.starts)))
                cells[place, window] = columns[field] / scale
                both.append(cells.reshape(-1, 4, len(self.starts)))
            self.series.append(both)
        self.all = self._matrix(*self._sums[2].result())

    def _matrix(self, groups, columns):
        """(seconds, counts) [producer, consumer, part]"""
        shape = (len(self.names[0]), len(self.names[1]), 4)
        at = tuple(np.array([self.pairs[group] for group in groups], np.int64).reshape(-1, 3).T)
        seconds, counts = np.zeros(shape), np.zeros(shape)
        seconds[at], counts[at] = columns["sum"] / 1e9, columns["count"]
        return seconds, counts

    def during(self, first, end):
        """The same in these windows."""
        inside = np.flatnonzero((self.window >= first) & (self.window < end))
        if len(inside) == len(self.window):
            return self.all
        sums = Sums(METRIC, ("count", "sum"))
        for bucket, group, block in self.history.blocks(METRIC, self.groups, ("count", "sum"), span=(inside[0], inside[-1] + 1)):
            counted = (bucket >= inside[0]) & (bucket <= inside[-1]) & (group >= 0)
            sums.add(group[counted].astype(np.int64), {field: column[counted] for field, column in block.fields.items()})
        return self._matrix(*sums.result())

    def models(self, side):
        """{model: places of its components}"""
        found = {}
        for place, name in enumerate(self.names[side]):
            found.setdefault(model_of(name, self.history.models), []).append(place)
        return found


class Diagnosis:
    """Of a History: findings, what was looked for without a finding, and what could not be looked for."""

    def __init__(self, history, dataset=None):
        self.history = history
        self.dataset = dataset_of(history, []) if dataset is None else dataset
        self.looked, self.not_looked, self.findings = [], [], []  # `_known`: what _extra found, by part and windows
        self.notes, self._known = [], {}
        if not len(history.times):
            self.not_looked.append("anything: there is no bucket yet")
            return
        self.begin, self.finish = int(history.times.min()), int((history.times + history.bucket_ns).max())
        self.least = LEAST * (self.finish - self.begin) / 1e9
        self.vanished, self.losses = self._vanished(), self._lost()
        for what, look in (("waits that grew for a time, or are longer than those of the siblings", self._waits),
                           ("ranks that received or gave less than their siblings", self._rates),
                           ("components that vanished", lambda: self.vanished), ("lost events", lambda: self.losses),
                           ("irregularities such as failed transports and offers that nobody demanded", self._anomalies)):
            found = look()
            if found is None:
                continue
            self.findings += found
            if not found:
                self.looked.append(what)
        self.findings.sort(key=lambda one: (-np.nan_to_num(one.more, nan=-1.0), ORDER[one.kind], -one.count))

    # ---- small helpers

    def moment(self, ns):
        """A time of a finding, with the day if the run has several."""
        text = str(np.datetime64(int(ns), "ns"))[:19].replace("T", " ")
        return text if (self.finish - self.begin) > 86400 * 10**9 else text[11:]

    def interval(self, begin, end):
        """In words."""
        if begin <= self.begin and end >= self.finish:
            return "All the time"
        return f"{self.moment(begin)} to {self.moment(end)}"

    def between(self, begin, end):
        """As an argument of a call; nothing for all the time."""
        if begin <= self.begin and end >= self.finish:
            return ""
        first, last = (str(np.datetime64(int(when), "ns")).removesuffix(".000000000") for when in (begin, end))
        return f', between=("{first}", "{last}")'

    def trace(self, begin, names):
        """The command for a trace of 10 s from `begin` on of these components."""
        since = max(0, (begin - self.begin) // 10**9)
        chosen = f" -o {shlex.quote('outputs.0.components=' + json.dumps(names, ensure_ascii=False))}" if names else ""
        return f"vampire --replay RECORDING -o outputs.0.type=trace -o outputs.0.from={since}s -o outputs.0.length=10s{chosen}"

    def coverage(self, begin, end):
        """(confidence, words that go with numbers of this interval): not more is claimed than was seen."""
        inside = (self.history.times < end) & (self.history.times + self.history.bucket_ns > begin)
        short = int((~self.history.complete()[inside]).sum())
        if short:
            return "low", f" (at least: {short} of {number_of(int(inside.sum()), 'bucket')} of this time miss events)"
        return "high", ""

    def has(self, metric, *labels):
        """Whether the files have the metric with these labels; else it is said what cannot be looked for."""
        return metric in self.history.metrics and set(labels) <= set(self.history.metric(metric).labels)

    # ---- waits

    def _waits(self):
        if METRIC not in self.history.metrics:
            self.not_looked.append(f"waits: the files have no {METRIC}")
            return None
        waits = Waits(self.history)
        if not waits.labels:
            self.not_looked.append("who waited for whom: the files have neither components nor models")
        elif waits.labels[1] != "component":
            self.not_looked.append("single ranks: the files have models only")
        found = self._grown(waits) + self._deviating(waits)
        found = [one for one in found if one.more >= self.least and one.name not in UNNAMED and self._is_of_pairs(waits, one)]
        return [self._wait_finding(waits, one) for one in self._causes(waits, found)]

    def _grown(self, waits):
        """Candidates of components and models whose waits were longer for a time."""
        found = []
        for side in (0, 1):
            seconds, counts = waits.series[side]
            models = waits.models(side)
            own = [(name, False, [place]) for place, name in enumerate(waits.names[side])]
            of_models = [(model, True, places) for model, places in models.items() if len(places) > 1]
            for name, is_model, places in own + of_models:
                for number, part in enumerate(PARTS[:3]):
                    if part == "for_offer" and side == 1:
                        continue  # who waits for an offer is not at fault
                    sums, values = seconds[places, number].sum(axis=0), counts[places, number].sum(axis=0)
                    if sums.sum() < self.least:
                        continue
                    parts, usual = changes.raised(sums, np.where(waits.whole, values, 0))
                    found += [Candidate(side, name, is_model, part, first, end, usual, float(sums[first:end].sum()),
                                        int(values[first:end].sum()), CHANGE) for first, end in parts]
        return found

    def _deviating(self, waits):
        """Candidates of components whose waits are longer than those of their siblings, all the time."""
        found = []
        for side in (0, 1):
            for places in waits.models(side).values():
                if len(places) < SIBLINGS:
                    continue
                for number, part in enumerate(PARTS[:3]):
                    sums, counts = (one[places, number].sum(axis=1) for one in waits.series[side])
                    if part == "for_offer" and side == 1 or (counts > 0).sum() < SIBLINGS:
                        continue
                    means = sums / np.maximum(counts, 1)
                    middle, spread = changes.mad_of(np.log(means[counts > 0] + changes.FLOOR))
                    usual = float(np.exp(middle) - changes.FLOOR)
                    limit = middle + max(DEVIATES * spread, np.log(1.8))
                    found += [Candidate(side, waits.names[side][places[n]], False, part, 0, len(waits.starts), usual,
                                        float(sums[n]), int(counts[n]), f"the median of its {len(places) - 1} siblings")
                              for n in np.flatnonzero((counts > 0) & (np.log(means + changes.FLOOR) > limit))]
        return found

    def _causes(self, waits, found):
        """Of the candidates those that are causes, the most expensive first: each takes away what follows from it. What
        grew for a time explains a difference of all the time."""
        kept = []
        for one in sorted(found, key=lambda one: (one.against != CHANGE, -one.more)):
            if self._explained(waits, kept, one) >= SAME * one.more:
                continue
            one = self._narrowed(waits, one, found)
            if not any(other.part == one.part and other.name == one.name and other.overlap(one) > 0 for other in kept):
                kept.append(one)
        return self._without_effects(waits, kept)

    def _explained(self, waits, kept, one):
        """The seconds of a candidate that are those of causes: of the same pairs at the same time."""
        seconds, own = 0.0, self._mask(waits, one)
        for cause in (cause for cause in kept if cause.part == one.part and cause.overlap(one) > 0):
            first, end = max(cause.first, one.first), min(cause.end, one.end)
            extra = self._extra_of(waits, one.part, first, end, one.usual)
            seconds += np.maximum(extra[own & self._mask(waits, cause)], 0).sum()
        return seconds

    def _is_of_pairs(self, waits, one):
        """Whether the waits of the same pairs were longer, and it is not just that others waited than before."""
        extra = self._extra_of(waits, one.part, one.first, one.end, one.usual)
        return extra[self._mask(waits, one)].sum() >= SAME * one.more

    def _mask(self, waits, one):
        """[producer, consumer]: the pairs of a candidate."""
        mask = np.zeros(waits.all[0].shape[:2], bool)
        places = self._places(waits, one.side, one.name, one.is_model)
        if one.side == 0:
            mask[places] = True
        else:
            mask[:, places] = True
        return mask

    @staticmethod
    def _extra(waits, one):
        """[producer, consumer] seconds above the usual in the interval of a candidate, in its part."""
        number = PARTS.index(one.part)
        seconds, counts = (cells[:, :, number] for cells in waits.during(one.first, one.end))
        all_seconds, all_counts = (cells[:, :, number] for cells in waits.all)
        if one.end - one.first >= len(waits.starts):
            usual = np.full(counts.shape, one.usual)
            for places in waits.models(0).values():
                for others in waits.models(1).values():
                    at = np.ix_(places, others)
                    pairs = all_counts[at] > 0
                    if pairs.any():
                        usual[at] = np.median(all_seconds[at][pairs] / all_counts[at][pairs])
            return seconds - counts * usual
        rest_seconds, rest_counts = all_seconds - seconds, all_counts - counts
        usual = np.full(counts.shape, one.usual)
        for places in waits.models(0).values():
            for others in waits.models(1).values():
                at = np.ix_(places, others)
                there, rest = counts[at].sum(), rest_counts[at].sum()
                if there:  # who did not wait at another time cannot be compared: nothing is above the usual
                    usual[at] = rest_seconds[at].sum() / rest if rest else seconds[at].sum() / there
        return seconds - counts * usual

    def _places(self, waits, side, name, is_model):
        """The components that a candidate is of; all for the pool manager and the network."""
        if name in (MANAGER, NETWORK):
            return list(range(len(waits.names[side])))
        return waits.models(side).get(name, []) if is_model else [waits.names[side].index(name)]

    def _part_of(self, extra, places, side):
        return extra[places] if side == 0 else extra[:, places]

    def _extra_of(self, waits, part, first, end, usual):
        key = part, first, end
        if key not in self._known:
            self._known[key] = self._extra(waits, Candidate(0, "", False, part, first, end, usual, 0, 0, ""))
        return self._known[key]

    def _narrowed(self, waits, one, found):
        """The candidate, or the one that says better whose fault it is: a single rank, a model, or everybody's."""
        extra = np.maximum(self._extra_of(waits, one.part, one.first, one.end, one.usual), 0)
        whole = extra.sum()
        places = self._places(waits, one.side, one.name, one.is_model)
        block = self._part_of(extra, places, one.side)
        demands = waits.during(one.first, one.end)[1][:, :, PARTS.index(one.part)]
        sides = (0,) if one.part == "for_offer" else (1, 0)
        best = None
        for side in sides:
            shares = block.sum(axis=1 - side)
            top = int(shares.argmax())
            index = places[top] if side == one.side else top
            own, of_all = (cells.sum(axis=1 - side)[index] / max(cells.sum(), 1e-9) for cells in (extra, demands))
            if one.part != "for_offer" and own < LIFT * of_all:
                continue  # it has much because it demands much
            lift = own / max(of_all, 1e-9)  # of both ends of one pair, the one that has more than its share
            if shares[top] >= MOST * block.sum() and (best is None or lift > best[0]):
                best = (lift, side, waits.names[side][index])
        if best is not None:
            single = [item for item in found if item.side == best[1] and item.name == best[2] and item.part == one.part
                      and item.overlap(one) >= SAME]
            return max(single, key=lambda item: item.more, default=one)
        # Of many: a model, if it has nearly all of it and others had waits, too.
        counts = waits.all[1][:, :, PARTS.index(one.part)]
        options = []
        for side in sides:
            for model, ranks in waits.models(side).items():
                share = self._part_of(extra, ranks, side).sum() / max(whole, 1e-9)
                usual = self._part_of(counts, ranks, side).sum() / max(counts.sum(), 1)
                if share >= 0.8 and (usual < 0.8 or one.part == "for_offer"):
                    options.append((share, side, model))
        if options:
            _, side, model = max(options)
            same = [item for item in found if item.side == side and item.name == model and item.part == one.part
                    and item.overlap(one) >= SAME]
            if same:
                return max(same, key=lambda item: item.more)
            return one
        if one.part == "for_offer":
            return one
        everybody = MANAGER if one.part == "for_start" else NETWORK
        number = PARTS.index(one.part)
        inside = slice(one.first, one.end)
        sums, values = (cells[:, number, inside].sum() for cells in waits.series[1])
        return dataclasses.replace(one, name=everybody, is_model=True, seconds=float(sums), count=int(values),
                                   usual=float((sums - self._extra_of(waits, one.part, one.first, one.end, one.usual).sum())
                                               / max(values, 1)))

    def _without_effects(self, waits, kept):
        """A producer that was late because it waited itself is behind the one for which it waited."""
        number = PARTS.index("for_offer")
        late = [one for one in kept if one.part == "for_offer"]
        behind = {}
        for one in late:
            extra = self._extra_of(waits, one.part, one.first, one.end, one.usual)
            as_consumer = [n for n, name in enumerate(waits.names[1])
                           if name == one.name or one.is_model and model_of(name, self.history.models) == one.name]
            counts = waits.during(one.first, one.end)[1][:, as_consumer, number].sum()
            own = extra[:, as_consumer].sum() / counts if counts else 0
            if own < SAME * one.more / max(one.count, 1):
                continue
            shares = np.maximum(extra[:, as_consumer], 0).sum(axis=1)
            for other in late:
                places = self._places(waits, 0, other.name, other.is_model)
                if other is not one and shares[places].sum() >= SAME * shares.sum() and other.overlap(one) > 0:
                    behind[id(one)] = other
        for one in late:
            root, seen = one, set()
            while id(root) in behind and id(root) not in seen:
                seen.add(id(root))
                root = behind[id(root)]
            if root is not one and id(root) not in behind:
                root.behind.append(one)
        effects = {id(item) for one in late for item in one.behind}
        return [one for one in kept if id(one) not in effects]

    def _wait_finding(self, waits, one):
        """The sentence and its evidence."""
        begin, end = int(waits.starts[one.first]), int(waits.ends[one.end - 1])
        number = PARTS.index(one.part)
        if one.name in (MANAGER, NETWORK):
            where, waiting = {"part": one.part}, EVERYBODY
        else:
            is_model = one.is_model or waits.labels[1] == "model" if waits.labels else False
            label = ("producer", "component")[one.side]
            label = {"producer": "producer_model", "component": "model"}[label] if is_model else label
            where = {"part": one.part} if one.name == EVERYBODY else {label: one.name, "part": one.part}
            waiting = one.name if one.side == 1 else self._waiting(waits, one, number)
        confidence, at_least = self.coverage(begin, end)
        cause = one.name if one.side == 0 or one.name in (MANAGER, NETWORK) else None
        whom = {"for_offer": f"for offers of {one.name}", "for_start": "for transports to start",
                "moving": "for transports to end"}[one.part]
        if one.part != "for_offer" and cause not in (None, MANAGER, NETWORK):
            whom += f" from {one.name}"
        mean, against = one.seconds / max(one.count, 1), one.against
        if against == CHANGE:
            against = "after" if begin <= self.begin else "before" if end >= self.finish else CHANGE
        sentence = (f"{self.interval(begin, end)}: {waiting} waited {one.seconds:,.1f} s {whom}{at_least}, "
                    f"{duration(1e9 * mean)} for each of {number_of(one.count, 'demand')}; {against} {duration(1e9 * max(one.usual, 0))}.")
        if one.behind:
            sentence += " " + self._effects(waits, one, number)
        evidence = f'vampire.table(run, "{METRIC}", [], None, where={where!r}{self.between(begin, end)})["sum"].sum() / 1e9'
        named = [one.name] if not one.is_model and one.name not in (MANAGER, NETWORK, EVERYBODY) else []
        kind = "late" if one.part == "for_offer" else "slow"
        kind = "rank" if one.against != CHANGE else kind
        return Finding(kind, one.name, waiting, one.part, np.datetime64(begin, "ns"), np.datetime64(end, "ns"), sentence, evidence,
                       one.seconds, one.more, one.count, confidence, self.trace(begin, named))

    def _effects(self, waits, one, number):
        """What followed from a late producer, in a sentence: ranks of a model together."""
        effects = {}
        for item in one.behind:
            effects.setdefault(item.name if item.is_model else model_of(item.name, self.history.models), []).append(item)
        words = []
        for model, items in effects.items():
            who = items[0].name if len(items) == 1 else f"{len(items)} ranks of {model}"
            whom = self._waiting(waits, max(items, key=lambda item: item.seconds), number)
            whom = whom if len(items) == 1 else model_of(whom, self.history.models)
            words.append(f"{whom} waited {sum(item.seconds for item in items):,.1f} s for offers of {who}")
        return f"Because of it, {'; '.join(words)}."

    def _waiting(self, waits, one, number):
        """Who waited for a producer in the interval, in words: models, or the one component."""
        seconds = waits.during(one.first, one.end)[0][:, :, number]
        shares = self._part_of(seconds, self._places(waits, 0, one.name, one.is_model), 0).sum(axis=0)
        least = min(0.01 * shares.sum(), 0.1 * shares.max(initial=0))  # of hundreds that wait alike, none has a hundredth
        order = [n for n in np.argsort(-shares, kind="stable") if shares[n] > least]
        if len(order) == 1:
            return waits.names[1][order[0]]
        models = list(dict.fromkeys(model_of(waits.names[1][n], self.history.models) for n in order))
        return " and ".join(models) if len(models) < 4 else f"{number_of(len(order), 'component')}"

    # ---- rates

    def _rates(self):
        found, looked = [], False
        gone = {one.component for one in self.vanished}
        for metric, verb in (("consumed_bytes", "received"), ("produced_bytes", "gave")):
            if not self.has(metric, "component"):
                continue
            looked = True
            sums = merge(self.history, metric, "component")
            models = {}
            for name, value in sums.items():
                if name not in UNNAMED:
                    models.setdefault(model_of(name, self.history.models), {})[name] = float(value)
            for values in models.values():
                amounts = np.array(list(values.values()))
                if len(amounts) < SIBLINGS or np.median(amounts) <= 0:
                    continue
                middle, spread = changes.mad_of(np.log(np.maximum(amounts, 1)))
                limit = middle - max(DEVIATES * spread, np.log(2))
                for name, value in values.items():
                    if np.log(max(value, 1)) < limit and name not in gone:
                        found.append(self._rate_finding(metric, verb, name, value, float(np.exp(middle)), len(amounts)))
        if not looked:
            self.not_looked.append("ranks that received or gave less than others: the files have no bytes by component")
        return found if looked else None

    def _rate_finding(self, metric, verb, name, value, usual, count):
        confidence, at_least = self.coverage(self.begin, self.finish)
        sentence = (f"All the time: {name} {verb} {amount(int(value))}{at_least}, {value / usual:.2g} of the median of its "
                    f"{count - 1} siblings, {amount(int(usual))}.")
        return Finding("rate", name, "", "", np.datetime64(self.begin, "ns"), np.datetime64(self.finish, "ns"), sentence,
                       f'vampire.merge(run, "{metric}", ["component"])', count=count, confidence=confidence,
                       trace=self.trace(self.begin, [name]))

    # ---- ends, losses, irregularities

    def _vanished(self):
        ds, found = self.dataset, []
        if "component_name" not in ds:
            return found
        for name, left, why in zip(ds.component_name.values, ds.component_left.values, ds.component_leave_reason.values):
            if why in ("vanished", "protocol") and not np.isnat(left):
                at = int(left.astype("datetime64[ns]").astype(np.int64))
                if not self.begin <= at < self.finish:
                    continue
                how = "vanished without leaving" if why == "vanished" else "was expelled for breaking the protocol"
                found.append(Finding("vanished", name, "", "", left, left, f"{self.moment(at)}: {name} {how}.",
                                     "vampire.open(run, metrics=[])[['component_name', 'component_left', 'component_leave_reason']]",
                                     count=1, trace=self.trace(max(self.begin, at - 5 * 10**9), [name])))
        return found

    def _lost(self):
        ds, found = self.dataset, []
        if "gap_events" not in ds:
            return found
        for start, end, events, reason in zip(*(ds[f"gap_{name}"].values for name in ("start", "end", "events", "reason"))):
            if not events and reason in ("leap", ""):
                continue
            first, last = (int(when.astype("datetime64[ns]").astype(np.int64)) for when in (start, end))
            place = str(reason).replace("_", " ")
            sentence = (f"{self.interval(first, last)}: {number_of(int(events), 'event') if events else 'an unknown number of events'} "
                        f"lost ({place}); nothing else is known of this time.")
            found.append(Finding("lost", str(reason), "", "", start, end, sentence, "print(vampire.summary(run))", count=int(events)))
        return found

    def _anomalies(self):
        if not self.has("anomalies", "component", "anomaly"):
            self.not_looked.append("irregularities by component: the files have no anomalies with these labels")
            return None
        frame = table(self.history, "anomalies", ("component", "anomaly"), "bucket")
        frame = frame[frame.delta > 0].astype({"component": object, "anomaly": object})
        lost = [one.begin for one in self.losses]
        found, hidden = [], 0
        gone = {one.component: one.begin for one in self.vanished}
        for (name, what), rows in frame.groupby(["component", "anomaly"], sort=False):
            rows = rows[[name not in gone or time + np.timedelta64(int(self.history.bucket_ns.max()), "ns") < gone[name]
                         or time > gone[name] for time in rows.time.to_numpy()]]
            if lost:
                hidden += int(rows.delta[rows.time + pd.Timedelta(int(self.history.bucket_ns.max()), "ns") > min(lost)].sum())
                rows = rows[rows.time + pd.Timedelta(int(self.history.bucket_ns.max()), "ns") <= min(lost)]
            count = int(rows.delta.sum())
            if count >= ANOMALIES:
                found.append((what, name, count, rows))
        if hidden:
            self.notes.append(f"Irregularities after the first loss of events may be its effect and are no findings: {hidden:,}.")
        return [self._anomaly_finding(*one) for one in self._by_model(found)]

    def _by_model(self, found):
        """What most ranks of a model have is the model's."""
        result, ranks = [], {}
        for what, name, count, rows in found:
            ranks.setdefault((what, model_of(name, self.history.models)), []).append((what, name, count, rows))
        for (what, model), ones in ranks.items():
            if len(ones) > 3:
                result.append((what, model, sum(one[2] for one in ones), pd.concat([one[3] for one in ones])))
            else:
                result += ones
        return result

    def _anomaly_finding(self, what, name, count, rows):
        begin = int(rows.time.min().value)
        end = int(rows.time.max().value) + int(self.history.bucket_ns.max())
        words = {"transport_failed": "transports to {0} failed", "offer_never_demanded": "offers of {0} were never demanded",
                 "demand_never_satisfied": "demands of {0} were never satisfied"}.get(what, what.replace("_", " ") + " of {0}")
        label = "component" if rows.component.nunique() == 1 else "model"
        sentence = f"{self.interval(begin, end)}: {count:,} {words.format(name)}."
        return Finding("anomaly", name, "", what, np.datetime64(begin, "ns"), np.datetime64(end, "ns"), sentence,
                       f'vampire.table(run, "anomalies", ["component"], where={{"{label}": {name!r}, "anomaly": {what!r}}}'
                       f'{self.between(begin, end)})', count=count, confidence=self.coverage(begin, end)[0],
                       trace=self.trace(begin, [name] if label == "component" else []))

    # ---- the result

    def frame(self):
        """A DataFrame, the most expensive first; attrs: looked, not_looked, notes."""
        frame = pd.DataFrame([dataclasses.asdict(one) for one in self.findings], columns=COLUMNS)
        frame.attrs.update(looked=self.looked, not_looked=self.not_looked, notes=self.notes)
        return frame


def diagnose(history, output=None, between=None):
    """What made a run late: a DataFrame with a row for each finding, the most expensive first. `component` is at fault,
    `waiting` waited `seconds` from `begin` to `end`, `more` of them than usual; `sentence` says it, `evidence` is the call that
    gives the number, `trace` the command for a trace of it. attrs has what was looked for and not found (`looked`), what
    could not be (`not_looked`), and `notes`."""
    return Diagnosis(history_of(history, output, between)).frame()
