# SPDX-License-Identifier: BSD-3-Clause
"""Real servers for the tests of outlets, each on a free port of this machine and in a folder of the
test; and what vampire wrote, in the terms of these servers."""

import decimal
import functools
import json
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import h5py

import harness
from rows import NO_GAUGE, File

decimal.getcontext().prec = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetch(url, headers=None, method=None, data=None):
    """(status, headers, text); 0 when nothing answers."""
    request = urllib.request.Request(url, headers=headers or {}, method=method, data=data)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()
    except (urllib.error.URLError, OSError):
        return 0, {}, ""


class Server:
    """A server of a Debian package, ready when the constructor returns."""

    def __init__(self, space, argv, name, url, ready):
        self.space, self.argv, self.name, self.url, self.ready = space, argv, name, url, ready
        self.process = None
        self.start()

    def start(self):
        self.process = self.space.start(self.argv, self.name)

        def is_ready():
            if not self.process.running():
                raise harness.Failure(self.process.account())
            return fetch(self.url + self.ready)[0] in (200, 204)

        harness.wait_until(is_ready, f"{self.name} is ready")

    def query(self, expression):
        """[(labels, value)] of an expression of PromQL, now."""
        status, _, text = fetch(f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        assert status == 200, f"{expression}: {status} {text}"
        return [(entry["metric"], float(entry["value"][1])) for entry in json.loads(text)["data"]["result"]]

    def value(self, expression):
        """Of an expression with one result; None: there is none."""
        found = self.query(expression)
        assert len(found) <= 1, found
        return found[0][1] if found else None


def scrape_config(space, pages):
    path = space.path / "scrape.yml"
    path.write_text(json.dumps({
        "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
        "scrape_configs": [{"job_name": "vampire", "static_configs": [{"targets": pages}]}],
    }))
    return path


def prometheus(space, pages, *options):
    port = free_port()
    return Server(space, ["prometheus", f"--config.file={scrape_config(space, pages)}",
                          f"--storage.tsdb.path={space.path / 'prometheus'}",
                          f"--web.listen-address=127.0.0.1:{port}", *options],
                  "prometheus", f"http://127.0.0.1:{port}", "/-/ready")


def victoria_metrics(space, pages=()):
    port = free_port()
    scrape = [f"-promscrape.config={scrape_config(space, list(pages))}"] if pages else []
    # What arrived is found by the next query.
    return Server(space, ["victoria-metrics", f"-storageDataPath={space.path / 'victoria'}",
                          f"-httpListenAddr=127.0.0.1:{port}", "-search.latencyOffset=0s",
                          "-search.disableCache", "-retentionPeriod=100y", *scrape],
                  "victoria-metrics", f"http://127.0.0.1:{port}", "/health")


@functools.cache
def catalogue():
    """{our name: what --list-metrics=json says}."""
    printed = subprocess.run([harness.program("vampire"), "--list-metrics=json"], capture_output=True, check=True)
    return {metric["name"]: metric for metric in json.loads(printed.stdout)["metrics"]}


def in_base_unit(name, value):
    """The double that a server has for an integer of ours."""
    return float(decimal.Decimal(value).scaleb(-catalogue()[name]["decimals"]))


class Totals:
    """The values of a run at its end, from its only HDF5 file: {name: {labels as a frozenset of pairs:
    value}}; of a histogram a value is (count, sum, {lower edge of a bin: count})."""

    def __init__(self, path):
        self.counters, self.gauges, self.histograms = {}, {}, {}
        with h5py.File(path) as file:
            run = File(file)
            for name in run.metrics():
                names = self._label_names(file, run, name)
                for labels, entries in zip(run.labels(name), run.entries(name)):
                    key = frozenset(zip(names, labels))
                    if labels and not any(labels):
                        continue  # room for a series to come
                    if run.kind(name) == "histogram":
                        self._add(name, key, entries)
                    elif entries:
                        target = self.counters if run.kind(name) == "counter" else self.gauges
                        if entries[-1][0] != NO_GAUGE:
                            target.setdefault(name, {})[key] = entries[-1][0]

    @staticmethod
    def _label_names(file, run, name):
        labels = catalogue()[name]["labels"]
        assert not run.labels(name) or len(labels) == len(run.labels(name)[0]), (name, file.filename)
        return labels

    def _add(self, name, key, entries):
        found = [entry for entry in entries if entry]
        bins = {}
        for entry in found:
            for lower, count in entry["bins"].items():
                bins[lower] = bins.get(lower, 0) + count
        if found:
            self.histograms.setdefault(name, {})[key] = (
                sum(entry["count"] for entry in found), sum(entry["sum"] for entry in found), bins)


def own_labels(metric, more=()):
    """What remains of a server's labels when those of scraping and of the run are taken away."""
    return frozenset((key, value) for key, value in metric.items()
                     if key not in ("__name__", "job", "instance", "workflow", "le", *more))


def page_address(vampire):
    """Where the page is, from what vampire says."""
    found = []

    def said():
        found[:] = re.findall(r"http://([\d.]+:\d+)/metrics", vampire.stderr)
        if not vampire.running() and not found:
            raise harness.Failure(vampire.account())
        return found

    harness.wait_until(said, "vampire says where its page is")
    return found[0]


def influxdb(space):
    """An InfluxDB 1 with an empty database "vampire"."""
    port, other = free_port(), free_port()
    place = space.path / "influx"
    path = space.path / "influxdb.conf"
    path.write_text(f"""reporting-disabled = true
bind-address = "127.0.0.1:{other}"
[meta]
dir = "{place}/meta"
[data]
dir = "{place}/data"
wal-dir = "{place}/wal"
query-log-enabled = false
[monitor]
store-enabled = false
[http]
bind-address = "127.0.0.1:{port}"
log-enabled = false
""")
    server = Server(space, ["influxd", "-config", path], "influxd", f"http://127.0.0.1:{port}", "/ping")
    assert fetch(f"{server.url}/query", data=urllib.parse.urlencode({"q": "CREATE DATABASE vampire"}).encode())[0] == 200
    return server


def influx_query(server, query):
    """{tags as a frozenset of pairs: first row of the series}."""
    status, _, text = fetch(f"{server.url}/query?" + urllib.parse.urlencode({"db": "vampire", "q": query}))
    assert status == 200, text
    (result,) = json.loads(text)["results"]
    return {frozenset((key, value) for key, value in series.get("tags", {}).items() if value and key != "workflow"):
            series["values"][0][1:] for series in result.get("series", ())}
