# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeping the fabric apart by a VLAN inside the one bridge, in the order that never locks anybody out. Pure.

Ports first, then the table with management's VLAN 1 in it, filtering last; back in the opposite order (a published four-node build on a CRS804).
Rows of ours carry a comment, which also remembers whether filtering was off before; without any, because others wrote them all, the bridge has
a note of that. Rows of others are never changed.
"""

from __future__ import annotations

from typing import Any

from ._command import Command, Value
from ._notes import back, noted, remember
from ._rows import Row, flag, number, numbers, words

VLAN, BRIDGE = "/interface/bridge/vlan", "/interface/bridge"
FILTERING = "vlan-filtering"
COMMENT, COMMENT_WAS_OFF = "gb10.cluster", "gb10.cluster: filtering was off"
MANAGEMENT, LAST = 1, 4094

NEW_PORT: dict[str, Value] = {"pvid": 1, "frame-types": "admit-all", "ingress-filtering": True}
"""What a bridge port that nobody has changed says of VLANs."""

Menus = dict[str, list[Row]]


def port_values(vlan: int) -> dict[str, Value]:
    """What a leg is set to: untagged frames only, which belong to the VLAN."""
    return {"pvid": vlan, "frame-types": "admit-only-untagged-and-priority-tagged", "ingress-filtering": True}


def rows(menus: Menus, bridge: str, management: list[str], legs: list[str], vlan: int) -> dict[int, list[str]]:
    """VLAN -> ports that a row must have untagged.

    ``management``: ports that stay in VLAN 1 beside the bridge itself; RouterOS adds every other port to the VLAN of its ``pvid`` by itself.
    A bridge that filtered before us has its own idea of VLAN 1.
    """
    return {**({MANAGEMENT: [bridge, *management]} if _was_off(menus, bridge) else {}), vlan: legs}


def others(menus: Menus, bridge: str, wanted: dict[int, list[str]]) -> dict[int, Row]:
    """VLAN -> row of somebody else that lacks ports."""
    found = {vlan: _find(menus, bridge, vlan) for vlan in wanted}
    return {vlan: row for vlan, row in found.items() if row and not _is_ours(row) and not set(wanted[vlan]) <= set(words(row.get("untagged")))}


def make(menus: Menus, bridge: str, wanted: dict[int, list[str]]) -> list[Command]:
    """The table rows and the filtering that are missing, and no other rows of ours; the legs themselves are set before."""
    row = next((row for row in menus[BRIDGE] if row.get("name") == bridge), {})
    comment = COMMENT_WAS_OFF if _was_off(menus, bridge) else COMMENT
    commands: list[Command] = []
    for vlan, untagged in wanted.items():
        known = _find(menus, bridge, vlan)
        if known is None:
            values: dict[str, Value] = {"bridge": bridge, "vlan-ids": str(vlan), "untagged": untagged, "comment": comment}
            commands.append(Command(VLAN, "add", (), values))
        elif _is_ours(known) and set(untagged) != set(words(known.get("untagged"))):
            commands.append(Command(VLAN, "set", (str(known[".id"]),), {"untagged": untagged}))
    change: dict[str, Value] = {} if is_on(menus, bridge) else {FILTERING: True}
    is_told = any(known is None or _is_ours(known) for known in (_find(menus, bridge, vlan) for vlan in wanted))
    # a bridge of ours goes in the end, whether it filters or not
    if _was_off(menus, bridge) and not is_told and FILTERING not in noted(row) and row.get("comment") != COMMENT:
        change["comment"] = remember(row, {FILTERING: False})
    if change:
        commands.append(Command(BRIDGE, "set", (str(row[".id"]) if row else bridge,), change))
    return commands + remove(menus, tuple(wanted))


def remove(menus: Menus, keep: tuple[int, ...] = ()) -> list[Command]:
    """Without the rows of ours, but those of the VLANs to keep."""
    return [Command(VLAN, "remove", (str(row[".id"]),)) for row in ours(menus) if not numbers(row.get("vlan-ids")) & set(keep)]


def reaches_bridge(menus: Menus, bridge: str, vlan: int | None) -> bool:
    """Whether a written row gives the bridge itself, and so an interface on it, the frames of a VLAN with their tag."""
    return any(row.get("bridge") == bridge and not flag(row.get("disabled")) and vlan in numbers(row.get("vlan-ids")) and bridge in words(row.get("tagged"))
               for row in menus[VLAN])


def _find(menus: Menus, bridge: str, vlan: int) -> Row | None:
    """The written row of a VLAN; one of ours where there are several."""
    found = [row for row in menus[VLAN] if row.get("bridge") == bridge and not flag(row.get("dynamic")) and vlan in numbers(row.get("vlan-ids"))]
    return next((row for row in found if _is_ours(row)), next(iter(found), None))


def is_on(menus: Menus, bridge: str) -> bool:
    """Whether the bridge filters."""
    return any(row.get("name") == bridge and flag(row.get(FILTERING)) for row in menus[BRIDGE])


def _was_off(menus: Menus, bridge: str) -> bool:
    """Whether the bridge did not filter before us."""
    told = any(row.get("comment") == COMMENT_WAS_OFF and row.get("bridge") == bridge for row in menus[VLAN])
    return told or not is_on(menus, bridge) or any(FILTERING in noted(row) for row in menus[BRIDGE] if row.get("name") == bridge)


def filtering_off(menus: Menus) -> list[Command]:
    """Filtering off again where a row of ours or a note says that it was; the rows themselves are removed after the ports have left the VLAN."""
    bridges = {row.get("bridge") for row in ours(menus) if row.get("comment") == COMMENT_WAS_OFF}
    changes: list[tuple[Row, dict[str, Value]]] = [
        (row, back(row, (FILTERING,)) or ({FILTERING: False} if row.get("name") in bridges and flag(row.get(FILTERING)) else {})) for row in menus[BRIDGE]
    ]
    return [Command(BRIDGE, "set", (str(row[".id"]),), values) for row, values in changes if values]


def is_made(menus: Menus, member: Row) -> bool:
    """Whether a row or a note says that the VLAN is ours, or a bridge port is as we set it and was not before."""
    before, vlan = noted(member).get("pvid"), number(member.get("pvid"))
    now = {"pvid": vlan, "frame-types": member.get("frame-types"), "ingress-filtering": flag(member.get("ingress-filtering"))}
    is_set = vlan is not None and before not in (None, str(vlan)) and now == port_values(vlan)
    return is_set or bool(ours(menus)) or any(FILTERING in noted(row) for row in menus[BRIDGE])


def ours(menus: Menus) -> list[Row]:
    """The rows that we added."""
    return [row for row in menus[VLAN] if _is_ours(row)]


def _is_ours(row: Row) -> bool:
    return row.get("comment") in (COMMENT, COMMENT_WAS_OFF)


def view(menus: Menus, bridge: str | None) -> dict[str, Any]:
    """VLAN -> untagged ports, of the rows that are written down; what the switch adds by itself is left out."""
    return {str(row.get("vlan-ids")): sorted(words(row.get("untagged")))
            for row in menus[VLAN] if row.get("bridge") == bridge and not flag(row.get("dynamic"))}
