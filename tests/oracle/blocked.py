# SPDX-License-Identifier: BSD-3-Clause
"""Blocked time, integrated piece by piece: whenever the clock of a component advances, each of its pending operations gets an
equal piece of the elapsed time. Pieces are integers in units of 2^-16 ns; the remainder of a division is added to the next one."""

from catalogue import OTHER, UNKNOWN

TICKS = 1 << 16
DEMANDS, RELEASES = "demands", "releases"


class Clock:
    """The clock of one component for its demands, or for its pending WITHDRAWs and LEAVEs."""

    def __init__(self):
        self.at, self.pending, self.rest, self.fraction = None, 0, 0, 0
        self.elapsed = 0  # in the newest bucket
        self.pieces = []  # (number of ended buckets, ticks): what each operation got that was pending then

    def whole(self, ticks):
        ns, self.fraction = divmod(ticks + self.fraction, TICKS)
        return ns


class Blocked:
    def __init__(self, oracle):
        self.oracle, self.clocks = oracle, {}
        self.time = None  # of the current event
        self.bucket = 0  # number of buckets that have ended
        self.due = []  # functions that count shares; called before the current event is counted
        self.leaving = {}  # row of a leaving component -> the last component that received or released one of its CDOs since

    def clock(self, row, kind):
        return self.clocks.setdefault((row, kind), Clock())

    def advance(self, row, kind, time=None):
        clock, oracle = self.clock(row, kind), self.oracle
        time = self.time if time is None else time
        start = oracle.newest * oracle.width
        if clock.at is None or not start <= clock.at <= start + oracle.width:
            clock.at = start
        if time <= clock.at:
            return clock
        if clock.pending:
            elapsed = time - clock.at
            clock.elapsed += elapsed
            each, clock.rest = divmod(elapsed * TICKS + clock.rest, clock.pending)
            clock.pieces.append((self.bucket, each))
        clock.at = time
        return clock

    # ------------------------------------------------------------ pending operations

    def measures(self, operation):
        """Whether a clock runs for the operation: a demand, or a received WITHDRAW or LEAVE. The handling of a DEMAND is no demand."""
        kind = operation["kind"] if operation["kind"] != "demand" or "acknowledged" in operation else None
        return operation["row"] is not self.oracle.rows[0] and kind in ("demand", "withdraw", "leave")

    def begin(self, operation, offered=False):
        if not self.measures(operation):
            return
        kind = DEMANDS if operation["kind"] == "demand" else RELEASES
        clock = self.advance(operation["row"], kind)
        operation.update(clock=clock, first=len(clock.pieces), end=None, offered=offered, consumer=UNKNOWN)
        clock.pending += 1
        if operation["kind"] == "leave":
            self.leaving[operation["row"]] = UNKNOWN

    def end(self, operation):
        if not self.measures(operation):
            return
        kind = DEMANDS if operation["kind"] == "demand" else RELEASES
        clock = self.advance(operation["row"], kind)
        clock.pending -= 1
        operation["end"] = len(clock.pieces)
        if operation["kind"] == "leave":
            del self.leaving[operation["row"]]

    @staticmethod
    def pieces(operation, first=0, end=None):
        """Those of an operation, from piece `first` to before piece `end` of its clock."""
        ends = [one for one in (operation["end"], end) if one is not None]
        return operation["clock"].pieces[max(first, operation["first"]):min(ends, default=None)]

    # ------------------------------------------------------------ what becomes certain

    def offer(self, key, row, name):
        """The CDO comes into the pool."""
        waiting = [demand for demand in self.oracle.demands.values()
                   if demand["key"] == key and self.measures(demand) and not demand["offered"]]
        for demand in reversed(waiting):
            self.due.append(lambda demand=demand: self.count_offered(demand, row, name))

    def count_offered(self, demand, row, name):
        self.advance(demand["row"], DEMANDS)
        if row is not demand["row"] and row is not self.oracle.rows[0] and name != UNKNOWN:
            self.count(demand, name, "for_offer", self.pieces(demand))
        demand["first"], demand["offered"] = len(demand["clock"].pieces), True

    def start(self, transport, cdo):
        """A transport starts: stores the position of the sink's clock, and whether the sink owns the CDO."""
        if transport["row"] is not self.oracle.rows[0]:
            transport["piece"] = len(self.advance(transport["row"], DEMANDS).pieces)
            transport["own"] = cdo is not None and cdo.row is transport["row"]

    def satisfied(self, demand, transport, cdo):
        """A demand is satisfied. `transport`: the transport, if it started while the CDO was in the pool; else None."""
        if not self.measures(demand):
            return
        if transport is not None and transport["row"] is demand["row"]:
            producer = UNKNOWN if transport["own"] else transport["producer"]
            started = transport["piece"]
            parts = [("for_start", self.pieces(demand, end=started)), ("moving", self.pieces(demand, started))]
        else:
            certain = cdo is not None and cdo.made and cdo.row is not demand["row"]
            producer = self.oracle.producer_name(cdo) if certain else UNKNOWN
            parts = [("unknown", self.pieces(demand))]
        if producer != UNKNOWN:
            self.due.append(lambda: [self.count(demand, producer, part, pieces) for part, pieces in parts])

    def count(self, demand, producer, part, pieces):
        ticks = sum(ticks for _, ticks in pieces)
        if not ticks:
            return
        labels = (demand["row"].name, producer, part)
        self.oracle.count("blocked_on_ns", labels, self.clock(demand["row"], DEMANDS).whole(ticks))
        before = sum(ticks for bucket, ticks in pieces if bucket < self.bucket)
        if before:
            self.oracle.count("blocked_on_before_ns", labels, before // TICKS)

    def finished(self, key, row, name):
        """The component has received the CDO or no longer needs it."""
        cdo = self.oracle.cdos.get(key) if key is not None else None
        if cdo is None or cdo.row is self.oracle.rows[0] or cdo.row is row:
            return
        if cdo.row in self.leaving:
            self.leaving[cdo.row] = name
        withdraw = self.oracle.received.get((key, cdo.row, "withdraw"))
        if withdraw is not None:
            withdraw["consumer"] = name

    def released(self, operation):
        """A WITHDRAW or LEAVE is done."""
        if not self.measures(operation):
            return
        row = operation["row"]
        consumer = self.leaving[row] if operation["kind"] == "leave" else operation["consumer"]
        if consumer == UNKNOWN:
            return
        clock = self.advance(row, RELEASES)
        ticks = sum(ticks for _, ticks in self.pieces(operation))
        self.due.append(lambda: self.oracle.count("held_back_ns", (row.name, consumer), clock.whole(ticks)))

    def count_due(self):
        for count in self.due:
            count()
        self.due = []

    # ------------------------------------------------------------ buckets

    def end_bucket(self, now):
        oracle = self.oracle
        bucket, oracle.bucket = oracle.bucket, oracle.newest
        for row in oracle.rows[1:]:
            for kind in (DEMANDS, RELEASES):
                clock = self.advance(row, kind, now)
                if kind == DEMANDS and clock.elapsed:
                    oracle.count("blocked_ns", (row.name,), clock.elapsed)
                clock.elapsed = 0
        self.bucket += 1
        oracle.bucket = bucket
