# SPDX-License-Identifier: BSD-3-Clause
"""How numbers, names and axes look, in reports and notebooks alike."""

import re

import numpy as np
import pandas as pd

# Okabe and Ito's colours, which people with any colour vision can tell apart; grey is for the rest.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"]
OTHERS = "#999999"
OTHER = "(other)"


def natural(name):
    """The key that sorts "IFS -- 2" before "IFS -- 10"; (other) comes last."""
    parts = re.split(r"(\d+)", str(name))
    return (name in (OTHER, "unknown"), [(int(part), "") if part.isdigit() else (-1, part) for part in parts])


def natural_parts(name):
    """The same for a name of several labels, which is a tuple."""
    return [natural(part) for part in (name if isinstance(name, tuple) else (name,))]


def descending(values):
    """A Series, the largest first, equal values in natural order of their names."""
    names = list(values.index)
    order = sorted(range(len(names)), key=lambda place: natural_parts(names[place]))
    return values.iloc[order].sort_values(ascending=False, kind="stable")


def size_order(label):
    """The key that sorts size classes such as [64KiB,128KiB) by size."""
    text = label.strip("[").split(",")[0]
    for unit, size in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("B", 1), ("", 1)):
        if text.endswith(unit) and text[: len(text) - len(unit)].isdigit():
            return int(text[: len(text) - len(unit)]) * size
    return 1 << 62


def duration(ns):
    """Nanoseconds for people: "1.5 ms"."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}" if abs(ns) < 1000 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.3g} ns"


def span(ns):
    """A length of time for people: "2 d 3 h", "1 h 5 min", "41 s"."""
    parts = [(int(ns // 86400e9), "d"), (int(ns // 3600e9 % 24), "h"), (int(ns // 60e9 % 60), "min"), (int(ns // 1e9 % 60), "s")]
    first = next((n for n, (count, _) in enumerate(parts) if count), None)
    if first is None:
        return duration(ns)
    return " ".join(f"{count} {unit}" for count, unit in parts[first: first + 2] if count)


def amount(count, unit="B"):
    """Bytes for people: "3.5 MiB"; with unit "" a plain number with k, M, G."""
    steps, names = (1024, ("", "Ki", "Mi", "Gi", "Ti", "Pi")) if unit else (1000, ("", " k", " M", " G", " T"))
    number = float(count)
    for name in names:
        if abs(number) < steps or name == names[-1]:
            break
        number /= steps
    text = f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"
    return f"{text} {name}{unit}" if unit else f"{text}{name}"


def shown(units):
    """The function that writes a value of these units."""
    return duration if units == "ns" else lambda value: amount(value, "B" if units.startswith("byte") else "")


def short(name, length=22):
    """A name for a picture. matplotlib leaves names with a leading _ out of legends."""
    name = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    name = " " + name if name.startswith("_") else name
    return name if len(name) <= length else name[: length - 1] + "…"


def style(dark=False, size=10):
    """matplotlib settings for `with matplotlib.rc_context(vampire.style()):`."""
    ink, paper, faint = ("#e8e8e8", "#16181d", "#3a3f4a") if dark else ("#1a1a1a", "#ffffff", "#d8d8d8")
    settings = {key: ink for key in ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.titlecolor")}
    settings.update({
        "figure.facecolor": paper, "axes.facecolor": paper, "savefig.facecolor": paper, "axes.edgecolor": faint,
        "grid.color": faint, "axes.grid": True, "axes.axisbelow": True, "axes.spines.top": False,
        "axes.spines.right": False, "font.size": size, "axes.titlesize": size + 1, "axes.titlelocation": "left",
        "legend.frameon": False, "legend.fontsize": size - 1, "figure.autolayout": False, "grid.linewidth": 0.6,
        "svg.fonttype": "path", "text.parse_math": False, "axes.titleweight": "bold",
    })
    return settings


def formatter(units):
    """A matplotlib formatter of values of these units."""
    from matplotlib.ticker import FuncFormatter
    show = shown(units)
    return FuncFormatter(lambda value, _: show(value) if value > 0 or units != "ns" else "0")


def amount_ticks(axis, top, units):
    """About five ticks from 0 to top; of bytes at round numbers of KiB, MiB, ..."""
    base = 1024 ** max(0, int(np.log2(max(top, 1)) // 10)) if units.startswith("byte") else 1
    rough = top / base / 5
    power = 10.0 ** np.floor(np.log10(rough)) if rough > 0 else 1
    step = base * power * next(n for n in (1, 2, 2.5, 5, 10) if n * power >= rough * 0.999)
    axis.set_ticks(np.arange(0, top * 1.0001, step) if step > 0 else [0])
    axis.set_major_formatter(formatter(units))


def log_ticks(low, high, most):
    """Two to `most` ticks, at round numbers where they suffice, between two positive numbers on a logarithmic
    axis."""
    ticks = [low, high]
    for parts in (np.arange(10, 100) / 10, (1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1,)):
        coarser = [part * 10.0**e for e in range(-1, 20) for part in parts if low <= part * 10.0**e <= high]
        ticks = coarser if len(coarser) > 1 else ticks
        if len(coarser) <= most:
            break
    ticks, room = ticks[:: -(-len(ticks) // most)], (high / low) ** (0.5 / most)
    apart = ticks[:1]
    for tick in ticks[1:]:
        if tick >= apart[-1] * room:  # nearer ones would have labels one over the other
            apart.append(tick)
    return apart


def byte_ticks(low, high, most):
    """Powers of two between two numbers of bytes, at most `most`; when there is none, the two themselves."""
    powers = [2.0**e for e in range(64) if low <= 2**e <= high]
    return powers[:: -(-len(powers) // most)] if powers else [low, high]


def axes(ax, rows=0):
    """The axes given, or new ones with room for so many names of rows."""
    import matplotlib.pyplot as plt
    return plt.subplots(figsize=(8, max(4, 1.5 + rows / 4)), constrained_layout=True)[1] if ax is None else ax


def nothing(ax, text):
    """Says in the axes that there is nothing to show."""
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    ax.grid(False)
    ax.set(xticks=[], yticks=[])
    return ax


def narrow(ax):
    """Whether the picture is for a telephone."""
    return ax.figure.get_size_inches()[0] < 5


def time_axis(ax, edges):
    """Puts times from the first to the last of `edges` (datetime64) on x."""
    from matplotlib import dates
    first, last = pd.Timestamp(edges[0]), pd.Timestamp(edges[-1])
    if last - first < pd.Timedelta("1h"):
        form = "%H:%M:%S"
    else:
        form = "%H:%M" if last - first < pd.Timedelta("1d") else "%d %b\n%H:%M"
    ax.xaxis.set_major_formatter(dates.DateFormatter(form))
    ax.xaxis.set_major_locator(dates.AutoDateLocator(minticks=2, maxticks=4 if narrow(ax) else 7))
    # The first interval may begin on the day before the first bucket, the last one end at midnight.
    days = sorted({(pd.Timestamp(edges[1]) - pd.Timedelta(1, "ns")).date(), pd.Timestamp(edges[-2]).date()})
    ax.set_xlabel("time (UTC), " + " to ".join(map(str, days)))
    if first < last:
        ax.set_xlim(edges[0], edges[-1])


def colour_map():
    """Viridis, without the ends that light or dark paper would swallow."""
    import matplotlib
    from matplotlib.colors import ListedColormap
    return ListedColormap(matplotlib.colormaps["viridis"](np.linspace(0.2, 0.94, 256)))


def scale_of(frame):
    """(least, greatest) value on the scale of a matrix; a last row and column "5 others" are no part of it."""
    names = [not re.fullmatch(r"\d+ others", str(name)) for axis in frame.axes for name in axis[-1:]]
    cells = frame.to_numpy(float)[: None if names[0] else -1, : None if names[1] else -1]
    cells = cells if (cells > 0).any() else frame.to_numpy(float)
    return min(cells[cells > 0].min(), cells.max() / 10), cells.max()  # what is nearly equal looks so


def colours_of(everybody, names):
    """A colour for each name, by its place among all, so that a name has the same colour in all pictures as
    long as colours suffice."""
    free, chosen = list(COLOURS), {}
    for place, name in enumerate(sorted(everybody, key=natural)):
        if name in names:
            chosen[name] = COLOURS[place % 7] if COLOURS[place % 7] in free else free[0]
            free.remove(chosen[name])
    return [chosen[name] for name in names]
