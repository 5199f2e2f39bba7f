# SPDX-License-Identifier: BSD-3-Clause
"""Samples: lines of other layers and of components become metrics, and cost the pool's events nothing."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

import exporters
import harness
import jsonl
from harness import Workflow, wait_until
from test_replay import differences, only
from vampire import samples_show

SECOND = 10**9
START = 1767225600 * SECOND  # of the synthetic source
LAST = START + 4 * SECOND  # its last step of five
METRICS = [
    "ifs_steps counter ifs.step component=component",
    "memory_used_bytes gauge memory.used unit=byte host=host",
    "io_ns histogram io.time unit=ns scale=1e9 host=host name=file",
]


def config(space, *, source=None, **samples):
    return {
        "source": source or {"type": "synthetic", "steps": 5},
        "samples": {"metrics": METRICS, **samples},
        "outputs": [{"type": "hdf5", "directory": str(space.path)},
                    {"type": "jsonl", "path": str(space.path / "vampire.jsonl")},
                    {"type": "recording", "directory": str(space.path)}],
    }


def run(space, lines, *options, **samples):
    (space.path / "lines").write_text("".join(line + "\n" for line in lines))
    process = space.vampire(config(space, files=[str(space.path / "lines")], **samples), *options, ready=False)
    process.expect_exit(0)
    return process


def assert_replayed_alike(space, but=()):
    """A replay of the recording gives the same file, but for these."""
    first = only(space.path, "h5")
    again = space.path / "again"
    again.mkdir()
    replayed = config(space)
    for output in replayed["outputs"]:
        output.update({"directory": str(again)} if "directory" in output else {"path": str(again / "again.jsonl")})
    space.vampire(replayed, "--replay", only(space.path, "rec"), name="again", ready=False,
                  extra={"MSTRO_WORKFLOW_NAME": ""}).expect_exit(0)
    assert set(differences(first, only(again, "h5"))) <= set(but)


def values(space, metric):
    """{(bucket, labels...): the line}"""
    return {(line["bucket"], *line["labels"].values()): line for line in jsonl.records(space.json_lines())
            if line["type"] == "metric" and line["metric"] == metric}


def total(space, metric):
    return sum(line["delta"] for line in values(space, metric).values())


class Oracle:
    """What docs/samples.md says of resets, gaps, doubled and late lines."""

    def __init__(self):
        self.counters, self.gauges, self.histograms, self.last = {}, {}, {}, {}

    def sees(self, time_ns, series, labels, kind, value):
        bucket = (time_ns - START) // SECOND
        if kind == "histogram":
            self.histograms.setdefault((bucket, *labels), []).append(value)
            return
        before = self.last.get(series)
        if before is not None and time_ns < before[0]:
            return
        self.last[series] = (time_ns, value)
        if kind == "gauge":
            self.gauges.setdefault((bucket, *labels), []).append(value)
        elif before is not None:
            self.counters[bucket, *labels] = self.counters.get((bucket, *labels), 0) + (
                value - before[1] if value >= before[1] else value)


def made_up(seed):
    """Lines with resets, gaps, doubled ones, and some that come up to 0.9 s late."""
    choice = random.Random(seed)
    steps, lines = {"A": 0, "B": 0}, []
    for at in range(START + SECOND // 2, LAST, SECOND // 20):
        if choice.random() < 0.2:
            continue
        for name in steps:
            steps[name] = 0 if choice.random() < 0.05 else steps[name] + choice.randrange(9)
            lines.append((at, "counter", name, steps[name]))
        lines.append((at, "gauge", choice.choice(["n1", "n2"]), choice.randrange(10**6)))
        lines.append((at, "histogram", "n1", choice.randrange(1000)))
        if choice.random() < 0.2:
            lines.append(lines[-choice.randrange(1, 5)])
        if choice.random() < 0.3:
            lines[-1] = (max(START + SECOND // 2, at - choice.randrange(9 * SECOND // 10)), *lines[-1][1:])
    return lines


FORMS = {"counter": "ifs,component={} step={}i {}", "gauge": "memory,host={}.site.org used={} {}",
         "histogram": "io,host={},file=/scratch time={}e-9 {}"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_declared_metrics_are_what_an_oracle_says(space, seed):
    oracle, lines = Oracle(), made_up(seed)
    for at, kind, name, value in lines:
        labels = (name, "/scratch") if kind == "histogram" else (name,)
        oracle.sees(at, (kind, name), labels, kind, value)
    process = run(space, [FORMS[kind].format(name, value, at) for at, kind, name, value in lines])
    steps = {key: line["delta"] for key, line in values(space, "ifs_steps").items() if line["delta"] > 0}
    assert steps == {key: value for key, value in oracle.counters.items() if value > 0}
    for (bucket, host), line in values(space, "memory_used_bytes").items():
        if (bucket, host) in oracle.gauges:
            assert line["value"] == oracle.gauges[bucket, host][-1]
            assert line["max"] >= max(oracle.gauges[bucket, host]) and line["min"] <= min(oracle.gauges[bucket, host])
    assert {key for key in oracle.gauges} <= set(values(space, "memory_used_bytes"))
    reads = {key: (line["count"], line["sum"]) for key, line in values(space, "io_ns").items() if line["count"]}
    assert reads == {key: (len(each), sum(each)) for key, each in oracle.histograms.items()}
    assert "times a counter began again" in process.stderr

    assert_replayed_alike(space)


@pytest.mark.parametrize("steps, grown, begins_again", [
    ([548282, 548281, 548282, 548284], 2, False),  # as the kernel's iowait
    ([7, 6, 9], 2, False),
    ([10000, 9900, 9899, 10050], 50, False),
    ([10000, 9800], 9800, True),
    ([4294967000, 204, 500], 500, True),
    ([1, 0, 1], 1, True),
])
def test_a_counter_that_steps_back_does_not_begin_again(space, steps, grown, begins_again):
    process = run(space, [f"ifs,component=A step={step}i {START + (at + 1) * SECOND // 10}" for at, step in enumerate(steps)])
    assert total(space, "ifs_steps") == grown
    assert ("began again" in process.stderr) == begins_again


def test_a_gauge_has_no_value_before_its_first_sample(space):
    run(space, [f"memory,host=n1 used=7 {START + 5 * SECOND // 2}", f"memory,host=n1 used=9 {LAST - 1}"])
    lines = values(space, "memory_used_bytes")
    known = {bucket: (line["value"], line["min"], line["max"]) for (bucket, host), line in lines.items() if host == "n1"
             and line["value"] is not None}
    assert known[2] == (7, 7, 7) and known[3] == (9, 7, 9) and min(known) == 2


def test_a_file_with_few_labels_has_those_that_were_declared(space):
    """JSON lines that say nothing of labels merge components, but not hosts or whatever a declaration asks for."""
    at = START + SECOND
    (space.path / "lines").write_text("".join(f"memory,host=n{n} used={n}i {at}\nio,host=n{n},file=/f time=1e-9 {at}\n"
                                              f"ifs,component=C{n} step=1i {at}\nifs,component=C{n} step=3i {at + 1}\n" for n in (1, 2)))
    asked = config(space, files=[str(space.path / "lines")])
    (space.path / "own.json").write_text(json.dumps(asked))
    space.start([harness.program("vampire"), "-c", "own.json"], "own").expect_exit(0)
    assert set(values(space, "memory_used_bytes")) >= {(1, "n1"), (1, "n2")}
    assert {key for key, line in values(space, "io_ns").items() if line["count"]} == {(1, "n1", "/f"), (1, "n2", "/f")}
    assert {key: line["delta"] for key, line in values(space, "ifs_steps").items() if line["delta"]} == {(1, "C1"): 2, (1, "C2"): 2}


def test_who_sent_nothing_has_no_value_on_any_page(space):
    """Neither components that share the label, nor a counter that did not grow; plug-ins know declared metrics."""
    page = f"127.0.0.1:{free_port()}"
    lines = [f"ifs,component=Z step={value}i {START + SECOND + value}" for value in (1, 4)]
    lines += [f"ifs,component=Still step=7i {START + SECOND + n}" for n in (1, 2)]
    (space.path / "lines").write_text("\n".join(lines) + "\n")
    asked = config(space, files=[str(space.path / "lines")])
    asked["outputs"][1]["by"] = {}
    asked["outputs"].append({"type": "prometheus", "listen": f"tcp:{page}", "linger": "60s"})
    vampire = space.vampire(asked, ready=False)
    wait_until(lambda: re.search("^vampire_run_ended.* 1$", exporters.fetch(f"http://{page}/metrics")[2], re.MULTILINE),
               "the page is complete")
    text = exporters.fetch(f"http://{page}/metrics")[2]
    vampire.signal(signal.SIGTERM)
    vampire.expect_exit(0)
    assert re.findall("^vampire_(?:ifs|io|memory).*", text, re.MULTILINE) == [
        'vampire_ifs_steps_total{workflow="synthetic",component="Z"} 3']
    assert {key[1:] for key in values(space, "ifs_steps")} == {("Z",)}
    listed = space.vampire(asked, "--list-metrics=json", name="list", ready=False).expect_exit(0)
    assert '"ifs_steps"' in space.path.joinpath("list.stdout").read_text(), listed


def test_what_is_not_declared_and_what_is_wrong_is_named(space):
    at = START + SECOND
    process = run(space, [f"cpu,host=n1 user=1.5,system=2 {at}"] * 3 + ["job,id=3 event={} 5"] * 7 + ["m a=1"])
    assert re.search(r"not declared +cpu.user \(3 samples\)", process.stderr), process.stderr
    assert process.stderr.count("column 16: expected a number") == 5
    assert "8 lines refused" in process.stderr


def test_filters_ask_for_samples(space):
    """One that does not speak of samples passes them, in statistics as in recordings."""
    at = START + SECOND
    lines = [f"memory,host={host}.site.org used={value}i {at}" for host, value in (("n1", 7), ("n2", 800), ("m1", 9))]
    lines += [f"io,host={host},file=/f time={value}e-9 {at}" for host, value in (("n1", 3), ("n1", 50), ("m1", 3))]
    (space.path / "lines").write_text("\n".join(lines) + "\n")
    samples = {"metrics": METRICS, "files": [str(space.path / "lines")]}
    made = config(space, **samples)
    made["events"] = {"filter": "(or (not (has .sample.name)) (and (.sample.tag.host glob 'n*') (not (.sample.value > 500.5))))"}
    made["statistics"] = {"filters": {"io_ns": "(and (.sample.name = io.time) (.sample.value < 4e-8))",
                                      "pool_operations": "(.component.name glob 'Model*')"}}
    made["outputs"].append({"type": "recording", "directory": str(space.path), "name": "models", "filter": "(.component.name glob 'Model*')"})
    process = space.vampire(made, ready=False)
    process.expect_exit(0)
    assert {key[1] for key, line in values(space, "memory_used_bytes").items() if line["value"] is not None} == {"n1"}
    assert {key: line["sum"] for key, line in values(space, "io_ns").items() if line["count"]} == {(1, "n1", "/f"): 3}
    assert total(space, "pool_operations") > 0 and "4 left out by a filter" in process.stderr
    (few,) = space.path.glob("*-models-*.rec")
    data = few.read_bytes()
    assert b"memory,host=n1" in data and b"memory,host=n2" not in data and b"io,host=n1,file=/f time=50" in data


def test_samples_show_refuses_what_a_run_refuses(space):
    refused = [(r"m,a=1,a=2 c=1", "duplicate tag"), (r"m,a=b=c c=1", "expected a tag, NAME=VALUE"),
               (r"m,a=x\\,b=y c=1", "expected a tag, NAME=VALUE"), (r"m,a c=1", "expected a tag, NAME=VALUE"),
               (r"m,a=b c", "expected a field, NAME=VALUE")]
    for line, message in refused:
        with pytest.raises(ValueError, match=message):
            samples_show.read_line(line)
    (space.path / "lines").write_text("".join(f"{line}\n" for line, _ in refused))
    process = space.vampire(config(space, metrics=METRICS, files=[str(space.path / "lines")]), ready=False)
    process.expect_exit(0)
    assert f"{len(refused)} lines refused" in process.stderr, process.stderr


def test_samples_show_reads_tags_as_a_run_does():
    assert samples_show.read_line(r"m,a=\z,b=\\z,c=\\\,z v=1") == ("m", {"a": r"\z", "b": r"\\z", "c": r"\\,z"}, {"v": 1})


@pytest.mark.parametrize("text, message", [
    ("(.sample.value = big)", "line 1, column 18"),
    ("(.sample.tag. = a)", "'.sample.tag.' is no name"),
    ("(.sample.host = n1)", "unknown name '.sample.host'"),
    ("(.sample.value > 3)", "never true"),
    ("(and (has .maestro.a) (has .sample.name))", "never true"),
    ("(.component.name = Model)", "this filter has no condition on samples, which steps counts"),
])
def test_mistakes_in_filters_of_samples(space, text, message):
    asked = {"statistics": {"filters": {"steps": text}}, "samples": {"metrics": ["steps counter ifs.step"]}} if "Model" in text else {
        "events": {"filter": text}}
    process = space.vampire(asked, "--check-config", ready=False)
    process.expect_exit(2)
    assert message in process.stderr + process.stdout, process.stderr + process.stdout


def test_more_series_than_there_is_room_for(space):
    at = START + SECOND
    lines = [f"ifs,component=c{n} step={step}i {at + step}" for step in (0, 3) for n in range(10000)]
    process = run(space, lines)
    assert total(space, "ifs_steps") == 30000
    assert "(other)" in {key[1] for key, line in values(space, "ifs_steps").items() if line["delta"] > 0}
    assert len({key[1] for key, line in values(space, "ifs_steps").items()}) < 1100
    assert "20,000 counted" in process.stderr


@pytest.mark.parametrize("samples, message", [
    ({"metrics": ["x counter"]}, "expected NAME KIND MEASUREMENT.FIELD"),
    ({"metrics": ["x meter a.b"]}, "no kind: expected counter, gauge or histogram"),
    ({"metrics": ["pool_bytes gauge a.b"]}, "there is a metric pool_bytes already"),
    ({"metrics": ["x gauge a.b", "y gauge a.b"]}, "a.b is declared twice"),
    ({"metrics": ["x gauge a.b rack=rack"]}, "expected unit, scale, only, value, component, host, job or name"),
    ({"metrics": ["x gauge a.b only=c:1", "y gauge a.b only=c:1"]}, "a.b is declared twice"),
    ({"metrics": ["x gauge a.b only=c"]}, "expected only=TAG:VALUE"),
    ({"metrics": ["x gauge a.b value=c"]}, '"value=c" is for histograms only'),
    ({"metrics": ["x gauge a.b scale=0"]}, "expected a number above 0"),
    ({"listen": ["udp:8094"]}, "lines arrive now, not at the time that is replayed"),
    ({"listen": ["tcp:8094"]}, "expected unix:PATH or udp:ADDRESS:PORT"),
])
def test_mistakes_are_found_before_a_run(space, samples, message):
    process = space.vampire({"source": {"type": "synthetic"}, "samples": samples}, "--check-config", ready=False)
    process.expect_exit(2)
    assert message in process.stderr + process.stdout


# ---- a live workflow

C_EXAMPLE = r"""
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
int main(int argc, char **argv)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int file = socket(AF_UNIX, SOCK_DGRAM, 0);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", argv[argc - 1]);
    for (int step = 0; step < 5; step++) {
        char line[100];
        int bytes = snprintf(line, sizeof line, "ifs,component=C step=%di", step);
        sendto(file, line, bytes, 0, (struct sockaddr *)&to, sizeof to);
    }
    return 0;
}
"""
PYTHON_EXAMPLE = """
import socket, sys
to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for step in range(5):
    to.sendto(b"ifs,component=Python step=%di" % step, sys.argv[1])
"""
SHELL_EXAMPLE = "for step in 0 1 2 3 4; do printf 'ifs,component=Shell step=%di' $step > /dev/udp/127.0.0.1/$1; done"


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def live(space, **samples):
    """A workflow under way, which ends when its models do."""
    space.pool_manager()
    address, port = space.path / "samples", free_port()
    vampire = space.vampire(config(space, source={"leave_grace": "300ms"},
                                   listen=[f"unix:{address}", f"udp:{port}"], **samples))
    workflow = Workflow(space, models=1, products=1, model_options=["--steps", 4, "--rate", 20])
    return vampire, workflow, address, port


def test_a_component_needs_no_library(space):
    (space.path / "send.c").write_text(C_EXAMPLE)
    subprocess.run(["cc", "-o", space.path / "send", space.path / "send.c"], check=True)
    vampire, workflow, address, port = live(space)
    for command in ([space.path / "send", address], [sys.executable, "-c", PYTHON_EXAMPLE, address],
                    ["bash", "-c", SHELL_EXAMPLE, "shell", str(port)]):
        subprocess.run(command, check=True)
    workflow.finish()
    vampire.expect_exit(0)
    steps = {}
    for (_, component), line in values(space, "ifs_steps").items():
        steps[component] = steps.get(component, 0) + line["delta"]
    assert {name: steps[name] for name in ("C", "Python", "Shell")} == {"C": 4, "Python": 4, "Shell": 4}
    assert not address.exists()
    assert_replayed_alike(space)


@pytest.mark.skipif(harness.MODE in ("asan", "tsan"), reason="sanitizers want to be preloaded first")
@pytest.mark.parametrize("ahead", [0, 3600, -3600])
def test_samples_of_an_idle_pool_are_counted(space, ahead):
    """In buckets of vampire's clock, which the pool's first event replaces by the pool manager's."""
    space.pool_manager()
    address = space.path / "samples"
    ends = {"leave_grace": "300ms"} if ahead else {"leave_when_empty": False}
    made = config(space, source=ends, listen=[f"unix:{address}"])
    (space.path / "offset").write_text(str(ahead))
    vampire = space.vampire(made, extra={"LD_PRELOAD": str(harness.build_preload("stepped_clock", space.path)),
                                         "STEPPED_CLOCK": str(space.path / "offset")})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        for value in (3, 5):
            to.sendto(f"ifs,component=Idle step={value}i".encode(), str(address))
    wait_until(lambda: space.json_lines().exists() and total(space, "ifs_steps") == 2, "the samples are counted")
    if ahead == 0:
        vampire.signal(signal.SIGTERM)
    else:
        Workflow(space, model_options=["--steps", 2, "--levels", 2, "--params", 2, "--rate", 40]).finish()
    vampire.expect_exit(0)
    assert total(space, "ifs_steps") == 2 and total(space, "vampire_late") == 0
    assert (total(space, "pool_operations") == 0) == (ahead == 0)
    assert_replayed_alike(space, but=() if ahead else ("end_reason",))


def test_a_socket_that_is_in_use_is_refused(space):
    """Whatever its type, and whoever listens; the socket of a process that has ended is replaced."""
    space.pool_manager()
    address = space.path / "samples"
    made = config(space, source={"leave_when_empty": False}, listen=[f"unix:{address}"])
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(socket.AF_UNIX, kind) as other:
            other.bind(str(address))
            if kind == socket.SOCK_STREAM:
                other.listen()
            before = address.stat().st_ino
            refused = space.vampire(made, name="refused", ready=False)
            refused.expect_exit(1)
            assert f"listen on unix:{address}: another process listens there" in refused.stderr
            assert address.stat().st_ino == before
        if kind == socket.SOCK_STREAM:
            break  # the file is stale from now on
        address.unlink()
    mask = os.umask(0)
    vampire = space.vampire(made)
    os.umask(mask)
    assert address.stat().st_mode & 0o777 == 0o600
    address.rename(space.path / "moved")
    address.write_text("of somebody else")
    vampire.signal(signal.SIGTERM)
    vampire.expect_exit(0)
    assert address.read_text() == "of somebody else"


def test_a_datagram_that_is_too_long_is_refused_as_a_whole(space):
    vampire, workflow, address, _ = live(space)
    head = b"#" * (65536 - len(b"ifs,component=L step=12") - 1) + b"\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        to.sendto(head + b"ifs,component=L step=123456i\n", str(address))
        for step in (b"1", b"2"):
            to.sendto(b"ifs,component=L step=" + step + b"i\n", str(address))
    workflow.finish()
    vampire.expect_exit(0)
    assert "the datagram is longer than 65536 bytes" in vampire.stderr
    assert total(space, "ifs_steps") == 1


def test_a_flood_of_garbage_takes_nothing_from_the_pool(space):
    followed = space.path / "followed"
    followed.write_text("ifs,component=F step=100i\n")
    vampire, workflow, address, port = live(space, files=[str(followed)])
    choice = random.Random(4)
    with (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
          open(followed, "a") as file):
        for number in range(3000):
            to.sendto(choice.randbytes(choice.randrange(1, 3000)), str(address))
            udp.sendto(choice.randbytes(choice.randrange(1, 3000)), ("127.0.0.1", port))
            if number % 1000 == 0:
                file.write(f"ifs,component=F step={number}i\n" + "x" * 100000 + "\n")
                file.flush()
        far = time.time_ns() + 10**15
        to.sendto(f"ifs,component=G step=1i {far}".encode(), str(address))
    reports = workflow.finish()
    vampire.expect_exit(0)
    assert reports and "lines refused" in vampire.stderr and "every event was counted" in vampire.stderr
    assert total(space, "ifs_steps") == 2000


def test_nothing_is_open_without_samples(space):
    process = space.vampire({"source": {"type": "synthetic"}, "outputs": []}, ready=False)
    process.expect_exit(0)
    assert "samples" not in process.stderr


def test_the_pool_manager_tells_what_it_uses(space):
    space.pool_manager("--tell-use", "100ms", "--max-cdos", "1234")
    metrics = [f"{name} gauge maestro_pool.{field}" for name, field in (
        ("cdos_limit", "cdos_limit"), ("there", "components"), ("object_bytes", "object_bytes"), ("object_limit", "object_bytes_limit"))]
    made = {**config(space, source={"type": "maestro", "leave_grace": "300ms"}), "samples": {"metrics": metrics},
            "statistics": {"bucket": "200ms"}}
    vampire = space.vampire(made)
    Workflow(space, model_options=["--steps", 10, "--levels", 2, "--params", 2, "--rate", 40]).finish()
    vampire.expect_exit(0)
    known = {name: [line["value"] for line in values(space, name).values() if line["value"] is not None]
             for name in ("cdos_limit", "there", "object_bytes", "object_limit")}
    assert set(known["cdos_limit"]) == {1234} and max(known["there"]) >= 6  # with pool manager and vampire
    assert 0 < max(known["object_bytes"]) < known["object_limit"][-1] == 2**30


def test_how_an_input_is_can_be_a_metric(space):
    space.pool_manager()
    spoke, silent = space.path / "spoke", space.path / "silent"
    made = {**config(space, source={"type": "maestro", "leave_when_empty": False}), "statistics": {"bucket": "200ms"}, "samples": {
        "listen": [f"unix:{spoke}", f"unix:{silent}"], "metrics": [
            "age_ms gauge vampire_input.age unit=ms scale=1000 name=input", "lines gauge vampire_input.lines name=input",
            "refused gauge vampire_input.refused name=input", "beyond gauge vampire_input.beyond name=input"]}}
    vampire = space.vampire(made)
    Workflow(space, model_options=["--steps", 2, "--levels", 2, "--params", 2, "--rate", 40]).finish()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(b"not,declared=yes value=1i\nno line\n", str(spoke))
    wait_until(lambda: any(line["value"] is not None and line["value"] >= 2000 for line in values(space, "age_ms").values()), "the age is known")
    vampire.signal(signal.SIGTERM)
    vampire.expect_exit(0)
    assert {key[1] for key, line in values(space, "age_ms").items() if line["value"] is not None} == {f"unix:{spoke}"}
    last = {name: list(values(space, name).values())[-1]["value"] for name in ("lines", "refused", "beyond")}
    assert last == {"lines": 2, "refused": 1, "beyond": 0}
    assert "vampire_input" not in vampire.stderr
