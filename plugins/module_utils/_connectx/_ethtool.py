# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text that ethtool prints, as data. ethtool 6.7 of Ubuntu 24.04 has no JSON for any of it but FEC."""

from __future__ import annotations

import re
from typing import Any

PHY_COUNTERS = frozenset(
    (
        "rx_discards_phy",
        "tx_discards_phy",
        "rx_crc_errors_phy",
        "rx_symbol_err_phy",
        "link_down_events_phy",
        "rx_prio0_bytes",
        "rx_prio3_bytes",
        "tx_prio3_bytes",
        "rx_prio3_discards",
        "rx_prio3_pause",
        "tx_prio3_pause",
    )
)
"""Counters of ``ethtool -S`` that say something about the link: losses and errors, and whether RoCE uses priority 3."""

_MODULE = {
    "Identifier": "identifier",
    "Connector": "connector",
    "Transceiver type": "type",
    "Transmitter technology": "technology",
    "Length (Copper or Active cable)": "length",
    "Cable assembly length": "length",
    "Vendor name": "vendor",
    "Vendor PN": "part_number",
    "Vendor SN": "serial_number",
    "Vendor rev": "revision",
}


def _pairs(text: str) -> dict[str, str]:
    """Lines ``key : value``; the first of several equal keys counts."""
    pairs: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            pairs.setdefault(key.strip(), value.strip())
    return pairs


def link(text: str) -> dict[str, Any]:
    """``ethtool IF`` to ``{speed_mbps, lanes, link_detected, link_reason}``; unknown is None.

    ``link_reason`` is the kernel's word for a link that is down.
    """
    pairs = _pairs(text)
    speed = re.match(r"(\d+)Mb/s", pairs.get("Speed", ""))
    lanes = re.match(r"\d+$", pairs.get("Lanes", ""))
    detected = re.match(r"(yes|no)(?: \((.*)\))?$", pairs.get("Link detected", ""))
    return {
        "speed_mbps": int(speed.group(1)) if speed else None,
        "lanes": int(lanes.group()) if lanes else None,
        "link_detected": detected.group(1) == "yes" if detected else None,
        "link_reason": detected.group(2) if detected else None,
    }


def driver(text: str) -> dict[str, str | None]:
    """``ethtool -i IF`` to ``{driver, driver_version, firmware, psid}``: mlx5 writes ``firmware-version: 28.45.4028 (NVD0000000087)``. The version
    of a driver that comes with the kernel is the kernel's release."""
    pairs = _pairs(text)
    firmware = re.match(r"(\S+)(?: \((\S+)\))?$", pairs.get("firmware-version", ""))
    return {
        "driver": pairs.get("driver") or None,
        "driver_version": pairs.get("version") or None,
        "firmware": firmware.group(1) if firmware else None,
        "psid": firmware.group(2) if firmware else None,
    }


def fec(text: str) -> dict[str, list[str]]:
    """``ethtool --show-fec IF`` to ``{configured, active}``, each a list of ethtool's words (``RS``, ``None``, ``Auto``); empty where unsupported."""
    pairs = _pairs(text)
    configured = next((value for key, value in pairs.items() if key.endswith("onfigured FEC encodings")), None)
    active = next((value for key, value in pairs.items() if key.startswith("Active FEC encoding")), None)
    return {} if configured is None and active is None else {"configured": (configured or "").split(), "active": (active or "").split()}


def module(text: str) -> dict[str, str]:
    """``ethtool -m IF`` to the few fields that identify a cable, as :data:`_MODULE` names them; empty without a cable."""
    pairs = _pairs(text)
    fields: dict[str, str] = {}
    for name, field in _MODULE.items():
        if pairs.get(name):
            fields.setdefault(field, pairs[name])
    return fields


def counters(text: str) -> dict[str, int]:
    """``ethtool -S IF`` to those of :data:`PHY_COUNTERS` that are there."""
    return {name: int(value) for name, value in _pairs(text).items() if name in PHY_COUNTERS and value.isdigit()}
