# SPDX-License-Identifier: BSD-3-Clause
"""A reader of NATS in nothing but Python: the protocol is text. Messages are decoded with Python's
own protobuf, from vampire/stats/bucket/telemetry.proto."""

import base64
import json
import socket
import ssl
import threading

import harness
import exporters


telemetry_pb2 = exporters.messages("vampire/stats/bucket/telemetry.proto")


class Server(exporters.Server):
    """A nats-server; with `jetstream` one that keeps streams, in `place` or in the test's folder."""

    def __init__(self, space, *options, jetstream=False, place=None, scheme="nats",
                 name="nats-server", port=None):
        self.port, monitor = port or exporters.free_port(), exporters.free_port()
        more = ["-js", "-sd", str(place or space.path / "jetstream")] if jetstream else []
        super().__init__(space, ["nats-server", "-a", "127.0.0.1", "-p", str(self.port), "-m", str(monitor), *more,
                                 *options], name, f"http://127.0.0.1:{monitor}", "/healthz")
        self.address = f"{scheme}://127.0.0.1:{self.port}"

    def make_stream(self, subjects=("vampire.>",), **more):
        with Client(self.port) as client:
            made = client.request("$JS.API.STREAM.CREATE.vampire",
                                  {"name": "vampire", "subjects": list(subjects), **more})
            assert "error" not in made, made

    def stored(self):
        """[(id, message)] of all that the stream has."""
        with Client(self.port) as client:
            state = client.request("$JS.API.STREAM.INFO.vampire")["state"]
            found = []
            if state["messages"] == 0:
                return found  # its first number is 0, that of no message
            for number in range(state["first_seq"], state["last_seq"] + 1):
                entry = client.request("$JS.API.STREAM.MSG.GET.vampire", {"seq": number})["message"]
                header = base64.b64decode(entry["hdrs"]).decode()
                found.append((header.split("Nats-Msg-Id: ")[1].split("\r\n")[0], decode(base64.b64decode(entry["data"]))))
            return found


def decode(data):
    message = telemetry_pb2.Message()
    message.ParseFromString(data)
    return message


class Client:
    """`answer` makes, from the server's nonce, more of what is sent as CONNECT."""

    def __init__(self, port, context=None, answer=None, **connect):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.file = self.socket.makefile("rb")
        self.info = json.loads(self.file.readline().removeprefix(b"INFO "))
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")
            self.file = self.socket.makefile("rb")
        if answer is not None:
            connect.update(answer(self.info["nonce"]))
        self.send(b"CONNECT " + json.dumps({"verbose": False, "headers": True, "no_responders": True, **connect}).encode())
        self.inbox = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, line, payload=None):
        self.socket.sendall(line + b"\r\n" + (payload + b"\r\n" if payload is not None else b""))

    def subscribe(self, subject):
        self.inbox += 1
        self.send(f"SUB {subject} {self.inbox}".encode())
        self.send(b"PING")
        assert self.next(until=b"PONG") is None

    def next(self, until=None):
        """(subject, payload) of the next message; None: the connection has ended, or `until` came."""
        while True:
            line = self.file.readline().strip()
            if line == b"" or line == until:
                return None
            words = line.split(b" ")
            if words[0] in (b"MSG", b"HMSG"):
                payload = self.file.read(int(words[-1]) + 2)[:-2]
                return words[1].decode(), payload[int(words[-2]) if words[0] == b"HMSG" else 0:]
            if words[0] == b"PING":
                self.send(b"PONG")
            assert words[0] != b"-ERR", line

    def request(self, subject, what=None):
        inbox = f"_INBOX.{id(self)}.{self.inbox}"
        self.subscribe(inbox)
        payload = what if isinstance(what, bytes) else json.dumps(what).encode() if what is not None else b""
        self.send(f"PUB {subject} {inbox} {len(payload)}".encode(), payload)
        return json.loads(self.next()[1])


class Reader(threading.Thread):
    """Keeps every message of all runs; connects again when the server was away."""

    def __init__(self, server, subject="vampire.>", context=None, **connect):
        super().__init__(daemon=True)
        self.server, self.subject, self.connect = server, subject, {"context": context, **connect}
        self.messages, self.subjects = [], set()
        self.client = None
        self.ending = False
        self._subscribe()
        self.start()

    def _subscribe(self):
        self.client = Client(self.server.port, **self.connect)
        self.client.subscribe(self.subject)

    def run(self):
        while not self.ending:
            try:
                found = self.client.next()
                if found is not None:
                    self.subjects.add(found[0])
                    self.messages.append(decode(found[1]))
                    continue
                self._subscribe()
            except (OSError, ValueError):
                continue

    def stop(self):
        self.ending = True
        try:
            self.client.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.join()

    def until_ended(self):
        harness.wait_until(lambda: any(message.HasField("ending") for message in self.messages),
                           "the message that ends the run")
        self.stop()
        return self.messages


def whole_buckets(messages):
    """{number: its parts}; a message that was sent again changes nothing."""
    parts = {}
    for message in messages:
        if not message.HasField("ending"):
            known = parts.setdefault(message.number, {}).setdefault(message.part, message)
            assert known == message, "what is sent again is the same"
    for number, found in parts.items():
        assert sorted(found) == list(range(1, found[1].parts + 1)), f"bucket {number} is not whole"
    return {number: [found[part] for part in sorted(found)] for number, found in sorted(parts.items())}


def lower_edge(index, sub_bits):
    shift = max((index >> sub_bits) - 1, 0)
    return index if index >> sub_bits == 0 else (2**sub_bits + index % 2**sub_bits) << shift


class Totals:
    """As exporters.Totals, from messages; and the sums of the counters' differences."""

    def __init__(self, messages):
        self.counters, self.gauges, self.histograms, self.deltas = {}, {}, {}, {}
        self.buckets = whole_buckets(messages)
        for parts in self.buckets.values():
            for message in parts:
                for row in message.rows:
                    self._add(message, row)

    def _add(self, message, row):
        key = frozenset(zip(message.label_sets[row.label_set].labels, row.labels))
        for counter in row.counters:
            name = message.metrics[counter.metric].name
            self.counters.setdefault(name, {})[key] = counter.value
            deltas = self.deltas.setdefault(name, {})
            deltas[key] = deltas.get(key, 0) + counter.delta
        for gauge in row.gauges:
            assert gauge.min <= gauge.value <= gauge.max
            self.gauges.setdefault(message.metrics[gauge.metric].name, {})[key] = gauge.value
        for histogram in row.histograms:
            of_metric = self.histograms.setdefault(message.metrics[histogram.metric].name, {})
            count, total, bins = of_metric.setdefault(key, (0, 0, {}))
            for index, values in zip(histogram.bins, histogram.counts):
                edge = lower_edge(index, message.sub_bits)
                bins[edge] = bins.get(edge, 0) + values
            of_metric[key] = (count + histogram.count, total + histogram.sum, bins)


def tls_context(trusted):
    context = ssl.create_default_context(cafile=trusted["ca_file"])
    context.check_hostname = False
    context.load_cert_chain(trusted["certificate_file"], trusted["key_file"])
    return context


class Silent(threading.Thread):
    """A server that accepts, says `words`, `answer` when it is spoken to, and nothing more."""

    def __init__(self, words=b"", answer=b""):
        super().__init__(daemon=True)
        self.words, self.answer, self.peers = words, answer, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                self.peers.append(self.socket.accept()[0])
                self.peers[-1].sendall(self.words)
                if self.answer and self.peers[-1].recv(65536):
                    self.peers[-1].sendall(self.answer)
            except OSError:
                return


def silent_nats(answer=b"", **more):
    info = {"server_id": "S", "version": "2.9.10", "headers": True, "max_payload": 1048576, **more}
    return Silent(b"INFO " + json.dumps(info).encode() + b"\r\n", answer)
