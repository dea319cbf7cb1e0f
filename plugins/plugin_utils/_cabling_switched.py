# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to say about nodes behind switches: all ports on switches that are joined hear each other, and nobody else's do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..module_utils._routeros import _cages
from . import _legs
from ._cabling_seen import DOWN, HEARD, MISSING, SILENT, Seen
from ._cabling_words import Answer, unheard
from ._plan._notes import listed
from ._wiring import Port, join

Domain = tuple[list[str], list[Port]]
"""Switches that are joined, and the ports of nodes on them."""


def domains(plan: dict[str, Any]) -> list[Domain]:
    """The layer-2 domains of a plan in the order of its switches; none where it has none."""
    group = {name: {name} for name in plan["switches"]}
    for name, switch in plan["switches"].items():
        for peer in switch["legs"].values():
            if "switch" in peer:
                joined = group[name] | group[peer["switch"]]
                group.update(dict.fromkeys(joined, joined))
    ports: dict[str, list[Port]] = {name: [] for name in plan["switches"]}
    for name, node in plan["nodes"].items():
        for port, data in node["ports"].items():
            if "switch" in data["peer"]:
                ports[data["peer"]["switch"]].append((name, port))
    every = list(dict.fromkeys(tuple(name for name in plan["switches"] if name in names) for names in group.values()))
    order = {name: number for number, name in enumerate(plan["nodes"])}
    return [(list(names), sorted((port for name in names for port in ports[name]), key=lambda port: (order[port[0]], port[1]))) for names in every]


def judge(plan: dict[str, Any], seen: Seen, answer: Answer) -> None:
    """Hold what was heard against the plan, domain by domain."""
    for switches, planned in domains(plan):
        here = dict.fromkeys(port for port in planned if port[0] not in seen.absent)
        for port in here:
            _port(plan, seen, port, here, answer)
        _parts(plan, switches, here, seen, answer)
    _joined(plan, seen, answer)
    _tables(plan, seen, answer)
    for name in seen.absent:
        answer.warn(name, "a part of this run", "none", "Run again for all nodes to have its cables checked.")


def leg(plan: dict[str, Any], port: Port) -> str:
    """Where a port is plugged in, in words."""
    peer = plan["nodes"][port[0]]["ports"][port[1]]["peer"]
    return " ".join(filter(None, (peer["switch"], peer["leg"])))


def cables_past(domain: Collection[Port], seen: Seen) -> list[list[Port]]:
    """The cables that go past the switch of a domain, for certain; with two ports on a switch that passes every frame none is."""
    every = [ports for ports in seen.segments() if seen.is_cable(ports) and any(port in domain for port in ports)]
    return every if len(domain) > 2 else []


def past(plan: dict[str, Any], seen: Seen) -> set[Port]:
    """The ports on such cables, of which a switch may still remember that they were on a leg."""
    return {port for _switches, planned in domains(plan) for ports in cables_past(planned, seen) for port in ports}


def _port(plan: dict[str, Any], seen: Seen, port: Port, domain: Mapping[Port, Any], answer: Answer) -> None:
    """What is wrong with one port by itself."""
    state, socket = seen.port(port), leg(plan, port)
    other = (port[0], "p1" if port[1] == "p0" else "p0")
    elsewhere = other not in domain and any(name in domain for name in seen.port(other).heard)
    elsewhere = elsewhere and not any(other in ports for ports in cables_past(domain, seen))
    if state.state == HEARD:
        answer.silent_rails(seen, port, sorted(state.heard))
    elif elsewhere:
        answer.steps.append(f"unplug the cable at {join(other)}, plug it into {join(port)}")
        answer.moves.append({"from": join(other), "to": join(port)})
        end = ".".join(other)
        fix = f"Move it: {answer.steps[-1]}. Or write {end} instead of {'.'.join(port)} in fabric_cables."
        answer.refuse("wrong", join(port), f"the cable from {socket} here", f"it in {join(other)}", fix)
    elif state.state in (MISSING, DOWN):
        unheard(answer, port, f"the cable from {socket} here", state.state)
    elif state.state != SILENT:
        fix = f"Plug the cable in at both ends, or look what the switch says about {socket}."
        answer.refuse("missing", join(port), f"a link to {socket}", "none", fix)
    elif others := [name for name in domain if name != port and not any(name in ports for ports in cables_past(domain, seen))]:
        whom = listed(map(join, others), last="or", most=3)
        fix = f"Look whether {socket} is in the bridge of the fabric, and follow the cable: it may lead to something else."
        answer.refuse("missing", join(port), f"to hear {whom} through {socket}", "a link and nobody who answers", fix)
    _names(plan, seen, port, answer)


def _names(plan: dict[str, Any], seen: Seen, port: Port, answer: Answer) -> None:
    """What LLDP says against the plan where no host table is known, and who else is there. Nothing of it keeps the fabric from working."""
    peer = plan["nodes"][port[0]]["ports"][port[1]]["peer"]
    for system, interface in [] if seen.port(port).leg else seen.port(port).switches:
        cage = _cages.parse_port(interface.rpartition("/")[2])
        other_switch = system in plan["switches"] and system != peer["switch"]
        other_leg = system == peer["switch"] and peer["leg"] and cage is not None and interface.rpartition("/")[2] != peer["leg"]
        if other_switch or other_leg:
            fix = "The fabric works all the same; correct fabric_cables, or move the cable, so that the plan names what is there."
            answer.warn(join(port), leg(plan, port), f"{system} {interface} by LLDP", fix)
            answer.kinds.add("other order")
    for machine in dict.fromkeys(seen.port(port).machines):
        fix = "Add it to the inventory, or keep it apart by a VLAN of its own."
        answer.warn(join(port), "nodes of the inventory alone in its network", machine, fix)


def _parts(plan: dict[str, Any], switches: list[str], domain: Mapping[Port, Any], seen: Seen, answer: Answer) -> None:
    """Ports that should hear each other and do not, although each hears somebody; cables past the switch."""
    segments = [ports for ports in seen.segments() if any(port in domain for port in ports)]
    direct = cables_past(domain, seen)
    for ports in direct:
        planned = [port for port in ports if port in domain]
        fix = f"Plug {listed(map(join, planned))} into the switch, or plan a fabric without one."
        if all(plan["nodes"][node]["ports"][port]["peer"]["leg"] for node, port in planned):
            steps = [f"unplug the cable at {join(port)} and plug in the end that comes from {leg(plan, port)}" for port in planned]
            fix = f"Do this in order: {'; '.join(steps)}. Or plan a fabric without a switch."
            answer.steps += steps
        between = list(dict.fromkeys(plan["nodes"][node]["ports"][port]["peer"]["switch"] for node, port in planned))
        between = between if len(between) == 1 and len(planned) == len(ports) else switches
        answer.refuse("direct", listed(map(join, ports)), f"{listed(between)} between them", "a direct cable", fix)
    rest = [[port for port in ports if port in domain] for ports in segments if ports not in direct]
    if len(rest) > 1:
        found = f"{len(rest)} that do not hear each other: {'; '.join(listed(map(join, part)) for part in rest)}"
        fix = "Look whether all legs are in one bridge and one VLAN, and whether the switches are joined."
        answer.refuse("wrong", listed(switches), "one network for all its nodes", found, fix)
    if len(domain) == 2 and seen.is_cable(list(domain)) and all(plan["switches"][name]["managed"] for name in switches):
        fix = "Look whether the cable goes past the switch; if not, this can be left alone."
        answer.warn(listed(map(join, domain)), f"{listed(switches)} between them", "frames that a switch keeps to itself", fix)


def _tables(plan: dict[str, Any], seen: Seen, answer: Answer) -> None:
    """What the host tables of switches say against the plan."""
    if not seen.tables:
        return
    legs = _legs.verdict(plan, seen.tables, seen.cards(without=past(plan, seen)))
    answer.refusals += legs["refusals"]
    answer.warnings += legs["warnings"]
    answer.kinds |= ({"wrong"} if legs["refusals"] else set()) | ({"other order"} if legs["warnings"] else set())
    answer.fabric_cables = "".join(f"{line}\n" for line in legs["fabric_cables"]) or None
    for name, ports in _unknown(plan, seen).items():
        fix = "These legs were not looked at. Run again in a moment: a port that has just come up forwards nothing in its first seconds."
        answer.warn(name, f"its host table to name {listed(map(join, ports), most=6)}", "that it does not", fix)


def _unknown(plan: dict[str, Any], seen: Seen) -> dict[str, list[Port]]:
    """The ports with a link to a switch that was asked and does not know them, by switch. A node that took no part is told of elsewhere."""
    found: dict[str, list[Port]] = {}
    for port in [port for _switches, ports in domains(plan) for port in ports if port not in past(plan, seen)]:
        peer, state = plan["nodes"][port[0]]["ports"][port[1]]["peer"], seen.port(port)
        if peer["leg"] and peer["switch"] in seen.tables and state.state in (HEARD, SILENT) and not state.legs(plan):
            found.setdefault(peer["switch"], []).append(port)
    return found


def _joined(plan: dict[str, Any], seen: Seen, answer: Answer) -> None:
    """Domains that should be apart and hear each other."""
    place = {port: listed(switches) for switches, ports in domains(plan) for port in ports}
    for ports in seen.segments():
        names = list(dict.fromkeys(place[port] for port in ports if port in place))
        if len(names) > 1:
            fix = "Plan the cable that joins them ({between: [...]}), or unplug it."
            answer.warn(" and ".join(names), "networks apart from each other", "one that joins them", fix)
