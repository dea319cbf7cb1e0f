# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all nodes heard, put together: the state of each port, and which ports hear each other.

A switch is proven by LLDP, or by more than two ports that hear each other. That frames for the nearest bridge do not come
through proves nothing alone: whether a card's firmware keeps such frames to itself is not known. The host table of a switch
proves nothing against frames that were just heard, because it remembers for minutes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..module_utils._routeros import _cages
from . import _legs
from ._wiring import Port, join

MISSING, DOWN, UNLINKED, SILENT, HEARD = "missing", "down", "no link", "silent", "heard"
"""States of a port: not on the machine; no rail is up; no rail has a carrier; a carrier and nobody; somebody."""


@dataclass
class SeenPort:
    """One port. ``rails``: ``[{rail, interface, up, carrier}]``; ``heard``: port -> own rails that heard it; ``near``: ports whose
    nearest-bridge frames came through; ``switches``: ``(name, port)`` by LLDP; ``leg``: the same by the host table of a switch of the plan;
    ``machines``: who else is there, in words."""

    rails: list[dict[str, Any]] = field(default_factory=list)
    heard: dict[Port, list[int]] = field(default_factory=dict)
    near: set[Port] = field(default_factory=set)
    switches: list[tuple[str, str]] = field(default_factory=list)
    leg: _legs.Leg | None = None
    machines: list[str] = field(default_factory=list)

    @property
    def state(self) -> str:
        """The state in one word."""
        if self.heard:
            return HEARD
        if not self.rails:
            return MISSING
        if not any(rail["up"] for rail in self.rails):
            return DOWN
        return SILENT if any(rail["carrier"] for rail in self.rails) else UNLINKED

    def legs(self, plan: dict[str, Any]) -> list[_legs.Leg]:
        """On which leg of the plan's switches this port is: where one of them has learned it, for it has just called; else where one says by LLDP that
        it is. More than one by LLDP alone, whose word stays two minutes after a cable was moved, so that the last may be an older one."""
        if self.leg:
            return [self.leg]
        found = [_legs.Leg(system, interface.rpartition("/")[2]) for system, interface in self.switches if system in plan["switches"]]
        return [leg for leg in dict.fromkeys(found) if _cages.parse_port(leg.name)]

    @property
    def foreign(self) -> list[str]:
        """Switches and machines that are not in the inventory, in words."""
        return self.systems + self.machines

    @property
    def systems(self) -> list[str]:
        """Switches by LLDP, in words."""
        return [f"the switch {' '.join(filter(None, name))}" for name in dict.fromkeys(self.switches)]


@dataclass(frozen=True)
class Seen:
    """``ports``: every port of every node that took part; ``absent``: nodes of the plan that did not; ``tables``: what switches were asked for."""

    ports: dict[Port, SeenPort]
    absent: list[str]
    tables: dict[str, Any] = field(default_factory=dict)

    def port(self, port: Port) -> SeenPort:
        """A port, empty when nothing is known of it."""
        return self.ports.get(port, SeenPort())

    def segments(self) -> list[list[Port]]:
        """Ports that hear each other, directly or through others, two or more each, in order."""
        above: dict[Port, Port] = {}

        def top(port: Port) -> Port:
            while above.setdefault(port, port) != port:
                above[port] = above[above[port]]
                port = above[port]
            return port

        for port, seen in self.ports.items():
            for other in seen.heard:
                above[top(other)] = top(port)
        found: dict[Port, list[Port]] = {}
        for port in sorted(above):
            found.setdefault(top(port), []).append(port)
        return sorted(found.values())

    def near(self, one: Port, other: Port) -> bool:
        """Whether frames that a switch keeps to itself passed between two ports."""
        return other in self.port(one).near or one in self.port(other).near

    def cards(self, without: Collection[Port] = ()) -> dict[str, Any]:
        """The rails of each node in the shape of the facts of ``connectx_info``."""
        found: dict[str, Any] = {}
        for (node, name), port in self.ports.items():
            if (node, name) not in without:
                found.setdefault(node, {"ports": {}})["ports"][name] = {"rails": port.rails}
        return found

    def is_cable(self, ports: Sequence[Port]) -> bool:
        """Whether two ports that hear each other are on one cable for certain: every frame passes, and no switch says that it is there."""
        return len(ports) == 2 and self.near(*ports) and not any(self._is_told_of_switch(port) for port in ports)

    def _is_told_of_switch(self, port: Port) -> bool:
        """Whether a switch says by LLDP that it is there. It may be two minutes old: a switch that was asked and does not see the port is not there."""
        state = self.port(port)
        return any(state.leg or system not in self.tables for system, _interface in state.switches)


def read(plan: dict[str, Any], results: dict[str, dict[str, Any]], tables: dict[str, Any]) -> Seen:
    """Put the results of ``connectx_neighbors``, ``{node: {hostname, machine_id, neighbors}}``, and the host tables of switches together."""
    nodes = [name for name in plan["nodes"] if name in results]
    ours = {_short(name) for name in [*plan["nodes"], *(results[name].get("hostname", "") for name in nodes)] if name}
    machines = {results[name].get("machine_id") for name in nodes}
    ports: dict[Port, SeenPort] = {}
    for name in nodes:
        for item in results[name]["neighbors"]:
            seen = ports[name, item["port"]] = SeenPort(rails=item["rails"])
            for other in item["heard"]:
                port = (other["node"], other["port"])
                if other["node"] not in plan["nodes"]:
                    seen.machines.append(join(port))
                    continue
                seen.heard[port] = other["rails"]
                seen.near |= {port} if other["near"] else set()
            for system in item["lldp"]:
                if _short(system["system"]) in ours:
                    continue
                if system["forwards"]:
                    seen.switches.append((system["system"], system["port"]))
                else:
                    seen.machines.append(f"{system['system']} {system['port']}".strip())
            for stranger in item["strangers"]:
                if stranger["machine_id"] not in machines and not _another_run(stranger["node"], plan, nodes):
                    seen.machines.append(join((stranger["node"], stranger["port"])))
    every = Seen(ports, [name for name in plan["nodes"] if name not in results], tables)
    for place, leg in (_legs.seen(plan, tables, every.cards()) if tables else {}).items():
        ports[place].leg = leg
    return every


def _another_run(name: str, plan: dict[str, Any], nodes: Iterable[str]) -> bool:
    """Whether a stranger is a node of the plan that is no part of this run, and still works for an earlier one."""
    return name in plan["nodes"] and name not in nodes


def _short(name: str) -> str:
    return name.partition(".")[0].lower()
