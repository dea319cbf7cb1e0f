# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What RoCE on a MikroTik switch is made of: names, values, and the rows that are looked at. Data.

Recipe and defaults: MikroTik manual, "Quality of Service"; field differences per version in the rows below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._command import Value
from ._rows import Row, flag, numbers, rate

LEVELS = ("none", "ecn", "lossless")
QOS = "/interface/ethernet/switch/qos"
PFC_CLASS, PFC_NAME, PFC_OFF = 3, "gb10-pfc", "disabled"


class Profile(NamedTuple):
    """A traffic profile of ours. ``pcp`` is said explicitly: left at 0, 7.23's automap would send untagged-priority traffic there too (field)."""

    name: str
    dscp: int
    traffic_class: int
    pcp: int


PROFILES = (Profile("gb10-roce", 26, 3, 3), Profile("gb10-cnp", 48, 6, 6))

QUEUES: dict[int, tuple[dict[str, Value], dict[str, Value]]] = {
    1: ({"schedule": "high-priority-group", "weight": 1}, {"schedule": "low-priority-group", "weight": 2}),
    3: ({"schedule": "high-priority-group", "weight": 1, "ecn": True, "shared-pool-index": 1},
        {"schedule": "high-priority-group", "weight": 3, "ecn": False, "shared-pool-index": 0}),
    6: ({"schedule": "strict-priority"}, {"schedule": "strict-priority"}),
}
"""Traffic class -> (values for RoCE, values of a new switch), of the tx-manager ``default``.
``shared-pool-index`` exists before 7.23 on the CRS5xx only; a field that the row does not show is not written."""

TRUST, PFC, SHAPER, DCBX = "trust-l3", "pfc", f"egress-rate-queue{PFC_CLASS}", "lldp-dcbx"
"""Fields of a port, and the one of ``/ip/neighbor/discovery-settings``."""


class Have(NamedTuple):
    """Rows of the QoS menus, and of the ports by their names. ``discovery`` is the one row of ``/ip/neighbor/discovery-settings``; empty lists
    where a menu is missing."""

    profiles: list[Row]
    map_ip: list[Row]
    pfc: list[Row]
    queues: list[Row]
    ports: list[Row]
    chips: list[Row]
    discovery: Row
    ethernet: dict[str, Row]


class Want(NamedTuple):
    """``legs``: leading port -> speed in Gb/s; ``lanes``: the other ports of the fabric's cages; ``adopt``: use what others made if it fits."""

    level: str
    legs: dict[str, int]
    lanes: list[str]
    adopt: bool = False


def has(rows: list[Row], name: Any) -> bool:
    """Whether there is a row of that name."""
    return any(row["name"] == name for row in rows)


def differing(row: Row, values: dict[str, Value]) -> dict[str, Value]:
    """The values that a row does not have yet."""
    return {key: value for key, value in values.items() if not _same(key, row.get(key), value)}


def _same(key: str, found: Any, wanted: Value) -> bool:
    if key.startswith("egress-rate-"):
        return rate(found) == rate(wanted)
    if isinstance(wanted, bool):
        return flag(found) is wanted
    if key == "traffic-class":
        return numbers(found) == numbers(wanted)
    return str(found) == str(wanted)
