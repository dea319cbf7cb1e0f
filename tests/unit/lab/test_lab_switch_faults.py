# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of switches do what they say, and are undone without touching what came later."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from gb10lab import faults, switch_faults
from gb10lab.shell import LabError
from gb10lab.switch_faults import Target
from switch import forwarding, hardware, views
from switch.console import Scenario
from switch.exporting import export
from switch.machine import Machine, Plug
from switched import configured, type_on

LEG = "qsfp56-dd-1-1"


def target() -> Target:
    """The configured switch west with both of its legs plugged in, and a cable to another switch."""
    machine = configured()["west"]
    machine.plugs = {"qsfp56-dd-1": Plug(speeds=(100, 200), tails=(1, 5)), "qsfp56-dd-2": Plug(speeds=(400,), tails=(1,))}
    return Target(machine, Scenario(), [LEG, "qsfp56-dd-1-5"], ["qsfp56-dd-2-1"])


def leg(machine: Machine, name: str = LEG) -> forwarding.LegState:
    """What a leg does."""
    return forwarding.legs(machine)[name]


def group(machine: Machine) -> str:
    """What the user of the switch may."""
    return str(machine.rows("/user")[0]["group"])


def cost(machine: Machine) -> Any:
    """Path cost of the port to the other switch."""
    return (machine.row("/interface/bridge/port", "qsfp56-dd-2-1", "interface") or {})["path-cost"]


def profile(machine: Machine) -> Any:
    """The class that DSCP 26 goes into."""
    return next((row["traffic-class"] for row in machine.rows(switch_faults.PROFILE) if row.get("dscp") in (26, [26])), None)


@pytest.mark.parametrize(
    ("name", "given", "seen", "expected"),
    [
        pytest.param("l2mtu-1584", {}, lambda it: leg(it.machine).mtu, 1584, id="frames of 9000 bytes do not pass"),
        pytest.param("lanes-disabled", {}, lambda it: leg(it.machine).up, False, id="a leg without its lanes"),
        pytest.param("leg-100g", {}, lambda it: (leg(it.machine).up, leg(it.machine).gbps), (True, 100), id="half the speed"),
        pytest.param("leg-100g", {"leg": "qsfp56-dd-1-5"}, lambda it: leg(it.machine, "qsfp56-dd-1-5").gbps, 100, id="of another leg"),
        pytest.param("autoneg-on-split", {}, lambda it: leg(it.machine).up, False, id="a split does not negotiate"),
        pytest.param("second-bridge", {}, lambda it: (leg(it.machine).segment, leg(it.machine).offloaded), ("bridge2", False), id="by the processor"),
        pytest.param("interswitch-blocked", {}, lambda it: cost(it.machine), 200000000, id="the dearest way"),
        pytest.param("foreign-qos", {}, lambda it: profile(it.machine), 5, id="somebody's profile"),
        pytest.param("routeros-old", {}, lambda it: views.rows(it.machine, "/system/resource")[0]["version"], "7.19.6 (stable)", id="old"),
        pytest.param("package-missing", {}, lambda it: [row["name"] for row in it.machine.rows("/system/package")], ["routeros"], id="no package"),
        pytest.param("no-write-permission", {}, lambda it: group(it.machine), "read", id="may read"),
        pytest.param("safe-mode-held", {}, lambda it: it.machine.safe_mode.user, "anna", id="held by anna"),
        pytest.param("new-password-screen", {}, lambda it: it.scenario.screens, ["new-password"], id="a screen"),
        pytest.param("drop-at", {"line": "3"}, lambda it: (it.scenario.drop_at, it.scenario.drop_after), (3, False), id="drops at line 3"),
        pytest.param("drop-at", {"after": "yes"}, lambda it: (it.scenario.drop_at, it.scenario.drop_after), (1, True), id="drops after line 1"),
        pytest.param("prompt-noise", {}, lambda it: (it.scenario.noise, it.scenario.late, it.scenario.echo), (True, True, "double"), id="noise"),
        pytest.param("slow-switch", {}, lambda it: (it.scenario.pieces, it.scenario.delay), (400, 0.05), id="slow"),
    ],
)
def test_a_fault_comes_and_goes(name: str, given: dict[str, str], seen: Any, expected: Any) -> None:
    """What it does, and that nothing of it is left: configuration, system and console are as before."""
    it = target()
    before = (seen(it), export(it.machine), dataclasses.asdict(it.scenario), it.machine.version, it.machine.rows("/system/package")[:])
    memory = switch_faults.put(it, name, faults.FAULTS[name].options | given)
    assert seen(it) == expected != before[0]
    switch_faults.mend(it, name, memory)
    assert (seen(it), export(it.machine), dataclasses.asdict(it.scenario), it.machine.version, it.machine.rows("/system/package")) == before


def test_a_cost_that_was_set_comes_back() -> None:
    """Not only one that nobody had set."""
    it = target()
    type_on(it.machine, "/interface/bridge/port set [find interface=qsfp56-dd-2-1] path-cost=10")
    memory = switch_faults.put(it, "interswitch-blocked", {})
    switch_faults.mend(it, "interswitch-blocked", memory)
    assert cost(it.machine) == 10


def test_every_fault_of_the_switches_is_in_the_table_and_the_other_way_round() -> None:
    """Except for those that the process of the switches or ansible's variables do."""
    listed = {name for name, row in faults.FAULTS.items() if row.at_switch}
    assert listed - set(switch_faults.FAULTS) == {"wrong-password", "host-key-changed"}
    assert set(switch_faults.FAULTS) <= listed


@pytest.mark.parametrize(
    ("name", "typed", "kept"),
    [
        pytest.param("l2mtu-1584", f"/interface/ethernet set {LEG} l2mtu=9500", lambda it: leg(it.machine).mtu == 9500, id="a larger L2 MTU"),
        pytest.param(
            "second-bridge", f"/interface/bridge/port set [find interface={LEG}] bridge=bridge", lambda it: leg(it.machine).offloaded, id="moved back"
        ),
        pytest.param(
            "interswitch-blocked",
            "/interface/bridge/port set [find interface=qsfp56-dd-2-1] path-cost=10",
            lambda it: cost(it.machine) == 10,
            id="cheap",
        ),
        pytest.param(
            "lanes-disabled", "/interface/ethernet set qsfp56-dd-1-2,qsfp56-dd-1-3,qsfp56-dd-1-4 disabled=no", lambda it: leg(it.machine).up, id="on"
        ),
    ],
)
def test_what_was_mended_in_between_stays(name: str, typed: str, kept: Any) -> None:
    """As the collection does it."""
    it = target()
    memory = switch_faults.put(it, name, dict(faults.FAULTS[name].options))
    type_on(it.machine, typed)
    switch_faults.mend(it, name, memory)
    assert kept(it)
    assert hardware.offloaded_bridge(it.machine) == "bridge"


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        pytest.param("leg-100g", {"leg": "qsfp56-2-1"}, "--option leg - expected one of qsfp56-dd-1-1", id="a leg without a cable"),
        pytest.param("new-password-screen", {"screen": "blue"}, "--option screen - expected license, unlicensed", id="no such screen"),
        pytest.param("drop-at", {"line": "0"}, "--option line - expected a number from 1, found 0", id="no line"),
        pytest.param("second-bridge", {"bridge": "bridge"}, "the switch takes it, found: failure: already have", id="what the switch refuses"),
    ],
)
def test_refusals(name: str, given: dict[str, str], words: str) -> None:
    """In one line, and nothing has changed."""
    it = target()
    before = export(it.machine)
    with pytest.raises(LabError, match=words):
        switch_faults.put(it, name, faults.FAULTS[name].options | given)
    assert export(it.machine) == before


def test_safe_mode_is_held_once() -> None:
    """The second finds the first; somebody else's is left alone when the fault is cleared."""
    it = target()
    memory = switch_faults.put(it, "safe-mode-held", {"user": "anna", "seconds": "0"})
    with pytest.raises(LabError, match="expected it free, found anna in it"):
        switch_faults.put(it, "safe-mode-held", {"user": "otto", "seconds": "0"})
    switch_faults.mend(it, "safe-mode-held", memory)
    it.machine.take_safe_mode(object(), "otto", "ssh")
    switch_faults.mend(it, "safe-mode-held", memory)
    assert it.machine.safe_mode.user == "otto"
