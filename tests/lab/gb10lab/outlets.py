# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Between the rack and the simulated switches: what a switch finds in its cages, and what its legs give to the nodes behind them. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from switch import forwarding, hardware, links
from switch.forwarding import LegState, Trunk
from switch.machine import Machine, Plug

from .inventory import Cluster
from .rack import Cable, Rack, machine

Machines = Mapping[str, Machine]
HALF = 100
"""Gb/s that a ConnectX-7 reaches on any cable from a switch."""


@dataclass(frozen=True)
class Outlet:
    """What a leg gives to the node behind it: carrier or not, the lab's bridge (None: none), the largest frame payload in bytes, Mb/s."""

    up: bool
    segment: str | None
    mtu: int
    speed: int


def port(end: str) -> str:
    """The leading lane, ``qsfp56-dd-1-1`` of ``crs812.qsfp56-dd-1-1``."""
    return end.rpartition(".")[2]


def ends_of(held: Rack, switch: str) -> list[tuple[str, Cable, str | None]]:
    """(leg, cable, the other end) of everything plugged into a switch; the other end is None where nothing answers there."""
    found = []
    for cable in held.cables:
        for which, end in enumerate(cable.ends):
            if end is not None and machine(end) == switch:
                other = cable.ends[1 - which] if len(cable.ends) == 2 else None
                found.append((port(end), cable, None if other is None or machine(other) in held.off else other))
    return found


def trunks(held: Rack, machines: Machines) -> list[Trunk]:
    """The cables between switches, and the management network, on which they all are with their first port."""
    found = [Trunk(*((machine(end), port(end)) for end in cable.ends if end)) for cable in held.cables if _between(cable, machines)]
    names = list(machines)
    return found + [Trunk((names[0], "ether1"), (name, "ether1")) for name in names[1:]]


def _between(cable: Cable, machines: Machines) -> bool:
    return len(cable.ends) == 2 and all(end is not None and machine(end) in machines for end in cable.ends)


def plugs(held: Rack, machines: Machines, switch: str) -> dict[str, Plug]:
    """What is in every cage of a switch. A tail reaches a node at its own speed and at 100G, another switch at the speed that both are set to."""
    found: dict[str, tuple[Cable, set[int], list[int]]] = {}
    ends: dict[str, int] = {}
    for leader, cable, other in ends_of(held, switch):
        cage, _dash, lane = leader.rpartition("-")
        _cable, speeds, tails = found.setdefault(cage, (cable, set(), []))
        ends[cage] = ends.get(cage, 0) + 1
        full = cable.rated // 1000
        if other is not None and machine(other) in machines:
            speed = asked(machines[switch], cage, full)
            agreed = speed and speed == asked(machines[machine(other)], port(other).rpartition("-")[0], full)
            speeds |= {speed} if agreed else set()
            tails += [int(lane)] if agreed else []
        elif other is not None:
            speeds |= {full, HALF}
            tails.append(int(lane))
    return {
        cage: Plug(media=cable.media, speeds=tuple(sorted(speeds)), tails=tuple(tails), split=ends[cage] > 1)
        for cage, (cable, speeds, tails) in found.items()
    }


def asked(switch: Machine, cage: str, full: int) -> int:
    """The speed in Gb/s at which a switch would run a cage as a whole with another one, 0 for none; ``full`` is the cable's."""
    rows = [row for row in switch.rows("/interface/ethernet") if links.cage_of(row["default-name"]) == cage]
    legs = links.legs(rows) if rows else []
    dark = switch.clock() < switch.restarted.get(cage, -1e9) + switch.restart_seconds
    if dark or not legs or legs[0].lane != 1:
        return 0
    return links.link(legs[0], Plug(speeds=(full, 200, HALF), tails=(1,)), is_dark=False).gbps


def segments(states: Mapping[str, Mapping[str, LegState]], joined: list[Trunk]) -> dict[tuple[str, str], tuple[str, str]]:
    """(switch, its segment) -> the same of the first switch in the same layer 2: a trunk whose two ends are up and forward joins both sides."""
    found = {(name, leg.segment): (name, leg.segment) for name, legs in states.items() for leg in legs.values() if leg.segment}
    for trunk in joined:
        ends = [(name, states.get(name, {}).get(leader)) for name, leader in (trunk.first, trunk.second)]
        sides = [found[name, leg.segment] for name, leg in ends if leg is not None and leg.up and leg.segment]
        if len(sides) == 2:
            found = {key: min(sides) if value in sides else value for key, value in found.items()}
    return found


def bridge_name(number: int, segment: str) -> str:
    """The lab's bridge for a segment of a switch, ``s1-bridge``; at most 15 characters."""
    name = f"s{number}-{segment.replace('/', '.')}"
    return name if len(name) <= 15 else f"s{number}-{hashlib.sha256(segment.encode()).hexdigest()[:8]}"


def outlets(cluster: Cluster, held: Rack, machines: Machines) -> dict[str, Outlet]:
    """What every leg of every switch gives, by its end of the cable (``crs812.qsfp56-dd-1-1``)."""
    states = {name: forwarding.legs(switch) for name, switch in machines.items()}
    same = segments(states, trunks(held, machines))
    numbers = {switch.name: switch.number for switch in cluster.switches}
    found: dict[str, Outlet] = {}
    for name, legs in states.items():
        speeds = {leader: link.gbps * 1000 for leader, link in hardware.links(machines[name]).items()}
        for leader, leg in legs.items():
            where = same[name, leg.segment] if leg.segment else None
            bridge = bridge_name(numbers[where[0]], where[1]) if where else None
            found[f"{name}.{leader}"] = Outlet(leg.up, bridge, leg.mtu, speeds[leader])
    return found | unmanaged(cluster, held)


def unmanaged(cluster: Cluster, held: Rack) -> dict[str, Outlet]:
    """The legs of switches that nobody configures: every one is up, at the speed of its cable, in one layer 2."""
    plain = {switch.name: f"s{switch.number}-plain" for switch in cluster.switches if not switch.managed}
    return {
        end: Outlet(True, plain[machine(end)], 9216, cable.speed)
        for cable in held.cables for end in cable.ends if end is not None and machine(end) in plain
    }


def toward(held: Rack, machines: Machines, states: Mapping[str, Mapping[str, LegState]], switch: str) -> dict[str, str]:
    """The trunk port of a switch that leads to each other switch, over cables that are up and forward."""
    found: dict[str, str] = {}
    ready = [
        trunk for trunk in trunks(held, machines)
        if all((leg := states[name].get(leader)) is not None and leg.up and leg.segment for name, leader in (trunk.first, trunk.second))
    ]
    reached = {switch}
    while True:
        steps = [
            (here, there) for trunk in ready for here, there in ((trunk.first, trunk.second), (trunk.second, trunk.first))
            if here[0] in reached and there[0] not in reached
        ]
        if not steps:
            return found
        (name, leader), (next_name, _port) = steps[0]
        found[next_name] = leader if name == switch else found[name]
        reached.add(next_name)
