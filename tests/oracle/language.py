# SPDX-License-Identifier: BSD-3-Clause
"""The filter language read and evaluated the slow and obvious way, from docs/filter-language.md alone.

Every look at an event walks the nested lists that the text is. Attributes (`.maestro.*`) are not
known here; a filter that asks for one is refused.
"""

import calendar
import fractions
import re
import time

SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "kB": 10**3, "MB": 10**6,
         "GB": 10**9, "TB": 10**12}
DURATIONS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
             "d": 86400 * 10**9}
UNITS = {**SIZES, **DURATIONS}
TOKEN = re.compile(
    r'''\s+|;[^\n]*|(?P<single>[()])|"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<plain>[^']*)'|'''
    r'''(?P<operator>[=<>!~]+)|(?P<word>[^\s()"'`;,=<>!~]+)''')
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
WORD_FIELDS = (".event.kind", ".event.phase", ".transport.tier", ".transport.cause")
COMPARISONS = {
    "=": lambda a, b: a == b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
    "<>": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}


class Quoted(str):
    """A text in quotes: never a number, never a keyword."""


def unescape(text):
    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 3
                  else ESCAPES.get(m[1], m[1]), text)


def tokens(text):
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"{text!r}: what is at {at}?")
        at = found.end()
        if found["double"] is not None:
            yield Quoted(unescape(found["double"]))
        elif found["plain"] is not None:
            yield Quoted(found["plain"])
        elif found["single"] or found["operator"] or found["word"]:
            yield found[0]


def nested(stream):
    """The next expression or word: a list for parentheses."""
    token = next(stream)
    if token != "(" or isinstance(token, Quoted):
        return token
    items = []
    while (item := nested(stream)) != ")" or isinstance(item, Quoted):
        items.append(item)
    return items


def number(word):
    """A number, size, duration or time; None: none of them."""
    if re.fullmatch(r"\d{4}-\d\d-\d\dT.*", word):
        return moment(word)
    found = re.fullmatch(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([a-zA-Z]*)", word)
    if found is None or found[2] and found[2] not in UNITS:
        return None
    return fractions.Fraction(found[1]) * UNITS.get(found[2], 1)


def moment(word):
    found = re.fullmatch(r"([\dT:-]{19})(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", word)
    seconds = calendar.timegm(time.strptime(found[1], "%Y-%m-%dT%H:%M:%S"))
    if found[3] != "Z":
        hours, minutes = map(int, found[3][1:].split(":"))
        seconds -= (hours * 60 + minutes) * 60 * (-1 if found[3][0] == "-" else 1)
    return seconds * 10**9 + int((found[2] or "0").ljust(9, "0"))


def literal(word, like):
    """The value that a word means for a field that holds `like`."""
    if isinstance(like, str):
        return str(word)
    return None if isinstance(word, Quoted) else number(word)


def glob(pattern):
    """As a regular expression for all of a text."""
    out, at = "", 0
    while at < len(pattern):
        letter = pattern[at]
        at += 1
        if letter == "\\":
            out += re.escape(pattern[at])
            at += 1
        elif letter == "[":
            end = pattern.index("]", at + 1 + (pattern[at] == "!"))
            inside = pattern[at:end].replace("\\", "\\\\")
            out += "[" + ("^" + inside[1:] if inside.startswith("!") else inside) + "]"
            at = end + 1
        else:
            out += {"*": ".*", "?": "."}.get(letter, re.escape(letter))
    return re.compile(out, re.DOTALL)


class Filter:
    """One text; `named` maps names to texts."""

    def __init__(self, text, named):
        self.named = named
        self.tree = nested(tokens(text))

    def holds(self, fields):
        """`fields` maps a field's name to its value: text, whole number, or None when it is absent."""
        return self.node(self.tree, fields)

    def node(self, node, fields):
        if not isinstance(node, list):
            if node.startswith("@"):
                return Filter(self.named[node[1:]], self.named).holds(fields)
            return {"true": True, "false": False}[node]
        if len(node) == 1:
            return self.node(node[0], fields)
        head = node[0]
        if head == "and":
            return all([self.node(part, fields) for part in node[1:]])
        if head == "or":
            return any([self.node(part, fields) for part in node[1:]])
        if head == "not":
            return not self.node(node[1], fields)
        if head == "has":
            return fields(node[1]) is not None
        return self.term(head, *node[1:], fields)

    @staticmethod
    def term(name, operator, operand, fields):
        value = fields(name)
        if value is None:
            return False
        if operator == "glob":
            return glob(operand).fullmatch(value) is not None
        if operator in ("match", "~", "=~"):
            return re.search(operand, value) is not None
        operands = operand if operator == "in" else [operand]
        if name in WORD_FIELDS:
            value, operands = value.lower(), [word.lower() for word in operands]
        elif name == ".cdo.id":
            operands = [word.replace("-", "").lower() for word in operands]
        compare = COMPARISONS["=" if operator == "in" else operator]
        return any(compare(value, literal(word, value)) for word in operands)
