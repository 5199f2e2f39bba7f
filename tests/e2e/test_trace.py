# SPDX-License-Identifier: BSD-3-Clause
"""Output `trace`: every span, arrow and mark against what an independent program makes of the recording."""

import collections
import json
import signal
import subprocess

import jsonschema
import pytest

import adversarial
import harness
import stream
import streams
import trace_file

SCHEMA = json.loads((harness.ROOT / "docs" / "vampire-trace.schema.json").read_text())
SEEDS = 24 if harness.MODE == "release" else 4


def only(directory, ending="trace.json"):
    files = sorted(directory.glob(f"*.{ending}"))
    assert len(files) == 1, files
    return files[0]


def replay(space, recording, name="again", code=0, **options):
    where = space.path / name
    where.mkdir()
    configuration = where / "config.json"
    configuration.write_text(json.dumps({"outputs": [{"type": "trace", "directory": str(where), **options}]}))
    done = subprocess.run([harness.program("vampire"), "-c", configuration, "--replay", recording], cwd=where,
                          env=space.environment, capture_output=True, text=True, timeout=60 * harness.PATIENCE)
    assert done.returncode == code, done.stderr
    return only(where), done.stderr


def is_near(span, begin):
    """Whether 64 bits hold its times."""
    start, end = span[2:4]
    return all(-(2**63) <= time < 2**63 for time in (start - begin, end - begin, end - start))


def check(trace, expected):
    """The same spans, marks and arrows, one by one; and the file says how many."""
    trace.check_tracks()
    begin = trace.notes.get("vampire_begin", {}).get("time_ns")
    wanted = collections.Counter({span: count for span, count in expected.spans.items() if is_near(span, begin)})
    spans = trace.spans()
    assert spans == wanted, [*((spans - wanted).items()), "but", *((wanted - spans).items())][:20]
    marks = trace.marks()
    wanted_marks = collections.Counter({mark: count for mark, count in expected.marks.items()
                                        if is_near((*mark[:2], mark[2], mark[2]), begin)})
    assert {mark: count for mark, count in marks.items() if mark[1] != "events"} == wanted_marks
    arrows = trace.check_arrows()
    assert arrows == sum(count for span, count in wanted.items() if span[0] == "send")
    end = trace.notes["vampire_end"]
    assert end["written"] == sum(spans.values()) + sum(marks.values()) + 2 * arrows
    far = expected.spans - wanted
    ends = sum(count for span, count in far.items() if span[0] in ("send", "receive"))
    assert end["left_out"] == sum(far.values()) + ends + sum((expected.marks - wanted_marks).values())
    assert (end["without_track"], end["evicted"]) == (0, 0)


def check_schema(trace):
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for record in json.loads(json.dumps(trace.records, default=float)):
        error = jsonschema.exceptions.best_match(validator.iter_errors(record))
        assert error is None, (record, error and error.message)


def test_demo_workflow(space):
    """Live; and its recording gives the same trace."""
    space.pool_manager()
    vampire = space.vampire({
        "source": {"leave_grace": "2s"},
        "outputs": [{"type": "trace"}, {"type": "recording"}, {"type": "hdf5"}],
    })
    harness.Workflow(space, model_options=["--steps", 4, "--levels", 2, "--params", 2, "--rate", 60]).finish()
    vampire.expect_exit(0)
    recording = only(space.path, "rec")
    trace, expected = trace_file.Trace(only(space.path)), trace_file.expected([recording])
    check(trace, expected)
    check_schema(trace)
    whats = {span[0] for span in trace.spans()}
    assert whats == {"life", "in pool", "demand", "part", "withdraw", "leave", "send", "receive"}
    assert any(record["args"].get("cdo") for record in trace.of("X") if record["cat"] == "demand")
    again, _ = replay(space, recording)
    assert trace_file.Trace(again).spans() == trace.spans()


@pytest.mark.parametrize("part", range(2))
def test_anything_in_any_order(space, part):
    for seed in range(part + 1, SEEDS + 1, 2):
        stream.write(space.path / "any.rec", adversarial.Stream(seed).made())
        path, _ = replay(space, space.path / "any.rec", f"{seed}")
        check(trace_file.Trace(path), trace_file.expected([space.path / "any.rec"]))


@pytest.mark.parametrize("name", streams.corner_cases())
def test_corner_case(space, name):
    items, _ = streams.corner_cases()[name]
    stream.write(space.path / "hand.rec", items)
    path, _ = replay(space, space.path / "hand.rec")
    trace = trace_file.Trace(path)
    check(trace, trace_file.expected([space.path / "hand.rec"]))
    check_schema(trace)


@pytest.fixture
def many(space):
    """A recording of a synthetic stream."""
    configuration = space.path / "many.json"
    configuration.write_text(json.dumps({
        "source": {"type": "synthetic", "producers": 8, "consumers": 4, "steps": 40, "step": "100ms", "burst": 20},
        "outputs": [{"type": "recording", "directory": str(space.path)}],
    }))
    subprocess.run([harness.program("vampire"), "-q", "-c", configuration], cwd=space.path, check=True,
                   env=space.environment, timeout=60 * harness.PATIENCE)
    return only(space.path, "rec")


def test_at_most_max_events(space, many):
    """What comes first is in it; the rest is counted in the file, in a message and in the summary."""
    everything = trace_file.Trace(replay(space, many, "whole")[0])
    path, said = replay(space, many, "bounded", max_events=1000)
    trace = trace_file.Trace(path)
    end = trace.notes["vampire_end"]
    written = sum(trace.spans().values()) + sum(trace.marks().values()) + 2 * trace.check_arrows()
    assert end["written"] == written and 990 < written <= 1000
    assert end["written"] + end["left_out"] == everything.notes["vampire_end"]["written"]
    assert trace.spans() <= everything.spans()
    assert "output trace: the trace has its 1000 entries" in said
    assert f"{end['left_out']} spans LEFT OUT at a limit" in said


def test_range_and_components(space, many):
    everything = trace_file.Trace(replay(space, many, "whole")[0])
    begin = everything.notes["vampire_begin"]["time_ns"]
    last = max(span[3] for span in everything.spans())
    first_ms, last_ms = (last - begin) // 3 // 10**6, (last - begin) // 2 // 10**6
    path, _ = replay(space, many, "range", **{"from": f"{first_ms}ms", "length": f"{last_ms - first_ms}ms"})
    first, last = begin + first_ms * 10**6, begin + last_ms * 10**6
    inside = collections.Counter()
    for (what, component, start, end, word), count in everything.spans().items():
        cut = max(start, first), min(end, last)
        if cut[0] < cut[1] or start == end == cut[0] == cut[1]:  # spans that reach over an end are cut there
            inside[what, component, *cut, word] += count
    assert 0 < sum(inside.values()) < sum(everything.spans().values()) / 2
    found = trace_file.Trace(path)
    found.check_tracks()
    found.check_arrows()
    assert found.spans() == inside
    order = {record["pid"]: record["args"]["sort_index"] for record in found.records if record["name"] == "process_sort_index"}
    names = {record["pid"]: record["args"]["name"] for record in found.records if record["name"] == "process_name"}
    assert order.keys() == names.keys()
    waited = collections.Counter()
    for (what, component, start, end, _), count in inside.items():
        waited[component] += count * (end - start) * (what in ("demand", "pending", "withdraw", "leave"))
    by_order = [waited[names[pid]] for pid in sorted(order, key=order.get) if names[pid] != "events"]
    assert by_order == sorted(by_order, reverse=True) and by_order[0] > 0
    whole = [record for record in found.records if "whole" in record.get("args", {})]
    assert whole and all(record["args"]["whole"] > record["dur"] for record in whole)
    chosen = next(span[1] for span in everything.spans() if span[0] == "demand")
    path, _ = replay(space, many, "components", components=[chosen])
    found = trace_file.Trace(path)
    found.check_arrows()
    assert found.spans() == {span: count for span, count in everything.spans().items()
                             if chosen == span[1] or span[0] in ("send", "receive") and chosen == span[4]}


def test_killed(space, many):
    """The file can be read as it is, and holds only what is true; --recover removes half a line."""
    where = space.path / "killed"
    where.mkdir()
    process = space.vampire({
        "source": {"type": "replay", "file": str(many), "speed": 1},
        "outputs": [{"type": "trace", "directory": str(where)}],
    }, name="killed", ready=False)
    harness.wait_until(lambda: list(where.glob("*.trace.json")) and only(where).stat().st_size > 20000,
                       "some of the trace is written")
    process.signal(signal.SIGKILL)
    process.wait()
    path = only(where)
    trace = trace_file.Trace(path)
    assert "vampire_end" not in trace.notes and trace.spans()
    trace.check_tracks()
    assert trace.spans() <= trace_file.expected([many]).spans
    with open(path, "ab") as file:
        file.write(b'{"name":"demand","ph":"X",')
    half = len(path.read_bytes().splitlines()[-1])  # what the kill cut off, if anything, and these 26 bytes
    done = subprocess.run([harness.program("vampire"), "--recover", path], capture_output=True, text=True)
    assert done.returncode == 0 and f"{half} bytes of a line that was not completed" in done.stdout + done.stderr
    assert trace_file.Trace(path).spans() == trace.spans()


def test_no_room(space, many, small_disk):
    """A full disk: what is in the file is whole, and the loss is reported."""
    place = small_disk(256)
    configuration = space.path / "small.json"
    configuration.write_text(json.dumps({"outputs": [{"type": "trace", "directory": str(place)}]}))
    done = subprocess.run([harness.program("vampire"), "-c", configuration, "--replay", many], cwd=space.path,
                          env=space.environment, capture_output=True, text=True, timeout=120 * harness.PATIENCE)
    assert done.returncode == 1 and "No space left on device" in done.stderr and "LOST" in done.stderr
    assert all(trace_file.records(path) for path in place.glob("*.trace.json"))
