# SPDX-License-Identifier: BSD-3-Clause
"""What a command does, on a terminal, from one second on."""

import sys
import threading
import time

FIRST_S, NEXT_S = 1.0, 0.5  # until the line appears, and between its changes


class Progress:
    """A line of standard error that names the present step and its seconds. A thread writes it, since a step may be one
    call of a library. Nothing is shown where standard error is not a terminal. To be used in `with`."""

    def __init__(self, program):
        self._program, self._step, self._shown = program, "", False
        self._began = time.monotonic()
        self._lock, self._ended = threading.Lock(), threading.Event()
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._thread = threading.Thread(target=self._show, daemon=True) if is_terminal else None

    def step(self, text):
        """What is done now."""
        self._step = text

    def _show(self):
        pause = FIRST_S
        while not self._ended.wait(pause):
            with self._lock:
                if not self._ended.is_set():
                    print(f"\r\x1b[K{self._program}: {self._step}, {time.monotonic() - self._began:.0f} s", end="", file=sys.stderr, flush=True)
                    self._shown = True
            pause = NEXT_S

    def say(self, text):
        """Prints a message in place of the line, which comes back."""
        with self._lock:
            self._erase()
            print(text, file=sys.stderr)

    def end(self):
        """Removes the line for good."""
        with self._lock:
            self._ended.set()
            self._erase()

    def _erase(self):
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False

    def __enter__(self):
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_):
        self.end()
        if self._thread:
            self._thread.join()
