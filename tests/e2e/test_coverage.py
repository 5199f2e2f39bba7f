# SPDX-License-Identifier: BSD-3-Clause
"""What a number stands for: configurations that leave something out, over streams with faults, against
the independent program (tests/oracle/). Of each metric of each output, what it has and what it is said
to lack are together what the oracle counted, and nothing calls itself whole that is not."""

import collections
import copy
import json
import random
import re
import subprocess
import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "oracle"))
import catalogue
import stream
import streams
from outcome import outcomes

ASIDE = ("vampire_metric_filtered", "vampire_not_in_output")
EVERY = "every event was counted"
FILTERED = ("pool_operations", "produced_bytes", "transports", "transport_bytes", "transport_ns", "demand_wait_ns")
CHOICES = [
    {}, {"series": ["component=*0"]}, {"series": ["operation=offer"]},
    {"series": ["component=Nobody"], "metrics": ["pool_operations", "produced_bytes"]},
    {"series": ["source=*0", "component=*1"], "by": ["component", "operation", "source"]},
    {"series": ["component=Model*"], "bucket": "6s"}, {"without": ["component"], "series": ["component=*0"]},
    {"metrics": ["transport*"], "series": ["size_class=*MiB*"]},
]
SEEDS = 9  # times 8 outputs: 72 pairs


def configuration_of(seed):
    dice = random.Random(seed)
    source, statistics = streams.synthetic_options(seed)
    rules, _ = streams.random_rules(seed)
    statistics["level"] = "component"
    if seed % 3:
        statistics["filters"] = {name: "(.cdo.size >= 300KiB)" for name in dice.sample(FILTERED, 3)}
    outputs = [{"type": "jsonl", "name": f"o{n}", "path": f"o{n}.jsonl", "queue": 4096, "complete_every": 5, **choice}
               for n, choice in enumerate(CHOICES)]
    outputs += [{"type": "hdf5", "name": f"h{n}", "queue": 4096, **CHOICES[n]} for n in (0, 1, 3)]
    return source, {
        "filters": rules["filters"], "events": rules["events"] if seed % 2 else {}, "statistics": statistics,
        "outputs": [*outputs, {"type": "recording", "name": "seen", "filtered": True}],
    }


def vampire(where, configuration, *options):
    (where / "config.json").write_text(harness.config_text(configuration))
    subprocess.run([harness.program("vampire"), "-q", "-c", "config.json", *options], cwd=where, check=True,
                   timeout=60 * harness.PATIENCE)


def counted_by_oracle(items, configuration):
    """{metric: its total, of a histogram the number of values}, without filters of metrics."""
    configuration = copy.deepcopy(configuration)
    configuration["statistics"]["filters"] = {}
    totals = collections.Counter()
    for result, first, end in outcomes([(items, configuration)]):
        for metric, series in result.metrics.items():
            for entries in series.values():
                if metric in catalogue.HISTOGRAMS:
                    totals[metric] += sum(entry["count"] for entry in entries[first:end] if entry)
                elif metric in catalogue.COUNTERS:
                    totals[metric] += sum(entry[1] for entry in entries[first:end])
    return totals


def read_lines(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    has, lacks = collections.Counter(), collections.defaultdict(collections.Counter)
    for line in lines:
        if line["type"] == "metric":
            name = line["metric"]
            has[name] += line.get("delta", line.get("count", 0))
            if name in ASIDE and line["delta"]:
                lacks[line["labels"]["metric"]][name] += line["delta"]
    return lines[0], lines[-1]["accounting"], has, lacks


def summaries(where, paths):
    done = subprocess.run([harness.program("vampire"), "--summary", *paths], cwd=where, check=True, capture_output=True,
                          text=True, timeout=60 * harness.PATIENCE)
    found = done.stdout.split("\nvampire: workflow")[1:]
    assert len(found) == len(paths)
    return found


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_a_total_and_what_it_lacks_are_all(space, seed):
    source, configuration = configuration_of(seed)
    (space.path / "made").mkdir()
    vampire(space.path / "made", {"source": {"type": "synthetic", **source}, "outputs": [{"type": "recording"}]})
    recording = next((space.path / "made").glob("*.rec"))
    vampire(space.path, configuration, "--replay", str(recording))
    _, made = stream.read(recording)
    _, seen = stream.read(next(space.path.glob("*.rec")))
    texts = summaries(space.path, [f"o{number}.jsonl" for number in range(len(CHOICES))])
    effective = None
    lacking = set()
    for number, choice in enumerate(CHOICES):
        head, account, has, lacks = read_lines(space.path / f"o{number}.jsonl")
        if effective is None:
            effective = json.loads(head["configuration"])
            truth = counted_by_oracle(seen, effective)
        names = {metric["name"] for metric in head["metrics"]}
        checked = names & {*catalogue.COUNTERS, *catalogue.HISTOGRAMS}
        checked = {name for name in checked if not name.startswith(("vampire_", "own_", "weighted_"))}
        assert checked or choice.get("metrics"), choice
        for name in checked:
            assert has[name] + sum(lacks.get(name, {}).values()) == truth[name], (seed, choice, name, has[name], lacks)
        lacking.update(lacks)
        events = sum(isinstance(item, stream.recording_pb2.Mark) is False for item in made)
        skipped = has["vampire_not_subscribed"]
        if "metrics" not in choice:
            assert account["received"] + skipped == events + account["rejected"], choice
        said = texts[number]
        whole = account["counted"] == events + sum(account["lost"].values()) and not lacks
        assert whole or EVERY not in said, (seed, choice, said)
        for name, word in (("produced_bytes", "produced"), ("transports", "transports")):
            line = re.search(rf"^  {word} .*$", said, re.M).group()
            share = re.search(r"\((?:(?:more|less) than )?([\d.]+) % of ", line)
            assert name not in checked or bool(share) == (has[name] < truth[name]), (seed, choice, line)
            if share and truth[name]:
                assert abs(float(share[1]) - 100 * has[name] / truth[name]) <= 0.1, (seed, choice, line)
    assert lacking or seed % 3 == 0 or truth["vampire_filtered"] == truth["vampire_decoded"], truth


@pytest.mark.plain
def test_files_of_both_formats_say_the_same(space):
    pytest.importorskip("pandas")
    import vampire as package

    _, configuration = configuration_of(4)
    (space.path / "made").mkdir()
    source, _ = streams.synthetic_options(4)
    vampire(space.path / "made", {"source": {"type": "synthetic", **source}, "outputs": [{"type": "recording"}]})
    vampire(space.path, configuration, "--replay", str(next((space.path / "made").glob("*.rec"))))
    for number in (0, 1, 3):
        path = next(space.path.glob(f"*-h{number}-*.h5"))
        head, _, has, lacks = read_lines(space.path / f"o{number}.jsonl")
        names = {metric["name"] for metric in head["metrics"]}
        lacks = {name: parts for name, parts in lacks.items() if name in names}
        summary = package.summary(str(path))
        assert {name: parts for name, (_, parts) in summary.lacking.items()} == lacks
        assert all(value == has[name] for name, (value, _) in summary.lacking.items())
        assert lacks and not summary.whole
        texts = summaries(space.path, [path.name, f"o{number}.jsonl"])
        about = [[line for line in text.splitlines() if "%" in line] for text in texts]
        assert about[0] == about[1] and about[0]
