# SPDX-License-Identifier: BSD-3-Clause
"""vampire --summary: what vampire prints at the end of a run, from the files of runs. Needs numpy and h5py, no
more; `vampire` starts main()."""

import fcntl
import os
import stat
import sys

from . import files, run_hdf5, run_lines, words
from .errors import Error, one_line
from .progress import Progress
from .run_files import LOSSES, OTHER, RunFile, missing_text, share, without

COLUMNS = 22           # of the names at the begin of lines
COMPONENTS_SHOWN = 20  # the files have them all
FILES_SHOWN = 8
# Of what is not observed: what is no metric, in the order of vampire's list.
NO_METRICS = ("time", "size", "peer", "transport_id", "cdo_id", "phases", "cause", "tier", "reason", "failures", "serials",
              "demands", "kinds")
STATES = {"open": "without an end, vampire was killed; its files cover",
          "rotated": "continued in a file that was not given; these cover"}
BOUNDS = {"vampire_series_overflow": words.OVERFLOW, "vampire_labels_given_up": words.GIVEN_UP,
          "vampire_evicted": words.EVICTED, "vampire_unidentified": words.UNIDENTIFIED,
          "vampire_cdos_uncounted": words.UNCOUNTED}


def _in_unit(value, units):
    name, size = next(((name, size) for name, size in units if value >= size), units[-1])
    scaled = value / size
    decimals = 0 if size == 1 or scaled >= 100 else 1 if scaled >= 10 else 2
    return f"{scaled:.{decimals}f} {name}"


def _bytes(count):
    return _in_unit(count, [(f"{letter}iB", 2**(60 - 10 * at)) for at, letter in enumerate("EPTGMK")] + [("B", 1)])


def _duration(ns):
    return _in_unit(ns, [("h", 3600e9), ("min", 60e9), ("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1)])


def _line(name, text):
    return f"  {name:{COLUMNS}} {text}"


def _plural(count, word):
    return word if count == 1 else word + "s"


class Summary:
    """The lines about the files of one run and output, joined to one RunFile."""

    def __init__(self, found):
        self._found = found
        self._lost = sum(found.account[place] for place in LOSSES)
        self._events = found.account["received"] + self._lost + found.totals["vampire_not_subscribed"]
        # Numbers of buckets begin with 0.
        self._buckets_lost = found.lost + (found.first_number if not found.segments_missing else 0)

    def lines(self):
        """All of them."""
        lines = [*self._head(), "", *self._operations(), "", *self._movement(), "", *self._components(), *self._losses(),
                 *self._bounds(), *self._output(), *self._alarms()]
        return [one_line(line) for line in lines]

    def _head(self):
        found = self._found
        state = "still running; so far its files cover" if found.is_written else STATES.get(found.end)
        duration = found.last_ns - found.first_ns
        if state is None:
            state, duration = f"{found.reason} after", found.ended - found.started
        return ["", f'vampire: workflow "{found.workflow}": {state} {_duration(max(0, duration))}']

    def _share(self, *totals):
        """What totals stand for, of each its metric, value, and the text of a value for people: "  (55.0 % of 9.01 GiB,
        without what statistics.filters exclude; of 55.0 % of the events)"; "" when that is all."""
        found, parts, lacks = self._found, [], {}
        for metric, value, text in totals:
            aside = {name: amounts.get(metric, 0) for name, amounts in found.aside.items()}
            every = value + sum(aside.values())
            if value < every:
                parts.append(words.OF_TOTAL % (share(value, every), text(every)))
                lacks |= {name: amount for name, amount in aside.items() if amount}
        parts = [f"{' and '.join(parts)}, {without(lacks)}"] if parts else []
        if found.account["counted"] < self._events:
            part = share(found.account["counted"], self._events)
            is_events = totals[0][0] == "pool_operations"  # other amounts are not in proportion to events
            parts.append("of " + words.OF_EVENTS % part if is_events else words.FROM_EVENTS % part)
        return f"  ({'; '.join(parts)})" if parts else ""

    def _is_everything_counted(self):
        """Whether every event was counted, in all metrics."""
        found = self._found
        has_all_events = found.account["counted"] == self._events and not found.runs_missing and "kinds" not in found.not_observed
        has_all_cdos = not found.totals["vampire_evicted"] and not found.totals["vampire_unidentified"]
        return has_all_events and has_all_cdos and not any(any(amounts.values()) for amounts in found.aside.values())

    def _unless_counted(self, metric, what):
        if metric in self._found.not_observed:
            return [_line(what, words.UNOBSERVED % self._found.not_observed[metric])]
        return [] if metric in self._found.counted else [_line(what, words.ABSENT)]

    def _operations(self):
        found = self._found
        missing = self._unless_counted("pool_operations", "operations")
        if missing:
            return missing
        shown = [(word, f"{count:14,}") for word, count in found.operations.items() if count]
        if shown and shown[-1][0] == OTHER:
            shown[-1] = (OTHER, shown[-1][1] + "  " + words.NO_SERIES)
        every = sum(found.operations.values()) + found.unlabelled
        share = self._share(("pool_operations", every, "{:,}".format))
        return [_line(*row) for row in (("operation", f"{'count':>14}"), *shown, ("all", f"{every:14,}{share}"))]

    def _movement(self):
        totals = self._found.totals
        produced = self._unless_counted("produced_bytes", "produced")
        moved = self._unless_counted("transports", "transports")
        shown = [("transports", totals["transports"], "{:,}".format), ("transport_bytes", totals["transport_bytes"], _bytes)]
        shown = [one for one in shown if one[0] in self._found.counted]
        return [*(produced or [_line("produced", _bytes(totals["produced_bytes"]) +
                                   self._share(("produced_bytes", totals["produced_bytes"], _bytes)))]),
                *(moved or [_line("transports", ", ".join(text(value) for _, value, text in shown) + self._share(*shown))]),
                *self._quantiles("transport_ns", "transport time"), *self._quantiles("demand_wait_ns", "wait on demand")]

    def _quantiles(self, metric, what):
        if metric in self._found.not_observed:
            return self._unless_counted(metric, what)
        histogram = self._found.histograms.get(metric)
        aside = {name: amounts.get(metric, 0) for name, amounts in self._found.aside.items()}
        if histogram is None or not histogram.count:
            return [_line(what, f"none  ({share(0, sum(aside.values()))} of them, {without(aside)})")] if any(aside.values()) else []
        note = "  (without the buckets that are missing)" if self._buckets_lost + self._found.segments_missing else ""
        if any(aside.values()):
            note += f"  ({share(histogram.count, histogram.count + sum(aside.values()))} of them, {without(aside)})"
        p50, p99, most = (self._between(ns, histogram) for ns in (histogram.quantile(0.5), histogram.quantile(0.99), histogram.max))
        return [_line(what, f"p50 {p50}, p99 {p99}, max {most}{note}")]

    def _between(self, ns, histogram):
        """A quantile or extreme, or its bounds if values of 0, below the resolution, may be above it."""
        resolution = self._found.resolution_ns
        if ns >= resolution or not histogram.bins.get(0):
            return _duration(ns)
        return f"{_duration(ns)} to {_duration(resolution)}" if ns else f"< {_duration(resolution)}"

    def _components(self):
        components = self._found.components
        count = max(components, default=0)
        if not count:
            return []
        lines = [_line("component", f"{'operations':>14}  left")]
        for row in range(1, min(count, COMPONENTS_SHOWN) + 1):
            if row in components:
                one = components[row]
                left = one.reason if one.has_left else "no"
                lines.append(_line(one.name[:COLUMNS], f"{one.operations:14,}  {left}"))
        if count > COMPONENTS_SHOWN:
            lines.append(f"  ... and {count - COMPONENTS_SHOWN} more")
        if 0 in components and components[0].operations:
            lines.append(_line(components[0].name, f"{components[0].operations:14,}  {words.NO_NAME}"))
        return [*lines, ""]

    def _losses(self):
        found, account = self._found, self._found.account
        lines = []
        if self._buckets_lost:
            lost = f"{self._buckets_lost:,} {_plural(self._buckets_lost, 'bucket')}"
            lines.append(_line("LOST", f"{lost} (output {found.output})"))
        if found.unwatched:
            lines.append(_line("NOT WATCHED", f"{found.unwatched} {_plural(found.unwatched, 'time')}, "
                               f"{_duration(found.unwatched_ns)} in all: {words.UNWATCHED}"))
        none = not (found.unwatched or found.damage or self._lost or account["rejected"] or self._buckets_lost or
                    found.segments_missing or found.totals["collect_refused"])
        if "losses" in found.not_observed:
            lines.append(_line("losses", found.not_observed["losses"] + ("; vampire lost none" if none else "")))
        elif none:
            lines.append(_line("losses", f"none; {words.EVERY}" if self._is_everything_counted() else "none"))
        lines += [_line(what, found.not_observed[what]) for what in NO_METRICS if what in found.not_observed]
        lines += [_line("LOST", f"{account[place]:,} events ({place})") for place in LOSSES if account[place]]
        if account["rejected"]:
            lines.append(_line("REJECTED", f"{account['rejected']:,} events {words.REJECTED}"))
        if found.totals["collect_refused"]:
            lines.append(_line("REFUSED", f"{found.totals['collect_refused']:,} {words.REFUSED}"))
        if found.damage:
            lines.append(_line("DAMAGED", f"{len(found.damage)} {_plural(len(found.damage), 'part')} of the files, left out"))
        if found.segments_missing:
            lines.append(_line("NOT GIVEN", f"{found.segments_missing} of the run's files; totals are since its start"))
        if found.runs_missing:
            lines.append(_line("MISSING", missing_text(found.runs_missing, found.buckets)))
        for what, events, all_, note in (
                ("not subscribed", found.totals["vampire_not_subscribed"], self._events, " " + words.OTHER_KINDS),
                ("filtered out", account["filtered"], account["decoded"], ""),
                ("sampled out", found.totals["vampire_sampled_out"], account["decoded"], " " + words.SAMPLED_OUT),
                ("late", account["late"], account["counted"], " " + words.LATE)):
            if events:
                lines.append(_line(what, f"{events:,} events ({share(events, all_)}){note}"))
        return lines + ([_line("examined", found.examined)] if any(word in found.examined for word in (words.OTHER, words.COARSE, words.SHARED)) else [])

    def _bounds(self):
        totals = self._found.totals
        cut = totals["vampire_filter_cut"]
        lines = [_line("out of steps", f"{cut:,} {words.CUT}")] if cut else []
        return lines + [_line("at a limit", f"{totals[name]:,} {what}") for name, what in BOUNDS.items() if totals[name]]

    def _output(self):
        found, paths = self._found, self._found.paths
        lost = f", {self._buckets_lost} LOST" if self._buckets_lost else ""
        lines = [_line(found.output, f"{found.buckets} {_plural(found.buckets, 'bucket')} written{lost}")]
        lines += [_line("", path) for path in paths[:FILES_SHOWN]]
        if len(paths) > FILES_SHOWN + 1:
            lines.append(_line("", f"... {len(paths) - FILES_SHOWN} more, the last one:"))
        return lines + [_line("", path) for path in paths[FILES_SHOWN:][-1:]]

    def _alarms(self):
        rules = [(name, alarm) for name, alarm in self._found.alarms.items() if alarm.fired or alarm.pending > 0]
        texts = [f"{name} ({alarm.severity}): fired {alarm.fired} {_plural(alarm.fired, 'time')}, "
                 f"{max(0, alarm.firing)} firing, {max(0, alarm.pending)} pending" for name, alarm in rules]
        return [_line("alarms" if not n else "", text) for n, text in enumerate(texts)]


def _is_written(file):
    """vampire holds a lock of each file that it writes."""
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    except OSError:  # a file system without locks
        return False
    return False


def _opened(path):
    """The RunFile of a file, of any format that has counts; Error with what is wrong with it."""
    try:
        # Not blocking: it may be a FIFO.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY)) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return _read(file, path)
    except IsADirectoryError:
        pass
    except OSError as error:
        raise Error(f"open {path}: {error.strerror}") from None
    raise Error(f"{path} is not a file")


def _read(file, path):
    begin = file.read(64)
    file.seek(0)
    if b"vampire-recording" in begin:
        raise Error(f"{path} is a recording, which has events instead of counts; vampire --replay {path} counts them "
                    "and prints the summary")
    if begin.startswith(b'[{"name":"vampire"'):
        raise Error(f"{path} is a trace, which has events instead of counts")
    if begin.startswith(files.SIGNATURE):
        fill = run_hdf5.fill
    elif begin.startswith(b'{"v":'):
        fill = run_lines.fill
    else:
        raise Error(f"{path} is neither an HDF5 file, nor JSON lines, a recording or a trace")
    found = RunFile([path], _is_written(file))
    try:
        fill(found, file)
    except (Error, *files.UNREADABLE) as error:
        raise Error(f"read {path}: {error}") from None
    return found


def _joined(files, report):
    """The files of one run and output, in the order of their segments, as one."""
    whole, *more = sorted(files, key=lambda file: file.segment)
    before, missing = whole, whole.segment - 1
    for file in more:
        if file.segment == before.segment:
            report(f"{before.paths[-1]} and {file.paths[0]} are the same part of one run")
            continue
        between = file.segment - before.segment - 1
        missing += between
        before = file
        try:
            whole = whole.joined(file, between == 0)
        except Error as error:
            report(f"{file.paths[0]}: {error}")
    whole.segments_missing = missing
    return whole


def main(paths):
    """Prints a summary for each run and output among the files, in the order in which they come. What cannot be read is
    reported, and the others are summarised. Returns the exit code."""
    faults = []
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")

    def report(text):
        faults.append(text)
        progress.say(f"vampire: error: {one_line(text)}")

    groups = {}
    with Progress("vampire") as progress:
        for number, path in enumerate(paths, 1):
            progress.step(f"reads file {number} of {len(paths)}")
            try:
                file = _opened(path)
                for text in file.damage:
                    report(f"{text}, and left out")
                groups.setdefault((file.run, file.output), []).append(file)
            except Error as error:
                report(str(error))
    try:
        for files in groups.values():
            print("\n".join(Summary(_joined(files, report)).lines()), flush=True)
    except OSError as error:
        report(f"write the answer: {error.strerror}")
        sys.stdout = None  # Python would complain once more at its end
    if faults and not groups:
        return 2  # nothing could be summarised
    return 1 if faults else 0
