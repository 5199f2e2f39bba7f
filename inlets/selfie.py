#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""selfIe's lines of syslog, on standard input, as lines for vampire, on standard output:

    journalctl -f -t selfie | selfie.py >> selfie.lines        with samples.files: ["selfie.lines"]

selfie,job=12310,pid=12310,host=n1,function=mio_init wtime=0.18 1602147153

`wtime` of a function is the running total of a process: declare it as a counter. Times are whole seconds. The line at
the end of a process, with its totals, has the command instead of a function. The host is the one in the header of the
syslog line; a variable COMPONENT or MSTRO_COMPONENT_NAME of selfIe's env_vars becomes the tag component."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lines import line

FORM = re.compile(r"^(?:(?:\w{3}\s+\d+\s+[\d:]+|\S*\dT[\d:]+\S*)\s+(\S+)\s+)?selfie\[\d+\]:\s*(\{.*\})\s*$", re.IGNORECASE)


def translate(text):
    """The line; None: it is not one of selfIe's."""
    match = FORM.match(text)
    try:
        values = json.loads(match[2]) if match else {}
    except ValueError:
        return None
    time = values.pop("timestamp", None)
    component = values.pop("MSTRO_COMPONENT_NAME", None) or values.pop("COMPONENT", None)
    tags = {"job": values.pop("jobid", None), "pid": values.pop("pid", None), "host": match[1] if match else None,
            "component": component, "function": values.pop("function", None), "command": values.pop("command", None)}
    fields = {key: value for key, value in values.items() if isinstance(value, (int, float))}
    return line("selfie", tags, fields, time) if fields and isinstance(time, int) else None


def main():
    for text in sys.stdin:
        made = translate(text)
        if made is not None:
            sys.stdout.write(made)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
