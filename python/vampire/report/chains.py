# SPDX-License-Identifier: BSD-3-Clause
"""The report's tables of a trace: what the longest wait waited for, and the critical path."""

import pathlib

from ..chain import trace_waits, wait_chain
from ..look import duration
from ..account import number_of, share
from .parts import LARGEST, Table, others

INFERRED = "\"inferred\": no event in this trace says that the component was busy with this CDO since its own last demand was satisfied, " \
           "or that it had demanded nothing before"
HEAD = ("whose time", "what", "CDO", "began", "took", "of the chain", "")
NAMED = 5  # components in the note that sums up a chain


def _whose(chain):
    """Whose time the chain was, as a note."""
    times = chain.groupby("component").time.sum().sort_values(ascending=False, kind="stable")
    named = [f"{name} {share(int(time), int(times.sum()))}" for name, time in times.head(NAMED).items()]
    rest = [others(times.index[NAMED:])] if len(times) > NAMED else []
    return f"{duration(float(times.sum()))} in all: " + ", ".join(named + rest)


def _table(name, title, waits, row, notes):
    wait, chain = waits.loc[row], wait_chain(waits, row)
    rows = [(link.component, link.what.replace("_", " "), link.cdo, f"{link.start / 1e9:,.3f} s",
             duration(float(link.time)), share(int(link.time), int(chain.time.sum())), "known" if link.known else "inferred")
            for link in chain.head(LARGEST).itertuples()]
    if len(chain) > LARGEST:
        rest = chain.iloc[LARGEST:]
        rows.append((f"{number_of(len(rest), 'earlier link')}", "", "", "", duration(float(rest.time.sum())),
                     share(int(rest.time.sum()), int(chain.time.sum())), ""))
    title = f"{title}: {wait.consumer} waited {duration(float(wait.end - wait.start))} for {wait.cdo or 'a CDO without a name'}"
    return Table(name, title, HEAD, rows, chain, 3, [_whose(chain), *notes, *([] if chain.known.all() else [INFERRED])])


def chain_tables(path, runs, component=None):
    """Tables of the trace at `path`: the chain behind the longest wait, and behind the demand that was satisfied last,
    which is the critical path of what the trace holds. `runs`: ids of those in the report; `component`: only demands of
    this consumer are looked at."""
    waits = trace_waits(path)
    own = waits if component is None else waits[waits.consumer == component]
    if own.empty:
        who = "" if component is None else f" of {component}"
        none = f"the trace {pathlib.Path(path).name} has no satisfied demand{who}"
        return [Table("longest-wait", "Behind the longest wait", HEAD, [], own, 3, [none])]
    notes = [f"from {pathlib.Path(path).name}, {number_of(len(own), 'satisfied demand')}; times begin at its first event"]
    if waits.attrs["run"] not in runs:
        notes.append(f"the trace is of another run, {waits.attrs['run'][:8]}")
    longest, last = int((own.end - own.start).idxmax()), int(own.end.idxmax())
    tables = [_table("longest-wait", "Behind the longest wait", waits, longest, notes)]
    if last != longest:
        tables.append(_table("critical-path", "The critical path, behind the last demand", waits, last, notes))
    return tables
