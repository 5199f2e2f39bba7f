# SPDX-License-Identifier: BSD-3-Clause
"""One story: collectd, as Debian has it, sees what slows a model, and the report shows both on one axis."""

import os
import shutil
import signal
import subprocess

import pytest

import exporters
from harness import ROOT, wait_until
from test_samples import SECOND, START, config, values

pd = pytest.importorskip("pandas")
import vampire

COLLECTD = "/usr/sbin/collectd"
REPORT = str(ROOT / "python" / "vampire-report")
HOGS = 8
URGENT = -5  # their niceness, where that is allowed


def test_a_lag_is_found_and_said_with_its_count(space):
    level = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4]
    lines = [f"disk,host=n1,type=ops busy={value} {START + (n + 1) * SECOND + 1}" for n, value in enumerate(level)]
    lines += [f"disk,host=n1,type=octets busy={10**6 * value} {START + (n + 4) * SECOND + 1}" for n, value in enumerate(level)]
    lines += [f"disk,host=n2,type=ops busy=7 {START + (n + 1) * SECOND + 1}" for n in range(20)]
    lines.sort(key=lambda line: int(line.split()[-1]))
    (space.path / "lines").write_text("\n".join(lines) + "\n")
    asked = config(space, source={"type": "synthetic", "steps": 26}, files=[str(space.path / "lines")], metrics=[
        "ops gauge disk.busy only=type:ops host=host", "octets gauge disk.busy only=type:octets unit=byte host=host"])
    space.vampire(asked, ready=False).expect_exit(0)
    frame = vampire.aligned(space.hdf5(), ["ops", "octets:last", "demand_wait_ns:p99", "transport_bytes"], by=["sink"])
    assert list(frame) == ["ops host=n1", "ops host=n2", "octets:last host=n1", "demand_wait_ns:p99",
                           "transport_bytes sink=Products 0", "transport_bytes sink=Products 1"]
    assert frame["ops host=n1"][:1].isna().all() and frame["ops host=n1"][1:21].tolist() == level
    found = vampire.moved_with(frame, "octets:last host=n1", lags=5)
    best = found.iloc[0]
    assert (found.index[0], best.lag_s, best["count"]) == ("ops host=n1", 3.0, 23) and best.rho == pytest.approx(1)
    assert "ops host=n2" not in found.index  # it never changed
    with pytest.raises(vampire.Error, match="its part is rate"):
        vampire.aligned(space.hdf5(), "transport_bytes:p99")


def collectd(space, port):
    """The configuration of inlets/, in a folder of the test, which also looks at processes called hog."""
    text = (ROOT / "inlets" / "collectd.conf").read_text().replace('"8094"', f'"{port}"').replace("Interval 1", "Interval 0.5")
    path = space.path / "collectd.conf"
    path.write_text(f'BaseDir "{space.path}"\nPIDFile "{space.path}/collectd.pid"\n{text}'
                    'LoadPlugin processes\n<Plugin processes>\n  Process "hog"\n</Plugin>\n')
    return space.start([COLLECTD, "-f", "-C", path], "collectd")


def pinned(process, processor):
    for thread in os.listdir(f"/proc/{process.child.pid}/task"):
        os.sched_setaffinity(int(thread), {processor})
    return process


def urgent(process):
    try:
        os.setpriority(os.PRIO_PROCESS, process.child.pid, URGENT)
    except PermissionError:
        pass  # there are enough of them
    return process


@pytest.mark.skipif(not os.path.exists(COLLECTD), reason="collectd is not installed")
def test_what_slows_a_model_is_seen_on_the_same_axis(space):
    port, processor = exporters.free_port(), min(os.sched_getaffinity(0))
    space.pool_manager()
    asked = config(space, source={"leave_grace": "300ms"}, listen=[f"udp:{port}"])
    asked["samples"]["metrics"] = [
        "hog_cpu_ns counter processes.user unit=ns scale=1000 only=instance:hog host=host",
        "memory_used_bytes gauge memory.value unit=byte only=type_instance:used host=host"]
    asked["statistics"] = {"bucket": "500ms", "lateness": "2s"}
    watcher = space.vampire(asked)
    collectd(space, port)
    space.product("--select", "(has .maestro.ecmwf.step)", name="Products", producers=["IFS -- 0"])
    model = space.model("--steps", 100000, "--size-min", 1 << 20, "--size-max", 1 << 20, name="IFS -- 0")
    shutil.copy("/bin/bash", space.path / "hog")
    wait_until(lambda: len([key for key, line in values(space, "pool_operations").items() if line["delta"]]) > 4, "what is usual")
    pinned(model, processor)
    hogs = [urgent(pinned(space.start([space.path / "hog", "-c", "while :; do :; done"], f"hog-{n}"), processor))
            for n in range(HOGS)]
    model.signal(signal.SIGSTOP)  # they take its processor as a whole, also where this test is not alone on the machine
    wait_until(lambda: len([key for key, line in values(space, "hog_cpu_ns").items() if line["delta"]]) > 8, "collectd saw them")
    model.signal(signal.SIGCONT)
    for hog in hogs:
        hog.signal(signal.SIGKILL)
    watcher.signal(signal.SIGTERM)
    watcher.wait()
    assert "not declared" in watcher.stderr

    run = space.hdf5()
    frame = vampire.aligned(run, ["pool_operations", "hog_cpu_ns", "memory_used_bytes"], by=["component"], freq="1s")
    (hog,) = [name for name in frame if name.startswith("hog_cpu_ns")]
    busy = frame[hog].fillna(0) > 0
    rate = frame["pool_operations component=IFS -- 0"]
    assert busy.sum() >= 2 and not busy[:2].any()
    assert rate[busy].median() < 0.6 * rate[~busy].max(), frame
    (used,) = [name for name in frame if name.startswith("memory_used_bytes")]
    assert frame[used].max() > 1 << 20
    page = space.path / "page.html"
    subprocess.run([REPORT, run, "-o", page], check=True, capture_output=True)
    text = page.read_text()
    assert "hog_cpu_ns per second" in text and "memory_used_bytes" in text and "Pool operations per second" in text
