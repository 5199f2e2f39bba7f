# SPDX-License-Identifier: BSD-3-Clause
"""The lives of single CDOs, from the Dataset of a history of level cdo."""

import os

import numpy as np
import pandas as pd

from . import look
from .errors import Error


def _cdo_times(ds):
    times = [v for v in ds.data_vars if v.startswith("cdo_") and ds[v].dtype.kind == "M"]
    if "cdo_name" not in ds or not times:
        raise Error("the file holds no CDOs by name; they are written at level cdo "
                    "(statistics: {\"level\": \"cdo\"})")
    return times


def cdo_table(ds):
    """DataFrame, a row for each selected CDO by name, the longest life first: producer, size_bytes (NaN:
    not known), demands, consumers, end, life, and its times (NaT: not seen). Needs level cdo."""
    times = {v[len("cdo_"):]: ds[v].values for v in _cdo_times(ds)}
    facts = {name: ds[f"cdo_{name}"].values for name in ("producer", "size_bytes", "demands", "consumers", "end")}
    table = pd.DataFrame({**facts, "life": 0, **times}, index=list(ds.cdo_name.values))
    table["size_bytes"] = np.where(ds.cdo_size_known.values != 0, table.size_bytes.astype(float), np.nan)
    table["life"] = table[list(times)].max(axis=1) - table[list(times)].min(axis=1)
    return table.sort_values("life", ascending=False, kind="stable")


def plot_cdos(ds, most=12, ax=None):
    """The lives of the CDOs that lived longest, a row each: x time since each was first seen, logarithmic
    above 10 µs. What all names begin with is left away. Needs a file of level cdo."""
    times = [v[len("cdo_"):] for v in _cdo_times(ds)]
    ax, table = look.axes(ax), cdo_table(ds).head(most)
    ax.set_title(f"life of the CDOs that lived longest ({len(table)})")
    if table.empty:
        return look.nothing(ax, "no CDOs yet")
    offsets = table[times].sub(table[times].min(axis=1), axis=0)
    rows = np.arange(len(table))
    ax.hlines(rows, 0, table.life.to_numpy().astype(float), color=look.OTHERS, linewidth=1)
    for number, what in enumerate(offsets.median().sort_values(kind="stable").index):
        seen = offsets[what].notna().to_numpy()
        ax.plot(offsets[what].to_numpy().astype(float)[seen], rows[seen], "osD^vPX*"[number % 8], markersize=6,
                color=look.COLOURS[number % len(look.COLOURS)], label=what.replace("_", " "), markeredgewidth=0.5)
    alike = os.path.commonprefix(list(table.index)).rfind(",") + 1 if len(table) > 1 else 0
    narrow = look.narrow(ax)
    room = 17 if narrow else 27
    ax.set_yticks(rows, ["…" * (alike > 0 or len(name) > room) + name[alike:][-room:] for name in table.index])
    ax.set_xscale("symlog", linthresh=1e4, linscale=0.5)
    longest = float(offsets.max().max().value)
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-2e3, max(2e4, 2 * longest)), xlabel="time since it was first seen")
    powers = 10.0 ** np.arange(5 if narrow else 4, 20, 2 if narrow or longest > 1e10 else 1)
    ax.set_xticks([0, *powers[powers <= 2 * longest]])
    ax.xaxis.set_major_formatter(look.formatter("ns"))
    ax.xaxis.set_minor_formatter("")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -3.2 / max(12, len(rows))), ncol=3, handlelength=1)
    return ax


def plot_cdo(ds, name, ax=None):
    """Timeline of one CDO: when it was declared, sealed, offered, demanded, moved, withdrawn and
    disposed of; x milliseconds since the first. Needs a file of level cdo."""
    times = [v[len("cdo_"):] for v in _cdo_times(ds)]
    found = cdo_table(ds).query("index == @name")
    if found.empty:
        raise Error(f"no CDO '{name}' among {len(ds.cdo_name)}, such as {', '.join(map(repr, ds.cdo_name.values[:3]))}")
    ax = look.axes(ax)
    ax.set_title(f"CDO {look.short(name, 40)}")
    points = found[times].iloc[0].dropna().astype("datetime64[ns]").sort_values(kind="stable")
    ax.plot((points - points.min()).to_numpy().astype(float), range(len(points)), "o-", color=look.COLOURS[0])
    ax.set_yticks(range(len(points)), [what.replace("_", " ") for what in points.index])
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(look.formatter("ns"))
    ax.set_xlabel(f"time since {str(points.min())[:23]} UTC" if len(points) else "time")
    return ax
