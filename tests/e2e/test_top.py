# SPDX-License-Identifier: BSD-3-Clause
"""vampire-top shows what the JSON lines say, as plain text and from every kind of source."""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import threading

import pytest

import harness
import jsonl
from top_streams import ENVIRONMENT, Lines, SECONDS, append, synthetic


def top(*arguments, code=0, data=None):
    options = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(
        [harness.program("vampire-top"), *arguments], capture_output=True, timeout=SECONDS,
        env=ENVIRONMENT, check=False, **options)
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == code, done.stderr
    return done


def blocks(text):
    """Operations of each block of plain text."""
    return re.findall(r"^  operations +([\d,.]+)", text, re.MULTILINE)


# ---------------------------------------------------------------- what is shown


def test_newest_state_as_text(space):
    lines, operations, lost = synthetic(space)
    text = top("--once", "--totals", lines).stdout
    assert re.search(rf"operations +{operations}\b", text)
    assert re.search(rf"losses .*{lost}", text)
    assert "Model -- 0 -> Products 0" in text
    named = top("--once", "--totals", "--filter", "Products 1", lines).stdout
    assert "Products 1" in named and "-> Products 0" not in named


def test_a_block_for_each_bucket(space):
    """And of the end only what is new: what was lost behind the last bucket."""
    run = Lines()
    text = run.header() + run.bucket({"a": 3}) + run.bucket({"a": 5}) + run.end(lost=7)
    shown = top("--plain", "-", data=text.encode()).stdout
    assert blocks(shown) == ["3", "5"]
    assert shown.rstrip().endswith("! losses     7 events in ring (+7)")
    assert shown.count("ended: finished") == 1
    # The next run of the same stream is another one; a stream may end within a line.
    again = Lines("run-2", "second")
    text += again.header() + again.bucket({"b": 1}) + again.bucket({"b": 2})[:-20]
    shown = top("--plain", "-", data=text.encode()).stdout
    assert blocks(shown) == ["3", "5", "1"]
    assert "second" in shown


def test_mistakes_are_reported(space):
    missing = space.path / "missing.jsonl"
    assert str(missing) in top("--once", missing, code=2).stderr
    assert "size" in top("--sort", "size", missing, code=2).stderr
    for source in ("tcp:", "tcp:x", "tcp:0", "tcp:65536", "tcp:10.1.2.3:80", "tcp:[::1]:", "unix:",
                   "unix:/" + "x" * 200, "", "x" * 5000):
        assert top("--once", source, code=2).stderr.startswith("vampire-top: ")
    assert "connect" in top("--once", f"unix:{missing}", code=2).stderr
    junk = space.path / "junk.jsonl"
    junk.write_text("no JSON\n" * 3)
    for once in ("--once",), ():
        assert "is it a JSON lines output of vampire, version 2?" in top(*once, junk, code=2).stderr


def test_damaged_streams(space):
    """Broken, cut and endless lines are counted, bounded in memory, and hide nothing else."""
    run = Lines()
    good = run.bucket({"a": 3}).encode()
    damaged = [b"{", b"\xff\xfe\x00", b"[" * 60000, b"x" * (16 << 20), b'{"type":"bucket"}', b'"' + b"\\" * 65000]
    text = run.header().encode() + good + b"".join(line + b"\n" for line in damaged) + good
    path = space.path / "damaged.jsonl"
    path.write_bytes(text + good[:-30])
    child = subprocess.Popen(
        [harness.program("vampire-top"), "--plain", "--all", path], stdout=subprocess.PIPE, env=ENVIRONMENT)
    try:
        shown = b""
        while shown.count(b"  operations ") < 2:
            read = os.read(child.stdout.fileno(), 65536)
            assert read, shown
            shown += read
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert blocks(shown.decode()) == ["3", "3"]
    if harness.MODE == "release":
        assert int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) < 64 << 10  # KiB
    shown = top("--plain", "-", data=text + good[:-30]).stdout
    assert blocks(shown) == ["3", "3"]
    assert f"{len(damaged)} lines not understood" in shown


# ---------------------------------------------------------------- where it comes from


@contextlib.contextmanager
def server(space, kind, conversation):
    """Listens, and lets the conversation speak to the first who connects. Gives the SOURCE."""
    family = {"unix": socket.AF_UNIX, "tcp": socket.AF_INET, "tcp6": socket.AF_INET6}[kind]
    listener = socket.socket(family)
    listener.settimeout(SECONDS)
    path = space.path / "socket"
    listener.bind(str(path) if kind == "unix" else ("::1" if kind == "tcp6" else "127.0.0.1", 0))
    listener.listen(1)

    def serve():
        with listener, listener.accept()[0] as connection:
            conversation(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    port = None if kind == "unix" else listener.getsockname()[1]
    yield {"unix": f"unix:{path}", "tcp": f"tcp:{port}", "tcp6": f"tcp:[::1]:{port}"}[kind]
    thread.join(SECONDS)
    assert not thread.is_alive()


@pytest.mark.parametrize("kind", ["unix", "tcp", "tcp6"])
def test_sockets(space, kind):
    """In pieces of a few bytes; the end of the connection is the end."""
    run = Lines()
    text = (run.header() + run.bucket({"a": 3}) + run.bucket({"a": 5})).encode()

    def in_pieces(connection):
        for at in range(0, len(text), 7):
            connection.sendall(text[at : at + 7])

    with server(space, kind, in_pieces) as source:
        assert blocks(top("--plain", source).stdout) == ["3", "5"]


def test_a_socket_after_a_reload(space):
    """Its readers get the end of the old configuration, and connect again."""
    run = Lines()
    path = space.path / "socket"
    process = None
    for operations, reason in ((3, "configuration reloaded"), (5, "finished")):
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.settimeout(SECONDS)
            listener.bind(str(path))
            listener.listen(1)
            process = process or follow(space, f"unix:{path}")
            with listener.accept()[0] as connection:
                connection.sendall((run.header() + run.bucket({"a": operations}) + run.end(reason)).encode())
    process.expect_exit(0, 60)
    assert blocks(process.stdout) == ["3", "5"]


def test_a_connection_that_breaks(space):
    run = Lines()
    text = (run.header() + run.bucket({"a": 3})).encode()

    def break_off(connection):
        connection.sendall(text)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with server(space, "tcp", break_off) as source:
        done = subprocess.run([harness.program("vampire-top"), "--plain", source], capture_output=True,
                              text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stderr != "") in ((0, False), (1, True)), done.stderr


def follow(space, source, *options):
    return space.start([harness.program("vampire-top"), "--plain", *options, source], "top")


def shows(process, expected):
    def shown():
        assert process.running() or blocks(process.stdout) == expected, process.account()
        return blocks(process.stdout) == expected

    harness.wait_until(shown, f"blocks {expected}", 60)


@pytest.mark.parametrize("reason", ["rotated", "configuration reloaded"])
def test_a_file_that_grows_rotates_and_is_replaced(space, reason):
    path = space.path / "vampire.jsonl"
    run = Lines()
    process = follow(space, path, "--wait")
    append(path, run.header() + run.bucket({"a": 3}))
    shows(process, ["3"])
    half = run.bucket({"a": 5})
    append(path, half[:40])
    append(path, half[40:])
    shows(process, ["3", "5"])
    # Another run has the next number: it is not ours.
    append(f"{path}.0002", Lines("run-9").header() + Lines("run-9").bucket({"z": 99}))
    append(path, run.end(reason))
    append(f"{path}.0003", run.header(2) + run.bucket({"a": 7}))
    shows(process, ["3", "5", "7"])
    # Replaced by a file of another run, then cut and written again.
    last = space.path / "vampire.jsonl.0003"
    other = Lines("run-2")
    append(space.path / "new", other.header() + other.bucket({"b": 11}) + other.bucket({"b": 12}))
    os.replace(space.path / "new", last)
    shows(process, ["3", "5", "7", "11", "12"])
    os.truncate(last, 0)
    third = Lines("run-3")
    append(last, third.header() + third.bucket({"c": 13}))
    shows(process, ["3", "5", "7", "11", "12", "13"])
    append(last, third.end())
    process.expect_exit(0)


def test_a_fifo_waits_for_its_writers(space):
    path = space.path / "fifo"
    os.mkfifo(path)
    run = Lines()
    process = follow(space, path)
    append(path, run.header() + run.bucket({"a": 3}))
    shows(process, ["3"])
    append(path, run.bucket({"a": 5}))
    shows(process, ["3", "5"])
    append(path, run.end())
    process.expect_exit(0)


# ---------------------------------------------------------------- what is not in the stream


def row(text, name):
    """The words after a row's name."""
    found = re.search(rf"^ +{re.escape(name)} +(.*)$", text, re.MULTILINE)
    assert found, f"no row {name}:\n{text}"
    return found[1].split()


def test_lines_with_few_labels(space):
    """Components have their numbers from lines of their own, and pairs are not there."""
    files = {"few": {"by": {"transports*": ["tier"], "*": ["operation"]}}, "all": {"without": []}}
    config = {"source": {"type": "synthetic", "seed": 7, "steps": 20, "producers": 3},
              "outputs": [{"type": "jsonl", "path": f"{name}.jsonl", "queue": 4096, **more}
                          for name, more in files.items()]}
    space.vampire(config, ready=False).expect_exit(0)
    few, whole = (top("--once", "--totals", space.path / f"{name}.jsonl").stdout for name in files)
    for name in ("Model -- 0", "Model -- 2", "Products 1"):
        assert row(few, f"{name} (finalized)") == row(whole, f"{name} (finalized)")
        assert row(few, f"{name} (finalized)")[0] != "0"
    assert "not in this stream" in few and "->" in whole and "not in this stream" not in whole
    assert re.search(r"operations +([\d,.M]+)", few)[1] == re.search(r"operations +([\d,.M]+)", whole)[1]
    # Of a stream that begins in the middle, the totals so far are not the first bucket's.
    lines = (space.path / "few.jsonl").read_text().splitlines(keepends=True)
    start = [number for number, line in enumerate(lines) if '"type":"bucket"' in line][4] + 1
    middle = top("--once", "--totals", "-", data="".join([lines[0], *lines[start:]]).encode()).stdout
    assert int(row(middle, "Model -- 0 (finalized)")[0].replace(",", "")) < int(
        row(few, "Model -- 0 (finalized)")[0].replace(",", ""))


def test_many_components_are_the_largest_and_the_rest(space):
    config = {"source": {"type": "synthetic", "seed": 7, "steps": 10, "producers": 70, "consumers": 30},
              "statistics": {"bucket": "1s", "models": ["Model=Model -- *"]},
              "outputs": [{"type": "jsonl", "path": "components.jsonl", "queue": 4096},
                          {"type": "jsonl", "path": "models.jsonl", "queue": 4096,
                           "by": ["model", "source_model", "sink_model", "operation"]}]}
    space.vampire(config, ready=False).expect_exit(0)
    data = (space.path / "components.jsonl").read_bytes()  # of a large file only the end is read
    lines = jsonl.records(space.path / "components.jsonl")
    text = top("--once", "--totals", "--ranks", "-", data=data).stdout
    operations = {}
    for line in lines:
        if line.get("metric") == "pool_operations" and line["delta"] > 0:
            name = line["labels"]["component"]
            operations[name] = operations.get(name, 0) + line["delta"]
    assert len(operations) == 100
    shown = re.findall(r"^  ((?:Model -- |Products )\d+) \(finalized\) +([\d,]+)", text, re.MULTILINE)
    assert len(shown) == 40 and all(int(count.replace(",", "")) == operations[name] for name, count in shown)
    rest = row(text, "60 more")
    assert int(rest[0].replace(",", "")) == sum(operations.values()) - sum(operations[name] for name, _ in shown)
    assert rest[-3:-1] == ["-", "-"], "none of these has waited"
    by_name = top("--once", "--totals", "--ranks", "--sort", "name", "-", data=data).stdout
    assert by_name.index("Model -- 2 ") < by_name.index("Model -- 10 ")
    models = top("--once", "--totals", space.path / "models.jsonl").stdout
    assert "MODEL " in models and " more " not in models.split("SOURCE")[0]
    assert int(row(models, "Model (x70, finalized)")[0].replace(",", "")) == sum(
        count for name, count in operations.items() if name.startswith("Model"))
    assert re.search(r"^  Model -> Products 1 ", models, re.MULTILINE) and "Model -- 0" not in models


def test_models_first_and_who_waited_for_whom(space):
    """Of a run of many ranks, as the Python package has them; the last seconds, and the end of a long file."""
    config = {"source": {"type": "synthetic", "seed": 7, "steps": 40, "producers": 20, "consumers": 10},
              "statistics": {"bucket": "1s"}, "outputs": [{"type": "jsonl", "path": "lines.jsonl", "queue": 4096, "without": []}]}
    space.vampire(config, ready=False).expect_exit(0)
    lines = jsonl.records(space.path / "lines.jsonl")
    waited, buckets = {}, [line for line in lines if line["type"] == "bucket"]
    for line in lines:
        if line.get("metric") == "demand_wait_part_ns":
            part = line["labels"]["part"]
            waited[part] = waited.get(part, 0) + line["sum"] * (line["labels"]["component"].startswith("Products")
                                                               and line["labels"]["producer"].startswith("Model"))
    text = top("--once", "--totals", "--all", space.path / "lines.jsonl").stdout
    assert re.search(r"^  MODEL ", text, re.MULTILINE) and "-- 0" not in text.split("WAITED FOR")[0].replace("vanished", "")
    assert re.search(r"^  Model -> Products ", text, re.MULTILINE)
    found = re.search(r"^  Model <- Products +([\d.]+) (\w+)", text, re.MULTILINE)
    unit = {"s": 1e9, "ms": 1e6, "min": 60e9, "h": 3600e9}[found[2]]
    assert abs(float(found[1]) * unit - sum(waited.values())) <= 0.006 * unit
    ranks = top("--once", "--totals", "--ranks", "--sort", "name", space.path / "lines.jsonl").stdout
    assert re.search(r"^  Model -- \d+ <- Products \d+ ", ranks, re.MULTILINE)
    last = top("--once", "--window", "3", space.path / "lines.jsonl").stdout
    count = sum(line["delta"] for line in lines if line.get("metric") == "pool_operations"
                and line["bucket"] in [bucket["bucket"] for bucket in buckets[-3:]])
    assert "the last 3 s" in last and float(re.search(r"operations +([\d,.]+)/s", last)[1].replace(",", "")) == pytest.approx(
        count / 3, abs=0.6)
    for wrong in ("0", "x", "-3", "1.5"):
        assert "it is a number of seconds" in top("--window", wrong, space.path / "lines.jsonl", code=2).stderr


def test_the_end_of_a_long_file_says_so(space):
    run, path = Lines(), space.path / "long.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        file.write(run.header())
        for _ in range(4500):
            file.write(run.bucket({"a": 1, "b" * 4000: 1}))
        file.write(run.end())
    assert path.stat().st_size > 16 << 20
    assert re.search(r"sums of the last \d+ buckets \(-a: all\)", top("--once", "--totals", path).stdout)
    assert "sums of 4500 buckets" in top("--once", "--totals", "--all", path).stdout


def test_shares_of_what_is_not_counted(space):
    lines = space.path / "lines.jsonl"
    for more, expected in (
            ({}, None),
            ({"events": {"components": ["Model*"]}}, r"counted +\d+\.\d % of the events  [\d,]+ \(\d+\.\d %\) filtered out$"),
            ({"sampling": {"fraction": 500000}}, r"counted .* sampled out  sampling: fraction 500000$"),
            ({"statistics": {"bucket": "1s", "max_series": 16}}, r"counted +100\.0 % of the events .* labels aggregated away$")):
        lines.unlink(missing_ok=True)
        config = {"source": {"type": "synthetic", "seed": 7, "steps": 10, "producers": 4},
                  "outputs": [{"type": "jsonl", "path": "lines.jsonl", "queue": 4096}], **more}
        space.vampire(config, ready=False).expect_exit(0)
        text = top("--once", "--totals", lines).stdout
        if expected is None:
            assert "counted" not in text
        else:
            assert re.search(expected, text, re.MULTILINE), text


def test_events_that_came_late():
    run = Lines()
    lines = run.header() + run.bucket({"a": 3}).replace('"rejected"', '"received": 400, "counted": 400, "late": 12, "rejected"')
    text = top("--once", "--totals", "-", data=lines.encode()).stdout
    assert re.search(r"^  counted +every event was counted  12 counted in a later bucket than their own$", text, re.MULTILINE), text


def test_what_a_collector_refused():
    run = Lines()
    refused = run.line("values", values={"collect_refused": [{"refusal": "late", "value": 2, "delta": 2},
                                                             {"refusal": "garbage", "value": 0, "delta": 0}]})
    text = top("--once", "--totals", "-", data=(run.header() + refused + run.bucket({"a": 3})).encode()).stdout
    assert re.search(r"^  counted .*messages of runs, or parts of them, were refused", text, re.MULTILINE), text


def test_declared_metrics_and_hosts():
    """By their units; a gauge without a value has none. Components of one name on two hosts are on neither."""
    run = Lines()
    header = json.loads(run.header())
    header["metrics"] = [{"name": name, "kind": kind, "unit": unit, "labels": ["host"], "origin": "declared in samples.metrics"}
                         for name, kind, unit in (("load", "gauge", "1e-6"), ("gone", "gauge", "byte"), ("steps", "counter", "1"),
                                                  ("io_ns", "histogram", "ns"))]
    header["metrics"].append({"name": "pool_operations", "kind": "counter", "labels": ["component", "operation"]})

    def sample(name, **values):
        return run.line("values", values={name: [{"host": "n1\x1b", **values}]})

    def there(index, name, host):
        return run.line("component", index=index, app_id=index, name=name, left=None, host=host)

    first = there(1, "IFS", "n1") + there(2, "ocean", "n1") + there(3, "ocean", "n2") + sample("gone", value=5)
    again = there(1, "IFS", "n1") + sample("gone", value=None) + sample("load", value=2500000) + sample("steps", value=9, delta=6) + sample(
        "io_ns", count=2, sum=4 * 10**9, min=10**9, max=3 * 10**9, bins=[[10**9, 1], [3 * 10**9, 1]])
    lines = json.dumps(header) + "\n" + first + run.bucket({"IFS": 3, "ocean": 4}) + again + run.bucket({"IFS": 3})
    text = top("--once", "-", data=lines.encode()).stdout
    assert re.search(r"^  IFS @n1 +3 ", text, re.MULTILINE) and "  ocean (x2) " in text, text
    assert row(text, "load of host n1?") == ["2.5", "-", "-", "-", "-"]
    assert row(text, "steps of host n1?") == ["-", "6", "-", "-", "-"]
    assert row(text, "io_ns of host n1?")[0:2] == ["-", "-"] and row(text, "io_ns of host n1?")[-2:] == ["3.00", "s"]
    assert "gone" not in text
    assert "DECLARED" not in top("--once", "-", data=(run.header() + run.bucket({"a": 1})).encode()).stdout
