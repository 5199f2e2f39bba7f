# SPDX-License-Identifier: BSD-3-Clause
"""Transports: begun, completed, failed."""

from catalogue import UNKNOWN


class OnTransport:
    """Part of event.Event."""

    def transport_key(self):
        if self.event.HasField("transport_id"):
            return ("number", self.event.transport_id)
        if self.key is None:
            return None
        return ("of", self.key, self.event.app_id if self.event.HasField("app_id") else 0)

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
