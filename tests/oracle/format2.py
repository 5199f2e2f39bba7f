# SPDX-License-Identifier: BSD-3-Clause
"""Writes a file of format 2 as docs/output-hdf5.md describes it, with h5py and nothing of vampire's: what the
readers are tested with that does not come from the program's own writer."""

import itertools
import uuid

import h5py
import numpy as np

WORDS = {
    "operation": ["join", "declare", "offer", "demand"],
    "size_class": ["[0,1KiB)", "[1KiB,2KiB)", "unknown"],
    "tier": ["GFS", "OFI"],
    "cause": ["demand", "unknown"],
    "anomaly": ["unmatched"],
    "reason": ["pool_manager", "ring", "recording"],
    "output": ["files"],
}
OTHER = "(other)"
PADDING = 0xFFFFFFFF
NAT = np.iinfo(np.int64).min
NO_VALUE = np.iinfo(np.uint64).max
CHUNK = 8
SECOND = 10**9


def bin_edges():
    """Lower and upper edges with 8 sub-bins in each power of two: 496 bins."""
    lower = [n if n < 8 else (8 + (n & 7)) << ((n >> 3) - 1) for n in range(496)]
    return np.array(lower, np.uint64), np.array([low - 1 for low in lower[1:]] + [2**64 - 1], np.uint64)


def bin_of(value):
    """The bin of a value."""
    shift = max(0, value.bit_length() - 4)
    return (shift << 3) + (value >> shift)


class Writer:
    """One file. `metrics`: {name: (kind, labels, unit)}; `totals`: {name: {labels: total before this file}}."""

    def __init__(self, path, metrics, start, totals=None, **attributes):
        self.metrics, self.start, self.totals = metrics, start, {name: dict(t) for name, t in (totals or {}).items()}
        self.numbers, self.buckets, self.restarts, self.gaps, self.accounts = [], [], [], [], []
        self.path, self.attributes = path, attributes

    def bucket(self, number, values, account=(0, 0), gap=None):
        """`values`: {metric: {labels: value}}. A value is of a counter the delta, of a gauge (last, least, greatest),
        of a histogram the list of values. `account`: events received and filtered since the start."""
        if not self.numbers or number != self.numbers[-1] + 1:
            self.restarts.append((len(self.numbers), {name: dict(sums) for name, sums in self.totals.items()}))
        self.numbers.append(number)
        self.buckets.append(values)
        self.accounts.append(account)
        if gap:
            self.gaps.append(gap)
        for name, series in values.items():
            if self.metrics[name][0] == "counter":
                for labels, delta in series.items():
                    sums = self.totals.setdefault(name, {})
                    sums[labels] = sums.get(labels, 0) + delta

    # ---- the file

    def close(self, how_ended=2):
        """Writes all."""
        with h5py.File(self.path, "w", libver="latest") as file:
            self._root(file, how_ended)
            for name, (kind, labels, unit) in self.metrics.items():
                self._overview(file, name, kind, labels, unit)
            sets = {labels for kind, labels, _ in self.metrics.values()
                    if any(label not in WORDS for label in labels) or kind == "histogram" and labels}
            self.places = {}
            for labels in sorted(sets):
                self._group(file, labels)
            if self.places:
                self._places(file)

    @staticmethod
    def _scale(place, name, data, dtype=None):
        item = place.create_dataset(name, data=np.asarray(data, dtype), maxshape=(None,), chunks=(512,))
        item.make_scale(name)
        return item

    @staticmethod
    def _text(place, name, texts, length, dims=()):
        data = np.array([text.encode() for text in texts], f"S{length}").view("S1").reshape(len(texts), length)
        item = place.create_dataset(name, data=data, maxshape=(None, length), chunks=(64, length))
        for axis, dim in enumerate(dims):
            item.dims[axis].attach_scale(dim)
        return item

    def _root(self, file, how_ended):
        rows = len(self.numbers)
        file.attrs.update({
            "schema_version": np.bytes_("2.0"), "run_id": np.bytes_("11111111-1111-4111-8111-111111111111"),
            "run_started": np.bytes_("2026-01-01T00:00:00Z"), "output": np.bytes_("files"), "level": np.bytes_("component"),
            "workflow": np.bytes_("forecast"), "host": np.bytes_("node1"), "segment": 1, "bucket_ns": SECOND,
            "sampling": np.bytes_("none"), "vampire_version": np.bytes_("reference"),
            **{key: np.bytes_(value) if isinstance(value, str) else value for key, value in self.attributes.items()},
        })
        self.time = self._scale(file, "time", self.start + np.array(self.numbers, np.int64) * SECOND, np.int64)
        self.word = self._scale(file, "word_length", np.arange(64))
        self.restart = self._scale(file, "restart", np.arange(len(self.restarts)))
        self.bins = self._scale(file, "bin", np.arange(496))
        for name, data in (("bucket_number", self.numbers), ("bucket_ns", [SECOND] * rows),
                           *((f"events_{what}", [account[n] for account in self.accounts])
                             for n, what in enumerate(("received", "filtered")))):
            self._variable(file, name, np.array(data, np.uint64), (self.time,))
        self._variable(file, "events_decoded", file["events_received"][...], (self.time,))
        self._variable(file, "events_counted", file["events_received"][...] - file["events_filtered"][...], (self.time,))
        self._variable(file, "restart_row", np.array([row for row, _ in self.restarts], np.uint64), (self.restart,))
        for name, edges in zip(("bin_lower", "bin_upper"), bin_edges()):
            self._variable(file, name, edges, (self.bins,))
        file["how_ended"], file["ended"] = np.uint8(how_ended), np.int64(NAT if how_ended != 2 else self.start)
        gap = self._scale(file, "gap", np.arange(len(self.gaps)))
        units = {"units": np.bytes_("nanoseconds since 1970-01-01T00:00:00Z")}
        for number, name in enumerate(("gap_start", "gap_end")):
            self._variable(file, name, np.array([g[number] for g in self.gaps], np.int64), (gap,), **units)
        self._text(file, "gap_reason", [g[2] for g in self.gaps], 64, (gap, self.word))
        self.words = {label: self._scale(file, f"{label}_series", np.arange(len(words) + 1))
                      for label, words in WORDS.items()}
        for label, words in WORDS.items():
            self._text(file, label, [OTHER, *words], 64, (self.words[label], self.word))

    @staticmethod
    def _variable(place, name, data, dims, **attributes):
        data = np.asarray(data)
        item = place.create_dataset(name, data=data, maxshape=(None,) + data.shape[1:],
                                    chunks=(CHUNK, *data.shape[1:]), compression="gzip", shuffle=True,
                                    fillvalue=attributes.get("_FillValue"))
        item.attrs.update(attributes)
        for axis, dim in enumerate(dims):
            item.dims[axis].attach_scale(dim)
        return item

    def _overview(self, file, name, kind, labels, unit):
        closed = [label for label in labels if label in WORDS]
        shape = (len(self.buckets), *(len(WORDS[label]) + 1 for label in closed))
        dims = (self.time, *(self.words[label] for label in closed))
        attributes = {"metric": np.bytes_(name), "kind": np.bytes_(kind), "labels": np.bytes_(" ".join(labels)),
                      "units": np.bytes_("1" if kind == "histogram" else unit), "value_units": np.bytes_(unit),
                      "help": np.bytes_(f"help of {name}")}

        def place(row, key):
            words = [([OTHER, *WORDS[label]].index(word)) for label, word in zip(labels, key) if label in WORDS]
            return (row, *words)

        if kind == "gauge":
            columns = np.full((3, *shape), NAT)
            for row, values in enumerate(self.buckets):
                for key, value in values.get(name, {}).items():
                    columns[(slice(None), *place(row, key))] = value
            for data, suffix in zip(columns, ("", "_min", "_max")):
                self._variable(file, name + suffix, data, dims, _FillValue=NAT, **attributes)
            return
        count, total = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
        bins = np.zeros((len(self.buckets), 496), np.uint64)
        extremes = np.full((2, len(self.buckets)), NO_VALUE, np.uint64)
        for row, values in enumerate(self.buckets):
            for key, value in values.get(name, {}).items():
                listed = [value] if kind == "counter" else value
                count[place(row, key)] += np.uint64(len(listed))
                total[place(row, key)] += np.uint64(sum(listed))
                if kind == "histogram" and listed:
                    for one in listed:
                        bins[row, bin_of(one)] += np.uint64(1)
            listed = [one for value in values.get(name, {}).values() if kind == "histogram" for one in value]
            if listed:
                extremes[:, row] = min(listed), max(listed)
        if kind == "counter":
            self._variable(file, f"{name}_delta", total, dims, **attributes)
            before = np.zeros((len(self.restarts), *shape[1:]), np.uint64)
            for number, (_, totals) in enumerate(self.restarts):
                for key, value in totals.get(name, {}).items():
                    before[place(number, key)] += np.uint64(value)
            self._variable(file, f"{name}_before", before, (self.restart, *dims[1:]), **attributes)
            return
        self._variable(file, name, bins, (self.time, self.bins), **attributes)
        self._variable(file, f"{name}_count", count, dims, **attributes)
        self._variable(file, f"{name}_sum", total, dims, **{**attributes, "units": np.bytes_(unit)})
        for data, suffix in zip(extremes, ("_min", "_max")):
            self._variable(file, name + suffix, data, (self.time,), _FillValue=NO_VALUE, **attributes)

    def _group(self, file, labels):
        group = file.create_group("by_" + "_".join(labels))
        group.attrs["labels"] = np.bytes_(" ".join(labels))
        metrics = [(name, kind) for name, (kind, own, _) in self.metrics.items() if own == labels]
        keys = [(OTHER,) * len(labels)]
        for series in (values.get(name, {}) for values in self.buckets for name, _ in metrics):
            keys += [key for key in series if key not in keys]
        keys += [key for _, totals in self.restarts for name, _ in metrics for key in totals.get(name, {}) if key not in keys]
        series = self._scale(group, "series", np.arange(len(keys)))
        for number, label in enumerate(labels):
            self._text(group, label, [key[number] for key in keys], 64, (series, self.word))
        self._text(group, "id", [str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(key))) for key in keys], 36, (series,))
        columns, entries, places = {"series_index": []}, {}, {"row": []}
        for row, values in enumerate(self.buckets):
            self._rows(row, values, keys, metrics, (columns, entries, places))
        self.places.update({f"{group.name[1:]}/{name}": pairs for name, pairs in places.items()})
        row = self._scale(group, "row", np.arange(len(columns["series_index"])))
        for name, data in columns.items():
            kind = np.uint32 if name == "series_index" or name.endswith("_entries") else \
                np.int64 if name.removesuffix("_min").removesuffix("_max") in [m for m, k in metrics if k == "gauge"] else np.uint64
            self._variable(group, name, np.array(data, kind), (row,), **self._about(name))
        for name, pairs in entries.items():
            entry = self._scale(group, f"{name}_entry", np.arange(len(pairs)))
            for number, (suffix, kind) in enumerate((("bin", np.uint16), ("bin_count", np.uint64))):
                self._variable(group, f"{name}_{suffix}", np.array([pair[number] for pair in pairs], kind), (entry,))
        self._before(group, keys, [name for name, kind in metrics if kind == "counter"])

    def _places(self, file):
        """Where the rows of each bucket are, of all groups."""
        slot = self._scale(file, "row_slot", np.arange(len(self.places)))
        self._text(file, "row_dimension", list(self.places), 256, (slot,))
        for number, name in enumerate(("first_row", "rows")):
            data = np.array([[pair[number] for pair in pairs] for pairs in self.places.values()], np.uint32).T
            self._variable(file, name, data, (self.time, slot))

    def _about(self, variable):
        for name, (kind, labels, unit) in self.metrics.items():
            if variable.startswith(name):
                return {"metric": np.bytes_(name), "kind": np.bytes_(kind), "labels": np.bytes_(" ".join(labels)),
                        "value_units": np.bytes_(unit)}
        return {}

    def _rows(self, bucket, values, keys, metrics, parts):
        """The rows and entries of one bucket, each padded to whole chunks."""
        columns, entries, places = parts
        before = self.buckets[bucket - 1] if bucket and bucket not in [row for row, _ in self.restarts] else {}
        changed = {key for name, kind in metrics for key, value in values.get(name, {}).items()
                   if kind != "gauge" or before.get(name, {}).get(key) != value}
        mine = sorted(changed, key=keys.index)
        first = {name: len(entries.get(name, [])) for name, _ in metrics}
        places["row"].append((len(columns["series_index"]) if mine else 0, len(mine)))
        for key in mine:
            columns["series_index"].append(keys.index(key))
            for name, kind in metrics:
                for suffix, value in self._cells(kind, values.get(name, {}).get(key)):
                    columns.setdefault(name + suffix, []).append(value)
                if kind == "histogram":
                    listed = values.get(name, {}).get(key, [])  # one or two are in the row itself
                    bins = sorted(bin_of(one) for one in listed) if len(listed) > 2 else []
                    entries.setdefault(name, []).extend((b, len(list(g))) for b, g in itertools.groupby(bins))
        for name, kind in metrics:
            if kind == "histogram":
                pairs = entries.setdefault(name, [])
                number = len(pairs) - first[name]
                places.setdefault(f"{name}_entry", []).append((first[name] if number else 0, number))
                pairs += [(0, 0)] * (-len(pairs) % CHUNK)
        for name, data in columns.items():
            data += [PADDING if name == "series_index" else 0] * (-len(data) % CHUNK)

    @staticmethod
    def _cells(kind, value):
        if kind == "counter":
            return [("_delta", value or 0)]
        if kind == "gauge":
            last, *extremes = value or (NAT,) * 3
            return zip(("", "_min", "_max"), [last, *(NAT if extreme == last else extreme for extreme in extremes)])
        value = value or []
        return [("_count", len(value)), ("_sum", sum(value)), ("_min", min(value) if len(value) > 1 else 0),
                ("_max", max(value) if len(value) > 2 else 0),
                ("_entries", len({bin_of(one) for one in value}) if len(value) > 2 else 0)]

    def _before(self, group, keys, counters):
        rows = []
        for number, (_, totals) in enumerate(self.restarts):
            used = [key for key in keys if any(totals.get(name, {}).get(key) for name in counters)]
            rows += [(number, keys.index(key), *(totals.get(name, {}).get(key, 0) for name in counters)) for key in used]
            rows += [(number, PADDING, *[0] * len(counters))] * (-len(rows) % CHUNK)
        before = self._scale(group, "before", np.arange(len(rows)))
        names = ["before_restart", "before_series", *(f"{name}_before" for name in counters)]
        for number, name in enumerate(names):
            kind = np.uint32 if number < 2 else np.uint64
            self._variable(group, name, np.array([row[number] for row in rows], kind), (before,), **self._about(name))
