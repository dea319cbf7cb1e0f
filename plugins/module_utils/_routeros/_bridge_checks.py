# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fabric's bridge: what forbids it, what speaks against it, and whether the chip really forwards. Pure."""

from __future__ import annotations

from .._message import message
from . import _vlan
from ._bridge import BRIDGE, ETHERNET, INTERFACE, MONITOR, PORT, Want, bridge_of, lanes, legs, vlan_rows
from ._cages import lanes_of
from ._command import quote
from ._management import management_ports
from ._notes import noted
from ._rows import Row, flag, number, words

Menus = dict[str, list[Row]]


def refusals(name: str, menus: Menus, want: Want, address: str) -> list[str]:
    """Everything that can not be. ``name`` is how messages call the switch; ``address``: where the session goes."""
    known = {str(row.get("default-name")) for row in menus[ETHERNET]}
    refused = [
        message(f"{name}: port {port}", "a port of this switch", "none of that name", "Correct fabric_cables.")
        for port in dict.fromkeys([*want.legs, *lanes(want)]) if port not in known
    ]
    if want.bridge and bridge_of(menus, want) is None:
        there = ", ".join(str(row.get("name")) for row in menus[BRIDGE]) or "none"
        refused.append(message(
            f"{name}: bridge {want.bridge}", f"a bridge of this switch ({there})", "none of that name",
            "Correct fabric_switch_bridge, or leave it out."))
    if want.present and want.vlan is not None and not _vlan.MANAGEMENT < want.vlan <= _vlan.LAST:
        refused.append(message(
            f"{name}: VLAN of the fabric", f"{_vlan.MANAGEMENT + 1} to {_vlan.LAST}", want.vlan,
            f"Choose a free VLAN for fabric_switch_vlan; {_vlan.MANAGEMENT} has everything else."))
        return refused
    refused += _elsewhere(name, menus, want) + _vlan_of_others(name, menus, want) + _too_large(name, menus, want)
    return refused + (_cut_off(name, menus, want, address) if want.present and want.vlan else [])


def _elsewhere(name: str, menus: Menus, want: Want) -> list[str]:
    """Legs in another bridge: the chip forwards only one."""
    bridge = bridge_of(menus, want)
    return [
        message(f"{name}: leg {leg.default_name}", f"in bridge {bridge}", f"in bridge {leg.member['bridge']}",
                f"Take it out with /interface/bridge/port remove [find interface={quote(leg.name)}]: only one bridge is forwarded by the chip.")
        for leg in legs(menus, want) if want.present and bridge and leg.member is not None and leg.member.get("bridge") != bridge
    ]


def _vlan_of_others(name: str, menus: Menus, want: Want) -> list[str]:
    """Rows of somebody else that would have to change."""
    bridge = bridge_of(menus, want)
    wanted = vlan_rows(menus, want, bridge) if want.present and bridge else {}
    refused = []
    for vlan, row in _vlan.others(menus, bridge or "", wanted).items():
        fix = "Add them there, or remove the row" + ("." if vlan == _vlan.MANAGEMENT else ", or choose a free VLAN for fabric_switch_vlan.")
        refused.append(message(
            f"{name}: VLAN {vlan} of bridge {bridge}", f"{', '.join(wanted[vlan])} untagged",
            f"{', '.join(words(row.get('untagged'))) or 'nothing'} in a row of others", fix))
    return refused


def _cut_off(name: str, menus: Menus, want: Want, address: str) -> list[str]:
    """Whom the VLAN would cut off: the session, where legs are its only way in; and whoever has settings on a bridge that does not filter yet,
    which RouterOS keeps without a word and obeys from the moment it does."""
    bridge = bridge_of(menus, want)
    wanted = legs(menus, want)
    ways = management_ports(address, menus) or []
    refused = []
    if ways and set(ways) <= {leg.default_name for leg in wanted if number((leg.member or {}).get("pvid")) != want.vlan}:
        refused.append(message(
            f"{name}: leg {', '.join(ways)}", "no management through legs alone", f"the session to {address} comes through nothing else",
            "Give management an ether port of its own first; the VLAN of the fabric would cut it off."))
    if bridge is None or _vlan.is_on(menus, bridge):
        return refused
    for what, row in [(f"bridge {bridge}", row) for row in menus[BRIDGE] if row.get("name") == bridge] + [
        (f"port {row.get('interface')}", row) for row in menus[PORT]
        if row.get("bridge") == bridge and row.get("interface") not in [leg.name for leg in wanted] and "pvid" not in noted(row)
    ]:
        values = {"pvid": number(row.get("pvid")) or _vlan.MANAGEMENT, "frame-types": row.get("frame-types") or "admit-all"}
        odd = [f"{key}={value}" for key, value in values.items() if value != _vlan.NEW_PORT[key]]
        if odd:
            refused.append(message(
                f"{name}: {what}", f"pvid=1 frame-types=admit-all as long as {bridge} does not filter VLANs", " ".join(odd),
                "Set them so, or turn vlan-filtering on as you mean it: fabric_switch_vlan turns it on, and from then on they count."))
    for row in menus["/interface/vlan"]:
        vlan = number(row.get("vlan-id"))
        if row.get("interface") == bridge and not flag(row.get("disabled")) and not _vlan.reaches_bridge(menus, bridge, vlan):
            refused.append(message(
                f"{name}: interface {row.get('name')}", f"a row of {_vlan.VLAN} with {bridge} tagged in VLAN {vlan}", "none",
                f"Add it, with {bridge} and the ports that need it tagged: once {bridge} filters VLANs nothing reaches that interface without."))
    return refused


def _too_large(name: str, menus: Menus, want: Want) -> list[str]:
    limits = {str(row.get("default-name")): number(row.get("max-l2mtu")) for row in menus[INTERFACE]}
    too_small = {cage: min(limits.get(lane) or want.l2mtu for lane in lanes_of(cage)) for cage in want.cages}
    return [message(f"{name}: l2mtu of {cage}", f"at most {limit}", want.l2mtu, "Lower fabric_mtu.")
            for cage, limit in too_small.items() if limit < want.l2mtu]


def warnings(name: str, menus: Menus, want: Want, address: str, group: str | None, resizes: bool) -> list[str]:
    """What the owner should know. ``address``: where the session goes; ``group``: generation of the chip; ``resizes``: whether l2mtu changes."""
    if not want.present:
        return []
    told = []
    bridge = bridge_of(menus, want)
    shares = any(row.get("interface") == bridge and str(row.get("address")).partition("/")[0] == address for row in menus["/ip/address"])
    if shares and not want.vlan:
        told.append(message(
            f"{name}: management", "apart from the fabric", f"both in bridge {bridge}",
            "Set fabric_switch_vlan to a free VLAN, so that a storm or a loop in one does not take the other down."))
    if resizes and group == "bc2":
        told.append(message(
            f"{name}: l2mtu", "at work at once", "a CRS5xx, which may need a reboot for it",
            "Reboot the switch if frames of the full size do not pass."))
    return told + [
        message(f"{name}: inter-switch link {leg.default_name}", "up", "no link", "Configure the other switch, then look again.")
        for leg in legs(menus, want) if leg.default_name in want.trunks and (leg.member is None or flag(leg.member.get("inactive")))
    ]


def problems(name: str, menus: Menus, want: Want) -> list[str]:
    """What is configured and does not work: a running leg that the CPU forwards, an inter-switch link that the spanning tree blocks."""
    if not want.present:
        return []
    roles = {row.get("interface"): row for row in menus.get(MONITOR, [])}
    wrong = []
    for leg in legs(menus, want):
        if leg.member is None or flag(leg.member.get("inactive")):
            continue
        if not flag(leg.member.get("hw-offload")):
            wrong.append(message(
                f"{name}: leg {leg.default_name}", f"forwarded by the chip (flag H in {PORT})", "forwarded by the CPU",
                "Look for a second bridge, a horizon, or use-ip-firewall."))
        role = roles.get(leg.name, {})
        if leg.default_name in want.trunks and flag(role.get("forwarding")) is False:
            wrong.append(message(
                f"{name}: inter-switch link {leg.default_name}", "forwarding", role.get("role") or "blocked",
                "Look for a loop that the spanning tree prefers, such as a second cable between the switches."))
    return wrong
