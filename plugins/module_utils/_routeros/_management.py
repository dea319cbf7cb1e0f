# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Through which ports of a switch the session itself comes: those are never touched. Pure."""

from __future__ import annotations

from ._rows import Row, flag

MENUS: dict[str, bool] = {
    "/ip/address": False, "/interface/vlan": False, "/interface/bridge": False, "/interface/bridge/port": False, "/interface/ethernet": False,
}
"""What the decision needs: path -> whether it holds a single record."""


def management_ports(address: str, menus: dict[str, list[Row]]) -> list[str] | None:
    """Default names of the ports that may carry the session to ``address``; None when the switch does not have that address (NAT, a jump host).

    Where the address is on a bridge, these are its running ``ether`` ports, or without any of them all of its running ports: one of them must be it.
    """
    row = next((row for row in menus["/ip/address"] if str(row.get("address")).partition("/")[0] == address and not flag(row.get("disabled"))), None)
    if row is None:
        return None
    interface = row.get("interface")
    lower = {vlan.get("name"): vlan.get("interface") for vlan in menus["/interface/vlan"]}
    while interface in lower:
        interface = lower.pop(interface)
    ethernet = {port.get("name"): port for port in menus["/interface/ethernet"]}
    if interface in ethernet:
        return [str(ethernet[interface].get("default-name"))]
    members = [ethernet[member["interface"]] for member in menus["/interface/bridge/port"]
               if member.get("bridge") == interface and member.get("interface") in ethernet]
    names = [str(port.get("default-name")) for port in members if flag(port.get("running"))]
    return [name for name in names if name.startswith("ether")] or names
