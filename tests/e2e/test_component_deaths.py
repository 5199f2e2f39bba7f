# SPDX-License-Identifier: BSD-3-Clause
"""A component may die at any point: kill -9 of producers and consumers in each state a CDO handle can be
in. The others go on, what the dead held is released and counted by name, and nothing grows."""

import collections
import signal

import pytest

import harness
import results
from test_failures import descriptors, json_records, nobody_is_left
from test_rejoin import resident_kib

KIB, MIB = 1 << 10, 1 << 20
NOT_DISPOSED, NOT_WITHDRAWN = "not_disposed_at_leave", "not_withdrawn_at_leave"
UNSATISFIED, FAILED, UNWANTED = "demand_never_satisfied", "transport_failed", "offer_never_demanded"

# `steps` of the one who is killed, `partner` of one who lives (see workflow_steps.c); CDO is theirs alone.
# "GO" is where the partner waits until the other is dead. `seen`: the last operation, by whom, that vampire
# has counted when the state is reached, where the steps do not tell. `stopped`: who stands still meanwhile,
# so that a transport is under way. `anomalies`: of the dead, and of the partner.
State = collections.namedtuple("State", "steps partner seen stopped anomalies partners_anomalies")


def state(steps, *anomalies, partner=(), seen=None, stopped=None, partners_anomalies=()):
    return State(list(steps), list(partner), seen, stopped, collections.Counter(anomalies),
                 collections.Counter(partners_anomalies))


OFFER = ["declare CDO", f"size CDO {64 * KIB}", "offer CDO"]
LARGE_OFFER = ["declare CDO", f"size CDO {8 * MIB}", "offer CDO"]
REQUIRE = ["declare CDO", "require CDO"]
END_OF_OFFER = ["withdraw CDO", "dispose CDO"]
END_OF_REQUIRE = ["retract CDO", "dispose CDO"]

STATES = {
    "joined": state([]),
    "declared": state(["declare CDO"], NOT_DISPOSED),
    "offered": state(OFFER, NOT_WITHDRAWN, NOT_DISPOSED),
    "withdrawing": state([*OFFER, "withdraw CDO"], NOT_WITHDRAWN, NOT_DISPOSED,
                         partner=[*REQUIRE, "GO", *END_OF_REQUIRE]),
    "source of a transport": state(
        LARGE_OFFER, NOT_WITHDRAWN, NOT_DISPOSED, stopped="victim", seen=("partner", "transport_init"),
        partner=[*REQUIRE, "GO", "!demand CDO", *END_OF_REQUIRE], partners_anomalies=[FAILED]),
    "withdrawn": state([*OFFER, "withdraw CDO"], UNWANTED, NOT_DISPOSED),
    "disposed": state([*OFFER, *END_OF_OFFER], UNWANTED),
    "requiring": state(REQUIRE, NOT_DISPOSED),
    "demanding": state([*REQUIRE, "demand CDO"], NOT_DISPOSED, UNSATISFIED, seen=("victim", "demand")),
    "sink of a transport": state(
        [*REQUIRE, "demand CDO"], NOT_DISPOSED, UNSATISFIED, FAILED, stopped="partner",
        seen=("victim", "transport_init"), partner=[*LARGE_OFFER, "GO", *END_OF_OFFER]),
    "satisfied": state([*REQUIRE, "demand CDO"], NOT_DISPOSED,
                       partner=[*OFFER, "GO", *END_OF_OFFER]),
    "retracted": state([*REQUIRE, "retract CDO"], NOT_DISPOSED),
    "holding up others": state(["hold CDO"], partner=[*OFFER, *END_OF_OFFER]),
}
