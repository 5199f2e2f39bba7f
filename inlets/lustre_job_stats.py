#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Job statistics of a Lustre server as lines for vampire, on standard output:

    lctl get_param -n obdfilter.scratch-OST0001.job_stats | lustre_job_stats.py --target OST0001 > /dev/udp/...
    lustre_job_stats.py --target OST0001 < dump > lines

lustre,job=dd.0,target=OST0001 write_bytes=8388608i,write_samples=204i 1505846656

The values are running totals of a job on this target, which begin again when Lustre forgets a job that was idle for
ten minutes: declare them as counters. Dumps of any size are read line by line. Ids are kept as they are, blanks and
broken ones included; of one like ":17627127:r01c01" the fields are job and host."""

import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lines import line

JOB = re.compile(r'\s*-\s+job_id:\s*(.*?)\s*$')
TIME = re.compile(r"\s+snapshot_time:\s*(\d+)")
COUNTER = re.compile(r"\s+(\w+):\s*\{\s*samples:\s*(\d+)(?:.*?\bsum:\s*(\d+))?.*\}")
NAMED = re.compile(r":(\d+):([\w.-]+)$")


def entries(stream):
    """(job id, time, {field: total}) of each job that has a time."""
    job, time, fields = None, None, {}
    for text in stream:
        match = JOB.match(text)
        if match:
            if job is not None and time and fields:
                yield job, time, fields
            job, time, fields = match[1].strip('"'), None, {}
        elif (match := TIME.match(text)) and time is None:
            time = match[1]
        elif match := COUNTER.match(text):
            name, samples, total = match.groups()
            if total is not None:
                fields[name] = int(total)
            fields[name.removesuffix("_bytes") + "_samples"] = int(samples)
    if job is not None and time and fields:
        yield job, time, fields


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--target", default="", help="what the statistics are of: the value of the tag target")
    target = parser.parse_args().target
    sys.stdin.reconfigure(errors="replace")
    for job, time, fields in entries(sys.stdin):
        named = NAMED.match(job)
        tags = {"job": named[1], "host": named[2]} if named else {"job": job or "unknown"}
        sys.stdout.write(line("lustre", {**tags, "target": target}, fields, time))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
