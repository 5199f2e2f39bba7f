# SPDX-License-Identifier: BSD-3-Clause
"""Models: counting by model, and merging by model in an output, give the sums of the components."""

import collections
import json
import re
import subprocess

import harness
import jsonl

SOURCE = {"type": "synthetic", "producers": 6, "consumers": 4, "steps": 40, "burst": 3, "fan_out": 2,
          "step": "100ms", "size_min": "100B", "size_max": "1MiB", "vanish": 100, "lost": 20}
RULES = ["(*) -- *", "products=Products *"]
NAMES = {"component": "model", "source": "source_model", "sink": "sink_model", "producer": "producer_model", "consumer": "consumer_model"}


def model_of(name):
    """What RULES say, in other words."""
    if re.fullmatch(r"Products .*", name):
        return "products"
    return name.split(" -- ")[0] or name


def run(directory, name, statistics, output):
    where = directory / name
    where.mkdir()
    configuration = {
        "source": SOURCE, "statistics": {"bucket": "1s", "models": RULES, **statistics},
        "outputs": [{"type": "jsonl", "path": "lines.jsonl", "queue": 4096, **output}]}
    (where / "config.json").write_text(harness.config_text(configuration))
    subprocess.run([harness.program("vampire"), "-q", "-c", "config.json"], cwd=where, check=True,
                   timeout=60 * harness.PATIENCE)
    return jsonl.records(where / "lines.jsonl")


def values(lines, by_model):
    """Counters and histograms: (metric, labels) -> what was added, count, sum, bins."""
    found = collections.defaultdict(collections.Counter)
    for line in lines:
        if line["type"] != "metric" or line["metric"].startswith("vampire_"):
            continue
        labels = line.get("labels", {})
        if by_model:
            labels = {NAMES.get(name, name): model_of(text) if name in NAMES else text
                      for name, text in labels.items()}
        into = found[line["metric"], tuple(sorted(labels.items()))]
        if "bins" in line:
            into["count"] += line["count"]
            into["sum"] += line["sum"]
            into.update({f"bin {lower}": count for lower, count in line["bins"]})
        elif "delta" in line:
            into["delta"] += line["delta"]
    return {key: value for key, value in found.items() if any(value.values())}


def test_models_are_the_sums_of_their_components(space):
    components = run(space.path, "components", {}, {})
    counted = run(space.path, "counted", {"level": "model"}, {})
    wanted = values(components, by_model=True)
    assert ("pool_operations", (("model", "Model"), ("operation", "offer"))) in wanted
    assert values(counted, by_model=False) == wanted
    closed = ["operation", "size_class", "tier", "cause", "anomaly", "output", "reason", "part"]
    merged = run(space.path, "merged", {}, {"by": [*NAMES.values(), *closed]})
    assert values(merged, by_model=False) == wanted


def test_a_wrong_model_is_an_error_with_its_place(space):
    (space.path / "config.json").write_text('{"statistics": {"models": ["(*) -- *", "IFS"]}}')
    done = subprocess.run([harness.program("vampire"), "--check-config", "-c", "config.json"], cwd=space.path,
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "config.json:1:40: error: /statistics/models/1: a model is" in done.stderr
