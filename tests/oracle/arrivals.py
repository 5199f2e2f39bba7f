# SPDX-License-Identifier: BSD-3-Clause
"""Times of arrival: docs/metrics.md."""

ON_THE_WAY = 10_000_000
PIECE, PIECES = 1 << 26, 4096  # ns; how many are remembered


class Arrivals:
    """How far times between events may be off that are those of reading the events."""

    def __init__(self):
        self.empty = 0  # when nothing waited, as far as is known
        self.longest = 0
        self.pieces = {}  # place -> number of the piece, longest wait in it
        self.resolution = 0

    def waited(self, time):
        """For how long an event that arrives now may have waited, at most."""
        own = ON_THE_WAY + (time - self.empty if 0 < self.empty < time else 0)
        number = time // PIECE
        before = self.pieces.get(number % PIECES, (None, 0))
        self.pieces[number % PIECES] = number, max(own, before[1] if before[0] == number else 0)
        self.longest = max(self.longest, own)
        self.resolution = max(self.resolution, own)
        return own

    def blurred(self, own, time, value):
        """A time that ends with an event that may have waited for `own`, and how far it may be off."""
        begin = (time - value) // PIECE
        number, wait = self.pieces.get(begin % PIECES, (None, 0))
        off = own + (wait if number == begin else self.longest)
        self.resolution = max(self.resolution, value + off if value < off else off)
        return (0 if value < off else value), off

    def blur(self, event):
        """All times that end with this event (event.Event)."""
        own = self.waited(event.time)
        for times in event.waits, event.lifecycle:
            for metric, value in times.items():
                if value is None:
                    continue
                times[metric], off = self.blurred(own, event.time, value)
                if metric == "demand_wait_ns" and event.parts is not None:
                    event.parts = {part: times[metric] if part == "unknown" else 0 if one < off else one
                                   for part, one in event.parts.items()}
        for name in "association", "transport_time":
            if getattr(event, name) is not None:
                setattr(event, name, self.blurred(own, event.time, getattr(event, name))[0])
