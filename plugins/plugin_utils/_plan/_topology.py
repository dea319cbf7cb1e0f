# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the cabling and the topology do not fit together, and where it works but could be better."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from ._cables import Cables
from ._notes import Notes, listed
from ._request import Request

NODES = {"two_node_direct": "exactly 2 nodes", "three_node_ring": "exactly 3 nodes", "switched_fabric": "at least 2 nodes"}
WITHOUT_SWITCH = {2: "two_node_direct", 3: "three_node_ring"}
"""Number of nodes -> the topology that can do without a switch."""


def refuse_wrong_count(request: Request, notes: Notes) -> bool:
    """Refuse a number of nodes that the topology can not have; true if it was refused."""
    count, topology = len(request.nodes), request.topology or ""
    if topology == "three_node_ring" and count > 3:
        fix = (
            "Stock NCCL needs a direct path between every pair, which a larger ring does not have: "
            "use switched_fabric. Patched builds of NCCL are not supported here."
        )
        notes.refuse("gb10_nodes", NODES[topology], f"{count} in a ring", fix)
    elif (topology == "three_node_ring" and count < 3) or (topology == "two_node_direct" and count != 2) or (topology and count < 2):
        fitting = "switched_fabric" if request.switches else WITHOUT_SWITCH.get(count, "switched_fabric")
        choice = f"or write fabric_topology: {fitting}" if count > 1 else "no topology has fewer than 2 nodes"
        notes.refuse("gb10_nodes", f"{NODES[topology]} for {topology}", count, f"Correct the inventory, {choice}.")
    else:
        return False
    return True


def refuse_wrong_kind(request: Request, cables: Cables, notes: Notes) -> None:
    """Refuse cables that the topology does not have, and missing ones."""
    switched = request.topology == "switched_fabric"
    if not switched and request.roce != "none":
        notes.refuse("fabric_roce", f"none in {request.topology}", request.roce, "Only a switch needs to be told: leave it out.")
    wrong = {pair.cable for pair in cables.pairs} if switched else {leg.cable for leg in cables.legs} | {trunk.cable for trunk in cables.trunks}
    for cable in sorted(wrong):
        found = "a cable between nodes" if switched else "a cable to a switch"
        expected = "cables to switches" if switched else "cables between nodes"
        notes.refuse(f"fabric_cables[{cable}]", f"{expected} in {request.topology}", found, "Correct the cable, or choose another fabric_topology.")
    if switched and not (cables.legs or wrong):
        fix = "Say which cage goes to which node: {switch: , cage: , to: []}."
        notes.refuse("fabric_cables", "at least one cable from a switch to a node", "none", fix)
    elif not switched and not wrong:
        joined = {frozenset((pair.a.node, pair.b.node)) for pair in cables.pairs}
        for a, b in combinations(request.nodes, 2):
            if {a, b} not in joined:
                notes.refuse(f"{a} and {b}", "a cable between them", "none", "Every two nodes need one: name it in fabric_cables.")


def warn_ports(request: Request, cables: Cables, notes: Notes) -> None:
    """Warn about port assignments that others had trouble with."""
    for pair in cables.pairs:
        where, ends = f"fabric_cables[{pair.cable}]", f"{pair.a.node}.{pair.a.port} to {pair.b.node}.{pair.b.port}"
        if request.topology == "two_node_direct" and pair.a.port != pair.b.port:
            notes.warn(where, "the same port at both ends", ends, "It works here, but NVIDIA's own tools refuse it.")
        if request.topology == "three_node_ring" and pair.a.port == pair.b.port:
            fix = "Rings cabled like this were seen to fail in NCCL with error 110: cable p0 of each node to p1 of the next."
            notes.warn(where, "p0 at one end and p1 at the other", ends, fix)


def warn_second_cable(request: Request, cables: Cables, notes: Notes) -> None:
    """Warn about second cables that add no speed: one at 200G already fills both PCIe links of a node."""
    fix = "One 200G cable already fills both PCIe links; a second one adds no speed, only a spare."
    if request.topology == "two_node_direct" and len(cables.pairs) > 1:
        notes.warn("fabric_cables", "one cable between the two nodes", len(cables.pairs), fix)
    speeds: dict[str, list[int]] = {}
    for leg in cables.legs:
        speeds.setdefault(leg.end.node, []).append(leg.gbps)
    doubled = [node for node, found in speeds.items() if len(found) > 1 and max(found) >= 200]
    if doubled:
        notes.warn(listed(doubled), "one 200G cable, or two of 100G", "two cables", fix)


def warn_mixed_speeds(cables: Cables, notes: Notes) -> None:
    """Warn when legs differ in speed: the slowest one sets the pace for all."""
    count = Counter(leg.gbps for leg in cables.legs)
    if len(count) > 1:
        found = listed(f"{count[gbps]} of {gbps}G" for gbps in sorted(count, reverse=True))
        notes.warn("fabric_cables", "legs of one speed", found, f"Every node waits for the slowest: plan with {min(count)}G, or recable.")


def warn_switches(request: Request, cables: Cables, notes: Notes) -> None:
    """Warn about switches that nothing is cabled to, and about QoS that nobody configures."""
    used = {leg.switch for leg in cables.legs} | {name for trunk in cables.trunks for name in trunk.switches}
    idle = [name for name in request.switches if name not in used]
    if idle:
        notes.warn(listed(idle), "a cable", "none", "It is left alone; take it out of gb10_switches if it is not part of the fabric.")
    unmanaged = [name for name, switch in request.switches.items() if name in used and not switch.managed]
    if request.roce != "none" and unmanaged:
        fix = "Configure DSCP 26 and 48, ECN and PFC there by hand, or use fabric_roce: none."
        notes.warn(listed(unmanaged), f"managed switches for fabric_roce: {request.roce}", "fabric_switch_managed: false", fix)
