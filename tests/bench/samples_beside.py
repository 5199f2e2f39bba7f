#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""By hand: samples beside the events of a pool, both at a pace, for some seconds; what was lost of which.

    samples_beside.py [EVENTS_A_SECOND [SAMPLES_A_SECOND [SECONDS]]]        100000 20000 10"""

import pathlib
import re
import socket
import sys
import tempfile
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "e2e"),
                str(pathlib.Path(__file__).resolve().parents[1])]
import measure
import processes

LINES = 20  # of a datagram


def send(address, rate, stop, sent):
    """Samples of 1,000 hosts at this rate."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        while not stop.is_set() and to.connect_ex(str(address)) != 0:
            time.sleep(0.01)
        begin, number = time.monotonic(), 0
        while not stop.is_set():
            due = int((time.monotonic() - begin) * rate) - number
            if due < LINES:
                time.sleep(0.0005)
                continue
            now = time.time_ns()
            text = "".join(f"memory,host=n{(number + i) % 1000} used={number + i}i {now + i}\n" for i in range(LINES))
            try:
                to.send(text.encode())
            except OSError:
                break  # vampire has ended
            number += LINES
        sent.append((number, time.monotonic() - begin))


def main():
    events, samples, seconds = (int(word) for word in (sys.argv[1:] + ["100000", "20000", "10"][len(sys.argv) - 1:]))
    with tempfile.TemporaryDirectory() as folder:
        address, stop, sent = pathlib.Path(folder) / "samples", threading.Event(), []
        config = {**processes.ALL, "samples": {
            "listen": [f"unix:{address}"] if samples else [], "metrics": ["used_bytes gauge memory.used unit=byte host=host"]}}
        sender = threading.Thread(target=send, args=(address, samples, stop, sent))
        if samples:
            sender.start()
        account, report, said = processes.over_tcp(pathlib.Path(folder), events * seconds, 1000, events, config)
        stop.set()
        if samples:
            sender.join()
        for number, took in sent:
            print(f"{number:,} samples were sent in {took:.1f} s, {number / took:,.0f} a second")
        print(f"{report}\nvampire: {account.cpu_seconds:.1f} s of processor time in {account.seconds:.1f} s, "
              f"{account.peak_bytes / 2**20:.0f} MiB at most")
        print("\n".join(row for row in said.splitlines() if re.search("losses|lost|LOST|samples|late|beyond|from before|pool.s time", row)))


if __name__ == "__main__":
    main()
