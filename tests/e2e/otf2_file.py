# SPDX-License-Identifier: BSD-3-Clause
"""Traces in OTF2, read by otf2-print and otf2-marker of the library's authors."""

import collections
import re
import subprocess

EVENT = re.compile(r'^(ENTER|LEAVE|MPI_SEND|MPI_RECV) +(\d+) +(\d+)  (.*)$')
ATTRIBUTE = re.compile(r'\("(\w+)" <\d+>; (?:STRING; "(.*?)" <\d+>|UINT64; (\d+))\)(?=, |$)')
LOCATION = re.compile(r'^LOCATION +(\d+)  Name: "(.*)" <\d+>, Type: CPU_THREAD, # Events: (\d+), Group: "(.*)" <\d+>$')
MESSAGE = re.compile(r'^(?:Receiver|Sender): (\d+) .*Tag: (\d+), Length: (\d+)$')

MARKER_KIND = re.compile(r'^MARKER_DEF +Group: "vampire", Category: "(.*)", Severity: MEDIUM$')
MARKER = re.compile(r'^MARKER +Time: (\d+), Duration 0, Scope: LOCATION:(\d+), Text: "(\d+).*"$')


def printed(tool, *arguments):
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, (done.stdout[-500:], done.stderr[-500:])
    return done.stdout.splitlines()


class Archive:
    """Spans as trace_file.Trace.spans has them; messages by tag; marks."""

    def __init__(self, anchor):
        self.locations = {int(found[1]): (found[4], found[2], int(found[3]))
                          for found in map(LOCATION.match, printed("otf2-print", "-Werror", "-G", anchor)) if found}
        self.spans, self.sent, self.received = collections.Counter(), {}, {}
        self.open, self.events = collections.defaultdict(list), collections.Counter()
        lines = printed("otf2-print", "-Werror", anchor)
        for line, after in zip(lines, lines[1:] + [""]):
            if found := EVENT.match(line):
                self.event(found[1], int(found[2]), int(found[3]), found[4], after if "ATTRIBUTES:" in after else "")
        assert not any(self.open.values()), "every region is left"
        assert all(self.events[number] == events for number, (_, _, events) in self.locations.items())
        self.marks, what = collections.Counter(), None
        for line in printed("otf2-marker", anchor):
            if found := MARKER_KIND.match(line):
                what = found[1]
            elif found := MARKER.match(line):
                self.marks[what, self.locations[int(found[2])][0], int(found[1]), int(found[3])] += 1

    def event(self, kind, location, time, text, attributes):
        self.events[location] += 1
        if kind in ("MPI_SEND", "MPI_RECV"):
            other, tag, size = map(int, MESSAGE.match(text).groups())
            (self.sent if kind == "MPI_SEND" else self.received)[tag] = (location, other, time, size)
            return
        region = re.match(r'Region: "(.*)" <\d+>$', text)[1]
        if kind == "ENTER":
            said = {name: string or number for name, string, number in ATTRIBUTE.findall(attributes)}
            self.open[location].append((region, time, said))
            return
        entered, start, said = self.open[location].pop()
        assert entered == region and start <= time
        component, more = self.locations[location][0], None
        if region in ("send", "receive"):
            more = said.get("component")
        elif region in ("life", "pending"):
            more = said["end"]
        elif self.open[location] and region != "in pool":
            region, more = "part", f"{region} {said['component']}"
        self.spans[region, component, start, time, more] += 1

    def check_messages(self):
        """Each was sent and received by tracks that know each other; returns how many."""
        assert self.sent.keys() == self.received.keys()
        for tag, (location, other, time, size) in self.sent.items():
            sink, source, end, received = self.received[tag]
            assert (sink, source, received) == (other, location, size) and time <= end
        return len(self.sent)
