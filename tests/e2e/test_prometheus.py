# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of type "prometheus": the page, and real servers that scrape it."""

import decimal
import gzip
import itertools
import json
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import pytest

import harness
import exporters
from vampire import quantile as quantile_of
import stream
import streams
from test_influx import eventually
from test_workflow import model_options


def live_config(page):
    made = harness.vampire_config(bucket="200ms")
    made["statistics"]["sets"] = "all"
    made["outputs"].append({"type": "prometheus", "without": [], "budget": 1000000, **page})
    return made


def synthetic_config(page=None, bucket="200ms", **source):
    return {"workflow": "synthetic", "source": {"type": "synthetic", "speed": 1, "steps": 100000, **source},
            "statistics": {"bucket": bucket, "sets": "all"},
            "outputs": [{"type": "prometheus", "listen": "tcp:0", "without": [], **(page or {})}]}


def synthetic(space, page=None, name="vampire", **more):
    """A run that lasts until it is told to end, and the address of its page."""
    process = space.vampire(synthetic_config(page, **more), ready=False, name=name)
    return process, exporters.page_address(process)


def scraped_run(space, server_of):
    """A workflow's vampire, which lingers, a server that has scraped its end, and the totals."""
    port = exporters.free_port()
    server = server_of(space, [f"127.0.0.1:{port}"])
    space.pool_manager()
    vampire = space.vampire(live_config({"listen": f"tcp:{port}", "linger": "10min"}))
    harness.Workflow(space, model_options=model_options(20, 3, 2, 64, 65536, 20)).finish()
    harness.wait_until(lambda: server.value("vampire_run_ended") == 1, "the end is scraped")
    return vampire, server, totals_while_lingering(space)


def totals_while_lingering(space):
    """The file is completed meanwhile."""
    found = []

    def is_complete():
        try:
            found.append(exporters.Totals(space.hdf5()))
        except OSError:
            return False
        return True

    harness.wait_until(is_complete, "the file is complete")
    return found[0]


def series_of(server, name):
    return {exporters.own_labels(metric): value for metric, value in server.query(f'last_over_time({name}[10m])')}


def assert_same(name, series, shown):
    """Either also has series in which nothing was counted yet."""
    expected = {labels: exporters.in_base_unit(name, value) for labels, value in series.items()}
    assert not any(value for labels, value in shown.items() if labels not in expected), name
    assert {labels: shown.get(labels, 0) for labels in expected} == expected, name


@pytest.mark.plain
@pytest.mark.parametrize("server_of", [exporters.prometheus, exporters.victoria_metrics], ids=lambda made: made.__name__)
def test_a_server_has_the_totals_of_the_file(space, server_of):
    vampire, server, totals = scraped_run(space, server_of)
    eventually(assert_server_has, server, totals)
    assert len(totals.histograms) > 10 and len(totals.counters) > 15, "a run with everything in it"
    assert_queries(server, totals)
    if server_of is exporters.prometheus:  # others leave out what is not a number
        assert_dashboard(server, totals)
        assert_rules(server)
    vampire.stop()  # a signal ends lingering


def assert_server_has(server, totals):
    """VictoriaMetrics finds a new series a little later than a new point of one that it has."""
    catalogue = exporters.catalogue()
    for name, series in totals.counters.items():
        assert_same(name, series, series_of(server, catalogue[name]["prometheus"]))
    for name, series in totals.gauges.items():
        # A series without a value at the end may still be on the page.
        shown = series_of(server, catalogue[name]["prometheus"])
        assert_same(name, series, {labels: value for labels, value in shown.items() if labels in series})
    for name, series in totals.histograms.items():
        shown = catalogue[name]["prometheus"]
        assert series_of(server, shown + "_count") == {labels: float(value[0]) for labels, value in series.items()}
        assert series_of(server, shown + "_sum") == {
            labels: exporters.in_base_unit(name, value[1]) for labels, value in series.items()}, name
        assert_buckets(server, name, series)


def assert_dashboard(server, totals):
    """Every panel has an answer if there is something to be shown."""
    text = (harness.ROOT / "packaging" / "exporters" / "vampire-grafana.json").read_text(encoding="utf-8")
    seen = set()
    screen = json.loads(text)["panels"]
    inside = [panel for row in screen for panel in row.get("panels", [])]
    assert max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in screen if "targets" in panel) <= 21, "one screen"
    assert len({panel["id"] for panel in screen + inside}) == len(screen + inside)
    kinds = [panel["type"] for panel in screen if "targets" in panel]
    assert kinds.count("heatmap") == 2 and "bargauge" in kinds and "stat" in kinds, "who waits for whom, how long, of how much"
    for panel in screen + inside:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "10m").replace("$workflow", ".*").replace("$model", ".*")
            name = panel["description"].partition(":")[0]
            some = name in totals.histograms or any(
                any(series.get(name, {}).values()) for series in (totals.counters, totals.gauges))
            found = server.query(expression)
            assert found or not some, (name, expression)
            seen.add(name)
    assert seen == set(exporters.catalogue())


def assert_rules(server):
    """Each is a query that the server understands; in a run without trouble none fires but that of waits."""
    text = (harness.ROOT / "packaging" / "exporters" / "vampire-alerts.yml").read_text(encoding="utf-8")
    for rule in json.loads(text)["groups"][0]["rules"]:
        assert server.query(rule["expr"]) == [], rule


def assert_buckets(server, name, series):
    """Each cumulative count is what the file has up to that edge: `le` is the end of a bin."""
    shown = exporters.catalogue()[name]["prometheus"]
    found = 0
    for metric, value in server.query(f"last_over_time({shown}_bucket[10m])"):
        _, _, bins = series[exporters.own_labels(metric)]
        edge = float(metric["le"])
        assert value == sum(count for lower, count in bins.items() if exporters.in_base_unit(name, lower) <= edge), metric
        found += 1
    assert found >= 14 * len(series), name


def assert_queries(server, totals):
    """What an operator asks."""
    operations = sum(totals.counters["pool_operations"].values())
    assert server.value("sum(last_over_time(vampire_pool_operations_total[10m]))") == operations
    increase = server.value("sum(max_over_time(vampire_pool_operations_total[10m])"
                            " - min_over_time(vampire_pool_operations_total[10m]))")
    assert 0 < increase <= operations
    assert server.value("sum(rate(vampire_pool_operations_total[10m]))") > 0
    bins = {}
    for _, _, own in totals.histograms["demand_wait_ns"].values():
        for lower, count in own.items():
            bins[lower] = bins.get(lower, 0) + count
    for quantile in (0.5, 0.9, 0.99):
        value = server.value(f"histogram_quantile({quantile}, sum by (le)"
                             " (last_over_time(vampire_demand_wait_seconds_bucket[10m])))")
        rank, seen = quantile * sum(bins.values()), 0
        for lower in sorted(bins):
            seen += bins[lower]
            if seen >= rank:
                break
        # In the same doubling.
        assert lower / 2 / 1e9 <= value <= lower * 2 / 1e9, (quantile, lower, value)


def parse(text):
    """{line up to the value: value}."""
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def test_the_dashboard_is_that_of_the_metrics():
    subprocess.run([harness.ROOT / "packaging" / "exporters" / "make.py", "--check", harness.BUILD / "bin"], check=True)


@pytest.mark.plain
def test_prometheus_accepts_the_rules():
    subprocess.run(["promtool", "check", "rules", harness.ROOT / "packaging" / "exporters" / "vampire-alerts.yml"], check=True)


def scenario(series, minutes, labels, until=10):
    """Values each minute, of a run that goes on, and what the alert says after so many minutes."""
    running = {f'vampire_run_ended{{{WHO}}}': f"0x{until}", f'vampire_page_buckets_total{{{WHO}}}': f"1+6x{until}"}
    return {**running, **{f"{name[:-1]},{WHO}}}" if "{" in name else f"{name}{{{WHO}}}": values
                          for name, values in series.items()}}, minutes, labels


WHO = 'instance="n1:9955",workflow="forecast"'
# Alert: the series of a run in which it fires, when, and with which labels; before, it does not.
FIRING = {
    "VampireLosesEvents": scenario({'vampire_lost_total{reason="ring"}': "0 0 0 7x7"}, 4, {"reason": "ring"}),
    "VampireLosesBuckets": scenario({'vampire_lost_buckets_total{output="hdf5"}': "0 0 0 1x7"}, 4, {"output": "hdf5"}),
    "VampireRejectsEvents": scenario({"vampire_rejected_total": "0 0 0 1x7"}, 4, {}),
    "VampireIsLate": scenario({"vampire_lag_seconds": "0 0 61x8"}, 4, {}),
    # Born with its first anomaly, and one more later on.
    "WorkflowAnomalies": scenario({'vampire_anomalies_total{component="IFS",anomaly="transport_failed"}': "_ _ _ 1x7"}, 3,
                                  {"anomaly": "transport_failed"}),
    "WorkflowAnomalies of one that began with 0": scenario(
        {'vampire_anomalies_total{component="IFS",anomaly="transport_failed"}': "0 0 0 1x20"}, 10,
        {"anomaly": "transport_failed"}, until=12),
    # It waits and waits: no wait ends.
    "WorkflowWaitsForData": scenario({'vampire_demand_oldest_seconds{component="P 1"}': "_ _ 11+60x7"}, 3,
                                     {"component": "P 1"}),
    # Blocked for 30 % of the time, then for 60 %.
    "WorkflowBlockedLonger": scenario({'vampire_blocked_on_seconds_total{component="P 1",producer="IFS -- 7",part="for_offer"}':
                                       "0+18x20 396+36x20"}, 30, {"component": "P 1", "producer": "IFS -- 7"}, until=40),
    "WorkflowPoolManagerGone": scenario({"vampire_components_present": "4 4 4 0x7",
                                         "vampire_page_buckets_total": "1 7 13 19x7"}, 4, {}),
    "VampireIsDown": scenario({"vampire_run_ended": "0 0 0 stale"}, 4, {}, until=2),
}
# Alert: the series of a run in which it does not fire, and a late minute.
SILENT = {
    "WorkflowBlockedLonger": scenario({'vampire_blocked_on_seconds_total{component="P 1",producer="IFS -- 7",part="for_offer"}':
                                       "0+36x40"}, 30, {}, until=40),
}


@pytest.mark.plain
def test_each_rule_fires(space):
    """Not at the start of its scenario, but at its end, with the labels that name who it is about. In a run without what it is about,
    it does not fire."""
    path = harness.ROOT / "packaging" / "exporters" / "vampire-alerts.yml"
    rules = {rule["alert"]: rule for rule in json.loads(path.read_text(encoding="utf-8"))["groups"][0]["rules"]}
    assert set(rules) == {name.split()[0] for name in FIRING}, "each rule has a scenario"
    tests = []
    for title, (series, minutes, labels) in FIRING.items():
        name = title.split()[0]
        who = {"severity": rules[name]["labels"]["severity"], "instance": "n1:9955", "workflow": "forecast", **labels}
        firing = {"exp_labels": who}
        tests.append({"interval": "1m", "name": title,
                      "input_series": [{"series": key, "values": values} for key, values in series.items()],
                      "alert_rule_test": [{"eval_time": "1m", "alertname": name, "exp_alerts": []},
                                          {"eval_time": f"{minutes}m", "alertname": name, "exp_alerts": [firing]}]})
    for name, (series, minutes, _) in SILENT.items():
        tests.append({"interval": "1m", "name": f"{name} does not fire",
                      "input_series": [{"series": key, "values": values} for key, values in series.items()],
                      "alert_rule_test": [{"eval_time": f"{minutes}m", "alertname": name, "exp_alerts": []}]})
    for rule in rules.values():
        rule["annotations"] = {}  # what is shown is not compared
    (space.path / "rules.yml").write_text(json.dumps({"groups": [{"name": "vampire", "rules": list(rules.values())}]}))
    (space.path / "test.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "evaluation_interval": "1m",
                                                     "tests": tests}), encoding="utf-8")
    done = subprocess.run(["promtool", "test", "rules", "test.yml"], cwd=space.path, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def lossy(space, port):
    """A recording of which a replay at its own speed loses events and refuses one."""
    hand = streams.Hand().join(0, 1, "IFS -- 0")
    for number in range(1, 600):
        hand("declare", 100 * number, 1, f"n{number}")
        if number == 20:
            hand.mark(30, 2000, 5, 2).mark(31, 2000)
    stream.write(space.path / "lossy.rec", hand.items)
    made = synthetic_config({"listen": f"tcp:{port}"})
    made["statistics"]["lateness"] = "0s"
    made.update(workflow="lossy", source={"type": "replay", "file": str(space.path / "lossy.rec"), "speed": 1})
    return made


@pytest.mark.plain
def test_rules_fire_in_a_real_server(space):
    """Each of them, as shipped, but for how long it has to last: a component that waits for what nobody offers, an output
    without a server, a vampire that is stopped and late, the first anomaly, a pool manager that is killed, and what a replay
    lost and refused. The first anomaly, leave and joins are increases."""
    made = json.loads((harness.ROOT / "packaging" / "exporters" / "vampire-alerts.yml").read_text(encoding="utf-8"))
    for group in made["groups"]:
        group["interval"] = "500ms"
        for rule in group["rules"]:
            rule.update({"for": "0s", "expr": re.sub(r"> [36]0", "> 1", rule["expr"]).replace("[1m]", "[1s]")})
    (space.path / "rules.yml").write_text(json.dumps(made), encoding="utf-8")
    ports = [exporters.free_port(), exporters.free_port()]

    def firing():
        return {(labels["alertname"], next((labels[name] for name in ("component", "anomaly", "reason", "output") if name in labels),
                                           None))
                for labels, _ in server.query('ALERTS{alertstate="firing"}')}

    def until(what, *alert):
        harness.wait_until(lambda: alert in firing(), what)

    manager = space.pool_manager()
    made = live_config({"listen": f"tcp:{ports[0]}"})
    made["outputs"].append({"type": "otlp", "endpoint": f"http://127.0.0.1:{exporters.free_port()}/v1/metrics", "queue": 1})
    vampire = space.vampire(made)
    steps = [harness.program("workflow_steps")]
    waiting = space.start([*steps, "Products 1", "declare fields/1", "require fields/1", "demand fields/1"], "waiting")
    server = exporters.prometheus(space, [f"127.0.0.1:{port}" for port in ports], rules="rules.yml")
    until("the wait is noticed", "WorkflowWaitsForData", "Products 1")
    until("lost buckets are noticed", "VampireLosesBuckets", "otlp")
    assert waiting.running() and {name for name, _ in firing()} == {"WorkflowWaitsForData", "VampireLosesBuckets"}
    space.vampire(lossy(space, ports[1]), ready=False, name="lossy")
    dying = space.start([*steps, "IFS -- 0", "declare fields/2", "size fields/2 1000", "offer fields/2",
                         f"await {space.path / 'never'}"], "dying")
    none = 'vampire_anomalies_total{component="IFS -- 0",anomaly="not_withdrawn_at_leave"} == 0'
    harness.wait_until(lambda: server.query(none), "there is no anomaly yet")
    vampire.signal(signal.SIGSTOP)
    dying.signal(signal.SIGKILL)
    stopped = time.monotonic()
    until("vampire does not answer", "VampireIsDown", None)
    harness.wait_until(lambda: time.monotonic() > stopped + 1.5, "events wait for more than a second")
    vampire.signal(signal.SIGCONT)
    until("what it had to count was old", "VampireIsLate", None)
    until("the first anomaly is noticed", "WorkflowAnomalies", "not_withdrawn_at_leave")
    for what in ('increase(vampire_anomalies_total{component="IFS -- 0"}[1m])',
                 'increase(vampire_pool_operations_total{component="IFS -- 0",operation="leave"}[1m])',
                 'increase(sum(vampire_pool_operations_total{operation="join"})[1m:500ms])'):
        assert server.query(f"{what} > 0"), what
    assert {"WorkflowPoolManagerGone", "VampireIsDown"}.isdisjoint(name for name, _ in firing())
    manager.signal(signal.SIGKILL)
    until("the pool manager is missed", "WorkflowPoolManagerGone", None)
    until("lost events are noticed", "VampireLosesEvents", "recording")
    until("refused events are noticed", "VampireRejectsEvents", None)


@pytest.mark.plain
def test_the_recipe_is_right(space):
    for name, text in exporters.recipes().items():
        (space.path / name).write_text(text, encoding="utf-8")
    for name in ("configuration", "otlp", "influx", "syslog", "nats"):
        subprocess.run([harness.program("vampire"), "--check-config", "-c", name], cwd=space.path, check=True)
    (space.path / "vampire-alerts.yml").write_bytes((harness.ROOT / "packaging" / "exporters" / "vampire-alerts.yml").read_bytes())
    subprocess.run(["promtool", "check", "config", "prometheus.yml"], cwd=space.path, check=True)


PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


@pytest.mark.plain
@pytest.mark.parametrize("accept, kind", [
    ("text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.1", "text/plain"),
    ("application/openmetrics-text;q=0", "text/plain"),
    ("application/openmetrics-text; Q=0.000, */*", "text/plain"),
    (f"{PROTOBUF};q=0, application/openmetrics-text;version=1.0.0", "application/openmetrics-text"),
    (f"application/openmetrics-text;q=0.6,{PROTOBUF};q=0.5,*/*;q=0.2", "application/openmetrics-text"),
    (f"{PROTOBUF};q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
     "application/vnd.google.protobuf"),
    ("application/openmetrics-text-2, Text/Plain", "text/plain"),
    ("*/*", "text/plain"), ("image/png", "text/plain"), (",;,q=1,;q", "text/plain"),
])
def test_the_form_is_the_one_with_the_greatest_weight(space, accept, kind):
    """As in RFC 9110; and the same for compression."""
    _, address = synthetic(space, {})
    url = f"http://{address}/metrics"
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept})) as answer:
        assert answer.headers["Content-Type"].partition(";")[0] == kind
    for encodings, packed in {"gzip;q=0": None, "gzip;q=0.5": "gzip", "*": "gzip", "*, gzip;q=0": None, "xgzip": None, "br, GZIP": "gzip",
                              "identity": None}.items():
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept-Encoding": encodings})) as answer:
            assert answer.headers["Content-Encoding"] == packed, encodings


@pytest.mark.plain
def test_the_page_in_both_formats(space):
    vampire, address = synthetic(space, {"labels": ["workflow", "run", "host", "pid", "user", "batch_job"]})
    url = f"http://{address}/metrics"
    harness.wait_until(lambda: "vampire_demand_wait_seconds_count" in exporters.fetch(url)[2], "values on the page")
    status, headers, text = exporters.fetch(url)
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    assert "# EOF" not in text and "# TYPE vampire_pool_operations_total counter" in text
    status, headers, text = exporters.fetch(url, {"Accept": "application/openmetrics-text; version=1.0.0"})
    assert headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert text.endswith("\n# EOF\n") and "# TYPE vampire_pool_operations counter" in text
    assert "# UNIT vampire_demand_wait_seconds seconds" in text
    run = f'pid="{vampire.child.pid}"'
    assert all(run in line for line in parse(text.replace("# EOF\n", "")))
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})) as answer:
        packed = answer.read()
        assert answer.headers["Content-Encoding"] == "gzip" and len(packed) * 5 < len(gzip.decompress(packed))
        assert "vampire_pool_operations_total" in gzip.decompress(packed).decode()
    assert exporters.fetch(url, method="HEAD")[0] == 200
    assert exporters.fetch(url, method="POST", data=b"x")[0] == 405
    assert exporters.fetch(f"http://{address}/nothing")[0] == 404
    assert exporters.fetch(f"http://{address}/")[0] == 200
    assert address.startswith("127.0.0.1:"), "only this machine"
    vampire.stop()


@pytest.mark.plain
def test_a_run_without_the_output_maps_nothing_of_it(space):
    """Nor of another plug-in, nor libcurl, which Debian's shared HDF5 would load."""
    page = ("libmicrohttpd", "prometheus.so")

    def mapped(process):
        maps = pathlib.Path(f"/proc/{process.child.pid}/maps").read_text()
        return [name for name in page if name in maps]

    with_it, _ = synthetic(space, name="with")
    assert mapped(with_it) == list(page)
    without = space.vampire({**synthetic_config(), "outputs": [{"type": "hdf5"}]}, name="without")
    page += ("influx.so", "otlp.so", "libcurl", "libnats", "nats.so", "libotf2", "otf2.so")
    assert mapped(without) == []
    for process in (with_it, without):
        process.stop()


@pytest.mark.plain
def test_a_plug_in_that_is_not_installed(space, tmp_path):
    binary = tmp_path / "bin" / "vampire"
    binary.parent.mkdir()
    binary.write_bytes(pathlib.Path(harness.program("vampire")).read_bytes())
    binary.chmod(0o755)
    path = space.path / "vampire.json"
    path.write_text('{"source": {"type": "synthetic"}, "outputs": [{"type": "prometheus"}]}')
    for options in (["--check-config"], []):
        done = subprocess.run([binary, *options, "-c", path], capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr
        for words in ("outputs", 'type "prometheus"', "prometheus.so", "vampire-prometheus",
                      "sh tests/install_packages.sh libmicrohttpd-dev && make"):
            assert words in done.stderr, done.stderr
    path.write_text('{"source": {"type": "synthetic"}, "outputs": [{"type": "null"}]}')
    subprocess.run([binary, "-q", "-c", path], check=True)


def connect(address, text=b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
    host, port = address.split(":")
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    reader.connect((host, int(port)))
    reader.sendall(text)
    return reader


@pytest.mark.plain
def test_scrapers_that_do_not_read_delay_nothing(space):
    vampire, address = synthetic(space, {"bounds": 8}, speed=20, bucket="4s", producers=8)
    url = f"http://{address}/metrics"
    harness.wait_until(lambda: len(exporters.fetch(url)[2]) > 200_000, "a long page")
    readers = [connect(address) for _ in range(8)] + [connect(address, b"GET /met") for _ in range(8)]
    key = 'vampire_page_buckets_total{workflow="synthetic"}'
    before = int(parse(exporters.fetch(url)[2])[key])
    harness.wait_until(lambda: int(parse(exporters.fetch(url)[2])[key]) > before + 10, "buckets go on")
    vampire.stop()
    for reader in readers:
        reader.close()
    assert "LOST" not in vampire.stderr


class Drips(threading.Thread):
    """Connections that send a byte of a request at a time, and come again when they are ended."""

    def __init__(self, address, count):
        super().__init__(daemon=True)
        self.address, self.peers = address, [connect(address, b"GET /") for _ in range(count)]
        self.ended, self.ending = 0, threading.Event()
        self.start()

    def run(self):
        while not self.ending.wait(0.2):
            for i, peer in enumerate(self.peers):
                try:
                    peer.sendall(b"m")
                except OSError:
                    self.ended += 1
                    peer.close()
                    self.peers[i] = connect(self.address, b"GET /")


@pytest.mark.plain
def test_connections_that_ask_for_nothing_keep_nobody_out(space):
    vampire, address = synthetic(space)
    silent = connect(address, b"")
    drips = Drips(address, 64)
    asked = []

    def is_over():
        status, _, _ = exporters.fetch(f"http://{address}/metrics")
        asked.append(status)
        return drips.ended > 200
    harness.wait_until(is_over, "the others came and went")
    # One whose request is later than two dozen newcomers counts as one that does not ask: the next one is answered.
    assert set(asked) <= {200, 0} and (0, 0) not in itertools.pairwise(asked) and asked.count(200) > 3, asked
    drips.ending.set()
    drips.join()
    for peer in (silent, *drips.peers):
        peer.settimeout(60)
        try:
            assert peer.recv(1) == b""
        except ConnectionResetError:
            pass
    vampire.stop()


def sums_of(page):
    """{name: sum over its series}, of a page's text; buckets of histograms are lines of their own."""
    sums = {}
    for line, value in parse(page.replace("# EOF\n", "")).items():
        name = line.partition("{")[0]
        sums[name] = sums.get(name, 0) + decimal.Decimal(value)
    return sums


def assert_sums(sums, totals):
    """Of everything that adds, the page has what the file has, however its labels are merged."""
    catalogue = exporters.catalogue()

    def assert_sum(name, suffix, values):
        expected = decimal.Decimal(sum(values)).scaleb(-catalogue[name]["decimals"] if suffix != "_count" else 0)
        assert sums.get(catalogue[name]["prometheus"] + suffix, 0) == expected, name

    for name, series in totals.counters.items():
        assert_sum(name, "", series.values())
    for name, series in totals.histograms.items():
        assert_sum(name, "_count", [value[0] for value in series.values()])
        assert_sum(name, "_sum", [value[1] for value in series.values()])
    for name in ("demands_pending", "transports_pending"):
        assert_sum(name, "", totals.gauges[name].values())


def lingering(space, made, page, **source):
    """A run whose page stays after its end, and the address of the page."""
    config = {"source": {"type": "synthetic", **source}, "statistics": {"bucket": "1s", **made},
              "outputs": [{"type": "hdf5"}, {"type": "prometheus", "listen": "tcp:0", "linger": "10min", **page}]}
    vampire = space.vampire(config, ready=False)
    address = exporters.page_address(vampire)
    return vampire, f"http://{address}/metrics"


def ended_page(url):
    pages = []

    def is_over():
        pages.append(exporters.fetch(url, {"Accept": "application/openmetrics-text"})[2])
        return re.search(r"^vampire_run_ended.* 1$", pages[-1], re.MULTILINE)

    harness.wait_until(is_over, "the run is over")
    return pages


@pytest.mark.plain
@pytest.mark.parametrize("producers, consumers, merged", [(3, 1, 0), (40, 20, 1), (300, 200, 1)])
def test_a_page_within_its_budget_has_all_of_the_file(space, producers, consumers, merged):
    vampire, url = lingering(space, {}, {}, producers=producers, consumers=consumers, steps=20, burst=4,
                             fan_out=min(3, consumers))
    text = ended_page(url)[-1]
    assert len(parse(text.replace("# EOF\n", ""))) <= 15000
    assert len(text) < 2_000_000
    assert ("vampire_page_merged{" in text) == bool(merged)
    server = exporters.prometheus(space, [url.split("/")[2]])
    harness.wait_until(lambda: server.value("vampire_run_ended") == 1, "the end is scraped")
    taken = {labels["__name__"]: value for labels, value in server.query('sum by (__name__) ({__name__=~"vampire_.+"})')}
    assert taken == {name: pytest.approx(float(value), rel=1e-12) for name, value in sums_of(text).items() if name in taken}
    assert len(taken) > 50
    harness.wait_until(lambda: server.value("min_over_time(scrape_duration_seconds[10m])") < 0.2, "a scrape takes less than 0.2 s")
    vampire.stop()
    totals = exporters.Totals(space.hdf5())
    assert_sums(sums_of(text), totals)
    assert ("budget of 15000 lines is full" in vampire.stderr) == bool(merged)


@pytest.mark.plain
def test_native_histograms(space):
    """A Prometheus that wants them has the same counts and sums from one sample a series, and finer quantiles."""
    _, url = lingering(space, {"sets": "all"}, {}, producers=3, consumers=2, steps=20, burst=4)
    text = ended_page(url)[-1]
    sums = sums_of(text)
    server = exporters.prometheus(space, [url.split("/")[2]], "--enable-feature=native-histograms")
    harness.wait_until(lambda: server.value("vampire_run_ended") == 1, "the end is scraped")
    named = {labels["__name__"] for labels, _ in server.query('count by (__name__) ({__name__=~"vampire_.+"})')}
    histograms = {name.removesuffix("_count") for name in sums if name.endswith("_count")}
    single = {name for name in sums if not any(name.startswith(f"{histogram}_") for histogram in histograms)} - {"vampire_run_info"}
    assert len(histograms) > 10 and len(single) > 30 and histograms <= named
    for name in single:
        assert server.value(f"sum({name})") == pytest.approx(float(sums[name]), rel=1e-12), name
    for name in histograms:
        assert server.value(f"sum(histogram_count({name}))") == sums[f"{name}_count"], name
        assert server.value(f"sum(histogram_sum({name}))") == pytest.approx(float(sums[f"{name}_sum"]), rel=1e-12), name
    totals_while_lingering(space)
    for quantile in (0.1, 0.5, 0.99):
        ours = quantile_of(str(space.hdf5()), "transport_ns", quantile) / 1e9
        theirs = server.value(f"histogram_quantile({quantile}, sum(vampire_transport_seconds))")
        assert 2 ** -0.25 < theirs / ours < 2 ** 0.25, quantile


@pytest.mark.plain
def test_a_family_that_outgrows_the_budget_is_merged_at_once(space):
    """A hundred components of as many models that join within minutes: whatever page is fetched, counts of a metric that
    is merged and of one that is not agree, no series is less than before, and none disappears."""
    vampire, url = lingering(space, {"models": ["(*) -- *"]}, {"budget": 6000}, producers=60, consumers=20, steps=150, burst=2, fan_out=2,
                             speed=40)
    pages = ended_page(url)
    before = {}
    for text in pages:
        now, sums = parse(text.replace("# EOF\n", "")), sums_of(text)
        assert len(now) <= 6000 + 50, "those of the page itself and of what was merged"
        assert sums.get("vampire_transport_seconds_count", 0) == sums.get("vampire_transports_total", 0)
        counters = {line: decimal.Decimal(value) for line, value in now.items()
                    if re.match(r"vampire_\w+(_total|_count|_bucket)\{", line)}
        for line, value in before.items():
            assert counters[line] >= value, line
        before = counters
    assert "(model " in pages[-1] and "_created{" in pages[-1], "published series, and those that took over"
    vampire.stop()
    assert_sums(sums_of(pages[-1]), exporters.Totals(space.hdf5()))


@pytest.mark.plain
def test_increases_go_on_across_a_merge(space):
    """Of a workflow that grows, in a real server: what is published stays, series that take over begin without it, and all
    increases together are that of the sum but for the server's extrapolation."""
    port = exporters.free_port()
    server = exporters.prometheus(space, [f"127.0.0.1:{port}"])
    harness.wait_until(lambda: server.value("up") == 0, "the server looks for the page")
    hand = streams.Hand()
    for app in range(100):
        hand.join(0 if app < 10 else 1000 * (90 + app), app, f"Products {app}" if app < 4 else f"Model -- {app}")
        for number in range(0 if app < 10 else 90 + app, 240) if app >= 4 else ():
            hand.life(1000 * number + 100 + app, f"{app}.{number}", maker=app, taker=(app + number) % 4)
    hand.items.sort(key=lambda item: item.time_ns)
    stream.write(space.path / "growing.rec", hand.items)
    vampire, url = lingering(space, {}, {"budget": 8000, "listen": f"tcp:{port}"}, type="replay", speed=40,
                             file=str(space.path / "growing.rec"))
    ended_page(url)
    harness.wait_until(lambda: server.value("vampire_run_ended") == 1, "the end is scraped")
    for name in ("vampire_transports_total", "vampire_transport_seconds_count"):
        _, _, text = exporters.fetch(f"{server.url}/api/v1/query?" + urllib.parse.urlencode({"query": f"{name}[5m]"}))
        series = [(one["metric"], {float(at): float(value) for at, value in one["values"]}) for one in json.loads(text)["data"]["result"]]
        sums = {at: sum(values.get(at, 0) for _, values in series) for at in sorted({at for _, values in series for at in values})}
        coarse = [values for labels, values in series if labels["source"].startswith("(model ")]
        times, end = list(sums), max(sums)
        begin = times[times.index(min(min(values) for values in coarse)) - 1]  # the last scrape before the merge
        assert sum(values[min(values)] for values in coarse) == 0, "what is new counts as (other) until they take over"
        assert all(end in values for _, values in series) and sum(values[end] for values in coarse) > sums[end] / 2 > sums[begin] > 0
        shown = server.value(f"sum(increase({name}[{round(1000 * (end - begin)) + 100}ms] @ {end}))")
        assert shown == pytest.approx(sums[end] - sums[begin], rel=0.15), name
        assert sums[end] == 6 * 240 + sum(150 - app for app in range(10, 100))
    vampire.stop()


@pytest.mark.plain
def test_a_budget_is_told_in_advance(space):
    path = space.path / "told.json"
    path.write_text('{"outputs": [{"type": "hdf5"}, {"type": "prometheus"}]}')
    done = subprocess.run([harness.program("vampire"), "--check-config", path], capture_output=True, text=True, check=True)
    assert "hdf5" not in done.stdout
    told = re.search(r"output prometheus: about (\d+) lines with 4, (\d+) lines with 60, (\d+) lines with 500", done.stdout)
    few, some, many = map(int, told.groups())
    assert few < 3000 and 50_000 < some < 200_000 and many > some, done.stdout
    assert "more than the budget of 15000, pairs of components become pairs of models" in done.stdout


@pytest.mark.plain
def test_a_budget_that_is_too_small(space):
    vampire = space.vampire(synthetic_config({"budget": 100}), ready=False)
    assert vampire.wait(20) not in (0, 99)
    told = re.search(r'"budget" of 100 lines is too small: its metrics are (\d+) without any label', vampire.stderr)
    chosen = space.vampire(synthetic_config({"budget": 100, "series": ["component=*0"]}), ready=False, name="chosen")
    assert chosen.wait(20) not in (0, 99)
    more = int(re.search(r"its metrics are (\d+) without", chosen.stderr)[1]) - int(told[1])
    assert 50 < more < 100, "a line for each metric says what is not in the output"


@pytest.mark.plain
def test_a_reload_keeps_the_address(space):
    vampire, address = synthetic(space)
    url = f"http://{address}/metrics"
    made = synthetic_config({"listen": f"tcp:{address}", "bounds": 4})
    path = space.path / "vampire.json"
    for number in (1, 2):
        path.write_text(json.dumps(made))
        vampire.signal(signal.SIGHUP)
        vampire.until_stderr(f"was read again (number {number})")
        harness.wait_until(lambda: exporters.fetch(url)[0] == 200, "the page is there again")
        made["outputs"][0]["bounds"] = 2
    vampire.stop()


@pytest.mark.plain
def test_an_address_in_use(space):
    vampire, address = synthetic(space)
    second = space.vampire(synthetic_config({"listen": f"tcp:{address}"}), ready=False, name="second")
    assert second.wait(20) not in (0, 99)
    assert address in second.stderr and "another process listens there" in second.stderr
    vampire.stop()


@pytest.mark.parametrize("listen", ["9955", "unix:page", "tcp:nowhere:1", "tcp:99999", ""])
def test_what_is_no_address(space, listen):
    path = space.path / "vampire.json"
    path.write_text('{"outputs": [{"type": "prometheus", "listen": "%s"}]}' % listen)
    done = subprocess.run([harness.program("vampire"), "--check-config", "-c", path], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and "tcp:" in done.stderr and re.search(r"outputs.*listen", done.stderr), done.stderr
