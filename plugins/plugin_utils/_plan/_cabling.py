# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``cabling.md``: the plan as a picture, and as a table for the person at the rack."""

from __future__ import annotations

from typing import Any

from ...module_utils._routeros import _cages

_HEADER = """# Cabling: {title}

Written by `gb10.cluster.plan`; do not edit. p0 is the QSFP socket next to the RJ45 socket.

```mermaid
flowchart LR
{picture}
```

## Plug this into that

{table}

## Addresses

{addresses}
"""


def cabling(plan: dict[str, Any]) -> str:
    """The page for a plan without refusals."""
    cables = [*_node_cables(plan), *_switch_cables(plan)]
    rows = [["#", "from", "to", "cable", "rail subnets"], *([str(number), *cable[:4]] for number, cable in enumerate(cables, start=1))]
    return _HEADER.format(
        title=plan["topology"].replace("_", " "),
        picture="\n".join(_picture(plan)),
        table=_table(rows),
        addresses=_table([["node", "port", "rail", "address", "subnet"], *_addresses(plan)]),
    )


def _networks(plan: dict[str, Any], ports: list[dict[str, Any]]) -> str:
    """The subnets that the rails of some ports lie in, each once."""
    numbers = dict.fromkeys(rail["subnet"] for port in ports for rail in port["rails"])
    return ", ".join(plan["subnets"][number]["cidr"] for number in numbers)


def _direct(plan: dict[str, Any]) -> list[tuple[str, str, str, str, dict[str, Any]]]:
    """Every cable between two nodes once, in the order of the plan: node, port, node, port, the first port's slice."""
    found = []
    seen: set[tuple[str, str]] = set()
    for name, node in plan["nodes"].items():
        for port, data in node["ports"].items():
            peer = data["peer"]
            if "node" in peer and (name, port) not in seen:
                seen.add((peer["node"], peer["port"]))
                found.append((name, port, peer["node"], peer["port"], data))
    return sorted(found, key=lambda cable: cable[4]["rails"][0]["subnet"])


def _node_cables(plan: dict[str, Any]) -> list[list[str]]:
    cables = []
    for name, port, peer, peer_port, data in _direct(plan):
        cables.append([_socket(name, port), _socket(peer, peer_port), f"{data['speed']} QSFP", _networks(plan, [data])])
    return cables


def _switch_cables(plan: dict[str, Any]) -> list[list[str]]:
    """One row for each cage of each switch, trunks at their first end only; then the nodes on switches whose sockets are not known."""
    cables = []
    shown: set[tuple[str, str]] = set()
    for name, switch in plan["switches"].items():
        for cage, settings in switch["cages"].items():
            port = _cages.parse_port(cage)
            mode = _cages.modes_of(port.family)[settings["mode"]] if port else None
            leads = list(_cages.legs_of(cage, mode)) if mode else []
            peers = [switch["legs"].get(lead) for lead in leads]
            trunk = next((peer for peer in peers if peer and "switch" in peer), None)
            if trunk:
                lead = next(lead for lead, peer in zip(leads, peers) if peer is trunk)
                shown.add((name, lead))
                if trunk["leg"] is None or (trunk["switch"], trunk["leg"]) not in shown:
                    far = _socket(trunk["switch"], _cage_of(trunk["leg"]))
                    bonded = ", bonded" if trunk["bond"] else ""
                    cables.append([_socket(name, cage), far, f"{trunk['speed']} {settings['media']}{bonded}", "all"])
                continue
            ends = [f"leg {place}: {_socket(peer['node'], peer['port']) if peer else 'leave free'}" for place, peer in enumerate(peers, start=1)]
            ports = [plan["nodes"][peer["node"]]["ports"][peer["port"]] for peer in peers if peer]
            cables.append([_socket(name, cage), "<br>".join(ends), f"{settings['mode']} {settings['media']}", _networks(plan, ports)])
    for name, node in plan["nodes"].items():
        for port, data in node["ports"].items():
            if "switch" in data["peer"] and data["peer"]["leg"] is None:
                cables.append([_text(data["peer"]["switch"]), _socket(name, port), data["speed"], _networks(plan, [data])])
    return cables


def _picture(plan: dict[str, Any]) -> list[str]:
    """A Mermaid flowchart: switches as rounded, nodes as plain boxes."""
    ids = {name: f"s{number}" for number, name in enumerate(plan["switches"])}
    ids.update({name: f"n{number}" for number, name in enumerate(plan["nodes"])})
    lines = [f'  {ids[name]}(["{_label(name)}"])' for name in plan["switches"]]
    lines += [f'  {ids[name]}["{_label(name)}"]' for name in plan["nodes"]]
    for name, port, peer, peer_port, data in _direct(plan):
        lines.append(f'  {ids[name]} ---|"{port} to {peer_port}, {data["speed"]}"| {ids[peer]}')
    for name, node in plan["nodes"].items():
        for port, data in node["ports"].items():
            if "switch" in data["peer"]:
                leg = f"{data['peer']['leg']} to " if data["peer"]["leg"] else ""
                lines.append(f'  {ids[data["peer"]["switch"]]} ---|"{leg}{port}, {data["speed"]}"| {ids[name]}')
    drawn: set[tuple[str, str | None]] = set()
    for name, switch in plan["switches"].items():
        for leg, peer in switch["legs"].items():
            if "switch" in peer and (name, leg) not in drawn:
                drawn.add((peer["switch"], peer["leg"]))
                far = f" to {_cage_of(peer['leg'])}" if peer["leg"] else ""
                lines.append(f'  {ids[name]} ===|"{_cage_of(leg)}{far}, {peer["speed"]}"| {ids[peer["switch"]]}')
    return lines


def _addresses(plan: dict[str, Any]) -> list[list[str]]:
    return [
        [_text(name), port, str(rail["rail"]), f"{rail['address']}/{rail['prefix']}", str(rail["subnet"])]
        for name, node in plan["nodes"].items()
        for port, data in node["ports"].items()
        for rail in data["rails"]
    ]


def _cage_of(leg: str | None) -> str:
    port = _cages.parse_port(leg or "")
    return port.cage if port else ""


def _socket(name: str, socket: str) -> str:
    return f"{_text(name)} **{socket}**" if socket else _text(name)


def _text(name: str) -> str:
    """A host's name, whatever it contains, inside a Markdown table."""
    return "".join(f"&#{ord(sign)};" if sign in "|*_`<>&[]\\\n" else sign for sign in name)


def _label(name: str) -> str:
    """A host's name inside a Mermaid label."""
    return "".join(f"#{ord(sign)};" if sign in '"<>&#`\\\n' else sign for sign in name)


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body])
