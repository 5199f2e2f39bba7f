# SPDX-License-Identifier: BSD-3-Clause
"""Replays the recordings that causes.py wrote, and diagnoses the results: NAME/*.h5 and NAME.findings.json. A case is replayed only
once, and diagnosed each time.

    run_causes.py DIRECTORY [--jobs N] [--only PART]
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMNS = "kind component waiting part begin end seconds more sentence follows".split()


def replay(recording, truth):
    """Writes NAME/NAME.h5; anything but a clean end is an error."""
    directory = recording.with_suffix("")
    directory.mkdir(exist_ok=True)
    target = directory / f"{recording.stem}.h5"
    if target.exists():
        return target
    config = {"statistics": {"bucket": truth["bucket"], "level": "component", "attributes": truth.get("attributes", [])},
              "source": {"type": "replay", "file": str(recording)}, "samples": {"files": [str(recording.with_suffix(".lines"))]},
              "outputs": [{"type": "hdf5", "directory": str(directory)}]}
    (directory / "config.json").write_text(json.dumps(config))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MSTRO_", "VAMPIRE_"))}
    done = subprocess.run([ROOT / "build/release/bin/vampire", "-c", directory / "config.json"], env=environment, text=True,
                          capture_output=True, check=False)
    (directory / "stderr").write_text(done.stderr)
    files = sorted(directory.glob("*.h5"))
    if done.returncode or len(files) != 1:
        raise RuntimeError(f"replay of {recording} ended with exit code {done.returncode} and {len(files)} files:\n{done.stderr}")
    files[0].rename(target)
    return target


def plain(value):
    """What JSON can express: times in ns, NaN as null."""
    if hasattr(value, "value") and hasattr(value, "tz"):
        return value.value
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def diagnose(recording):
    """Writes the findings of one case; returns its name and their number."""
    truth = json.loads(recording.with_suffix(".json").read_text())
    file = replay(recording, truth)
    sys.path.insert(0, str(ROOT / "python"))
    import vampire  # pylint: disable=import-outside-toplevel
    found = vampire.diagnose(str(file))
    rows = [{name: plain(row[name]) for name in COLUMNS if name in row} for row in found.to_dict("records")]
    recording.with_suffix(".findings.json").write_text(json.dumps(rows, indent=1))
    return recording.stem, len(rows)


def main():
    """All cases of a directory."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    recordings = [path for path in sorted(options.directory.glob("*.rec")) if options.only in path.name]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as workers:
        for name, count in workers.map(diagnose, recordings):
            print(f"{name}: {count}", flush=True)


if __name__ == "__main__":
    main()
