# SPDX-License-Identifier: BSD-3-Clause
"""What a file of JSON lines says of its run. What lines have counted is taken with their bucket's last line, so that
the beginning of a bucket that was not completed does not count."""

import datetime
import json
import zlib

from .errors import Error
from .run_files import ACCOUNT, ASIDE, COUNTERS, HISTOGRAMS, LOSSES, MISSING, OTHER, RESOLUTION, Component, Histogram

VERSION = 2
# vampire's list of kinds of events, in its order.
OPERATIONS = ("join", "leave", "declare", "seal", "offer", "require", "demand", "retract", "withdraw", "dispose",
              "transport_init", "transport_completed", "transport_failed", "subscribe", "unsubscribe")
TAKEN = ("header", "not_observed", "values", "bucket", "gap", "alarm", "component", "operations", "end")  # types of lines
WANTED = {"pool_operations", MISSING, RESOLUTION, *COUNTERS, *HISTOGRAMS, *ASIDE}


CHECK = b',"check":"'  # and eight digits: the CRC-32 of what follows the last line with one, up to here
CHECK_BYTES = len(CHECK) + len('00000000"}\n')


def fill(found, file):
    """Reads the lines of an open file into a RunFile. Those of a bucket count when its last one shows that all of them are
    what was written."""
    reader = _Reader(found)
    lines, first, sum_, has_checks, fault = [], 1, 0, False, None
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            break  # the last line of a file that is being written, or was killed, may not be whole
        has_check = line[-CHECK_BYTES:].startswith(CHECK)
        good = not has_check or line[-11:-3] == b"%08x" % zlib.crc32(line[:-CHECK_BYTES], sum_)
        sum_, has_checks = 0 if has_check else zlib.crc32(line, sum_), has_checks or has_check
        try:
            lines.append(json.loads(line))
        except (RecursionError, ValueError) as error:
            fault = fault or (number, error)
        if has_check or not has_checks:
            if good and fault is None:
                try:
                    for one in lines:
                        reader.take(one)
                except (AttributeError, KeyError, TypeError, ValueError) as error:
                    raise Error(f"line {number} is damaged: {error}") from None
            elif not reader.sub_bits or not has_checks:
                if fault is None and isinstance(lines[0], dict) and lines[0].get("v") != VERSION:
                    reader.take(lines[0])  # which says so
                raise Error(f"line {fault[0] if fault else number} is damaged" + (f": {fault[1]}" if fault else ""))
            else:
                reader.skip(first, number)
            lines, first, fault = [], number + 1, None
    if has_checks and (fault or any(one.get("type") == "bucket" for one in lines)):
        reader.skip(first, number)
    if not reader.sub_bits:
        raise Error("it has no whole line")


def _number(line, key):
    """0 when it is missing or no number."""
    value = line.get(key)
    return int(value) if isinstance(value, (int, float)) else 0


def time_of(text):
    """ns since 1970 of "2026-11-23T06:46:01.398403976Z"; None of null, or what is no time."""
    try:
        seconds = datetime.datetime.fromisoformat(text[:19] + "+00:00").timestamp()
        return int(seconds) * 10**9 + int(text[20:-1].ljust(9, "0"))
    except (TypeError, ValueError):
        return None


def _least(row, name):
    """A number of a histogram, or its lower bound if it is not known."""
    return row[name] if name in row else row[f"{name}_low"]


class _Reader:
    def __init__(self, found):
        self.found, self.sub_bits, self.bucket_ns = found, 0, 0
        self._missing = {}  # (workflow, run): 1 while the run does not report, else 0
        self._clear()

    def _clear(self):
        """Forgets what the lines of a bucket have counted."""
        self._values = {}  # (metric, word of the operation): [value, delta], summed over the series
        self._histograms = []

    def skip(self, first, last):
        """These lines are not what was written."""
        self.found.damage.append(f"lines {first} to {last} of {self.found.paths[0]} are not what was written")
        self._clear()

    def take(self, line):
        """One line."""
        kind = line.get("type")
        if kind != "header" and not self.sub_bits:
            raise Error("it does not begin with a header")
        if kind in TAKEN:
            getattr(self, f"_take_{kind}")(line)

    def _take_header(self, line):
        if line.get("v") != VERSION or _number(line, "sub_bits") not in (2, 3, 4):
            raise Error(f"it has version {line.get('v')}; this vampire reads version {VERSION}")
        found, self.sub_bits = self.found, line["sub_bits"]
        found.run, found.workflow, found.output = (line.get(key, "") for key in ("run", "workflow", "output"))
        found.segment, found.started = _number(line, "segment"), time_of(line.get("time")) or 0
        self.bucket_ns = _number(line, "bucket_ns")
        found.examined = line.get("examined", "")
        found.not_observed = {entry["what"]: entry["reason"] for entry in line.get("not_observed", ())}
        for metric in line.get("metrics", ()):
            if metric.get("name") in HISTOGRAMS:
                found.histograms[metric["name"]] = Histogram(self.sub_bits)
            elif metric.get("name") in WANTED:
                found.counted.add(metric["name"])

    def _take_not_observed(self, line):
        self.found.not_observed[line["what"]] = line["reason"]

    def _take_values(self, line):
        for name, rows in line["values"].items():
            for row in rows if name in WANTED else ():
                self._take_row(name, row)

    def _take_row(self, name, row):
        if name in HISTOGRAMS:
            if name in self.found.histograms and _number(row, "count"):
                self._histograms.append((name, {lower: count for lower, count, *_ in row["bins"]}, _least(row, "min"), _least(row, "max")))
        elif name == RESOLUTION:
            self.found.resolution_ns = max(self.found.resolution_ns, _number(row, "max" if "max" in row else "value"))
        elif name == MISSING:
            self._missing[row.get("workflow", ""), row.get("run", "")] = _number(row, "value")
        else:
            word = row.get("metric" if name in ASIDE else "operation" if name == "pool_operations" else None)
            word = word if word in (None, *OPERATIONS) or name in ASIDE else OTHER
            sums = self._values.setdefault((name, word), [0, 0])
            sums[0] += _number(row, "value")
            sums[1] += _number(row, "delta")

    def _take_bucket(self, line):
        found, complete = self.found, line.get("complete") is True

        def newer(total, *key):
            """A complete bucket has all totals; another one adds to them."""
            value, delta = self._values.get(key, (0, 0))
            return value if complete else total + delta

        for name in COUNTERS:
            found.totals[name] = newer(found.totals[name], name, None)
        found.unlabelled = newer(found.unlabelled, "pool_operations", None)
        found.operations = {word: newer(found.operations.get(word, 0), "pool_operations", word)
                            for word in (*OPERATIONS, OTHER)}
        for name, sums in found.aside.items():
            for metric in {*sums, *(word for key, word in self._values if key == name)}:
                sums[metric] = newer(sums.get(metric, 0), name, metric)
        for name, *values in self._histograms:
            found.histograms[name].add(*values)
        self._take_account(line.get("accounting"))
        count = _number(line, "buckets") if "buckets" in line else 1
        for run in (run for run, is_missing in self._missing.items() if is_missing):
            found.runs_missing[run] = found.runs_missing.get(run, 0) + count
        found.add_bucket(_number(line, "bucket"), count, time_of(line.get("time")) or 0,
                         _number(line, "width_ns") if "width_ns" in line else self.bucket_ns)
        self._clear()

    def _take_account(self, account):
        if account is not None:
            self.found.account = {name: _number(account, name) for name in ACCOUNT} | \
                {place: _number({key: count or 0 for key, count in account.get("lost", {}).items()}, place)
                 for place in LOSSES}  # null: those cannot be seen

    def _take_gap(self, line):
        self.found.add_gap(line.get("reason"), time_of(line.get("start")) or 0, time_of(line.get("end")) or 0)

    def _take_alarm(self, line):
        since, time = time_of(line.get("since")) or 0, time_of(line.get("time")) or 0
        self.found.alarm(line.get("alarm", ""), line.get("severity", "")).enter(line.get("state"), since < time)

    def _take_component(self, line):
        index = _number(line, "index")
        known = self.found.components.get(index)
        self.found.components[index] = Component(
            line.get("name", ""), time_of(line.get("left")) is not None, known.operations if known else 0,
            line.get("reason", "unknown"))

    def _take_operations(self, line):
        for index, operations, *_ in line.get("operations", ()):
            if index in self.found.components:
                self.found.components[index].operations = operations

    def _take_end(self, line):
        found, found_reason = self.found, line.get("reason", "")
        found.end, found.reason = "rotated" if found_reason == "rotated" else "ended", found_reason
        found.ended = time_of(line.get("time")) or 0
        self._take_account(line.get("accounting"))
