# SPDX-License-Identifier: BSD-3-Clause
"""What the oracle says of a whole run, bucket by bucket."""

import collections

import in_flight
from catalogue import (AGES, ATTRIBUTES, COUNTERS, LABELS, OTHER, UNKNOWN, WEIGHTED, absent_without, bin_of, declare,
                       labels_at)
from oracle import Oracle
from rules import MILLION, NEVER_SAMPLED, Rules

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9,
         "h": 3600 * 10**9, "d": 86400 * 10**9}


def nanoseconds(text):
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(float(digits) * UNITS[text[len(digits):]])


def options_of(configuration):
    """The options of the statistics, from the effective configuration."""
    statistics = configuration["statistics"]
    attributes = [text.partition("=") for text in statistics["attributes"]]
    return {
        "attributes": [(name, pattern or f"(?:^|,){name}[:=]([^,]*)") for name, _, pattern in attributes],
        "bucket_ns": nanoseconds(statistics["bucket"]),
        "arrival": bool(configuration.get("unknown", 0) & 1),  # no event has a time
        "lacking": configuration.get("lacking", ()),  # kinds of events that cannot arrive
        "lateness_ns": nanoseconds(statistics["lateness"]),
        "sub_bits": {4: 2, 8: 3, 16: 4}[int(statistics["sub_bins"])],
        "weighted": {name: WEIGHTED[name] for name in (word[1:] for word in statistics["metrics"]) if name in WEIGHTED},
        **{key: statistics[key] for key in ("level", "max_series", "max_components", "max_cdos",
                                            "max_pending", "max_empty", "attribute_values")},
    }


def goes_on(before, after):
    """Whether the statistics survive another configuration (docs/configuration.md)."""
    names = [[output["name"] for output in one["outputs"]] for one in (before, after)]
    return options_of(before) == options_of(after) and names[1][: len(names[0])] == names[0]


def outcomes(phases):
    """A list of (items, effective configuration), one for each time the configuration was read, gives
    for each of them (result, first bucket, end): the buckets that were closed meanwhile, of the
    result of the statistics at work then."""
    lives, oracle, before, results = [], None, None, []
    for items, configuration in phases:
        if oracle is None or not goes_on(before, configuration):
            if oracle is not None:
                oracle.finish()
                results.append(Result(oracle, *results[-1:]))
            declare([name for name, _ in options_of(configuration)["attributes"]])
            oracle = Oracle(options_of(configuration), oracle)
            if results:
                results[-1].hand_on(oracle)
            lives.append((oracle, []))
        oracle.rules = Rules(configuration)
        for item in items:
            oracle.observe(item)
        lives[-1][1].append(len(oracle.closed))
        before = configuration
    oracle.finish()
    results.append(Result(oracle, *results[-1:]))
    found = []
    for (oracle, ends), result in zip(lives, results, strict=True):
        ends[-1] = len(oracle.closed)
        found += [(result, first, end) for first, end in zip([0, *ends], ends)]
    return found


class Result:
    """Per metric and labels one entry for each bucket: counters (value, delta), gauges (value, min,
    max), histograms {"count", "sum", "min", "max", "bins"} or None. Of statistics that have ended.

    before: the Result of the statistics that a reload replaced, whose bucket numbers and totals continue."""

    def __init__(self, oracle, before=None):
        options = oracle.options
        self.level = options["level"]
        self.first_number = before.next_number if before else 0
        self.next_number = self.first_number + len(oracle.closed)
        carried = before.totals_for(self.level) if before else {}
        self.starts = [bucket * oracle.width for bucket in oracle.closed]
        self.metrics = collections.defaultdict(dict)
        count = len(self.starts)
        for (metric, labels), adds in oracle.adds.items():
            deltas = [0] * count
            for bucket, amount in adds:
                deltas[bucket] += amount
            total, entries = carried.get((metric, labels), 0), []
            for delta in deltas:
                delta %= 2**64
                total = (total + delta) % 2**64
                entries.append((total, delta))
            self.metrics[metric][labels] = entries
        for (metric, labels), moves in oracle.moves.items():
            self.metrics[metric][labels] = self.gauge(moves, count)
        for (metric, labels), values in oracle.values.items():
            self.metrics[metric][labels] = self.histogram(values, count, options["sub_bits"])
        for (metric, labels), taken in oracle.taken.items():
            self.metrics[metric][labels] = in_flight.entries(metric in AGES, taken, count)
        self.metrics["vampire_weight"][()] = [(weight,) * 3 for weight in oracle.weights]
        self.computed = set(LABELS) - set(WEIGHTED) | set(options["weighted"])
        for weighted, plain in options["weighted"].items():
            names = labels_at(plain, options["level"])
            for labels, entries in list(self.metrics[plain].items()):
                sampled = dict(zip(names, labels)).get("operation") not in NEVER_SAMPLED
                weights = oracle.weights if sampled else [MILLION] * count
                self.metrics[weighted][labels] = self.weighted(entries, weights)
        for (metric, labels), total in carried.items():
            if metric in self.computed and labels not in self.metrics[metric]:
                self.metrics[metric][labels] = [(total, 0)] * count
            elif metric in options["weighted"]:
                self.metrics[metric][labels] = [((total + own) % 2**64, delta) for own, delta in self.metrics[metric][labels]]
        if oracle.rules.weight == 1:
            self.computed.discard("vampire_sample_group")
        if oracle.arrivals:
            self.metrics.pop("transport_bytes_per_second", None)
            self.computed.discard("transport_bytes_per_second")
        self.gaps = [(bucket, tuple(gap)) for bucket in sorted(oracle.gaps)
                     for gap in oracle.gaps[bucket]]
        for metric in absent_without(options["lacking"]):
            self.computed.discard(metric)
            self.metrics.pop(metric, None)
        self.waiting = oracle.waiting
        self.histories = sorted(oracle.histories, key=repr) if options["level"] == "cdo" else []
        self.components = [
            (row.name, row.app, row.joined, row.left, row.reason, row.operations)
            for row in oracle.rows[1:] if row.listed
        ]

    def totals_for(self, level):
        """{(metric, labels at this level): total at the end}. Labels that the series do not have become `(other)`."""
        found = collections.Counter()
        for metric, series in self.metrics.items():
            for labels, entries in series.items() if metric in COUNTERS else ():
                total, _ = entries[-1] if entries else (0, 0)
                names = labels_at(metric, self.level)
                known = dict(zip(names, labels))
                if total:
                    found[metric, tuple(known.get(name, OTHER) for name in labels_at(metric, level))] += total
        return found

    def hand_on(self, oracle):
        """Adds the series and attribute values of the continued totals to the next statistics."""
        for metric, labels in self.totals_for(oracle.options["level"]):
            names = labels_at(metric, oracle.options["level"])
            if names and set(labels) != {OTHER}:
                oracle.series[names].add(labels)
            for name, value in zip(names, labels):
                if name in ATTRIBUTES and value not in (OTHER, UNKNOWN):
                    oracle.attribute_values[name].add(value)

    @staticmethod
    def weighted(entries, weights):
        """The exact sum so far, rounded; its difference is the bucket's."""
        millionths, before, found = 0, 0, []
        for (_, delta), weight in zip(entries, weights):
            millionths += delta * weight
            total = (millionths + MILLION // 2) // MILLION
            found.append((total % 2**64, (total - before) % 2**64))
            before = total
        return found

    @staticmethod
    def gauge(moves, count):
        by_bucket = collections.defaultdict(list)
        for bucket, change in moves:
            by_bucket[bucket].append(change)
        value, entries = 0, []
        for bucket in range(count):
            seen = [value]
            for change in by_bucket[bucket]:
                value += change
                seen.append(value)
            entries.append((value, min(seen), max(seen)))
        return entries

    @staticmethod
    def histogram(values, count, sub_bits):
        by_bucket = collections.defaultdict(list)
        for bucket, value in values:
            by_bucket[bucket].append(value)
        entries = []
        for bucket in range(count):
            found = by_bucket[bucket]
            entries.append(None if not found else {
                "count": len(found), "sum": sum(found) % 2**64, "min": min(found), "max": max(found),
                "bins": dict(collections.Counter(bin_of(value, sub_bits) for value in found)),
            })
        return entries
