# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer-2 domains: which switches are one, which subnet a node's attachment to one lies in, and what crosses between switches.

Switches and the cables between them are a forest: a second way between two switches is a loop and refused, unless parallel cables
are bonded into one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from ._cables import Leg, Trunk
from ._notes import Notes, listed


@dataclass(frozen=True)
class Uplink:
    """A leg, and the number of the subnet pair it lies in."""

    leg: Leg
    number: int


class Domains:
    """The forest of switches. Every switch hangs below the one it was joined to, up to the root that stands for its domain."""

    def __init__(self, switches: Iterable[str], trunks: list[Trunk], notes: Notes) -> None:
        self._neighbours: dict[str, dict[str, int]] = {name: {} for name in switches}
        self._join(trunks, notes)
        self.parents: dict[str, str | None] = {}
        self.roots: dict[str, str] = {}
        self._hang()

    def _join(self, trunks: list[Trunk], notes: Notes) -> None:
        """Sum up parallel bonded cables, refuse every other second way."""
        first: dict[frozenset[str], Trunk] = {}
        group = {name: name for name in self._neighbours}
        for trunk in trunks:
            a, b = trunk.switches
            where = f"fabric_cables[{trunk.cable}]"
            earlier = first.setdefault(frozenset(trunk.switches), trunk)
            if earlier is not trunk and not (earlier.bond and trunk.bond):
                found = f"a parallel one beside fabric_cables[{earlier.cable}], which is a loop"
                notes.refuse(where, f"one cable between {a} and {b}", found, "Remove one of them; a faster mode carries more.")
            elif earlier is trunk and _top(group, a) == _top(group, b):
                fix = "Remove one of the cables of the loop; spanning tree would switch one off anyway."
                notes.refuse(where, f"one way from {a} to {b}", "a second one, which is a loop", fix)
            else:
                group[_top(group, a)] = _top(group, b)
                for one, other in ((a, b), (b, a)):
                    self._neighbours[one][other] = self._neighbours[one].get(other, 0) + trunk.gbps

    def _hang(self) -> None:
        """Order every tree from its first switch down, parents before children."""
        for name in self._neighbours:
            if name not in self.parents:
                self.parents[name] = None
                waiting = [name]
                for switch in waiting:
                    self.roots[switch] = name
                    below = [other for other in self._neighbours[switch] if other not in self.parents]
                    self.parents.update(dict.fromkeys(below, switch))
                    waiting += below

    def capacity(self, child: str) -> int:
        """Gb/s between a switch and its parent, one way."""
        return self._neighbours[child][self.parents[child] or ""]

    def way(self, start: str, end: str) -> list[tuple[str, bool]]:
        """The trunks from one switch to another of its domain, as (lower switch, whether the way goes up)."""
        up = self._climb(start)
        down = self._climb(end)
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return [(switch, True) for switch in up] + [(switch, False) for switch in reversed(down)]

    def _climb(self, switch: str) -> list[str]:
        steps: list[str] = []
        parent = self.parents[switch]
        while parent is not None:
            steps.append(switch)
            switch, parent = parent, self.parents[parent]
        return steps

    def warn_oversubscribed(self, legs: list[Leg], notes: Notes) -> None:
        """Warn where the nodes on one side of a trunk can send more than it carries, whichever side has fewer of them."""
        below: Counter[str] = Counter()
        for leg in legs:
            below[leg.switch] += leg.gbps
        for switch in reversed(self.parents):
            parent = self.parents[switch]
            if parent is not None:
                below[parent] += below[switch]
        for switch, parent in self.parents.items():
            if parent is not None:
                load = min(below[switch], below[self.roots[switch]] - below[switch])
                capacity = self.capacity(switch)
                if load > capacity:
                    what, expected = f"{parent} to {switch}", f"inter-switch cables for {load}G, the nodes on one side"
                    found = f"{capacity}G, oversubscribed {load / capacity:.3g}:1"
                    notes.warn(what, expected, found, "All-to-all traffic slows down by that much; put nodes that talk most on one switch, or accept it.")


def _top(group: dict[str, str], name: str) -> str:
    while group[name] != name:
        group[name] = group[group[name]]
        name = group[name]
    return name


def uplinks(legs: list[Leg], domains: Domains) -> list[Uplink]:
    """Number every attachment of a node to a domain, so that equal numbers are one subnet pair.

    A number belongs to a domain and to how many cables the node already has into it, and is given at first mention; so a later
    cable never changes it.
    """
    seen: Counter[tuple[str, str]] = Counter()
    numbers: dict[tuple[str, int], int] = {}
    found = []
    for leg in legs:
        domain = domains.roots[leg.switch]
        key = (domain, seen[leg.end.node, domain])
        seen[leg.end.node, domain] += 1
        found.append(Uplink(leg, numbers.setdefault(key, len(numbers))))
    return found


def refuse_unjoined(nodes: Iterable[str], legs: list[Leg], domains: Domains, notes: Notes) -> None:
    """Refuse nodes without a cable, and pairs of nodes that no layer-2 domain joins: NCCL needs a direct path between every two.

    A node has two ports, so there are few different sets of domains, whatever the number of nodes.
    """
    reach: dict[str, set[str]] = {name: set() for name in nodes}
    for leg in legs:
        reach[leg.end.node].add(domains.roots[leg.switch])
    lonely = [name for name, reached in reach.items() if not reached]
    if lonely:
        notes.refuse(listed(lonely), "a cable to a switch", "none", "Name it in fabric_cables, or take it out of gb10_nodes.")
    kinds: dict[frozenset[str], str] = {}
    for name, reached in reach.items():
        if reached:
            kinds.setdefault(frozenset(reached), name)
    for (one, a), (other, b) in combinations(kinds.items(), 2):
        if not one & other:
            found = f"{a} on {listed(sorted(one))} and {b} on {listed(sorted(other))}"
            notes.refuse(
                f"{a} and {b}",
                "a switch, or joined switches, that both are cabled to",
                found,
                "Join the switches by a cable, or cable both nodes to both.",
            )
            return
