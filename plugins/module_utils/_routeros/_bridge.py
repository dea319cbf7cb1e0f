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
from ._breakout import with_notes
from ._cages import lanes_of, parse_port
from ._command import Command, Group, Value
from ._notes import back, forget, former, noted, remember, set_rows
from ._rows import Row, flag, number

BRIDGE, PORT, ETHERNET, INTERFACE, MONITOR = (
    "/interface/bridge", "/interface/bridge/port", "/interface/ethernet", "/interface", "/interface/bridge/port/monitor")
MENUS = {BRIDGE: False, PORT: False, ETHERNET: False, INTERFACE: False, _vlan.VLAN: False}
OURS = "gb10.cluster"
"""Comment by which what we added is known again."""

USUAL_L2MTU = 9216
"""L2 MTU of the fabric's lanes in bytes where the plan does not say; the value of most published configurations for frames of 9000."""

L2MTU = "l2mtu"
FIELDS = ("hw", "disabled", "path-cost", "pvid", "frame-types", "ingress-filtering")
"""What is changed of a bridge port here, and noted."""

TRUNK_COST, DETOUR_COST = 10, 10_000_000
"""Path costs where there are inter-switch links: theirs, and that of ``ether`` ports, which often meet again on one management LAN."""

Menus = dict[str, list[Row]]


class Want(NamedTuple):
    """``cages``: names; ``legs``: default names of leading lanes; ``trunks``: those of them that lead to another switch; ``bridge``: name, None for
    the one that is there; ``vlan``: keeps the fabric apart, None: no matter; ``l2mtu`` in bytes. Not ``present``: what we changed on ``cages``, or
    without any on all ports, goes back to what it was."""

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
    """The wanted legs that this switch has; without any, to take back, those that carry a note of ours."""
    members = {row.get("interface"): row for row in menus[PORT]}
    names = {str(row.get("default-name")): str(row.get("name")) for row in menus[ETHERNET]}
    wanted = want.legs if want.legs or want.present else [leg for leg, name in names.items() if noted(members.get(name, {}))]
    return [Leg(leg, names[leg], members.get(names[leg])) for leg in wanted if leg in names]


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
        found = [("bridge", _vlan.filtering_off(menus) + _take_back(menus)), *_size(menus, want)]
    else:
        found = [*_size(menus, want), ("bridge", _members(menus, want, bridge or "bridge", not bridge))]
    return [Group(title, tuple(commands)) for title, commands in found if commands]


def _size(menus: Menus, want: Want) -> list[tuple[str, list[Command]]]:
    """Raise every lane that is smaller, or bring back what it was, in one command: every change of a size flaps all links of the chip.
    The notes are a group of their own where ports have different ones. One that somebody edited to no number brings nothing back."""
    wanted = lanes(want)
    rows = [row for row in with_notes(menus[ETHERNET]) if row.get("default-name") in wanted or not (wanted or want.present)]
    changes: list[tuple[Row, int | None, str]]
    if want.present:
        smaller = [row for row in rows if (size := number(row.get(L2MTU))) is not None and size < want.l2mtu]
        changes = [(row, want.l2mtu, remember(row, {L2MTU: row.get(L2MTU)})) for row in smaller]
    else:
        changes = [(row, number(noted(row)[L2MTU]), forget(row, (L2MTU,))) for row in rows if L2MTU in noted(row)]
    sizes: list[tuple[Row, dict[str, Value]]] = [(row, {L2MTU: size}) for row, size, _comment in changes if size is not None]
    notes: list[tuple[Row, dict[str, Value]]] = [(row, {"comment": comment}) for row, _size, comment in changes if row.get("comment", "") != comment]
    if len(sizes) == len(notes) == len(changes) <= 32 and all(values == notes[0][1] for _row, values in notes):
        return [("l2mtu", set_rows(ETHERNET, [(row, {**values, **notes[0][1]}) for row, values in sizes]))]
    both = [("notes", set_rows(ETHERNET, notes)), ("l2mtu", set_rows(ETHERNET, sizes, most=len(sizes)))]
    return both if want.present else both[::-1]


def _members(menus: Menus, want: Want, bridge: str, is_new: bool) -> list[Command]:
    """Legs into the bridge, offloaded and enabled; costs; the VLAN; ports that are of the fabric no more as they were."""
    commands = [Command(BRIDGE, "add", (), {"name": bridge, "comment": OURS})] if is_new else []
    commands += [] if want.vlan else _vlan.filtering_off(menus)
    wanted = legs(menus, want)
    for leg in wanted:
        values = _leg_values(menus, want, leg)
        if leg.member is None:
            commands.append(Command(PORT, "add", (), {"bridge": bridge, "interface": leg.name, "comment": OURS, **values}))
            continue
        commands += _set_member(leg.member, values)
        if is_stale(menus, leg):
            commands += [Command(PORT, "set", (str(leg.member[".id"]),), {"hw": on}) for on in (False, True)]
    for row in menus[PORT]:
        if row.get("bridge") == bridge and row.get("interface") not in [leg.name for leg in wanted]:
            cost: dict[str, Value] = {"path-cost": DETOUR_COST} if want.trunks and _is_ether(menus, row) else {}
            is_added = row.get("comment") == OURS
            commands += [Command(PORT, "remove", (str(row[".id"]),))] if is_added else _set_member(row, _left(menus, row) | cost)
    return commands + (_vlan.make(menus, bridge, vlan_rows(menus, want, bridge)) if want.vlan else _vlan.remove(menus))


def vlan_rows(menus: Menus, want: Want, bridge: str) -> dict[int, list[str]]:
    """VLAN -> ports that are to be untagged in it; empty without a VLAN of the fabric."""
    management = [str(row["interface"]) for row in menus[PORT] if row.get("bridge") == bridge and _is_ether(menus, row)]
    return _vlan.rows(menus, bridge, management, [leg.name for leg in legs(menus, want)], want.vlan) if want.vlan else {}


def _leg_values(menus: Menus, want: Want, leg: Leg) -> dict[str, Value]:
    values: dict[str, Value] = {"hw": True, "disabled": False, **_left(menus, leg.member)} if leg.member else {}
    if leg.default_name in want.trunks:
        values["path-cost"] = TRUNK_COST
    return values | (_vlan.port_values(want.vlan) if want.vlan else {})


def _left(menus: Menus, member: Row) -> dict[str, Value]:
    """What a bridge port of ours is to be where the plan says nothing of it any more: its cost if that is ours, its VLAN as long as ours is there.
    What its owner changes after that stays."""
    before = {**_vlan.NEW_PORT, "path-cost": None} if member.get("comment") == OURS else former(member, FIELDS)
    has_our_cost = number(member.get("path-cost")) in (TRUNK_COST, DETOUR_COST)
    fields = [*(_vlan.NEW_PORT if _vlan.is_made(menus, member) else ()), *(["path-cost"] if has_our_cost else [])]
    return {name: value for name, value in before.items() if name in fields}


def _set_member(member: Row, values: dict[str, Value]) -> list[Command]:
    """What a bridge port lacks, with a note of what it was; one that we added is removed in the end and needs none."""
    wrong = differing(member, values)
    note = remember(member, {name: member.get(name) for name in FIELDS})
    if wrong and member.get("comment") not in (OURS, note):
        wrong["comment"] = note
    return [Command(PORT, "set", (str(member[".id"]),), wrong)] if wrong else []


def _take_back(menus: Menus) -> list[Command]:
    """Bridge ports as they were, and without the members, VLANs and the bridge that we added."""
    commands = set_rows(PORT, [(row, back(row, FIELDS)) for row in menus[PORT]])
    return commands + [
        Command(menu, "remove", (str(row[".id"]),))
        for menu in (_vlan.VLAN, PORT, BRIDGE) for row in menus[menu] if row.get("comment") in (OURS, _vlan.COMMENT_WAS_OFF)
    ]


def is_stale(menus: Menus, leg: Leg) -> bool:
    """Whether a running leg is the only kind of member that the chip does not forward: after a retrain it can keep a stale group,
    which switching ``hw`` off and on cures (field reports on 7.23). A port with a horizon is forwarded by the CPU for good."""
    member = leg.member or {}
    if not flag(member.get("hw")) or member.get("horizon", "none") != "none" or any(flag(member.get(key)) for key in ("hw-offload", "inactive", "disabled")):
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
