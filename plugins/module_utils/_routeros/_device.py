# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a switch is: RouterOS version, model, chip, and what these can not do. Pure data from rows that were read."""

from __future__ import annotations

import re
from typing import NamedTuple

from .._message import message
from ._rows import Row, flag

FLOOR = "7.20"
"""Oldest RouterOS: before it, flags are missing from machine-readable rows and ids are spelled differently (tik4net findings)."""


class Version(NamedTuple):
    """A RouterOS version; ``stage`` sorts ``beta`` and ``rc`` before the release (``~``)."""

    major: int
    minor: int
    patch: int
    stage: str
    text: str

    @classmethod
    def parse(cls, text: str) -> Version:
        """``7.23.7 (long-term)``, ``7.24rc4`` and the like; anything else is version 0.

        Two versions compare as numbers; only equal ones look at ``text``.
        """
        found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?(?:(beta|rc)(\d+))?", text.strip())
        if not found:
            return cls(0, 0, 0, "~", text)
        stage = f"{found[4]}{int(found[5]):03}" if found[4] else "~"
        return cls(int(found[1]), int(found[2]), int(found[3] or 0), stage, found[0])

    def before(self, other: str) -> bool:
        """Whether this one is older than ``other``."""
        return self[:4] < Version.parse(other)[:4]


CHIP_GROUPS: tuple[tuple[str, str], ...] = (
    ("Marvell-98DX7335", "cpss"),
    ("Marvell-98DX4310", "bc2"),
    ("Marvell-98DX8525", "bc2"),
    ("Marvell-98CX8410", "bc2"),
    ("Marvell-98DX8216", "bc2"),
    ("Marvell-98DX3236", "ac3"),
    ("Marvell-98DX2", "ac3"),
    ("Marvell-DX2", "ac3"),
    ("Marvell-DX3", "ac3"),
)
"""Beginning of a switch chip's ``type`` -> generation (MikroTik manual, "Quality of Service", device table): ``cpss`` is the CRS8xx, ``bc2``
the CRS5xx, ``ac3`` the small ones, which know neither PFC nor ECN."""


class Device(NamedTuple):
    """One switch. ``group``: a generation of ``CHIP_GROUPS`` or None; ``channel``: ``stable``, ``long-term``, …; ``firmware``,
    ``firmware_upgrade``: RouterBOOT's versions, None where the board does not tell; ``packages``: enabled package -> version,
    without those that could only be installed."""

    version: Version
    channel: str | None
    model: str | None
    chip: str | None
    group: str | None
    firmware: str | None
    firmware_upgrade: str | None
    packages: dict[str, str]


def device(resource: Row, routerboard: Row, chips: list[Row], packages: list[Row]) -> Device:
    """Recognise a switch from ``/system/resource``, ``/system/routerboard``, ``/interface/ethernet/switch`` and ``/system/package``."""
    version = str(resource.get("version", ""))
    channel = re.search(r"\(([^)]*)\)", version)
    chip = str(chips[0].get("type")) if chips and chips[0].get("type") else None
    return Device(
        version=Version.parse(version),
        channel=channel[1] if channel else None,
        model=routerboard.get("model") or resource.get("board-name"),
        chip=chip,
        group=next((group for beginning, group in CHIP_GROUPS if (chip or "").startswith(beginning)), None),
        firmware=routerboard.get("current-firmware"),
        firmware_upgrade=routerboard.get("upgrade-firmware"),
        packages={str(row["name"]): str(row.get("version", "")) for row in packages
                  if row.get("name") and not flag(row.get("disabled")) and not flag(row.get("available"))},
    )


def refusals(name: str, found: Device) -> list[str]:
    """Why no module of ours may change this switch. ``name`` is how messages call it."""
    refused = []
    if found.version.before(FLOOR):
        refused.append(message(f"{name}: RouterOS", f"{FLOOR} or newer", found.version.text, "Upgrade RouterOS."))
    if found.group is None:
        refused.append(message(
            f"{name}: switch chip", "a Marvell Prestera", found.chip or "none", "Set fabric_switch_managed to false for this switch."))
    if found.group == "cpss" and found.packages.get("switch-marvell") != found.packages.get("routeros", found.version.text):
        refused.append(message(
            f"{name}: package switch-marvell", f"enabled, version {found.version.text}", found.packages.get("switch-marvell", "missing"),
            "Install the package of the same version as RouterOS and reboot the switch."))
    return refused


def refuse_model(name: str, found: Device, model: str | None) -> list[str]:
    """Another switch than the plan has. A switch that does not tell its model is believed."""
    if not model or not found.model or found.model.upper().startswith(model.strip().upper()):
        return []
    return [message(f"{name}: model", model, found.model, "Correct fabric_switch_model, or ansible_host: this may be another switch.")]


def warnings(name: str, found: Device) -> list[str]:
    """What the owner of this switch should know, although it works."""
    told = []
    if found.version.text == "7.24":
        told.append(message(
            f"{name}: RouterOS", "7.24.1 or newer in the line 7.24", found.version.text,
            "Upgrade: 7.24 looks up wrong rows and can lock up the management port."))
    if found.firmware and found.firmware_upgrade and found.firmware != found.firmware_upgrade:
        told.append(message(
            f"{name}: RouterBOOT firmware", found.firmware_upgrade, found.firmware, "Run /system/routerboard/upgrade and reboot in a quiet hour."))
    return told
