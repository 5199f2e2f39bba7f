# SPDX-License-Identifier: BSD-3-Clause
"""vampire-collect: runs that real vampires publish by a real nats-server, as one view."""

import json
import os
import re
import signal
import subprocess

import pytest

import harness
import nats_reader
import exporters
from test_nats import ENDING_REPLIES, tls_server

import vampire

pytestmark = pytest.mark.plain


def collector_config(server, directory, publish=None, **collect):
    """`publish`: options of an output that publishes the view."""
    address = server if isinstance(server, str) else server.address
    more = [{"type": "nats", "servers": [address], **publish}] if publish else []
    return {"collect": {"servers": [address], "bucket": "1s", "delay": "5s", **collect},
            "outputs": [{"type": "hdf5", "directory": str(directory)},
                        {"type": "jsonl", "path": str(directory / "view.jsonl")}, *more]}


class Collector:
    """A vampire-collect that has subscribed, with an HDF5 file in a folder of its own."""

    def __init__(self, space, server, name="flat", ready=True, **more):
        self.directory = space.path / name
        self.directory.mkdir()
        path, mark = space.path / f"{name}.json", space.path / f"{name}.ready"
        path.write_text(json.dumps(collector_config(server, self.directory, **{"answer": f"{name}-asks", **more})))
        self.process = space.start([harness.program("vampire-collect"), "-c", path, "--ready-file", mark], name)
        if ready:
            harness.wait_until(mark.exists, f"{name} has subscribed")

    @property
    def stderr(self):
        return self.process.stderr

    def stop(self):
        """The only file, complete."""
        self.process.stop()
        (path,) = self.directory.glob("*.h5")
        return path

    def state(self):
        """What SIGUSR1 prints: {name of a line: its number}."""
        before = len(self.stderr)
        self.process.signal(signal.SIGUSR1)
        harness.wait_until(lambda: " answered " in self.stderr[before:], "the state")
        return {name: int(count.replace(",", "")) for name, count in
                re.findall(r"^  (\w+) +([\d,]+)\b", self.stderr[before:], re.MULTILINE)}

    def until(self, name, count):
        harness.wait_until(lambda: self.state().get(name, 0) >= count, f"{count} {name}")


def run_config(server, workflow, access=None, **source):
    """`access`: options of the output with which the server lets it in."""
    return {"source": {"type": "synthetic", "start": "now", "speed": 1, "steps": 3, "step": "700ms",
                       "workflow": workflow, **source},
            "statistics": {"bucket": "1s", "lateness": "1ms"},
            "outputs": [{"type": "hdf5", "directory": "."},
                        {"type": "nats", "servers": [server.address], "name": "bus", **(access or {})}]}


def start_runs(space, server, workflows=("alpha", "beta"), **source):
    return [space.vampire(run_config(server, workflow, seed=number + 1, **source), name=workflow, ready=False)
            for number, workflow in enumerate(workflows)]


def files_of(space, workflows=("alpha", "beta")):
    return [next(space.path.glob(f"vampire-{workflow}-*.h5")) for workflow in workflows]


# ---------------------------------------------------------------- equality

# What collecting itself counts, and what is about one process.
OWN = re.compile(r"collect_|vampire_")
WHERE_FROM = ("workflow", "run")


def amounts(history, name, labels):
    made = vampire.merge(history, name, by=list(labels))
    if not made.ndim:
        return {(): int(made)}
    return {key if isinstance(key, tuple) else (key,): int(value) for key, value in made.items() if value}


def states(history, name, labels):
    """{(time, labels): (last, least, greatest)}, without those that are zero all the time."""
    found = {}
    for row in vampire.table(history, name, by=list(labels), freq="1s").itertuples(index=False):
        key, values = tuple(row)[:1 + len(labels)], tuple(row)[1 + len(labels):]
        if any(value == value and value != 0 for value in values):
            found[key] = values
    return found


def states_of_runs(histories, name, labels):
    """The same of several runs, with workflow and run as further labels."""
    found = {}
    for history in histories:
        (file,) = history.files
        for key, values in states(history, name, labels).items():
            found[(*key, file.attrs["workflow"], file.run)] = values
    return found


def assert_same(runs, view):
    """Every counter, sum and bin of the runs' files, added by the Python package, is that of the view; each
    run's gauges are in it."""
    merged, view, each = vampire.History(runs), vampire.History(view), [vampire.History(run) for run in runs]
    metrics = {name: metric for name, metric in merged.metrics.items() if not OWN.match(name)}
    assert len(metrics) > 15
    for name, metric in metrics.items():
        if metric.kind == "gauge":
            assert states(view, name, (*metric.labels, *WHERE_FROM)) == states_of_runs(each, name, metric.labels), name
        else:
            assert amounts(view, name, metric.labels) == amounts(merged, name, metric.labels), name


def values_of_view(path):
    """{metric: its values, by all labels}, of the runs: of gauges in each bucket, of others in all."""
    history = vampire.History(path)
    return {name: (states if metric.kind == "gauge" else amounts)(history, name, metric.labels)
            for name, metric in history.metrics.items() if not OWN.match(name)}


def endings(reader):
    return sum(message.HasField("ending") for message in reader.messages)


def test_a_view_is_the_merge_of_its_runs(space):
    """Also when each message comes twice, and garbage between them."""
    server = nats_reader.Server(space)
    reader = nats_reader.Reader(server)
    view = Collector(space, server)
    for run in start_runs(space, server):
        run.expect_exit(0)
    harness.wait_until(lambda: endings(reader) == 2, "the ends of both runs")
    messages = list(reader.messages)
    reader.stop()
    with nats_reader.Client(server.port) as client:
        for message in messages:
            subject = f"vampire.{message.run.workflow}.{message.run.id}"
            client.send(f"PUB {subject} {message.ByteSize()}".encode(), message.SerializeToString())
        for message in (b"\xff" * 100, b""):
            client.send(f"PUB vampire.again {len(message)}".encode(), message)
        client.request("flat-asks")
    view.until("messages", 2 * len(messages) + 2)
    state = view.state()
    assert (state["repeated"], state["runs"]) == (len(messages), 2)
    path = view.stop()
    assert_same(files_of(space), path)
    refused = re.findall(r"REFUSED +(\d) (\w+)", view.stderr)
    assert dict((reason, count) for count, reason in refused) == {"garbage": "1", "version": "1"}


def test_two_levels_are_one(space):
    server = nats_reader.Server(space)
    flat = Collector(space, server)
    above = Collector(space, server, "above", subject="site.>", delay="12s")
    sites = [Collector(space, server, f"site-{workflow}", subject=f"vampire.{workflow}.>", delay="2s",
                       publish={"prefix": "site"}) for workflow in ("alpha", "beta")]
    for run in start_runs(space, server):
        run.expect_exit(0)
    for site in sites:
        site.stop()
    above.until("messages", 4)
    one, two = values_of_view(flat.stop()), values_of_view(above.stop())
    assert set(one) == set(two) and sum(map(len, one.values())) > 100
    for name, values in one.items():
        assert values == two[name], name


def test_the_recipe_is_right(space):
    """docs/exporters.md, on another port."""
    port = str(exporters.free_port())
    for name in ("collect.json", "collect.sh"):
        (space.path / name).write_text(exporters.recipes()[name].replace("4222", port))
    environment = dict(space.environment, PATH=f"{harness.BUILD / 'bin'}:/usr/bin:/bin:/usr/sbin",
                       PYTHONPATH=str(harness.ROOT / "python"))
    script = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT; . ./collect.sh"
    done = subprocess.run(["bash", "-ec", script], cwd=space.path, env=environment, capture_output=True, text=True,
                          timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    amounts_shown = dict(re.findall(r"^(east|west) +(\d+)$", done.stdout, re.MULTILINE))
    assert set(amounts_shown) == {"east", "west"} and "REFUSED" not in done.stderr, done
    assert "Model -- 0" in done.stdout, "vampire-top shows the view"


def test_the_ready_configuration_is_right():
    subprocess.run([harness.program("vampire-collect"), "--check-config", harness.ROOT / "config" / "ready" / "vampire-collect.json"],
                   check=True)


# ---------------------------------------------------------------- what is missing or refused


def answer(server, request=b"", subject="flat-asks"):
    with nats_reader.Client(server.port) as client:
        return client.request(subject, request)


def present(server, request):
    """{(workflow, ...): value} of the newest bucket, of a metric with these labels."""
    return {series["labels"]["workflow"]: series["value"] for series in answer(server, request) if "metric" in series}


def test_a_run_that_is_killed_is_missing_from_then_on(space):
    server = nats_reader.Server(space)
    view = Collector(space, server, delay="2s")
    alpha, beta = start_runs(space, server, steps=1000)
    harness.wait_until(lambda: present(server, b"collect_runs_reporting workflow=*a") == {"alpha": 1, "beta": 1},
                       "both runs report")
    assert present(server, b"collect_runs_missing workflow=*a") == {"alpha": 0, "beta": 0}
    beta.signal(signal.SIGKILL)
    beta.wait()
    harness.wait_until(lambda: present(server, b"collect_runs_missing workflow=*a") == {"alpha": 0, "beta": 1},
                       "one is missing")
    alpha.stop()
    history = vampire.History(view.stop())
    (missing,) = {key[1:] for key in states(history, "collect_runs_missing", WHERE_FROM)}
    assert missing[0] == "beta"
    assert_named_as_missing(space, view.directory, "beta")


def assert_named_as_missing(space, directory, workflow):
    """Every reader of the view names a run of the workflow as missing."""
    (path,), lines = directory.glob("*.h5"), directory / "view.jsonl"
    name = rf"missing[^\n]*: {workflow} \(run [0-9a-f]{{8}}\)"
    whole = vampire.summary(path)
    assert not whole.whole and re.search(name, str(whole)), whole

    def shown(program, *arguments):
        return subprocess.run([program, *arguments], cwd=space.path, capture_output=True, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": str(harness.ROOT / "python")}).stdout

    summary = harness.program("vampire")
    texts = [shown(summary, "--summary", path), shown(summary, "--summary", lines),
             shown(harness.ROOT / "python" / "vampire-report", "--text", path)]
    for text in texts:
        assert re.search(name, text) and "very event was counted" not in text, text
    counts = {tuple(re.findall(r"\(run ([0-9a-f]{8})\) in (\d+)", text)) for text in texts}
    assert len(counts) == 1, "one number of buckets in all of them"
    assert re.search(name, shown(harness.program("vampire-top"), "--once", "--totals", lines))


def test_runs_behind_a_collector_that_is_killed_are_missing(space):
    """The outer collector's view names the missing runs, but neither their collector nor a run that had ended."""
    server = nats_reader.Server(space)
    near = Collector(space, server, name="near", delay="1s", publish={"prefix": "site"})
    view = Collector(space, server, delay="2s", subject="site.>")
    start_runs(space, server, ("alpha",), steps=1)[0].expect_exit(0)
    (beta,) = start_runs(space, server, ("beta",), steps=1000)
    harness.wait_until(lambda: present(server, b"collect_runs_reporting workflow=beta") == {"beta": 1}, "beta reports")
    near.process.signal(signal.SIGKILL)
    near.process.wait()
    harness.wait_until(lambda: present(server, b"collect_runs_missing workflow=*") == {"alpha": 0, "beta": 1}, "beta is missing")
    beta.stop()
    history = vampire.History(view.stop())
    (missing,) = {key[1:] for key in states(history, "collect_runs_missing", WHERE_FROM)}
    assert missing[0] == "beta"
    assert_named_as_missing(space, view.directory, "beta")


def test_what_is_refused_is_counted_and_said(space):
    server = nats_reader.Server(space)
    view = Collector(space, server)
    wide, old = run_config(server, "wide"), run_config(server, "old", start="fixed", speed=0)
    wide["statistics"]["bucket"] = "700ms"
    for name, made in (("wide", wide), ("old", old)):
        space.vampire(made, name=name, ready=False).expect_exit(0)
    harness.wait_until(lambda: "(late)" in view.stderr and "(width)" in view.stderr, "both reasons")
    path = view.stop()
    refused = {key[0]: value for key, value in amounts(vampire.History(path), "collect_refused", ("refusal",)).items()}
    assert {reason for reason, count in refused.items() if count} == {"late", "width"}
    for reason, count in refused.items():
        assert count == 0 or re.search(rf"REFUSED +{count} {reason}", view.stderr)


def test_a_stranger_cannot_speak_for_a_run(space):
    """He knows the run's id and what it publishes, and is always a bucket ahead."""
    server = nats_reader.Server(space)
    view, reader = Collector(space, server), nats_reader.Reader(server, "vampire.alpha.>")
    (run,) = start_runs(space, server, ("alpha",), steps=5)
    forged = 0
    with nats_reader.Client(server.port) as stranger:
        while run.running() or forged < len(reader.messages):
            for message in reader.messages[forged:]:
                copy = nats_reader.decode(message.SerializeToString())
                copy.number += 1
                copy.start_ns += copy.width_ns
                stranger.send(f"PUB vampire.evil.{copy.run.id} {copy.ByteSize()}".encode(), copy.SerializeToString())
                forged += 1
        stranger.send(b"PING")
        assert stranger.next(until=b"PONG") is None
    run.expect_exit(0)
    view.until("messages", 2 * forged)
    reader.stop()
    path = view.stop()
    assert re.search(rf"REFUSED +{forged} subject", view.stderr), view.stderr
    assert re.search(r"repeated +0 ", view.stderr) and forged > 3
    assert_same(files_of(space, ("alpha",)), path)


def test_a_server_that_announces_too_much(space):
    for announced in (2147483647, 67108865):
        deaf = nats_reader.silent_nats(b"PONG\r\n", max_payload=announced)
        view = Collector(space, f"nats://127.0.0.1:{deaf.port}", name=f"flat{announced}", ready=False)
        view.process.until_stderr(f"it announces messages of up to {announced} bytes (max_payload)")
        view.stop()


def test_a_server_that_ends_the_library_does_not_end_the_collector(space):
    """Its process is started again, with the next server."""
    hostile, server = nats_reader.silent_nats(ENDING_REPLIES[0]), nats_reader.Server(space)
    view = Collector(space, server, servers=[f"nats://127.0.0.1:{hostile.port}", server.address])
    assert "the process of this connection was ended by signal 11" in view.stderr, view.stderr
    for run in start_runs(space, server):
        run.expect_exit(0)
    assert_same(files_of(space), view.stop())


# ---------------------------------------------------------------- who may subscribe


def closed_server(space):
    """(server that wants a certificate, a user and a secret; the options that have them)"""
    (space.path / "secret").write_text("secret of the site\n")
    server, trusted = tls_server(space, "IP:127.0.0.1", "--user", "collector", "--pass", "secret of the site")
    return server, {**trusted, "user": "collector", "secret_file": str(space.path / "secret")}


def test_by_tls_with_a_certificate_and_a_secret(space):
    server, access = closed_server(space)
    view = Collector(space, server, **access)
    space.vampire(run_config(server, "alpha", access), name="alpha", ready=False).expect_exit(0)
    view.until("messages", 3)
    assert_same(files_of(space, ("alpha",)), view.stop())


@pytest.mark.parametrize("wrong, words", [
    ({"ca_file": None}, "self-signed certificate"),
    ({"user": "nobody"}, "Authorization Violation"),
], ids=["stranger", "user"])
def test_who_is_not_let_in(space, wrong, words):
    server, access = closed_server(space)
    access = {key: value for key, value in {**access, **wrong}.items() if value is not None}
    view = Collector(space, server, ready=False, **access)
    view.process.until_stderr(words)
    assert "secret of the site" not in view.stderr


# ---------------------------------------------------------------- servers that fail


def is_done(server, consumer):
    """Whether the consumer has acknowledged all that the stream has."""
    with nats_reader.Client(server.port) as client:
        state = client.request(f"$JS.API.CONSUMER.INFO.vampire.{consumer}")
    return state["num_pending"] == state["num_ack_pending"] == 0


def test_a_stream_makes_up_for_restarts_of_server_and_collector(space):
    server = nats_reader.Server(space, jetstream=True)
    server.make_stream()
    first = Collector(space, server, "first", consumer="view", delay="30s")
    runs = [space.vampire(made, name=made["source"]["workflow"], ready=False)
            for made in (run_config(server, "alpha", steps=6), run_config(server, "beta", steps=6, seed=2))
            if made["outputs"][1].update({"jetstream": True}) is None]
    first.until("messages", 2)
    files = [first.stop()]
    second = Collector(space, server, "second", consumer="view", delay="30s")
    second.until("messages", 1)
    server.process.signal(signal.SIGTERM)
    server.process.wait()
    second.process.until_stderr("the stream keeps what is published meanwhile")
    server.start()
    for run in runs:
        run.wait()  # the server's absence was reported, so the code is 1
        assert "LOST" not in run.stderr
    harness.wait_until(lambda: is_done(server, "view"), "all messages are acknowledged")
    files.append(second.stop())
    of_runs, of_view = vampire.History(files_of(space)), vampire.History(files)
    for name, metric in of_runs.metrics.items():
        if metric.kind != "gauge" and not OWN.match(name):
            assert amounts(of_view, name, metric.labels) == amounts(of_runs, name, metric.labels), name


def test_without_a_stream_what_was_published_meanwhile_is_missed(space):
    server = nats_reader.Server(space)
    server.process.signal(signal.SIGTERM)
    server.process.wait()
    view = Collector(space, server, ready=False)
    view.process.until_stderr("what is published meanwhile is missed")
    server.start()
    view.process.until_stderr("subscribed to")
    (run,) = start_runs(space, server, ("alpha",), steps=8)
    view.until("messages", 1)
    server.process.signal(signal.SIGTERM)
    server.process.wait()
    server.start()
    run.wait()
    harness.wait_until(lambda: view.stderr.count("subscribed to") == 2, "it has subscribed again")
    of_view, of_run = vampire.History(view.stop()), vampire.History(files_of(space, ("alpha",)))
    labels = of_run.metric("pool_operations").labels
    found, whole = (amounts(history, "pool_operations", labels) for history in (of_view, of_run))
    assert all(count <= whole[key] for key, count in found.items())
    assert view.stderr.count("error: subscribe at") <= 10, "messages are rate limited"


@pytest.mark.parametrize("made, words", [
    ({"collect": {"subject": "a..b"}}, "/collect/subject"),
    ({"collect": {"consumer": "two words"}}, "/collect/consumer"),
    ({"collect": {"servers": ["nats://user:password@host"]}}, "/collect/servers"),
    ({"collect": {"answer": "what.>"}}, "/collect/answer"),
    ({"collect": {"bucket": "2s"}, "outputs": [{"type": "jsonl", "path": "-", "bucket": "3s"}]}, '"collect.bucket"'),
    ({"outputs": [{"type": "nats"}]}, "would be collected again"),
    ({"outputs": [{"type": "recording"}]}, 'found the text "recording"'),
    ({"source": {"type": "synthetic"}}, '"source" is not an option of the configuration'),
])
def test_mistakes_in_a_configuration(space, made, words):
    path = space.path / "collect.json"
    path.write_text(json.dumps(made))
    done = subprocess.run([harness.program("vampire-collect"), "-c", path], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert "vampire-collect: error: " in done.stderr
