# SPDX-License-Identifier: BSD-3-Clause
"""Streams to ask the oracle about: seeded options of the synthetic source, and recordings bent or
written by hand. The same seed always gives the same stream."""

import copy
import random

import stream

Event, Mark = stream.event_pb2.Event, stream.recording_pb2.Mark
BEGIN = 1_800_000_000 * 10**9
MILLISECOND = 10**6
NUMBER = {name: number for number, name in stream.KINDS.items()}


def synthetic_options(seed):
    """Source and statistics of one synthetic stream: each fault, bound and level of detail at times."""
    dice = random.Random(seed)
    consumers = dice.randint(1, 4)
    source = {
        "seed": seed,
        "producers": dice.randint(1, 4),
        "consumers": consumers,
        "steps": dice.randint(1, 5),
        "burst": dice.randint(1, 6),
        "fan_out": dice.randint(0, min(3, consumers)),
        "size_min": dice.choice(["0B", "200B", "256KiB"]),
        "size_max": dice.choice(["257B", "1MiB", "2GiB"]),
        "unseen": dice.choice([0, 0, 1, 2]),
        "vanish": dice.choice([0, 0, 150]),
    }
    if source["size_max"] == "257B" and source["size_min"] == "256KiB":
        source["size_min"] = "0B"
    for fault in ("lost", "missing", "duplicated", "reordered", "late"):
        source[fault] = dice.choice([0, 0, 20, 150])
    statistics = {
        "bucket": dice.choice(["100ms", "1s", "1s", "3s"]),
        "sub_bins": dice.choice([4, 8, 16]),
        "max_series": dice.choice([2, 5, 12, 40, 90, 1024]),
        "max_components": dice.choice([2, 4, 64]),
        "max_cdos": dice.choice([16, 30, 65536]),
        "max_pending": dice.choice([16, 65536]),
        "level": dice.choice(["workflow", "component", "component", "cdo"]),
        "max_empty": dice.choice([5, 600]),
    }
    if dice.random() < 0.3:
        statistics["lateness"] = dice.choice(["0s", "50ms", "2500ms"])
    return source, statistics


NAMED = {
    "large": "(.cdo.size >= 1MiB)",
    "models": '(.component.name glob "Model*")',
    "quick": "(and (has .transport.duration) (.transport.duration <= 60us))",
    "both": "(and @large (not @models))",
}
FILTERS = [
    "@large", "@models", "(not @models)", "@both", "(not @quick)",
    "(or (.event.phase = before) (.event.kind in (offer demand withdraw transport_completed)))",
    "(or (not (has .transport.duration)) (.transport.duration > 0.05ms)) ; what ended slowly",
    "(.cdo.name match 'param:13[01],number:\\d*[02468]$')",
    "(and (.component.id <= 2) (.event.serial > 20))",
    "(or (.transport.tier != ofi) (.transport.cause = manager) (has .peer.name))",
    "(not (.cdo.size < 300KiB))",
    "(.event.time >= 2001-09-09T01:46:43.25Z)",
    '(or (.peer.name = "Model -- 0") (.cdo.name glob "*level?ist:[0-3]*") (.event.kind != demand))',
]


def random_rules(seed):
    """Which events count, in which part, for which metrics, and which CDOs have a record: sections of
    the configuration, and what they add to its "statistics"."""
    dice = random.Random(seed * 31 + 7)
    events, sampling, statistics = {}, {}, {}
    if dice.random() < 0.5:
        events["filter"] = dice.choice(FILTERS)
    if dice.random() < 0.2:
        events["components"] = dice.choice([["Model*"], ["*0", "Products ?"]])
    if dice.random() < 0.2:
        events["min_size"] = "100KiB"
    if dice.random() < 0.2:
        events["kinds"] = ["offer", "declare", "transport_completed", "leave", "withdraw", "seal"]
    if dice.random() < 0.5:
        sampling["fraction"] = dice.choice([150000, 300000, 999999])
    if dice.random() < 0.4:
        metrics = ["transport_ns", "pool_operations", "anomalies", "cdos_created", "handling_ns",
                   "demands_per_cdo", "transport_bytes"]
        statistics["filters"] = {name: dice.choice(FILTERS) for name in dice.sample(metrics, 3)}
    if dice.random() < 0.5:
        statistics["selected"] = dice.choice(FILTERS + ["@quick", "(.transport.tier = MIO)"])
    if dice.random() < 0.5:
        statistics["metrics"] = ["+weighted_pool_operations", "+weighted_transport_bytes",
                                 "+weighted_cdos_created", "+weighted_consumed_bytes"]
    return {"filters": NAMED, "events": events, "sampling": sampling}, statistics


def bend(items, seed):
    """Other faults than the synthetic source knows: clock steps, fields that no event has, events sent
    before their operation was handled, failed transports, application ids that join again."""
    dice = random.Random(seed)
    absent = [name for name in ("cdo_id", "size_bytes", "transport_id", "peer_id", "app_id", "tier",
                                "cause", "serial", "name") if dice.random() < 0.15]
    step = dice.choice([0, 0, -3, 7, 2000]) * 10**9
    step_at = dice.randrange(len(items) or 1)
    apps = dice.choice([0, 0, 2])
    bent = []
    for number, item in enumerate(items):
        item = copy.deepcopy(item)
        if isinstance(item, Mark):
            item.time_ns += step if number >= step_at else 0
            bent.append(item)
            continue
        item.time_ns += step if number >= step_at else 0
        for name in absent:
            if dice.random() < 0.7 and not (name == "name" and item.kind == NUMBER["join"]):
                item.ClearField(name)
        if apps and item.HasField("app_id"):
            item.app_id = item.app_id % apps + 1
        if item.kind == NUMBER["transport_completed"] and dice.random() < 0.1:
            item.kind = NUMBER["transport_failed"]
        if item.kind < NUMBER["transport_init"] and dice.random() < 0.5:
            bent.append(received(item, dice))
        bent.append(item)
        if dice.random() < 0.01:
            bent.append(Mark(kind=dice.choice([27, 28, 29, 30, 31]), count=dice.randint(1, 9),
                             reason=dice.randrange(3), time_ns=item.time_ns + dice.randint(-9, 9) * 10**9))
    return bent


def received(event, dice):
    """The event as it was sent before handling; mostly a little earlier."""
    before = copy.deepcopy(event)
    before.before = True
    before.time_ns -= dice.choice([0, 1000, 5000, 10**6, -2000])
    if event.kind == NUMBER["join"]:
        before.ClearField("app_id")
    if event.kind == NUMBER["declare"]:
        before.ClearField("cdo_id")
    return before


# ---------------------------------------------------------------- by hand


class Hand:
    """A short way to write a stream: hand("offer", 12, app=1, cdo="a", size=5)."""

    def __init__(self):
        self.items = []

    def __call__(self, kind, ms, app=1, cdo=None, **fields):
        event = Event(kind=NUMBER[kind], time_ns=BEGIN + int(ms * MILLISECOND))
        if app is not None:
            event.app_id = app
        if cdo is not None:
            event.cdo_id = cdo.encode().ljust(16, b"\0")
        for name, value in fields.items():
            setattr(event, {"size": "size_bytes", "peer": "peer_id", "number": "transport_id"}.get(
                name, name), value)
        self.items.append(event)
        return self

    def mark(self, kind, ms, count=1, reason=0):
        self.items.append(Mark(kind=kind, count=count, reason=reason, time_ns=BEGIN + int(ms * MILLISECOND)))
        return self

    def join(self, ms, app, name):
        return self("join", ms, app, name=name.encode())

    def life(self, ms, cdo, maker=1, taker=2, size=1000):
        for number, (kind, app) in enumerate([
            ("declare", maker), ("seal", maker), ("offer", maker), ("declare", taker),
            ("require", taker), ("demand", taker),
        ]):
            self(kind, ms + number, app, cdo, **({"size": size} if kind == "seal" else {}))
        self("transport_init", ms + 7, taker, cdo, peer=maker, tier=1, cause=1, number=int(ms))
        self("transport_completed", ms + 9, taker, cdo, number=int(ms))
        self("dispose", ms + 10, taker, cdo)
        self("withdraw", ms + 11, maker, cdo)
        return self("dispose", ms + 12, maker, cdo)


def short_tasks(tasks, at_once, **statistics):
    """Components that join, produce what the next ones take, and leave; so many are there at a time. What they begin crosses
    buckets, and some are heard of again when they have left."""
    hand = Hand()
    for number in range(tasks):
        app, ms, name = 100 + number, 10 * number, f"n{number}"
        hand.join(ms, app, f"task {number % 13}" if number % 4 else "task")
        hand("declare", ms + 1, app, name)("seal", ms + 1, app, name, size=1000 + number)("offer", ms + 2, app, name)
        if number:
            before = f"n{number - 1}"
            hand("offer", ms + 3, app, before)("demand", ms + 3, app, before, before=True)("demand", ms + 4, app, before)
            hand("transport_init", ms + 4, app, before, peer=app - 1, number=number)
        if number % 3 == 0:
            hand("withdraw", ms + 4.5, app, name, before=True)
        if number >= at_once:
            gone = number - at_once
            hand("leave", ms + 5, 100 + gone, **({"reason": 1} if gone % 5 else {}))
            if gone % 7 == 0:
                hand("offer", ms + 5.5, 100 + gone, f"n{gone}")
        if number > 3:
            hand("transport_completed", ms + 6, app - 3, f"n{number - 4}", number=number - 3)
        if number > 40 and number % 11 == 0:
            hand("declare", ms + 7, 100 + number - 40, f"late {number}")("transport_failed", ms + 7, 100 + number - 39, name, peer=99)
        if number % 50 == 49:
            hand.join(ms + 8, app, "again")
    return hand, {"bucket": "50ms", **statistics}


def evicted_cdos(count, bound, **statistics):
    """So many CDOs, of which the table has room for `bound`: some stay until they are disposed of, most go unseen, some
    come again when they have gone."""
    hand = Hand().join(0, 1, "IFS -- 0").join(0, 2, "Products")
    for number in range(count):
        ms, name = 1 + number / 100, f"n{number}"
        hand("declare", ms, 1, name)
        hand("seal" if number % 3 else "offer", ms, 1, name, **({"size": 1000 + number % 5000} if number % 4 else {}))
        if number % 8 == 0:
            hand("demand", ms, 2, f"n{max(number - bound // 2, 0)}")
        if number % 16 == 0:
            hand("dispose", ms, 1, f"n{max(number - bound // 4, 0)}")
        if number % 32 == 0:
            hand("offer", ms, 1, f"n{max(number - 2 * bound, 0)}", size=77)
    return hand, {"max_cdos": bound, **statistics}


def evicted_waits(count, bound, **statistics):
    """So many demands, transports and withdraws, of which there is room for `bound`: some end before, some are refused and
    begin again, so that the one to be evicted is not that of the earliest time."""
    hand = Hand().join(0, 1, "IFS -- 0").join(0, 2, "Products")
    for number in range(count):
        ms, name = 1 + number / 100, f"n{number}"
        hand("demand", ms, 2, name, before=number % 3 == 0)("transport_init", ms, 2, name, peer=1, number=number + 1)
        hand("withdraw", ms, 1, name, before=True)
        if number % 5 == 0:
            hand("retract", ms, 2, f"n{max(number - bound // 2, 0)}")
        if number % 7 == 0:
            hand("demand", ms, 2, f"n{max(number - number % 3 - bound // 3 * 3 // 4 * 3, 0)}", before=True)
            hand("withdraw", ms, 1, f"n{max(number - bound // 4 * 3, 0)}", before=True)
        if number % 11 == 0 and number > bound:
            hand("transport_completed", ms, 2, f"n{number - bound // 4}", peer=1, number=number - bound // 4 + 1)
    return hand, {"max_pending": bound, **statistics}


MANY_GAPS = "more gaps than a chunk of their table holds"


def corner_cases():
    """name: (items, statistics)."""
    cases = {}

    def case(name, **statistics):
        cases[name] = (Hand(), {"bucket": "100ms", **statistics})
        return cases[name][0].join(0, 1, "IFS -- 0").join(1, 2, "Products")

    cases["nothing"] = (Hand(), {})
    cases["one event"] = (Hand()("offer", 0, 1, "a"), {})
    case("one life").life(10, "a")("leave", 90, 1, reason=1)("leave", 95, 2, reason=1)
    edges = case("sizes at the edges of classes and bins")
    for number, size in enumerate([0, 1, 255, 256, 257, 2**20 - 1, 2**20, 2**30 - 1, 2**30, 2**62 - 1, 2**62]):
        edges.life(20 * number + 10, f"c{number}", size=size)
    for kind, ms in ((29, 60_000), (29, 250), (30, 60_000)):
        cases[f"a first event after control event {kind} at {ms} ms"] = (
            Hand().mark(kind, ms, int(kind == 30)).join(0, 1, "IFS -- 0")("offer", 10, 1, "a"), {"bucket": "100ms"})
    case("lateness on the edge", lateness="100ms")("offer", 150, 1, "a")("offer", 299.999999, 1, "b")(
        "offer", 99, 1, "c")("offer", 300, 1, "d")("offer", 99, 1, "e")("offer", 199, 1, "f")
    for empty in (4, 5, 6, 7):
        case(f"{empty - 1} empty buckets of 5", max_empty=5)("offer", 100 * empty, 1, "a")("offer", 100 * empty + 1, 1, "b")
    back = case("clock set back for good")("offer", 100_000, 1, "z")
    for number in range(300):
        back("declare", number, 1, f"n{number}")
    back = case("clock set back, 256 events")("offer", 100_000, 1, "z")
    for number in range(256):
        back("declare", number, 1, f"n{number}")
    back("offer", 100_001, 1, "y")
    back = case("clock set back, 255 events")("offer", 100_000, 1, "z")
    for number in range(255):
        back("declare", number, 1, f"n{number}")
    back("offer", 100_001, 1, "y")
    case("everything before its partner")("declare", 50, 1, "a")("offer", 40, 1, "a", size=9)(
        "demand", 30, 2, "a")("transport_init", 29, 2, "a", peer=1)("transport_completed", 20, 2, "a")(
        "withdraw", 10, 1, "a")("dispose", 9, 1, "a")("leave", -5, 1)
    case("a pool that vanishes, and another with the same ids")("declare", 5, 1, "a")("seal", 6, 1, "a", size=7)(
        "offer", 7, 1, "a")("declare", 8, 1, "b")("demand", 10, 2, "a")("transport_init", 11, 2, "a", peer=1, number=4)(
        "offer", 12, 9, "z").mark(27, 20, 0).mark(29, 350, 0).mark(28, 400, 0)("offer", 410, 1, "a").join(
        420, 1, "other").life(430, "a")("leave", 450, 1, reason=1)
    case("a pool that vanishes for good").life(10, "a")("offer", 40, 1, "b").mark(27, 50, 0).mark(29, 900, 0)
    cases["a pool in which nothing was seen"] = (Hand().mark(27, 10, 0).mark(28, 20, 0)("offer", 30, 1, "a"), {})
    unidentified = case("attributes of CDOs that have names alone", attributes=["param"])
    for number, value in enumerate((130, 131)): # the second one takes the record of the first
        for step, (kind, app, more) in enumerate([
                ("declare", 1, {"before": True}), ("declare", 1, {}), ("seal", 1, {"size": 7}), ("offer", 1, {}),
                ("demand", 2, {}), ("transport_init", 2, {"peer": 1}), ("transport_completed", 2, {}),
                ("dispose", 2, {}), ("withdraw", 1, {}), ("dispose", 1, {})]):
            unidentified(kind, 10 + 50 * number + step, app, name=f"param:{value}".encode(), **more)
    case("what a leaving component holds")("declare", 5, 1, "a")("seal", 6, 1, "a", size=7)("offer", 7, 1, "a")(
        "declare", 8, 1, "b")("declare", 9, 2, "a")("demand", 10, 2, "a")("leave", 20, 1, reason=2)(
        "leave", 21, 2)("offer", 30, 1, "c")("dispose", 31, 2, "a")
    case("an id that joins again")("offer", 5, 1, "a", size=1)("leave", 10, 1)("join", 20, 1, name=b"again")(
        "offer", 25, 1, "b", size=2)("join", 30, 1, name=b"without leaving")("offer", 31, 1, "c", size=3)(
        "leave", 40, 1)("leave", 41, 1)
    case("a LEAVE that was lost", bucket="10ms")("declare", 5, 1, "a")("offer", 6, 1, "a", size=5)("declare", 7, 1, "b")(
        "declare", 8, 2, "a")("demand", 9, 1, "c")("transport_init", 10, 1, "c", peer=2, number=1).join(20, 1, "later")(
        "offer", 21, 1, "a", size=7)("withdraw", 22, 1, "a")("transport_completed", 23, 1, "c", number=1)(
        "dispose", 24, 2, "a").join(20, 1, "later")("leave", 30, 1)("leave", 31, 2)
    case("a JOIN that comes late")("declare", 5, 3, "a")("offer", 6, 3, "a")("require", 7, 4, "a").join(10, 3, "late")(
        "seal", 11, 3, "a", size=9)("dispose", 12, 3, "a")("leave", 13, 4).join(12.5, 4, "too late").join(14, 4, "anew")(
        "leave", 20, 3)("leave", 21, 4)
    full = case("JOINs beyond max_components", max_components=4)("offer", 5, 1, "a", size=1)("declare", 6, 1, "b").join(
        10, 3, "third").join(11, 4, "beyond")("offer", 12, 4, "c", size=2).join(20, 1, "IFS -- 0")(
        "offer", 21, 1, "d", size=4)("leave", 22, 2).join(23, 2, "Products")("declare", 24, 2, "a")("leave", 25, 1)
    full("leave", 26, 9)("leave", 27, 2)("leave", 28, 4)("leave", 29, 3)
    cases["short tasks, one after the other"] = short_tasks(120, 3, max_components=8)
    cases["components beyond the names"] = short_tasks(40, 30, max_components=10, level="workflow")
    cases["components beyond the names, by name"] = short_tasks(90, 20, max_components=10)
    case("demands that were not acknowledged")("demand", 5, 1, "a", before=True)("demand", 6, 2, "a", before=True)(
        "dispose", 7, 2, "a")("demand", 8, 2, "b", before=True)("leave", 9, 1, reason=2)("leave", 10, 2)
    fast = case("bandwidths beyond range")
    for number, size in enumerate([2**64 - 1, (2**64 - 1) // 10**9, (2**64 - 1) // 10**9 + 1, 0, 1]):
        fast("transport_init", 10, 2, "a", peer=1, number=number)(
            "transport_completed", 10, 2, "a", peer=1, number=number, size=size)
        fast.items[-1].time_ns += 1
    fast("transport_init", 20, 2, "a", peer=1, number=9)("transport_completed", 20, 2, "a", peer=1, number=9, size=5)
    case("operations after a LEAVE")("declare", 5, 1, "a")("leave", 10, 1)("seal", 11, 1, "a", size=300)(
        "offer", 12, 1, "a", size=300)("offer", 13, 1, "b", size=70)("declare", 14, 1, "c")("demand", 15, 1, "b")(
        "demand", 16, 1, "a", before=True)("withdraw", 17, 1, "b")("dispose", 18, 1, "b")("leave", 19, 1)(
        "transport_completed", 20, 1, "d", peer=2, size=9)("declare", 21, 2, "b")("offer", 22, 2, "b", size=5)
    case("a consumer that knows the size")("declare", 5, 2, "a")("require", 6, 2, "a", size=300)("declare", 7, 1, "a")(
        "seal", 8, 1, "a", size=300)("offer", 9, 1, "a")("declare", 15, 2, "b")("demand", 16, 2, "b", size=400)(
        "seal", 17, 1, "b")("offer", 18, 1, "b")
    case("sizes that only transports report")("declare", 5, 1, "a")("offer", 6, 1, "a")(
        "transport_init", 7, 2, "a", peer=1, number=1, size=5000)("transport_completed", 8, 2, "a", number=1)(
        "declare", 10, 1, "b")("offer", 11, 1, "b")("transport_failed", 12, 2, "b", peer=1, size=6000)(
        "withdraw", 13, 1, "b")("withdraw", 14, 1, "a")("transport_completed", 15, 2, "c", peer=1, size=8)
    case("consumer first")("declare", 5, 2, "a")("require", 6, 2, "a")("declare", 7, 1, "a")(
        "seal", 8, 1, "a", size=300)("offer", 9, 1, "a")("demand", 10, 2, "a")("dispose", 11, 2, "a")(
        "dispose", 12, 1, "a")
    seventeen = case("an evicted CDO is not created again", max_cdos=16)
    for number in range(51):
        name = f"n{number % 17}"
        seventeen("declare", 5 + number, 1, name)("seal", 5.1 + number, 1, name, size=number % 17 + number // 34)
        seventeen("declare", 5.2 + number, 2, f"unsized {number % 17}")("offer", 5.3 + number, 2, f"unsized {number % 17}")
    seventeen.mark(27, 80, 0).mark(28, 90, 0).join(91, 1, "IFS -- 0")("seal", 92, 1, "n1", size=5)("declare", 93, 1, "n2")
    case("a producer that withdrew keeps its role")("declare", 5, 1, "a")("offer", 6, 1, "a")("withdraw", 7, 1, "a")(
        "require", 8, 1, "a")("demand", 9, 1, "a")("declare", 10, 2, "a")("transport_init", 11, 2, "a", peer=1, number=1, size=70)(
        "transport_completed", 12, 2, "a", number=1)("dispose", 13, 1, "a")("dispose", 14, 2, "a")
    case("two who offer")("offer", 5, 1, "a", size=3)("offer", 6, 2, "a")("offer", 7, 1, "a")("withdraw", 8, 1, "a")(
        "withdraw", 9, 2, "a")("withdraw", 10, 1, "a")("offer", 11, 2, "a")("withdraw", 12, 2, "a")
    case("offers belong to components", bucket="10ms")("declare", 1, 1, "a")("offer", 5, 1, "a", size=30)(
        "offer", 6, 2, "a")("leave", 11, 2)("withdraw", 21, 1, "a")("join", 30, 3, name=b"C")("join", 31, 4, name=b"D")(
        "offer", 32, 1, "b", size=5)("offer", 33, 3, "b")("offer", 34, 4, "b")("offer", 34.5, 3, "b")("demand", 35, 4, "b")(
        "withdraw", 36, 2, "b")("leave", 41, 1)("withdraw", 51, 4, "b")("withdraw", 52, 4, "b")("dispose", 53, 4, "b")(
        "withdraw", 54, 3, "b")("offer", 60, 3, "c")("offer", 61, 4, "c", size=9)("seal", 62, 4, "c", size=9)(
        "dispose", 63, 4, "c")("offer", 64, 4, "c")("withdraw", 65, 3, "c")("leave", 71, 4)("leave", 81, 3)
    case("the maker is done, others offer")("declare", 1, 1, "a")("declare", 2, 2, "a")("declare", 3, 2, "a")(
        "seal", 4, 1, "a", size=300)("offer", 5, 1, "a")("offer", 6, 2, "a")("demand", 7, 2, "a")("dispose", 8, 1, "a")(
        "dispose", 9, 2, "a")("withdraw", 10, 2, "a")("offer", 11, 2, "a")("dispose", 12, 2, "a")
    case("handles belong to components and CDOs")("declare", 1, 1, "a")("declare", 2, 1, "b")("declare", 3, 2, "a")(
        "dispose", 4, 1, "x")("dispose", 5, 1, "b")("dispose", 6, 1, "b")("dispose", 7, 2, "b")("declare", 8, 2, "c")(
        "require", 9, 2, "c")("dispose", 10, 1, "c")("dispose", 11, 2, "x")("leave", 20, 1)("leave", 21, 2)
    case("a handle that outlives the record")("declare", 1, 1, "a")("declare", 2, 2, "a")("dispose", 3, 1, "a")(
        "declare", 4, 1, "a")("require", 5, 1, "a")("declare", 6, 2, "a")("require", 7, 2, "a")("dispose", 8, 2, "a")(
        "dispose", 9, 2, "a")("dispose", 10, 1, "a")("dispose", 11, 2, "a")("leave", 20, 2)
    huge = case("more bytes in the pool than a gauge shows", bucket="5ms")
    for number in range(5):
        huge("offer", 10 + number, 1, f"n{number}", size=2**63 - 1 - number % 2)("offer", 20 + number, 2, f"n{number}")
    huge("offer", 26, 1, "largest", size=2**64 - 1)("leave", 30, 2)
    for number in range(4):
        huge("withdraw", 35 + number, 1, f"n{number}")
    huge("withdraw", 39, 1, "largest")("leave", 41, 1)
    shared = case("more holds than bounds", max_cdos=16)
    for number in range(60):
        shared("declare", 5 + number, 1, f"n{number % 19}")("offer", 5.1 + number, 1, f"n{number % 19}", size=10)(
            "declare", 5.2 + number, 2, f"n{number % 19}")("offer", 5.3 + number, 2, f"n{number % 7}")(
            "offer", 5.4 + number, 9, f"n{number % 13}")("offer", 5.5 + number, None, f"n{number % 19}")(
            "seal", 5.6 + number, 9, f"n{number % 17}", size=20)
    shared("leave", 80, 2)("leave", 81, 1)
    each = case("everybody has something of each CDO", bucket="40ms")
    for who in range(3, 28):
        each.join(who, who, f"C{who}")
    for number in range(600):
        who, name, at = 3 + number * 7 % 25, f"n{number * 11 % 23}", 30 + number
        each("declare", at, who, name)("demand", at + 0.1, who, name, before=True)("demand", at + 0.2, who, name)(
            "offer", at + 0.3, 3 + number % 25, name, size=number)(
            "transport_init", at + 0.4, who, name, **({"number": number} if number % 3 else {}))
        if number > 300:
            late = number - 300
            who, name = 3 + late * 7 % 25, f"n{late * 11 % 23}"
            each("transport_completed", at + 0.5, who, name, **({"number": late} if late % 3 else {}))(
                ("withdraw", "retract", "dispose")[number % 3], at + 0.6, 3 + number % 25, name)
    for who in range(3, 15):
        each("leave", 700 + who, who)
    for name, seconds in (("2^61 ns", 2**61 // 10**9), ("the last year", 9214646400 - 50),
                          ("before 1970", -2 * 10**9), ("the first year", -9214560000 + 50)):
        far = case(f"times around {name}", bucket="7s", lateness="0s")
        for number in range(20):
            far("offer", 0, 1, f"n{number}", size=number)("withdraw", 0, 1, f"n{number}")
            for offset, item in zip((-1, 1), far.items[-2:]):
                item.time_ns = (seconds + 10 * (number - 10)) * 10**9 + offset
        far.mark(30, 0, 3)
        far.items[-1].time_ns = 2**63 - 1
    named = case("names that collide", max_components=12)
    for number, name in enumerate([b"(other)", b"unknown", b"", b"a\0b", b"a", b"a\0c", b"\\(other)", b"\0",
                                   b"\\\\unknown", b"ab"]):
        named("join", 5 + number, 10 + number, name=name)("offer", 20 + number, 10 + number, f"n{number}", size=7)
    for number in range(6):
        named("offer", 40 + number, 50 + number, f"m{number}", size=9)
    case("demands that fail and repeat")("demand", 5, 2, "a")("transport_failed", 6, 2, "a")("demand", 7, 2, "a")(
        "demand", 8, 2, "a")("transport_completed", 9, 2, "a", size=12)("demand", 10, 2, "a")("retract", 11, 2, "a")(
        "transport_completed", 12, 2, "a")
    case("what a wait was for")("declare", 1, 1, "a")("demand", 5, 2, "a", before=True)("demand", 6, 2, "a")(
        "offer", 9, 1, "a", size=12)("transport_init", 11, 2, "a", peer=1, number=1)(
        "transport_completed", 20, 2, "a", number=1)("demand", 21, 2, "a")("transport_init", 22, 2, "a", number=2)(
        "transport_failed", 23, 2, "a", number=2)("transport_init", 25, 2, "a", number=3)(
        "transport_completed", 29, 2, "a", number=3)("demand", 30, 2, "a")("transport_completed", 33, 2, "a")
    case("waits whose parts are unknown")("offer", 5, 1, "a", size=12)("transport_init", 6, 2, "a", number=1)(
        "demand", 7, 2, "a")("transport_completed", 8, 2, "a", number=1)("transport_init", 9, 2, "b", number=2)(
        "demand", 8.5, 2, "b")("offer", 9.5, 1, "b")("transport_completed", 10, 2, "b", number=2)(
        "demand", 11, 2, "a")("transport_init", 12, 1, "a", number=3)("transport_completed", 13, 2, "a", number=3)(
        "demand", 14, 2, "a")("transport_init", 15, 2, "b", number=4)("transport_completed", 16, 2, "a", number=4)(
        "demand", 17, 2, "c")("transport_init", 18, 2, "c", number=5)("transport_completed", 19, 2, "c", number=5)(
        "demand", 20, 2, "a")("transport_init", 24, 2, "a", number=6)("transport_completed", 23, 2, "a", number=6)(
        "demand", 30, 2, "a")("transport_init", 29, 2, "a", number=7)("transport_completed", 33, 2, "a", number=7)(
        "demand", 40, 2, "a")("retract", 44, 2, "a")("transport_init", 45, 2, "a", number=8)("demand", 46, 2, "a")(
        "transport_completed", 48, 2, "a", number=8)
    moved = case("data that move before their DEMAND", bucket="20ms")("declare", 1, 1, "a")("offer", 2, 1, "a", size=9)
    for number, cause in enumerate((2, 0, 1)):  # manager, unknown, demand (which is none before)
        at = 10 + 20 * number
        moved("declare", at, 2, "a")("require", at + 1, 2, "a")("transport_init", at + 2, 2, "a", number=number, cause=cause)(
            "transport_completed", at + 4, 2, "a", number=number)("demand", at + 6, 2, "a", before=True)(
            "demand", at + 6.5, 2, "a")("dispose", at + 9, 2, "a")
    moved("declare", 80, 2, "a")("transport_completed", 81, 2, "a")("demand", 82, 2, "a")("demand", 83, 2, "a")("dispose", 84, 2, "a")(
        "transport_init", 85, 2, "a", number=5)("demand", 86, 2, "a")("transport_completed", 88, 2, "a", number=5)(
        "demand", 90, 2, "a", before=True)("transport_init", 91, 2, "a", number=6, cause=2)(
        "transport_completed", 92, 2, "a", number=6)("demand", 93, 2, "a")("dispose", 94, 2, "a")
    moved("declare", 100, 2, "a")("declare", 101, 2, "a")("transport_completed", 102, 2, "a")("transport_completed", 103, 2, "a")(
        "demand", 104, 2, "a")("dispose", 105, 2, "a")("demand", 106, 2, "a")("dispose", 107, 2, "a")(
        "transport_completed", 108, 2, "a")("retract", 109, 2, "a")("demand", 110, 2, "a")("retract", 111, 2, "a")(
        "transport_completed", 112, 2, "a")("dispose", 113, 2, "a")("demand", 114, 2, "a")("leave", 115, 2, reason=1)(
        "transport_completed", 116, 2, "a")("transport_completed", 117, None, "a")("demand", 118, None, "a")
    gone = case("an offer that is withdrawn before its data are demanded", bucket="20ms")
    for number, then in enumerate(("demand", "retract", "dispose")):
        at = 10 + 20 * number
        gone("offer", at, 1, "a", size=9)("declare", at, 2, "a")("transport_completed", at + 1, 2, "a", cause=2)(
            "withdraw", at + 2, 1, "a")(then, at + 3, 2, "a")("offer", at + 4, 1, "a")("transport_completed", at + 5, 2, "a")(
            then, at + 6, 2, "a")("demand", at + 7, 2, "a")("withdraw", at + 9, 1, "a")
    early = case("more early data than bounds", max_pending=16)
    for number in range(30):
        early("transport_completed", 5 + number, 2, f"n{number}")
    for number in range(30):
        early("demand", 40 + number, 2, f"n{number}")
    case("an offer that is renewed, and several")("offer", 5, 1, "a", size=9)("demand", 6, 2, "a")("withdraw", 7, 1, "a")(
        "offer", 8, 1, "a")("offer", 9, 2, "a")("transport_init", 10, 2, "a", number=1)("withdraw", 11, 1, "a")(
        "dispose", 12, 1, "a")("transport_completed", 15, 2, "a", number=1)("demand", 16, 1, "a")(
        "transport_init", 17, 1, "a", number=2)("withdraw", 18, 2, "a")("transport_completed", 19, 1, "a", number=2)
    pairs = case("more pairs of consumer and producer than bounds", max_series=66)
    for number in range(3, 30):
        pairs.join(number, number, f"C{number}")("offer", 30 + number, number, f"n{number}", size=5)
    for number in range(400):
        maker, taker = 3 + number * 7 % 27, 3 + number * 11 % 27
        pairs("demand", 60 + number, taker, f"n{maker}")("transport_init", 60.2 + number, taker, f"n{maker}", number=number)(
            "transport_completed", 60.4 + number, taker, f"n{maker}", **({} if number % 5 == 0 else {"number": number}))
    case("received and handled")("withdraw", 10, 1, "a", before=True)("withdraw", 15, 1, "a")(
        "demand", 20, 2, "a", before=True)("demand", 21, 2, "a", before=True)("demand", 22, 2, "a")(
        "transport_completed", 30, 2, "a", size=1)("leave", 40, 1, before=True)("leave", 50, 1, reason=1)(
        "leave", 60, 2, before=True)("leave", 70, 2, reason=2)
    case("a LEAVE of a reason that is not known")("leave", 40, 1, before=True)("leave", 50, 1, reason=0)(
        "leave", 60, 2, before=True)("leave", 70, 2)
    case("a size that WITHDRAW reports first")("offer", 10, 1, "a")("offer", 11, 2, "b")("withdraw", 20, 1, "a", size=9)(
        "offer", 30, 1, "a")("withdraw", 40, 2, "b", before=True, size=7)("withdraw", 41, 2, "b")
    zero = case("ids of zeros are ids")
    zero.join(2, 0, "Zero")("offer", 5, 1, "", size=9)("demand", 6, 0, "", before=True)("demand", 6.5, 0)(
        "transport_init", 7, 0, "")("transport_init", 7.5, None, "")("transport_completed", 8, None, "")(
        "demand", 9, None, "")("demand", 9.5, None, before=True)("demand", 10, None, "")("demand", 11, 0, "")(
        "transport_completed", 12, 0, "")("withdraw", 13, 1, "", before=True)("withdraw", 14, 1)("withdraw", 15, 1, "")(
        "demand", 20, 0, "b")("offer", 21, 1, "b", size=4)("transport_init", 22, None, "b", number=0)(
        "transport_completed", 23, 0, "b", number=0)("demand", 24, 0, "b")("transport_init", 25, 0, number=1)(
        "transport_completed", 26, 0, "b", number=1)("leave", 30, 0, before=True)("leave", 31, 0, "")
    case("events of no component")("offer", 5, None, "a", size=3)("demand", 6, None, "a")(
        "transport_init", 7, None, "a")("transport_completed", 9, None, "a", size=3)("leave", 10, None)
    case("marks").mark(30, 10, 5, 0).mark(31, 20, 2)("offer", 30, 1, "a").mark(30, 250, 7, 1).mark(
        29, 900).mark(30, 950, 3, 2)("offer", 960, 1, "b").mark(29, 5000)
    many = case("more losses than a bucket names")
    for number in range(40):
        many.mark(30, 10 + number, 1, number % 3)
    several = case(MANY_GAPS)
    for number in range(330):
        several("offer", 10 + 10 * number, 1, f"n{number}", size=number).mark(30, 11 + 10 * number, 1 + number, number % 3)
    several("leave", 3500, 1, reason=1)
    anonymous = case("names instead of ids")
    for kind, app in (("declare", 1), ("seal", 1), ("offer", 1), ("demand", 2), ("withdraw", 1), ("dispose", 1)):
        anonymous(kind, 20 + len(anonymous.items), app, name="temperature π".encode(), size=5)
    crowded = case("more CDOs and waits than bounds", max_cdos=16, max_pending=16)
    for number in range(40):
        crowded("declare", 5 + number, 1, f"n{number}")("demand", 5.5 + number, 2, f"n{number}")(
            "transport_init", 5.7 + number, 2, f"n{number}", peer=1, number=number)
    for number in range(40):
        crowded("transport_completed", 60 + number, 2, f"n{number}", number=number)
    cases_of_pairing(case)
    cases_of_handles(case)
    cases_of_ends(case)
    return {name: (hand.items, statistics) for name, (hand, statistics) in cases.items()}


def cases_of_pairing(case):
    """Transports: data that are kept for a later DEMAND, causes, CDOs and parts that differ between start and end."""
    case("kept data and a DISPOSE without a handle")("offer", 5, 1, "a", size=9)("transport_completed", 6, 2, "a")(
        "dispose", 7, 2, "a")("demand", 8, 2, "a")("retract", 9, 2, "a")("transport_completed", 10, 1, "a")("dispose", 11, 1, "a")(
        "demand", 12, 1, "a")("transport_completed", 20, 2, "b")("dispose", 21, 2, "b")("demand", 22, 2, "b")("offer", 30, 1, "c")(
        "offer", 31, 2, "c")("transport_completed", 32, 2, "c")("dispose", 33, 2, "c")("demand", 34, 2, "c")
    causes = case("start and end of a transport name different causes")
    for number, (begin, end) in enumerate((begin, end) for begin in (None, 0, 1, 2) for end in (None, 0, 1, 2)):
        at, cdo = 10 + 20 * number, f"c{number}"
        first, last = ({} if cause is None else {"cause": cause} for cause in (begin, end))
        causes("offer", at, 1, cdo, size=9)("transport_init", at + 1, 2, cdo, number=2 * number, **first)(
            "transport_completed", at + 2, 2, cdo, number=2 * number, **last)("demand", at + 3, 2, cdo)("dispose", at + 5, 2, cdo)(
            "demand", at + 6, 2, cdo, before=True)("transport_init", at + 7, 2, cdo, number=2 * number + 1, **first)(
            "transport_completed", at + 9, 2, cdo, number=2 * number + 1, **last)("demand", at + 10, 2, cdo)("dispose", at + 15, 2, cdo)
    case("the end of a transport names another CDO")("offer", 2, 1, "a", size=9)("offer", 3, 1, "b")("offer", 4, 1, "c", size=20)(
        "demand", 5, 2, "a")("demand", 6, 2, "b")("transport_init", 8, 2, "a", number=1, cause=1)(
        "transport_completed", 12, 2, "b", number=1)("transport_completed", 15, 2, "a", number=1)(
        "demand", 20, 2, "a")("transport_init", 21, 2, "a", number=2, size=77)("transport_completed", 22, 2, "c", number=2)(
        "demand", 23, 2, "c")("transport_init", 24, 2, "c", number=3)("transport_completed", 26, 2, number=3)(
        "transport_init", 30, 2, "c", number=4)("transport_failed", 32, 2, "b", number=4)("demand", 33, 2, "b")(
        "transport_init", 34, 2, "d", number=5)("transport_completed", 36, 2, "c", number=5)("leave", 40, 2)
    case("a DEMAND after the start of its transport", bucket="10ms")("offer", 5, 1, "a", size=9)(
        "transport_init", 6, 2, "a", number=1)("withdraw", 7, 1, "a")("demand", 8, 2, "a")("transport_completed", 25, 2, "a", number=1)(
        "transport_init", 30, 2, "b", number=2)("offer", 31, 1, "b")("demand", 32, 2, "b")("transport_completed", 38, 2, "b", number=2)(
        "transport_init", 40, 2, "c", number=3)("demand", 41, 2, "c")("transport_completed", 45, 2, "c", number=3)(
        "offer", 50, 1, "d")("transport_init", 52, 2, "d", number=4)("dispose", 53, 1, "d")("demand", 54, 2, "d")("offer", 56, 1, "d")(
        "transport_completed", 58, 2, "d", number=4)


def cases_of_handles(case):
    """Makers that did not declare, and those that declared more than once."""
    case("handles that were not seen to be declared")("seal", 5, 1, "a", size=9)("dispose", 6, 1, "a")("seal", 7, 1, "b")(
        "declare", 8, 1, "b")("dispose", 9, 1, "b")("require", 10, 2, "b")("dispose", 11, 1, "b")("offer", 12, 1, "c")(
        "seal", 13, 2, "c", size=7)("dispose", 14, 1, "c")("dispose", 15, 2, "c")("offer", 20, 1, "d")("withdraw", 21, 1, "d")(
        "offer", 22, 2, "d")("dispose", 23, 1, "d")("withdraw", 24, 2, "d")("offer", 25, 1, "d")("dispose", 26, 1, "d")("seal", 30, 1, "e")(
        "require", 31, 1, "e")("declare", 32, 2, "e")("dispose", 33, 1, "e")("dispose", 34, 2, "e")("seal", 40, 1, "f")(
        "require", 41, 1, "f")("dispose", 42, 1, "f")("seal", 50, 1, "g")("require", 51, 1, "g")("declare", 52, 2, "g", size=5)(
        "dispose", 53, 2, "g")("dispose", 54, 1, "g")("offer", 60, 1, "h")("seal", 61, 2, "h", size=3)("leave", 62, 1)("leave", 63, 2)
    twice = case("several DECLAREs before an OFFER")
    for number, events in enumerate((
            [("declare", 1), ("declare", 1)], [("declare", 1), ("declare", 2), ("declare", 2)], [("declare", 1), ("require", 1), ("declare", 1)],
            [("sized", 1), ("sized", 1)], [("sized", 1), ("declare", 1)], [("seal", 1), ("declare", 1)],
            [("declare", 1), ("dispose", 1), ("declare", 1)], [("declare", 1), ("declare", 2), ("dispose", 2), ("declare", 2)],
            [("declare", 1), ("require", 1), ("sized", 1)], [("declare", 1), ("sized", 2), ("declare", 2)])):
        at, cdo, app = 10 + 20 * number, f"n{number}", events[-1][1]
        for step, (kind, who) in enumerate([*events, ("offer", app), ("withdraw", app), ("dispose", app), ("dispose", app)]):
            size = {"size": 5} if kind == "sized" else {}
            twice("declare" if size else kind, at + step + step * step / 10, who, cdo, **size)


def cases_of_ends(case):
    """The time to which the last bucket of a run is measured."""
    case("a time mark, then an older event")("demand", 150, 2, "a").mark(29, 180)("demand", 160, 2, "b")
    case("a time mark, then a late event")("demand", 150, 2, "a").mark(29, 1050)("demand", 160, 2, "b")
    case("an older event at the end")("demand", 150, 2, "a")("offer", 180, 1, "a")("demand", 120, 2, "b")
    back = case("a time mark before the clock is set back").mark(29, 100_050)
    for number in range(256):
        back("demand", 10 + number / 10, 2, f"n{number}")
