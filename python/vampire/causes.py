# SPDX-License-Identifier: BSD-3-Clause
"""Who made others wait longer than usual, and when: the statistics of the diagnosis.

The own time of a component is the time in which it was not blocked: it computed, read files, or slept. A component that is late itself
needs more of it for its steps; one that is late because of others does not. So a cause is a component, host or model whose own time was
longer than usual and longer than that of its siblings; its cost is the blocked time of those that waited for it. Transports have no own
time of a component: there, the time from the offer until they started, or their duration, is compared in the same way."""

import dataclasses

import numpy as np

from .blocking import HELD, PARTS
from .models import UNNAMED, model_of
from .pace import INTERVAL, RAISED, REGULAR, STALL, STEPS, SURE, Pace, Span, highest_of, median_of

LEAST = 0.005  # of the observed time: the least cost for one of those that were blocked
RIVAL = {INTERVAL: 1.5, STALL: 2.0, REGULAR: 3.0}  # times what the culprit needed more at another time, or a sibling at any time
LIKE = 0.75    # of what makes a culprit's peaks sure: what makes those of another one sure that has them too
ENOUGH = 0.75  # of the largest cost: the smallest group that explains so much is named
BEGIN = 10     # part of its units that is the begin of a component, in which it may be slow
BESIDE = 2     # times the length of an interval: what is before and after it
CLOCK = 0.02   # of a step: what steps of a component that keeps to a clock differ
CARRIED = 0.3  # of a cost: what its culprit was blocked more, for it to be an effect
SIBLINGS = 5   # ranks of a model, so that one can differ from the others by
DEVIATES = 6.0  # times their spread, and
TIMES = 3.0    # times their median
SLOWER = "slower"  # pattern: than its siblings, all the time
MANAGER, NETWORK = "pool manager", "transports"
WHOLE = {"for_start": MANAGER, "moving": NETWORK}
SIDES = {"for_start": ("component",), "moving": ("component", "other"), "for_offer": ("other",)}
OWN = ("for_offer", "held_back", "unknown")  # parts that end when another component has done its own work


@dataclasses.dataclass
class Cause:  # pylint: disable=too-many-instance-attributes
    """`name` (its `members` are places of names) cost the components `waiting` more than usual in the windows first to end - 1."""

    name: str
    members: np.ndarray
    side: str        # other: who was waited for; component: the one that waited, whose own transports were slow
    part: str
    waiting: list    # models that waited
    first: int
    end: int
    pattern: str
    seconds: float
    usual: float     # seconds
    more: float      # seconds above the usual
    worst: float     # of these, those of the component that lost most
    ratio: float     # what the culprit needed, in units of what it usually needs
    own: float       # seconds that it needed more
    units: int       # steps, if by_steps
    by_steps: bool
    every: int       # steps from peak to peak of a regular one
    clocked: bool = False  # it keeps to a clock: it needed no more time, but offered later

    def rows(self, blocked):
        """Which rows of Blocked are of the culprit and its part, in its windows, of the models that waited."""
        return np.flatnonzero((blocked.part == PARTS.index(self.part)) & np.isin(getattr(blocked, self.side), self.members) &
                              (blocked.window_of >= self.first) & (blocked.window_of < self.end))


class Paces:
    """Paces of components by place, and what was usual for all at a time: the median of the models (of two, the lower one)."""

    def __init__(self, of, model, count):
        self.of, self.model, self.count = of, model, count
        self.base, self.sudden = self._common("smooth"), self._common("values")

    def _common(self, name):
        models = {}
        for place, pace in self.of.items():
            values = getattr(pace, name).copy()
            values[: len(values) // BEGIN] = np.nan
            models.setdefault(self.model[place], []).append(pace.by_window(values, self.count))
        if len(models) < 2:
            return np.ones(self.count)
        rows = []
        for ones in models.values():
            most = np.count_nonzero(~np.isnan(ones), axis=0) >= len(ones) / 2  # one that is left over is not its model
            rows.append(np.where(most, median_of(ones), np.nan))
        rows = np.sort(np.array(rows), axis=0)  # NaN last
        there = np.count_nonzero(~np.isnan(rows), axis=0)
        common = np.take_along_axis(rows, (np.maximum(there - 1, 0) // 2)[None], axis=0)[0]
        return np.where(there > 1, np.maximum(common, 1.0), 1.0)

    def pace(self, members):
        """The Pace of a group; None: it has none."""
        paces = [self.of[place] for place in members if place in self.of]
        return paces[0].together(paces, self.count) if len(paces) > 1 else next(iter(paces), None)

    def above(self, pace, pattern):
        """By how much the values of a Pace are above what is usual at this time, in usual units."""
        if pattern in (STALL, REGULAR):
            return pace.values - pace.by_unit(self.sudden)
        return pace.smooth - pace.by_unit(self.base)

    def is_rare(self, members, pace, span):
        """Whether neither the culprit at another time nor another rank of its model at any time was nearly as slow for as long; of a stall
        also, whether most others did not stall at the same time."""
        above, length = self.above(pace, span.pattern), span.end - span.first
        limit = span.of(above).mean() / RIVAL[span.pattern]
        others = [(place, one) for place, one in self.of.items() if place not in members]
        siblings = [one for place, one in others if self.model[place] in {self.model[member] for member in members}]
        if span.pattern == REGULAR:
            regular = (one.regular(self.above(one, REGULAR), SURE * LIKE) for _, one in others)
            return all(one is None or one.more < span.more / 2 for one in regular)
        if span.pattern == STALL and self._pauses(pace, span, [one for _, one in others]):
            return False
        rivals = [above[:max(span.first - 1, 0)], above[span.end + 1:], *(self.above(one, span.pattern) for one in siblings)]
        return all(highest_of(one, length) < limit for one in rivals)

    def _pauses(self, pace, span, others):
        """Whether most others needed as much more in the same windows."""
        inside = np.flatnonzero(pace.windows(span, self.count))
        seconds = (pace.values[span.first] - 1) * pace.usual
        there = [one for one in others if one.first <= inside[-1] and one.end > inside[0]]
        most = [one for one in there if ((one.values[one.unit[max(inside[0] - one.first, 0): inside[-1] + 1 - one.first]] - 1).max(initial=0)
                                         * one.usual > seconds / 2)]
        return len(most) > len(there) / 2


class Causes:
    """Of Blocked: `found`, Causes by cost."""

    def __init__(self, blocked, models, hosts):
        self.blocked = blocked
        self.model = [model_of(name, models) for name in blocked.names]
        self.named = np.array([name not in UNNAMED for name in blocked.names], bool)
        self.width = (blocked.ends - blocked.starts) * 1e-9
        self.shape = blocked.blocked.shape
        self.alive = self._alive()
        producers = np.count_nonzero(blocked.offers, axis=1) >= STEPS
        self.progress = np.where(producers[:, None], blocked.offers, blocked.demands) * self.alive
        self.least = LEAST * float(self.width.sum())
        self.groups = self._groups(hosts)
        live = np.flatnonzero(self.alive[blocked.component, blocked.window_of])
        self.order = {side: live[np.argsort(getattr(blocked, side)[live], kind="stable")] for side in ("component", "other")}
        self.starts = {side: np.searchsorted(getattr(blocked, side)[order], np.arange(len(blocked.names) + 1))
                       for side, order in self.order.items()}
        self.sums = _added(blocked.component, blocked.window_of, blocked.seconds, self.shape)
        own = Paces(self._own(), self.model, len(self.width))
        found = self._named([one for group in self.groups for one in self._late(own, group, "other", OWN)])
        for part in WHOLE:
            found += self._named(self._slow(part), True)
        clocked = self._clocked()
        late = [one for one in self._named(self._slow("for_offer")) if one.pattern == INTERVAL and clocked[one.members].all()
                and not self._is_effect(one, found)]
        found += [dataclasses.replace(one, clocked=True) for one in late]
        self.found = sorted(found, key=lambda one: -one.more)

    def _alive(self):
        """Whether a component was seen before and after a window, and its demands were not pending for good: [name, window]."""
        seen = self.blocked.operations > 0
        alive = np.logical_or.accumulate(seen, axis=1) & np.logical_or.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
        for place, since in self.blocked.stuck().items():
            alive[place, since:] = False
        return alive

    def _groups(self, hosts):
        """[(name, members)]: components, hosts and models, the smallest first."""
        groups = [(name, [place]) for place, name in enumerate(self.blocked.names) if self.named[place]]
        models = _members(self.model)
        groups += [(f"host {name}", members) for name, members in _members([hosts.get(name, "") for name in self.blocked.names]).items()
                   if len(members) > 1 and members not in models.values()]
        groups += [(name, members) for name, members in models.items() if len(members) > 1]
        return sorted(groups, key=lambda one: len(one[1]))

    def _own(self):
        """{place: Pace of its own time} of components with so many steps that something is usual."""
        blocked, found = self.blocked, {}
        held = blocked.part == HELD
        held = _added(blocked.component[held], blocked.window_of[held], blocked.seconds[held], self.shape)
        own, rest = np.where(self.alive, np.maximum(self.width - blocked.blocked, 0), 0), np.zeros(self.shape[0])
        for window in range(self.shape[1] - 1, -1, -1):  # held_back_ns is counted in the window in which it ends
            rest += held[:, window]
            taken = np.minimum(rest, own[:, window])
            own[:, window] -= taken
            rest -= taken
        for place in np.flatnonzero(self.named):
            _add_pace(found, int(place), self.progress[place], own[place], float(np.median(self.width)))
        return found

    def _late(self, paces, group, side, parts):
        """Causes of a group that needed more than usual."""
        name, members = group
        blocked = self.blocked
        order, starts = self.order[side], self.starts[side]
        rows = np.concatenate([order[starts[place]: starts[place + 1]] for place in members])
        rows = rows[np.isin(blocked.part[rows], [PARTS.index(part) for part in parts])]
        if len(members) == 1 and side == "other":
            rows = rows[blocked.component[rows] != members[0]]
        pace = paces.pace(members) if blocked.seconds[rows].sum() >= self.least else None
        if pace is None:
            return []
        found = []
        for span in pace.spans(pace.by_unit(paces.base), pace.by_unit(paces.sudden)):
            if len(members) > 1 and (span.pattern != INTERVAL or span.of(paces.above(pace, span.pattern)).mean() < RAISED - 1):
                continue
            inside = pace.windows(span, len(self.width))
            windows = np.flatnonzero(inside)
            if not len(windows):
                continue
            first, end = int(windows[0]), int(windows[-1]) + 1
            beside = self._beside(span, inside, first, end)
            costs = [self._cost(rows, part, inside, beside) for part in parts]
            part, (sums, usual, rise) = max(zip(parts, costs), key=lambda one: one[1][2].sum())
            if rise.max() >= self.least * (1.5 if span.pattern == STALL else 1) and paces.is_rare(members, pace, span):
                waiting = list(dict.fromkeys(self.model[place] for place in np.flatnonzero(sums)))
                found.append(Cause(name, np.array(members), side, part, waiting, first, end, span.pattern, float(sums.sum()), float(usual.sum()),
                                   float(rise.sum()), float(rise.max()), float(span.of(pace.values).mean()),
                                   float((span.of(pace.values) - 1).sum() * pace.usual), (span.end - span.first) * pace.steps, pace.by_steps,
                                   span.every * pace.steps))
        return found

    def _slow(self, part):
        """Causes of a part of transports: whoever it took longer with, or all."""
        blocked, found, demands = self.blocked, [], self.blocked.demands * self.alive
        which = (blocked.part == PARTS.index(part)) & self.alive[blocked.component, blocked.window_of]
        places = np.arange(len(blocked.names))
        for side in SIDES[part]:
            paces, cells = {}, _added(getattr(blocked, side)[which], blocked.window_of[which], blocked.seconds[which], self.shape)
            for place in np.flatnonzero(self.named & (cells.sum(axis=1) > 0)):
                progress = demands[place] if side == "component" else blocked.offers[place]
                _add_pace(paces, int(place), progress, cells[place])
            groups = [group for group in self.groups if part != "for_start" or not set(paces) <= set(group[1])]
            paced = Paces(paces, self.model, len(self.width))
            found += [one for group in groups for one in self._late(paced, group, side, (part,))]
            if side == "component" and paces and part in WHOLE:
                paced.base[:] = paced.sudden[:] = 1.0  # what is common is the fault of what is common
                found += self._late(paced, (WHOLE[part], places), side, (part,))
                found += [] if found else self._slower(paces, part)
        return found

    def _slower(self, paces, part):
        """Causes: ranks of which the transports took longer than those of their siblings, all the time."""
        blocked, found = self.blocked, []
        rows = blocked.part == PARTS.index(part)
        cost = np.bincount(blocked.component[rows], blocked.seconds[rows], self.shape[0])
        for model, members in _members(self.model).items():
            there = np.array([place for place in members if place in paces])
            if len(there) < SIBLINGS:
                continue
            logs = np.log([paces[place].usual / paces[place].progress for place in there])
            middle = float(np.median(logs))
            limit = middle + max(DEVIATES * 1.4826 * float(np.median(np.abs(logs - middle))), np.log(TIMES))
            usual = float(np.median(cost[there]))
            found += [Cause(blocked.names[place], np.array([place]), "component", part, [model], 0, self.shape[1], SLOWER, float(cost[place]), usual,
                            float(cost[place]) - usual, float(cost[place]) - usual, float(np.exp(log - middle)), 0.0, 0, False, 1)
                      for place, log in zip(there, logs) if log > limit and cost[place] - usual >= self.least]
        return found

    def _clocked(self):
        """Which components keep to a clock: their steps have the same length. One of these that is late needs no more time, but offers later."""
        found = np.zeros(self.shape[0], bool)
        for place in np.flatnonzero(self.named):
            paces = {}
            _add_pace(paces, 0, self.progress[place], self.width * self.alive[place])
            found[place] = bool(paces) and paces[0].noise < CLOCK
        return found

    def _is_effect(self, one, found):
        """Whether another cause was there in this time, or the culprit itself was blocked more."""
        length = one.end - one.first
        if any(min(one.end, cause.end + length) - max(one.first, cause.first) > length / 2 for cause in found):
            return True
        inside = np.zeros(self.shape[1], bool)
        inside[one.first: one.end] = True
        rows = np.flatnonzero(np.isin(self.blocked.component, one.members))
        beside = self._beside(Span(0, 1, INTERVAL), inside, one.first, one.end)
        return max(self._cost(rows, part, inside, beside)[2].max() for part in PARTS) > CARRIED * one.worst

    def _beside(self, span, inside, first, end):
        """The windows with which a Span is compared: those between peaks, or those before and after it."""
        if span.every > 1:
            return [~inside]
        length, result = BESIDE * (end - first), np.zeros((2, len(inside)), bool)
        result[0, max(0, first - length): first] = True
        result[1, end: end + length] = True
        return result

    def _cost(self, rows, part, inside, beside):
        """Seconds of this part in these windows, usual ones, and those above, each by component. Usual is what was usual beside them for as
        many steps. (Who is the last of several varies, and costs nothing: no more is above the usual than of all the blocked time.)"""
        blocked, names = self.blocked, self.shape[0]
        rows = rows[blocked.part[rows] == PARTS.index(part)]
        mine = np.bincount(blocked.component[rows], blocked.seconds[rows] * inside[blocked.window_of[rows]], names)
        victims = np.flatnonzero(mine)
        made = self.progress[victims] @ inside.astype(float)
        usual, total = np.full((2, len(victims)), np.inf)
        for chosen in beside:
            other = self.progress[victims] @ chosen.astype(float)
            times = np.where(other >= 3, made / np.maximum(other, 1), np.inf)
            before = np.bincount(blocked.component[rows], blocked.seconds[rows] * chosen[blocked.window_of[rows]], names)[victims]
            with np.errstate(invalid="ignore"):
                usual = np.fmin(usual, before * times)
                total = np.fmin(total, self.sums[victims] @ chosen.astype(float) * times)
        rise, all_usual = np.zeros(names), np.zeros(names)
        all_usual[victims] = np.where(np.isfinite(usual), usual, 0)
        total = np.where(np.isfinite(total), total, 0)
        rise[victims] = np.maximum(np.minimum(mine[victims] - all_usual[victims], self.sums[victims] @ inside.astype(float) - total), 0)
        return mine, all_usual, rise

    @staticmethod
    def _named(found, same=False):
        """Of candidates in the same time that have members in common, or that are the `same` because they are about the same transports,
        the smallest group with most of the largest cost."""
        kept, rest = [], sorted(found, key=lambda one: -one.more)
        while rest:
            top = rest[0]
            near = [one for one in rest if one is top or (same or np.isin(one.members, top.members).any()) and
                    min(one.end, top.end) - max(one.first, top.first) >= 0.5 * min(top.end - top.first, one.end - one.first)]
            kept.append(min((one for one in near if one.more >= ENOUGH * top.more), key=lambda one: (len(one.members), -one.more)))
            rest = [one for one in rest if not any(one is other for other in near)]
        return kept


def _add_pace(found, place, progress, seconds, resolution=0.0):
    if np.count_nonzero(progress) > STEPS:
        found[place] = Pace(progress, seconds, resolution)


def _members(labels):
    """{label: places} of labels by place; "" is none."""
    found = {}
    for place, label in enumerate(labels):
        if label:
            found.setdefault(label, []).append(place)
    return found


def _added(row, column, values, shape):
    """The sum of the values of each cell."""
    return np.bincount(row * shape[1] + column, values, shape[0] * shape[1]).reshape(shape)
