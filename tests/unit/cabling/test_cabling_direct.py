# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said about the cables of two nodes and of a ring of three.

``golden/answers.yml`` holds the answer to every wiring of their ports. Write it anew with
``REGENERATE=1 .venv/bin/pytest tests/unit/cabling``, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gb10.cluster.plugins.plugin_utils import _cabling, _wiring
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan

from ears import PAIR, PAIR_NODES, RING, RING_NODES, hear, plan, verdict
from test_wiring import ALL, follow

GOLDEN = Path(__file__).parent / "golden" / "answers.yml"
PLANS = {RING_NODES: RING, PAIR_NODES: PAIR}
AS_PLANNED = ("1.0=2.1", "2.0=3.1", "3.0=1.1")
TWO_CABLES = plan("two_node_direct", PAIR_NODES, [["spark-1.p0", "spark-2.p0"], ["spark-1.p1", "spark-2.p1"]])
ODD = plan("two_node_direct", ("1st", "lab.example.org"))

CABLES = "put the fabric_cables below into the inventory, or pass them with -e @FILE in this and every later run"
ERROR = "Rings cabled like this were seen to fail in NCCL with error 110: cable p0 of each node to p1 of the next."
REFUSED = "It works here, but NVIDIA's own tools refuse it."
BETWEEN = "expected a cable between them, found"
PLUG = "Plug a cable between them, or check the one that is there."
FOLLOW = "it leads to a machine that is not in the inventory, to a port that is down, or is broken."
POWER = "Power the machine off and on with the cable in"
ALL_NODES = "Run again for all nodes, to be told which cables to move."
DEAD = f"{POWER}; this part of the port seems dead."
MACHINE = "f" * 32


def text_of(cables: Any) -> list[str]:
    """Cables as :func:`ears.segment` reads them."""
    return [f"{one[0].removeprefix('spark-')}.{one[1][1]}={other[0].removeprefix('spark-')}.{other[1][1]}" for one, other in cables]


def answer(nodes: tuple[str, ...], cables: Any) -> dict[str, Any]:
    """The answer to a wiring."""
    return verdict(PLANS[nodes], *text_of(cables))


# --- every wiring


def test_every_wiring_has_its_answer() -> None:
    shown = {
        f"{len(nodes)} nodes: {', '.join(text_of(cables)) or 'no cable'}": {
            key: value for key, value in answer(nodes, cables).items() if value and key in ("verdict", "refusals", "warnings", "fabric_cables")
        }
        for nodes, cables in sorted(ALL, key=lambda item: (item[0], len(item[1]), item[1]))
    }
    if os.environ.get("REGENERATE"):
        GOLDEN.write_text(yaml.safe_dump(shown, sort_keys=False, width=1000), encoding="utf-8")
    assert shown == yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("nodes", "cables"), ALL)
def test_only_the_planned_cables_are_as_planned(nodes: Any, cables: Any) -> None:
    found = answer(nodes, cables)
    planned = set(_cables_of(PLANS[nodes])) <= set(cables)
    assert (found["verdict"] == "as planned") == planned == (found["refusals"] == [])


@pytest.mark.parametrize(("nodes", "cables"), ALL)
def test_who_does_what_is_printed_ends_with_what_is_planned(nodes: Any, cables: Any) -> None:
    rounds = 0
    while (found := answer(nodes, cables))["verdict"] != "as planned":
        rounds += 1
        assert rounds <= 2
        added = [_wiring.cable(*(tuple(port.rsplit(" ", 1)) for port in ends)) for ends in found["additions"]]
        cables = follow(cables, found["steps"]) + added


@pytest.mark.parametrize(("nodes", "cables"), ALL)
def test_who_writes_the_printed_cables_into_the_inventory_has_what_is_planned(nodes: Any, cables: Any) -> None:
    found = answer(nodes, cables)
    if found["fabric_cables"] is None:
        assert found["verdict"] != "other order"
        return
    printed = yaml.safe_load(found["fabric_cables"])
    if found["verdict"] != "other order":  # there, the steps are the other way out
        cables = follow(cables, found["steps"])
    cables = [*cables, *(_wiring.cable(*(tuple(port.rsplit(" ", 1)) for port in ends)) for ends in found["additions"])]
    request = {"topology": PLANS[nodes]["topology"], "nodes": [{"name": name} for name in nodes], "cables": printed["fabric_cables"]}
    made = make_plan(request)
    assert made["refusals"] == []
    assert verdict(made, *text_of(cables))["verdict"] == "as planned"
    moved = make_plan({**request, "previous": PLANS[nodes]})["refusals"]
    assert ("run once with -e fabric_renumber=true" in " ".join(found["refusals"])) is (moved != [])
    assert list(printed) == ["fabric_cables"]
    members = [subnet["members"] for subnet in made["subnets"]]
    assert members[: len(PLANS[nodes]["subnets"])] == [subnet["members"] for subnet in PLANS[nodes]["subnets"]]


def _cables_of(made: dict[str, Any]) -> list[_wiring.Cable]:
    return [
        _wiring.cable((name, port), (data["peer"]["node"], data["peer"]["port"]))
        for name, node in made["nodes"].items()
        for port, data in node["ports"].items()
    ]


# --- one message at a time: (plan, cables, state) -> verdict, refusals, warnings

SAID: dict[str, tuple[dict[str, Any], tuple[str, ...], dict[str, Any], str, list[str], list[str]]] = {
    "as planned": (RING, AS_PLANNED, {}, "as planned", [], []),
    "as planned, but no frame for the nearest bridge passes anywhere": (RING, AS_PLANNED, {"near": False}, "as planned", [], []),
    "as planned, and the name of a switch comes from a neighbour that runs LLDP": (
        PAIR, ("1.0=2.0",), {"lldp": {"1.0": [("SPARK-2.lan", "enp1s0f0np0", True)]}}, "as planned", [], [],
    ),
    "a missing cable": (RING, AS_PLANNED[:2], {}, "missing", [f"spark-1 p1 and spark-3 p0 - {BETWEEN} no link at either end. {PLUG}"], []),
    "a cable into nowhere": (
        RING, AS_PLANNED[:2], {"states": {"3.0": "link"}}, "missing",
        [f"spark-1 p1 and spark-3 p0 - {BETWEEN} no link at spark-1 p1 and a link without an answer at spark-3 p0. Follow the cable from "
         f"spark-3 p0: {FOLLOW}"],
        [],
    ),
    "a cable through which nothing passes": (
        PAIR, (), {"states": {"1.0": "link", "2.0": "link"}}, "missing",
        [f"spark-1 p0 and spark-2 p0 - {BETWEEN} a link without an answer at spark-1 p0 and a link without an answer at spark-2 p0. "
         f"Follow the cable from spark-1 p0 and spark-2 p0: {FOLLOW}"],
        [],
    ),
    "no cable, and ports that are down": (
        PAIR, (), {"states": {"1.1": "down", "2.1": "down"}}, "missing",
        [f"spark-1 p0 and spark-2 p0 - {BETWEEN} no link at either end. {PLUG} A cable in spark-1 p1 or spark-2 p1 is not seen, because the port "
         f"is down."],
        [],
    ),
    "a cable into a port that is down": (
        PAIR, (), {"states": {"1.1": "down", "2.0": "link"}}, "missing",
        [f"spark-1 p0 and spark-2 p0 - {BETWEEN} no link at spark-1 p0 and a link without an answer at spark-2 p0. "
         f"Follow the cable from spark-2 p0: {FOLLOW} A cable in spark-1 p1 is not seen, because the port is down."],
        [],
    ),
    "a planned second cable is missing": (TWO_CABLES, ("1.0=2.0",), {}, "missing", [f"spark-1 p1 and spark-2 p1 - {BETWEEN} no link at either "
                                                                                    f"end. {PLUG}"], []),
    "a planned port is down": (
        PAIR, (), {"states": {"2.0": "down"}}, "unheard",
        ["spark-2 p0 - expected spark-1 p0 at the other end, found that it is down. "
         "Set fabric_neighbors_bring_up: true to have it raised meanwhile, or set its interfaces up."],
        [],
    ),
    "a planned port is not there": (
        PAIR, (), {"states": {"2.0": "missing"}}, "unheard",
        [f"spark-2 p0 - expected spark-1 p0 at the other end, found no such port on the machine. {POWER}: hot-plug power saving takes an empty "
         f"port off the bus."],
        [],
    ),
    "the other port at both ends": (
        PAIR, ("1.1=2.1",), {}, "other order",
        [f"cabling - expected spark-1 p0 to spark-2 p0, found spark-1 p1 to spark-2 p1, which is a fabric too. Either keep the cables: {CABLES}. "
         "Or keep the plan: unplug the cable at spark-1 p1, plug it into spark-1 p0; unplug the cable at spark-2 p1, plug it into spark-2 p0."],
        [],
    ),
    "the other port, because something else is in the planned one": (
        PAIR, ("1.1=2.0",), {"states": {"1.0": "link"}}, "other order",
        [f"cabling - expected spark-1 p0 to spark-2 p0, found spark-1 p1 to spark-2 p0, which is a fabric too. Better keep the plan. "
         "Do this in order: unplug the cable at spark-1 p0, whose other end does not answer; unplug the cable at spark-1 p1, plug it into "
         f"spark-1 p0. Or keep the cables: {CABLES}. The plan warns of these cables: {REFUSED}"],
        [],
    ),
    "two ends swapped": (
        RING, ("2.0=2.1", "1.0=3.1", "3.0=1.1"), {}, "wrong",
        ["cabling - expected a cable between every two nodes, found spark-2 p0 and spark-2 p1 on one cable; 2 cables between spark-1 and spark-3; "
         "none between spark-1 and spark-2; none between spark-2 and spark-3. "
         "Do this in order: unplug the cable at spark-1 p0 and hold its end; unplug the cable at spark-2 p0, plug it into spark-1 p0; "
         "plug the end in your hand into spark-2 p0."],
        [],
    ),
    "a loop, and a cable too few": (
        PAIR, ("1.0=1.1",), {}, "wrong",
        ["cabling - expected a cable between every two nodes, found spark-1 p0 and spark-1 p1 on one cable; none between spark-1 and spark-2. "
         "Do this in order: unplug the cable at spark-1 p1, plug it into spark-2 p0."],
        [],
    ),
    "two cables between the same nodes of a ring, and an end in nowhere": (
        RING, ("1.0=2.1", "1.1=2.0"), {"states": {"3.0": "link"}}, "wrong",
        ["cabling - expected a cable between every two nodes, found 2 cables between spark-1 and spark-2; none between spark-1 and spark-3; none "
         "between spark-2 and spark-3. "
         "Do this in order: unplug the cable at spark-3 p0, whose other end does not answer; unplug the cable at spark-1 p1, plug it into "
         "spark-3 p1; "
         "plug a cable between spark-1 p1 and spark-3 p0."],
        [],
    ),
    "a loop, and the planned port is down": (
        PAIR, ("1.0=1.1",), {"states": {"2.0": "down"}}, "wrong",
        ["spark-2 p0 - expected spark-1 p0 at the other end, found that it is down. "
         "Set fabric_neighbors_bring_up: true to have it raised meanwhile, or set its interfaces up.",
         "cabling - expected a cable between every two nodes, found spark-1 p0 and spark-1 p1 on one cable; none between spark-1 and spark-2. "
         f"Do this in order: unplug the cable at spark-1 p0, plug it into spark-2 p1. Then it is a fabric, in another order than planned: {CABLES}."],
        [],
    ),
    "a cable that can only be the beginning of a ring that fails": (
        RING, ("1.0=2.0",), {}, "wrong",
        ["cabling - expected spark-1 p0 to spark-2 p1 and spark-2 p0 to spark-3 p1, found spark-1 p0 to spark-2 p0, which leads to a fabric that the "
         "plan warns of. Do this in order: unplug the cable at spark-1 p0, plug it into spark-3 p1; plug a cable between spark-1 p0 and spark-2 p1; "
         f"plug a cable between spark-1 p1 and spark-3 p0. {ERROR}"],
        [],
    ),
    "a ring that fails": (
        RING, ("1.0=2.0", "2.1=3.1", "3.0=1.1"), {}, "other order",
        ["cabling - expected spark-1 p0 to spark-2 p1 and spark-2 p0 to spark-3 p1, found spark-1 p0 to spark-2 p0 and spark-2 p1 to spark-3 p1, which "
         "is a fabric too. Better keep the plan. Do this in order: unplug the cable at spark-1 p0 and hold its end; unplug the cable at spark-3 p1, plug "
         f"it into spark-1 p0; plug the end in your hand into spark-3 p1. Or keep the cables: {CABLES}; run once with -e fabric_renumber=true, because "
         f"addresses move to other ports. The plan warns of these cables: {ERROR}"],
        [],
    ),
    "one of two planned cables, in another order": (
        TWO_CABLES, ("1.0=2.1",), {}, "other order",
        ["cabling - expected spark-1 p0 to spark-2 p0 and spark-1 p1 to spark-2 p1, found spark-1 p0 to spark-2 p1, which is a fabric too. Better keep "
         "the plan. Do this in order: plug in spark-1 p0 to spark-2 p0 and spark-1 p1 to spark-2 p1. Or keep the cables: "
         f"{CABLES}; run once with -e fabric_renumber=true, because addresses move to other ports. The plan warns of these cables: {REFUSED}"],
        [],
    ),
    "a second cable": (
        PAIR, ("1.0=2.0", "1.1=2.1"), {}, "as planned", [],
        ["spark-1 p1 and spark-2 p1 - expected no second cable between the same nodes, found one. "
         "It adds no speed: one cable fills both PCIe links of a node. Unplug it, or plan it as a spare."],
    ),
    "a dead rail": (
        RING, AS_PLANNED, {"dead": [("2.0", 1)]}, "as planned", [],
        [f"spark-2 p0 rail 1 (enP2p1s0f0np0) - expected to hear spark-3 p1 as the other rail does, found no link. {DEAD}"],
    ),
    "a stranger by its own frames": (
        RING, AS_PLANNED[:2], {"states": {"3.0": "link"}, "strangers": {"3.0": ("gx10-7", MACHINE)}}, "foreign",
        ["spark-3 p0 - expected spark-1 p1 at the other end, found gx10-7 p0. Plug the cable from spark-1 p1 in here, or add the machine to the "
         "inventory."],
        [],
    ),
    "a stranger by LLDP": (
        PAIR, (), {"states": {"1.0": "link"}, "lldp": {"1.0": [("nas", "eth0", False)]}}, "foreign",
        ["spark-1 p0 - expected spark-2 p0 at the other end, found nas eth0. Plug the cable from spark-2 p0 in here, or add the machine to the "
         "inventory."],
        [],
    ),
    "a machine of another cluster with the name of one of ours": (
        PAIR, (), {"states": {"1.0": "link"}, "strangers": {"1.0": ("spark-2", MACHINE)}}, "foreign",
        ["spark-1 p0 - expected spark-2 p0 at the other end, found spark-2 p0. Plug the cable from spark-2 p0 in here, or add the machine to the "
         "inventory."],
        [],
    ),
    "a stranger in a port that is not planned": (
        PAIR, ("1.0=2.0",), {"states": {"1.1": "link"}, "strangers": {"1.1": ("x", MACHINE)}}, "as planned", [], [],
    ),
    "a node of ours that still works for an earlier run": (
        PAIR, ("1.0=2.0",), {"strangers": {"1.0": ("spark-2", f"{'spark-2':0<32}")}}, "as planned", [], [],
    ),
    "a switch by LLDP, in a planned port": (
        PAIR, ("1.0=2.0",), {"lldp": {"1.0": [("crs812", "qsfp56-dd-1-1", True)], "2.0": [("crs812", "qsfp56-dd-1-5", True)]}}, "switch",
        ["spark-1 p0 and spark-2 p0 - expected cables without a switch, found the switch crs812 qsfp56-dd-1-1 and crs812 qsfp56-dd-1-5 between "
         "them. "
         "Join every two nodes by a cable of their own, or plan fabric_topology: switched_fabric."],
        [],
    ),
    "a switch by LLDP, and nobody else on it": (
        PAIR, (), {"states": {"1.0": "link"}, "lldp": {"1.0": [("crs812", "", True)]}}, "switch",
        ["spark-1 p0 - expected spark-2 p0 at the other end, found the switch crs812. "
         "Plug the cable from spark-2 p0 in here, or plan fabric_topology: switched_fabric."],
        [],
    ),
    "a switch by more than two ports that hear each other": (
        RING, ("1.0=2.1=3.0", "2.0=3.1"), {}, "switch",
        ["spark-1 p0, spark-2 p1 and spark-3 p0 - expected cables without a switch, found all of them joined by a switch. "
         "Join every two nodes by a cable of their own, or plan fabric_topology: switched_fabric."],
        [],
    ),
    "a switch in a port that is not planned": (
        PAIR, ("1.0=2.0",), {"states": {"1.1": "link"}, "lldp": {"1.1": [("lan", "1", True)]}}, "as planned", [], [],
    ),
    "a switch in one of three cables, perhaps": (
        RING, AS_PLANNED, {"near": AS_PLANNED[:2]}, "as planned", [],
        ["spark-1 p1 to spark-3 p0 - expected every frame to pass, as on the other cables, found frames missing that a switch keeps to itself. "
         "Look whether a switch is between them; if not, this can be left alone."],
    ),
    "a switch in ports that are not planned, and a missing cable": (
        PAIR, ("1.1=2.1",), {"lldp": {"1.1": [("lan", "1", True)]}}, "missing",
        [f"spark-1 p0 and spark-2 p0 - {BETWEEN} no link at either end. {PLUG}"], [],
    ),
    "a loop, and LLDP of a machine whose name is not known": (
        PAIR, ("1.0=1.1",), {"lldp": {"1.0": [("dgx", "p1", False)]}}, "wrong",
        ["cabling - expected a cable between every two nodes, found spark-1 p0 and spark-1 p1 on one cable; none between spark-1 and spark-2. "
         "Do this in order: unplug the cable at spark-1 p1, plug it into spark-2 p0."],
        [],
    ),
    "a loop, and no port to move it to": (
        PAIR, ("1.0=1.1",), {"states": {"2.0": "down", "2.1": "link"}, "strangers": {"2.1": ("x", MACHINE)}}, "wrong",
        ["spark-2 p0 - expected spark-1 p0 at the other end, found that it is down. "
         "Set fabric_neighbors_bring_up: true to have it raised meanwhile, or set its interfaces up.",
         "cabling - expected a cable between every two nodes, found spark-1 p0 and spark-1 p1 on one cable; none between spark-1 and spark-2. "
         "Put right what is said above, then run again to be told which cables to move."],
        [],
    ),
    "a node of ours that answers an earlier run only": (
        PAIR, (), {"states": {"1.0": "link"}, "strangers": {"1.0": ("spark-2", f"{'spark-2':0<32}")}}, "missing",
        [f"spark-1 p0 and spark-2 p0 - {BETWEEN} a link without an answer at spark-1 p0 and no link at spark-2 p0. "
         f"Follow the cable from spark-1 p0: {FOLLOW}"],
        [],
    ),
    "somebody in the run who is not in the plan": (
        PAIR, ("1.0=9.0",), {}, "foreign",
        ["spark-1 p0 - expected spark-2 p0 at the other end, found spark-9 p0. "
         "Plug the cable from spark-2 p0 in here, or add the machine to the inventory."],
        [],
    ),
    "a node is no part of the run and works for an earlier one, and a port is down": (
        RING, AS_PLANNED[:1],
        {"nodes": ("spark-1", "spark-2"), "states": {"1.1": "down", "2.0": "link"}, "strangers": {"2.0": ("spark-3", MACHINE)}}, "unheard",
        ["spark-1 p1 - expected spark-3 p0 at the other end, found that it is down. "
         "Set fabric_neighbors_bring_up: true to have it raised meanwhile, or set its interfaces up."],
        ["spark-2 p0 - expected spark-3 p1 at the other end, found that spark-3 is no part of this run. Run again for all nodes to have it checked."],
    ),
    "a switch and swapped cables at once": (
        PAIR, ("1.0=1.1",), {"lldp": {"2.0": [("lan", "7", True)]}, "states": {"2.0": "link"}}, "wrong",
        ["spark-2 p0 - expected spark-1 p0 at the other end, found the switch lan 7. Plug the cable from spark-1 p0 in here, or plan "
         "fabric_topology: switched_fabric.",
         "cabling - expected a cable between every two nodes, found spark-1 p0 and spark-1 p1 on one cable; none between spark-1 and spark-2. "
         f"Do this in order: unplug the cable at spark-1 p0, plug it into spark-2 p1. Then it is a fabric, in another order than planned: "
         f"{CABLES}."],
        [],
    ),
    "a node is no part of the run": (
        RING, AS_PLANNED[:1], {"nodes": ("spark-1", "spark-2")}, "as planned", [],
        [f"{port} at the other end, found that spark-3 is no part of this run. Run again for all nodes to have it checked."
         for port in ("spark-1 p1 - expected spark-3 p0", "spark-2 p0 - expected spark-3 p1")],
    ),
    "a node is no part of the run, and another cable is wrong": (
        RING, ("1.0=2.0",), {"nodes": ("spark-1", "spark-2")}, "wrong",
        [f"spark-1 p0 - expected spark-2 p1 at the other end, found spark-2 p0. {ALL_NODES}",
         f"spark-2 p0 - expected spark-3 p1 at the other end, found spark-1 p0. {ALL_NODES}"],
        ["spark-1 p1 - expected spark-3 p0 at the other end, found that spark-3 is no part of this run. Run again for all nodes to have it "
         "checked."],
    ),
    "a node is no part of the run, and another cable is missing": (
        RING, (), {"nodes": ("spark-1", "spark-2")}, "missing",
        [f"spark-1 p0 and spark-2 p1 - {BETWEEN} no link at either end. {PLUG}"],
        [f"{port} at the other end, found that spark-3 is no part of this run. Run again for all nodes to have it checked."
         for port in ("spark-1 p1 - expected spark-3 p0", "spark-2 p0 - expected spark-3 p1")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("made", "cables", "state", "kind", "refusals", "warnings"), SAID.values(), ids=SAID)
def test_every_finding_has_its_words(made: Any, cables: Any, state: Any, kind: str, refusals: list[str], warnings: list[str]) -> None:
    found = verdict(made, *cables, **state)
    assert (found["verdict"], found["refusals"], found["warnings"]) == (kind, refusals, warnings)


def test_a_rail_that_is_down_or_silent_is_told_so() -> None:
    results = hear(PAIR_NODES, "1.0=2.0")
    ports = [results[node]["neighbors"][0] for node in PAIR_NODES]
    ports[0]["rails"][1]["up"] = False
    for port in ports:
        port["heard"][0]["rails"] = [0]
    assert _cabling.verdict(PAIR, results)["warnings"] == [
        "spark-1 p0 rail 1 (enP2p1s0f0np0) - expected to hear spark-2 p0 as the other rail does, found that it is down. "
        "Set it up: ip link set dev enP2p1s0f0np0 up.",
        f"spark-2 p0 rail 1 (enP2p1s0f0np0) - expected to hear spark-1 p0 as the other rail does, found silence. {DEAD}",
    ]


def test_a_port_that_is_heard_and_hears_nobody_is_told() -> None:
    results = hear(PAIR_NODES, "1.0=2.0")
    results["spark-2"]["neighbors"][0]["heard"] = []
    found = _cabling.verdict(PAIR, results)
    assert found["verdict"] == "as planned"
    assert found["warnings"] == [
        f"spark-2 p0 rail {rail} ({name}) - expected to hear spark-1 p0, found silence. {DEAD}"
        for rail, name in enumerate(("enp1s0f0np0", "enP2p1s0f0np0"))
    ]


def test_the_printed_cables_begin_with_the_node_that_begins_in_the_plan() -> None:
    found = verdict(plan("two_node_direct", ("spark-2", "spark-1")), "1.1=2.1")
    assert found["fabric_cables"] == "fabric_cables:\n  - [spark-2.p1, spark-1.p1]\n"


def test_names_that_yaml_would_misread_are_quoted() -> None:
    results = hear(("1st", "lab.example.org"))
    for node, other in (("1st", "lab.example.org"), ("lab.example.org", "1st")):
        results[node]["neighbors"][1]["heard"] = [{"node": other, "port": "p1", "rails": [0, 1], "near": True}]
    assert _cabling.verdict(ODD, results)["fabric_cables"] == 'fabric_cables:\n  - ["1st.p1", lab.example.org.p1]\n'
