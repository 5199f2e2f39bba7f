# SPDX-License-Identifier: BSD-3-Clause
"""make bench: the reference workloads as files, next to a recording of the same events, and how long the
Python package and the report take to read them."""

import json
import pathlib
import shutil
import sys

import measure
import workload
from measure import harness

PYTHON = measure.ROOT / "python"
sys.path.insert(0, str(PYTHON))
MODELS = ["(*) -- *", "Products=Products *"]
BY_MODEL = ["model", "source_model", "sink_model", "producer_model", "operation", "size_class", "tier", "cause", "anomaly",
            "output", "reason", "part"]
# A day takes long: `make bench BENCH=day`. With --quick it has two hours.
QUICK_STEPS = {"hour": 300, "wide": 20, "day": 1200}
OPEN = "xarray.open_dataset(path, engine='{}').close()"
QUIET_STEPS, QUIET_SECONDS = 6, (100, 590)  # a longer silence is not written: statistics.max_empty
QUANTILE = "vampire.quantile(path, 'transport_ns', 0.99, by=['source'])"
MODEL_QUANTILE = "vampire.quantile(path, 'transport_ns', [0.5, 0.99], by=['source_model'], output='minutes')"


def read(directory, statement, path, before=""):
    """(processor time of the statement in a new process, without that of imports; account of the process)."""
    program = (f"import sys, time, vampire, xarray; path = sys.argv[1]; {before or None}; began = time.process_time(); "
               f"{statement}; print(time.process_time() - began)")
    environment = dict(harness.clean_environment(), PYTHONPATH=str(PYTHON))
    account, text = measure.run([sys.executable, "-c", program, path], directory, environment)
    return float(text), account


def read_line(directory, name, what, statement, path, before=""):
    """The statement, in new processes, after another one that loads what it needs."""
    runs = [read(directory, statement, path, before) for _ in range(measure.PAIRS)]
    return measure.line(name, what, "s of processor time", [seconds for seconds, _ in runs],
                        accounts=[account for _, account in runs])


def report_line(directory, name, path):
    """vampire-report as one page."""
    runs = [measure.run([sys.executable, PYTHON / "vampire-report", path, "-o", pathlib.Path(directory) / f"{name}.html"],
                        directory)[0] for _ in range(3)]
    return measure.line(f"history.{name}.report", f"{name}: vampire-report", "s of processor time",
                        [account.cpu_seconds for account in runs], accounts=runs)


def written(directory, name, output, recording, **config):
    """(folder, account) of a replay into one output."""
    folder = pathlib.Path(directory) / f"{name}-{output['type']}"
    folder.mkdir()
    path = folder / "config.json"
    path.write_text(json.dumps({"statistics": {"bucket": "1s", "level": "component"},
                                "outputs": [{**output, **config}]}).replace("FOLDER", str(folder)))
    argv = [harness.program("vampire"), "-q", "-c", path, "--replay", recording]
    return folder, measure.run(argv, directory)[0]


def bytes_of(folder, pattern):
    return [path.stat().st_size for path in sorted(folder.glob(pattern))]


def workload_lines(directory, name, quick=False):
    """hour or wide."""
    import vampire
    recording = pathlib.Path(directory) / f"{name}.rec"
    events = workload.record(name, recording, QUICK_STEPS[name] if quick else None)
    base = recording.stat().st_size
    _, bare = written(directory, name, {"type": "null"}, recording)
    folder, account = written(directory, name, {"type": "hdf5", "directory": "FOLDER"}, recording)
    lines_folder, lines_account = written(directory, name, {"type": "jsonl", "directory": "FOLDER"}, recording)
    files, text = bytes_of(folder, "*.h5"), bytes_of(lines_folder, "*.jsonl")
    found, given_up = vampire.summary(folder), vampire.merge(folder, "vampire_labels_given_up")
    beside = {"baseline": "a recording of the same events", "base_values": [base]}
    yield measure.line(f"history.{name}.hdf5", f"{name}: HDF5, {events:,} events, {found.buckets:,} buckets", "bytes",
                       [sum(files)], **beside, accounts=[account], files=files, buckets=found.buckets, other=found.overflow,
                       given_up=int(given_up), hdf5_ms=1e3 * (account.cpu_seconds - bare.cpu_seconds) / found.buckets)
    yield measure.line(f"history.{name}.jsonl", f"{name}: JSON lines, default options", "bytes", [sum(text)], **beside,
                       accounts=[lines_account])
    recording.unlink()
    shutil.rmtree(lines_folder)
    path = max(folder.glob("*.h5"), key=lambda one: one.stat().st_size)
    for engine in ("netcdf4", "h5netcdf", "vampire"):
        opening = OPEN.format(engine)
        yield read_line(directory, f"history.{name}.open.{engine}", f"{name}: xarray.open_dataset of the root group, {engine}",
                        opening, path, opening)
    yield read_line(directory, f"history.{name}.quantile", f"{name}: 99th percentile of transport time by source", QUANTILE,
                    folder)
    yield report_line(directory, name, folder)
    shutil.rmtree(folder)


def silent(directory, seconds):
    """(bytes, buckets) of a file of the hour's 60 components that are silent for so long between steps."""
    import vampire
    folder = pathlib.Path(directory) / f"silent{seconds}"
    folder.mkdir()
    config = workload.read("hour")
    config["source"].update(steps=QUIET_STEPS, step=f"{seconds}s", burst=1)
    config["outputs"] = [{"type": "hdf5", "directory": str(folder), "queue": 65536}]
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    measure.run([harness.program("vampire"), "-q", "-c", path], directory)
    return sum(bytes_of(folder, "*.h5")), vampire.summary(folder).buckets


def quiet_line(directory):
    """Bytes of a bucket in which nothing happens: what more of them add to a file."""
    (short, few), (long, many) = (silent(directory, seconds) for seconds in QUIET_SECONDS)
    return measure.line("history.quiet", "a bucket in which 60 components are silent", "bytes", [(long - short) / (many - few)])


def history_lines(directory, quick=False):
    """Both workloads of one resolution, and silence."""
    return [line for name in ("hour", "wide") for line in workload_lines(directory, name, quick)] + [quiet_line(directory)]


def day_lines(directory, quick=False):
    """A day in three resolutions, from vampire's own source; the minutes by model."""
    folder = pathlib.Path(directory) / "day"
    folder.mkdir()
    config = workload.read("day")
    config["statistics"]["models"] = MODELS
    if quick:
        config["source"]["steps"] = QUICK_STEPS["day"]
    for output in config["outputs"]:
        output["directory"] = str(folder)
        if output["name"] == "minutes":
            output["by"] = BY_MODEL
    path = pathlib.Path(directory) / "day.json"
    path.write_text(json.dumps(config))
    account = measure.run([harness.program("vampire"), "-q", "-c", path], directory)[0]
    outputs = [output["name"] for output in config["outputs"]]
    sizes = {name: bytes_of(folder, f"*-{name}-*.h5") for name in outputs}
    yield measure.line("day.files", "day: HDF5 of seconds, minutes and hours", "bytes",
                       [sum(map(sum, sizes.values()))], accounts=[account], sizes=sizes,
                       hours=config["source"]["steps"] * 6 / 3600)
    for name in outputs:
        yield read_line(directory, f"day.open.{name}", f"day: vampire.open of the {name}",
                        f"vampire.open(path, output='{name}')", folder)
    yield read_line(directory, "day.quantile", "day: quantiles of transport time by model, from the minutes", MODEL_QUANTILE,
                    folder)
    shutil.rmtree(folder)
