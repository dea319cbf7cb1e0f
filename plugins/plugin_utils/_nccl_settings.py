# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL is told on a node: computed from the node's slice of the plan and the names of its devices, never from link state.

No GID index is ever among it: tables differ between nodes and change with the addresses, and NCCL finds the right entry itself.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils._message import message

# Key of the plan's slice `nccl` -> NCCL's variable (NVIDIA/nccl v2.30.7-1, src/transport/net_ib and src/plugin/net.cc).
VARIABLES = {
    "subnet_aware_routing": "NCCL_IB_SUBNET_AWARE_ROUTING",
    "subnet_prefix_len": "NCCL_IB_SUBNET_PREFIX_LEN",
    "merge_nics": "NCCL_IB_MERGE_NICS",
    "net_plugin": "NCCL_NET_PLUGIN",
    "ib_tc": "NCCL_IB_TC",
}
# Keys of the slice that are no setting.
_NO_SETTING = {"minimum_version"}


def settings(node: str, planned: dict[str, Any], connectx: dict[str, Any]) -> dict[str, Any]:
    """``{settings: {NCCL_…: text}, refusals: [text…]}`` for a node with this slice and these facts.

    ``NCCL_SOCKET_IFNAME`` and ``NCCL_IB_HCA`` begin with ``=`` (exact names; without it they are prefixes, and ``rocep1s0`` would
    also take ``rocep1s0f1``). Every planned rail is listed, up or not: NCCL skips what is down, and the text stays the same.
    """
    refusals: list[str] = []
    interface = _management(node, planned, connectx, refusals)
    devices = _devices(node, planned, connectx, refusals)
    unknown = sorted(set(planned["nccl"]) - set(VARIABLES) - _NO_SETTING)
    if unknown:
        refusals.append(message(f"{node}: plan's nccl", f"keys of {', '.join(VARIABLES)}", ", ".join(unknown), "Build the plan with this version."))
    chosen = {name: planned["nccl"].get(key) for key, name in VARIABLES.items()}
    return {
        "settings": {
            "NCCL_SOCKET_IFNAME": f"={interface}",
            "NCCL_IB_HCA": f"={','.join(devices)}",
            **{name: _text(value) for name, value in chosen.items() if value is not None},
        },
        "refusals": refusals,
    }


def _text(value: Any) -> str:
    """A value as NCCL reads it: numbers for yes and no."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _management(node: str, planned: dict[str, Any], connectx: dict[str, Any], refusals: list[str]) -> str | None:
    """The interface on the network that all nodes share: the one in ``fabric_management`` if the user said so, else the session's."""
    known = connectx.get("management") or {}
    asked = planned.get("management")
    if not asked:
        if not known.get("interface"):
            fix = "Set fabric_management of this node to its address on the network that all nodes share."
            refusals.append(message(f"{node}: management interface", "the interface of the SSH session or a default route", "none", fix))
        return known.get("interface")
    network = ipaddress.ip_interface(asked).network
    if known.get("interface") and known.get("address") and ipaddress.ip_interface(known["address"]).ip in network:
        return known["interface"]
    for route in connectx.get("routes") or []:
        if route["gateway"] is None and ipaddress.ip_network(route["destination"], strict=False) == network:
            return route["interface"]
    fix = "Correct fabric_management of this node, or give it an address there."
    refusals.append(message(f"{node}: management interface", f"an interface in {network}", known.get("interface") or "none", fix))
    return None


def _devices(node: str, planned: dict[str, Any], connectx: dict[str, Any], refusals: list[str]) -> list[str]:
    """The RDMA devices of all planned rails, port by port."""
    devices = []
    for name, port in sorted(planned["ports"].items()):
        there = {rail["rail"]: rail["rdma"] for rail in (connectx.get("ports") or {}).get(name, {}).get("rails", [])}
        for rail in sorted(rail["rail"] for rail in port["rails"]):
            if there.get(rail):
                devices.append(there[rail])
            else:
                fix = "Run gb10.cluster.validate, it tells why a rail is missing; mlx5_ib must be loaded."
                refusals.append(message(f"{node} {name} rail {rail}", "an RDMA device", "none", fix))
    return devices


def build_conflict(builds: dict[str, str | None]) -> str | None:
    """What to say when nodes have different builds of NCCL, as a message and a table; None when they all have one.

    A node without a build (None: in check mode, not installed yet) does not count.
    """
    nodes: dict[str, list[str]] = {}
    for node, build in sorted(builds.items()):
        if build is not None:
            nodes.setdefault(build, []).append(node)
    if len(nodes) < 2:
        return None
    width = max(map(len, nodes))
    rows = [f"  {build:<{width}}  {', '.join(names)}" for build, names in sorted(nodes.items(), key=lambda row: (-len(row[1]), row[0]))]
    text = message("build of NCCL", "the same on all nodes", f"{len(nodes)} builds", "Use one nccl_source and nccl_version for all nodes.")
    return "\n".join([text, *rows])
