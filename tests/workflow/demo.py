#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A weather workflow of separate processes with a vampire in it, and the proof that vampire counted
right: every component also counts for itself, and the two must agree."""

import argparse
import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "oracle")]
# pylint: disable=wrong-import-position
import harness
import exporters
import results

# Of the dashboard's panels, as in Grafana; others have none.
PANEL_UNITS = {"ops": "/s", "Bps": " B/s", "bytes": " B", "s": " s"}
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size(text):
    """Bytes from "64k", "4m" or a number."""
    number = text.lower().rstrip("ib")
    unit = number[-1:] if number[-1:] in UNITS else ""
    return int(float(number[: len(number) - len(unit)]) * UNITS[unit])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15, help="how long models produce (15)")
    parser.add_argument("--steps", type=int, default=30, help="forecast steps (30)")
    parser.add_argument("--levels", type=int, default=3, help="levels in a step (3)")
    parser.add_argument("--params", type=int, default=4, help="parameters on each level (4)")
    parser.add_argument("--models", type=int, default=2, help="model ranks (2)")
    parser.add_argument("--products", type=int, default=2, help="product generators (2)")
    parser.add_argument("--size-min", type=size, default=size("256k"), help="smallest field (256k)")
    parser.add_argument("--size-max", type=size, default=size("4m"), help="largest field (4m)")
    parser.add_argument("--provider", default="shm", help="what carries payloads: shm or tcp of libfabric, or stream (shm)")
    parser.add_argument("--move-at", default="demand", choices=["demand", "require"],
                        help="when data move: demand or require (demand)")
    parser.add_argument("--config", type=pathlib.Path,
                        default=harness.ROOT / "config" / "ready" / "demo.json", help="vampire's (demo.json)")
    parser.add_argument("--exporters", action="store_true",
                        help="with a Prometheus that scrapes vampire, and what the dashboard's queries answer")
    parser.add_argument("--directory", type=pathlib.Path, help="for all files (demo-TIME)")
    parser.add_argument("--remove", action="store_true", help="remove the files when all agrees")
    return parser.parse_args()


SILENT_S = 2.5  # at most, without a line
last_said = [time.monotonic()]


def say(text):
    last_said[0] = time.monotonic()
    print(f"demo: {text}", file=sys.stderr, flush=True)


def people(count):
    """Bytes as people read them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.1f} {unit}" if unit != "B" else f"{count} B"
        count /= 1024
    return None


@contextlib.contextmanager
def never_silent(what, otherwise_shown=False):
    """Says what is done as often as nothing else was said for SILENT_S. `otherwise_shown`: something else shows it."""
    began, ended = time.monotonic(), threading.Event()

    def tell():
        while not ended.wait(0.1):
            if time.monotonic() - last_said[0] >= SILENT_S:
                say(f"{what}, {time.monotonic() - began:.0f} s")

    thread = threading.Thread(target=tell, daemon=True)
    if not otherwise_shown:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if not otherwise_shown:
            thread.join()


def with_prometheus(space, config):
    """The configuration with a page in addition, and a Prometheus that scrapes it."""
    port = exporters.free_port()
    dumped = subprocess.run([harness.program("vampire"), "--dump-config", "-c", config], env=space.environment,
                            capture_output=True, text=True, check=True)  # without comments
    made = json.loads(dumped.stdout)
    made["outputs"].append({"type": "prometheus", "listen": f"tcp:{port}", "linger": "1h"})
    server = exporters.prometheus(space, [f"127.0.0.1:{port}"])
    say(f"Prometheus is at {server.url}, vampire's page at http://127.0.0.1:{port}/metrics")
    return made, server


def show_dashboard(server):
    """What the panels of the dashboard show, now."""
    dashboard = json.loads((harness.ROOT / "packaging" / "exporters" / "vampire-grafana.json").read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        unit = PANEL_UNITS.get(panel.get("fieldConfig", {}).get("defaults", {}).get("unit"), "")
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "1m").replace("$workflow", ".*").replace("$model", ".*")
            found = [(metric, value) for metric, value in server.query(expression) if value == value and value != 0]
            if found:
                say(f"{panel['title']}: {expression}")
            for metric, value in found:
                say(f"    {' '.join(metric.values()) or 'all':32} {value:.6g}{unit}")


def run_workflow(space, options):
    """The reports of the components, when all of them and vampire have ended well."""
    fields = options.steps * options.levels * options.params
    rate = max(1, round(fields / max(options.seconds, 0.1)))
    space.pool_manager("--move-at", options.move_at)
    config, server = options.config.resolve(), None
    if options.exporters:
        config, server = with_prometheus(space, config)
    vampire = space.vampire(config, stderr_to_terminal=True)
    workflow = harness.Workflow(
        space,
        models=options.models,
        products=options.products,
        model_options=[
            "--steps", options.steps, "--levels", options.levels, "--params", options.params,
            "--size-min", options.size_min, "--size-max", options.size_max, "--rate", rate,
        ],
    )
    reports = workflow.finish(60 + 4 * options.seconds)
    if server:
        harness.wait_until(lambda: server.value("vampire_run_ended") == 1, "Prometheus has scraped the end")
        show_dashboard(server)
        vampire.signal(signal.SIGTERM)  # the page need not stay
    vampire.expect_exit(0, 30)
    return reports


def describe(reports, run):
    produced = sum(report["produced_bytes"] for report in reports)
    consumed = sum(report["consumed_bytes"] for report in reports)
    offers = sum(report["operations"]["offer"] for report in reports)
    operations = sum(run.counters["pool_operations"].values())
    say(f"{offers} CDOs with {people(produced)} produced, {people(consumed)} moved, "
        f"{operations} pool operations in {run.buckets} buckets")
    for report in reports:
        wait = report["demand_ns"]
        if wait["count"] > 0:
            say(f"{report['component']} waited {wait['p50'] / 1e6:.2f} ms for a field (median), "
                f"at most {wait['max'] / 1e6:.2f} ms")


def check(space, reports):
    """The differences, after saying what was compared."""
    runs = {"hdf5": results.Hdf5Run(space.hdf5_files()), "json": results.JsonRun(space.json_lines())}
    differences = results.compare(reports, runs) + results.accounting_differences(runs["hdf5"])
    numbers = sum(1 for report in reports for _ in results.expectations(report))
    describe(reports, runs["hdf5"])
    for difference in differences:
        say(f"DIFFERENT {difference}")
    if not differences:
        say(f"agree: {numbers} numbers of {len(reports)} components, each in the HDF5 file "
            "and in the JSON lines")
    return differences


def make_report(directory, files):
    """A page with pictures, when the packages for it are there."""
    program = harness.ROOT / "python" / "vampire-report"
    done = subprocess.run(
        [sys.executable, program, "-o", directory / "report.html", "--png", directory / "pictures", *files],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    say(f"report: {directory / 'report.html'}" if done.returncode == 0
        else f"no report: {done.stderr.strip()}")


def main():
    options = parse_arguments()
    directory = options.directory or pathlib.Path(time.strftime("demo-%Y%m%d-%H%M%S"))
    directory.mkdir(parents=True, exist_ok=True)
    directory = directory.resolve()
    say(f"files in {directory}")
    with harness.Workspace(directory, provider=options.provider, terminal=True) as space:
        try:
            # vampire has a status line on a terminal.
            with never_silent(f"the workflow runs (its models for {options.seconds:g} s)", sys.stderr.isatty()):
                reports = run_workflow(space, options)
            with never_silent("compares the numbers"):
                differences = check(space, reports)
        except KeyboardInterrupt:
            say("interrupted")
            for process in space.processes:
                if "vampire" in process.name:
                    process.signal(signal.SIGINT)
                    process.wait(10)
            return 130
        except harness.Failure as failure:
            say(f"failed: {failure}")
            return 1
        files = space.hdf5_files()
    if differences:
        return 1
    if options.remove:
        shutil.rmtree(directory)
        return 0
    with never_silent("makes the report"):
        make_report(directory, files)
    say("to look at it:")
    print(f"""  /usr/bin/python3 -c 'import xarray; print(xarray.open_dataset("{files[0]}", """
          """engine="h5netcdf"))'""", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
