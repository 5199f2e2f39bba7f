# SPDX-License-Identifier: BSD-3-Clause
"""vampire.changed and `vampire-report --compare` with several earlier runs: nothing is named where nothing changed, and a
component that takes 10 % longer is. VAMPIRE_PLANTED_HOURS=20 makes as many times 200 comparisons (make planted)."""

import os
import subprocess
import sys

import numpy as np
import pytest

import format2
from harness import ROOT

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "oracle")]
pytest.importorskip("pandas")
import vampire
from vampire import baseline

pytestmark = pytest.mark.plain
COMPARISONS = 200 * int(os.environ.get("VAMPIRE_PLANTED_HOURS", "0")) or 40
REPORT = str(ROOT / "python" / "vampire-report")
STEPS = 180
KINDS = {  # how a run differs from others, besides its steps: [run, value]
    "own": lambda dice, shape: dice.normal(0, 0.01, shape),
    "slow days": lambda dice, shape: dice.normal(0, 0.01, (shape[0], 1)),
    "uneven": lambda dice, shape: dice.normal(0, 0.01, shape) * np.exp(dice.normal(0, 0.7, shape[1])),
    "heavy tails": lambda dice, shape: 0.006 * dice.standard_t(3, shape),
}


def findings(dice, kind, components, earlier, longer=1.0):
    """Of a comparison of a dozen quantities of components, the first of which takes `longer`."""
    groups = []
    for _ in range(12):
        rows = KINDS[kind](dice, (earlier + 1, components)) + dice.normal(0, 0.05 / np.sqrt(STEPS), (earlier + 1, components))
        rows[0, 0] += np.log(longer) if not groups else 0
        groups.append((rows[0], rows[1:], baseline.STILL))
    chance, away = baseline.compared(groups)
    return baseline.found(chance, np.abs(away) > np.log1p(baseline.LEAST))


@pytest.mark.parametrize("components, earlier, kind", [(components, earlier, kind) for components, earlier in ((60, 5), (60, 10), (4, 10))
                                                       for kind in KINDS])
def test_nothing_is_named_where_nothing_changed(components, earlier, kind):
    dice = np.random.default_rng(31)
    wrong = sum(findings(dice, kind, components, earlier).any() for _ in range(COMPARISONS))
    assert wrong <= 0.05 * COMPARISONS + 2 * np.sqrt(0.05 * 0.95 * COMPARISONS), f"{wrong} of {COMPARISONS} comparisons"


@pytest.mark.parametrize("components", [4, 60])
def test_a_tenth_more_is_named(components):
    dice = np.random.default_rng(32)
    named = sum(findings(dice, "own", components, 10, 1.1)[0] for _ in range(COMPARISONS))
    assert named >= 0.9 * COMPARISONS, f"{named} of {COMPARISONS} comparisons"


METRICS = {"transport_ns": ("histogram", ("source", "sink", "tier"), "ns"), "anomalies": ("counter", ("component", "anomaly"), "1")}


def run_of(directory, seed, longer=1.0, anomalies=0):
    """A file of 12 components, of 40 steps."""
    dice = np.random.default_rng(seed)
    writer = format2.Writer(directory / f"vampire-{seed}-0001.h5", METRICS, 1767225600 * 10**9 + seed * 3600 * 10**9)
    speeds = 1e6 * np.arange(1, 13) * np.exp(dice.normal(0, 0.01, 12)) * [longer, *[1.0] * 11]
    for step in range(40):
        times = {(f"IFS -- {n}", "PGEN", "OFI"): [int(speed * np.exp(dice.normal(0, 0.05)))] for n, speed in enumerate(speeds)}
        values = {"transport_ns": times}
        if anomalies and step < anomalies:
            values["anomalies"] = {("PGEN", "unmatched"): 1}
        writer.bucket(step, values, (step, 0))
    writer.close()
    return str(writer.path)


def test_a_run_and_earlier_ones(tmp_path):
    earlier = [run_of(tmp_path, seed) for seed in range(10)]
    assert vampire.changed(run_of(tmp_path, 10), earlier).empty
    longer = run_of(tmp_path, 11, 1.1, anomalies=30)
    frame = vampire.changed(longer, earlier)
    assert set(frame[["metric", "name", "what"]].itertuples(index=False, name=None)) == {
        ("transport_ns", "IFS -- 0", "mean"), ("anomalies", "unmatched, PGEN", "number")}
    row = frame[frame.metric == "transport_ns"].iloc[0]
    assert 1.05 < row.value / row.usual < 1.15 and row.least < row.usual < row.most < row.value
    done = subprocess.run([REPORT, "--text", "--compare", *earlier, longer], capture_output=True, text=True, check=True).stdout
    assert "What differs from 10 earlier runs" in done and "mean time of transports from IFS -- 0" in done
    done = subprocess.run([REPORT, "--text", "--compare", *earlier], capture_output=True, text=True, check=True).stdout
    assert "Nothing differs from the 9 earlier runs by more than these do" in done


def test_too_few_earlier_runs(tmp_path):
    paths = [run_of(tmp_path, seed) for seed in range(3)]
    with pytest.raises(vampire.Error, match="2 earlier runs; .* at least 3"):
        vampire.changed(paths[0], paths[1:])
    done = subprocess.run([REPORT, "--compare", *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "two runs, or at least three earlier ones and the new one" in done.stderr
