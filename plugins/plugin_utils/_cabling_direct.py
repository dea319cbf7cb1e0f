# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to say about the cables of two nodes, or of a ring of three: every two of them need one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _wiring
from ._cabling_offer import caution, offer, ordered
from ._cabling_seen import DOWN, HEARD, MISSING, SILENT, UNLINKED, Seen
from ._cabling_words import Answer, unheard
from ._plan._notes import listed
from ._wiring import Cable, Port, cable, join

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
        _other_order(plan, wiring, planned, seen, answer)
    else:
        _wrong(plan, wiring, planned, switched, seen, answer)


def _wrong(plan: dict[str, Any], wiring: list[Cable], planned: list[Cable], switched: list[list[Port]], seen: Seen, answer: Answer) -> None:
    """Something must be done at the rack: as little as leads to a fabric that no plan warns of."""
    nodes = list(plan["nodes"])
    peers = dict(sorted((end, other) for ends in planned for end, other in (ends, ends[::-1])))
    obstacles = _obstacles(peers, switched, seen, answer)
    foreign = [port for port, state in seen.ports.items() if state.foreign and state.state != HEARD]
    blocked = {*obstacles, *foreign, *(port for ports in switched for port in ports)}
    moves, added = _wiring.smallest_change(nodes, wiring, planned, blocked)
    warned = caution(plan, _result(wiring, moves, added), planned)
    if warned:
        exact = _wiring.smallest_change(nodes, wiring, planned, blocked, exact=True)
        moves, added, warned = (*exact, warned) if any(exact) else (moves, added, "")
    only_missing = _only_missing(wiring, {cable(*ends) for ends in planned})
    if only_missing:
        moves, added = [], [ends for ends in planned if cable(*ends) not in wiring]
    if moves:
        _moves(plan, wiring, planned, (moves, added, warned), seen, answer)
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
    how = offer(wiring + added, planned, answer)
    if how:
        _differences("other order", wiring, planned, "which can be a fabric too", f"Plug in what is missing, then {how}.", answer)


def _moves(
    plan: dict[str, Any], wiring: list[Cable], planned: list[Cable], change: tuple[list[_wiring.Move], list[Cable], str], seen: Seen, answer: Answer
) -> None:
    """Cables that are to be moved, and then perhaps plugged in; the third part of ``change`` is why it is no smaller one."""
    nodes, (moves, added, warned) = list(plan["nodes"]), change
    result = _result(wiring, moves, added)
    _steps(moves, added, seen, answer)
    answer.additions = [list(map(join, ends)) for ends in added]
    plugs = [f"plug a cable between {join(one)} and {join(other)}" for one, other in added]
    how = offer(result, planned, answer)
    fix = f"Do this in order: {'; '.join(answer.steps + plugs)}."
    fix += f" Then it is a fabric, in another order than planned: {how}." if how else ""
    faults = _faults(nodes, wiring)
    if warned and len(faults) == len(_wiring.pairs_missing(nodes, wiring)):
        _differences("wrong", wiring, planned, "which leads to a fabric that the plan warns of", f"{fix} {warned}", answer)
    else:
        answer.refuse("wrong", "cabling", "a cable between every two nodes", "; ".join(faults), fix)


def _result(wiring: list[Cable], moves: list[_wiring.Move], added: list[Cable]) -> list[Cable]:
    place = dict(moves)
    return [cable(place.get(one, one), place.get(other, other)) for one, other in wiring] + added


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


def _other_order(plan: dict[str, Any], wiring: list[Cable], planned: list[Cable], seen: Seen, answer: Answer) -> None:
    """It is a fabric, but the addresses of the plan would be in the wrong places. What is better comes first."""
    how, warned = offer(wiring, planned, answer), caution(plan, wiring, planned)
    moves, _added = _wiring.smallest_change(list(plan["nodes"]), wiring, planned, exact=True)
    _steps(moves, [], seen, answer)
    steps = "; ".join(answer.steps) or f"plug in {listed(map(_said, planned))}"
    fix = f"Either keep the cables: {how}. Or keep the plan: {steps}."
    if warned:
        fix = f"Better keep the plan. Do this in order: {steps}. Or keep the cables: {how}. The plan warns of these cables: {warned}"
    _differences("other order", wiring, planned, "which is a fabric too", fix, answer)


def _differences(kind: str, wiring: list[Cable], planned: list[Cable], remark: str, fix: str, answer: Answer) -> None:
    """Say which cables are there instead of which."""
    used = {port for ends in wiring for port in ends}
    expected = [ends for ends in planned if cable(*ends) not in wiring and used & set(ends)]
    found = [ends for ends in ordered(wiring, planned) if cable(*ends) not in {cable(*other) for other in planned}]
    answer.refuse(kind, "cabling", listed(map(_said, expected or planned)), f"{listed(map(_said, found))}, {remark}", fix)


def _said(ends: Cable) -> str:
    return f"{join(ends[0])} to {join(ends[1])}"


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
