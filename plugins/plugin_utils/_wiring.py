# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cable ends to move: the smallest change that turns a wiring of nodes without a switch into a fabric.

A *port* is ``(node, "p0" | "p1")``. A *wiring* is a set of cables, a cable a pair of ports. Wanted is a fabric in which
every two nodes share a cable: with two nodes one or two cables, with three nodes the ring, whose three cables use all six
ports. Which port of a node leads to which neighbour is free, for the plan gives subnets to cables, not to ports.

The search is exhaustive: three cables have six ends and six ports to be in, 720 arrangements at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

Port = tuple[str, str]
Cable = tuple[Port, Port]
Move = tuple[Port, Port]

PORTS = ("p0", "p1")


def cable(one: Port, other: Port) -> Cable:
    """The cable between two ports, whichever is named first."""
    return (one, other) if one <= other else (other, one)


def join(port: Port) -> str:
    """A port as an operator reads it: ``spark-1 p0``."""
    return f"{port[0]} {port[1]}"


def pairs_missing(nodes: Sequence[str], wiring: Iterable[Cable]) -> list[tuple[str, str]]:
    """Pairs of nodes that no cable joins, in the order of ``nodes``."""
    joined = {frozenset((one[0], other[0])) for one, other in wiring}
    return [pair for pair in combinations(nodes, 2) if frozenset(pair) not in joined]


def _extensible(nodes: Sequence[str], wiring: Sequence[Cable]) -> bool:
    """Whether cables can be added, and none moved, until ``wiring`` is a fabric."""
    joined = [frozenset((one[0], other[0])) for one, other in wiring]
    if any(len(pair) == 1 for pair in joined):
        return False
    return len(nodes) == 2 or len(set(joined)) == len(joined)


def is_fabric(nodes: Sequence[str], wiring: Sequence[Cable]) -> bool:
    """Whether every two of the two or three ``nodes`` share a cable, none is a loop, and none is one too many."""
    return _extensible(nodes, wiring) and not pairs_missing(nodes, wiring)


def additions(nodes: Sequence[str], wiring: Sequence[Cable], planned: Sequence[Cable], blocked: Iterable[Port] = ()) -> list[Cable]:
    """The cables to plug in so that an extensible ``wiring`` becomes a fabric: the planned one where its ports are free,
    else from the lowest free port of each node. Empty when ports do not suffice; ``blocked`` ports hold something else.
    """
    used = {port for ends in wiring for port in ends} | set(blocked)
    added: list[Cable] = []
    for pair in pairs_missing(nodes, wiring):
        free = [[(node, port) for port in PORTS if (node, port) not in used] for node in pair]
        if not all(free):
            return []
        fitting = [cable(*ends) for ends in planned if {ends[0], ends[1]} <= {*free[0], *free[1]} and {ends[0][0], ends[1][0]} == set(pair)]
        added.append(fitting[0] if fitting else cable(free[0][0], free[1][0]))
        used.update(added[-1])
    return added


def _arrangements(wiring: Sequence[Cable], ports: Sequence[Port]) -> Iterator[tuple[list[Move], list[Cable]]]:
    """Every way to put the ends of ``wiring`` into ``ports``: the ends that moved, and the wiring that results."""
    ends = [port for one_cable in wiring for port in one_cable]
    for places in permutations(ports, len(ends)):
        yield (
            [(end, place) for end, place in zip(ends, places) if end != place],
            [cable(places[2 * index], places[2 * index + 1]) for index in range(len(wiring))],
        )


def smallest_change(
    nodes: Sequence[str], wiring: Sequence[Cable], planned: Sequence[Cable], blocked: Iterable[Port] = (), exact: bool = False
) -> tuple[list[Move], list[Cable]]:
    """The fewest ends to move, then the fewest cables to add, so that ``wiring`` becomes a fabric of ``nodes``.

    Of equally small changes the one that leads nearest to the ``planned`` cables wins, then the first in port order.
    ``blocked`` ports hold the cable of somebody else and are not used; with ``exact`` all ``planned`` cables must be there in the end.
    Returns moves as ``(from, to)``, which happen together, and the cables to add.
    """
    ports = [(node, port) for node in nodes for port in PORTS if (node, port) not in set(blocked)]
    want = {cable(*ends) for ends in planned}
    ranked = []
    for moves, result in _arrangements(wiring, ports):
        if not _extensible(nodes, result):
            continue
        added = additions(nodes, result, planned, blocked)
        if not is_fabric(nodes, result + added) or (exact and not want <= {*result, *added}):
            continue
        strange = len(want.symmetric_difference(result + added))
        ranked.append((len(moves), len(added), strange, sorted(moves), added))
    if not ranked:
        return [], []
    best = min(ranked)
    return best[3], best[4]


def steps(moves: Sequence[Move]) -> list[str]:
    """The moves as sentences that can be followed one after the other, a hand on one loose cable end at most.

    Chains that end in a free port begin at that port; a cycle begins with an end that is held in the hand.
    """
    where = dict(moves)
    sentences = []
    while where:
        sources = sorted(where)
        start = next((port for port in sources if port not in where.values()), None)
        held = start is None
        port = sources[0] if start is None else start
        chain = [port]
        while chain[-1] in where and where[chain[-1]] not in chain:
            chain.append(where[chain[-1]])
        for done in chain:
            where.pop(done, None)
        if held:
            sentences.append(f"unplug the cable at {join(chain[0])} and hold its end")
            sentences += [
                f"unplug the cable at {join(source)}, plug it into {join(target)}" for source, target in zip(chain[:0:-1], [chain[0], *chain[:1:-1]])
            ]
            sentences.append(f"plug the end in your hand into {join(chain[1])}")
        else:
            sentences += [f"unplug the cable at {join(source)}, plug it into {join(target)}" for source, target in zip(chain[-2::-1], chain[:0:-1])]
    return sentences
