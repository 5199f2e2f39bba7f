#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records of ADDB (Mero, Motr) as lines for vampire, post mortem:

    m0addb2dump -f stob | addb.py > addb.lines        with samples.files: ["addb.lines"] and a recording of the pool

A record is a line; what it has as NAME: NUMBER are fields, and `records` is 1:
addb,record=ios-io-descr,pid=8394,locality=0 seg-nr=1i,count=3000i,offset=0i,descr-nr=1i,colour=0i,records=1i 1602...
addb,record=fom-descr,op=M0_IOSERVICE_READV_OPCODE,phase=init,pid=8394,locality=0 transitions=0i,records=1i 1602...
A sensor has nr, min, max, avg and dev, and one line more for each bin of its histogram that counted:
addb_bin,record=runq,from=1,pid=8394,locality=0 count=307i 1602...

Declare "addb_runq histogram addb_bin.count only=record:runq value=from" for a sensor, "addb_io_bytes histogram addb.count
only=record:ios-io-descr" for the values of a field, and "addb_records histogram addb.records name=record" for how many records there
were. Fields differ between versions: what is not there is left out. Times are read as local time; TZ=UTC if the dump was made so. Lines
that a terminal or a document broke are joined."""

import argparse
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lines import line

HEAD = re.compile(r"\* (\d{4})-(\d\d)-(\d\d)-(\d\d):(\d\d):(\d\d)\.(\d{9})\s+([\w-]+)\s+(.*)", re.DOTALL)
NUMBER = re.compile(r"(?<![\w-])([a-z][\w-]*):?\s+(-?\d+(?:\.\d+)?)(?![\w.:])")
BINS = re.compile(r"datum:\s+(\d+):?\s+(\d+)((?:\s+\d+:\s+\d+)*)")
TAGS = {"op": re.compile(r"req-\s?opcode:\s+(\w+)"), "phase": re.compile(r"phase:\s+(\w+)"),
        "pid": re.compile(r"\|\s*pid\s+(\d+)"), "locality": re.compile(r"\|\s*locality\s+(\d+)")}


def records(stream):
    """The text of each record in one line, without the picture of its histogram."""
    text = None
    for row in stream:
        if row.startswith("* "):
            if text is not None:
                yield text
            text = row.rstrip("\n")
        elif text is not None and not re.match(r"\|\s*\d*\s*:", row):
            text += " " + row.rstrip("\n")
    if text is not None:
        yield text


def translate(text):
    """The lines of one record."""
    match = HEAD.match(text)
    if not match:
        return
    year, month, day, hour, minute, second, ns = map(int, match.groups()[:7])
    at = int(time.mktime((year, month, day, hour, minute, second, 0, 0, -1))) * 10**9 + ns
    name, rest = match[8], match[9]
    found = {tag: pattern.search(rest) for tag, pattern in TAGS.items()}
    tags = {"record": name, **{tag: one[1] for tag, one in found.items() if one}}
    bins = BINS.search(rest)
    said = rest.replace(bins[0], "") if bins else rest
    fields = {key: float(value) if "." in value else int(value) for key, value in NUMBER.findall(said) if key not in TAGS}
    yield line("addb", tags, {**fields, "records": 1}, at)
    if bins:
        for low, count in [bins.groups()[:2], *re.findall(r"(\d+):\s+(\d+)", bins[3])]:
            if int(count):
                yield line("addb_bin", {**tags, "from": low}, {"count": int(count)}, at)


def main():
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    sys.stdin.reconfigure(errors="replace")
    for text in records(sys.stdin):
        for made in translate(text):
            sys.stdout.write(made)


if __name__ == "__main__":
    main()
