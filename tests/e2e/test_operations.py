# SPDX-License-Identifier: BSD-3-Clause
"""What docs/operations.md says and the files it names: job scripts that work, a unit that systemd
accepts, messages that the program has."""

import json
import os
import re
import shutil
import stat
import subprocess

import pytest

import harness
import results

CONFIG = harness.ROOT / "config" / "ready"
MODEL = "--steps 4 --levels 2 --params 2 --size-min 1024 --size-max 65536"
# A batch system's launcher, as far as one host needs it: options are left away.
LAUNCHER = """#!/bin/bash
while [ $# -gt 0 ]; do
    case $1 in
    -n) shift 2 ;;
    -*) shift ;;
    *) exec "$@" ;;
    esac
done
"""

pytestmark = pytest.mark.plain


def script(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def prepare(space):
    """The components of a job, as the scripts name them, and the launchers."""
    tools = space.path / "tools"
    tools.mkdir()
    for launcher in ("srun", "mpiexec"):
        script(tools / launcher, LAUNCHER)
    script(space.path / "products", f"#!/bin/sh\nexec {harness.program('workflow_product')} --name 'Products 1' "
           "--producer 'IFS -- 0' --ready-file products.ready --select '(has .maestro.ecmwf.step)' >products.out\n")
    script(space.path / "model", "#!/bin/sh\nuntil [ -e products.ready ]; do sleep 0.1; done\n"
           f"{harness.program('workflow_model')} --name 'IFS -- 0' --rank 0 {MODEL} >model.out && rm products.ready\n")
    config = space.path / "config.json"
    config.write_text(harness.config_text(harness.vampire_config()), encoding="utf-8")
    return {
        "PATH": f"{tools}:{harness.BUILD / 'bin'}:{os.environ['PATH']}", "VAMPIRE_CONFIG": str(config),
        "MSTRO_POOL_BIND": "127.0.0.1", "SLURM_JOB_ID": "17", "SLURM_SUBMIT_DIR": str(space.path), "PBS_JOBID": "17",
        "PBS_O_WORKDIR": str(space.path),
    }


@pytest.mark.parametrize("name", ["vampire.slurm", "vampire.pbs"])
def test_a_job_script_works(space, name):
    job = space.start(["bash", CONFIG / name], "job", prepare(space))
    job.expect_exit(0, 90)
    assert job.stderr.count("no statistics") == 0
    runs = {"hdf5": results.Hdf5Run(space.hdf5_files()),
            "json": results.JsonRun(space.path / "vampire-17" / "vampire.jsonl")}
    reports = [space_report(space, which) for which in ("model", "products")]
    assert not results.compare(reports, runs)
    assert "ended by" not in job.stderr and "SIGUSR2" in job.stderr, job.account()


def space_report(space, which):
    return json.loads((space.path / f"{which}.out").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["vampire.slurm", "vampire.pbs"])
def test_a_requeued_job_works_with_any_output_and_folder(space, name):
    folder = space.path / "a*b [c]"
    folder.mkdir()
    environment = {**prepare(space), "SLURM_SUBMIT_DIR": str(folder), "PBS_O_WORKDIR": str(folder), "PBS_JOBID": "17[3].server"}
    for component in ("products", "model"):
        (space.path / component).rename(folder / component)
    (space.path / "config.json").write_text('{"outputs": [{"type": "jsonl"}]}', encoding="utf-8")
    for run in ("first", "requeued"):
        job = space.start(["bash", CONFIG / name], run, environment)
        job.expect_exit(0, 90)
        assert "no statistics" not in job.stderr, job.account()


def test_a_job_runs_without_statistics_rather_than_not_at_all(space):
    environment = prepare(space)
    (space.path / "config.json").write_text("{", encoding="utf-8")
    job = space.start(["bash", CONFIG / "vampire.slurm"], "job", environment)
    job.expect_exit(0, 90)
    assert "no statistics" in job.stderr and "config.json" in job.stderr
    assert space_report(space, "products")["consumed_bytes"] > 0


def test_a_job_at_its_time_limit_leaves_complete_files(space):
    environment = prepare(space)
    script(space.path / "model", "#!/bin/sh\nexec sleep 100\n")
    job = space.start(["bash", CONFIG / "vampire.slurm"], "job", environment)
    harness.wait_until(lambda: (space.path / "products.ready").exists(), "the job runs", 60)
    job.signal(15)
    job.expect_exit(143, 60)
    assert "ended by" not in job.stderr and "SIGUSR2" in job.stderr
    assert results.Hdf5Run(space.hdf5_files()).buckets >= 0


PAGE = (harness.ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_a_recipe_works_twice_in_one_folder_and_shell(space, recipe):
    environment = prepare(space)
    shutil.copy(CONFIG / "minimal.json", space.path)
    script(space.path / "recipe", f"#!/bin/sh\n{recipe}\nmkdir first; mv model.out products.out first\n{recipe}")
    job = space.start([space.path / "recipe"], "job", environment)
    job.expect_exit(0, 90)
    assert "ended with" not in job.stdout and "no statistics" not in job.stdout, job.account()
    files = space.hdf5_files()
    assert len(files) == 2
    for file, folder in zip(files, ["first", "."]):
        reports = [space_report(space, f"{folder}/{which}") for which in ("model", "products")]
        assert not results.compare(reports, {"hdf5": results.Hdf5Run([file])})


def test_the_page_has_recipes():
    assert RECIPES


LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
WORDS = dict(re.findall(r'#define (VAMP_WORDS_\w+)[\s\\]+(".*")', (harness.ROOT / "programs/vampire/words.h").read_text(encoding="utf-8")))


def messages_of(path):
    """The texts in a C file, those that the compiler joins as one, each conversion as an ellipsis."""
    source = re.sub(r"^\s*#.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    source = re.sub(r"VAMP_WORDS_\w+", lambda word: WORDS[word[0]], source)
    for joined in re.finditer(LITERAL.pattern + r"(?:\s*" + LITERAL.pattern + ")*", source):
        text = "".join(LITERAL.findall(joined[0])).replace('\\"', '"')
        yield re.sub(r"%[-*.0-9]*(?:ll|l|z|h)*[a-zA-Z]", "…", text)


def test_every_message_of_the_page_is_one_of_the_programs():
    texts = {text for folder in ("vampire", "programs", "config", "writers", "maestro")
             for path in (harness.ROOT / folder).rglob("*.c") for text in messages_of(path)}
    table = PAGE[PAGE.index("## Messages"):]
    quoted = [message for line in table.splitlines() if line.startswith("| `")
              for message in re.findall(r"`([^`]+)`", line.split(" | ")[0])]
    assert len(quoted) > 15
    unknown = [message for message in quoted if not any(message in text for text in texts)]
    assert not unknown


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_job_scripts_are_clean():
    done = subprocess.run(["shellcheck", CONFIG / "vampire.slurm", CONFIG / "vampire.pbs"], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(space):
    unit = space.path / "vampire.service"
    text = (CONFIG / "vampire.service").read_text(encoding="utf-8")
    assert text.count("/usr/local/bin/vampire") == 1  # what the installation puts its prefix into
    unit.write_text(text.replace("/usr/local/bin/vampire", harness.program("vampire")), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_exposes_little():
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=30", CONFIG / "vampire.service"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout[-200:]
