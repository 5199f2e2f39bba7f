# SPDX-License-Identifier: BSD-3-Clause
"""Whether the transports of a cause took longer, and whether this is limited to large CDOs."""

import numpy as np

from . import look
from .compute import table
from .history import History

SLOW = 1.5     # minimum ratio of a mean duration in the interval to the one outside
FEWEST = 3     # transports; means of fewer are not compared
MOST = 0.75    # a size class is slow if at least this fraction of its transports is slow, and calm if at most 1 - MOST is


class Durations:
    """The durations of transports in the interval of a Cause in part `moving`, compared with those outside. `names`: of all components, by
    index; begin, end: the interval, ns.

    slower: whether those of the culprits took longer; True if the files do not have them by size class and component. A component can also be
    blocked for longer during a transport because it demanded earlier. large: the smallest size class, such as "64MiB", if only the
    transports of this and of larger classes took longer, else ""."""

    def __init__(self, history, cause, names, begin, end):
        label = "sink" if cause.side == "component" else "source"
        self.slower, self.large = True, ""
        if len(history.available("transport_ns", "size_class", label)) < 2:
            return
        frame = _ratios(history, label, begin, end)
        is_culprit = frame[label].isin([names[place] for place in cause.members])
        mine = frame[is_culprit]
        self.slower = mine["sum"].sum() >= SLOW * (mine["sum"] / mine.ratio).sum() if len(mine) else True
        self.large = self._large(frame, is_culprit) if self.slower else ""

    @staticmethod
    def _large(frame, is_culprit):
        """The smallest slow size class if most transports of this and of all larger classes were slow and those of smaller ones were not. ""
        also if only the culprits had slow transports, all of them large, because then the size need not be the reason."""
        is_slow = frame.ratio >= SLOW
        share = (frame["count"] * is_slow).groupby(frame.size_class).sum() / frame["count"].groupby(frame.size_class).sum()
        classes = sorted((one for one in share.index if one != "unknown"), key=look.size_order)
        slow = [one for one in classes if share[one] >= MOST]
        if not slow or len(slow) == len(classes) or slow != classes[-len(slow):] or any(share[one] > 1 - MOST for one in classes[: -len(slow)]):
            return ""
        is_large = frame.size_class.isin(slow)
        is_distinct = (is_large & is_slow & ~is_culprit).any() or (~is_large & is_culprit).any()
        return slow[0].strip("[)").partition(",")[0] if is_distinct else ""


def _ratios(history, label, begin, end):
    """A row for each size class and component with enough transports inside and outside of the interval: the `count` and `sum` of those
    inside, and the `ratio` of the mean durations."""
    both = []
    for between in ((np.datetime64(begin, "ns"), np.datetime64(end, "ns")), None):
        part = History([file.path for file in history.files], history.output, between, history.models)
        frame = table(part, "transport_ns", ("size_class", label), None).astype({"size_class": object, label: object})
        both.append(frame.set_index(["size_class", label])[["count", "sum"]].astype(float))
    inside, total = both
    outside = total.loc[inside.index] - inside
    enough = (inside["count"] >= FEWEST) & (outside["count"] >= FEWEST)
    inside, outside = inside[enough], outside[enough]
    ratio = (inside["sum"] / inside["count"]) / (outside["sum"] / outside["count"])
    return inside.assign(ratio=ratio).reset_index()
