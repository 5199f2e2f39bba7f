# SPDX-License-Identifier: BSD-3-Clause
"""config/ready/vampire.slurm and vampire.pbs with stand-ins for the launcher, the pool manager and vampire: the ids and
folders of batch systems, and a vampire that fails in every way. The components start, and the job's exit code is theirs."""

import os
import re

import pytest

import harness
from test_operations import CONFIG, script

pytestmark = pytest.mark.plain

SCRIPTS = ["vampire.slurm", "vampire.pbs"]
SUBMIT = {"vampire.slurm": "SLURM_SUBMIT_DIR", "vampire.pbs": "PBS_O_WORKDIR"}
# The environment of a job, an array, a heterogeneous job and a requeued job.
JOBS = {
    "vampire.slurm": {
        "job": {"SLURM_JOB_ID": "17"},
        "array": {"SLURM_JOB_ID": "18", "SLURM_ARRAY_JOB_ID": "17", "SLURM_ARRAY_TASK_ID": "3"},
        "het": {"SLURM_JOB_ID": "19", "SLURM_HET_SIZE": "2", "SLURM_JOB_ID_HET_GROUP_0": "19", "SLURM_JOB_ID_HET_GROUP_1": "20"},
        "requeued": {"SLURM_JOB_ID": "21", "SLURM_RESTART_COUNT": "1"},
    },
    "vampire.pbs": {
        "job": {"PBS_JOBID": "17.server"},
        "array": {"PBS_JOBID": "18[3].server", "PBS_ARRAY_INDEX": "3", "PBS_ARRAY_ID": "18[].server"},
        "whole array": {"PBS_JOBID": "19[].server"},
        "requeued": {"PBS_JOBID": "21.server"},
    },
}
FOLDERS = ["two words", "*", "a?[b]", "$HOME", "~", "-n", "%s %d", "quote'\"", "back\\slash", "line\nbreak", "{a,b}", "größe;#&"]

LAUNCHER = """#!/bin/sh
for last; do :; done
echo "$last" >>"$STARTED"
case $last in ./model) exit 7 ;; esac
"""
POOL_MANAGER = """#!/bin/bash
trap 'exit 0' USR2
printf 'MSTRO_POOL_MANAGER_INFO;secret;\\n' >"$2"
while :; do sleep 0.1; done
"""
# vampire -c CONFIG -q --ready-file FILE
VAMPIRE = """#!/bin/bash
ready=$5
join() { echo $$ >"$ready"; }
"""
JOINS = "join; until [ -s \"$STARTED\" ]; do sleep 0.1; done\n"


class Job:
    """A job script among stand-ins. `vampire`: what the stand-in does, None where it is not installed; `seconds`: other
    values for the variables of the script."""

    def __init__(self, space, name, folder="job", ids="job", vampire=JOINS, pool_manager=POOL_MANAGER, **seconds):
        self.folder = space.path / folder
        self.folder.mkdir(exist_ok=True)
        self.started = self.folder / "started"
        tools = space.path / f"tools{len(space.processes)}"  # of this job, since others run
        tools.mkdir()
        for launcher in ("srun", "mpiexec"):
            script(tools / launcher, LAUNCHER)
        script(tools / "maestro-pool-manager", pool_manager)
        if vampire is not None:
            script(tools / "vampire", VAMPIRE + vampire)
        text = (CONFIG / name).read_text(encoding="utf-8")
        for variable, value in seconds.items():
            text, count = re.subn(rf"^{variable}=\d+$", f"{variable}={value}", text, flags=re.MULTILINE)
            assert count == 1, variable
        script(tools / name, text)
        ids = JOBS[name][ids]
        self.directory = self.folder / f"vampire-{list(ids.values())[0]}"
        self.process = space.start(["bash", tools / name], f"job{len(space.processes)}", {
            **ids, SUBMIT[name]: str(self.folder), "STARTED": str(self.started), "MSTRO_POOL_BIND": "127.0.0.1",
            "VAMPIRE_CONFIG": str(space.path / "none.json"), "PATH": f"{tools}:{os.environ['PATH']}"})

    def components(self):
        return self.started.read_text(encoding="utf-8").split() if self.started.exists() else []

    def check(self):
        """Returns what the job printed to standard error."""
        self.process.expect_exit(7)
        assert sorted(self.components()) == ["./model", "./products"], self.process.account()
        return self.process.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_kind_of_job_has_its_directory(space, name):
    jobs = [Job(space, name, ids=ids, folder=ids) for ids in JOBS[name]]
    for job in jobs:
        assert job.check() == ""
        assert job.directory.is_dir() and job.directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_folder_has_any_name(space, name):
    jobs = [Job(space, name, folder=folder, ids="array") for folder in FOLDERS]
    for job in jobs:
        assert job.check() == ""
        assert (job.directory / "pm.info").exists()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_requeued_job_ignores_what_its_earlier_run_left(space, name):
    first = Job(space, name, ids="requeued")
    assert first.check() == ""
    (first.directory / "vampire.ready").write_text("1\n", encoding="utf-8")
    (first.directory / "pm.info").write_text("MSTRO_POOL_MANAGER_INFO;old;\n", encoding="utf-8")
    (first.directory / "kept.h5").write_text("data", encoding="utf-8")
    first.started.unlink()
    second = Job(space, name, ids="requeued", vampire="""
        [ ! -e "$ready" ] && [ "$MSTRO_POOL_MANAGER_INFO" = secret ] || exit 9
    """ + JOINS)
    assert second.check() == ""
    assert (first.directory / "kept.h5").read_text(encoding="utf-8") == "data"


# The script waits for none of these until its deadline, which is far away.
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("vampire, message", [
    ("echo broken >&2; exit 1\n", "broken"),
    ("kill -KILL $$\n", "no statistics"),
    (None, "not found"),
    ("join; exit 4\n", "exit code 4"),
    ("sleep 1; " + JOINS, ""),
], ids=["fails", "is killed", "is missing", "joins and fails", "is slow"])
def test_the_components_start_whatever_vampire_does(space, name, vampire, message):
    stderr = Job(space, name, vampire=vampire, join_within=600, end_within=600).check()
    assert message in stderr
    assert (stderr == "") == (message == "")


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("vampire, message", [
    ("sleep 600\n", "not joined within 1 s"),
    ("trap '' TERM; while :; do sleep 0.1; done\n", "not joined within 1 s"),
    ("kill -STOP $$\n", "not joined within 1 s"),
    ("join; trap '' TERM; while :; do sleep 0.1; done\n", "exit code 137"),
], ids=["hangs", "hangs and ignores SIGTERM", "is stopped", "joins and hangs"])
def test_a_vampire_that_hangs_is_ended(space, name, vampire, message):
    job = Job(space, name, vampire="echo $$ >pid\n" + vampire, join_within=1, end_within=1, kill_after=1)
    assert message in job.check()
    pid = int((job.directory / "pid").read_text(encoding="utf-8"))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_time_limit_ends_a_job_whose_vampire_hangs(space, name):
    job = Job(space, name, vampire="touch begun; trap '' TERM; while :; do sleep 0.1; done\n", join_within=600, kill_after=1)
    harness.wait_until(lambda: (job.directory / "begun").exists(), "vampire runs")
    job.process.signal(15)
    job.process.expect_exit(143)
    assert job.components() == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_pool_manager_that_fails_ends_the_job_with_a_message(space, name):
    job = Job(space, name, pool_manager="#!/bin/sh\nexit 1\n")
    job.process.expect_exit(1)
    assert "the pool manager did not write" in job.process.stderr
    assert job.components() == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_components_wait_less_than_20_s(name):
    text = (CONFIG / name).read_text(encoding="utf-8")
    assert int(re.search(r"^join_within=(\d+)$", text, re.MULTILINE)[1]) < 20


def test_both_scripts_do_the_same():
    slurm, pbs = [(CONFIG / name).read_text(encoding="utf-8") for name in SCRIPTS]
    for ours, theirs in [("SLURM_SUBMIT_DIR", "PBS_O_WORKDIR"), ("SLURM_JOB_ID", "PBS_JOBID"),
                         ("srun --nodes=1 --ntasks=1 --exact", "mpiexec -n 1")]:
        slurm = slurm.replace(ours, theirs)
    assert slurm[slurm.index("set -euo"):] == pbs[pbs.index("set -euo"):]
