# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a node must reach on its rails, and which MAC address must answer there."""

from __future__ import annotations

from typing import Any


def peers(plan: dict[str, Any], host: str, connectx: dict[str, Any]) -> list[dict[str, Any]]:
    """List the other ends of the rails of ``host``: ``[{peer, subnet, address, mac}]``, the options of ``connectx_ping``.

    :param connectx: what ``connectx_info`` returned, by host; a node that is not in it is no part of the run and no peer.
        ``mac`` is None where the facts of that rail are missing.
    """
    own = {rail["subnet"] for port in plan["nodes"][host]["ports"].values() for rail in port["rails"]}
    return [
        {"peer": name, "subnet": rail["subnet"], "address": rail["address"], "mac": _mac(connectx[name].get("connectx"), port, rail["rail"])}
        for name, node in plan["nodes"].items()
        if name != host and name in connectx
        for port, planned in node["ports"].items()
        for rail in planned["rails"]
        if rail["subnet"] in own
    ]


def _mac(facts: dict[str, Any] | None, port: str, rail: int) -> str | None:
    rails = facts["ports"].get(port, {}).get("rails", []) if facts else []
    return next((found["mac"] for found in rails if found["rail"] == rail), None)
