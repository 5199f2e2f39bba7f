#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exact gate: how many instructions one event, one histogram record and one JSON line take,
against the limits of instructions.json. Counted by callgrind, so that neither load nor the
machine's speed matters.

The same compiler, libraries and flags give the same numbers to some digits; what could differ is
the C library's choice of memcpy by processor, so it is set to the plain one. More than
TOLERANCE above the limit fails; as much below it says that the limit should follow.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent.parent
LIMITS = BENCH / "instructions.json"
TOLERANCE = 0.03
EVENTS, LIVE = 20000, 1000
# What a line may cost more than another: what is in flight, and the parts of waits.
SHARES = {("statistics.all", "statistics.ended"): 0.08}
# The C library then takes what every processor has.
PLAIN = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-BMI2,-SSSE3,-SSE4_2"


def count(program):
    """{line: instructions for one}."""
    with tempfile.TemporaryDirectory(prefix="vampire-bench-") as directory:
        environment = {"PATH": os.environ["PATH"], "GLIBC_TUNABLES": PLAIN, "LC_ALL": "C"}
        done = subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", "--toggle-collect=bench_measured",
             "--dump-after=bench_measured", f"--callgrind-out-file={directory}/counts",
             str(program), "--count", "--events", str(EVENTS), "--live", str(LIVE),
             "--directory", directory],
            env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"instructions: {program}: exit code {done.returncode}\n{done.stderr}")
        lines = [line.split() for line in done.stdout.splitlines()]
        counts = {}
        for number, (name, things) in enumerate(lines, start=1):
            text = pathlib.Path(directory, f"counts.{number}").read_text(errors="replace")
            total = int(re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE).group(1))
            counts[name] = round(total / int(things), 2)
        return counts


def compare(counts, limits):
    """What is wrong, in words; and what is only worth a word."""
    wrong, remarks = [], []
    for name in sorted(set(counts) | set(limits)):
        if name not in counts or name not in limits:
            wrong.append(f"{name}: stands only in {'the program' if name in counts else LIMITS.name}")
            continue
        change = counts[name] / limits[name] - 1
        text = f"{name}: {counts[name]} instructions, the limit is {limits[name]} ({change:+.1%})"
        if change > TOLERANCE:
            wrong.append(text)
        elif change < -TOLERANCE:
            remarks.append(f"{text}: lower the limit, make bench-instructions")
    for (more, less), share in SHARES.items():
        ratio = counts[more] / counts[less] - 1
        if ratio > share:
            wrong.append(f"{more}: {ratio:.1%} more than {less}, the limit is {share:.0%}")
    return wrong, remarks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write new limits")
    parser.add_argument("--program", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "bench" / "stages")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("instructions: valgrind is missing; make deps installs it")
    counts = count(options.program)
    if options.renew:
        LIMITS.write_text(json.dumps(counts, indent=2) + "\n")
    limits = json.loads(LIMITS.read_text())
    for name, number in counts.items():
        print(f"{name:24} {number:10.2f}   limit {limits.get(name, 0):10.2f}")
    wrong, remarks = compare(counts, limits)
    for remark in remarks:
        print(remark)
    for text in wrong:
        print(f"MORE  {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
