# SPDX-License-Identifier: BSD-3-Clause
"""The chain of waits behind a demand, by the Python package, from traces of streams whose chains are known."""

import json
import re
import subprocess
import sys

import pytest

import harness
import stream
import streams
import trace_file

pytest.importorskip("pandas")
import vampire
from vampire.errors import Error

pytestmark = [pytest.mark.plain, pytest.mark.together]
PARTS = ["for_offer", "for_start", "moving", "unknown"]


def trace_of(where, items):
    stream.write(where / "chain.rec", items)
    (where / "config.json").write_text(json.dumps({"outputs": [
        {"type": kind, "directory": str(where)} for kind in ("hdf5", "trace")]}))
    subprocess.run([harness.program("vampire"), "-q", "-c", where / "config.json", "--replay", where / "chain.rec"], check=True,
                   timeout=60 * harness.PATIENCE)
    return next(where.glob("*.trace.json"))


@pytest.fixture(scope="module")
def relay(tmp_path_factory):
    """Model makes `a` until 50 ms, Middle makes `b` of it, and Product waits for `b`; Other has `a` later, at once."""
    hand = streams.Hand().join(0, 1, "Model").join(0, 2, "Middle").join(0, 3, "Product").join(0, 4, "Other")
    hand("declare", 5, 1, "a", name=b"a")("demand", 10, 2, "a")("declare", 15, 2, "b", name=b"b")("demand", 20, 3, "b")
    hand("offer", 50, 1, "a", size=10)("transport_init", 55, 2, "a", peer=1, number=1)("transport_completed", 60, 2, "a", number=1)
    hand("demand", 70, 4, "a")("transport_init", 72, 4, "a", peer=1, number=2)("transport_completed", 73, 4, "a", number=2)
    hand("offer", 90, 2, "b", size=20)("transport_init", 92, 3, "b", peer=2, number=3)("transport_completed", 100, 3, "b", number=3)
    return trace_of(tmp_path_factory.mktemp("relay"), hand.items)


def links(chain):
    return [(row.component, row.what, row.cdo, row.start // 10**6, row.end // 10**6, row.known) for row in chain.itertuples()]


def test_the_chain_of_a_relay(relay):
    chain = vampire.wait_chain(relay)
    assert links(chain) == [
        ("Middle", "moving", "b", 92, 100, True), ("pool manager", "for_start", "b", 90, 92, True),
        ("Middle", "made", "b", 60, 90, False), ("Model", "moving", "a", 55, 60, True),
        ("pool manager", "for_start", "a", 50, 55, True), ("Model", "for_offer", "a", 10, 50, True)]
    assert chain.time.sum() == 90 * 10**6 and abs(chain.share.sum() - 1) < 1e-9
    assert (chain.start[:-1].to_numpy() == chain.end[1:].to_numpy()).all(), "no time is missing, none is twice there"
    share = chain.groupby("component").time.sum()
    assert share.to_dict() == {"Middle": 38_000_000, "Model": 45_000_000, "pool manager": 7_000_000}


def test_who_came_late_waited_for_nobody(relay):
    waits = vampire.trace_waits(relay)
    late = int(waits.index[waits.consumer == "Other"][0])
    assert links(vampire.wait_chain(waits, late)) == [("Model", "moving", "a", 72, 73, True),
                                                      ("pool manager", "for_start", "a", 70, 72, True)]


def test_a_trace_of_a_part_does_not_know_what_was_before(relay, tmp_path):
    """Whether Model had demanded something before is in the trace of the whole run only."""
    assert vampire.trace_waits(relay).attrs["whole"]
    (tmp_path / "cut.trace.json").write_text("".join(relay.read_text().splitlines(keepends=True)[:-2]))  # without vampire_end
    made = (["-o", "outputs.0.length=10min"], ["-o", "outputs.0.from=1ms"], ["-o", 'outputs.0.components=["M*", "P*", "O*"]'])
    for number, options in enumerate(made):
        where = tmp_path / str(number)
        where.mkdir()
        subprocess.run([harness.program("vampire"), "-q", "--replay", relay.parent / "chain.rec", "-o", "outputs.0.type=trace",
                        "-o", f"outputs.0.directory={where}", *options], check=True, timeout=60 * harness.PATIENCE)
        assert not vampire.trace_waits(next(where.glob("*.trace.json"))).attrs["whole"], options
    whole, part = (vampire.wait_chain(path) for path in (relay, tmp_path / "cut.trace.json"))
    assert links(part)[:-1] == links(whole)[:-1]
    assert links(whole)[-1] == ("Model", "for_offer", "a", 10, 50, True) and links(part)[-1] == ("Model", "for_offer", "a", 10, 50, False)


def test_the_waits_are_those_of_the_trace(relay, tmp_path):
    unknown = trace_of(tmp_path, streams.corner_cases()["waits whose parts are unknown"][0])
    for path in (relay, unknown):
        waits, spans = vampire.trace_waits(path), trace_file.Trace(path).spans()
        assert len(waits) == sum(count for span, count in spans.items() if span[0] == "demand")
        assert (waits[PARTS].sum(axis=1) == waits.end - waits.start).all()
        for row in waits.index:
            chain = vampire.wait_chain(waits, row)
            assert (chain.end[1:].to_numpy() <= chain.start[:-1].to_numpy()).all() and (chain.time > 0).all()


def report(*arguments, code=0):
    done = subprocess.run([sys.executable, harness.ROOT / "python" / "vampire-report", "--text", *arguments], capture_output=True,
                          text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_the_report_has_the_chains(relay):
    file, = relay.parent.glob("*.h5")
    text = report(file, "--trace", relay)
    assert "Behind the longest wait: Product waited 80 ms for b\n(90 ms in all: Model 50.0 %, Middle 42.2 %, pool manager 7.8 %)" in text
    assert re.search(r"^ *Middle +made +b +0.060 s +30 ms +33.3 % +inferred$", text, re.MULTILINE)
    assert "another run" not in text and "critical path" not in text, "the longest wait was the last"
    text = report(file, "--trace", relay, "--component", "Other")
    assert "Other waited 3 ms for a" in text and "inferred" not in text


def test_what_the_report_says_of_a_wrong_trace(relay, tmp_path):
    file, = relay.parent.glob("*.h5")
    assert "cannot read" in report(file, "--trace", tmp_path / "nothing.json", code=2)
    text = report(file, "--trace", relay, "--component", "Model")
    assert "no satisfied demand of Model" in text and "Only what has to do with Model" in text, "the rest of the report is there"
    assert "--trace is of one run" in report("--compare", file, file, "--trace", relay, code=2)


def test_a_trace_that_was_cut_off(relay, tmp_path):
    cut = tmp_path / "cut.trace.json"
    cut.write_bytes(relay.read_bytes()[:-700])
    assert 0 < len(vampire.trace_waits(cut)) <= 3


def test_what_is_no_trace(tmp_path):
    for text in ("no JSON\n", '[{"name":"other","ph":"M"}]\n', "[]\n"):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(Error):
            vampire.wait_chain(tmp_path / "x.json")
    with pytest.raises(Error, match="cannot read"):
        vampire.wait_chain(tmp_path / "nothing.json")


def test_the_example_of_the_documentation(relay, capsys):
    text = (harness.ROOT / "docs" / "output-trace.md").read_text()
    example, = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(example.replace("FILE", str(relay)), {})  # pylint: disable=exec-used
    assert "Middle" in capsys.readouterr().out
