# SPDX-License-Identifier: BSD-3-Clause
"""Outlets whose real server has no space left on its disk, until room is made."""

import errno
import signal

import pytest

import harness
import nats_reader
import exporters
import results
from test_influx import assert_influx_sums, influx_config
from test_nats import assert_totals, nats_config
from test_syslog import by_type, config, rsyslog_into_a_file

pytestmark = pytest.mark.plain


class Ballast:
    """Takes all space that is left in a place, until it is dropped."""

    def __init__(self, place):
        self.path = place / "ballast"
        with open(self.path, "wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                while self._more(file, size):
                    pass

    @staticmethod
    def _more(file, size):
        try:
            return file.write(b"b" * size) == size
        except OSError as error:
            assert error.errno == errno.ENOSPC
            return False

    def drop(self):
        self.path.unlink()


def running(made):
    """Goes on until it is stopped."""
    made["source"] = {"type": "synthetic", "steps": 100000, "speed": 1}
    made["workflow"] = "synthetic"
    return made


def finish(vampire):
    vampire.signal(signal.SIGTERM)
    vampire.wait()


def assert_reported(vampire, name):
    """What failed is said, but not each time."""
    assert 1 <= vampire.stderr.count(f"error: output {name}") <= 10, vampire.stderr


def test_influxdb_without_space(space, small_disk):
    place = small_disk(16384)
    server = exporters.influxdb(space, place=place)
    ballast = Ballast(place)
    vampire = space.vampire(running(influx_config(server.url)), ready=False)
    vampire.until_stderr('no space left on device"}; buckets wait, then are lost and counted')
    ballast.drop()
    harness.wait_until(lambda: exporters.influx_query(server, 'SELECT last(value) FROM "pool_operations" GROUP BY *'),
                       "InfluxDB has a bucket")
    finish(vampire)
    assert_reported(vampire, "influx")
    assert_influx_sums(server, exporters.Totals(space.hdf5()))
    assert exporters.account(vampire, "influx") == (results.Hdf5Run([space.hdf5()]).buckets, 0)


def test_a_stream_without_space(space, small_disk):
    """It gets what waited when room is made."""
    place = small_disk(16384)
    server = nats_reader.Server(space, jetstream=True, place=place)
    server.make_stream()
    ballast = Ballast(place)
    vampire = space.vampire(running(nats_config(server, jetstream=True, timeout="500ms")), ready=False)
    vampire.until_stderr("no space left on device; buckets wait, then are lost and counted")
    ballast.drop()
    harness.wait_until(server.stored, "the stream has a bucket")
    finish(vampire)
    assert_reported(vampire, "bus")
    stored = server.stored()
    assert len({name for name, _ in stored}) == len(stored)
    found = assert_totals([message for _, message in stored], space.hdf5())
    buckets = results.Hdf5Run([space.hdf5()]).buckets
    assert exporters.account(vampire, "bus") == (buckets, 0) and list(found.buckets) == list(range(buckets))


def test_what_a_stream_without_space_never_takes_is_an_exact_loss(space, small_disk):
    place = small_disk(16384)
    server = nats_reader.Server(space, jetstream=True, place=place)
    server.make_stream()
    ballast = Ballast(place)
    vampire = space.vampire(running(nats_config(server, jetstream=True, timeout="500ms", finish="1s")), ready=False)
    vampire.until_stderr("no space left on device; buckets wait, then are lost and counted")
    finish(vampire)
    assert_reported(vampire, "bus")
    assert exporters.account(vampire, "bus") == (0, results.Hdf5Run([space.hdf5()]).buckets)
    ballast.drop()
    assert server.stored() == []


def test_rsyslog_without_space(space, small_disk):
    """It drops what it cannot write, and says so; what is in the file is whole, and the numbers show the rest."""
    place = small_disk(1024)
    path = place / "log.json"
    log = exporters.Rsyslog(space, rsyslog_into_a_file(space).replace(str(space.path / "log.json"), str(path)))
    log.file = path
    ballast = Ballast(place)
    vampire = space.vampire(running(config(log.socket, "200ms")), ready=False)
    log.process.until_stderr("message lost, could not be processed")
    ballast.drop()
    harness.wait_until(lambda: by_type(log.objects())["bucket"], "a bucket is in the file")
    finish(vampire)
    harness.wait_until(lambda: by_type(log.objects())["end"], "the end is in the file")
    buckets = results.Hdf5Run([space.hdf5()]).buckets
    numbers = [one["bucket"] for one in by_type(log.objects())["bucket"]]
    assert numbers[0] > 0 and numbers == list(range(numbers[0], buckets))
    assert exporters.account(vampire, "syslog") == (buckets, 0) and "error" not in vampire.stderr
