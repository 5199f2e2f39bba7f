# SPDX-License-Identifier: BSD-3-Clause
"""The compile probes: vampire's live source builds against a maestro.h that has much less than the
embedded one, and the probe says what is missing."""

import os
import pathlib
import re
import shlex
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CC = shlex.split(os.environ.get("CC", "cc"))
PROBE = ROOT / "vampire/live/maestro_probe.sh"
FULL = (ROOT / "maestro/maestro.h").read_text()

pytestmark = pytest.mark.plain


def without_payload(text):
    """As before spring 2024: the members in the event itself."""
    text, count = re.subn(r" *union mstro_pool_event_payload payload;\n", "", text)
    assert count == 2
    return text.replace("#else\n#endif\n", "#endif\n")


def without_extensions(text):
    text = "#define MSTRO_PUBLIC_ONLY\n" + text
    text, count = re.subn(r"    MSTRO_POOL_EVENT_RETRACT = .*\n", "", text)
    assert count == 1
    return text.replace("    MSTRO_NO_PM, ", "    MSTRO_SOMETHING, ")


def run_probe(folder, header):
    (folder / "maestro.h").write_text(header)
    output = folder / "maestro_probe.h"
    return output, subprocess.run(
        ["sh", PROBE, output, *CC, "-isystem", folder], capture_output=True, text=True
    )


def compile_source(folder):
    generated = ROOT / "build/gen"
    for name in sorted((ROOT / "vampire/live").glob("*.c")):
        subprocess.run(
            [*CC, "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wundef", "-Werror"]
            + ["-fsyntax-only", f"-I{ROOT}", f"-I{folder}", f"-I{generated}"]
            + ["-isystem", folder, name],
            check=True,
        )


def defines(path):
    return dict(re.findall(r"^#define (\w+) (\d+)$", path.read_text(), re.MULTILINE))


def test_the_embedded_header_has_everything(tmp_path):
    output, done = run_probe(tmp_path, FULL)
    assert done.returncode == 0, done.stderr
    missing = {name for name, value in defines(output).items() if value == "0"}
    # These events have no name; LEAVE's is known from JOIN.
    assert missing == {f"VAMP_MSTRO_HAS_NAME_{k}" for k in ("leave", "subscribe", "unsubscribe")}
    assert "UINT64_C(0)" not in output.read_text()
    compile_source(tmp_path)


def test_a_header_without_extensions(tmp_path):
    output, done = run_probe(tmp_path, without_extensions(FULL))
    assert done.returncode == 0, done.stderr
    found = defines(output)
    assert found["VAMP_MSTRO_HAS_PAYLOAD"] == "1"
    assert found["VAMP_MSTRO_HAS_SERIAL"] == "1"
    for name in ("TIME", "CDO_ID", "SIZE", "PEER", "TRANSPORT", "TIER", "CAUSE", "REASON",
                 "DURATION"):
        assert found[f"VAMP_MSTRO_HAS_{name}"] == "0"
    for name in ("KIND_LOST", "DROPS", "KIND_POOL_GONE", "LAST_ERROR", "STATUS_NO_PM", "NAME_LENGTH"):
        assert found[f"VAMP_MSTRO_HAS_{name}"] == "0"
    assert "#define VAMP_MSTRO_KIND_retract UINT64_C(0)" in output.read_text()
    compile_source(tmp_path)


def test_an_old_header_without_payload(tmp_path):
    output, done = run_probe(tmp_path, without_payload(without_extensions(FULL)))
    assert done.returncode == 0, done.stderr
    found = defines(output)
    assert found["VAMP_MSTRO_HAS_PAYLOAD"] == "0"
    assert found["VAMP_MSTRO_HAS_NAME_offer"] == "1"
    assert found["VAMP_MSTRO_HAS_APPID_leave"] == "1"
    compile_source(tmp_path)


def test_an_unusable_header_is_reported(tmp_path):
    output, done = run_probe(tmp_path, "typedef int mstro_status;\n")
    assert done.returncode == 1
    assert "cannot be used" in done.stderr and "error" in done.stderr
    assert not output.exists()
