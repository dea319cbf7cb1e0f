# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab takes from an inventory: the nodes, their addresses, and the cables between them."""

from __future__ import annotations

import ipaddress
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .shell import LabError, run

PORTS = ("p0", "p1")
#: How a node's network is configured; without a choice nodes alternate between the first two.
BACKENDS = ("netplan-networkd", "netplan-networkmanager", "networkmanager")
#: The cables of a topology when the inventory names none: (node number, port) at both ends, numbers from 0.
DEFAULT_CABLES: dict[str, list[tuple[tuple[int, str], tuple[int, str]]]] = {
    "two_node_direct": [((0, "p0"), (1, "p0"))],
    "three_node_ring": [((0, "p0"), (1, "p1")), ((1, "p0"), (2, "p1")), ((2, "p0"), (0, "p1"))],
}


@dataclass(frozen=True)
class Node:
    """One simulated machine. ``number`` counts from 1 and names its devices in the lab; ``address`` is for SSH.

    ``interfaces``: the ports whose netdevs the owner renamed, ``{port: [rail 0, rail 1]}``.
    """

    name: str
    number: int
    address: str
    user: str
    backend: str
    interfaces: dict[str, list[str]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Cable:
    """A cable between two ends, each ``NODE.PORT``."""

    ends: tuple[str, str]


@dataclass(frozen=True)
class Cluster:
    """The machines, the cables, and the management network (CIDR) with the lab's own address on it."""

    topology: str
    nodes: tuple[Node, ...]
    cables: tuple[Cable, ...]
    network: str
    gateway: str

    def node(self, name: str) -> Node:
        """Return a node by name; ``LabError`` when there is none."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise LabError(f"node {name} - expected one of {', '.join(node.name for node in self.nodes)}, found none of that name. Correct the name.")

    def to_json(self) -> dict[str, Any]:
        """Return plain data for the lab's state file."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Cluster:
        """Undo ``to_json``."""
        nodes = tuple(Node(**node) for node in data["nodes"])
        cables = tuple(Cable((cable["ends"][0], cable["ends"][1])) for cable in data["cables"])
        return cls(data["topology"], nodes, cables, data["network"], data["gateway"])


def hosts_of(listing: dict[str, Any], group: str) -> list[str]:
    """Return the hosts of a group and its children, in inventory order, each once."""
    found = list(listing.get(group, {}).get("hosts", []))
    for child in listing.get(group, {}).get("children", []):
        found += hosts_of(listing, child)
    return list(dict.fromkeys(found))


def cluster(listing: dict[str, Any], topology: str | None = None, backends: tuple[str, ...] = ()) -> Cluster:
    """Turn the output of ``ansible-inventory --list`` into a cluster.

    :param topology: overrides ``fabric_topology`` and then also the inventory's cables.
    :param backends: one of ``BACKENDS`` per node, repeated as needed; empty: alternating networkd and NetworkManager.
    """
    names = hosts_of(listing, "gb10_nodes")
    if not names:
        raise LabError("group gb10_nodes - expected at least one host, found none. Name the nodes in the inventory.")
    variables: dict[str, dict[str, Any]] = listing.get("_meta", {}).get("hostvars", {})
    missing = [name for name in names if "ansible_host" not in variables.get(name, {})]
    if missing:
        raise LabError(f"ansible_host of {', '.join(missing)} - expected an address for SSH, found none. Add it to the inventory.")
    first = variables[names[0]]
    chosen = backends or BACKENDS[:2]
    nodes = tuple(
        Node(
            name,
            number,
            str(variables[name]["ansible_host"]),
            str(variables[name].get("ansible_user", "nvidia")),
            chosen[(number - 1) % len(chosen)],
            _renamed(name, variables[name].get("fabric_interfaces") or {}),
        )
        for number, name in enumerate(names, 1)
    )
    named = topology or str(first.get("fabric_topology", ""))
    written = None if topology else first.get("fabric_cables")
    network = ipaddress.ip_network(f"{nodes[0].address}/24", strict=False)
    taken = {node.address for node in nodes}
    outside = [node.name for node in nodes if ipaddress.ip_address(node.address) not in network]
    if outside:
        raise LabError(
            f"ansible_host of {', '.join(outside)} - expected an address in {network}, found another network. The lab has one management network."
        )
    gateway = next(str(address) for address in network.hosts() if str(address) not in taken)
    return Cluster(named, nodes, _cables(named, written, names), str(network), gateway)


def _renamed(node: str, written: Any) -> dict[str, list[str]]:
    """Return ``fabric_interfaces`` of a node; ``LabError`` when devices can not be called so."""
    rows = written if isinstance(written, dict) else {"": []}
    pairs = [row if isinstance(row, list) else [] for row in rows.values()]
    names = [str(name) for pair in pairs for name in pair]
    legal = set(rows) <= set(PORTS) and all(len(pair) == 2 for pair in pairs) and len(set(names)) == len(names)
    if not legal or not all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,14}", name) for name in names):
        example = "{p0: [aerial00, aerial02], p1: [aerial01, aerial03]}"
        raise LabError(f"fabric_interfaces of {node} - expected two names for a port as in {example}, found {written}. Correct the inventory.")
    return dict(zip(rows, pairs, strict=True))


def _cables(topology: str, written: list[Any] | None, names: list[str]) -> tuple[Cable, ...]:
    """Return the cables between nodes: those the inventory writes, else the topology's own. Cables to a switch are left out."""
    if written is None:
        rows = DEFAULT_CABLES.get(topology, [])
        if any(end[0] >= len(names) for row in rows for end in row):
            raise LabError(f"topology {topology} - expected more nodes, found {len(names)}. Name the missing nodes in the inventory.")
        return tuple(Cable((f"{names[a]}.{p}", f"{names[b]}.{q}")) for (a, p), (b, q) in rows)
    ends = [cable.get("between", []) if isinstance(cable, dict) else cable for cable in written]
    legal = {f"{name}.{port}" for name in names for port in PORTS}
    return tuple(Cable((str(pair[0]), str(pair[1]))) for pair in ends if len(pair) == 2 and set(map(str, pair)) <= legal)


def read(paths: Sequence[Path], topology: str | None = None, backends: tuple[str, ...] = ()) -> Cluster:
    """Read inventories through ``ansible-inventory``, so that group_vars, ranges and every format count; a later one adds to the earlier."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise LabError(f"inventory - expected a file or folder, found nothing at {missing[0]}. Correct --inventory.")
    tool = Path(sys.executable).parent / "ansible-inventory"
    sources = [word for path in paths for word in ("-i", path)]
    listing = run(tool if tool.exists() else "ansible-inventory", *sources, "--list")
    return cluster(json.loads(listing.stdout), topology, backends)
