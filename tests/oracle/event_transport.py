# SPDX-License-Identifier: BSD-3-Clause
"""Transports: begun, completed, failed."""

from catalogue import UNKNOWN


class OnTransport:
    """Part of event.Event."""

    def transport_key(self):
        if self.event.HasField("transport_id"):
            return ("number", self.event.transport_id)
        return None if self.key is None else ("of", self.key, self.to())

    def learn_of_transport(self):
        self.cdo = self.oracle.cdos.get(self.key)
        if self.cdo is not None:
            self.select(self.cdo)
            if self.size is not None:
                self.learn_size()

    def transport_init(self):
        key = self.transport_key()
        if key is None:
            return
        if key in self.oracle.transports:
            self.anomalies["operation_out_of_order"] += 1
            return
        self.oracle.transports.add(key, {
            "started": self.time, "size": self.size, "sink": self.sink, "tier": self.tier,
            "row": self.row, "place": self.oracle.events, "cdo": self.key, "to": self.to(),
            "offered": self.cdo.offered if self.cdo is not None and self.cdo.in_pool else None,
            "producer": self.producer_of_cdo(), "cause": self.cause, "source": self.source if self.event.HasField("peer_id") else None,
        })
        self.oracle.blocked.start(self.oracle.transports[key], self.cdo)
        self.oracle.transports[key]["demanded"] = (self.key, self.who()) in self.oracle.demands
        self.row.pend(("transport", self.tier), 1)
        self.oracle.change["transports_active", (self.tier,)] += 1

    def transport_completed(self):
        start = self.end_transport()
        self.completed = True
        cdo = self.oracle.cdos.get(self.key)
        if cdo is not None:
            cdo.consumers += 1
            cdo.times["last_transport"] = self.time
        if self.key is not None:
            pending = self.end_demand()
            by_demand = self.cause == "demand" or bool(start) and start["cause"] == "demand"
            if pending is None and not by_demand and not (start and start["demanded"]):
                self.deliver("early")
            if pending is not None:
                in_pool = start is not None and start["offered"] is not None and (start["cdo"], start["to"]) == (self.key, self.to())
                self.oracle.blocked.satisfied(pending, start if in_pool else None, self.cdo)
                if not pending["acknowledged"] and not by_demand:
                    self.deliver("awaited")
                self.waits["demand_wait_ns"] = self.interval(pending["since"])
                if self.waits["demand_wait_ns"] is not None:
                    self.cut_wait(pending, start)
        self.oracle.blocked.finished(self.key, self.row, self.component)

    def to(self):
        return self.event.app_id if self.event.HasField("app_id") else None

    def producer_of_cdo(self):
        return self.oracle.producer_name(self.cdo) if self.cdo is not None and self.cdo.made else UNKNOWN

    def cut_wait(self, demand, start):
        """Into what it was for: the offer, the start, the transport itself; or all of it unknown."""
        self.producer, self.parts = self.producer_of_cdo(), {UNKNOWN: self.waits["demand_wait_ns"]}
        if start is None or start["offered"] is None or (start["cdo"], start["to"]) != (self.key, self.to()):
            return
        if start["place"] < demand["place"]:  # its data move already
            if start["offered"] <= start["started"] <= demand["since"] <= self.time:
                self.producer = start["producer"]
                self.parts = {"for_offer": 0, "for_start": 0, "moving": self.time - demand["since"]}
            return
        ready = max(demand["since"], start["offered"])
        if demand["since"] <= ready <= start["started"] <= self.time:
            self.producer = start["producer"]
            self.parts = {"for_offer": ready - demand["since"], "for_start": start["started"] - ready,
                          "moving": self.time - start["started"]}

    def transport_failed(self):
        self.end_transport()
        self.anomalies["transport_failed"] += 1
        pending = self.oracle.demands.get((self.key, self.who())) if self.key is not None else None
        if pending is not None:
            pending["failed"] = True
        self.oracle.blocked.finished(self.key, self.row, self.component)

    def end_transport(self):
        key = self.transport_key()
        start = self.oracle.transports.pop(key, None) if key is not None else None
        if start is not None:
            start["row"].pend(("transport", start["tier"]), -1)
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
        return start
