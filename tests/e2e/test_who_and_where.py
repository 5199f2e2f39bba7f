# SPDX-License-Identifier: BSD-3-Clause
"""Each output says which run it is of: workflow, run, host, process, user and batch job."""

import json
import re
import signal
import socket

import h5py
import pytest

import harness
import nats_reader
import otf2_file
import exporters
import recordings
import trace_file
from otlp_receiver import Receiver

LABELS = ["workflow", "run", "host", "pid", "user", "batch_job"]
JOB = "4711.server"


def of_hdf5(path):
    with h5py.File(path) as file:
        names = {"run": "run_id"}
        found = {label: file.attrs[names.get(label, label)] for label in LABELS}
        return {label: value.decode() if isinstance(value, bytes) else value[0] for label, value in found.items()}


def of_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return json.loads(file.readline())


def of_recording(path):
    data = path.read_bytes()
    begin, end = next(recordings.messages(data))
    header = list(recordings.fields(data[begin:end]))
    assert header[-1][0] == 11, "the check is written last"
    numbers = {3: "workflow", 8: "run", 12: "host", 13: "pid", 14: "user", 15: "batch_job"}
    return {numbers[number]: value if isinstance(value, int) else value.decode()
            for number, value in header if number in numbers}


def of_otf2(path):
    lines = "\n".join(otf2_file.printed("otf2-print", "-I", path))
    return {name.lower(): value for name, value in re.findall(r"VAMPIRE::(\w+)\s+Property value +(.*)", lines)}


def of_page(address):
    (line,) = re.findall(r"^vampire_run_info\{(.*)\} 1$", exporters.fetch(f"http://{address}/metrics")[2], re.MULTILINE)
    return dict(re.findall(r'(\w+)="([^"]*)"', line))


def of_otlp(store):
    (resource,) = store.resources
    return {key.removeprefix("vampire."): value for key, value in resource}


def of_influx(server):
    keys = ", ".join(f'"{label}"' for label in LABELS)
    text = exporters.fetch(f"{server.url}/query?db=vampire&q=SHOW+TAG+VALUES+FROM+pool_operations+WITH+KEY+IN+"
                         f"({keys.replace(' ', '+')})".replace('"', "%22"))[2]
    return {key: value for series in json.loads(text)["results"][0]["series"] for key, value in series["values"]}


@pytest.mark.plain
def test_every_output_says_who_and_where(space):
    influx, nats, otlp = exporters.influxdb(space), nats_reader.Server(space), Receiver()
    reader = nats_reader.Reader(nats)
    port = exporters.free_port()
    address = f"127.0.0.1:{port}"
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(str(space.path / "log"))
    kinds = [
        {"type": "hdf5"}, {"type": "jsonl"}, {"type": "recording"}, {"type": "trace", "name": "chrome"},
        {"type": "trace", "name": "otf2", "format": "otf2"}, {"type": "null"},
        {"type": "prometheus", "listen": f"tcp:{port}", "linger": "60s"},
        {"type": "otlp", "endpoint": otlp.url},
        {"type": "influx", "url": influx.url, "labels": "all", "metrics": ["pool_operations"]},
        {"type": "nats", "servers": [nats.address]}, {"type": "syslog", "socket": str(space.path / "log")}]
    page = (harness.ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert {kind["type"] for kind in kinds} == set(re.findall(r'\bOutput "type": "(\w+)"', page))
    made = {"workflow": "synthetic", "source": {"type": "synthetic", "steps": 3}, "statistics": {"bucket": "1min"},
            "outputs": kinds}
    vampire = space.vampire(made, ready=False, extra={"LOGNAME": "operator", "SLURM_JOB_ID": JOB})
    # Its page is the last that ends.
    harness.wait_until(lambda: "vampire_run_ended" in exporters.fetch(f"http://{address}/metrics")[2], "there is a page")
    harness.wait_until(lambda: exporters.influx_query(influx, "SHOW SERIES"), "InfluxDB has points")
    harness.wait_until(lambda: otlp.store.requests, "the receiver has points")
    said = {"prometheus": of_page(address), "influx": of_influx(influx), "otlp": of_otlp(otlp.store)}
    said["nats"] = {label: str(getattr(reader.until_ended()[0].run, {"run": "id"}.get(label, label))) for label in LABELS}
    said["syslog"] = json.loads(log.recv(65536).partition(b"@cee: ")[2])
    vampire.signal(signal.SIGTERM)
    vampire.wait()

    def only(pattern):
        (path,) = space.path.glob(pattern)
        return path

    said |= {"hdf5": of_hdf5(space.hdf5()), "jsonl": of_jsonl(only("*.jsonl")), "recording": of_recording(only("*.rec")),
             "chrome": trace_file.Trace(only("vampire-*.json")).notes["vampire"],
             "otf2": of_otf2(only("*.otf2") / "trace.otf2")}
    expected = {"workflow": "synthetic", "run": said["hdf5"]["run"], "host": socket.gethostname(),
                "pid": str(vampire.child.pid), "user": "operator", "batch_job": JOB}
    for kind, found in said.items():
        assert {label: str(found.get(label)) for label in LABELS} == expected, kind
