# SPDX-License-Identifier: BSD-3-Clause
"""What vampire-top understands of a stream, of good lines and of bad ones."""

import json

import pytest

from vampire.top import model as lines
from vampire.top.model import Model
from vampire.top.rows import BLAME, COMPONENTS, MODELS, PAIRS, RANKS, ROWS_MAX

pytestmark = [pytest.mark.plain, pytest.mark.together]

SECOND = 10**9
ODD_TIMES = {"source": "a", "sink": "b", "bins": [1, [2], [3, "x"], [-1, -1], [1e300, 1e300]], "min": 5, "max": -5}


class Stream:
    """A model that is fed with lines of one run."""

    def __init__(self, **header):
        self.model = Model()
        assert self.feed("header", v=2, run="r", workflow="weather", **header) == lines.LINE

    def feed(self, kind, **fields):
        return self.model.feed(json.dumps({"type": kind, **fields}).encode())

    def operations(self, component, delta):
        self.feed("values", values={"pool_operations": [{"component": component, "operation": "offer", "delta": delta}]})

    def wait(self, component, part, milliseconds):
        self.feed("values", values={"demand_wait_part_ns": [
            {"component": component, "producer": "IFS -- 0", "part": part, "count": 1, "sum": milliseconds * 10**6, "bins": [[1, 1]]}]})

    def component(self, index, name, reason=None):
        left = {"left": "2026-11-21T04:00:00Z", "reason": reason} if reason else {"left": None}
        self.feed("component", index=index, name=name, **left)

    def bucket(self, lost=0, bucket=1, time="2026-11-21T04:00:01.000000000Z", width_ns=SECOND // 2):
        assert self.feed("bucket", time=time, bucket=bucket, width_ns=width_ns, values=1, accounting={
            "lost": {"ring": lost}, "rejected": 0, "outputs": [{"name": "live", "lost": 0}]}) == lines.BUCKET

    def shown(self, totals=False, level=RANKS, window_ns=0):
        return self.model.snapshot(totals, level, window_ns)


def row(snapshot, name, kind=COMPONENTS):
    return next(shown for shown in snapshot.tables[kind] if shown.name == name)


def test_rates_are_of_the_newest_bucket_and_totals_of_all():
    run = Stream()
    run.operations("a", 10)
    run.bucket()
    run.operations("a", 3)
    run.operations("b", 4)
    run.bucket()
    now, everything = run.shown(), run.shown(totals=True)
    assert now.sums["operations"] == 14 and row(now, "a").sums["operations"] == 6
    assert everything.sums["operations"] == 17 and row(everything, "a").sums["operations"] == 13
    assert now.state.workflow == "weather"


def test_a_window_has_the_buckets_that_are_in_it():
    run = Stream()
    for number in range(1, 11):
        run.operations("a", number)
        run.wait("a", "for_offer", number)
        run.bucket()
    for window_ns, covered_ns, rate in ((0, 0.5e9, 20), (1e9, 1e9, 19), (1.2e9, 1.5e9, 18), (60e9, 5e9, 11)):
        snapshot = run.shown(window_ns=window_ns)
        assert snapshot.window_ns == covered_ns and snapshot.sums["operations"] == rate
        assert row(snapshot, "a").sums["operations"] == rate
        assert snapshot.tables[BLAME][0].sums["for_offer"] == rate * 1e6
    assert run.shown().sums["operations"] == 20  # a window changes nothing


def test_an_ended_run_shows_the_last_bucket_with_data():
    run = Stream()
    run.operations("a", 3)
    run.bucket(bucket=7)
    run.bucket(bucket=8)
    assert run.shown().sums["operations"] == 0
    run.feed("end", reason="finished")
    assert run.shown().newest.bucket == 7 and run.shown().sums["operations"] == 6


def test_models_have_the_sums_of_their_ranks():
    """Whatever rows of ranks there is room for, models have all."""
    run = Stream()
    assert run.model.default_level() == RANKS
    for number in range(ROWS_MAX + 50):
        name = f"{('IFS --', 'Products')[number % 2]} {number}"
        run.operations(name, 1)
        run.wait(name, "moving", 2)
    run.component(7, "IFS -- 6", "vanished")
    run.bucket()
    assert run.model.default_level() == MODELS
    snapshot, each = run.shown(totals=True, level=MODELS), ROWS_MAX // 2 + 25
    assert len(snapshot.tables[COMPONENTS]) == 2 and row(snapshot, "IFS").vanished
    assert row(snapshot, "IFS").sums["operations"] == row(snapshot, "Products").sums["operations"] == each
    assert snapshot.vanished == ["IFS -- 6"]
    blame = row(snapshot, "IFS", BLAME)
    assert len(snapshot.tables[BLAME]) == 2 and blame.sums["waited"] == blame.sums["moving"] == each * 2_000_000


def test_a_component_without_operations_is_idle():
    run = Stream()
    run.operations("a", 10)
    for _ in range(3):
        run.bucket()
    assert row(run.shown(), "a").idle_ns == SECOND
    run.operations("a", 1)
    run.bucket()
    assert row(run.shown(), "a").idle_ns == 0


def test_a_component_of_the_name_of_its_model_is_not_idle():
    """In a stream by model only the lines of components, and of ranks, tell that it is active."""
    run = Stream(bucket_ns=SECOND, sub_bits=2, metrics=[{"name": "pool_operations", "labels": ["model", "operation"]}],
                 ranks=["pool_operations"])
    run.component(1, "NEMO")
    for second in range(1, 41):
        run.feed("operations", operations=[[1, 5 * second]])
        run.feed("ranks", time=f"t{second:02d}", width_ns=SECOND, ranks=[["NEMO", 5]])
        run.bucket(bucket=second, time=f"t{second:02d}", width_ns=SECOND)
    assert row(run.shown(), "NEMO").idle_ns == 0 and row(run.shown(), "NEMO").sums["operations"] == 5


def test_lines_of_components_are_ahead_of_the_buckets():
    """pool_operations without the label of components, whose lines have totals."""
    run = Stream(bucket_ns=SECOND, metrics=[{"name": "pool_operations", "labels": ["operation"]}])

    def values(delta):
        run.feed("values", values={"pool_operations": [{"operation": "offer", "delta": delta}]})

    run.component(1, "a")
    run.feed("operations", operations=[[1, 30]])
    values(20)
    run.bucket(bucket=0, width_ns=SECOND)
    assert row(run.shown(), "a").sums["operations"] == 30
    values(10)  # the second bucket, whose operations were in the line before the first
    run.bucket(width_ns=SECOND)
    assert row(run.shown(totals=True), "a").sums["operations"] == 30
    run.bucket(bucket=2, width_ns=SECOND)  # a third one, in which nothing happens
    assert row(run.shown(), "a").sums["operations"] == 0
    assert row(run.shown(totals=True), "a").sums["operations"] == 30


def ranks_header(*columns):
    return {"bucket_ns": SECOND, "sub_bits": 2, "ranks": list(columns), "metrics": [
        {"name": "pool_operations", "labels": ["model", "operation"]}, {"name": "produced_bytes", "labels": ["model"]},
        {"name": "demand_wait_ns", "labels": ["model"]}]}


def test_ranks_have_lines_of_their_own():
    """Lines of ranks cover several buckets, which the rates of ranks are of. Bin 12 of four in a doubling begins at 16."""
    run = Stream(**ranks_header("of_another_version", "produced_bytes", "demand_wait_ns"))
    run.component(1, "a 0")
    run.feed("values", values={"produced_bytes": [{"model": "a", "delta": 6}]})
    run.bucket(bucket=0, time="t1", width_ns=SECOND)
    run.feed("ranks", time="t1", width_ns=2 * SECOND, ranks=[["a 0", 7, 4, [17, 17, 12, 1]]])
    run.feed("ranks", time="t1", width_ns=2 * SECOND, ranks=[["(other)", 0, 2], ["a 1"], 5, [6, 7]])
    assert row(run.shown(), "a 0").sums["produced"] == 0
    run.bucket(time="t2", width_ns=SECOND)
    run.bucket(bucket=2, time="t3", width_ns=SECOND)
    shown = row(run.shown(), "a 0")
    assert shown.sums["produced"] == 2 and (shown.timed, shown.max) == (1, 17)
    run.feed("ranks", time="t3", width_ns=SECOND, ranks=[["a 0", 0, 3]])
    run.bucket(bucket=3, time="t4", width_ns=SECOND)
    for window_ns, produced in ((SECOND, 3), (3 * SECOND, 7 / 3)):
        snapshot = run.shown(window_ns=window_ns)
        assert snapshot.ranks_ns == window_ns and row(snapshot, "a 0").sums["produced"] == pytest.approx(produced)
    everything = run.shown(totals=True)
    assert row(everything, "a 0").sums["produced"] == 7 and row(everything, "(other)").sums["produced"] == 2


def test_ranks_of_a_stream_that_begins_in_the_middle():
    """What began before the first bucket seen is no part of what was seen."""
    run = Stream(**ranks_header("pool_operations", "produced_bytes"))
    run.component(1, "a 0")
    for number, time in ((4, "t4"), (5, "t5")):
        run.feed("ranks", time=f"t{number - 2}", width_ns=2 * SECOND, ranks=[["a 0", 0, 4]])
        run.bucket(bucket=number, time=time, width_ns=SECOND)
    everything = run.shown(totals=True)
    assert everything.ranks_ns == 0 and row(everything, "a 0").sums["produced"] == 0


def test_operations_of_a_rank_are_those_of_its_lines():
    """They cover the same time as its bytes, unless the stream has operations in lines of components only."""
    for columns, rank, of_a_0, of_a_1 in ((("pool_operations", "produced_bytes"), [24, 7], (12, 24), (0, 0)),
                                          (("produced_bytes",), [7], (0, 30), (1, 6))):
        run = Stream(**ranks_header(*columns))
        run.component(1, "a 0")
        run.component(2, "a 1")
        run.feed("operations", operations=[[1, 30], [2, 5]])
        run.bucket(bucket=0, time="t1", width_ns=SECOND)
        assert row(run.shown(), "a 0").sums["operations"] == 30
        run.bucket(time="t2", width_ns=SECOND)
        run.feed("ranks", time="t1", width_ns=2 * SECOND, ranks=[["a 0", *rank]])
        run.feed("operations", operations=[[2, 6]])
        run.bucket(bucket=2, time="t3", width_ns=SECOND)
        for totals in (False, True):
            snapshot = run.shown(totals=totals)
            assert row(snapshot, "a 0").sums["operations"] == of_a_0[totals]
            assert row(snapshot, "a 1").sums["operations"] == of_a_1[totals]
            assert row(snapshot, "a 0").sums["produced"] == (7 if totals else 3.5)


def test_components_of_one_name_are_counted():
    run = Stream()
    for index, name in ((1, "IFS"), (2, "IFS"), (2, "IFS"), (3, "alone")):  # 2 is sent again, since it changed
        run.component(index, name)
    ifs = row(run.shown(), "IFS")
    assert (ifs.members, ifs.left) == (2, 0) and row(run.shown(), "alone").members == 1
    run.component(1, "IFS", "vanished")
    run.component(1, "IFS", "vanished")
    assert row(run.shown(), "IFS").left == 1 and row(run.shown(), "IFS").vanished
    run.component(2, "IFS", "finalized")  # does not hide what happened
    assert (row(run.shown(), "IFS").left, row(run.shown(), "IFS").reason) == (2, "vanished")


def test_a_worse_reason_replaces_a_good_one():
    run = Stream()
    run.component(1, "IFS", "finalized")
    run.component(2, "IFS", "evicted")
    assert row(run.shown(), "IFS").reason == "evicted" and row(run.shown(), "IFS").vanished


def test_losses_before_the_first_bucket_are_not_fresh():
    run = Stream()
    run.bucket(lost=5)
    assert run.shown().losses == [("events in ring", 5, 0)]
    run.bucket(lost=8)
    assert run.shown().losses == [("events in ring", 8, 3)]


def test_the_end_reports_the_last_losses():
    run = Stream()
    run.bucket()
    assert run.feed("end", run="r", reason="rotated") == lines.ROTATED
    assert run.feed("end", run="r", reason="configuration reloaded") == lines.ROTATED
    assert run.feed("end", run="r", reason="finished", accounting={"lost": {"ring": 7}}) == lines.END
    assert run.shown().state.ended and run.shown().state.end_reason == "finished"
    assert run.shown().losses[0][1] == 7


def test_another_run_starts_again():
    run = Stream()
    run.component(1, "IFS", "vanished")
    run.operations("IFS", 5)
    run.bucket(lost=9)
    assert run.model.feed(b"broken") == lines.BAD
    run.feed("header", run="other", workflow="second")
    run.component(1, "IFS")
    snapshot = run.shown(totals=True)
    assert not snapshot.any and snapshot.state.workflow == "second" and snapshot.losses == []
    assert (row(snapshot, "IFS").members, row(snapshot, "IFS").left) == (1, 0)
    assert snapshot.bad_lines == 1  # counted for the stream, not for the run


def test_more_names_than_rows_are_folded_and_counted():
    run = Stream()
    for number in range(ROWS_MAX + 50):
        run.component(number, f"component{number}")
        run.operations(f"component{number}", 1)
    run.component(4_000_000_000, "far away")
    run.bucket()
    snapshot = run.shown(totals=True)
    assert len(snapshot.tables[COMPONENTS]) == ROWS_MAX and snapshot.sums["operations"] == ROWS_MAX + 50
    assert row(snapshot, "(other)").sums["operations"] == snapshot.state.folded == 51
    assert row(snapshot, "component7").members == 1


def test_names_cannot_control_the_terminal():
    run = Stream()
    run.component(1, "\x1b]0;owned\x07\x1b[2J\x9b5n\r\n", "\x1b[5m")
    run.bucket()
    (shown,) = run.shown().tables[COMPONENTS]
    assert (shown.name, shown.reason) == ("?]0;owned??[2J?5n??", "?[5m")


BAD = [b"", b"{", b"null", b"[]", b'"text"', b"{}", b'{"type":"bucket"}', b'{"type":7,"run":"r"}', b'{"type":"header"}',
       b'{"v":1,"type":"header","run":"s"}', b'{"type":"bucket","time":"t","width_ns":1e999}', b"[" * 60_000,
       b'{"type":"bucket","time":"t","width_ns":NaN}', b'{"type":"header","run":"r","workflow":"\xff\xfe"}',
       b'{"type":"header","run":"r"} trailing', b'{"type":"bucket","time":"t","width_ns":' + b"9" * 60_000 + b"}"]


def test_odd_lines_are_bad_or_harmless():
    run = Stream()
    for line in BAD:
        assert run.model.feed(line) == lines.BAD, line[:80]
    for kind, fields in (
            ("header", {"run": "r", "segment": -1}), ("header", {"run": "r", "segment": 1e300, "workflow": [], "metrics": [1, {"labels": 3}]}),
            ("values", {"values": {"pool_operations": [{"delta": -1e300}, {"delta": 1e300}, {"delta": 2**70, "component": ["a"]}]}}),
            ("values", {"values": {"transport_ns": [ODD_TIMES]}}),
            ("values", {"values": {"transports_active": [{"value": 3}, 4, []]}}),
            ("values", {"values": {"transports_active": {"value": 3}, "x": 7}}), ("values", {"values": [{"value": 3}]}), ("values", {}),
            ("component", {"index": -3, "name": "a"}), ("component", {"index": "1", "name": "a"}),
            ("component", {"index": 1e300, "name": "\ud800"}), ("gap", {"start": "x", "end": None}),
            ("lost", {"what": "lines", "count": -1}), ("operations", {"operations": [5, [1], ["a", 1], [1, 1]]}),
            ("ranks", {"time": 5, "width_ns": "x", "ranks": [[], [[]], {"a": 1}]}), ("alarm", {"alarm": 5, "value": []}),
            ("pending", {"name": [], "age_ns": "x"}), ("of tomorrow", {"run": "r"})):
        assert run.feed(kind, **fields) == lines.LINE, (kind, fields)
    assert run.feed("bucket", time="t", width_ns=1e-300,
                    accounting={"lost": {"ring": 1e300}, "outputs": [5, {"name": 3}]}) == lines.BUCKET
    snapshot = run.shown()
    assert snapshot.bad_lines == len(BAD) and 0 <= snapshot.sums["operations"] <= 2**64 * 4
    assert 0 < snapshot.losses[0][1] < 2**64


def test_changed_bytes_do_no_harm():
    """Every byte changed in turn: whatever comes of it, nothing breaks."""
    run = Stream(**ranks_header("pool_operations", "produced_bytes", "demand_wait_ns"))
    for line in (b'{"type":"values","values":{"demand_wait_ns":[{"component":"IFS","size_class":"1 MiB","min":1,"max":9,'
                 b'"bins":[[1,2],[9,1]]}]}}',
                 b'{"type":"ranks","time":"t","width_ns":9,"ranks":[["a",0,4,[9,9,8,1]]]}'):
        for at in range(len(line)):
            for byte in b'"{}[]9-\\,\x80e ':
                run.model.feed(line[:at] + bytes([byte]) + line[at + 1:])
            run.model.feed(line[:at])
    run.bucket()
    assert run.shown(totals=True).bad_lines > 0


def test_many_buckets_need_bounded_memory(monkeypatch):
    monkeypatch.setattr(lines, "LOGGED_PARTS", 100)
    run = Stream()
    for number in range(500):
        run.operations(f"component{number % 7}", 1)
        run.bucket(bucket=number)
    assert run.model.state.logged_parts <= 100 and len(run.model.state.log) <= 50
    assert run.shown(totals=True).sums["operations"] == 500
    assert len(run.shown(totals=True).tables[PAIRS]) == 0
