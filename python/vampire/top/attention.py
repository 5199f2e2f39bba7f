# SPDX-License-Identifier: BSD-3-Clause
"""What an operator should see first: alarms, and demands that have waited for more than a bucket. Bounded; what has no
room is counted."""

from .text import clean

ALARMS_MAX = 64
WAITING_MAX = 16
RESOLVED_NS = 60e9  # an alarm that ended is shown for this time
STATES = ("firing", "pending", "resolved")
SEVERITIES = ("critical", "warning", "info")


class Alarm:
    """`changed_ns`: the time seen until it entered its state."""

    def __init__(self, line, changed_ns):
        def text(key, limit=191):
            value = line.get(key)
            return clean(value, limit) if isinstance(value, str) else ""

        self.rule, self.unit, self.since = text("alarm", 63), text("unit", 15), text("since", 31)
        self.component, self.cdo = text("component"), text("cdo")
        self.instance = line.get("instance", 0)
        self.state = line.get("state")
        self.severity = SEVERITIES.index(line["severity"]) if line.get("severity") in SEVERITIES else 2
        self.silenced = line.get("silenced") is True
        value = line.get("value")
        self.value = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        self.changed_ns = changed_ns

    def order(self):
        """What fires comes first, of that what is silenced last, then by severity, then what changed last."""
        return STATES.index(self.state), self.silenced, self.severity, -self.changed_ns, self.rule


class Waiting:
    def __init__(self, line, age_ns):
        def text(key):
            value = line.get(key)
            return clean(value) if isinstance(value, str) else ""

        self.component, self.producer = text("component"), text("producer")
        self.cdo = text("name") or text("id")
        self.age_ns = age_ns
        self.offered, self.uncertain = line.get("offered") is True, line.get("uncertain") is True


class Attention:
    def __init__(self):
        self.alarms = []
        self.unseen_firing = 0  # alarms that began before the stream that is read
        self.waiting, self.demands = [], 0  # the oldest, and how many wait in all
        self._incoming, self._demands, self._listed_firing = [], 0, 0

    def alarm(self, line, seen_ns):
        """A line about an alarm. seen_ns: the widths of all buckets so far."""
        changed = Alarm(line, seen_ns)
        self.alarms = [alarm for alarm in self.alarms if (alarm.rule, alarm.instance) != (changed.rule, changed.instance)]
        if changed.state not in STATES:  # it was cleared before it fired
            return
        resolved = [alarm for alarm in self.alarms if alarm.state == "resolved"]
        if len(self.alarms) >= ALARMS_MAX and resolved:
            self.alarms.remove(resolved[0])
        if len(self.alarms) < ALARMS_MAX:
            self.alarms.append(changed)

    def pending(self, line, demands, age_ns):
        """A line about a demand that waits: one of so many, since so long."""
        self._demands = demands
        if len(self._incoming) < WAITING_MAX:
            self._incoming.append(Waiting(line, age_ns))

    def commit(self, firing, seen_ns):
        """The bucket is complete. firing: alarms that fired at the end of the bucket before, as vampire reports."""
        self.waiting, self.demands = self._incoming, self._demands
        self._incoming, self._demands = [], 0
        self.unseen_firing = max(firing - self._listed_firing, 0)
        self._listed_firing = sum(alarm.state == "firing" for alarm in self.alarms)
        self.alarms = [alarm for alarm in self.alarms
                       if alarm.state != "resolved" or seen_ns - alarm.changed_ns <= RESOLVED_NS]
