# SPDX-License-Identifier: BSD-3-Clause
"""Finds the components, hosts and models that blocked others for longer than usual.

The own time of a component is the time in which it was not blocked. A component that causes a delay needs more own time per step; one that
waits for others does not. A cause is therefore a component, host or model whose own time exceeds both its usual own time and that of its
siblings. Its cost is the additional blocked time of the components that waited for it. For transports, the time until they start and
their duration are used instead of own time."""

import dataclasses

import numpy as np

from .blocking import HELD, PARTS
from .models import UNNAMED, model_of
from .pace import INTERVAL, RAISED, REGULAR, STALL, STEPS, SURE, Pace, highest_of, median_of, spread_of

LEAST = 0.005   # fraction of the observed time that one component must have lost to a cause
STALL_COST = 1.5  # times as much for a single long step, of which there are some by chance
RIVAL = {INTERVAL: 1.5, STALL: 2.0}  # minimum ratio of an increase to any similar one at another time or in a sibling
LIKE = 0.75     # fraction of SURE that is sufficient for the same regular peaks in another component
ENOUGH = 0.75   # fraction of the largest cost that a smaller group must explain to be named instead
BEGIN = 10      # the first 1/BEGIN of the units is start-up and is not compared between models
BESIDE = 2      # length of the compared time before and after an interval, in lengths of the interval
COMPARED = 3    # minimum progress in the compared time
CLOCK = 0.02    # maximum relative spread of steps of constant length
CARRIED = 0.3   # fraction of the cost: a culprit that was itself blocked by more than this is an effect
RANKS = 5       # minimum number of ranks of a model to compare them with each other
LOADED = 1.5    # minimum ratio of raised transport times; less is normal variation of the load
DEVIATES = 6.0  # minimum distance from the median, in robust standard deviations,
TIMES = 3.0     # and minimum ratio to the median
SLOWER = "slower"  # pattern: slower than its siblings during the whole run
MANAGER, NETWORK = "pool manager", "transports"
WHOLE = {"for_start": MANAGER, "moving": NETWORK}
SIDES = {"for_start": ("component",), "moving": ("component", "other"), "for_offer": ("other",)}
OWN = ("for_offer", "held_back", "unknown")  # parts of blocked time that end when another component finishes its own work


@dataclasses.dataclass
class Cause:  # pylint: disable=too-many-instance-attributes
    """A component, host or model (`name`; `members` are indices into Blocked.names) that blocked others for longer than usual in the windows
    `first` to `end` - 1."""

    name: str
    members: np.ndarray
    side: str        # other: who was waited for; component: the one that waited, whose own transports were slow
    part: str
    first: int
    end: int
    pattern: str
    seconds: float   # blocked time
    more: float      # of this, what is above the usual
    worst: float     # the largest such time of one component
    ratio: float     # time per step divided by the usual one
    own: float = 0.0    # own time above the usual, s
    units: int = 0      # steps, if by_steps
    by_steps: bool = False
    every: int = 1      # distance of regular peaks, in units as above
    clocked: bool = False  # its steps have constant length, so its offers are late without more own time

    def rows(self, blocked):
        """The rows of Blocked that are this blocked time, from its first to its last window."""
        found = (blocked.part == PARTS.index(self.part)) & np.isin(getattr(blocked, self.side), self.members) & \
            (blocked.window_of >= self.first) & (blocked.window_of < self.end)
        if len(self.members) == 1 and self.side == "other":
            found &= blocked.component != self.members[0]
        return np.flatnonzero(found)


class Paces:
    """The Pace of each component (by index), and the common level: in each window, the lower median over models of the relative time per
    step. An increase up to this level is not specific to a component."""

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
            most = np.count_nonzero(~np.isnan(ones), axis=0) >= len(ones) / 2  # a model counts while at least half of its ranks run
            rows.append(np.where(most, median_of(ones), np.nan))
        rows = np.sort(np.array(rows), axis=0)  # NaN last
        there = np.count_nonzero(~np.isnan(rows), axis=0)
        common = np.take_along_axis(rows, (np.maximum(there - 1, 0) // 2)[None], axis=0)[0]
        return np.where(there > 1, np.maximum(common, 1.0), 1.0)

    def pace(self, members):
        """The combined Pace of a group; None if no member has one."""
        paces = [self.of[place] for place in members if place in self.of]
        if not paces:
            return None
        longest = max(paces, key=lambda one: one.end - one.first)
        return longest.together(paces, self.count) if len(paces) > 1 else longest

    def above(self, pace, pattern):
        """The values of a Pace minus the common level, in multiples of its usual time."""
        if pattern in (STALL, REGULAR):
            return pace.values - pace.by_unit(self.sudden)
        return pace.smooth - pace.by_unit(self.base)

    def is_rare(self, members, pace, span):
        """Whether a Span is specific to these members: it did not also occur at another time, in another rank of the model, or, if it is a
        stall, in most components at the same time. Regular peaks must not occur in any other component."""
        inside = set(members)
        others = {place: one for place, one in self.of.items() if place not in inside}
        if span.pattern == REGULAR:
            found = (one.regular(self.above(one, REGULAR), SURE * LIKE) for one in others.values())
            return all(one is None or one.more < span.more / 2 for one in found)
        if span.pattern == STALL and self._is_common(pace, span, others.values()):
            return False
        models = {self.model[place] for place in members}
        above, length = self.above(pace, span.pattern), span.end - span.first
        limit = span.of(above).mean() / RIVAL[span.pattern]
        rivals = [above[:max(span.first - 1, 0)], above[span.end + 1:]]
        rivals += [self.above(one, span.pattern) for place, one in others.items() if self.model[place] in models]
        return all(highest_of(one, length) < limit for one in rivals)

    def _is_common(self, pace, span, others):
        """Whether most other components had at least half of the additional time of this stall in the same windows."""
        windows = np.flatnonzero(pace.windows(span, self.count))
        seconds = (span.of(pace.values).max() - 1) * pace.usual
        running = [one for one in others if one.first <= windows[-1] and one.end > windows[0]]
        return sum(one.highest(windows[0], windows[-1]) > seconds / 2 for one in running) > len(running) / 2


class Causes:
    """`found`: the Causes of blocked time, the most expensive first."""

    def __init__(self, blocked, models, hosts):
        self.blocked = blocked
        self.model = [model_of(name, models) for name in blocked.names]
        self.named = np.array([name not in UNNAMED for name in blocked.names], bool)
        self.width = (blocked.ends - blocked.starts) * 1e-9
        self.shape = blocked.blocked.shape
        self.alive = self._alive()
        producers = np.count_nonzero(blocked.offers, axis=1) > STEPS
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
        """[name, window]: True between the first and the last operation of a component, except while it waits for demands that are never
        satisfied."""
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
        """{index: Pace of own time} for the components with more than STEPS steps."""
        blocked, found = self.blocked, {}
        is_held = blocked.part == HELD
        held = _added(blocked.component[is_held], blocked.window_of[is_held], blocked.seconds[is_held], self.shape)
        own = np.where(self.alive, np.maximum(self.width - blocked.blocked, 0), 0)
        rest = np.zeros(self.shape[0])
        for window in range(self.shape[1] - 1, -1, -1):  # held_back_ns is counted where it ends, so it is subtracted backwards
            rest += held[:, window]
            taken = np.minimum(rest, own[:, window])
            own[:, window] -= taken
            rest -= taken
        for place in np.flatnonzero(self.named):
            _add_pace(found, int(place), self.progress[place], own[place], float(np.median(self.width)))
        return found

    def _late(self, paces, group, side, parts):
        """Causes: the Spans in which a group needed more time than usual, and that cost enough."""
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
            first, end = int(windows[0]), int(windows[-1]) + 1
            beside = self._beside(span.every, inside, first, end)
            costs = {part: self._cost(rows, part, inside, beside) for part in parts}
            part = max(parts, key=lambda one: costs[one][1].sum())  # pylint: disable=cell-var-from-loop
            seconds, rise = costs[part]
            least = self.least * STALL_COST if span.pattern == STALL else self.least
            needed = span.of(pace.values)
            if rise.max() >= least and paces.is_rare(members, pace, span) and (part not in WHOLE or needed.mean() > LOADED):
                found.append(Cause(name=name, members=np.array(members), side=side, part=part, first=first, end=end, pattern=span.pattern,
                                   seconds=float(seconds.sum()), more=float(rise.sum()), worst=float(rise.max()), ratio=float(needed.mean()),
                                   own=float((needed - 1).sum() * pace.usual), units=(span.end - span.first) * pace.steps, by_steps=pace.by_steps,
                                   every=span.every * pace.steps))
        return found

    def _slow(self, part):
        """Causes for one part of blocked time that has no own time: the components whose transports took longer, or, if all did, the pool
        manager or the transports in general. Also used for `for_offer`."""
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
                paced.base[:] = 1.0  # a common increase is the cause itself here, so nothing is subtracted
                paced.sudden[:] = 1.0
                found += self._late(paced, (WHOLE[part], places), side, (part,))
                if not found:
                    found = self._slower(paces, part)
        return found

    def _slower(self, paces, part):
        """Causes: ranks whose transports took longer than those of their siblings during the whole run."""
        blocked, found = self.blocked, []
        rows = blocked.part == PARTS.index(part)
        cost = np.bincount(blocked.component[rows], blocked.seconds[rows], self.shape[0])
        for members in _members(self.model).values():
            there = np.array([place for place in members if place in paces])
            if len(there) < RANKS:
                continue
            logs = np.log([paces[place].usual / paces[place].progress for place in there])
            limit = np.median(logs) + max(DEVIATES * spread_of(logs), np.log(TIMES))
            for place, log in zip(there, logs):
                more = float(cost[place] - np.median(cost[there]))
                if log > limit and more >= self.least:
                    found.append(Cause(name=blocked.names[place], members=np.array([place]), side="component", part=part, first=0,
                                       end=self.shape[1], pattern=SLOWER, seconds=float(cost[place]), more=more, worst=more,
                                       ratio=float(np.exp(log - np.median(logs)))))
        return found

    def _clocked(self):
        """[name]: True for components whose steps have constant length. If such a component is late, its own time does not increase, but its
        offers are late."""
        found = np.zeros(self.shape[0], bool)
        for place in np.flatnonzero(self.named):
            paces = {}
            _add_pace(paces, 0, self.progress[place], self.width * self.alive[place])
            found[place] = bool(paces) and len(paces[0].values) >= STEPS and paces[0].noise < CLOCK
        return found

    def _is_effect(self, one, found):
        """Whether another cause overlaps most of its interval, or the culprit itself was blocked for longer than usual."""
        length = one.end - one.first
        if any(min(one.end, cause.end + length) - max(one.first, cause.first) > length / 2 for cause in found):
            return True
        inside = np.zeros(self.shape[1], bool)
        inside[one.first: one.end] = True
        rows = np.flatnonzero(np.isin(self.blocked.component, one.members))
        beside = self._beside(1, inside, one.first, one.end)
        return max(self._cost(rows, part, inside, beside)[1].max() for part in PARTS) > CARRIED * one.worst

    @staticmethod
    def _beside(every, inside, first, end):
        """The compared windows: those between regular peaks, or those before and those after an interval."""
        if every > 1:
            return [~inside]
        length, result = BESIDE * (end - first), np.zeros((2, len(inside)), bool)
        result[0, max(0, first - length): first] = True
        result[1, end: end + length] = True
        return result

    def _cost(self, rows, part, inside, beside):
        """(blocked time in this part, the time above the usual), each by component, in s. The usual time is that of the compared windows,
        scaled to the same progress; of the time before and after, the smaller one. Except for `moving`, the time above the usual is limited to
        the increase of the component's total blocked time, because a change of the producer that offers last costs nothing."""
        blocked, names = self.blocked, self.shape[0]
        rows = rows[blocked.part[rows] == PARTS.index(part)]
        mine = np.bincount(blocked.component[rows], blocked.seconds[rows] * inside[blocked.window_of[rows]], names)
        victims = np.flatnonzero(mine)
        made = self.progress[victims] @ inside.astype(float)
        usual, total = np.full((2, len(victims)), np.inf)
        for chosen in beside:
            other = self.progress[victims] @ chosen.astype(float)
            before = np.bincount(blocked.component[rows], blocked.seconds[rows] * chosen[blocked.window_of[rows]], names)[victims]
            every = self.sums[victims] @ chosen.astype(float)
            for known, seconds in ((usual, before), (total, every)):
                np.minimum(known, seconds * made / np.maximum(other, 1), out=known, where=other >= COMPARED)
        rise = np.zeros(names)
        increase = mine[victims] - usual
        if part != "moving":
            increase = np.minimum(increase, self.sums[victims] @ inside.astype(float) - total)
        rise[victims] = np.maximum(increase, 0)  # nothing if there is nothing to compare with
        return mine, rise

    @staticmethod
    def _named(found, same=False):
        """Of candidates that overlap in time and in members (`same`: in time only), the smallest group with at least ENOUGH of the largest
        cost. If only transports between two components are slow, this is the receiver."""
        kept, rest = [], sorted(found, key=lambda one: -one.more)
        while rest:
            top = rest[0]
            near = [one for one in rest if one is top or (same or np.isin(one.members, top.members).any()) and
                    min(one.end, top.end) - max(one.first, top.first) >= 0.5 * min(top.end - top.first, one.end - one.first)]
            dear = (one for one in near if one.more >= ENOUGH * top.more)
            kept.append(min(dear, key=lambda one: (len(one.members), one.side == "other", -one.more)))
            seen = set(map(id, near))
            rest = [one for one in rest if id(one) not in seen]
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
