# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes would hear, for cables that a test plugs in; and plans to hold it against."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils import _cabling
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan

Port = tuple[str, str]
INTERFACES = {"p0": ["enp1s0f0np0", "enP2p1s0f0np0"], "p1": ["enp1s0f1np1", "enP2p1s0f1np1"]}
RING_NODES, PAIR_NODES = ("spark-1", "spark-2", "spark-3"), ("spark-1", "spark-2")


def plan(topology: str, nodes: Sequence[str], cables: Sequence[Any] = (), switches: Sequence[Any] = ()) -> dict[str, Any]:
    """The plan of an inventory; it must not be refused."""
    request = {"topology": topology, "nodes": [{"name": name} for name in nodes], "cables": list(cables), "switches": list(switches)}
    made = make_plan(request)
    assert made["refusals"] == []
    return made


RING = plan("three_node_ring", RING_NODES)
PAIR = plan("two_node_direct", PAIR_NODES)


def port(text: str) -> Port:
    """``spark-1 p0`` or ``1.0`` to a port."""
    name, _sign, number = text.replace(" p", ".").rpartition(".")
    return (name if "-" in name else f"spark-{name}", f"p{number}")


def segment(text: str) -> list[Port]:
    """``1.0=2.1``, or more than two ports on a switch, to ports."""
    return [port(end) for end in text.split("=")]


def mac(name: Port, rail: int) -> str:
    """The address of a rail."""
    number = zlib.crc32("".join(name).encode()) * 2 + rail
    return ":".join(f"{number:012x}"[at : at + 2] for at in range(0, 12, 2))


def table(bridges: Mapping[str, str] | None = None, **legs: str) -> dict[str, Any]:
    """What a switch tells with its host table: ``{leg with underscores: port}``; ``bridges`` of legs that are not in the usual one."""
    places = {leg.replace("_", "-"): port(end) for leg, end in legs.items()}
    hosts = {mac(end, rail): {"port": leg, "bridge": "bridge", "vlan": 1} for leg, end in places.items() for rail in (0, 1)}
    return {"hosts": hosts, "ports": {leg: {"bridge": (bridges or {}).get(leg, "bridge")} for leg in places}}


def hear(
    nodes: Iterable[str],
    *segments: str,
    near: bool | Iterable[str] = True,
    states: Mapping[str, str] | None = None,
    dead: Iterable[tuple[str, int]] = (),
    lldp: Mapping[str, Sequence[tuple[str, str, bool]]] | None = None,
    strangers: Mapping[str, tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """The results of ``connectx_neighbors``.

    :param segments: what joins ports: ``1.0=2.1``. :param near: whether, or on which of them, nearest-bridge frames pass.
    :param states: port -> ``down``, ``missing`` or ``link`` (a carrier, although nobody is there). :param dead: rails without carrier.
    :param lldp: port -> systems, their ports, and whether they forward. :param strangers: port -> name and machine-id of somebody on p0.
    """
    results: dict[str, Any] = {}
    joined = {name: [other for other in ports if other != name] for ports in map(segment, segments) for name in ports}
    passing = {name for text in segments if near is True or (near is not False and text in near) for name in segment(text)}
    state = {port(name): value for name, value in (states or {}).items()}
    lost = {(port(name), rail) for name, rail in dead}
    for node in nodes:
        neighbors = []
        for name in ("p0", "p1"):
            me = (node, name)
            carrier = me in joined or state.get(me) == "link"
            rails = [
                {
                    "rail": rail, "interface": interface, "mac": mac(me, rail), "up": state.get(me) != "down",
                    "carrier": carrier and (me, rail) not in lost, "raised": False,
                }
                for rail, interface in enumerate(INTERFACES[name])
                if state.get(me) != "missing"
            ]  # fmt: skip
            ears = [rail["rail"] for rail in rails if rail["carrier"] and rail["up"]]
            neighbors.append(
                {
                    "port": name,
                    "rails": rails,
                    "heard": [{"node": other[0], "port": other[1], "rails": ears, "near": me in passing} for other in joined.get(me, []) if ears],
                    "strangers": [
                        {"node": who, "port": "p0", "machine_id": machine} for where, (who, machine) in (strangers or {}).items() if port(where) == me
                    ],
                    "lldp": [
                        {"system": system, "port": its, "forwards": forwards}
                        for where, systems in (lldp or {}).items()
                        if port(where) == me
                        for system, its, forwards in systems
                    ],
                    "garbage": 0,
                }
            )
        results[node] = {"hostname": node, "machine_id": f"{node:0<32}", "neighbors": neighbors}
    return results


def verdict(
    made: dict[str, Any], *segments: str, nodes: Iterable[str] | None = None, tables: dict[str, Any] | None = None, **state: Any
) -> dict[str, Any]:
    """The answer for what these cables let nodes hear, and for the host tables of switches."""
    return _cabling.verdict(made, hear(nodes or made["nodes"], *segments, **state), tables)
