# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of type "otlp": a receiver of the tests' own, which fails in every way, and real servers."""

import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest

import harness
import exporters
import results
from otlp_receiver import Answer, Receiver, partial
from test_influx import eventually
from test_workflow import model_options

pytestmark = pytest.mark.plain


def config(url, source=None, bucket="200ms", finish="60s", **more):
    made = {**harness.vampire_config(bucket=bucket), "finish": finish}
    made["source"] = source or made["source"]
    made["statistics"]["sets"] = "all"
    made["outputs"].append({"type": "otlp", "endpoint": url, "without": [], "budget": 0, **more})
    return made


def synthetic(url, bucket="5s", producers=2, steps=20, **more):
    """A run of a few buckets, which does not wait for its outputs."""
    made = config(url, {"type": "synthetic", "steps": steps, "producers": producers, "consumers": producers}, bucket, **more)
    made["workflow"] = "synthetic"
    return made


def nonzero(series):
    return {labels: value for labels, value in series.items() if value}


def base(name):
    return exporters.catalogue()[name]["prometheus"]


def assert_gauges(store, totals):
    for name, series in totals.gauges.items():
        expected = {labels: exporters.in_base_unit(name, value) for labels, value in series.items()}
        found = {labels: value for labels, value in store.last(base(name)).items() if labels in expected}
        assert nonzero(found) == nonzero(expected), name


def assert_totals(store, path, exponential=False):
    """Each sum is that of the file, and each count up to a bound."""
    totals = exporters.Totals(path)
    for name, series in totals.counters.items():
        assert store.last(base(name)) == {
            labels: exporters.in_base_unit(name, value) for labels, value in nonzero(series).items()}, name
    assert_gauges(store, totals)
    for name, series in totals.histograms.items():
        found = store.last(base(name))
        assert {labels: value[:2] for labels, value in found.items()} == {
            labels: (value[0], exporters.in_base_unit(name, value[1])) for labels, value in series.items()}, name
        for labels, value in found.items():
            (assert_buckets if exponential else assert_bounds)(name, value[2], series[labels][2])
    assert len(totals.histograms) > 10 and len(totals.counters) > 15, "a run with everything in it"


def assert_bounds(name, found, bins):
    """`bins` are counts by the lower edge."""
    counted = 0
    for bound, count in found.items():
        counted += count
        assert counted == sum(count for lower, count in bins.items() if exporters.in_base_unit(name, lower) <= bound), name


def assert_buckets(name, found, bins):
    """In the buckets of a base 2^(1/8) no value is off by more than a tenth: docs/exporters.md."""
    found = dict(found)
    zeros, scale = found.pop("zero"), found.pop("scale")
    assert (zeros, scale) == (bins.get(0, 0), 3)
    shown = [(2 ** ((place + 0.5) / 8), count) for place, count in sorted(found.items()) if count]
    own = [(exporters.in_base_unit(name, lower), count) for lower, count in sorted(bins.items()) if lower]
    assert sum(count for _, count in shown) == sum(count for _, count in own)
    own_at = 0
    for middle, count in shown:
        while count > 0:
            lower, left = own[own_at]
            assert 0.89 <= middle / lower <= 1.24, (name, middle, lower)  # a bin is up to an eighth wide
            taken = min(count, left)
            count -= taken
            own[own_at] = (lower, left - taken)
            own_at += taken == left


@pytest.mark.parametrize("histograms", ["explicit", "exponential"])
def test_the_sums_of_a_workflow_are_those_of_the_file(space, histograms):
    with Receiver() as receiver:
        space.pool_manager()
        vampire = space.vampire(config(receiver.url, histograms=histograms))
        harness.Workflow(space, model_options=model_options(6, 3, 2, 64, 65536, 20)).finish()
        vampire.expect_exit(0)
        assert_totals(receiver.store, space.hdf5(), histograms == "exponential")
        assert exporters.account(vampire, "otlp") == (results.Hdf5Run([space.hdf5()]).buckets, 0)
        path, headers, _, _ = receiver.asked[0]
        assert path == "/v1/metrics" and headers["Content-Type"] == "application/x-protobuf"
        assert headers["Content-Encoding"] == "gzip" and "Authorization" not in headers
        assert receiver.store.units["vampire_transport_seconds"] == "s"
        assert receiver.store.units["vampire_produced_bytes_total"] == "By"
        assert receiver.store.units["vampire_transport_bytes_per_second"] == "By/s"
        (resource,) = receiver.store.resources
        assert dict(resource)["host.name"] == socket.gethostname()
        assert dict(resource)["service.name"] == "vampire"


def test_within_a_budget_sums_are_those_of_the_file(space):
    with Receiver() as receiver:
        space.vampire(synthetic(receiver.url, producers=40, budget=8000), ready=False).expect_exit(0)
        totals, last = exporters.Totals(space.hdf5()), receiver.store.last
        assert any("(model Model)" in dict(labels).values() for labels in last(base("transports")))
        for name, series in totals.counters.items():
            found = sum(last(base(name)).values())
            assert found == pytest.approx(exporters.in_base_unit(name, sum(series.values())), rel=1e-12), name
        for name, series in totals.histograms.items():
            assert sum(value[0] for value in last(base(name)).values()) == sum(value[0] for value in series.values()), name


@pytest.mark.parametrize("producers, steps", [(30, 10), (250, 3)], ids=["60", "500"])
def test_the_sums_of_many_components_are_those_of_the_file(space, producers, steps):
    """A bucket is several requests."""
    with Receiver() as receiver:
        made = synthetic(receiver.url, producers=producers, steps=steps, timeout="60s", bounds=4)
        vampire = space.vampire(made, ready=False)
        vampire.expect_exit(0, 120)
        assert_totals(receiver.store, space.hdf5())
        written, lost = exporters.account(vampire, "otlp")
        assert lost == 0 and receiver.store.requests > written


def test_a_receiver_that_restarts_has_everything(space):
    with Receiver() as first:
        port, url = first.server_port, first.url
        space.pool_manager()
        vampire = space.vampire(config(url))
        workflow = harness.Workflow(space, model_options=model_options(6, 3, 2, 64, 65536, 20))
        harness.wait_until(lambda: first.store.requests > 0, "the first bucket")
    vampire.until_stderr("buckets wait, then are lost and counted")
    with Receiver(port=port) as second:
        second.store = first.store
        workflow.finish()
        vampire.wait()
        assert "LOST" not in vampire.stderr
        assert_totals(second.store, space.hdf5())


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("answer, words", [
    (Answer(500, body=b"no space left"), "status 500: no space left"),
    (Answer(503), "status 503"),
    (Answer(307, {"Location": "http://127.0.0.1:1/moved?key=secret"}),
     "status 307: it has moved to http://127.0.0.1:1/moved, which must be configured"),
    (Answer(307), "status 307: "),
    (Answer(429, {"Retry-After": "1"}), "status 429"),
    (Answer(200, late=2.0), "timed out"),
    (Answer(204), 'status 204, Content-Type ""'),
    (Answer(202, JSON, b"{}"), 'status 202, Content-Type "application/json": {}'),
    (Answer(200, {"Content-Type": "text/html"}, b"<html>It works!</html>"), 'Content-Type "text/html": <html>It works!</html>'),
    (Answer(200, body=b"ok"), "status 200, Content-Type \"\": ok; check that this is the right server."),
    (Answer(200, {"Content-Type": "text/plain"}), 'Content-Type "text/plain": '),
    (Answer(200, JSON, b"[]"), 'Content-Type "application/json": []'),
], ids=["500", "503", "moved", "307", "429", "slow", "204", "202", "page", "text", "empty-text", "list"])
def test_what_fails_is_sent_again_and_counted_once(space, answer, words):
    """A request whose answer is late was taken, and is taken again: nothing changes."""
    with Receiver([answer, answer]) as receiver:
        vampire = space.vampire(synthetic(receiver.url, timeout="500ms"), ready=False)
        vampire.expect_exit(0)
        buckets = results.Hdf5Run([space.hdf5()]).buckets
        assert exporters.account(vampire, "otlp") == (buckets, 0)
        assert words in vampire.stderr or answer.status == 429, vampire.stderr
        assert len(receiver.asked) == buckets + 2
        assert receiver.asked[0][2] == receiver.asked[1][2] == receiver.asked[2][2], "the same bytes"
        assert_totals(receiver.store, space.hdf5())
        if answer.status == 429:
            times = [asked[3] for asked in receiver.asked]
            assert times[1] - times[0] >= 1 and times[2] - times[1] >= 1, "as long as the server wants"


def test_what_is_refused_is_lost_once_and_later_sums_have_it(space):
    with Receiver([Answer(), Answer(400, body=b"out of order")]) as receiver:
        vampire = space.vampire(synthetic(receiver.url), ready=False)
        vampire.expect_exit(1)
        buckets = results.Hdf5Run([space.hdf5()]).buckets
        assert exporters.account(vampire, "otlp") == (buckets - 1, 1)
        assert len(receiver.asked) == buckets, "it is not sent again"
        assert "refuses a bucket (status 400): out of order" in vampire.stderr
        assert_totals(receiver.store, space.hdf5())


def test_points_that_a_server_does_not_take_are_said(space):
    as_json = [Answer(200, JSON, b'{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "again"}}'), Answer(200, JSON, b"{}")]
    with Receiver([partial(2, "no such\n\x1b[31mtenant"), partial(0, ""), *as_json]) as receiver:
        vampire = space.vampire(synthetic(receiver.url), ready=False)
        vampire.wait()
        assert vampire.stderr.count("accepted a bucket but rejected 2 of its points: no such [31mtenant") == 1, vampire.stderr
        assert "5 points that the server rejected LEFT OUT" in vampire.stderr, vampire.stderr
        assert exporters.account(vampire, "otlp") == (len(receiver.asked), 0)


def test_a_full_queue_loses_what_it_counts(space):
    """Counters have what was lost, histograms do not."""
    with Receiver([Answer(503)] * 3) as receiver:
        space.pool_manager()
        vampire = space.vampire(config(receiver.url, bucket="100ms", queue=2))
        harness.Workflow(space, model_options=model_options(20, 3, 2, 64, 65536, 40)).finish()
        vampire.expect_exit(1)
        written, lost = exporters.account(vampire, "otlp")
        assert lost > 0 and written + lost == results.Hdf5Run([space.hdf5()]).buckets
        totals = exporters.Totals(space.hdf5())
        operations = receiver.store.last("vampire_pool_operations_total")
        assert operations == nonzero(totals.counters["pool_operations"])
        counts = receiver.store.last("vampire_transport_seconds")
        assert sum(value[0] for value in counts.values()) <= sum(value[0] for value in totals.histograms["transport_ns"].values())


def test_a_reload_begins_histograms_again(space):
    """With a start of their own and a point of 0, which is not at the time of the last one before; counters go on."""
    with Receiver() as receiver:
        made = synthetic(receiver.url, "1s", steps=100000)
        made["source"].update(speed=5, start="now")
        vampire = space.vampire(made, ready=False)

        def starts(name):
            return {point.start for (known, _), points in list(receiver.store.series.items()) if known == name
                    for point in list(points)}

        harness.wait_until(lambda: starts("vampire_transport_seconds"), "the first histograms")
        made["outputs"][-1]["bounds"] = 2
        (space.path / "vampire.json").write_text(harness.config_text(made), encoding="utf-8")
        vampire.signal(signal.SIGHUP)
        vampire.until_stderr("was read again (number 1)")
        harness.wait_until(lambda: len(starts("vampire_transport_seconds")) == 2, "histograms that began again")
        vampire.stop()
        assert len(starts("vampire_pool_operations_total")) == 1


def test_the_secret_is_sent_and_shown_nowhere(space):
    secret = "kept-from-everyone"
    with Receiver() as receiver:
        vampire = space.vampire(synthetic(receiver.url), ready=False, extra={"VAMPIRE_OTLP_SECRET": secret})
        vampire.expect_exit(0)
        assert {headers["Authorization"] for _, headers, _, _ in receiver.asked} == {f"Bearer {secret}"}
    assert not any(secret.encode() in path.read_bytes() for path in space.path.glob("**/*") if path.is_file())


@pytest.mark.parametrize("endpoint", ["127.0.0.1:4318", "http://user:password@host/v1/metrics", "grpc://host:4317",
                                      "http://host:4318", "http://host:4318/", "http://host:80000/v1/metrics", ""])
def test_what_is_no_address(space, endpoint):
    path = space.path / "vampire.json"
    path.write_text(json.dumps({"outputs": [{"type": "otlp", "endpoint": endpoint}]}))
    done = subprocess.run([harness.program("vampire"), "--check-config", "-c", path], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and re.search(r"outputs.*endpoint", done.stderr), done.stderr


# ---- real servers, where there are some that know OTLP


def of_debian_13(program):
    """In the root of a Debian 13 that this variable names, or on this machine."""
    root = os.environ.get("VAMPIRE_OTLP_ROOT")
    found = shutil.which(program, path=str(pathlib.Path(root) / "usr" / "bin")) if root else shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def test_victoria_metrics_has_the_totals_of_the_file(space):
    server = exporters.victoria_metrics(space, program=of_debian_13("victoria-metrics"))
    url = f"{server.url}/opentelemetry/v1/metrics"
    if exporters.fetch(url, method="POST", data=b"", headers={"Content-Type": "application/x-protobuf"})[0] not in (200, 204):
        pytest.skip("this victoria-metrics has no OTLP; VAMPIRE_OTLP_ROOT may name a root of Debian 13")
    space.pool_manager()
    vampire = space.vampire(config(url))
    harness.Workflow(space, model_options=model_options(6, 3, 2, 64, 65536, 20)).finish()
    vampire.expect_exit(0)
    eventually(assert_server_sums, server, exporters.Totals(space.hdf5()))


def labels_of(metric):
    return frozenset((key, value) for key, value in exporters.own_labels(metric) if "." not in key)


def assert_server_sums(server, totals):
    """The last value, and what was added since each series was 0."""
    for name, series in totals.counters.items():
        for expression in (f"last_over_time({base(name)}[1h])", f"increase({base(name)}[1h])"):
            found = {labels_of(metric): value for metric, value in server.query(expression)}
            assert found.keys() == nonzero(series).keys(), name
            assert all(math.isclose(value, exporters.in_base_unit(name, series[labels]), rel_tol=1e-12)
                       for labels, value in found.items()), name
    for name, series in totals.histograms.items():
        for part, position in (("count", 0), ("sum", 1)):
            found = {labels_of(metric): value for metric, value in server.query(f"last_over_time({base(name)}_{part}[1h])")}
            assert found.keys() == series.keys() and all(
                math.isclose(value, exporters.in_base_unit(name, series[labels][1]) if position else series[labels][0],
                             rel_tol=1e-12) for labels, value in found.items()), name
