# SPDX-License-Identifier: BSD-3-Clause
"""A part of the oracle's event: a stay ends without a LEAVE, of one component or of all in the pool."""

import stream
from catalogue import UNKNOWN


class OnGone:
    def release(self):
        """What the component held belongs to no component."""
        oracle, row = self.oracle, self.row
        row.gone = True
        for hold in [hold for hold in oracle.holds.values() if hold.row is row]:
            self.anomalies["not_disposed_at_leave"] += hold.handles
            self.anomalies["not_withdrawn_at_leave"] += hold.offers
            oracle.drop_hold(hold)
            if hold.offers:
                oracle.end_offer_of(hold)
        for key, cdo in list(oracle.cdos.items()):
            if cdo.row is row:
                self.anomalies["not_disposed_at_leave"] += cdo.row_declared
                self.anomalies["not_withdrawn_at_leave"] += cdo.row_offers
                if cdo.offerers:
                    oracle.hand_over(cdo)
                else:
                    oracle.end_cdo(oracle.cdos.pop(key), "left")
        for key in [key for key in oracle.demands if key[1] is row]:
            oracle.blocked.finished(key[0], row, self.component)
            oracle.give_up_demand(oracle.demands.pop(key), self.time)
            self.anomalies["demand_never_satisfied"] += 1
        for key in [key for key in oracle.received if key[1] is row]:
            oracle.blocked.end(oracle.received.pop(key))
        self.drop_pending()

    def drop_pending(self):
        self.row.pend("demand", None)
        self.row.pend("withdraw", None)

    def release_rest(self):
        """What belongs to no component."""
        oracle = self.oracle
        for cdo in oracle.cdos.values():
            oracle.end_cdo(cdo, "left")
        for transport in oracle.transports.values():
            oracle.change["transports_active", (transport["tier"],)] -= 1
            transport["row"].pend(("transport", transport["tier"]), -1)
        for demand in oracle.demands.values():
            oracle.give_up_demand(demand, self.time)
        self.drop_pending()
        for table in (oracle.cdos, oracle.holds, oracle.received, oracle.demands, oracle.transports):
            table.clear()
        oracle.counted_before.clear()

    @classmethod
    def released(cls, oracle, row, time, reason):
        """The row's component as if it had left, but for the operation; row 0: whatever is left."""
        leave = stream.event_pb2.Event(kind=2, time_ns=time)
        if reason:
            leave.reason = reason
        if row.app is not None:
            leave.app_id = row.app
        oracle.excluded = oracle.rules.excluded(leave, oracle.find_row)
        self = cls(oracle, leave)
        self.row, self.no_component = row, row is oracle.rows[0]
        oracle.blocked.time = time
        self.component = UNKNOWN if self.no_component else row.name
        tracked = len(oracle.cdos)
        oracle.change["components_present", ()] -= row.present
        row.present = 0
        if self.no_component:
            self.release_rest()
        else:
            self.release()
        oracle.change["vampire_tracked_cdos", ()] = len(oracle.cdos) - tracked
        self.write_down(before=True)  # no operation is counted
