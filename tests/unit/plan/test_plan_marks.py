# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks against what was measured on real machines: the healthy never warn, the sick always do."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._marks import roce_mtu
from plan_requests import direct, hosts, ring, star, switched

AT_100G = switched(4, cables=[star("qsfp56-dd-1", *(f"spark-{number}.p0" for number in range(1, 5)), breakout="4x100G")])
CRAMPED = {
    "topology": "switched_fabric",
    "nodes": hosts(4),
    "switches": [{"name": "a", "model": "CRS804"}, {"name": "b", "model": "CRS804"}],
    # the order of the nodes sends the ring of ranks over the 200G between the switches four times, twice each way
    "cables": [
        {"switch": "a", "cage": "qsfp56-dd-1", "breakout": "4x100G", "to": ["spark-1.p0", "spark-3.p0"]},
        {"switch": "b", "cage": "qsfp56-dd-1", "breakout": "4x100G", "to": ["spark-2.p0", "spark-4.p0"]},
        {"between": ["a.qsfp56-dd-2", "b.qsfp56-dd-2"], "mode": "1x200G"},
    ],
}

# source of the measurements: nccl and community reports that the rows of _marks.py name
HEALTHY_BUSBW = [
    ("23.55 all_reduce, two nodes", direct(), 23.55),
    ("22.96 all_gather, two Dell", direct(), 22.96),
    ("22.7 all_gather, two GX10", direct(), 22.7),
    ("24.5 two cables", direct(cables=[["spark-1.p0", "spark-2.p0"], ["spark-1.p1", "spark-2.p1"]]), 24.5),
    ("18.94 MTU 1500", direct(mtu=1500), 18.94),
    ("23.86 ring", ring(), 23.86),
    ("20.8 ring, older", ring(), 20.8),
    ("21.4 all_gather, four nodes", switched(4), 21.4),
    ("23.4 all_reduce, four nodes", switched(4), 23.4),
]
SICK_BUSBW = [
    ("13.9 one rail", direct(), 13.9),
    ("2.8 throttled", direct(), 2.8),
    ("1.1 TCP", direct(), 1.1),
    ("13.86 ring with one rail", ring(), 13.86),
    ("13.39 one rail, switched", switched(4), 13.39),
    ("12 one rail, MTU 1500", direct(mtu=1500), 12.0),
]
HEALTHY_RAILS = [
    ("111.86 alone", direct(), "rail_alone_gbps", 111.86),
    ("109.1 alone through a CRS812", switched(4), "rail_alone_gbps", 109.1),
    ("92.57 alone at MTU 1500", direct(mtu=1500), "rail_alone_gbps", 92.57),
    ("98.04 together", direct(), "rail_together_gbps", 98.04),
    ("196.1 port", switched(4), "port_sum_gbps", 196.1),
    ("98.01 alone at 100G", AT_100G, "rail_alone_gbps", 98.01),
    ("49 together at 100G", AT_100G, "rail_together_gbps", 49.0),
]
SICK_RAILS = [
    ("13.22 throttled", direct(), "rail_alone_gbps", 13.22),
    ("25 throttled", direct(), "rail_alone_gbps", 25.0),
    ("98 port at 100G where 200G was planned", direct(), "port_sum_gbps", 98.0),
    ("4.85 forwarded by the switch's processor", switched(4), "port_sum_gbps", 4.85),
    ("13 throttled at 100G", AT_100G, "rail_alone_gbps", 13.0),
]


def ids(rows: list[Any]) -> list[str]:
    return [row[0] for row in rows]


@pytest.mark.parametrize("row", HEALTHY_BUSBW, ids=ids(HEALTHY_BUSBW))
def test_a_healthy_collective_passes(row: tuple[str, Any, float]) -> None:
    assert make_plan(row[1])["marks"]["busbw_gbs"]["warn"] <= row[2]


@pytest.mark.parametrize("row", SICK_BUSBW, ids=ids(SICK_BUSBW))
def test_a_sick_collective_fails(row: tuple[str, Any, float]) -> None:
    assert make_plan(row[1])["marks"]["busbw_gbs"]["fail"] > row[2]


@pytest.mark.parametrize("row", HEALTHY_RAILS, ids=ids(HEALTHY_RAILS))
def test_a_healthy_rail_passes(row: tuple[str, Any, str, float]) -> None:
    assert all(path["marks"][row[2]]["warn"] <= row[3] for path in make_plan(row[1])["paths"])


@pytest.mark.parametrize("row", SICK_RAILS, ids=ids(SICK_RAILS))
def test_a_sick_rail_fails(row: tuple[str, Any, str, float]) -> None:
    assert all(path["marks"][row[2]]["fail"] > row[3] for path in make_plan(row[1])["paths"])


@pytest.mark.parametrize(("mtu", "expected"), [(1500, 1024), (2199, 1024), (2200, 2048), (4199, 2048), (4200, 4096), (9978, 4096)])
def test_roce_takes_its_mtu_from_the_netdev(mtu: int, expected: int) -> None:
    assert roce_mtu(mtu) == expected


@pytest.mark.parametrize(
    ("title", "request_", "limit"),
    [
        ("one cable", direct(), 24.51),
        ("two cables are held up by PCIe", direct(cables=[["spark-1.p0", "spark-2.p0"], ["spark-1.p1", "spark-2.p1"]]), 27.96),
        ("MTU 1500", direct(mtu=1500), 23.15),
        ("MTU 4000", direct(mtu=4000), 24.04),
        ("100G legs", AT_100G, 12.25),
        (
            "two 100G legs",
            switched(
                2,
                cables=[star(f"qsfp56-dd-{cage}", f"spark-1.{port}", f"spark-2.{port}", breakout="4x100G") for cage, port in ((1, "p0"), (2, "p1"))],
            ),
            24.51,
        ),
        ("a quarter of them crosses each way: 100G is enough", CRAMPED, 12.25),
    ],
)
def test_the_limit_of_a_collective_is_its_slowest_pair_of_neighbours(title: str, request_: Any, limit: float) -> None:
    assert make_plan(request_)["marks"]["busbw_gbs"]["limit"] == limit, title


def test_paths_share_what_lies_between_switches() -> None:
    cramped = {**CRAMPED, "cables": [{**cable, "breakout": "2x200G"} if "switch" in cable else cable for cable in CRAMPED["cables"]]}
    plan = make_plan(cramped)
    assert [path["speed"] for path in plan["paths"]] == ["100G"] * 4
    assert plan["marks"]["busbw_gbs"]["limit"] == 12.25
    # 81.9 Gb/s each were measured where two flows shared 200G, and that is as good as it gets
    assert all(path["marks"]["port_sum_gbps"]["warn"] <= 81.9 for path in plan["paths"])


def test_nodes_in_the_order_of_the_switches_need_not_share() -> None:
    ordered = {
        **CRAMPED,
        "cables": [
            {"switch": "a", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-1.p0", "spark-2.p0"]},
            {"switch": "b", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-3.p0", "spark-4.p0"]},
            {"between": ["a.qsfp56-dd-2", "b.qsfp56-dd-2"], "mode": "1x200G"},
        ],
    }
    assert [path["speed"] for path in make_plan(ordered)["paths"]] == ["200G"] * 4
