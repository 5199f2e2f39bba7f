# SPDX-License-Identifier: BSD-3-Clause
"""JSON lines for vampire-top: of a run of the generator, and made up line by line."""

import json
import os
import re

import harness

SECONDS = 60 * harness.PATIENCE
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8")


def synthetic(space):
    """The JSON lines of a run from the generator, and how many operations it had."""
    config = {
        "source": {"type": "synthetic", "seed": 7, "steps": 20, "lost": 20},
        "outputs": [{"type": "jsonl", "path": "vampire.jsonl"}],
    }
    process = space.vampire(config, "--workflow", "made up", ready=False)
    process.expect_exit(0)
    operations = re.search(r"^  all +([\d,]+)\b", process.stderr, re.MULTILINE).group(1)
    lost = re.search(r"LOST +([\d,]+) events", process.stderr).group(1)
    return space.path / "vampire.jsonl", operations, lost


class Lines:
    """The lines of a made-up run."""

    def __init__(self, run="run-1", workflow="weather"):
        self.run, self.workflow, self.number = run, workflow, 0

    def line(self, kind, **fields):
        return json.dumps({"type": kind, **fields}, separators=(",", ":")) + "\n"

    def header(self, segment=1):
        return '{"v":2,' + self.line("header", run=self.run, bucket_ns=10**9, workflow=self.workflow, segment=segment, level="component", host="h")[1:]

    def component(self, index, name, reason=None):
        left = {"left": "2026-11-21T04:00:00Z", "reason": reason} if reason else {"left": None}
        return self.line("component", index=index, app_id=index, name=name, **left)

    def bucket(self, operations, lost=0):
        """A bucket of one second with these operations by component."""
        text = self.line("values", values={"pool_operations": [
            {"component": name, "operation": "offer", "delta": count} for name, count in operations.items()]})
        self.number += 1
        return text + self.line(
            "bucket", bucket=self.number, values=1,
            time=f"2026-11-21T04:00:{self.number % 60:02d}.000000000Z",
            accounting={"lost": {"ring": lost}, "rejected": 0, "outputs": []})

    def end(self, reason="finished", lost=0):
        return self.line("end", reason=reason, accounting={"lost": {"ring": lost}})


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)
