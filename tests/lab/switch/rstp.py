# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rapid spanning tree between switches. Pure: bridges and the links between them go in, roles of ports come out."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

Port = tuple[str, str]
"""(switch, interface)."""


@dataclass(frozen=True, order=True)
class Bridge:
    """A bridge's identifier: the smallest (priority, MAC address) becomes the root. ``switch`` names it."""

    priority: int
    mac: str
    switch: str


@dataclass(frozen=True)
class Span:
    """A link between two bridges, or a segment that both are on, with the path cost that each end gives it."""

    first: Port
    first_cost: int
    second: Port
    second_cost: int


def default_cost(gbps: float) -> int:
    """Path cost of a port in ``port-cost-mode=long``: 20000 at 1 Gb/s, 100 at 200 Gb/s."""
    return max(1, round(20000 / gbps)) if gbps else 200000000


def roles(bridges: list[Bridge], spans: list[Span]) -> dict[Port, str]:
    """Role of every port that ends a span: root-port, designated-port or alternate-port. Only the last does not forward."""
    found: dict[Port, str] = {}
    for island in _islands(bridges, spans):
        distance, toward = _distances(island, spans)
        ids = {bridge.switch: bridge for bridge in island}
        for index, span in enumerate(spans):
            if span.first[0] not in ids:
                continue
            near, far = sorted((span.first, span.second), key=lambda port: (distance[port[0]], ids[port[0]], port[1]))
            found[near] = "designated-port"
            found[far] = "root-port" if toward.get(far[0]) == (index, far) else "alternate-port"
    return found


def _islands(bridges: list[Bridge], spans: list[Span]) -> list[list[Bridge]]:
    """Bridges that reach each other, each group with its root first."""
    groups = {bridge.switch: {bridge.switch} for bridge in bridges}
    for span in spans:
        joined = groups[span.first[0]] | groups[span.second[0]]
        for switch in joined:
            groups[switch] = joined
    return [sorted(bridge for bridge in bridges if bridge.switch in group) for group in {id(group): group for group in groups.values()}.values()]


def _distances(island: list[Bridge], spans: list[Span]) -> tuple[dict[str, int], dict[str, tuple[int, Port]]]:
    """Cost from every bridge to its root, and (span, port) that leads there."""
    ids = {bridge.switch: bridge for bridge in island}
    distance = {island[0].switch: 0}
    best: dict[str, tuple[int, Bridge, str, str]] = {}
    toward: dict[str, tuple[int, Port]] = {}
    queue = [(0, island[0])]
    while queue:
        cost, bridge = heapq.heappop(queue)
        if cost > distance[bridge.switch]:
            continue
        for index, span in enumerate(spans):
            for here, there, there_cost in ((span.first, span.second, span.second_cost), (span.second, span.first, span.first_cost)):
                if here[0] != bridge.switch or there[0] == island[0].switch:
                    continue
                offer = (cost + there_cost, bridge, here[1], there[1])
                if there[0] not in best or offer < best[there[0]]:
                    best[there[0]], toward[there[0]], distance[there[0]] = offer, (index, there), offer[0]
                    heapq.heappush(queue, (offer[0], ids[there[0]]))
    return distance, toward
