# SPDX-License-Identifier: BSD-3-Clause
"""What a stream reports as missing."""

from .text import clean

LOSSES_MAX = 24


class Loss:
    """`count`: since the run began; `fresh`: of these, in the newest bucket."""

    def __init__(self):
        self.count = self.fresh = 0


class Losses:
    def __init__(self):
        self.by_text = {}  # "events in ring", "buckets of live": Loss
        self.received = self.counted = self.filtered = self.late = self.lost = 0  # events since the run began
        self.gaps, self.gap = 0, ""  # stretches of the stream that miss events, and the last of them

    def _of(self, text):
        """The last entry takes losses that have no room."""
        text = clean(text, 63)
        if text not in self.by_text and len(self.by_text) >= LOSSES_MAX:
            return list(self.by_text.values())[-1]
        return self.by_text.setdefault(text, Loss())

    def _report(self, text, count, is_first):
        """A number that only grows. What was lost before the first bucket of the stream is not fresh."""
        loss = self._of(text)
        loss.fresh = 0 if is_first else max(count - loss.count, 0)
        loss.count = count

    def accounting(self, line, number, is_first):
        """The member "accounting" of a bucket or the end; without it, the one before still holds. number: reads a member
        as a number."""
        accounting = line.get("accounting")
        if not isinstance(accounting, dict):
            for loss in self.by_text.values():
                loss.fresh = 0
            return
        self.received, self.counted, self.filtered, self.late = (
            number(accounting, key) for key in ("received", "counted", "filtered", "late"))
        lost = accounting.get("lost")
        lost = lost if isinstance(lost, dict) else {}
        self.lost = 0
        for reason in lost:
            self._report(f"events in {reason[:40]}", number(lost, reason), is_first)
            self.lost += number(lost, reason)
        self._report("events rejected", number(accounting, "rejected"), is_first)
        outputs = accounting.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            if isinstance(output, dict):
                self._report(f"buckets of {str(output.get('name', ''))[:40]}", number(output, "lost"), is_first)

    def line_lost(self, line, count):
        """Lines that were too long are reported nowhere else; other losses come with the accounting."""
        if line.get("what") == "lines":
            loss = self._of("lines too long")
            loss.fresh = count
            loss.count += count

    def gap_line(self, line):
        """Shows the times of day of two RFC 3339 times."""
        start, end, reason = (str(line.get(key, "")) for key in ("start", "end", "reason"))
        self.gaps += 1
        self.gap = clean(f"{start[11:23] or '?'} to {end[11:23] or '?'} ({reason[:31]})", 127)
