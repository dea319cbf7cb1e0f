# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small switched fabric for tests: three nodes, two switches with a cable between them, and one that nobody configures."""

from __future__ import annotations

from gb10lab.inventory import Cable, Cluster, Node, Switch
from switch.commands import Commands, Context
from switch.hardware import build
from switch.interpreter import Interpreter
from switch.machine import Machine

NODES = tuple(Node(name, number, f"192.168.10.1{number}", "nvidia", "netplan-networkd") for number, name in enumerate(("a", "b", "c"), 1))
SWITCHES = (
    Switch("west", 1, True, "CRS812", "192.168.10.2", "ops", "7.23.7"),
    Switch("east", 2, True, "CRS812", "192.168.10.3", "ops", "7.23.7"),
    Switch("plain", 3, False),
)
CABLES = (
    Cable(("west.qsfp56-dd-1-1", "a.p0"), 0),
    Cable(("west.qsfp56-dd-1-5", "b.p0"), 0),
    Cable(("east.qsfp56-dd-1-1", "c.p0"), 1),
    Cable(("east.qsfp56-dd-1-5", None), 1),
    Cable(("west.qsfp56-dd-2-1", "east.qsfp56-dd-2-1"), 2, 400000),
    Cable(("plain.3-1", "a.p1"), 3, 100000),
)
CLUSTER = Cluster("switched_fabric", NODES, CABLES, "192.168.10.0/24", "192.168.10.1", SWITCHES)


def type_on(machine: Machine, *lines: str) -> None:
    """Type lines that the switch takes without a word."""
    for line in lines:
        assert Interpreter(machine.binder, Commands(Context(machine, "admin", object()))).execute(line) == ""


def fresh() -> dict[str, Machine]:
    """Both switches as they left the factory."""
    return {switch.name: build(switch.model, "7.23.7", identity=switch.name) for switch in CLUSTER.managed}


def configured() -> dict[str, Machine]:
    """Both switches with their legs and the cable between them."""
    machines = fresh()
    for machine in machines.values():
        type_on(
            machine,
            "/interface/ethernet set qsfp56-dd-1-1,qsfp56-dd-1-5 auto-negotiation=no speed=200G-baseCR4",
            "/interface/ethernet set qsfp56-dd-2-1 auto-negotiation=no speed=400G-baseCR8",
            '/interface/ethernet set [find where name~"^qsfp56-dd"] l2mtu=9216',
        )
    return machines
