# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is plugged into what, and what a hand at the rack changes about it. Pure data: the rack in, the changed rack out.

An *end* is where one end of a cable is: ``NODE.PORT``, a leg of a switch (``SWITCH.LEADER``), a port of a machine that is not in the inventory
(``foreign-1.p0``), or None while it hangs loose. What can not be done with two hands at a rack is a ``LabError``, and then nothing has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from .inventory import PORTS, Cluster
from .shell import LabError

End = str | None
Options = Mapping[str, str]
#: Mb/s.
FULL, HALF = 200000, 100000
FOREIGN = re.compile(r"foreign-(\d+)\.p[01]")


@dataclass(frozen=True)
class Cable:
    """A cable with two ends, or one tail of a breakout; with more ends it is a switch that nobody knows of, with one cable to each end.

    ``rated``: the speed that it is made for, ``speed``: the highest that it reaches, both in Mb/s.
    """

    serial: str
    ends: tuple[End, ...]
    speed: int = FULL
    rated: int = FULL
    media: str = "copper"


@dataclass(frozen=True)
class Rack:
    """The ports that there are, every cable, which end is in the hand (cable, end), which machines are off, and which rails are dead.

    A dead rail is ``(NODE.PORT, rail)``: it has carrier and passes nothing.
    """

    ports: tuple[str, ...]
    cables: tuple[Cable, ...] = ()
    hand: tuple[int, int] | None = None
    off: frozenset[str] = frozenset()
    dead: frozenset[tuple[str, int]] = frozenset()

    def at(self, port: str) -> tuple[int, int] | None:
        """Which cable is plugged into a port, and with which of its ends."""
        for number, cable in enumerate(self.cables):
            if port in cable.ends:
                return number, cable.ends.index(port)
        return None

    def lit(self, cable: Cable) -> list[str]:
        """The ends of a cable that have carrier: both, or on a switch each for itself, with power at the other end."""
        powered = [end for end in cable.ends if end is not None and machine(end) not in self.off]
        return powered if len(powered) == len(cable.ends) or len(cable.ends) > 2 else []

    def modules(self, node: str) -> dict[str, dict[str, str | int]]:
        """The ports of a node that have a cable in them, with its serial number and speed (Mb/s)."""
        found = ((end, cable) for cable in self.cables for end in cable.ends if end is not None and machine(end) == node)
        return {end.rpartition(".")[2]: {"serial": cable.serial, "speed": cable.speed} for end, cable in found}

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "off": sorted(self.off), "dead": sorted(self.dead)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Rack:
        """Undo ``to_json``."""
        cables = tuple(Cable(**{**cable, "ends": tuple(cable["ends"])}) for cable in data["cables"])
        dead = frozenset((port, rail) for port, rail in data["dead"])
        return cls(tuple(data["ports"]), cables, data["hand"] and (data["hand"][0], data["hand"][1]), frozenset(data["off"]), dead)


def machine(end: str) -> str:
    """The machine of an end."""
    return end.rpartition(".")[0]


def planned(cluster: Cluster) -> Rack:
    """The rack as the inventory wants it, everything on and healthy."""
    ports = tuple(f"{node.name}.{port}" for node in cluster.nodes for port in PORTS)
    return Rack(ports, tuple(Cable(_serial(cable.plug), cable.ends, cable.speed, cable.speed, cable.media) for cable in cluster.cables))


def _serial(number: int) -> str:
    return f"LABCABLE{number:02d}"


def _known(rack: Rack, option: str, port: str) -> str:
    if port not in rack.ports:
        raise LabError(f"--option {option} - expected one of {', '.join(rack.ports)}, found {port or 'nothing'}. Correct it.")
    return port


def _free(rack: Rack, option: str, port: str) -> str:
    if rack.at(_known(rack, option, port)) is not None:
        raise LabError(f"--option {option} - expected a free port, found a cable in {port}. Unplug that one first.")
    return port


def _plugged(rack: Rack, option: str, port: str) -> tuple[int, int]:
    place = rack.at(_known(rack, option, port))
    if place is None:
        raise LabError(f"--option {option} - expected a port with a cable, found none in {port}. Look at `lab.py status`.")
    return place


def _number(rack: Rack, options: Options) -> int:
    number = options["cable"]
    if not number.isdecimal() or int(number) >= len(rack.cables):
        raise LabError(f"--option cable - expected a number below {len(rack.cables)}, found {number}. Correct it.")
    return int(number)


def _with(rack: Rack, number: int, cable: Cable) -> Rack:
    return replace(rack, cables=(*rack.cables[:number], cable, *rack.cables[number + 1 :]))


def _put(rack: Rack, place: tuple[int, int], end: End) -> Rack:
    number, which = place
    ends = rack.cables[number].ends
    return _with(rack, number, replace(rack.cables[number], ends=(*ends[:which], end, *ends[which + 1 :])))


def rewire(rack: Rack, _node: str, options: Options) -> Rack:
    """Every cable out, and these in: ``A.p0:B.p0,B.p1:C.p0,...``; three ends or more are a switch. Empty: no cable at all."""
    rows = [row.split(":") for row in options["cables"].split(",") if row]
    fresh = replace(rack, cables=(), hand=None)
    for number, row in enumerate(rows):
        if len(row) < 2:
            raise LabError(f"--option cables - expected two ends of a cable as in A.p0:B.p0, found {':'.join(row)}. Correct it.")
        if len(set(row)) < len(row):
            raise LabError(f"--option cables - expected another port at each end, found {':'.join(row)}. Correct it.")
        ends = tuple(_free(fresh, "cables", end) for end in row)
        fresh = replace(fresh, cables=(*fresh.cables, Cable(_serial(number), ends)))
    return fresh


def move(rack: Rack, _node: str, options: Options) -> Rack:
    """One end from a port into a free one."""
    place = _plugged(rack, "from", options["from"])
    return _put(rack, place, _free(rack, "to", options["to"]))


def unplug(rack: Rack, _node: str, options: Options) -> Rack:
    """One end out of its port, to be held in the hand or left hanging."""
    place = _plugged(rack, "end", options["end"])
    if options["hold"] not in ("yes", "no"):
        raise LabError(f"--option hold - expected yes or no, found {options['hold']}. Correct it.")
    if options["hold"] == "no":
        return _put(rack, place, None)
    if rack.hand is not None:
        raise LabError(f"hand - expected it empty, found the end of {rack.cables[rack.hand[0]].serial} in it. Plug that in first.")
    return replace(_put(rack, place, None), hand=place)


def plug(rack: Rack, _node: str, options: Options) -> Rack:
    """The end in the hand into a free port."""
    if rack.hand is None:
        raise LabError("hand - expected the end of a cable in it, found it empty. Unplug one first.")
    return replace(_put(rack, rack.hand, _free(rack, "end", options["end"])), hand=None)


def join(rack: Rack, _node: str, options: Options) -> Rack:
    """A cable between two ports: the one that hangs from one of them, else a new one."""
    one, _colon, other = options["cable"].partition(":")
    for near, far in ((one, other), (other, one)):
        place = rack.at(_known(rack, "cable", near))
        if place is not None and len(rack.cables[place[0]].ends) == 2 and rack.cables[place[0]].ends[1 - place[1]] is None:
            loose = (place[0], 1 - place[1])
            return replace(_put(rack, loose, _free(rack, "cable", far)), hand=None if rack.hand == loose else rack.hand)
    ends = (_free(rack, "cable", one), _free(rack, "cable", other))
    if one == other:
        raise LabError(f"--option cable - expected two ports, found {one} twice. Correct it.")
    return replace(rack, cables=(*rack.cables, Cable(_serial(len(rack.cables)), ends)))


def pull(rack: Rack, _node: str, options: Options) -> Rack:
    """Both ends of a cable out."""
    number = _number(rack, options)
    cable = rack.cables[number]
    hand = None if rack.hand is not None and rack.hand[0] == number else rack.hand
    return replace(_with(rack, number, replace(cable, ends=(None,) * len(cable.ends))), hand=hand)


def slow(rack: Rack, _node: str, options: Options) -> Rack:
    """A cable at half its speed."""
    number = _number(rack, options)
    return _with(rack, number, replace(rack.cables[number], speed=HALF))


def foreign(rack: Rack, node: str, options: Options) -> Rack:
    """A machine that is not in the inventory at the far end of the cable in a port; at the end of a new cable where the port is free."""
    port, far = _known(rack, "port", f"{node}.{options['port']}"), f"foreign-{options['number']}.p0"
    place = rack.at(port)
    if place is None:
        return replace(rack, cables=(*rack.cables, Cable(_serial(len(rack.cables)), (port, far))))
    number, which = place
    if len(rack.cables[number].ends) > 2:
        raise LabError(f"--option port - expected a cable, found a switch behind {port}. Choose another port.")
    hand = None if rack.hand == (number, 1 - which) else rack.hand
    return replace(_put(rack, (number, 1 - which), far), hand=hand)


def _tails(rack: Rack) -> list[tuple[str, str, int]]:
    """(port of a node, leg of a switch, speed) of every tail that is plugged in at both ends."""
    ends = [cable.ends for cable in rack.cables if len(cable.ends) == 2]
    speeds = [cable.rated for cable in rack.cables if len(cable.ends) == 2]
    return [(b, a, speed) for (a, b), speed in zip(ends, speeds, strict=True) if a and b and a not in rack.ports and b in rack.ports]


def swap(rack: Rack, _node: str, options: Options) -> Rack:
    """Two ends of cables exchanged; by default those of the first two tails of equal speed."""
    named = [end for end in options["ends"].split(",") if end]
    if not named:
        tails = _tails(rack)
        named = next(([one, other] for one, _leg, speed in tails for other, _too, same in tails if one != other and speed == same), [])
    if len(named) != 2:
        raise LabError(f"--option ends - expected two ports as in A.p0,B.p0, found {options['ends'] or 'no two tails'}. Correct it.")
    one, other = (_plugged(rack, "ends", port) for port in named)
    return _put(_put(rack, one, named[1]), other, named[0])


def move_tail(rack: Rack, _node: str, options: Options) -> Rack:
    """The end that comes from a leg of a switch into a port, wherever that end is; a new cable where none comes from there. What was in the port
    hangs loose."""
    tails = _tails(rack)
    end, leg = _known(rack, "end", options["end"] or next((port for port, _leg, _speed in tails), "")), options["leg"]
    known = {machine(each) for cable in rack.cables for each in cable.ends if each is not None}
    if machine(leg) not in known - {machine(each) for each in rack.ports}:
        raise LabError(f"--option leg - expected a leg of a switch as in crs812.qsfp56-1-1, found {leg or 'none'}. Correct it.")
    place, before = rack.at(leg), rack.at(end)
    loose = rack if before is None or (place is not None and before[0] == place[0]) else _put(rack, before, None)
    if place is not None:
        return _put(loose, (place[0], 1 - place[1]), end)
    speed = int(options["speed"].rstrip("G")) * 1000
    return replace(loose, cables=(*loose.cables, Cable(_serial(len(loose.cables)), (leg, end), speed, speed)))


def switch_off(rack: Rack, node: str, _options: Options) -> Rack:
    """A machine without power."""
    return replace(rack, off=rack.off | {node})


def deaden(rack: Rack, node: str, options: Options) -> Rack:
    """Rails of a port that pass nothing."""
    port = _known(rack, "port", f"{node}.{options['port']}")
    rails = {"0": {0}, "1": {1}, "all": {0, 1}}.get(options["rail"])
    if rails is None:
        raise LabError(f"--option rail - expected 0, 1 or all, found {options['rail']}. Correct it.")
    return replace(rack, dead=rack.dead | {(port, rail) for rail in rails})


#: The faults that are nothing but a change at the rack.
CHANGES: dict[str, Callable[[Rack, str, Options], Rack]] = {
    "cable-unplugged": pull,
    "link-100g": slow,
    "rewire": rewire,
    "move": move,
    "unplug": unplug,
    "plug": plug,
    "cable-added": join,
    "swapped-tails": swap,
    "moved-tail": move_tail,
    "foreign-node": foreign,
    "powered-off": switch_off,
    "dead-rail": deaden,
}

_PORT, _LEG = r"(\S+) (p[01])", r"(\S+) ([^ ,]+)"
#: What the collection tells the person at the rack, and the fault that is doing so; the groups are ports, in the order of the options.
SENTENCES: tuple[tuple[str, str, str], ...] = (
    (rf"unplug the cable at {_PORT}, plug it into {_PORT}", "move", "from={0} to={1}"),
    (rf"unplug the cable at {_PORT} and hold its end", "unplug", "end={0} hold=yes"),
    (rf"unplug the cable at {_PORT}, whose other end does not answer", "unplug", "end={0} hold=no"),
    (rf"plug the end in your hand into {_PORT}", "plug", "end={0}"),
    (rf"plug a cable between {_PORT} and {_PORT}", "cable-added", "cable={0}:{1}"),
    (rf"unplug the cable at {_PORT} and plug in the end that comes from {_LEG}(?:, which is in \S+ p[01] now)?", "moved-tail", "end={0} leg={1}"),
)


def understand(text: str) -> list[tuple[str, dict[str, str]]]:
    """Instructions, separated by semicolons, as the faults that follow them literally: ``[(fault, options)]``."""
    found = []
    for sentence in filter(None, (part.strip().rstrip(".") for part in text.split(";"))):
        for pattern, name, options in SENTENCES:
            match = re.fullmatch(pattern, sentence, re.IGNORECASE)
            if match:
                words = match.groups()
                ports = [".".join(words[at : at + 2]) for at in range(0, len(words), 2)]
                found.append((name, dict(word.split("=", 1) for word in options.format(*ports).split())))
                break
        else:
            raise LabError(f"instruction - expected one that the collection prints, found: {sentence}. Give it as it was printed.")
    return found
