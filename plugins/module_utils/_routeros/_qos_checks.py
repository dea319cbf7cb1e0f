# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCE on a MikroTik switch: what forbids it, what speaks against it, and whether it really works. Pure."""

from __future__ import annotations

from .._message import message
from ._device import Device
from ._qos import pfc_name, profile_name, shaper
from ._qos_rows import PFC_NAME, PFC_OFF, PROFILES, QUEUES, Have, Want, differing
from ._rows import Row, flag, number, numbers

FLOORS: dict[str, str] = {"cpss": "7.23", "bc2": "7.20"}
"""Chip group -> oldest RouterOS whose QoS does something: on the CRS8xx older ones accept every object and ignore it (release note of 7.23)."""


def refusals(name: str, found: Device, have: Have, want: Want) -> list[str]:
    """Everything that forbids the wanted level, with what to do. ``name`` is how messages call the switch."""
    known = {row["name"] for row in have.ports}
    if want.level == "none" and not known:
        return []
    refused = [
        message(f"{name}: port {port}", "a port of this switch", "none of that name", "Correct fabric_cables.")
        for port in [*want.legs, *want.lanes] if port not in known
    ]
    if want.level == "none":
        return refused
    floor = FLOORS.get(found.group or "")
    if floor is None:
        return [*refused, message(
            f"{name}: RoCE {want.level}", "a switch chip with PFC and ECN", found.chip or "none", "Set fabric_roce to none.")]
    if found.version.before(floor):
        refused.append(message(
            f"{name}: RoCE {want.level}", f"RouterOS {floor} or newer on {found.chip}", found.version.text,
            "Upgrade RouterOS, or set fabric_roce to none: this version accepts the configuration and does nothing."))
    if want.level == "lossless":
        refused += [message(f"{name}: speed of leg {port}", "one that a shaper can have, such as 200G", "none", "Say it in legs.")
                    for port, gbps in want.legs.items() if not gbps]
    return refused + _profiles(name, have, want) + _map(name, have, want) + _queues(name, have, want) + _ports(name, have, want)


def warnings(name: str, found: Device, want: Want) -> list[str]:
    """What the owner should know about the wanted level."""
    if want.level != "lossless":
        return []
    told = [
        message(f"{name}: shaper of {port}", f"{gbps}G", "a lower limit in this RouterOS", "Nothing to do: the port runs without a shaper.")
        for port, gbps in want.legs.items() if shaper(found, gbps) is None
    ]
    if found.group == "cpss" and found.version.before("7.25"):
        told.append(message(
            f"{name}: RoCE lossless", "RouterOS 7.25 or newer", found.version.text,
            "Watch for stalls: before 7.25 PFC and lossless buffers of the CRS8xx have a known fault; ecn avoids it."))
    return told


def problems(name: str, have: Have, want: Want) -> list[str]:
    """What is configured and does not work: rows the chip did not take, ECN that is not on. Empty for level ``none``."""
    if want.level == "none":
        return []
    profiles = {profile_name(have, want, profile) for profile in PROFILES}
    rows: list[tuple[str, Row]] = [(f"QoS profile {row['name']}", row) for row in have.profiles if row["name"] in profiles]
    rows += [(f"queue {row['traffic-class']}", row) for row in have.queues if _queue_values(row)]
    rows += [(f"PFC profile {row['name']}", row) for row in have.pfc if want.level == "lossless" and row["name"] == pfc_name(have, want)]
    wrong = [
        message(f"{name}: {what}", "active in the chip", "inactive", "Look at the switch's log.")
        for what, row in rows if flag(row.get("inactive")) or flag(row.get("hw-offloaded")) is False
    ]
    return wrong + [
        message(f"{name}: {what}", "ECN at work (ecn-actual)", "off", "Upgrade RouterOS: this version does not mark on this chip.")
        for what, row in rows if flag(row.get("ecn")) and flag(row.get("ecn-actual")) is False
    ]


def kept(name: str, found: Device, have: Have) -> list[str]:
    """What level ``none`` leaves behind."""
    if found.group == "cpss" or not any(flag(row.get("qos-hw-offloading")) for row in have.chips):
        return []
    return [message(
        f"{name}: qos-hw-offloading", "no, as on a new switch", "yes",
        "Nothing to do: it is harmless; switching it off takes /interface/ethernet/switch set qos-hw-offloading=no and a reboot.")]


def _profiles(name: str, have: Have, want: Want) -> list[str]:
    """Profiles of others for our DSCP values: refused, or with ``adopt`` used if they put it into the same class."""
    refused = []
    ours = {profile.name for profile in PROFILES}
    for profile in PROFILES:
        for row in have.profiles:
            if row["name"] in ours or flag(row.get("default")) or number(row.get("dscp")) != profile.dscp:
                continue
            fits = number(row.get("traffic-class")) == profile.traffic_class
            if not (fits and want.adopt):
                fix = "Remove it, or set foreign to adopt if it is meant to serve RoCE." if fits else "Remove it: it puts RoCE into another class."
                refused.append(message(
                    f"{name}: QoS profile {row['name']}", f"no other profile for DSCP {profile.dscp}",
                    f"traffic class {row.get('traffic-class')}", fix))
    return refused


def _map(name: str, have: Have, want: Want) -> list[str]:
    return [
        message(f"{name}: QoS map for DSCP {profile.dscp}", profile_name(have, want, profile), row.get("profile"), "Remove the row from qos/map/ip.")
        for profile in PROFILES for row in have.map_ip
        if not flag(row.get("dynamic")) and profile.dscp in numbers(row.get("dscp")) and row.get("profile") != profile_name(have, want, profile)
    ]


def _queue_values(row: Row) -> tuple[dict, dict] | None:
    return QUEUES.get(number(row.get("traffic-class")) or 0) if row.get("tx-manager") == "default" else None


def _queues(name: str, have: Have, want: Want) -> list[str]:
    """Queues that are neither as on a new switch nor as we want them belong to somebody."""
    refused = []
    for row in have.queues:
        values = _queue_values(row)
        if values and not want.adopt and all(differing(row, {key: value for key, value in ok.items() if key in row}) for ok in values):
            refused.append(message(
                f"{name}: queue {row['traffic-class']} of tx-manager default", "as on a new switch", f"{row.get('schedule')} {row.get('weight')}",
                "Set it back, or set foreign to adopt to have it overwritten."))
    return refused


def _ports(name: str, have: Have, want: Want) -> list[str]:
    """Legs that somebody put under another map, tx-manager or PFC profile."""
    fine = {"pfc": {PFC_OFF, PFC_NAME, pfc_name(have, want)}, "map": {"default"}, "tx-manager": {"default"}}
    return [
        message(f"{name}: {key} of port {row['name']}", "the default", row[key], "Set it back to the default.")
        for row in have.ports if row["name"] in want.legs for key, ok in fine.items() if key in row and row[key] not in ok
    ]
