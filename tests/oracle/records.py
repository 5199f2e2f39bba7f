# SPDX-License-Identifier: BSD-3-Clause
"""What is remembered from one event to the next: of a CDO, of a component."""

import collections

from catalogue import CDO_TIMES, UNKNOWN


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
        # The row of level `cdo`, if it has one.
        self.selected = False
        self.id, self.name, self.all_demands, self.consumers = None, "", 0, 0
        self.times = dict.fromkeys(CDO_TIMES)


class Row:
    def __init__(self, app):
        self.app, self.name, self.joined, self.left = app, UNKNOWN, None, None
        self.reason, self.operations = "", 0
        self.forget()

    def forget(self):
        """The statistics begin anew: what the component holds and is known by."""
        self.handles = self.present = 0
        self.gone = self.told_unknown = False
