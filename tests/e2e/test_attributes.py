# SPDX-License-Identifier: BSD-3-Clause
"""Which parameter is slow, and who waits for it: labels from the names of CDOs, in outputs and readers."""

import json
import re
import signal
import subprocess
import sys

import pytest

import exporters
import harness
import jsonl
import nats_reader
from otlp_receiver import Receiver
from test_collect import Collector, run_config

sys.path.insert(0, str(harness.ROOT / "tests" / "oracle"))
import stream
import streams

pytest.importorskip("pandas")
import vampire

STEPS, LEVELS = 20, ("500", "850")
MOVING_MS = {"t": 1, "q": 40, "u": 2}  # what a transport of each parameter takes
TAKER = {"t": "Archive", "q": "PGEN", "u": "Archive"}


def forecast():
    """A model offers fields; those of parameter q move slowly, and PGEN alone waits for them."""
    apps = {"IFS -- 0": 1, "PGEN": 2, "Archive": 3}
    hand = streams.Hand()
    for name, app in apps.items():
        hand.join(0, app, name)
    for step in range(STEPS):
        for at, (param, level) in enumerate((param, level) for param in MOVING_MS for level in LEVELS):
            begin, number = 10 + 200 * step + at, 100 * step + at
            name = f"class:rd,levelist:{level},param:{param},step:{step}".encode()
            cdo, taker = f"{step}-{at}", apps[TAKER[param]]
            hand("declare", begin, 1, cdo, name=name)("seal", begin + 0.1, 1, cdo, name=name, size=1000)(
                "offer", begin + 0.2, 1, cdo, name=name)("demand", begin + 1, taker, cdo, name=name)(
                "transport_init", begin + 2, taker, cdo, peer=1, number=number, name=name)(
                "transport_completed", begin + 2 + MOVING_MS[param], taker, cdo, number=number, name=name)
    return sorted(hand.items, key=lambda item: item.time_ns)


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory):
    place = tmp_path_factory.mktemp("forecast")
    stream.write(place / "forecast.rec", forecast())
    slow = {"name": "slow", "metric": "transport_ns", "quantile": 0.5, "labels": ["param=*"], "when": "> 20ms",
            "without": ["source", "sink", "size_class", "tier", "levelist"]}
    config = {"statistics": {"attributes": ["param", "levelist"]}, "alarms": [slow],
              "outputs": [{"type": "hdf5", "directory": str(place)},
                          {"type": "jsonl", "path": str(place / "q.jsonl"), "by": ["component", "param"], "series": ["param=q"]}]}
    (place / "config.json").write_text(harness.config_text(config))
    done = subprocess.run([harness.program("vampire"), "-c", place / "config.json", "--replay", place / "forecast.rec"],
                          check=True, capture_output=True, text=True, timeout=60 * harness.PATIENCE)
    return place, done.stdout + done.stderr


def test_one_call_says_which_parameter_is_slow(run):
    times = vampire.quantile(str(run[0]), "transport_ns", 0.5, by=["param"])
    assert set(times.index) == set(MOVING_MS) and times.idxmax() == "q", times
    for param, ms in MOVING_MS.items():
        assert times[param] == pytest.approx(ms * 1e6, rel=1 / 16)


def test_one_call_says_who_waits_for_it(run):
    waits = vampire.table(str(run[0]), "demand_wait_ns", by=["component", "param"], freq=None)
    waited = {(one["component"], one["param"]): (one["count"], one["sum"]) for one in waits.to_dict("records")}
    fields = STEPS * len(LEVELS)
    assert waited == {(TAKER[param], param): (fields, fields * (ms + 1) * 10**6) for param, ms in MOVING_MS.items()}


def test_a_value_can_be_asked_for(run):
    moved = vampire.merge(str(run[0]), "transports", by=["levelist"], where={"param": ["t", "u"]})
    assert {level: count for level, count in moved.items() if count} == dict.fromkeys(LEVELS, 2 * STEPS)
    with pytest.raises(vampire.Error, match="nope"):
        vampire.merge(str(run[0]), "transports", where={"param": "nope"})


def test_json_lines_have_the_labels_that_are_asked_for(run):
    lines = jsonl.records(run[0] / "q.jsonl")
    waits = [line for line in lines if line.get("metric") == "demand_wait_ns"]
    assert {tuple(line["labels"].values()) for line in waits} == {("PGEN", "q")}
    assert sum(line["count"] for line in waits) == STEPS * len(LEVELS)


def test_an_alarm_follows_each_parameter(run):
    assert re.findall(r'alarm "slow" \(warning\) firing: transport_ns \{(.*?)\}', run[1]) == ["param=q"]


def test_other_outputs_have_them_too(space):
    influx, nats, otlp = exporters.influxdb(space), nats_reader.Server(space), Receiver()
    reader = nats_reader.Reader(nats)
    port = exporters.free_port()
    made = {"workflow": "synthetic", "source": {"type": "synthetic", "steps": 3}, "statistics": {"bucket": "1min", "attributes": ["param"]},
            "outputs": [{"type": "prometheus", "listen": f"tcp:{port}", "linger": "60s"}, {"type": "otlp", "endpoint": otlp.url},
                        {"type": "influx", "url": influx.url, "labels": "all", "metrics": ["produced_bytes"]},
                        {"type": "nats", "servers": [nats.address]}]}
    process = space.vampire(made, ready=False)
    wanted = {"130", "131"}  # one for each of its two producers
    on_page = re.compile(r'^vampire_produced_bytes_total\{.*\bparam="(\w+)"', re.MULTILINE)
    harness.wait_until(lambda: wanted <= set(on_page.findall(exporters.fetch(f"http://127.0.0.1:{port}/metrics")[2])), "the page has them")
    harness.wait_until(lambda: exporters.influx_query(influx, "SHOW SERIES"), "InfluxDB has points")
    values = exporters.fetch(f"{influx.url}/query?db=vampire&q=SHOW+TAG+VALUES+FROM+produced_bytes+WITH+KEY+=+%22param%22")[2]
    assert wanted <= {value for _, value in json.loads(values)["results"][0]["series"][0]["values"]}
    harness.wait_until(lambda: wanted <= {dict(labels).get("param") for _, labels in list(otlp.store.series)}, "the receiver has them")
    rows = nats_reader.Totals(reader.until_ended()).counters["produced_bytes"]
    assert wanted <= {dict(labels)["param"] for labels in rows}
    process.signal(signal.SIGTERM)
    process.wait()


def test_a_collected_view_has_those_that_it_names(space):
    server = nats_reader.Server(space)
    collector = Collector(space, server, attributes=["param"])
    config = run_config(server, "alpha")
    config["statistics"]["attributes"] = ["levelist", "param"]
    space.vampire(config, name="alpha", ready=False).expect_exit(0)
    collector.until("messages", 4)  # three buckets and the end
    flat = collector.stop()
    (own,) = space.path.glob("vampire-alpha-*.h5")
    moved = [vampire.merge(str(path), "transport_bytes", by=["param"]) for path in (own, flat)]
    moved = [{param: value for param, value in one.items() if value} for one in moved]
    assert moved[0] == moved[1] and set(moved[0]) == {"130", "131"}
