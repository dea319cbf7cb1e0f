# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab takes from an inventory: the nodes and switches, their addresses, and the cables between them."""

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
#: The models that ``switch`` simulates and that have cages.
MODELS = ("CRS804", "CRS812", "CRS504")
#: RouterOS of a switch unless the lab is told otherwise: the oldest on which everything works.
ROUTEROS = "7.23.7"
#: Family of a cage: its lanes, and the mode of a cable to nodes when the inventory names none.
LANES = {"qsfp56-dd": 8, "qsfp56": 4, "qsfp28": 4}
NODE_MODES = {"qsfp56-dd": "2x200G", "qsfp56": "1x200G", "qsfp28": "1x100G"}


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
class Switch:
    """One switch. ``number`` counts from 1. ``model``, ``address`` and RouterOS' ``version`` are empty where nobody may log in (not ``managed``)."""

    name: str
    number: int
    managed: bool
    model: str = ""
    address: str = ""
    user: str = "admin"
    version: str = ""


@dataclass(frozen=True)
class Cable:
    """A cable between two ends: ``NODE.PORT``, ``SWITCH.LEADER`` (the lane that leads the leg), ``SWITCH.NUMBER`` of a switch without cages.

    A breakout is a cable for each of its tails, None where nothing is plugged in, all with one ``plug``: what hangs together. ``speed`` in Mb/s.
    """

    ends: tuple[str, str | None]
    plug: int = 0
    speed: int = 200000
    media: str = "copper"


@dataclass(frozen=True)
class Cluster:
    """The machines, the cables, and the management network (CIDR) with the lab's own address on it."""

    topology: str
    nodes: tuple[Node, ...]
    cables: tuple[Cable, ...]
    network: str
    gateway: str
    switches: tuple[Switch, ...] = ()

    @property
    def managed(self) -> tuple[Switch, ...]:
        """The switches that are simulated; the others are nothing but a bridge."""
        return tuple(switch for switch in self.switches if switch.managed)

    def node(self, name: str) -> Node:
        """Return a node by name; ``LabError`` when there is none."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise LabError(f"node {name} - expected one of {', '.join(node.name for node in self.nodes)}, found none of that name. Correct the name.")

    def switch(self, name: str | None = None) -> Switch:
        """Return a simulated switch by name, the first without one; ``LabError`` when there is none."""
        found = [switch for switch in self.managed if name in (None, switch.name)]
        if not found:
            known = ", ".join(switch.name for switch in self.managed) or "a lab with a switch that can be configured"
            raise LabError(f"switch - expected {known}, found {name or 'none'}. Correct it.")
        return found[0]

    def to_json(self) -> dict[str, Any]:
        """Return plain data for the lab's state file."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Cluster:
        """Undo ``to_json``."""
        nodes = tuple(Node(**node) for node in data["nodes"])
        cables = tuple(Cable(**{**cable, "ends": (cable["ends"][0], cable["ends"][1])}) for cable in data["cables"])
        switches = tuple(Switch(**switch) for switch in data.get("switches", []))
        return cls(data["topology"], nodes, cables, data["network"], data["gateway"], switches)


def hosts_of(listing: dict[str, Any], group: str) -> list[str]:
    """Return the hosts of a group and its children, in inventory order, each once."""
    found = list(listing.get(group, {}).get("hosts", []))
    for child in listing.get(group, {}).get("children", []):
        found += hosts_of(listing, child)
    return list(dict.fromkeys(found))


def cluster(listing: dict[str, Any], topology: str | None = None, backends: tuple[str, ...] = (), routeros: str = ROUTEROS) -> Cluster:
    """Turn the output of ``ansible-inventory --list`` into a cluster.

    :param topology: overrides ``fabric_topology`` and then also the inventory's cables.
    :param backends: one of ``BACKENDS`` per node, repeated as needed; empty: alternating networkd and NetworkManager.
    :param routeros: what the switches run.
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
    switches = _switches(hosts_of(listing, "gb10_switches"), variables, routeros)
    taken |= {switch.address for switch in switches}
    gateway = next(str(address) for address in network.hosts() if str(address) not in taken)
    return Cluster(named, nodes, _cables(named, written, names, switches), str(network), gateway, switches)


def _switches(names: list[str], variables: dict[str, dict[str, Any]], version: str) -> tuple[Switch, ...]:
    """Return the switches; ``LabError`` for one that is to be configured and can not be simulated."""
    found = []
    for number, name in enumerate(names, 1):
        own = variables.get(name, {})
        if not own.get("fabric_switch_managed", True):
            found.append(Switch(name, number, managed=False))
            continue
        model = str(own.get("fabric_switch_model", ""))
        if model not in MODELS:
            raise LabError(f"fabric_switch_model of {name} - expected {', '.join(MODELS)}, found {model or 'none'}. The lab simulates no other.")
        found.append(Switch(name, number, True, model, str(own.get("ansible_host", name)), str(own.get("ansible_user", "admin")), version))
    return tuple(found)


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


def _cables(topology: str, written: list[Any] | None, names: list[str], switches: tuple[Switch, ...]) -> tuple[Cable, ...]:
    """Return the cables: those the inventory writes, else the topology's own. What the plan would refuse is left out."""
    if written is None:
        rows = DEFAULT_CABLES.get(topology, [])
        if any(end[0] >= len(names) for row in rows for end in row):
            raise LabError(f"topology {topology} - expected more nodes, found {len(names)}. Name the missing nodes in the inventory.")
        written = [[f"{names[a]}.{p}", f"{names[b]}.{q}"] for (a, p), (b, q) in rows]
    sockets = {f"{name}.{port}" for name in names for port in PORTS}
    cages = {switch.name: switch for switch in switches}
    found: list[Cable] = []
    for plug, row in enumerate(written):
        cable = row if isinstance(row, dict) else {"between": row}
        if cable.get("switch") in cages:
            found += [each for each in _tails(plug, cages[cable["switch"]], cable) if each.ends[1] is None or each.ends[1] in sockets]
        else:
            found += _straight(plug, cable, sockets, cages)
    return tuple(found)


def _straight(plug: int, cable: dict[str, Any], sockets: set[str], switches: dict[str, Switch]) -> list[Cable]:
    """A cable between two nodes, or between cages of two switches."""
    pair = [str(end) for end in cable.get("between", [])]
    if len(pair) != 2:
        return []
    if set(pair) <= sockets:
        return [Cable((pair[0], pair[1]), plug)]
    if all(end.rpartition(".")[0] in switches for end in pair):
        speed = _speed(str(cable.get("mode", "1x400G")))
        lanes = [f"{end}-1" if switches[end.rpartition(".")[0]].managed else end for end in pair]
        return [Cable((lanes[0], lanes[1]), plug, speed, str(cable.get("media", "copper")))]
    return []


def _tails(plug: int, switch: Switch, cable: dict[str, Any]) -> list[Cable]:
    """A cable from a switch to nodes, tail by tail."""
    ends = [None if end is None else str(end) for end in cable.get("to", [])]
    media = str(cable.get("media", "copper"))
    cage = cable.get("cage")
    if cage is None:
        speed = _speed(str(cable.get("speed", "200G")))
        return [Cable((f"{switch.name}.{plug}-{number}", end), plug, speed, media) for number, end in enumerate(ends, 1)]
    family = str(cage).rpartition("-")[0]
    mode = str(cable.get("breakout") or NODE_MODES.get(family, "1x100G"))
    count = int(mode.partition("x")[0])
    step = LANES.get(family, 4) // count
    padded = [*ends, *[None] * count][:count]
    return [Cable((f"{switch.name}.{cage}-{1 + step * leg}", end), plug, _speed(mode), media) for leg, end in enumerate(padded)]


def _speed(mode: str) -> int:
    """Mb/s of ``200G`` or ``2x200G``."""
    return int(mode.rpartition("x")[2].rstrip("G")) * 1000


def read(paths: Sequence[Path], topology: str | None = None, backends: tuple[str, ...] = (), routeros: str = ROUTEROS) -> Cluster:
    """Read inventories through ``ansible-inventory``, so that group_vars, ranges and every format count; a later one adds to the earlier."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise LabError(f"inventory - expected a file or folder, found nothing at {missing[0]}. Correct --inventory.")
    tool = Path(sys.executable).parent / "ansible-inventory"
    sources = [word for path in paths for word in ("-i", path)]
    # without the details that a running lab of this shell adds
    plain = ("env", "ANSIBLE_VARS_PLUGINS=/nonexistent")
    listing = run(*plain, tool if tool.exists() else "ansible-inventory", *sources, "--list")
    return cluster(json.loads(listing.stdout), topology, backends, routeros)
