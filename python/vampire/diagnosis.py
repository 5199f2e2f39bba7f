# SPDX-License-Identifier: BSD-3-Clause
"""What made a run late, in sentences: who kept others blocked longer than usual, components that stopped or vanished, losses,
irregularities. Each finding has its seconds, its interval, and the call that reproduces it."""

import dataclasses
import glob
import json
import pathlib
import shlex

import numpy as np
import pandas as pd

from .account import number_of
from .blocking import Blocked, lacking
from .causes import MANAGER, NETWORK, SLOWER, WHOLE, Causes
from .compute import history_of, merge, table
from .dataset import dataset_of
from .history import History
from .look import amount, duration, natural
from .models import UNNAMED, model_of
from .pace import REGULAR, STALL

SIBLINGS = 4      # ranks of a model, so that one can differ from the others
DEVIATES = 6.0    # times their spread (median and MAD): a rank that received or gave less than its siblings
ANOMALIES = 3     # of one kind by one component, to be a finding
TRACED = 8        # pairs or components in the trace of a finding
SILENT = 30.0     # s at least, without an operation or an end of a demand, of one that stopped or is stuck
LONGER = 3.0      # times its longest silence before
NAMED = 3         # components or models that a sentence names
COLUMNS = ("kind", "component", "waiting", "part", "begin", "end", "seconds", "more", "count", "confidence", "sentence",
           "evidence", "trace", "follows")
KINDS = {"for_offer": "late", "unknown": "late", "for_start": "slow", "moving": "slow", "held_back": "held"}
ORDER = {"late": 0, "slow": 0, "held": 0, "stopped": -1, "stuck": -1, "vanished": -1, "lost": 2, "rate": 3, "anomaly": 4}


@dataclasses.dataclass
class Finding:  # pylint: disable=too-many-instance-attributes
    """A row of diagnose(): `component` is at fault, `waiting` was blocked `seconds` by it in this part, which is `more`
    than usual. None: not known, or not a matter of blocked time."""

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
    cause: object = None  # the Cause


class Diagnosis:
    """Of a History: findings, what was looked for without a finding, and what could not be looked for."""

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
                           ("components that vanished", lambda: self.vanished), ("lost events", lambda: self.losses),
                           ("irregularities such as failed transports and offers that nobody demanded", self._anomalies)):
            found = look()
            if found is None:
                continue
            self.findings += found
            if not found:
                self.looked.append(what)
        self._order()

    def _order(self):
        """The most expensive first, each with its effects after it; sets `follows`."""
        self.findings.sort(key=lambda one: (ORDER[one.kind] >= 0, -self._cost(one), ORDER[one.kind], -one.count))
        heads = [one for one in self.findings if self._head(one) is one]
        self.findings = [one for head in heads for one in [head, *(other for other in self.findings
                                                                  if other is not head and self._head(other) is head)]]
        for one in self.findings:
            head = self._head(one)
            if head is not one:
                one.follows = next(number for number, other in enumerate(self.findings, 1) if other is head)
                one.sentence += f" This may follow from {one.follows}."

    def _head(self, one):
        """The finding from which this one may follow, else itself: what was not done after a component stopped is its effect."""
        facts = [other for other in self.findings if other.kind in ("vanished", "stopped", "stuck") and other.begin <= one.end]
        first = min(facts, key=lambda other: other.begin, default=one)
        if one.kind in ("stopped", "stuck", "rate"):
            return first
        if one.kind == "anomaly":
            return next((other for other in self.findings if other.kind not in ("anomaly", "lost") and other.component == one.component
                         and other.begin < one.end and other.end >= one.begin), first)
        return one

    def _cost(self, one):
        """Seconds above the usual, with those of the effects."""
        return sum(np.nan_to_num(other.more) for other in self.findings if self._head(other) is self._head(one))

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

    # ---- blocked time

    def _blocked(self):
        """Blocked of all that the files hold, because what is usual does not depend on the time that is looked at; None: not known."""
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
        causes = Causes(self.blocked, self.history.models, hosts).found
        found = [(cause, int(self.blocked.starts[cause.first]), int(self.blocked.ends[cause.end - 1])) for cause in causes]
        return [self._cause_finding(cause, max(begin, self.begin), min(end, self.finish)) for cause, begin, end in found
                if begin < self.finish and end > self.begin]

    def _cause_finding(self, cause, begin, end):
        """The sentence of a cause and its evidence, in a part of its time."""
        blocked = self.blocked
        rows = cause.rows(blocked)
        rows = rows[(blocked.starts[blocked.window_of[rows]] >= begin) & (blocked.starts[blocked.window_of[rows]] < end)]
        seconds, sums = float(blocked.seconds[rows].sum()), np.bincount(blocked.component[rows], blocked.seconds[rows], len(blocked.names))
        more = cause.more * min(1.0, seconds / max(cause.seconds, 1e-9))
        confidence, at_least = self.coverage(begin, end)
        waiting, plural = self._who(sums)
        verb = f"{'were' if plural else 'was'} {'held back' if cause.part == 'held_back' else 'blocked'} {seconds:,.1f} s"
        sentence = (f"{self.interval(begin, end)}: {waiting} {verb}{at_least} {self._whom(cause)}, {more:,.1f} s more than "
                    f"{'those of its siblings' if cause.pattern == SLOWER else 'usual'}: {self._how(cause)}.")
        where = {"part": cause.part}
        if cause.name not in (MANAGER, NETWORK):
            where["other" if cause.side == "other" else "component"] = [blocked.names[place] for place in cause.members]
        evidence = f"vampire.blocked(run, where={where!r}{self.between(begin, end)}).seconds.sum()"
        return Finding(KINDS[cause.part], cause.name, waiting, cause.part, np.datetime64(begin, "ns"),
                       np.datetime64(end, "ns"), sentence, evidence, seconds, more, cause.units, confidence, self._cause_trace(rows),
                       cause=cause)

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
            return f"they took {times} as long as the median of theirs"
        if cause.part in WHOLE:
            return f"it took {times} as long as usual{steps}"
        if cause.pattern == STALL:
            return f"it stalled once, and needed {duration(1e9 * cause.own)} more than usual"
        if cause.pattern == REGULAR:
            return f"every {number_of(cause.every, 'step')}, it needed {times} its usual time"
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
        """The command for a trace of the window with most of this blocked time, and one longest wait before."""
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
        """Components that did nothing any more while their siblings went on, and components whose demands stay pending."""
        blocked = self.blocked
        if blocked is None or blocked.operations is None or blocked.by_model:
            return None
        left = {}
        if "component_name" in self.dataset:
            for name, when in zip(self.dataset.component_name.values, self.dataset.component_left.values):
                left[name] = max(left.get(name, 0), np.iinfo(np.int64).max if np.isnat(when) else int(when.astype("datetime64[ns]").astype(np.int64)))
        found = []
        stuck = {place: self._since(place, window) for place, window in blocked.stuck().items()}
        models = {}
        for place, name in enumerate(blocked.names):
            active = np.flatnonzero(blocked.operations[place])
            if len(active) and name not in UNNAMED:
                models.setdefault(model_of(name, self.history.models), []).append((place, name, active))
        for members in models.values():
            if len(members) < 2:
                continue
            usual = int(np.median([active[-1] for _, _, active in members]))
            for place, name, active in members:
                since = int(blocked.ends[active[-1]])
                silence = (int(blocked.ends[usual]) - since) / 1e9
                longest = float(np.diff(blocked.starts[active]).max(initial=0)) / 1e9
                if silence > max(SILENT, LONGER * longest) and left.get(name, 0) - since > SILENT * 1e9 and self.begin <= since < self.finish \
                        and place not in stuck:
                    found.append((place, name, since, silence))
        lost = min((one.begin.astype("datetime64[ns]").astype(np.int64) for one in self.losses), default=np.iinfo(np.int64).max)
        waiting = {place: since for place, since in stuck.items() if self.begin <= since < min(self.finish, lost - 2 * 10**9)}
        result = [self._stopped_finding(name, since, waiting) for _, name, since, _ in found]
        if waiting and min(waiting.values()) < min((since for _, _, since, _ in found), default=self.finish):
            result.append(self._stuck_finding(waiting))
        return result

    def _since(self, place, window):
        """When the demands that stay pending from this window on began, ns."""
        return int(self.blocked.ends[window] - 1e9 * self.blocked.unattributed[place, window])

    def _stopped_finding(self, name, since, stuck):
        names = [self.blocked.names[place] for place in stuck]
        cost = sum(float(self.blocked.unattributed[place].sum()) for place in stuck)
        sentence = f"{self.moment(since)}: {name} did nothing any more, while its siblings went on, and did not leave."
        if names:
            sentence += f" {self._list(names)} waited {cost:,.1f} s for demands that nobody satisfied."
        return Finding("stopped", name, self._list(names), "", np.datetime64(since, "ns"), np.datetime64(self.finish, "ns"), sentence,
                       f'vampire.table(run, "pool_operations", ["operation"], "bucket", where={{"component": {name!r}}})', cost or np.nan, cost, 1,
                       trace=self._last_trace(name, since))

    def _stuck_finding(self, stuck):
        order = sorted(stuck, key=lambda place: stuck[place])
        names = [self.blocked.names[place] for place in order]
        since = stuck[order[0]]
        cost = sum(float(self.blocked.unattributed[place].sum()) for place in order)
        sentence = (f"Since {self.moment(since)}: {self._list(names)} waited {cost:,.1f} s for demands that nobody satisfied"
                    f"{', each perhaps for another one of them' if len(names) > 1 else ''}.")
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
                if len(amounts) < SIBLINGS or np.median(amounts) <= 0:
                    continue
                logs = np.log(np.maximum(amounts, 1))
                middle = float(np.median(logs))
                spread = 1.4826 * float(np.median(np.abs(logs - middle)))
                limit, off = middle - max(DEVIATES * spread, np.log(2)), float(np.median(np.abs(amounts - np.exp(middle))))
                few = [name for name, value in values.items() if np.log(max(value, 1)) < limit and name not in gone]
                for name, value in values.items() if len(few) <= len(values) // 10 else ():  # of more, it is how they are made
                    if name in few:
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
        frame = pd.DataFrame([{name: getattr(one, name) for name in COLUMNS} for one in self.findings], columns=COLUMNS)
        frame.attrs.update(looked=self.looked, not_looked=self.not_looked, notes=self.notes)
        return frame


def diagnose(history, output=None, between=None):
    """What made a run late: a DataFrame with a row for each finding, the most expensive first, each with its effects after it.
    `component` is at fault (a component, a model, "host NAME", "pool manager" or "transports"), `waiting` was blocked `seconds` in this
    `part` from `begin` to `end`, `more` of them than usual; `sentence` says it, `evidence` is the call that gives the number, `trace` the
    command for a trace of it. attrs has what was looked for and not found (`looked`), what could not be (`not_looked`), and `notes`."""
    return Diagnosis(history_of(history, output, between)).frame()
