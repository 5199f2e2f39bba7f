# SPDX-License-Identifier: BSD-3-Clause
"""Declared metrics are ordinary while a workflow runs: a gauge, a counter and a histogram of samples are seen by vampire-top, fire
alarms, and arrive in InfluxDB and at a receiver of OTLP, labels and numbers included; so does where components are."""

import functools
import itertools
import os
import pwd
import signal
import socket
import subprocess
import threading

import pytest

import exporters
import harness
import jsonl
from otlp_receiver import Receiver

METRICS = ["node_used_bytes gauge memory.used unit=byte host=host", "ifs_steps counter ifs.step component=component",
           "io_ns histogram io.time unit=ns scale=1e9 host=host name=file"]
RULES = [{"name": "full", "metric": "node_used_bytes", "labels": ["host=n1"], "when": "> 1GiB", "actions": ["log"]},
         {"name": "steps", "metric": "ifs_steps", "when": "> 0", "actions": ["log"]},
         {"name": "slow reads", "metric": "io_ns", "quantile": 0.9, "when": "> 1s", "actions": ["log"]}]


@pytest.fixture(name="speaker")
def _speaker():
    """Sends a sample of each, again and again."""
    stop = threading.Event()

    def speak(path):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            for number in itertools.count(1):
                lines = (f"memory,host=n1.site.org used={3 << 30}i", f"ifs,component=IFS\\ --\\ 0 step={number}i",
                             "io,host=n1,file=/scratch time=2.5")
                try:
                    to.sendto("\n".join(lines).encode(), str(path))
                except OSError:
                    return  # vampire has ended
                if stop.wait(0.05):
                    return

    threads = []

    def start(path):
        threads.append(threading.Thread(target=speak, args=(path,)))
        threads[0].start()

    yield start
    stop.set()
    for thread in threads:
        thread.join()


def test_declared_metrics_are_live(space, speaker):
    influx, otlp = exporters.influxdb(space), Receiver()
    listen, lines = space.path / "samples", space.path / "lines"
    config = harness.vampire_config(directory=str(space.path), bucket="200ms")
    config["source"] = {"type": "maestro", "leave_when_empty": False}
    config |= {"samples": {"listen": [f"unix:{listen}"], "metrics": METRICS}, "alarms": RULES}
    config["outputs"] += [{"type": "jsonl", "name": "live", "path": f"unix:{lines}"}, {"type": "otlp", "endpoint": otlp.url},
                          {"type": "influx", "url": influx.url}]
    space.environment.update({"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "2", "LOGNAME": "somebody-else"})
    space.pool_manager()
    vampire = space.vampire(config)
    speaker(listen)
    space.product("--select", "(has .maestro.ecmwf.step)", name="Products", producers=["IFS -- 0"])
    model = space.model("--steps", 100000, "--rate", 50, name="IFS -- 0")
    host = socket.gethostname().partition(".")[0]

    def shown():
        done = subprocess.run([harness.program("vampire-top"), "--once", f"unix:{lines}"], capture_output=True, text=True, timeout=60,
                              check=False)
        return done.stdout

    def rows(text):
        return {line.split(" of ")[0].strip(): line.split(" of ")[1].split() for line in text.splitlines() if " of " in line
                and line.strip().startswith(("node_used_bytes", "ifs_steps", "io_ns"))}

    harness.wait_until(lambda: set(rows(shown())) == {"node_used_bytes", "ifs_steps", "io_ns"} and "IFS -- 0 @" in shown(),
                       "vampire-top has the three metrics, and the host")
    text = shown()
    assert f"IFS -- 0 @{host}" in text, text
    assert "3.00 GiB" in text and "2.5" in text, text
    harness.wait_until(lambda: all(f'"{rule["name"]}"' in vampire.stderr for rule in RULES), "the three alarms fire")

    harness.wait_until(lambda: otlp.store.last("vampire_io_seconds"), "OTLP has the histogram")
    harness.wait_until(lambda: exporters.influx_query(influx, 'SELECT last(p90) FROM "io_ns" GROUP BY *'), "InfluxDB has the histogram")
    vampire.signal(signal.SIGTERM)
    vampire.wait()
    lines = [line for line in jsonl.records(space.json_lines()) if line["type"] == "metric"]
    steps = sum(line["delta"] for line in lines if line["metric"] == "ifs_steps")
    reads = sum(line["count"] for line in lines if line["metric"] == "io_ns")
    assert steps > 1 and reads > 1
    assert otlp.store.last("vampire_ifs_steps_total") == {frozenset({("component", "IFS -- 0")}): steps}
    assert otlp.store.last("vampire_node_used_bytes") == {frozenset({("host", "n1")}): 3 << 30}
    of_file = frozenset({("host", "n1"), ("name", "/scratch")})
    ((labels, (count, total, _)),) = otlp.store.last("vampire_io_seconds").items()
    assert (labels, count, total) == (of_file, reads, pytest.approx(2.5 * reads))
    query = functools.partial(exporters.influx_query, influx)
    assert query('SELECT sum(delta) FROM "ifs_steps" GROUP BY *') == {frozenset({("component", "IFS -- 0")}): [steps]}
    assert query('SELECT last(value) FROM "node_used_bytes" GROUP BY *') == {frozenset({("host", "n1")}): [3 << 30]}
    assert query('SELECT sum("count") FROM "io_ns" GROUP BY *') == {of_file: [reads]}
    where = {"component": "IFS -- 0", "component_host": host, "component_pid": str(model.child.pid), "component_user": pwd.getpwuid(os.geteuid()).pw_name,
             "component_batch_job": "4711.2"}
    for found in (otlp.store.last("vampire_component_info"), query("SELECT last(value) FROM component_info GROUP BY *")):
        assert [dict(labels) for labels in found if ("component", "IFS -- 0") in labels] == [where]
