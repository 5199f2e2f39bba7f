# SPDX-License-Identifier: BSD-3-Clause
"""What made a run late, in sentences: intervals in which waits were longer than usual, ranks that differ from their
siblings, irregularities, losses. Each finding has its seconds, its interval, and the call that reproduces it."""

import dataclasses
import glob
import json
import pathlib
import shlex

import numpy as np
import pandas as pd

from . import changes
from .account import number_of
from .compute import history_of, merge, table
from .dataset import dataset_of
from .history import History
from .look import amount, duration, natural
from .models import UNNAMED, model_of
from .plots import PARTS
from .waits import EVERYBODY, METRIC, UNDIVIDED, Waits, source_of

LEAST = 1e-3      # of the observed time: what costs less is no finding
MOST = 0.6        # of the time, for one rank to be the cause
LIFT = 1.3        # times its share of the demands, for the share of the time to say whose fault it is
SAME = 0.5        # of both together, for two intervals to be the same
SIBLINGS = 4      # ranks of a model, so that one can differ from the others
DEVIATES = 6.0    # times their spread (median and MAD)
ANOMALIES = 3     # of one kind by one component, to be a finding
TRACED = 8        # pairs or components in the trace of a finding
MANAGER = "pool manager"
NETWORK = "transports"
CHANGE = "before and after"
COLUMNS = ("kind", "component", "waiting", "part", "begin", "end", "seconds", "more", "count", "confidence", "sentence",
           "evidence", "trace", "follows")
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
    follows: int = 0  # the number, from 1, of the finding from which this one may follow


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
    spread: str = ""
    behind: list = dataclasses.field(default_factory=list)  # candidates that are its effect

    @property
    def more(self):
        """Seconds above the usual."""
        return self.seconds - self.count * self.usual

    def overlap(self, other):
        """The share of the two intervals that both have."""
        both = min(self.end, other.end) - max(self.first, other.first)
        return both / (max(self.end, other.end) - min(self.first, other.first)) if both > 0 else 0.0


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
        self._put_below_causes()

    def _put_below_causes(self):
        """What may follow from a costlier finding stands below it and says so: of the same models, in the same time."""
        groups = []  # [the finding, those that may follow from it]
        for one in self.findings:
            group = next((group for group in groups if self._may_follow(group[0], one)), None)
            if group is None:
                groups.append([one])
            else:
                group.append(one)
        self.findings = [one for group in groups for one in group]
        for cause, *others in groups:
            for one in others:
                one.follows = next(number for number, other in enumerate(self.findings, 1) if other is cause)
                one.sentence += f" This may follow from {one.follows}." if one.kind in ("late", "slow", "rank") else \
                    f" This may be the cause or the effect of {one.follows}."

    def _may_follow(self, cause, one):
        """Whether most of the time of a finding is in that of a costlier one, which concerns the same models; of all the time:
        the same component."""
        inside = min(cause.end, one.end) - max(cause.begin, one.begin)
        if inside < 0.5 * (one.end - one.begin) or one.kind == "lost" or cause.kind not in ("late", "slow", "rank"):
            return False
        if self.interval(int(cause.begin.astype(np.int64)), int(cause.end.astype(np.int64))) == "All the time":
            return one.component == cause.component
        own, its = ({model_of(name, self.history.models) for words in (item.component, item.waiting) for name in words.split(" and ")}
                    for item in (one, cause))
        return bool(own & its) or MANAGER in its or NETWORK in its

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
        """As an argument of a call; nothing for all the time that the files hold."""
        if self.history.between == (None, None) and begin <= self.begin and end >= self.finish:
            return ""
        first, last = (str(np.datetime64(int(when), "ns")).removesuffix(".000000000") for when in (begin, end))
        return f', between=("{first}", "{last}")'

    def trace(self, begin, end, names):
        """The command for a trace from `begin` to `end`, of at least 10 s, of these components (none: all). The recording is
        named if it is beside the files."""
        at = int(np.clip(np.searchsorted(self.history.times, begin, "right") - 1, 0, len(self.history.times) - 1))
        run = self.history.per_bucket(lambda file: file.run)[at]
        paths = [pathlib.Path(file.path) for file in self.history.runs[run]]
        recorded = next((path.parent / f"*-{run[:8]}-*.rec" for path in paths if any(path.parent.glob(f"*-{run[:8]}-*.rec"))), None)
        since = max(0, begin - self._first_event(run)) // 10**9
        length = max(10, -(-(end - begin) // 10**9))
        chosen = f" -o {shlex.quote('outputs.0.components=' + json.dumps(sorted(map(glob.escape, names), key=natural), ensure_ascii=False))}"
        return (f"vampire --replay {shlex.quote(str(recorded)) if recorded else 'RECORDING'} -o outputs.0.type=trace "
                f"-o outputs.0.from={since}s -o outputs.0.length={length}s{chosen if names else ''}")

    def _first_event(self, run):
        """When the first event of a run was, from which traces count: that of the first component that joined in its first bucket,
        else the begin of this bucket."""
        first = min((int(file.times[0]) for file in self.history.runs[run] if file.rows))
        joined = self.dataset.component_joined.values.astype("datetime64[ns]").astype(np.int64) if "component_joined" in self.dataset else []
        early = [when for when in joined if first <= when < first + int(self.history.bucket_ns.max())]
        return min(early, default=first)

    def _worst(self, metric, where):
        """(begin, end) of the bucket in which a counter grew most."""
        rows = table(self.history, metric, (), "bucket", where)
        begin = int(rows.time[rows.delta.idxmax()].value) if len(rows) else self.begin
        return begin, begin + int(self.history.bucket_ns.max())

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
        if source_of(self.history) is None:
            self.not_looked.append(f"waits: the files have neither {METRIC} nor {UNDIVIDED}")
            return None
        waits = Waits(self._whole())
        if len(waits.parts) == 1:
            self.not_looked.append(f"what waits were for: {METRIC} has no label part in these files" if METRIC in self.history.metrics
                                   else f"what waits were for: the files have no {METRIC}")
        if None in waits.labels:
            self.not_looked.append("who waited for whom: demand_wait_part_ns is not by producer and component, nor by their models")
        if waits.labels[1] == "model":
            self.not_looked.append("single ranks: the files have models only")
        found = self._grown(waits) + self._deviating(waits)
        found = [one for one in found if one.more >= self.least and one.name not in UNNAMED and self._is_of_pairs(waits, one)]
        causes = (self._looked_at(waits, one) for one in self._causes(waits, found))
        return [self._wait_finding(waits, one) for one in causes if one is not None and one.more >= self.least]

    def _whole(self):
        """All that the files hold: what is usual does not depend on the time that is looked at."""
        if self.history.between == (None, None):
            return self.history
        return History([file.path for file in self.history.files], self.history.output, None, self.history.models)

    def _looked_at(self, waits, one):
        """The part of a candidate that is in the time that is looked at; None: there is none."""
        if self.history.between == (None, None):
            return one
        inside = np.flatnonzero((waits.ends > self.begin) & (waits.starts < self.finish))
        first, end = max(one.first, int(inside[0])), min(one.end, int(inside[-1]) + 1)
        if first >= end:
            return None
        places, number = self._places(waits, one.side, one.name, one.is_model), PARTS.index(one.part)
        seconds, count = (cells[places, number, first:end].sum() for cells in waits.series[one.side])
        behind = [item for item in (self._looked_at(waits, item) for item in one.behind) if item is not None]
        return dataclasses.replace(one, first=first, end=end, seconds=float(seconds), count=int(count), behind=behind)

    def _grown(self, waits):
        """Candidates of components and models whose waits were longer for a time."""
        found = []
        for side in (0, 1):
            seconds, counts = waits.series[side]
            models = waits.models(side)
            own = [(name, False, [place]) for place, name in enumerate(waits.names[side])]
            of_models = [(model, True, places) for model, places in models.items() if len(places) > 1]
            for name, is_model, places in own + of_models:
                for part in waits.parts:
                    number = PARTS.index(part)
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
                for part in waits.parts:
                    number = PARTS.index(part)
                    sums, counts = (one[places, number].sum(axis=1) for one in waits.series[side])
                    if part == "for_offer" and side == 1 or (counts > 0).sum() < SIBLINGS:
                        continue
                    means = sums / np.maximum(counts, 1)
                    middle, spread = changes.mad_of(np.log(means[counts > 0] + changes.FLOOR))
                    usual = float(np.exp(middle) - changes.FLOOR)
                    limit = middle + max(DEVIATES * spread, np.log(1.8))
                    off = duration(1e9 * np.median(np.abs(means[counts > 0] - usual)))
                    found += [Candidate(side, waits.names[side][places[n]], False, part, 0, len(waits.starts), usual,
                                        float(sums[n]), int(counts[n]), f"the median of its {len(places) - 1} siblings is",
                                        f", their MAD {off}")
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
        """The components that a candidate is of; all for the pool manager, the network and everybody."""
        if name in (MANAGER, NETWORK, EVERYBODY):
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
        everybody = {"for_start": MANAGER, "moving": NETWORK}.get(one.part, EVERYBODY)
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
            where, waiting = {}, EVERYBODY
        else:
            is_model = one.is_model or waits.labels[1] == "model"
            label = (("producer", "component"), ("producer_model", "model"))[is_model][one.side]
            where = {} if one.name == EVERYBODY else {label: one.name}
            waiting = one.name if one.side == 1 else self._waiting(waits, one, number)
        where |= {"part": one.part} if len(waits.parts) > 1 else {}
        confidence, at_least = self.coverage(begin, end)
        cause = one.name if one.side == 0 or one.name in (MANAGER, NETWORK) else None
        whom = {"for_offer": f"for offers of {one.name}", "for_start": "for transports to start",
                "moving": "for transports to end", "unknown": "for data"}[one.part]
        if one.part != "for_offer" and cause not in (None, MANAGER, NETWORK, EVERYBODY):
            whom += f" from {one.name}"
        mean, against = one.seconds / max(one.count, 1), one.against
        if against == CHANGE:
            against = ("after" if one.first == 0 else "before" if one.end == len(waits.starts) else CHANGE) + ","
        each = f"{duration(1e9 * mean)} for each of {one.count:,} demands" if one.count > 1 else f"{duration(1e9 * mean)} for one demand"
        each += f"; {against} {duration(1e9 * max(one.usual, 0))}{one.spread}"
        if waits.metric == METRIC and len(waits.parts) == 1:  # has a value for each part of each demand, and does not say which
            each = f"{mean / max(one.usual, 1e-9):,.3g} times as long as {against.rstrip(',').removesuffix(' is')}"
        when = f"{self.moment(begin)} to {self.moment(end)}" if one.against == CHANGE else self.interval(begin, end)
        sentence = f"{when}: {waiting} waited {one.seconds:,.1f} s {whom}{at_least}, {each}."
        if one.behind:
            sentence += " " + self._effects(waits, one, number)
        evidence = f'vampire.table(run, "{waits.metric}", [], None, where={where!r}{self.between(begin, end)})["sum"].sum() / 1e9'
        kind = "late" if one.part == "for_offer" else "slow"
        kind = "rank" if one.against != CHANGE else kind
        return Finding(kind, one.name, waiting, one.part, np.datetime64(begin, "ns"), np.datetime64(end, "ns"), sentence, evidence,
                       one.seconds, one.more, one.count, confidence, self._wait_trace(waits, one, number, where))

    def _wait_trace(self, waits, one, number, where):
        """The command that traces the pairs that waited longest in the window with most of these waits. The trace begins early enough
        to contain the longest wait that ended in this window."""
        places = self._places(waits, one.side, one.name, one.is_model)
        window = one.first + int(waits.series[one.side][0][places, number, one.first: one.end].sum(axis=0).argmax())
        seconds = np.where(self._mask(waits, one), waits.during(window, window + 1)[0][:, :, number], 0)
        names = []
        for pair in np.argsort(-seconds, axis=None, kind="stable")[:TRACED]:
            producer, consumer = np.unravel_index(pair, seconds.shape)
            names += [waits.names[0][producer], waits.names[1][consumer]] if seconds[producer, consumer] else []
        by_name = waits.labels[1] == "component" and not set(names) & {*UNNAMED}
        begin, end = int(waits.starts[window]), int(waits.ends[window])
        rows = table(waits.history, waits.metric, (), "bucket", where)
        times = rows.time.astype("datetime64[ns]").astype(np.int64)
        longest = int(rows["max"][(times >= begin) & (times < end)].max())  # a wait is counted in the bucket in which it ends
        return self.trace(max(begin - longest, int(waits.starts[0])), end, set(names) if by_name else ())

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
                limit, off = middle - max(DEVIATES * spread, np.log(2)), float(np.median(np.abs(amounts - np.exp(middle))))
                for name, value in values.items():
                    if np.log(max(value, 1)) < limit and name not in gone:
                        found.append(self._rate_finding(metric, verb, name, value, float(np.exp(middle)), off, len(amounts)))
        if not looked:
            self.not_looked.append("ranks that received or gave less than others: the files have no bytes by component")
        return found if looked else None

    def _rate_finding(self, metric, verb, name, value, usual, off, count):  # pylint: disable=too-many-arguments
        confidence, at_least = self.coverage(self.begin, self.finish)
        sentence = (f"All the time: {name} {verb} {amount(int(value))}{at_least}, {value / usual:.2g} of the median of its "
                    f"{count - 1} siblings, which is {amount(int(usual))}; their MAD is {amount(int(off))}.")
        return Finding("rate", name, "", "", np.datetime64(self.begin, "ns"), np.datetime64(self.finish, "ns"), sentence,
                       f'vampire.merge(run, "{metric}", ["component"])', count=count, confidence=confidence,
                       trace=self.trace(*self._worst(metric, {"component": name}), [name]))

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
                                     count=1, trace=self._last_trace(name, at)))
        return found

    def _last_trace(self, name, at):
        """The command for a trace of the last that a component did before this moment, at most ten minutes."""
        begin = at - 5 * 10**9
        if self.has("pool_operations", "component"):
            rows = table(self.history, "pool_operations", (), "bucket", {"component": name})
            times = rows.time[rows.delta > 0].astype("datetime64[ns]").astype(np.int64)
            begin = int(times[times + self.history.bucket_ns.max() <= at].max()) if (times + self.history.bucket_ns.max() <= at).any() else begin
        return self.trace(max(self.begin, begin, at - 600 * 10**9), at + 10**9, [name])

    def _lost(self):
        ds, found = self.dataset, []
        if "gap_events" not in ds:
            return found
        for start, end, events, reason in zip(*(ds[f"gap_{name}"].values for name in ("start", "end", "events", "reason"))):
            if not events and reason in ("leap", ""):
                continue
            first, last = (int(when.astype("datetime64[ns]").astype(np.int64)) for when in (start, end))
            place = str(reason).replace("_", " ")
            count = f"{number_of(int(events), 'event')} {'was' if events == 1 else 'were'}" if events else "an unknown number of events were"
            sentence = f"{self.interval(first, last)}: {count} lost ({place}); nothing else is known of this time."
            found.append(Finding("lost", str(reason), "", "", start, end, sentence, "print(vampire.summary(run))", count=int(events)))
        return found

    def _anomalies(self):
        label = next((one for one in ("component", "model") if self.has("anomalies", one, "anomaly")), None)
        if label is None:
            self.not_looked.append("irregularities by component or model: the files have no anomalies with these labels")
            return None
        frame = table(self.history, "anomalies", (label, "anomaly"), "bucket").rename(columns={label: "component"})
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
        by_name = self.has("anomalies", "component")
        label = "component" if by_name and rows.component.nunique() == 1 else "model"
        worst = int(rows.groupby("time").delta.sum().idxmax().value)
        most = rows[rows.time == pd.Timestamp(worst)]
        sentence = f"{self.interval(begin, end)}: {count:,} {words.format(name)}."
        return Finding("anomaly", name, "", what, np.datetime64(begin, "ns"), np.datetime64(end, "ns"), sentence,
                       f'vampire.table(run, "anomalies", ["{label}"], where={{"{label}": {name!r}, "anomaly": {what!r}}}'
                       f'{self.between(begin, end)})', count=count, confidence=self.coverage(begin, end)[0],
                       trace=self.trace(worst, worst + int(self.history.bucket_ns.max()), sorted(set(most.component))[:TRACED] if by_name else ()))

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
