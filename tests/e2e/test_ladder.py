# SPDX-License-Identifier: BSD-3-Clause
"""A ladder of Maestros that say less and less: vampires built against each of their headers watch the
same workflow at the same time. Each number that they publish is the one of the vampire that knows
everything, which agrees with the components; all else is absent, and said to be."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import h5py
import pytest

import compare
import harness
import jsonl
import results
import stream
from rows import text_of
from test_summary import body

pytestmark = [pytest.mark.plain, pytest.mark.together]

ROOT = harness.ROOT
FULL = (ROOT / "maestro" / "maestro.h").read_text()
CC = shlex.split(os.environ.get("CC", "cc"))
# What each rung's header lacks, and what a source then does not know.
RUNGS = {
    "all": ((), set()),
    "losses": (("MSTRO_POOL_EVENT_LOST",), {"losses"}),
    "times": (("MSTRO_POOL_EVENT_HAS_TIME",), {"time"}),
    "sizes": (("MSTRO_POOL_EVENT_HAS_CDO_SIZE",), {"size"}),
    "phases": (("MSTRO_SIGNAL_BEFORE_HOLDS_UP_NOTHING",), {"phases"}),
    "public": (None, {"time", "size", "peer", "transport_id", "cdo_id", "phases", "losses", "cause", "tier", "reason",
                      "failures"}),
}
ON_THE_WAY_NS = 10_000_000  # vampire/stats/pairing/arrivals.c
# Of vampire itself, each of which is another.
OWN = re.compile(r"vampire_|own_roundtrip_ns$")
# Labels that a rung does not know read "unknown".
OF_LABELS = {"source": "peer", "tier": "tier", "cause": "cause", "size_class": "size"}


def header_of(lacking):
    if lacking is None:
        return "#define MSTRO_PUBLIC_ONLY\n" + FULL
    text = FULL
    for name in lacking:
        text, count = re.subn(rf"(?m)^(#define|   ) {name} .*\n", "", text)
        assert count == 1, name
    return text


def build(folder, header, between=None):
    """A vampire whose plug-in was built against the header; its program. `between`: a source that wraps functions of
    maestro.h, which stands between the plug-in and Maestro."""
    (folder / "lib").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "maestro.h").write_text(header)
    own = folder / "own"  # of the program as it was built, whatever `make` would build now
    own.mkdir()
    version = subprocess.run([harness.program("vampire"), "--version"], capture_output=True, text=True, check=True).stdout
    (own / "version.h").write_text(f'#define VAMP_VERSION "{version.split()[1]}"\n')
    subprocess.run(["sh", ROOT / "vampire/live/maestro_probe.sh", folder / "maestro_probe.h", *CC, "-isystem", folder],
                   check=True)
    shutil.copytree(harness.BUILD / "lib" / "vampire", folder / "lib" / "vampire")
    link = link_command()
    objects = []
    for source in sorted((ROOT / "vampire" / "live").glob("*.c")):
        objects.append(folder / f"{source.stem}.o")
        subprocess.run([*CC, *link["modes"], "-std=c17", "-D_GNU_SOURCE", "-fPIC", "-c", f"-I{ROOT}", f"-I{own}",
                        f"-I{ROOT / 'build/gen'}", "-isystem", folder, "-o", objects[-1], source],
                       check=True)
    wraps = []
    if between is not None:
        objects.append(folder / "between.o")
        subprocess.run([*CC, *link["modes"], "-std=c17", "-D_GNU_SOURCE", "-fPIC", "-c", f"-I{ROOT / 'maestro'}", "-o",
                        objects[-1], between], check=True)
        wraps = [f"-Wl,--wrap={name}" for name in re.findall(r"^\w+ __wrap_(\w+)", between.read_text(), re.MULTILINE)]
    output = folder / "lib" / "vampire" / "maestro.so"
    output.unlink()
    subprocess.run([*link["before"], *wraps, "-o", output, *objects, *link["after"]], cwd=ROOT, check=True)
    shutil.copy2(harness.program("vampire"), folder / "bin" / "vampire")
    return str(folder / "bin" / "vampire")


def link_command():
    """As the Makefile links the plug-in, in two parts around its own objects."""
    target = (harness.BUILD / "lib" / "vampire" / "maestro.so").relative_to(ROOT)
    mode = harness.BUILD.name
    said = subprocess.run(["make", "-n", f"MODE={mode}", "-W", "vampire/live/module.map", target], cwd=ROOT,
                          capture_output=True, text=True, check=True).stdout
    line = next(line for line in reversed(said.splitlines()) if f"-o {target}" in line)
    words = shlex.split(line)
    at, archive = words.index("-o"), next(word for word in words if word.endswith("vampire-live.a"))
    rest = [word for word in words[at + 2:] if word not in (archive, "-Wl,--whole-archive", "-Wl,--no-whole-archive")]
    return {"before": words[:at], "after": rest, "modes": [word for word in words if word.startswith("-fsanitize")]}


@pytest.fixture(scope="module", name="ladder")
def lived_in(tmp_path_factory):
    """What the vampires of all rungs wrote about one workflow: {rung: (folder, summary)}, and the reports."""
    folder = tmp_path_factory.mktemp("ladder")
    programs = {rung: build(folder / rung, header_of(lacking)) for rung, (lacking, _) in RUNGS.items()}
    with harness.Workspace() as space:
        space.pool_manager()
        vampires = {}
        for rung, program in programs.items():
            config = {
                "component": f"vampire {rung}", **harness.vampire_config(directory=str(folder / rung)),
            }
            config["statistics"] = {"bucket": "1s", "sets": "all"}
            config["outputs"].append({"type": "recording", "directory": str(folder / rung)})
            config["outputs"][1]["path"] = str(folder / rung / "vampire.jsonl")
            config["source"] = {"leave_when_empty": False}
            config["alarms"] = [{"name": "slow", "metric": "transport_ns", "quantile": 0.9, "when": "> 1h", "actions": ["log"]}]
            path = folder / rung / "vampire.json"
            path.write_text(harness.config_text(config))
            vampires[rung] = space.start([program, "-c", path], f"vampire-{rung}")
        for vampire in vampires.values():
            harness.wait_until(lambda one=vampire: "joined workflow" in one.stderr or not one.running(),
                               "the vampires have joined")
        reports = harness.Workflow(space, model_options=["--steps", 5, "--levels", 3, "--params", 2, "--rate", 0]).finish()
        names = {report["component"] for report in reports}
        for rung, vampire in vampires.items():
            harness.wait_until(lambda one=folder / rung: names <= gone_from(one), "the vampires have seen the end")
            vampire.signal(2)
        found = {}
        for rung, vampire in vampires.items():
            vampire.expect_exit(0)
            found[rung] = (folder / rung, vampire.stderr)
        yield found, reports


def gone_from(folder):
    """Names of the components that have left, as the lines say so far."""
    lines = (json.loads(line) for line in (folder / "vampire.jsonl").read_text().splitlines(True) if line.endswith("\n"))
    return {line["name"] for line in lines if line["type"] == "component" and line["left"]}


def read(folder):
    return {"hdf5": results.Hdf5Run(sorted(folder.glob("*.h5"))), "json": results.JsonRun(folder / "vampire.jsonl")}


def catalogue():
    done = subprocess.run([harness.program("vampire"), "--list-metrics", "--json"], capture_output=True, text=True, check=True)
    return {metric["name"]: metric for metric in json.loads(done.stdout)["metrics"]}


def without(labels, names, unknown):
    """The labels that the rung knows."""
    return tuple(value for name, value in zip(names, labels) if OF_LABELS.get(name) not in unknown)


def summed(series, names, unknown, add):
    found = {}
    for labels, value in series.items():
        key = without(labels, names, unknown)
        found[key] = add(found[key], value) if key in found else value
    return found


def test_the_full_header_agrees_with_the_components(ladder):
    found, reports = ladder
    folder, summary = found["all"]
    differences = results.compare(reports, read(folder))
    assert not differences, "\n".join(differences)
    assert "every event was counted" in summary and "not observable" not in summary
    with h5py.File(next(folder.glob("*.h5"))) as file:
        assert text_of(file, "clock") == "event" and text_of(file, "not_observed") == ""


@pytest.mark.parametrize("rung", list(RUNGS)[1:])
def test_what_is_published_is_right_and_all_else_is_absent(ladder, rung):
    found, _ = ladder
    folder, summary = found[rung]
    unknown = RUNGS[rung][1]
    full, less = read(found["all"][0]), read(folder)
    absent = {name for name, metric in catalogue().items() if unknown & set(metric["basis"])}
    compared = 0
    for output in ("hdf5", "json"):
        for kind in ("counters", "histograms", "gauges"):
            ours, theirs = getattr(less[output], kind), getattr(full[output], kind)
            assert set(theirs) - set(ours) == absent & set(theirs), output
            for name in ours:
                if OWN.match(name) or name in ("component_silent_ns", "components_present", "component_association_ns"):
                    continue  # of the other vampires, or of when each was stopped
                if name.startswith(("blocked_", "held_back_")):
                    continue  # times, which depend on what is known of each event
                names = catalogue()[name]["labels"]
                if kind == "histograms" and name.endswith("_ns"):
                    ours[name] = {labels: count for labels, (count, _) in ours[name].items()}
                    theirs[name] = {labels: count for labels, (count, _) in theirs[name].items()}
                add = (lambda a, b: (a[0] + b[0], a[1] + b[1])) if kind == "histograms" and not name.endswith("_ns") \
                    else (lambda a, b: (a or 0) + (b or 0))
                is_zero = lambda value: not value or value in ((0, 0), -2**63)
                mine = {key: value for key, value in summed(ours[name], names, unknown, add).items() if not is_zero(value)}
                whole = {key: value for key, value in summed(theirs[name], names, unknown, add).items() if not is_zero(value)}
                ignore = {f"vampire {other}" for other in RUNGS} | {"Pool Manager", "unknown"}
                if name == "handling_ns":
                    ignore.add("leave")  # of the vampires that stopped earlier, too
                mine, whole = ({key: value for key, value in one.items() if not ignore & set(key)} for one in (mine, whole))
                assert mine == whole, f"{name} in {output}"
                compared += len(whole)
    assert compared > 50
    with h5py.File(next(folder.glob("*.h5"))) as file:
        said = dict(line.split(": ", 1) for line in text_of(file, "not_observed").splitlines())
        assert ("events_lost_pool_manager" in file) == ("losses" not in unknown)
        assert (b"pool_manager" in {row.tobytes().rstrip(b"\0") for row in file["reason"][...]}) == ("losses" not in unknown)
    accounts = [record["accounting"] for record in less["json"].records if "accounting" in record]
    assert accounts and {account["lost"]["pool_manager"] for account in accounts} == {None if "losses" in unknown else 0}
    header = next(record for record in less["json"].records if record["type"] == "header")
    assert said == {entry["what"]: entry["reason"] for entry in header["not_observed"]}
    asked = {name for name, metric in catalogue().items() if metric["sets"] and metric["sets"] != ["collect"]}
    assert set(said) == (absent & asked) | ({"losses"} & unknown)
    assert header["clock"] == ("arrival" if "time" in unknown else "event")
    check_words(summary, unknown)


def check_words(summary, unknown):
    """The summary names what is unknown where the number would be."""
    lines = {line[2:24].strip(): line[24:].strip() for line in summary.splitlines() if line.startswith("  ")}
    assert ("every event was counted" in summary) == ("losses" not in unknown)
    if "losses" in unknown:
        assert "losses cannot be known from this pool manager" in summary
    assert lines["produced"].startswith("not observable") == ("size" in unknown), summary
    for what in ("transport time", "wait on demand"):  # of arrival: with the resolution, never 0
        assert lines[what].startswith("p50 ") and "p50 0" not in lines[what], summary
    assert (" B" in lines["transports"] or "iB" in lines["transports"]) == ("size" not in unknown)
    assert "the alarm slow is not watched" not in summary


@pytest.mark.parametrize("rung", list(RUNGS))
def test_files_and_the_package_say_so_too(ladder, rung):
    folder, shown = ladder[0][rung]
    unknown = RUNGS[rung][1]
    paths = [next(folder.glob("*.h5")), folder / "vampire.jsonl"]
    for path in paths:
        done = subprocess.run([harness.program("vampire"), "--summary", path], capture_output=True, text=True, check=True)
        assert body(done.stdout) == body(shown[shown.index("\nvampire: workflow"):])
    asked = "import vampire; found = vampire.summary(%r); print(found.whole); print(found)" % str(paths[0])
    said = subprocess.run(["/usr/bin/python3", "-c", asked], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                          capture_output=True, text=True, check=True).stdout
    assert said.startswith("False" if unknown else "True"), said
    assert ("losses cannot be known" in said) == ("losses" in unknown)
    assert ("events carry no time: " in said and "transport_bytes_per_second" in said) == ("time" in unknown)
    top = subprocess.run([harness.program("vampire-top"), "--plain", paths[1]], capture_output=True, text=True, check=True).stdout
    assert bool(re.search(r" \?( |$)", top, re.MULTILINE)) == bool({"size", "time"} & set(unknown)), top
    assert ("losses cannot be known" in top) == ("losses" in unknown), top


@pytest.mark.parametrize("rung", ["times", "public"])
def test_a_recording_remembers_what_is_unknown(ladder, rung, tmp_path):
    folder, _ = ladder[0][rung]
    config = tmp_path / "replay.json"
    config.write_text(harness.config_text({**harness.vampire_config(directory=str(tmp_path)), "source": {"type": "replay"}}
                                          | {"outputs": [{"type": "jsonl", "path": str(tmp_path / "again.jsonl")}]}))
    done = subprocess.run([harness.program("vampire"), "-c", config, "--replay", next(folder.glob("*.rec"))],
                          capture_output=True, text=True, check=True)
    shown = ladder[0][rung][1]
    assert re.search("transport time +p50 ", done.stderr)
    for what in ("transport time", "wait on demand"):
        assert [line for line in done.stderr.splitlines() if what in line] == [line for line in shown.splitlines() if what in line]
    header = json.loads((tmp_path / "again.jsonl").read_text().splitlines()[0])
    assert header["clock"] == "arrival" and "transport_bytes_per_second" in {entry["what"] for entry in header["not_observed"]}


def times_of(folder):
    """Of a recording: {serial: (event, when the stream was last empty, when it happened or arrived)}."""
    found, empty = {}, None
    for item in stream.read(next(folder.glob("*.rec")))[1]:
        if isinstance(item, stream.recording_pb2.Mark):
            empty = item.time_ns if item.kind == 29 else empty
        elif not item.before and item.serial:
            found[item.serial] = (item, empty, stream.time_of(item))
    return found


@pytest.mark.parametrize("rung", ["times", "public"])
def test_the_true_times_lie_within_the_published(ladder, rung):
    """Of transports, waits and lives of CDOs, by the pool manager's own times. What is published of a time is
    [0, resolution] where it counts as 0, else the time +- the resolution."""
    full, less = (times_of(ladder[0][one][0]) for one in ("all", rung))
    begun, right = {}, []
    for serial in sorted(full.keys() & less.keys()):
        event = full[serial][0]
        who = (bytes(event.cdo_id), event.app_id)
        if event.kind in (3, 7, 11):  # declare, demand, start of a transport
            begun[event.kind, who] = serial
        for kind in {10: (3,), 12: (7, 11)}.get(event.kind, ()):
            first = begun.pop((kind, who), None)
            if first is None:
                continue
            true, seen = (one[serial][2] - one[first][2] for one in (full, less))
            off = sum(less[one][2] - less[one][1] + ON_THE_WAY_NS for one in (first, serial))
            right.append(true <= seen + off if seen < off else abs(true - seen) <= off)
    assert len(right) > 200 and sum(right) >= 0.95 * len(right), f"{sum(right)} of {len(right)}"
    lines = jsonl.records(ladder[0][rung][0] / "vampire.jsonl")
    resolutions = [line["max"] for line in lines if line.get("metric") == "vampire_clock_resolution_ns"]
    assert resolutions and max(resolutions) >= 2 * ON_THE_WAY_NS


def test_numbers_from_times_of_arrival_are_those_of_the_page(ladder):
    folder = ladder[0]["times"][0]
    found = compare.differences_of_run(sorted(folder.glob("*.rec")), sorted(folder.glob("*.h5")), [folder / "vampire.jsonl"])
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:20])


def test_version_asks_the_plug_in_of_the_program(ladder):
    found, _ = ladder
    for rung, (folder, _) in found.items():
        said = subprocess.run([folder / "bin" / "vampire", "--version"], capture_output=True, text=True, check=True).stdout
        assert ("component_place" in said.split("event fields not available")[0]) == (rung != "public")
        fields = next(line for line in said.splitlines() if line.startswith("event fields:")).split()
        assert ("time" in fields) == ("time" not in RUNGS[rung][1])
        listed = subprocess.run([folder / "bin" / "vampire", "--list-metrics"], capture_output=True, text=True, check=True).stdout
        assert ("not observable with this Maestro" in listed) == bool(RUNGS[rung][1])
    gone = pathlib.Path(found["all"][0])
    (gone / "lib" / "vampire" / "maestro.so").unlink()
    said = subprocess.run([gone / "bin" / "vampire", "--version"], capture_output=True, text=True, check=True).stdout
    assert "maestro.h: not known" in said
