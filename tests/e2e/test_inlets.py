# SPDX-License-Identifier: BSD-3-Clause
"""The translators of inlets/, on data written from the public descriptions, and vampire on what they make."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

import pytest

import exporters
import nats_reader
from harness import ROOT, wait_until
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
                          capture_output=True, timeout=60, env={**os.environ, "TZ": "Europe/Berlin"})
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


SYSLOG = """<14>Oct  8 10:52:33 selfie[1]: { "jobid": "1", "pid": "9", "timestamp": 1602147153, "function": "mio_init", "wtime": 0.18 }
<14>Oct  8 10:52:34 selfie[1]: { cut
<14>Oct  8 10:52:34 another[1]: { "timestamp": 1, "function": "f", "wtime": 2 }
<14>Oct  8 10:52:38 selfie[1]: { "jobid": "1", "pid": "9", "utime": 0.29, "stime": 0.14, "maxmem": 0.11, "mio_time": 4.31, "mio_count": 4, "maestro_time": 1.93, "maestro_count": 6, "USER": "u", "timestamp": 1602147158, "wtime": 4.42, "command": "/a b,c" }"""


def through_rsyslog(space, syslog, count):
    """The lines that come out, after which there is no other."""
    port = exporters.free_port()
    text = (ROOT / "inlets" / "rsyslog.conf").read_text().replace('port="8094"', f'port="{port}"')
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        receiver.bind(("127.0.0.1", port))
        receiver.settimeout(10)
        daemon = exporters.Rsyslog(space, 'module(load="imuxsock")\ninput(type="imuxsock" Socket="/run/vampire.log")\n' + text)
        for line in syslog:
            log.sendto(line.encode(), daemon.socket)
        lines = sorted(receiver.recv(65536).decode() for _ in range(count))
        daemon.stop()
        receiver.settimeout(0)
        with pytest.raises(BlockingIOError):
            receiver.recv(65536)
    host = socket.gethostname().partition(".")[0]
    return [line.replace(f"host={host},", "host=n,") for line in lines]


def test_rsyslog_passes_selfies_lines_on(space):
    assert through_rsyslog(space, SYSLOG.split("\n"), 2) == [
        "selfie,job=1,pid=9,host=n,command=/a\\ b\\,c utime=0.29,stime=0.14,maxmem=0.11,mio_time=4.31,mio_count=4i,"
        "maestro_time=1.93,maestro_count=6i,wtime=4.42 1602147158\n",
        "selfie,job=1,pid=9,host=n,function=mio_init wtime=0.18 1602147153\n"]


def test_rsyslog_passes_all_lines_of_a_run_on(space):
    """25 of 25, and the same as the script makes of them."""
    text = (pathlib.Path(__file__).parent / "selfie.txt").read_text()
    said = through_rsyslog(space, [f"<14>Oct  8 10:52:33 {line}" for line in text.splitlines()], 25)

    def words(line):
        series, fields, at = line.strip().rsplit(" ", 2)
        return series, frozenset((key, float(value.rstrip("i"))) for key, _, value in (word.partition("=") for word in fields.split(","))), at

    made = translate("selfie.py", "".join(f"Oct  8 10:52:33 n {line}\n" for line in text.splitlines()))
    assert sorted(map(words, said), key=str) == sorted(map(words, made), key=str) and len(made) == 25


MIO = """[info] 2020-09-12-13:35:34.000000000 started
[telem] 2020-09-12-13:35:34.396675559 obj-write UINT64 4096
[telem] 2020-00-01-00:00:00.000000001 sizes ARRAY_UINT16 2 7 8
[telem] 2020-11-31-23:59:59.000000000 cut ARRAY_UINT16 2 7
[telem] 2020-11-31-23:59:59.000000000 text STRING hello
[telem] 2020-11-31-23:5"""


def test_lines_of_mio():
    """Months from 0, local time: here of Berlin, in summer and in winter."""
    assert translate("mio.py", MIO) == ["mio,topic=obj-write value=4096i 1602502534396675559",
                                        "mio,topic=sizes,index=0 value=7i 1577833200000000001",
                                        "mio,topic=sizes,index=1 value=8i 1577833200000000001"]


ADDB = """a line before
* 2020-10-12-13:35:34.400332998 fom-descr      service: <7300000000000002:1>,
sender: 5389c54c7ff0120, req-opcode: M0_IOSERVICE_READV_OPCODE, rep-
opcode: M0_IOSERVICE_READV_REP_OPCODE, local: false | node
<f4eebce02dc43aa:a5e598c6672ae4dc> |      pid      8394 | locality 0 | ast | fom
@0x7ff5c4027830, 'io-fom' transitions: 0 phase: init
* 2020-10-12-13:35:34.400335008 ios-io-descr  file: <4700:dc0>, seg-nr: 1, count: 3000 | node <f4:a5> |pid 8394 |locality 1 | ast
* 2020-10-12-13:35:24.408306319 runq          nr: 588 min: 0 max: 3 avg: 0.551020
dev: 0.312023 datum: 0 281 1: 307 3: 0 5: 0
|      : 281 | *****
|     1: 307 | *****
|node <f4eebce02dc43aa:a5e598c6672ae4dc> | pid 8394 |locality 0
"""


def test_records_of_addb():
    assert translate("addb.py", ADDB) == [
        "addb,record=fom-descr,op=M0_IOSERVICE_READV_OPCODE,phase=init,pid=8394,locality=0 transitions=0i,records=1i"
        " 1602502534400332998",
        "addb,record=ios-io-descr,pid=8394,locality=1 seg-nr=1i,count=3000i,records=1i 1602502534400335008",
        "addb,record=runq,pid=8394,locality=0 nr=588i,min=0i,max=3i,avg=0.55102,dev=0.312023,records=1i 1602502524408306319",
        "addb_bin,record=runq,pid=8394,locality=0,from=0 count=281i 1602502524408306319",
        "addb_bin,record=runq,pid=8394,locality=0,from=1 count=307i 1602502524408306319"]


def test_sensors_of_addb_become_a_histogram(space):
    """Each bin is a line: its value is in a tag, and how often it came in the field."""
    moved = ADDB.replace("2020-10-12-13:35:24.408306319", "2026-01-01-01:00:02.000000000")  # of Berlin
    again = moved.replace("01:00:02", "01:00:03").replace("1: 307", "1: 3000000000")
    (space.path / "lines").write_text("".join(f"{line}\n" for text in (moved, again) for line in translate("addb.py", text)
                                              if line.startswith("addb_bin")))
    asked = config(space, files=[str(space.path / "lines")], metrics=[
        "runq histogram addb_bin.count only=record:runq value=from name=locality"])
    space.vampire(asked, ready=False).expect_exit(0)
    known = {key: (line["count"], line["sum"], line["min"], line["max"]) for key, line in values(space, "runq").items() if line["count"]}
    assert known == {(2, "0"): (588, 307, 0, 1), (3, "0"): (281 + 3 * 10**9, 3 * 10**9, 0, 1)}


def test_the_sink_of_clustercockpit_is_one():
    (sink,) = json.loads((ROOT / "inlets" / "cc-metric-collector.json").read_text()).values()
    assert sink["type"] == "stdout" and sink["output_file"].startswith("/")


def test_lines_by_nats(space):
    """From a real server, which is there later, and goes away and comes back; several lines in a message."""
    listen = space.path / "samples"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(listen))
        receiver.settimeout(0.1)
        port, got = exporters.free_port(), []

        def publish(server, text, expected):
            with nats_reader.Client(server.port) as client:
                client.socket.sendall(f"PUB hpc.n1 {len(text)}\r\n{text}\r\nPING\r\n".encode())
            try:
                while True:
                    got.append(receiver.recv(65536).decode())
            except TimeoutError:
                return got[-len(expected):] == expected

        inlet = space.start([sys.executable, ROOT / "inlets" / "nats.py", f"nats://127.0.0.1:{port}", "hpc.*", f"unix:{listen}"], "inlet")
        wait_until(lambda: "refused" in inlet.stderr, "it says that there is no server")
        server = nats_reader.Server(space, port=port)
        lines = ["flops_any,hostname=e1208,type=core,type-id=23 value=1203.3 1740027951", "mem,hostname=e1208 used=7i 1740027951"]
        wait_until(lambda: publish(server, "\n".join(lines), lines), "the lines arrived")
        server.process.signal(signal.SIGTERM)
        server.process.wait()
        server.start()
        wait_until(lambda: publish(server, lines[1], lines[1:]), "they arrive from the server that came back")
        assert inlet.running() and set(got) == set(lines)
        inlet.signal(signal.SIGTERM)
        inlet.wait()


def test_what_arrives_is_shown_and_can_be_declared(space):
    """The proposal is valid as it stands."""
    (space.path / "lines").write_text("".join(line.format(START + n) + "\n" for n in range(3) for line in [
        *COLLECTED, "disk,host=n1,type=ops read=5i {}", "disk,host=n1,type=octets read=%di {}" % n, "job,id=3 event={{}} {}"]))
    shown = space.vampire({"samples": {"files": [str(space.path / "lines")], "metrics": ["free gauge mem.total"]}},
                          "--samples-show", ready=False)
    wait_until(lambda: shown.stdout.count("no line of the protocol") == 3 or not shown.running(), "the last line was read")
    (child,) = (int(pid) for pid in open(f"/proc/{shown.child.pid}/task/{shown.child.pid}/children").read().split())
    os.kill(child, 2)
    shown.expect_exit(0)
    text = shown.stdout
    assert "disk.read: 6 of 2 senders; host: n1; type: ops, octets" in text and "mem.total (declared): 3" in text
    assert "3 lines are none of the protocol" in text and "no line of the protocol: {} is no number" in text
    proposed = json.loads(text.partition('"metrics": ')[2])
    assert {"disk_read_octets counter disk.read only=type:octets host=host", "disk_read_ops gauge disk.read only=type:ops host=host",
            "memory_value gauge memory.value host=host",
            "flops_any_value gauge flops_any.value unit=1e-6 scale=1e6 host=hostname"} <= set(proposed)
    space.vampire({"source": {"type": "synthetic"}, "samples": {"metrics": proposed}}, "--check-config", name="check",
                  ready=False).expect_exit(0)


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
             "flops_any,hostname=e1208,type=core,type-id=23 value=1203.3 {}",
             "meminfo,job_id=4711i,component_id=12i MemFree=20931407i,MemAvailable=7i {}"]  # LDMS's store_influx


@pytest.mark.parametrize("unit", [10**9, 10**6, 10**3, 1])
def test_lines_of_collectors(space, unit):
    """collectd's milliseconds, ClusterCockpit's seconds and Telegraf's nanoseconds, told by their size."""
    (space.path / "lines").write_text("".join(line.format((START + 2 * 10**9) // unit) + "\n" for line in COLLECTED))
    asked = config(space, files=[str(space.path / "lines")], metrics=[
        "memory_used_bytes gauge memory.value unit=byte host=host name=type_instance",
        "available_bytes gauge mem.available unit=byte host=host", "flops gauge flops_any.value host=hostname name=type-id",
        "ldms_bytes gauge meminfo.MemAvailable unit=byte scale=1024 job=job_id name=component_id"])
    space.vampire(asked, ready=False).expect_exit(0)
    known = {(metric, *key[1:]): line["value"] for metric in ("memory_used_bytes", "available_bytes", "flops", "ldms_bytes")
             for key, line in values(space, metric).items() if key[0] == 2 and line["value"] is not None}
    assert known == {("memory_used_bytes", "vm", "used"): 1474859008, ("available_bytes", "n1"): 5,
                     ("flops", "e1208", "23"): 1203, ("ldms_bytes", "4711i", "12i"): 7168}
