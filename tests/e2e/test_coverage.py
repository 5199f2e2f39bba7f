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

import formats
import harness
import jsonl
import nats_reader
from test_collect import Collector, endings, run_config

sys.path.insert(0, str(harness.ROOT / "tests" / "oracle"))
import catalogue
import stream
import streams
from outcome import outcomes

EVERY = "every event was counted"
FILTERED = ("pool_operations", "produced_bytes", "transports", "transport_bytes", "transport_ns", "demand_wait_ns")
CHOICES = [
    {}, {"series": ["component=*0"]}, {"series": ["operation=offer"]},
    {"series": ["component=Nobody"], "metrics": ["pool_operations", "produced_bytes"]},
    {"series": ["source=*0", "component=*1"], "by": ["component", "operation", "source"]},
    {"series": ["component=Model*"], "bucket": "6s"}, {"without": ["component"], "series": ["component=*0"]},
    {"metrics": ["transport*"], "series": ["size_class=*MiB*"]},
]
SEEDS = 9  # times 8 outputs in lines and 5 in other formats: 117 pairs
# What each of the streams meets, at least.
EDGES = ["filtered late not_subscribed", "late", "filtered", "evicted labels_given_up series_overflow",
         "labels_given_up late series_overflow", "late lost", "filtered", "late sampled_out", "filtered lost"]


def configuration_of(seed):
    dice = random.Random(seed)
    source, statistics = streams.synthetic_options(seed)
    rules, _ = streams.random_rules(seed)
    statistics["level"] = "component"
    if seed % 3:
        statistics["filters"] = {name: "(.cdo.size >= 300KiB)" for name in dice.sample(FILTERED, 3)}
    outputs = [{"type": "jsonl", "name": f"o{n}", "path": f"o{n}.jsonl", "queue": 4096, "complete_every": 5, **choice}
               for n, choice in enumerate(CHOICES)]
    return source, {
        "filters": rules["filters"], "events": rules["events"] if seed % 2 else {}, "sampling": rules["sampling"],
        "statistics": statistics,
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
    lines = jsonl.records(path)
    return lines[0], lines[-1]["accounting"], *formats.parts_of(
        (line["metric"], line.get("labels", {}).get("metric"), line.get("delta", line.get("count", 0)))
        for line in lines if line["type"] == "metric")


def summaries(where, paths):
    done = subprocess.run([harness.program("vampire"), "--summary", *paths], cwd=where, check=True, capture_output=True,
                          text=True, timeout=60 * harness.PATIENCE)
    found = done.stdout.split("\nvampire: workflow")[1:]
    assert len(found) == len(paths)
    return found


def assert_shares(said, checked, has, lacks, truth):
    """Each total of a summary has its exact share of what the oracle counted, unless it is all."""
    for word, *names in (("all", "pool_operations"), ("produced", "produced_bytes"), ("transports", "transports", "transport_bytes"),
                         ("transport time", "transport_ns"), ("wait on demand", "demand_wait_ns")):
        line = re.search(rf"^  {word}  .*$", said, re.M)
        if line is None or names[0] not in checked:
            assert not any(name in checked and has[name] for name in names), (word, said)
            continue
        shares = re.findall(r"((?:(?:more|less) than )?[\d.]+) % of (?!the events)", line[0])
        parts = [100 * has[name] / truth[name] for name in names if name in checked and has[name] < truth[name]]
        assert len(shares) == len(parts), (names, line[0])
        for share, part in zip(shares, parts):
            assert abs(float(share.split()[-1]) - part) <= 0.1 and (share != "100.0"), (names, line[0])
        assert ("without what" in line[0]) == any("vampire_metric_filtered" in lacks.get(name, {}) for name in names if name in checked), line[0]


def assert_top(path, has, account, lacks, events):
    """vampire-top says of how many events its numbers are, and what they lack."""
    done = subprocess.run([harness.program("vampire-top"), "--once", "--totals", "--all", path], check=True,
                          capture_output=True, text=True, timeout=60 * harness.PATIENCE)
    said = re.search(r"^  counted( .*\n(?:   .*\n)*)", done.stdout, re.M)
    aside = {name for parts in lacks.values() for name in parts}
    if account["counted"] < events or aside:
        counted = float(re.search(r"([\d.]+) % of the events", said[1])[1])
        assert abs(counted - 100 * account["counted"] / events) <= 0.1 and (counted < 100 or account["counted"] == events), said[1]
    for name in ("pool_operations", "produced_bytes", "transport_bytes"):
        amounts = sum(lacks.get(name, {}).values())
        shown = re.search(rf"([\d.]+) % of\s+{name}", said[1] if said else "")
        assert (shown is not None) == (amounts > 0), (name, lacks, done.stdout)
        assert shown is None or abs(float(shown[1]) - 100 * has[name] / (has[name] + amounts)) <= 0.1, (name, done.stdout)
    assert ("statistics.filters" in (said[1] if said else "")) == ("vampire_metric_filtered" in aside), done.stdout
    assert ("records evicted" in " ".join((said[1] if said else "").split())) == (has["vampire_evicted"] > 0), done.stdout
    assert ("this output leaves out" in (said[1] if said else "")) == ("vampire_not_in_output" in aside), done.stdout


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_a_total_and_what_it_lacks_are_all(space, seed):
    source, configuration = configuration_of(seed)
    (space.path / "made").mkdir()
    vampire(space.path / "made", {"source": {"type": "synthetic", **source}, "outputs": [{"type": "recording"}]})
    recording = next((space.path / "made").glob("*.rec"))
    others = [made(space) for made in formats.ALL]
    configuration["outputs"] += [{**other.output, **CHOICES[(seed + number) % len(CHOICES)]}
                                 for number, other in enumerate(others)]
    run = space.vampire({"finish": "60s", **configuration}, "--replay", recording, ready=False)
    others[0].await_end()
    run.stop()
    others = [other.parts() for other in others]
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
        checked = {metric["name"] for metric in head["metrics"]} & {*catalogue.COUNTERS, *catalogue.HISTOGRAMS}
        checked = {name for name in checked if not name.startswith(("vampire_", "own_", "weighted_"))}
        assert checked or choice.get("metrics"), choice
        same = [(kind.__name__, *other) for place, (kind, other) in enumerate(zip(formats.ALL, others))
                if (seed + place) % len(CHOICES) == number]
        for form, shown, missing in [("lines", has, lacks), *same]:
            for name in checked:
                assert shown[name] + sum(missing.get(name, {}).values()) == truth[name], (seed, form, choice, name, shown[name], missing)
            assert missing == lacks, (seed, form, choice)
        lacking.update(lacks)
        events = sum(isinstance(item, stream.recording_pb2.Mark) is False for item in made)
        skipped = has["vampire_not_subscribed"]
        assert account["received"] + skipped == events + account["rejected"], choice
        said = texts[number]
        whole = account["counted"] == events + sum(account["lost"].values()) and not lacks
        assert whole or EVERY not in said, (seed, choice, said)
        assert_shares(said, checked, has, lacks, truth)
        assert_top(space.path / f"o{number}.jsonl", has, account, lacks, events + sum(account["lost"].values()))
    met = {"late": account["late"], "lost": sum(account["lost"].values()), "filtered": account["filtered"] - has["vampire_sampled_out"],
           **{name: has[f"vampire_{name}"] for name in ("evicted", "sampled_out", "not_subscribed", "series_overflow", "labels_given_up")}}
    assert all(met[what] > 0 for what in EDGES[seed - 1].split()), (seed, met)
    assert lacking or seed % 3 == 0 or truth["vampire_filtered"] == truth["vampire_decoded"], truth


@pytest.mark.plain
def test_files_of_both_formats_say_the_same(space):
    pytest.importorskip("pandas")
    import vampire as package

    _, configuration = configuration_of(4)
    configuration["outputs"] += [{"type": "hdf5", "name": f"h{number}", "queue": 4096, **CHOICES[number]} for number in (0, 1, 3)]
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


@pytest.mark.plain
def test_a_collected_view_says_what_its_runs_lack(space):
    """And what it refused."""
    import vampire as package

    server = nats_reader.Server(space)
    view, reader = Collector(space, server), nats_reader.Reader(server)
    configuration = run_config(server, "alpha", {"series": ["component=*0"]})
    configuration["outputs"][0]["series"] = ["component=*0"]
    configuration["statistics"]["filters"] = {"transport_bytes": "(.cdo.size >= 2MiB)"}
    space.vampire(configuration, ready=False).expect_exit(0)
    old = run_config(server, "old", steps=1, start="fixed")
    space.vampire(old, ready=False, name="old").expect_exit(0)
    harness.wait_until(lambda: endings(reader) == 2, "the ends of both runs")
    reader.stop()
    view.until("messages", len(reader.messages))
    path = view.stop()
    found, (said,) = package.summary(str(path)), summaries(space.path, [path])
    run = package.summary(str(next(space.path.glob("vampire-alpha-*.h5"))))
    assert run.lacking == found.lacking and {name for _, parts in run.lacking.values() for name in parts} == set(formats.ASIDE[:2])
    assert any("1 messages of runs" in note for note in found.notes()) and not found.whole, found
    assert "REFUSED                1 messages of runs" in said and EVERY not in said


@pytest.mark.plain
def test_the_report_prints_no_total_without_its_share(space):
    """Nor a component without numbers as one that did nothing."""
    pytest.importorskip("pandas")
    import vampire as package

    vampire(space.path, {"source": {"type": "synthetic", "producers": 3, "steps": 20, "burst": 2},
                         "statistics": {"filters": {"transport_bytes": "(.cdo.size >= 2MiB)"}},
                         "outputs": [{"type": "hdf5", "queue": 4096, "series": ["component=*0"]}]})
    path = str(next(space.path.glob("*.h5")))
    lacking = package.summary(path).lacking
    text = subprocess.run([harness.ROOT / "python" / "vampire-report", "--text", path], capture_output=True, text=True, check=True).stdout
    for what, metric, words in (("pool operations", "pool_operations", "the series that this output leaves out"),
                                ("CDO bytes given", "produced_bytes", "the series that this output leaves out"),
                                ("bytes moved", "transport_bytes", "what statistics.filters exclude"), ("transports", "transports", None)):
        line = re.search(rf"^  {what}  .*", text, re.M)[0]
        assert (metric in lacking) == ("% of" in line) == bool(words), line
        if words:
            value, parts = lacking[metric]
            assert f"without {words}" in line and abs(float(re.search(r"\(([\d.]+) %", line)[1]) -
                                                      100 * value / (value + sum(parts.values()))) <= 0.1, line
    assert re.search(r"^  Model -- 1 .* hidden +hidden", text, re.M) and re.search(r"^  Model -- 0 .* [1-9]\d* ", text, re.M), text


@pytest.mark.plain
def test_values_without_room_are_no_whole(space):
    """Of histograms that find no memory, the share of the values that are there, in every reader."""
    pytest.importorskip("pandas")
    import vampire as package

    (space.path / "config.json").write_text(harness.config_text({
        "source": {"type": "synthetic", "producers": 60, "consumers": 60, "steps": 3, "burst": 5, "fan_out": 30},
        "statistics": {"max_histogram_memory": "1MiB", "sub_bins": 16},
        "outputs": [{"type": "hdf5", "queue": 4096}, {"type": "jsonl", "name": "o", "path": "o.jsonl", "queue": 4096}]}))
    own = subprocess.run([harness.program("vampire"), "-c", "config.json"], cwd=space.path, check=True, capture_output=True, text=True).stderr
    path = str(next(space.path.glob("*.h5")))
    _, _, has, lacks = read_lines(space.path / "o.jsonl")
    missing = lacks["transport_ns"]["vampire_no_room"]
    assert 0 < missing == has["transports"] - has["transport_ns"]
    found = package.summary(path)
    assert found.lacking["transport_ns"] == (has["transport_ns"], {"vampire_no_room": missing}) and not found.whole
    share = 100 * has["transport_ns"] / has["transports"]
    for said in (own, *summaries(space.path, [path, "o.jsonl"])):
        line = re.search(r"^  transport time  .*% of them, without values for which max_histogram_memory has no room.*", said, re.M)[0]
        assert abs(float(re.search(r"([\d.]+) % of them", line)[1]) - share) <= 0.1 and EVERY not in said, said
    assert "in (other)" not in str(found), found
