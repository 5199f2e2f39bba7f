# SPDX-License-Identifier: BSD-3-Clause
"""Sampling as an estimator: the interval that the Python package makes of a sample has the truth as often as it says. In
generated streams, of which only the lives matter, and in runs of the program."""

import os
import re
import subprocess
import types

import numpy as np
import pandas as pd
import pytest

import harness
import vampire
from rules import Fraction
from vampire import sampling as module

METRICS = ("cdos_created", "cdos_created_bytes", "transports", "transport_bytes", "pool_operations")
STREAMS = int(os.environ.get("SAMPLING_STREAMS", 60))  # 2,000: make sampling


class Stream:
    """Lives that come in bursts or periods: how often each is transported, how large it is, which fraction counts."""

    def __init__(self, seed):
        dice = np.random.default_rng(seed)
        count = int(dice.integers(1000, 2500))
        self.fraction = int(dice.choice([50_000, 100_000, 250_000, 500_000]))
        at = np.arange(count)
        period = int(dice.integers(2, 50))
        # Sizes and demands of a life depend on when it is: alike in a burst, or the same again after a period.
        phase = at % period if seed % 2 else at // period * 7919 % 101
        sizes = [np.full(count, 1 << 20), 1000 * 2 ** (phase % 9) + at % 512, dice.lognormal(13, 0.8, count).astype(int)][seed % 3]
        demands = [np.full(count, 2), 1 + phase % 5, dice.poisson(1.5, count)][seed // 3 % 3]
        self.each = {"cdos_created": np.ones(count), "cdos_created_bytes": sizes, "transports": demands,
                     "transport_bytes": sizes * demands, "pool_operations": 5 + 4 * demands}
        chosen = Fraction(self.fraction)
        ids = dice.integers(0, 2**63, count) if seed % 5 else at + seed * 2**20  # random, or a counter
        events = [types.SimpleNamespace(HasField=lambda _: True, cdo_id=bytes(8) + int(number).to_bytes(8, "big")) for number in ids]
        self.sampled = np.array([chosen.passes(event) for event in events])
        self.groups = np.array([chosen.hash_of(event) % 16 for event in events])
        self.files = [types.SimpleNamespace(attrs={"sampling": f"fraction {self.fraction}"})]
        self.metrics = {name: None for name in (*METRICS, "vampire_sample_group")}

    def merge(self, _, name, by=(), freq=None, where=None):
        """As vampire.merge answers, of the sampled lives."""
        assert freq is None
        if name == "vampire_sample_group":
            return pd.Series(self.each[where["metric"]][self.sampled]).groupby(self.groups[self.sampled]).sum()
        each = self.each[name][self.sampled]
        if tuple(by) == ("operation",):
            return pd.Series([4, int(each.sum())], pd.Index(["join", "offer"], name="operation"))
        return int(each.sum())


def test_intervals_have_the_truth(monkeypatch):
    found = {name: [] for name in METRICS}
    monkeypatch.setattr(module, "history_of", lambda history, *_: history)
    for seed in range(STREAMS):
        stream = Stream(seed)
        monkeypatch.setattr(module, "merge", stream.merge)
        for name in METRICS:
            answer, = module.estimate(stream, name).itertuples()
            truth = stream.each[name].sum() + (4 if name == "pool_operations" else 0)
            if answer.lives >= 30:
                found[name].append((answer.low <= truth <= answer.high, answer.estimate / truth))
    every = [one for answers in found.values() for one in answers]
    share = {name: np.mean([inside for inside, _ in answers]) for name, answers in found.items()}
    print("intervals with the truth:", {name: round(100 * value, 2) for name, value in share.items()},
          "of all", round(100 * np.mean([inside for inside, _ in every]), 2), "%; estimate over truth",
          round(float(np.mean([ratio for _, ratio in every])), 4))
    assert len(every) > 4.5 * STREAMS
    # 93 to 97 %, and in a few streams three standard errors more.
    margin = 3 * np.sqrt(0.05 * 0.95 / STREAMS) if STREAMS < 2000 else 0
    assert all(0.93 - margin <= value <= 0.97 + margin for value in share.values()), share


def run(space, name, **sampling):
    directory = space.path / name
    directory.mkdir()
    made = space.vampire({"source": {"type": "synthetic", "steps": 200, "burst": 5, "fan_out": 2}, "sampling": sampling,
                          "outputs": [{"type": "hdf5", "directory": name, "queue": 65536}]}, name=name, ready=False)
    made.expect_exit(0)
    return str(directory)


def test_estimates_of_runs(space):
    """Of the program's samples; without sampling an estimate is the counter. A few lives are none, and a label has its own."""
    whole, part, few = run(space, "whole"), run(space, "part", fraction=200000), run(space, "few", fraction=3000)
    truth = {name: int(vampire.merge(whole, name)) for name in (*METRICS, "produced_bytes", "consumed_bytes")}
    groups = vampire.merge(part, "vampire_sample_group", by=["metric", "group"]).unstack()
    assert groups.shape == (6, 16) and (groups > 0).all().all()
    for name, total in groups.sum(axis=1).items():
        whole_of = vampire.merge(part, name, by=["operation"]).drop(["join", "leave"]).sum() if name == "pool_operations" else vampire.merge(part, name)
        assert total == whole_of, name
    for name, value in truth.items():
        known, = vampire.estimate(whole, name).itertuples()
        assert known.low == known.estimate == known.high == value > 0, name
        found, = vampire.estimate(part, name).itertuples()
        assert found.low < found.estimate < found.high and found.lives >= 30, name
        # The sample is always the same: four standard errors are a sure test.
        assert abs(found.estimate - value) < 2 * (found.high - found.low) / 2, name
        none, = vampire.estimate(few, name).itertuples()
        assert none.lives < 30 and np.isnan([none.estimate, none.low, none.high]).all(), name
    bars = vampire.estimate(part, "transport_bytes", freq="100s")
    exact = vampire.merge(whole, "transport_bytes", freq="100s")
    assert list(bars.index) == list(exact.index) and bars.isna().iloc[-1].iloc[:3].all(), "the last interval has hardly a CDO"
    bars, exact = bars[:2], exact[:2]
    assert (bars.low < bars.estimate).all() and (abs(bars.estimate - exact) < bars.high - bars.low).all()
    text, none = (subprocess.run([harness.ROOT / "python" / "vampire-report", "--text", where], capture_output=True, text=True,
                                 check=True).stdout for where in (part, few))
    assert re.search(r"transports +[\d,]+ +\(of all about [\d,]+, 95 % interval [\d,]+ to [\d,]+\)", text), text
    assert re.search(r"transports +[\d,]+ .*no estimate of all: the sample is worth fewer than 30 CDOs", none), none
    operations = vampire.estimate(part, "pool_operations", by=["operation"])
    exact = vampire.merge(whole, "pool_operations", by=["operation"])
    assert (operations.loc[["join", "leave"], "estimate"] == exact[["join", "leave"]]).all()
    assert set(operations.index) == set(exact.index)
    with pytest.raises(vampire.Error, match="there is no estimate of demand_wait_ns; there is of: cdos_created_bytes"):
        vampire.estimate(part, "demand_wait_ns")
