# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCE between the plan's words and the rows of a switch: which menus, which legs under which names, and what the user sees. Pure."""

from __future__ import annotations

from typing import Any

from ._cages import lanes_of, parse_port
from ._notes import ETHERNET, noted
from ._qos_rows import QOS, QUEUES, SHAPER, TRUST, Have, Want
from ._rows import Row, flag, number, numbers, rate

MENUS: dict[str, bool] = {
    f"{QOS}/profile": False, f"{QOS}/map/ip": False, f"{QOS}/priority-flow-control": False, f"{QOS}/tx-manager/queue": False, f"{QOS}/port": False,
    "/interface/ethernet/switch": False, "/ip/neighbor/discovery-settings": True, ETHERNET: False,
}
"""Menus that decide: path -> whether it holds a single record."""

OPTIONAL = (f"{QOS}/priority-flow-control",)
"""Menus that small chips lack; on those every level but ``none`` is refused."""

Menus = dict[str, list[Row]]


def have(menus: Menus) -> Have:
    """The rows of the QoS menus; a menu that the switch lacks has none."""
    return Have(
        profiles=menus[f"{QOS}/profile"],
        map_ip=menus[f"{QOS}/map/ip"],
        pfc=menus[f"{QOS}/priority-flow-control"],
        queues=menus[f"{QOS}/tx-manager/queue"],
        ports=menus[f"{QOS}/port"],
        chips=menus["/interface/ethernet/switch"],
        discovery=next(iter(menus["/ip/neighbor/discovery-settings"]), {}),
        ethernet={str(row.get("name")): row for row in menus[ETHERNET]},
    )


def want(menus: Menus, level: str, cages: list[str], legs: dict[str, Any], adopt: bool) -> Want:
    """The plan's cages and legs under the names that the ports have now; a port that the switch does not have keeps the plan's name.
    Without legs, for ``none``, those that carry a note of ours."""
    names = {str(row.get("default-name")): str(row.get("name")) for row in menus[ETHERNET]}
    speeds = {names.get(leg, leg): _gbps((end or {}).get("speed")) for leg, end in legs.items()}
    if level == "none" and not legs:
        speeds = {str(row.get("name")): 0 for row in menus[ETHERNET] if TRUST in noted(row)}
    lanes = [lane for cage in cages if (port := parse_port(cage)) and port.lane is None for lane in lanes_of(cage) if lane not in legs]
    return Want(level, speeds, [names.get(lane, lane) for lane in lanes], adopt)


def _gbps(speed: Any) -> int:
    """``200G`` of the plan as 200; 0 when it does not say, which no shaper fits."""
    bits = rate(speed)
    return bits // 10**9 if bits else 0


_PROFILE = {"dscp": "dscp", "pcp": "pcp", "traffic_class": "traffic-class"}


def view(menus: Menus, wanted: Want) -> dict[str, Any]:
    """What the user sees. Rows that the switch makes by itself, and rows that no level touches, are left out."""
    rows = have(menus)
    return {
        "profiles": {str(row["name"]): {key: number(row.get(field)) for key, field in _PROFILE.items()}
                     for row in rows.profiles if not flag(row.get("default"))},
        "map_ip": {str(row.get("dscp")): row.get("profile") for row in rows.map_ip if not flag(row.get("dynamic"))},
        "pfc": {str(row["name"]): {"traffic_class": sorted(numbers(row.get("traffic-class"))), "rx": flag(row.get("rx")), "tx": flag(row.get("tx"))}
                for row in rows.pfc if not flag(row.get("default"))},
        "queues": {str(row["traffic-class"]): {"schedule": row.get("schedule"), "weight": str(row.get("weight")), "ecn": flag(row.get("ecn"))}
                   for row in rows.queues if row.get("tx-manager") == "default" and number(row.get("traffic-class")) in QUEUES},
        "ports": {str(row["name"]): {"trust_l3": row.get("trust-l3"), "pfc": row.get("pfc"),
                                     "egress_rate_queue3": rate(row.get(SHAPER))}
                  for row in rows.ports if row["name"] in wanted.legs or row["name"] in wanted.lanes},
        "lldp_dcbx": flag(rows.discovery.get("lldp-dcbx")),
        "qos_hw_offloading": [flag(row.get("qos-hw-offloading")) for row in rows.chips],
    }
