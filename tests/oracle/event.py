# SPDX-License-Identifier: BSD-3-Clause
"""One event: who it is about, what it begins and ends."""

import collections

import stream
from catalogue import UNKNOWN
from event_cdo import OnCdo
from event_count import Counting
from event_gone import OnGone
from event_transport import OnTransport
from records import cut_name


class Event(OnCdo, OnGone, OnTransport, Counting):
    """What one event does to the oracle."""

    def __init__(self, oracle, event):
        self.oracle, self.event = oracle, event
        self.kind = stream.KINDS[event.kind]
        self.time = stream.time_of(event)
        self.row = oracle.rows[0]
        self.component = UNKNOWN
        if event.HasField("app_id"):
            self.row = oracle.find_row(event.app_id) or oracle.rows[0]
            self.component = oracle.name_of(event.app_id)
        self.no_component = self.row is oracle.rows[0]
        self.row.seen = True  # by the statistics
        self.source = oracle.name_of(event.peer_id) if event.HasField("peer_id") else UNKNOWN
        self.sink = self.component
        self.tier = stream.TIERS.get(event.tier, UNKNOWN)
        self.cause = stream.CAUSES.get(event.cause, UNKNOWN)
        self.size = event.size_bytes if event.HasField("size_bytes") else None
        names_component = self.kind == "join"
        self.key = None
        if event.HasField("cdo_id"):
            self.key = ("id", event.cdo_id)
        elif event.HasField("name") and not names_component:
            self.key = ("name", event.name)
        self.anomalies = collections.Counter()
        self.lifecycle, self.waits = {}, {}
        self.fan_out = None
        self.offered = self.completed = False
        self.transport_time = None
        self.association = None
        self.producer = self.component
        self.created = None
        self.parts = None
        oracle.change, oracle.created = collections.Counter(), []

    def handle(self):
        before = self.event.before
        if self.no_component and self.event.HasField("app_id") and not (before and self.kind == "join"):
            self.oracle.own("vampire_unidentified", 1)
        self.oracle.events += 1
        self.oracle.blocked.time = self.time
        transport = self.kind.startswith("transport_")
        tracked = len(self.oracle.cdos)
        if before:
            if not transport and not self.row.gone:
                self.row.acted = self.time, self.oracle.events
                self.before()
        else:
            self.check_component()
            if transport:
                self.learn_of_transport()
                getattr(self, self.kind)()
            elif not self.row.gone:  # who has left begins and ends nothing
                self.row.acted = self.time, self.oracle.events
                self.handled()
                if self.kind in ("join", "leave"):
                    getattr(self, self.kind)()
                elif self.key is not None:
                    self.on_cdo()
        self.oracle.change["vampire_tracked_cdos", ()] = len(self.oracle.cdos) - tracked
        if self.oracle.arrivals:
            self.oracle.arrivals.blur(self)
        self.oracle.blocked.count_due()
        self.write_down(before)

    def select(self, cdo):
        """One event of a CDO, handled already, decides whether it has a row at level `cdo`."""
        cdo.selected |= self.oracle.rules.selects(self.event, self.oracle.find_row)

    def interval(self, since):
        """None when the partner is later: an anomaly."""
        if self.time < since:
            self.anomalies["negative_interval"] += 1
            return None
        return self.time - since

    # ------------------------------------------------------------ components

    def check_component(self):
        if self.no_component:
            return
        if self.row.joined is None and not self.row.unknown_reported:
            self.row.unknown_reported = True
            self.anomalies["unknown_component"] += 1
        if self.row.gone:
            self.anomalies["operation_out_of_order"] += 1

    def join(self):
        if not self.no_component and self.row.present:
            self.anomalies["operation_out_of_order"] += 1
            return
        self.row.present += 1
        self.oracle.change["components_present", ()] += 1

    def leave(self):
        oracle, row = self.oracle, self.row
        if row.present:
            row.present -= 1
            oracle.change["components_present", ()] -= 1
        if self.no_component:
            return
        if row.joined is not None:
            self.association = self.interval(row.joined)
        self.release()

    # ------------------------------------------------------------ operations received and handled

    def who(self):
        """The component as part of a key."""
        if self.no_component and self.event.HasField("app_id"):
            return ("app", self.event.app_id)
        return self.row

    def operation_key(self):
        if self.kind == "join":
            return (self.event.name, "joining", self.kind)
        if self.kind == "declare" and self.event.HasField("name"):
            return (("name", self.event.name), self.who(), self.kind)
        return (self.key, self.who(), self.kind)

    def before(self):
        key = self.operation_key()
        if key not in self.oracle.received:
            self.oracle.received.add(key, {"row": self.row, "kind": self.kind})
            self.oracle.blocked.begin(self.oracle.received[key])
            if self.kind == "withdraw":
                self.row.pend("withdraw", 1)
        self.oracle.received[key].update(since=self.time, place=self.oracle.events)
        if self.kind == "demand" and self.key is not None:
            self.begin_demand(before=True)

    def handled(self):
        received = self.oracle.received.pop(self.operation_key(), None)
        if received is None:
            return
        if self.kind == "withdraw":
            self.row.pend("withdraw", -1)
        since = received["since"]
        reason = stream.REASONS.get(self.event.reason, UNKNOWN)
        asked_for = self.kind != "leave" or reason in ("finalized", UNKNOWN)
        if asked_for:
            self.oracle.blocked.released(received)
        self.oracle.blocked.end(received)
        if not asked_for:
            return
        duration = self.interval(since)
        if duration is None:
            return
        self.waits["handling_ns"] = duration
        if self.kind in ("withdraw", "leave"):
            self.waits[self.kind + "_wait_ns"] = duration

    # ------------------------------------------------------------ demands

    def delivery(self):
        """Data that came before their DEMAND (early), or before its *after* event (awaited)."""
        return self.oracle.received.get((self.key, self.who(), "delivery"))

    def deliver(self, when):
        if not self.row.gone:
            delivery = self.delivery() or self.oracle.received.add(
                (self.key, self.who(), "delivery"), {"row": self.row, "kind": "delivery", "early": 0, "awaited": 0})
            delivery[when] += 1
            cdo = self.oracle.cdos.get(self.key)
            if when == "early" and cdo is not None:
                cdo.demands += 1

    def take_delivery(self, when):
        delivery = self.delivery()
        if not delivery or not delivery[when]:
            return False
        delivery[when] -= 1
        if not delivery["early"] and not delivery["awaited"]:
            self.drop_delivery()
        return True

    def drop_delivery(self):
        self.oracle.received.pop((self.key, self.who(), "delivery"), None)

    def begin_demand(self, before):
        """Whether it found its data."""
        if not before and self.take_delivery("awaited"):
            return False
        if not before and self.take_delivery("early"):
            pending = self.end_demand()
            if pending is not None:
                self.oracle.blocked.satisfied(pending, None, self.cdo)
            self.waits["demand_wait_ns"] = self.interval(pending["since"] if pending else self.time)
            if self.waits["demand_wait_ns"] is not None:
                self.producer, self.parts = self.producer_of_cdo(), {UNKNOWN: self.waits["demand_wait_ns"]}
            return True
        demands, key = self.oracle.demands, (self.key, self.who())
        pending = demands.get(key)
        if pending is None:
            demands.add(key, {"row": self.row, "kind": "demand", "since": self.time, "place": self.oracle.events, "acknowledged": not before,
                              "failed": False, "key": self.key, "cdo": self.named_cdo()})
            self.row.pend("demand", 1)
            cdo = self.oracle.cdos.get(self.key)
            self.oracle.blocked.begin(demands[key], cdo is not None and bool(cdo.in_pool))
            return False
        again = before and not pending["acknowledged"]
        if pending["failed"]:
            self.anomalies["demand_never_satisfied"] += 1
            again = True
        if again:
            pending.update(since=self.time, place=self.oracle.events, acknowledged=False, failed=False)
        pending["acknowledged"] |= not before
        return False

    def named_cdo(self):
        """Identifier and name of the CDO, as this event or, at level cdo, its record says."""
        event, cdo = self.event, self.oracle.cdos.get(self.key)
        name = cut_name(event.name) if event.HasField("name") else ""
        if not event.HasField("name") and cdo is not None and self.oracle.options["level"] == "cdo":
            name = cdo.name
        return event.cdo_id.hex() if event.HasField("cdo_id") else None, name

    def end_demand(self):
        demand = self.oracle.demands.pop((self.key, self.who()), None)
        if demand is not None:
            self.oracle.blocked.end(demand)
            self.row.pend("demand", -1)
        return demand
