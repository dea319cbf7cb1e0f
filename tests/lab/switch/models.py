# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The models that can be simulated: ports, chip, limits. Figures from MikroTik's manual (switch chip features, QoS, maximum L2 MTU)."""

from __future__ import annotations

from dataclasses import dataclass

SWITCH_MARVELL = "switch-marvell"


@dataclass(frozen=True)
class Model:
    """``product`` is what ``/system/routerboard`` calls it; ``group`` the generation of its chip; L2 MTU in bytes;
    ``apart``: ports that are not the switch chip's."""

    product: str
    chip: str
    group: str
    ports: tuple[str, ...]
    max_l2mtu: int
    ether_max_l2mtu: int
    factory_l2mtu: int
    architecture: str
    packages: tuple[str, ...]
    apart: tuple[str, ...] = ()


def _cage(name: str, lanes: int) -> list[str]:
    return [f"{name}-{lane}" for lane in range(1, lanes + 1)]


def _cages(family: str, count: int, lanes: int) -> list[str]:
    return [port for number in range(1, count + 1) for port in _cage(f"{family}-{number}", lanes)]


_CPSS = ("routeros", SWITCH_MARVELL)

MODELS: dict[str, Model] = {
    "CRS804": Model("CRS804-4DDQ", "Marvell-98DX7335", "cpss", ("ether1", "ether2", *_cages("qsfp56-dd", 4, 8)), 9570, 9586, 1584, "arm64", _CPSS),
    "CRS812": Model(
        "CRS812-8DS-2DQ-2DDQ", "Marvell-98DX7335", "cpss",
        ("ether1", "ether2", *_cages("qsfp56", 2, 4), *_cages("qsfp56-dd", 2, 8), *_cage("sfp56", 8)), 9570, 9586, 1584, "arm64", _CPSS),
    "CRS504": Model("CRS504-4XQ", "Marvell-98DX4310", "bc2", ("ether1", *_cages("qsfp28", 4, 4)), 10218, 2028, 1584, "mipsbe", ("routeros",),
                    ("ether1",)),
    "CRS310": Model(
        "CRS310-8G+2S+", "Marvell-98DX226S", "ac3", (*(f"ether{number}" for number in range(1, 9)), "sfp-sfpplus1", "sfp-sfpplus2"),
        10218, 10218, 1592, "arm", ("routeros",)),
}

VERSIONS: dict[str, str] = {"7.20.8": "long-term", "7.22.1": "stable", "7.23.7": "long-term", "7.24": "stable"}
"""Versions that can be simulated, with their channel. RouterOS 7.24.0 calls itself 7.24."""

SHAPER_LIMITS: tuple[tuple[str, tuple[int, ...], int], ...] = (("cpss", (7, 23, 7), 100),)
"""(chip group, first version without the limit, highest queue shaper in Gb/s); measured on CRS804 7.21.4, CRS812 7.22.1 and 7.23.7."""

QOS_WORKS_FROM: dict[str, tuple[int, ...]] = {"cpss": (7, 23), "bc2": (7, 15)}
"""Chip group -> first version whose ECN and PFC do anything; before it every object is accepted and dead."""


def version_tuple(version: str) -> tuple[int, ...]:
    """``(7, 23, 7)`` of ``7.23.7``."""
    return tuple(int(part) for part in version.split("."))
