#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lines that collectors publish by NATS, as ClusterCockpit's do, to a socket on which vampire listens:

    nats.py nats://127.0.0.1:4222 hpc-metrics unix:/run/user/1000/vampire.samples        or udp:127.0.0.1:8094

SUBJECT may have wildcards. The user and the password are in NATS_USER and NATS_PASSWORD. Without TLS: for servers on this machine, or
behind a leaf node on it. It connects again every second, until SIGTERM; what was published meanwhile is lost, as NATS does it. A
message may hold any number of lines; each goes on in a datagram of its own."""

import argparse
import json
import os
import socket
import sys
import time
import urllib.parse


def target(text):
    """A datagram socket and where it sends to: of unix:PATH or udp:ADDRESS:PORT."""
    kind, _, place = text.partition(":")
    if kind == "unix":
        return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), place
    host, _, port = place.rpartition(":")
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM), (host or "127.0.0.1", int(port))


def messages(server, subject):
    """The payload of each message, until the connection ends."""
    with socket.create_connection((server.hostname, server.port or 4222)) as connection, connection.makefile("rwb") as stream:
        options = {"verbose": False, "name": "vampire"}
        if "NATS_USER" in os.environ:
            options |= {"user": os.environ["NATS_USER"], "pass": os.environ.get("NATS_PASSWORD", "")}
        stream.write(f"CONNECT {json.dumps(options)}\r\nSUB {subject} 1\r\nPING\r\n".encode())
        stream.flush()
        for line in stream:
            word = line.split()
            if word[:1] == [b"PING"]:
                stream.write(b"PONG\r\n")
                stream.flush()
            elif word[:1] == [b"MSG"]:
                yield stream.read(int(word[-1]) + 2)[:-2]
            elif word[:1] == [b"-ERR"]:
                raise OSError(line.decode(errors="replace").strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("server", type=urllib.parse.urlparse, help="nats://HOST:PORT")
    parser.add_argument("subject")
    parser.add_argument("to", type=target, help="unix:PATH or udp:ADDRESS:PORT, as in samples.listen")
    asked = parser.parse_args()
    to, place = asked.to
    said = None
    while True:
        try:
            for payload in messages(asked.server, asked.subject):
                for line in payload.splitlines():
                    try:
                        to.sendto(line, place)
                    except OSError:
                        pass  # vampire is not there: the lines of now are of no use later
                said = None
        except OSError as error:
            if str(error) != said:
                print(f"nats.py: {asked.server.geturl()}: {error}", file=sys.stderr, flush=True)
            said = str(error)
        time.sleep(1)


if __name__ == "__main__":
    main()
