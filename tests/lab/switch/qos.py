# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QoS of the switch chip: references, limits, built-in objects, rows that the switch makes by itself, and whether any of it works."""

from __future__ import annotations

import re

from .machine import Machine, Row
from .menus import QOS
from .models import QOS_WORKS_FROM, SHAPER_LIMITS, version_tuple
from .values import Bits, Nothing, RouterError

PROFILE, MAP_IP, MAP_VLAN = f"{QOS}/profile", f"{QOS}/map/ip", f"{QOS}/map/vlan"
QUEUE, PORT, PFC, MANAGER = f"{QOS}/tx-manager/queue", f"{QOS}/port", f"{QOS}/priority-flow-control", f"{QOS}/tx-manager"


def works(machine: Machine) -> bool:
    """Whether ECN and PFC do anything here, accepted or not."""
    floor = QOS_WORKS_FROM.get(machine.model.group)
    return floor is not None and version_tuple(machine.version) >= floor


def is_active(machine: Machine) -> bool:
    """Whether the chip takes the configuration: offloading is on."""
    return any(row.get("qos-hw-offloading") for row in machine.rows("/interface/ethernet/switch"))


def shaper_limit(machine: Machine) -> int | None:
    """Highest queue shaper in bit/s, None for no limit."""
    for group, without_from, gbps in SHAPER_LIMITS:
        if group == machine.model.group and version_tuple(machine.version) < without_from:
            return gbps * 10**9
    return None


def check(machine: Machine, path: str, row: Row | None, merged: Row, values: Row) -> None:
    """Raise what the switch answers instead of taking ``values``."""
    if not path.startswith(QOS):
        return
    if row and (row.get("dynamic") and not row.get("default")):
        raise RouterError("failure: can not change dynamic item")
    if row and path == PFC and row.get("name") == "disabled":
        raise RouterError("failure: can not change default item")
    if row and path in (PROFILE, MANAGER, f"{QOS}/map") and row.get("default") and "name" in values:
        raise RouterError("failure: can not change default item")
    if "name" in values and any(other is not row and other.get("name") == values["name"] for other in machine.rows(path)):
        raise RouterError("failure: already have such entry")
    for name, value in values.items():
        limit = shaper_limit(machine) if name.startswith("egress-rate-queue") else None
        if limit is not None and isinstance(value, Bits) and value > limit:
            raise RouterError(f"failure: max bit rate is {limit // 10**9}G")
    if path == PFC:
        _check_thresholds(merged)
    if path in (MAP_IP, MAP_VLAN):
        key = "dscp" if path == MAP_IP else "pcp"
        taken = {number for other in machine.rows(path)
                 if other is not row and not other.get("dynamic") and other["map"] == merged["map"] for number in _numbers(other[key])}
        if taken & _numbers(merged[key]):
            raise RouterError("failure: already have such entry")


def check_removal(machine: Machine, path: str, row: Row) -> None:
    """Raise what the switch answers instead of removing a row that others refer to."""
    name = row.get("name")
    users = {PROFILE: ((PORT, "profile"), (MAP_IP, "profile"), (MAP_VLAN, "profile")), PFC: ((PORT, "pfc"),), MANAGER: ((PORT, "tx-manager"),),
             f"{QOS}/map": ((PORT, "map"), (MAP_IP, "map"), (MAP_VLAN, "map"))}.get(path, ())
    for menu, key in users:
        if any(other.get(key) == name and not other.get("dynamic") for other in machine.rows(menu)):
            raise RouterError("failure: item is in use")


def changed(machine: Machine, path: str, before: Row, after: Row) -> None:
    """Make the rows that the switch makes by itself, and count the pauses that a queue change causes."""
    if path in (QUEUE, MANAGER) and before != after:
        machine.counts["tx pauses"] += 1
    if path == MANAGER and after and not before:
        for number in range(8):
            template = next(row for row in machine.rows(QUEUE) if row["tx-manager"] == "default" and row["traffic-class"] == number)
            values = {key: value for key, value in template.items() if key != ".id"}
            machine.append(QUEUE, {**values, "tx-manager": after["name"], "default": False})
    if path == MANAGER and not after:
        table = machine.tables[QUEUE]
        table.rows = [row for row in table.rows if row["tx-manager"] != before["name"]]
    if path in (PROFILE, MAP_IP, MAP_VLAN):
        _automap(machine)


def _automap(machine: Machine) -> None:
    """From 7.23 a profile with automap leads its DSCP and PCP to itself, unless a static row says otherwise."""
    if "automap" not in machine.menus[PROFILE].fields:
        return
    for path, key in ((MAP_IP, "dscp"), (MAP_VLAN, "pcp")):
        table = machine.tables[path]
        wanted = {(row["name"], row[key]) for row in machine.rows(PROFILE)
                  if row["automap"] and not row.get("default") and not row.get("disabled")}
        static = {number for row in table.rows if not row.get("dynamic") and row["map"] == "default" for number in _numbers(row[key])}
        wanted = {(name, number) for name, number in wanted if int(number) not in static}
        table.rows = [row for row in table.rows if not row.get("dynamic") or (row["profile"], row[key]) in wanted]
        present = {(row["profile"], row[key]) for row in table.rows if row.get("dynamic")}
        for name, number in sorted(wanted - present, key=str):
            machine.append(path, {"map": "default", key: number, "profile": name, "dynamic": True})


def _numbers(value: object) -> set[int]:
    found: set[int] = set()
    for part in str(value).split(","):
        bounds = re.match(r"(\d+)(?:-(\d+))?\Z", part)
        if bounds:
            found.update(range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1))
    return found


def _check_thresholds(merged: Row) -> None:
    sizes = {}
    for name, least in (("pause-threshold", 1536), ("resume-threshold", 256)):
        text = "" if isinstance(merged.get(name), Nothing) else str(merged.get(name, "auto"))
        percent = re.match(r"(\d+)%\Z", text)
        if text in ("", "auto"):
            continue
        if not (percent and int(percent[1]) <= 100) and not (text.isdigit() and int(text) >= least):
            raise RouterError(f"invalid value for argument {name}")
        sizes[name] = (bool(percent), int(percent[1] if percent else text))
    if len(sizes) == 2 and sizes["pause-threshold"][0] == sizes["resume-threshold"][0] and sizes["resume-threshold"] >= sizes["pause-threshold"]:
        raise RouterError("invalid value for argument resume-threshold")
