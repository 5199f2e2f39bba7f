# SPDX-License-Identifier: BSD-3-Clause
"""Every metric of a recorded stream, computed the slow and obvious way from docs/metrics.md.

Nothing here is clever on purpose: dictionaries keyed by texts, lists of single values, and a pass
over all of them at the end. Result: {metric: {labels: {bucket: ...}}}, see Result.
"""

import collections
import copy
import re

import arrivals
import blocked
import in_flight
import rules
import stream
from catalogue import (ATTRIBUTE_BYTES, ATTRIBUTES, BY_ATTRIBUTE, COMBINATIONS_ALWAYS_HELD, GAPS_OF_A_BUCKET, GIVEN_UP_FIRST,
                       GROUPED, GROUPS, LABELS, EARLIEST, LATEST, LEAP_RUN, OTHER, UNKNOWN, component_label, labels_at)
from event import Event
from records import Bounded, Row

POOL_GONE = 5  # a reason to leave
LIVE = 65536  # components beyond the table that can be there at the same time


class Oracle:
    """One life of the statistics. `before`: the one before it, whose components are still known."""

    def __init__(self, options, before=None):
        self.options = options
        self.rules = rules.Rules({})
        self.arrivals = arrivals.Arrivals() if options["arrival"] else None
        self.width = options["bucket_ns"]
        self.lateness = options["lateness_ns"]
        no_component = Row(None)
        no_component.name = OTHER
        self.rows, self.by_app, self.names, self.given_up, self.newest_row = [no_component], {}, set(), [], None
        no_component.listed = True
        if before is not None:
            self.rows, self.by_app, self.names = before.rows, before.by_app, before.names
            self.given_up, self.newest_row = before.given_up, before.newest_row
            for row in self.rows:
                row.forget()
        self.blocked = blocked.Blocked(self)
        self.bytes = 0  # in the pool
        self.events = 0  # handled so far
        self.lost = 0  # how many of them came before the last loss
        self.taken = collections.defaultdict(dict)  # (metric, labels) -> bucket -> what was in flight at its end
        self.ticked = None
        self.excluded = set()  # metrics for which the event at hand does not count
        self.group = None  # of the CDO of the event at hand, in a sample
        self.sampled = collections.defaultdict(collections.Counter)  # bucket -> passed, rated out
        self.weights = []  # of closed buckets
        self.cdos = Bounded(options["max_cdos"], self.evicted_cdo)
        self.holds = Bounded(options["max_cdos"], self.evicted_hold)
        self.received = Bounded(options["max_pending"], self.evicted_received)
        self.demands = Bounded(options["max_pending"], self.evicted_demand)
        self.transports = Bounded(options["max_pending"], self.evicted_transport)
        self.adds = collections.defaultdict(list)  # (metric, labels) -> [(bucket, amount)]
        self.moves = collections.defaultdict(list)
        self.values = collections.defaultdict(list)
        self.series = collections.defaultdict(set)  # label names -> label values
        self.gaps = collections.defaultdict(list)
        self.histories = []  # (bucket, row)
        self.waiting = {}  # bucket -> the oldest pending demands
        self.closed = []  # buckets in the order in which they were closed
        self.oldest = self.newest = self.bucket = None
        self.late_run, self.previous, self.placed = 0, None, False
        self.counted_before = set()  # CDOs that were evicted
        self.gone = None  # until when the pool is, as far as the stream shows
        self.attribute_values = {name: set() for name in ATTRIBUTES}

    # ------------------------------------------------------------ time

    def close_oldest(self):
        sampled, weight = self.sampled[len(self.closed)], self.rules.weight
        self.weights.append(int(weight * 1e6 + 0.5))
        for metric, count in ("sampled_in", sampled["passed"]), ("weighted", int(weight * sampled["passed"] + 0.5)):
            self.adds["vampire_" + metric, ()].append((len(self.closed), count))
        self.closed.append(self.oldest)
        self.oldest += 1

    def leap(self, bucket):
        begin = self.newest + 1
        self.end_newest(bucket * self.width)
        while self.oldest <= self.newest:
            self.close_oldest()
        self.oldest = self.newest = self.bucket = bucket
        # Reported in the bucket in which the statistics start again.
        self.add_gap(begin * self.width, bucket * self.width, "leap", 0)
        self.late_run = 0

    def forward(self, bucket, time):
        if bucket - self.newest - 1 > self.options["max_empty"]:
            self.leap(bucket)
            return
        while self.newest < bucket:
            self.end_newest(time)
            self.newest += 1
            self.close_until(self.newest * self.width)
        self.close_until(time)

    def close_until(self, time):
        while (self.oldest + 1) * self.width + self.lateness <= time:
            self.close_oldest()

    def end_newest(self, time):
        now = max(self.newest * self.width, min((self.newest + 1) * self.width, time))
        in_flight.take(self, now)
        self.blocked.end_bucket(now)
        self.give_up_rows()

    def place(self, time):
        """Sets the bucket in which something of this time counts; whether it is late."""
        bucket = time // self.width
        is_first, self.placed = not self.placed, True
        if self.newest is None:
            self.oldest = self.newest = bucket
        if bucket >= self.oldest:
            self.late_run = 0
            self.bucket = bucket
            if bucket >= self.newest:
                self.forward(bucket, time)
            return False
        self.late_run += 1
        if is_first or self.late_run == LEAP_RUN:
            self.leap(bucket)
            return False
        self.bucket = self.oldest
        return True

    def add_gap(self, start, end, reason, events, bucket=None):
        gaps = self.gaps[len(self.closed) + (self.bucket if bucket is None else bucket) - self.oldest]
        if len(gaps) < GAPS_OF_A_BUCKET:
            gaps.append([start, end, reason, events])
            return
        into = next((gap for gap in reversed(gaps) if gap[2] == reason), gaps[-1])
        into[0], into[1] = min(into[0], start), max(into[1], end)
        into[3] += events

    # ------------------------------------------------------------ values

    def position(self):
        """Number of the bucket at hand in the order of closing."""
        return len(self.closed) + self.bucket - self.oldest

    def series_of(self, metric, labels):
        names = labels_at(metric, self.options["level"])
        if metric in BY_ATTRIBUTE and len(labels) < len(LABELS[metric]):
            labels = (*labels, *self.attributes)
        labels = tuple(value for name, value in zip(LABELS[metric], labels) if name in names)
        if not names:
            return ()
        return self.admitted(names, labels)

    def admitted(self, names, labels):
        """The labels that have room: these, or what is left of them when some are given up."""
        known = self.series[names]
        groups = [(GIVEN_UP_FIRST[0],), tuple(ATTRIBUTES), *((name,) for name in GIVEN_UP_FIRST[1:])]
        may_go = [group for group in groups if group and set(group) <= set(names)]
        given_up = 0
        while labels not in known and set(labels) != {OTHER}:
            gone = [group for group in may_go if all(labels[names.index(name)] == OTHER for name in group)]
            if len(known) + 1 < self.room(names, may_go, gone):
                known.add(labels)
                break
            rest = [group for group in may_go if group not in gone]
            if not rest:
                self.own("vampire_series_overflow", 1)
                return (OTHER,) * len(names)
            labels = tuple(OTHER if name in rest[0] else label for name, label in zip(names, labels))
            given_up += 1
        if given_up:
            self.own("vampire_labels_given_up", given_up)
        return labels

    def room(self, names, may_go, gone):
        """How many series there may be, series 0 included, for one that has given up `gone`."""
        bound = self.options["max_series"]
        if self.possible(names) <= COMBINATIONS_ALWAYS_HELD or self.possible(names) + 1 <= bound:
            return self.possible(names) + 1
        kept = bound // 8 if may_go else 0
        return bound - kept + (kept * len(gone) // len(may_go) if kept else 0)

    def possible(self, names):
        count = 1
        for name in names:
            count *= {"component": self.options["max_components"] + 2, "operation": 16,
                      "size_class": 25, "tier": 4, "cause": 3, "anomaly": 8, "reason": 3, "part": 4, "metric": 256, "group": GROUPS,
                      "producer": self.options["max_components"] + 2,
                      "consumer": self.options["max_components"] + 2,
                      "source": self.options["max_components"] + 2,
                      "sink": self.options["max_components"] + 2}.get(name, 1)
        return count * (65535 if ATTRIBUTES and ATTRIBUTES[0] in names else 1)

    def read_attributes(self, event):
        """Of the event's CDO. Every event of a stream with attributes has a name."""
        self.attributes = []
        for name, pattern in self.options.get("attributes", ()):
            found = re.search(pattern, event.name.decode()) if event.HasField("name") and stream.KINDS[event.kind] != "join" else None
            text = (found and found[1] or "").split("\0")[0].encode()[:ATTRIBUTE_BYTES].decode("utf-8", "ignore")
            label, known = component_label(text.encode()), self.attribute_values[name]
            if label != UNKNOWN and label not in known:
                if len(known) == self.options["attribute_values"]:
                    label = OTHER
                    self.own("vampire_labels_given_up", 1)
                else:
                    known.add(label)
            self.attributes.append(label)

    def count(self, metric, labels, amount):
        if metric not in self.excluded:
            self.adds[metric, self.series_of(metric, labels)].append((self.position(), amount))
            if self.group is not None and metric in GROUPED and amount:
                self.count("vampire_sample_group", (metric, str(self.group + 1)), amount)

    def record(self, metric, labels, value):
        if metric not in self.excluded:
            self.values[metric, self.series_of(metric, labels)].append((self.position(), value))

    def own(self, metric, amount, labels=()):
        self.adds[metric, labels].append((self.position(), amount))

    def evicted(self, _):
        self.own("vampire_evicted", 1)

    def evicted_cdo(self, cdo):
        self.evicted(cdo)
        self.end_cdo(cdo, "evicted")
        if cdo.counted or cdo.made:
            self.counted_before.add(cdo.key)

    def is_new(self, cdo):
        """Whether the CDO is to be counted: it was not before its record was evicted."""
        if cdo.key in self.counted_before:
            self.own("vampire_cdos_uncounted", 1)
        return cdo.key not in self.counted_before

    def evicted_hold(self, hold):
        self.evicted(hold)
        if hold.offers:
            self.end_offer_of(hold)

    def evicted_received(self, received):
        self.evicted(received)
        self.lost = self.events
        self.blocked.end(received)
        if received["kind"] == "withdraw":
            received["row"].pend("withdraw", -1)

    def evicted_demand(self, demand):
        self.evicted(demand)
        self.lost = self.events
        self.blocked.end(demand)
        demand["row"].pend("demand", -1)

    def evicted_transport(self, transport):
        self.evicted(transport)
        self.lost = self.events
        transport["row"].pend(("transport", transport["tier"]), -1)
        self.change["transports_active", (transport["tier"],)] -= 1

    # ------------------------------------------------------------ who

    def find_row(self, app):
        return self.by_app.get(app)

    def new_row(self, app):
        """One after the other; beyond the table those that were given up, in this order, come first."""
        row, most = Row(app), self.options["max_components"]
        if len(self.rows) >= most and self.given_up:
            self.rows[self.given_up.pop(0)] = row
        elif len(self.rows) < most + LIVE:
            row.listed = len(self.rows) < most
            self.rows.append(row)
        else:
            return self.rows[0]
        self.by_app[app] = row
        return row

    def give_up_rows(self):
        """Those beyond the table of components that have left, without transports in progress."""
        for number, row in enumerate(self.rows):
            moving = any(isinstance(kind, tuple) and counts[0] for kind, counts in row.pending.items())
            if (number and not row.listed and row.left is not None and row is not self.newest_row and not row.given_up and
                    (not row.seen or row.gone and not moving)):
                row.given_up = True
                self.given_up.append(number)
                if self.by_app.get(row.app) is row:
                    del self.by_app[row.app]

    def label_of(self, name):
        """What a component with this name is called: one of the first so many."""
        label = component_label(name)
        if label != UNKNOWN and label not in self.names:
            if len(self.names) == self.options["max_components"]:
                return OTHER
            self.names.add(label)
        return label

    def learn_component(self, event, before):
        """Sets `replaced`: the row whose stay this JOIN shows to be over."""
        self.replaced = None
        if event.HasField("peer_id") and self.find_row(event.peer_id) is None:
            self.new_row(event.peer_id)
        self.newest_row = None
        if not event.HasField("app_id"):
            return
        row = self.newest_row = self.find_row(event.app_id)
        kind, time = stream.KINDS[event.kind], stream.time_of(event)
        if before:
            if row is None and kind != "join":
                self.newest_row = self.new_row(event.app_id)
            return
        if kind == "join" and row is not None:
            same = row.joined == time if row.joined is not None else row.left is None or time <= row.left
            if not same:
                if row.left is None:
                    row.left, row.reason = time, UNKNOWN
                self.replaced, row = row, None
                del self.by_app[event.app_id]
        if row is None:
            row = self.new_row(event.app_id)
        if kind == "join" and row is not self.rows[0] and row.joined is None:
            row.joined = time
            if event.HasField("name"):
                row.name = self.label_of(event.name)
        (row if row.listed else self.rows[0]).operations += 1
        self.newest_row = row
        if kind == "leave" and row is not self.rows[0] and row.left is None:
            row.left = time
            row.reason = stream.REASONS.get(event.reason, UNKNOWN)

    def name_of(self, app):
        row = self.find_row(app)
        return OTHER if row is None else row.name

    # ------------------------------------------------------------ one item

    def observe(self, item):
        self.group = None
        if isinstance(item, stream.recording_pb2.Mark):
            self.observe_mark(item)
            return
        time = stream.time_of(item)
        if not EARLIEST <= time <= LATEST:
            position = len(self.closed) + (0 if self.newest is None else self.newest - self.oldest)
            self.adds["vampire_received", ()].append((position, 1))
            self.adds["vampire_rejected", ()].append((position, 1))
            self.lost = self.events
            return
        self.learn_component(item, item.before)
        verdict = self.rules.judge(item, self.find_row)
        late = self.place(time)
        self.account(item, verdict, late)
        if verdict == rules.PASSED:
            if self.replaced is not None and not self.replaced.gone:
                Event.released(self, self.replaced, time, 0)
            self.excluded = self.rules.excluded(item, self.find_row)
            self.read_attributes(item)
            if self.rules.weight > 1 and self.rules.may_leave_out(item):
                self.group = self.rules.sample.hash_of(item) % GROUPS
            Event(self, item).handle()
        elif verdict == rules.SAMPLED_OUT:
            self.lost = self.events
        self.previous = time

    def account(self, item, verdict, late):
        passed = verdict == rules.PASSED
        for metric in ("received", "decoded", "counted" if passed else "filtered"):
            self.own("vampire_" + metric, 1)
        if verdict == rules.SAMPLED_OUT:
            self.own("vampire_sampled_out", 1)
        if late and passed:
            self.own("vampire_late", 1)
        if self.rules.may_leave_out(item):
            self.sampled[self.position()][verdict] += 1

    def observe_mark(self, mark):
        if not EARLIEST <= mark.time_ns <= LATEST:
            if mark.kind == 29:
                return
            mark = copy.deepcopy(mark)
            mark.time_ns = self.previous or 0
        if mark.kind == 29:
            if self.arrivals:
                self.arrivals.empty = mark.time_ns
            bucket = mark.time_ns // self.width
            if self.newest is None:
                self.oldest = self.newest = bucket
            if bucket >= self.newest:
                self.forward(bucket, mark.time_ns)
            self.ticked = mark.time_ns
            if self.gone is not None:
                self.gone = max(self.gone, mark.time_ns)
            return
        self.place(mark.time_ns)
        if mark.kind in (27, 28):
            self.observe_gone(mark)
            return
        self.lost = self.events
        if mark.kind == 31:
            self.own("vampire_received", mark.count)
            self.own("vampire_rejected", mark.count)
        else:
            reason = stream.LOSSES[mark.reason]
            self.own("vampire_lost", mark.count, (reason,))
            start = mark.time_ns if self.previous is None else self.previous
            self.add_gap(start, mark.time_ns, reason, mark.count)
        self.previous = mark.time_ns

    def observe_gone(self, mark):
        """27: the pool is gone, and every component with it; 28: until now the pool was not watched."""
        if self.previous is None:
            self.previous = mark.time_ns
        if mark.kind == 28:
            self.add_gap(self.previous, mark.time_ns, "pool_gone", 0)
            self.previous, self.gone = mark.time_ns, None
            return
        self.gone = mark.time_ns
        for row in self.rows[1:]:
            if not row.gone:
                Event.released(self, row, mark.time_ns, POOL_GONE)
        Event.released(self, self.rows[0], mark.time_ns, POOL_GONE)
        for row in self.rows[1:]:
            if row.left is None:
                row.left, row.reason = mark.time_ns, "pool_gone"
        self.by_app.clear()
        self.newest_row = None

    def add_history(self, cdo, end):
        if not cdo.selected:
            return
        producer = self.producer_name(cdo) if cdo.made else UNKNOWN
        self.histories.append((self.position(), (
            cdo.id, cdo.name, producer, cdo.size, cdo.all_demands, cdo.consumers,
            *cdo.times.values(), end)))

    def give_up_demand(self, demand, time):
        """Its component or the pool has gone: no metric counts how long it was pending."""
        self.blocked.end(demand)

    def drop_hold(self, hold):
        del self.holds[hold.key, hold.row]

    def end_offer_of(self, hold):
        """By an event that is no WITHDRAW."""
        cdo = self.cdos[hold.key]
        cdo.offerers.remove(hold.row)
        if not cdo.in_pool:
            self.out_of_pool(cdo)

    def shown_bytes(self, change):
        """What a change of the bytes in the pool is to a gauge that ends at 2^63 - 1."""
        before = min(self.bytes, 2**63 - 1)
        self.bytes += change
        return min(self.bytes, 2**63 - 1) - before

    def out_of_pool(self, cdo):
        cdo.demands, cdo.demanded = 0, False
        self.change["pool_cdos", ()] -= 1
        self.change["pool_bytes", ()] -= cdo.size or 0

    @staticmethod
    def give(cdo, row, hold):
        """The record to another component, with what that one held."""
        declared = hold.handles if hold is not None else 0
        cdo.row, cdo.row_declared, cdo.row_handles = row, declared, declared or 1
        cdo.declared = hold.since if declared else None
        cdo.other_handles = max(0, cdo.other_handles - declared)
        cdo.row_offers = hold is not None and hold.offers

    def hand_over(self, cdo):
        """Its component is done with it, others offer it: to the one that offered it last."""
        row = cdo.offerers.pop()
        self.give(cdo, row, self.holds.pop((cdo.key, row)))
        cdo.made = True

    def end_cdo(self, cdo, end):
        """Its record is over."""
        self.add_history(cdo, end)
        for row in cdo.offerers:
            hold = self.holds[cdo.key, row]
            hold.offers = False
            if not hold.handles:
                self.drop_hold(hold)
        if cdo.in_pool:
            self.change["pool_cdos", ()] -= 1
            self.change["pool_bytes", ()] -= cdo.size or 0
        if cdo.made and not cdo.counted and self.is_new(cdo):
            self.created.append((self.producer_name(cdo), None))

    def producer_name(self, cdo):
        return cdo.row.name if cdo.row is not self.rows[0] else UNKNOWN

    def finish(self):
        if self.newest is None:
            return
        self.bucket = self.newest
        if self.gone is not None:
            self.add_gap(self.previous, self.gone, "pool_gone", 0)
        self.excluded = set()
        for cdo in self.cdos.values():
            self.add_history(cdo, "run")
            if cdo.made and not cdo.counted and self.is_new(cdo):
                self.count("cdos_created", (self.producer_name(cdo), UNKNOWN), 1)
        last = self.previous or 0
        if (self.ticked or 0) < (self.newest + 1) * self.width:  # else it was before the clock was set back
            last = max(last, self.ticked or 0)
        self.end_newest(last)
        while self.oldest <= self.newest:
            self.close_oldest()
