# SPDX-License-Identifier: BSD-3-Clause
"""vampire.diagnose and the report's first section, on hours into which one cause is planted (oracle/planted.py), and on such
without one; models in the Python package. VAMPIRE_PLANTED_HOURS=20 asks for so many seeds of each (make planted)."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import harness
from harness import ROOT

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "oracle")]
pd = pytest.importorskip("pandas")
import planted
import numpy as np
import vampire
from vampire import plots
from vampire.diagnosis import Diagnosis, Finding
from vampire.models import RULES, model_of

pytestmark = pytest.mark.plain
SEEDS = int(os.environ.get("VAMPIRE_PLANTED_HOURS", "0"))
ALL = [(size, kind) for size in planted.SIZES for kind in planted.CAUSES
       if (size, kind) != (4, "starved")]  # which has no siblings there
FEW = [*((size, kind) for size, kind in ALL if size == 4), (60, "starved"), (60, "late_model"), (60, "slow_link"), (60, "vanished"), (500, "chain")]
HOURS = [(size, kind, seed) for size, kind in (ALL if SEEDS else FEW) for seed in range(SEEDS or 1)]
QUIET = [(size, seed) for size in planted.SIZES for seed in range(SEEDS)] if SEEDS else [(4, 0), (4, 1), (60, 0), (500, 0)]
REPORT = str(ROOT / "python" / "vampire-report")


def count_again(where, *options):
    """The recording in the directory, as HDF5."""
    done = subprocess.run([harness.program("vampire"), "-q", "--replay", "hour.rec", *options], cwd=where, capture_output=True,
                          text=True, check=False, timeout=60 * harness.PATIENCE)
    assert done.returncode == 0, done.stderr


def hour_of(where, size, seed, kind=None, options=()):
    """An Hour, of which the files are in the directory."""
    hour = planted.Hour(size, seed, kind)
    hour.write(where / "hour.rec")
    count_again(where, "-o", "outputs.0.type=hdf5", "-o", "outputs.0.queue=4096", "-o",
                f"statistics.bucket={planted.SIZES[size].bucket}", *options)
    return hour


def findings_of(where):
    """A list of dicts, times in ns."""
    rows = vampire.diagnose(str(where)).to_dict("records")
    return [{**row, "begin": row["begin"].value, "end": row["end"].value} for row in rows]


def spans_of(where, command):
    """The spans of the trace that the command of a finding makes, all in its window."""
    assert " RECORDING " in command
    words = shlex.split(command.replace("RECORDING", "hour.rec"))
    (where / "traces").mkdir()
    done = subprocess.run([harness.program("vampire"), *words[1:], "-q", "-o", "outputs.0.directory=traces"], cwd=where,
                          capture_output=True, text=True, check=False, timeout=60 * harness.PATIENCE)
    assert done.returncode == 0, done.stderr
    trace, = (where / "traces").glob("*.trace.json")
    spans = [one for one in json.loads(trace.read_text()) if one.get("ph") == "X"]
    since, length = (float(dict(word.split("=", 1) for word in words if "=" in word)[f"outputs.0.{what}"].rstrip("s")) * 1e6
                     for what in ("from", "length"))
    assert spans and min(one["ts"] for one in spans) >= since and max(one["ts"] + one["dur"] for one in spans) <= since + length
    return spans


def worth(text):
    number, unit = text.split()
    return float(number.replace(",", "")) * {"s": 1, "ms": 1e-3}[unit]


def nanoseconds(width):
    return pd.Timedelta(width).value


@pytest.mark.parametrize("size, kind, seed", HOURS)
def test_a_planted_cause_is_named(tmp_path, size, kind, seed):
    hour = hour_of(tmp_path, size, seed, kind)
    findings = findings_of(tmp_path)
    wrong, _ = planted.judge(hour.cause, nanoseconds(hour.size.bucket), findings)
    assert not wrong, (hour.cause, findings)
    assert not [one["sentence"] for one in findings if re.search(r":  | $|  ", one["sentence"])], "a name is empty"
    if kind == "failed" and len(findings) > 1:
        assert [one["follows"] for one in findings] == [0, 1] and findings[1]["sentence"].endswith("This may follow from 1.")
    if hour.cause.seconds:
        one = next(one for one in findings if one["component"] == hour.cause.component)
        assert eval(one["evidence"], {"vampire": vampire, "run": str(tmp_path)}) == pytest.approx(one["seconds"])
    if kind != "lost":
        one = next(one for one in findings if one["component"] == hour.cause.component)
        shown = spans_of(tmp_path, one["trace"])
        assert [span for span in shown if one["part"] in (span["cat"], span["name"]) or not hour.cause.seconds], one["trace"]


@pytest.mark.parametrize("size, seed", QUIET)
def test_nothing_is_found_where_nothing_is(tmp_path, size, seed):
    hour_of(tmp_path, size, seed)
    frame = vampire.diagnose(str(tmp_path))
    assert frame.empty, list(frame.sentence)
    assert len(frame.attrs["looked"]) == 6 and not frame.attrs["not_looked"]


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """An hour of 60 components of which PGEN -- 8 waited longer for a time; the Hour and its directory."""
    where = tmp_path_factory.mktemp("slow")
    return hour_of(where, 60, 0, "grown_wait"), where


def report(*arguments):
    done = subprocess.run([REPORT, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_report_begins_with_it(slow, tmp_path):
    hour, where = slow
    text = report(where, "--text")
    assert text.index("What made it late") < text.index("  observed ") < text.index("\nModels\n") < text.index("\nComponents\n")
    first = text.split("What made it late\n")[1].splitlines()
    assert f": {hour.cause.component} was blocked {hour.cause.seconds:,.0f}"[:-2] in first[0] and "shown by" in first[1]
    assert "Looked for and not found: " in text
    for table in ("Components", "Waits", "Who waited for whom"):  # by what waiting cost, the slowest first
        assert hour.cause.component in text.split(f"\n{table}\n")[1].splitlines()[1], table
    took = [worth(row.split("  ")[-1]) for row in re.findall(r"^(.*? s) +178 ", text.split("\nTransports\n")[1], re.M)]
    assert len(took) >= 20 and took[:20] == sorted(took[:20], reverse=True)
    assert "What made it late" not in report(where, "--text", "--metrics", "pool_operations")
    assert "Nothing was found that made it late" in report(where, "--text", "--component", "IFS -- 1")
    assert hour.cause.component not in report(where, "--text", "--component", "IFS -- 1").split("observed")[0]
    report(where, "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.index("What made it late") < page.index("<h2>Pictures") and "<details>" in page
    report(where, "--csv", tmp_path / "csv")
    assert pd.read_csv(tmp_path / "csv" / "findings.csv").component[0] == hour.cause.component
    assert set(pd.read_csv(tmp_path / "csv" / "models.csv").model) == {"IFS", "NEMO", "PGEN"}


def test_the_command_for_a_trace_works(slow, tmp_path):
    hour, where = slow
    whole = vampire.diagnose(str(where)).trace[0]
    spans_of(where, whole)
    trace, = (where / "traces").glob("*.trace.json")
    names = {one["args"]["name"] for one in json.loads(trace.read_text()) if one.get("name") == "process_name"}
    assert hour.cause.component in names and len(names) <= 6
    # Times count from the first event, whatever part of the run is looked at.
    late = pd.Timestamp(planted.BEGIN) + pd.Timedelta("2min")
    assert vampire.diagnose(str(where), between=(late.isoformat(), None)).trace[0] == whole
    # A recording of the run beside the files is named.
    recording = tmp_path / "a b"
    recording.mkdir()
    file, = where.glob("*.h5")
    (recording / file.name).symlink_to(file)
    (recording / file.name.replace("-hdf5-0001.h5", "-recording-0001.rec")).symlink_to(where / "hour.rec")
    words = shlex.split(vampire.diagnose(str(recording)).trace[0])
    done = subprocess.run([harness.program("vampire"), *words[1:], "-q"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and [*tmp_path.glob("*.trace.json")], (words, done.stderr)


@pytest.mark.parametrize("level", ["model", "workflow"])
def test_files_without_components_say_what_they_cannot(slow, tmp_path, level):
    (tmp_path / "hour.rec").symlink_to(slow[1] / "hour.rec")
    count_again(tmp_path, "-o", "outputs.0.type=hdf5", "-o", f"statistics.level={level}", "-o", "statistics.bucket=10s")
    frame = vampire.diagnose(str(tmp_path))
    text = report(tmp_path, "--text")
    if level == "model":
        assert frame.component[0] == "PGEN" and frame.part[0] == "for_start"
        assert "single ranks: the files have models only" in frame.attrs["not_looked"]
        assert "These files are by model: they have no table by component." in text
        assert has_row(text, "Who waited for whom", "PGEN") and has_row(text, "Models, what they did", "PGEN")
        blame = vampire.blame_table(str(tmp_path))
        assert blame.equals(vampire.blame_table(str(slow[1]), models=True))
    else:
        assert "who was blocked on whom: blocked_ns has no label component in these files" in frame.attrs["not_looked"]
        assert "neither by component nor by model" in text
        with pytest.raises(vampire.Error, match="who waited for whom is not known"):
            vampire.blame_table(str(tmp_path))


def test_a_time_within_that_of_the_cause(slow):
    """What is usual is what is usual in all that the files hold; seconds are those of the time that is looked at."""
    hour, where = slow
    begin, end = (pd.Timestamp(planted.BEGIN) + pd.Timedelta(f"{seconds}s") for seconds in
                  (hour.cause.begin // 10 * 10 + 60, hour.cause.end // 10 * 10 - 60))
    whole, = vampire.diagnose(str(where)).to_dict("records")
    one, = vampire.diagnose(str(where), between=(begin.isoformat(), end.isoformat())).to_dict("records")
    assert (one["component"], one["part"], one["begin"], one["end"]) == (hour.cause.component, hour.cause.part, begin, end)
    assert 0 < one["seconds"] < whole["seconds"] and one["sentence"].rsplit(": ", 1)[1] == whole["sentence"].rsplit(": ", 1)[1]
    assert eval(one["evidence"], {"vampire": vampire, "run": str(where)}) == pytest.approx(one["seconds"])  # pylint: disable=eval-used
    text = report(where, "--text", "--from", begin.isoformat(), "--to", end.isoformat())
    assert one["sentence"] in " ".join(text.split())
    assert not len(vampire.diagnose(str(where), between=(None, "2027-01-15T08:05:00")))


def test_every_time_of_a_run_can_be_looked_at(slow):
    """Also times in which a cause has no blocked time."""
    begin = pd.Timestamp(planted.BEGIN)
    for second in range(0, planted.HOUR, 150):
        edges = [(begin + pd.Timedelta(seconds=at)).isoformat() for at in (second, second + 10)]
        assert set(vampire.diagnose(str(slow[1]), between=edges).kind) <= {"slow", "rate"}


@pytest.mark.parametrize("case, component, size", [("cause-38", "transports", "64MiB"), ("cause-50", "IFS -- 19", "")])
def test_slow_transports_of_large_cdos_only(tmp_path, case, component, size):
    """Of the second generator: all transports of large CDOs are slow; a single component receives slowly."""
    subprocess.run([sys.executable, ROOT / "tests" / "oracle" / "workflows.py", tmp_path, "--only", case], check=True)
    truth = json.loads((tmp_path / f"{case}.json").read_text())
    (tmp_path / f"{case}.rec").rename(tmp_path / "hour.rec")
    count_again(tmp_path, "-o", "outputs.0.type=hdf5", "-o", "outputs.0.queue=4096", "-o", f"statistics.bucket={truth['bucket']}")
    first, *_ = findings_of(tmp_path)
    assert (first["component"], first["part"]) == (component, "moving") and component in truth["component"]
    assert first["sentence"].endswith(f"only of CDOs of at least {size}." if size else " steps.")


def test_findings_are_ordered_by_cost_with_their_effects():
    """An effect of an effect follows as well, and nothing is dropped."""
    def finding(kind, component, more, count, second=100):
        at = np.datetime64(second, "s").astype("datetime64[ns]")
        return Finding(kind, component, "", "", at, at + np.timedelta64(10, "s"), component, "", more, more, count)

    diagnosis = object.__new__(Diagnosis)
    diagnosis.findings = [finding("late", "cheap", 40.0, 50), finding("late", "dear", 2000.0, 5), finding("anomaly", "PGEN -- 1", np.nan, 40),
                          finding("rate", "PGEN -- 1", np.nan, 8), finding("vanished", "NEMO -- 1", np.nan, 1, 90)]
    diagnosis._order()  # pylint: disable=protected-access
    assert [(one.component, one.kind, one.follows) for one in diagnosis.findings] == [
        ("NEMO -- 1", "vanished", 0), ("PGEN -- 1", "rate", 1), ("PGEN -- 1", "anomaly", 1), ("dear", "late", 0), ("cheap", "late", 0)]


@pytest.mark.parametrize("option", ['by=["component","producer"]', 'by=["component"]', 'metrics=["demand_wait_ns"]',
                                    'by=["model","producer_model"]', "without=all"])
def test_files_without_blocked_time_say_what_they_cannot(slow, tmp_path, option):
    """Waits alone do not tell who was late: nothing is named."""
    (tmp_path / "hour.rec").symlink_to(slow[1] / "hour.rec")
    count_again(tmp_path, "-o", "outputs.0.type=hdf5", "-o", f"outputs.0.{option}", "-o", "statistics.bucket=10s")
    frame = vampire.diagnose(str(tmp_path))
    assert not len(frame) and any(text.startswith("who was blocked on whom: ") for text in frame.attrs["not_looked"])


@pytest.mark.parametrize("option, tables, cannot", [
    ('by=["component"]', ["Components", "Transports", "Waits"], "demand_wait_part_ns has no label part"),
    ('by=["model","operation"]', ["Models, what they did", "Operations", "Transports", "Waits"], "transports by source and sink"),
    ('without=["producer"]', ["Components", "Operations", "Transports", "Waits"], "who waited for whom (demand_wait_part_ns has no label producer)"),
    ('without=all', ["Transports", "Waits"], "kinds of anomalies (anomalies has no label anomaly)")])
def test_files_with_few_labels_have_the_tables_that_these_allow(slow, tmp_path, option, tables, cannot):
    (tmp_path / "hour.rec").symlink_to(slow[1] / "hour.rec")
    count_again(tmp_path, "-o", "outputs.0.type=hdf5", "-o", f"outputs.0.{option}", "-o", "statistics.bucket=10s")
    text = report(tmp_path, "--text")
    known = ["Models", "Components", "Models, what they did", "Operations", "Transports", "Waits", "Who waited for whom"]
    assert [line for line in text.splitlines() if line in known] == tables
    told, = (line for line in text.splitlines() if "annot tell " in line)
    assert cannot in told
    if "all" in option:
        assert re.search(r"\n  for demanded data   all +10,680 ", text)
    assert ("who was blocked on whom" in text.split("Could not be looked for: ")[1].splitlines()[0]) == ("producer" not in option or "without" in option)
    report(tmp_path, "-o", tmp_path / "r.html")


@pytest.mark.parametrize("book", ["first-look", "questions"])
@pytest.mark.parametrize("layout", ["statistics.level=model", "statistics.level=workflow", 'outputs.0.by=["component","operation"]'])
def test_the_notebooks_of_files_with_few_labels(slow, tmp_path, layout, book):
    pytest.importorskip("nbconvert")
    pytest.importorskip("ipykernel")
    (tmp_path / "hour.rec").symlink_to(slow[1] / "hour.rec")
    count_again(tmp_path, "-o", "outputs.0.type=hdf5", "-o", layout, "-o", "statistics.bucket=10s")
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", tmp_path,
                           ROOT / "notebooks" / f"{book}.ipynb"],
                          env=dict(os.environ, VAMPIRE_RUN=str(tmp_path), PYTHONPATH=str(ROOT / "python")),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def has_row(text, title, begin):
    """Whether a table has a row that begins so."""
    return any(line.strip().startswith(begin) for line in text.split(f"\n{title}\n")[1].split("\n\n")[0].splitlines())


# ---------------------------------------------------------------- two runs


def cells(text, title, name):
    """The cells of a row of a table."""
    row = next(line for line in text.split(f"\n{title}\n")[1].split("\n\n")[0].splitlines() if line.strip().startswith(name))
    return re.split("  +", row.strip())


def test_a_comparison_shows_tails_ranks_and_anomalies(slow, tmp_path):
    hour_of(tmp_path, 60, 0, "failed")
    text = report("--compare", slow[1], tmp_path, "--text")
    first = text.split("\nWho waited, those that changed most\n")[1].splitlines()
    ranks = [line.strip() for line in first if "  component  " in line]
    assert ranks[0].startswith("PGEN -- 8 ")  # the rank that waited longer in A alone
    assert cells(text, "Anomalies", "transport failed")[1:] == ["0", "66", "new"]
    back = report("--compare", tmp_path, slow[1], "--text")
    assert "% above A's 99 in 100, of A" in cells(back, "How long", "demand_wait_ns")[-1]
    assert "above A's" not in cells(text, "How long", "transport_ns")[-1]  # the same transports
    report("--compare", slow[1], tmp_path, "--csv", tmp_path / "csv")
    frame = pd.read_csv(tmp_path / "csv" / "waits.csv").set_index("name")
    assert frame.a_ns_each["PGEN -- 8"] > 3 * frame.b_ns_each["PGEN -- 8"] and frame.label["PGEN"] == "model"


# ---------------------------------------------------------------- models


def test_models_of_names():
    """As tests/unit/core_models_test.c has them."""
    usual, several = RULES, ("ocean=NEMO*", "ocean=OPA_[0-9]", "MIR_(*)_*", "(*)_*")
    for rules, name, wanted in [(usual, "IFS -- 0", "IFS"), (usual, "IFS-Nemo -- 499", "IFS-Nemo"), (usual, "a -- b -- c", "a"),
                                (usual[:1], " -- 1", " -- 1"), (usual, "Products 7", "Products"),
                                (usual, "IFS 47r3 -- 12", "IFS 47r3"), (usual, "Librarian_1", "Librarian_1"), (usual, "", ""),
                                (several, "NEMO -- 3", "ocean"), (several, "OPA_7", "ocean"), (several, "MIR_fast_2", "fast"),
                                (several, "Maestro_OPA_1", "Maestro"), (several, "IFS -- 0", "IFS -- 0"), ((), "IFS -- 0", "IFS -- 0"),
                                (usual, "aaaaa -- " + "a" * 246, "aaaaa"), (usual, "aaaaa -- " + "a" * 247, "aaaaa -- " + "a" * 247)]:
        assert model_of(name, rules) == wanted
    assert model_of("Products 7") == "Products" and model_of("IFS -- 0") == "IFS" and model_of("(other)") == "(other)"
    for wrong in ("", "IFS", "=IFS*", "IFS=", "IFS -- *", "IFS(*)"):
        with pytest.raises(vampire.Error, match="the model"):
            model_of("IFS", (wrong,))


def test_tables_by_model(slow):
    """They are the sums of the components."""
    run = vampire.History(str(slow[1]))
    own = vampire.table(run, "demand_wait_ns", ["component"], None)
    own["model"] = [model_of(name) for name in own.component]
    by_model = vampire.table(run, "demand_wait_ns", ["model"], None).set_index("model")
    assert by_model["sum"].to_dict() == own.groupby("model")["sum"].sum().to_dict()
    assert set(by_model.index) >= {"NEMO", "PGEN"}
    pairs = vampire.merge(run, "transports", ["source_model", "sink"], where={"sink": "PGEN -- 8"})
    assert set(pairs.index.get_level_values(0)) == {"IFS", "NEMO"}
    assert set(vampire.quantile(run, "demand_wait_ns", 0.99, ["model"], where={"model": "PGEN"}).index) == {"PGEN"}
    colours = [set(plots.stack_data(run, metric, "model")[2].columns) for metric in ("pool_operations", "consumed_bytes")]
    assert colours == [{"IFS", "NEMO", "PGEN"}] * 2  # though IFS received nothing
    one = vampire.History(str(slow[1]), models=["all=*"])
    assert vampire.merge(one, "pool_operations", ["model"]).index.tolist() == ["all"]


def test_where_that_matches_nothing_says_so(slow):
    with pytest.raises(vampire.Error, match="where component is 'PGEN': no series has that; there are: .*IFS -- 0"):
        vampire.table(str(slow[1]), "demand_wait_ns", where={"component": "PGEN"})
    with pytest.raises(vampire.Error, match="where model is 'ifs'.* IFS, NEMO, PGEN"):
        vampire.merge(str(slow[1]), "pool_operations", where={"model": "ifs"})
    assert vampire.table(str(slow[1]), "demand_wait_ns", where={"component": "IFS -- 0"}).empty  # it is there, and never waited
