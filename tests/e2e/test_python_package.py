# SPDX-License-Identifier: BSD-3-Clause
"""The Python package vampire, against Python's own sums over made-up values: files of format 2 that
tests/oracle/format2.py wrote. Files of the program's own writer are in test_python_package_files.py."""

import collections
import os
import random

import h5py
import numpy as np
import pytest

pytest.importorskip("pandas")
import format2
import vampire
from vampire import bins, columns, errors, sums

pytestmark = [pytest.mark.plain, pytest.mark.together]
START = 1767225600 * 10**9
METRICS = {
    "pool_operations": ("counter", ("component", "operation"), "1"),
    "vampire_received": ("counter", (), "1"),
    "vampire_lost": ("counter", ("reason",), "1"),
    "transport_ns": ("histogram", ("source", "sink", "size_class", "tier"), "ns"),
    "demands_per_cdo": ("histogram", ("component",), "1"),
    "handling_ns": ("histogram", ("operation",), "ns"),
    "association_ns": ("histogram", (), "ns"),
    "pool_bytes": ("gauge", (), "byte"),
    "transports_active": ("gauge", ("tier",), "1"),
    "depth": ("gauge", ("component",), "1"),
}
COMPONENTS = ["IFS -- 0", "IFS -- 1", "Größe", "Products 1"]
LOST = (7, 12, 13)  # buckets that are not in the files


def labels_at_random(chance, labels):
    return tuple(chance.choice(format2.WORDS[label] if label in format2.WORDS else COMPONENTS) for label in labels)


def bucket_at_random(chance):
    values = collections.defaultdict(dict)
    for name, (kind, labels, _) in METRICS.items():
        for _ in range(chance.choice((0, 1, 5, 20))):
            key = labels_at_random(chance, labels)
            if kind == "counter":
                values[name][key] = chance.randrange(1, 10**chance.randrange(1, 15))
            elif kind == "gauge":
                low, last, high = sorted(chance.randrange(-100, 100) for _ in range(3))
                values[name][key] = (last, low, high)
            else:
                some = [chance.randrange(10**chance.randrange(1, 12)) for _ in range(chance.randrange(1, 4))]
                values[name][key] = some * chance.choice((1, 1, 2))  # equal values are in one bin
    return dict(values)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(directory with two segments of a run, {bucket: values})."""
    directory, chance, truth = tmp_path_factory.mktemp("format2"), random.Random(1), {}
    totals, gauges = {}, {}
    for segment, numbers in ((1, range(11)), (2, range(11, 24))):
        writer = format2.Writer(directory / f"vampire-made-000{segment}.h5", METRICS, START, totals, segment=segment)
        for number in numbers:
            values = bucket_at_random(chance)
            for name, (kind, _, _) in METRICS.items():
                if kind == "gauge":  # one that has a value keeps it
                    values[name] = gauges[name] = {**gauges.get(name, {}), **values.get(name, {})}
            if number in LOST:
                for name, series in values.items():
                    for key, delta in series.items() if METRICS[name][0] == "counter" else ():
                        writer.totals.setdefault(name, {})[key] = writer.totals.setdefault(name, {}).get(key, 0) + delta
                continue
            truth[number] = values
            gap = (START + 5 * format2.SECOND, START + 5 * format2.SECOND, "ring") if number == 5 else None
            writer.bucket(number, values, (100 * (number + 1), 25 * (number + 1)), gap)
        writer.close(how_ended=segment)
        totals = writer.totals
    return directory, truth


@pytest.fixture(scope="module")
def history(made):
    return vampire.History(made[0])


def expected(truth, metric, by, window=lambda number: 0):
    """{(window, labels of by): [values, or deltas]}."""
    found = collections.defaultdict(list)
    for number, values in truth.items():
        for key, value in values.get(metric, {}).items():
            labels = dict(zip(METRICS[metric][1], key))
            found[(window(number), *(labels[label] for label in by))] += value if isinstance(value, list) else [value]
    return found


BYS = [(metric, by) for metric, (kind, labels, _) in METRICS.items() if kind != "gauge"
       for by in {(), labels[:1], labels[-1:], labels}]


@pytest.mark.parametrize("metric, by", BYS, ids=str)
@pytest.mark.parametrize("freq", [None, "bucket", "5s"])
def test_every_count_sum_and_extreme(made, history, metric, by, freq):
    _, truth = made
    window = {None: lambda number: 0, "bucket": lambda number: number, "5s": lambda number: number // 5 * 5}[freq]
    wanted = expected(truth, metric, by, window)
    found = {}
    for row in vampire.table(history, metric, by, freq).to_dict("records"):
        second = 0 if freq is None else (row["time"].value - START) // 10**9
        found[(second, *(row[label] for label in by))] = row
    assert set(found) == set(wanted)
    for key, values in wanted.items():
        row = found[key]
        if METRICS[metric][0] == "counter":
            assert row["delta"] == sum(values)
        else:
            assert (row["count"], row["sum"], row["min"], row["max"]) == (
                len(values), sum(values), min(values), max(values)), key


@pytest.mark.parametrize("metric, by", [pair for pair in BYS if METRICS[pair[0]][0] == "histogram"], ids=str)
def test_every_bin_and_quantile(made, history, metric, by):
    _, truth = made
    merged = vampire.merge(history, metric, by)
    wanted, found = expected(truth, metric, by), collections.defaultdict(dict)
    for index, count in merged.items():
        *labels, lower, _ = index
        found[(0, *labels)][format2.bin_of(lower)] = count
    assert found == {key: collections.Counter(map(format2.bin_of, values)) for key, values in wanted.items()}
    quantiles = vampire.quantile(history, metric, [0, 0.5, 0.9, 1], by)
    for key, values in wanted.items():
        row = quantiles.loc[key[1:] if len(key) > 2 else key[1]] if by else quantiles
        for q in (0, 0.5, 0.9, 1):
            value = sorted(values)[max(int(np.ceil(q * len(values))), 1) - 1]
            lower, upper = (int(edge[format2.bin_of(value)]) for edge in format2.bin_edges())
            assert row[q] == lower + (upper - lower) // 2


def test_quantiles_of_a_table_of_waits_lie_within_the_extremes(made, history):
    _, truth = made
    frame = vampire.wait_table(history, "transport_ns", "size_class")
    wanted = expected(truth, "transport_ns", ("size_class",))
    assert frame.index.tolist() == ["[0,1KiB)", "[1KiB,2KiB)", "unknown"]
    for name, row in frame.iterrows():
        values = sorted(wanted[0, name])
        assert (row["count"], row["max"]) == (len(values), values[-1])
        assert values[0] <= row["p50"] <= row["p90"] <= row["p99"] <= values[-1]
        middle = vampire.quantile(history, "transport_ns", 0.5, where={"size_class": name})
        assert row["p50"] == min(max(middle, values[0]), values[-1])


def test_gauges_hold_until_they_change(made):
    directory, truth = made
    for metric in ("pool_bytes", "transports_active", "depth"):
        labels = METRICS[metric][1]
        frame = vampire.table(directory, metric)
        found = {(int((row["time"].value - START) // 10**9), *(row[label] for label in labels)):
                 (row["last"], row["min"], row["max"]) for row in frame.to_dict("records")}
        assert found == {(number, *key): value for number, values in truth.items()
                         for key, value in values[metric].items()}
        whole = vampire.table(directory, metric, freq=None).set_index(list(labels)) if labels else \
            vampire.table(directory, metric, freq=None)
        assert whole["max"].max() == max(value[2] for values in truth.values() for value in values[metric].values())
    with pytest.raises(vampire.Error, match="keep its labels"):
        vampire.table(directory, "depth", by=[])


@pytest.mark.parametrize("metric", ["pool_operations", "vampire_lost", "vampire_received", "handling_ns", "transport_ns"])
def test_the_dataset_has_each_value(made, history, metric):
    _, truth = made
    ds = vampire.open(history)
    names = vampire.labels_of(ds[metric])
    keys = list(zip(*(ds[coordinate].values for coordinate in names.values()))) or [()]
    assert ds.bucket_number.values.tolist() == list(truth)
    for row, (number, values) in enumerate(truth.items()):
        for column, key in enumerate(keys):
            value = values.get(metric, {}).get(key, 0 if METRICS[metric][0] == "counter" else [])
            at = (row, column) if names else (row,)
            if METRICS[metric][0] == "counter":
                assert ds[metric + "_delta"].values[at] == value
                continue
            assert ds[metric + "_count"].values[at] == len(value) and ds[metric + "_sum"].values[at] == sum(value)
            bins = ds[metric].isel(time=row).values
            assert {b: n for b, n in enumerate(bins[column] if names else bins) if n} == \
                collections.Counter(map(format2.bin_of, value))


def test_totals_include_the_lost_buckets(made):
    """What a lost bucket would have added is in the totals behind it, in no delta."""
    directory, truth = made
    ds = vampire.open(directory)
    chance, sums = random.Random(1), collections.Counter()
    for number in range(24):
        for key, delta in bucket_at_random(chance).get("pool_operations", {}).items():
            sums[key] += delta
        if number not in truth:
            continue
        row = list(truth).index(number)
        keys = zip(*(ds[name].values for name in vampire.labels_of(ds.pool_operations).values()))
        assert ds.pool_operations.isel(time=row).values.tolist() == [sums[key] for key in keys], number


def test_parts_are_read_alone(made):
    directory, _ = made
    ds = vampire.open(directory)
    for name in ("transport_ns", "pool_operations", "pool_operations_delta", "depth_max"):
        whole, part = ds[name].values, ds[name][[2, 9, 4], 1:3]
        assert np.array_equal(part.values, whole[[2, 9, 4], 1:3], equal_nan=True)
        assert np.array_equal(ds[name][-1].values, whole[-1], equal_nan=True)
    assert ds.transport_ns[3, 1, 5:9].shape == (4,)


@pytest.mark.parametrize("compression", [{"shuffle": True, "compression": "gzip"}, {"compression": "gzip"}, {}], ids=str)
def test_ranges_of_a_column(tmp_path, compression):
    """Equal chunks, chunks that were never written, one that no filter made smaller, and the short last one."""
    values = np.zeros(64 * 9 + 5, np.uint64)
    values[:128], values[192:256] = 1, np.random.default_rng(1).integers(0, 2**64, 64, np.uint64)
    values[512:] = 2**63 + np.arange(69, dtype=np.uint64)
    with h5py.File(tmp_path / "column.h5", "w") as file:
        column = file.create_dataset("column", (len(values),), np.uint64, maxshape=(None,), chunks=(64,), fillvalue=7,
                                     **compression)
        for first in (0, 64, 192, 512, 576):
            column[first: first + 64] = values[first: first + 64]
        values[values == 0] = 7
        starts, counts = np.array([0, 60, 190, 300, 400, 512]), np.array([50, 70, 10, 0, 1, 69])
        found = columns.Columns(file).read("column", columns.Ranges(starts, counts))
        nothing = columns.Columns(file).read("column", columns.Ranges(starts, counts * 0))
    assert found.tolist() == [value for low, length in zip(starts, counts) for value in values[low: low + length].tolist()]
    assert nothing.tolist() == []


@pytest.mark.parametrize("parts", [4, 8, 16, 3])
def test_the_bin_of_a_value(parts):
    """As a search finds it; 3 parts of a doubling have no table."""
    lower = sorted({2**power + 2**power * part // parts for power in range(64) for part in range(parts)} | {0})
    lower = np.array(lower, np.uint64)
    values = np.concatenate([lower, lower + np.uint64(1), lower[1:] - np.uint64(1), np.array([2**64 - 1, 2**53 + 1], np.uint64)])
    assert bins.Bins(lower).of(values).tolist() == (np.searchsorted(lower, values, "right") - 1).tolist()


@pytest.mark.parametrize("top", [10, 2**40, 2**64])
def test_sums_are_exact(top):
    """Of small and large keys and values, modulo 2^64."""
    chance = random.Random(top)
    for spread in (5, 10**9):
        keys = [chance.randrange(spread) for _ in range(1000)]
        values = [chance.randrange(top) for _ in keys]
        wanted = collections.defaultdict(int)
        for key, value in zip(keys, values):
            wanted[key] = (wanted[key] + value) % 2**64
        exact = sums.Sums("test", ("sum",))
        for part in (slice(0, 400), slice(400, 401), slice(401, None)):
            exact.add(np.array(keys[part]), {"sum": np.array(values[part], np.uint64)})
        found, columns_ = exact.result()
        assert dict(zip(found.tolist(), columns_["sum"].tolist())) == wanted


def test_asking_for_too_much_names_what_to_use(made, monkeypatch):
    directory, _ = made
    monkeypatch.setattr(errors, "MEMORY_LIMIT", 1000)
    ds = vampire.open(directory)
    with pytest.raises(vampire.TooLarge, match="vampire.quantile, merge, rate or table"):
        ds.transport_ns.sum("time")
    with pytest.raises(vampire.TooLarge, match=r"by=\[\.\.\.\]"):
        vampire.table(directory, "transport_ns")


def test_rates_stop_where_events_are_missing(made):
    directory, truth = made
    rate = vampire.rate(directory, "pool_operations", "component")
    seconds = ((rate.index.values.astype(np.int64) - START) // 10**9).tolist()
    assert seconds == [*range(8), *range(8, 13), *range(14, 24)]  # a row of NaN for each hole
    holes = [seconds.index(7), seconds.index(12), seconds.index(5)]
    assert np.flatnonzero(rate.isna().all(axis=1)).tolist() == sorted(holes) == np.flatnonzero(rate.isna().any(axis=1)).tolist()
    wanted = expected(truth, "pool_operations", ("component",), lambda number: number)
    assert rate.loc[rate.index[8], "Größe"] == sum(wanted[8, "Größe"])
    with pytest.raises(vampire.Error, match="rates are of counters"):
        vampire.rate(directory, "depth")


def test_a_part_of_the_time_and_the_account(made):
    directory, _ = made
    between = (np.datetime64(START + 2 * 10**9, "ns"), np.datetime64(START + 4 * 10**9, "ns"))
    found = vampire.summary(directory, between=between)
    assert (found.buckets, found.received, found.filtered, found.counted) == (2, 200, 50, 150)
    whole = vampire.summary(directory)
    assert "filters excluded 600 events (25.0 %)" in whole.notes() and not whole.whole
    assert "1 of 21 buckets miss events" in whole.notes() and "3 buckets not in the files" in whole.notes()
    assert "25.0 %" in str(whole)


def test_an_output_has_to_be_chosen(made, tmp_path):
    directory, _ = made
    for path in directory.iterdir():
        os.link(path, tmp_path / path.name)
    writer = format2.Writer(tmp_path / "vampire-minutes-0001.h5", METRICS, START, output="minutes", bucket_ns=60 * 10**9)
    writer.close()
    with pytest.raises(vampire.Error, match=r"'files' \(buckets of 1 s\), 'minutes' \(buckets of 60 s\).*output=NAME"):
        vampire.open(tmp_path)
    assert vampire.open(tmp_path, output="files").sizes["time"] == 21
    with pytest.raises(vampire.Error, match="no file is of an output 'hours'; there are: files, minutes"):
        vampire.open(tmp_path, output="hours")


def test_several_runs_add_up_or_stay_apart(made, tmp_path):
    directory, truth = made
    for number, path in enumerate(sorted(directory.iterdir())):
        (tmp_path / path.name).write_bytes(path.read_bytes())
        copy = tmp_path / f"vampire-other-000{number}.h5"
        copy.write_bytes(path.read_bytes())
        with h5py.File(copy, "r+") as file:
            file.attrs.modify("run_id", np.bytes_("22222222-2222-4222-8222-222222222222"))
    total = sum(map(sum, expected(truth, "pool_operations", ()).values()))
    assert vampire.merge(tmp_path, "pool_operations") == 2 * total
    assert vampire.merge(tmp_path, "pool_operations", by=["run"]).tolist() == [total, total]
    assert vampire.rate(tmp_path, "pool_operations").dropna().iloc[0] == 2 * vampire.rate(
        directory, "pool_operations").dropna().iloc[0]


def test_what_is_wrong_is_said(made):
    directory, _ = made
    with pytest.raises(vampire.Error, match="there is no metric nothing in these files; there are: association_ns, "):
        vampire.table(directory, "nothing")
    with pytest.raises(vampire.Error, match="has no label tier; it has: component, operation, model, and run"):
        vampire.merge(directory, "pool_operations", "tier")
    with pytest.raises(vampire.Error, match="quantile 2; it is between 0 and 1"):
        vampire.quantile(directory, "transport_ns", 2)
    with pytest.raises(vampire.Error, match="freq 'often'"):
        vampire.quantile(directory, "transport_ns", 0.5, freq="often")
    with pytest.raises(vampire.Error, match="shorter than the buckets"):
        vampire.quantile(directory, "transport_ns", 0.5, freq="1ms")
