# SPDX-License-Identifier: BSD-3-Clause
"""What a report is made of, whatever it is written as."""

import dataclasses
from typing import Callable, Optional

import numpy as np
import pandas as pd

from .. import look
from ..account import number_of

FINDINGS_SHOWN = 12
LARGEST = 20  # rows by name in a table; the rest is one row
MORE = 1000   # of these that the page shows on demand


@dataclasses.dataclass
class Table:
    """A table: `frame` has the plain numbers, `rows` what people read."""

    name: str       # of its CSV file
    title: str
    head: tuple
    rows: list
    frame: pd.DataFrame
    text_columns: int = 1
    notes: list = dataclasses.field(default_factory=list)  # what is not in these numbers
    more: list = dataclasses.field(default_factory=list)   # rows that the page shows on demand, of those in the last of `rows`


@dataclasses.dataclass
class Picture:
    """A picture that `draw(ax)` makes; of a `kind` that report/figures.py knows the page has it with its numbers."""

    name: str
    text: str
    draw: Callable
    notes: list = dataclasses.field(default_factory=list)
    kind: str = ""
    data: Optional[Callable] = None  # what report/figures.py needs
    units: str = "1"
    bins: Optional[np.ndarray] = None  # lower edges of a histogram


@dataclasses.dataclass
class Answers:
    """What made it late: of vampire.diagnose."""

    frame: pd.DataFrame  # its result
    rows: list           # (sentence, the call that reproduces it, the command for its trace)
    rest: list           # sentences: more findings, what was looked for and not found, what could not be looked for
    title: str


@dataclasses.dataclass
class Report:
    """All of it, in this order."""

    title: str
    subtitle: str
    notes: list                 # what is not in the numbers; empty: nothing
    whole: str                  # what to say when there are no notes
    remark: Optional[str]       # which part of the run this is
    facts: list                 # (what, number, note)
    before: list                # tables before the pictures
    pictures: list
    tables: list
    foot: str
    answers: Optional[Answers] = None  # stands before the facts
    times: tuple = (0, 0)              # begin and end, ns


def moment(when, length=19):
    """A time for people; "" if it is not known."""
    return "" if pd.isna(when) else str(np.datetime64(when, "ns"))[:length].replace("T", " ")


def largest(frame, column, most=LARGEST):
    """The names of the rows with the largest values, these first, and the other names. (other) is named, as the last."""
    order = look.descending(frame[column]).index
    named = [name for name in order if name != look.OTHER]
    chosen = named if len(named) <= most + 1 else named[:most]
    return chosen + [look.OTHER] * (look.OTHER in order), named[len(chosen):]


def others(rest):
    """The name of the row that stands for the rest."""
    return number_of(len(rest), "other")
