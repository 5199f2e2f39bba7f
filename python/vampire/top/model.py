# SPDX-License-Identifier: BSD-3-Clause
"""The state of a run, from vampire's JSON lines: fed line by line, read as a snapshot. Memory is bounded. A member that is
missing or has another type counts as 0 or "": a later version of the format is shown as far as possible."""

import collections
import json
import zlib

from ..models import model_of
from .attention import Attention
from .losses import Losses
from .rows import (BLAME, COMPONENTS, DECLARED, MAX_TIME, MODELS, NUMBERS, OF_RANKS, OTHER, PAIRS, RANKS, SUB_BITS, SUMS, TABLES,
                   TIMES, Part, Row, Shown, Table, lower_of)
from .text import clean

VERSION = 2
LINE_BYTES = 64 << 10  # the longest line of the format, with its newline
LINE, BUCKET, ROTATED, END, BAD = "line", "bucket", "rotated", "end", "bad"  # what feed() returns

MISSING = "collect_runs_missing"
RUNS_MISSING_MAX = 64
MEMBERS_MAX = 65536       # components are numbered below it
VANISHED_MAX = 16
LOGGED_PARTS = 100_000    # of the newest buckets, for the sums of a window
FOUND_MAX = 1 << 16       # labels whose rows are remembered
RANKS_FEW = 16            # so many ranks are shown one by one, unless the user chooses
CHECK = b',"check":"'
CHECK_BYTES = len(CHECK) + len('00000000"}')

# The labels that name a row, and those that name it by model instead.
LABELS = {COMPONENTS: (("component", "model"),), PAIRS: (("source", "source_model"), ("sink", "sink_model")),
          BLAME: (("producer", "producer_model"), ("component", "model"))}
METRICS = {  # the table and the number that a metric is shown in
    "pool_operations": (COMPONENTS, "operations"), "produced_bytes": (COMPONENTS, "produced"),
    "consumed_bytes": (COMPONENTS, "consumed"), "anomalies": (COMPONENTS, "anomalies"),
    "demand_wait_ns": (COMPONENTS, "waits"), "demand_wait_part_ns": (BLAME, "waited"),
    "transport_bytes": (PAIRS, "moved"), "transport_ns": (PAIRS, "durations"), "transports": (PAIRS, "transports"),
}
SHARES = ("pool_operations", "produced_bytes", "transport_bytes")  # whose totals the head shows
GAUGES = frozenset((
    "components_present", "pool_cdos", "pool_bytes", "transports_active", "vampire_lag_ns", "vampire_clock_resolution_ns",
    "vampire_alarms_firing", "vampire_sampled_out", "vampire_series_overflow", "vampire_labels_given_up", "vampire_evicted",
    "vampire_not_subscribed", "collect_refused", "vampire_metric_filtered", "vampire_not_in_output"))
IF_ANY = frozenset(("collect_refused", "vampire_not_subscribed", "vampire_metric_filtered", "vampire_not_in_output"))
# Numbers that are parts of others, by a label's value.
PARTS = {"operations": ("operation", {"offer": "offers", "demand": "demands", "withdraw": "withdrawals"}),
         "waited": ("part", {"for_offer": "for_offer", "for_start": "for_start", "moving": "moving"})}


def number(object_, key):
    """A member as an integer from 0 to 2^64 - 1; 0 if it is no number."""
    return integer(object_.get(key))


def integer(value):
    if type(value) is int:  # the common case: neither bool nor float
        return min(max(value, 0), MAX_TIME)
    if isinstance(value, float):
        return int(min(max(value, 0), MAX_TIME))
    return 0


def text_of(object_, key):
    value = object_.get(key)
    return value if isinstance(value, str) else ""


def objects(object_, key):
    """The objects in a member that is a list."""
    value = object_.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _no_constant(name):
    raise ValueError(f"{name} is no JSON")


def _finite(text):
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large")
    return value


class Member:
    """A component, by its number."""

    __slots__ = ("left", "is_rank", "is_older", "operations", "rows")

    def __init__(self, is_rank, is_older):
        self.left, self.is_rank, self.is_older = False, is_rank, is_older
        self.operations = 0  # as last reported
        self.rows = ()


class Logged:
    """What rows had in a bucket, or in lines of ranks."""

    def __init__(self, width_ns, parts, time, bucket, partial):
        self.width_ns, self.parts = width_ns, parts
        self.time, self.bucket, self.partial = time, bucket, partial  # bucket None: lines of ranks


class State:  # pylint: disable=too-many-instance-attributes
    """All that is forgotten when another run begins."""

    def __init__(self):
        self.ended, self.end_reason = False, ""
        self.workflow = self.since = self.sampling = ""
        self.buckets = 0          # seen
        self.seen_ns = 0          # their widths
        self.width_ns = 0         # of the newest bucket
        self.bucket_ns = 0        # the default width
        self.values = 0           # lines with values of the incoming bucket
        self.reported = 0         # components whose operations came with it
        self.from_middle = False  # the first bucket seen is not the run's
        self.is_tail = False      # of a long file only the end was read
        self.gauges, self.tiers = {}, {}
        self.runs_missing = {}    # keys: (workflow, run) of runs that do not report now, in the order in which they stopped
        self.losses, self.attention = Losses(), Attention()
        self.shares = {name: [0, 0] for name in SHARES}  # what the stream has of a metric, and what it lacks
        self.folded = 0           # values counted under "(other)" here
        self.hidden, self.hidden_in_rows = frozenset(), frozenset()
        self.unobserved, self.unseen_losses = set(), ""
        self.by_model = False     # rows of metrics are models
        self.declared = {}        # descriptions of declared metrics
        self.total = Row("", "")
        self.tables = {(level, kind): Table() for level in (MODELS, RANKS) for kind in (*TABLES, OF_RANKS)}
        self.members = {}
        self.found = {}           # {(kind, labels): rows}
        self.component_commits = 0
        self.rank_columns, self.rank_bits = [], SUB_BITS
        self.ranks_width_ns, self.ranks_time = 0, ""  # of the lines of ranks that came for the incoming bucket
        self.ranks_step_ns = 0    # the width of the newest of them
        self.log, self.logged_parts = collections.deque(), 0

    @property
    def counts_by_lines(self):
        """No metric distinguishes components: the operations of each come from lines that have totals."""
        return "operations" in self.hidden_in_rows or self.by_model


class Model:
    """feed() takes a line, snapshot() gives what is shown."""

    def __init__(self):
        self.run = ""
        self.state = State()
        self.bad_lines = self.damaged = 0  # of the stream as read here
        self.damage = ""                   # the time of the last damaged block
        self._sum, self._sum_known, self._has_checks = 0, False, False
        self._takers = {"header": self._header, "values": self._values, "component": self._component,
                        "operations": self._operations, "ranks": self._ranks, "not_observed": self._absence,
                        "alarm": self._alarm, "pending": self._pending, "lost": self._lost, "gap": self._gap}

    @property
    def is_foreign(self):
        """Lines were fed, and none of them is of a run of vampire."""
        return self.bad_lines > 0 and not self.run

    def skip(self):
        """A line that was too long to be fed."""
        self.bad_lines += 1

    def jump(self):
        """Lines were left out: the check value that comes next is not about the lines that were fed."""
        self._sum_known = False
        self.state.is_tail = True

    # ---------------------------------------------------------------- lines

    def feed(self, line):
        """One line, as bytes without its newline."""
        try:
            parsed = json.loads(line.decode(), parse_constant=_no_constant, parse_float=_finite)
        except (ValueError, RecursionError):
            parsed = None
        parsed = parsed if isinstance(parsed, dict) else {}
        holds = self._check_holds(text_of(parsed, "type"), line)
        return self._take(parsed, holds)

    def _check_holds(self, kind, line):
        """Whether the line's check value is the CRC-32 of the lines since the last one that has one. A line without one
        need not have it, unless it ends a bucket of a stream in which others do."""
        if kind == "header":
            self._sum, self._sum_known, self._has_checks = 0, True, False
        if line[-CHECK_BYTES:-CHECK_BYTES + len(CHECK)] != CHECK:
            self._sum = zlib.crc32(b"\n", zlib.crc32(line, self._sum))
            return not self._has_checks or kind != "bucket"
        expected = zlib.crc32(line[:-CHECK_BYTES], self._sum)
        holds = not self._sum_known or line[-10:-2] == b"%08x" % expected
        self._sum, self._sum_known, self._has_checks = 0, True, True
        return holds

    def _is_bad(self, line, kind, run):
        is_other = bool(run) and run != self.run
        return (not kind or (kind == "header" and not run) or line.get("v", VERSION) != VERSION
                or (kind == "bucket" and not text_of(line, "time"))
                # A file has one run, or begins the next with a header.
                or (is_other and self._has_checks and kind != "header" and bool(self.run)))

    def _take(self, line, holds):
        kind, run = text_of(line, "type"), text_of(line, "run")
        if self._is_bad(line, kind, run):
            self.bad_lines += 1
            return BAD
        if run and run != self.run:
            if kind == "header" or self.run:
                self.state = State()
            self.run = run
        if not holds:
            self._leave_out(line)
            return BAD
        if kind == "bucket":
            self._bucket(line)
            return BUCKET
        if kind == "end":
            return self._end(line)
        if kind in self._takers:
            self._takers[kind](line)
        return LINE

    def _leave_out(self, line):
        """The check of a bucket, a header or an end does not hold."""
        state = self.state
        for table in state.tables.values():
            table.drop()
        state.total.incoming = None
        state.values = state.reported = state.ranks_width_ns = 0
        self.damaged += 1
        self.damage = clean(text_of(line, "time"), 31)

    def _alarm(self, line):
        self.state.attention.alarm(line, self.state.seen_ns)

    def _pending(self, line):
        self.state.attention.pending(line, number(line, "demands"), number(line, "age_ns"))

    def _lost(self, line):
        self.state.losses.line_lost(line, number(line, "count"))

    def _gap(self, line):
        self.state.losses.gap_line(line)

    # ---------------------------------------------------------------- header

    def _absence(self, line):
        """What nobody could know, of that which was asked for."""
        metric = METRICS.get(text_of(line, "what"))
        if metric is not None:
            self.state.unobserved.add(metric[1])
        elif line.get("what") == "losses":
            self.state.unseen_losses = clean(text_of(line, "reason"))

    def _header(self, line):
        """Also which numbers the stream has; a header that does not describe its metrics leaves that."""
        state = self.state
        state.ended = False
        state.bucket_ns = number(line, "bucket_ns")
        state.sampling, state.workflow = clean(text_of(line, "sampling")), clean(text_of(line, "workflow"))
        state.unobserved, state.unseen_losses = set(), ""
        state.found = {}
        for absence in objects(line, "not_observed"):
            self._absence(absence)
        if not isinstance(line.get("metrics"), list):
            return
        hidden, hidden_in_rows, state.by_model, state.declared = set(NUMBERS), set(NUMBERS), False, {}
        for description in objects(line, "metrics"):
            name, labels = text_of(description, "name"), description.get("labels")
            labels = labels if isinstance(labels, list) else []
            if text_of(description, "origin") == "declared in samples.metrics":
                state.declared[name] = description
            if name in METRICS:
                kind, what = METRICS[name]
                hidden.discard(what)
                state.by_model |= any(of_model in labels for _, of_model in LABELS[kind])
                if all(label in labels or of_model in labels for label, of_model in LABELS[kind]):
                    hidden_in_rows.discard(what)
        state.hidden, state.hidden_in_rows = frozenset(hidden), frozenset(hidden_in_rows)
        bits, names = line.get("sub_bits"), line.get("ranks")
        state.rank_bits = bits if bits in (2, 3, 4) else SUB_BITS
        state.rank_columns = []
        for name in names[:8] if isinstance(names, list) else ():
            kind, what = METRICS.get(name, (None, None)) if isinstance(name, str) else (None, None)
            state.rank_columns.append(what if kind == COMPONENTS else None)

    # ---------------------------------------------------------------- values

    def _values(self, line):
        self.state.values += 1
        values = line.get("values")
        for name, series in values.items() if isinstance(values, dict) else ():
            one_each = [one for one in series if isinstance(one, dict)] if isinstance(series, list) else []
            if name in METRICS:
                self._metric(name, one_each)
            elif name in GAUGES:
                for one in one_each:
                    self._gauge(name, one)
            elif name == MISSING:
                for one in one_each:
                    self._run_missing(one)
            elif name in self.state.declared:
                for one in one_each:
                    self._declared(self.state.declared[name], one)

    def _run_missing(self, series):
        """A run of a collected stream stopped reporting, or reports again."""
        run, missing = (text_of(series, "workflow"), text_of(series, "run")), self.state.runs_missing
        if number(series, "value") <= 0:
            missing.pop(run, None)
        elif len(missing) < RUNS_MISSING_MAX:
            missing[run] = True

    def _gauge(self, name, series):
        state, value = self.state, number(series, "value")
        about = text_of(series, "metric")
        if about in SHARES:
            state.shares[about][1] += number(series, "delta")
        if name == "transports_active":  # only tiers that changed have lines
            state.tiers[text_of(series, "tier")] = value
            state.gauges[name] = sum(state.tiers.values())
        elif name not in IF_ANY or value > 0:  # of several series, it is enough that one of them is above 0
            state.gauges[name] = value

    def _rows(self, kind, series):
        """[(table, row)] of a series, that of ranks first; none where its labels name nobody."""
        labels = LABELS[kind]
        key = (kind, *[series.get(label) for pair in labels for label in pair])
        try:
            found = self.state.found.get(key)
        except TypeError:  # a label that is a list
            return []
        if found is None:
            found = self.state.found[key] = self._find_rows(kind, series, labels)
        rows, is_folded = found
        self.state.folded += is_folded
        return rows

    def _find_rows(self, kind, series, labels):
        state = self.state
        ranks = [text_of(series, of_model) or text_of(series, label) for label, of_model in labels]
        models = [text_of(series, of_model) or model_of(rank) for rank, (_, of_model) in zip(ranks, labels)]
        if not ranks[0]:
            return [], False
        found = [(MODELS, models)]
        # A model is no rank where ranks have lines of their own.
        if kind != COMPONENTS or not any(state.rank_columns):
            found.insert(0, (RANKS, ranks))
        rows = [(state.tables[level, kind], state.tables[level, kind].get(*names, active=state.component_commits))
                for level, names in found]
        if len(state.found) > FOUND_MAX:
            state.found.clear()
        return rows, found[0][0] == RANKS and rows[0][1].name != ranks[0]

    def _metric(self, name, series):
        state = self.state
        kind, what = METRICS[name]
        label, values = PARTS.get(what, ("", {}))
        shares = state.shares.get(name)
        total = self._total()
        for one in series:
            if what in TIMES:
                self._times(self._rows(kind, one), one)
                continue
            delta = integer(one.get("delta")) if what != "waited" else integer(one.get("sum", one.get("sum_low")))
            if not delta:
                continue
            part_of = values.get(one.get(label)) if label and isinstance(one.get(label), str) else None
            if shares is not None:
                shares[0] += delta
            total.count(what, delta)
            if part_of:
                total.count(part_of, delta)
            for table, row in self._rows(kind, one):
                part = row.incoming or table.part(row)
                part.count(what, delta)
                if part_of:
                    part.count(part_of, delta)
                if what == "operations":
                    row.active = state.component_commits + 1

    def _times(self, rows, series):
        bins = series.get("bins")
        pairs = [(integer(pair[0]), integer(pair[1])) for pair in bins
                 if isinstance(pair, list) and len(pair) >= 2] if isinstance(bins, list) else []
        if pairs:
            for table, row in rows:
                table.part(row).timed().take(pairs, *(number(series, end if end in series else f"{end}_low") for end in ("min", "max")))

    def _total(self):
        if self.state.total.incoming is None:
            self.state.total.incoming = Part()
        return self.state.total.incoming

    def _declared(self, description, series):
        """A declared metric: its labels are the row's name. Models and ranks have the same rows."""
        labels = ", ".join(f"{label} {value}" for label, value in series.items() if isinstance(value, str))
        table = self.state.tables[RANKS, DECLARED]
        row = table.get(text_of(description, "name"), labels[:191])
        row.unit = clean(text_of(description, "unit"), 15)
        table.part(row).count("grew", number(series, "delta"))
        self._times([(table, row)], series)
        if text_of(description, "kind") == "gauge":
            value = series.get("value")
            row.level = value if isinstance(value, (int, float)) else None

    # ---------------------------------------------------------------- components

    def _component(self, line):
        """Metrics have names only; the lines of components have their numbers, too."""
        state, name = self.state, text_of(line, "name")
        of_model, index = model_of(name), line.get("index")
        rows = [state.tables[level, COMPONENTS].get(name_of, active=state.component_commits)
                for level, name_of in ((MODELS, of_model), (RANKS, name))]
        if rows[RANKS].name != name or type(index) is not int or not 0 <= index < MEMBERS_MAX:
            return
        is_new = index not in state.members
        # What it did before a stream that begins in the middle is not in the stream's buckets.
        is_older = is_new and state.from_middle and text_of(line, "joined") < state.since
        member = state.members.setdefault(index, Member(of_model != name, is_older))
        leaves = isinstance(line.get("left"), str) and not member.left
        host = clean(text_of(line, "host"), 63)
        member.rows = rows
        for row in rows:
            if host and (row.members == (0 if is_new else 1) or row.host == host):
                row.host = host
            elif row.host != host:
                row.host = ""
            row.members += is_new
            row.left += leaves
            if leaves and (not row.vanished or row.left == 1):
                row.reason = clean(text_of(line, "reason"), 31)
        member.left |= leaves

    def _operations(self, line):
        pairs = line.get("operations")
        for pair in pairs if isinstance(pairs, list) else ():
            if isinstance(pair, list) and len(pair) >= 2 and type(pair[0]) is int and pair[0] in self.state.members:
                self._count_operations(self.state.members[pair[0]], integer(pair[1]))

    def _count_operations(self, member, operations):
        state, new = self.state, operations - member.operations
        for level, row in enumerate(member.rows):
            if new <= 0 or member.is_older:
                break
            row.active = state.component_commits + 1
            if state.counts_by_lines and (not state.by_model or (level == RANKS and member.is_rank)):
                row.by_lines = True
                state.tables[level, COMPONENTS].part(row).count("operations", new)
        member.operations, member.is_older = operations, False
        state.reported += 1

    def _ranks(self, line):
        """What each component counted, which the labels of values do not tell. It ends with this bucket; that which
        began before the first bucket seen is no part of it."""
        state = self.state
        state.ranks_time = text_of(line, "time")
        if state.buckets > 0 and state.ranks_time < state.since:
            return
        state.ranks_width_ns = number(line, "width_ns")
        ranks = line.get("ranks")
        for rank in ranks if isinstance(ranks, list) else ():
            if not isinstance(rank, list) or not rank or not isinstance(rank[0], str):
                continue
            name = rank[0]
            for level in (RANKS,) if state.by_model else (MODELS, RANKS):
                of = name if level == RANKS else model_of(name)
                row = state.tables[level, COMPONENTS].get(of, active=state.component_commits)
                row.of_ranks = state.tables[level, OF_RANKS].get(of)
                self._add_rank(state.tables[level, OF_RANKS].part(row.of_ranks), row, rank)

    def _add_rank(self, part, row, rank):
        state = self.state
        for what, value in zip(state.rank_columns, rank[1:]):
            if what in SUMS:
                part.count(what, integer(value))
                if what == "operations" and integer(value) > 0:
                    row.active = state.component_commits + 1
            elif what == "waits" and isinstance(value, list) and len(value) >= 4:
                bins = [(lower_of(integer(value[at]), state.rank_bits), integer(value[at + 1]))
                        for at in range(2, len(value) - 1, 2) if integer(value[at]) < 1 << 10]
                part.timed().take(bins, 0, integer(value[1]))  # the least is not in the line

    # ---------------------------------------------------------------- the end of a bucket

    def _bucket(self, line):
        """Its last line: what was counted becomes the newest bucket."""
        state = self.state
        state.losses.accounting(line, number, state.buckets == 0)
        time, bucket = clean(text_of(line, "time"), 31), number(line, "bucket")
        if state.buckets == 0:
            self._first_bucket(time, bucket)
        state.width_ns = number(line, "width_ns") if "width_ns" in line else state.bucket_ns
        partial = state.values < number(line, "values")
        # Lines of components are ahead of the buckets by the lateness of events: at the end of a stream, what the newest
        # bucket counts was in earlier lines.
        by_lines = state.counts_by_lines and not state.by_model
        components = not by_lines or not self._total().sums.get("operations") or state.reported > 0
        self._commit_ranks()
        parts = [(state.total, self._total())]
        state.total.all.add(state.total.incoming)
        state.total.incoming = None
        for (_, kind), table in state.tables.items():
            if kind != OF_RANKS and (components or kind != COMPONENTS):
                parts += table.commit()
        state.component_commits += components
        self._log(Logged(state.width_ns, parts, time, bucket, partial))
        state.buckets += 1
        state.seen_ns += state.width_ns
        state.values = state.reported = 0
        state.attention.commit(state.gauges.get("vampire_alarms_firing", 0), state.seen_ns)

    def _first_bucket(self, time, bucket):
        state = self.state
        state.since, state.from_middle = time, bucket > 0
        if state.ranks_time < state.since:  # the lines of ranks began before it
            state.ranks_width_ns = 0
            for level in (MODELS, RANKS):
                state.tables[level, OF_RANKS].drop()
        for level in (MODELS, RANKS) if state.from_middle else ():
            for row in state.tables[level, COMPONENTS].touched:
                if row.by_lines:  # totals of the run so far
                    row.incoming.sums.pop("operations", None)

    def _commit_ranks(self):
        state = self.state
        if state.ranks_width_ns > 0:
            parts = [part for level in (MODELS, RANKS) for part in state.tables[level, OF_RANKS].commit()]
            self._log(Logged(state.ranks_width_ns, parts, "", None, False))
            state.ranks_step_ns = state.ranks_width_ns
        state.ranks_width_ns = 0

    def _log(self, logged):
        state = self.state
        state.log.append(logged)
        state.logged_parts += len(logged.parts)
        while state.logged_parts > LOGGED_PARTS and len(state.log) > 2:
            state.logged_parts -= len(state.log.popleft().parts)

    def _end(self, line):
        state, reason = self.state, text_of(line, "reason")
        if reason in ("rotated", "configuration reloaded"):
            return ROTATED
        state.losses.accounting(line, number, state.buckets == 0)
        self._commit_ranks()
        state.ended, state.end_reason = True, clean(reason, 31)
        return END

    # ---------------------------------------------------------------- what is shown

    def default_level(self):
        """Models where there are many ranks of few of them."""
        models, ranks = (len(self.state.tables[level, COMPONENTS].rows) - 1 for level in (MODELS, RANKS))
        return MODELS if models < ranks and ranks > RANKS_FEW else RANKS

    def snapshot(self, totals=False, level=RANKS, window_ns=0):
        """totals: of all buckets seen, not rates; window_ns: rates of so much time, 0: of the newest bucket."""
        return Snapshot(self, totals, level, window_ns)


class Snapshot:  # pylint: disable=too-many-instance-attributes
    """What is shown at one moment. Its tables have Shown rows in no order."""

    def __init__(self, model, totals, level, window_ns):
        state = model.state
        self.state, self.totals, self.level = state, totals, level
        self.bad_lines, self.damaged, self.damage = model.bad_lines, model.damaged, model.damage
        self.any = state.buckets > 0
        self.alarms = sorted(state.attention.alarms, key=lambda alarm: alarm.order())
        self.unseen_firing = state.attention.unseen_firing
        self.waiting, self.demands = state.attention.waiting, state.attention.demands
        self.newest, self.window_ns, self.ranks_ns, self._now = self._window(window_ns)
        in_ranks = self.ranks_ns > 0 and (level == RANKS or not state.by_model)
        self.in_ranks = frozenset(what for what in state.rank_columns if what) if in_ranks else frozenset()
        self.hidden_in_rows = state.hidden_in_rows - self.in_ranks
        self.losses = [(text, loss.count, loss.fresh) for text, loss in state.losses.by_text.items() if loss.count > 0]
        self.sums = self._sums(state.total)
        self.vanished = [clean(row.name) for row in state.tables[RANKS, COMPONENTS].rows.values() if row.vanished][:VANISHED_MAX]
        self.tables = {kind: [self._row(row) for row in self._table(kind).rows.values() if self._is_shown(kind, row)]
                       for kind in TABLES}

    def _window(self, window_ns):
        """(the newest bucket, length of the buckets, length of the lines of ranks, {row: its numbers in them}). A run that
        has ended shows the last bucket in which something happened, if it is still known."""
        log = list(self.state.log)
        if self.state.ended:
            with_data = [at for at, logged in enumerate(log) if logged.bucket is not None and len(logged.parts) > 1]
            log = log[: with_data[-1] + 1] if with_data else log
        begin, length = len(log), 0
        while begin > 0 and (length == 0 or length < window_ns or log[begin - 1].bucket is None):
            begin -= 1
            length += log[begin].width_ns if log[begin].bucket is not None else 0
        chosen = log[begin:]
        ranks = [logged for logged in chosen if logged.bucket is None]
        if not ranks:  # the newest before
            ranks = [logged for logged in log[:begin] if logged.bucket is None][-1:]
            chosen = ranks + chosen
        now = {}
        for logged in chosen:
            for row, part in logged.parts:
                if row in now:
                    if now[row][1]:  # shared with the log
                        together = Part()
                        together.add(now[row][0])
                        now[row] = (together, False)
                    now[row][0].add(part)
                else:
                    now[row] = (part, True)
        newest = next((logged for logged in reversed(log) if logged.bucket is not None), Logged(0, [], "", 0, False))
        return newest, length, sum(logged.width_ns for logged in ranks), {row: part for row, (part, _) in now.items()}

    def _table(self, kind):
        return self.state.tables[RANKS if kind == DECLARED else self.level, kind]

    def _part(self, row):
        if self.totals:
            return row.all
        return self._now.get(row) or Part()

    def _is_shown(self, kind, row):
        """Pairs have a row if something moved, components always; but one that is counted with its model only if it
        vanished, for the head."""
        if kind == DECLARED:
            return row.level is not None or not row.all.empty()
        if kind != COMPONENTS:
            return not self._part(row).empty()
        if not row.all.empty() or row.of_ranks is not None:
            return True
        return row.name != OTHER and (not self.state.by_model or row.vanished)

    def _sums(self, row):
        """Numbers per second, or in all; anomalies always of all buckets seen."""
        own, of_ranks = self._part(row), self._part(row.of_ranks) if row.of_ranks is not None else None
        sums = {}
        for what in SUMS:
            in_ranks = what in self.in_ranks and (row.of_ranks is not None or row.by_lines)
            part = of_ranks if in_ranks else own
            if what == "anomalies":
                source = row.of_ranks if in_ranks else row
                sums[what] = source.all.sums.get(what, 0) if source is not None else 0
                continue
            value = part.sums.get(what, 0) if part is not None else 0  # None: its first line is to come
            length = self.ranks_ns if in_ranks else self.window_ns
            sums[what] = value * 1e9 / length if not self.totals and length > 0 else value
        return sums

    def _row(self, row):
        state = self.state
        shown = Shown(clean(row.name), clean(row.second))
        shown.members, shown.left, shown.vanished, shown.reason = row.members, row.left, row.vanished, row.reason
        shown.host, shown.unit, shown.level, shown.by_lines = row.host, row.unit, row.level, row.by_lines
        idle_ns = (state.component_commits - row.active) * state.width_ns
        # Lines of ranks come late: what they do not have yet is not idle.
        shown.idle_ns = idle_ns if row.of_ranks is None or idle_ns >= 2 * state.ranks_step_ns else 0
        in_ranks = self.level == RANKS and self.ranks_ns > 0
        shown.hidden = state.by_model and (row.by_lines or row.all.empty()) and not in_ranks
        shown.sums = self._sums(row)
        times = self._part(row.of_ranks or row).times
        if times is not None and times.count:
            shown.timed, shown.max = times.count, times.max
            shown.zeros = times.bins.get(0, 0)
            shown.p50, shown.p99 = times.quantile(0.5), times.quantile(0.99)
        return shown
