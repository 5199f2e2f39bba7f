# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the page as SVG and HTML, in the colours of the page. Those over time share an axis in seconds since the begin,
which the page's script zooms; each has its numbers with it, which the script shows under the pointer."""

import base64
import html
import json
import struct
import zlib

import numpy as np
import pandas as pd

from .. import look
from ..look import COLOURS, OTHER, OTHERS
from ..plots import lines_shown

VIRIDIS = np.array([(65, 68, 135), (42, 120, 142), (34, 168, 132), (122, 209, 81), (253, 231, 37)])  # without its dark end
FEW = 25    # cells of a matrix that have room for their values
HIGH = 100  # units of a picture's height


def _seconds(edges, begin):
    return np.round((np.asarray(edges).astype("datetime64[ns]").astype(np.int64) - begin) / 1e9, 3)


def _number(value):
    """Three digits suffice to be looked at; NaN is null."""
    return None if value != value else float(f"{value:.3g}")


def _steps(x, y):
    """A path along the top of intervals, from its first."""
    return "".join(f"V{one:.4g}H{end:.8g}" for one, end in zip(y, x[1:]))


def _area(x, y, colour):
    return f'<path fill="{colour}" d="M{x[0]:.8g} {HIGH}{_steps(x, y)}V{HIGH}Z"/>'


def _line(x, y, colour, dashed=False):
    """A line along the intervals that have a value."""
    parts, started = [], False
    for low, high, value in zip(x, x[1:], y):
        if value != value:
            started = False
            continue
        parts.append(f"{'V' if started else f'M{low:.8g} '}{value:.4g}H{high:.8g}")
        started = True
    return f'<path class="line{" dashed" if dashed else ""}" stroke="{colour}" d="{"".join(parts)}"/>'


def _missing(x, whole):
    """What hides intervals with lost events."""
    return "".join(f'<rect class="lost" x="{low:.8g}" y="0" width="{high - low:.8g}" height="{HIGH}"><title>events lost</title></rect>'
                   for low, high, good in zip(x, x[1:], whole) if not good)


def png(pixels):
    """An image of [row, column, RGBA] bytes."""
    height, width, _ = pixels.shape

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1).tobytes()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def colours(values, scale=None):
    """[..., RGBA] of counts on a logarithmic scale, from the least to the greatest of all or as `scale` says; nothing is
    transparent."""
    least, most = scale or (values[values > 0].min() if (values > 0).any() else 1.0, np.nanmax(values, initial=0))
    low, high = np.log(least), np.log(max(2.0, most))
    place = np.clip((np.log(np.maximum(values, 1e-300)) - low) / max(high - low, 1e-9), 0, 1) * (len(VIRIDIS) - 1)
    channels = [np.interp(place, range(len(VIRIDIS)), VIRIDIS[:, n]) for n in range(3)]
    return np.stack([*channels, 255.0 * (values > 0)], axis=-1).astype(np.uint8)


def _ticks(first, last):
    """(seconds, time of day) at about five round times."""
    step = next((one for one in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
                 if (last - first) / one <= 6), 86400 * max(1, int((last - first) / 6 / 86400)))
    return [(at, str(np.datetime64(int(at), "s"))[11:19 if step < 60 else 16]) for at in np.arange(-(-first // step) * step, last + 0.01, step)]


class Figures:
    """Of a page about the time from `begin` to `end` (ns)."""

    def __init__(self, begin, end):
        self.begin, self.span = begin, max(1e-9, (end - begin) / 1e9)

    def picture(self, picture):
        """Its HTML; None: there is nothing of it to be drawn here."""
        draw = {"stack": self._stack, "heatmap": self._heatmap, "gauge": self._gauge, "estimate": self._gauge, "lines": self._lines,
                "matrix": self._matrix}.get(picture.kind)
        return draw and draw(picture, *picture.data())

    def _frame(self, picture, labels, inside, legend, numbers):
        """Of one over time."""
        begin = self.begin / 1e9
        ticks = "".join(f'<span style="left:{100 * (at - begin) / self.span:.2f}%">{text}</span>'
                        for at, text in _ticks(begin, begin + self.span))
        names = "".join(f'<li><i style="background:{colour}"></i>{html.escape(name)}</li>' for name, colour in legend)
        return (f'<figcaption>{html.escape(picture.text)}</figcaption><div class="frame time">{_labels("y", "top", labels)}'
                f'<svg viewBox="0 0 {self.span:.8g} {HIGH}" preserveAspectRatio="none" role="img" aria-label="{html.escape(picture.text)}">'
                f'{inside}</svg><div class="x">{ticks}</div></div><ul class="legend">{names}</ul>'
                f'<script type="application/json">{json.dumps(numbers, separators=(",", ":")).replace("<", chr(92) + "u003c")}</script>')

    def _stack(self, picture, edges, whole, rates):
        totals = look.descending(rates.sum())
        named = [name for name in totals.index if name != OTHER and totals[name] > 0]
        largest = sorted(named[: len(COLOURS)] if len(named) <= len(COLOURS) else named[: len(COLOURS) - 1], key=look.natural)
        parts = list(zip(largest, look.colours_of(list(rates.columns), largest), [rates[name] for name in largest]))
        rest = [name for name in named if name not in set(largest)]
        parts += [(f"{len(rest)} others", OTHERS, rates[rest].sum(axis=1, skipna=False))] if rest else []
        parts += [("(other): no name kept", "var(--faint)", rates[OTHER])] if totals.get(OTHER, 0) > 0 else []
        if not parts:
            return None
        x, values = _seconds(edges, self.begin), np.array([column.to_numpy(float) for _, _, column in parts])
        tops = np.nan_to_num(values).cumsum(axis=0)
        high = max(tops.max(), 1e-9) * 1.05
        inside = "".join(_area(x, HIGH * (1 - top / high), colour) for top, (_, colour, _) in zip(tops[::-1], parts[::-1]))
        return self._frame(picture, _even(high, picture.units), inside + _missing(x, whole), [part[:2] for part in parts],
                           {"x": x.tolist(), "units": picture.units + "/s",
                            "rows": [[name, *map(_number, row)] for (name, _, _), row in zip(parts, values)]})

    def _gauge(self, picture, edges, whole, frame):
        band, line, *names = ("95 % interval", "estimate of all", "at most", "estimate", "at least") if picture.kind == "estimate" else \
            ("least to greatest", "at an interval's end", "greatest", "last", "least")
        x, high = _seconds(edges, self.begin), np.nanmax(frame["max"].to_numpy(), initial=0) * 1.05 or 1.0
        low, top, last = (HIGH * (1 - frame[name].to_numpy(float) / high) for name in ("min", "max", "last"))
        inside = _area(x, np.nan_to_num(top, nan=HIGH), COLOURS[4]) + _area(x, np.nan_to_num(low, nan=HIGH), "var(--paper)") \
            + _line(x, last, "currentColor")
        return self._frame(picture, _even(high, picture.units), inside + _missing(x, whole),
                           [(band, COLOURS[4]), (line, "currentColor")],
                           {"x": x.tolist(), "units": picture.units,
                            "rows": [[name, *map(_number, frame[column])] for name, column in zip(names, ("max", "last", "min"))]})

    def _lines(self, picture, edges, whole, frame):
        values = frame.to_numpy(float)
        if not np.isfinite(values).any():
            return None
        (names, others), x = lines_shown(frame), _seconds(edges, self.begin)
        low, high = min(0.0, np.nanmin(values)), max(np.nanmax(values), 1e-9)
        low, high = low * 1.05, high * 1.05

        def place(some):
            return HIGH * (high - np.asarray(some, float)) / (high - low)
        colours_of = dict(zip(names, COLOURS))
        inside = "".join(_line(x, place(frame[name]), colour) for name, colour in colours_of.items())
        bounds = [(name, getattr(frame, name)(axis=1)) for name in ("max", "min")] if others else []
        inside = "".join(_line(x, place(column), OTHERS, True) for _, column in bounds) + inside
        return self._frame(picture, [(float(place(value)), text) for value, text in _values(low, high, picture.units)],
                           inside + _missing(x, whole),
                           [*colours_of.items(), *([(f"least and greatest, with {others} others", OTHERS)] if others else [])],
                           {"x": x.tolist(), "units": picture.units,
                            "rows": [[name, *map(_number, column)] for name, column in
                                     [*((name, frame[name]) for name in names), *bounds]]})

    def _heatmap(self, picture, edges, whole, counts, bins, lines):
        if not counts.size:
            return None
        x, lower = _seconds(edges, self.begin), picture.bins[bins[0]: bins[1] + 1].astype(float)
        # Intervals may differ in length, typically the first and the last; each pixel shows the interval that contains its middle.
        width = float(np.median(np.diff(x)))
        middle = x[0] + width * (0.5 + np.arange(max(1, round((x[-1] - x[0]) / width))))
        column = np.clip(np.searchsorted(x, middle, "right") - 1, 0, counts.shape[1] - 1)
        grid = np.where(middle - x[column] < width, counts[:, column], 0)
        image = base64.b64encode(png(colours(grid[::-1]))).decode()
        top = len(counts)

        def place(value):  # bins have one height each
            return HIGH * (1 - np.interp(value, lower, np.arange(len(lower)), left=0, right=top) / top)
        inside = (f'<image href="data:image/png;base64,{image}" x="{x[0]:.8g}" y="0" width="{x[-1] - x[0]:.8g}" height="{HIGH}" '
                  'preserveAspectRatio="none"/>')
        found = {q: lines[q].to_numpy(float) for q in (0.5, 0.99)}
        inside += "".join(_line(x, np.where(np.isfinite(found[q]), place(found[q]), np.nan), COLOURS[5], q > 0.5) for q in found)
        labels = [(float(place(tick)), look.shown(picture.units)(tick)) for tick in look.log_ticks(max(lower[0], 1), max(lower[-1], 2), 6)]
        return self._frame(picture, labels, inside + _missing(x, whole), [("median", COLOURS[5]), ("99 in 100 (dashed)", COLOURS[5])],
                           {"x": x.tolist(), "units": picture.units,
                            "rows": [["values in the interval", *map(float, counts.sum(axis=0))],
                                     *([name, *map(_number, found[q])] for q, name in ((0.99, "99 in 100"), (0.5, "median")))]})

    @staticmethod
    def _matrix(picture, values, hidden):
        """Rows by columns; each cell has its value as a title, and visibly where there is room."""
        if values.empty or not values.to_numpy().any():
            return None
        show, cells, paint = look.shown(picture.units), values.to_numpy(float), colours(values.to_numpy(float), look.scale_of(values))
        parts, texts, (rows, columns) = [], "", cells.shape
        for (row, column), value in np.ndenumerate(cells):
            if value > 0 and cells.size <= FEW:
                texts += f'<span style="left:{100 * (column + 0.5) / columns:.4g}%;top:{100 * (row + 0.5) / rows:.4g}%">{html.escape(show(value))}</span>'
            unknown = bool(hidden.iat[row, column])
            if value > 0 or unknown:
                what = show(value) if value > 0 else "hidden: may be in (other)"
                fill = f'fill="#{"".join(f"{one:02x}" for one in paint[row, column, :3])}"' if value > 0 else 'class="lost"'
                parts.append(f'<rect {fill} x="{column}" y="{row}" width="1" height="1"><title>'
                             f"{html.escape(f'{values.index[row]} → {values.columns[column]}: {what}')}</title></rect>")
        return (f'<figcaption>{html.escape(picture.text)}</figcaption><div class="frame matrix{" few" * (cells.size <= FEW)}">'
                + _labels("y", "top", [(100 * (n + 0.5) / rows, name) for n, name in enumerate(values.index)])
                + f'<svg viewBox="0 0 {columns} {rows}" preserveAspectRatio="none" role="img" aria-label="{html.escape(picture.text)}">{"".join(parts)}</svg>'
                + f'<div class="cells">{texts}</div>' * bool(texts) + _labels("x", "left", [(100 * (n + 0.5) / columns, name) for n, name in enumerate(values.columns)]) + "</div>")


def _labels(axis, side, labels):
    return f'<div class="{axis}">' + "".join(f'<span style="{side}:{place:.4g}%">{html.escape(look.short(text))}</span>' for place, text in labels) + "</div>"


def _even(high, units):
    """About five labels of an axis from 0 on, at round numbers."""
    return [(100 * (1 - value / high), text) for value, text in _values(0, high, units)]


def _values(low, high, units):
    """About five round numbers and their texts."""
    high, first = max(high, -low), low
    base = 1024.0 ** max(0, int(np.log2(max(high, 1)) // 10)) if units.startswith("byte") else 1.0
    power = 10.0 ** np.floor(np.log10(high / base / 4))
    step = base * power * next(n for n in (1, 2, 2.5, 5, 10) if n * power * base >= high / 4 * 0.8)
    return [(value, look.shown(units)(value) if value else "0") for value in np.arange(np.ceil(first / step) * step, high, step)]


def interval(begin, finding):
    """(from, to) of a finding in seconds since `begin`."""
    return tuple(round((pd.Timestamp(when).value - begin) / 1e9, 3) for when in (finding.begin, finding.end))
