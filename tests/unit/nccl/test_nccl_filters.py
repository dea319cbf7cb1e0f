# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL is told, by topology and machine; and what is said about different builds."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.filter.nccl_build_conflict import nccl_build_conflict
from ansible_collections.gb10.cluster.plugins.filter.nccl_settings import nccl_settings
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._settings import refuse

NCCL = {"minimum_version": "2.28.9", "subnet_aware_routing": 1, "subnet_prefix_len": None, "merge_nics": None, "net_plugin": "none", "ib_tc": None}
DEVICES = {"p0": ["rocep1s0f0", "roceP2p1s0f0"], "p1": ["rocep1s0f1", "roceP2p1s0f1"]}


def planned(*ports: str, management: str | None = None, **nccl: Any) -> dict[str, Any]:
    """A slice with these ports cabled; both rails in disorder, as a plan may list them."""
    return {
        "management": management,
        "ports": {port: {"rails": [{"rail": 1}, {"rail": 0}]} for port in reversed(ports)},
        "nccl": {**NCCL, **nccl},
    }


def facts(**change: Any) -> dict[str, Any]:
    """A healthy node: all four rails, one of them down, management over enP7s7."""
    return {
        "management": {"interface": "enP7s7", "address": "192.168.10.11/24", "interfaces": ["enP7s7"]},
        "routes": [
            {"destination": "0.0.0.0/0", "interface": "enP7s7", "gateway": "192.168.10.1"},
            {"destination": "192.168.10.0/24", "interface": "enP7s7", "gateway": None},
            {"destination": "172.16.5.0/24", "interface": "wlP9s9", "gateway": None},
            {"destination": "172.16.6.0/24", "interface": "enP7s7", "gateway": "192.168.10.1"},
        ],
        "ports": {
            port: {"rails": [{"rail": rail, "rdma": name, "up": rail == 0, "link_detected": port == "p0"} for rail, name in enumerate(names)]}
            for port, names in DEVICES.items()
        },
        **change,
    }


@pytest.mark.parametrize(
    ("what", "slice_", "expected"),
    [
        (
            "two nodes on one cable",
            planned("p0"),
            {
                "NCCL_SOCKET_IFNAME": "=enP7s7",
                "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0",
                "NCCL_IB_SUBNET_AWARE_ROUTING": "1",
                "NCCL_NET_PLUGIN": "none",
            },
        ),
        (
            "a ring: all four devices, the far port's too although it is down",
            planned("p0", "p1", minimum_version="2.30.7", merge_nics=0),
            {
                "NCCL_SOCKET_IFNAME": "=enP7s7",
                "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0,rocep1s0f1,roceP2p1s0f1",
                "NCCL_IB_SUBNET_AWARE_ROUTING": "1",
                "NCCL_IB_MERGE_NICS": "0",
                "NCCL_NET_PLUGIN": "none",
            },
        ),
        (
            "a switch with RoCE, narrow subnets, the second port",
            planned("p1", subnet_prefix_len=28, ib_tc=106, subnet_aware_routing=True),
            {
                "NCCL_SOCKET_IFNAME": "=enP7s7",
                "NCCL_IB_HCA": "=rocep1s0f1,roceP2p1s0f1",
                "NCCL_IB_SUBNET_AWARE_ROUTING": "1",
                "NCCL_IB_SUBNET_PREFIX_LEN": "28",
                "NCCL_NET_PLUGIN": "none",
                "NCCL_IB_TC": "106",
            },
        ),
    ],
)
def test_settings_by_topology(what: str, slice_: dict[str, Any], expected: dict[str, str]) -> None:
    told = nccl_settings(slice_, "spark-1", facts())
    assert told == {"settings": expected, "refusals": []}, what
    assert list(told["settings"]) == list(expected)
    assert refuse(told["settings"]) == []


@pytest.mark.parametrize(
    ("asked", "interface"),
    [
        (None, "enP7s7"),
        ("192.168.10.11/24", "enP7s7"),
        ("172.16.5.7/24", "wlP9s9"),
    ],
)
def test_the_management_interface_is_the_sessions_unless_the_user_named_a_network(asked: str | None, interface: str) -> None:
    assert nccl_settings(planned("p0", management=asked), "spark-1", facts())["settings"]["NCCL_SOCKET_IFNAME"] == f"={interface}"


@pytest.mark.parametrize(
    ("slice_", "node", "refusals"),
    [
        (
            planned("p0"),
            facts(management={"interface": None, "address": None, "interfaces": []}),
            [
                "spark-1: management interface - expected the interface of the SSH session or a default route, found none. "
                "Set fabric_management of this node to its address on the network that all nodes share."
            ],
        ),
        (
            planned("p0", management="172.16.6.7/24"),
            facts(),
            [
                "spark-1: management interface - expected an interface in 172.16.6.0/24, found enP7s7. "
                "Correct fabric_management of this node, or give it an address there."
            ],
        ),
        (
            planned("p0", "p1", color="red"),
            facts(ports={"p0": {"rails": [{"rail": 0, "rdma": "rocep1s0f0"}, {"rail": 1, "rdma": None}]}}),
            [
                f"spark-1 {rail} - expected an RDMA device, found none. Run gb10.cluster.validate, it tells why a rail is missing; mlx5_ib must be loaded."
                for rail in ("p0 rail 1", "p1 rail 0", "p1 rail 1")
            ]
            + [
                "spark-1: plan's nccl - expected keys of subnet_aware_routing, subnet_prefix_len, merge_nics, net_plugin, ib_tc, found color. "
                "Build the plan with this version."
            ],
        ),
    ],
)
def test_what_can_not_be_told_is_refused(slice_: dict[str, Any], node: dict[str, Any], refusals: list[str]) -> None:
    assert nccl_settings(slice_, "spark-1", node)["refusals"] == refusals


@pytest.mark.parametrize(
    ("builds", "text"),
    [
        ({}, None),
        ({"a": "x", "b": "x"}, None),
        ({"a": "x", "b": None}, None),
        (
            {"spark-3": "2.30.7+cuda13.3 git a5187fa2e sha256 aa", "spark-1": "2.30.7+cuda13.3 git a5187fa2e sha256 aa", "spark-2": "2.28.9+cuda13.0"},
            "build of NCCL - expected the same on all nodes, found 2 builds. Use one nccl_source and nccl_version for all nodes.\n"
            "  2.30.7+cuda13.3 git a5187fa2e sha256 aa  spark-1, spark-3\n"
            "  2.28.9+cuda13.0                          spark-2",
        ),
    ],
)
def test_different_builds_are_shown_as_a_table(builds: dict[str, str | None], text: str | None) -> None:
    assert nccl_build_conflict(builds) == text
