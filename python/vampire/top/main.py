# SPDX-License-Identifier: BSD-3-Clause
"""The command line of vampire-top."""

import errno
import getopt
import locale
import os
import signal
import sys
import textwrap

from . import plain, source
from .model import Model

SORTS = ("operations", "bytes", "wait", "name")
SHOWN, UNREADABLE, USAGE = 0, 1, 2
DESCRIPTION = """\
Shows what vampire counts, from its output of type "jsonl": operations and bytes per second,
the pool, models or components and their waits, the busiest pairs, who waited for whom,
declared metrics, losses. The key h lists all keys.

SOURCE is a file (followed, also into the next segments), a FIFO, unix:PATH or
tcp:[ADDRESS:]PORT on this machine, or - for standard input, which is the default if it is not a
terminal.
"""
EXIT_CODES = """\
Exit codes:
  0  the run was shown to its end, or until the user quit
  1  SOURCE cannot be read, or has no bucket; stderr has the reason
  2  error in the command line, or SOURCE does not exist or is not vampire's
"""


OPTIONS = [  # letter, name, argument, help
    ("1", "once", "", "print the latest state as plain text, and end"),
    ("p", "plain", "", "print a block of text for each bucket; the default when standard output is not a terminal"),
    ("t", "totals", "", "show totals of all buckets seen instead of the rates of the latest bucket"),
    ("n", "window", "SECONDS", "show the rates of the last SECONDS instead of those of the latest bucket"),
    ("r", "ranks", "", "show each rank, also where there are many, which are shown by model"),
    ("s", "sort", "KEY", "sort by operations, bytes, wait or name (operations)"),
    ("f", "filter", "TEXT", "show only components and pairs whose name contains TEXT"),
    ("a", "all", "", "read a long file from its beginning instead of its last 16 MiB"),
    ("w", "wait", "", "wait for a SOURCE that does not exist yet"),
    ("h", "help", "", "print this text, and end"),
    ("V", "version", "", "print the version, and end"),
]
FILTER_LENGTH = 63
SECONDS_MAX = 1_000_000


class UsageError(Exception):
    """An error in the command line, in words."""


def help_text():
    lines = ["usage: vampire-top [OPTION...] [SOURCE]", "", DESCRIPTION, "Options:"]
    for letter, name, argument, text in OPTIONS:
        option = f"  -{letter}, --{name} {argument}".rstrip()
        first, *others = textwrap.wrap(text, 68)
        lines += [f"{option:29}  {first}"] + [" " * 31 + line for line in others]
    return "\n".join([*lines, "", EXIT_CODES])


class Show:
    """What the user chose. window_ns: rates cover so much time, 0: the newest bucket."""

    def __init__(self):
        self.once = self.plain = self.totals = self.ranks = self.all = self.wait = self.reverse = False
        self.sort, self.filter, self.window_ns = "operations", "", 0
        self.source = "-"

    def set(self, name, argument):
        if name == "window":
            if not (argument.isascii() and argument.isdigit()) or not 1 <= int(argument[:9]) <= SECONDS_MAX or len(argument) > 7:
                raise UsageError(f"--window {argument}: it is a number of seconds, 1 to {SECONDS_MAX}")
            self.window_ns = int(argument) * 1e9
        elif name == "sort":
            if argument not in SORTS:
                raise UsageError(f"--sort {argument}: it is one of {', '.join(SORTS)}")
            self.sort = argument
        elif name == "filter":
            if len(argument) > FILTER_LENGTH:
                raise UsageError(f"--filter: a text of at most {FILTER_LENGTH} characters")
            self.filter = argument
        else:
            setattr(self, name, True)


def options_of(arguments):
    """(Show, names of the options that were given). Raises UsageError."""
    letters = "".join(letter + ":" * bool(argument) for letter, _, argument, _ in OPTIONS)
    names = [name + "=" * bool(argument) for _, name, argument, _ in OPTIONS]
    long_names = {f"-{letter}": name for letter, name, _, _ in OPTIONS}
    try:
        found, sources = getopt.gnu_getopt(arguments, letters, names)
    except getopt.GetoptError as error:
        raise UsageError(f"{error.msg}; see vampire-top --help") from None
    show, given = Show(), set()
    for option, argument in found:
        name = long_names.get(option, option[2:])
        given.add(name)
        show.set(name, argument)
    if len(sources) > 1:
        raise UsageError(f'one SOURCE at a time, not "{sources[0]}" and "{sources[1]}"; see vampire-top --help')
    if not sources and not given & {"help", "version"} and os.isatty(0):
        raise UsageError("which SOURCE? The file of vampire's jsonl output, such as vampire.jsonl; see vampire-top --help")
    show.source = sources[0] if sources else "-"
    try:
        source.check(show.source)
    except source.SourceError as error:
        raise UsageError(str(error)) from None
    return show, given


def show_stream(show):
    is_plain = show.plain or show.once or not os.isatty(1) or os.environ.get("TERM", "") in ("", "dumb")
    standard_input = 0
    if not is_plain:
        from . import view  # pylint: disable=import-outside-toplevel
        standard_input = view.keys_to_standard_input()
    read = source.Source(show.source, show.wait, show.all, standard_input)
    (plain if is_plain else view).run(read, Model(), show)


def main(arguments=None, version="unknown"):
    """Returns the exit code."""
    try:
        locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:  # of a locale that is not installed
        pass
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stdout is None:
        sys.stderr.write("vampire-top: standard output is closed\n")
        return UNREADABLE
    try:
        show, given = options_of(sys.argv[1:] if arguments is None else arguments)
        if "help" in given:
            print(help_text(), end="")
        elif "version" in given:
            print(f"vampire-top {version}")
        else:
            show_stream(show)
        sys.stdout.flush()
    except UsageError as error:
        sys.stderr.write(f"vampire-top: {error}\n")
        return USAGE
    except BrokenPipeError:  # `vampire-top FILE | head` is no failure
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except source.SourceError as error:
        sys.stderr.write(f"vampire-top: {error}\n")
        return USAGE if error.code in (errno.ENOENT, errno.EISDIR, errno.EBADMSG) else UNREADABLE
    except OSError as error:
        sys.stderr.write(f"vampire-top: {error}\n")
        return UNREADABLE
    return SHOWN
