# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a node must reach on its rails, and which MAC address must answer there."""

from __future__ import annotations

from typing import Any


def peers(plan: dict[str, Any], host: str, hosts: list[str]) -> list[dict[str, Any]]:
    """List the other ends of the rails of ``host``: ``[{peer, subnet, address}]``, the options of ``connectx_ping``.

    :param hosts: the nodes that the run has; another is no peer.
    """
    own = {rail["subnet"] for port in plan["nodes"][host]["ports"].values() for rail in port["rails"]}
    return [
        {"peer": name, "subnet": rail["subnet"], "address": rail["address"]}
        for name, node in plan["nodes"].items()
        if name != host and name in hosts
        for planned in node["ports"].values()
        for rail in planned["rails"]
        if rail["subnet"] in own
    ]


def macs(plan: dict[str, Any], connectx: dict[str, Any]) -> dict[tuple[str, str], str | None]:
    """Which MAC address must answer for which address of which node: ``{(node, address): mac}``, None where the facts of that rail are missing.

    :param connectx: what ``connectx_info`` returned, by node.
    """
    return {
        (name, rail["address"]): _mac((connectx.get(name) or {}).get("connectx"), port, rail["rail"])
        for name, node in plan["nodes"].items()
        for port, planned in node["ports"].items()
        for rail in planned["rails"]
    }


def _mac(facts: dict[str, Any] | None, port: str, rail: int) -> str | None:
    rails = facts["ports"].get(port, {}).get("rails", []) if facts else []
    return next((found["mac"] for found in rails if found["rail"] == rail), None)
