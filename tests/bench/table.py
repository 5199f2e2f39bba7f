#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The results of make bench as text, and as the tables of docs/performance.md:

    tests/bench/table.py build/release/bench/results.json docs/performance.md

replaces what stands between the marks in that page. --preliminary says so in it."""

import argparse
import json
import pathlib
import re
import sys

import figures

MARK = "<!-- {}: made by tests/bench/table.py -->"


def number(value):
    """Three digits that count, with separators."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4
    return f"{value:.{digits}f}"


def spread(line, name):
    return f"{number(line[name])} ({number(line[name + '_q1'])} to {number(line[name + '_q3'])})"


def text_of(line):
    """One line of a terminal."""
    text = f"{line['name']:22} {spread(line, 'median'):34} {line['unit']:10}"
    if "ratio" in line:
        text += f" {spread(line, 'ratio')} x {line['baseline']['what']}"
    return text


def more_or_less(interval):
    """A ratio with its interval, in per cent more or less."""
    mean, low, high = (100 * (end - 1) for end in interval)
    return f"{mean:+.1f} % ({low:+.1f} to {high:+.1f})"


def people(size):
    return f"{size / 2**20:.0f} MiB"


def measured_table(results):
    yield "| line | what | median (quartiles) | baseline | ratio (quartiles) | peak memory | CPU |"
    yield "|---|---|---|---|---|---|---|"
    for line in results["lines"]:
        base, ratio = "", ""
        if "ratio" in line:
            base = f"{line['baseline']['what']}: {number(line['baseline']['median'])}"
            ratio = spread(line, "ratio")
        peak = people(line["peak_bytes"]) if "peak_bytes" in line else ""
        cpu = f"{number(line['cpu_seconds'])} s" if "cpu_seconds" in line else ""
        yield (f"| `{line['name']}` | {line['what']} | {spread(line, 'median')} {line['unit']} | "
               f"{base} | {ratio} | {peak} | {cpu} |")


# ---------------------------------------------------------------- targets


class Target:
    """What was to be reached, how to read it from the results, and whether it was."""

    def __init__(self, what, aim, lines, reached, met):
        self.what, self.aim, self.lines, self.reached, self.met = what, aim, lines, reached, met


def million(value):
    return f"{value / 1e6:.2f} M/s"


def replay_reached(lines):
    line = lines["replay"]
    return (f"{million(line['events_per_second'])} of processor time; "
            f"{million(line['elapsed_events_per_second'])} elapsed, of which starting takes "
            f"{line['start_seconds']:.2f} s")


def memory_reached(lines):
    line = lines["idle.memory"]
    return (f"{line['alone_mib']:.1f} MiB with a source that needs no provider, "
            f"{line['alone_anonymous_mib']:.1f} MiB of it no file's; "
            f"{line['alone_without_hdf5_mib']:.1f} MiB without an HDF5 file")


def scale_target(name, what):
    """Memory of the quarters, and what was lost."""
    def reached(lines):
        sizes = ", ".join(f"{size / 2**20:.1f}" for size in lines[name]["resident_bytes"])
        return (f"{number(lines[name]['median'])} % growth from the third quarter to the last "
                f"({sizes} MiB), {lines[name]['lost']} lost")

    def met(lines):
        return lines[name]["median"] < 5 and lines[name]["lost"] == 0

    return Target(f"500 components, {what}, 10^4 events/s for ten minutes", "flat memory, no loss",
                  [name], reached, met)


TARGETS = [
    Target("replay, level component, all metrics, 10^5 live CDOs, one core", "2.5 M events/s",
           ["replay"], replay_reached, lambda r: r["replay"]["events_per_second"] >= 2.5e6),
    Target("the same next to protobuf-c's bare unpack", "60 % of its speed", ["replay"],
           lambda r: f"{100 / r['replay']['ratio']:.0f} %", lambda r: r["replay"]["ratio"] <= 1 / 0.6),
    Target("stretch: the same", "6 M events/s", ["replay"], replay_reached,
           lambda r: r["replay"]["events_per_second"] >= 6e6),
    Target("over tcp, batched, nothing lost", "90 % of the replay figure", ["tcp"],
           lambda r: f"{100 / r['tcp']['ratio']:.0f} %, {million(r['tcp']['events_per_second'])}, "
                     f"{r['tcp']['lost']} lost",
           lambda r: r["tcp"]["ratio"] <= 1 / 0.9 and r["tcp"]["lost"] == 0),
    Target("allocation per event", "none", ["statistics.all"],
           lambda r: f"{r['statistics.all']['heap_calls']:,} in {r['statistics.all']['events']:,.0f} "
                     f"events: {r['statistics.all']['buckets']} buckets",
           lambda r: r["decode"]["heap_calls"] == 0 and r["statistics.all"]["heap_calls"]
           <= 500 * max(r["statistics.all"]["buckets"], 1)),
    Target("histogram record: many magnitudes, one octave, few values", "2.5 ns",
           ["histogram", "histogram.narrow", "histogram.few"],
           lambda r: ", ".join(f"{number(r[name]['median'])}" for name in
                               ("histogram", "histogram.narrow", "histogram.few")) + " ns",
           lambda r: max(r[name]["median"] for name in
                         ("histogram", "histogram.narrow", "histogram.few")) <= 2.5),
    Target("fifty rules on quantiles, 400 components, a bucket", "5 ms, 16 MiB", ["alarms"],
           lambda r: f"{number(r['alarms']['median'] / 1e6)} ms, {number(r['alarms']['resident_bytes'] / 2**20)} MiB",
           lambda r: r["alarms"]["median"] <= 5e6 and r["alarms"]["resident_bytes"] <= 16 * 2**20),
    Target("row of JSON lines", "400 ns", ["json"], lambda r: f"{number(r['json']['median'])} ns",
           lambda r: r["json"]["median"] <= 400),
    Target("pairing look-up at 10^6 live CDOs", "25 ns", ["pairing.1e6"],
           lambda r: f"{number(r['pairing.1e6']['median'])} ns",
           lambda r: r["pairing.1e6"]["median"] <= 25),
    Target("pairing look-up at 10^7", "60 ns", ["pairing.1e7"],
           lambda r: f"{number(r['pairing.1e7']['median'])} ns",
           lambda r: r["pairing.1e7"]["median"] <= 60),
    Target("resident memory for a live CDO, 10^5 of them", "180 bytes", ["replay.cdo"],
           lambda r: f"{r['replay.cdo']['median']:.0f} bytes",
           lambda r: r["replay.cdo"]["median"] <= 180),
    Target("largest single insert, to 10^7", "1 ms", ["pairing.1e7"],
           lambda r: f"{r['pairing.1e7']['worst_insert_ns'] / 1e6:.2f} ms",
           lambda r: r["pairing.1e7"]["worst_insert_ns"] <= 1e6),
    Target("bucket commit, 20 x 248 bins, compressed", "1.5 times the bare append", ["hdf5"],
           lambda r: f"{r['hdf5']['ratio']:.2f} times", lambda r: r["hdf5"]["ratio"] <= 1.5),
    Target("the same next to a bare append to as many datasets", "1.5 times the bare append",
           ["hdf5.all"], lambda r: f"{r['hdf5.all']['ratio']:.2f} times",
           lambda r: r["hdf5.all"]["ratio"] <= 1.5),
    Target("burst of 100,000 events in 50 ms, default settings", "none lost", ["burst"],
           lambda r: f"{number(r['burst']['median_q3'])} lost ({number(r['burst']['lost_in_pool_manager'])} in the pool "
                     f"manager) in {1000 * r['burst']['seconds']:.0f} ms",
           lambda r: r["burst"]["median_q3"] == 0),
    Target("idle, joined: wake-ups a second", "2", ["idle.wakeups"],
           lambda r: number(r["idle.wakeups"]["median"]), lambda r: r["idle.wakeups"]["median"] <= 2),
    Target("idle, joined: share of a core", "0.1 %", ["idle.cpu"],
           lambda r: f"{number(r['idle.cpu']['median'])} %", lambda r: r["idle.cpu"]["median"] < 0.1),
    Target("idle, joined: memory without the provider", "16 MiB", ["idle.memory"],
           memory_reached,
           lambda r: r["idle.memory"]["alone_mib"] < 16),
    Target("1,000 events/s", "2 % of a core", ["pace.1000"],
           lambda r: f"{number(r['pace.1000']['median'])} %", lambda r: r["pace.1000"]["median"] < 2),
    Target("fields a second of the workflow with vampire", "fewer by less than 1 %", ["weight.duo.full"],
           lambda r: more_or_less(r["weight.duo.full"]["ratios"]["fields_a_second"]),
           lambda r: r["weight.duo.full"]["ratios"]["fields_a_second"][0] > 0.99),
    Target("file size", "200 bytes a non-empty histogram row", ["rows"],
           lambda r: f"{number(r['rows']['median'])} bytes", lambda r: r["rows"]["median"] <= 200),
    scale_target("scale", "10^6 CDOs"),
    scale_target("scale.live", "10^6 CDOs at a time"),
]


def at_most(what, aim, line, limit, reached=lambda line: f"{number(line['median'])} s, {people(line['peak_bytes'])}"):
    """A target of a line whose median and peak of memory have limits (None: no limit)."""
    def met(lines):
        return lines[line]["median"] <= limit[0] and (limit[1] is None or lines[line]["peak_bytes"] <= limit[1] * 2**20)
    return Target(what, aim, [line], lambda lines: reached(lines[line]), met)


def megabytes(line):
    count = len(line.get("files", ()))
    more = f" in {count} file{'s' * (count > 1)}" if count else ""
    return f"{line['median'] / 1e6:,.1f} MB{more}, {100 * line['ratio']:.1f} % of the recording"


HOUR, WIDE = "history.hour", "history.wide"
HISTORY_TARGETS = [
    at_most("HDF5 of the hour", "150 MB, waits by producer included", f"{HOUR}.hdf5", (1.5e8, None), megabytes),
    Target("JSON lines of the hour, to a file, default options", "5 % of the recording", [f"{HOUR}.jsonl"],
           lambda r: megabytes(r[f"{HOUR}.jsonl"]), lambda r: r[f"{HOUR}.jsonl"]["ratio"] <= 0.05),
    Target("the same, of `wide`", "5 % of the recording", [f"{WIDE}.jsonl"],
           lambda r: megabytes(r[f"{WIDE}.jsonl"]), lambda r: r[f"{WIDE}.jsonl"]["ratio"] <= 0.05),
    Target("HDF5 thread, the hour: processor time more than without an output", "5 ms a bucket", [f"{HOUR}.hdf5"],
           lambda r: f"{number(r[f'{HOUR}.hdf5']['hdf5_ms'])} ms", lambda r: r[f"{HOUR}.hdf5"]["hdf5_ms"] <= 5),
    Target("resident memory of vampire, the hour", "96 MiB", [f"{HOUR}.hdf5"],
           lambda r: people(r[f"{HOUR}.hdf5"]["peak_bytes"]), lambda r: r[f"{HOUR}.hdf5"]["peak_bytes"] <= 96 * 2**20),
    *(at_most(f"`xarray.open_dataset` of the root, the hour, {engine}", "0.2 s", f"{HOUR}.open.{engine}", (0.2, None))
      for engine in ("netcdf4", "h5netcdf", "vampire")),
    Target("a bucket in which nothing happens, of 60 components", "1 kB", ["history.quiet"],
           lambda r: f"{r['history.quiet']['median'] / 1e3:.1f} kB", lambda r: r["history.quiet"]["median"] <= 1e3),
    at_most("99th percentile of transport time by source over the hour", "1 s, 300 MiB", f"{HOUR}.quantile", (1, 300)),
    at_most("report of the hour", "15 s, 500 MiB", f"{HOUR}.report", (15, 500)),
    at_most("report of `wide`", "30 s", f"{WIDE}.report", (30, None)),
    *(Target(f"values in `(other)` and labels given up, {name}", "0, 0", [f"history.{name}.hdf5"],
             lambda r, n=name: f"{r[f'history.{n}.hdf5']['other']:,}, {r[f'history.{n}.hdf5']['given_up']:,}",
             lambda r, n=name: not r[f"history.{n}.hdf5"]["other"] and not r[f"history.{n}.hdf5"]["given_up"])
      for name in ("hour", "wide")),
    Target("a day's quantiles by model, from the minutes", "2 s", ["day.quantile", "day.files"],
           lambda r: f"{number(r['day.quantile']['median'])} s, {people(r['day.quantile']['peak_bytes'])}, for "
                     f"{r['day.files']['hours']:g} h", lambda r: r["day.quantile"]["median"] <= 2 and r["day.files"]["hours"] >= 24),
]


def target_table(results, reasons, targets):
    """`reasons`: {what: why it was missed}, kept from the page that stands."""
    lines = {line["name"]: line for line in results["lines"]}
    yield "| what | reach | reached | |"
    yield "|---|---|---|---|"
    for target in targets:
        if any(name not in lines for name in target.lines):
            reached, verdict = "not measured", reasons.get(target.what, "")
        else:
            reached = target.reached(lines)
            verdict = "met" if target.met(lines) else f"**missed** {reasons.get(target.what, '')}"
        yield f"| {target.what} | {target.aim} | {reached} | {verdict.strip()} |"


def machine_text(results, preliminary):
    machine = results["machine"]
    text = (f"{machine['processor']}, {machine['cores']} cores, "
            f"{machine['memory_bytes'] / 2**30:.0f} GiB; Linux {machine['kernel']}; "
            f"{machine['compiler']}; {machine['libc']}; libfabric {machine['libfabric']}, protobuf-c "
            f"{machine['protobuf-c']}, HDF5 {machine['hdf5']}; commit {machine['commit']}, "
            f"{machine['time'][:10]}.")
    if preliminary:
        text += (f" **Preliminary: the machine was shared and busy (load {machine['load']:.0f} on "
                 f"{machine['cores']} cores).**")
    return text


WEIGHTS = (("manager", "us"), ("components", "us"), ("fields_a_second", ""), ("wait_p50", "us"), ("wait_p99", "us"))
SCENES = [f"weight.{scene}.{pace}" for scene in ("duo", "solo") for pace in ("full", "pace")]


def more_us(middle_and_ends):
    return "{:+.1f} us ({:+.1f} to {:+.1f})".format(*middle_and_ends)


def weight_table(results):
    """What the workflow notices."""
    lines = {line["name"]: line for line in results["lines"]}
    yield ("| workflow | pool manager, a field | components, a field | fields a second | wait, median | wait, p99 | "
           "wait, mean | a field takes | its threads wait for a core |")
    yield "|---|---|---|---|---|---|---|---|---|"
    for line in (lines[name] for name in SCENES if name in lines):
        alone = line["alone"]
        cells = [f"{number(alone[key])} {unit}".strip() for key, unit in WEIGHTS]
        cells += [f"{number(alone[key])} us" for key in ("wait_mean", "elapsed", "core")]
        yield f"| {line['workflow']}, {line['when']}: alone | {' | '.join(cells)} |"
        cells = [more_or_less(line["ratios"][key]) for key, _ in WEIGHTS]
        cells += [more_us(line["differences"][key]) for key in ("wait_mean", "elapsed", "core")]
        yield f"| with vampire | {' | '.join(cells)} |"


def instructions_table(results):
    """The same in instructions."""
    lines = {line["name"]: line for line in results["lines"]}
    yield "| next to | pool manager, a field | more | component | events, messages |"
    yield "|---|---|---|---|---|"
    for who in ("nobody", "member", "few", "vampire"):
        line = lines.get(f"weight.instructions.{who}")
        if line is None:
            continue
        more = "" if who == "nobody" else more_or_less(line["ratios"]["manager"])
        component = number(line["component"]) if who == "nobody" else more_or_less(line["ratios"]["component"])
        sent = f"{line['events']:.1f} in {line['messages']:.2f}" if who == "vampire" else ""
        yield f"| {line['who']} | {number(line['manager'][0])} | {more} | {component} | {sent} |"


def comparison_text(row):
    cells = [row["what"], number(row["events_per_second"]), number(row["ratio"]),
             people(row["peak_bytes"]) if "peak_bytes" in row else "", row["agrees"]]
    return f"| {' | '.join(cells)} |"


def when_text(machine):
    return f"{machine['commit']}, {machine['time'][:10]}, load {machine['load']:.1f} on {machine['cores']} cores at the end"


def comparison_table(results):
    if "comparison_machine" in results:
        yield f"Commit {when_text(results['comparison_machine'])}."
        yield ""
    yield "| what | events/s | processor time, vampire = 1 | peak memory | results |"
    yield "|---|---|---|---|---|"
    yield from map(comparison_text, results.get("comparison", []))


def release_text(row):
    cells = [row["what"]]
    for ratio, seconds in (("ratio", "cpu_seconds"), ("elapsed_ratio", "seconds")):
        each = " -> ".join(f"{one / row['events'] * 1e9:,.0f}" for one in row[seconds])
        cells += ["{:.2f} ({:.2f} to {:.2f})".format(*row[ratio]), f"{each} ns"]
    cells.append(" -> ".join(f"{size / 2**20:.0f}" for size in row["peak_bytes"]) + " MiB")
    return f"| {' | '.join(cells)} |"


def release_table(results):
    release = results.get("release")
    if release is None:
        return
    machine = release["machine"]
    yield f"Commit {release['commit']} and {when_text(machine)}; {release['rows'][0]['pairs']} pairs."
    yield ""
    yield "| what | processor time, earlier = 1 | of an event | elapsed, earlier = 1 | an event | peak memory |"
    yield "|---|---|---|---|---|---|"
    yield from map(release_text, release["rows"])


def reasons_of(page):
    """The line "* what: why" of the page's list of reasons."""
    part = re.search(r"## Why targets are missed\n(.*?)(?=\n## |\Z)", page, re.DOTALL)
    found = re.findall(r"^\* \*\*(.+?)\*\*: (.*)$", part.group(1), re.MULTILINE) if part else []
    return {what: why for names, why in found for what in names.split("; ")}


def fill(page, name, lines):
    begin, end = MARK.format(name), MARK.format(f"end of {name}")
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        sys.exit(f"table: the page has no marks for \"{name}\"")
    return before + begin + "\n" + "\n".join(lines) + "\n" + end + after


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--preliminary", action="store_true")
    options = parser.parse_args()
    results = json.loads(options.results.read_text())
    page = options.page.read_text()
    missed = {what: "(see below)" for what in reasons_of(page)}
    page = fill(page, "machine", [machine_text(results, options.preliminary)])
    page = fill(page, "targets", target_table(results, missed, TARGETS))
    page = fill(page, "history", target_table(results, dict.fromkeys(missed, "(see above)"), HISTORY_TARGETS))
    page = fill(page, "measurements", measured_table(results))
    page = fill(page, "weight", weight_table(results))
    page = fill(page, "instructions", instructions_table(results))
    page = fill(page, "comparison", comparison_table(results))
    page = fill(page, "release", release_table(results))
    options.page.write_text(page)
    return figures.main()  # of README and the other pages


if __name__ == "__main__":
    sys.exit(main())
