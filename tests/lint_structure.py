#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what no compiler sees: which folder includes which, where third-party headers appear,
how long functions and files are. The rules are those of docs/architecture.md."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder of the including file: prefixes of what it may include in addition to its own. The longest
# folder that fits counts.
BASE = [f"vampire/core/{name}.h" for name in ("clock", "err", "hash", "list", "map", "thread", "utf8")]
STATS = ["vampire/stats/stats.h", "vampire/stats/bucket/"]
MAY_INCLUDE = {
    "vampire/core": [],
    "vampire/core/options": ["vampire/core/err.h"],
    "vampire/core/protobuf": ["vampire/core/err.h"],
    "vampire/core/event": [*BASE, "vampire/core/protobuf/"],
    "vampire/core/recording": [*BASE, "vampire/core/protobuf/", "vampire/core/event/"],
    "filters": ["vampire/core/"],
    "vampire/stats/bucket": ["vampire/core/"],
    "vampire/stats/cells": ["vampire/core/", "vampire/stats/bucket/"],
    "vampire/stats/pairing": ["vampire/core/", "vampire/stats/cells/cells.h"],
    "vampire/stats/metrics": ["vampire/core/", "vampire/stats/pairing/observation.h",
                              "vampire/stats/pairing/track.h", "vampire/stats/cells/taken.h"],
    "vampire/stats": ["vampire/core/", "vampire/stats/bucket/", "vampire/stats/cells/",
                      "vampire/stats/pairing/track.h", "vampire/stats/metrics/statistic.h",
                      "vampire/stats/metrics/in_flight.h"],
    "vampire/alarms": ["vampire/core/", "vampire/stats/bucket/"],
    "vampire/collect": ["vampire/core/", "vampire/stats/bucket/", "vampire/stats/bucket/bucket_json.h"],
    "vampire/alarms/actions": ["vampire/core/", "vampire/stats/bucket/", "vampire/alarms/action.h",
                               "vampire/alarms/change.h", "writers/writer.h", "writers/format/file.h",
                               "writers/format/run_labels.h", "writers/format/system_log.h", "writers/output/"],
    "vampire/source": ["vampire/core/", "version.h"],
    "vampire/live": ["vampire/core/", "vampire/source/", "maestro.h", "maestro_probe.h", "version.h"],
    "writers": ["vampire/core/", "vampire/stats/bucket/", "writers/format/", "version.h"],
    "writers/format": ["vampire/core/", "vampire/stats/bucket/", "writers/writer.h"],
    **{f"writers/{name}": ["vampire/core/", "vampire/stats/bucket/", "vampire/alarms/change.h", "writers/writer.h",
                           "writers/format/", "version.h"]
       for name in ("hdf5", "jsonl", "recording", "null", "prometheus", "influx", "syslog", "nats")},
    "writers/trace": ["vampire/core/", "vampire/stats/bucket/", "vampire/stats/pairing/track.h", "vampire/alarms/change.h",
                      "writers/writer.h", "writers/format/", "version.h"],
    "writers/otf2": ["vampire/core/", "vampire/stats/bucket/", "writers/trace/sink.h", "writers/format/", "version.h"],
    "writers/output": ["vampire/core/", "vampire/stats/bucket/", "vampire/alarms/change.h", "writers/writer.h"],
    "maestro/pool": ["vampire/core/", "filters/", "maestro/maestro.h"],
    "maestro/wire": ["vampire/core/", "maestro/maestro.h"],
    "maestro/client": ["vampire/core/", "maestro/maestro.h", "maestro/pool/pool.h", "maestro/wire/"],
    "maestro/server": ["vampire/core/", "maestro/maestro.h", "maestro/pool/pool.h", "maestro/wire/",
                       "maestro/client/port.h", "maestro/client/port_local.h"],
    "maestro/api": ["vampire/core/", "filters/", "maestro/maestro.h", "maestro/wire/frame.h",
                    "maestro/client/port.h", "maestro/server/server.h"],
    "maestro": ["vampire/core/", "maestro/", "version.h"],
    "config": ["vampire/core/", *STATS, "vampire/stats/metrics/statistic.h", "vampire/alarms/rule.h", "vampire/alarms/action.h",
               "vampire/source/", "filters/", "writers/writer.h", "writers/nats/server.h", "writers/format/file.h",
               "writers/output/"],
    # Programs, lowest first.
    "programs/run": ["vampire/core/", *STATS, "vampire/alarms/", "filters/", "config/", "writers/output/"],
    "programs/cli": ["vampire/core/", *STATS, "vampire/source/", "programs/run/", "writers/writer.h", "config/", "version.h"],
    "programs/vampire": ["vampire/core/", *STATS, "vampire/alarms/", "vampire/source/", "programs/run/", "programs/cli/",
                         "config/", "version.h"],
    "programs/vampire-collect": ["vampire/core/", "vampire/stats/bucket/", "vampire/collect/collect.h", "programs/run/",
                                 "programs/cli/", "config/", "writers/nats/subscriber.h", "version.h"],
    "programs/vampire-top": ["vampire/core/"],
    "tests/workflow": ["maestro.h"],
}
OWN = re.compile(r"^(vampire/|config/|filters/|writers/|maestro/|maestro\.h|programs/|tests/)")
# Third-party header: the files that may include it.
CONFINED = {
    r"rdma/": r"maestro/wire/|tests/bench/wire|tests/lib/fabric_faults",
    r"protobuf-c/|.*\.pb-c\.h": r"maestro/|vampire/core/(protobuf/arena|event/codec|recording)|vampire/collect/|writers/nats/messages|tests/(unit|fuzz|lib|conformance|bench)/",
    r"hdf5(_hl)?\.h": r"writers/hdf5/|tests/unit/writers_hdf5|tests/bench/output_lines",
    r"jansson\.h": r"programs/vampire-top/|tests/(unit|fuzz)/config",
    r"yaml\.h": r"maestro/api/",
    r"pcre2\.h": r"filters/",
    r"curl/": r"writers/influx/request",
    r"otf2/": r"writers/otf2/",
    r"nats/": r"writers/nats/(connection|writer|subscriber)",
    r"microhttpd\.h": r"writers/prometheus/server",
    r"uuid/": r"vampire/|programs/|tests/",
}
FUNCTION_LINES, FUNCTION_LIMIT = 60, 100
FILE_LINES, FILE_LIMIT = 500, 1000
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def tracked():
    if not (ROOT / ".git").exists():  # a source archive: all but build/ is of it
        found = (path.relative_to(ROOT) for path in sorted(ROOT.rglob("*")) if path.is_file())
        return [str(name) for name in found
                if name.suffix in (".c", ".h", ".def", ".py", ".sh") and name.parts[0] != "build"]
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", "*.def", "*.py", "*.sh"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\n")
    return [name for name in names if name and (ROOT / name).is_file()]


def folder_of(name):
    fitting = [folder for folder in MAY_INCLUDE if name.startswith(folder + "/")]
    return max(fitting, key=len, default=None)


def includes(name, text):
    folder = folder_of(name)
    for match in INCLUDE.finditer(text):
        header = match.group(1)
        line = text.count("\n", 0, match.start(1)) + 1
        for pattern, places in CONFINED.items():
            if re.match(pattern, header) and not re.match(places, name):
                yield f"{name}:{line}: {header} belongs only into {places}"
        if folder is None or not OWN.match(header):
            continue
        if header.endswith("internal.h") and pathlib.PurePath(header).parent != pathlib.PurePath(name).parent:
            yield f"{name}:{line}: {header} is private to its folder"
        allowed = MAY_INCLUDE[folder] + [folder + "/"]
        if not any(header.startswith(prefix) for prefix in allowed):
            yield f"{name}:{line}: {folder}/ may not include {header}"


def functions(names):
    """(file, line, name, length) of every function."""
    listing = subprocess.run(
        ["ctags", "--languages=C", "--langmap=C:.c.h", "--kinds-C=f", "--fields=+ne",
         "--output-format=json", "-f", "-", *names],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout
    for line in listing.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and "end" in tag:
            yield tag["path"], tag["line"], tag["name"], tag["end"] - tag["line"] + 1


def main():
    errors, remarks = [], []
    names = tracked()
    for name in names:
        text = (ROOT / name).read_text(errors="replace")
        lines = text.count("\n")
        if name.endswith((".c", ".h", ".def")):
            errors += includes(name, text)
        if name != "tests/lint_structure.py" and UNFINISHED.search(text):
            errors.append(f"{name}: holds a mark of unfinished work")
        if "SPDX-License-Identifier: BSD-3-Clause" not in text[:200] and lines > 0:
            errors.append(f"{name}: has no SPDX line")
        if lines > FILE_LIMIT:
            errors.append(f"{name}: {lines} lines, at most {FILE_LIMIT}")
        elif lines > FILE_LINES:
            remarks.append(f"{name}: {lines} lines, more than {FILE_LINES}")
    sources = [name for name in names if name.endswith((".c", ".h"))]
    for path, line, function, length in functions(sources):
        if length > FUNCTION_LIMIT:
            errors.append(f"{path}:{line}: {function} has {length} lines, at most {FUNCTION_LIMIT}")
        elif length > FUNCTION_LINES:
            remarks.append(f"{path}:{line}: {function} has {length} lines, more than {FUNCTION_LINES}")
    for remark in remarks:
        print(f"remark: {remark}")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
