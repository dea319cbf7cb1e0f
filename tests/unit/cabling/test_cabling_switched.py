# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said about nodes behind switches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ears import PAIR_NODES, plan, table, verdict

NODES = ("spark-1", "spark-2", "spark-3", "spark-4")
CRS812 = [{"name": "crs812", "model": "CRS812"}]
FOUR = plan(
    "switched_fabric",
    NODES,
    [
        {"switch": "crs812", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-1.p0", "spark-2.p0"]},
        {"switch": "crs812", "cage": "qsfp56-dd-2", "breakout": "2x200G", "to": ["spark-3.p0", "spark-4.p0"]},
    ],
    CRS812,
)
CAGE = {"switch": "crs812", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-1.p0", "spark-2.p0"]}
TWO = plan("switched_fabric", PAIR_NODES, [CAGE], CRS812)
UNMANAGED = plan("switched_fabric", PAIR_NODES, [{"switch": "tor", "to": ["spark-1.p0", "spark-2.p0"]}], [{"name": "tor", "managed": False}])
TOR = plan("switched_fabric", NODES, [{"switch": "tor", "to": [f"{name}.p0" for name in NODES]}], [{"name": "tor", "managed": False}])
APART = plan(
    "switched_fabric",
    PAIR_NODES,
    [
        {"switch": name, "cage": f"qsfp28-{number}", "to": [f"spark-{number}.{port}"]}
        for name, port in (("west", "p0"), ("east", "p1"))
        for number in (1, 2)
    ],
    [{"name": "west", "model": "CRS504"}, {"name": "east", "model": "CRS504"}],
)
JOINED = plan(
    "switched_fabric",
    PAIR_NODES,
    [
        {"switch": "west", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-1.p0", None]},
        {"switch": "east", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-2.p0", None]},
        {"between": ["west.qsfp56-dd-2", "east.qsfp56-dd-2"], "mode": "1x400G"},
    ],
    [{"name": name, "model": "CRS812"} for name in ("west", "east")],
)
THREE_JOINED = plan(
    "switched_fabric",
    NODES[:3],
    [
        CAGE,
        {"switch": "east", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-3.p0", None]},
        {"between": ["crs812.qsfp56-dd-2", "east.qsfp56-dd-2"], "mode": "1x400G"},
    ],
    [*CRS812, {"name": "east", "model": "CRS812"}],
)
TWICE = plan(
    "switched_fabric",
    PAIR_NODES,
    [
        {"switch": "west", "cage": f"qsfp28-{number}", "to": [end]}
        for number, end in enumerate(("spark-1.p0", "spark-2.p0", "spark-1.p1", "spark-2.p1"), 1)
    ],
    [{"name": "west", "model": "CRS504"}],
)
HOSTS = {"qsfp56_dd_1_1": "1.0", "qsfp56_dd_1_5": "2.0", "qsfp56_dd_2_1": "3.0", "qsfp56_dd_2_5": "4.0"}
CROSSED = table(**HOSTS | {"qsfp56_dd_1_1": "2.0", "qsfp56_dd_1_5": "1.0"})
ASTRAY = table(**HOSTS | {"qsfp56_dd_2_5": "1.1", "qsfp56_1_1": "4.0"})
ALL = "1.0=2.0=3.0=4.0"
BEHIND: dict[str, Any] = {"near": False}

SAID: dict[str, tuple[dict[str, Any], tuple[str, ...], dict[str, Any], str, list[str], list[str]]] = {
    "all hear each other": (FOUR, (ALL,), BEHIND, "as planned", [], []),
    "two hear each other": (TWO, ("1.0=2.0",), BEHIND, "as planned", [], []),
    "both uplinks of each node into one switch": (TWICE, ("1.0=2.0=1.1=2.1",), BEHIND, "as planned", [], []),
    "two switches apart": (APART, ("1.0=2.0", "1.1=2.1"), BEHIND, "as planned", [], []),
    "a switch that tells its name and leg": (
        FOUR, (ALL,), {**BEHIND, "lldp": {"1.0": [("crs812", "bridge/qsfp56-dd-1-1", True)]}}, "as planned", [], [],
    ),
    "a switch with names of its own": (FOUR, (ALL,), {**BEHIND, "lldp": {"1.0": [("MikroTik", "ether1", True)]}}, "as planned", [], []),
    "no link": (
        FOUR, ("1.0=2.0=3.0",), BEHIND, "missing",
        ["spark-4 p0 - expected a link to crs812 qsfp56-dd-2-5, found none. Plug the cable in at both ends, or look what the switch says about "
         "crs812 qsfp56-dd-2-5."], [],
    ),
    "a link, and nobody who answers": (
        FOUR, ("1.0=2.0=3.0",), {**BEHIND, "states": {"4.0": "link"}}, "missing",
        ["spark-4 p0 - expected to hear spark-1 p0, spark-2 p0 or spark-3 p0 through crs812 qsfp56-dd-2-5, found a link and nobody who answers. "
         "Look whether crs812 qsfp56-dd-2-5 is in the bridge of the fabric, and follow the cable: it may lead to something else."], [],
    ),
    "a port that is down": (
        FOUR, ("1.0=2.0=3.0",), {**BEHIND, "states": {"4.0": "down"}}, "unheard",
        ["spark-4 p0 - expected the cable from crs812 qsfp56-dd-2-5 here, found that it is down. "
         "Set fabric_neighbors_bring_up: true to have it raised meanwhile, or set its interfaces up."], [],
    ),
    "the other port of a node": (
        FOUR, ("1.0=2.0=3.0=4.1",), BEHIND, "wrong",
        ["spark-4 p0 - expected the cable from crs812 qsfp56-dd-2-5 here, found it in spark-4 p1. "
         "Move it: unplug the cable at spark-4 p1, plug it into spark-4 p0. Or write spark-4.p1 instead of spark-4.p0 in fabric_cables."], [],
    ),
    "one of two uplinks without link": (
        TWICE, ("2.0=1.1=2.1",), BEHIND, "missing",
        ["spark-1 p0 - expected a link to west qsfp28-1-1, found none. "
         "Plug the cable in at both ends, or look what the switch says about west qsfp28-1-1."], [],
    ),
    "two networks of two, and the switch says that it is there": (
        FOUR, ("1.0=2.0", "3.0=4.0"),
        {"near": True, "lldp": {"1.0": [("crs812", "bridge", True)], "3.0": [("crs812", "bridge", True)]}}, "wrong",
        ["crs812 - expected one network for all its nodes, found 2 that do not hear each other: spark-1 p0 and spark-2 p0; spark-3 p0 and spark-4 p0. "
         "Look whether all legs are in one bridge and one VLAN, and whether the switches are joined."], [],
    ),
    "two networks instead of one": (
        FOUR, ("1.0=2.0", "3.0=4.0"), BEHIND, "wrong",
        ["crs812 - expected one network for all its nodes, found 2 that do not hear each other: spark-1 p0 and spark-2 p0; spark-3 p0 and "
         "spark-4 p0. "
         "Look whether all legs are in one bridge and one VLAN, and whether the switches are joined."], [],
    ),
    "a cable past the switch": (
        FOUR, ("1.0=2.0", "3.0=4.0"), {"near": ["1.0=2.0"]}, "direct",
        ["spark-1 p0 and spark-2 p0 - expected crs812 between them, found a direct cable. "
         "Do this in order: unplug the cable at spark-1 p0 and plug in the end that comes from crs812 qsfp56-dd-1-1; "
         "unplug the cable at spark-2 p0 and plug in the end that comes from crs812 qsfp56-dd-1-5. Or plan a fabric without a switch."], [],
    ),
    "a cable past the first of two switches, so that the node on the other one has nobody to hear": (
        THREE_JOINED, ("1.0=2.0", "3.0"), {"near": ["1.0=2.0"]}, "direct",
        ["spark-1 p0 and spark-2 p0 - expected crs812 between them, found a direct cable. "
         "Do this in order: unplug the cable at spark-1 p0 and plug in the end that comes from crs812 qsfp56-dd-1-1; "
         "unplug the cable at spark-2 p0 and plug in the end that comes from crs812 qsfp56-dd-1-5. Or plan a fabric without a switch."], [],
    ),
    "a cable past both of two switches": (
        THREE_JOINED, ("1.0=3.0", "2.0"), {"near": ["1.0=3.0"]}, "direct",
        ["spark-1 p0 and spark-3 p0 - expected crs812 and east between them, found a direct cable. "
         "Do this in order: unplug the cable at spark-1 p0 and plug in the end that comes from crs812 qsfp56-dd-1-1; "
         "unplug the cable at spark-3 p0 and plug in the end that comes from east qsfp56-dd-1-1. Or plan a fabric without a switch."], [],
    ),
    "a cable past the switch into a port without a plan": (
        FOUR, ("1.0=2.1", "2.0=3.0=4.0"), {"near": ["1.0=2.1"]}, "direct",
        ["spark-1 p0 and spark-2 p1 - expected crs812 between them, found a direct cable. Do this in order: unplug the cable at spark-1 p0 and "
         "plug in the end that comes from crs812 qsfp56-dd-1-1. Or plan a fabric without a switch."], [],
    ),
    "a cable past a switch whose sockets nobody knows": (
        TOR, ("1.0=2.0", "3.0=4.0"), {"near": ["1.0=2.0"]}, "direct",
        ["spark-1 p0 and spark-2 p0 - expected tor between them, found a direct cable. Plug spark-1 p0 and spark-2 p0 into the switch, or plan a "
         "fabric without one."], [],
    ),
    "a cable past the switch, in a port whose tail is out": (
        FOUR, ("1.0=4.1", "2.0=3.0"), {"near": ["1.0=4.1"]}, "direct",
        ["spark-4 p0 - expected a link to crs812 qsfp56-dd-2-5, found none. Plug the cable in at both ends, or look what the switch says about "
         "crs812 qsfp56-dd-2-5.",
         "spark-1 p0 and spark-4 p1 - expected crs812 between them, found a direct cable. Do this in order: unplug the cable at spark-1 p0 and "
         "plug in the end that comes from crs812 qsfp56-dd-1-1. Or plan a fabric without a switch."], [],
    ),
    "two nodes, and a cable past the switch, perhaps": (
        TWO, ("1.0=2.0",), {"near": True}, "as planned", [],
        ["spark-1 p0 and spark-2 p0 - expected crs812 between them, found frames that a switch keeps to itself. "
         "Look whether the cable goes past the switch; if not, this can be left alone."],
    ),
    "two nodes on a switch of another brand that passes every frame": (UNMANAGED, ("1.0=2.0",), {"near": True}, "as planned", [], []),
    "two switches that should be apart": (
        APART, ("1.0=2.0=1.1=2.1",), BEHIND, "as planned", [],
        ["west and east - expected networks apart from each other, found one that joins them. Plan the cable that joins them ({between: [...]}), "
         "or unplug it."],
    ),
    "another leg than planned": (
        FOUR, (ALL,), {**BEHIND, "lldp": {"1.0": [("crs812", "qsfp56-dd-1-5", True)]}}, "other order", [],
        ["spark-1 p0 - expected crs812 qsfp56-dd-1-1, found crs812 qsfp56-dd-1-5 by LLDP. "
         "The fabric works all the same; correct fabric_cables, or move the cable, so that the plan names what is there."],
    ),
    "another switch than planned": (
        APART, ("1.0=2.0", "1.1=2.1"), {**BEHIND, "lldp": {"1.0": [("east", "ether1", True)]}}, "other order", [],
        ["spark-1 p0 - expected west qsfp28-1-1, found east ether1 by LLDP. "
         "The fabric works all the same; correct fabric_cables, or move the cable, so that the plan names what is there."],
    ),
    "a switch that has every node on its leg, and LLDP of before": (
        FOUR, (ALL,), {**BEHIND, "tables": {"crs812": table(**HOSTS)}, "lldp": {"1.0": [("crs812", "qsfp56-dd-1-5", True)]}}, "as planned", [], [],
    ),
    "a switch that has not learned yet where two nodes are": (
        FOUR, (ALL,), {**BEHIND, "tables": {"crs812": table(qsfp56_dd_1_1="1.0", qsfp56_dd_2_5="4.0")}}, "as planned", [],
        ["crs812 - expected its host table to name spark-2 p0 and spark-3 p0, found that it does not. "
         "These legs were not looked at. Run again in a moment: a port that has just come up forwards nothing in its first seconds."],
    ),
    "a switch that has not learned where a node is, and says so by LLDP": (
        FOUR, (ALL,),
        {**BEHIND, "tables": {"crs812": table(**{leg: end for leg, end in HOSTS.items() if end != "1.0"})},
         "lldp": {"1.0": [("crs812", "qsfp56-dd-1-1", True)]}}, "as planned", [], [],
    ),
    "no link, so that no switch can have heard it": (
        FOUR, ("1.0=2.0=3.0",), {**BEHIND, "tables": {"crs812": table(**{leg: end for leg, end in HOSTS.items() if end != "4.0"})}}, "missing",
        ["spark-4 p0 - expected a link to crs812 qsfp56-dd-2-5, found none. Plug the cable in at both ends, or look what the switch says about "
         "crs812 qsfp56-dd-2-5."], [],
    ),
    "two ends of a cage in the place of each other": (
        FOUR, (ALL,), {**BEHIND, "tables": {"crs812": CROSSED}}, "other order", [],
        [f"{one} - expected {leg}, found {other}. The fabric works all the same; correct fabric_cables as shown, so that the plan names what is there."
         for one, leg, other in (("spark-1 p0", "crs812 qsfp56-dd-1-1", "crs812 qsfp56-dd-1-5"),
                                 ("spark-2 p0", "crs812 qsfp56-dd-1-5", "crs812 qsfp56-dd-1-1"))],
    ),
    "a node on a leg of no plan": (
        FOUR, ("1.0=2.0=3.0",), {**BEHIND, "states": {"4.0": "link"}, "tables": {"crs812": ASTRAY}}, "wrong",
        ["spark-4 p0 - expected to hear spark-1 p0, spark-2 p0 or spark-3 p0 through crs812 qsfp56-dd-2-5, found a link and nobody who answers. "
         "Look whether crs812 qsfp56-dd-2-5 is in the bridge of the fabric, and follow the cable: it may lead to something else.",
         "spark-4 p0 - expected crs812 qsfp56-dd-2-5 at 200G, found crs812 qsfp56-1-1, which is no leg of the plan. "
         "Unplug the cable at spark-4 p0 and plug in the end that comes from crs812 qsfp56-dd-2-5, which is in spark-1 p1 now."], [],
    ),
    "a cable past a switch that remembers another time": (
        FOUR, ("1.0=2.0", "3.0=4.0"), {"near": ["1.0=2.0"], "tables": {"crs812": CROSSED}}, "direct",
        ["spark-1 p0 and spark-2 p0 - expected crs812 between them, found a direct cable. "
         "Do this in order: unplug the cable at spark-1 p0 and plug in the end that comes from crs812 qsfp56-dd-1-1; "
         "unplug the cable at spark-2 p0 and plug in the end that comes from crs812 qsfp56-dd-1-5. Or plan a fabric without a switch."], [],
    ),
    "a cable past a switch that LLDP remembers, and that sees other nodes alone": (
        FOUR, ("1.0=2.0", "3.0=4.0"),
        {"near": ["1.0=2.0"], "lldp": {"1.0": [("crs812", "qsfp56-dd-1-1", True)]}, "tables": {"crs812": table(qsfp56_dd_2_1="3.0", qsfp56_dd_2_5="4.0")}},
        "direct",
        ["spark-1 p0 and spark-2 p0 - expected crs812 between them, found a direct cable. "
         "Do this in order: unplug the cable at spark-1 p0 and plug in the end that comes from crs812 qsfp56-dd-1-1; "
         "unplug the cable at spark-2 p0 and plug in the end that comes from crs812 qsfp56-dd-1-5. Or plan a fabric without a switch."], [],
    ),
    "a machine of another cluster on the switch": (
        FOUR, (ALL,), {**BEHIND, "strangers": {"1.0": ("gx10-7", "f" * 32)}}, "as planned", [],
        ["spark-1 p0 - expected nodes of the inventory alone in its network, found gx10-7 p0. Add it to the inventory, or keep it apart by a "
         "VLAN of its own."],
    ),
    "a dead rail": (
        FOUR, (ALL,), {**BEHIND, "dead": [("1.0", 1)]}, "as planned", [],
        ["spark-1 p0 rail 1 (enP2p1s0f0np0) - expected to hear spark-2 p0, spark-3 p0 and spark-4 p0 as the other rail does, found no link. "
         "Power the machine off and on with the cable in; this part of the port seems dead."],
    ),
    "a node is no part of the run": (
        FOUR, ("1.0=2.0=3.0",), {**BEHIND, "nodes": NODES[:3]}, "as planned", [],
        ["spark-4 - expected a part of this run, found none. Run again for all nodes to have its cables checked."],
    ),
    "the only node of the run": (
        TWO, (), {**BEHIND, "nodes": NODES[:1], "states": {"1.0": "link"}}, "as planned", [],
        ["spark-2 - expected a part of this run, found none. Run again for all nodes to have its cables checked."],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("made", "cables", "state", "kind", "refusals", "warnings"), SAID.values(), ids=SAID)
def test_every_finding_has_its_words(made: Any, cables: Any, state: Any, kind: str, refusals: list[str], warnings: list[str]) -> None:
    found = verdict(made, *cables, **state)
    assert (found["verdict"], found["refusals"], found["warnings"]) == (kind, refusals, warnings)


def test_the_move_to_the_planned_port_is_data_too() -> None:
    found = verdict(FOUR, "1.0=2.0=3.0=4.1", near=False)
    assert found["moves"] == [{"from": "spark-4 p1", "to": "spark-4 p0"}]
    assert found["steps"] == ["unplug the cable at spark-4 p1, plug it into spark-4 p0"]


def test_the_lines_of_a_cage_that_is_wired_in_another_order_are_shown() -> None:
    assert verdict(FOUR, ALL, near=False, tables={"crs812": CROSSED})["fabric_cables"] == (
        "- {switch: crs812, cage: qsfp56-dd-1, breakout: 2x200G, to: [spark-2.p0, spark-1.p0]}\n"
    )


def test_twice_the_nodes_are_four_times_the_pairs_and_no_more_work_than_that(calls: Callable[[Callable[[], Any]], int]) -> None:
    def work(nodes: int) -> int:
        names = [f"spark-{number}" for number in range(1, nodes + 1)]
        made = plan("switched_fabric", names, [{"switch": "tor", "to": [f"{name}.p0" for name in names]}], [{"name": "tor", "managed": False}])
        wired = "=".join(f"{number}.0" for number in range(1, nodes + 1))
        assert verdict(made, wired, near=False)["verdict"] == "as planned"
        return calls(lambda: verdict(made, wired, near=False))

    assert 1 < work(80) / work(40) < 4.4
