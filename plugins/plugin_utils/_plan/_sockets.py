# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets: the ends of cables, which of them exist, what they can do, and that each takes one plug."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...module_utils._routeros import _cages
from . import _read
from ._notes import Notes, closest, one_of, shown
from ._request import PORTS, Request, Switch

NODE_SPEEDS = {"200G": 200, "100G": 100}
"""Speeds at which a GB10's cage is of use to the fabric, in Gb/s (a ConnectX-7 cage carries 200G; a leg of a 4x100G breakout half of it)."""

CABLE_SPEED = "200G"
"""What a cable between two nodes carries."""

Modes = dict[str, _cages.Mode]


@dataclass(frozen=True)
class NodeEnd:
    """A plug in a node."""

    node: str
    port: str


class Sockets:
    """The sockets of all nodes and switches. ``cages``: switch -> cage -> ``{mode, media, fec}`` of every cage in use.

    ``cable``: the one whose ends are being read, as a person finds it.
    """

    def __init__(self, request: Request, notes: Notes) -> None:
        self.cages: dict[str, dict[str, dict[str, str]]] = {}
        self.cable = ""
        self._nodes, self._switches, self._notes = request.nodes, request.switches, notes
        self._taken: dict[str, str] = {}

    def switch_of(self, end: str) -> Switch | None:
        """The switch that an end names, with a cage behind its last dot or without one."""
        names = (end.strip(), end.strip().rpartition(".")[0])
        return next((self._switches[name] for name in names if name in self._switches), None)

    def switch(self, where: str, name: Any) -> Switch | None:
        """The switch of that name."""
        if isinstance(name, str) and name in self._switches:
            return self._switches[name]
        fix = "Correct the name, or add the host to gb10_switches."
        fix = closest(name, self._switches, fix) if isinstance(name, str) else fix
        self._notes.refuse(f"{where}: switch", "a host of gb10_switches", shown(name), fix)
        return None

    def node_end(self, where: str, value: Any) -> NodeEnd | None:
        """A plug in a node, ``NODE.PORT``."""
        if not isinstance(value, str):
            self._notes.refuse(where, "an end such as spark-1.p0", shown(value), "Write NODE.PORT.")
            return None
        name, _dot, port = value.strip().rpartition(".")
        if self.switch_of(value):
            self._notes.refuse(f"{where}: {value}", "the port of a node", "a switch", "Write the switch behind switch:, and the nodes behind to:.")
        elif port not in PORTS:
            fix = "Write NODE.p0 or NODE.p1; p0 is the QSFP socket next to the RJ45 socket."
            self._notes.refuse(f"{where}: {shown(value)}", "p0 or p1 behind the last dot", shown(port), fix)
        elif name not in self._nodes:
            fix = closest(name, self._nodes, "Correct the name, or add the host to gb10_nodes.")
            self._notes.refuse(f"{where}: {value}", "a host of gb10_nodes before the last dot", shown(name), fix)
        elif self._take(f"{name}.{port}"):
            return NodeEnd(name, port)
        return None

    def cage(self, where: str, switch: Switch, value: Any) -> str | None:
        """The name of a cage that this switch has."""
        if not isinstance(value, str):
            self._notes.refuse(f"{where}: cage", "a cage such as qsfp56-dd-1", shown(value), f"Name the socket of {switch.name}.")
            return None
        model = _cages.model_of(switch.model or "")
        if model is None:
            what = f"{switch.name}: fabric_switch_model"
            if not self._notes.refused(what):
                fix = f"Say what {switch.name} is; another brand's switch needs fabric_switch_managed: false and cables without cage."
                self._notes.refuse(what, one_of(_cages.MODELS), shown(switch.model), fix)
            return None
        cages = _cages.cages_of(model)
        if value in cages:
            return value if self._take(f"{switch.name}.{value}") else None
        kinds = one_of(f"{family}-1 to -{count}" for family, count in model.cages.items())
        fix = closest(value, cages, "Write the name that RouterOS prints for the socket, without a lane.")
        self._notes.refuse(f"{where}: {switch.name}", f"a cage of the {switch.model} ({kinds})", shown(value), fix)
        return None

    def node_mode(self, where: str, cage: str, value: Any) -> _cages.Mode | None:
        """The breakout of a cage that goes to nodes: the given one, or else the fastest that a node can use."""
        every = _cages.modes_of(family_of(cage))
        modes = {name: mode for name, mode in every.items() if mode.speed in NODE_SPEEDS}
        if value is None:
            return next(iter(modes.values()))
        if isinstance(value, str) and value in modes:
            return modes[value]
        fix = "A leg to a node carries 100G or 200G." if isinstance(value, str) and value in every else f"A {family_of(cage)} cage has no other."
        self._notes.refuse(f"{where}: breakout of {cage}", one_of(modes), shown(value), fix)
        return None

    def use(self, where: str, switch: Switch, cage: str, mode: _cages.Mode, media: Any, fec: Any) -> None:
        """Note the mode of a cage. YAML reads ``fec: off`` as false."""
        fix = "A DAC is copper; an AOC or a transceiver is optical."
        medium = _read.choice(self._notes, f"{where}: media", media, _cages.MEDIA, "copper", fix)
        wanted = "off" if fec is False else fec
        if wanted is not None and wanted not in mode.fec:
            self._notes.refuse(f"{where}: fec of {mode.name} on {cage}", one_of(mode.fec), shown(wanted), f"Leave it out for {mode.fec[0]}.")
            wanted = None
        self.cages.setdefault(switch.name, {})[cage] = {"mode": mode.name, "media": medium, "fec": wanted or mode.fec[0]}

    def _take(self, socket: str) -> bool:
        if socket not in self._taken:
            self._taken[socket] = self.cable
            return True
        first = self._taken[socket]
        found = f"it twice in {first}" if first == self.cable else f"{first} and {self.cable}"
        self._notes.refuse(socket, "one cable", found, "A socket takes one plug: correct one of the two.")
        return False


def family_of(cage: str) -> str:
    """``qsfp56-dd`` of ``qsfp56-dd-1``."""
    return cage.rpartition("-")[0]


def trunk_modes(cages: list[str]) -> dict[str, Modes]:
    """Modes with which cages of two switches can be joined, fastest first: name -> family -> the mode that this family needs for it.

    A family without a mode of that name may have one whose legs speak the same: a QSFP56 ``1x200G`` meets the first leg of a
    QSFP56-DD ``2x200G``. Without cages every mode that fills its cage is possible.
    """
    families = {family_of(cage) for cage in cages}
    found: dict[str, Modes] = {}
    for mode in sorted(_cages.MODES, key=lambda mode: -mode.gbps):
        if mode.legs == 1 and mode.gbps >= min(NODE_SPEEDS.values()):
            partners = {family: other for family in families for other in _cages.modes_of(family).values() if other.copper == mode.copper}
            if len(partners) == len(families):
                found.setdefault(mode.name, partners or {mode.family: mode})
    return found
