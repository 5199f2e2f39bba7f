# SPDX-License-Identifier: BSD-3-Clause
"""As text, for logs, pipes and simple terminals: a block for each bucket, or the newest state once."""

import errno
import sys

from . import page, source
from .rows import BLAME, COMPONENTS, DECLARED, MODELS, PAIRS, RANKS, TABLES
from .text import COLUMNS_MAX

COLUMNS = 100
ROWS = {COMPONENTS: 40, PAIRS: 20, BLAME: 20, DECLARED: 40}  # by name; the rest is one row
PAUSE_SECONDS = 0.2


def _print(lines):
    """Losses are marked, since there are no colours."""
    for mark, text in lines:
        print(("! " if mark == page.LOSS else "  ") + text.rstrip(" "))


def _newest(read, model, show):
    snapshot = model.snapshot(show.totals, RANKS if show.ranks else model.default_level(), show.window_ns)
    if not snapshot.any:
        why = "; is it a JSON lines output of vampire, version 2?" if model.bad_lines else " yet"
        raise source.SourceError(errno.EBADMSG if model.bad_lines else 0, f"{read.name}: it has no bucket{why}")
    _print(page.head(snapshot, read.name, COLUMNS_MAX))
    _print(page.attention(snapshot, page.ATTENTION_LINES, COLUMNS))
    for kind in TABLES:
        _print(page.table(snapshot, kind, page.chosen(snapshot, kind, show), 0, ROWS[kind], COLUMNS))
    print(flush=True)  # a reader of a pipe needs each bucket at once


def _end(model):
    """The run has ended: its buckets were shown, but not what was lost after the last of them."""
    snapshot = model.snapshot(totals=True, level=MODELS)
    print(f"  ended: {snapshot.state.end_reason}")
    _print(page.losses(snapshot, COLUMNS_MAX))
    print(flush=True)


def run(read, model, show):
    """Prints until the source ends. Raises SourceError: reading failed, or the source has no bucket; OSError: printing
    failed."""
    seen = False
    while True:
        state = read.read(model)
        seen |= state == source.BUCKET
        if state == source.END:
            if show.once or not seen:
                _newest(read, model, show)
            return
        idle_file = state == source.IDLE and read.is_settled
        # The newest state was reached, or the file is not one of vampire's.
        if (show.once and state == source.IDLE and (seen or idle_file)) or (idle_file and model.is_foreign):
            _newest(read, model, show)
            return
        if state == source.BUCKET and not show.once:
            _newest(read, model, show)
        elif state == source.CLOSED and not show.once and seen:
            _end(model)
        elif state == source.IDLE:
            sys.stdout.flush()
            read.wait(None, PAUSE_SECONDS)
