# SPDX-License-Identifier: BSD-3-Clause
"""The translators of inlets/, on data written from the public descriptions, and vampire on what they make."""

import subprocess
import sys

import pytest

from harness import ROOT
from test_samples import START, config, values

JOB_STATS = """job_stats:
- job_id:          dd.0
  snapshot_time:   1767225602
  read_bytes:      { samples:           0, unit: bytes, min:       0, max:       0, sum:               0 }
  write_bytes:     { samples:         204, unit: bytes, min:    4096, max: 1048576, sum:         8388608 }
  open:            { samples:           1, unit:  reqs }
- job_id:          ":17627127:r01c01"
  snapshot_time:   1767225602.123456789 secs.nsecs
  start_time:      1767225600.1 secs.nsecs
  write_bytes:     { samples: 2, unit: bytes, min: 1, max: 2, sum: 3, sumsq: 5 }
  setattr:         { samples: 4, unit: usecs, min: 1, max: 2, sum: 6, sumsq: 10 }
- job_id:          "bro ken,=
  snapshot_time:   1767225603
  write_bytes:     { samples: 1, unit: bytes, sum: 7 }
- job_id:          cut
  snapshot_time:   1767225603
  write_bytes:     { samples: 1, unit: byt"""


def translate(script, text, *options):
    made = subprocess.run([sys.executable, ROOT / "inlets" / script, *options], input=text, text=True, check=True,
                          capture_output=True, timeout=60)
    assert made.stderr == ""
    return made.stdout.splitlines()


def test_job_statistics_of_lustre():
    assert translate("lustre_job_stats.py", JOB_STATS, "--target", "OST0001") == [
        "lustre,job=dd.0,target=OST0001 read_bytes=0i,read_samples=0i,write_bytes=8388608i,write_samples=204i,"
        "open_samples=1i 1767225602",
        "lustre,job=17627127,host=r01c01,target=OST0001 write_bytes=3i,write_samples=2i,setattr=6i,setattr_samples=4i"
        " 1767225602",
        "lustre,job=bro\\ ken\\,\\=,target=OST0001 write_bytes=7i,write_samples=1i 1767225603"]


SELFIE = """Oct  8 10:52:33 n1 selfie[12310]: { "jobid": "12310", "pid": "12310", "timestamp": 1602147153, "function": "mio_init", "wtime": 0.18 }
selfie[12354]: { "jobid": "12354", "pid": "12354", "utime": 0.29, "maxmem": 0.11, "mio_count": 4, "USER": "user", \
"timestamp": 1602147158, "wtime": 4.42, "command": "/tests/simple_client" }
2020-10-08T10:52:33+02:00 n2.site.org selfie[7]: { "jobid": "1", "pid": "7", "timestamp": 5, "function": "f", "wtime": 1.0, "COMPONENT": "IFS -- 0" }
selfie[1]: { cut
another[1]: { "timestamp": 1, "wtime": 2 }
"""


def test_lines_of_selfie():
    assert translate("selfie.py", SELFIE) == [
        "selfie,job=12310,pid=12310,host=n1,function=mio_init wtime=0.18 1602147153",
        "selfie,job=12354,pid=12354,command=/tests/simple_client utime=0.29,maxmem=0.11,mio_count=4i,wtime=4.42 1602147158",
        "selfie,job=1,pid=7,host=n2.site.org,component=IFS\\ --\\ 0,function=f wtime=1.0 5"]


def test_vampire_counts_what_lustre_says_of_a_job(space):
    """Running totals of a job, which Lustre forgets in between."""
    dumps = [(1, 10), (2, 30), (3, 5)]
    lines = [line for second, total in dumps for line in translate(
        "lustre_job_stats.py",
        f"job_stats:\n- job_id: j\n  snapshot_time: {START // 10**9 + second}\n"
        f"  write_bytes: {{ samples: 1, unit: bytes, sum: {total} }}\n")]
    (space.path / "lines").write_text("\n".join(lines) + "\n")
    asked = config(space, files=[str(space.path / "lines")],
                   metrics=["lustre_write_bytes counter lustre.write_bytes unit=byte job=job"])
    space.vampire(asked, ready=False).expect_exit(0)
    written = {bucket: line["delta"] for (bucket, job), line in values(space, "lustre_write_bytes").items() if job == "j"}
    assert (written.get(2), written.get(3)) == (20, 5) and sum(written.values()) == 25


COLLECTED = ["memory,host=vm.site.org,type=memory,type_instance=used value=1474859008.000000 {}",
             "mem,host=n1 available=5i,total=9u {}",
             "flops_any,hostname=e1208,type=core,type-id=23 value=1203.3 {}"]


@pytest.mark.parametrize("unit", [10**9, 10**6, 10**3, 1])
def test_lines_of_collectors(space, unit):
    """collectd's milliseconds, ClusterCockpit's seconds and Telegraf's nanoseconds, told by their size."""
    (space.path / "lines").write_text("".join(line.format((START + 2 * 10**9) // unit) + "\n" for line in COLLECTED))
    asked = config(space, files=[str(space.path / "lines")], metrics=[
        "memory_used_bytes gauge memory.value unit=byte host=host name=type_instance",
        "available_bytes gauge mem.available unit=byte host=host", "flops gauge flops_any.value host=hostname name=type-id"])
    space.vampire(asked, ready=False).expect_exit(0)
    known = {(metric, *key[1:]): line["value"] for metric in ("memory_used_bytes", "available_bytes", "flops")
             for key, line in values(space, metric).items() if key[0] == 2 and line["value"] is not None}
    assert known == {("memory_used_bytes", "vm", "used"): 1474859008, ("available_bytes", "n1"): 5,
                     ("flops", "e1208", "23"): 1203}
