# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of the links: how a machine is before each, the run that makes it, and how two machines are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._link import _run
from link_facts import claim, connectx, options, slice_of
from link_machine import FakeMachine

BACKENDS = ("netplan-networkd", "netplan-networkmanager", "networkmanager")
CX7 = """\
network:
  version: 2
  ethernets:
    enp1s0f0np0: {addresses: [192.168.100.1/24]}
    enP2p1s0f0np0: {addresses: [192.168.101.1/24]}
"""


def claimed(facts: Any) -> None:
    """Both rails of p0 are claimed by a left-over file that holds nothing else."""
    for rail, other in ((0, "enP2p1s0f0np0"), (1, "enp1s0f0np0")):
        device = facts["ports"]["p0"]["rails"][rail]
        device["claims"].append(claim(name=device["interface"], shared_with=[other]))


class Case:
    """One change: how the machine is before it, and the run that makes it."""

    def __init__(self, backend: str, prepare: Callable[[FakeMachine], None], run: _run.Options, change: Callable[[Any], None]) -> None:
        self.backend, self.prepare, self.options, self.change = backend, prepare, run, change
        self._prepared: FakeMachine | None = None

    def machine(self) -> FakeMachine:
        """A machine on which this change is due."""
        if self._prepared is None:
            self._prepared = FakeMachine(self.backend)
            self.prepare(self._prepared)
            self._prepared.steps = []
        return self._prepared.copy()

    def collect(self, machine: FakeMachine) -> Any:
        """The facts, with the claims only as long as the file that makes them is there."""
        return lambda _interfaces: connectx(self.backend, self.change if "/etc/netplan/40-cx7.yaml" in machine.files else lambda _facts: None)

    def run(self, machine: FakeMachine, **more: Any) -> dict[str, Any]:
        """First execution."""
        return _run.run(machine, {**self.options, **more}, False, self.collect(machine))


def confirm(machine: FakeMachine, run_id: str = "run-1") -> dict[str, Any]:
    """Second execution."""
    return _run.run(machine, options("confirmed", run_id=run_id), False, lambda _interfaces: connectx())


def fresh(_machine: FakeMachine) -> None:
    """Nothing was ever done."""


def by_hand(machine: FakeMachine) -> None:
    """Somebody gave a rail an address without a file."""
    machine.links["enp1s0f0np0"].update(up=True, mtu=4000, addresses=["10.1.1.1/24"])


def left_over(machine: FakeMachine) -> None:
    """Another tool's file configures both rails."""
    machine.put("/etc/netplan/40-cx7.yaml", CX7)
    machine.start()


def done(*ports: str) -> Callable[[FakeMachine], None]:
    """Our own earlier run made these ports."""

    def prepare(machine: FakeMachine) -> None:
        _run.run(machine, options(ports=slice_of(*ports)), False, lambda _interfaces: connectx(machine.backend))
        confirm(machine)

    return prepare


def done_over(machine: FakeMachine) -> None:
    """Our own earlier run took the left-over file to the backup."""
    left_over(machine)
    _run.run(machine, options(takeover=True), False, lambda _interfaces: connectx(machine.backend, claimed))
    confirm(machine)


def drifted(machine: FakeMachine) -> None:
    """Our own earlier run, then a hand."""
    done("p0")(machine)
    machine.links["enp1s0f0np0"].update(mtu=1500, addresses=["10.9.9.9/24"])
    machine.sysctl["net/ipv4/conf/enP2p1s0f0np0/arp_ignore"] = "0"


CASES = {
    f"{name} on {backend}": Case(backend, prepare, run, change)
    for backend in BACKENDS
    for name, prepare, run, change in (
        ("first run", fresh, options(), lambda _facts: None),
        ("first run over a hand-made address", by_hand, options(), lambda _facts: None),
        ("other port", done("p0"), options(ports=slice_of("p1")), lambda _facts: None),
        ("second port", done("p0"), options(ports=slice_of("p0", "p1")), lambda _facts: None),
        ("other MTU", done("p0"), options(mtu=1500), lambda _facts: None),
        ("drift", drifted, options(), lambda _facts: None),
        ("absent", done("p0"), options("absent", {}), lambda _facts: None),
        ("takeover", left_over, options(takeover=True), claimed),
        ("absent after takeover", done_over, options("absent", {}), lambda _facts: None),
    )
    if backend.startswith("netplan") or "takeover" not in name
}


def gone(machine: FakeMachine) -> bool:
    """No rollback, no timer, no unit is left."""
    leftovers = [path for path in machine.files if path.startswith((_names.ROLLBACK_DIR, "/etc/systemd/system"))]
    return not machine.timer and not leftovers


def comparable(machine: FakeMachine) -> dict[str, Any]:
    """The state without the times of files: two machines that were set up alike."""
    state = machine.state()
    state["files"] = {path: (content, meta[:3]) for path, (content, meta) in state["files"].items()}
    state["sysctl"] = {path: value for path, value in state["sysctl"].items() if not path.startswith("net/ipv6")}
    return state


def run_steps() -> list[str]:
    """The steps of a first run."""
    machine = FakeMachine()
    _run.run(machine, options(), False, lambda _interfaces: connectx())
    return machine.steps
