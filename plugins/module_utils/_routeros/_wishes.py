# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each module wants of a switch, from its options; and all of it at once, from the plan's part for a switch.

``name`` is how messages call the switch. Cages and legs are the plan's, ``fabric_plan.switches[NAME].cages`` and ``legs``.
"""

from __future__ import annotations

from typing import Any

from .._message import message
from . import _breakout, _bridge, _bridge_checks, _qos, _qos_checks, _qos_rows, _qos_view
from ._change import Menus, Wish, device_of, due
from ._device import Device, refuse_model
from ._session import ConnectionLost, SwitchError
from ._state import Reader


def breakout_want(name: str, cages: dict[str, Any], legs: dict[str, Any], present: bool) -> _breakout.Want:
    """Cages and their modes. Raises :class:`SwitchError` for what can not be understood, all of it."""
    _must_be_mappings(name, cages, legs)
    understood, refused = _breakout.understand(name, cages, present)
    if refused:
        raise SwitchError("\n".join(refused))
    return _breakout.Want(understood, list(legs), present)


def breakout(name: str, want: _breakout.Want) -> Wish:
    """Cages in their modes."""
    return Wish(
        menus={_breakout.ETHERNET: False},
        groups=lambda menus: _breakout.groups(menus, want),
        view=lambda menus: _breakout.view(menus, want),
        refusals=lambda menus, address: _breakout.refusals(name, menus, want, address),
    )


def bridge(name: str, cages: dict[str, Any], legs: dict[str, Any], bridge: str | None, vlan: int | None, l2mtu: int, present: bool) -> Wish:
    """Legs in the one bridge, frames of ``l2mtu`` bytes through their cages. Raises :class:`SwitchError` for what can not be understood."""
    _must_be_mappings(name, cages, legs)
    trunks = [leg for leg, end in legs.items() if (end or {}).get("switch")]
    want = _bridge.Want(list(cages), list(legs), trunks, bridge, vlan, l2mtu, present)

    def warnings(menus: Menus, address: str) -> list[str]:
        resizes = any(group.title == "l2mtu" for group in _bridge.groups(menus, want))
        return _bridge_checks.warnings(name, menus, want, address, device_of(menus).group, resizes)

    return Wish(
        menus=_bridge.MENUS,
        groups=lambda menus: _bridge.groups(menus, want),
        view=lambda menus: _bridge.view(menus, want),
        refusals=lambda menus, address: _bridge_checks.refusals(name, menus, want, address),
        warnings=warnings,
        problems=lambda menus: _bridge_checks.problems(name, menus, want),
        more=lambda reader, menus: {_bridge.MONITOR: [reader.monitor(_bridge.PORT, row[".id"]) for row in _bridge.running_trunks(menus, want)]},
    )


def roce(name: str, level: str, cages: dict[str, Any], legs: dict[str, Any], adopt: bool) -> Wish:
    """RoCE at a level of ``_qos_rows.LEVELS``; ``adopt``: use what others made if it fits. Raises :class:`SwitchError` for what can not be understood."""
    _must_be_mappings(name, cages, legs)

    def want_of(menus: Menus) -> _qos_rows.Want:
        return _qos_view.want(menus, level, list(cages), legs, adopt)

    return Wish(
        menus=_qos_view.MENUS,
        groups=lambda menus: _qos.groups(device_of(menus), _qos_view.have(menus), want_of(menus)),
        view=lambda menus: _qos_view.view(menus, want_of(menus)),
        refusals=lambda menus, address: _qos_checks.refusals(name, device_of(menus), _qos_view.have(menus), want_of(menus)),
        warnings=lambda menus, address: _qos_checks.warnings(name, device_of(menus), want_of(menus)),
        problems=lambda menus: _qos_checks.problems(name, _qos_view.have(menus), want_of(menus)),
        optional=_qos_view.OPTIONAL,
    )


def _must_be_mappings(name: str, cages: Any, legs: Any) -> None:
    """Every cage and every leg is a mapping, or says nothing; typed as a plain name or speed it would be read as something else."""
    refused = []
    for option, given in (("cages", cages), ("legs", legs)):
        if not isinstance(given, dict):
            refused.append(message(f"{name}: {option}", "a mapping of names to mappings", repr(given)[:60], f"Write {option} as the plan has them."))
            continue
        refused += [message(f"{name}: {key} in {option}", "a mapping", repr(value)[:60], f"Write {option} as the plan has them.")
                    for key, value in given.items() if value is not None and not isinstance(value, dict)]
    if refused:
        raise SwitchError("\n".join(refused))


MODULES = ("breakout", "bridge", "roce")
"""The modules that change a switch, in their order: a leg must be one before it is in the bridge, and there before RoCE has a port."""


def of_plan(name: str, plan: dict[str, Any], present: bool, adopt: bool) -> dict[str, Wish]:
    """What the modules are to do for the plan's part for a switch, by the part of their names after ``mikrotik_``.

    :raises SwitchError: for what can not be understood.
    """
    cages, legs = plan.get("cages") or {}, plan.get("legs") or {}
    level = plan.get("roce") or "none" if present else "none"
    wishes = (
        breakout(name, breakout_want(name, cages, legs, present)),
        bridge(name, cages, legs, plan.get("bridge"), plan.get("vlan"), int(plan.get("l2mtu") or _bridge.USUAL_L2MTU), present),
        roce(name, level, cages, legs, adopt),
    )
    return dict(zip(MODULES, wishes))


def due_of_plan(reader: Reader, found: Device, plan: dict[str, Any], present: bool, adopt: bool) -> dict[str, Any]:
    """What a switch lacks to be what the plan says of it, or what is left of us on it, as :func:`_change.due` tells it."""
    name = reader.session.name
    try:
        told = due(reader, of_plan(name, plan, present, adopt))
    except ConnectionLost:
        raise
    except SwitchError as error:
        told = {"refusals": str(error).split("\n"), "warnings": [], "problems": [], **{module: [] for module in MODULES}}
    return {**told, "refusals": refuse_model(name, found, plan.get("model") if present else None) + told["refusals"]}
