#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Telemetry lines of MIO's log, on standard input, as lines for vampire, on standard output:

    tail -F -n +1 app-4711-*.log | mio.py > /dev/udp/127.0.0.1/8094        (bash)
    mio.py < app-4711-*.log > mio.lines

[telem] 2020-09-12-13:35:34.396675559 obj-write UINT64 4096     is of 12 October 2020:
mio,topic=obj-write value=4096i 1602502534396675559

MIO counts months from 0 and writes local time: run this where MIO ran, or with its TZ. Of an array, which has its length
first, each value is a line with the tag index. Texts and lines that are cut are left out."""

import argparse
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lines import line

FORM = re.compile(r"\[telem\] (\d{4})-(\d\d)-(\d\d)-(\d\d):(\d\d):(\d\d)\.(\d{9}) (\S+) (ARRAY_)?(UINT16|UINT32|UINT64|TIMESPAN|TIMEPOINT) ([\d ]+)$")


def translate(text):
    """The lines of one line of the log."""
    match = FORM.match(text.rstrip())
    if not match:
        return
    year, month, day, hour, minute, second, ns = map(int, match.groups()[:7])
    at = int(time.mktime((year, month + 1, day, hour, minute, second, 0, 0, -1))) * 10**9 + ns
    values = [int(word) for word in match[11].split()]
    if match[9]:
        if len(values) == values[0] + 1:
            for index, value in enumerate(values[1:]):
                yield line("mio", {"topic": match[8], "index": str(index)}, {"value": value}, at)
    elif len(values) == 1:
        yield line("mio", {"topic": match[8]}, {"value": values[0]}, at)


def main():
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    for text in sys.stdin:
        for made in translate(text):
            sys.stdout.write(made)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
