# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rack made real: carriers, what the card's memory says, and what the kernels tell of it.

The rack is the planned one and every fault of the rack after it, in order. So a fault is mended by leaving it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import card, network, rack
from .inventory import Cluster, Node
from .rack import CHANGES, Cable, Options, Rack
from .shell import LabError, ip, run
from .state import Lab

HOTPLUG = "cx7-pcie-hotplug MTKP0001:00"
#: Frames for the nearest bridge pass a cable, since it is none; a switch keeps them.
CABLE_FORWARDS, SWITCH_FORWARDS = "0xfff8", "0x0"


@dataclass(frozen=True)
class Leg:
    """What the far end of a fabric device is to be: in which segment, with carrier or not, and what the carrier comes from."""

    segment: str | None
    up: bool
    link: tuple[object, ...] = ()


def segment(cluster: Cluster, cable: Cable) -> str:
    """The bridge of a cable: named after its first port, so that it stays the same while the other end moves."""
    first = next(end for end in cable.ends if end is not None and not rack.FOREIGN.fullmatch(end))
    return f"c-{network.port_name(cluster, first)}"


def legs(cluster: Cluster, held: Rack) -> dict[str, Leg]:
    """Every leg of the rack, by its name in ``fab``."""
    found = {leg: Leg(None, False) for port in held.ports for leg in network.legs(cluster, port)}
    for cable in held.cables:
        lit = held.lit(cable)
        for end in lit:
            link = (cable.serial, cable.speed, *(other for other in cable.ends if other != end and len(cable.ends) == 2))
            for rail, leg in enumerate(network.legs(cluster, end)):
                found[leg] = Leg(None if (end, rail) in held.dead else segment(cluster, cable), True, link)
    return found


def commands(before: dict[str, Leg], after: dict[str, Leg]) -> list[str]:
    """The commands of ``ip`` that lead from one state to the other: a link that is not the same any more goes down first."""
    unknown = Leg(None, False)
    lost = [name for name, leg in after.items() if (before.get(name, unknown).up, before.get(name, unknown).link) != (leg.up, leg.link) or not leg.up]
    raised = [(name, f"master {leg.segment}" if leg.segment else "nomaster") for name, leg in after.items() if leg.up]
    return [f"link set {name} nomaster down" for name in lost] + [f"link set {name} {where} up" for name, where in raised]


def current(lab: Lab, without: dict[str, Any] | None = None) -> Rack:
    """The rack with every fault in the lab's state, but for the one with this memory."""
    held = rack.planned(lab.up)
    for row in lab.faults:
        if row["memory"] is not without and row["name"] in CHANGES and "options" in row["memory"]:
            held = CHANGES[row["name"]](held, row["node"], row["memory"]["options"])
    return held


def connect(lab: Lab, before: Rack | None, after: Rack) -> None:
    """Give every leg its segment and its carrier."""
    wanted = legs(lab.up, after)
    switches = {segment(lab.up, cable): len(cable.ends) > 2 for cable in after.cables if after.lit(cable)}
    network.segments(lab, {name: SWITCH_FORWARDS if switch else CABLE_FORWARDS for name, switch in switches.items()})
    ip(lab.namespace("fab"), *commands(legs(lab.up, before) if before else {}, wanted))


def settle(lab: Lab, before: Rack, after: Rack, tell: Callable[[Lab, Rack, Rack], None]) -> None:
    """Lead from one rack to the other: the memory of the modules, the carriers, then the kernels' words."""
    for node in lab.up.nodes:
        card.write_description(lab.node_folder(node) / "hw", after.modules(node.name), card.functions(node))
    connect(lab, before, after)
    tell(lab, before, after)


def say(lab: Lab, node: str, *words: str) -> None:
    """Start a node's kernel journal over (``boot``) or add lines (``say``, seconds, texts)."""
    run(*lab.inside(lab.up.node(node)), "python3", "/lab/share/kernel.py", *words)


def _news(lab: Lab, before: Rack, after: Rack) -> dict[str, list[str]]:
    """What every kernel that runs all the time says, by node: of modules in its ports, and of links on devices that are up."""
    old_legs, new_legs = legs(lab.up, before), legs(lab.up, after)
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
