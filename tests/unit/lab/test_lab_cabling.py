# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the rack becomes carriers, and a fault is undone."""

from __future__ import annotations

from typing import Any

import pytest
from gb10lab import cabling, rack
from gb10lab.cabling import Leg, commands, legs
from gb10lab.inventory import Cable, Cluster, Node
from gb10lab.shell import LabError
from gb10lab.state import Lab

NODES = tuple(Node(name, number, f"192.168.10.1{number}", "nvidia", "netplan-networkd") for number, name in enumerate(("a", "b"), 1))
PAIR = Cluster("two_node_direct", NODES, (Cable(("a.p0", "b.p0")),), "192.168.10.0/24", "192.168.10.1")


def held(*faults: tuple[str, str, dict[str, str]]) -> rack.Rack:
    """The rack of a pair after some faults."""
    made = rack.planned(PAIR)
    for name, node, options in faults:
        made = rack.CHANGES[name](made, node, options)
    return made


MOVED = ("move", "a", {"from": "b.p0", "to": "b.p1"})
DEAD = ("dead-rail", "b", {"port": "p0", "rail": "1"})
OFF = ("powered-off", "b", {})


def up(made: rack.Rack) -> dict[str, str | None]:
    """Segments of the legs with carrier."""
    return {name: leg.segment for name, leg in legs(PAIR, made, {}).items() if leg.up}


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        pytest.param([], dict.fromkeys(["n1p0r0", "n1p0r1", "n2p0r0", "n2p0r1"], "c-n1p0"), id="both rails of both ends share one segment"),
        pytest.param([MOVED], dict.fromkeys(["n1p0r0", "n1p0r1", "n2p1r0", "n2p1r1"], "c-n1p0"), id="an end in another port"),
        pytest.param([DEAD], {"n1p0r0": "c-n1p0", "n1p0r1": "c-n1p0", "n2p0r0": "c-n1p0", "n2p0r1": None}, id="a dead rail: carrier and no segment"),
        pytest.param([OFF], {}, id="no power at one end"),
        pytest.param([("rewire", "a", {"cables": "a.p0:a.p1"})], dict.fromkeys(["n1p0r0", "n1p0r1", "n1p1r0", "n1p1r1"], "c-n1p0"), id="a loop"),
        pytest.param(
            [("foreign-node", "b", {"port": "p0", "number": "3"})],
            dict.fromkeys(["f3p0r0", "f3p0r1", "n2p0r0", "n2p0r1"], "c-n2p0"),
            id="a stranger's legs, in a segment named after a port that is known",
        ),
    ],
)
def test_segments(faults: list[tuple[str, str, dict[str, str]]], expected: dict[str, str | None]) -> None:
    """Which legs have carrier, and whom they reach."""
    assert up(held(*faults)) == expected


def changes(before: rack.Rack, after: rack.Rack) -> dict[str, str]:
    """Legs that flap or go down and legs that end up elsewhere, as ``down``, ``up`` or ``down up`` by name; what stays the same is left out."""
    said: dict[str, list[str]] = {}
    old = legs(PAIR, before, {})
    for command in commands(old, legs(PAIR, after, {})):
        words = command.split()
        if words[-1] == "down" and old[words[2]].up:
            said.setdefault(words[2], []).append("down")
        elif words[-1] == "up" and ("down" in said.get(words[2], []) or not old[words[2]].up):
            said.setdefault(words[2], []).append("up")
    return {name: " ".join(words) for name, words in said.items()}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([], [], {}, id="nothing flaps when nothing changed"),
        pytest.param(
            [],
            [MOVED],
            {"n1p0r0": "down up", "n1p0r1": "down up", "n2p0r0": "down", "n2p0r1": "down", "n2p1r0": "up", "n2p1r1": "up"},
            id="while an end moves, the other has no carrier",
        ),
        pytest.param([], [DEAD], {}, id="a rail dies without a sign"),
        pytest.param([OFF], [], dict.fromkeys(["n1p0r0", "n1p0r1", "n2p0r0", "n2p0r1"], "up"), id="power comes back"),
        pytest.param(
            [], [("link-100g", "a", {"cable": "0"})], dict.fromkeys(["n1p0r0", "n1p0r1", "n2p0r0", "n2p0r1"], "down up"), id="a link trains anew"
        ),
    ],
)
def test_carriers_that_come_and_go(before: list[Any], after: list[Any], expected: dict[str, str]) -> None:
    """Exactly the links that change lose their carrier on the way."""
    assert changes(held(*before), held(*after)) == expected


def test_every_leg_is_put_right_whatever_it_was() -> None:
    """Also after a command that was interrupted: all legs are named, those with carrier last."""
    wanted = legs(PAIR, held(MOVED), {})
    said = commands(wanted, wanted)
    assert {command.split()[2] for command in said} == set(wanted)
    assert "link set n2p1r0 master c-n1p0 up" in said and "link set n2p0r0 nomaster down" in said
    assert commands({}, {"n1p0r1": Leg(None, True)}) == ["link set n1p0r1 nomaster down", "link set n1p0r1 nomaster up"]


def lab(*faults: tuple[str, str, dict[str, str]]) -> Lab:
    """A lab of a pair with faults in its state."""
    return Lab("unit", PAIR, faults=[{"name": name, "node": node, "memory": {"options": options}} for name, node, options in faults])


def test_the_rack_is_the_plan_and_every_fault_after_it() -> None:
    """Other faults are none of its business."""
    made = lab(MOVED, DEAD)
    made.faults.insert(0, {"name": "job", "node": "a", "memory": {}})
    assert cabling.current(made) == held(MOVED, DEAD)


def test_a_fault_is_mended_by_leaving_it_out() -> None:
    """In any order, as long as nothing builds on it."""
    made = lab(MOVED, DEAD)
    assert cabling.current(made, without=made.faults[0]["memory"]) == held(DEAD)
    assert cabling.current(made, without=made.faults[1]["memory"]) == held(MOVED)


def test_what_another_fault_builds_on_stays() -> None:
    """The hand is empty without the fault that filled it."""
    made = lab(("unplug", "a", {"end": "a.p0", "hold": "yes"}), ("plug", "a", {"end": "a.p1"}))
    with pytest.raises(LabError, match=r"fault - expected that no later one builds on it, found: hand - .* Clear the later one first\."):
        cabling.mend(made, NODES[0], made.faults[0]["memory"])
