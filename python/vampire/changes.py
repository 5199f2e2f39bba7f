# SPDX-License-Identifier: BSD-3-Clause
"""Change points: when the mean of noisy values was another one, and what the usual one is."""

import numpy as np

SURE = 7.0       # standard errors by which a part has to differ; fewer would be found by chance in an hour of seconds
NOISE = 0.1      # least spread of logarithms of means: what differs by less than 10 % is the same
USUAL = 0.5      # part of the values that are at the usual level or below
BEGIN = 0.25     # the same of a begin with which all that follows is compared
RATIO = 1.5      # to the usual mean, from which on a mean is raised
HIGHER = np.log(RATIO) / 2  # of logarithms that are damped towards 0
CLEAR = 4.0      # standard errors between the means of both
FAR = 2.0        # times the largest usual mean, for one or two means to be raised
FLOOR = 1e-3     # s: a mean wait that is as good as none


def spread_of(values):
    """The standard deviation, as the median of differences shows it, which steps do not change."""
    return 1.0 if len(values) < 3 else max(NOISE, float(np.median(np.abs(np.diff(values)))) * 1.4826 / np.sqrt(2))


def mad_of(values):
    """(median, standard deviation by the median of distances to it)."""
    middle = float(np.median(values))
    return middle, 1.4826 * float(np.median(np.abs(values - middle)))


def parts_of(values, spread):
    """Borders of the parts of which the means differ: [0, ..., len(values)]. Binary segmentation, of the interval that
    differs most."""
    borders, todo = {0, len(values)}, [(0, len(values))]
    while todo:
        first, end = todo.pop()
        count = end - first
        if count < 2:
            continue
        sums = np.concatenate([[0], np.cumsum(values[first:end] - values[first:end].mean())])
        low, high = sorted((int(sums.argmin()), int(sums.argmax())))
        inside = high - low
        if inside in (0, count) or abs(sums[high] - sums[low]) < SURE * spread * np.sqrt(inside * (1 - inside / count)):
            continue
        cuts = [first, first + low, first + high, end]
        borders.update(cuts)
        todo += [(a, b) for a, b in zip(cuts, cuts[1:]) if 2 <= b - a < count]
    return sorted(borders)


def _usual_level(levels, lengths):
    """The level of half of the values; of a run that was raised once and stayed so, that of its begin."""
    order = np.argsort(levels, kind="stable")
    usual = levels[order[np.searchsorted(np.cumsum(lengths[order]), USUAL * lengths.sum())]]
    first = levels[0]
    stayed = (levels[1:] > first + HIGHER).all() and lengths[0] >= BEGIN * lengths.sum()
    return first if stayed else usual


def _is_sure(values, part, usual):
    """Whether the mean of a part is above that of the usual values, given how much both vary."""
    high = values[part[0]: part[1]]
    if len(high) < 3:
        return high.mean() > FAR * usual.max(initial=0)
    error = np.sqrt(high.var() / len(high) + usual.var() / max(len(usual), 1))
    return high.mean() - usual.mean() > CLEAR * error


def _widened(values, first, end, limit):
    """The same interval with its borders where a value is nearer to the other level."""
    while first > 0 and values[first - 1] > limit:
        first -= 1
    while end < len(values) and values[end] > limit:
        end += 1
    while end - first > 1 and values[first] < limit:
        first += 1
    while end - first > 1 and values[end - 1] < limit:
        end -= 1
    return first, end


def raised(sums, counts):
    """(intervals in which the mean was higher than usual, the usual mean): [(first window, end)]. `sums` and `counts` by
    window, of which those without counts do not matter."""
    used = np.flatnonzero(counts)
    mean = float(sums[used].sum() / max(counts[used].sum(), 1))
    if len(used) < 8 or mean <= 0:
        return [], mean
    means = sums[used] / counts[used]
    values = np.log(means + max(FLOOR, mean / 4))
    borders = parts_of(values, spread_of(values))
    lengths = np.diff(borders)
    levels = np.array([values[a:b].mean() for a, b in zip(borders, borders[1:])])
    usual = _usual_level(levels, lengths)
    high = levels > usual + HIGHER
    normal = np.repeat(np.abs(levels - usual) <= HIGHER, lengths)
    mean = float(sums[used][normal].sum() / counts[used][normal].sum())
    found = []
    for part in np.flatnonzero(high):
        first, end = _widened(values, borders[part], borders[part + 1], (usual + levels[part]) / 2)
        near = found and first - found[-1][1] <= max(1, len(used) // 200)
        if near and abs(values[found[-1][0]: found[-1][1]].mean() - levels[part]) < 2 * HIGHER:
            first = found.pop()[0]
        elif near:
            first = max(first, found[-1][1])
        if first < end:
            found.append((first, end))
    return [(int(used[first]), int(used[end - 1]) + 1) for first, end in found
            if means[first:end].mean() > RATIO * mean and _is_sure(means, (first, end), means[normal])], mean
