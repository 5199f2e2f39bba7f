# SPDX-License-Identifier: BSD-3-Clause
"""The files of a run, or of several, as one history of buckets."""

import contextlib
import functools
import multiprocessing
import os
import warnings

import numpy as np

from . import files, format2
from .errors import Damaged, DamageWarning, Error
from .models import AS_MODEL, RULES, model_of
from .models import LABELS as MODELS
from .rows import common

KEPT_OPEN = 256  # files, each of which needs a descriptor
MANY = 16    # files: they are opened by all processors
RUN = "run"  # may be asked for like a label: the first part of the run's id; of collected runs it is a label


def _open_file(path, output):
    """(name of its output, width of its buckets in s, File; None: of another output than was asked for)."""
    try:
        with files.opened(path) as hdf5:
            if "schema_version" not in hdf5.attrs or "time" not in hdf5:
                raise Error(f"{path}: an HDF5 file, but not one of vampire's")
            files.check_format(files.text_of(hdf5.attrs["schema_version"]), f"{path}: ")
            name, seconds = files.text_of(hdf5.attrs["output"]), int(hdf5.attrs["bucket_ns"]) / 1e9
            # HDF5 is slow in opening all objects of a file.
            return name, seconds, format2.File(path, hdf5) if output in (None, name) else None
    except (Damaged, *files.UNREADABLE) as error:
        raise files.explain(path, error) from None


def _opening(path, output):
    """_open_file, or why it is damaged; what it warned of is in the file's damage."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)
            return _open_file(os.fspath(path), output)
    except Damaged as error:
        return error


def _open_files(paths, output):
    """_opening of each. The first file is opened before processes are forked, so that they share the description of its shape."""
    opening = functools.partial(_opening, output=output)
    if len(paths) < MANY:
        return list(map(opening, paths))
    first = opening(paths[0])
    with multiprocessing.get_context("fork").Pool(initializer=files.inherit_shapes) as pool:
        return [first, *pool.imap(opening, paths[1:], 4)]


def _place(file, source):
    return file, type(source), source.labels, source.held


def _whole(reading, span, is_held, bad):
    """The blocks of reading(first, end); to `bad` go the rows of `time` that cannot be read. `is_held`: a value holds until
    the next one, so that all after a bad one are bad."""
    first, end = span
    try:
        for block in reading(first, end):
            yield block
            first = max([first, *block.time[-1:] + 1])
    except files.UNREADABLE:
        if is_held or end - first == 1:
            bad.update(range(first, end))
            return
        step = min(256, -(-(end - first) // 2))
        for at in range(first, end, step):
            yield from _whole(lambda *part: list(reading(*part)), (at, min(at + step, end)), is_held, bad)


def _moment(when):
    return None if when is None else int(np.datetime64(when, "ns").astype(np.int64))


class History:
    """Closed files, or such that are being written, of one output; of one run or of several.

    paths: a path, a pattern, a directory, or a list of them. output: which output's files, by its name;
    needed when there are files of several. between: (from, to) in UTC, anything numpy.datetime64 takes;
    None for an open side. Buckets count that begin at `from` or later and before `to`. models: which components are
    ranks of one model, as `statistics.models` says it.

    What is damaged is left out, with a DamageWarning.
    """

    def __init__(self, paths, output=None, between=None, models=RULES):
        self._left_out, self.output = [], output
        self.models = tuple(models)
        model_of("", self.models)
        self._bad = {}  # place in a file -> its rows of `time` that cannot be read
        self.files = self._opened(files.paths_of(paths), output)
        self.files.sort(key=lambda f: (f.attrs["run_started"], f.run, f.segment))
        if len({(f.run, f.segment) for f in self.files}) < len(self.files):
            raise Error("a file is named twice (two names, the same run and segment)")
        self.between = tuple(map(_moment, between or (None, None)))
        for file in self.files:
            file.limit(*self.between)
        self._keep_the_later()
        edges = [file.edges for file in self.files if file.edges is not None]
        # Coarser bins are unions of finer ones, so that the values of all files fit into the coarsest bins.
        edges = edges or [(np.empty(0, np.uint64),) * 2]
        self.bin_lower, self.bin_upper = min(edges, key=lambda one: len(one[0]))
        self._wanted = [file.wanted() for file in self.files]
        self.times = self._joined(lambda file: file.times)
        self.bucket_ns = self._joined(lambda file: file.bucket_ns)
        self.numbers = self._joined(lambda file: file.numbers)
        self.totals_by = {}  # (metric, labels) -> what vampire.table found over all the time
        self._missing = None

    def _joined(self, column):
        parts = [column(file)[wanted] for file, wanted in zip(self.files, self._wanted)]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    @property
    def damage(self):
        """What is damaged, as far as it was read: sentences."""
        return self._left_out + [text for file in self.files for text in file.damage]

    def _opened(self, paths, output):
        """The files of the output. A damaged one is left out, unless it is the only one."""
        opened = []
        for one in _open_files(paths, output):
            if not isinstance(one, Damaged):
                opened.append(one)
                for text in one[2].damage if one[2] is not None else ():
                    warnings.warn(text, DamageWarning, stacklevel=2)
            elif len(paths) == 1:
                raise one
            else:
                self._left_out.append(f"{one}; it is left out")
                warnings.warn(self._left_out[-1], DamageWarning, stacklevel=2)
        if not opened:
            raise Error(f"none of these files can be read: {'; '.join(self._left_out)}")
        widths = {name: seconds for name, seconds, _ in opened}
        if output is not None and output not in widths:
            raise Error(f"no file is of an output '{output}'; there are: {', '.join(sorted(widths))}")
        if output is None and len(widths) > 1:
            choices = ", ".join(f"'{name}' (buckets of {widths[name]:g} s)" for name in sorted(widths))
            raise Error(f"these files are of several outputs: {choices}. Choose one with output=NAME")
        return [file for _, _, file in opened if file is not None]

    def _keep_the_later(self):
        """Of two files of a run with the same bucket, the later one is right."""
        for earlier, later in zip(self.files, self.files[1:]):
            if earlier.run == later.run and later.rows and earlier.rows:
                earlier.keep &= ~np.isin(earlier.numbers, later.numbers)

    @property
    def runs(self):
        """{id of a run: its files}, by their begin."""
        runs = {}
        for file in self.files:
            runs.setdefault(file.run, []).append(file)
        return runs

    def per_bucket(self, value):
        """value(file), one for each of its buckets, over all files."""
        parts = [np.full(len(wanted), value(file)) for file, wanted in zip(self.files, self._wanted)]
        return np.concatenate(parts) if parts else np.empty(0)

    @property
    def column_names(self):
        """The names of the columns [time] that are no metrics."""
        return list(dict.fromkeys(name for file in self.files for name in file.columns))

    @property
    def not_observed(self):
        """{metric, or "losses" of the pool manager: why it is absent}, over all files."""
        return {what: why for file in self.files for what, why in file.not_observed.items()}

    @contextlib.contextmanager
    def kept_open(self):
        """Opens each closed file once for all that is read meanwhile, unless there are very many. For programs only: nothing else
        in the process can open the files then."""
        kept = [file for file in self.files if file.state != "open"][:KEPT_OPEN]
        try:
            for file in kept:
                file.keep_open()
            yield
        finally:
            for file in kept:
                file.close()

    def each(self, *steps):
        """Calls each step(file, wanted, hdf5) for each file, in one pass over the files. `wanted`: the selected rows of the file."""
        for file, wanted in zip(self.files, self._wanted):
            with file.opened() as hdf5:
                for step in steps:
                    step(file, wanted, hdf5)

    def columns(self, names):
        """{name: (values, attributes)} of columns [time], for the buckets."""
        step, result = self.column_step(names)
        self.each(step)
        return result()

    def column_step(self, names):
        """(step for `each`, function that returns the result of `columns` after that pass)."""
        found, attrs = {name: [] for name in names}, {}

        def step(file, wanted, hdf5):
            for name in names:
                found[name].append(file.column(hdf5, name)[wanted])
                if name not in attrs and name in file.columns:
                    attrs[name] = files.attributes_of(hdf5[name])

        return step, lambda: {name: (np.concatenate(parts), attrs.get(name, {})) for name, parts in found.items()}

    # ---- gaps

    def missing(self):
        """(start, end) of each interval in which events were lost, ns; the end is not part of it, but an
        interval may be a moment."""
        if self._missing is None:
            self.each(self.missing_step())
        return sorted(self._missing)

    def missing_step(self):
        """A step for `each` that collects the result of `missing`."""
        self._missing = set()

        def step(_file, _wanted, hdf5):
            if "gap_start" not in hdf5 or not files.dataset(hdf5, "gap_start").shape[0]:
                return
            rows = zip(hdf5["gap_start"][...].tolist(), hdf5["gap_end"][...].tolist(), files.texts_of(hdf5["gap_reason"][...]))
            # A leap is a jump of the clock: nothing is missing. Unused rows have no start.
            self._missing |= {(start, end) for start, end, reason in rows if reason not in ("leap", "") and start != files.NAT}

        return step

    def complete(self):
        """For each bucket whether no events of it were lost."""
        ends = self.times + self.bucket_ns
        whole = np.ones(len(ends), bool)
        for start, end in self.missing():
            whole &= (ends <= start) | (self.times > max(start, end))
        return whole

    # ---- metrics

    @functools.cached_property
    def metrics(self):
        """{name: Metric} of all files."""
        names = dict.fromkeys(name for file in reversed(self.files) for name in file.metrics)
        return {name: self.metric(name) for name in names}

    def metric(self, name):
        """The Metric of this name. If the levels of the files differ, it has the labels that are known in all files. Error if no
        file has it."""
        found = [file.metrics[name] for file in self.files if name in file.metrics]
        if not found:
            known = ", ".join(sorted({name for file in self.files for name in file.metrics})) or "none"
            raise Error(f"there is no metric {name} in these files; there are: {known}")
        if self._labels_differ(name):
            return found[0]._replace(labels=_shared_labels([metric.labels for metric in found]))
        return found[0]

    def _labels_differ(self, name):
        return len({file.metrics[name].labels for file in self.files if name in file.metrics}) > 1

    def groups(self, name, by, where=None):
        """The Groups of the metric's series in all files, by these labels: all series with the same values are one. A label
        such as model follows from component where the files have only that. Error for what cannot be asked for."""
        known = self.labels(name)
        for label in (*by, *(where or ())):
            if label not in (*known, RUN):
                everywhere = ", in all of the files" if self._labels_differ(name) else ""
                raise Error(f"{name} has no label {label}{everywhere}; it has: {', '.join(known) or 'none'}, and {RUN}")
        groups = Groups(tuple(by), where or {}, self.models)
        found = [bool((groups.codes(file, groups.source(file, name)) >= 0).any()) for file in self.files if name in file.metrics]
        if where and not any(found):
            self._check_words(where)
        return groups

    def labels(self, name):
        """The labels of a metric, and those that follow from them: model of component, source_model of source, ..."""
        labels = self.metric(name).labels
        return labels + tuple(model for label, model in AS_MODEL.items() if label in labels and model not in labels)

    def available(self, name, *labels):
        """Of these labels those that the metric has, or the labels of their models where the files have only these."""
        known = self.metric(name).labels if name in self.metrics else ()
        return [one if one in known else AS_MODEL.get(one) for one in labels if one in known or AS_MODEL.get(one) in known]

    def _check_words(self, where):
        """Error if a label has one of these values in no metric: else a table without rows says nothing happened."""
        for label, words in where.items():
            if label == RUN:
                known = {file.run[:8] for file in self.files}
            else:
                own = any(label in metric.labels for metric in self.metrics.values())
                known = self.words(label) if own else {model_of(word, self.models) for word in self.words(MODELS[label])}
            if not known.intersection([words] if isinstance(words, str) else words):
                some = ", ".join(sorted(map(str, known))[:20]) or "none"
                raise Error(f"where {label} is {words!r}: no series has that; there are: {some}" + ", ..." * (len(known) > 20))

    def series_step(self, sets):
        """(step for `each`, function that returns {labels: series} after that pass). `sets`: tuples of labels. The series are those
        of all metrics with exactly these labels: a LazySeries if a single closed file has them in one place, else Groups."""
        found = {labels: Groups(labels, {}) for labels in sets}
        names = {labels: [name for name, metric in self.metrics.items() if metric.labels == labels] for labels in found}

        def step(file, _wanted, _hdf5):
            for labels, groups in found.items():
                sources = {}
                for source in (groups.source(file, name) for name in names[labels] if name in file.metrics):
                    sources.setdefault(type(source), source)
                if len(self.files) == 1 and len(sources) == 1 and (source := next(iter(sources.values()))).length is not None:
                    found[labels] = LazySeries(source)
                    continue
                for source in sources.values():
                    groups.codes(file, source)

        return step, lambda: found

    def words(self, label):
        """All values of a label, in any metric."""
        step, result = self.series_step({metric.labels for metric in self.metrics.values() if label in metric.labels})
        self.each(step)
        return {word for series in result().values() for word in series.values(label)}

    def blocks(self, name, groups, fields, bins=False, span=None):
        """Yields (bucket, group, Block): the metric's rows with the numbers of their bucket and group, in
        each file in order, of the buckets span[0] to span[1] - 1. Only some ten MiB are in memory at a time.
        A bucket or group that does not count is -1."""
        before = 0
        for file, wanted in zip(self.files, self._wanted):
            position = np.full(file.rows, -1)
            position[wanted] = before + np.arange(len(wanted))
            if span is not None:
                wanted = wanted[max(0, span[0] - before): max(0, span[1] - before)]
            before += int((position >= 0).sum())
            if name not in file.metrics or not len(wanted):
                continue
            source = groups.source(file, name)
            codes = groups.codes(file, source)
            with file.opened() as hdf5:
                for block in self._readable(file, source, lambda *span: source.blocks(hdf5, *span, fields, bins),
                                            (int(wanted[0]), int(wanted[-1]) + 1)):
                    if bins and len(file.edges[0]) != len(self.bin_lower):
                        number = np.searchsorted(self.bin_lower, file.edges[0], "right") - 1
                        block = block._replace(entries=block.entries._replace(bin=number[block.entries.bin]))
                    yield position[block.time], codes[block.series], block

    def _readable(self, file, source, reading, span):
        """The blocks that reading(first, end) yields for these rows of `time`; none of rows that cannot be read."""
        bad, (first, end) = self._bad.setdefault(_place(file, source), set()), span
        if source.held and file.bad:
            bad.update(range(file.bad[0], file.rows))
        before = sorted(bad.intersection(range(first, end)))
        for row in [*before, end]:
            yield from _whole(reading, (first, row), source.held, bad)
            first = row + 1
        if fresh := sorted(bad.difference(before).intersection(range(*span))):
            file.note(f"damaged in {len(fresh)} buckets from row {fresh[0]} on, in which what has the labels "
                      f"({', '.join(source.labels)}) is left out")

    def unread(self, name, groups):
        """The buckets of which the metric was left out when it was read."""
        found, before = set(), 0
        for file, wanted in zip(self.files, self._wanted):
            bad = self._bad.get(_place(file, groups.source(file, name)), ()) if name in file.metrics else ()
            found.update((before + np.flatnonzero(np.isin(wanted, list(bad)))).tolist())
            before += len(wanted)
        return found

    def totals(self, name, groups, first, end, chosen):
        """A counter since the start of its run: [end - first, chosen], of the groups `chosen`, which are all
        labels of the metric."""
        out = np.zeros((end - first, len(chosen)), np.uint64)
        column = np.full(max([len(groups), *chosen + 1]), -1)
        column[chosen] = np.arange(len(chosen))
        before = 0
        for file, wanted in zip(self.files, self._wanted):
            rows = wanted[max(0, first - before): max(0, end - before)]
            start, before = max(first - before, 0) + before, before + len(wanted)
            if name not in file.metrics or not len(rows):
                continue
            source = file.sources(name)[-1]
            if file.bad:
                raise Damaged(f"{file.path}: totals of {name} are not known: row {file.bad[0]} is damaged")
            to = column[groups.codes(file, source)]
            series = np.flatnonzero(to >= 0)
            with file.opened() as hdf5:
                values = source.totals(hdf5, int(rows[0]), int(rows[-1]) + 1, series)
            part, columns = out[start - first: start - first + len(rows)], to[series]
            if len(np.unique(columns)) == len(columns):
                part[:, columns] = values[rows - rows[0]]
            else:  # several series are in one group, because they differ only in labels that other files do not have
                np.add.at(part, (slice(None), columns), values[rows - rows[0]])
        return out


def _shared_labels(every):
    """The labels that are known for each of these tuples of labels. A label of a component also determines that of its model;
    the latter is only returned if the former is not."""
    reached = [set(labels) | {AS_MODEL[label] for label in labels if label in AS_MODEL} for labels in every]
    shared = set.intersection(*reached)
    shared -= {AS_MODEL.get(label) for label in shared}
    return tuple(dict.fromkeys(label for labels in every for label in labels if label in shared))


class LazySeries:
    """All series of a Source, by their number there, whose labels are read when they are used. As Groups by all labels."""

    def __init__(self, source):
        self._source = source

    def __len__(self):
        return self._source.length

    def source(self, file, name):  # pylint: disable=missing-function-docstring
        return next(source for source in file.sources(name) if source.labels == self._source.labels)

    def codes(self, _file, _source):  # pylint: disable=missing-function-docstring
        return np.arange(len(self))

    def values(self, label):  # pylint: disable=missing-function-docstring
        return self._source.series()[self._source.labels.index(label)]


class Groups:
    """Numbers for combinations of label values, over all files; only of series that `where` allows."""

    def __init__(self, by, where, models=RULES):
        self.by, self._numbers, self._codes, self._models = by, {}, {}, models
        self._last = {}  # (run, type of source, labels) -> (source, ids, codes) of the last file
        self._same = {}  # (type of source, labels, Identity) -> codes
        self._where = {label: {words} if isinstance(words, str) else set(words) for label, words in where.items()}
        self._labels = {*by, *where}

    def __len__(self):
        return len(self._numbers)

    def merged(self, by, only):
        """(Groups of some of the labels, the number there of each of these; -1: `only` does not allow it)."""
        groups = Groups(by, {}, self._models)
        allowed = {self.by.index(label): set(words) for label, words in only.items()}
        kept = [self.by.index(label) for label in by]
        place = [groups._numbers.setdefault(tuple(row[one] for one in kept), len(groups))
                 if all(row[one] in words for one, words in allowed.items()) else -1 for row in self._numbers]
        return groups, np.array(place, np.int64)

    def source(self, file, name):
        """Where to read the metric in a file: the coarsest source with the labels."""
        labels = file.metrics[name].labels
        wanted = {label if label in labels else MODELS.get(label, label) for label in self._labels}
        wanted -= set() if RUN in labels else {RUN}
        return next(source for source in file.sources(name) if wanted <= set(source.labels))

    def codes(self, file, source):
        """The group of each series of a source; -1: it is not wanted, or a slot without labels."""
        key = (file, type(source), source.labels)
        if key not in self._codes:
            identity = None if RUN in self._labels else source.identity()
            same = (type(source), source.labels, identity)
            if identity is None or same not in self._same:
                self._same[same] = self._numbered(file, source)
            self._codes[key] = self._same[same]
        return self._codes[key]

    def _numbered(self, file, source):
        """The files of a run mostly begin with the same series, so that only the labels of the other series are read."""
        key, ids, known = (file.run, type(source), source.labels), None, np.empty(0, np.int64)
        identity = source.identity()
        if key in self._last:
            earlier, earlier_identity, earlier_ids, known = self._last[key]
            if identity is not None and earlier_identity is not None:
                known = known[:identity.common(earlier_identity)]
            else:
                ids = source.ids()
                known = known[:common(earlier.ids() if earlier_ids is None else earlier_ids, ids)]
        codes = known if ids is not None and 0 < len(ids) == len(known) else \
            np.concatenate([known, self._numbered_by_labels(file, source, len(known))])
        self._last[key] = source, identity, ids, codes
        return codes

    def _numbered_by_labels(self, file, source, first):
        """The groups of the series from number `first` on."""
        columns = source.series(first)
        values = dict(zip(source.labels, columns))
        count = len(columns[0]) if columns else 1
        values.setdefault(RUN, np.full(count, file.run[:8], object))
        for label in self._labels & MODELS.keys() - values.keys():
            values[label] = np.array([model_of(name, self._models) if name else "" for name in values[MODELS[label]]], object)
        used = np.logical_or.reduce([values[label] != "" for label in source.labels] or [np.ones(count, bool)])
        for label, words in self._where.items():
            used &= np.array([value in words for value in values[label]], bool)
        if not self.by:
            self._numbers.setdefault((), 0)
            return used.astype(np.int64) - 1
        rows = list(zip(*(values[label].tolist() for label in self.by)))
        codes = list(map(self._numbers.get, rows))  # nearly all are known from another file
        if None in codes:
            codes = [self._numbers.setdefault(row, len(self._numbers)) if one else -1 for row, one in zip(rows, used)]
        return np.where(used, np.array(codes, np.int64), -1)

    @property
    def rows(self):
        """The label values of each group: a list of tuples."""
        return list(self._numbers)

    def values(self, label):
        """One label's value of each group."""
        number = self.by.index(label)
        return np.array([row[number] for row in self._numbers], object)
