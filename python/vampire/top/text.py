# SPDX-License-Identifier: BSD-3-Clause
"""Texts that a terminal only displays, and figures of few columns."""

import functools
import sys
import unicodedata

COLUMNS_MAX = 250
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Cn", "Zl", "Zp"))  # controls, marks of direction, surrogates, separators


def _encodable(character):
    try:
        character.encode(sys.stdout.encoding or "ascii")
    except UnicodeError:
        return False
    return True


@functools.lru_cache(1 << 14)
def _width(character):
    """Columns of a character; None: it may not be shown, or the terminal's encoding lacks it. Accents have 0."""
    category = unicodedata.category(character)
    if category in _HIDDEN or not _encodable(character):
        return None
    if unicodedata.combining(character) or category in ("Mn", "Me"):
        return 0 if 0x300 <= ord(character) < 0x370 else None
    if 0x1160 <= ord(character) < 0x1200:  # vowels and finals of Hangul, which join the character before
        return None
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@functools.lru_cache(1 << 14)
def clean(text, limit=191):
    """The text as a terminal may show it, cut at `limit` bytes of UTF-8: what it must not show becomes "?"."""
    if text.isascii() and text.isprintable():
        return text[:limit]
    out, used = [], 0
    for character in text:
        width = _width(character)
        if width is None or (width == 0 and not out):  # no accent on nothing
            character = "?"
        used += len(character.encode())
        if used > limit:
            break
        out.append(character)
    return "".join(out)


def columns(text):
    """Columns of a clean text."""
    return len(text) if text.isascii() else sum(_width(character) or 0 for character in text)


def cut(text, most):
    """The clean text in at most `most` columns; one that is cut ends with "~"."""
    if columns(text) <= most:
        return text
    if text.isascii():
        return text[: max(most - 1, 0)] + "~"[:most]
    out, taken = [], 0
    for character in text:
        taken += _width(character) or 0
        if taken > most - 1:
            break
        out.append(character)
    return "".join(out) + "~"[:most]


def fit(text, wanted):
    """The clean text in exactly `wanted` columns, padded or cut."""
    text = cut(text, wanted)
    return text + " " * (wanted - columns(text))


def fit_ends(text, wanted):
    """The same, but a long name loses its middle: names of fields differ at their ends."""
    if columns(text) <= wanted:
        return fit(text, wanted)
    end = text
    while columns(end) > wanted - wanted // 3:
        end = end[1:]
    return fit(fit(text, wanted // 3) + end, wanted)


# ---------------------------------------------------------------- figures


def count(value):
    """At most seven columns: "0", "0.5", "1,376", "12.3M"."""
    if value >= 99999.5:
        return _large(value)
    if value >= 999.5:
        return f"{int(value + 0.5):,}"
    return f"{value:.1f}" if value < 10 and value > int(value) else f"{value:.0f}"


def _large(value):
    """Three digits of the largest unit."""
    for unit in "kMGTPE":
        value /= 1000
        if value < 999.5:
            break
    decimals = 2
    if value >= 99.95:
        decimals = 0
    elif value >= 9.995:
        decimals = 1
    return f"{value:.{decimals}f}{unit}"


_BYTES = [(1024.0**power, unit) for power, unit in zip(range(6, 0, -1), ("EiB", "PiB", "TiB", "GiB", "MiB", "KiB"))] + [(1, "B")]
_TIMES = [(3600e9, "h"), (60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")]


def _in_unit(value, units):
    size, unit = next(pair for pair in units if value >= pair[0] or pair[0] == 1)
    scaled = value / size
    decimals = 2
    if size == 1 or scaled >= 100:
        decimals = 0
    elif scaled >= 10:
        decimals = 1
    return f"{scaled:.{decimals}f} {unit}"


def size(value):
    """Bytes: "43.1 MiB"."""
    return _in_unit(value, _BYTES)


def time(nanoseconds):
    """A duration: "2.16 ms"."""
    return _in_unit(int(nanoseconds), _TIMES)


def rate_of_time(nanoseconds):
    """Time spent in each second, over all who spend it: "404 s"; minutes a second are hard to read."""
    return f"{count(nanoseconds / 1e9)} s" if nanoseconds >= 60e9 else time(nanoseconds)


def share(part, whole):
    """"55.0 %"; a little is not none, and nearly all is not all."""
    percent = 100.0 * part / whole if whole > 0 else 100.0
    if part < whole and percent > 99.9:
        return "more than 99.9 %"
    if part > 0 and percent < 0.1:
        return "less than 0.1 %"
    return f"{percent:.1f} %"
