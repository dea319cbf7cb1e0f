# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a request to the plan: normalise, cable, address, and collect everything that is wrong on the way."""

from __future__ import annotations

from typing import Any

from ...module_utils._routeros._cages import model_of
from . import _addresses, _cables, _domains, _paths, _topology
from ._addresses import Attachment
from ._cables import BOND, Cables
from ._nccl import nccl
from ._notes import Notes, shown
from ._request import Request, Switch, read_request
from ._sockets import CABLE_SPEED

USUAL_L2MTU = 9216
"""What most published RouterOS configurations use for a fabric of MTU 9000, in bytes; more is set only where the MTU needs it."""
TAG = 4
"""Bytes of a VLAN tag, which RouterOS counts into ``l2mtu`` (MikroTik manual, MTU in RouterOS)."""


def make_plan(raw: Any) -> dict[str, Any]:
    """Compute the plan for a request; both are plain JSON data.

    Never raises for what a user can write: whatever is wrong is in ``refusals``, all of it, and the plan is then empty.
    """
    notes = Notes()
    request = read_request(raw, notes)
    plan = _build(request, notes) if request else {}
    if notes.refusals:
        plan = {}
    return {
        "topology": request.topology if request else None,
        "subnets": plan.get("subnets", []),
        "nodes": plan.get("nodes", {}),
        "switches": plan.get("switches", {}),
        "paths": plan.get("paths", []),
        "marks": plan.get("marks", {}),
        "refusals": notes.refusals,
        "warnings": notes.warnings,
    }


def _build(request: Request, notes: Notes) -> dict[str, Any]:
    """The plan's parts; only what does not depend on something refused is looked at, so that no refusal follows from another."""
    _addresses.refuse_overlaps(request, notes)
    ids = _addresses.node_ids(request, notes)
    miscounted = _topology.refuse_wrong_count(request, notes)
    before = len(notes.refusals)
    cables = _cables.read_cables(request, notes)
    unsound = miscounted or request.topology is None or not cables.sound or len(notes.refusals) > before
    _refuse_mtu(request, cables, notes)
    if unsound:
        return {}
    before = len(notes.refusals)
    _topology.refuse_wrong_kind(request, cables, notes)
    domains = _domains.Domains(request.switches, cables.trunks, notes)
    if request.topology == "switched_fabric" and cables.legs and not cables.pairs:
        _domains.refuse_unjoined(request.nodes, cables.legs, domains, notes)
    if len(notes.refusals) > before:
        return {}
    _topology.warn_ports(request, cables, notes)
    _topology.warn_second_cable(request, cables, notes)
    _topology.warn_mixed_speeds(cables, notes)
    _topology.warn_switches(request, cables, notes)
    domains.warn_oversubscribed(cables.legs, notes)
    return _assemble(request, cables, domains, ids, notes)


def _assemble(request: Request, cables: Cables, domains: _domains.Domains, ids: dict[str, int], notes: Notes) -> dict[str, Any]:
    """Put sound parts together; the supernet may still be too small, or an address about to move."""
    uplinks = _domains.uplinks(cables.legs, domains)
    attachments = [Attachment(uplink.leg.end.node, uplink.leg.end.port, uplink.number) for uplink in uplinks]
    attachments += [Attachment(end.node, end.port, pair.cable) for pair in cables.pairs for end in (pair.a, pair.b)]
    _addresses.refuse_too_small(request, attachments, notes)
    if notes.refusals or request.supernet is None:
        return {}
    subnets = _addresses.subnets(request, request.supernet, ids, attachments)
    nodes = _nodes(request, cables, attachments, ids, subnets)
    _addresses.refuse_moves(request, nodes, subnets, notes)
    paths = _paths.switched_paths(request, uplinks) or _paths.direct_paths(cables.pairs)
    ranks = _paths.neighbours(request, uplinks) or paths
    return {
        "subnets": subnets,
        "nodes": nodes,
        "switches": _switches(request, cables),
        "paths": _paths.plan_paths(paths, domains, request.mtu),
        "marks": _paths.plan_marks(request.topology or "", ranks, domains, request.mtu),
    }


def _nodes(request: Request, cables: Cables, attachments: list[Attachment], ids: dict[str, int], subnets: list[dict[str, Any]]) -> dict[str, Any]:
    """The slice of every node."""
    peers: dict[tuple[str, str], tuple[dict[str, Any], str]] = {}
    for leg in cables.legs:
        peers[leg.end.node, leg.end.port] = ({"switch": leg.switch, "leg": leg.leg}, f"{leg.gbps}G")
    for pair in cables.pairs:
        for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
            peers[one.node, one.port] = ({"node": other.node, "port": other.port}, CABLE_SPEED)
    ports: dict[str, dict[str, Any]] = {name: {} for name in request.nodes}
    for attachment in sorted(attachments, key=lambda attachment: attachment.port):
        peer, speed = peers[attachment.node, attachment.port]
        rails = _addresses.rails_of(attachment, request.rail_prefix, subnets)
        ports[attachment.node][attachment.port] = {"peer": peer, "speed": speed, "rails": rails}
    settings = nccl(request, attachments)
    return {
        name: {
            "id": ids[name],
            "management": str(node.management) if node.management else None,
            "mtu": request.mtu,
            "ipv6_link_local": request.ipv6_link_local,
            "interfaces": node.interfaces,
            "ports": ports[name],
            "nccl": dict(settings),
        }
        for name, node in request.nodes.items()
    }


def _switches(request: Request, cables: Cables) -> dict[str, Any]:
    """What every switch is to become."""
    legs: dict[str, dict[str, Any]] = {name: {} for name in request.switches}
    for leg in cables.legs:
        if leg.leg:
            legs[leg.switch][leg.leg] = {"node": leg.end.node, "port": leg.end.port, "speed": f"{leg.gbps}G"}
    for trunk in cables.trunks:
        for one, other in ((0, 1), (1, 0)):
            name = trunk.legs[one]
            if name:
                bond = BOND if trunk.bond else None
                peer = {"switch": trunk.switches[other], "leg": trunk.legs[other], "speed": f"{trunk.gbps}G", "bond": bond}
                legs[trunk.switches[one]][name] = peer
    return {
        name: {
            "model": switch.model,
            "managed": switch.managed,
            "bridge": switch.bridge,
            "vlan": switch.vlan,
            "l2mtu": max(USUAL_L2MTU, _needed_l2mtu(request, switch)),
            "roce": request.roce,
            "cages": cables.cages.get(name, {}),
            "legs": legs[name],
        }
        for name, switch in request.switches.items()
    }


def _needed_l2mtu(request: Request, switch: Switch) -> int:
    return request.mtu + (TAG if switch.vlan else 0)


def _refuse_mtu(request: Request, cables: Cables, notes: Notes) -> None:
    """Refuse an MTU that a switch in use can not forward; what nodes can do is checked where the MTU is read."""
    used = {leg.switch for leg in cables.legs} | {name for trunk in cables.trunks for name in trunk.switches}
    for name, switch in request.switches.items():
        model = model_of(switch.model or "")
        if name in used and model and _needed_l2mtu(request, switch) > model.max_l2mtu:
            most = model.max_l2mtu - (TAG if switch.vlan else 0)
            tag = ", which tags its VLAN" if switch.vlan else ""
            notes.refuse("fabric_mtu", f"at most {most} for {name} ({shown(switch.model)}{tag})", request.mtu, "Use 9000.")
