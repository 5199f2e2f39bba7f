# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of type "influx": real servers, and servers that fail in every way."""

import http.server
import json
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

import harness
import exporters
import results
from test_workflow import model_options


def influx_config(url, source=None, bucket="200ms", finish="20s", **more):
    made = {**harness.vampire_config(bucket=bucket), "finish": finish}
    made["source"] = source or made["source"]
    made["statistics"]["sets"] = "all"
    made["outputs"].append({"type": "influx", "url": url, "without": [], **more})
    return made


def live_run(space, url):
    space.pool_manager()
    vampire = space.vampire(influx_config(url))
    return vampire, model_options(6, 3, 2, 64, 65536, 20)


def nonzero(series):
    return {labels: value for labels, value in series.items() if value}


@pytest.mark.plain
def test_a_value_that_does_not_exist_is_no_field(space):
    """The age of the oldest pending demand where no demand is pending."""
    server = exporters.influxdb(space)
    vampire = space.vampire(synthetic_config(server.url), ready=False)
    vampire.expect_exit(0)
    totals = exporters.Totals(space.hdf5())
    ages = [name for name in exporters.catalogue() if name.endswith("_oldest_ns")]
    assert len(ages) == 3
    for name in ages:
        assert totals.gauges.get(name, {}) == {}, "no age at the end of the run"
        found = exporters.influx_query(server, f'SELECT min(value), min("min"), min("max") FROM "{name}" GROUP BY *')
        assert all(value is None or value >= 0 for row in found.values() for value in row), name


def assert_influx_sums(server, totals):
    for name, series in totals.counters.items():
        found = exporters.influx_query(server, f'SELECT sum(delta), last(value) FROM "{name}" GROUP BY *')
        assert {labels: row[0] for labels, row in found.items()} == nonzero(series), name
        assert {labels: row[1] for labels, row in found.items()} == nonzero(series), name
    for name, series in totals.histograms.items():
        found = exporters.influx_query(server, f'SELECT sum("count"), sum("sum") FROM "{name}" GROUP BY *')
        assert {labels: tuple(row) for labels, row in found.items()} == {
            labels: value[:2] for labels, value in series.items()}, name
    for name, series in totals.gauges.items():
        found = exporters.influx_query(server, f'SELECT last(value) FROM "{name}" GROUP BY *')
        assert nonzero({labels: row[0] for labels, row in found.items()}) == nonzero(series), name


@pytest.mark.plain
def test_influxdb_has_the_totals_of_the_file(space):
    server = exporters.influxdb(space)
    vampire, options = live_run(space, server.url)
    harness.Workflow(space, model_options=options).finish()
    vampire.expect_exit(0)
    assert_influx_sums(server, exporters.Totals(space.hdf5()))


@pytest.mark.plain
def test_two_runs_of_one_workflow_do_not_overwrite_each_other(space):
    """Same workflow, same times, same components: the database has the points of both."""
    server = exporters.influxdb(space)
    runs = [space.vampire(synthetic_config(server.url), ready=False) for _ in range(2)]
    for run in runs:
        run.expect_exit(0)
    total = sum(exporters.Totals(space.hdf5_files()[0]).counters["pool_operations"].values())
    (found,) = exporters.influx_query(server, "SELECT sum(delta) FROM pool_operations").values()
    assert found == [2 * total]


def assert_victoria_sums(server, totals):
    exporters.fetch(f"{server.url}/internal/force_flush")
    for name, series in totals.counters.items():
        found = server.query(f"sum_over_time({name}_delta[1h])")
        assert {exporters.own_labels(metric, ["db"]): value for metric, value in found} == nonzero(series), name
    for name, series in totals.histograms.items():
        for part, position in (("count", 0), ("sum", 1)):
            found = server.query(f"sum_over_time({name}_{part}[1h])")
            assert {exporters.own_labels(metric, ["db"]): value for metric, value in found} == {
                labels: float(value[position]) for labels, value in series.items()}, name


@pytest.mark.plain
def test_victoria_metrics_has_the_totals_of_the_file(space):
    server = exporters.victoria_metrics(space)
    vampire, options = live_run(space, server.url)
    harness.Workflow(space, model_options=options).finish()
    vampire.expect_exit(0)
    eventually(assert_victoria_sums, server, exporters.Totals(space.hdf5()))


def eventually(check, *arguments):
    """What arrives by UDP, or at VictoriaMetrics, is found a little later."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return check(*arguments)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)


@pytest.mark.plain
@pytest.mark.parametrize("start, assert_sums", [
    (exporters.influxdb, assert_influx_sums), (exporters.victoria_metrics, assert_victoria_sums)],
    ids=["influxdb", "victoria-metrics"])
def test_by_udp_a_server_has_the_totals_of_the_file(space, start, assert_sums):
    server = start(space)
    vampire, options = live_run(space, server.udp)
    harness.Workflow(space, model_options=options).finish()
    vampire.expect_exit(0)
    assert f"{server.udp} (sent; UDP confirms nothing)" in vampire.stderr
    eventually(assert_sums, server, exporters.Totals(space.hdf5()))


@pytest.mark.plain
def test_a_server_that_stops_and_comes_back_has_everything(space):
    server = exporters.influxdb(space)
    vampire, options = live_run(space, server.url)
    workflow = harness.Workflow(space, model_options=options)
    harness.wait_until(lambda: exporters.influx_query(server, 'SELECT last(value) FROM "pool_operations" GROUP BY *'),
                       "the first buckets")
    exporters.restart(server, vampire)
    workflow.finish()
    vampire.wait()
    assert "LOST" not in vampire.stderr
    assert vampire.stderr.count("error: output influx") <= 5, "what lasts is said once"
    assert_influx_sums(server, exporters.Totals(space.hdf5()))


@pytest.mark.plain
def test_by_tls(space):
    key, signed = exporters.certificate(space, "server")
    server = exporters.influxdb(space, key, signed)
    space.vampire(synthetic_config(server.url, ca_file=str(signed)), ready=False).expect_exit(0)
    assert_influx_sums(server, exporters.Totals(space.hdf5()))


@pytest.mark.plain
@pytest.mark.parametrize("trusted, address, words", [
    ("server", "DNS:other.invalid", "no alternative certificate subject name matches target host name '127.0.0.1'"),
    ("stranger", "IP:127.0.0.1", "self-signed certificate"),
    (None, "IP:127.0.0.1", "self-signed certificate")], ids=["name", "stranger", "system"])
def test_a_certificate_that_is_wrong(space, trusted, address, words):
    """Another server's, one of an unknown authority, and one that the system does not know."""
    server = exporters.influxdb(space, *exporters.certificate(space, "server", address))
    more = {"ca_file": str(exporters.certificate(space, "stranger")[1])} if trusted == "stranger" else {}
    more = {"ca_file": str(space.path / "server.pem")} if trusted == "server" else more
    vampire = space.vampire(synthetic_config(server.url, **more), ready=False)
    assert_all_lost(vampire)
    assert words in vampire.stderr, vampire.stderr
    assert exporters.influx_query(server, "SHOW MEASUREMENTS") == {}


class Proxy(http.server.BaseHTTPRequestHandler):
    """Answers as the server to which it should pass requests on."""

    seen = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.plain
def test_a_proxy_of_the_environment_is_named(space):
    """A proxy gets the data of other hosts, with a warning that hides its password."""
    Proxy.seen = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        where = f"127.0.0.1:{proxy.server_port}"
        vampire = space.vampire(synthetic_config("http://influx.invalid:8086"), ready=False,
                                extra={"http_proxy": f"http://me:hidden@{where}"})
        vampire.expect_exit(0)
        proxy.shutdown()
    assert Proxy.seen and all(path.startswith("http://influx.invalid:8086/write") for path in Proxy.seen)
    assert f"http_proxy sends this through the proxy http://{where}" in vampire.stderr, vampire.stderr
    assert "hidden" not in vampire.stderr
    vampire = space.vampire(synthetic_config("http://influx.invalid:8086"), ready=False, extra={"all_proxy": f"http://{where}"})
    assert_all_lost(vampire)
    assert f"http://influx.invalid:8086 (proxy http://{where} of all_proxy, unless no_proxy names it)" in vampire.stderr, vampire.stderr


@pytest.mark.plain
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_no_proxy_gets_what_is_for_this_machine(space, host):
    Proxy.seen = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        server = exporters.influxdb(space)
        address = f"http://127.0.0.1:{proxy.server_port}"
        vampire = space.vampire(synthetic_config(server.url.replace("127.0.0.1", host)), ready=False,
                                extra={"http_proxy": address, "all_proxy": address})
        vampire.expect_exit(0)
        proxy.shutdown()
    assert Proxy.seen == [] and "proxy" not in vampire.stderr, vampire.stderr
    assert exporters.influx_query(server, "SHOW MEASUREMENTS")


class Slow(http.server.BaseHTTPRequestHandler):
    """Passes a request on to the server `there` and answers what it answers, later."""

    there, seen = "", []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(body)
        time.sleep(0.3)
        status, _, text = exporters.fetch(self.there + self.path, data=body)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.mark.plain
def test_a_server_that_is_slow(space):
    """Each bucket is one request, sent once; the buckets wait and none is lost."""
    server = exporters.influxdb(space)
    slow = type("SlowHere", (Slow,), {"there": server.url, "seen": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), slow) as between:
        threading.Thread(target=between.serve_forever, daemon=True).start()
        made = synthetic_config(f"http://127.0.0.1:{between.server_port}", timeout="10s")
        made["finish"] = "30s"
        vampire = space.vampire(made, ready=False)
        vampire.expect_exit(0)
        between.shutdown()
    buckets = results.Hdf5Run([space.hdf5()]).buckets
    assert exporters.account(vampire, "influx") == (buckets, 0)
    assert len(slow.seen) == len(set(slow.seen)) == buckets
    assert_influx_sums(server, exporters.Totals(space.hdf5()))


class Fake(threading.Thread):
    """A server that answers each connection with the same bytes; None: never."""

    def __init__(self, answer):
        super().__init__(daemon=True)
        self.answer, self.kept = answer, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.start()

    def run(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            self.kept.append(peer)
            if self.answer is not None:
                peer.recv(65536)
                peer.sendall(self.answer)
                peer.shutdown(socket.SHUT_WR)

    def close(self):
        self.socket.close()
        for peer in self.kept:
            peer.close()


def synthetic_config(url, **more):
    """A run of a few buckets, which does not wait for its outputs."""
    made = influx_config(url, {"type": "synthetic", "steps": 20}, "5s", finish="2s", **more)
    made["workflow"] = "synthetic"
    return made


def assert_all_lost(vampire):
    """The output never worked; counting and the other output were as without it."""
    vampire.expect_exit(1)
    (queued,) = {int(text) for text in re.findall(r"(\d+) buckets written", vampire.stderr) if text != "0"}
    assert re.search(rf"output influx: {queued} of {queued} buckets are lost", vampire.stderr), vampire.stderr


@pytest.mark.plain
@pytest.mark.parametrize("answer, words", [
    (b"HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\n\r\ndatabase not found", "status 404: database not found"),
    (b"HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nno!", "refuses a bucket (status 400): no!"),
    (b"\x00\xffnonsense\r\n", "HTTP/0.9"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nIt works!", ": status 200, Content-Type \"\": It works!; check that this is the right server"),
    (b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "status 202"),
    (None, "timed out"),
], ids=["missing", "refused", "garbage", "page", "202", "silent"])
def test_servers_that_fail(space, answer, words):
    server = Fake(answer)
    vampire = space.vampire(synthetic_config(server.url, timeout="500ms"), ready=False)
    assert_all_lost(vampire)
    server.close()
    assert words in vampire.stderr, vampire.stderr


@pytest.mark.plain
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_named_and_not_followed(space, status):
    """A token goes to the configured server only."""
    other = Fake(b"HTTP/1.1 204 No Content\r\n\r\n")
    server = Fake(f"HTTP/1.1 {status} Moved\r\nLocation: {other.url}/there?key=secret\r\nContent-Length: 0\r\n\r\n".encode())
    vampire = space.vampire(synthetic_config(server.url), ready=False, extra={"VAMPIRE_INFLUX_SECRET": "token"})
    assert_all_lost(vampire)
    server.close(), other.close()
    assert f"status {status}: it has moved to {other.url}/there, which must be configured" in vampire.stderr, vampire.stderr
    assert server.kept and not other.kept


@pytest.mark.plain
def test_a_full_queue_loses_what_it_counts(space):
    server = Fake(None)
    space.pool_manager()
    vampire = space.vampire(influx_config(server.url, bucket="100ms", queue=2, finish="100ms"))
    harness.Workflow(space, model_options=model_options(4, 3, 2, 64, 65536, 20)).finish()
    assert_all_lost(vampire)
    server.close()
    assert results.Hdf5Run([space.hdf5()]).buckets > 4


@pytest.mark.plain
def test_what_lasts_is_said_once(space):
    """The output tries for seconds, at least every half second."""
    space.pool_manager()
    vampire = space.vampire(influx_config("http://127.0.0.1:1", bucket="100ms", finish="100ms"))
    harness.Workflow(space, model_options=model_options(15, 3, 2, 64, 4096, 40)).finish()
    assert_all_lost(vampire)
    assert "Failed to connect" in vampire.stderr
    assert len(re.findall(r"error: output influx: (?!\d+ of)", vampire.stderr)) == 1, vampire.stderr


@pytest.mark.plain
@pytest.mark.parametrize("url, words", [
    ("http://127.0.0.1:1", "Failed to connect to 127.0.0.1 port 1"),
    ("http://no-such-host.invalid:8086", "Could not resolve host: no-such-host.invalid"),
    ("udp://127.0.0.1:1", "send to udp://127.0.0.1:1: Connection refused"),
    ("udp://no-such-host.invalid:8089", "could not resolve host no-such-host.invalid"),
], ids=["refused", "name", "udp-refused", "udp-name"])
def test_addresses_that_fail(space, url, words):
    vampire = space.vampire(synthetic_config(url), ready=False)
    assert_all_lost(vampire)
    assert words in vampire.stderr, vampire.stderr


# Prints the datagrams of a port, one JSON array of lines each.
RECEIVER = """
import json, socket, sys
receiver = socket.socket(type=socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 8089))
while True:
    print(json.dumps(receiver.recv(65536).decode().splitlines(keepends=True)), flush=True)
"""


@pytest.mark.plain
def test_datagrams_fit_the_link_and_wait_for_a_reader(space):
    """In a network of its own, whose packets are as short as those of an Ethernet. Nothing listens at first."""
    own_network = ["unshare", "--user", "--map-root-user", "--net"]
    ethernet = "ip link set lo up mtu 1500"
    if subprocess.run([*own_network, "sh", "-c", ethernet], check=False).returncode != 0:
        pytest.skip("no network of one's own can be made here")
    path = space.path / "vampire.json"
    made = synthetic_config("udp://localhost:8089", metrics=["pool_operations", "anomalies"])
    made["finish"] = "30s"
    path.write_text(harness.config_text(made))
    vampire = space.start([*own_network, "sh", "-c", f'{ethernet} && exec "$@"', "sh", harness.program("vampire"), "-c", path],
                          "vampire")
    vampire.until_stderr("output influx: ")  # nothing reads, or: buckets are still to be written
    reader = space.start(["nsenter", "--preserve-credentials", "-U", "-n", "-t", str(vampire.child.pid),
                          "/usr/bin/python3", "-c", RECEIVER], "reader")
    vampire.wait()
    written, lost = exporters.account(vampire, "influx")
    assert written > 1 and lost == 0

    def datagrams():
        return [json.loads(line) for line in reader.stdout.splitlines()]

    def times():
        return {line.split()[-1] for lines in datagrams() for line in lines}

    harness.wait_until(lambda: len(times()) == written, "the reader has every bucket")
    sizes = [len("".join(lines).encode()) for lines in datagrams()]
    assert max(sizes) <= 1472 and any(len(lines) > 1 for lines in datagrams()), sizes
    assert all(line.endswith("\n") and line.startswith(("pool_operations,", "anomalies,"))
               for lines in datagrams() for line in lines)


SECRET = "kept-from-everyone"


@pytest.mark.plain
@pytest.mark.parametrize("way", ["token-file", "password-file", "environment"])
def test_the_secret_is_shown_nowhere(space, way):
    answers = Fake(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
    (space.path / "secret").write_text(SECRET + "\n")
    more = {"secret_file": str(space.path / "secret")} if way != "environment" else {}
    more.update({"user": "writer"} if way == "password-file" else {})
    made = synthetic_config(answers.url, **more)
    extra = {"VAMPIRE_INFLUX_SECRET": SECRET} if way == "environment" else {}
    vampire = space.vampire(made, ready=False, extra=extra)
    vampire.until_stderr("status 401")
    vampire.signal(signal.SIGUSR1)
    vampire.signal(signal.SIGTERM)
    vampire.wait()
    received = [path.name for path in space.path.glob("**/*")
                if path.is_file() and path.name != "secret" and SECRET.encode() in path.read_bytes()]
    answers.close()
    assert received == []


@pytest.mark.parametrize("url", ["127.0.0.1:8086", "http://user:password@host", "ftp://host", "http:///x", "",
                                 "udp://host", "udp://host:8089/", "udp://:8089", "udp://::1:8089", "udp://host:x"])
def test_what_is_no_address(space, url):
    path = space.path / "vampire.json"
    path.write_text(json.dumps({"outputs": [{"type": "influx", "url": url}]}))
    done = subprocess.run([harness.program("vampire"), "--check-config", "-c", path], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and re.search(r"outputs.*url", done.stderr), done.stderr
