# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rack made real: carriers, what the card's memory says, and what the kernels tell of it.

The rack is the planned one and every fault of the rack after it, in order. So a fault is mended by leaving it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import card, network, rack, switches
from .inventory import Cluster, Node
from .outlets import Outlet, unmanaged
from .rack import CHANGES, Cable, Options, Rack
from .shell import LabError, ip, run
from .state import Lab

HOTPLUG = "cx7-pcie-hotplug MTKP0001:00"
#: Frames for the nearest bridge pass a cable, since it is none; a switch keeps them.
CABLE_FORWARDS, SWITCH_FORWARDS = "0xfff8", "0x0"


@dataclass(frozen=True)
class Leg:
    """What the far end of a fabric device is to be: in which segment, with carrier or not, what the carrier comes from, the largest frame (bytes)."""

    segment: str | None
    up: bool
    link: tuple[object, ...] = ()
    mtu: int = network.MAX_MTU


def segment(cluster: Cluster, cable: Cable) -> str:
    """The bridge of a cable: named after its first port, so that it stays the same while the other end moves."""
    first = next(end for end in cable.ends if end is not None and not rack.FOREIGN.fullmatch(end))
    return f"c-{network.port_name(cluster, first)}"


def legs(cluster: Cluster, held: Rack, outlets: Mapping[str, Outlet]) -> dict[str, Leg]:
    """Every leg of the rack, by its name in ``fab``. ``outlets``: what the switches give; a leg behind one that is not among them is dark."""
    found = {leg: Leg(None, False) for port in held.ports for leg in network.legs(cluster, port)}
    switched = {switch.name for switch in cluster.switches}
    for cable in held.cables:
        lit = held.lit(cable)
        for end in (each for each in lit if rack.machine(each) not in switched):
            others = tuple(other for other in cable.ends if other is not None and other != end and len(cable.ends) == 2)
            outlet = None
            if others and rack.machine(others[0]) in switched:
                outlet = outlets.get(others[0], Outlet(False, None, network.MAX_MTU, 0))
            for rail, leg in enumerate(network.legs(cluster, end)):
                if outlet is None:
                    found[leg] = Leg(segment(cluster, cable), True, (cable.serial, cable.speed, *others))
                elif outlet.up:
                    speed = min(cable.speed, outlet.speed)
                    found[leg] = Leg(outlet.segment, True, (cable.serial, speed, *others), min(outlet.mtu, network.MAX_MTU))
                if (end, rail) in held.dead:
                    found[leg] = replace(found[leg], segment=None)
    return found


def masks(cluster: Cluster, held: Rack, wanted: Mapping[str, Leg]) -> dict[str, str]:
    """The segments that there have to be, and which reserved addresses each forwards: a switch keeps what a cable passes."""
    shared = {segment(cluster, cable) for cable in held.cables if len(cable.ends) > 2}
    names = {leg.segment for leg in wanted.values() if leg.segment}
    return {name: CABLE_FORWARDS if name.startswith("c-") and name not in shared else SWITCH_FORWARDS for name in names}


def commands(before: dict[str, Leg], after: dict[str, Leg]) -> list[str]:
    """The commands of ``ip`` that lead from one state to the other: a link that is not the same any more goes down first."""
    unknown = Leg(None, False)
    lost = [name for name, leg in after.items() if (before.get(name, unknown).up, before.get(name, unknown).link) != (leg.up, leg.link) or not leg.up]
    sizes = [f"link set {name} mtu {leg.mtu}" for name, leg in after.items() if before.get(name, unknown).mtu != leg.mtu]
    raised = [(name, f"master {leg.segment}" if leg.segment else "nomaster") for name, leg in after.items() if leg.up]
    return [f"link set {name} nomaster down" for name in lost] + sizes + [f"link set {name} {where} up" for name, where in raised]


def current(lab: Lab, without: dict[str, Any] | None = None) -> Rack:
    """The rack with every fault in the lab's state, but for the one with this memory."""
    held = rack.planned(lab.up)
    for row in lab.faults:
        if row["memory"] is not without and row["name"] in CHANGES and "options" in row["memory"]:
            held = CHANGES[row["name"]](held, row["node"], row["memory"]["options"])
    return held


def apply(lab: Lab, before: dict[str, Leg], wanted: dict[str, Leg], held: Rack) -> None:
    """Give every leg its segment and its carrier."""
    network.segments(lab, masks(lab.up, held, wanted))
    ip(lab.namespace("fab"), *commands(before, wanted))


def connect(lab: Lab, before: Rack | None, after: Rack) -> None:
    """Make the rack real; what hangs on simulated switches is theirs to decide."""
    if lab.up.managed:
        switches.ask(lab, {"do": "rack", "rack": after.to_json()})
        return
    old = legs(lab.up, before, unmanaged(lab.up, before)) if before else {}
    apply(lab, old, legs(lab.up, after, unmanaged(lab.up, after)), after)


def describe(held: Rack, node: Node, outlets: Mapping[str, Outlet]) -> dict[str, dict[str, Any]]:
    """What is plugged into a node's ports, at the speed that the switch behind it gives."""
    modules: dict[str, dict[str, Any]] = dict(held.modules(node.name))
    for cable in held.cables:
        for which, end in enumerate(cable.ends):
            outlet = outlets.get(str(cable.ends[1 - which])) if len(cable.ends) == 2 else None
            if end is not None and outlet is not None and outlet.up and rack.machine(end) == node.name:
                port = end.rpartition(".")[2]
                modules[port] = {**modules[port], "speed": min(cable.speed, outlet.speed)}
    return modules


def settle(lab: Lab, before: Rack, after: Rack, tell: Callable[[Lab, Rack, Rack], None]) -> None:
    """Lead from one rack to the other: the memory of the modules, the carriers, then the kernels' words."""
    for node in () if lab.up.managed else lab.up.nodes:
        card.write_description(lab.node_folder(node) / "hw", describe(after, node, unmanaged(lab.up, after)), card.functions(node))
    connect(lab, before, after)
    tell(lab, before, after)


def say(lab: Lab, node: str, *words: str) -> None:
    """Start a node's kernel journal over (``boot``) or add lines (``say``, seconds, texts)."""
    run(*lab.inside(lab.up.node(node)), "python3", "/lab/share/kernel.py", *words)


def _news(lab: Lab, before: Rack, after: Rack) -> dict[str, list[str]]:
    """What every kernel that runs all the time says, by node: of modules in its ports, and of links on devices that are up."""
    old_legs, new_legs = legs(lab.up, before, unmanaged(lab.up, before)), legs(lab.up, after, unmanaged(lab.up, after))
    news: dict[str, list[str]] = {}
    for node in lab.up.nodes:
        if node.name in before.off | after.off:
            continue
        old, new = before.modules(node.name), after.modules(node.name)
        awake = [name for name, row in network.live(lab, node).items() if "UP" in row["flags"]]
        lines = news.setdefault(node.name, [])
        for function in card.functions(node):
            pulled, plugged = (modules.get(function.port, {}).get("serial") for modules in (old, new))
            if pulled != plugged:
                words = [f"{HOTPLUG}: Cable {word}" for word, serial in (("removal", pulled), ("plugin", plugged)) if serial and not function.rail]
                event = f"mlx5_core {function.bdf}: Port module event: module {function.port[1:]}, Cable"
                lines += words + [f"{event} {word}" for word, serial in (("unplugged", pulled), ("plugged", plugged)) if serial]
            leg = network.leg(node.number, function)
            if function.interface in awake and old_legs[leg] != new_legs[leg]:
                words = [word for word, side in (("down", old_legs[leg]), ("up", new_legs[leg])) if side.up]
                lines += [f"mlx5_core {function.bdf} {function.interface}: Link {word}" for word in words]
    return {name: lines for name, lines in news.items() if lines}


def tell(lab: Lab, before: Rack, after: Rack) -> None:
    """Let the kernels tell what came and went."""
    for name, lines in _news(lab, before, after).items():
        say(lab, name, "say", "now", *lines)


def forget(lab: Lab, before: Rack, after: Rack) -> None:
    """Let the kernels' journals begin anew, as if nothing had been touched."""
    for name in _news(lab, before, after):
        say(lab, name, "boot")


def put(lab: Lab, name: str, node: Node, options: Options) -> dict[str, Any]:
    """Carry out a fault of the rack."""
    before = current(lab)
    settle(lab, before, CHANGES[name](before, node.name, options), tell)
    return {"options": dict(options)}


def mend(lab: Lab, _node: Node, memory: dict[str, Any]) -> None:
    """Undo one. ``LabError`` when a later one builds on it."""
    before = current(lab)
    try:
        after = current(lab, without=memory)
    except LabError as error:
        raise LabError(f"fault - expected that no later one builds on it, found: {error} Clear the later one first.") from error
    settle(lab, before, after, forget)
