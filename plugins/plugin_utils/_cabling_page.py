# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was seen beside what was planned: as a table for the terminal, and as a page with two pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _cabling_direct, _cabling_switched
from ._cabling_seen import DOWN, HEARD, MISSING, SILENT, UNLINKED, Seen
from ._cabling_words import Answer
from ._legs import Leg
from ._plan._cabling import _label, _table, _text
from ._plan._notes import listed
from ._wiring import Port, join

_STATES = {MISSING: "no such port on the machine", DOWN: "down, not listened to", UNLINKED: "no link", SILENT: "a link, nobody answers"}

_PAGE = """# Cabling as seen: {verdict}

Written by `gb10.cluster.discover`; do not edit. p0 is the QSFP socket next to the RJ45 socket.

{table}

{said}## As planned

Dotted: not seen.

```mermaid
{planned}
```

## As seen

Thick: not planned.

```mermaid
{seen}
```
"""


class Joint(NamedTuple):
    """What joins ports: the two ends of a cable, without a name; or one port to a switch or machine of that name, by legs where
    they are known."""

    name: str
    ports: tuple[Port, ...]
    legs: tuple[Leg, ...] = ()


class Link(NamedTuple):
    """A line of a picture between two boxes, and a port that it ends at."""

    port: Port
    start: str
    end: str
    label: str


def _alike(one: Joint | None, other: Joint | None) -> bool:
    """Whether both are the same as far as is known: a leg that nobody names is none that differs."""
    if one is None or other is None:
        return one is other
    return one.name == other.name and set(one.ports) == set(other.ports) and (one.legs == other.legs or not one.legs or not other.legs)


def rows(plan: dict[str, Any], seen: Seen) -> list[list[str]]:
    """One row for each port of each node of the plan: port, planned, seen, own rails that heard somebody, remark."""
    planned, found = _planned_joints(plan), _found_joints(plan, seen)
    size = {port: len(ports) for ports in seen.segments() for port in ports}
    domain = {port: ports for _name, ports in _segments(plan) for port in ports}
    size |= dict.fromkeys(_cabling_switched.past(plan, seen), 0)
    return [
        _row(plan, seen, port, _there(plan, seen, port, size.get(port, 1), domain.get(port, ())), planned.get(port), found.get(port))
        for name, node in plan["nodes"].items()
        for port in [(name, each) for each in sorted({*node["ports"], *(each for owner, each in seen.ports if owner == name)})]
    ]


def _row(plan: dict[str, Any], seen: Seen, port: Port, there: str, planned: Joint | None, found: Joint | None) -> list[str]:
    if port[0] in seen.absent:
        return [join(port), _planned(plan, port), "not asked", "", ""]
    rails = sorted({rail for rails in seen.port(port).heard.values() for rail in rails})
    remark = "as planned" if _alike(planned, found) else "not planned" if planned is None else "DIFFERS"
    if found is None:
        absent = planned is not None and any(node in seen.absent for node, _port in planned.ports)
        remark = "" if planned is None else "not checked" if absent else "DIFFERS"
    return [join(port), _planned(plan, port), there, " ".join(map(str, rails)), remark]


def _there(plan: dict[str, Any], seen: Seen, port: Port, size: int, domain: Sequence[Port]) -> str:
    """What is at the other end, in words. Whom a port hears through a switch is no neighbour of it: how many is told, and who where it matters.

    :param size: how many ports hear each other, this one included; 0 on a cable that goes past the switch. :param domain: which ones should.
    """
    state = seen.port(port)
    names = [f"its own {other}" if node == port[0] else join((node, other)) for node, other in sorted(state.heard)]
    switch = [*map(str, state.legs(plan))] or state.systems or (["a switch"] if size > 2 else []) if size else []
    if switch and names:
        asked = [other for other in domain if other != port and other[0] not in seen.absent]
        known = state.legs(plan) and state.heard.keys() <= set(asked)
        whom = f"{len(names)} of {len(asked)}" if known else listed(names, most=3)
        names = [f"{listed(switch)} (hears {whom})"]
    elif switch:
        names = [f"{listed(switch)} (hears nobody)" if len(domain) > 1 else listed(switch)]
    return listed(names + list(dict.fromkeys(state.machines)), most=3) or _STATES[state.state]


def _planned(plan: dict[str, Any], port: Port) -> str:
    data = plan["nodes"][port[0]]["ports"].get(port[1])
    if data is None:
        return "-"
    return join((data["peer"]["node"], data["peer"]["port"])) if "node" in data["peer"] else _cabling_switched.leg(plan, port)


def lines(plan: dict[str, Any], seen: Seen) -> list[str]:
    """The rows as lines in columns."""
    table = [["port", "planned", "seen", "rails", ""], *rows(plan, seen)]
    widths = [max(map(len, column)) for column in zip(*table)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table]


def page(plan: dict[str, Any], seen: Seen, answer: Answer) -> str:
    """The page: verdict, table, what to do, and both pictures."""
    table = _table([["port", "planned", "seen", "rails", "remark"], *([_text(cell) for cell in row] for row in rows(plan, seen))])
    said = "".join(f"* {_text(text)}\n" for text in answer.refusals + answer.warnings)
    said += f"\n```yaml\n{answer.fabric_cables}```\n" if answer.fabric_cables else ""
    boxes = {name: f"n{number}" for number, name in enumerate(plan["nodes"])}
    hubs: dict[str, str] = {}
    joints = {"planned": _planned_joints(plan), "seen": _found_joints(plan, seen)}
    links = {name: _links(known, boxes, hubs) for name, known in joints.items()}
    unlike = {port for known in joints.values() for port in known if not _alike(*(each.get(port) for each in joints.values()))}
    return _PAGE.format(
        verdict=answer.verdict,
        table=table,
        said=f"{said}\n" if said else "",
        planned=_flowchart(boxes, hubs, links["planned"], unlike, "stroke-dasharray:4 4"),
        seen=_flowchart(boxes, hubs, links["seen"], unlike, "stroke-width:4px"),
    )


def _segments(plan: dict[str, Any]) -> list[tuple[str, list[Port]]]:
    """What joins ports in the plan: a cable (without a name) or switches."""
    if plan["topology"] == "switched_fabric":
        return [(listed(switches), ports) for switches, ports in _cabling_switched.domains(plan)]
    return [("", list(ends)) for ends in _cabling_direct.planned_cables(plan)]


def _planned_joints(plan: dict[str, Any]) -> dict[Port, Joint]:
    """What joins each port of the plan to others."""
    legs = {port: (Leg(switch, leg),) for switch, data in plan["switches"].items() for leg, end in data["legs"].items() for port in _ends(end)}
    return {port: Joint(name, (port,) if name else tuple(ports), legs.get(port, ())) for name, ports in _segments(plan) for port in ports}


def _ends(end: dict[str, Any]) -> list[Port]:
    return [(end["node"], end["port"])] if "node" in end else []


def _found_joints(plan: dict[str, Any], seen: Seen) -> dict[Port, Joint]:
    """What joins each port as seen: the planned switch where ports of its hear each other or are on a leg of it, other switches, cables, machines."""
    place = {port: name for name, ports in _segments(plan) for port in ports}
    size = Counter(place.values())
    home = {switch: listed(switches) for switches, _ports in _cabling_switched.domains(plan) for switch in switches}
    found: dict[Port, Joint] = {}
    parts: Counter[str] = Counter()
    alone = [[port] for port, state in seen.ports.items() if state.state != HEARD and state.legs(plan)]
    for ports in seen.segments() + alone:
        legs = {port: tuple(seen.port(port).legs(plan)) for port in ports}
        homes = {port: home[known[0].switch] for port, known in legs.items() if known}
        named = next((place[port] for port in ports if place.get(port)), "") or next(iter(homes.values()), "")
        if named and not (seen.is_cable(ports) and size[named] > 2):
            parts[named] += 1
            is_part = parts[named] > 1 or (len(ports) == 1 and size[named] > 1)
            here = f"{named}, part {parts[named]}" if is_part else named
            found |= {port: Joint(here if homes.get(port, named) == named else homes[port], (port,), legs[port]) for port in ports}
            continue
        systems = listed(dict.fromkeys(system.removeprefix("the switch ") for port in ports for system in seen.port(port).systems))
        name = systems or ("a switch" if len(ports) > 2 else "")
        found |= {port: Joint(name, (port,) if name else tuple(ports)) for port in ports}
    others = {port: state.foreign for port, state in seen.ports.items() if state.state != HEARD and port not in found}
    return found | {port: Joint(listed(dict.fromkeys(names)), (port,)) for port, names in others.items() if names}


def _links(joints: dict[Port, Joint], boxes: dict[str, str], hubs: dict[str, str]) -> list[Link]:
    """The lines of a picture; ``hubs`` gets a box for every name that is new."""
    found = []
    for port, (name, ports, legs) in joints.items():
        if name:
            there = listed(leg.name if name == leg.switch or name.startswith(f"{leg.switch}, part ") else str(leg) for leg in legs)
            found.append(Link(port, hubs.setdefault(name, f"h{len(hubs)}"), boxes[port[0]], f"{there} to {port[1]}" if there else port[1]))
        elif port == ports[0]:
            found.append(Link(port, boxes[port[0]], boxes[ports[1][0]], f"{port[1]} to {ports[1][1]}"))
    return found


def _flowchart(boxes: dict[str, str], hubs: dict[str, str], links: list[Link], unlike: set[Port], style: str) -> str:
    used = {link.start for link in links}
    text = ["flowchart LR", *(f'  {box}["{_label(name)}"]' for name, box in boxes.items())]
    text += [f'  {hub}(["{_label(name)}"])' for name, hub in hubs.items() if hub in used]
    text += [f'  {link.start} ---|"{link.label}"| {link.end}' for link in links]
    numbers = [str(number) for number, link in enumerate(links) if link.port in unlike]
    return "\n".join(text + ([f"  linkStyle {','.join(numbers)} stroke:#c00,{style}"] if numbers else []))
