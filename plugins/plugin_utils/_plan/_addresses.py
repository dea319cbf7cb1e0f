# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses: node ids, the subnets that are cut from the supernet, and what they must not touch.

Block k of the supernet, of the size of a rail's prefix, belongs to rail ``k % 2`` of cable or uplink ``k // 2``. The host part is the
node's id. So the two rails of a port never share a subnet (NCCL would use the first rail twice: about 13.9 instead of 24 GB/s), and
what is appended moves nothing.
"""

from __future__ import annotations

import ipaddress
from typing import Any, NamedTuple

from ._notes import Notes, listed, shown
from ._request import Node, Request, Switch

RAILS = (0, 1)


class Attachment(NamedTuple):
    """One plugged port of a node. ``segment``: number of its cable (direct, ring) or of its uplink (switched)."""

    node: str
    port: str
    segment: int


def node_ids(request: Request, notes: Notes) -> dict[str, int]:
    """Every node's id: explicit on all of them, or the order of the inventory."""
    missing = [name for name, node in request.nodes.items() if not node.numbered]
    explicit = len(missing) < len(request.nodes)
    if not explicit:
        ids = {name: number for number, name in enumerate(request.nodes, start=1)}
    else:
        ids = {name: node.id for name, node in request.nodes.items() if node.id is not None}
        if missing:
            fix = "Number all nodes, or none of them."
            notes.refuse("fabric_node_id", "a number on every node as soon as one has it", f"none on {listed(missing)}", fix)
    owners: dict[int, list[str]] = {}
    for name, number in ids.items():
        owners.setdefault(number, []).append(name)
    for number, names in owners.items():
        if len(names) > 1:
            notes.refuse(f"fabric_node_id {number}", "one node", listed(names), "Give every node a number of its own.")
    highest = 2 ** (32 - request.rail_prefix) - 2
    beyond = [name for name, number in ids.items() if number > highest]
    if beyond:
        what = "fabric_node_id" if explicit else "gb10_nodes"
        found = f"{max(ids.values())} ({listed(beyond)})"
        notes.refuse(
            what, f"ids from 1 to {highest}, the hosts of a /{request.rail_prefix}", found, "Use smaller ids, or a shorter fabric_rail_prefix."
        )
    return ids


def refuse_overlaps(request: Request, notes: Notes) -> None:
    """Refuse a supernet that touches a network in use: reserved ones, and those of the management addresses that are known."""
    supernet = request.supernet
    if supernet is None:
        return
    fix = "Choose another fabric_supernet."
    for network in request.reserved:
        if supernet.overlaps(network):
            notes.refuse(f"fabric_supernet {supernet}", "a network apart from fabric_reserved", network, fix)
    for name, node in request.nodes.items():
        if node.management and supernet.overlaps(node.management.network):
            notes.refuse(f"fabric_supernet {supernet}", f"a network apart from fabric_management of {name}", node.management, fix)
    hosts: list[Node | Switch] = [*request.nodes.values(), *request.switches.values()]
    for host in hosts:
        if host.address and host.address in supernet:
            notes.refuse(f"fabric_supernet {supernet}", f"a network apart from ansible_host of {host.name}", host.address, fix)


def refuse_too_small(request: Request, attachments: list[Attachment], notes: Notes) -> None:
    """Refuse a supernet that has not room for all blocks."""
    supernet = request.supernet
    if supernet is None:
        return
    blocks = _blocks(attachments)
    room = 2 ** (request.rail_prefix - supernet.prefixlen) if request.rail_prefix >= supernet.prefixlen else 0
    if blocks > room:
        fix = "Choose a larger fabric_supernet, or a longer fabric_rail_prefix."
        notes.refuse(f"fabric_supernet {supernet}", f"room for {blocks} networks of /{request.rail_prefix}", f"room for {room}", fix)


def _blocks(attachments: list[Attachment]) -> int:
    return len(RAILS) * (1 + max(attachment.segment for attachment in attachments))


def subnets(request: Request, supernet: ipaddress.IPv4Network, ids: dict[str, int], attachments: list[Attachment]) -> list[dict[str, Any]]:
    """The plan's ``subnets``; the place in the list is the block number."""
    kind = "uplink" if request.topology == "switched_fabric" else "cable"
    base, size = int(supernet.network_address), 2 ** (32 - request.rail_prefix)
    found: list[dict[str, Any]] = [
        {"cidr": f"{ipaddress.IPv4Address(base + block * size)}/{request.rail_prefix}", "rail": block % 2, kind: block // 2, "members": {}}
        for block in range(_blocks(attachments))
    ]
    for attachment in attachments:
        for rail in RAILS:
            block = 2 * attachment.segment + rail
            found[block]["members"][attachment.node] = str(ipaddress.IPv4Address(base + block * size + ids[attachment.node]))
    return found


def rails_of(attachment: Attachment, prefix: int, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rails of a port as the slice has them."""
    numbers = [2 * attachment.segment + rail for rail in RAILS]
    return [{"rail": number % 2, "address": blocks[number]["members"][attachment.node], "prefix": prefix, "subnet": number} for number in numbers]


class Move(NamedTuple):
    """A rail of a node whose address, with its prefix length, is another than in a stored plan."""

    node: str
    port: str
    rail: int
    old: str
    new: str


def moves(previous: Any, nodes: dict[str, Any]) -> list[Move]:
    """The addresses that nodes of a stored plan have otherwise, on ports that they still have.

    :param previous: the stored plan, or what somebody made of it: whatever is not shaped like a plan is ignored.
    :param nodes: ``nodes`` of the new plan.
    """
    found = []
    for name, node in nodes.items():
        old, new = _addresses(_at(previous, "nodes", name)), _addresses(node)
        found += [Move(name, *key, shown(old[key]), new[key]) for key in old if key in new and old[key] != new[key]]
    return found


def refuse_moves(request: Request, nodes: dict[str, Any], blocks: list[dict[str, Any]], notes: Notes) -> None:
    """Refuse to move an address that a node of the stored plan has, on a port that it still has; of each node the first is named.

    :param nodes: ``nodes`` of the new plan. :param blocks: its ``subnets``.
    """
    previous, first = request.previous, dict[str, Move]()
    for move in moves(previous, nodes):
        first.setdefault(move.node, move)
    blocks_before = _at(previous, "subnets")
    same_blocks = isinstance(blocks_before, list) and _at(next(iter(blocks_before), None), "cidr") == blocks[0]["cidr"]
    for name, move in first.items():
        old_id, once = _at(previous, "nodes", name, "id"), "run once with -e fabric_renumber=true"
        if previous.get("topology") != request.topology:
            fix = f"Another topology has other addresses: {once} to move it."
        elif isinstance(old_id, int) and old_id != nodes[name]["id"]:
            fix = f"Set fabric_node_id: {old_id} on {name} (and an id on every other node) to keep it, or {once} to move it."
        elif same_blocks:
            fix = (
                "fabric_cables differ from those of the stored plan: use the same ones, in the inventory or with -e @FILE. "
                f"Only if cables were moved, or are to be, {once}."
            )
        else:
            fix = f"Restore fabric_supernet, fabric_rail_prefix and the order of fabric_cables to keep it, or {once} to move it."
        notes.refuse(f"{name} {move.port} rail {move.rail}", f"{move.old} as in the stored plan", move.new, fix)


def _at(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _addresses(node: Any) -> dict[tuple[str, int], str]:
    """Port and rail -> address with prefix, of a node in a plan."""
    ports = _at(node, "ports")
    return {
        (port, rail["rail"]): f"{rail.get('address')}/{rail.get('prefix')}"
        for port, data in (ports.items() if isinstance(ports, dict) else ())
        for rail in (_at(data, "rails") if isinstance(_at(data, "rails"), list) else ())
        if isinstance(rail, dict) and isinstance(rail.get("rail"), int)
    }
