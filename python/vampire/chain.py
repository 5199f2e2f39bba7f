# SPDX-License-Identifier: BSD-3-Clause
"""Why a component waited: the chain of waits behind a demand, from a trace (output `trace`, format chrome)."""

import json

import numpy as np
import pandas as pd

from .errors import Error, check_size

PARTS = ("for_offer", "for_start", "moving", "unknown")
WAIT_BYTES = 512  # of one demand while it is read, and its row


def _records(path):
    """The records of a trace, a line at a time; also of one that is being written or was cut off."""
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                line = line.strip().lstrip("[").rstrip(",]")
                try:
                    record = json.loads(line) if line else {}
                except ValueError as error:
                    if number == 0:
                        raise Error(f"{path} is no trace in Chrome's format: {error}") from None
                    return  # the line that a kill cut off
                if number == 0 and record.get("name") != "vampire":
                    raise Error(f"{path} is no trace of vampire")
                yield record
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"cannot read {path}: {error}") from None


def _ns(micros):
    return round(micros * 1000)


def _is_whole(head, end):
    """Whether the trace contains all waits of the run."""
    if not head or not end:
        return False
    dropped = end["left_out"] + end["without_track"] + end["evicted"]
    is_first = head["segment"] == 1 and head["sampling"] == "none"
    return is_first and not end.get("is_part", True) and dropped == 0


def trace_waits(path):
    """DataFrame, a row for each satisfied demand of a trace in the order of their ends: consumer, producer, cdo, start
    and end (ns since the first event), and its parts for_offer, for_start, moving and unknown (ns), whose sum is
    end - start. Its attribute `run` is the trace's; `whole` is whether the trace has all waits of the run. Reads a line at a time; what it keeps is bounded by the trace's
    `max_events`."""
    names, rows, open_rows, head, end = {}, [], {}, None, None
    for record in _records(path):
        kind = record.get("cat")
        if head is None:
            head = record["args"]
        elif record.get("name") == "vampire_end":
            end = record["args"]
        elif record.get("name") == "process_name":
            names[record["pid"]] = record["args"]["name"]
        elif kind == "demand":
            start, length = _ns(record["ts"]), _ns(record["dur"])
            check_size("the demands of the trace", WAIT_BYTES * len(rows), "Make it with \"from\" and \"length\"")
            row = [names[record["pid"]], "unknown", record["args"].get("cdo", ""), start, start + length, 0, 0, 0, 0]
            open_rows[record["tid"]] = row
            rows.append(row)
        elif kind == "part":
            row = open_rows[record["tid"]]
            row[1] = record["args"]["producer"]
            row[5 + PARTS.index(record["name"])] = _ns(record["dur"])
    table = pd.DataFrame(rows, columns=["consumer", "producer", "cdo", "start", "end", *PARTS])
    table = table.sort_values("end", kind="stable", ignore_index=True)
    table.attrs["run"] = head["run"] if head else None
    table.attrs["whole"] = _is_whole(head, end)
    return table


class _Ends:
    """The demands of each component by their ends."""

    def __init__(self, waits):
        self.rows = {name: rows.to_numpy() for name, rows in waits.groupby("consumer").groups.items()}
        self.ends = {name: waits.end.to_numpy()[rows] for name, rows in self.rows.items()}

    def last_until(self, component, time):
        """The row of the component's demand that ended last until `time`; None: there is none."""
        found = np.searchsorted(self.ends.get(component, []), time, side="right")
        return int(self.rows[component][found - 1]) if found else None


def wait_chain(waits, row=None):
    """DataFrame, the chain behind one demand, the last link first: component (whose time it is), what, cdo, start, end,
    time (ns), share (of the whole chain) and known. `waits` is the path of a trace or what trace_waits made of it,
    `row` the demand; None: the longest.

    A demand waited for the transport (`moving`, the producer's), for its start (`for_start`, the pool manager's) and,
    if the CDO was not in the pool yet, for the offer. All this is known. That the producer was busy with this CDO since
    its own last demand was satisfied is inferred (`made`, known False), and the chain goes on with what was behind
    that demand. That a producer had demanded nothing before is known only if the trace has the whole run. The chain ends
    with a demand of a CDO that was in the pool already, which waited for no component's work, with a producer that had
    demanded nothing before, or with a wait whose parts are not known."""
    waits = waits if isinstance(waits, pd.DataFrame) else trace_waits(waits)
    if waits.empty:
        raise Error("the trace has no satisfied demand")
    ends, links, seen = _Ends(waits), [], set()
    at = int((waits.end - waits.start).idxmax()) if row is None else int(row)
    while at is not None and at not in seen:
        seen.add(at)
        wait = waits.loc[at]
        if wait.unknown:
            links.append((wait.consumer, "unknown", wait.cdo, wait.start, wait.end, True))
            break
        moving, offered = wait.end - wait.moving, wait.start + wait.for_offer
        links.append((wait.producer, "moving", wait.cdo, moving, wait.end, True))
        links.append(("pool manager", "for_start", wait.cdo, offered, moving, True))
        if not wait.for_offer:
            break
        at = ends.last_until(wait.producer, offered)
        if at is None:
            since, what, known = wait.start, "for_offer", waits.attrs.get("whole", False)
        else:
            since, what, known = waits.end[at], "made", False
        links.append((wait.producer, what, wait.cdo, since, offered, known))
    table = pd.DataFrame(links, columns=["component", "what", "cdo", "start", "end", "known"])
    table.insert(5, "time", table.end - table.start)
    table = table[table.time > 0].reset_index(drop=True)
    table.insert(6, "share", table.time / max(1, table.time.sum()))
    return table
