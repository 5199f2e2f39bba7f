# SPDX-License-Identifier: BSD-3-Clause
"""What the functions of this package raise, and the most memory one result may take."""

MEMORY_LIMIT = 1 << 30  # bytes of one array or frame


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
