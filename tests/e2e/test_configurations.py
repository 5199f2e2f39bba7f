# SPDX-License-Identifier: BSD-3-Clause
"""Each ready configuration with the demo workflow: it starts as it is, counts right and ends well."""

import json
import subprocess

import pytest

import harness
import results

READY = sorted(
    path.name for path in (harness.ROOT / "config" / "ready").glob("*.json") if not path.match("*.schema.json")
)
MODEL = ["--steps", 6, "--levels", 2, "--params", 2, "--size-min", 1024, "--size-max", 65536]


def run(space, name):
    """The workflow's reports and what vampire wrote."""
    space.pool_manager()
    # The file as it is; only the pool manager's info comes from the environment, and no "info_file"
    # can be given beside it.
    vampire = space.vampire(harness.ROOT / "config" / "ready" / name)
    reports = harness.Workflow(space, model_options=MODEL).finish()
    vampire.expect_exit(0)
    return reports, results.Hdf5Run(space.hdf5_files())


@pytest.mark.parametrize("name", READY)
def test_counts_agree(space, name):
    reports, counted = run(space, name)
    assert not results.accounting_differences(counted)
    assert all(value == 0 for column, value in counted.columns.items() if "lost" in column)
    if name == "operators.json":
        # By workflow, not by component: the sums of the components'.
        for operation in results.OPERATIONS:
            expected = sum(report["operations"][operation] for report in reports)
            got = counted.counters["pool_operations"].get((operation,), 0)
            # vampire itself joins, subscribes and leaves.
            assert got >= expected if operation in ("join", "leave", "subscribe", "unsubscribe") \
                else got == expected, operation
        return
    assert not results.compare(reports, {"hdf5": counted})


def test_debugging_prints_the_lives_of_the_suspects(space):
    reports, _ = run(space, "debugging.json")
    records = [json.loads(line) for line in space.json_lines().read_text().splitlines()]
    lives = [record for record in records if record["type"] == "cdo"]
    models = [report for report in reports if report["role"] == "model"]
    # Steps 6 and 12 of 6, on 2 levels, of 2 parameters.
    expected = len(models) * 2 * 2 * 2
    names = {record["name"] for record in lives if record["name"]}
    assert len(names) == expected
    assert all(",step:6" in name or ",step:12" in name for name in names)
    assert {m["name"] for m in records[0]["metrics"]} == {"anomalies"}

    recording = next(space.path.glob("*.rec"))
    replay = subprocess.run(
        [harness.program("vampire"), "--replay", recording, "-o", "outputs=[]", "-q"],
        cwd=space.path, env=harness.clean_environment(), capture_output=True, text=True,
        timeout=60, check=False)
    assert replay.returncode == 0, replay.stderr


def complete(*words):
    """What bash offers for the last of these words."""
    script = (
        'source <("$1" --print-completion); shift; compopt() { :; }; COMP_WORDS=("$@"); '
        'COMP_CWORD=$(($#-1)); _vampire; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", harness.program("vampire"), "vampire", *words],
        capture_output=True, text=True, timeout=30, check=True)
    assert not done.stderr
    return done.stdout.split()


def test_completion():
    assert complete("--check") == ["--check-config"]
    assert {"-c", "--config", "--replay"} <= set(complete("-"))
    assert complete("-o", "sampling.") == ["sampling.fraction=", "sampling.every=", "sampling.rate="]
    assert complete("-o", "statistics.level", "=", "work") == ["workflow"]
    assert "all" in complete("-o", "statistics.sets", "=")
    assert complete("-o", "outputs.hdf5.access", "=", "g") == ["group"]
    assert complete("--list-metrics", "=", "") == ["json"]
