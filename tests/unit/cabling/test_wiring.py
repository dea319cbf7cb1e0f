# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every wiring of the six ports of three nodes, and of the four ports of two, has a smallest change that makes it a fabric."""

from __future__ import annotations

import re
from itertools import combinations, permutations

import pytest
from ansible_collections.gb10.cluster.plugins.plugin_utils import _wiring as wiring

RING = ("spark-1", "spark-2", "spark-3")
PAIR = ("spark-1", "spark-2")
PLANNED = {
    RING: [(("spark-1", "p0"), ("spark-2", "p1")), (("spark-2", "p0"), ("spark-3", "p1")), (("spark-1", "p1"), ("spark-3", "p0"))],
    PAIR: [(("spark-1", "p0"), ("spark-2", "p0"))],
}


def ports_of(nodes):
    return [(node, port) for node in nodes for port in wiring.PORTS]


def matchings(ports):
    """Every set of cables that uses no port twice, the empty one included."""
    if len(ports) < 2:
        yield ()
        return
    first, rest = ports[0], ports[1:]
    yield from matchings(rest)
    for other in rest:
        for remaining in matchings([port for port in rest if port != other]):
            yield (wiring.cable(first, other), *remaining)


ALL = [(nodes, cables) for nodes in (RING, PAIR) for cables in matchings(ports_of(nodes))]


def follow(cables, sentences):
    """Do what the sentences say, literally, with one hand."""
    at = {}
    for number, ends in enumerate(cables):
        for side, port in enumerate(ends):
            at[port] = (number, side)
    hand = None
    for sentence in sentences:
        names = [tuple(name) for name in re.findall(r"(spark-\d) (p\d)", sentence)]
        if sentence.endswith("and hold its end"):
            assert hand is None
            hand = at.pop(names[0])
        elif sentence.startswith("plug the end in your hand"):
            assert names[0] not in at, "the port is taken"
            at[names[0]], hand = hand, None
        else:
            assert names[1] not in at, "the port is taken"
            at[names[1]] = at.pop(names[0])
    assert hand is None
    ends = {end: port for port, end in at.items()}
    return [wiring.cable(ends[number, 0], ends[number, 1]) for number in range(len(cables))]


def test_there_are_76_wirings_of_three_nodes_15_of_them_with_three_cables_and_8_of_those_are_rings():
    of_three = [cables for nodes, cables in ALL if nodes == RING]
    full = [cables for cables in of_three if len(cables) == 3]
    assert (len(of_three), len(full), sum(wiring.is_fabric(RING, cables) for cables in full)) == (76, 15, 8)


@pytest.mark.parametrize(("nodes", "cables"), ALL)
def test_followed_literally_the_steps_and_the_added_cables_make_a_fabric(nodes, cables):
    moves, added = wiring.smallest_change(nodes, cables, PLANNED[nodes])
    assert wiring.is_fabric(nodes, follow(cables, wiring.steps(moves)) + added)


@pytest.mark.parametrize(("nodes", "cables"), ALL)
def test_no_smaller_number_of_moves_would_do(nodes, cables):
    moves, _added = wiring.smallest_change(nodes, cables, PLANNED[nodes])
    ends = [end for ends in cables for end in ends]
    free = [port for port in ports_of(nodes) if port not in ends]
    for fewer in range(len(moves)):
        for moved in combinations(ends, fewer):
            for places in permutations([*free, *moved], fewer):
                place = dict(zip(moved, places, strict=True))
                result = [wiring.cable(*(place.get(end, end) for end in one)) for one in cables]
                assert not wiring.is_fabric(nodes, result + wiring.additions(nodes, result, PLANNED[nodes]))


@pytest.mark.parametrize(("nodes", "cables"), ALL)
def test_when_only_the_plan_will_do_the_steps_lead_to_it(nodes, cables):
    moves, added = wiring.smallest_change(nodes, cables, PLANNED[nodes], exact=True)
    assert {wiring.cable(*ends) for ends in PLANNED[nodes]} <= {*follow(cables, wiring.steps(moves)), *added}


@pytest.mark.parametrize("nodes", [RING, PAIR])
def test_the_planned_wiring_needs_nothing(nodes):
    assert wiring.smallest_change(nodes, PLANNED[nodes], PLANNED[nodes]) == ([], [])


@pytest.mark.parametrize("nodes", [RING, PAIR])
def test_with_no_cable_at_all_the_planned_ones_are_plugged_in(nodes):
    moves, added = wiring.smallest_change(nodes, [], PLANNED[nodes])
    assert (moves, sorted(added)) == ([], sorted(wiring.cable(*ends) for ends in PLANNED[nodes]))


@pytest.mark.parametrize(
    ("moves", "sentences"),
    [
        ([(("a", "p0"), ("b", "p1"))], ["unplug the cable at a p0, plug it into b p1"]),
        (
            [(("a", "p0"), ("b", "p1")), (("b", "p1"), ("c", "p0"))],
            ["unplug the cable at b p1, plug it into c p0", "unplug the cable at a p0, plug it into b p1"],
        ),
        (
            [(("a", "p0"), ("a", "p1")), (("a", "p1"), ("a", "p0"))],
            ["unplug the cable at a p0 and hold its end", "unplug the cable at a p1, plug it into a p0", "plug the end in your hand into a p1"],
        ),
    ],
)
def test_moves_are_told_in_an_order_in_which_the_next_port_is_free(moves, sentences):
    assert wiring.steps(moves) == sentences


def test_a_port_that_holds_the_cable_of_somebody_else_is_not_used():
    moves, added = wiring.smallest_change(PAIR, [], PLANNED[PAIR], blocked=[("spark-1", "p0")])
    assert (moves, added) == ([], [wiring.cable(("spark-1", "p1"), ("spark-2", "p0"))])
