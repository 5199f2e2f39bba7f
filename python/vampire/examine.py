# SPDX-License-Identifier: BSD-3-Clause
"""vampire --examine: what the events of a Maestro carry and mean, found out by a small workflow with known answers.
`vampire` starts the processes of that workflow (vampire/live/actor.h has their orders and answers) and then main()."""

import datetime
import json
import math
import os
import socket
import sys
import time

from .errors import Error

SOON = 10      # s, for an answer
HELD_UP = 3    # a DEMAND of what is there that has no answer by then waits for something else
EARLY = 0.5    # data that move at REQUIRE have moved by then
FLOOD = 60
COARSE = 10**6     # ns
SAME_TIME = 10**9  # ns by which the clocks of two hosts may differ
CDO_BYTES = 4096   # of each CDO that is offered
ORDINARY, ANNOUNCED, LAST, *OTHERS = range(10)  # CDOs: of an ordinary life, demanded under before-events, one after a loss, and some for their ids
ROLES = ("pool manager", "observer", "producer", "consumer")
# The questions: title, and by the word of the verdict: whether it leaves nothing to be known, and a sentence.
QUESTIONS = {
    "times": ("event times", {
        "event": (True, "events carry the time of the operation"),
        "none": (False, "events carry no time: times are those of reading them"),
        "coarse": (False, "times of events have a step of more than 1 ms: times are those of reading them"),
        "other": (False, "times of events are not those of the operations")}),
    "sizes": ("sizes", {
        "bytes": (True, "events carry the size of the CDO"),
        "none": (False, "events carry no size"),
        "other": (False, "sizes of events are not those of the CDOs")}),
    "serials": ("serial numbers", {
        "dense": (True, "serial numbers are the pool's, and have no gaps: a gap is a lost event"),
        "pool": (True, "serial numbers are the pool's, and ascend"),
        "none": (False, "events have no serial numbers"),
        "subscription": (False, "serial numbers count each subscription by itself"),
        "other": (False, "serial numbers do not ascend")}),
    "order": ("order", {
        "kept": (True, "events are in the order of the operations"),
        "incomplete": (False, "not every operation has an event"),
        "other": (False, "events are not in the order of the operations")}),
    "transports": ("transports name", {
        "sink": (True, "the component that receives"),
        "source": (True, "the one that sends; history shows who receives"),
        "none": (False, "neither source nor sink")}),
    "before": ("before-events", {
        "harmless": (True, "events before handling hold up nothing"),
        "wait": (True, "operations wait for an answer: do not ask for them"),
        "none": (False, "operations are not reported before they are handled"),
        "not examined": (False, "it could hold up others: --intrusive")}),
    "early": ("early data", {
        "no": (True, "data move when they are demanded"),
        "yes": (True, "data move before they are demanded"),
        "unknown": (False, "transports are not reported")}),
    "losses": ("losses", {
        "reported": (True, "events that a slow subscriber lost are reported"),
        "gaps": (False, "losses are gaps in serial numbers, and not reported"),
        "silent": (False, "a slow subscriber loses events, and nothing says so"),
        "not seen": (False, "a slow subscriber lost nothing here"),
        "not examined": (False, "it would be a load on others: --intrusive")}),
    "ids": ("ids of CDOs", {
        "unique": (True, "each CDO has an id of its own"),
        "none": (False, "events carry no id of the CDO"),
        "shared": (False, "several CDOs have the same id")}),
    "names": ("names of CDOs", {
        "all": (True, "events name the CDO"),
        "none": (False, "events of CDOs do not name them")}),
    "kinds": ("kinds of events", {
        "known": (True, "all events are of known kinds"),
        "others": (False, "some events are of unknown kinds, which count as rejected")}),
}


class HeldUp(Error):
    """There is no answer yet."""


class Actor:
    """A process of the workflow."""

    def __init__(self, number, role):
        self.name = f"vampire examines: {role}"
        self._socket = socket.socket(fileno=number)

    def do(self, *order, seconds=SOON):
        """The answer to an order; Error if it could not follow it."""
        self._socket.send("\n".join(map(str, order)).encode())
        return self.answer(f'"{self.name}" could not {order[0]}', seconds)

    def answer(self, what, seconds):
        """The answer to what it was told; `what` it could not do, if it could not."""
        self._socket.settimeout(seconds)
        try:
            text = self._socket.recv(1 << 20)
        except TimeoutError:
            raise HeldUp(f"{what}: no answer in {seconds} s") from None
        found = json.loads(text) if text else {"error": "its process died"}
        if "error" in found:
            raise Error(f"{what}: {found['error']}")
        return found


class Workflow:
    """The examination. `info`: of a pool manager that is there; "": one is started, and examined intrusively."""

    def __init__(self, sockets, workflow, info, intrusive):
        self.manager, self.observer, self.producer, self.consumer = self._actors = \
            [Actor(number, role) for number, role in zip(sockets, ROLES)]
        self._workflow, self._info, self._intrusive, self._own = workflow, info, intrusive, not info
        self._deeds = []  # (kind, cdo, begin, end) of what was done
        self._seen = []   # events of it, as they came
        self._cdo = ORDINARY  # of the newest deed
        self._strange = 0  # events of unknown kinds
        self._unnamed = False  # events do not name their CDOs
        self._gaps = 0    # missing serial numbers while nothing was lost

    def examine(self):
        """{question: word}"""
        try:
            self._gather()
            before_demand = self._live()
            words = {"before": self._announce() if self._intrusive else "not examined"}
            self._take()
            for cdo in OTHERS:
                self._does(cdo, (self.producer, "declare"), (self.producer, "dispose"))
                self._take()
            if not self._seen:
                raise Error("no event has come")
            return {**words, **self._judge(before_demand), "losses": self._lose() if self._intrusive and not self._unnamed else "not examined"}
        finally:
            self._leave()

    # ---- what is done

    def _gather(self):
        if not self._info:
            self._info = self.manager.do("manage", self._workflow, self.manager.name, seconds=3 * SOON)["info"]
        for actor in self._actors[1:]:
            actor.do("join", self._workflow, actor.name, self._info, seconds=3 * SOON)
            if actor is self.observer:
                actor.do("subscribe")

    def _leave(self):
        for actor in reversed(self._actors):
            try:
                actor.do("leave", seconds=HELD_UP)
            except (Error, OSError):
                pass  # it is killed

    def _does(self, cdo, *deeds):
        for actor, kind in deeds:
            self._cdo = cdo
            done = actor.do(kind, cdo)
            self._deeds.append((kind, cdo, done["begin_ns"], done["end_ns"]))

    def _take(self):
        taken = self.observer.do("take", seconds=FLOOD)
        self._strange += taken["strange"]
        for event in taken["seen"]:
            if event["cdo"] is None and self._own:  # nobody else has CDOs here
                self._unnamed, event["cdo"] = True, self._cdo
        self._seen += [event for event in taken["seen"] if event["cdo"] is not None]
        return taken

    def _begin(self, cdo):
        self._does(cdo, (self.producer, "declare"), (self.producer, "offer"), (self.consumer, "declare"),
                   (self.consumer, "require"))

    def _end(self, cdo):
        self._does(cdo, (self.consumer, "dispose"), (self.producer, "withdraw"), (self.producer, "dispose"))

    def _live(self):
        """An ordinary life; how many events came before its DEMAND."""
        self._begin(ORDINARY)
        time.sleep(EARLY)
        self._gaps += self._take()["gaps"]
        before_demand = len(self._seen)
        self._does(ORDINARY, (self.consumer, "demand"))
        self._end(ORDINARY)
        self._gaps += self._take()["gaps"]
        return before_demand

    def _announce(self):
        """Whether a DEMAND that is reported before it is handled waits for an answer; then it is freed."""
        try:
            self.observer.do("subscribe_before")
        except HeldUp:
            raise
        except Error:
            return "none"
        self._begin(ANNOUNCED)
        held_up = False
        try:
            self.consumer.do("demand", ANNOUNCED, seconds=HELD_UP)
        except HeldUp:
            held_up = True
        self._take()
        self.observer.do("drop_before")
        if held_up:
            self.consumer.answer("a DEMAND that was announced failed", SOON)
        self._end(ANNOUNCED)
        announced = any(event["stream"] == "before" for event in self._seen)
        return "none" if not announced else "wait" if held_up else "harmless"

    def _lose(self):
        try:
            missing = self.producer.do("flood", seconds=FLOOD)["flooded"]
        except Error:
            return "not seen"
        lost = gaps = 0
        for kind in ("declare", "dispose"):
            taken = self._take()
            missing = max(0, missing - taken["flooded"])
            lost, gaps = lost + taken["lost"], gaps + taken["gaps"]
            self.consumer.do(kind, LAST)  # what was lost last shows when there is another event
        if not missing:
            return "not seen"
        return "reported" if lost >= missing else "gaps" if not self._gaps and gaps >= missing else "silent"

    # ---- what it means

    def _judge(self, before_demand):
        every = [event for event in self._seen if event["stream"] == "all"]
        places, matched = [], []  # of the events of all deeds; of one kind and CDO the producer's is first
        for kind, cdo, begin, end in self._deeds:
            found = next((n for n, event in enumerate(every)
                          if n not in places and (event["kind"], event["cdo"]) == (kind, cdo)), None)
            places.append(found)
            matched += [(every[found], begin, end)] if found is not None else []
        return {"times": self._times(matched), "sizes": self._sizes(), "serials": self._serials(every),
                "order": "incomplete" if None in places else "kept" if places == sorted(places) else "other",
                "ids": self._ids(), "names": "none" if self._unnamed else "all", "kinds": "others" if self._strange else "known",
                **self._transports(before_demand)}

    def _first(self, kind, stream="all"):
        """Where the event of the ordinary CDO is; None: there is none."""
        return next((n for n, event in enumerate(self._seen)
                     if (event["stream"], event["kind"], event["cdo"]) == (stream, kind, ORDINARY)), None)

    def _of(self, place, member):
        """A member of the event there; None: there is none."""
        return None if place is None else self._seen[place].get(member)

    @staticmethod
    def _times(matched):
        if not all("time_ns" in event for event, *_ in matched):
            return "none"
        right = all(begin - SAME_TIME <= event["time_ns"] <= end + SAME_TIME for event, begin, end in matched)
        if not right:
            return "other"
        times = sorted({event["time_ns"] for event, *_ in matched})
        step = math.gcd(*(later - sooner for sooner, later in zip(times, times[1:])))
        return "coarse" if step >= COARSE or len(times) == 1 else "event"

    def _ids(self):
        cdos = {}
        for event in self._seen:
            if "id" in event:
                cdos.setdefault(event["id"], set()).add(event["cdo"])
        return "none" if not cdos else "shared" if any(len(one) > 1 for one in cdos.values()) else "unique"

    def _sizes(self):
        sizes = {event["bytes"] for event in self._seen if "bytes" in event}
        return "none" if not sizes else "bytes" if sizes == {CDO_BYTES} else "other"

    def _serials(self, every):
        serials = [event["serial"] for event in every]
        if not any(serials):
            return "none"
        offers = [self._of(self._first("offer", stream), "serial") for stream in ("all", "offers")]
        if None in offers or offers[0] != offers[1]:
            return "subscription"
        if not all(one < other for one, other in zip(serials, serials[1:])):
            return "other"
        return "pool" if self._gaps else "dense"

    def _transports(self, before_demand):
        moved = self._first("transport_completed")

        names, sink, source = (self._of(place, "app_id") for place in (moved, self._first("demand"), self._first("offer")))
        return {"transports": "none" if names is None else "sink" if names == sink else "source" if names == source else "none",
                "early": "unknown" if moved is None else "yes" if moved < before_demand else "no"}


def _write(path, verdict):
    try:
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(verdict, file, indent=2)
            file.write("\n")
        os.replace(f"{path}.new", path)
    except OSError as error:
        raise Error(f"write {path}: {error.strerror} (source.examined names another file)") from None


def main(arguments):
    """arguments: the sockets, the versions of vampire and Maestro, where the verdict goes, the workflow of the pool manager in the
    environment (or "": one is started), and "intrusive" or "". The exit code: 0: all is known; 1: less; 3: Maestro cannot be used,
    or the verdict not be written."""
    sockets, vampire, maestro, path, workflow, intrusive = arguments
    parent = os.getppid()
    info = os.environ["MSTRO_POOL_MANAGER_INFO"] if workflow else ""  # a secret, which no list of processes shows
    workflow = workflow or f"vampire-examines-{os.getppid()}"
    try:
        words = Workflow(map(int, sockets.split(",")), workflow, info, bool(intrusive) or not info).examine()
        if os.getppid() != parent:
            raise Error("vampire was ended: there is no verdict")  # what its processes did not do means nothing
        whole = 0
        print(f"vampire examined Maestro {maestro}:\n")
        for key, (title, answers) in QUESTIONS.items():
            is_whole, sentence = answers[words[key]]
            whole += is_whole
            print(f"  {title:16} {words[key]:13} {sentence}")
        print(f"\n{whole} of {len(QUESTIONS)} are known; runs of vampire take them from {path}", flush=True)
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        _write(path, {"vampire": vampire, "maestro": maestro, "time": now, **{key: words[key] for key in QUESTIONS}})
    except (Error, OSError) as error:
        print(f"vampire: error: {error}", file=sys.stderr)
        return 3
    return 0 if whole == len(QUESTIONS) else 1
