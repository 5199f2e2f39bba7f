#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""make bench-others: the same recording, read by vampire and by what a person would otherwise use:

* a Python script with protobuf, numpy and h5py, as one would write it for a subscriber;
* an awk program over the events as JSON lines, as a site's log pipeline would see them;
* DuckDB over the same lines.

All count the operations of each component and the sizes of the CDOs offered, in histograms of the
same bins, for each second. Prints time, memory, processor time next to vampire's, and whether the
results agree (operations with vampire's, histograms of sizes with each other's);
--json adds them to the results of make bench. What is not installed is left out, with words. Next to
them, where installed:

* babeltrace2 reads the same events as a CTF trace and counts them, nothing else;
* HdrHistogram records the values that the lines `histogram` of make bench record.

LDMS has no package in Debian, so it is not here.

collectd is no candidate: Debian's package reads JSON only over HTTP (curl_json) and log files only
by regular expressions with one value for each (tail), on its own interval of seconds of wall-clock
time. It can neither follow a file of events by the events' own time nor make histograms of them.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

import h5py
import numpy

import measure
import processes
import table
from measure import harness

import results  # next to the harness

EVENTS, LIVE, COMPONENTS = 2000000, 10000, 40
PAIRS = 3
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


# ---------------------------------------------------------------- DuckDB

SQL = r"""
CREATE TEMP TABLE e AS SELECT * FROM read_json('events.jsonl', format='newline_delimited', columns={kind: 'VARCHAR',
  phase: 'VARCHAR', time_ns: 'BIGINT', app_id: 'UBIGINT', name: 'VARCHAR', size_bytes: 'UBIGINT'});
CREATE TEMP TABLE c AS SELECT time_ns // 1000000000 AS second, app_id, kind, count(*) AS n FROM e
  WHERE phase = 'after' GROUP BY ALL;
CREATE TEMP TABLE s AS SELECT time_ns // 1000000000 AS second, CASE WHEN size_bytes < 8 THEN size_bytes
  ELSE (floor(log2(size_bytes)) - 3)::UBIGINT * 8 + (size_bytes >> (floor(log2(size_bytes)) - 3)::UBIGINT) END AS bin,
  count(*) AS n FROM e WHERE phase = 'after' AND kind = 'offer' GROUP BY ALL;
SELECT concat_ws(chr(9), 'operation', j.name, c.kind, sum(c.n)) FROM c JOIN (SELECT app_id, any_value(name) AS name
  FROM e WHERE kind = 'join' GROUP BY app_id) j USING (app_id) GROUP BY j.name, c.kind
  UNION ALL SELECT concat_ws(chr(9), 'size', bin, sum(n)) FROM s GROUP BY bin;
"""

# ---------------------------------------------------------------- babeltrace2

CTF = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
clock { name = utc; freq = 1000000000; };
typealias integer { size = 64; align = 8; map = clock.utc.value; } := stamp;
typealias integer { size = 64; align = 8; } := word;
stream { event.header := struct { stamp timestamp; }; };
event { name = event; fields := struct { word serial; word app_id; word size; integer { size = 8; align = 8; } kind;
        integer { size = 8; align = 8; } before; string name; }; };
"""

# ---------------------------------------------------------------- HdrHistogram

# The values, and the series that take turns, of tests/bench/histogram_lines.c.
HDR = r"""
#include <hdr/hdr_histogram.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum { VALUES = 1 << 16, REPEATS = 640, SERIES = 256 };
static int64_t values[VALUES];
static struct hdr_histogram *histograms[SERIES];
int main(int count, char **words)
{
    const int wide = count > 1 && words[1][0] == 'w', series = count > 1 && words[1][0] == 'f' ? SERIES : 1;
    uint64_t random = 1;
    for (int i = 0; i < VALUES; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = (int64_t)(wide ? (random >> 20) >> (random & 31U) : 200000 + (random >> 20) % 100000);
    }
    for (int i = 0; i < series; i++) {
        if (hdr_init(1, INT64_C(1) << 45, 1, &histograms[i]) != 0) return 1;
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int r = 0; r < REPEATS; r++)
        for (int i = 0; i < VALUES; i++) hdr_record_value(histograms[i & (series - 1)], values[i]);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("%.4f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / VALUES / REPEATS);
    return 0;
}
"""


def kind_names():
    """{number: name}, from the table of kinds."""
    names = {}
    text = (measure.ROOT / "vampire" / "core" / "event" / "kinds.def").read_text()
    for part in text.split("VAMP_EVENT_KIND(")[1:]:
        fields = part.split(",")
        if len(fields) > 2 and fields[1].strip().isdigit():
            names[int(fields[1])] = fields[2].strip().strip('"')
    return names


def events_of(directory, recording):
    """The messages of a recording."""
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))
    import recording_pb2  # pylint: disable=import-outside-toplevel,import-error
    from google.protobuf.internal.decoder import _DecodeVarint32  # pylint: disable=import-outside-toplevel

    data, at, first = recording.read_bytes(), 0, True
    while at < len(data):
        length, at = _DecodeVarint32(data, at)
        chunk, at = data[at : at + length], at + length
        if not first:
            yield from recording_pb2.Batch.FromString(chunk).events
        first = False


def write_forms(directory, recording):
    """The events as JSON lines, which is what a log pipeline would be given, and as a CTF trace; not measured."""
    names, trace = kind_names(), directory / "ctf"
    trace.mkdir()
    (trace / "metadata").write_text(CTF)
    with open(directory / "events.jsonl", "w", encoding="utf-8") as out, open(trace / "stream", "wb") as stream:
        for event in events_of(directory, recording):
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
            stream.write(struct.pack("<QQQQBB", event.time_ns, event.serial, event.app_id, event.size_bytes, event.kind,
                                     event.before) + event.name + b"\0")


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


def prepare(directory, events):
    """The recording, its other forms, the script and its protobuf code."""
    recording = processes.record(directory, "others", events=events, live=LIVE, components=COMPONENTS)
    core = measure.ROOT / "vampire" / "core"
    subprocess.run(["protoc", f"-I{core}/event", f"-I{core}/recording", f"--python_out={directory}",
                    "event.proto", "recording.proto"], check=True)
    (directory / "subscriber.py").write_text(SCRIPT)
    (directory / "events.awk").write_text(AWK)
    write_forms(directory, recording)
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


def run_duckdb(directory):
    account, text = measure.run(["duckdb", "-noheader", "-list", "-c", SQL], directory)
    return account, of_awk(text)


def run_babeltrace(directory):
    account, text = measure.run(["babeltrace2", directory / "ctf", "--component=sink.utils.counter"], directory)
    return account, int(re.findall(r"(\d+) Event messages", text)[-1])


def row(name, what, runs, base, events, agrees):
    seconds = [account.seconds for account in runs]
    # Of processor time: vampire uses two threads, the others one or many.
    ratio = statistics.median(a.cpu_seconds / b.cpu_seconds for a, b in zip(runs, base))
    return {"name": name, "what": what, "seconds": statistics.median(seconds),
            "events_per_second": events / statistics.median(seconds), "ratio": ratio,
            "cpu_seconds": statistics.median(account.cpu_seconds for account in runs),
            "peak_bytes": max(account.peak_bytes for account in runs), "agrees": agrees}


def installed(name):
    there = shutil.which(name) is not None
    if not there:
        print(f"{name} is not installed: left out")
    return there


def compare(directory, events):
    recording = prepare(directory, events)
    ways = {"vampire": ("vampire, set basic, HDF5", lambda: run_vampire(directory, recording)),
            "python": ("Python with protobuf, numpy, h5py, counts and sizes only", lambda: run_python(directory, recording))}
    for name in filter(installed, ("mawk", "gawk")):
        ways[name] = (f"{name} over JSON lines of the events, the same", lambda n=name: run_awk(directory, n))
    if installed("duckdb"):
        ways["duckdb"] = ("DuckDB over JSON lines of the events, the same", lambda: run_duckdb(directory))
    if installed("babeltrace2"):
        ways["babeltrace2"] = ("babeltrace2 reads them as CTF and counts them all", lambda: run_babeltrace(directory))
    accounts, found = collections.defaultdict(list), {}
    for _ in range(PAIRS):
        for name, (_what, run) in ways.items():
            account, found[name] = run()
            accounts[name].append(account)
    for name, (what, _run) in ways.items():
        if name == "vampire":
            agrees = ""
        elif name == "babeltrace2":
            agrees = "the same" if found[name] == sum(1 for _ in events_of(directory, recording)) else "DIFFERENT"
        else:
            operations, sizes = found[name]
            same = operations == found["vampire"] and numpy.array_equal(sizes, found["python"][1])
            agrees = "the same" if same else "DIFFERENT"
        yield row(name, what, accounts[name], accounts["vampire"], events, agrees)


def histograms(directory):
    """HdrHistogram's record next to ours, in ns."""
    if measure.package("hdr_histogram") == "unknown":
        print("HdrHistogram (pkg-config hdr_histogram) is not installed: left out")
        return
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "hdr_histogram"], check=True, capture_output=True,
                           text=True).stdout.split()
    (directory / "hdr.c").write_text(HDR)
    subprocess.run(["cc", "-O3", "-o", directory / "hdr", directory / "hdr.c", *flags], check=True)
    for line, word, what in (("histogram", "wide", "values of many magnitudes"), ("histogram.narrow", "narrow", "200 to 300 us"),
                             ("histogram.few", "few", "8 values a bucket, 256 series")):
        pairs = [(json.loads(measure.run([measure.bench_program("stages"), "--pairs", "1", line], directory)[1])["median"],
                  float(measure.run([directory / "hdr", word], directory)[1])) for _ in range(2 * PAIRS + 1)]
        ours, theirs = (statistics.median(values) for values in zip(*pairs))
        yield {"name": line, "what": f"HdrHistogram {measure.package('hdr_histogram')}, a record, {what}: {theirs:.2f} ns, "
               f"vampire {ours:.2f}", "events_per_second": 1e9 / theirs,
               "ratio": statistics.median(other / own for own, other in pairs), "agrees": ""}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, help="results of make bench to add to")
    parser.add_argument("--events", type=int, default=EVENTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vampire-bench-") as directory:
        try:
            rows = [*compare(pathlib.Path(directory), options.events), *histograms(pathlib.Path(directory))]
        except harness.Failure as failure:
            sys.exit(f"compare_others: {failure}")
    for item in rows:
        print(table.comparison_text(item))
    if options.json is not None:
        kept = json.loads(options.json.read_text()) if options.json.exists() else {
            "machine": measure.machine(), "lines": []}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({**kept, "comparison": rows, "comparison_machine": measure.machine()}, indent=1) + "\n")
    return 1 if any(item["agrees"] == "DIFFERENT" for item in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
