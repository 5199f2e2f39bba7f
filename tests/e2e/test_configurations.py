# SPDX-License-Identifier: BSD-3-Clause
"""Each ready configuration with the demo workflow: it starts as it is, counts right and ends well."""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

import exporters
import harness
import nats_reader
import results
from otlp_receiver import Receiver

READY = sorted(
    path.name for path in (harness.ROOT / "config" / "ready").glob("*.json")
    if not path.match("*.schema.json") and path.name != "vampire-collect.json"
)
MODEL = ["--steps", 6, "--levels", 2, "--params", 2, "--size-min", 1024, "--size-max", 65536]


def read_log(path):
    """A reader of messages, which ends with the test."""
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(str(path))

    def read():
        while log.recv(65536):
            pass

    threading.Thread(target=read, daemon=True).start()
    return str(path)


# The address of a server of the test's own, in place of the usual one.
SERVERS = {
    "otlp.json": lambda space: [f"outputs.otlp.endpoint={Receiver().url}"],
    "prometheus.json": lambda space: ["outputs.prometheus.listen=tcp:0", "outputs.prometheus.linger=0s"],
    "influx.json": lambda space: [f"outputs.influx.url={exporters.influxdb(space).url}"],
    "nats.json": lambda space: [f"outputs.nats.servers={nats_reader.Server(space).address}"],
    "syslog.json": lambda space: [f"outputs.syslog.socket={read_log(space.path / 'log')}"],
}


def run(space, name):
    """The workflow's reports and what vampire wrote."""
    space.pool_manager()
    # The file as it is; only the pool manager's info comes from the environment, and no "info_file"
    # can be given in addition.
    options = [word for option in SERVERS.get(name, lambda space: [])(space) for word in ("-o", option)]
    vampire = space.vampire(harness.ROOT / "config" / "ready" / name, *options)
    reports = harness.Workflow(space, model_options=MODEL).finish()
    vampire.expect_exit(0)
    return reports, results.Hdf5Run(space.hdf5_files())


@pytest.mark.parametrize("name", READY)
def test_counts_agree(space, name):
    reports, counted = run(space, name)
    assert not results.accounting_differences(counted)
    assert all(value == 0 for column, value in counted.columns.items() if "lost" in column)
    if name == "operators.json":
        # By workflow, not by component: the sums of the components'.
        for operation in results.OPERATIONS:
            expected = sum(report["operations"][operation] for report in reports)
            got = counted.counters["pool_operations"].get((operation,), 0)
            # vampire itself joins, subscribes and leaves.
            assert got >= expected if operation in ("join", "leave", "subscribe", "unsubscribe") \
                else got == expected, operation
        return
    assert not results.compare(reports, {"hdf5": counted})


def test_debugging_prints_the_lives_of_the_suspects(space):
    reports, _ = run(space, "debugging.json")
    records = [json.loads(line) for line in space.json_lines().read_text().splitlines()]
    lives = [record for record in records if record["type"] == "cdo"]
    models = [report for report in reports if report["role"] == "model"]
    # Steps 6 and 12 of 6, on 2 levels, of 2 parameters.
    expected = len(models) * 2 * 2 * 2
    names = {record["name"] for record in lives if record["name"]}
    assert len(names) == expected
    assert all(",step:6" in name or ",step:12" in name for name in names)
    metrics = {m["name"] for m in records[0]["metrics"]}
    assert {name for name in metrics if not name.startswith("vampire_")} == {"anomalies"}

    recording = next(space.path.glob("*.rec"))
    replay = subprocess.run(
        [harness.program("vampire"), "--replay", recording, "-o", "outputs=[]", "-q"],
        cwd=space.path, env=harness.clean_environment(), capture_output=True, text=True,
        timeout=60, check=False)
    assert replay.returncode == 0, replay.stderr


COMPLETION = harness.ROOT / "packaging" / "completion.py"


def complete(*words, program="vampire"):
    """What bash offers for the last of these words."""
    script = (
        'source <("$0" "$1" bash); shift; compopt() { :; }; COMP_WORDS=("$@"); '
        'COMP_CWORD=$(($#-1)); _%s; printf "%%s\\n" "${COMPREPLY[@]}"' % program.replace("-", "_")
    )
    done = subprocess.run(
        ["bash", "-c", script, COMPLETION, PROGRAMS[program], program, *words],
        capture_output=True, text=True, timeout=30, check=True)
    assert not done.stderr
    return done.stdout.split()


def test_completion():
    assert complete("--check") == ["--check-config"]
    assert {"-c", "--config", "--replay"} <= set(complete("-"))
    assert complete("-o", "sampling.") == ["sampling.fraction="]
    assert complete("-o", "statistics.level", "=", "work") == ["workflow"]
    assert "all" in complete("-o", "statistics.sets", "=")
    assert complete("-o", "outputs.hdf5.access", "=", "g") == ["group"]
    assert complete("--list-metrics", "=", "") == ["json"]


PROGRAMS = {name: harness.program(name) for name in ("vampire", "vampire-collect", "maestro-pool-manager")} | {
    name: harness.ROOT / "python" / name for name in ("vampire-top", "vampire-report")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_completion_is_a_script(name):
    made = subprocess.run([COMPLETION, PROGRAMS[name], "bash"], capture_output=True, timeout=30, check=True)
    subprocess.run(["bash", "-n"], input=made.stdout, timeout=30, check=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_option_is_completed(name):
    """Also those of programs whose help comes from a library."""
    said = subprocess.run([PROGRAMS[name], "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    options = set(re.findall(r"^ +(?:-\w[^-\n]*, )?(--[\w-]+)", said, re.MULTILINE))
    assert len(options) > 5
    assert options <= set(complete("--", program=name))


def test_files_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.jsonl").touch()
    assert complete("on", program="vampire-top") == ["one.jsonl"]
    assert complete("--text", "on", program="vampire-report") == ["one.jsonl"]
    assert complete("--summary", "on") == ["one.jsonl"]
    assert complete("-o", "on", program="vampire-report") == ["one.jsonl"]
    assert complete("-i", "on", program="maestro-pool-manager") == ["one.jsonl"]


def fish_offers(line):
    script = 'source (%s %s fish | psub); complete -C "%s"' % (COMPLETION, harness.program("vampire"), line)
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr
    return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_completion_of_fish(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "one.rec").touch()
    assert fish_offers("vampire --ready") == ["--ready-file"]
    assert fish_offers("vampire -o sampling.") == ["sampling.fraction="]
    assert fish_offers("vampire -o statistics.level=w") == ["statistics.level=workflow"]
    assert "--set=statistics.sets=all" in fish_offers("vampire --set=statistics.sets=")
    assert fish_offers("vampire --list-metrics=") == ["--list-metrics=json"]
    assert fish_offers(f"vampire -r {tmp_path}/o") == [f"{tmp_path}/one.rec"]
    assert fish_offers(f"vampire --recover {tmp_path}/o") == [f"{tmp_path}/one.rec"]


class Zsh:
    """An interactive zsh on a terminal of its own."""

    def __init__(self, directory):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", PS1="> ", HOME=str(directory))
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.type(f"fpath=({directory} $fpath); autoload -U compinit; compinit -u -D; print rea''dy\n")
        self.read_until("ready\r\n")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, text):
        said, end = "", time.monotonic() + 60
        while text not in said:
            assert time.monotonic() < end, said
            if select.select([self.terminal], [], [], 0.2)[0]:
                said += os.read(self.terminal, 65536).decode(errors="replace")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize("typed, completed", [
    ("vampire --ready-f", "vampire --ready-file="),
    ("vampire -o statistics.lev", "vampire -o statistics.level="),
    ("vampire -o statistics.level=w", "vampire -o statistics.level=workflow"),
    ("vampire --set=statistics.level=w", "vampire --set=statistics.level=workflow"),
    ("vampire --list-metrics=j", "vampire --list-metrics=json"),
    ("vampire --recover ./on", "vampire --recover ./one.rec"),
])
def test_completion_of_zsh(tmp_path, monkeypatch, typed, completed):
    made = subprocess.run([COMPLETION, harness.program("vampire"), "zsh"], capture_output=True, check=True)
    (tmp_path / "_vampire").write_bytes(made.stdout)
    (tmp_path / "one.rec").touch()
    monkeypatch.chdir(tmp_path)
    zsh = Zsh(tmp_path)
    try:
        zsh.type(typed + "\t")
        zsh.read_until(completed)
    finally:
        zsh.close()


def test_ready_configurations_are_plain_json_after_a_dump():
    """Each says on its first lines how jq reads it."""
    for path in sorted((harness.ROOT / "config" / "ready").glob("*.json")):
        if path.name.startswith("vampire"):
            continue
        assert "vampire --dump-config FILE | jq" in path.read_text(), path
        dumped = subprocess.run([harness.program("vampire"), "--dump-config", path], capture_output=True, check=True,
                                env=harness.clean_environment())
        json.loads(dumped.stdout)
