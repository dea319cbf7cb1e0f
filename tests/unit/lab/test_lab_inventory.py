# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machines and cables the lab makes of an inventory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gb10lab.inventory import Cluster, cluster
from gb10lab.shell import LabError


def listing(names: list[str], **variables: Any) -> dict[str, Any]:
    """What ``ansible-inventory --list`` says of hosts that share variables."""
    hostvars = {name: {"ansible_host": f"192.168.10.{number}", "ansible_user": "nvidia", **variables} for number, name in enumerate(names, 11)}
    return {"_meta": {"hostvars": hostvars}, "gb10_nodes": {"hosts": names}}


PAIR = listing(["spark-1", "spark-2"], fabric_topology="two_node_direct")
TRIO = listing(["a", "b", "c"], fabric_topology="three_node_ring")


@pytest.mark.parametrize(
    ("given", "topology", "expected"),
    [
        pytest.param(PAIR, None, [("spark-1.p0", "spark-2.p0")], id="direct by default p0 to p0"),
        pytest.param(TRIO, None, [("a.p0", "b.p1"), ("b.p0", "c.p1"), ("c.p0", "a.p1")], id="ring by default p0 to the next p1"),
        pytest.param(
            listing(["a", "b"], fabric_topology="two_node_direct", fabric_cables=[["a.p0", "b.p1"]]), None, [("a.p0", "b.p1")], id="as written"
        ),
        pytest.param(
            listing(
                ["a.example.org", "b"], fabric_topology="two_node_direct", fabric_cables=[["a.example.org.p0", "b.p0"], ["a.example.org.p1", "b.p1"]]
            ),
            None,
            [("a.example.org.p0", "b.p0"), ("a.example.org.p1", "b.p1")],
            id="two cables, a name with dots",
        ),
        pytest.param(
            listing(["a", "b"], fabric_topology="switched_fabric", fabric_cables=[{"switch": "s", "cage": "qsfp56-dd-1", "to": ["a.p0", "b.p0"]}]),
            None,
            [],
            id="a switch's cables are not the lab's bridges",
        ),
        pytest.param(TRIO, "two_node_direct", [("a.p0", "b.p0")], id="another topology wins over the inventory's"),
    ],
)
def test_cables(given: dict[str, Any], topology: str | None, expected: list[tuple[str, str]]) -> None:
    """The cables of the cluster."""
    assert [cable.ends for cable in cluster(given, topology).cables] == expected


def test_nodes_alternate_between_the_two_network_managers() -> None:
    """networkd first, then NetworkManager, and again."""
    assert [node.backend for node in cluster(TRIO).nodes] == ["netplan-networkd", "netplan-networkmanager", "netplan-networkd"]


def test_backends_can_be_chosen() -> None:
    """One per node, repeated."""
    assert [node.backend for node in cluster(PAIR, None, ("networkmanager",)).nodes] == ["networkmanager", "networkmanager"]


def test_hosts_of_child_groups_count_once_in_order() -> None:
    """Groups of groups are legal in an inventory."""
    given = listing(["a", "b"], fabric_topology="two_node_direct")
    given["gb10_nodes"] = {"children": ["rack", "desk"]}
    given |= {"rack": {"hosts": ["a"]}, "desk": {"hosts": ["b", "a"]}}
    assert [node.name for node in cluster(given).nodes] == ["a", "b"]


def test_the_gateway_is_the_first_free_address() -> None:
    """The lab's own address never is a node's."""
    given = listing(["a", "b"], fabric_topology="two_node_direct")
    given["_meta"]["hostvars"]["a"]["ansible_host"] = "192.168.10.1"
    made = cluster(given)
    assert (made.network, made.gateway) == ("192.168.10.0/24", "192.168.10.2")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param({"gb10_nodes": {}}, "group gb10_nodes - expected at least one host", id="no nodes"),
        pytest.param({"_meta": {"hostvars": {"a": {}}}, "gb10_nodes": {"hosts": ["a"]}}, "ansible_host of a - expected an address", id="no address"),
        pytest.param(
            listing(["a"], fabric_topology="two_node_direct"), "topology two_node_direct - expected more nodes, found 1", id="too few nodes"
        ),
    ],
)
def test_refusals(given: dict[str, Any], words: str) -> None:
    """What can not be built is refused in one line."""
    with pytest.raises(LabError, match=words):
        cluster(given)


NAMES = {"p0": ["aerial00", "aerial02"], "p1": ["aerial01", "aerial03"]}


def test_renamed_devices_are_those_of_the_inventory() -> None:
    """One node's owner has renamed them, the others' have not."""
    given = listing(["a", "b"], fabric_topology="two_node_direct")
    given["_meta"]["hostvars"]["b"]["fabric_interfaces"] = NAMES
    assert [node.interfaces for node in cluster(given).nodes] == [{}, NAMES]


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(["aerial00"], id="no map"),
        pytest.param({"p2": ["a0", "a1"]}, id="no such port"),
        pytest.param({"p0": ["a0"]}, id="one name"),
        pytest.param({"p0": ["a0"], "p1": ["a1", "a2", "a3"]}, id="one and three names"),
        pytest.param({"p0": ["a0", "a0"]}, id="the same name twice"),
        pytest.param({"p0": ["a0", "a name of too many letters"]}, id="no name of a device"),
        pytest.param({"p0": "a0"}, id="a text"),
    ],
)
def test_names_that_can_not_be(written: Any) -> None:
    """The lab makes devices of these names, so it looks at them first."""
    given = listing(["a", "b"], fabric_topology="two_node_direct", fabric_interfaces=written)
    with pytest.raises(LabError, match="fabric_interfaces of a - expected two names for a port"):
        cluster(given)


def test_a_cluster_survives_its_state_file() -> None:
    """Saved and loaded, it is the same."""
    given = cluster(listing(["a", "b"], fabric_topology="two_node_direct", fabric_interfaces=NAMES))
    assert Cluster.from_json(json.loads(json.dumps(given.to_json()))) == given
