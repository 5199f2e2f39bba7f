# SPDX-License-Identifier: BSD-3-Clause
"""What vampire-top writes: texts in columns, the lines above the tables, rows in order, alarms and demands that wait."""

import json

import pytest

from vampire.top import page, text
from vampire.top.attention import ALARMS_MAX
from vampire.top.model import Model
from vampire.top.rows import COMPONENTS, NUMBERS, PAIRS, Shown, choose, rest_of

pytestmark = [pytest.mark.plain, pytest.mark.together]

ACCENTED = "e\u0301"  # e and a combining accent: one column
JAPANESE = "日本"      # two characters of two columns each


@pytest.fixture(autouse=True)
def utf8(monkeypatch):
    monkeypatch.setattr(text, "_encodable", lambda character: True)


def test_texts_are_cut_and_padded_by_columns():
    for given, columns, expected in (("abc", 5, "abc  "), ("abcdef", 4, "abc~"), ("abc", 0, ""), (JAPANESE, 4, JAPANESE),
                                     (JAPANESE, 3, "日~"), (JAPANESE, 2, "~ "), (ACCENTED + "x", 3, ACCENTED + "x ")):
        assert text.fit(given, columns) == expected
    assert text.columns(ACCENTED + JAPANESE) == 5


def test_what_a_terminal_would_obey_is_not_shown():
    for given, expected in (("\x1b[31mred\x7f", "?[31mred?"), ("a\x9bb", "a?b"),
                            ("a\u202eb", "a?b"), ("a\u2028b", "a?b"), ("a\u200bb", "a?b"), ("\ud800", "?"), ("\u0301a", "?a"),
                            (JAPANESE + ACCENTED, JAPANESE + ACCENTED)):
        assert text.clean(given) == expected
    assert text.clean(JAPANESE * 2, 7) == JAPANESE  # cut at a character's end


def test_figures_take_few_columns():
    values = [0, 0.04, 0.5, 9.96, 999.4, 999.6, 1023.4, 99999.4, 1e5, 1e6, 1e9, 1e12, 1e15, 1e18, 1.9e19, 999499, 99950, 1048575]
    for value in values:
        assert len(text.count(value)) <= 7 and len(text.size(value)) <= 8 and len(text.time(value)) <= 14
    assert (text.count(1376), text.size(1 << 20), text.time(2160000), text.time(5e12)) == ("1,376", "1.00 MiB", "2.16 ms", "1.39 h")
    assert (text.rate_of_time(404e9), text.rate_of_time(2.5e9)) == ("404 s", "2.50 s")


def snapshot_of(*lines):
    model = Model()
    for line in lines:
        assert model.feed(json.dumps(line).encode()) != "bad"
    return model.snapshot()


def shown(name="a", second="", **fields):
    row = Shown(name, second)
    row.sums.update(fields.pop("sums", {}))
    for key, value in fields.items():
        setattr(row, key, value)
    row.vanished = row.left > 0 and row.reason != "finalized"
    return row


def line_of(snapshot, kind, row, wide):
    lines = page.table(snapshot, kind, [row], 0, 1, wide)
    return lines[1]


def test_what_the_stream_lacks_is_hidden():
    """Never "0 moves, p50 8 ms": what took time has moved."""
    snapshot = snapshot_of()
    snapshot.hidden_in_rows = frozenset(["transports"])
    pair = shown("a", "b", timed=3, p50=8e6, p99=8e6, max=9e6)
    assert line_of(snapshot, PAIRS, pair, 70)[1] == "a -> b                       ..          ..  8.00 ms  8.00 ms  9.00 ms"
    snapshot.hidden_in_rows = frozenset()
    assert "     ..          ..  8.00 ms" in line_of(snapshot, PAIRS, pair, 70)[1]
    moved = shown("a", "b", sums={"transports": 2})
    assert "       2         0 B        -        -        -" in line_of(snapshot, PAIRS, moved, 70)[1]
    snapshot.hidden_in_rows = NUMBERS
    row = shown("IFS -- 0", members=1, sums={"operations": 12})
    assert "     12          ..          ..       ..       ..     .." in line_of(snapshot, COMPONENTS, row, 80)[1]
    assert "not in this stream" in page.table(snapshot, PAIRS, [], 0, 9, 70)[0][1]


def test_every_column_has_a_figure_and_its_width():
    """Whoever adds a column has a title that fits and a value in it, at each width of a terminal."""
    snapshot = snapshot_of()
    for kind, columns in page.COLUMNS.items():
        row = shown("a", "b", members=1, timed=1, p50=1e9, p99=1e9, max=1e9, level=5, sums=dict.fromkeys(Shown().sums, 1000))
        snapshot.tables[kind] = [row]
        for wide in range(40, 260):
            title, line = page.table(snapshot, kind, [row], 0, 1, wide)
            room, there, missing = page.columns_of(kind, wide)
            assert text.columns(line[1]) == text.columns(title[1]) == min(wide, text.COLUMNS_MAX)
            assert [*there, *missing] == list(columns)
            assert all(len(column.title) <= column.width for column in columns), "a title is wider than its column"
            assert len(line[1][room:].split()) >= len(there)
            assert page.unshown_columns([kind], wide) == [column.title for column in missing]
        assert page.unshown_columns([kind], 80) == []


def test_rows_without_room_are_one():
    rows = [shown("a", sums={"operations": 5}, timed=1, max=7), shown("b", sums={"operations": 4, "produced": 10}),
            shown("c", sums={"operations": 3}, timed=2, max=9)]
    rest = rest_of(rows, 1, 1)
    assert (rest.rest, rest.name, rest.timed, rest.max) == (2, "1 before, 1 after", 3, 9)
    assert rest.sums["operations"] == 8 and rest.sums["produced"] == 0
    lines = page.table(snapshot_of(), COMPONENTS, rows, 1, 1, 80)
    assert len(lines) == 3 and lines[2][0] == page.DIM and "     ..       ..      0" in lines[2][1]
    assert rest_of(rows, 0, 1).name == "2 more"


def test_the_state_of_a_component_is_never_cut():
    snapshot = snapshot_of()
    for row, mark, begins in (
            (shown("IFS -- 0", members=1), page.PLAIN, "IFS -- 0   "),
            (shown("IFS -- 0", members=1, left=1, reason="finalized"), page.DIM, "IFS -- 0 (finalized) "),
            (shown("a component with a long name", members=1, left=1, reason="vanished"), page.WARNING, "a component~ (vanished) "),
            (shown("IFS -- 0", members=1, idle_ns=12e9), page.PLAIN, "IFS -- 0 (idle 12.0 s) "),
            (shown("IFS", members=1, host="n17"), page.PLAIN, "IFS @n17 "),
            (shown("IFS", members=3), page.PLAIN, "IFS (x3) "),
            (shown("IFS", members=3, left=1, reason="vanished"), page.WARNING, "IFS (x3, 1 vanished) "),
            (shown("IFS", members=3, left=3, reason="finalized"), page.DIM, "IFS (x3, finalized) "),
            (shown(JAPANESE * 6, members=2, left=1, reason="vanished"), page.WARNING, JAPANESE)):
        found = line_of(snapshot, COMPONENTS, row, 80)
        assert found[0] == mark and found[1].startswith(begins) and text.columns(found[1]) == 80, found


def test_a_long_list_of_losses_goes_on_in_the_next_line():
    gap = {"type": "gap", "start": "2026-11-21T00:00:20.001000000Z", "end": "2026-11-21T00:00:20.001000000Z", "reason": "ring"}
    snapshot = snapshot_of({"type": "header", "run": "r"}, *[gap] * 87)
    snapshot.losses, snapshot.bad_lines = [("events in ring", 88, 4), ("buckets of live", 2, 0)], 3
    lines = page.losses(snapshot, 80)
    for (mark, line), expected in zip(lines, ("88 events in ring (+4)  2 buckets of live",
                                              "87 gaps, last 00:00:20.001 to 00:00:20.001 (ring)", "3 lines not understood")):
        assert mark == page.LOSS and expected in line
    assert len(lines) == 3 and len(page.losses(snapshot, 200)) == 1 and len(page.losses(snapshot, 40)) == 3
    assert page.losses(snapshot_of(), 80)[0][0] == page.PLAIN


def test_vanished_components_are_in_the_head():
    snapshot = snapshot_of()
    snapshot.vanished = [f"component {2 * number + 1}" for number in range(16)]
    lines = page.head(snapshot, "f", 80)
    assert len(lines) == 4 + page.VANISHED_LINES + 1 <= page.HEAD_LINES and lines[4][0] == page.WARNING
    assert "vanished   component 1  component 3" in lines[4][1] and lines[5][1].endswith("~")
    snapshot.vanished = []
    assert len(page.head(snapshot, "f", 80)) == 5


def test_rows_are_sorted_and_filtered():
    rows = [shown("IFS -- 10", sums={"operations": 1}), shown("IFS -- 2", sums={"produced": 7}), shown("products", p99=9)]

    def first(sort, reverse=False, text_of_name=""):
        return [row.name for row in choose(rows, COMPONENTS, sort, reverse, text_of_name)]

    assert first("name")[0] == "IFS -- 2"  # numbers count as such
    assert first("name", reverse=True)[0] == "products"
    assert [first(sort)[0] for sort in ("operations", "bytes", "wait")] == ["IFS -- 10", "IFS -- 2", "products"]
    assert len(first("name", text_of_name="ifs")) == 2
    pairs = [shown("slow", "s", sums={"transports": 1}, p99=9), shown("busy", "s", sums={"transports": 2}),
             shown("busy and slow", "s", sums={"transports": 2}, p99=5)]
    assert [row.name for row in choose(pairs, PAIRS, "operations", False, "")] == ["busy and slow", "busy", "slow"]
    assert choose(pairs, PAIRS, "wait", False, "")[0].name == "slow"


# ---------------------------------------------------------------- alarms and demands


class Stream:
    def __init__(self):
        self.model = Model()

    def feed(self, kind, **fields):
        assert self.model.feed(json.dumps({"type": kind, **fields}).encode()) != "bad"

    def alarm(self, rule, instance, severity, state, silenced=False):
        self.feed("alarm", alarm=rule, instance=instance, severity=severity, state=state, silenced=silenced, unit="ns",
                  since="2026-11-21T04:00:07.000000000Z", component="Products 1", cdo="fields/7", value=34000000000)

    def pending(self, cdo, producer="IFS -- 0", offered=False, uncertain=False):
        self.feed("pending", demands=40, component="Products 1", age_ns=2 * 10**9, id="00ff", name=cdo, producer=producer,
                  offered=offered, uncertain=uncertain)

    def buckets(self, count):
        for _ in range(count):
            self.feed("bucket", time="2026-11-21T04:00:01.000000000Z", bucket=1, width_ns=10**9, values=0, accounting={})

    def lines(self, room=10, wide=80):
        return page.attention(self.model.snapshot(), room, wide)


def test_what_fires_comes_first_and_what_ended_is_forgotten():
    run = Stream()
    run.buckets(1)
    assert run.lines() == []
    for alarm in (("over", 1, "critical", "firing"), ("over", 1, "critical", "resolved"), ("soon", 1, "critical", "pending"),
                  ("quiet", 1, "critical", "firing", True), ("some", 1, "warning", "firing"), ("stuck", 2, "critical", "firing"),
                  ("gone", 1, "critical", "pending"), ("gone", 1, "critical", "cleared")):
        run.alarm(*alarm)
    run.buckets(1)
    lines = run.lines()
    assert [mark for mark, _ in lines] == [page.TITLE, page.LOSS, page.WARNING, page.DIM, page.PLAIN, page.DIM]
    for expected in ("stuck", "FIRING", "34.0 s", "04:00:07", "Products 1: fields/7"):
        assert expected in lines[1][1]
    assert [word in line for word, (_, line) in zip(("some", "silenced", "pending", "resolved"), lines[2:])] == [True] * 4
    run.buckets(61)
    assert len(run.lines()) == 5 and len(run.lines(3)) == 3 and "ALARM (2 of 4)" in run.lines(3)[0][1]


def test_alarms_that_began_before_the_stream_are_counted():
    run = Stream()
    run.feed("values", values={"vampire_alarms_firing": [{"value": 2}]})
    run.alarm("stuck", 2, "critical", "firing")
    run.buckets(2)
    assert len(run.lines(10, 100)) == 2 and "1 more fire" in run.lines(10, 100)[0][1]


def test_an_alarm_that_ends_is_not_taken_for_another():
    """The metric is that of the bucket before."""
    run = Stream()
    run.alarm("stuck", 2, "critical", "firing")
    run.buckets(1)
    run.feed("values", values={"vampire_alarms_firing": [{"value": 1}]})
    run.buckets(1)
    run.alarm("stuck", 2, "critical", "resolved")
    run.buckets(1)
    assert len(run.lines(10, 100)) == 2 and "more" not in run.lines(10, 100)[0][1]


def test_more_alarms_than_room_do_no_harm():
    run = Stream()
    for number in range(3 * ALARMS_MAX):
        run.alarm("many", number, "warning", "firing" if number % 3 else "resolved")
    run.buckets(1)
    assert len(run.lines()) == 10 and len(run.model.state.attention.alarms) == ALARMS_MAX


def test_demands_are_those_of_the_newest_bucket():
    run = Stream()
    run.pending("fields/7", uncertain=True)
    run.pending("fields/8", offered=True)
    run.pending("", "")
    assert run.lines(10, 100) == []  # the bucket is not complete
    run.buckets(1)
    lines = run.lines(10, 100)
    assert len(lines) == 4 and "WAITS (3 of 40)" in lines[0][1]
    assert lines[1][0] == page.WARNING and all(part in lines[1][1] for part in ("fields/7", "2.00 s?", "declared by IFS -- 0"))
    assert lines[2][0] == page.PLAIN and "offered by IFS -- 0" in lines[2][1]
    assert "00ff" in lines[3][1] and "not offered" in lines[3][1]
    run.buckets(1)
    assert run.lines(10, 100) == []


def test_alarms_leave_room_for_demands():
    run = Stream()
    for number in range(30):
        run.alarm("many", number, "warning", "firing")
        run.pending("fields/7")
    run.buckets(1)
    lines = run.lines(8)
    assert len(lines) == 8 and "ALARM (3 of 30)" in lines[0][1] and "WAITS (3 of 40)" in lines[4][1]
    assert run.lines(0) == run.lines(1) == []


def test_a_long_name_keeps_its_end_and_texts_are_clean():
    run = Stream()
    run.pending("expver=0001,step=6,levelist=500,param=130,number=00017/member-A", "IFS")
    run.buckets(1)
    assert "member-A" in run.lines(8, 60)[1][1] and "exp" in run.lines(8, 60)[1][1]
    run.pending("\x1b[31mred", "\x07")
    run.alarm("\x1b[2J", 1, "critical", "firing")
    run.buckets(1)
    assert not any(set("\x1b\x07") & set(line) for _, line in run.lines(8))
