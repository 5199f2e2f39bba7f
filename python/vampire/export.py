# SPDX-License-Identifier: BSD-3-Clause
"""vampire --export: the rows of `table` as a SQLite database, or as CSV files. `vampire` starts main().

A table for each metric: `time` (text, UTC) and `time_ns` (since 1970), the labels, then what `table` gives: of a
counter `delta`; of a gauge `last`, `min`, `max`; of a histogram `count`, `sum`, `min`, `max` and quantiles. With several
runs `run` is a label. `metrics` describes the tables, `coverage` has a row for each bucket with what became of its
events, `not_observed` the metrics that the pool manager's events cannot tell, with the reason. Integers are exact.
"""

import csv
import gzip
import os
import pathlib
import sqlite3
import sys
import warnings

import numpy as np
import pandas as pd

from . import compute, files
from .errors import Error
from .history import RUN, History
from .progress import Progress

BUCKETS = 64  # that are in memory at a time
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
DATABASES = (".sqlite", ".sqlite3", ".db")
TARGETS = (*DATABASES, ".csv", ".csv.gz")
SQLITE_MAX = 2**63 - 1


class Sqlite:
    """A database with a table for each one. It appears under its name when it is whole."""

    def __init__(self, target):
        self._target, self._part = target, target.with_name(f"{target.name}.{os.getpid()}.new")
        self._database = sqlite3.connect(self._part, isolation_level=None)
        # A half-written database is thrown away: nothing has to be taken back.
        self._database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")
        self._insert = None

    def begin(self, name, columns, types):
        """A new table, for rows to come."""
        self._database.execute(f"CREATE TABLE {_quoted(name)} (" + ", ".join(
            f"{_quoted(column)} {kind}" for column, kind in zip(columns, types)) + ")")
        self._insert = f"INSERT INTO {_quoted(name)} VALUES ({', '.join('?' * len(columns))})"

    def add(self, columns):
        """Adds rows to the table that was begun, as lists of the columns' values. An integer that SQLite cannot hold becomes text."""
        self._database.executemany(self._insert, zip(*map(self._stored, columns)))

    @staticmethod
    def _stored(column):
        if not column or not isinstance(column[0], int) or max(column) <= SQLITE_MAX:
            return column
        return [str(value) if value > SQLITE_MAX else value for value in column]

    def end(self):
        """All rows are there."""
        self._database.execute("COMMIT")
        self._database.close()
        self._part.replace(self._target)

    def give_up(self):
        """Leaves nothing."""
        self._database.close()
        self._part.unlink(missing_ok=True)


class Csv:
    """A folder with a file for each table. It appears under its name when it is whole."""

    def __init__(self, target):
        self._target, self._part = target, target.with_name(f"{target.name}.{os.getpid()}.new")
        self._part.mkdir()
        self._compressed = target.name.endswith(".gz")
        self._file = None

    def begin(self, name, columns, _types):
        """A new file, with its first line."""
        self._close()
        path = self._part / f"{name}.csv"
        self._file = gzip.open(f"{path}.gz", "wt", compresslevel=6, encoding="utf-8", newline="") if self._compressed \
            else open(path, "w", encoding="utf-8", newline="")
        csv.writer(self._file, lineterminator="\n").writerow(columns)

    def add(self, columns):
        """Adds rows to the table that was begun, as lists of the columns' values."""
        forms, values = zip(*map(_fields, columns)) if columns else ((), ())
        self._file.write("".join(map((",".join(forms) + "\n").__mod__, zip(*values))))

    def end(self):
        """All rows are there."""
        self._close()
        self._part.replace(self._target)

    def give_up(self):
        """Leaves nothing."""
        self._close()
        for path in self._part.iterdir():
            path.unlink()
        self._part.rmdir()

    def _close(self):
        if self._file:
            self._file.close()


def tame(value):
    """A spreadsheet takes a text that begins so for a formula, and names come from the workflow."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value


def _fields(column):
    """(format, values) for the lines of a CSV file, of a list whose values are all texts, all integers or all floating-point numbers;
    None: not known. Formatting whole lines takes half the time of csv.writer."""
    if column and isinstance(column[0], str):
        texts = {value: _csv_text(tame(value)) for value in set(column)}
        return "%s", [texts[value] for value in column]
    if column and isinstance(column[0], int):
        return "%d", column
    return "%s", ["" if value is None else value for value in column]


def _csv_text(text):
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


def _column(values):
    """A list of Python's own values; None where nothing is known."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        return [None if np.isnan(value) else value for value in values.tolist()]
    return values.tolist()


def _texts_of_time(ns, unit):
    """Converts each distinct time once."""
    times, numbers = np.unique(np.asarray(ns, np.int64), return_inverse=True)
    texts = np.array([f"{text}Z" for text in np.datetime_as_string(times.astype("datetime64[ns]"), unit=unit)], object)
    return texts[numbers].tolist()


def _words(column):
    """The values of a categorical column, as a list."""
    return np.asarray(column.cat.categories, object)[column.cat.codes].tolist()


class Export:
    """The tables of a History, one after another."""

    def __init__(self, history, target, say):
        self._history, self._target, self._say = history, target, say
        self._by_run = (RUN,) if len(history.runs) > 1 else ()
        times = history.times
        self._unit = next((unit for unit, ns in (("s", 10**9), ("ms", 10**6)) if not (times % ns).any()), "ns")

    def write(self):
        """All tables."""
        found = self._history.metrics
        for number, name in enumerate(sorted(found), 1):
            self._metric(found[name], f"{number} of {len(found)} metrics: {name}")
        self._describe(found)
        self._coverage()
        self._not_observed()

    def _metric(self, metric, said):
        labels = (*metric.labels, *(run for run in self._by_run if run not in metric.labels))
        begun = False
        for number, frame in enumerate(compute.tables(self._history, metric.name, labels, BUCKETS, QUANTILES)):
            self._say(f"{said}, {100 * number * BUCKETS // len(self._history.times)} %")
            values = [name for name in frame.columns if name not in ("time", *labels)]
            if not begun:
                begun = True
                self._target.begin(metric.name, ["time", "time_ns", *labels, *values], [
                    "TEXT", "INTEGER", *["TEXT"] * len(labels),
                    *["REAL" if frame[name].dtype.kind == "f" else "INTEGER" for name in values]])
            ns = frame.time.to_numpy().astype("datetime64[ns]").astype(np.int64)
            self._target.add([_texts_of_time(ns, self._unit), ns.tolist(), *(_words(frame[label]) for label in labels),
                              *(_column(frame[name].to_numpy()) for name in values)])

    def _describe(self, found):
        self._target.begin("metrics", ["name", "kind", "unit", "labels", "help", "origin"], ["TEXT"] * 6)
        metrics = [metric for _, metric in sorted(found.items())]
        units, helps, origins = ([metric.attrs.get(key, "") for metric in metrics] for key in ("value_units", "help", "origin"))
        self._target.add([[metric.name for metric in metrics], [metric.kind for metric in metrics], units,
                          [",".join(metric.labels) for metric in metrics], helps, origins])

    def _coverage(self):
        """What became of the events: amounts since the start of the run, at the end of the bucket."""
        history = self._history
        columns = history.columns(history.column_names)
        names = sorted(columns)
        self._target.begin("coverage", ["time", "time_ns", "run", "complete", *names],
                           ["TEXT", "INTEGER", "TEXT", "INTEGER", *["INTEGER"] * len(names)])
        self._target.add([_texts_of_time(history.times, self._unit), history.times.tolist(),
                          history.per_bucket(lambda file: file.run[:8]).tolist(), history.complete().astype(int).tolist(),
                          *(columns[name][0].tolist() for name in names)])

    def _not_observed(self):
        self._target.begin("not_observed", ["name", "reason"], ["TEXT", "TEXT"])
        self._target.add(list(zip(*sorted(self._history.not_observed.items()))))


def _target_of(word):
    """What writes into the file or folder."""
    path = pathlib.Path(word)
    if not path.name.endswith(TARGETS):
        raise Error(f"'{word}' says not what to write: a name ends in {', '.join(DATABASES)} (a database) or in .csv or "
                    ".csv.gz (a folder with a file for each table)")
    if os.path.lexists(path):
        raise Error(f"{path} exists: choose another name, or remove it")
    return (Sqlite if path.name.endswith(DATABASES) else Csv)(path)


def export(paths, target, output=None, between=None, say=lambda text: None):
    """Writes the files' rows into `target`, whose name says as what: see the module. `say` gets what is being done."""
    history = History(paths, output, between)
    with files.private(paths):
        into = _target_of(target)
        try:
            with history.kept_open():
                Export(history, into, say).write()
            into.end()
        except BaseException:
            into.give_up()
            raise


def main(arguments):
    """arguments: the target, then the files. The exit code."""
    target, *paths = arguments
    with Progress("vampire") as progress:
        warnings.showwarning = lambda text, *_: progress.say(f"vampire: warning: {text}")
        try:
            progress.step("reads the files")
            export(paths, target, say=progress.step)
        except Error as error:
            progress.say(f"vampire: error: {error}")
            return 2
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            progress.say(f"vampire: error: {target} cannot be written: {reason}; nothing is left of it")
            return 1
    try:
        print(pathlib.Path(target).resolve(), flush=True)
    except OSError as error:
        print(f"vampire: error: {target} is complete; write its path: {error.strerror}", file=sys.stderr)
        sys.stdout = None  # Python would complain once more at its end
        return 1
    return 0
