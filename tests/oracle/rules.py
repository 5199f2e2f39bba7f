# SPDX-License-Identifier: BSD-3-Clause
"""What a configuration says about which events count: the first filter, sampling, the filters of
single metrics, the selected CDOs. From docs/configuration.md."""

import stream
from catalogue import OTHER, SECOND
from language import Filter, glob, number

PASSED, FILTERED, SAMPLED_OUT = "passed", "filtered", "sampled out"
COMPONENT_KINDS = ("join", "leave", "subscribe", "unsubscribe")
NEVER_SAMPLED = COMPONENT_KINDS
MILLION = 10**6


class Fields:
    """What a filter can ask about an event. `rows` finds a component by its application id."""

    def __init__(self, event, find_row):
        self.event, self.find_row = event, find_row
        self.kind = stream.KINDS[event.kind]

    def __call__(self, name):
        section, field = name[1:].split(".", 1)
        ask = {"event": self.of_event, "component": self.of_component, "peer": self.of_peer,
               "cdo": self.of_cdo, "transport": self.of_transport}[section]
        value = ask(field)
        return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value

    def value_of(self, field):
        return getattr(self.event, field) if self.event.HasField(field) else None

    def name_of(self, app):
        row = None if app is None else self.find_row(app)
        return None if row is None or row.joined is None or row.name == OTHER else row.name

    def of_component(self, field):
        if field == "id":
            return self.value_of("app_id")
        if self.kind in COMPONENT_KINDS and self.event.HasField("name"):
            return self.event.name
        return self.name_of(self.value_of("app_id"))

    def of_peer(self, field):
        return self.value_of("peer_id") if field == "id" else self.name_of(self.value_of("peer_id"))

    def of_cdo(self, field):
        if self.kind in COMPONENT_KINDS:
            return None
        if field == "id":
            return self.event.cdo_id.hex() if self.event.HasField("cdo_id") else None
        return self.value_of({"name": "name", "size": "size_bytes"}[field])

    def of_transport(self, field):
        if not self.kind.startswith("transport_"):
            return None
        if field == "duration":
            return None if self.kind == "transport_init" else self.value_of("duration_ns")
        number = self.value_of(field)
        words = {"tier": stream.TIERS, "cause": stream.CAUSES}[field]
        return None if number is None else words.get(number)

    def of_event(self, field):
        return {"kind": self.kind, "phase": "before" if self.event.before else "after",
                "time": stream.time_of(self.event), "serial": self.value_of("serial")}[field]


def mix(bits):
    """The finalizer of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        bits = (bits ^ bits >> 33) * factor % 2**64
    return bits ^ bits >> 33


class Fraction:
    def __init__(self, per_million):
        self.per_million, self.weight = per_million, MILLION / per_million

    @staticmethod
    def hash_of(event):
        high, low = (int.from_bytes(event.cdo_id[at : at + 8], "big") for at in (0, 8))
        return mix(mix((high + 0x9E3779B97F4A7C15) % 2**64) ^ low)

    def passes(self, event):
        return not event.HasField("cdo_id") or self.hash_of(event) < self.per_million * 2**64 // MILLION


class Rules:
    """Of one effective configuration. An object lasts from one reading of the file to the next."""

    def __init__(self, configuration):
        self.named = configuration.get("filters", {})
        self.events = configuration.get("events", {})
        self.first = self.compiled(self.events.get("filter"))
        statistics = configuration.get("statistics", {})
        self.selected = self.compiled(statistics.get("selected"))
        self.metrics = {name: self.compiled(text)
                        for name, text in (statistics.get("filters") or {}).items()}
        self.sample = Fraction(configuration.get("sampling", {}).get("fraction", MILLION))
        self.weight = self.sample.weight

    def compiled(self, text):
        return Filter(text, self.named) if text else None

    def judge(self, event, find_row):
        fields = Fields(event, find_row)
        if not self.counts(fields):
            return FILTERED
        return PASSED if self.sample.passes(event) or fields.kind in NEVER_SAMPLED else SAMPLED_OUT

    @staticmethod
    def may_leave_out(event):
        return event.HasField("cdo_id") and stream.KINDS[event.kind] not in NEVER_SAMPLED

    def counts(self, fields):
        """All conditions of the section "events"."""
        chosen = self.events
        kinds = chosen.get("kinds", "all")
        if kinds != "all" and "all" not in kinds and fields(".event.kind") not in kinds:
            return False
        for key, name in (("components", ".component.name"), ("cdo_names", ".cdo.name")):
            value = fields(name)
            if chosen.get(key) and (value is None or not any(
                    glob(pattern).fullmatch(value) for pattern in chosen[key])):
                return False
        least = number(chosen.get("min_size", "0B"))
        if least and (fields(".cdo.size") is None or fields(".cdo.size") < least):
            return False
        return self.first is None or self.first.holds(fields)

    def excluded(self, event, find_row):
        """The metrics for which this event does not count."""
        fields = Fields(event, find_row)
        return {name for name, filter in self.metrics.items() if not filter.holds(fields)}

    def selects(self, event, find_row):
        return self.selected is None or self.selected.holds(Fields(event, find_row))
