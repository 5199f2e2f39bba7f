#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what no compiler sees: which folder includes which, where third-party headers appear,
how long functions and files are. The rules are those of docs/architecture.md."""

import pathlib
import re
import subprocess
import sys

import house
from house import ROOT

# The rooms, lowest first, and what each may include besides its own files: folders (all below them)
# and headers of rooms that stand above it here, so that no two rooms include each other. A room is a
# folder, or one header that is lower than the rest of its folder; the longest name that fits counts.
# Rooms outside of vampire/core may include all of it.
CORE = [f"vampire/core/{name}.h" for name in ("clock", "err", "hash", "io", "list", "map", "thread", "utf8", "values")]
BUCKET = "vampire/stats/bucket/"
FORMAT = [BUCKET, "vampire/alarms/change.h", "writers/writer.h", "writers/format/"]
MAY_INCLUDE = {
    "vampire/core": [],
    "vampire/core/options": ["vampire/core/err.h", "vampire/core/values.h"],
    "vampire/core/protobuf": ["vampire/core/err.h", "vampire/core/values.h"],
    "vampire/core/event": [*CORE, "vampire/core/protobuf/"],
    "vampire/core/recording": [*CORE, "vampire/core/protobuf/", "vampire/core/event/"],
    "filters": [],
    "vampire/stats/bucket": [],
    "vampire/stats/cells": [BUCKET],
    "vampire/stats/pairing": ["vampire/stats/cells/cells.h"],
    "vampire/stats/metrics": ["vampire/stats/pairing/blocked.h", "vampire/stats/pairing/observation.h", "vampire/stats/pairing/track.h",
                              "vampire/stats/cells/self.h"],
    "vampire/stats": ["vampire/stats/"],
    "vampire/alarms": [BUCKET],
    "vampire/alarms/actions": [BUCKET, "vampire/alarms/"],
    "vampire/collect": [BUCKET],
    "vampire/source": [],
    "maestro/maestro.h": [],
    "maestro/pool": ["filters/", "maestro/maestro.h"],
    "maestro/wire": ["maestro/maestro.h"],
    "maestro/client": ["maestro/maestro.h", "maestro/pool/pool.h", "maestro/wire/"],
    "maestro/server": ["maestro/maestro.h", "maestro/pool/pool.h", "maestro/wire/", "maestro/client/port.h",
                       "maestro/client/port_local.h"],
    "maestro/api": ["filters/", "maestro/maestro.h", "maestro/wire/frame.h", "maestro/client/port.h",
                    "maestro/server/server.h", "maestro/wire/stream.h"],
    "maestro": ["maestro/"],
    "vampire/live": ["vampire/source/", "maestro.h"],
    "writers/writer.h": [BUCKET],
    "writers/format": [BUCKET, "vampire/alarms/change.h", "writers/writer.h"],
    "writers/http": ["writers/format/"],
    **{f"writers/{name}": FORMAT
       for name in ("hdf5", "jsonl", "recording", "null", "prometheus", "syslog", "nats")},
    **{f"writers/{name}": [*FORMAT, "writers/http/"] for name in ("influx", "otlp")},
    "writers/trace": [*FORMAT, "vampire/stats/pairing/track.h"],
    "writers/otf2": [BUCKET, "writers/trace/sink.h", "writers/format/"],
    "writers/output": [BUCKET, "vampire/alarms/change.h", "writers/writer.h", "writers/format/file.h",
                       "writers/format/sent_alarms.h",
                       "vampire/alarms/firing.h"],
    "writers": [BUCKET, "writers/writer.h", "writers/format/"],
    "config": [BUCKET, "vampire/stats/stats.h", "vampire/stats/metrics/statistic.h", "vampire/alarms/rule.h",
               "vampire/alarms/action.h", "vampire/source/", "filters/", "writers/writer.h", "writers/nats/server.h",
               "writers/format/file.h", "writers/format/push.h", "writers/format/secret.h", "writers/format/sent_alarms.h", "writers/output/"],
    "programs/run": [BUCKET, "vampire/stats/stats.h", "vampire/alarms/", "filters/", "config/", "writers/output/"],
    "programs/cli": [BUCKET, "vampire/source/", "programs/run/", "writers/writer.h", "config/"],
    "programs/vampire": [BUCKET, "vampire/stats/stats.h", "vampire/stats/sampled.h", "vampire/alarms/", "vampire/source/",
                         "programs/run/", "programs/cli/", "config/"],
    "programs/vampire-collect": [BUCKET, "vampire/collect/collect.h", "programs/run/", "programs/cli/", "config/",
                                 "writers/nats/subscriber.h"],
    "tests/workflow": ["maestro.h"],
}
ROOMS = list(MAY_INCLUDE)
OWN = re.compile(r"(vampire|config|filters|writers|maestro|programs|tests)/|maestro\.h")
# Third-party header: the files that may include it.
CONFINED = {
    r"openssl/": r"maestro/wire/(secure|info)|tests/fuzz/info",
    r"rdma/": r"maestro/wire/(fabric|provider)|tests/lib/fabric_faults|tests/unit/server_peers",
    r"protobuf-c/|.*\.pb-c\.h": r"maestro/|vampire/core/(protobuf/arena|event/codec|recording)|vampire/collect/|writers/nats/messages|writers/otlp/writer|tests/(unit|fuzz|lib|conformance|bench)/",
    r"hdf5(_hl)?\.h": r"writers/hdf5/|tests/unit/writers_hdf5|tests/bench/output_lines",
    r"jansson\.h": r"vampire/live/examine|writers/otlp/writer|tests/(unit|fuzz)/config",
    r"yaml\.h": r"maestro/api/",
    r"pcre2\.h": r"filters/",
    r"curl/": r"writers/http/",
    r"otf2/": r"writers/otf2/",
    r"nats/": r"writers/nats/(connection|publisher|subscriber)",
    r"microhttpd\.h": r"writers/prometheus/writer",
    r"uuid/": r"vampire/|programs/|tests/",
}
# Larger is a remark, and an error.
FUNCTION_LINES, FUNCTION_LIMIT = 80, 120
FILE_LINES, FILE_LIMIT = 700, 1000
FOLDER_FILES, INTERNAL_HEADERS, CODE_LINES = 25, 12, 71000
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def room_of(name):
    fitting = [room for room in ROOMS if name == room or name.startswith(room + "/")]
    return max(fitting, key=len, default=None)


def table_errors():
    """What a room may include stands above it: that makes the rooms an order."""
    for place, (room, allowed) in enumerate(MAY_INCLUDE.items()):
        for prefix in allowed:
            lower = [other for other in ROOMS if (other + "/").startswith(prefix)] or [room_of(prefix)]
            for other in lower:
                if other is not None and other != room and ROOMS.index(other) > place:
                    yield f"tests/lint_structure.py: {room} may not include {prefix}: {other} stands below it"


def includes(name, text):
    room = room_of(name)
    if room is None and not name.startswith("tests/"):
        yield f"{name}: is in no room of tests/lint_structure.py"
    for match in house.INCLUDE.finditer(text):
        header = match.group(1)
        line = text.count("\n", 0, match.start(1)) + 1
        for pattern, places in CONFINED.items():
            if re.match(pattern, header) and not re.match(places, name):
                yield f"{name}:{line}: {header} belongs only into {places}"
        if room is None or not OWN.match(header):
            continue
        if header.endswith("internal.h") and pathlib.PurePath(header).parent != pathlib.PurePath(name).parent:
            yield f"{name}:{line}: {header} is private to its folder"
        allowed = MAY_INCLUDE[room] + ([] if room.startswith("vampire/core") else ["vampire/core/"])
        if room_of(header) != room and not any(header.startswith(prefix) for prefix in allowed):
            yield f"{name}:{line}: {room} may not include {header}"


def declarations(sources):
    """A header declares what its own folder defines; <maestro.h> is the interface of maestro/ as a whole."""
    homes, declared = {}, {}
    for kind, path, name in house.tags(sources):
        if kind == "function":
            homes.setdefault(name, set()).add(pathlib.PurePath(path).parent)
        elif path.endswith(".h") and path != "maestro/maestro.h":
            declared[name] = path
    for name, path in declared.items():
        if pathlib.PurePath(path).parent not in homes.get(name, set()):
            yield f"{path}: {name} is not defined in this folder"


def product_errors(texts):
    """What concerns no file alone."""
    for one, other in house.mutual_includes(texts):
        yield f"{one}/ and {other}/ include each other"
    for folder, count in house.folder_sizes(texts).items():
        if count > FOLDER_FILES:
            yield f"{folder}/ has {count} files, at most {FOLDER_FILES}"
    internal = sum(name.endswith("internal.h") for name in texts)
    if internal > INTERNAL_HEADERS:
        yield f"{internal} internal headers, at most {INTERNAL_HEADERS}"
    yield from table_errors()
    yield from declarations([name for name in texts if name.endswith((".c", ".h"))])


def product_remarks(texts):
    """What shall become an error once it holds."""
    code = sum(house.lines_of(text)[0] for text in texts.values())
    if code > CODE_LINES:
        yield f"{code} lines of code, more than {CODE_LINES}"


def main():
    texts = house.product()
    errors, remarks = list(product_errors(texts)), list(product_remarks(texts))
    names = house.tracked(".c", ".h", ".def", ".py", ".sh")
    for name in names:
        text = (ROOT / name).read_text(errors="replace")
        lines = text.count("\n")
        if name.endswith(house.SUFFIXES):
            errors += includes(name, text)
        if name != "tests/lint_structure.py" and UNFINISHED.search(text):
            errors.append(f"{name}: holds a mark of unfinished work")
        if "SPDX-License-Identifier: BSD-3-Clause" not in text[:200] and lines > 0:
            errors.append(f"{name}: has no SPDX line")
        if lines > FILE_LIMIT:
            errors.append(f"{name}: {lines} lines, at most {FILE_LIMIT}")
        elif lines > FILE_LINES:
            remarks.append(f"{name}: {lines} lines, more than {FILE_LINES}")
    for path, line, function, length in house.functions([name for name in names if name.endswith((".c", ".h"))]):
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
