# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the switch chip refuses, and what it does when its configuration changes."""

from __future__ import annotations

from typing import Any

from . import qos
from .links import Link, cage_of, legs, link
from .machine import Machine, Row, Rules
from .values import RouterError

_RESTARTING = ("disabled", "speed", "auto-negotiation", "advertise", "fec-mode")
"""Fields of a lane whose change restarts its whole cage."""

UP_WITHOUT_LANES = ("ether1",)
"""Ports without lanes that have a cable: the management port."""


def build(model: str, version: str, **options: Any) -> Machine:
    """A switch fresh from its box; options as :class:`Machine` takes them."""
    return Machine(model, version, Rules(check, check_removal, changed), **options)


def max_l2mtu(machine: Machine, port: str) -> int:
    """The largest L2 MTU of a port in bytes."""
    return machine.model.ether_max_l2mtu if port.startswith("ether") else machine.model.max_l2mtu


def check(machine: Machine, path: str, row: Row | None, values: Row) -> None:
    """Raise what the switch answers instead of taking ``values`` for a row (None: a new one)."""
    merged = {**(row or {name: spec.default for name, spec in machine.menus[path].fields.items()}), **values}
    if path in _CHECKS:
        _CHECKS[path](machine, row, merged, values)
    qos.check(machine, path, row, merged, values)


def check_removal(machine: Machine, path: str, row: Row) -> None:
    """Raise what the switch answers instead of removing a row."""
    if row.get("default") or row.get("dynamic"):
        raise RouterError("failure: can not remove default or dynamic item")
    qos.check_removal(machine, path, row)


def changed(machine: Machine, path: str, before: Row, after: Row) -> None:
    """Do what follows from a change; ``before`` or ``after`` is empty for a row that came or went."""
    if path == "/interface/ethernet":
        cage = cage_of(after["default-name"])
        if cage and any(before.get(name) != after.get(name) for name in _RESTARTING):
            machine.restarted[cage] = machine.clock()
            machine.counts["cage restarts"] += 1
        if before.get("l2mtu") != after.get("l2mtu"):
            machine.counts["l2mtu flaps"] += 1
        if before.get("name") != after.get("name"):
            _rename(machine, before["name"], after["name"])
    elif path == "/interface/bridge" and not after:
        ports = machine.tables["/interface/bridge/port"]
        ports.rows = [row for row in ports.rows if row["bridge"] != before["name"]]
    elif path == "/interface/bridge/port" and after and not after["hw"]:
        machine.stale_offload.discard(after["interface"])
    elif path == "/interface/ethernet/switch" and machine.model.group == "cpss":
        after["qos-hw-offloading"] = True
    qos.changed(machine, path, before, after)


def links(machine: Machine) -> dict[str, Link]:
    """Links of all legs by the default name of their leader."""
    cages: dict[str, list[Row]] = {}
    for row in machine.rows("/interface/ethernet"):
        cage = cage_of(row["default-name"])
        if cage:
            cages.setdefault(cage, []).append(row)
    found = {}
    for cage, rows in cages.items():
        is_dark = machine.clock() < machine.restarted.get(cage, -1e9) + machine.restart_seconds
        for leg in legs(rows):
            found[leg.leader] = link(leg, machine.plugs.get(cage), is_dark)
    return found


def running(machine: Machine) -> set[str]:
    """Names of all interfaces that run."""
    up = {leader for leader, state in links(machine).items() if state.status == "link-ok"}
    names = {row["name"] for row in machine.rows("/interface/ethernet")
             if not row["disabled"] and (row["default-name"] in up or row["default-name"] in UP_WITHOUT_LANES)}
    bridges = {row["name"] for row in machine.rows("/interface/bridge") if not row["disabled"]}
    return names | bridges | {row["name"] for row in machine.rows("/interface/vlan") if row["interface"] in names | bridges and not row["disabled"]}


def offloaded_bridge(machine: Machine) -> str | None:
    """The one bridge that the chip forwards: the first that is enabled and has ports of the chip."""
    switched = _switched(machine)
    members = {row["bridge"] for row in machine.rows("/interface/bridge/port") if row["interface"] in switched}
    return next((row["name"] for row in machine.rows("/interface/bridge") if row["name"] in members and not row["disabled"]), None)


def offloaded(machine: Machine) -> set[str]:
    """Interfaces whose bridge port has the flag H."""
    if machine.tables["/interface/bridge/settings"].record["use-ip-firewall"]:
        return set()
    bridge, switched = offloaded_bridge(machine), _switched(machine)
    return {
        row["interface"] for row in machine.rows("/interface/bridge/port")
        if row["bridge"] == bridge and row["hw"] and not row["disabled"] and row["horizon"] == "none" and row["interface"] in switched
        and row["interface"] not in machine.stale_offload
    }


def _switched(machine: Machine) -> set[str]:
    """Names of the ports of the switch chip."""
    return {row["name"] for row in machine.rows("/interface/ethernet") if row["default-name"] not in machine.model.apart}


def bridge_l2mtu(machine: Machine, bridge: str) -> int:
    """The smallest L2 MTU of a bridge's members; 65535 without any."""
    ports = [row["interface"] for row in machine.rows("/interface/bridge/port") if row["bridge"] == bridge]
    return min((row["l2mtu"] for row in machine.rows("/interface/ethernet") if row["name"] in ports), default=65535)


def _check_ethernet(machine: Machine, row: Row | None, merged: Row, values: Row) -> None:
    if "l2mtu" in values and merged["l2mtu"] > max_l2mtu(machine, merged["default-name"]):
        raise RouterError("value of l2mtu out of range (0..65536)")
    if ("mtu" in values or "l2mtu" in values) and merged["mtu"] > merged["l2mtu"]:
        raise RouterError("failure: could not set mtu")
    if "name" in values and values["name"] != (row or {}).get("name") and values["name"] in machine.names("interface"):
        raise RouterError("failure: already have interface with such name")


def _check_bridge(machine: Machine, row: Row | None, merged: Row, values: Row) -> None:
    if "name" in values and values["name"] != (row or {}).get("name") and values["name"] in machine.names("interface"):
        raise RouterError("failure: already have interface with such name")
    if row and isinstance(merged["mtu"], int) and merged["mtu"] > bridge_l2mtu(machine, row["name"]):
        raise RouterError("failure: could not set mtu")


def _check_bridge_port(machine: Machine, row: Row | None, merged: Row, values: Row) -> None:
    others = [other["interface"] for other in machine.rows("/interface/bridge/port") if other is not row]
    if "interface" in values and merged["interface"] in others:
        raise RouterError("failure: device already added as bridge port")


_CHECKS: dict[str, Any] = {
    "/interface/ethernet": _check_ethernet,
    "/interface/bridge": _check_bridge,
    "/interface/bridge/port": _check_bridge_port,
}


def _rename(machine: Machine, before: str, after: str) -> None:
    """References follow a renamed interface."""
    for table in machine.tables.values():
        for row in table.rows:
            for key in ("interface", "name"):
                if row.get(key) == before and table.menu.path != "/interface/bridge":
                    row[key] = after
            for key in ("tagged", "untagged"):
                if isinstance(row.get(key), list):
                    row[key] = [after if name == before else name for name in row[key]]
