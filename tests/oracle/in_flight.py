# SPDX-License-Identifier: BSD-3-Clause
"""What is in flight when time reaches the end of a bucket."""

import stream
from catalogue import NO_AGE, OTHER, PENDING_DEMANDS


def take(oracle, now):
    """For the newest bucket, in which time goes on until `now`."""
    bucket, oracle.bucket = oracle.bucket, oracle.newest
    for row in oracle.rows:
        name = OTHER if row is oracle.rows[0] else row.name
        for metric, labels, kind in kinds(name):
            add(oracle, metric, labels, row.pending.get(kind, (0, 0, 0)))
            if kind in row.pending:
                row.pending[kind] = [row.pending[kind][0]] * 3
        uncertain = 0
        for metric, waits in (("demand_oldest_ns", oracle.demands), ("withdraw_oldest_ns", oracle.received),
                              ("transport_oldest_ns", oracle.transports)):
            mine = [wait for wait in waits.values() if wait["row"] is row and (
                waits is not oracle.received or wait["kind"] == "withdraw")]
            uncertain += sum(wait["place"] <= oracle.lost for wait in mine)
            oldest = min((wait.get("since", wait.get("started")) for wait in mine), default=None)
            if oldest is not None and oldest <= now:
                age(oracle, metric, name, now - oldest)
        counts = row.acted is not None and not row.gone and row is not oracle.rows[0]
        uncertain += counts and row.acted[1] <= oracle.lost
        add(oracle, "in_flight_uncertain", (name,), (uncertain,) * 3)
        if counts and row.acted[0] < oracle.newest * oracle.width:
            age(oracle, "component_silent_ns", name, now - row.acted[0])
    old = [wait for wait in oracle.demands.values() if wait["since"] <= oracle.newest * oracle.width]
    old.sort(key=lambda wait: (wait["since"], wait["place"]))
    oracle.waiting[oracle.position()] = [waiting(oracle, wait, now) for wait in old[:PENDING_DEMANDS]]
    oracle.bucket = bucket


def waiting(oracle, wait, now):
    """A demand in the list, with the number of all."""
    cdo, producer = oracle.cdos.get(wait["key"]), oracle.rows[0]
    if cdo is not None and cdo.offerers and not cdo.row_offers:
        producer = cdo.offerers[-1]
    elif cdo is not None and cdo.made:
        producer = cdo.row
    return (len(oracle.demands), wait["row"].name, wait["since"], now - wait["since"], *wait["cdo"],
            "" if producer is oracle.rows[0] else producer.name, cdo is not None and bool(cdo.in_pool),
            wait["place"] <= oracle.lost)


def kinds(name):
    yield "demands_pending", (name,), "demand"
    yield "withdraws_pending", (name,), "withdraw"
    for tier in stream.TIERS.values():
        yield "transports_pending", (name, tier), ("transport", tier)


def add(oracle, metric, labels, numbers):
    if any(numbers):
        entries, at = oracle.taken[metric, oracle.series_of(metric, labels)], oracle.position()
        entries[at] = tuple(a + b for a, b in zip(entries.get(at, (0, 0, 0)), numbers))


def age(oracle, metric, name, value):
    entries, at = oracle.taken[metric, oracle.series_of(metric, (name,))], oracle.position()
    entries[at] = max(entries.get(at, NO_AGE), (min(value, 2**63 - 2),) * 3)  # what a gauge shows at most


def entries(metric_is_age, by_bucket, count):
    """One for each bucket."""
    none = NO_AGE if metric_is_age else (0, 0, 0)
    return [by_bucket.get(bucket, none) for bucket in range(count)]
