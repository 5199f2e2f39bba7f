# SPDX-License-Identifier: BSD-3-Clause
"""Real servers for the tests of exporters, each on a free port of this machine and in a folder of the
test; and what vampire wrote, in the terms of these servers."""

import decimal
import functools
import getpass
import importlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import h5py

import harness
from rows import NO_GAUGE, File

decimal.getcontext().prec = 60


def free_port():
    """Free for TCP and UDP, and below those that the kernel gives to others' connections."""
    while True:
        port = random.SystemRandom().randrange(10000, 32768)
        with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            try:
                stream.bind(("127.0.0.1", port))
                datagrams.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def fetch(url, headers=None, method=None, data=None):
    """(status, headers, text); 0 when nothing answers. Certificates are not looked at."""
    request = urllib.request.Request(url, headers=headers or {}, method=method, data=data)
    try:
        with urllib.request.urlopen(request, timeout=20, context=ssl._create_unverified_context()) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()
    except (urllib.error.URLError, OSError):
        return 0, {}, ""


def messages(path):
    """The module that protoc makes of a .proto file of the tree."""
    proto = harness.ROOT / path
    with tempfile.TemporaryDirectory(prefix="vampire-proto-") as directory:
        subprocess.run(["protoc", f"-I{proto.parent}", f"--python_out={directory}", proto.name], check=True)
        sys.path.insert(0, directory)
        try:
            return importlib.import_module(f"{proto.stem}_pb2")
        finally:
            sys.path.remove(directory)


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


def scrape_config(space, pages, rules=None):
    path = space.path / "scrape.yml"
    path.write_text(json.dumps({
        "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
        **({"rule_files": [rules]} if rules else {}),
        "scrape_configs": [{"job_name": "vampire", "static_configs": [{"targets": pages}]}],
    }))
    return path


def prometheus(space, pages, *options, rules=None):
    port = free_port()
    return Server(space, ["prometheus", f"--config.file={scrape_config(space, pages, rules)}",
                          f"--storage.tsdb.path={space.path / 'prometheus'}",
                          f"--web.listen-address=127.0.0.1:{port}", *options],
                  "prometheus", f"http://127.0.0.1:{port}", "/-/ready")


def victoria_metrics(space, pages=(), program="victoria-metrics"):
    """Lines by UDP go to `udp`."""
    port, udp = free_port(), free_port()
    scrape = [f"-promscrape.config={scrape_config(space, list(pages))}"] if pages else []
    # What arrived is found by the next query.
    server = Server(space, [program, f"-storageDataPath={space.path / 'victoria'}",
                          f"-httpListenAddr=127.0.0.1:{port}", "-search.latencyOffset=0s",
                          "-search.disableCache", "-retentionPeriod=100y",
                          f"-influxListenAddr=127.0.0.1:{udp}", *scrape],
                  "victoria-metrics", f"http://127.0.0.1:{port}", "/health")
    server.udp = f"udp://127.0.0.1:{udp}"
    return server


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
                     if key not in ("__name__", "job", "instance", "workflow", "run", "le", *more))


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


def certificate(space, name, address="IP:127.0.0.1"):
    """Paths of a key and of its certificate, which it signed itself."""
    key, signed = space.path / f"{name}.key", space.path / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", signed, "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName={address}"], check=True, capture_output=True)
    return key, signed


def influxdb(space, key=None, signed=None, place=None):
    """An InfluxDB 1 with an empty database "vampire", which a port for UDP writes to, too (`udp`); with a key and
    its certificate by https. Its data is in `place`, or in the test's folder."""
    port, other, udp = free_port(), free_port(), free_port()
    place = place or space.path / "influx"
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
""" + (f"""https-enabled = true
https-certificate = "{signed}"
https-private-key = "{key}"
""" if key else "") + f"""[[udp]]
enabled = true
bind-address = "127.0.0.1:{udp}"
database = "vampire"
batch-timeout = "100ms"
read-buffer = 8388608
""")
    server = Server(space, ["influxd", "-config", path], "influxd", f"http{'s' if key else ''}://127.0.0.1:{port}", "/ping")
    assert fetch(f"{server.url}/query", data=urllib.parse.urlencode({"q": "CREATE DATABASE vampire"}).encode())[0] == 200
    server.udp = f"udp://127.0.0.1:{udp}"
    return server


def influx_query(server, query):
    """{tags as a frozenset of pairs: first row of the series}."""
    status, _, text = fetch(f"{server.url}/query?" + urllib.parse.urlencode({"db": "vampire", "q": query}))
    assert status == 200, text
    (result,) = json.loads(text)["results"]
    return {frozenset((key, value) for key, value in series.get("tags", {}).items() if value and key not in ("workflow", "run")):
            series["values"][0][1:] for series in result.get("series", ())}


def account(vampire, name):
    """(written, lost) buckets of an output, from what vampire says at its end."""
    (found,) = re.findall(rf"^  {name} +(\d+) buckets? written(?:, (\d+) LOST)?", vampire.stderr, re.MULTILINE)
    return int(found[0]), int(found[1] or 0)


def recipes():
    """{name: text} of those in docs/exporters.md."""
    page = (harness.ROOT / "docs" / "exporters.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- tested as it stands: ([\w.]+) -->\n```\w+\n(.*?)```", page, re.DOTALL))


def restart(server, vampire):
    """Stops the server, and starts it again once vampire has reported that buckets wait."""
    server.process.signal(signal.SIGTERM)
    server.process.wait()
    vampire.until_stderr("buckets wait, then are lost and counted")
    server.start()


class Rsyslog:
    """An rsyslogd with this configuration, in which /run/vampire.log stands for the test's socket; it does
    not read that of the system."""

    def __init__(self, space, text):
        self.space = space
        self.socket, self.file = str(space.path / "log"), space.path / "log.json"
        self.config = space.path / "rsyslog.conf"
        for old, new in (('"/run/vampire.log"', f'"{self.socket}"'), ('"imuxsock")', '"imuxsock" SysSock.Use="off")')):
            assert old in text
            text = text.replace(old, new)
        self.config.write_text(f'global(workDirectory="{space.path}")\n{text}')
        self.process = None
        self.start()

    def start(self):
        self.process = self.space.start(
            ["rsyslogd", "-n", "-f", self.config, "-i", self.space.path / "rsyslog.pid"], "rsyslogd")

        def is_ready():
            if not self.process.running():
                raise harness.Failure(self.process.account())
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
                return probe.connect_ex(self.socket) == 0

        harness.wait_until(is_ready, "rsyslogd reads its socket")

    def stop(self):
        """It passes on what it has read."""
        self.process.signal(signal.SIGTERM)
        self.process.wait()

    def objects(self):
        """Those in whole lines of the file."""
        text = self.file.read_text() if self.file.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]


class PostgreSql:
    """An empty cluster on a socket in a folder of the test, owned by a user who is not root."""

    def __init__(self, space):
        self.folder = space.path / "postgresql"
        self.folder.mkdir(mode=0o700)
        self.user = "postgres" if os.geteuid() == 0 else getpass.getuser()
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        if os.geteuid() == 0:
            shutil.chown(self.folder, self.user)
            for parent in self.folder.parents:
                if not parent.stat().st_mode & 0o001:
                    parent.chmod(parent.stat().st_mode | 0o011)
        subprocess.run(self._as_user([programs / "initdb", "--no-sync", "--auth=trust", "-D", self.folder / "data"]),
                       check=True, capture_output=True, cwd="/")
        self.process = space.start(
            self._as_user([programs / "postgres", "-D", self.folder / "data", "-k", self.folder,
                           "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=1MB"]), "postgres")
        harness.wait_until(lambda: self._psql("select 1").returncode == 0, "postgres is ready")

    def _as_user(self, argv):
        become = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        return (become if os.geteuid() == 0 else []) + [str(word) for word in argv]

    def _psql(self, query):
        return subprocess.run(["psql", "-h", self.folder, "-U", self.user, "-d", "postgres", "-qAt", "-F", "\t", "-c", query],
                              capture_output=True, text=True, check=False)

    def query(self, query):
        """Rows as lists of texts."""
        done = self._psql(query)
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]
