# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On which leg a node is, and what is said when it is another one than planned."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.gb10.cluster.plugins.filter.fabric_legs import fabric_legs
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan

CRS812 = [{"name": "crs812", "model": "CRS812"}]
PAIRS: list[Any] = [
    {"switch": "crs812", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-1.p0", "spark-2.p0"]},
    {"switch": "crs812", "cage": "qsfp56-dd-2", "breakout": "2x200G", "to": ["spark-3.p0", None]},
]
MIXED: list[Any] = [PAIRS[0], {"switch": "crs812", "cage": "qsfp56-dd-2", "breakout": "4x100G", "media": "optical", "to": ["spark-3.p0"]}]
BOTH = [{"name": "west", "model": "CRS812"}, {"name": "east", "model": "CRS812"}]
JOINED: list[Any] = [
    {"switch": "west", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-1.p0", "spark-2.p0"]},
    {"switch": "east", "cage": "qsfp56-1", "to": ["spark-3.p0"]},
    {"between": ["west.qsfp56-dd-2", "east.qsfp56-dd-2"], "mode": "1x400G"},
]
APART: list[Any] = [JOINED[0], {**JOINED[0], "switch": "east", "to": ["spark-1.p1", "spark-2.p1"]}]
NODES = ("spark-1", "spark-2", "spark-3")


def request(cables: list[Any], switches: list[Any]) -> dict[str, Any]:
    names = [name for name in NODES if name in str(cables)]
    return {"topology": "switched_fabric", "nodes": [{"name": name} for name in names], "switches": switches, "cables": cables}


def mac(node: str, rail: int, port: str = "p0") -> str:
    return f"4C:BB:47:0{port[1]}:0{node[-1]}:0{rail}"


def card(node: str) -> dict[str, Any]:
    """What a node tells of its card."""
    return {"connectx": {"ports": {port: {"rails": [{"rail": rail, "mac": mac(node, rail, port)} for rail in (0, 1)]} for port in ("p0", "p1")}}}


def switch(seen: dict[str, str], bridges: dict[str, str] | None = None) -> dict[str, Any]:
    """What a switch tells: node, or node and port, -> leg on which both rails of it were seen; ``bridges`` of legs that are not in the usual one."""
    hosts = {mac(*end).lower(): {"port": leg, "bridge": "bridge", "vlan": 1} for node, leg in seen.items() for rail in (0, 1)
             for end in [(node.split()[0], rail, *node.split()[1:])]}
    lanes = [f"qsfp56-dd-{cage}-{lane}" for cage in (1, 2) for lane in range(1, 9)] + ["qsfp56-1-1", "qsfp56-2-1"]
    return {"mikrotik": {"hosts": hosts, "ports": {lane: {"bridge": (bridges or {}).get(lane, "bridge")} for lane in lanes}}}


def judge(cables: list[Any], switches: list[Any], seen: dict[str, Any], nodes: tuple[str, ...] = NODES) -> dict[str, Any]:
    plan = make_plan(request(cables, switches))
    assert plan["refusals"] == []
    return fabric_legs(seen, plan, {node: card(node) for node in nodes})


WEST = {"spark-1": "qsfp56-dd-1-1", "spark-2": "qsfp56-dd-1-5"}
EAST = {"spark-1 p1": "qsfp56-dd-1-1", "spark-2 p1": "qsfp56-dd-1-5"}
NEAR, AFAR = dict.fromkeys(WEST, "ether1"), dict.fromkeys(EAST, "ether1")
"""What a switch floods over the management network, the other one learns at its own port there."""

AS_PLANNED = {"refusals": [], "warnings": [], "fabric_cables": [], "unseen": [], "unread": []}
SAME = "The fabric works all the same; correct fabric_cables as shown, so that the plan names what is there."

RIGHT: dict[str, tuple[Any, ...]] = {
    "every node on its leg": (PAIRS, CRS812, {"crs812": switch({"spark-1": "qsfp56-dd-1-1", "spark-2": "qsfp56-dd-1-5", "spark-3": "qsfp56-dd-2-1"})}),
    "a node that a joined switch hears from afar": (
        JOINED, BOTH,
        {"west": switch({"spark-1": "qsfp56-dd-1-1", "spark-2": "qsfp56-dd-1-5", "spark-3": "qsfp56-dd-2-1"}),
         "east": switch({"spark-1": "qsfp56-dd-2-1", "spark-2": "qsfp56-dd-2-1", "spark-3": "qsfp56-1-1"})},
    ),
    "nodes that a switch which is not joined hears over the management network": (
        APART, BOTH, {"west": switch(WEST | AFAR), "east": switch(EAST | NEAR)}),
    "a switch that was not read": (PAIRS, CRS812, {"crs812": {}}),
    "no switch at all": (PAIRS, CRS812, {}),
}  # fmt: skip


@pytest.mark.parametrize(("cables", "switches", "seen"), RIGHT.values(), ids=RIGHT)
def test_nothing_is_said_of(cables: Any, switches: Any, seen: Any) -> None:
    assert judge(cables, switches, seen) == AS_PLANNED


def test_a_leg_that_can_not_be_looked_at_is_neither_right_nor_wrong_and_it_is_said_why() -> None:
    seen = {"crs812": switch({"spark-1": "qsfp56-dd-1-1"})}
    assert judge(PAIRS, CRS812, seen, nodes=("spark-1", "spark-3")) == {
        **AS_PLANNED,
        "unseen": ["The leg of spark-3 p0 was not looked at, because no switch has heard that port."],
        "unread": ["The legs of spark-2 were not looked at, because its card was not read in this run. "
                   "Run without --limit and --tags to have them looked at."]}


SWAPPED: dict[str, tuple[list[Any], list[Any], dict[str, Any], list[str], list[str]]] = {
    "two ends of a cage": (
        PAIRS, CRS812, {"crs812": switch({"spark-1": "qsfp56-dd-1-5", "spark-2": "qsfp56-dd-1-1", "spark-3": "qsfp56-dd-2-1"})},
        [f"spark-1 p0 - expected crs812 qsfp56-dd-1-1, found crs812 qsfp56-dd-1-5. {SAME}",
         f"spark-2 p0 - expected crs812 qsfp56-dd-1-5, found crs812 qsfp56-dd-1-1. {SAME}"],
        ["- {switch: crs812, cage: qsfp56-dd-1, breakout: 2x200G, to: [spark-2.p0, spark-1.p0]}"],
    ),
    "an end and an empty leg": (
        PAIRS, CRS812, {"crs812": switch({"spark-1": "qsfp56-dd-1-1", "spark-2": "qsfp56-dd-1-5", "spark-3": "qsfp56-dd-2-5"})},
        [f"spark-3 p0 - expected crs812 qsfp56-dd-2-1, found crs812 qsfp56-dd-2-5. {SAME}"],
        ["- {switch: crs812, cage: qsfp56-dd-2, breakout: 2x200G, to: [null, spark-3.p0]}"],
    ),
    "the ends of two cages": (
        PAIRS, CRS812, {"crs812": switch({"spark-1": "qsfp56-dd-2-1", "spark-2": "qsfp56-dd-1-5", "spark-3": "qsfp56-dd-1-1"})},
        [f"spark-1 p0 - expected crs812 qsfp56-dd-1-1, found crs812 qsfp56-dd-2-1. {SAME}",
         f"spark-3 p0 - expected crs812 qsfp56-dd-2-1, found crs812 qsfp56-dd-1-1. {SAME}"],
        ["- {switch: crs812, cage: qsfp56-dd-1, breakout: 2x200G, to: [spark-3.p0, spark-2.p0]}",
         "- {switch: crs812, cage: qsfp56-dd-2, breakout: 2x200G, to: [spark-1.p0, null]}"],
    ),
    "ends of a cage, which another switch hears over the management network": (
        APART, BOTH, {"west": switch(WEST | AFAR), "east": switch({"spark-1 p1": "qsfp56-dd-1-5", "spark-2 p1": "qsfp56-dd-1-1"} | NEAR)},
        [f"spark-1 p1 - expected east qsfp56-dd-1-1, found east qsfp56-dd-1-5. {SAME}",
         f"spark-2 p1 - expected east qsfp56-dd-1-5, found east qsfp56-dd-1-1. {SAME}"],
        ["- {switch: east, cage: qsfp56-dd-1, breakout: 2x200G, to: [spark-2.p1, spark-1.p1]}"],
    ),
    "an end of an optical cage": (
        MIXED, CRS812, {"crs812": switch({"spark-3": "qsfp56-dd-2-7"})},
        [f"spark-3 p0 - expected crs812 qsfp56-dd-2-1, found crs812 qsfp56-dd-2-7. {SAME}"],
        ["- {switch: crs812, cage: qsfp56-dd-2, breakout: 4x100G, to: [null, null, null, spark-3.p0], media: optical}"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("cables", "switches", "seen", "warnings", "lines"), SWAPPED.values(), ids=SWAPPED)
def test_ends_of_equal_speed_that_changed_places_are_a_warning_with_the_cables_that_are_there(
    cables: Any, switches: Any, seen: Any, warnings: list[str], lines: list[str]
) -> None:
    found = judge(cables, switches, seen)
    assert (found["refusals"], found["warnings"], found["fabric_cables"]) == ([], warnings, lines)
    corrected = yaml.safe_load("\n".join(lines))
    rest = [cable for cable in cables if (cable.get("switch"), cable.get("cage")) not in [(line["switch"], line["cage"]) for line in corrected]]
    assert {**judge(rest + corrected, switches, seen), "unseen": []} == AS_PLANNED


def test_without_the_other_node_nobody_knows_what_to_write() -> None:
    found = judge(PAIRS, CRS812, {"crs812": switch({"spark-1": "qsfp56-dd-1-5"})}, nodes=("spark-1",))
    assert found["fabric_cables"] == [] and found["refusals"] == []
    assert found["warnings"] == [
        "spark-1 p0 - expected crs812 qsfp56-dd-1-1, found crs812 qsfp56-dd-1-5. The fabric works all the same; run again for all nodes to be "
        "shown how to correct fabric_cables, so that the plan names what is there."]


MISPLACED: dict[str, tuple[list[Any], list[Any], dict[str, Any], list[str]]] = {
    "a leg of another speed": (
        MIXED, CRS812, {"crs812": switch({"spark-1": "qsfp56-dd-2-3", "spark-2": "qsfp56-dd-1-5"})},
        ["spark-1 p0 - expected crs812 qsfp56-dd-1-1 at 200G, found crs812 qsfp56-dd-2-3 at 100G. "
         "Unplug the cable at spark-1 p0 and plug in the end that comes from crs812 qsfp56-dd-1-1."],
    ),
    "each other's legs, which are not of the same speed": (
        MIXED, CRS812, {"crs812": switch({"spark-1": "qsfp56-dd-2-1", "spark-3": "qsfp56-dd-1-1"})},
        ["spark-1 p0 - expected crs812 qsfp56-dd-1-1 at 200G, found crs812 qsfp56-dd-2-1 at 100G. "
         "Unplug the cable at spark-1 p0 and plug in the end that comes from crs812 qsfp56-dd-1-1, which is in spark-3 p0 now.",
         "spark-3 p0 - expected crs812 qsfp56-dd-2-1 at 100G, found crs812 qsfp56-dd-1-1 at 200G. "
         "Unplug the cable at spark-3 p0 and plug in the end that comes from crs812 qsfp56-dd-2-1, which is in spark-1 p0 now."],
    ),
    "a port that is no leg": (
        PAIRS, CRS812, {"crs812": switch({"spark-1": "qsfp56-2-1"})},
        ["spark-1 p0 - expected crs812 qsfp56-dd-1-1 at 200G, found crs812 qsfp56-2-1, which is no leg of the plan. "
         "Unplug the cable at spark-1 p0 and plug in the end that comes from crs812 qsfp56-dd-1-1."],
    ),
    "a port of a cage, which another switch hears over the management network": (
        APART, BOTH, {"west": switch(WEST | AFAR), "east": switch(NEAR | EAST | {"spark-1 p1": "qsfp56-2-1"})},
        ["spark-1 p1 - expected east qsfp56-dd-1-1 at 200G, found east qsfp56-2-1, which is no leg of the plan. "
         "Unplug the cable at spark-1 p1 and plug in the end that comes from east qsfp56-dd-1-1."],
    ),
    "a port that nobody saw better": (
        APART, BOTH, {"west": switch(WEST | AFAR), "east": switch({})},
        [f"spark-{node} p1 - expected east qsfp56-dd-1-{leg} at 200G, found west ether1. "
         f"Unplug the cable at spark-{node} p1 and plug in the end that comes from east qsfp56-dd-1-{leg}." for node, leg in ((1, 1), (2, 5))],
    ),
    "another bridge": (
        PAIRS, CRS812, {"crs812": switch({"spark-3": "qsfp56-dd-2-5"}, {"qsfp56-dd-2-5": "lan"})},
        ["spark-3 p0 - expected crs812 qsfp56-dd-2-1 at 200G, found crs812 qsfp56-dd-2-5 in bridge lan instead of bridge. "
         "Unplug the cable at spark-3 p0 and plug in the end that comes from crs812 qsfp56-dd-2-1."],
    ),
    "another switch": (
        JOINED, BOTH, {"west": switch({"spark-1": "qsfp56-dd-2-1"}), "east": switch({"spark-1": "qsfp56-2-1"})},
        ["spark-1 p0 - expected west qsfp56-dd-1-1 at 200G, found east qsfp56-2-1. "
         "Unplug the cable at spark-1 p0 and plug in the end that comes from west qsfp56-dd-1-1."],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("cables", "switches", "seen", "refusals"), MISPLACED.values(), ids=MISPLACED)
def test_a_cable_that_must_move_is_named_with_where_to(cables: Any, switches: Any, seen: Any, refusals: list[str]) -> None:
    found = judge(cables, switches, seen)
    assert (found["refusals"], found["warnings"], found["fabric_cables"]) == (refusals, [], [])
