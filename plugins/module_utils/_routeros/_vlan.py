# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeping the fabric apart by a VLAN inside the one bridge, in the order that never locks anybody out. Pure.

Ports first, then the table with management's VLAN 1 in it, filtering last; back in the opposite order (a published four-node build on a CRS804).
Rows of ours carry a comment, which also remembers whether filtering was off before.
"""

from __future__ import annotations

from typing import Any

from ._command import Command, Value
from ._rows import Row, flag, numbers, words

VLAN, BRIDGE = "/interface/bridge/vlan", "/interface/bridge"
COMMENT, COMMENT_WAS_OFF = "gb10.cluster", "gb10.cluster: filtering was off"
MANAGEMENT = 1

Menus = dict[str, list[Row]]


def port_values(vlan: int) -> dict[str, Value]:
    """What a leg is set to: untagged frames only, which belong to the VLAN."""
    return {"pvid": vlan, "frame-types": "admit-only-untagged-and-priority-tagged", "ingress-filtering": True}


def make(menus: Menus, bridge: str, management: list[str], legs: list[str], vlan: int) -> list[Command]:
    """The table rows and the filtering that are missing; the legs themselves are set before.

    ``management``: ports that stay in VLAN 1 beside the bridge itself; RouterOS adds every other port to the VLAN of its ``pvid`` by itself.
    """
    row = next((row for row in menus[BRIDGE] if row.get("name") == bridge), {})
    is_on = bool(flag(row.get("vlan-filtering")))
    comment = COMMENT if is_on else COMMENT_WAS_OFF
    commands = _row(menus, bridge, MANAGEMENT, [bridge, *management], comment) if not is_on or _ours(menus) else []
    commands += _row(menus, bridge, vlan, legs, comment)
    if not is_on:
        commands.append(Command(BRIDGE, "set", (str(row[".id"]) if row else bridge,), {"vlan-filtering": True}))
    return commands


def _row(menus: Menus, bridge: str, vlan: int, untagged: list[str], comment: str) -> list[Command]:
    """A row of ours with these ports, or the ports that an existing one lacks."""
    for row in menus[VLAN]:
        if row.get("bridge") == bridge and not flag(row.get("dynamic")) and vlan in numbers(row.get("vlan-ids")):
            present = words(row.get("untagged"))
            wanted = untagged if row.get("comment") in (COMMENT, COMMENT_WAS_OFF) else [*present, *(port for port in untagged if port not in present)]
            return [Command(VLAN, "set", (str(row[".id"]),), {"untagged": wanted})] if set(wanted) != set(present) else []
    return [Command(VLAN, "add", (), {"bridge": bridge, "vlan-ids": str(vlan), "untagged": untagged, "comment": comment})]


def filtering_off(menus: Menus) -> list[Command]:
    """Filtering off again where a row of ours says that it was; the rows themselves are removed after the ports have left the VLAN."""
    bridges = {row.get("bridge") for row in _ours(menus) if row.get("comment") == COMMENT_WAS_OFF}
    return [Command(BRIDGE, "set", (str(row[".id"]),), {"vlan-filtering": False})
            for row in menus[BRIDGE] if row.get("name") in bridges and flag(row.get("vlan-filtering"))]


def _ours(menus: Menus) -> list[Row]:
    return [row for row in menus[VLAN] if row.get("comment") in (COMMENT, COMMENT_WAS_OFF)]


def view(menus: Menus, bridge: str | None) -> dict[str, Any]:
    """VLAN -> untagged ports, of the rows that are written down; what the switch adds by itself is left out."""
    return {str(row.get("vlan-ids")): sorted(words(row.get("untagged")))
            for row in menus[VLAN] if row.get("bridge") == bridge and not flag(row.get("dynamic"))}
