# SPDX-License-Identifier: BSD-3-Clause
"""`vampire --samples-show`: what arrives at samples.listen and in samples.files, and how it could be declared."""

import json
import os
import re
import select
import signal
import socket
import sys

from .errors import one_line

PART = re.compile(r'(?:\\+[^\\]?|"(?:\\.|[^"\\])*"|[^\\"])', re.DOTALL)
NUMBER = re.compile(r"[-+]?(\d+[iu]|\d+\.?\d*([eE][-+]?\d+)?|\.\d+)$")
LABELS = {"component": "component", "host": "host", "hostname": "host", "job": "job", "jobid": "job"}
TAG_VALUES = 64  # of each tag that are told apart
NAMES = 1000     # MEASUREMENT.FIELD
LINES_SHOWN = 5  # wrong ones


def split(text, separator):
    """The text in pieces; a separator in quotation marks, or with a backslash in front, does not count."""
    pieces = [""]
    for part in PART.findall(text):
        if part == separator:
            pieces.append("")
        else:
            pieces[-1] += part
    return pieces


def plain(text):
    """Without the backslashes of escaped characters. A backslash does not escape a backslash, as in vampire/core/event/sample.c."""
    return re.sub(r"\\([,= ])", r"\1", text)


def pair_of(text, what):
    """(NAME, VALUE) of a tag or field."""
    pair = split(text, "=")
    if len(pair) != 2:
        raise ValueError(f"expected a {what}, NAME=VALUE")
    return pair


def read_line(line):
    """(measurement, {tag: value}, {field: number}); ValueError with what is wrong."""
    pieces = [piece for piece in split(line, " ") if piece]
    if len(pieces) not in (2, 3) or len(pieces) == 3 and not re.fullmatch(r"-?\d+", pieces[2]):
        raise ValueError("expected MEASUREMENT,TAG=VALUE FIELD=VALUE TIME")
    measurement, *tags = split(pieces[0], ",")
    pairs = [pair_of(tag, "tag") for tag in tags]
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("duplicate tag")
    tags = {plain(name): plain(value) for name, value in pairs}
    fields = {}
    for field in split(pieces[1], ","):
        name, value = pair_of(field, "field")
        if NUMBER.match(value):
            fields[plain(name)] = float(value.rstrip("iu"))
        elif value[:1] != '"' and value not in ("t", "T", "true", "True", "TRUE", "f", "F", "false", "False", "FALSE"):
            raise ValueError(f"{value} is no number")
    return plain(measurement), tags, fields


class Seen:
    """What arrived under one name."""

    def __init__(self):
        self.samples, self.tags, self.last, self.whole = 0, {}, {}, True
        self.steps = {}  # of each value of the tag type: 1, 0, -1 as it grew, stayed and fell

    def add(self, tags, value):
        self.samples += 1
        for tag, word in tags.items():
            words = self.tags.setdefault(tag, {})
            if word in words or len(words) < TAG_VALUES:
                words[word] = None
        series = tuple(sorted(tags.items()))
        before = self.last.get(series)
        if before is not None or len(self.last) < TAG_VALUES ** 2:
            self.last[series] = value
        self.whole &= value == int(value) if abs(value) < 1e300 else False
        if before is not None:
            self.steps.setdefault(tags.get("type"), set()).add((value > before) - (value < before))


def propose(name, seen, taken):
    """Declarations of what arrived under a name: a guess, to be looked at."""
    varying = [tag for tag, words in seen.tags.items() if tag not in LABELS and len(words) > 1]
    labels = {}
    for tag in seen.tags:
        labels.setdefault(LABELS.get(tag), tag)
    labels.pop(None, None)
    kinds = list(seen.tags.get("type", {})) if "type" in varying else []
    rest = [tag for tag in varying if tag != "type"]
    if rest:
        labels["name"] = max(rest, key=lambda tag: len(seen.tags[tag]))
    for only in kinds or [None]:
        text = re.sub(r"[^a-z0-9]+", "_", f"{name} {only or ''}".lower()).strip("_")
        text = (text if text[:1].isalpha() else f"sample_{text}")[:60]
        text = text if not text.startswith("vampire_") else f"sample_{text}"[:60]
        number = 1
        while (unique := text if number == 1 else f"{text}_{number}") in taken:
            number += 1
        taken.add(unique)
        steps = seen.steps.get(only, set()) if kinds else set().union(*seen.steps.values())
        kind = "counter" if 1 in steps and -1 not in steps else "gauge"
        scale = "" if seen.whole else " unit=1e-6 scale=1e6"
        yield f"{unique} {kind} {name}{scale}{f' only=type:{only}' if only else ''}" + \
            "".join(f" {label}={tag}" for label, tag in sorted(labels.items()))


class Show:
    """All that arrived."""

    def __init__(self, declared):
        self.declared, self.seen, self.wrong, self.beyond = set(declared), {}, 0, 0

    def line(self, source, line):
        """One line, which is shown when it says something new."""
        try:
            measurement, tags, fields = read_line(line)
        except ValueError as error:
            self.wrong += 1
            if self.wrong <= LINES_SHOWN:
                print(one_line(f"{source}: no line of the protocol: {error}: {line[:120]}"), flush=True)
            return
        new = [field for field in fields if f"{measurement}.{field}" not in self.seen]
        if new and len(self.seen) < NAMES:
            print(one_line(f"{source}: {line}"), flush=True)
        for field, value in fields.items():
            name = f"{measurement}.{field}"
            if name in self.seen or len(self.seen) < NAMES:
                self.seen.setdefault(name, Seen()).add(tags, value)
            else:
                self.beyond += 1

    def end(self):
        """What it all was."""
        if self.wrong:
            print(f"\n{self.wrong:,} lines are none of the protocol; vampire counts such lines and leaves them out")
        if self.beyond:
            print(f"{self.beyond:,} samples of more than {NAMES:,} names are not shown")
        print(f"\n{sum(one.samples for one in self.seen.values()):,} samples of {len(self.seen):,} names")
        for name, seen in self.seen.items():
            about = "; ".join(f"{tag}: {', '.join(list(words)[:4])}{', ...' * (len(words) > 4)}" for tag, words in seen.tags.items())
            declared = " (declared)" * (name in self.declared)
            print(one_line(f"  {name}{declared}: {seen.samples:,} of {len(seen.last):,} senders; {about or 'no tags'}"))
        taken = set()
        rows = [row for name, seen in self.seen.items() if name not in self.declared and " " not in name
                for row in propose(name, seen, taken)]
        if rows:
            print('\nFor "samples" in the configuration. Keep what you need, and look at each: kind and scale are guesses from the '
                  'values that came;\nunit (unit=byte, unit=ns) is not in the lines:\n\n"metrics": [')
            print(",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n]")


def receiver(address):
    """A socket that is bound to what samples.listen says; OSError."""
    kind, _, rest = address.partition(":")
    if kind == "unix":
        family, where = socket.AF_UNIX, rest
    else:
        host, _, port = rest.rpartition(":")
        host = host.strip("[]") or "127.0.0.1"
        family, where = socket.AF_INET6 if ":" in host else socket.AF_INET, (host, int(port))
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.bind(where)
    return made


def main(words):
    """`words`: the configuration in effect. Until Ctrl-C; files that do not grow are read once."""
    samples = json.loads(words[0])["samples"]
    show = Show(text.split()[2] for text in samples["metrics"])
    sockets, bound, files = {}, [], {}
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    parent = os.getppid()
    try:
        for address in samples["listen"]:
            sockets[receiver(address)] = address
            bound += [address[5:]] if address.startswith("unix:") else []
        files = {open(path, encoding="utf-8", errors="replace"): [path, ""] for path in samples["files"]}
    except OSError as error:
        print(f"vampire: error: samples cannot be received: {address if not files else ''}: {error.strerror}; if a vampire receives "
              "them now, give this one another address: -o samples.listen=udp:PORT", file=sys.stderr)
        return 1
    if not sockets and not files:
        print('vampire: error: --samples-show: the configuration has neither "samples.listen" nor "samples.files"; '
              "for example -o samples.listen=udp:8094", file=sys.stderr)
        return 1
    print(f"samples from {', '.join([*samples['listen'], *samples['files']])}; Ctrl-C ends this", flush=True)
    try:
        while os.getppid() == parent:  # without vampire nobody could end it
            for file, state in files.items():
                lines = (state[1] + file.read()).split("\n")
                state[1] = lines.pop()
                for line in filter(None, lines):
                    show.line(state[0], line)
            for ready in select.select(list(sockets), [], [], 0.2)[0]:
                for line in filter(None, ready.recv(65536).decode(errors="replace").splitlines()):
                    show.line(sockets[ready], line)
    except KeyboardInterrupt:
        pass
    finally:
        show.end()
        for path in bound:
            os.unlink(path)
    return 0
