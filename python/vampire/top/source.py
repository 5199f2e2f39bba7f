# SPDX-License-Identifier: BSD-3-Clause
"""Where the lines come from: a file that is followed as by `tail -F` and from segment to segment, a FIFO, a Unix or TCP
socket, standard input. Only wait() blocks."""

import errno
import ipaddress
import os
import re
import select
import socket
import stat
import time

from . import model as lines

MORE, BUCKET, CLOSED, IDLE, END = "more", "bucket", "closed", "idle", "end"  # what read() returns
FILE, FIFO, STREAM = "file", "fifo", "stream"

RECONNECT_SECONDS = 10
TAIL_BYTES = 16 << 20   # only this much of a longer file is read, unless the user asks for all
SEGMENTS_AHEAD = 64     # so many segment numbers are tried: other runs may have taken some
READ_BYTES = 1 << 18
PATH_BYTES = 4096
NUMBERED = re.compile(r"(.*\.)(\d{4})|(.*-)(\d{4})(\.jsonl)", re.DOTALL)
OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY  # a FIFO without a writer must not block


class SourceError(Exception):
    """What cannot be read, in words; `code` is an errno."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def failed(action, error):
    return SourceError(error.errno, f"{action}: {os.strerror(error.errno or errno.EIO)}")


def address_of(source):
    """(family, address) of a SOURCE that names a socket. Raises SourceError(EINVAL)."""
    if not source.startswith("tcp:"):
        path = source[len("unix:"):] if source.startswith("unix:") else source
        if not 0 < len(os.fsencode(path)) < 108:
            raise SourceError(errno.EINVAL, f"{source[:64]}: the path of a socket has 1 to 107 bytes")
        return socket.AF_UNIX, path
    match = re.fullmatch(r"tcp:(?:\[(?P<v6>[^\]]+)\]:|(?P<v4>[^:]*):)?(?P<port>\d{1,5})", source)
    try:
        host = ipaddress.ip_address((match["v6"] or match["v4"] or "127.0.0.1").replace("localhost", "127.0.0.1"))
        if host.is_loopback and 1 <= int(match["port"]) <= 65535:
            return socket.AF_INET6 if host.version == 6 else socket.AF_INET, (str(host), int(match["port"]))
    except (TypeError, ValueError):
        pass
    raise SourceError(errno.EINVAL, f"{source[:64]}: a port of this machine is expected, as in tcp:5000, tcp:127.0.0.1:5000 "
                                    "or tcp:[::1]:5000")


def check(source):
    """Raises SourceError if `source` can name nothing."""
    if not source or len(os.fsencode(source)) >= PATH_BYTES:
        raise SourceError(errno.EINVAL, f'SOURCE "{source[:64]}": its name has 1 to {PATH_BYTES - 1} bytes')
    if source.startswith(("unix:", "tcp:")):
        address_of(source)


def segment_path(path, ahead):
    """The path so many segments further: after NAME come NAME.0002, NAME.0003, ...; after RUN-0001.jsonl comes
    RUN-0002.jsonl."""
    match = NUMBERED.fullmatch(path)
    if match is None:
        return f"{path}.{1 + ahead:04d}"
    before, digits, after = match[1] or match[3], match[2] or match[4], match[5] or ""
    return f"{before}{int(digits) + ahead:04d}{after}"


class Source:  # pylint: disable=too-many-instance-attributes
    """wait: for a source that does not exist yet; whole: a long file is read from its beginning."""

    def __init__(self, source, wait=False, whole=False, standard_input=0):
        check(source)
        self.source, self.path, self._wait, self._whole = source, source, wait, whole
        self._standard_input = standard_input
        self.kind, self._fd, self._identity = STREAM, -1, None
        self._reconnect_until = 0.0
        self._restart()
        try:
            self._open()
        except SourceError as error:
            if not (wait and self._may_come(error)):
                raise

    def _restart(self):
        self._offset, self._held, self._lines = 0, b"", []
        self._header = None        # of a file of which only the end is read
        self._rotated = self._finished = self._hung_up = False
        self._within_line = False  # what is read next begins within a line
        self._dropping = False     # a line that is too long, until its end

    def close(self):
        if self._fd > 2:
            os.close(self._fd)
        self._fd = -1

    @property
    def name(self):
        return "standard input" if self.path == "-" else self.path

    @property
    def is_settled(self):
        """It is a file that exists and is not waited for."""
        return self.kind == FILE and self._fd >= 0 and not self._wait

    def progress(self):
        """How much of a file was read, in percent; 100 of what is no file."""
        if self.kind != FILE or self._fd < 0:
            return 100
        size = os.fstat(self._fd).st_size
        return 100 * self._offset // size if self._offset < size else 100

    # ---------------------------------------------------------------- opening

    def _may_come(self, error):
        return error.code in (errno.ENOENT, errno.ECONNREFUSED)

    def _open(self):
        if self.source == "-":
            self._fd = self._standard_input
        elif self.source.startswith(("unix:", "tcp:")):
            self._connect()
        else:
            self._open_path()

    def _connect(self):
        self.kind = STREAM
        family, address = address_of(self.path)
        with socket.socket(family) as connection:
            try:
                connection.connect(address)  # on this machine it is there or refused at once
            except OSError as error:
                raise failed(f"connect to {self.path}", error) from None
            connection.setblocking(False)
            self._fd = connection.detach()

    def _open_path(self):
        """Opens what is at `path`, whatever it is."""
        try:
            fd = os.open(self.path, OPEN_FLAGS)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a socket
                self._connect()
                return
            raise failed(f"open {self.path}", error) from None
        self._take(fd)

    def _take(self, fd):
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            os.close(fd)
            raise SourceError(errno.EISDIR, f"open {self.path}: it is a directory; name the file, such as "
                                            f"{self.path[:200]}/vampire.jsonl")
        self.close()
        self._restart()
        self.kind = STREAM
        if stat.S_ISREG(status.st_mode):
            self.kind = FILE
        elif stat.S_ISFIFO(status.st_mode):
            self.kind = FIFO
        self._fd, self._identity = fd, (status.st_dev, status.st_ino)
        if self.kind == FILE and status.st_size > TAIL_BYTES and not self._whole:
            self._skip_to_tail(status.st_size)

    def _skip_to_tail(self, size):
        """A long file is read from some line near its end. Its first line, the header, is read in any case: it names the
        workflow."""
        header, newline, _ = os.pread(self._fd, lines.LINE_BYTES, 0).partition(b"\n")
        self._header = header if newline else None
        self._offset = os.lseek(self._fd, size - TAIL_BYTES, os.SEEK_SET)
        self._within_line = True

    # ---------------------------------------------------------------- segments

    def _next_segment(self, run):
        for ahead in range(1, SEGMENTS_AHEAD + 1):
            path = segment_path(self.path, ahead)
            try:
                fd = os.open(path, OPEN_FLAGS)
            except OSError:
                return False
            if f'"run":"{run}"'.encode() in os.pread(fd, 256, 0):  # its header names the present run
                self.path = path
                self._take(fd)
                return True
            os.close(fd)
        return False

    def _follow(self, run):
        """At the end of a file: whether it was replaced or cut, or has a next segment, which is then open."""
        if self._rotated and self._next_segment(run):
            return True
        try:
            status = os.stat(self.path)
        except OSError:
            return False  # moved away: the file that replaces it will come
        try:
            if (status.st_dev, status.st_ino) != self._identity:
                self._open_path()
                return True
            if status.st_size < self._offset:  # cut, to be written again
                os.lseek(self._fd, 0, os.SEEK_SET)
                self._restart()
                return True
        except (OSError, SourceError):
            pass
        return False

    # ---------------------------------------------------------------- lines

    def _feed(self, model, line):
        """`line` None: one that was too long."""
        if self._within_line:
            self._within_line = False
            model.jump()
        elif line is None:
            model.skip()
        elif line:
            return model.feed(line)
        return lines.LINE

    def _feed_lines(self, model):
        """The lines that are there, up to the end of a bucket or of the run."""
        while self._lines:
            fed = self._feed(model, self._lines.pop())
            self._rotated |= fed == lines.ROTATED
            self._finished = fed == lines.END or (self._finished and fed == lines.LINE)
            if fed == lines.BUCKET:
                return BUCKET
            if fed == lines.END:
                return CLOSED
        return MORE

    def _split(self, data):
        """Takes whole lines out of the data, the newest first, since they are fed from the end of the list. A line that is
        too long is dropped while it comes."""
        first, *others = data.split(b"\n")
        whole = [self._held + first, *others]
        self._held = whole.pop()
        if self._dropping and whole:
            whole[0], self._dropping = None, False
        self._dropping |= len(self._held) >= lines.LINE_BYTES
        if self._dropping:
            self._held = b""
        self._lines = [line if line is None or len(line) < lines.LINE_BYTES else None for line in reversed(whole)]

    def _at_end(self, model):
        """What the end of the data means for this kind of source."""
        if self.kind == FIFO:
            self._hung_up = True
            return END if self._finished else IDLE
        if self.kind == FILE:
            if self._follow(model.run):
                return MORE
            return END if self._finished else IDLE
        if self._held:  # a stream may end within a line: that is reported as such
            self._feed(model, self._held)
            self._held = b""
        if not self._rotated or not self.source.startswith(("unix:", "tcp:")):
            return END
        # The run continues with another configuration and will listen again in a moment.
        self.close()
        self._rotated = False
        self._reconnect_until = time.monotonic() + RECONNECT_SECONDS
        return IDLE

    def _open_late(self):
        """Opens a source that did not exist before, or is missing for a moment."""
        try:
            self._open()
        except SourceError as error:
            if not (self._may_come(error) and (self._wait or time.monotonic() < self._reconnect_until)):
                raise

    def read(self, model):
        """Feeds the model with the available lines, up to the end of the next bucket or of the run. Raises SourceError when
        reading fails; then there are no more lines."""
        if self._header is not None:
            model.feed(self._header)
            self._header = None
        state = self._feed_lines(model)
        if state != MORE:
            return state
        if self._fd < 0:
            self._open_late()
            return IDLE
        try:
            data = os.read(self._fd, READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return IDLE
        except OSError as error:
            raise failed(f"read {self.name}", error) from None
        if not data:
            return self._at_end(model)
        self._offset += len(data)
        self._hung_up = False
        self._split(data)
        return self._feed_lines(model)

    def wait(self, keys, seconds):
        """Until there may be something to read, or `keys` (a descriptor, or None) is readable, or the time is over. A file
        is always readable and a FIFO without a writer always at its end: for them the time passes."""
        waiting = [] if keys is None else [keys]
        if self._fd >= 0 and self.kind != FILE and not self._hung_up:
            waiting.append(self._fd)
        try:
            select.select(waiting, [], [], seconds)
        except OSError as error:
            if error.errno != errno.EINTR:
                raise
