# SPDX-License-Identifier: BSD-3-Clause
"""What a format other than files has of each metric, and what it says that the metric lacks. Each class takes a `space`
and has `output`, options of an output; `parts()`, once the run has ended, is (has, lacks) of parts_of."""

import collections
import decimal
import http.server
import json
import re
import socket
import threading

import exporters
import harness
import nats_reader
import otlp_receiver

ASIDE = ("vampire_metric_filtered", "vampire_not_in_output", "vampire_no_room")


def parts_of(values):
    """({metric: total, of a histogram the number of values}, {metric: {one of ASIDE: amount}}) of triples: metric, the
    value of its label "metric", amount."""
    has, lacks = collections.Counter(), collections.defaultdict(collections.Counter)
    for name, metric, amount in values:
        has[name] += amount
        if name in ASIDE and amount:
            lacks[metric][name] += amount
    return has, dict(lacks)


def shown_names(suffix=""):
    """{name of a counter or histogram in base units: its own name, the decimals of its amount}."""
    return {entry["prometheus"] + (suffix if entry["kind"] == "histogram" else ""):
            (name, 0 if entry["kind"] == "histogram" else entry["decimals"])
            for name, entry in exporters.catalogue().items() if entry["kind"] != "gauge"}


class Lines(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.lines += self.rfile.read(int(self.headers["Content-Length"])).decode().splitlines()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Influx:
    def __init__(self, _):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lines)
        self.server.lines = []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.output = {"type": "influx", "url": f"http://127.0.0.1:{self.server.server_port}"}

    def parts(self):
        self.server.shutdown()
        self.server.server_close()
        found = []
        for line in self.server.lines:
            key, fields, _ = re.split(r"(?<!\\) ", line)
            name, *labels = re.split(r"(?<!\\),", key)
            amounts = dict(field.split("=") for field in fields.split(","))
            found.append((name, dict(label.split("=", 1) for label in labels).get("metric"),
                          int(amounts.get("delta", amounts.get("count", "0i"))[:-1])))
        return parts_of(found)


class Syslog:
    def __init__(self, space):
        path = space.path / "log"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.values, self.thread = [], threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        self.output = {"type": "syslog", "socket": str(path)}

    def _read(self):
        message = {"type": "bucket"}
        while message["type"] != "end":
            message = json.loads(self.socket.recv(1 << 20).partition(b"@cee:")[2])
            self.values += message.get("metrics", ())

    def parts(self):
        self.thread.join(60 * harness.PATIENCE)
        self.socket.close()
        return parts_of((value["metric"], value.get("labels", {}).get("metric"), value.get("delta", value.get("count", 0)))
                        for value in self.values)


class Otlp:
    def __init__(self, _):
        self.receiver = otlp_receiver.Receiver()
        self.output = {"type": "otlp", "endpoint": self.receiver.url, "timeout": "60s"}

    def parts(self):
        with self.receiver:
            names, found = shown_names(), []
            for (shown, labels), points in self.receiver.store.series.items():
                if shown in names:
                    name, decimals = names[shown]
                    value = points[-1].value
                    found.append((name, dict(labels).get("metric"),
                                  value[0] if isinstance(value, tuple) else round(value * 10**decimals)))
            return parts_of(found)


class Page:
    def __init__(self, _):
        self.text, self.port = "", exporters.free_port()
        self.output = {"type": "prometheus", "listen": f"tcp:{self.port}", "linger": "10min"}

    def await_end(self):
        """Others have all that they will get once the run has left its page, after this."""
        def is_over():
            self.text = exporters.fetch(f"http://127.0.0.1:{self.port}/metrics")[2]
            return re.search(r"^vampire_run_ended.* 1$", self.text, re.MULTILINE)

        harness.wait_until(is_over, "the run is over")

    def parts(self):
        names, found = shown_names("_count"), []
        for shown, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", self.text, re.MULTILINE):
            if shown in names:
                name, decimals = names[shown]
                of = re.search(r'(?:^|,)metric="(.*?)"', labels)
                found.append((name, of and of[1], int(decimal.Decimal(value).scaleb(decimals))))
        return parts_of(found)


class Nats:
    def __init__(self, space):
        self.server = nats_reader.Server(space)
        self.reader = nats_reader.Reader(self.server)
        self.output = {"type": "nats", "servers": [self.server.address]}

    def parts(self):
        totals = nats_reader.Totals(self.reader.until_ended())
        return parts_of([(name, dict(labels).get("metric"), amount) for name, series in totals.deltas.items()
                         for labels, amount in series.items()] +
                        [(name, None, value[0]) for name, series in totals.histograms.items() for value in series.values()])


ALL = (Page, Influx, Syslog, Otlp, Nats)
