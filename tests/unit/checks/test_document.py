# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan and facts side by side; peers and what must answer there; results as text."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import healthy_fabric
import pytest

from ansible_collections.gb10.cluster.plugins.filter.fabric_checks_table import FilterModule as TableFilters
from ansible_collections.gb10.cluster.plugins.filter.fabric_peers import FilterModule as PeersFilters
from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_document import cable, document, relation

SUBNETS = [IPv4Network("10.77.0.0/24"), IPv4Network("10.77.1.0/24")]
UNPLUGGED = {"carrier": False, "up": True, "link_reason": None}


@pytest.mark.parametrize(
    ("module", "rails", "expected"),
    [
        ({"vendor": "Amphenol"}, [{"carrier": False, "up": False, "link_reason": None}], True),
        ({}, [{"carrier": True, "up": True, "link_reason": None}, UNPLUGGED], True),
        ({}, [UNPLUGGED, UNPLUGGED], False),
        ({}, [{"carrier": None, "up": False, "link_reason": "No cable"}], False),
        ({}, [{"carrier": False, "up": True, "link_reason": "Cable unplugged"}], False),
        ({}, [{"carrier": None, "up": False, "link_reason": None}, UNPLUGGED], None),
        ({}, [], None),
    ],
)
def test_a_cable_is_there_or_not_or_nobody_knows(module: dict[str, str], rails: list[dict[str, Any]], expected: bool | None) -> None:
    assert cable({"module": module, "rails": rails}) is expected


def test_behind_a_switch_a_rail_without_link_may_have_a_cable() -> None:
    dark = {"up": True, "carrier": False, "link_reason": None}
    assert cable({"module": {}, "rails": [dark, dark]}) is False
    assert cable({"module": {}, "rails": [dark, dark]}, behind_switch=True) is None
    assert cable({"module": {}, "rails": [{**dark, "link_reason": "No cable"}, dark]}, behind_switch=True) is False


@pytest.mark.parametrize(
    ("route", "connected", "expected"),
    [
        ("192.168.10.0/24", True, (None, None)),
        ("10.77.2.0/24", True, (None, None)),
        ("10.77.0.0/24", True, ("equal to 10.77.0.0/24", None)),
        ("10.77.0.0/24", False, ("equal to 10.77.0.0/24", None)),
        ("10.77.1.128/25", True, ("inside 10.77.1.0/24", None)),
        ("10.77.1.7/32", False, ("inside 10.77.1.0/24", None)),
        ("10.77.0.0/16", True, ("around 10.77.0.0/24, 10.77.1.0/24", None)),
        ("10.77.0.0/16", False, (None, "around 10.77.0.0/24, 10.77.1.0/24")),
        ("0.0.0.0/0", False, (None, None)),
    ],
)
def test_how_a_route_lies_to_the_rail_subnets(route: str, connected: bool, expected: tuple[str | None, str | None]) -> None:
    assert relation(IPv4Network(route), connected, SUBNETS) == expected


def clashes(request: dict[str, Any]) -> list[str]:
    """Labels of the routes that clash."""
    return [route["label"] for node in document(request)["nodes"] for route in node["routes"] if route["clash"]]


def test_our_own_rails_do_not_clash_even_on_a_port_that_is_planned_no_more() -> None:
    request = healthy_fabric.request()
    for node in request["plan"]["nodes"].values():
        node["ports"]["p1"] = node["ports"].pop("p0")
    assert clashes(request) == []


def test_an_address_somebody_else_gave_to_an_unplanned_port_clashes() -> None:
    request = healthy_fabric.request()
    request["plan"]["nodes"]["spark-1"]["ports"].clear()
    for rail in request["connectx"]["spark-1"]["connectx"]["ports"]["p0"]["rails"]:
        rail["claims"][0]["ours"] = False
    assert clashes(request) == ["route 10.77.0.0/24 (enp1s0f0np0)", "route 10.77.1.0/24 (enP2p1s0f0np0)"]


def test_a_planned_rail_that_somebody_else_configured_is_left_to_connectx_link() -> None:
    request = healthy_fabric.request()
    for rail in request["connectx"]["spark-1"]["connectx"]["ports"]["p0"]["rails"]:
        rail["claims"][0]["ours"] = False
    assert clashes(request) == []


def test_a_node_outside_the_run_and_one_that_was_lost_are_absent() -> None:
    request = healthy_fabric.request()
    request.update(hosts=[], hosts_all=["spark-1"])
    assert document(request) == {
        "nodes": [{"name": "spark-1", "absent": "it did not answer, or failed earlier"}, {"name": "spark-2", "absent": "not part of this run"}],
        "lost": ["spark-1"],
        "playbook": "gb10.cluster.two_node_direct",
    }


def test_a_rail_carries_its_facts_and_its_plan() -> None:
    rail = document(healthy_fabric.request())["nodes"][0]["rails"][1]
    assert (rail["label"], rail["present"], rail["mtu"]) == ("p0 rail 1 (enP2p1s0f0np0)", True, 9000)
    wanted = {"address": "10.77.1.1", "cidr": "10.77.1.1/24", "mtu": 9000, "speed_mbps": 200000}
    assert rail["planned"] == {**wanted, "configuration": "that of gb10.cluster.two_node_direct"}


def peers(hosts: list[str]) -> list[dict[str, Any]]:
    """The peers of spark-1."""
    found: list[dict[str, Any]] = PeersFilters().filters()["fabric_peers"](healthy_fabric.plan(), "spark-1", hosts)
    return found


def test_peers_are_the_other_ends_of_own_subnets() -> None:
    assert peers(["spark-1", "spark-2"]) == [
        {"peer": "spark-2", "subnet": 0, "address": "10.77.0.2"},
        {"peer": "spark-2", "subnet": 1, "address": "10.77.1.2"},
    ]


def test_a_node_outside_the_run_is_no_peer() -> None:
    assert peers(["spark-1"]) == []


@pytest.mark.parametrize(
    ("facts", "macs"),
    [
        (healthy_fabric.connectx(2), ["3c:6d:66:00:02:00", "3c:6d:66:00:02:01"]),
        (None, [None, None]),
        ({**healthy_fabric.connectx(2), "ports": {}}, [None, None]),
        ({**healthy_fabric.connectx(2), "ports": {"p0": {"module": {}, "rails": [healthy_fabric.rail(2, 1)]}}}, [None, "3c:6d:66:00:02:01"]),
    ],
)
def test_a_path_knows_which_mac_must_answer_as_far_as_the_peer_told(facts: dict[str, Any] | None, macs: list[str | None]) -> None:
    request = healthy_fabric.request()
    request["connectx"]["spark-2"] = {"connectx": facts} if facts else {}
    assert [path["expected_mac"] for path in document(request)["nodes"][0]["paths"]] == macs


def test_the_table_counts_by_check_and_tells_everything_that_is_not_a_pass() -> None:
    def result(title: str, status: str, message: str = "") -> dict[str, str]:
        return {"id": "node" if title == "node" else "x", "title": title, "host": "a", "status": status, "message": message, "fix": ""}

    mtu = [result("MTU", "pass"), result("MTU", "fail", "F."), result("MTU", "warn", "W.")]
    assert TableFilters().filters()["fabric_checks_table"]([result("node", "skip", "S."), *mtu, result("PCIe width", "pass")]) == [
        "MTU           1 pass    1 warn    1 fail",
        "PCIe width    1 pass",
        "fail: F.",
        "warn: W.",
        "skip: S.",
    ]


def test_the_table_begins_with_what_machines_these_are() -> None:
    connectx = {"a": {"connectx": {"platform": {"vendor": "gb10.cluster lab (simulated)", "product": "NVIDIA_DGX_Spark"}}}, "b": {"msg": "unreachable"}}
    assert TableFilters().filters()["fabric_checks_table"]([], ["fail"], connectx) == ["a: gb10.cluster lab (simulated) NVIDIA_DGX_Spark", "b: told nothing"]
