# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hands at the rack can do, and what they can not."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.plugin_utils import _wiring
from gb10lab import faults, rack
from gb10lab.inventory import Cable, Cluster, Node
from gb10lab.rack import CHANGES, Rack, planned, understand
from gb10lab.shell import LabError

NODES = tuple(Node(name, number, f"192.168.10.1{number}", "nvidia", "netplan-networkd") for number, name in enumerate("abc", 1))
RING = (Cable(("a.p0", "b.p1"), 0), Cable(("b.p0", "c.p1"), 1), Cable(("c.p0", "a.p1"), 2))
Step = tuple[str, str, dict[str, str]]


def start(*cables: Cable, nodes: int = 3) -> Rack:
    """The planned rack of the first nodes."""
    return planned(Cluster("", NODES[:nodes], cables, "192.168.10.0/24", "192.168.10.1"))


def after(given: Rack, *steps: Step) -> Rack:
    """The rack after some faults on nodes."""
    for name, node, options in steps:
        given = CHANGES[name](given, node, options)
    return given


def wiring(given: Rack) -> list[tuple[str | None, ...]]:
    """The ends of every cable."""
    return [cable.ends for cable in given.cables]


def move(source: str, target: str) -> Step:
    """One end from port to port."""
    return ("move", "a", {"from": source, "to": target})


def unplug(end: str, hold: str = "yes") -> Step:
    """One end out."""
    return ("unplug", "a", {"end": end, "hold": hold})


def plug(end: str) -> Step:
    """The end in the hand in."""
    return ("plug", "a", {"end": end})


def add(one: str, other: str) -> Step:
    """A cable between two ports."""
    return ("cable-added", "a", {"cable": f"{one}:{other}"})


ONE = Cable(("a.p0", "b.p0"))
STRANGER = ("foreign-node", "a", {"port": "p0", "number": "1"})


@pytest.mark.parametrize(
    ("given", "steps", "expected"),
    [
        pytest.param([ONE], [move("b.p0", "b.p1")], [("a.p0", "b.p1")], id="an end moves, the other stays"),
        pytest.param([ONE], [unplug("a.p0")], [(None, "b.p0")], id="an end in the hand"),
        pytest.param([ONE], [unplug("a.p0"), plug("a.p1")], [("a.p1", "b.p0")], id="and into another port"),
        pytest.param(
            RING[:2], [unplug("a.p0"), move("c.p1", "a.p0"), plug("c.p1")], [("c.p1", "b.p1"), ("b.p0", "a.p0")], id="two ends change places"
        ),
        pytest.param([ONE], [("cable-unplugged", "a", {"cable": "0"})], [(None, None)], id="a cable lies beside"),
        pytest.param([ONE], [add("a.p1", "b.p1")], [("a.p0", "b.p0"), ("a.p1", "b.p1")], id="a second cable"),
        pytest.param([ONE], [unplug("b.p0", "no"), add("b.p1", "a.p0")], [("a.p0", "b.p1")], id="a loose end is taken before a new cable"),
        pytest.param([ONE], [unplug("b.p0"), add("a.p0", "b.p1"), unplug("a.p0")], [(None, "b.p1")], id="also out of the hand, which is free then"),
        pytest.param(RING, [("rewire", "a", {"cables": "a.p0:a.p1,b.p0:c.p0"})], [("a.p0", "a.p1"), ("b.p0", "c.p0")], id="a loop and fewer cables"),
        pytest.param(RING, [("rewire", "a", {"cables": ""})], [], id="no cable at all"),
        pytest.param(
            [ONE], [("rewire", "a", {"cables": "a.p0:b.p1,a.p1:b.p0"})], [("a.p0", "b.p1"), ("a.p1", "b.p0")], id="two cables between two nodes"
        ),
        pytest.param(RING, [("rewire", "a", {"cables": "a.p0:b.p0:c.p0"})], [("a.p0", "b.p0", "c.p0")], id="a switch"),
        pytest.param([ONE], [STRANGER], [("a.p0", "foreign-1.p0")], id="a stranger takes the far end"),
        pytest.param([ONE], [("foreign-node", "b", {"port": "p0", "number": "2"})], [("foreign-2.p0", "b.p0")], id="from either side"),
        pytest.param([], [STRANGER], [("a.p0", "foreign-1.p0")], id="or brings a cable"),
    ],
)
def test_cables(given: list[Cable], steps: list[Step], expected: list[tuple[str | None, ...]]) -> None:
    """Where every end is afterwards."""
    assert wiring(after(start(*given), *steps)) == expected


@pytest.mark.parametrize(
    ("given", "steps", "words"),
    [
        pytest.param([ONE], [move("a.p1", "b.p1")], "--option from - expected a port with a cable, found none in a.p1", id="nothing to move"),
        pytest.param(RING, [move("a.p0", "c.p1")], "--option to - expected a free port, found a cable in c.p1", id="target taken"),
        pytest.param([ONE], [move("a.p0", "d.p0")], "--option to - expected one of a.p0, a.p1, .*, found d.p0", id="no such port"),
        pytest.param([ONE], [("move", "a", {"from": "", "to": ""})], "--option from - expected one of .*, found nothing", id="nothing named"),
        pytest.param([ONE], [plug("a.p1")], "hand - expected the end of a cable in it, found it empty", id="an empty hand"),
        pytest.param(RING, [unplug("a.p0"), unplug("b.p0")], "hand - expected it empty, found the end of LABCABLE00", id="a full hand"),
        pytest.param(RING, [unplug("a.p0"), plug("b.p0")], "--option end - expected a free port, found a cable in b.p0", id="plugged where one is"),
        pytest.param([ONE], [unplug("a.p0", "maybe")], "--option hold - expected yes or no, found maybe", id="held or not"),
        pytest.param(
            [ONE], [add("a.p0", "a.p1")], "--option cable - expected a free port, found a cable in a.p0", id="a new cable into a taken port"
        ),
        pytest.param([], [add("a.p1", "a.p1")], "--option cable - expected two ports, found a.p1 twice", id="a cable of one port"),
        pytest.param([], [("rewire", "a", {"cables": "a.p0"})], "--option cables - expected two ends of a cable", id="a cable of one end"),
        pytest.param([], [("rewire", "a", {"cables": "a.p0:a.p0"})], "--option cables - expected another port at each end", id="both ends in one"),
        pytest.param(
            [], [("rewire", "a", {"cables": "a.p0:b.p0,b.p0:c.p0"})], "--option cables - expected a free port, found a cable in b.p0", id="twice"
        ),
        pytest.param([ONE], [("cable-unplugged", "a", {"cable": "1"})], "--option cable - expected a number below 1, found 1", id="no such cable"),
        pytest.param([ONE], [("link-100g", "a", {"cable": "x"})], "--option cable - expected a number below 1, found x", id="no number"),
        pytest.param([ONE], [("dead-rail", "a", {"port": "p0", "rail": "2"})], "--option rail - expected 0, 1 or all, found 2", id="no such rail"),
    ],
)
def test_refusals(given: list[Cable], steps: list[Step], words: str) -> None:
    """What two hands can not do is refused in the house's grammar."""
    with pytest.raises(LabError, match=words):
        after(start(*given), *steps)


def lit(given: Rack) -> list[str]:
    """The ends with carrier."""
    return sorted(end for cable in given.cables for end in given.lit(cable))


@pytest.mark.parametrize(
    ("given", "steps", "expected"),
    [
        pytest.param([ONE], [], ["a.p0", "b.p0"], id="plugged at both ends"),
        pytest.param([ONE], [unplug("a.p0")], [], id="one end hangs loose"),
        pytest.param(RING, [("powered-off", "b", {})], ["a.p1", "c.p0"], id="the neighbours of a machine without power"),
        pytest.param([ONE], [("dead-rail", "a", {"port": "p0", "rail": "1"})], ["a.p0", "b.p0"], id="a dead rail has carrier"),
        pytest.param([ONE], [STRANGER], ["a.p0", "foreign-1.p0"], id="a stranger gives carrier"),
        pytest.param([], [("rewire", "a", {"cables": "a.p0:b.p0:c.p0"}), ("powered-off", "b", {})], ["a.p0", "c.p0"], id="a switch stays on"),
    ],
)
def test_carriers(given: list[Cable], steps: list[Step], expected: list[str]) -> None:
    """Carrier needs power at both ends of a cable."""
    assert lit(after(start(*given), *steps)) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([], {"p0": {"serial": "LABCABLE00", "speed": 200000}, "p1": {"serial": "LABCABLE02", "speed": 200000}}, id="planned"),
        pytest.param([("link-100g", "a", {"cable": "0"}), unplug("a.p1")], {"p0": {"serial": "LABCABLE00", "speed": 100000}}, id="slow, and pulled"),
        pytest.param([unplug("b.p1"), ("powered-off", "c", {})], {"p0", "p1"}, id="a cable to nobody is still in"),
    ],
)
def test_modules(steps: list[Step], expected: Any) -> None:
    """What the first node's card reads from its cables."""
    found = after(start(*RING), *steps).modules("a")
    assert (set(found) if isinstance(expected, set) else found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unplug the cable at spark-2 p0, plug it into spark-2 p1", [("move", {"from": "spark-2.p0", "to": "spark-2.p1"})]),
        ("unplug the cable at a p0 and hold its end", [("unplug", {"end": "a.p0", "hold": "yes"})]),
        ("unplug the cable at a p0, whose other end does not answer", [("unplug", {"end": "a.p0", "hold": "no"})]),
        ("plug the end in your hand into a.example.org p1.", [("plug", {"end": "a.example.org.p1"})]),
        ("plug a cable between a p0 and b p1; ", [("cable-added", {"cable": "a.p0:b.p1"})]),
    ],
)
def test_instructions(text: str, expected: list[tuple[str, dict[str, str]]]) -> None:
    """Every sentence that the collection prints is one change at the rack."""
    assert understand(text) == expected


def test_other_words_are_refused() -> None:
    """Nobody guesses at the rack."""
    with pytest.raises(LabError, match="instruction - expected one that the collection prints, found: pull harder"):
        understand("unplug the cable at a p0 and hold its end; pull harder")


PORTS = [(node.name, port) for node in NODES for port in ("p0", "p1")]


def pairings(ports: list[tuple[str, str]]) -> list[list[tuple[tuple[str, str], tuple[str, str]]]]:
    """Every way to put any number of cables into ports."""
    if not ports:
        return [[]]
    first, rest = ports[0], ports[1:]
    found = pairings(rest)
    for other in rest:
        found += [[(first, other), *more] for more in pairings([port for port in rest if port != other])]
    return found


def test_every_wiring_is_mended_by_following_the_instructions() -> None:
    """All 76 wirings of three nodes: what the collection tells the person at the rack can be done as told, and makes a fabric."""
    want = [_wiring.cable((one.rpartition(".")[0], one[-2:]), (other.rpartition(".")[0], other[-2:])) for one, other in (each.ends for each in RING)]
    names = [node.name for node in NODES]
    wirings = pairings(PORTS)
    assert (len(wirings), len([wires for wires in wirings if len(wires) == 3])) == (76, 15)
    for wires in pairings(PORTS):
        text = ",".join(f"{'.'.join(one)}:{'.'.join(other)}" for one, other in wires)
        held = after(start(), ("rewire", "a", {"cables": text}))
        moves, added = _wiring.smallest_change(names, [_wiring.cable(*ends) for ends in wires], want)
        said = _wiring.steps(moves) + [f"plug a cable between {_wiring.join(one)} and {_wiring.join(other)}" for one, other in added]
        held = after(held, *((name, "a", options) for name, options in understand("; ".join(said))))
        result = [_wiring.cable(*((end[:-3], end[-2:]) for end in cable.ends if end)) for cable in held.cables]
        assert _wiring.is_fabric(names, result), (text, said)
        assert held.hand is None


def test_an_end_reaches_every_free_port() -> None:
    """Two ports for every node."""
    given = start(ONE)
    free = [port for port in given.ports if given.at(port) is None]
    assert len(free) == 4
    assert all(after(given, move("a.p0", port)).at(port) == (0, 0) for port in free)


def test_every_change_at_the_rack_is_a_fault() -> None:
    """So is everything that an instruction leads to."""
    assert {name for _pattern, name, _options in rack.SENTENCES} < CHANGES.keys() < faults.FAULTS.keys()
