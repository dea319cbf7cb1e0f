# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the state of the switches to what the lab's legs must do: which pass traffic, to whom, how big, how fast. Pure; no Linux bridge here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import hardware
from .machine import Machine, Row
from .rstp import Bridge, Span, default_cost, roles

SOFTWARE_GBPS = 5
"""What the CPU of a switch forwards when the chip does not, in Gb/s (published measurements: 4.9)."""


@dataclass(frozen=True)
class LegState:
    """One leg. ``up``: carrier at the far end; ``segment``: legs with the same one hear each other, None for none; ``mtu``: largest frame payload in
    bytes that passes, which is the L2 MTU; ``gbps``: what it carries; ``offloaded``: by the chip."""

    up: bool
    segment: str | None
    mtu: int
    gbps: int
    offloaded: bool


@dataclass(frozen=True)
class Trunk:
    """A cable between two switches: (switch, port) of both ends, ports by default name. A management LAN that both are on is one, too."""

    first: tuple[str, str]
    second: tuple[str, str]


def legs(machine: Machine) -> dict[str, LegState]:
    """State of every leg of a switch by the default name of its leader."""
    members = {row["interface"]: row for row in machine.rows("/interface/bridge/port")}
    ports = {row["default-name"]: row for row in machine.rows("/interface/ethernet")}
    offloaded = hardware.offloaded(machine)
    blocked = {port for port, role in machine.neighbours().items() if not role["forwarding"]}
    found = {}
    for leader, state in hardware.links(machine).items():
        row = ports[leader]
        member = members.get(row["name"])
        is_offloaded = row["name"] in offloaded
        segment = None if member is None or member["disabled"] or row["name"] in blocked else _segment(machine, member)
        speed = state.gbps if is_offloaded else min(state.gbps, SOFTWARE_GBPS)
        found[leader] = LegState(state.status == "link-ok" and state.up, segment, row["l2mtu"], speed, is_offloaded)
    return found


def _segment(machine: Machine, member: Row) -> str | None:
    """Bridge and, with VLAN filtering, the VLAN of untagged frames; None where that VLAN does not leave through the port."""
    bridge = machine.row("/interface/bridge", member["bridge"])
    if bridge is None or bridge["disabled"]:
        return None
    if not bridge["vlan-filtering"]:
        return str(bridge["name"])
    return f"{bridge['name']}/{member['pvid']}" if member["frame-types"] != "admit-only-vlan-tagged" else None


def spanning_tree(machines: dict[str, Machine], trunks: list[Trunk]) -> dict[str, dict[str, dict[str, Any]]]:
    """Switch -> interface name -> ``role`` and ``forwarding`` of the ports that lead to other switches."""
    bridges, spans = [], []
    for name, machine in machines.items():
        bridge = hardware.offloaded_bridge(machine)
        row = machine.row("/interface/bridge", bridge) if bridge else None
        if row is not None and row["protocol-mode"] != "none":
            bridges.append(Bridge(int(str(row["priority"]), 0), str(row.get("admin-mac", "")), name))
    known = {bridge.switch for bridge in bridges}
    for trunk in trunks:
        ends = [_end(machines[switch], port) for switch, port in (trunk.first, trunk.second) if switch in known]
        if len(ends) == 2 and all(end is not None for end in ends):
            (first, first_cost), (second, second_cost) = ends  # type: ignore[misc]
            spans.append(Span((trunk.first[0], first), first_cost, (trunk.second[0], second), second_cost))
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in machines}
    for (switch, interface), role in roles(bridges, spans).items():
        found[switch][interface] = {"role": role, "forwarding": role != "alternate-port"}
    return found


def _end(machine: Machine, port: str) -> tuple[str, int] | None:
    """(interface name, path cost) of a trunk's end; None where it is no running member of the switch's bridge."""
    row = machine.row("/interface/ethernet", port, "default-name")
    member = machine.row("/interface/bridge/port", row["name"], "interface") if row else None
    if row is None or member is None or member["disabled"] or row["name"] not in hardware.running(machine):
        return None
    state = hardware.links(machine).get(port)
    cost = member["path-cost"] if isinstance(member["path-cost"], int) else default_cost(state.gbps if state else 10)
    return str(row["name"]), cost


def join(machines: dict[str, Machine], trunks: list[Trunk]) -> None:
    """Let every switch of a lab see the spanning tree that they form together."""
    for name, machine in machines.items():
        machine.neighbours = lambda name=name: spanning_tree(machines, trunks)[name]  # type: ignore[misc]
