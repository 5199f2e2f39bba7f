# SPDX-License-Identifier: BSD-3-Clause
"""`vampire --examine` finds out what the events of a Maestro carry and mean, also of one that means something else."""

import json
import re
import subprocess

import h5py
import pytest

import harness
import jsonl
import results
from rows import text_of
from test_ladder import ROOT, RUNGS, build, header_of
from test_meanings import BETWEEN

import vampire as package

pytestmark = [pytest.mark.plain, pytest.mark.together]  # their vampires are built once

EMBEDDED = {"times": "event", "sizes": "bytes", "serials": "dense", "order": "kept", "transports": "sink",
            "before": "harmless", "early": "no", "losses": "reported", "ids": "unique", "names": "all", "kinds": "known"}
VERSION = subprocess.run([harness.program("vampire"), "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
# What events mean, what the header lacks, and what differs from the embedded Maestro.
CASES = {
    "embedded": ("", (), {}),
    "source": ("source", (), {"transports": "source"}),
    "zero": ("zero", (), {"serials": "none"}),
    "count": ("count", (), {"serials": "subscription"}),
    "wait": ("wait", (), {"before": "wait"}),
    "kib": ("kib", (), {"sizes": "other"}),
    "usec": ("usec", (), {"times": "other"}),
    "coarse": ("coarse", (), {"times": "coarse"}),
    "shared": ("shared", (), {"ids": "shared"}),
    "nameless": ("nameless", (), {"names": "none", "losses": "not examined"}),
    "strange": ("strange", (), {"kinds": "others"}),
    "public": ("", None, {"times": "none", "sizes": "none", "losses": "gaps", "ids": "none"}),
    "public and others": ("source,zero,wait", None, {"times": "none", "sizes": "none", "losses": "silent", "serials": "none", "ids": "none",
                                                     "transports": "source", "before": "wait"}),
}


@pytest.fixture(name="program", scope="module")
def programs(tmp_path_factory):
    """A vampire with a library in between, by what its header lacks."""
    built = {}

    def get(lacking):
        if lacking not in built:
            built[lacking] = build(tmp_path_factory.mktemp("examined") / "one", header_of(lacking), BETWEEN)
        return built[lacking]

    return get


def examine(space, program, verdict, *options, meanings=""):
    process = space.start([program, "--examine", "-o", f"source.examined={verdict}", *options], "examine",
                          {"MEANINGS": meanings, "PYTHONPATH": str(ROOT / "python")})
    code = process.wait(120)
    found = json.loads(verdict.read_text()) if verdict.exists() else {}
    return code, {key: found.get(key) for key in EMBEDDED}, process


@pytest.mark.parametrize("case", CASES)
def test_all_eight_are_told_right(program, case):
    meanings, lacking, differs = CASES[case]
    expected = {**EMBEDDED, **differs}
    with harness.Workspace() as space:
        code, found, process = examine(space, program(lacking), space.path / "verdict.json", meanings=meanings)
        assert found == expected, process.account()
        less = {"times": ("none", "other", "coarse"), "sizes": ("none", "other"), "serials": ("none", "subscription"),
                "losses": ("gaps", "silent", "not examined"), "ids": ("none", "shared"), "names": "none", "kinds": "others"}
        assert code == any(found[key] in words for key, words in less.items()), process.account()
        for key, word in found.items():
            assert f" {word} " in process.stdout, key
    left = subprocess.run(["pgrep", "-f", f"--examine -o source.examined={space.path}"], capture_output=True, text=True, check=False)
    assert not left.stdout, "a process of the examination goes on"


def test_a_shared_workflow_is_not_disturbed(program):
    """What could hold up others or be a load is asked for."""
    with harness.Workspace() as space:
        space.pool_manager("--move-at", "require")
        info = space.path / "pool.info"
        info.write_text(f"MSTRO_POOL_MANAGER_INFO;{space.info};\n")
        verdict = space.path / "verdict.json"
        shared = ["-i", info, "-w", "weather"]
        code, found, process = examine(space, program(()), verdict, *shared)
        assert code == 1 and found == {**EMBEDDED, "before": "not examined", "losses": "not examined", "early": "yes"}, process.account()
        code, found, process = examine(space, program(()), verdict, *shared, "--intrusive")
        assert code == 0 and found == {**EMBEDDED, "early": "yes"}, process.account()


def test_a_run_takes_the_verdict_and_hands_it_on(program):
    """Before-events that were found to be harmless are asked for; files say what was found."""
    lacking = RUNGS["phases"][0]
    with harness.Workspace() as space:
        verdict = space.path / "verdict.json"
        assert examine(space, program(lacking), verdict)[0] == 0
        space.pool_manager()
        config = harness.vampire_config(directory=str(space.path))
        config["outputs"][1]["path"] = str(space.path / "vampire.jsonl")
        config["source"] = {"examined": str(verdict)}
        path = space.path / "vampire.json"
        path.write_text(harness.config_text(config))
        vampire = space.start([program(lacking), "-c", path], "vampire")
        harness.wait_until(lambda: "joined workflow" in vampire.stderr or not vampire.running(), "vampire has joined")
        harness.Workflow(space, model_options=["--steps", 1, "--levels", 1, "--params", 1, "--rate", 0]).finish()
        vampire.expect_exit(0)
        header = json.loads((space.path / "vampire.jsonl").read_text().splitlines()[0])
        assert "before: harmless" in header["examined"] and "transports: sink" in header["examined"]
        assert "withdraw_wait_ns" not in {entry["what"] for entry in header["not_observed"]}
        with h5py.File(space.hdf5()) as file:
            assert text_of(file, "examined") == header["examined"]


@pytest.mark.parametrize("text, reason", [
    (None, "read FILE: No such file"), ('{"maestro": "0.3",\n  "times" "event"}', "line 2 of FILE is damaged: "),
    ('{"maestro": "0.3"}', "FILE was written for Maestro 0.3, but this is Maestro "), ("[]", "FILE was written for Maestro (unknown)"),
    ('{"maestro": "OWN", "times": "event"}', 'FILE contains no result for "sizes"')])
def test_a_verdict_that_a_run_cannot_use_is_said(tmp_path, text, reason):
    path = tmp_path / "verdict.json"
    if text is not None:
        path.write_text(text.replace("OWN", f"embedded Maestro {VERSION}"))
    done = subprocess.run([harness.program("vampire"), "-w", "w", "-o", f"source.examined={path}", "-o", "source.wait=0s", "-i",
                           tmp_path / "none"], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 3 and reason.replace("FILE", str(path)) in done.stderr, done.stderr
    assert "the run continues as with a Maestro that was not examined" in done.stderr


def test_what_cannot_be_used_is_said(program):
    with harness.Workspace() as space:
        verdict = space.path / "verdict.json"
        info = space.path / "pool.info"
        info.write_text("MSTRO_POOL_MANAGER_INFO;nonsense;\n")
        code, found, process = examine(space, program(()), verdict, "-i", info, "-w", "weather")
        assert code == 2 and not any(found.values())
        assert "could not join" in process.stderr, process.account()
        code, _, process = examine(space, program(()), space.path / "missing" / "verdict.json")
        assert code == 2 and "source.examined names another file" in process.stderr, process.account()


@pytest.mark.parametrize("lacking", [(), ("MSTRO_POOL_EVENT_LOST",), None], ids=["reported", "not reported", "public"])
def test_gaps_of_dense_serial_numbers_are_lost_events(program, lacking):
    """One of twenty events does not arrive, and nobody reports it: every format and reader has their number."""
    with harness.Workspace() as space:
        verdict, count = space.path / "verdict.json", space.path / "dropped"
        verdict.write_text(json.dumps({"maestro": f"embedded Maestro {VERSION}", **EMBEDDED}))
        space.pool_manager()
        config = harness.vampire_config(directory=str(space.path))
        config["statistics"] = {"bucket": "1s", "sets": "all"}
        config["outputs"][1]["path"] = str(space.path / "vampire.jsonl")
        config["outputs"].append({"type": "recording", "directory": str(space.path)})
        config["source"] = {"examined": str(verdict), "leave_when_empty": False}
        (space.path / "vampire.json").write_text(harness.config_text(config))
        vampire = space.start([program(lacking), "-c", space.path / "vampire.json"], "vampire", {"MEANINGS": "drop", "DROPPED": str(count)})
        harness.wait_until(lambda: "joined workflow" in vampire.stderr or not vampire.running(), "vampire has joined")
        harness.Workflow(space, model_options=["--steps", 4, "--levels", 2, "--params", 3, "--rate", 0]).finish()
        vampire.signal(2)
        vampire.expect_exit(0)
        dropped = int(count.read_text())
        assert dropped > 5
        said = f"{dropped} events (pool_manager)"
        assert said in vampire.stderr and "cannot be known" not in vampire.stderr, vampire.stderr
        (file,), (recording,), again = space.path.glob("*.h5"), space.path.glob("*.rec"), space.path / "again"
        again.mkdir()
        (space.path / "again.json").write_text(json.dumps({"outputs": [{"type": "hdf5", "directory": str(again)}]}))
        subprocess.run([harness.program("vampire"), "-q", "-c", space.path / "again.json", "--replay", recording], check=True)
        (replayed,) = again.glob("*.h5")
        for path in (file, replayed, space.path / "vampire.jsonl"):
            done = subprocess.run([harness.program("vampire"), "--summary", path], capture_output=True, text=True, check=True)
            assert said in done.stdout and "every event" not in done.stdout, done.stdout
        for path in (file, replayed):
            summary = package.summary(package.History(path))
            assert summary.lost["pool_manager"] == dropped and not summary.whole, summary
        report = subprocess.run([ROOT / "python" / "vampire-report", "--text", file], capture_output=True, text=True, check=True,
                                env=harness.clean_environment({"PYTHONPATH": str(ROOT / "python")}))
        assert re.search(rf"\b{dropped} events \([^)]*\) lost", report.stdout), report.stdout
        assert "may be its effect and are no findings" in report.stdout, "components are not blamed"
        totals = [line["accounting"]["lost"]["pool_manager"] for line in jsonl.records(space.path / "vampire.jsonl") if line["type"] == "bucket"]
        assert totals[-1] == dropped and totals == sorted(totals)


OBEYED = {  # what events mean, the verdict on it, what is unknown then
    "sizes": ("kib", {"sizes": "other"}, "events carry no size"), "times": ("usec", {"times": "other"}, ""),
    "ids": ("shared", {"ids": "shared"}, ""),
    "order": ("swap", {"order": "other", "serials": "other"}, ""), "repetitions": ("twice", {"order": "other"}, "")}


@pytest.mark.parametrize("case", OBEYED)
def test_a_verdict_is_obeyed(program, case):
    """What means something else is not published as known; order and repetitions are corrected by serial numbers."""
    meanings, differs, unknown = OBEYED[case]
    with harness.Workspace() as space:
        verdict = space.path / "verdict.json"
        verdict.write_text(json.dumps({"maestro": f"embedded Maestro {VERSION}", **EMBEDDED, **differs}))
        space.pool_manager()
        config = harness.vampire_config(directory=str(space.path))
        config["statistics"] = {"bucket": "1s", "sets": "all"}
        config["outputs"][1]["path"] = str(space.path / "vampire.jsonl")
        config["source"] = {"examined": str(verdict)}
        (space.path / "vampire.json").write_text(harness.config_text(config))
        vampire = space.start([program(()), "-c", space.path / "vampire.json"], "vampire", {"MEANINGS": meanings})
        harness.wait_until(lambda: "joined workflow" in vampire.stderr or not vampire.running(), "vampire has joined")
        reports = harness.Workflow(space, model_options=["--steps", 3, "--levels", 2, "--params", 3, "--rate", 0]).finish()
        vampire.expect_exit(0)
        run = results.Hdf5Run(sorted(space.path.glob("*.h5")))
        transports = run.counters["transports"]
        assert sum(transports.values()) == sum(report["transports"] for report in reports), vampire.stderr
        anomalies = {labels: count for labels, count in run.counters["anomalies"].items() if count and "unknown_component" not in labels}
        assert not anomalies, anomalies
        produced = sum(report["produced_bytes"] for report in reports)
        assert case == "sizes" or sum(run.counters["produced_bytes"].values()) == produced
        assert case != "sizes" or "produced_bytes" not in run.counters
        header = json.loads((space.path / "vampire.jsonl").read_text().splitlines()[0])
        assert (header["clock"] == "arrival") == (case == "times")
        done = subprocess.run([harness.program("vampire"), "--summary", space.path / "vampire.jsonl"], capture_output=True, text=True, check=True)
        for text in (vampire.stderr, done.stdout):
            assert unknown in text and re.search(r"examined +.*: (other|shared)", text), text
        found = package.summary(package.History(sorted(space.path.glob("*.h5")))).not_observed
        assert "examined" in found and any(unknown in why for why in found.values())
