# SPDX-License-Identifier: BSD-3-Clause
"""What a sample of the CDOs says about all of them, with its error (docs/configuration.md, `sampling`).

vampire takes each CDO with all events of its life or not at all, with the same probability p, by a hash: independent draws.
With y what a life adds to a counter, the sum over the sampled lives divided by p estimates the total without bias, with the
variance (1 - p) / p^2 * (sum of y^2 over the sampled lives) (Horvitz and Thompson 1952, for Poisson sampling). The sum of
squares follows from what the files have: sizes from counts and bytes in each size class, operations and transports of one
CDO from their mean and from demands_per_cdo."""

import numpy as np
import pandas as pd

from .compute import history_of, labels_of_by, merge
from .errors import Error

FEWEST = 30     # lives: the normal distribution, of which the interval is, fits no fewer
NORMAL = 1.959964  # of which 95 % are within this many standard deviations
SPREAD = 1.04   # the mean of the squares of sizes over the square of their mean, within a class that is a doubling
NEVER_SAMPLED = ("join", "leave", "subscribe", "unsubscribe")  # operations of no CDO
BYTES = {"cdos_created_bytes": "cdos_created", "produced_bytes": "cdos_created",
         "transport_bytes": "transports", "consumed_bytes": "transports"}
COUNTS = ("cdos_created", "transports", "pool_operations")
ONE_LIFE = {"transports": {"sink"}, "transport_bytes": {"sink"}, "consumed_bytes": {"component"},
            "pool_operations": {"component", "operation"}}  # with these labels a life adds once


def interval(total, squares, fraction):
    """(lives, low, high) of a sampled total and the sum of squares in it: how many equal lives would be as certain, and the
    95 % interval of the total of all, by inverting the test (Wilson 1927), which is right for few lives, too."""
    lives = total ** 2 / squares
    square = NORMAL ** 2 * (1 - fraction)
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


def _per_life(history, count, chosen):
    """The sum of squares over the sum of how often a life counts in `count`, such as its transports."""
    lives = merge(history, "cdos_created")
    total = chosen.sum() if count == "pool_operations" else merge(history, count)
    if "demands_per_cdo" not in history.metrics:
        raise Error("how much the demands for a CDO vary is not in the files: add \"+demands_per_cdo\" to \"statistics.metrics\"")
    fan_out = merge(history, "demands_per_cdo")
    low, high = (fan_out.index.get_level_values(f"bin_{edge}").to_numpy(float) for edge in ("lower", "upper"))
    middle, number = low + np.floor(np.maximum(high - low - 1, 0) / 2), fan_out.to_numpy(float)
    mean = (middle * number).sum() / max(number.sum(), 1)
    vary = (middle ** 2 * number).sum() / number.sum() / mean ** 2 if mean > 0 else 1.0
    return max(1.0, total / lives * vary) if lives else 1.0


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
    ratio, alone = 1.0, {*by, *(label for label, words in (where or {}).items() if isinstance(words, str))}
    if fraction < 1 and metric != "cdos_created" and len(found):
        if metric not in ("cdos_created_bytes", "produced_bytes") and not ONE_LIFE[metric] <= alone:
            ratio = _per_life(history, BYTES.get(metric, metric), found)
        if metric in BYTES:
            count = BYTES[metric]
            sizes = merge(history, {"cdos_created": "cdos_created_bytes", "transports": "transport_bytes"}[count], ["size_class"])
            number = merge(history, count, ["size_class"]).reindex(sizes.index).astype(float)
            sizes = sizes[number > 0].astype(float)
            ratio *= SPREAD * (sizes ** 2 / number[number > 0]).sum() / max(sizes.sum(), 1)
    kept = [name for name in found.index.names if name is not None and (name in by or name != "operation")]
    total, fixed = (values.groupby(level=kept).sum() if kept else pd.Series([values.sum()]) for values in (found, exact))
    total, fixed = total.align(fixed, fill_value=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lives, low, high = interval(total, total * ratio, fraction)
    columns = {"estimate": total / fraction, "low": low, "high": high}
    lives = lives.fillna(0)
    few = (lives < FEWEST) & (fraction < 1) & ((total > 0) | (fixed == 0))
    frame = pd.DataFrame({name: values.where(total > 0, 0.0).where(~few) + fixed for name, values in columns.items()})
    return frame.assign(lives=lives.astype(int))
