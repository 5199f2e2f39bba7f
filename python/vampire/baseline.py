# SPDX-License-Identifier: BSD-3-Clause
"""What of a run differs from earlier runs of the same workflow by more than these differ among each other.

Each value of the run is compared with a t-test of one against many; the variance of a value is moderated by those of the
same kind (Smyth, Linear models and empirical Bayes methods, 2004, equations 4 to 8), so that a few earlier runs suffice. Of
all tests together at most one in twenty comparisons without a difference names any (Holm, 1979)."""

import functools
import multiprocessing
from statistics import NormalDist

import numpy as np
import pandas as pd

from . import look
from .compute import Distribution, history_of, table
from .errors import Error
from .models import UNNAMED
from .plots import PARTS

FALSE = 0.05     # chance that a comparison without a difference names one
LEAST = 0.03     # of the usual value: what differs by less is no finding
EARLIER = 3      # runs at least
VALUES = 20      # in each run, for their mean or a quantile to be compared
STILL = 0.002    # least standard deviation from run to run of the logarithm of a mean
BIN = 0.06       # the same of a quantile: half a bin of a histogram
FARTHER = 1.1    # times as far as any value of an earlier run is from the others a finding is at least
MANY = 8         # values of a kind, to know what they have in common and how much they vary

# (metric, labels, what of it, words): `mean` of a histogram, `p99`, `rate` a second, `number` in all
QUANTITIES = (
    *(("demand_wait_ns", (label,), what, f"{words} that {{0}} waited for a demand") for label in ("component", "model")
      for what, words in (("mean", "mean time"), ("p99", "99 in 100 times"))),
    *(("demand_wait_part_ns", (label, "part"), "mean", "mean time that others waited for {0}: {1}")
      for label in ("producer", "producer_model")),
    *(("transport_ns", (label,), what, f"{words} of transports {way} {{0}}")
      for labels, way in ((("source", "source_model"), "from"), (("sink", "sink_model"), "to")) for label in labels
      for what, words in (("mean", "mean time"), ("p99", "99 in 100 times"))),
    ("handling_ns", ("operation",), "mean", "mean time to handle {0}"),
    *((metric, (label,), "rate", words) for metric, words in
      (("pool_operations", "operations of {0}"), ("produced_bytes", "bytes that {0} gave"), ("consumed_bytes", "bytes that {0} received"))
      for label in ("component", "model")),
    ("anomalies", ("anomaly", "component"), "number", "{0} of {1}"),
    ("anomalies", ("anomaly", "model"), "number", "{0} of {1}"),
)
COLUMNS = ("metric", "name", "what", "value", "usual", "least", "most", "chance", "sentence")


def _values(run, output, between):
    """{(metric, labels, what): {name of each label: value}} of one run, each metric from one pass over its rows."""
    history, found = history_of(run, output, between), {}
    for metric in dict.fromkeys(metric for metric, *_ in QUANTITIES if metric in history.metrics):
        known = history.labels(metric)
        wanted = [(labels, what) for one, labels, what, _ in QUANTITIES if one == metric and set(labels) <= set(known)]
        every = [label for label in known if any(label in labels for labels, _ in wanted)]
        whole = Distribution(history, metric, every) if ("p99" in (what for _, what in wanted)) else table(history, metric, every, None)
        for labels in dict.fromkeys(labels for labels, _ in wanted):
            frame = whole.spread([0.99], labels) if isinstance(whole, Distribution) else \
                whole.groupby(list(labels), observed=True).sum(numeric_only=True)
            if "count" in frame:
                frame = frame[frame["count"] >= VALUES]
            keys = [key if isinstance(key, tuple) else (key,) for key in frame.index]
            for what in (what for one, what in wanted if one == labels):
                values = frame[0.99] if what == "p99" else frame["sum"] / frame["count"] if what == "mean" else \
                    frame["delta"] / (history.bucket_ns.sum() / 1e9 if what == "rate" else 1)
                found[metric, labels, what] = dict(zip(keys, values.tolist()))
    return found


def _values_of(runs, output, between):
    """_values of each run, of many runs by all processors."""
    reading = functools.partial(_values, output=output, between=between)
    if len(runs) < MANY:
        return list(map(reading, runs))
    with multiprocessing.get_context("fork").Pool() as pool:
        return pool.map(reading, runs, chunksize=1)


def _trigamma(x):
    """The derivative of digamma, for x > 0 (Abramowitz and Stegun 6.4.6 and 6.4.12)."""
    total = 0.0
    while x < 8:
        total, x = total + x**-2, x + 1
    return total + 1 / x + x**-2 / 2 + x**-3 / 6 - x**-5 / 30 + x**-7 / 42


def moderated(variances, degrees):
    """(variances, their degrees of freedom) of each value, drawn together as far as they are alike; at most 30 times as many
    degrees as one value has are lent. What is shared is their mean, which is more careful than Smyth's."""
    known = np.log(variances)
    low, high = 0.5, 15.0 * degrees  # half of the degrees that are lent
    excess = known.var(ddof=1) - _trigamma(degrees / 2)
    if excess >= _trigamma(low):
        return variances, np.full(len(variances), float(degrees))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _trigamma(middle) > excess else (low, middle)
    return (2 * low * variances.mean() + degrees * variances) / (2 * low + degrees), np.full(len(variances), 2 * low + degrees)


def deviations(values, earlier, floor):
    """(for each value of a run how far it is from the earlier ones ([run, value]), as standard deviations of a normal
    distribution; by how much). What many values have in common, a slow day, is one more value, the last, and taken from
    the others."""
    rows, count = np.vstack([values, earlier]), len(earlier)
    rows = rows - rows[1:].mean(axis=0)
    common = np.median(rows, axis=1, keepdims=True) if len(values) >= MANY else np.empty((count + 1, 0))
    far, away = [], []
    for part, least in ((rows - common if common.size else rows, floor), (common, STILL)):
        own = part[1:].var(axis=0, ddof=1)
        variances, degrees = np.maximum(own, least**2), np.full(part.shape[1], count - 1.0)
        if part.shape[1] >= MANY:
            variances, degrees = moderated(variances, count - 1)
        away.append(part[0] - part[1:].mean(axis=0))
        # No value is taken for steadier than it was. Then from t to normal: Wallace, 1959.
        t = away[-1] / np.sqrt(np.maximum(variances, own) * (1 + 1 / count))
        far.append((8 * degrees + 1) / (8 * degrees + 3) * np.sqrt(degrees * np.log1p(t**2 / degrees)))
    return np.concatenate(far), np.concatenate(away)


def chances(far, before):
    """The chance of each deviation if nothing changed: that of a normal distribution, or of a tail as heavy as that of the
    earlier runs (`before`: of each of them from the others), which Hill's estimator (1975) extends. The larger counts."""
    normal = np.array([2 * NormalDist().cdf(-one) for one in far])
    count = max(10, len(before) // 100)
    if len(before) < 2 * count or not np.partition(before, -count)[-count] > 0:
        return normal
    top = np.sort(before)[-count:]
    power = 1 / np.mean(np.log(top / top[0]))
    return np.maximum(normal, count / len(before) * np.minimum(1, (far / top[0])**-power)) if power > 0 else normal


def found(chances_, differs):
    """Which of all tests are findings: of those that differ by enough."""
    order = np.argsort(chances_, kind="stable")
    fails = chances_[order] > FALSE / np.arange(len(order), 0, -1)
    first = int(fails.argmax()) if fails.any() else len(order)
    chosen = np.zeros(len(order), bool)
    chosen[order[:first]] = True
    return chosen & differs


def compared(groups):
    """For groups of (values of a run, those of earlier runs [run, value], least deviation): (chance of each deviation, by how
    much each is away), one group after the other."""
    now = [deviations(*group) for group in groups]
    before = [deviations(earlier[n], np.delete(earlier, n, axis=0), floor)[0] for _, earlier, floor in groups
              for n in range(len(earlier)) if len(earlier) > EARLIER]
    before = np.concatenate(before) if before else np.empty(0)
    far, away = (np.concatenate([one[part] for one in now]) for part in (0, 1))
    return np.where(far > FARTHER * before.max(initial=0), chances(far, before), 1.0), away


SCALES = {"mean": (np.log, np.exp, STILL), "rate": (np.log, np.exp, STILL), "p99": (np.log, np.exp, BIN),
          "number": (lambda n: 2 * np.sqrt(n + 0.375), lambda y: max(0.0, (y / 2)**2 - 0.375), 1.0)}  # Anscombe: variance 1


def _groups(runs):
    """[(metric, words, what, names, values, values of earlier runs)] of what can be compared, of the _values of a run and of
    earlier ones."""
    groups = []
    for metric, labels, what, words in QUANTITIES:
        now, *before = ({key: value for key, value in one.get((metric, labels, what), {}).items() if not set(UNNAMED) & set(key)}
                        for one in runs)
        every = [set(one) for one in (now, *before)]
        names = set.union(*every) if what == "number" else {name for name in set.intersection(*every)
                                                            if all(one[name] > 0 for one in (now, *before))}
        for part in sorted({name[1] if "part" in labels else "" for name in names}):
            chosen = sorted((name for name in names if part in ("", name[-1])), key=look.natural_parts)
            values, *usual = ([one.get(name, 0) for name in chosen] for one in (now, *before))
            groups.append((metric, words, what, chosen, np.array(values, float), np.array(usual, float)))
    return groups


def _sentence(metric, words, what, name, numbers):
    """What differs, in words."""
    def show(value):
        if what == "number":
            return f"{value:,.3g}" if value < 100 else f"{value:,.0f}"
        return look.duration(value) if what in ("mean", "p99") else look.amount(value, "B" if "bytes" in metric else "") + " a second"
    value, usual, least, most = numbers
    ratio = value / usual if usual else np.inf
    change = "none before" if not usual else f"{100 * (ratio - 1):+.3g} %" if ratio < 3 else f"× {ratio:.3g}"
    told = words.format(*(word.replace("_", " ") if word in PARTS or metric in ("anomalies", "handling_ns") else word for word in name))
    return f"{told}: {show(value)} ({change}); in earlier runs {show(usual)}, from {show(least)} to {show(most)}"


def changed(run, earlier, output=None, between=None):
    """What of a run differs from `earlier` ones, a list of at least three of the same workflow and length, by more than these
    differ among each other: a DataFrame, the surest first, with the value, the `usual` one, the `least` and `most` of the
    earlier runs, and a sentence. At most one in twenty comparisons in which nothing changed has any row; attrs["tests"]
    says how many values were compared."""
    if len(earlier) < EARLIER:
        raise Error(f"a comparison with {len(earlier)} earlier run{'s' * (len(earlier) != 1)}; by how much runs differ anyway takes at "
                    f"least {EARLIER}")
    groups, rows = _groups(_values_of([run, *earlier], output, between)), []
    tests = [(SCALES[what][0](values), SCALES[what][0](before), SCALES[what][2]) for _, _, what, _, values, before in groups]
    chance, away = compared(tests) if tests else (np.empty(0), np.empty(0))
    differs, place = found(chance, np.abs(away) > np.log1p(LEAST)), 0
    for (metric, words, what, names, values, before), (now, usual, _) in zip(groups, tests):
        extent = len(names) + (len(names) >= MANY)
        middle = usual.mean(axis=0)
        for n in np.flatnonzero(differs[place: place + extent]):
            if n == len(names):  # what they have in common
                column, name, own = np.median, ("all",) + names[0][1:], place + n
                numbers = [float(SCALES[what][1](column(one))) for one in (now, middle, usual.min(axis=0), usual.max(axis=0))]
            else:
                name, own = names[n], place + n
                numbers = [float(values[n]), float(SCALES[what][1](middle[n])), float(before[:, n].min()), float(before[:, n].max())]
                if abs(now[n] - middle[n]) <= np.log1p(LEAST):
                    continue  # it stayed as it was, and the others did not
            rows.append((metric, ", ".join(name), what, *numbers, float(chance[own]), _sentence(metric, words, what, name, numbers)))
        place += extent
    frame = pd.DataFrame(rows, columns=COLUMNS).sort_values("chance", kind="stable", ignore_index=True)
    frame.attrs["tests"] = len(chance)
    return frame
