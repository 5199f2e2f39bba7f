# SPDX-License-Identifier: BSD-3-Clause
"""An event written down under the metrics it counts for, in the order of the catalogue."""

from catalogue import ANOMALIES, ATTRIBUTES, LABELS, OTHER, SECOND, UNKNOWN, labels_at, size_class


class Counting:
    """Part of event.Event."""

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
        oracle.change["pool_bytes", ()] = oracle.shown_bytes(oracle.change["pool_bytes", ()])
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
        if self.parts is not None and "demand_wait_ns" not in oracle.excluded:
            self.write_parts()
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

    def admitted_transport(self, labels):
        """With all its labels first, so that its numbers and its time give up the same ones."""
        names = labels_at("transports", self.oracle.options["level"])
        if not names:
            return labels
        kept = dict(zip(names, self.oracle.series_of("transports", labels)))
        return tuple(kept.get(name, label) for name, label in zip(LABELS["transports"], labels))

    def write_parts(self):
        """With the same labels: what one part gives up, all do."""
        metric, oracle = "demand_wait_part_ns", self.oracle
        names, labels = labels_at(metric, oracle.options["level"]), [self.component, self.producer]
        attributes = list(oracle.attributes)
        left, one = [] if UNKNOWN in self.parts else list(self.parts), None
        while left and one is None:
            kept = dict(zip(names, oracle.series_of(metric, (*labels, left[0], *attributes))))
            room = [kept.get("producer", labels[1]), *(kept[name] for name in ATTRIBUTES)]
            if kept["part"] != left[0]:
                one = [kept.get(name, OTHER) for name in LABELS[metric]]
            elif room != [labels[1], *attributes]:
                labels[1], attributes, left = room[0], room[1:], list(self.parts)
            else:
                left = left[1:]
        for part, time in self.parts.items():
            oracle.record(metric, tuple(one) if one else (*labels, part, *attributes), time)

    def write_transport(self, classed):
        oracle = self.oracle
        labels = self.admitted_transport((self.source, self.sink, classed, self.tier, self.cause, *oracle.attributes))
        oracle.count("transports", labels, 1)
        oracle.count("transport_bytes", labels, self.size or 0)
        if self.transport_time is not None:
            oracle.record("transport_ns", labels[:4] + labels[5:], self.transport_time)
            if self.transport_time and self.size:
                rate = self.size * SECOND // self.transport_time
                oracle.record("transport_bytes_per_second", (classed, self.tier), min(rate, 2**64 - 1))
