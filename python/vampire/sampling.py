# SPDX-License-Identifier: BSD-3-Clause
"""What a sample of the CDOs says about all of them, with its error (docs/configuration.md, `sampling`).

vampire takes each CDO with all events of its life or not at all, with the same probability p, by a hash: independent draws.
With y what a life adds to a counter, the sum over the sampled lives divided by p estimates the total without bias, with the
variance (1 - p) / p^2 * (sum of y^2 over the sampled lives) (Horvitz and Thompson 1952, for Poisson sampling). That sum is
G / (G - 1) times the sum of squares of what the G groups of CDOs in vampire_sample_group differ from their mean: the groups
are draws like the sample itself."""

import numpy as np
import pandas as pd

from .compute import history_of, labels_of_by, merge
from .errors import Error

FEWEST = 30       # lives: the normal distribution, of which the interval is, fits no fewer
GROUPS = 16
NORMAL, STUDENT = 1.959964, 2.131450  # of which 95 % are within: of a variance that is known, and of one from 16 groups
NEVER_SAMPLED = ("join", "leave", "subscribe", "unsubscribe")  # operations of no CDO
BYTES = ("cdos_created_bytes", "produced_bytes", "transport_bytes", "consumed_bytes")
COUNTS = ("cdos_created", "transports", "pool_operations")
# With these labels a life adds once, as it does to cdos_created, or its size, as to cdos_created_bytes.
ONE_LIFE = {"transports": {"sink"}, "transport_bytes": {"sink"}, "consumed_bytes": {"component"},
            "pool_operations": {"component", "operation"}}


def interval(total, squares, fraction, within=NORMAL):
    """(lives, low, high) of a sampled total and the sum of squares in it: how many equal lives would be as certain, and the
    95 % interval of the total of all, by inverting the test (Wilson 1927), which is right for few lives, too."""
    lives = total ** 2 / squares
    square = within ** 2 * (1 - fraction)
    half = np.sqrt(square * (lives + square / 4))
    return lives, *(total / fraction * (lives + square / 2 + sign * half) / lives for sign in (-1, 1))


def _fraction(history):
    """The part of the CDOs that counts."""
    said = {str(file.attrs.get("sampling", "none")) for file in history.files}
    if len(said) > 1:
        raise Error(f"the files are sampled differently ({', '.join(sorted(said))}); estimate them one at a time")
    word, _, number = said.pop().partition(" ")
    if word not in ("none", "fraction") or "," in number:
        raise Error(f"sampling \"{word} {number}\" of an earlier version takes no whole lives of CDOs: there is no estimate")
    return int(number) / 1e6 if word == "fraction" else 1.0


def _per_amount(history, metric, freq):
    """The sum of squares over the sum of what the sampled lives added to the metric: a number, or a Series by time."""
    if "vampire_sample_group" not in history.metrics:
        raise Error("how much the sampled CDOs differ is not in the files: vampire_sample_group is of a later version of vampire, or "
                    "was taken out")
    found = merge(history, "vampire_sample_group", ["group"], freq, {"metric": metric}).astype(float)
    if freq is None:
        total, squares = found.sum(), (found ** 2).sum()
    else:
        times = found.groupby(level="time")
        total, squares = times.sum(), (found ** 2).groupby(level="time").sum()
    return GROUPS / (GROUPS - 1) * (squares - total ** 2 / GROUPS) / total


def estimate(history, metric, by=(), freq=None, where=None, between=None, output=None):
    """What a counter would be without sampling: a DataFrame with `estimate`, `low` and `high` (an interval that has the truth
    in 95 of 100 cases) and `lives`, how many equal CDOs of the sample would be as certain; its index has the labels of `by`,
    and with `freq` the time, for error bars. Fewer than 30 are no estimate: NaN. Without sampling all three are the counter.

    metric: cdos_created, transports, pool_operations, or bytes: cdos_created_bytes, produced_bytes, transport_bytes,
    consumed_bytes. What is of no CDO, such as a JOIN, is not sampled and counts once."""
    history, by = history_of(history, output, between), labels_of_by(by)
    if metric not in (*BYTES, *COUNTS):
        raise Error(f"there is no estimate of {metric}; there is of: {', '.join((*BYTES, *COUNTS))}")
    fraction = _fraction(history)
    inner = by + (("operation",) if metric == "pool_operations" and "operation" not in by else ())
    found = merge(history, metric, inner, freq, where)
    found = found if isinstance(found, pd.Series) else pd.Series([found])
    operation = found.index.get_level_values("operation") if "operation" in inner else ()
    exact = found[operation.isin(NEVER_SAMPLED)] if "operation" in inner else found.iloc[:0]
    found = found.drop(exact.index).astype(float)
    kept = [name for name in found.index.names if name is not None and (name in by or name != "operation")]
    total, fixed = (values.groupby(level=kept).sum() if kept else pd.Series([values.sum()]) for values in (found, exact))
    total, fixed = total.align(fixed, fill_value=0.0)
    one = {*by, *(label for label, words in (where or {}).items() if isinstance(words, str))} >= ONE_LIFE.get(metric, {""})
    alone = metric == "cdos_created" or (one and metric in COUNTS)
    ratio = 1.0
    if fraction < 1 and len(found) and not alone:
        ratio = _per_amount(history, "cdos_created_bytes" if one else metric, freq)
        if freq is not None:
            ratio = ratio.reindex(total.index.get_level_values("time")).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        lives, low, high = interval(total, total * ratio, fraction, NORMAL if alone else STUDENT)
    columns = {"estimate": total / fraction, "low": low, "high": high}
    lives = lives.fillna(0)
    few = (lives < FEWEST) & (fraction < 1) & ((total > 0) | (fixed == 0))
    frame = pd.DataFrame({name: values.where(total > 0, 0.0).where(~few) + fixed for name, values in columns.items()})
    return frame.assign(lives=lives.astype(int))
