# SPDX-License-Identifier: BSD-3-Clause
"""Streams in which a few components do anything to a few CDOs in any order: what no workflow does,
and what a stream with losses may look like. The same seed always gives the same stream."""

import random

import stream
from streams import BEGIN, MILLISECOND, NUMBER, Event, Mark

SECOND = 1000 * MILLISECOND
EVENTS = 1200
APPS, CDOS, TRANSPORTS = 7, 12, 9
KINDS = ("join join leave declare declare declare seal seal offer offer offer require demand demand "
         "demand retract withdraw withdraw withdraw dispose dispose transport_init transport_init "
         "transport_init transport_completed transport_completed transport_completed "
         "transport_failed subscribe unsubscribe").split()
NAMES = [b"IFS -- 0", b"IFS -- 1", b"IFS -- 0", b'Products, "1"']


class Stream:
    """One seed's stream."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.huge = seed % 3 == 0
        self.now = BEGIN
        self.items = []

    def time(self):
        """Most events come in order, some a little early, few very late: not where sizes are huge, since bytes that leave the pool
        later, but in an earlier bucket, would be more than a gauge holds."""
        dice = self.dice
        self.now += dice.randrange(5 * MILLISECOND)
        if dice.random() < 0.002:
            self.now += 3 * SECOND
        time = self.now
        if self.huge:
            return time
        if dice.random() < 1 / 7:
            time -= dice.randrange(20 * MILLISECOND)
        if dice.random() < 1 / 97:
            time -= dice.randrange(3 * SECOND)
        return time

    def size(self):
        """Up to 4 GiB; a few fill all of 64 bits, beyond what a gauge or a bandwidth holds."""
        if self.huge and self.dice.random() < 0.02:
            return 2**64 - 1 - self.dice.randrange(2)
        return self.dice.getrandbits(64) >> 32 + self.dice.randrange(32)

    def event(self):
        dice = self.dice
        kind = dice.choice(KINDS)
        event = Event(kind=NUMBER[kind], time_ns=self.time(), app_id=1 + dice.randrange(APPS))
        if kind == "join":
            event.name = NAMES[event.app_id % len(NAMES)]
            return event  # always after: before, it has no id
        if kind == "leave":
            event.reason = 1 + dice.randrange(4)
        elif kind not in ("subscribe", "unsubscribe"):
            event.cdo_id = (1 + dice.randrange(CDOS)).to_bytes(16, "big")
            if dice.random() < 1 / 3:
                event.size_bytes = self.size()
        if kind.startswith("transport_"):
            event.transport_id = 1 + dice.randrange(TRANSPORTS)
            event.tier = dice.randrange(len(stream.TIERS))
            event.cause = dice.randrange(len(stream.CAUSES))
            peer = dice.randrange(APPS + 1)
            if peer:
                event.peer_id = peer
        if dice.random() < 0.25:
            event.before = True
        return event

    def at_once(self, start):
        """The end of a transport within nanoseconds."""
        end = Event()
        end.CopyFrom(start)
        end.kind = NUMBER["transport_completed"]
        end.time_ns += self.dice.randrange(3)
        return end

    def made(self, events=EVENTS):
        while len(self.items) < events:
            event = self.event()
            self.items.append(event)
            if event.kind == NUMBER["transport_init"] and self.dice.random() < 0.2:
                self.items.append(self.at_once(event))
        return self.items


def statistics_of(seed):
    """Wide bounds for most streams, so that the rules of pairing decide; narrow ones for some."""
    if seed % 4:
        return {"bucket": "1s"}
    dice = random.Random(seed)
    return {
        "bucket": dice.choice(["100ms", "1s"]),
        "max_series": dice.choice([5, 24, 90, 1024]),
        "max_components": dice.choice([4, 64]),
        "max_cdos": dice.choice([16, 65536]),
        "max_pending": dice.choice([16, 65536]),
        "level": dice.choice(["workflow", "component", "cdo"]),
    }
