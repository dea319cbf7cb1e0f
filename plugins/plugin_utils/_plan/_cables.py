# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cables: from what the user wrote to what joins what.

A cable is written in one of these ways (an end is split at its **last** dot, because host names may have dots):

* ``[spark-1.p0, spark-2.p0]``, short for ``{between: [spark-1.p0, spark-2.p0]}``: node to node;
* ``{switch: crs812, cage: qsfp56-dd-1, breakout: 2x200G, to: [spark-1.p0, null]}``: a cage to nodes, leg by leg, null for an empty leg;
* ``{switch: other, to: [spark-1.p0], speed: 200G}``: an unmanaged switch whose sockets the plan does not know;
* ``{between: [a.qsfp56-dd-2, b.qsfp56-dd-2], mode: 1x400G}``: switch to switch; ``bond: 802.3ad`` where both are somebody else's to configure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...module_utils._routeros import _cages
from . import _read
from ._notes import Notes, listed, shown
from ._request import Request, Switch
from ._sockets import NODE_SPEEDS, NodeEnd, Sockets, family_of, trunk_modes

STAR_KEYS = ("switch", "cage", "breakout", "to", "media", "fec")
OPEN_STAR_KEYS = ("switch", "to", "speed")
PAIR_KEYS = ("between",)
TRUNK_KEYS = ("between", "mode", "media", "fec", "bond")
BOND = "802.3ad"
"""The bonding mode for parallel inter-switch cables of switches that we do not configure. We make none: a cable of 400G carries what two of 200G
would, on one flow too, and a port moves into a bond only through a moment outside the bridge, in which frames can go round in a loop."""

_DEFAULT_PORTS = {
    "two_node_direct": (("p0", "p0"),),
    "three_node_ring": (("p0", "p1"), ("p0", "p1"), ("p0", "p1")),
}
"""Topology -> ports of cable n, from node n to the next one (NVIDIA/dgx-spark-playbooks: connect-two-sparks, connect-three-sparks)."""


@dataclass(frozen=True)
class Pair:
    """A cable from node to node. ``cable``: its place in the list."""

    cable: int
    a: NodeEnd
    b: NodeEnd


@dataclass(frozen=True)
class Leg:
    """One end of a breakout and the node it goes to. ``leg`` is None where the switch's sockets are not known; ``gbps`` in Gb/s."""

    cable: int
    end: NodeEnd
    switch: str
    leg: str | None
    gbps: int


@dataclass(frozen=True)
class Trunk:
    """A cable from switch to switch; its legs are None where the switch's sockets are not known; ``gbps`` in Gb/s."""

    cable: int
    switches: tuple[str, str]
    legs: tuple[str | None, str | None]
    gbps: int
    bond: bool


@dataclass
class Cables:
    """Every cable by its kind, and the mode of every cage: switch -> cage -> ``{mode, media, fec}``. ``sound``: every item was understood."""

    pairs: list[Pair] = field(default_factory=list)
    legs: list[Leg] = field(default_factory=list)
    trunks: list[Trunk] = field(default_factory=list)
    cages: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    sound: bool = True


def read_cables(request: Request, notes: Notes) -> Cables:
    """Read ``fabric_cables`` from front to back; a pair and a ring have a default."""
    sockets = Sockets(request, notes)
    cables = Cables(cages=sockets.cages)
    for index, item in enumerate(request.cables or _default(request)):
        where = f"fabric_cables[{index}]"
        sockets.cable = f"{where} ({_ends(item)})"
        found: list[Leg] | Pair | Trunk | None = None
        if isinstance(item, dict) and "switch" in item:
            found = _star(index, where, item, sockets, notes)
            cables.legs += found
        elif isinstance(item, list) or (isinstance(item, dict) and "between" in item):
            found = _between(index, where, item if isinstance(item, dict) else {"between": item}, sockets, notes)
            cables.pairs += [found] if isinstance(found, Pair) else []
            cables.trunks += [found] if isinstance(found, Trunk) else []
        else:
            what = f"a mapping with {listed(item)}" if isinstance(item, dict) and item else shown(item)
            fix = "Write [spark-1.p0, spark-2.p0], or {switch: , cage: , to: []}."
            notes.refuse(where, "two ends, or a mapping with switch or between", what, fix)
        cables.sound = cables.sound and bool(found)
    return cables


def _ends(item: Any) -> str:
    """The ends of a cable as they are written, whatever they are."""
    if not isinstance(item, dict):
        item = {"between": item}
    switch = [".".join(shown(item[key]) for key in ("switch", "cage") if item.get(key) is not None)] if "switch" in item else []
    ends = item.get("to" if switch else "between")
    words = [shown(end) for end in ends if end is not None] if isinstance(ends, list) else []
    return " to ".join(filter(None, [*switch, listed(words)] if switch else words))


def _default(request: Request) -> list[Any]:
    """The cables of a pair or ring that is cabled in the order of the inventory; none when it has the wrong number of nodes."""
    names = list(request.nodes)
    ports = _DEFAULT_PORTS.get(request.topology or "", ())
    if len(names) != (3 if len(ports) == 3 else 2):
        return []
    return [[f"{names[index]}.{a}", f"{names[(index + 1) % len(names)]}.{b}"] for index, (a, b) in enumerate(ports)]


def _star(index: int, where: str, item: dict[str, Any], sockets: Sockets, notes: Notes) -> list[Leg]:
    """A cage to nodes, or sockets of a switch of which only the name is known."""
    switch = sockets.switch(where, item["switch"])
    if switch is None:
        return []
    is_open = item.get("cage") is None and not switch.managed
    data = _read.mapping(notes, where, item, OPEN_STAR_KEYS if is_open else STAR_KEYS, "") or {}
    ends = data.get("to")
    if not isinstance(ends, list) or all(end is None for end in ends):
        found = "none" if isinstance(ends, list) else shown(ends)
        notes.refuse(f"{where}: to", "a list of at least one node's port", found, "Write to: [spark-1.p0].")
        return []
    legs: list[str | None]
    if is_open:
        speed = _read.choice(notes, f"{where}: speed", data.get("speed"), tuple(NODE_SPEEDS), "200G", "Write the speed of the switch's ports.")
        legs, gbps = [None] * len(ends), NODE_SPEEDS[speed]
    else:
        cage = sockets.cage(where, switch, data.get("cage"))
        mode = sockets.node_mode(where, cage, data.get("breakout")) if cage else None
        if not cage or not mode:
            return []
        sockets.use(where, switch, cage, mode, data.get("media"), data.get("fec"))
        legs, gbps = list(_cages.legs_of(cage, mode)), mode.gbps
        if len(ends) > len(legs):
            fix = "Choose a breakout with more legs, or take another cage."
            notes.refuse(f"{where}: to", f"at most {len(legs)} ends for {mode.name} on {cage}", len(ends), fix)
    plugs = [(leg, sockets.node_end(f"{where}: to", end)) for leg, end in zip(legs, ends) if end is not None]
    return [Leg(index, end, switch.name, leg, gbps) for leg, end in plugs if end]


def _between(index: int, where: str, item: dict[str, Any], sockets: Sockets, notes: Notes) -> Pair | Trunk | None:
    """Two nodes or two switches."""
    ends = item["between"]
    if not isinstance(ends, list) or len(ends) != 2 or not all(isinstance(end, str) for end in ends):
        found = listed(map(shown, ends)) or "none" if isinstance(ends, list) else shown(ends)
        notes.refuse(where, "two ends", found, "Write both ends of the cable, such as [spark-1.p0, spark-2.p0].")
        return None
    if ends[0].strip() == ends[1].strip():
        notes.refuse(where, "two different ends", f"{ends[0]} twice", "Correct one of the ends.")
        return None
    switches = [sockets.switch_of(end) for end in ends]
    if switches[0] and switches[1]:
        return _trunk(index, where, item, ends, (switches[0], switches[1]), sockets, notes)
    if switches[0] or switches[1]:
        other = ends[switches.index(None)]
        notes.refuse(where, "two nodes or two switches", f"a switch and {shown(other)}", "Write a cable to nodes as {switch: , cage: , to: []}.")
        return None
    _read.mapping(notes, where, item, PAIR_KEYS, "")
    a, b = (sockets.node_end(where, end) for end in ends)
    if a and b and a.node == b.node:
        fix = "A cable from a node to itself joins nothing: correct an end."
        notes.refuse(where, "the ports of two nodes", f"{a.port} and {b.port} of {a.node}", fix)
        return None
    return Pair(index, a, b) if a and b else None


def _trunk(
    index: int, where: str, item: dict[str, Any], ends: list[str], switches: tuple[Switch, Switch], sockets: Sockets, notes: Notes
) -> Trunk | None:
    """Two switches. A managed one must name its cage."""
    if switches[0] is switches[1]:
        notes.refuse(where, "the cages of two switches", f"{switches[0].name} twice", "A cable from a switch to itself is a loop: correct an end.")
        return None
    data = _read.mapping(notes, where, item, TRUNK_KEYS, "") or {}
    bond = data.get("bond")
    if bond is not None and bond != BOND:
        notes.refuse(f"{where}: bond", BOND, shown(bond), "Leave it out for a single cable.")
    elif bond and any(switch.managed for switch in switches):
        fix = "Join them by one cable of the highest speed; or set fabric_switch_managed: false on both and configure them, bond included, by hand."
        notes.refuse(f"{where}: bond", "none between switches that are configured from here", bond, fix)
    cages: list[str | None] = []
    for switch, end in zip(switches, ends):
        name = end.strip()[len(switch.name) + 1 :] or None
        cages.append(sockets.cage(where, switch, name) if name or switch.managed else None)
        if cages[-1] is None and (name or switch.managed):
            return None
    modes = trunk_modes([cage for cage in cages if cage])
    if not modes:
        notes.refuse(where, "two cages that have a speed in common", listed(filter(None, cages)), "Join cages of the same kind.")
        return None
    mode = _read.choice(notes, f"{where}: mode", data.get("mode"), tuple(modes), next(iter(modes)), "Use one of these.")
    legs: list[str | None] = [None, None]
    for place, (switch, cage) in enumerate(zip(switches, cages)):
        if cage:
            used = modes[mode][family_of(cage)]
            sockets.use(where, switch, cage, used, data.get("media"), data.get("fec"))
            legs[place] = f"{cage}-{used.leaders[0]}"
    return Trunk(index, (switches[0].name, switches[1].name), (legs[0], legs[1]), next(iter(modes[mode].values())).gbps, bond == BOND)
