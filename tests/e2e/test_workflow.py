# SPDX-License-Identifier: BSD-3-Clause
"""What vampire counts is what happened: at several sizes, over all that carries payloads here."""

import subprocess
import sys

import pytest

import harness
import results

KIB, MIB = 1 << 10, 1 << 20
# name: steps, levels, params, smallest and largest field, fields a second (0: all that goes)
SIZES = {
    "small": (30, 3, 3, 64, 4 * KIB, 0),
    "usual": (6, 3, 2, 256 * KIB, 4 * MIB, 60),
    "large": (2, 2, 1, 16 * MIB, 48 * MIB, 0),
}


def model_options(steps, levels, params, size_min, size_max, rate):
    return ["--steps", steps, "--levels", levels, "--params", params, "--size-min", size_min,
            "--size-max", size_max, "--rate", rate]


def runs_of(space):
    return {"hdf5": results.Hdf5Run(space.hdf5_files()), "json": results.JsonRun(space.json_lines())}


def assert_agreement(space, reports):
    runs = runs_of(space)
    differences = results.compare(reports, runs)
    assert not differences, "\n".join(differences)
    assert not results.accounting_differences(runs["hdf5"])
    assert all(value == 0 for name, value in runs["hdf5"].columns.items() if "lost" in name)
    return runs


def assert_complete(reports):
    """The first product got every byte that all models gave."""
    models = [report for report in reports if report["role"] == "model"]
    product = next(report for report in reports if report["role"] == "product")
    digest = sum(int(report["digest"], 16) for report in models) % 2**64
    assert int(product["digest"], 16) == digest
    assert product["consumed_bytes"] == sum(report["produced_bytes"] for report in models)


def run_and_compare(space, **workflow):
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    reports = harness.Workflow(space, **workflow).finish()
    vampire.expect_exit(0)
    assert_complete(reports)
    return reports, assert_agreement(space, reports)


@pytest.mark.parametrize("provider", ["stream", "tcp", "shm"])
@pytest.mark.parametrize("size", SIZES)
def test_counts_agree(provider, size):
    with harness.Workspace(provider=provider) as space:
        run_and_compare(space, model_options=model_options(*SIZES[size]))


@pytest.mark.threads
def test_counts_agree_with_two_threads_in_everything(space):
    run_and_compare(space, model_options=model_options(4, 2, 2, 64 * KIB, 256 * KIB, 0))


def test_many_components(space):
    reports, runs = run_and_compare(
        space, models=6, products=4, model_options=model_options(5, 2, 2, 1 * KIB, 64 * KIB, 0)
    )
    assert len(reports) == 10
    present = runs["hdf5"].gauges["components_present"][()]
    assert present <= 2, "only the pool manager and vampire are left"


def test_ready_marks_between_components(space):
    """CDOs without data, demanded before work begins."""
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    names = ["IFS -- 0", "IFS -- 1"]
    products = [
        space.product("--announce", f"ready,{number}", name=f"Products {number}", producers=names)
        for number in (1, 2)
    ]
    models = [
        space.model("--await", "ready,1", "--await", "ready,2", "--steps", 3, name=name, rank=rank)
        for rank, name in enumerate(names)
    ]
    for process in models + products:
        process.expect_exit(0)
    vampire.expect_exit(0)
    reports = [process.report() for process in models + products]
    assert reports[0]["operations"]["demand"] == 2
    assert_agreement(space, reports)


def test_requirements_that_are_retracted(space):
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    workflow = harness.Workflow(
        space, product_options=["--retract", 3], model_options=model_options(4, 3, 2, 64, 4096, 0)
    )
    reports = workflow.finish()
    vampire.expect_exit(0)
    assert sum(report["operations"]["retract"] for report in reports) > 0
    assert_agreement(space, reports)


@pytest.mark.parametrize("provider", ["tcp", "shm"])
@pytest.mark.parametrize("before", ["auto", "off", "all"])
def test_data_move_before_their_demand(provider, before):
    """Everything counts as usual: no wait is lost, none is an anomaly, none is pending."""
    with harness.Workspace(provider=provider) as space:
        space.pool_manager("--move-at", "require")
        vampire = space.vampire(harness.vampire_config(source={"leave_grace": "300ms", "signal_before": before}))
        reports = harness.Workflow(space, model_options=model_options(5, 3, 2, 64, 64 * KIB, 0)).finish()
        vampire.expect_exit(0)
        assert_complete(reports)
        runs = assert_agreement(space, reports)
        for run in runs.values():
            assert {labels[4] for labels, count in run.counters["transports"].items() if count} == {"manager"}
            assert not {labels: count for labels, count in run.counters["anomalies"].items() if count}
            assert not any(run.gauges["demands_pending"].values())


def test_data_that_moved_may_be_given_up(space):
    space.pool_manager("--move-at", "require")
    vampire = space.vampire(harness.vampire_config())
    reports = harness.Workflow(
        space, product_options=["--retract", 3], model_options=model_options(4, 3, 2, 64, 4 * MIB, 0)
    ).finish()
    vampire.expect_exit(0)
    run = runs_of(space)["hdf5"]
    assert not any(run.gauges["demands_pending"].values()) and not any(run.gauges["transports_pending"].values())
    waits = sum(count for count, _ in run.histograms["demand_wait_ns"].values())
    assert waits == sum(report["operations"]["demand"] for report in reports)
    assert {labels[1] for labels, count in run.counters["anomalies"].items() if count} <= {"offer_never_demanded"}


def test_size_classes_and_labels(space):
    reports, runs = run_and_compare(
        space, model_options=model_options(3, 2, 2, 300 * KIB, 500 * KIB, 0)
    )
    hdf5 = runs["hdf5"]
    created = hdf5.counters["cdos_created"]
    for report in (r for r in reports if r["role"] == "model"):
        assert created[(report["component"], "[256KiB,512KiB)")] == report["operations"]["offer"]
    sources = {label[0] for label, count in hdf5.counters["transports"].items() if count}
    assert sources == {"IFS -- 0", "IFS -- 1"}
    tiers = {label[3] for label, count in hdf5.counters["transports"].items() if count}
    causes = {label[4] for label, count in hdf5.counters["transports"].items() if count}
    assert tiers == {"OFI"} and causes == {"demand"}
    assert hdf5.gauges["pool_cdos"][()] == 0 and hdf5.gauges["pool_bytes"][()] == 0


def test_the_demo_starts_outside_of_the_tests():
    """`make demo` runs it as a program, without what pytest's configuration adds to the path."""
    demo = harness.ROOT / "tests" / "workflow" / "demo.py"
    done = subprocess.run([sys.executable, "-I", demo, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout
