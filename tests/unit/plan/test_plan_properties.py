# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every inventory, tried on made-up ones (the same in every run)."""

from __future__ import annotations

import copy
import ipaddress
import itertools
import json
import sys
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from plan_cases import GRAMMAR
from plan_requests import direct, hosts, ring, switched

Request = dict[str, Any]
PORTS = ("p0", "p1")

same_every_time = settings(
    derandomize=True, deadline=None, max_examples=40, database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@st.composite
def switched_requests(draw: st.DrawFn) -> Request:
    """Up to nine nodes on up to three switches, joined in a chain or not, with one or two cables each, in any order."""
    count, names = draw(st.integers(2, 9)), ["a", "b", "c"][: draw(st.integers(1, 3))]
    chained = draw(st.booleans())
    cables: list[Any] = [{"between": [one, other]} for one, other in itertools.pairwise(names)] if chained else []
    for number in range(1, count + 1):
        ports = draw(st.permutations(PORTS))
        first = draw(st.sampled_from(names)) if chained else names[0]
        cables.append({"switch": first, "to": [f"spark-{number}.{ports[0]}"], "speed": draw(st.sampled_from(["100G", "200G"]))})
        if draw(st.booleans()):
            cables.append({"switch": draw(st.sampled_from(names)), "to": [f"spark-{number}.{ports[1]}"]})
    ids = draw(st.permutations(range(1, 255)))[:count] if draw(st.booleans()) else [None] * count
    nodes = [{**host, "id": number} for host, number in zip(hosts(count), ids, strict=True)]
    switches = [{"name": name, "managed": False} for name in names]
    return {"topology": "switched_fabric", "nodes": nodes, "switches": switches, "cables": draw(st.permutations(cables))}


@st.composite
def direct_requests(draw: st.DrawFn) -> Request:
    """Two nodes on one or two cables, any port to any port."""
    ends = zip(draw(st.permutations(PORTS)), draw(st.permutations(PORTS)), strict=True)
    return direct(cables=[[f"spark-1.{a}", f"spark-2.{b}"] for a, b in ends][: draw(st.integers(1, 2))])


@st.composite
def ring_requests(draw: st.DrawFn) -> Request:
    """Three nodes in a ring, any port to any port, cables in any order."""
    ports = {number: draw(st.permutations(PORTS)) for number in (1, 2, 3)}
    pairs = [[f"spark-{one}.{ports[one][0]}", f"spark-{other}.{ports[other][1]}"] for one, other in ((1, 2), (2, 3), (3, 1))]
    return ring(cables=draw(st.permutations(pairs)))


requests = st.one_of(switched_requests(), direct_requests(), ring_requests())


def planned(request: Request) -> dict[str, Any]:
    """A plan without refusals."""
    plan = make_plan(request)
    assert plan["refusals"] == []
    return plan


def addresses(plan: dict[str, Any]) -> dict[tuple[str, str, int], str]:
    """Node, port, rail -> address."""
    return {
        (name, port, rail["rail"]): rail["address"]
        for name, node in plan["nodes"].items()
        for port, data in node["ports"].items()
        for rail in data["rails"]
    }


def kept(before: dict[tuple[str, str, int], str], after: dict[tuple[str, str, int], str]) -> bool:
    """Whether whoever is in both has the same address in both."""
    return all(after[key] == address for key, address in before.items() if key in after)


@same_every_time
@given(requests)
def test_no_address_is_given_twice_and_all_lie_in_their_subnet(request: Request) -> None:
    plan = planned(request)
    given_out = addresses(plan)
    assert len(set(given_out.values())) == len(given_out)
    for name, node in plan["nodes"].items():
        for data in node["ports"].values():
            for rail in data["rails"]:
                subnet = plan["subnets"][rail["subnet"]]
                assert ipaddress.ip_address(rail["address"]) in ipaddress.ip_network(subnet["cidr"])
                assert subnet["members"][name] == rail["address"]
                assert subnet["rail"] == rail["rail"]


@same_every_time
@given(requests)
def test_the_rails_of_a_node_never_share_a_subnet(request: Request) -> None:
    plan = planned(request)
    networks = [ipaddress.ip_network(subnet["cidr"]) for subnet in plan["subnets"]]
    assert not any(a.overlaps(b) for place, a in enumerate(networks) for b in networks[:place])
    for node in plan["nodes"].values():
        used = [rail["subnet"] for data in node["ports"].values() for rail in data["rails"]]
        assert len(set(used)) == len(used)


@same_every_time
@given(switched_requests())
def test_a_subnet_never_spans_switches_that_are_not_joined(request: Request) -> None:
    chained = any("between" in cable for cable in request["cables"])
    plan = planned(request)
    reached: dict[int, set[str]] = {}
    for node in plan["nodes"].values():
        for data in node["ports"].values():
            for rail in data["rails"]:
                reached.setdefault(rail["subnet"], set()).add("all" if chained else data["peer"]["switch"])
    assert all(len(switches) == 1 for switches in reached.values())


@same_every_time
@given(requests)
def test_planning_again_over_the_stored_plan_changes_nothing(request: Request) -> None:
    plan = planned(request)
    stored = json.loads(json.dumps(plan, sort_keys=True))
    assert make_plan({**request, "previous": stored}) == plan


@same_every_time
@given(switched_requests(), st.sampled_from(PORTS), st.data())
def test_appending_a_node_moves_nobody(request: Request, port: str, data: st.DataObject) -> None:
    before = planned(request)
    name = {"name": "spark-new", "id": None}
    if request["nodes"][0]["id"] is not None:
        name["id"] = data.draw(st.integers(1, 254).filter(lambda number: number not in [node["id"] for node in request["nodes"]]))
    chained = any("between" in cable for cable in request["cables"])
    switch = data.draw(st.sampled_from([item["name"] for item in request["switches"]])) if chained else "a"
    cable = {"switch": switch, "to": [f"spark-new.{port}"]}
    after = planned({**request, "nodes": [*request["nodes"], name], "cables": [*request["cables"], cable], "previous": before})
    assert kept(addresses(before), addresses(after))
    assert set(addresses(before)) < set(addresses(after))


@same_every_time
@given(switched_requests(), st.data())
def test_appending_a_cable_to_a_node_moves_nobody(request: Request, data: st.DataObject) -> None:
    before = planned(request)
    single = [name for name, node in before["nodes"].items() if len(node["ports"]) == 1]
    assume(single)
    node = data.draw(st.sampled_from(single))
    port = next(port for port in PORTS if port not in before["nodes"][node]["ports"])
    cable = {"switch": data.draw(st.sampled_from([item["name"] for item in request["switches"]])), "to": [f"{node}.{port}"]}
    after = planned({**request, "cables": [*request["cables"], cable], "previous": before})
    assert kept(addresses(before), addresses(after))
    assert (node, port, 0) in addresses(after)


@same_every_time
@given(requests, st.data())
def test_removing_a_node_or_a_cable_moves_nobody_or_is_refused(request: Request, data: st.DataObject) -> None:
    before = planned(request)
    smaller = copy.deepcopy(request)
    if data.draw(st.booleans()):
        gone = smaller["nodes"].pop(data.draw(st.integers(0, len(smaller["nodes"]) - 1)))["name"]
        smaller["cables"] = [cable for cable in smaller["cables"] if gone not in str(cable)]
    else:
        smaller["cables"].pop(data.draw(st.integers(0, len(smaller["cables"]) - 1)))
    after = make_plan({**smaller, "previous": before})
    assert after["refusals"] or kept(addresses(before), addresses(after))


@same_every_time
@given(switched_requests())
def test_joining_switches_moves_nobody_or_is_refused(request: Request) -> None:
    assume(len(request["switches"]) > 1 and not any("between" in cable for cable in request["cables"]))
    before = planned(request)
    after = make_plan({**request, "cables": [*request["cables"], {"between": ["a", "b"]}], "previous": before})
    assert after["refusals"] or kept(addresses(before), addresses(after))


@same_every_time
@given(requests)
def test_numbers_may_be_texts(request: Request) -> None:
    nodes = [{key: str(value) if isinstance(value, int) else value for key, value in node.items()} for node in request["nodes"]]
    assert make_plan({**request, "nodes": nodes, "mtu": "9000", "rail_prefix": "24"}) == make_plan({**request, "mtu": 9000, "rail_prefix": 24})


def test_the_plan_and_the_work_for_it_grow_with_the_number_of_nodes_not_faster() -> None:
    def many(count: int) -> Request:
        ends = [f"spark-{number}.{port}" for number in range(1, count + 1) for port in PORTS]
        cables = [{"switch": "sw", "to": ends[:count]}, {"switch": "sw", "to": ends[count:]}]
        return switched(count, rail_prefix=20, switches=[{"name": "sw", "managed": False}], cables=cables)

    def calls(count: int) -> int:
        made = 0

        def profile(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal made
            made += event == "call"

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            planned(many(count))
        finally:
            sys.setprofile(before)
        return made

    sizes = {count: len(json.dumps(planned(many(count)))) for count in (100, 200, 400)}
    assert sizes[400] - sizes[200] < 2.2 * (sizes[200] - sizes[100])
    work = {count: calls(count) for count in (100, 200, 400)}
    assert work[400] - work[200] < 2.2 * (work[200] - work[100])


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "abc", "spark-1.p0", "10.0.0.0/8", "9000", "2x200G", "a" * 200, "ü\n|"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["switch", "to", "between", "cage", "name", "x"]), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested data."""
    inner = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@same_every_time
@given(
    st.one_of(requests, st.sampled_from([switched(4, mtu=9000, roce="ecn", reserved=["172.17.0.0/16"], previous=make_plan(switched(4)))])), st.data()
)
def test_nothing_that_a_request_can_hold_raises(request: Request, data: st.DataObject) -> None:
    spoilt = copy.deepcopy(request)
    path = data.draw(st.sampled_from(places(spoilt)))
    value = data.draw(values)
    if path:
        target = spoilt
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
    else:
        spoilt = value
    plan = make_plan(spoilt)
    assert json.loads(json.dumps(plan)) == plan
    assert [text for text in [*plan["refusals"], *plan["warnings"]] if not GRAMMAR.fullmatch(text) and "refusals" not in path] == []
    assert bool(plan["refusals"]) != bool(plan["nodes"])
