# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On which leg of a switch is every node? Pure: the plan, where the switches saw the nodes' addresses, and what these addresses are.

Two ends of equal speed that changed places make the same fabric, only the plan names them wrongly. Any other leg is another speed, or not in
the fabric at all, and the cable must move.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..module_utils._message import message
from ..module_utils._routeros import _cages
from ._wiring import Port, join


class Leg(NamedTuple):
    """A leg of a switch, by its leading lane."""

    switch: str
    name: str

    def __str__(self) -> str:
        return f"{self.switch} {self.name}"


@dataclass
class Legs:
    """What is known of the legs. ``ends``: leg -> port of a node that is to be there; ``speeds``: leg -> its speed, of all legs of all split
    cages; ``seen``: port -> the leg it is on; ``bridges``: leg -> bridge in which the switch has it."""

    ends: dict[Leg, Port] = field(default_factory=dict)
    speeds: dict[Leg, str] = field(default_factory=dict)
    seen: dict[Port, Leg] = field(default_factory=dict)
    bridges: dict[Leg, str | None] = field(default_factory=dict)


def verdict(plan: dict[str, Any], switches: dict[str, Any], nodes: dict[str, Any]) -> dict[str, Any]:
    """Hold where the nodes were seen against where the plan has them.

    :param switches: switch -> facts of ``mikrotik_info`` with its host table; a switch that was not read says nothing.
    :param nodes: node -> facts of ``connectx_info``; a node without says nothing.
    :returns: ``{refusals: [text], warnings: [text], fabric_cables: [line], unseen: [text], unread: [text]}``: ``fabric_cables`` are the lines to
        write instead of those of the same cages; ``unseen`` and ``unread`` say which legs could not be looked at.
    """
    legs = _read(plan, switches, nodes)
    refusals, moved = [], []
    asked = [port for leg, port in legs.ends.items() if leg.switch in switches]
    unseen = [f"The leg of {join(port)} was not looked at, because no switch has heard that port."
              for port in asked if port not in legs.seen and nodes.get(port[0])]
    unread = [f"The legs of {node} were not looked at, because its card was not read in this run. Run without --limit and --tags to have them looked at."
              for node in dict.fromkeys(node for node, _port in asked) if not nodes.get(node)]
    for leg, port in legs.ends.items():
        found = legs.seen.get(port, leg)
        wrong = _wrong(legs, leg, found)
        if wrong:
            now = next((f", which is in {join(other)} now" for other, place in legs.seen.items() if place == leg), "")
            fix = f"Unplug the cable at {join(port)} and plug in the end that comes from {leg}{now}."
            refusals.append(message(join(port), _describe(legs, leg), wrong, fix))
        elif found != leg:
            moved.append(port)
    lines = _corrected(plan, legs, moved)
    correct = "correct fabric_cables as shown" if lines else "run again for all nodes to be shown how to correct fabric_cables"
    warnings = [message(join(port), leg, legs.seen[port], f"The fabric works all the same; {correct}, so that the plan names what is there.")
                for leg, port in legs.ends.items() if port in moved]
    return {"refusals": refusals, "warnings": warnings, "fabric_cables": lines, "unseen": unseen, "unread": unread}


def seen(plan: dict[str, Any], switches: dict[str, Any], nodes: dict[str, Any]) -> dict[Port, Leg]:
    """On which leg each port was seen; the parameters are those of :func:`verdict`."""
    return _read(plan, switches, nodes).seen


def _read(plan: dict[str, Any], switches: dict[str, Any], nodes: dict[str, Any]) -> Legs:
    """Lay plan, host tables and cards side by side."""
    legs = Legs()
    for name, switch in plan["switches"].items():
        for cage, settings in switch["cages"].items():
            mode = _mode(cage, settings)
            legs.speeds |= {Leg(name, leg): mode.speed for leg in _cages.legs_of(cage, mode)}
        legs.ends |= {Leg(name, leg): (end["node"], end["port"]) for leg, end in switch["legs"].items() if "node" in end}
        legs.bridges |= {Leg(name, port): facts["bridge"] for port, facts in (switches.get(name) or {"ports": {}})["ports"].items()}
    planned = {port: leg for leg, port in legs.ends.items()}
    for node, facts in nodes.items():
        for port, card in (facts or {"ports": {}})["ports"].items():
            places = [place for rail in card["rails"] for place in _places(plan, switches, str(rail["mac"]).lower())]
            if places:
                legs.seen[(node, port)] = min(places, key=lambda place: _distance(legs, planned.get((node, port)), place))
    return legs


def _distance(legs: Legs, planned: Leg | None, place: Leg) -> int:
    """The less, the rather a node is there. What a switch floods out of its management port, another one learns on its own: only a place where
    nobody saw the node better counts."""
    port = _cages.parse_port(place.name)
    return [place == planned, place in legs.speeds, port is not None, True].index(True)


def _places(plan: dict[str, Any], switches: dict[str, Any], mac: str) -> Iterable[Leg]:
    """Where an address was learned; what came through another switch was learned there."""
    for name, facts in switches.items():
        host = facts["hosts"].get(mac)
        if host and "switch" not in plan["switches"][name]["legs"].get(host["port"], {}):
            yield Leg(name, host["port"])


def _mode(cage: str, settings: dict[str, Any]) -> _cages.Mode:
    port = _cages.parse_port(cage)
    return _cages.modes_of(port.family if port else "")[settings["mode"]]


def _describe(legs: Legs, leg: Leg) -> str:
    return f"{leg} at {legs.speeds[leg]}" if leg in legs.speeds else str(leg)


def _wrong(legs: Legs, planned: Leg, found: Leg) -> str | None:
    """What is wrong with a leg beside its name; None when it is as good as the planned one, or is that."""
    if found == planned:
        return None
    if found.switch != planned.switch:
        return _describe(legs, found)
    if found not in legs.speeds:
        return f"{found}, which is no leg of the plan"
    if legs.bridges.get(found) != legs.bridges.get(planned):
        return f"{found} in bridge {legs.bridges.get(found) or 'none'} instead of {legs.bridges.get(planned) or 'none'}"
    return _describe(legs, found) if legs.speeds[found] != legs.speeds[planned] else None


def _corrected(plan: dict[str, Any], legs: Legs, moved: list[Port]) -> list[str]:
    """The lines of ``fabric_cables`` for cages whose ends are others than planned; none when an end has lost its leg and is not known elsewhere."""
    there = {legs.seen[port]: port for port in moved}
    stay = {leg: port for leg, port in legs.ends.items() if port not in moved}
    if stay.keys() & there.keys():
        return []
    ends, lines = stay | there, []
    for name, switch in plan["switches"].items():
        for cage, settings in switch["cages"].items():
            names = [Leg(name, leg) for leg in _cages.legs_of(cage, _mode(cage, settings))]
            if [ends.get(leg) for leg in names] != [legs.ends.get(leg) for leg in names]:
                to = ", ".join(".".join(ends[leg]) if leg in ends else "null" for leg in names)
                extra = "".join(f", {key}: {settings[key]}" for key, usual in (("media", "copper"), ("fec", "auto")) if settings[key] != usual)
                lines.append(f"- {{switch: {name}, cage: {cage}, breakout: {settings['mode']}, to: [{to}]{extra}}}")
    return lines
