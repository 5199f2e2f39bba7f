# SPDX-License-Identifier: BSD-3-Clause
"""Every metric of a recorded stream, computed the slow and obvious way from docs/metrics.md.

Nothing here is clever on purpose: dictionaries keyed by texts, lists of single values, and a pass
over all of them at the end. Result: {metric: {labels: {bucket: ...}}}, see Result.
"""

import collections

import stream

OTHER, UNKNOWN = "(other)", "unknown"
SECOND = 10**9
LEAP_RUN = 256
COMBINATIONS_ALWAYS_HELD = 64
GAPS_OF_A_BUCKET = 32
NAME_BYTES = 255
CDO_TIMES = "declared sealed offered first_demand last_transport withdrawn disposed".split()

LABELS = {
    "pool_operations": ("component", "operation"),
    "cdos_created": ("component", "size_class"),
    "cdos_created_bytes": ("component", "size_class"),
    "component_association_ns": (),
    "produced_bytes": ("component",),
    "consumed_bytes": ("component",),
    "demand_wait_ns": ("component", "size_class"),
    "withdraw_wait_ns": ("component", "size_class"),
    "leave_wait_ns": ("component",),
    "handling_ns": ("operation",),
    "declare_to_offer_ns": ("component", "size_class"),
    "offer_to_first_demand_ns": ("component", "size_class"),
    "offer_to_withdraw_ns": ("component", "size_class"),
    "cdo_lifetime_ns": ("component", "size_class"),
    "demands_per_cdo": ("component",),
    "transport_ns": ("source", "sink", "size_class", "tier"),
    "transports": ("source", "sink", "size_class", "tier", "cause"),
    "transport_bytes": ("source", "sink", "size_class", "tier", "cause"),
    "transport_bytes_per_second": ("tier",),
    "anomalies": ("component", "anomaly"),
    "components_present": (), "pool_cdos": (), "pool_bytes": (), "transports_active": ("tier",),
    "vampire_received": (), "vampire_decoded": (), "vampire_rejected": (), "vampire_filtered": (),
    "vampire_counted": (), "vampire_late": (), "vampire_lost": ("reason",), "vampire_evicted": (),
    "vampire_series_overflow": (), "vampire_tracked_cdos": (),
}
COUNTERS = ("pool_operations cdos_created cdos_created_bytes produced_bytes consumed_bytes transports "
            "transport_bytes anomalies vampire_received vampire_decoded vampire_rejected "
            "vampire_filtered vampire_counted vampire_late vampire_lost vampire_evicted "
            "vampire_series_overflow").split()
GAUGES = "components_present pool_cdos pool_bytes transports_active vampire_tracked_cdos".split()
HISTOGRAMS = [name for name in LABELS if name not in COUNTERS and name not in GAUGES]
ANOMALIES = ("not_withdrawn_at_leave not_disposed_at_leave offer_never_demanded "
             "demand_never_satisfied transport_failed negative_interval operation_out_of_order "
             "unknown_component").split()


def labels_at(metric, level):
    """The labels of a metric: those that tell components apart fall away at level `workflow`."""
    gone = ("component", "source", "sink") if level == "workflow" else ()
    return tuple(name for name in LABELS[metric] if name not in gone)


def size_text(size):
    for unit, word in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit}{word}"
    return str(size)


def size_class(size):
    if size is None:
        return UNKNOWN
    lower, upper = 0, 256
    while size >= upper and upper < 1 << 30:
        lower, upper = upper, upper * 2
    if size >= 1 << 30:
        return "[1GiB,inf)"
    return f"[{size_text(lower)},{size_text(upper)})"


def bin_of(value, sub_bits):
    """Smallest value of the bin that holds `value`."""
    if value < 1 << sub_bits:
        return value
    doubling = value.bit_length() - 1
    width = 1 << (doubling - sub_bits)
    return value // width * width


class Bounded(collections.OrderedDict):
    """At most `most` entries; the oldest gives way."""

    def __init__(self, most, evict):
        super().__init__()
        self.most, self.evict = most, evict

    def add(self, key, value):
        while len(self) >= self.most:
            self.evict(self.popitem(last=False)[1])
        self[key] = value
        return value


class Cdo:
    def __init__(self, row):
        self.row = row  # whose record it is
        self.made = False  # and whether that is its maker
        self.size = self.declared = self.offered = None
        self.in_pool = self.ever_offered = self.counted = False
        self.offers = self.demands = 0
        self.handles = self.row_handles = 1
        # The row of level `cdo`.
        self.id, self.name, self.all_demands, self.consumers = None, "", 0, 0
        self.times = dict.fromkeys(CDO_TIMES)


class Row:
    def __init__(self, app):
        self.app, self.name, self.joined, self.left = app, UNKNOWN, None, None
        self.reason, self.operations = "", 0
        # What the component holds and is known by.
        self.handles = self.present = 0
        self.gone = self.told_unknown = False


class Oracle:
    def __init__(self, options):
        self.options = options
        self.width = options["bucket_ns"]
        self.lateness = options["lateness_ns"]
        nobody = Row(None)
        nobody.name = OTHER
        self.rows, self.by_app = [nobody], {}
        self.cdos = Bounded(options["max_cdos"], self.evicted_cdo)
        self.received = Bounded(options["max_pending"], self.evicted)
        self.demands = Bounded(options["max_pending"], self.evicted)
        self.transports = Bounded(options["max_pending"], self.evicted_transport)
        self.adds = collections.defaultdict(list)  # (metric, labels) -> [(bucket, amount)]
        self.moves = collections.defaultdict(list)
        self.values = collections.defaultdict(list)
        self.series = collections.defaultdict(set)  # label names -> label values
        self.gaps = collections.defaultdict(list)
        self.stories = []  # (bucket, row)
        self.closed = []  # buckets in the order in which they were closed
        self.oldest = self.newest = None
        self.late_run, self.previous = 0, None

    # ------------------------------------------------------------ time

    def close_oldest(self):
        self.closed.append(self.oldest)
        self.oldest += 1

    def leap(self, bucket):
        begin = self.newest + 1
        while self.oldest <= self.newest:
            self.close_oldest()
        self.oldest = self.newest = self.bucket = bucket
        # Told in the bucket that begins anew.
        self.add_gap(begin * self.width, bucket * self.width, "leap", 0)
        self.late_run = 0

    def forward(self, bucket, time):
        if bucket - self.newest - 1 > self.options["max_empty"]:
            self.leap(bucket)
            return
        self.newest = bucket
        while (self.oldest + 1) * self.width + self.lateness <= time:
            self.close_oldest()

    def place(self, time):
        """Sets the bucket in which something of this time counts; whether it is late."""
        bucket = time // self.width
        if self.newest is None:
            self.oldest = self.newest = bucket
        if bucket >= self.oldest:
            self.late_run = 0
            self.bucket = bucket
            if bucket >= self.newest:
                self.forward(bucket, time)
            return False
        self.late_run += 1
        if self.late_run == LEAP_RUN:
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
        labels = tuple(value for name, value in zip(LABELS[metric], labels) if name in names)
        if not names:
            return ()
        known = self.series[names]
        bound = self.options["max_series"]
        if labels not in known and set(labels) != {OTHER}:
            if self.possible(names) > COMBINATIONS_ALWAYS_HELD and len(known) + 1 >= bound:
                self.adds["vampire_series_overflow", ()].append((self.position(), 1))
                return (OTHER,) * len(names)
            known.add(labels)
        return labels

    def possible(self, names):
        count = 1
        for name in names:
            count *= {"component": self.options["max_components"] + 2, "operation": 16,
                      "size_class": 25, "tier": 4, "cause": 3, "anomaly": 8, "reason": 3,
                      "source": self.options["max_components"] + 2,
                      "sink": self.options["max_components"] + 2}[name]
        return count

    def count(self, metric, labels, amount):
        self.adds[metric, self.series_of(metric, labels)].append((self.position(), amount))

    def record(self, metric, labels, value):
        self.values[metric, self.series_of(metric, labels)].append((self.position(), value))

    def own(self, metric, amount, labels=()):
        self.adds[metric, labels].append((self.position(), amount))

    def evicted(self, _):
        self.own("vampire_evicted", 1)

    def evicted_cdo(self, cdo):
        self.evicted(cdo)
        self.end_cdo(cdo, "evicted")

    def evicted_transport(self, transport):
        self.evicted(transport)
        self.change["transports_active", (transport["tier"],)] -= 1

    # ------------------------------------------------------------ who

    def find_row(self, app):
        return self.by_app.get(app)

    def new_row(self, app):
        if len(self.rows) >= self.options["max_components"]:
            return self.rows[0]
        row = Row(app)
        self.rows.append(row)
        self.by_app[app] = row
        return row

    def learn_component(self, event, before):
        if event.HasField("peer_id") and self.find_row(event.peer_id) is None:
            self.new_row(event.peer_id)
        if not event.HasField("app_id"):
            return
        row = self.find_row(event.app_id)
        kind, time = stream.KINDS[event.kind], stream.time_of(event)
        if before:
            if row is None and kind != "join":
                self.new_row(event.app_id)
            return
        if kind == "join" and row is not None:
            same = row.joined == time if row.joined is not None else row.left is None or time <= row.left
            if not same:
                if row.left is None:
                    row.left, row.reason = time, UNKNOWN
                row = None
        if row is None:
            row = self.new_row(event.app_id)
        if kind == "join" and row is not self.rows[0] and row.joined is None:
            row.joined = time
            if event.HasField("name"):
                row.name = event.name.decode("utf-8")
        row.operations += 1
        if kind == "leave" and row is not self.rows[0] and row.left is None:
            row.left = time
            row.reason = stream.REASONS.get(event.reason, UNKNOWN)

    def name_of(self, app):
        row = self.find_row(app)
        return OTHER if row is None else row.name

    # ------------------------------------------------------------ one item

    def observe(self, item):
        if isinstance(item, stream.recording_pb2.Mark):
            self.observe_mark(item)
            return
        time = stream.time_of(item)
        self.learn_component(item, item.before)
        late = self.place(time)
        for metric in ("received", "decoded", "counted"):
            self.own("vampire_" + metric, 1)
        if late:
            self.own("vampire_late", 1)
        Event(self, item).handle()
        self.previous = time

    def observe_mark(self, mark):
        if mark.kind == 29:
            bucket = mark.time_ns // self.width
            if self.newest is None:
                self.oldest = self.newest = bucket
            if bucket >= self.newest:
                self.forward(bucket, mark.time_ns)
            return
        self.place(mark.time_ns)
        if mark.kind == 31:
            self.own("vampire_received", mark.count)
            self.own("vampire_rejected", mark.count)
        else:
            reason = stream.LOSSES[mark.reason]
            self.own("vampire_lost", mark.count, (reason,))
            start = mark.time_ns if self.previous is None else self.previous
            self.add_gap(start, mark.time_ns, reason, mark.count)
        self.previous = mark.time_ns

    def tell(self, cdo, end):
        producer = self.producer_name(cdo) if cdo.made else UNKNOWN
        self.stories.append((self.position(), (
            cdo.id, cdo.name, producer, cdo.size, cdo.all_demands, cdo.consumers,
            *cdo.times.values(), end)))

    def end_cdo(self, cdo, end):
        """Its record is over."""
        self.tell(cdo, end)
        if cdo.in_pool:
            self.change["pool_cdos", ()] -= 1
            self.change["pool_bytes", ()] -= cdo.size or 0
        if cdo.made and not cdo.counted:
            self.created.append((self.producer_name(cdo), None))

    def producer_name(self, cdo):
        return cdo.row.name if cdo.row is not self.rows[0] else UNKNOWN

    def finish(self):
        if self.newest is None:
            return
        self.bucket = self.newest
        for cdo in self.cdos.values():
            self.tell(cdo, "run")
            if cdo.made and not cdo.counted:
                self.count("cdos_created", (self.producer_name(cdo), UNKNOWN), 1)
        while self.oldest <= self.newest:
            self.close_oldest()


class Event:
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
        self.nobody = self.row is oracle.rows[0]
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
        oracle.change, oracle.created = collections.Counter(), []

    def handle(self):
        before = self.event.before
        transport = self.kind.startswith("transport_")
        tracked = len(self.oracle.cdos)
        if before:
            if not transport:
                self.before()
        else:
            self.check_component()
            if transport:
                getattr(self, self.kind)()
            else:
                self.handled()
                if self.kind in ("join", "leave"):
                    getattr(self, self.kind)()
                elif self.key is not None:
                    self.on_cdo()
        self.oracle.change["vampire_tracked_cdos", ()] = len(self.oracle.cdos) - tracked
        self.write_down(before)

    def interval(self, since):
        """None when the partner is later: an anomaly."""
        if self.time < since:
            self.anomalies["negative_interval"] += 1
            return None
        return self.time - since

    # ------------------------------------------------------------ components

    def check_component(self):
        if self.nobody:
            return
        if self.row.joined is None and not self.row.told_unknown:
            self.row.told_unknown = True
            self.anomalies["unknown_component"] += 1
        if self.row.gone:
            self.anomalies["operation_out_of_order"] += 1

    def join(self):
        if not self.nobody and self.row.present:
            self.anomalies["operation_out_of_order"] += 1
            return
        self.row.present += 1
        self.oracle.change["components_present", ()] += 1

    def leave(self):
        oracle, row = self.oracle, self.row
        if row.gone:
            return
        if row.present:
            row.present -= 1
            oracle.change["components_present", ()] -= 1
        if self.nobody:
            return
        row.gone = True
        if row.joined is not None:
            self.association = self.interval(row.joined)
        for key, cdo in list(oracle.cdos.items()):
            if cdo.row is row:
                self.anomalies["not_withdrawn_at_leave"] += cdo.in_pool
                oracle.end_cdo(oracle.cdos.pop(key), "left")
        self.anomalies["not_disposed_at_leave"] += row.handles
        row.handles = 0
        for key in [key for key in oracle.demands if key[1] is row]:
            del oracle.demands[key]
            self.anomalies["demand_never_satisfied"] += 1
        for key in [key for key in oracle.received if key[1] is row]:
            del oracle.received[key]

    # ------------------------------------------------------------ operations received and handled

    def who(self):
        """The component as part of a key."""
        if self.nobody and self.event.HasField("app_id"):
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
        if key in self.oracle.received:
            self.oracle.received[key] = self.time
        else:
            self.oracle.received.add(key, self.time)
        if self.kind == "demand" and self.key is not None:
            self.begin_demand(before=True)

    def handled(self):
        since = self.oracle.received.pop(self.operation_key(), None)
        if since is None:
            return
        reason = stream.REASONS.get(self.event.reason, UNKNOWN)
        if self.kind == "leave" and reason not in ("finalized", UNKNOWN):
            return
        duration = self.interval(since)
        if duration is None:
            return
        self.waits["handling_ns"] = duration
        if self.kind in ("withdraw", "leave"):
            self.waits[self.kind + "_wait_ns"] = duration

    # ------------------------------------------------------------ demands

    def begin_demand(self, before):
        demands, key = self.oracle.demands, (self.key, self.who())
        pending = demands.get(key)
        if pending is None:
            demands.add(key, {"since": self.time, "acknowledged": not before, "failed": False})
            return
        anew = before and not pending["acknowledged"]
        if pending["failed"]:
            self.anomalies["demand_never_satisfied"] += 1
            anew = True
        if anew:
            pending.update(since=self.time, acknowledged=False, failed=False)
        pending["acknowledged"] |= not before

    def end_demand(self):
        return self.oracle.demands.pop((self.key, self.who()), None)

    # ------------------------------------------------------------ CDOs

    def on_cdo(self):
        self.cdo = self.oracle.cdos.get(self.key)
        if self.kind in ("declare", "seal", "offer"):
            getattr(self, self.kind)()
        if self.cdo is not None:
            self.producer = self.oracle.producer_name(self.cdo)
            self.learn_size()
            self.learn_story()
        if self.kind == "require":
            self.consume()
        elif self.kind == "retract":
            self.end_demand()
        elif self.kind in ("demand", "withdraw", "dispose"):
            getattr(self, self.kind)()

    def new_cdo(self):
        self.cdo = self.oracle.cdos.add(self.key, Cdo(self.row))
        if self.row.gone:  # who has left owns nothing
            self.cdo.row = self.oracle.rows[0]

    def is_mine(self):
        return self.cdo.row is self.row

    def note_key(self):
        return (self.key, self.who(), "second declare")

    def become_maker(self):
        cdo = self.cdo
        if not self.is_mine():
            cdo.row, cdo.row_handles, cdo.declared = self.row, 1, None
            note = self.oracle.received.pop(self.note_key(), None)
            if note is not None:
                cdo.declared, cdo.row_handles = note
            if self.row.gone:
                cdo.row = self.oracle.rows[0]
        cdo.made = True

    def declare(self):
        self.row.handles += 1
        sized = self.size is not None
        if self.cdo is None:
            self.new_cdo()
            if sized:
                return
        else:
            cdo = self.cdo
            cdo.handles += 1
            if self.is_mine():
                cdo.row_handles += 1
            elif cdo.made:
                note = self.oracle.received.get(self.note_key())
                if note is None:
                    self.oracle.received.add(self.note_key(), (self.time, 1))
                else:
                    self.oracle.received[self.note_key()] = (note[0], note[1] + 1)
            if cdo.made or sized:
                return
        self.become_maker()
        self.cdo.declared = self.time

    def seal(self):
        if self.cdo is None:
            self.new_cdo()
            self.become_maker()
        elif self.size is not None and self.cdo.size is None:
            self.become_maker()

    def offer(self):
        if self.cdo is None:
            self.new_cdo()
        cdo = self.cdo
        if cdo.in_pool:
            if self.is_mine():
                self.anomalies["operation_out_of_order"] += 1
            else:
                cdo.offers += 1
                self.offered = True
            return
        self.become_maker()
        if cdo.declared is not None and not cdo.ever_offered:
            self.lifecycle["declare_to_offer_ns"] = self.interval(cdo.declared)
        cdo.offers, cdo.offered = 1, self.time
        cdo.in_pool = cdo.ever_offered = self.offered = True
        self.oracle.change["pool_cdos", ()] += 1
        self.oracle.change["pool_bytes", ()] += cdo.size or 0

    def learn_size(self):
        cdo = self.cdo
        if self.size is not None and cdo.size is None:
            cdo.size = self.size
            if cdo.in_pool:
                self.oracle.change["pool_bytes", ()] += self.size
        if self.size is None:
            self.size = cdo.size
        if cdo.size is not None and cdo.made and not cdo.counted:
            cdo.counted = True
            self.created = self.oracle.producer_name(cdo)

    def learn_story(self):
        cdo = self.cdo
        if self.event.HasField("cdo_id"):
            cdo.id = self.event.cdo_id.hex()
        if self.event.HasField("name") and not cdo.name:
            cdo.name = self.event.name[:NAME_BYTES].decode("utf-8", "ignore")
        first = {"declare": "declared", "seal": "sealed", "offer": "offered", "demand": "first_demand"}
        last = {"withdraw": "withdrawn", "dispose": "disposed"}
        if self.kind in first and cdo.times[first[self.kind]] is None:
            cdo.times[first[self.kind]] = self.time
        if self.kind in last:
            cdo.times[last[self.kind]] = self.time
        cdo.all_demands += self.kind == "demand"

    def consume(self):
        self.oracle.received.pop(self.note_key(), None)
        cdo = self.cdo
        if cdo is not None and self.is_mine() and not cdo.in_pool and not cdo.counted:
            cdo.made = False

    def demand(self):
        self.consume()
        self.begin_demand(before=False)
        cdo = self.cdo
        if cdo is None:
            return
        if cdo.in_pool and cdo.demands == 0:
            self.lifecycle["offer_to_first_demand_ns"] = self.interval(cdo.offered)
        cdo.demands += 1

    def leave_pool(self):
        cdo = self.cdo
        self.fan_out = cdo.demands
        if cdo.demands == 0:
            self.anomalies["offer_never_demanded"] += 1
        cdo.demands, cdo.in_pool = 0, False
        self.oracle.change["pool_cdos", ()] -= 1
        self.oracle.change["pool_bytes", ()] -= cdo.size or 0

    def withdraw(self):
        cdo = self.cdo
        if cdo is None:
            return
        if not cdo.in_pool:
            self.anomalies["operation_out_of_order"] += 1
        elif cdo.offers > 1:
            cdo.offers -= 1
        else:
            self.lifecycle["offer_to_withdraw_ns"] = self.interval(cdo.offered)
            self.leave_pool()

    def dispose(self):
        self.row.handles = max(0, self.row.handles - 1)
        if self.end_demand() is not None:
            self.anomalies["demand_never_satisfied"] += 1
        cdo = self.cdo
        if cdo is None:
            return
        if cdo.made and self.is_mine():
            cdo.row_handles -= 1
            if cdo.row_handles == 0:
                if cdo.declared is not None:
                    self.lifecycle["cdo_lifetime_ns"] = self.interval(cdo.declared)
                if cdo.in_pool:
                    self.leave_pool()
                self.oracle.end_cdo(self.oracle.cdos.pop(self.key), "disposed")
                return
        self.oracle.received.pop(self.note_key(), None)
        if cdo.handles > (cdo.row_handles if cdo.made else 0):
            cdo.handles -= 1
        if cdo.handles == 0:
            self.oracle.end_cdo(self.oracle.cdos.pop(self.key), "disposed")

    # ------------------------------------------------------------ transports

    def transport_key(self):
        if self.event.HasField("transport_id"):
            return ("number", self.event.transport_id)
        if self.key is None:
            return None
        return ("of", self.key, self.event.app_id if self.event.HasField("app_id") else 0)

    def transport_init(self):
        key = self.transport_key()
        if key is None:
            return
        if key in self.oracle.transports:
            self.anomalies["operation_out_of_order"] += 1
            return
        self.oracle.transports.add(key, {
            "started": self.time, "size": self.size, "sink": self.sink, "tier": self.tier,
            "cause": self.cause, "source": self.source if self.event.HasField("peer_id") else None,
        })
        self.oracle.change["transports_active", (self.tier,)] += 1

    def transport_completed(self):
        self.end_transport()
        self.completed = True
        cdo = self.oracle.cdos.get(self.key)
        if cdo is not None:
            cdo.consumers += 1
            cdo.times["last_transport"] = self.time
        if self.key is not None:
            pending = self.end_demand()
            if pending is not None:
                self.waits["demand_wait_ns"] = self.interval(pending["since"])

    def transport_failed(self):
        self.end_transport()
        self.anomalies["transport_failed"] += 1
        pending = self.oracle.demands.get((self.key, self.who())) if self.key is not None else None
        if pending is not None:
            pending["failed"] = True

    def end_transport(self):
        key = self.transport_key()
        start = self.oracle.transports.pop(key, None) if key is not None else None
        if start is not None:
            if not self.event.HasField("peer_id") and start["source"] is not None:
                self.source = start["source"]
            if not self.event.HasField("app_id"):
                self.sink = self.component = start["sink"]
            self.tier = start["tier"] if self.tier == UNKNOWN else self.tier
            self.cause = start["cause"] if self.cause == UNKNOWN else self.cause
            self.size = start["size"] if self.size is None else self.size
            self.oracle.change["transports_active", (start["tier"],)] -= 1
            if self.kind == "transport_completed":
                self.transport_time = self.interval(start["started"])
        cdo = self.oracle.cdos.get(self.key)
        if self.size is None and cdo is not None:
            self.size = cdo.size

    # ------------------------------------------------------------ counting, in catalogue order

    def write_down(self, before):
        oracle, classed = self.oracle, size_class(self.size)
        if not before:
            oracle.count("pool_operations", (self.component, self.kind), 1)
        if self.created is not None:
            oracle.count("cdos_created", (self.created, classed), 1)
            oracle.count("cdos_created_bytes", (self.created, classed), self.size)
        forgotten = [name for name, _ in oracle.created]
        for name in forgotten[:1]:
            oracle.count("cdos_created", (name, UNKNOWN), len(forgotten))
        for (metric, labels), change in oracle.change.items():
            if change:
                oracle.moves[metric, labels].append((oracle.position(), change))
        if self.association is not None:
            oracle.record("component_association_ns", (), self.association)
        if self.offered and self.size is not None:
            oracle.count("produced_bytes", (self.component,), self.size)
        if self.completed and self.size is not None:
            oracle.count("consumed_bytes", (self.component,), self.size)
        for metric in ("demand_wait_ns", "withdraw_wait_ns"):
            if self.waits.get(metric) is not None:
                oracle.record(metric, (self.component, classed), self.waits[metric])
        if self.waits.get("leave_wait_ns") is not None:
            oracle.record("leave_wait_ns", (self.component,), self.waits["leave_wait_ns"])
        if self.waits.get("handling_ns") is not None:
            oracle.record("handling_ns", (self.kind,), self.waits["handling_ns"])
        for metric in ("declare_to_offer_ns", "offer_to_first_demand_ns", "offer_to_withdraw_ns",
                       "cdo_lifetime_ns"):
            if self.lifecycle.get(metric) is not None:
                oracle.record(metric, (self.producer, classed), self.lifecycle[metric])
        if self.fan_out is not None:
            oracle.record("demands_per_cdo", (self.producer,), self.fan_out)
        if self.completed:
            self.write_transport(classed)
        for anomaly in ANOMALIES:
            if self.anomalies[anomaly]:
                oracle.count("anomalies", (self.component, anomaly), self.anomalies[anomaly])

    def write_transport(self, classed):
        oracle = self.oracle
        labels = (self.source, self.sink, classed, self.tier)
        oracle.count("transports", labels + (self.cause,), 1)
        oracle.count("transport_bytes", labels + (self.cause,), self.size or 0)
        if self.transport_time is not None:
            oracle.record("transport_ns", labels, self.transport_time)
            if self.transport_time and self.size:
                rate = self.size * SECOND // self.transport_time
                oracle.record("transport_bytes_per_second", (self.tier,), min(rate, 2**64 - 1))


class Result:
    """Per metric and labels one entry for each bucket: counters (value, delta), gauges (value, min,
    max), histograms {"count", "sum", "min", "max", "bins"} or None."""

    def __init__(self, items, options):
        oracle = Oracle(options)
        for item in items:
            oracle.observe(item)
        oracle.finish()
        self.starts = [bucket * oracle.width for bucket in oracle.closed]
        self.metrics = collections.defaultdict(dict)
        count = len(self.starts)
        for (metric, labels), adds in oracle.adds.items():
            deltas = [0] * count
            for bucket, amount in adds:
                deltas[bucket] += amount
            total, entries = 0, []
            for delta in deltas:
                total = (total + delta) % 2**64
                entries.append((total, delta))
            self.metrics[metric][labels] = entries
        for (metric, labels), moves in oracle.moves.items():
            self.metrics[metric][labels] = self.gauge(moves, count)
        for (metric, labels), values in oracle.values.items():
            self.metrics[metric][labels] = self.histogram(values, count, options["sub_bits"])
        self.gaps = [tuple(gap) for bucket in sorted(oracle.gaps) for gap in oracle.gaps[bucket]]
        self.stories = sorted(oracle.stories, key=repr) if options["level"] == "cdo" else []
        self.components = [
            (row.name, row.app, row.joined, row.left, row.reason, row.operations)
            for row in oracle.rows[1:]
        ]

    @staticmethod
    def gauge(moves, count):
        by_bucket = collections.defaultdict(list)
        for bucket, change in moves:
            by_bucket[bucket].append(change)
        value, entries = 0, []
        for bucket in range(count):
            seen = [value]
            for change in by_bucket[bucket]:
                value += change
                seen.append(value)
            entries.append((value, min(seen), max(seen)))
        return entries

    @staticmethod
    def histogram(values, count, sub_bits):
        by_bucket = collections.defaultdict(list)
        for bucket, value in values:
            by_bucket[bucket].append(value)
        entries = []
        for bucket in range(count):
            found = by_bucket[bucket]
            entries.append(None if not found else {
                "count": len(found), "sum": sum(found) % 2**64, "min": min(found), "max": max(found),
                "bins": dict(collections.Counter(bin_of(value, sub_bits) for value in found)),
            })
        return entries
