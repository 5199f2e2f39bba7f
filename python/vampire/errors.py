# SPDX-License-Identifier: BSD-3-Clause
"""What the functions of this package raise, how text is made safe to print, and the most memory one result may take."""

import re

# Control characters, separators of lines, marks of the text's direction, invalid UTF-8: as in vampire/core/utf8.c.
HIDDEN = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
MEMORY_LIMIT = 1 << 30  # bytes of one array or frame


def one_line(text):
    """The text with "?" for each character that could control a terminal or begin a line."""
    return HIDDEN.sub("?", text)


class Error(Exception):
    """What cannot be read or computed, in words for people."""


class Damaged(Error):
    """A file is not what vampire wrote."""


class DamageWarning(UserWarning):
    """What is damaged and was left out."""


class TooLarge(Error):
    """A result would need more than MEMORY_LIMIT. `args[0]` says how much; `advice` what to use instead."""

    def __init__(self, what, needed, advice):
        super().__init__(f"{what} needs {needed / 2**30:.1f} GiB of memory, more than {MEMORY_LIMIT / 2**30:.0f}")
        self.advice = advice

    def __str__(self):
        return f"{self.args[0]}. {self.advice}"


def check_size(what, needed, advice):
    """Raises TooLarge when `needed` bytes are too many."""
    if needed > MEMORY_LIMIT:
        raise TooLarge(what, needed, advice)
