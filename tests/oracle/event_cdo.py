# SPDX-License-Identifier: BSD-3-Clause
"""What an event does to the CDO that it names."""

from records import Cdo, Hold, cut_name


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
            self.update_history()
        if self.kind in ("retract", "dispose"):
            self.oracle.blocked.finished(self.key, self.row, self.component)
        if self.kind == "retract":
            if self.end_demand() is None and self.take_delivery("early") and self.cdo is not None:
                self.cdo.demands = max(0, self.cdo.demands - 1)
        elif self.kind in ("demand", "withdraw", "dispose"):
            getattr(self, self.kind)()

    def new_cdo(self):
        self.cdo = self.oracle.cdos.add(self.key, Cdo(self.key, self.row, 0))
        hold = self.my_hold()  # a handle that outlived the record before
        if hold is not None:
            self.oracle.drop_hold(hold)
            self.oracle.give(self.cdo, self.row, hold)
        if self.kind == "declare":
            self.cdo.row_declared += 1
            self.cdo.row_handles = self.cdo.row_declared

    def is_mine(self):
        return self.cdo.row is self.row

    def my_hold(self):
        return self.oracle.holds.get((self.key, self.row))

    def need_hold(self):
        return self.my_hold() or self.oracle.holds.add((self.key, self.row), Hold(self.key, self.row))

    def become_maker(self):
        if not self.is_mine():
            cdo, hold = self.cdo, self.my_hold()
            if hold is not None:
                self.oracle.drop_hold(hold)
                if hold.offers:
                    cdo.offerers.remove(self.row)
            if cdo.row_declared or cdo.row_offers:
                left = self.oracle.holds.add((self.key, cdo.row), Hold(self.key, cdo.row))
                left.handles, left.since, left.offers = cdo.row_declared, cdo.declared, cdo.row_offers
                cdo.other_handles += left.handles
                if left.offers:
                    cdo.offerers.append(cdo.row)
            self.oracle.give(cdo, self.row, hold)
        self.cdo.made = True

    def declare(self):
        sized = self.size is not None
        if self.cdo is None:
            self.new_cdo()
            if sized:
                return
        else:
            cdo = self.cdo
            if self.is_mine():
                cdo.row_handles += 1
                cdo.row_declared += 1
            else:
                hold = self.need_hold()
                hold.since = hold.since if hold.handles else self.time
                hold.handles += 1
                cdo.other_handles += 1
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

    def offers_it(self):
        return self.cdo.row_offers if self.is_mine() else self.row in self.cdo.offerers

    def offer(self):
        if self.cdo is None:
            self.new_cdo()
        cdo = self.cdo
        if self.offers_it():
            self.anomalies["operation_out_of_order"] += 1
            return
        self.offered = True
        if cdo.in_pool:
            if self.is_mine():
                cdo.row_offers = True
            else:
                self.need_hold().offers = True
                cdo.offerers.append(self.row)
            return
        self.become_maker()
        self.oracle.blocked.offer(self.key, self.row, self.component)
        if cdo.declared is not None and not cdo.ever_offered:
            self.lifecycle["declare_to_offer_ns"] = self.interval(cdo.declared)
        cdo.offered = self.time
        cdo.row_offers = cdo.ever_offered = True
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
            self.created = self.oracle.producer_name(cdo) if self.oracle.is_new(cdo) else None

    def update_history(self):
        cdo = self.cdo
        self.select(cdo)
        if self.event.HasField("cdo_id"):
            cdo.id = self.event.cdo_id.hex()
        if self.event.HasField("name") and not cdo.name:
            cdo.name = cut_name(self.event.name)
        first = {"declare": "declared", "seal": "sealed", "offer": "offered", "demand": "first_demand"}
        last = {"withdraw": "withdrawn", "dispose": "disposed"}
        if self.kind in first and cdo.times[first[self.kind]] is None:
            cdo.times[first[self.kind]] = self.time
        if self.kind in last:
            cdo.times[last[self.kind]] = self.time
        cdo.all_demands += self.kind == "demand"

    def consume(self):
        cdo = self.cdo
        if cdo is not None and self.is_mine() and not cdo.ever_offered and not cdo.counted:
            cdo.made = False

    def demand(self):
        early = self.begin_demand(before=False)
        cdo = self.cdo
        if cdo is None:
            return
        if cdo.in_pool and not cdo.demanded:
            self.lifecycle["offer_to_first_demand_ns"] = self.interval(cdo.offered)
        cdo.demanded = True
        cdo.demands += not early

    def leave_pool(self):
        """The last offer was taken back."""
        cdo = self.cdo
        self.fan_out = cdo.demands
        if cdo.demands == 0:
            self.anomalies["offer_never_demanded"] += 1
        self.oracle.out_of_pool(cdo)

    def end_offer(self):
        """This component's; others may offer the CDO still."""
        cdo = self.cdo
        if self.is_mine():
            cdo.row_offers = False
            return
        hold = self.my_hold()
        hold.offers = False
        cdo.offerers.remove(self.row)
        if not hold.handles:
            self.oracle.drop_hold(hold)

    def withdraw(self):
        cdo = self.cdo
        if cdo is None:
            return
        if not self.offers_it():
            self.anomalies["operation_out_of_order"] += 1
            return
        self.end_offer()
        if not cdo.in_pool:
            self.lifecycle["offer_to_withdraw_ns"] = self.interval(cdo.offered)
            self.leave_pool()

    def dispose(self):
        if self.end_demand() is not None:
            self.anomalies["demand_never_satisfied"] += 1
        cdo = self.cdo
        if cdo is not None and self.is_mine():
            self.dispose_mine()
        else:
            self.dispose_of_hold()
        hold = self.my_hold()
        if not (hold and hold.handles) and not (cdo is not None and self.is_mine() and cdo.row_handles):
            self.drop_delivery()
        if cdo is not None and not cdo.made and not cdo.row_handles and not cdo.other_handles:
            self.oracle.end_cdo(self.oracle.cdos.pop(self.key), "disposed")

    def dispose_mine(self):
        cdo = self.cdo
        cdo.row_handles = max(0, cdo.row_handles - 1)
        cdo.row_declared = max(0, cdo.row_declared - 1)
        if not cdo.made or cdo.row_handles:
            return
        if cdo.declared is not None:
            self.lifecycle["cdo_lifetime_ns"] = self.interval(cdo.declared)
        if cdo.row_offers:
            self.end_offer()
            if not cdo.in_pool:
                self.leave_pool()
        if cdo.offerers:
            self.oracle.hand_over(cdo)
        else:
            self.oracle.end_cdo(self.oracle.cdos.pop(self.key), "disposed")

    def dispose_of_hold(self):
        cdo, hold = self.cdo, self.my_hold()
        if hold is None:
            return
        if hold.handles:
            hold.handles -= 1
            if cdo is not None:
                cdo.other_handles = max(0, cdo.other_handles - 1)
        if hold.handles:
            return
        if hold.offers:
            self.end_offer()
            if not cdo.in_pool:
                self.leave_pool()
        else:
            self.oracle.drop_hold(hold)
