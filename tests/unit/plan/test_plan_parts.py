# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a plan that the golden files show only one side of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.filter.fabric_plan import fabric_plan
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._cabling import cabling
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._difference import differences
from plan_requests import direct, hosts, ring, star, switched, two_switches

TWO_CABLES = [["spark-1.p0", "spark-2.p0"], ["spark-1.p1", "spark-2.p1"]]


def nccl(request: dict[str, Any]) -> list[Any]:
    """The NCCL settings of the first node, which all nodes share."""
    nodes = make_plan(request)["nodes"]
    assert len({tuple(node["nccl"].items()) for node in nodes.values()}) == 1
    return list(next(iter(nodes.values()))["nccl"].values())


@pytest.mark.parametrize(
    ("title", "request_", "expected"),
    [
        ("two nodes, one cable", direct(), ["2.28.9", 1, None, None, "none", None]),
        ("two nodes, two cables", direct(cables=TWO_CABLES), ["2.30.7", 1, None, 0, "none", None]),
        ("ring", ring(), ["2.30.7", 1, None, 0, "none", None]),
        ("three behind a switch", switched(3), ["2.28.9", 1, None, None, "none", None]),
        ("four behind a switch", switched(4), ["2.30.4", 1, None, None, "none", None]),
        (
            "one of two with two cables",
            switched(cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0"), star("qsfp56-dd-2", "spark-1.p1")]),
            ["2.30.7", 1, None, 0, "none", None],
        ),
        ("another prefix", direct(rail_prefix=28), ["2.28.9", 1, 28, None, "none", None]),
        ("ECN", switched(roce="ecn"), ["2.28.9", 1, None, None, "none", 106]),
        ("lossless", switched(roce="lossless"), ["2.28.9", 1, None, None, "none", 106]),
    ],
)
def test_nccl_settings_follow_from_the_cabling(title: str, request_: dict[str, Any], expected: list[Any]) -> None:
    assert nccl(request_) == expected, title


@pytest.mark.parametrize(
    ("mtu", "vlan", "expected"), [(1500, None, 9216), (9000, None, 9216), (9216, None, 9216), (9216, 5, 9220), (9500, None, 9500), (9570, None, 9570)]
)
def test_a_switch_forwards_the_mtu_and_its_tag(mtu: int, vlan: int | None, expected: int) -> None:
    plan = make_plan(switched(mtu=mtu, switches=[{"name": "sw", "model": "CRS804", "vlan": vlan}]))
    assert plan["switches"]["sw"]["l2mtu"] == expected


def test_unlike_cages_meet_where_they_speak_the_same() -> None:
    request = two_switches(switches=[{"name": "a", "model": "CRS804"}, {"name": "b", "model": "CRS812"}])
    request["cables"] = [*request["cables"], {"between": ["a.qsfp56-dd-4", "b.qsfp56-1"]}]
    switches = make_plan(request)["switches"]
    assert switches["a"]["cages"]["qsfp56-dd-4"]["mode"] == "2x200G"
    assert switches["b"]["cages"]["qsfp56-1"]["mode"] == "1x200G"
    assert switches["a"]["legs"]["qsfp56-dd-4-1"] == {"switch": "b", "leg": "qsfp56-1-1", "speed": "200G", "bond": None}


def test_every_pair_of_nodes_may_meet_on_another_switch() -> None:
    request = {
        "topology": "switched_fabric",
        "nodes": hosts(3),
        "switches": [{"name": name, "managed": False} for name in "abc"],
        "cables": [
            {"switch": "a", "to": ["spark-1.p0", "spark-2.p0"], "speed": "100G"},
            {"switch": "b", "to": ["spark-2.p1", "spark-3.p0"], "speed": "100G"},
            {"switch": "c", "to": ["spark-3.p1", "spark-1.p1"], "speed": "100G"},
        ],
    }
    plan = make_plan(request)
    assert plan["refusals"] == []
    assert [list(subnet["members"]) for subnet in plan["subnets"][::2]] == [["spark-1", "spark-2"], ["spark-2", "spark-3"], ["spark-3", "spark-1"]]


@pytest.mark.parametrize(
    "previous",
    [
        {},
        {"nodes": None},
        {"nodes": {"spark-1": None}},
        {"nodes": {"spark-1": {"ports": []}}},
        {"nodes": {"spark-1": {"ports": {"p0": {"rails": [3, {"rail": []}]}}}}},
    ],
)
def test_what_is_no_plan_protects_nothing(previous: dict[str, Any]) -> None:
    assert make_plan(direct(previous=previous))["refusals"] == []


def test_a_port_that_was_not_cabled_before_may_get_any_address() -> None:
    moved = direct(cables=[["spark-1.p1", "spark-2.p1"]], previous=make_plan(direct()))
    assert make_plan(moved)["refusals"] == []


@pytest.mark.parametrize(
    ("title", "before", "after", "kind", "found"),
    [
        ("nothing", direct(), direct(), "", None),
        (
            "a node more", switched(2), switched(3),
            "additions", "nodes added: spark-3; switches changed: sw; subnets changed; paths changed",
        ),
        (
            "a node more, for which NCCL has to be newer", switched(3), switched(4),
            "additions", "nodes added: spark-4; nodes changed: spark-1, spark-2 and spark-3; switches changed: sw; subnets changed; paths changed",
        ),
        (
            "a cable more", direct(), direct(cables=TWO_CABLES),
            "additions", "nodes changed: spark-1 and spark-2; subnets changed; paths changed; marks changed",
        ),
        (
            "a node less", switched(3), switched(2),
            "changes", "nodes removed: spark-3; switches changed: sw; subnets changed; paths changed",
        ),
        (
            "a node more, and another MTU", switched(2), switched(3, mtu=1500),
            "changes", "nodes added: spark-3; nodes changed: spark-1 and spark-2; switches changed: sw; subnets changed; paths changed; marks changed",
        ),
        (
            "other cables", direct(cables=[["spark-1.p0", "spark-2.p1"]]), direct(),
            "cables", "nodes changed: spark-1 and spark-2; paths changed",
        ),
        (
            "other cables of a switch", switched(2), switched(2, cables=[star("qsfp56-dd-1", "spark-2.p0", "spark-1.p0")]),
            "cables", "nodes changed: spark-1 and spark-2; switches changed: sw",
        ),
        (
            "another topology", ring(), direct(),
            "changes", "nodes removed: spark-3; nodes changed: spark-1 and spark-2; topology changed; subnets changed; paths changed; marks changed",
        ),
    ],
)  # fmt: skip
def test_a_difference_is_told_in_one_sentence(title: str, before: dict[str, Any], after: dict[str, Any], kind: str, found: str | None) -> None:
    fixes = {
        "additions": "It only grew, and no address moves: the new one is stored, or with fabric_plan_strict left to gb10.cluster.plan.",
        "changes": "Run gb10.cluster.plan, with the same -e as here, to review and store the new one.",
        "cables": "fabric_cables differ from those of the stored plan: use the same ones, in the inventory or with -e @FILE. "
        "Or, if they are right now, run gb10.cluster.plan, with the same -e as here, to review and store the new one.",
    }
    key = "additions" if kind == "additions" else "changes"
    texts = {key: [f"stored plan - expected the plan of this inventory, found {found}. {fixes[kind]}"]} if found else {}
    told = differences(make_plan(after), make_plan(before))
    assert told == {"additions": [], "changes": [], "moves": told["moves"], **texts}
    assert differences(make_plan(after), json.dumps(make_plan(before))) == told


def test_marks_alone_are_no_growth() -> None:
    stored = {**make_plan(direct()), "marks": {}}
    told = differences(make_plan(direct()), stored)
    assert (len(told["additions"]), len(told["changes"])) == (0, 1)


@pytest.mark.parametrize("stored", ["", "{", "[]", "null", None, [], {}])
def test_what_is_no_plan_differs_in_nothing(stored: Any) -> None:
    assert differences(make_plan(direct()), stored) == {"additions": [], "changes": [], "moves": []}


NONE_MOVES = (
    "fabric_renumber - expected the addresses of the stored plan, found none that moves. "
    "Take it out: all it does is to switch off the protection of the addresses."
)
ONCE = "It is for one run: give it with -e. In the inventory it switches off the protection of all addresses."


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (direct(), direct(), NONE_MOVES),
        (direct(), direct(mtu=1500), NONE_MOVES),
        (switched(2), switched(3), NONE_MOVES),
        (
            direct(), direct(supernet="10.78.0.0/16"),
            "fabric_renumber - expected the addresses of the stored plan, found spark-1 p0 rail 0 from 10.77.0.1/24 to 10.78.0.1/24, "
            "spark-1 p0 rail 1 from 10.77.1.1/24 to 10.78.1.1/24, spark-2 p0 rail 0 from 10.77.0.2/24 to 10.78.0.2/24 and "
            f"spark-2 p0 rail 1 from 10.77.1.2/24 to 10.78.1.2/24. {ONCE}",
        ),
    ],
)  # fmt: skip
def test_who_lets_addresses_move_is_told_which_do(before: dict[str, Any], after: dict[str, Any], text: str) -> None:
    assert differences(make_plan(after), make_plan(before))["moves"] == [text]


def test_odd_names_do_not_break_the_page() -> None:
    names = ['a "b" <c>', "d|e_f*", "ü.`x`[y]"]
    page = cabling(make_plan({"topology": "three_node_ring", "nodes": [{"name": name} for name in names]}))
    picture, tables = page.split("## Plug this into that")
    assert [line for line in picture.splitlines() if line.startswith("  n") and "---" not in line] == [
        '  n0["a #34;b#34; #60;c#62;"]',
        '  n1["d|e_f*"]',
        '  n2["ü.#96;x#96;[y]"]',
    ]
    rows = [line for line in tables.splitlines() if line.startswith("| 1 ")]
    assert rows == ['| 1 | a "b" &#60;c&#62; **p0** | d&#124;e&#95;f&#42; **p1** | 200G QSFP | 10.77.0.0/24, 10.77.1.0/24 |']
    assert {line.count("|") for line in tables.splitlines() if line.startswith("|")} == {6}


@pytest.mark.parametrize("split", [1, 2, 3, 4, 5])
def test_a_trunk_need_carry_no_more_than_its_smaller_side_sends(split: int) -> None:
    sides = [("a", range(1, split + 1)), ("b", range(split + 1, 7))]
    request = two_switches(
        nodes=hosts(6),
        cables=[
            {"switch": name, "cage": f"qsfp56-dd-{1 + place // 2}", "to": [f"spark-{number}.p0" for number in list(numbers)[place : place + 2]]}
            for name, numbers in sides
            for place in range(0, len(numbers), 2)
        ],
    )
    request["cables"].append({"between": ["a.qsfp56-dd-4", "b.qsfp56-dd-4"]})
    assert [text.split(", found ")[1].split(".")[0] for text in make_plan(request)["warnings"]] == {
        1: [],
        2: [],
        3: ["400G, oversubscribed 1"],
        4: [],
        5: [],
    }[split]


def test_switches_may_have_dots_in_their_names() -> None:
    names = {"a": "west.lab.example.org", "b": "east.lab.example.org"}
    request = two_switches(switches=[{"name": name, "model": "CRS804"} for name in names.values()])
    request["cables"] = [{**cable, "switch": names[cable["switch"]]} for cable in request["cables"]]
    request["cables"].append({"between": [f"{names['a']}.qsfp56-dd-4", f"{names['b']}.qsfp56-dd-3"]})
    switches = make_plan(request)["switches"]
    assert switches[names["a"]]["legs"]["qsfp56-dd-4-1"]["switch"] == names["b"]
    assert switches[names["b"]]["legs"]["qsfp56-dd-3-1"]["leg"] == "qsfp56-dd-4-1"


@pytest.mark.parametrize("number", [True, False, 1.5, "1.0", "١", "-1", "0", "", [1]])
def test_what_is_no_whole_number_is_no_id(number: Any) -> None:
    plan = make_plan(direct(nodes=[{"name": "spark-1", "id": number}, {"name": "spark-2", "id": 2}]))
    assert [text.split(", found ")[0] for text in plan["refusals"]] == ["spark-1: fabric_node_id - expected a whole number from 1 to 16777214"]


@pytest.mark.parametrize("kind", ["a loop", "a key that is no text"])
def test_what_json_can_not_say_is_refused(kind: str) -> None:
    loop: dict[str, Any] = {}
    loop["nodes"] = [loop]
    plan = fabric_plan(loop if kind == "a loop" else {("a", "b"): 1})
    assert plan["refusals"] == ["request - expected a mapping, found what JSON can not say. Pass what gb10.cluster.fabric_request returns."]
