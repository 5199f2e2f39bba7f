# SPDX-License-Identifier: BSD-3-Clause
"""A receiver of OTLP metrics by HTTP, which keeps what it took as a server of time series does, and checks
each point against those before it."""

import collections
import gzip
import http.server
import threading
import time

import exporters

otlp_pb2 = exporters.messages("writers/otlp/otlp.proto")
CUMULATIVE = otlp_pb2.CUMULATIVE

Point = collections.namedtuple("Point", "start time value")


def attributes_of(entries):
    return frozenset((entry.key, entry.value.string_value) for entry in entries)


def value_of(point):
    """A number, or (count, sum, bins): of an explicit histogram {upper bound: count}, of an exponential one
    {number of the bucket: count} and the scale."""
    if isinstance(point, otlp_pb2.NumberDataPoint):
        return getattr(point, point.WhichOneof("value"))
    if isinstance(point, otlp_pb2.HistogramDataPoint):
        assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
        assert list(point.explicit_bounds) == sorted(set(point.explicit_bounds))
        assert sum(point.bucket_counts) == point.count
        return point.count, point.sum if point.HasField("sum") else None, dict(zip([*point.explicit_bounds, float("inf")], point.bucket_counts))
    bins = dict(enumerate(point.positive.bucket_counts, point.positive.offset))
    assert point.zero_count + sum(bins.values()) == point.count
    return point.count, point.sum, {"zero": point.zero_count, "scale": point.scale, **bins}


class Store:
    """{(name, attributes): points in their order} of what was taken."""

    def __init__(self):
        self.series, self.units, self.requests, self.resources = {}, {}, 0, set()

    def take(self, body):
        request = otlp_pb2.ExportMetricsServiceRequest()
        request.ParseFromString(gzip.decompress(body))
        self.requests += 1
        (resource,) = request.resource_metrics
        self.resources.add(attributes_of(resource.resource.attributes))
        (scope,) = resource.scope_metrics
        assert scope.scope.name == "vampire" and len(scope.metrics) > 0
        for metric in scope.metrics:
            self.units[metric.name] = metric.unit
            kind = metric.WhichOneof("data")
            data = getattr(metric, kind)
            assert len(data.data_points) > 0
            assert kind == "gauge" or data.aggregation_temporality == CUMULATIVE
            assert kind != "sum" or data.is_monotonic
            for point in data.data_points:
                self._add((metric.name, attributes_of(point.attributes)), kind,
                          Point(point.start_time_unix_nano, point.time_unix_nano, value_of(point)))

    def _add(self, key, kind, point):
        points = self.series.setdefault(key, [])
        again = [known for known in points if known.time == point.time]
        assert all(known == point for known in again), (key, again, point)
        if again:
            return
        assert not points or point.time > points[-1].time, (key, points[-1], point)
        points.append(point)
        if kind == "gauge":
            return
        assert point.start <= point.time, (key, point)
        count = point.value if kind == "sum" else point.value[0]
        if len(points) == 1:
            assert count == 0, f"{key} begins with {point}"
            return
        before = points[-2].value if kind == "sum" else points[-2].value[0]
        if point.start != points[-2].start:
            assert kind != "sum" and count == 0, (key, points[-2], point)
        else:
            assert count >= before, (key, points[-2], point)

    def last(self, name):
        """{labels without that of the workflow: the newest value}"""
        return {exporters.own_labels(dict(labels)): points[-1].value
                for (known, labels), points in self.series.items() if known == name}


class Receiver(http.server.ThreadingHTTPServer):
    """On a port that stays the same. `answers` are taken in turn, then each request is taken: a status, with
    headers, a body and a delay in seconds before the request is taken and after."""

    daemon_threads, allow_reuse_address = True, True

    def __init__(self, answers=(), port=0):
        self.store, self.answers, self.asked, self.lock = Store(), list(answers), [], threading.Lock()
        self.failure = None
        super().__init__(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1/metrics"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
        assert self.failure is None, self.failure


class Answer:
    def __init__(self, status=200, headers=None, body=b"", late=0.0):
        self.status, self.headers, self.body, self.late = status, headers or {}, body, late


def partial(rejected, message):
    response = otlp_pb2.ExportMetricsServiceResponse()
    response.partial_success.rejected_data_points = rejected
    response.partial_success.error_message = message
    return Answer(body=response.SerializeToString())


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        with server.lock:
            server.asked.append((self.path, dict(self.headers.items()), body, time.monotonic()))
            answer = server.answers.pop(0) if server.answers else Answer()
            try:
                if answer.status == 200:
                    server.store.take(body)
            except Exception as error:  # of a thread: the test asserts it at its end
                server.failure = server.failure or error
        time.sleep(answer.late)
        try:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
        except OSError:
            pass  # it waits no longer

    def log_message(self, *_):
        pass
