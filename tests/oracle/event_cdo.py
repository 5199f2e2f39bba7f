# SPDX-License-Identifier: BSD-3-Clause
"""What an event does to the CDO that it names."""

from catalogue import NAME_BYTES
from records import Cdo


class OnCdo:
    """Part of event.Event."""

    def on_cdo(self):
        self.cdo = self.oracle.cdos.get(self.key)
        if self.kind in ("declare", "seal", "offer"):
            getattr(self, self.kind)()
        elif self.kind in ("require", "demand"):
            self.consume()  # and does not make what it asks for, whatever size the event carries
        if self.cdo is not None:
            self.producer = self.oracle.producer_name(self.cdo)
            self.learn_size()
            self.learn_story()
        if self.kind == "retract":
            self.end_demand()
        elif self.kind in ("demand", "withdraw", "dispose"):
            getattr(self, self.kind)()

    def new_cdo(self):
        self.cdo = self.oracle.cdos.add(self.key, Cdo(self.row))

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
        elif not self.cdo.made or self.size is not None and self.cdo.size is None:
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
        self.select(cdo)
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
