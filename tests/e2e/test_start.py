# SPDX-License-Identifier: BSD-3-Clause
"""Starting: ways to the pool manager, configurations right and wrong, and what is said when it
does not work."""

import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess

import pytest

import harness
import results
from test_workflow import assert_agreement, model_options

CONFIGURATIONS = sorted(
    path for path in (harness.ROOT / "config" / "ready").glob("*.json")
    if not path.match("*.schema.json") and path.name != "vampire-collect.json"
)


def vampire(*arguments, **options):
    return subprocess.run(
        [harness.program("vampire"), *map(str, arguments)],
        capture_output=True, text=True, timeout=60, check=False,
        env=harness.clean_environment(), **options,
    )


def finish_small(space, process):
    model = space.model(*model_options(2, 1, 1, 64, 4096, 0), name="IFS -- 0")
    model.expect_exit(0)
    process.expect_exit(0)
    assert_agreement(space, [model.report()])


# ------------------------------------------------------------------ ways to the pool manager


def test_info_from_the_environment(space):
    space.pool_manager()
    finish_small(space, space.vampire(harness.vampire_config()))


def test_info_from_the_configuration(space):
    space.pool_manager()
    info = space.environment.pop("MSTRO_POOL_MANAGER_INFO")
    process = space.vampire(harness.vampire_config(source={"info": info}))
    space.environment["MSTRO_POOL_MANAGER_INFO"] = info
    finish_small(space, process)


@pytest.mark.parametrize("content", ["line", "bare", "log"])
def test_info_from_a_file_that_appears_later(space, content):
    info_file = space.path / "pm.info"
    early = space.vampire(harness.vampire_config(source={"info_file": str(info_file)}), ready=False)
    early.until_stderr("pm.info")
    space.pool_manager()
    text = {
        "line": f"MSTRO_POOL_MANAGER_INFO;{space.info};\n",
        "bare": space.info,
        "log": f"[I] starting\nMSTRO_POOL_MANAGER_INFO;{space.info};\n[I] ready\n",
    }[content]
    # In pieces, as a shell's redirection may show it.
    with open(info_file, "w", encoding="utf-8") as file:
        if content != "bare":
            file.write(text[: len(text) // 2])
            file.flush()
            os.fsync(file.fileno())
            file.write(text[len(text) // 2 :])
        else:
            file.write(text)
    space.await_vampire(early)
    finish_small(space, early)


@pytest.mark.parametrize("way", ["argument", "setting", "environment", "configuration"])
def test_the_info_is_shown_nowhere(space, way):
    """It holds the key that lets a component join: neither a file nor a message nor ps shows it."""
    space.pool_manager()
    info = space.environment.pop("MSTRO_POOL_MANAGER_INFO")
    config = harness.vampire_config(source={"info": info} if way == "configuration" else {})
    options = {"argument": ["-p", info], "setting": ["-o", f"source.info={info}"]}.get(way, [])
    extra = {"MSTRO_POOL_MANAGER_INFO": info} if way == "environment" else {}
    process = space.vampire(config, *options, extra=extra)
    arguments = (pathlib.Path("/proc") / str(process.child.pid) / "cmdline").read_bytes()
    assert info.encode() not in arguments
    process.signal(signal.SIGUSR1)
    process.signal(signal.SIGHUP)  # reads the same information again
    process.until_stderr("read again")
    process.stop()
    written = [path for path in space.path.glob("**/*") if path.is_file() and path.name != "vampire.json"]
    shown = [path.name for path in written if info.encode() in path.read_bytes()]
    assert shown == ["pool-manager.stdout"], shown
    dump = subprocess.run([harness.program("vampire"), "--dump-config", "-c", space.path / "vampire.json", *options],
                          env={**space.environment, **extra}, capture_output=True, text=True, check=True)
    assert info not in dump.stdout and '"source"' in dump.stdout


def test_info_file_written_by_the_pool_manager(space):
    info_file = space.path / "pm.info"
    space.pool_manager("--info-file", info_file)
    harness.wait_until(info_file.exists, "the pool manager writes its info")
    assert space.info in info_file.read_text()
    assert stat.S_IMODE(info_file.stat().st_mode) == 0o600, "a secret"
    del space.environment["MSTRO_POOL_MANAGER_INFO"]
    process = space.vampire(harness.vampire_config(source={"info_file": str(info_file)}))
    space.environment["MSTRO_POOL_MANAGER_INFO"] = space.info
    finish_small(space, process)


# ------------------------------------------------------------------ no way to it


def test_no_pool_manager_at_all(space):
    process = space.vampire(harness.vampire_config(), ready=False)
    process.expect_exit(2, 20)
    assert "MSTRO_POOL_MANAGER_INFO" in process.stderr
    assert not space.hdf5_files(), "a run that never began leaves no files"


def test_a_pool_manager_that_is_gone(space):
    manager = space.pool_manager()
    manager.end()
    process = space.vampire(harness.vampire_config(source={"wait": "2s"}), ready=False)
    process.expect_exit(3, 25)
    assert "pool manager" in process.stderr
    assert not space.hdf5_files()


def test_an_info_file_that_never_appears(space):
    config = harness.vampire_config(source={"info_file": "never.info", "wait": "1s"})
    process = space.vampire(config, ready=False)
    process.expect_exit(3, 15)
    assert "never.info" in process.stderr


def test_an_info_that_makes_no_sense(space):
    config = harness.vampire_config(source={"info": "bm90IGFuIGluZm8=", "wait": "1s"})
    process = space.vampire(config, ready=False)
    process.expect_exit(2, 15)
    assert "bm90IGFuIGluZm8=" in process.stderr


def test_another_workflow_is_refused(space):
    space.pool_manager()
    config = harness.vampire_config(source={"wait": "1s"})
    process = space.vampire(config, "--workflow", "ocean", ready=False)
    process.expect_exit(3, 15)
    assert "ocean" in process.stderr


@pytest.mark.parametrize("provider", ["nonsense", "nonsense;ofi_rxm"])
def test_a_provider_that_will_not_do(space, provider):
    manager = space.start(
        [harness.program("maestro-pool-manager")], "pool-manager",
        {"MSTRO_OFI_PROVIDER": provider, "MSTRO_COMPONENT_NAME": "Pool Manager"},
    )
    assert manager.wait(20) not in (0, 99)
    assert provider.split(";")[0] in manager.stderr
    assert "tcp" in manager.stderr, "it says what could be used"


# ------------------------------------------------------------------ configurations


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.name)
def test_ready_configurations_are_right(path):
    result = vampire("--check-config", "-c", path)
    assert result.returncode == 0, result.stderr


def test_there_are_ready_configurations():
    assert harness.ROOT / "config" / "ready" / "demo.json" in CONFIGURATIONS


def test_all_mistakes_are_reported_at_once(space):
    path = space.path / "wrong.json"
    config = harness.vampire_config()
    config["colour"] = "red"
    config["workflow"] = 7
    config["source"] = {"wait": "soon"}
    path.write_text(json.dumps(config, indent=2))
    result = vampire("--check-config", "-c", path)
    assert result.returncode == 2
    for word in ("colour", "workflow", "wait", "soon"):
        assert word in result.stderr, f"'{word}' is not reported: {result.stderr}"
    lines = path.read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if "colour" in line)
    assert str(number) in result.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1, "a": 2}', "{}}", "\xff", "null"])
def test_files_that_are_no_configuration(space, text):
    path = space.path / "wrong.json"
    path.write_bytes(text.encode("latin-1"))
    result = vampire("--check-config", "-c", path)
    assert result.returncode == 2
    assert "wrong.json" in result.stderr


def test_a_configuration_that_does_not_exist():
    result = vampire("-c", "/nonexistent/vampire.json")
    assert result.returncode == 2 and "/nonexistent/vampire.json" in result.stderr


def test_an_output_that_cannot_be_created(space):
    space.pool_manager()
    config = harness.vampire_config(directory="/proc/nowhere")
    process = space.vampire(config, ready=False)
    assert process.wait(15) in (1, 2)
    assert "/proc/nowhere" in process.stderr


@pytest.mark.parametrize("arguments", [["--nonsense"], ["-c"], ["surplus"]])
def test_wrong_command_lines(arguments):
    result = vampire(*arguments)
    assert result.returncode == 2
    assert "--help" in result.stderr


@pytest.mark.parametrize("argument", ["--help", "--help=all", "--version", "--list-metrics"])
def test_questions_are_answered_on_stdout(argument):
    result = vampire(argument)
    assert result.returncode == 0 and result.stderr == ""
    words = {"--help": ["--check-config", "--help=all"], "--help=all": ["--check-config", "Exit", "3"], "--version": ["vampire", "Maestro"],
             "--list-metrics": ["pool_operations", "transport_ns", "demand_wait_ns"]}
    for word in words[argument]:
        assert word.lower() in result.stdout.lower(), word


@pytest.mark.plain
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_no_privileges_are_needed(space, monkeypatch):
    """The whole workflow as nobody, without any capability, and with no way to get one."""
    nobody, place = 65534, space.path / "nobody"
    shutil.copytree(harness.BUILD / "bin", place / "bin")
    shutil.copytree(harness.BUILD / "lib" / "vampire", place / "lib" / "vampire")
    monkeypatch.setattr(harness, "BUILD", place)
    argv = ["setpriv", "--no-new-privs"]
    if os.geteuid() == 0:
        argv += ["--reuid", nobody, "--regid", nobody, "--clear-groups", "--bounding-set", "-all", "--inh-caps", "-all"]
        for path in (space.path, place, *place.rglob("*")):
            os.chown(path, nobody, nobody)
    start = space.start
    monkeypatch.setattr(space, "start", lambda program, *more, **options: start([*argv, *program], *more, **options))
    manager = space.pool_manager()
    vampire = space.vampire(harness.vampire_config())
    for process in (manager, vampire):
        with open(f"/proc/{process.child.pid}/status", encoding="ascii") as lines:
            status = dict(line.split(":", 1) for line in lines)
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        assert "0" not in status["Uid"].split()
    reports = harness.Workflow(space, model_options=model_options(3, 2, 2, 64, 4096, 0)).finish()
    vampire.expect_exit(0)
    assert_agreement(space, reports)


def test_what_a_bound_left_out_is_said(space):
    """With enough room nothing is said; with far too little the figures of the data are."""
    for name, bounds in (("enough", {}), ("little", {"max_components": 2, "max_series": 4, "max_cdos": 16})):
        (space.path / name).mkdir()
        run = space.vampire(
            {
                "source": {"type": "synthetic", "steps": 20},
                "statistics": bounds,
                "outputs": [{"type": "hdf5", "directory": name}],
            },
            name=name, ready=False)
        run.expect_exit(0)
        said = [line.strip() for line in run.stderr.splitlines() if "at a limit" in line]
        counters = results.Hdf5Run((space.path / name).glob("*.h5")).counters
        evicted, values, labels, again = (counters[f"vampire_{what}"][()] for what in (
            "evicted", "series_overflow", "labels_given_up", "cdos_uncounted"))
        if name == "enough":
            assert not said and evicted == values == labels == again == 0
        else:
            assert min(evicted, values, labels) > 0
            assert [line.split()[0] for line in said] == ["(other)", *["at"] * (4 if again else 3)]
            assert f"{values:,} values of series" in said[1] and f"{evicted:,} records" in said[3]
            assert f"{labels:,} labels aggregated away" in said[2]


# ------------------------------------------------------------------ the network library


def loaded_by(tmp_path, *arguments):
    """Names of the libraries that a run of vampire loads."""
    said = tmp_path / "loaded"
    environment = {**harness.clean_environment(), "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(said)}
    done = subprocess.run([harness.program("vampire"), *map(str, arguments)], env=environment,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    text = "".join(path.read_text() for path in tmp_path.glob("loaded.*"))
    assert "libprotobuf-c" in text
    return text


# --version and --list-metrics ask what a run would load.
@pytest.mark.parametrize("command", ["--help", "--print-schema"])
def test_a_command_loads_no_network_library(tmp_path, command):
    assert not re.search(r"libfabric|libmaestro|maestro\.so", loaded_by(tmp_path, command))


def test_checking_and_replaying_load_no_network_library(tmp_path):
    configuration = tmp_path / "vampire.json"
    configuration.write_text(json.dumps(harness.vampire_config()))
    assert "libfabric" not in loaded_by(tmp_path, "-c", configuration, "--check-config")
    made = {"source": {"type": "synthetic", "steps": 2},
            "outputs": [{"type": "recording", "directory": str(tmp_path)}]}
    configuration.write_text(json.dumps(made))
    assert "libfabric" not in loaded_by(tmp_path, "-c", configuration)
    recording = next(tmp_path.glob("*.rec"))
    assert "libfabric" not in loaded_by(tmp_path, "--replay", recording, "-o", "outputs=[]")


def maps(process):
    return pathlib.Path(f"/proc/{process.child.pid}/maps").read_text()


def test_who_moves_payloads_loads_libfabric():
    with harness.Workspace(provider="shm") as space:
        manager, vampire, times = space.pool_manager(), space.vampire(harness.vampire_config()), space.path / "times"
        solo = space.start([harness.program("workflow_solo"), "--fields", 10**9, "--times", times], "solo")
        harness.wait_until(lambda: times.exists() and times.stat().st_size > 0, "a payload has moved")
        assert ["libfabric" in maps(process) for process in (manager, vampire, solo)] == [False, False, True]


def test_libfabric_that_cannot_be_loaded():
    with harness.Workspace(provider="shm") as space:
        space.pool_manager()
        (space.path / "libfabric.so.1").write_text("no library")
        solo = space.start([harness.program("workflow_solo"), "--fields", 1], "solo", {"LD_LIBRARY_PATH": str(space.path)})
        assert solo.wait() == 1
        assert re.search(r"libfabric.so.1 cannot be loaded .*MSTRO_OFI_PROVIDER=stream", solo.account()), solo.account()


def test_joining_loads_it(space):
    space.pool_manager()
    process = space.vampire(harness.vampire_config())
    assert harness.LIVE in maps(process)
    process.stop()


def test_without_the_part_that_joins(tmp_path):
    (tmp_path / "bin").mkdir()
    alone = shutil.copy(harness.program("vampire"), tmp_path / "bin")
    configuration = tmp_path / "vampire.json"
    configuration.write_text(json.dumps(harness.vampire_config()))
    done = subprocess.run([alone, "-c", configuration], capture_output=True, text=True, timeout=60, check=False,
                          cwd=tmp_path, env=harness.clean_environment())
    assert done.returncode not in (0, None)
    assert str(tmp_path / "bin/../lib/vampire/maestro.so") in done.stderr, done.stderr


@pytest.mark.parametrize("program", ["vampire", "vampire-collect"])
def test_plug_ins_that_cannot_be_loaded_are_named(tmp_path, program):
    """Each plug-in is listed: one whose library is hidden with that library, one that is hidden with its package."""
    shutil.copytree(harness.BUILD / "bin", tmp_path / "bin")
    shutil.copytree(harness.BUILD / "lib" / "vampire", tmp_path / "lib" / "vampire")

    def plug_ins():
        done = subprocess.run([tmp_path / "bin" / program, "--version"], capture_output=True, text=True, timeout=60, check=True,
                              env=harness.clean_environment())
        assert done.stderr == ""
        return dict(re.findall(r"^plug-in (\w+): (.*)$", done.stdout, re.MULTILINE))

    built = {path.stem for path in (tmp_path / "lib" / "vampire").glob("*.so")} - {"maestro"}
    assert {"otf2", "prometheus", "influx", "nats"} <= built
    assert plug_ins() == dict.fromkeys(built, "available")
    (tmp_path / "lib" / "vampire" / "influx.so").unlink()
    nats = tmp_path / "lib" / "vampire" / "nats.so"
    nats.write_bytes(re.sub(rb"libnats\.so", b"libnuts.so", nats.read_bytes()))
    found = plug_ins()
    assert re.match(r"not available: .*libnuts\.so[.0-9]*: cannot open shared object file.*vampire-nats", found.pop("nats"))
    assert re.match(r"not available: .*influx\.so: cannot open shared object file.*vampire-influx", found.pop("influx"))
    assert found == dict.fromkeys(built - {"nats", "influx"}, "available")


# ------------------------------------------------------------------ ready


def test_ready_is_said_and_the_ready_file_lasts_as_long_as_the_run(space):
    ready = space.path / "vampire.ready"
    ready.write_text("of a run that was killed")
    info = space.path / "pool.info"
    process = space.vampire(harness.vampire_config(), "--info-file", info, "--ready-file", ready, ready=False)
    harness.wait_until(lambda: not ready.exists(), "the old file is removed")
    space.pool_manager("--info-file", info)
    harness.wait_until(ready.exists, "vampire is ready")
    assert ready.read_text() == f"{process.child.pid}\n"
    harness.wait_until(lambda: '; its components can start now' in process.stderr, "vampire says that it has joined")
    assert process.stderr.count("joined workflow ") == 1
    harness.Workflow(space, model_options=["--steps", 2]).finish()
    process.expect_exit(0)
    assert not list(space.path.glob("vampire.ready*"))


def test_a_ready_file_that_cannot_be_written_is_known_at_the_start(tmp_path):
    made = {"source": {"type": "synthetic", "steps": 2}, "outputs": [{"type": "null"}]}
    (tmp_path / "c.json").write_text(json.dumps(made))
    done = vampire("-c", tmp_path / "c.json", "--ready-file", tmp_path / "nowhere" / "ready")
    assert done.returncode == 1
    assert f"write the ready file {tmp_path}/nowhere/ready: No such file or directory" in done.stderr
