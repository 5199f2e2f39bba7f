#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes vampire-metrics.7 from what vampire itself says of its metrics:

vampire --list-metrics=json | docs/metrics_manual.py > docs/vampire-metrics.7

`make generated` does so; a test compares."""

import json
import sys
import textwrap

HEAD = r""".\" SPDX-License-Identifier: BSD-3-Clause
.\" Made by docs/metrics_manual.py: make generated renews it.
.Dd November 21, 2026
.Dt VAMPIRE-METRICS 7
.Os
.Sh NAME
.Nm vampire-metrics
.Nd what vampire measures
.Sh DESCRIPTION
The names are the variables of the HDF5 file and the values of
.Li metric
in the JSON lines.
A counter is cumulative since the start of the run; beside it stands what the
bucket added.
A gauge has its value at the end of the bucket, and the least and the greatest
in it.
A histogram holds the values of the bucket, with their count, sum, least and
greatest.
.Pp
The labels are those of level
.Cm component ;
at level
.Cm workflow
the labels component, source and sink fall away.
What an event did not tell is
.Li unknown ,
what has no room is
.Li (other) .
Sets and single metrics are chosen with
.Cm statistics.sets
and
.Cm statistics.metrics ,
see
.Xr vampire.json 5 .
.Sh METRICS
.Bl -tag -width Ds
"""

TAIL = r""".El
.Sh NOT OBSERVABLE
No subscriber of a pool sees the time to serialise attributes, the time that a
search in a CDO GROUP takes, allocations inside a component, or a component's
run time outside join to leave.
vampire does not make them up.
.Sh SEE ALSO
.Xr vampire.json 5 ,
.Xr vampire-filter 7
.Pp
The page docs/metrics.md defines every number exactly: phases, pairs, buckets,
bounds and anomalies.
"""


def text(words):
    """Safe in mdoc: no line begins with a control character, no backslash is an escape."""
    lines = textwrap.wrap(words.replace("\\", r"\e"), 78, break_on_hyphens=False)
    return "\n".join(r"\&" + line if line[0] in ".'" else line for line in lines)


def main():
    out = [HEAD]
    for metric in json.load(sys.stdin)["metrics"]:
        labels = ", ".join(metric["labels"]) or "no labels"
        sets = ", ".join(metric["sets"])
        out.append(f".It Li {metric['name']}\n")
        out.append(f"{metric['kind']}, unit {metric['unit']}; {labels}; set {sets}.\n.br\n")
        out.append(text(f"{metric['help']}: {metric['origin']}.") + "\n")
    out.append(TAIL)
    sys.stdout.write("".join(out))


if __name__ == "__main__":
    main()
