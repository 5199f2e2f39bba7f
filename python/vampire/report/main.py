# SPDX-License-Identifier: BSD-3-Clause
"""The command vampire-report."""

import argparse
import pathlib
import sys
import warnings

import numpy as np

from .. import errors
from ..files import keep_private, write_private
from ..history import History
from ..progress import Progress
from . import text
from .compare import compare
from .content import Content

EXIT_CODES = ("Exit codes: 0 done; 1 the report could not be written; 2 wrong command line, or a file that it names is missing "
              "or not vampire's; 130 Ctrl-C.")


def moment_of(word):
    """A time of the command line."""
    try:
        return np.datetime64(word, "ns")
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{word}' is not a time such as 2026-01-31T12:00 (UTC)") from None


def parse_arguments(argv, version):
    """The options; ends the program when they are wrong."""
    parser = argparse.ArgumentParser(prog="vampire-report", epilog=EXIT_CODES,
                                     description="Makes a one-page report of what vampire wrote.")
    parser.add_argument("files", nargs="*", metavar="FILES", help="HDF5 files of one or several runs, patterns, or "
                        "directories; also files that vampire is writing")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("report.html"), metavar="FILE",
                        help="the HTML file to write (report.html)")
    parser.add_argument("--text", action="store_true", help="print the report as plain text, without pictures, instead")
    parser.add_argument("--csv", type=pathlib.Path, metavar="DIR", help="write each table into this directory, as CSV, instead")
    parser.add_argument("--png", type=pathlib.Path, metavar="DIR", help="also write each picture into this directory, as PNG")
    parser.add_argument("--from", dest="low", type=moment_of, metavar="TIME",
                        help="only buckets that begin at this time or later, such as 2026-01-31T12:00, UTC")
    parser.add_argument("--to", dest="high", type=moment_of, metavar="TIME", help="only buckets that begin before this time")
    parser.add_argument("--metrics", type=lambda word: word.split(","), metavar="NAME,...", help="only these metrics")
    parser.add_argument("--component", metavar="NAME", help="only what has to do with this component")
    parser.add_argument("--of-output", metavar="NAME", help="which output's files, if there are files of several")
    parser.add_argument("--trace", metavar="FILE", help="a trace of the same events, by an output of type trace: adds what the "
                        "longest wait waited for, and the critical path")
    parser.add_argument("--compare", nargs="+", metavar="RUN",
                        help="what differs between two runs (each a file, a pattern or a directory), from their begin on; of more "
                        "the last is compared with all before it, at least three: what differs by more than these do")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}", help="print the version, and exit")
    options = parser.parse_args(argv)
    if bool(options.files) == bool(options.compare):
        parser.error("give either FILES or --compare RUN RUN ...")
    if options.compare and len(options.compare) in (1, 3):
        parser.error(f"--compare {' '.join(options.compare)}: it takes two runs, or at least three earlier ones and the new one")
    if "-" in map(str, (*options.files, *(options.compare or ()), options.output, options.csv, options.png, options.trace)):
        parser.error("-: a file or directory is needed, not standard input or output; --text prints to standard output")
    if options.trace and options.compare:
        parser.error("--trace is of one run, --compare of several")
    return options


def report_of(options):
    """The Report that the options ask for."""
    between = (options.low, options.high)
    if options.compare:
        *earlier, first, second = options.compare
        first, second = (History(path, options.of_output, between) for path in (first, second))
        return compare([*earlier, first], second, options.metrics, options.component)
    history = History(options.files, options.of_output, between)
    with history.kept_open():
        return Content(history, options.metrics, options.component, options.trace).report()


def write(report, options, progress):
    """In the form that the options ask for."""
    if options.text:
        sys.stdout.write(text.page(report))
        sys.stdout.flush()
        return
    if options.csv:
        text.write_csv(report, options.csv)
        print(options.csv.resolve())
        return
    from . import html  # matplotlib takes a second to load
    # Names may hold characters that matplotlib's font has not; it draws a box for them. Ticks of odd spans of time are right.
    warnings.filterwarnings("ignore", "Glyph|AutoDateLocator")
    if options.png:
        options.png.mkdir(parents=True, exist_ok=True)
        for picture in report.pictures:
            progress.step(f"draws {picture.name}")
            write_private(options.png / f"{picture.name}.png", html.draw(picture.draw, False, False, "png"))
    write_private(options.output, html.page(report, progress.step).encode("utf-8"))
    progress.end()
    print(options.output.resolve())


def main(argv=None, version="unknown"):
    """The exit code."""
    if sys.stdout is None:
        print("vampire-report: the report cannot be written: standard output is closed", file=sys.stderr)
        return 1
    try:
        options = parse_arguments(argv, version)
    except OSError as error:  # of --help
        print(f"vampire-report: write the help: {error.strerror}", file=sys.stderr)
        return 1
    with Progress("vampire-report") as progress:
        warnings.showwarning = lambda text, *_: progress.say(f"vampire-report: warning: {text}")
        return make(options, progress)


def make(options, progress):
    """Reads the files and writes the report; the exit code."""
    try:
        progress.step("reads the files and makes the tables")
        keep_private([*(options.files or []), *(options.compare or []), *([options.trace] if options.trace else [])])
        report = report_of(options)
        progress.step("writes the report")
        if options.text or options.csv:
            progress.end()
        write(report, options, progress)
    except errors.TooLarge as error:
        progress.say(f"vampire-report: {error.args[0]}; --from TIME --to TIME reads a part of the run")
        return 2
    except errors.Error as error:
        progress.say(f"vampire-report: {error}")
        return 2
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        progress.say(f"vampire-report: the report cannot be written: {name}{error.strerror}")
        return 1
    return 0
