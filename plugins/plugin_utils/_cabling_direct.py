# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to say about the cables of two nodes, or of a ring of three: every two of them need one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from . import _wiring
from ._cabling_seen import DOWN, HEARD, MISSING, SILENT, UNLINKED, Seen
from ._cabling_words import Answer, unheard
from ._plan._notes import listed
from ._wiring import Cable, Port, cable, join

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")

_HOW = "put the fabric_cables below into the inventory, or pass them with -e @FILE"

_FOUND = {
    MISSING: "no {port}",
    DOWN: "{port} down",
    UNLINKED: "no link at {port}",
    SILENT: "a link without an answer at {port}",
}


def planned_cables(plan: dict[str, Any]) -> list[Cable]:
    """The cables between nodes in the order of their subnets, the node that comes first in the plan first."""
    found: dict[Cable, tuple[int, Cable]] = {}
    for name, node in plan["nodes"].items():
        for port, data in node["ports"].items():
            if "node" in data["peer"]:
                ends = ((name, port), (data["peer"]["node"], data["peer"]["port"]))
                found.setdefault(cable(*ends), (data["rails"][0]["subnet"], ends))
    return [ends for _subnet, ends in sorted(found.values())]


def judge(plan: dict[str, Any], seen: Seen, answer: Answer) -> None:
    """Hold the cables that were seen against the plan."""
    nodes, planned = list(plan["nodes"]), planned_cables(plan)
    segments = seen.segments()
    switched = [ports for ports in segments if len(ports) > 2 or any(seen.port(port).switches for port in ports)]
    wiring = [cable(*ports) for ports in segments if ports not in switched]
    want = {cable(*ends) for ends in planned}
    for one, other in wiring:
        answer.silent_rails(seen, one, [other])
        answer.silent_rails(seen, other, [one])
    if want <= set(wiring):
        _second_cables(set(wiring) - want, answer)
        _hidden_switch(wiring, seen, answer)
    elif seen.absent:
        _partly(planned, wiring, switched, seen, answer)
    elif _wiring.is_fabric(nodes, wiring) and not _only_missing(wiring, want):
        _other_order(nodes, wiring, planned, seen, answer)
    else:
        _wrong(nodes, wiring, planned, switched, seen, answer)


def _wrong(nodes: Sequence[str], wiring: list[Cable], planned: list[Cable], switched: list[list[Port]], seen: Seen, answer: Answer) -> None:
    """Something must be done at the rack."""
    peers = dict(sorted((end, other) for ends in planned for end, other in (ends, ends[::-1])))
    obstacles = _obstacles(peers, switched, seen, answer)
    foreign = [port for port, state in seen.ports.items() if state.foreign and state.state != HEARD]
    moves, added = _wiring.smallest_change(nodes, wiring, planned, {*obstacles, *foreign, *(port for ports in switched for port in ports)})
    only_missing = _only_missing(wiring, {cable(*ends) for ends in planned})
    if only_missing:
        moves, added = [], [ends for ends in planned if cable(*ends) not in wiring]
    if moves:
        _moves(nodes, wiring, planned, moves, added, seen, answer)
    elif not obstacles:
        _missing(wiring, planned, added, seen, answer)
    elif not only_missing:
        fix = "Put right what is said above, then run again to be told which cables to move."
        answer.refuse("wrong", "cabling", "a cable between every two nodes", "; ".join(_faults(nodes, wiring)), fix)


def _only_missing(wiring: list[Cable], want: set[Cable]) -> bool:
    """Whether every cable that is there is a planned one."""
    return set(wiring) < want


def _obstacles(peers: dict[Port, Port], switched: list[list[Port]], seen: Seen, answer: Answer) -> list[Port]:
    """Say what else than a node of the plan is at the other end of planned ports, or why it is not known; returns those ports."""
    found: list[Port] = []
    for ports in switched:
        if not peers.keys() & set(ports):
            continue
        names = dict.fromkeys(" ".join(filter(None, name)) for port in ports for name in seen.port(port).switches)
        what = f"the switch {listed(names)} between them" if names else "all of them joined by a switch"
        fix = "Join every two nodes by a cable of their own, or plan fabric_topology: switched_fabric."
        answer.refuse("switch", listed(map(join, ports)), "cables without a switch", what, fix)
        found += ports
    for port, peer in peers.items():
        state = seen.port(port)
        if port in found or state.state == HEARD:
            continue
        if state.foreign:
            kind, way = ("switch", "plan fabric_topology: switched_fabric") if state.switches else ("foreign", "add the machine to the inventory")
            fix = f"Plug the cable from {join(peer)} in here, or {way}."
            answer.refuse(kind, join(port), f"{join(peer)} at the other end", listed(state.foreign), fix)
            found.append(port)
        elif state.state in (MISSING, DOWN):
            unheard(answer, port, f"{join(peer)} at the other end", state.state)
            found.append(port)
    return found


def _missing(wiring: list[Cable], planned: list[Cable], added: list[Cable], seen: Seen, answer: Answer) -> None:
    """Cables that are to be plugged in."""
    for ends in added:
        states = {port: seen.port(port).state for port in ends}
        silent = [join(port) for port in ends if states[port] == SILENT]
        found = listed(_FOUND[states[port]].format(port=join(port)) for port in ends)
        if set(states.values()) == {UNLINKED}:
            found = "no link at either end"
        fix = "Plug a cable between them, or check the one that is there."
        if silent:
            fix = f"Follow the cable from {listed(silent)}: it leads to a machine that is not in the inventory, to a port that is down, or is broken."
        unseen = [join(port) for port in seen.ports if port[0] in (ends[0][0], ends[1][0]) and seen.port(port).state == DOWN]
        fix += f" A cable in {listed(unseen, last='or')} is not seen, because the port is down." if unseen else ""
        answer.refuse("missing", listed(map(join, ends)), "a cable between them", found, fix)
    answer.additions += [list(map(join, ends)) for ends in added]
    _offer(wiring + added, planned, answer)
    if answer.fabric_cables:
        _differences(wiring, planned, "which can be a fabric too", f"Plug in what is missing, then {_HOW}.", answer)


def _moves(
    nodes: Sequence[str], wiring: list[Cable], planned: list[Cable], moves: list[_wiring.Move], added: list[Cable], seen: Seen, answer: Answer
) -> None:
    """Cables that are to be moved, and then perhaps plugged in."""
    place = dict(moves)
    result = [cable(place.get(one, one), place.get(other, other)) for one, other in wiring] + added
    _steps(moves, added, seen, answer)
    answer.additions = [list(map(join, ends)) for ends in added]
    plugs = [f"plug a cable between {join(one)} and {join(other)}" for one, other in added]
    _offer(result, planned, answer)
    fix = f"Do this in order: {'; '.join(answer.steps + plugs)}."
    fix += f" Then it is a fabric, in another order than planned: {_HOW}." if answer.fabric_cables else ""
    answer.refuse("wrong", "cabling", "a cable between every two nodes", "; ".join(_faults(nodes, wiring)), fix)


def _steps(moves: list[_wiring.Move], added: list[Cable], seen: Seen, answer: Answer) -> None:
    """The moves, after what is in the way of them: cables of which nothing is known but that they are there."""
    places = [end for _start, end in moves] + [port for ends in added for port in ends]
    answer.steps = [f"unplug the cable at {join(port)}, whose other end does not answer" for port in places if seen.port(port).state == SILENT]
    answer.steps += _wiring.steps(moves)
    answer.moves = [{"from": join(start), "to": join(end)} for start, end in moves]


def _faults(nodes: Sequence[str], wiring: list[Cable]) -> list[str]:
    """What is wrong with a wiring, in words."""
    pairs: dict[tuple[str, ...], list[Cable]] = {}
    for ends in wiring:
        pairs.setdefault(tuple(sorted({ends[0][0], ends[1][0]}, key=nodes.index)), []).append(ends)
    found = [f"{join(ends[0])} and {join(ends[1])} on one cable" for pair, cables in pairs.items() if len(pair) == 1 for ends in cables]
    found += [f"{len(cables)} cables between {listed(pair)}" for pair, cables in pairs.items() if len(pair) == 2 and len(cables) > 1]
    return found + [f"none between {listed(pair)}" for pair in _wiring.pairs_missing(nodes, wiring)]


def _other_order(nodes: Sequence[str], wiring: list[Cable], planned: list[Cable], seen: Seen, answer: Answer) -> None:
    """It is a fabric, but the addresses of the plan would be in the wrong places."""
    _offer(wiring, planned, answer)
    moves, _added = _wiring.smallest_change(nodes, wiring, planned, exact=True)
    _steps(moves, [], seen, answer)
    fix = f"Either keep the cables: {_HOW}. Or keep the plan: {'; '.join(answer.steps)}."
    _differences(wiring, planned, "which is a fabric too", fix, answer)


def _differences(wiring: list[Cable], planned: list[Cable], remark: str, fix: str, answer: Answer) -> None:
    """Say which cables are there instead of which."""
    used = {port for ends in wiring for port in ends}
    expected = [ends for ends in planned if cable(*ends) not in wiring and used & set(ends)]
    found = [ends for ends in _ordered(wiring, planned) if cable(*ends) not in {cable(*other) for other in planned}]
    answer.refuse("other order", "cabling", listed(map(_said, expected or planned)), f"{listed(map(_said, found))}, {remark}", fix)


def _said(ends: Cable) -> str:
    return f"{join(ends[0])} to {join(ends[1])}"


def _ordered(wiring: Iterable[Cable], planned: Sequence[Cable]) -> list[Cable]:
    """The cables in the order of the plan's between the same nodes, so that every two nodes keep their subnets; others last."""
    rest = sorted(wiring)
    found: list[Cable] = []
    for one, other in planned:
        same = next((ends for ends in rest if {ends[0][0], ends[1][0]} == {one[0], other[0]}), None)
        if same:
            rest.remove(same)
            found.append(same if same[0][0] == one[0] else same[::-1])
    return found + rest


def _offer(wiring: list[Cable], planned: list[Cable], answer: Answer) -> None:
    """Write ``fabric_cables`` for a wiring that is another than planned."""
    if {cable(*ends) for ends in planned} <= set(wiring):
        return
    ordered = _ordered(wiring, planned)
    before = {port: number for number, ends in enumerate(planned) for port in ends}
    after = {port: number for number, ends in enumerate(ordered) for port in ends}
    lines = [f"  - [{_yaml(one)}, {_yaml(other)}]" for one, other in ordered]
    if any(after.get(port, number) != number for port, number in before.items()):
        lines.append("fabric_renumber: true  # for one run: addresses move to other ports")
    answer.fabric_cables = "\n".join(["fabric_cables:", *lines, ""])


def _yaml(port: Port) -> str:
    end = ".".join(port)
    return end if _PLAIN.fullmatch(end) else json.dumps(end)


def _second_cables(extra: set[Cable], answer: Answer) -> None:
    for one, other in sorted(extra):
        fix = "It adds no speed: one cable fills both PCIe links of a node. Unplug it, or plan it as a spare."
        answer.warn(f"{join(one)} and {join(other)}", "no second cable between the same nodes", "one", fix)


def _hidden_switch(wiring: list[Cable], seen: Seen, answer: Answer) -> None:
    """Frames for the nearest bridge pass every cable, or the card keeps them to itself; some without them look like a switch."""
    without = [ends for ends in wiring if not seen.near(*ends)]
    if len(without) < len(wiring):
        for ends in without:
            fix = "Look whether a switch is between them; if not, this can be left alone."
            answer.warn(_said(ends), "every frame to pass, as on the other cables", "frames missing that a switch keeps to itself", fix)


def _partly(planned: list[Cable], wiring: list[Cable], switched: list[list[Port]], seen: Seen, answer: Answer) -> None:
    """Some nodes are no part of the run: what the others see is compared, and no moves are computed."""
    peers = dict(sorted((end, other) for ends in planned for end, other in (ends, ends[::-1]) if end[0] not in seen.absent))
    sees = {end: other for ends in wiring for end, other in (ends, ends[::-1])}
    obstacles = _obstacles(peers, switched, seen, answer)
    for port, peer in peers.items():
        expected = f"{join(peer)} at the other end"
        if port in sees and sees[port] != peer:
            answer.refuse("wrong", join(port), expected, join(sees[port]), "Run again for all nodes, to be told which cables to move.")
        elif port not in sees and port not in obstacles and peer[0] in seen.absent:
            answer.warn(join(port), expected, f"that {peer[0]} is no part of this run", "Run again for all nodes to have it checked.")
    gone = [ends for ends in planned if not {*ends} & {*sees, *obstacles} and not {ends[0][0], ends[1][0]} & set(seen.absent)]
    _missing([], gone, gone, seen, answer)
