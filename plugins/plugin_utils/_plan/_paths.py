# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths: the pairs of ports that a measurement has to cover, and what each of them can carry.

There are as many paths as cables (direct, ring) or attachments (switched), so the list grows with the number of nodes, not with its
square: behind a switch the nodes of a subnet form a circle in the order of the inventory, which is the ring that NCCL builds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from ._cables import Leg, Pair
from ._domains import Domains, Uplink
from ._marks import busbw_marks, path_marks
from ._request import Request
from ._sockets import CABLE_SPEED, NODE_SPEEDS, NodeEnd


class Path(NamedTuple):
    """From port to port. ``legs`` are the switch's ends of it; None on a cable between two nodes."""

    start: NodeEnd
    end: NodeEnd
    legs: tuple[Leg, Leg] | None


class Capacity(NamedTuple):
    """Gb/s on the wire, and whether that is a share of a trunk which is less than the path's ends could carry."""

    gbps: float
    shared: bool


def direct_paths(pairs: list[Pair]) -> list[Path]:
    """One path for each cable."""
    return [Path(pair.a, pair.b, None) for pair in pairs]


def switched_paths(request: Request, uplinks: list[Uplink]) -> list[Path]:
    """One circle for each subnet pair."""
    found = []
    for members in _members(request, uplinks).values():
        legs = list(members.values())
        found += [Path(a.end, b.end, (a, b)) for a, b in _circle(legs)]
    return found


def neighbours(request: Request, uplinks: list[Uplink]) -> list[Path]:
    """Every way between nodes that follow each other in the inventory: what NCCL's ring of ranks uses."""
    members = _members(request, uplinks)
    numbers: dict[str, list[int]] = {}
    for number, legs in members.items():
        for node in legs:
            numbers.setdefault(node, []).append(number)
    found = []
    for a, b in _circle(list(request.nodes)):
        for number in numbers.get(a, []):
            if b in members[number]:
                found.append(Path(members[number][a].end, members[number][b].end, (members[number][a], members[number][b])))
    return found


def capacities(paths: list[Path], domains: Domains) -> list[Capacity]:
    """What each path carries while all of them are in use: the slower end, or its even share of the busiest trunk."""
    ways = [domains.way(path.legs[0].switch, path.legs[1].switch) if path.legs else [] for path in paths]
    crossing = Counter(step for way in ways for step in way)
    found = []
    for path, way in zip(paths, ways):
        ends = min((leg.gbps for leg in path.legs), default=0) if path.legs else NODE_SPEEDS[CABLE_SPEED]
        share = min((domains.capacity(switch) / crossing[switch, up] for switch, up in way), default=ends)
        found.append(Capacity(min(ends, share), share < ends))
    return found


def plan_paths(paths: list[Path], domains: Domains, mtu: int) -> list[dict[str, Any]]:
    """The plan's ``paths``."""
    return [
        {
            "from": path.start.node,
            "from_port": path.start.port,
            "to": path.end.node,
            "to_port": path.end.port,
            "speed": f"{round(capacity.gbps, 1):g}G",
            "mtu": mtu,
            "marks": path_marks(capacity.gbps, mtu, capacity.shared),
        }
        for path, capacity in zip(paths, capacities(paths, domains))
    ]


def plan_marks(topology: str, paths: list[Path], domains: Domains, mtu: int) -> dict[str, Any]:
    """The plan's ``marks``: the slowest pair of neighbouring ranks sets the pace of a collective.

    :param paths: every way between neighbouring ranks.
    """
    between: dict[tuple[str, str], float] = {}
    shared: set[tuple[str, str]] = set()
    for path, capacity in zip(paths, capacities(paths, domains)):
        key = (path.start.node, path.end.node)
        between[key] = between.get(key, 0) + capacity.gbps
        if capacity.shared:
            shared.add(key)
    slowest = min(between, key=lambda key: (between[key], key not in shared))
    return busbw_marks(topology, between[slowest], mtu, slowest in shared)


def _members(request: Request, uplinks: list[Uplink]) -> dict[int, dict[str, Leg]]:
    """Uplink number -> node -> its leg, nodes in the order of the inventory."""
    order = {name: place for place, name in enumerate(request.nodes)}
    members: dict[int, dict[str, Leg]] = {}
    for uplink in sorted(uplinks, key=lambda uplink: (uplink.number, order[uplink.leg.end.node])):
        members.setdefault(uplink.number, {})[uplink.leg.end.node] = uplink.leg
    return members


def _circle(things: list[Any]) -> Iterable[tuple[Any, Any]]:
    """Every thing with the next one, and the last with the first; two things make one pair, one makes none."""
    pairs = list(zip(things, [*things[1:], *things[:1]]))
    return pairs if len(things) > 2 else pairs[:1] if len(things) == 2 else []
