# SPDX-License-Identifier: BSD-3-Clause
"""A call of libfabric fails in vampire or in the pool manager: it says what failed and ends, or goes
on and counts the same as the components did. (All calls, in all numbers, are tried within one
process by tests/unit/maestro_fabric_faults_test.c.)"""

import signal
import subprocess

import pytest

import harness
from harness import ROOT
from test_workflow import KIB, assert_agreement, assert_complete, model_options

pytestmark = pytest.mark.skipif(
    harness.MODE in ("asan", "tsan"), reason="sanitizers want to be preloaded first"
)
EAGAIN, ENOMEM, EIO = 11, 12, 5
# What cannot be opened: (call, errno), and what the message has to speak of.
OPENING = {
    "FABRIC": (ENOMEM, "open the fabric"),
    "DOMAIN": (EIO, "open the domain"),
    "AV_OPEN": (ENOMEM, "address table"),
    "ENDPOINT": (ENOMEM, "open the endpoint"),
    "BIND": (EIO, "connect the endpoint"),
    "ENABLE": (EIO, "start the endpoint"),
    "GETNAME": (EIO, "address"),
    "GETINFO": (ENOMEM, "libfabric provider"),
}


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    library = tmp_path_factory.mktemp("shim") / "fail_fabric.so"
    source = ROOT / "tests" / "e2e" / "fail_fabric.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-I{ROOT}", "-o", library, source], check=True)
    return library


def faulty(shim, call, number, error):
    return {"LD_PRELOAD": str(shim), "FAIL_FABRIC": f"{call}:{number}:{error}"}


def test_an_endpoint_that_cannot_be_opened(space, shim):
    for call, (error, words) in OPENING.items():
        manager = space.start(
            [harness.program("maestro-pool-manager")], f"manager-{call}",
            {"MSTRO_COMPONENT_NAME": "Pool Manager", **faulty(shim, call, 1, error)},
        )
        assert manager.wait() in (1, 3), manager.account()
        assert words in manager.stderr, f"{call}: {manager.stderr}"
    space.pool_manager()
    for call, (error, words) in OPENING.items():
        config = harness.vampire_config(source={"wait": "1s"})
        vampire = space.vampire(config, name=f"vampire-{call}", ready=False, extra=faulty(shim, call, 1, error))
        vampire.until_stderr(words)
        # What failed once need not fail again: it may have joined meanwhile.
        vampire.signal(signal.SIGTERM)
        assert vampire.wait() in (0, 1, 3), vampire.account()


SURVIVED = [("SEND", 2, EAGAIN), ("SEND", 3, ENOMEM), ("RECV", 300, EAGAIN), ("CQ_READ", 30, EAGAIN),
            ("TRYWAIT", 20, EAGAIN), ("CQ_OPEN", 1, ENOMEM), ("GETWAIT", 1, 38)]


@pytest.mark.parametrize("who", ["vampire", "manager"])
def test_what_passes_is_not_noticed(space, shim, who):
    call, number, error = SURVIVED[0 if who == "vampire" else 2]
    steps = model_options(4, 2, 2, 4 * KIB, 16 * KIB, 50)
    space.pool_manager(extra=faulty(shim, call, number, error) if who == "manager" else None)
    vampire = space.vampire(
        harness.vampire_config(), extra=faulty(shim, call, number, error) if who == "vampire" else None
    )
    reports = harness.Workflow(space, models=1, products=1, model_options=steps).finish()
    vampire.expect_exit(0)
    assert_complete(reports)
    assert_agreement(space, reports)
