# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The request, normalised: from whatever the user wrote to typed values, once and at the door."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any

from . import _read
from ._notes import Notes, closest, listed, one_of, shown

TOPOLOGIES = ("two_node_direct", "three_node_ring", "switched_fabric")
ROCE = ("none", "ecn", "lossless")
PORTS = ("p0", "p1")

REQUEST_KEYS = (
    "topology",
    "supernet",
    "mtu",
    "roce",
    "rail_prefix",
    "ipv6_link_local",
    "reserved",
    "previous",
    "nodes",
    "switches",
    "cables",
    "refusals",
)
NODE_KEYS = ("name", "id", "management", "interfaces", "address")
SWITCH_KEYS = ("name", "model", "managed", "bridge", "vlan", "address")

MAX_MTU = 9978
"""What a ConnectX-7 netdev of a GB10 takes at most (``maxmtu`` in ``ip -d link``; NVIDIA/daqiri, system configuration tutorial)."""
MIN_MTU = 1500
"""Below it nobody has measured RoCE on these machines, and nothing is gained."""
PREFIXES = (8, 30)
"""A rail's prefix length: NCCL compares 1 to 32 bits; 30 is the smallest network that has two host addresses beside its own two."""


@dataclass(frozen=True)
class Node:
    """One host of ``gb10_nodes``. ``numbered``: has an id, right or wrong; ``address``: where SSH goes to, if that is written as a number."""

    name: str
    numbered: bool
    id: int | None
    management: ipaddress.IPv4Interface | None
    interfaces: dict[str, list[str]]
    address: ipaddress.IPv4Address | None


@dataclass(frozen=True)
class Switch:
    """One host of ``gb10_switches``. ``model`` as the user wrote it."""

    name: str
    model: str | None
    managed: bool
    bridge: str | None
    vlan: int | None
    address: ipaddress.IPv4Address | None


@dataclass(frozen=True)
class Request:
    """What is asked for. What was missing has its default, what was wrong is noted and has its default too, or is None."""

    topology: str | None
    supernet: ipaddress.IPv4Network | None
    mtu: int
    roce: str
    rail_prefix: int
    ipv6_link_local: bool
    reserved: list[ipaddress.IPv4Network]
    previous: dict[str, Any]
    nodes: dict[str, Node] = field(default_factory=dict)
    switches: dict[str, Switch] = field(default_factory=dict)
    cables: list[Any] = field(default_factory=list)


def read_request(raw: Any, notes: Notes) -> Request | None:
    """Normalise a request.

    :param raw: plain data, see the keys above; ``refusals`` are what its builder has found wrong, and are passed on.
    :returns: None when there is nothing that can be planned at all.
    """
    data = _read.mapping(notes, "request", raw, REQUEST_KEYS, "Pass what gb10.cluster.fabric_request returns.")
    if data is None:
        return None
    notes.refusals += [
        text if isinstance(text, str) else shown(text)
        for text in _read.sequence(notes, "request: refusals", data.get("refusals"), "Pass a list of texts.")
    ]
    nodes = _hosts(notes, "nodes", data.get("nodes"), NODE_KEYS, _node)
    switches = _hosts(notes, "switches", data.get("switches"), SWITCH_KEYS, _switch)
    for name in nodes:
        if name in switches:
            notes.refuse(name, "in gb10_nodes or in gb10_switches", "in both", "Take it out of one of the groups.")
    previous = data.get("previous")
    if previous is not None and not isinstance(previous, dict):
        notes.refuse("request: previous", "a plan", shown(previous), "Pass the stored plan, or nothing.")
    prefix = _read.integer(notes, "fabric_rail_prefix", data.get("rail_prefix"), *PREFIXES, "Use 24 unless you have more than 254 nodes.")
    return Request(
        topology=_topology(notes, data.get("topology")),
        supernet=_supernet(notes, data.get("supernet")),
        mtu=_read.integer(notes, "fabric_mtu", data.get("mtu"), MIN_MTU, MAX_MTU, "Use 9000.") or 9000,
        roce=_read.choice(notes, "fabric_roce", data.get("roce"), ROCE, "none", "Use none unless you know why."),
        rail_prefix=prefix or 24,
        ipv6_link_local=_read.boolean(notes, "fabric_ipv6_link_local", data.get("ipv6_link_local"), False, "Use false."),
        reserved=_networks(notes, data.get("reserved")),
        previous=previous if isinstance(previous, dict) else {},
        nodes=nodes,
        switches=switches,
        cables=_read.sequence(notes, "fabric_cables", data.get("cables"), "Begin every cable with a dash."),
    )


def _topology(notes: Notes, value: Any) -> str | None:
    if isinstance(value, str) and value.strip() in TOPOLOGIES:
        return value.strip()
    fix = "Set it in the inventory, under all: vars."
    notes.refuse("fabric_topology", one_of(TOPOLOGIES), shown(value), closest(value, TOPOLOGIES, fix) if isinstance(value, str) else fix)
    return None


def _supernet(notes: Notes, value: Any) -> ipaddress.IPv4Network | None:
    fix = "Choose a private network that is free in your network."
    found = _read.network(notes, "fabric_supernet", "10.77.0.0/16" if value is None else value, "10.77.0.0/16", fix)
    if found and (found.is_multicast or found.is_loopback or found.is_link_local or found.is_reserved or found.is_unspecified):
        notes.refuse("fabric_supernet", "a network of unicast addresses such as 10.77.0.0/16", found, fix)
        return None
    return found


def _networks(notes: Notes, value: Any) -> list[ipaddress.IPv4Network]:
    fix = "List the networks that the fabric must leave alone."
    items = _read.sequence(notes, "fabric_reserved", value, fix)
    found = [
        _read.network(notes, f"fabric_reserved[{index}]", "" if item is None else item, "172.17.0.0/16", fix) for index, item in enumerate(items)
    ]
    return [network for network in found if network is not None]


def _hosts(notes: Notes, kind: str, value: Any, keys: tuple[str, ...], read: Any) -> dict[str, Any]:
    """Every host of a list by its name, read by ``read(notes, name, data)``."""
    hosts: dict[str, Any] = {}
    for index, item in enumerate(_read.sequence(notes, f"request: {kind}", value, "Pass a list of mappings.")):
        where = f"request: {kind}[{index}]"
        label = item.get("name") if isinstance(item, dict) and isinstance(item.get("name"), str) else None
        data = _read.mapping(notes, label or where, item, keys, "Pass a mapping with a name.")
        if data is None:
            continue
        name = _read.text(notes, where, data.get("name"), "a name", "Name the host.")
        if name is None:
            if data.get("name") is None:
                notes.refuse(where, "a name", "nothing", "Name the host.")
        elif name in hosts:
            notes.refuse(name, f"once in {kind}", "twice", "Name every host once.")
        else:
            hosts[name] = read(notes, name, data)
    return hosts


def _node(notes: Notes, name: str, data: dict[str, Any]) -> Node:
    return Node(
        name=name,
        numbered=data.get("id") is not None,
        id=_read.integer(
            notes, f"{name}: fabric_node_id", data.get("id"), 1, 2**24 - 2, "Use the number you want in the last part of its addresses."
        ),
        management=_read.interface(
            notes, f"{name}: fabric_management", data.get("management"), "192.168.10.11/24", "Write its address on the management network."
        ),
        interfaces=_interfaces(notes, f"{name}: fabric_interfaces", data.get("interfaces")),
        address=_address(data.get("address")),
    )


def _switch(notes: Notes, name: str, data: dict[str, Any]) -> Switch:
    return Switch(
        name=name,
        model=_read.text(notes, f"{name}: fabric_switch_model", data.get("model"), "a model such as CRS812", "Write what is on its label."),
        managed=_read.boolean(notes, f"{name}: fabric_switch_managed", data.get("managed"), True, "Use false if the switch is not to be touched."),
        bridge=_read.text(
            notes, f"{name}: fabric_switch_bridge", data.get("bridge"), "the name of a bridge", "Leave it out to adopt the one there is."
        ),
        vlan=_read.integer(notes, f"{name}: fabric_switch_vlan", data.get("vlan"), 2, 4094, "Leave it out for a fabric without VLAN."),
        address=_address(data.get("address")),
    )


def _address(value: Any) -> ipaddress.IPv4Address | None:
    """An address that is written as a number; names and IPv6 are somebody else's business."""
    try:
        return ipaddress.IPv4Address(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _interfaces(notes: Notes, what: str, value: Any) -> dict[str, list[str]]:
    fix = "Name both devices of a port, rail 0 first: {p0: [aerial00, aerial02]}."
    if value is None:
        return {}
    found: dict[str, list[str]] = {}
    owners: dict[str, str] = {}
    for port, devices in (_read.mapping(notes, what, value, PORTS, fix) or {}).items():
        names = devices if isinstance(devices, list) else []
        if len(names) != 2 or not all(isinstance(name, str) and 0 < len(name) <= 15 and not set(name) & set("/ \t\n") for name in names):
            notes.refuse(f"{what}: {port}", "two device names", listed(map(shown, names)) or shown(devices), fix)
            continue
        for name in names:
            if name in owners:
                notes.refuse(f"{what}: {name}", "one rail", f"{owners[name]} and {port}", fix)
            owners[name] = port
        found[port] = names
    return found
