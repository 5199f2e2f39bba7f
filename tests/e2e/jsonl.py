# SPDX-License-Identifier: BSD-3-Clause
"""JSON lines as a reader gets them: whole, strict, and as their schema says."""

import json

import jsonschema

from harness import ROOT
from json_lines import flat

LINE_BYTES = 64 * 1024
SCHEMA = ROOT / "docs" / "vampire-jsonl.schema.json"


def no_constant(word):
    raise AssertionError(f"{word} is not JSON")


STRICT = json.JSONDecoder(parse_constant=no_constant)


def strict(data):
    """Of a stream that ends with a whole line."""
    assert data == b"" or data.endswith(b"\n"), "whole lines"
    split = data.split(b"\n")[:-1]
    assert all(len(line) < LINE_BYTES for line in split)
    return [STRICT.decode(line.decode("utf-8")) for line in split]


def records(path):
    """All whole lines, a record for each value (json_lines.py); a killed writer may leave a part of one at the end."""
    data = path.read_bytes()
    return list(flat(strict(data[: data.rfind(b"\n") + 1])))


def validator():
    schema = json.loads(SCHEMA.read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)
