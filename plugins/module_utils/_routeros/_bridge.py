# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fabric's legs in the one bridge that the chip forwards: from rows to the commands that are missing. Pure.

One bridge per chip is forwarded by hardware, a second one by the CPU at some 5 Gb/s (measured); so the one that is there is used and none is ever
made beside it. The chip drops what is larger than ``l2mtu`` of the port and knows no other size; a change flaps links, so all lanes of the fabric's
cages get it in one command.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _vlan
from ._cages import lanes_of, parse_port
from ._command import Command, Group, Value
from ._rows import Row, flag, number

BRIDGE, PORT, ETHERNET, INTERFACE, MONITOR = (
    "/interface/bridge", "/interface/bridge/port", "/interface/ethernet", "/interface", "/interface/bridge/port/monitor")
MENUS = {BRIDGE: False, PORT: False, ETHERNET: False, INTERFACE: False, _vlan.VLAN: False}
OURS = "gb10.cluster"
"""Comment by which what we added is known again."""

USUAL_L2MTU = 9216
"""L2 MTU of the fabric's lanes in bytes where the plan does not say; the value of most published configurations for frames of 9000."""

FACTORY_L2MTU = 1584
"""L2 MTU of a new switch in bytes."""

TRUNK_COST, DETOUR_COST = 10, 10_000_000
"""Path costs where there are inter-switch links: theirs, and that of ``ether`` ports, which often meet again on one management LAN."""

Menus = dict[str, list[Row]]


class Want(NamedTuple):
    """``cages``: names; ``legs``: default names of leading lanes; ``trunks``: those of them that lead to another switch; ``bridge``: name, None for
    the one that is there; ``vlan``: keeps the fabric apart, None: no matter; ``l2mtu`` in bytes; ``present``: False takes back what we did."""

    cages: list[str]
    legs: list[str]
    trunks: list[str]
    bridge: str | None
    vlan: int | None
    l2mtu: int
    present: bool = True


class Leg(NamedTuple):
    """A leg on this switch: its current name and its row among the bridge ports, None when it is in no bridge."""

    default_name: str
    name: str
    member: Row | None


def legs(menus: Menus, want: Want) -> list[Leg]:
    """The wanted legs that this switch has."""
    members = {row.get("interface"): row for row in menus[PORT]}
    names = {str(row.get("default-name")): str(row.get("name")) for row in menus[ETHERNET]}
    return [Leg(leg, names[leg], members.get(names[leg])) for leg in want.legs if leg in names]


def bridge_of(menus: Menus, want: Want) -> str | None:
    """The bridge to use: the given one; else that of offloaded legs, of any legs, of any ports of the chip; None without any bridge."""
    names = [str(row.get("name")) for row in menus[BRIDGE]]
    if want.bridge:
        return want.bridge if want.bridge in names else None
    used = [leg.member for leg in legs(menus, want) if leg.member]
    of_chip = {row.get("name") for row in menus[ETHERNET] if row.get("switch")}
    others = [row for row in menus[PORT] if row.get("interface") in of_chip]
    for members in ([row for row in used if flag(row.get("hw-offload"))], used, [row for row in others if flag(row.get("hw-offload"))], others):
        found = [str(row.get("bridge")) for row in members if row.get("bridge") in names]
        if found:
            return max(sorted(set(found)), key=found.count)
    return names[0] if names else None


def lanes(want: Want) -> list[str]:
    """Default names of all lanes of the fabric's cages."""
    return [lane for cage in want.cages if (port := parse_port(cage)) and port.lane is None for lane in lanes_of(cage)]


def groups(menus: Menus, want: Want) -> list[Group]:
    """What is missing: the size first, then members, costs and VLAN, which only make sense together."""
    bridge = bridge_of(menus, want)
    if not want.present:
        found = [("bridge", _vlan.remove(menus, bridge, _legs_by_name(menus, want)) + _take_back(menus, want)), ("l2mtu", _size(menus, want))]
    else:
        found = [("l2mtu", _size(menus, want)), ("bridge", _members(menus, want, bridge or "bridge", not bridge))]
    return [Group(title, tuple(commands)) for title, commands in found if commands]


def _size(menus: Menus, want: Want) -> list[Command]:
    """Raise every lane that is smaller; taking back sets those that have our size to that of a new switch."""
    wanted = lanes(want)
    rows = [row for row in menus[ETHERNET] if row.get("default-name") in wanted]
    size = want.l2mtu if want.present else FACTORY_L2MTU
    wrong = [row for row in rows if (number(row.get("l2mtu")) or 0) < size or (not want.present and number(row.get("l2mtu")) == want.l2mtu)]
    wrong = [row for row in wrong if number(row.get("l2mtu")) != size]
    return [Command(ETHERNET, "set", tuple(str(row[".id"]) for row in wrong), {"l2mtu": size})] if wrong else []


def _members(menus: Menus, want: Want, bridge: str, is_new: bool) -> list[Command]:
    """Legs into the bridge, offloaded and enabled; costs; the VLAN."""
    commands = [Command(BRIDGE, "add", (), {"name": bridge, "comment": OURS})] if is_new else []
    for leg in legs(menus, want):
        values = _leg_values(want, leg)
        if leg.member is None:
            commands.append(Command(PORT, "add", (), {"bridge": bridge, "interface": leg.name, "comment": OURS, **values}))
            continue
        wrong = differing(leg.member, values)
        commands += [Command(PORT, "set", (str(leg.member[".id"]),), wrong)] if wrong else []
        if is_stale(menus, leg):
            commands += [Command(PORT, "set", (str(leg.member[".id"]),), {"hw": on}) for on in (False, True)]
    if want.trunks:
        commands += [
            Command(PORT, "set", (str(row[".id"]),), {"path-cost": DETOUR_COST})
            for row in menus[PORT] if row.get("bridge") == bridge and _is_ether(menus, row) and number(row.get("path-cost")) != DETOUR_COST
        ]
    if want.vlan:
        management = [str(row["interface"]) for row in menus[PORT] if row.get("bridge") == bridge and _is_ether(menus, row)]
        commands += _vlan.make(menus, bridge, management, _legs_by_name(menus, want), want.vlan)
    return commands


def _leg_values(want: Want, leg: Leg) -> dict[str, Value]:
    values: dict[str, Value] = {"hw": True, "disabled": False} if leg.member else {}
    if leg.default_name in want.trunks:
        values["path-cost"] = TRUNK_COST
    return values | (_vlan.port_values(want.vlan) if want.vlan else {})


def _take_back(menus: Menus, want: Want) -> list[Command]:
    """Costs that we set, members and a bridge that we added."""
    commands = [
        Command(PORT, "set", (str(row[".id"]),), {"path-cost": None})
        for row in menus[PORT] if number(row.get("path-cost")) in (TRUNK_COST, DETOUR_COST) and row.get("comment") != OURS
    ]
    commands += [Command(PORT, "remove", (str(row[".id"]),)) for row in menus[PORT] if row.get("comment") == OURS]
    return commands + [Command(BRIDGE, "remove", (str(row[".id"]),)) for row in menus[BRIDGE] if row.get("comment") == OURS]


def is_stale(menus: Menus, leg: Leg) -> bool:
    """Whether a running leg is the only kind of member that the chip does not forward: after a retrain it can keep a stale group,
    which switching ``hw`` off and on cures (field reports on 7.23)."""
    member = leg.member or {}
    if not flag(member.get("hw")) or any(flag(member.get(key)) for key in ("hw-offload", "inactive", "disabled")):
        return False
    return any(row.get("bridge") == member.get("bridge") and flag(row.get("hw-offload")) for row in menus[PORT])


def differing(row: Row, values: dict[str, Value]) -> dict[str, Value]:
    """The values that a row does not have yet."""
    return {
        key: value for key, value in values.items()
        if (flag(row.get(key)) is not value if isinstance(value, bool) else str(row.get(key)) != str(value))
    }


def running_trunks(menus: Menus, want: Want) -> list[Row]:
    """Bridge ports that lead to another switch and run; what the spanning tree makes of them is worth a look."""
    return [leg.member for leg in legs(menus, want)
            if leg.default_name in want.trunks and leg.member is not None and not flag(leg.member.get("inactive"))]


def _is_ether(menus: Menus, member: Row) -> bool:
    row = next((row for row in menus[ETHERNET] if row.get("name") == member.get("interface")), {})
    return str(row.get("default-name", "")).startswith("ether")


def _legs_by_name(menus: Menus, want: Want) -> list[str]:
    return [leg.name for leg in legs(menus, want)]


def view(menus: Menus, want: Want) -> dict[str, Any]:
    """What the user sees: the bridge, the legs in it, costs, sizes, VLANs. Only what this module decides about."""
    bridge = bridge_of(menus, want)
    row = next((row for row in menus[BRIDGE] if row.get("name") == bridge), {})
    ports = {}
    for leg in legs(menus, want):
        member = leg.member or {}
        ports[leg.default_name] = {
            "bridge": member.get("bridge"),
            "hw": flag(member.get("hw", True)) if member else None,
            "pvid": number(member.get("pvid", 1)) if member else None,
            "frame_types": member.get("frame-types", "admit-all") if member else None,
            "path_cost": number(member.get("path-cost")),
        }
    return {
        "bridge": bridge,
        "vlan_filtering": bool(flag(row.get("vlan-filtering"))),
        "ports": ports,
        "detours": {str(member.get("interface")): number(member.get("path-cost"))
                    for member in menus[PORT] if member.get("bridge") == bridge and want.trunks and _is_ether(menus, member)},
        "l2mtu": {str(port["default-name"]): number(port.get("l2mtu")) for port in menus[ETHERNET] if port.get("default-name") in lanes(want)},
        "vlans": _vlan.view(menus, bridge),
    }
