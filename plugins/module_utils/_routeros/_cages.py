# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MikroTik's QSFP cages: which breakout modes each family has, and which lanes each mode takes.

Pure data and lane arithmetic; no device, no inventory. Sources, named in each row:

* ``rates``: MikroTik manual, "MikroTik wired interface compatibility", QSFP link rates.
* ``fec``: the same page, FEC table; ``auto`` means off, except for PAM4 modes, where it means fec91.
* ``mtu``: MikroTik manual, "MTU in RouterOS", table of maximum L2 MTU.
* ``chips``: MikroTik manual, "Marvell Prestera switch chip features" and "Quality of Service", device tables.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PORT_NAME = re.compile(r"^(qsfp56-dd|qsfp56|qsfp28)-(\d+)(?:-(\d+))?$")
"""A cage (``qsfp56-dd-1``) or one of its lanes (``qsfp56-dd-1-5``), by RouterOS' default names."""

LANES = {"qsfp56-dd": 8, "qsfp56": 4, "qsfp28": 4}
"""Family -> lanes of each of its cages. RouterOS shows every lane as a port, used or not."""


class Mode(NamedTuple):
    """One way to use a cage.

    ``name``: ``<legs>x<speed>``; ``lanes``: lanes of each leg, the lowest of which is its leader;
    ``copper``, ``optical``: RouterOS' word for ``speed=`` on the leader; ``fec``: values of ``fec-mode`` that can bring
    the leg up, the one to write when nobody asked for another first.
    """

    family: str
    name: str
    legs: int
    lanes: int
    copper: str
    optical: str
    fec: tuple[str, ...]
    source: str

    @property
    def speed(self) -> str:
        """Speed of one leg as the plan writes it, ``200G``."""
        return self.name.split("x")[1]

    @property
    def gbps(self) -> int:
        """Speed of one leg in Gb/s."""
        return int(self.speed[:-1])

    @property
    def leaders(self) -> tuple[int, ...]:
        """Lane numbers (from 1) that lead a leg."""
        return tuple(range(1, self.legs * self.lanes + 1, self.lanes))


_PAM4 = ("auto", "fec91")
_NRZ_100 = ("fec91", "auto", "off")
_NRZ_25 = ("fec91", "fec74", "auto", "off")
_NRZ_40 = ("auto", "fec74", "off")
_SLOW = ("auto", "off")

MODES: tuple[Mode, ...] = (
    Mode("qsfp56-dd", "1x400G", 1, 8, "400G-baseCR8", "400G-baseSR8-LR8", _PAM4, "rates, fec"),
    Mode("qsfp56-dd", "2x200G", 2, 4, "200G-baseCR4", "200G-baseSR4-LR4", _PAM4, "rates, fec"),
    Mode("qsfp56-dd", "4x100G", 4, 2, "100G-baseCR2", "100G-baseSR2-LR2", _PAM4, "rates, fec"),
    Mode("qsfp56-dd", "8x50G", 8, 1, "50G-baseCR", "50G-baseSR-LR", _PAM4, "rates, fec"),
    Mode("qsfp56-dd", "2x40G", 2, 4, "40G-baseCR4", "40G-baseSR4-LR4", _NRZ_40, "rates, fec"),
    Mode("qsfp56-dd", "8x25G", 8, 1, "25G-baseCR", "25G-baseSR-LR", _NRZ_25, "rates, fec"),
    Mode("qsfp56-dd", "8x10G", 8, 1, "10G-baseCR", "10G-baseSR-LR", _SLOW, "rates, fec"),
    Mode("qsfp56-dd", "8x1G", 8, 1, "1G-baseX", "1G-baseX", _SLOW, "rates, fec"),
    Mode("qsfp56", "1x200G", 1, 4, "200G-baseCR4", "200G-baseSR4-LR4", _PAM4, "rates, fec"),
    Mode("qsfp56", "1x100G", 1, 4, "100G-baseCR4", "100G-baseSR4-LR4", _NRZ_100, "rates, fec"),
    Mode("qsfp56", "2x100G", 2, 2, "100G-baseCR2", "100G-baseSR2-LR2", _PAM4, "rates, fec"),
    Mode("qsfp56", "1x40G", 1, 4, "40G-baseCR4", "40G-baseSR4-LR4", _NRZ_40, "rates, fec"),
    Mode("qsfp56", "2x50G", 2, 2, "50G-baseCR2", "50G-baseSR2-LR2", _NRZ_25, "rates, fec"),
    Mode("qsfp56", "4x50G", 4, 1, "50G-baseCR", "50G-baseSR-LR", _PAM4, "rates, fec"),
    Mode("qsfp56", "4x25G", 4, 1, "25G-baseCR", "25G-baseSR-LR", _NRZ_25, "rates, fec"),
    Mode("qsfp56", "4x10G", 4, 1, "10G-baseCR", "10G-baseSR-LR", _SLOW, "rates, fec"),
    Mode("qsfp56", "4x1G", 4, 1, "1G-baseX", "1G-baseX", _SLOW, "rates, fec"),
    Mode("qsfp28", "1x100G", 1, 4, "100G-baseCR4", "100G-baseSR4-LR4", _NRZ_100, "rates, fec"),
    Mode("qsfp28", "1x40G", 1, 4, "40G-baseCR4", "40G-baseSR4-LR4", _NRZ_40, "rates, fec"),
    Mode("qsfp28", "2x50G", 2, 2, "50G-baseCR2", "50G-baseSR2-LR2", _NRZ_25, "rates, fec; RouterOS 7.12 and newer"),
    Mode("qsfp28", "4x25G", 4, 1, "25G-baseCR", "25G-baseSR-LR", _NRZ_25, "rates, fec"),
    Mode("qsfp28", "4x10G", 4, 1, "10G-baseCR", "10G-baseSR-LR", _SLOW, "rates, fec"),
    Mode("qsfp28", "4x1G", 4, 1, "1G-baseX", "1G-baseX", _SLOW, "rates, fec"),
)

MEDIA = ("copper", "optical")


class Model(NamedTuple):
    """One switch. ``cages``: family -> number of cages; ``max_l2mtu``: of the data ports, ``ether_max_l2mtu``: of ``ether*``, bytes."""

    chip: str
    cages: dict[str, int]
    max_l2mtu: int
    ether_max_l2mtu: int
    source: str


MODELS: dict[str, Model] = {
    "CRS804": Model("Marvell-98DX7335", {"qsfp56-dd": 4}, 9570, 9586, "chips; mtu has no row, the CRS812's values are taken"),
    "CRS812": Model("Marvell-98DX7335", {"qsfp56": 2, "qsfp56-dd": 2}, 9570, 9586, "chips, mtu"),
    "CRS520": Model("Marvell-98CX8410", {"qsfp28": 16}, 9570, 9570, "chips, mtu; no own value for ether ports"),
    "CRS518": Model("Marvell-98DX8525", {"qsfp28": 2}, 10218, 2028, "chips, mtu"),
    "CRS510": Model("Marvell-98DX4310", {"qsfp28": 2}, 10218, 2028, "chips, mtu"),
    "CRS504": Model("Marvell-98DX4310", {"qsfp28": 4}, 10218, 2028, "chips, mtu"),
}
"""Model, the part of the product code before the first dash -> what it has."""


class Port(NamedTuple):
    """A parsed port name: ``Port("qsfp56-dd", 1, 5)`` is lane 5 of cage ``qsfp56-dd-1``; ``lane`` is None for the cage itself."""

    family: str
    number: int
    lane: int | None

    @property
    def cage(self) -> str:
        """Name of the cage, ``qsfp56-dd-1``."""
        return f"{self.family}-{self.number}"


def parse_port(name: str) -> Port | None:
    """Take a cage's or lane's name apart; None for every other name, and for a lane that its family does not have."""
    found = PORT_NAME.match(name)
    if not found:
        return None
    family, number, lane = found[1], int(found[2]), int(found[3]) if found[3] else None
    if number < 1 or (lane is not None and not 1 <= lane <= LANES[family]):
        return None
    return Port(family, number, lane)


def model_of(product: str) -> Model | None:
    """The model of a product code such as ``CRS812-8DS-2DQ-2DDQ-RM`` or ``CRS812``; None when it is not one we know."""
    return MODELS.get(product.strip().upper().split("-")[0])


def cages_of(model: Model) -> list[str]:
    """Names of all cages of a model, in the order of its port list."""
    return [f"{family}-{number}" for family, count in model.cages.items() for number in range(1, count + 1)]


def modes_of(family: str) -> dict[str, Mode]:
    """Every mode of a family by its name, fastest and widest first."""
    return {mode.name: mode for mode in MODES if mode.family == family}


def lanes_of(cage: str) -> list[str]:
    """Port names of all lanes of a cage, ``qsfp56-dd-1-1`` to ``-8``. The name must be a cage's."""
    port = parse_port(cage)
    if port is None or port.lane is not None:
        raise ValueError(f"{cage} is not the name of a cage")
    return [f"{cage}-{lane}" for lane in range(1, LANES[port.family] + 1)]


def legs_of(cage: str, mode: Mode) -> dict[str, list[str]]:
    """Leader's port name -> port names of all lanes of that leg, the leader first."""
    lanes = lanes_of(cage)
    return {lanes[leader - 1]: lanes[leader - 1:leader - 1 + mode.lanes] for leader in mode.leaders}


def speed_word(mode: Mode, media: str) -> str:
    """RouterOS' word for ``speed=`` on the leaders of a mode; ``media`` is ``copper`` or ``optical``."""
    return mode.copper if media == "copper" else mode.optical


class Lane(NamedTuple):
    """How a lane is set. ``speed`` is the word of ``speed=``, which counts only without auto-negotiation."""

    enabled: bool
    auto_negotiation: bool
    speed: str | None


def claims(family: str, lanes: list[Lane]) -> dict[int, list[int]]:
    """Leading lane -> lanes that its leg gets, numbers from 1.

    RouterOS walks a cage from its lowest enabled lane; the mode of that lane takes as many of the following ones as it needs, but only enabled ones:
    with some of them disabled, the leg gets fewer (MikroTik manual; truth table of chishiki37/dgx-spark-fabric).
    """
    found: dict[int, list[int]] = {}
    lane = 1
    while lane <= len(lanes):
        setting = lanes[lane - 1]
        if not setting.enabled:
            lane += 1
            continue
        wanted = LANES[family] if setting.auto_negotiation and lane == 1 else _lanes_of_speed(family, setting, lane)
        last = lane
        while last < min(lane + wanted - 1, len(lanes)) and lanes[last].enabled:
            last += 1
        got = last - lane + 1
        got = got if got == wanted else 1 << got.bit_length() - 1
        found[lane] = list(range(lane, lane + got))
        lane += got
    return found


def _lanes_of_speed(family: str, setting: Lane, lane: int) -> int:
    modes = [mode for mode in modes_of(family).values() if setting.speed in (mode.copper, mode.optical) and lane in mode.leaders]
    return modes[0].lanes if modes and not setting.auto_negotiation else 1
