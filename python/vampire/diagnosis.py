# SPDX-License-Identifier: BSD-3-Clause
"""Explains why a run was late: components that blocked others for longer than usual, stopped or vanished components, lost events,
anomalies. Each finding has its cost, its interval, and the call that reproduces the number."""

import dataclasses
import glob
import json
import pathlib
import shlex

import numpy as np
import pandas as pd

from .account import number_of
from .blocking import LONGER, SILENT, Blocked, lacking
from .causes import DEVIATES, MANAGER, NETWORK, SLOWER, WHOLE, Causes
from .compute import history_of, merge, table
from .dataset import dataset_of
from .history import History
from .look import amount, duration, natural
from .models import UNNAMED, model_of
from .pace import REGULAR, STALL, spread_of
from .sizes import Durations

RATE_RANKS = 4    # minimum number of ranks of a model to compare their bytes
ANOMALIES = 3     # minimum number of one kind by one component
TRACED = 8        # maximum number of pairs or components in a trace
NAMED = 3         # maximum number of components or models in a sentence
COLUMNS = ("kind", "component", "waiting", "part", "begin", "end", "seconds", "more", "count", "confidence", "sentence",
           "evidence", "trace", "follows")
KINDS = {"for_offer": "late", "unknown": "late", "for_start": "slow", "moving": "slow", "held_back": "held"}
VANISHED, LOST = "components that vanished", "lost events"  # what is looked for
TRANSPORT_FAILURES = "transports_active"  # a metric that is based on failed transports
ORDER = {"late": 0, "slow": 0, "held": 0, "stopped": -1, "stuck": -1, "vanished": -1, "lost": 2, "rate": 3, "anomaly": 4}


@dataclasses.dataclass
class Finding:  # pylint: disable=too-many-instance-attributes
    """A row of diagnose(): `component` is at fault, `waiting` was blocked by it for `seconds`, `more` of them above the usual. NaN: not
    known, or the finding has no blocked time."""

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


class Diagnosis:
    """The findings of a History, the searches without a finding (`looked`), and the searches that the files do not support
    (`not_looked`)."""

    def __init__(self, history, dataset=None):
        self.history = history
        self.dataset = dataset_of(history, []) if dataset is None else dataset
        self.looked, self.not_looked, self.findings, self.notes = [], [], [], []
        if not len(history.times):
            self.not_looked.append("anything: there is no bucket yet")
            return
        self.begin, self.finish = int(history.times.min()), int((history.times + history.bucket_ns).max())
        self.blocked = self._blocked()
        self.vanished, self.losses = self._vanished(), self._lost()
        for what, look in (("components, hosts and models that needed more time than usual and kept others blocked", self._causes),
                           ("components that stopped, and demands that stay pending", self._stopped),
                           ("ranks that received or gave less than their siblings", self._rates),
                           (VANISHED, lambda: self.vanished), (LOST, lambda: self.losses),
                           (self._irregularities(), self._anomalies)):
            found = look()
            if found is None:
                continue
            self.findings += found
            why = self._unseen(what)
            if why:
                self.not_looked.append(f"{what}: {why}")
            elif not found:
                self.looked.append(what)
        if TRANSPORT_FAILURES in self.history.not_observed:
            self.not_looked.append(f"failed transports: {self.history.not_observed[TRANSPORT_FAILURES]}")
        self._order()

    def _unseen(self, what):
        """Why Maestro's events cannot show all of what is looked for; else ""."""
        if what == VANISHED and "component_leave_reason" in self.dataset:
            left = ~np.isnat(self.dataset.component_left.values)
            if (left & (self.dataset.component_leave_reason.values == "unknown")).any():
                return "LEAVE has no reason"
        return self.history.not_observed.get("losses", "") if what == LOST else ""

    def _irregularities(self):
        failures = "" if TRANSPORT_FAILURES in self.history.not_observed else "failed transports and "
        return f"irregularities such as {failures}offers that nobody demanded"

    def _order(self):
        """Sorts the findings by cost, each followed by its effects, and sets `follows`."""
        heads = {id(one): self._head(one) for one in self.findings}
        costs = dict.fromkeys(heads, 0.0)
        for one in self.findings:
            costs[id(heads[id(one)])] += float(np.nan_to_num(one.more))
        by_cost = sorted(self.findings, key=lambda one: (ORDER[one.kind] >= 0, -costs[id(heads[id(one)])], ORDER[one.kind], -one.count))
        self.findings = []
        for head in by_cost:
            if heads[id(head)] is not head:
                continue
            self.findings.append(head)
            number = len(self.findings)
            for effect in by_cost:
                if effect is not head and heads[id(effect)] is head:
                    effect.follows = number
                    effect.sentence += f" This may follow from {number}."
                    self.findings.append(effect)

    def _head(self, one):
        """The finding from which this one may follow, directly or through others; the finding itself if there is none."""
        cause = self._cause_of(one)
        return one if cause is one else self._head(cause)

    def _cause_of(self, one):
        """The finding from which this one may follow directly, else itself: what was not done after a component stopped is its effect."""
        facts = [other for other in self.findings if other.kind in ("vanished", "stopped", "stuck") and other.begin <= one.end]
        first = min(facts, key=lambda other: other.begin, default=one)
        if one.kind in ("stopped", "stuck", "rate"):
            return first
        if one.kind == "anomaly":
            return next((other for other in self.findings if other.kind not in ("anomaly", "lost") and other.component == one.component
                         and other.begin < one.end and other.end >= one.begin), first)
        return one

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
        """(confidence, remark for numbers of this interval): low if buckets of the interval miss events."""
        inside = (self.history.times < end) & (self.history.times + self.history.bucket_ns > begin)
        short = int((~self.history.complete()[inside]).sum())
        if short:
            return "low", f" (at least: {short} of {number_of(int(inside.sum()), 'bucket')} of this time miss events)"
        return "high", ""

    def has(self, metric, *labels):
        """Whether the files have the metric with these labels."""
        return metric in self.history.metrics and set(labels) <= set(self.history.metric(metric).labels)

    # ---- blocked time

    def _blocked(self):
        """Blocked over the whole files, because usual times do not depend on the selected time; None if not available."""
        why = lacking(self.history)
        if why:
            self.not_looked.append(f"who was blocked on whom: {why}")
            return None
        if "held_back_ns" not in self.history.metrics:
            self.not_looked.append("consumers that held their producers back: the files have no held_back_ns")
        whole = self.history
        if whole.between != (None, None):
            whole = History([file.path for file in whole.files], whole.output, None, whole.models)
        blocked = Blocked(whole)
        if blocked.by_model:
            self.not_looked.append("single ranks: the files have models only")
        return blocked

    def _causes(self):
        if self.blocked is None or self.blocked.operations is None:
            if self.blocked is not None:
                self.not_looked.append("components that needed more time than usual: the files have no pool_operations by component")
            return None
        ds, hosts = self.dataset, {}
        if "component_host" in ds:
            hosts = dict(zip(ds.component_name.values, map(str, ds.component_host.values)))
        found = []
        for cause in Causes(self.blocked, self.history.models, hosts).found:
            begin, end = int(self.blocked.starts[cause.first]), int(self.blocked.ends[cause.end - 1])
            begin, end = max(begin, self.begin), min(end, self.finish)
            rows = self._rows_between(cause, begin, end)
            transports = Durations(self.history, cause, self.blocked.names, begin, end) if cause.part == "moving" else None
            if self.blocked.seconds[rows].sum() > 0 and (transports is None or transports.slower):
                found.append(self._cause_finding(cause, rows, begin, end, transports.large if transports else ""))
        return found

    def _rows_between(self, cause, begin, end):
        """The rows of a cause in the windows that overlap this time."""
        blocked, rows = self.blocked, cause.rows(self.blocked)
        window = blocked.window_of[rows]
        return rows[(blocked.starts[window] < end) & (blocked.ends[window] > begin)]

    def _cause_finding(self, cause, rows, begin, end, large):  # pylint: disable=too-many-arguments
        """The Finding of a cause, limited to the time from `begin` to `end`, of which these are its rows. `large`: the smallest size of
        CDOs to which slow transports are limited; "" if they are not."""
        blocked = self.blocked
        seconds, sums = float(blocked.seconds[rows].sum()), np.bincount(blocked.component[rows], blocked.seconds[rows], len(blocked.names))
        more = cause.more * min(1.0, seconds / max(cause.seconds, 1e-9))
        confidence, at_least = self.coverage(begin, end)
        waiting, plural = self._who(sums)
        verb = "were" if plural else "was"
        blocked_by = "held back" if cause.part == "held_back" else "blocked"
        compared = "the median of its siblings" if cause.pattern == SLOWER else "usual"
        sentence = (f"{self.interval(begin, end)}: {waiting} {verb} {blocked_by} {seconds:,.1f} s{at_least} {self._whom(cause)}, "
                    f"{more:,.1f} s more than {compared}: {self._how(cause)}.")
        if large:
            sentence = f"{sentence[:-1]}, but only of CDOs of at least {large}."
        where = {"part": cause.part}
        if cause.name not in (MANAGER, NETWORK):
            where["other" if cause.side == "other" else "component"] = [blocked.names[place] for place in cause.members]
        evidence = f"vampire.blocked(run, where={where!r}{self.between(begin, end)}).seconds.sum()"
        return Finding(KINDS[cause.part], NETWORK if large else cause.name, waiting, cause.part, np.datetime64(begin, "ns"),
                       np.datetime64(end, "ns"), sentence, evidence, seconds, more, cause.units if cause.by_steps else 0, confidence,
                       self._cause_trace(rows))

    @staticmethod
    def _whom(cause):
        """By whom, in words."""
        side = "from" if cause.side == "other" else "to"
        named = "" if cause.name in (MANAGER, NETWORK) else f" {side} {cause.name}"
        return {"for_offer": f"on offers of {cause.name}", "unknown": f"on {cause.name}", "held_back": f"by {cause.name}",
                "for_start": f"until transports{named} started", "moving": f"during transports{named}"}[cause.part]

    @staticmethod
    def _how(cause):
        """How much more the culprit needed, and in how many steps."""
        times = f"{cause.ratio:,.0f} times" if cause.ratio >= 10 else f"{cause.ratio:.2g} times"
        steps = f" in {number_of(cause.units, 'step')}" if cause.by_steps else ""
        if cause.pattern == SLOWER:
            return f"its transports took {times} as long as those of its siblings"
        if cause.part in WHOLE:
            return f"it took {times} as long as usual{steps}"
        if cause.pattern == STALL:
            return f"it stalled once, for {duration(1e9 * cause.own)} longer than usual"
        if cause.pattern == REGULAR:
            distance = f"every {number_of(cause.every, 'step')}" if cause.by_steps else "at regular distances"
            return f"{distance}, it needed {times} its usual time"
        if cause.clocked:
            return f"it offered later than usual{steps}"
        return f"it needed {times} its usual time{steps}"

    def _who(self, sums):
        """(who was blocked, in words, whether it is more than one), of seconds by component."""
        names = self.blocked.names
        order = [place for place in np.argsort(-sums, kind="stable") if sums[place] > 0.01 * sums.sum() or sums[place] > 0.1 * sums.max()]
        if len(order) == 1 or sums[order[0]] > 0.9 * sums.sum():
            return names[order[0]], False
        models = list(dict.fromkeys(model_of(names[place], self.history.models) for place in order))
        return (" and ".join(models) if len(models) <= NAMED else number_of(len(order), "component")), True

    def _cause_trace(self, rows):
        """The command for a trace of the window with the most blocked time of these rows, and of up to seven windows before it, in which the
        longest wait began."""
        blocked = self.blocked
        windows = np.bincount(blocked.window_of[rows], blocked.seconds[rows])
        at = int(windows.argmax())
        of_window = rows[blocked.window_of[rows] == at]
        names = []
        for row in of_window[np.argsort(-blocked.seconds[of_window], kind="stable")][:TRACED]:
            names += [blocked.names[blocked.other[row]], blocked.names[blocked.component[row]]]
        first = at
        while first > 0 and windows[first - 1] > 0.5 * windows[at] and at - first < 6:
            first -= 1
        by_name = not blocked.by_model and not set(names) & {*UNNAMED}
        return self.trace(int(blocked.starts[max(first - 1, 0)]), int(blocked.ends[at]), set(names) if by_name else ())

    # ---- components that stopped, demands that stay pending

    def _stopped(self):
        """Components without further operations while their siblings continued, and components with demands that are never satisfied."""
        blocked = self.blocked
        if blocked is None or blocked.operations is None or blocked.by_model:
            return None
        if "component_name" not in self.dataset:
            self.not_looked.append("components that stopped: the files have no table of components")
            return None
        stuck = blocked.stuck()
        found = sorted(self._silent(stuck), key=lambda one: one[1])
        lost = min((self._ns(one.begin) for one in self.losses), default=np.iinfo(np.int64).max)
        waiting = {place: self._since(place, window) for place, window in stuck.items()}
        waiting = {place: since for place, since in waiting.items() if self.begin <= since < min(self.finish, lost - 2 * 10**9)}
        costs = {place: float(blocked.unattributed[place, stuck[place]:].sum()) for place in waiting}
        first = min((since for _, since in found), default=self.finish)
        if waiting and min(waiting.values()) < first:  # demands wait for the first one that stopped, as far as is known
            return [self._stuck_finding(waiting, costs)] + [self._stopped_finding(name, since, {}) for name, since in found]
        return [self._stopped_finding(name, since, {} if number else costs) for number, (name, since) in enumerate(found)]

    def _leave_times(self):
        """{component: when it left last, ns; the largest number if it did not}."""
        left = {}
        for name, when in zip(self.dataset.component_name.values, self.dataset.component_left.values):
            left[name] = max(left.get(name, 0), np.iinfo(np.int64).max if np.isnat(when) else self._ns(when))
        return left

    def _silent(self, stuck):
        """[(component, since when, ns)] of those that did nothing more than LONGER their longest earlier pause, and did not leave, while
        most ranks of their model continued."""
        blocked, left, models, found = self.blocked, self._leave_times(), {}, []
        for place, name in enumerate(blocked.names):
            active = np.flatnonzero(blocked.operations[place])
            if len(active) and name not in UNNAMED:
                models.setdefault(model_of(name, self.history.models), []).append((place, name, active))
        for members in models.values():
            usual = int(blocked.ends[int(np.median([active[-1] for _, _, active in members]))])
            for place, name, active in members if len(members) > 1 else ():
                since = int(blocked.ends[active[-1]])
                longest = float(np.diff(blocked.starts[active]).max(initial=0)) / 1e9
                is_silent = (usual - since) / 1e9 > max(SILENT, LONGER * longest)
                is_selected = self.begin <= since < self.finish and place not in stuck
                if is_silent and is_selected and left.get(name, 0) - since > SILENT * 1e9:
                    found.append((name, since))
        return found

    @staticmethod
    def _ns(when):
        """A numpy time as integer nanoseconds."""
        return int(when.astype("datetime64[ns]").astype(np.int64))

    def _since(self, place, window):
        """When the pending demands began, ns."""
        return int(self.blocked.ends[window] - 1e9 * self.blocked.unattributed[place, window])

    def _stopped_finding(self, name, since, costs):
        """`costs`: {component with demands that are never satisfied: seconds}."""
        names, cost = [self.blocked.names[place] for place in costs], sum(costs.values()) or np.nan
        sentence = f"{self.moment(since)}: {name} performed no further operations and did not leave, while its siblings continued."
        if names:
            sentence += f" {self._list(names)} waited {cost:,.1f} s for demands that were never satisfied."
        return Finding("stopped", name, self._list(names), "", np.datetime64(since, "ns"), np.datetime64(self.finish, "ns"), sentence,
                       f'vampire.table(run, "pool_operations", ["operation"], "bucket", where={{"component": {name!r}}})', cost, cost, 1,
                       trace=self._last_trace(name, since))

    def _stuck_finding(self, waiting, costs):
        """`waiting`: {component: since when}; `costs`: {component: seconds}."""
        order = sorted(waiting, key=lambda place: waiting[place])
        names, cost = [self.blocked.names[place] for place in order], sum(costs.values())
        since = waiting[order[0]]
        others = "; they may be waiting for each other" if len(names) > 1 else ""
        sentence = f"Since {self.moment(since)}: {self._list(names)} waited {cost:,.1f} s for demands that were never satisfied{others}."
        return Finding("stuck", names[0], self._list(names), "", np.datetime64(since, "ns"), np.datetime64(self.finish, "ns"), sentence,
                       f'vampire.table(run, "blocked_ns", ["component"], "bucket", where={{"component": {names!r}}})', cost, cost, len(names),
                       trace=self.trace(since - 10**9, since + 10**9, names[:TRACED]))

    @staticmethod
    def _list(names):
        names = sorted(names, key=natural)
        return " and ".join(names) if len(names) <= NAMED else f"{', '.join(names[:NAMED])} and {number_of(len(names) - NAMED, 'more component')}"

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
                if len(amounts) < RATE_RANKS or np.median(amounts) <= 0:
                    continue
                logs = np.log(np.maximum(amounts, 1))
                middle, off = float(np.median(logs)), float(np.median(np.abs(amounts - np.exp(np.median(logs)))))
                limit = middle - max(DEVIATES * spread_of(logs), np.log(2))
                few = [name for name, value in values.items() if np.log(max(value, 1)) < limit and name not in gone]
                if len(few) <= max(1, len(values) // 10):  # more of them are different by design
                    found += [self._rate_finding(metric, verb, name, values[name], float(np.exp(middle)), off, len(amounts)) for name in few]
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
                at = self._ns(left)
                if not self.begin <= at < self.finish:
                    continue
                joined = ds.component_joined.values[(ds.component_name.values == name) & (ds.component_joined.values > left)]
                end = joined.min() if len(joined) else np.datetime64(self.finish, "ns")
                how = "vanished without leaving" if why == "vanished" else "was expelled for breaking the protocol"
                gone = int((end - left).astype("timedelta64[ns]").astype(np.int64))
                again = f" and joined again {duration(gone)} later" if len(joined) else ""
                found.append(Finding("vanished", name, "", "", left, end, f"{self.moment(at)}: {name} {how}{again}.",
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
            first, last = (self._ns(when) for when in (start, end))
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
        """Combines the anomalies of more than three ranks of a model into one finding of the model."""
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
        frame = pd.DataFrame([{name: getattr(one, name) for name in COLUMNS} for one in self.findings], columns=COLUMNS)
        frame.attrs.update(looked=self.looked, not_looked=self.not_looked, notes=self.notes)
        return frame


def diagnose(history, output=None, between=None):
    """Explains why a run was late. Returns a DataFrame with a row for each finding, the most expensive first, each followed by its effects.
    `component` is the cause (a component, a model, "host NAME", "pool manager" or "transports"); `waiting` was blocked for `seconds` in this
    `part` between `begin` and `end`, `more` of them above the usual. `sentence` has this in words, `evidence` the call that returns the
    number, `trace` the command that records a trace. attrs: `looked` (searches without a finding), `not_looked` (searches that the files do
    not support), `notes`."""
    return Diagnosis(history_of(history, output, between)).frame()
