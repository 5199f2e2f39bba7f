# SPDX-License-Identifier: BSD-3-Clause
"""Events without a time: their times are those of reading them. What is below the resolution of that is said to be, by every
reader, and the numbers are those of docs/metrics.md."""

import json
import math
import os
import re
import subprocess
import sys

import pytest

import harness
import jsonl

sys.path.insert(0, str(harness.ROOT / "tests" / "oracle"))
import arrivals
import compare
import exporters
import formats
import stream

pytestmark = pytest.mark.together  # one run for all

MS = 1_000_000
START = 1_700_000_000_000_000_000
TIME = 1  # bit of what no event says, vampire/core/event/knows.def


def made_up(**leave):
    """20 transports of 3 ms and one of 300 ms, read in lots that may have waited for 2 ms, and 9 s of silence."""
    items, now = [], START

    def event(kind, app, **fields):
        items.append(stream.recording_pb2.Mark(kind=29, count=0, time_ns=now - 2 * MS))
        items.append(stream.event_pb2.Event(kind=kind, app_id=app, arrival_ns=now, **fields))

    for app, name in ((1, b"IFS -- 0"), (2, b"Products 1")):
        event(1, app, name=name)
    for cdo in range(21):
        name = {"name": b"field %d" % cdo, "size_bytes": 1000}
        for kind, app, ms in ((3, 1, 4), (5, 1, 4), (3, 2, 4), (7, 2, 4), (11, 2, 4), (12, 2, 3 if cdo < 20 else 300), (10, 2, 4)):
            now += ms * MS
            event(kind, app, **name)
    now += 9000 * MS
    event(2, 2, **leave)
    event(2, 1, **leave)
    return items


@pytest.fixture(name="run", scope="module")
def replayed(tmp_path_factory):
    """A folder with what a replay wrote, and its summary."""
    folder = tmp_path_factory.mktemp("arrivals")
    stream.write(folder / "in.rec", made_up(reason=1), unknown=TIME)
    config = {"source": {"type": "replay"}, "statistics": {"bucket": "1s", "sets": "all"}, "outputs": [
        {"type": "hdf5"}, {"type": "jsonl", "path": "out.jsonl"}, {"type": "recording"}]}
    (folder / "vampire.json").write_text(harness.config_text(config))
    done = subprocess.run([harness.program("vampire"), "-c", "vampire.json", "--replay", "in.rec"], cwd=folder, capture_output=True,
                          text=True, check=True)
    return folder, done.stderr


QUANTILES = ("min", "max", "p50", "p90", "p99")
RULES = {"below": "< 1ms", "above": "> 100us", "surely": "< 1min", "slow": "> 1s"}


@pytest.fixture(name="exported", scope="module")
def exports(tmp_path_factory):
    """What a page, OTLP, InfluxDB and JSON lines have, what the alarms and the run say."""
    with harness.Workspace() as space:
        stream.write(space.path / "in.rec", made_up(reason=1), unknown=TIME)
        page, otlp, influx = formats.Page(space), formats.Otlp(space), formats.Influx(space)
        rules = [{"name": name, "metric": "transport_ns", "quantile": 0.5, "when": when, "actions": ["log"]} for name, when in RULES.items()]
        config = {"source": {"type": "replay", "file": str(space.path / "in.rec")}, "statistics": {"bucket": "1min", "sets": "all"},
                  "alarms": rules, "outputs": [page.output, otlp.output, influx.output, {
                      "type": "jsonl", "path": str(space.path / "out.jsonl"), "metrics": ["transport_ns"]}]}
        process = space.vampire(config, ready=False)
        page.await_end()
        process.signal(15)
        process.wait()
        otlp.parts()
        influx.parts()
        yield page.text, otlp.receiver.store, influx.server.lines, jsonl.records(space.path / "out.jsonl"), process.stderr


def test_prometheus_has_neither_sum_nor_buckets_below_the_resolution(exported):
    resolution = float(re.search(r"^vampire_clock_resolution_seconds\S* (\S+)$", exported[0], re.MULTILINE)[1])
    waits = [line for line in exported[0].splitlines() if line.startswith(("vampire_transport_seconds_", "vampire_demand_wait_seconds_"))]
    assert not [line for line in waits if "_sum{" in line] and [line for line in waits if "_count{" in line]
    assert all(float(re.search(r'le="([^"]+)"', line)[1]) >= resolution for line in waits if "_bucket{" in line), waits
    assert any(re.search(r"_count\{.* 21$", line) for line in waits)


def test_otlp_has_neither_sum_nor_buckets_below_the_resolution(exported):
    store = exported[1]
    (resolution,) = store.last("vampire_clock_resolution_seconds").values()
    (count, total, buckets), = store.last("vampire_transport_seconds").values()
    assert count == 21 and total is None and min(buckets) >= resolution


def test_influx_and_json_have_bounds(exported):
    _, _, influx, lines, _ = exported
    line = next(line for line in influx if line.startswith("transport_ns,"))
    fields = {name: int(value[:-1]) for name, value in (field.split("=") for field in re.split(r"(?<!\\) ", line)[1].split(","))}
    row = next(line for line in lines if line["type"] == "metric" and line["metric"] == "transport_ns")
    (resolution,) = (line["value"] for line in lines if line.get("metric") == "vampire_clock_resolution_ns")
    for found in fields, row:
        assert (found["sum_low"], found["sum_high"]) == (300 * MS, 300 * MS + 20 * resolution)
        assert (found["min_low"], found["min_high"]) == (found["p50_low"], found["p50_high"]) == (0, resolution)
        assert found["max"] == 300 * MS and 280 * MS < found["p99"] <= 300 * MS
    assert not {"sum", "min", "p50"} & fields.keys()


def test_a_rule_that_cannot_be_judged_says_so(exported):
    """p50 is known to be below 62 ms or so: this decides some rules."""
    said = exported[4]
    fired = re.findall(r'alarm "(\w+)" \(\w+\) firing: .* is (.*?);', said)
    assert {name for name, _ in fired} == {"surely"} and re.match(r"< \d", fired[0][1]), said
    for name in RULES:
        assert (f'alarm "{name}" cannot be judged' in said) == (name in ("below", "above")), said


def ask(folder, what):
    environment = {**os.environ, "PYTHONPATH": str(harness.ROOT / "python")}
    said = subprocess.run(["/usr/bin/python3", "-c", f"import vampire; print({what})", folder], env=environment, capture_output=True,
                          text=True, check=True)
    return said.stdout.strip()


def test_every_reader_says_that_it_is_below_the_resolution(run):
    folder, summary = run
    resolution = float(ask(folder, f"vampire.resolution({str(folder)!r})"))
    assert 20 * MS < resolution < 320 * MS  # 3 ms may be up to 2 * 12 ms; 300 ms are off by as much
    assert re.search(r"transport time +p50 < \d+(\.\d+)? ms, p99 285 ms, max 300 ms", summary), summary
    top = subprocess.run([harness.program("vampire-top"), "--plain", folder / "out.jsonl"], capture_output=True, text=True, check=True)
    assert re.search(r"<- Products 1 +(\?|>)", top.stdout), top.stdout
    assert re.search(r"-> Products 1 .* <\d+(\.\d+)? ms +285 ms +300 ms", top.stdout), top.stdout
    report = subprocess.run([harness.ROOT / "python" / "vampire-report", folder, "-o", folder / "report.html"], capture_output=True,
                            text=True, check=False)
    assert report.returncode == 0, report.stderr
    text = (folder / "report.html").read_text().replace("&lt;", "<")
    assert re.search(r"< \d+(\.\d+)? ms", text)
    plain = subprocess.run([harness.ROOT / "python" / "vampire-report", "--text", folder], capture_output=True, text=True, check=True)
    assert not re.search(r"(?<![\d.,<≥])\b0 (ns|ms|s)\b|\b0\.0 % of a rank", plain.stdout), plain.stdout


def test_the_package_gives_no_false_zero(run):
    folder, _ = run
    path = str(folder)
    assert math.isnan(float(ask(folder, f"vampire.quantile({path!r}, 'transport_ns', 0.5)")))
    assert 280 * MS < float(ask(folder, f"vampire.quantile({path!r}, 'transport_ns', 1.0)")) < 330 * MS
    total = f"vampire.table({path!r}, 'transport_ns', freq=None, by=())"
    resolution = float(ask(folder, f"vampire.resolution({path!r})"))
    assert ask(folder, f"{total}[['sum', 'min']].isna().all(axis=None)") == "True"
    assert ask(folder, f"{total}[['count', 'sum_low', 'sum_high', 'min_high', 'max']].astype(int).values.tolist()") == \
        str([[21, 300 * MS, int(300 * MS + 20 * resolution), int(resolution), 300 * MS]])
    assert ask(folder, f"vampire.wait_table({path!r}, 'demand_wait_ns').p50.isna().all()") == "True"


def test_numbers_are_those_of_the_page(run):
    """By the oracle's own computation."""
    folder, _ = run
    found = compare.differences_of_run([folder / "in.rec"], sorted(folder.glob("*.h5")), [folder / "out.jsonl"])
    assert not found, "\n".join(found[:20])
    rule, (_, items) = arrivals.Arrivals(), stream.read(folder / "in.rec")
    lines = jsonl.records(folder / "out.jsonl")
    values = [line for line in lines if line.get("metric") == "transport_ns"]
    assert sum(line["count"] for line in values) == 21 and sum(line["sum"] for line in values) == 300 * MS
    assert rule.waited(stream.time_of(items[1])) == 10 * MS  # there was no mark


def test_what_cannot_be_seen_is_not_called_absent(tmp_path):
    """A Maestro that reports neither losses, nor failed transports, nor why a component left."""
    unknown = sum(1 << bit for bit in (0, 6, 9, 11))
    stream.write(tmp_path / "in.rec", made_up(), unknown=unknown)
    (tmp_path / "vampire.json").write_text(harness.config_text({
        "source": {"type": "replay", "file": "in.rec"}, "statistics": {"bucket": "1s", "sets": "all"},
        "outputs": [{"type": "hdf5"}, {"type": "jsonl", "path": "out.jsonl"}]}))
    subprocess.run([harness.program("vampire"), "-q", "-c", "vampire.json"], cwd=tmp_path, check=True)
    top = subprocess.run([harness.program("vampire-top"), "--plain", tmp_path / "out.jsonl"], capture_output=True, text=True, check=True)
    assert "vanished" not in top.stdout and "Products 1 (left)" in top.stdout, top.stdout
    report = subprocess.run([harness.ROOT / "python" / "vampire-report", "--text", tmp_path], capture_output=True, text=True, check=True)
    found = " ".join(report.stdout.split())
    not_found, could_not = (re.search(rf"{words}: (.*?)\. ", found)[1] for words in ("Looked for and not found", "Could not be looked for"))
    for what in ("components that vanished", "lost events", "failed transports"):
        assert what not in not_found and what in could_not, found
