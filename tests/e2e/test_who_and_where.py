# SPDX-License-Identifier: BSD-3-Clause
"""Each output says which run it is of: workflow, run, host, process, user and batch job."""

import json
import os
import pwd
import re
import signal
import socket

import h5py
import pytest

import harness
import nats_reader
import otf2_file
import exporters
import jsonl
import recordings
import trace_file
import vampire as package
from otlp_receiver import Receiver

# The effective user, whatever the environment claims.
USER = pwd.getpwuid(os.geteuid()).pw_name
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
    vampire = space.vampire(made, ready=False, extra={"LOGNAME": "somebody-else", "SLURM_JOB_ID": JOB})
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
                "pid": str(vampire.child.pid), "user": USER, "batch_job": JOB}
    for kind, found in said.items():
        assert {label: str(found.get(label)) for label in LABELS} == expected, kind


def test_every_reader_says_where_components_are(space):
    """The embedded Maestro tells it at JOIN, also in the second file of a recording; a line tells it for another."""
    space.pool_manager()
    port, listen = exporters.free_port(), space.path / "samples"
    config = harness.vampire_config(directory=str(space.path))
    config["samples"] = {"listen": [f"unix:{listen}"], "metrics": ["load gauge node.load host=host"]}
    config["statistics"] = {"bucket": "200ms"}
    config["outputs"] += [{"type": "prometheus", "listen": f"tcp:{port}", "linger": "60s"},
                          {"type": "recording", "directory": str(space.path), "rotate": {"interval": "1s"}}]
    vampire = space.vampire(config)
    space.environment.update({"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "2", "LOGNAME": "somebody-else"})
    names = ["IFS -- 0", "Products 1"]
    flow = harness.Workflow(space, model_options=["--steps", 10, "--levels", 2, "--params", 2, "--rate", 40])
    page = f"http://127.0.0.1:{port}/metrics"
    harness.wait_until(lambda: 'component="IFS -- 0",component_host=' in exporters.fetch(page)[2], "the page says where it is")
    host = socket.gethostname().partition(".")[0]
    line = next(one for one in exporters.fetch(page)[2].splitlines() if 'component="IFS -- 0",component_host=' in one)
    assert line.startswith("vampire_component_info{") and f'component_host="{host}"' in line
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        for text in (f"node,host={host}.site.org load=7", "node,host=other load=3",
                     "vampire_component,component=Products\\ 1,host=far.site.org,job=12 step=1i"):
            to.sendto(text.encode(), str(listen))
        flow.finish()
        harness.wait_until(lambda: "load{" in exporters.fetch(page)[2] or "vampire_load" in exporters.fetch(page)[2], "the load is there")
    vampire.signal(signal.SIGTERM)
    vampire.expect_exit(0)
    where = (host, USER, "4711.2")
    said = {}
    for one in jsonl.records(space.path / "vampire.jsonl"):
        if one["type"] == "component":
            said[one["name"]] = one
    assert (said[names[0]]["host"], said[names[0]]["user"], said[names[0]]["batch_job"]) == where and said[names[0]]["pid"] > 1
    assert (said[names[1]]["host"], said[names[1]]["batch_job"]) == ("far", "12")
    table = package.components(space.hdf5()).set_index("component")
    assert tuple(table.loc[names[0], ["host", "user", "batch_job"]]) == where and int(table.pid[names[0]]) == said[names[0]]["pid"]
    assert table.host[names[1]] == "far"
    frame = package.aligned(space.hdf5(), ["pool_operations", "load"], by=["component"], where={"component": names[0]}, freq="1s")
    assert [name for name in frame.columns if "load" in name] == [f"load host={host}"]
    later = sorted(space.path.glob("*.rec"))[1:]
    assert any(b"vampire_component,component=IFS" in path.read_bytes() for path in later)
