#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""make bench-others: the same recording, read by vampire and by what a person would otherwise write:

* a Python script with protobuf, numpy and h5py, as one would write it for a subscriber;
* an awk program over the events as JSON lines, as a site's log pipeline would see them.

All count the operations of each component and the sizes of the CDOs offered, in histograms of the
same bins, for each second. Prints time, memory, processor time next to vampire's, and whether the
results agree (operations with vampire's, histograms of sizes with each other's);
--json adds them to the results of make bench.

collectd is no candidate: Debian's package reads JSON only over HTTP (curl_json) and log files only
by regular expressions with one value for each (tail), on its own interval of seconds of wall-clock
time. It can neither follow a file of events by the events' own time nor make histograms of them.
"""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import h5py
import numpy

import measure
import processes
from measure import harness

import results  # next to the harness

EVENTS, LIVE, COMPONENTS = 2000000, 10000, 40
PAIRS = 3
SUB_BITS = 3
BINS = 496

# ---------------------------------------------------------------- what one would write: Python

SCRIPT = '''
import sys
import h5py, numpy
from google.protobuf.internal.decoder import _DecodeVarint32
import recording_pb2

KINDS, BINS, SUB_BITS = 16, 496, 3
JOIN, OFFER = 1, 5


def bin_of(value):
    if value < 1 << SUB_BITS:
        return value
    shift = value.bit_length() - 1 - SUB_BITS
    return (shift << SUB_BITS) + (value >> shift)


def main(recording, output):
    data = open(recording, "rb").read()
    at, names, rows = 0, {}, {}
    first = True
    while at < len(data):
        length, at = _DecodeVarint32(data, at)
        chunk = data[at:at + length]
        at += length
        if first:
            first = False
            continue
        for event in recording_pb2.Batch.FromString(chunk).events:
            if event.kind == JOIN:
                names[event.app_id] = event.name.decode()
            if event.before:
                continue
            second = event.time_ns // 1000000000
            row = rows.get(second)
            if row is None:
                row = rows[second] = ({}, numpy.zeros(BINS, dtype="u8"))
            key = (event.app_id, event.kind)
            row[0][key] = row[0].get(key, 0) + 1
            if event.kind == OFFER:
                row[1][bin_of(event.size_bytes)] += 1
    keys = sorted({key for row in rows.values() for key in row[0]})
    with h5py.File(output, "w") as file:
        seconds = sorted(rows)
        counts = numpy.array([[rows[s][0].get(key, 0) for key in keys] for s in seconds], dtype="u8")
        file.create_dataset("operations", data=counts, compression=1, shuffle=True)
        file["series"] = [f"{names[app]}\\t{kind}" for app, kind in keys]
        file.create_dataset("sizes", data=numpy.array([rows[s][1] for s in seconds]), chunks=(1, BINS),
                            compression=1, shuffle=True)


main(*sys.argv[1:])
'''

# ---------------------------------------------------------------- what one would write: awk

# The fields are cut out by their names, as one does without a JSON parser.
AWK = r'''
function text(name,   at, rest) {
    at = index($0, "\"" name "\":\"")
    if (!at) return ""
    rest = substr($0, at + length(name) + 4)
    return substr(rest, 1, index(rest, "\"") - 1)
}
function number(name,   at, rest) {
    at = index($0, "\"" name "\":")
    if (!at) return ""
    rest = substr($0, at + length(name) + 3)
    match(rest, /^[0-9]+/)
    return substr(rest, 1, RLENGTH)
}
function bin_of(value,   exponent, rest, shift) {
    value += 0
    if (value < 8) return value
    exponent = 0
    for (rest = value; rest >= 2; rest = int(rest / 2)) exponent++
    shift = exponent - 3
    return shift * 8 + int(value / 2 ^ shift)
}
{
    kind = text("kind"); app = number("app_id")
    if (kind == "join") name[app] = text("name")
    if (text("phase") == "before") next
    second = substr(number("time_ns"), 1, 10)
    count[second "\t" app "\t" kind]++
    if (kind == "offer") size[second "\t" bin_of(number("size_bytes"))]++
}
END {
    for (key in count) { split(key, part, "\t"); print "operation\t" name[part[2]] "\t" part[3] "\t" count[key] }
    for (key in size) { split(key, part, "\t"); print "size\t" part[2] "\t" size[key] }
}
'''


def kind_names():
    """{number: name}, from the table of kinds."""
    names = {}
    text = (measure.ROOT / "vampire" / "core" / "event" / "kinds.def").read_text()
    for part in text.split("VAMP_EVENT_KIND(")[1:]:
        fields = part.split(",")
        if len(fields) > 2 and fields[1].strip().isdigit():
            names[int(fields[1])] = fields[2].strip().strip('"')
    return names


def write_json(directory, recording, path):
    """The events as JSON lines, which is what a log pipeline would be given; not measured."""
    sys.path.insert(0, str(directory))
    import recording_pb2  # pylint: disable=import-outside-toplevel,import-error
    from google.protobuf.internal.decoder import _DecodeVarint32  # pylint: disable=import-outside-toplevel

    names = kind_names()
    data, at, first = recording.read_bytes(), 0, True
    with open(path, "w", encoding="utf-8") as out:
        while at < len(data):
            length, at = _DecodeVarint32(data, at)
            chunk, at = data[at : at + length], at + length
            if first:
                first = False
                continue
            for event in recording_pb2.Batch.FromString(chunk).events:
                item = {"kind": names[event.kind], "phase": "before" if event.before else "after",
                        "time_ns": event.time_ns, "app_id": event.app_id, "serial": event.serial}
                if event.HasField("name"):
                    item["name"] = event.name.decode()
                if event.HasField("cdo_id"):
                    item["cdo_id"] = event.cdo_id.hex()
                if event.HasField("size_bytes"):
                    item["size_bytes"] = event.size_bytes
                if event.HasField("peer_id"):
                    item["peer_id"] = event.peer_id
                out.write(json.dumps(item, separators=(",", ":")) + "\n")


# ---------------------------------------------------------------- results in one shape


def of_vampire(paths):
    counts = results.Hdf5Run(sorted(paths)).counters["pool_operations"]
    return collections.Counter({labels: value for labels, value in counts.items() if value})


def of_python(path):
    names = kind_names()
    operations = collections.Counter()
    with h5py.File(path, "r") as file:
        for series, value in zip(file["series"], file["operations"][...].sum(axis=0)):
            component, kind = series.decode().split("\t")
            operations[(component, names[int(kind)])] += int(value)
        return operations, file["sizes"][...].sum(axis=0)


def of_awk(text):
    operations, sizes = collections.Counter(), numpy.zeros(BINS, dtype="u8")
    for row in text.splitlines():
        fields = row.split("\t")
        if fields[0] == "operation":
            operations[(fields[1], fields[2])] += int(fields[3])
        else:
            sizes[int(fields[1])] += int(fields[2])
    return operations, sizes


# ---------------------------------------------------------------- running


def prepare(directory):
    """The recording, its JSON lines, the script and its protobuf code."""
    recording = processes.record(directory, "others", EVENTS, LIVE, COMPONENTS)
    core = measure.ROOT / "vampire" / "core"
    subprocess.run(["protoc", f"-I{core}/event", f"-I{core}/recording", f"--python_out={directory}",
                    "event.proto", "recording.proto"], check=True)
    (directory / "subscriber.py").write_text(SCRIPT)
    (directory / "events.awk").write_text(AWK)
    write_json(directory, recording, directory / "events.jsonl")
    return recording


def run_vampire(directory, recording):
    for old in directory.glob("vampire-*.h5"):
        old.unlink()
    config = processes.write_config(directory, "others", {
        "statistics": {"sets": ["basic"]}, "outputs": [{"type": "hdf5"}]})
    account = processes.replay(directory, recording, config, False)
    return account, of_vampire(directory.glob("vampire-*.h5"))


def run_python(directory, recording):
    output = directory / "python.h5"
    account, _ = measure.run(["/usr/bin/python3", directory / "subscriber.py", recording, output],
                             directory)
    return account, of_python(output)


def run_awk(directory, program):
    account, text = measure.run([program, "-f", directory / "events.awk", directory / "events.jsonl"],
                                directory)
    return account, of_awk(text)


def row(name, what, runs, base, agrees):
    seconds = [account.seconds for account in runs]
    # Of processor time: vampire uses two threads, the others one.
    ratio = statistics.median(a.cpu_seconds / b.cpu_seconds for a, b in zip(runs, base))
    return {"name": name, "what": what, "seconds": statistics.median(seconds),
            "events_per_second": EVENTS / statistics.median(seconds), "ratio": ratio,
            "cpu_seconds": statistics.median(account.cpu_seconds for account in runs),
            "peak_bytes": max(account.peak_bytes for account in runs), "agrees": agrees}


def compare(directory):
    recording = prepare(directory)
    programs = [name for name in ("mawk", "gawk") if measure.first_line(["which", name]) != "unknown"]
    accounts = collections.defaultdict(list)
    found = {}
    for _ in range(PAIRS):
        account, found["vampire"] = run_vampire(directory, recording)
        accounts["vampire"].append(account)
        account, found["python"] = run_python(directory, recording)
        accounts["python"].append(account)
        for program in programs:
            account, found[program] = run_awk(directory, program)
            accounts[program].append(account)
    sizes = found["python"][1]
    rows = [row("vampire", "vampire, set basic, HDF5", accounts["vampire"], accounts["vampire"], "")]
    whats = {"python": "Python with protobuf, numpy, h5py, counts and sizes only"}
    for name in ("python", *programs):
        operations, own_sizes = found[name]
        same = operations == found["vampire"] and numpy.array_equal(own_sizes, sizes)
        rows.append(row(name, whats.get(name, f"{name} over JSON lines of the events, the same"),
                        accounts[name], accounts["vampire"], "the same" if same else "DIFFERENT"))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, help="results of make bench to add to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vampire-bench-") as directory:
        try:
            rows = compare(pathlib.Path(directory))
        except harness.Failure as failure:
            sys.exit(f"compare_others: {failure}")
    for item in rows:
        print(f"{item['what']:58} {item['seconds']:8.2f} s, CPU {item['cpu_seconds']:6.2f} s "
              f"{item['events_per_second']:12,.0f} events/s "
              f"{item['ratio']:7.1f} x  {item['peak_bytes'] / 2**20:6.0f} MiB  {item['agrees']}")
    if options.json is not None:
        kept = json.loads(options.json.read_text()) if options.json.exists() else {
            "machine": measure.machine(), "lines": []}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({**kept, "comparison": rows}, indent=1) + "\n")
    return 1 if any(item["agrees"] == "DIFFERENT" for item in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
