# SPDX-License-Identifier: BSD-3-Clause
"""Real processes for the end-to-end tests and the demo.

A Workspace is a private directory and the processes started in it. It ends only what it
started. Every wait is for a condition and has a deadline.
"""

import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODE = os.environ.get("MODE", "release")
BUILD = pathlib.Path(os.environ.get("VAMPIRE_BUILD", ROOT / "build" / MODE))
# Sanitizers are slow; a deadline only has to be longer than the slowest good run.
PATIENCE = {"release": 1.0, "debug": 1.5, "asan": 3.0, "tsan": 6.0, "cov": 2.0}.get(MODE, 1.0)
# In tests of every failure: only every FAULT_STEP-th failure, for a run that does not take hours.
FAULT_STEP = int(os.environ.get("FAULT_STEP", "1"))
INFO_MARK = "MSTRO_POOL_MANAGER_INFO;"


class Failure(AssertionError):
    """What did not happen, and the output of the processes."""


LIVE = str(BUILD / "lib" / "vampire" / "maestro.so")


def program(name):
    return str(BUILD / "bin" / name)


def build_preload(name, directory):
    """Compiles tests/e2e/NAME.c as a library for LD_PRELOAD; its path."""
    library = pathlib.Path(directory) / f"{name}.so"
    source = ROOT / "tests" / "e2e" / f"{name}.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-I{ROOT}", "-o", library, source], check=True)
    return library


def wait_until(condition, what, seconds=60.0):
    """Returns the first true value of condition()."""
    deadline = time.monotonic() + seconds * PATIENCE
    pause = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {seconds * PATIENCE:.0f} s")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def clean_environment(extra=None):
    """The environment of the tests without the variables of Maestro, libfabric and vampire."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("MSTRO_", "FI_", "VAMP"))
    }
    environment.update(
        MSTRO_WORKFLOW_NAME="weather",
    )
    environment.update(extra or {})
    return environment


def vampire_config(bucket="1s", directory=".", jsonl="vampire.jsonl", source=None):
    """A configuration as the tests want it: everything counted, both writers, no long waits."""
    return {
        "source": {"leave_grace": "300ms", **(source or {})},
        "statistics": {"bucket": bucket},
        "outputs": [
            {"type": "hdf5", "directory": directory},
            {"type": "jsonl", "path": jsonl},
        ],
    }


def config_text(config):
    """What to write into a configuration file. JSON lines in files, which have few labels by default, have
    all of them: the tests compare the detail."""
    outputs = [{"without": [], **output} if output.get("type") == "jsonl" and "by" not in output else output
               for output in config.get("outputs", [])]
    return json.dumps({**config, **({"outputs": outputs} if outputs else {})}, indent=2)


LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


def die_with_parent():
    """In the child, before exec: it is killed when the test is killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """One child with its output in files."""

    def __init__(self, argv, directory, name, environment, stderr_to_terminal=False):
        self.name = name
        self.stdout_path = pathlib.Path(directory) / f"{name}.stdout"
        self.stderr_path = pathlib.Path(directory) / f"{name}.stderr"
        self.argv = [str(argument) for argument in argv]
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self.child = subprocess.Popen(
                self.argv,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=None if stderr_to_terminal else err,
                # The demo handles Ctrl-C itself.
                start_new_session=not stderr_to_terminal,
                preexec_fn=die_with_parent,
            )

    @property
    def stdout(self):
        return self.stdout_path.read_text(errors="replace")

    @property
    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def running(self):
        return self.child.poll() is None

    def signal(self, number):
        if self.running():
            self.child.send_signal(number)

    def wait(self, seconds=60.0):
        """Its exit code; a failure when it does not end in time."""
        try:
            return self.child.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} does not end\n{self.account()}") from None

    def expect_exit(self, code=0, seconds=60.0):
        got = self.wait(seconds)
        if got != code:
            raise Failure(f"{self.name} ended with {got}, not {code}\n{self.account()}")

    def stop(self):
        """Asks a program that ends on SIGTERM to end, and requires exit code 0."""
        self.signal(signal.SIGTERM)
        self.expect_exit(0)

    def wait_or_signal(self, number, seconds):
        """Its exit code. It gets the signal when it does not end by itself within `seconds`: a vampire
        that lost a component's leave does not know that the workflow has ended."""
        try:
            return self.child.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            self.signal(number)
            return self.wait()

    def end(self):
        if self.running():
            self.child.send_signal(signal.SIGCONT)
            self.child.kill()
        self.child.wait()

    def account(self):
        state = "running" if self.running() else f"exit code {self.child.returncode}"
        return (
            f"--- {self.name} ({state}): {' '.join(self.argv)[:400]}\n"
            f"{self.stdout[-2000:]}{self.stderr[-6000:]}"
        )

    def until_stderr(self, text, seconds=60.0):
        """Waits until its standard error contains `text`; fails when the process ends first."""

        def said():
            if text in self.stderr:
                return True
            if not self.running() and text not in self.stderr:
                raise Failure(f"{self.name} ended before it said '{text}'\n{self.account()}")
            return False

        wait_until(said, f"{self.name} says '{text}'", seconds)

    def report(self):
        """The JSON line of a workflow program."""
        lines = [line for line in self.stdout.splitlines() if line.startswith("{")]
        if len(lines) != 1:
            raise Failure(f"{self.name} printed {len(lines)} reports\n{self.account()}")
        return json.loads(lines[0])


class Workspace:
    """A private directory, its processes, and shorthands to start the usual ones."""

    def __init__(self, directory=None, provider=None, terminal=False):
        self.made = directory is None
        self.path = pathlib.Path(directory or tempfile.mkdtemp(prefix="vampire-e2e-"))
        self.provider = provider
        self.terminal = terminal
        self.processes = []
        self.environment = clean_environment({"MSTRO_OFI_PROVIDER": provider} if provider else {})
        self.info = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for process in reversed(self.processes):
            process.end()
        if error is not None and kind is not KeyboardInterrupt and not self.terminal:
            for process in self.processes:
                print(process.account())
        if self.made:
            shutil.rmtree(self.path, ignore_errors=True)

    def start(self, argv, name, extra=None, **options):
        environment = dict(self.environment)
        environment.update(extra or {})
        process = Process(argv, self.path, name, environment, **options)
        self.processes.append(process)
        return process

    # ---------------------------------------------------------------- the usual processes

    def pool_manager(self, *options, name="pool-manager", extra=None, before=()):
        """Starts a pool manager and passes its info to all processes that are started later. `before`: a
        command that runs it."""
        process = self.pool_manager_that_may_fail(*options, name=name, extra=extra, before=before)
        if INFO_MARK not in process.stdout:
            raise Failure(f"no pool manager\n{process.account()}")
        return process

    def pool_manager_that_may_fail(self, *options, name="pool-manager", extra=None, before=()):
        """The same, but it may end before it prints its info."""
        extra = {"MSTRO_COMPONENT_NAME": "Pool Manager", **(extra or {})}
        process = self.start([*before, program("maestro-pool-manager"), *options], name, extra)

        def info():
            return re.search(rf"^{INFO_MARK}(.*?)[;\n]", process.stdout, re.MULTILINE)

        wait_until(lambda: info() or not process.running(), "the pool manager starts or ends")
        if info():
            self.info = self.environment["MSTRO_POOL_MANAGER_INFO"] = info()[1]
        return process

    def vampire(self, config, *options, name="vampire", ready=True, extra=None, **process_options):
        """`config`: a path, or what to write into one."""
        if isinstance(config, dict):
            path = self.path / f"{name}.json"
            path.write_text(config_text(config))
            config = path
        before = set(self.hdf5_files())
        process = self.start(
            [program("vampire"), "-c", config, *options], name, extra, **process_options
        )
        if ready:
            self.await_vampire(process, before)
        return process

    def await_vampire(self, process, before=()):
        """Its files appear once it has subscribed: from then on it misses nothing."""

        def subscribed():
            if set(self.hdf5_files()) - set(before):
                return True
            if not process.running():
                raise Failure(f"vampire did not start\n{process.account()}")
            return False

        wait_until(subscribed, "vampire has joined")

    def hdf5_files(self):
        return sorted(self.path.glob("**/vampire-*.h5"))

    def hdf5(self):
        files = self.hdf5_files()
        if len(files) != 1:
            raise Failure(f"{len(files)} HDF5 files, not one: {files}")
        return files[0]

    def json_lines(self):
        return self.path / "vampire.jsonl"

    def product(self, *options, name, producers=(), label=None, extra=None):
        """A product generator, ready when this returns."""
        label = label or safe(name)
        ready = self.path / f"{label}.ready"
        argv = [program("workflow_product"), "--name", name, "--ready-file", ready]
        for producer in producers:
            argv += ["--producer", producer]
        process = self.start(argv + list(options), label, extra)

        def is_ready():
            if ready.exists():
                return True
            if not process.running():
                raise Failure(f"{name} did not start\n{process.account()}")
            return False

        wait_until(is_ready, f"{name} is ready")
        return process

    def model(self, *options, name, rank=0, label=None, extra=None):
        argv = [program("workflow_model"), "--name", name, "--rank", rank, *options]
        return self.start(argv, label or safe(name), extra)


def safe(name):
    """A component's name as part of a file name."""
    text = "".join(c if c.isalnum() and c.isascii() else "-" for c in name)
    return f"{text[:40]}-{zlib.crc32(name.encode()):08x}" if text != name else text


class Workflow:
    """The demo workflow: products first, then models, as in production."""

    def __init__(
        self,
        space,
        models=2,
        products=2,
        model_options=(),
        product_options=(),
        model_names=None,
        product_names=None,
        selectors=("(has .maestro.ecmwf.step)", "(.maestro.ecmwf.levelist = 500)"),
    ):
        self.space = space
        names = model_names or [f"IFS -- {rank}" for rank in range(models)]
        product_names = product_names or [f"Products {number + 1}" for number in range(products)]
        self.products = [
            space.product(
                "--select",
                selectors[number % len(selectors)],
                *product_options,
                name=name,
                producers=names,
                label=f"product-{number + 1}",
            )
            for number, name in enumerate(product_names)
        ]
        self.models = [
            space.model(*model_options, name=name, rank=rank, label=f"model-{rank}")
            for rank, name in enumerate(names)
        ]

    def all(self):
        return self.models + self.products

    def finish(self, seconds=90.0):
        """Waits for all of them and returns their reports."""
        for process in self.all():
            process.expect_exit(0, seconds)
        return self.reports()

    def reports(self):
        return [process.report() for process in self.all()]
