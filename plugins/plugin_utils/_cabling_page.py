# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was seen beside what was planned: as a table for the terminal, and as a page with two pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from . import _cabling_direct, _cabling_switched
from ._cabling_seen import DOWN, HEARD, MISSING, SILENT, UNLINKED, Seen
from ._cabling_words import Answer
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


Joint = tuple[str, frozenset[Port]]
"""What joins a port to others: the name of a switch or machine, or nothing and the two ports of a cable."""


class Link(NamedTuple):
    """A line of a picture between two boxes."""

    joint: Joint
    start: str
    end: str
    label: str


def rows(plan: dict[str, Any], seen: Seen) -> list[list[str]]:
    """One row for each port of each node of the plan: port, planned, seen, own rails that heard somebody, remark."""
    planned, found = _joints(_segments(plan)), _joints(_found(plan, seen))
    return [
        _row(plan, seen, (name, port), planned.get((name, port)), found.get((name, port)))
        for name, node in plan["nodes"].items()
        for port in sorted({*node["ports"], *(port for owner, port in seen.ports if owner == name)})
    ]


def _row(plan: dict[str, Any], seen: Seen, port: Port, planned: Joint | None, found: Joint | None) -> list[str]:
    if port[0] in seen.absent:
        return [join(port), _planned(plan, port), "not asked", "", ""]
    state = seen.port(port)
    there = [f"its own {other}" if node == port[0] else join((node, other)) for node, other in sorted(state.heard)]
    there += list(dict.fromkeys(state.foreign))
    rails = sorted({rail for rails in state.heard.values() for rail in rails})
    remark = "as planned" if planned == found else "not planned" if planned is None else "DIFFERS"
    if found is None:
        absent = planned is not None and any(node in seen.absent for node, _port in planned[1])
        remark = "" if planned is None else "not checked" if absent else "DIFFERS"
    return [join(port), _planned(plan, port), listed(there, most=3) or _STATES[state.state], " ".join(map(str, rails)), remark]


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
    planned, found = _links(_segments(plan), boxes, hubs), _links(_found(plan, seen), boxes, hubs)
    same = {link.joint for link in planned} & {link.joint for link in found}
    return _PAGE.format(
        verdict=answer.verdict,
        table=table,
        said=f"{said}\n" if said else "",
        planned=_flowchart(boxes, hubs, planned, [link for link in planned if link.joint not in same], "stroke-dasharray:4 4"),
        seen=_flowchart(boxes, hubs, found, [link for link in found if link.joint not in same], "stroke-width:4px"),
    )


def _segments(plan: dict[str, Any]) -> list[tuple[str, list[Port]]]:
    """What joins ports in the plan: a cable (without a name) or switches."""
    if plan["topology"] == "switched_fabric":
        return [(listed(switches), ports) for switches, ports in _cabling_switched.domains(plan)]
    return [("", list(ends)) for ends in _cabling_direct.planned_cables(plan)]


def _found(plan: dict[str, Any], seen: Seen) -> list[tuple[str, list[Port]]]:
    """What joins ports as seen: the planned switches where ports of theirs hear each other, other switches, cables, other machines."""
    place = {port: name for name, ports in _segments(plan) for port in ports}
    size = Counter(place.values())
    found: list[tuple[str, list[Port]]] = []
    for ports in seen.segments():
        systems = listed(dict.fromkeys(" ".join(filter(None, system)) for port in ports for system in seen.port(port).switches))
        named = next((place[port] for port in ports if place.get(port)), "")
        if named and not (len(ports) == 2 and seen.near(*ports) and not systems and size[named] > 2):
            parts = sum(name.startswith(named) for name, _ports in found)
            found.append((f"{named}, part {parts + 1}" if parts else named, ports))
        else:
            found.append((systems or ("a switch" if len(ports) > 2 else ""), ports))
    return found + [(name, [port]) for port, state in seen.ports.items() if state.state != HEARD for name in dict.fromkeys(state.foreign)]


def _joints(segments: Iterable[tuple[str, list[Port]]]) -> dict[Port, Joint]:
    """What joins each port to others."""
    return {port: (name, frozenset([port] if name else ports)) for name, ports in segments for port in ports}


def _links(segments: Iterable[tuple[str, list[Port]]], boxes: dict[str, str], hubs: dict[str, str]) -> list[Link]:
    """The lines of a picture; ``hubs`` gets a box for every name that is new."""
    found = []
    for name, ports in segments:
        if name:
            hub = hubs.setdefault(name, f"h{len(hubs)}")
            found += [Link((name, frozenset([port])), hub, boxes[port[0]], port[1]) for port in ports]
        else:
            one, other = ports
            found.append(Link(("", frozenset(ports)), boxes[one[0]], boxes[other[0]], f"{one[1]} to {other[1]}"))
    return found


def _flowchart(boxes: dict[str, str], hubs: dict[str, str], links: list[Link], marked: list[Link], style: str) -> str:
    used = {link.start for link in links}
    text = ["flowchart LR", *(f'  {box}["{_label(name)}"]' for name, box in boxes.items())]
    text += [f'  {hub}(["{_label(name)}"])' for name, hub in hubs.items() if hub in used]
    text += [f'  {link.start} ---|"{link.label}"| {link.end}' for link in links]
    numbers = [str(number) for number, link in enumerate(links) if link in marked]
    return "\n".join(text + ([f"  linkStyle {','.join(numbers)} stroke:#c00,{style}"] if numbers else []))
