# SPDX-License-Identifier: BSD-3-Clause
"""What is remembered from one event to the next: of a CDO, of a component."""

import collections

from catalogue import CDO_TIMES, NAME_BYTES, UNKNOWN


def cut_name(name):
    return name.split(b"\0")[0][:NAME_BYTES].decode("utf-8", "ignore")


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


class Hold:
    """What a component other than the one of the record holds of a CDO."""

    def __init__(self, key, row):
        self.key, self.row = key, row
        self.handles, self.since, self.offers = 0, None, False


class Cdo:
    def __init__(self, key, row, handles):
        self.key, self.row = key, row  # whose record it is
        self.made = False  # and whether that is its maker
        self.size = self.declared = self.offered = None
        self.ever_offered = self.counted = False
        self.demands, self.demanded = 0, False  # data that moved before their DEMAND count as one
        self.row_offers, self.offerers = False, []  # others: their rows, in the order of offering
        self.row_handles, self.row_declared = 1, handles
        self.other_handles = 0
        # The row of level `cdo`, if it has one.
        self.selected = False
        self.id, self.name, self.all_demands, self.consumers = None, "", 0, 0
        self.times = dict.fromkeys(CDO_TIMES)


    @property
    def in_pool(self):
        return self.row_offers or bool(self.offerers)


class Row:
    def __init__(self, app):
        self.app, self.name, self.joined, self.left = app, UNKNOWN, None, None
        self.reason, self.operations = "", 0
        self.listed = self.given_up = False  # in the component table; beyond it, for another component to have
        self.forget()

    def forget(self):
        """The statistics start again: what the component holds and is known by."""
        self.present = 0
        self.acted = None  # time and place of its last operation
        self.pending = {}  # "demand", "withdraw", ("transport", tier) -> [now, least, most] since the bucket's begin
        self.gone = self.unknown_reported = self.seen = False

    def pend(self, kind, change):
        """One more or less is pending; None: none is."""
        counts = self.pending.setdefault(kind, [0, 0, 0])
        now = 0 if change is None else counts[0] + change
        counts[:] = now, min(counts[1], now), max(counts[2], now)
