# SPDX-License-Identifier: BSD-3-Clause
"""On a terminal, with keys."""

import curses
import fcntl
import os
import signal
import struct
import sys
import termios
import time

from . import page, source
from .rows import BLAME, COMPONENTS, DECLARED, MODELS, PAIRS, RANKS, TABLES
from .text import COLUMNS_MAX, columns, fit

PAUSE_SECONDS = 0.2      # between two looks at a file
DRAW_SECONDS = 0.5       # between two pictures while a long file is read
TURN_SECONDS = 0.1       # of reading, so that keys work during heavy input
SCREEN_LINES_MAX = 500   # a terminal may claim 65,535 lines; of a larger one, the upper left part is used
SMALLEST_LINES, SMALLEST_COLUMNS = 15, 40
SILENCE_SECONDS = 2      # without a bucket for this time and three widths of a bucket, what is shown is old
SORTS = ("operations", "bytes", "wait", "name")
ESCAPE, DELETE, BACKSPACE = 27, 127, 8

HELP = """\
q            quit
p, space     pause or resume; input is still read
t            rates, or totals of all seen
i            rates of the latest bucket, or of the last 10, 100 or 1,000 s
Enter, m     models, or each rank
v            pairs, who waited for whom, or declared metrics
s            sort by the next of: operations, bytes, wait, name
o b w n      sort by operations or moves, bytes, wait or p99, name
r            reverse the order
/            show only names that contain a text; Enter keeps, Esc clears it
Tab          switch to the other table
arrows, PgUp, PgDn, Home   scroll
h, ?         this page

WAIT: from demand to data. p50, p99, MAX: duration of transports.
WAITED/S: time that all of a row waited in each second.
(x3): three of this name. @n17: on this host. idle: since the last operation.
lag: how old events are when vampire counts them. ..: not in this stream.
(of 20 s): the numbers of a rank cover this time, which ended a moment ago.
WAITS: demands from before the newest bucket, oldest first. AGE?: events were lost.
N more; N before, M after: the rows that are not on the screen, as one.
Red: data is missing or old, a critical alarm. Yellow: alarms, anomalies, vanished
components, and demands for what is not offered.""".splitlines()


class View:  # pylint: disable=too-many-instance-attributes
    def __init__(self, screen, read, model, show):
        self._screen, self._read, self._model, self._show = screen, read, model, show
        self._lines = self._wide = 0
        self._snapshot = None
        self._first = dict.fromkeys(TABLES, 0)  # rows scrolled away
        self._focus, self._lower = COMPONENTS, PAIRS
        self._level_chosen = show.ranks
        self._paused = self._typing = self._help = self._quit = self._ended = self._reading = False
        self._news = time.monotonic()           # when the last bucket came
        self.failure = ""
        self._attributes = self._colours()

    @staticmethod
    def _colours():
        attributes = {page.PLAIN: curses.A_NORMAL, page.TITLE: curses.A_BOLD, page.WARNING: curses.A_BOLD,
                      page.LOSS: curses.A_REVERSE | curses.A_BOLD, page.DIM: curses.A_DIM}
        if curses.has_colors() and not os.environ.get("NO_COLOR"):
            curses.start_color()
            curses.use_default_colors()
            curses.init_pair(1, curses.COLOR_RED, -1)
            curses.init_pair(2, curses.COLOR_YELLOW, -1)
            attributes[page.WARNING] = curses.color_pair(2)
            attributes[page.LOSS] = curses.A_BOLD | curses.color_pair(1)
        return attributes

    # ---------------------------------------------------------------- drawing

    def _draw_line(self, row, mark, text):
        try:
            self._screen.addstr(row, 0, text, self._attributes[mark])
        except curses.error:  # the terminal has just become smaller
            pass

    def _reverse(self, row, attribute=0, wide=-1):
        self._screen.chgat(row, 0, wide, curses.A_REVERSE | attribute)

    def _draw_table(self, kind, top, lines):
        rows = page.chosen(self._snapshot, kind, self._show)
        room = max(lines - 1, 0)
        if len(rows) > room > 1:
            room -= 1  # for the row of all others
        first = self._first[kind] = max(min(self._first[kind], len(rows) - room), 0)
        for at, (mark, text) in enumerate(page.table(self._snapshot, kind, rows, first, room, self._wide)[:lines]):
            self._draw_line(top + at, mark, text)
        self._reverse(top, curses.A_BOLD if self._focus == kind else 0)

    def _silent_seconds(self):
        """Seconds without a bucket, if the numbers shown are old; else 0."""
        age = time.monotonic() - self._news
        snapshot = self._snapshot
        is_old = age > SILENCE_SECONDS and age > 3e-9 * snapshot.newest.width_ns
        return age if snapshot.any and not snapshot.state.ended and is_old else 0

    def _status(self):
        if self._reading:
            return page.PLAIN, f"[{self._read.progress()} % read]  "
        if self._paused:
            return page.PLAIN, "[paused]  "
        if self._ended:
            return page.PLAIN, "[end]  "
        silent = self._silent_seconds()
        return (page.LOSS, f"[nothing new for {silent:.0f} s]  ") if silent else (page.PLAIN, "")

    def _draw_foot(self):
        """The last line: the filter that is typed, or the state, and the keys for which there is room."""
        show, wide = self._show, self._wide
        mark, text = self._status()
        if self._typing:
            mark, text = page.PLAIN, f"names that contain: {show.filter}_"
        elif self.failure:
            mark, text = page.LOSS, self.failure
        else:
            unshown = page.unshown_columns((COMPONENTS, self._lower), wide)
            text += f"[{show.filter}]  " if show.filter else ""
            text += f"sort: {show.sort}{' up' if show.reverse else ''}"
            keys = ["h help", "q quit", "t rates" if show.totals else "t sums", "p pause", "s sort", "/ filter", "m models",
                    "v blame", "i time"]
            for part in ([f"too narrow for {', '.join(unshown)}"] if unshown else []) + keys:
                if columns(text) + 2 + len(part) < wide:
                    text += "  " + part
        self._draw_line(self._lines - 1, mark, fit(text, wide - 1))  # a terminal may scroll at its last column
        if self._paused:
            self._reverse(self._lines - 1, wide=8)

    def _draw(self):
        self._screen.erase()
        if self._lines < SMALLEST_LINES or self._wide < SMALLEST_COLUMNS:
            self._screen.addnstr(0, 0, "vampire-top: too small", max(self._wide - 1, 1))
        elif self._help:
            for at, text in enumerate(HELP[: self._lines - 2]):
                self._draw_line(at + 1, page.PLAIN, fit(text, self._wide - 1))
            self._draw_foot()
        else:
            self._draw_page()
        self._screen.refresh()

    def _draw_page(self):
        lines = page.head(self._snapshot, self._read.name, self._wide)
        for at, (mark, text) in enumerate(lines):
            self._draw_line(at, mark, text)
        top = len(lines) + 1
        rows = self._lines - top - 1
        attention = page.attention(self._snapshot, rows // 2 if rows > 6 else 0, self._wide)
        for at, (mark, text) in enumerate(attention, top):
            self._draw_line(at, mark, text)
            if mark == page.TITLE:
                self._reverse(at)
        top, rows = top + len(attention), rows - len(attention)
        # Components get the lines they need, up to three fifths, or those that the other table leaves.
        needed, other = (len(page.chosen(self._snapshot, kind, self._show)) + 1 for kind in (COMPONENTS, self._lower))
        upper = rows * 3 // 5
        if needed + other <= rows or needed <= upper:
            upper = needed
        elif other < rows * 2 // 5:
            upper = rows - other
        self._draw_table(COMPONENTS, top, upper)
        self._draw_table(self._lower, top + upper, rows - upper)
        self._draw_foot()

    # ---------------------------------------------------------------- keys

    def _type(self, key):
        show = self._show
        if key in (ord("\n"), ord("\r"), curses.KEY_ENTER):
            self._typing = False
        elif key == ESCAPE:
            show.filter, self._typing = "", False
        elif key in (curses.KEY_BACKSPACE, DELETE, BACKSPACE):
            show.filter = show.filter[:-1]
        elif 32 <= key < 127 and len(show.filter) < 63:
            show.filter += chr(key)
        self._first = dict.fromkeys(TABLES, 0)

    def _sort(self, sort):
        self._show.sort, self._show.reverse = sort, False
        self._first = dict.fromkeys(TABLES, 0)

    def _scroll(self, key):
        page_of_lines = self._lines // 2
        steps = {curses.KEY_UP: -1, curses.KEY_DOWN: 1, curses.KEY_PPAGE: -page_of_lines, curses.KEY_NPAGE: page_of_lines}
        if key == curses.KEY_HOME:
            self._first[self._focus] = 0
        self._first[self._focus] += steps.get(key, 0)  # drawing keeps it within the table

    def _next_lower(self):
        order = [PAIRS, BLAME] + ([DECLARED] if self._snapshot.tables[DECLARED] else [])
        at = order.index(self._lower) if self._lower in order else -1
        self._lower = order[(at + 1) % len(order)]
        self._focus = COMPONENTS if self._focus == COMPONENTS else self._lower

    def _key(self, key):
        show, letter = self._show, chr(key) if 0 < key < 128 else ""
        if self._typing:
            self._type(key)
        elif letter and letter in "obwn":
            self._sort(SORTS["obwn".index(letter)])
        elif letter == "s":
            self._sort(SORTS[(SORTS.index(show.sort) + 1) % len(SORTS)])
        elif letter == "q":
            self._quit = True
        elif letter in ("p", " "):
            self._paused = not self._paused
        elif letter == "t":
            show.totals, self._paused = not show.totals, False
        elif letter == "i":
            show.window_ns = 0 if show.window_ns >= 1000e9 else max(10 * show.window_ns, 10e9)
            show.totals = self._paused = False
        elif letter in ("m", "\n", "\r") or key == curses.KEY_ENTER:
            show.ranks, self._level_chosen, self._paused = self._snapshot.level == MODELS, True, False
        elif letter == "v":
            self._next_lower()
        elif letter == "r":
            show.reverse = not show.reverse
        elif letter == "/":
            self._typing, self._help = True, False
        elif key == ESCAPE:
            self._help, show.filter = False, ""
        elif letter in ("h", "?"):
            self._help = not self._help
        elif letter == "\t":
            self._focus = self._lower if self._focus == COMPONENTS else COMPONENTS
        else:
            self._scroll(key)

    # ---------------------------------------------------------------- the loop

    def _fit_screen(self):
        """The terminal's present size, within bounds. One that reports no size has that of terminfo."""
        try:
            lines, wide, _, _ = struct.unpack("HHHH", fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8)))
        except OSError:
            lines = wide = 0
        if lines and wide:
            lines, wide = min(lines, SCREEN_LINES_MAX), min(wide, COLUMNS_MAX)
            if curses.is_term_resized(lines, wide):
                curses.resizeterm(lines, wide)
        self._lines, self._wide = self._screen.getmaxyx()

    def _take_input(self):
        """Reads the available lines, also during a pause: the writer must not wait. Whether there is more at once."""
        until = time.monotonic() + TURN_SECONDS
        while not self._ended and time.monotonic() < until:
            try:
                state = self._read.read(self._model)
            except source.SourceError as error:
                self.failure, state = str(error), source.END
            self._ended = state == source.END
            if state == source.BUCKET:
                self._news = time.monotonic()
            if state in (source.IDLE, source.END):
                return False
        return not self._ended

    def _take_snapshot(self):
        """What is shown, unless that is paused: a pause keeps the numbers, but not their order."""
        if self._paused and self._snapshot is not None:
            return
        show, level = self._show, self._model.default_level()
        if self._level_chosen:
            level = RANKS if show.ranks else MODELS
        self._snapshot = self._model.snapshot(show.totals, level, show.window_ns)

    def loop(self, stopped):
        drawn = 0.0
        while not self._quit and not stopped:
            self._reading = self._take_input()
            keys = []
            while (key := self._screen.getch()) != curses.ERR:
                keys.append(key)
            if self._reading and not keys and time.monotonic() - drawn < DRAW_SECONDS:
                continue  # a long file is not drawn bucket by bucket
            self._fit_screen()
            self._take_snapshot()
            for key in keys:
                self._key(key)
            if keys:
                self._take_snapshot()
            self._draw()
            drawn = time.monotonic()
            if not self._reading:
                self._read.wait(0, PAUSE_SECONDS)


def keys_to_standard_input():
    """Reads keys from the terminal if standard input is something else; returns the descriptor of what it was."""
    if os.isatty(0):
        return 0
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise source.failed("open /dev/tty to read keys (--plain needs none)", error) from None
    data = os.dup(0)
    os.dup2(terminal, 0)
    os.close(terminal)
    os.set_blocking(data, False)
    return data


def run(read, model, show):
    """Shows until the user quits or SIGINT, SIGTERM or SIGHUP comes; leaves the terminal as it was. Raises SourceError: no
    usable terminal, or reading failed."""
    stopped = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stopped.append(True))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})  # curses would take any size
    curses.use_env(False)
    try:
        screen = curses.initscr()
    except curses.error:
        raise source.SourceError(0, f"the terminal \"{os.environ.get('TERM', '')}\" is not known here; set TERM, or use "
                                    "--plain") from None
    view = None
    try:
        curses.cbreak()
        curses.noecho()
        curses.set_escdelay(50)
        screen.nodelay(True)
        screen.keypad(True)
        try:
            curses.curs_set(0)
        except curses.error:
            pass
        view = View(screen, read, model, show)
        view.loop(stopped)
    finally:
        curses.endwin()
        sys.stdout.flush()
    if view.failure:
        raise source.SourceError(0, view.failure)
