# SPDX-License-Identifier: BSD-3-Clause
"""The configuration as other programs see it: an independent validator reads the JSON Schema, a tool
reads --check-config --json, an editor's file comes back from --dump-config."""

import json
import re
import subprocess

import jsonschema
import pytest

import harness

CASES = harness.ROOT / "tests" / "golden" / "config"
READY = sorted(
    path for path in (harness.ROOT / "config" / "ready").glob("*.json")
    if not path.match("*.schema.json") and path.name != "vampire-collect.json"
)
SCHEMA = json.loads((harness.ROOT / "config" / "ready" / "vampire.schema.json").read_text())
# Mistakes a schema can express; the others only vampire finds.
SEEN_BY_SCHEMA = [
    "bad-bounds", "bad-list", "bad-near-keys", "bad-null-values",
    "bad-output-options", "bad-output-types", "bad-sections-of-wrong-type", "bad-source-options",
    "bad-source-type", "bad-too-many-outputs", "bad-types", "bad-units", "bad-unknown-key",
    "bad-words",
]


def vampire(*arguments, **options):
    return subprocess.run(
        [harness.program("vampire"), *map(str, arguments)],
        capture_output=True, text=True, timeout=60, check=False,
        env=harness.clean_environment(), **options,
    )


def load(path):
    """JSON with comments, read by the rules of another implementation."""
    text = path.read_text(encoding="utf-8-sig")
    token = r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/'
    return json.loads(re.sub(token, lambda match: match.group(1) or " ", text, flags=re.DOTALL))


def is_valid(instance):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(instance)


def test_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert vampire("--print-schema").stdout == json.dumps(SCHEMA, indent=2) + "\n"


@pytest.mark.parametrize("path", READY, ids=lambda path: path.name)
def test_ready_configurations_fit_the_schema(path):
    assert is_valid(load(path))
    dump = vampire("--dump-config", path)
    assert dump.returncode == 0 and is_valid(json.loads(dump.stdout))


def test_schema_accepts_what_is_right():
    good = [path for path in CASES.iterdir() if not path.name.startswith("bad-")]
    assert len(good) >= 20
    refused = [path.name for path in good if not is_valid(load(path / "input.json"))]
    assert not refused


@pytest.mark.parametrize("name", SEEN_BY_SCHEMA)
def test_schema_refuses_what_is_wrong(name):
    assert not is_valid(load(CASES / name / "input.json"))


def test_check_for_tools(space):
    path = space.path / "w\u00f6rse.json"
    path.write_text('{\n  "statistics": {"buket": "1s"},\n  "events": {"filter": "(.a \\"\n"}\n}\n')
    answer = vampire("--check-config", path, "--json")
    assert answer.returncode == 2 and answer.stderr == ""
    report = json.loads(answer.stdout)
    assert report["file"] == str(path) and report["errors"] == 1
    path.write_text('{\n  "statistics": {"buket": "1s"},\n  "events": {"filter": "(.event.kin = 1)"}\n}\n')
    report = json.loads(vampire("--check-config", path, "--json").stdout)
    assert report["errors"] == 2 and len(report["diagnostics"]) == 2
    first, second = report["diagnostics"]
    assert (first["line"], first["column"], first["path"]) == (2, 18, "/statistics/buket")
    assert first["did_you_mean"] == "bucket" and "lateness" in first["allowed"]
    assert (second["line"], second["column"]) == (3, 26)
    assert "line 1, column 2" in second["text"]
    good = vampire("--check-config", "--json", READY[0])
    assert good.returncode == 0 and json.loads(good.stdout)["diagnostics"] == []


def test_standard_input():
    answer = vampire("--dump-config", "-c", "-", input='{"ring": "3MiB"} // fine\n')
    assert answer.returncode == 0 and json.loads(answer.stdout)["ring"] == "3MiB"
    answer = vampire("--check-config", "-", input="{")
    assert answer.returncode == 2 and answer.stderr.startswith("standard input:1:2: error:")


def test_no_colours_in_a_pipe():
    answer = vampire("--check-config", "-", input='{"a": 1}')
    assert "\033" not in answer.stderr and "    {" in answer.stderr and "^" in answer.stderr


def test_metrics_for_tools():
    metrics = json.loads(vampire("--list-metrics=json").stdout)["metrics"]
    names = [metric["name"] for metric in metrics]
    assert len(names) == len(set(names)) and "transport_ns" in names
    for metric in metrics:
        assert metric["kind"] in ("counter", "gauge", "histogram")
        assert metric["unit"] and metric["help"] and metric["origin"]
        alone = metric["name"].startswith("weighted_") or metric["name"] in (
            "vampire_metric_filtered", "vampire_not_in_output", "vampire_no_room", "vampire_sample_group")
        assert bool(metric["sets"]) != alone, "in no set: computed where it is named, or where something is kept out"


# Frequent mistakes, and what the message must contain: the mistake and the correction.
MISTAKES = {
    "yaml": ("outputs:\n  - type: hdf5\n", ["this is YAML", '{"outputs": [{"type": "hdf5"}]}']),
    "yaml document": ("---\nsource:\n", ["this is YAML"]),
    "yaml list": ("- type: hdf5\n", ["this is YAML"]),
    "yaml after a comment": ("# mine\n\n# too\nbucket: 1s\n", ["this is YAML"]),
    "comment": ("# mine\n{}\n", ["a comment begins with //"]),
    "number": ("-1\n", ["'[' or '{' expected"]),
    "home": ('{"outputs": [{"type": "hdf5", "directory": "~/runs"}]}', ["~/runs", "only shells replace ~ and $"]),
    "variable": ('{"outputs": [{"type": "jsonl", "path": "$HOME/a.jsonl"}]}', ["$HOME", "only shells replace ~ and $"]),
    "braces": ('{"outputs": [{"type": "hdf5", "directory": "${SCRATCH}"}]}', ["only shells replace ~ and $"]),
    "rotate": ('{"outputs": [{"type": "hdf5", "rotate": "1h"}]}', ['did you mean {"interval": "1h"}?']),
    "rotate by size": ('{"outputs": [{"type": "hdf5", "rotate": "1GB"}]}', ['did you mean {"size": "1GB"}?']),
    "keep": ('{"outputs": [{"type": "hdf5", "keep": "14d"}]}', ['did you mean {"age": "14d"}?']),
    "quantile in when": ('{"alarms": [{"name": "a", "metric": "demand_wait_ns", "when": "p99 > 30s"}]}',
                         ['"> 30s"', '"quantile": 0.99']),
    "when without comparison": ('{"alarms": [{"name": "a", "metric": "demand_oldest_ns", "when": "30s"}]}', ['"> 30s"']),
    "opentelemetry": ('{"outputs": [{"type": "opentelemetry"}]}', ['did you mean "otlp"?']),
    "otel": ('{"outputs": [{"type": "OTel"}]}', ['did you mean "otlp"?']),
    "h5": ('{"outputs": [{"type": "h5"}]}', ['did you mean "hdf5"?']),
    "json": ('{"outputs": [{"type": "json"}]}', ['did you mean "jsonl"?']),
    "single quotes": ("{'outputs': []}", ["names are in double quotes", '"outputs"']),
    "names without quotes": ("{outputs: []}", ["names are in double quotes", '"outputs"']),
    "texts without quotes": ('{"workflow": forecast}', ["texts are in double quotes"]),
    "words of Python": ('{"outputs": [{"type": "hdf5", "sync": True}]}', ["true, false and null", "lower case"]),
    "words of YAML": ('{"outputs": [{"type": "hdf5", "sync": yes}]}', ["true, false and null"]),
    "no comma": ('{"workflow": "a" "outputs": []}', ["items are separated by commas"]),
    "a comma too many": ('{"outputs": [{"type": "hdf5"},]}', ["no comma is allowed after the last item"]),
    "true as a text": ('{"outputs": [{"type": "hdf5", "sync": "true"}]}', ["allowed: true or false"]),
    "one output": ('{"outputs": {"type": "hdf5"}}', ['a list [{"type": ...}, ...]']),
    "the name of an output": ('{"outputs": ["hdf5"]}', ['an object {"type": ...}']),
    "only the outputs": ('[{"type": "hdf5"}]', ["a configuration is an object {...}"]),
    "capitals": ('{"outputs": [{"type": "Prometheus"}]}', ['did you mean "prometheus"?']),
    "a number of seconds": ('{"statistics": {"bucket": 1}}', ['did you mean "1s"?']),
    "an unknown unit": ('{"statistics": {"bucket": "1sec"}}', ["the units are ns, us, ms, s, min, h, d", '"500ms"']),
    "a size without a unit": ('{"ring": "16M"}', ["MiB", '"64KiB"']),
    "the plural": ('{"statistics": {"level": "components"}}', ['did you mean "component"?']),
    "a port": ('{"outputs": [{"type": "prometheus", "listen": "0.0.0.0:9955"}]}', ["tcp:PORT", "tcp:ADDRESS:PORT"]),
    "a text in place of a list": ('{"statistics": {"models": "IFS -- *"}}', ['did you mean ["IFS -- *"]?']),
    "a minus": ('{"source": {"info-file": "pm.info"}}', ['did you mean "info_file"?']),
    "a metric without its unit": ('{"alarms": [{"name": "a", "metric": "demand_wait", "when": "> 30s"}]}', ['did you mean "demand_wait_ns"?']),
    "a server without http": ('{"outputs": [{"type": "otlp", "endpoint": "localhost:4318"}]}', ["such as http://127.0.0.1:4318/v1/metrics"]),
    "a URL without http": ('{"outputs": [{"type": "influx", "url": "127.0.0.1:8086", "database": "d"}]}', ["http://HOST:PORT"]),
    "influxdb": ('{"outputs": [{"type": "influxdb"}]}', ['did you mean "influx"?']),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_message_names_the_mistake_and_shows_what_is_right(mistake):
    text, words = MISTAKES[mistake]
    answer = vampire("--check-config", "-", input=text)
    assert answer.returncode == 2
    for word in words:
        assert word in answer.stderr, answer.stderr


@pytest.mark.parametrize("text", ['{"outputs": [{"type": "hdf5", "directory": "nowhere"}]}',
                                  '{"outputs": [{"type": "hdf5", "rotate": "daily"}]}', '{"outputs": [{"type": "odd"}]}'])
def test_nothing_is_proposed_without_a_reason(text):
    answer = vampire("--check-config", "-", input=text)
    assert answer.returncode == 2 and "did you mean" not in answer.stderr and "shells" not in answer.stderr
