# SPDX-License-Identifier: BSD-3-Clause
"""The lines of a snapshot, each as wide as wanted: the view and the plain text show the same. A line is (mark, text)."""

from .. import words
from .rows import BLAME, COMPONENTS, DECLARED, MODELS, PAIRS, choose, rest_of
from .text import COLUMNS_MAX, clean, columns, count, cut, fit, fit_ends, rate_of_time, share, size, time

# A warning is worth a look, with a loss data is missing, dim is what is gone.
PLAIN, TITLE, WARNING, LOSS, DIM = "plain", "title", "warning", "loss", "dim"

SHARE_LINES, VANISHED_LINES, LOSS_LINES = 2, 2, 3
RUNS_SHOWN = 8
HEAD_LINES = 4 + SHARE_LINES + VANISHED_LINES + LOSS_LINES
ATTENTION_LINES = 40
NAME_COLUMNS_MAX = 64  # in a wide terminal the numbers stay near their names
NAME_COLUMNS_MIN = 8
IDLE_NS = 5e9          # without an operation for this time, a component is called idle

TITLES = {COMPONENTS: "COMPONENT", PAIRS: "SOURCE -> SINK", BLAME: "WAITED FOR <- WHO WAITED", DECLARED: "DECLARED METRIC"}
ARROWS = {PAIRS: "->", BLAME: "<-", DECLARED: "of"}


class Column:
    """`title` of rates; totals have it without "/S". `what`: a number of the row, whose times are `quantile`."""

    def __init__(self, title, width, what, shown, quantile=None):
        self.title, self.width, self.what, self.shown, self.quantile = title, width, what, shown, quantile


COLUMNS = {
    COMPONENTS: (Column("OPS/S", 7, "operations", count), Column("PRODUCED/S", 11, "produced", size),
                 Column("CONSUMED/S", 11, "consumed", size), Column("WAIT p50", 8, "waits", time, "p50"),
                 Column("WAIT p99", 8, "waits", time, "p99"), Column("ANOM.", 6, "anomalies", count)),
    PAIRS: (Column("MOVES/S", 7, "transports", count), Column("BYTES/S", 11, "moved", size),
            Column("p50", 8, "durations", time, "p50"), Column("p99", 8, "durations", time, "p99"),
            Column("MAX", 8, "durations", time, "max")),
    BLAME: (Column("WAITED/S", 9, "waited", rate_of_time), Column("FOR OFFER", 9, "for_offer", rate_of_time),
            Column("FOR START", 9, "for_start", rate_of_time), Column("MOVING", 9, "moving", rate_of_time)),
    DECLARED: (Column("VALUE", 10, "level", None), Column("GROWTH/S", 10, "grew", None), Column("p50", 10, "values", None, "p50"),
               Column("p99", 10, "values", None, "p99"), Column("MAX", 10, "values", None, "max")),
}


def columns_of(kind, wide):
    """(columns of the name, the columns of numbers for which there is room, those for which there is none)"""
    shown = list(COLUMNS[kind])
    while len(shown) > 1 and NAME_COLUMNS_MIN + sum(column.width + 1 for column in shown) > wide:
        shown.pop()
    room = wide - sum(column.width + 1 for column in shown)
    return max(min(room, NAME_COLUMNS_MAX), NAME_COLUMNS_MIN), shown, COLUMNS[kind][len(shown):]


def unshown_columns(kinds, wide):
    """The titles of columns for which the terminal is too narrow."""
    return [column.title for kind in kinds for column in columns_of(kind, wide)[2]]


def _line(mark, text, wide):
    return mark, fit(text, min(wide, COLUMNS_MAX))


def _absent(snapshot, what):
    """In the place of a number that nobody could know, or that the stream does not have."""
    return "?" if what in snapshot.state.unobserved else ".."


# ---------------------------------------------------------------- head


def _run_line(snapshot, source, wide):
    state = snapshot.state
    if not snapshot.any:
        return _line(TITLE, f"vampire-top  {state.workflow}  waiting for the first bucket of {clean(source)}", wide)
    newest, tail = snapshot.newest, " (-a: all)" if state.is_tail else ""
    ended = f"  ended: {state.end_reason}" if state.ended else ""
    begin = f"vampire-top  {cut(state.workflow, wide // 3)}{ended}"  # a long name leaves room for the values
    at = newest.time[11:21] if len(newest.time) > 21 else newest.time[:10]
    if snapshot.totals:
        since = state.since[11:19] if len(state.since) > 19 else state.since[:8]
        of = f"{'the last ' if state.is_tail else ''}{state.buckets} buckets{tail}"
        return _line(TITLE, f"{begin}  {since} to {at} UTC  sums of {of}", wide)
    if snapshot.window_ns > newest.width_ns:
        return _line(TITLE, f"{begin}  {at} UTC  the last {snapshot.window_ns / 1e9:.0f} s{tail}", wide)
    partial = "  (begun within it)" if newest.partial else ""
    return _line(TITLE, f"{begin}  {at} UTC  bucket {newest.bucket} of {time(newest.width_ns)}{partial}", wide)


def _list(mark, title, items, wide, most):
    """A list that goes on in the next line when one is full; what has no room in the last line is cut."""
    lines, text = [], None
    for item in items:
        if text is not None and len(lines) < most - 1 and columns(text) + 2 + columns(item) > wide:
            lines.append(_line(mark, text, wide))
            text = f"{'':9}"
        text = (f"{title:9}" if text is None else text) + f"  {item}"
    return lines + ([_line(mark, text, wide)] if text is not None else [])


def losses(snapshot, wide):
    """The lines about losses alone."""
    items = [f"{count(lost)} {text}" + (f" (+{count(fresh)})" if fresh > 0 else "") for text, lost, fresh in snapshot.losses]
    gaps, damaged = snapshot.state.losses.gaps, snapshot.damaged
    if gaps:
        items.append(f"{gaps} gap{'s' if gaps > 1 else ''}, last {snapshot.state.losses.gap}")
    if damaged:
        items.append(f"{damaged} damaged block{'s' if damaged > 1 else ''} left out, last {snapshot.damage[11:19] or '?'}")
    if snapshot.bad_lines:
        items.append(f"{count(snapshot.bad_lines)} lines not understood")
    if items:
        return _list(LOSS, "losses", items, wide, LOSS_LINES)
    unseen = snapshot.state.unseen_losses
    return _list(WARNING if unseen else PLAIN, "losses", [unseen or "none"], wide, LOSS_LINES)


def _counted(snapshot, wide):
    """What is not in the numbers, since the run began; no line when everything is."""
    state = snapshot.state
    told, gauges = state.losses, state.gauges.get
    sampled, unasked = gauges("vampire_sampled_out", 0), gauges("vampire_not_subscribed", 0)
    everything = told.received + told.lost + unasked
    whole = told.counted >= everything
    items = []
    for name, (has, lacks) in state.shares.items():
        if lacks > 0:
            items.append(words.OF_TOTAL % (share(has, has + lacks), name))
    for metric, text in (("vampire_metric_filtered", f"metrics without {words.FILTERED}"),
                         ("vampire_not_in_output", f"metrics without {words.OUTSIDE}"), ("collect_refused", words.REFUSED)):
        if gauges(metric, 0) > 0:
            whole = False
            items.append(text)

    def fraction(amount, text):
        if amount > 0:
            items.append(f"{count(amount)} ({share(amount, everything)}) {text}" if everything > 0 else f"{count(amount)} {text}")

    fraction(unasked, words.OTHER_KINDS)
    fraction(told.filtered - sampled, "filtered out")
    fraction(sampled, "sampled out")
    if state.sampling not in ("", "none"):
        whole = False
        items.append(f"sampling: {state.sampling}")
    fraction(told.lost, "lost")
    for amount, text in ((gauges("vampire_evicted", 0), words.EVICTED),
                         (gauges("vampire_series_overflow", 0), words.OVERFLOW),
                         (gauges("vampire_labels_given_up", 0), "labels aggregated away"),
                         (state.folded, "values in (other): all 4,095 rows are in use")):
        if amount > 0:
            whole = False
            items.append(f"{count(amount)} {text}")
    if state.runs_missing:
        whole = False
        names = [f"{clean(workflow)} (run {clean(run)[:8]})" for workflow, run in state.runs_missing]
        items.append(f"missing now: {', '.join(names[:RUNS_SHOWN])}" + (", ..." if len(names) > RUNS_SHOWN else ""))
    else:  # while a run is missing, the number of events is not known
        items.insert(0, words.EVERY if whole else words.OF_EVENTS % share(told.counted, everything))
    if told.late > 0:  # counted, so that nothing is missing
        items.append(f"{count(told.late)} {words.LATE}")
    if len(items) == 1 and whole:
        return []
    return _list(PLAIN if whole else WARNING, "counted", items, wide, SHARE_LINES)


def head(snapshot, source, wide):
    """The lines above the tables: run, operations, bytes, pool, what is not counted, vanished components, losses."""
    state, each = snapshot.state, "" if snapshot.totals else "/s"

    def total(what, shown):
        return _absent(snapshot, what) if what in state.hidden else shown(snapshot.sums[what])

    def gauge(name, shown):
        return shown(state.gauges[name]) if name in state.gauges else "?"  # not reported yet

    kinds = "".join(f"  {word} {count(snapshot.sums[what])}" for word, what in
                    (("offer", "offers"), ("demand", "demands"), ("withdraw", "withdrawals")) if snapshot.sums[what] > 0)
    lag_ns = state.gauges.get("vampire_lag_ns")  # how old events are when vampire counts them
    lag = f"  lag {time(lag_ns)}" if lag_ns is not None else ""
    is_late = state.width_ns > 0 and (lag_ns or 0) > state.width_ns
    since = f" since {state.since[11:19] if len(state.since) > 19 else ''}" if state.is_tail else ""
    return [
        _run_line(snapshot, source, wide),
        _line(PLAIN, f"operations {total('operations', count):>8}{each}{kinds}", wide),
        _line(WARNING if is_late else PLAIN,
              f"bytes      {total('moved', size):>8}{each} moved  {total('produced', size)}{each} produced{lag}", wide),
        _line(WARNING if snapshot.sums["anomalies"] > 0 else PLAIN,
              f"pool       {gauge('pool_bytes', size):>8} in {gauge('pool_cdos', count)} CDOs  "
              f"components {gauge('components_present', count)}  transports {gauge('transports_active', count)}  "
              f"anomalies {total('anomalies', count)}{since}", wide),
        *_counted(snapshot, wide),
        *_list(WARNING, "vanished", snapshot.vanished, wide, VANISHED_LINES),
        *losses(snapshot, wide),
    ]


# ---------------------------------------------------------------- tables


def _declared_cell(row, column):
    """As the metric's unit asks for; of several rows in one nothing is known."""
    if column.what == "level":
        value = row.level
    elif column.what == "grew":
        value = row.sums["grew"] or None
    else:
        value = getattr(row, column.quantile) if row.timed else None
    if row.rest or value is None:
        return "-"
    if row.unit == "ns":
        return time(max(value, 0))
    if row.unit == "byte":
        return size(value)
    try:
        factor = float(row.unit)  # a unit such as 1e-6
    except ValueError:
        factor = 1
    return count(value * (factor if factor > 0 else 1))


def _cell(snapshot, kind, row, column):
    if kind == DECLARED:
        return _declared_cell(row, column)
    what = column.what
    absent = ("waited" if what in ("for_offer", "for_start", "moving") else what) in snapshot.hidden_in_rows
    if what == "operations":  # without metrics by component, lines of components have them
        hidden = not row.by_lines and (row.hidden or (absent and snapshot.state.by_model))
    elif what in ("transports", "moved"):
        # What took time has moved: its number is elsewhere, in another series or filtered out.
        hidden = absent or (row.timed > 0 and not row.sums["transports"] and not row.sums[what])
    else:
        hidden = row.hidden or absent
    if hidden:
        return _absent(snapshot, what)
    resolution = snapshot.state.gauges.get("vampire_clock_resolution_ns")
    if column.quantile is None:
        if resolution is not None and what in ("waited", "for_offer", "for_start", "moving"):
            return f">{column.shown(row.sums[what])}" if row.sums[what] else "?"  # times below the resolution are not in it
        shown = time if snapshot.totals and column.shown is rate_of_time else column.shown
        return shown(row.sums[what])
    if not row.timed:
        return "-"
    if row.rest and column.quantile != "max":  # of several rows in one only the longest is known
        return _absent(snapshot, what)
    value = getattr(row, column.quantile)
    return f"<{column.shown(resolution)}" if resolution is not None and row.zeros and value < resolution else column.shown(value)


def _component_name(row, wide):
    """"IFS -- 0", "... @n17", "... (finalized)", "... (x3, 1 vanished)", "... (idle 12.0 s)": the name is cut, the state is
    not; the host is there if it has room."""
    states = [f"x{row.members}"] if row.members > 1 else []
    reason = "left" if row.reason in ("", "unknown") else row.reason  # unknown: Maestro does not say why
    if 0 < row.left < row.members:
        states.append(f"{row.left} {reason}")
    elif row.left > 0:
        states.append(reason)
    elif row.idle_ns >= IDLE_NS:
        states.append(f"idle {time(row.idle_ns)}")
    state = f" ({', '.join(states)})" if states else ""
    host = f" @{row.host}" if row.host and columns(row.name) + columns(row.host) + 2 + len(state) <= wide else ""
    return cut(row.name, max(wide - len(state), 4)) + host + state


def _pair_name(row, arrow, wide):
    """A long source leaves half of the room to the sink."""
    if row.rest or not row.second:
        return cut(row.name, wide)
    room = wide - len(arrow) - 2
    source, sink = columns(row.name), columns(row.second)
    if source + sink > room and source > room // 2:
        source = max(room - sink, room // 2)
    return f"{fit(row.name, source)} {arrow} {fit(row.second, room - source)}"


def _table_line(mark, name, cells, kind, wide):
    room, shown, _ = columns_of(kind, wide)
    return _line(mark, fit(name, room) + "".join(f" {cell:>{column.width}}" for column, cell in zip(shown, cells)), wide)


def _row_line(snapshot, kind, row, wide):
    room, shown, _ = columns_of(kind, wide)
    name = _component_name(row, room) if kind == COMPONENTS else _pair_name(row, ARROWS[kind], room)
    mark = PLAIN
    if row.vanished or row.sums["anomalies"] > 0:
        mark = WARNING
    elif row.rest or (row.members > 0 and row.left == row.members):
        mark = DIM
    return _table_line(mark, name, [_cell(snapshot, kind, row, column) for column in shown], kind, wide)


def table(snapshot, kind, rows, first, room, wide):
    """The title, `room` of the chosen rows from `first` on, and all others as one. Without declared metrics they have no
    table. What the stream does not have is shown as absent, not as 0."""
    hidden = snapshot.hidden_in_rows
    if kind == DECLARED and not snapshot.tables[kind]:
        return []
    if (kind == PAIRS and {"transports", "moved", "durations"} <= hidden) or (kind == BLAME and "waited" in hidden):
        lines = [_line(TITLE, f"{TITLES[kind]}: not in this stream, whose output drops them", wide)]
    else:
        titles = [column.title.replace("/S", "") if snapshot.totals else column.title for column in columns_of(kind, wide)[1]]
        lines = [_table_line(TITLE, _title(snapshot, kind), titles, kind, wide)]
    lines += [_row_line(snapshot, kind, row, wide) for row in rows[first: first + room]]
    if len(rows) > len(rows[first: first + room]):
        lines.append(_row_line(snapshot, kind, rest_of(rows, first, room), wide))
    return lines


def _title(snapshot, kind):
    if kind != COMPONENTS:
        return TITLES[kind]
    if snapshot.level == MODELS or (snapshot.state.by_model and snapshot.ranks_ns == 0):
        return "MODEL"
    if not snapshot.totals and snapshot.ranks_ns > 0:
        return f"{TITLES[kind]} (of {snapshot.ranks_ns / 1e9:.0f} s)"
    return TITLES[kind]


def chosen(snapshot, kind, show):
    """The rows of a table that the user's choice lets through, in its order."""
    return choose(snapshot.tables[kind], kind, show.sort, show.reverse, show.filter)


# ---------------------------------------------------------------- alarms and demands


def _value(alarm):
    if alarm.value is None:
        return "-"
    if alarm.unit == "ns":
        return time(max(alarm.value, 0))
    return size(alarm.value) if alarm.unit == "byte" else f"{alarm.value:.4g}"


def _rule_columns(wide):
    if wide < 60:
        return 12
    return wide // 4 if wide < 112 else 28


def _alarm_line(alarm, wide):
    state, mark = {"firing": "FIRING"}.get(alarm.state, alarm.state), DIM
    if alarm.state == "pending":
        mark = PLAIN
    elif alarm.state == "firing" and alarm.silenced:
        state = "silenced"
    elif alarm.state == "firing":
        mark = LOSS if alarm.severity == 0 else WARNING
    since = alarm.since[11:19] if len(alarm.since) > 19 else "?"
    begin = f"{fit(alarm.rule, _rule_columns(wide))} {state:9} {_value(alarm):>10} {since:8}  {alarm.component}"
    begin += ": " if alarm.component and alarm.cdo else ""
    return _line(mark, begin + fit_ends(alarm.cdo, max(wide - columns(begin), 8)), wide)


def _waiting_columns(mark, component, cdo, age, producer, wide):
    room = wide - 14 if wide > 40 else 27  # beside the age and the blanks around it
    third = room * 3 // 10
    return _line(mark, f"{fit(component, third)} {fit_ends(cdo, room - 2 * third)} {age:>10}  {fit(producer, third)}", wide)


def _waiting_line(waiting, wide):
    age = time(waiting.age_ns) + ("?" if waiting.uncertain else " ")
    is_known = "declared" if waiting.producer else "not offered"
    by = f" by {waiting.producer}" if waiting.producer else ""
    return _waiting_columns(PLAIN if waiting.offered else WARNING, waiting.component, waiting.cdo, age,
                            ("offered" if waiting.offered else is_known) + by, wide)


def attention(snapshot, room, wide):
    """Alarms, and demands that have waited for more than a bucket, in at most `room` lines."""
    room, lines = min(room, ATTENTION_LINES), []
    alarms, waiting = snapshot.alarms, snapshot.waiting
    upper = (room + 1) // 2 if waiting else room  # alarms leave half of the room to demands that wait
    if upper >= 2 and (alarms or snapshot.unseen_firing > 0):
        shown = alarms[: upper - 1]
        title = f"ALARM ({len(shown)} of {len(alarms)})" if len(shown) < len(alarms) else "ALARM"
        more = f"  {snapshot.unseen_firing} more fire, not seen from their begin" if snapshot.unseen_firing > 0 else ""
        lines.append(_line(TITLE, f"{fit(title, _rule_columns(wide))} {'STATE':9} {'AT CHANGE':>10} {'SINCE':8}  OF{more}", wide))
        lines += [_alarm_line(alarm, wide) for alarm in shown]
    if room - len(lines) >= 2 and waiting:
        shown = waiting[: room - len(lines) - 1]
        title = f"WAITS ({len(shown)} of {snapshot.demands})"
        lines.append(_waiting_columns(TITLE, title, "FOR THE CDO", "AGE ", "WHICH IS", wide))
        lines += [_waiting_line(one, wide) for one in shown]
    return lines
